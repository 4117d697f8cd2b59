"""Python's operators, comparisons and subscripts on values that are known."""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

import libcst as cst

from tflint_gpu.bounds import RUN_EXPONENT, RUN_ITEMS, RUN_NUMBER, Meet
from tflint_gpu.model.interpreter.values import (
    PLAIN,
    ClassValue,
    DictValue,
    External,
    FunctionValue,
    Instance,
    ListValue,
    elements,
)
from tflint_gpu.model.interpreter.world import World
from tflint_gpu.model.python.syntax.operators import ARITHMETIC, ASSIGNING, COMPARISONS, GROWING
from tflint_gpu.model.python.value_flow.constants import UNKNOWN

_OPERATORS = {**ARITHMETIC, **GROWING, **ASSIGNING}


def operated(world: World, symbol: cst.CSTNode, left: Any, right: Any, meet: Meet) -> Any:
    """What an operator gives."""
    if left is UNKNOWN or right is UNKNOWN:
        return UNKNOWN
    apply = _OPERATORS.get(type(symbol))
    if isinstance(left, ListValue | tuple) or isinstance(right, ListValue | tuple):
        return _sequence(apply, left, right, meet)
    if isinstance(left, PLAIN) and isinstance(right, PLAIN):
        return UNKNOWN if apply is None else _calculated(apply, left, right, meet)
    if any(isinstance(operand, (Instance, DictValue, FunctionValue, ClassValue)) for operand in (left, right)):
        return UNKNOWN
    return world.operated(type(symbol).__name__.removesuffix("Assign"), left, right)


def _sequence(apply: Any, left: Any, right: Any, meet: Meet) -> Any:
    if isinstance(right, ListValue | tuple) and isinstance(left, int):
        left, right = right, left
    first = elements(left)
    if first is None:
        return UNKNOWN
    if apply is operator.mul and isinstance(right, int):
        if right * len(first) > RUN_ITEMS.limit:
            meet(RUN_ITEMS)
            return UNKNOWN
        sequence = first * right
    elif apply is operator.add and type(left) is type(right) and (second := elements(right)) is not None:
        sequence = first + second
    elif apply is operator.mod and isinstance(left, str):
        return UNKNOWN
    else:
        return UNKNOWN
    return ListValue(sequence) if isinstance(left, ListValue) else tuple(sequence)


def compared(symbol: cst.CSTNode, left: Any, right: Any, meet: Meet) -> Any:
    """What a comparison gives."""
    if left is UNKNOWN or right is UNKNOWN:
        return UNKNOWN
    if isinstance(symbol, cst.Is | cst.IsNot):
        if left is None or right is None or isinstance(left, bool) or isinstance(right, bool):
            return (left is right) is isinstance(symbol, cst.Is)
        return UNKNOWN
    if isinstance(symbol, cst.In | cst.NotIn):
        values = elements(right)
        if values is None or not isinstance(left, PLAIN) or not all(isinstance(value, PLAIN) for value in values):
            return UNKNOWN
        is_in = left in right if isinstance(right, str) and isinstance(left, str) else left in values
        return is_in is isinstance(symbol, cst.In)
    apply = COMPARISONS.get(type(symbol))
    if apply is None or not isinstance(left, (*PLAIN, tuple)) or not isinstance(right, (*PLAIN, tuple)):
        return UNKNOWN
    return _calculated(apply, left, right, meet)


def item(world: World, value: Any, key: Any) -> Any:
    """What is under a key or index, or a slice of a sequence."""
    if isinstance(value, DictValue):
        return value.items.get(key, UNKNOWN) if not value.is_lost and isinstance(key, PLAIN) else UNKNOWN
    if isinstance(value, (Instance, FunctionValue, ClassValue, External, int, float, type(None))):
        return UNKNOWN
    values = elements(value)
    if values is None:
        return UNKNOWN if isinstance(value, ListValue) else world.item(value, key)
    if isinstance(key, slice):
        part = values[key]
        return ListValue(part) if isinstance(value, ListValue) else value[key]
    inside = isinstance(key, int) and -len(values) <= key < len(values)
    return values[key] if inside else UNKNOWN


def _calculated(apply: Callable[[Any, Any], Any], left: Any, right: Any, meet: Meet) -> Any:
    try:
        if apply in (operator.pow, operator.lshift) and abs(right) > RUN_EXPONENT.limit:
            meet(RUN_EXPONENT)
            return UNKNOWN
        if apply is operator.pow and abs(left) > RUN_NUMBER.limit:
            meet(RUN_NUMBER)
            return UNKNOWN
        if apply is operator.mul and isinstance(left, str) and len(left) * right > RUN_ITEMS.limit:
            meet(RUN_ITEMS)
            return UNKNOWN
        value = apply(left, right)
    except (ArithmeticError, TypeError, ValueError):
        return UNKNOWN
    if isinstance(value, int) and abs(value) > RUN_NUMBER.limit:
        meet(RUN_NUMBER)
        return UNKNOWN
    return value
