"""TFG201 batch-size-one."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import libcst as cst

from tflint_gpu.lazy_dataclasses import dataclass
from tflint_gpu.model import (
    Consumers,
    Invocation,
    Invocations,
    IterationFlow,
    Kinds,
    Pipelines,
    Repetitions,
    Rows,
    RunSite,
    Runtime,
    Training,
    argument,
    is_drawn,
    loops_around,
    method_name,
    names_in,
    operation_named,
    ways,
)
from tflint_gpu.model.library.keras_methods import FITTING_METHODS
from tflint_gpu.rule import (
    Change,
    Edit,
    Experiment,
    Finding,
    Fix,
    NoExperiment,
    Note,
    Prediction,
    Rule,
    Workload,
    measured_loop,
    wrap,
)

if TYPE_CHECKING:
    from tflint_gpu.model import Consumption, Context, File, Model, Operation

_USUAL = 32
_PREDICTION = Prediction(
    "slowdown",
    ("training",),
    low=4.5,
    high=31.0,
    basis="an epoch of small networks with batches of 1 and of 32, on a CPU with TensorFlow 2.15 and 2.21",
)


class BatchSizeOne(Rule):
    """Training runs with batches of a single sample.

    Why: every training step has a fixed cost (the Python call, launching each operation, updating the weights) that
    does not depend on how many samples it handles. With a batch of one, each sample pays the whole cost, and a GPU
    computes a single row at a time. A larger batch also changes how the model learns, so the learning rate may have to
    change too: the rule is about speed only.

    Reported:
    - a batch size of one in training
    - where a call passes the size to a function or a `Sequence` of the project: that call

    Not reported:
    - a size that no call sets, or that comes from the command line
    - prediction and evaluation
    - a stateful RNN
    - a `take` of a few samples, or of a number that does not depend on the size of the dataset

    Measured: {evidence}

    Fix: unsafe: another batch size trains a different model, and the learning rate may have to change too.

    Example:
        import tensorflow as tf

        model = tf.keras.Sequential([tf.keras.layers.Dense(1)])
        model.compile(loss="mse")
        model.fit(x, y, batch_size=1)

    Use instead:
        import tensorflow as tf

        model = tf.keras.Sequential([tf.keras.layers.Dense(1)])
        model.compile(loss="mse")
        model.fit(x, y, batch_size=32)
    """

    code = "TFG201"
    name = "batch-size-one"
    required_substrings = ((b"fit", b"for ", b"while ", b"rain"),)
    nearby_substrings = (b"fit", b"GradientTape", b"train_on_batch", b"apply_gradients")
    fixable = "unsafe"
    skips_tests = True
    skips_other_backends = True

    def check(self, model: Model) -> Iterator[Finding]:
        """Yield the arguments that make training batches of one."""
        for case in _cases(model):
            notes = [Note(*place, text) for place, text in case.notes]
            yield Finding(
                case.file,
                case.node,
                f"{case.text}: every sample pays the fixed cost of a step",
                _PREDICTION,
                help=f"put more samples in a batch, for example {_USUAL}; the learning rate may have to change too",
                notes=tuple(notes),
                fix=_fix(case),
                subject=case,
            )

    def experiments(self, finding: Finding, model: Model) -> Iterator[Experiment]:
        """The user's training with batches of one and of the suggested size, in seconds per sample."""
        case = finding.subject_as(_Case)
        if not case.larger:
            raise NoExperiment("the program has to be rewritten for larger batches")
        consumer_file, consumer = case.consumer or (model.file, case.call)
        flaw, repair = (_measured(model, consumer_file, consumer, samples) for samples in (1, _USUAL))
        larger = Change(case.file, case.size, case.larger)
        yield Experiment(
            consumer_file,
            consumer,
            flaw=flaw,
            repair=(*repair, larger),
            patch=(larger,),
            same_outputs=False,
            unit="seconds per sample",
            workload=_WORKLOAD,
        )


@dataclass(frozen=True, slots=True)
class _Case:
    """A batch size of one.

    Arguments:
        node: what the finding points at; text: what it says of it.
        call: the call that gets the size; size: the part of it to replace by `larger`, empty where that is not enough.
        consumer: the training that gets the batches, where that is not `call`.
        batching: what makes the batches, where the size is handed to it.
    """

    file: File
    node: cst.CSTNode
    text: str
    call: cst.Call
    size: cst.CSTNode
    larger: str
    consumer: tuple[File, cst.CSTNode] | None = None
    batching: tuple[File, cst.CSTNode] | None = None

    @property
    def notes(self) -> Iterator[tuple[tuple[File, cst.CSTNode], str]]:
        """The other places, and what is said of them."""
        if self.batching is not None:
            yield self.batching, "this makes the batches"
        if self.consumer is not None:
            yield self.consumer, "this training consumes it"


def _fix(case: _Case) -> Fix | None:
    """A usual size, where a number in the same file says it."""
    if not isinstance(case.size, cst.Integer):
        return None
    return Fix(f"Put {_USUAL} samples in a batch", "unsafe", (Edit(case.size, case.larger),)) if case.larger else None


_AS_ARGUMENT = "training with `batch_size=1`"
_WORKLOAD = Workload(
    before="""
        import numpy as np
        import tensorflow as tf

        features, labels = np.random.rand(1024, 20).astype("float32"), np.random.rand(1024, 1).astype("float32")
        model = tf.keras.Sequential([tf.keras.layers.Dense(32, activation="relu"), tf.keras.layers.Dense(1)])
        model.compile(optimizer="sgd", loss="mse")
        tflint_measure.fit(model.fit, samples=1)(features, labels, batch_size=1)
    """,
    changes=(("samples=1", f"samples={_USUAL}"), ("batch_size=1", f"batch_size={_USUAL}")),
)


def _cases(model: Model) -> Iterator[_Case]:
    yield from _fit_arguments(model)
    yield from _pipelines(model)
    yield from _single_rows(model)


def _fit_arguments(model: Model) -> Iterator[_Case]:
    for call in model.method_calls("fit"):
        source = model.constants.keyword_source(model.file, call, "batch_size")
        value: cst.BaseExpression | None = source.value if source is not None else argument(call, 2, "batch_size")
        by_name = source is not None
        size = model.constants.keyword(model.file, call, "batch_size") if by_name else model.value(value)
        if value is None or type(size) is not int or size != 1:
            continue
        receiver = model.once(Kinds).receiver(model.file, call, "fit")
        if receiver is None or model.once(Kinds).is_stateful(model.file, receiver) or _is_dataset(model, call):
            continue
        if _is_agent(model, model.file, call):
            continue
        larger = str(_USUAL)
        if source is not None and source.star:
            larger = f'{{**{model.file.code(value)}, "batch_size": {_USUAL}}}'
        yield _Case(model.file, source if source is not None else value, _AS_ARGUMENT, call, value, larger)


def _pipelines(model: Model) -> Iterator[_Case]:
    for item in model.once(Consumers).trainings if model.once(Consumers).may_batch_one else ():
        if item.chain.is_short or _trains_stateful(model, item):
            continue
        batchings = item.chain.batchings
        if any(operation.batch_size != 1 for operation in batchings):
            continue
        for operation in batchings:
            yield from _batching(model, operation, (item.file, item.node))


def _batching(model: Model, operation: Operation, consumer: tuple[File, cst.CSTNode]) -> Iterator[_Case]:
    size = operation.given_batch_size
    if size is None:
        return
    handed = list(_handed(model, operation, size))
    for file, call, literal in handed:
        text = "this call makes training batches of a single element"
        yield _Case(file, call.func, text, call, literal, str(_USUAL), consumer, (operation.file, operation.place))
    if handed:
        return
    text = f"`{operation.name}` makes training batches of a single element"
    node, text = (operation.place, text) if operation.loader is None else (size, _AS_ARGUMENT)
    yield _Case(operation.file, node, text, operation.call, size, str(_USUAL), consumer)


def _handed(
    model: Model, operation: Operation, size: cst.BaseExpression
) -> Iterator[tuple[File, cst.Call, cst.Integer]]:
    """The calls of the project's functions that hand the size to where the batches are made, with the number."""
    for origin in model.inference.of(operation.file, size, operation.context):
        file, number = origin.file, origin.node
        arg = file.tree.parents.get(number)
        call = file.tree.parents.get(arg) if isinstance(arg, cst.Arg) else None
        if isinstance(number, cst.Integer) and isinstance(call, cst.Call) and _is_own(model, file, call):
            yield file, call, number


def _is_own(model: Model, file: File, call: cst.Call) -> bool:
    return bool(model.inference.callees(file, call)) or model.inference.class_called(file, call) is not None


def _single_rows(model: Model) -> Iterator[_Case]:
    """Training on one row at a time: `train_on_batch(x[i:i + 1], ...)` in a loop, `fit` on a generator of such.

    `fit` on one row in a loop counts where the loop goes over rows that are there: others come one after the other.
    """
    for file, call, context in _trainings(model):
        method = method_name(call)
        data = argument(call, 0, "generator" if method == "fit_generator" else "x")
        if data is None or not isinstance(call.func, cst.Attribute):
            continue
        if not model.once(Kinds).has_method(file, call.func, context):
            continue
        if _is_agent(model, file, call):
            continue
        by_iteration = _names_iteration(file, call, data) if method == "fit" else _is_repeated(model, file, call)
        if method != "fit_generator" and by_iteration and model.once(Rows).is_single(file, data, context):
            text = f"`{method}` gets one row in every iteration of a loop"
            yield _Case(file, data, text, call, data, "")
        elif method == "train_on_batch":
            continue
        elif (loader := model.once(Rows).size_of_one(file, data, context)) is not None:
            yield _Case(loader[0], loader[2], _AS_ARGUMENT, loader[1], loader[2], str(_USUAL), (file, call))
        elif file is model.file and model.once(Rows).yields_single(file, data):
            text = f"`{method}` gets a generator whose batches have one row"
            yield _Case(file, data, text, call, data, "")


def _trainings(model: Model) -> Iterator[tuple[File, cst.Call, Context | None]]:
    """The calls that train: those of this file, and those of others that loops of it lead to, or fill the data of."""
    yield from ((model.file, call, None) for call in model.method_calls(*FITTING_METHODS))
    runs: list[Invocation] = []
    if model.file.tree.all_loops:
        runs += model.once(Repetitions).of_methods(*FITTING_METHODS)
    if any(model.once(Rows).size_of_one(model.file, call) for call in model.file.tree.calls if _gives_one(call)):
        runs += (r for r in model.once(Invocations).of_program(frozenset()) if method_name(r.call) in FITTING_METHODS)
    calls = {run.call: run for run in runs if run.file is not model.file}
    yield from ((run.file, run.call, run.context) for run in calls.values())


def _gives_one(call: cst.Call) -> bool:
    return any(isinstance(arg.value, cst.Integer) and arg.value.value == "1" for arg in call.args)


def _names_iteration(file: File, call: cst.Call, data: cst.BaseExpression) -> bool:
    """Whether what a call gets is made of a variable of the innermost `for` around it, or of a number drawn there.

    What other code makes of these may not be there before: `env.step(turn)`.
    """
    loop = next(loops_around(file, call), None)
    if not isinstance(loop, cst.For):
        return False
    elements = (use for name in names_in(loop.target) for use in file.tree.uses.get(name, ()))
    calls = file.calls_below.get(loop, ())
    drawn = (inner for inner in calls if is_drawn(file, inner, lambda arg: True))
    others = (c for c in calls if not operation_named(file.name(c.func) or f"numpy.{method_name(c)}").shape)
    return IterationFlow(file, loop, frozenset([*elements, *drawn]), frozenset(others)).holds(data)


def _is_repeated(model: Model, file: File, call: cst.Call) -> bool:
    """Whether a loop runs a call, itself or by what it calls."""
    return any(any(site.loops()) for site in ways(model.inference, RunSite(file, call)))


def _is_agent(model: Model, file: File, call: cst.Call) -> bool:
    """Whether a program for TensorFlow 1 trains on single samples repeatedly: an agent on each transition it makes."""
    return model.once(Runtime).is_graph_code(file, call) and _is_repeated(model, file, call)


def _trains_stateful(model: Model, item: Consumption) -> bool:
    """Whether a stateful RNN is trained, whose batch size is part of its shape."""
    if isinstance(item.node, cst.Call) and isinstance(item.node.func, cst.Attribute) and item.loop is None:
        return model.once(Kinds).is_stateful(item.file, item.node.func.value)
    loop, kinds = item.loop, model.once(Kinds)
    if loop is None:
        return False
    called = (call.func for call in loop.file.calls_below.get(loop.node, ()))
    return any(kinds.is_model(loop.file, func) and kinds.is_stateful(loop.file, func) for func in called)


def _measured(model: Model, file: File, consumer: cst.CSTNode, samples: int) -> tuple[Change, ...]:
    """Time a training per sample: a call of `fit`, or the loop that takes the batches."""
    if isinstance(consumer, cst.Call) and method_name(consumer) == "fit":
        return wrap(file, consumer.func, "fit", f"samples={samples}")
    loop = model.once(Training).loop_of(file, consumer)
    if loop is None:
        raise NoExperiment("training is neither a call of `fit` nor a loop over the batches")
    return measured_loop(model, loop.file, loop.loop, samples, reads=True)


def _is_dataset(model: Model, call: cst.Call) -> bool:
    """`fit(dataset, batch_size=1)`: Keras ignores the size there, so it makes no batch of one."""
    data = argument(call, 0, "x")
    return data is not None and model.once(Pipelines).is_dataset(model.file, data)
