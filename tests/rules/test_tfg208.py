"""TFG208: a model that every iteration of a loop builds, fits and drops, and models that are kept or built once."""

from __future__ import annotations

from pathlib import Path

import pytest
from checks import findings, found, notebook

HEAD = """\
import tensorflow as tf
def build(units=8):
    model = tf.keras.Sequential([tf.keras.layers.Dense(units), tf.keras.layers.Dense(1)])
    model.compile("adam", "mse")
    return model
"""
LAYERS = """class Stack:
    def __init__(self, parts=None):
        if parts is None:
            parts = []
            for size in sizes:
                parts.append(tf.keras.layers.Dense(size))
        self.parts = parts
    def prepare(self, rows):
        for {target}:
            net = tf.keras.Sequential(self.parts[: last + 1])
            net.compile("sgd", "mse")
            net.fit(rows, rows)
Stack().prepare(x)
"""
DROPPED = {  # the row of `fit`, below HEAD
    "a function builds it": ("for units in sizes:\n    model = build(units)\n    model.fit(x, y)\n", 3),
    "as many layers as a loop counts": (LAYERS.format(target="last in range(rounds)"), 12),
    "built in the loop": (
        "for rate in rates:\n    model = tf.keras.Sequential([tf.keras.layers.Dense(1)])\n    model.compile('adam', 'mse')\n"
        "    model.fit(x, y)\n",
        4,
    ),
    "folds, with clear_session": (
        "for train, test in folds.split(x):\n    tf.keras.backend.clear_session()\n    model = build()\n"
        "    model.fit(x[train], y[train])\n    scores.append(model.evaluate(x[test], y[test]))\n",
        4,
    ),
    "ten folds": (
        "from sklearn.model_selection import KFold\nfor train, test in KFold(10).split(x):\n    model = build()\n"
        "    model.fit(x[train], y[train])\n",
        4,
    ),
    "fitted in a loop of its own": (
        "for units in sizes:\n    model = build(units)\n    for epoch in range(20):\n        model.fit(x, y)\n",
        4,
    ),
    "a function builds and fits": (
        "def score(units):\n    model = build(units)\n    model.fit(x, y)\n    return model.evaluate(x, y)\n"
        "scores = [score(units) for units in sizes]\n",
        3,
    ),
    "the model as parameter": (
        "def train(net):\n    net.fit(x, y)\nfor units in sizes:\n    model = build(units)\n    train(model)\n",
        2,
    ),
    "a returned model that dies": (
        "def train(units):\n    model = build(units)\n    model.fit(x, y)\n    return model\n"
        "for units in sizes:\n    model = train(units)\n    print(model.evaluate(x, y))\n",
        3,
    ),
    "an object with a model": (
        "class Trainer:\n    def __init__(self):\n        self.model = build()\n    def train(self):\n        self.model.fit(x, y)\n"
        "for seed in seeds:\n    trainer = Trainer()\n    trainer.train()\n",
        5,
    ),
    "while": ("while True:\n    net = build()\n    net.fit(x, y)\n", 3),
}
QUIET = {
    "layer after layer of a network": LAYERS.format(target="last, part in enumerate(self.parts)"),
    "built once": "model = build()\nfor x, y in parts:\n    model.fit(x, y)\n",
    "an ensemble": "for units in sizes:\n    model = build(units)\n    model.fit(x, y)\n    models.append(model)\n",
    "an ensemble in a dictionary": "for units in sizes:\n    model = build(units)\n    model.fit(x, y)\n    models[units] = model\n",
    "an ensemble with scores": (
        "for units in sizes:\n    model = build(units)\n    model.fit(x, y)\n    models.append((model, model.evaluate(x, y)))\n"
    ),
    "an ensemble of a function": (
        "def train(units):\n    model = build(units)\n    model.fit(x, y)\n    return model\n"
        "models = [train(units) for units in sizes]\n"
    ),
    "a generator of models": (
        "def trained():\n    for units in sizes:\n        model = build(units)\n        model.fit(x, y)\n        yield model\n"
        "ensemble = list(trained())\n"
    ),
    "layers in a comprehension": "layers = [tf.keras.layers.Dense(8) for _ in range(20)]\nmodel = tf.keras.Sequential(layers)\n"
    "model.fit(x, y)\n",
    "a list of models": "models = [build(units) for units in sizes]\nfor model in models:\n    model.fit(x, y)\n",
    "five iterations": "for _ in range(5):\n    model = build()\n    model.fit(x, y)\n",
    "three sizes": "for units in [8, 16, 32]:\n    model = build(units)\n    model.fit(x, y)\n",
    "five folds": (
        "from sklearn.model_selection import StratifiedKFold\nfolds = StratifiedKFold(shuffle=True)\n"
        "for number, (train, test) in enumerate(folds.split(x, y)):\n    model = build()\n    model.fit(x[train], y[train])\n"
    ),
    "built in the first iteration": (
        "model = None\nfor x, y in parts:\n    if model is None:\n        model = build()\n    model.fit(x, y)\n"
    ),
    "built and not fitted": "for units in sizes:\n    model = build(units)\n    print(model.count_params())\n",
    "a cached builder": (
        "import functools\n@functools.lru_cache\ndef cached(units):\n    return tf.keras.Sequential()\n"
        "for units in sizes:\n    model = cached(units)\n    model.fit(x, y)\n"
    ),
    "one model of a module": (
        "net = build()\ndef get():\n    return net\nfor x, y in parts:\n    model = get()\n    model.fit(x, y)\n"
    ),
    "another library": (
        "from sklearn.linear_model import Ridge\nfor a in alphas:\n    model = Ridge(a)\n    model.fit(x, y)\n"
    ),
    "an unknown builder": "from models import make\nfor units in sizes:\n    model = make(units)\n    model.fit(x, y)\n",
    "a process each": (
        "import multiprocessing\ndef fitted(units):\n    model = build(units)\n    model.fit(x, y)\n"
        "for units in sizes:\n    p = multiprocessing.Process(target=fitted, args=(units,))\n    p.start()\n    p.join()\n"
    ),
    "an object around the loop": (
        "class Trainer:\n    def __init__(self):\n        self.model = build()\n    def train(self):\n        self.model.fit(x, y)\n"
        "trainer = Trainer()\nfor x, y in parts:\n    trainer.train()\n"
    ),
}


def _table(cases: dict[str, object]) -> pytest.MarkDecorator:
    return pytest.mark.parametrize("case", cases.values(), ids=cases)


def rows(code: str, folder: Path, name: str = "train.py") -> list[int]:
    """The rows below HEAD that TFG208 names."""
    return [row - HEAD.count("\n") for code_, row in found(HEAD + code, folder, name) if code_ == "TFG208"]


@_table(DROPPED)  # type: ignore[arg-type]
def test_models_of_a_turn_are_found(case: tuple[str, int], tmp_path: Path) -> None:
    code, row = case
    assert rows(code, tmp_path) == [row]


@_table(QUIET)  # type: ignore[arg-type]
def test_others_are_not_found(case: str, tmp_path: Path) -> None:
    assert rows(case, tmp_path) == []


def test_a_builder_of_another_file(tmp_path: Path) -> None:
    (tmp_path / "networks.py").write_text(HEAD)
    code = "import tensorflow\nfrom networks import build\nfor units in sizes:\n    model = build(units)\n    model.fit(x, y)\n"
    assert [one for one in found(code, tmp_path) if one[0] == "TFG208"] == [("TFG208", 5)]


def test_it_does_not_say_that_clear_session_helps(tmp_path: Path) -> None:
    ((rule, finding),) = [f for f in findings(HEAD + DROPPED["while"][0], tmp_path) if f[0].code == "TFG208"]
    assert rule.opt_in and rule.severity == "advice" and finding.prediction.kind == "memory"
    assert "with or without `clear_session`" in finding.message and "process" in finding.help


def test_tests_are_left_alone(tmp_path: Path) -> None:
    assert rows(DROPPED["while"][0], tmp_path, "tests/train.py") == []


def test_a_notebook(tmp_path: Path) -> None:
    text = notebook(HEAD, DROPPED["a function builds it"][0])
    assert ("TFG208", 3) in found(text, tmp_path, name="a.ipynb")


@pytest.mark.campaign
def test_the_truth_memory_stays_for_each_fitted_model() -> None:
    """With the installed TensorFlow: also with `clear_session`, some megabytes a model, and none for one model again."""
    import subprocess
    import sys

    workload = Path(__file__).parents[1] / "benchmarks" / "evidence" / "tfg208_model_in_loop__opt_in.py"
    grown = {
        kind: float(
            subprocess.run([sys.executable, str(workload), kind], capture_output=True, text=True).stdout.split()[-1]
        )
        for kind in ("clear", "one")
    }
    assert grown["clear"] > 1.5 > 0.8 > grown["one"]
