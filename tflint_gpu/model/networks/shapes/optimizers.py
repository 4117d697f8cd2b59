"""Which variables optimizers keep for each weight.

Read in Keras's own source (keras/src/optimizers in Keras 3, keras/src/optimizers in 2.15, the legacy ones in 2.4).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tflint_gpu.lazy_dataclasses import dataclass
from tflint_gpu.model.interpreter.values import Arguments
from tflint_gpu.model.python.value_flow.constants import UNKNOWN


class _Open(Exception):
    """An argument is not known."""


@dataclass(frozen=True, slots=True)
class Optimizer:
    """An optimizer.

    Arguments:
        name: of its class: "Adam".
        slots: how many numbers it keeps for each number that it trains.
    """

    name: str
    slots: int


@dataclass(frozen=True, slots=True)
class _Kind:
    """How an optimizer's slots follow from its arguments."""

    name: str
    slots: int
    more: Callable[[Arguments], int] = lambda given: 0


def _momentum(position: int) -> Callable[[Arguments], int]:
    return lambda given: int(_number(given, position, "momentum", 0.0) > 0)


def _amsgrad(given: Arguments) -> int:
    return int(_flag(given, "amsgrad"))


def _root_mean_square(given: Arguments) -> int:
    return int(_number(given, 2, "momentum", 0.0) > 0) + int(_flag(given, "centered"))


_KINDS = {
    kind.name.lower(): kind
    for kind in (
        _Kind("SGD", 0, _momentum(1)),
        _Kind("RMSprop", 1, _root_mean_square),
        _Kind("Adam", 2, _amsgrad),
        _Kind("AdamW", 2, _amsgrad),
        _Kind("Nadam", 2),
        _Kind("Adamax", 2),
        _Kind("Adagrad", 1),
        _Kind("Adadelta", 2),
        _Kind("Ftrl", 2),
        _Kind("Lion", 1),
    )
}


def named(identifier: str) -> Optimizer | None:
    """The optimizer of an identifier: `compile("adam")`."""
    kind = _KINDS.get(identifier.lower())
    return None if kind is None else Optimizer(kind.name, kind.slots)


def made(name: str, given: Arguments) -> Optimizer | None:
    """The optimizer that a call of its class makes; None where its slots are not known."""
    kind = _KINDS.get(name.lower())
    if kind is None or kind.name != name or not given.is_whole:
        return None
    try:
        average = int(_flag(given, "use_ema"))
        accumulated = int(given.get(-1, "gradient_accumulation_steps") is not None)
        if given.get(-1, "gradient_accumulation_steps") is UNKNOWN:
            return None
        return Optimizer(name, kind.slots + kind.more(given) + average + accumulated)
    except _Open:
        return None


def _number(given: Arguments, position: int, name: str, default: float) -> float:
    value: Any = given.get(position, name, default)
    if value is None:
        return 0.0
    if not isinstance(value, int | float):
        raise _Open
    return value


def _flag(given: Arguments, name: str) -> bool:
    value = given.get(-1, name, default=False)
    if not isinstance(value, bool):
        raise _Open
    return value
