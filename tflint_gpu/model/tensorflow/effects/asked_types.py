"""Questions for the type of a value that are answered otherwise while it is traced: arrays are tensors there."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Literal, TypeAlias

import libcst as cst

from tflint_gpu.model.library.classes import TENSORS
from tflint_gpu.model.library.tensor_functions import EAGER_QUERIES, STATIC_ATTRIBUTES, TENSOR_QUERIES
from tflint_gpu.model.model import Analysis, Once
from tflint_gpu.model.python.project.file import File
from tflint_gpu.model.python.syntax.children import walk
from tflint_gpu.model.python.syntax.syntax import Expression, Node
from tflint_gpu.model.tensorflow.effects.array_arguments import ArrayArguments
from tflint_gpu.model.tensorflow.effects.blockers import Blocker
from tflint_gpu.model.tensorflow.tracing.traces import Trace

_Type: TypeAlias = Literal["array", "tensor", "eager", "other", "unknown"]

_EAGER_ONLY = frozenset(["numpy"])  # attributes of tensors with a value
_DISPLAYS = (cst.Tuple, cst.List, cst.Set)
_ARRAYS = ("numpy.", "numbers.")
_NUMBERS = ("float", "complex")  # NumPy's numbers are some: float64, complex128


class AskedTypes(Analysis):
    """Analysis of what functions ask of the types of their values."""

    arrays = Once(ArrayArguments)

    def in_function(self, trace: Trace) -> Iterator[Blocker]:
        """The questions with another answer while the function is traced."""
        for node in walk(trace.function.node.body):
            if isinstance(node, cst.Call):
                yield from self._called(trace, node)
            elif isinstance(node, cst.Attribute) and node.attr.value == "__class__":
                yield from self._type(trace, node, node.value)

    def _called(self, trace: Trace, call: cst.Call) -> Iterator[Blocker]:
        file, given = trace.file, [arg.value for arg in call.args]
        if len(given) == 2 and file.names.is_builtin(call.func, "isinstance"):
            yield from self._answered(trace, call, given[0], set(self._types(file, given[1])))
        elif len(given) == 1 and file.names.is_builtin(call.func, "type"):
            yield from self._type(trace, call, given[0])
        elif len(given) == 3 and file.names.is_builtin(call.func, "getattr"):
            if self.constants.of(file, given[1]) in _EAGER_ONLY:
                yield from self._answered(trace, call, given[0], {"eager"})
        elif len(given) == 2 and file.names.is_builtin(call.func, "hasattr"):
            name = self.constants.of(file, given[1])
            if name in _EAGER_ONLY:
                yield from self._answered(trace, call, given[0], {"eager"})
            elif name not in STATIC_ATTRIBUTES and self.arrays.may_be_array(file, given[0]):
                yield from self._answered(trace, call, given[0], {"array"})
        elif given and file.name(call.func) in EAGER_QUERIES:
            yield from self._answered(trace, call, given[0], {"eager"})
        elif given and file.name(call.func) in TENSOR_QUERIES:
            yield from self._answered(trace, call, given[0], {"tensor"})

    def _type(self, trace: Trace, asked: Expression, value: Expression) -> Iterator[Blocker]:
        """`type(x) is np.ndarray`; of other uses of the type nothing is known, but that it is another one."""
        comparison = trace.file.tree.parents.get(asked)
        if isinstance(comparison, cst.ComparisonTarget):
            comparison = trace.file.tree.parents.get(comparison)
        if not isinstance(comparison, cst.Comparison):
            yield from self._answered(trace, asked, value, {"eager"})
            return
        sides = [comparison.left, *(target.comparator for target in comparison.comparisons)]
        types = {kind for side in sides if side is not asked for kind in self._types(trace.file, side)}
        # What is compared is never the class that all tensors have in common.
        yield from self._answered(trace, comparison, value, {"eager" if kind == "tensor" else kind for kind in types})

    def _answered(self, trace: Trace, node: Node, value: Expression, types: set[_Type]) -> Iterator[Blocker]:
        """What is wrong with a question whether a value is of one of some types."""
        file = trace.file
        if trace.holds_value(value):
            return
        tells_arrays, tells_others = ("array" in types) != ("tensor" in types), bool(types & {"eager", "unknown"})
        question = f"`{file.code(node)}` in the code depends on the type of `{file.code(value)}`"
        if self.arrays.may_be_array(file, value):
            if tells_arrays or tells_others:
                yield Blocker(file, node, f"{question}, an array, which is a tensor during tracing")
        elif trace.holds_tensor(value):
            if tells_others:
                yield Blocker(file, node, f"{question}, a tensor, which has another type during tracing")
        elif tells_arrays:
            yield Blocker(file, node, doubt="`{}` may check the type of an array, which is a tensor in a graph")

    def _types(self, file: File, expr: Expression, depth: int = 0) -> Iterator[_Type]:
        """What kinds of types an expression names: `(list, np.ndarray)`, `float | None`."""
        if isinstance(expr, _DISPLAYS):
            for element in expr.elements:
                yield from self._types(file, element.value, depth)
            return
        if isinstance(expr, cst.BinaryOperation):
            yield from self._types(file, expr.left, depth)
            yield from self._types(file, expr.right, depth)
            return
        name = file.name(expr)
        if self.inference.definitions.class_named(file, expr) is not None:
            yield "other"
        elif name is not None:
            yield _type_named(name)
        elif isinstance(expr, cst.Name) and file.names.is_builtin(expr, expr.value):
            yield "array" if expr.value in _NUMBERS else "other"
        else:
            displays = [o for o in self.inference.of(file, expr) if isinstance(o.node, _DISPLAYS) and not o.access_path]
            if not displays or depth:
                yield "unknown"
                return
            for origin in displays:
                if isinstance(origin.node, _DISPLAYS):
                    yield from self._types(origin.file, origin.node, depth + 1)


def _type_named(name: str) -> _Type:
    if name.endswith("EagerTensor"):
        return "eager"
    if name in TENSORS or name == "tf.experimental.numpy.ndarray" or name.endswith(".ops.Tensor"):
        return "tensor"
    return "array" if name.startswith(_ARRAYS) else "other"
