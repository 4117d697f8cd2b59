"""Whether the elements of a dataset are always single samples: never batched, and made of no batches."""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from tflint_gpu.bounds import SAMPLE_STEPS
from tflint_gpu.model import (
    Analysis,
    Chain,
    Context,
    Expression,
    File,
    FunctionNode,
    Node,
    Operation,
    Origin,
    argument,
    children,
    method_name,
    operation_named,
)
from tflint_gpu.model.library.datasets import SAME_ELEMENTS
from tflint_gpu.model.library.files import OF_ONE
from tflint_gpu.model.library.shape_facts import SAMPLEWISE

_TABLES = ("pandas.read_", "sklearn.datasets.load_", "sklearn.datasets.make_", "sklearn.datasets.fetch_")
_LOADS = frozenset(["numpy.loadtxt", "numpy.genfromtxt", "sklearn.model_selection.train_test_split"])
_PASSING_METHODS = frozenset("astype to_numpy numpy copy".split())
_KEEPING_ROWS = ("same", "rows")
_EXPANDING = frozenset(["tf.expand_dims", "numpy.expand_dims"])


class Samples(Analysis):
    """Questions about what the elements of datasets are."""

    def are_elements(self, chain: Chain) -> bool:
        """Whether every element of a dataset is one sample for certain."""
        return self._start_single(chain) and all(self._keeps(operation) for operation in chain.operations)

    def _start_single(self, chain: Chain) -> bool:
        made = chain.made
        if made is None or chain.source is None:
            return False
        if chain.source == "tensorflow_datasets.load":
            return all(arg.star == "" for arg in made.call.args) and argument(made.call, -1, "batch_size") is None
        if made.name == "zip":
            return bool(chain.inputs) and all(map(self.are_elements, chain.inputs))
        if argument(made.call, -1, "batch_size") is not None:  # a loader's
            return made.argument(-1, "batch_size") is None
        if made.name == "from_tensor_slices":
            data = argument(made.call, 0, "tensors")
            is_known = data is not None and self._hold_samples(made.file, data, made.context, 0)
            return is_known or self._takes_scalars(chain)
        return made.name in ("TFRecordDataset", "list_files") and any(o.name == "map" for o in chain.operations)

    def _takes_scalars(self, chain: Chain) -> bool:
        """Whether the first map reads the file, or decodes the bytes, that a part of an element is: so it is one."""
        first = next((operation for operation in chain.operations if operation.name not in SAME_ELEMENTS), None)
        if first is None or first.name != "map":
            return False
        function = argument(first.call, 0, "map_func")
        callees = self.inference.callables(first.file, function, first.context) if function is not None else ()
        return bool(callees) and all(
            any(_is_of_parameter(c.function.file, c.function.node, call) for call in c.function.calls) for c in callees
        )

    def _keeps(self, operation: Operation) -> bool:
        if operation.name != "map":
            return operation.name in SAME_ELEMENTS
        function = argument(operation.call, 0, "map_func")
        callees = self.inference.callables(operation.file, function, operation.context) if function is not None else ()
        return bool(callees) and all(self._adds_no_axis(c.function.file, c.function.node) for c in callees)

    def _adds_no_axis(self, file: File, function: FunctionNode) -> bool:
        for node in _data_in(file, function.body):
            if isinstance(node, cst.List | cst.ListComp):
                return False  # tf.data stacks what is in a list
            if isinstance(node, cst.Subscript) and any(_is_new_axis(file, e.slice) for e in node.slice):
                return False
            if isinstance(node, cst.Call):
                name = file.name(node.func) or ""
                keeps = operation_named(name).shape in (*_KEEPING_ROWS, "broadcast", "chosen")
                if not keeps and not name.startswith(SAMPLEWISE) and name not in OF_ONE:
                    return False
        return True

    def _hold_samples(self, file: File, expr: Expression, context: Context | None, depth: int) -> bool:
        """Whether an array, or each in a tuple or dict, always has one sample in each row."""
        if depth > SAMPLE_STEPS.limit:
            if not isinstance(expr, cst.BaseNumber | cst.SimpleString):
                self.inference.meet(SAMPLE_STEPS)
            return False
        return self.inference.must_be(file, expr, lambda origin: self._holds_samples(origin, depth + 1), context)

    def _holds_samples(self, origin: Origin, depth: int) -> bool:
        node = origin.node
        if isinstance(node, cst.Call):
            return self._is_table(origin, node, depth)
        if origin.access_path:
            return False
        parts: list[Expression] = []
        if isinstance(node, cst.Tuple | cst.Dict):
            parts = [element.value for element in node.elements]
        elif isinstance(node, cst.BinaryOperation):
            parts = [node.right if isinstance(node.left, cst.Integer | cst.Float) else node.left]
        elif isinstance(node, cst.Subscript) and _takes_rows(node):
            parts = [node.value]
        return bool(parts) and all(self._hold_samples(origin.file, part, origin.context, depth) for part in parts)

    def _is_table(self, origin: Origin, call: cst.Call, depth: int) -> bool:
        file, name = origin.file, origin.file.name(call.func) or ""
        if name.startswith(_TABLES) or name in _LOADS:
            return True
        if name.startswith("keras.datasets."):
            return bool(origin.access_path)
        if origin.access_path:
            return False
        operation = operation_named(name)
        if operation.shape == "filled" and operation.size is not None and operation.size.position == 0:
            shape = self.constants.of(file, argument(call, 0, operation.size.keyword), origin.context)
            return isinstance(shape, int) or (isinstance(shape, tuple) and len(shape) <= 2)
        if operation.shape == "counted" and operation.draws:
            return len(call.args) <= 2
        inner: Expression | None = None
        if method_name(call) in _PASSING_METHODS and isinstance(call.func, cst.Attribute):
            inner = call.func.value
        elif operation.shape in _KEEPING_ROWS or (name in _EXPANDING and self._expands_last(origin, call)):
            inner = call.args[0].value if call.args else None
        return inner is not None and self._hold_samples(file, inner, origin.context, depth)

    def _expands_last(self, origin: Origin, call: cst.Call) -> bool:
        return bool(self.constants.of(origin.file, argument(call, 1, "axis"), origin.context) == -1)


def _is_of_parameter(file: File, function: FunctionNode, call: cst.Call) -> bool:
    """Whether a call always runs on a parameter of the function as it is given."""
    first = call.args[0].value if call.args else None
    if file.name(call.func) not in OF_ONE or not isinstance(first, cst.Name):
        return False
    if file.tree.function(call) is not function or any(True for _ in file.branches.around(call)):
        return False
    bindings = file.flow.lookup(first.value, first)
    return [binding.kind for binding in bindings] == ["parameter"] and file.tree.within(bindings[0].node, function)


def _data_in(file: File, node: Node) -> Iterator[Node]:
    """The parts of a function's body but the shapes of what it parses and the sizes of images."""
    if isinstance(node, cst.Call):
        name = file.name(node.func)
        if name == "tf.io.FixedLenFeature" and _is_scalar(argument(node, 0, "shape")):
            return
        if name == "tf.image.resize" and len(node.args) >= 2:
            yield node
            yield from _data_in(file, node.args[0].value)
            return
    yield node
    for child in children(node):
        yield from _data_in(file, child)


def _is_scalar(shape: Expression | None) -> bool:
    return isinstance(shape, cst.List | cst.Tuple) and not shape.elements


def _takes_rows(node: cst.Subscript) -> bool:
    """`x[:100]`, `x[..., None]`: the first axis stays what it is."""
    first = node.slice[0].slice
    return isinstance(first, cst.Slice) or (isinstance(first, cst.Index) and isinstance(first.value, cst.Ellipsis))


def _is_new_axis(file: File, part: cst.BaseSlice) -> bool:
    return isinstance(part, cst.Index) and file.is_new_axis(part.value)
