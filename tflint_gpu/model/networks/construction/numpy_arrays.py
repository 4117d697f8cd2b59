"""NumPy arrays that the source makes: their shapes, and how many bytes they have at least."""

from __future__ import annotations

import math
from functools import reduce
from typing import Any

import libcst as cst

from tflint_gpu.bounds import ARRAY_STEPS
from tflint_gpu.lazy_dataclasses import dataclass
from tflint_gpu.model.interpreter.values import Arguments, External
from tflint_gpu.model.library.datasets import KERAS_IMAGES
from tflint_gpu.model.library.operations import draw_named
from tflint_gpu.model.library.precision import BYTES
from tflint_gpu.model.networks.construction import arrays, number_types
from tflint_gpu.model.networks.construction.arrays import Array
from tflint_gpu.model.python.project.file import File
from tflint_gpu.model.python.syntax.children import walk
from tflint_gpu.model.python.syntax.syntax import Expression, argument, dotted_name
from tflint_gpu.model.python.value_flow.constants import UNKNOWN, Constants
from tflint_gpu.model.python.value_flow.inference import Inference
from tflint_gpu.model.python.value_flow.origins import Context, Origin

_GENERATORS = frozenset(["numpy.random.default_rng", "numpy.random.RandomState"])
_ELEMENT_WISE = frozenset(f"numpy.{name}" for name in number_types.KEEPING | number_types.COMPUTING)
_COMPUTED = (cst.Add, cst.Subtract, cst.Multiply, cst.Divide, cst.Power)


@dataclass(frozen=True, slots=True)
class NumpyArray:
    """An array in host memory.

    Arguments:
        shape: its lengths, all known.
        dtype: as NumPy prints it; empty where it is not known.
        origin: where it is made.
    """

    shape: tuple[int, ...]
    dtype: str
    origin: Origin

    @property
    def bytes(self) -> int:
        """How many it has at least."""
        return math.prod(self.shape) * BYTES.get(self.dtype, 1)


class NumpyArrays:
    """Which expressions are arrays, and how large these are."""

    def __init__(self, inference: Inference, constants: Constants) -> None:
        self.inference = inference
        self.constants = constants

    def of(self, file: File, expr: Expression, context: Context | None = None, depth: int = 0) -> NumpyArray | None:
        """The array that an expression must be, the smallest that it may be; None where that is not known."""
        if depth > ARRAY_STEPS.limit:
            if not isinstance(expr, cst.BaseNumber | cst.SimpleString):
                self.inference.meet(ARRAY_STEPS)
            return None
        smallest: NumpyArray | None = None
        for origin in self.inference.of(file, expr, context):
            array = self._of_origin(origin, depth + 1)
            if array is None:
                return None
            smallest = array if smallest is None or array.bytes < smallest.bytes else smallest
        return smallest

    def is_loaded(self, file: File, expr: Expression, context: Context | None = None, depth: int = 0) -> bool:
        """Whether an array is, or is computed from, one of the data sets that Keras loads."""
        if depth > ARRAY_STEPS.limit:
            self.inference.meet(ARRAY_STEPS)
            return False
        return any(
            (
                isinstance(origin.node, cst.Call)
                and (origin.file.name(origin.node.func) or "").startswith("keras.datasets.")
            )
            or any(
                self.is_loaded(origin.file, name, origin.context, depth + 1)
                for name in walk(origin.node)
                if isinstance(name, cst.Name) and name is not expr
            )
            for origin in self.inference.of(file, expr, context)
        )

    def _of_origin(self, origin: Origin, depth: int) -> NumpyArray | None:
        node = origin.node
        if isinstance(node, cst.Call):
            called = self._called(origin, node, depth)
            return self._part(origin, called) if origin.access_path else _array(origin, *called)
        if origin.access_path:
            return None
        if isinstance(node, cst.BinaryOperation) and isinstance(node.operator, _COMPUTED):
            return self._computed(origin, node, depth)
        if isinstance(node, cst.Subscript):
            whole = self.of(origin.file, node.value, origin.context, depth)
            key = self._key(origin, node)
            return _array(origin, arrays.item(Array(whole.shape), key), whole.dtype) if whole is not None else None
        return None

    def _part(self, origin: Origin, called: tuple[Any, str]) -> NumpyArray | None:
        """An item of an array, or of the tuple of arrays that a function gives."""
        value, dtype = called
        for part in origin.access_path:
            if part.kind != "item" or not isinstance(part.key, int):
                return None
            if isinstance(value, tuple) and -len(value) <= part.key < len(value):
                value = value[part.key]
            else:
                value = arrays.item(value, part.key) if isinstance(value, Array) else UNKNOWN
        return _array(origin, value, dtype)

    def _called(self, origin: Origin, call: cst.Call, depth: int) -> tuple[Any, str]:
        """What a call gives, and the elements' type; `UNKNOWN` where it is no array."""
        file, context, func = origin.file, origin.context, call.func
        name = file.name(func) or ""
        if isinstance(func, cst.Attribute) and not name.startswith(("numpy.", "keras.")):
            return self._method(origin, call, func, depth)
        short = name.rpartition(".")[2]
        named = self._named_dtype(origin, call, number_types.position(short))
        if name.startswith("keras.datasets."):
            dtype = "uint8" if name.split(".")[2] in KERAS_IMAGES else ""
            return arrays.called(name, self._arguments(origin, call)), dtype
        if not name.startswith("numpy."):
            return UNKNOWN, ""
        first = self.of(file, call.args[0].value, context, depth) if call.args and not call.args[0].star else None
        if first is not None and name in _ELEMENT_WISE:
            return Array(first.shape), number_types.mapped(short, first.dtype) if named is None else named
        if first is not None:
            kept = number_types.named(short) or first.dtype
            return arrays.called(name, self._arguments(origin, call, Array(first.shape))), named or kept
        given = self._arguments(origin, call)
        return arrays.called(name, given), number_types.usual(short, given.positional) if named is None else named

    def _method(self, origin: Origin, call: cst.Call, func: cst.Attribute, depth: int) -> tuple[Any, str]:
        """A method of an array, or of a generator of random numbers."""
        file, context, name = origin.file, origin.context, func.attr.value
        draw = draw_named(name)
        is_draw = draw.draws and draw.shape in ("filled", "counted") and name != "choice"
        if is_draw and self.inference.must_be(file, func.value, lambda o: o.made_by in _GENERATORS, context):
            drawn = self._named_dtype(origin, call, number_types.position(name, of_generator=True))
            usual = number_types.usual(name, ()) if drawn is None else drawn
            function = "randint" if name == "integers" else name
            return arrays.called(f"numpy.random.{function}", self._arguments(origin, call)), usual
        whole = self.of(file, func.value, context, depth) if name in ("astype", "copy", "reshape") else None
        if whole is None:
            return UNKNOWN, ""
        given = self._arguments(origin, call)
        dtype = whole.dtype
        if name == "astype":
            dtype = self._named_dtype(origin, call, 0) or ""
        return arrays.method(Array(whole.shape), name, given), dtype

    def _computed(self, origin: Origin, node: cst.BinaryOperation, depth: int) -> NumpyArray | None:
        sides = (node.left, node.right)
        operands = [self.of(origin.file, side, origin.context, depth) for side in sides]
        known = [operand for operand in operands if operand is not None]
        values: list[Any] = [Array(operand.shape) for operand in known]
        values += [
            self.constants.of(origin.file, s, origin.context) for s, f in zip(sides, operands, strict=True) if f is None
        ]
        if not known:
            return None
        dtype = reduce(number_types.combined, (operand.dtype for operand in known))
        if isinstance(node.operator, cst.Divide) or any(isinstance(value, float) for value in values):
            dtype = number_types.divided(dtype)
        return _array(origin, reduce(arrays.operated, values), dtype)

    def _arguments(self, origin: Origin, call: cst.Call, first: Any = UNKNOWN) -> Arguments:
        values = [self.constants.of(origin.file, arg.value, origin.context) for arg in call.args]
        if first is not UNKNOWN:
            values[0] = first
        pairs = list(zip(call.args, values, strict=True))
        return Arguments(
            tuple(value for arg, value in pairs if arg.keyword is None),
            {arg.keyword.value: value for arg, value in pairs if arg.keyword is not None},
            is_whole=not any(arg.star for arg in call.args),
        )

    def _named_dtype(self, origin: Origin, call: cst.Call, position: int) -> str | None:
        """The type that a call asks for; None where it asks for none, empty where it is not known."""
        if any(arg.star for arg in call.args):
            return ""
        expr = argument(call, position, "dtype")
        if expr is None:
            return None
        value = self.constants.of(origin.file, expr, origin.context)
        return number_types.named(value if isinstance(value, str) else (dotted_name(expr) or "").rpartition(".")[2])

    def _key(self, origin: Origin, node: cst.Subscript) -> Any:
        keys = tuple(self._one_key(origin, element.slice) for element in node.slice)
        return keys if len(keys) > 1 else keys[0]

    def _one_key(self, origin: Origin, key: cst.BaseSlice) -> Any:
        if isinstance(key, cst.Slice):
            bounds = (key.lower, key.upper, key.step)
            return slice(*(None if b is None else self.constants.of(origin.file, b, origin.context) for b in bounds))
        value = key.value if isinstance(key, cst.Index) else None
        if value is None or isinstance(value, cst.Ellipsis):
            return UNKNOWN
        return (
            External("numpy.newaxis")
            if origin.file.is_new_axis(value)
            else self.constants.of(origin.file, value, origin.context)
        )


def _array(origin: Origin, value: Any, dtype: str) -> NumpyArray | None:
    if not isinstance(value, Array) or not all(isinstance(length, int) for length in value.shape):
        return None
    return NumpyArray(tuple(length for length in value.shape if length is not None), dtype, origin)
