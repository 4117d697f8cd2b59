"""TFG328 uneven-steps."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from tflint_gpu.model import DatasetValue, KerasInputs, Values, argument
from tflint_gpu.rule import Experiment, Finding, Prediction, Rule, Workload, leave_out

from .row_counts import RowCounts

if TYPE_CHECKING:
    from tflint_gpu.model import KerasInput, Model

_BASIS = (
    "with 10 batches and `steps_per_epoch=9`, epochs have 9, 1, 9, 1 ... steps with Keras 3; "
    "Keras 2 ends in the second epoch"
)


class UnevenSteps(Rule):
    """`fit` gets a finite dataset, and a `steps_per_epoch` that does not divide its number of batches.

    Why: with `steps_per_epoch` an epoch continues where the last one stopped in the dataset. The epoch that reaches the
    end has only the remaining steps: often one, so its loss is that of one batch. Validation, callbacks and learning
    rate schedules count it as a full epoch. Keras 2 stops training there, with a warning. Without the argument each
    epoch reads the dataset once. `len(x) // batch_size` gives a wrong number wherever the last batch is not full.

    Reported:
    - a `fit` where the code determines the number of batches, of steps and, if `epochs` is given, of epochs

    Not reported:
    - numbers that the code does not determine
    - a number of steps that divides the number of batches

    Measured: with Keras 3.15, ten batches give epochs of 9, 1, 9, 1, ... steps with `steps_per_epoch=9`, of 4, 4, 2, 4,
    ... steps with 4, and of 3, 3, 3, 1, ... steps with 3. Keras 2.15 ends the training in the second, third and fourth
    epoch, respectively. A test shows it with the installed version.

    Fix: unsafe: each epoch has all batches.

    Example:
        import tensorflow as tf

        (x, y), _ = tf.keras.datasets.mnist.load_data()
        data = tf.data.Dataset.from_tensor_slices((x, y)).shuffle(60_000).batch(64)
        model = tf.keras.Sequential([tf.keras.layers.Flatten(), tf.keras.layers.Dense(10)])
        model.compile("adam", tf.keras.losses.SparseCategoricalCrossentropy(from_logits=True))
        model.fit(data, epochs=10, steps_per_epoch=len(x) // 64)

    Use instead:
        import tensorflow as tf

        (x, y), _ = tf.keras.datasets.mnist.load_data()
        data = tf.data.Dataset.from_tensor_slices((x, y)).shuffle(60_000).batch(64)
        model = tf.keras.Sequential([tf.keras.layers.Flatten(), tf.keras.layers.Dense(10)])
        model.compile("adam", tf.keras.losses.SparseCategoricalCrossentropy(from_logits=True))
        model.fit(data, epochs=10)
    """

    code = "TFG328"
    name = "uneven-steps"
    required_substrings = ((b"steps_per_epoch",), (b".fit(",))
    fixable = "unsafe"
    skips_tests = True
    skips_graphs = True

    def check(self, model: Model) -> Iterator[Finding]:
        """Yield each `fit` whose epochs have another number of steps."""
        for inputs in model.once(KerasInputs).all:
            if inputs.method == "fit":
                yield from _finding(model, inputs)

    def experiments(self, finding: Finding, model: Model) -> Iterator[Experiment]:
        """The steps of two epochs of ten batches."""
        yield Experiment(finding.file, finding.node, workload=_WORKLOAD, only_workload=True)


_WORKLOAD = Workload(
    before="""
        import tensorflow as tf

        steps = []
        count = tf.keras.callbacks.LambdaCallback(
            on_epoch_begin=lambda epoch, logs: steps.append(0),
            on_train_batch_end=lambda batch, logs: steps.append(steps.pop() + 1),
        )
        rows = tf.data.Dataset.from_tensor_slices((tf.zeros((100, 2)), tf.zeros((100, 1)))).batch(10)
        net = tf.keras.Sequential([tf.keras.layers.Dense(1)])
        net.compile("sgd", "mse")
        net.fit(rows, epochs=2, steps_per_epoch=9, callbacks=[count], verbose=0)
        wrong = {"wrong": f"epochs of {steps} steps"} if len(set(steps)) > 1 or len(steps) < 2 else {}
        tflint_measure.finish(outputs=[0.0], **wrong)
    """,
    changes=((", steps_per_epoch=9", ""),),
)


def _finding(model: Model, inputs: KerasInput) -> Iterator[Finding]:
    file, call = inputs.file, inputs.call
    given = next((arg for arg in call.args if arg.keyword and arg.keyword.value == "steps_per_epoch"), None)
    if given is None or len(inputs.chains) != 1:
        return
    data = model.once(Values).of(file, inputs.data)
    batches = data.cardinality if isinstance(data, DatasetValue) else None
    steps = model.once(RowCounts).of(file, given.value)
    if batches is None or steps is None or not 0 < steps < batches or batches % steps == 0:
        return
    stated = argument(call, -1, "epochs")
    epochs = model.constants.of(file, stated) if stated is not None else 1
    if isinstance(epochs, int) and epochs * steps <= batches:
        return
    left, full = batches % steps, batches // steps
    then = f"the training ends {left} steps into it" if model.target.keras < 3 else f"it has {_steps(left)}"
    yield Finding(
        file,
        given,
        f"the dataset ends in epoch {full + 1}: {batches} batches are not a multiple of {_steps(steps)}, so {then}",
        Prediction("wrong-result", ("training",), basis=_BASIS),
        help="leave out `steps_per_epoch`, so that an epoch is one pass, or pass a repeated dataset",
        fix=leave_out(file, call, [given], "unsafe"),
    )


def _steps(number: int) -> str:
    return "1 step" if number == 1 else f"{number} steps"
