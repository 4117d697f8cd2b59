"""Protects the one account of when code runs: which calls an iteration runs, how deep, by whom, eagerly, and on data."""

from __future__ import annotations

from pathlib import Path

import pytest
from checks import found, model_of

from tflint_gpu.model import Construction, ExecutionContexts, Invocation, Invocations, Strategies, TrainingSteps
from tflint_gpu.rule import Rule, load

HEAD = """import numpy as np
import tensorflow as tf
from tensorflow import keras

net = keras.Sequential([keras.layers.Dense(1)])
optimizer = keras.optimizers.SGD()
data = tf.data.Dataset.from_tensor_slices((np.zeros((200, 2)), np.zeros((200, 1)))).batch(4)
"""
TAPE = """    with tf.GradientTape() as tape:
        loss = tf.reduce_mean(net(x) - y)
    optimizer.apply_gradients(zip(tape.gradient(loss, net.trainable_variables), net.trainable_variables))
"""


def chain(depth: int) -> str:
    """Functions that call each other, the last one with a step of training, and a loop that calls the first."""
    middle = "".join(f"def f{n}(x, y):\n    f{n + 1}(x, y)\n" for n in range(1, depth))
    return f"{HEAD}def f{depth}(x, y):\n{TAPE}{middle}for x, y in data:\n    f1(x, y)\n"


@pytest.mark.parametrize("depth", [1, 4, 6, 8])
def test_a_step_many_calls_deep_is_seen(depth: int, tmp_path: Path) -> None:
    model = model_of(chain(depth), tmp_path)
    (step,) = model.once(TrainingSteps).eager
    assert len(step.path) == depth and not model.inference.bounds_met


def test_a_call_many_files_away_is_seen(tmp_path: Path) -> None:
    """Protects chains of files of which only the last one predicts: what is between has no word of it."""
    for number in range(2):
        code = f"import part{number + 1}\ndef go(row):\n    return part{number + 1}.go(row)\n"
        (tmp_path / f"part{number}.py").write_text(code)
    (tmp_path / "part2.py").write_text(f"{HEAD}def go(row):\n    return net.predict(row[None])\n")
    code = f"{HEAD}import part0\nfor row in np.load('rows.npy'):\n    print(part0.go(row))\n"
    assert ("TFG206 part2.py", 9) in found(code, tmp_path)


def test_what_lies_deeper_is_said_to_be_unknown(tmp_path: Path) -> None:
    """Protects `check --verbose`, which lists every bound that was met."""
    model = model_of(chain(9), tmp_path)
    assert model.once(TrainingSteps).eager == []
    assert any("nested calls" in bound.what for bound in model.inference.bounds_met)


AGENTS = """
class Actor:
    def __init__(self):
        self.net, self.optimizer = keras.Sequential([keras.layers.Dense(1)]), keras.optimizers.Adam()
    def learn(self, x, y):
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean(self.net(x) - y)
        self.optimizer.apply_gradients(zip(tape.gradient(loss, self.net.variables), self.net.variables))

class Critic:
    def __init__(self):
        self.net, self.optimizer = keras.Sequential([keras.layers.Dense(1)]), keras.optimizers.Adam()
    def learn(self, x, y):
        with tf.GradientTape() as one, tf.GradientTape() as two:
            loss = tf.reduce_mean(self.net(x) - y)
        self.optimizer.apply_gradients(zip(one.gradient(loss, self.net.variables), self.net.variables))

class Agent:
    def __init__(self):
        self.actor, self.critic = Actor(), Critic()
    def train(self):
        for x, y in data:
            self.actor.learn(x, y)
            self.critic.learn(x, y)

Agent().train()
"""


def rule(code: str) -> Rule:
    return load([code])[0]


def test_each_eager_step_of_a_loop_is_reported_where_it_is(tmp_path: Path) -> None:
    """Protects who fixes the first agent from never hearing of the second; tapes of one function are one step."""
    model = model_of(HEAD + AGENTS, tmp_path)
    lines = [model.file.source.row(model.file.span(f.node)[0]) for f in rule("TFG202").check(model)]
    text = (HEAD + AGENTS).splitlines()
    assert [text[line - 1].strip() for line in sorted(lines)] == [
        "with tf.GradientTape() as tape:",
        "with tf.GradientTape() as one, tf.GradientTape() as two:",
    ]


def test_the_experiment_of_each_step_repairs_that_step(tmp_path: Path) -> None:
    """Protects a step's share of the time: `verify` joins the repairs of a loop itself (tests/verify/test_joining.py)."""
    model = model_of(HEAD + AGENTS, tmp_path)
    repaired = []
    for finding in rule("TFG202").check(model):
        (experiment,) = rule("TFG202").experiments(finding, model)
        (change,) = experiment.repair
        assert experiment.user_edits == (change,)
        repaired.append(model.file.tree.class_of(change.node).name.value)  # type: ignore
    assert sorted(repaired) == ["Actor", "Critic"]


PENALTY = """
def penalty(x):
    with tf.GradientTape() as inner:
        inner.watch(x)
        score = net(x)
    gradients = inner.gradient(score, x)
    return tf.reduce_mean(tf.norm(gradients, axis=1))

for x, y in data:
    with tf.GradientTape() as tape:
        loss = tf.reduce_mean(net(x) - y) + penalty(x)
    optimizer.apply_gradients(zip(tape.gradient(loss, net.variables), net.variables))
"""


def test_a_tape_within_a_tape_is_no_step_of_its_own(tmp_path: Path) -> None:
    """Protects gradient penalties: their gradients go into the loss, and are traced with its step."""
    (step,) = model_of(HEAD + PENALTY, tmp_path).once(TrainingSteps).eager
    assert step.path == ()


BLOCKS = """
class Attention(keras.layers.Layer):
    def __init__(self, dim):
        super().__init__()
        self.project = keras.layers.Dense(dim)
    def call(self, x):
        return self.project(x)

def block(x, dim, shared=None):
    x = shared(x) if shared is not None else Attention(dim)(x)
    return keras.layers.LayerNormalization()(x)
"""
BUILDER = """
def network(dims=(32, 64, 128), depths=[1, 2, 2], inputs=None, **options):
    shared = Attention(8)
    x = keras.Input((16,)) if inputs is None else inputs
    for index, (depth, dim) in enumerate(zip(depths, dims)):
        for _ in range(depth):
            x = block(x, dim, shared=shared)
    return keras.Model(inputs, x)
"""


def test_a_loop_that_builds_a_network_is_no_loop_over_data(tmp_path: Path) -> None:
    assert found(HEAD + BLOCKS + BUILDER, tmp_path) == set()


def test_a_network_built_by_helpers_of_another_file(tmp_path: Path) -> None:
    (tmp_path / "blocks.py").write_text(f"from tensorflow import keras\n{BLOCKS}")
    code = f"from tensorflow import keras\nfrom blocks import Attention, block\n{BUILDER}\nnetwork(num_layers=3)\n"
    assert {finding for finding in found(code, tmp_path) if "TFG207" in finding[0] or "TFG214" in finding[0]} == set()


def test_a_layer_on_a_symbol_computes_nothing(tmp_path: Path) -> None:
    """Protects networks whose loop only calls what was made before it."""
    code = (
        HEAD
        + BLOCKS
        + (
            "def head(x, scales):\n    layer = Attention(4)\n    outs = []\n"
            "    for scale in scales:\n        outs.append(layer(x))\n    return outs\n"
            "entry = keras.Input((16,))\nkeras.Model(entry, head(entry, load()))\n"
        )
    )
    assert not {finding for finding in found(code, tmp_path) if finding[0] in ("TFG207", "TFG214")}


def test_a_loop_over_batches_that_runs_a_network_still_counts(tmp_path: Path) -> None:
    """Protects the finding itself: a network that was built before is run by the loop, which builds nothing."""
    code = (
        HEAD
        + BLOCKS
        + "entry = keras.Input((2,))\nwhole = keras.Model(entry, Attention(4)(entry))\n"
        + ("for x, y in data:\n    print(tf.reduce_mean(whole(x)))\n")
    )
    assert "TFG207" in {rule for rule, _ in found(code, tmp_path)}
    loop = model_of(code, tmp_path).file.tree.loops[-1]
    model = model_of(code, tmp_path)
    assert not model.once(Construction).builds(model.file, model.file.tree.loops[-1]) and loop is not None


def runs(code: str, folder: Path) -> list[Invocation]:
    model = model_of(code, folder)
    return list(model.once(Invocations).eager(model.file, model.file.tree.loops[-1]))


def test_what_is_evaluated_once_is_no_part_of_an_iteration(tmp_path: Path) -> None:
    """Protects the head of a loop, and its `else`."""
    code = f"{HEAD}def load():\n    return data\nfor x, y in load():\n    print(x)\nelse:\n    print(y)\n"
    assert [invocation.file.code(invocation.call) for invocation in runs(code, tmp_path)] == ["print(x)"]


def test_each_call_knows_how_it_is_reached(tmp_path: Path) -> None:
    code = "def inner(z):\n    return abs(z)\ndef outer(z):\n    return inner(z)\nfor x in range(99):\n    outer(x)\n"
    last = runs(code, tmp_path)[-1]
    assert last.file.code(last.call) == "abs(z)"
    assert [frame.text for frame in last.path] == ["calls `outer`", "calls `inner`"]
    assert last.file.code(last.entry) == "outer(x)" and [function.name for function in last.functions] == [
        "outer",
        "inner",
    ]


def test_functions_that_call_each_other_end(tmp_path: Path) -> None:
    code = "def ping(n):\n    pong(n)\ndef pong(n):\n    ping(n)\nfor x in range(99):\n    ping(x)\n"
    assert [invocation.file.code(invocation.call) for invocation in runs(code, tmp_path)] == [
        "ping(x)",
        "pong(n)",
        "ping(n)",
    ]


ITERATED = {
    "configuration": "for width in (8, 16):\n    x = keras.layers.Dense(width)(keras.Input((4,)))",
    "requests": "while True:\n    net(queue.get())",
    "episodes": "for _ in range(90):\n    state = env.reset()\n    while not done:\n        state, done = env.step(net(state))",
    "steps of an environment": "while not done:\n    state, done = env.step(net(state))",
    "frames": "import cv2\nvideo = cv2.VideoCapture(0)\nwhile True:\n    net(video.read()[1])",
    "epochs": "def step(x, y):\n{tape}for number in range(90):\n    for x, y in data:\n        step(x, y)",
    "dataset": "for x, y in data:\n    net(x)",
    "batches": "def chunks(n):\n    while n:\n        yield np.zeros((n, 2))\nfor x in chunks(9):\n    net(x)",
    "numbers": "for number in range(90):\n    net(np.zeros((1, number)))",
    "elements": "for name in names:\n    net(load(name))",
    "elements, each of them learned from": "net.compile(loss='mse')\nfor before, after in random.sample(memory, 32):\n"
    "    net.fit(before, net.predict(after))",
    "elements, each of them a setting": "for rate in (0.1, 0.01, 0.001):\n    net.compile(keras.optimizers.SGD(rate))\n    net.fit(x, y)",
    "epochs, counted by tqdm": "from tqdm import tqdm\nfor _ in tqdm(range(90)):\n    net.fit(x, y)",
    "epochs, by their name": "for epoch in schedule:\n    net.fit(x, y)",
    "epochs, until something holds": "while not converged(net):\n    net.fit(x, y)",
    "a condition": "while error > 1e-3:\n    error = net(error)",
}


@pytest.mark.parametrize("iterated", ITERATED)
def test_a_loop_knows_what_it_goes_over(iterated: str, tmp_path: Path) -> None:
    model = model_of(HEAD + ITERATED[iterated].replace("{tape}", TAPE), tmp_path)
    loop = next(loop for loop in model.file.tree.loops if model.file.tree.function(loop) is None)
    assert model.once(ExecutionContexts).of_loop(model.file, loop).iterated == iterated.partition(",")[0]


def test_a_call_knows_all_ways_on_which_it_is_run(tmp_path: Path) -> None:
    code = (
        "def forward(x):\n    return net(x)\n@tf.function\ndef fast(x):\n    return forward(x)\n"
        "for number in range(30):\n    for x, y in data:\n        forward(x)\nfor x in range(7):\n    fast(x)\nforward(data)\n"
    )
    model = model_of(HEAD + code, tmp_path)
    (call,) = (c for c in model.file.tree.calls if model.file.code(c) == "net(x)")
    ways = model.once(ExecutionContexts).of(model.file, call)
    assert sorted((way.mode, [loop.iterated for loop in way.loops], way.least_runs, len(way.path)) for way in ways) == [
        ("eager", [], 1, 1),
        ("eager", ["numbers", "dataset"], 30, 1),
        ("traced", ["numbers"], 7, 2),
    ]


def test_a_call_knows_on_which_side_of_a_strategy_each_way_runs(tmp_path: Path) -> None:
    code = (
        "several = tf.distribute.MirroredStrategy()\ndef forward(x):\n    return net(x)\n"
        "def train():\n    for x in range(5):\n        forward(x)\n"
        "with several.scope():\n    train()\nfor x in range(7):\n    forward(x)\n"
        "def unused(x):\n    forward(x)\n"
    )
    model = model_of(HEAD + code, tmp_path)
    (call,) = (c for c in model.file.tree.calls if model.file.code(c) == "net(x)")
    ways = model.once(ExecutionContexts).of(model.file, call)
    assert sorted((way.strategy, way.least_runs) for way in ways) == [("inside", 5), ("outside", 7), ("unknown", 1)]


SIDES = {  # on which side `net(x)` runs
    "many calls in a scope": (
        "def use(x):\n    return net(x)\nwith several.scope():\n" + "    use(1)\n" * 12,
        "inside",
    ),
    "many calls outside": ("def use(x):\n    return net(x)\n" + "use(1)\n" * 12, "outside"),
    "one of many outside": (
        "def use(x):\n    return net(x)\nuse(0)\nwith several.scope():\n" + "    use(1)\n" * 12,
        "unknown",
    ),
    "functions in a circle": (
        "def ping(x):\n    pong(x)\n    return net(x)\ndef pong(x):\n    ping(x)\n"
        "with several.scope():\n    ping(1)\npong(1)\n",
        "unknown",
    ),
    "a function that makes its own strategy": (
        "def use(x):\n    own = tf.distribute.MirroredStrategy()\n    net(x)\n    with own.scope():\n        pass\n",
        "outside",
    ),
    "a decorator that may enter one": ("@distributed\ndef use(x):\n    net(x)\nuse(1)\n", "unknown"),
}


@pytest.mark.parametrize("case", SIDES)
def test_a_side_holds_on_every_way(case: str, tmp_path: Path) -> None:
    """Protects functions that many places call, and that call each other: each way counts, however many there are."""
    code, side = SIDES[case]
    model = model_of(f"{HEAD}from own import distributed\nseveral = tf.distribute.MirroredStrategy()\n{code}", tmp_path)
    (call,) = (c for c in model.file.tree.calls if model.file.code(c) == "net(x)")
    assert model.once(Strategies).side(model.file, call) == side


def test_a_circle_is_asked_again_where_it_was_taken_for_granted(tmp_path: Path) -> None:
    """Protects what was found for one function of a circle from what was only supposed of the others."""
    code = (
        "def ping(x):\n    pong(x)\n    return net(x)\ndef pong(x):\n    ping(x)\n    return abs(x)\n"
        "with several.scope():\n    pong(1)\nping(1)\n"
    )
    model = model_of(f"{HEAD}several = tf.distribute.MirroredStrategy()\n{code}", tmp_path)
    calls = {model.file.code(call): call for call in model.file.tree.calls}
    sides = [model.once(Strategies).side(model.file, calls[text]) for text in ("net(x)", "abs(x)")]
    assert sides == ["unknown", "unknown"]


TRAINER = """import abc
import typing
import tensorflow as tf
from tensorflow import keras
from elsewhere import Loop

class Named(object):
    def name(self):
        return "trainer"

class Hooked({hook_base}):
    def run_all(self, batches):
        raise NotImplementedError

class Fitting({base}):
    def prepare(self, net):
        self.net, self.rule = net, keras.optimizers.Adam()

    def run_all(self, batches):
        for x, y in batches:
            with tf.GradientTape() as tape:
                loss = tf.reduce_mean(self.net(x) - y)
            self.rule.apply_gradients(zip(tape.gradient(loss, self.net.variables), self.net.variables))
"""


@pytest.mark.parametrize(
    "base",
    ["object", "Named", "abc.ABC", "typing.Protocol", "keras.Model", "tf.Module", "keras.callbacks.Callback", "Hooked"],
)
def test_a_class_that_nobody_makes_runs_its_loops_as_they_stand(base: str, tmp_path: Path) -> None:
    """Protects trainers of libraries: no base class that can be read, or that is known, traces their methods."""
    assert ("TFG202", 21) in found(TRAINER.format(base=base, hook_base="Named"), tmp_path)


@pytest.mark.parametrize(("base", "hook_base"), [("Loop", "object"), ("Hooked", "tf.Module"), ("Hooked", "Loop")])
def test_a_base_class_that_cannot_be_read_may_trace_a_method(base: str, hook_base: str, tmp_path: Path) -> None:
    """Protects silence where a base outside of the project, or one that names the method, may put it under a trace."""
    assert found(TRAINER.format(base=base, hook_base=hook_base), tmp_path) == set()
