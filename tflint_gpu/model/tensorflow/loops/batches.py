"""What a loop goes through: over data of which length, and which expressions hold what it yields."""

from __future__ import annotations

import re
from collections.abc import Iterator

import libcst as cst

from tflint_gpu.lazy_dataclasses import dataclass
from tflint_gpu.lazy_patterns import regex
from tflint_gpu.model.library.operations import operation_named
from tflint_gpu.model.model import Analysis, Model
from tflint_gpu.model.python.execution.callers import is_in_iteration
from tflint_gpu.model.python.execution.walks import Entered, Invocation, Route, is_once_in_iteration, walk
from tflint_gpu.model.python.project.file import File
from tflint_gpu.model.python.project.module_files import OUTSIDE
from tflint_gpu.model.python.syntax.children import names_in
from tflint_gpu.model.python.syntax.syntax import (
    Expression,
    FunctionNode,
    LoopNode,
    Node,
    dotted_name,
    iterable,
    loop_target,
    method_name,
)
from tflint_gpu.model.python.value_flow import results
from tflint_gpu.model.python.value_flow.origins import Context, Origin
from tflint_gpu.model.tensorflow.loops.iterations import Iterations
from tflint_gpu.model.tensorflow.loops.loop_flow import FEW_IN_ALL, breaks_of, counts_some, leaves_at_once
from tflint_gpu.model.tensorflow.loops.slices import size_between
from tflint_gpu.model.tensorflow.loops.spread import mentions, spread_names, subscripts_of, target_names
from tflint_gpu.model.tensorflow.tf_data.chains import Chain
from tflint_gpu.model.tensorflow.tf_data.pipelines import Pipelines
from tflint_gpu.model.tensorflow.training.training import Training, iterator_of, takes_next
from tflint_gpu.model.tensorflow.types.kinds import Kinds

_GIVES_BATCH = regex(
    r"(next|get|load|sample|fetch|train|test|val\w*)_?batch|batch_?(next|get|load)|__next__", re.IGNORECASE
)
_TAKES = (b"next(",)
_REACHES = cst.GreaterThan | cst.GreaterThanEqual | cst.Equal
# Of these nobody makes many batches: `crops + flips` joins lists.
_NO_DATA = (cst.SimpleString, cst.Integer, cst.Dict, cst.BinaryOperation)


@dataclass(frozen=True, slots=True)
class Batches:
    """What a loop goes through.

    Arguments:
        names: the local names that hold what an iteration yields, or what is made of it.
        is_certain: whether it is certainly batches: of a dataset, or of an iterator or class of the project.
        sources: the calls and subscripts in the loop that yield something; not certain are slices of an array, which
            a traced function may cut, too.
    """

    names: frozenset[str]
    is_certain: bool
    sources: frozenset[Node] = frozenset()


class LoopData(Analysis):
    """Analysis of the data of loops."""

    def __init__(self, model: Model) -> None:
        super().__init__(model)
        self.pipelines = model.once(Pipelines)
        self.iterations = model.once(Iterations)
        self.kinds = model.once(Kinds)
        self.training = model.once(Training)
        self._batches: dict[Node, Batches | None] = {}

    def batches(self, file: File, loop: LoopNode) -> Batches | None:
        """What a loop goes through; None where it is little, or nothing that looks like data."""
        if loop not in self._batches:
            self._batches[loop] = self._batches_of(file, loop)
        return self._batches[loop]

    def _batches_of(self, file: File, loop: LoopNode) -> Batches | None:
        names: set[str] = set()
        sources: set[Node] = set()
        slices: set[Node] = set()
        certain = False
        data, target, index = iterable(loop), loop_target(loop), None
        if data is not None and target is not None:
            length = self.iterations.of(file, data)
            if length is not None and length <= FEW_IN_ALL:
                return None
            index = self._index(file, data, target)
            if index is not None:
                sources |= set(self._indexed(file, loop, index))
                slices = set(self._slices(file, loop, data, index))
            elif self._is_data(file, data):
                names |= set(target_names(target))
                certain = self._must_be_data(file, data)
        elif isinstance(loop, cst.Call) and data is not None:
            length = self.iterations.of(file, data)
            if (length is not None and length <= FEW_IN_ALL) or not self._is_data(file, data):
                return None
            return Batches(frozenset(), self._must_be_data(file, data), frozenset([data]))
        elif isinstance(loop, cst.While) and self._counts_few(file, loop):
            return None
        for call in file.calls_below.get(loop, ()):
            if takes_next(file, call) and self._is_data(file, iterator_of(call)):
                sources.add(call)
                certain = certain or self._must_be_data(file, iterator_of(call))
            elif self._draws_batch(file, call) and not _is_of_one_source(call, index):
                sources.add(call)
                certain = True
        if not names and not sources and not slices and (index is not None or isinstance(loop, cst.While)):
            sources |= set(self._taken_by_functions(file, loop))
        taken = sources | slices
        if not names and not taken:
            return None
        held = spread_names(file, loop, names, taken)
        return Batches(held, certain or bool(sources), frozenset(taken))

    def _taken_by_functions(self, file: File, loop: LoopNode) -> Iterator[Node]:
        """What functions that a loop calls take out of iterators, once an iteration, and the calls that hand it on."""

        def entered(run: Invocation) -> Iterator[Entered]:
            func = run.call.func
            if self.inference.may_be_called(run.file, func) and self.inference.project.leads_to(
                run.file, run.file.name(func), _TAKES
            ):
                for each in self.inference.runs(run.file, run.call, run.context):
                    yield Entered(each.callee, self.inference.enter(run.file, run.call, run.context, each))

        own = (call for call in file.calls_below.get(loop, ()) if is_in_iteration(file, loop, call))
        calls = (Invocation(file, call, None, file, loop) for call in own)
        for run in walk(self.inference, calls, Route(entered)):
            if not run.path or not takes_next(run.file, run.call) or not is_once_in_iteration(run):
                continue
            iterator = iterator_of(run.call)
            if not self._must_be_data(run.file, iterator, run.context) or self.training.runs_epochs(file, loop):
                continue
            yield run.call
            for frame in run.path:
                call = cst.ensure_type(frame.node, cst.Call)
                if self.inference.must_be(frame.file, call, self.pipelines.must_yield):
                    yield call

    def is_short(self, file: File, loop: LoopNode) -> bool:
        """Whether a loop makes a known, small number of iterations, and no other loop runs it again and again."""
        data = iterable(loop)
        if data is None or any(isinstance(p, cst.For | cst.While) for p in file.tree.ancestors(loop)):
            return False
        length = self.iterations.of(file, data)
        return length is not None and length <= FEW_IN_ALL and file.tree.function(loop) is None

    def leaves_early(self, file: File, loop: LoopNode) -> bool:
        """Whether the loop only inspects some elements: each iteration ends it, or one of the first."""
        return leaves_at_once(loop) or not all(self._breaks_late(file, node, loop) for node in breaks_of(loop))

    def _breaks_late(self, file: File, node: Node, loop: LoopNode) -> bool:
        """Whether a `break` waits for something: `except StopIteration`, a test that may fail for long."""
        for parent in file.tree.ancestors(node):
            if parent is loop:
                break
            if isinstance(parent, cst.ExceptHandler):
                return "StopIteration" in (dotted_name(parent.type) or "StopIteration")
            if isinstance(parent, cst.If) and self.constants.of(file, parent.test) is not True:
                return self._ends_late(file, parent.test, loop)
        return False

    def _ends_late(self, file: File, test: Expression, loop: LoopNode) -> bool:
        """Whether nothing says that a test holds after few iterations: `step >= steps`, `batch is None`, `done`."""
        if isinstance(test, cst.BooleanOperation):
            late = [self._ends_late(file, side, loop) for side in (test.left, test.right)]
            return any(late) if isinstance(test.operator, cst.And) else all(late)
        if not isinstance(test, cst.Comparison) or len(test.comparisons) != 1:
            return not self.constants.of(file, test)
        comparison = test.comparisons[0]
        count, bound, is_reached = test.left, comparison.comparator, isinstance(comparison.operator, _REACHES)
        if isinstance(comparison.operator, cst.LessThan | cst.LessThanEqual):  # `3 <= step`
            count, bound, is_reached = bound, count, True
        if isinstance(loop, cst.While) and counts_some(file, count, loop):
            return True
        bounds = [v for v in self.constants.possible(file, bound) if type(v) is int] if is_reached else []
        return not bounds or min(bounds) > FEW_IN_ALL

    def length(self, file: File, loop: LoopNode) -> int | None:
        """How many iterations a `for` makes; None where that is not known."""
        return self.iterations.of_loop(file, loop)

    def is_at_most(self, file: File, loop: LoopNode, limit: int) -> bool:
        """Whether a loop is known to make no more than some iterations."""
        if isinstance(loop, cst.While):
            return self._counts_few(file, loop, limit)
        length = self.length(file, loop)
        return length is not None and length <= limit

    def counts(self, file: File, data: Expression) -> bool:
        """Whether what a `for` runs over is a `range`."""

        def is_range(origin: Origin) -> bool:
            return origin.call is not None and origin.file.names.is_builtin(origin.call.func, "range")

        return self.inference.must_be(file, data, is_range)

    def holds(self, file: File, batches: Batches, expr: Node) -> bool:
        """Whether an expression is made of what the loop yields."""
        return mentions(file, expr, batches.names, batches.sources)

    def spread(
        self, file: File, block: LoopNode | FunctionNode, names: set[str], sources: set[Node] | None = None
    ) -> frozenset[str]:
        """The names in a place that hold what some of its names hold, or what some of its expressions give."""
        return spread_names(file, block, names, sources or set())

    def is_direct(self, file: File, loop: LoopNode, expr: Expression) -> bool:
        """Whether an expression is an element of what a `for` yields as it is, not what is loaded by its name."""
        target = loop_target(loop)
        names = set(target_names(target)) if target is not None else set()
        while True:
            if isinstance(expr, cst.Name):
                return expr.value in names
            if isinstance(expr, cst.Subscript) and not isinstance(expr.slice[0].slice, cst.Slice):
                expr = expr.value
            elif isinstance(expr, cst.Call) and (file.name(expr.func) or "").startswith("tf.") and expr.args:
                if operation_named(file.name(expr.func)).shape == "expanded":
                    return False
                expr = expr.args[0].value
            else:
                return False

    def _index(self, file: File, data: Expression, target: Node) -> str | None:
        """The variable of a loop over `range(...)`."""
        if not self.counts(file, data):
            return None
        return target.value if isinstance(target, cst.Name) else ""

    def _indexed(self, file: File, loop: LoopNode, index: str) -> Iterator[Node]:
        """`data[i]`, `data[i * n : i * n + n]`: what a loop over indexes takes out of data that it does not make."""
        if not index:
            return
        counters = spread_names(file, loop, {index}, set())
        for subscript in subscripts_of(file, loop):
            first = subscript.slice[0].slice
            if mentions(file, first, counters) and self._is_dataset_class(file, subscript.value):
                yield subscript

    def slice_size(self, file: File, loop: LoopNode) -> Expression | None:
        """How many rows a loop that counts takes out of an array each time; None of another loop."""
        batches, data, target = self.batches(file, loop), iterable(loop), loop_target(loop)
        if batches is None or batches.is_certain or data is None or target is None:
            return None
        index = self._index(file, data, target)
        return next(iter(self._slices(file, loop, data, index).values()), None) if index else None

    def _slices(self, file: File, loop: LoopNode, data: Expression, index: str) -> dict[Node, Expression]:
        """One batch after the other, with its size: `rows[i : i + n]`, of `range(n)` `rows[i * n : (i + 1) * n]`."""
        steps = [arg.value for arg in data.args[2:]] if isinstance(data, cst.Call) else []
        if not index:
            return {}
        sizes: dict[Node, Expression] = {}
        ends = spread_names(file, loop, {index}, set())  # `end = i + size`
        for subscript in subscripts_of(file, loop):
            part = subscript.slice[0].slice
            if len(subscript.slice) > 1 or not isinstance(part, cst.Slice) or not part.lower or not part.upper:
                continue
            if not steps or self.constants.of(file, steps[0]) == 1:
                size = size_between(self.inference, file, part.lower, part.upper, index)
                sizes |= {subscript: size} if size is not None else {}
            elif isinstance(part.lower, cst.Name) and part.lower.value == index:
                sizes |= {subscript: steps[0]} if not ends.isdisjoint(names_in(part.upper)) else {}
        return sizes

    def _is_dataset_class(self, file: File, expr: Expression) -> bool:
        """Whether an object of the project, with `__getitem__`, gives the batches, or a generator of images."""
        return self.kinds.must_be(file, expr, "sequence") or any(
            cls is not None and self.inference.definitions.method(cls, "__getitem__") is not None
            for origin in self.inference.of(file, expr)
            for cls in (self.inference.instance_class(origin),)
        )

    def _counts_few(self, file: File, loop: cst.While, few: int = FEW_IN_ALL) -> bool:
        """`while step < 5`."""
        test = loop.test
        if not isinstance(test, cst.Comparison) or len(test.comparisons) != 1:
            return False
        bound = self.constants.of(file, test.comparisons[0].comparator)
        return isinstance(bound, int) and bound is not True and bound <= few

    def _is_data(self, file: File, expr: Expression) -> bool:
        """Whether what is iterated may be data of more than a few elements."""
        chains = self.pipelines.iterated(file, expr)
        if any(map(self._holds_few, chains)) or (chains and all(chain.is_short for chain in chains)):
            return False
        return all(self._may_be_data(origin) for origin in self.inference.of(file, expr))

    def _holds_few(self, chain: Chain) -> bool:
        """`from_tensor_slices([1, 2, 3, 4])`, or one of Keras's data sets in a few batches; not repeated; `take(3)`."""
        made = chain.made
        if any(o.name == "take" and isinstance(o.argument(0, "count"), int) and o.takes_few for o in chain.operations):
            return True
        if made is None or made.name != "from_tensor_slices" or not made.call.args:
            return False
        if any(operation.name == "repeat" for operation in chain.operations):
            return False
        data, batching = made.call.args[0].value, chain.batching
        if batching is not None and self._counts_rows(made.file, batching.given_batch_size, data):
            return True
        size = batching.batch_size if batching is not None else 1
        rows = self.iterations.rows(made.file, data, made.context) if isinstance(size, int) else None
        return (rows is not None and rows <= FEW_IN_ALL * size) or self._written_out(made.file, data)

    def _counts_rows(self, file: File, size: Expression | None, data: Expression) -> bool:
        """`.batch(len(x))` of `x`, of `(x, y)` or of what a name holds such: one batch."""
        if not isinstance(size, cst.Call) or not file.names.is_builtin(size.func, "len") or len(size.args) != 1:
            return False
        counted = self.inference.of(file, size.args[0].value)
        parts = [element.value for element in data.elements] if isinstance(data, cst.Tuple) else [data]
        return bool(counted) and any(self.inference.of(file, part) == counted for part in parts)

    def _written_out(self, file: File, expr: Expression) -> bool:
        def is_few(origin: Origin) -> bool:
            node = origin.node
            if origin.made_by in ("numpy.array", "tf.constant") and isinstance(node, cst.Call) and node.args:
                return self._written_out(origin.file, node.args[0].value)
            if isinstance(node, cst.Tuple) and node.elements and not origin.access_path:  # features and labels
                return self._written_out(origin.file, node.elements[0].value)
            return isinstance(node, cst.List) and not origin.access_path and len(node.elements) <= FEW_IN_ALL

        return self.inference.must_be(file, expr, is_few)

    def _may_be_data(self, origin: Origin) -> bool:
        node = origin.node
        if isinstance(node, cst.Name | cst.Attribute) and origin.name is not None:
            return origin.name.partition(".")[0] not in OUTSIDE  # `from data import pictures`
        call = origin.call
        if call is None:
            return bool(origin.access_path) or not isinstance(node, _NO_DATA)
        name = origin.made_by or ""
        if method_name(call) == "keys":
            return False
        return not name.startswith(("numpy.arange", "tf.range", "os.", "glob.", "pathlib.", "itertools."))

    def _must_be_data(self, file: File, expr: Expression, context: Context | None = None) -> bool:
        if any(chain.certain for chain in self.pipelines.iterated(file, expr, context)):
            return True
        origins = self.inference.of(file, expr, context)
        return bool(origins) and all(
            self.is_own_iterable(origin)
            or self.kinds.of(origin) == "sequence"
            or any(self._must_be_data(origin.file, joined) for joined in self.pipelines.joined(origin) or ())
            for origin in origins
        )

    def is_own_iterable(self, origin: Origin) -> bool:
        """An instance of a class of the project that can be iterated, or what a generator function gives."""
        cls = self.inference.instance_class(origin)
        if cls is not None:
            methods = ("__iter__", "__next__", "__getitem__")
            return any(self.inference.definitions.method(cls, name) is not None for name in methods)
        call = origin.call
        return call is not None and results.yielded(self.inference, origin.file, call, origin.context) is not None

    def _draws_batch(self, file: File, call: cst.Call) -> bool:
        return _GIVES_BATCH.fullmatch(method_name(call) or "") is not None and bool(self.inference.callees(file, call))


def _is_of_one_source(call: cst.Call, index: str | None) -> bool:
    """`loaders[i].get_batch(5)` in a loop over `i`: of each source one batch, and there are few sources."""
    loader = call.func.value if isinstance(call.func, cst.Attribute) else None
    return bool(index) and isinstance(loader, cst.Subscript) and index in names_in(*loader.slice)
