"""TFG217: `trainable` that Keras, or the trace of a step, no longer reads, and models that are frozen too early."""

from __future__ import annotations

from pathlib import Path

import pytest
from checks import codes, findings
from fixed_programs import results

from tflint_gpu.targets import Target

KERAS_2 = Target(tensorflow=(2, 15), keras=2, source="an older one")
HEAD = """\
import numpy as np
import tensorflow as tf

tf.keras.utils.set_random_seed(3)
rows = np.random.default_rng(2).normal(size=(24, 4)).astype("float32")
sums = rows.sum(axis=1, keepdims=True)
"""
PARTS = (
    HEAD
    + """
trunk = tf.keras.Sequential([tf.keras.layers.Input((4,)), tf.keras.layers.Dense(3)])
net = tf.keras.Sequential([tf.keras.layers.Input((4,)), trunk, tf.keras.layers.Dense(1)])
"""
)
COMPILED = "net.compile(optimizer='sgd', loss='mse')\n"
FIT = "net.fit(rows, sums, verbose=0)\n"
BEFORE = "\nfirst = trunk.get_weights()[0]\n"
RESULT = "result = [trunk.get_weights()[0] - first]\n"
STEP = (
    PARTS
    + """
trunk.trainable = False
rule = tf.keras.optimizers.SGD(0.1)


@tf.function
def descend(batch, wanted):
    with tf.GradientTape() as tape:
        miss = tf.reduce_mean(tf.square(net(batch, training=True) - wanted))
    free = net.trainable_variables
    rule.apply_gradients(zip(tape.gradient(miss, free), free))


"""
)
PAIR = (
    HEAD
    + """
def make_judge():
    judge = tf.keras.Sequential([tf.keras.layers.Input((4,)), tf.keras.layers.Dense(3), tf.keras.layers.Dense(1)])
    judge.compile(optimizer='adam', loss='mse')
    return judge


def joined(painter, critic):
    FROZEN
    both = tf.keras.Sequential([tf.keras.layers.Input((4,)), painter, critic])
    both.compile(optimizer='adam', loss='mse')
    return both


def contest(painter, critic, both):
    for turn in range(3):
        THAWED
        critic.train_on_batch(rows, sums)
        AGAIN
        both.train_on_batch(rows, sums)


trunk = make_judge()
brush = tf.keras.Sequential([tf.keras.layers.Input((4,)), tf.keras.layers.Dense(4)])
BEFORE
contest(brush, trunk, joined(brush, trunk))
"""
)


def pair(frozen: str = "critic.trainable = False", thawed: str = "", again: str = "", before: str = "") -> str:
    """A program of two models, one of which is a part of the other."""
    program = PAIR.replace("BEFORE", BEFORE + before).replace("FROZEN", frozen)
    return program.replace("THAWED", thawed or "pass").replace("AGAIN", again or "pass")


THAW = "trunk.trainable = True\n"
NO_EFFECT = {
    "thawed after fit": PARTS + "trunk.trainable = False\n" + COMPILED + FIT + BEFORE + THAW + FIT,
    "layers thawed one by one": PARTS
    + "for layer in trunk.layers:\n    layer.trainable = False\n"
    + COMPILED
    + FIT
    + BEFORE
    + "for layer in trunk.layers[-2:]:\n    layer.trainable = True\n"
    + FIT,
    "thawed in a loop": PARTS
    + "trunk.trainable = False\n"
    + COMPILED
    + BEFORE
    + "for turn in range(4):\n    if turn == 2:\n        trunk.trainable = True\n    net.train_on_batch(rows, sums)\n",
    "thawed by a function": PARTS
    + "def opened(part):\n    part.trainable = True\n\ntrunk.trainable = False\n"
    + COMPILED
    + FIT
    + BEFORE
    + "opened(trunk)\n"
    + FIT,
    "a traced step": STEP + BEFORE + "descend(rows, sums)\n" + THAW + "descend(rows, sums)\n",
    "a traced step in a loop": STEP
    + BEFORE
    + "for turn in range(5):\n    if turn >= 2:\n        trunk.trainable = True\n    descend(rows, sums)\n",
}
GOES_ON = {
    "frozen after fit": PARTS + COMPILED + FIT + BEFORE + "trunk.trainable = False\n" + FIT,
    "frozen after the first of many batches": PARTS
    + COMPILED
    + "for turn in range(4):\n    net.train_on_batch(rows, sums)\n"
    + BEFORE.replace("\n", "\n")
    + "trunk.trainable = False\nfor turn in range(4):\n    net.train_on_batch(rows, sums)\n",
}
NEVER = {
    "frozen between two compilations": pair(),
    "layer by layer": pair("for part in critic.layers:\n        part.trainable = False"),
    "in a loop that freezes again": pair(again="critic.trainable = False"),
}
FLAGGED = STEP.replace("batch, wanted):", "batch, wanted, late):") + BEFORE
RIGHT = {
    "compiled again": PARTS + "trunk.trainable = False\n" + COMPILED + FIT + BEFORE + THAW + COMPILED + FIT,
    "thawed before the first fit": PARTS + "trunk.trainable = False\n" + COMPILED + BEFORE + THAW + FIT,
    "compiled again in a loop": PARTS
    + "trunk.trainable = False\n"
    + BEFORE
    + "for turn in range(2):\n    if turn == 1:\n        trunk.trainable = True\n    "
    + COMPILED
    + "    "
    + FIT,
    "thawed before each step": pair(thawed="critic.trainable = True", again="critic.trainable = False"),
    "a step that is traced for each flag": FLAGGED
    + "rule.build(net.weights)\ndescend(rows, sums, late=False)\n"
    + THAW
    + "descend(rows, sums, late=True)\n",
    "a step that is traced for a comparison": FLAGGED
    + "rule.build(net.weights)\nfor turn in range(9):\n    if turn == 4:\n        trunk.trainable = True\n"
    "    descend(rows, sums, turn >= 4)\n",
    "trained once before": pair(before="trunk.train_on_batch(rows, sums)\n"),
}
FREEZE = "trunk.trainable = False\n"
STOPPED = {
    "the step is made again": PARTS + COMPILED + FIT + FREEZE + "net.make_train_function(force=True)\n" + BEFORE + FIT,
    "the step is dropped": PARTS + COMPILED + FIT + FREEZE + "net.train_function = None\n" + BEFORE + FIT,
}
SILENT = {
    "thawed where nothing was frozen": PARTS + COMPILED + FIT + THAW + FIT,
    "thawed and nothing follows": PARTS + "trunk.trainable = False\n" + COMPILED + FIT + THAW,
    "perhaps trained before": PARTS
    + "import sys\ntrunk.trainable = False\n"
    + COMPILED
    + "if len(sys.argv) > 3:\n    "
    + FIT
    + THAW
    + FIT,
    "another model": PARTS
    + "trunk.trainable = False\n"
    + COMPILED
    + FIT
    + THAW
    + "other = tf.keras.Sequential([trunk])\nother.compile(loss='mse')\nother.fit(rows, rows[:, :3])\n",
    "in the first iteration": PARTS
    + "trunk.trainable = False\n"
    + COMPILED
    + "for turn in range(4):\n    if turn == 0:\n        trunk.trainable = True\n    net.train_on_batch(rows, sums)\n",
    "eager": PARTS + COMPILED.replace("loss", "run_eagerly=True, loss") + FIT + "trunk.trainable = False\n" + FIT,
    "a flag": PARTS + "import sys\n" + COMPILED + FIT + "trunk.trainable = len(sys.argv) > 2\n" + FIT,
    "other data, for which Keras traces again": PARTS
    + COMPILED
    + FIT
    + "trunk.trainable = False\n"
    + FIT.replace("rows, sums", "rows[:5], sums[:5]"),
    "a part of the model that is trained": PARTS + COMPILED + "trunk.trainable = False\n" + FIT,
    "a teacher": HEAD
    + "def made():\n    one = tf.keras.Sequential([tf.keras.layers.Dense(1)])\n    one.compile(loss='mse')\n"
    "    return one\n\nteacher, pupil = made(), made()\nteacher.trainable = False\npupil.fit(rows, sums)\n",
    "a custom step": PARTS.replace(
        "net = tf.keras.Sequential",
        "class Own(tf.keras.Sequential):\n    def train_step(self, data):\n        return {}\n\nnet = Own",
    )
    + COMPILED
    + "net.trainable = False\n"
    + FIT,
}


TWO_OF_ONE_BUILDER = """
from tensorflow import keras


class Duel:
    def __init__(self):
        self.left = self.built()
        self.right = self.built()
        self.left.compile("sgd", "mse")
        self.right.compile("sgd", "mse")
        point = keras.Input((4,))
        self.left.trainable = False
        self.right.trainable = False
        self.both = keras.Model(point, [self.left(point), self.right(point)])
        self.both.compile("sgd", "mse")

    def built(self):
        point = keras.Input((4,))
        return keras.Model(point, keras.layers.Dense(1)(point))

    def fight(self, rows, sums):
        for turn in range(9):
            self.left.train_on_batch(rows, sums)
            self.right.train_on_batch(rows, sums)


if __name__ == "__main__":
    Duel().fight(rows, sums)
"""

ONCE = "net.fit(rows, sums, verbose=0)"
CALLBACK = (
    PARTS
    + """
trunk.trainable = FIRST


class Turn(tf.keras.callbacks.Callback):
    def __init__(self, part, late=2):
        super().__init__()
        self.part, self.late = part, late

    def HOOK(self, turn, logs=None):
        BODY


net.compile(optimizer="sgd", loss="mse")
first = trunk.get_weights()[0]
net.fit(rows, sums, verbose=0)
first = trunk.get_weights()[0]
net.fit(rows, sums, epochs=4, verbose=0, callbacks=[Turn(trunk)])
"""
)


def callback(body: str, hook: str = "on_epoch_begin", *, thaws: bool = True) -> str:
    """A program whose callback thaws or freezes a part of the model, after `fit` has run once."""
    program = CALLBACK.replace("FIRST", str(not thaws)).replace("HOOK", hook)
    return program.replace("BODY", body.replace("\n", "\n        "))


IN_CALLBACK = {
    "at an epoch": callback("if turn == self.late:\n    self.part.trainable = True"),
    "layer by layer": callback(
        "if turn >= 1 and self.late:\n    for piece in self.model.layers[-2:]:\n        piece.trainable = True"
    ),
    "left before": callback("if turn < 2:\n    return\nself.model.get_layer(index=0).trainable = True"),
    "after each epoch": callback("self.model.layers[0].trainable = True", "on_epoch_end"),
    "what it was given": callback("self.part.trainable = True", "on_epoch_end")
    .replace("[Turn(trunk)]", "made(Turn)")
    .replace(
        "net.fit(rows, sums, ep", "def made(kind):\n    return [kind(*eval('[trunk]'))]\n\nnet.fit(rows, sums, ep"
    ),
    "after a batch": callback("trunk.trainable = True", "on_train_batch_end"),
    "in the other arm": callback("if turn <= 1:\n    pass\nelse:\n    self.model.layers[0].trainable = True"),
}
IN_CALLBACK_GOES_ON = {
    "frozen at an epoch": callback("if turn > 0:\n    self.part.trainable = False", thaws=False),
    "frozen after an epoch": callback("self.model.trainable = False", "on_epoch_end", thaws=False),
}
COMPILING = {
    "at an epoch": callback(
        "if turn == self.late:\n    self.part.trainable = True\n    self.model.compile('sgd', 'mse')"
    ),
    "after an epoch": callback("self.part.trainable = True\nself.model.compile('sgd', 'mse')", "on_epoch_end"),
}
CALLBACK_RIGHT = {
    "compiled, and its step made": callback(
        "if turn == self.late:\n    self.part.trainable = True\n    self.model.compile('sgd', 'mse')\n"
        "    self.model.make_train_function()"
    ),
    "compiled for another fit": callback(
        "if turn == self.late:\n    self.part.trainable = True\n    self.model.compile('sgd', 'mse')\n"
        "    self.model.stop_training = True",
        "on_epoch_end",
    )
    + "net.fit(rows, sums, verbose=0)\n",
    "in the first epoch": callback("if turn == 0:\n    self.part.trainable = True").replace(ONCE, ""),
    "at every beginning": callback("self.part.trainable = True").replace(ONCE, ""),
}
CALLBACK_SILENT = {
    "set back": callback("self.part.trainable = False\nshow(self.model)\nself.part.trainable = True", "on_epoch_end"),
    "in the first epochs": callback("if turn < 2:\n    self.part.trainable = True"),
    "not known": callback("if turn == self.late:\n    self.part.trainable = turn > self.late"),
    "eager": callback("if turn == 2:\n    self.part.trainable = False").replace("loss=", "run_eagerly=True, loss="),
    "raised": callback("if turn == 2:\n    self.part.trainable = True\n    raise StopIteration"),
    "compiled perhaps": callback("if turn == 2:\n    self.part.trainable = True\n    net.compile('sgd', 'mse')"),
    "its own attribute": callback("self.trainable = True", "on_epoch_end"),
    "after training": callback("self.part.trainable = True", "on_train_end"),
    "no callback": callback("if turn == 2:\n    self.part.trainable = True").replace(
        "(tf.keras.callbacks.Callback)", ""
    ),
}


def _said(program: str, folder: Path, target: Target | None = None) -> list[str]:
    given = {} if target is None else {"target": target}
    return [finding.message for rule, finding in findings(program, folder, **given) if rule.code == "TFG217"]


def _moved(program: str) -> bool:
    (change,) = results(program + RESULT)
    return bool(abs(change[0]).max() > 0)


@pytest.mark.parametrize("case", NO_EFFECT)
def test_a_thaw_without_effect(case: str, tmp_path: Path) -> None:
    """Protects the claim, by TensorFlow: what is thawed too late is not trained."""
    (text,) = _said(NO_EFFECT[case], tmp_path)
    assert text.endswith("the weights are not trained")
    assert not _moved(NO_EFFECT[case])


@pytest.mark.parametrize("case", GOES_ON)
def test_freezing_without_effect(case: str, tmp_path: Path) -> None:
    (text,) = _said(GOES_ON[case], tmp_path)
    assert text.endswith("the weights are trained as before")
    assert _moved(GOES_ON[case])


@pytest.mark.slow
@pytest.mark.parametrize("case", NEVER)
def test_a_model_that_is_frozen_before_its_first_step(case: str, tmp_path: Path) -> None:
    """Protects the claim about Keras 3, and that Keras 2, where it is not so, is not told it."""
    (text,) = _said(NEVER[case], tmp_path)
    assert "comes before the first step of `critic`" in text
    assert not _moved(NEVER[case])
    assert _said(NEVER[case], tmp_path, KERAS_2) == []


def test_two_models_that_one_method_builds(tmp_path: Path) -> None:
    """Protects the CycleGAN: which of its two critics a step trains is known, and so is a critic that is thawed."""
    left, right = _said(TWO_OF_ONE_BUILDER, tmp_path)
    assert "first step of `self.left`" in left and "first step of `self.right`" in right
    thawed = "            self.right.trainable = True\n            self.right.train_on_batch"
    (only,) = _said(TWO_OF_ONE_BUILDER.replace("            self.right.train_on_batch", thawed), tmp_path)
    assert only == left
    assert not _said(TWO_OF_ONE_BUILDER + "    Duel().fight(sums, rows)\n", tmp_path)


DUEL = """\
from tensorflow import keras


class Duel:
    def __init__(self):
        self.critic = keras.Sequential([keras.layers.Dense(1)])
        self.critic.compile("adam", "mse")
        self.critic.trainable = False
        self.both = keras.Sequential([keras.layers.Dense(3), self.critic])
        self.both.compile("adam", "mse")

    def fight(self, rows, sums):
        self.critic.train_on_batch(rows, sums)
        self.both.train_on_batch(rows, sums)
"""


def test_a_model_that_an_imported_file_freezes(tmp_path: Path) -> None:
    """Protects GANs whose class and program are two files; what `setattr` may set has no known order."""
    (tmp_path / "duel.py").write_text(DUEL)
    program = "from duel import Duel\nduel = Duel()\n{}for turn in range(2000):\n    duel.fight(rows(), sums())\n"
    (text,) = _said(program.format(""), tmp_path)
    assert "comes before the first step of `self.critic`" in text
    assert _said(program.format("setattr(duel.critic, 'trainable', True)\n"), tmp_path) == []


@pytest.mark.slow
@pytest.mark.parametrize("case", IN_CALLBACK)
def test_a_callback_thaws_too_late(case: str, tmp_path: Path) -> None:
    (text,) = _said(IN_CALLBACK[case], tmp_path)
    assert text.endswith("in the middle of `fit`: what is frozen stays so")
    assert not _moved(IN_CALLBACK[case])


@pytest.mark.slow
@pytest.mark.parametrize("case", IN_CALLBACK_GOES_ON)
def test_a_callback_freezes_too_late(case: str, tmp_path: Path) -> None:
    (text,) = _said(IN_CALLBACK_GOES_ON[case], tmp_path)
    assert text.endswith("in the middle of `fit`: the weights are trained as before")
    assert _moved(IN_CALLBACK_GOES_ON[case])


@pytest.mark.slow
@pytest.mark.parametrize("case", COMPILING)
def test_a_callback_that_compiles_stops_fit(case: str, tmp_path: Path) -> None:
    (text,) = _said(COMPILING[case], tmp_path)
    assert text.startswith("`compile` in the middle of `fit`")
    with pytest.raises(TypeError, match="'NoneType' object is not callable"):
        results(COMPILING[case] + RESULT)


@pytest.mark.slow
@pytest.mark.parametrize("case", CALLBACK_RIGHT)
def test_a_callback_that_thaws_is_not_found(case: str, tmp_path: Path) -> None:
    assert not _said(CALLBACK_RIGHT[case], tmp_path)
    assert _moved(CALLBACK_RIGHT[case])


@pytest.mark.parametrize("case", CALLBACK_SILENT)
def test_what_a_callback_may_set_is_not_found(case: str, tmp_path: Path) -> None:
    assert not _said(CALLBACK_SILENT[case], tmp_path)


@pytest.mark.slow
@pytest.mark.parametrize("case", RIGHT)
def test_what_counts_is_not_found(case: str, tmp_path: Path) -> None:
    assert "TFG217" not in codes(RIGHT[case], tmp_path)
    assert _moved(RIGHT[case])


@pytest.mark.slow
@pytest.mark.parametrize("case", STOPPED)
def test_a_new_step_without_compile(case: str, tmp_path: Path) -> None:
    assert "TFG217" not in codes(STOPPED[case], tmp_path)
    assert not _moved(STOPPED[case])


@pytest.mark.parametrize("case", SILENT)
def test_what_is_not_certain_is_not_found(case: str, tmp_path: Path) -> None:
    assert "TFG217" not in codes(SILENT[case], tmp_path)


def test_keras_2_reads_it_in_compile(tmp_path: Path) -> None:
    """Protects what holds for the version that a project uses: measured with 2.15."""
    for program in (RIGHT["thawed before the first fit"], NO_EFFECT["thawed after fit"]):
        (text,) = _said(program, tmp_path, KERAS_2)
        assert "Keras 2 reads it in `compile`" in text
    assert _said(RIGHT["compiled again"], tmp_path, KERAS_2) == []
