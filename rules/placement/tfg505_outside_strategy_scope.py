"""TFG505 outside-strategy-scope."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from tflint_gpu.rule import Experiment, Finding, Note, Prediction, Rule, Workload

if TYPE_CHECKING:
    from tflint_gpu.model import Model

    from .distributed_training import Misplaced


class OutsideStrategyScope(Rule):
    """A model is trained under a `tf.distribute` strategy, and a part of it is made outside `strategy.scope()`.

    Why: a strategy copies to its devices only the variables that are created in its scope. Where a model's weights are
    made outside and `compile` or `fit` is called inside, training fails as soon as it starts. With Keras 3 the
    optimizer must be made in the scope, too. This also holds for `compile(optimizer="adam")`, which makes the optimizer
    where `compile` is called. Plain SGD, which has no variables for each weight, works. With Keras 2 `compile` may be
    called outside, and metric objects must be made inside.

    Reported:
    - a program in which the scope is around only one part of what it trains

    Not reported:
    - a program that never enters the scope: it trains without the strategy
    - `tf.distribute.get_strategy()`: the default strategy has no such demands

    Measured: TensorFlow 2.21 and 2.15 with MirroredStrategy and OneDeviceStrategy on a CPU: RuntimeError, ValueError or
    an AssertionError without a text (each finding names its error); a test repeats them with the installed TensorFlow.

    Fix: unsafe: random numbers may be drawn in another order. There is no fix if the part and the scope are not in the
    same block, or other statements between them use the same variables.

    Example:
        import tensorflow as tf

        strategy = tf.distribute.MirroredStrategy()
        model = tf.keras.Sequential([tf.keras.layers.Input((4,)), tf.keras.layers.Dense(1)])
        with strategy.scope():
            model.compile(optimizer="adam", loss="mse")
        model.fit(features, labels)

    Use instead:
        import tensorflow as tf

        strategy = tf.distribute.MirroredStrategy()
        with strategy.scope():
            model = tf.keras.Sequential([tf.keras.layers.Input((4,)), tf.keras.layers.Dense(1)])
            model.compile(optimizer="adam", loss="mse")
        model.fit(features, labels)
    """

    code = "TFG505"
    name = "outside-strategy-scope"
    severity = "error"
    required_substrings = ((b"fit", b"train", b"compile"),)
    nearby_substrings = (b".scope(",)
    fixable = "unsafe"
    skips_tests = True
    skips_graphs = True

    def check(self, model: Model) -> Iterator[Finding]:
        """Yield the models, optimizers and metrics that are made outside of the scope in which they are needed."""
        from .distributed_training import DistributedTraining
        from .moved_parts import moved_into_scope

        if model.target.tensorflow < (2, 2):
            return
        for misplaced in model.once(DistributedTraining).misplaced():
            yield Finding(
                misplaced.file,
                misplaced.node,
                _text(misplaced, model.target.keras),
                Prediction("crash", ("training",), basis="measured with TensorFlow 2.15 and 2.21 on a CPU"),
                help=_HELP[misplaced.part],
                notes=(
                    *(
                        (Note(misplaced.made.file, misplaced.made.node, "the model"),)
                        if misplaced.made.node is not misplaced.node
                        else ()
                    ),
                    Note(misplaced.fit_file, misplaced.fit, "the training"),
                ),
                fix=moved_into_scope(misplaced.file, misplaced.node),
                subject=misplaced,
            )

    def experiments(self, finding: Finding, model: Model) -> Iterator[Experiment]:
        """A small model of the rule's own: which scope a part is made in does not depend on the user's data."""
        from .distributed_training import Misplaced

        exceptions = ("RuntimeError", "ValueError", "AssertionError", "AttributeError")
        part = finding.subject_as(Misplaced).part
        yield Experiment(
            finding.file, finding.node, exceptions=exceptions, workload=_WORKLOADS[part], only_workload=True
        )


_HELP = {
    "model": "make the model inside `with strategy.scope():`, where it is compiled",
    "optimizer": "make the optimizer, and call `compile`, inside `with strategy.scope():`",
    "metric": "make the metric inside `with strategy.scope():`, or give its name as a string",
}


def _text(misplaced: Misplaced, keras: int) -> str:
    under = "it is trained under" if misplaced.part == "model" else "its model is made in"
    raised = " or ".join(misplaced.raises)
    return (
        f"this {misplaced.part} is made outside of the `strategy.scope()` that {under}: "
        f"`{misplaced.by}` raises {raised} with Keras {keras}"
    )


_SMALL = """
        import tensorflow as tf

        x, y = tf.zeros((32, 4)), tf.zeros((32, 1))
        strategy = tf.distribute.OneDeviceStrategy("/CPU:0")
"""
_MODEL = Workload(
    before=_SMALL
    + """
        model = tf.keras.Sequential([tf.keras.layers.Input((4,)), tf.keras.layers.Dense(1)])
        with strategy.scope():
            model.compile(optimizer="adam", loss="mse")
        model.fit(x, y, verbose=0)
        tflint_measure.reached()
    """,
    changes=(("\nmodel = ", "\nwith strategy.scope():\n    model = "),),
)
_OPTIMIZER = Workload(
    before=_SMALL
    + """
        with strategy.scope():
            model = tf.keras.Sequential([tf.keras.layers.Input((4,)), tf.keras.layers.Dense(1)])
        model.compile(optimizer="adam", loss="mse")
        model.fit(x, y, verbose=0)
        tflint_measure.reached()
    """,
    changes=(("\nmodel.compile", "\n    model.compile"),),
)
_METRIC = Workload(
    before=_SMALL
    + """
        error = tf.keras.metrics.MeanAbsoluteError()
        with strategy.scope():
            model = tf.keras.Sequential([tf.keras.layers.Input((4,)), tf.keras.layers.Dense(1)])
            model.compile(optimizer="adam", loss="mse", metrics=[error])
        model.fit(x, y, verbose=0)
        tflint_measure.reached()
    """,
    changes=(("\nerror = ", "\nwith strategy.scope():\n    error = "),),
)
_WORKLOADS = {"model": _MODEL, "optimizer": _OPTIMIZER, "metric": _METRIC}
