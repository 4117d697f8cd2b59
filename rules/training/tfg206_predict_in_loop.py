"""TFG206 predict-in-loop."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

import libcst as cst

from tflint_gpu.model import (
    TIMERS,
    ExecutionContexts,
    Guards,
    Invocation,
    Kinds,
    Repetitions,
    Rows,
    Training,
    argument,
    call_outline,
    changed_in,
    dotted_name,
    names_of,
    predicts_again,
    walk,
)
from tflint_gpu.rule import (
    HARNESS,
    Change,
    Experiment,
    Finding,
    NoExperiment,
    Note,
    Prediction,
    Rule,
    Workload,
    measured_loop,
)

if TYPE_CHECKING:
    from tflint_gpu.model import Invocation, Model

_GRAPHS = re.compile(r"adj|laplac|graph|edges?(_|$)", re.IGNORECASE)
_PREDICTION = Prediction(
    "slowdown",
    ("inference",),
    low=1.1,
    high=800.0,
    basis="small dense networks, against one `predict` or the model under `tf.function`, on a CPU; less if large",
)


class PredictInLoop(Rule):
    """`predict` runs in a loop, each time on a single row.

    Why: a call of `predict` builds a data pipeline, sets up callbacks and starts an epoch before the model runs once.
    That cost does not depend on the number of rows, so on single rows it is nearly all of the time, and a GPU sees one
    row at a time. One `predict` for all rows pays it once. Where a row depends on the answer before it (an agent that
    acts, text written token by token, frames of a camera), a function under `@tf.function` that calls the model has no
    such cost. Not reported: loops of at most five iterations, larger batches, a sample that a training loop shows after
    an epoch, loops that wait for requests, and the `predict` of other classes.

    Measured: {evidence}

    Example:
        import numpy as np
        from tensorflow import keras

        model = keras.models.load_model("scores.keras")
        scores = [model.predict(np.expand_dims(image, 0))[0] for image in images]

    Use instead:
        import numpy as np
        from tensorflow import keras

        model = keras.models.load_model("scores.keras")
        scores = model.predict(np.stack(images))
    """

    code = "TFG206"
    name = "predict-in-loop"
    least_tensorflow = (2, 0)
    nearby_substrings = (b".predict(",)
    prefilters = (predicts_again,)
    skips_tests = True
    skips_graphs = True
    skips_other_backends = True

    def check(self, model: Model) -> Iterator[Finding]:
        """Yield the calls of Keras's `predict` that a loop runs on one row each."""
        loops = model.once(ExecutionContexts)
        for invocation in model.once(Repetitions).of_methods("predict"):
            if not _is_prediction_of_a_row(model, invocation) or _is_meant(model, invocation):
                continue
            assert isinstance(invocation.call.func, cst.Attribute)
            loop = loops.of_loop(invocation.root_file, invocation.loop)
            yield Finding(
                invocation.file,
                invocation.call.func.attr,
                "`predict` runs on a single row in every iteration of a loop: every row pays the fixed cost of a call",
                _PREDICTION,
                help=_help(model, invocation),
                notes=(
                    Note(loop.file, loop.loop, f"{loop.text} that repeats it"),
                    *(Note(step.file, step.node, step.text) for step in invocation.path),
                ),
                subject=invocation,
            )

    def experiments(self, finding: Finding, model: Model) -> Iterator[Experiment]:
        """The user's loop: with `predict`, and with the model under `tf.function`."""
        invocation = finding.subject_as(Invocation)
        data = argument(invocation.call, 0, "x")
        assert data is not None and isinstance(invocation.call.func, cst.Attribute)
        if isinstance(invocation.loop, cst.BaseComp) and not invocation.path:
            raise NoExperiment("a comprehension cannot be measured iteration by iteration")
        given = invocation.file.code(data)
        made = call_outline(invocation.file, invocation.call.func.value, [cst.Arg(data)])
        called = f"{HARNESS}.traced({invocation.file.code(invocation.call.func.value)})({given})"
        definition: tuple[Change, ...] = ()
        if made is not None:
            called = f"{made.name}({made.receiver}, {given})"
            definition = (Change(invocation.file, made.above, made.definition, "above"),)
        yield Experiment(
            invocation.root_file,
            invocation.loop,
            probes=measured_loop(model, invocation.root_file, invocation.loop),
            repair=(*definition, Change(invocation.file, invocation.call, f"{called}.numpy()")),
            workload=_WORKLOAD,
        )


def _is_prediction_of_a_row(model: Model, invocation: Invocation) -> bool:
    """Whether the call is Keras's own `predict`, of one row that is no whole graph."""
    data, receiver = argument(invocation.call, 0, "x"), invocation.call.func
    if data is None or not isinstance(receiver, cst.Attribute):
        return False
    if any(_GRAPHS.search(n.value) for n in walk(data) if isinstance(n, cst.Name)):
        return False
    if not model.once(Rows).is_single_input(invocation.file, data, invocation.context):
        return False
    if not model.once(Kinds).has_method(invocation.file, receiver, invocation.context):
        return False
    return not model.inference.callees(invocation.file, invocation.call, invocation.context) and _is_one_model(
        model, invocation, receiver.value
    )


def _is_one_model(model: Model, invocation: Invocation, receiver: cst.BaseExpression) -> bool:
    """Whether all iterations call the same model: not one for each fold, nor each of several."""
    tree, names = (
        invocation.root_file.tree,
        names_of(invocation.loop) | changed_in(invocation.root_file, invocation.loop),
    )
    places = [receiver] if not invocation.path else [arg.value for arg in invocation.entry.args]
    if any(
        (dotted_name(place) or "").partition(".")[0] in names and _is_model(model, invocation, place)
        for place in places
    ):
        return False
    return not any(
        tree.within(o.node, invocation.loop) for o in model.inference.of(invocation.file, receiver, invocation.context)
    )


def _is_model(model: Model, invocation: Invocation, expr: cst.BaseExpression) -> bool:
    return model.once(Kinds).is_model(invocation.root_file, expr)


def _is_meant(model: Model, invocation: Invocation) -> bool:
    """Whether the loop does more than predict: it also trains, times each call, or waits for requests."""
    file, loop = invocation.root_file, invocation.loop
    if model.once(Repetitions).waits(invocation.root_file, invocation.loop) or model.once(Guards).is_for_debugging(
        invocation.file, invocation.call
    ):
        return True
    if not model.once(Repetitions).varies(invocation, [arg.value for arg in invocation.entry.args]):
        return model.once(Training).runs_training(file, loop) or any(
            file.name(call.func) in TIMERS for call in file.calls_below.get(loop, ())
        )
    if any("epoch" in name for name in names_of(loop)):
        return model.once(Training).runs_training(file, loop)
    return any(
        not model.once(Rows).is_single_input(file, data)
        for call in file.method_calls("fit", "train_on_batch")
        if file.tree.within(call, loop) and (data := argument(call, 0, "x")) is not None
    )


def _help(model: Model, invocation: Invocation) -> str:
    if model.once(Repetitions).has_loop_carried_input(invocation):
        return "each row needs the result before it: call the model in a function under `@tf.function` instead"
    if model.once(Repetitions).stays(invocation):
        return "the row is the same in all iterations: call `predict` once, with copies of it if the answers differ"
    if isinstance(invocation.loop, cst.While):
        return "call the model in a function under `@tf.function` instead"
    return "collect the rows and call `predict` once; if rows come one by one, call the model under `@tf.function`"


_WORKLOAD = Workload(
    before="""
        import tensorflow as tf

        model = tf.keras.Sequential([*(tf.keras.layers.Dense(64, activation="relu") for _ in range(4))])
        rows = [tf.random.normal((1, 20)) for _ in range(8)]

        for row in tflint_measure.steps(rows):
            model.predict(row, verbose=0)
    """,
    changes=(("model.predict(row, verbose=0)", "tflint_measure.traced(model)(row).numpy()"),),
)
