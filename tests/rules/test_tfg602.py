"""TFG602: what certainly computes in float64 is found; data in float64, and float64 that is needed, is not."""

from __future__ import annotations

from pathlib import Path

import pytest
from checks import codes, findings, found, notebook

from tflint_gpu.targets import Target

HEAD = """
import numpy as np
import tensorflow as tf
from tensorflow import keras
"""
LAYER = "class Mix(keras.layers.Layer):\n    def __init__(self):\n        super().__init__()\n"
CALL = "    def build(self, shape):\n        self.w = self.add_weight(shape=(4, 4))\n    def call(self, x):\n"
FLOAT64 = {
    "floatx": "keras.backend.set_floatx('float64')",
    "floatx in config": "keras.config.set_floatx('float64')",
    "floatx from a constant": "PRECISION = 'float64'\nkeras.backend.set_floatx(PRECISION)",
    "floatx from a dictionary": "CFG = {'floatx': 'float64'}\ntf.keras.backend.set_floatx(CFG['floatx'])",
    "floatx in the main guard": "if __name__ == '__main__':\n    keras.backend.set_floatx('float64')\n"
    "    model = keras.Sequential([keras.layers.Dense(1)])",
    "floatx through a parameter": "def setup(dtype):\n    keras.backend.set_floatx(dtype)\nsetup('float64')",
    "floatx from a class's attribute": "class Run:\n    def __init__(self):\n        self.dtype = 'float64'\n"
    "    def start(self):\n        keras.backend.set_floatx(self.dtype)",
    "policy": "keras.mixed_precision.set_global_policy('float64')",
    "policy of Keras 3": "keras.config.set_dtype_policy('float64')",
    "policy as an object": "keras.mixed_precision.set_global_policy(keras.mixed_precision.Policy('float64'))",
    "layer": "layer = keras.layers.Dense(4, dtype='float64')",
    "layer with a dtype": "layer = keras.layers.Conv2D(4, 3, dtype=tf.float64)",
    "layer with NumPy's dtype": "layer = keras.layers.Dense(4, dtype=np.float64)",
    "layer with an alias": "DTYPE = tf.double\nlayer = keras.layers.LSTM(4, dtype=DTYPE)",
    "layer with a dictionary": "CFG = dict(units=4, dtype='float64')\nlayer = keras.layers.Dense(**CFG)",
    "layer through a parameter": "def head(n, dtype):\n    return keras.layers.Dense(n, dtype=dtype)\nhead(4, tf.float64)",
    "layer of a model's class": "class Net(keras.Model):\n    def __init__(self):\n        super().__init__()\n"
    "        self.dtype_of_head = 'float64'\n        self.head = keras.layers.Dense(4, dtype=self.dtype_of_head)",
    "own layer": "class Mix(keras.layers.Layer):\n    def __init__(self):\n        super().__init__(dtype='float64')\n"
    + CALL
    + "        return tf.matmul(x, self.w)",
    "product of a cast": LAYER + CALL + "        return tf.matmul(tf.cast(x, tf.float64), self.table)",
    "product of a cast with a name": LAYER
    + CALL
    + "        x = tf.cast(x, 'float64')\n        return tf.einsum('ij,jk->ik', x, self.table)",
    "product by operator": LAYER + CALL + "        return tf.cast(x, tf.float64) @ self.table",
    "product of two casts": LAYER
    + CALL
    + "        a = tf.cast(x, tf.float64)\n        b = tf.cast(self.w + x, tf.float64)\n        return tf.matmul(a, b)",
    "product in a tf.function": "@tf.function\ndef f(x: tf.Tensor, t):\n    return tf.tensordot(tf.cast(x, tf.float64), t, 1)",
    "product in a helper": LAYER
    + "    def mix(self, x):\n        return tf.matmul(tf.cast(x, tf.float64), self.w)\n"
    + CALL
    + "        return self.mix(x)",
}
NOT_FLOAT64 = {
    "data": "x = np.zeros((8, 2), dtype='float64')\nmodel = keras.Sequential([keras.layers.Dense(1)])\nmodel.fit(x, x)",
    "dataset": "ds = tf.data.Dataset.from_tensor_slices(tf.zeros((8, 2), tf.float64)).map(lambda x: tf.cast(x, tf.float64))",
    "input": "x = keras.Input((4,), dtype='float64')",
    "float32": "keras.backend.set_floatx('float32')\nlayer = keras.layers.Dense(4, dtype='float32')",
    "mixed precision": "keras.mixed_precision.set_global_policy('mixed_float16')",
    "for a while": "keras.backend.set_floatx('float64')\nrun()\nkeras.backend.set_floatx('float32')",
    "restored": "old = keras.backend.floatx()\nkeras.backend.set_floatx('float64')\nrun()\nkeras.backend.set_floatx(old)",
    "the user's choice": "import argparse\np = argparse.ArgumentParser()\np.add_argument('--floatx', default='float64')\n"
    "keras.backend.set_floatx(p.parse_args().floatx)",
    "under a flag": "if args.double:\n    keras.backend.set_floatx('float64')",
    "from a configuration file": "keras.backend.set_floatx(config['training']['precision'])",
    "default of a parameter": "def setup(dtype='float64'):\n    keras.backend.set_floatx(dtype)\nsetup(args.dtype)",
    "layer under a flag": "layer = keras.layers.Dense(4, dtype='float64' if exact else 'float32')",
    "unknown dtype": "def head(dtype):\n    return keras.layers.Dense(4, dtype=dtype)",
    "one of two callers": "def head(dtype):\n    return keras.layers.Dense(4, dtype=dtype)\nhead('float64')\nhead('float32')",
    "preprocessing layer": "layer = keras.layers.Rescaling(1 / 255, dtype='float64')",
    "head without weights": "layer = keras.layers.Activation('softmax', dtype='float64')",
    "model, whose layers have their own": "class Net(keras.Model):\n    def __init__(self):\n"
    "        super().__init__(dtype='float64')\n" + CALL + "        return x",
    "layer without weights": "class Scale(keras.layers.Layer):\n    def __init__(self):\n"
    "        super().__init__(dtype='float64')\n    def call(self, x):\n        return x * 2",
    "cast before a layer": LAYER
    + "        self.d = keras.layers.Dense(4)\n"
    + CALL
    + "        return self.d(tf.cast(x, tf.float64))",
    "cast for a sum": LAYER + CALL + "        return tf.reduce_sum(tf.cast(x, tf.float64))",
    "cast for a decomposition": LAYER + CALL + "        return tf.linalg.cholesky(tf.cast(x, tf.float64))",
    "cast of a size": LAYER
    + CALL
    + "        n = tf.cast(x.shape[-1], tf.float64)\n        return tf.matmul(x, self.w) / n",
    "cast of a constant": LAYER + CALL + "        return tf.matmul(tf.cast(self.table, tf.float64), self.other)",
    "cast back": LAYER + CALL + "        x = tf.cast(x, tf.float64)\n        x = tf.cast(x, tf.float32)\n"
    "        return tf.matmul(x, self.w)",
    "one of two branches": LAYER + CALL + "        if self.exact:\n            x = tf.cast(x, tf.float64)\n"
    "        return tf.matmul(x, self.w)",
    "metric": "class Corr(keras.metrics.Metric):\n    def update_state(self, y_true, y_pred, sample_weight=None):\n"
    "        y = tf.cast(y_true, tf.float64)\n        self.c.assign_add(tf.matmul(y, y, transpose_a=True))",
    "outside of model code": "def covariance(x):\n    x = tf.cast(x, tf.float64)\n    return tf.matmul(x, x)",
    "needed by an optimizer": "import tensorflow_probability as tfp\nkeras.backend.set_floatx('float64')\n"
    "tfp.optimizer.lbfgs_minimize(f, x)",
    "needed by SciPy's optimizer": "from scipy.optimize import minimize\nkeras.backend.set_floatx('float64')",
    "gradient check": "keras.backend.set_floatx('float64')\ntf.test.compute_gradient(f, [x])",
    "a function tried out": "def loss(x):\n    return tf.reduce_mean(tf.cast(x, keras.backend.floatx()))\n"
    "if __name__ == '__main__':\n    keras.backend.set_floatx('float64')\n    print(loss(tf.random.uniform((10,))))",
    "another backend": "import os\nos.environ['KERAS_BACKEND'] = 'jax'\nkeras.config.set_floatx('float64')",
    "torch": "import torch\ntorch.set_default_dtype(torch.float64)\nlayer = torch.nn.Linear(4, 4, dtype=torch.float64)",
}


def _table(cases: dict[str, str]) -> pytest.MarkDecorator:
    return pytest.mark.parametrize("code", cases.values(), ids=cases.keys())


@_table(FLOAT64)
def test_float64_is_found(code: str, tmp_path: Path) -> None:
    """Protects recall: each way in which a model comes to compute in float64."""
    assert codes(HEAD + code, tmp_path) == ["TFG602"]


@_table(NOT_FLOAT64)
def test_other_precision_is_not_found(code: str, tmp_path: Path) -> None:
    """Protects precision: data, choices, needs, and casts that no product reads."""
    assert "TFG602" not in codes(HEAD + code, tmp_path)


def test_the_dtype_may_come_from_another_file(tmp_path: Path) -> None:
    (tmp_path / "config.py").write_text("import tensorflow as tf\nDTYPE = tf.float64\n")
    code = "import tensorflow as tf\nfrom config import DTYPE\nlayer = tf.keras.layers.Dense(4, dtype=DTYPE)\n"
    assert found(code, tmp_path) == {("TFG602", 3)}


def test_a_notebook_is_read(tmp_path: Path) -> None:
    text = notebook("import tensorflow as tf\ntf.keras.backend.set_floatx('float64')")
    assert {code for code, _ in found(text, tmp_path, "x.ipynb")} == {"TFG602"}


@pytest.mark.parametrize(("keras", "expected"), [(3, []), (2, ["TFG602"])])
def test_floatx_comes_too_late_in_keras_3_once_a_layer_was_made(
    keras: int, expected: list[str], tmp_path: Path
) -> None:
    """Protects the claim that layers compute in it: Keras 3 asks once, with the first layer (measured)."""
    code = HEAD + "first = keras.layers.Dense(4)\nfirst(x)\nkeras.backend.set_floatx('float64')"
    target = Target((2, 21) if keras == 3 else (2, 15), keras, "settings")
    assert codes(code, tmp_path, target=target) == expected


def test_the_second_cast_of_a_product_is_a_note(tmp_path: Path) -> None:
    """Protects from two findings for one product."""
    ((_, finding),) = findings(HEAD + FLOAT64["product of two casts"], tmp_path)
    assert [note.message for note in finding.notes] == ["this operation", "the other operand's cast"]


def test_tests_are_not_checked(tmp_path: Path) -> None:
    code = HEAD + "keras.backend.set_floatx('float64')"
    assert found(code, tmp_path, "tests/layers.py") == set()


def test_keras_computes_as_the_rule_says() -> None:
    """Protects the rule's facts, with the installed TensorFlow."""
    tf = pytest.importorskip("tensorflow")
    layers, x = tf.keras.layers, tf.ones((2, 3))
    assert tf.as_dtype(layers.Dense(2, dtype="float64")(x).dtype) == tf.float64
    assert tf.as_dtype(layers.Dense(2)(tf.cast(x, tf.float64)).dtype) == tf.float32
    kept = tf.keras.mixed_precision.global_policy() if hasattr(tf.keras.mixed_precision, "global_policy") else None
    assert kept is None or kept.compute_dtype == "float32"
    tf.keras.mixed_precision.set_global_policy("float64")
    try:
        assert tf.as_dtype(layers.Dense(2)(x).dtype) == tf.float64
    finally:
        tf.keras.mixed_precision.set_global_policy("float32")
