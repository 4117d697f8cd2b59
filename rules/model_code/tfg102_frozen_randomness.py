"""TFG102 frozen-randomness."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import libcst as cst

from tflint_gpu.model import (
    CLOCKS,
    TRACING_SUBSTRINGS,
    FrozenValues,
    MappedCode,
    TracedCode,
    drawn_in_graph,
)
from tflint_gpu.rule import Experiment, Finding, Prediction, Rule, Workload, draw_in_graph, notes_on

from .drawn_orders import drawn_order

if TYPE_CHECKING:
    from tflint_gpu.model import Model, Traced


class FrozenRandomness(Rule):
    """A random number is drawn, or the time is read, in Python, in code that TensorFlow traces.

    Why: Python runs once, while TensorFlow traces the function, and its result becomes a constant of the graph. Noise,
    augmentation or a random decision for teacher forcing is then the same in every later step. `time.time()` is the
    moment of tracing. Keras traces `call`, `train_step` and similar methods in `fit`, `predict` and the functional API.

    Reported:
    - a random number from Python or NumPy, or the time, in code that Keras or `tf.function` traces

    Not reported:
    - seeds of TensorFlow's own random operations
    - draws after a seed that the same function sets: the numbers are meant to be constant
    - values made once under `if self.x is None:`
    - code inside `tf.py_function`
    - files that turn on `run_eagerly`
    - functions given to a dataset's `map`, which TFG309 reports

    Measured: with TensorFlow 2.21 (Keras 3.15) and 2.15 (Keras 2.15), `np.random.normal()` and `random.random()` in
    `call` gave one value for all four batches of a `predict` and for a second `predict`; `tf.random.normal` gave four
    different values; `np.random` and `time.time()` in a `tf.function` gave one value in four calls. A test repeats it
    with the installed TensorFlow.

    Fix: unsafe: the number becomes a tensor that is drawn in every step, of float32 or of the dtype of the tensor that
    it is combined with. If the program draws the order in which a loop applies functions of `tf.image`, the fix draws a
    new order in every step, too. There is no fix where Python needs the number itself (which function comes next, the
    order of another list). There is no fix for clocks: nothing in a graph makes `tf.timestamp` wait for the operations
    that it is meant to time.

    Example:
        import numpy as np
        import tensorflow as tf


        class Noise(tf.keras.layers.Layer):
            def call(self, inputs):
                return inputs + np.random.normal(scale=0.1)

    Use instead:
        import numpy as np
        import tensorflow as tf


        class Noise(tf.keras.layers.Layer):
            def call(self, inputs):
                return inputs + tf.random.normal([], stddev=0.1)
    """

    code = "TFG102"
    name = "frozen-randomness"
    severity = "error"
    required_substrings = (TRACING_SUBSTRINGS,)
    nearby_substrings = (b"random", b"time", b"uuid")
    fixable = "unsafe"
    skips_other_backends = True

    def check(self, model: Model) -> Iterator[Finding]:
        """Yield the draws and the clocks in what TensorFlow traces from this file."""
        for traced in model.once(TracedCode).functions:
            for call in traced.function.calls:
                name = model.once(FrozenValues).name_of(traced, call)
                if name is None or model.once(TracedCode).runs_once(traced.file, call):
                    continue
                if not model.once(MappedCode).tells_of(call):
                    yield _finding(model, traced, call, name)

    def experiments(self, finding: Finding, model: Model) -> Iterator[Experiment]:
        """A traced function with a draw: that Python runs once does not depend on the user's code."""
        yield Experiment(finding.file, finding.node, workload=_WORKLOAD, only_workload=True)


_WORKLOAD = Workload(
    before="""
        import numpy as np
        import tensorflow as tf

        @tf.function
        def noisy(x):
            return x + np.random.normal()

        values = {float(noisy(tf.zeros(()))) for _ in range(4)}
        if len(values) == 1:
            tflint_measure.finish(wrong="four steps see one random value")
        tflint_measure.finish()
    """,
    changes=(("np.random.normal()", "tf.random.normal(())"),),
)


def _finding(model: Model, traced: Traced, call: cst.Call, name: str) -> Finding:
    short = name.replace("numpy.", "np.", 1)
    who = "Keras traces" if traced.keras else "TensorFlow traces"
    where = f" ({', '.join(traced.start.occasions)})" if traced.keras else ""
    same = "gets the time of tracing" if name in CLOCKS else "gets the same value"
    return Finding(
        traced.file,
        call.func,
        f"`{short}` runs once, while {who} {traced.entry}{where}: every later step {same}",
        Prediction(
            "wrong-result",
            ("traced",),
            basis="one value in all steps of a trace; measured with TensorFlow 2.15 and 2.21",
        ),
        help=drawn_in_graph(name),
        fix=draw_in_graph(model, traced.file, call, name) or drawn_order(model, traced.file, call, name),
        notes=notes_on(traced.frames),
    )
