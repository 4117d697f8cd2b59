"""TFG307: a shuffle after the batches is found on every path to a training, and nothing that mixes samples is."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from checks import codes, findings, fixed, found, notebook

HEAD = """
import tensorflow as tf
model = tf.keras.Sequential([tf.keras.layers.Dense(1)])
source = tf.data.Dataset.from_tensor_slices((x, y))
"""
STEP = """
optimizer = tf.keras.optimizers.SGD()
@tf.function
def step(x, y):
    with tf.GradientTape() as tape:
        loss = tf.reduce_mean(model(x) - y)
    grads = tape.gradient(loss, model.trainable_variables)
    optimizer.apply_gradients(zip(grads, model.trainable_variables))
"""
FOUND = {
    "one expression": "model.fit(source.batch(32).shuffle(100))",
    "map between": "model.fit(source.batch(32).map(f).shuffle(100).repeat().prefetch(2))",
    "several statements": "ds = source.batch(32)\nds = ds.shuffle(100)\nmodel.fit(ds)",
    "function": "def make():\n    return source.batch(32).shuffle(100)\nmodel.fit(make())",
    "parameter": "def train(ds):\n    model.fit(ds.shuffle(64))\ntrain(source.batch(8))",
    "attribute": "class T:\n    def __init__(self):\n        self.ds = source.batch(8)\n"
    "    def run(self):\n        model.fit(self.ds.shuffle(64))",
    "attribute, step by step": "class T:\n    def __init__(self):\n        self.ds = source\n        self.ds = self.ds.batch(8)\n"
    "        self.ds = self.ds.shuffle(9)\nmodel.fit(T().ds)",
    "padded": "model.fit(source.padded_batch(4).shuffle(9))",
    "buckets": "model.fit(source.bucket_by_sequence_length(f, [8], [4, 4]).map(g).shuffle(9))",
    "buckets that are applied by a name": "def make(mixed):\n"
    "    by_length = tf.data.experimental.bucket_by_sequence_length(f, [8], [4, 4])\n    ds = source.apply(by_length)\n"
    "    return ds.shuffle(9) if mixed else ds\nmodel.fit(make(True))",
    "custom loop": STEP + "for x, y in source.batch(8).shuffle(9):\n    step(x, y)",
    "next in a loop": STEP + "it = iter(source.batch(8).shuffle(9).repeat())\nfor _ in range(99):\n    step(*next(it))",
    "next in a method that a loop calls": STEP
    + "class Feed:\n    def __init__(self):\n        self.rest = iter(source.batch(8).shuffle(9).repeat())\n"
    "    def pull(self):\n        return next(self.rest)\n    def give(self):\n        return self.pull()\n"
    "feed = Feed()\nn = 0\nwhile n < 99:\n    step(*feed.give())\n    n += 1",
    "next in the step that a loop runs": STEP.replace("def step(x, y):", "def step(it):\n    x, y = next(it)")
    + "it = iter(source.batch(8).shuffle(9).repeat())\nfor _ in range(99):\n    step(it)",
    "tuple of pipelines": "def make():\n    return source.batch(4).shuffle(9), source.batch(4)\ntrain, val = make()\n"
    "model.fit(train, validation_data=val)",
    "zipped": "model.fit(tf.data.Dataset.zip((source, source)).batch(4).shuffle(9))",
    "batches zipped": "model.fit(tf.data.Dataset.zip((source.batch(4), source.batch(4))).shuffle(9))",
    "batches zipped by a name": "both = {'a': source.batch(4), 'b': source.batch(4)}\n"
    "model.fit(tf.data.Dataset.zip(both).map(f).shuffle(9))",
    "parts that are shuffled in batches": "def part(values):\n"
    "    return tf.data.Dataset.from_tensor_slices(values).batch(64, drop_remainder=True).shuffle(500)\n"
    "model.fit(tf.data.Dataset.zip((part(x), part(y))).map(f).repeat(2))",
    "records": "model.fit(tf.data.TFRecordDataset(path).map(parse).batch(4).shuffle(9))",
    "listed files in order": "model.fit(tf.data.Dataset.list_files('*.png', shuffle=False).map(f).batch(4).shuffle(9))",
    "listed files, told by place": "model.fit(tf.data.Dataset.list_files('*.png', False).map(f).batch(4).shuffle(9))",
    "a loader told not to": "model.fit(tf.keras.utils.image_dataset_from_directory("
    "'d', batch_size=None, shuffle=False).batch(4).shuffle(9))",
    "windows of a loader": "series = tf.keras.utils.timeseries_dataset_from_array(x, y, 9)\n"
    "model.fit(series.cache().shuffle(30))",
    "a loader of batches told not to": "table = tf.data.experimental.make_csv_dataset('t.csv', 16, shuffle=False)\n"
    "model.fit(table.map(f).shuffle(30))",
    "files in order": "import tensorflow_datasets as tfds\n"
    "model.fit(tfds.load('mnist', split='train', shuffle_files=False).batch(4).shuffle(9))",
    "cached": "model.fit(source.batch(4).cache().shuffle(9), epochs=5)",
}
SILENT = {
    "attribute, step by step": "class T:\n    def __init__(self):\n        self.ds = source\n        self.prepare()\n"
    "    def prepare(self):\n        self.part = self.ds.take(900)\n        self.part = self.part.shuffle(9)\n"
    "        self.part = self.part.batch(8)\nmodel.fit(T().part)",
    "next of the data for an epoch's check": STEP
    + "it = iter(source.batch(8).shuffle(9).repeat())\ndef check():\n    print(model(next(it)[0]))\n"
    "for epoch in range(9):\n    for x, y in source.shuffle(9).batch(4):\n        step(x, y)\n    check()",
    "single samples zipped": "model.fit(tf.data.Dataset.zip((source.batch(1), source.batch(1))).shuffle(9))",
    "parts that are shuffled before": "model.fit(tf.data.Dataset.zip((source.shuffle(9).batch(4), source.batch(4).shuffle(9))))",
    "a part that is never shuffled": "model.fit(tf.data.Dataset.zip((source.batch(4).shuffle(9), source.batch(4))))",
    "a part in any order": "rest = tf.data.Dataset.from_generator(g, output_types=tf.int32).batch(4)\n"
    "model.fit(tf.data.Dataset.zip((source.batch(4), rest)).shuffle(9))",
    "batches zipped with samples": "model.fit(tf.data.Dataset.zip((source.batch(4), source)).shuffle(9))",
    "before batch": "model.fit(source.shuffle(100).batch(32))",
    "on both sides": "model.fit(source.shuffle(100).batch(32).shuffle(10))",
    "unbatched again": "model.fit(source.batch(32).map(f).unbatch().shuffle(100).batch(32))",
    "sequences": "model.fit(source.batch(100, drop_remainder=True).map(split).shuffle(100).batch(32))",
    "sequences batched by the caller": "def make():\n    return source.batch(100).shuffle(9)\nmodel.fit(make().batch(2))",
    "windows": "model.fit(source.window(5).flat_map(lambda w: w.batch(5)).shuffle(100).batch(4))",
    "shuffles of each file": "model.fit(tf.data.Dataset.range(9).interleave(lambda i: read(i).shuffle(9)).batch(4).shuffle(9))",
    "listed files": "model.fit(tf.data.Dataset.list_files('*.png').map(f).batch(4).shuffle(9))",
    "listed files, shuffled or not": "model.fit(tf.data.Dataset.list_files('*.png', shuffle=s).map(f).batch(4).shuffle(9))",
    "listed files, by default": "model.fit(tf.data.Dataset.list_files('*', shuffle=None).map(f).batch(4).shuffle(9))",
    "listed files, with settings": "model.fit(tf.data.Dataset.list_files('*.png', **how).map(f).batch(4).shuffle(9))",
    "unbatched loader": "model.fit(tf.keras.utils.image_dataset_from_directory('d', batch_size=None).batch(4).shuffle(9))",
    "a loader that may shuffle": "model.fit(tf.keras.utils.image_dataset_from_directory("
    "'d', batch_size=None, shuffle=s).batch(4).shuffle(9))",
    "generator": "model.fit(tf.data.Dataset.from_generator(g, output_types=tf.int32).batch(4).shuffle(9))",
    "loader": "model.fit(tf.keras.utils.image_dataset_from_directory('d').cache().shuffle(9), epochs=3)",
    "windows in random order": "model.fit(tf.keras.utils.timeseries_dataset_from_array(x, y, 9, shuffle=True).shuffle(30))",
    "rows of a loader": "model.fit(tf.keras.utils.timeseries_dataset_from_array(x, y, 9, batch_size=None).shuffle(30))",
    "perhaps rows of a loader": "model.fit(tf.keras.utils.timeseries_dataset_from_array(x, y, 9, batch_size=n).shuffle(30))",
    "a loader's batches of one": "model.fit(tf.keras.utils.timeseries_dataset_from_array(x, y, 9, batch_size=1).shuffle(30))",
    "a table": "model.fit(tf.data.experimental.make_csv_dataset('t.csv', 16, num_epochs=1).shuffle(30))",
    "shuffled files": "import tensorflow_datasets as tfds\n"
    "model.fit(tfds.load('mnist', split='train', shuffle_files=True).batch(4).shuffle(9))",
    "batches of one": "model.fit(source.batch(1).shuffle(100))",
    "a shuffle of one": "model.fit(source.batch(32).shuffle(1))",
    "evaluated": "model.evaluate(source.batch(32).shuffle(100))",
    "only looked at": "for x in source.batch(5).shuffle(9).take(2):\n    print(x)",
    "returned to unknown callers": "def make():\n    return source.batch(4).shuffle(9)",
    "shuffled before the buckets": "model.fit(source.shuffle(99).bucket_by_sequence_length(f, [8], [4, 4]).shuffle(9))",
    "windows by a key": "model.fit(source.group_by_window(key, join, 8).shuffle(9))",
    "an operation of the user by a name": "op = regroup(4)\nmodel.fit(source.batch(4).apply(op).shuffle(9))",
    "regrouped by a function of the user": "model.fit(source.batch(4).apply(regroup).shuffle(9))",
    "made again every epoch": "import numpy as np\nfor _ in range(9):\n    order = np.random.permutation(99)\n"
    "    model.fit(tf.data.Dataset.from_tensor_slices(x[order]).batch(4).shuffle(9))",
    "a shuffled part of a zip": "model.fit(tf.data.Dataset.zip((source.shuffle(9), source)).batch(4).shuffle(9))",
    "unknown dataset": "from elsewhere import data\nmodel.fit(data.batch(32).shuffle(100))",
    "another object": "import random\nrandom.shuffle(rows)\nmodel.fit(source.batch(32))",
}


def _table(cases: dict[str, str]) -> pytest.MarkDecorator:
    return pytest.mark.parametrize("code", cases.values(), ids=cases.keys())


@_table(FOUND)
def test_is_found(code: str, tmp_path: Path) -> None:
    """Protects recall along every way from a batch to a training."""
    assert codes(HEAD + code, tmp_path) == ["TFG307"]


@_table(SILENT)
def test_is_silent(code: str, tmp_path: Path) -> None:
    """Protects precision: samples that are mixed elsewhere, batches that are regrouped, data that nobody trains on."""
    assert "TFG307" not in codes(HEAD + code, tmp_path)


def test_in_another_file(tmp_path: Path) -> None:
    """Protects the finding's place in the file that builds the pipeline."""
    (tmp_path / "data.py").write_text(
        "import tensorflow as tf\n\n\ndef load(x):\n"
        "    ds = tf.data.Dataset.from_tensor_slices(x)\n    return ds.batch(9).shuffle(5)\n"
    )
    assert found(HEAD + "from data import load\nmodel.fit(load(x))", tmp_path) >= {("TFG307 data.py", 6)}


def test_in_a_notebook(tmp_path: Path) -> None:
    """Protects pipelines whose steps stand in several cells."""
    cells = [HEAD + "ds = source.batch(4)", "ds = ds.shuffle(4)", "model.fit(ds, epochs=2)"]
    assert "TFG307" in {rule.code for rule, _ in findings(notebook(*cells), tmp_path, name="n.ipynb")}


def test_is_silent_in_tests(tmp_path: Path) -> None:
    """Protects tests, whose order of batches is nobody's concern."""
    assert found(HEAD + FOUND["one expression"], tmp_path, name="tests/train.py") == set()


def test_notes_and_words(tmp_path: Path) -> None:
    """Protects the other places that explain it, and one finding for two trainings."""
    code = HEAD + "ds = source.batch(32).shuffle(100)\nmodel.fit(ds)\nmodel.fit(ds)"
    (finding,) = [f for rule, f in findings(code, tmp_path) if rule.code == "TFG307"]
    assert [note.message for note in finding.notes] == ["the samples are batched here", "this training consumes it"]
    assert "after `batch`" in finding.message
    assert finding.prediction.kind == "wrong-result"


def test_no_fix_of_one_part(tmp_path: Path) -> None:
    """Protects pairs: a shuffle that goes into one part of a zip would tear them."""
    code = HEAD + "model.fit(tf.data.Dataset.zip((source.batch(4), source.batch(4))).shuffle(9))"
    (finding,) = [f for rule, f in findings(code, tmp_path) if rule.code == "TFG307"]
    assert finding.fix is None
    assert (finding.help or "").startswith("first join the samples")


def test_no_fix_inside_of_a_loader(tmp_path: Path) -> None:
    """Protects the code of a loader's call: the shuffle cannot go before the batches that it makes."""
    code = HEAD + "model.fit(tf.keras.utils.timeseries_dataset_from_array(x, y, 9).shuffle(30))"
    (finding,) = [f for rule, f in findings(code, tmp_path) if rule.code == "TFG307"]
    assert finding.fix is None
    assert "shuffle=True" in (finding.help or "")


def test_batches_stay_together() -> None:
    """The truth of TFG307 with the installed TensorFlow."""
    tf = pytest.importorskip("tensorflow")
    shuffled = [batch.tolist() for batch in tf.data.Dataset.range(40).batch(4).shuffle(10).as_numpy_iterator()]
    assert sorted(shuffled) == [list(range(i, i + 4)) for i in range(0, 40, 4)]
    before = [batch.tolist() for batch in tf.data.Dataset.range(40).shuffle(40, seed=1).batch(4).as_numpy_iterator()]
    assert any(max(batch) - min(batch) > 3 for batch in before)


def test_buckets_stay_together(tmp_path: Path) -> None:
    """The truth of TFG307 with the installed TensorFlow: a shuffled bucket holds what it held in every epoch."""
    tf = pytest.importorskip("tensorflow")
    rows = tf.data.Dataset.range(60).map(lambda n: tf.fill([n % 3 + 1], n))
    buckets = rows.bucket_by_sequence_length(tf.size, [2, 3], [4, 4, 4]).shuffle(15)
    epochs = [sorted(batch[:, 0].tolist() for batch in buckets.as_numpy_iterator()) for _ in range(2)]
    assert epochs[0] == epochs[1] and [0, 3, 6, 9] in epochs[0]
    code = HEAD + FOUND["buckets"]
    (finding,) = [f for rule, f in findings(code, tmp_path) if rule.code == "TFG307"]
    assert "the same samples share a batch" in finding.message and finding.fix is None


ROWS = "import tensorflow as tf\n\ntf.random.set_seed(3)\nnumbers = list(range(640))\n"
TRAINING = """
optimizer = tf.keras.optimizers.SGD()
model = tf.keras.Sequential([tf.keras.layers.Dense(1)])

@tf.function
def learn(part):
    with tf.GradientTape() as tape:
        loss = tf.reduce_mean(model(tf.cast(part, tf.float32)[:, None]))
    optimizer.apply_gradients(zip(tape.gradient(loss, model.trainable_weights), model.trainable_weights))

epochs = []
for _ in range(2):
    seen = []
    for part in data:
        learn(part)
        seen.append(part.numpy().tolist())
    epochs.append(seen)
"""
SCALED = {
    "literals": (
        "data = tf.data.Dataset.from_tensor_slices(numbers).batch(32).shuffle(5)\n",
        ".shuffle(160).batch(32)",
    ),
    "names": (
        "held, many = 5, 32\ndata = tf.data.Dataset.from_tensor_slices(numbers).batch(many).shuffle(held)\n",
        ".shuffle(held * many).batch(many)",
    ),
    "a sum": (
        "size = 31\ndata = tf.data.Dataset.from_tensor_slices(numbers).batch(size + 1).shuffle(buffer_size=5)\n",
        ".shuffle(buffer_size=5 * (size + 1)).batch(size + 1)",
    ),
    "statements": (
        "data = tf.data.Dataset.from_tensor_slices(numbers)\ndata = data.batch(32)\ndata = data.shuffle(5)\n",
        "data = data.shuffle(160).batch(32)\n",
    ),
    "all rows": (
        "data = tf.data.Dataset.from_tensor_slices(numbers).batch(32).shuffle(len(numbers))\n",
        ".shuffle(len(numbers)).batch(32)",
    ),
    "behind a cache": (
        "data = tf.data.Dataset.from_tensor_slices(numbers).batch(32).cache().shuffle(5)\n",
        ".cache().shuffle(160).batch(32)",
    ),
    "statements behind a cache": (
        "data = tf.data.Dataset.from_tensor_slices(numbers).batch(32)\ndata = data.cache()\ndata = data.shuffle(5)\n",
        "data = data.shuffle(160).batch(32)\n",
    ),
}


@pytest.mark.parametrize(("made", "after"), SCALED.values(), ids=SCALED.keys())
def test_the_buffer_holds_as_many_samples(made: str, after: str, tmp_path: Path) -> None:
    """Protects how well a fixed program mixes, each epoch anew: its buffer counts samples and had counted batches."""
    pytest.importorskip("tensorflow")
    text = fixed(ROWS + made + TRAINING, tmp_path, "TFG307")
    assert after in text
    scope: dict[str, Any] = {}
    exec(compile(text, "fixed.py", "exec"), scope)
    first, second = scope["epochs"]
    assert first != second
    assert [len(part) for part in first] == [32] * 20
    assert sorted(number for part in first for number in part) == list(range(640))
    assert max(first[0]) - min(first[0]) > 100  # with a buffer of 5 samples it is at most 36


WITHHELD = {
    "a part of the batches": "model.fit(source.batch(32).take(40).shuffle(9))",
    "the rest of the batches": "model.fit(source.batch(32).skip(40).shuffle(9))",
    "every other batch": "model.fit(source.batch(32).shard(2, 0).shuffle(9))",
    "more batches": "model.fit(source.batch(32).concatenate(other).shuffle(9))",
    "a cache of mapped batches": "model.fit(source.batch(32).map(f).cache().shuffle(9), epochs=4)",
    "a buffer that may be anything": "model.fit(source.batch(size()).shuffle(9))",
}


@_table(WITHHELD)
def test_no_fix_that_gives_other_samples(code: str, tmp_path: Path) -> None:
    """Protects what is trained on: `take` of shuffled samples gives others in each epoch, a cache would freeze them."""
    (finding,) = [f for rule, f in findings(HEAD + code, tmp_path) if rule.code == "TFG307"]
    assert finding.fix is None
    assert "buffer counted in samples" in (finding.help or "")
    assert ("no automatic fix" in (finding.help or "")) == (".batch(32).map" not in code and "size()" not in code)
