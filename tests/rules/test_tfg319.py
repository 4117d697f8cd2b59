"""TFG319: pairs that are torn by shuffles of their own are found, and those that stay together are not."""

from __future__ import annotations

from pathlib import Path

import pytest
import tensorflow as tf
from checks import codes, fixed

HEAD = """
import tensorflow as tf
from tensorflow.data import Dataset
pictures, masks = load()
net = tf.keras.Sequential([tf.keras.layers.Conv2D(1, 3)])
net.compile("sgd", "mse")
"""
FOUND = {
    "both": "a = Dataset.from_tensor_slices(pictures).shuffle(99)\nb = Dataset.from_tensor_slices(masks).shuffle(99)\n"
    "net.fit(Dataset.zip((a, b)).batch(8).prefetch(2))",
    "only the targets": "a = Dataset.from_tensor_slices(pictures)\nb = Dataset.from_tensor_slices(masks).shuffle(99)\n"
    "net.fit(Dataset.zip((a, b)).batch(8))",
    "files that are listed": "a = Dataset.list_files('a/*.png').map(read)\nb = Dataset.list_files('b/*.png').map(read)\n"
    "net.evaluate(Dataset.zip((a, b)).batch(8))",
    "branches of one": "ds = Dataset.from_tensor_slices(pictures).shuffle(99)\n"
    "net.fit(Dataset.zip((ds.map(left), ds.map(right))).batch(8))",
    "loaders": "load = tf.keras.utils.image_dataset_from_directory\n"
    "net.fit(Dataset.zip((load('a', label_mode=None), load('b', label_mode=None))))",
    "in functions": "def made(rows):\n    return Dataset.from_tensor_slices(rows).shuffle(99).batch(8)\n"
    "def joined():\n    return Dataset.zip((made(pictures), made(masks)))\nnet.fit(joined().prefetch(1))",
    "no seed is no seed": "a = Dataset.from_tensor_slices(pictures).shuffle(99, seed=None)\n"
    "net.fit(Dataset.zip((a, Dataset.from_tensor_slices(masks))).batch(8))",
}
SILENT = {
    "afterwards": "a, b = Dataset.from_tensor_slices(pictures), Dataset.from_tensor_slices(masks)\n"
    "net.fit(Dataset.zip((a, b)).shuffle(99).batch(8))",
    "one seed": "a = Dataset.from_tensor_slices(pictures).shuffle(99, seed=1)\n"
    "b = Dataset.from_tensor_slices(masks).shuffle(99, seed=1)\nnet.fit(Dataset.zip((a, b)).batch(8))",
    "a seed that is not known": "a = Dataset.from_tensor_slices(pictures).shuffle(99, seed=seed)\n"
    "b = Dataset.from_tensor_slices(masks).shuffle(99, seed=seed)\nnet.fit(Dataset.zip((a, b)).batch(8))",
    "branches of one order": "ds = Dataset.from_tensor_slices(pictures).shuffle(99, reshuffle_each_iteration=False)\n"
    "net.fit(Dataset.zip((ds.map(left), ds.map(right))).batch(8))",
    "files in order": "a, b = (Dataset.list_files(one, shuffle=False).map(read) for one in 'ab')\n"
    "net.fit(Dataset.zip((a, b)).batch(8))",
    "mixed on purpose": "a = Dataset.from_tensor_slices((pictures, masks)).shuffle(99)\n"
    "b = Dataset.from_tensor_slices((pictures, masks)).shuffle(99)\nnet.fit(Dataset.zip((a, b)).map(mixed).batch(8))",
    "unpaired on purpose": "class Cycle(tf.keras.Model):\n    def train_step(self, data):\n        return {}\n"
    "a = Dataset.from_tensor_slices(pictures).shuffle(99)\nb = Dataset.from_tensor_slices(masks).shuffle(99)\n"
    "Cycle().fit(Dataset.zip((a, b)).batch(8))",
    "a model from elsewhere": "from cycles import model\na = Dataset.from_tensor_slices(pictures).shuffle(99)\n"
    "b = Dataset.from_tensor_slices(masks).shuffle(99)\nmodel.fit(Dataset.zip((a, b)).batch(8))",
    "targets that are alike": "a = Dataset.from_tensor_slices(pictures).shuffle(99)\n"
    "b = Dataset.from_tensor_slices(tf.ones((60, 1)))\nnet.fit(Dataset.zip((a, b)).batch(8))",
    "one target repeated": "a = Dataset.from_tensor_slices(pictures).shuffle(99)\n"
    "b = Dataset.from_tensors(0).repeat()\nnet.fit(Dataset.zip((a, b)).batch(8))",
    "noise": "a = Dataset.from_tensor_slices(pictures).shuffle(99)\nb = Dataset.from_generator(noise, tf.float32)\n"
    "net.fit(Dataset.zip((a, b)).batch(8))",
    "nothing is shuffled": "a = Dataset.from_tensor_slices(pictures).shuffle(1)\n"
    "b = Dataset.from_tensor_slices(masks)\nnet.fit(Dataset.zip((a, b)).batch(8))",
    "three": "a, b, c = (Dataset.from_tensor_slices(one).shuffle(9) for one in load())\n"
    "net.fit(Dataset.zip((a, b, c)).batch(8))",
}


@pytest.mark.parametrize("code", FOUND.values(), ids=FOUND.keys())
def test_is_found(code: str, tmp_path: Path) -> None:
    """Protects recall: who shuffles, and where, does not matter."""
    assert "TFG319" in codes(HEAD + code, tmp_path)


@pytest.mark.parametrize("code", SILENT.values(), ids=SILENT.keys())
def test_is_silent(code: str, tmp_path: Path) -> None:
    """Protects precision: orders that are the same, and pairs that are not meant to be."""
    assert "TFG319" not in codes(HEAD + code, tmp_path)


def together(first: tf.data.Dataset, second: tf.data.Dataset) -> int:
    return sum(int(one) == int(other) for one, other in tf.data.Dataset.zip((first, second)))


def test_tensorflow_tears_and_keeps_what_the_rule_says() -> None:
    """The facts of the documentation, with the installed TensorFlow; by chance a few of 60 pairs may meet."""
    rows = tf.data.Dataset.range(60)
    assert together(rows.shuffle(60), rows.shuffle(60)) < 20 > together(rows, rows.shuffle(60))
    assert together(rows.shuffle(60, seed=3), rows.shuffle(60, seed=3)) == 60
    tf.random.set_seed(1)
    assert together(rows.shuffle(60), rows.shuffle(60)) < 20, "a global seed does not keep them together"
    shuffled = rows.shuffle(60)
    assert together(shuffled.map(lambda x: x), shuffled.map(lambda x: x)) < 20
    once = rows.shuffle(60, reshuffle_each_iteration=False)
    assert together(once.map(lambda x: x), once.map(lambda x: x)) == 60


def test_two_branches_of_one_shuffled_dataset(tmp_path: Path) -> None:
    """Protects the statement with the one shuffle that both branches have: it is taken out once."""
    code = (
        "samples = Dataset.from_tensor_slices((pictures, masks)).shuffle(80).map(read)\n"
        "net.fit(Dataset.zip((samples.map(left), samples.map(right))).batch(8))\n"
    )
    assert fixed(HEAD + code, tmp_path, only="TFG319") == HEAD + code.replace(".shuffle(80)", "").replace(
        "right)))", "right))).shuffle(80)"
    )
