"""TFG101: NumPy on tensors, and the much larger part of NumPy in models that is fine."""

from __future__ import annotations

from pathlib import Path

import pytest
from checks import codes, found

HEAD = """
import numpy as np
import tensorflow as tf
from tensorflow import keras
from tensorflow.keras import layers as L
"""


def layer(body: str, *, setup: str = "pass", base: str = "tf.keras.layers.Layer", signature: str = "self, x") -> str:
    """A layer whose `call` has this body."""
    inner = "\n".join("        " + line for line in body.splitlines())
    return (
        f"{HEAD}\nclass Thing({base}):\n    def __init__(self, dim):\n        super().__init__()\n        {setup}\n"
        + (f"    def call({signature}):\n{inner}\n")
    )


FLAGGED = {
    "parameter": layer("return np.sin(x)"),
    "result of an operation": layer("y = tf.square(x) + 1\nreturn np.mean(y)"),
    "unpacked": layer("a, b = x\nreturn np.dot(a, b)"),
    "element of the inputs": layer("return np.exp(x[0])"),
    "in a list": layer("return np.concatenate([x, x], axis=-1)"),
    "comprehension variable": layer("return tf.add_n([np.abs(t) for t in x])"),
    "loop variable": layer("total = 0\nfor t in tf.unstack(x):\n    total += np.sqrt(t)\nreturn total"),
    "tf.shape is a tensor": layer("n = np.prod(tf.shape(x))\nreturn x / n"),
    "a layer's output": layer("return np.tanh(self.dense(x))", setup="self.dense = L.Dense(dim)"),
    "self.x within call": layer("self.h = tf.square(x)\nreturn np.sin(self.h)"),
    "branch that agrees": layer("if self.dim > 2:\n    y = x * 2\nelse:\n    y = x\nreturn np.sin(y)"),
    "ternary": layer("y = x if self.dim else tf.square(x)\nreturn np.sin(y)"),
    "walrus": layer("return np.sin(y := x * 2)"),
    "model": layer("return np.sin(x)", base="keras.Model"),
    "from numpy import": HEAD
    + "from numpy import sin\nclass A(L.Layer):\n    def call(self, x):\n        return sin(x)\n",
    "import inside a function": (
        "import tensorflow as tf\nclass A(tf.keras.layers.Layer):\n    def call(self, x):\n"
        "        import numpy\n        return numpy.sin(x)\n"
    ),
    "optional import": (
        "import tensorflow as tf\ntry:\n    import numpy as np\nexcept ImportError:\n    np = None\n"
        "class A(tf.keras.layers.Layer):\n    def call(self, x):\n        return np.sin(x)\n"
    ),
    "plain keras": "import keras\nimport numpy as np\nclass A(keras.Layer):\n    def call(self, x):\n        return np.sin(x)\n",
    "compat.v2": (
        "import tensorflow.compat.v2 as tf\nimport numpy as np\n"
        "class A(tf.keras.layers.Layer):\n    def call(self, x):\n        return np.sin(x)\n"
    ),
    "star import": (
        "from tensorflow.keras.layers import *\nfrom numpy import *\n"
        "class A(Layer):\n    def call(self, x):\n        return sin(x)\n"
    ),
    "a layer of Keras as base": layer("return np.sin(super().call(x))", base="L.Dense"),
    "base in the same file": HEAD
    + "class Base(L.Layer):\n    pass\nclass A(Base):\n    def call(self, x):\n        return np.sin(x)\n",
    "train_step": HEAD
    + "class M(keras.Model):\n    def train_step(self, data):\n        x, y = data\n        return {'loss': np.mean(x)}\n",
    "metric": HEAD + "class M(keras.metrics.Metric):\n    def update_state(self, y_true, y_pred, sample_weight=None):\n"
    "        self.total.assign_add(np.sum(y_true))\n",
    "loss": HEAD
    + "class M(keras.losses.Loss):\n    def call(self, y_true, y_pred):\n        return np.abs(y_true - y_pred)\n",
    "helper method": layer("return self._act(x)\n\n") + "    def _act(self, v):\n        return np.tanh(v)\n",
    "helper function": HEAD
    + "def act(v):\n    return np.tanh(v)\nclass A(L.Layer):\n    def call(self, x):\n        return act(x * 2)\n",
    "helper through another": HEAD + "def act(v):\n    return np.tanh(v)\ndef both(v):\n    return act(v) + v\n"
    "class A(L.Layer):\n    def call(self, x):\n        return both(x)\n",
    "inner function": layer("def act(v):\n    return np.tanh(v)\nreturn act(x)"),
    "closure": layer("def act():\n    return np.tanh(x)\nreturn act()"),
    "tf.function with a shape": HEAD + "@tf.function\ndef f(x):\n    print(x.shape)\n    return np.sin(x)\n",
    "tf.function annotated": HEAD + "@tf.function\ndef f(x: tf.Tensor):\n    return np.sin(x)\n",
    "tf.function with a signature": HEAD
    + "@tf.function(input_signature=[tf.TensorSpec([None])])\ndef f(x):\n    return np.sin(x)\n",
    "wrapped later": HEAD + "def f(x: tf.Tensor):\n    return np.sin(x)\ng = tf.function(f)\n",
    "a constant inside tf.function": HEAD + "@tf.function\ndef f():\n    return np.sin(tf.constant(1.0))\n",
    "Lambda": HEAD + "layer = L.Lambda(lambda t: np.sin(t))\n",
    "loss function": HEAD
    + "def loss(y, p):\n    return np.mean(np.abs(y - p))\nm = keras.Sequential()\nm.compile(loss=loss, optimizer='sgd')\n",
    "map_fn": layer("return tf.map_fn(lambda t: np.sin(t), x)"),
    "symbolic Keras tensor": HEAD + "inputs = keras.Input((4,))\ny = np.log(inputs)\n",
    "a layer's symbolic output": HEAD + "inputs = keras.Input((4,))\nh = L.Dense(4)(inputs)\ny = np.clip(h, 0, 1)\n",
    "symbolic tensor as an argument": HEAD
    + "def scaled(t):\n    return np.tanh(t)\ninputs = keras.Input((4,))\noutputs = L.Dense(1)(scaled(inputs))\n",
    "symbolic tensors in a list": HEAD + "a, b = keras.Input((4,)), keras.Input((4,))\nboth = np.concatenate([a, b])\n",
    "tf.function called with a tensor": HEAD
    + "@tf.function\ndef f(t):\n    return np.mean(t)\nf(tf.constant([1.0]))\n",
    "tf.function called with an array": HEAD + "@tf.function\ndef f(t):\n    return np.mean(t)\nf(np.ones(3))\n",
    "tf.function called with a tensor and a number": HEAD
    + "@tf.function\ndef f(t, e):\n    return np.std(t) + e\nf(tf.ones(3), 1e-6)\n",
    "tf.function called with a computed tensor": HEAD
    + "@tf.function\ndef f(t):\n    return np.mean(t)\nf(tf.ones(3) * 2.0)\n",
    "tf.function called with batches": HEAD
    + "@tf.function\ndef f(t):\n    return np.mean(t)\nfor batch in tf.data.Dataset.range(9).batch(3):\n    f(batch)\n",
    "result of a loss object": HEAD
    + "mse = keras.losses.MeanSquaredError()\n@tf.function\ndef f(x, y):\n    return np.mean(mse(y, x))\n",
    "result of a metric object": HEAD
    + "mean = keras.metrics.Mean()\n@tf.function\ndef f(x):\n    mean.update_state(x)\n    return np.mean(mean.result())\n",
    "gradients": HEAD + "w = tf.Variable(1.0)\n@tf.function\ndef f(x):\n    with tf.GradientTape() as tape:\n"
    "        loss = x * w\n    grads = tape.gradient(loss, [w])\n    return [np.linalg.norm(g) for g in grads]\n",
    "compute_loss": HEAD + "class A(keras.Model):\n    def train_step(self, data):\n        x, y = data\n"
    "        loss = self.compute_loss(x, y, self(x))\n        return {'loss': np.mean(loss)}\n",
    "metric function": HEAD + "def near(y, p):\n    return np.mean(np.abs(y - p))\nm = keras.Sequential()\n"
    "m.compile(loss='mse', metrics=['mae', near])\n",
    "metric function in a variable": HEAD + "def near(y, p):\n    return np.abs(y - p)\nMETRICS = [near]\n"
    "m = keras.Sequential()\nm.compile(loss='mse', metrics=METRICS)\n",
}

HARMLESS = {
    "numbers": layer("return x * np.sqrt(self.dim) * np.pi"),
    "static shape": layer("return tf.reshape(x, (-1, np.prod(x.shape[1:])))"),
    "one dimension": layer("d = x.shape[-1]\nreturn x / np.sqrt(d)"),
    "get_shape": layer("d = x.get_shape().as_list()[-1]\nreturn x / np.sqrt(d)"),
    "len of shape": layer("return tf.transpose(x, np.arange(len(x.shape)))"),
    "rank query": layer("return x if np.ndim(x) == 2 and np.shape(x)[0] else -x"),
    "dtype": layer("return tf.cast(x, np.float32) * np.float32(2)"),
    "newaxis": layer("return x[:, np.newaxis]"),
    "constant table": layer("return x + np.ones(4)"),
    "training flag": layer("k = np.mean([1, 2]) if training else 0\nreturn x * k", signature="self, x, training=None"),
    "unknown second parameter": layer("return x * np.sqrt(scale)", signature="self, x, scale=2.0"),
    "attribute from __init__": layer("return x * np.sin(self.table)", setup="self.table = np.ones(dim)"),
    "tensor made in __init__": layer("return x * np.sin(self.c)", setup="self.c = tf.constant(1.0)"),
    "numpy_function": layer("return tf.numpy_function(lambda t: np.sin(t), [x], tf.float32)"),
    "py_function": layer("def host(t):\n    return np.sin(t)\nreturn tf.py_function(host, [x], tf.float32)"),
    "isinstance": layer("if isinstance(x, np.ndarray):\n    return np.sin(x)\nreturn tf.sin(x)"),
    "early return": layer("if not isinstance(x, np.ndarray):\n    return tf.sin(x)\nreturn np.sin(x)"),
    "executing eagerly": layer("if tf.executing_eagerly():\n    return np.sin(x)\nreturn tf.sin(x)"),
    "try": layer("try:\n    return np.sin(x)\nexcept Exception:\n    return tf.sin(x)"),
    "shadowed name": layer("np = tf.experimental.numpy\nreturn np.sin(x)"),
    "tf.experimental.numpy": HEAD.replace("import numpy as np", "import tensorflow.experimental.numpy as np")
    + "class A(L.Layer):\n    def call(self, x):\n        return np.sin(x)\n",
    "another library's numpy": HEAD.replace("import numpy as np", "import jax.numpy as np")
    + "class A(L.Layer):\n    def call(self, x):\n        return np.sin(x)\n",
    "build": HEAD + "class A(L.Layer):\n    def build(self, shape):\n        self.n = np.prod(shape[1:])\n",
    "no Keras class": HEAD + "class A:\n    def call(self, x):\n        return np.sin(x)\n",
    "eager function": HEAD + "def f(x):\n    return np.sin(tf.square(x))\n",
    "Python number into tf.function": HEAD + "@tf.function\ndef f(n):\n    return tf.zeros(3) + np.sqrt(n)\n",
    "dynamic layer": HEAD + "class A(L.Layer):\n    def __init__(self):\n        super().__init__(dynamic=True)\n"
    "    def call(self, x):\n        return np.sin(x)\n",
    "branch that differs": layer("y = np.ones(3)\nif self.dim:\n    y = x\nreturn np.sin(y)"),
    "overwritten": layer("x = np.ones(3)\nreturn np.sin(x)"),
    "keys of a dictionary": layer("for k in x.keys():\n    self.last = np.sort(k)\nreturn x['a']"),
    "unknown function": layer("from elsewhere import f\nreturn np.sin(f(x))"),
    "static value": layer("return x * np.sqrt(tf.get_static_value(tf.shape(x)[0]))"),
    "int_shape": layer("return x / np.prod(keras.backend.int_shape(x)[1:])"),
    "callback": HEAD
    + "class C(keras.callbacks.Callback):\n    def on_epoch_end(self, epoch, logs=None):\n        print(np.mean(self.x))\n",
    "unknown decorator": HEAD
    + "from elsewhere import on_host\nclass A(L.Layer):\n    @on_host\n    def call(self, x):\n        return np.sin(x)\n",
    "helper under an unknown decorator": HEAD
    + "from elsewhere import on_host\n@on_host\ndef act(v):\n    return np.tanh(v)\n"
    + "class A(L.Layer):\n    def call(self, x):\n        return act(x)\n",
    "another backend": "import os\nos.environ['KERAS_BACKEND'] = 'torch'\n" + layer("return np.sin(x)"),
    "numpy behaviour": "from tensorflow.python.ops.numpy_ops import np_config\n"
    + "np_config.experimental_enable_numpy_behavior()\n"
    + layer("return np.mean(x)"),
    "numbers beside symbolic tensors": HEAD
    + "inputs = keras.Input((4,))\nn = np.prod(inputs.shape[1:])\nh = L.Dense(int(np.sqrt(n)))(inputs)\n",
    "a layer called with data": HEAD
    + "inputs = keras.Input((4,))\nlayer = L.Dense(4)\ny = np.sin(layer(np.ones((2, 4))))\n",
    "results of a functional model": HEAD
    + "inputs = keras.Input((4,))\nm = keras.Model(inputs, L.Dense(1)(inputs))\ny = np.mean(m.predict(np.ones((2, 4))))\n",
    "tf.function called with a number": HEAD + "@tf.function\ndef f(n):\n    return tf.zeros(3) + np.sqrt(n)\nf(3)\n",
    "tf.function called with both": HEAD
    + "@tf.function\ndef f(n):\n    return tf.zeros(3) + np.sqrt(n)\nf(3)\nf(tf.constant(3.0))\n",
    "the number beside a tensor": HEAD + "@tf.function\ndef f(t, n):\n    return t + np.sqrt(n)\nf(tf.ones(3), 2.0)\n",
    "results of losses and metrics outside": HEAD
    + "mse = keras.losses.MeanSquaredError()\nmean = keras.metrics.Mean()\n@tf.function\ndef f(x):\n    mean.update_state(x)\n"
    "    return mse(x, x)\nprint(np.mean(f(tf.ones(3))), np.mean(mean.result()))\n",
    "sizes of gradients": HEAD + "w = tf.Variable(1.0)\n@tf.function\ndef f(x):\n    with tf.GradientTape() as tape:\n"
    "        loss = x * w\n    grads = tape.gradient(loss, [w])\n    return loss * np.sum([np.prod(g.shape) for g in grads])\n",
    "metric function, run eagerly": HEAD
    + "def near(y, p):\n    return np.mean(np.abs(y - p))\nm = keras.Sequential()\n"
    "m.compile(loss='mse', metrics=[near], run_eagerly=True)\n",
    "metric of scikit-learn": HEAD + "def near(y, p):\n    return np.mean(np.abs(y - p))\n"
    "from sklearn.metrics import make_scorer\nscorer = make_scorer(near)\nm = keras.Sequential()\n"
    "m.compile(loss='mse', metrics=['mae'])\n",
    "update_state of a plain class": HEAD
    + "class Mean:\n    def update_state(self, y, p):\n        self.sum = np.mean(np.abs(y - p))\nmean = Mean()\n"
    "for y in tf.data.Dataset.range(9).batch(3):\n    mean.update_state(y, tf.zeros(3))\n",
    "own decorator that moves it to the host": HEAD + "def on_host(f):\n    def run(self, x):\n"
    "        return tf.numpy_function(lambda t: f(self, t), [x], tf.float32)\n    return run\n"
    "class A(L.Layer):\n    @on_host\n    def call(self, x):\n        return np.sin(x)\n",
    "own decorator with arguments": HEAD + "def on_host(dtype):\n    def deco(f):\n        def run(self, x):\n"
    "            return tf.numpy_function(lambda t: f(self, t), [x], dtype)\n        return run\n    return deco\n"
    "class A(L.Layer):\n    @on_host(tf.float32)\n    def call(self, x):\n        return np.sin(x)\n",
    "own decorator class": HEAD
    + "class OnHost:\n    def __init__(self, f):\n        self.f = f\n    def __get__(self, one, owner):\n"
    "        return lambda x: tf.py_function(lambda t: self.f(one, t), [x], tf.float32)\n"
    "class A(L.Layer):\n    @OnHost\n    def call(self, x):\n        return np.sin(x)\n",
    "mask flag": layer("return x * (0 if mask is None else np.sum(mask))", signature="self, x, mask=None"),
    "constants of the module and the class": HEAD
    + "TABLE = np.arange(4.0)\nclass A(L.Layer):\n    SCALE = np.sqrt(2.0)\n    def call(self, x):\n"
    "        return x * np.log(TABLE) * np.exp(self.SCALE)\n",
    "py_function by keyword": layer("return tf.py_function(func=lambda t: np.sin(t), inp=[x], Tout=tf.float32)"),
    "numpy_function of a method": layer("return tf.numpy_function(self._host, [x], tf.float32)\n")
    + "    def _host(self, t):\n        return np.sin(t)\n",
}


@pytest.mark.parametrize("code", FLAGGED.values(), ids=FLAGGED.keys())
def test_numpy_on_a_tensor_is_found(code: str, tmp_path: Path) -> None:
    """Protects recall: each way in which a tensor comes to a NumPy function."""
    assert "TFG101" in codes(code, tmp_path)


@pytest.mark.parametrize("code", HARMLESS.values(), ids=HARMLESS.keys())
def test_harmless_numpy_is_not_found(code: str, tmp_path: Path) -> None:
    """Protects precision: of 103 such lines in public code nearly all were harmless."""
    assert codes(code, tmp_path, ignore=("TFG401", "TFG105")) == []


def test_helper_in_another_file_is_reported_there(tmp_path: Path) -> None:
    """Protects the finding's place: the helper's file, where the user must change something."""
    (tmp_path / "ops.py").write_text("import numpy as np\n\n\ndef act(v):\n    return np.tanh(v)\n")
    code = "import tensorflow as tf\nimport ops\nclass A(tf.keras.layers.Layer):\n    def call(self, x):\n        return ops.act(x)\n"
    assert found(code, tmp_path) == {("TFG101 ops.py", 5)}


def test_base_class_in_another_file(tmp_path: Path) -> None:
    """Protects the knowledge of base classes across files, through a package's __init__."""
    package = tmp_path / "pkg"
    package.mkdir()
    (package / "__init__.py").write_text("from .base import Base\n")
    (package / "base.py").write_text("import tensorflow as tf\nclass Base(tf.keras.layers.Layer):\n    pass\n")
    code = "import numpy as np\nfrom pkg import Base\nclass A(Base):\n    def call(self, x):\n        return np.sin(x)  # keras\n"
    assert found(code, tmp_path) == {("TFG101", 5)}


def test_prefilter_keeps_files_whose_helpers_use_numpy(tmp_path: Path) -> None:
    """Protects the prefilter from dropping a layer whose file itself does not mention NumPy."""
    (tmp_path / "ops.py").write_text("import numpy as np\ndef act(v):\n    return np.tanh(v)\n")
    code = "import tensorflow as tf\nfrom ops import act\nclass A(tf.keras.layers.Layer):\n    def call(self, x):\n        return act(x)\n"
    assert found(code, tmp_path) == {("TFG101 ops.py", 3)}
