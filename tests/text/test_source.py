"""Protects the bytes of texts that are not on the disk: an editor's, or those of standard input."""

from __future__ import annotations

from pathlib import Path

import pytest

from tflint_gpu.checking.engine.placement import merged, placed_edit
from tflint_gpu.text.decoding import decode_source
from tflint_gpu.text.source import SourceFile, UnreadableSource, encoded


@pytest.mark.parametrize(
    ("text", "read"),
    [
        ("caf\xe9 = 1\n", "caf\xe9 = 1\n"),
        ("# coding: latin-1\ncaf\xe9 = 1\n", "# coding: latin-1\ncaf\xe9 = 1\n"),
        ("# coding: latin-1\nx = '\N{ROCKET}'; y\n", "# coding: latin-1\nx = '?'; y\n"),
        ("x = '\ud800'; y\n", "x = '?'; y\n"),
    ],
)
def test_every_character_keeps_its_place(text: str, read: str) -> None:
    assert SourceFile.decode(encoded(text), Path("x.py")).text == read


@pytest.mark.parametrize("name", ["nonsense", "rot13"])
def test_an_encoding_that_is_none_is_for_the_reader_to_tell(name: str) -> None:
    with pytest.raises(UnreadableSource, match="cannot be decoded"):
        SourceFile.decode(encoded(f"# coding: {name}\nx = 1\n"), Path("x.py"))


@pytest.mark.parametrize(
    ("text", "left"),
    [
        ("a\n\nGONE\n\n\ndef b(): ...\n", "a\n\n\ndef b(): ...\n"),
        ("a\n\n\nGONE\n\nb\n", "a\n\n\nb\n"),
        ("a\nGONE\n\nb\n", "a\n\nb\n"),
        ("# says why:\nGONE\n\nb\n", "# says why:\n\nb\n"),
        ("if a:\n\n    GONE\n\n    b\n", "if a:\n    b\n"),
        ("a\n\nGONE", "a\n"),
        ("GONE", ""),
        ("GONE\n\n\nb\n", "b\n"),
    ],
)
def test_a_statement_goes_with_the_smaller_gap_around_it(text: str, left: str) -> None:
    assert _without_the_statement(text, "x.py") == left


def test_a_statement_goes_without_a_gap_that_another_cell_begins() -> None:
    document = "```{{python}}\n{}```\n\n```{{python}}\n{}```\n"
    for before, after in ((("a\nGONE\n", "\nb\n"), ("a\n", "\nb\n")), (("a\n\n", "GONE\n\nb\n"), ("a\n\n", "b\n"))):
        assert _without_the_statement(document.format(*before), "x.qmd") == document.format(*after)


def test_two_statements_that_share_the_gap_between_them() -> None:
    source = decode_source(b"a\n\n\nONE\n\nTWO\n\n\nb\n", Path("x.py"))
    places = [source.text.index(name) for name in ("TWO", "ONE")]
    edits = merged(source, [placed_edit(source, (place, place + 3), "", "lines") for place in places])
    assert source.edited(edits).text == "a\n\n\nb\n"


def _without_the_statement(text: str, name: str) -> str:
    source = decode_source(text.encode(), Path(name))
    place = source.text.index("GONE")
    edit = placed_edit(source, (place, place + len("GONE")), "", "lines")
    return source.edited([edit]).encode().decode()
