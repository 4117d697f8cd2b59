"""Protects what tells a known finding from a new one: baselines and code scanning match by it."""

from __future__ import annotations

from tflint_gpu.diagnostics import Diagnostic, Location
from tflint_gpu.narrowing.fingerprints import fingerprints


def marks(text: str, *places: tuple[int, int], filename: str = "a.py", code: str = "C1") -> list[str]:
    """Fingerprints of findings that go from one row to another."""
    found = [
        Diagnostic(code, "n", f"message at {first}", filename, Location(first, 1), Location(last, 2), first, "error")
        for first, last in places
    ]
    lines = text.split("\n")
    return fingerprints(found, lambda _, row, _cell: lines[row - 1] if row <= len(lines) else "")


def test_lines_above_and_indentation_do_not_matter() -> None:
    assert marks("fit(x)", (1, 1)) == marks("import os\n\nif x:\n\tfit(x)", (4, 4))


def test_each_part_matters() -> None:
    one = marks("fit(x)", (1, 1))
    assert one != marks("fit(y)", (1, 1))
    assert one != marks("fit(x)", (1, 1), filename="b.py")
    assert one != marks("fit(x)", (1, 1), code="C2")


def test_the_same_line_twice_is_told_apart_in_any_order() -> None:
    text = "fit(x)\nfit(x)\nfit(x)"
    forwards = marks(text, (1, 1), (2, 2), (3, 3))
    assert len(set(forwards)) == 3
    assert marks(text, (3, 3), (1, 1), (2, 2)) == [forwards[2], forwards[0], forwards[1]]
    assert marks(text, (1, 1), (1, 1)) == forwards[:2], "two findings on one line"


def test_a_statement_counts_whole_and_of_a_block_the_header() -> None:
    call = marks("fit(\n  x,\n  1)", (1, 3))
    assert call == marks("\nfit(\n      x,\n  1)\nmore", (2, 4))
    assert call != marks("fit(\n  x,\n  2)", (1, 3))
    assert marks("for a in b:\n  one()", (1, 2)) == marks("for a in b:\n  two()\n  three()", (1, 3))


def test_files_that_cannot_be_read_or_named() -> None:
    gone = Diagnostic("C1", "n", "m", "a\udcff.py", Location(3, 1), Location(2, 1), 3, "error")
    first, second = fingerprints([gone, gone], lambda _name, _row, _cell: None)
    assert first != second
    assert fingerprints([], lambda _name, _row, _cell: None) == []
