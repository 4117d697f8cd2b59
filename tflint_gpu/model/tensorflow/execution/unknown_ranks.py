"""Datasets whose elements are tensors of unknown rank: what Python gives back in a map has no shape in a graph.

`fit` and `evaluate` of Keras raise for such elements, and `padded_batch` does; eager layers and loops over the dataset
do not, for each tensor has a shape there.
"""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from tflint_gpu.model.library.higher_order import PYTHON_FUNCTIONS
from tflint_gpu.model.library.operations import operation_named
from tflint_gpu.model.model import Analysis, Model
from tflint_gpu.model.python.project.file import File
from tflint_gpu.model.python.syntax.syntax import Expression, argument, method_name
from tflint_gpu.model.python.value_flow.origins import Context, Origin
from tflint_gpu.model.tensorflow.effects.blockers import Blocker
from tflint_gpu.model.tensorflow.tf_data.chains import Chain, Operation
from tflint_gpu.model.tensorflow.tf_data.mapped_functions import MappedFunctions

_SETTING = frozenset(["tf.ensure_shape", "tf.reshape"])


class UnknownRanks(Analysis):
    """Analysis of what maps return."""

    def __init__(self, model: Model) -> None:
        super().__init__(model)
        self.mapped = model.once(MappedFunctions)

    def in_chain(self, chain: Chain) -> Blocker | None:
        """What gives elements of a dataset an unknown rank; None where nothing does, or a later map may set it."""
        unknown = next(filter(None, map(self.in_chain, chain.inputs)), None)
        for operation in chain.operations:
            if operation.name == "map":
                unknown = self.in_map(operation) or (None if self._sets_shapes(operation) else unknown)
        return unknown

    def in_map(self, operation: Operation) -> Blocker | None:
        """The call of Python that leaves the rank of something that a map returns unknown."""
        for callee in self.mapped.of(operation):
            function, caller = callee.function, callee.context or operation.context
            inside = self.inference.contexts.enter(operation.file, operation.call, caller, callee, hands_on=True)
            for value in function.file.returned(function.node):
                for part in self.inference.parts(function.file, value, inside):
                    made = next(self._sources(part.file, part.expr, part.context, frozenset()), None)
                    if made is not None:
                        text = (
                            f"`{made.file.code(made.node)}` gives tensors of an unknown rank, which `set_shape` can say"
                        )
                        return Blocker(made.file, made.node, text)
        return None

    def _sets_shapes(self, operation: Operation) -> bool:
        calls = self.mapped.named_calls(operation)
        return not self.mapped.of(operation) or any(
            name in _SETTING or method_name(call) == "set_shape" for name, _, call, _ in calls
        )

    def _sources(
        self, file: File, expr: Expression, context: Context | None, inside: frozenset[Origin]
    ) -> Iterator[Origin]:
        """The calls of Python on whose rank that of a value depends."""
        for origin in self.inference.of(file, expr, context):
            if origin not in inside:
                yield from self._sources_of(origin, inside | {origin})

    def _sources_of(self, origin: Origin, inside: frozenset[Origin]) -> Iterator[Origin]:
        node, file = origin.node, origin.file
        parts: list[Expression] = []
        if isinstance(node, cst.Call):
            name = file.name(node.func) or ""
            if name in PYTHON_FUNCTIONS:
                if not self._is_set(origin):
                    yield Origin(file, node.func)
            elif name not in _SETTING and all(part.kind == "item" for part in origin.access_path):
                parts = _followed(node, name)
        elif isinstance(node, cst.BinaryOperation):
            parts = [node.left, node.right]
        elif isinstance(node, cst.UnaryOperation):
            parts = [node.expression]
        elif isinstance(node, cst.AugAssign):
            parts = [node.target, node.value]
        elif isinstance(node, cst.Subscript):
            parts = [node.value]
        for part in parts:
            yield from self._sources(file, part, origin.context, inside)

    def _is_set(self, made: Origin) -> bool:
        """Whether the program calls `set_shape` of a result, or of one of several."""
        return any(
            isinstance(call.func, cst.Attribute)
            and any(held.node is made.node for held in self.inference.of(made.file, call.func.value))
            for call in made.file.method_calls("set_shape")
        )


def _followed(call: cst.Call, name: str) -> list[Expression]:
    """The arguments of an operation that gives a tensor of an unknown rank if one of them is of one."""
    operation = operation_named(name)
    given = [arg.value for arg in call.args if arg.keyword is None and not arg.star]
    if operation.shape == "reduced":
        return given[:1] if argument(call, 1, "axis") is not None else []
    if operation.shape in ("broadcast", "chosen"):
        return given
    is_joined = operation.shape in ("joined", "stacked", "appended")  # then the others' rank is that of all
    return given[:1] if operation.is_of_tensor and operation.shape != "rows" and not is_joined else []
