"""The tree of a module: libcst's nodes, made of what Python's own parser says where that is possible.

libcst's parser makes the others, with fewer nodes and without the checks of those that are made by hand
(`node_classes`). Two of its nodes in five are the blanks, or the nothing, between two others. They hold a few texts
again and again and cannot be changed, so one node is used for all of the same text: a twentieth of the time, and less
to free.
"""

from __future__ import annotations

import libcst as cst

from tflint_gpu.model.python.parsing.conversion import Unlike, converted
from tflint_gpu.model.python.parsing.node_classes import UntilTheLast, unchecked
from tflint_gpu.model.python.parsing.python_trees import PythonTrees, python_tree
from tflint_gpu.model.python.parsing.reuse import KnownText, converted_again

_BLANKS: type = cst.SimpleWhitespace
_KEPT_LENGTH = 40
REFUSED = "Python parses this file, but libcst does not, so it was not checked"


def parse_module(code: str, python: PythonTrees | None = None) -> cst.Module:
    """The tree of a module: all that means something, of whitespace and brackets no more than the defaults.

    Raises:
        libcst.ParserSyntaxError: the code does not parse.
        Exception: what else the native parser raises, such as ValueError for broken literals.
    """
    tree = python_tree(code) if python is None else python.of(code)
    if tree is not None:
        try:
            with unchecked, _sharing_blanks:
                return converted(tree, code)
        except (Unlike, RecursionError):
            pass
    return parse_whole(code)


def parse_again(code: str, former: KnownText | None, python: PythonTrees) -> KnownText:
    """The same of a text that may have been another one before, whose tree is not to be used any more.

    Raises:
        libcst.ParserSyntaxError: the code does not parse.
        Exception: what else the native parser raises, such as ValueError for broken literals.
    """
    tree = python.of(code)
    if tree is not None:
        try:
            with unchecked, _sharing_blanks:
                return converted_again(tree, code, former)
        except (Unlike, RecursionError):
            pass
    return KnownText(parse_whole(code), {})


def parse_whole(code: str) -> cst.Module:
    """The tree of a module by libcst's own parser, whitespace and all.

    Raises:
        libcst.ParserSyntaxError: the code does not parse.
        Exception: what else the native parser raises, such as ValueError for broken literals.
    """
    with unchecked, _sharing_blanks:
        return cst.parse_module(code)


class _Known(dict[str, cst.SimpleWhitespace]):
    """The nodes of blanks, by their text."""

    def __missing__(self, value: str) -> cst.SimpleWhitespace:
        node: cst.SimpleWhitespace = _BLANKS(value)
        if len(value) <= _KEPT_LENGTH:
            self[value] = node
        return node


_known = _Known()


def _blanks(value: str) -> cst.SimpleWhitespace:
    """The node of some blanks."""
    return _known[value]


def _share_blanks(begins: bool) -> None:
    # The native parser looks the class up there.
    cst.SimpleWhitespace = _blanks if begins else _BLANKS  # type: ignore[assignment, misc]


_sharing_blanks = UntilTheLast(_share_blanks)
"""One node is used for all blanks of one text meanwhile."""
