"""TFG305: Python loops that a pipeline runs for every element, and Python functions that have a reason to be there."""

from __future__ import annotations

from pathlib import Path

import pytest
from checks import codes, findings, found, notebook

HEAD = """\
import cv2, librosa, math
import numpy as np
import tensorflow as tf
from elsewhere import tokenizer
model = tf.keras.Sequential([tf.keras.layers.Dense(1)])
rows = tf.data.Dataset.from_tensor_slices(load())
paths = tf.data.Dataset.list_files("*.wav")
def smoothed(row):
    return np.array([row[max(i - 2, 0):i + 1].mean() for i in range(len(row))], np.float32)
def summed(row):
    total = 0.0
    for number in row:
        total += math.sqrt(number) * 0.5
    return np.float32(total)
"""
AUTO = "num_parallel_calls=tf.data.AUTOTUNE"
LOOPING = {  # the row below HEAD
    "in threads": (
        f"ds = rows.map(lambda r: tf.numpy_function(smoothed, [r], tf.float32), {AUTO})\nmodel.fit(ds.batch(32))\n",
        1,
    ),
    "on one thread": (
        "ds = rows.map(lambda r: tf.numpy_function(smoothed, [r], tf.float32))\nmodel.fit(ds.batch(32))\n",
        1,
    ),
    "a for": (
        f"def prep(r):\n    return tf.py_function(summed, [r], tf.float32)\nmodel.fit(rows.map(prep, {AUTO}).batch(32))\n",
        2,
    ),
    "a while": (
        f"def count(r):\n    n = 0\n    while n < len(r) and r[n] > 0:\n        n += 1\n    return np.int64(n)\n"
        f"def prep(r):\n    return tf.numpy_function(count, [r], tf.int64)\nmodel.fit(rows.map(prep, {AUTO}).batch(32))\n",
        7,
    ),
    "by keywords": (
        f"def prep(r):\n    return tf.py_function(func=smoothed, inp=[r], Tout=tf.float32)\nmodel.fit(rows.map(prep, {AUTO}).batch(8))\n",
        2,
    ),
    "in a helper of the helper": (
        f"def prep(r):\n    def f(v):\n        return smoothed(v) * 2\n    return tf.numpy_function(f, [r], tf.float32)\n"
        f"model.fit(rows.map(prep, {AUTO}).batch(8))\n",
        4,
    ),
    "a function as parameter": (
        f"def wrapped(f):\n    return lambda r: tf.numpy_function(f, [r], tf.float32)\n"
        f"model.fit(rows.map(wrapped(smoothed), {AUTO}).batch(8))\n",
        2,
    ),
    "a method": (
        f"class Data:\n    def clean(self, r):\n        return np.array([x for x in r if x > 0])\n    def prep(self, r):\n"
        f"        return tf.numpy_function(self.clean, [r], tf.float32)\n    def build(self):\n        return rows.map(self.prep, {AUTO}).batch(8)\n",
        5,
    ),
    "a dataset of a class": (
        f"class Data:\n    def __init__(self):\n        self.ds = rows\n    def build(self):\n"
        f"        return self.ds.map(lambda r: tf.numpy_function(smoothed, [r], tf.float32), {AUTO}).batch(8)\n",
        5,
    ),
    "in a filter": (
        "ds = rows.filter(lambda r: tf.numpy_function(lambda v: all(x > 0 for x in v), [r], tf.bool))\nmodel.fit(ds.batch(8))\n",
        1,
    ),
    "cached by choice": (
        "def build(cache=False):\n    ds = rows.map(lambda r: tf.numpy_function(smoothed, [r], tf.float32), tf.data.AUTOTUNE)\n"
        "    if cache:\n        ds = ds.cache()\n    return ds.batch(8)\n",
        2,
    ),
    "without state": (
        f"ds = rows.map(lambda r: tf.numpy_function(smoothed, [r], tf.float32, stateful=False), {AUTO})\nmodel.fit(ds.batch(8))\n",
        1,
    ),
}
FINE = {
    "TensorFlow's own": f"model.fit(rows.map(lambda r: tf.cast(r, tf.float32) / 2, {AUTO}).batch(8))\n",
    "NumPy without a loop": f"model.fit(rows.map(lambda r: tf.numpy_function(lambda v: np.log1p(v) / 2, [r], tf.float32), {AUTO}).batch(8))\n",
    "np.load": f"model.fit(paths.map(lambda p: tf.numpy_function(np.load, [p], tf.float32), {AUTO}).batch(8))\n",
    "reads a file in a loop": f"def f(p):\n    return np.concatenate([np.load(q) for q in p])\n"
    f"model.fit(paths.map(lambda p: tf.numpy_function(f, [p], tf.float32), {AUTO}).batch(8))\n",
    "OpenCV in a loop": f"def f(v):\n    return np.stack([cv2.resize(x, (8, 8)) for x in v])\n"
    f"model.fit(rows.map(lambda r: tf.numpy_function(f, [r], tf.float32), {AUTO}).batch(8))\n",
    "another library": f"def f(v):\n    return np.array([librosa.feature.mfcc(y=x) for x in v])\n"
    f"model.fit(rows.map(lambda r: tf.numpy_function(f, [r], tf.float32), {AUTO}).batch(8))\n",
    "a tokenizer, unknown": f"def f(t):\n    return np.array([tokenizer.encode(x) for x in t])\n"
    f"model.fit(rows.map(lambda r: tf.numpy_function(f, [r], tf.int64), {AUTO}).batch(8))\n",
    "an unknown function": f"from elsewhere import f\nmodel.fit(rows.map(lambda r: tf.numpy_function(f, [r], tf.int64), {AUTO}).batch(8))\n",
    "a few channels": f"def f(v):\n    for c in range(3):\n        v[..., c] = v[..., c] - v[..., c].mean()\n    return v\n"
    f"model.fit(rows.map(lambda r: tf.numpy_function(f, [r], tf.float32), {AUTO}).batch(8))\n",
    "a few names": f"def f(v):\n    return sum(v[k] for k in [0, 1, 2])\n"
    f"model.fit(rows.map(lambda r: tf.numpy_function(f, [r], tf.float32), {AUTO}).batch(8))\n",
    "cached after": f"model.fit(rows.map(lambda r: tf.numpy_function(smoothed, [r], tf.float32), {AUTO}).cache().batch(8))\n",
    "a demonstration": f"for r in rows.take(3).map(lambda r: tf.numpy_function(smoothed, [r], tf.float32), {AUTO}).batch(1):\n    print(r)\n",
    "large products": f"def f(v):\n    return np.stack([np.linalg.svd(x)[1] for x in v])\n"
    f"model.fit(rows.map(lambda r: tf.numpy_function(f, [r], tf.float32), {AUTO}).batch(8))\n",
    "in a metric": "def metric(y, p):\n    return tf.numpy_function(lambda a, b: smoothed(a - b), [y, p], tf.float32)\n"
    "model.compile(loss='mse', metrics=[metric])\nmodel.fit(rows.batch(8))\n",
    "a loop over layers that is traced": f"def f(r):\n    for _ in range(99):\n        r = r + 1\n    return r\nmodel.fit(rows.map(f, {AUTO}).batch(8))\n",
    "once, before": "data = smoothed(load())\nmodel.fit(tf.data.Dataset.from_tensor_slices(data).batch(8))\n",
}  # fmt: skip


def _table(cases: dict[str, object]) -> pytest.MarkDecorator:
    return pytest.mark.parametrize("case", cases.values(), ids=cases)


def rows(code: str, folder: Path, name: str = "train.py") -> list[tuple[str, int]]:
    """What this rule and the one for maps on one core say, with rows below HEAD."""
    told = sorted(found(HEAD + code, folder, name))
    return [(one, row - HEAD.count("\n")) for one, row in told if one in ("TFG303", "TFG305")]


@_table(LOOPING)  # type: ignore[arg-type]
def test_a_loop_for_each_element_is_found_once(case: tuple[str, int], tmp_path: Path) -> None:
    code, row = case
    assert rows(code, tmp_path) == [("TFG305", row)]


@_table(FINE)  # type: ignore[arg-type]
def test_other_functions_are_not_found(case: str, tmp_path: Path) -> None:
    assert rows(case, tmp_path) == []


def test_one_finding_a_map(tmp_path: Path) -> None:
    """Where threads help, the rule for sequential maps speaks; where a loop would keep them waiting, this one does."""
    prep = (
        "def prep(p):\n    r = {}\n    return tf.image.random_flip_left_right(tf.numpy_function(f, [r], tf.float32))\n"
    )
    read = "def f(p):\n    return cv2.imread(p)\n" + prep.format("p")
    loop = "f = smoothed\n" + prep.format("p")
    assert [one for one, _ in rows(read + "model.fit(paths.map(prep).batch(8))\n", tmp_path)] == ["TFG303"]
    assert [one for one, _ in rows(loop + "model.fit(paths.map(prep).batch(8))\n", tmp_path)] == ["TFG305"]


def test_tests_are_left_alone(tmp_path: Path) -> None:
    assert rows(LOOPING["a for"][0], tmp_path, "tests/data.py") == []


def test_a_function_of_another_file(tmp_path: Path) -> None:
    (tmp_path / "parsing.py").write_text(
        "import tensorflow as tf\n\ndef clean(r):\n    return [x for x in r if x > 0]\n\n"
        "def parse(r):\n    return tf.numpy_function(clean, [r], tf.float32)\n"
    )
    told = found(HEAD + f"from parsing import parse\nmodel.fit(rows.map(parse, {AUTO}).batch(8))\n", tmp_path)
    assert ("TFG305 parsing.py", 7) in told


def test_a_notebook(tmp_path: Path) -> None:
    assert ("TFG305", 1) in found(notebook(HEAD, LOOPING["in threads"][0]), tmp_path, "a.ipynb")


def test_what_is_said(tmp_path: Path) -> None:
    def said(name: str) -> list[str]:
        return [f.message for rule, f in findings(HEAD + LOOPING[name][0], tmp_path) if rule.code == "TFG305"]

    start = "this function loops in Python for every element, and only one thread at a time can run Python"
    assert said("on one thread") == [start]
    assert said("in threads") == [f"{start}, so `num_parallel_calls` gains almost nothing"]


def test_the_replacement_is_clean(tmp_path: Path) -> None:
    assert codes(HEAD + FINE["TensorFlow's own"], tmp_path) in ([], ["TFG304"])


def test_the_truth_threads_share_one_lock() -> None:
    """With the installed TensorFlow: what all threads of a map compute in Python's loops never exceeds the time passed.

    Under one lock that holds on every machine; work outside of it would exceed the time passed as soon as two cores
    are free.
    """
    import time

    import numpy as np
    import tensorflow as tf

    spent: list[float] = []

    def counted(row: np.ndarray) -> np.float32:
        start = time.thread_time()
        total = sum(float(number) for number in row)
        spent.append(time.thread_time() - start)
        return np.float32(total)

    dataset = tf.data.Dataset.from_tensors(tf.ones(2_000)).repeat(64)
    mapped = dataset.map(lambda row: tf.numpy_function(counted, [row], tf.float32), num_parallel_calls=4)
    start = time.perf_counter()
    assert [float(total) for total in mapped] == [2_000.0] * 64
    assert len(spent) == 64
    assert sum(spent) <= time.perf_counter() - start


GENERATORS = {
    "read": "def rows_of(n):\n    for i in range(n):\n        total = 0\n        for j in range(900):\n"
    "            total += i * j\n        yield [float(total)]\n"
    "ds = tf.data.Dataset.from_generator(rows_of, tf.float32, args=(9000,))\nmodel.fit(ds.batch(8))\n",
    "interleaved": "def rows_of(name):\n    while True:\n        yield [math.sqrt(n) for n in table]\n"
    "def part(name):\n    return tf.data.Dataset.from_generator(rows_of, tf.float32, args=(name,))\n"
    "names = tf.data.Dataset.from_tensor_slices(load())\n"
    "ds = names.interleave(part, num_parallel_calls=tf.data.AUTOTUNE)\nmodel.fit(ds.batch(8))\n",
    "a few of them interleaved": "def rows_of():\n    while True:\n        yield [math.sqrt(n) for n in table]\n"
    "ds = tf.data.Dataset.range(4).interleave(lambda part: tf.data.Dataset.from_generator(rows_of, tf.float32))\n"
    "model.fit(ds.batch(8))\n",
    "by a function that it calls": "def line(i):\n    total = 0.0\n    for j in range(900):\n"
    "        total += math.sin(i * j)\n    return total\ndef rows_of():\n    for i in range(9000):\n        yield [line(i)]\n"
    "ds = tf.data.Dataset.from_generator(rows_of, tf.float32)\nmodel.fit(ds.batch(8))\n",
}
PASSING = {
    "loops that only yield": "def rows_of():\n    for epoch in range(90):\n        for row in table:\n            yield row\n"
    "ds = tf.data.Dataset.from_generator(rows_of, tf.float32)\nmodel.fit(ds.batch(8))\n",
    "prepared once": "def rows_of():\n    sums = []\n    for row in table:\n        sums.append(sum(row))\n"
    "    for one in sums:\n        yield one\n"
    "ds = tf.data.Dataset.from_generator(rows_of, tf.float32)\nmodel.fit(ds.batch(8))\n",
    "cached": GENERATORS["read"].replace("ds.batch(8)", "ds.cache().batch(8)"),
    "a few elements": GENERATORS["a few of them interleaved"].replace("ds.batch", "ds.take(4).batch"),
    "a few": GENERATORS["read"].replace("range(900)", "range(3)"),
    "pictures": "def rows_of():\n    for name in names:\n        for side in range(900):\n            picture = cv2.imread(name)\n"
    "        yield picture\nds = tf.data.Dataset.from_generator(rows_of, tf.float32)\nmodel.fit(ds.batch(8))\n",
}


@pytest.mark.parametrize("code", GENERATORS.values(), ids=GENERATORS)
def test_a_generator_that_computes_is_found(code: str, tmp_path: Path) -> None:
    assert codes(HEAD + code, tmp_path).count("TFG305") == 1


@pytest.mark.parametrize("code", PASSING.values(), ids=PASSING)
def test_a_generator_that_passes_rows_on_is_not(code: str, tmp_path: Path) -> None:
    assert "TFG305" not in codes(HEAD + code, tmp_path)
