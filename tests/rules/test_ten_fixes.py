"""Ten findings of ten rules in one file: one call mends them all, and the program does what it is meant to do."""

from __future__ import annotations

import difflib
import os
import subprocess
import sys
from pathlib import Path

import pytest
from checks import findings

_PROGRAM = '''\
"""A program with one mistake of each kind that can be mended."""

import numpy as np
import tensorflow as tf

tf.keras.utils.set_random_seed(1)
gpus = tf.config.experimental.list_physical_devices("GPU")
tf.config.set_visible_devices(gpus[0], "GPU")
if gpus:
    tf.config.experimental.set_memory_growth(gpus[0], True)

features = np.linspace(0.0, 1.0, 512).reshape(256, 2).astype("float32")
labels = features.sum(axis=1, keepdims=True)


class Wave(tf.keras.layers.Layer):
    def call(self, inputs):
        return np.sin(inputs)


def add_noise(x, y):
    return x + 0.001 * tf.random.normal(tf.shape(x)), y


train = tf.data.Dataset.from_tensor_slices((features, labels))
train.shuffle(256)
train = train.map(lambda x, y: (x / 2.0, y)).batch(32)
train = train.map(add_noise).prefetch(tf.data.experimental.AUTOTUNE)
valid = tf.data.Dataset.from_tensor_slices((features, labels)).prefetch(2).batch(32)

model = tf.keras.Sequential([tf.keras.layers.Dense(4), Wave(), tf.keras.layers.Dense(1)])
optimizer = tf.keras.optimizers.Adam(0.01)


def train_step(x, y):
    with tf.GradientTape() as tape:
        loss = tf.reduce_mean(tf.square(model(x, training=True) - y))
    gradients = tape.gradient(loss, model.trainable_variables)
    optimizer.apply_gradients(zip(gradients, model.trainable_variables))


@tf.function
def weighted(x, number):
    return tf.reduce_mean(model(x)) * tf.cast(number, tf.float32)


for epoch in range(20):
    for x, y in train:
        train_step(x, y)
    weighted(features, epoch)

model.compile(optimizer="sgd", loss="mse")
model.fit(train, validation_data=valid, epochs=1, verbose=0)
print("uses a GPU:", tf.test.is_gpu_available())
print("loss", float(tf.reduce_mean(tf.square(model(features / 2.0) - labels))))
'''
_CODES = {
    *("TFG101", "TFG202", "TFG204", "TFG302", "TFG304", "TFG308", "TFG506", "TFG701", "TFG707", "TFG713"),
}


@pytest.fixture(scope="module")
def mended(tmp_path_factory: pytest.TempPathFactory) -> tuple[str, str]:
    """What `--diff` prints, and the file that one `--fix` leaves."""
    folder = tmp_path_factory.mktemp("ten")
    path = folder / "train.py"
    path.write_text(_PROGRAM)
    shown = _check(folder, "--diff")
    _check(folder, "--fix")
    return shown, path.read_text()


def _check(folder: Path, option: str) -> str:
    command = [sys.executable, "-m", "tflint_gpu", "check", "--isolated", "--no-cache", "--unsafe-fixes", option, "."]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False).stdout


def test_there_are_ten(tmp_path: Path) -> None:
    found = [rule.code for rule, _ in findings(_PROGRAM, tmp_path) if not rule.opt_in]
    assert sorted(found) == sorted(_CODES)


@pytest.mark.slow
def test_one_call_leaves_none(mended: tuple[str, str], tmp_path: Path) -> None:
    """Protects users from a second round, and the diff from being another one than what is written."""
    shown, after = mended
    compile(after, "train.py", "exec")
    assert [rule.code for rule, _ in findings(after, tmp_path) if not rule.opt_in] == []
    lines = difflib.unified_diff(_PROGRAM.splitlines(True), after.splitlines(True), "train.py", "train.py")
    assert "".join(lines) in shown


@pytest.mark.slow
def test_the_mended_program_trains(mended: tuple[str, str], tmp_path: Path) -> None:
    """Protects behaviour: before, it stops where no GPU is; mended, it learns the sum."""
    pytest.importorskip("tensorflow")
    environment = {**os.environ, "CUDA_VISIBLE_DEVICES": "", "TF_CPP_MIN_LOG_LEVEL": "3"}
    outputs = []
    for text in (_PROGRAM, mended[1]):
        done = subprocess.run(
            [sys.executable, "-c", text], cwd=tmp_path, capture_output=True, text=True, check=False, env=environment
        )
        outputs.append(done)
    before, after = outputs
    assert "IndexError" in before.stderr
    assert after.returncode == 0, after.stderr
    assert float(after.stdout.split("loss ")[1]) < 0.1
