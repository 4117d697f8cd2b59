"""What an expression counts: a number that follows from the lengths of arrays and datasets."""

from __future__ import annotations

import math
from collections.abc import Callable

import libcst as cst

from tflint_gpu.bounds import SAMPLE_STEPS
from tflint_gpu.lazy_dataclasses import dataclass
from tflint_gpu.model import (
    Analysis,
    Context,
    DatasetValue,
    Expression,
    File,
    Once,
    Origin,
    TensorValue,
    Values,
    counted_by,
    dotted_name,
)

_WHOLE: dict[str, Callable[[float], float]] = {"int": int, "round": round, "float": float}
_ROWS = 10**9
_Rows = Callable[[File, Expression, "Context | None"], "int | None"]


@dataclass(frozen=True, slots=True)
class Share:
    """A number that is computed from how many rows there are, whatever their number: 0.2 of them.

    Arguments:
        part: how many times the rows it is.
        counted: for each thing that is counted the origins that it may have: node and access path.
    """

    part: float
    counted: tuple[frozenset[object], ...]


class RowCounts(Analysis):
    """Analysis of numbers that are computed from lengths."""

    values = Once(Values)

    def of(self, file: File, expr: Expression, context: Context | None = None) -> int | None:
        """The whole number that an expression is; None where it does not follow."""
        number = self._number(file, expr, context, 0, self.rows)
        return number if type(number) is int else None

    def share(self, file: File, expr: Expression, context: Context | None = None) -> Share | None:
        """What share of the rows of something an expression is; None where it is another number."""
        counted: list[frozenset[object]] = []

        def rows(file: File, expr: Expression, context: Context | None) -> int:
            counted.append(frozenset(map(identity, self.inference.of(file, expr, context))))
            return _ROWS

        number = self._number(file, expr, context, 0, rows)
        return Share(number / _ROWS, tuple(counted)) if number is not None and counted else None

    def rows(self, file: File, expr: Expression, context: Context | None) -> int | None:
        """How many rows an array or a dataset has, where the code says it."""
        value = self.values.of(file, expr, context)
        if isinstance(value, DatasetValue):
            return value.cardinality
        return value.shape[0] if isinstance(value, TensorValue) and value.shape else None

    def _number(
        self, file: File, expr: Expression, context: Context | None, depth: int, rows: _Rows
    ) -> float | int | None:
        if depth > SAMPLE_STEPS.limit:
            self.inference.meet(SAMPLE_STEPS)
            return None
        constant = self.constants.of(file, expr, context)
        if isinstance(constant, int | float) and not isinstance(constant, bool):
            return constant
        counted = counted_by(file, expr)
        if counted is not None:
            return rows(file, counted, context)
        if isinstance(expr, cst.BinaryOperation):
            left = self._number(file, expr.left, context, depth + 1, rows)
            right = self._number(file, expr.right, context, depth + 1, rows)
            return None if left is None or right is None else _computed(expr.operator, left, right)
        if isinstance(expr, cst.Call):
            rounding = _rounding(file, expr)
            inner = self._number(file, expr.args[0].value, context, depth + 1, rows) if rounding else None
            return rounding(inner) if rounding is not None and inner is not None else None
        if isinstance(expr, cst.Name | cst.Attribute):
            origins = self.inference.of(file, expr, context)
            origin = origins[0] if len(origins) == 1 and not origins[0].access_path else None
            node = origin.node if origin is not None else None
            if origin is not None and isinstance(node, cst.BaseExpression) and node is not expr:
                return self._number(origin.file, node, origin.context, depth + 1, rows)
        return None


def identity(origin: Origin) -> object:
    """What two origins have in common that are the same value: a name that nothing binds is one wherever it is."""
    name = dotted_name(origin.node) if isinstance(origin.node, cst.Name | cst.Attribute) else None
    return origin.node if name is None else (origin.file, name), origin.access_path


def _rounding(file: File, call: cst.Call) -> Callable[[float], float] | None:
    if len(call.args) != 1 or call.args[0].star:
        return None
    name = file.name(call.func)
    if name in ("math.ceil", "math.floor"):
        return math.ceil if name == "math.ceil" else math.floor
    return next((function for name, function in _WHOLE.items() if file.names.is_builtin(call.func, name)), None)


def _computed(operator: cst.BaseBinaryOp, left: float, right: float) -> float | None:
    if isinstance(operator, cst.Add):
        return left + right
    if isinstance(operator, cst.Subtract):
        return left - right
    if isinstance(operator, cst.Multiply):
        return left * right
    if isinstance(operator, cst.Divide):
        return left / right if right else None
    if isinstance(operator, cst.FloorDivide):
        return left // right if right else None
    return None
