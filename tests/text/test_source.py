"""Protects the bytes of texts that are not on the disk: an editor's, or those of standard input."""

from __future__ import annotations

from pathlib import Path

import pytest

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
