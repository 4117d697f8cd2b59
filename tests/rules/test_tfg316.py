"""TFG316: a dataset of single samples given to `fit` is found, and everything whose elements may be batches is not."""

from __future__ import annotations

from pathlib import Path

import pytest
from checks import codes, findings, found, notebook

HEAD = """
import numpy as np
import pandas as pd
import tensorflow as tf
import tensorflow_datasets as tfds
model = tf.keras.Sequential([tf.keras.layers.Dense(1)])
(x, y), (x_test, y_test) = tf.keras.datasets.mnist.load_data()
slices = tf.data.Dataset.from_tensor_slices
"""
READ = """
def read(path, label):
    image = tf.io.decode_jpeg(tf.io.read_file(path), channels=3)
    return tf.image.resize(image, [224, 224]) / 255.0, label
"""
FOUND = {
    "zipped": "model.fit(tf.data.Dataset.zip(slices(x), slices(y)).shuffle(9))",
    "zipped by the name of a pair": "pair = (slices(x), {'y': slices(y)})\nmodel.fit(tf.data.Dataset.zip(pair))",
    "a loader told not to batch": "model.fit(tf.keras.utils.image_dataset_from_directory('d', batch_size=None).cache())",
    "one of two instances": "class Rows:\n    def __init__(self, train):\n        self.train = train\n    def get(self):\n"
    "        return slices((x, y)) if self.train else slices((x, y)).batch(8)\n"
    "learn, check = Rows(train=True), Rows(train=False)\nmodel.fit(learn.get(), validation_data=check.get())",
    "files that a map reads": READ + "model.fit(slices((files, labels)).shuffle(9).map(read))",
    "pictures that a map decodes": "model.fit(slices(given).map(lambda a: tf.io.decode_png(a)))",
    "records with their shapes": "def parse(r):\n    f = tf.io.parse_single_example(r, {'y': tf.io.FixedLenFeature([], tf.int64)})\n"
    "    return f['y'], f['y']\nmodel.fit(tf.data.TFRecordDataset('f').map(parse))",
    "plain": "model.fit(tf.data.Dataset.from_tensor_slices((x, y)))",
    "operations": "ds = tf.data.Dataset.from_tensor_slices((x, y)).shuffle(99).repeat().prefetch(1)\nmodel.fit(ds, steps_per_epoch=9)",
    "scaled arrays": "x = x.astype('float32') / 255\nmodel.fit(tf.data.Dataset.from_tensor_slices((x[..., None], y)))",
    "mapped": "ds = tf.data.Dataset.from_tensor_slices((x, y))\n"
    "model.fit(ds.map(lambda a, b: (tf.cast(a, tf.float32) / 255.0, tf.one_hot(b, 10))))",
    "mapped by a function": "def scale(a, b):\n    a = tf.cast(a, tf.float32)\n    return a / 255.0, b\n"
    "model.fit(tf.data.Dataset.from_tensor_slices((x, y)).map(scale, num_parallel_calls=tf.data.AUTOTUNE))",
    "table": "df = pd.read_csv('f')\nmodel.fit(tf.data.Dataset.from_tensor_slices((df[['a', 'b']].values, df['y'].values)))",
    "split": "model.fit(tfds.load('mnist', split='train', as_supervised=True).shuffle(99))",
    "records": "def parse(r):\n    f = tf.io.parse_single_example(r, {'x': spec})\n    return f['x'], f['y']\n"
    "model.fit(tf.data.TFRecordDataset('f').map(parse))",
    "random rows": "model.fit(tf.data.Dataset.from_tensor_slices((np.random.rand(70, 4), np.zeros((70, 1)))))",
    "parameter": "def train(ds):\n    model.fit(ds, epochs=3)\ntrain(tf.data.Dataset.from_tensor_slices((x, y)))",
    "attribute": "class T:\n    def __init__(self):\n        self.ds = tf.data.Dataset.from_tensor_slices((x, y))\n"
    "    def run(self):\n        model.fit(self.ds)",
    "function": "def load():\n    return tf.data.Dataset.from_tensor_slices((x, y))\nmodel.fit(load())",
}
SILENT = {
    "zipped with batches": "model.fit(tf.data.Dataset.zip(slices(x), slices(y).batch(8)))",
    "zipped batches by a name": "pair = (slices(x).batch(8), slices(y).batch(8))\nmodel.fit(tf.data.Dataset.zip(pair))",
    "a loader with a size": "model.fit(tf.keras.utils.image_dataset_from_directory('d', batch_size=size))",
    "a loader with its own size": "model.fit(tf.keras.utils.image_dataset_from_directory('d'))",
    "files that a map reads, batched": READ + "model.fit(slices((files, labels)).map(read).batch(8))",
    "files of which one is read": "def read(paths):\n    return tf.io.decode_png(tf.io.read_file(paths[0]))\n"
    "model.fit(slices(files).map(read))",
    "files read one way": "def read(a):\n    if flag:\n        a = tf.io.decode_png(a)\n    return a\n"
    "model.fit(slices(files).map(read))",
    "files stacked by a list": "model.fit(slices(files).map(lambda p: [tf.io.read_file(p)]))",
    "records of batches": "def parse(r):\n    f = tf.io.parse_single_example(r, {'y': tf.io.FixedLenFeature([32, 4], tf.int64)})\n"
    "    return f['y'], f['y']\nmodel.fit(tf.data.TFRecordDataset('f').map(parse))",
    "batched": "model.fit(tf.data.Dataset.from_tensor_slices((x, y)).batch(32))",
    "batched in another function": "def prepare(ds):\n    return ds.batch(8)\n"
    "model.fit(prepare(tf.data.Dataset.from_tensor_slices((x, y))))",
    "batched by a function from elsewhere": "from elsewhere import prepare\n"
    "model.fit(prepare(tf.data.Dataset.from_tensor_slices((x, y))))",
    "batched by apply": "model.fit(tf.data.Dataset.from_tensor_slices((x, y)).apply(batched))",
    "batched on one way": "ds = tf.data.Dataset.from_tensor_slices((x, y))\nif big:\n    ds = ds.batch(64)\nmodel.fit(ds)",
    "from_tensors": "model.fit(tf.data.Dataset.from_tensors((x, y)))",
    "generator": "model.fit(tf.data.Dataset.from_generator(g, output_types=tf.float32))",
    "unknown array": "from elsewhere import batches\nmodel.fit(tf.data.Dataset.from_tensor_slices(batches))",
    "array of batches": "model.fit(tf.data.Dataset.from_tensor_slices(x.reshape(-1, 100, 784)))",
    "one batch in a list": "model.fit(tf.data.Dataset.from_tensor_slices(([x], [y])))",
    "new first axis": "model.fit(tf.data.Dataset.from_tensor_slices((x[None], y[None])))",
    "three axes": "model.fit(tf.data.Dataset.from_tensor_slices(np.zeros((9, 32, 4))))",
    "axis added by the map": "ds = tf.data.Dataset.from_tensor_slices((x, y))\n"
    "model.fit(ds.map(lambda a, b: (tf.expand_dims(a, 0), tf.expand_dims(b, 0))))",
    "axis added by an index": "model.fit(tf.data.Dataset.from_tensor_slices((x, y)).map(lambda a, b: (a[None], b[tf.newaxis])))",
    "axis added by a list": "model.fit(tf.data.Dataset.from_tensor_slices((x, y)).map(lambda a, b: ([a], [b])))",
    "unknown map": "from elsewhere import f\nmodel.fit(tf.data.Dataset.from_tensor_slices((x, y)).map(f))",
    "loader": "model.fit(tf.keras.utils.image_dataset_from_directory('d'))",
    "batches of tfds": "model.fit(tfds.load('mnist', split='train', batch_size=32))",
    "windows": "model.fit(tf.data.Dataset.from_tensor_slices((x, y)).window(4))",
    "interleaved": "model.fit(tf.data.Dataset.list_files('*').interleave(read))",
    "map_and_batch": "model.fit(tf.data.Dataset.from_tensor_slices((x, y)).apply("
    "tf.data.experimental.map_and_batch(f, 8)))",
    "bucketed": "model.fit(tf.data.Dataset.from_tensor_slices((x, y)).bucket_by_sequence_length(f, [8], [4, 4]))",
    "own training step": "class Net(tf.keras.Model):\n    def train_step(self, data):\n        return {}\n"
    "Net().fit(tf.data.Dataset.from_tensor_slices((x, y)))",
    "a loop": "for a, b in tf.data.Dataset.from_tensor_slices((x, y)):\n    step(a, b)",
    "another library": "from sklearn.svm import SVC\nSVC().fit(tf.data.Dataset.from_tensor_slices((x, y)))",
    "unknown parameter": "def train(ds):\n    model.fit(ds.shuffle(9))",
    "reported by another rule": "model.fit(tf.data.Dataset.from_tensor_slices((x, y)), batch_size=32)",
    "distributed": "s = tf.distribute.MirroredStrategy()\n"
    "model.fit(s.experimental_distribute_dataset(tf.data.Dataset.from_tensor_slices((x, y))))",
}


def _table(cases: dict[str, str]) -> pytest.MarkDecorator:
    return pytest.mark.parametrize("code", cases.values(), ids=cases.keys())


@_table(FOUND)
def test_is_found(code: str, tmp_path: Path) -> None:
    """Protects recall where the elements are single samples beyond doubt."""
    assert codes(HEAD + code, tmp_path) == ["TFG316"]


@_table(SILENT)
def test_is_silent(code: str, tmp_path: Path) -> None:
    """Protects precision: whatever may be a batch already is not reported."""
    assert "TFG316" not in codes(HEAD + code, tmp_path)


def test_dataset_of_another_file(tmp_path: Path) -> None:
    """Protects the way of a dataset through a function of another file, and the note on where it is made."""
    (tmp_path / "data.py").write_text(
        "import tensorflow as tf\n\n\ndef load():\n    (x, y), _ = tf.keras.datasets.mnist.load_data()\n"
        "    return tf.data.Dataset.from_tensor_slices((x, y)).shuffle(9)\n"
    )
    code = HEAD + "from data import load\nmodel.fit(load())"
    ((_, finding),) = [pair for pair in findings(code, tmp_path) if pair[0].code == "TFG316"]
    assert [(note.file.source.path.name, note.message) for note in finding.notes] == [
        ("data.py", "the dataset is made here")
    ]
    assert ("TFG316", 10) in found(code, tmp_path)


def test_in_a_notebook(tmp_path: Path) -> None:
    """Protects datasets made in another cell."""
    text = notebook(HEAD + "ds = tf.data.Dataset.from_tensor_slices((x, y))", "model.fit(ds)")
    assert "TFG316" in {rule.code for rule, _ in findings(text, tmp_path, name="n.ipynb")}


def test_keras_takes_elements_as_batches() -> None:
    """The truth of TFG316 with the installed TensorFlow."""
    tf = pytest.importorskip("tensorflow")

    def steps(shape: tuple[int, ...]) -> int:
        features, labels = tf.zeros((6, *shape)), tf.zeros((6, *shape[:-1], 1))
        model = tf.keras.Sequential([tf.keras.layers.Dense(1)])
        model.compile(optimizer="sgd", loss="mse")
        model.fit(tf.data.Dataset.from_tensor_slices((features, labels)), verbose=0)
        return int(model.optimizer.iterations.numpy())

    assert steps((5, 4)) == 6
    with pytest.raises(ValueError, match="expected min_ndim=2, found ndim=1"):
        steps((4,))
