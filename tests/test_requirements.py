"""What is known of the rules without importing them is what they say."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tflint_gpu import requirements
from tflint_gpu.requirements import known_requirements
from tflint_gpu.rule import entries, load

ROOT = Path(__file__).parents[1]
_SAME = (
    "code", "opt_in", "least_tensorflow", "required_substrings", "nearby_substrings", "loops_nearby",
    "skips_tests", "needs_gpu_memory",
)  # fmt: skip


def test_the_file_is_what_the_rules_say() -> None:
    command = [sys.executable, "-m", "tflint_gpu.requirements"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=600, check=True)
    written = (ROOT / "rules" / "requirements.json").read_text("utf-8")
    assert written == done.stdout, f"run: {' '.join(command[1:])} > rules/requirements.json"


def test_each_rule_asks_of_a_file_what_is_known_of_it() -> None:
    """Protects every finding: a rule that is ruled out is not even imported."""
    known = known_requirements()
    assert len(known) > 60
    for rule in load(known):
        assert [getattr(known[rule.code], name) for name in _SAME] == [getattr(rule, name) for name in _SAME]


def test_of_a_rule_whose_file_has_changed_nothing_is_known(monkeypatch: pytest.MonkeyPatch) -> None:
    """Protects who works on a rule: what it says now counts."""
    changed = {entry.module for entry in entries() if entry.code == "TFG101"}
    real = requirements._digest
    monkeypatch.setattr(requirements, "_digest", lambda folder, entry: real(folder, entry) + (entry.module in changed))
    assert known_requirements.__wrapped__().keys() == known_requirements().keys() - {"TFG101"}
