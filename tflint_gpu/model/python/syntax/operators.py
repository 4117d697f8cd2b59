"""What Python's operators compute, by their syntax nodes."""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping
from typing import Any, TypeGuard

import libcst as cst

from tflint_gpu.model.python.syntax.syntax import Expression, Node


def is_negation(expr: Expression) -> TypeGuard[cst.UnaryOperation]:
    """`not x`."""
    return isinstance(expr, cst.UnaryOperation) and isinstance(expr.operator, cst.Not)


def decided(test: cst.UnaryOperation | cst.BooleanOperation, value: Callable[[Expression], object]) -> bool | None:
    """What `not`, `and` or `or` gives; None where that rests on an operand whose value is None: not known."""
    if isinstance(test, cst.UnaryOperation):
        known = value(test.expression)
        return None if known is None else not known
    sides = [value(side) for side in (test.left, test.right)]
    decides = isinstance(test.operator, cst.Or)
    if any(side is not None and bool(side) is decides for side in sides):
        return decides
    return None if None in sides else not decides


ARITHMETIC: Mapping[type, Callable[[Any, Any], Any]] = {
    cst.Add: operator.add,
    cst.Subtract: operator.sub,
    cst.Multiply: operator.mul,
    cst.Divide: operator.truediv,
    cst.FloorDivide: operator.floordiv,
    cst.Modulo: operator.mod,
}
GROWING: Mapping[type, Callable[[Any, Any], Any]] = {
    cst.Power: operator.pow,
    cst.LeftShift: operator.lshift,
    cst.RightShift: operator.rshift,
}
"""Of small numbers they may make one that fills the memory: whoever applies them looks at the numbers first."""
ASSIGNING: Mapping[type, Callable[[Any, Any], Any]] = {
    cst.AddAssign: operator.add,
    cst.SubtractAssign: operator.sub,
    cst.MultiplyAssign: operator.mul,
    cst.DivideAssign: operator.truediv,
    cst.FloorDivideAssign: operator.floordiv,
    cst.ModuloAssign: operator.mod,
    cst.PowerAssign: operator.pow,
}
COMPARISONS: Mapping[type, Callable[[Any, Any], Any]] = {
    cst.Equal: operator.eq,
    cst.NotEqual: operator.ne,
    cst.LessThan: operator.lt,
    cst.LessThanEqual: operator.le,
    cst.GreaterThan: operator.gt,
    cst.GreaterThanEqual: operator.ge,
}
UNARY: Mapping[type, Callable[[Any], Any]] = {
    cst.Minus: operator.neg,
    cst.Plus: operator.pos,
    cst.Not: operator.not_,
}


def operands(node: Node) -> list[Expression] | None:
    """What an operator combines number by number; None for anything else."""
    if isinstance(node, cst.BinaryOperation):
        return None if isinstance(node.operator, cst.MatrixMultiply) else [node.left, node.right]
    if isinstance(node, cst.UnaryOperation):
        return None if isinstance(node.operator, cst.Not) else [node.expression]
    if isinstance(node, cst.Comparison) and len(node.comparisons) == 1:
        compares = (cst.Equal, cst.NotEqual, cst.LessThan, cst.LessThanEqual, cst.GreaterThan, cst.GreaterThanEqual)
        target = node.comparisons[0]
        return [node.left, target.comparator] if isinstance(target.operator, compares) else None
    if isinstance(node, cst.AugAssign) and not isinstance(node.operator, cst.MatrixMultiplyAssign):
        return [node.target, node.value]
    return None
