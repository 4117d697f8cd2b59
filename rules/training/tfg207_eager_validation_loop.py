"""TFG207 eager-validation-loop."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import TYPE_CHECKING

from tflint_gpu.model import (
    DATASET_SUBSTRINGS,
    EagerForward,
    ExecutionContexts,
    ForwardPasses,
)
from tflint_gpu.rule import (
    Finding,
    Note,
    Prediction,
    Rule,
    Workload,
    calls_under_functions,
    eager_against_traced,
    notes_on,
    offered,
    tried,
)

from .step_sizes import of_forward_pass

if TYPE_CHECKING:
    from tflint_gpu.model import Model
    from tflint_gpu.rule import Experiment


_PREDICTION = Prediction(
    "slowdown",
    ("eager",),
    low=1.2,
    high=5.3,
    basis="small dense networks against `evaluate`: 3.8 times on an H200 GPU, "
    "3.1 to 4.7 times on a CPU with TensorFlow 2.15 and 2.21",
)


class EagerValidationLoop(Rule):
    """A Python loop over data runs the model forward eagerly, batch by batch.

    Why: `model(x)` outside `tf.function` starts each operation from Python, so between small operations a GPU waits.
    `model.evaluate` and `model.predict` run the same forward pass as one traced graph, and so does a function under
    `@tf.function` that calls the model. This is one reason why a GPU looks idle during validation.

    Reported:
    - a model that a loop calls eagerly with the loop's element, whatever the data are
    - a GAN's generator that makes images from noise before each `train_on_batch`

    Not reported:
    - loops over a few batches, or over one batch of each source
    - loops that build a model
    - forward passes that the program certainly runs fewer than 24 times: tracing takes as long as 2 to 26 of them
    - forward passes that are a few operations of a `tf.Module`: a call of a traced function takes as long as about four
      of them
    - loops in a training step: TFG202 reports the step
    - models that are loaded from the folder of a SavedModel, whose calls are traced
    - a main block that tries out an untrained model

    Measured: {evidence}

    Fix: unsafe: Python code in the model runs once. The call moves into a function under `@tf.function`.
    `model.evaluate` is shorter, but it needs a `compile`, which changes the model's metrics, so that is left to the
    author. There is no fix where the function might get several models that create their variables in their first call:
    only the first call of a `tf.function` may create variables. Nor is there a fix if moving the call into a function
    would hide something from the code around it: a Keras mask that another layer, a loss or a metric reads, or
    `model.losses`.

    Example:
        import tensorflow as tf

        model = tf.keras.Sequential([tf.keras.layers.Dense(1)])
        dataset = tf.data.Dataset.from_tensor_slices((features, labels)).batch(32)
        accuracy = tf.keras.metrics.BinaryAccuracy()
        for x, y in dataset:
            accuracy.update_state(y, model(x, training=False))

    Use instead:
        import tensorflow as tf

        model = tf.keras.Sequential([tf.keras.layers.Dense(1)])
        dataset = tf.data.Dataset.from_tensor_slices((features, labels)).batch(32)
        accuracy = tf.keras.metrics.BinaryAccuracy()


        @tf.function
        def traced_model(model, x, training):
            return model(x, training=training)


        for x, y in dataset:
            accuracy.update_state(y, traced_model(model, x, training=False))
    """

    code = "TFG207"
    name = "eager-validation-loop"
    least_tensorflow = (2, 0)
    nearby_substrings = (b"for ", b"while ", *DATASET_SUBSTRINGS)
    fixable = "unsafe"
    skips_tests = True
    skips_graphs = True
    skips_other_backends = True

    def check(self, model: Model) -> Iterator[Finding]:
        """Yield the first model call of each loop over a dataset that runs it eagerly."""
        loops = model.once(ExecutionContexts)
        for forward in model.once(ForwardPasses).eager:
            if not loops.pays(forward.file, forward.call):
                continue
            notes = [Note(forward.loop_file, forward.loop, "the loop over the data")]
            notes += notes_on(forward.path)
            notes += [Note(file, call.func, "this one runs eagerly, too") for file, call in forward.others]
            if forward.usage is not None:
                notes.append(Note(forward.file, forward.usage, "this shows that it is a Keras model"))
            make = partial(calls_under_functions, model, forward.file, forward.calls)
            fix, withheld = offered(tried(model, make))
            yield Finding(
                forward.file,
                forward.call.func,
                "the model runs eagerly for every batch of this loop: nothing traces the forward pass",
                of_forward_pass(model, _PREDICTION, forward.file, forward.call, (forward.loop_file, forward.loop)),
                help=_HELP[forward.use],
                notes=(*notes, *withheld),
                fix=fix,
                subject=forward,
            )

    def experiments(self, finding: Finding, model: Model) -> Iterator[Experiment]:
        """The user's loop: with the model as it is, and under `tf.function`."""
        forward = finding.subject_as(EagerForward)
        yield eager_against_traced(model, forward.loop_file, forward.loop, finding, forward.calls, _WORKLOAD)


_HELP = {
    "metrics": "use `model.evaluate`, or call the model in a function under `@tf.function`",
    "outputs": "use `model.predict`, or call the model in a function under `@tf.function`",
    "other": "call the model in a function under `@tf.function`",
}
_WORKLOAD = Workload(
    before="""
        import tensorflow as tf

        model = tf.keras.Sequential([*(tf.keras.layers.Dense(64, activation="relu") for _ in range(4))])
        batches = [tf.random.normal((32, 20)) for _ in range(8)]
        mean = tf.keras.metrics.Mean()

        for x in tflint_measure.steps(batches):
            mean.update_state(tflint_measure.eager(model)(x, training=False))
    """,
    changes=(("eager(model)", "traced(model)"),),
)
