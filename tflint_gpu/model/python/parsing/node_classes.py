"""libcst's node classes, changed to do the same in less time.

Four things that every question to a tree does again and again are dear in libcst for reasons that do not concern a
reader of trees. They are changed once, here, to give the same answers at less cost:

- nodes are hashed and compared by identity, in Python: `object` does that by itself;
- `isinstance` asks through `abc`, since other classes might be registered as nodes: none are, so the class alone
  decides, as it does for other classes (a third of a microsecond against half of that, six million times in 440,000
  lines);
- a node sets its fields through `object.__setattr__`, and is then checked for mistakes that only who makes nodes by
  hand can make: that a name is not empty, that there is a blank after `return`. The parser's own are without such
  mistakes (libcst's source says so next to `CSTNode.__post_init__`), so while it works they are left out;
- what a literal means is asked of Python's parser each time: once for each text is enough.
"""

from __future__ import annotations

import ast
import dataclasses
import threading
from abc import ABCMeta
from collections.abc import Callable
from contextlib import AbstractContextManager
from functools import lru_cache
from typing import Any

import libcst as cst

from tflint_gpu.lazy_dataclasses import Method, compiled_at_first_call, constructor

_LITERALS = (cst.Integer, cst.Float, cst.SimpleString)
_checks = [True]
"""Whether a node is checked when it is made: empty if not."""


class _PlainMeta(ABCMeta):
    """The class of classes for which `isinstance` asks nothing but their bases."""

    __instancecheck__ = type.__instancecheck__


class UntilTheLast(AbstractContextManager[None]):
    """A state that begins with the first thread that asks for it, and ends with the last one that is done.

    Arguments:
        change: begins it, given True, and ends it, given False.
    """

    def __init__(self, change: Callable[[bool], None]) -> None:
        self._change = change
        self._lock = threading.Lock()
        self._threads = 0

    def __enter__(self) -> None:
        with self._lock:
            self._threads += 1
            self._change(True)

    def __exit__(self, *error: object) -> None:
        with self._lock:
            self._threads -= 1
            if not self._threads:
                self._change(False)


def _leave_out_checks(begins: bool) -> None:
    _checks[:] = [] if begins else [True]


unchecked = UntilTheLast(_leave_out_checks)
"""Nodes are made without checks meanwhile."""


def constructor_of(kind: type) -> Method:
    """A node's `__init__`, which takes what libcst's takes."""
    return constructor(kind, is_frozen=True, last="if checks: self.__post_init__()", checks=_checks)


class _Seldom:
    """A field that is seldom read: where a node was made without it, it has its default.

    Arguments:
        slot: libcst's own descriptor of the field.
        default: makes the default.
    """

    __slots__ = ("_default", "_slot")

    def __init__(self, slot: Any, default: Callable[[], Any]) -> None:
        self._slot, self._default = slot, default

    def __get__(self, node: Any, kind: type | None = None) -> Any:
        if node is None:
            return self._slot
        try:
            return self._slot.__get__(node)
        except AttributeError:
            return self._default()

    def __set__(self, node: Any, value: Any) -> None:
        self._slot.__set__(node, value)


def maker(kind: type[cst.CSTNode], *fields: str) -> Callable[..., Any]:
    """What makes a node, unchecked, of some of its fields, given in that order; the others keep their defaults."""
    names: dict[str, Any] = {"new": object.__new__, "kind": kind}
    lines = []
    for field in dataclasses.fields(kind):
        descriptor = kind.__dict__[field.name]
        if field.name in fields:
            names[f"set_{field.name}"] = (descriptor._slot if isinstance(descriptor, _Seldom) else descriptor).__set__
            lines.append(f" set_{field.name}(node, {field.name})")
        elif not isinstance(descriptor, _Seldom):
            default = _default_of(field)
            if default is None:
                raise TypeError(f"{kind.__name__} needs {field.name}")
            setattr(kind, field.name, _Seldom(descriptor, default))
    head = f"def make_{kind.__name__}({', '.join(fields)}):\n node = new(kind)"
    exec("\n".join([head, *lines, " return node"]), names)
    made: Callable[..., Any] = names[f"make_{kind.__name__}"]
    return made


def of_defaults(kind: Any) -> Any:
    """A node all of whose fields have their defaults: as calling its class, for which that would compile a method."""
    node: Any = object.__new__(kind)
    for field in dataclasses.fields(kind):
        default = _default_of(field)
        if default is None:
            raise TypeError(f"{kind.__name__} needs {field.name}")
        kind.__dict__[field.name].__set__(node, default())
    return node


def _default_of(field: dataclasses.Field[Any]) -> Callable[[], Any] | None:
    if field.default_factory is not dataclasses.MISSING:
        return field.default_factory
    value = field.default
    return None if value is dataclasses.MISSING else lambda: value


@lru_cache(maxsize=2048)
def _value(text: str) -> Any:
    """The value of a literal. Raises what Python's parser does."""
    return ast.literal_eval(text)


def kinds_of_nodes() -> list[type[cst.CSTNode]]:
    """libcst's classes, the abstract ones, too."""
    return [kind for kind in vars(cst).values() if isinstance(kind, type) and cst.CSTNode in kind.__mro__]


def _quicken() -> None:
    for kind in kinds_of_nodes():
        kind.__hash__ = object.__hash__  # type: ignore[method-assign]
        kind.__eq__ = object.__eq__  # type: ignore[method-assign]
        if type(kind) is ABCMeta:
            kind.__class__ = _PlainMeta  # type: ignore[assignment]
        if "__dataclass_params__" in kind.__dict__:
            kind.__init__ = compiled_at_first_call("__init__", constructor_of)  # type: ignore[method-assign]
    for kind in _LITERALS:
        kind.evaluated_value = property(lambda node: _value(node.value))  # type: ignore[method-assign, assignment]


_quicken()
