"""TFG304: a function that does to a batch what it does to each element, called for each element, and what only looks so."""

from __future__ import annotations

from pathlib import Path

import pytest
from checks import codes, findings, fixed, found, notebook

HEAD = """
import numpy as np
import tensorflow as tf
from tensorflow import keras
import tensorflow_datasets as tfds

model = keras.Sequential([keras.layers.Dense(1)])
images, labels = load()
source = tf.data.Dataset.from_tensor_slices((images, labels))
rows = tf.data.Dataset.from_tensor_slices(images)
DEPTH = 10
SCALE = 255.0
"""

ELEMENT_WISE = {
    "division": "model.fit(rows.map(lambda x: x / 255).batch(32))",
    "cast and one_hot": "def prep(x, y):\n    x = tf.cast(x, tf.float32) / 255.0\n    return x, tf.one_hot(y, DEPTH)\n"
    "model.fit(source.map(prep).shuffle(99).batch(32))",
    "augmented assignment": "def prep(x, y):\n    x = tf.cast(x, tf.float32)\n    x /= SCALE\n    return x, y\n"
    "model.fit(source.map(prep).batch(32))",
    "several statements": "ds = source.map(lambda x, y: (x / 255, y))\nds = ds.shuffle(9).repeat()\nds = ds.take(9999)\n"
    "ds = ds.batch(32)\nmodel.fit(ds)",
    "tuple rebuilt": "model.fit(source.map(lambda x, y: (x, {'out': y})).batch(32))",
    "autoencoder": "model.fit(rows.map(lambda x: (x, x)).batch(32))",
    "in parallel": "model.fit(rows.map(lambda x: x / 255, num_parallel_calls=tf.data.AUTOTUNE).batch(32))",
    "keyword": "model.fit(rows.map(map_func=lambda x: x / 255).batch(batch_size=32))",
    "helper": "def scale(x):\n    return tf.cast(x, tf.float32) / 255\nmodel.fit(source.map(lambda x, y: (scale(x), y)).batch(8))",
    "parameter": "def make(ds, size):\n    return ds.map(lambda x, y: (x / 255, y)).batch(size)\nmodel.fit(make(source, 32))",
    "function as a parameter": "def make(f):\n    return rows.map(f).batch(32)\nmodel.fit(make(lambda x: x * 2))",
    "closure": "def make(scale=127.5):\n    return rows.map(lambda x: x / scale - 1).batch(8)\nmodel.fit(make())",
    "partial": "import functools\ndef prep(x, scale):\n    return x / scale\n"
    "model.fit(rows.map(functools.partial(prep, scale=255.0)).batch(8))",
    "method and attribute": "class Data:\n    def __init__(self):\n        self.scale = 255.0\n"
    "        self.train = rows.map(self.prep).batch(16)\n    def prep(self, x):\n        return x / self.scale\n"
    "data = Data()\nmodel.fit(data.train)",
    "dictionary of datasets": "data = {'train': rows.map(lambda x: x / 255).batch(9)}\nmodel.fit(data['train'])",
    "tfds": "ds = tfds.load('mnist', split='train', as_supervised=True)\n"
    "model.fit(ds.map(lambda x, y: (tf.image.convert_image_dtype(x, tf.float32), y)).batch(32))",
    "items of a dictionary": "def scaled(row):\n    row['pixels'] = tf.cast(row['pixels'], tf.float32) / 255.0\n"
    "    return row\npairs = tfds.load('mnist')['train'].map(scaled).shuffle(99).batch(32)\n"
    "model.fit(pairs.map(lambda row: (row['pixels'], row['label'])))",
    "last axis": "model.fit(rows.map(lambda x: tf.expand_dims(x, -1)).batch(32))",
    "new last axis": "model.fit(rows.map(lambda x: x[..., tf.newaxis]).batch(32))",
    "Keras's preprocessing": "from tensorflow.keras.applications.vgg16 import preprocess_input\n"
    "model.fit(source.map(lambda x, y: (preprocess_input(x), y)).batch(32))",
    "Rescaling": "rescale = keras.layers.Rescaling(1 / 255)\nmodel.fit(source.map(lambda x, y: (rescale(x), y)).batch(32))",
    "joined on the last axis": "def prep(x):\n    mask = tf.cast(x > 0, tf.float32)\n    return tf.concat((x, mask), axis=-1)\n"
    "model.fit(rows.map(prep).batch(32))",
    "joined with what is joined": "model.fit(rows.map(lambda x: tf.concat([tf.concat([x, x], -1), -x], -1)).batch(32))",
    "a value a channel": "def make():\n    mean = tf.reshape((0.49, 0.48, 0.45), shape=(1, 1, 3))\n    std = tf.constant([0.2, 0.2, 0.2], shape=[1, 1, 3])\n"
    "    def prep(x, y):\n        x = tf.cast(x, tf.float32) / 255.\n        x = (x - mean) / std\n        return x, y\n"
    "    return source.map(prep).batch(32)\nmodel.fit(make())",
    "a value a channel, by NumPy": "MEAN = np.array([0.1, 0.2, 0.3]).reshape(1, 1, 3)\nmodel.fit(rows.map(lambda x: x - MEAN).batch(32))",
    "a number a channel of an image": "def prep(x, y):\n    x = tf.image.convert_image_dtype(x, tf.float32)\n    if DEPTH > 3:\n"
    "        mean = tf.constant([0.49, 0.48, 0.45], dtype=tf.float32)\n        std = [0.2, 0.2, 0.2]\n        x = (x - mean) / std\n"
    "    return x, tf.cast(y, tf.float32)\nmodel.fit(source.map(prep).batch(32))",
    "an image on one way only": "def prep(x):\n    if DEPTH > n:\n        x = tf.image.adjust_hue(x, 0.1)\n    return x / 255\n"
    "model.fit(rows.map(prep).batch(32))",
    "threshold": "model.fit(rows.map(lambda x: tf.where(x > 127, 1.0, 0.0)).batch(32))",
    "np.float32": "model.fit(rows.map(lambda x: tf.cast(x, 'float32') / np.float32(255)).batch(32))",
    "a mode known outside": "def prep(x):\n    if DEPTH > 3:\n        x = x / 255\n    return x / 1.0\n"
    "model.fit(rows.map(lambda x: x / 255).batch(32))",
    "branch": "ds = rows.map(lambda x: x / 255)\nif train:\n    ds = ds.shuffle(99).repeat()\nmodel.fit(ds.batch(32))",
    "records of fixed shape": "FEATURES = {'x': tf.io.FixedLenFeature([4], tf.float32), 'y': tf.io.FixedLenFeature([], tf.int64)}\n"
    "def prep(text):\n    row = tf.io.parse_example(text, FEATURES)\n    return row['x'] / 255, row['y']\n"
    "model.fit(tf.data.TFRecordDataset(paths).map(prep).batch(32))",
    "records, whole": "def prep(text):\n    return tf.io.parse_example(text, {'x': tf.io.FixedLenFeature([4], tf.float32)})\n"
    "model.fit(tf.data.TFRecordDataset(paths).map(prep).batch(32))",
    "returned only": "def make():\n    return rows.map(lambda x: x / 255).batch(32)",
    "decorated": "@tf.function\ndef prep(x):\n    return x / 255\nmodel.fit(rows.map(prep).batch(32))",
    "lines of a file": "ds = tf.data.TextLineDataset('f').map(tf.strings.lower)\n"
    "ds = tf.data.TextLineDataset('f').map(lambda s: tf.strings.lower(s)).batch(32)\nmodel.fit(ds)",
    "cache before": "model.fit(rows.cache().map(lambda x: x / 255).batch(32))",
    "list that grows": "found = []\nfor p in paths:\n    found.append(read(p))\n"
    "model.fit(tf.data.Dataset.from_tensor_slices(found).map(lambda x: x / 255).batch(32))",
    "flipped on another way": "def make(ds, flip=True):\n    ds = ds.map(lambda x: x / 255)\n    if flip:\n"
    "        ds = ds.map(lambda x: tf.image.random_flip_left_right(x))\n    return ds\n"
    "model.fit(make(rows, NAME == 'cifar').shuffle(99).batch(32))",
    "after a random crop": "def crop(x):\n    x = tf.image.resize_with_crop_or_pad(x, 36, 36)\n"
    "    return tf.image.random_crop(x, (32, 32, 3))\nmodel.fit(rows.map(crop).map(lambda x: x / 255).batch(32))",
    "joined rows": "pairs = tf.data.Dataset.zip((rows.map(lambda x: x / 255), rows))\n"
    "model.fit(pairs.map(lambda x, y: (x, {'out': y})).batch(32))",
    "two ways, one that flips": "def prep(ds, train):\n    ds = ds.map(lambda x: x / 255)\n    if train:\n"
    "        ds = ds.map(lambda x: tf.image.random_flip_left_right(x))\n    return ds\n"
    "model.fit(prep(rows, True).batch(8), validation_data=prep(rows, False).batch(8))",
    "flipped on another way, with labels": "def flipped(x, y):\n    return tf.image.random_flip_up_down(x), y\n"
    "def make(ds, flip=True):\n    ds = ds.map(lambda x, y: (x / 255, y))\n    if flip:\n        ds = ds.map(flipped)\n"
    "    return ds\nmodel.fit(make(source, NAME == 'cifar').batch(32))",
    "beside a glance": "ds = rows.map(lambda x: x / 255)\nfor x in ds.take(3):\n    print(x)\nmodel.fit(ds.batch(32))",
}
SILENT = {
    "items of a dictionary, others dropped": "ds = tfds.load('mnist')['train'].map(lambda row: {'pixels': row['pixels'] / 255})\n"
    "model.fit(ds.batch(32))",
    "a number in a dictionary": "def weighted(row):\n    row['weight'] = 1.0\n    return row\n"
    "model.fit(tfds.load('mnist')['train'].map(weighted).batch(32))",
    "a sum of an item": "def scaled(row):\n    row['pixels'] = row['pixels'] / tf.reduce_max(row['pixels'])\n    return row\n"
    "model.fit(tfds.load('mnist')['train'].map(scaled).batch(32))",
    "an index of a tensor": "def first(x):\n    x[0] = x[0] / 255\n    return x\nmodel.fit(rows.map(first).batch(32))",
    "numbers that may be a row": "MEAN = tf.constant([0.1, 0.2, 0.3])\nmodel.fit(rows.map(lambda x: x - MEAN).batch(32))",
    "numbers that an element is combined with": "model.fit(rows.map(lambda x: x * [1.0, 2.0]).batch(32))",
    "records of any shape": "def prep(text):\n    row = tf.io.parse_example(text, {'x': tf.io.VarLenFeature(tf.float32)})\n"
    "    return row['x']\nmodel.fit(tf.data.TFRecordDataset(paths).map(prep).batch(32))",
    "single records": "def prep(text):\n    row = tf.io.parse_single_example(text, {'x': tf.io.FixedLenFeature([4], tf.float32)})\n"
    "    return row['x'] / 255\nmodel.fit(tf.data.TFRecordDataset(paths).map(prep).batch(32))",
    "records that are decoded": "def prep(text):\n    row = tf.io.parse_example(text, {'x': tf.io.FixedLenFeature([], tf.string)})\n"
    "    return tf.io.decode_jpeg(row['x'])\nmodel.fit(tf.data.TFRecordDataset(paths).map(prep).batch(32))",
    "features of two shapes together": "def prep(text):\n    row = tf.io.parse_example(text, {'x': tf.io.FixedLenFeature([4], tf.float32), "
    "'y': tf.io.FixedLenFeature([], tf.float32)})\n    return row['x'] * row['y']\n"
    "model.fit(tf.data.TFRecordDataset(paths).map(prep).batch(32))",
    "after a resize": "model.fit(rows.map(lambda x: tf.image.resize_with_pad(x, 36, 36)).map(lambda x: x / 255).batch(32))",
    "decoded in what a zip joins": "sounds = tf.data.Dataset.from_tensor_slices(names).map(lambda n: tf.audio.decode_wav("
    "tf.io.read_file(n))[0])\nmodel.fit(tf.data.Dataset.zip((sounds, rows)).map(lambda x, y: (x, {'out': y})).batch(32))",
    "decoded deep in what a zip joins": "def read(n, y):\n    return tf.io.read_file(n), y\n"
    "both = tf.data.Dataset.zip((source.map(read), tf.data.Dataset.zip((rows, source.map(read)))))\n"
    "model.fit(both.map(lambda x, y: (x, {'out': y})).batch(32))",
    "decode": "model.fit(rows.map(lambda x: tf.io.decode_jpeg(x) / 255).batch(32))",
    "parse": "model.fit(rows.map(lambda x: tf.io.parse_single_example(x, SPEC)).batch(32))",
    "random draw": "model.fit(source.map(lambda x, y: (tf.image.random_flip_left_right(x), y)).batch(32))",
    "random noise": "model.fit(rows.map(lambda x: x + tf.random.normal([])).batch(32))",
    "draw as a setting": "rng = tf.random.Generator.from_seed(1)\n"
    "model.fit(rows.map(lambda x: tf.image.adjust_hue(x, rng.uniform([]))).batch(32))",
    "flipped on every way": "model.fit(rows.map(lambda x: x / 255).map(tf.image.random_flip_left_right).batch(32))",
    "cropped on another way": "def make(ds, crop=True):\n    ds = ds.map(lambda x: x / 255)\n    if crop:\n"
    "        ds = ds.map(lambda x: tf.image.random_crop(x, [8, 8, 3]))\n    return ds\n"
    "model.fit(make(rows, NAME == 'cifar').batch(32))",
    "an axis for the flip on another way": "def make(ds, flip=True):\n    ds = ds.map(lambda x: x[..., tf.newaxis])\n    if flip:\n"
    "        ds = ds.map(tf.image.random_flip_left_right)\n    return ds\nmodel.fit(make(rows, NAME == 'cifar').batch(32))",
    "Python": "model.fit(rows.map(lambda x: tf.numpy_function(f, [x], tf.float32)).batch(32))",
    "reshape with -1 first": "model.fit(rows.map(lambda x: tf.reshape(x, [-1, 784])).batch(32))",
    "reshape": "model.fit(rows.map(lambda x: tf.reshape(x, (28, 28, 1))).batch(32))",
    "shape": "model.fit(rows.map(lambda x: x / tf.cast(tf.shape(x)[0], tf.float32)).batch(32))",
    "static shape": "model.fit(rows.map(lambda x: x / x.shape[0]).batch(32))",
    "index": "model.fit(rows.map(lambda x: x[0]).batch(32))",
    "index by rank": "model.fit(rows.map(lambda x: x[:, :, 0]).batch(32))",
    "channels cut": "model.fit(rows.map(lambda x: x[..., :3]).batch(32))",
    "resize": "model.fit(rows.map(lambda x: tf.image.resize(x, (32, 32))).batch(32))",
    "unknown function": "from elsewhere import prep\nmodel.fit(rows.map(prep).batch(32))",
    "unknown call inside": "from elsewhere import prep\nmodel.fit(rows.map(lambda x: prep(x) / 255).batch(32))",
    "drops a component": "model.fit(source.map(lambda x, y: x / 255).batch(32))",
    "one key of many": "model.fit(rows.map(lambda d: d['image'] / 255).batch(32))",
    "two shapes": "model.fit(source.map(lambda x, y: (x * y, y)).batch(32))",
    "two ranks": "model.fit(rows.map(lambda x: x * tf.expand_dims(x, -1)).batch(32))",
    "joined on the first axis": "model.fit(rows.map(lambda x: tf.concat([x, x], 0)).batch(32))",
    "joined on the last but one": "model.fit(rows.map(lambda x: tf.concat([x, x], axis=-2)).batch(32))",
    "joined with a number": "ONE = tf.ones([1])\nmodel.fit(rows.map(lambda x: tf.concat([x, ONE], -1)).batch(32))",
    "joined with another component": "model.fit(source.map(lambda x, y: (tf.concat([x, y], -1), y)).batch(32))",
    "a value a row": "MEAN = tf.reshape(means, (28, 1, 1))\nmodel.fit(rows.map(lambda x: x - MEAN).batch(32))",
    "a table": "MEAN = np.zeros((28, 28)).reshape(28, 28)\nmodel.fit(rows.map(lambda x: x - MEAN).batch(32))",
    "a shape not known": "MEAN = tf.reshape(means, shape)\nmodel.fit(rows.map(lambda x: x - MEAN).batch(32))",
    "reshaped in the function": "model.fit(rows.map(lambda x: x - tf.reshape(tf.reduce_mean(x, [0, 1]), (1, 1, 3))).batch(32))",
    "vector": "MEAN = np.array([0.1, 0.2, 0.3])\nmodel.fit(rows.map(lambda x: x - MEAN).batch(32))",
    "reduction": "model.fit(rows.map(lambda x: x / tf.reduce_max(x)).batch(32))",
    "constant component": "model.fit(rows.map(lambda x: (x, 0)).batch(32))",
    "list": "model.fit(rows.map(lambda x: [x, x]).batch(32))",
    "condition on the element": "def prep(x):\n    if x > 0:\n        return x / 2\n    return x / 3\nmodel.fit(rows.map(prep).batch(2))",
    "conditional expression": "model.fit(rows.map(lambda x: x / 2 if x > 0 else x / 3).batch(32))",
    "print": "def prep(x):\n    tf.print(x)\n    return x / 255\nmodel.fit(rows.map(prep).batch(32))",
    "assertion": "def prep(x):\n    assert x.shape[0] == 3\n    return x / 255\nmodel.fit(rows.map(prep).batch(32))",
    "set_shape": "def prep(x):\n    x.set_shape([28, 28])\n    return x / 255\nmodel.fit(rows.map(prep).batch(32))",
    "axis from the left": "model.fit(rows.map(lambda x: tf.expand_dims(x, 0)).batch(32))",
    "where with one argument": "model.fit(rows.map(lambda x: tf.where(x)).batch(32))",
    "number with a shape": "model.fit(rows.map(lambda x: x + tf.constant(1.0, shape=(3, 3))).batch(32))",
    "matrix product": "model.fit(rows.map(lambda x: x @ x).batch(32))",
    "batch(1)": "model.fit(rows.map(lambda x: x / 255).batch(1))",
    "after batch": "model.fit(rows.batch(32).map(lambda x: x / 255))",
    "batches of batches": "model.fit(rows.batch(8).map(lambda x: x / 255).batch(4))",
    "padded": "model.fit(rows.map(lambda x: x - 1).padded_batch(32))",
    "cache between": "model.fit(rows.map(lambda x: x / 255).cache().batch(32))",
    "cache and shuffle between": "model.fit(rows.map(lambda x: x / 255).cache().shuffle(99).batch(32))",
    "filter between": "model.fit(rows.map(lambda x: x / 255).filter(f).batch(32))",
    "random map between": "model.fit(rows.map(lambda x: x / 255).map(tf.image.random_flip_up_down).batch(32))",
    "map of another dataset": "other = rows.map(lambda x: x / 255)\nmodel.fit(rows.batch(32))\nsave(other)",
    "after decoding": "def load(p):\n    return tf.io.decode_png(tf.io.read_file(p))\n"
    "model.fit(tf.data.Dataset.list_files('*').map(load).map(lambda x: x / 255).batch(32))",
    "after a function not known": "from elsewhere import load\nmodel.fit(rows.map(load).map(lambda x: x / 255).batch(32))",
    "loader of batches": "ds = keras.utils.image_dataset_from_directory('d')\n"
    "model.fit(ds.map(lambda x, y: (x / 255, y)).batch(2))",
    "tfds in batches": "ds = tfds.load('x', split='train', batch_size=64)\nmodel.fit(ds.map(lambda x: x / 255).batch(2))",
    "generator": "ds = tf.data.Dataset.from_generator(g, output_types=tf.float32)\nmodel.fit(ds.map(lambda x: x / 255).batch(2))",
    "three elements": "for x in tf.data.Dataset.from_tensor_slices([1, 2, 3]).map(lambda x: x / 2).batch(2):\n    print(x)",
    "a short range": "for x in tf.data.Dataset.range(10).map(lambda x: x * 2).batch(4):\n    print(x)",
    "a few batches": "ds = rows.map(lambda x: x / 255).batch(32)\nfor x in ds.take(5):\n    print(x)",
    "windows": "model.fit(rows.window(5).map(lambda w: (w, w)).batch(2))",
    "read unbatched too": "ds = rows.map(lambda x: x / 255)\nfor x in ds:\n    use(x)\nmodel.fit(ds.batch(32))",
    "two ways, one random": "def prep(ds, train):\n    ds = ds.map(lambda x: x / 255)\n    if train:\n"
    "        ds = ds.map(lambda x: tf.image.random_crop(x, [8, 8, 3]))\n    return ds\n"
    "model.fit(prep(rows, True).batch(8), validation_data=prep(rows, False).batch(8))",
    "not a dataset": "import pandas as pd\npd.Series(labels).map(lambda x: x / 255).batch(32)",
    "default that is an array": "def prep(x, mean=np.zeros(3)):\n    return x - mean\nmodel.fit(rows.map(prep).batch(8))",
    "in a loop of the function": "def prep(x):\n    for _ in range(3):\n        x = x / 2\n    return x\nmodel.fit(rows.map(prep).batch(8))",
    "unknown decorator": "from elsewhere import wrap\n@wrap\ndef prep(x):\n    return x / 255\nmodel.fit(rows.map(prep).batch(8))",
}


def _table(cases: dict[str, str]) -> pytest.MarkDecorator:
    return pytest.mark.parametrize("code", cases.values(), ids=cases.keys())


@_table(ELEMENT_WISE)
def test_a_function_that_works_on_batches_is_found(code: str, tmp_path: Path) -> None:
    """Protects recall along the ways from a map to the batch."""
    assert codes(HEAD + code, tmp_path).count("TFG304") == 1


@_table(SILENT)
def test_what_only_looks_like_it_is_silent(code: str, tmp_path: Path) -> None:
    """Protects precision: what would compute something else, fail, or gain nothing after `batch`."""
    assert "TFG304" not in codes(HEAD + code, tmp_path)


def test_function_of_another_file(tmp_path: Path) -> None:
    """Protects the way into another file of the project, for the function and for the pipeline."""
    (tmp_path / "data.py").write_text(
        "import tensorflow as tf\n\n\ndef scale(x, y):\n    return tf.cast(x, tf.float32) / 255, y\n\n\n"
        "def load(x, y):\n    return tf.data.Dataset.from_tensor_slices((x, y)).map(scale)\n"
    )
    code = "import tensorflow as tf\nfrom data import load, scale\n"
    assert found(code + "ds = tf.data.Dataset.from_tensor_slices(z()).map(scale).batch(9)\n", tmp_path) == {
        ("TFG304", 3)
    }
    assert found(code + "for x, y in load(a, b).batch(32):\n    print(x)\n", tmp_path) == {("TFG304 data.py", 9)}


def test_notebook(tmp_path: Path) -> None:
    """Protects notebooks, where each step stands in a cell of its own."""
    sources = [
        "import tensorflow as tf\nds = tf.data.Dataset.from_tensor_slices(load())",
        "ds = ds.map(lambda x: x / 255)",
        "ds = ds.batch(32)",
    ]
    assert {code for code, _ in found(notebook(*sources), tmp_path, "x.ipynb")} == {"TFG304"}


def test_fix_moves_the_map(tmp_path: Path) -> None:
    """Protects the text of the fix, with the line breaks of a chain."""
    before = (
        HEAD + "ds = (\n    rows\n    .map(lambda x: x / 255)\n    .shuffle(9)\n    .batch(32)\n    .prefetch(1)\n)\n"
    )
    after = (
        HEAD + "ds = (\n    rows\n    .shuffle(9)\n    .batch(32)\n    .map(lambda x: x / 255)\n    .prefetch(1)\n)\n"
    )
    assert fixed(before, tmp_path, "TFG304") == after
    assert fixed(after, tmp_path, "TFG304") == after


def test_the_fix_over_statements(tmp_path: Path) -> None:
    """Protects code that reads the dataset between the two statements, or in which the function is another one then."""
    code = HEAD + "ds = rows.map(lambda x: x / 255)\nds = ds.batch(32)\n"
    after = HEAD + "ds = rows\nds = ds.batch(32).map(lambda x: x / 255)\n"
    assert fixed(code, tmp_path, "TFG304") == after
    for between in ("print(next(iter(ds)))", "other = ds.take(3)", "half = ds", "scale = 9"):
        code = HEAD + f"scale = 2\nds = rows.map(lambda x: x / scale)\n{between}\nds = ds.batch(32)\n"
        assert fixed(code, tmp_path, "TFG304") == code
    code = HEAD + "ds = rows.map(lambda x: x / 255)\nbatches = ds.batch(32)\nprint(ds)\n"
    assert fixed(code, tmp_path, "TFG304") == code


def test_two_maps_are_one_finding(tmp_path: Path) -> None:
    """Protects against two findings for one order: the one before is named in a note."""
    code = HEAD + "ds = rows.map(lambda x: x / 255).map(lambda x: x * 2).batch(32)\n"
    ((_, finding),) = [(r, f) for r, f in findings(code, tmp_path) if r.code == "TFG304"]
    assert [note.message for note in finding.notes] == [
        "the elements are batched here",
        "this function works on whole batches too",
    ]
    mended = fixed(code, tmp_path, "TFG304")
    assert ".map(lambda x: x / 255).batch(32).map(lambda x: x * 2)" in mended
    assert ".batch(32).map(lambda x: x / 255).map(lambda x: x * 2)" in fixed(mended, tmp_path, "TFG304")


def test_cache_after_the_batch_is_named(tmp_path: Path) -> None:
    """Protects the claim: with a cache after it, only the first epoch is slower."""
    ((_, finding),) = [
        (r, f)
        for r, f in findings(HEAD + "ds = rows.map(lambda x: x / 255).batch(32).cache()", tmp_path)
        if r.code == "TFG304"
    ]
    assert "first epoch" in finding.message
    assert finding.prediction.applies == ("first epoch",)
    assert finding.notes[-1].message == "later epochs read from here"


@pytest.mark.slow
def test_batches_are_the_same_either_way() -> None:
    """Protects the claim itself, with the installed TensorFlow: each kind of operation gives the same batches."""
    tf = pytest.importorskip("tensorflow")
    images = tf.reshape(tf.range(5 * 4 * 4 * 3) % 256, (5, 4, 4, 3))
    rescale = tf.keras.layers.Rescaling(1 / 255)
    functions = [
        lambda x, y: (tf.cast(x, tf.float32) / 255, tf.one_hot(y, 10)),
        lambda x, y: (tf.image.convert_image_dtype(tf.cast(x, tf.uint8), tf.float32), y),
        lambda x, y: (tf.image.rgb_to_grayscale(tf.cast(x, tf.float32)), y),
        lambda x, y: (tf.image.per_image_standardization(tf.cast(x, tf.float32)), y),
        lambda x, y: (tf.image.adjust_contrast(tf.cast(x, tf.float32), 2.0), y),
        lambda x, y: (tf.image.adjust_saturation(tf.cast(x, tf.float32) / 255, 0.5), y),
        lambda x, y: (x[..., tf.newaxis], tf.expand_dims(y, -1)),
        lambda x, y: (rescale(x), y),
        lambda x, y: (tf.where(x > 9, 1.0, 0.0), {"label": y}),
        lambda x, y: (tf.keras.applications.vgg16.preprocess_input(tf.cast(x, tf.float32)), y),
        lambda x, y: (tf.keras.applications.mobilenet_v2.preprocess_input(tf.cast(x, tf.float32)), y),
    ]
    dataset = tf.data.Dataset.from_tensor_slices((images, tf.range(5)))
    for function in functions:
        one_by_one = tf.nest.flatten(list(dataset.map(function).batch(3)))
        at_once = tf.nest.flatten(list(dataset.batch(3).map(function)))
        for first, second in zip(one_by_one, at_once, strict=True):
            assert first.shape == second.shape
            tf.debugging.assert_near(tf.cast(first, tf.float32), tf.cast(second, tf.float32), atol=1e-4)


def test_joined_and_broadcast_values_are_those_of_each_element() -> None:
    """With the installed TensorFlow: joined on the last axis, and with a value a channel."""
    import tensorflow as tf

    images = tf.random.stateless_uniform((5, 4, 4, 3), seed=(1, 2))
    mean = tf.reshape((0.4, 0.5, 0.6), (1, 1, 3))
    for function in (lambda x: tf.concat([x, -x], -1), lambda x: x - mean):
        tf.debugging.assert_equal(function(images), tf.stack([function(image) for image in images]))
