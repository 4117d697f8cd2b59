"""TFG109: `tf.map_fn` with a function that works on all rows at once, and those that it is needed for."""

from __future__ import annotations

from pathlib import Path

import pytest
from checks import codes, findings, found, notebook

HEAD = """
import functools
import numpy as np
import tensorflow as tf
from tensorflow import keras
from data import images, boxes, weights

SCALE = 255.0
"""

NEEDLESS = {
    "division": "y = tf.map_fn(lambda x: x / 255, images)",
    "largest value of each": "y = tf.map_fn(lambda x: tf.reduce_max(tf.abs(x)), images)",
    "a function of TensorFlow": "y = tf.map_fn(tf.reduce_sum, images)",
    "by keyword": "y = tf.map_fn(fn=lambda x: x * 2, elems=images, fn_output_signature=tf.float32)",
    "an axis": "y = tf.map_fn(lambda x: x / tf.reduce_sum(x, axis=-1, keepdims=True), images)",
    "named function": "def scale(x):\n    x = tf.cast(x, tf.float32)\n    x /= SCALE\n    return x\n"
    "y = tf.map_fn(scale, images, dtype=tf.float32)",
    "helper": "def norm(x):\n    return tf.sqrt(tf.reduce_sum(x ** 2))\ny = tf.map_fn(lambda x: x / norm(x), images)",
    "two components": "y = tf.map_fn(lambda x: x[0] * x[1], (images, weights), dtype=tf.float32)",
    "unpacked": "def scale(pair):\n    x, most = pair\n    return x * most / tf.reduce_max(tf.abs(x))\n"
    "y = tf.map_fn(scale, (images, weights), dtype=images.dtype)",
    "two results": "y = tf.map_fn(lambda x: (x * 2, tf.reduce_mean(x)), images, dtype=(tf.float32, tf.float32))",
    "columns": "y = tf.map_fn(lambda b: tf.stack([b[1], b[0], b[3], b[2]]), boxes)",
    "condition": "y = tf.map_fn(lambda x: x / 2 if tf.reduce_max(x) > 1 else x, images)",
    "where": "y = tf.map_fn(lambda x: tf.where(x > 0.5, 1.0, 0.0), images)",
    "softmax": "y = tf.map_fn(tf.nn.softmax, images)",
    "product of matrices": "y = tf.map_fn(lambda x: tf.matmul(x, weights), images)",
    "operator": "y = tf.map_fn(lambda x: x @ weights, images)",
    "partial": "def scale(x, by):\n    return x / by\ny = tf.map_fn(functools.partial(scale, by=255.0), images)",
    "parameter": "def each(f):\n    return tf.map_fn(f, images)\ny = each(lambda x: x * 2)",
    "data is a parameter": "def peaks(batch):\n    return tf.map_fn(lambda x: tf.reduce_max(x), batch)",
    "attribute of self": "class Scale(keras.layers.Layer):\n    def __init__(self, by):\n        super().__init__()\n"
    "        self.by = by\n    def call(self, x):\n        return tf.map_fn(lambda row: row * self.by, x)",
    "function of TensorFlow in an attribute": "class Pool(keras.layers.Layer):\n    def __init__(self, kind):\n        super().__init__()\n"
    "        if kind == 'mean':\n            self.pool = tf.reduce_mean\n        elif kind == 'max':\n            self.pool = tf.reduce_max\n"
    "    def call(self, x):\n        return tf.map_fn(self.pool, x)",
    "method": "class Scale(keras.layers.Layer):\n    def one(self, x):\n        return tf.exp(x) * 2.0\n"
    "    def call(self, x):\n        return tf.map_fn(self.one, x)",
    "mode of the object": "class Frames:\n    def count(self, n):\n        if self.padded:\n            return n // self.step\n"
    "        return 1 + (n - self.size) // self.step\n    def all(self, lengths):\n        return tf.map_fn(self.count, lengths)",
    "closure": "def make(power):\n    return tf.map_fn(lambda x: tf.pow(x, power), images)",
    "under tf.function": "@tf.function\ndef step(x):\n    return tf.map_fn(lambda r: tf.square(r), x)",
    "a mode known outside": "def one(x):\n    if SCALE > 1:\n        x = x / SCALE\n    return x\ny = tf.map_fn(one, images)",
    "traced by itself": "@tf.function\ndef one(x):\n    return x / SCALE\ny = tf.map_fn(one, images)",
    "dtype of the element": "y = tf.map_fn(lambda x: tf.cast(weights, x.dtype) * x, images)",
    "backend": "from tensorflow.keras import backend as K\ny = K.map_fn(lambda x: x * 2, images)",
    "compat": "y = tf.compat.v1.map_fn(lambda x: x * 2, images)",
    "several rows that are known": "y = tf.map_fn(lambda x: x * x, tf.range(1000))",
    "row of a table": "y = tf.map_fn(lambda i: tf.gather(weights, i), boxes, dtype=tf.float32)",
    "row of an embedding": "def word(t):\n    return tf.nn.embedding_lookup(weights, t[0]) * 2.0\n"
    "y = tf.map_fn(word, boxes, fn_output_signature=tf.float32)",
    "layer that looks up": "class Words(keras.layers.Layer):\n    def __init__(self):\n        super().__init__()\n"
    "        self.rows = keras.layers.Embedding(99, 8)\n    def call(self, x):\n"
    "        return tf.map_fn(lambda t: tf.reduce_sum(self.rows(t), 0), x, fn_output_signature=tf.float32)",
    "call of the base": "class Scaled(keras.layers.Embedding):\n    def one(self, t):\n        return super().call(t) * 0.5\n"
    "    def call(self, x):\n        return tf.map_fn(self.one, x, fn_output_signature=tf.float32)",
    "cond": "y = tf.map_fn(lambda x: tf.cond(tf.reduce_max(x) > 1, lambda: x / 2, lambda: x), images)",
    "cond with functions": "def one(x):\n    def half():\n        return x / 2\n    def all():\n        return x\n"
    "    return tf.cond(x[0] > 1, half, all)\ny = tf.map_fn(one, images)",
    "dictionary": "y = tf.map_fn(lambda d: d['image'] / 255, {'image': images}, dtype=tf.float32)",
}
NEEDED = {
    "unknown function": "from elsewhere import f\ny = tf.map_fn(f, images)",
    "unknown call inside": "from elsewhere import f\ny = tf.map_fn(lambda x: f(x) / 2, images)",
    "model": "from elsewhere import net\ny = tf.map_fn(lambda x: net(x[None])[0], images)",
    "layer": "conv = keras.layers.Conv2D(3, 3)\ny = tf.map_fn(lambda x: conv(x[None])[0], images)",
    "decode": "y = tf.map_fn(lambda x: tf.io.decode_jpeg(x), files, dtype=tf.uint8)",
    "parse": "y = tf.map_fn(lambda x: tf.io.parse_tensor(x, tf.float32), files, dtype=tf.float32)",
    "encode": "y = tf.map_fn(tf.image.encode_png, images, dtype=tf.string)",
    "random crop": "y = tf.map_fn(lambda x: tf.image.random_crop(x, (32, 32, 3)), images)",
    "random draw": "y = tf.map_fn(lambda x: x + tf.random.normal([]), images)",
    "shuffled rows": "y = tf.map_fn(tf.random.shuffle, images)",
    "Python": "y = tf.map_fn(lambda x: tf.numpy_function(f, [x], tf.float32), images)",
    "boolean mask": "y = tf.map_fn(lambda x: tf.reduce_sum(tf.boolean_mask(x, weights)), images)",
    "mask as an index": "y = tf.map_fn(lambda x: tf.reduce_sum(x[x > 0]), images)",
    "slice of a length that the element says": "y = tf.map_fn(lambda x: tf.reduce_sum(x[0][: x[1]]), (images, boxes), dtype=tf.float32)",
    "index that the element says": "y = tf.map_fn(lambda i: images[i] * 2, tf.range(tf.shape(images)[0]), dtype=tf.float32)",
    "element of a list by the element": "table = [1.0, 2.0]\ny = tf.map_fn(lambda i: table[i] * 2, boxes)",
    "gather": "y = tf.map_fn(lambda x: tf.gather(x[0], x[1]), (images, boxes), dtype=tf.float32)",
    "gather along an axis": "y = tf.map_fn(lambda i: tf.gather(weights, i, axis=1), boxes)",
    "gather with batches": "y = tf.map_fn(lambda i: tf.gather(weights, i, batch_dims=1), boxes)",
    "gather of the row itself": "y = tf.map_fn(lambda x: tf.gather(x, [0, 2]), images)",
    "cond that assigns": "v = tf.Variable(0.0)\n"
    "y = tf.map_fn(lambda x: tf.cond(x[0] > 1, lambda: v.assign_add(1.0), lambda: v), images)",
    "cond with an unknown function": "from elsewhere import f\n"
    "y = tf.map_fn(lambda x: tf.cond(x[0] > 1, lambda: f(x), lambda: x), images)",
    "cond with a branch inside": "def one(x):\n    def half():\n        y = x / 2\n        if y[0] > 1:\n            return x\n"
    "        return y\n    return tf.cond(x[0] > 1, half, lambda: x)\ny = tf.map_fn(one, images)",
    "cond that prints": "def one(x):\n    def half():\n        tf.print(x)\n        return x / 2\n"
    "    return tf.cond(x[0] > 1, half, lambda: x)\ny = tf.map_fn(one, images)",
    "another layer": "class Many(keras.layers.Layer):\n    def __init__(self):\n        super().__init__()\n"
    "        self.rows = keras.layers.LSTM(8)\n    def call(self, x):\n        return tf.map_fn(lambda t: self.rows(t), x)",
    "another base": "class Scaled(keras.layers.Dense):\n    def one(self, t):\n        return super().call(t) * 0.5\n"
    "    def call(self, x):\n        return tf.map_fn(self.one, x)",
    "an inner map that knows the row": "def one(x):\n    return tf.map_fn(lambda k: tf.random.shuffle(k), x)\n"
    "y = tf.map_fn(one, images)",
    "where of indices": "y = tf.map_fn(lambda x: tf.where(x), images)",
    "unique": "y = tf.map_fn(lambda x: tf.unique(x)[0], images)",
    "shape of the element": "y = tf.map_fn(lambda x: x / tf.cast(tf.shape(x)[0], tf.float32), images)",
    "static shape of the element": "y = tf.map_fn(lambda x: tf.reduce_sum(x) / x.shape[0], images)",
    "if on the element": "def one(x):\n    if tf.reduce_max(x) > 1:\n        x = x / 2\n    return x\ny = tf.map_fn(one, images)",
    "loop": "def one(x):\n    for i in range(3):\n        x = x * 2\n    return x\ny = tf.map_fn(one, images)",
    "print": "def one(x):\n    tf.print(x)\n    return x * 2\ny = tf.map_fn(one, images)",
    "Python state": "class Count:\n    n = 0\n    def one(self, x):\n        self.n += 1\n        return x * self.n\n"
    "    def run(self):\n        return tf.map_fn(self.one, images)",
    "list that grows": "seen = []\ndef one(x):\n    seen.append(x)\n    return x\ny = tf.map_fn(one, images)",
    "variable that counts": "v = tf.Variable(0.0)\ny = tf.map_fn(lambda x: x + v.assign_add(1.0), images)",
    "few at a time, to save memory": "y = tf.map_fn(lambda x: x * 2, images, parallel_iterations=1)",
    "swapped to the host": "y = tf.map_fn(lambda x: x * 2, images, swap_memory=True)",
    "ragged result": "y = tf.map_fn(lambda x: x * 2, images, fn_output_signature=tf.RaggedTensorSpec([None]))",
    "ragged rows": "rows = tf.ragged.constant([[1, 2], [3]])\ny = tf.map_fn(tf.reduce_sum, rows)",
    "words of a sentence": "y = tf.map_fn(tf.strings.lower, tf.strings.split(lines))",
    "ragged elsewhere in the file": "def lengths(ragged):\n    return ragged.row_lengths()\n"
    "def sums(rows):\n    return tf.map_fn(tf.reduce_sum, rows)",
    "three rows": "y = tf.map_fn(lambda x: x * 2, tf.constant([1, 2, 3]))",
    "a short range": "y = tf.map_fn(lambda x: x * 2, tf.range(4))",
    "a list of two": "y = tf.map_fn(lambda x: tf.reduce_sum(x), [[1, 2], [3, 4]])",
    "only once, when a layer is built": "class Table(keras.layers.Layer):\n    def build(self, shape):\n"
    "        self.table = tf.map_fn(lambda x: x * 2, self.rows)",
    "the other way beside it": "def each(f, xs, fast):\n    return tf.vectorized_map(f, xs) if fast else tf.map_fn(f, xs)\n"
    "y = each(lambda x: x * 2, images, True)",
    "a function without arguments": "y = tf.map_fn(lambda x: tf.reduce_max(), images)",
    "not used": "y = tf.map_fn(lambda x: tf.zeros(3), images)",
    "own map_fn": "from mine import map_fn\ny = map_fn(lambda x: x * 2, images)",
    "vectorized": "y = tf.vectorized_map(lambda x: x * 2, images)",
    "unknown decorator": "from elsewhere import wrap\n@wrap\ndef one(x):\n    return x * 2\ny = tf.map_fn(one, images)",
    "gradient": "def one(x):\n    with tf.GradientTape() as tape:\n        tape.watch(x)\n        y = x * x\n"
    "    return tape.gradient(y, x)\ny = tf.map_fn(one, images)",
    "inner loop": "y = tf.map_fn(lambda x: tf.while_loop(c, b, [x]), images)",
    "either of two functions": "from elsewhere import f\ng = f if SCALE else (lambda x: x)\ny = tf.map_fn(g, images)",
}


def _table(cases: dict[str, str]) -> pytest.MarkDecorator:
    return pytest.mark.parametrize("code", cases.values(), ids=cases.keys())


@_table(NEEDLESS)
def test_a_needless_map_fn_is_found(code: str, tmp_path: Path) -> None:
    """Protects recall: element-wise operations and reductions, through names, helpers, parameters and classes."""
    assert codes(HEAD + code, tmp_path) == ["TFG109"]


@_table(NEEDED)
def test_a_needed_map_fn_is_silent(code: str, tmp_path: Path) -> None:
    """Protects precision: what differs from row to row, what is unknown, and what gains nothing."""
    assert "TFG109" not in codes(HEAD + code, tmp_path)


def test_both_of_two_nested_loops_are_found(tmp_path: Path) -> None:
    code = "def word(t):\n    return tf.gather(weights, t)\ndef line(ts):\n    return tf.map_fn(word, ts, tf.float32)\n"
    found_there = findings(HEAD + code + "y = tf.map_fn(line, boxes, tf.float32)", tmp_path)
    assert [(rule.code, finding.fix is None) for rule, finding in found_there] == [("TFG109", False), ("TFG109", True)]
    assert "inner `map_fn`" in (found_there[1][1].help or "")


def test_an_inner_loop_over_what_the_outer_row_gives_is_left_alone(tmp_path: Path) -> None:
    """Protects precision: the inner function multiplies by the outer row, so axes are not all that changes."""
    code = "def line(ts):\n    return tf.map_fn(lambda t: t * ts, ts)\ny = tf.map_fn(line, images)"
    assert len(codes(HEAD + code, tmp_path)) == 1


def test_function_of_another_file(tmp_path: Path) -> None:
    (tmp_path / "scaling.py").write_text(
        "import tensorflow as tf\n\n\ndef scale(x):\n    return tf.cast(x, tf.float32) / 255\n"
    )
    code = "import tensorflow as tf\nfrom scaling import scale\n\ny = tf.map_fn(scale, load(), tf.float32)\n"
    assert found(code, tmp_path) == {("TFG109", 4)}


def test_notebook(tmp_path: Path) -> None:
    text = notebook("import tensorflow as tf", "def peak(x):\n    return tf.reduce_max(x)", "tf.map_fn(peak, batch)")
    assert found(text, tmp_path, "x.ipynb") == {("TFG109", 1)}


def test_tests_are_left_alone(tmp_path: Path) -> None:
    assert found(HEAD + NEEDLESS["division"], tmp_path, "tests/map.py") == set()


@pytest.mark.parametrize(
    ("case", "words"),
    [
        ("division", "`x / 255`"),
        ("largest value of each", "axis"),
        ("condition", "`tf.where`"),
        ("two components", "axes"),
        ("cond", "`tf.where`"),
    ],
)
def test_the_help_says_what_to_do(case: str, words: str, tmp_path: Path) -> None:
    """Protects the advice: what the function needs so that it can be given the whole tensor."""
    ((_, finding),) = findings(HEAD + NEEDLESS[case], tmp_path)
    help_text = finding.help or ""
    assert "whole tensor" in help_text
    assert case == "division" or words in help_text


@pytest.mark.slow
def test_all_rows_at_once_are_the_same_and_no_loop() -> None:
    """Protects the claim itself, with the installed TensorFlow: the same numbers, and a graph without a loop."""
    tf = pytest.importorskip("tensorflow")
    x = tf.reshape(tf.range(24, dtype=tf.float32), (4, 2, 3)) - 9
    both = [
        (lambda r: r / 255, lambda x: x / 255),
        (lambda r: tf.reduce_max(tf.abs(r)), lambda x: tf.reduce_max(tf.abs(x), axis=[1, 2])),
        (lambda r: r / tf.reduce_sum(r), lambda x: x / tf.reduce_sum(x, axis=[1, 2], keepdims=True)),
        (tf.nn.softmax, tf.nn.softmax),
        (lambda r: tf.stack([r[1], r[0]]), lambda x: tf.stack([x[:, 1], x[:, 0]], axis=1)),
        (
            lambda r: r / 2 if tf.reduce_max(r) > 1 else r,
            lambda x: tf.where(tf.reduce_max(x, axis=[1, 2], keepdims=True) > 1, x / 2, x),
        ),
        (
            lambda r: tf.cond(r[0, 0] > 1, lambda: r / 2, lambda: r),
            lambda x: tf.where(x[:, :1, :1] > 1, x / 2, x),
        ),
    ]
    table, ids = tf.reshape(tf.range(12.0), (6, 2)), tf.constant([5, 0, 0, 3])
    tf.debugging.assert_equal(tf.map_fn(lambda i: tf.gather(table, i), ids, tf.float32), tf.gather(table, ids))
    layer = tf.keras.layers.Embedding(6, 2)
    tf.debugging.assert_equal(tf.map_fn(layer, ids, fn_output_signature=tf.float32), layer(ids))
    for row, whole in both:
        mapped = tf.function(lambda x, row=row: tf.map_fn(row, x))
        tf.debugging.assert_near(tf.map_fn(row, x), whole(x))
        kinds = {node.type for node in mapped.get_concrete_function(x).graph.get_operations()}
        assert kinds & {"While", "StatelessWhile"}
    for row, _ in both[:-2]:
        at_once = tf.function(lambda x, row=row: tf.vectorized_map(row, x))
        tf.debugging.assert_near(tf.map_fn(row, x), at_once(x))
        kinds = {node.type for node in at_once.get_concrete_function(x).graph.get_operations()}
        assert not kinds & {"While", "StatelessWhile"}


@pytest.mark.parametrize(
    ("operand", "is_fixed"), [("tf.constant([[2.0], [3.0]])", False), ("[0.5, 1.5]", False), ("0.5", True)]
)
def test_an_operand_of_more_axes_than_a_row_stays_with_the_row(operand: str, is_fixed: bool, tmp_path: Path) -> None:
    """Protects rows that an operand gives one axis more: all rows at once would meet another axis of it."""
    code = f"{HEAD}table = tf.reshape(tf.range(18.0), (9, 2))\ny = tf.map_fn(lambda line: line * {operand}, table)\n"
    ((_, finding),) = [pair for pair in findings(code, tmp_path) if pair[0].code == "TFG109"]
    assert (finding.fix is not None) is is_fixed
