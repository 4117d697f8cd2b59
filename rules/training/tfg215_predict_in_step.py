"""TFG215 predict-in-step."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

import libcst as cst

from tflint_gpu.model import (
    Batches,
    EagerLoops,
    ExecutionContexts,
    Guards,
    Invocation,
    Invocations,
    Kinds,
    LoopData,
    Repetitions,
    Rows,
    Training,
    argument,
    handed_down,
    method_name,
    names_of,
    walk,
)
from tflint_gpu.model.library.keras_methods import BATCH_METHODS
from tflint_gpu.rule import (
    Change,
    Edit,
    Experiment,
    Finding,
    Fix,
    Note,
    Prediction,
    Rule,
    Workload,
    given_otherwise,
    measured_loop,
    notes_on,
    offered,
    predict_on_batch,
)

from .drawn_batches import in_steps_by_fit, is_drawn, is_one_batch
from .step_sizes import is_mostly_fixed, of_forward_pass

if TYPE_CHECKING:
    from tflint_gpu.model import Blocker, Expression, Model


_SUBSTRINGS = (b".predict(", b".evaluate(")


class PredictInStep(Rule):
    """`predict`, `evaluate` or `fit` runs on one batch, in a training step or in a loop over batches.

    Why: each call of `predict` makes a dataset from its argument, an iterator, callbacks and a progress bar, and runs
    an epoch of one step. `predict_on_batch` runs the same traced function on the array as it is, and so does a call of
    the model under `@tf.function`. `fit` sets up an epoch in the same way for a single batch, such as one that an agent
    draws from its memory; `train_on_batch` does not. If a loop iterates over all batches of a dataset, or slices them
    from an array, one `predict` or `evaluate` of the whole dataset or array replaces all calls.

    Reported:
    - a `predict` or `evaluate` of one batch in each training step, or in a loop over the batches of a dataset or an
      array
    - a `fit` of one batch that the step draws

    Not reported:
    - single rows, which TFG201 and TFG206 report
    - calls under a condition that changes, except for steps that a loop takes every few iterations
    - a call on the same data in all iterations
    - loops of epochs
    - a `fit` of more rows than its `batch_size`
    - rows that the loop's data gives together with a `batch_size` for them
    - slices whose computation takes longer than the overhead of the call: if the code shows the network, its
      multiply-adds decide; otherwise slices of more than four batches are not reported
    - methods with these names of other classes

    Measured: {evidence}

    Fix: unsafe: no progress bar is shown. There is no fix for a `fit` whose result is used. There is no fix for
    `evaluate`, which resets its metrics; `test_on_batch` does not.

    Example:
        import numpy as np
        from tensorflow import keras

        generator = keras.models.load_model("generator.keras")
        critic = keras.models.load_model("critic.keras")
        for step in range(10_000):
            noise = np.random.normal(size=(64, 100))
            images = generator.predict(noise)
            critic.train_on_batch(images, np.zeros(64))

    Use instead:
        import numpy as np
        from tensorflow import keras

        generator = keras.models.load_model("generator.keras")
        critic = keras.models.load_model("critic.keras")
        for step in range(10_000):
            noise = np.random.normal(size=(64, 100))
            images = generator.predict_on_batch(noise)
            critic.train_on_batch(images, np.zeros(64))
    """

    code = "TFG215"
    name = "predict-in-step"
    least_tensorflow = (2, 0)
    nearby_substrings = (*_SUBSTRINGS, b".fit(")
    fixable = "unsafe"
    skips_tests = True
    skips_graphs = True
    skips_other_backends = True

    def check(self, model: Model) -> Iterator[Finding]:
        """Yield the calls that predict or evaluate one batch in every iteration."""
        loops = model.once(ExecutionContexts)
        for call in _calls(model):
            assert isinstance(call.call.func, cst.Attribute)
            trains = is_drawn(model, call.file, call.call) or model.once(Training).takes_gradients(
                call.root_file, call.loop
            )
            where = "every training step" if trains else "every iteration of a loop"
            method, of_batch = call.call.func.attr.value, BATCH_METHODS[call.call.func.attr.value]
            part = "batch" if model.once(LoopData).slice_size(call.root_file, call.loop) is None else "slice"
            fix, withheld = offered(_fix(model, call))
            yield Finding(
                call.file,
                call.call.func.attr,
                f"`{method}` runs on one {part} in {where}: each call sets up a new epoch",
                of_forward_pass(model, _PREDICTION, call.file, call.call, (call.root_file, call.loop), way="predict"),
                help=_help(model, call, method, of_batch),
                notes=(
                    Note(call.root_file, call.loop, f"{loops.of_loop(call.root_file, call.loop).text} that repeats it"),
                    *notes_on(call.path),
                    *withheld,
                ),
                fix=fix,
                subject=call,
            )

    def experiments(self, finding: Finding, model: Model) -> Iterator[Experiment]:
        """The user's loop: with the method as it is, and with the one for a batch."""
        call = finding.subject_as(Invocation)
        probes = measured_loop(model, call.root_file, call.loop)
        repair = (Change(call.file, call.call, _on_batch(call)),)
        yield Experiment(call.root_file, call.loop, probes, repair=repair, workload=_WORKLOAD)


def _calls(model: Model) -> Iterator[Invocation]:
    seen = set()
    repeated = model.once(Repetitions).all_of_methods(*_METHODS)
    for call in (
        *_in_training_steps(model, repeated),
        *in_steps_by_fit(model, repeated),
        *_in_loops_over_batches(model),
    ):
        if call.call not in seen and _is_keras(model, call) and _is_in_each(model, call):
            seen.add(call.call)
            yield call


def _is_in_each(model: Model, call: Invocation) -> bool:
    """Whether each iteration runs a call, or each training step where the function that holds it is one."""
    repetitions = model.once(Repetitions)
    of_step = repetitions.of_its_function(call) if _is_in_function_of_step(model, call) else None
    return not repetitions.is_occasional(of_step or call) and not repetitions.is_conditional(of_step or call)


def _is_in_function_of_step(model: Model, call: Invocation) -> bool:
    file = call.file
    function = file.tree.function(call.call) if call.path else None
    return function is not None and (
        model.once(Training).takes_gradients(file, function)
        or any(is_drawn(model, file, fit) for fit in file.method_calls("fit") if file.tree.function(fit) is function)
    )


def _in_training_steps(model: Model, repeated: Sequence[Invocation]) -> Iterator[Invocation]:
    """The calls in loops whose iterations are steps of training, on data that each of them makes."""
    repetitions = model.once(Repetitions)
    for call in repeated:
        data = argument(call.call, 0, "x")
        if data is None or not repetitions.runs_step(call):
            continue
        given = [data] if not call.path else call.given
        if repetitions.varies(call, given) or _is_made_on_the_way(model, call, data):
            yield call


def _is_made_on_the_way(model: Model, call: Invocation, data: Expression) -> bool:
    """Whether a function that the loop calls makes the data itself: a sample of what an agent remembers."""
    path, file, made = handed_down(model.inference, call.path, call.file, data)
    function = file.tree.function(made) if path else None
    return function is not None and any(
        binding.kind in ("assign", "for") and file.tree.function(binding.node) is function
        for node in walk(made)
        if isinstance(node, cst.Name)
        for binding in file.flow.lookup(node.value, node)
    )


def _in_loops_over_batches(model: Model) -> Iterator[Invocation]:
    """The calls that get what a loop over a dataset or over the project's own batches yields."""
    loops, data = model.once(EagerLoops), model.once(LoopData)
    for file, loop in model.once(Repetitions).loops(_SUBSTRINGS):
        batches = data.batches(file, loop)
        if batches is None or not (batches.is_certain or batches.sources) or loops.is_no_place(file, loop):
            continue
        for call in model.once(Invocations).eager(file, loop, batches, _SUBSTRINGS):
            given = argument(call.call, 0, "x") if method_name(call.call) in _METHODS else None
            if given is None or not data.holds(call.file, Batches(call.names, True, batches.sources), given):
                continue
            if _gets_batch_size(call) if batches.is_certain else not _is_small_slice(model, call):
                continue
            yield call


def _gets_batch_size(call: Invocation) -> bool:
    """Whether a loop gives a `batch_size` beside the rows, which are more than one batch then."""
    at_once = argument(call.call, -1, "batch_size")
    return isinstance(at_once, cst.Name) and not call.path and at_once.value in names_of(call.loop)


def _is_small_slice(model: Model, call: Invocation) -> bool:
    """Whether a loop over `range(0, n, size)` takes so few rows each time that they are little work.

    Of a network that the code does not show, that is what the method runs in a few batches.
    """
    size, at_once = model.once(LoopData).slice_size(call.root_file, call.loop), argument(call.call, -1, "batch_size")
    if size is None:
        return False
    if is_one_batch(model, call, (call.root_file, size), at_once, batches=_FEW_BATCHES):
        return True
    rows = model.constants.of(call.root_file, size)
    return isinstance(rows, int) and is_mostly_fixed(model, call.file, call.call, rows)


def _is_keras(model: Model, call: Invocation) -> bool:
    """Whether the method is Keras's own, of a batch of several rows, and its call no debugging."""
    data, receiver = argument(call.call, 0, "x"), call.call.func
    if data is None or not isinstance(receiver, cst.Attribute):
        return False
    if not model.once(Kinds).has_method(call.file, receiver, call.context):
        return False
    if model.once(Rows).is_single_prediction(call.file, call.call, call.context):
        return False
    return not model.inference.callees(call.file, call.call, call.context) and not model.once(Guards).is_for_debugging(
        call.file, call.call
    )


def _help(model: Model, call: Invocation, method: str, of_batch: str) -> str:
    batches, size = (
        model.once(LoopData).batches(call.root_file, call.loop),
        model.once(LoopData).slice_size(call.root_file, call.loop),
    )
    if size is not None and not call.path:
        rows = call.root_file.code(size)
        once = f"one `{method}` of all rows with `batch_size={rows}` replaces all calls"
        return f"{once}; for single slices use `{of_batch}`"
    if batches is not None and batches.is_certain and not call.path:
        return f"one `{method}` of the whole dataset runs all batches; for single ones use `{of_batch}`"
    return f"use `{of_batch}`, or call the model in a function under `@tf.function`"


def _on_batch(call: Invocation) -> str:
    func = call.call.func
    assert isinstance(func, cst.Attribute)
    method, args = method_name(call.call), call.call.args
    kept = [arg for arg in args[: 1 if method == "predict" else 2] if arg.keyword is None]
    kept += [arg for arg in args if arg.keyword is not None and arg.keyword.value in ("x", "y", "sample_weight")]
    given = ", ".join(call.file.code(arg).rstrip(", ") for arg in kept)
    return f"{call.file.code(func.value)}.{BATCH_METHODS[func.attr.value]}({given})"


def _fix(model: Model, call: Invocation) -> Fix | Blocker | None:
    """The method for one batch. `evaluate` starts its metrics again, which `test_on_batch` does not: no fix."""
    if (blocker := given_otherwise(model, call.file, call.call)) is not None:
        return blocker
    if method_name(call.call) == "fit" and isinstance(call.file.tree.parents[call.call], cst.Expr):
        return Fix("Call `train_on_batch`", "unsafe", (Edit(call.call, _on_batch(call)),))
    return predict_on_batch(call.file, call.call) if method_name(call.call) == "predict" else None


_METHODS = ("predict", "evaluate")
_FEW_BATCHES = 4
_PREDICTION = Prediction(
    "slowdown",
    ("inference",),
    low=1.5,
    high=100.0,
    basis="small dense networks on a CPU, `predict` against `predict_on_batch`; less for large networks",
)
_WORKLOAD = Workload(
    before="""
        import tensorflow as tf

        model = tf.keras.Sequential([*(tf.keras.layers.Dense(64, activation="relu") for _ in range(4))])
        batches = [tf.random.normal((32, 20)).numpy() for _ in range(8)]

        for batch in tflint_measure.steps(batches):
            model.predict(batch, verbose=0)
    """,
    changes=(("model.predict(batch, verbose=0)", "model.predict_on_batch(batch)"),),
)
