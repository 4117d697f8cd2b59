"""TFG406: arrays of gigabytes that Keras copies onto the GPU as a whole, and data that come in batches."""

from __future__ import annotations

import inspect
from pathlib import Path

import numpy as np
import pytest
from checks import codes, findings

HEAD = """
import numpy as np
import tensorflow as tf
net = tf.keras.Sequential([tf.keras.layers.Conv2D(8, 3), tf.keras.layers.Flatten(), tf.keras.layers.Dense(3)])
net.compile("adam", "mse")
y = np.zeros((20000, 3), "float32")
"""
FOUND = {
    "float32": "x = np.zeros((20000, 400, 400, 3), dtype=np.float32)\nnet.fit(x, y, batch_size=1)\n",
    "float64 as float32": "x = np.random.rand(20000, 300, 300, 3)\nnet.fit(x, y)\n",
    "computed": "x = np.zeros((20000, 400, 400, 3), 'float32') / 2\nnet.evaluate(x=x, y=y)\n",
    "predicted": "def guess(rows):\n    return net.predict(rows)\nguess(np.ones((20000, 400, 400, 3), 'float32'))\n",
    "in a call": "x = np.zeros((20000, 400, 400, 3), 'float32')\nprint(net(x))\nnet.fit(few, y)\n",
    "bytes": "x = np.zeros((20000, 800, 800, 1), 'uint8')\nnet.predict(x)\n",
}
SILENT = {
    "little": "x = np.zeros((2000, 100, 100, 3), 'float32')\nnet.fit(x, y)\n",
    "float64 of nine gigabytes": "x = np.random.rand(10000, 200, 200, 3)\nnet.fit(x, y)\n",
    "a dataset": "x = np.zeros((20000, 400, 400, 3), 'float32')\n"
    "net.fit(tf.data.Dataset.from_generator(lambda: zip(x, y), (tf.float32, tf.float32)).batch(8))\n",
    "a part": "x = np.zeros((20000, 400, 400, 3), 'float32')\nnet.fit(x[:100], y[:100])\n",
    "slices in calls": "x = np.zeros((20000, 400, 400, 3), 'float32')\nprint(net(x[:32]))\nnet.fit(few, y)\n",
    "a function": "def shown(x):\n    return x.shape\nx = np.zeros((20000, 400, 400, 3), 'float32')\nshown(x)\nnet.fit(few, y)\n",
    "not known": "x = np.load('x.npy')\nnet.fit(x, y)\n",
    "another library": "from sklearn.svm import SVC\nx = np.zeros((20000, 400, 400, 3), 'float32')\nSVC().fit(x, y)\n",
    "without a GPU": "tf.config.set_visible_devices([], 'GPU')\nx = np.zeros((20000, 400, 400, 3), 'float32')\nnet.fit(x, y)\n",
}


@pytest.mark.parametrize("code", FOUND.values(), ids=FOUND)
def test_an_array_of_gigabytes_is_found(code: str, tmp_path: Path) -> None:
    assert codes(HEAD + code, tmp_path).count("TFG406") == 1


@pytest.mark.parametrize("code", SILENT.values(), ids=SILENT)
def test_what_fits_or_comes_in_batches_is_not(code: str, tmp_path: Path) -> None:
    assert "TFG406" not in codes(HEAD + code, tmp_path)


def test_the_message_tells_how_much(tmp_path: Path) -> None:
    [message] = [f.message for r, f in findings(HEAD + FOUND["float32"], tmp_path) if r.code == "TFG406"]
    assert f"{20000 * 400 * 400 * 3 * 4 / 2**30:.1f} GiB" in message


def test_keras_makes_one_tensor_of_an_array() -> None:
    """Protects the claim, by Keras's source: the whole array, without naming a device."""
    from keras.src.trainers.data_adapters import array_data_adapter

    source = inspect.getsource(array_data_adapter)
    assert "from_tensors(inputs)" in source
    assert "device(" not in source


def test_a_call_takes_all_rows_at_once() -> None:
    """Protects the claim about `model(x)`, by Keras."""
    keras = pytest.importorskip("keras")
    seen = []

    class Seen(keras.layers.Layer):
        def call(self, rows: object) -> object:
            seen.append(tuple(rows.shape))  # type: ignore[attr-defined]
            return rows

    keras.Sequential([Seen()])(np.zeros((5000, 2), "float32"))
    assert (5000, 2) in seen
