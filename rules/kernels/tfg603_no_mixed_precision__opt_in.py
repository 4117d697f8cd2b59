"""TFG603 no-mixed-precision."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from tflint_gpu.model import FORWARD_METHODS, Program, Runtime, method_name
from tflint_gpu.rule import Experiment, Finding, Note, Prediction, Rule, Workload

if TYPE_CHECKING:
    from tflint_gpu.model import Model

# Any of these in a program's files chooses a precision.
_CHOICES = tuple(
    b"mixed_float16 mixed_bfloat16 mixed_precision dtype_policy bfloat16 float16 float64 tensor_float_32".split()
)
# Any of these in a program's files means that it is written for GPUs.
_GPUS = tuple(b"set_memory_growth MirroredStrategy device_configuration GPU: gpu:".split())
# Names in a file that the program reaches, each of which computes products of matrices.
_PRODUCTS = tuple(b"Dense Conv Attention applications LSTM GRU transformers keras_hub keras_cv".split())


class NoMixedPrecision(Rule):
    """A training program for GPUs computes everything in float32 and chooses no precision.

    Why: NVIDIA GPUs from the Volta generation on have tensor cores, which multiply matrices of 16-bit numbers faster
    than those of 32 bits, and activations of 16 bits take half the memory. One line,
    `tf.keras.mixed_precision.set_global_policy("mixed_float16")`, lets Keras's layers use them; `"mixed_bfloat16"` does
    so from the Ampere generation on. The last layer should then have `dtype="float32"`, and a custom training loop must
    scale its loss. Whether mixed precision is worth it depends on the model and the GPU: small models gain nothing. The
    gain was not measured, so this rule is opt-in.

    Reported:
    - the first location where a program trains, if its files set something up for GPUs and choose no precision

    Not reported:
    - programs that set up nothing for GPUs
    - programs that choose a precision

    Measured: nothing; on a CPU there is nothing to gain, and it was not measured on a GPU yet.

    Fix: none, because the last layers, a custom loss and custom loops have to be adapted to float16 too.

    Example:
        import tensorflow as tf

        for gpu in tf.config.list_physical_devices("GPU"):
            tf.config.experimental.set_memory_growth(gpu, True)
        model = tf.keras.Sequential([tf.keras.layers.Dense(1024), tf.keras.layers.Dense(10)])
        model.compile(optimizer="adam", loss="mse")
        model.fit(features, labels)

    Use instead:
        import tensorflow as tf

        tf.keras.mixed_precision.set_global_policy("mixed_float16")
        for gpu in tf.config.list_physical_devices("GPU"):
            tf.config.experimental.set_memory_growth(gpu, True)
        model = tf.keras.Sequential([tf.keras.layers.Dense(1024), tf.keras.layers.Dense(10, dtype="float32")])
        model.compile(optimizer="adam", loss="mse")
        model.fit(features, labels)
    """

    code = "TFG603"
    name = "no-mixed-precision"
    severity = "advice"
    required_substrings = ((b"fit", b"train", b"Train", b"main", b"run", b"GradientTape"),)
    nearby_substrings = (b".fit(", b"train_on_batch", b"apply_gradients", b"GradientTape")
    skips_tests = True
    skips_graphs = True
    skips_other_backends = True
    opt_in = True

    def check(self, model: Model) -> Iterator[Finding]:
        """Yield the first place where a program trains, when nothing in it chooses a precision."""
        if (
            model.target.tensorflow < (2, 4)
            or model.once(Program).uses_tpu
            or not model.once(Program).imports_tensorflow
        ):
            return
        if model.once(Runtime).mentions(_CHOICES):
            return
        if not model.once(Runtime).mentions(_GPUS) or not model.once(Runtime).mentions(_PRODUCTS):
            return
        first = model.once(Program).first_training
        call = first.file.call_at(first.node) if first is not None else None
        if first is None or call is None or method_name(call) in FORWARD_METHODS:
            return
        yield Finding(
            model.file,
            first.place,
            "this program trains in float32 and chooses no precision: tensor cores are faster in 16 bits",
            Prediction("slowdown", ("gpu",), basis="NVIDIA's documentation; nothing was measured"),
            help='try `tf.keras.mixed_precision.set_global_policy("mixed_float16")`, with a float32 last layer',
            notes=() if first.file is model.file else (Note(first.file, first.node, "the training"),),
        )

    def experiments(self, finding: Finding, model: Model) -> Iterator[Experiment]:
        """Steps of a dense network in both precisions: the user has to try what the program gains."""
        yield Experiment(finding.file, finding.node, requires="a GPU", workload=_WORKLOAD, only_workload=True)


_WORKLOAD = Workload(
    before="""
        import tensorflow as tf

        layers = [tf.keras.layers.Dense(4096, activation="relu", dtype="float32") for _ in range(4)]
        x = tf.random.normal((1024, 4096))

        @tf.function
        def step():
            result = x
            for layer in layers:
                result = layer(result)
            return tf.cast(result, tf.float32)

        for _ in tflint_measure.steps(range(8)):
            step()
    """,
    changes=(('"float32") for', '"mixed_float16") for'),),
)
