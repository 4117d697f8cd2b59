"""TFG510: a batch for one GPU that a strategy divides among several, and batches that grow with them."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from checks import codes

HEAD = """
import numpy as np
import tensorflow as tf
x, y = np.load("x.npy"), np.load("y.npy")
plan = tf.distribute.MirroredStrategy()
with plan.scope():
    net = tf.keras.Sequential([tf.keras.layers.Dense(3)])
    net.compile("adam", "mse")
rows = tf.data.Dataset.from_tensor_slices((x, y)).shuffle(9000)
"""
BATCHES = """class Rows(tf.keras.utils.Sequence):
    def __init__(self, x, y, batch_size=48):
        self.x, self.y, self.batch_size = x, y, batch_size
    def __len__(self):
        return len(self.x) // self.batch_size
    def __getitem__(self, n):
        part = slice(n * self.batch_size, (n + 1) * self.batch_size)
        return self.x[part], self.y[part]
"""
FOUND = {
    "a dataset": "net.fit(rows.batch(64).prefetch(2), epochs=4)\n",
    "a constant": "SIZE = 32\nrows = rows.batch(SIZE)\nnet.fit(rows, epochs=4)\n",
    "arrays": "net.fit(x, y, batch_size=96)\n",
    "a Sequence": BATCHES + "net.fit(Rows(x, y), epochs=4)\n",
    "a Sequence that is told": BATCHES + "data = Rows(x, y, batch_size=16)\nnet.fit(data, epochs=4)\n",
}
SILENT = {
    "by replicas": "net.fit(rows.batch(64 * plan.num_replicas_in_sync), epochs=4)\n",
    "replicas are counted elsewhere": "print(plan.num_replicas_in_sync)\nnet.fit(rows.batch(64), epochs=4)\n",
    "large": "net.fit(rows.batch(1024), epochs=4)\n",
    "not known": "net.fit(rows.batch(load_size()), epochs=4)\n",
    "another model": "own = tf.keras.Sequential([tf.keras.layers.Dense(3)])\nown.compile('adam', 'mse')\n"
    "own.fit(rows.batch(64), epochs=4)\n",
    "by default": "net.fit(x, y)\n",
}


@pytest.mark.parametrize("code", FOUND.values(), ids=FOUND)
def test_a_divided_batch_is_found(code: str, tmp_path: Path) -> None:
    assert codes(HEAD + code, tmp_path).count("TFG510") == 1


@pytest.mark.parametrize("code", SILENT.values(), ids=SILENT)
def test_others_are_not(code: str, tmp_path: Path) -> None:
    assert "TFG510" not in codes(HEAD + code, tmp_path)


def test_several_machines_are_left_alone(tmp_path: Path) -> None:
    """Protects a batch that is scaled by the number of machines, which the code knows."""
    code = HEAD.replace("MirroredStrategy", "MultiWorkerMirroredStrategy") + "net.fit(rows.batch(32 * 2), epochs=4)\n"
    assert "TFG510" not in codes(code, tmp_path)


def test_named_devices_are_a_choice(tmp_path: Path) -> None:
    code = HEAD.replace("MirroredStrategy()", "MirroredStrategy(['/gpu:0'])") + FOUND["a dataset"]
    assert "TFG510" not in codes(code, tmp_path)


@pytest.mark.slow
def test_the_strategy_divides_the_batch() -> None:
    """Protects the claim, by TensorFlow with two logical CPUs: half of the rows each, and no fewer steps."""
    program = """
import tensorflow as tf
one = tf.config.LogicalDeviceConfiguration()
tf.config.set_logical_device_configuration(tf.config.list_physical_devices("CPU")[0], [one, one])
plan = tf.distribute.MirroredStrategy(["/cpu:0", "/cpu:1"])
rows = plan.experimental_distribute_dataset(tf.data.Dataset.range(64).batch(8))
print([[len(part) for part in plan.experimental_local_results(batch)] for batch in rows])
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == str([[4, 4]] * 8)
