"""TFG601: arguments that certainly rule the cuDNN kernel out are found; those that do not, or may not, are silent."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from checks import NEWEST, codes, findings, found, notebook

from tflint_gpu.targets import Target

HEAD = """
import tensorflow as tf
from tensorflow import keras
from tensorflow.keras import layers
"""
GENERIC = {
    "activation": "layer = layers.LSTM(4, activation='relu')",
    "activation by position": "layer = layers.GRU(4, 'relu')",
    "activation function": "layer = layers.LSTM(4, activation=keras.activations.relu)",
    "TensorFlow's function": "layer = layers.LSTM(4, activation=tf.nn.elu)",
    "no activation": "layer = layers.LSTM(4, activation=None)",
    "lambda": "layer = layers.GRU(4, activation=lambda x: x)",
    "layer as activation": "layer = layers.LSTM(4, activation=layers.LeakyReLU())",
    "recurrent activation": "layer = layers.LSTM(4, recurrent_activation='hard_sigmoid')",
    "recurrent dropout": "layer = layers.LSTM(4, dropout=0.2, recurrent_dropout=0.2)",
    "unroll": "layer = layers.GRU(4, unroll=True)",
    "no bias": "layer = layers.LSTM(4, use_bias=False)",
    "reset before": "layer = layers.GRU(4, reset_after=False)",
    "in Bidirectional": "layer = layers.Bidirectional(layers.LSTM(4, activation='relu'))",
    "in a model": "model = keras.Sequential()\nmodel.add(layers.LSTM(4, activation='relu', input_shape=(8, 1)))",
    "constant": "RATE = 0.3\nlayer = layers.LSTM(4, recurrent_dropout=RATE)",
    "dictionary": "CFG = dict(units=4, activation='relu')\nlayer = layers.LSTM(**CFG)",
    "parameter": "def rnn(units, act):\n    return layers.LSTM(units, activation=act)\nrnn(4, 'relu')",
    "attribute": "class Net(keras.Model):\n    def __init__(self):\n        super().__init__()\n        self.rate = 0.1\n"
    "        self.rnn = layers.LSTM(4, recurrent_dropout=self.rate)",
    "subclassed model": "class Net(keras.Model):\n    def __init__(self):\n        super().__init__()\n"
    "        self.rnn = layers.GRU(4, activation='relu')",
    "cell": "layer = layers.RNN(layers.LSTMCell(4))",
    "cell with a name": "cell = layers.GRUCell(4)\nlayer = layers.RNN(cell, return_sequences=True)",
    "a list of cells": "layer = layers.RNN([layers.GRUCell(4) for _ in range(depth)])",
    "stacked cells": "layer = layers.RNN(layers.StackedRNNCells([layers.LSTMCell(4), layers.LSTMCell(8)]))",
    "cells of a factory": "def pick(kind):\n    if kind == 'a':\n        return layers.LSTMCell\n    elif kind == 'b':\n"
    "        return layers.GRUCell\n    return layers.SimpleRNNCell\nclass Coder:\n    def __init__(self, kind):\n"
    "        self.kind = kind\n    def make(self, n):\n        cells = [pick(self.kind)(units=n) for _ in range(n)]\n"
    "        return layers.RNN(cells)",
    "cell with dropout": "layer = layers.RNN(layers.LSTMCell(4, dropout=0.1))",
}
NOT_GENERIC = {
    "defaults": "layer = layers.LSTM(4)",
    "defaults written out": "layer = layers.LSTM(4, 'tanh', 'sigmoid', True, recurrent_dropout=0, unroll=False)",
    "defaults of GRU": "layer = layers.GRU(4, activation='tanh', reset_after=True)",
    "functions": "layer = layers.LSTM(4, activation=tf.nn.tanh, recurrent_activation=tf.sigmoid)",
    "Keras's functions": "layer = layers.LSTM(4, activation=keras.activations.tanh)",
    "dropout": "layer = layers.LSTM(4, dropout=0.5)",
    "recurrent dropout of nothing": "layer = layers.LSTM(4, recurrent_dropout=0.0)",
    "chosen": "layer = layers.LSTM(4, activation='relu', use_cudnn=False)",
    "unknown activation": "def rnn(act):\n    return layers.LSTM(4, activation=act)",
    "unknown rate": "layer = layers.LSTM(4, recurrent_dropout=args.rate)",
    "one of two": "layer = layers.LSTM(4, activation='relu' if fast else 'tanh')",
    "one of two callers": "def rnn(act):\n    return layers.LSTM(4, activation=act)\nrnn('relu')\nrnn('tanh')",
    "own function": "def squash(x):\n    return tf.tanh(x)\nlayer = layers.LSTM(4, activation=squash)",
    "activation layer": "layer = layers.LSTM(4, activation=layers.Activation('tanh'))",
    "reset_after of LSTM's own": "layer = layers.LSTM(4, **{'units2': 4})",
    "simple RNN, which has no kernel": "layer = layers.SimpleRNN(4, activation='relu')",
    "ConvLSTM, which has no kernel": "layer = layers.ConvLSTM2D(4, 3, activation='relu')",
    "cells of which no layer replaces some": "layer = layers.RNN([layers.LSTMCell(4), layers.LSTMCell(4, unroll=True, activation='relu')])",
    "own cells among others": "class Cell(layers.Layer):\n    pass\nlayer = layers.RNN([layers.LSTMCell(4), Cell()])",
    "simple cells": "layer = layers.RNN([layers.SimpleRNNCell(4)])",
    "own cell": "class Cell(layers.Layer):\n    pass\nlayer = layers.RNN(Cell())",
    "cell that no layer replaces": "layer = layers.RNN(layers.LSTMCell(4, activation='relu'))",
    "cell run step by step": "cell = layers.LSTMCell(4)\nlayer = layers.RNN(cell)\nfor x in xs:\n    y, s = cell(x, s)",
    "cell alone": "cell = layers.LSTMCell(4, activation='relu')",
    "class of the project": "class LSTM(layers.Layer):\n    pass\nlayer = LSTM(4, activation='relu')",
    "PyTorch": "import torch\nlayer = torch.nn.LSTM(4, 4, bias=False)",
    "another backend": "import os\nos.environ['KERAS_BACKEND'] = 'torch'\nlayer = layers.LSTM(4, activation='relu')",
    "on the CPU": "with tf.device('/CPU:0'):\n    layer = layers.LSTM(4, activation='relu')",
    "TPU": "strategy = tf.distribute.TPUStrategy(tf.distribute.cluster_resolver.TPUClusterResolver())\n"
    "layer = layers.LSTM(4, unroll=True)",
    "TensorFlow Lite": "layer = layers.LSTM(4, unroll=True)\nc = tf.lite.TFLiteConverter.from_keras_model(m)",
    "XLA": "layer = layers.LSTM(4, unroll=True)\nmodel.compile(loss='mse', jit_compile=True)",
    "comment": "# layers.LSTM(4, activation='relu')\nlayer = layers.LSTM(4)",
}


def _table(cases: dict[str, str]) -> pytest.MarkDecorator:
    return pytest.mark.parametrize("code", cases.values(), ids=cases.keys())


@_table(GENERIC)
def test_a_generic_layer_is_found(code: str, tmp_path: Path) -> None:
    """Protects recall: each condition of Keras's own, however the argument comes."""
    assert codes(HEAD + code, tmp_path) == ["TFG601"]


@_table(NOT_GENERIC)
def test_other_layers_are_not_found(code: str, tmp_path: Path) -> None:
    """Protects precision: what the kernel computes, what is not known, and what is chosen."""
    assert "TFG601" not in codes(HEAD + code, tmp_path)


def test_two_arguments_are_one_finding(tmp_path: Path) -> None:
    code = HEAD + "layer = layers.LSTM(4, recurrent_dropout=0.1, activation='relu')"
    ((_, finding),) = findings(code, tmp_path)
    assert finding.message == (
        "`recurrent_dropout=0.1` and `activation='relu'` keep Keras 3 from using the cuDNN kernel for this LSTM on a GPU"
    )


@pytest.mark.parametrize(
    ("release", "expected"),
    [(None, set()), ((3, 0), {("TFG601", 5)}), ((3, 3), {("TFG601", 5)}), ((3, 4), set()), ((3, 15), set())],
)
def test_dropout_counts_until_keras_3_4(
    release: tuple[int, int] | None, expected: set[tuple[str, int]], tmp_path: Path
) -> None:
    """Protects both sides of the change, as Keras's own wheels have it."""
    target = replace(NEWEST, keras_release=release)
    assert found(HEAD + "layer = layers.LSTM(4, dropout=0.5)\n", tmp_path, target=target) == expected


def test_a_constant_of_another_file_is_found(tmp_path: Path) -> None:
    (tmp_path / "config.py").write_text("ACTIVATION = 'relu'\n")
    code = (
        "from tensorflow.keras.layers import LSTM\nfrom config import ACTIVATION\nx = LSTM(4, activation=ACTIVATION)\n"
    )
    assert found(code, tmp_path) == {("TFG601", 3)}


def test_a_notebook_is_read(tmp_path: Path) -> None:
    text = notebook("from keras.layers import GRU\nlayer = GRU(8, reset_after=False)")
    assert {code for code, _ in found(text, tmp_path, "x.ipynb")} == {"TFG601"}


def test_tensorflow_1_has_other_layers_for_it(tmp_path: Path) -> None:
    """Protects from a claim about TensorFlow 1, where only CuDNNLSTM uses the kernel."""
    code = HEAD + GENERIC["activation"]
    assert codes(code, tmp_path, target=Target((1, 15), 2, "settings")) == []
    assert codes(code, tmp_path, target=Target((2, 15), 2, "settings")) == ["TFG601"]


def test_tests_are_not_checked(tmp_path: Path) -> None:
    assert found(HEAD + GENERIC["activation"], tmp_path, "tests/rnn.py") == set()


def test_keras_has_these_conditions(monkeypatch: pytest.MonkeyPatch) -> None:
    """Protects the rule's facts: Keras's own answer, with a simulated GPU."""
    tf = pytest.importorskip("tensorflow")
    rnn = pytest.importorskip("keras.src.backend.tensorflow.rnn")
    monkeypatch.setattr(rnn, "_is_gpu_available", lambda: True)
    activations = tf.keras.activations
    lstm = {
        "activation": activations.tanh,
        "recurrent_activation": activations.sigmoid,
        "unroll": False,
        "use_bias": True,
    }
    gru = {**lstm, "reset_after": True}
    assert rnn.cudnn_ok(**lstm)
    assert rnn.cudnn_ok(**gru)
    assert rnn.cudnn_ok(**{**lstm, "activation": tf.nn.tanh})
    changes = {"activation": activations.relu, "recurrent_activation": activations.hard_sigmoid, "unroll": True}
    for name, value in {**changes, "use_bias": False, "reset_after": False}.items():
        assert not rnn.cudnn_ok(**{**gru, name: value}), name


LOADING = {
    "of a file": "net.load_weights('tuned.weights.h5')",
    "of another model": "net.layers[0].set_weights(other.layers[0].get_weights())",
    "of a checkpoint": "tf.train.Checkpoint(net=net).restore(tf.train.latest_checkpoint('kept'))",
}


@pytest.mark.parametrize("loading", LOADING.values(), ids=LOADING.keys())
@pytest.mark.parametrize("layer", ["layers.GRU(3, reset_after=False)", "layers.RNN(layers.LSTMCell(3))"])
def test_no_fix_where_weights_are_loaded(layer: str, loading: str, tmp_path: Path) -> None:
    """Protects trained models: their weights do not fit, or mean something else in, the layer that cuDNN runs."""
    code = HEAD + f"net = keras.Sequential([{layer}, layers.Dense(1)])\n"
    (alone,) = [f for rule, f in findings(code, tmp_path) if rule.code == "TFG601"]
    (finding,) = [f for rule, f in findings(code + loading, tmp_path) if rule.code == "TFG601"]
    assert alone.fix is not None
    assert finding.fix is None
    assert "loads weights" in (finding.help or "")


def test_weights_do_not_fit_the_other_layer(tmp_path: Path) -> None:
    """The truth of this with the installed TensorFlow: the weights that `reset_after=False` made are refused without."""
    tf = pytest.importorskip("tensorflow")

    def net(**settings: bool) -> Any:
        return tf.keras.Sequential([tf.keras.Input((None, 2)), tf.keras.layers.GRU(3, **settings)])

    net(reset_after=False).save_weights(tmp_path / "a.weights.h5")
    net(reset_after=False).load_weights(tmp_path / "a.weights.h5")
    with pytest.raises(ValueError):
        net().load_weights(tmp_path / "a.weights.h5")
