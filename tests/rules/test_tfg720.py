"""TFG720: operations of TensorFlow on symbolic Keras tensors, which Keras 3 refuses, and what may be done with them."""

from __future__ import annotations

import textwrap
from pathlib import Path

import pytest
import tensorflow as tf
from checks import codes, findings

from tflint_gpu.model.library.operations import operations
from tflint_gpu.targets import Target

HEAD = """
import tensorflow as tf
from tensorflow import keras
picture = keras.Input((8, 8, 3))
"""
FOUND = {
    "an input": "keras.Model(picture, tf.abs(picture))",
    "what a layer makes": "mixed = keras.layers.Conv2D(4, 3)(picture)\nkeras.Model(picture, tf.nn.relu(mixed))",
    "a list": "other = keras.Input((8, 8, 1))\nboth = tf.concat([picture, other], -1)",
    "a keyword": "flat = tf.reshape(tensor=picture, shape=(-1, 192))",
    "a method of a builder": (
        "def head(features):\n    pooled = keras.layers.GlobalMaxPooling2D()(features)\n"
        "    return tf.expand_dims(pooled, 1)\nhead(picture)"
    ),
    "a normal image": "ready = keras.layers.Rescaling(2.0)(tf.cast(picture, tf.float16))",
}
SILENT = {
    "operators": "keras.Model(picture, picture / 255.0 + 1.0)",
    "operations of Keras": "keras.Model(picture, keras.ops.abs(picture))",
    "a layer of the project": (
        "class Softer(keras.layers.Layer):\n    def call(self, x):\n        return tf.nn.softmax(x)\n"
        "keras.Model(picture, Softer()(picture))"
    ),
    "Lambda": "keras.Model(picture, keras.layers.Lambda(lambda x: tf.abs(x))(picture))",
    "a function for Lambda": (
        "def softer(x):\n    return tf.nn.softmax(x)\nkeras.Model(picture, keras.layers.Lambda(softer)(picture))"
    ),
    "what a model computes": "model = keras.Model(picture, picture * 2.0)\ntf.abs(model(tf.ones((1, 8, 8, 3))))",
    "sizes": "tf.ones((picture.shape[1], picture.shape[2]))",
    "a tensor beside it": "weights = tf.nn.softmax(tf.constant([1.0, 2.0]))",
    "an activation": "keras.layers.Dense(3, activation=tf.nn.relu)(picture)",
}


@pytest.mark.parametrize("text", FOUND.values(), ids=FOUND)
def test_operations_on_keras_tensors_are_found_and_raise(text: str, tmp_path: Path) -> None:
    assert codes(HEAD + text, tmp_path) == ["TFG720"]
    with pytest.raises(ValueError, match="A KerasTensor cannot be used"):
        exec(HEAD + text, {"__name__": "program"})


@pytest.mark.parametrize("text", SILENT.values(), ids=SILENT)
def test_what_keras_takes_is_silent_and_runs(text: str, tmp_path: Path) -> None:
    assert codes(HEAD + text, tmp_path) == []
    exec(HEAD + text, {"__name__": "program"})


def test_one_finding_names_all_of_a_function(tmp_path: Path) -> None:
    text = "both = tf.concat([tf.abs(picture), tf.square(picture)], -1)"
    (finding,) = (finding for _, finding in findings(HEAD + text, tmp_path))
    assert len(finding.notes) == 2


@pytest.mark.parametrize("first", ["import tf_keras", "import os\nos.environ['TF_USE_LEGACY_KERAS'] = '1'"])
def test_keras_2_is_left_alone(first: str, tmp_path: Path) -> None:
    assert codes(f"{first}{HEAD}{FOUND['an input']}", tmp_path) == []
    assert codes(HEAD + FOUND["an input"], tmp_path, target=Target((2, 15), 2, "settings")) == []


def test_the_operations_of_the_library_raise() -> None:
    """Protects the claim about each operation that the rule names, for those that take one tensor."""
    tried = 0
    image = tf.keras.Input((4, 4, 3))
    for name in sorted(name for name in operations() if name.startswith(("tf.math.", "tf.nn.", "tf.image."))):
        function = tf
        for part in name.split(".")[1:]:
            function = getattr(function, part, None)
        try:
            function(image)
        except ValueError as error:
            tried += "A KerasTensor cannot be used" in str(error)
        except (AttributeError, TypeError):  # it needs more arguments
            continue
        else:
            pytest.fail(f"{name} takes a Keras tensor")
    assert tried > 50


def test_a_program_with_keras_in_another_order(tmp_path: Path) -> None:
    program = textwrap.dedent("""
        from keras import Input, Model
        from keras.layers import Dense
        import tensorflow as tf

        def network():
            row = Input(shape=(12,))
            wide = Dense(40)(row)
            return Model(inputs=row, outputs=Dense(1)(tf.math.square(wide)))

        network()
    """)
    assert codes(program, tmp_path) == ["TFG720"]
