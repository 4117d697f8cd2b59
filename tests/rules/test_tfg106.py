"""TFG106: variables that traced code creates in every call are found; those made once, and layers without any, are not."""

from __future__ import annotations

from pathlib import Path

import pytest
from checks import codes, findings, found, notebook

from tflint_gpu.targets import Target

HEAD = """
import numpy as np
import tensorflow as tf
from tensorflow import keras
from tensorflow.keras import layers
"""
LAYER = "class Net(layers.Layer):\n    def __init__(self):\n        super().__init__()\n        self.v = None\n"
CALL = LAYER + "    def call(self, x, training=False):\n"
STEP = "@tf.function\ndef step(x):\n"
CREATED = {
    "variable in a tf.function": STEP + "    v = tf.Variable(1.0)\n    return x + v",
    "variable kept by the object": "class Count(tf.Module):\n    @tf.function\n    def __call__(self):\n"
    "        self.count = tf.Variable(0)\n        return self.count.assign_add(1)",
    "with a loop around it": STEP
    + "    for size in (1, 2):\n        x = x + tf.Variable(tf.zeros(size))\n    return x",
    "function given to tf.function": "def step(x):\n    return x + tf.Variable(1.0)\nfast = tf.function(step)",
    "layer in call": CALL + "        return layers.Dense(4)(x)",
    "layer by a local name": CALL + "        dense = layers.Dense(4)\n        return dense(x)",
    "layer by an attribute": CALL + "        self.dense = layers.Dense(4)\n        return self.dense(x)",
    "wrapped recurrent layer": CALL + "        return layers.Bidirectional(layers.LSTM(4))(x)",
    "recurrent cell": CALL + "        return layers.RNN(layers.SimpleRNNCell(4))(x)",
    "Sequential": CALL + "        return keras.Sequential([layers.Flatten(), layers.Dense(4)])(x)",
    "layer of the project": "class Own(layers.Layer):\n    def build(self, shape):\n"
    "        self.w = self.add_weight(shape=(4,))\n    def call(self, x):\n        return x * self.w\n"
    + CALL
    + "        return Own()(x)",
    "dropout, with Keras 3": CALL + "        return layers.Dropout(0.5)(x, training=training)",
    "in training only": CALL + "        if training:\n            x = layers.GaussianNoise(0.1)(x)\n        return x",
    "in one mode of the object": CALL
    + "        if not self.training:\n            x = tf.Variable(x)\n        return x",
    "in the object's training only": CALL
    + "        if self.is_training:\n            x = tf.Variable(x)\n        return x",
    "weight in call": CALL + "        return x * self.add_weight(shape=(4,))",
    "optimizer in train_step": "class M(keras.Model):\n    def train_step(self, data):\n"
    "        optimizer = keras.optimizers.Adam()\n        return self.run(data, optimizer)",
    "metric in a tf.function": STEP
    + "    mean = keras.metrics.Mean()\n    mean.update_state(x)\n    return mean.result()",
    "generator": STEP + "    return x + tf.random.Generator.from_seed(1).normal([4])",
    "generator by its class": STEP + "    return x + tf.random.Generator(state=[1, 2, 3], alg='philox').normal([4])",
    "generator by a key": STEP
    + "    return x + tf.random.Generator.from_key_counter(key=1, counter=[0, 0], alg='philox').normal([4])",
    "applications": STEP + "    return keras.applications.ResNet50()(x)",
    "helper function": "def project(x):\n    return layers.Dense(4)(x)\n" + CALL + "        return project(x)",
    "parameter": "def project(kind, x):\n    layer = kind\n    return x + tf.Variable(1.0)\n"
    + STEP
    + "    return project('a', x)",
    "helper method": LAYER
    + "    def project(self, x):\n        return layers.Conv2D(4, 3)(x)\n"
    + "    def call(self, x):\n        return self.project(x)",
    "after a test that raises": CALL + "        if x.shape[-1] != self.width:\n            raise ValueError(x.shape)\n"
    "        return layers.Dense(4)(x)",
    "dropout with a rate that the settings leave out": "class Net(layers.Layer):\n"
    "    def __init__(self, units, rate=0.1):\n        super().__init__()\n        self.rate = rate\n"
    "    def call(self, x):\n        return layers.Dropout(self.rate)(x)\nCFG = dict(units=3)\nnet = Net(**CFG)",
    "dropout with a rate of the layer": "class Net(layers.Layer):\n    def __init__(self, rate=0.1):\n"
    "        super().__init__()\n        self.rate = rate\n    def call(self, x):\n"
    "        return layers.Dropout(self.rate)(x)",
    "after an assertion": STEP + "    assert x.shape.rank == 2\n    return x + tf.Variable(1.0)",
    "own base class": "class Base(keras.Model):\n    pass\nclass Net(Base):\n    def call(self, x):\n"
    "        return layers.BatchNormalization()(x)",
    "loss function": "def loss(y, p):\n    return tf.Variable(2.0) * tf.abs(y - p)\n"
    "model = keras.Sequential()\nmodel.compile(optimizer='sgd', loss=loss)",
    "Lambda layer": "layer = layers.Lambda(lambda x: layers.Dense(4)(x))",
}
NOT_CREATED = {
    "under is None": CALL
    + "        if self.v is None:\n            self.v = tf.Variable(1.0)\n        return x * self.v",
    "by a conditional expression": CALL + "        self.v = tf.Variable(1.0) if self.v is None else self.v\n"
    "        return x * self.v",
    "after an early return": LAYER + "    def prepare(self):\n        if self.v is not None:\n            return\n"
    "        self.v = tf.Variable(1.0)\n    def call(self, x):\n        self.prepare()\n        return x * self.v",
    "by or": CALL + "        self.v = self.v or tf.Variable(1.0)\n        return x * self.v",
    "under a flag": CALL
    + "        if not self.ready:\n            self.v = tf.Variable(1.0)\n        return x * self.v",
    "under a mode that the call ends": CALL
    + "        if self.training:\n            self.v = tf.Variable(x)\n            self.training = False\n        return x",
    "in one mode, once": CALL
    + "        if self.training and self.v is None:\n            self.v = tf.Variable(x)\n        return x",
    "under a method": CALL
    + "        if self.needs_weights():\n            self.v = tf.Variable(1.0)\n        return x",
    "under elif": STEP
    + "    if KIND == 1:\n        return x\n    elif KIND == 2:\n        x = x + tf.Variable(1.0)\n    return x",
    "helper under is None": LAYER + "    def prepare(self):\n        self.v = tf.Variable(1.0)\n"
    "    def call(self, x):\n        if self.v is None:\n            self.prepare()\n        return x * self.v",
    "in an exception's handler": CALL + "        try:\n            v = self.w\n        except AttributeError:\n"
    "            self.w = tf.Variable(1.0)\n        return x * self.w",
    "run-once decorator": "from elsewhere import once\n" + LAYER + "    @once\n    def prepare(self):\n"
    "        self.v = tf.Variable(1.0)\n    def call(self, x):\n        self.prepare()\n        return x * self.v",
    "another decorator beside tf.function": "from elsewhere import once\n@once\n@tf.function\ndef make():\n"
    "    return tf.Variable(1.0)",
    "in __init__": "class Net(layers.Layer):\n    def __init__(self):\n        super().__init__()\n"
    "        self.dense = layers.Dense(4)\n    def call(self, x):\n        return self.dense(x)",
    "in build": "class Net(layers.Layer):\n    def build(self, shape):\n        self.w = tf.Variable(1.0)\n"
    "    def call(self, x):\n        return x * self.w",
    "layers without weights": CALL + "        x = layers.Flatten()(x)\n        x = layers.Activation('relu')(x)\n"
    "        x = layers.Reshape((2, 2))(x)\n        x = layers.Add()([x, x])\n        x = layers.Concatenate()([x, x])\n"
    "        return layers.Softmax()(layers.LeakyReLU()(x))",
    "loss objects": STEP + "    return keras.losses.MeanSquaredError()(x, x)",
    "a learning rate's schedule": STEP + "    return keras.optimizers.schedules.ExponentialDecay(0.1, 10, 0.9)(1)",
    "a layer that is not called": STEP + "    layer = layers.Dense(4)\n    return x",
    "dropout that drops nothing": CALL + "        return layers.Dropout(0.0)(x)",
    "dropout that may drop nothing": "class Net(layers.Layer):\n    def __init__(self, rate=0.0):\n"
    "        super().__init__()\n        self.rate = rate\n    def call(self, x):\n"
    "        return layers.Dropout(self.rate)(x)",
    "dropout with an unknown rate": "class Net(layers.Layer):\n    def __init__(self, rate):\n"
    "        super().__init__()\n        self.rate = rate\n    def call(self, x):\n"
    "        return layers.Dropout(self.rate)(x)",
    "called to show that it raises": "@tf.function\ndef step(x):\n    return x + tf.Variable(1.0)\n"
    "with assert_raises(ValueError):\n    step(1.0)",
    "called in a try": "@tf.function\ndef step(x):\n    return x + tf.Variable(1.0)\ntry:\n    step(1.0)\n"
    "except ValueError as error:\n    print(error)",
    "a function that nobody traces": "def make():\n    v = tf.Variable(1.0)\n    return layers.Dense(4)(v)",
    "functional model": "def build():\n    x = keras.Input((4,))\n    return keras.Model(x, layers.Dense(4)(x))",
    "a module's function around a traced one": "def train():\n    v = tf.Variable(1.0)\n    @tf.function\n"
    "    def step(x):\n        return x + v\n    return step",
    "a factory inside": "def make():\n    @tf.function\n    def step(x):\n        def later():\n"
    "            return tf.Variable(1.0)\n        return x\n    return step",
    "init_scope": CALL + "        with tf.init_scope():\n            v = tf.Variable(1.0)\n        return x",
    "wrap_function": "def f(x):\n    return x + tf.Variable(1.0)\n"
    "g = tf.compat.v1.wrap_function(f, [tf.TensorSpec([])])",
    "a graph of its own": STEP + "    with tf.Graph().as_default():\n        v = tf.Variable(1.0)\n    return x",
    "the global generator": STEP + "    return x + tf.random.get_global_generator().normal([4])",
    "a branch of tf.cond": LAYER + "    @tf.function\n    def f(self, x):\n"
    "        return tf.cond(self.ready, lambda: x, lambda: x + tf.Variable(1.0))",
    "only the type": STEP + "    if isinstance(x, tf.Variable):\n        return x\n    return x + 1.0",
    "run eagerly": CALL + "        return layers.Dense(4)(x)\nmodel = keras.Sequential([Net()])\n"
    "model.compile(optimizer='sgd', loss='mse', run_eagerly=True)",
    "its own add_weight": "class Net(layers.Layer):\n    def add_weight(self, n):\n        return n\n"
    "    def call(self, x):\n        return x * self.add_weight(2)",
    "torch": "import torch\nclass Net(torch.nn.Module):\n    def call(self, x):\n        return torch.nn.Linear(4, 4)(x)",
    "mapped function": "def augment(x):\n    return layers.RandomFlip()(x)\nds = tf.data.Dataset.range(9).map(augment)",
    "TensorFlow 1": "import tensorflow.compat.v1 as tf1\ntf1.disable_v2_behavior()\n"
    "class Net(layers.Layer):\n    def call(self, x):\n        return layers.Dense(4)(x)\n"
    "with tf1.Session() as session:\n    session.run(Net()(tf1.placeholder(tf.float32, [None, 4])))",
}


def _table(cases: dict[str, str]) -> pytest.MarkDecorator:
    return pytest.mark.parametrize("code", cases.values(), ids=cases.keys())


@_table(CREATED)
def test_a_variable_of_every_call_is_found(code: str, tmp_path: Path) -> None:
    """Protects recall: variables, layers, optimizers and metrics, directly and through helpers."""
    assert codes(HEAD + code, tmp_path) == ["TFG106"]


@_table(NOT_CREATED)
def test_others_are_not_found(code: str, tmp_path: Path) -> None:
    """Protects precision: what is made once, elsewhere or perhaps not at all, and what holds no variable."""
    assert "TFG106" not in codes(HEAD + code, tmp_path)


def test_dropout_holds_a_variable_with_keras_3_only(tmp_path: Path) -> None:
    code = HEAD + CREATED["dropout, with Keras 3"]
    assert codes(code, tmp_path, target=Target((2, 15), 2, "pyproject.toml")) == []
    ((_, finding),) = findings(code, tmp_path)
    assert "(since Keras 3)" in finding.message


def test_a_helper_in_another_file_is_found_there(tmp_path: Path) -> None:
    (tmp_path / "heads.py").write_text(
        "from tensorflow.keras import layers\n\ndef head(x):\n    return layers.Dense(1)(x)\n"
    )
    code = "import tensorflow as tf\nfrom heads import head\n@tf.function\ndef step(x):\n    return head(x)\n"
    assert found(code, tmp_path) == {("TFG106 heads.py", 4)}


def test_a_notebook_is_read(tmp_path: Path) -> None:
    cells = notebook("import tensorflow as tf", STEP + "    return x + tf.Variable(1.0)")
    assert {code for code, _ in found(cells, tmp_path, "x.ipynb")} == {"TFG106"}


def test_several_creations_in_a_function_are_one_finding(tmp_path: Path) -> None:
    """Protects the report from saying of one mistake, a method that builds its layers, what it says of one layer."""
    ((_, finding),) = findings(
        HEAD + CALL + "        x = layers.Dense(4)(x)\n        return layers.Dense(2)(x)", tmp_path
    )
    assert [note.message for note in finding.notes] == ["this is created in every call, too"]


def test_the_way_to_a_helper_is_reported(tmp_path: Path) -> None:
    ((_, finding),) = findings(HEAD + CREATED["helper method"], tmp_path)
    assert [note.message for note in finding.notes] == ["called from `call`"]
    assert finding.message.startswith("`layers.Conv2D` creates a layer with weights in every call of `Net.call`")


def test_the_mode_is_reported(tmp_path: Path) -> None:
    def said(name: str) -> str:
        (finding,) = [one for rule, one in findings(HEAD + CREATED[name], tmp_path) if rule.code == "TFG106"]
        return finding.message

    assert "in every call of `Net.call` with `not self.training`: it raises" in said("in one mode of the object")
    assert "in every call of `Net.call`: it raises" in said("in training only")


@pytest.mark.slow
def test_tensorflow_refuses() -> None:
    """Protects the rule's claim, with the installed TensorFlow: where it says so, and not where it is silent."""
    tf = pytest.importorskip("tensorflow")
    layers, x = tf.keras.layers, tf.ones((2, 3))
    made = {
        "variable": (lambda x: x + tf.Variable(1.0), True),
        "layer": (lambda x: layers.Dense(2)(x), True),
        "optimizer": (lambda x: (tf.keras.optimizers.Adam(), x)[1], True),
        "metric": (lambda x: tf.keras.metrics.Mean()(x), True),
        "dropout": (lambda x: layers.Dropout(0.5)(x), int(tf.keras.__version__.partition(".")[0]) >= 3),
        "softmax": (lambda x: layers.Softmax()(x), False),
        "loss": (lambda x: tf.keras.losses.MeanSquaredError()(x, x), False),
        "not called": (lambda x: (layers.Dense(2), x)[1], False),
    }
    assert {name: _raises(tf.function(f), x) for name, (f, _) in made.items()} == {
        name: raises for name, (_, raises) in made.items()
    }

    class Net(layers.Layer):
        def call(self, inputs):  # type: ignore[no-untyped-def]
            return layers.Dense(2)(inputs)

    assert _raises(lambda x: tf.keras.Sequential([Net()]).predict(x, verbose=0), x)


def _raises(function, *arguments):  # type: ignore[no-untyped-def]
    try:
        function(*arguments)
    except ValueError as error:
        assert "singleton" in str(error)
        return True
    return False
