"""TFG215: `predict` and `evaluate` of one batch in a step or a loop over batches, and what only looks like it."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from checks import codes, fixed

HEAD = """import random
import numpy as np
import tensorflow as tf
from tensorflow import keras

generator = keras.Sequential([keras.layers.Dense(4)])
critic = keras.Sequential([keras.layers.Dense(1)])
critic.compile("sgd", "mse")
data = tf.data.Dataset.from_tensor_slices((np.zeros((640, 2)), np.zeros((640, 1)))).batch(32)
"""
AGENT = """
class Memory:
    def __init__(self):
        self.items = []
class Learner:
    def __init__(self):
        self.net = keras.Sequential([keras.layers.Dense(2)])
        self.memory = []
    def learn(self, size):
        chosen = random.sample(self.memory, size)
        before = np.array([one[0] for one in chosen])
        goals = self.net.predict(before)
        self.net.train_on_batch(before, goals)
"""
FOUND = {
    "noise in each step": "for step in range(10_000):\n    noise = np.random.normal(size=(64, 100))\n"
    "    images = generator.predict(noise)\n    critic.train_on_batch(images, np.zeros(64))\n",
    "what an agent remembers": AGENT + "learner = Learner()\nfor step in range(10_000):\n    learner.learn(32)\n",
    "once enough was collected": AGENT + "learner = Learner()\nfor step in range(10_000):\n"
    "    if len(learner.memory) > 32:\n        learner.learn(32)\n",
    "after a warm-up of some games": AGENT + "learner = Learner()\nWARM_UP = 40\nfor game in range(500):\n"
    "    play(game)\n    if game >= WARM_UP:\n        learner.learn(32)\n",
    "a loop over a dataset": "outs = []\nfor x, y in data:\n    outs.append(critic.predict(x))\n",
    "evaluate in a loop over a dataset": "for x, y in data:\n    critic.evaluate(x, y)\n",
    "evaluate with options, after the step": "for start in range(0, 6400, 64):\n    rows = inputs[start:start + 64]\n"
    "    critic.train_on_batch(rows, goals)\n    critic.evaluate(rows, goals, batch_size=64, verbose=0)\n",
    "batches cut out of an array": "rows = np.load('rows.npy')\nouts = []\nfor first in range(0, len(rows), 16):\n"
    "    outs.append(critic.predict(rows[first:first + 16]))\n",
    "batches cut out, of a size that a parameter has": "def scores(images, size=10):\n    parts = []\n"
    "    for k in range(0, images.shape[0], size):\n        part = critic.predict(images[k:k + size], verbose=0)\n"
    "        parts.append(part)\n    return np.concatenate(parts)\nscores(np.load('images.npy'))\n",
    "batches cut out, at once": "rows = np.load('rows.npy')\nfor k in range(0, len(rows), SIZE):\n"
    "    print(critic.predict(rows[k:k + SIZE], batch_size=SIZE))\n",
    "a function that gets the batch": "def score(batch):\n    return critic.predict(batch, verbose=0)\n"
    "for x, y in data:\n    score(x)\n",
}
SILENT = {
    "slices of many batches": "rows = np.load('rows.npy')\nfor k in range(0, len(rows), 5000):\n"
    "    np.save(f'{k}.npy', critic.predict(rows[k:k + 5000]))\n",
    "slices of a size that nobody knows": "rows = np.load('rows.npy')\nfor k in range(0, len(rows), SIZE):\n"
    "    np.save(f'{k}.npy', critic.predict(rows[k:k + SIZE]))\n",
    "windows that overlap": "rows = np.load('rows.npy')\nfor k in range(len(rows) - 9):\n"
    "    print(critic.predict(rows[k:k + 10].mean(0, keepdims=True)))\n",
    "each epoch": "for epoch in range(100):\n    for x, y in data:\n        critic.train_on_batch(x, y)\n"
    "    generator.predict(np.random.normal(size=(64, 100)))\n",
    "every hundredth step": "for step in range(10_000):\n    noise = np.random.normal(size=(64, 100))\n"
    "    if step % 100 == 0:\n        generator.predict(noise)\n    critic.train_on_batch(noise, np.zeros(64))\n",
    "under a flag": "import sys\nfor step in range(10_000):\n    noise = np.random.normal(size=(64, 100))\n"
    "    if sys.argv:\n        generator.predict(noise)\n    critic.train_on_batch(noise, np.zeros(64))\n",
    "in the last iterations": AGENT + "learner = Learner()\nfor game in range(500):\n    play(game)\n"
    "    if game > 480:\n        learner.learn(32)\n",
    "data that all iterations share": "fixed_noise = np.zeros((64, 100))\nfor step in range(10_000):\n"
    "    noise = np.random.normal(size=(64, 100))\n    generator.predict(fixed_noise)\n"
    "    critic.train_on_batch(noise, np.zeros(64))\n",
    "another library": "from sklearn.svm import SVC\nsvc = SVC()\nfor x, y in data:\n    svc.predict(x)\n",
    "the method for a batch": "for x, y in data:\n    critic.predict_on_batch(x)\n",
    "several test sets": "for name, x in (('a', np.zeros((9, 2))), ('b', np.ones((9, 2)))):\n    critic.predict(x)\n",
    "no loop": "critic.predict(np.zeros((9, 2)))\n",
}


@pytest.mark.parametrize("code", FOUND.values(), ids=FOUND)
def test_a_batch_in_a_step_is_found(code: str, tmp_path: Path) -> None:
    assert codes(HEAD + code, tmp_path).count("TFG215") == 1


@pytest.mark.parametrize("code", SILENT.values(), ids=SILENT)
def test_what_only_looks_like_it_is_not(code: str, tmp_path: Path) -> None:
    assert "TFG215" not in codes(HEAD + code, tmp_path)


def test_a_single_row_is_the_other_rules(tmp_path: Path) -> None:
    """Protects from two findings for one call: TFG206 speaks of rows."""
    code = HEAD + "rows = np.zeros((99, 2))\nfor i in range(99):\n    print(critic.predict(rows[i:i + 1]))\n"
    assert [one for one in codes(code, tmp_path) if one in ("TFG206", "TFG215")] == ["TFG206"]


def test_the_fix_keeps_the_receiver_and_the_data(tmp_path: Path) -> None:
    """Protects arguments that `predict_on_batch` does not take from being handed to it."""
    text = fixed(HEAD + "for x, y in data:\n    print(critic.predict(x, verbose=0))\n", tmp_path, "TFG215")
    assert text.endswith("for x, y in data:\n    print(critic.predict_on_batch(x))\n")


@pytest.mark.parametrize("call", ["critic.predict(x, steps=2)", "critic.evaluate(x, y)", "critic.predict(x, *more)"])
def test_what_has_another_meaning_is_not_fixed(call: str, tmp_path: Path) -> None:
    code = f"{HEAD}more = ()\nfor x, y in data:\n    {call}\n"
    assert fixed(code, tmp_path, "TFG215") == code


def test_both_methods_give_the_same(tmp_path: Path) -> None:
    """Protects the fix's promise, by TensorFlow itself: the same numbers, in an array of NumPy."""
    import keras

    net = keras.Sequential([keras.layers.Dense(8, activation="relu"), keras.layers.Dense(3)])
    batch = np.random.default_rng(0).normal(size=(32, 5)).astype("float32")
    one, other = net.predict(batch, verbose=0), net.predict_on_batch(batch)
    assert type(one) is type(other) is np.ndarray
    np.testing.assert_allclose(one, other, rtol=1e-6)
