"""The user's line at which a program failed."""

from __future__ import annotations

from pathlib import Path

import pytest
from verified import case, program

from tflint_gpu.diagnostics import Diagnostic, Location
from tflint_gpu.text.source import SourceFile
from tflint_gpu.verify.execution.crash_places import crash_place
from tflint_gpu.verify.experiments.bench import verify
from tflint_gpu.verify.experiments.verification import Setup

CODE = "import numpy\n\n\nwidth = load()\n\nfirst = None\nfirst = None\nmodel(width)\n"
TRACEBACK = """Traceback (most recent call last):
  File "/tmp/programs/before/pkg/train.py", line {row}, in <module>
    {code}
    ^^^^^^
  File "/tmp/programs/before/tflint_outcome.py", line 70, in steps
    yield
  File "/usr/lib/python3/numpy.py", line 3, in load
    raise
ValueError: no
"""


@pytest.mark.parametrize(
    ("code", "place"),
    [
        ("width = load()", "at pkg/train.py:4: `width = load()`"),  # the program has it in another row
        ("first = None", "at `first = None`"),
        ("model(width)", ""),
        ("for x in tflint_measure.steps(data):", "at `for x in tflint_measure.steps(data):`"),
    ],
    ids=["elsewhere", "two such lines", "the flagged line", "a line that only the program has"],
)
def test_the_innermost_line_of_the_users_is_named(code: str, place: str) -> None:
    flagged = Diagnostic("TFG202", "", "", "pkg/train.py", Location(8, 1), Location(8, 2), 8, "warning")
    source = SourceFile(Path("/home/pkg/train.py"), "pkg/train.py", CODE)
    stderr = TRACEBACK.format(row=2, code=code)
    assert crash_place(stderr, Path("/tmp/programs"), [source], flagged) == place


def test_a_program_without_a_traceback_has_no_place() -> None:
    flagged = Diagnostic("TFG202", "", "", "train.py", Location(1, 1), Location(1, 2), 1, "warning")
    assert crash_place("Killed\n", Path("/tmp"), [], flagged) == ""


def test_empty_data_is_called_that() -> None:
    """Protects who reads the report from looking for a mistake of the tool's in `StatisticsError`."""
    empty = program(line="class EmptyData(ValueError): pass\nraise EmptyData('the dataset has no element')")
    result = list(verify(case(empty, program()), Setup(), 60.0))[-1]
    assert result.verdict.verdict == "not run"
    assert result.verdict.reason.startswith("the data is empty: the dataset has no element")
    assert "# tflint-gpu: input=" in result.verdict.reason


def test_a_loop_that_never_runs_the_flagged_code_is_called_that() -> None:
    """Protects the truth where a repair that is traced once keeps what a condition said then: it would seem fast."""
    never = program(line="class NeverRun(RuntimeError): pass\nraise NeverRun('the loop does not run the flagged code')")
    result = list(verify(case(program(), never), Setup(), 60.0))[-1]
    assert result.verdict.verdict == "not run"
    assert result.verdict.reason.startswith("in the fixed program, the loop does not run the flagged code")
