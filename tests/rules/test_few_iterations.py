"""A trace takes as long as many eager steps: what a program certainly does a few times only stays as it is."""

from __future__ import annotations

from pathlib import Path

import pytest
from checks import codes, findings

HEAD = """\
import numpy as np
import tensorflow as tf

net = tf.keras.Sequential([tf.keras.Input((4,)), tf.keras.layers.Dense(1)])
sgd = tf.keras.optimizers.SGD()
rows = np.load("rows.npy")
stored = tf.data.Dataset.load("rows")


def learn(part):
    with tf.GradientTape() as tape:
        error = tf.reduce_mean(net(part) ** 2)
    sgd.apply_gradients(zip(tape.gradient(error, net.trainable_variables), net.trainable_variables))


def shown(part):
    print(net(part, training=False).numpy())


"""
DATA = "data = tf.data.Dataset.from_tensor_slices(rows).batch({})\n"
FEW = {
    "two steps": "for _ in range(2):\n    learn(rows)\n",
    "twenty steps": "for _ in range(20):\n    learn(rows)\n",
    "a while of a few": "step = 0\nwhile step < 12:\n    learn(rows)\n    step += 1\n",
    "epochs and batches": DATA.format(16)
    + "for epoch in range(5):\n    for part in data.take(4):\n        learn(part)\n",
    "a validation of two epochs": DATA.format(8)
    + "for epoch in range(2):\n    for part in data.take(10):\n        shown(part)\n",
    "by a function": "def run(epochs):\n    for _ in range(epochs):\n        learn(rows)\nrun(9)\n",
    "of both of two datasets": (
        DATA.format(16) + "for part, _ in tf.data.Dataset.zip((data.take(12), data)).prefetch(1):\n    learn(part)\n"
    ),
    "in a list": "outs = [float(net(rows[i : i + 1])[0, 0]) for i in range(12)]\n",
    "what is made once": "class Trial:\n    def __init__(self):\n        self.width = None\n    def run(self, part):\n"
    "        if self.width is None:\n            self.width = net(part).shape[1]\n        return self.width\n"
    "trial = Trial()\nfor part in stored:\n    print(trial.run(part))\n",
    "a name that a loop sets once": "first = None\nfor part in stored:\n    if first is None:\n        first = net(part)\n",
    "samples": "for i in range(23):\n    shown(tf.random.normal((1, 4)))\n",
}
MANY = {
    "forty steps": ("TFG202", "for _ in range(40):\n    learn(rows)\n"),
    "epochs and batches": (
        "TFG202",
        DATA.format(16) + "for epoch in range(9):\n    for part in data.take(4):\n        learn(part)\n",
    ),
    "epochs of unknown batches": ("TFG202", "for epoch in range(2):\n    for part in stored:\n        learn(part)\n"),
    "a few in each of many": (
        "TFG202",
        "def run():\n    for _ in range(3):\n        learn(rows)\nfor _ in range(50):\n    run()\n",
    ),
    "a warm-up before the rest": (
        "TFG202",
        "for _ in range(3):\n    learn(rows)\nfor _ in range(200):\n    learn(rows)\n",
    ),
    "a function that nobody is seen to call": ("TFG202", "def run():\n    for _ in range(8):\n        learn(rows)\n"),
    "of either of two datasets": (
        "TFG202",
        "one, two = stored.take(20), stored.skip(20).take(20)\n"
        "for part in tf.data.Dataset.sample_from_datasets([one, two]).prefetch(1):\n    learn(part)\n",
    ),
    "until it is good": ("TFG202", "error = 9\nwhile error > 1:\n    learn(rows)\n    error = test()\n"),
    "a validation of many epochs": (
        "TFG207",
        DATA.format(8) + "for epoch in range(20):\n    for part in data:\n        shown(part)\n",
    ),
    "made in each iteration": (
        "TFG207",
        "for part in stored:\n    out = None\n    if out is None:\n        out = net(part)\n    print(out)\n",
    ),
    "made after each reset": (
        "TFG207",
        "class Trial:\n    def run(self, part):\n        if self.out is None:\n            self.out = net(part)\n"
        "        return self.out\n    def reset(self):\n        self.out = None\n"
        "trial = Trial()\nfor part in stored:\n    trial.reset()\n    print(trial.run(part))\n",
    ),
    "a dataset without end": ("TFG207", DATA.format(8) + "for part in data.repeat():\n    shown(part)\n"),
    "samples": ("TFG214", "for i in range(90):\n    shown(tf.random.normal((1, 4)))\n"),
}
TRACING = {"TFG202", "TFG207", "TFG214"}


@pytest.mark.parametrize("code", FEW.values(), ids=FEW)
def test_a_trace_of_few_steps_is_not_advised(code: str, tmp_path: Path) -> None:
    assert not TRACING & {*codes(HEAD + code, tmp_path)}


@pytest.mark.parametrize(("rule", "code"), MANY.values(), ids=MANY)
def test_a_trace_of_many_steps_is(rule: str, code: str, tmp_path: Path) -> None:
    assert rule in codes(HEAD + code, tmp_path)


MADE_UP = {  # what makes so many rows, the loop over them, and how many of them one iteration takes
    "a dataset of zeros": (
        "data = tf.data.Dataset.from_tensor_slices(np.zeros(({}, 4))).batch(8)\n",
        "part in data",
        8,
    ),
    "rows and goals": (
        "inputs = rng.normal(size=({}, 4)).astype('float32')\n"
        "data = tf.data.Dataset.from_tensor_slices((inputs, inputs[:, :1])).shuffle(9).batch(8).prefetch(1)\n",
        "part, goal in data",
        8,
    ),
    "repeated": ("data = tf.data.Dataset.from_tensor_slices(np.eye({})).batch(8).repeat(4)\n", "part in data", 2),
    "slices": ("inputs = rng.random(({}, 4))\n", "part in [inputs[i : i + 8] for i in range(0, len(inputs), 8)]", 8),
    "a generator": (
        "inputs = rng.random(({}, 4))\n"
        "def parts(size):\n    for first in range(0, len(inputs), size):\n        yield inputs[first : first + size]\n",
        "part in parts(8)",
        8,
    ),
    "a dataset of a generator": (
        "inputs = rng.random(({}, 1, 4))\ndef rows():\n    yield from inputs\n"
        "data = tf.data.Dataset.from_generator(rows, output_signature=tf.TensorSpec((None, 4))).prefetch(1)\n",
        "part in data",
        1,
    ),
    "ragged rows": (
        "inputs = tf.ragged.stack([rng.random((n, 4)) for n in rng.integers(1, 9, {})])\n"
        "data = tf.data.Dataset.from_tensor_slices((inputs, inputs)).batch(8)\n",
        "part, _ in data",
        8,
    ),
    "joined": ("inputs = np.ones(({}, 8, 4))\nindexes = list(range(900))\n", "part, i in zip(inputs, indexes)", 1),
}


@pytest.mark.parametrize(("made", "head", "size"), MADE_UP.values(), ids=MADE_UP)
@pytest.mark.parametrize(("rule", "call"), [("TFG202", "learn(part)"), ("TFG207", "shown(part)")])
def test_few_made_up_batches_have_no_fix(rule: str, call: str, made: str, head: str, size: int, tmp_path: Path) -> None:
    """Made-up arrays stand for more, so the finding stays; but the program as it stands would be slower."""
    for runs in (12, 400):
        rows = HEAD + "rng = np.random.default_rng(1)\n" + made.format(runs * size)
        (found,) = (one for each, one in findings(f"{rows}for {head}:\n    {call}\n", tmp_path) if each.code in TRACING)
        is_few = [f"it runs {runs} times" in note.message for note in found.notes]
        assert any(is_few) == (runs == 12) and (found.fix is None) == (runs == 12)


@pytest.mark.parametrize(("operations", "is_found"), [(1, False), (4, False), (9, True)])
def test_a_forward_pass_of_a_few_operations_is_not_advised(operations: int, is_found: bool, tmp_path: Path) -> None:
    """Protects small modules: to call a traced function takes as long as some operations."""
    body = "rows @ self.kernel" + " + self.bias" * (operations - 1)
    code = (
        "class Scale(tf.Module):\n    def __init__(self):\n        self.kernel = tf.Variable(tf.ones((4, 1)))\n"
        "        self.bias = tf.Variable(0.5)\n    def __call__(self, rows):\n"
        f"        return {body}\nscale = Scale()\nfor part in stored:\n    print(scale(part).numpy())\n"
    )
    assert ("TFG207" in codes(HEAD + code, tmp_path)) is is_found
