"""Types of numbers: their names, and what TensorFlow, NumPy and Keras make of one or two of them.

>>> promoted("uint8", "int8"), promoted("int32", "float32"), divided("int32", of_tensor=True)
('int16', 'float64', 'float64')
"""

from __future__ import annotations

from typing import Final

_BITS: Final = {
    **{"bool": 1, "int8": 8, "uint8": 8, "float16": 16, "bfloat16": 16, "int16": 16, "uint16": 16},
    **{"float32": 32, "int32": 32, "uint32": 32, "float64": 64, "int64": 64, "uint64": 64},
    **{"complex64": 64, "complex128": 128},
}
_OTHER_NAMES: Final = {
    **{"bool_": "bool", "boolean": "bool", "str": "string", "object": "string", "half": "float16", "single": "float32"},
    **{"double": "float64", "int_": "int64", "uint": "uint64", "float_": "float64", "longlong": "int64"},
    **{"u1": "uint8", "u2": "uint16", "u4": "uint32", "u8": "uint64", "i1": "int8", "i2": "int16", "i4": "int32"},
    **{"i8": "int64", "f2": "float16", "f4": "float32", "f8": "float64"},
}
_OF_PYTHON_IN_TENSORFLOW: Final = {"int": "int32", "float": "float32", "bool": "bool", "str": "string"}
_OF_PYTHON_IN_NUMPY: Final = {"int": "int64", "float": "float64", "bool": "bool"}
_FLOAT_OF_BITS: Final = {1: "float16", 8: "float16", 16: "float32", 32: "float64", 64: "float64"}
"""Of integers of so many bits what holds them with NumPy's floats."""


def named(name: str, *, of_tensor: bool) -> str:
    """A type by any of its names, empty for others; `int` and `float` are other types to TensorFlow than to NumPy."""
    by_python = (_OF_PYTHON_IN_TENSORFLOW if of_tensor else _OF_PYTHON_IN_NUMPY).get(name)
    name = by_python or _OTHER_NAMES.get(name, name).lstrip("<=|")
    name = _OTHER_NAMES.get(name, name)
    return name if name in _BITS or name == "string" else ""


def of_python(number: str, *, of_tensor: bool) -> str:
    """What an int, float, bool or str of Python becomes."""
    return (_OF_PYTHON_IN_TENSORFLOW if of_tensor else _OF_PYTHON_IN_NUMPY).get(number, "")


def size(dtype: str) -> int:
    """How many bytes a number has; of a type that is not known one, which each has at least."""
    return max(1, _BITS.get(dtype, 8) // 8)


def is_float(dtype: str) -> bool:
    """Whether it is a floating point type."""
    return dtype.startswith(("float", "bfloat"))


def promoted(left: str, right: str) -> str:
    """What NumPy makes of arrays of two types."""
    if not left or not right or left == right:
        return left if left == right else ""
    if "string" in (left, right):
        return ""
    if "bool" in (left, right):
        return right if left == "bool" else left
    if "complex" in left or "complex" in right:
        return "complex128" if {left, right} & {"complex128", "float64", "int64", "int32"} else "complex64"
    if is_float(left) or is_float(right):
        wide = [dtype if is_float(dtype) else _FLOAT_OF_BITS[_BITS[dtype]] for dtype in (left, right)]
        return max(wide, key=_BITS.__getitem__)
    signed, unsigned = sorted((left, right), key=lambda dtype: dtype.startswith("u"))
    if signed.startswith("u") or not unsigned.startswith("u"):
        return max(left, right, key=_BITS.__getitem__)
    if _BITS[signed] > _BITS[unsigned]:
        return signed
    return {8: "int16", 16: "int32", 32: "int64", 64: "float64"}[_BITS[unsigned]]


def with_number(dtype: str, number: str, *, of_tensor: bool) -> str:
    """What a tensor or an array gives with a number of Python's, which takes its type."""
    if of_tensor or not dtype or dtype == "string":
        return dtype
    if number == "float" and not is_float(dtype) and "complex" not in dtype:
        return "float64"
    return "" if dtype == "bool" and number == "int" else dtype


def divided(dtype: str, *, of_tensor: bool) -> str:
    """What a true division of two tensors or arrays of a type gives."""
    if not dtype or is_float(dtype) or "complex" in dtype:
        return dtype
    if of_tensor and dtype in ("int8", "uint8", "int16", "uint16"):
        return "float32"
    return "float64"


def floated(dtype: str, *, of_tensor: bool) -> str:
    """What a function that makes floats of integers gives: NumPy's do, TensorFlow's raise."""
    if of_tensor or not dtype or is_float(dtype) or "complex" in dtype:
        return dtype
    return _FLOAT_OF_BITS[_BITS[dtype]] if dtype in _BITS else ""


def summed(dtype: str, *, of_tensor: bool) -> str:
    """What a sum or a product over an axis gives; Keras sums bools, TensorFlow does not."""
    if of_tensor and dtype == "bool":
        return ""
    if of_tensor or not dtype or is_float(dtype) or "complex" in dtype:
        return dtype
    return "uint64" if dtype.startswith("u") else "int64"


def averaged(dtype: str, *, of_tensor: bool) -> str:
    """What a mean gives."""
    if of_tensor or not dtype or is_float(dtype) or "complex" in dtype:
        return dtype
    return "float64"
