"""Tests that the version of TensorFlow decides, and what they are with the one that a program runs on."""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

import libcst as cst

from tflint_gpu.bounds import VERSION_NAMES, Meet
from tflint_gpu.lazy_patterns import regex
from tflint_gpu.model.library.tensorflow_1 import EAGER_QUERIES, VERSIONS
from tflint_gpu.model.python.project.file import File
from tflint_gpu.model.python.syntax.children import walk
from tflint_gpu.model.python.syntax.operators import COMPARISONS, decided, is_negation
from tflint_gpu.model.python.syntax.syntax import Expression, method_name
from tflint_gpu.targets import Target

_LITERALS = {"True": True, "False": False, "1": True, "0": False}
_NUMBERS = regex(r"\d+")
_Comparison = Callable[[Any, Any], Any]
_LAST_OF_ONE_DIGIT = (2, 9)


def value_of_test(
    file: File, test: Expression, target: Target, depth: int = 0, *, is_eager: bool | None = None, meet: Meet
) -> bool | None:
    """What a test for the version, or for code that runs eagerly, is; None where it asks something else.

    Text is compared as Python does it: "2.21" comes before "2.4". Where nothing says which TensorFlow it is, such a
    test has a value if it is the same for versions of one and of two digits.

    Arguments:
        is_eager: whether the code around it runs eagerly, if that is known.
        meet: is told of a bound that cuts the search off.
    """
    if isinstance(test, cst.BooleanOperation) or is_negation(test):
        return decided(test, lambda part: value_of_test(file, part, target, depth, is_eager=is_eager, meet=meet))
    if isinstance(test, cst.Name | cst.Integer) and test.value in _LITERALS and not depth:
        return _LITERALS[test.value]  # a name of one is a switch that somebody turns
    if isinstance(test, cst.Name):
        bindings = file.flow.lookup(test.value, test)
        value = bindings[0].value if len(bindings) == 1 and bindings[0].kind == "assign" else None
        if value is None or bindings[0].path:
            return None
        if depth < VERSION_NAMES.limit:
            return value_of_test(file, value, target, depth + 1, is_eager=is_eager, meet=meet)
        meet(VERSION_NAMES)
        return None
    if isinstance(test, cst.Call):
        if file.name(test.func) in EAGER_QUERIES:
            return is_eager
        if method_name(test) == "startswith" and len(test.args) == 1:
            version = cst.ensure_type(test.func, cst.Attribute).value
            return _compared(file, version, test.args[0].value, target, str.startswith, operator.eq)
    elif isinstance(test, cst.Comparison) and len(test.comparisons) == 1:
        [comparison] = test.comparisons
        compare = COMPARISONS.get(type(comparison.operator))
        return compare and _compared(file, test.left, comparison.comparator, target, compare, compare)
    return None


def _compared(
    file: File, expr: Expression, asked: Expression, target: Target, by_text: _Comparison, by_number: _Comparison
) -> bool | None:
    """What a comparison of the version with a written one is."""
    if not _is_version(file, expr):
        return None
    releases = {target.tensorflow} if target.pinned else {target.tensorflow, _LAST_OF_ONE_DIGIT}
    pairs = [_spelled_alike(file, expr, asked, release) for release in releases]
    if all(pairs):
        values = {bool(by_text(*pair)) for pair in pairs if pair}
        return values.pop() if len(values) == 1 else None
    version, numbers = target.tensorflow, _numbers(asked)
    return None if numbers is None else bool(by_number(version[: len(numbers)], numbers[: len(version)]))


def _spelled_alike(
    file: File, expr: Expression, asked: Expression, release: tuple[int, int]
) -> tuple[str, str] | tuple[float, float] | None:
    """The version and a written one as two texts or two numbers; None where the version is taken apart."""
    version = _spelled(file, expr, release)
    if isinstance(asked, cst.SimpleString) and isinstance(version, str) and isinstance(asked.evaluated_value, str):
        is_the_same = version.endswith(".") and asked.evaluated_value.startswith(version)  # but for the last part
        return asked.evaluated_value if is_the_same else version, asked.evaluated_value
    if isinstance(asked, cst.Integer | cst.Float) and isinstance(version, float):
        return version, asked.evaluated_value
    return None


def _spelled(file: File, expr: Expression, release: tuple[int, int]) -> str | float | None:
    """What an expression makes of the version's text without its last part: the text, its start or a number."""
    if isinstance(expr, cst.Attribute) and file.name(expr) in VERSIONS:
        return f"{release[0]}.{release[1]}."
    if isinstance(expr, cst.Subscript) and len(expr.slice) == 1 and _is_from_start(expr):
        text, part = _spelled(file, expr.value, release), expr.slice[0].slice
        end = part.upper if isinstance(part, cst.Slice) else cst.Integer("1")
        if isinstance(text, str) and isinstance(end, cst.Integer) and end.evaluated_value <= len(text):
            return text[: end.evaluated_value]
    if isinstance(expr, cst.Call) and len(expr.args) == 1 and _makes_a_number(file, expr):
        text = _spelled(file, expr.args[0].value, release)
        return float(text) if isinstance(text, str) and text.replace(".", "", 1).isdigit() else None
    return None


def _makes_a_number(file: File, call: cst.Call) -> bool:
    return any(file.names.is_builtin(call.func, name) for name in ("float", "int"))


def _is_version(file: File, expr: Expression) -> bool:
    """Whether an expression is the version from its start on, as text, in parts or as a number."""
    is_version = False
    for node in walk(expr):
        if isinstance(node, cst.Attribute) and file.name(node) in VERSIONS:
            is_version = True
        elif isinstance(node, cst.Subscript) and not _is_from_start(node):
            return False
    return is_version


def _is_from_start(node: cst.Subscript) -> bool:
    part = node.slice[0].slice
    if isinstance(part, cst.Index):
        return isinstance(part.value, cst.Integer) and part.value.evaluated_value == 0
    return isinstance(part, cst.Slice) and part.lower is None


def _numbers(expr: Expression) -> tuple[int, ...] | None:
    """The version that an expression writes down: "2.4", 2, LooseVersion("2.4"), (2, 4)."""
    written = [node for node in walk(expr) if isinstance(node, cst.SimpleString | cst.Integer | cst.Float)]
    numbers = tuple(int(number) for node in written for number in _NUMBERS.findall(node.value))
    return numbers or None
