"""TFG328: `steps_per_epoch` that do not divide the batches of a dataset with an end."""

from __future__ import annotations

from pathlib import Path

import pytest
from checks import codes, fixed

HEAD = """
import math
import numpy as np
import tensorflow as tf
rows, sums = np.zeros((100, 2), "float32"), np.zeros((100, 1), "float32")
data = tf.data.Dataset.from_tensor_slices((rows, sums)).shuffle(100).batch(10)
net = tf.keras.Sequential([tf.keras.Input((2,)), tf.keras.layers.Dense(1)])
net.compile("sgd", "mse")
"""
FOUND = {
    "a number": "net.fit(data, epochs=4, steps_per_epoch=9)\n",
    "computed": "net.fit(data, epochs=4, steps_per_epoch=len(rows) // 25)\n",
    "of the last rows": "odd = tf.data.Dataset.from_tensor_slices((rows, sums)).batch(32)\n"
    "net.fit(odd, epochs=4, steps_per_epoch=rows.shape[0] // 32)\n",
    "epochs that are not known": "net.fit(data, epochs=count, steps_per_epoch=int(len(rows) * 0.03))\n",
}
SILENT = {
    "all batches": "net.fit(data, epochs=4, steps_per_epoch=10)\n",
    "half of them": "net.fit(data, epochs=4, steps_per_epoch=5)\n",
    "repeated": "net.fit(data.repeat(), epochs=4, steps_per_epoch=9)\n",
    "one epoch": "net.fit(data, steps_per_epoch=9)\n",
    "a few epochs": "net.fit(data, epochs=2, steps_per_epoch=4)\n",
    "whole batches only": "odd = tf.data.Dataset.from_tensor_slices((rows, sums)).batch(32, drop_remainder=True)\n"
    "net.fit(odd, epochs=4, steps_per_epoch=len(rows) // 32)\n",
    "rounded up": "odd = tf.data.Dataset.from_tensor_slices((rows, sums)).batch(32)\n"
    "net.fit(odd, epochs=4, steps_per_epoch=math.ceil(len(rows) / 32))\n",
    "a filter": "net.fit(data.filter(kept), epochs=4, steps_per_epoch=9)\n",
    "rows that are not known": "data = tf.data.Dataset.from_tensor_slices(np.load('a.npy')).batch(8)\n"
    "net.fit(data, epochs=4, steps_per_epoch=9)\n",
    "arrays": "net.fit(rows, sums, epochs=4, steps_per_epoch=3)\n",
}


@pytest.mark.parametrize("code", FOUND.values(), ids=FOUND)
def test_uneven_epochs_are_found(code: str, tmp_path: Path) -> None:
    assert codes(HEAD + code, tmp_path).count("TFG328") == 1


@pytest.mark.parametrize("code", SILENT.values(), ids=SILENT)
def test_even_ones_are_not(code: str, tmp_path: Path) -> None:
    assert "TFG328" not in codes(HEAD + code, tmp_path)


@pytest.mark.slow
def test_the_fixed_program_has_even_epochs(tmp_path: Path) -> None:
    """Protects the claim and the fix, by Keras: 9 and 1 steps in turn before, ten in each epoch after."""
    count = (
        "steps = []\nseen = tf.keras.callbacks.LambdaCallback(on_epoch_begin=lambda e, logs: steps.append(0),\n"
        "    on_train_batch_end=lambda b, logs: steps.append(steps.pop() + 1))\n"
    )
    program = HEAD + count + "net.fit(data, epochs=4, steps_per_epoch=9, callbacks=[seen], verbose=0)\n"
    old: dict[str, list[int]] = {}
    new: dict[str, list[int]] = {}
    exec(program, old)
    exec(fixed(program, tmp_path, "TFG328"), new)
    assert old["steps"][:2] == [9, 1]
    assert new["steps"] == [10, 10, 10, 10]
