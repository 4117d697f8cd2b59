"""TFG318: a prefetch that is sized in samples after the batches is found, and a buffer of a few batches is not."""

from __future__ import annotations

import threading
from pathlib import Path

import pytest
from checks import codes, findings, found, notebook

HEAD = """
import tensorflow as tf
source = tf.data.Dataset.range(100000)
"""
FOUND = {
    "number": "print(source.batch(64).prefetch(100))",
    "keyword": "print(source.batch(64).prefetch(buffer_size=1024))",
    "constant": "BUFFER = 256\nprint(source.shuffle(9).batch(8).map(f).prefetch(BUFFER))",
    "batch size": "def load(size):\n    return source.batch(size, drop_remainder=True).prefetch(size)",
    "multiple of the batch size": "def load(size):\n    return source.batch(size).prefetch(size * 4)",
    "attribute": "class Data:\n    def __init__(self, size):\n        self.size = size\n    def load(self):\n"
    "        return source.batch(self.size).repeat().prefetch(self.size)",
    "known batch size": "SIZE = 64\nprint(source.batch(SIZE).prefetch(SIZE))",
    "padded": "print(source.padded_batch(4).prefetch(100))",
    "parameter": "def ahead(ds):\n    return ds.prefetch(50)\nprint(ahead(source.batch(16)))",
    "a loader's batches": "print(tf.keras.utils.text_dataset_from_directory('texts').map(f).prefetch(64))",
    "a loader's own size": "SIZE = 40\nprint(tf.keras.utils.audio_dataset_from_directory('d', batch_size=SIZE).prefetch(SIZE))",
    "size by its place": "print(tf.data.experimental.make_csv_dataset('t.csv', size, num_epochs=1).prefetch(99))",
    "the first of both": "train, valid = tf.keras.utils.image_dataset_from_directory('d', validation_split=0.2, subset='both',"
    " seed=1)\ntrain = train.map(f).prefetch(64)",
    "zipped batches": "print(tf.data.Dataset.zip((source.batch(8), source.batch(8))).prefetch(99))",
    "applied": "def load(rows, size=40):\n    return rows.shuffle(9).batch(size).prefetch(size)\nprint(source.apply(load))",
    "applied, by its keyword, in several statements": "def load(rows):\n    rows = rows.batch(64)\n"
    "    return rows.prefetch(100)\nready = source.map(f).apply(transformation_func=load)",
    "several statements": "def load(args):\n    ds = source.batch(args.size)\n    ds = ds.prefetch(args.size)\n    return ds",
}
SILENT = {
    "autotune": "print(source.batch(64).prefetch(tf.data.AUTOTUNE))",
    "few": "print(source.batch(64).prefetch(2))",
    "below the limit": "print(source.batch(64).prefetch(16))",
    "before batch": "print(source.prefetch(1000).batch(64).prefetch(1))",
    "batches of one": "print(source.batch(1).prefetch(100))",
    "rows of a loader": "print(tf.keras.utils.text_dataset_from_directory('d', batch_size=None).prefetch(64))",
    "perhaps rows of a loader": "print(tf.keras.utils.text_dataset_from_directory('d', batch_size=size).prefetch(64))",
    "perhaps rows, by settings": "print(tf.keras.utils.text_dataset_from_directory('d', **how).prefetch(64))",
    "a loader's batches of one": "print(tf.data.experimental.make_csv_dataset('t.csv', 1).prefetch(99))",
    "a loader's batches taken apart": "print(tf.keras.utils.image_dataset_from_directory('d').unbatch().prefetch(64))",
    "a loader's few": "SIZE = 8\nprint(tf.keras.utils.image_dataset_from_directory('d', batch_size=SIZE).prefetch(SIZE))",
    "a part of one": "train, valid = tf.keras.utils.image_dataset_from_directory('d', validation_split=0.2, subset=part)\n"
    "train = train.prefetch(64)",
    "another library's": "print(tf.keras.utils.image_dataset_from_directory('d', format='grain').prefetch(64))",
    "data sets by their name": "import tensorflow_datasets as tfds\nprint(tfds.load('mnist', split='train').prefetch(64))",
    "never batched": "print(source.map(f).prefetch(1000))",
    "taken apart": "print(source.batch(64).map(f).unbatch().prefetch(1000))",
    "small batch size": "SIZE = 8\nprint(source.batch(SIZE).prefetch(SIZE))",
    "another parameter": "def load(size, ahead):\n    return source.batch(size).prefetch(ahead)",
    "unknown": "print(source.batch(64).prefetch(ahead))",
    "number of GPUs": "def load(size, gpus):\n    return source.batch(size).prefetch(gpus)",
    "short": "print(source.batch(64).take(2).prefetch(100))",
    "windows": "print(source.window(5).flat_map(lambda w: w.batch(5)).prefetch(100))",
    "applied to what nobody knows": "def load(rows):\n    return rows.batch(64).prefetch(100)\nprint(given.apply(load))",
    "applied in a pool": "from multiprocessing import Pool\ndef load(rows):\n    return rows.batch(64).prefetch(100)\n"
    "print(Pool(3).apply(load, (given,)))",
    "unknown object": "from elsewhere import loader\nprint(loader.batch(64).prefetch(100))",
    "another library": "def run(queue):\n    queue.prefetch(100)",
    "small on one way": "n = 100 if big else 2\nprint(source.batch(64).prefetch(n))",
    "batched on one way": "ds = source\nif batched:\n    ds = ds.batch(4)\nprint(ds.prefetch(100))",
    "number of batches divided": "def load(size):\n    return source.batch(size).prefetch(1024 // size)",
}


def _table(cases: dict[str, str]) -> pytest.MarkDecorator:
    return pytest.mark.parametrize("code", cases.values(), ids=cases.keys())


@_table(FOUND)
def test_is_found(code: str, tmp_path: Path) -> None:
    """Protects recall: large numbers, and sizes that are the batch's own."""
    assert codes(HEAD + code, tmp_path) == ["TFG318"]


@_table(SILENT)
def test_is_silent(code: str, tmp_path: Path) -> None:
    """Protects precision: buffers of a few batches, of samples, of unknown size."""
    assert "TFG318" not in codes(HEAD + code, tmp_path)


def test_batches_of_another_file(tmp_path: Path) -> None:
    """Protects chains over two files, and the note on the batches."""
    (tmp_path / "data.py").write_text(
        "import tensorflow as tf\n\n\ndef load():\n    return tf.data.Dataset.range(9999).batch(32)\n"
    )
    code = HEAD + "from data import load\nds = load().prefetch(500)\nprint(ds)"
    assert ("TFG318", 5) in found(code, tmp_path)
    (finding,) = [f for rule, f in findings(code, tmp_path) if rule.code == "TFG318"]
    assert [note.file.source.path.name for note in finding.notes] == ["data.py"]
    assert "up to `500` whole batches" in finding.message


def test_in_a_notebook(tmp_path: Path) -> None:
    """Protects datasets made in another cell."""
    text = notebook(HEAD + "ds = source.batch(64)", "ds = ds.prefetch(64)\nprint(ds)")
    assert "TFG318" in {rule.code for rule, _ in findings(text, tmp_path, name="n.ipynb")}


def test_a_prefetch_after_batch_reads_whole_batches_ahead() -> None:
    """The truth of TFG318 with the installed TensorFlow: what was read before the second batch is asked for."""
    tf = pytest.importorskip("tensorflow")
    read: list[int] = []
    enough = threading.Event()

    def count(x: int) -> int:
        read.append(int(x))
        if len(read) >= 10 * 4:
            enough.set()
        return x

    dataset = tf.data.Dataset.range(400).map(lambda x: tf.numpy_function(count, [x], tf.int64), num_parallel_calls=1)
    iterator = iter(dataset.batch(4).prefetch(10))
    next(iterator)
    assert enough.wait(30)
