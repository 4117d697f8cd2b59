"""TFG609: `TimeDistributed` around a `Dense` with Keras 3, and wrappers that are needed."""

from __future__ import annotations

from pathlib import Path

import pytest
from checks import codes, fixed

from tflint_gpu.targets import Target

HEAD = """
import tensorflow as tf
from tensorflow import keras
from tensorflow.keras import layers
from tensorflow.keras.layers import LSTM, Dense, Input, TimeDistributed

states = layers.LSTM(8, return_sequences=True)(Input((30, 4)))
model = keras.Sequential([Input((30, 4)), LSTM(8, return_sequences=True)])
"""
FOUND = {
    "functional": "out = layers.TimeDistributed(layers.Dense(1))(states)",
    "added": "model.add(TimeDistributed(Dense(10, activation='softmax')))",
    "in a list": "model = keras.Sequential([LSTM(4, return_sequences=True), TimeDistributed(Dense(3), name='tags')])",
    "a layer with a name": "head = Dense(4)\nout = TimeDistributed(head)(states)",
    "an activation of Keras": "out = TimeDistributed(Dense(2, activation=keras.activations.tanh))(states)",
    "no activation": "out = TimeDistributed(Dense(2, activation=None))(states)",
    "by keyword": "out = TimeDistributed(layer=tf.keras.layers.Dense(2))(states)",
    "made by a function": "def head(size):\n    return Dense(size)\nout = TimeDistributed(head(3))(states)",
}
SILENT = {
    "convolutions": "out = TimeDistributed(layers.Conv2D(8, 3))(Input((10, 28, 28, 1)))",
    "flattening": "out = TimeDistributed(layers.Flatten())(Input((10, 28, 28, 1)))",
    "a network": "encoder = keras.Sequential([layers.Conv2D(8, 3), Dense(4)])\nout = TimeDistributed(encoder)(Input((9, 8, 8, 1)))",
    "either": "out = TimeDistributed(Dense(3) if tf.executing_eagerly() else layers.Flatten())(Input((9, 8, 8)))",
    "an activation that sees the other steps": (
        "def shares(x):\n    return x / tf.reduce_sum(x)\nout = TimeDistributed(Dense(3, activation=shares))(states)"
    ),
    "an activation that nothing is known of": "import mine\nout = TimeDistributed(Dense(3, mine.squash))(states)",
    "a penalty for each step": "out = TimeDistributed(Dense(3, activity_regularizer='l2'))(states)",
    "unknown": "from elsewhere import head\nout = TimeDistributed(head)(states)",
    "another one": "from mine import TimeDistributed\nout = TimeDistributed(Dense(3))(states)",
    "alone": "out = Dense(3)(states)",
}


@pytest.mark.parametrize("code", FOUND.values(), ids=FOUND)
def test_a_needless_wrapper_is_found(code: str, tmp_path: Path) -> None:
    assert codes(HEAD + code, tmp_path) == ["TFG609"]


@pytest.mark.parametrize("code", SILENT.values(), ids=SILENT)
def test_a_wrapper_that_is_needed_is_silent(code: str, tmp_path: Path) -> None:
    assert "TFG609" not in codes(HEAD + code, tmp_path)


@pytest.mark.parametrize("code", FOUND.values(), ids=FOUND)
def test_keras_2_reshapes(code: str, tmp_path: Path) -> None:
    assert codes(HEAD + code, tmp_path, target=Target(tensorflow=(2, 15), keras=2, source="test")) == []


@pytest.mark.parametrize(
    ("case", "line"),
    [
        ("functional", "out = layers.Dense(1)(states)"),
        ("added", "model.add(Dense(10, activation='softmax'))"),
        ("a layer with a name", "out = head(states)"),
        ("in a list", FOUND["in a list"]),
    ],
)
def test_the_fix_leaves_the_layer(case: str, line: str, tmp_path: Path) -> None:
    assert fixed(HEAD + FOUND[case], tmp_path, "TFG609").splitlines()[-1] == line


def test_there_is_no_fix_where_the_wrapper_is_asked_for_its_layer(tmp_path: Path) -> None:
    code = HEAD + "each = TimeDistributed(Dense(4))\nout = each(states)\nprint(each.layer.units)"
    assert codes(code, tmp_path) == ["TFG609"]
    assert fixed(code, tmp_path, "TFG609") == code


def test_alone_it_does_the_same_in_fewer_operations() -> None:
    """Protects the claim, with the installed Keras: equal results and weights, and a graph that does not grow."""
    tf = pytest.importorskip("tensorflow")
    dense = tf.keras.layers.Dense(3)
    wrapped = tf.keras.layers.TimeDistributed(dense)
    x = tf.random.normal((2, 12, 5))
    tf.debugging.assert_near(wrapped(x), dense(x))
    assert [weight.shape for weight in wrapped.weights] == [weight.shape for weight in dense.weights]

    def products(layer: object, steps: int) -> int:
        graph = tf.function(lambda x: layer(x)).get_concrete_function(tf.TensorSpec((2, steps, 5))).graph  # type: ignore[operator]
        return sum(node.type in ("MatMul", "BatchMatMulV2", "Tensordot") for node in graph.get_operations())

    assert (products(dense, 12), products(dense, 24)) == (1, 1)
    if int(tf.keras.__version__.partition(".")[0]) >= 3:
        assert (products(wrapped, 12), products(wrapped, 24)) == (12, 24)
