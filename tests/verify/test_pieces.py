"""Edits of a text: where they end up when they meet, and that rows stay rows."""

from __future__ import annotations

import ast
from itertools import permutations
from pathlib import Path

import pytest

from tflint_gpu.text.source import SourceFile
from tflint_gpu.verify.slicing.pieces import masked, put_in, replacing, tidy, with_opening, without_rows, wrapping


def source(text: str) -> SourceFile:
    return SourceFile(Path("x.py"), "x.py", text)


def test_order_of_pieces_does_not_matter() -> None:
    """Protects brackets and replacements, whatever the order in which a rule gives its changes."""
    text = "f(a + b)"
    pieces = [*wrapping(2, 7, "g(", ")"), *wrapping(2, 3, "h(", ")"), replacing(6, 7, "c")]
    assert {put_in(text, order) for order in permutations(pieces)} == {"f(g(h(a) + c))"}


def test_replaced_stretch_takes_what_is_within_along() -> None:
    pieces = [*wrapping(2, 3, "h(", ")"), replacing(2, 7, "z"), *wrapping(2, 7, "g(", ")"), replacing(6, 7, "c")]
    assert put_in("f(a + b)", pieces) == "f(g(z))"


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
def test_rows_go_with_their_ends(end: str) -> None:
    """Protects files of each system, and a last row without an end."""
    text = end.join(("a", "b", "c", "d"))
    assert put_in(text, list(without_rows(source(text), {2, 4}))) == f"a{end}c{end}"


def test_masked_code_keeps_its_rows() -> None:
    """Protects slices: what stands in for an expression is found at the rows of the expression."""
    text = "x = f(\r\n  g(1),\n)\ny = h(2)\n"
    code = masked(source(text), [(4, text.index("y") - 1), (text.index("h("), len(text) - 1)])
    assert [node.lineno for node in ast.parse(code).body] == [1, 4]
    assert code.count("\n") == text.count("\n") and "g" not in code and "h" not in code


OPENINGS = {
    "x = 1\n": "NEW\nx = 1\n",
    "# coding: utf-8\nx = 1\n": "# coding: utf-8\nNEW\nx = 1\n",
    '"""About."""\nx = 1\n': '"""About."""\nNEW\nx = 1\n',
    "from __future__ import annotations\nx = 1\n": "from __future__ import annotations\nNEW\nx = 1\n",
    "@a\n@b(\n1)\ndef f(): pass\n": "NEW\n@a\n@b(\n1)\ndef f(): pass\n",
    '"""Only this."""': '"""Only this."""\nNEW\n',
    "": "NEW\n",
    "# a\x0cb\u2028c\nx = 1\n": "# a\x0cb\u2028c\nNEW\nx = 1\n",
}


@pytest.mark.parametrize(("text", "expected"), OPENINGS.items())
def test_opening(text: str, expected: str) -> None:
    """Protects what must stand first in a file."""
    assert with_opening(text, "NEW\n") == expected


def test_tidy_leaves_strings_alone() -> None:
    """Protects values: empty lines in a string are no empty lines of the program."""
    text = 's = """a\n\n\n\n\nb"""\n\n\n\n\nx = 1\n'
    assert tidy(text) == 's = """a\n\n\n\n\nb"""\n\n\nx = 1\n'
