"""TFG212: a tensor that an eager loop makes longer by a concatenation in every iteration, and concatenations that are needed."""

from __future__ import annotations

from pathlib import Path

import pytest
from checks import findings, found, notebook

from tflint_gpu.targets import Target

HEAD = """\
import numpy as np
import tensorflow as tf
model = tf.keras.Sequential([tf.keras.layers.Dense(1)])
data = tf.data.Dataset.from_tensor_slices(np.ones((900, 4), "float32")).batch(32)
"""
GROWING = {  # the row of the concatenation, below HEAD
    "a loop over a dataset": (
        "scores = tf.zeros([0, 1])\nfor x in data:\n    scores = tf.concat([scores, model.predict_on_batch(x)], 0)\n",
        3,
    ),
    "in a function that evaluates": (
        "def collect(batches, y):\n    out = tf.zeros([0, 4])\n    for x in batches:\n        out = tf.concat([out, x], 0)\n"
        "        model.test_on_batch(x, y)\n    return out\n",
        4,
    ),
    "the first batch apart": (
        "out = None\nfor x in data:\n    if out is None:\n        out = x\n    else:\n        out = tf.concat([out, x], axis=0)\n",
        6,
    ),
    "a conditional expression": (
        "out = None\nfor x in data:\n    out = x if out is None else tf.concat((out, x), axis=0)\n",
        3,
    ),
    "first by the index": (
        "for i, x in enumerate(data):\n    if i == 0:\n        out = x\n    else:\n        out = tf.concat([out, x], axis=0)\n",
        5,
    ),
    "first by a name that is not there yet": (
        "for x in data:\n    try:\n        out = tf.concat([out, x], axis=0)\n    except NameError:\n        out = x\n",
        3,
    ),
    "in front": ("out = tf.zeros([0, 4])\nfor x in data:\n    out = tf.concat([x, out], 0)\n", 3),
    "in a function": (
        "def collect(batches, count):\n    out = tf.zeros([0, 1])\n    for i in range(count):\n"
        "        out = tf.concat([out, model(next(batches))], 0)\n    return out\ncollect(iter(data), 100)\n",
        4,
    ),
    "a dataset as parameter": (
        "def collect(batches):\n    out = tf.zeros([0, 4])\n    for x in batches:\n        out = tf.concat([out, x], 0)\n"
        "    return out\nprint(collect(data))\n",
        4,
    ),
    "a count that a function gets": (
        "def collect(x, n):\n    out = x\n    for i in range(n):\n        out = tf.concat([out, x * i], 0)\n    return out\n",
        4,
    ),
    "arrays that a function gets": (
        "def scores(net, pictures, labels):\n    out = None\n    for picture, label in zip(pictures, labels):\n"
        "        row = net(picture[None]) * label\n"
        "        out = row if out is None else tf.concat([out, row], axis=0)\n    return out\n",
        5,
    ),
    "a number that an object keeps": (
        "class Sampler:\n    def __init__(self, rows):\n        self.rows = rows\n    def run(self, x):\n        done, out = 0, x\n"
        "        while done < self.rows:\n            out = tf.concat([out, x + done], axis=0)\n            done += 1\n"
        "        return out\n",
        7,
    ),
    "a while": (
        "it = iter(data)\nout = tf.zeros([0, 4])\nwhile out.shape[0] < 500:\n    out = tf.concat([out, next(it)], 0)\n",
        4,
    ),
    "an attribute": (
        "class Collector:\n    def run(self, batches):\n        self.out = None\n        for x in batches:\n"
        "            self.out = x if self.out is None else tf.concat([self.out, x], 0)\n        return self.out\n"
        "Collector().run(data)\n",
        5,
    ),
    "a method that a loop calls": (
        "class Buffer:\n    def __init__(self):\n        self.rows = tf.zeros([0, 4])\n    def add(self, x):\n"
        "        self.rows = tf.concat([self.rows, x], 0)\nbuffer = Buffer()\nfor x in data:\n    buffer.add(x)\n",
        5,
    ),
    "a global that a function makes longer": (
        "rows = tf.zeros([0, 4])\ndef add(x):\n    global rows\n    rows = tf.concat([rows, x], 0)\nfor x in data:\n    add(x)\n",
        4,
    ),
    "in a dictionary": (
        "out = {}\nfor x in data:\n    for key, value in model(x).items():\n"
        "        if key in out:\n            out[key] = tf.concat([out[key], value], 0)\n"
        "        else:\n            out[key] = value\n",
        5,
    ),
    "keras.ops": (
        "import keras\nout = tf.zeros([0, 4])\nfor x in data:\n    out = keras.ops.concatenate([out, x], axis=0)\n",
        4,
    ),
    "tensors in NumPy": (
        "out = np.zeros((0, 1))\nfor x in data:\n    out = np.append(out, model(x), axis=0)\n",
        3,
    ),
    "two in one statement": (
        "xs, ys = tf.zeros([0, 4]), tf.zeros([0, 1])\nfor x in data:\n"
        "    xs, ys = tf.concat([xs, x], 0), tf.concat([ys, model(x)], 0)\n",
        3,
    ),
    "on the CPU": (
        "out = None\nfor x in data:\n    with tf.device('CPU'):\n        if out is not None:\n"
        "            out = tf.concat([out, x], axis=0)\n        else:\n            out = x\n",
        5,
    ),
    "for an epoch": (
        "for epoch in range(9):\n    out = tf.zeros([0, 4])\n    for x in data:\n        out = tf.concat([out, x], 0)\n    print(out)\n",
        4,
    ),
    "rows written one by one": (
        "out = tf.zeros([900, 4])\nfor i in range(900):\n    out = tf.tensor_scatter_nd_update(out, [[i]], [table[i]])\n",
        3,
    ),
    "rows added to, by keyword": (
        "out = tf.zeros([9, 4])\nfor place, row in pairs:\n"
        "    out = tf.tensor_scatter_nd_add(tensor=out, indices=[[place]], updates=[row])\nprint(out)\n",
        3,
    ),
    "rows written by a method": (
        "class Scores:\n    def fill(self, n):\n        self.all = tf.zeros([n, 1])\n        for k in range(n):\n"
        "            self.all = tf.tensor_scatter_nd_update(self.all, [[k]], model(self.rows[k : k + 1]))\n"
        "Scores().fill(9000)\n",
        5,
    ),
    "its length is asked": (
        "out = tf.zeros([0, 4])\nfor x in data:\n    out = tf.concat([out, x], 0)\n    print(len(out), out.shape)\n",
        3,
    ),
}
UNTIL = "out = model(tf.random.normal((9, 4)))\nwhile {test}:\n    out = tf.concat([out, model(tf.random.normal((9, 4)))], 0)\n"
GROWING |= {
    "until there are enough": (UNTIL.format(test="len(out) < wanted"), 3),
    "until the tensor says so": (UNTIL.format(test="tf.shape(out)[0] < wanted"), 3),
    "until a test in the loop": (
        UNTIL.format(test="True") + "    if tf.size(out) >= wanted:\n        break\n",
        3,
    ),
    "until a function has as many as it is asked for": (
        "def drawn(wanted):\n    out, count = tf.zeros([0, 1]), 0\n    while count < wanted:\n        more = model(draw())\n"
        "        out = tf.concat([out, more], 0)\n        count += len(more)\n    return out\n",
        5,
    ),
}
FINE = {
    "until there are five": UNTIL.format(test="len(out) < 5"),
    "until the sum is large": UNTIL.format(test="tf.reduce_sum(out) < wanted"),
    "one update": "out = tf.tensor_scatter_nd_update(tf.zeros([900, 4]), places[:, None], table)\n",
    "another tensor in each iteration": "for x in data:\n    y = tf.tensor_scatter_nd_update(x, [[0]], [x[1]])\n    model(y)\n",
    "rows that depend on those before": (
        "best = tf.zeros([900])\nfor i in range(1, 900):\n"
        "    best = tf.tensor_scatter_nd_max(best, [[i]], [best[i - 1] + costs[i]])\n"
    ),
    "an update that the loop reads": (
        "out = tf.zeros([90, 4])\nfor i in range(90):\n    out = tf.tensor_scatter_nd_update(out, [[i]], [table[i]])\n    model(out)\n"
    ),
    "updates that are traced": (
        "@tf.function\ndef fill(table):\n    out = tf.zeros([90, 4])\n    for i in range(90):\n"
        "        out = tf.tensor_scatter_nd_update(out, [[i]], [table[i]])\n    return out\n"
    ),
    "few updates": "out = tf.zeros([9, 4])\nfor i in range(3):\n    out = tf.tensor_scatter_nd_update(out, [[i]], [table[i]])\n",
    "a variable that is written in place": "out = tf.Variable(tf.zeros([90, 4]))\nfor i in range(90):\n    out.scatter_nd_update([[i]], [table[i]])\n",
    "a list and one concat": "rows = []\nfor x in data:\n    rows.append(x)\nout = tf.concat(rows, 0)\n",
    "what comes next depends on it": (
        "tokens = tf.zeros([1, 1])\nfor i in range(100):\n    tokens = tf.concat([tokens, model(tokens)], -1)\n"
    ),
    "read in the loop": "out = tf.zeros([0, 4])\nfor x in data:\n    out = tf.concat([out, x], 0)\n    print(tf.reduce_mean(out))\n",
    "read by a function of the loop": (
        "out = tf.zeros([0, 4])\ndef show():\n    print(tf.reduce_mean(out))\nfor x in data:\n    out = tf.concat([out, x], 0)\n    show()\n"
    ),
    "a window": "out = tf.zeros([0, 4])\nfor x in data:\n    out = tf.concat([out, x], 0)\n    out = out[-100:]\n",
    "a window by its slice": "out = tf.zeros([9, 4])\nfor x in data:\n    out = tf.concat([out[1:], x[:1]], 0)\n",
    "new in every iteration": "for x in data:\n    out = tf.ones_like(x)\n    out = tf.concat([out, x], 0)\n    model(out)\n",
    "emptied now and then": (
        "out = tf.zeros([0, 4])\nfor x in data:\n    out = tf.concat([out, x], 0)\n    if full(x):\n        out = tf.zeros([0, 4])\n"
    ),
    "the loop's own variable": "for x in data:\n    x = tf.concat([x, tf.ones_like(x)], -1)\n    model(x)\n",
    "few layers": "out = tf.zeros([4, 0])\nfor layer in [a, b, c]:\n    out = tf.concat([out, layer(x)], -1)\n",
    "layers of a functional model": (
        "inputs = [tf.keras.Input([4]) for _ in range(20)]\nout = inputs[0]\nfor one in inputs[1:]:\n"
        "    out = tf.keras.ops.concatenate([out, one], 0)\n"
    ),
    "unknown features side by side": "out = tf.zeros([4, 0])\nfor name in names:\n    out = tf.concat([out, table[name]], -1)\n",
    "traced": (
        "@tf.function\ndef collect(x):\n    out = tf.zeros([0, 4])\n    for i in range(100):\n        out = tf.concat([out, x], 0)\n    return out\n"
    ),
    "called from traced code": (
        "def collect(x):\n    out = tf.zeros([0, 4])\n    for i in range(100):\n        out = tf.concat([out, x], 0)\n    return out\n"
        "@tf.function\ndef step(x):\n    return collect(x)\n"
    ),
    "in a layer": (
        "class Pyramid(tf.keras.layers.Layer):\n    def call(self, x):\n        out = x\n        for i in range(50):\n"
        "            out = tf.concat([out, x * i], 0)\n        return out\n"
    ),
    "called from traced code, too": (
        "def collect(x, n):\n    out = x\n    for i in range(n):\n        out = tf.concat([out, x * i], 0)\n    return out\n"
        "collect(x, 100)\n@tf.function\ndef step(x):\n    return collect(x, 100)\n"
    ),
    "a while_loop's body": (
        "def body(i, out):\n    return i + 1, tf.concat([out, [i]], 0)\n"
        "tf.while_loop(lambda i, out: i < 100, body, [0, tf.zeros([0], tf.int32)])\n"
    ),
    "arrays": "out = np.zeros((0, 4))\nfor i in range(100):\n    out = np.append(out, np.ones((1, 4)), axis=0)\n",
    "a known, short range": "out = tf.zeros([0, 4])\nfor i in range(4):\n    out = tf.concat([out, tf.ones([1, 4])], 0)\n",
    "two names": "out = tf.zeros([0, 4])\nfor x in data:\n    both = tf.concat([out, x], 0)\n    model(both)\n",
    "an item a iteration": (
        "out = [tf.zeros([0, 4])] * 100\nfor i, x in enumerate(data):\n    out[i] = tf.concat([out[i], x], 0)\n"
    ),
    "a buffer of the iteration": (
        "class Buffer:\n    def __init__(self):\n        self.rows = tf.zeros([0, 4])\n    def add(self, x):\n"
        "        self.rows = tf.concat([self.rows, x], 0)\nfor x in data:\n    buffer = Buffer()\n    buffer.add(x)\n"
    ),
    "a buffer that is sampled": (
        "class Buffer:\n    def __init__(self):\n        self.rows = tf.zeros([0, 4])\n    def add(self, x):\n"
        "        self.rows = tf.concat([self.rows, x], 0)\n    def sample(self):\n        return self.rows[:3]\n"
        "buffer = Buffer()\nfor x in data:\n    buffer.add(x)\n    print(buffer.sample())\n"
    ),
    "now and then": "out = tf.zeros([0, 4])\nfor i, x in enumerate(data):\n    if i % 100 == 0:\n        out = tf.concat([out, x], 0)\n",
    "a graph of TensorFlow 1": (
        "import tensorflow.compat.v1 as tf1\nwith tf1.Session() as session:\n    out = x\n    for i in range(99):\n"
        "        out = tf.concat([out, x], 0)\n    session.run(out)\n"
    ),
}


def _table(cases: dict[str, object]) -> pytest.MarkDecorator:
    return pytest.mark.parametrize("case", cases.values(), ids=cases)


def rows(code: str, folder: Path, name: str = "train.py") -> list[int]:
    """The rows below HEAD that TFG212 names."""
    return [row - HEAD.count("\n") for found_code, row in found(HEAD + code, folder, name) if found_code == "TFG212"]


@_table(GROWING)  # type: ignore[arg-type]
def test_growing_tensors_are_found(case: tuple[str, int], tmp_path: Path) -> None:
    code, row = case
    assert rows(code, tmp_path) == [row]


@_table(FINE)  # type: ignore[arg-type]
def test_others_are_not_found(case: str, tmp_path: Path) -> None:
    assert rows(case, tmp_path) == []


def test_tests_are_left_alone(tmp_path: Path) -> None:
    assert rows(GROWING["in front"][0], tmp_path, "tests/train.py") == []


def test_programs_for_tensorflow_1_are_left_alone(tmp_path: Path) -> None:
    code = HEAD + GROWING["in front"][0]
    target = Target(tensorflow=(1, 15), keras=2, source="requirements.txt")
    assert "TFG212" not in {rule.code for rule, _ in findings(code, tmp_path, target=target)}


def test_one_finding_for_all_that_a_loop_collects(tmp_path: Path) -> None:
    code = HEAD + (
        "xs = tf.zeros([0, 4])\nys = tf.zeros([0, 1])\nfor epoch in range(epochs):\n    for x in data:\n"
        "        xs = tf.concat((xs, x), 0)\n        ys = tf.concat((ys, model(x)), 0)\n        xs = tf.concat((xs, x), 0)\n"
        "    xs = tf.concat((xs, [[1.0, 1.0, 1.0, 1.0]]), 0)\n"
    )
    (finding,) = [f for rule, f in findings(code, tmp_path) if rule.code == "TFG212"]
    assert "`xs`" in finding.message
    assert finding.file.code(finding.node) == "tf.concat((xs, x), 0)"
    texts = [note.message for note in finding.notes]
    assert texts == [
        "in every iteration of this loop",
        "`ys` grows here, too",
        "`xs` grows here, too",
        "`xs` grows here, too",
    ]


def test_a_loop_in_another_file(tmp_path: Path) -> None:
    (tmp_path / "sampling.py").write_text(
        "import tensorflow as tf\n\ndef collect(batches, n):\n    out = tf.zeros([0, 4])\n    for i in range(n):\n"
        "        out = tf.concat([out, next(batches)], 0)\n    return out\n"
    )
    code = HEAD + "from sampling import collect\ncollect(iter(data), 99)\n"
    assert found(code, tmp_path) - {("TFG401", 1)} == {("TFG212 sampling.py", 6)}


def test_a_buffer_of_another_file(tmp_path: Path) -> None:
    (tmp_path / "buffers.py").write_text(
        "import tensorflow as tf\n\nclass Buffer:\n    def __init__(self):\n        self.rows = tf.zeros([0, 4])\n"
        "    def add(self, x):\n        self.rows = tf.concat([self.rows, x], 0)\n"
    )
    code = HEAD + "from buffers import Buffer\nbuffer = Buffer()\nfor x in data:\n    buffer.add(x)\n"
    assert found(code, tmp_path) - {("TFG401", 1)} == {("TFG212 buffers.py", 7)}


def test_a_notebook(tmp_path: Path) -> None:
    text = notebook(HEAD + "out = tf.zeros([0, 4])", "for x in data:\n    out = tf.concat([out, x], 0)\nprint(out)")
    assert ("TFG212", 2) in found(text, tmp_path, name="a.ipynb")


def test_rows_can_be_written_at_once(tmp_path: Path) -> None:
    """Protects the claim and the help, with the installed TensorFlow: one update gives the same; there is no fix."""
    tf = pytest.importorskip("tensorflow")
    table, places = tf.reshape(tf.range(12.0), (6, 2)), tf.constant([3, 0, 5, 1, 4, 2])
    one_by_one = tf.zeros((6, 2))
    for i in range(6):
        one_by_one = tf.tensor_scatter_nd_update(one_by_one, [[places[i]]], [table[i]])
    tf.debugging.assert_equal(one_by_one, tf.tensor_scatter_nd_update(tf.zeros((6, 2)), places[:, None], table))
    ((_, finding),) = findings(HEAD + GROWING["rows written one by one"][0], tmp_path)
    assert finding.fix is None
    assert "update the tensor once" in (finding.help or "")


def test_the_truth_every_turn_copies_all_that_was_there() -> None:
    """With the installed TensorFlow: a concatenation is a new tensor of all that went in, so the copies add up."""
    import numpy as np
    import tensorflow as tf

    rows = tf.zeros([0, 3])
    copied = 0
    for iteration in range(20):
        before = rows
        rows = tf.concat([rows, tf.fill((2, 3), float(iteration))], 0)
        assert not np.shares_memory(before.numpy(), rows.numpy())
        copied += rows.shape[0]
    assert (rows.shape[0], copied) == (40, 420)
    collected = [tf.fill((2, 3), float(iteration)) for iteration in range(20)]
    assert tf.reduce_all(tf.concat(collected, 0) == rows)
