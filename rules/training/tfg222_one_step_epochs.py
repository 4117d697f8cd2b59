"""TFG222 one-step-epochs."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from tflint_gpu.rule import Experiment, Finding, Note, Prediction, Rule, Workload

if TYPE_CHECKING:
    from tflint_gpu.model import Model


class OneStepEpochs(Rule):
    """Each epoch of `fit` is one training step, and there are many epochs.

    Why: an epoch has a fixed cost besides its steps: an iterator over the data, the callbacks, metrics that are reset,
    and with validation a whole `evaluate`. A step of a small network takes a millisecond, and an epoch of one such step
    20 to 30 ms, in which a GPU waits. In fewer, longer epochs, only the steps cost time: a dataset that is repeated
    (`tf.data.Dataset.from_tensors((x, y)).repeat(100)`) has a hundred steps in an epoch. A large model whose step takes
    seconds loses little.

    Reported:
    - a `fit` where the code shows that an epoch has one step, of at least 64 rows, and that there are 50 epochs or
      more: the batch has all rows (`batch_size=len(x)`), or `steps_per_epoch=1`

    Not reported:
    - the default batch size
    - numbers that are not known

    Measured: with TensorFlow 2.21 on two CPU cores, a dense network and 4,000 rows: 200 epochs of one step took 30
    times as long as 2 epochs of a hundred (12 times by CPU time); with validation in each epoch 60 epochs took 2.1
    times as long as without it.

    Fix: none, because epochs have a meaning: callbacks, the history and the patience of early stopping count them.

    Example:
        import numpy as np
        from tensorflow import keras

        x, y = np.load("x.npy"), np.load("y.npy")
        model = keras.models.load_model("curve.keras")
        model.fit(x, y, batch_size=len(x), epochs=10_000, validation_split=0.1)

    Use instead:
        import numpy as np
        import tensorflow as tf
        from tensorflow import keras

        x, y = np.load("x.npy"), np.load("y.npy")
        model = keras.models.load_model("curve.keras")
        data = tf.data.Dataset.from_tensors((x, y)).repeat(100)
        model.fit(data, epochs=100)
    """

    code = "TFG222"
    name = "one-step-epochs"
    required_substrings = ((b".fit(",), (b"batch", b"steps_per_epoch", b"len(", b"shape"))
    skips_tests = True
    skips_graphs = True
    skips_other_backends = True

    def check(self, model: Model) -> Iterator[Finding]:
        """Yield the calls of `fit` with many epochs of one step."""
        from .epoch_lengths import EpochLengths

        for fit in model.once(EpochLengths).of_one_step():
            also = " and validates" if fit.validation is not None else ""
            text = (
                f"each of these {fit.epochs:,} epochs has only one step{also}: a GPU waits while each epoch is set up"
            )
            notes = [Note(model.file, fit.reason, "so an epoch has one step")]
            if fit.validation is not None:
                notes.append(Note(model.file, fit.validation, "a whole `evaluate` after each step"))
            often = "; `validation_freq=100` validates after each hundredth" if fit.validation is not None else ""
            yield Finding(
                model.file,
                fit.call.func,
                text,
                _PREDICTION,
                help="make fewer and longer epochs: fit a dataset that repeats the rows, "
                f"`tf.data.Dataset.from_tensors((x, y)).repeat(100)`{often}",
                notes=tuple(notes),
            )

    def experiments(self, finding: Finding, model: Model) -> Iterator[Experiment]:
        """The rule's own workload: what an epoch means to the user's callbacks is not known."""
        yield Experiment(model.file, finding.node, workload=_WORKLOAD, only_workload=True)


_PREDICTION = Prediction(
    "slowdown",
    ("training",),
    low=1.0,
    high=40.0,
    basis="a small dense network on a CPU with TensorFlow 2.21, epochs of one step against epochs of a hundred",
)
_WORKLOAD = Workload(
    before="""
        import numpy as np
        import tensorflow as tf

        x, y = np.random.rand(1024, 12).astype("float32"), np.random.rand(1024, 1).astype("float32")
        model = tf.keras.Sequential([tf.keras.layers.Dense(25, activation="tanh"), tf.keras.layers.Dense(1)])
        model.compile(optimizer="adam", loss="mse")
        data = tf.data.Dataset.from_tensors((x, y)).repeat(1)

        for _ in tflint_measure.steps(range(6)):
            model.fit(data, epochs=20, verbose=0)
    """,
    changes=((".repeat(1)", ".repeat(20)"), ("epochs=20", "epochs=1")),
)
