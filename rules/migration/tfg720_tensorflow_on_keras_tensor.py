"""TFG720 tensorflow-on-keras-tensor."""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from tflint_gpu.model import FunctionNode, Guards, Model, TracedFunctions, Tracing, is_keras_3, operation_named
from tflint_gpu.model.library.classes import INPUTS
from tflint_gpu.rule import Finding, Note, Prediction, Rule


class TensorflowOnKerasTensor(Rule):
    """A functional model is built with TensorFlow operations, which Keras 3 refuses.

    Why: the result of `keras.Input`, and of layers called on it, is not a tensor but a description of one. Keras 2
    turned each TensorFlow operation on it into a layer. Keras 3, which comes with TensorFlow 2.16, raises ValueError:
    "A KerasTensor cannot be used as input to a TensorFlow function". `keras.ops` has most operations under the same
    names, operators work as they are, and `call` of a layer may use all of TensorFlow.

    Reported:
    - a TensorFlow operation on the result of `keras.Input` or of a layer called on it

    Not reported:
    - code in layers, in `Lambda` and in traced code, which gets tensors

    Measured: each operation raises with TensorFlow 2.21 and Keras 3.15, and the programs run with 2.15.

    Fix: none, because operations of Keras take some arguments under other names, and a model with a layer around the
    operation is saved differently.

    Example:
        import tensorflow as tf

        inputs = tf.keras.Input((32, 32, 3))
        x = tf.keras.layers.Conv2D(8, 3)(inputs)
        model = tf.keras.Model(inputs, tf.reduce_mean(x, axis=[1, 2]))

    Use instead:
        import tensorflow as tf
        import keras

        inputs = tf.keras.Input((32, 32, 3))
        x = tf.keras.layers.Conv2D(8, 3)(inputs)
        model = tf.keras.Model(inputs, keras.ops.mean(x, axis=[1, 2]))
    """

    code = "TFG720"
    name = "tensorflow-on-keras-tensor"
    severity = "error"
    least_tensorflow = (2, 16)
    required_substrings = ((b"Input(",),)
    skips_graphs = True
    skips_other_backends = True

    def check(self, model: Model) -> Iterator[Finding]:
        """Yield the first operation in each function that gets a symbolic Keras tensor, with the others."""
        if not model.once(is_keras_3) or not any(True for _ in model.calls(*INPUTS)):
            return
        calls: dict[FunctionNode | None, list[cst.Call]] = {}
        for call in model.file.tree.calls:
            if _is_of_tensorflow(model.name(call.func) or "") and _gets_keras_tensor(model, call):
                calls.setdefault(model.file.tree.function(call), []).append(call)
        for first, *others in calls.values():
            version = ".".join(map(str, model.target.tensorflow))
            yield Finding(
                model.file,
                first.func,
                f"`{model.name(first.func)}` gets a symbolic Keras tensor: with Keras 3, which comes with TensorFlow "
                f"{version}, this raises ValueError",
                Prediction("crash", ("tensorflow>=2.16",), basis="each operation was tested with TensorFlow 2.21"),
                help="use `keras.ops`, an operator, or a layer with the operation in its `call`",
                notes=tuple(Note(model.file, other.func, "and here") for other in others),
            )


def _is_of_tensorflow(name: str) -> bool:
    is_other = name.startswith(("tf.keras.", "tf.compat.", "tf.experimental."))
    return name.startswith("tf.") and not is_other and bool(operation_named(name).shape)


def _gets_keras_tensor(model: Model, call: cst.Call) -> bool:
    """Whether a call certainly gets one, in code that builds a model."""
    function = model.file.tree.function(call)
    while function is not None:
        if model.file.tree.class_of(function) is not None or model.once(Tracing).is_traced(model.file, function):
            return False
        function = model.file.tree.function(function)
    if model.once(Guards).keeps_tensors_out(model.file, call):
        return False
    given = [arg.value for arg in call.args]
    listed = [e.value for value in given if isinstance(value, cst.List | cst.Tuple) for e in value.elements]
    return model.once(TracedFunctions).symbolic.holds_tensor(model.file, [*given, *listed], None)
