"""TFG609 needless-time-distributed."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import TYPE_CHECKING

import libcst as cst

from tflint_gpu.model import argument
from tflint_gpu.model.library.keras_methods import OF_LAST_AXIS
from tflint_gpu.rule import Edit, Experiment, Finding, Fix, Prediction, Rule, Workload

if TYPE_CHECKING:
    from tflint_gpu.model import Model, Origin


class NeedlessTimeDistributed(Rule):
    """`TimeDistributed` calls a `Dense` once for each time step, in a graph that grows with the sequence's length.

    Why: Keras 3 unrolls `TimeDistributed`: the graph has the layer once for each time step, and each is a separate
    operation for a GPU. With 500 steps the first `fit` or `predict` traces and optimizes for half a minute. A `Dense`
    works on the last axis, whatever axes are before it, so alone it gives the same numbers in one operation.

    Reported:
    - with Keras 3, a `TimeDistributed` around a `Dense`

    Not reported:
    - Keras 2, which reshapes instead and loses nothing
    - other layers, such as `Conv2D` for each frame of a video, whose input has one axis less

    Measured: TensorFlow 2.21 with Keras 3.15 on two CPU cores, sequences of 25, 50 and 500 steps: the first `predict`
    took 4.6, 15 and 75 times as long (1.5, 5.5 and 22 seconds), the first training step 2.6, 5.3 and 22 times, later
    training steps 1.1 to 2.5, 1.2 to 2.2 and 2.2 to 3.4 times. The results are equal. With Keras 2.15 there was no
    difference.

    Fix: unsafe: the layer gets another name, and saved weights and `get_layer` may refer to it by the old one. There is
    no fix where `TimeDistributed` has other arguments, or where the program reads its `.layer`.

    Example:
        from tensorflow import keras
        from tensorflow.keras import layers

        inputs = keras.Input((200, 16))
        states = layers.LSTM(64, return_sequences=True)(inputs)
        model = keras.Model(inputs, layers.TimeDistributed(layers.Dense(1))(states))

    Use instead:
        from tensorflow import keras
        from tensorflow.keras import layers

        inputs = keras.Input((200, 16))
        states = layers.LSTM(64, return_sequences=True)(inputs)
        model = keras.Model(inputs, layers.Dense(1)(states))
    """

    code = "TFG609"
    name = "needless-time-distributed"
    required_substrings = ((b"TimeDistributed(",), (b"Dense",))
    fixable = "unsafe"
    skips_tests = True
    skips_graphs = True
    skips_other_backends = True

    def check(self, model: Model) -> Iterator[Finding]:
        """Yield the wrappers of layers that need none."""
        if model.target.keras < 3:
            return
        for call in model.file.calls("keras.layers.TimeDistributed"):
            layer = argument(call, 0, "layer")
            if layer is None or not model.inference.must_be(model.file, layer, partial(_works_on_last_axis, model)):
                continue
            is_asked = any(node.attr.value == "layer" for node in model.file.tree.nodes(cst.Attribute))
            alone = len(call.args) == 1 and not call.args[0].star and not is_asked
            yield Finding(
                model.file,
                call.func,
                "Keras 3 calls and traces this `Dense` once for each time step; without `TimeDistributed`, one call "
                "handles all time steps",
                _PREDICTION,
                help="use the `Dense` without `TimeDistributed`: it works on the last axis",
                fix=Fix("Use the layer alone", "unsafe", (Edit(call, model.file.code(layer)),)) if alone else None,
            )

    def experiments(self, finding: Finding, model: Model) -> Iterator[Experiment]:
        """A model of the rule's own: how long the user's sequences are is rarely known."""
        yield Experiment(finding.file, finding.node, workload=_WORKLOAD, only_workload=True)


def _works_on_last_axis(model: Model, origin: Origin) -> bool:
    """Whether a value is a layer that needs no wrapper; one that penalizes its output counts the steps."""
    call = origin.call
    if origin.made_by not in OF_LAST_AXIS or call is None or argument(call, -1, "activity_regularizer") is not None:
        return False
    given = argument(call, 1, "activation")
    activations = model.inference.of(origin.file, given, origin.context) if given is not None else ()
    return all(_is_of_keras(activation) for activation in activations) and (given is None or bool(activations))


def _is_of_keras(activation: Origin) -> bool:
    """Whether it is no function of the program, which may reduce over all axes."""
    name = activation.name or activation.made_by or ""
    return activation.is_none or isinstance(activation.node, cst.SimpleString) or name.startswith(_ACTIVATIONS)


_ACTIVATIONS = ("keras.activations.", "tf.nn.")
_PREDICTION = Prediction(
    "slowdown",
    ("training", "inference"),
    low=1.0,
    high=80.0,
    basis="25 to 500 time steps on a CPU with Keras 3.15: most in the first step, 1.1 to 3.4 times in later ones",
)
_WORKLOAD = Workload(
    before="""
        import tensorflow as tf

        inputs = tf.keras.Input((60, 16))
        outputs = tf.keras.layers.TimeDistributed(tf.keras.layers.Dense(32))(inputs)
        model = tf.keras.Model(inputs, outputs)
        model.compile(optimizer="adam", loss="mse")
        x, y = tf.ones((32, 60, 16)), tf.zeros((32, 60, 32))

        for _ in tflint_measure.steps(range(8)):
            model.train_on_batch(x, y)
    """,
    changes=(("tf.keras.layers.TimeDistributed(tf.keras.layers.Dense(32))", "tf.keras.layers.Dense(32)"),),
)
