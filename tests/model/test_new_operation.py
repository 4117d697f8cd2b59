"""An operation that TensorFlow adds is one name in a row: what knows it by the row."""

from __future__ import annotations

from pathlib import Path

import pytest
from checks import codes, findings, fixed

from tflint_gpu.model.library.operations import operation_named, operations

HEAD = """
import numpy as np
import tensorflow as tf
from tensorflow import keras
model = keras.models.load_model("a.keras")
rows = np.load("a.npy")
"""
PIPELINE = "model.fit(tf.data.Dataset.{}.batch(32), epochs=9)\n"
PICTURE = "tf.image.resize(tf.io.decode_jpeg(tf.io.read_file(path), 3), (224, 224))"
FOUND = {
    "TFG109": "@tf.function\ndef clip(x):\n    return tf.map_fn(lambda row: tf.math.softclip(row, 0.0, 1.0), x)\n"
    "for batch in tf.data.Dataset.from_tensor_slices(rows).batch(32):\n    clip(batch)\n",
    "TFG206": "for row in rows:\n    model.predict(tf.math.softclip(np.expand_dims(row, 0), 0.0, 1.0))\n",
    "TFG216": "auc = keras.metrics.AUC()\nfor row in rows:\n    auc.update_state(row[None], tf.math.softclip(row[None], 0.0, 1.0))\n",
    "TFG304": PIPELINE.format("from_tensor_slices(rows).map(lambda row: tf.math.softclip(row, 0.0, 1.0))"),
    "TFG320": f"def load(path):\n    return tf.math.softclip({PICTURE}, 0.0, 1.0)\n"
    + PIPELINE.format("list_files('*.jpg').map(load, num_parallel_calls=8).shuffle(10000)"),
    "TFG330": "def parse(record):\n    return tf.math.softclip(\n"
    "        tf.io.parse_single_example(record, {'x': tf.io.FixedLenFeature([4], tf.float32)})['x'], 0.0, 1.0)\n"
    + PIPELINE.format("TFRecordDataset('a').map(parse, num_parallel_calls=8)"),
    "TFG607": "x = tf.cast(rows, tf.float16)\ntf.math.log(tf.math.softclip(x, 1e-12, 1.0))\n",
    "TFG720": "x = keras.Input((3,))\nkeras.Model(x, keras.layers.Dense(1)(tf.math.softclip(x, 0.0, 1.0)))\n",
}
RETRACED = """import tensorflow as tf
@tf.function
def scale(x, n):
    return x + tf.math.softclip(n, 0.5, 1.0)
for i in range(1000):
    scale(tf.zeros((3,)), i)
"""
DOUBLE = """
keras.backend.set_floatx("float64")
net = keras.Sequential([keras.layers.Dense(1)])
with tf.GradientTape() as tape:
    loss = tf.reduce_mean(tf.math.softclip(net(rows), 0.0, 1.0))
"""


@pytest.fixture
def softclip(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(operations(), "tf.math.softclip", operation_named("tf.clip_by_value"))


@pytest.mark.parametrize("code", FOUND)
def test_what_needs_the_row(code: str, tmp_path: Path) -> None:
    assert code not in codes(HEAD + FOUND[code], tmp_path)


@pytest.mark.usefixtures("softclip")
@pytest.mark.parametrize("code", FOUND)
def test_the_row_suffices(code: str, tmp_path: Path) -> None:
    assert code in codes(HEAD + FOUND[code], tmp_path)


@pytest.mark.usefixtures("softclip")
def test_the_row_says_the_dtype_of_a_number(tmp_path: Path) -> None:
    (finding,) = (finding for rule, finding in findings(RETRACED, tmp_path) if rule.code == "TFG204")
    assert finding.help == "pass a tensor: `tf.constant(i, tf.float32)`"


@pytest.mark.usefixtures("softclip")
def test_the_row_says_that_a_tensor_follows_keras(tmp_path: Path) -> None:
    assert "float64" not in fixed(HEAD + DOUBLE, tmp_path, "TFG602")
