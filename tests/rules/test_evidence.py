"""The figures in the rules' documentation are those that a command recorded, and no others."""

from __future__ import annotations

import importlib.util
import json
import re
from pathlib import Path
from typing import Any

import pytest

from tflint_gpu.rule import entries, load
from tflint_gpu.rule.evidence import PLACEHOLDER, measured, recorded

ROOT = Path(__file__).parent.parent.parent
WORKLOADS = sorted((ROOT / "tests" / "benchmarks" / "evidence").glob("tfg*.py"))
RULES = load(entry.code for entry in entries())


def _runner() -> Any:
    spec = importlib.util.spec_from_file_location("evidence_runner", ROOT / "tests" / "benchmarks" / "evidence.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def _found(tensorflow: str, seconds: float) -> dict[str, Any]:
    return {
        "tensorflow": tensorflow,
        "keras": "3.15.1",
        "python": "3.11.7",
        "machine": "x86_64, 2 cores, no GPU",
        "date": "2026-11-22",
        "times": {"a loop": [(seconds, 1.0)] * 5},
        "facts": {"values seen": "1"},
    }


def test_what_was_measured_is_recorded_by_rule_and_version(tmp_path: Path) -> None:
    runner = _runner()
    runner.record("TFG999", _found("2.15.1", 3.0), tmp_path)
    runner.record("TFG999", _found("2.21.0", 2.0), tmp_path)
    runner.record("TFG999", _found("2.15.1", 4.0), tmp_path)
    known = json.loads((tmp_path / "evidence.json").read_text())
    assert [(one["tensorflow"], one["figures"][0]["ratio"]) for one in known["TFG999"]] == [
        ("2.21.0", 2),
        ("2.15.1", 4),
    ]
    table = (tmp_path / "EVIDENCE.md").read_text()
    assert "| TFG999 | a loop | 2.15.1 | 3.15.1 | 4000.0 | 1000.0 | 4.00 | 4.00 to 4.00 |" in table
    assert "| TFG999 | values seen | 1 | 2.21.0 |" in table


def test_what_a_card_showed_stands_beside_what_was_measured_without(tmp_path: Path) -> None:
    """Protects the figures of either machine from being overwritten by the other's."""
    runner = _runner()
    runner.record("TFG999", {**_found("2.21.0", 9.0), "machine": "x86_64, 16 cores, NVIDIA T4"}, tmp_path)
    runner.record("TFG999", _found("2.21.0", 2.0), tmp_path)
    runner.record("TFG999", {**_found("2.21.0", 7.0), "machine": "x86_64, 16 cores, NVIDIA T4"}, tmp_path)
    known = json.loads((tmp_path / "evidence.json").read_text())
    assert [(result["machine"][-4:], result["figures"][0]["ratio"]) for result in known["TFG999"]] == [
        (" GPU", 2),
        ("A T4", 7),
    ]
    with_card = measured("TFG202").partition("With a GPU: ")[2]
    assert "NVIDIA" in with_card and " times (" in with_card


def test_each_figure_says_with_which_version() -> None:
    """Protects two amounts from standing beside each other without a version, and factors from being unexplained."""
    memory = measured("TFG208")
    assert re.search(r"built and fitted in a loop: [\d.]+ MB with 2\.\d+ and [\d.]+ MB with 2\.15\. ", memory)
    assert memory.startswith("TensorFlow 2."), "it has no factors"
    assert "Traces for 20 tensors: 1. " in measured("TFG204"), "one that all versions have is said once"
    assert measured("TFG204").startswith(
        "the time of the flagged code divided by the time of the fixed code (95% inter"
    )


def test_the_documents_show_what_a_card_showed() -> None:
    """Protects the table of `docs/idle/index.md` from figures that nothing recorded."""
    text = (ROOT / "docs" / "idle" / "index.md").read_text("utf-8")
    rows = re.findall(r"^\| .+ \| (.+ \(.+ to .+\)) \| (.+) \| (TFG\d+) \|$", text, re.MULTILINE)
    assert len(rows) > 9
    for shown, what, code in rows:
        (figure,) = (
            figure
            for result in recorded(code)
            for figure in result["figures"]
            if "H200" in result["machine"] and figure["what"] == what
        )
        assert shown == f"{figure['ratio']:.3g} ({figure['low']:.3g} to {figure['high']:.3g})"


def test_rules_that_claim_figures_have_a_workload_that_was_run() -> None:
    claiming = {rule.code for rule in RULES if PLACEHOLDER in (type(rule).__doc__ or "")}
    having = {path.name.partition("_")[0].upper() for path in WORKLOADS}
    assert claiming == having
    assert [code for code in sorted(claiming) if measured(code).startswith("not yet")] == []


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.code)
def test_documentation_names_versions_and_the_command(rule: Any) -> None:
    text = rule.documentation()
    assert PLACEHOLDER not in text
    if PLACEHOLDER in (type(rule).__doc__ or ""):
        joined = " ".join(text.split())
        assert f"`python tests/benchmarks/evidence.py {rule.code}`" in joined
        assert "TensorFlow 2." in joined
