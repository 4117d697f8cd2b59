"""Whether the shape of what a call is given may differ from iteration to iteration."""

from __future__ import annotations

from pathlib import Path

import libcst as cst
import pytest
from checks import model_of

from tflint_gpu.model.tensorflow.loops.shape_changes import ShapeChanges

HEAD = """\
import random
import cv2
import librosa
import numpy as np
import tensorflow as tf
rng = np.random.default_rng(3)
table = np.zeros((640, 5), "float32")
"""
CHANGING = {
    "a batch of drawn length": "while True:\n    n = rng.integers(3, 90)\n    use(rng.normal(size=(n, 5)))\n",
    "lengths of a list": "rows = [rng.normal(size=(n, 5)) for n in (7, 3, 4, 9)]\nfor row in rows:\n    use(row[None])\n",
    "drawn lengths": "rows = [np.ones((k, 5)) for k in rng.integers(3, 90, 120)]\nfor i in range(120):\n    use(rows[i])\n",
    "lists of unlike lengths": "for words in [[4, 2], [9, 9, 9, 1], [3]]:\n    use(tf.constant([words]))\n",
    "arrays of unlike lengths": (
        "for part in (np.zeros((9, 5)), np.zeros((4, 5)), np.zeros((2, 5))):\n    use(tf.cast(part, tf.float32))\n"
    ),
    "a prefix that grows": "for n in range(1, 99):\n    use(table[:n])\n",
    "a prefix of each row": "for n in range(1, 99):\n    use(table[:, :n] / 2)\n",
    "between two places": "ends = [9, 12, 80, 99]\nfor a, b in zip(ends, ends[1:]):\n    use(table[a:b])\n",
    "rows by a mask": "for k in range(50):\n    use(table[table[:, 0] == k])\n",
    "boolean_mask": "for k in range(50):\n    use(tf.boolean_mask(table, table[:, 0] > k))\n",
    "a generator of arrays": (
        "def parts():\n    for k in (4, 8, 2):\n        yield np.zeros((k, 5)), 1\nfor part, label in parts():\n    use(part)\n"
    ),
    "a generator of what is not known": (
        "def parts(source):\n    for piece in source:\n        yield decode(piece)\nfor part in parts(inbox):\n    use(part)\n"
    ),
    "an object that is iterated": (
        "class Parts:\n    def __iter__(self):\n        for piece in self.source:\n            yield decode(piece)\n"
        "for part in Parts():\n    use(part)\n"
    ),
    "through a function": (
        "def each(net, part):\n    return use(part * 2)\nfor n in range(9, 99):\n    each(None, table[:n])\n"
    ),
    "from_generator of whole batches": (
        "def parts():\n    for k in (4, 8, 2):\n        yield np.zeros((k, 5))\n"
        "data = tf.data.Dataset.from_generator(parts, output_signature=tf.TensorSpec((None, 5)))\n"
        "for part in data.prefetch(1):\n    use(part)\n"
    ),
    "from_generator without a signature": (
        "data = tf.data.Dataset.from_generator(source, tf.float32)\nfor part in data:\n    use(part)\n"
    ),
    "padded_batch": "for words in data.padded_batch(32):\n    use(words)\n",
    "padded_batch of some length": (
        "for words, label in data.shuffle(9).padded_batch(32, padded_shapes=([None], [])).prefetch(1):\n    use(words)\n"
    ),
    "buckets": ("for words in data.bucket_by_sequence_length(tf.size, [9, 20], [32, 16, 8]):\n    use(words)\n"),
    "buckets applied": (
        "by_length = tf.data.experimental.bucket_by_sequence_length(tf.size, [9], [32, 16])\n"
        "for words in data.apply(tf.data.experimental.bucket_by_sequence_length(tf.size, [9], [32, 16])):\n    use(words)\n"
    ),
    "ragged rows": (
        "rows = tf.ragged.constant([[1, 2], [3], [4, 5, 6]])\n"
        "for row in tf.data.Dataset.from_tensor_slices(rows):\n    use(row)\n"
    ),
    "ragged batches as tensors": (
        "rows = tf.ragged.constant(words)\nfor row in tf.data.Dataset.from_tensor_slices(rows).batch(8):\n"
        "    use(row.to_tensor())\n"
    ),
    "ragged batches made tensors by a map": (
        "for row in data.ragged_batch(8).map(lambda row: row.to_tensor()):\n    use(row)\n"
    ),
    "graphs": (
        "from spektral.data import DisjointLoader\nloader = DisjointLoader(graphs, batch_size=8)\n"
        "for inputs, target in loader:\n    use(inputs)\n"
    ),
    "pictures of files": "for path in paths:\n    use(cv2.imread(path)[None])\n",
    "pictures of a dataset of files": (
        "def load(path):\n    return tf.io.decode_jpeg(tf.io.read_file(path))\n"
        "for image in tf.data.Dataset.list_files('*.jpg').map(load).batch(1):\n    use(image)\n"
    ),
    "sounds": "for path in paths:\n    wave, rate = librosa.load(path)\n    use(wave[None, :])\n",
    "arrays of files, by a generator": (
        "def stored(paths):\n    for path in paths:\n        yield np.load(path)\nfor cube in stored(names):\n    use(cube)\n"
    ),
    "a text's numbers": "for text in texts:\n    use(tokenizer(text, return_tensors='tf'))\n",
    "numbers of letters": "for line in open('a.txt'):\n    use(tf.constant([[codes[c] for c in line]]))\n",
    "words by a layer": (
        "words = tf.keras.layers.TextVectorization()\ntext = 'Once'\nfor _ in range(40):\n    use(words([text]))\n    text += pick()\n"
    ),
    "padded to the longest": (
        "pad = tf.keras.preprocessing.sequence.pad_sequences\nfor i in range(0, 640, 32):\n    use(pad(rows[i:i + 32]))\n"
    ),
    "tokens that grow": (
        "tokens = tf.constant([[1]])\nfor _ in range(50):\n    last = use(tokens)\n    tokens = tf.concat([tokens, last], 1)\n"
    ),
    "a history that grows": "seen = []\nfor row in table:\n    seen.append(row)\n    use(np.array(seen)[None])\n",
    "a list that grows by sums": "ids = [1]\nfor _ in range(50):\n    ids = ids + [pick()]\n    use(tf.constant([ids]))\n",
    "a window that fills": (
        "x = tf.constant([[1]])\nfor _ in range(99):\n    x = tf.concat([x[:, -30:], use(x)], 1)\n"
    ),
    "sizes of an image": (
        "image = cv2.imread('a.png')\nfor scale in scales:\n    use(cv2.resize(image, (int(90 * scale), int(60 * scale)))[None])\n"
    ),
}
FIXED = {
    "a generator of drawn arrays": (
        "def parts():\n    for _ in range(90):\n        yield rng.normal(size=(8, 5)).astype('float32'), 1\n"
        "for part, label in parts():\n    use(part)\n"
    ),
    "a dataset of arrays": "for rows in tf.data.Dataset.from_tensor_slices(table).shuffle(9).batch(32):\n    use(rows)\n",
    "a dataset that is a parameter": "def run(data):\n    for x, y in data:\n        use(x, y)\n",
    "unknown data": "for x in data:\n    use(x)\n",
    "one array": "for _ in range(90):\n    use(table)\n",
    "its rows": "for row in table:\n    use(row[None])\n",
    "rows by number": "for i in range(640):\n    use(table[i:i + 1])\n",
    "slices of a length": "for i in range(0, 640, 32):\n    use(table[i : i + 32])\n",
    "slices of a length, cut at the end": (
        "def parts(x, size):\n    for start in range(0, len(x), size):\n        end = min(start + size, len(x))\n"
        "        yield x[start:end]\nfor part in parts(table, 32):\n    use(part)\n"
    ),
    "slices by number": "for i in range(20):\n    use(table[i * 32 : (i + 1) * 32])\n",
    "slices in an order": "order = rng.permutation(640)\nfor i in range(0, 640, 32):\n    use(table[order[i : i + 32]])\n",
    "a constant part": "for x in data:\n    use(x[:, :3], x[:, 3:])\n",
    "drawn arrays": "while True:\n    use(tf.random.normal((8, 5)), rng.normal(size=(8, 5)))\n",
    "as many as a batch has": "for x in data:\n    use(tf.zeros((len(x), 5)), tf.random.normal([tf.shape(x)[0], 9]), x)\n",
    "as many as its shape says": "for x in data:\n    n = x.shape[0]\n    use(tf.ones((n, 1)), x)\n",
    "reshaped": "for path in paths:\n    use(np.load(path).reshape(1, 28, 28))\n",
    "reshaped by TensorFlow": "for path in paths:\n    use(tf.reshape(np.load(path), (4, 25)))\n",
    "a picture that is resized": "for path in paths:\n    use(cv2.resize(cv2.imread(path), (64, 64))[None])\n",
    "a picture read once": "image = cv2.imread('a.png')\nfor _ in range(99):\n    use(image[None])\n",
    "pictures in batches": (
        "def load(path):\n    return tf.io.decode_jpeg(tf.io.read_file(path))\n"
        "for image in tf.data.Dataset.list_files('*.jpg').map(load).batch(16):\n    use(image)\n"
    ),
    "pictures that a map resizes": (
        "def load(path):\n    return tf.image.resize(tf.io.decode_jpeg(tf.io.read_file(path)), (64, 64))\n"
        "for image in tf.data.Dataset.list_files('*.jpg').map(load).batch(1):\n    use(image)\n"
    ),
    "padded to a length": "for words, label in data.padded_batch(32, ([40], [])):\n    use(words)\n",
    "padded to a length by Keras": (
        "pad = tf.keras.preprocessing.sequence.pad_sequences\nfor i in range(0, 640, 32):\n    use(pad(rows[i:i + 32], maxlen=40))\n"
    ),
    "a tokenizer's longest": "for text in texts:\n    use(tokenizer(text, padding='max_length', return_tensors='tf'))\n",
    "ragged batches": (
        "rows = tf.ragged.constant(words)\nfor row in tf.data.Dataset.from_tensor_slices(rows).batch(8):\n    use(row)\n"
    ),
    "from_generator of a signature": (
        "data = tf.data.Dataset.from_generator(source, output_signature=tf.TensorSpec((8, 5), tf.float32))\n"
        "for part in data:\n    use(part)\n"
    ),
    "from_generator of what is not known, in batches": (
        "def clips(folder):\n    for name in folder:\n        yield cut(name)\n"
        "data = tf.data.Dataset.from_generator(clips, output_signature=tf.TensorSpec([None, None, 3]))\n"
        "for part in data.batch(4):\n    use(part)\n"
    ),
    "next to a list of texts": (
        "names = [f'worker/{i}' for i in range(4)]\ngrid = lay_out(names)\nfor part in data:\n    use(placed(part, grid))\n"
    ),
    "from_generator of slices": (
        "def parts():\n    for i in range(0, 640, 32):\n        yield table[i : i + 32]\n"
        "for part in tf.data.Dataset.from_generator(parts, tf.float32):\n    use(part)\n"
    ),
    "an image that a step changes": "x = tf.random.normal((1, 9))\nfor t in range(99):\n    x = x - 0.1 * use(x)\n",
    "a window that moves": (
        "x = np.zeros((1, 9))\nfor _ in range(99):\n    y = use(x)\n    x = np.append(x[:, 1:], y, axis=1)\n"
    ),
    "a camera": "camera = cv2.VideoCapture(0)\nwhile True:\n    ok, frame = camera.read()\n    use(frame[None])\n",
    "a sample of a memory": (
        "from collections import deque\nmemory = deque(maxlen=900)\nwhile True:\n    memory.append(state)\n"
        "    use(np.array(random.sample(memory, 32)))\n"
    ),
    "texts": "for text in texts:\n    use(tf.constant([text]))\n",
    "joined halves": "for x, y in data:\n    use(tf.concat([x, y], 0))\n",
}


def _changes(code: str, folder: Path) -> bool:
    model = model_of(HEAD + code, folder)
    (call,) = (c for c in model.file.tree.calls if isinstance(c.func, cst.Name) and c.func.value == "use")
    return model.once(ShapeChanges).of_call(model.file, call)


@pytest.mark.parametrize("code", CHANGING.values(), ids=CHANGING)
def test_shapes_that_may_change(code: str, tmp_path: Path) -> None:
    assert _changes(code, tmp_path)


@pytest.mark.parametrize("code", FIXED.values(), ids=FIXED)
def test_shapes_that_stay(code: str, tmp_path: Path) -> None:
    assert not _changes(code, tmp_path)
