"""TFG315: a batch size beside a dataset is found in every spelling, and none that Keras uses is."""

from __future__ import annotations

from pathlib import Path

import pytest
from checks import NEWEST, codes, findings, found, notebook

from tflint_gpu.targets import Target

HEAD = """
import tensorflow as tf
model = tf.keras.Sequential([tf.keras.layers.Dense(1)])
ds = tf.data.Dataset.from_tensor_slices((x, y)).batch(8)
"""
FOUND = {
    "a parameter that is declared": "def rate(rows: tf.data.Dataset):\n    model.evaluate(rows, batch_size=32)",
    "a part of an optional one": "from typing import Optional\ndef rate(rows: Optional['tf.data.Dataset'] = None):\n"
    "    if rows is not None:\n        model.predict(rows.take(99), batch_size=32)",
    "fit": "model.fit(ds, epochs=3, batch_size=32)",
    "evaluate": "model.evaluate(ds, batch_size=32)",
    "predict": "model.predict(ds, batch_size=BATCH)",
    "by position": "model.fit(ds, None, 32)",
    "prediction by position": "model.predict(ds, 32)",
    "from the command line": "import argparse\nargs = argparse.ArgumentParser().parse_args()\n"
    "model.fit(ds, batch_size=args.batch_size)",
    "settings": "CFG = {'batch_size': 32, 'epochs': 2}\nmodel.fit(ds, **CFG)",
    "parameter": "def train(data):\n    model.fit(data, batch_size=32)\ntrain(ds)",
    "attribute": "class T:\n    def __init__(self):\n        self.ds = ds.prefetch(1)\n"
    "        self.net = tf.keras.Sequential([])\n    def run(self):\n        self.net.fit(self.ds, batch_size=8)",
    "validated by a dataset": "model.fit(ds, validation_data=ds, batch_size=32)",
    "arrays with a size of their own": "model.fit(ds, validation_data=(a, b), validation_batch_size=9, batch_size=32)",
    "distributed": "s = tf.distribute.MirroredStrategy()\n"
    "model.fit(s.experimental_distribute_dataset(ds), batch_size=32, steps_per_epoch=9)",
    "never batched": "model.fit(tf.data.Dataset.from_tensor_slices((x, y)), batch_size=32)",
    "loader": "model.fit(tf.keras.utils.image_dataset_from_directory('d'), batch_size=32)",
    "size one": "model.fit(ds, batch_size=1)",
    "generator dataset": "model.fit(tf.data.Dataset.from_generator(g, output_types=tf.int32), batch_size=4)",
    "subclass": "class Net(tf.keras.Model):\n    def call(self, x):\n        return x\nNet().fit(ds, batch_size=4)",
    "a training step of its own": "class Net(tf.keras.Model):\n    def train_step(self, data):\n"
    "        return {'loss': self.learn(data)}\nnet = Net()\nnet.fit(ds, validation_data=ds, batch_size=8)",
    "no validation": "model.fit(ds, validation_data=None, batch_size=32)",
}
SILENT = {
    "declared as one or the other": "def rate(rows: tf.data.Dataset | tf.Tensor):\n    model.predict(rows, batch_size=32)",
    "declared, but filled with arrays": "def rate(rows: tf.data.Dataset):\n    model.predict(rows, batch_size=32)\nrate(x)",
    "arrays": "model.fit(x, y, batch_size=32)",
    "no size": "model.fit(ds)",
    "generator": "def g():\n    yield 1\nmodel.fit(g(), batch_size=32)",
    "loaded in batches": "import tensorflow_datasets as tfds\nmodel.fit(tfds.load('mnist', split='train', batch_size=32))",
    "loaded whole": "import tensorflow_datasets as tfds\n"
    "model.fit(tfds.load('mnist', split='train', batch_size=-1), batch_size=32)",
    "validation arrays": "model.fit(ds, validation_data=(a, b), batch_size=32)",
    "validation of unknown kind": "def train(val):\n    model.fit(ds, validation_data=val, batch_size=32)",
    "validation by position": "model.fit(ds, None, 32, 1, 1, None, 0.0, (a, b))",
    "unknown keywords": "def train(**options):\n    model.fit(ds, batch_size=32, **options)",
    "none": "model.fit(ds, batch_size=None)",
    "none for datasets": "model.fit(ds, batch_size=None if is_dataset else 32)",
    "perhaps arrays": "data = ds if streamed else x\nmodel.fit(data, batch_size=32)",
    "unknown dataset": "def train(data):\n    model.fit(data, batch_size=32)",
    "another fit": "from sklearn.svm import SVC\nSVC().fit(ds, batch_size=32)",
    "a fit of its own": "class Net(tf.keras.Model):\n    def fit(self, data, batch_size):\n"
    "        return super().fit(data.batch(batch_size))\nNet().fit(ds, batch_size=32)",
    "a loop of its own": "class Net(tf.keras.Model):\n    def make_train_function(self):\n        return self.regroup\n"
    "Net().fit(ds, batch_size=32)",
    "size of the validation": "model.fit(ds, validation_data=(a, b), validation_batch_size=32)",
    "tensors of a dataset": "for a, b in ds:\n    model.fit(a, b, batch_size=2)",
    "other model": "from elsewhere import Model\nModel().run(ds, batch_size=32)",
    "dataset of another library": "from elsewhere import Dataset\nmodel.fit(Dataset(x), batch_size=32)",
}


def _table(cases: dict[str, str]) -> pytest.MarkDecorator:
    return pytest.mark.parametrize("code", cases.values(), ids=cases.keys())


@_table(FOUND)
def test_is_found(code: str, tmp_path: Path) -> None:
    """Protects recall: by keyword, by position and through settings, along every way from a dataset."""
    assert codes(HEAD + code, tmp_path) == ["TFG315"]


@_table(SILENT)
def test_is_silent(code: str, tmp_path: Path) -> None:
    """Protects precision: arrays, validation arrays, sizes that are None, models and data that are not known."""
    assert "TFG315" not in codes(HEAD + code, tmp_path)


def test_training_in_another_file(tmp_path: Path) -> None:
    """Protects the finding's place in the file that trains, when the program that gives it the dataset is checked."""
    (tmp_path / "trainer.py").write_text(
        "import tensorflow as tf\n\n\ndef train(model, data):\n    model.fit(data, batch_size=32, epochs=2)\n"
    )
    assert ("TFG315 trainer.py", 5) in found(HEAD + "from trainer import train\ntrain(model, ds)", tmp_path)


def test_dataset_of_another_file(tmp_path: Path) -> None:
    """Protects the dataset's way through a function of another file."""
    (tmp_path / "data.py").write_text(
        "import tensorflow as tf\ndef load():\n    return tf.data.Dataset.range(9).batch(3)\n"
    )
    code = "import keras\nfrom data import load\nmodel = keras.Sequential([])\nmodel.fit(load(), batch_size=9)"
    assert ("TFG315", 4) in found(code, tmp_path)


def test_in_a_notebook(tmp_path: Path) -> None:
    """Protects datasets made in another cell."""
    text = notebook(HEAD, "model.fit(ds, batch_size=64)")
    assert "TFG315" in {rule.code for rule, _ in findings(text, tmp_path, name="n.ipynb")}


def test_place_notes_and_version(tmp_path: Path) -> None:
    """Protects the argument as the place, the batches as the note, and the version in the message."""
    (finding,) = [f for r, f in findings(HEAD + FOUND["fit"], tmp_path) if r.code == "TFG315"]
    assert finding.file.code(finding.node) == "batch_size=32"
    assert [note.message for note in finding.notes] == ["the batches are made here"]
    assert "Keras 3 ignores" in finding.message


def test_the_same_size_twice_is_advice(tmp_path: Path) -> None:
    """Protects the severity: nothing goes wrong where the argument says what the dataset does."""
    sizes = ("batch_size=SIZE", "batch_size=64")
    code = HEAD + "SIZE = 32\nmodel.fit(ds.unbatch().batch(SIZE), {})"
    severities = [f.severity for size in sizes for r, f in findings(code.format(size), tmp_path) if r.code == "TFG315"]
    assert severities == ["advice", None]


def test_depends_on_the_version(tmp_path: Path) -> None:
    """Protects truth: before TensorFlow 2.2 the argument raised an exception."""
    old = Target(tensorflow=(2, 1), keras=2, source="settings")
    assert codes(HEAD + FOUND["fit"], tmp_path, target=old) == []
    assert codes(HEAD + FOUND["fit"], tmp_path, target=NEWEST) == ["TFG315"]


@pytest.mark.slow
def test_keras_ignores_the_size() -> None:
    """The truth of TFG315 with the installed TensorFlow: steps follow the dataset, and validation arrays the size."""
    tf = pytest.importorskip("tensorflow")
    features, labels = tf.zeros((12, 2)), tf.zeros((12, 1))
    dataset = tf.data.Dataset.from_tensor_slices((features, labels)).batch(4)
    model = tf.keras.Sequential([tf.keras.layers.Dense(1)])
    model.compile(optimizer="sgd", loss="mse")

    class Counter(tf.keras.callbacks.Callback):  # type: ignore[misc,name-defined]
        def __init__(self) -> None:
            super().__init__()
            self.counts = {"train": 0, "test": 0, "predict": 0}

        def on_train_batch_end(self, batch: int, logs: object = None) -> None:
            self.counts["train"] += 1

        def on_test_batch_end(self, batch: int, logs: object = None) -> None:
            self.counts["test"] += 1

        def on_predict_batch_end(self, batch: int, logs: object = None) -> None:
            self.counts["predict"] += 1

    counter = Counter()
    model.fit(dataset, batch_size=2, verbose=0, callbacks=[counter])
    model.evaluate(dataset, batch_size=2, verbose=0, callbacks=[counter])
    model.predict(dataset, batch_size=2, verbose=0, callbacks=[counter])
    assert counter.counts == {"train": 3, "test": 3, "predict": 3}
    counter = Counter()
    model.fit(dataset, batch_size=2, validation_data=(features, labels), verbose=0, callbacks=[counter])
    assert counter.counts == {"train": 3, "test": 6, "predict": 0}
