"""Protects which rules run: the more specific selector wins, and exceptions hold for their files only."""

from __future__ import annotations

from pathlib import Path

import pytest

from tflint_gpu.rule import UNREADABLE_FILE
from tflint_gpu.settings.patterns import FilePattern
from tflint_gpu.settings.selection import Layer, PerFileIgnore, Selection, covers

KNOWN = ("TFG101", "TFG102", "TFG201", "TFG302")
FILE = Path("/p/src/a.py")


def codes(*layers: Layer, exceptions: tuple[PerFileIgnore, ...] = (), path: Path = FILE) -> str:
    selected = Selection(layers, exceptions).codes_for(path, KNOWN)
    return " ".join(sorted(code[3:] for code in selected.codes))


@pytest.mark.parametrize(
    ("layers", "expected"),
    [
        ([Layer()], "000 101 102 201 302"),
        ([Layer(("TFG1",))], "000 101 102"),
        ([Layer(("TFG1",), ("TFG102",))], "000 101"),
        ([Layer(("TFG102",), ("TFG1",))], "000 102"),
        ([Layer(("ALL",), ("TFG1",))], "000 201 302"),
        ([Layer(("TFG101",), ("TFG101",))], "000"),
        ([Layer(("TFG1",)), Layer(("TFG2",))], "000 201"),
        ([Layer(("TFG1",)), Layer(extend_select=("TFG2",))], "000 101 102 201"),
        ([Layer(ignore=("TFG1",)), Layer(extend_select=("TFG101",))], "000 101 201 302"),
        ([Layer(("TFG1",)), Layer(ignore=("TFG101",))], "000 102"),
        ([Layer(("TFG1",)), Layer(extend_ignore=("TFG000",))], "101 102"),
        ([Layer(ignore=("ALL",))], ""),
    ],
)
def test_layers(layers: list[Layer], expected: str) -> None:
    assert codes(*layers) == expected


def test_full_codes_are_remembered_for_opt_in_rules() -> None:
    def named(*layers: Layer) -> frozenset[str]:
        return Selection(layers).codes_for(FILE, KNOWN).by_full_code

    assert named(Layer(("TFG1", "TFG2"))) == frozenset()
    assert named(Layer(("ALL",), ("TFG101",))) == {"TFG000", "TFG102", "TFG201", "TFG302"}, "as in ruff"
    assert named(Layer(("TFG",), extend_select=("TFG101",))) == {"TFG101"}
    assert named(Layer(("TFG101",)), Layer(("TFG1",))) == frozenset()
    assert named(Layer(("TFG101",), ("TFG101",))) == frozenset()


def test_exceptions_for_files() -> None:
    tests = PerFileIgnore(FilePattern("tests/*", Path("/p")), False, ("TFG1",))
    source = PerFileIgnore(FilePattern("src/**", Path("/p")), True, ("TFG302",))
    name = PerFileIgnore(FilePattern("conftest.py", Path("/p")), False, ("ALL",))
    every = (tests, source, name)
    assert codes(Layer(), exceptions=every) == "000 101 102 201 302"
    assert codes(Layer(), exceptions=every, path=Path("/p/tests/in/b.py")) == "000 201"
    assert codes(Layer(), exceptions=every, path=Path("/p/src/conftest.py")) == ""


def test_what_a_selector_covers() -> None:
    assert covers("TFG", "TFG101")
    assert covers("TFG10", "TFG101")
    assert not covers("T", "TFG101"), "a prefix shorter than the letters is a typing error"
    assert not covers("TFG1011", "TFG101")
    assert not covers("", "TFG101")
    assert covers("ALL", UNREADABLE_FILE)
