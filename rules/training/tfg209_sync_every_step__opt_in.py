"""TFG209 sync-every-step."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from tflint_gpu.model import Guards, HostReads, Runtime, times_steps
from tflint_gpu.rule import Finding, NoExperiment, Note, Prediction, Rule, notes_on, offered

if TYPE_CHECKING:
    from tflint_gpu.model import File, LoopNode, Model
    from tflint_gpu.rule import Experiment


class SyncEveryStep(Rule):
    """A training loop reads a result on the host in every step.

    Why: TensorFlow starts work on a GPU and returns before it is done, so Python can prepare the next step meanwhile.
    `loss.numpy()`, `float(loss)`, `print(loss)` and `metric.result().numpy()` need the number itself: Python waits
    until the device has finished everything that was started before. The same holds for `optimizer.iterations.numpy()`,
    a counter that Python could keep itself. On a CPU the read costs nothing, and the longer a step keeps the GPU busy,
    the less it costs there. So this rule is opt-in.

    Reported:
    - a result that a training loop reads on the host in every step

    Not reported:
    - values that are read every n steps, or under a flag
    - values that the next step depends on
    - loops that need a model's output on the host anyway, such as an agent that acts
    - loops that measure the time of each step
    - loops without a training step

    Measured: {evidence} On a CPU it costs nothing, since there each step is over when its call returns.

    Fix: unsafe: the result is shown every hundredth step. There is no fix for values that are kept, or that other code
    needs. There is no fix in a loop of at most a hundred steps, because only the first step would be shown.

    Example:
        import tensorflow as tf


        @tf.function
        def train_step(x, y):
            with tf.GradientTape() as tape:
                loss = tf.reduce_mean(tf.square(model(x) - y))
            gradients = tape.gradient(loss, model.trainable_variables)
            optimizer.apply_gradients(zip(gradients, model.trainable_variables))
            return loss


        for x, y in batches:
            loss = train_step(x, y)
            print(loss.numpy())

    Use instead:
        import tensorflow as tf


        @tf.function
        def train_step(x, y):
            with tf.GradientTape() as tape:
                loss = tf.reduce_mean(tf.square(model(x) - y))
            gradients = tape.gradient(loss, model.trainable_variables)
            optimizer.apply_gradients(zip(gradients, model.trainable_variables))
            return loss


        for step, (x, y) in enumerate(batches):
            loss = train_step(x, y)
            if step % 100 == 0:
                print(loss.numpy())
    """

    code = "TFG209"
    name = "sync-every-step"
    severity = "advice"
    least_tensorflow = (2, 0)
    nearby_substrings = (b"GradientTape", b"apply_gradients", b"minimize")
    fixable = "unsafe"
    skips_tests = True
    skips_graphs = True
    opt_in = True

    def check(self, model: Model) -> Iterator[Finding]:
        """Yield the first value that each loop of training steps reads in every iteration; the others are notes."""
        from .shown_values import shown_at_times

        for reads in model.once(HostReads).in_steps:
            if _is_meant(model, reads.file, reads.loop):
                continue
            first, *others = reads.reads
            fix, withheld = offered(shown_at_times(model, reads))
            text = " ".join(first.file.code(first.value).split())
            yield Finding(
                first.file,
                first.value,
                f"`{text}` is read on the host in every step: where the step runs on a GPU, Python waits for it before "
                "it prepares the next one",
                Prediction(
                    "slowdown",
                    ("gpu",),
                    low=1.0,
                    high=2.2,
                    basis="small dense networks on an H200; less the longer a step is, and nothing on a CPU",
                ),
                help="read it every hundred steps, or collect it in a `tf.keras.metrics.Mean` and read that at the end",
                fix=fix,
                notes=(
                    Note(reads.file, reads.loop, "the loop over the steps"),
                    *notes_on(first.path),
                    *(Note(other.file, other.value, "this is read in every step, too") for other in others),
                    *withheld,
                ),
            )

    def experiments(self, finding: Finding, model: Model) -> Iterator[Experiment]:
        """None: the clock that times single steps waits for the device itself."""
        raise NoExperiment("`verify` waits for the device in each step to time it, which hides the effect")


def _is_meant(model: Model, file: File, loop: LoopNode) -> bool:
    """Whether the loop measures the time of each step, runs on the CPU, or is there for debugging."""
    return (
        times_steps(file, loop)
        or model.once(Runtime).is_on_cpu(file, loop)
        or model.once(Runtime).is_graph_code(file, loop)
        or model.once(Guards).is_for_debugging(file, loop)
    )
