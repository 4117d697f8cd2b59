"""Tests by which code sees to it that something is done once."""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from tflint_gpu.model.python.project.file import File
from tflint_gpu.model.python.syntax.children import walk
from tflint_gpu.model.python.syntax.syntax import Expression, dotted_name, method_name

_MODES = ("training", "is_training")
_FLAGS = ("True", "False")
_FILLING = frozenset("append extend insert add update".split())


def asks_if_done(file: File, test: Expression, holds: bool) -> bool:
    """Whether a test says that something which outlives the call is not there yet.

    `self.v is None`, `not self.built`, `not hasattr(self, "v")` that hold, or `self.v is not None` that does not, and
    any test of a flag that the function itself sets.
    """
    if isinstance(test, cst.BooleanOperation):
        return asks_if_done(file, test.left, holds) or asks_if_done(file, test.right, holds)
    if any(_sets_flag(file, part) for part in walk(test) if isinstance(part, cst.Name | cst.Attribute)):
        return True
    if isinstance(test, cst.Comparison):
        absent = (cst.Is, cst.NotIn) if holds else (cst.IsNot, cst.In)
        asks = any(isinstance(c.operator, absent) for c in test.comparisons)
        return asks and any(_outlives(file, side) for side in (test.left, *(c.comparator for c in test.comparisons)))
    if isinstance(test, cst.UnaryOperation) and isinstance(test.operator, cst.Not) and holds:
        flag = test.expression
        return not is_mode(file, flag) and not _is_setting(file, flag) and _outlives(file, flag)
    return False


def is_mode(file: File, test: Expression) -> bool:
    """`self.training`, negated or not: in one mode every call comes here. A flag that the call itself sets is none."""
    while isinstance(test, cst.UnaryOperation) and isinstance(test.operator, cst.Not):
        test = test.expression
    if not isinstance(test, cst.Attribute) or test.attr.value not in _MODES:
        return False
    return not any(True for _ in _values_set(file, test))


def _is_setting(file: File, flag: Expression) -> bool:
    """Whether a name is of the module or an outer function, and this one does not change what it holds."""
    if not isinstance(flag, cst.Name) or flag.value in file.tree.scope(flag).outer_names:
        return False
    function = file.tree.function(flag)
    filled = [
        call.func.value
        for call in file.calls_in.get(function, ())
        if isinstance(call.func, cst.Attribute) and method_name(call) in _FILLING
    ]
    filled += [target.value for target, _ in file.tree.item_assignments if file.tree.function(target) is function]
    return not any(dotted_name(container) == flag.value for container in filled)


def _sets_flag(file: File, flag: Expression) -> bool:
    """Whether the function that asks a flag sets it, for the calls that follow."""
    return any(isinstance(value, cst.Name) and value.value in _FLAGS for value in _values_set(file, flag))


def _values_set(file: File, flag: Expression) -> Iterator[Expression]:
    """What a function gives an attribute, or a name of the module, that it asks."""
    function = file.tree.function(flag)
    if isinstance(flag, cst.Attribute):
        for assignment in file.tree.attribute_assignments:
            target = assignment.target
            if file.tree.function(target) is function and dotted_name(target) == dotted_name(flag):
                yield assignment.value
    elif isinstance(flag, cst.Name) and flag.value in file.tree.scope(flag).outer_names:
        for binding in file.flow.lookup(flag.value, flag):
            if binding.remote and binding.value is not None and file.tree.function(binding.node) is function:
                yield binding.value


def _outlives(file: File, expr: Expression) -> bool:
    if isinstance(expr, cst.Call):
        return file.names.is_builtin(expr.func, "hasattr")
    if isinstance(expr, cst.Name):
        bindings = file.flow.lookup(expr.value, expr)
        if any(binding.kind == "parameter" for binding in bindings):
            return False
        function = file.tree.function(expr)
        return any(
            file.tree.function(binding.node) is not function
            or binding.remote
            or (binding.value is not None and _is_looked_up(file, binding.value))
            for binding in bindings
        )
    return isinstance(expr, cst.Attribute | cst.Subscript)


def _is_looked_up(file: File, value: Expression) -> bool:
    """`kept.get(key)` of what outlives the call."""
    if not isinstance(value, cst.Call) or not isinstance(value.func, cst.Attribute):
        return False
    return method_name(value) == "get" and _outlives(file, value.func.value)
