"""TFG104 host-value-in-call."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from tflint_gpu.model import (
    TRACING_SUBSTRINGS,
    HostValue,
    HostValues,
    TracedCode,
    XlaCompilations,
)
from tflint_gpu.rule import Experiment, Finding, Prediction, Rule, Workload, notes_on

if TYPE_CHECKING:
    from tflint_gpu.model import Model, ValueUse


class HostValueInCall(Rule):
    """Python asks a tensor for its value in code that TensorFlow traces.

    Why: while TensorFlow traces, a tensor has no value. `.numpy()` and `.item()` raise `AttributeError`. Keras 2 and
    `tf.function` convert `if t:`, `float(t)` and the like with AutoGraph. Keras 3 does not: there `float(t)`, `int(t)`
    and `range(t)` raise `TypeError`, and `if t:`, `while t:`, `bool(t)` and `for i in t:` raise
    `OperatorNotAllowedInGraphError`.

    Reported:
    - `.numpy()` and `.item()` of a tensor, in code that must be traced
    - `float(t)`, `int(t)`, `range(t)`, `if t:`, `while t:`, `bool(t)` and `for i in t:` in the methods of Keras 3's
      layers and models, and in its losses and metrics

    Not reported:
    - code that need not be traced. The following must be traced: code under `tf.function`; a model or layer class that
      the same file instantiates and fits, or that a `tf.function` calls; the losses and metrics of a model that the
      file compiles and fits
    - what AutoGraph converts in Keras 2 and under `tf.function`
    - shapes and dtypes, and lists of tensors
    - programs that may switch on `run_eagerly` or `run_functions_eagerly` for more than debugging
    - code under conditions whose value is not known
    - code that `tf.py_function` runs

    Measured: with TensorFlow 2.21 (Keras 3.15) all of these raise; with 2.15 (Keras 2.15), only `.numpy()` and
    `.item()` do. A test repeats it with the installed TensorFlow.

    Fix: none, because the code that needs the value has to be rewritten with TensorFlow's operations, or moved out of
    the function.

    Example:
        import tensorflow as tf


        @tf.function
        def step(x):
            loss = tf.reduce_mean(tf.square(x))
            return loss.numpy()

    Use instead:
        import tensorflow as tf


        @tf.function
        def step(x):
            loss = tf.reduce_mean(tf.square(x))
            return loss
    """

    code = "TFG104"
    name = "host-value-in-call"
    severity = "error"
    required_substrings = (TRACING_SUBSTRINGS,)
    nearby_substrings = (b".numpy()", b".item()", b".fit(", b".evaluate(", b".predict(", b"_on_batch(", b"tf.function")
    skips_tests = True
    skips_graphs = True
    skips_other_backends = True

    def check(self, model: Model) -> Iterator[Finding]:
        """Yield the places that ask a symbolic tensor for its value."""
        for value in model.once(HostValues).asked(converts=model.target.keras < 3):
            if model.once(TracedCode).may_run_eagerly:
                return
            yield _finding(value, may_be_compiled=model.once(XlaCompilations).may_be_compiled(value.traced))

    def experiments(self, finding: Finding, model: Model) -> Iterator[Experiment]:
        """The same with a tensor of the rule's own: no tensor has a value while it is traced."""
        use = finding.subject_as(HostValue).use
        yield Experiment(
            finding.file, finding.node, exceptions=(_RAISES[use],), workload=_WORKLOADS[use], only_workload=True
        )


_RAISES: dict[ValueUse, str] = {
    "read": "AttributeError",
    "number": "TypeError",
    "condition": "OperatorNotAllowedInGraphError",
    "loop": "OperatorNotAllowedInGraphError",
}
_HELP: dict[ValueUse, str] = {
    "read": "compute with the tensor, or read its value outside of what is traced",
    "number": "compute with the tensor itself, cast with `tf.cast`; static sizes are in `x.shape`",
    "condition": "use `tf.where` or `tf.cond` (`keras.ops.where`, `keras.ops.cond`)",
    "loop": "use `tf.while_loop`, `tf.map_fn` or a Python `range`, or put `@tf.function` on the function",
}


def _finding(value: HostValue, *, may_be_compiled: bool) -> Finding:
    traced = value.traced
    who = "Keras" if traced.keras else "TensorFlow"
    if value.use != "read":
        who += " 3"
    asks = {"read": "has no value", "number": "is not a number"}.get(value.use, "cannot decide")
    return Finding(
        traced.file,
        value.place,
        f"{value.text} on a tensor raises {_RAISES[value.use]}: it {asks} while {who} traces {traced.entry}",
        Prediction("crash", ("traced",), basis=f"{_RAISES[value.use]}; measured with TensorFlow 2.15 and 2.21"),
        help=_HELP[value.use] + ("; `tf.print` shows it" if value.use == "read" and not may_be_compiled else ""),
        notes=notes_on(traced.frames),
        subject=value,
    )


def _in_layer(before: str, after: str) -> Workload:
    return Workload(
        before=f"""
        import numpy as np
        import tensorflow as tf

        class Layer(tf.keras.layers.Layer):
            def call(self, x):
                return {before}

        tflint_measure.finish(outputs=tf.keras.Sequential([Layer()]).predict(np.ones((2, 3)), verbose=0))
        """,
        changes=((before, after),),
    )


_WORKLOADS: dict[ValueUse, Workload] = {
    "read": Workload(
        before="""
        import tensorflow as tf

        @tf.function
        def step(x):
            return tf.reduce_mean(x).numpy()

        tflint_measure.finish(outputs=[float(step(tf.ones((2,))))])
        """,
        changes=((".numpy()", ""),),
    ),
    "number": _in_layer("x * float(x[0, 0])", "x * x[0, 0]"),
    "condition": _in_layer("x if tf.reduce_sum(x) > 0 else 2 * x", "tf.where(tf.reduce_sum(x) > 0, x, 2 * x)"),
    "loop": _in_layer("sum(x * float(2) for _ in tf.range(3))", "sum(x * float(2) for _ in range(3))"),
}
