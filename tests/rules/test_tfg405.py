"""TFG405: tensors of the steps that a list keeps for a whole training, and lists that hold numbers or are emptied."""

from __future__ import annotations

from pathlib import Path

import pytest
from checks import findings, found, notebook

HEAD = """\
import tensorflow as tf
model = tf.keras.Sequential([tf.keras.layers.Dense(1)])
optimizer = tf.keras.optimizers.SGD()
dataset = tf.data.Dataset.from_tensor_slices((features, labels)).batch(32)
losses = []

@tf.function
def step(x, y):
    with tf.GradientTape() as tape:
        loss = tf.reduce_mean(model(x) - y)
    optimizer.apply_gradients(zip(tape.gradient(loss, model.trainable_variables), model.trainable_variables))
    return loss

"""
KEPT = {  # the row of the append, below HEAD
    "the loss": ("for x, y in dataset:\n    losses.append(step(x, y))\n", 2),
    "by a name": ("for x, y in dataset:\n    loss = step(x, y)\n    losses.append(loss)\n", 3),
    "made of it": ("for x, y in dataset:\n    loss = step(x, y)\n    losses.append(tf.sqrt(loss))\n", 3),
    "over all epochs": ("for epoch in range(9):\n    for x, y in dataset:\n        losses.append(step(x, y))\n", 3),
    "an attribute": (
        "class T:\n    def __init__(self):\n        self.history = []\n    def fit(self, data):\n        for x, y in data:\n"
        "            self.history.append(step(x, y))\n",
        6,
    ),
    "in a dictionary": (
        "history = {'loss': []}\nfor x, y in dataset:\n    loss = step(x, y)\n    history['loss'].append(loss)\n",
        4,
    ),
    "a parameter": (
        "def train(run, kept):\n    for x, y in dataset:\n        kept.append(run(x, y))\ntrain(step, losses)\n",
        3,
    ),
    "one of several": (
        "@tf.function\ndef both(x, y):\n    loss = step(x, y)\n    return loss, model(x)\n"
        "for x, y in dataset:\n    loss, output = both(x, y)\n    losses.append(output)\n",
        7,
    ),
    "in the tape's block": (
        "for x, y in dataset:\n    with tf.GradientTape() as tape:\n        loss = tf.reduce_mean(model(x) - y)\n"
        "    grads = tape.gradient(loss, model.trainable_variables)\n"
        "    optimizer.apply_gradients(zip(grads, model.trainable_variables))\n    losses.append(loss)\n",
        6,
    ),
    "a name that is bound again": (
        "for x, y in dataset:\n    value = x\n    value = step(x, y)\n    losses.append(value)\n    value = value.numpy()\n",
        4,
    ),
    "a name that one branch binds": (
        "for x, y in dataset:\n    value = step(x, y)\n    if quick:\n        value = value.numpy()\n    losses.append(value)\n",
        5,
    ),
    "by +=": ("for x, y in dataset:\n    losses += [step(x, y)]\n", 2),
    "while": ("it = iter(dataset)\nn = 0\nwhile n < 999:\n    losses.append(step(*next(it)))\n    n += 1\n", 4),
}
DEEP = (
    "".join(f"def g{i}(value):\n    g{i + 1}(value)\n" for i in range(6)) + "def g6(value):\n    losses.append(value)\n"
)
TRAINER = """\
class Trainer:
    def __init__(self):
        self.seen = []
    def note(self, value):
        self.seen.append(value)
    def learn(self, x, y):
        value = step(x, y)
        self.note(value)
    def forget(self):
        self.seen = []
"""
KEPT |= {
    "by a function": ("def note(value):\n    losses.append(value)\nfor x, y in dataset:\n    note(step(x, y))\n", 2),
    "seven functions away": (DEEP + "for x, y in dataset:\n    loss = step(x, y)\n    g0(loss)\n", 14),
    "by the function that runs the step": (
        "def learn(x, y):\n    loss = step(x, y)\n    losses.append(tf.sqrt(loss))\nfor x, y in dataset:\n    learn(x, y)\n",
        3,
    ),
    "by a method": (TRAINER + "trainer = Trainer()\nwhile running:\n    trainer.learn(features, labels)\n", 5),
    "by a method of an attribute": (
        TRAINER + "class Runner:\n    def __init__(self):\n        self.trainer = Trainer()\n    def go(self):\n"
        "        for x, y in dataset:\n            self.trainer.learn(x, y)\nRunner().go()\n",
        5,
    ),
    "a parameter of a parameter": (
        "def note(kept, value):\n    kept += [value]\n    print(len(kept))\ndef learn(kept, x, y):\n    note(kept, step(x, y))\n"
        "for x, y in dataset:\n    learn(losses, x, y)\n",
        2,
    ),
    "of a function that makes it before its loop": (
        "def train():\n    kept = []\n    def note(value):\n        kept.append(value)\n    for x, y in dataset:\n"
        "        note(step(x, y))\n    return kept\ntrain()\n",
        4,
    ),
}
FINE = {
    "one variable, as often as there are steps": (
        "spot = tf.Variable([4.0, 0.0])\nfor turn in range(900):\n    with tf.GradientTape() as tape:\n"
        "        height = tf.reduce_sum(spot**2)\n    spot.assign_sub(0.01 * tape.gradient(height, spot))\n"
        "    losses.append(spot)\n"
    ),
    "marks that are made where the tape does not record": (
        "for x, y in dataset:\n    with tf.GradientTape() as tape:\n        plans = model(x)\n"
        "        with tape.stop_recording():\n            marks = [judge(plan) for plan in plans.numpy()]\n"
        "        miss = tf.reduce_mean(plans)\n"
        "    optimizer.apply_gradients(zip(tape.gradient(miss, model.trainable_variables), model.trainable_variables))\n"
        "    losses.append(marks)\n"
    ),
    "a name that holds a number by then": (
        "mean = tf.keras.metrics.Mean()\nfor x, y in dataset:\n    loss = step(x, y)\n    mean.update_state(loss)\n"
        "    loss = mean.result().numpy()\n    losses.append(loss)\n"
    ),
    "made of a name that holds a number by then": (
        "for x, y in dataset:\n    loss = step(x, y)\n    loss = float(loss)\n    doubled = loss * 2\n    losses.append(doubled)\n"
    ),
    "a list of a function that a loop calls for each epoch": (
        "def epoch():\n    kept = []\n    for x, y in dataset:\n        kept.append(step(x, y))\n    return kept\n"
        "def train():\n    for _ in range(9):\n        print(len(epoch()))\ntrain()\n"
    ),
    "a global list, emptied in a function": (
        "def note(value):\n    losses.append(value)\ndef train():\n    for _ in range(9):\n        for x, y in dataset:\n"
        "            note(step(x, y))\n        losses.clear()\ntrain()\n"
    ),
    "a number, in a function": (
        "def note(value):\n    losses.append(value)\nfor x, y in dataset:\n    note(float(step(x, y)))\n"
    ),
    "a number that a function makes": (
        "def note(value):\n    value = float(value)\n    losses.append(value)\nfor x, y in dataset:\n    note(step(x, y))\n"
    ),
    "a list of the function": (
        "def note(value):\n    kept = []\n    kept.append(value)\n    return kept\nfor x, y in dataset:\n    note(step(x, y))\n"
    ),
    "a list that is given for one step": (
        "def note(kept, value):\n    kept.append(value)\nfor x, y in dataset:\n    note([], step(x, y))\n"
    ),
    "a list of each iteration": (
        "def note(kept, value):\n    kept.append(value)\nfor x, y in dataset:\n    kept = []\n    note(kept, step(x, y))\n"
    ),
    "an attribute of an object of each iteration": (
        TRAINER + "for x, y in dataset:\n    trainer = Trainer()\n    trainer.learn(x, y)\n"
    ),
    "now and then, in a function": (
        "def note(n, value):\n    if n % 100 == 0:\n        losses.append(value)\n"
        "for n, (x, y) in enumerate(dataset):\n    note(n, step(x, y))\n"
    ),
    "a function that is called now and then": (
        "def note(value):\n    losses.append(value)\nfor n, (x, y) in enumerate(dataset):\n    loss = step(x, y)\n"
        "    if n % 100 == 0:\n        note(loss)\n"
    ),
    "a traced function": (
        "@tf.function\ndef note(value):\n    losses.append(value)\nfor x, y in dataset:\n    note(step(x, y))\n"
    ),
    "made again by a method for each epoch": (
        TRAINER + "trainer = Trainer()\nfor epoch in range(9):\n    for x, y in dataset:\n        trainer.learn(x, y)\n"
        "    trainer.forget()\n"
    ),
    "made again in a loop around the call of the loop": (
        TRAINER + "    def epoch(self):\n        for x, y in dataset:\n            self.learn(x, y)\n"
        "    def fit(self):\n        for _ in range(9):\n            self.seen = []\n            self.epoch()\nTrainer().fit()\n"
    ),
    "a global list that a function makes again": (
        "def renew():\n    global losses\n    losses = []\nfor epoch in range(9):\n    renew()\n"
        "    for x, y in dataset:\n        losses.append(step(x, y))\n"
    ),
    "a number": "for x, y in dataset:\n    losses.append(float(step(x, y)))\n",
    "an array": "for x, y in dataset:\n    losses.append(step(x, y).numpy())\n",
    "an array, before": "for x, y in dataset:\n    loss = step(x, y).numpy()\n    losses.append(loss)\n",
    "a number from the step": (
        "def train(x, y):\n    return float(step(x, y))\nfor x, y in dataset:\n    losses.append(train(x, y))\n"
    ),
    "an array from the step, by a name": (
        "def train(inputs):\n    result = step(inputs, inputs)\n    result = result.numpy()\n    return result\n"
        "for x, y in dataset:\n    losses.append(train(x))\n"
    ),
    "train_on_batch": "for x, y in dataset:\n    losses.append(model.train_on_batch(x, y))\n",
    "for one epoch": "for epoch in range(9):\n    losses = []\n    for x, y in dataset:\n        losses.append(step(x, y))\n",
    "emptied": (
        "for epoch in range(9):\n    for x, y in dataset:\n        losses.append(step(x, y))\n    print(sum(losses))\n    losses.clear()\n"
    ),
    "a queue of a fixed length": (
        "from collections import deque\nlast = deque(maxlen=100)\nfor x, y in dataset:\n    last.append(step(x, y))\n"
    ),
    "now and then": "for i, (x, y) in enumerate(dataset):\n    loss = step(x, y)\n    if i % 100 == 0:\n        losses.append(loss)\n",
    "few steps": "for i in range(3):\n    losses.append(step(features, labels))\n",
    "not a result": "for x, y in dataset:\n    step(x, y)\n    losses.append(x)\n",
    "no training": "for x, y in dataset:\n    losses.append(model(x))\n",
    "traced": (
        "@tf.function\ndef epoch(data):\n    kept = []\n    for i in range(20):\n        kept.append(step(data[i], data[i]))\n    return kept\n"
    ),
    "the metric of an epoch": (
        "mean = tf.keras.metrics.Mean()\nfor epoch in range(9):\n    for x, y in dataset:\n        mean.update_state(step(x, y))\n"
        "    losses.append(mean.result())\n"
    ),
    "gradients of the inputs": (
        "kept = []\nfor x, y in dataset:\n    with tf.GradientTape() as tape:\n        tape.watch(x)\n        loss = model(x)\n"
        "    kept.append(tape.gradient(loss, x))\n"
    ),
    "a list of its own": "kept = tf.TensorArray(tf.float32)\nfor x, y in dataset:\n    kept.append(step(x, y))\n",
    "a list that nobody knows": "for x, y in dataset:\n    recorder.append(step(x, y))\n",
    "taken out again": "for x, y in dataset:\n    losses.append(step(x, y))\n    if len(losses) > 9:\n        losses.pop(0)\n",
}


def _table(cases: dict[str, object]) -> pytest.MarkDecorator:
    return pytest.mark.parametrize("case", cases.values(), ids=cases)


def rows(code: str, folder: Path, name: str = "train.py") -> list[int]:
    """The rows below HEAD that TFG405 names."""
    return [row - HEAD.count("\n") for found_code, row in found(HEAD + code, folder, name) if found_code == "TFG405"]


@_table(KEPT)  # type: ignore[arg-type]
def test_kept_tensors_are_found(case: tuple[str, int], tmp_path: Path) -> None:
    code, row = case
    assert rows(code, tmp_path) == [row]


@_table(FINE)  # type: ignore[arg-type]
def test_others_are_not_found(case: str, tmp_path: Path) -> None:
    assert rows(case, tmp_path) == []


def test_tests_are_left_alone(tmp_path: Path) -> None:
    assert rows(KEPT["the loss"][0], tmp_path, "tests/train.py") == []


def test_it_runs_only_where_it_is_chosen(tmp_path: Path) -> None:
    (rule,) = {rule for rule, _ in findings(HEAD + KEPT["the loss"][0], tmp_path) if rule.code == "TFG405"}
    assert rule.opt_in


def test_a_step_of_another_file(tmp_path: Path) -> None:
    (tmp_path / "steps.py").write_text(HEAD)
    assert found(
        "from steps import dataset, step\nkept = []\nfor x, y in dataset:\n    kept.append(step(x, y))\n", tmp_path
    ) >= {("TFG405", 4)}


def test_a_list_of_another_file(tmp_path: Path) -> None:
    (tmp_path / "book.py").write_text("pages = []\ndef note(value):\n    pages.append(value)\n")
    (tmp_path / "steps.py").write_text(HEAD + "import book\ndef learn(x, y):\n    book.note(step(x, y))\n")
    code = "from steps import dataset, learn\nfor x, y in dataset:\n    learn(x, y)\n"
    assert {one for one in found(code, tmp_path) if "TFG405" in one[0]} == {("TFG405 book.py", 3)}


def test_a_notebook(tmp_path: Path) -> None:
    text = notebook(HEAD, "for x, y in dataset:\n    losses.append(step(x, y))")
    assert ("TFG405", 2) in found(text, tmp_path, name="a.ipynb")


def test_the_truth_a_list_keeps_the_tensor_and_a_number_does_not() -> None:
    """With the installed TensorFlow: what a step returns lives as long as something refers to it."""
    import gc
    import weakref

    import tensorflow as tf

    @tf.function
    def step(x: tf.Tensor) -> tf.Tensor:
        return tf.reduce_sum(x)

    tensors, numbers, kept, dropped = [], [], [], []
    for iteration in range(10):
        result = step(tf.fill((4,), float(iteration)))
        kept.append(weakref.ref(result))
        tensors.append(result)
        result = step(tf.fill((4,), float(iteration)))
        dropped.append(weakref.ref(result))
        numbers.append(float(result))
    del result
    gc.collect()
    assert sum(one() is not None for one in kept) == 10
    assert sum(one() is not None for one in dropped) == 0
