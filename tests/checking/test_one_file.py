"""Protects who checks one file, as editors and pre-commit do, from hearing less of it than who checks the folder."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

LAYERS = "import numpy as np\nfrom tensorflow import keras\n\n\nclass Scale(keras.layers.Layer):\n    def call(self, x):\n        return np.sin(x)\n"
STEPS = (
    "import tensorflow as tf\n\n\ndef learn(net, optimizer, x, y):\n    with tf.GradientTape() as tape:\n"
    "        loss = tf.reduce_mean(net(x) - y)\n"
    "    optimizer.apply_gradients(zip(tape.gradient(loss, net.variables), net.variables))\n"
)
DATA = (
    "import tensorflow as tf\n\n\ndef batches(x, y):\n    return tf.data.Dataset.from_tensor_slices((x, y)).batch(1)\n"
)
TRAIN = (
    "import numpy as np\nfrom tensorflow import keras\n\nfrom data import batches\nfrom steps import learn\n\n"
    "net = keras.Sequential([keras.layers.Dense(1)])\noptimizer = keras.optimizers.Adam()\n"
    "x, y = np.zeros((640, 2)), np.zeros((640, 1))\nfor a, b in batches(x, y):\n    learn(net, optimizer, a, b)\n"
    "net.fit(batches(x, y))\n"
)


@pytest.fixture
def project(tmp_path: Path) -> Path:
    for name, text in (("layers", LAYERS), ("steps", STEPS), ("data", DATA), ("train", TRAIN)):
        (tmp_path / f"{name}.py").write_text(text)
    return tmp_path


def found(tflint: Callable[..., Any], *paths: str) -> set[tuple[str, int, str]]:
    done = tflint("check", "--isolated", "--no-cache", "--output-format", "json", *paths)
    rows = json.loads(done.stdout)
    return {(Path(row["filename"]).name, row["location"]["row"], row["code"]) for row in rows}


@pytest.mark.slow
def test_a_file_alone_and_with_its_folder(tflint: Callable[..., Any], project: Path) -> None:
    """What a program and its imports decide is said of the program alone, also where it lies in what is imported."""
    whole = found(tflint, ".")
    assert {code for _, _, code in whole} >= {"TFG101", "TFG202"}
    assert found(tflint, "train.py") | found(tflint, "layers.py") == whole


def test_what_a_caller_elsewhere_decides_is_said_with_the_caller(tflint: Callable[..., Any], project: Path) -> None:
    """Protects the documented difference: that a loop runs a step eagerly is not to be seen in the step's own file."""
    assert ("steps.py", 5, "TFG202") in found(tflint, "train.py")
    assert found(tflint, "steps.py") == set()
