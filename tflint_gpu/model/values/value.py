"""Abstract values: what is known of a tensor, an array, a dataset, a layer or a structure of them."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final, Literal, TypeAlias

from tflint_gpu.lazy_dataclasses import dataclass
from tflint_gpu.model.python.value_flow.origins import Origin

Dimension: TypeAlias = int | None
"""A number; None where it is not known, or is another one from call to call."""
Shape: TypeAlias = tuple[Dimension, ...]


@dataclass(frozen=True, slots=True)
class TensorValue:
    """A tensor, or what converts to one.

    Arguments:
        kind: a "number" is one of Python's: an int, a float, a bool, a str.
        dtype: as TensorFlow prints it, for a number the name of its class; empty where it is not known.
        shape: None where not even the rank is known.
    """

    kind: Literal["tensor", "variable", "array", "ragged", "sparse", "number"]
    dtype: str = ""
    shape: Shape | None = None

    def __str__(self) -> str:
        words = [self.kind.capitalize() if self.kind != "number" else "Python", self.dtype or "?"]
        if self.kind != "number":
            words.append(shape_text(self.shape))
        return " ".join(words)

    @property
    def is_number(self) -> bool:
        """Whether it is one of Python's numbers or texts."""
        return self.kind == "number"

    @property
    def result_kind(self) -> Literal["tensor", "array"]:
        """What is computed of it, or taken from it: of a variable a tensor."""
        return "array" if self.kind == "array" else "tensor"


TEXT: Final = TensorValue("number", "str", ())


@dataclass(frozen=True, slots=True)
class SequenceValue:
    """Something to iterate over whose elements are alike: a list, a `range`, a generator; its length where known."""

    element: Value
    length: Dimension = None

    def __str__(self) -> str:
        return f"Sequence of {text(self.element)}" + (f", {self.length:,} elements" if self.length is not None else "")


@dataclass(frozen=True, slots=True)
class DatasetValue:
    """A `tf.data.Dataset`.

    Arguments:
        cardinality: how many elements it has; None where that is not known, or without end.
    """

    element: Value
    cardinality: Dimension = None

    def __str__(self) -> str:
        count = "" if self.cardinality is None else f", {self.cardinality:,} elements"
        return f"Dataset of {text(self.element)}{count}"


@dataclass(frozen=True, slots=True)
class StructureValue:
    """A tuple or list whose items are known one by one, or a dictionary with known keys.

    Arguments:
        is_list: tf.data makes one tensor of a list, and keeps a tuple.
    """

    items: tuple[Value, ...]
    keys: tuple[str | int, ...] | None = None
    is_list: bool = False

    def __str__(self) -> str:
        if self.keys is None:
            return f"({', '.join(map(text, self.items))})"
        return f"{{{', '.join(f'{k!r}: {text(v)}' for k, v in zip(self.keys, self.items, strict=True))}}}"

    def item(self, key: object) -> Value:
        """What is under an index or key; what all items have in common where that is not known."""
        if self.keys is not None and key in self.keys:
            return self.items[self.keys.index(key)]
        if isinstance(key, int) and -len(self.items) <= key < len(self.items):
            return self.items[key]
        return joined(self.items) if key is None else None


@dataclass(frozen=True, slots=True)
class LayerValue:
    """A layer or model of Keras's own, or an instance of a class of the project that is one; `origin`: where made."""

    name: str
    origin: Origin

    def __str__(self) -> str:
        return self.name.rpartition(".")[2]


class Pending:
    """The value of an expression that depends on nothing but itself, as far as it has been followed."""

    def __repr__(self) -> str:
        return "PENDING"


PENDING: Final = Pending()
Value: TypeAlias = TensorValue | SequenceValue | DatasetValue | StructureValue | LayerValue | Pending | None
"""None is a value of which nothing is known."""


def text(value: Value) -> str:
    """A value as an editor shows it: "Tensor float32 (32, 10)"; "?" for one of which nothing is known."""
    return "?" if value is None or isinstance(value, Pending) else str(value)


def shape_text(shape: Shape | None) -> str:
    """A shape as Keras prints it, "(...)" for an unknown rank."""
    if shape is None:
        return "(...)"
    return f"({', '.join('?' if length is None else str(length) for length in shape)}{',' * (len(shape) == 1)})"


def has_more_parts(value: Value, limit: int) -> bool:
    """Whether a structure has more than so many parts; each is counted as often as it is in it."""
    count, left = 0, [value]
    while left and count <= limit:
        part = left.pop()
        count += 1
        if isinstance(part, StructureValue):
            left += part.items
        elif isinstance(part, SequenceValue | DatasetValue):
            left.append(part.element)
    return count > limit


def joined(values: Iterable[Value]) -> Value:
    """What some values have in common, one of which it is."""
    common: Value = PENDING
    for value in values:
        if not isinstance(value, Pending):
            common = value if isinstance(common, Pending) else _common(common, value)
            if common is None:  # whatever the others are
                break
    return common


def _common(first: Value, second: Value) -> Value:
    if first is second or first == second:
        return first
    if isinstance(first, TensorValue) and isinstance(second, TensorValue):
        return _common_tensor(first, second)
    if isinstance(first, StructureValue) and isinstance(second, StructureValue):
        if first.keys == second.keys and len(first.items) == len(second.items):
            pairs = zip(first.items, second.items, strict=True)
            return StructureValue(tuple(joined(pair) for pair in pairs), first.keys, first.is_list and second.is_list)
        return None
    if isinstance(first, DatasetValue) and isinstance(second, DatasetValue):
        return DatasetValue(
            joined((first.element, second.element)),
            first.cardinality if first.cardinality == second.cardinality else None,
        )
    if isinstance(first, SequenceValue) and isinstance(second, SequenceValue):
        return SequenceValue(
            joined((first.element, second.element)), first.length if first.length == second.length else None
        )
    return None


def _common_tensor(first: TensorValue, second: TensorValue) -> TensorValue | None:
    if first.kind != second.kind:
        if first.is_number or second.is_number:
            return None
        kind: Literal["tensor", "array"] = "tensor" if "tensor" in (first.kind, second.kind) else "array"
        if {first.kind, second.kind} - {"tensor", "variable"}:
            return None
        first = TensorValue(kind, first.dtype, first.shape)
    shape: Shape | None = None
    if first.shape is not None and second.shape is not None and len(first.shape) == len(second.shape):
        pairs = zip(first.shape, second.shape, strict=True)
        shape = tuple(left if left == right else None for left, right in pairs)
    return TensorValue(first.kind, first.dtype if first.dtype == second.dtype else "", shape)
