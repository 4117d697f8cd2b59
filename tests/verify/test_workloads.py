"""The rules' own workloads, which `verify --synthetic` runs: each repaired program runs through, with real TensorFlow."""

from __future__ import annotations

import tempfile
from functools import cache
from pathlib import Path

import pytest
from forked import ForkedPrograms
from verified import cases_of

from tflint_gpu.rule import UNREADABLE_FILE, entries, load
from tflint_gpu.verify.experiments.verification import Case

pytestmark = pytest.mark.slow


@cache
def workloads() -> dict[str, Case]:
    """One case of each rule, with its own workload: found in the rule's own example."""
    with tempfile.TemporaryDirectory() as folder:
        for rule in load(_OWN):
            (Path(folder) / f"{rule.code}.py").write_text(rule.example("Example"), "utf-8")
        return {case.diagnostic.code: case for case in cases_of(Path(folder), synthetic=True)}


# The table's rules try their names in tests/rules/test_renames.py; those that are opt-in are not run on the fixtures, and
# what is added up for a card of some size is not measured.
_DEFAULT = [e.code for e in entries() if e.code != UNREADABLE_FILE and e.theme != "migration" and not e.opt_in]
_TOO_LARGE = ("TFG406",)
"""Rules about more memory than a machine may have: they say why they have no workload."""
_OWN = [rule.code for rule in load(_DEFAULT) if not rule.needs_gpu_memory and rule.code not in _TOO_LARGE]


@pytest.mark.parametrize("code", _OWN)
def test_every_rule_has_a_workload_whose_repair_runs(code: str, tmp_path: Path, forks: ForkedPrograms) -> None:
    pair = workloads()[code].pair
    assert pair is not None, workloads()[code].reason
    before, after = (program.files[program.entry] for program in (pair.before, pair.after))
    assert before != after
    compile(before, "before.py", "exec")
    finished, log = forks.run(pair.after.write(tmp_path))
    assert finished, log[-2000:]
