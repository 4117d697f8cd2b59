"""TFG333: `skip` behind `batch` by a count of samples, and counts of batches."""

from __future__ import annotations

from pathlib import Path

import pytest
from checks import codes

HEAD = """
import math
import numpy as np
import tensorflow as tf
songs, genres = np.load("songs.npy"), np.load("genres.npy")
known = np.zeros((640, 3), "float32")
def heard(song, genre):
    return tf.cast(song, tf.float32), genre
rows = tf.data.Dataset.from_tensor_slices((songs, genres))
"""
FOUND = {
    "a share of the rows": "rows = rows.batch(16)\nheld = int(0.25 * len(songs))\nrest = rows.skip(held)\n",
    "the rest of them": "n = len(genres)\nrest = rows.map(heard).batch(16).prefetch(1).skip(n - round(n * 0.2))\n",
    "rows of a shape": "rest = rows.padded_batch(4).skip(math.floor(songs.shape[0] * 0.9))\n",
    "elements of the dataset": "held = rows.cardinality().numpy() // 5\nrest = rows.shuffle(99).batch(32).skip(held)\n",
    "by a name": "parts = {'song': songs, 'genre': genres}\nrows = tf.data.Dataset.from_tensor_slices(parts)\n"
    "rest = rows.batch(64).skip(count=len(songs) // 2)\n",
    "in a function": "def split(data, n, size=8):\n    data = data.batch(size)\n    return data.take(n), data.skip(n)\n"
    "held, rest = split(rows, int(len(songs) * 0.7))\n",
    "a number": "rest = tf.data.Dataset.from_tensor_slices(known).batch(32).skip(128)\n",
    "all there are": "rest = tf.data.Dataset.range(640).batch(32).skip(20)\n",
    "repeated": "rest = rows.repeat().batch(16).skip(int(0.25 * len(songs)))\n",
}
SILENT = {
    "before the batches": "rest = rows.skip(int(0.25 * len(songs))).batch(16)\n",
    "batches": "rest = rows.batch(16).skip(int(0.25 * len(songs) / 16))\n",
    "a share of the batches": "rows = rows.batch(16)\nrest = rows.skip(len(rows) // 4)\n",
    "a cardinality of the batches": "rows = rows.batch(16)\nrest = rows.skip(int(rows.cardinality().numpy() * 0.8))\n",
    "batches of one": "rest = rows.batch(1).skip(int(0.25 * len(songs)))\n",
    "batches of an unknown size": "rest = rows.batch(size).skip(int(0.25 * len(songs)))\n",
    "rows of something else": "rest = rows.batch(16).skip(len(np.load('held.npy')) // 2)\n",
    "of more elements": "rest = rows.flat_map(parts).batch(16).skip(len(songs) // 2)\n",
    "unbatched": "rest = rows.batch(16).unbatch().skip(len(songs) // 2)\n",
    "at most": "rest = rows.batch(16).skip(min(len(songs) // 2, 3))\n",
    "a few": "rest = tf.data.Dataset.from_tensor_slices(known).batch(32).skip(12)\n",
    "a list": "rest = songs.skip(len(songs) // 2)\n",
    "few of many": "rest = rows.batch(16).skip(len(songs) // 1000)\n",
}


@pytest.mark.parametrize("code", FOUND.values(), ids=FOUND)
def test_a_skip_of_all_batches_is_found(code: str, tmp_path: Path) -> None:
    assert codes(HEAD + code, tmp_path).count("TFG333") == 1


@pytest.mark.parametrize("code", SILENT.values(), ids=SILENT)
def test_other_counts_are_not(code: str, tmp_path: Path) -> None:
    assert "TFG333" not in codes(HEAD + code, tmp_path)


@pytest.mark.slow
def test_nothing_is_trained() -> None:
    """Protects the claim, by Keras: no step in any epoch, or an error; behind `repeat` all rows are in both parts."""
    tf = pytest.importorskip("tensorflow")
    rows = tf.data.Dataset.from_tensor_slices((tf.zeros((640, 2)), tf.zeros((640, 1)))).batch(32)
    net = tf.keras.Sequential([tf.keras.layers.Dense(1)])
    net.compile("sgd", "mse")
    steps: list[int] = []
    count = tf.keras.callbacks.LambdaCallback(on_train_batch_end=lambda batch, logs: steps.append(batch))
    try:
        net.fit(rows.skip(int(0.2 * 640)), epochs=2, callbacks=[count], verbose=0)
    except ValueError as error:
        assert "non-empty" in str(error)
    assert steps == []
    again = tf.data.Dataset.range(640).repeat().batch(32)
    held, rest = ({int(n) for batch in part for n in batch} for part in (again.take(128), again.skip(128).take(20)))
    assert len(held) == len(rest) == 640
