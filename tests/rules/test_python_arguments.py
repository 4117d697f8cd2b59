"""Python values as arguments: one that is new in each call is a trace for each, so no fix hands it to `tf.function`."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from checks import findings, fixed

HEAD = """\
import dataclasses
import numpy as np
import tensorflow as tf

tf.keras.utils.set_random_seed(3)
sgd = tf.keras.optimizers.SGD(0.01)
table = np.random.default_rng(1).normal(size=(160, 4)).astype("float32")
data = tf.data.Dataset.from_tensor_slices(table).batch(4)


@dataclasses.dataclass
class Knob:
    turn: float


class Plain:
    def __init__(self, turn):
        self.turn = turn


class Net(tf.keras.Model):
    def __init__(self):
        super().__init__()
        self.dense = tf.keras.layers.Dense(1)

    def call(self, rows, knob=None):
        return self.dense(rows) * {use}


net = Net()
net(table[:1], knob={first})
"""
LOOP = "result = []\nfor number, rows in enumerate(data):\n    {before}result.append(float(tf.reduce_sum(net(rows, knob={given}))))\n"
# What the model reads of its argument, what it gets at first, what precedes the loop, and what each call gets.
Case = tuple[str, str, str, str]
NEW: dict[str, Case] = {
    "an object": ("knob.turn", "Plain(1.0)", "", "Plain(2.0)"),
    "an object by its name": ("knob.turn", "Plain(1.0)", "", "own"),
    "one of many objects": ("knob.turn", "Plain(1.0)", "knobs = [Plain(k / 9) for k in range(40)]\n", "knobs[number]"),
    "a dataclass": ("knob.turn", "Knob(1.0)", "", "Knob(number / 7)"),
    "a number in a dictionary": ("knob['turn']", "{'turn': 1.0}", "", "{'turn': number / 7}"),
    "a number that a dictionary holds": ("knob['turn']", "{'turn': 1.0}", "knobs = {'turn': 1.0}\n", "knobs"),
    "a list of numbers": ("knob[0]", "[1.0]", "", "[number / 7, 1.0]"),
    "a list of computed numbers": ("knob[1]", "[1.0, 1.0]", "", "[k * number for k in range(3)]"),
    "a list out of an array": ("knob[1]", "[1.0, 1.0]", "", "table[number].tolist()"),
    "a list that grows": ("len(knob)", "[1.0]", "seen = []\n", "seen"),
    "a text": ("len(knob)", "'a'", "", "'number %d' % number"),
    "a formatted text": ("len(knob)", "'a'", "", "f'number {number}'"),
    "a function": ("knob(1.0)", "abs", "", "lambda turn: turn + number"),
}
BEFORE = {
    "an object by its name": "own = Plain(2.0)\n    ",
    "a number that a dictionary holds": "knobs['turn'] *= 0.9\n    ",
    "a list that grows": "seen.append(number)\n    ",
}
SAME: dict[str, Case] = {
    "one object": ("knob.turn", "Plain(1.0)", "one = Plain(0.5)\n", "one"),
    "a constant dictionary": ("knob['turn']", "{'turn': 1.0}", "", "{'turn': 0.5}"),
    "one text": ("len(knob)", "'a'", "", "'all of it'"),
    "tensors in a dictionary": ("knob['turn']", "{'turn': 1.0}", "", "{'turn': rows[:, :1]}"),
}


def _program(case: Case, before: str) -> str:
    use, first, setup, given = case
    return HEAD.format(use=use, first=first) + setup + LOOP.format(before=before, given=given)


def _run(code: str) -> dict[str, Any]:
    tf = pytest.importorskip("tensorflow")
    scope: dict[str, Any] = {"__name__": "__main__"}
    tf.keras.backend.clear_session()
    exec(compile(code, "program.py", "exec"), scope)
    return scope


@pytest.mark.parametrize("name", NEW)
def test_no_fix_hands_on_what_is_new_in_each_call(name: str, tmp_path: Path) -> None:
    code = _program(NEW[name], BEFORE.get(name, ""))
    ((_, finding),) = [one for one in findings(code, tmp_path) if one[0].code == "TFG207"]
    assert finding.fix is None


@pytest.mark.parametrize("name", SAME)
def test_what_is_the_same_in_all_calls_is_traced_once(name: str, tmp_path: Path) -> None:
    np = pytest.importorskip("numpy")
    code = _program(SAME[name], "")
    after = fixed(code, tmp_path, "TFG207")
    assert after != code
    old, new = _run(code), _run(after)
    np.testing.assert_allclose(new["result"], old["result"], rtol=1e-5)
    assert new["traced_net"].experimental_get_tracing_count() == 1


def test_the_truth_a_new_object_is_a_trace() -> None:
    """With the installed TensorFlow: each of these is a trace for each call."""
    tf = pytest.importorskip("tensorflow")

    class Plain:
        turn = 2.0

    kept = []
    for new in (Plain, lambda: {"turn": len(kept) / 9}, lambda: [float(len(kept))], lambda: str(len(kept))):
        traced = tf.function(lambda rows, knob: rows * 2.0)
        for _ in range(5):
            kept.append(new())
            traced(tf.zeros(3), kept[-1])
        assert traced.experimental_get_tracing_count() == 5


STEP = """\
def learn(rows, knob):
    with tf.GradientTape() as tape:
        error = tf.reduce_mean(net(rows) ** 2) * {use}
    sgd.apply_gradients(zip(tape.gradient(error, net.trainable_variables), net.trainable_variables))


"""
NUMBERS = ("a number in a dictionary", "a list of numbers")  # displayed at the call: the number itself is named
STEPS = {name: case for name, case in NEW.items() if name not in ("a function", "a list that grows")}


@pytest.mark.parametrize("name", STEPS)
def test_a_step_with_such_an_argument_is_not_decorated(name: str, tmp_path: Path) -> None:
    use, first, setup, given = STEPS[name]
    code = HEAD.format(use="1.0", first=first) + STEP.format(use=use) + setup
    code += f"for number, rows in enumerate(data):\n    {BEFORE.get(name, '')}learn(rows, {given})\n"
    ((_, finding),) = [one for one in findings(code, tmp_path) if one[0].code == "TFG202"]
    assert finding.fix is None or "Put " not in finding.fix.message
    reason = "is a Python number that a loop changes" if name in NUMBERS else "is a different Python value in each call"
    reason = "is not hashable" if name == "a dataclass" else reason
    assert reason in (finding.help or "")


def test_a_list_that_is_made_before_each_call_is_not_handed_on(tmp_path: Path) -> None:
    """Protects replays of an agent: a list of Python's numbers is a trace for each of its contents."""
    code = (
        HEAD.format(use="1.0", first="1.0")
        + STEP.format(use="tf.reduce_mean(knob)")
        + (
            "import random\nmemory = []\ndef replay():\n    chosen = random.sample(memory, 4)\n"
            "    knob = MADE\n    learn(rows, knob)\nrows = tf.ones((4, 3))\n"
            "for turn in range(90):\n    memory.append((turn, float(turn)))\n    replay()\n"
        )
    )
    for made, has_fix in (("[one[1] for one in chosen]", False), ("tf.constant([one[1] for one in chosen])", True)):
        ((_, finding),) = [f for f in findings(code.replace("MADE", made), tmp_path) if f[0].code == "TFG202"]
        is_decorated = finding.fix is not None and "Put " in finding.fix.message
        assert is_decorated is has_fix
