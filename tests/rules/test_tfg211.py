"""TFG211: validation arrays that are cut into the training's small batches, and validation with a size of its own."""

from __future__ import annotations

from pathlib import Path

import pytest
from checks import findings, found, notebook

from tflint_gpu.targets import Target

HEAD = """\
import numpy as np
import tensorflow as tf
x, y = np.ones((900, 4), "float32"), np.ones((900, 1), "float32")
model = tf.keras.Sequential([tf.keras.layers.Dense(1)])
model.compile("adam", "mse")
"""
SMALL = {  # the row, below HEAD
    "a number": ("model.fit(x, y, batch_size=32, validation_data=(x, y))\n", 1),
    "a constant": ("SIZE = 16\nmodel.fit(x, y, batch_size=SIZE, validation_data=(x, y), epochs=3)\n", 2),
    "by position": ("model.fit(x, y, 32, 5, validation_data=(x, y))\n", 1),
    "with weights": ("model.fit(x, y, batch_size=32, validation_data=(x, y, y))\n", 1),
    "arrays by a name": ("held_out = (x[:99], y[:99])\nmodel.fit(x, y, batch_size=32, validation_data=held_out)\n", 2),
    "a share": ("model.fit(x, y, batch_size=32, validation_split=0.2)\n", 1),
    "a share by a name": ("SHARE = 0.25\nmodel.fit(x, y, 64, epochs=2, validation_split=SHARE)\n", 2),
    "a list": ("model.fit(x, y, batch_size=32, validation_data=[x, y])\n", 1),
    "by the settings": ("CFG = {'batch_size': 8}\nmodel.fit(x, y, validation_data=(x, y), **CFG)\n", 2),
    "on several lines": ("model.fit(\n    x,\n    y,\n    batch_size=32,\n    validation_data=(x, y),\n)\n", 4),
    "a parameter": (
        "def train(net, size):\n    net.fit(x, y, batch_size=size, validation_data=(x, y))\ntrain(model, 32)\n",
        2,
    ),
    "a model of the object": (
        "class Trainer:\n    def __init__(self, net):\n        self.net = net\n        self.size = 32\n    def run(self):\n"
        "        self.net.fit(x, y, batch_size=self.size, validation_data=(x, y))\nTrainer(model).run()\n",
        6,
    ),
}
FINE = {
    "a size of its own": "model.fit(x, y, batch_size=32, validation_data=(x, y), validation_batch_size=256)\n",
    "a dataset": (
        "ds = tf.data.Dataset.from_tensor_slices((x, y)).batch(256)\nmodel.fit(x, y, batch_size=32, validation_data=ds)\n"
    ),
    "training on a dataset": (
        "ds = tf.data.Dataset.from_tensor_slices((x, y)).batch(256)\nmodel.fit(ds, validation_data=(x, y))\n"
    ),
    "no share": "model.fit(x, y, batch_size=32, validation_split=0.0)\n",
    "an unknown share": "model.fit(x, y, batch_size=32, validation_split=args.share)\n",
    "a share and a size": "model.fit(x, y, batch_size=32, validation_split=0.2, validation_batch_size=512)\n",
    "data before a share": "model.fit(x, y, batch_size=32, validation_split=0.2, validation_data=load('test'))\n",
    "no size": "model.fit(x, y, validation_data=(x, y))\n",
    "no validation": "model.fit(x, y, batch_size=32)\n",
    "a large size": "model.fit(x, y, batch_size=512, validation_data=(x, y))\n",
    "an unknown size": "model.fit(x, y, batch_size=args.size, validation_data=(x, y))\n",
    "unknown data": "model.fit(x, y, batch_size=32, validation_data=load('test'))\n",
    "one": "model.fit(x, y, batch_size=1, validation_data=(x, y))\n",
    "a few steps": "model.fit(x, y, batch_size=32, validation_data=(x, y), validation_steps=3)\n",
    "a size in the settings": (
        "CFG = {'batch_size': 8, 'validation_batch_size': 99}\nmodel.fit(x, y, validation_data=(x, y), **CFG)\n"
    ),
    "settings that are not known": "model.fit(x, y, batch_size=8, validation_data=(x, y), **options)\n",
    "stateful": (
        "rnn = tf.keras.Sequential([tf.keras.layers.LSTM(4, stateful=True)])\nrnn.compile('adam', 'mse')\n"
        "rnn.fit(x, y, batch_size=30, validation_data=(x, y))\n"
    ),
    "another library": "from sklearn.svm import SVC\nSVC().fit(x, y, batch_size=32, validation_data=(x, y))\n",
    "a fit of its own": (
        "class Net(tf.keras.Model):\n    def fit(self, x, y, batch_size, validation_data):\n        pass\n"
        "net = Net()\nnet.fit(x, y, batch_size=32, validation_data=(x, y))\n"
    ),
    "a handful of rows": "model.fit(x, y, batch_size=32, validation_data=(x[:20], y[:20]))\n",
}


def _table(cases: dict[str, object]) -> pytest.MarkDecorator:
    return pytest.mark.parametrize("case", cases.values(), ids=cases)


def rows(code: str, folder: Path, name: str = "train.py") -> list[int]:
    """The rows below HEAD that TFG211 names."""
    return [row - HEAD.count("\n") for found_code, row in found(HEAD + code, folder, name) if found_code == "TFG211"]


@_table(SMALL)  # type: ignore[arg-type]
def test_small_batches_are_found(case: tuple[str, int], tmp_path: Path) -> None:
    code, row = case
    assert rows(code, tmp_path) == [row]


@_table(FINE)  # type: ignore[arg-type]
def test_others_are_not_found(case: str, tmp_path: Path) -> None:
    assert rows(case, tmp_path) == []


def test_tests_are_left_alone(tmp_path: Path) -> None:
    assert rows(SMALL["a number"][0], tmp_path, "tests/train.py") == []


def test_programs_for_tensorflow_1_are_left_alone(tmp_path: Path) -> None:
    target = Target(tensorflow=(1, 15), keras=2, source="requirements.txt")
    assert "TFG211" not in {code for code, _ in found(HEAD + SMALL["a number"][0], tmp_path, target=target)}


def test_before_2_2_there_was_no_such_argument(tmp_path: Path) -> None:
    target = Target(tensorflow=(2, 1), keras=2, source="requirements.txt")
    assert "TFG211" not in {code for code, _ in found(HEAD + SMALL["a number"][0], tmp_path, target=target)}


def test_a_size_of_another_file(tmp_path: Path) -> None:
    (tmp_path / "settings.py").write_text("SIZE = 32\n")
    code = "from settings import SIZE\nmodel.fit(x, y, batch_size=SIZE, validation_data=(x, y))\n"
    assert rows(code, tmp_path) == [2]


def test_a_notebook(tmp_path: Path) -> None:
    text = notebook(HEAD, SMALL["a number"][0])
    assert ("TFG211", 1) in found(text, tmp_path, name="a.ipynb")


def test_it_runs_only_where_it_is_chosen(tmp_path: Path) -> None:
    (rule,) = {rule for rule, _ in findings(HEAD + SMALL["a number"][0], tmp_path) if rule.code == "TFG211"}
    assert rule.opt_in


@pytest.mark.slow
def test_the_truth_validation_takes_the_size_of_training() -> None:
    """With the installed Keras: the number of validation batches follows `batch_size`, or its own size."""
    import numpy as np
    import tensorflow as tf

    x = np.ones((70, 4), "float32")
    batches: list[int] = []
    count = tf.keras.callbacks.LambdaCallback()
    count.on_test_batch_end = lambda batch, logs=None: batches.append(batch)
    model = tf.keras.Sequential([tf.keras.layers.Dense(1)])
    model.compile("sgd", "mse")
    counts = []
    arrays = {"validation_data": (x, x[:, :1])}
    for own in (arrays, {**arrays, "validation_batch_size": 35}, {"validation_split": 0.5}):
        batches.clear()
        model.fit(x, x[:, :1], batch_size=10, verbose=0, callbacks=[count], **own)
        counts.append(len(batches))
    assert counts == [7, 2, 4]
