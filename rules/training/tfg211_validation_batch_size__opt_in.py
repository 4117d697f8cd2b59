"""TFG211 validation-batch-size."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from tflint_gpu.rule import (
    Experiment,
    Finding,
    Fix,
    Note,
    Prediction,
    Rule,
    Workload,
    with_keyword,
)

if TYPE_CHECKING:
    from tflint_gpu.model import Model

    from .validations import Validation

_LARGE = 128
"""From this size on a larger one gains little."""
_ARRAYS = "these arrays are split into batches of that size"
_SHARE = "the rows that this sets aside are split into batches of that size"
_SINCE = (2, 2)
"""The TensorFlow that brought `validation_batch_size`."""


class ValidationBatchSize(Rule):
    """`fit` splits validation arrays into batches as small as those for training.

    Why: `fit` uses `batch_size` for validation arrays too, unless `validation_batch_size` says otherwise. The size of a
    training batch decides how the model learns, and its gradients need memory. Neither holds for validation: apart from
    rounding, its results do not depend on the size, and larger batches keep a GPU busier.

    Reported:
    - a batch size above one and below 128 that is written in the code, if the validation data is always arrays, or the
      part of the training arrays that `validation_split` sets aside

    Not reported:
    - a size that is not written in the code
    - validation data that may be something other than arrays

    Measured: {evidence}

    Fix: unsafe: metrics that average over batches may differ in the last digits, and larger batches need more memory.

    Example:
        import numpy as np
        from tensorflow import keras

        x, y = np.load("x.npy"), np.load("y.npy")
        model = keras.models.load_model("scores.keras")
        model.fit(x[1000:], y[1000:], batch_size=16, validation_data=(x[:1000], y[:1000]))

    Use instead:
        import numpy as np
        from tensorflow import keras

        x, y = np.load("x.npy"), np.load("y.npy")
        model = keras.models.load_model("scores.keras")
        model.fit(x[1000:], y[1000:], batch_size=16, validation_data=(x[:1000], y[:1000]), validation_batch_size=128)
    """

    code = "TFG211"
    name = "validation-batch-size"
    severity = "advice"
    required_substrings = ((b"validation_data", b"validation_split"), (b".fit(",))
    fixable = "unsafe"
    skips_tests = True
    skips_graphs = True
    skips_other_backends = True
    opt_in = True

    def check(self, model: Model) -> Iterator[Finding]:
        """Yield the batch sizes of `fit` that validation arrays get as well."""
        from .validations import Validations

        if model.target.tensorflow < _SINCE:
            return
        for validation in model.once(Validations).with_training_size:
            if not 1 < validation.size < _LARGE:
                continue
            yield Finding(
                model.file,
                validation.argument,
                f"validation, which needs no gradients, runs in batches of {validation.size}, too",
                Prediction(
                    "slowdown",
                    ("validation",),
                    low=1.0,
                    high=4.0,
                    basis="a small dense network and a small CNN, batches of 32 against 256, on a CPU; "
                    "the factor is for validation only",
                ),
                help=f"add `validation_batch_size`, for example {8 * validation.size}",
                notes=(Note(model.file, validation.data, _SHARE if validation.is_share else _ARRAYS),),
                fix=_fix(validation),
            )

    def experiments(self, finding: Finding, model: Model) -> Iterator[Experiment]:
        """The rule's own workload: `verify` leaves validation out of the user's training, which it cuts short."""
        yield Experiment(model.file, finding.node, workload=_WORKLOAD, only_workload=True)


def _fix(validation: Validation) -> Fix | None:
    edits = with_keyword(validation.call, f"validation_batch_size={8 * validation.size}")
    return Fix("Validate in larger batches", "unsafe", edits)


_WORKLOAD = Workload(
    before="""
        import numpy as np
        import tensorflow as tf

        x, y = np.random.rand(2048, 20).astype("float32"), np.random.rand(2048, 1).astype("float32")
        model = tf.keras.Sequential([tf.keras.layers.Dense(32, activation="relu"), tf.keras.layers.Dense(1)])
        model.compile(optimizer="sgd", loss="mse")

        for _ in tflint_measure.steps(range(8)):
            model.evaluate(x, y, batch_size=32, verbose=0)
    """,
    changes=(("batch_size=32", "batch_size=256"),),
)
