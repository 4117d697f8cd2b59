"""Which dtype a `tf.function` needs for a Python number that is to come as a tensor: tensors are not converted."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Literal, TypeAlias

import libcst as cst

from tflint_gpu.bounds import DTYPE_CALLS
from tflint_gpu.lazy_patterns import regex
from tflint_gpu.model import (
    Analysis,
    Expression,
    File,
    Function,
    Kinds,
    Model,
    Node,
    Origin,
    TensorUses,
    argument,
    operation_named,
    walk,
)
from tflint_gpu.model.library.operations import TAKING_INTEGERS
from tflint_gpu.model.library.precision import CASTS, DTYPE_POSITIONS
from tflint_gpu.model.library.shape_facts import TAKING_SIZES

Need: TypeAlias = Literal["any", "float32", "int32", "int64"]
"""What the uses of a number allow; "any" where each of them converts it."""

_ANY = regex(r"tf\.(?:print|identity|debugging\.\w+)")
_SUMMARIES = regex(r"tf\.summary\.\w+")
_FLOATING = regex(
    r"tf\.nn\.(?:l2_loss|softmax\w+|sigmoid\w+|dropout)|tf\.random\.(?:normal|truncated_normal)|tf\.image\.resize"
    r"|keras\.losses\.[a-z]\w*|tf\.linalg\.(?:norm|matmul)"
)
_FILLED = ("tf.ones", "tf.zeros")
_ARITHMETIC = (cst.Add, cst.Subtract, cst.Multiply, cst.Divide, cst.Power, cst.Modulo, cst.FloorDivide)


class NumberDtypes(Analysis):
    """Analysis of how functions use their parameters."""

    def __init__(self, model: Model) -> None:
        super().__init__(model)
        self.kinds = model.once(Kinds)
        self.uses = model.once(TensorUses)
        self._in_work: set[Node] = set()

    def of_argument(self, file: File, value: Expression, function: Function, parameter: cst.Param) -> Need | None:
        """The dtype with which a function needs a Python number that it is given; "any": that which the number has."""
        need = self.needed(function, parameter)
        if not self.is_float(file, value) and not (
            isinstance(value, cst.BinaryOperation) and isinstance(value.operator, cst.Divide)
        ):
            return need
        return "any" if need in ("any", "float32") else None

    def needed(self, function: Function, parameter: cst.Param, depth: int = 0) -> Need | None:
        """The dtype of a parameter's values that all its uses take; None where one is not understood, or two differ."""
        file, name = function.file, parameter.name.value
        if len(file.tree.scope(function.node.body).bindings.get(name, ())) > 1:
            return None
        needs = {
            self._need(file, node, depth)
            for node in walk(function.node.body)
            if isinstance(node, cst.Name) and node.value == name and self._is_use(file, node)
        }
        needs -= {"any"}
        if len(needs) > 1:
            return None
        return next(iter(needs), "any")

    @staticmethod
    def _is_use(file: File, node: cst.Name) -> bool:
        parent = file.tree.parents[node]
        named = parent.keyword if isinstance(parent, cst.Arg) else getattr(parent, "attr", None)
        return named is not node

    def _need(self, file: File, value: Expression, depth: int) -> Need | None:
        """What the place takes where a value stands."""
        parent = file.tree.parents[value]
        if isinstance(parent, cst.BinaryOperation) and isinstance(parent.operator, _ARITHMETIC):
            other = parent.right if parent.left is value else parent.left
            if self.is_float(file, other) or (isinstance(parent.operator, cst.Divide) and self._is_whole(file, other)):
                was_number = isinstance(self.constants.of(file, other), int | float)
                return None if was_number and not self.uses.takes_tensor(file, parent) else "float32"
            return self._need(file, parent, depth) if self._is_whole(file, other) else None
        if isinstance(parent, cst.UnaryOperation) and not isinstance(parent.operator, cst.Not):
            return self._need(file, parent, depth)
        if isinstance(parent, cst.ComparisonTarget | cst.Comparison):
            return self._compared(file, value, parent)
        if isinstance(parent, cst.Arg):
            call = file.tree.parents[parent]
            return self._given(file, call, parent, depth) if isinstance(call, cst.Call) else None
        return None

    def _compared(self, file: File, value: Expression, parent: Node) -> Need | None:
        comparison = file.tree.parents[parent] if isinstance(parent, cst.ComparisonTarget) else parent
        assert isinstance(comparison, cst.Comparison)
        if not isinstance(file.tree.parents[comparison], cst.Arg | cst.Assign):
            return None  # a branch that Python chooses today
        sides = [comparison.left, *(target.comparator for target in comparison.comparisons)]
        others = [side for side in sides if side is not value]
        if any(self.is_float(file, other) for other in others):
            return "float32"
        return "any" if all(self._is_whole(file, other) for other in others) else None

    def _given(self, file: File, call: cst.Call, arg: cst.Arg, depth: int) -> Need | None:
        """What a call takes as an argument."""
        name = file.name(call.func) or ""
        if _SUMMARIES.fullmatch(name):
            is_step = arg.keyword is not None and arg.keyword.value == "step"
            return "int64" if is_step else "any"
        if name in CASTS or _ANY.fullmatch(name):
            return "any"
        row = operation_named(name)
        is_first = row.each == "element" and arg is call.args[0]
        if is_first and name.startswith("tf.") and row.is_of_floats and name not in TAKING_INTEGERS:
            return "float32"
        if name in TAKING_SIZES:
            return "int32"
        others = [other.value for other in call.args if other is not arg]
        if row.each == "element" and _keeps_dtype(name) and any(self.is_float(file, other) for other in others):
            return "float32"
        callees = self.inference.callees(file, call)
        if len(callees) != 1:
            return None
        if depth >= DTYPE_CALLS.limit:
            self.inference.meet(DTYPE_CALLS)
            return None
        passed = self.inference.definitions.passed(file, call, callees[0].function)
        parameter = next((p for p, value in passed if value is arg.value), None)
        return None if parameter is None else self.needed(callees[0].function, parameter, depth + 1)

    def _is_whole(self, file: File, expr: Expression) -> bool:
        value = self.constants.of(file, expr)
        return isinstance(value, int) and not isinstance(value, bool)

    def is_float(self, file: File, expr: Expression) -> bool:
        """Whether a value is certainly a Python float, or a tensor of 32 bit floating point numbers."""
        if expr in self._in_work:  # `rate = rate * 0.9` is one where the other operand is
            return False
        self._in_work.add(expr)
        try:
            return isinstance(self.constants.of(file, expr), float) or self.inference.must_be(
                file, expr, self._is_float
            )
        finally:
            self._in_work.discard(expr)

    def _is_float(self, origin: Origin) -> bool:
        node, file, name = origin.node, origin.file, origin.made_by or ""
        if isinstance(node, cst.BinaryOperation):
            return any(self.is_float(file, side) for side in (node.left, node.right))
        if isinstance(node, cst.UnaryOperation):
            return self.is_float(file, node.expression)
        if not isinstance(node, cst.Call) or origin.access_path:
            return isinstance(node, cst.Float) and not origin.access_path
        if name in ("tf.cast", "keras.ops.cast"):
            dtype = argument(node, 1, "dtype")
            return dtype is not None and (file.name(dtype) or self.constants.of(file, dtype)) in (
                "tf.float32",
                "float32",
            )
        if _FLOATING.fullmatch(name) or _is_made_in_float32(node, name):
            return True
        if name.startswith("tf.") and operation_named(name).is_of_floats:
            return True
        if _keeps_dtype(name):
            return any(self.is_float(file, value) for value in _operands(node))
        return self.kinds.is_model(file, node.func) or self.kinds.must_be(file, node.func, "layer", "loss")


def _keeps_dtype(name: str) -> bool:
    """Whether a function gives floating point numbers where one of its tensors has some."""
    row = operation_named(name)
    is_kept = row.shape == "product" or (row.keeps_dtype and row.each != "image")
    return is_kept and name.startswith(("tf.", "keras.ops."))


def _is_made_in_float32(call: cst.Call, name: str) -> bool:
    """Whether a tensor is made without a dtype, of numbers that are written there or of a kind that is float32."""
    if any(arg.star for arg in call.args):
        return False
    if name in _FILLED:
        return argument(call, 1, "dtype") is None
    if name not in DTYPE_POSITIONS or argument(call, DTYPE_POSITIONS[name], "dtype") is not None or not call.args:
        return False
    given = call.args[0].value
    leaves = [node for node in walk(given) if not isinstance(node, cst.List | cst.Tuple | cst.Element)]
    numbers = [node for node in leaves if isinstance(node, cst.BaseExpression)]
    return all(isinstance(node, cst.BaseNumber | cst.UnaryOperation) for node in numbers) and any(
        isinstance(node, cst.Float) for node in numbers
    )


def _operands(call: cst.Call) -> Iterator[Expression]:
    for arg in call.args:
        if arg.keyword is None:
            elements = arg.value.elements if isinstance(arg.value, cst.List | cst.Tuple) else ()
            yield from (element.value for element in elements)
            if not elements:
                yield arg.value
