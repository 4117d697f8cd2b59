"""TFG213: weights that every training step copies through NumPy, and copies that are rare or stay on the device."""

from __future__ import annotations

from pathlib import Path

import pytest
from checks import findings, found, notebook

HEAD = """\
import tensorflow as tf
online = tf.keras.Sequential([tf.keras.layers.Dense(1)])
target = tf.keras.models.clone_model(online)
optimizer = tf.keras.optimizers.Adam()
@tf.function
def step(x):
    with tf.GradientTape() as tape:
        loss = tf.reduce_mean(online(x))
    optimizer.apply_gradients(zip(tape.gradient(loss, online.weights), online.weights))
"""
BLENDING = """class Learner:
    def __init__(self, net, blend={default}, pause=1):
        self.net, self.slow = net, tf.keras.models.clone_model(net)
        self.blend, self.pause = blend, pause
    def learn(self, x, y):
        if self.blend >= 1:
            pass
        elif self.pause:
            self.slow.set_weights([self.blend * w + v for w, v in zip(self.net.get_weights(), self.slow.get_weights())])
        self.net.train_on_batch(x, y)
learner = Learner(online, {given})
for x, y in data:
    learner.learn(x, y)
"""
COPIES = {  # the row of `set_weights`, below HEAD
    "a target network": ("for x in data:\n    step(x)\n    target.set_weights(online.get_weights())\n", 3),
    "after train_on_batch": (
        "while running:\n    online.train_on_batch(x, y)\n    target.set_weights(online.get_weights())\n",
        3,
    ),
    "in two statements": (
        "for x in data:\n    step(x)\n    weights = online.get_weights()\n    target.set_weights(weights)\n",
        4,
    ),
    "a moving average": (
        "for x in data:\n    step(x)\n    pairs = zip(online.get_weights(), target.get_weights())\n"
        "    target.set_weights([0.01 * w + 0.99 * t for w, t in pairs])\n",
        4,
    ),
    "one of the average's loops": (
        "for x in data:\n    step(x)\n    mine = target.get_weights()\n    for i, w in enumerate(online.get_weights()):\n"
        "        mine[i] = 0.01 * w + 0.99 * mine[i]\n    target.set_weights(mine)\n",
        6,
    ),
    "saved and restored": (
        "for x in data:\n    before = online.get_weights()\n    step(x)\n    online.set_weights(before)\n",
        4,
    ),
    "variables read one by one": (
        "for x in data:\n    step(x)\n    target.set_weights([v.numpy() for v in online.variables])\n",
        3,
    ),
    "once enough was collected": (
        "for x in data:\n    if len(memory) > 32:\n        step(x)\n        target.set_weights(online.get_weights())\n",
        4,
    ),
    "a function between": (
        "def update(a, b):\n    a.set_weights(b.get_weights())\nfor x in data:\n    step(x)\n    update(target, online)\n",
        2,
    ),
    "under a test of what the object was given": (BLENDING.format(default=8, given="blend=0.01"), 9),
    "under a test of what the object has by default": (BLENDING.format(default=0.01, given="pause=2"), 9),
    "an agent": (
        "class Agent:\n    def __init__(self):\n        self.net = tf.keras.Sequential()\n        self.old = tf.keras.Sequential()\n"
        "    def learn(self, x, y):\n        self.net.train_on_batch(x, y)\n        self.old.set_weights(self.net.get_weights())\n"
        "agent = Agent()\nwhile not done:\n    agent.learn(x, y)\n",
        7,
    ),
}
SEVERAL = "pairs = [(online, target), (tf.keras.models.clone_model(online), tf.keras.models.clone_model(online))]\n"
AGENTS = (
    "class Agent:\n    def __init__(self):\n        self.net = tf.keras.Sequential()\n        self.old = tf.keras.Sequential()\n"
    "    def learn(self, x):\n        self.net.train_on_batch(x, x)\n        self.follow()\n"
    "    def follow(self):\n        self.old.set_weights(self.net.get_weights())\n"
)
COPIES |= {
    "several models in each step": (
        "def follow():\n    for a, b in ((target, online), (third, online)):\n        a.set_weights(b.get_weights())\n"
        "third = tf.keras.models.clone_model(online)\nfor x in data:\n    step(x)\n    follow()\n",
        3,
    ),
    "agents in each step": (
        AGENTS
        + "agents = [Agent() for _ in range(9)]\nfor x in data:\n    for agent in agents:\n        agent.learn(x)\n",
        9,
    ),
}
QUIET = {
    "under a test that what the object was given fails": BLENDING.format(default=0.01, given="blend=8"),
    "under a test of what is not known": BLENDING.format(default=0.01, given="pause=int(input())"),
    "a pair for each iteration, by a function": SEVERAL
    + "def learn(net, kept):\n    net.train_on_batch(x, x)\n    kept.set_weights(net.get_weights())\n"
    "for net, kept in pairs * 9:\n    learn(net, kept)\n",
    "an agent for each iteration": AGENTS
    + "agents = [Agent() for _ in range(9)]\nfor agent in agents:\n    agent.learn(features)\n",
    "after each epoch": (
        "for epoch in range(50):\n    for x in data:\n        step(x)\n    target.set_weights(online.get_weights())\n"
    ),
    "after each fit": "for epoch in range(50):\n    online.fit(data)\n    target.set_weights(online.get_weights())\n",
    "once an episode": (
        "while running:\n    step(x)\n    if done:\n        target.set_weights(online.get_weights())\n"
    ),
    "every hundred steps": (
        "for i, x in enumerate(data):\n    step(x)\n    if i % 100 == 0:\n        target.set_weights(online.get_weights())\n"
    ),
    "when a counter says so": (
        "for x in data:\n    step(x)\n    count += 1\n    if count > 100:\n        count = 0\n"
        "        target.set_weights(online.get_weights())\n"
    ),
    "the best so far": (
        "for x in data:\n    step(x)\n    if loss < best:\n        target.set_weights(online.get_weights())\n"
    ),
    "over layers": (
        "for x in data:\n    step(x)\n    for a, b in zip(target.layers, online.layers):\n        a.set_weights(b.get_weights())\n"
    ),
    "layers once": "for a, b in zip(target.layers, online.layers):\n    a.set_weights(b.get_weights())\n",
    "over workers": "for worker in workers:\n    step(x)\n    worker.set_weights(online.get_weights())\n",
    "before the loop": "target.set_weights(online.get_weights())\nfor x in data:\n    step(x)\n",
    "no update": "for x in data:\n    target.set_weights(online.get_weights())\n    target.predict(x)\n",
    "assigned": (
        "for x in data:\n    step(x)\n    for a, b in zip(target.weights, online.weights):\n        a.assign(b)\n"
    ),
    "weights of a file": "for x in data:\n    step(x)\n    target.set_weights(np.load(path))\n",
    "an optimizer": "for x in data:\n    step(x)\n    optimizer.set_weights(other.get_weights())\n",
    "another library": (
        "import torch\na, b = torch.load(p), torch.load(q)\nfor x in data:\n    step(x)\n    a.set_weights(b.get_weights())\n"
    ),
    "five iterations": "for _ in range(5):\n    step(x)\n    target.set_weights(online.get_weights())\n",
}


def _table(cases: dict[str, object]) -> pytest.MarkDecorator:
    return pytest.mark.parametrize("case", cases.values(), ids=cases)


def rows(code: str, folder: Path, name: str = "train.py") -> list[int]:
    """The rows below HEAD that TFG213 names."""
    return [row - HEAD.count("\n") for code_, row in found(HEAD + code, folder, name) if code_ == "TFG213"]


@_table(COPIES)  # type: ignore[arg-type]
def test_copies_in_every_step_are_found(case: tuple[str, int], tmp_path: Path) -> None:
    code, row = case
    assert rows(code, tmp_path) == [row]


@_table(QUIET)  # type: ignore[arg-type]
def test_others_are_not_found(case: str, tmp_path: Path) -> None:
    assert rows(case, tmp_path) == []


def test_a_function_of_another_file(tmp_path: Path) -> None:
    (tmp_path / "copying.py").write_text("import keras\ndef update(a, b):\n    a.set_weights(b.get_weights())\n")
    code = HEAD + "from copying import update\nfor x in data:\n    step(x)\n    update(target, online)\n"
    assert [one for one, _ in found(code, tmp_path) if "TFG213" in one] == ["TFG213 copying.py"]


def test_it_is_advice_with_a_note_at_the_loop(tmp_path: Path) -> None:
    ((rule, finding),) = [f for f in findings(HEAD + COPIES["a target network"][0], tmp_path) if f[0].code == "TFG213"]
    assert rule.opt_in and rule.severity == "advice"
    assert [note.message for note in finding.notes] == ["the loop of training steps"]


def test_tests_are_left_alone(tmp_path: Path) -> None:
    assert rows(COPIES["a target network"][0], tmp_path, "tests/train.py") == []


def test_a_notebook(tmp_path: Path) -> None:
    text = notebook(HEAD, COPIES["a target network"][0])
    assert ("TFG213", 3) in found(text, tmp_path, name="a.ipynb")


def test_the_truth_weights_come_as_numpy_and_assignments_stay_tensors() -> None:
    """With the installed TensorFlow: `get_weights` gives NumPy's arrays, which a graph cannot have; `assign` works in one."""
    import numpy as np
    import tensorflow as tf

    online, target = (tf.keras.Sequential([tf.keras.layers.Dense(2)]) for _ in range(2))
    for model in (online, target):
        model(tf.zeros((1, 3)))
    assert all(isinstance(one, np.ndarray) for one in online.get_weights())

    pairs = list(zip(target.variables, online.variables, strict=True))

    @tf.function
    def follow() -> None:
        for mine, other in pairs:
            mine.assign(other)

    follow()
    assert all(np.array_equal(a, b) for a, b in zip(online.get_weights(), target.get_weights(), strict=True))
    with pytest.raises((NotImplementedError, AttributeError, RuntimeError)):
        tf.function(lambda: target.set_weights(online.get_weights()))()
