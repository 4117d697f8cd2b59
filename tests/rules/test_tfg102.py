"""TFG102: what Python draws while TensorFlow traces is found; seeds, constants and code that runs again are not."""

from __future__ import annotations

from pathlib import Path

import pytest
from checks import codes, findings, fixed, found, notebook

HEAD = """
import datetime
import random
import time
import numpy as np
import tensorflow as tf
from tensorflow import keras
"""
CALL = "class Net(keras.layers.Layer):\n    def call(self, x, training=False):\n"
STEP = "@tf.function\ndef step(x):\n"
FROZEN = {
    "NumPy in call": CALL + "        return x + np.random.normal()",
    "random in call": CALL + "        if random.random() < 0.5:\n            x = x[::-1]\n        return x",
    "in training only": CALL + "        if training:\n            x = x + np.random.rand(4)\n        return x",
    "choice in train_step": "class M(keras.Model):\n    def train_step(self, data):\n"
    "        k = np.random.choice(4)\n        return self.run(data, k)",
    "time in a tf.function": STEP + "    now = time.time()\n    return x + now",
    "timeit's clock in a tf.function": "import timeit\n"
    + STEP
    + "    now = timeit.default_timer()\n    return x + now",
    "date in a tf.function": STEP + "    tf.print(datetime.datetime.now().second)\n    return x",
    "imported function": "from random import randint\n" + STEP + "    return x * randint(0, 3)",
    "passed to tf.function": "def step(x):\n    return x + np.random.uniform()\nfast = tf.function(step)",
    "helper without tensors": "def noise(n):\n    return np.random.normal(size=n)\n"
    + CALL
    + "        return x + noise(4)",
    "helper method": "class Net(keras.layers.Layer):\n    def noise(self):\n        return np.random.randn(4)\n"
    "    def call(self, x):\n        return x + self.noise()",
    "a method of one of several objects": "class Noisy(keras.optimizers.SGD):\n    def directions(self, x):\n"
    "        return x * np.random.normal()\ndef train(kind):\n    if kind == 'noisy':\n        optimizer = Noisy(0.1)\n"
    "    elif kind == 'adam':\n        optimizer = keras.optimizers.Adam()\n    @tf.function\n    def step(x):\n"
    "        if kind == 'noisy':\n            x = optimizer.directions(x)\n        return x\n    return step",
    "generator of the layer": "class Net(keras.layers.Layer):\n    def __init__(self):\n        super().__init__()\n"
    "        self.rng = np.random.default_rng(1)\n    def call(self, x):\n        return x + self.rng.normal(size=4)",
    "generator of the module": "RNG = np.random.RandomState(0)\n" + STEP + "    return x + RNG.uniform()",
    "generator made here without a seed": STEP + "    source = np.random.RandomState()\n    return x + source.normal()",
    "reseeded with nothing": STEP + "    np.random.seed(None)\n    return x * np.random.rand()",
    "reseeded by itself": STEP + "    random.seed()\n    return x * random.gauss(0, 1)",
    "loss function": "def loss(y, p):\n    return tf.abs(y - p) * np.random.rand()\n"
    "model = keras.Sequential()\nmodel.compile(optimizer='sgd', loss=loss)",
    "Lambda layer": "layer = keras.layers.Lambda(lambda x: x + np.random.normal())",
    "branch of tf.cond": STEP + "    return tf.cond(x > 0, lambda: x + np.random.normal(), lambda: x)",
    "seed of a stateless operation": STEP
    + "    return tf.random.stateless_normal([4], seed=[np.random.randint(9), 0])",
    "parameter that is not given": "@tf.function\ndef step(x, noise=None):\n    if noise is None:\n"
    "        noise = np.random.normal()\n    return x + noise",
    "shuffled list": STEP + "    order = [0, 1, 2]\n    random.shuffle(order)\n    return tf.gather(x, order)",
    "after an early exit for what is switched off": "class Net(keras.layers.Layer):\n    def call(self, x):\n"
    "        if self.rate == 0.0 or not self.kinds or self.kinds is None:\n            return x\n"
    "        return x * random.choice(self.kinds)",
    "the branch of TensorFlow": CALL
    + "        if backend == 'torch':\n            return x\n        return x + np.random.normal()",
    "own base class": "class Base(keras.Model):\n    pass\nclass Net(Base):\n    def call(self, x):\n"
    "        return x * np.random.binomial(1, 0.5)",
}
SEEDS_EACH_CALL = "outside = np.random.default_rng(1)\ndef draw():\n    return outside.integers(9)\n" + CALL
NOT_FROZEN = {
    "a seed that a helper draws and others get": "def new_seed():\n    return random.randrange(2 ** 31)\n"
    "class Noisy(keras.layers.Layer):\n    def call(self, x, op_seed=None):\n        if op_seed is None:\n"
    "            op_seed = new_seed()\n        return self.noise(x, op_seed)\n"
    "    def noise(self, x, op_seed):\n        return x + tf.random.normal((4,), seed=op_seed)",
    "a generator that gives seeds": CALL
    + "        rng = outside\n        def draw():\n            return rng.integers(9)\n"
    "        return x + tf.random.uniform((4,), seed=draw())\noutside = np.random.default_rng(1)",
    "a lambda that gives seeds": "outside = np.random.default_rng(1)\n"
    + CALL
    + "        draw = lambda: outside.integers(9)\n        return x * tf.random.normal((4,), seed=draw())",
    "TensorFlow's own": CALL + "        return x + tf.random.normal(tf.shape(x))",
    "Keras's own": CALL + "        return x + keras.random.normal((4,))",
    "in __init__": "class Net(keras.layers.Layer):\n    def __init__(self):\n        self.table = np.random.normal(size=4)\n"
    "    def call(self, x):\n        return x + self.table",
    "in build": "class Net(keras.layers.Layer):\n    def build(self, shape):\n        self.table = np.random.rand(4)\n"
    "    def call(self, x):\n        return x * self.table",
    "eager function": "def step(x):\n    return x + np.random.normal()\nstep(1)",
    "loop around a traced step": STEP + "    return x\nfor i in range(9):\n    start = time.time()\n"
    "    step(tf.constant(np.random.normal()))\n    print(time.time() - start)",
    "method of a Keras model that is not traced": "class Agent(keras.Model):\n    def call(self, x):\n        return x\n"
    "    def act(self, x):\n        return random.random() if random.random() < 0.1 else self(x)",
    "mapped function": "def augment(x):\n    return x + np.random.normal()\nds = tf.data.Dataset.range(9).map(augment)",
    "mapped tf.function": "@tf.function\ndef augment(x):\n    return x + np.random.normal()\n"
    "ds = tf.data.Dataset.range(9).map(augment)",
    "numpy_function": "def draw(x):\n    return x + np.random.normal()\n"
    + STEP
    + "    return tf.numpy_function(draw, [x], tf.float32)",
    "seeded, so meant to be constant": CALL
    + "        np.random.seed(0)\n        return x @ np.random.normal(size=(4, 4))",
    "seeded generator made here": CALL
    + "        rng = np.random.RandomState(42)\n        return x @ rng.normal(size=(4, 4))",
    "once": CALL
    + "        if self.table is None:\n            self.table = np.random.normal(size=4)\n        return x + self.table",
    "once, after an early exit": CALL
    + "        if self.table is not None or 'x' in self.tables:\n            return x + self.table\n"
    "        self.table = np.random.rand(4)\n        return x",
    "once, by hasattr": CALL + "        if not hasattr(self, 'table'):\n            self.table = np.random.rand(4)\n"
    "        return x + self.table",
    "seed of an operation": STEP + "    return tf.random.normal([4], seed=np.random.randint(99))",
    "init_scope": STEP + "    with tf.init_scope():\n        seed = np.random.randint(9)\n    return x",
    "run eagerly": CALL + "        return x + np.random.normal()\nmodel = keras.Sequential([Net()])\n"
    "model.compile(optimizer='sgd', loss='mse', run_eagerly=True)",
    "functions run eagerly": "tf.config.run_functions_eagerly(True)\n" + CALL + "        return x + np.random.normal()",
    "symbolic size, which raises": CALL + "        return x + np.random.normal(size=tf.shape(x))",
    "default of a parameter": "class Net(keras.layers.Layer):\n    def call(self, x, seed=np.random.randint(9)):\n        return x",
    "callback": "class Clock(keras.callbacks.Callback):\n    def on_epoch_begin(self, epoch, logs=None):\n"
    "        self.start = time.time()",
    "own random module": "import mylib.random as random\n" + STEP + "    return x + random.random()",
    "plain class": "class Env:\n    def call(self, x):\n        return x + random.random()",
    "a branch for plain Python": "from backend import in_tf_function\nclass Mask(keras.layers.Layer):\n"
    "    def call(self, x):\n        if not self.python or in_tf_function():\n            return self.in_graph(x)\n"
    "        else:\n            return self.in_python(x)\n"
    "    def in_python(self, x):\n        return random.random()",
    "a step called with a number that grows": "@tf.function\ndef step(x):\n    return x\nn = 1\n"
    "for _ in range(9):\n    n = n + n\n    step(n)\nstart = time.time()",
    "torch": "import torch\nclass Net(torch.nn.Module):\n    def call(self, x):\n        return x + np.random.normal()",
    "another backend": "import os\nos.environ['KERAS_BACKEND'] = 'torch'\n"
    + CALL
    + "        return x + np.random.normal()",
    "the branch of another framework": "class Net(keras.layers.Layer):\n    def call(self, x):\n"
    "        if self.kind != 'tensorflow':\n            return x + random.random()\n        return x + tf.random.uniform([])",
    "the branch after that of TensorFlow": CALL
    + "        if backend == 'TF':\n            y = tf.random.uniform([])\n        else:\n            y = random.random()\n"
    "        return x * y",
    "only sleeping": CALL + "        time.sleep(0.1)\n        return x",
    "inner eager function that is returned": "def make():\n    def draw():\n        return random.random()\n    return draw",
    "decorator that may move it to the host": "from elsewhere import on_host\n"
    "class Net(keras.layers.Layer):\n    @on_host\n    def call(self, x):\n        return x + np.random.normal()",
}


def _table(cases: dict[str, str]) -> pytest.MarkDecorator:
    return pytest.mark.parametrize("code", cases.values(), ids=cases.keys())


@_table(FROZEN)
def test_a_frozen_value_is_found(code: str, tmp_path: Path) -> None:
    """Protects recall: draws and clocks, directly and through helpers."""
    assert codes(HEAD + code, tmp_path) == ["TFG102"]


@_table(NOT_FROZEN)
def test_other_values_are_not_found(code: str, tmp_path: Path) -> None:
    """Protects precision: values that are meant to be constant, or that are drawn again."""
    assert "TFG102" not in codes(HEAD + code, tmp_path)


def test_a_helper_in_another_file_is_found_there(tmp_path: Path) -> None:
    (tmp_path / "noise.py").write_text("import numpy as np\n\ndef noise(n):\n    return np.random.normal(size=n)\n")
    code = "import tensorflow as tf\nfrom noise import noise\n@tf.function\ndef step(x):\n    return x + noise(4)\n"
    assert found(code, tmp_path) == {("TFG102 noise.py", 4)}


def test_a_function_that_another_file_makes_is_followed(tmp_path: Path) -> None:
    """Protects `tf.function(build(...))`, where the function and the file that has it traced are two files."""
    (tmp_path / "steps.py").write_text(
        "import random\nimport tensorflow as tf\n\ndef build(net):\n    def one(x):\n        return net(x) * random.random()\n    return one\n"
    )
    code = "import tensorflow as tf\nfrom steps import build\nnet = tf.keras.Sequential()\nstep = tf.function(build(net))\n"
    assert found(code, tmp_path) == {("TFG102 steps.py", 6)}


def test_a_helper_that_knows_nothing_of_tensorflow_is_followed(tmp_path: Path) -> None:
    """Protects helpers in files without a word of TensorFlow or NumPy."""
    (tmp_path / "noise.py").write_text("import random\n\ndef louder(x):\n    return x * random.random()\n")
    code = (
        "import tensorflow as tf\nfrom noise import louder\n@tf.function\ndef step(x):\n    return tf.exp(louder(x))\n"
    )
    assert found(code, tmp_path) == {("TFG102 noise.py", 4)}


def test_an_object_of_another_file_is_followed(tmp_path: Path) -> None:
    """Protects methods that a step, which a strategy runs in a `tf.function`, calls on an object that it is given."""
    (tmp_path / "warping.py").write_text(
        "import random\nimport tensorflow as tf\n\nclass Warp:\n    def __init__(self, kinds, chance):\n"
        "        self.kinds, self.chance = kinds, tf.constant(chance)\n    def over(self, x):\n"
        "        if self.chance == 0.0 or not self.kinds or random.random() < self.chance:\n            return x\n"
        "        return self.by(x, random.choice(self.kinds))\n"
    )
    code = (
        "import tensorflow as tf\nimport warping\ndef train(strategy, warp, data):\n    @tf.function\n"
        "    def step(iterator):\n        def inner(x):\n            return warp.over(x)\n"
        "        strategy.run(inner, args=(next(iterator),))\n    step(iter(data))\nwarp = None\nif flag:\n"
        "    warp = warping.Warp(['a', 'b'], 0.5)\ntrain(tf.distribute.get_strategy(), warp, data)\n"
    )
    assert found(code, tmp_path) == {("TFG102 warping.py", 8), ("TFG102 warping.py", 10)}


def test_a_notebook_is_read(tmp_path: Path) -> None:
    text = "import random\nimport tensorflow as tf\n@tf.function\ndef f(x):\n    return x + random.random()"
    assert {code for code, _ in found(notebook(text), tmp_path, "x.ipynb")} == {"TFG102"}


def test_the_way_to_a_helper_is_reported(tmp_path: Path) -> None:
    ((_, finding),) = findings(HEAD + FROZEN["helper without tensors"], tmp_path)
    assert [note.message for note in finding.notes] == ["called from `call`"]


def test_the_help_names_the_counterpart(tmp_path: Path) -> None:
    helps = {
        name: findings(HEAD + FROZEN[name], tmp_path)[0][1].help for name in ("NumPy in call", "time in a tf.function")
    }
    assert helps == {
        "NumPy in call": "draw in the graph: `tf.random.normal`",
        "time in a tf.function": "measure outside of the traced function, or use `tf.timestamp()`",
    }


def test_python_runs_once() -> None:
    """Protects the rule's claim, with the installed TensorFlow."""
    tf = pytest.importorskip("tensorflow")
    import random

    class Noise(tf.keras.layers.Layer):
        def call(self, inputs):  # type: ignore[no-untyped-def]
            return inputs + random.random()

    model = tf.keras.Sequential([Noise()])
    values = model.predict(tf.zeros((4, 1)), batch_size=1, verbose=0)
    again = model.predict(tf.zeros((4, 1)), batch_size=1, verbose=0)
    assert len({float(value) for value in (*values[:, 0], *again[:, 0])}) == 1


def test_a_seed_of_what_draws_nothing_by_itself_is_frozen(tmp_path: Path) -> None:
    """Protects the stateless operations: the same seed gives the same numbers in every step."""
    stateless = "        return x + tf.random.stateless_normal((4,), seed=[draw(), 1])"
    assert "TFG102" in codes(HEAD + SEEDS_EACH_CALL + stateless, tmp_path)
    assert "TFG102" not in codes(
        HEAD + SEEDS_EACH_CALL + "        return x + tf.random.normal((4,), seed=draw())", tmp_path
    )


GAME = (
    "import numpy as np\nfrom tensorflow import keras\n\nclass Player(keras.Model):\n    def train_step(self, data=None):\n"
    "        k = np.random.choice(4)\n        return self.run(data, k)\n"
)


@pytest.mark.parametrize(
    ("code", "is_found"),
    [
        ("player = Player()\nfor turn in range(900):\n    player.train_step()\n", False),
        ("player = Player()\nplayer.fit(moves)\n", True),
        ("player = Player()\nplayer.train_step()\nplayer.fit(moves)\n", True),
        ("player = Player()\n@tf.function\ndef step():\n    player.train_step()\nstep()\n", True),
        ("print(Player)\n", True),
    ],
    ids=["called", "fit", "both", "called in a graph", "neither"],
)
@pytest.mark.parametrize("apart", [False, True])
def test_a_step_that_a_program_calls_itself_is_not_traced_by_fit(
    code: str, is_found: bool, apart: bool, tmp_path: Path
) -> None:
    """Protects agents whose models define `train_step` and never meet `fit`: what they draw is another number each time."""
    if not apart:
        assert ("TFG102" in codes("import tensorflow as tf\n" + GAME + code, tmp_path)) == is_found
        return
    (tmp_path / "main.py").write_text("import tensorflow as tf\nfrom player import Player\n" + code, "utf-8")
    assert {rule for rule, _ in found(GAME, tmp_path, "player.py")} == ({"TFG102"} if is_found else set())


@pytest.mark.parametrize(
    "made", ["Shaky(dtype='float64')", "Shaky(dtype=tf.keras.DTypePolicy('mixed_float16'))", "Shaky()"]
)
@pytest.mark.parametrize("noise", ["0.1 * np.random.normal(size=(4,))", "-np.random.rand(4)"])
def test_the_graph_draws_in_what_the_layer_computes(made: str, noise: str, tmp_path: Path) -> None:
    """Protects layers of another dtype than float32, which a tensor of float32 would make raise."""
    tf = pytest.importorskip("tensorflow")
    code = (
        "import numpy as np\nimport tensorflow as tf\n\n\nclass Shaky(tf.keras.layers.Layer):\n"
        f"    def call(self, rows):\n        return rows + {noise}\n\n\nshaky = {made}\n"
    )
    after = fixed(code, tmp_path, "TFG102")
    assert "tf.random." in after
    scope: dict[str, object] = {}
    exec(compile(after, "shaky.py", "exec"), scope)
    shaky = scope["shaky"]
    model = tf.keras.Sequential([tf.keras.Input((4,)), shaky])
    assert model(tf.ones((2, 4))).dtype == shaky.compute_dtype  # type: ignore[attr-defined]


def test_a_constant_is_made_of_no_tensor(tmp_path: Path) -> None:
    """Protects `tf.constant(np.random.rand(2))`, which takes no tensor of a graph: `tf.convert_to_tensor` does."""
    for making, is_fixed in (("tf.constant", False), ("tf.convert_to_tensor", True)):
        code = f"import numpy as np\n{HEAD}{STEP}    return x + {making}(np.random.rand(2))\n"
        ((_, finding),) = [pair for pair in findings(code, tmp_path) if pair[0].code == "TFG102"]
        assert (finding.fix is not None) is is_fixed
