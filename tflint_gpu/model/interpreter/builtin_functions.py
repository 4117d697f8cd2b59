"""Python's own functions, and those of `math`, on values that are known."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from tflint_gpu.bounds import RUN_ITEMS, Meet
from tflint_gpu.model.interpreter.values import (
    PLAIN,
    Arguments,
    ClassValue,
    DictValue,
    External,
    FunctionValue,
    Instance,
    ListValue,
    elements,
    plain,
)
from tflint_gpu.model.python.value_flow.constants import UNKNOWN

_NUMBERS: dict[str, Callable[..., Any]] = {
    "builtins.int": int,
    "builtins.float": float,
    "builtins.str": str,
    "builtins.bool": bool,
    "builtins.abs": abs,
    "builtins.round": round,
    "builtins.divmod": divmod,
    "math.ceil": math.ceil,
    "math.floor": math.floor,
    "math.sqrt": math.sqrt,
    "math.log2": math.log2,
    "math.log": math.log,
    "math.prod": math.prod,
    "numpy.prod": math.prod,
    "numpy.ceil": math.ceil,
    "numpy.floor": math.floor,
    "numpy.sqrt": math.sqrt,
    "numpy.log2": math.log2,
    "operator.mul": lambda a, b: a * b,
    "operator.add": lambda a, b: a + b,
}
_REDUCING: dict[str, Callable[[list[Any]], Any]] = {
    "builtins.sum": sum,
    "builtins.max": max,
    "builtins.min": min,
    "builtins.any": any,
    "builtins.all": all,
    "builtins.sorted": lambda values: ListValue(sorted(values)),
}
_TYPES: dict[str, tuple[type, ...]] = {
    "builtins.int": (int,),
    "builtins.float": (float,),
    "builtins.str": (str,),
    "builtins.bool": (bool,),
    "builtins.list": (ListValue,),
    "builtins.tuple": (tuple,),
    "builtins.dict": (DictValue,),
}
HARMLESS = frozenset(["builtins.print", "builtins.len", "builtins.repr", "builtins.type", "builtins.id"])
"""Functions that change nothing they are given."""


def called(name: str, given: Arguments, meet: Meet) -> Any:
    """What a call gives; `UNKNOWN` where that is not known, and for all other functions."""
    if not given.is_whole or any(value is UNKNOWN for value in given.positional):
        return UNKNOWN
    first = given.positional[0] if given.positional else None
    try:
        if name in _NUMBERS:
            return _number(name, given)
        if name in _REDUCING:
            return _reduced(name, given)
        if name == "builtins.isinstance" and len(given.positional) == 2:
            return _is_instance(first, given.positional[1])
        if name == "builtins.range":
            return _range(given, meet)
        function = _FUNCTIONS.get(name)
        return UNKNOWN if function is None else function(given)
    except (ArithmeticError, LookupError, TypeError, ValueError):
        return UNKNOWN


def _number(name: str, given: Arguments) -> Any:
    values = [plain(value) for value in given.positional]
    if given.named or not values or UNKNOWN in values:
        return UNKNOWN
    return _NUMBERS[name](*values)


def _reduced(name: str, given: Arguments) -> Any:
    values = elements(given.positional[0]) if len(given.positional) == 1 else list(given.positional)
    if given.named or values is None or not all(isinstance(value, PLAIN) for value in values):
        return UNKNOWN
    return _REDUCING[name](values)


def _is_instance(value: Any, kind: Any) -> Any:
    kinds = kind if isinstance(kind, tuple) else (kind,)
    known = [_TYPES.get(kind.name) if isinstance(kind, External) else None for kind in kinds]
    if not isinstance(value, (*PLAIN, tuple, ListValue, DictValue)) or None in known:
        return UNKNOWN
    return any(isinstance(value, known_type) for types in known if types for known_type in types)


def _range(given: Arguments, meet: Meet) -> Any:
    if given.named or not all(isinstance(value, int) for value in given.positional):
        return UNKNOWN
    numbers = range(*given.positional)
    if len(numbers) > RUN_ITEMS.limit:
        meet(RUN_ITEMS)
        return UNKNOWN
    return tuple(numbers)


def _len(given: Arguments) -> Any:
    values = elements(given.positional[0])
    return UNKNOWN if values is None else len(values)


def _list(given: Arguments) -> Any:
    values = elements(given.positional[0]) if given.positional else []
    return UNKNOWN if values is None else ListValue(values)


def _tuple(given: Arguments) -> Any:
    values = elements(given.positional[0]) if given.positional else []
    return UNKNOWN if values is None else tuple(values)


def _reversed(given: Arguments) -> Any:
    values = elements(given.positional[0])
    return UNKNOWN if values is None else tuple(reversed(values))


def _enumerate(given: Arguments) -> Any:
    values, start = elements(given.positional[0]), given.get(1, "start", 0)
    return UNKNOWN if values is None or not isinstance(start, int) else tuple(enumerate(values, start))


def _zip(given: Arguments) -> Any:
    sequences = [elements(value) for value in given.positional]
    known = [values for values in sequences if values is not None]
    return tuple(zip(*known, strict=False)) if len(known) == len(sequences) else UNKNOWN


def _dict(given: Arguments) -> Any:
    items: dict[Any, Any] = {}
    for value in given.positional:
        if not isinstance(value, DictValue) or value.is_lost:
            return UNKNOWN
        items.update(value.items)
    return DictValue({**items, **given.named})


def _hasattr(given: Arguments) -> Any:
    value, name = given.positional
    if isinstance(value, Instance) and not value.is_lost:
        return True if name in value.attributes else UNKNOWN
    return UNKNOWN


def _callable(given: Arguments) -> Any:
    value = given.positional[0]
    if isinstance(value, FunctionValue | ClassValue):
        return True
    return False if isinstance(value, (*PLAIN, tuple, ListValue, DictValue)) else UNKNOWN


_FUNCTIONS: dict[str, Callable[[Arguments], Any]] = {
    "builtins.len": _len,
    "builtins.list": _list,
    "builtins.tuple": _tuple,
    "builtins.reversed": _reversed,
    "builtins.enumerate": _enumerate,
    "builtins.zip": _zip,
    "builtins.dict": _dict,
    "builtins.hasattr": _hasattr,
    "builtins.callable": _callable,
    "builtins.print": lambda given: None,
}


def container_method(receiver: Any, name: str, given: Arguments) -> Any:
    """What a method of a list, dict, tuple or string gives; it may change the receiver."""
    if isinstance(receiver, ListValue | DictValue) and (receiver.is_lost or not given.is_whole):
        receiver.lose()
        return UNKNOWN
    try:
        if isinstance(receiver, ListValue):
            return _list_method(receiver, name, given)
        if isinstance(receiver, DictValue):
            return _dict_method(receiver, name, given)
        if isinstance(receiver, str):
            return _text_method(receiver, name, given)
        if isinstance(receiver, tuple) and name in ("index", "count"):
            return getattr(receiver, name)(*given.positional)
    except (ArithmeticError, AttributeError, LookupError, TypeError, ValueError):
        return UNKNOWN
    return UNKNOWN


CHANGING = frozenset(
    "append extend insert pop remove clear reverse sort update setdefault popitem __setitem__ __delitem__".split()
)
"""Methods that change a list or a dict."""
_TEXT = frozenset("lower upper strip format join split replace startswith endswith title".split())


def _text_method(receiver: str, name: str, given: Arguments) -> Any:
    values = [plain(value) for value in given.positional]
    if name not in _TEXT or UNKNOWN in values or UNKNOWN in given.named.values():
        return UNKNOWN
    result = getattr(receiver, name)(*values, **given.named)
    return ListValue(result) if isinstance(result, list) else result


def _list_method(receiver: ListValue, name: str, given: Arguments) -> Any:
    if name == "append":
        receiver.items.append(given.positional[0])
        return None
    if name == "extend":
        more = elements(given.positional[0])
        if more is None:
            receiver.lose()
        else:
            receiver.items.extend(more)
        return None
    if name in ("insert", "pop", "reverse", "clear") and all(isinstance(p, int) for p in given.positional[:1]):
        return getattr(receiver.items, name)(*given.positional)
    if name == "copy":
        return ListValue(list(receiver.items))
    if name in ("index", "count"):
        return getattr(receiver.items, name)(*given.positional) if plain(receiver) is not UNKNOWN else UNKNOWN
    receiver.lose()
    return UNKNOWN


def _dict_method(receiver: DictValue, name: str, given: Arguments) -> Any:
    items = receiver.items
    if name in ("get", "pop", "setdefault"):
        key, default = given.positional[0], given.positional[1] if len(given.positional) > 1 else None
        if not isinstance(key, PLAIN):
            receiver.lose()
            return UNKNOWN
        if name == "setdefault":
            return items.setdefault(key, default)
        return items.pop(key, default) if name == "pop" else items.get(key, default)
    if name == "update":
        for value in given.positional:
            if not isinstance(value, DictValue) or value.is_lost:
                receiver.lose()
                return None
            items.update(value.items)
        items.update(given.named)
        return None
    if name == "copy":
        return DictValue(dict(items))
    if name in ("keys", "values"):
        return tuple(items if name == "keys" else items.values())
    if name == "items":
        return tuple(items.items())
    receiver.lose()
    return UNKNOWN
