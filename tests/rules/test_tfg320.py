"""TFG320: a shuffle of gigabytes of decoded pictures is found where their bytes follow from the code, and nothing else is."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from checks import codes, findings, fixed

HEAD = """
import tensorflow as tf

SIDE = 512
names = tf.data.Dataset.list_files("*.jpg", shuffle=False)

def load(name):
    picture = tf.io.decode_jpeg(tf.io.read_file(name), channels=3)
    return tf.image.resize(picture, [SIDE, SIDE])

def labelled(name, label):
    return load(name), label

def scaled(picture, label):
    picture = tf.image.random_flip_left_right(picture)
    return picture / 255.0, label

def small(name):
    return tf.image.resize(load(name), (64, 64))

pairs = tf.data.Dataset.from_tensor_slices((PATHS, LABELS))
"""
GRAY = "def plain(name):\n    return tf.image.resize(tf.io.decode_jpeg(tf.io.read_file(name)), (300, 300))\n"
FOUND = {
    "as many channels as the files have": GRAY + "for x in names.map(plain).shuffle(12000).batch(8):\n    print(x)\n",
    "one expression": "data = names.map(load).shuffle(2000).batch(8)",
    "several statements": "data = pairs.map(labelled)\ndata = data.shuffle(buffer_size=2000)",
    "a map behind the one that decodes": "data = pairs.map(labelled).map(scaled).shuffle(2000)",
    "a lambda": "data = pairs.map(lambda name, label: (load(name), label)).prefetch(2).shuffle(2000)",
    "a dictionary": "data = names.map(lambda name: {'picture': load(name), 'name': name}).shuffle(2000)",
    "cropped": "def cropped(name):\n    return tf.image.random_crop(load(name), [SIDE, SIDE, 3])\n"
    "data = names.map(cropped).repeat().shuffle(2000)",
    "cropped, its size named": "def cropped(name):\n    return tf.image.random_crop(load(name), size=[SIDE, SIDE, 3])\n"
    "data = names.map(cropped).shuffle(2000)",
    "padded": "def padded(name):\n    picture = tf.image.decode_png(tf.io.read_file(name), channels=3)\n"
    "    return tf.cast(tf.image.resize_with_pad(picture, SIDE, SIDE), tf.float32)\ndata = names.map(padded).shuffle(2000)",
    "whole numbers of four bytes": "def counted(name):\n    return tf.cast(load(name), tf.int32)\n"
    "data = names.map(counted).shuffle(2000)",
    "inputs and targets": "data = tf.data.Dataset.zip((names.map(load), names.map(small))).shuffle(2000)",
    "rows of a table": "def spread(name):\n    words = tf.strings.to_hash_bucket_fast(tf.strings.split(name), 999)\n"
    "    return tf.one_hot(tf.reshape(words, [90]), 9000)\ndata = names.map(spread).shuffle(2000)",
    "random rows": "def drawn(name):\n    return {'wave': tf.random.normal([480000]), 'name': name}\n"
    "data = names.map(drawn).shuffle(5000)",
    "rows that a batch fills up": "def spread(name):\n    letters = tf.strings.bytes_split(name)\n"
    "    return {'n': 1, 'x': tf.one_hot(tf.strings.to_hash_bucket_fast(letters, 99)[:200], 900)}, tf.strings.length(name)\n"
    "def pair(row, length):\n    return length, row['x']\n"
    "data = names.map(spread).map(pair).shuffle(90000).repeat()\ndata = data.padded_batch(8, padded_shapes=((), (200, 900)))",
    "a cache in a file": "data = names.map(load).cache('pictures').shuffle(2000)",
}
SILENT = {
    "few, with as many channels as the files have": GRAY
    + "for x in names.map(plain).shuffle(9000).batch(8):\n    print(x)\n",
    "before the map": "data = names.shuffle(2000).map(load)",
    "a small buffer": "data = names.map(load).shuffle(100)",
    "small pictures": "data = names.map(small).shuffle(2000)",
    "bytes": "def stored(name):\n    return tf.cast(load(name), tf.uint8)\ndata = names.map(stored).shuffle(2000)",
    "a few": "data = names.map(load).take(50).shuffle(2000)",
    "a cache in memory": "data = names.map(load).cache().shuffle(2000)",
    "a cache in memory of what a zip joins": "data = tf.data.Dataset.zip((names.map(load).cache(), names)).shuffle(2000)",
    "a mean of each picture": "def mean(name):\n    return tf.math.reduce_mean(load(name))\n"
    "data = names.map(mean).shuffle(2000)",
    "half as many bytes": "def halved(name):\n    return tf.cast(load(name), tf.float16) / 255.0\n"
    "data = names.map(halved).shuffle(2000)",
    "a number of each element": "def counted(number, pair):\n    return number\n"
    "data = pairs.map(labelled).enumerate().map(counted).shuffle(2000)",
    "rows that a batch fills up, but not to many": "def spread(name):\n"
    "    return tf.one_hot(tf.strings.to_hash_bucket_fast(tf.strings.bytes_split(name), 99), 900)\n"
    "data = names.map(spread).shuffle(9000).padded_batch(8, [200, 900])",
    "rows that a batch fills up to the longest": "def spread(name):\n"
    "    return tf.one_hot(tf.strings.to_hash_bucket_fast(tf.strings.bytes_split(name), 99), 900)\n"
    "data = names.map(spread).shuffle(90000).padded_batch(8, [None, 900])",
    "rows that are made after the shuffle and filled up": "def spread(name):\n"
    "    return tf.one_hot(tf.strings.to_hash_bucket_fast(tf.strings.bytes_split(name), 99), 900)\n"
    "data = names.map(tf.strings.lower).shuffle(90000).map(spread).padded_batch(8, [200, 900])",
    "rows of a length that nobody knows": "def spread(name):\n"
    "    return tf.one_hot(tf.strings.to_hash_bucket_fast(tf.strings.split(name), 999), 90000)\n"
    "data = names.map(spread).shuffle(2000)",
    "small rows": "data = names.map(lambda name: tf.zeros([90])).shuffle(2000)",
    "rows that are there anyhow": "data = tf.data.Dataset.from_tensor_slices(tf.zeros([9000, 480000])).shuffle(9000)",
    "batches": "data = names.map(load).batch(8).shuffle(2000)",
    "a size that nobody knows": "def wide(name):\n    return tf.io.decode_jpeg(tf.io.read_file(name), channels=3)\n"
    "data = names.map(wide).shuffle(2000)",
    "channels that nobody knows": "def plain(name):\n    picture = tf.io.decode_image(tf.io.read_file(name))\n"
    "    return tf.image.resize(picture, [SIDE, SIDE])\ndata = names.map(plain).shuffle(2000)",
    "a buffer that nobody knows": "data = names.map(load).shuffle(len(PATHS))",
    "one function or another": "data = names.map(load if PATHS else small).shuffle(2000)",
    "one size or another": "def either(name):\n    if tf.random.uniform(()) > 0.5:\n        return small(name)\n"
    "    return load(name)\ndata = names.map(either).shuffle(2000)",
}


@pytest.mark.parametrize("code", FOUND.values(), ids=FOUND.keys())
def test_much_memory_is_found(code: str, tmp_path: Path) -> None:
    """Protects recall: through functions, components, further maps and a zip."""
    assert codes(HEAD + code, tmp_path).count("TFG320") == 1


@pytest.mark.parametrize("code", SILENT.values(), ids=SILENT.keys())
def test_what_takes_little_or_is_not_known_is_not_found(code: str, tmp_path: Path) -> None:
    """Protects precision: the bytes must follow from the code, and be many."""
    assert "TFG320" not in codes(HEAD + code, tmp_path)


def test_the_message_tells_the_gigabytes_that_tensorflow_needs(tmp_path: Path) -> None:
    """Protects the figure in the message: it is that of real elements."""
    import tensorflow as tf

    (tmp_path / "0.jpg").write_bytes(tf.io.encode_jpeg(np.zeros((9, 9, 3), np.uint8)).numpy())
    scope: dict[str, object] = {"PATHS": [str(tmp_path / "0.jpg")], "LABELS": [0]}
    code = "data = pairs.map(labelled).map(scaled)"
    exec(HEAD.replace("*.jpg", f"{tmp_path}/*.jpg") + code, scope)
    picture, _ = next(iter(scope["data"]))  # type: ignore[call-overload]
    held = 2000 * picture.numpy().nbytes
    [message] = [f.message for r, f in findings(f"{HEAD}{code}.shuffle(2000)", tmp_path) if r.code == "TFG320"]
    assert f"{held / 1e9:.0f} GB" in message


def test_a_batch_refuses_rows_that_are_longer_than_it_fills_up() -> None:
    """Protects what is said of such rows: none that was shuffled takes more."""
    import tensorflow as tf

    rows = tf.data.Dataset.range(2, 6).map(lambda n: tf.zeros([n, 3])).shuffle(9)
    assert [batch.shape for batch in rows.padded_batch(4, [5, 3])] == [(4, 5, 3)]
    with pytest.raises(tf.errors.DataLossError):
        list(rows.padded_batch(4, [4, 3]))


def test_the_fix_shuffles_before_the_maps(tmp_path: Path) -> None:
    after = fixed(f"{HEAD}data = pairs.map(labelled).map(scaled).shuffle(2000).batch(8)\n", tmp_path, "TFG320")
    assert "pairs.shuffle(2000).map(labelled).map(scaled).batch(8)" in after


@pytest.mark.parametrize("between", ["filter(bool)", "take(4000)", "repeat()"])
def test_what_is_more_than_maps_is_not_fixed(between: str, tmp_path: Path) -> None:
    """Protects meaning: behind a `take` or a `repeat` other elements would be shuffled."""
    code = f"{HEAD}data = names.map(load).{between}.shuffle(2000)\n"
    assert "TFG320" in codes(code, tmp_path)
    assert fixed(code, tmp_path, "TFG320") == code


def test_the_order_is_the_same(tmp_path: Path) -> None:
    """Protects the help: a shuffle before a map gives the elements in the order of one behind it."""
    import tensorflow as tf

    numbers = tf.data.Dataset.range(99)
    behind = numbers.map(lambda n: n * n).shuffle(20, seed=3)
    before = numbers.shuffle(20, seed=3).map(lambda n: n * n)
    tf.random.set_seed(1)
    first = [int(n) for n in behind]
    tf.random.set_seed(1)
    assert first == [int(n) for n in before] != sorted(first)
