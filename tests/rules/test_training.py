"""TFG201, TFG202, TFG207: batches of one and steps that nothing traces, and what only looks like them."""

from __future__ import annotations

from pathlib import Path

import pytest
from checks import codes, findings, found

HEAD = """
import numpy as np
import tensorflow as tf
from tensorflow import keras

model = keras.Sequential([keras.layers.Dense(1)])
optimizer = keras.optimizers.SGD()
dataset = tf.data.Dataset.from_tensor_slices((np.zeros((8, 2)), np.zeros(8)))
"""
STEP = """
    with tf.GradientTape() as tape:
        loss = tf.reduce_mean(model(x) - y)
    optimizer.apply_gradients(zip(tape.gradient(loss, model.trainable_variables), model.trainable_variables))
"""

BATCH_OF_ONE = {
    "literal": "model.fit(x, y, batch_size=1)",
    "positional": "model.fit(x, y, 1)",
    "module constant": "BATCH = 1\nmodel.fit(x, y, batch_size=BATCH)",
    "order of the code": "bs = 16\nbs = 1\nmodel.fit(x, y, batch_size=bs)\nbs = 32",
    "dictionary": "CFG = {'batch_size': 1, 'epochs': 2}\nmodel.fit(x, y, **CFG)",
    "dict call": "CFG = dict(batch_size=1)\nmodel.fit(x, y, **CFG)",
    "nested dictionary": "CFG = {'fit': {'batch_size': 1}}\nmodel.fit(x, y, **CFG['fit'])",
    "ternary that agrees": "model.fit(x, y, batch_size=1 if flag else 1)",
    "arithmetic": "N = 4\nmodel.fit(x, y, batch_size=N // 4)",
    "batched dataset": "model.fit(dataset.batch(1))",
    "through variables": "ds = dataset.shuffle(8)\nds = ds.batch(1)\nds = ds.prefetch(2)\nmodel.fit(ds)",
    "one branch": "if fast:\n    ds = dataset.batch(64)\nelse:\n    ds = dataset.batch(1)\nmodel.fit(ds)",
    "zip of datasets": "ds = tf.data.Dataset.zip((dataset, dataset)).batch(1)\nmodel.fit(ds)",
    "function": "def make():\n    return dataset.batch(1)\nmodel.fit(make())",
    "loop": "@tf.function\ndef step(x, y):" + STEP + "for x, y in dataset.batch(1):\n    step(x, y)",
    "iterator": "@tf.function\ndef step(x, y):"
    + STEP
    + "it = iter(dataset.batch(1))\nfor _ in range(8):\n    x, y = next(it)\n    step(x, y)",
    "directory": "model.fit(keras.utils.image_dataset_from_directory('d', batch_size=1))",
    "attribute": "class T:\n    def __init__(self):\n        self.bs = 1\n        self.m = keras.Sequential()\n"
    "    def run(self, x):\n        self.m.fit(x, x, batch_size=self.bs)",
    "compiled parameter": "def run(m, x):\n    m.compile(optimizer='sgd', loss='mse')\n    m.fit(x, x, batch_size=1)",
}
NOT_A_BATCH_OF_ONE = {
    "other size": "model.fit(x, y, batch_size=32)",
    "reassigned": "bs = 1\nbs = 16\nmodel.fit(x, y, batch_size=bs)",
    "predict": "model.predict(x, batch_size=1)",
    "evaluate": "model.evaluate(dataset.batch(1))",
    "validation": "model.fit(dataset.batch(32), validation_data=dataset.batch(1))",
    "parameter": "def run(batch_size=1):\n    model.fit(x, y, batch_size=batch_size)",
    "argparse": "import argparse\np = argparse.ArgumentParser()\np.add_argument('--bs', default=1)\n"
    "model.fit(x, y, batch_size=p.parse_args().bs)",
    "environment": "import os\nmodel.fit(x, y, batch_size=int(os.environ.get('BS', 1)))",
    "ternary": "model.fit(x, y, batch_size=1 if debug else 32)",
    "changed dictionary": "CFG = {'batch_size': 1}\nCFG['batch_size'] = 32\nmodel.fit(x, y, **CFG)",
    "re-batched": "model.fit(dataset.batch(1).unbatch().batch(32))",
    "stateful": "model = keras.Sequential([keras.layers.LSTM(4, stateful=True)])\nmodel.fit(x, y, batch_size=1)",
    "another library": "from sklearn.neural_network import MLPRegressor\nMLPRegressor().fit(x, y, batch_size=1)",
    "unknown receiver": "from elsewhere import net\nnet.fit(x, y, batch_size=1)",
    "ignored with a dataset": "model.fit(dataset.batch(32), batch_size=1)",
    "only a loop": "for x, y in dataset.batch(1):\n    print(x)",
    "window": "ds = dataset.window(4).flat_map(lambda a, b: a.batch(1)).batch(8)\nmodel.fit(ds)",
    "True is no size": "model.fit(x, y, batch_size=True)",
}
EAGER = {
    "inline": "for x, y in dataset:" + STEP.replace("\n", "\n"),
    "function": "def step(x, y):" + STEP + "for x, y in dataset:\n    step(x, y)",
    "through another": "def step(x, y):" + STEP + "def epoch():\n    for x, y in dataset:\n        step(x, y)\nepoch()",
    "while": "def step(x, y):" + STEP + "while True:\n    step(x, y)",
    "method": "class T:\n    def step(self, x, y):"
    + STEP.replace("\n", "\n    ")
    + "\n    def run(self):\n        for x, y in dataset:\n            self.step(x, y)\nT().run()",
    "app.run": "from absl import app\ndef main(argv):\n    for x, y in dataset:"
    + STEP.replace("\n", "\n    ")
    + "\napp.run(main)",
    "strategy.run": "s = tf.distribute.MirroredStrategy()\ndef step(x, y):"
    + STEP
    + "for x, y in dataset:\n    s.run(step, args=(x, y))",
    "optimizer.minimize beside": "for x, y in dataset:\n    with tf.GradientTape() as t:\n        l = model(x)\n"
    "    optimizer.minimize(l, model.trainable_variables, tape=t)",
}
NOT_EAGER = {
    "decorated": "@tf.function\ndef step(x, y):" + STEP + "for x, y in dataset:\n    step(x, y)",
    "called with arguments": "@tf.function(jit_compile=True)\ndef step(x, y):"
    + STEP
    + "for x, y in dataset:\n    step(x, y)",
    "wrapped": "def step(x, y):" + STEP + "step = tf.function(step)\nfor x, y in dataset:\n    step(x, y)",
    "wrapped under another name": "def step(x, y):"
    + STEP
    + "fast = tf.function(step)\nfor x, y in dataset:\n    fast(x, y)",
    "wrapped partial": "import functools\ndef step(x, y):"
    + STEP
    + "fast = tf.function(functools.partial(step))\nfor x, y in dataset:\n    fast(x, y)",
    "caller decorated": "def step(x, y):"
    + STEP
    + "@tf.function\ndef both(x, y):\n    step(x, y)\nfor x, y in dataset:\n    both(x, y)",
    "loop inside": "@tf.function\ndef epoch():\n    for x, y in dataset:" + STEP.replace("\n", "\n    ") + "\nepoch()",
    "no loop": STEP.replace("\n    ", "\n"),
    "train_step of a model": "class M(keras.Model):\n    def train_step(self, data):\n        x, y = data"
    + STEP.replace("\n", "\n    ").replace("model", "self"),
    "may be wrapped": "def step(x, y):"
    + STEP
    + "run = tf.function(step) if graph else step\nfor x, y in dataset:\n    run(x, y)",
    "handed on": "from elsewhere import loop\ndef step(x, y):"
    + STEP
    + "loop(step)\nfor x, y in dataset:\n    step(x, y)",
    "unknown decorator": "from elsewhere import fast\n@fast\ndef step(x, y):"
    + STEP
    + "for x, y in dataset:\n    step(x, y)",
    "method wrapped in __init__": "class T:\n    def __init__(self):\n        self.fast = tf.function(self.step)\n"
    "    def step(self, x, y):"
    + STEP.replace("\n", "\n    ")
    + "\n    def run(self):\n        for x, y in dataset:\n            self.fast(x, y)\nT().run()",
    "hook of a base class": "from elsewhere import Agent\nclass A(Agent):\n    def _train(self, x, y):\n"
    "        for i in range(3):" + STEP.replace("\n", "\n        "),
    "eager on purpose": "mode = 'eager'\nif mode == 'eager':\n    for x, y in dataset:" + STEP.replace("\n", "\n    "),
    "no update": "for x, y in dataset:\n    with tf.GradientTape() as t:\n        l = model(x)\n    print(t.gradient(l, x))",
    "graphs of TensorFlow 1": "tf.compat.v1.disable_eager_execution()\nfor x, y in dataset:" + STEP,
}
FORWARD = {
    "inline": "for x, y in dataset.batch(4):\n    print(model(x, training=False))",
    "without the flag": "for x, y in dataset.batch(4):\n    print(model(x))",
    "enumerate": "for i, (x, y) in enumerate(dataset.batch(4)):\n    print(model(x))",
    "function": "def test_step(x):\n    return model(x)\nfor x, y in dataset.batch(4):\n    test_step(x)",
    "in a function": "def validate(m, ds):\n    for x, y in ds:\n        m(x)\nvalidate(model, dataset.batch(4))",
    "zip": "for (x, y), z in zip(dataset, dataset):\n    model(x)",
}
NOT_FORWARD = {
    "evaluate": "model.evaluate(dataset.batch(4))",
    "traced function": "@tf.function\ndef f(x):\n    return model(x)\nfor x, y in dataset:\n    f(x)",
    "training loop, every now and then": (
        "@tf.function\ndef step(x, y):" + STEP + "for i, (x, y) in enumerate(dataset):\n    step(x, y)\n"
        "    if i % 100 == 0:\n        print(model(x))"
    ),
    "a few batches": "for x, y in dataset.take(3):\n    print(model(x))",
    "first batch": "for x, y in dataset:\n    print(model(x))\n    break",
    "a list": "for x in [1, 2]:\n    model(x)",
    "unknown model": "from elsewhere import net\nfor x, y in dataset:\n    net(x)",
    "model under tf.function": "fast = tf.function(model)\nfor x, y in dataset:\n    fast(x)",
    "call under tf.function": "class M(keras.Model):\n    @tf.function\n    def call(self, x):\n        return x\n"
    "m = M()\nfor x, y in dataset:\n    m(x)",
    "one example": "x, y = next(iter(dataset))\nmodel(x)",
}


def _table(cases: dict[str, str]) -> pytest.MarkDecorator:
    return pytest.mark.parametrize("code", cases.values(), ids=cases.keys())


@_table(BATCH_OF_ONE)
def test_batch_of_one_is_found(code: str, tmp_path: Path) -> None:
    """Protects recall of TFG201: each way in which a 1 reaches a training batch."""
    assert codes(HEAD + code, tmp_path) == ["TFG201"]


@_table(NOT_A_BATCH_OF_ONE)
def test_other_batches_are_not_found(code: str, tmp_path: Path) -> None:
    """Protects precision of TFG201: unknown sizes, inference and other libraries."""
    assert "TFG201" not in codes(HEAD + code, tmp_path)


@_table(EAGER)
def test_eager_step_is_found(code: str, tmp_path: Path) -> None:
    """Protects recall of TFG202: a step in a loop that nothing traces."""
    assert codes(HEAD + code, tmp_path) == ["TFG202"]


@_table(NOT_EAGER)
def test_traced_step_is_not_found(code: str, tmp_path: Path) -> None:
    """Protects precision of TFG202: whatever may be under tf.function stays silent."""
    assert "TFG202" not in codes(HEAD + code, tmp_path)


@_table(FORWARD)
def test_eager_validation_is_found(code: str, tmp_path: Path) -> None:
    """Protects recall of TFG207."""
    assert codes(HEAD + code, tmp_path) == ["TFG207"]


@_table(NOT_FORWARD)
def test_other_forward_passes_are_not_found(code: str, tmp_path: Path) -> None:
    """Protects precision of TFG207: traced code, glances, unknown callables."""
    assert "TFG207" not in codes(HEAD + code, tmp_path)


def test_tests_are_left_alone(tmp_path: Path) -> None:
    """Protects test suites from advice about speed."""
    assert found(HEAD + "model.fit(x, y, batch_size=1)", tmp_path, name="test_model.py") == set()


def test_constant_of_another_file(tmp_path: Path) -> None:
    """Protects the flow of constants through `config.BATCH_SIZE`."""
    (tmp_path / "config.py").write_text("BATCH_SIZE = 1\n")
    assert "TFG201" in codes(HEAD + "import config\nmodel.fit(x, y, batch_size=config.BATCH_SIZE)", tmp_path)
    assert "TFG201" in codes(HEAD + "from config import BATCH_SIZE as B\nmodel.fit(x, y, batch_size=B)", tmp_path)


def test_dataset_of_another_file(tmp_path: Path) -> None:
    """Protects the way of a dataset through a function of another file, and the finding's place there."""
    (tmp_path / "data.py").write_text(
        "import tensorflow as tf\ndef load():\n    ds = tf.data.Dataset.range(9)\n    return ds.batch(1), ds.batch(9)\n"
    )
    code = HEAD + "from data import load\ntrain, val = load()\nmodel.fit(train, validation_data=val)\n"
    assert ("TFG201 data.py", 4) in found(code, tmp_path)


def test_step_of_another_file(tmp_path: Path) -> None:
    """Protects the way from a loop to a step in another file, traced and not."""
    step = "import tensorflow as tf\n{}def step(model, optimizer, x, y):" + STEP
    (tmp_path / "steps.py").write_text(step.format(""))
    (tmp_path / "fast.py").write_text(step.format("@tf.function\n"))
    loop = "for x, y in dataset.batch(8):\n    {}.step(model, optimizer, x, y)\n"
    assert ("TFG202 steps.py", 3) in found(HEAD + "import steps\n" + loop.format("steps"), tmp_path)
    assert "TFG202" not in codes(HEAD + "import fast\n" + loop.format("fast"), tmp_path)


def test_one_finding_for_the_tapes_of_one_step(tmp_path: Path) -> None:
    """Protects GAN steps, which hold two tapes, from two findings for one mistake."""
    code = HEAD + (
        "for x, y in dataset:\n    with tf.GradientTape() as a, tf.GradientTape() as b:\n        l = model(x)\n"
        "    optimizer.apply_gradients(zip(a.gradient(l, w), w))\n"
    )
    assert codes(code, tmp_path) == ["TFG202"]


def test_path_to_the_step_is_told(tmp_path: Path) -> None:
    """Protects the related locations: the loop, and each call on the way."""
    code = HEAD + "def step(x, y):" + STEP + "for x, y in dataset:\n    step(x, y)\n"
    (finding,) = [f for rule, f in findings(code, tmp_path) if rule.code == "TFG202"]
    assert [note.message for note in finding.notes] == ["the loop that runs it", "calls `step`"]


def test_dataset_handed_to_an_object_of_another_file(tmp_path: Path) -> None:
    """Protects the way of a dataset into a method of a class of another file."""
    (tmp_path / "trainer.py").write_text(
        "import tensorflow as tf\nclass Trainer:\n    def __init__(self, model):\n        self.model = model\n"
        "    def check(self, data):\n        for x, y in data:\n            self.model(x, training=False)\n"
    )
    code = HEAD + "from trainer import Trainer\ntrainer = Trainer(model)\ntrainer.check(dataset.batch(4))\n"
    assert ("TFG207 trainer.py", 7) in found(code, tmp_path)


def test_step_under_a_partial_of_an_unknown_function(tmp_path: Path) -> None:
    """Protects steps whose decorator hides in `functools.partial`: it may trace them."""
    code = HEAD + "import functools\nfrom elsewhere import fast\n@functools.partial(fast, xla=True)\n"
    code += "def step(x, y):" + STEP + "for x, y in dataset:\n    step(x, y)\n"
    assert "TFG202" not in codes(code, tmp_path)
