"""TFG303: maps that tf.data leaves on one core although they have work for several, and those that it does not."""

from __future__ import annotations

from pathlib import Path

import pytest
from checks import codes, findings, fixed, found, notebook

from tflint_gpu.targets import Target

HEAD = """
import cv2
import numpy as np
import tensorflow as tf
from tensorflow import keras
import tensorflow_datasets as tfds

model = keras.Sequential([keras.layers.Dense(1)])
images, labels = load()
source = tf.data.Dataset.from_tensor_slices((images, labels))
rows = tf.data.Dataset.from_tensor_slices(images)
table = tf.lookup.StaticHashTable(tf.lookup.KeyValueTensorInitializer(["a"], [1]), -1)
def flip(x):
    return tf.image.random_flip_left_right(x)
def read(path):
    return tf.io.decode_jpeg(tf.io.read_file(path))
"""
OLD = Target(tensorflow=(2, 3), keras=2, source="settings")

SEQUENTIAL = {
    "random flip": "model.fit(rows.map(flip).batch(32))",
    "random draw beside resizing": "model.fit(rows.map(lambda x: tf.image.resize(x, (9, 9)) + tf.random.normal([])).batch(32))",
    "several statements": "def prep(x, y):\n    x = tf.image.random_crop(x, (24, 24, 3))\n    return x, y\n"
    "ds = source.map(prep)\nds = ds.shuffle(99)\nds = ds.batch(32)\nmodel.fit(ds)",
    "parameter": "def make(ds, f):\n    return ds.map(f).batch(8)\nmodel.fit(make(rows, flip))",
    "flag that is on": "def prep(x, training):\n    if training:\n        x = tf.image.random_flip_up_down(x)\n    return x\n"
    "model.fit(rows.map(lambda x: prep(x, True)).batch(8))",
    "flag not known": "def prep(x):\n    if FLAGS.flip:\n        x = tf.image.random_flip_up_down(x)\n    return x\n"
    "model.fit(rows.map(prep).batch(8))",
    "method": "class Data:\n    def prep(self, x):\n        return tf.image.random_brightness(x, 0.1)\n"
    "    def train(self):\n        return rows.map(self.prep).batch(16)\nmodel.fit(Data().train())",
    "attribute": "class Data:\n    def __init__(self):\n        self.train = rows.map(flip).batch(16)\n"
    "data = Data()\nmodel.fit(data.train)",
    "Keras's random layer": "rotate = keras.layers.RandomRotation(0.1)\n"
    "model.fit(source.map(lambda x, y: (rotate(x, training=True), y)).batch(8))",
    "Sequential of random layers": "augment = keras.Sequential([keras.layers.RandomFlip(), keras.layers.RandomZoom(0.1)])\n"
    "model.fit(source.map(lambda x, y: (augment(x, training=True), y)).batch(8))",
    "table beside decoding": "def prep(p):\n    return read(p), table.lookup(p)\nmodel.fit(rows.map(prep).batch(8))",
    "text that a layer looks up": "vectorize = keras.layers.TextVectorization()\nvectorize.adapt(texts)\n"
    "def shifted(text):\n    ids = vectorize(tf.expand_dims(text, -1))\n    return ids[:, :-1], ids[:, 1:]\n"
    "model.fit(tf.data.Dataset.from_tensor_slices(texts).batch(32).map(shifted))",
    "generator of a key and a counter": "rng = tf.random.Generator.from_key_counter(key=1, counter=0, alg='philox')\n"
    "model.fit(rows.map(lambda x: tf.image.adjust_hue(x, rng.uniform([])) ).batch(8))",
    "generator object": "rng = tf.random.Generator.from_seed(1)\n"
    "model.fit(rows.map(lambda x: tf.image.adjust_hue(x, rng.uniform([])) ).batch(8))",
    "OpenCV in a function that the function calls": "def picture(p):\n    return cv2.imread(p.decode()) / 255\n"
    "def pair(p):\n    def both(p):\n        return picture(p), picture(p)\n"
    "    return tf.numpy_function(both, [p], [tf.float64, tf.float64])\nmodel.fit(rows.map(pair).batch(8))",
    "OpenCV": "def load(p):\n    return cv2.imread(p.decode())\n"
    "model.fit(rows.map(lambda p: tf.numpy_function(load, [p], tf.uint8)).batch(8))",
    "after the batch": "model.fit(rows.batch(32).map(flip))",
    "training loop": "optimizer = keras.optimizers.SGD()\nfor x in rows.map(flip):\n    with tf.GradientTape() as tape:\n"
    "        loss = tf.reduce_sum(model(x))\n    optimizer.apply_gradients(zip(tape.gradient(loss, model.weights), model.weights))",
    "returned only": "def make():\n    return rows.map(flip).batch(8).prefetch(1)",
    "dictionary of datasets": "ds = tfds.load('cifar10', as_supervised=True)\n"
    "ds['train'] = ds['train'].map(lambda x, y: (flip(x), y)).batch(8)",
    "switched off on another way": "def make(ds, training):\n"
    "    def prep(x):\n        return tf.image.random_flip_up_down(x) if training else x\n    return ds.map(prep).batch(8)\n"
    "model.fit(make(rows, False))\nmodel.fit(make(rows, True))",
}
SILENT = {
    "numpy.load, which threads do not help": "def load(p):\n    return np.load(p.numpy())\n"
    "model.fit(rows.map(lambda p: tf.py_function(load, [p], tf.float32)).batch(8))",
    "parallel": "model.fit(rows.map(flip, num_parallel_calls=tf.data.AUTOTUNE).batch(32))",
    "parallel by position": "model.fit(rows.map(flip, 4).batch(32))",
    "one, on purpose": "model.fit(rows.map(flip, num_parallel_calls=1).batch(32))",
    "keywords from elsewhere": "model.fit(rows.map(flip, **OPTIONS).batch(32))",
    "decode only": "model.fit(rows.map(read).batch(32))",
    "parse": "model.fit(rows.map(lambda x: tf.io.parse_single_example(x, SPEC)).batch(32))",
    "re-structuring": "model.fit(rows.map(lambda d: (d['x'], d['y'])).batch(32))",
    "stateless random": "model.fit(rows.map(lambda x: tf.image.stateless_random_flip_left_right(x, (1, 2))).batch(32))",
    "stateless draw": "model.fit(rows.map(lambda x: tf.image.resize(x, (9, 9)) + tf.random.stateless_normal([], (1, 2))).batch(2))",
    "assertion": "def prep(x):\n    tf.debugging.assert_less(x, 3.0)\n    return tf.image.resize(x, (9, 9))\n"
    "model.fit(rows.map(prep).batch(32))",
    "too little work": "model.fit(rows.map(lambda x: x + tf.random.normal([])).batch(32))",
    "a lookup alone": "model.fit(rows.map(lambda x: table.lookup(x)).batch(32))",
    "flag that is off": "def prep(x, training):\n    if training:\n        x = tf.image.random_flip_up_down(x)\n    return x\n"
    "model.fit(rows.map(lambda x: prep(x, False)).batch(8))",
    "flag off by partial": "import functools\ndef prep(x, training):\n    if training:\n        x = tf.image.random_flip_up_down(x)\n"
    "    return x\nmodel.fit(rows.map(functools.partial(prep, training=False)).batch(8))",
    "flag off by default": "def prep(x, training=False):\n    if training:\n        x = tf.image.random_flip_up_down(x)\n    return x\n"
    "model.fit(rows.map(prep).batch(8))",
    "random layer for inference": "rotate = keras.layers.RandomRotation(0.1)\n"
    "model.fit(source.map(lambda x, y: (rotate(x, training=False), y)).batch(8))",
    "layer without randomness": "resize = keras.layers.Resizing(9, 9)\nmodel.fit(source.map(lambda x, y: (resize(x), y)).batch(8))",
    "Python under the lock": "def tokens(t):\n    return [len(w) for w in t.numpy().split()]\n"
    "model.fit(rows.map(lambda t: tf.py_function(tokens, [t], tf.int32)).batch(8))",
    "Python that asks TensorFlow for text": "def tokens(t):\n    return encode(tf.compat.as_text(t.numpy()))\n"
    "model.fit(rows.map(lambda t: tf.py_function(tokens, [t], tf.int32)).batch(8))",
    "Python function not known": "from elsewhere import load\n"
    "model.fit(rows.map(lambda t: tf.py_function(load, [t], tf.int32)).batch(8))",
    "Python said to be stateless": "def load(p):\n    return cv2.imread(p.decode())\n"
    "model.fit(rows.map(lambda p: tf.numpy_function(load, [p], tf.uint8, stateful=False)).batch(8))",
    "unknown function": "from elsewhere import prep\nmodel.fit(rows.map(prep).batch(8))",
    "cached": "model.fit(rows.map(flip).cache().batch(8))",
    "three elements": "for x in tf.data.Dataset.from_tensor_slices([1, 2, 3]).map(flip).batch(2):\n    print(x)",
    "looked at": "for x in rows.map(flip).batch(2):\n    show(x)",
    "a few batches": "ds = rows.map(flip).batch(2)\nfor x in ds.take(4):\n    show(x)",
    "NumPy's randomness": "model.fit(rows.map(lambda x: tf.image.resize(x, (9, 9)) + np.random.normal()).batch(2))",
    "flat_map": "model.fit(tf.data.Dataset.list_files('*').flat_map(tf.data.TFRecordDataset).batch(8))",
    "files in turns": "files = tf.data.Dataset.list_files(PATTERN)\n"
    "model.fit(files.interleave(tf.data.TFRecordDataset, cycle_length=8).map(parse).batch(8))",
    "files in turns, lambda": "files = tf.data.Dataset.list_files(PATTERN)\n"
    "model.fit(files.interleave(lambda f: tf.data.TextLineDataset(f).skip(1), cycle_length=8).batch(8))",
    "interleave of one": "model.fit(tf.data.Dataset.list_files('*').interleave(tf.data.TFRecordDataset, cycle_length=1).batch(8))",
    "interleave by default": "model.fit(tf.data.Dataset.list_files('*').interleave(tf.data.TFRecordDataset).batch(8))",
    "interleave in parallel": "model.fit(tf.data.Dataset.list_files('*').interleave(tf.data.TFRecordDataset, cycle_length=8, "
    "num_parallel_calls=tf.data.AUTOTUNE).batch(8))",
    "interleave of what is in memory": "model.fit(rows.interleave(lambda x: tf.data.Dataset.from_tensors(x), cycle_length=8).batch(8))",
    "not a dataset": "import pandas as pd\npd.Series(labels).map(flip)",
}


def _table(cases: dict[str, str]) -> pytest.MarkDecorator:
    return pytest.mark.parametrize("code", cases.values(), ids=cases.keys())


@_table(SEQUENTIAL)
def test_work_on_one_core_is_found(code: str, tmp_path: Path) -> None:
    """Protects recall along the ways from a map to training."""
    assert codes(HEAD + code, tmp_path).count("TFG303") == 1


@_table(SILENT)
def test_what_runs_in_parallel_or_need_not_is_silent(code: str, tmp_path: Path) -> None:
    """Protects precision: what tf.data makes parallel by itself, what is cheap, and what nobody trains on."""
    assert "TFG303" not in codes(HEAD + code, tmp_path)


def test_one_finding_a_map(tmp_path: Path) -> None:
    """Protects against two findings at one map: where batches do, the order is what must change."""
    assert codes(
        HEAD + "model.fit(rows.map(lambda x: tf.image.adjust_gamma(x, 2.0)).batch(8))", tmp_path, target=OLD
    ) == ["TFG304"]


def test_versions(tmp_path: Path) -> None:
    """Protects the claim by version: up to 2.4 no map was parallel by itself, from 2.6 on those without state are."""
    for minor, said in ((3, ["TFG303"]), (4, ["TFG303"]), (5, []), (6, []), (21, [])):
        target = Target(tensorflow=(2, minor), keras=2, source="settings")
        assert codes(HEAD + "model.fit(rows.map(read).batch(8))", tmp_path, target=target) == said
    light = "model.fit(rows.map(lambda x: tf.reshape(x, (4, 4))).batch(8))"
    assert codes(HEAD + light, tmp_path, target=OLD) == []


def test_the_fix_is_spelled_as_the_version_has_it(tmp_path: Path) -> None:
    ((_, finding),) = [
        (r, f)
        for r, f in findings(HEAD + "model.fit(rows.map(flip).batch(8))", tmp_path, target=OLD)
        if r.code == "TFG303"
    ]
    assert "TensorFlow 2.3" in finding.message
    assert finding.fix is not None
    assert finding.fix.edits[0].text == ", num_parallel_calls=tf.data.experimental.AUTOTUNE"


def test_another_file(tmp_path: Path) -> None:
    """Protects the way into another file, for the function and for the pipeline; the note names the draw."""
    (tmp_path / "data.py").write_text(
        "import tensorflow as tf\n\n\ndef augment(x):\n    return tf.image.random_flip_left_right(x)\n\n\n"
        "def load(x):\n    return tf.data.Dataset.from_tensor_slices(x).map(augment)\n"
    )
    code = "import tensorflow as tf\nfrom data import augment, load\n"
    ds = "ds = tf.data.Dataset.from_tensor_slices(z()).map(augment).batch(9)\n"
    assert found(code + ds, tmp_path) == {("TFG303", 3)}
    assert found(code + "ds = load(a).batch(32)\n", tmp_path) == {("TFG303 data.py", 9)}
    ((_, finding),) = [(r, f) for r, f in findings(code + ds, tmp_path) if r.code == "TFG303"]
    assert [(note.file.source.path.name, note.message) for note in finding.notes] == [
        ("data.py", "this draws random numbers")
    ]


def test_notebook(tmp_path: Path) -> None:
    """Protects notebooks, where each step stands in a cell of its own."""
    sources = [
        "import tensorflow as tf\nds = tf.data.Dataset.from_tensor_slices(load())",
        "ds = ds.map(lambda x: tf.image.random_crop(x, (9, 9, 3)))",
        "ds = ds.batch(32)",
    ]
    assert {code for code, _ in found(notebook(*sources), tmp_path, "x.ipynb")} == {"TFG303"}


def test_fix(tmp_path: Path) -> None:
    """Protects the text of the fix, with a comma at the end of the arguments."""
    before = HEAD + "ds = rows.map(\n    flip,\n).batch(8)\n"
    assert fixed(before, tmp_path, "TFG303") == before.replace(
        "    flip,", "    flip, num_parallel_calls=tf.data.AUTOTUNE,"
    )


@pytest.mark.slow
def test_tf_data_makes_parallel_what_has_no_state() -> None:
    """Protects the claim itself: the installed tf.data's optimizer puts `ParallelMap` for these functions and no others."""
    tf = pytest.importorskip("tensorflow")
    testing = pytest.importorskip("tensorflow.python.data.experimental.ops.testing")
    image = tf.ones((9, 9, 3))
    table = tf.lookup.StaticHashTable(tf.lookup.KeyValueTensorInitializer([0], [0]), -1)
    rotate = tf.keras.layers.RandomRotation(0.1)
    generator = tf.random.Generator.from_seed(1)
    vectorize = tf.keras.layers.TextVectorization(vocabulary=["0"])
    words, numbers = tf.keras.layers.StringLookup(vocabulary=["0"]), tf.keras.layers.IntegerLookup(vocabulary=[0])
    stateless = [
        lambda x: tf.image.resize(image, (4, 4)),
        lambda x: tf.image.stateless_random_flip_left_right(image, (1, 2)),
        lambda x: tf.random.stateless_normal([], (1, 2)),
        lambda x: tf.io.read_file(__file__),
        lambda x: (tf.debugging.assert_less(x, tf.int64.max), x)[1],
        lambda x: rotate(image, training=False),
        lambda x: tf.numpy_function(lambda y: y, [x], tf.int64, stateful=False),
    ]
    stateful = [
        lambda x: tf.image.random_flip_left_right(image),
        lambda x: tf.image.random_crop(image, (4, 4, 3)),
        lambda x: tf.random.normal([]),
        lambda x: rotate(image, training=True),
        lambda x: generator.uniform([]),
        lambda x: table.lookup(tf.cast(x, tf.int32)),
        lambda x: vectorize(tf.strings.as_string(x)),
        lambda x: words(tf.strings.as_string(x)),
        lambda x: numbers(x),
        lambda x: tf.numpy_function(lambda y: y, [x], tf.int64),
        lambda x: tf.py_function(lambda y: y, [x], tf.int64),
    ]
    for kind, functions in (("ParallelMap", stateless), ("Map", stateful)):
        for function in functions:
            list(tf.data.Dataset.range(2).apply(testing.assert_next([kind])).map(function))
    turns = tf.data.Dataset.range(2).apply(testing.assert_next(["Interleave"]))
    list(turns.interleave(lambda x: tf.data.Dataset.range(3), cycle_length=2))
