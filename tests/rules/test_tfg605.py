"""TFG605: operations that XLA is to compile, by itself or because it is asked to, and cannot."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from checks import codes, found, notebook

from tflint_gpu.targets import Target

HEAD = """
import numpy as np
import tensorflow as tf
from tensorflow import keras
"""
SINE = "class Sine(keras.layers.Layer):\n    def call(self, x):\n        return tf.numpy_function(np.sin, [x], tf.float32)\n"
NET = "class Net(keras.Model):\n    def __init__(self):\n        super().__init__()\n        self.d = keras.layers.Dense(3)\n"
NET += "    def call(self, x):\n        return tf.py_function(host, [self.d(x)], tf.float32)\n"
HOST = "def host(x):\n    return tf.sin(x)\n"

COMPILED = {
    "decorator": "@tf.function(jit_compile=True)\ndef f(x):\n    return tf.numpy_function(np.sin, [x], tf.float32)",
    "older name": "@tf.function(experimental_compile=True)\ndef f(x):\n    return tf.py_function(np.sin, [x], tf.float32)",
    "call": "def f(x):\n    return tf.numpy_function(np.sin, [x], tf.float32)\ng = tf.function(f, jit_compile=True)",
    "constant": "XLA = True\n@tf.function(jit_compile=XLA)\ndef f(x):\n    return tf.numpy_function(np.sin, [x], tf.float32)",
    "helper": "def h(x):\n    return tf.numpy_function(np.sin, [x], tf.float32)\n@tf.function(jit_compile=True)\ndef f(x):\n    return h(x)",
    "inner tf.function": "@tf.function\ndef h(x):\n    return tf.numpy_function(np.sin, [x], tf.float32)\n"
    "@tf.function(jit_compile=True)\ndef f(x):\n    return h(x)",
    "method": "class A:\n    @tf.function(jit_compile=True)\n    def f(self, x):\n        return self.h(x)\n"
    "    def h(self, x):\n        return tf.numpy_function(np.sin, [x], tf.float32)",
    "attribute": "class A:\n    def __init__(self):\n        self.fast = tf.function(self.f, jit_compile=True)\n"
    "    def f(self, x):\n        return tf.numpy_function(np.sin, [x], tf.float32)",
    "parameter": "def fast(f):\n    return tf.function(f, jit_compile=True)\ng = fast(lambda x: tf.numpy_function(np.sin, [x], tf.float32))",
    "unknown function": "from elsewhere import host\n@tf.function(jit_compile=True)\ndef f(x):\n    return tf.py_function(host, [x], tf.int32)",
    "nothing comes back": "@tf.function(jit_compile=True)\ndef f(x):\n    tf.py_function(print, [x], [])\n    return x * 2",
    "flag that is known": "LOG = True\n@tf.function(jit_compile=True)\ndef f(x):\n    if LOG:\n        tf.py_function(print, [x], [])\n    return x",
    "decorated": "@tf.numpy_function(Tout=tf.float32)\ndef h(x):\n    return np.sin(x)\n@tf.function(jit_compile=True)\ndef f(x):\n    return h(x)",
    "model": HOST + NET + "model = Net()\nmodel.compile('sgd', 'mse', jit_compile=True)\nmodel.fit(x, y)",
    "layer of a Sequential": SINE
    + "model = keras.Sequential([keras.layers.Dense(3), Sine()])\nmodel.compile('sgd', 'mse', jit_compile=True)",
    "functional model": SINE
    + "i = keras.Input((3,))\nmodel = keras.Model(i, Sine()(i))\nmodel.compile(optimizer='sgd', loss='mse', jit_compile=True)",
    "loss": "def loss(y, p):\n    return tf.numpy_function(np.subtract, [y, p], tf.float32)\n"
    "model = keras.Sequential([keras.layers.Dense(3)])\nmodel.compile('sgd', loss, jit_compile=True)",
}
NOT_COMPILED = {
    "plain tf.function": "@tf.function\ndef f(x):\n    return tf.numpy_function(np.sin, [x], tf.float32)",
    "switched off": "@tf.function(jit_compile=False)\ndef f(x):\n    return tf.numpy_function(np.sin, [x], tf.float32)",
    "a flag": "@tf.function(jit_compile=FLAGS.xla)\ndef f(x):\n    return tf.numpy_function(np.sin, [x], tf.float32)",
    "parameter of a function": "def make(xla):\n    @tf.function(jit_compile=xla)\n    def f(x):\n        return tf.numpy_function(np.sin, [x], tf.float32)\n    return f",
    "Python function outside": "@tf.function(jit_compile=True)\ndef f(x):\n    return tf.sin(x)\n@tf.function\ndef g(x):\n    return tf.numpy_function(np.sin, [f(x)], tf.float32)",
    "in the data": "@tf.function(jit_compile=True)\ndef f(x):\n    return tf.sin(x)\n"
    "ds = tf.data.Dataset.range(9).map(lambda x: tf.numpy_function(np.sin, [x], tf.float32))",
    "init_scope": "@tf.function(jit_compile=True)\ndef f(x):\n    with tf.init_scope():\n        tf.py_function(print, [1], [])\n    return x",
    "unknown flag": "@tf.function(jit_compile=True)\ndef f(x):\n    if LOG:\n        tf.py_function(print, [x], [])\n    return x\nLOG = flags()",
    "flag that is off": "LOG = False\n@tf.function(jit_compile=True)\ndef f(x):\n    if LOG:\n        tf.py_function(print, [x], [])\n    return x",
    "caught": "@tf.function(jit_compile=True)\ndef f(x):\n    try:\n        return tf.numpy_function(np.sin, [x], tf.float32)\n    except ValueError:\n        return x",
    "eagerly": "@tf.function(jit_compile=True)\ndef f(x):\n    if tf.executing_eagerly():\n        return tf.numpy_function(np.sin, [x], tf.float32)\n    return x",
    "NumPy on shapes": "@tf.function(jit_compile=True)\ndef f(x):\n    return x * np.prod(x.shape)",
    "indices of what is true": "@tf.function(jit_compile=True)\ndef f(x):\n    return tf.where(x > 0)",
    "masked": "@tf.function(jit_compile=True)\ndef f(x):\n    return tf.boolean_mask(x, x > 0)",
    "one model of two": SINE
    + "a = keras.Sequential([Sine()])\na.compile('sgd', 'mse')\nb = keras.Sequential([keras.layers.Dense(1)])\n"
    "b.compile('sgd', 'mse', jit_compile=True)",
    "layer that no model here has": SINE
    + "model = keras.Sequential([keras.layers.Dense(1)])\nmodel.compile('sgd', 'mse', jit_compile=True)",
    "run eagerly": SINE + "model = keras.Sequential([Sine()])\nmodel.compile('sgd', 'mse', run_eagerly=True)",
    "torch's compile": "import torch\nf = torch.compile(lambda x: x, jit_compile=True)",
}

SHOWN = (
    "class Shown(keras.layers.Layer):\n    def call(self, x):\n        tf.print(tf.reduce_max(x))\n        return x\n"
)
NETWORK = "net = keras.Sequential([keras.Input((4,)), keras.layers.Dense(3), Shown()])\n"
FITS = "net.compile(optimizer='sgd', loss='mse')\nnet.fit(np.ones((8, 4)), np.ones((8, 3)))\n"
GAN = """
class Doubled(keras.Model):
    def __init__(self, inner):
        super().__init__()
        self.inner = inner
    def compile(self, **settings):
        super().compile(**settings)
    def call(self, x):
        return self.inner(x)
    def train_step(self, data):
        x, y = data
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean((self(x, training=True) - y) ** 2)
        tf.print(loss)
        self.optimizer.apply_gradients(zip(tape.gradient(loss, self.trainable_weights), self.trainable_weights))
        return {"loss": loss}
net = Doubled(keras.Sequential([keras.layers.Dense(3)]))
"""
COUNTED = """
class Right(keras.metrics.Metric):
    def __init__(self):
        super().__init__()
        self.total = self.add_weight(initializer="zeros")
    def update_state(self, y_true, y_pred, sample_weight=None):
        self.total.assign_add(tf.reduce_sum(tf.math.segment_sum(y_pred[:, 0], tf.cast(y_true[:, 0], tf.int32))))
    def result(self):
        return self.total
net = keras.Sequential([keras.Input((4,)), keras.layers.Dense(3)])
net.compile("sgd", "mse", metrics=[Right()])
"""
BY_ITSELF = {
    "a layer": SHOWN + NETWORK + FITS,
    "asked for as auto": SHOWN + NETWORK + "net.compile('sgd', 'mse', jit_compile='auto')\n",
    "a step": GAN + FITS,
    "a loss": "def loss(y, p):\n    tf.print(p)\n    return tf.reduce_mean((y - p) ** 2)\n"
    "net = keras.Sequential([keras.layers.Dense(3)])\nnet.compile('sgd', loss)\nnet.fit(x, y)\n",
    "a metric": COUNTED,
    "texts": "class Buckets(keras.layers.Layer):\n    def call(self, x):\n"
    "        return tf.strings.to_hash_bucket_fast(tf.strings.as_string(x), 9)\n"
    "net = keras.Sequential([keras.Input((4,), dtype='int64'), Buckets(), keras.layers.Embedding(9, 2)])\n" + FITS,
    "a table": "table = tf.lookup.StaticHashTable(tf.lookup.KeyValueTensorInitializer([1, 2], [3, 4]), 0)\n"
    "class Known(keras.layers.Layer):\n    def call(self, x):\n        return table.lookup(x)\n"
    "net = keras.Sequential([keras.Input((4,), dtype='int32'), Known(), keras.layers.Embedding(9, 2)])\n" + FITS,
    "a larger image": "class Larger(keras.layers.Layer):\n    def call(self, x):\n"
    "        return tf.image.resize(x, (9, 9), method='bicubic')\n"
    "net = keras.Sequential([keras.Input((4, 4, 3)), Larger()])\n" + FITS,
    "by the enumeration": "class Larger(keras.layers.Layer):\n    def call(self, x):\n"
    "        return tf.image.resize(x, (9, 9), tf.image.ResizeMethod.AREA)\n"
    "net = keras.Sequential([keras.Input((4, 4, 3)), Larger()])\n" + FITS,
}
NOT_BY_ITSELF = {
    "switched off": SHOWN + NETWORK + "net.compile('sgd', 'mse', jit_compile=False)\n",
    "eager": SHOWN + NETWORK + "net.compile('sgd', 'mse', run_eagerly=True)\n",
    "settings from elsewhere": SHOWN + NETWORK + "net.compile(**settings())\n",
    "a layer that says no": SHOWN.replace(
        "    def call",
        "    def __init__(self):\n        super().__init__()\n        self.supports_jit = False\n    def call",
        1,
    )
    + NETWORK
    + FITS,
    "an LSTM": SHOWN + "net = keras.Sequential([keras.layers.LSTM(4), Shown()])\n" + FITS,
    "texts are numbers first": SHOWN + "net = keras.Sequential([keras.layers.StringLookup(), Shown()])\n" + FITS,
    "several GPUs": SHOWN + "with tf.distribute.MirroredStrategy().scope():\n    net = keras.Sequential([Shown()])\n"
    "    net.compile('sgd', 'mse')\n",
    "no GPU": "import os\nos.environ['CUDA_VISIBLE_DEVICES'] = '-1'\n" + SHOWN + NETWORK + FITS,
    "the same each time": "tf.config.experimental.enable_op_determinism()\n" + SHOWN + NETWORK + FITS,
    "never compiled": SHOWN + NETWORK + "net(np.ones((8, 4)))\n",
    "bilinear": "class Larger(keras.layers.Layer):\n    def call(self, x):\n        return tf.image.resize(x, (9, 9))\n"
    "net = keras.Sequential([keras.Input((4, 4, 3)), Larger()])\n" + FITS,
    "not traced": SHOWN.replace("tf.print(tf.reduce_max(x))", "x = x") + NETWORK + FITS + "tf.print(net.weights[0])\n",
    "if asked": SHOWN.replace("tf.print", "if VERBOSE: tf.print") + NETWORK + FITS + "VERBOSE = flags()\n",
}


def _table(cases: dict[str, str]) -> pytest.MarkDecorator:
    return pytest.mark.parametrize("code", cases.values(), ids=cases.keys())


@_table(COMPILED)
def test_what_xla_cannot_compile_is_found_once(code: str, tmp_path: Path) -> None:
    """Protects recall, and one finding a mistake: TFG105 says nothing of the same call."""
    assert codes(HEAD + code, tmp_path) == ["TFG605"]


@_table(NOT_COMPILED)
def test_what_is_not_compiled_is_silent(code: str, tmp_path: Path) -> None:
    """Protects precision: Python functions elsewhere, flags, and what XLA does compile."""
    assert "TFG605" not in codes(HEAD + code, tmp_path)


@_table(BY_ITSELF)
def test_what_keras_compiles_by_itself_is_found(code: str, tmp_path: Path) -> None:
    """Protects what the rule says of a GPU, which no `jit_compile` in the code shows."""
    assert "TFG605" in codes(HEAD + code, tmp_path)
    assert "TFG605" not in codes(HEAD + code, tmp_path, target=Target(tensorflow=(2, 15), keras=2, source="older"))


@_table(NOT_BY_ITSELF)
def test_what_keras_does_not_compile_is_silent(code: str, tmp_path: Path) -> None:
    assert "TFG605" not in codes(HEAD + code, tmp_path)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["a layer", "a step", "a metric", "texts", "a table", "a larger image"])
def test_a_gpu_makes_it_raise(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Protects the claim, with the installed Keras: the program runs, but not where a GPU is listed."""
    tf, keras = pytest.importorskip("tensorflow"), pytest.importorskip("keras")
    if keras.__version__ < "3":
        pytest.skip("Keras 3 compiles by itself")
    np = pytest.importorskip("numpy")
    given = {"a step": "", "a metric": ", loss='mse', metrics=[Right()]"}.get(name, ", loss='mse'")
    code = (HEAD + BY_ITSELF[name]).replace(FITS, "") + f"net.compile(optimizer='sgd'{given})\n"
    shape = {"a larger image": (8, 4, 4, 3)}.get(name, (8, 4))
    kind = "int32" if name == "a table" else "int64" if name == "texts" else "float32"
    listed = tf.config.list_physical_devices
    gpu = tf.config.PhysicalDevice("/physical_device:GPU:0", "GPU")
    for with_gpu in (False, True):
        if with_gpu:
            monkeypatch.setattr(tf.config, "list_physical_devices", lambda kind=None: [*listed(kind), gpu])
        names: dict[str, Any] = {}
        exec(compile(code, name, "exec"), names)
        net, x = names["net"], np.ones(shape, kind)
        y = np.zeros(net(x).shape, "float32")
        if not with_gpu:
            net.fit(x, y, verbose=0)
            continue
        with pytest.raises(tf.errors.InvalidArgumentError, match=r"No registered|unsupported operations"):
            net.fit(x, y, verbose=0)


def test_a_helper_in_another_file_is_found_there(tmp_path: Path) -> None:
    (tmp_path / "host.py").write_text(
        "import numpy as np\nimport tensorflow as tf\n\n\ndef sine(x):\n    return tf.numpy_function(np.sin, [x], tf.float32)\n"
    )
    code = "import tensorflow as tf\nfrom host import sine\n\n\n@tf.function(jit_compile=True)\ndef f(x):\n    return sine(x)\n"
    assert found(code, tmp_path) == {("TFG605 host.py", 6)}


def test_notebook(tmp_path: Path) -> None:
    text = notebook("import numpy as np\nimport tensorflow as tf", COMPILED["decorator"])
    assert found(text, tmp_path, "x.ipynb") == {("TFG605", 3)}


@pytest.mark.slow
def test_xla_refuses_python_and_takes_shapes_that_depend_on_data() -> None:
    """Protects the claim and its bound, with the installed TensorFlow."""
    tf = pytest.importorskip("tensorflow")
    np = pytest.importorskip("numpy")
    compiled = [
        tf.function(lambda x: tf.numpy_function(np.sin, [x], tf.float32), jit_compile=True),
        tf.function(lambda x: tf.py_function(tf.sin, [x], tf.float32), jit_compile=True),
    ]
    for function in compiled:
        with pytest.raises(tf.errors.InvalidArgumentError, match="unsupported operations"):
            function(tf.ones(3))
    assert tf.function(lambda x: tf.where(x > 0), jit_compile=True)(tf.ones(3)).shape == (3, 1)
