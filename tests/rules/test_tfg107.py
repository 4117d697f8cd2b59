"""TFG107: a Python list that a loop of the graph fills, and lists that are filled while Python runs."""

from __future__ import annotations

from pathlib import Path

import pytest
from checks import codes, found, notebook

HEAD = """
import tensorflow as tf
from tensorflow import keras
"""
STEP = "@tf.function\ndef step(x: tf.Tensor):\n    out = []\n"

LEAKS = {
    "rows of a result": STEP + "    for row in tf.abs(x):\n        out.append(row * 2)\n    return tf.stack(out)",
    "rows of what a caller passes": "@tf.function\ndef sums(rows):\n    out = []\n    for row in rows:\n"
    "        out.append(tf.reduce_sum(row))\n    return tf.stack(out)\nsums(tf.ones((4, 3)))",
    "tf.range": STEP + "    for i in tf.range(3):\n        out.append(x * 2)\n    return tf.stack(out)",
    "tf.range of a shape": STEP
    + "    for i in tf.range(tf.shape(x)[0]):\n        out.append(x[i])\n    return tf.stack(out)",
    "list returned": STEP + "    for i in tf.range(3):\n        y = tf.sin(x)\n        out.append(y)\n    return out",
    "last element": STEP + "    for i in tf.range(3):\n        out.append(x + 1)\n    return out[-1]",
    "dataset": "ds = tf.data.Dataset.range(9).batch(3)\n@tf.function\ndef run():\n    out = []\n    for b in ds:\n        out.append(b * 2)\n"
    "    return tf.concat(out, 0)",
    "dataset as a parameter": "ds = tf.data.Dataset.range(9).batch(3)\n@tf.function\ndef run(data):\n    out = []\n    for b in data:\n"
    "        out.append(b * 2)\n    return tf.concat(out, 0)\nrun(ds)",
    "while": STEP
    + "    i = tf.constant(0)\n    while i < 3:\n        out.append(x * 2)\n        i += 1\n    return tf.stack(out)",
    "wrapped": "def step(x: tf.Tensor):\n    out = []\n    for i in tf.range(3):\n        out.append(tf.sin(x))\n    return tf.stack(out)\n"
    "fast = tf.function(step)",
    "helper": "def rows(x):\n    out = list()\n    for i in tf.range(3):\n        out.append(tf.sin(x))\n    return tf.stack(out)\n"
    "@tf.function\ndef step(x: tf.Tensor):\n    return rows(tf.abs(x))",
    "method": "class A:\n    @tf.function\n    def step(self, x: tf.Tensor):\n        out = []\n        for i in tf.range(3):\n"
    "            out.append(tf.sin(x))\n        return tf.stack(out)",
    "attribute": "class A:\n    @tf.function\n    def step(self, x: tf.Tensor):\n        self.out = []\n        for i in tf.range(3):\n"
    "            self.out.append(tf.sin(x))\n        return tf.stack(self.out)",
    "map_fn": STEP
    + "    def one(r):\n        out.append(tf.sin(r))\n        return r\n    tf.map_fn(one, x)\n    return tf.stack(out)",
    "while_loop": STEP + "    def body(i):\n        out.append(tf.sin(x))\n        return i + 1\n"
    "    tf.while_loop(lambda i: i < 3, body, [tf.constant(0)])\n    return tf.stack(out)",
    "with a first element": "@tf.function\ndef step(x: tf.Tensor):\n    out = [tf.zeros(3)]\n    for i in tf.range(3):\n        out.append(x + 1)\n"
    "    return tf.stack(out)",
    "range of a tensor": STEP
    + "    for i in range(tf.shape(x)[0]):\n        out.append(x[i] * 2)\n    return tf.stack(out)",
}
WORKS = {
    "Python range": STEP + "    for i in range(3):\n        out.append(x * 2)\n    return tf.stack(out)",
    "range of a static shape": STEP
    + "    for i in range(x.shape[0]):\n        out.append(x[i])\n    return tf.stack(out)",
    "eager": "def step(x: tf.Tensor):\n    out = []\n    for i in tf.range(3):\n        out.append(x * 2)\n    return tf.stack(out)\nstep(tf.ones(3))",
    "eager over a dataset": "ds = tf.data.Dataset.range(9)\nout = []\nfor b in ds:\n    out.append(b * 2)\ntf.stack(out)",
    "list of layers": STEP + "    for layer in model.layers:\n        out.append(layer(x))\n    return out",
    "list of tensors": STEP + "    for v in [x, x * 2]:\n        out.append(v * 2)\n    return tf.stack(out)",
    "unstacked": STEP + "    for r in tf.unstack(x):\n        out.append(r * 2)\n    return tf.stack(out)",
    "split": STEP + "    for r in tf.split(x, 3):\n        out.append(r * 2)\n    return tf.stack(out)",
    "gradients": STEP + "    for g, v in zip(grads, variables):\n        out.append(tf.norm(g))\n    return out",
    "enumerate": STEP + "    for i, r in enumerate(parts):\n        out.append(r * 2)\n    return out",
    "a list that a caller passes": "@tf.function\ndef sums(rows):\n    out = []\n    for row in rows:\n"
    "        out.append(tf.reduce_sum(row))\n    return tf.stack(out)\nsums([tf.ones(3), tf.ones(4)])",
    "a tuple that a caller passes": "@tf.function\ndef sums(rows):\n    out = []\n    for row in rows:\n"
    "        out.append(tf.reduce_sum(row))\n    return tf.stack(out)\nsums((tf.ones(3), tf.ones(4)))",
    "a tensor and a list": "@tf.function\ndef sums(rows):\n    out = []\n    for row in rows:\n"
    "        out.append(tf.reduce_sum(row))\n    return tf.stack(out)\nsums(tf.ones((4, 3)))\nsums([tf.ones(3)])",
    "weights of a model": "net = keras.Sequential([keras.layers.Dense(2)])\n"
    + STEP
    + "    for w in net.trainable_variables:\n        out.append(tf.reduce_sum(w))\n    return tf.stack(out)",
    "several results": STEP
    + "    for part in tf.nn.moments(x, 0):\n        out.append(part * 2)\n    return tf.stack(out)",
    "gradients of a list": STEP
    + "    for part in tf.gradients(x, [x, x]):\n        out.append(part * 2)\n    return out",
    "the known number of an array": "import numpy as np\n"
    + STEP
    + "    for number in np.arange(3):\n        out.append(x * number)\n    return tf.stack(out)",
    "unknown parameter": STEP + "    for r in x:\n        out.append(r * 2)\n    return tf.stack(out)",
    "TensorArray": "@tf.function\ndef step(x: tf.Tensor):\n    out = tf.TensorArray(tf.float32, 3)\n    for i in tf.range(3):\n"
    "        out = out.write(i, x * 2)\n    return out.stack()",
    "not used afterwards": STEP + "    for i in tf.range(3):\n        out.append(x * 2)\n    return x",
    "only counted": STEP + "    for i in tf.range(3):\n        out.append(x * 2)\n    return x * len(out)",
    "made in the loop": "@tf.function\ndef step(x: tf.Tensor):\n    for i in tf.range(3):\n        out = []\n        out.append(x)\n        x = tf.stack(out)[0]\n    return x",
    "numbers": STEP + "    for i in tf.range(3):\n        out.append(1)\n    return x * out[0]",
    "tensor from outside the loop": STEP
    + "    y = x * 2\n    for i in tf.range(3):\n        out.append(y)\n    return tf.stack(out)",
    "made again after the loop": STEP
    + "    for i in tf.range(3):\n        out.append(x * 2)\n    out = [x]\n    return tf.stack(out)",
    "own object": "@tf.function\ndef step(x: tf.Tensor):\n    out = Buffer()\n    for i in tf.range(3):\n        out.append(x * 2)\n    return out.stack()",
    "autograph switched off": "@tf.function(autograph=False)\ndef step(x: tf.Tensor):\n    out = []\n    for i in tf.range(3):\n        out.append(x * 2)\n"
    "    return tf.stack(out)",
    "not converted": "@tf.autograph.experimental.do_not_convert\ndef rows(x):\n    out = []\n    for i in tf.range(3):\n        out.append(tf.sin(x))\n"
    "    return tf.stack(out)\n@tf.function\ndef step(x: tf.Tensor):\n    return rows(tf.abs(x))",
    "Keras layer": "class L(keras.layers.Layer):\n    def call(self, x):\n        out = []\n        for i in tf.range(3):\n"
    "            out.append(x * 2)\n        return tf.stack(out)",
    "inside py_function": "def host(x):\n    out = []\n    for i in tf.range(3):\n        out.append(x * 2)\n    return tf.stack(out)\n"
    "@tf.function\ndef step(x: tf.Tensor):\n    return tf.py_function(host, [x], tf.float32)",
    "switched to eager": LEAKS["tf.range"] + "\ntf.config.run_functions_eagerly(True)",
    "if eager": "@tf.function\ndef step(x: tf.Tensor):\n    out = []\n    if tf.executing_eagerly():\n        for i in tf.range(3):\n            out.append(x * 2)\n"
    "    return out",
    "map_structure": STEP + "    tf.nest.map_structure(lambda t: out.append(tf.sin(t)), x)\n    return tf.stack(out)",
    "closure of map_fn that only counts": STEP
    + "    def one(r):\n        out.append(1)\n        return r\n    y = tf.map_fn(one, x)\n    return y",
    "inner Python loop of map_fn": "@tf.function\ndef step(x: tf.Tensor):\n    def one(r):\n        out = []\n        for i in range(3):\n            out.append(r * i)\n"
    "        return tf.stack(out)\n    return tf.map_fn(one, x)",
    "a dictionary": "@tf.function\ndef step(x: tf.Tensor):\n    out = {}\n    for i in tf.range(3):\n        out['a'] = x * 2\n    return out['a']",
}


def _table(cases: dict[str, str]) -> pytest.MarkDecorator:
    return pytest.mark.parametrize("code", cases.values(), ids=cases.keys())


@_table(LEAKS)
def test_a_list_in_a_loop_of_the_graph_is_found(code: str, tmp_path: Path) -> None:
    """Protects recall: loops over tensors and datasets, and functions that TensorFlow's own loops call."""
    assert codes(HEAD + code, tmp_path) == ["TFG107"]


@_table(WORKS)
def test_other_lists_are_silent(code: str, tmp_path: Path) -> None:
    """Protects precision: what Python unrolls, what is not traced, and what uses no list after the loop."""
    assert "TFG107" not in codes(HEAD + code, tmp_path)


def test_a_helper_in_another_file_is_found_there(tmp_path: Path) -> None:
    (tmp_path / "rows.py").write_text(
        "import tensorflow as tf\n\n\ndef rows(x):\n    out = []\n    for i in tf.range(3):\n        out.append(tf.sin(x))\n    return out\n"
    )
    code = "import tensorflow as tf\nfrom rows import rows\n\n\n@tf.function\ndef step(x: tf.Tensor):\n    return rows(tf.abs(x))\n"
    assert found(code, tmp_path) == {("TFG107 rows.py", 7)}


def test_notebook(tmp_path: Path) -> None:
    assert found(notebook("import tensorflow as tf", LEAKS["tf.range"]), tmp_path, "x.ipynb") == {("TFG107", 5)}


def test_what_a_loop_of_the_graph_leaves_in_a_list_cannot_be_used() -> None:
    """Protects the claim, with the installed TensorFlow: it raises, and a `TensorArray` does not."""
    tf = pytest.importorskip("tensorflow")

    @tf.function
    def listed(x):  # type: ignore[no-untyped-def]
        out = []
        for _ in tf.range(3):
            out.append(x * 2)
        return tf.stack(out)

    @tf.function
    def mapped(x):  # type: ignore[no-untyped-def]
        out = []

        def one(row):  # type: ignore[no-untyped-def]
            out.append(tf.sin(row))
            return row

        tf.map_fn(one, x)
        return tf.stack(out)

    @tf.function
    def unrolled(x):  # type: ignore[no-untyped-def]
        out = []
        for _ in range(3):
            out.append(x * 2)
        return tf.stack(out)

    for function in (listed, mapped):
        with pytest.raises((TypeError, ValueError), match="out of scope"):
            function(tf.ones((4,)))
    assert unrolled(tf.ones((4,))).shape == (3, 4)
