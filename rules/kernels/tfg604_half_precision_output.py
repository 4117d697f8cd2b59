"""TFG604 half-precision-output."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import libcst as cst

from tflint_gpu.model import MixedPrecision
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


class HalfPrecisionOutput(Rule):
    """Under mixed_float16 a model's softmax or sigmoid outputs float16, and a cross-entropy is computed from it.

    Why: a layer without a custom `dtype` computes in the policy's float16, the last one too. In float16 the largest
    number below 1 is 0.9995, and numbers below 0.00000006 are 0. Keras 3 computes the cross-entropy from these rounded
    probabilities. Where a model is confidently wrong, the gradient is 0, infinite or not a number, and the example
    changes nothing. With a sigmoid, this happens for each negative example with a logit of about 8 or more.
    `dtype="float32"` for the last layer, or for an `Activation` after it, has no noticeable cost, because it affects
    only the outputs.

    Reported:
    - with Keras 3, a softmax or sigmoid that outputs float16 under mixed_float16, if a cross-entropy is computed from
      it

    Not reported:
    - Keras 2, which computes these losses from the logits and trains as it should
    - mixed_bfloat16
    - a file that sets several policies
    - a loss that is not one of Keras's cross-entropies

    Measured: TensorFlow 2.21 with Keras 3.15 on a CPU: with a logit of 10 in the wrong direction `fit` changes the
    weights of a float32 output and leaves those of a float16 output as they are, for softmax and sigmoid; with 2.15
    both change. A test repeats it with the installed TensorFlow.

    Fix: unsafe: it changes the results, as intended. There is none where the program names float16 itself, or computes
    with the output outside of Keras: a float32 output does not meet a float16 tensor.

    Example:
        import tensorflow as tf

        tf.keras.mixed_precision.set_global_policy("mixed_float16")
        model = tf.keras.Sequential([tf.keras.layers.Dense(10, activation="softmax")])
        model.compile(optimizer="adam", loss="sparse_categorical_crossentropy")
        model.fit(images, labels)

    Use instead:
        import tensorflow as tf

        tf.keras.mixed_precision.set_global_policy("mixed_float16")
        model = tf.keras.Sequential([tf.keras.layers.Dense(10, activation="softmax", dtype="float32")])
        model.compile(optimizer="adam", loss="sparse_categorical_crossentropy")
        model.fit(images, labels)
    """

    code = "TFG604"
    name = "half-precision-output"
    required_substrings = ((b"fit", b"train", b"compile"),)
    nearby_substrings = (b"mixed_float16",)
    fixable = "unsafe"
    skips_tests = True
    skips_graphs = True
    skips_other_backends = True

    def check(self, model: Model) -> Iterator[Finding]:
        """Yield the last layers of trained models that give float16 probabilities to a cross-entropy."""
        if model.target.keras < 3:
            return
        for output in model.once(MixedPrecision).half_outputs():
            yield Finding(
                output.file,
                output.layer,
                f"under mixed_float16 this {output.activation} outputs float16: for examples that are "
                "confidently wrong, Keras 3's cross-entropy has no usable gradient",
                Prediction("wrong-result", ("training",), basis="a logit of 10 in the wrong direction, Keras 3.15"),
                help='give this layer `dtype="float32"`',
                fix=None if output.meets_half else _fix(output.layer),
                notes=(
                    Note(output.policy_file, output.policy, "the policy is set here"),
                    Note(output.loss_file, output.loss, "the cross-entropy"),
                ),
            )

    def experiments(self, finding: Finding, model: Model) -> Iterator[Experiment]:
        """One example that the model is certain of and wrong about: does it change the weights?"""
        yield Experiment(finding.file, finding.node, workload=_WORKLOAD, only_workload=True)


def _fix(layer: cst.Call) -> Fix | None:
    edits = with_keyword(layer, 'dtype="float32"')
    return Fix("Compute the output in float32", "unsafe", edits) if edits else None


_WORKLOAD = Workload(
    before="""
        import tensorflow as tf

        tf.keras.mixed_precision.set_global_policy("mixed_float16")
        last = tf.keras.layers.Dense(1, activation="sigmoid", kernel_initializer=tf.keras.initializers.Constant(10.0))
        model = tf.keras.Sequential([tf.keras.layers.Input((1,)), last])
        model.compile(optimizer=tf.keras.optimizers.SGD(1.0), loss="binary_crossentropy")
        model.fit(tf.ones((1, 1)), tf.zeros((1, 1)), verbose=0)
        kept = float(last.kernel.numpy()[0, 0]) == 10.0
        wrong = {"wrong": "the example that is most wrong changed nothing"} if kept else {}
        tflint_measure.finish(outputs=[0.0], **wrong)
    """,
    changes=(("Constant(10.0))", 'Constant(10.0), dtype="float32")'),),
)
