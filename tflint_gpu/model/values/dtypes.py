"""Types of numbers: their names, and what TensorFlow, NumPy and Keras make of one or two of them.

>>> promoted("uint8", "int8"), promoted("int32", "float32"), divided("int32", of_tensor=True)
('int16', 'float64', 'float64')
"""

from __future__ import annotations

from typing import Final

from tflint_gpu.model.library.precision import BYTES, DTYPE_NAMES, FLOAT_OF_BYTES

_OF_PYTHON_IN_TENSORFLOW: Final = {"int": "int32", "float": "float32", "bool": "bool", "str": "string"}
_OF_PYTHON_IN_NUMPY: Final = {"int": "int64", "float": "float64", "bool": "bool"}


def named(name: str, *, of_tensor: bool) -> str:
    """A type by any of its names, empty for others; `int` and `float` are other types to TensorFlow than to NumPy."""
    by_python = (_OF_PYTHON_IN_TENSORFLOW if of_tensor else _OF_PYTHON_IN_NUMPY).get(name)
    name = by_python or DTYPE_NAMES.get(name, name).lstrip("<=|")
    name = DTYPE_NAMES.get(name, name)
    return name if name in BYTES or name == "string" else ""


def of_python(number: str, *, of_tensor: bool) -> str:
    """What an int, float, bool or str of Python becomes."""
    return (_OF_PYTHON_IN_TENSORFLOW if of_tensor else _OF_PYTHON_IN_NUMPY).get(number, "")


def size(dtype: str) -> int:
    """How many bytes a number has; of a type that is not known one, which each has at least."""
    return BYTES.get(dtype, 1)


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
        wide = [dtype if is_float(dtype) else FLOAT_OF_BYTES[BYTES[dtype]] for dtype in (left, right)]
        return max(wide, key=BYTES.__getitem__)
    signed, unsigned = sorted((left, right), key=lambda dtype: dtype.startswith("u"))
    if signed.startswith("u") or not unsigned.startswith("u"):
        return max(left, right, key=BYTES.__getitem__)
    if BYTES[signed] > BYTES[unsigned]:
        return signed
    return {1: "int16", 2: "int32", 4: "int64", 8: "float64"}[BYTES[unsigned]]


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
    return FLOAT_OF_BYTES[BYTES[dtype]] if dtype in BYTES else ""


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
