"""The tree of a module: libcst's nodes, made of what Python's own parser says where that is possible."""

from __future__ import annotations

import libcst as cst

from tflint_gpu.model.python.parsing.conversion import Unlike, converted
from tflint_gpu.model.python.parsing.python_trees import PythonTrees, python_tree
from tflint_gpu.model.python.parsing.reuse import KnownText, converted_again

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
            return converted(tree, code)
        except (Unlike, RecursionError):
            pass
    return cst.parse_module(code)


def parse_again(code: str, former: KnownText | None, python: PythonTrees) -> KnownText:
    """The same of a text that may have been another one before, whose tree is not to be used any more.

    Raises:
        libcst.ParserSyntaxError: the code does not parse.
        Exception: what else the native parser raises, such as ValueError for broken literals.
    """
    tree = python.of(code)
    if tree is not None:
        try:
            return converted_again(tree, code, former)
        except (Unlike, RecursionError):
            pass
    return KnownText(cst.parse_module(code), {})
