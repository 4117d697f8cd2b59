"""Types of NumPy's numbers: what a call is asked for, what it makes by itself, and what operations make of two.

A type is written as NumPy prints it; empty where it is not known. Of a type that is not known an array has at least one
byte a number, so each answer here is the smallest that is possible.
"""

from __future__ import annotations

from typing import Any

from tflint_gpu.model.library.precision import BYTES

_OTHER_NAMES = {
    "bool_": "bool",
    "int": "int64",
    "int_": "int64",
    "uint": "uint64",
    "float": "float64",
    "float_": "float64",
    "complex": "complex128",
    "half": "float16",
    "single": "float32",
    "double": "float64",
    "u1": "uint8",
    "u2": "uint16",
    "u4": "uint32",
    "i1": "int8",
    "i2": "int16",
    "i4": "int32",
    "i8": "int64",
    "f2": "float16",
    "f4": "float32",
    "f8": "float64",
}
_FLOATS = ("float16", "float32", "float64")
_FLOAT_OF_BYTES = {1: "float16", 2: "float32", 4: "float64", 8: "float64"}
"""Of integers of so many bytes what a function such as `np.sqrt` makes, and what holds them with floats."""
_POSITIONS = {
    "zeros": 1,
    "ones": 1,
    "empty": 1,
    "array": 1,
    "asarray": 1,
    "full": 2,
    "arange": 3,
    "eye": 3,
    "randint": 3,
    "linspace": 5,
}
_OF_GENERATORS = {"random": 1, "standard_normal": 1, "integers": 3, "randint": 3}
_OF_CONTENT = frozenset(["array", "asarray", "copy"])
_WHOLE = frozenset(["randint", "integers"])
KEEPING = frozenset("abs absolute square clip round around floor ceil".split())
"""Functions of one array that leave its type as it is (rounding does so from NumPy 2.1 on)."""
COMPUTING = frozenset("sin cos tan exp log log1p log2 log10 sqrt tanh".split())
"""Functions of one array that make floats of integers."""


def named(name: str) -> str:
    """A type by any of its names."""
    name = _OTHER_NAMES.get(name, name).lstrip("<=|")
    name = _OTHER_NAMES.get(name, name)
    return name if name in BYTES else ""


def position(function: str, *, of_generator: bool = False) -> int:
    """Where a function of NumPy, or a method of its generators, takes the type; -1 where it does so by keyword only."""
    return (_OF_GENERATORS if of_generator else _POSITIONS).get(function, -1)


def usual(function: str, numbers: tuple[Any, ...]) -> str:
    """What a function makes where it is asked for no type.

    Arguments:
        numbers: its arguments, as far as they are known.
    """
    if function in _WHOLE:
        return "int64"
    if function == "arange":
        return "int64" if all(type(number) is int for number in numbers) else "float64"
    if function == "full":
        return {bool: "bool", int: "int64", float: "float64"}.get(type(numbers[1]), "") if len(numbers) > 1 else ""
    return "" if function in _OF_CONTENT else "float64"


def mapped(function: str, dtype: str) -> str:
    """What a function of each number makes of a type."""
    return dtype if function in KEEPING or dtype in _FLOATS else _FLOAT_OF_BYTES.get(BYTES.get(dtype, 1), dtype)


def combined(left: str, right: str) -> str:
    """What an operator makes of two arrays."""
    large, small = sorted((left, right), key=lambda dtype: (dtype in _FLOATS, BYTES.get(dtype, 1)), reverse=True)
    if large in _FLOATS and small not in _FLOATS and small:
        wide = _FLOAT_OF_BYTES[min(BYTES[small], 8)]
        return max(large, wide, key=BYTES.__getitem__)
    return large


def divided(dtype: str) -> str:
    """What a division, or a Python float, makes of a type."""
    return dtype if dtype in _FLOATS or not dtype else "float64"
