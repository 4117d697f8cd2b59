"""What a program hands to a `tf.function` is a tensor there, however it was made: NumPy on it raises."""

from __future__ import annotations

from pathlib import Path

import pytest
from checks import codes

HEAD = """\
import numpy as np
import tensorflow as tf
from tensorflow import keras


@tf.function
def spread(part):
    return np.ptp(part) * 2


table = tf.reshape(tf.range(12.0), (4, 3))
kernel = tf.Variable(table)
numbers = np.arange(6.0)
net = keras.Sequential([keras.Input((3,)), keras.layers.Dense(2)])
"""
TENSORS = {
    "a variable": "spread(kernel)",
    "an updated variable": "spread(kernel.assign_sub(table))",
    "the value of a variable": "spread(kernel.read_value())",
    "weights one by one": "for weight in net.trainable_variables:\n    spread(weight)",
    "one of the weights": "spread(net.weights[0])",
    "a prediction": "spread(net.predict(table, verbose=0))",
    "a prediction of one batch": "spread(net.predict_on_batch(table))",
    "a result of a model": "spread(net(table))",
    "a result of a layer": "spread(keras.layers.Dense(1)(table))",
    "a part of a named tuple": "spread(tf.nn.top_k(table, 2).indices)",
    "a part of a tuple": "found, places = tf.nn.top_k(table, 2)\nspread(places)",
    "drawn by a generator": "draws = tf.random.get_global_generator()\nspread(draws.uniform((3,)))",
    "drawn by one of its own": "spread(tf.random.Generator.from_seed(2).truncated_normal((3,)))",
    "drawn by NumPy": "draws = np.random.default_rng(4)\nspread(draws.gamma(2.0, size=5))",
    "a reduced dataset": "rows = tf.data.Dataset.from_tensor_slices(table)\nspread(rows.reduce(tf.zeros(3), tf.add))",
    "an element": "rows = tf.data.Dataset.from_tensor_slices(table)\nfor row in rows.take(2):\n    spread(row)",
    "the next element": "rows = iter(tf.data.Dataset.from_tensor_slices(table))\nspread(rows.get_next())",
    "a loss": "spread(keras.losses.Huber()(table, table))",
    "a metric": "seen = keras.metrics.Sum()\nspread(seen.result())",
    "rows": "for row in table:\n    spread(row)",
    "a column": "spread(table[:, 1])",
    "a new axis": "spread(table[tf.newaxis])",
    "the rest": "spread(table[2:])",
    "negative": "spread(-table)",
    "compared": "spread(table >= 3)",
    "augmented": "total = tf.zeros(3)\ntotal -= 2\nspread(total)",
    "a choice": "import sys\nspread(table if len(sys.argv) > 9 else table + 1)",
    "slopes": "with tf.GradientTape() as tape:\n    cost = kernel * kernel\nspread(tape.gradient(cost, kernel))",
    "one of two slopes": (
        "with tf.GradientTape() as tape:\n    cost = kernel * kernel\n(slope,) = tape.gradient(cost, [kernel])\n"
        "spread(slope)"
    ),
    "pieces": "left, middle, right = tf.unstack(table, axis=1)\nspread(middle)",
    "a grid": "across, down = tf.meshgrid(tf.range(3), tf.range(2))\nspread(down)",
    "a list of tensors": "spread([table, table + 1])",
    "made in a loop": "spread([tf.fill((2,), float(i)) for i in range(3)])",
    "an array": "spread(numbers.reshape(2, 3).astype('float32'))",
    "taken out of a tensor": "spread(table.numpy())",
}
NO_TENSORS = {
    "a list of numbers": "spread([1.0, 4.0])",
    "a number": "spread(7)",
    "sizes": "spread(table.shape)",
    "a number of Python's generator": "import random\nspread(random.random())",
    "numbers and then tensors": "spread([1.0, 4.0])\nspread(table.numpy().tolist())",
}


@pytest.mark.parametrize("code", TENSORS.values(), ids=TENSORS)
def test_what_is_a_tensor_in_a_trace_raises_and_is_known(code: str, tmp_path: Path) -> None:
    """Protects the one answer to "is this a tensor": each way to make one raises, and is reported."""
    pytest.importorskip("tensorflow")
    with pytest.raises(NotImplementedError):
        exec(compile(HEAD + code, "spread.py", "exec"), {})
    assert "TFG101" in codes(HEAD + code + "\n", tmp_path)


@pytest.mark.parametrize("code", NO_TENSORS.values(), ids=NO_TENSORS)
def test_what_stays_a_value_of_python_is_no_tensor(code: str, tmp_path: Path) -> None:
    """Protects calls that run: NumPy on a Python value is right while it is traced."""
    pytest.importorskip("tensorflow")
    exec(compile(HEAD + code, "spread.py", "exec"), {})
    assert "TFG101" not in codes(HEAD + code + "\n", tmp_path)
