"""TFG104: Python asks a symbolic tensor for its value, and what looks so and is right."""

from __future__ import annotations

from pathlib import Path

import pytest
from checks import codes, found, notebook

from tflint_gpu.targets import Target

HEAD = """
import numpy as np
import tensorflow as tf
from tensorflow import keras
"""
LAYER = "class Scale(keras.layers.Layer):\n    def call(self, x, mask=None, training=False):\n"
FIT = "model = keras.Sequential([Scale(), keras.layers.Dense(1)])\nmodel.compile('sgd', 'mse')\nmodel.fit(a, b)\n"
STEP = "@tf.function\ndef step(x):\n    loss = tf.reduce_mean(x)\n"
TRAIN = "class Net(keras.Model):\n    def train_step(self, data):\n        x, y = data\n        loss = tf.reduce_mean(self(x) - y)\n"
FIT_NET = "model = Net()\nmodel.compile('sgd')\nmodel.fit(a, b)\n"

MODEL = "model = keras.Sequential([keras.layers.Dense(1)])\n"
RAISES = {
    "numpy in a tf.function": STEP + "    return loss.numpy()",
    "item in a tf.function": STEP + "    print(loss.item())\n    return loss",
    "numpy of a shape": STEP + "    n = tf.shape(x).numpy()\n    return loss * n[0]",
    "helper": "def show(loss):\n    return loss.numpy()\n" + STEP + "    return show(loss)",
    "wrapped": "def step(x):\n    return tf.reduce_sum(x).numpy()\nfast = tf.function(step)",
    "method of a class": "class Trainer:\n    @tf.function\n    def step(self, x):\n        self.loss = tf.reduce_mean(x)\n"
    "        return tf.sqrt(x).numpy()",
    "parameter with a signature": "@tf.function(input_signature=[tf.TensorSpec([None])])\ndef step(x):\n    return x.numpy()",
    "a component of a loaded data set": "import tensorflow_datasets as tfds\nsets = tfds.load('mnist')\n"
    "@tf.function\ndef step(x):\n    return x.numpy()\nfor rows in sets['train'].batch(8):\n    step(rows['image'])",
    "a component of one of several": "import tensorflow_datasets as tfds\n"
    "(train, test), info = tfds.load('mnist', split=['train', 'test'], as_supervised=True, with_info=True)\n"
    "@tf.function\ndef step(x, y):\n    return x.numpy()\nfor i, (x, y) in enumerate(train.batch(8)):\n    step(x, y)",
    "numpy in call": LAYER + "        return x * np.mean(tf.reduce_max(x).numpy())\n" + FIT,
    "numpy in train_step": TRAIN + "        return {'loss': loss.numpy()}\n" + FIT_NET,
    "float": LAYER + "        return x * float(tf.reduce_max(x))\n" + FIT,
    "int": LAYER + "        n = int(tf.shape(x)[0])\n        return x * n\n" + FIT,
    "bool": LAYER + "        big = bool(tf.reduce_max(x) > 1)\n        return x\n" + FIT,
    "if": LAYER + "        if tf.reduce_sum(x) > 0:\n            return x\n        return x * 2\n" + FIT,
    "if on a name": LAYER
    + "        big = tf.reduce_max(x) > 1\n        if big:\n            x = x / 2\n        return x\n"
    + FIT,
    "if not": LAYER + "        if not tf.reduce_any(x > 0):\n            x = x / 2\n        return x\n" + FIT,
    "conditional expression": LAYER + "        return x / 2 if tf.reduce_max(x) > 1 else x\n" + FIT,
    "while": LAYER + "        while tf.reduce_max(x) > 1:\n            x = x / 2\n        return x\n" + FIT,
    "for over tf.range": LAYER + "        for i in tf.range(3):\n            x = x * 2\n        return x\n" + FIT,
    "range of a shape": LAYER
    + "        for i in range(tf.shape(x)[1]):\n            x = x * 2\n        return x\n"
    + FIT,
    "helper method": "class Scale(keras.layers.Layer):\n    def half(self, x):\n        if tf.reduce_max(x) > 1:\n            x = x / 2\n"
    "        return x\n    def call(self, x):\n        return self.half(x)\n" + FIT,
    "added": LAYER
    + "        return x * float(tf.reduce_max(x))\nmodel = keras.Sequential()\nmodel.add(Scale())\nmodel.fit(a, b)",
    "layer of a model's class": LAYER
    + "        return x * float(tf.reduce_max(x))\nclass Net(keras.Model):\n    def __init__(self):\n"
    "        super().__init__()\n        self.scale = Scale()\n    def call(self, x):\n        return self.scale(x)\n"
    + FIT_NET,
    "model that a function makes": LAYER
    + "        return x * float(tf.reduce_max(x))\ndef build():\n    scale = Scale()\n"
    "    return keras.Sequential([scale])\nmodel = build()\nmodel.compile('sgd')\nmodel.fit(a, b)",
    "loss function": "def near(y, p):\n    return tf.reduce_mean(y - p).numpy()\n"
    + MODEL
    + "model.compile('sgd', loss=near)\nmodel.fit(a, b)\n",
    "metric function": "def near(y, p):\n    return float(tf.reduce_mean(y - p))\n"
    + MODEL
    + "model.compile('sgd', 'mse', metrics={'a': [near]})\nmodel.evaluate(a, b)\n",
    "condition in a loss function": "def near(y, p):\n    if tf.reduce_mean(p) > 0:\n        return y - p\n    return p - y\n"
    + MODEL
    + "model.compile('sgd', loss=near)\nmodel.fit(a, b)\n",
    "loss that a function makes, of a model that one compiles": "def make(n):\n    def near(y, p):\n"
    "        return p - y if tf.reduce_mean(p) > n else y - p\n    return near\ndef build():\n"
    "    net = keras.Sequential([keras.layers.Dense(1)])\n    net.compile('sgd', loss=make(0.5))\n    return net\n"
    "model = build()\nmodel.fit(a, b)\n",
    "lambda": MODEL
    + "model.compile('sgd', loss=lambda y, p: y - p if tf.reduce_mean(p) > 0 else p - y)\nmodel.fit(a, b)\n",
    "Loss.call": "class Near(keras.losses.Loss):\n    def call(self, y, p):\n        for i in tf.range(3):\n            p = p * 2\n"
    "        return y - p\n" + MODEL + "model.compile('sgd', loss=Near())\nmodel.fit(a, b)\n",
    "Metric.update_state": "class Near(keras.metrics.Metric):\n    def update_state(self, y_true, y_pred, sample_weight=None):\n"
    "        if tf.reduce_max(y_pred) > 1:\n            self.n.assign_add(1)\n"
    + MODEL
    + "model.compile('sgd', 'mse', metrics=['mae', Near()])\nmodel.fit(a, b)\n",
    "layer that a tf.function calls": LAYER
    + "        if tf.reduce_sum(x) > 4:\n            x = x / 2\n        return x\nnet = keras.Sequential([Scale()])\n"
    "@tf.function\ndef step(x):\n    return net(x)\n",
    "layer of a model that a helper of a tf.function calls": LAYER
    + "        return x * float(tf.reduce_max(x))\nclass Net(keras.Model):\n    def __init__(self):\n"
    "        super().__init__()\n        self.scale = Scale()\n    def call(self, x):\n        return self.scale(x)\n"
    "net = Net()\ndef loss_of(x):\n    return tf.reduce_mean(net(x, training=True))\n@tf.function\ndef step(x):\n    return loss_of(x)\n",
    "result of a loss object": "mse = keras.losses.MeanSquaredError()\n@tf.function\ndef step(x, y):\n"
    "    return mse(y, x).numpy()\n",
    "loss object of the class": "class Trainer:\n    def __init__(self):\n        self.loss_fn = keras.losses.Huber()\n"
    "    @tf.function\n    def step(self, x, y):\n        loss = self.loss_fn(y, x)\n        return loss.numpy()\n",
    "result of a metric": "mean = keras.metrics.Mean()\n@tf.function\ndef step(x):\n    mean.update_state(x)\n"
    "    return mean.result().numpy()\n",
    "gradients": "w = tf.Variable(1.0)\n@tf.function\ndef step(x):\n    with tf.GradientTape() as tape:\n        loss = x * w\n"
    "    grads = tape.gradient(loss, [w])\n    return grads[0].numpy()\n",
    "compute_loss": "class Net(keras.Model):\n    def train_step(self, data):\n        x, y = data\n"
    "        loss = self.compute_loss(x=x, y=y, y_pred=self(x))\n        if loss > 0:\n            loss = loss * 2\n"
    "        return {'loss': float(loss)}\n" + FIT_NET,
    "compiled_loss": "class Net(keras.Model):\n    def train_step(self, data):\n        x, y = data\n"
    "        return {'loss': self.compiled_loss(y, self(x)).numpy()}\n" + FIT_NET,
    "run_eagerly is off": LAYER + "        return x * float(tf.reduce_max(x))\n"
    "model = keras.Sequential([Scale()])\nmodel.compile('sgd', 'mse', run_eagerly=False)\nmodel.fit(a, b)\n",
    "run_eagerly for debugging": LAYER + "        return x * float(tf.reduce_max(x))\n"
    "model = keras.Sequential([Scale()])\nmodel.compile('sgd', 'mse', run_eagerly=args.debug)\nmodel.fit(a, b)\n",
    "switched to eager for debugging": STEP
    + "    return loss.numpy()\nif args.debug:\n    tf.config.run_functions_eagerly(True)",
    "switched to eager by a constant that is off": "DEBUG = False\n"
    + STEP
    + "    return loss.numpy()\nif DEBUG:\n    tf.config.run_functions_eagerly(True)",
    "a comment on run_eagerly": STEP + "    return loss.numpy()  # run_eagerly=True would show it",
    "asked elsewhere whether it is eager": STEP + "    return loss.numpy()\nprint(tf.executing_eagerly())",
    "functional model": LAYER
    + "        return x * float(tf.reduce_max(x))\ni = keras.Input((3,))\nmodel = keras.Model(i, Scale()(i))\n"
    "model.compile('sgd', 'mse')\nmodel.fit(a, b)",
}
FINE = {
    "loss function of a model that is not trained": "def near(y, p):\n    return tf.reduce_mean(y - p).numpy()\n"
    + MODEL
    + "model.compile('sgd', loss=near)\nmodel.predict(a)\n",
    "loss function of another model": "def near(y, p):\n    return tf.reduce_mean(y - p).numpy()\n"
    + MODEL
    + "other = keras.Sequential([keras.layers.Dense(2)])\nother.compile('sgd', loss=near)\nmodel.compile('sgd', 'mse')\nmodel.fit(a, b)\n",
    "loss function of a model with a step of its own": "def near(y, p):\n    return tf.reduce_mean(y - p).numpy()\n"
    "class Net(keras.Model):\n    def train_step(self, data):\n        return {}\n"
    "model = Net()\nmodel.compile('sgd', loss=near)\nmodel.fit(a, b)\n",
    "loss function under tf.function": "@tf.function\ndef near(y, p):\n    if tf.reduce_mean(p) > 0:\n        return y - p\n    return p - y\n"
    + MODEL
    + "model.compile('sgd', loss=near)\nmodel.fit(a, b)\n",
    "loss function, only called": "def near(y, p):\n    return tf.reduce_mean(y - p).numpy()\n"
    + MODEL
    + "model.compile('sgd', loss='mse')\nmodel.fit(a, b)\nprint(near(a, model(b)))\n",
    "metric run eagerly": "def near(y, p):\n    return tf.reduce_mean(y - p).numpy()\n"
    + MODEL
    + "model.compile('sgd', 'mse', metrics=[near], run_eagerly=True)\nmodel.fit(a, b)\n",
    "loop over outputs in a loss": "def near(y, p):\n    return sum(tf.reduce_mean(v) for v in p)\n"
    + MODEL
    + "model.compile('sgd', loss=near)\nmodel.fit(a, b)\n",
    "update_state that a tf.function calls": "class Near(keras.metrics.Metric):\n    def update_state(self, y_true, y_pred, sample_weight=None):\n"
    "        if tf.reduce_max(y_pred) > 1:\n            self.n.assign_add(1)\n"
    "near = Near()\n@tf.function\ndef step(x):\n    near.update_state(x, x)\n",
    "call that a tf.function runs": LAYER
    + "        if tf.reduce_sum(x) > 4:\n            x = x / 2\n        return x\nscale = Scale()\n"
    "@tf.function\ndef step(x):\n    return scale.call(x)\n",
    "layer that a tf.function may call": LAYER
    + "        if tf.reduce_sum(x) > 4:\n            x = x / 2\n        return x\nscale = Scale()\n"
    "@tf.function\ndef step(x):\n    if SCALED:\n        x = scale(x)\n    return x\n",
    "layer that eager code calls": LAYER
    + "        if tf.reduce_sum(x) > 4:\n            x = x / 2\n        return x\nscale = Scale()\n"
    "dense = keras.layers.Dense(1)\n@tf.function\ndef step(x):\n    return dense(x)\nfor x in data:\n    step(scale(x))\n",
    "results outside": "mse = keras.losses.MeanSquaredError()\nmean = keras.metrics.Mean()\nloss = mse(a, b).numpy()\n"
    "print(mean.result().numpy(), loss)\n@tf.function\ndef step(x):\n    mean.update_state(x)\n    return mse(x, x)\n"
    "step(a)\nprint(float(mean.result()))\n",
    "result of another library": "@tf.function\ndef step(x, job):\n    return job.result().numpy()\n",
    "other gradient": "@tf.function\ndef step(x, sobel):\n    return sobel.gradient(x).item()\n",
    "own compute_loss": "class Net(keras.Model):\n    def compute_loss(self, x=None, y=None, y_pred=None):\n        return None\n"
    "    def train_step(self, data):\n        loss = self.compute_loss(x=1, y=1, y_pred=1)\n"
    "        return {'loss': loss.numpy()}\n" + FIT_NET,
    "if there are gradients": "w = tf.Variable(1.0)\n@tf.function\ndef step(x):\n    with tf.GradientTape() as tape:\n        loss = x * w\n"
    "    grads = tape.gradient(loss, [w])\n    if grads:\n        w.assign_sub(grads[0])\n    return loss\n",
    "eager function": "def step(x):\n    return tf.reduce_mean(x).numpy()\nfor x in data:\n    step(x)",
    "result of a tf.function": STEP + "    return loss\nfor x in data:\n    print(step(x).numpy())",
    "inside py_function": STEP + "    tf.py_function(lambda v: print(v.numpy()), [loss], [])\n    return loss",
    "function for py_function": "def show(v):\n    print(v.numpy())\n"
    + STEP
    + "    tf.py_function(show, [loss], [])\n    return loss",
    "NumPy array": STEP + "    n = np.ones(3).mean().item()\n    return loss * n",
    "shape": LAYER + "        n = int(x.shape[-1])\n        return x * float(n)\n" + FIT,
    "as_list": LAYER + "        n = int(x.get_shape().as_list()[-1])\n        return x * n\n" + FIT,
    "if a shape": LAYER + "        if x.shape[-1] > 3:\n            x = x[..., :3]\n        return x\n" + FIT,
    "if a rank": LAYER + "        if len(x.shape) == 3:\n            x = x[0]\n        return x\n" + FIT,
    "if there is a mask": LAYER + "        if mask is not None:\n            x = x * mask\n        return x\n" + FIT,
    "if training": LAYER + "        if training:\n            x = x * 2\n        return x\n" + FIT,
    "if a setting": LAYER + "        if self.twice and self.n > 3:\n            x = x * 2\n        return x\n" + FIT,
    "if there are inputs": LAYER + "        if x:\n            return x[0]\n        return None\n" + FIT,
    "if a list of tensors": LAYER
    + "        found = [x, x * 2]\n        if found:\n            return found[0]\n        return x\n"
    + FIT,
    "for over inputs": LAYER + "        return sum(v * 2 for v in x)\n" + FIT,
    "for over a list of tensors": LAYER
    + "        parts = tf.split(x, 3)\n        for p in parts:\n            x = x + p\n        return x\n"
    + FIT,
    "for over unstacked rows": LAYER
    + "        for r in tf.unstack(x, axis=1):\n            x = x + r\n        return x\n"
    + FIT,
    "for over a Python range": LAYER + "        for i in range(3):\n            x = x * i\n        return x\n" + FIT,
    "for over layers": LAYER + "        for layer in self.stack:\n            x = layer(x)\n        return x\n" + FIT,
    "comparison of a dtype": LAYER
    + "        if x.dtype == tf.float16:\n            x = tf.cast(x, tf.float32)\n        return x\n"
    + FIT,
    "name in a dict": LAYER + "        if 'a' in x:\n            return x['a']\n        return x\n" + FIT,
    "float in a tf.function": STEP + "    return x * float(loss)",
    "if in a tf.function": STEP + "    if loss > 0:\n        x = x * 2\n    return x",
    "call under tf.function": "class Scale(keras.layers.Layer):\n    @tf.function\n    def call(self, x):\n"
    "        if tf.reduce_sum(x) > 0:\n            x = x * 2\n        return x\n" + FIT,
    "helper under tf.function": "@tf.function\ndef half(x):\n    if tf.reduce_max(x) > 1:\n        x = x / 2\n    return x\n"
    + LAYER
    + "        return half(x)\n"
    + FIT,
    "switched to eager": STEP + "    return loss.numpy()\ntf.config.run_functions_eagerly(True)",
    "switched to eager by a flag": STEP
    + "    return loss.numpy()\nif args.slow:\n    tf.config.run_functions_eagerly(True)",
    "switched to eager by a constant": "DEBUG = True\n"
    + STEP
    + "    return loss.numpy()\nif DEBUG:\n    tf.config.run_functions_eagerly(True)",
    "perhaps switched to eager": STEP + "    return loss.numpy()\ntf.config.run_functions_eagerly(args.mode == 'x')",
    "perhaps run_eagerly": LAYER + "        return x * float(tf.reduce_max(x))\n"
    "model = keras.Sequential([Scale()])\nmodel.compile('sgd', 'mse', run_eagerly=args.slow)\nmodel.fit(a, b)\n",
    "run_eagerly among options": "OPTIONS = {'run_eagerly': True}\n"
    + LAYER
    + "        return x * float(tf.reduce_max(x))\n"
    "model = keras.Sequential([Scale()])\nmodel.compile('sgd', 'mse', **OPTIONS)\nmodel.fit(a, b)\n",
    "run_eagerly set in options": "OPTIONS = {}\nOPTIONS['run_eagerly'] = True\n"
    + LAYER
    + "        return x * float(tf.reduce_max(x))\n"
    "model = keras.Sequential([Scale()])\nmodel.compile('sgd', 'mse', **OPTIONS)\nmodel.fit(a, b)\n",
    "run_eagerly": LAYER + "        return x * float(tf.reduce_max(x))\nmodel = keras.Sequential([Scale()])\n"
    "model.compile('sgd', 'mse', run_eagerly=True)\nmodel.fit(a, b)",
    "run_eagerly as an attribute": LAYER
    + "        return x * float(tf.reduce_max(x))\n"
    + FIT.replace("model.fit", "model.run_eagerly = True\nmodel.fit"),
    "layer that no model here has": LAYER + "        return x * float(tf.reduce_max(x))",
    "model that is only called": "class Net(keras.Model):\n    def call(self, x):\n        print(tf.reduce_mean(x).numpy())\n        return x\n"
    "net = Net()\nfor x in data:\n    net(x)",
    "eager loop beside fit of another": LAYER + "        print(tf.reduce_mean(x).numpy())\n        return x\n"
    "layer = Scale()\nwith tf.GradientTape() as tape:\n    y = layer(x)\nmodel = keras.Sequential([keras.layers.Dense(1)])\nmodel.fit(a, b)",
    "layer that is only called, beside a model": LAYER
    + "        return x if tf.random.uniform([]) < 0.5 else 255 - x\n"
    "invert = Scale()\nfor image in images:\n    show(invert(image))\nmodel = keras.Sequential([keras.layers.Dense(1)])\n"
    "model.compile('sgd', 'mse')\nmodel.fit(a, b)",
    "if eager": STEP + "    if tf.executing_eagerly():\n        print(loss.numpy())\n    return loss",
    "only where it has it": STEP + "    if hasattr(loss, 'numpy'):\n        print(loss.numpy())\n    return loss",
    "caught": STEP + "    try:\n        return loss.numpy()\n    except AttributeError:\n        return loss",
    "under a flag": STEP + "    if VERBOSE:\n        print(loss.numpy())\n    return loss",
    "init_scope": STEP + "    with tf.init_scope():\n        n = tf.constant(3).numpy()\n    return loss * n",
    "mapped by a dataset": "def f(x):\n    return tf.reduce_sum(x).numpy()\nds = tf.data.Dataset.range(9).map(f)",
    "callback": "class Log(keras.callbacks.Callback):\n    def on_epoch_end(self, epoch, logs=None):\n        print(float(tf.reduce_sum(w)))",
    "build": "class Scale(keras.layers.Layer):\n    def build(self, s):\n        self.n = float(tf.reduce_sum(tf.ones(3)))\n"
    "    def call(self, x):\n        return x * self.n\n" + FIT,
    "own numpy method": STEP + "    return Reader(x).numpy()",
    "dict of tensors": STEP + "    for name, value in {'a': loss}.items():\n        x = x + value\n    return x",
    "unknown parameter": "@tf.function\ndef step(x):\n    return x.numpy()",
    "torch": "import torch\nclass Net(torch.nn.Module):\n    def call(self, x):\n        return x.item()",
}


def _table(cases: dict[str, str]) -> pytest.MarkDecorator:
    return pytest.mark.parametrize("code", cases.values(), ids=cases.keys())


@_table(RAISES)
def test_what_raises_is_found(code: str, tmp_path: Path) -> None:
    """Protects recall: in `tf.function`s, and in what a `fit` of the same file traces."""
    assert "TFG104" in codes(HEAD + code, tmp_path)


@_table(FINE)
def test_what_works_is_silent(code: str, tmp_path: Path) -> None:
    """Protects precision: public code has hundreds of such lines, and nearly all of them work."""
    assert "TFG104" not in codes(HEAD + code, tmp_path)


KEPT_BY_KERAS_2 = ["float", "int", "if", "while", "for over tf.range", "range of a shape", "Loss.call"]
KEPT_BY_KERAS_2 += ["condition in a loss function", "layer that a tf.function calls", "compute_loss"]


@pytest.mark.parametrize("case", KEPT_BY_KERAS_2)
def test_keras_2_converts_control_flow(case: str, tmp_path: Path) -> None:
    """Protects older programs: AutoGraph converts what Keras 2 traces."""
    keras_2 = Target(tensorflow=(2, 15), keras=2, source="newest")
    assert "TFG104" not in codes(HEAD + RAISES[case], tmp_path, target=keras_2)
    assert "TFG104" in codes(HEAD + RAISES["numpy in train_step"], tmp_path, target=keras_2)


def test_a_helper_in_another_file_is_found_there(tmp_path: Path) -> None:
    (tmp_path / "logs.py").write_text("def value(loss):\n    return loss.numpy()\n")
    code = "import tensorflow as tf\nfrom logs import value\n\n\n" + STEP + "    return value(loss)\n"
    assert found(code, tmp_path) == {("TFG104 logs.py", 2)}


def test_a_loss_of_another_file_is_found_there(tmp_path: Path) -> None:
    """Protects projects of several files: which model is fitted stands in one, its loss in the other."""
    (tmp_path / "losses.py").write_text("import tensorflow as tf\ndef near(y, p):\n    return tf.norm(y - p).numpy()\n")
    code = "from tensorflow import keras\nfrom losses import near\n" + MODEL + "model.compile('sgd', loss=near)\n"
    assert ("TFG104 losses.py", 3) in found(code + "model.fit(a, b)\n", tmp_path)
    assert found(code, tmp_path) == set()


def test_an_eager_switch_in_another_file_is_seen(tmp_path: Path) -> None:
    (tmp_path / "setup.py").write_text("import tensorflow as tf\ntf.config.run_functions_eagerly(True)\n")
    code = "import tensorflow as tf\nimport setup\n" + STEP + "    return loss.numpy()\n"
    assert found(code, tmp_path) == set()


def test_notebook(tmp_path: Path) -> None:
    assert found(notebook("import tensorflow as tf", STEP + "    return loss.numpy()"), tmp_path, "x.ipynb") == {
        ("TFG104", 4)
    }


def test_a_symbolic_tensor_has_no_value() -> None:
    """Protects the claim, with the installed TensorFlow: the exceptions' types, in a `tf.function` and in a layer."""
    tf = pytest.importorskip("tensorflow")
    np = pytest.importorskip("numpy")

    @tf.function
    def read(x):  # type: ignore[no-untyped-def]
        return x.numpy()

    @tf.function
    def decide(x):  # type: ignore[no-untyped-def]
        if x > 0:
            x = x * 2
        return x

    with pytest.raises(AttributeError):
        read(tf.ones(()))
    assert float(decide(tf.ones(()))) == 2.0

    class Layer(tf.keras.layers.Layer):
        def __init__(self, function):  # type: ignore[no-untyped-def]
            super().__init__()
            self.function = function

        def call(self, x):  # type: ignore[no-untyped-def]
            return self.function(x)

    functions = {
        AttributeError: lambda x: x.numpy(),
        TypeError: lambda x: x * float(x[0, 0]),
        tf.errors.OperatorNotAllowedInGraphError: lambda x: x if tf.reduce_sum(x) > 0 else x * 2,
    }
    for exception, function in functions.items():
        if exception is AttributeError or tf.keras.__version__.startswith("3"):
            with pytest.raises(exception):
                tf.keras.Sequential([Layer(function)]).predict(np.ones((2, 3)), verbose=0)


@pytest.mark.slow
def test_losses_metrics_and_called_layers_have_no_values_either() -> None:
    """Protects the claim, with the installed TensorFlow: Keras 3 converts nothing in them, also under `tf.function`."""
    tf = pytest.importorskip("tensorflow")
    np = pytest.importorskip("numpy")
    raised = tf.errors.OperatorNotAllowedInGraphError
    x, y = np.ones((2, 3), "float32"), np.ones((2, 1), "float32")

    def decide(y, p):  # type: ignore[no-untyped-def]
        if tf.reduce_mean(p) > 0:
            p = p * 2
        return tf.reduce_mean(y - p)

    class Loss(tf.keras.losses.Loss):
        def call(self, y_true, y_pred):  # type: ignore[no-untyped-def]
            return decide(y_true, y_pred)

    class Block(tf.keras.layers.Layer):
        def call(self, x):  # type: ignore[no-untyped-def]
            return decide(x, x)

    def fit(loss: object, metrics: list[object]) -> None:
        model = tf.keras.Sequential([tf.keras.layers.Dense(1)])
        model.compile("sgd", loss, metrics=metrics)
        model.fit(x, y, verbose=0)

    if tf.keras.__version__.startswith("3"):
        for loss, metrics in ((decide, []), (Loss(), []), ("mse", [decide])):
            with pytest.raises(raised):
                fit(loss, metrics)
        block = Block()
        with pytest.raises(raised):
            tf.function(lambda v: block(v))(x)

    mse, mean = tf.keras.losses.MeanSquaredError(), tf.keras.metrics.Mean()
    for read in (lambda v: mse(v, v).numpy(), lambda v: mean(v).numpy(), lambda v: mean.result().numpy()):
        with pytest.raises(AttributeError):
            tf.function(read)(tf.constant(x))
