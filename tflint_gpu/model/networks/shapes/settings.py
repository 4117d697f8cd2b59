"""The settings of a layer: its constructor's arguments, read as Keras reads them."""

from __future__ import annotations

from typing import Any

from tflint_gpu.model.interpreter.values import Arguments, plain
from tflint_gpu.model.networks.shapes.graph import NotKnown, Shape
from tflint_gpu.model.python.value_flow.constants import UNKNOWN


class Settings:
    """The arguments of one layer. Every question raises NotKnown where the answer is not known.

    Arguments:
        order: the names of the constructor's positional parameters.
    """

    def __init__(self, given: Arguments, order: tuple[str, ...]) -> None:
        self.given = given
        self.order = order

    def value(self, name: str, default: Any = None) -> Any:
        """The argument as the program has it."""
        position = self.order.index(name) if name in self.order else -1
        value = self.given.get(position, name, default)
        if value is UNKNOWN:
            raise NotKnown
        return value

    def number(self, name: str, default: int | None = None) -> int:
        """A whole number."""
        value = self.value(name, default)
        if isinstance(value, float) and value.is_integer():
            value = int(value)
        if not isinstance(value, int):
            raise NotKnown
        return int(value)

    def flag(self, name: str, default: bool) -> bool:
        """A truth value."""
        value = self.value(name, default)
        if not isinstance(value, bool | int):
            raise NotKnown
        return bool(value)

    def text(self, name: str, default: str) -> str:
        """A word, in small letters."""
        value = self.value(name, default)
        if value is None:
            return default
        if not isinstance(value, str):
            raise NotKnown
        return value.lower()

    def lengths(self, name: str, count: int, default: int | None = None) -> tuple[int, ...]:
        """One number for each of some axes: `3` or `(3, 3)`."""
        value = plain(self.value(name, default))
        if isinstance(value, int) and not isinstance(value, bool):
            return (value,) * count
        if not isinstance(value, tuple) or not all(isinstance(length, int) for length in value):
            raise NotKnown
        if len(value) == 1:
            value = value * count
        if len(value) != count:
            raise NotKnown
        return value

    def shape(self, name: str) -> Shape:
        """A tuple of lengths, some of which may be None."""
        value = plain(self.value(name))
        if isinstance(value, int) and not isinstance(value, bool):
            value = (value,)
        if not isinstance(value, tuple) or not all(length is None or isinstance(length, int) for length in value):
            raise NotKnown
        return value

    def axes(self, name: str, rank: int, default: int) -> tuple[int, ...]:
        """Some axes of a tensor of a rank, counted from its beginning."""
        value = plain(self.value(name, default))
        numbers = value if isinstance(value, tuple) else (value,)
        if not all(isinstance(axis, int) and -rank <= axis < rank for axis in numbers):
            raise NotKnown
        return tuple(axis % rank for axis in numbers)

    def is_channels_first(self, rank: int) -> bool:
        """Whether the channels are before the other axes."""
        return rank > 2 and self.text("data_format", "channels_last") == "channels_first"
