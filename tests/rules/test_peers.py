"""What a peer's rules mark in its own test files is found here too, or is left alone for a reason that is written down."""

from __future__ import annotations

import sys
from collections import Counter
from dataclasses import dataclass
from pathlib import Path

import pytest
from checks import found

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

PEERS = Path(__file__).parents[1] / "peers"
_HERE = "# here"
# SonarPython's rules with the marks in its test file, and how many of them are to be found here.
FOUND = {
    "S6908": (4, 4),
    "S6911": (4, 0),
    "S6918": (8, 8),
    "S6919": (3, 0),
    "S6925": (8, 0),
    "S6928": (7, 3),
    "S6929": (16, 0),
}


@dataclass(frozen=True, slots=True)
class Mark:
    """A mark in a peer's test file, with a program of our own that makes the same mistake."""

    rule: str
    file: str
    line: int
    finds: str
    why: str
    program: str

    @property
    def row(self) -> int:
        """The line of the program that is meant."""
        return next(row for row, text in enumerate(self.program.splitlines(), 1) if text.endswith(_HERE))

    def __str__(self) -> str:
        return f"{self.rule} {self.file}:{self.line}"


def marks() -> list[Mark]:
    with (PEERS / "sonarpython.toml").open("rb") as file:
        return [Mark(**one) for one in tomllib.load(file)["mark"]]


@pytest.mark.parametrize("mark", marks(), ids=str)
def test_a_mark_is_found_or_left_alone(mark: Mark, tmp_path: Path) -> None:
    """Protects recall against the peer, and the reasons for which its other marks are no findings."""
    at_mark = {code for code, row in found(mark.program, tmp_path) if row == mark.row}
    assert at_mark == ({mark.finds} if mark.finds else set()), mark.why


def test_no_other_line_of_the_programs_is_found(tmp_path: Path) -> None:
    """Protects the programs: each shows one mistake."""
    for number, mark in enumerate(marks()):
        places = {row for _, row in found(mark.program, tmp_path / str(number))}
        assert places <= {mark.row}, str(mark)


def test_every_mark_stands_for_itself() -> None:
    """Protects the count: all marks of the peer, each once, each with a reason."""
    all_marks = marks()
    assert len({(mark.file, mark.line) for mark in all_marks}) == len(all_marks)
    assert all(mark.why for mark in all_marks)
    counted = Counter(mark.rule for mark in all_marks)
    reported = Counter(mark.rule for mark in all_marks if mark.finds)
    assert {rule: (counted[rule], reported[rule]) for rule in counted} == FOUND
