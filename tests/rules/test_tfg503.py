"""TFG503: a line that hides all GPUs of a training program which is written for them is found; what is meant is not."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from checks import codes, found, notebook

TF = "import tensorflow as tf\n"
HIDE = "import os\nos.environ['CUDA_VISIBLE_DEVICES'] = '-1'\n"
GROW = "for gpu in tf.config.list_physical_devices('GPU'):\n    tf.config.experimental.set_memory_growth(gpu, True)\n"
TRAIN = "model = tf.keras.Sequential([tf.keras.layers.Dense(1)])\nmodel.compile('adam', 'mse')\nmodel.fit(x, y)\n"

HIDDEN = {  # the row of the place
    "the variable": (HIDE + TF + GROW + TRAIN, 2),
    "an empty variable": (HIDE.replace("-1", "") + TF + GROW + TRAIN, 2),
    "from os": ("from os import environ\nenviron['CUDA_VISIBLE_DEVICES'] = '-1'\n" + TF + GROW + TRAIN, 2),
    "a constant": ("import os\nGPU = '-1'\nos.environ['CUDA_VISIBLE_DEVICES'] = GPU\n" + TF + GROW + TRAIN, 3),
    "the configuration": (TF + "tf.config.set_visible_devices([], 'GPU')\n" + GROW + TRAIN, 2),
    "a device is named": (HIDE + TF + "with tf.device('/GPU:0'):\n    x = tf.ones((4, 4))\n" + TRAIN, 2),
    "a limit": (
        HIDE
        + TF
        + "gpus = tf.config.list_physical_devices('GPU')\nif gpus:\n    tf.config.set_logical_device_configuration("
        "gpus[0], [tf.config.LogicalDeviceConfiguration(memory_limit=1024)])\n" + TRAIN,
        2,
    ),
    "in main": (
        "import os\n"
        + TF
        + "def main():\n    os.environ['CUDA_VISIBLE_DEVICES'] = '-1'\n    "
        + (GROW + TRAIN).replace("\n", "\n    ").rstrip()
        + "\nif __name__ == '__main__':\n    main()\n",
        4,
    ),
    "a loop of its own": (
        HIDE + TF + GROW + "for x in data:\n    with tf.GradientTape() as tape:\n        loss = net(x)\n"
        "    optimizer.apply_gradients(zip(tape.gradient(loss, net.weights), net.weights))\n",
        2,
    ),
}
FINE = {
    "the first GPU": HIDE.replace("-1", "0") + TF + GROW + TRAIN,
    "nothing for GPUs": HIDE + TF + TRAIN,
    "a comment says so": HIDE.rstrip() + "  # train on the CPU\n" + TF + GROW + TRAIN,
    "a comment above": HIDE.replace("os.environ", "# no GPU for debugging\nos.environ") + TF + GROW + TRAIN,
    "a choice": "import os\nif args.cpu:\n    os.environ['CUDA_VISIBLE_DEVICES'] = '-1'\n" + TF + GROW + TRAIN,
    "a value from elsewhere": "import os\nos.environ['CUDA_VISIBLE_DEVICES'] = args.gpu\n" + TF + GROW + TRAIN,
    "a default": "import os\nos.environ.setdefault('CUDA_VISIBLE_DEVICES', '-1')\n" + TF + GROW + TRAIN,
    "changed later": HIDE + "os.environ['CUDA_VISIBLE_DEVICES'] = '0'\n" + TF + GROW + TRAIN,
    "only predicts": HIDE + TF + GROW + "model = tf.keras.models.load_model(p)\nmodel.predict(x)\n",
    "trains nothing": HIDE + TF + GROW,
    "one layer on the CPU": TF
    + GROW
    + "with tf.device('/CPU:0'):\n    table = tf.keras.layers.Embedding(9, 9)\n"
    + TRAIN,
    "the other GPUs": TF
    + "gpus = tf.config.list_physical_devices('GPU')\ntf.config.set_visible_devices(gpus[:1], 'GPU')\n"
    + GROW
    + TRAIN,
    "no TPU": TF + "tf.config.set_visible_devices([], 'TPU')\n" + GROW + TRAIN,
    "a function that nobody calls": "import os\ndef on_cpu():\n    os.environ['CUDA_VISIBLE_DEVICES'] = '-1'\n"
    + TF
    + GROW
    + TRAIN,
    "an environment for another process": "env = dict(CUDA_VISIBLE_DEVICES='-1')\n" + TF + GROW + TRAIN,
    "another mapping": "env['CUDA_VISIBLE_DEVICES'] = '-1'\n" + TF + GROW + TRAIN,
    "too late": "import os\n" + TF + "tf.constant(1)\nos.environ['CUDA_VISIBLE_DEVICES'] = '-1'\n" + GROW + TRAIN,
    "the training is commented out": HIDE + TF + GROW + "# model.fit(x, y)\n",
}


def _table(cases: dict[str, object]) -> pytest.MarkDecorator:
    return pytest.mark.parametrize("case", cases.values(), ids=cases)


@_table(HIDDEN)  # type: ignore[arg-type]
def test_hidden_gpus_are_found(case: tuple[str, int], tmp_path: Path) -> None:
    code, row = case
    assert [place for name, place in found(code, tmp_path) if name == "TFG503"] == [row]


@_table(FINE)  # type: ignore[arg-type]
def test_what_is_meant_is_not_found(case: str, tmp_path: Path) -> None:
    assert "TFG503" not in codes(case, tmp_path)


def test_a_notebook_with_training_in_another_file(tmp_path: Path) -> None:
    (tmp_path / "trainer.py").write_text(TF + "def train(x, y):\n    " + TRAIN.replace("\n", "\n    "))
    code = notebook(HIDE, TF + GROW, "from trainer import train\ntrain(x, y)\n")
    assert ("TFG503", 2) in found(code, tmp_path, "a.ipynb")


def test_tests_are_left_alone(tmp_path: Path) -> None:
    assert "TFG503" not in {name for name, _ in found(HIDDEN["the variable"][0], tmp_path, "tests/x.py")}


@pytest.mark.slow
def test_the_truth_no_gpu_is_left() -> None:
    """With the installed TensorFlow; only a machine with a GPU can see a difference."""
    code = HIDE + TF + "print(tf.config.list_logical_devices('GPU'))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=600, check=True)
    assert done.stdout.strip() == "[]"
