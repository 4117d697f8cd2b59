"""TFG210: globals that change between two calls of a `tf.function` are found; constants and settings given once are not."""

from __future__ import annotations

from pathlib import Path

import pytest
from checks import codes, findings, found, notebook

HEAD = "import tensorflow as tf\n"
STEP = "@tf.function\ndef step(x):\n    return x * rate\n"
FROZEN = {
    "changed in the loop of the calls": "rate = 1.0\n"
    + STEP
    + "for i in range(9):\n    step(tf.ones(3))\n    rate *= 0.5",
    "counted by the loop of the calls": STEP + "for rate in range(40):\n    for x in data:\n        step(x)",
    "counted beside something": STEP + "for rate, x in enumerate(data):\n    step(x)",
    "changed in a while loop": "rate = 1\n" + STEP + "while True:\n    rate = rate + 1\n    step(tf.ones(3))",
    "changed between two calls": "rate = 1.0\n" + STEP + "step(tf.ones(3))\nrate = 2.0\nstep(tf.ones(3))",
    "a variable only in the end": "rate = 1.0\n" + STEP + "step(tf.ones(3))\nrate = 2.0\nstep(tf.ones(3))\n"
    "rate = tf.Variable(1.0)",
    "counted by a function": "rate = 0\n"
    + STEP
    + "def train():\n    global rate\n    rate += 1\n    step(tf.ones(3))\ntrain()",
    "set by a function that a loop calls": "rate = 0.1\n"
    + STEP
    + "def lower(value):\n    global rate\n    rate = value\n"
    "for i in range(9):\n    lower(0.1 / (i + 1))\n    step(tf.ones(3))",
    "set three calls below a loop": "rate = 0.1\n"
    + STEP
    + "def lower(value):\n    global rate\n    rate = value\ndef adapt(value):\n    lower(value)\n"
    "class Schedule:\n    def advance(self, i):\n        adapt(0.1 / (i + 1))\n"
    "schedule = Schedule()\nfor i in range(9):\n    schedule.advance(i)\n    step(tf.ones(3))",
    "set in a function's loop": "rate = 0.1\n" + STEP + "def train(rates):\n    global rate\n    for one in rates:\n"
    "        rate = one\n        step(tf.ones(3))",
    "of a function that is made once": "rate = 1.0\ndef made():\n    @tf.function\n    def step(x):\n"
    "        return x * rate\n    return step\nstep = made()\nfor i in range(9):\n    rate /= 2\n    step(tf.ones(3))",
    "list": "rate = [1.0, 2.0]\n@tf.function\ndef step(x):\n    return x * rate[0]\n"
    "step(tf.ones(3))\nrate = [3.0]\nstep(tf.ones(3))",
    "read by a helper": "rate = 1.0\ndef scaled(x):\n    return x * rate\n@tf.function\ndef step(x):\n    return scaled(x)\n"
    "def train():\n    global rate\n    rate = rate * 0.5\n    step(1)",
    "read by a method": "rate = 1.0\nclass Agent(tf.Module):\n    @tf.function\n    def step(self, x):\n        return x * rate\n"
    "def train(agent):\n    global rate\n    rate /= 2\n    agent.step(1)",
}
NOT_FROZEN = {
    "constant": "rate = 1.0\n" + STEP + "step(tf.ones(3))",
    "chosen before": "rate = 1.0\nif BIG:\n    rate = 2.0\n" + STEP + "step(tf.ones(3))\nstep(tf.ones(3))",
    "set once in main": "rate = 1.0\n"
    + STEP
    + "def main():\n    global rate\n    rate = 0.5\n    step(tf.ones(3))\nmain()",
    "set before all calls": "rate = 1.0\n" + STEP + "rate = 2.0\nstep(tf.ones(3))",
    "counted by a loop that makes the function": "for rate in range(9):\n    @tf.function\n    def step(x):\n"
    "        return x * rate\n    step(tf.ones(3))",
    "counted by another loop": STEP + "for rate in range(9):\n    print(rate)\nfor x in data:\n    step(x)",
    "rows of a loop": STEP + "for rate in tf.ones((3, 2)):\n    step(tf.ones(3))",
    "a variable": "rate = tf.Variable(1.0)\n" + STEP + "for i in range(3):\n    step(tf.ones(3))\n    rate.assign(2.0)",
    "a variable instead of a number": "rate = 1.0\n"
    + STEP
    + "def main():\n    global rate\n    rate = tf.Variable(rate)\n"
    "    step(tf.ones(3))",
    "a variable in between": "rate = 1.0\n" + STEP + "step(tf.ones(3))\nrate = tf.Variable(1.0)\nstep(tf.ones(3))",
    "a parameter": "rate = 1.0\n@tf.function\ndef step(x, rate):\n    return x * rate\nfor i in range(3):\n"
    "    step(tf.ones(3), rate)\n    rate *= 0.5",
    "a local": "rate = 1.0\n@tf.function\ndef step(x):\n    rate = 2.0\n    return x * rate\nfor i in range(3):\n"
    "    step(tf.ones(3))\n    rate *= 0.5",
    "an attribute of that name": "rate = 1.0\n@tf.function\ndef step(x, o):\n    return x * o.rate\nfor i in range(3):\n"
    "    step(tf.ones(3), o)\n    rate *= 0.5",
    "a keyword of that name": "rate = 1.0\n@tf.function\ndef step(x):\n    return tf.nn.dropout(x, rate=0.5)\n"
    "for i in range(3):\n    step(tf.ones(3))\n    rate *= 0.5",
    "changed by the traced function itself": "rate = 1.0\n@tf.function\ndef step(x):\n    global rate\n    rate += 1\n"
    "    return x * rate\nfor i in range(3):\n    step(tf.ones(3))",
    "an eager function": "rate = 1.0\ndef step(x):\n    return x * rate\nfor i in range(3):\n    step(1)\n    rate *= 0.5",
    "a loop without calls": "rate = 1.0\n" + STEP + "for i in range(3):\n    rate *= 0.5\nstep(tf.ones(3))",
    "wrapped in each iteration": "rate = 1.0\ndef step(x):\n    return x * rate\nfor i in range(9):\n"
    "    rate /= 2\n    fast = tf.function(step)\n    fast(tf.ones(3))",
    "made in each iteration, by a function": "rate = 1.0\ndef made():\n    @tf.function\n    def step(x):\n"
    "        return x * rate\n    return step\nfor i in range(9):\n    rate /= 2\n    step = made()\n    step(tf.ones(3))",
    "run eagerly": "tf.config.run_functions_eagerly(True)\nrate = 1.0\n"
    + STEP
    + "for i in range(3):\n    step(1)\n    rate *= 2",
}


def _table(cases: dict[str, str]) -> pytest.MarkDecorator:
    return pytest.mark.parametrize("code", cases.values(), ids=cases.keys())


@_table(FROZEN)
def test_a_frozen_global_is_found(code: str, tmp_path: Path) -> None:
    """Protects recall: changes in loops, between calls and by functions."""
    assert codes(HEAD + code, tmp_path) == ["TFG210"]


@_table(NOT_FROZEN)
def test_others_are_not_found(code: str, tmp_path: Path) -> None:
    """Protects precision: what keeps its value while the program runs, and what is not that global."""
    assert "TFG210" not in codes(HEAD + code, tmp_path)


def test_a_notebook_is_read(tmp_path: Path) -> None:
    cells = notebook("import tensorflow as tf\nrate = 1.0", STEP, "step(tf.ones(3))", "rate = 2.0", "step(tf.ones(3))")
    assert {code for code, _ in found(cells, tmp_path, "x.ipynb")} == {"TFG210"}


def test_in_another_file_nothing_is_said(tmp_path: Path) -> None:
    """Protects the bound: who changes another module's global is not followed."""
    (tmp_path / "settings.py").write_text("import tensorflow as tf\nrate = 1.0\n")
    code = HEAD + "import settings\n@tf.function\ndef step(x):\n    return x * settings.rate\n"
    assert found(code + "for i in range(3):\n    step(1)\n    settings.rate = i\n", tmp_path) == set()


def test_the_changes_are_reported(tmp_path: Path) -> None:
    ((_, finding),) = findings(HEAD + FROZEN["changed between two calls"], tmp_path)
    assert [note.message for note in finding.notes] == ["`rate` is changed here"]


RATE = 1.0
WEIGHTS = [1.0]


def test_the_graph_keeps_the_old_value() -> None:
    """Protects the rule's claim, with the installed TensorFlow."""
    tf = pytest.importorskip("tensorflow")
    global RATE, WEIGHTS
    step = tf.function(lambda x: x * RATE * WEIGHTS[0])
    first = float(step(tf.constant(2.0)))
    RATE, WEIGHTS = 5.0, [7.0]
    assert float(step(tf.constant(2.0))) == first == 2.0


BLEND = """
import numpy as np

class Blend(tf.keras.Model):
    def __init__(self, share=0.0):
        super().__init__()
        self.top = tf.keras.layers.Dense(1, kernel_initializer="ones")
        self.share = SHARE

    def call(self, inputs):
        return self.top(inputs)

    def train_step(self, pair):
        rows, wanted = pair
        with tf.GradientTape() as tape:
            miss = tf.reduce_mean(tf.square(self(rows, training=True) - wanted)) * self.share
        free = self.trainable_variables
        self.optimizer.apply_gradients(zip(tape.gradient(miss, free), free))
        return {"miss": miss}


class Turn(tf.keras.callbacks.Callback):
    def HOOK(self, number, logs=None):
        CHANGE


rows, wanted = np.ones((8, 2), "float32"), np.zeros((8, 1), "float32")
blend = Blend()
blend.compile("sgd", run_eagerly=EAGERLY)
FIT
still = bool(np.allclose(blend.top.get_weights()[0], 1.0))
"""
ONE_FIT = "blend.fit(rows, wanted, epochs=4, verbose=0, callbacks=[Turn()])"
SWEEP = "for turn in range(4):\n    blend.share = turn / 4\n    blend.fit(rows, wanted, verbose=0)"


def blended(
    hook: str = "on_epoch_begin",
    change: str = "self.model.share = number / 4",
    fit: str = ONE_FIT,
    share: str = "share",
    eagerly: str = "False",
) -> str:
    """A model whose loss has a weight that is zero at first."""
    program = BLEND.replace("HOOK", hook).replace("CHANGE", change).replace("FIT", fit)
    return program.replace("SHARE", share).replace("EAGERLY", eagerly)


KEPT = {
    "by a callback": blended(),
    "once by a callback": blended("on_epoch_end", "self.model.share = 1.0"),
    "in the loop that trains": blended(fit=SWEEP),
    "added to in the loop that trains": blended(
        fit="for turn in range(4):\n    blend.fit(rows, wanted, verbose=0)\n    blend.share += 0.25"
    ),
    "added to by a callback": blended("on_epoch_end", "self.model.share += 0.5"),
}
CHANGED = {
    "a variable": blended(
        change="self.model.share.assign(number / 4)", share="tf.Variable(share, dtype=tf.float32, trainable=False)"
    ),
    "eager": blended(eagerly="True"),
    "before the first epoch": blended("on_train_begin", "self.model.share = 1.0").replace("(self, number, ", "(self, "),
    "once before": blended(fit="blend.share = 1.0\n" + ONE_FIT, change="pass"),
    "compiled in the loop": blended(
        fit=SWEEP.replace("    blend.fit", "    blend.compile('sgd')\n    blend.fit"), change="pass"
    ),
    "of a new model in each iteration": blended(
        change="pass",
        fit=SWEEP.replace("    blend.share", "    blend = Blend()\n    blend.compile('sgd')\n    blend.share"),
    ),
}


def _is_still(program: str) -> bool:
    pytest.importorskip("tensorflow")
    scope: dict[str, object] = {}
    exec(HEAD + program, scope)
    return bool(scope["still"])


@pytest.mark.slow
@pytest.mark.parametrize("case", KEPT)
def test_an_attribute_that_is_changed_in_vain(case: str, tmp_path: Path) -> None:
    """Protects the claim, by TensorFlow: the weight stays zero in the graph, so nothing is trained."""
    assert "TFG210" in codes(HEAD + KEPT[case], tmp_path)
    assert _is_still(KEPT[case])


@pytest.mark.slow
@pytest.mark.parametrize("case", CHANGED)
def test_an_attribute_that_the_steps_see(case: str, tmp_path: Path) -> None:
    assert "TFG210" not in codes(HEAD + CHANGED[case], tmp_path)
    assert not _is_still(CHANGED[case])


STEPPER = """
class Pacer(tf.Module):
    def __init__(self):
        self.pace = 0.1

    @tf.function
    def step(self, x, turn=0):
        return x * self.pace

pacer = Pacer()
for turn in range(5):
    pacer.pace = 0.1 / (turn + 1)
    pacer.step(tf.ones(3)GIVEN)
"""


def test_a_method_that_is_traced_for_each_number_sees_it(tmp_path: Path) -> None:
    told = [codes(HEAD + STEPPER.replace("GIVEN", given), tmp_path).count("TFG210") for given in ("", ", turn")]
    assert told == [1, 0]


TUNER = """
import math

class Tuner:
    def __init__(self):
        self.pace = MADE

    def run(self, rows):
        seen = []
        @tf.function
        def moved(x, turn=0):
            return x * self.pace
        for turn in range(4):
            seen.append(float(moved(GIVEN)))
            CHANGE
        return seen

still = len(set(Tuner().run(tf.constant(2.0)))) == 1
"""


def tuned(change: str, made: str = "1", given: str = "rows") -> str:
    """A method that makes a traced function and changes what that reads, in the loop that calls it."""
    return TUNER.replace("CHANGE", change).replace("MADE", made).replace("GIVEN", given)


CLOSED_OVER = {
    "counted down": (tuned("self.pace -= 0.25"), True),
    "calculated": (tuned("self.pace = 3.0 / (1 + math.exp(turn / 3))"), True),
    "a variable": (tuned("self.pace.assign_sub(0.25)", "tf.Variable(1.0)"), False),
    "traced for each number": (tuned("self.pace -= 0.25", given="rows, turn"), False),
    "made in each iteration": (
        tuned("self.pace -= 0.25").replace(
            "            seen", "            moved = tf.function(lambda x: x * self.pace)\n            seen"
        ),
        False,
    ),
}


@pytest.mark.parametrize("case", CLOSED_OVER)
def test_a_traced_function_closes_over_the_object(case: str, tmp_path: Path) -> None:
    """Protects recall and precision of TFG210 for functions that methods make, by TensorFlow."""
    program, is_still = CLOSED_OVER[case]
    assert ("TFG210" in codes(HEAD + program, tmp_path)) is is_still
    assert _is_still(program) is is_still


OVEN = """
class Oven:
    def __init__(self, heat=9.0):
        self._kept = KEEPER
        self.heat = heat

    @property
    def heat(self):
        return self._kept

    @heat.setter
    def heat(self, value):
        SETTING

    def warmed(self, x):
        return x * self.heat
"""
BAKER = """
class Baker:
    def __init__(self):
        self.oven = Oven()

    @tf.function
    def bake(self, x, turn=0):
        return self.oven.warmed(x)

    def work(self, x):
        seen = []
        for turn in range(3):
            seen.append(float(self.bake(GIVEN)))
            self.oven.heat = 9.0 / (turn + 2)
        return seen

still = len(set(Baker().work(tf.constant(2.0)))) == 1
"""
OVENS = {
    "kept": ("0.0", "self._kept = value", "x", True),
    "in a variable": ("tf.Variable(0.0)", "self._kept.assign(value)", "x", False),
    "traced for each number": ("0.0", "self._kept = value", "x, turn", False),
}


@pytest.mark.parametrize("case", OVENS)
def test_a_property_that_what_is_traced_reads_elsewhere(case: str, tmp_path: Path) -> None:
    """Protects numbers behind properties, of objects in another file that a traced method calls, by TensorFlow."""
    keeper, setting, given, is_still = OVENS[case]
    oven = HEAD + OVEN.replace("KEEPER", keeper).replace("SETTING", setting)
    baker = BAKER.replace("GIVEN", given)
    (tmp_path / "ovens.py").write_text(oven)
    read = ("TFG210 ovens.py", oven[: oven.index("return x * self.heat")].count("\n") + 1)
    program = HEAD + "from ovens import Oven\n" + baker
    assert (read in found(program, tmp_path)) is is_still
    notes = [n for rule, f in findings(program, tmp_path) if rule.code == "TFG210" for n in f.notes]
    assert [n.file.code(n.node) for n in notes][1:] == ["self.oven.heat = 9.0 / (turn + 2)"] * is_still
    assert ("TFG210" in codes(oven + baker, tmp_path)) is is_still
    assert _is_still(oven + baker) is is_still
