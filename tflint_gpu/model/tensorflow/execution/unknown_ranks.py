"""Datasets whose elements are tensors of unknown rank: what Python gives back in a map has no shape in a graph.

`fit` and `evaluate` of Keras raise for such elements, and `padded_batch` does; eager layers and loops over the dataset
do not, for each tensor has a shape there.
"""

from __future__ import annotations

import libcst as cst

from tflint_gpu.model.library.higher_order import PYTHON_FUNCTIONS
from tflint_gpu.model.library.operations import operation_named
from tflint_gpu.model.model import Analysis, Once
from tflint_gpu.model.python.syntax.syntax import Expression, argument, method_name
from tflint_gpu.model.python.value_flow.origins import Origin, Part
from tflint_gpu.model.tensorflow.effects.blockers import Blocker
from tflint_gpu.model.tensorflow.tf_data.chains import Chain, Operation
from tflint_gpu.model.tensorflow.tf_data.mapped_functions import MappedFunctions

_SETTING = frozenset(["tf.ensure_shape", "tf.reshape"])


class UnknownRanks(Analysis):
    """Analysis of what maps return."""

    mapped = Once(MappedFunctions)

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
                    if (made := self._source(part)) is not None and isinstance(made.node, cst.Call):
                        func = made.node.func
                        text = f"`{made.file.code(func)}` returns tensors of unknown rank; `set_shape` can declare it"
                        return Blocker(made.file, func, text)
        return None

    def _sets_shapes(self, operation: Operation) -> bool:
        calls = self.mapped.named_calls(operation)
        return not self.mapped.of(operation) or any(
            name in _SETTING or method_name(call) == "set_shape" for name, _, call, _ in calls
        )

    def _source(self, value: Part) -> Origin | None:
        """The call of Python on whose rank that of a value depends."""
        return next(
            (
                origin
                for _, origins in self.inference.made_of(value, _operands)
                for origin in origins
                if _name(origin) in PYTHON_FUNCTIONS and not self._is_set(origin)
            ),
            None,
        )

    def _is_set(self, made: Origin) -> bool:
        """Whether the program calls `set_shape` of a result, or of one of several."""
        return any(
            isinstance(call.func, cst.Attribute)
            and any(held.node is made.node for held in self.inference.of(made.file, call.func.value))
            for call in made.file.method_calls("set_shape")
        )


def _name(origin: Origin) -> str:
    """The function whose result a value is, or is a part of."""
    return (origin.file.name(origin.node.func) or "") if isinstance(origin.node, cst.Call) else ""


def _operands(origin: Origin) -> list[Expression]:
    """What of a value's operands gives it its rank."""
    node, name = origin.node, _name(origin)
    if isinstance(node, cst.Call):
        is_open = name in PYTHON_FUNCTIONS or name in _SETTING
        return _followed(node, name) if not is_open and all(p.kind == "item" for p in origin.access_path) else []
    if isinstance(node, cst.BinaryOperation):
        return [node.left, node.right]
    if isinstance(node, cst.UnaryOperation):
        return [node.expression]
    if isinstance(node, cst.AugAssign):
        return [node.target, node.value]
    return [node.value] if isinstance(node, cst.Subscript) else []


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
