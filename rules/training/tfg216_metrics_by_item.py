"""TFG216 metrics-by-item."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import libcst as cst

from tflint_gpu.model import (
    EagerLoops,
    ForwardPasses,
    Guards,
    Invocation,
    Invocations,
    Kinds,
    LoopNumbers,
    Repetitions,
    Rows,
    method_name,
    method_place,
)
from tflint_gpu.rule import Experiment, Finding, Note, Prediction, Rule, Workload, notes_on

if TYPE_CHECKING:
    from tflint_gpu.model import File, LoopNode, Model

_SUBSTRINGS = (b".update_state(", b"metrics.")


class MetricsByItem(Rule):
    """A loop updates a Keras metric eagerly with one row after the other.

    Why: each `update_state` starts dozens of operations from Python, whatever the number of rows. One call with all
    rows costs about as much as one call with a single row, and the result is the same.

    Reported:
    - an `update_state` of a Keras metric that an eager loop calls with one row after the other

    Not reported:
    - batches
    - updates in traced code or under a condition
    - loops of a few iterations
    - loops that also run the model for each row, which TFG206, TFG207 and TFG214 report

    Measured: {evidence}

    Fix: none, because the rows come from different sources in different programs.

    Example:
        import tensorflow as tf

        accuracy = tf.keras.metrics.SparseCategoricalAccuracy()
        for label, scores in zip(labels, predictions):
            accuracy.update_state(label[None], scores[None])

    Use instead:
        import tensorflow as tf

        accuracy = tf.keras.metrics.SparseCategoricalAccuracy()
        accuracy.update_state(labels, predictions)
    """

    code = "TFG216"
    name = "metrics-by-item"
    least_tensorflow = (2, 0)
    nearby_substrings = _SUBSTRINGS
    skips_tests = True
    skips_graphs = True
    skips_other_backends = True

    def check(self, model: Model) -> Iterator[Finding]:
        """Yield the first update of a metric with single rows in each loop."""
        reported: set[cst.Call] = set()
        for file, loop in model.once(Repetitions).loops(_SUBSTRINGS):
            if _is_apart(model, file, loop):
                continue
            for update in model.once(Invocations).eager(file, loop, None, _SUBSTRINGS):
                if update.call not in reported and _is_of_a_row(model, update):
                    reported.add(update.call)
                    yield _finding(update)
                    break

    def experiments(self, finding: Finding, model: Model) -> Iterator[Experiment]:
        """The rule's own rows: the single call that would replace the loop is not in the user's program."""
        yield Experiment(model.file, finding.node, workload=_WORKLOAD, only_workload=True)


def _is_apart(model: Model, file: File, loop: LoopNode) -> bool:
    """Whether a loop is short or traced, or runs a model for each row."""
    if model.once(EagerLoops).is_no_place(file, loop) or not model.once(LoopNumbers).is_long(file, loop):
        return True
    forwards = model.once(ForwardPasses)
    return any(
        method_name(call.call) in ("predict", "predict_on_batch") or forwards.is_model_call(call)
        for call in model.once(Invocations).eager(file, loop)
    )


def _is_of_a_row(model: Model, update: Invocation) -> bool:
    """Whether a call updates a Keras metric with one row, in every iteration."""
    call, rows = update.call, model.once(Rows)
    metric = _updated(update)
    if metric is None or not model.once(Kinds).must_be(update.file, metric, "metric", context=update.context):
        return False
    if not all(rows.is_single(update.file, arg.value, update.context) for arg in call.args[:2]):
        return False
    return not (
        model.once(Repetitions).is_conditional(update) or model.once(Guards).is_for_debugging(update.file, call)
    )


def _updated(update: Invocation) -> cst.BaseExpression | None:
    """`m` of `m.update_state(y, p)`, and of `m(y, p)` where nobody reads what the metric is by then."""
    func = update.call.func
    if not update.call.args:
        return None
    if isinstance(func, cst.Attribute) and func.attr.value == "update_state":
        return func.value
    return func if isinstance(update.file.tree.parents.get(update.call), cst.Expr) else None


def _finding(update: Invocation) -> Finding:
    return Finding(
        update.file,
        method_place(update.call),
        "this metric gets one row in every iteration of a loop: each update starts its operations from Python",
        _PREDICTION,
        help="collect the rows and update the metric once with all of them",
        notes=(
            Note(update.root_file, update.loop, "the loop that repeats it"),
            *notes_on(update.path),
        ),
    )


_PREDICTION = Prediction(
    "slowdown",
    ("eager",),
    low=10.0,
    high=400.0,
    basis="64 rows, SparseCategoricalAccuracy and MeanSquaredError, on a CPU; "
    "the factor is for the loop, not for the program",
)
_WORKLOAD = Workload(
    before="""
        import numpy as np
        import tensorflow as tf

        accuracy = tf.keras.metrics.SparseCategoricalAccuracy()
        labels, predictions = np.random.randint(0, 10, 64), np.random.rand(64, 10).astype("float32")

        for _ in tflint_measure.steps(range(8)):
            for label, scores in zip(labels, predictions):
                accuracy.update_state(label[None], scores[None])
    """,
    changes=(
        ("    for label, scores in zip(labels, predictions):\n        ", "    "),
        ("label[None], scores[None]", "labels, predictions"),
    ),
)
