"""TFG405 tensor-accumulation."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from tflint_gpu.rule import Finding, NoExperiment, Note, Prediction, Rule, notes_on

if TYPE_CHECKING:
    from tflint_gpu.model import Model
    from tflint_gpu.rule import Experiment


class TensorAccumulation(Rule):
    """A list collects a tensor from every training step and is kept until training ends.

    Why: a tensor's device memory is freed when nothing in Python refers to the tensor. A list with the results of all
    steps keeps them all alive, so device memory grows with the number of steps: little for a loss of one number, much
    for outputs, images or gradients. A number that was read on the host, or a `tf.keras.metrics.Mean`, keeps no tensor
    alive. What a GPU's allocator holds for each tensor was not measured, so this rule is opt-in.

    Reported:
    - a list that collects a tensor from every training step and is kept until training ends

    Not reported:
    - lists that are made again for each epoch, emptied, or of a fixed length
    - tensors that only some iterations keep
    - outputs of one pass over a dataset without training, which do not grow further; TFG207 reports these loops, and
      `predict` returns the outputs in host memory

    Measured: {evidence}

    Fix: none, because only the author knows what the values are needed for: one number for each step, or a mean.

    Example:
        import tensorflow as tf

        outputs = []


        @tf.function
        def train_step(x, y):
            with tf.GradientTape() as tape:
                output = model(x)
                loss = tf.reduce_mean(tf.square(output - y))
            gradients = tape.gradient(loss, model.trainable_variables)
            optimizer.apply_gradients(zip(gradients, model.trainable_variables))
            return output


        for epoch in range(100):
            for x, y in batches:
                outputs.append(train_step(x, y))

    Use instead:
        import tensorflow as tf

        mean = tf.keras.metrics.Mean()


        @tf.function
        def train_step(x, y):
            with tf.GradientTape() as tape:
                output = model(x)
                loss = tf.reduce_mean(tf.square(output - y))
            gradients = tape.gradient(loss, model.trainable_variables)
            optimizer.apply_gradients(zip(gradients, model.trainable_variables))
            return output


        for epoch in range(100):
            for x, y in batches:
                mean.update_state(train_step(x, y))
    """

    code = "TFG405"
    name = "tensor-accumulation"
    severity = "advice"
    least_tensorflow = (2, 0)
    nearby_substrings = (b"GradientTape", b"apply_gradients", b"minimize")
    skips_tests = True
    skips_graphs = True
    opt_in = True

    def check(self, model: Model) -> Iterator[Finding]:
        """Yield where a list gets a tensor of every step."""
        from .kept_results import KeptResults

        for kept in model.once(KeptResults).all:
            yield Finding(
                kept.file,
                kept.node,
                f"`{kept.name}` keeps a tensor from every step alive for the whole training run, and with it the "
                "tensor's device memory",
                Prediction("memory", ("eager",), basis="a list of 500 outputs held their 250 MB, on a CPU"),
                help="keep a number read every n steps, or a `tf.keras.metrics.Mean`; make a new list for each epoch",
                notes=(Note(kept.loop_file, kept.loop, "the loop over the steps"), *notes_on(kept.path)),
            )

    def experiments(self, finding: Finding, model: Model) -> Iterator[Experiment]:
        """None: what it costs is memory, and `verify` does not run enough steps for it to grow."""
        raise NoExperiment("memory grows with all steps of training, but `verify` runs only some of them")
