"""TFG301, TFG302, TFG308: where a prefetch is missing or misplaced, and results thrown away."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from checks import NEWEST, codes, findings, fixed, found, notebook

from tflint_gpu.targets import Target

HEAD = """
import tensorflow as tf
AUTOTUNE = tf.data.AUTOTUNE
model = tf.keras.Sequential([tf.keras.layers.Dense(1)])
source = tf.data.Dataset.range(64)
options = tf.data.Options()
"""
OLD = Target(tensorflow=(2, 10), keras=2, source="settings")

MISPLACED = {
    "before batch": "model.fit(source.prefetch(1).batch(32))",
    "before map": "model.fit(source.batch(4).prefetch(AUTOTUNE).map(f))",
    "several statements": "ds = source.prefetch(1)\nds = ds.shuffle(8)\nds = ds.batch(4)\nmodel.fit(ds)",
    "a function": "def make():\n    ds = source.prefetch(1)\n    return ds.batch(4)\nmodel.fit(make())",
    "batched by the caller": "def make():\n    return source.prefetch(1)\nmodel.fit(make().batch(4))",
    "one branch": "ds = source.prefetch(1)\nif big:\n    ds = ds.batch(64)\nmodel.fit(ds)",
    "loop": "for x in source.prefetch(1).batch(4):\n    print(x)",
    "attribute": "class T:\n    def __init__(self):\n        self.ds = source.prefetch(1).batch(4)\n"
    "    def run(self):\n        for x in self.ds:\n            print(x)",
    "never consumed here": "final = source.prefetch(1).batch(4)",
    "parameter with AUTOTUNE": "def run(ds):\n    for x in ds.prefetch(tf.data.AUTOTUNE).map(f):\n        print(x)",
    "evaluated": "model.evaluate(source.prefetch(2).batch(2))",
    "validation data": "model.fit(source.batch(2), validation_data=source.prefetch(2).batch(2))",
    "tuple of pipelines": "def make():\n    ds = source.prefetch(1)\n    return ds.batch(4), source.batch(4).prefetch(1)\n"
    "train, val = make()\nmodel.fit(train, validation_data=val)",
    "second of a tuple": "def make():\n    return source.batch(4), source.prefetch(1).batch(4)\n"
    "train, val = make()\nmodel.fit(train)\nmodel.evaluate(val)",
    "get_next": "it = iter(source.prefetch(1).batch(4))\nfor _ in range(99):\n    print(it.get_next())",
    "tuple and get_next": "def make():\n    return source.prefetch(1).batch(4), source.batch(4)\n"
    "train, val = make()\nit = iter(train)\nfor _ in range(99):\n    print(it.get_next())",
    "dictionary of pipelines": "def make():\n    return {'train': source.prefetch(1).batch(4)}\nmodel.fit(make()['train'])",
    "comprehension": "sums = [tf.reduce_sum(x) for x in source.prefetch(1).batch(4)]",
}
WELL_PLACED = {
    "last": "model.fit(source.map(f).batch(4).prefetch(AUTOTUNE))",
    "bookkeeping after": "model.fit(source.batch(4).prefetch(1).repeat(2).take(9).skip(1).enumerate())",
    "options after": "model.fit(source.batch(4).prefetch(1).with_options(options))",
    "twice": "model.fit(source.prefetch(1).batch(4).prefetch(1))",
    "prefetched by the caller": "def make():\n    return source.prefetch(1).batch(4)\nmodel.fit(make().prefetch(2))",
    "inside interleave": "model.fit(source.interleave(lambda f: tf.data.TFRecordDataset(f).prefetch(1)).batch(4).prefetch(1))",
    "unknown object": "from elsewhere import loader\nfor x in loader.prefetch(2).batch(4):\n    print(x)",
    "distributed": "s = tf.distribute.MirroredStrategy()\n"
    "for x in s.experimental_distribute_dataset(source.prefetch(1).batch(4)):\n    print(x)",
    "a glance": "print(next(iter(source.prefetch(1).batch(4))))",
    "returned to unknown callers": "def make():\n    return source.prefetch(1).batch(4)",
    "tuple of pipelines": "def make():\n    return source.batch(4).prefetch(1), source.batch(4).prefetch(1)\n"
    "train, val = make()\nmodel.fit(train, validation_data=val)",
    "get_next": "it = iter(source.batch(4).prefetch(1))\nfor _ in range(99):\n    print(it.get_next())",
    "one get_next": "it = iter(source.prefetch(1).batch(4))\nprint(it.get_next())",
    "get_next of another object": "from elsewhere import queue\nfor _ in range(99):\n    print(queue.get_next())",
    "only zip after": "both = tf.data.Dataset.zip((source.batch(4).prefetch(1), source.batch(4).prefetch(1)))\nmodel.fit(both)",
    "zip and repeat": "a = source.batch(4).prefetch(1)\nfor x, y in tf.data.Dataset.zip((a, a)).repeat(2).take(9):\n"
    "    print(x)",
    "enumerate after": "for i, x in source.batch(4).prefetch(1).enumerate():\n    print(x)",
    "offline generator": "with tf.io.TFRecordWriter('out') as writer:\n"
    "    for x in source.prefetch(1).map(tf.io.serialize_tensor):\n        writer.write(x.numpy())",
    "offline generator, saved": "ds = source.prefetch(1).map(f)\nds.save('out')",
    "offline generator of files": "for i, x in enumerate(source.prefetch(1).map(f)):\n    tf.io.write_file(f'{i}.txt', x)",
    "offline generator of arrays": "import numpy as np\nfor i, x in enumerate(source.prefetch(1).batch(4)):\n    np.save(f'{i}.npy', x)",
    "distributed in a loop": "s = tf.distribute.MirroredStrategy()\n"
    "ds = s.experimental_distribute_dataset(source.prefetch(1).batch(4))\nfor x in ds:\n"
    "    s.run(step, args=(x,))",
    "distributed from a function": "s = tf.distribute.MirroredStrategy()\n"
    "ds = s.distribute_datasets_from_function(lambda c: source.prefetch(1).batch(4))\nfor x in ds:\n"
    "    s.run(step, args=(x,))",
}
OFF = "options.experimental_optimization.apply_default_optimizations = False\n"
NO_INJECTION = "options.experimental_optimization.inject_prefetch = False\n"
MADE = """
def make(ds, training=True):
    ds = ds.map(f).batch(8)
    if training:
        ds = ds.prefetch(1)
    return ds
"""
MISSING = {
    "the branch without it": OFF + MADE + "model.fit(make(source.with_options(options), False))",
    "defaults off": OFF + "model.fit(source.map(f).batch(8).with_options(options))",
    "generator without injection": NO_INJECTION
    + "model.fit(tf.data.Dataset.from_generator(g, output_types=tf.int32).with_options(options).batch(8))",
}
NOT_MISSING = {
    "the branch with it": OFF + MADE + "model.fit(make(source.with_options(options)))",
    "default options": "model.fit(source.map(f).batch(8))",
    "prefetched": OFF + "model.fit(source.map(f).batch(8).with_options(options).prefetch(1))",
    "options of another dataset": OFF + "other = source.with_options(options)\nmodel.fit(source.map(f).batch(8))",
    "stateless map without injection": NO_INJECTION + "model.fit(source.batch(8).map(f).with_options(options))",
    "last operation in parallel": OFF
    + "model.fit(source.batch(8).map(f, num_parallel_calls=AUTOTUNE).with_options(options))",
    "injection on by hand": OFF
    + "options.experimental_optimization.inject_prefetch = True\n"
    + "model.fit(source.map(f).batch(8).with_options(options))",
    "evaluation": OFF + "model.evaluate(source.map(f).batch(8).with_options(options))",
    "unknown option": "options.experimental_optimization.apply_default_optimizations = flag\n"
    + "model.fit(source.map(f).batch(8).with_options(options))",
}
DISCARDED = {
    "literal": "source.prefetch(1)",
    "chain": "source.map(f).batch(2)",
    "through a variable": "ds = source.batch(2)\nds.shuffle(10)",
    "reader": "ds = tf.data.TFRecordDataset('f')\nds.repeat()",
    "inside a function": "def make(path):\n    ds = tf.data.TextLineDataset(path)\n    ds.map(f, num_parallel_calls=AUTOTUNE)\n    return ds",
    "handed on by an object": "class Rows:\n    def __init__(self, kept):\n        self.kept = kept\n"
    "    def __getattr__(self, name):\n        return getattr(self.kept, name)\nrows = Rows(source)\nrows.shuffle(9)",
    "parameter with AUTOTUNE": "def tune(ds):\n    ds.map(f, num_parallel_calls=tf.data.AUTOTUNE)\n    return ds",
}
OWN = (
    "class Dataset:\n    def __init__(self):\n        self.items = []\n    def apply(self, f):\n"
    "        self.items = [f(i) for i in self.items]\n    def map(self, f):\n"
    "        self.items = [f(i) for i in self.items]\n    def shuffle(self, n):\n        self.items.sort()\n"
    "    def batch(self, n):\n        self.n = n\n"
)
NOT_DISCARDED = {
    "assigned": "ds = source.batch(2)",
    "returned": "def make():\n    return source.batch(2)",
    "argument": "print(source.batch(2))",
    "another object": "import random\nrandom.shuffle([1])\nitems = {}\nitems.update(a=1)",
    "pandas": "import pandas as pd\ndf = pd.DataFrame()\ndf.filter(['a'])\ndf.map(f)",
    "unknown parameter": "def go(q):\n    q.batch(2)",
    "terminal": "source.save('x')",
    "own class": OWN + "ds = Dataset()\nds.apply(f)\nds.map(f)\nds.shuffle(3)\nds.batch(2)",
    "own class as an attribute": OWN
    + "class T:\n    def __init__(self):\n        self.ds = Dataset()\n    def go(self):\n"
    "        self.ds.shuffle(3)\n        self.ds.batch(2)",
    "handed on to something else": OWN + "class Rows:\n    def __init__(self, kept):\n        self.kept = kept\n"
    "    def __getattr__(self, name):\n        return getattr(self.kept, name)\nrows = Rows(Dataset())\nrows.shuffle(9)",
    "own class around tf.data": "class Dataset:\n    def __init__(self):\n        self.ds = tf.data.Dataset.range(9)\n"
    "    def batch(self, n):\n        self.ds = self.ds.batch(n)\n    def map(self, f):\n"
    "        self.ds = self.ds.map(f, num_parallel_calls=AUTOTUNE)\nds = Dataset()\nds.map(f)\nds.batch(2)",
    "own class with AUTOTUNE": "class Dataset:\n    def __init__(self):\n        self.items = []\n    def apply(self, f):\n"
    "        self.items = [f(i) for i in self.items]\n    def map(self, f, num_parallel_calls=None):\n"
    "        self.items = [f(i) for i in self.items]\n    def shuffle(self, n):\n        self.items.sort()\n"
    "    def batch(self, n):\n        self.n = n\ndef go(ds):\n"
    "    ds.map(f, num_parallel_calls=tf.data.AUTOTUNE)\ngo(Dataset())",
}


def _table(cases: dict[str, str]) -> pytest.MarkDecorator:
    return pytest.mark.parametrize("code", cases.values(), ids=cases.keys())


@_table(MISPLACED)
def test_misplaced_prefetch_is_found(code: str, tmp_path: Path) -> None:
    """Protects recall of TFG302 along every way from a prefetch to a consumer."""
    assert codes(HEAD + code, tmp_path) == ["TFG302"]


@_table(WELL_PLACED)
def test_well_placed_prefetch_is_not_found(code: str, tmp_path: Path) -> None:
    """Protects precision of TFG302: cheap bookkeeping, later prefetches, unknown consumers."""
    assert "TFG302" not in codes(HEAD + code, tmp_path)


@_table(MISSING)
def test_missing_prefetch_is_found(code: str, tmp_path: Path) -> None:
    """Protects recall of TFG301 where the options switch TensorFlow's own prefetch off."""
    assert codes(HEAD + code, tmp_path) == ["TFG301"]


@_table(NOT_MISSING)
def test_superfluous_prefetch_is_not_asked_for(code: str, tmp_path: Path) -> None:
    """Protects truth: since 2.11 a missing prefetch alone costs nothing."""
    assert "TFG301" not in codes(HEAD + code, tmp_path)


def test_missing_prefetch_depends_on_the_version(tmp_path: Path) -> None:
    """Protects the version gate: a last sequential map lacks a prefetch before 2.11 only."""
    code = HEAD + "def f(x):\n    return x + tf.random.uniform([])\nmodel.fit(source.batch(8).map(f))"
    assert "TFG301" in codes(code, tmp_path, target=OLD)
    assert "TFG301" not in codes(code, tmp_path, target=NEWEST)
    plain = HEAD + "def f(x):\n    return x * 2\nmodel.fit(source.batch(8).map(f))"
    assert codes(plain, tmp_path, target=OLD) == []  # tf.data runs it in parallel
    assert codes(plain, tmp_path, target=Target((2, 4), keras=2, source="settings")) == ["TFG301"]
    assert codes(HEAD + "model.fit(source.map(f).batch(8))", tmp_path, target=OLD) == []


def test_misplaced_prefetch_says_what_the_version_does(tmp_path: Path) -> None:
    """Protects truth: advice without a predicted slowdown where tf.data mends it by itself."""
    code = HEAD + "model.fit(source.prefetch(1).batch(32))"
    (new,) = [f for r, f in findings(code, tmp_path) if r.code == "TFG302"]
    (old,) = [f for r, f in findings(code, tmp_path, target=OLD) if r.code == "TFG302"]
    off = OFF + "model.fit(source.prefetch(1).batch(32).with_options(options))"
    (switched,) = [f for r, f in findings(HEAD + off, tmp_path) if r.code == "TFG302"]
    assert (new.severity, new.prediction.kind) == ("advice", "no-effect")
    assert "2.21" in new.message
    assert (old.severity, old.prediction.kind) == ("warning", "slowdown")
    assert (switched.severity, switched.prediction.kind) == ("warning", "slowdown")


APPLIED = {
    "moved": "data = numbers.apply(tf.data.experimental.prefetch_to_device('/CPU:0')).batch(4)\n",
    "moved to a statement": "data = numbers.apply(tf.data.experimental.prefetch_to_device('/CPU:0'))\n"
    "data = data.map(lambda n: n + 1).batch(4)\n",
    "first of its line": "data = (\n    numbers\n    .apply(tf.data.experimental.prefetch_to_device('/CPU:0'))\n"
    "    .batch(4)\n)\n",
    "moved behind one": "data = numbers.prefetch(2).batch(4).apply(tf.data.experimental.assert_cardinality(8))\n",
    "moved behind both": "data = numbers.prefetch(2).apply(tf.data.experimental.map_and_batch(lambda n: n + 1, 4))\n",
}


@_table(APPLIED)
def test_fix_of_what_is_applied(code: str, tmp_path: Path) -> None:
    """Protects programs with `apply`: the call of the method moves, not the function that it is given."""
    tf = pytest.importorskip("tensorflow")
    program = "import tensorflow as tf\nnumbers = tf.data.Dataset.range(32)\n" + code + "result = []\n"
    program += "for batch in data:\n    result.append(batch.numpy().tolist())\n"
    after = fixed(program, tmp_path, "TFG302")
    assert after != program
    results: list[Any] = []
    for text in (program, after):
        scope: dict[str, Any] = {"tf": tf}
        exec(compile(text, "program.py", "exec"), scope)
        results.append(scope["result"])
    assert results[0] == results[1]
    assert len(results[0]) == 8
    assert "TFG302" not in codes(after, tmp_path)


def test_place_and_fix_of_a_chain_over_several_lines(tmp_path: Path) -> None:
    """Protects the finding's place, the method's name, and the layout of the rest of the chain."""
    code = HEAD + "ds = (\n    source\n    .prefetch(1)  # first\n    .map(f)\n    .batch(4)\n)\nmodel.fit(ds)\n"
    assert ("TFG302", 9) in found(code, tmp_path)
    result = fixed(code, tmp_path, "TFG302")
    assert result.endswith(
        "ds = (\n    source  # first\n    .map(f)\n    .batch(4)\n    .prefetch(1)\n)\nmodel.fit(ds)\n"
    )
    assert "TFG302" not in codes(result, tmp_path)


@_table(DISCARDED)
def test_discarded_dataset_is_found(code: str, tmp_path: Path) -> None:
    """Protects recall of TFG308."""
    assert codes(HEAD + code, tmp_path, ignore=("TFG401", "TFG302")) == ["TFG308"]


REPAIRED = {
    "ds.shuffle(4)\nds.batch(2)": "ds = ds.shuffle(4)\nds = ds.batch(2)",
    "ds.repeat(3)": "ds = ds.repeat(3)",
    "ds.map(lambda x, y: (x / 2, y))": "ds = ds.map(lambda x, y: (x / 2, y))",
    "ds.batch(2)\nds = ds.shuffle(3)": "ds = ds.batch(2)\nds = ds.shuffle(3)",
}
NOT_REPAIRED = {
    "an object around it": "class Rows:\n    kept = ds\n    def __getattr__(self, name):\n"
    "        return getattr(self.kept, name)\nrows = Rows()\nrows.shuffle(9)",
    "no end": "ds.repeat()\nfor x, y in ds:\n    print(x)",
    "batches of batches, before": "ds = ds.batch(2)\nds.batch(2)",
    "batches of batches, after": "ds.batch(2)\nmodel.fit(ds.shuffle(9).batch(3))",
    "fewer components": "ds.map(lambda x, y: x)\nfor x, y in ds:\n    print(x)",
    "other components": "ds.map(lambda x, y: {'x': x, 'y': y})\nfor x, y in ds:\n    print(x)",
    "a name of another scope": "def prepare():\n    ds.shuffle(4)\nprepare()",
    "a class": "from tensorflow.data import Dataset\nDataset.range(3).shuffle(3)",
}


@pytest.mark.parametrize(("code", "expected"), REPAIRED.items(), ids=REPAIRED)
def test_a_result_is_assigned(code: str, expected: str, tmp_path: Path) -> None:
    head = HEAD + "ds = tf.data.Dataset.from_tensor_slices((load(), load()))\n"
    assert fixed(head + code, tmp_path, "TFG308") == head + expected


@_table(NOT_REPAIRED)
def test_a_result_is_not_assigned_where_the_code_after_it_would_fail(code: str, tmp_path: Path) -> None:
    """Protects a program from a fix after which it stops, or never ends."""
    head = HEAD + "ds = tf.data.Dataset.from_tensor_slices((load(), load()))\n"
    assert "TFG308" in codes(head + code, tmp_path)
    assert fixed(head + code, tmp_path, "TFG308") == head + code


@_table(NOT_DISCARDED)
def test_used_results_are_not_found(code: str, tmp_path: Path) -> None:
    """Protects precision of TFG308: other objects have methods of the same names."""
    assert "TFG308" not in codes(HEAD + code, tmp_path)


SHOWN = {
    "alone": "source.take(3)",
    "over lines, among comments": "# look\nsource.shuffle(\n    64\n).batch(2)  # of pairs\n\n# see above\n",
}
NOT_SHOWN = {
    "last of several": "n = 8\nsource.batch(n)",
    "before another statement": "source.shuffle(64)\nsource.take(1)",
    "before a magic": "source.shuffle(64)\n%time train()",
    "a semicolon": "source.shuffle(64);",
    "in a loop": "for n in (2, 4):\n    source.batch(n)",
    "in a function": "def prepare():\n    source.shuffle(64)\nprepare()",
}


@_table(SHOWN)
def test_what_a_cell_shows_is_not_thrown_away(code: str, tmp_path: Path) -> None:
    """Protects precision of TFG308: a cell with one expression is there to show its value."""
    found_codes = [code for code, _ in found(notebook(HEAD, code, "print(1)"), tmp_path, "a.ipynb")]
    assert "TFG308" not in found_codes
    assert "TFG308" in codes(HEAD + code, tmp_path)


@_table(NOT_SHOWN)
def test_what_a_cell_does_not_show_is_thrown_away(code: str, tmp_path: Path) -> None:
    assert "TFG308" in {code for code, _ in found(notebook(HEAD, code), tmp_path, "a.ipynb")}


def test_pipeline_over_two_files(tmp_path: Path) -> None:
    """Protects the finding's place in the file that builds the pipeline."""
    (tmp_path / "data.py").write_text(
        "import tensorflow as tf\n\n\ndef load():\n    return tf.data.Dataset.range(9).prefetch(1)\n"
    )
    code = HEAD + "from data import load\nmodel.fit(load().batch(3))"
    assert ("TFG302 data.py", 5) in found(code, tmp_path)


def test_own_dataset_of_another_file_is_not_found(tmp_path: Path) -> None:
    """Protects classes of the project that work in place, where they are in another file."""
    (tmp_path / "data.py").write_text("import tensorflow as tf\n" + OWN)
    code = HEAD + "from data import Dataset\nds = Dataset()\nds.apply(f)\nds.batch(2, drop_remainder=True)\n"
    assert codes(code, tmp_path) == []


def test_pipeline_that_is_written_and_trained_on(tmp_path: Path) -> None:
    """Protects recall: what an offline generator shares with training is found for the training."""
    code = HEAD + "ds = source.prefetch(1).batch(4)\nwith tf.io.TFRecordWriter('out') as writer:\n"
    code += "    for x in ds:\n        writer.write(x.numpy())\n"
    assert codes(code, tmp_path) == []
    assert codes(code + "model.fit(ds)\n", tmp_path) == ["TFG302"]


def test_datasets_are_immutable() -> None:
    """The truth of TFG308: with the installed TensorFlow a discarded operation does nothing."""
    tf = pytest.importorskip("tensorflow")
    dataset = tf.data.Dataset.range(6)
    dataset.batch(3)
    dataset.map(lambda x: -x)
    assert [int(x) for x in dataset] == list(range(6))


def test_moving_a_prefetch_changes_no_element() -> None:
    """The safety of TFG302's fix: same elements in the same order."""
    tf = pytest.importorskip("tensorflow")

    def batches(dataset: object) -> list[list[int]]:
        return [list(map(int, batch)) for batch in dataset]  # type: ignore[attr-defined]

    source = tf.data.Dataset.range(20).shuffle(5, seed=1, reshuffle_each_iteration=False)
    before = source.prefetch(2).map(lambda x: x * 3).batch(4)
    after = source.map(lambda x: x * 3).batch(4).prefetch(2)
    assert batches(before) == batches(after)
