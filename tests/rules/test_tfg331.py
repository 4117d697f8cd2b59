"""TFG331: predictions and labels of two passes over shuffled rows are found where something compares them."""

from __future__ import annotations

from pathlib import Path

import pytest
from checks import codes, found

HEAD = """
import numpy as np
import tensorflow as tf
from sklearn.metrics import accuracy_score, confusion_matrix
net = tf.keras.models.load_model("net.keras")
images = tf.keras.preprocessing.image.ImageDataGenerator()
"""
FOLDER = "held = tf.keras.utils.image_dataset_from_directory('held')\n"
ROWS = "held = tf.data.Dataset.from_tensor_slices((x, y)).shuffle(500).batch(20)\n"
LABELS = "truth = np.concatenate([kind for _, kind in held])\n"
GUESSES = "guesses = np.argmax(net.predict(held), axis=-1)\n"
COMPARED = "print(confusion_matrix(truth, guesses))  # here"

WRONG = {
    "a folder": FOLDER + LABELS + GUESSES + COMPARED,
    "shuffled rows": ROWS + GUESSES + LABELS + COMPARED,
    "a loop that appends": ROWS
    + "truth = []\nfor _, kind in held:\n    truth.append(kind)\n"
    + GUESSES
    + "print(accuracy_score(tf.concat(truth, 0), guesses))  # here",
    "a loop that extends": FOLDER
    + "truth = []\nfor some, kinds in held:\n    truth.extend(kinds.numpy())\n"
    + GUESSES
    + "print(tf.math.confusion_matrix(labels=truth, predictions=guesses))  # here",
    "row by row": FOLDER + GUESSES + "truth = [int(kind) for _, kind in held.unbatch()]\n" + COMPARED,
    "mapped": FOLDER + GUESSES + "truth = np.array(list(held.map(lambda image, kind: kind).unbatch()))\n"
    "print(np.mean(truth == guesses))  # here",
    "counted": ROWS + LABELS + GUESSES + "right = (guesses == truth).sum()  # here",
    "in functions": FOLDER + "def labels_of(rows):\n    return np.concatenate([kind for _, kind in rows])\n"
    "def score(rows):\n    guessed = net.predict(rows).argmax(1)\n"
    "    return accuracy_score(labels_of(rows), guessed)  # here\nscore(held)",
    "a generator": "flow = images.flow_from_directory('held', target_size=(64, 64))\nguesses = net.predict(flow)\n"
    "print(confusion_matrix(flow.classes, guesses.argmax(axis=1)))  # here",
    "a generator that is told": "flow = images.flow_from_dataframe(table, shuffle=True)\nguesses = net.predict(flow)\n"
    "print(accuracy_score(flow.labels, guesses.argmax(axis=1)))  # here",
}
RIGHT = {
    "not shuffled": FOLDER.replace("')", "', shuffle=False)") + LABELS + GUESSES + COMPARED,
    "one order": ROWS.replace("500", "500, reshuffle_each_iteration=False") + LABELS + GUESSES + COMPARED,
    "kept in memory": ROWS.replace("\n", ".cache()\n") + LABELS + GUESSES + COMPARED,
    "one loop": FOLDER + "truth, guesses = [], []\nfor image, kind in held:\n    truth.append(kind)\n"
    "    guesses.append(net.predict(image))\n" + COMPARED,
    "lengths": ROWS + LABELS + GUESSES + "assert len(truth) == len(guesses)",
    "labels of other rows": ROWS + GUESSES + "truth = np.load('truth.npy')\n" + COMPARED,
    "the images": ROWS + GUESSES + "shown = np.concatenate([image for image, _ in held])\n"
    "print(confusion_matrix(shown, guesses))",
    "a generator in order": "flow = images.flow_from_directory('held', shuffle=False)\nguesses = net.predict(flow)\n"
    "print(confusion_matrix(flow.classes, guesses.argmax(axis=1)))",
    "a generator that is set in order": "flow = images.flow_from_directory('held')\nflow.shuffle = False\nflow.reset()\n"
    "guesses = net.predict(flow)\nprint(confusion_matrix(flow.classes, guesses.argmax(axis=1)))",
    "another generator": "flow = images.flow_from_directory('held')\nother = images.flow_from_directory('more')\n"
    "print(confusion_matrix(other.classes, net.predict(flow).argmax(axis=1)))",
}  # fmt: skip


@pytest.mark.parametrize("name", WRONG)
def test_labels_of_another_order_are_found(name: str, tmp_path: Path) -> None:
    code = HEAD + WRONG[name]
    [row] = [row for row, line in enumerate(code.splitlines(), 1) if "# here" in line]
    assert {found_row for rule, found_row in found(code, tmp_path) if rule == "TFG331"} == {row}


@pytest.mark.parametrize("name", RIGHT)
def test_labels_of_the_same_order_are_not(name: str, tmp_path: Path) -> None:
    assert "TFG331" not in codes(HEAD + RIGHT[name], tmp_path)


@pytest.mark.parametrize("again", [True, False])
def test_two_passes_have_two_orders(again: bool) -> None:
    """Protects the claim: a model that gives its input back, and labels that are the input."""
    np, tf = pytest.importorskip("numpy"), pytest.importorskip("tensorflow")
    numbers = np.arange(1000, dtype="float32")[:, None]
    rows = (
        tf.data.Dataset.from_tensor_slices((numbers, numbers)).shuffle(1000, reshuffle_each_iteration=again).batch(50)
    )
    same = tf.keras.Sequential([tf.keras.layers.Input((1,)), tf.keras.layers.Lambda(lambda x: x)])
    guesses = same.predict(rows, verbose=0)
    labels = np.concatenate([label for _, label in rows])
    assert (int((guesses == labels).sum()) == 1000) == (not again)
