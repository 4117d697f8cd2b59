"""A finding whose fix is withheld says why, in one short sentence, whichever rule found it."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest
from checks import findings, fixed, notebook
from fixed_programs import results

TRACING = ("TFG202", "TFG207", "TFG209", "TFG214")
HEAD = """\
import cv2
import numpy as np
import tensorflow as tf

twin = tf.keras.Sequential([tf.keras.layers.Input((3,)), tf.keras.layers.Dense(1)])
adam = tf.keras.optimizers.Adam()
sheets = np.load("sheets.npy").astype("float32")
pages = tf.data.Dataset.from_tensor_slices((sheets, sheets[:, :1])).batch(4)
seen = []
"""
TAPE = """\
with tf.GradientTape() as tape:
    gap = tf.reduce_mean(tf.square(twin(page, training=True) - goal))
    MORE
adam.apply_gradients(zip(tape.gradient(gap, twin.trainable_variables), twin.trainable_variables))
"""


def _inline(more: str = "pass", after: str = "pass") -> str:
    lines = [*TAPE.replace("MORE", more).splitlines(), after]
    return HEAD + "for page, goal in pages:\n" + "".join(f"    {line}\n" for line in lines)


LEARN = (
    HEAD
    + "@tf.function\ndef learn(page, goal):\n"
    + "".join(f"    {line}\n" for line in [*TAPE.replace("MORE", "pass").splitlines(), "return gap"])
)
COUNTING = """
class Counting(tf.keras.Model):
    def __init__(self):
        super().__init__()
        self.calls = 0
        self.inner = tf.keras.layers.Dense(1)

    def call(self, inputs):
        self.calls += 1
        return self.inner(inputs)


counting = Counting()
"""
SCALE = """
class Scale(tf.keras.layers.Layer):
    size = 1.0

    def call(self, inputs):
        return inputs * self.size


scale = Scale()
pair = tf.keras.Sequential([tf.keras.layers.Input((3,)), scale, tf.keras.layers.Dense(1)])
"""
CASES = {  # the rule, the program, and what its reason names
    "a step with decorators of the program": (
        "TFG202",
        HEAD
        + "def counted(inner):\n    def outer(*given):\n        seen.append(1)\n        return inner(*given)\n    return outer\n"
        + "@counted\n@counted\ndef study(page, goal):\n"
        + "".join(f"    {line}\n" for line in TAPE.replace("MORE", "pass").splitlines())
        + "for page, goal in pages.repeat(9):\n    study(page, goal)\n",
        "decorators",
    ),
    "a step that leaves the loop": ("TFG202", _inline("if len(seen) > 9: break"), "the `break` in row 13"),
    "a step that fills a list": ("TFG202", _inline("seen.append(page)"), "`seen`"),
    "a step of something unknown": ("TFG202", _inline("stamp(gap)"), "what `stamp` does in a graph is not known"),
    "what the model changes": (
        "TFG207",
        HEAD + COUNTING + "for page, _ in pages:\n    seen.append(counting(page))\n",
        "`self.calls`",
    ),
    "models made in a function": (
        "TFG207",
        HEAD
        + "def judge(depth):\n    fresh = tf.keras.Sequential([tf.keras.layers.Dense(depth)])\n"
        + "    for page, _ in pages:\n        seen.append(fresh(page))\n"
        + "for depth in range(3):\n    judge(depth)\n",
        "can create variables only for the first one",
    ),
    "what a layer reads": (
        "TFG207",
        HEAD + SCALE + "for turn in range(9):\n    scale.size *= 0.9\n    for page, _ in pages:\n"
        "        seen.append(pair(page))\n",
        "`self.size` may change",
    ),
    "new Python values": (
        "TFG214",
        HEAD + "noise = tf.random.normal((1, 3))\nfor n in range(500):\n    noise = noise - twin([noise, n])\n",
        "`[noise, n]` is a different Python value in each call",
    ),
    "a tensor that says whether it is training": (
        "TFG207",
        HEAD
        + "is_on = tf.equal(tf.size(sheets), 3)\nfor page, _ in pages:\n    seen.append(twin(page, training=is_on))\n",
        "`is_on` as `training`, a tensor",
    ),
    "an array that says whether it is training": (
        "TFG214",
        HEAD + "noise = tf.random.normal((1, 3))\nturns = np.arange(500) > 9\n"
        "for n in range(500):\n    noise = noise - twin(noise, training=turns[n])\n",
        "`turns[n]` as `training`, a tensor",
    ),
    "a step that gets a tensor that says whether it is training": (
        "TFG202",
        HEAD
        + "def study(page, goal, is_on):\n"
        + "".join(
            f"    {line}\n"
            for line in TAPE.replace("MORE", "pass").replace("training=True", "training=is_on").splitlines()
        )
        + "for page, goal in pages:\n    study(page, goal, tf.constant(True))\n",
        "`is_on` as `training`, a tensor",
    ),
    "what a layer added to the losses": (
        "TFG207",
        HEAD + "penal = tf.keras.Sequential([tf.keras.layers.Dense(2, activity_regularizer='l1')])\n"
        "for page, _ in pages:\n    seen.append((penal(page, training=False), sum(penal.losses)))\n",
        "`penal.losses` is read outside the traced code",
    ),
    "losses that are read after the step": (
        "TFG202",
        _inline(after="seen.append(tf.add_n(twin.losses))").replace("Dense(1)", "ActivityRegularization()"),
        "`twin.losses` is read outside the traced code",
    ),
    "a Python value in a named tuple": (
        "TFG207",
        HEAD + "from typing import NamedTuple\n\n\nclass Told(NamedTuple):\n    scores: object\n    words: str\n\n\n"
        "class Teller(tf.keras.Model):\n    def call(self, page):\n        return Told(2 * page, words='none')\n\n\n"
        "teller = Teller()\nfor page, _ in pages:\n    told = teller(page)\n    seen.append(told.words + 'x')\n",
        "the code returns `'none'`, which is not a tensor",
    ),
    "a Python value in what a layer gives": (
        "TFG214",
        HEAD + "class Counting(tf.keras.layers.Layer):\n    def call(self, page):\n        return page, 3\n\n\n"
        "class Teller(tf.keras.Model):\n    def __init__(self):\n        super().__init__()\n"
        "        self.counting = Counting()\n\n    def call(self, page):\n        return page, self.counting(page)\n\n\n"
        "teller = Teller()\nfor n in range(40):\n    told, (page, count) = teller(np.full((1, 3), n, 'float32'))\n"
        "    seen.extend([told] * count)\n",
        "the code returns `3`, which is not a tensor",
    ),
    "Python values in a comprehension": (
        "TFG214",
        HEAD + "class Teller(tf.keras.Model):\n    def call(self, page):\n"
        "        return [(turn, page * turn) for turn in range(2)]\n\n\n"
        "teller = Teller()\nfor n in range(40):\n    for turn, page in teller(np.full((1, 3), n, 'float32')):\n"
        "        seen.extend([page] * turn)\n",
        "the code returns `turn`, which is not a tensor",
    ),
    "a loss that sums from then on": (
        "TFG202",
        HEAD
        + "misfit = tf.keras.losses.MeanAbsoluteError()\nfor turn in range(3):\n    for page, goal in pages:\n"
        + "".join(f"        {line}\n" for line in TAPE.replace("MORE", "gap += misfit(goal, twin(page))").splitlines())
        + "    misfit.reduction = 'sum'\n",
        "`misfit.reduction` may change",
    ),
    "what a function of a layer reads": (
        "TFG207",
        HEAD + "strength = 1.0\n\n\ndef bent(page):\n    return tf.nn.relu(page) * strength\n\n\n"
        "bending = tf.keras.Sequential([tf.keras.layers.Dense(3, activation=bent)])\n"
        "for turn in range(3):\n    for page, _ in pages:\n        seen.append(bending(page))\n    strength /= 2\n",
        "`strength` may change",
    ),
    "what a function that a layer's lambda calls reads": (
        "TFG202",
        HEAD.replace("Dense(1)", "Lambda(lambda page: bent(page)), tf.keras.layers.Dense(1)")
        + "strength = {'of it': 1.0}\n\n\ndef bent(page):\n    return page * strength['of it']\n\n\n"
        "for turn in range(3):\n    for page, goal in pages:\n"
        + "".join(f"        {line}\n" for line in TAPE.replace("MORE", "pass").splitlines())
        + "    strength['of it'] += turn\n",
        "`strength`",
    ),
    "a mask that another layer reads": (
        "TFG207",
        HEAD
        + "reads = tf.keras.Sequential([tf.keras.layers.Masking(), tf.keras.layers.LSTM(3, return_sequences=True)])\n"
        "pools = tf.keras.layers.GlobalAveragePooling1D()\n"
        "for page, _ in pages:\n    seen.append(pools(reads(page[:, None])))\n",
        "`pools` is outside the traced code, where Keras masks",
    ),
    "a mask that a metric reads": (
        "TFG207",
        HEAD + "reads = tf.keras.Sequential([tf.keras.layers.Embedding(9, 2, mask_zero=True)])\n"
        "score = tf.keras.metrics.MeanSquaredError()\n"
        "for page, goal in pages:\n    score.update_state(goal, reads(page))\n",
        "`score.update_state` is outside the traced code, where Keras masks",
    ),
    "a mask that a step is given": (
        "TFG202",
        HEAD
        + "words = tf.keras.layers.Embedding(9, 2, mask_zero=True)\n\n\ndef study(page, goal):\n"
        + "".join(f"    {line}\n" for line in TAPE.replace("MORE", "pass").splitlines())
        + "for page, goal in pages:\n    study(words(page), goal)\n",
        "`words` is outside the traced code, where Keras masks",
    ),
    "an iterator of Python's": (
        "TFG207",
        HEAD
        + "import itertools\n\n\nclass Paced(tf.keras.Model):\n    def __init__(self):\n        super().__init__()\n"
        "        self.paces = itertools.cycle([1.0, 2.0])\n\n    def call(self, page):\n        return page * next(self.paces)\n"
        "\n\npaced = Paced()\nfor page, _ in pages:\n    seen.append(paced(page))\n",
        "`next(self.paces)` in the code would run only during tracing",
    ),
    "what a partial hands on": (
        "TFG202",
        HEAD + "import functools\nweights = {'gap': 1.0}\n"
        "weighed = functools.partial(lambda gap, given: gap * given['gap'], given=weights)\n"
        "for turn in range(3):\n    for page, goal in pages:\n"
        + "".join(f"        {line}\n" for line in TAPE.replace("MORE", "gap = weighed(gap)").splitlines())
        + "    weights['gap'] /= 2\n",
        "`weighed` may change",
    ),
    "what a partial hands to a layer of Keras's": (
        "TFG207",
        HEAD
        + "import functools\nsettings = {'by': 1.0}\n\n\ndef faded(page, using):\n    return page * using['by']\n\n\n"
        "twin = tf.keras.Sequential([tf.keras.layers.Lambda(function=functools.partial(faded, using=settings))])\n"
        "for turn in range(3):\n    for page, _ in pages:\n        seen.append(twin(page))\n    settings['by'] /= 2\n",
        "`settings` may change",
    ),
    "Keras's epsilon": (
        "TFG202",
        HEAD
        + "from tensorflow.keras import backend as K\nfor turn in range(3):\n    K.set_epsilon(10.0 ** -turn)\n"
        + "    for page, goal in pages:\n"
        + "".join(f"        {line}\n" for line in TAPE.replace("MORE", "gap += K.epsilon()").splitlines()),
        "`K.set_epsilon(10.0 ** -turn)` is called later",
    ),
    "a number that may lead to layers without variables": (
        "TFG214",
        HEAD + "class Twofold(tf.keras.Model):\n    def __init__(self):\n        super().__init__()\n"
        "        self.first, self.rest = tf.keras.layers.Dense(3), tf.keras.layers.Dense(3)\n\n"
        "    def call(self, page, late=False):\n        page = self.first(page)\n"
        "        return self.rest(page) if late else page\n\n\n"
        "twofold, noise = Twofold(), tf.random.normal((1, 3))\nfor n in range(500):\n"
        "    noise = noise - twofold(noise, late=bool(n % 2))\n",
        "`bool(n % 2)` may lead to layers that get their variables later",
    ),
    "an integer out of an array": (
        "TFG214",
        HEAD
        + "class Staged(tf.keras.Model):\n    def call(self, page, stage=0):\n        return page * (1.0, 2.0, 3.0)[stage]\n\n\n"
        "staged, noise = Staged(), tf.random.normal((1, 3))\nfor stage in np.arange(300) % 3:\n"
        "    noise = noise - staged(noise, stage=stage)\n",
        "`stage` is a NumPy integer",
    ),
    "a model that gets one more layer": (
        "TFG207",
        HEAD + "for turn in range(3):\n    for page, _ in pages:\n        seen.append(twin(page))\n"
        "    twin.add(tf.keras.layers.Dense(2))\n",
        "`twin.add` changes the layers between its calls",
    ),
    "arguments in a star": (
        "TFG214",
        HEAD + "noise = tf.random.normal((1, 3))\nfor n in range(500):\n    noise = noise - twin(noise, *given)\n",
        "`*`",
    ),
    "few made-up rows": (
        "TFG207",
        HEAD.replace('np.load("sheets.npy")', "np.zeros((16, 3))")
        + "for page, _ in pages:\n    seen.append(twin(page))\n",
        "it runs 4 times",
    ),
    "few values": ("TFG209", LEARN + "for n in range(90):\n    print(learn(sheets, sheets).numpy())\n", "of 90 steps"),
    "kept values": (
        "TFG209",
        LEARN + "for page, goal in pages:\n    seen.append(learn(page, goal).numpy())\n",
        "does more than display",
    ),
}


@pytest.mark.parametrize("case", CASES)
def test_a_withheld_fix_carries_its_reason(case: str, tmp_path: Path) -> None:
    rule, program, reason = CASES[case]
    ((_, finding),) = [pair for pair in findings(program, tmp_path) if pair[0].code == rule]
    assert finding.fix is None
    assert any(note.message.startswith("no fix: ") and reason in note.message for note in finding.notes), finding.notes


@pytest.mark.parametrize(
    ("default", "change", "reason"),
    [
        ("[1.0]", "learn.__kwdefaults__ = {'pull': [0.1 / (turn + 1)]}", "`learn.__kwdefaults__` may change"),
        ("pulls", "pulls[0] /= 2", "`pulls` may change"),
    ],
)
def test_defaults_that_change_keep_a_function_from_a_trace(
    default: str, change: str, reason: str, tmp_path: Path
) -> None:
    program = LEARN.replace("@tf.function\n", "pulls = [1.0]\n").replace(
        "(page, goal)", f"(page, goal, *, pull={default})"
    )
    program = program.replace("pass", "gap *= pull[0]") + (
        f"\nfor turn in range(3):\n    for page, goal in pages:\n        learn(page, goal)\n    {change}\n"
    )
    ((_, finding),) = [pair for pair in findings(program, tmp_path) if pair[0].code == "TFG202"]
    assert f"or put `learn` itself under it after you fix this: {reason}" in finding.help


def test_what_is_set_before_all_calls_prevents_nothing(tmp_path: Path) -> None:
    """Protects the fix of programs that set Keras's epsilon once."""
    program = "import tensorflow as tf\ntf.keras.backend.set_epsilon(1e-3)\n" + _inline()
    assert "@tf.function" in fixed(program, tmp_path, "TFG202")


def test_a_step_in_another_file_says_so(tmp_path: Path) -> None:
    step = (
        HEAD
        + "def learn(page, goal):\n"
        + "".join(f"    {line}\n" for line in TAPE.replace("MORE", "print(gap)").splitlines())
    )
    (tmp_path / "steps.py").write_text(step)
    program = (
        "import tensorflow as tf\nfrom steps import learn, pages\nfor page, goal in pages:\n    learn(page, goal)\n"
    )
    ((_, finding),) = [pair for pair in findings(program, tmp_path) if pair[0].code == "TFG202"]
    assert finding.fix is None
    assert any("different files" in note.message for note in finding.notes)


@pytest.mark.slow
def test_a_fix_over_several_cells_says_so(tmp_path: Path) -> None:
    made = "twin = keras.Sequential([keras.layers.Input((3,)), keras.layers.Dense(1)])\nnoise = random.normal((1, 3))\n"
    loop = "for n in range(500):\n    noise = noise - twin(noise, training=False)\n"
    (tmp_path / "twin.ipynb").write_text(notebook("from tensorflow import keras, random\n", made, loop))
    check = [sys.executable, "-m", "tflint_gpu", "check", "--isolated", "--no-cache", "--select", "TFG214"]
    done = subprocess.run([*check, "--output-format", "json", tmp_path], capture_output=True, text=True)
    (told,) = json.loads(done.stdout)
    assert told["fix"] is None
    assert any(note["message"].startswith("no fix: ") for note in told["related"])


@pytest.mark.slow
@pytest.mark.parametrize("given", ["{'pull': -0.5}", "{'pull': 1 / 4, 'how': ['all', (3, True, None)]}"])
def test_constants_in_an_argument_prevent_nothing(given: str, tmp_path: Path) -> None:
    """The dictionary is the same in each call, so one trace serves them all."""
    np = pytest.importorskip("numpy")
    lines = TAPE.replace("MORE", "gap *= dials['pull']").splitlines()
    program = HEAD.replace("import cv2\n", "").replace(
        'np.load("sheets.npy")', "np.random.default_rng(2).normal(size=(160, 3))"
    )
    program = program.replace("twin =", "tf.keras.utils.set_random_seed(4)\ntwin =")
    program += "adam.build(twin.trainable_variables)\n\n\ndef learn(page, goal, dials):\n" + "".join(
        f"    {line}\n" for line in lines
    )
    program += f"for page, goal in pages:\n    learn(page, goal, {given})\n"
    after = fixed(program, tmp_path, "TFG202")
    assert "@tf.function\ndef learn" in after
    shown = "result = [w.numpy() for w in twin.weights]\n"
    for old, new in zip(results(program + shown), results(after + shown), strict=True):
        np.testing.assert_allclose(new, old, rtol=1e-4, atol=1e-6)
    assert results(after + "result = [learn.experimental_get_tracing_count()]\n") == [1]
    changing = program.replace(f"learn(page, goal, {given})", "learn(page, goal, {'pull': -turn / 2})")
    changing = changing.replace("for page, goal in pages", "for turn, (page, goal) in enumerate(pages)")
    assert "@tf.function\ndef learn" not in fixed(changing, tmp_path, "TFG202")


def test_all_moved_steps_of_a_file_are_those_of_a_file_each(tmp_path: Path) -> None:
    """Protects a file with many steps: what is said of each does not rest on the others, but for the new names."""
    parts = {
        "one": "    pass",
        "two": "    seen.append(gap)",
        "three": "    stamp(gap)",
        "four": "    tf.debugging.check_numerics(gap, 'gap')",
    }
    loops = {
        name: f"def {name}(leaves):\n    for page, goal in pages:\n"
        + "".join(f"        {line}\n" for line in [*TAPE.replace("MORE", more.strip()).splitlines(), "print(gap)"])
        for name, more in parts.items()
    }
    alone = {name: _said(HEAD + loop, tmp_path) for name, loop in loops.items()}
    assert _said(HEAD + "".join(loops.values()), tmp_path) == [one for said in alone.values() for one in said]


_TAKEN = re.compile(r"\btraced_(train_)?step\b")


def _said(program: str, folder: Path) -> list[tuple[str, list[str]]]:
    return [
        (
            _TAKEN.sub("train_step", found.fix.message) if found.fix else "",
            [n.message for n in found.notes if n.message.startswith("no fix")],
        )
        for rule, found in findings(program, folder)
        if rule.code == "TFG202"
    ]


@pytest.mark.slow
def test_a_tensor_decides_no_more_in_a_graph() -> None:
    """The truth: Keras 3's layers take a tensor as `training` where it has a value, and raise in a graph."""
    tf = pytest.importorskip("tensorflow")
    drop, rows = tf.keras.layers.Dropout(0.5), tf.ones((2, 3))
    assert float(tf.reduce_sum(drop(rows, training=tf.constant(False)))) == 6
    traced = tf.function(lambda rows, is_on: drop(rows, training=is_on))
    assert float(tf.reduce_sum(traced(rows, False))) == 6
    with pytest.raises(tf.errors.OperatorNotAllowedInGraphError):
        traced(rows, tf.constant(False))


def test_texts_have_no_masks(tmp_path: Path) -> None:
    """Protects recall: what makes numbers of texts beside a model neither makes nor reads masks."""
    code = HEAD + (
        "reads = tf.keras.Sequential([tf.keras.layers.Embedding(9, 2, mask_zero=True)])\n"
        "words = tf.keras.layers.TextVectorization(9)\n"
        "for page, _ in pages:\n    seen.append(reads(words(page)))\n"
    )
    ((_, finding),) = [pair for pair in findings(code, tmp_path) if pair[0].code == "TFG207"]
    assert not [note.message for note in finding.notes if "masks" in note.message]


def test_an_iterator_of_the_call_itself_is_new_each_time(tmp_path: Path) -> None:
    """Protects recall: `next(...)` of what a call makes finds the same layer in each trace."""
    code = HEAD + (
        "class Picking(tf.keras.Model):\n    def __init__(self):\n        super().__init__()\n"
        "        self.parts = [tf.keras.layers.Dense(1), tf.keras.layers.Dense(2)]\n\n    def call(self, page):\n"
        "        return next(part for part in self.parts if part.units == 2)(page)\n\n\n"
        "picking = Picking()\nfor page, _ in pages:\n    seen.append(picking(page))\n"
    )
    ((_, finding),) = [pair for pair in findings(code, tmp_path) if pair[0].code == "TFG207"]
    assert not [note.message for note in finding.notes if "next(" in note.message]


RETURNED = {
    "dict": "return dict(gap=gap, mood='calm')",
    "a dictionary that is filled": "told = {}\n    told['mood'] = 'calm'\n    return told",
    "a list that is filled": "told = [gap]\n    told.append('calm')\n    return told",
    "a sum of lists": "return [gap] + ['calm']",
    "dictionaries in one": "return {**{'gap': gap}, **{'mood': 'calm'}}",
}


@pytest.mark.parametrize("returned", RETURNED.values(), ids=RETURNED)
def test_values_of_python_are_seen_in_what_holds_them(returned: str, tmp_path: Path) -> None:
    """Protects the caller of a step: it would get a tensor for the text."""
    study = "def study(page, goal):\n" + "".join(f"    {line}\n" for line in TAPE.replace("MORE", "pass").splitlines())
    code = HEAD + f"{study}    {returned}\nfor page, goal in pages:\n    seen.append(study(page, goal))\n"
    after = fixed(code, tmp_path, "TFG202")
    assert "@tf.function\ndef study" not in after
    assert "@tf.function\ndef train_step" in after
    assert "@tf.function\ndef study" in fixed(code.replace("'calm'", "gap"), tmp_path, "TFG202")


OWN_STEP = """
class Doubled(tf.keras.Sequential):
    def predict_step(self, data):
        return 2 * self(data)

    def train_step(self, data):
        rows, goals = data
        return super().train_step((rows, goals))


doubled = Doubled([tf.keras.layers.Dense(1)])
doubled.compile("sgd", "mse")
"""


@pytest.mark.parametrize(
    ("rule", "loop"),
    [
        ("TFG206", "for k in range(900):\n    seen.append(doubled.predict(sheets[k : k + 1])[0])\n"),
        ("TFG215", "for page, goal in pages:\n    with tf.GradientTape() as tape:\n        gap = twin(page)\n"
                   "    tape.gradient(gap, twin.trainable_variables)\n    seen.append(doubled.predict(page))\n"),
        ("TFG215", "for k in range(900):\n    drawn = np.random.choice(160, 32)\n"
                   "    doubled.fit(sheets[drawn], sheets[drawn, :1], verbose=0)\n"),
    ],
    ids=["a row", "a batch", "a drawn batch"],
)  # fmt: skip
def test_a_step_of_the_program_is_not_given_another_structure(rule: str, loop: str, tmp_path: Path) -> None:
    """Protects `predict_step(self, rows)`: it would get `(rows,)`, and raise."""
    plain = OWN_STEP.replace("_step(self", "_other(self").replace("train_step(", "train_other(")
    for model, has_fix in ((OWN_STEP, False), (plain, True)):
        ((_, finding),) = [pair for pair in findings(HEAD + model + loop, tmp_path) if pair[0].code == rule]
        assert (finding.fix is not None) is has_fix
        assert any("a different tuple" in note.message for note in finding.notes) is not has_fix


@pytest.mark.slow
def test_the_methods_for_one_batch_hand_steps_other_tuples() -> None:
    """The truth, of Keras 3."""
    tf, np = pytest.importorskip("tensorflow"), pytest.importorskip("numpy")
    lengths: list[int] = []

    class Counting(tf.keras.Sequential):
        def predict_step(self, data: object) -> object:
            lengths.append(len(data) if isinstance(data, tuple) else 0)
            return tf.zeros((1, 1))

        def train_step(self, data: tuple[object, ...]) -> dict[str, float]:
            lengths.append(len(data))
            return {"loss": 0.0}

    counting, rows = Counting([tf.keras.layers.Dense(1)]), np.zeros((1, 2))
    counting.compile("sgd", "mse", run_eagerly=True)
    counting.predict(rows, verbose=0)
    counting.predict_on_batch(rows)
    counting.fit(rows, rows, verbose=0)
    counting.train_on_batch(rows, rows)
    assert lengths == [0, 1, 2, 3]


@pytest.mark.slow
def test_losses_of_activities_belong_to_the_graph() -> None:
    """The truth: after a traced call they cannot be read, but those of weights can."""
    tf = pytest.importorskip("tensorflow")
    for regularized, raises in (({"activity_regularizer": "l2"}, True), ({"kernel_regularizer": "l2"}, False)):
        layer = tf.keras.layers.Dense(1, **regularized)
        layer(tf.ones((2, 3)))
        tf.function(lambda rows, layer=layer: layer(rows))(tf.ones((2, 3)))
        if raises:
            with pytest.raises(TypeError):
                float(sum(layer.losses))
        else:
            float(sum(layer.losses))


@pytest.mark.slow
def test_a_mask_does_not_pass_a_traced_function() -> None:
    """The truth: a mask is an attribute of an eager tensor."""
    tf = pytest.importorskip("tensorflow")
    words, mean = tf.keras.layers.Embedding(3, 2, mask_zero=True), tf.keras.layers.GlobalAveragePooling1D()
    rows = tf.constant([[1, 0, 0]])
    eager = tf.reduce_sum(mean(words(rows)))
    assert float(eager) == pytest.approx(float(tf.reduce_sum(words(tf.constant([[1]])))), abs=1e-6)
    for traced in (mean(tf.function(words)(rows)), tf.function(mean)(words(rows))):
        assert float(tf.reduce_sum(traced)) != pytest.approx(float(eager), abs=1e-6)
