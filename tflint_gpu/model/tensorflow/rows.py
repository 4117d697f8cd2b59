"""Batches of one row: arrays whose first dimension is visibly one."""

from __future__ import annotations

import libcst as cst

from tflint_gpu.model.python.constants import Constants
from tflint_gpu.model.python.file import File
from tflint_gpu.model.python.inference import Inference
from tflint_gpu.model.python.origins import Origin
from tflint_gpu.model.python.syntax import Expression, Node, argument, method_name

_EXPANDING = frozenset(["numpy.expand_dims", "tf.expand_dims", "keras.ops.expand_dims", "keras.backend.expand_dims"])
_RESHAPING = frozenset(["numpy.reshape", "tf.reshape", "keras.ops.reshape"])
_WRAPPING = frozenset(["numpy.array", "numpy.asarray", "tf.constant", "tf.convert_to_tensor"])
_FILLING = frozenset(["numpy.zeros", "numpy.ones", "numpy.empty", "numpy.random.rand", "tf.zeros", "tf.ones"])
_LOADERS = frozenset(["TimeseriesGenerator"])
_FLOWS = frozenset(["flow", "flow_from_directory", "flow_from_dataframe"])
_SAME_ROWS = frozenset(
    ["tf.cast", "tf.convert_to_tensor", "numpy.array", "numpy.asarray", "tf.constant", "numpy.float32"]
)


class Rows:
    """Questions about how many rows an array has."""

    def __init__(self, inference: Inference, constants: Constants) -> None:
        self.inference = inference
        self.constants = constants

    def is_single(self, file: File, expr: Expression) -> bool:
        """Whether an array has one row on every way: `x[i:i + 1]`, `x[None]`, `np.expand_dims(x, 0)`."""
        if isinstance(expr, cst.Subscript):
            return self._takes_one(file, expr)
        return self.inference.surely(file, expr, self._is_single)

    def yields_single(self, file: File, expr: Expression) -> bool:
        """Whether a generator's batches, or their inputs where they are tuples, have one row each."""
        origins = self.inference.of(file, expr)
        yielded = [e for origin in origins for e in self.inference.elements(origin)]
        inputs = [
            one
            for element in yielded
            for one in (self.inference.item(element, 0) if isinstance(element.node, cst.Tuple) else (element,))
        ]
        return bool(inputs) and all(self._is_single(origin) for origin in inputs)

    def size_of_one(self, file: File, expr: Expression) -> tuple[File, cst.Call, Expression] | None:
        """The `batch_size` of one that a loader of Keras gets, and its call: `TimeseriesGenerator(x, batch_size=1)`."""
        for origin in self.inference.of(file, expr):
            call = origin.call
            if call is None:
                return None
            name = origin.file.name(call.func) or ""
            is_loader = name.rpartition(".")[2] in _LOADERS and name.startswith(("keras.", "tf."))
            if not is_loader and not (name == "" and method_name(call) in _FLOWS):
                return None
            size = argument(call, -1, "batch_size")
            if size is None or not _is_one(self.constants.of(origin.file, size, origin.context)):
                return None
            return origin.file, call, size
        return None

    def _is_single(self, origin: Origin) -> bool:
        node, file = origin.node, origin.file
        if origin.parts:
            return False
        if isinstance(node, cst.Subscript):
            return self._takes_one(file, node)
        call = origin.call
        if call is None:
            return False
        name = file.name(call.func)
        if name in _EXPANDING:
            return bool(self.constants.of(file, argument(call, 1, "axis"), origin.context) == 0)
        if name in _RESHAPING:
            return self._starts_with_one(file, argument(call, 1, "shape") or argument(call, 1, "newshape"), origin)
        if name in _FILLING and call.args:
            return self._starts_with_one(file, call.args[0].value, origin)
        if name in _WRAPPING and call.args and isinstance(call.args[0].value, cst.List):
            return len(call.args[0].value.elements) == 1
        if name in _SAME_ROWS and call.args:
            return self.is_single(file, call.args[0].value)
        if method_name(call) == "reshape" and name is None and call.args:
            return self._starts_with_one(file, call.args[0].value, origin)
        if method_name(call) == "astype" and isinstance(call.func, cst.Attribute) and name is None:
            return self.is_single(file, call.func.value)
        return False

    def _starts_with_one(self, file: File, shape: Expression | None, origin: Origin) -> bool:
        if isinstance(shape, cst.Tuple | cst.List):
            shape = shape.elements[0].value if shape.elements else None
        return _is_one(self.constants.of(file, shape, origin.context))

    def _takes_one(self, file: File, subscript: cst.Subscript) -> bool:
        """`x[None]`, `x[np.newaxis, ...]`, `x[i:i + 1]`."""
        first = subscript.slice[0].slice
        if isinstance(first, cst.Index):
            value = first.value
            return (isinstance(value, cst.Name) and value.value == "None") or file.name(value) in (
                "numpy.newaxis",
                "tf.newaxis",
            )
        if not isinstance(first, cst.Slice):
            return False
        lower, upper = first.lower, first.upper
        if lower is None or not isinstance(upper, cst.BinaryOperation) or not isinstance(upper.operator, cst.Add):
            return lower is None and first.step is None and _is_one(self.constants.of(file, upper))
        return _is_one(self.constants.of(file, upper.right)) and upper.left.deep_equals(lower)


def _is_one(value: object) -> bool:
    return type(value) is int and value == 1


def in_loop(file: File, node: Node) -> bool:
    """Whether a place is run again and again by a loop of its own function."""
    for parent in file.tree.ancestors(node):
        if isinstance(parent, cst.For | cst.While):
            return True
        if isinstance(parent, cst.FunctionDef):
            return False
    return False
