"""TFG222: epochs of one step, and epochs that have more, are few, or of which the code does not say it."""

from __future__ import annotations

from pathlib import Path

import pytest
from checks import codes, findings

HEAD = """
import numpy as np
import tensorflow as tf
from tensorflow import keras
heights, weights = np.load("heights.npy"), np.load("weights.npy")
net = keras.Sequential([keras.layers.Dense(16, activation="relu"), keras.layers.Dense(1)])
net.compile("adam", "mse")
"""
DATA = "rows = tf.data.Dataset.from_tensor_slices((heights, weights))\n"
FOUND = {
    "as many as there are": "net.fit(heights, weights, batch_size=len(heights), epochs=4000)\n",
    "the length by a name": "n = len(heights)\nnet.fit(heights, weights, n, 500)\n",
    "the shape's first by a name": "n = heights.shape[0]\nnet.fit(heights, weights, n, 500)\n",
    "the shape's first": "net.fit(heights, weights, epochs=800, batch_size=heights.shape[0], verbose=0)\n",
    "the same number twice": "made = np.random.rand(900, 3)\nnet.fit(made, weights, batch_size=900, epochs=900)\n",
    "more than there are": "made = np.random.rand(900, 3)\nnet.fit(made, weights, batch_size=1024, epochs=900)\n",
    "one step by its number": "net.fit(heights, weights, steps_per_epoch=1, epochs=3000)\n",
    "a dataset's batch": DATA + "net.fit(rows.batch(len(heights)), epochs=600)\n",
    "several inputs": "net.fit([heights, heights ** 2], weights, batch_size=len(heights), epochs=700)\n",
}
SILENT = {
    "few epochs": "net.fit(heights, weights, batch_size=len(heights), epochs=20)\n",
    "smaller batches": "net.fit(heights, weights, batch_size=len(heights) // 10, epochs=500)\n",
    "the length of something else": "net.fit(heights, weights, batch_size=len(sizes), epochs=500)\n",
    "an unknown number of rows": "net.fit(heights, weights, batch_size=4096, epochs=500)\n",
    "the default size": "net.fit(heights, weights, epochs=500)\n",
    "an example's rows": "made = np.random.rand(8, 3)\nnet.fit(made, weights, batch_size=8, epochs=500)\n",
    "a repeated dataset": DATA + "net.fit(rows.batch(len(heights)).repeat(50), epochs=600)\n",
    "more steps by their number": "net.fit(heights, weights, steps_per_epoch=40, epochs=3000)\n",
    "another library": "from sklearn.linear_model import SGDRegressor\nother = SGDRegressor()\n"
    "other.fit(heights, weights, batch_size=len(heights), epochs=500)\n",
}


@pytest.mark.parametrize("code", FOUND.values(), ids=FOUND)
def test_epochs_of_one_step_are_found(code: str, tmp_path: Path) -> None:
    assert codes(HEAD + code, tmp_path).count("TFG222") == 1


@pytest.mark.parametrize("code", SILENT.values(), ids=SILENT)
def test_other_epochs_are_not(code: str, tmp_path: Path) -> None:
    assert "TFG222" not in codes(HEAD + code, tmp_path)


@pytest.mark.parametrize("given", ["validation_split=0.2", "validation_data=(heights, weights)"])
def test_validation_in_each_is_said(given: str, tmp_path: Path) -> None:
    """Protects the answer to "why is fit ten times slower with validation data?"."""
    program = HEAD + f"net.fit(heights, weights, batch_size=len(heights), epochs=500, {given})\n"
    (found,) = [finding for rule, finding in findings(program, tmp_path) if rule.code == "TFG222"]
    assert "validates" in found.message and "validation_freq" in (found.help or "")


@pytest.mark.slow
def test_repeated_rows_take_the_same_steps() -> None:
    """Protects the advice, by Keras itself: the weights are those of as many epochs of one step."""
    import keras
    import numpy as np
    import tensorflow as tf

    def trained(by_epochs: bool) -> np.ndarray:
        keras.utils.set_random_seed(3)
        x = np.random.rand(80, 5).astype("float32")
        y = x.sum(axis=1, keepdims=True)
        model = keras.Sequential([keras.Input((5,)), keras.layers.Dense(4), keras.layers.Dense(1)])
        model.compile(keras.optimizers.SGD(0.1), "mse")
        if by_epochs:
            model.fit(x, y, batch_size=80, epochs=12, verbose=0, shuffle=False)
        else:
            model.fit(tf.data.Dataset.from_tensors((x, y)).repeat(6), epochs=2, verbose=0)
        return np.concatenate([weight.numpy().ravel() for weight in model.weights])

    np.testing.assert_allclose(trained(by_epochs=True), trained(by_epochs=False), rtol=1e-4)
