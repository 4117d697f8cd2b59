"""TFG605 python-function-under-jit."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from tflint_gpu.model import MissingKernels
from tflint_gpu.model.library.higher_order import PYTHON_FUNCTIONS
from tflint_gpu.model.library.xla import XLA_SUBSTRINGS
from tflint_gpu.rule import Experiment, Finding, Note, Prediction, Rule, Workload, notes_on

if TYPE_CHECKING:
    from tflint_gpu.model import MissingKernel, Model, Node


class PythonFunctionUnderJit(Rule):
    """An operation without an XLA kernel is in code that `jit_compile=True`, or Keras 3 by itself, compiles with XLA.

    Why: `jit_compile=True` gives a whole function to XLA. XLA has no kernel for operations that call Python
    (`tf.py_function`), print (`tf.print`) or work on strings, nor for some others (`tf.linalg.det`, a bicubic
    `tf.image.resize`, lookup tables). The first call then raises `InvalidArgumentError: Detected unsupported
    operations`. That holds on every device, for `tf.function` and for Keras's `compile`, and regardless of whether the
    result is used. Keras 3 compiles without being asked (`jit_compile="auto"`) where it sees a GPU: layers, losses,
    metrics and a `train_step` with such an operation run on a CPU, and fail on a GPU.

    Reported:
    - an operation without an XLA kernel in a `tf.function` under `jit_compile=True`, in a call that must run
    - the same in a model, if XLA compiles every model of the file

    Not reported:
    - calls under a condition that is not known
    - in what Keras compiles by itself: models with `run_eagerly=True` or `jit_compile=False`, layers that set
      `supports_jit`, models with an LSTM, a GRU or preprocessing layers (which turn XLA off), strategies, and programs
      that choose their GPUs
    - shapes that depend on the data (`tf.where`, `tf.boolean_mask`), which are compiled

    Measured: raises with TensorFlow 2.21 (Keras 3.15) and 2.15 (Keras 2.15), under `tf.function` and in `fit`,
    `evaluate` and `predict`; each operation was compiled on its own. What Keras 3 does by itself was observed on a CPU
    with a simulated GPU in TensorFlow's device list. Tests repeat both with the installed TensorFlow.

    Fix: none, because there is a choice: rewrite the function with operations that XLA knows, or do not compile it.

    Example:
        import tensorflow as tf


        class Scaled(tf.keras.layers.Layer):
            def call(self, x):
                tf.print("mean", tf.reduce_mean(x))
                return x / 255.0


        model = tf.keras.Sequential([Scaled(), tf.keras.layers.Dense(1)])
        model.compile(optimizer="adam", loss="mse")

    Use instead:
        import tensorflow as tf


        class Scaled(tf.keras.layers.Layer):
            def call(self, x):
                tf.print("mean", tf.reduce_mean(x))
                return x / 255.0


        model = tf.keras.Sequential([Scaled(), tf.keras.layers.Dense(1)])
        model.compile(optimizer="adam", loss="mse", jit_compile=False)
    """

    code = "TFG605"
    name = "python-function-under-jit"
    severity = "error"
    required_substrings = ((b"jit_compile", b"experimental_compile", b"compile("),)
    nearby_substrings = XLA_SUBSTRINGS
    skips_graphs = True
    skips_other_backends = True

    def check(self, model: Model) -> Iterator[Finding]:
        """Yield the first operation without a kernel in each function that XLA compiles; the others are notes."""
        groups: dict[Node, list[MissingKernel]] = {}
        for missing in model.once(MissingKernels).all:
            groups.setdefault(missing.traced.function.node, []).append(missing)
        for first, *others in groups.values():
            yield _finding(first, others, model)

    def experiments(self, finding: Finding, model: Model) -> Iterator[Experiment]:
        """The same with a function of the rule's own: XLA refuses every one."""
        by_itself = "gpu" in finding.prediction.applies
        yield Experiment(
            finding.file,
            finding.node,
            exceptions=("InvalidArgumentError",),
            workload=_PRINTS if by_itself else _WORKLOAD,
            only_workload=True,
        )


def _finding(missing: MissingKernel, others: list[MissingKernel], model: Model) -> Finding:
    compiled, traced = missing.compiled, missing.traced
    what = f"XLA has no kernel for `{missing.name}`"
    if missing.name in PYTHON_FUNCTIONS:
        what = f"`{missing.name.rpartition('.')[2]}` calls Python, which XLA cannot compile"
    by_itself = compiled.by_itself
    where = "Keras 3 compiles with XLA where there is a GPU, and there " if by_itself else ""
    tested = "TensorFlow 2.21 and a simulated GPU" if by_itself else "TensorFlow 2.15 and 2.21"
    leave = "pass `jit_compile=False` to `compile`" if by_itself else "leave `jit_compile` out"
    return Finding(
        traced.file,
        missing.call.func,
        f"{what}: {where}{traced.entry} raises",
        Prediction(
            "crash",
            ("gpu", "traced") if by_itself else ("traced",),
            basis=f"InvalidArgumentError; measured with {tested}",
        ),
        help=f"use operations that XLA supports, call it outside the compiled code, or {leave}",
        notes=(
            Note(model.file, compiled.place, "compiled with XLA here"),
            *(Note(traced.file, other.call.func, "the same holds here") for other in others),
            *notes_on(traced.frames),
        ),
    )


_WORKLOAD = Workload(
    before="""
        import numpy as np
        import tensorflow as tf

        @tf.function(jit_compile=True)
        def sine(x):
            return tf.numpy_function(np.sin, [x], tf.float32)

        tflint_measure.finish(outputs=sine(tf.zeros((2,))).numpy())
    """,
    changes=(("tf.numpy_function(np.sin, [x], tf.float32)", "tf.sin(x)"),),
)
_PRINTS = Workload(
    before="""
        import tensorflow as tf

        class Shown(tf.keras.layers.Layer):
            def call(self, x):
                tf.print("mean", tf.reduce_mean(x))
                return x

        listed = tf.config.list_physical_devices
        gpu = tf.config.PhysicalDevice("/physical_device:GPU:0", "GPU")
        tf.config.list_physical_devices = lambda kind=None: listed(kind) + [gpu] * (kind in (None, "GPU"))
        model = tf.keras.Sequential([tf.keras.Input((2,)), Shown(), tf.keras.layers.Dense(1)])
        model.compile(optimizer="sgd", loss="mse", jit_compile="auto")
        model.fit(tf.zeros((4, 2)), tf.zeros((4, 1)), verbose=0)
        tflint_measure.finish()
    """,
    changes=(('jit_compile="auto"', "jit_compile=False"),),
)
