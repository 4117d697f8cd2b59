"""Tests for TensorFlow's version, and what they are with the version that a program runs on."""

from __future__ import annotations

import libcst as cst

from tflint_gpu.bounds import VERSION_NAMES, Meet
from tflint_gpu.lazy_patterns import regex
from tflint_gpu.model.python.project.file import File
from tflint_gpu.model.python.syntax.children import walk
from tflint_gpu.model.python.syntax.operators import COMPARISONS, decided, is_negation
from tflint_gpu.model.python.syntax.syntax import Expression, method_name

_VERSIONS = frozenset(["tf.__version__", "tf.version.VERSION", "tf.VERSION", "tf.compat.v1.VERSION"])
_EAGER = frozenset(["tf.executing_eagerly", "tf.compat.v1.executing_eagerly", "tf.compat.v2.executing_eagerly"])
_NUMBERS = regex(r"\d+")


def value_of_test(file: File, test: Expression, version: tuple[int, ...], depth: int = 0, *, meet: Meet) -> bool | None:
    """What a test for the version, or for code that runs eagerly, is in eager code; None where it asks something else.

    Arguments:
        version: TensorFlow's, such as (2, 21).
        meet: is told of a bound that cuts the search off.
    """
    if isinstance(test, cst.BooleanOperation) or is_negation(test):
        return decided(test, lambda part: value_of_test(file, part, version, depth, meet=meet))
    if isinstance(test, cst.Name):
        bindings = file.flow.lookup(test.value, test)
        value = bindings[0].value if len(bindings) == 1 and bindings[0].kind == "assign" else None
        if value is None or bindings[0].path:
            return None
        if depth < VERSION_NAMES.limit:
            return value_of_test(file, value, version, depth + 1, meet=meet)
        meet(VERSION_NAMES)
        return None
    if isinstance(test, cst.Call):
        if file.name(test.func) in _EAGER:
            return True
        if method_name(test) == "startswith" and len(test.args) == 1 and _is_version(file, test.func):
            asked = _numbers(test.args[0].value)
            return None if asked is None else version[: len(asked)] == asked
        return None
    if isinstance(test, cst.Comparison) and len(test.comparisons) == 1:
        [comparison] = test.comparisons
        compare, asked = COMPARISONS.get(type(comparison.operator)), _numbers(comparison.comparator)
        if compare is not None and asked is not None and _is_version(file, test.left):
            return bool(compare(version[: len(asked)], asked[: len(version)]))
    return None


def _is_version(file: File, expr: Expression) -> bool:
    """Whether an expression is the version from its start on, as text, in parts or as a number."""
    is_version = False
    for node in walk(expr):
        if isinstance(node, cst.Attribute) and file.name(node) in _VERSIONS:
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
