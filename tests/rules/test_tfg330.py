"""TFG330: single records parsed before they are batched, and maps that need single records or gain nothing."""

from __future__ import annotations

from pathlib import Path

import pytest
from checks import codes, findings, fixed

HEAD = """
import tensorflow as tf
from elsewhere import build, odd

model = build()
SPEC = {"x": tf.io.FixedLenFeature([4], tf.float32), "y": tf.io.FixedLenFeature([], tf.int64)}
records = tf.data.TFRecordDataset("a.tfrecord")


def parsed(record):
    return tf.io.parse_single_example(record, SPEC)


"""
FOUND = {
    "a function": "model.fit(records.map(parsed).batch(64))",
    "a lambda": "model.fit(records.map(lambda r: tf.io.parse_single_example(r, SPEC)).batch(64))",
    "shuffled and repeated": "model.fit(records.map(parsed).shuffle(99).repeat().batch(size))",
    "popped": "def pair(r):\n    row = parsed(r)\n    y = row.pop('y')\n    return row, y\nmodel.fit(records.map(pair).batch(64))",
    "stacked in a loop": "NAMES = ['a', 'b']\nCOLUMNS = {name: tf.io.FixedLenFeature((), tf.float32) for name in NAMES}\n"
    "COLUMNS['y'] = tf.io.FixedLenFeature((), tf.int64)\n"
    "def pair(r):\n    row = tf.io.parse_single_example(r, COLUMNS)\n"
    "    return tf.stack([row[name] for name in NAMES]), row['y']\nmodel.fit(records.map(pair).batch(64))",
    "a second map": "model.fit(records.map(parsed).map(lambda d: (d['x'] / 255, d['y'])).batch(64))",
    "sums of a record": "def pair(r):\n    d = parsed(r)\n    return d['x'] / tf.reduce_sum(d['x']), d['y']\n"
    "model.fit(records.map(pair).batch(64))",
    "sparse": "VARYING = {'x': tf.io.VarLenFeature(tf.int64)}\n"
    "model.fit(records.map(lambda r: tf.io.parse_single_example(r, VARYING)).batch(64))",
    "made where it is used": "def make(r):\n    fields = {'x': tf.io.FixedLenFeature([3], tf.float32)}\n"
    "    return tf.io.parse_single_example(r, fields)['x']\nmodel.fit(records.map(make).batch(64))",
    "handed on": "def data(paths, f):\n    return tf.data.TFRecordDataset(paths).map(f).batch(64)\nmodel.fit(data(paths, parsed))",
    "a setting": "def data(normed):\n    def one(r):\n        d = parsed(r)\n        return d['x'] / 2 if normed else d['x']\n"
    "    return records.map(one).batch(64)\nmodel.fit(data(True))",
}
SILENT = {
    "batches are parsed": "model.fit(records.batch(64).map(lambda r: tf.io.parse_example(r, SPEC)))",
    "batches of four": "model.fit(records.map(parsed).batch(4))",
    "not batched": "model.fit(records.map(parsed))",
    "padded": "model.fit(records.map(parsed).padded_batch(64))",
    "filtered": "model.fit(records.map(parsed).filter(lambda d: d['y'] > 0).batch(64))",
    "cached": "model.fit(records.map(parsed).cache().batch(64))",
    "decoded": "def image(r):\n    d = tf.io.parse_single_example(r, {'x': tf.io.FixedLenFeature([], tf.string)})\n"
    "    return tf.io.decode_jpeg(d['x'])\nmodel.fit(records.map(image).batch(64))",
    "decoded by a later map": "TEXT = {'x': tf.io.FixedLenFeature([], tf.string)}\n"
    "d = records.map(lambda r: tf.io.parse_single_example(r, TEXT)).map(lambda d: tf.io.decode_png(d['x']))\n"
    "model.fit(d.batch(64))",
    "decoded after the batch": "TEXT = {'x': tf.io.FixedLenFeature([], tf.string)}\n"
    "d = records.map(lambda r: tf.io.parse_single_example(r, TEXT)).batch(64)\n"
    "model.fit(d.map(lambda d: tf.map_fn(lambda s: tf.io.decode_png(s), d['x'], tf.uint8)))",
    "tensors in it": "def one(r):\n    d = tf.io.parse_single_example(r, {'x': tf.io.FixedLenFeature([], tf.string)})\n"
    "    return tf.io.parse_tensor(d['x'], tf.float32)\nmodel.fit(records.map(one).batch(64))",
    "large": "BIG = {'x': tf.io.FixedLenFeature([224, 224, 3], tf.float32)}\n"
    "model.fit(records.map(lambda r: tf.io.parse_single_example(r, BIG)).batch(64))",
    "draws": "def one(r):\n    return parsed(r)['x'] + tf.random.normal([4])\nmodel.fit(records.map(one).batch(64))",
    "branches on a value": "def one(r):\n    d = parsed(r)\n    if d['y'] > 3:\n        return d['x']\n    return -d['x']\n"
    "model.fit(records.map(one).batch(64))",
    "unknown call": "model.fit(records.map(lambda r: odd(parsed(r))).batch(64))",
    "Python": "model.fit(records.map(lambda r: tf.py_function(f, [parsed(r)['x']], tf.float32)).batch(64))",
    "unknown features": "from elsewhere import FIELDS\n"
    "model.fit(records.map(lambda r: tf.io.parse_single_example(r, FIELDS)).batch(64))",
    "sequences": "model.fit(records.map(lambda r: tf.io.parse_single_sequence_example(r, SPEC)[0]).batch(64))",
    "a look": "for row in records.map(parsed).batch(64).take(1):\n    print(row)",
}


@pytest.mark.parametrize("code", FOUND.values(), ids=FOUND.keys())
def test_records_parsed_one_by_one_are_found(code: str, tmp_path: Path) -> None:
    """Protects recall: what is done to the records besides may be done to a batch of them."""
    assert codes(HEAD + code, tmp_path) == ["TFG330"]


@pytest.mark.parametrize("code", SILENT.values(), ids=SILENT.keys())
def test_what_needs_single_records_is_silent(code: str, tmp_path: Path) -> None:
    """Protects precision: images that are decoded, values that decide, and what is not known."""
    assert "TFG330" not in codes(HEAD + code, tmp_path)


@pytest.mark.parametrize(
    ("case", "line"),
    [
        ("a lambda", "model.fit(records.batch(64).map(lambda r: tf.io.parse_example(r, SPEC)))"),
        ("a function", "    return tf.io.parse_example(record, SPEC)"),
        ("a function", "model.fit(records.batch(64).map(parsed))"),
        ("shuffled and repeated", "model.fit(records.shuffle(99).repeat().batch(size).map(parsed))"),
    ],
)
def test_the_fix_parses_batches(case: str, line: str, tmp_path: Path) -> None:
    assert line in fixed(HEAD + FOUND[case], tmp_path, "TFG330").splitlines()


@pytest.mark.parametrize("case", ["stacked in a loop", "sums of a record", "a second map", "popped"])
def test_there_is_no_fix_where_axes_count(case: str, tmp_path: Path) -> None:
    """Protects programs: an axis would count the batch, and another map gets what the first one made."""
    ((_, finding),) = findings(HEAD + FOUND[case], tmp_path)
    assert finding.fix is None
    assert "axis" in (finding.help or "")


def test_there_is_no_fix_for_a_function_of_two_uses(tmp_path: Path) -> None:
    code = HEAD + "model.fit(records.map(parsed).batch(64))\nfor row in records.map(parsed):\n    print(row)\n"
    assert [finding.fix for rule, finding in findings(code, tmp_path) if rule.code == "TFG330"] == [None]


def test_a_batch_of_records_is_the_same(tmp_path: Path) -> None:
    """Protects the claim and the fix, with the installed TensorFlow: the same batches both ways."""
    tf = pytest.importorskip("tensorflow")
    rows = []
    for number in range(5):
        x = tf.train.Feature(float_list=tf.train.FloatList(value=[number, 1.0, 2.0, 3.0]))
        y = tf.train.Feature(int64_list=tf.train.Int64List(value=[number]))
        z = tf.train.Feature(int64_list=tf.train.Int64List(value=list(range(number))))
        features = tf.train.Features(feature={"x": x, "y": y, "z": z})
        rows.append(tf.train.Example(features=features).SerializeToString())
    spec = {"x": tf.io.FixedLenFeature([4], tf.float32), "y": tf.io.FixedLenFeature([], tf.int64)}
    spec["z"] = tf.io.VarLenFeature(tf.int64)
    records = tf.data.Dataset.from_tensor_slices(rows)
    one_by_one = records.map(lambda record: tf.io.parse_single_example(record, spec)).batch(3)
    at_once = records.batch(3).map(lambda record: tf.io.parse_example(record, spec))
    for single, whole in zip(one_by_one, at_once, strict=True):
        assert single["x"].shape == whole["x"].shape
        tf.debugging.assert_equal(single["x"], whole["x"])
        tf.debugging.assert_equal(single["y"], whole["y"])
        tf.debugging.assert_equal(tf.sparse.to_dense(single["z"]), tf.sparse.to_dense(whole["z"]))
