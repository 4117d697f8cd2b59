"""TFG503 cpu-pinned-training."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from tflint_gpu.model import FORWARD_METHODS, Program, Visibility, method_name
from tflint_gpu.rule import Experiment, Finding, Note, Prediction, Rule, Workload

if TYPE_CHECKING:
    from tflint_gpu.model import Model


class CpuPinnedTraining(Rule):
    """A program hides all GPUs, trains, and sets something up for the GPUs that it cannot see.

    Why: with `CUDA_VISIBLE_DEVICES` set to `-1` or to nothing, or after `set_visible_devices([], "GPU")`, TensorFlow
    has no GPU, and all training runs on the CPU, without a warning. That may be intended. Where the same file enables
    memory growth, divides a GPU or names one, it was written for GPUs, and the line that hides them is probably left
    over from a test.

    Reported:
    - a program that hides all GPUs, trains, and enables memory growth, divides a GPU or names one in the same file

    Not reported:
    - a line that is under a condition or an option, or has a comment about devices
    - programs without this contradiction
    - programs that only predict
    - single layers or parts of a pipeline under `tf.device("/CPU:0")`

    Measured: with TensorFlow 2.21 and 2.15 `list_logical_devices("GPU")` is empty after either setting; a test repeats
    it with the installed TensorFlow. This was not measured on a GPU: it follows from what the settings do, because the
    list is always empty on a machine without a GPU.

    Fix: none, because either the GPUs are hidden by mistake, or the setup is useless.

    Example:
        import os

        os.environ["CUDA_VISIBLE_DEVICES"] = "-1"
        import tensorflow as tf

        for gpu in tf.config.list_physical_devices("GPU"):
            tf.config.experimental.set_memory_growth(gpu, True)
        model = tf.keras.Sequential([tf.keras.layers.Dense(1)])
        model.compile(optimizer="adam", loss="mse")
        model.fit(features, labels)

    Use instead:
        import tensorflow as tf

        for gpu in tf.config.list_physical_devices("GPU"):
            tf.config.experimental.set_memory_growth(gpu, True)
        model = tf.keras.Sequential([tf.keras.layers.Dense(1)])
        model.compile(optimizer="adam", loss="mse")
        model.fit(features, labels)
    """

    code = "TFG503"
    name = "cpu-pinned-training"
    required_substrings = (
        (b"CUDA_VISIBLE_DEVICES", b"set_visible_devices"),
        (b"set_memory_growth", b"device_configuration", b"PU:"),
    )
    skips_tests = True
    skips_graphs = True

    def check(self, model: Model) -> Iterator[Finding]:
        """Yield the place that hides all GPUs of a program which trains and is written for them."""
        hidden = model.once(Visibility).hidden()
        first = model.once(Program).first_training if hidden is not None else None
        if hidden is None or first is None:
            return
        call = first.file.call_at(first.node)
        if call is not None and method_name(call) in FORWARD_METHODS:
            return
        yield Finding(
            model.file,
            hidden.place,
            "all GPUs are hidden here, so this program trains on the CPU, and what it sets up for GPUs does nothing",
            Prediction(
                "wrong-device",
                ("gpu",),
                basis="this setting hides GPUs by definition; not observed on a GPU",
            ),
            help="leave this line out, or say in a comment that the CPU is intended",
            notes=(
                Note(model.file, hidden.setup, "this is for a GPU"),
                Note(first.file, first.node, "the training"),
            ),
        )

    def experiments(self, finding: Finding, model: Model) -> Iterator[Experiment]:
        """A product of matrices after the switch: on which device does it run?"""
        yield Experiment(finding.file, finding.node, requires="a GPU", workload=_WORKLOAD, only_workload=True)


_WORKLOAD = Workload(
    before="""
        import os

        os.environ["CUDA_VISIBLE_DEVICES"] = "-1"
        import tensorflow as tf

        product = tf.linalg.matmul(tf.ones((8, 8)), tf.ones((8, 8)))
        tflint_measure.finish(outputs=[0.0], devices=[product.device], asked="/GPU:0")
    """,
    changes=(('"-1"', '"0"'),),
)
