"""How a model is put together of its parts: each is imported and built when it is first asked for."""

from __future__ import annotations

from importlib import import_module
from typing import Any, ClassVar, Generic, Protocol, TypeVar, cast

_T = TypeVar("_T")


class Whole(Protocol):
    """What has parts.

    Arguments:
        named: the attributes, by the class of what they hold.
    """

    named: ClassVar[dict[str, str]]


class Part(Generic[_T]):
    """An attribute that holds one part, which is given what the annotations of its constructor ask for.

    A parameter `chains: Pipelines` gets the whole's part of the class `Pipelines`; parameters with defaults keep them.

    Arguments:
        place: its class, below `tflint_gpu.model`: "tensorflow.pipelines.Pipelines".
    """

    def __init__(self, place: str) -> None:
        self.module, _, self.name = place.rpartition(".")

    def __set_name__(self, owner: type[Whole], attribute: str) -> None:
        self.attribute = attribute
        owner.named[self.name] = attribute

    def __get__(self, whole: Whole, owner: type[Whole]) -> _T:
        made = cast("type[_T]", getattr(import_module(f"tflint_gpu.model.{self.module}"), self.name))
        part = made(*(getattr(whole, whole.named[name]) for name in asked_by(made)))
        vars(whole)[self.attribute] = part  # found there from now on, before this is asked
        return part


def asked_by(part: type[Any]) -> list[str]:
    """The names of the classes of what a part's constructor must get."""
    constructor = part.__init__
    asked = [name for parameter, name in constructor.__annotations__.items() if parameter != "return"]
    return asked[: len(asked) - len(constructor.__defaults__ or ())]
