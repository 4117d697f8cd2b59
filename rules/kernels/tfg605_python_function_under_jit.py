"""TFG605 python-function-under-jit."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from tflint_gpu.model import HostFunctions
from tflint_gpu.rule import Experiment, Finding, Note, Prediction, Rule, Workload, notes_on

if TYPE_CHECKING:
    from tflint_gpu.model import Model


class PythonFunctionUnderJit(Rule):
    """`tf.py_function` or `tf.numpy_function` is in code that XLA is to compile.

    Why: `jit_compile=True` gives a whole function to XLA. XLA has no kernel for an operation that calls Python, so the
    first call raises `InvalidArgumentError: Detected unsupported operations`. That holds on every device, for
    `tf.function` and for Keras's `compile`, and whether the result is used or not. Reported: calls that must run, so
    none under a condition that is not known; models only where all that the file compiles is for XLA. Shapes that
    depend on the data (`tf.where`, `tf.boolean_mask`) are compiled and not reported.

    Measured: raises with TensorFlow 2.21 (Keras 3.15) and 2.15 (Keras 2.15), under `tf.function` and in
    `fit`, `evaluate` and `predict`; a test repeats it with the installed TensorFlow.

    Fix: none, because either the function is written with operations that XLA knows, or it is not compiled.

    Example:
        import numpy as np
        import tensorflow as tf


        @tf.function(jit_compile=True)
        def spectrum(x):
            return tf.numpy_function(np.abs, [tf.signal.rfft(x)], tf.float32)

    Use instead:
        import tensorflow as tf


        @tf.function(jit_compile=True)
        def spectrum(x):
            return tf.abs(tf.signal.rfft(x))
    """

    code = "TFG605"
    name = "python-function-under-jit"
    severity = "error"
    required_substrings = ((b"jit_compile", b"experimental_compile"),)
    nearby_substrings = (b"py_func", b"numpy_function")
    skips_graphs = True
    skips_other_backends = True

    def check(self, model: Model) -> Iterator[Finding]:
        """Yield the calls that run Python in what XLA compiles."""
        for function in model.once(HostFunctions).compiled:
            name = function.host.name.removeprefix("tf.compat.v1.").removeprefix("tf.")
            notes = [Note(function.file, function.place, "compiled with XLA here")]
            notes += notes_on(function.host.traced.frames)
            yield Finding(
                function.host.file,
                function.host.call.func,
                f"`{name}` calls Python, which XLA cannot compile: {function.host.traced.entry} raises",
                Prediction("crash", ("traced",), basis="InvalidArgumentError; measured with 2.15 and 2.21"),
                help="use TensorFlow's operations, call it outside of what is compiled, or leave `jit_compile` out",
                notes=tuple(notes),
            )

    def experiments(self, finding: Finding, model: Model) -> Iterator[Experiment]:
        """The same with a function of the rule's own: XLA refuses every one."""
        yield Experiment(
            finding.file,
            finding.node,
            exceptions=("InvalidArgumentError",),
            workload=_WORKLOAD,
            only_workload=True,
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
