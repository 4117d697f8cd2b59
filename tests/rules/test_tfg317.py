"""TFG317: a shuffle with a buffer of one is found however the one is written, and other shuffles are not."""

from __future__ import annotations

from pathlib import Path

import pytest
from checks import codes, findings, found, notebook

HEAD = """
import tensorflow as tf
source = tf.data.Dataset.range(64)
"""
FOUND = {
    "plain": "ds = source.shuffle(1)\nprint(ds)",
    "keyword": "print(source.shuffle(buffer_size=1, seed=3))",
    "constant": "BUFFER = 1\nprint(source.map(f).shuffle(BUFFER).batch(4))",
    "arithmetic": "print(source.shuffle(64 // 64))",
    "parameter": "def load(size):\n    return source.shuffle(size)\nprint(load(1))",
    "dataset as a parameter": "def mixed(ds):\n    return ds.shuffle(1)\nprint(mixed(source))",
    "attribute": "class Data:\n    def __init__(self):\n        self.ds = source.batch(2)\n"
    "    def mixed(self):\n        return self.ds.shuffle(1)",
    "settings": "CFG = {'buffer': 1}\nprint(source.shuffle(CFG['buffer']))",
    "known by a keyword": "def mixed(ds):\n    return ds.shuffle(1, reshuffle_each_iteration=True)",
}
SILENT = {
    "larger": "print(source.shuffle(1000))",
    "two": "print(source.shuffle(2))",
    "unknown": "def load(size):\n    return source.shuffle(size)",
    "default of a parameter": "def load(size=1):\n    return source.shuffle(size)",
    "one in some cases": "print(source.shuffle(1 if debug else 1000))",
    "one by one caller": "def load(size):\n    return source.shuffle(size)\nload(1)\nload(1000)",
    "command line": "import argparse\np = argparse.ArgumentParser()\np.add_argument('--buffer', default=1, type=int)\n"
    "print(source.shuffle(p.parse_args().buffer))",
    "true": "print(source.shuffle(True))",
    "random": "import random\nrandom.shuffle(1)",
    "numpy": "import numpy as np\nnp.random.default_rng().shuffle(1)",
    "unknown object": "from elsewhere import deck\ndeck.shuffle(1)",
    "listed files": "tf.data.Dataset.list_files('*', shuffle=True)",
    "own class": "class Deck:\n    def shuffle(self, times):\n        pass\nDeck().shuffle(1)",
}


def _table(cases: dict[str, str]) -> pytest.MarkDecorator:
    return pytest.mark.parametrize("code", cases.values(), ids=cases.keys())


@_table(FOUND)
def test_is_found(code: str, tmp_path: Path) -> None:
    """Protects recall through constants, parameters and attributes."""
    assert codes(HEAD + code, tmp_path) == ["TFG317"]


@_table(SILENT)
def test_is_silent(code: str, tmp_path: Path) -> None:
    """Protects precision: buffers that are not surely one, and other things that shuffle."""
    assert "TFG317" not in codes(HEAD + code, tmp_path)


def test_constant_of_another_file(tmp_path: Path) -> None:
    """Protects sizes that come from the project's settings."""
    (tmp_path / "settings.py").write_text("BUFFER = 1\n")
    assert ("TFG317", 5) in found(HEAD + "import settings\nprint(source.shuffle(settings.BUFFER))", tmp_path)


def test_in_a_notebook(tmp_path: Path) -> None:
    """Protects datasets made in another cell."""
    text = notebook(HEAD, "mixed = source.shuffle(1)\nprint(mixed)")
    assert "TFG317" in {rule.code for rule, _ in findings(text, tmp_path, name="n.ipynb")}


def test_place(tmp_path: Path) -> None:
    """Protects the method's name as the place in a chain over several lines."""
    assert ("TFG317", 7) in found(HEAD + "ds = (\n    source\n    .batch(4)\n    .shuffle(1)\n)\nprint(ds)", tmp_path)


def test_a_buffer_of_one_keeps_the_order() -> None:
    """The truth of TFG317 with the installed TensorFlow."""
    tf = pytest.importorskip("tensorflow")
    dataset = tf.data.Dataset.range(50).shuffle(1, reshuffle_each_iteration=True)
    assert [[int(x) for x in dataset] for _ in range(2)] == [list(range(50))] * 2
