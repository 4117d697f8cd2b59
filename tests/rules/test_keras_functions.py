"""TFG101 and its kin in functions that Keras is given: which of them it traces, and in which file."""

from __future__ import annotations

from pathlib import Path

import pytest
from checks import codes, findings, found

HEAD = "import numpy as np\nimport tensorflow as tf\nfrom tensorflow import keras\n"
DICE = "def dice(y, p):\n    return np.mean(y - p)\n"
OTHER = "def other(y, p):\n    return tf.reduce_mean(y - p)\n"
MODEL = "m = keras.Sequential([keras.layers.Dense(1)])\n"
COMPILED = {
    "loss": "m.compile('adam', loss=dice)\n",
    "list with a text": "m.compile('adam', loss=[dice, 'mse'])\n",
    "dictionary": "m.compile('adam', loss={'a': dice, 'b': 'mse'})\n",
    "dictionary of lists of metrics": "m.compile('adam', 'mse', metrics={'a': ['acc', dice]})\n",
    "nested metrics": "m.compile('adam', 'mse', metrics=['acc', [dice]])\n",
    "weighted metrics": "m.compile('adam', loss='mse', weighted_metrics=[dice])\n",
    "dictionary of the arguments": "m.compile(**dict(optimizer='adam', loss=dice))\n",
    "display of the arguments": "m.compile(**{'optimizer': 'adam', 'loss': dice})\n",
    "named arguments": "ARGS = {'loss': dice}\nm.compile('adam', **ARGS)\n",
    "one of known losses": OTHER + "LOSSES = {'dice': dice, 'other': other}\nm.compile('adam', loss=LOSSES[NAME])\n",
    "one of losses, some by name": "LOSSES = {'dice': dice, 'mse': 'mse'}\nm.compile('adam', loss=LOSSES[NAME])\n",
    "one of losses in dict()": "LOSSES = dict(dice=dice, mse='mse')\nm.compile('adam', loss=LOSSES[NAME])\n",
    "conditional expression": "m.compile('adam', loss=dice if NAME else 'mse')\n",
    "conditional variable": "loss = dice if NAME else 'mse'\nm.compile('adam', loss=loss)\n",
    "two assignments": "loss = 'mse'\nif NAME:\n    loss = dice\nm.compile('adam', loss=loss)\n",
    "argument of a function": "def build(loss):\n    m.compile('adam', loss=loss)\nbuild('mse')\nbuild(dice)\n",
    "another model that runs eagerly": "m.compile('adam', loss=dice)\nother.run_eagerly = True\n",
    "run_eagerly false": "m.compile('adam', loss=dice, run_eagerly=False)\n",
}
IN_CLASSES = {
    "bound method": "class Trainer:\n    def loss(self, y, p):\n        return np.mean(y - p)\n"
    "    def build(self):\n        m.compile('adam', loss=self.loss)\n",
    "object that is called": "class Dice:\n    def __call__(self, y, p):\n        return np.mean(y - p)\n"
    "m.compile('adam', loss=Dice())\n",
    "made by a function": "def make(scale):\n    def loss(y, p):\n        return np.mean(y - p) * scale\n    return loss\n"
    "m.compile('adam', loss=make(2.0))\n",
    "partial by name": "import functools\ndef loss(y, p, scale):\n    return np.mean(y - p) * scale\n"
    "m.compile('adam', loss=functools.partial(loss, scale=2.0))\n",
    "compile of the class hands it on": "class Net(keras.Model):\n    def compile(self, optimizer, loss):\n"
    "        super().compile(optimizer=optimizer, loss=loss)\nn = Net()\nn.compile(optimizer='adam', loss=dice)\n",
    "registered": "@keras.saving.register_keras_serializable()\n" + DICE + "m.compile('adam', loss=dice)\n",
}
SILENT = {
    "other method": "m.prepare('adam', loss=dice)\n",
    "compile of a class that is no model": "class Trainer:\n    def compile(self, optimizer, loss):\n        self.loss = loss\n"
    "    def fit(self, x, y):\n        return self.loss(y, x)\nt = Trainer()\nt.compile(optimizer='adam', loss=dice)\n",
    "compile of a class that keeps it": "class Net(keras.Model):\n    def compile(self, optimizer, loss):\n"
    "        super().compile(optimizer=optimizer)\n        self.near = loss\nn = Net()\nn.compile(optimizer='adam', loss=dice)\n",
    "run on the host": "def on_host(y, p):\n    return tf.numpy_function(dice, [y, p], tf.float32)\nm.compile('adam', loss=on_host)\n",
    "run eagerly": "m.compile('adam', loss=dice, run_eagerly=True)\n",
    "run eagerly by an attribute": "m.compile('adam', loss=dice)\nm.run_eagerly = True\n",
    "maybe eagerly": "m.compile('adam', loss=dice, run_eagerly=NAME)\n",
    "loss weights of numbers": "m.compile('adam', loss='mse', loss_weights=[np.mean([1.0, 2.0])])\n",
    "key of a dictionary": "m.compile('adam', loss={dice: 'mse'})\n",
    "dictionary that is not handed over": "LOSSES = {'dice': dice}\nm.compile('adam', loss='mse')\n",
    "its result": "m.compile('adam', loss='mse', loss_weights=[dice(np.ones(3), np.zeros(3))])\n",
    "another key": "LOSSES = {'dice': dice, 'mse': 'mse'}\nm.compile('adam', loss=LOSSES['mse'])\n",
    "another argument": "m.compile('adam', **dict(loss='mse', note=dice))\n",
    "moved to the host": "def on_host(f):\n    def run(y, p):\n        return tf.numpy_function(f, [y, p], tf.float32)\n    return run\n"
    "@on_host\ndef near(y, p):\n    return np.mean(y - p)\nm.compile('adam', loss=near)\n",
    "first argument is filled": "import functools\ndef scaled(n, y, p):\n    return tf.reduce_mean(y - p) * np.sqrt(n)\n"
    "m.compile('adam', loss=functools.partial(scaled, 2.0))\n",
    "a name is filled": "import functools\ndef scaled(y, n, p):\n    return tf.reduce_mean(y - p) * np.sqrt(n)\n"
    "m.compile('adam', loss=functools.partial(scaled, n=2.0))\n",
    "method of the class itself": "class Trainer:\n    def loss(y, p):\n        return np.sqrt(y)\n"
    "m.compile('adam', loss=Trainer.loss)\n",
}


@pytest.mark.parametrize("code", [*COMPILED.values(), *IN_CLASSES.values()], ids=[*COMPILED, *IN_CLASSES])
def test_what_keras_is_given_is_traced(code: str, tmp_path: Path) -> None:
    """Protects recall: each way in which a function comes to `compile`."""
    assert codes(HEAD + DICE + MODEL + code, tmp_path).count("TFG101") == 1


@pytest.mark.parametrize("code", COMPILED.values(), ids=COMPILED.keys())
def test_a_loss_of_another_file_is_found_there(code: str, tmp_path: Path) -> None:
    """Protects projects of several files, and that their files pass the first looks."""
    (tmp_path / "losses.py").write_text("import numpy as np\n" + DICE)
    head = "import tensorflow as tf\nfrom tensorflow import keras\nfrom losses import dice\n"
    assert found(head + MODEL + code, tmp_path) == {("TFG101 losses.py", 3)}


def test_losses_that_a_file_collects_are_found_there(tmp_path: Path) -> None:
    (tmp_path / "losses.py").write_text("import numpy as np\n" + DICE + "LOSSES = {'dice': dice}\n")
    head = "import tensorflow as tf\nfrom tensorflow import keras\nimport losses\n"
    assert found(head + MODEL + "m.compile('adam', loss=losses.LOSSES[NAME])\n", tmp_path) == {("TFG101 losses.py", 3)}
    assert found(head + MODEL + "m.compile('adam', metrics=[losses.dice])\n", tmp_path) == {("TFG101 losses.py", 3)}


@pytest.mark.parametrize("code", SILENT.values(), ids=SILENT.keys())
def test_what_keras_does_not_trace_is_silent(code: str, tmp_path: Path) -> None:
    """Protects precision: what is only near a call of `compile` may get arrays."""
    assert "TFG101" not in codes(HEAD + DICE + MODEL + code, tmp_path)


def test_the_finding_says_what_is_traced_and_where_it_is_given(tmp_path: Path) -> None:
    """Protects the words: a loss is no layer, and who reads its file does not see who compiles with it."""
    (tmp_path / "losses.py").write_text("import numpy as np\n" + DICE)
    code = "from tensorflow import keras\nfrom losses import dice\n" + MODEL + "m.compile('adam', loss=dice)\n"
    ((_, finding),) = [one for one in findings(code, tmp_path) if one[0].code == "TFG101"]
    assert "in the loss `dice`: it raises when Keras traces it (`fit`, `evaluate`)" in finding.message
    assert [note.message for note in finding.notes] == ["the loss is given here"]
    assert finding.fix is None or finding.fix.applicability != "safe"
