"""TFG605: Python functions that XLA is to compile, which it cannot."""

from __future__ import annotations

from pathlib import Path

import pytest
from checks import codes, found, notebook

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
    "jit_compile auto": SINE + "model = keras.Sequential([Sine()])\nmodel.compile('sgd', 'mse', jit_compile='auto')",
    "one model of two": SINE
    + "a = keras.Sequential([Sine()])\na.compile('sgd', 'mse')\nb = keras.Sequential([keras.layers.Dense(1)])\n"
    "b.compile('sgd', 'mse', jit_compile=True)",
    "layer that no model here has": SINE
    + "model = keras.Sequential([keras.layers.Dense(1)])\nmodel.compile('sgd', 'mse', jit_compile=True)",
    "run eagerly": SINE + "model = keras.Sequential([Sine()])\nmodel.compile('sgd', 'mse', run_eagerly=True)",
    "torch's compile": "import torch\nf = torch.compile(lambda x: x, jit_compile=True)",
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


def test_a_helper_in_another_file_is_found_there(tmp_path: Path) -> None:
    (tmp_path / "host.py").write_text(
        "import numpy as np\nimport tensorflow as tf\n\n\ndef sine(x):\n    return tf.numpy_function(np.sin, [x], tf.float32)\n"
    )
    code = "import tensorflow as tf\nfrom host import sine\n\n\n@tf.function(jit_compile=True)\ndef f(x):\n    return sine(x)\n"
    assert found(code, tmp_path) == {("TFG605 host.py", 6)}


def test_notebook(tmp_path: Path) -> None:
    text = notebook("import numpy as np\nimport tensorflow as tf", COMPILED["decorator"])
    assert found(text, tmp_path, "x.ipynb") == {("TFG605", 3)}


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
