"""TFG206 predict-in-loop."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

import libcst as cst

from tflint_gpu.lazy_patterns import regex
from tflint_gpu.model import (
    ExecutionContexts,
    Guards,
    Invocation,
    Kinds,
    Repetitions,
    Rows,
    Training,
    argument,
    is_changed_in,
    loops_around,
    names_of,
    outside,
    walk,
)
from tflint_gpu.rule import (
    HARNESS,
    Change,
    Experiment,
    Finding,
    Fix,
    Note,
    Prediction,
    Rule,
    Workload,
    fix_changes,
    given_otherwise,
    measured_loop,
    notes_on,
    offered,
    predict_on_batch,
)

from .drawn_batches import is_drawn
from .step_sizes import of_forward_pass

if TYPE_CHECKING:
    from tflint_gpu.model import Blocker, Model

_GRAPHS = regex(r"adj|laplac|graph|edges?(_|$)", re.IGNORECASE)
_PREDICTION = Prediction(
    "slowdown",
    ("inference",),
    low=1.1,
    high=800.0,
    basis="small dense networks on an H200: 7.9 times as long as one `predict`, 67 times as long as a `tf.function`; "
    "less for large networks",
)


class PredictInLoop(Rule):
    """`predict` runs in a loop, each time on a single row.

    Why: a call of `predict` builds a data pipeline, sets up callbacks and starts an epoch before the model runs once.
    That cost does not depend on the number of rows. For single rows it is nearly all of the time, and a GPU sees one
    row at a time. One `predict` for all rows pays that cost once. If a row depends on the previous answer (an agent
    that acts, text generated token by token, camera frames), a function under `@tf.function` that calls the model has
    no such cost.

    Reported:
    - a `predict` of a single row in a loop

    Not reported:
    - loops of at most ten iterations
    - larger batches
    - a sample prediction that a training loop shows after an epoch
    - loops that wait for requests
    - a `predict` method of other classes
    - arrays of shape (-1, ...), unless they visibly have one row, or only the first number of the answer is read

    Measured: {evidence}

    Fix: unsafe: no progress bar is shown. `predict_on_batch` replaces `predict`, even if one `predict` of all rows
    would be enough: the source rarely shows that the rows have one length and that the model has one output. There is
    no fix where `predict` gets a list of one text or number: `predict` makes an array of the list, and
    `predict_on_batch` does not.

    Example:
        import numpy as np
        from tensorflow import keras

        model = keras.models.load_model("scores.keras")
        scores = [model.predict(np.expand_dims(image, 0))[0] for image in images]

    Use instead:
        import numpy as np
        from tensorflow import keras

        model = keras.models.load_model("scores.keras")
        scores = [model.predict_on_batch(np.expand_dims(image, 0))[0] for image in images]
    """

    code = "TFG206"
    name = "predict-in-loop"
    least_tensorflow = (2, 0)
    nearby_substrings = (b".predict(",)
    fixable = "unsafe"
    skips_tests = True
    skips_graphs = True
    skips_other_backends = True

    def check(self, model: Model) -> Iterator[Finding]:
        """Yield the calls of Keras's `predict` that a loop runs on one row each."""
        loops = model.once(ExecutionContexts)
        for repeated in model.once(Repetitions).of_methods("predict"):
            invocation = _of_one_model(model, repeated) if _is_prediction_of_a_row(model, repeated) else None
            if invocation is None or _is_meant(model, invocation):
                continue
            assert isinstance(invocation.call.func, cst.Attribute)
            loop = loops.of_loop(invocation.root_file, invocation.loop)
            fix, withheld = offered(_on_batch(model, invocation))
            yield Finding(
                invocation.file,
                invocation.call.func.attr,
                "`predict` runs on a single row in every iteration of a loop: every row pays the fixed cost of a call",
                _prediction(model, invocation),
                help=_help(model, invocation),
                notes=(
                    Note(loop.file, loop.loop, f"{loop.text} that repeats it"),
                    *notes_on(invocation.path),
                    *withheld,
                ),
                fix=fix,
                subject=invocation,
            )

    def experiments(self, finding: Finding, model: Model) -> Iterator[Experiment]:
        """The user's loop: with `predict`, and as the fix has it, or else with the model under `tf.function`."""
        invocation = finding.subject_as(Invocation)
        data = argument(invocation.call, 0, "x")
        assert data is not None and isinstance(invocation.call.func, cst.Attribute)
        given, called = (invocation.file.code(expression) for expression in (data, invocation.call.func.value))
        yield Experiment(
            invocation.root_file,
            invocation.loop,
            probes=measured_loop(model, invocation.root_file, invocation.loop),
            repair=fix_changes(finding)
            or (Change(invocation.file, invocation.call, f"{HARNESS}.traced({called})({given}).numpy()"),),
            workload=_WORKLOAD,
        )


def _prediction(model: Model, invocation: Invocation) -> Prediction:
    """Narrowed by the work of a row, but where all rows become one batch, whose work takes less time for each."""
    if isinstance(invocation.loop, cst.BaseComp):
        return _PREDICTION
    place = (invocation.root_file, invocation.loop)
    return of_forward_pass(model, _PREDICTION, invocation.file, invocation.call, place, "predict")


def _is_prediction_of_a_row(model: Model, invocation: Invocation) -> bool:
    """Whether the call is Keras's own `predict`, of one row that is no whole graph."""
    data, receiver = argument(invocation.call, 0, "x"), invocation.call.func
    if data is None or not isinstance(receiver, cst.Attribute):
        return False
    if any(_GRAPHS.search(n.value) for n in walk(data) if isinstance(n, cst.Name)):
        return False
    if not model.once(Rows).is_single_prediction(invocation.file, invocation.call, invocation.context):
        return False
    if not model.once(Kinds).has_method(invocation.file, receiver, invocation.context):
        return False
    return not model.inference.callees(invocation.file, invocation.call, invocation.context)


def _of_one_model(model: Model, invocation: Invocation) -> Invocation | None:
    """The call in a loop whose iterations all call the same models: not one made for each fold, nor each of several.

    A loop over models is no such loop, but one around it is.
    """
    file, called = invocation.root_file, invocation.call.func
    assert isinstance(called, cst.Attribute)
    places = [called.value] if not invocation.path else invocation.given
    models = [place for place in places if model.once(Kinds).is_model(file, place)]
    made = [origin.node for origin in model.inference.of(invocation.file, called.value, invocation.context)]
    for loop in loops_around(file, invocation.entry):
        if loop is not invocation.loop and file.tree.within(loop, invocation.loop):  # a short one
            models = [outside(loop, place) for place in models]
    for run in model.once(Repetitions).outwards(invocation):
        if any(file.tree.within(node, run.loop) for node in made):
            return None
        if not any(is_changed_in(file, run.loop, place) for place in models):
            return run
        models = [outside(run.loop, place) for place in models]
        if any(is_changed_in(file, run.loop, place) for place in models):
            return None
    return None


def _is_meant(model: Model, invocation: Invocation) -> bool:
    """Whether the loop does more than predict: it also trains, times each call, or waits for requests."""
    file, loop = invocation.root_file, invocation.loop
    if model.once(Repetitions).waits(invocation.root_file, invocation.loop) or model.once(Guards).is_for_debugging(
        invocation.file, invocation.call
    ):
        return True
    if not model.once(Repetitions).varies(invocation, invocation.given):
        return model.once(Training).runs_training(file, loop) or model.once(Repetitions).is_timed(file, loop)
    if any("epoch" in name for name in names_of(loop)):
        return model.once(Training).runs_training(file, loop)
    return any(
        not model.once(Rows).is_single_input(file, data)
        for method in ("fit", "train_on_batch")
        for call in file.tree.inside(file.calls_of_method(method), loop)
        if (data := argument(call, 0, "x")) is not None and not is_drawn(model, file, call)
    )


def _help(model: Model, invocation: Invocation) -> str:
    repetitions = model.once(Repetitions)
    if repetitions.has_loop_carried_input(invocation) or (
        invocation.path and not repetitions.varies(invocation, [invocation.entry.func, *invocation.given])
    ):
        return "each row needs the result before it: call the model in a function under `@tf.function` instead"
    if repetitions.stays(invocation):
        return (
            "the row is the same in all iterations: call `predict` once, on copies of the row if its result is random"
        )
    if isinstance(invocation.loop, cst.While):
        return "call the model in a function under `@tf.function` instead"
    return "collect the rows and call `predict` once; if rows come one by one, call the model under `@tf.function`"


def _on_batch(model: Model, invocation: Invocation) -> Fix | Blocker | None:
    data = argument(invocation.call, 0, "x")
    is_plain = data is not None and model.once(Rows).may_be_plain(invocation.file, data, invocation.context)
    file, call = invocation.file, invocation.call
    return None if is_plain else given_otherwise(model, file, call) or predict_on_batch(file, call)


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
