"""Protects that a function is seen by every rule however it comes to be called: rules x ways of calling.

Each way reaches one function `work(item)`; each rule puts one line into it that it reports by what runs the function.
"""

from __future__ import annotations

import textwrap
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from checks import found

HEAD = """
import functools
import importlib
import itertools
import random
import threading
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import tensorflow as tf
from tensorflow import keras

net = keras.models.load_model("net.keras")
twin = keras.models.load_model("net.keras")
optimizer = keras.optimizers.SGD()
strategy = tf.distribute.MirroredStrategy()
rows = np.load("rows.npy")
images = np.load("images.npy")
data = tf.data.Dataset.from_tensor_slices(images).batch(32)
accuracy = keras.metrics.Mean()
losses = []

@tf.function
def compiled(number):
    return number * 2
"""
STEP = """
with tf.GradientTape() as tape:{tape}
    loss = tf.reduce_mean(net(item))
optimizer.apply_gradients(zip(tape.gradient(loss, net.trainable_variables), net.trainable_variables))
"""


@dataclass(frozen=True)
class Line:
    """A rule and the body of a function in which it reports the line that ends in `# here`.

    Arguments:
        items: what the function is called with, one after the other.
    """

    code: str
    items: str
    body: str


REPEATED = [
    Line("TFG202", "data", STEP.format(tape="  # here")),
    Line("TFG206", "rows", "return net.predict(item[None])  # here"),
    Line("TFG207", "data", "return net(item)  # here"),
    Line("TFG214", "rows", "return float(net(item[None])[0, 0])  # here"),
    Line("TFG215", "data", "return net.predict(item)  # here"),
    Line("TFG203", "data", "return tf.function(net)(item)  # here"),
    Line("TFG204", "range(1000)", "return compiled(item)  # here"),
    Line("TFG209", "data", STEP.format(tape="") + "print(float(loss))  # here"),
    Line("TFG405", "data", STEP.format(tape="") + "losses.append(loss)  # here"),
    Line("TFG213", "data", STEP.format(tape="") + "twin.set_weights(net.get_weights())  # here"),
]
TRACED = [
    Line("TFG101", "", "return np.sin(item)  # here"),
    Line("TFG102", "", "return item * random.random()  # here"),
    Line("TFG103", "", "print('step')  # here\nreturn item"),
    Line("TFG104", "", "return item * item.numpy()  # here"),
    Line("TFG106", "", "return item * tf.Variable(1.0)  # here"),
]


@dataclass(frozen=True)
class Way:
    """How a function is reached.

    Arguments:
        main: the program, with `WORK` where the function is defined, `ITEMS` for what it is called with.
        others: other files; the one with `WORK` has the function.
        silent: the rules that must say nothing, "all" for all of them.
        raising: the rules whose line raises when it is reached so, whatever they say of it.
    """

    main: str
    others: dict[str, str] = field(default_factory=dict)
    silent: tuple[str, ...] = ()
    raising: tuple[str, ...] = ()


LOOPS = {
    "direct": Way("WORK\nfor item in ITEMS:\n    work(item)"),
    "function": Way("WORK\ndef run():\n    for item in ITEMS:\n        work(item)\nrun()"),
    "lambda": Way("WORK\nrun = lambda x: work(x)\nfor item in ITEMS:\n    run(item)"),
    "lambda handed on": Way("WORK\ndef each(f, xs):\n    for x in xs:\n        f(x)\neach(lambda x: work(x), ITEMS)"),
    "list(map)": Way("WORK\nlist(map(work, ITEMS))"),
    "for in map": Way("WORK\nfor result in map(work, ITEMS):\n    print(result)"),
    "list(map(lambda))": Way("WORK\nlist(map(lambda x: work(x), ITEMS))"),
    "map in a loop": Way("WORK\nfor epoch in range(100):\n    list(map(work, ITEMS))"),
    "filter in a loop": Way("WORK\nfor epoch in range(100):\n    list(filter(work, ITEMS))"),
    "sorted in a loop": Way("WORK\nfor epoch in range(100):\n    sorted(ITEMS, key=work)"),
    "max in a loop": Way("WORK\nfor epoch in range(100):\n    max(ITEMS, key=work)"),
    "sorted": Way("WORK\nbest = sorted(ITEMS, key=work)"),
    "store": Way('WORK\nSTEPS = {}\nSTEPS["train"] = work\nfor item in ITEMS:\n    STEPS["train"](item)'),
    "starmap": Way("WORK\nlist(itertools.starmap(work, zip(ITEMS)))"),
    "partial": Way("WORK\nrun = functools.partial(work, extra=3)\nfor item in ITEMS:\n    run(item)"),
    "partial called": Way("WORK\nfor item in ITEMS:\n    functools.partial(work, item)()"),
    "partial handed on": Way(
        "WORK\ndef each(f, xs):\n    for x in xs:\n        f(x)\neach(functools.partial(work, extra=3), ITEMS)"
    ),
    "thread": Way("WORK\nfor item in ITEMS:\n    threading.Thread(target=work, args=(item,)).start()"),
    "thread that loops": Way(
        "WORK\ndef run():\n    for item in ITEMS:\n        work(item)\nthreading.Thread(target=run).start()"
    ),
    "submit": Way("WORK\nwith ThreadPoolExecutor() as pool:\n    for item in ITEMS:\n        pool.submit(work, item)"),
    "pool.map": Way("WORK\nwith ThreadPoolExecutor() as pool:\n    list(pool.map(work, ITEMS))"),
    "bound method": Way(
        "class Worker:\n    WORK\nworker = Worker()\nrun = worker.work\nfor item in ITEMS:\n    run(item)"
    ),
    "registry": Way('WORK\nSTEPS = {"train": work}\nfor item in ITEMS:\n    STEPS["train"](item)'),
    "registry by decorator": Way(
        "STEPS = {}\ndef register(f):\n    STEPS[f.__name__] = f\n    return f\n"
        '@register\nWORK\nfor item in ITEMS:\n    STEPS["work"](item)',
    ),
    "registry by decorator with a name": Way(
        "STEPS = {}\ndef register(name):\n    def add(f):\n        STEPS[name] = f\n        return f\n    return add\n"
        '@register("w")\nWORK\ndef run(name):\n    for item in ITEMS:\n        STEPS[name](item)\nrun(input())',
    ),
    "decorator": Way(
        "def logged(f):\n    @functools.wraps(f)\n    def inner(*args, **kwargs):\n        return f(*args, **kwargs)\n"
        "    return inner\n@logged\nWORK\nfor item in ITEMS:\n    work(item)"
    ),
    "callable object": Way("class Worker:\n    CALL\nworker = Worker()\nfor item in ITEMS:\n    worker(item)"),
    "private method": Way(
        "class Worker:\n    MANGLED\n    def run(self):\n        for item in ITEMS:\n            self.__work(item)\n"
        "Worker().run()"
    ),
    "class method": Way("class Worker:\n    @classmethod\n    CLASS\nfor item in ITEMS:\n    Worker.work(item)"),
    "static method": Way("class Worker:\n    @staticmethod\n    WORK\nfor item in ITEMS:\n    Worker.work(item)"),
    "inherited method": Way(
        "class Base:\n    def run(self):\n        for item in ITEMS:\n            self.work(item)\n"
        "class Worker(Base):\n    METHOD\nWorker().run()"
    ),
    "imported": Way("from ops import work\nfor item in ITEMS:\n    work(item)", {"ops.py": "WORK"}),
    "star import": Way("from ops import *\nfor item in ITEMS:\n    work(item)", {"ops.py": "WORK"}),
    "importlib": Way('for item in ITEMS:\n    importlib.import_module("ops").work(item)', {"ops.py": "WORK"}),
    "a module that a function returns": Way(
        "import ops\ndef restored():\n    print('restored')\n    return ops\ndef run():\n    used = restored()\n"
        "    for item in ITEMS:\n        used.work(item)\nrun()",
        {"ops.py": "WORK"},
    ),
    "importlib, bound": Way(
        'ops = importlib.import_module("ops")\nfor item in ITEMS:\n    ops.work(item)', {"ops.py": "WORK"}
    ),
    "callback": Way(
        "from runner import each\nWORK\neach(work, ITEMS)",
        {"runner.py": "def each(function, items):\n    for item in items:\n        function(item)\n"},
    ),
    "callback of an object": Way(
        "from runner import Runner\nWORK\nRunner(work).run(ITEMS)",
        {
            "runner.py": (
                "class Runner:\n    def __init__(self, function):\n        self.function = function\n"
                "    def run(self, items):\n        for item in items:\n            self.function(item)\n"
            )
        },
    ),
    "callback by map": Way(
        "from runner import each\nWORK\neach(work, ITEMS)",
        {"runner.py": "def each(function, items):\n    return list(map(function, items))\n"},
    ),
    "object handed on": Way(
        "class Worker:\n    METHOD\ndef drive(worker, items):\n    for item in items:\n        worker.work(item)\n"
        "drive(Worker(), ITEMS)"
    ),
    "forwarded": Way(
        "class Worker:\n    METHOD\nclass Proxy:\n    def __init__(self, inner):\n        self.inner = inner\n"
        "    def __getattr__(self, name):\n        return getattr(self.inner, name)\n"
        "worker = Proxy(Worker())\nfor item in ITEMS:\n    worker.work(item)"
    ),
    "getattr": Way(
        'class Worker:\n    METHOD\nworker = Worker()\nfor item in ITEMS:\n    getattr(worker, "work")(item)',
    ),
    "strategy.run": Way("WORK\nfor item in ITEMS:\n    strategy.run(work, args=(item,))"),
    "tf.py_function": Way("WORK\nfor item in ITEMS:\n    tf.py_function(work, [item], tf.float32)"),
    "comprehension": Way("WORK\n[work(item) for item in ITEMS]"),
    "thirty callers": Way("WORK\nfor item in ITEMS:\n    work(item)\n" + "work(rows[0])\n" * 30),
    "not called": Way("WORK\nprint(work)", silent=("all",)),
    "once": Way("WORK\nwork(next(iter(ITEMS)))", silent=("all",)),
    "traced": Way(
        "@tf.function\nWORK\nfor item in ITEMS:\n    work(item)", silent=("all",), raising=("TFG206", "TFG213")
    ),
    "traced by hand": Way(
        "WORK\nrun = tf.function(work)\nfor item in ITEMS:\n    run(item)",
        silent=("all",),
        raising=("TFG206", "TFG213"),
    ),
}
INSIDE = "@tf.function\ndef traced(x):\n    {0}\ntraced(tf.constant([1.0]))"
TRACES = {
    "direct": Way("WORK\n" + INSIDE.format("return work(x)")),
    "itself": Way("@tf.function\nWORK\nwork(tf.constant([1.0]))"),
    "lambda": Way("WORK\nrun = lambda x: work(x)\n" + INSIDE.format("return run(x)")),
    "map": Way("WORK\n" + INSIDE.format("return list(map(work, [x]))")),
    "map of a lambda": Way("WORK\n" + INSIDE.format("return list(map(lambda t: work(t), [x]))")),
    "filter": Way("WORK\n" + INSIDE.format("return list(filter(work, [x]))")),
    "Lambda of a lambda": Way(
        "WORK\nmodel = keras.Sequential()\nmodel.add(keras.layers.Lambda(lambda x: work(x)))\n"
        "model.compile('sgd', 'mse')\nmodel.fit(rows, rows)\n"
    ),
    "sorted": Way("WORK\n" + INSIDE.format("return sorted([x], key=work)")),
    "partial": Way("WORK\nrun = functools.partial(work, extra=3)\n" + INSIDE.format("return run(x)")),
    "partial called": Way("WORK\n" + INSIDE.format("return functools.partial(work, x)()")),
    "bound method": Way(
        "class Worker:\n    METHOD\nworker = Worker()\nrun = worker.work\n" + INSIDE.format("return run(x)")
    ),
    "registry": Way('WORK\nSTEPS = {"train": work}\n' + INSIDE.format('return STEPS["train"](x)')),
    "decorator": Way(
        "def logged(f):\n    @functools.wraps(f)\n    def inner(*args, **kwargs):\n        return f(*args, **kwargs)\n"
        "    return inner\n@logged\nWORK\n" + INSIDE.format("return work(x)")
    ),
    "callable object": Way("class Worker:\n    CALL\nworker = Worker()\n" + INSIDE.format("return worker(x)")),
    "private method": Way(
        "class Worker:\n    MANGLED\n    @tf.function\n    def run(self, x):\n        return self.__work(x)\n"
        "Worker().run(tf.constant([1.0]))"
    ),
    "class method": Way("class Worker:\n    @classmethod\n    CLASS\n" + INSIDE.format("return Worker.work(x)")),
    "static method": Way("class Worker:\n    @staticmethod\n    WORK\n" + INSIDE.format("return Worker.work(x)")),
    "traced class method": Way(
        "class Worker:\n    @classmethod\n    @tf.function\n    CLASS\nWorker.work(tf.constant([1.0]))"
    ),
    "imported": Way("from ops import work\n" + INSIDE.format("return work(x)"), {"ops.py": "WORK"}),
    "star import": Way("from ops import *\n" + INSIDE.format("return work(x)"), {"ops.py": "WORK"}),
    "importlib": Way(
        'ops = importlib.import_module("ops")\n' + INSIDE.format("return ops.work(x)"), {"ops.py": "WORK"}
    ),
    "callback": Way(
        "from runner import apply\nWORK\n" + INSIDE.format("return apply(work, x)"),
        {"runner.py": "def apply(function, x):\n    return function(x)\n"},
    ),
    "tf.cond": Way(
        "WORK\n" + INSIDE.format("return tf.cond(x[0] > 0, lambda: work(x), lambda: x)"), silent=("TFG106",)
    ),
    "tf.while_loop": Way("WORK\n" + INSIDE.format("return tf.while_loop(lambda t: t[0] < 9.0, work, [x])")),
    "tf.map_fn": Way("WORK\n" + INSIDE.format("return tf.map_fn(work, x)")),
    "tf.vectorized_map": Way("WORK\n" + INSIDE.format("return tf.vectorized_map(work, x)")),
    "tf.scan": Way("WORK\n" + INSIDE.format("return tf.scan(lambda a, t: work(t), x)")),
    "tf.foldl": Way("WORK\n" + INSIDE.format("return tf.foldl(lambda a, t: work(t), x)")),
    "tf.switch_case": Way(
        "WORK\n" + INSIDE.format("return tf.switch_case(tf.cast(x[0], tf.int32), [lambda: work(x)])"),
        silent=("TFG106",),
    ),
    "tf.recompute_grad": Way("WORK\n" + INSIDE.format("return tf.recompute_grad(work)(x)")),
    "strategy.run": Way("WORK\n" + INSIDE.format("return strategy.run(work, args=(x,))")),
    "forwarded": Way(
        "class Worker:\n    METHOD\nclass Proxy:\n    def __init__(self, inner):\n        self.inner = inner\n"
        "    def __getattr__(self, name):\n        return getattr(self.inner, name)\n"
        "worker = Proxy(Worker())\n" + INSIDE.format("return worker.work(x)")
    ),
    "getattr": Way(
        "class Worker:\n    METHOD\nworker = Worker()\n" + INSIDE.format('return getattr(worker, "work")(x)')
    ),
    "train_step": Way(
        "WORK\nclass Net(keras.Model):\n    def train_step(self, batch):\n        return {'loss': work(batch)}\n"
        "model = Net()\nmodel.compile('sgd')\nmodel.fit(rows)\n"
    ),
    "call": Way(
        "WORK\nclass Net(keras.Model):\n    def call(self, x):\n        return work(x)\n"
        "model = Net()\nmodel.compile('sgd', 'mse')\nmodel.fit(rows, rows)\n"
    ),
    "layer called": Way(
        "WORK\nclass Scale(keras.layers.Layer):\n    def call(self, x):\n        return work(x)\n",
        silent=("TFG104",),  # called eagerly it has values to read
    ),
    "loss": Way("WORK\ndef loss(y, p):\n    return work(y - p)\nnet.compile('sgd', loss=loss)\nnet.fit(rows, rows)\n"),
    "loss object": Way(
        "WORK\nclass Loss(keras.losses.Loss):\n    def call(self, y, p):\n        return work(y - p)\n"
        "net.compile('sgd', loss=Loss())\nnet.fit(rows, rows)\n"
    ),
    "metric": Way(
        "WORK\nclass Score(keras.metrics.Metric):\n    def update_state(self, y_true, y_pred, sample_weight=None):\n"
        "        self.total = work(y_true - y_pred)\n"
        "net.compile('sgd', 'mse', metrics=[Score()])\nnet.fit(rows, rows)\n"
    ),
    "Lambda": Way(
        "WORK\nmodel = keras.Sequential([keras.layers.Lambda(work)])\nmodel.compile('sgd', 'mse')\nmodel.fit(rows, rows)\n",
    ),
    "thirty callers": Way("WORK\n" + INSIDE.format("return work(x)") + "\nwork(rows[0])" * 30),
    "callback hook": Way(
        "WORK\nclass Log(keras.callbacks.Callback):\n    def on_train_batch_end(self, batch, logs=None):\n"
        "        work(tf.constant([1.0]))\nnet.fit(rows, rows, callbacks=[Log()])\n",
        silent=("all",),
    ),
    "numpy_function": Way("WORK\n" + INSIDE.format("return tf.numpy_function(work, [x], tf.float32)"), silent=("all",)),
    "py_function": Way("WORK\n" + INSIDE.format("return tf.py_function(work, [x], tf.float32)"), silent=("all",)),
    "from_generator": Way(
        "WORK\ndef numbers():\n    yield work(3.0)\ntf.data.Dataset.from_generator(numbers, output_types=tf.float32)\n",
        silent=("all",),
    ),
    "eager": Way("WORK\nwork(tf.constant([1.0]))", silent=("all",)),
    "eager map": Way("WORK\nlist(map(work, [tf.constant([1.0])]))\n" + INSIDE.format("return x"), silent=("all",)),
}

_HEADS = {
    "WORK": "def work(item, extra=1):",
    "METHOD": "def work(self, item, extra=1):",
    "CALL": "def __call__(self, item, extra=1):",
    "MANGLED": "def __work(self, item, extra=1):",
    "CLASS": "def work(cls, item, extra=1):",
}


def written(text: str, line: Line) -> str:
    """A program text with the function of a rule where a placeholder stands for it."""
    result = []
    for row in text.splitlines():
        indent, word = row[: len(row) - len(row.lstrip())], row.strip()
        if word == "WORK" and indent and "@staticmethod" not in (result[-1] if result else ""):
            word = "METHOD"
        if word in _HEADS:
            result.append(indent + _HEADS[word])
            result.append(textwrap.indent(line.body.strip(), indent + "    "))
        else:
            result.append(row.replace("ITEMS", line.items))
    return "\n".join(result) + "\n"


def outcome(way: Way, line: Line, folder: Path) -> bool:
    """Whether a rule reports its line when the function is reached in a way."""
    named = {name: HEAD + written(text, line) for name, text in way.others.items()}
    for name, text in named.items():
        (folder / name).write_text(text)
    main = HEAD + written(way.main, line)
    places = {f"{line.code} {name}": text for name, text in named.items()} | {line.code: main}
    reported = found(main, folder)
    return any(code in places and places[code].splitlines()[row - 1].endswith("# here") for code, row in reported)


def expected(way: Way, line: Line) -> bool:
    """Whether a rule must report its line when the function is reached in a way."""
    return "all" not in way.silent and line.code not in way.silent


def cells(ways: dict[str, Way], lines: list[Line]) -> list[object]:
    """Each way with each rule that can be reached by it."""
    return [
        pytest.param(way, line, id=f"{line.code}-{name}")
        for name, way in ways.items()
        for line in lines
        if line.code not in way.raising
    ]


@pytest.mark.slow
@pytest.mark.parametrize(("way", "line"), cells(LOOPS, REPEATED))
def test_a_function_that_a_loop_runs(way: Way, line: Line, tmp_path: Path) -> None:
    assert outcome(way, line, tmp_path) is expected(way, line)


@pytest.mark.slow
@pytest.mark.parametrize(("way", "line"), cells(TRACES, TRACED))
def test_a_function_that_is_traced(way: Way, line: Line, tmp_path: Path) -> None:
    assert outcome(way, line, tmp_path) is expected(way, line)


BODIES = {
    "TFG206": ("rows", "print(model.predict(item[None]))"),
    "TFG207": ("data", "print(model(item))"),
    "TFG214": ("range(3, 900)", "print(float(model(np.ones((1, item)))[0, 0]))"),
    "TFG215": ("data", "print(model.predict(item))"),
}


@pytest.mark.parametrize("is_other_each_time", [False, True], ids=["one model", "a model each"])
@pytest.mark.parametrize("code", BODIES)
def test_a_loop_in_a_function_with_thirty_callers(code: str, is_other_each_time: bool, tmp_path: Path) -> None:
    """Protects a notebook's cells that call `generate(model, seed)` again and again: one model each is a model."""
    items, body = BODIES[code]
    made = 'net = keras.models.load_model("{0}.keras")\n' if is_other_each_time else ""
    calls = "".join(f"{made.format(number)}generate(net, {items})\n" for number in range(30))
    program = f"{HEAD}def generate(model, items):\n    for item in items:\n        {body}\n{calls}"
    assert code in {reported for reported, _ in found(program, tmp_path)}
