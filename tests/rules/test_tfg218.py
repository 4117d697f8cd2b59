"""TFG218: an optimizer that trains a second model."""

from __future__ import annotations

from pathlib import Path

import pytest
from checks import codes

HEAD = """\
import numpy as np
import tensorflow as tf
from tensorflow.keras import layers, optimizers

rows, sums = np.ones((8, 3), "float32"), np.ones((8, 1), "float32")
"""
MADE = "def made():\n    return tf.keras.Sequential([layers.Dense(1)])\n\n"
FOLD = "rule = optimizers.SGD(0.1)\nfor fold in range(2):\n    net = made()\n"
TRAINED = "    net.compile(rule, 'mse')\n    net.fit(rows, sums, verbose=0)\n"
RAISES = {
    "in a loop": MADE + FOLD + TRAINED,
    "compiled by a function": "rule = optimizers.Adam()\ndef ready(width):\n"
    "    net = tf.keras.Sequential([layers.Dense(width), layers.Dense(1)])\n"
    "    net.compile(optimizer=rule, loss='mse')\n    return net\n\nfor width in (2, 3):\n"
    "    ready(width).fit(rows, sums, verbose=0)\n",
    "of layers that the loop makes": "rule, seen = optimizers.SGD(0.1), layers.Input((3,))\nfor width in (1, 4):\n"
    "    told = layers.Dense(1)(layers.Dense(width)(seen))\n    net = tf.keras.Model(seen, told)\n" + TRAINED,
    "one after the other": MADE + "rule = optimizers.Adam()\nnear, far = made(), made()\nnear.compile(rule, 'mse')\n"
    "far.compile(rule, 'mse')\nnear.fit(rows, sums, verbose=0)\nfar.fit(rows, sums, verbose=0)\n",
}
RUNS = {
    "made in the loop": MADE + FOLD + "    rule = optimizers.SGD(0.1)\n" + TRAINED,
    "made by a function": MADE
    + "def rules():\n    return optimizers.SGD(0.1)\n\n"
    + FOLD
    + TRAINED.replace("compile(rule", "compile(rules()"),
    "made by the function that compiles": "def ready():\n    net, rule = tf.keras.Sequential([layers.Dense(1)]), "
    "optimizers.Adam()\n    net.compile(rule, 'mse')\n    return net\n\nnear, far = ready(), ready()\n"
    "for net in (near, far):\n    net.fit(rows, sums, verbose=0)\nnear.fit(rows, sums, verbose=0)\n"
    "far.fit(rows, sums, verbose=0)\n",
    "made by a function in a loop": "def ready():\n    rule = optimizers.Adam()\n"
    "    net = tf.keras.Sequential([layers.Dense(1)])\n    net.compile(rule, 'mse')\n"
    "    net.fit(rows, sums, verbose=0)\n\nfor turn in range(2):\n    ready()\n",
    "another of several in each iteration": MADE + "rules = {'slow': optimizers.SGD(), 'fast': optimizers.Adam()}\n"
    "for name in rules:\n    net = made()\n    rule = rules[name]\n" + TRAINED,
    "handed to a function": MADE + "rules = {'slow': optimizers.SGD(), 'fast': optimizers.Adam()}\n"
    "def tried(rule):\n    net = made()\n" + TRAINED + "for name in rules:\n    tried(rules[name])\n",
    "by name": MADE + FOLD + TRAINED.replace("rule, ", "'adam', "),
    "the same model": MADE + "rule = optimizers.SGD(0.1)\nnet = made()\nfor turn in range(2):\n" + TRAINED,
    "another object of the same layers": MADE + "rule, seen = optimizers.SGD(0.1), layers.Input((3,))\n"
    "told = made()(seen)\nfor turn in range(2):\n    net = tf.keras.Model(inputs=seen, outputs=told)\n" + TRAINED,
    "one of two is trained": MADE + "rule = optimizers.Adam()\nnear, far = made(), made()\nnear.compile(rule, 'mse')\n"
    "far.compile(rule, 'mse')\nfar.fit(rows, sums, verbose=0)\n",
    "a part of the first": "rule, seen = optimizers.Adam(), layers.Input((3,))\nhidden = layers.Dense(1)(seen)\n"
    "whole, part = tf.keras.Model(seen, layers.Dense(1)(hidden)), tf.keras.Model(seen, hidden)\n"
    "whole.compile(rule, 'mse')\npart.compile(rule, 'mse')\nwhole.fit(rows, sums, verbose=0)\n"
    "part.fit(rows, sums, verbose=0)\n",
}

WALK = """
class Walker:
    def __init__(self):
        self.rule = optimizers.Adam()
        self.legs = tf.keras.Sequential([layers.Dense(2)])
        self.judge = tf.keras.Sequential([layers.Dense(1)])

    def walk(self):
        with tf.GradientTape(persistent=True) as tape:
            miss, cost = tf.reduce_sum(self.legs(rows)), tf.reduce_sum(self.judge(rows))
        free = self.legs.trainable_weights
        self.rule.apply_gradients(zip(tape.gradient(miss, free), free))
        own = self.judge.trainable_variables
        self.rule.apply_gradients(zip(tape.gradient(cost, own), own))


walker = Walker()
walker.walk()
"""
BUILT = """
def built(width):
    seen = layers.Input((3,))
    return tf.keras.Model(seen, layers.Dense(width)(seen))


class Judge(tf.keras.Model):
    def __init__(self):
        super().__init__()
        self.hidden = layers.Dense(2)

    def call(self, seen):
        return self.hidden(seen)


rule, legs, judge = optimizers.SGD(0.1), built(2), Judge()


@tf.function
def walk():
    with tf.GradientTape(persistent=True) as tape:
        miss, cost = tf.reduce_sum(legs(rows)), tf.reduce_sum(judge(rows))
    FIRST
    rule.apply_gradients(zip(tape.gradient(cost, judge.trainable_variables), judge.trainable_variables))


walk()
"""
FIRST = "rule.apply_gradients(zip(tape.gradient(miss, legs.variables), legs.variables))"
BOTH = "legs.trainable_variables + judge.trainable_variables"
STEPS_RAISE = {"attributes": WALK, "a traced step": BUILT.replace("FIRST", FIRST)}
STEPS_RUN = {
    "an optimizer for each": WALK.replace("self.legs =", "self.other, self.legs = optimizers.Adam(),").replace(
        "self.rule.apply_gradients(zip(tape.gradient(cost", "self.other.apply_gradients(zip(tape.gradient(cost"
    ),
    "one call before has both": BUILT.replace(
        "FIRST", f"both = {BOTH}\n    rule.apply_gradients(zip(tape.gradient([miss, cost], both), both))\n    {FIRST}"
    ),
    "built before": BUILT.replace("FIRST", FIRST).replace("\nwalk()", f"\njudge(rows)\nrule.build({BOTH})\nwalk()"),
    "a part of the first": BUILT.replace("FIRST", FIRST).replace("Judge()", "0\njudge = legs.layers[1]"),
    "a model around the first": BUILT.replace("FIRST", FIRST.replace("legs", "judge"))
    .replace("Judge()", "0\njudge = tf.keras.Sequential([legs, layers.Dense(1)])\njudge(rows)")
    .replace("cost, judge.trainable_variables), judge", "cost, legs.trainable_variables), legs"),
    "one or the other": BUILT.replace("FIRST", f"if len(judge.weights) < 0:\n        {FIRST}"),
}


def _run(program: str) -> None:
    pytest.importorskip("tensorflow")
    exec(HEAD + program, {})


@pytest.mark.parametrize("case", STEPS_RAISE)
def test_a_step_of_two_models_is_found(case: str, tmp_path: Path) -> None:
    """Protects the claim, by TensorFlow."""
    assert codes(HEAD + STEPS_RAISE[case], tmp_path).count("TFG218") == 1
    with pytest.raises((ValueError, KeyError), match=r"Unknown variable|cannot recognize variable"):
        _run(STEPS_RAISE[case])


@pytest.mark.parametrize("case", STEPS_RUN)
def test_a_step_that_runs_is_not(case: str, tmp_path: Path) -> None:
    assert "TFG218" not in codes(HEAD + STEPS_RUN[case], tmp_path)
    _run(STEPS_RUN[case])


@pytest.mark.slow
@pytest.mark.parametrize("case", RAISES)
def test_a_second_model_is_found(case: str, tmp_path: Path) -> None:
    """Protects the claim, by TensorFlow."""
    assert codes(HEAD + RAISES[case], tmp_path).count("TFG218") == 1
    with pytest.raises((ValueError, KeyError), match=r"Unknown variable|cannot recognize variable"):
        _run(RAISES[case])


@pytest.mark.slow
@pytest.mark.parametrize("case", RUNS)
def test_one_model_for_each_is_not(case: str, tmp_path: Path) -> None:
    assert "TFG218" not in codes(HEAD + RUNS[case], tmp_path)
    _run(RUNS[case])
