"""What values become that are made tensors or arrays: numbers, and lists of what is alike."""

from __future__ import annotations

from typing import Literal, TypeAlias

from tflint_gpu.model.values import dtypes, shapes
from tflint_gpu.model.values.value import (
    PENDING,
    Pending,
    SequenceValue,
    StructureValue,
    TensorValue,
    Value,
)

ArrayKind: TypeAlias = Literal["tensor", "array"]


def converted(value: Value, kind: ArrayKind, dtype: str | None = None) -> Value:
    """What a value becomes that is made a tensor or an array."""
    made = stacked_value(value, kind)
    if isinstance(made, TensorValue) and dtype is not None:
        return TensorValue(made.kind, dtype, made.shape)
    return made


def stacked_value(value: Value, kind: ArrayKind) -> Value:
    """A number, or a list of what is alike, as one tensor or array."""
    if isinstance(value, TensorValue):
        if value.is_number:
            return TensorValue(kind, dtypes.of_python(value.dtype, of_tensor=kind == "tensor"), ())
        return TensorValue(kind, value.dtype, value.shape) if value.kind in ("variable", "array", "tensor") else value
    if isinstance(value, StructureValue) and value.keys is None:
        if not value.items:
            return TensorValue(kind, "float32" if kind == "tensor" else "float64", (0,))
        return _stacked_items([stacked_value(item, kind) for item in value.items], kind, value)
    if isinstance(value, SequenceValue):
        inner = stacked_value(value.element, kind)
        if isinstance(inner, TensorValue):
            return TensorValue(kind, inner.dtype, None if inner.shape is None else (value.length, *inner.shape))
        return inner if isinstance(inner, Pending) else TensorValue(kind)
    return PENDING if isinstance(value, Pending) else TensorValue(kind)


def _stacked_items(items: list[Value], kind: ArrayKind, whole: StructureValue) -> Value:
    if any(isinstance(item, Pending) for item in items):
        return PENDING
    tensors = [item for item in items if isinstance(item, TensorValue)]
    if len(tensors) < len(items):
        return TensorValue(kind)
    return TensorValue(kind, _dtype_of_all(tensors, whole, kind), shapes.stacked([t.shape for t in tensors], 0))


def _dtype_of_all(tensors: list[TensorValue], whole: StructureValue, kind: ArrayKind) -> str:
    """The type of numbers and tensors together: a number takes that of a tensor next to it."""
    types = {tensor.dtype for tensor in tensors}
    if len(types) == 1:
        return types.pop()
    written = [
        tensor.dtype
        for tensor, item in zip(tensors, whole.items, strict=True)
        if not (isinstance(item, TensorValue) and item.is_number)
    ]
    of_tensor = kind == "tensor"
    if not written and types <= {"int32", "float32", "int64", "float64"}:
        return dtypes.of_python("float", of_tensor=of_tensor)
    return written[0] if of_tensor and written and len(set(written)) == 1 else ""
