"""TFG106 variable-in-call."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from tflint_gpu.model import FUNCTIONAL_API, TRACING_SUBSTRINGS, CreatedState, is_for_tensorflow_1
from tflint_gpu.rule import Experiment, Finding, Note, Prediction, Rule, Workload, notes_on

from .moved_layers import made_in_init

if TYPE_CHECKING:
    from tflint_gpu.model import Created, Model


class VariableInCall(Rule):
    """Traced code creates a variable, a layer with weights or an optimizer in every call.

    Why: `tf.function` traces a function a second time if the first trace created variables. It raises if the second
    trace creates some again: `ValueError: tf.function only supports singleton tf.Variables created on the first call`.
    Keras traces `call`, `train_step` and similar methods in `fit` and `predict`. If this code does run, because it is
    called eagerly, every call starts with new values, so nothing is learned.

    Reported:
    - a new `tf.Variable` or a new layer with weights, in traced code
    - a new metric or optimizer: they hold variables too
    - with Keras 3, a new layer that draws random numbers, such as `Dropout`: it holds variables too

    Not reported:
    - layers without weights (`Flatten`, `Softmax`, `Add`) and loss objects, which may be made anywhere
    - what is created under a test such as `if self.v is None:` (`if self.training:` does not count: in that mode every
      call runs it)
    - functions with an unknown decorator
    - code in `tf.init_scope`
    - functions that the code calls only to show that they raise

    Measured: with TensorFlow 2.21 (Keras 3.15) and 2.15 (Keras 2.15), all of `tf.Variable`, Keras's layers with
    weights, its optimizers and metrics raised in a `tf.function`, and in `fit` and `predict` from `call` and from a
    `train_step`; `Dropout` with Keras 3 only. A test repeats it with the installed TensorFlow.

    Fix: unsafe: in eager calls, a layer that was new in every call now keeps its weights. There is a fix for layers
    that a method makes and calls in one expression, in a class whose `__init__` calls that of its base class. There is
    no fix for other variables: the code does not say whether they should live as long as the object or as one call.

    Example:
        import tensorflow as tf


        class Encoder(tf.keras.layers.Layer):
            def __init__(self):
                super().__init__()
                self.scale = 0.5

            def call(self, inputs):
                return self.scale * tf.keras.layers.Dense(64)(inputs)

    Use instead:
        import tensorflow as tf


        class Encoder(tf.keras.layers.Layer):
            def __init__(self):
                super().__init__()
                self.dense = tf.keras.layers.Dense(64)
                self.scale = 0.5

            def call(self, inputs):
                return self.scale * self.dense(inputs)
    """

    code = "TFG106"
    name = "variable-in-call"
    severity = "error"
    least_tensorflow = (2, 0)
    required_substrings = (TRACING_SUBSTRINGS,)
    nearby_substrings = (
        b"Variable(",
        b"layers",
        b"optimizers",
        b"metrics",
        b"Generator",
        b"add_weight",
        b"applications",
    )
    fixable = "unsafe"
    skips_tests = True
    skips_graphs = True
    skips_other_backends = True

    def check(self, model: Model) -> Iterator[Finding]:
        """Yield the first creation in each traced function; the others are notes."""
        for first, *others in model.once(CreatedState).in_every_call:
            if model.once(is_for_tensorflow_1):
                return
            yield _finding(model, first, others)

    def experiments(self, finding: Finding, model: Model) -> Iterator[Experiment]:
        """A traced function with a variable: that TensorFlow refuses it does not depend on the user's code."""
        yield Experiment(finding.file, finding.node, exceptions=("ValueError",), workload=_WORKLOAD, only_workload=True)


_WORKLOAD = Workload(
    before="""
        import tensorflow as tf

        once = tf.keras.layers.Dense(8)

        @tf.function
        def encode(inputs):
            return tf.keras.layers.Dense(8)(inputs)

        tflint_measure.finish(outputs=encode(tf.ones((4, 8))).shape)
    """,
    changes=(("return tf.keras.layers.Dense(8)(inputs)", "return once(inputs)"),),
)


def _finding(model: Model, created: Created, others: list[Created]) -> Finding:
    traced, call = created.traced, created.call
    what = f"{created.what} (since Keras 3)" if created.since_keras_3 else created.what
    occasions = ", ".join(occasion for occasion in traced.start.occasions if occasion != FUNCTIONAL_API)
    when = f"Keras traces it ({occasions})" if traced.keras else "TensorFlow traces it"
    where = f" with `{created.mode}`" if created.mode else ""
    is_eager_too = traced.keras and not created.since_keras_3
    eagerly = "; if it is called eagerly, each call starts with new values" if is_eager_too else ""
    notes = [*notes_on(traced.frames)]
    notes += [Note(traced.file, other.call.func, "this is created in every call, too") for other in others]
    return Finding(
        traced.file,
        call.func,
        f"`{traced.file.code(call.func)}` creates {what} in every call of {traced.entry}{where}: "
        f"it raises when {when}{eagerly}",
        Prediction(
            "crash", ("traced",), basis="ValueError: only singleton variables; measured with TensorFlow 2.15 and 2.21"
        ),
        help=_help(created),
        fix=made_in_init(model, [created, *others]),
        notes=tuple(notes),
    )


def _help(created: Created) -> str:
    if created.traced.function.owner is None:
        return "create it once, before the function, and let the function use it"
    return "create it once: in `__init__`, in `build`, or under `if self.... is None:`"
