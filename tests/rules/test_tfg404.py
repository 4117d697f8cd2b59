"""TFG404 model-exceeds-memory: what training holds, and the setting that it is compared with."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from checks import NEWEST, findings, notebook

from tflint_gpu.rule import Finding
from tflint_gpu.targets import Target

GIB = 1 << 30
SMALL = replace(NEWEST, gpu_memory=GIB)
HEAD = """\
import tensorflow as tf
from tensorflow import keras
from tensorflow.keras import layers
"""
# What one sample leaves is about 33 MiB: 32 of them leave about 1 GiB.
NET = HEAD + (
    "def build():\n"
    "    inputs = keras.Input((256, 256, 3))\n"
    "    x = layers.Conv2D(64, 3, padding='same', activation='relu')(inputs)\n"
    "    x = layers.Conv2D(64, 3, padding='same', activation='relu')(x)\n"
    "    x = layers.GlobalAveragePooling2D()(x)\n"
    "    return keras.Model(inputs, layers.Dense(10)(x))\n"
)
COMPILED = NET + "model = build()\nmodel.compile(optimizer='adam', loss='mse')\n"
FIT = "model.fit(x, y, batch_size=64)\n"

FOUND = {
    "plain": COMPILED + FIT,
    "the usual batch size": COMPILED.replace("(256, 256", "(512, 256") + "model.fit(x, y)\n",
    "through constants": COMPILED + "BASE = 16\nCFG = {'batch_size': BASE * 4}\nmodel.fit(x, y, **CFG)\n",
    "through a parameter": NET
    + "def train(model, size, epochs=3):\n    model.compile('adam', 'mse')\n    model.fit(x, y, size)\ntrain(build(), 64)\n",
    "in a class": NET + "class Trainer:\n    SIZE = 64\n    def __init__(self):\n        self.model = build()\n"
    "        self.model.compile('adam', 'mse')\n"
    "    def run(self, x, y):\n        self.model.fit(x, y, batch_size=self.SIZE)\n",
    "in a program": NET
    + "def main():\n    model = build()\n    model.compile('adam', 'mse')\n    model.fit(x, y, batch_size=64)\n"
    "if __name__ == '__main__':\n    main()\n",
    "in a function that nobody calls": NET
    + "def main(_):\n    model = build()\n    model.compile('adam', 'mse')\n    model.fit(x, y, batch_size=64)\n",
    "a dataset": COMPILED
    + "ds = tf.data.Dataset.from_tensor_slices((x, y)).shuffle(10).batch(64).prefetch(2)\nmodel.fit(ds, epochs=2)\n",
    "under a flag": COMPILED + "if args.train:\n    model.fit(x, y, batch_size=64)\n",
    "in a loop over folds": NET + "for train, test in folds:\n    model = build()\n    model.compile('adam', 'mse')\n"
    "    model.fit(x[train], y[train], batch_size=64)\n",
    "an array of known size": COMPILED
    + "import numpy as np\nmodel.fit(np.zeros((64, 256, 256, 3)), np.zeros((64, 10)), batch_size=64)\n",
    "one batch": COMPILED + "import numpy as np\nmodel.train_on_batch(np.zeros((64, 256, 256, 3)), y)\n",
    "parameters alone": HEAD
    + "model = keras.Sequential([keras.Input((20000,)), layers.Dense(10000), layers.Dense(1)])\n"
    "model.compile(keras.optimizers.Adam(1e-3), 'mse')\nmodel.fit(x, y, batch_size=2)\n",
    "of the table": HEAD
    + "model = keras.applications.ResNet50(weights=None)\nmodel.compile('sgd', 'mse')\nmodel.fit(x, y, batch_size=64)\n",
    "an optimizer in a variable": NET + "optimizer = tf.keras.optimizers.SGD(0.1, momentum=0.9)\nmodel = build()\n"
    "model.compile(loss='mse', optimizer=optimizer)\n" + FIT,
    "layers after a star": "from tensorflow.keras.layers import *\nfrom tensorflow.keras.models import *\n"
    "model = Sequential()\nmodel.add(Input((256, 256, 3)))\nmodel.add(Conv2D(128, 3, padding='same'))\n"
    "model.add(Conv2D(128, 3, activation='relu'))\nmodel.add(LSTM(3) if False else Conv2D(1, 1))\n"
    "model.compile('adam', 'mse')\n" + FIT,
    "mixed precision, twice the batch": HEAD
    + "keras.mixed_precision.set_global_policy('mixed_float16')\n"
    + COMPILED.removeprefix(HEAD)
    + "model.fit(x, y, batch_size=128)\n",
    "frozen and unfrozen again": NET + "model = build()\nfor layer in model.layers:\n    layer.trainable = False\n"
    "for layer in model.layers:\n    layer.trainable = True\nmodel.compile('adam', 'mse')\n" + FIT,
    "shape of loaded data": HEAD + "(x, y), _ = keras.datasets.cifar10.load_data()\nx = x.astype('float32') / 255\n"
    "model = keras.Sequential([keras.Input(x.shape[1:]), layers.Conv2D(64, 3, activation='relu'),\n"
    "    layers.Conv2D(64, 3, activation='relu'), layers.Flatten(), layers.Dense(10)])\n"
    "model.compile('adam', 'mse')\nmodel.fit(x, y, batch_size=4096)\n",
}
SILENT = {
    "fits": COMPILED + "model.fit(x, y, batch_size=8)\n",
    "not compiled": NET + "model = build()\n" + FIT,
    "batch size of the command line": COMPILED + "model.fit(x, y, batch_size=args.batch_size)\n",
    "batch size is a default": NET
    + "def train(batch_size=64):\n    model = build()\n    model.compile('adam', 'mse')\n"
    "    model.fit(x, y, batch_size=batch_size)\n",
    "unknown data": COMPILED + "model.fit(data, batch_size=64)\n",
    "unknown layer": COMPILED.replace("layers.GlobalAveragePooling2D()", "Pooling()") + FIT,
    "unknown shape": COMPILED.replace("(256, 256, 3)", "(None, None, 3)") + FIT,
    "shape of a parameter": COMPILED.replace("build()", "build(size)").replace("256, 256", "size, size") + FIT,
    "unknown filters": COMPILED.replace("Conv2D(64", "Conv2D(config.filters") + FIT,
    "unknown optimizer": NET + "model = build()\nmodel.compile(optimizer=make(), loss='mse')\n" + FIT,
    "optimizer chosen at run time": NET
    + "model = build()\nif args.fast:\n    model.compile('sgd', 'mse')\nelse:\n    model.compile('adam', 'mse')\n"
    + FIT,
    "layers added at run time": HEAD
    + "model = keras.Sequential([keras.Input((256, 256, 3))])\nfor _ in range(args.depth):\n"
    "    model.add(layers.Conv2D(64, 3, padding='same'))\nmodel.compile('adam', 'mse')\n" + FIT,
    "a layer in one branch": HEAD
    + "model = keras.Sequential([keras.Input((256, 256, 3))])\nmodel.add(layers.Conv2D(64, 3, padding='same'))\n"
    "if args.deep:\n    model.add(layers.Conv2D(64, 3, padding='same', activation='relu'))\n"
    "model.compile('adam', 'mse')\n" + FIT,
    "frozen": HEAD + "base = keras.applications.ResNet50(include_top=False, pooling='avg', input_shape=(224, 224, 3))\n"
    "base.trainable = False\nmodel = keras.Sequential([base, layers.Dense(2)])\nmodel.compile('adam', 'mse')\n" + FIT,
    "each layer frozen": HEAD
    + "base = keras.applications.ResNet50(include_top=False, pooling='avg', input_shape=(224, 224, 3))\n"
    "for layer in base.layers:\n    layer.trainable = False\n"
    "model = keras.Model(base.input, layers.Dense(2)(base.output))\nmodel.compile('adam', 'mse')\n" + FIT,
    "unfrozen after it was trained": HEAD
    + "base = keras.applications.ResNet50(include_top=False, pooling='avg', input_shape=(224, 224, 3))\n"
    "base.trainable = False\nmodel = keras.Sequential([base, layers.Dense(2)])\nmodel.compile('adam', 'mse')\n"
    + FIT
    + "base.trainable = True\n",
    "layers added after it was trained": HEAD
    + "model = keras.Sequential([keras.Input((512, 512, 3)), layers.Conv2D(1, 3)])\nmodel.compile('adam', 'mse')\n"
    + FIT
    + "model.add(layers.Conv2D(512, 3))\n",
    "some layers frozen": HEAD
    + "base = keras.applications.ResNet50(include_top=False, pooling='avg', input_shape=(224, 224, 3))\n"
    "for layer in base.layers[:100]:\n    layer.trainable = False\n"
    "model = keras.Model(base.input, layers.Dense(2)(base.output))\nmodel.compile('adam', 'mse')\n" + FIT,
    "some layers of a model with inputs and outputs": NET
    + "model = build()\nfor layer in model.layers[1:3]:\n    layer.trainable = False\n"
    "model.compile('adam', 'mse')\n" + FIT,
    "a layer by its name": NET
    + "model = build()\nmodel.get_layer('conv2d').trainable = False\nmodel.compile('adam', 'mse')\n"
    + FIT,
    "layers of a kind": NET + "model = build()\nfor layer in model.layers:\n    if isinstance(layer, layers.Conv2D):\n"
    "        layer.trainable = False\nmodel.compile('adam', 'mse')\n" + FIT,
    "outputs that are computed again": NET
    + "with keras.RematScope(mode='full'):\n    model = build()\nmodel.compile('adam', 'mse')\n"
    + FIT,
    "channels first": "import keras\nkeras.backend.set_image_data_format('channels_first')\n" + COMPILED + FIT,
    "few rows": COMPILED
    + "import numpy as np\nmodel.fit(np.zeros((10, 256, 256, 3)), np.zeros((10, 10)), batch_size=64)\n",
    "predicts": COMPILED + "model.predict(x, batch_size=64)\nmodel.evaluate(x, y, batch_size=64)\n",
    "under a strategy": NET
    + "strategy = tf.distribute.MirroredStrategy()\nwith strategy.scope():\n    model = build()\n"
    "    model.compile('adam', 'mse')\n" + FIT,
    "on the CPU": COMPILED + "with tf.device('/CPU:0'):\n    " + FIT,
    "hidden GPUs": "import os\nos.environ['CUDA_VISIBLE_DEVICES'] = '-1'\n" + COMPILED + FIT,
    "another backend": "import os\nos.environ['KERAS_BACKEND'] = 'jax'\n" + COMPILED + FIT,
    "mixed precision": HEAD
    + "keras.mixed_precision.set_global_policy('mixed_float16')\n"
    + COMPILED.removeprefix(HEAD)
    + "model.fit(x, y, batch_size=56)\n",
    "an unknown policy": HEAD
    + "keras.mixed_precision.set_global_policy(args.policy)\n"
    + COMPILED.removeprefix(HEAD)
    + FIT,
    "changed by unknown code": COMPILED + "shrink = load('shrink')\nshrink(model)\n" + FIT,
    "another library's fit": "import tensorflow as tf\nfrom sklearn.svm import SVC\nSVC().fit(x, y)\n",
    "a model of the project": HEAD
    + "class Net(keras.Model):\n    def call(self, x):\n        return layers.Conv2D(64, 3)(x)\n"
    "model = Net()\nmodel.compile('adam', 'mse')\n" + FIT,
    "given by a function": COMPILED.replace("model = build()", "model = load()") + FIT,
    "replaced layers": HEAD
    + "model = keras.Sequential([keras.Input((256, 256, 3)), layers.Conv2D(64, 3, activation='relu')])\n"
    "model.pop()\nmodel.add(layers.Flatten())\nmodel.compile('adam', 'mse')\n" + FIT,
    "batches of a generator": COMPILED + "model.fit(generator(), steps_per_epoch=10)\n",
    "a slice of a known array": COMPILED
    + "import numpy as np\nx = np.zeros((1000, 256, 256, 3))\nmodel.fit(x[:20], y[:20], batch_size=64)\n",
}


def of_404(code: str, folder: Path, target: Target = SMALL, name: str = "train.py") -> list[Finding]:
    """What TFG404 finds."""
    return [finding for rule, finding in findings(code, folder, name, target) if rule.code == "TFG404"]


@pytest.mark.parametrize("name", FOUND)
def test_it_is_found(name: str, tmp_path: Path) -> None:
    (finding,) = of_404(FOUND[name], tmp_path)
    assert finding.file.code(finding.node) in ("fit", "train_on_batch")


@pytest.mark.parametrize("name", SILENT)
def test_lookalikes_stay_silent(name: str, tmp_path: Path) -> None:
    assert of_404(SILENT[name], tmp_path) == []


@pytest.mark.parametrize("name", FOUND)
def test_without_the_setting_it_is_silent(name: str, tmp_path: Path) -> None:
    assert of_404(FOUND[name], tmp_path, NEWEST) == []


@pytest.mark.parametrize("name", FOUND)
def test_a_larger_card_is_enough(name: str, tmp_path: Path) -> None:
    assert of_404(FOUND[name], tmp_path, replace(NEWEST, gpu_memory=80 * GIB)) == []


def test_a_network_of_another_file(tmp_path: Path) -> None:
    (tmp_path / "nets").mkdir()
    (tmp_path / "nets" / "__init__.py").write_text("from .deep import build\nSIZE = 64\n")
    (tmp_path / "nets" / "deep.py").write_text(NET)
    code = (
        HEAD
        + "import nets\nmodel = nets.build()\nmodel.compile('adam', 'mse')\nmodel.fit(x, y, batch_size=nets.SIZE)\n"
    )
    (finding,) = of_404(code, tmp_path)
    assert [note.file.source.path.name for note in finding.notes] == ["deep.py", "train.py", "deep.py"]


def test_a_training_in_another_file(tmp_path: Path) -> None:
    (tmp_path / "loop.py").write_text(HEAD + "def train(model, size):\n    model.fit(x, y, batch_size=size)\n")
    code = COMPILED + "from loop import train\ntrain(model, 64)\n"
    (finding,) = of_404(code, tmp_path)
    assert finding.file.source.path.name == "loop.py"


def test_a_notebook(tmp_path: Path) -> None:
    code = notebook(HEAD, COMPILED.removeprefix(HEAD), "%matplotlib inline\n" + FIT)
    (tmp_path / "a.ipynb").write_text(code)
    assert len(of_404(code, tmp_path, name="a.ipynb")) == 1


def test_the_table_adds_up(tmp_path: Path) -> None:
    (finding,) = of_404(COMPILED + FIT, tmp_path)
    first, *rows = finding.help.splitlines()
    weights = 3 * 3 * 3 * 64 + 64 + 3 * 3 * 64 * 64 + 64 + 640 + 10
    outputs = 256 * 256 * (3 + 64 + 64) + 64 + 10
    assert rows[0].split() == ["parameters", f"{weights:,}", "154", "KiB"]
    assert rows[1].split() == ["gradients", f"{weights:,}", "154", "KiB"]
    assert f"{2 * weights:,}" in rows[2]
    assert "Adam: 2 for each" in rows[2]
    assert f"{64 * outputs:,}" in rows[3]
    assert "at a batch size of 64" in rows[3]
    assert "workspace" in rows[4]
    assert first.startswith("by this estimate, batch sizes of up to 31 fit")
    assert "about 2.0 GiB" in finding.message
    assert "1.0 GiB of `gpu-memory`" in finding.message


SLOTS = {
    "'sgd'": 0,
    "'RMSprop'": 1,
    "keras.optimizers.SGD(momentum=0.9)": 1,
    "keras.optimizers.legacy.SGD(0.1, 0.9)": 1,
    "tf.optimizers.Adagrad()": 1,
    "keras.optimizers.RMSprop(0.1, momentum=0.9, centered=True)": 3,
    "keras.optimizers.Adam(use_ema=True)": 3,
    "keras.mixed_precision.LossScaleOptimizer(keras.optimizers.Adam())": 2,
    "keras.optimizers.Adam(keras.optimizers.schedules.ExponentialDecay(0.1, 10, 0.9))": 2,
}


@pytest.mark.parametrize("optimizer", SLOTS)
def test_slots_of_optimizers(optimizer: str, tmp_path: Path) -> None:
    (finding,) = of_404(NET + f"model = build()\nmodel.compile(loss='mse', optimizer={optimizer})\n" + FIT, tmp_path)
    assert f": {SLOTS[optimizer]} for each trainable parameter" in finding.help


# The setting.


@pytest.mark.slow
def test_the_command_has_it_as_an_option_and_as_a_setting(tmp_path: Path, tflint: Any) -> None:
    (tmp_path / "train.py").write_text(COMPILED + FIT)
    assert "TFG404" not in tflint("check", "--isolated").stdout
    by_option = tflint("check", "--isolated", "--gpu-memory", "1GiB").stdout
    assert "help: by this estimate, batch sizes of up to 31 fit" in by_option
    assert "\n     parameters " in by_option
    (tmp_path / "pyproject.toml").write_text('[tool.tflint-gpu]\ngpu-memory = "1 GiB"\n')
    assert "TFG404" in tflint("check").stdout
    assert "TFG404" not in tflint("check", "--gpu-memory", "80GB").stdout  # also not out of the cache
    assert "TFG404" in tflint("check").stdout
    shown = tflint("check", "--show-settings").stdout
    assert f'gpu-memory = "1 GiB"  # {tmp_path / "pyproject.toml"}' in shown
    found = [one for one in json.loads(tflint("check", "--output-format", "json").stdout) if one["code"] == "TFG404"]
    assert "activations" in found[0]["help"]


def test_whoever_asks_for_the_rule_is_told_of_the_setting(tmp_path: Path, tflint: Any) -> None:
    (tmp_path / "train.py").write_text(COMPILED + FIT)
    done = tflint("check", "--isolated", "--select", "TFG404")
    assert (done.returncode, done.stderr.count("TFG404 needs the setting `gpu-memory`")) == (0, 1)
    assert "gpu-memory" not in tflint("check", "--isolated", "--select", "TFG4").stderr
    assert "needs the setting" not in tflint("check", "--isolated", "--select", "TFG404", "--gpu-memory", "8GB").stderr


# The truth: the growth of a process by one training step, on the CPU.


@pytest.mark.slow
def test_the_state_of_an_optimizer_is_what_the_table_says(tmp_path: Path) -> None:
    """Protects the rows of the table: parameters, gradients and slots of real Keras, in numbers."""
    import keras
    import numpy as np

    variables: dict[str, Any] = {}
    exec(COMPILED.replace("256, 256", "16, 16"), variables)
    network = variables["model"]
    network.train_on_batch(np.zeros((2, 16, 16, 3)), np.zeros((2, 10)))
    code = COMPILED.replace("256, 256", "16, 16") + "model.fit(x, y, batch_size=2)\n"
    (finding,) = of_404(code, tmp_path, replace(NEWEST, gpu_memory=1000))
    slots = sum(int(np.prod(v.shape)) for v in network.optimizer.variables if len(v.shape) > 0)
    assert isinstance(network, keras.Model)
    assert f"{network.count_params():,}" in finding.help
    assert f"{slots:,}" in finding.help
