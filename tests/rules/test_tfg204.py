"""TFG204: a Python number that a loop changes goes to a `tf.function`, and numbers that cost no trace."""

from __future__ import annotations

from pathlib import Path

import pytest
from checks import findings, fixed, found, notebook

HEAD = """\
import itertools, random, time
import numpy as np
import tensorflow as tf
model = tf.keras.Sequential([tf.keras.layers.Dense(1)])
data = tf.data.Dataset.range(99).batch(4)
@tf.function
def step(x, number):
    return model(x) * tf.cast(number, tf.float32)
"""
LEARNER = """\
class Learner:
    def __init__(self):
        self.count = 0
    def learn(self, x):
        self.note()
        self.update(x)
    def update(self, x):
        print("next")
        step(x, self.count)
    def note(self):
        self.count += 1
"""
CHANGED = {  # the row of the call, below HEAD
    "an epoch": ("for epoch in range(epochs):\n    for x in data:\n        step(x, epoch)\n", 3),
    "an index": ("for i in range(0, 100, 10):\n    step(xs[i : i + 10], i)\n", 2),
    "enumerate": ("for i, x in enumerate(data):\n    step(x, i)\n", 2),
    "enumerate after zip": ("for x, (i, y) in zip(xs, enumerate(ys)):\n    step(x, i)\n", 2),
    "by keyword": ("for i, x in enumerate(data):\n    step(x, number=i)\n", 2),
    "in a tuple": ("for i, x in enumerate(data):\n    step(x, (i, 1))\n", 2),
    "itertools.count": ("for x, i in zip(data, itertools.count()):\n    step(x, i)\n", 2),
    "tqdm": ("from tqdm import tqdm, trange\nfor epoch in tqdm(range(50)):\n    step(x, epoch)\n", 3),
    "trange": ("from tqdm import trange\nfor epoch in trange(50):\n    step(x, epoch)\n", 3),
    "arithmetic": ("for epoch in range(50):\n    rate = 0.1 / (1 + epoch)\n    step(x, rate)\n", 3),
    "a decay of epochs": ("for epoch in range(50):\n    beta = min(1.0, epoch / 10)\n    step(x, beta)\n", 3),
    "a rate that is a part of itself": ("rate = 0.1\nfor x in data:\n    rate = rate * 0.9\n    step(x, rate)\n", 4),
    "a counter": ("count = 0\nwhile count < limit:\n    count += 1\n    step(x, count)\n", 4),
    "a counter written out": ("n = 0\nfor x in data:\n    n = n + 1\n    step(x, n)\n", 4),
    "counted in many places": (  # each of which depends on all others: they are looked at once, or this does not end
        "n = 0\nfor x in data:\n    step(x, n)\n" + "".join(f"    if x[{i}]:\n        n += {i}\n" for i in range(30)),
        3,
    ),
    "counted in many branches": (
        "n = 0\nfor x in data:\n    step(x, n)\n"
        + "".join(f"    if x[{i}]:\n        n = n + {i}\n" for i in range(16)),
        3,
    ),
    "a decaying rate": ("rate = 0.5\nfor x in data:\n    step(x, rate)\n    rate *= 0.99\n", 3),
    "a clamped rate": ("e = 1.0\nfor x in data:\n    e = max(0.1, e * 0.99)\n    step(x, e)\n", 4),
    "float of a tensor": ("for x in data:\n    loss = model(x)\n    step(x, float(loss))\n", 3),
    "int of an element": ("for x, y in data:\n    step(x, int(y))\n", 2),
    "a function of math": ("import math\nfor epoch in range(50):\n    step(x, math.cos(epoch / 50))\n", 3),
    "a random number": ("for x in data:\n    step(x, random.uniform(0, 1))\n", 2),
    "one of NumPy": ("for x in data:\n    step(x, np.random.uniform())\n", 2),
    "a clock": ("start = time.time()\nfor x in data:\n    step(x, time.time() - start)\n", 3),
    "a clock of whole numbers": ("for x in data:\n    step(x, time.perf_counter_ns())\n", 2),
    "an item of a list": ("rates = [1, 2, 3, 4, 5, 6]\nfor i in range(6):\n    step(x, rates[i])\n", 3),
    "a list of numbers": ("for rate in [0.1, 0.2, 0.3, 0.4, 0.5, 0.6]:\n    step(x, rate)\n", 2),
    "a comprehension": ("out = [step(x, i) for i, x in enumerate(data)]\n", 1),
    "through a parameter": (
        "def run_epoch(epoch):\n    for x in data:\n        step(x, epoch)\nfor epoch in range(50):\n    run_epoch(epoch)\n",
        3,
    ),
    "a schedule of the project": (
        "def schedule(epoch):\n    return 0.1 * 0.9 ** epoch\nfor epoch in range(50):\n    step(x, schedule(epoch))\n",
        4,
    ),
    "a wave of the project, its height left to a default": (
        "import math\ndef wave(turn, height=0.3):\n    return height * math.sin(math.pi * turn / 90)\nturns = 0\n"
        "for x in data:\n    step(x, wave(turns))\n    turns += 1\n",
        6,
    ),
    "wrapped": (
        "def f(x, n):\n    return x * n\nrun = tf.function(f)\nfor i, x in enumerate(data):\n    run(x, i)\n",
        5,
    ),
    "a wrapped lambda": ("run = tf.function(lambda x, n: x * n)\nfor i, x in enumerate(data):\n    run(x, i)\n", 3),
    "a method": (
        "class Trainer:\n    @tf.function\n    def step(self, x, epoch):\n        return x * epoch\n    def fit(self):\n"
        "        for epoch in range(50):\n            for x in data:\n                self.step(x, epoch)\n",
        8,
    ),
    "an attribute that counts": (
        "class Trainer:\n    def __init__(self):\n        self.count = 0\n        self.run = tf.function(self.forward)\n"
        "    def forward(self, x, n):\n        return x * n\n    def fit(self):\n        for x in data:\n"
        "            self.count += 1\n            self.run(x, self.count)\n",
        10,
    ),
    "seven functions between the loop and the call": (
        "def f7(n):\n    step(x, n)\n"
        + "".join(f"def f{i}(n):\n    f{i + 1}(n)\n" for i in range(1, 7))
        + "for i in range(999):\n    f1(i)\n",
        2,
    ),
    "an attribute that a method counts": (
        LEARNER + "learner = Learner()\nfor x in data:\n    learner.learn(x)\n",
        9,
    ),
    "an attribute that a method of an attribute counts": (
        LEARNER + "class Runner:\n    def __init__(self):\n        self.learner = Learner()\n    def go(self):\n"
        "        while True:\n            self.once()\n    def once(self):\n        self.learner.learn(x)\nRunner().go()\n",
        9,
    ),
    "reduced retracing does not help": (
        "@tf.function(reduce_retracing=True)\ndef other(x, n):\n    return x * n\nfor i, x in enumerate(data):\n    other(x, i)\n",
        5,
    ),
}
QUIET = {
    "an attribute of an object of the iteration": LEARNER
    + "for x in data:\n    learner = Learner()\n    learner.learn(x)\n",
    "an attribute of an object without a name": LEARNER + "for x in data:\n    Learner().learn(x)\n",
    "an attribute of an object that a function makes": LEARNER
    + "def fold(x):\n    learner = Learner()\n    learner.learn(x)\nfor x in data:\n    fold(x)\n",
    "an attribute of an object that a function is given": LEARNER
    + "def fold(learner):\n    learner.learn(x)\nfor x in data:\n    fold(Learner())\n",
    "an attribute of each of many objects": LEARNER
    + "learners = [Learner() for _ in range(99)]\nfor learner in learners:\n    learner.learn(x)\n",
    "an attribute that is made again": LEARNER
    + "class Runner:\n    def go(self):\n        for x in data:\n            self.learner = Learner()\n"
    "            self.learner.learn(x)\nRunner().go()\n",
    "an attribute that another loop counts": LEARNER.replace("self.count += 1", "pass")
    + "    def grow(self):\n        self.count += 1\nlearner = Learner()\nfor _ in range(99):\n    learner.grow()\n"
    "for x in data:\n    learner.learn(x)\n",
    "an attribute that counts now and then": LEARNER
    + "learner = Learner()\nfor i, x in enumerate(data):\n    if i % 100 == 0:\n        learner.learn(x)\n",
    "a tensor": "for epoch in range(50):\n    step(x, tf.constant(epoch))\n",
    "a tensor made before": "for epoch in range(50):\n    number = tf.constant(epoch)\n    step(x, number)\n",
    "elements of a tensor": "for i in tf.range(50):\n    step(x, i)\n",
    "numbers of NumPy": "for i in np.arange(50):\n    step(x, i)\n",
    "a NumPy scalar": "for epoch in range(50):\n    step(x, np.float32(epoch))\n",
    "a NumPy function": "for epoch in range(50):\n    step(x, np.cos(epoch))\n",
    "an array drawn": "for x in data:\n    step(x, np.random.uniform(0, 1, 5))\n",
    "an index of the dataset": "for i, x in data.enumerate():\n    step(x, i)\n",
    "a value read": "for x in data:\n    step(x, model(x).numpy())\n",
    "few iterations": "for i in range(5):\n    step(x, i)\n",
    "few elements": "for i, x in enumerate(data.take(3)):\n    step(x, i)\n",
    "an early end": "for i, x in enumerate(data):\n    step(x, i)\n    if i == 3:\n        break\n",
    "few numbers": "for rate in [0.1, 0.01, 0.001]:\n    for x in data:\n        step(x, rate)\n",
    "few remainders": "for i, x in enumerate(data):\n    step(x, i % 2)\n",
    "a boolean": "for i, x in enumerate(data):\n    step(x, i > 10)\n",
    "a string": "for mode in modes:\n    step(x, mode)\n",
    "what this loop does not change": "rate = 0.1\nfor x in data:\n    step(x, rate)\n",
    "after the loop": "for i in range(50):\n    pass\nstep(x, i)\n",
    "every hundredth iteration": "for i, x in enumerate(data):\n    if i % 100 == 0:\n        step(x, i)\n",
    "a signature": (
        "@tf.function(input_signature=[tf.TensorSpec([None]), tf.TensorSpec([])])\ndef other(x, n):\n    return x * n\n"
        "for i, x in enumerate(data):\n    other(x, i)\n"
    ),
    "called from traced code": "@tf.function\ndef outer(x):\n    for i in range(50):\n        x = step(x, i)\n    return x\nouter(x)\n",
    "called from a dataset's function": "def f(x):\n    for i in range(50):\n        x = step(x, i)\n    return x\ndata = data.map(f)\n",
    "a train_step of Keras": (
        "class M(tf.keras.Model):\n    def train_step(self, x):\n        for i in range(50):\n            step(x, i)\n"
    ),
    "the function that is traced, itself": (
        "def f(x, n):\n    return x * n\nrun = tf.function(f)\nfor i, x in enumerate(data):\n    f(x, i)\n"
    ),
    "under tf.function by choice": (
        "def run(x, n):\n    return x * n\nif flag:\n    run = tf.function(run)\nfor i, x in enumerate(data):\n    run(x, i)\n"
    ),
    "a function made in the iteration": (
        "for i in range(50):\n    @tf.function\n    def own(x, n):\n        return x * n\n    runs.append(own)\n    own(x, i)\n"
    ),
    "a trainer of the iteration": (
        "class T:\n    @tf.function\n    def step(self, x, n):\n        return x * n\nfor i in range(50):\n    t = T()\n"
        "    t.step(x, i)\n"
    ),
    "a model that the iteration's function makes": (
        "@tf.function\ndef scaled(net, x, n):\n    return net(x) * n\ndef draw(n):\n"
        "    part = tf.keras.Model(model.inputs, model.layers[0].output)\n    for x in data:\n        scaled(part, x, n)\n"
        "for n in range(64):\n    draw(n)\n"
    ),
    "a model of the iteration": (
        "@tf.function\ndef other(net, x, n):\n    return net(x) * n\nfor i in range(50):\n"
        "    net = tf.keras.Sequential()\n    other(net, x, i)\n"
    ),
    "a number that picks a layer": (
        "@tf.function\ndef other(x, level):\n    return layers[level](x)\nfor level in range(50):\n    other(x, level)\n"
    ),
    "a number of iterations": (
        "@tf.function\ndef other(x, n):\n    for _ in range(n):\n        x = x + 1\n    return x\n"
        "for n in range(50):\n    other(x, n)\n"
    ),
    "an unknown value": "for x in data:\n    step(x, config.rate * scale)\n",
    "levels of a pyramid": "size = 13\nfor mask in masks:\n    step(x, size)\n    size *= 2\n",
    "levels, downwards": "size = 416\nfor mask in masks:\n    size = size // 2\n    step(x, size)\n",
    "three rows of an array": (
        "MASKS = np.array([[6, 7, 8], [3, 4, 5], [0, 1, 2]])\nsize = 13\nfor mask in MASKS:\n    step(x, size)\n"
        "    size += 13\n"
    ),
    "as many as a tuple has": "SIZES = (13, 26, 52)\nfor i in range(len(SIZES)):\n    step(x, i)\n",
    "drawn among three": (
        "for x in data:\n    step(x, random.randint(0, 2))\n    step(x, np.random.randint(3))\n    step(x, random.randrange(3))\n"
    ),
    "a rate that drops twice": (
        "rate = 0.1\nfor epoch in range(90):\n    if epoch in (30, 60):\n        rate *= 0.1\n    for x in data:\n        step(x, rate)\n"
    ),
    "an unknown decorator": (
        "@retry\n@tf.function\ndef other(x, n):\n    return x * n\nfor i, x in enumerate(data):\n    other(x, i)\n"
    ),
    "tracing is switched off": (
        "tf.config.run_functions_eagerly(True)\nfor i, x in enumerate(data):\n    step(x, i)\n"
    ),
}


def _table(cases: dict[str, object]) -> pytest.MarkDecorator:
    return pytest.mark.parametrize("case", cases.values(), ids=cases)


def rows(code: str, folder: Path, name: str = "train.py") -> list[int]:
    """The rows below HEAD that TFG204 names."""
    return [row - HEAD.count("\n") for code_, row in found(HEAD + code, folder, name) if code_ == "TFG204"]


@_table(CHANGED)  # type: ignore[arg-type]
def test_numbers_that_a_loop_changes_are_found(case: tuple[str, int], tmp_path: Path) -> None:
    code, row = case
    assert rows(code, tmp_path) == [row]


@_table(QUIET)  # type: ignore[arg-type]
def test_others_are_not_found(case: str, tmp_path: Path) -> None:
    assert rows(case, tmp_path) == []


def test_tests_are_left_alone(tmp_path: Path) -> None:
    assert rows(CHANGED["an epoch"][0], tmp_path, "tests/train.py") == []


def test_a_function_of_another_file(tmp_path: Path) -> None:
    (tmp_path / "steps.py").write_text("import tensorflow as tf\n\n@tf.function\ndef step(x, n):\n    return x * n\n")
    code = "from steps import step\nfor epoch in range(epochs):\n    step(images, epoch)\n"
    assert found(code, tmp_path) == {("TFG204", 3)}


def test_a_loop_of_another_file(tmp_path: Path) -> None:
    text = HEAD + "def run_epoch(data, epoch):\n    for x in data:\n        step(x, epoch)\n"
    (tmp_path / "steps.py").write_text(text)
    code = "from steps import run_epoch\nfor epoch in range(epochs):\n    run_epoch(data, epoch)\n"
    assert found(code, tmp_path) == {("TFG204 steps.py", 11)}


def test_the_notes_name_the_loop_that_changes_the_number(tmp_path: Path) -> None:
    """Of two loops the one of epochs."""
    ((_, finding),) = [f for f in findings(HEAD + CHANGED["an epoch"][0], tmp_path) if f[0].code == "TFG204"]
    note = finding.notes[0]
    assert note.file.source.locate(note.file.span(note.node)[0]).row == HEAD.count("\n") + 1
    assert "`epoch` is a Python number" in finding.message


def test_a_notebook(tmp_path: Path) -> None:
    text = notebook(HEAD, CHANGED["an epoch"][0])
    assert ("TFG204", 3) in found(text, tmp_path, name="a.ipynb")


def test_the_fix_makes_a_tensor(tmp_path: Path) -> None:
    code = HEAD + "for i, x in enumerate(data):\n    step(x, i + 1)\n"
    assert fixed(code, tmp_path, "TFG204").endswith("    step(x, tf.constant(i + 1))\n")


NEEDS = {  # the function's body, the number in the loop over `i`, and what the fix writes
    "converted": ("tf.cast(n, tf.float32) * model(x)", "i", "tf.constant(i)"),
    "times a loss": ("tf.reduce_mean(model(x)) * n", "i", "tf.constant(i, tf.float32)"),
    "a part of the epochs": ("model(x) * (1 - n / 100)", "i", "tf.constant(i, tf.float32)"),
    "times a Python float": ("model(x) * tf.exp(-0.1 * n)", "i", "tf.constant(i, tf.float32)"),
    "already a float": ("model(x) * n", "0.5 * i", "tf.constant(0.5 * i)"),
    "compared": ("tf.where(tf.random.normal([4]) < n, 1, 0)", "i", "tf.constant(i, tf.float32)"),
    "compared with whole numbers": ("tf.where(n > 10, model(x), x)", "i", "tf.constant(i)"),
    "what chooses a branch": ("model(x) if n > 10 else x", "i", None),
    "a size": ("tf.range(n)", "i", "tf.constant(i)"),
    "a step of a summary": ("tf.summary.scalar('loss', 1.0, step=n)", "i", "tf.constant(i, tf.int64)"),
    "in a function that is called": ("scaled(model(x), n)", "i", "tf.constant(i, tf.float32)"),
    "times ones": ("tf.ones([2, 4]) * n * model(x)", "i", "tf.constant(i, tf.float32)"),
    "times written numbers": ("tf.constant([[0.5], [2]]) * n * model(x)", "i", "tf.constant(i, tf.float32)"),
    "times whole numbers": ("tf.constant([1, 2]) * n", "i", None),
    "times ones of a dtype": ("tf.ones([2], tf.float16) * n", "i", None),
    "times who knows what": ("x * n", "i", None),
    "given to who knows what": ("library.scale(x, n)", "i", None),
    "as a share of some at most": ("tf.reduce_mean(model(x)) * min(1.0, n / 10)", "i", None),
    "rounded": ("model(x) * round(n / 3)", "i", None),
    "whether it is none": ("model(x) + (not n)", "i", None),
    "a size and a factor": ("tf.zeros(n) * (model(x) * n)", "i", None),
}


@_table(NEEDS)  # type: ignore[arg-type]
def test_the_tensor_has_the_dtype_that_the_function_needs(case: tuple[str, str, str | None], tmp_path: Path) -> None:
    """Protects who applies the fix: TensorFlow multiplies a loss by a Python int, and by no integer tensor."""
    body, number, written = case
    code = f"def scaled(v, w):\n    return v * w\n@tf.function\ndef f(x, n):\n    return {body}\n"
    code = f"{HEAD}{code}for i in range(100):\n    f(y, {number})\n"
    ((_, finding),) = [f for f in findings(code, tmp_path) if f[0].code == "TFG204"]
    expected = code if written is None else code.replace(f"f(y, {number})", f"f(y, {written})")
    assert fixed(code, tmp_path, "TFG204") == expected
    assert (
        written or f"of the dtype with which `f` computes: `tf.constant({number})` for an index or a count, "
    ) in finding.help


@pytest.mark.parametrize("case", [case for case in NEEDS.values() if case[2] is not None and "model" in case[0]])
def test_the_truth_what_the_fix_writes_runs(case: tuple[str, str, str]) -> None:
    """With the installed TensorFlow: the function takes the tensor, and an integer where it needs another raises."""
    import tensorflow as tf

    body, _, written = case
    names = {"tf": tf, "model": tf.math.sqrt, "scaled": lambda v, w: v * w, "i": 3}
    function = tf.function(eval(f"lambda x, n: {body}", names))
    function(tf.ones(4), eval(written, names))
    if "float32" in written:
        with pytest.raises((TypeError, ValueError, tf.errors.InvalidArgumentError)):
            function(tf.ones(4), tf.constant(3))


@pytest.mark.slow
def test_the_truth_each_new_number_is_traced() -> None:
    """With the installed TensorFlow: Python's numbers one by one, tensors and NumPy's once."""
    import numpy as np
    import tensorflow as tf

    def traces(values: object, **options: bool) -> int:
        seen = []
        run = tf.function(lambda x: (seen.append(1), tf.identity(x))[1], **options)
        for value in values:  # type: ignore[attr-defined]
            run(value)
        return len(seen)

    assert traces(range(20)) == traces(i / 7 for i in range(20)) == traces((i, 1) for i in range(20)) == 20
    assert traces(np.random.uniform() for _ in range(9)) == traces(float(tf.constant(i)) for i in range(9)) == 9
    assert traces(range(20), reduce_retracing=True) == 20
    assert traces(tf.constant(i) for i in range(20)) == traces(np.arange(20)) == traces(tf.range(20)) == 1
    assert traces(i % 2 for i in range(20)) == traces(i > 10 for i in range(20)) == 2
    assert traces(list(range(20)) * 2) == 20


SEVERAL = {  # what the loop passes, and what the fix makes of it
    "two": ("i, rate * i", "tf.constant(i), tf.constant(rate * i)"),
    "one that is an index": ("i, rate * i, i + 1", None),
    "one that counts": ("i, rate * i, times=i + 2", ""),
}


@_table(SEVERAL)  # type: ignore[arg-type]
def test_all_numbers_of_a_call_or_none(case: tuple[str, str | None], tmp_path: Path) -> None:
    """Protects the fix's use: one number that stays a Python number has the call traced again, as before."""
    passed, written = case
    code = (
        "import tensorflow as tf\n\nrate, traces = 0.5, []\n\n@tf.function\n"
        "def grown(x, turn, share, place=0, times=1):\n    traces.append(0)\n"
        "    for _ in range(times):\n        x = x * (share + 1.0)\n"
        "    return x[place] * tf.cast(turn, tf.float32)\n\n"
        f"total = 0.0\nfor i in range(8):\n    total += float(grown(tf.ones(20), {passed}))\n"
    )
    found_numbers = [f for rule, f in findings(code, tmp_path) if rule.code == "TFG204"]
    after = fixed(code, tmp_path, "TFG204")
    if not written:
        assert after == code
        assert len(found_numbers) == (0 if written == "" else 3)  # with one that has to stay nothing is to be gained
        assert all("only if `i + 1` is a tensor too" in (f.help or "") for f in found_numbers[:2])
        return
    assert f"grown(tf.ones(20), {written})" in after
    before_scope, after_scope = {}, {}  # type: ignore[var-annotated]
    pytest.importorskip("tensorflow")
    exec(compile(code, "before.py", "exec"), before_scope)
    exec(compile(after, "after.py", "exec"), after_scope)
    assert (len(before_scope["traces"]), len(after_scope["traces"])) == (8, 1)
    assert before_scope["total"] == pytest.approx(after_scope["total"])
