"""TFG223 work-in-batch-hook."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from tflint_gpu.rule import Experiment, Finding, Note, Prediction, Rule, Workload, notes_on

if TYPE_CHECKING:
    from tflint_gpu.model import Model


class WorkInBatchHook(Rule):
    """A callback predicts, evaluates or saves the model after every batch.

    Why: `fit` calls `on_train_batch_end` after each training step. A `predict` or `evaluate` there sets up a whole
    epoch each time, saving writes all weights to a file, and the next step waits for both. Keras sometimes warns about
    it ("Method on_train_batch_end is slow compared to the batch update"). After an epoch, or after every hundredth
    batch, such a call costs little.

    Reported:
    - a callback that predicts, evaluates or saves the model after every batch
    - `ModelCheckpoint(save_freq=1)`

    Not reported:
    - calls under a condition in the hook
    - objects that are not known to be models

    Measured: with TensorFlow 2.21 on two CPU cores, a small dense network and 256 rows: an epoch took 43 times as long
    with a `predict` and a `save_weights` after each batch.

    Fix: none, because only the author knows how often the results are needed.

    Example:
        from tensorflow import keras


        class Keeper(keras.callbacks.Callback):
            def on_train_batch_end(self, batch, logs=None):
                self.model.save("last.keras")

    Use instead:
        from tensorflow import keras


        class Keeper(keras.callbacks.Callback):
            def on_epoch_end(self, epoch, logs=None):
                self.model.save("last.keras")
    """

    code = "TFG223"
    name = "work-in-batch-hook"
    required_substrings = ((b"batch_end", b"batch_begin", b"save_freq"),)
    skips_tests = True
    skips_graphs = True

    def check(self, model: Model) -> Iterator[Finding]:
        """Yield what callbacks run after every batch and need not."""
        from .batch_hooks import BatchHooks

        for work in model.once(BatchHooks).works():
            notes = () if work.hook is None else (Note(model.file, work.hook, "`fit` calls this at every batch"),)
            yield Finding(
                work.file,
                work.node,
                f"{work.text} at every batch of `fit`: the next step waits for it",
                _PREDICTION,
                help="do it in `on_epoch_end`, or only after some batches: `if batch % 100 == 0`"
                if work.hook is not None
                else 'use `save_freq="epoch"`, or a number of batches that takes minutes',
                notes=(*notes, *notes_on(work.path)),
            )

    def experiments(self, finding: Finding, model: Model) -> Iterator[Experiment]:
        """The rule's own workload: `verify` cuts the user's training short."""
        yield Experiment(model.file, finding.node, workload=_WORKLOAD, only_workload=True)


_PREDICTION = Prediction(
    "slowdown",
    ("training",),
    low=1.1,
    high=100.0,
    basis="a small dense network on a CPU with TensorFlow 2.21, `predict` and `save_weights` after each batch",
)
_WORKLOAD = Workload(
    before="""
        import numpy as np
        import tensorflow as tf

        x, y = np.random.rand(640, 16).astype("float32"), np.random.rand(640, 1).astype("float32")
        model = tf.keras.Sequential([tf.keras.layers.Dense(32, activation="relu"), tf.keras.layers.Dense(1)])
        model.compile("sgd", "mse")

        class Watch(tf.keras.callbacks.Callback):
            def on_train_batch_end(self, batch, logs=None):
                self.model.predict(x[:256], verbose=0)

        for _ in tflint_measure.steps(range(4)):
            model.fit(x, y, batch_size=64, verbose=0, callbacks=[Watch()])
    """,
    changes=(("on_train_batch_end(self, batch", "on_epoch_end(self, epoch"),),
)
