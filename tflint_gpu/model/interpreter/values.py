"""The values that the interpreter computes with: Python's own where they never change, and these."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import field
from itertools import count
from typing import Any

from tflint_gpu.lazy_dataclasses import dataclass
from tflint_gpu.model.python.project.file import File
from tflint_gpu.model.python.project.functions import Class, Function
from tflint_gpu.model.python.syntax.syntax import Node
from tflint_gpu.model.python.value_flow.constants import UNKNOWN, Unknown

_SERIAL = count()
PLAIN = (int, float, str, bool, bytes, type(None))


class Mutable:
    """A value that code can change. It is lost where it is not known whether, or how, that happened.

    Attributes:
        serial: grows with the time at which the value was made.
        is_lost: nothing is known of the content any more.
    """

    __slots__ = ("is_lost", "serial")

    def __init__(self) -> None:
        self.serial = next(_SERIAL)
        self.is_lost = False

    def lose(self) -> None:
        """Forget the content."""
        self.is_lost = True

    def content(self) -> Iterator[Any]:
        """The values in it, which are lost with it where it is given to unknown code."""
        yield from ()


def now() -> int:
    """A serial number: what has a smaller one is older."""
    return next(_SERIAL)


class ListValue(Mutable):
    """A list whose elements are known one by one."""

    __slots__ = ("items",)

    def __init__(self, items: list[Any]) -> None:
        super().__init__()
        self.items = items

    def content(self) -> Iterator[Any]:
        """Its elements."""
        yield from self.items


class DictValue(Mutable):
    """A dict whose keys are known."""

    __slots__ = ("items",)

    def __init__(self, items: dict[Any, Any]) -> None:
        super().__init__()
        self.items = items

    def content(self) -> Iterator[Any]:
        """Its values."""
        yield from self.items.values()


@dataclass(slots=True, eq=False)
class Frame:
    """The variables of a module, a function that runs, or a class body.

    Arguments:
        parent: where names are looked up that are not here.
        owner, receiver: of a method the class in which it is written, and the instance.
        returned: what the function has returned on the ways that were followed.
        outer: the names that are the module's, by `global`, or an outer function's.
        may_have_left_loop: whether a `break` or `continue` is on a way that was perhaps taken.
    """

    file: File
    variables: dict[str, Any] = field(default_factory=dict)
    parent: Frame | None = None
    owner: Class | None = None
    receiver: Any = None
    returned: list[Any] = field(default_factory=list)
    outer: dict[str, Frame] = field(default_factory=dict)
    may_have_left_loop: bool = False

    def find(self, name: str) -> Frame | None:
        """The frame in which a name has a value."""
        frame: Frame | None = self
        while frame is not None and name not in frame.variables:
            frame = frame.parent
        return frame

    @property
    def module(self) -> Frame:
        """The frame of the module."""
        frame = self
        while frame.parent is not None:
            frame = frame.parent
        return frame


@dataclass(frozen=True, slots=True)
class FunctionValue:
    """A function or lambda of the project, with what its free names mean; `receiver` for a method of an instance."""

    function: Function
    frame: Frame
    receiver: Any = None


@dataclass(frozen=True, slots=True)
class ClassValue:
    """A class of the project."""

    cls: Class
    frame: Frame


class Instance(Mutable):
    """An instance of a class of the project."""

    __slots__ = ("attributes", "made", "notes")

    def __init__(self, made: ClassValue) -> None:
        super().__init__()
        self.made = made
        self.attributes: dict[str, Any] = {}
        self.notes: dict[str, Any] = {}  # what a library knows of it

    def content(self) -> Iterator[Any]:
        """Its attributes."""
        yield from self.attributes.values()


@dataclass(frozen=True, slots=True)
class External:
    """Something outside the project, by its canonical name: "keras.layers.Dense", "builtins.len"."""

    name: str


@dataclass(frozen=True, slots=True)
class Method:
    """`receiver.name`, of a container or of what a library made."""

    receiver: Any
    name: str


@dataclass(frozen=True, slots=True)
class PartialCall:
    """`functools.partial(function, ...)`."""

    function: Any
    arguments: Arguments


@dataclass(frozen=True, slots=True)
class Super:
    """`super()` in a method of a class."""

    instance: Instance
    owner: Class


@dataclass(frozen=True, slots=True)
class Arguments:
    """What a call passes.

    Arguments:
        is_whole: whether nothing else is passed; false after a `*` or `**` that is not known.
    """

    positional: tuple[Any, ...] = ()
    named: dict[str, Any] = field(default_factory=dict)
    is_whole: bool = True

    def get(self, position: int, name: str, default: Any = None) -> Any:
        """The argument at a position or of a name; the default where there must be none, else `UNKNOWN`."""
        if name in self.named:
            return self.named[name]
        if 0 <= position < len(self.positional):
            return self.positional[position]
        return default if self.is_whole else UNKNOWN

    def values(self) -> Iterator[Any]:
        """All that is passed."""
        yield from self.positional
        yield from self.named.values()

    def then(self, later: Arguments) -> Arguments:
        """These, and more after them."""
        return Arguments(
            (*self.positional, *later.positional), {**self.named, **later.named}, self.is_whole and later.is_whole
        )


@dataclass(frozen=True, slots=True)
class Site:
    """A call, or the reading of a property, in the code."""

    file: File
    node: Node


def same(first: Any, second: Any) -> bool:
    """Whether two values certainly are one."""
    if first is second:
        return not isinstance(first, Unknown)
    if type(first) is not type(second):
        return False
    if isinstance(first, tuple):
        return len(first) == len(second) and all(map(same, first, second))
    if isinstance(first, (*PLAIN, External)):
        return bool(first == second)
    return (
        isinstance(first, FunctionValue)
        and first.function.node is second.function.node
        and first.receiver is second.receiver
    )


def joined(first: Any, second: Any) -> Any:
    """The value after two ways join."""
    return first if same(first, second) else UNKNOWN


def joined_variables(first: dict[str, Any], second: dict[str, Any]) -> dict[str, Any]:
    """The variables after two ways join."""
    return {name: joined(first.get(name, UNKNOWN), second.get(name, UNKNOWN)) for name in first.keys() | second.keys()}


def plain(value: Any) -> Any:
    """A value as Python has it: lists as tuples, and `UNKNOWN` for all that is not known through and through."""
    if isinstance(value, ListValue):
        return UNKNOWN if value.is_lost else plain(tuple(value.items))
    if isinstance(value, tuple):
        inner = tuple(plain(item) for item in value)
        return UNKNOWN if any(item is UNKNOWN for item in inner) else inner
    return value if isinstance(value, PLAIN) else UNKNOWN


def elements(value: Any) -> list[Any] | None:
    """What iterating over a value yields; None where that is not known."""
    if isinstance(value, ListValue):
        return None if value.is_lost else list(value.items)
    if isinstance(value, DictValue):
        return None if value.is_lost else list(value.items)
    if isinstance(value, tuple | str):
        return list(value)
    return None
