"""TFG219: a `tf.function` that gets the optimizer of a second model."""

from __future__ import annotations

from pathlib import Path

import pytest
from checks import codes

HEAD = """\
import numpy as np
import tensorflow as tf
from tensorflow.keras import layers, optimizers

rows, sums = np.ones((8, 3), "float32"), np.ones((8, 1), "float32")

def made(width=1):
    return tf.keras.Sequential([tf.keras.Input((3,)), layers.Dense(width)])

def lost(net, x, y):
    return tf.reduce_mean((net(x, training=True) - y) ** 2)

@tf.function
def learn(net, rule, x, y):
    with tf.GradientTape() as tape:
        loss = lost(net, x, y)
    found = tape.gradient(loss, net.trainable_variables)
    rule.apply_gradients(zip(found, net.trainable_variables))
    return loss

"""
MADE = "for turn in range(2):\n    net, rule = made(), optimizers.Adam()\n"
RAISES = {
    "in a loop": MADE + "    for _ in range(3):\n        learn(net, rule, rows, sums)\n",
    "by a function": "def tried(rate):\n    rule = optimizers.Adam(rate)\n    train(made(), rule)\n\n"
    "def train(net, rule):\n    for _ in range(2):\n        learn(net=net, rule=rule, x=rows, y=sums)\n\n"
    "for rate in (0.1, 0.2):\n    tried(rate)\n",
    "new ones for one model": "net = made()\nfor rate in (0.1, 0.2):\n"
    "    learn(net, optimizers.SGD(rate, momentum=0.9), rows, sums)\n",
    "both networks of a GAN": "near, far, slow, fast = made(), made(), optimizers.Adam(1e-4), optimizers.Adam(1e-3)\n"
    "for turn in range(3):\n    learn(near, slow, rows, sums)\n    learn(far, fast, rows, sums)\n",
    "after one without variables": "near, far, slow, fast = made(), made(), optimizers.SGD(1e-4), optimizers.Adam(1e-3)\n"
    "learn(near, slow, rows, sums)\nlearn(far, fast, rows, sums)\n",
}
FACTORY = "def learner():\n    @tf.function\n    def learn(net, rule, x, y):\n        with tf.GradientTape() as tape:\n"
FACTORY += "            loss = lost(net, x, y)\n        found = tape.gradient(loss, net.trainable_variables)\n"
FACTORY += "        rule.apply_gradients(zip(found, net.trainable_variables))\n    return learn\n\n"
RUNS = {
    "one for all turns": "net, rule = made(), optimizers.Adam()\nfor turn in range(2):\n    learn(net, rule, rows, sums)\n",
    "built before": MADE + "    rule.build(net.trainable_variables)\n    learn(net, rule, rows, sums)\n",
    "trained before": MADE + "    net.compile(rule, 'mse')\n    net.fit(rows, sums, verbose=0)\n"
    "    learn(net, rule, rows, sums)\n",
    "updated before": MADE + "    with tf.GradientTape() as tape:\n        loss = lost(net, rows, sums)\n"
    "    rule.apply_gradients(zip(tape.gradient(loss, net.trainable_variables), net.trainable_variables))\n"
    "    learn(net, rule, rows, sums)\n",
    "a new function for each": FACTORY + MADE + "    learner()(net, rule, rows, sums)\n",
    "a new function for each, with a name": FACTORY + MADE + "    step = learner()\n    step(net, rule, rows, sums)\n",
    "made in the first turn": "net, rule = made(), None\nfor turn in range(2):\n    if rule is None:\n"
    "        rule = optimizers.Adam()\n    learn(net, rule, rows, sums)\n",
    "kept in a table": "net, rules = made(), {}\nfor turn in range(2):\n    if 'a' not in rules:\n"
    "        rules['a'] = optimizers.Adam()\n    learn(net, rules['a'], rows, sums)\n",
    "functions run eagerly": "tf.config.run_functions_eagerly(True)\n"
    + MADE
    + "    learn(net, rule, rows, sums)\ntf.config.run_functions_eagerly(False)\n",
}


def _run(program: str) -> None:
    pytest.importorskip("tensorflow")
    exec(HEAD + program, {})


@pytest.mark.parametrize("case", RAISES)
def test_a_second_optimizer_is_found(case: str, tmp_path: Path) -> None:
    """Protects the claim, by TensorFlow."""
    assert codes(HEAD + RAISES[case], tmp_path).count("TFG219") == 1
    with pytest.raises(ValueError, match=r"singleton tf.Variables|non-first call"):
        _run(RAISES[case])


@pytest.mark.slow
@pytest.mark.parametrize("case", RUNS)
def test_what_creates_no_variables_again_is_not(case: str, tmp_path: Path) -> None:
    assert "TFG219" not in codes(HEAD + RUNS[case], tmp_path)
    _run(RUNS[case])


def test_a_plain_descent_has_no_variables_in_keras_3(tmp_path: Path) -> None:
    program = MADE.replace("Adam", "SGD") + "    learn(net, rule, rows, sums)\n"
    assert "TFG219" not in codes(HEAD + program, tmp_path)
    if pytest.importorskip("keras").__version__ > "3":
        _run(program)
