"""Large NumPy arrays that code turns into constants of a graph while TensorFlow traces it."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property

import libcst as cst

from tflint_gpu.lazy_dataclasses import dataclass
from tflint_gpu.model import (
    Analysis,
    Expression,
    File,
    Kinds,
    MappedCode,
    Node,
    NumpyArray,
    NumpyArrays,
    Once,
    Traced,
    TracedCode,
    displayed,
    returns_tensor,
)
from tflint_gpu.model.library.tensor_functions import OF_SHAPE

LARGE = 10 * 2**20
"""Arrays of so many bytes are reported: tracing then takes half a second longer, and 150 MB more; see the rule."""
_DATASETS = frozenset(["tf.data.Dataset.from_tensor_slices", "tf.data.Dataset.from_tensors"])
_CONVERTED = (cst.Name, cst.Attribute, cst.Subscript, cst.BinaryOperation, cst.Call)


@dataclass(frozen=True, slots=True)
class EmbeddedArray:
    """An expression of a traced function that is an array and becomes a constant of the graph."""

    traced: Traced
    expr: Expression
    array: NumpyArray

    @property
    def file(self) -> File:
        """The file of the expression."""
        return self.traced.file


class EmbeddedArrays(Analysis):
    """The large arrays in what TensorFlow traces from one file."""

    kinds = Once(Kinds)
    traced_code = Once(TracedCode)
    mapped_code = Once(MappedCode)
    arrays = Once(NumpyArrays)

    @cached_property
    def large(self) -> list[EmbeddedArray]:
        """Those whose size must be large, each once."""
        large: dict[Node, EmbeddedArray] = {}
        for traced in (*self.traced_code.functions, *self.mapped_code.functions):
            for expr in self._converted(traced):
                array = self.arrays.of(traced.file, expr, traced.context) if expr not in large else None
                if array is not None and array.bytes >= LARGE and not self.traced_code.runs_once(traced.file, expr):
                    large[expr] = EmbeddedArray(traced, expr, array)
        return list(large.values())

    def _converted(self, traced: Traced) -> Iterator[Expression]:
        """The expressions of a function that become tensors where they are arrays."""
        for call in traced.function.calls:
            if self._converts(traced, call):
                for arg in call.args:
                    yield from (element for element in displayed(arg.value) if isinstance(element, _CONVERTED))
        if traced.trace is None:
            return
        for node in traced.file.once(_operations).get(traced.function.node, ()):
            for side, other in ((node.left, node.right), (node.right, node.left)):
                if isinstance(side, _CONVERTED) and traced.trace.holds_tensor(other):
                    yield side

    def _converts(self, traced: Traced, call: cst.Call) -> bool:
        """Whether a call makes tensors of the arrays that it is given."""
        name = traced.file.name(call.func)
        if name is None:
            return bool(call.args) and self.kinds.is_model(traced.file, call.func, traced.context)
        return name in _DATASETS or (returns_tensor(name) and name not in OF_SHAPE)


def _operations(file: File) -> dict[Node | None, list[cst.BinaryOperation]]:
    """The operations of each function."""
    operations: dict[Node | None, list[cst.BinaryOperation]] = {}
    for node in file.tree.nodes(cst.BinaryOperation):
        operations.setdefault(file.tree.function(node), []).append(node)
    return operations
