"""How many iterations a loop makes, where the source says it."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Any

import libcst as cst

from tflint_gpu.bounds import ARRAY_STEPS
from tflint_gpu.model.library.datasets import CUTTING, ITERATORS, TRANSFORMATIONS
from tflint_gpu.model.library.operations import operation_named
from tflint_gpu.model.model import Analysis, Model
from tflint_gpu.model.python.execution.callers import loops_around
from tflint_gpu.model.python.project.file import File
from tflint_gpu.model.python.project.functions import Function
from tflint_gpu.model.python.syntax.syntax import (
    Expression,
    LoopNode,
    Node,
    argument,
    dotted_name,
    iterable,
    method_name,
)
from tflint_gpu.model.python.value_flow.origins import Context, Origin
from tflint_gpu.model.tensorflow.tf_data.chains import Chain
from tflint_gpu.model.tensorflow.tf_data.pipelines import Pipelines
from tflint_gpu.model.values.numpy_arrays import NumpyArrays

_OF_ROWS = ("same", "rows", "expanded")
"""What has as many rows as its argument, but for a new first axis, of which one sample is made."""
_SEQUENCES = ("list", "tuple", "sorted", "reversed")
_VIEWS = frozenset(["keys", "values", "items"])
_GROWING = ("extend", "insert", "setdefault", "update")
_BELOW = (cst.LessThan, cst.LessThanEqual)
_DATASET_METHODS = TRANSFORMATIONS | ITERATORS | {"from_tensor_slices", "from_generator"}


class Iterations(Analysis):
    """Analysis of the lengths of loops.

    Arrays that a program makes up (`np.zeros((48, 6))`) stand for data that somebody else has: they have no length, but
    for `CountedIterations`.
    """

    counts_made_up = False

    def __init__(self, model: Model) -> None:
        super().__init__(model)
        self.pipelines = model.once(Pipelines)
        self.arrays = model.once(NumpyArrays)
        self._known: dict[Node, int | None] = {}

    def of_loop(self, file: File, loop: LoopNode) -> int | None:
        """How many iterations a `for` makes; None where that is not known."""
        data = iterable(loop)
        is_nested = isinstance(loop, cst.BaseComp) and loop.for_in.inner_for_in is not None
        return self.of(file, data) if data is not None and not is_nested else None

    def most(self, file: File, loop: LoopNode) -> int | None:
        """How many iterations a `for` or `while` makes at most, where the code says it."""
        if not isinstance(loop, cst.While):
            return self.of_loop(file, loop)
        test = loop.test
        if not isinstance(test, cst.Comparison) or not isinstance(test.comparisons[0].operator, _BELOW):
            return None
        bound = self.constants.of(file, test.comparisons[0].comparator)
        return bound if type(bound) is int else None

    def of(self, file: File, data: Expression) -> int | None:
        """How many elements `data` gives to a `for`."""
        if data not in self._known:
            self._known[data] = None  # in work
            lengths = [self._of_origin(origin) for origin in self.inference.of(file, data)]
            self._known[data] = lengths[0] if lengths and None not in lengths and len(set(lengths)) == 1 else None
        return self._known[data]

    def rows(self, file: File, expr: Expression, context: Context | None, depth: int = 0) -> int | None:
        """How many rows an array has, or the first one in a display."""
        array = self.arrays.of(file, expr, context)
        if array is not None:
            counts = self.counts_made_up or self.arrays.is_loaded(file, expr, context)
            return array.shape[0] if array.shape and counts else None
        if depth >= ARRAY_STEPS.limit:
            self.inference.meet(ARRAY_STEPS)
            return None
        origins = self.inference.of(file, expr, context)
        if len(origins) != 1 or origins[0].access_path:
            return None
        node, inner = origins[0].node, list[Expression]()
        if isinstance(node, cst.Tuple | cst.Dict):
            inner = [element.value for element in node.elements]
        elif isinstance(node, cst.Call) and operation_named(origins[0].made_by).shape in _OF_ROWS and node.args:
            inner = [node.args[0].value]
        elif isinstance(node, cst.Call) and operation_named(origins[0].made_by).makes_of_list and node.args:
            return self.of(origins[0].file, node.args[0].value)
        rows = (self.rows(origins[0].file, part, origins[0].context, depth + 1) for part in inner)
        return next((count for count in rows if count is not None), None)

    def _of_origin(self, origin: Origin) -> int | None:
        node, file = origin.node, origin.file
        if self.counts_made_up and isinstance(node, cst.BaseExpression) and not origin.access_path:
            array = self.arrays.of(file, node, origin.context)
            if array is not None:
                return array.shape[0] if array.shape else None
        if isinstance(node, cst.Tuple | cst.List | cst.Set | cst.Dict) and not origin.access_path:
            starred = any(isinstance(e, cst.StarredElement | cst.StarredDictElement) for e in node.elements)
            return None if starred else self._filled(file, node, len(node.elements))
        if isinstance(node, cst.ListComp) and not origin.access_path:
            return None if node.for_in.ifs or file.bound_to(node) in file.changed else self.of_loop(file, node)
        if isinstance(node, cst.Subscript) and not origin.access_path:
            return self._of_slice(origin, node.slice[0].slice)
        return self._of_call(origin, origin.call) if origin.call is not None else None

    def _filled(self, file: File, display: Node, count: int) -> int | None:
        """How many elements a display has at most, with those that loops of known lengths put into it by its name."""
        name = file.bound_to(display)
        if name is None or name not in file.changed:
            return count
        filling: list[Node] = [*file.appends.get(name, ()), *(target for target, _ in file.stores.get(name, ()))]
        others = (call.func for call in file.method_calls(*_GROWING))
        if any(isinstance(func, cst.Attribute) and dotted_name(func.value) == name for func in others):
            return None
        if any(file.tree.function(place) is not file.tree.function(display) for place in filling):
            return None
        for place in filling:
            around = [loop for loop in loops_around(file, place) if not file.tree.within(display, loop)]
            lengths = [self.most(file, loop) for loop in around]
            if None in lengths:
                return None
            count += prod(n for n in lengths if n is not None)
        return count

    def _of_call(self, origin: Origin, call: cst.Call) -> int | None:
        file = origin.file
        args = [arg.value for arg in call.args if arg.keyword is None]
        if file.names.is_builtin(call.func, "range"):
            values = [self._bound(origin, arg) for arg in args]
            if all(isinstance(value, int) for value in values) and 1 <= len(values) <= 3:
                try:
                    return len(range(*values))
                except ValueError:
                    return None
        name = file.name(call.func)
        is_sequence = any(file.names.is_builtin(call.func, sequence) for sequence in _SEQUENCES)
        if name == CUTTING and len(args) > 1:
            parts = self.constants.of(file, args[1], origin.context)
            return parts if type(parts) is int else len(parts) + 1 if isinstance(parts, tuple | list) else None
        if (is_sequence or operation_named(name).makes_of_list) and args:
            return self.of(file, args[0])
        if method_name(call) in _DATASET_METHODS:
            return self._of_dataset(origin, call)
        if callees := self.inference.callees(file, call, origin.context):
            return self._of_generators([callee.function for callee in callees])
        if method_name(call) in _VIEWS and isinstance(call.func, cst.Attribute) and not call.args:
            return self.of(file, call.func.value)
        joined = [name for name in ("enumerate", "zip") if file.names.is_builtin(call.func, name)]
        lengths = [
            n for arg in (args[:1] if joined == ["enumerate"] else args) if (n := self.of(file, arg)) is not None
        ]
        return min(lengths) if joined and lengths else None

    def _of_dataset(self, origin: Origin, call: cst.Call) -> int | None:
        """How many elements a dataset has at most: `dataset.take(2)`."""
        chains = self.pipelines.chains(origin.file, call, origin.context)
        counts = [self._elements(chain) if chain.certain else None for chain in chains]
        return max((count for count in counts if count is not None), default=None) if None not in counts else None

    def _elements(self, chain: Chain) -> int | None:
        """How many elements a chain has at most."""
        made, count = chain.made, None
        if made is not None and made.name == "zip":
            joined = [self._elements(each) for each in chain.inputs]
            count = min((each for each in joined if each is not None), default=None)
        elif made is not None and made.name == "from_tensor_slices" and made.call.args and self.counts_made_up:
            count = self.rows(made.file, made.call.args[0].value, made.context)
        elif made is not None and made.name == "from_generator" and (given := argument(made.call, 0, "generator")):
            callees = self.inference.callables(made.file, given, made.context)
            count = self._of_generators([callee.function for callee in callees])
        return chain.most(count)

    def _of_generators(self, functions: Sequence[Function]) -> int | None:
        """How many elements generators yield at most, each `yield` as often as the loops around it run."""
        counts = []
        for function in functions:
            yields = [self._of_yield(function.file, each) for each in function.file.yields_of.get(function.node, ())]
            counts.append(None if None in yields or not yields else sum(n for n in yields if n is not None))
        return max((n for n in counts if n is not None), default=None) if None not in counts else None

    def _of_yield(self, file: File, node: cst.Yield) -> int | None:
        lengths = [self.most(file, loop) for loop in loops_around(file, node)]
        if isinstance(node.value, cst.From):
            lengths.append(self.of(file, node.value.item))
        return prod(n for n in lengths if n is not None) if None not in lengths else None

    def _bound(self, origin: Origin, expr: Expression) -> Any:
        """The constant that limits a `range`, also the `len` of something whose length is known."""
        if isinstance(expr, cst.Call) and expr.args and origin.file.names.is_builtin(expr.func, "len"):
            return self.of(origin.file, expr.args[0].value)
        return self.constants.of(origin.file, expr, origin.context)

    def _of_slice(self, origin: Origin, index: cst.BaseSlice) -> int | None:
        """How many elements `x[:5]` has at most."""
        if not isinstance(index, cst.Slice) or index.upper is None:
            return None
        lower = 0 if index.lower is None else self.constants.of(origin.file, index.lower, origin.context)
        upper = self.constants.of(origin.file, index.upper, origin.context)
        counts = type(lower) is int and type(upper) is int and 0 <= lower <= upper
        return upper - lower if counts else None


class CountedIterations(Iterations):
    """The lengths of loops in the program as it stands, with those over arrays that it makes up."""

    counts_made_up = True
