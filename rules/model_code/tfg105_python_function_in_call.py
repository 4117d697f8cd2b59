"""TFG105 python-function-in-call."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from tflint_gpu.model import TRACING_SUBSTRINGS, HostFunctions, OnGradient
from tflint_gpu.rule import Experiment, Finding, Note, Prediction, Rule, Workload, notes_on

if TYPE_CHECKING:
    from tflint_gpu.model import GradientKind, Model


class PythonFunctionInCall(Rule):
    """`tf.numpy_function` or `tf.py_function` is on the path of a model's gradients.

    Why: both run a Python function on the host, whatever device the model is on. `tf.numpy_function` has no gradient:
    the layers before it are silently not trained. The gradient of a `tf.py_function` around NumPy fails in the backward
    pass. Around TensorFlow's operations, or around code that only records values, the gradient is right, but each call
    goes back to Python. XLA can compile neither of them, and Keras 3 turns XLA on by itself where it finds a GPU
    (`jit_compile="auto"`, according to its source).

    Reported:
    - calls with tensors and floating-point results in `call`, in losses and under a `GradientTape`

    Not reported:
    - metrics, `test_step` and `predict_step`, and data pipelines
    - integer results
    - calls under `tf.stop_gradient` or `tf.custom_gradient`
    - code for inference only
    - calls whose argument is the model's input itself (nothing is trained before it)
    - code under `jit_compile=True`, which TFG605 reports

    Measured: {evidence} A test checks with the installed TensorFlow which weights a training step changes.

    Fix: none, because the Python function has to be rewritten with operations that have gradients.

    Example:
        import numpy as np
        import tensorflow as tf


        class Envelope(tf.keras.layers.Layer):
            def call(self, inputs):
                return tf.numpy_function(np.abs, [inputs], tf.float32)

    Use instead:
        import tensorflow as tf


        class Envelope(tf.keras.layers.Layer):
            def call(self, inputs):
                return tf.abs(inputs)
    """

    code = "TFG105"
    name = "python-function-in-call"
    required_substrings = ((*TRACING_SUBSTRINGS, b"GradientTape"),)
    nearby_substrings = (b"py_func", b"numpy_function")
    skips_tests = True
    skips_graphs = True
    skips_other_backends = True

    def check(self, model: Model) -> Iterator[Finding]:
        """Yield the calls that run Python on the path of a gradient."""
        for function in model.once(HostFunctions).on_gradients:
            yield _finding(model, function)

    def experiments(self, finding: Finding, model: Model) -> Iterator[Experiment]:
        """The rule's own workload: the effect on the gradient does not depend on the function's numbers."""
        kind = finding.subject_as(OnGradient).kind
        yield Experiment(
            finding.file,
            finding.node,
            exceptions=("InvalidArgumentError",) if kind == "fails" else (),
            workload=_WORKLOADS["passes" if kind == "notes" else kind],
            only_workload=True,
        )


_BACK_TO_PYTHON = Prediction(
    "slowdown", ("traced",), low=0.8, high=75.0, basis="a sine; largest if a large tensor has to leave the GPU"
)
_PREDICTIONS: dict[GradientKind, Prediction] = {
    "cut": Prediction(
        "wrong-result",
        ("training",),
        basis="the weights before it do not change; measured with TensorFlow 2.15 and 2.21",
    ),
    "fails": Prediction(
        "crash",
        ("training",),
        basis="InvalidArgumentError in the backward pass; measured with TensorFlow 2.15 and 2.21",
    ),
    "passes": _BACK_TO_PYTHON,
    "notes": _BACK_TO_PYTHON,
}


def _finding(model: Model, gradient: OnGradient) -> Finding:
    host, kind = gradient
    name = f"`{host.name.removeprefix('tf.compat.v1.').removeprefix('tf.')}`"
    text = {
        "cut": f"{name} has no gradient: layers before it are not trained",
        "fails": f"{name} around NumPy has no gradient: training the layers before it raises",
    }.get(kind, f"{name} goes back to Python in every call")
    xla = "; XLA, which Keras 3 turns on by itself on a GPU, cannot compile it" if model.target.keras >= 3 else ""
    notes = [*notes_on(host.traced.frames)]
    if host.function is not None:
        notes.append(Note(host.function.file, host.function.node, "this function runs on the host"))
    return Finding(
        host.file,
        host.call.func,
        f"{text}, in {host.traced.entry}" + (xla if host.traced.keras else ""),
        _PREDICTIONS[kind],
        help=_HELP[kind],
        notes=tuple(notes),
        subject=gradient,
    )


_HELP: dict[GradientKind, str] = {
    "cut": "use TensorFlow's operations, or define the gradient with `tf.custom_gradient`; "
    "`tf.stop_gradient` around it shows that no gradient is intended",
    "fails": "use TensorFlow's operations, or define the gradient with `tf.custom_gradient`",
    "passes": "call the function itself: TensorFlow traces its operations",
    "notes": "compute with its arguments instead of its result: "
    "a function that only records them does not need a gradient",
}
_TRAINED = """
        import numpy as np
        import tensorflow as tf

        class Through(tf.keras.layers.Layer):
            def call(self, x):
                y = HOST
                y.set_shape(x.shape)
                return y

        model = tf.keras.Sequential([tf.keras.layers.Dense(3), Through(), tf.keras.layers.Dense(1)])
        model.compile("sgd", "mse", jit_compile=False)
        x, y = np.ones((8, 3), "float32"), np.ones((8, 1), "float32")
        model.build((8, 3))
        before = model.layers[0].kernel.numpy()
        model.train_on_batch(x, y)
        wrong = bool((model.layers[0].kernel.numpy() == before).all())
        tflint_measure.finish(outputs=[0.0], **({"wrong": "the layer before it keeps its weights"} if wrong else {}))
"""
_CUT = "tf.numpy_function(np.sin, [x], tf.float32)"
_FAILS = "tf.py_function(np.sin, [x], tf.float32)"
_WORKLOADS: dict[GradientKind, Workload] = {
    "cut": Workload(_TRAINED.replace("HOST", _CUT), ((_CUT, "tf.sin(x)"),)),
    "fails": Workload(_TRAINED.replace("HOST", _FAILS), ((_FAILS, "tf.sin(x)"),)),
    "passes": Workload(
        before="""
        import tensorflow as tf

        x = tf.random.normal((32, 8))

        @tf.function
        def step(x):
            return tf.py_function(tf.sin, [x], tf.float32)

        for _ in tflint_measure.steps(range(8)):
            step(x)
        """,
        changes=(("tf.py_function(tf.sin, [x], tf.float32)", "tf.sin(x)"),),
    ),
}
