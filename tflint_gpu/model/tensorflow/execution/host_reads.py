"""Values that a training loop reads on the host in every step: `loss.numpy()`, `float(loss)`, `print(loss)`."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property
from typing import TypeAlias

import libcst as cst

from tflint_gpu.bounds import WALK_CALLS
from tflint_gpu.lazy_dataclasses import dataclass
from tflint_gpu.model.library.keras_methods import FORWARD_METHODS
from tflint_gpu.model.library.nondeterminism import TIMERS
from tflint_gpu.model.model import Analysis, Once
from tflint_gpu.model.python.execution.walks import Frame
from tflint_gpu.model.python.project.file import File
from tflint_gpu.model.python.project.functions import Function
from tflint_gpu.model.python.syntax.children import walk
from tflint_gpu.model.python.syntax.syntax import Expression, FunctionNode, LoopNode, Node, dotted_name, method_name
from tflint_gpu.model.tensorflow.execution.eager_loops import EagerLoops
from tflint_gpu.model.tensorflow.loops.batches import LoopData
from tflint_gpu.model.tensorflow.loops.block_bindings import body_of, bound_by
from tflint_gpu.model.tensorflow.loops.loop_flow import FEW_IN_ALL, IterationFlow
from tflint_gpu.model.tensorflow.tracing.tracing import Tracing
from tflint_gpu.model.tensorflow.training.training import Training
from tflint_gpu.model.tensorflow.types.kinds import Kinds
from tflint_gpu.model.tensorflow.types.tapes import TAPES

_READS = frozenset(["numpy", "item"])
_NUMBERS = ("float", "int")
_TEXTS = ("print", "format", "str")
_Region: TypeAlias = LoopNode | FunctionNode
_CONDITIONAL = (cst.If, cst.IfExp, cst.BooleanOperation, cst.ExceptHandler, cst.CompIf, cst.Assert)


@dataclass(frozen=True, slots=True)
class StepRead:
    """A value that an iteration reads on the host.

    Arguments:
        path: the calls from the loop to the function that reads it.
    """

    file: File
    value: Expression
    path: tuple[Frame, ...] = ()


@dataclass(frozen=True, slots=True)
class StepReads:
    """A loop of training steps, and what it reads on the host in every iteration, in the order of the code."""

    file: File
    loop: LoopNode
    reads: tuple[StepRead, ...]


class HostReads(Analysis):
    """The training loops that are seen from a file and read results of their steps."""

    kinds = Once(Kinds)
    training = Once(Training)
    tracing = Once(Tracing)
    loops = Once(EagerLoops)
    data = Once(LoopData)

    @cached_property
    def in_steps(self) -> list[StepReads]:
        """The loops whose every iteration is one step and reads something that the host does not need for the next."""
        in_steps: list[StepReads] = []
        for file, loop in self.loops.seen:
            steps = self.steps_of(file, loop)
            if steps and not self.data.is_at_most(file, loop, FEW_IN_ALL) and not self._waits_anyway(file, loop, steps):
                reads = (
                    tuple(self._reads_within(file, loop, steps, set()))
                    or tuple(StepRead(file, value) for value in self._reads(file, loop, steps))
                    or tuple(self._reads_of_helpers(file, loop, set()))
                )
                if reads and not any(reads[0].value is known.reads[0].value for known in in_steps):
                    in_steps.append(StepReads(file, loop, reads))
        return in_steps

    def results_of(self, file: File, region: _Region, given: frozenset[str] = frozenset()) -> IterationFlow | None:
        """What the step of every iteration of a loop gives, as long as it is on the device; None without a step.

        Arguments:
            region: the loop, or a function that it runs.
            given: the parameters of the function that hold such a result.
        """
        steps = self.steps_of(file, region).union(*(_uses_of_parameter(file, region, name) for name in given))
        if not steps:
            return None
        ends = frozenset(node for node in _expressions(file, region) if _is_read(file, node))
        return IterationFlow(file, region, steps - ends, ends)

    def steps_of(self, file: File, loop: LoopNode | FunctionNode) -> frozenset[Node]:
        """The calls that make the step which every iteration of a loop runs; none where one runs several, or none.

        Of a function: the step which every run of it is.
        """
        training = self.training
        function = _function_of(file, loop)
        if not training.takes_gradients(file, loop) or self.tracing.is_traced(file, function):
            return frozenset()
        if any(inner is not loop and training.takes_gradients(file, inner) for inner in file.tree.loops_in(loop)):
            return frozenset()
        steps: set[Node] = set()
        for call in file.calls_below.get(loop, ()):
            if file.tree.function(call) is not function:
                continue
            if file.name(call.func) in TAPES:
                steps |= _recorded(file, call)
            elif training.minimized(file, call) is not None:
                steps.add(call)
            elif training.runs_steps(file, call):
                return frozenset()
            elif any(training.takes_gradients(c.file, c.node) for c in self.inference.functions_run(file, call)):
                steps.add(call)
        return frozenset(steps)

    def _reads_within(
        self, file: File, region: _Region, steps: frozenset[Node], seen: set[Node], path: tuple[Frame, ...] = ()
    ) -> Iterator[StepRead]:
        """What the step of every iteration reads itself, where it is an eager function and its result is not needed.

        Arguments:
            region: the loop, or a function on the way from it to what updates the weights.
            seen: the functions that were looked through for this loop.
        """
        if self._decides(file, region, steps, steps):
            return
        calls = sorted((call for call in steps if isinstance(call, cst.Call)), key=file.tree.order.__getitem__)
        for call in calls:
            for function in self.inference.functions_run(file, call):
                node = function.node
                if node in seen:
                    continue
                if len(path) >= WALK_CALLS.limit:
                    self.inference.meet(WALK_CALLS)
                    return
                seen.add(node)
                inside = (*path, Frame(file, call, f"calls `{function.name}`"))
                own = self.steps_of(function.file, node)
                reads = tuple(self._reads(function.file, node, own))
                yield from (StepRead(function.file, value, inside) for value in reads)
                if not reads:
                    yield from self._reads_within(function.file, node, own, seen, inside)

    def _reads_of_helpers(
        self,
        file: File,
        region: _Region,
        seen: set[Node],
        given: frozenset[str] = frozenset(),
        path: tuple[Frame, ...] = (),
    ) -> Iterator[StepRead]:
        """What functions read that every iteration hands a result of its step, where nothing asks them for more.

        Arguments:
            region: the loop, or such a function.
            given: the parameters of the function that hold a result.
        """
        results, inside = self.results_of(file, region, given), _function_of(file, region)
        if results is None or len(path) >= WALK_CALLS.limit:
            return
        for call in file.calls_below.get(region, ()):
            if call in results.sources or file.tree.function(call) is not inside or is_conditional(file, call, region):
                continue
            for function in self.inference.functions_run(file, call):
                names = frozenset(self._handed(call, function, results))
                if not names or function.node in seen or _is_asked(file, region, call, function):
                    continue
                seen.add(function.node)
                there = self.results_of(function.file, function.node, names)
                if there is None or self._decides(file, region, results.sources, frozenset([call])):
                    continue
                way = (*path, Frame(file, call, f"calls `{function.name}`"))
                for value in self._reads(function.file, function.node, there.sources):
                    yield StepRead(function.file, value, way)
                yield from self._reads_of_helpers(function.file, function.node, seen, names, way)

    def _handed(self, call: cst.Call, function: Function, results: IterationFlow) -> Iterator[str]:
        """The parameters of a function that a call hands a result."""
        for parameter, bound in (self.inference.passed_to(results.file, call, function) or {}).items():
            is_own = results.file.tree.within(bound.value, call) and self.is_result(bound.value, results)
            if is_own and isinstance(parameter, cst.Param):
                yield parameter.name.value

    def _reads(self, file: File, loop: _Region, steps: frozenset[Node]) -> Iterator[Expression]:
        """What an iteration always reads, unless some of it decides what happens next."""
        candidates = [node for node in _expressions(file, loop) if _is_read(file, node)]
        steps -= frozenset(candidates)  # a tape's block may print, too
        results = IterationFlow(file, loop, steps, frozenset(candidates))
        reads = [(node, value) for node in candidates for value in _read_by(node) if self.is_result(value, results)]
        needed = frozenset(n for n, value in reads if not (_is_counter(value) or _is_assigned(file, n)))
        if self._decides(file, loop, steps, needed) or any(
            isinstance(node, cst.Comparison) and not _asks_for_none(node) and self._compares(node, results)
            for test in _tests(file, loop)
            for node in walk(test)
        ):
            return
        for node, value in reads:
            if not is_conditional(file, node, loop):
                yield value if isinstance(node, cst.FormattedStringExpression) else _shown(node, value)

    def _waits_anyway(self, file: File, loop: LoopNode, steps: frozenset[Node]) -> bool:
        """Whether an iteration needs what a model computes beside the step on the host, as an agent that acts does."""
        calls = [call for call in file.calls_below.get(loop, ()) if call not in steps]
        always = [call for call in calls if not is_conditional(file, call, loop)]
        functions = [function for call in always for function in self.inference.functions_run(file, call)]
        inner = [(f.file, f.node) for f in functions]
        return self._needs_model(file, loop, steps) or any(
            not self.training.takes_gradients(where, node) and self._needs_model(where, node, frozenset())
            for where, node in inner
        )

    def _needs_model(self, file: File, region: _Region, steps: frozenset[Node]) -> bool:
        """Whether every run of a region reads what a model computes in it, and does more than show that."""
        function = _function_of(file, region)
        calls = [c for c in file.calls_below.get(region, ()) if file.tree.function(c) is function and c not in steps]
        models = frozenset[Node](call for call in calls if self.kinds.is_model(file, call.func))
        reads = [node for node in _expressions(file, region) if _is_read(file, node) and node not in steps]
        results = IterationFlow(file, region, models, frozenset(reads))
        of_step = IterationFlow(file, region, steps - frozenset(reads), frozenset(reads))
        needed: list[Node] = []
        for node in reads if models else ():
            values = [value for value in _read_by(node) if not (_is_counter(value) or _is_of_metric(value))]
            is_own = [self.is_result(value, results) and not self.is_result(value, of_step) for value in values]
            needed += [node] if any(is_own) else []
        needed += [call for call in calls if self.kinds.receiver(file, call, *FORWARD_METHODS) is not None]
        return any(not is_conditional(file, node, region) and not _is_shown(file, node) for node in needed)

    def is_result(self, expr: Expression, results: IterationFlow) -> bool:
        """Whether an expression is what a step computed: not its shape, nor what was read from it."""
        if expr in results.sources:
            return True
        if isinstance(expr, cst.Name):
            return results.holds(expr) and results.file.name(expr) is None
        if isinstance(expr, cst.Subscript):
            return self.is_result(expr.value, results)
        if isinstance(expr, cst.BinaryOperation):
            return self.is_result(expr.left, results) or self.is_result(expr.right, results)
        if isinstance(expr, cst.Attribute):
            return _is_counter(expr)
        if not isinstance(expr, cst.Call) or expr in results.ends:
            return False
        if (results.file.name(expr.func) or "").startswith(("tf.", "keras.ops.")):
            return any(self.is_result(arg.value, results) for arg in expr.args)
        return method_name(expr) == "result" and not expr.args and self._is_metric(results.file, expr.func)

    def _is_metric(self, file: File, result: Expression) -> bool:
        assert isinstance(result, cst.Attribute)
        if self.kinds.must_be(file, result.value, "metric"):
            return True
        metric = dotted_name(result.value)
        updates = file.method_calls("update_state", "reset_state", "reset_states")
        return metric is not None and any(
            dotted_name(call.func.value) == metric for call in updates if isinstance(call.func, cst.Attribute)
        )

    def _decides(self, file: File, loop: _Region, steps: frozenset[Node], reads: frozenset[Node]) -> bool:
        """Whether what is read goes into a test, or into the next step: then the host has to wait for it."""
        flow = IterationFlow(file, loop, reads)
        given = [arg.value for step in steps if isinstance(step, cst.Call) for arg in step.args]
        return any(flow.holds(expr) for expr in (*_tests(file, loop), *given))

    def _compares(self, comparison: cst.Comparison, results: IterationFlow) -> bool:
        """Whether a test compares a result itself: `if loss > limit: break` reads it, too, and needs it."""
        return any(
            self.is_result(expr, results) for expr in (comparison.left, comparison.comparisons[0].comparator)
        ) and not any(isinstance(node, cst.Attribute) and _is_counter(node) for node in walk(comparison))


def times_steps(file: File, loop: LoopNode) -> bool:
    """Whether a loop starts a clock in its iterations: `time.time() - start` only tells how long it has run."""
    clocks = [call for call in file.calls_below.get(loop, ()) if file.name(call.func) in TIMERS]
    bound = {binding.name for binding in bound_by(file, loop, file.tree.scope(loop))} if clocks else set()
    return any(not _is_elapsed(file.tree.parents.get(call), call, bound) for call in clocks)


def _is_elapsed(parent: Node | None, clock: cst.Call, bound: set[str]) -> bool:
    return (
        isinstance(parent, cst.BinaryOperation)
        and isinstance(parent.operator, cst.Subtract)
        and parent.left is clock
        and isinstance(parent.right, cst.Name)
        and parent.right.value not in bound
    )


def _is_asked(file: File, region: _Region, call: cst.Call, function: Function) -> bool:
    """Whether a test asks for what a function may have kept: an attribute that it sets, or another method beside it."""
    receiver = dotted_name(call.func.value) if isinstance(call.func, cst.Attribute) else None
    tree, node = function.file.tree, function.node
    kept = {a.target.attr.value for a in tree.attributes_set_in(node) if tree.function(a.target) is node}
    if any(tree.function(node) is function.node for node in (*tree.nodes(cst.Global), *tree.nodes(cst.Nonlocal))):
        return True
    asked = (node for test in _tests(file, region) for node in walk(test) if isinstance(node, cst.Attribute))
    return any(
        node.attr.value in kept
        or (dotted_name(node.value) == receiver and isinstance(file.tree.parents.get(node), cst.Call))
        for node in asked
    )


def _function_of(file: File, region: LoopNode | FunctionNode) -> FunctionNode | None:
    return region if isinstance(region, cst.FunctionDef | cst.Lambda) else file.tree.function(region)


def _uses_of_parameter(file: File, function: Node, name: str) -> Iterator[Node]:
    """Where a function reads what a parameter got, and nothing that was bound to its name later."""
    for use in file.tree.uses.get(name, ()):
        bindings = file.flow.lookup(name, use) if file.tree.function(use) is function else ()
        if bindings and all(binding.kind == "parameter" for binding in bindings):
            yield use


def _expressions(file: File, loop: _Region) -> Iterator[Node]:
    """The calls, `%` operations and parts of f-strings in a loop's body, inner functions apart."""
    tree = file.tree
    function = _function_of(file, loop)
    kinds = (cst.Call, cst.BinaryOperation, cst.FormattedStringExpression)
    inside = [node for kind in kinds for node in tree.nodes_in(kind, body_of(loop)) if tree.function(node) is function]
    yield from sorted(inside, key=tree.order.__getitem__)


def _recorded(file: File, tape: cst.Call) -> set[Node]:
    """The calls in a tape's block, without what it is told not to record, or only keeps: `losses.append(loss)`."""
    tree = file.tree
    block = next((parent for parent in tree.ancestors(tape) if isinstance(parent, cst.With)), None)
    if block is None:
        return set()
    calls = [call for call in file.calls_below.get(block, ()) if tree.within(call, block.body)]
    left_out = [tree.statement(call) for call in calls if method_name(call) == "stop_recording"]
    return {
        call for call in calls if not _is_kept(file, call) and not any(tree.within(call, node) for node in left_out)
    }


def _is_kept(file: File, call: cst.Call) -> bool:
    return method_name(call) == "append" and isinstance(file.tree.parents.get(call), cst.Expr)


def _is_assigned(file: File, read: Node) -> bool:
    """`rate.assign(x.numpy())`: a variable takes the tensor as well."""
    arg = file.tree.parents.get(read)
    call = file.tree.parents.get(arg) if isinstance(arg, cst.Arg) else None
    return isinstance(call, cst.Call) and method_name(call) == "assign"


def _is_of_metric(value: Expression) -> bool:
    """`metric.result()`"""
    return isinstance(value, cst.Call) and method_name(value) == "result"


def _is_shown(file: File, node: Node) -> bool:
    """Whether a statement does no more with a value than hand it to a function, and keeps it in no list."""
    line = file.tree.statement(node)
    small = line.body[0] if isinstance(line, cst.SimpleStatementLine) else None
    call = small.value if isinstance(small, cst.Expr) else None
    return isinstance(call, cst.Call) and method_name(call) != "append"


_TESTING: tuple[type[cst.If | cst.IfExp | cst.While | cst.Assert], ...] = (cst.If, cst.IfExp, cst.While, cst.Assert)


def _tests(file: File, loop: _Region) -> list[Expression]:
    return [node.test for kind in _TESTING for node in file.tree.nodes_in(kind, loop)]


def _is_read(file: File, node: Node) -> bool:
    """`x.numpy()`, `float(x)`, `print(x)`, `str(x)`, `f"{x}"`, `"{}".format(x)`, `"%f" % x`."""
    if isinstance(node, cst.FormattedStringExpression):
        return True
    if isinstance(node, cst.BinaryOperation):
        return isinstance(node.operator, cst.Modulo) and isinstance(node.left, cst.SimpleString)
    assert isinstance(node, cst.Call)
    if isinstance(node.func, cst.Attribute):
        method, receiver = node.func.attr.value, node.func.value
        return (method in _READS and not node.args) or (method == "format" and isinstance(receiver, cst.SimpleString))
    return any(file.names.is_builtin(node.func, name) for name in (*_NUMBERS, *_TEXTS))


def _read_by(node: Node) -> list[Expression]:
    """The values that something which reads needs."""
    if isinstance(node, cst.FormattedStringExpression):
        return [node.expression]
    if isinstance(node, cst.BinaryOperation):
        right = node.right
        return [element.value for element in right.elements] if isinstance(right, cst.Tuple) else [right]
    assert isinstance(node, cst.Call)
    if isinstance(node.func, cst.Attribute) and not node.args:
        return [node.func.value]
    return [arg.value for arg in node.args]


def _shown(node: Node, value: Expression) -> Expression:
    """What a finding points at: `loss.numpy()` and `float(loss)` as a whole, of `print(step, loss)` the value."""
    is_whole = isinstance(node, cst.Call) and (not node.args or (len(node.args) == 1 and _is_number(node)))
    return node if is_whole and isinstance(node, cst.BaseExpression) else value


def _asks_for_none(comparison: cst.Comparison) -> bool:
    return isinstance(comparison.comparisons[0].operator, cst.Is | cst.IsNot)


def _is_number(call: cst.Call) -> bool:
    return isinstance(call.func, cst.Name) and call.func.value in _NUMBERS


def _is_counter(expr: Expression) -> bool:
    """`optimizer.iterations`: a number that the host could count by itself."""
    return isinstance(expr, cst.Attribute) and expr.attr.value == "iterations"


def is_conditional(file: File, node: Node, loop: Node) -> bool:
    """Whether a place in a loop is reached in some iterations only: under a test, or after a `continue`."""
    child = node
    for parent in file.tree.ancestors(node):
        if parent is loop:
            return False
        if isinstance(parent, _CONDITIONAL) and child is not getattr(parent, "test", None):
            return True
        if isinstance(parent, cst.IndentedBlock) and _continues_before(parent, child):
            return True
        child = parent
    return False


def _continues_before(block: cst.IndentedBlock, child: Node) -> bool:
    for statement in block.body:
        if statement is child:
            return False
        if isinstance(statement, cst.If) and isinstance(statement.body, cst.IndentedBlock):
            last = statement.body.body[-1]
            if isinstance(last, cst.SimpleStatementLine) and isinstance(last.body[-1], cst.Continue):
                return True
    return False
