"""TFG332: a `skip` behind a map whose work is done for what it leaves out."""

from __future__ import annotations

from pathlib import Path

import pytest
from checks import codes, fixed

HEAD = """\
import numpy as np
import tensorflow as tf

names = tf.data.Dataset.list_files("*.png", shuffle=False)

def picture(name):
    return tf.image.resize(tf.io.decode_png(tf.io.read_file(name)), (32, 32))

def by_python(name):
    return tf.numpy_function(np.char.upper, [name], tf.string)

def halved(picture):
    return picture / 2
"""
FOUND = {
    "next to it": "rest = names.map(picture).skip(500)",
    "behind batches": "rest = names.map(picture).batch(16).prefetch(1).skip(30)",
    "behind another map": "read = names.map(picture, num_parallel_calls=4).map(halved)\nrest = read.skip(count=64)",
    "Python": "rest = names.map(by_python).skip(100)",
    "a split": "size = int(tf.data.experimental.cardinality(names)) // 5\nread = names.map(picture)\n"
    "held, rest = read.take(size), read.skip(size)",
}
PAIRS = "numbers = tf.data.Dataset.range(900)\npairs = tf.data.Dataset.zip((numbers, names.map(picture){}))\n"
FOUND |= {
    "in a pair": PAIRS.format("") + "rest = pairs.map(lambda n, p: (p, n)).skip(500)",
    "a split of pairs": PAIRS.format(".map(halved)")
    + "half = count // 2\nheld, rest = pairs.take(half), pairs.skip(half)",
}
SILENT = {
    "a cache in a pair": PAIRS.format(".cache()") + "rest = pairs.skip(500)",
    "a shuffle in a pair": PAIRS.format(".shuffle(90)") + "rest = pairs.skip(500)",
    "a mix": "rest = tf.data.Dataset.sample_from_datasets([names.map(picture), names.map(halved)]).skip(500)",
    "a cache of pairs": PAIRS.format("") + "rest = pairs.cache().skip(500)",
    "before the map": "rest = names.skip(500).map(picture)",
    "arithmetic": "rest = tf.data.Dataset.range(900).map(halved).skip(500)",
    "a cache": "rest = names.map(picture).cache().skip(500)",
    "shuffled": "rest = names.map(picture).shuffle(900, reshuffle_each_iteration=False).skip(500)",
    "filtered": "rest = names.map(picture).filter(lambda p: tf.reduce_max(p) > 0).skip(500)",
    "repeated": "rest = names.map(picture).repeat().skip(500)",
    "a glance at the second batch": "rest = iter(names.map(picture).batch(16).skip(1))",
    "a heading": "rest = names.map(picture).skip(1)",
    "a number that may be none": "rest = names.map(picture).skip(begin)",
}


@pytest.mark.parametrize("code", FOUND.values(), ids=FOUND.keys())
def test_work_for_what_is_left_out_is_found(code: str, tmp_path: Path) -> None:
    assert codes(HEAD + code, tmp_path).count("TFG332") == 1


@pytest.mark.parametrize("code", SILENT.values(), ids=SILENT.keys())
def test_what_costs_little_or_stands_right_is_not(code: str, tmp_path: Path) -> None:
    assert "TFG332" not in codes(HEAD + code, tmp_path)


def test_there_is_no_fix_behind_a_zip(tmp_path: Path) -> None:
    program = HEAD + PAIRS.format("") + "rest = pairs.skip(500)\n"
    assert fixed(program, tmp_path, "TFG332") == program


def test_the_fix_skips_before_the_first_map_that_works(tmp_path: Path) -> None:
    after = fixed(HEAD + "rest = names.map(picture).map(halved).skip(500).batch(8)\n", tmp_path, "TFG332")
    assert "names.skip(500).map(picture).map(halved).batch(8)" in after


def test_python_may_count_its_calls(tmp_path: Path) -> None:
    """Protects a map whose elements are numbered by Python: behind `skip` they would get other numbers."""
    numbered = "count = iter(range(10**6))\n\ndef number(name):\n    return next(count)\n\ndef shaken(name):\n"
    numbered += "    return tf.random.uniform([]), tf.py_function(number, [name], tf.int64)\n\n"
    for code in ("rest = names.map(shaken).skip(40)\n", "rest = names.map(picture).map(shaken).skip(40)\n"):
        assert codes(HEAD + numbered + code, tmp_path).count("TFG332") == 1
        assert fixed(HEAD + numbered + code, tmp_path, "TFG332") == HEAD + numbered + code


@pytest.mark.parametrize("code", [FOUND["behind batches"], FOUND["a split"]])
def test_what_counts_batches_or_is_read_twice_is_not_fixed(code: str, tmp_path: Path) -> None:
    assert fixed(f"{HEAD}{code}\n", tmp_path, "TFG332") == f"{HEAD}{code}\n"


def test_a_map_runs_for_what_is_left_out() -> None:
    """Protects the claim, by TensorFlow: the elements are the same, and a fifth of the calls is enough."""
    import tensorflow as tf

    seen: list[int] = []

    def counted(number: object) -> object:
        seen.append(0)
        return number

    def work(number: object) -> object:
        return tf.py_function(counted, [number], tf.int64)

    numbers, calls, results = tf.data.Dataset.range(50), [], []
    for data in (
        numbers.map(work).skip(40),
        numbers.map(work, num_parallel_calls=2).batch(5).skip(8).unbatch(),
        tf.data.Dataset.zip((numbers, numbers.map(work))).skip(40).map(lambda _, number: number),
        numbers.skip(40).map(work),
    ):
        results.append([int(number) for number in data])
        calls.append(len(seen))
        seen.clear()
    assert results == [list(range(40, 50))] * 4
    assert calls == [50, 50, 50, 10]
