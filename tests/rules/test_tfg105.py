"""TFG105: Python functions on the way of the gradient, and those that have nothing to do with it."""

from __future__ import annotations

from pathlib import Path

import pytest
from checks import NEWEST, codes, findings, found, notebook

from tflint_gpu.targets import Target

HEAD = """
import numpy as np
import tensorflow as tf
from tensorflow import keras
import scipy.ndimage
"""
LAYER = "class Filter(keras.layers.Layer):\n    def call(self, x, training=False):\n"
HOST = "def host(x):\n    return np.fft.fft(x).real.astype('float32')\n"
EAGER = "def host(x):\n    return np.fft.fft(x.numpy()).real.astype('float32')\n"
OPS = "def host(x):\n    return tf.sin(x) * 2\n"

IN_THE_WAY = {
    "numpy_function": HOST + LAYER + "        return tf.numpy_function(host, [x], tf.float32)",
    "function of NumPy": LAYER + "        return tf.numpy_function(np.sin, [x], tf.float32)",
    "shape set after": LAYER + "        y = tf.numpy_function(np.sin, [x], tf.float32)\n        y.set_shape(x.shape)\n"
    "        return y",
    "py_function with NumPy": HOST + LAYER + "        return tf.py_function(host, [x], tf.float32)",
    "py_function with numpy()": EAGER + LAYER + "        return tf.py_function(func=host, inp=[x], Tout=tf.float32)",
    "a list of what goes through NumPy": "def host(x):\n    parts = []\n    parts.append(split(x.numpy()))\n    return tf.stack(parts)\n"
    + LAYER
    + "        return tf.py_function(host, [x], tf.float32)",
    "a part of the object decides": "class Plain:\n    pass\nclass Ranked(Plain):\n    def rank(self, error):\n        ...\n"
    "class Learner:\n    def __init__(self, kept):\n        self.kept = kept\n        net = keras.Sequential([keras.layers.Dense(1)])\n"
    "        def loss(y, p):\n            if not isinstance(self.kept, Ranked):\n                return tf.reduce_mean(p - y)\n"
    "            def rank(goal, value):\n                self.kept.rank(np.abs((goal - value).numpy()))\n                return value\n"
    "            p = tf.py_function(rank, [y, p], tf.float32)\n            return tf.reduce_mean(p - y)\n"
    "        net.compile('sgd', loss=loss)\n",
    "py_function with operations": OPS + LAYER + "        return tf.py_function(host, [x], tf.float32)",
    "lambda": LAYER + "        return tf.numpy_function(lambda a: np.sort(a), [x], x.dtype)",
    "helper": HOST
    + "def transformed(x):\n    return tf.numpy_function(host, [x], tf.float32)\n"
    + LAYER
    + "        return transformed(x)",
    "helper method": "class Filter(keras.layers.Layer):\n    def smooth(self, a):\n        return scipy.ndimage.gaussian_filter(a, 1)\n"
    "    def call(self, x):\n        return tf.numpy_function(self.smooth, [x], 'float32')",
    "after a layer, in a model": "class Net(keras.Model):\n    def __init__(self):\n        super().__init__()\n"
    "        self.dense = keras.layers.Dense(3)\n    def call(self, x):\n        y = self.dense(x)\n"
    "        return tf.numpy_function(np.sin, [y], tf.float32)",
    "loss": HOST + "def loss(y, p):\n    return tf.reduce_mean(tf.numpy_function(host, [y - p], tf.float32))\n"
    "model = keras.Sequential()\nmodel.compile('sgd', loss=loss)",
    "loss class": "class L(keras.losses.Loss):\n    def call(self, y_true, y_pred):\n"
    "        return tf.numpy_function(np.subtract, [y_true, y_pred], tf.float32)",
    "Lambda layer": "layer = keras.layers.Lambda(lambda x: tf.numpy_function(np.sin, [x], tf.float32))",
    "under a tape": "@tf.function\ndef step(x: tf.Tensor):\n    with tf.GradientTape() as tape:\n"
    "        y = tf.numpy_function(np.sin, [x], tf.float32)\n    return tape.gradient(y, x)",
    "helper under a tape": HOST + "def f(x):\n    return tf.numpy_function(host, [x], tf.float32)\n"
    "class Net(keras.Model):\n    def train_step(self, data):\n        with tf.GradientTape() as tape:\n"
    "            loss = f(self(data))\n        return tape.gradient(loss, self.trainable_variables)",
    "by its old name": LAYER + "        return tf.compat.v1.py_func(np.sin, [x], tf.float32)",
    "decorated": "@tf.numpy_function(Tout=tf.float32)\ndef host(x):\n    return np.sin(x)\n"
    + LAYER
    + "        return host(x)",
    "two results": LAYER
    + "        a, b = tf.numpy_function(np.modf, [x], [tf.float32, tf.float32])\n        return a + b",
    "only in training": LAYER
    + "        if training:\n            x = tf.numpy_function(np.sin, [x], tf.float32)\n        return x",
}
ASIDE = {
    "values of a class": "class Boxed:\n    pass\n"
    + LAYER
    + "        if isinstance(x, Boxed):\n            x = tf.numpy_function(np.sin, [x], tf.float32)\n        return x",
    "data of a dataset": "def load(x):\n    return tf.numpy_function(np.sin, [x], tf.float32)\nds = tf.data.Dataset.range(9).map(load)",
    "metric": "class M(keras.metrics.Metric):\n    def update_state(self, y_true, y_pred, sample_weight=None):\n"
    "        self.v.assign(tf.numpy_function(np.mean, [y_pred], tf.float32))",
    "function in metrics": "def score(y, p):\n    return tf.numpy_function(np.mean, [p], tf.float32)\n"
    "model = keras.Sequential()\nmodel.compile('sgd', 'mse', metrics=[score])",
    "test_step": "class Net(keras.Model):\n    def test_step(self, data):\n        return tf.numpy_function(np.sin, [self(data)], tf.float32)",
    "predict_step": "class Net(keras.Model):\n    def predict_step(self, data):\n"
    "        return tf.numpy_function(np.sin, [self(data)], tf.float32)",
    "data in train_step, before the tape": "class Net(keras.Model):\n    def train_step(self, data):\n"
    "        x = tf.numpy_function(np.flip, [data], tf.float32)\n        with tf.GradientTape() as tape:\n"
    "            loss = self(x)\n        return tape.gradient(loss, self.trainable_variables)",
    "environment": "@tf.function\ndef env_step(action: tf.Tensor):\n    return tf.numpy_function(env.step, [action], [tf.float32, tf.int32])",
    "evaluation under tf.function": "@tf.function\ndef evaluate(x: tf.Tensor):\n    y = model(x)\n"
    "    tf.numpy_function(evaluator.update_state, [y], [])",
    "indices": LAYER + "        i = tf.numpy_function(np.argsort, [x], tf.int64)\n        return tf.gather(x, i)",
    "strings": LAYER + "        return tf.py_function(split, [x], tf.string)",
    "tokens": "class Tokenizer(keras.layers.Layer):\n    def call(self, x):\n        return tf.py_function(self.encode, [x], Tout=[tf.int32])\n"
    "    def encode(self, x):\n        return np.array([1])",
    "features and a mask": LAYER
    + "        y, mask = tf.py_function(host, [x], [tf.float32, tf.bool])\n        return y, mask\n"
    + HOST,
    "nothing comes back": LAYER + "        tf.py_function(log, [x], [])\n        return x",
    "result dropped": LAYER + "        tf.numpy_function(np.sin, [x], tf.float32)\n        return x",
    "summary": LAYER + "        tf.summary.scalar('a', tf.numpy_function(np.mean, [x], tf.float32))\n        return x",
    "own gradient": "@tf.custom_gradient\ndef f(x):\n    y = tf.numpy_function(np.sin, [x], tf.float32)\n"
    "    return y, lambda d: d * tf.cos(x)\n" + LAYER + "        return f(x)",
    "own gradient inside": LAYER + "        @tf.custom_gradient\n        def f(a):\n"
    "            return tf.numpy_function(np.sin, [a], tf.float32), lambda d: d\n        return f(x)",
    "stopped before": LAYER + "        return x + tf.numpy_function(np.sin, [tf.stop_gradient(x)], tf.float32)",
    "stopped after": LAYER + "        return x + tf.stop_gradient(tf.numpy_function(np.sin, [x], tf.float32))",
    "stopped by name": LAYER
    + "        y = tf.stop_gradient(x)\n        return x + tf.numpy_function(np.sin, [y], tf.float32)",
    "targets": LAYER
    + "        y = tf.numpy_function(np.sin, [x], tf.float32)\n        y = tf.stop_gradient(y)\n        return x + y",
    "the model's own input": "class Net(keras.Model):\n    def call(self, x):\n        x = tf.numpy_function(np.sin, [x], tf.float32)\n"
    "        return self.dense(x)",
    "no tensor": LAYER + "        return x * tf.numpy_function(np.random.rand, [], tf.float32)",
    "constants": LAYER + "        return x * tf.numpy_function(np.sin, [self.table], tf.float32)",
    "unknown function": "from elsewhere import host\n" + LAYER + "        return tf.py_function(host, [x], tf.float32)",
    "unknown type": LAYER + "        return tf.numpy_function(np.sin, [x], self.out)",
    "for inference only": LAYER
    + "        if not training:\n            x = tf.numpy_function(np.sin, [x], tf.float32)\n        return x",
    "for inference in the else": LAYER + "        if training:\n            return x\n        else:\n"
    "            return tf.numpy_function(np.sin, [x], tf.float32)",
    "not traced": "class Host:\n    def call(self, x):\n        return tf.numpy_function(np.sin, [x], tf.float32)",
    "eager variant": LAYER
    + "        if tf.executing_eagerly():\n            return tf.numpy_function(np.sin, [x], tf.float32)\n        return x",
    "debugging": LAYER
    + "        if self.debug:\n            x = tf.numpy_function(np.sin, [x], tf.float32)\n        return x",
    "another backend": "import os\nos.environ['KERAS_BACKEND'] = 'jax'\n"
    + LAYER
    + "        return tf.numpy_function(np.sin, [x], tf.float32)",
    "run eagerly": LAYER + "        return tf.numpy_function(np.sin, [x], tf.float32)\n"
    "model = keras.Sequential([Filter()])\nmodel.compile('sgd', 'mse', run_eagerly=True)",
    "own gradient by override": "@tf.RegisterGradient('Sin')\ndef grad(op, d):\n    return d\n"
    + LAYER
    + "        g = tf.compat.v1.get_default_graph()\n        with g.gradient_override_map({'PyFunc': 'Sin'}):\n"
    "            return tf.compat.v1.py_func(np.sin, [x], tf.float32)",
}


def _table(cases: dict[str, str]) -> pytest.MarkDecorator:
    return pytest.mark.parametrize("code", cases.values(), ids=cases.keys())


@_table(IN_THE_WAY)
def test_a_python_function_in_the_way_is_found(code: str, tmp_path: Path) -> None:
    """Protects recall: in layers, losses and under tapes, directly and through helpers."""
    assert codes(HEAD + code, tmp_path, ignore=("TFG401", "TFG209")) == ["TFG105"]


@_table(ASIDE)
def test_a_python_function_aside_is_silent(code: str, tmp_path: Path) -> None:
    """Protects precision: where no gradient is asked for, or where it was thought of."""
    assert "TFG105" not in codes(HEAD + code, tmp_path)


def test_a_helper_in_another_file_is_found_there(tmp_path: Path) -> None:
    (tmp_path / "host.py").write_text(
        "import numpy as np\nimport tensorflow as tf\n\n\ndef sine(x):\n    return tf.numpy_function(np.sin, [x], tf.float32)\n"
    )
    code = "import tensorflow as tf\nfrom host import sine\n\n\nclass Sine(tf.keras.layers.Layer):\n    def call(self, x):\n        return sine(x)\n"
    assert found(code, tmp_path) == {("TFG105 host.py", 6)}


def test_notebook(tmp_path: Path) -> None:
    text = notebook(
        "import numpy as np\nimport tensorflow as tf",
        LAYER.replace("keras.", "tf.keras.") + "        return tf.numpy_function(np.sin, [x], tf.float32)",
    )
    assert found(text, tmp_path, "x.ipynb") == {("TFG105", 3)}


@pytest.mark.parametrize(
    ("case", "kind", "words"),
    [
        ("numpy_function", "wrong-result", "layers before it are not trained"),
        ("py_function with NumPy", "crash", "gradient"),
        ("a list of what goes through NumPy", "crash", "gradient"),
        ("py_function with operations", "slowdown", "Python"),
        ("a part of the object decides", "slowdown", "Python"),
    ],
)
def test_each_kind_claims_what_it_does(case: str, kind: str, words: str, tmp_path: Path) -> None:
    """Protects the claims from each other: what trains is not said to cut the gradient."""
    ((_, finding),) = [(r, f) for r, f in findings(HEAD + IN_THE_WAY[case], tmp_path) if r.code == "TFG105"]
    assert finding.prediction.kind == kind
    assert words in finding.message


def test_xla_is_named_for_keras_3_only(tmp_path: Path) -> None:
    """Protects the version: Keras 2 turns XLA on only where it is asked to."""
    code = HEAD + IN_THE_WAY["numpy_function"]
    keras_2 = Target(tensorflow=(2, 15), keras=2, source="newest")
    messages = [
        finding.message
        for target in (NEWEST, keras_2)
        for rule, finding in findings(code, tmp_path, target=target)
        if rule.code == "TFG105"
    ]
    assert ["XLA" in message for message in messages] == [True, False]


@pytest.mark.slow
def test_what_each_kind_does_to_training() -> None:
    """Protects the claims, with the installed TensorFlow: which weights a step of training changes."""
    tf = pytest.importorskip("tensorflow")
    np = pytest.importorskip("numpy")

    class Through(tf.keras.layers.Layer):
        def __init__(self, function):  # type: ignore[no-untyped-def]
            super().__init__()
            self.function = function

        def call(self, x):  # type: ignore[no-untyped-def]
            return tf.ensure_shape(self.function(x), (4, 3))

        def compute_output_shape(self, input_shape):  # type: ignore[no-untyped-def]
            return input_shape

    def changed(function) -> list[bool]:  # type: ignore[no-untyped-def]
        model = tf.keras.Sequential([tf.keras.layers.Dense(3), Through(function), tf.keras.layers.Dense(1)])
        model.compile("sgd", "mse", jit_compile=False)
        x, y = np.ones((4, 3), "float32"), np.ones((4, 1), "float32")
        model.build((4, 3))
        before = [w.numpy() for w in model.trainable_weights]
        model.train_on_batch(x, y)
        return [bool((w.numpy() != old).any()) for w, old in zip(model.trainable_weights, before, strict=True)]

    assert changed(lambda x: tf.numpy_function(np.sin, [x], tf.float32)) == [False, False, True, True]
    assert changed(lambda x: tf.py_function(tf.sin, [x], tf.float32)) == [True, True, True, True]

    def noting(x):  # type: ignore[no-untyped-def]
        noted.append(np.abs(x.numpy()))
        return x

    noted: list[object] = []
    assert changed(lambda x: tf.py_function(noting, [x], tf.float32)) == [True, True, True, True]
    assert noted
    with pytest.raises(tf.errors.InvalidArgumentError):
        changed(lambda x: tf.py_function(lambda a: np.sin(a.numpy()), [x], tf.float32))
