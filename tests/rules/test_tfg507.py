"""TFG507: models of a strategy that a loop trains without it, and loops that use it or need none."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from checks import codes, found

HEAD = """
import tensorflow as tf
from tensorflow import keras
def made():
    return keras.Sequential([keras.layers.Dense(1)])
spread = tf.distribute.MirroredStrategy()
with spread.scope():
    net = made()
    adam = keras.optimizers.Adam()
"""
LEARN = """
@tf.function
def learn(rows):
    with tf.GradientTape() as tape:
        loss = tf.reduce_mean(net(rows))
    slopes = tape.gradient(loss, net.trainable_variables)
    adam.apply_gradients(zip(slopes, net.trainable_variables))
"""
LOOP = "for rows in batches:\n    learn(rows)\n"
METHODS = """
class Coach:
    def __init__(self):
        self.plan = tf.distribute.MultiWorkerMirroredStrategy()
        with self.plan.scope():
            self.net = keras.Sequential([keras.layers.Dense(1)])
            self.adam = keras.optimizers.Adam()
    @tf.function
    def step(self, rows):
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean(self.net(rows))
        self.adam.apply_gradients(zip(tape.gradient(loss, self.net.trainable_weights), self.net.trainable_weights))
    def go(self, batches):
        for rows in batches:
            self.step(rows)
"""
FOUND = {
    "a traced step": HEAD + LEARN + LOOP,
    "an eager step": HEAD + LEARN.replace("@tf.function\n", "") + LOOP,
    "epochs around it": HEAD + LEARN + "for epoch in range(90):\n    for rows in batches:\n        learn(rows)\n",
    "methods": "import tensorflow as tf\nfrom tensorflow import keras\n" + METHODS + "Coach().go(batches)\n",
}
SILENT = {
    "run": HEAD + LEARN + LOOP.replace("learn(rows)", "spread.run(learn, args=(rows,))"),
    "the data are distributed": HEAD + LEARN + "batches = spread.experimental_distribute_dataset(data)\n" + LOOP,
    "no scope": HEAD.replace("with spread.scope():", "if True:") + LEARN + LOOP,
    "one device": HEAD.replace("MirroredStrategy()", "OneDeviceStrategy('/gpu:0')") + LEARN + LOOP,
    "a list of one device": HEAD.replace("MirroredStrategy()", "MirroredStrategy(['/gpu:0'])") + LEARN + LOOP,
    "fit": HEAD + "net.compile('adam', 'mse')\nnet.fit(data)\n",
    "a model from elsewhere": HEAD.replace("    net = made()\n", "").replace("spread =", "net = other.load()\nspread =")
    + LEARN
    + LOOP,
    "a loop in the scope": HEAD + LEARN + "with spread.scope():\n    for rows in batches:\n        learn(rows)\n",
    "a few steps": HEAD + LEARN + "for _ in range(3):\n    learn(tf.ones((2, 2)))\n",
    "a step of Keras": HEAD.replace("net = made()", "net = Own()").replace(
        "def made",
        "class Own(keras.Model):\n    def train_step(self, rows):\n        with tf.GradientTape() as tape:\n"
        "            loss = self(rows)\n        tape.gradient(loss, self.trainable_variables)\n        return {}\ndef made",
    )
    + "net.compile('adam')\nfor part in parts:\n    net.fit(part)\n",
}


@pytest.mark.parametrize("code", FOUND.values(), ids=FOUND)
def test_a_loop_beside_the_strategy_is_found(code: str, tmp_path: Path) -> None:
    """Protects recall: whoever makes the model, and whether the step is traced, does not matter."""
    assert codes(code, tmp_path).count("TFG507") == 1


@pytest.mark.parametrize("code", SILENT.values(), ids=SILENT)
def test_a_strategy_that_is_used_is_not(code: str, tmp_path: Path) -> None:
    assert "TFG507" not in codes(code, tmp_path)


def test_a_model_of_another_file(tmp_path: Path) -> None:
    (tmp_path / "networks.py").write_text(HEAD)
    code = "import tensorflow as tf\nfrom networks import net, adam\n" + LEARN + LOOP
    assert ("TFG507", 8) in found(code, tmp_path)


@pytest.mark.slow
def test_tensorflow_runs_a_step_once_without_the_strategy(tmp_path: Path) -> None:
    """Protects the rule's claim, with the installed TensorFlow and two CPU devices, in a process of its own."""
    program = """
import tensorflow as tf
cpu = tf.config.list_physical_devices("CPU")[0]
tf.config.set_logical_device_configuration(cpu, [tf.config.LogicalDeviceConfiguration()] * 2)
strategy = tf.distribute.MirroredStrategy(["CPU:0", "CPU:1"])
with strategy.scope():
    weight = tf.Variable(2.0)
replicas = []
def step(x):
    replicas.append(1)
    return x * weight
tf.function(step)(tf.ones(3))
alone = len(replicas)
tf.function(lambda x: strategy.run(step, args=(x,)))(tf.ones(3))
print("replicas", alone, len(replicas) - alone)
"""
    result = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert "replicas 1 2" in result.stdout
