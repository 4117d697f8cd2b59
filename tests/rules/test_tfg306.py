"""TFG306: a cache that freezes what should change from epoch to epoch is found, and a cache that is meant to is not."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from checks import codes, findings, fixed, found, notebook

HEAD = """
import tensorflow as tf
model = tf.keras.Sequential([tf.keras.layers.Dense(1)])
source = tf.data.Dataset.from_tensor_slices((x, y))
def augment(a, b):
    return tf.image.random_flip_left_right(a), b
"""
READ = """
def read(path, label):
    return tf.image.resize(tf.io.decode_jpeg(tf.io.read_file(path)), (9, 9)), label
"""
LOOP = """
optimizer = tf.keras.optimizers.SGD()
@tf.function
def step(x, y):
    with tf.GradientTape() as tape:
        loss = tf.reduce_mean(model(x) - y)
    grads = tape.gradient(loss, model.trainable_variables)
    optimizer.apply_gradients(zip(grads, model.trainable_variables))
"""
MADE = """
def make(x, augmented=False, cached=False):
    ds = tf.data.Dataset.from_tensor_slices((x, x))
    if augmented:
        ds = ds.map(augment)
    if cached:
        ds = ds.cache()
    return ds.batch(32)
"""
FOUND = {
    "a cache that a take leaves unfinished": READ + "model.fit(source.map(read).cache().take(50).batch(8), epochs=9)",
    "batches that a take leaves, by statements": READ + "rows = source.map(read)\nrows = rows.cache()\n"
    "rows = rows.batch(8)\nrows = rows.take(20)\nmodel.fit(rows, epochs=9)",
    "fewer than there are": READ + "names = tf.data.Dataset.from_tensor_slices((tf.fill([60], 'n'), tf.zeros([60])))\n"
    "model.fit(names.map(read).cache('here').take(59).batch(8), epochs=9)",
    "images of folders": "ds = tf.keras.utils.image_dataset_from_directory('d', shuffle=False).cache().take(20)\n"
    "model.fit(ds, epochs=9)",
    "validation data that a take leaves": READ
    + "model.fit(source.batch(8), epochs=9, validation_data=source.map(read).cache().take(50).batch(8))",
    "both by flags": MADE + "model.fit(make(x, augmented=True, cached=True), epochs=9)",
    "as many as the smaller of two folders has": "import os\ndef sizes():\n    first, second = len(os.listdir('a')), len(os.listdir('b'))\n"
    "    smaller = first\n    if second < smaller:\n        smaller = second\n    return smaller - smaller % 8, first\n"
    "least, rows = sizes()\nmodel.fit(source.map(augment).cache().shuffle(rows).take(least).batch(8), epochs=9)",
    "random map": "model.fit(source.map(augment).cache().batch(8), epochs=9)",
    "TensorFlow's own function": "ds = tf.data.Dataset.from_tensor_slices(x).map(tf.image.random_flip_left_right)\n"
    "model.fit(ds.cache().batch(8), epochs=9)",
    "a layer": "ds = tf.data.Dataset.from_tensor_slices(x).map(tf.keras.layers.RandomRotation(0.2)).cache()\n"
    "model.fit(ds.batch(8), epochs=9)",
    "random map in what a zip joins": "left = tf.data.Dataset.from_tensor_slices(x)\n"
    "pairs = tf.data.Dataset.zip((left.map(tf.image.random_flip_left_right), tf.data.Dataset.from_tensor_slices(y)))\n"
    "model.fit(pairs.cache().shuffle(99).batch(8), epochs=9)",
    "cache in what a zip joins": "left = source.map(augment).cache()\n"
    "model.fit(tf.data.Dataset.zip((left, source)).batch(8), epochs=9)",
    "random map, shuffled after": "model.fit(source.map(augment).cache().shuffle(99).batch(8), epochs=9)",
    "lambda": "model.fit(source.map(lambda a, b: (a + tf.random.normal([3]), b)).cache().batch(8), epochs=E)",
    "random layer": "flip = tf.keras.layers.RandomFlip()\n"
    "model.fit(source.batch(8).map(lambda a, b: (flip(a, training=True), b)).cache(), epochs=9)",
    "random layers": "both = tf.keras.Sequential([tf.keras.layers.RandomFlip(), tf.keras.layers.RandomZoom(0.1)])\n"
    "model.fit(source.batch(8).map(lambda a, b: (both(a), b)).cache(), epochs=9)",
    "random generator": "g = tf.random.Generator.from_non_deterministic_state()\n"
    "model.fit(source.map(lambda a, b: (a * g.uniform([]), b)).cache().batch(8), epochs=9)",
    "seeds of a random generator": "g = tf.random.Generator.from_seed(1)\n"
    "model.fit(source.map(lambda a, b: (a + tf.random.stateless_normal([], g.make_seeds()[:, 0]), b)).cache().batch(8), epochs=9)",
    "helper of the map": "def load(a, b):\n    return augment(tf.cast(a, tf.float32), b)\n"
    "model.fit(source.map(load).cache().batch(8), epochs=9)",
    "branch that is on": "def load(a, b, train):\n    if train:\n        a, b = augment(a, b)\n    return a, b\n"
    "model.fit(source.map(lambda a, b: load(a, b, True)).cache().batch(8), epochs=9)",
    "shuffle": "model.fit(source.shuffle(99).cache().batch(8), epochs=9)",
    "shuffle and batch": "model.fit(source.shuffle(99).batch(8).cache().prefetch(1), epochs=9)",
    "cache in a file": "model.fit(source.shuffle(99).cache('/tmp/data').batch(8), epochs=9)",
    "repeated after": "model.fit(source.shuffle(99).cache().repeat().batch(8), steps_per_epoch=9)",
    "windows of what a loader shuffles": "ds = tf.keras.utils.text_dataset_from_directory('d', batch_size=None)\n"
    "model.fit(ds.flat_map(windows).batch(8).cache(), epochs=9)",
    "a function that is applied": "def ready(rows):\n    return rows.map(augment).cache().batch(8)\n"
    "model.fit(source.apply(ready), epochs=9)",
    "before a function that is applied": "def ready(rows):\n    return rows.cache().batch(8)\n"
    "model.fit(source.map(augment).apply(ready), epochs=9)",
    "files that are listed": READ
    + "model.fit(tf.data.Dataset.list_files('d/*').map(lambda path: read(path, 0)).cache().batch(8), epochs=9)",
    "files that are listed, shuffled, repeated once": READ
    + "ds = tf.data.Dataset.list_files('d/*', shuffle=True).repeat(1).map(lambda path: read(path, 0))\n"
    + "model.fit(ds.batch(8).prefetch(2).cache(), epochs=9)",
    "a random map of what is repeated once": "model.fit(source.repeat(1).map(augment).cache().batch(8), epochs=9)",
    "a loader that shuffles": "ds = tf.keras.utils.text_dataset_from_directory('d')\n"
    "model.fit(ds.map(lambda a, b: (a, b)).cache().prefetch(1), epochs=9)",
    "a loader that is told to shuffle": "ds = tf.keras.preprocessing.image_dataset_from_directory('d', shuffle=True, seed=1)\n"
    "model.fit(ds.cache(), epochs=9)",
    "an object that is called, with a branch that its constructor turns on": "class Load:\n"
    "    def __init__(self, noisy):\n        self.noisy = noisy\n    def __call__(self, a, b):\n"
    "        if self.noisy:\n            a, b = augment(a, b)\n        return a, b\nplain = Load(noisy=False)\n"
    "model.fit(source.map(Load(noisy=True)).cache().batch(8), validation_data=source.map(plain).batch(8), epochs=9)",
    "the training part of a loader": "train, valid = tf.keras.utils.image_dataset_from_directory('d', subset='both', seed=1,"
    " validation_split=0.2)\nmodel.fit(train.cache(), validation_data=valid.cache(), epochs=9)",
    "a table that is shuffled": "table = tf.data.experimental.make_csv_dataset('t.csv', 64, num_epochs=1)\n"
    "model.fit(table.map(f).cache(), epochs=9)",
    "records that are shuffled": "rows = tf.data.experimental.make_batched_features_dataset('r*', 64, FEATURES, num_epochs=1)\n"
    "model.fit(rows.cache(), epochs=9)",
    "function": "def make():\n    return source.map(augment).cache()\nmodel.fit(make().batch(4), epochs=3)",
    "parameter": "def train(ds):\n    model.fit(ds.cache().batch(4), epochs=3)\ntrain(source.map(augment))",
    "attribute": "class T:\n    def __init__(self):\n        self.ds = source.map(augment).cache().batch(4)\n"
    "    def run(self):\n        model.fit(self.ds, epochs=2)",
    "epochs of a custom loop": LOOP + "ds = source.shuffle(99).cache().batch(8)\nfor _ in range(9):\n"
    "    for a, b in ds:\n        step(a, b)",
    "epochs three calls around a function": LOOP + "def epoch(ds):\n    for a, b in ds:\n        step(a, b)\n"
    "def train(ds):\n    epoch(ds)\nclass Run:\n    def go(self, ds):\n        train(ds)\n"
    "ds = source.map(augment).cache().batch(8)\nrun = Run()\nfor _ in range(9):\n    run.go(ds)",
    "epochs around a function": LOOP + "def epoch(ds):\n    for a, b in ds:\n        step(a, b)\n"
    "ds = source.map(augment).cache().batch(8)\nfor _ in range(9):\n    epoch(ds)",
}
SILENT = {
    "a take before the cache": READ + "model.fit(source.map(read).take(50).cache().batch(8), epochs=9)",
    "a take of all": READ + "names = tf.data.Dataset.from_tensor_slices((tf.fill([60], 'n'), tf.zeros([60])))\n"
    "model.fit(names.map(read).cache().take(60).batch(8), epochs=9)",
    "the other part fills the cache": READ + "rows = source.map(read).cache()\n"
    "model.fit(rows.take(50).batch(8), validation_data=rows.skip(50).batch(8), epochs=9)",
    "a shuffle that fills the cache": READ
    + "model.fit(source.map(read).cache().shuffle(999).take(50).batch(8), epochs=9)",
    "cached again": READ + "model.fit(source.map(read).cache().take(50).cache().batch(8), epochs=9)",
    "a take of other rows in each epoch": READ
    + "model.fit(source.shuffle(99).map(read).cache().take(50).batch(8), epochs=9)",
    "other numbers in each epoch": "model.fit(source.map(augment).cache().take(50).batch(8), epochs=9)",
    "a few, to try": READ + "model.fit(source.map(read).cache().batch(8).take(2), epochs=9)",
    "one epoch of a take": READ + "model.fit(source.map(read).cache().take(50).batch(8))",
    "no work before the cache": "model.fit(source.cache().take(50).batch(8), epochs=9)",
    "a cache of its own in each of the runs around it": LOOP
    + "def epoch(ds):\n    for a, b in ds:\n        step(a, b)\n"
    "def train(rows):\n    epoch(rows.map(augment).cache().batch(8))\nfor _ in range(9):\n    train(source)",
    "cache before zip, random map after it": "model.fit(tf.data.Dataset.zip((source.cache(), source.cache()))"
    ".map(lambda a, b: augment(*a)).batch(8), epochs=9)",
    "either by flags": MADE + "train = make(x, augmented=True)\nval = make(x, cached=True)\n"
    "model.fit(train, validation_data=val, epochs=9)\nmodel.fit(make(x, cached=True), epochs=9)",
    "cache first": "model.fit(source.cache().shuffle(99).map(augment).batch(8), epochs=9)",
    "deterministic map": "model.fit(source.map(lambda a, b: (a / 255, b)).cache().shuffle(9).batch(8), epochs=9)",
    "no cache": "model.fit(source.shuffle(99).map(augment).batch(8), epochs=9)",
    "shuffled again": "model.fit(source.shuffle(99).cache().shuffle(99).batch(8), epochs=9)",
    "order kept on purpose": "model.fit(source.shuffle(99, reshuffle_each_iteration=False).cache().batch(8), epochs=9)",
    "split": "model.fit(source.shuffle(99).take(90).cache().batch(8), epochs=9)",
    "split by skip": "model.fit(source.shuffle(99).skip(90).map(f).cache().batch(8), epochs=9)",
    "one epoch": "model.fit(source.map(augment).cache().batch(8))",
    "one epoch written out": "model.fit(source.shuffle(99).cache().batch(8), epochs=1)",
    "evaluated": "model.evaluate(source.map(augment).cache().batch(8))",
    "validation": "model.fit(source.batch(8), validation_data=source.shuffle(9).cache().batch(8), epochs=9)",
    "repeated before": "model.fit(source.shuffle(99).repeat().cache().batch(8), epochs=9, steps_per_epoch=9)",
    "one batch as fake data": "model.fit(source.map(augment).batch(8).take(1).cache().repeat(), steps_per_epoch=9)",
    "stateless": "def f(a, b):\n    return tf.image.stateless_random_flip_left_right(a, (1, 2)), b\n"
    "model.fit(source.map(f).cache().batch(8), epochs=9)",
    "seed of its own": "model.fit(source.map(lambda a, b: (a + tf.random.normal([3], seed=1), b)).cache(), epochs=9)",
    "global seed": "tf.random.set_seed(1)\nmodel.fit(source.map(augment).cache().batch(8), epochs=9)",
    "branch that may be off": "def load(a, b, train):\n    if train:\n        a, b = augment(a, b)\n    return a, b\n"
    "def make(train):\n    return source.map(lambda a, b: load(a, b, train)).cache()\nmodel.fit(make(flag), epochs=9)",
    "branch that is off": "def load(a, b, train):\n    return augment(a, b) if train else (a, b)\n"
    "model.fit(source.map(lambda a, b: load(a, b, False)).cache(), epochs=9)",
    "layer not training": "flip = tf.keras.layers.RandomFlip()\n"
    "model.fit(source.map(lambda a, b: (flip(a, training=False), b)).cache(), epochs=9)",
    "data of random numbers": "model.fit(tf.data.Dataset.range(9).map(lambda i: tf.random.normal([4])).cache().batch(3), epochs=9)",
    "a function that is applied, and shuffles": "def ready(rows):\n    return rows.shuffle(99).batch(8)\n"
    "model.fit(source.shuffle(99).cache().apply(ready), epochs=9)",
    "files that are listed in their order": READ
    + "ds = tf.data.Dataset.list_files('d/*', shuffle=False).map(lambda path: read(path, 0))\n"
    + "model.fit(ds.cache().batch(8), epochs=9)",
    "files that are listed, and shuffled behind the cache": READ
    + "ds = tf.data.Dataset.list_files('d/*').map(lambda path: read(path, 0)).cache()\n"
    + "model.fit(ds.shuffle(99).batch(8), epochs=9)",
    "files of many records": "ds = tf.data.Dataset.list_files('d/*').interleave(tf.data.TFRecordDataset).map(parse)\n"
    "model.fit(ds.cache().batch(8), epochs=9)",
    "a loader that does not shuffle": "ds = tf.keras.utils.image_dataset_from_directory('d', shuffle=False)\n"
    "model.fit(ds.cache(), epochs=9)",
    "a loader by a flag": "ds = tf.keras.utils.image_dataset_from_directory('d', shuffle=flag)\nmodel.fit(ds.cache(), epochs=9)",
    "a loader split": "ds = tf.keras.utils.image_dataset_from_directory('d')\nmodel.fit(ds.skip(9).cache(), epochs=9)",
    "a loader of windows": "ds = tf.keras.utils.timeseries_dataset_from_array(x, y, 9)\nmodel.fit(ds.cache(), epochs=9)",
    "an object that is called, with a branch that its constructor turns off": "class Load:\n"
    "    def __init__(self, noisy):\n        self.noisy = noisy\n    def __call__(self, a, b):\n"
    "        if self.noisy:\n            a, b = augment(a, b)\n        return a, b\nnoisy = Load(noisy=True)\n"
    "model.fit(source.cache().map(noisy), epochs=9)\nmodel.fit(source.map(Load(noisy=False)).cache().batch(8), epochs=9)",
    "a branch by the element": "def load(a, marked):\n    if marked:\n        a, marked = augment(a, marked)\n"
    "    return a, marked\nmodel.fit(source.map(load, 4).cache().batch(8), epochs=9)",
    "a branch by a component of a map's name": "def load(a, num_parallel_calls):\n    if num_parallel_calls:\n"
    "        a = augment(a, 0)[0]\n    return a, 1\n"
    "model.fit(source.map(load, num_parallel_calls=4).cache().batch(8), epochs=9)",
    "the other part of a loader": "rest, train = tf.keras.utils.image_dataset_from_directory('d', subset='both', seed=1,"
    " validation_split=0.2)\nmodel.fit(train.cache(), epochs=9)",
    "a table in its order": "table = tf.data.experimental.make_csv_dataset('t.csv', 64, num_epochs=1, shuffle=False)\n"
    "model.fit(table.cache(), epochs=9)",
    "a table without an end": "table = tf.data.experimental.make_csv_dataset('t.csv', 64)\n"
    "model.fit(table.cache(), epochs=9, steps_per_epoch=9)",
    "a table repeated by a flag": "table = tf.data.experimental.make_csv_dataset('t.csv', 64, num_epochs=n)\n"
    "model.fit(table.cache(), epochs=9)",
    "a table shuffled after": "table = tf.data.experimental.make_csv_dataset('t.csv', 64, num_epochs=1)\n"
    "model.fit(table.cache().shuffle(9), epochs=9)",
    "unknown map": "from elsewhere import f\nmodel.fit(source.map(f).cache().batch(8), epochs=9)",
    "unknown dataset": "from elsewhere import data\nmodel.fit(data.shuffle(9).cache().batch(8), epochs=9)",
    "loader": "model.fit(tf.keras.utils.image_dataset_from_directory('d').cache().shuffle(9), epochs=9)",
    "one pass of a loop": LOOP + "for a, b in source.shuffle(99).cache().batch(8):\n    step(a, b)",
    "made again every epoch": LOOP + "def make():\n    return source.shuffle(99).cache().batch(8)\nfor _ in range(9):\n"
    "    for a, b in make():\n        step(a, b)",
    "made again by the epoch": LOOP
    + "def epoch():\n    for a, b in source.shuffle(99).cache().batch(8):\n        step(a, b)\n"
    "for _ in range(9):\n    epoch()",
    "made again for the epoch": LOOP + "def make():\n    return source.shuffle(99).cache().batch(8)\n"
    "def epoch(ds):\n    for a, b in ds:\n        step(a, b)\nfor _ in range(9):\n    epoch(make())",
}


def _table(cases: dict[str, str]) -> pytest.MarkDecorator:
    return pytest.mark.parametrize("code", cases.values(), ids=cases.keys())


@_table(FOUND)
def test_is_found(code: str, tmp_path: Path) -> None:
    """Protects recall: what is drawn before a cache, in `fit` and in loops, however far the draw is away."""
    assert "TFG306" in codes(HEAD + code, tmp_path)


@_table(SILENT)
def test_is_silent(code: str, tmp_path: Path) -> None:
    """Protects precision: what is the same in every epoch anyway, on purpose, or read once."""
    assert "TFG306" not in codes(HEAD + code, tmp_path)


def test_in_another_file(tmp_path: Path) -> None:
    """Protects the finding's place in the file that builds the pipeline, and the note on the draw."""
    (tmp_path / "data.py").write_text(
        "import tensorflow as tf\n\n\ndef noisy(a):\n    return a + tf.random.normal([3])\n\n\ndef load(x):\n"
        "    return tf.data.Dataset.from_tensor_slices(x).map(noisy).cache().batch(9)\n"
    )
    code = HEAD + "from data import load\nmodel.fit(load(x), epochs=4)"
    assert ("TFG306 data.py", 9) in found(code, tmp_path)
    (finding,) = [f for rule, f in findings(code, tmp_path) if rule.code == "TFG306"]
    assert [note.message for note in finding.notes] == ["drawn once for each sample", "this training consumes it"]


def test_in_a_notebook(tmp_path: Path) -> None:
    """Protects pipelines over several cells, and one finding for two trainings."""
    texts = (HEAD, "ds = source.shuffle(9).cache().batch(4)", "model.fit(ds, epochs=2)", "model.fit(ds, epochs=3)")
    names = [rule.code for rule, _ in findings(notebook(*texts), tmp_path, name="n.ipynb")]
    assert names.count("TFG306") == 1


def test_no_fix_inside_of_a_loader(tmp_path: Path) -> None:
    """Protects the code of a loader's call: nothing can go before the shuffle that it makes."""
    code = HEAD + "model.fit(tf.keras.utils.image_dataset_from_directory('d').cache(), epochs=9)"
    (finding,) = [f for rule, f in findings(code, tmp_path) if rule.code == "TFG306"]
    assert finding.fix is None


@pytest.mark.slow
def test_a_cache_freezes_what_was_drawn(tmp_path: Path) -> None:
    """The truth of TFG306 with the installed TensorFlow: also that a seed repeats itself without a cache."""
    tf = pytest.importorskip("tensorflow")

    def is_frozen(dataset: object) -> bool:
        first, second = ([str(element.numpy()) for element in dataset] for _ in range(2))  # type: ignore[attr-defined]
        return first == second

    numbers = tf.data.Dataset.range(50)
    tf.random.set_seed(None)  # another test may have set one
    drawn = numbers.map(lambda x: tf.random.uniform(()))
    assert (is_frozen(numbers.shuffle(50)), is_frozen(numbers.shuffle(50).cache())) == (False, True)
    assert (is_frozen(drawn), is_frozen(drawn.cache())) == (False, True)
    assert not is_frozen(numbers.shuffle(50).cache().shuffle(50))
    for kind in "ab":
        (tmp_path / kind).mkdir()
        for number in range(20):
            (tmp_path / kind / f"{number}.txt").write_text(f"{kind}{number}")
    texts = tf.keras.utils.text_dataset_from_directory(tmp_path, batch_size=4, labels=None, seed=1)
    assert (is_frozen(texts), is_frozen(texts.cache())) == (False, True)
    (tmp_path / "t.csv").write_text("n\n" + "".join(f"{number}\n" for number in range(20)))
    table = tf.data.experimental.make_csv_dataset(str(tmp_path / "t.csv"), 4, num_epochs=1).map(lambda row: row["n"])
    assert (is_frozen(table), is_frozen(table.cache())) == (False, True)
    names = tf.data.Dataset.list_files(str(tmp_path / "a" / "*"))
    assert (is_frozen(names), is_frozen(names.repeat(1).cache())) == (False, True)
    unshuffled = tf.keras.utils.text_dataset_from_directory(tmp_path, batch_size=4, labels=None, shuffle=False)
    assert is_frozen(unshuffled)
    assert is_frozen(numbers.map(lambda x: tf.random.uniform((), seed=1)))


def test_a_cache_is_complete_only_after_a_whole_pass() -> None:
    """The truth of the take that ends too early, with the installed TensorFlow, and of the readers that complete it."""
    tf = pytest.importorskip("tensorflow")
    runs = 0

    def count(number: object) -> object:
        nonlocal runs
        runs += 1
        return number

    def passes(make: Callable[[Any], Any]) -> list[int]:
        made = make(tf.data.Dataset.range(60).map(lambda x: tf.numpy_function(count, [x], tf.int64)))
        counts = []
        for _ in range(3):
            start = runs
            for _element in made:
                pass
            counts.append(runs - start)
        return counts

    assert passes(lambda data: data.cache().take(10)) == [10, 10, 10]
    assert passes(lambda data: data.cache().batch(5).take(2)) == [10, 10, 10]
    assert passes(lambda data: data.take(10).cache()) == [10, 0, 0]
    assert passes(lambda data: data.cache().take(60)) == [60, 0, 0]
    assert passes(lambda data: data.cache().shuffle(60).take(10)) == [60, 0, 0]


MOVED = {
    "a take that leaves a cache unfinished": (
        "source.map(big).cache().take(40).batch(8)",
        "source.map(big).take(40).cache().batch(8)",
    ),
    "a shuffle right before the batch": (
        "source.map(big).shuffle(99).batch(8).cache()",
        "source.map(big).cache().shuffle(99).batch(8)",
    ),
    "maps after the shuffle": (
        "source.shuffle(99).map(big).cache().batch(8)",
        "source.map(big).cache().shuffle(99).batch(8)",
    ),
    "maps and a batch after the shuffle": (
        "source.shuffle(99).map(big).map(flat).batch(8).cache().prefetch(2)",
        "source.map(big).map(flat).cache().shuffle(99).batch(8).prefetch(2)",
    ),
    "a map of batches after the shuffle": ("source.shuffle(99).batch(8).map(big).cache()", None),
    "a map of batches that costs little": (
        "source.shuffle(99).batch(8).map(half).cache()",
        "source.cache().shuffle(99).batch(8).map(half)",
    ),
    "a random map": ("source.map(augment).map(big).cache().batch(8)", "source.cache().map(augment).map(big).batch(8)"),
}
_METHODS = re.compile(r"(?:map|cache|take|shuffle|batch|prefetch)\(\w*\)")
PURE = """
def big(a, b):
    return tf.image.resize(a, (9, 9)), b
def flat(a, b):
    return tf.reshape(a, [-1]), b
def half(a, b):
    return a / 2, b
"""


@pytest.mark.parametrize(("before", "after"), MOVED.values(), ids=MOVED.keys())
@pytest.mark.parametrize("by_statements", [False, True])
def test_what_maps_made_stays_cached(before: str, after: str | None, by_statements: bool, tmp_path: Path) -> None:
    """Protects the time of each epoch: a cache above the maps that it was below would have them run again in all."""

    def program(chain: str) -> str:
        calls = _METHODS.findall(chain)
        lines = ["ds = source", *(f"ds = ds.{call}" for call in calls)] if by_statements else [f"ds = {chain}"]
        return "\n".join([HEAD, PURE, *lines, "model.fit(ds, epochs=5)\n"])

    text = fixed(program(before), tmp_path, only="TFG306")
    assert ".".join(["source", *_METHODS.findall(text.partition("ds = ")[2])]) == (after or before)
