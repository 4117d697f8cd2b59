"""NumPy arrays as arguments of a traced function: they become tensors of their own dtype there.

Where code runs eagerly, an array takes the dtype of the tensor that it is combined with; a tensor does not, and
`float32` minus `float64` raises. So an array may only be handed to what casts: layers, models, losses and metrics of
Keras.
"""

from __future__ import annotations

import libcst as cst

from tflint_gpu.model.library.classes import KERAS_FOLDERS
from tflint_gpu.model.library.operations import ARRANGING
from tflint_gpu.model.library.tensor_functions import ARRAY_METHODS, OF_SHAPE, STATIC_ATTRIBUTES
from tflint_gpu.model.model import Analysis, Once
from tflint_gpu.model.python.project.file import File
from tflint_gpu.model.python.project.functions import Function
from tflint_gpu.model.python.syntax.syntax import Expression, Node, argument, method_name
from tflint_gpu.model.python.value_flow.origins import Context, Origin
from tflint_gpu.model.tensorflow.types.kinds import Kinds
from tflint_gpu.model.tensorflow.types.tensors import draws_array

_NUMBERS = ("float", "int", "len", "bool", "round", "str")
_CASTING = OF_SHAPE | {"tf.cast", "tf.one_hot"}
_CASTING_FOLDERS = tuple(folder for folder, _ in KERAS_FOLDERS)
_HANDING_ON = frozenset(name for name in ARRANGING if name.startswith("tf.")) | {"tf.gather", "tf.tile"}


class ArrayArguments(Analysis):
    """Analysis of what is an array, and of where a function lets its arguments go."""

    kinds = Once(Kinds)

    def is_array(self, file: File, value: Expression, context: Context | None = None) -> bool:
        """Whether a value is certainly an array, or one of its elements."""
        return self._is_array(file, value, context, frozenset())

    def _is_array(self, file: File, value: Expression, context: Context | None, inside: frozenset[Origin]) -> bool:
        """The same of a part of some computations; one that depends on itself only is none."""
        origins = [origin for origin in self.inference.of(file, value, context) if origin not in inside]
        return bool(origins) and all(self._is_origin_array(origin, inside | {origin}) for origin in origins)

    def _is_origin_array(self, origin: Origin, inside: frozenset[Origin]) -> bool:
        node, file, context = origin.node, origin.file, origin.context
        if any(part.kind == "attribute" for part in origin.access_path):
            return False
        if isinstance(node, cst.Call):
            whole = _receiver(node)
            return self._makes_array(origin, node) or (
                whole is not None and self._is_array(file, whole, context, inside)
            )
        if isinstance(node, cst.BinaryOperation):
            sides = [self._is_array(file, side, context, inside) for side in (node.left, node.right)]
            numbers = [self.constants.of(file, side, context) for side in (node.left, node.right)]
            return any(sides) and all(
                is_array or isinstance(n, int | float) for is_array, n in zip(sides, numbers, strict=True)
            )
        return isinstance(node, cst.Subscript) and self._is_array(file, node.value, context, inside)

    def may_be_array(self, file: File, value: Expression, context: Context | None = None) -> bool:
        """Whether a value is an array, or one of its elements, on some way that is seen."""
        return self._may_be_array(file, value, context, set())

    def _may_be_array(self, file: File, value: Expression, context: Context | None, seen: set[Origin]) -> bool:
        origins = [origin for origin in self.inference.of(file, value, context) if origin not in seen]
        seen.update(origins)
        return any(self._may_origin_be_array(origin, seen) for origin in origins)

    def _may_origin_be_array(self, origin: Origin, seen: set[Origin]) -> bool:
        node, file, context = origin.node, origin.file, origin.context
        if any(part.kind == "attribute" for part in origin.access_path):
            return False
        parts: list[Expression] = []
        if isinstance(node, cst.Call):
            if self._makes_array(origin, node):
                return True
            name, whole = file.name(node.func) or "", _receiver(node)
            if whole is not None:
                parts = [whole]
            elif not (name.startswith(("tf.", "keras.")) or self._is_of_keras(file, node.func)):
                # Others hand arrays on, or what they or a function of NumPy make of them.
                parts = [] if self._gives_number(file, node) else [arg.value for arg in node.args]
                if any((file.name(part) or "").startswith("numpy.") for part in parts):
                    return True
        elif isinstance(node, cst.BinaryOperation):
            sides = (node.left, node.right)
            is_tensor = any(self.kinds.must_be(file, side, "tensor", context=context) for side in sides)
            parts = [] if is_tensor else [*sides]
        elif isinstance(node, cst.Subscript):
            parts = [node.value]
        return any(self._may_be_array(file, part, context, seen) for part in parts)

    def _makes_array(self, origin: Origin, call: cst.Call) -> bool:
        """Whether a call gives what NumPy makes: `np.zeros(8)`, and `map(np.array, rows)`."""
        name = origin.file.name(call.func) or ""
        if name.startswith("keras.datasets."):
            return len(origin.access_path) > 1
        if origin.file.names.is_builtin(call.func, "map") and call.args:
            name = origin.file.name(call.args[0].value) or ""
        if name.startswith("numpy.") or method_name(call) == "as_numpy_iterator":
            return True
        return draws_array(self.inference, origin.file, call, origin.context)

    def _gives_number(self, file: File, call: cst.Call) -> bool:
        return any(file.names.is_builtin(call.func, name) for name in _NUMBERS)

    def is_single(self, file: File, value: Expression, context: Context | None = None) -> bool:
        """Whether an array certainly has the dtype of tensors, float32."""
        return self._is_single(file, value, context, frozenset())

    def _is_single(self, file: File, value: Expression, context: Context | None, inside: frozenset[Origin]) -> bool:
        origins = [o for o in self.inference.of(file, value, context) if not o.is_none and o not in inside]
        return bool(origins) and all(self._is_origin_single(origin, inside | {origin}) for origin in origins)

    def _is_origin_single(self, origin: Origin, inside: frozenset[Origin]) -> bool:
        node, file, context = origin.node, origin.file, origin.context
        if isinstance(node, cst.Subscript):
            return self._is_single(file, node.value, context, inside)
        if not isinstance(node, cst.Call):
            return False
        name = file.name(node.func) or ""
        is_cast = method_name(node) == "astype" and not name
        dtype = argument(node, 0 if is_cast else -1, "dtype")
        if dtype is not None or name:
            given = None if dtype is None else self.constants.of(file, dtype, context)
            return "numpy.float32" in (name, file.name(dtype)) or given == "float32" or file.name(dtype) == "tf.float32"
        if not isinstance(node.func, cst.Attribute) or node.func.attr.value not in ARRAY_METHODS:
            return False
        return self._is_single(file, node.func.value, context, inside)

    def is_cast(self, function: Function, parameter: cst.Param) -> bool:
        """Whether a function hands a parameter only to what casts it, or asks for what it is without its values."""
        return self._are_cast(function, parameter.name.value, set())

    def _are_cast(self, function: Function, name: str, seen: set[tuple[Node, str]]) -> bool:
        if (function.node, name) in seen:
            return True
        seen.add((function.node, name))
        tree = function.file.tree
        uses = tree.inside(tree.uses.get(name, ()), function.node.body)
        return all(self._goes_to_cast(function, use, seen) for use in uses)

    def _goes_to_cast(self, function: Function, value: Node, seen: set[tuple[Node, str]]) -> bool:
        file, parents = function.file, function.file.tree.parents
        parent = parents[value]
        if isinstance(parent, cst.Attribute):
            return parent.value is not value or parent.attr.value in STATIC_ATTRIBUTES
        if isinstance(parent, cst.AssignTarget):
            return True  # the name gets another value, whose uses are looked at with its own
        if isinstance(parent, cst.Assign) and isinstance(parent.targets[0].target, cst.Name):
            return self._are_cast(function, parent.targets[0].target.value, seen)
        if isinstance(parent, cst.Element):
            return self._goes_to_cast(function, parents[parent], seen)
        call = parents[parent] if isinstance(parent, cst.Arg) else None
        if not isinstance(call, cst.Call) or not isinstance(parent, cst.Arg):
            return False
        if parent.keyword is value:
            return True
        name = file.name(call.func) or ""
        if name in _CASTING or name.startswith(_CASTING_FOLDERS) or argument(call, -1, "dtype") is not None:
            return True
        if name in _HANDING_ON:
            return self._goes_to_cast(function, call, seen)
        if method_name(call) in ("update_state", "watch") or self._is_of_keras(file, call.func):
            return True
        callees = self.inference.callees(file, call)
        passed = [
            (c.function, p)
            for c in callees
            for p, given in self.inference.definitions.passed(file, call, c.function)
            if given is parent.value
        ]
        return (
            bool(passed)
            and len(passed) == len(callees)
            and all(self._are_cast(f, p.name.value, seen) for f, p in passed)
        )

    def _is_of_keras(self, file: File, func: Expression) -> bool:
        return self.kinds.is_model(file, func) or self.kinds.must_be(file, func, "model", "layer", "metric", "loss")


def _receiver(call: cst.Call) -> Expression | None:
    """The array of which a method gives another one: `x` of `x.reshape(8)`."""
    func = call.func
    return func.value if isinstance(func, cst.Attribute) and func.attr.value in ARRAY_METHODS else None
