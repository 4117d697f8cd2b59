"""Models that loops over batches run eagerly, one per iteration, without gradients."""

from __future__ import annotations

import builtins
from collections.abc import Iterator
from functools import cached_property

import libcst as cst

from tflint_gpu.lazy_dataclasses import dataclass
from tflint_gpu.model.library.keras_methods import FORWARD_METHODS
from tflint_gpu.model.library.tensor_functions import returns_tensor
from tflint_gpu.model.model import Analysis, Once
from tflint_gpu.model.python.execution.callers import RunSite, loops_around
from tflint_gpu.model.python.execution.walks import Frame, Invocation, is_once_in_iteration
from tflint_gpu.model.python.project.file import File
from tflint_gpu.model.python.project.functions import Class, Function
from tflint_gpu.model.python.syntax.children import walk
from tflint_gpu.model.python.syntax.syntax import Expression, LoopNode, Node, argument, iterable, method_name
from tflint_gpu.model.python.value_flow.calls import is_library
from tflint_gpu.model.python.value_flow.origins import Origin
from tflint_gpu.model.tensorflow.execution.construction import Construction
from tflint_gpu.model.tensorflow.execution.eager_loops import EagerLoops
from tflint_gpu.model.tensorflow.execution.invocations import Invocations
from tflint_gpu.model.tensorflow.execution.training_steps import TrainingSteps
from tflint_gpu.model.tensorflow.loops.batches import Batches, LoopData
from tflint_gpu.model.tensorflow.loops.loop_flow import is_occasional
from tflint_gpu.model.tensorflow.loops.rows import Rows
from tflint_gpu.model.tensorflow.runtime.keras_versions import is_keras_3
from tflint_gpu.model.tensorflow.runtime.runtime import Runtime
from tflint_gpu.model.tensorflow.tracing.tracing import Tracing
from tflint_gpu.model.tensorflow.training.training import Training
from tflint_gpu.model.tensorflow.training.try_outs import TryOuts
from tflint_gpu.model.tensorflow.types.kinds import Kinds

_RESTORERS = frozenset(["keras.models.load_model", "keras.saving.load_model"])
_MODEL_FILES = (".keras", ".h5", ".hdf5")
_LITTLE = 4
"""Operations of a forward pass that take as long as a call of a traced function.

Measured on a CPU with TensorFlow 2.21 on products of small matrices: for up to 4 a trace gains nothing, 8 are
twice as fast when traced.
"""
_CALLED = (cst.Name, cst.Attribute, cst.Call, cst.Subscript)
_METRIC_METHODS = frozenset(["update_state", "result"])


@dataclass(frozen=True, slots=True)
class EagerForward:
    """A model call that a loop over batches runs eagerly, without gradients.

    Arguments:
        use: what the loop does with the outputs: "metrics", "outputs" (they are collected) or "other".
        usage: the place that shows that it is a model, where only its use does.
        others: more such calls in the same loop.
    """

    file: File
    call: cst.Call
    loop_file: File
    loop: LoopNode
    use: str = "other"
    usage: Node | None = None
    path: tuple[Frame, ...] = ()
    others: tuple[tuple[File, cst.Call], ...] = ()

    @property
    def calls(self) -> tuple[tuple[File, cst.Call], ...]:
        """This one and the others."""
        return ((self.file, self.call), *self.others)


class ForwardPasses(Analysis):
    """The forward passes of the loops that are seen from one file."""

    kinds = Once(Kinds)
    tracing = Once(Tracing)
    training = Once(Training)
    runtime = Once(Runtime)
    loops = Once(EagerLoops)
    invocations = Once(Invocations)
    steps = Once(TrainingSteps)
    data = Once(LoopData)
    rows = Once(Rows)
    construction = Once(Construction)
    try_outs = Once(TryOuts)
    is_keras_3 = Once(is_keras_3)

    @cached_property
    def eager(self) -> list[EagerForward]:
        """One for each loop over batches, at the first model call that it runs without tf.function or gradients."""
        forwards: dict[LoopNode, dict[cst.Call, Invocation]] = {}
        innermost: dict[cst.Call, LoopNode] = {}
        for file, loop in self.loops.seen:
            batches = self._batches(file, loop) if self.may_run_model(file, loop) else None
            if batches is None or (isinstance(loop, cst.BaseComp) and not self._goes_through_rows(file, loop, batches)):
                continue  # `[layer(x) for x in inputs]` builds models as often as it runs them
            if self.loops.is_no_place(file, loop) or self.data.leaves_early(file, loop):
                continue
            if self._is_part_of_model(file, loop, batches) or self.trains_eagerly(file, loop):
                continue
            if self.construction.builds(file, loop):
                continue
            for run in self._forward_in(file, loop, batches):
                innermost[run.call] = loop
                forwards.setdefault(loop, {}).setdefault(run.call, run)
        own = ([run for run in runs.values() if innermost[run.call] is run.loop] for runs in forwards.values())
        return [self._forward_of(runs) for runs in own if runs]

    def _batches(self, file: File, loop: LoopNode) -> Batches | None:
        """What a loop goes through; batches of which nothing is known where it trains on some that it draws."""
        known = self.data.batches(file, loop)
        return known or (Batches(frozenset(), True) if self._trains_on_batches(file, loop) else None)

    def _goes_through_rows(self, file: File, loop: LoopNode, batches: Batches) -> bool:
        """Whether a loop yields batches, not parts of a network: nobody cuts symbols along their first axis."""
        return batches.is_certain or self.data.slice_size(file, loop) is not None

    def _forward_of(self, runs: list[Invocation]) -> EagerForward:
        """The first of a loop's forward passes, with the others."""
        first, *more = runs
        others = tuple((run.file, run.call) for run in more)
        use, shown_by = self._use(first), self.shown_by(first)
        return EagerForward(first.file, first.call, first.root_file, first.loop, use, shown_by, first.path, others)

    def _forward_in(self, file: File, loop: LoopNode, batches: Batches) -> Iterator[Invocation]:
        """The forward passes of a loop's data, and after these what other models its iterations run, as on noise.

        Those on noise also where each iteration is a training step of Keras: a generator before `train_on_batch`.
        """
        besides, is_found = list[Invocation](), self._trains_on_batches(file, loop)
        for run in filter(_may_be_forward, self.invocations.eager(file, loop, batches)):
            if not self._gets_data(run, file, loop, batches):
                besides.append(run)
            elif self._is_forward(run, file, loop) and self._counts(run, file, loop, batches):
                is_found = True
                yield run
        for run in besides if is_found else ():
            if isinstance(run.file.tree.parents.get(run.call), cst.Expr) or not is_once_in_iteration(run):
                continue
            if self._is_forward(run, file, loop) and self._counts(run, file, loop, batches):
                yield run

    def _trains_on_batches(self, file: File, loop: LoopNode) -> bool:
        return any(
            method_name(call) == "train_on_batch"
            and isinstance(call.func, cst.Attribute)
            and self.kinds.has_method(file, call.func)
            for call in file.calls_below.get(loop, ())
        )

    def _counts(self, run: Invocation, file: File, loop: LoopNode, batches: Batches) -> bool:
        """Whether a model runs eagerly for results that somebody waits for, and not as a part of a training step."""
        if not self.loops.is_eager(run) or (not batches.is_certain and self.steps.are_prepared_by(file, loop)):
            return False
        return not self.try_outs.is_untrained(RunSite(file, loop), run.file, called_model(run.call), run.context)

    def may_run_model(self, file: File, loop: LoopNode) -> bool:
        """Whether something that a loop calls may be a model, or a function that calls one."""
        return any(
            (
                argument(call, -1, "training") is not None
                or self.inference.handing(file, call) is not None
                or self.inference.may_be_called(file, called_model(call))
            )
            and not (
                isinstance(call.func, cst.Name)
                and hasattr(builtins, call.func.value)
                and call.func.value not in self.inference.library.running
            )
            for call in file.calls_below.get(loop, ())
        )

    def _is_part_of_model(self, file: File, loop: LoopNode, batches: Batches) -> bool:
        """Whether a loop in a method of a layer or model goes through its parts, and runs where its `call` does."""
        function = file.tree.function(loop)
        owner = file.tree.class_of(function) if function is not None else None
        if owner is None or not isinstance(function, cst.FunctionDef):
            return False
        if function.name.value in ("call", "__call__"):
            return True
        return not batches.is_certain and bool(self.kinds.of_class(Class(file, owner)))

    def trains_eagerly(self, file: File, loop: LoopNode) -> bool:
        """Whether the loop itself runs a training step eagerly: that is the other finding."""
        if not self.training.takes_gradients(file, loop):
            return False
        return any(step.loop is loop or file.tree.within(step.loop, loop) for step in self.steps.eager)

    def _gets_data(self, run: Invocation, file: File, loop: LoopNode, batches: Batches) -> bool:
        """Whether a call gets a batch that the loop yields, or in a loop over batches one of another dataset."""
        here = Batches(run.names, True, batches.sources)
        if not any(self.data.holds(run.file, here, arg.value) for arg in run.call.args):
            return batches.is_certain and self._gets_other_data(run)
        given = run.call.args[0].value
        return (
            batches.is_certain or bool(run.path) or given in batches.sources or self.data.is_direct(file, loop, given)
        )

    def _gets_other_data(self, run: Invocation) -> bool:
        """Whether a call gets an element of some dataset: what the loop before this one left in its variable."""
        given = run.call.args[0].value if run.call.args else None
        return given is not None and self.inference.must_be(
            run.file, given, self.data.pipelines.must_yield, run.context
        )

    def _is_forward(self, run: Invocation, file: File, loop: LoopNode) -> bool:
        """Whether a call runs a model forward, and so in each iteration."""
        if not self.is_model_call(run) or self._is_of_a_row(run, file, loop):
            return False
        if any(is_occasional(where, node, loop) for where, node in run.places):
            return False
        return not self.construction.is_symbolic(run, run.call.args[0].value)

    def _is_of_a_row(self, run: Invocation, file: File, loop: LoopNode) -> bool:
        """Whether a function that the loop calls gets a row, and not a batch that happens to have one."""
        if not run.path or not self.rows.is_single(run.file, run.call.args[0].value, run.context):
            return False
        data = iterable(loop)
        chains = self.data.pipelines.iterated(file, data) if data is not None else ()
        return not any(chain.batching is not None for chain in chains)

    def is_model_call(self, run: Invocation) -> bool:
        """Whether a call runs a model forward, and nothing but that: no gradients are taken, nothing traces it."""
        if self.runtime.is_graph_code(run.file, run.call) or not self._is_callable_model(run):
            return False
        if any(self.training.is_under_tape(file, place) for file, place in run.places) or self._refreshes(run):
            return False
        return not self._forward_is_traced(run) and not self._takes_gradients_itself(run)

    def _is_callable_model(self, run: Invocation) -> bool:
        func = called_model(run.call)
        if not _may_be_model(run.file, func):
            return False
        if self.kinds.is_model(run.file, func, run.context):
            return not self.inference.must_be(run.file, func, self._is_little, run.context)
        return self.inference.must_be(run.file, func, self._is_network, run.context)

    def _is_little(self, origin: Origin) -> bool:
        """Whether a model of the project has no weights, and calls a few operations: it draws an action, say."""
        cls = self.inference.instance_class(origin)
        method = self.invocations.forward_of(cls) if cls is not None else None
        if cls is None or method is None or not method.calls:
            return False
        return self._starts_little(cls) and not self.kinds.holds_variables(cls)

    def _is_network(self, origin: Origin) -> bool:
        """A model, a tf.Module with variables or layers, a class with both by itself, or a layer of the project."""
        kind, cls = self.kinds.of(origin), self.inference.instance_class(origin)
        if kind == "module" or (kind is None and cls is not None and self._is_plain(cls)):
            is_whole = (origin.made_by or "").startswith(("sonnet.nets.", "sonnet.Sequential"))
            return is_whole if cls is None else self.kinds.holds_variables(cls) and not self._starts_little(cls)
        return kind == "model" or (kind == "layer" and cls is not None)

    def _is_plain(self, cls: Class) -> bool:
        """Whether a class is wholly the project's own, and its instances can be called."""
        definitions = self.inference.definitions
        return definitions.method(cls, "__call__") is not None and definitions.is_plain(cls)

    def _starts_little(self, cls: Class) -> bool:
        """Whether a forward pass is a few operations, and nothing else: to call a traced function takes as long."""
        method = self.invocations.forward_of(cls)
        if method is None:
            return False
        parts = list(walk(method.node.body))
        calls = [part for part in parts if isinstance(part, cst.Call)]
        if any(isinstance(part, cst.For | cst.While | cst.BaseComp) for part in parts) or not all(
            returns_tensor(method.file.name(call.func)) for call in calls
        ):
            return False
        return len(calls) + sum(isinstance(part, cst.BinaryOperation) for part in parts) <= _LITTLE

    def _refreshes(self, run: Invocation) -> bool:
        """`model(x, training=True)` whose result nobody reads: it refreshes the averages of batch normalisation."""
        training = argument(run.call, -1, "training")
        discarded = isinstance(run.file.tree.parents.get(run.call), cst.Expr)
        return discarded and training is not None and self.constants.of(run.file, training) is True

    def _method_of(self, run: Invocation) -> Function | None:
        """The `call` that runs."""
        for origin in self.inference.of(run.file, called_model(run.call), run.context):
            cls = self.inference.instance_class(origin)
            if cls is not None:
                return self.invocations.forward_of(cls)
        return None

    def _forward_is_traced(self, run: Invocation) -> bool:
        """Whether the model's own `call` is under tf.function, or only hands on to what is, as Keras's `predict`."""
        if run.file.tree.attributes_set("call", "__call__"):
            return True
        models = self.inference.of(run.file, called_model(run.call), run.context)
        revived = [self._is_revived(origin) for origin in models]
        if any(map(self._holds_loaded, models)) or (all(revived) if self.is_keras_3 else any(revived)):
            return True  # with Keras 3 `load_model` refuses the folder, so that the others are left
        method = self._method_of(run)
        if method is None:
            return False
        if self.tracing.is_wrapped(method.file, method.node) or self.inference.definitions.decorators.may_replace(
            method.file, method.node
        ):
            return True
        callees = list[Function]()
        for call in method.calls:
            run_by_it = self.inference.callees(method.file, call)
            if not run_by_it and method_name(call) in FORWARD_METHODS:
                return True
            callees += (callee.function for callee in run_by_it)
        return any(callee.node in self.tracing.wrapped(callee.file) for callee in callees)

    def _holds_loaded(self, origin: Origin) -> bool:
        """`Sequential([hub.KerasLayer(...)])`: what is loaded is traced already."""
        call = origin.call
        file = origin.file
        return call is not None and any(file.tree.within(loaded, call) for loaded in file.calls("tensorflow_hub.*"))

    def _is_revived(self, origin: Origin) -> bool:
        """Whether a model comes out of the folder of a SavedModel, which Keras 2 reads.

        Of a class of the program's own it has what was traced when it was saved, unless that class is handed over.
        """
        call = origin.call
        if call is None or origin.made_by not in _RESTORERS or argument(call, 1, "custom_objects") is not None:
            return False
        ending = self.constants.ending(origin.file, argument(call, 0, "filepath"), origin.context)
        return bool(ending) and not ending.endswith(_MODEL_FILES)

    def _takes_gradients_itself(self, run: Invocation) -> bool:
        method = self._method_of(run)
        return method is not None and self.training.takes_gradients(method.file, method.node)

    def _use(self, run: Invocation) -> str:
        """What becomes of the outputs: they go into metrics, are collected, or something else."""
        file = run.file
        region: Node | None = next(loops_around(file, run.call), file.tree.function(run.call))
        calls = file.calls_below.get(region, ()) if region is not None else file.calls_in.get(None, ())
        if not self.kinds.is_model(file, called_model(run.call), run.context):
            return "other"
        if any(isinstance(parent, cst.ListComp) for parent in file.tree.ancestors(run.call)):
            return "outputs"
        if any(method_name(c) in _METRIC_METHODS or self.kinds.must_be(file, c.func, "metric", "loss") for c in calls):
            return "metrics"
        return "outputs" if any(method_name(c) in ("append", "extend") for c in calls) else "other"

    def shown_by(self, run: Invocation) -> Node | None:
        """The place that shows that what is called is a model, where only its use does."""
        func = called_model(run.call)
        if self.kinds.must_be(run.file, func, "model", "module", context=run.context):
            return None
        usage = self.kinds.usage(run.file, func, "model")
        return usage.node if usage is not None and usage.node is not run.call else None


def _may_be_forward(run: Invocation) -> bool:
    """Whether a call may run a model forward, by how it is written."""
    call = run.call
    return bool(call.args) and isinstance(call.func, _CALLED) and _may_be_model(run.file, called_model(call))


def _may_be_model(file: File, func: Expression) -> bool:
    """Whether what is called may be a model: not a library's function, nor `Layer(...)(x)`, which builds one."""
    return not isinstance(func, cst.Call) and not is_library(file.name(func))


def called_model(call: cst.Call) -> Expression:
    """What would be called for a model to run as it does in a call: `net` of `net(x)` and of `net.call(x)`."""
    func = call.func
    return func.value if isinstance(func, cst.Attribute) and func.attr.value in ("call", "__call__") else func
