"""TFG323: `take` and `skip` of a dataset that each pass shuffles again, and splits whose parts stay apart."""

from __future__ import annotations

from pathlib import Path

import pytest
from checks import codes, fixed

HEAD = """
import numpy as np
import tensorflow as tf
songs, genres = np.load("songs.npy"), np.load("genres.npy")
held = int(0.2 * len(songs))
rows = tf.data.Dataset.from_tensor_slices((songs, genres))
def heard(song, genre):
    return tf.cast(song, tf.float32), genre
"""
FOUND = {
    "two statements": "rows = rows.shuffle(len(songs))\ntest, train = rows.take(held), rows.skip(held)\n",
    "a seed": "rows = rows.shuffle(5000, seed=7).map(heard)\ntest = rows.take(held).batch(8)\ntrain = rows.skip(held)\n",
    "asked to": "rows = rows.shuffle(900, reshuffle_each_iteration=True)\ntrain = rows.skip(count=held)\n"
    "test = rows.take(count=held)\n",
    "numbers": "rows = rows.shuffle(900)\nN = 300\ntrain = rows.skip(N)\ntest = rows.take(300)\n",
    "batches": "rows = rows.shuffle(900).batch(16)\ntrain = rows.skip(20)\ntest = rows.take(20)\n",
    "in a function": "def parts(data, n):\n    return data.take(n), data.skip(n)\ntest, train = parts(rows.shuffle(900), held)\n",
    "one or the other": "def part(tests):\n    mixed = rows.shuffle(900)\n    if tests:\n        return mixed.take(held)\n"
    "    return mixed.skip(held)\ntest, train = part(True), part(False)\n",
    "three parts": "rows = rows.shuffle(900)\ntrain = rows.take(held)\nrest = rows.skip(held)\n"
    "valid, test = rest.take(held // 2), rest.skip(held // 2)\n",
    "a loader": "data = tf.keras.utils.image_dataset_from_directory('covers')\nn = len(data) // 5\n"
    "test, train = data.take(n), data.skip(n)\n",
    "files": "names = tf.data.Dataset.list_files('*.wav')\ntest, train = names.take(held), names.skip(held)\n",
    "a cache in each part": "rows = rows.shuffle(900)\ntest, train = rows.take(held).cache(), rows.skip(held).cache()\n",
}
SILENT = {
    "once": "rows = rows.shuffle(900, reshuffle_each_iteration=False)\ntest, train = rows.take(held), rows.skip(held)\n",
    "once, by position": "rows = rows.shuffle(900, 3, False)\ntest, train = rows.take(held), rows.skip(held)\n",
    "no shuffle": "test, train = rows.take(held), rows.skip(held)\n",
    "shuffled after the split": "test, train = rows.take(held), rows.skip(held).shuffle(900)\n",
    "cached before the split": "rows = rows.shuffle(900).cache()\ntest, train = rows.take(held), rows.skip(held)\n",
    "a buffer of one": "rows = rows.shuffle(1)\ntest, train = rows.take(held), rows.skip(held)\n",
    "a header that is skipped": "rows = rows.shuffle(900)\nrest = rows.skip(1)\nfor row in rows.take(1):\n    print(row)\n",
    "a piece from the middle": "rows = rows.shuffle(900)\npiece = rows.skip(held).take(held)\n",
    "one and another": "test = rows.shuffle(900).take(held)\ntrain = rows.skip(held)\n",
    "other counts": "rows = rows.shuffle(900)\nsome = rows.take(100)\nrest = rows.skip(held)\n",
    "it is not known whether": "rows = rows.shuffle(900, reshuffle_each_iteration=AGAIN)\n"
    "test, train = rows.take(held), rows.skip(held)\n",
    "files in order": "names = tf.data.Dataset.list_files('*.wav', shuffle=False)\n"
    "test, train = names.take(held), names.skip(held)\n",
    "an array": "order = np.random.permutation(len(songs))\ntest, train = songs.take(order[:held]), songs.skip(held)\n",
}


@pytest.mark.parametrize("code", FOUND.values(), ids=FOUND)
def test_a_split_of_what_is_shuffled_again_is_found_once(code: str, tmp_path: Path) -> None:
    assert codes(HEAD + code, tmp_path).count("TFG323") == 1


@pytest.mark.parametrize("code", SILENT.values(), ids=SILENT)
def test_parts_that_stay_apart_are_not(code: str, tmp_path: Path) -> None:
    assert "TFG323" not in codes(HEAD + code, tmp_path)


@pytest.mark.parametrize("given", ["", ", seed=3", ", reshuffle_each_iteration=True"])
def test_the_fix_keeps_the_parts_apart(given: str, tmp_path: Path) -> None:
    """Protects the claim and the fix, by TensorFlow: rows in both parts before, none after, in each of two epochs."""
    program = (
        "import tensorflow as tf\n"
        f"rows = tf.data.Dataset.range(300).shuffle(300{given})\n"
        "test, train = rows.take(100).batch(8), rows.skip(100).batch(8)\n"
        "both = [len({int(n) for b in test for n in b} & {int(n) for b in train for n in b}) for _ in range(2)]\n"
    )
    after = fixed(program, tmp_path, "TFG323")
    assert "reshuffle_each_iteration=False" in after
    old: dict[str, list[int]] = {}
    new: dict[str, list[int]] = {}
    exec(program, old)
    exec(after, new)
    assert min(old["both"]) > 30
    assert new["both"] == [0, 0]


@pytest.mark.parametrize(
    "code", [FOUND["a loader"], "rows = rows.shuffle(900).repeat()\ntest, train = rows.take(held), rows.skip(held)\n"]
)
def test_a_loader_and_what_is_repeated_have_no_fix(code: str, tmp_path: Path) -> None:
    code = HEAD + code
    assert "TFG323" in codes(code, tmp_path)
    assert fixed(code, tmp_path, "TFG323") == code
