"""What operators of tensors, variables and arrays give."""

from __future__ import annotations

import libcst as cst

from tflint_gpu.model.values import dtypes, shapes
from tflint_gpu.model.values.conversion import ArrayKind
from tflint_gpu.model.values.value import (
    PENDING,
    Pending,
    TensorValue,
    Value,
)

_OF_BOOLS = (cst.Add, cst.Multiply, cst.BitAnd, cst.BitOr, cst.BitXor)
"""Operators of NumPy's bools that give bools."""


def computed(value: Value) -> Value:
    """What an operation on each number of a value gives: of a variable a tensor."""
    if isinstance(value, TensorValue) and value.kind == "variable":
        return TensorValue(value.result_kind, value.dtype, value.shape)
    return value if isinstance(value, TensorValue | Pending) else None


def operated(first: Value, operator: cst.CSTNode, second: Value) -> Value:
    """What an operator of two values gives."""
    if isinstance(first, Pending) or isinstance(second, Pending):
        return PENDING
    pair = [value for value in (first, second) if isinstance(value, TensorValue)]
    is_tensor = any(value.kind in ("tensor", "variable") for value in pair)
    if len(pair) < 2:
        # TensorFlow's operators take what is no tensor and make one of it, of the same type.
        known = next((value for value in pair if value.kind in ("tensor", "variable")), None)
        is_division = isinstance(operator, cst.Divide | cst.DivideAssign)
        if known is None:
            is_sum = isinstance(operator, cst.Add | cst.AddAssign)
            return next((value for value in pair if is_sum and value.dtype == "str"), None)
        return TensorValue("tensor", dtypes.divided(known.dtype, of_tensor=True) if is_division else known.dtype)
    left, right = pair
    if left.is_number and right.is_number:
        return _of_numbers(left, operator, right)
    if {left.kind, right.kind} & {"ragged", "sparse"}:
        return TensorValue("ragged" if "ragged" in (left.kind, right.kind) else "sparse", left.dtype or right.dtype)
    result: ArrayKind = "tensor" if is_tensor else "array"
    dtype = _dtype_of_pair(left, right, is_tensor)
    if left.dtype == right.dtype == "bool" and not is_tensor and not isinstance(operator, _OF_BOOLS):
        dtype = ""
    if isinstance(operator, cst.MatrixMultiply | cst.MatrixMultiplyAssign):
        return TensorValue(result, dtype, shapes.product(left.shape, right.shape))
    if isinstance(operator, cst.Divide | cst.DivideAssign):
        if is_tensor and dtype == "bool":
            return None  # an array's operator does it
        dtype = dtypes.divided(dtype, of_tensor=is_tensor)
    return TensorValue(result, dtype, shapes.broadcast(left.shape, right.shape))


def _dtype_of_pair(left: TensorValue, right: TensorValue, is_tensor: bool) -> str:
    for number, tensor in ((left, right), (right, left)):
        if number.is_number:
            return dtypes.with_number(tensor.dtype, number.dtype, of_tensor=is_tensor)
    if not is_tensor:
        return dtypes.promoted(left.dtype, right.dtype)
    # A tensor's operator converts an array to the tensor's type, and asks for the same type of another tensor.
    types = {side.dtype for side in (left, right) if side.kind in ("tensor", "variable")} - {""}
    return types.pop() if len(types) == 1 else ""


def _of_numbers(left: TensorValue, operator: cst.CSTNode, right: TensorValue) -> Value:
    if "str" in (left.dtype, right.dtype):
        return TensorValue("number", "str", ())
    is_float = "float" in (left.dtype, right.dtype) or isinstance(operator, cst.Divide | cst.DivideAssign)
    return TensorValue("number", "float" if is_float else "int", ())


def compared(first: Value, operator: cst.CSTNode, second: Value) -> Value:
    """What a comparison gives; `==` of tensors of shapes that do not go together is False."""
    result = operated(first, cst.Add(), second)
    if isinstance(result, TensorValue):
        is_equality = isinstance(operator, cst.Equal | cst.NotEqual)
        is_known = not is_equality or all(_is_fixed(value) for value in (first, second))
        return TensorValue(result.kind, "bool", result.shape if is_known else None)
    return PENDING if isinstance(result, Pending) else None


def _is_fixed(value: Value) -> bool:
    """Whether all lengths of a value are known."""
    return isinstance(value, TensorValue) and value.shape is not None and None not in value.shape
