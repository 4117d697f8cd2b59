"""Models that loops call eagerly for one frame, image, token or step after the other; loops over data sets apart."""

from __future__ import annotations

import builtins
from collections.abc import Iterable, Iterator
from dataclasses import replace
from functools import cached_property

import libcst as cst

from tflint_gpu.bounds import INPUT_STEPS
from tflint_gpu.lazy_dataclasses import dataclass
from tflint_gpu.model import (
    Analysis,
    Batches,
    Class,
    Construction,
    EagerLoops,
    EveryWay,
    File,
    ForwardPasses,
    Frame,
    FunctionNode,
    Invocation,
    Invocations,
    IterationFlow,
    Kinds,
    LoopData,
    LoopNode,
    LoopNumbers,
    Node,
    Once,
    Origin,
    Repetitions,
    RunSite,
    ShapeChanges,
    TracedCode,
    Training,
    TrainingSteps,
    TryOuts,
    argument,
    called_model,
    displayed,
    dotted_name,
    innermost,
    is_changed_in,
    is_occasional,
    iterable,
    method_name,
    names_in,
    names_of,
    operation_named,
    outside,
    walk,
)
from tflint_gpu.model.library.files import VALUES
from tflint_gpu.model.library.tensor_functions import HOST_READS

from .image_sizes import has_size_of_iteration

_NO_BATCHES = Batches(frozenset(), False)
_READINGS = frozenset("read step reset grab capture_array get_frame screenshot".split())
_AFTER_EPOCH = ("on_epoch_begin", "on_epoch_end", "on_train_begin", "on_train_end")
_READERS = ("float", "int", "bool", "print")


@dataclass(frozen=True, slots=True)
class InferenceStep:
    """A model that every iteration of a loop calls eagerly, without gradients.

    Arguments:
        usage: the place that shows that it is a model, where only its use does.
        has_changing_shapes: whether it gets tokens that grow, images of whatever size their files have, and the like.
        others: more such calls in the same loop.
    """

    file: File
    call: cst.Call
    loop_file: File
    loop: LoopNode
    path: tuple[Frame, ...] = ()
    usage: Node | None = None
    has_changing_shapes: bool = False
    others: tuple[tuple[File, cst.Call], ...] = ()

    @property
    def calls(self) -> tuple[tuple[File, cst.Call], ...]:
        """This one and the others."""
        return ((self.file, self.call), *self.others)


class InferenceSteps(Analysis):
    """The loops that are seen from one file; those over data sets are `ForwardPasses`'s."""

    kinds = Once(Kinds)
    training = Once(Training)
    loops = Once(EagerLoops)
    invocations = Once(Invocations)
    construction = Once(Construction)
    data = Once(LoopData)
    forwards = Once(ForwardPasses)
    steps = Once(TrainingSteps)
    repetitions = Once(Repetitions)
    numbers = Once(LoopNumbers)
    shapes = Once(ShapeChanges)
    traced_code = Once(TracedCode)
    try_outs = Once(TryOuts)

    @cached_property
    def eager(self) -> list[InferenceStep]:
        """One for each loop, at its first such call; none in a program that chooses to run eagerly."""
        if self.traced_code.runs_eagerly or self.traced_code.functions_run_eagerly:
            return []
        by_loop: dict[LoopNode, InferenceStep] = {}
        known_calls: set[cst.Call] = set()
        for way in innermost(self._calls()):
            run = self._past_models(way)
            loop_file, loop = run.root_file, run.loop
            if run.call in known_calls or not self._is_inference(loop_file, loop, run):
                continue
            known_calls.add(run.call)
            known = by_loop.get(loop)
            if known is not None:
                by_loop[loop] = replace(known, others=(*known.others, (run.file, run.call)))
                continue
            by_loop[loop] = InferenceStep(
                run.file,
                run.call,
                loop_file,
                loop,
                run.path,
                self.forwards.shown_by(run),
                self.shapes.of_call(run.file, run.call),
            )
        return list(by_loop.values())

    def _calls(self) -> Iterator[Invocation]:
        """The model calls of each loop of some length."""
        known: set[cst.Call] = set()
        for file, loop in self.loops.seen:
            if self.forwards.may_run_model(file, loop) and self.numbers.is_long(file, loop):
                for run in self.invocations.eager(file, loop, _NO_BATCHES):
                    if run.call in known or self._may_be_model(run):
                        known.add(run.call)
                        yield run

    def _past_models(self, way: Invocation) -> Invocation:
        """A call in the loop around those that go through models, as the actors of several agents, in each step.

        Itself where no loop goes through models, or the one around makes them.
        """
        file = way.root_file
        places = [called_model(way.call)] if not way.path else way.given
        models = [place for place in places if self.kinds.is_model(file, place)]
        for run in self.repetitions.outwards(way):
            over, targets = iterable(run.loop), names_of(run.loop)
            if over is None or targets.isdisjoint(names_in(*models)):
                is_changed = run is not way and any(is_changed_in(file, run.loop, each) for each in models)
                return way if is_changed else run
            models = [outside(run.loop, place) for place in models]
        return way

    def _may_be_model(self, run: Invocation) -> bool:
        func = called_model(run.call)
        if not run.call.args or not isinstance(func, cst.Name | cst.Attribute | cst.Subscript):
            return False
        if isinstance(func, cst.Name) and hasattr(builtins, func.value):
            return False
        if not self.inference.may_be_called(run.file, func) or not self.kinds.is_model(run.file, func, run.context):
            return False
        return self.forwards.is_model_call(run)

    def _is_inference(self, file: File, loop: LoopNode, run: Invocation) -> bool:
        """Whether many iterations call one model with values of their own, for nothing but its answer."""
        if any(
            forward.loop is loop or any(call is run.call for _, call in forward.calls)
            for forward in self.forwards.eager
        ):
            return False
        if self._reads_dataset(file, loop, run.given) or self.loops.is_no_place(file, loop):
            return False
        if isinstance(run.file.tree.parents.get(run.call), cst.Expr):  # nobody reads the answer: it builds the model
            return False
        if not self.loops.is_eager(run) or self._is_in_model(file, loop):
            return False
        if any(is_occasional(where, node, loop) for where, node in run.places):
            return False
        if any(self.training.takes_gradients(function.file, function.node) for function in run.functions):
            return False
        if self._is_in_step(file, loop, run) or not self._is_one_model(file, loop, run):
            return False
        if has_size_of_iteration(file, loop, run.given):
            return False
        if not self._has_values(file, loop, run) or self._is_meant(file, loop, run):
            return False
        return not self.try_outs.is_untrained(RunSite(file, loop), run.file, called_model(run.call), run.context)

    def _is_in_step(self, file: File, loop: LoopNode, run: Invocation) -> bool:
        """Whether a training step that the loop runs eagerly is in the same function: it is traced with that one.

        An agent that acts in the loop that holds the tape is no part of the step: the host needs its answer before.
        """
        calls = file.calls_below.get(loop, ())
        if self.steps.are_prepared_by(file, loop) and not self._is_read(
            run, loop, [c for c in calls if c is not run.call]
        ):
            return True
        function = run.file.tree.function(run.call)
        return any(
            step.file is run.file
            and step.file.tree.function(step.tape) is function
            and (bool(step.functions) or not self._is_read_before(run, loop, step.tape))
            for step in self.steps.eager
            if step.loop_file is file and (step.loop is loop or file.tree.within(step.loop, loop))
        )

    def _is_read_before(self, run: Invocation, loop: LoopNode, tape: cst.Call) -> bool:
        """Whether Python needs the answer as numbers, and not what a tape makes of it: no target of what was drawn."""
        recorded = next((parent for parent in run.file.tree.ancestors(tape) if isinstance(parent, cst.With)), tape)
        calls = [call for call in run.file.calls_below.get(loop, ()) if call is not run.call]
        if run.file.tree.within(run.call, recorded) or not self._is_read(run, loop, calls, recorded):
            return False
        draws = frozenset(call for call in calls if _draws(run.file, call) or method_name(call) == "sample")
        answer = IterationFlow(run.file, loop, frozenset([run.entry]), draws)
        return not answer.holds(recorded) or any(map(answer.comes_back, run.given))

    def _reads_dataset(self, file: File, loop: LoopNode, given: Iterable[cst.BaseExpression] | None = None) -> bool:
        """Whether a loop goes through a dataset or the project's own batches, whatever their number.

        Arguments:
            given: of a loop that only calls for its batches one of these is to hold them; not of an agent that acts
                beside the batch that it draws from its memory.
        """
        batches, data = self.data.batches(file, loop), iterable(loop)
        if batches is not None and batches.is_certain:
            is_asked = given is not None and (data is None or self.data.counts(file, data))
            return not is_asked or any(self.data.holds(file, batches, value) for value in given or ())
        return data is not None and any(chain.certain for chain in self.data.pipelines.iterated(file, data))

    def _is_in_model(self, file: File, loop: LoopNode) -> bool:
        """Whether a loop is in what calling a layer or model runs; a plain object may be called to sample."""
        function = file.tree.function(loop)
        if not isinstance(function, cst.FunctionDef):
            return False
        owner = file.tree.class_of(function)
        is_plain = owner is not None and self.inference.definitions.is_plain(Class(file, owner))
        is_call = function.name.value in ("call", "__call__", "build") and not is_plain
        return is_call or self.loops.tracing.is_traced(file, function)

    def _is_one_model(self, file: File, loop: LoopNode, run: Invocation) -> bool:
        """Whether all iterations call the same model: not one for each fold, nor each of several."""
        targets = names_of(loop)
        called = [run.call.func] if not run.path else run.given
        roots = {(dotted_name(expr) or "").partition(".")[0] for expr in called}
        if targets & roots and (not run.path or any(self._is_iterations_model(file, expr, targets) for expr in called)):
            return False
        origins = self.inference.of(run.file, run.call.func, run.context)
        return not any(file.tree.within(origin.node, loop) for origin in origins)

    def _is_iterations_model(self, file: File, expr: cst.BaseExpression, targets: frozenset[str]) -> bool:
        return (dotted_name(expr) or "").partition(".")[0] in targets and self.kinds.is_model(file, expr)

    def _has_values(self, file: File, loop: LoopNode, run: Invocation) -> bool:
        """Whether the model gets, or gives, values of the iteration: not where a loop builds a model of models."""
        region: LoopNode | FunctionNode = loop
        function = run.file.tree.function(run.call)
        if run.path and function is not None:
            region = function
        calls = [c for c in run.file.calls_below.get(region, ()) if c is not run.call]
        given = [arg.value for arg in run.call.args]
        asked = _asked(file, loop)
        fresh = IterationFlow(run.file, region, asked.union(c for c in calls if _gives_value(run.file, c)))
        changes = self._changes(file, loop, run)
        if any(fresh.holds(value) for value in given):
            return changes or any(c in asked or _draws(run.file, c) for c in calls)
        if not changes:
            return False
        parts = [part for value in given for part in displayed(value)]
        if any(self._is_value(o, asked) for part in parts for o in self.inference.of(run.file, part, run.context)):
            return True
        return self._is_in_callback(run.file, function) or self._is_read(run, region, calls)

    def _is_in_callback(self, file: File, function: FunctionNode | None) -> bool:
        """Whether a place is run by `fit`, which has the model built by then."""
        owner = file.tree.class_of(function) if function is not None else None
        return owner is not None and self.kinds.is_callback(Class(file, owner))

    def _is_read(
        self, run: Invocation, region: LoopNode | FunctionNode, calls: list[cst.Call], past: Node | None = None
    ) -> bool:
        """Whether Python needs the answer as numbers: it is printed, made NumPy's, or decides what comes next.

        Arguments:
            past: a block through which it is not followed.
        """
        tree = run.file.tree
        ends = run.file.once(_without_numbers).union(() if past is None else walk(past))
        answer = IterationFlow(run.file, region, frozenset([run.call]), ends)
        if any(any(answer.holds(read) for read in _read_by(run.file, c)) for c in calls):
            return True
        tests = [n.test for n in tree.nodes_in(cst.If, region)] + [n.test for n in tree.nodes_in(cst.While, region)]
        return any(map(answer.holds, tests))

    def _changes(self, file: File, loop: LoopNode, run: Invocation) -> bool:
        """Whether an iteration calls with other arguments than the one before."""
        if self.repetitions.varies(run, run.given):
            return True
        return any(_draws(file, c) for c in file.calls_below.get(loop, ()) if file.tree.within(c, run.entry))

    def _is_value(self, origin: Origin, asked: frozenset[cst.Call], depth: int = 0) -> bool:
        """Whether something is there while Python runs: what gives values made it, or it is made of such a value."""
        call, node = origin.call, origin.node
        if depth > INPUT_STEPS.limit:
            self.inference.meet(INPUT_STEPS)
            return False
        if isinstance(node, cst.Call) and (node in asked or _gives_value(origin.file, node)):
            return True
        if origin.access_path:
            return False
        made_of = [call.args[0].value] if call is not None and self._computes(origin, call) else []
        if isinstance(node, cst.BinaryOperation):
            made_of = [node.left, node.right]
        elif isinstance(node, cst.Subscript) and _adds_axes(origin.file, node):
            made_of = [node.value]
        parts = [part for expr in made_of for part in displayed(expr)]
        values = (o for part in parts for o in self.inference.of(origin.file, part, origin.context))
        return any(self._is_value(value, asked, depth + 1) for value in values)

    def _computes(self, origin: Origin, call: cst.Call) -> bool:
        """Whether a call makes a tensor of its first argument: an operation, or a layer on its own."""
        operation = operation_named(origin.made_by)
        is_operation = operation.is_of_tensor or operation.joins
        is_layer = isinstance(call.func, cst.Call) and self.kinds.must_be(
            origin.file, call.func, "layer", context=origin.context
        )
        return bool(call.args) and (is_operation or is_layer)

    def _is_meant(self, file: File, loop: LoopNode, run: Invocation) -> bool:
        """Whether a loop measures, waits for requests, or shows after each epoch of training what was learned."""
        if self.repetitions.waits(run.root_file, run.loop) or self.construction.builds(file, loop):
            return True
        if self._is_after_epoch(file, loop) or (self.training.runs_epochs(file, loop) and not _acts(file, loop, run)):
            return True
        if self._goes_through_environments(file, loop) or self._checks_conversion(file, loop):
            return True
        if self._changes(file, loop, run):
            return False
        return self.repetitions.is_timed(file, loop)

    def _is_after_epoch(self, file: File, loop: LoopNode) -> bool:
        """Whether all that run a loop do so once an epoch or every so many steps, and it neither trains nor plays."""

        def decide(site: RunSite) -> bool | None:
            function = site.function
            if isinstance(function, cst.FunctionDef) and function.name.value in _AFTER_EPOCH:
                return self._is_in_callback(site.file, function)
            if isinstance(function, cst.FunctionDef) and function.name.value == "__call__":
                return False  # an object that is called is made for whoever gets it
            for outer in site.loops():
                if self.training.runs_epochs(site.file, outer):
                    return not self._is_for_step(site, outer)
                if self.training.takes_gradients(site.file, outer):
                    return is_occasional(site.file, site.node, outer) and not self._is_for_step(site, outer)
                if self._reads_dataset(site.file, outer):
                    return False
            return None

        steps = (call for call in file.calls_below.get(loop, ()) if method_name(call) == "step")
        if any(steps) or self.training.takes_gradients(file, loop):
            return False
        return EveryWay(self.inference, decide).holds(RunSite(file, loop))

    def _is_for_step(self, site: RunSite, loop: LoopNode) -> bool:
        """Whether a training step gets what a call gives, as the returns of an episode: it shows nothing."""
        answer = IterationFlow(site.file, loop, frozenset([site.node]))
        return any(
            any(answer.holds(arg.value) for arg in call.args)
            and any(
                self.training.takes_gradients(f.file, f.node) for f in self.inference.functions_run(site.file, call)
            )
            for call in site.file.calls_below.get(loop, ())
            if call is not site.node
        )

    def _goes_through_environments(self, file: File, loop: LoopNode) -> bool:
        """`for env in envs: ... env.step(action)`: as many iterations as there are environments."""
        return any(
            method_name(call) in ("step", "reset")
            and isinstance(call.func, cst.Attribute)
            and dotted_name(call.func.value) in names_of(loop)
            for call in file.calls_below.get(loop, ())
        )

    def _checks_conversion(self, file: File, loop: LoopNode) -> bool:
        """Whether an iteration also runs the model's conversion to TFLite."""
        functions = [c.function for call in file.calls_below.get(loop, ()) for c in self.inference.callees(file, call)]
        calls = [*file.calls_below.get(loop, ()), *(call for function in functions for call in function.calls)]
        return any(method_name(call) == "invoke" for call in calls)


def _asked(file: File, loop: LoopNode) -> frozenset[cst.Call]:
    """The calls without arguments, `grab()`, in a `while` that counts nothing: what they give is read from outside."""
    if not isinstance(loop, cst.While) or any(isinstance(node, cst.Comparison) for node in walk(loop.test)):
        return frozenset()
    return frozenset(call for call in file.calls_below.get(loop, ()) if not call.args)


def _acts(file: File, loop: LoopNode, run: Invocation) -> bool:
    """Whether the answer decides the next step of an environment, there or in a function on the way to the model."""
    on_the_way = ((f, function, node) for f, node in run.places if (function := f.tree.function(node)) is not None)
    return _decides_step(file, loop, run.entry) or any(_decides_step(*region) for region in on_the_way)


def _decides_step(file: File, region: LoopNode | FunctionNode, call: Node) -> bool:
    """`env.step(np.argmax(model(state)))`, with what a call of an iteration or of a function gives."""
    answer = IterationFlow(file, region, frozenset([call]))
    steps = (c for c in file.calls_below.get(region, ()) if method_name(c) == "step")
    return any(answer.holds(arg.value) for step in steps for arg in step.args)


def _adds_axes(file: File, array: cst.Subscript) -> bool:
    """`state[None, :]`: all of an array, with an axis more."""
    parts = [element.slice for element in array.slice]
    wholes = (part for part in parts if isinstance(part, cst.Slice))
    indices = (part.value for part in parts if isinstance(part, cst.Index))
    return not any(part.lower or part.upper or part.step for part in wholes) and all(
        isinstance(index, cst.Ellipsis) or file.is_new_axis(index) for index in indices
    )


def _gives_value(file: File, call: cst.Call) -> bool:
    """`np.expand_dims(x, 0)`, `camera.read()`, `env.step(action)`, `tokenizer(text, return_tensors="tf")`."""
    if argument(call, -1, "return_tensors") is not None:
        return True
    name = file.name(call.func)
    if name is None:
        return method_name(call) in _READINGS | HOST_READS
    return name.startswith(VALUES)


def _draws(file: File, call: cst.Call) -> bool:
    """Whether a call gives another value in every iteration by itself."""
    name = file.name(call.func)
    if name is None:
        return method_name(call) in _READINGS
    return name.startswith(("tf.random.", "numpy.random.", "random."))


def _read_by(file: File, call: cst.Call) -> Iterator[cst.BaseExpression]:
    """What a call needs as numbers on the host: `np.argmax(y)`, `y.numpy()`, `print(y)`."""
    name = file.name(call.func)
    if (name or "").startswith(("numpy.", "cv2.", "PIL.", "matplotlib.")) or any(
        file.names.is_builtin(call.func, reader) for reader in _READERS
    ):
        yield from (arg.value for arg in call.args)
    elif method_name(call) in ("numpy", "item", "tolist") and isinstance(call.func, cst.Attribute):
        yield call.func.value


def _without_numbers(file: File) -> frozenset[Node]:
    """What of a file also a symbol has."""
    return frozenset(n for kind in (cst.Attribute, cst.Comparison) for n in file.tree.nodes(kind) if _is_no_number(n))


def _is_no_number(node: Node) -> bool:
    """What also a symbol has, while Keras builds a model: `x.shape`, `x is None`."""
    if isinstance(node, cst.Attribute):
        return node.attr.value in ("shape", "dtype", "ndim", "name")
    return isinstance(node, cst.Comparison) and isinstance(node.comparisons[0].operator, cst.Is | cst.IsNot)
