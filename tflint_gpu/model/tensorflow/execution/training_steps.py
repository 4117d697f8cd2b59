"""Training steps that loops run eagerly, one per iteration."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from functools import cached_property

import libcst as cst

from tflint_gpu.lazy_dataclasses import dataclass
from tflint_gpu.lazy_patterns import regex
from tflint_gpu.model.library.keras_methods import GRADIENT_METHODS, UPDATES
from tflint_gpu.model.model import Analysis, Model, Once
from tflint_gpu.model.python.execution.callers import EveryWay, RunSite, loops_around
from tflint_gpu.model.python.execution.summaries import Summaries
from tflint_gpu.model.python.execution.walks import Frame, Invocation
from tflint_gpu.model.python.project.file import File
from tflint_gpu.model.python.project.functions import Function
from tflint_gpu.model.python.refactoring.outlines import NotMovable, outline, step_region
from tflint_gpu.model.python.syntax.children import names_in, walk
from tflint_gpu.model.python.syntax.syntax import Expression, FunctionNode, LoopNode, Node, argument, method_name
from tflint_gpu.model.python.value_flow.origins import Context, Origin
from tflint_gpu.model.tensorflow.execution.eager_loops import EagerLoops
from tflint_gpu.model.tensorflow.execution.invocations import Invocations
from tflint_gpu.model.tensorflow.loops.batches import Batches, LoopData
from tflint_gpu.model.tensorflow.loops.loop_flow import IterationFlow, is_occasional
from tflint_gpu.model.tensorflow.tracing.tracing import Tracing
from tflint_gpu.model.tensorflow.training.training import Training
from tflint_gpu.model.tensorflow.types.tapes import TAPES, is_read, taken

_GRADIENT = regex(r".*grad|d[_A-Z]?[wbx]\d*$|g\d*$", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class EagerStep:
    """A step of training that a loop runs eagerly.

    Arguments:
        tape: or the `optimizer.minimize(loss)` that makes one.
        file: of the tape, the first one in its function. loop: in `loop_file`. path: the calls between them.
        host_reads: what in the step keeps it from being traced as it is.
        functions: that the loop runs on the way to it, outermost first.
        others: the other tapes of its function, which are traced with it.
    """

    file: File
    tape: cst.Call
    loop_file: File
    loop: LoopNode
    path: tuple[Frame, ...] = ()
    host_reads: tuple[Node, ...] = ()
    functions: tuple[Function, ...] = ()
    others: tuple[cst.Call, ...] = ()


class TrainingSteps(Analysis):
    """The training steps of the loops that are seen from one file."""

    tracing = Once(Tracing)
    training = Once(Training)
    loops = Once(EagerLoops)
    invocations = Once(Invocations)
    data = Once(LoopData)

    def __init__(self, model: Model) -> None:
        super().__init__(model)
        self._updating = Summaries(
            self.inference, "weights are updated without a tape", self._updates_itself, self._functions_without_tape
        )

    @cached_property
    def eager(self) -> list[EagerStep]:
        """The training steps that loops run without tf.function, innermost loop each."""
        innermost: dict[cst.Call, EagerStep] = {}
        for file, loop in self.loops.seen:
            if self.loops.is_no_place(file, loop) or self.loops.may_be_hook(file, file.tree.function(loop)):
                continue
            for run in self.invocations.eager(file, loop):
                if self._is_step(run, file, loop) and self.loops.is_eager(run):
                    reads = tuple(self._host_reads(run, file, loop))
                    innermost[run.call] = EagerStep(run.file, run.call, file, loop, run.path, reads, run.functions)
        steps: dict[tuple[LoopNode, Node | None], EagerStep] = {}
        for step in innermost.values():  # one finding for all tapes of a function: they are traced together
            key = step.loop, step.functions[-1].node if step.functions else None
            known = steps.setdefault(key, step)
            if known is not step:
                steps[key] = replace(known, others=(*known.others, step.tape))
        return list(steps.values())

    def are_prepared_by(self, file: File, loop: LoopNode) -> bool:
        """Whether every training step runs a loop before its tape: what the loop computes is traced with the step."""
        return EveryWay(self.inference, self._is_before_tape).holds(RunSite(file, loop))

    def _is_before_tape(self, site: RunSite) -> bool | None:
        """Whether a place comes before a tape, in the same function and inside of the loop of the steps, if any."""
        tree, function = site.file.tree, site.function
        for tape in site.file.calls(*TAPES):
            if tree.function(tape) is not function or tree.within(tape, site.node):
                continue
            step = next(loops_around(site.file, tape), function)
            if step is not None and tree.within(site.node, step) and tree.order[site.node] < tree.order[tape]:
                return not is_occasional(site.file, site.node, step)
        return None if function is not None else False

    def _is_step(self, run: Invocation, file: File, loop: LoopNode) -> bool:
        """Whether weights are updated, by `minimize` or with the gradients of a tape in the block of no other."""
        if run.file.name(run.call.func) not in TAPES:
            loss = self.training.minimized(run.file, run.call, run.context)
            return loss is not None and not self._is_traced(run, loss)
        if any(self.training.is_under_tape(frame.file, frame.node) for frame in run.path):
            return False
        if self._only_traced(run):
            return False
        return self._trains_weights(run, file, loop) or self._changes_own_input(run, file, loop)

    def _trains_weights(self, run: Invocation, file: File, loop: LoopNode) -> bool:
        """Whether the gradients of a tape go into weights, or into what else an optimizer trains."""
        function = run.file.tree.function(run.call)
        around = [(run.file, call) for call in run.file.calls_in.get(function, ())] if run.functions else []
        for entered in run.functions:
            around += [(entered.file, call) for call in entered.calls]
        around += [(file, call) for call in file.calls_below.get(loop, ())]
        if not is_read(self.inference, run.file, run.call, for_weights=True):
            return False
        if any(self._updates(where, call) for where, call in around) or self._adds_up(run, file, loop):
            return True
        is_updating = any(
            self._updating.holds(function.file, function.node)
            for where, call in around
            for function in self._functions_without_tape(where, call)
        )
        return is_updating or self._comes_back_to_weights(run, file, loop)

    def _comes_back_to_weights(self, run: Invocation, file: File, loop: LoopNode) -> bool:
        """Whether what is made of gradients is assigned to their weights elsewhere: `assign(net, flat_gradient(x))`."""
        block: LoopNode | FunctionNode = loop
        gradients = list(taken(self.inference, run.file, run.call))
        weights, made = self._sources(run.file, gradients, run.context), frozenset[Node](gradients)
        if run.path:
            flow = IterationFlow(run.file, run.functions[-1].node, frozenset(gradients))
            if not any(map(flow.holds, run.file.returned(run.functions[-1].node))):
                return False
            made = frozenset([run.path[-1].node])
            file, block = run.path[-1].file, run.functions[-2].node if len(run.path) > 1 else loop
        held = self.data.spread(file, block, set(), set(made))
        return any(
            (method_name(each.call) or "").startswith("assign")
            and any(self.data.holds(each.file, Batches(each.names, True, made), arg.value) for arg in each.call.args)
            and self._is_one_of(weights, each)
            for each in self.invocations.eager(file, block, Batches(held, True, made))
        )

    def _is_one_of(self, values: set[Origin], run: Invocation) -> bool:
        """Whether a method is called on any of some values, whatever the calls by which they were found."""
        func, known = run.call.func, {(value.node, value.access_path) for value in values}
        called_on = self.inference.of(run.file, func.value, run.context) if isinstance(func, cst.Attribute) else ()
        return any((origin.node, origin.access_path) in known for origin in called_on)

    def _adds_up(self, run: Invocation, file: File, loop: LoopNode) -> bool:
        """Whether an optimizer gets, after the loop, what the iterations make of their gradients: the sum of them."""
        gradients = [run.entry] if run.path else list(taken(self.inference, file, run.call))
        flow = IterationFlow(file, loop, frozenset(gradients))
        return any(
            method_name(call) == "apply_gradients" and any(flow.holds(arg.value) for arg in call.args)
            for call in file.calls_in.get(file.tree.function(loop), ())
        )

    def _updates_itself(self, file: File, node: Node) -> bool:
        return any(self._updates(file, call) for call in file.calls_below.get(node, ()))

    def _functions_without_tape(self, file: File, call: cst.Call) -> Iterator[Function]:
        """What a call runs, but training steps by themselves, and what is traced."""
        for function in self.inference.functions_run(file, call):
            if not any(function.file.name(c.func) in TAPES for c in function.calls) and not self.tracing.is_traced(
                function.file, function.node
            ):
                yield function

    def _changes_own_input(self, run: Invocation, file: File, loop: LoopNode) -> bool:
        """Whether a gradient makes the tensor of which the next iteration takes one: of an image, an attack, a line.

        Where a function takes it, the function's result is what it gets next.
        """
        calls = list(taken(self.inference, run.file, run.call))
        sources = [source for call in calls if (source := argument(call, 1, "sources")) is not None]
        if not run.path:
            flow = IterationFlow(file, loop, frozenset(calls))
            return any(flow.comes_back(source) for source in sources)
        given = {parameter.name.value for parameter in run.functions[-1].parameters}
        if len(run.path) > 1 or not any(names_in(source) & given for source in sources):
            return False
        flow = IterationFlow(file, loop, frozenset([run.entry]), parts=_parts_made_of(run, calls))
        return any(map(flow.comes_back, run.given))

    def _only_traced(self, run: Invocation) -> bool:
        """Whether all that the tape records is done by functions under `tf.function`: little runs eagerly."""
        block = next((parent for parent in run.file.tree.ancestors(run.call) if isinstance(parent, cst.With)), None)
        if block is None:
            return False
        within = run.file.tree.within
        inside = [call for call in run.file.calls_below.get(block, ()) if within(call, block.body)]
        recorded = [call for call in inside if method_name(call) not in (*GRADIENT_METHODS, "apply_gradients", "watch")]
        traced = [call for call in recorded if self._is_traced(run, call.func)]
        return bool(traced) and all(any(within(call, call_site) for call_site in traced) for call in recorded)

    def _is_traced(self, run: Invocation, func: Expression) -> bool:
        """Whether all functions that an expression may mean are under `tf.function`."""
        if self.inference.must_be(run.file, func, self._is_compiled, run.context):
            return True
        callees = self.inference.callables(run.file, func, run.context)
        return bool(callees) and all(c.function.node in self.tracing.wrapped(c.function.file) for c in callees)

    def _is_compiled(self, origin: Origin) -> bool:
        """Whether a function is one that a library compiles as it makes it: `training_loss_closure(compile=True)`."""
        call = origin.call
        if call is None or self.inference.callees(origin.file, call, origin.context):
            return False
        return self.constants.keyword(origin.file, call, "compile") is True or (
            method_name(call) == "training_loss_closure" and argument(call, -1, "compile") is None
        )

    def _updates(self, file: File, call: cst.Call) -> bool:
        """Whether a call updates weights: an optimizer's, or an assignment of what is made of gradients."""
        method = method_name(call)
        if method is None or not method.startswith("assign"):
            return method in UPDATES
        if not call.args:
            return False
        function = file.tree.function(call)
        taken = [c for c in file.calls_in.get(function, ()) if method_name(c) in GRADIENT_METHODS]
        if taken and not self._is_among_sources(file, call, taken):
            return False
        if taken and isinstance(function, cst.FunctionDef):
            names = self.data.spread(file, function, set(), set(taken))
            if self.data.holds(file, Batches(names, True, frozenset(taken)), call.args[0].value):
                return True
        return any(
            node in taken or (isinstance(node, cst.Name) and _GRADIENT.match(node.value))
            for node in walk(call.args[0].value)
        )

    def _is_among_sources(self, file: File, call: cst.Call, taken: list[cst.Call]) -> bool:
        """Whether what is assigned to is something of which gradients are taken, not a sum or mean of them."""
        assert isinstance(call.func, cst.Attribute)
        return not self._sources(file, taken).isdisjoint(self.inference.of(file, call.func.value))

    def _sources(self, file: File, taken: list[cst.Call], context: Context | None = None) -> set[Origin]:
        """What gradients are taken of."""
        known: set[Origin] = set()
        for gradient in taken:
            sources = argument(gradient, 1, "sources")
            origins = self.inference.of(file, sources, context) if sources is not None else ()
            known.update(origins)
            for origin in origins:
                known.update(self.inference.elements(origin), self.inference.item(origin, None))
        return known

    def _host_reads(self, run: Invocation, file: File, loop: LoopNode) -> Iterator[Node]:
        """What needs a value on the host and would be traced with the step: `.numpy()`, not what is read after it."""
        is_here = run.file is file and file.tree.within(run.call, loop)
        if not is_here:
            function = run.file.tree.function(run.call)
            yield from (call for call in run.file.calls_in.get(function, ()) if _reads_a_value(call))
            return
        region = step_region(file, loop, run.call, UPDATES) or (loop,)
        reads = [call for call in file.calls_below.get(loop, ()) if _reads_a_value(call)]
        reads = [call for call in reads if any(file.tree.within(call, statement) for statement in region)]
        try:
            outside = outline(file, loop, run.call, UPDATES).outside if reads else frozenset()
        except NotMovable:
            outside = frozenset()
        yield from (call for call in reads if file.source.row(file.span(call)[0]) not in outside)


def _parts_made_of(run: Invocation, gradients: list[cst.Call]) -> frozenset[int] | None:
    """Which elements of the tuple that the step's function returns are made of its gradients; None without a tuple."""
    file, function = run.file, run.functions[-1].node
    returned = [value for value in file.returned(function) if isinstance(value, cst.Tuple)]
    flow = IterationFlow(file, function, frozenset(gradients))
    made = (i for value in returned for i, element in enumerate(value.elements) if flow.holds(element.value))
    return frozenset(made) if returned else None


def _reads_a_value(call: cst.Call) -> bool:
    return method_name(call) in ("numpy", "item") and not call.args
