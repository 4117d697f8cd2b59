"""TFG221: layers that eager loops make in every iteration, and those that are kept, traced, given weights or tried once."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from checks import codes, findings

HEAD = """
import time
import numpy as np
import tensorflow as tf
from tensorflow.keras import layers
from tensorflow.keras.layers import Dense
rows, labels = np.load("rows.npy"), np.load("labels.npy")
data = tf.data.Dataset.from_tensor_slices((rows, labels)).batch(32)
"""
DATA = "for x, y in data:\n"
TAPE = DATA + "    with tf.GradientTape() as tape:\n"
UPDATE = "    optimizer.apply_gradients(zip(tape.gradient(loss, net.trainable_variables), net.trainable_variables))\n"
PARTS = """
from tensorflow.keras import layers
class Dense(layers.Layer):
    def __init__(self, width):
        super().__init__()
        self.inner = layers.Dense(width)
        self.load_own_variables(store)
    def call(self, x):
        return self.inner(x)
"""
FOUND = {
    "in a loop over a dataset": DATA + "    print(tf.keras.layers.Dense(10)(x))",
    "in a function that a loop calls": "def heads(x):\n    return Dense(4, kernel_initializer='he_normal')(x)\n"
    + DATA
    + "    print(heads(x))",
    "in a method of a plain class": "class Tower:\n    def __init__(self):\n        self.width = 4\n"
    "    def __call__(self, x):\n        return layers.Dense(self.width)(x)\ntower = Tower()\n" + DATA + "    tower(x)",
    "behind another": "def head(x):\n    h = layers.Flatten()(x)\n    h = layers.Conv1D(4, 3)(h)\n    return h\n"
    + DATA
    + "    print(head(x))",
    "under a tape": "def loss_of(net, x, y):\n    h = layers.Embedding(9, 4)(x)\n    return tf.reduce_mean(net(h) - y)\n"
    + TAPE
    + "        loss = loss_of(net, x, y)\n"
    + UPDATE,
    "of an array": "def act(state):\n    return Dense(2)(np.array(state)[None])\n"
    "while True:\n    state = env.step(int(tf.argmax(act(state)[0])))",
    "a recurrent layer": DATA + "    print(layers.Bidirectional(layers.LSTM(8))(x))",
    "a recurrent cell": DATA + "    print(layers.RNN(layers.GRUCell(8))(x))",
    "a Sequential": DATA + "    print(tf.keras.Sequential([layers.Dense(8), layers.ReLU()])(x))",
    "without weights": DATA + "    print(layers.Flatten()(x))",
    "a dropout": TAPE + "        loss = net(layers.Dropout(0.2)(x, training=True))\n" + UPDATE,
    "a normalization": DATA + "    print(layers.BatchNormalization()(x, training=True))",
    "epochs": "for epoch in range(3):\n    for x, y in data:\n        print(Dense(3)(x))",
}
SILENT = {
    "kept": "dense = Dense(10)\n" + DATA + "    print(dense(x))",
    "made for the loop": "def heads(x):\n    return dense(x)\ndense = Dense(10)\n" + DATA + "    print(heads(x))",
    "a functional model": "def block(h):\n    for _ in range(20):\n        h = Dense(4)(h)\n    return h\n"
    "start = tf.keras.Input((4,))\nnet = tf.keras.Model(start, block(start))\nfor x, y in data:\n    net(x)",
    "a model for each fold": "for fold in folds:\n    start = tf.keras.Input((4,))\n    end = Dense(1)(Dense(8)(start))\n"
    "    net = tf.keras.Model(start, end)\n    net.compile('sgd', 'mse')\n    net.fit(rows[fold], labels[fold])",
    "inputs of some kinds": "parts = []\nfor size in sizes:\n    start = tf.keras.Input((size,))\n"
    "    parts.append(Dense(8)(start))\nnet = tf.keras.Model(starts, layers.Concatenate()(parts))",
    "traced": "@tf.function\ndef heads(x):\n    return layers.Dense(4)(x)\n" + DATA + "    heads(x)",
    "wrapped": "def heads(x):\n    return layers.Flatten()(x)\nheads = tf.function(heads)\n" + DATA + "    heads(x)",
    "in `call`": "class Net(tf.keras.Model):\n    def call(self, x):\n        return Dense(4)(x)\nnet = Net()\n"
    + DATA
    + "    net(x)",
    "in `train_step`": "class Net(tf.keras.Model):\n    def train_step(self, batch):\n        for part in batch:\n"
    "            with tf.GradientTape() as tape:\n                loss = layers.Flatten()(part)\n"
    "            tape.gradient(loss, self.trainable_variables)\n        return {}",
    "in `build`": "class Net(layers.Layer):\n    def build(self, shape):\n        self.parts = []\n"
    "        for width in self.widths:\n            self.parts.append(Dense(width)(tf.zeros(shape)))",
    "mapped": "data = data.map(lambda x, y: (layers.Rescaling(1 / 255)(x), y))\n" + DATA + "    print(x)",
    "preprocessing": DATA + "    print(layers.Rescaling(1 / 255)(x), layers.Resizing(8, 8)(x), layers.RandomFlip()(x))",
    "few iterations": "for x, y in data.take(3):\n    print(Dense(4)(x))",
    "a look": "for x, y in data:\n    print(Dense(4)(x))\n    break",
    "some iterations": "for step, (x, y) in enumerate(data):\n    if step % 100 == 0:\n        print(Dense(4)(x))",
    "once": "x = tf.ones((3, 4))\nprint(Dense(4)(x))",
    "tried one after the other": "for width in widths:\n    print(Dense(width)(tf.ones((3, 4))))",
    "timed": DATA + "    start = time.perf_counter()\n    Dense(4)(x)\n    print(time.perf_counter() - start)",
    "given weights": DATA + "    print(layers.Embedding(9, 4, weights=[table])(x))",
    "a fixed filter": DATA
    + "    print(layers.Conv2D(1, 3, kernel_initializer=tf.keras.initializers.Constant(blur))(x))",
    "ones": DATA + "    print(layers.Conv2D(1, 3, kernel_initializer='ones')(x))",
    "a pretrained model": DATA + "    print(tf.keras.applications.MobileNetV2()(x))",
    "the project's own": "class Loaded(layers.Layer):\n    def __init__(self):\n        super().__init__()\n"
    "        self.inner = Dense(4)\n        self.load_own_variables(store)\n    def call(self, x):\n"
    "        return self.inner(x)\n" + DATA + "    print(Loaded()(x))",
    "symbols that nobody knows": "def tower(h):\n    for width in widths:\n        h = Dense(width)(h)\n    return h",
    "a model for each batch": DATA + "    start = tf.keras.Input(x.shape[1:])\n    h = Dense(8)(start)\n"
    "    net = tf.keras.Model(start, Dense(1)(h))\n    net.compile('sgd', 'mse')\n    net.fit(x, y)",
    "a model's block for each batch": "def block(h):\n    h = Dense(8)(h)\n    return layers.Flatten()(h)\n"
    + DATA
    + "    start = tf.keras.Input(x.shape[1:])\n    net = tf.keras.Model(start, block(start))\n    net.fit(x, y)",
    "called by traced code, too": "def heads(x):\n    return Dense(4)(x)\n@tf.function\ndef step(x):\n"
    "    return heads(x)\n" + DATA + "    print(step(x), heads(x))",
    "given to code outside": "from trainer import register\ndef heads(x):\n    return Dense(4)(x)\nregister(heads)\n"
    + DATA
    + "    print(heads(x))",
    "a graph": DATA + "    with tf.Graph().as_default():\n        print(Dense(4)(x))",
    "few steps": "def fit():\n    for step in range(5):\n        with tf.GradientTape() as tape:\n"
    "            loss = net(Dense(4)(rows))\n    " + UPDATE + "fit()",
    "what may be symbols": "heads = []\nfor h in outputs:\n    heads.append(Dense(4)(h))",
    "a layer of the same name": "from parts import Dense\n" + DATA + "    print(Dense(4)(x))",
    "a part of a part of what nobody knows": "x = given()\nwhile True:\n    x = x[1:]\n    print(Dense(4)(x))",
    "a metric": DATA + "    print(tf.keras.losses.MeanSquaredError()(x, y))",
    "an operation": DATA + "    print(tf.keras.activations.relu(x))",
}


@pytest.mark.parametrize("code", FOUND.values(), ids=FOUND.keys())
def test_is_found(code: str, tmp_path: Path) -> None:
    assert codes(HEAD + code, tmp_path).count("TFG221") == 1


@pytest.mark.parametrize("code", SILENT.values(), ids=SILENT.keys())
def test_is_silent(code: str, tmp_path: Path) -> None:
    (tmp_path / "parts.py").write_text(PARTS, "utf-8")
    assert "TFG221" not in codes(HEAD + code, tmp_path)


def test_a_method_of_an_object_that_another_file_gets(tmp_path: Path) -> None:
    """Protects the ways through files that do not import what they are given."""
    (tmp_path / "steps.py").write_text(
        "import tensorflow as tf\ndef step(coder, x):\n    with tf.GradientTape() as tape:\n"
        "        loss = tf.reduce_mean(coder.encode(x))\n    return tape.gradient(loss, coder.trainable_variables)\n"
    )
    (tmp_path / "coders.py").write_text(
        "import tensorflow as tf\nfrom tensorflow.keras import layers\nclass Coder(tf.keras.Model):\n"
        "    def __init__(self):\n        super().__init__()\n        self.net = layers.Dense(4)\n"
        "    def encode(self, x):\n        return self.net(layers.Flatten()(x))\n"
    )
    code = HEAD + "import steps\nfrom coders import Coder\ncoder = Coder()\n" + DATA + "    steps.step(coder, x)\n"
    assert codes(code, tmp_path).count("TFG221") == 1


def test_a_layer_that_draws_weights_comes_first(tmp_path: Path) -> None:
    """Protects the claim: wrong results where one layer of a function draws weights, wherever it stands."""
    code = HEAD + "def head(x):\n    return Dense(4)(layers.Flatten()(x))\n" + DATA + "    print(head(x))"
    (finding,) = (f for rule, f in findings(code, tmp_path) if rule.code == "TFG221")
    assert finding.prediction is not None and finding.prediction.kind == "wrong-result"
    assert "`Dense`" in finding.message
    assert any("this one is new each time, too" in str(note) for note in finding.notes)


@pytest.mark.parametrize(
    "made", ["Flatten()", "BatchNormalization()", "LayerNormalization()", "PReLU()", "Dropout(0.5)"]
)
def test_what_draws_no_weights_only_costs_time(made: str, tmp_path: Path) -> None:
    (finding,) = (
        f for rule, f in findings(HEAD + DATA + f"    print(layers.{made}(x))", tmp_path) if rule.code == "TFG221"
    )
    assert finding.prediction is not None and finding.prediction.kind == "slowdown"


def test_a_loop_of_another_file(tmp_path: Path) -> None:
    (tmp_path / "towers.py").write_text(
        "from keras import layers\ndef tower(x):\n    return layers.Dense(4)(x)\n", "utf-8"
    )
    assert "TFG221" in codes(HEAD + "from towers import tower\n" + DATA + "    print(tower(x))", tmp_path)


@pytest.mark.parametrize(
    ("made", "is_same"),
    [
        ("Dense(3)", False),
        ("Dense(3, kernel_initializer='he_normal')", False),
        ("Dense(3, kernel_initializer='ones')", True),
        ("Conv1D(3, 1)", False),
        ("LSTM(3)", False),
        ("MultiHeadAttention(1, 2)", False),
        ("BatchNormalization()", True),
        ("LayerNormalization()", True),
        ("GroupNormalization(2)", True),
        ("PReLU()", True),
        ("Flatten()", True),
        ("Dropout(0.5)", True),
    ],
)
def test_what_draws_weights_gives_other_outputs_in_every_call(made: str, is_same: bool) -> None:
    """Protects the claim of wrong results, with TensorFlow: only those outputs differ for which the rule says so."""
    import tensorflow as tf

    x = tf.random.normal((2, 3, 4))
    args = (x, x) if made.startswith("Multi") else (x,)
    one, two = (eval(f"tf.keras.layers.{made}", {"tf": tf})(*args) for _ in range(2))
    assert np.array_equal(one, two) is is_same
