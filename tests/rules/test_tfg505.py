"""TFG505: what is certainly made outside of the scope that its training needs is found; nothing else."""

from __future__ import annotations

from pathlib import Path

import pytest
from checks import NEWEST, codes, findings, found, notebook

from tflint_gpu.targets import Target

KERAS_2 = Target((2, 15), 2, "settings")
HEAD = """
import tensorflow as tf
from tensorflow import keras
from tensorflow.keras import layers

strategy = tf.distribute.MirroredStrategy()
"""
ROWS = HEAD.count("\n")
BUILT = "keras.Sequential([layers.Input((4,)), layers.Dense(1)])"
NET = "class Net(keras.Model):\n    def __init__(self):\n        super().__init__()\n        self.d = layers.Dense(1)\n"
IN = "with strategy.scope():\n    "

OUTSIDE = {  # the row of what makes it, below HEAD
    "compiled inside": (f"model = {BUILT}\n{IN}model.compile('adam', 'mse')\nmodel.fit(x, y)\n", 1),
    "fitted inside": (f"model = {BUILT}\nmodel.compile('adam', 'mse')\n{IN}model.fit(x, y)\n", 1),
    "both inside": (f"model = {BUILT}\n{IN}model.compile('adam', 'mse')\n    model.fit(x, y)\n", 1),
    "never compiled here": (f"model = {BUILT}\nprepare(model)\n{IN}model.fit(x, y)\n", 1),
    "functional": (
        f"i = keras.Input((4,))\nmodel = keras.Model(i, layers.Dense(1)(i))\n{IN}model.compile(loss='mse')\n"
        "model.fit(x, y)\n",
        2,
    ),
    "loaded": (f"model = keras.models.load_model(p)\n{IN}model.compile('sgd', 'mse')\nmodel.fit(x, y)\n", 1),
    "application": (
        f"model = keras.applications.ResNet50(weights=None)\n{IN}model.compile('adam', 'mse')\nmodel.fit(x, y)\n",
        1,
    ),
    "by a function": (
        f"def build():\n    return {BUILT}\nmodel = build()\n{IN}model.compile('adam', 'mse')\nmodel.fit(x, y)\n",
        3,
    ),
    "by a function that compiles": (
        f"def build():\n    m = {BUILT}\n    with strategy.scope():\n        m.compile('adam', 'mse')\n    return m\n"
        "build().fit(x, y)\n",
        2,
    ),
    "as a parameter": (
        "def train(net):\n    with strategy.scope():\n        net.compile('adam', 'mse')\n    net.fit(x, y)\n"
        f"train({BUILT})\n",
        5,
    ),
    "in a class": (
        f"class Trainer:\n    def __init__(self):\n        self.strategy = tf.distribute.MirroredStrategy()\n"
        f"        self.model = {BUILT}\n    def run(self):\n        with self.strategy.scope():\n"
        "            self.model.compile('adam', 'mse')\n        self.model.fit(x, y)\nTrainer().run()\n",
        4,
    ),
    "the scope has a name": (
        f"scope = strategy.scope()\nmodel = {BUILT}\nwith scope:\n    model.compile('adam', 'mse')\nmodel.fit(x, y)\n",
        2,
    ),
    "one of two strategies": (
        f"if one:\n    strategy = tf.distribute.OneDeviceStrategy('/gpu:0')\nmodel = {BUILT}\n{IN}model.compile('adam', 'mse')\n"
        "model.fit(x, y)\n",
        3,
    ),
    "train_on_batch": (f"model = {BUILT}\n{IN}model.compile('adam', 'mse')\nmodel.train_on_batch(x, y)\n", 1),
    "under a device": (
        f"with tf.device('/cpu:0'):\n    model = {BUILT}\n{IN}model.compile('adam', 'mse')\nmodel.fit(x, y)\n",
        2,
    ),
    "a subclass, fitted outside": (f"{NET}model = Net()\n{IN}model.compile('adam', 'mse')\nmodel.fit(x, y)\n", 5),
}
OWN = "    s = tf.distribute.MirroredStrategy()\n"
OUTSIDE |= {
    "a function that nobody calls makes the strategy": (
        f"def train():\n{OWN}    model = {BUILT}\n    with s.scope():\n        model.compile('adam', 'mse')\n    model.fit(x, y)\n",
        3,
    ),
    "by a function that only such a function calls": (
        f"def build():\n    return {BUILT}\ndef train():\n{OWN}    model = build()\n    with s.scope():\n"
        "        model.compile('adam', 'mse')\n    model.fit(x, y)\n",
        5,
    ),
}
OPTIMIZERS = {
    "a method that nobody calls makes the strategy": (
        f"class T:\n    def train(self, x, y):\n    {OWN}        o = keras.optimizers.Adam()\n        with s.scope():\n"
        f"            m = {BUILT}\n            m.compile(optimizer=o, loss='mse')\n        m.fit(x, y)\n",
        4,
    ),
    "an optimizer object": (
        f"o = keras.optimizers.Adam()\n{IN}model = {BUILT}\n    model.compile(o, 'mse')\nmodel.fit(x, y)\n",
        1,
    ),
    "in compile": (f"{IN}model = {BUILT}\nmodel.compile(keras.optimizers.RMSprop(), 'mse')\nmodel.fit(x, y)\n", 3),
    "by its name": (f"{IN}model = {BUILT}\nmodel.compile(optimizer='adam', loss='mse')\nmodel.fit(x, y)\n", 3),
    "the default": (f"{IN}model = {BUILT}\nmodel.compile(loss='mse')\nmodel.fit(x, y)\n", 3),
    "with momentum": (
        f"{IN}model = {BUILT}\nmodel.compile(keras.optimizers.SGD(0.1, momentum=0.9), 'mse')\nmodel.fit(x, y)\n",
        3,
    ),
    "of a subclass": (f"{NET}{IN}model = Net()\nmodel.compile('adam', 'mse')\nmodel.fit(x, y)\n", 7),
    "fitted inside": (f"{IN}model = {BUILT}\nmodel.compile('adam', 'mse')\n{IN}model.fit(x, y)\n", 3),
}
FINE = {
    "all inside": f"{IN}model = {BUILT}\n    model.compile('adam', 'mse')\nmodel.fit(x, y)\n",
    "all inside, by a function": f"def build():\n    m = {BUILT}\n    m.compile('adam', 'mse')\n    return m\n"
    f"{IN}model = build()\nmodel.fit(x, y)\n",
    "without the strategy": f"model = {BUILT}\nmodel.compile('adam', 'mse')\nmodel.fit(x, y)\n{IN}other = {BUILT}\n",
    "plain SGD, compiled outside": f"{IN}model = {BUILT}\nmodel.compile('sgd', 'mse')\nmodel.fit(x, y)\n",
    "plain SGD as an object": f"{IN}model = {BUILT}\nmodel.compile(keras.optimizers.SGD(0.1), 'mse')\nmodel.fit(x, y)\n",
    "the default strategy": f"s = tf.distribute.get_strategy()\nmodel = {BUILT}\nwith s.scope():\n    model.compile('adam', 'mse')\n"
    "model.fit(x, y)\n",
    "perhaps the default strategy": "s = tf.distribute.MirroredStrategy() if many else tf.distribute.get_strategy()\n"
    f"model = {BUILT}\nwith s.scope():\n    model.compile('adam', 'mse')\nmodel.fit(x, y)\n",
    "perhaps no scope": f"model = {BUILT}\nwith strategy.scope() if many else nullcontext():\n    model.compile('adam', 'mse')\n"
    "model.fit(x, y)\n",
    "a scope of the project": f"model = {BUILT}\nwith get_scope(strategy):\n    model.compile('adam', 'mse')\nmodel.fit(x, y)\n",
    "a strategy as a parameter": f"def train(s):\n    model = {BUILT}\n    with s.scope():\n        model.compile('adam', 'mse')\n"
    "    model.fit(x, y)\n",
    "an unbuilt model, both inside": f"{NET}model = Net()\n{IN}model.compile('adam', 'mse')\n    model.fit(x, y)\n",
    "an unbuilt Sequential, both inside": f"model = keras.Sequential([layers.Dense(1)])\n{IN}model.compile('adam', 'mse')\n"
    "    model.fit(x, y)\n",
    "cloned inside": f"base = {BUILT}\n{IN}model = keras.models.clone_model(base)\n    model.compile('adam', 'mse')\nmodel.fit(x, y)\n",
    "made again inside": f"model = {BUILT}\nmodel.summary()\n{IN}model = {BUILT}\n    model.compile('adam', 'mse')\nmodel.fit(x, y)\n",
    "two ways": f"if many:\n    {IN.replace('    ', '        ')}model = {BUILT}\n        model.compile('adam', 'mse')\nelse:\n    model = {BUILT}\n"
    "    model.compile('adam', 'mse')\nmodel.fit(x, y)\n",
    "only evaluated inside": f"model = {BUILT}\nmodel.compile('adam', 'mse')\nmodel.fit(x, y)\n{IN}model.evaluate(x, y)\n",
    "only predicted inside": f"model = {BUILT}\n{IN}model.predict(x)\n",
    "a custom loop": f"{NET}model = Net()\n{IN}o = keras.optimizers.Adam()\nstrategy.run(step, args=(model,))\n",
    "the scope entered by hand": f"scope = strategy.scope()\nscope.__enter__()\nmodel = {BUILT}\n{IN}model.compile('adam', 'mse')\n"
    "model.fit(x, y)\n",
    "the strategy set for all": f"tf.distribute.experimental_set_strategy(strategy)\nmodel = {BUILT}\n{IN}model.compile('adam', 'mse')\n"
    "model.fit(x, y)\n",
    "a function that is called in the scope": f"def run():\n    model = {BUILT}\n    {IN.replace('    ', '        ')}model.compile('adam', 'mse')\n"
    f"    model.fit(x, y)\n{IN}run()\n",
    "a function that nobody calls": f"def run():\n    model = {BUILT}\n    {IN.replace('    ', '        ')}model.compile('adam', 'mse')\n"
    "    model.fit(x, y)\n",
    "a function that nobody calls makes a strategy for something else": f"def run():\n{OWN}    model = {BUILT}\n"
    f"    {IN.replace('    ', '        ')}model.compile('adam', 'mse')\n    model.fit(x, y)\n    prepare(s)\n",
    "a function that nobody calls makes one perhaps": "def run(s=None):\n    if s is None:\n    "
    f"{OWN}    model = {BUILT}\n    with s.scope():\n        model.compile('adam', 'mse')\n    model.fit(x, y)\n",
    "a function that nobody calls makes all inside": f"def run():\n{OWN}    with s.scope():\n        model = {BUILT}\n"
    "        model.compile('adam', 'mse')\n    model.fit(x, y)\n",
    "trains in its own way": NET.replace("super", "super")
    + "    def train_step(self, data):\n        return step(self, data)\n"
    f"{IN}model = Net()\nmodel.compile('adam')\nmodel.fit(x, y)\n",
    "another library's scope": f"import sonnet\nmodel = {BUILT}\nwith sonnet.scope():\n    model.compile('adam', 'mse')\nmodel.fit(x, y)\n",
    "a variable scope": f"model = {BUILT}\nwith graph.scope():\n    model.compile('adam', 'mse')\nmodel.fit(x, y)\n",
    "a loss object outside": f"loss = keras.losses.MeanSquaredError()\n{IN}model = {BUILT}\n    model.compile('adam', loss)\nmodel.fit(x, y)\n",
    "a schedule outside": f"rate = keras.optimizers.schedules.ExponentialDecay(0.1, 10, 0.5)\n{IN}model = {BUILT}\n"
    "    model.compile(keras.optimizers.Adam(rate), 'mse')\nmodel.fit(x, y)\n",
    "a metric object outside": f"m = keras.metrics.MeanAbsoluteError()\n{IN}model = {BUILT}\n    model.compile('adam', 'mse', metrics=[m])\n"
    "model.fit(x, y)\n",
    "in a comment": "# with strategy.scope(): model.compile()\nmodel.fit(x, y)\n",
}
FINE_IN_KERAS_2 = {
    "compiled outside": OPTIMIZERS["by its name"][0],
    "an optimizer outside": OPTIMIZERS["an optimizer object"][0],
    "a subclass": OUTSIDE["a subclass, fitted outside"][0],
    "a metric inside": f"{IN}model = {BUILT}\n    m = keras.metrics.MeanAbsoluteError()\nmodel.compile('adam', 'mse', metrics=[m])\n"
    "model.fit(x, y)\n",
    "a metric by name": f"{IN}model = {BUILT}\nmodel.compile('adam', 'mse', metrics=['mae'])\nmodel.fit(x, y)\n",
}


def _table(cases: dict[str, object]) -> pytest.MarkDecorator:
    return pytest.mark.parametrize("case", cases.values(), ids=cases)


def rows(code: str, folder: Path, target: Target = NEWEST) -> list[int]:
    """The rows below HEAD that TFG505 names."""
    return [row - ROWS for found_code, row in found(HEAD + code, folder, target=target) if found_code == "TFG505"]


@_table({**OUTSIDE, **{f"optimizer: {name}": case for name, case in OPTIMIZERS.items()}})
def test_what_is_made_outside_is_found(case: tuple[str, int], tmp_path: Path) -> None:
    code, row = case
    assert rows(code, tmp_path) == [row]


@_table(FINE)  # type: ignore[arg-type]
def test_others_are_not_found(case: str, tmp_path: Path) -> None:
    assert rows(case, tmp_path) == []


@pytest.mark.parametrize(
    "name", ["compiled inside", "fitted inside", "both inside", "functional", "loaded", "in a class"]
)
def test_keras_2_wants_the_model_inside_too(name: str, tmp_path: Path) -> None:
    code, row = OUTSIDE[name]
    assert rows(code, tmp_path, KERAS_2) == [row]


@_table(FINE_IN_KERAS_2)  # type: ignore[arg-type]
def test_keras_2_does_not_mind(case: str, tmp_path: Path) -> None:
    assert rows(case, tmp_path, KERAS_2) == []


def test_keras_2_wants_metrics_inside(tmp_path: Path) -> None:
    assert rows(FINE["a metric object outside"], tmp_path, KERAS_2) == [1]


def test_a_model_and_a_strategy_of_other_files(tmp_path: Path) -> None:
    (tmp_path / "nets.py").write_text(
        "from tensorflow import keras\n\ndef build():\n    i = keras.Input((4,))\n    return keras.Model(i, i)\n"
    )
    (tmp_path / "devices.py").write_text("import tensorflow as tf\n\nstrategy = tf.distribute.MirroredStrategy()\n")
    code = f"from nets import build\nfrom devices import strategy\nmodel = build()\n{IN}model.compile('adam')\nmodel.fit(x, y)\n"
    assert found(code, tmp_path) - {("TFG401", 6)} == {("TFG505", 3)}


def test_a_notebook(tmp_path: Path) -> None:
    code = notebook(HEAD, f"model = {BUILT}", f"{IN}model.compile('adam', 'mse')\nmodel.fit(x, y)")
    assert "TFG505" in {found_code for found_code, _ in found(code, tmp_path, "a.ipynb")}


def test_the_message_says_what_is_raised(tmp_path: Path) -> None:
    ((_, finding),) = [f for f in findings(HEAD + OUTSIDE["compiled inside"][0], tmp_path) if f[0].code == "TFG505"]
    assert finding.message == (
        "this model is made outside of the `strategy.scope()` that it is trained under: "
        "`fit` raises RuntimeError with Keras 3"
    )


def test_tests_are_left_alone(tmp_path: Path) -> None:
    assert found(HEAD + OUTSIDE["compiled inside"][0], tmp_path, "tests/train.py") == set()


def test_the_truth_scopes_of_two_strategies_do_not_nest() -> None:
    """With the installed TensorFlow: a function that enters its own strategy's scope is not called in another."""
    import tensorflow as tf

    one, other = (tf.distribute.OneDeviceStrategy("/CPU:0") for _ in range(2))
    with one.scope(), pytest.raises(RuntimeError, match="Mixing different"), other.scope():
        pass


def test_one_model_is_one_finding(tmp_path: Path) -> None:
    assert codes(HEAD + OUTSIDE["compiled inside"][0] + "model.fit(x, y)\n", tmp_path) == ["TFG505"]


MODEL_OUTSIDE, OPTIMIZER_OUTSIDE, UNBUILT = "model", "optimizer", "unbuilt"


@pytest.mark.slow
@pytest.mark.parametrize(
    ("what", "raised"),
    [(MODEL_OUTSIDE, RuntimeError), (OPTIMIZER_OUTSIDE, RuntimeError), (UNBUILT, None), ("sgd", None), (None, None)],
)
def test_the_truth_training_fails(what: str | None, raised: type[Exception] | None) -> None:
    """With the installed TensorFlow, on one CPU device."""
    import tensorflow as tf

    strategy = tf.distribute.OneDeviceStrategy("/CPU:0")
    x, y = tf.zeros((8, 4)), tf.zeros((8, 1))
    inputs = [] if what == UNBUILT else [tf.keras.layers.Input((4,))]

    def build() -> tf.keras.Model:
        return tf.keras.Sequential([*inputs, tf.keras.layers.Dense(1)])

    model = build() if what in (MODEL_OUTSIDE, UNBUILT) else None
    with strategy.scope():
        model = model or build()
        model.compile("adam", "mse")
        if what == UNBUILT:
            model.fit(x, y, verbose=0)
    if what in (OPTIMIZER_OUTSIDE, "sgd"):
        model.compile("adam" if what == OPTIMIZER_OUTSIDE else "sgd", "mse")
    if raised is None:
        model.fit(x, y, verbose=0)
        return
    with pytest.raises(raised, match=r"strategy\.scope|Mixing different tf\.distribute\.Strategy"):
        model.fit(x, y, verbose=0)
