"""Protects what a reader sees: the caret is below the code it means, whatever the line is made of."""

from __future__ import annotations

from pathlib import Path

import pytest

from tflint_gpu.diagnostics import Diagnostic, Edit, Fix, Location, OnCpu, Prediction, Related
from tflint_gpu.reports import View
from tflint_gpu.reports.formats.full import predicted, render
from tflint_gpu.text.source import SourceFile


def report(text: str, row: int, start: int, end: int, **attributes: object) -> list[str]:
    diagnostic = Diagnostic(
        "TFG101", "some-name", "it is slow", "x.py", Location(row, start), Location(row, end), row, "warning",
        **attributes,  # type: ignore[arg-type]
    )  # fmt: skip
    view = View(Path("/p"), sources={"x.py": SourceFile(Path("/p/x.py"), "x.py", text)})
    return render([diagnostic], view).splitlines()


@pytest.mark.parametrize(
    ("line", "shown", "marks"),
    [
        ("a = BAD + 1", "a = BAD + 1", "    ^^^"),
        ("\ta = BAD", "    a = BAD", "        ^^^"),
        ("'日本' + BAD", "'日本' + BAD", "         ^^^"),
        ("'e\u0301' + BAD", "'e\u0301' + BAD", "      ^^^"),
        ("'\x1b[31m' + BAD", "'␛[31m' + BAD", "          ^^^"),
        ("'\u202e' + BAD", "'\\u{202e}' + BAD", "             ^^^"),
    ],
)
def test_the_caret_is_below_the_code(line: str, shown: str, marks: str) -> None:
    column = line.index("BAD") + 1
    lines = report(line + "\n", 1, column, column + 3)
    assert lines[3] == f"1 | {shown}"
    assert lines[4] == f"  | {marks}"


def test_a_long_line_is_cut_around_the_code() -> None:
    line = "x, " * 1000 + "BAD" + ", y" * 1000
    column = line.index("BAD") + 1
    lines = report(line, 1, column, column + 3)
    shown, marks = lines[3][4:], lines[4][4:]
    assert len(shown) < 160
    assert shown[marks.index("^") : marks.rindex("^") + 1] == "BAD"


def test_all_parts() -> None:
    edit = Edit(0, 1, Location(1, 1), Location(1, 2), "x")
    lines = report(
        "a = BAD\nb = GOOD\n" + "\n" * 9, 1, 5, 8,
        help="do this",
        prediction=Prediction("slowdown", ("gpu", "traced"), 1.5, 2.0, "measured on a T4"),
        related=(Related("x.py", Location(2, 5), Location(2, 9), "called from here"),),
        fix=Fix("f", "safe", (edit,)),
    )  # fmt: skip
    assert lines == [
        "warning[TFG101 some-name]: [*] it is slow",
        " --> x.py:1:5",
        "  |",
        "1 | a = BAD",
        "  |     ^^^",
        " ::: x.py:2:5",
        "  |",
        "2 | b = GOOD",
        "  |     ^^^^ called from here",
        "  = predicted: slowdown by a factor of 1.5 to 2 (gpu, traced); measured on a T4",
        "  = help: do this",
        "",
    ]


def test_a_place_of_several_rows_is_marked_to_the_end_of_its_first() -> None:
    diagnostic = Diagnostic("C", "n", "m", "x.py", Location(1, 5), Location(3, 2), 1, "error")
    view = View(Path("/p"), sources={"x.py": SourceFile(Path("/p/x.py"), "x.py", "a = f(\n  1,\n)")})
    assert "  |     ^^\n" in render([diagnostic], view)


@pytest.mark.parametrize(("row", "start", "end"), [(1, 1, 1), (1, 99, 120), (50, 1, 3), (2, 1, 5)])
def test_places_outside_the_text_do_no_harm(row: int, start: int, end: int) -> None:
    assert report("a = 1\n\n", row, start, end)[1] == f"{' ' * len(str(row))}--> x.py:{row}:{start}"


def test_a_file_that_is_gone_is_named_only(tmp_path: Path) -> None:
    diagnostic = Diagnostic("C", "n", "m", "gone.py", Location(1, 5), Location(1, 6), 1, "error")
    assert render([diagnostic], View(tmp_path)) == "error[C n]: m\n --> gone.py:1:5\n\n"


def test_predictions_in_words() -> None:
    assert predicted(Prediction("crash")) == "crash"
    own = Prediction("slowdown", low=1.5, high=36.0, basis="b", on_cpu=OnCpu(1.0, 2.1, 2, "c"))
    assert predicted(own) == "slowdown by a factor of 1.5 to 36; b; on a CPU with 2 cores by 1 to 2.1: c"
    assert predicted(Prediction("slowdown", low=3.0)) == "slowdown by a factor of 3 or more"
    assert predicted(Prediction("wrong-device", ("gpu",), basis="b")) == "wrong device (gpu); b"


def test_a_table_stands_below_the_help() -> None:
    lines = report("a = BAD\n", 1, 5, 8, help="do this\nparameters  1,000\nall           \x1b[31m")
    assert lines[-4:-1] == ["  = help: do this", "    parameters  1,000", "    all           ␛[31m"]
