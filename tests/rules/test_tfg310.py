"""TFG310: loops over elements that run again and again beside training and could be one call, and loops that could not."""

from __future__ import annotations

from pathlib import Path

import pytest
from checks import found, notebook

from tflint_gpu.targets import Target

HEAD = """\
import random
import numpy as np
import tensorflow as tf
model = tf.keras.Sequential([tf.keras.layers.Dense(1)])
model.compile("adam", "mse")
data = np.random.normal(size=(900, 4)).astype("float32")
"""
AGAIN = {  # the row of the loop, below HEAD
    "in the loop of steps": (
        "for x, y in batches:\n    rows = []\n    for row in x:\n        rows.append(np.log1p(np.abs(row)))\n"
        "    model.train_on_batch(np.stack(rows), y)\n",
        3,
    ),
    "by index": (
        "for x, y in batches:\n    for i in range(len(x)):\n        x[i] = (x[i] - np.mean(x[i])) / np.std(x[i])\n"
        "    model.train_on_batch(x, y)\n",
        2,
    ),
    "a comprehension": (
        "for x, y in batches:\n    x = np.stack([np.sqrt(row) for row in x])\n    model.train_on_batch(x, y)\n",
        2,
    ),
    "eager TensorFlow": (
        "for x, y in batches:\n    images = []\n    for image in x:\n"
        "        images.append(tf.image.resize(tf.cast(image, tf.float32) / 255.0, [32, 32]))\n"
        "    model.train_on_batch(tf.stack(images), y)\n",
        3,
    ),
    "in every epoch": (
        "for epoch in range(100):\n    rows = []\n    for row in data:\n        rows.append(np.flip(row))\n"
        "    for i in range(0, 900, 32):\n        model.train_on_batch(np.array(rows[i:i + 32]), labels[i:i + 32])\n",
        3,
    ),
    "a tape": (
        "for x, y in batches:\n    rows = [np.tanh(row) for row in x]\n    with tf.GradientTape() as tape:\n"
        "        loss = step(np.stack(rows), y)\n    optimizer.minimize(loss, model.trainable_variables, tape=tape)\n",
        2,
    ),
    "in a function that a loop calls": (
        "def prepared(batch):\n    rows = []\n    for row in batch:\n        rows.append(np.clip(row, 0, 1))\n"
        "    return np.stack(rows)\nfor x, y in batches:\n    model.train_on_batch(prepared(x), y)\n",
        3,
    ),
    "with a function for each": (
        "def scaled(row):\n    centred = row - np.mean(row)\n    return centred / np.std(centred)\n"
        "for x, y in batches:\n    x = np.array([scaled(row) for row in x])\n    model.train_on_batch(x, y)\n",
        5,
    ),
    "a method of a trainer": (
        "class Trainer:\n    def __init__(self, net):\n        self.net = net\n    def prepare(self, batch):\n"
        "        rows = []\n        for row in batch:\n            rows.append(np.exp(row))\n        return np.stack(rows)\n"
        "    def fit(self, batches):\n        for x, y in batches:\n            self.net.train_on_batch(self.prepare(x), y)\n"
        "Trainer(model).fit(batches)\n",
        6,
    ),
    "a generator that feeds fit": (
        "def generate(x, y, size):\n    while True:\n        for start in range(0, len(x), size):\n            rows = []\n"
        "            for row in x[start:start + size]:\n                rows.append(np.log1p(row))\n"
        "            yield np.stack(rows), y[start:start + size]\nmodel.fit(generate(data, labels, 32), steps_per_epoch=9)\n",
        5,
    ),
    "a generator that feeds a dataset": (
        "def generate():\n    for x in batches:\n        yield np.stack([np.log1p(row) for row in x])\n"
        "dataset = tf.data.Dataset.from_generator(generate, tf.float32)\n",
        3,
    ),
    "a Sequence": (
        "class Batches(tf.keras.utils.Sequence):\n    def __init__(self, x):\n        self.x = x\n"
        "    def __getitem__(self, index):\n        rows = []\n        for row in self.x[index * 32:index * 32 + 32]:\n"
        "            rows.append(np.log1p(row))\n        return np.stack(rows)\n",
        6,
    ),
    "a helper of a Sequence": (
        "class Batches(tf.keras.utils.Sequence):\n    def make(self, ids):\n        out = np.empty((32, 4))\n"
        "        for i, one in enumerate(ids):\n            out[i] = np.sqrt(self.x[one])\n        return out\n"
        "    def __getitem__(self, index):\n        return self.make(self.ids[index])\n",
        4,
    ),
    "stored where a test says so": (
        "def targets(boxes):\n    scores, masks = np.zeros((45, 60)), np.zeros((45, 60))\n    for i in range(45):\n"
        "        for j in range(60):\n            centre = np.array([i * 16 + 8, j * 16 + 8])\n"
        "            near = np.abs(boxes - centre)\n            if np.any(near < 8):\n"
        "                best = np.argmin(near)\n                scores[i, j] = boxes[best, 0]\n                masks[i, j] = 1\n"
        "            else:\n                masks[i, j] = -1\n    return scores, masks\n"
        "for x, y in batches:\n    model.train_on_batch(x, targets(y))\n",
        3,
    ),
    "a generator that the loop of steps asks": (
        "def generate(x):\n    while True:\n        out = np.zeros((32, 4))\n        for i in range(32):\n"
        "            out[i] = np.log1p(x[i])\n        yield out\nrows = generate(data)\n"
        "for step in range(900):\n    batch = next(rows)\n    with tf.GradientTape() as tape:\n        loss = model(batch)\n"
        "    optimizer.apply_gradients(zip(tape.gradient(loss, model.trainable_variables), model.trainable_variables))\n",
        4,
    ),
    "the model called for each row": (
        "class Memory:\n    def batch(self, net, size):\n        rows, goals = np.zeros((size, 4)), np.zeros((size, 3))\n"
        "        for i in range(size):\n            at = random.randrange(0, self.count)\n"
        "            row = np.reshape(self.rows[at], (1, 4))\n            goal = net(row).numpy()\n"
        "            if self.over[at] == True:\n                goal[self.actions[at]] = self.rewards[at]\n"
        "            rows[i] = row\n            goals[i] = goal\n        return rows, goals\nmemory = Memory()\n"
        "for step in range(900):\n    model.train_on_batch(*memory.batch(model, 32))\n",
        4,
    ),
    "assigned to rows of a variable": (
        "class Batches(tf.keras.utils.Sequence):\n    def __getitem__(self, index):\n"
        "        fields = tf.Variable(tf.random.uniform((32, 8, 8)))\n        for i in range(int(fields.shape[0])):\n"
        "            factor = 3.0 / tf.reduce_max(tf.abs(fields[i, ...]))\n"
        "            fields[i, ...].assign(fields[i, ...] * factor)\n        return fields\n",
        4,
    ),
    "with numbers of all rows": (
        "mean, gain = np.mean(data, axis=0), 2.0\nfor x, y in batches:\n"
        "    rows = [np.tanh((row - mean) * gain) for row in x]\n    model.train_on_batch(np.stack(rows), y)\n",
        3,
    ),
    "loops in each other": (
        "for x, y in batches:\n    out = np.zeros_like(x)\n    for i in range(x.shape[0]):\n        for j in range(x.shape[1]):\n"
        "            out[i, j] = np.exp(x[i, j])\n    model.train_on_batch(out, y)\n",
        3,
    ),
}
FINE = {
    "each box with all anchors": (
        "anchors = np.load('anchors.npy')\ndef overlap(box, all_of_them):\n"
        "    low = np.maximum(box[:2], all_of_them[:, :2])\n    high = np.minimum(box[2:], all_of_them[:, 2:])\n"
        "    return np.prod(np.clip(high - low, 0, None), axis=1)\nfor x, boxes in batches:\n"
        "    rows = [overlap(box, anchors) for box in boxes]\n    model.train_on_batch(x, np.stack(rows))\n"
    ),
    "distances to all centres of an object": (
        "class Batches(tf.keras.utils.Sequence):\n    def __getitem__(self, index):\n        out = np.zeros((32, 9000))\n"
        "        for i in range(32):\n            out[i] = np.sum(np.abs(self.centres - self.rows[index * 32 + i]), axis=-1)\n"
        "        return out\n"
    ),
    "once before training": (
        "rows = []\nfor row in data:\n    rows.append(np.log1p(row))\nmodel.fit(np.stack(rows), labels)\n"
    ),
    "a recurrence": (
        "for x, y in batches:\n    level, rows = 0.0, []\n    for row in x:\n        level = 0.9 * level + 0.1 * np.mean(row)\n"
        "        rows.append(np.sqrt(row) - level)\n    model.train_on_batch(np.stack(rows), y)\n"
    ),
    "returns from the last to the first": (
        "for x, y in batches:\n    out = np.zeros(99)\n    for t in reversed(range(99)):\n"
        "        out[t] = np.exp(x[t]) + 0.9 * out[t + 1]\n    model.train_on_batch(out, y)\n"
    ),
    "it only reads files": (
        "for x, y in batches:\n    images = []\n    for path in x:\n        images.append(np.load(path))\n"
        "    model.train_on_batch(np.stack(images), y)\n"
    ),
    "it reads files, too": (
        "for paths, y in batches:\n    images = []\n    for path in paths:\n        images.append(np.log1p(cv2.imread(path)))\n"
        "    model.train_on_batch(np.stack(images), y)\n"
    ),
    "no calls": (
        "for x, y in batches:\n    rows = []\n    for row in x:\n        rows.append(row)\n    model.train_on_batch(np.stack(rows), y)\n"
    ),
    "an unknown function": (
        "for x, y in batches:\n    x = np.stack([tokenize(np.sqrt(row)) for row in x])\n    model.train_on_batch(x, y)\n"
    ),
    "the whole batch": "for x, y in batches:\n    model.train_on_batch(np.log1p(x), y)\n",
    "few iterations": (
        "for x, y in batches:\n    views = []\n    for k in range(4):\n        views.append(np.rot90(x, k))\n"
        "    model.train_on_batch(np.concatenate(views), y)\n"
    ),
    "the loop of the steps": "for x, y in batches:\n    model.train_on_batch(np.sqrt(x), y)\n    print(np.mean(y))\n",
    "kept from another iteration": (
        "for x, y in batches:\n    best, out = 0, np.zeros(len(x))\n    for i in range(len(x)):\n        if np.max(x[i]) > 3:\n"
        "            best = np.argmax(x[i])\n        out[i] = x[i][best]\n    model.train_on_batch(x, out)\n"
    ),
    "set in some iterations, read in all": (
        "for x, y in batches:\n    out = np.zeros(len(x))\n    for i in range(len(x)):\n        if np.max(x[i]) > 3:\n"
        "            level = np.sqrt(x[i])\n        out[i] = level\n    model.train_on_batch(x, out)\n"
    ),
    "decided for each element": (
        "for x, y in batches:\n    rows = []\n    for row in x:\n        if np.max(row) > 3:\n            row = np.sqrt(row)\n"
        "        rows.append(row)\n    model.train_on_batch(np.stack(rows), y)\n"
    ),
    "lists of different lengths": (
        "for texts, y in batches:\n    rows = []\n    for text in texts:\n        rows.append(np.array(text.split()))\n"
        "    model.train_on_batch(pad(rows), y)\n"
    ),
    "a search": (
        "for x, y in batches:\n    for row in x:\n        if np.any(np.isnan(row)):\n            break\n    model.train_on_batch(x, y)\n"
    ),
    "traced": (
        "@tf.function\ndef step(x):\n    rows = []\n    for row in x:\n        rows.append(tf.sqrt(row))\n"
        "    with tf.GradientTape() as tape:\n        loss = model(tf.stack(rows))\n"
        "    optimizer.minimize(loss, model.trainable_variables, tape=tape)\nfor x in batches:\n    step(x)\n"
    ),
    "of the tape": (
        "for x in batches:\n    with tf.GradientTape() as tape:\n        losses = [tf.square(model(row)) for row in x]\n"
        "    optimizer.apply_gradients(zip(tape.gradient(losses, v), v))\n"
    ),
    "gradients and variables": (
        "for x in batches:\n    with tf.GradientTape() as tape:\n        loss = model(x)\n    grads = tape.gradient(loss, v)\n"
        "    grads = [tf.clip_by_norm(g, 1.0) for g in grads]\n    optimizer.apply_gradients(zip(grads, v))\n"
    ),
    "gradients in one vector": (
        "for x in batches:\n    with tf.GradientTape() as tape:\n        loss = model(x)\n    grads = tape.gradient(loss, v)\n"
        "    flat = tf.concat([tf.reshape(tf.square(g), [-1]) for g in grads], 0)\n    optimizer.apply_gradients(zip(grads, v))\n"
    ),
    "rows of different lengths in one": (
        "for x, y in batches:\n    x = np.concatenate([np.sqrt(row) for row in x])\n    model.train_on_batch(x, y)\n"
    ),
    "a number for each of different sizes": (
        "for x, y in batches:\n    x = np.array([np.mean(row) for row in x])\n    model.train_on_batch(x, y)\n"
    ),
    "norms of weights": (
        "for x, y in batches:\n    model.train_on_batch(x, y)\n"
        "    log(np.array([np.sum(np.square(w)) for w in model.get_weights()]))\n"
    ),
    "a generator that nobody trains on": (
        "def generate(x):\n    while True:\n        yield np.stack([np.log1p(row) for row in x])\nfor one in generate(data):\n    print(one)\n"
    ),
    "now and then": (
        "for i, (x, y) in enumerate(batches):\n    model.train_on_batch(x, y)\n    if i % 100 == 0:\n"
        "        show([np.clip(row, 0, 1) for row in x])\n"
    ),
    "another batch for each": (
        "for x, y in batches:\n    for part in x:\n        model.train_on_batch(np.sqrt(part), y)\n"
    ),
    "arrays of different sizes": (
        "for x, y in batches:\n    rows = [np.pad(row, (0, 9 - len(row))) for row in x]\n    model.train_on_batch(np.stack(rows), y)\n"
    ),
}


def _table(cases: dict[str, object]) -> pytest.MarkDecorator:
    return pytest.mark.parametrize("case", cases.values(), ids=cases)


def rows(code: str, folder: Path, name: str = "train.py") -> list[int]:
    """The rows below HEAD that TFG310 names."""
    return [row - HEAD.count("\n") for found_code, row in found(HEAD + code, folder, name) if found_code == "TFG310"]


@_table(AGAIN)  # type: ignore[arg-type]
def test_loops_that_run_again_are_found(case: tuple[str, int], tmp_path: Path) -> None:
    code, row = case
    assert rows(code, tmp_path) == [row]


@_table(FINE)  # type: ignore[arg-type]
def test_others_are_not_found(case: str, tmp_path: Path) -> None:
    assert rows(case, tmp_path) == []


def test_tests_are_left_alone(tmp_path: Path) -> None:
    assert rows(AGAIN["a comprehension"][0], tmp_path, "tests/train.py") == []


def test_programs_for_tensorflow_1_are_left_alone(tmp_path: Path) -> None:
    target = Target(tensorflow=(1, 15), keras=2, source="requirements.txt")
    assert "TFG310" not in {code for code, _ in found(HEAD + AGAIN["a comprehension"][0], tmp_path, target=target)}


def test_a_loop_in_another_file(tmp_path: Path) -> None:
    (tmp_path / "preparation.py").write_text(
        "import numpy as np\n\ndef prepared(batch):\n    rows = []\n    for row in batch:\n"
        "        rows.append(np.log1p(row))\n    return np.stack(rows)\n"
    )
    code = HEAD + "from preparation import prepared\nfor x, y in batches:\n    model.train_on_batch(prepared(x), y)\n"
    assert ("TFG310 preparation.py", 5) in found(code, tmp_path)


def test_a_notebook(tmp_path: Path) -> None:
    text = notebook(
        HEAD, "for x, y in batches:\n    x = np.stack([np.sqrt(row) for row in x])\n    model.train_on_batch(x, y)"
    )
    assert ("TFG310", 2) in found(text, tmp_path, name="a.ipynb")


def test_the_truth_one_call_gives_what_the_loop_gives() -> None:
    """With the installed NumPy and TensorFlow: elements of one shape, each for itself; and the number of operations."""
    import numpy as np
    import tensorflow as tf

    batch = np.random.default_rng(0).normal(size=(64, 10)).astype("float32")
    looped = np.stack([np.log1p(np.abs(row)) - np.mean(row) for row in batch])
    assert np.allclose(looped, np.log1p(np.abs(batch)) - np.mean(batch, axis=1, keepdims=True), atol=1e-6)

    @tf.function
    def by_row(x: tf.Tensor) -> tf.Tensor:
        return tf.stack([tf.sqrt(x[i]) for i in range(64)])

    @tf.function
    def at_once(x: tf.Tensor) -> tf.Tensor:
        return tf.sqrt(x)

    operations = [
        sum(one.type == "Sqrt" for one in f.get_concrete_function(tf.constant(batch)).graph.get_operations())
        for f in (by_row, at_once)
    ]
    assert operations == [64, 1]
