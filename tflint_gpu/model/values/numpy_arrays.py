"""NumPy arrays that the source makes: their shapes, and how many bytes they have at least."""

from __future__ import annotations

import math

import libcst as cst

from tflint_gpu.bounds import ARRAY_STEPS
from tflint_gpu.lazy_dataclasses import dataclass
from tflint_gpu.model.model import Analysis, Once
from tflint_gpu.model.python.project.file import File
from tflint_gpu.model.python.syntax.children import walk
from tflint_gpu.model.python.syntax.syntax import Expression
from tflint_gpu.model.python.value_flow.origins import Context, Origin
from tflint_gpu.model.values import dtypes
from tflint_gpu.model.values.value import TensorValue
from tflint_gpu.model.values.values import Values


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
        return math.prod(self.shape) * dtypes.size(self.dtype)


class NumpyArrays(Analysis):
    """Which expressions are arrays, and how large these are."""

    is_of_values = True

    values = Once(Values)

    def of(self, file: File, expr: Expression, context: Context | None = None) -> NumpyArray | None:
        """The array that an expression must be, the smallest that it may be; None where that is not known."""
        arrays: list[NumpyArray] = []
        for origin in self.inference.of(file, expr, context):
            array = self._of_origin(origin)
            if array is None:
                return None
            arrays.append(array)
        return min(arrays, key=lambda array: array.bytes, default=None)

    def _of_origin(self, origin: Origin) -> NumpyArray | None:
        if (origin.made_by or "").startswith("tf."):
            return None  # a tensor, of which the shape need not be known
        value = self.values.at(origin)
        if not isinstance(value, TensorValue) or value.kind != "array" or value.shape is None:
            return None
        lengths = [length for length in value.shape if length is not None]
        return NumpyArray(tuple(lengths), value.dtype, origin) if len(lengths) == len(value.shape) else None

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
