"""TFG216: metrics that a loop updates row by row, and updates that have a reason."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from checks import codes

HEAD = """
import numpy as np
import tensorflow as tf
from tensorflow import keras
hits = keras.metrics.SparseCategoricalAccuracy()
truth, scores = np.load("truth.npy"), np.load("scores.npy")
"""
FOUND = {
    "a new axis": "for one, other in zip(truth, scores):\n    hits.update_state(one[None], other[np.newaxis])\n",
    "slices": "for i in range(len(truth)):\n    hits.update_state(truth[i:i + 1], scores[i:i + 1])\n",
    "expanded": "for i in range(len(truth)):\n    hits.update_state(np.expand_dims(truth[i], 0), tf.expand_dims(scores[i], 0))\n",
    "in a function": "def count(metric, one, other):\n    metric.update_state(one[None], other[None])\n"
    "for one, other in zip(truth, scores):\n    count(hits, one, other)\n",
    "by a call of the metric": "for one, other in zip(truth, scores):\n    hits(one[None], other[None])\n",
    "of an object": "class Scores:\n    def __init__(self):\n        self.hits = keras.metrics.AUC()\n"
    "    def add(self, rows, others):\n        for one, other in zip(rows, others):\n"
    "            self.hits.update_state(one[None], other[None])\nScores().add(truth, scores)\n",
}
SILENT = {
    "batches": "for i in range(0, len(truth), 32):\n    hits.update_state(truth[i:i + 32], scores[i:i + 32])\n",
    "at once": "hits.update_state(truth, scores)\n",
    "elements of unknown shape": "for one, other in zip(truth, scores):\n    hits.update_state(one, other)\n",
    "traced": "@tf.function\ndef count(one, other):\n    hits.update_state(one[None], other[None])\n"
    "for one, other in zip(truth, scores):\n    count(one, other)\n",
    "under a condition": "for one, other in zip(truth, scores):\n    if one > 3:\n"
    "        hits.update_state(one[None], other[None])\n",
    "a few": "for i in range(3):\n    hits.update_state(truth[i:i + 1], scores[i:i + 1])\n",
    "the model runs, too": "net = keras.models.load_model('a.keras')\nfor one, row in zip(truth, scores):\n"
    "    hits.update_state(one[None], net(row[None]))\n",
    "what it is by then is read": "course = []\nfor one, other in zip(truth, scores):\n"
    "    course.append(hits(one[None], other[None]))\n",
    "another library": "from elsewhere import Accuracy\nown = Accuracy()\nfor one, other in zip(truth, scores):\n"
    "    own.update_state(one[None], other[None])\n",
}


@pytest.mark.parametrize("code", FOUND.values(), ids=FOUND)
def test_single_rows_are_found(code: str, tmp_path: Path) -> None:
    assert codes(HEAD + code, tmp_path).count("TFG216") == 1


@pytest.mark.parametrize("code", SILENT.values(), ids=SILENT)
def test_other_updates_are_not(code: str, tmp_path: Path) -> None:
    assert "TFG216" not in codes(HEAD + code, tmp_path)


def test_one_update_gives_what_many_give() -> None:
    """Protects the advice, by Keras itself: the same accuracy."""
    import keras

    rng = np.random.default_rng(0)
    truth, scores = rng.integers(0, 10, 64), rng.random((64, 10))
    by_row, at_once = (keras.metrics.SparseCategoricalAccuracy() for _ in range(2))
    for label, row in zip(truth, scores, strict=True):
        by_row.update_state(label[None], row[None])
    at_once.update_state(truth, scores)
    assert float(by_row.result()) == pytest.approx(float(at_once.result()))
