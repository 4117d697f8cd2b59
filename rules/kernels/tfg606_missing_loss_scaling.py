"""TFG606 missing-loss-scaling."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from tflint_gpu.model import MixedPrecision
from tflint_gpu.rule import Experiment, Finding, Note, Prediction, Rule, Workload

if TYPE_CHECKING:
    from tflint_gpu.model import Model

    from .loss_scaling import UnscaledStep


class MissingLossScaling(Rule):
    """Under mixed_float16 a custom training step does not scale its loss.

    Why: under this policy gradients pass through float16, in which numbers below 0.00000006 are 0. Keras's own `fit`
    multiplies the loss by a large number before the gradients are taken, and divides the gradients by it afterwards. A
    loop with `tf.GradientTape` and a plain optimizer does neither, and small gradients are lost. In the `train_step` of
    a model it is worse with Keras 3. There `compile` wraps the optimizer in a `LossScaleOptimizer`, whose
    `apply_gradients` divides the gradients by the scale, 32768 at first, even if the loss was not multiplied by it.

    Reported:
    - a custom loop or `train_step` under mixed_float16 that does not scale its loss

    Not reported:
    - mixed_bfloat16, which needs no scaling
    - a file that sets several policies
    - programs that scale the loss in some other way

    Measured: TensorFlow 2.21 and 2.15 on a CPU: a gradient of 1e-8 is 0 with a plain optimizer and 1e-8 with a scaled
    loss; with 2.21 a `train_step` that does not scale moves the weights by 1/32768 of the step (SGD). A test repeats
    both with the installed TensorFlow.

    Fix: none, because all steps that share the optimizer have to scale their loss together.

    Example:
        import tensorflow as tf

        tf.keras.mixed_precision.set_global_policy("mixed_float16")
        model = tf.keras.Sequential([tf.keras.layers.Dense(1, dtype="float32")])
        optimizer = tf.keras.optimizers.Adam()


        @tf.function
        def train_step(x, y):
            with tf.GradientTape() as tape:
                loss = tf.reduce_mean(tf.square(model(x) - y))
            gradients = tape.gradient(loss, model.trainable_variables)
            optimizer.apply_gradients(zip(gradients, model.trainable_variables))

    Use instead:
        import tensorflow as tf

        tf.keras.mixed_precision.set_global_policy("mixed_float16")
        model = tf.keras.Sequential([tf.keras.layers.Dense(1, dtype="float32")])
        optimizer = tf.keras.mixed_precision.LossScaleOptimizer(tf.keras.optimizers.Adam())


        @tf.function
        def train_step(x, y):
            with tf.GradientTape() as tape:
                loss = tf.reduce_mean(tf.square(model(x) - y))
                scaled = optimizer.scale_loss(loss)
            gradients = tape.gradient(scaled, model.trainable_variables)
            optimizer.apply_gradients(zip(gradients, model.trainable_variables))
    """

    code = "TFG606"
    name = "missing-loss-scaling"
    required_substrings = ((b"GradientTape", b"mixed_float16"),)
    nearby_substrings = (b"GradientTape",)
    skips_tests = True
    skips_graphs = True
    skips_other_backends = True

    def check(self, model: Model) -> Iterator[Finding]:
        """Yield the tapes of training steps that run under mixed_float16 without a scaled loss."""
        from .loss_scaling import LossScaling

        for step in model.once(LossScaling).unscaled():
            if step.is_divided and model.target.keras < 3:
                continue
            policy = model.once(MixedPrecision).policy
            yield Finding(
                step.file,
                step.tape,
                _text(step),
                Prediction("wrong-result", ("training",), basis="a gradient of 1e-8, and a step of SGD, Keras 3.15"),
                help=_HELP[model.target.keras >= 3],
                notes=(
                    *((Note(*policy, "the policy is set here"),) if policy is not None else ()),
                    Note(step.model_file, step.model, "the model"),
                    Note(step.file, step.update, "the gradients are applied here"),
                ),
            )

    def experiments(self, finding: Finding, model: Model) -> Iterator[Experiment]:
        """A step of the rule's own: how far does it move a weight?"""
        yield Experiment(finding.file, finding.node, workload=_WORKLOAD, only_workload=True)


_HELP = {
    True: "use a `LossScaleOptimizer`, and compute the gradients of `optimizer.scale_loss(loss)`",
    False: "use a `LossScaleOptimizer`, with `get_scaled_loss` before and `get_unscaled_gradients` after",
}


def _text(step: UnscaledStep) -> str:
    if step.is_divided:
        return (
            "under mixed_float16 this step does not scale its loss, and Keras 3's `compile` wraps the optimizer in one "
            "that divides the gradients by the scale: they are 32768 times too small at first"
        )
    return (
        "under mixed_float16 this step does not scale its loss, and neither does its optimizer: gradients below 6e-8 "
        "are lost"
    )


_WORKLOAD = Workload(
    before="""
        import tensorflow as tf

        tf.keras.mixed_precision.set_global_policy("mixed_float16")
        layer = tf.keras.layers.Dense(1, use_bias=False, kernel_initializer="ones")
        model = tf.keras.Sequential([tf.keras.layers.Input((1,)), layer])
        optimizer = tf.keras.mixed_precision.LossScaleOptimizer(tf.keras.optimizers.SGD(1.0))
        with tf.GradientTape() as tape:
            loss = tf.cast(tf.reduce_mean(model(tf.ones((1, 1)))), tf.float32) * 1e-8
            scaled = loss
        gradient = tape.gradient(scaled, model.trainable_variables)
        wrong = {"wrong": "the gradient is 0"} if float(gradient[0][0, 0]) == 0 else {}
        tflint_measure.finish(outputs=[0.0], **wrong)
    """,
    changes=(
        (
            "scaled = loss",
            "scaled = getattr(optimizer, 'scale_loss', getattr(optimizer, 'get_scaled_loss', None))(loss)",
        ),
    ),
)
