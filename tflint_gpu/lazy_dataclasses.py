"""Dataclasses whose methods are compiled when they are first called.

`dataclasses.dataclass` writes up to eight methods for each class and has Python compile each of them by itself: half a
millisecond for a class, though most classes of a start never get an instance. Here `__init__`, `__eq__` and `__hash__`
are compiled at their first call, and methods that are the same for all classes are shared. All else is left to
`dataclasses`, whose `fields`, `replace` and `asdict` take these classes as any others. (An `InitVar` is not supported.)
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import MISSING, Field, FrozenInstanceError, fields
from reprlib import recursive_repr
from types import MemberDescriptorType
from typing import TYPE_CHECKING, Any, cast

__all__ = ["compiled_at_first_call", "constructor", "dataclass", "lazily_compiled"]

_eager = dataclasses.dataclass
Method = Callable[..., Any]


def _lazy(kind: Any = None, /, **options: Any) -> Any:
    """As `dataclasses.dataclass`."""
    if kind is None:
        return lambda kind: _lazy(kind, **options)
    if not options.keys() <= {"frozen", "slots", "eq", "unsafe_hash"}:
        return _eager(kind, **options)
    documentation = kind.__doc__
    kind.__doc__ = documentation or "-"  # else `dataclasses` writes one: what `inspect` finds out of the signature
    made: Any = _eager(kind, init=False, repr=False, eq=False, slots=options.get("slots", False))
    made.__doc__ = documentation
    _add(made, "__init__", compiled_at_first_call("__init__", constructor))
    _add(made, "__repr__", _representation)
    is_frozen, has_equality = options.get("frozen", False), options.get("eq", True)
    if is_frozen:
        made.__setattr__ = made.__delattr__ = _refuse
        if options.get("slots"):
            _add(made, "__getstate__", _state)
            _add(made, "__setstate__", _set_state)
    if has_equality:
        _add(made, "__eq__", compiled_at_first_call("__eq__", _equality))
    has_own_hash = made.__dict__.get("__hash__") is not None
    if not has_own_hash and (options.get("unsafe_hash") or (has_equality and is_frozen)):
        made.__hash__ = compiled_at_first_call("__hash__", _hash)
    elif not has_own_hash and has_equality:
        made.__hash__ = None
    return made


if TYPE_CHECKING:
    from dataclasses import dataclass as dataclass
else:
    dataclass = _lazy


@contextmanager
def lazily_compiled(package: str) -> Iterator[None]:
    """The dataclasses of a package that is imported meanwhile are such classes, too; those of others are not.

    Arguments:
        package: one that has no `InitVar`.
    """

    frozen: list[Any] = []

    def either(kind: Any = None, /, **options: Any) -> Any:
        if kind is None:
            return lambda kind: either(kind, **options)
        if kind.__module__.partition(".")[0] != package:
            return _eager(kind, **options)
        made = _lazy(kind, **options)
        frozen.extend([made] if options.get("frozen") else [])
        return made

    dataclasses.dataclass = either
    try:
        yield
    finally:
        dataclasses.dataclass = _eager
        for made in frozen:  # only now: `dataclasses` itself takes those that derive from each other for not frozen
            made.__dataclass_params__.frozen = True


def _add(kind: type, name: str, method: Method | None) -> None:
    if name not in kind.__dict__:
        setattr(kind, name, method)


def compiled_at_first_call(name: str, compiled: Callable[[type], Method]) -> Method:
    """A method that at its first call compiles the one that takes its place."""
    ready: list[Method] = []

    def first_call(self: Any, *arguments: Any, **named: Any) -> Any:
        # Its class is looked for, since it may have been copied: to one with `__slots__`.
        owner = next((kind for kind in type(self).__mro__ if kind.__dict__.get(name) is first_call), None)
        if owner is not None:  # otherwise another thread was quicker
            ready.append(compiled(owner))
            setattr(owner, name, ready[-1])
        return ready[-1](self, *arguments, **named)

    return first_call


def _compiled(head: str, lines: Iterable[str], names: dict[str, object]) -> Method:
    exec("\n ".join([f"def method({head}):", *lines, "pass"]), names)
    return cast("Method", names["method"])


def constructor(kind: type) -> Method:
    """The `__init__` of a dataclass."""
    names: dict[str, object] = {"_default": object()}
    positional, by_name, lines = ["self"], list[str](), list[str]()
    for field in fields(kind):
        name = field.name
        parameter = value = name
        if field.default_factory is not MISSING:
            names[f"_make_{name}"] = field.default_factory
            parameter, value = f"{name}=_default", f"_make_{name}()"
            if field.init:
                value += f" if {name} is _default else {name}"
        elif field.default is not MISSING:
            names[f"_default_{name}"] = field.default
            parameter = f"{name}=_default_{name}"
            value = name if field.init else f"_default_{name}"
        elif not field.init:
            continue
        if field.init:
            (by_name if field.kw_only else positional).append(parameter)
        if kind.__setattr__ is _refuse:
            lines.append(_set(kind, name, value, names))
        else:
            lines.append(f"self.{name} = {value}")
    if hasattr(kind, "__post_init__"):
        lines.append("self.__post_init__()")
    return _compiled(", ".join([*positional, *(["*", *by_name] if by_name else [])]), lines, names)


def _set(kind: type, name: str, value: str, names: dict[str, object]) -> str:
    """The text that sets a field in spite of `__setattr__`."""
    slot = getattr(kind, name, None)
    if isinstance(slot, MemberDescriptorType):
        names[f"_set_{name}"] = slot.__set__
        return f"_set_{name}(self, {value})"
    names["_set"] = object.__setattr__
    return f"_set(self, {name!r}, {value})"


def _equality(kind: type) -> Method:
    compared = [field.name for field in fields(kind) if field.compare]
    line = f"if other.__class__ is self.__class__: return {_values('self', compared)} == {_values('other', compared)}"
    return _compiled("self, other", [line, "return NotImplemented"], {})


def _hash(kind: type) -> Method:
    hashed = [field.name for field in fields(kind) if _is_hashed(field)]
    return _compiled("self", [f"return hash({_values('self', hashed)})"], {})


def _is_hashed(field: Field[Any]) -> bool:
    return field.compare if field.hash is None else field.hash


def _values(owner: str, names: Sequence[str]) -> str:
    """The text of a tuple."""
    return f"({''.join(f'{owner}.{name},' for name in names)})"


@recursive_repr()
def _representation(self: Any) -> str:
    shown = (f"{field.name}={getattr(self, field.name)!r}" for field in fields(self) if field.repr)
    return f"{type(self).__qualname__}({', '.join(shown)})"


def _refuse(self: Any, name: str, *value: Any) -> None:
    raise FrozenInstanceError(f"cannot {'assign to' if value else 'delete'} field {name!r}")


def _state(self: Any) -> list[Any]:
    """For `pickle`, which otherwise sets each slot."""
    return [getattr(self, field.name) for field in fields(self)]


def _set_state(self: Any, state: Sequence[Any]) -> None:
    for field, value in zip(fields(self), state, strict=True):
        object.__setattr__(self, field.name, value)
