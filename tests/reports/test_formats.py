"""Protects JSON with ruff's keys, the short lines, and what is said around a report."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from pathlib import Path

from tflint_gpu.diagnostics import Diagnostic, Edit, Fix, Location, Prediction, Related
from tflint_gpu.reports import View
from tflint_gpu.reports.display import colour_of
from tflint_gpu.reports.formats import renderer
from tflint_gpu.reports.summary import statistics, summary
from tflint_gpu.severity import WORST_FIRST

START, END = Location(3, 5), Location(3, 9)
DIAGNOSTIC = Diagnostic(
    "TFG101", "some-name", "50% slower:\nréally", "dir,1/x:y.py", START, END, 3, "warning",
    Prediction("memory", ("gpu",)), "help, too",
    (Related("b.py", START, END, "there"),),
    Fix("a fix", "safe", (Edit(7, 11, START, END, "new"),)),
)  # fmt: skip
VIEW = View(Path("/p"))


def test_json() -> None:
    [one] = json.loads(renderer("json")([DIAGNOSTIC], VIEW))
    place = {"location": {"row": 3, "column": 5}, "end_location": {"row": 3, "column": 9}}
    assert one == {
        "code": "TFG101",
        "name": "some-name",
        "message": "50% slower:\nréally",
        "severity": "warning",
        "help": "help, too",
        "filename": "/p/dir,1/x:y.py",
        "cell": None,
        **place,
        "prediction": {"kind": "memory", "applies": ["gpu"], "low": None, "high": None, "basis": "", "on_cpu": None},
        "related": [{"filename": "/p/b.py", "cell": None, **place, "message": "there"}],
        "fix": {"applicability": "safe", "message": "a fix", "edits": [{"content": "new", **place}]},
        "noqa_row": 3,
        "measured": None,
        "verdict": None,
        "estimate": None,
        "url": None,
    }
    assert json.loads(renderer("json")([], VIEW)) == []


def test_json_lines_are_the_objects_of_json() -> None:
    two = [DIAGNOSTIC, replace(DIAGNOSTIC, message="\u2028\nlast")]
    lines = renderer("json-lines")(two, VIEW).splitlines()
    assert [json.loads(line) for line in lines] == json.loads(renderer("json")(two, VIEW))
    assert renderer("json-lines")([], VIEW) == ""


def test_concise_marks_what_can_be_fixed() -> None:
    unsafe = replace(DIAGNOSTIC, message="m", filename="a.py", fix=replace(DIAGNOSTIC.fix, applicability="unsafe"))  # type: ignore[type-var]
    render = renderer("concise")
    assert render([replace(unsafe, fix=DIAGNOSTIC.fix)], VIEW) == "a.py:3:5: warning: TFG101 [*] m\n"
    assert render([unsafe], VIEW) == "a.py:3:5: warning: TFG101 m\n"
    assert render([unsafe], View(Path("/p"), unsafe_fixes=True)) == "a.py:3:5: warning: TFG101 [*] m\n"


def test_concise_tells_severities_apart() -> None:
    """Protects who scans a log for errors: the word says it, and on a terminal the colour."""
    found = [replace(DIAGNOSTIC, severity=severity) for severity in WORST_FIRST]
    lines = renderer("concise")(found, View(Path("/p"), show_advice=True)).splitlines()
    assert [re.match(r"\S+ (\w+): TFG101 ", line)[1] for line in lines] == list(WORST_FIRST)  # type: ignore[index]
    coloured = renderer("concise")(found, View(Path("/p"), colour=True, show_advice=True)).splitlines()
    assert len({re.search(r"\x1b\[1;(\d+)mTFG101", line)[1] for line in coloured}) == 3  # type: ignore[index]


def test_statistics() -> None:
    plain = replace(DIAGNOSTIC, code="TFG102", name="other", fix=None)
    assert statistics([DIAGNOSTIC, plain, plain], VIEW, "full") == "2\tTFG102\t[ ] other\n1\tTFG101\t[*] some-name\n"
    assert [row["count"] for row in json.loads(statistics([DIAGNOSTIC, plain, plain], VIEW, "json"))] == [2, 1]


def test_summary() -> None:
    unsafe = replace(DIAGNOSTIC, fix=replace(DIAGNOSTIC.fix, applicability="unsafe"))  # type: ignore[type-var]
    more = "can be enabled with the --unsafe-fixes option"
    assert list(summary([], 0, False, False)) == ["All checks passed!"]
    assert list(summary([DIAGNOSTIC, unsafe, unsafe], 0, False, False)) == [
        "Found 3 problems.",
        f"[*] 1 fixable with the --fix option (2 hidden fixes {more}).",
    ]
    assert list(summary([unsafe], 2, True, False)) == [
        "Found 3 problems (2 fixed, 1 remaining).",
        f"No safe fixes left (1 hidden fix {more}).",
    ]
    assert list(summary([unsafe], 0, False, True))[1] == "[*] 1 fixable with the --fix option."


def test_the_environment_may_choose_colours() -> None:
    assert colour_of({}) is colour_of({"NO_COLOR": ""}) is None, "the terminal decides"
    assert colour_of({"NO_COLOR": "1"}) is colour_of({"TERM": "dumb"}) is False
    assert colour_of({"FORCE_COLOR": "1", "NO_COLOR": "1"}) is True
    assert "\x1b[" in renderer("full")([DIAGNOSTIC], View(Path("/p"), colour=True))
    assert "\x1b[" not in renderer("full")([DIAGNOSTIC], VIEW)
