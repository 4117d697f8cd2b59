"""Settings that are tried: what each changes in a real training, and where the code has to change instead."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tflint_gpu.run.reports.trials import full
from tflint_gpu.run.samples import Place
from tflint_gpu.run.steps import Training
from tflint_gpu.run.trials import (
    UNCHANGED,
    Setting,
    Trial,
    Tried,
    UnknownSetting,
    largest_batch,
    lines_to_change,
    settings,
    summarised,
)

pytestmark = pytest.mark.slow

FIT = Place("train.py", 9, "<module>", 1, 30)
OF_ARRAYS = """\
import os
import tensorflow as tf
assert "TFLINT_GPU_TRY" not in os.environ
model = tf.keras.Sequential([tf.keras.Input((4,)), tf.keras.layers.Dense(1)])
model.compile("sgd", "mse")
model.fit(tf.ones((128, 4)), tf.constant([[0.0], [2.0]] * 64), batch_size=4, epochs=10**6, verbose=0)
"""
OF_A_PIPELINE = """\
import tensorflow as tf
from tensorflow import keras

layer = keras.layers.Dense(1)
optimizer = keras.optimizers.SGD()


def numbers():
    return tf.data.Dataset.range(10**9).map(lambda n: tf.ones((4,)) * tf.cast(n % 7, tf.float32))


@tf.function
def learn(x):
    with tf.GradientTape() as tape:
        loss = tf.reduce_mean(layer(x) ** 2)
    optimizer.apply_gradients(zip(tape.gradient(loss, layer.trainable_weights), layer.trainable_weights))


layer.build((None, 4))
pairs = tf.data.Dataset.range(64).batch(2).map(lambda pair: pair[0])
assert len(list(pairs.batch(16).take(1))) == 1
for x in numbers().batch(8):
    learn(x)
"""
OF_A_DATASET = """\
import numpy as np
import tensorflow as tf

class Custom(tf.keras.Model):
    def __init__(self):
        super().__init__()
        self.layer = tf.keras.layers.Dense(1)
    def call(self, x):
        return self.layer(x)
    def train_step(self, data):
        super().train_step(data)
        return {"g_loss": tf.constant(float("nan"))}

data = tf.data.Dataset.from_tensors((tf.ones((4,)), tf.ones((1,)))).repeat(640)
windows = data.batch(5)
model = Custom()
model.compile("sgd", "mse", steps_per_execution=np.int64(2))
model.fit(data.batch(np.int64(32)), validation_data=windows.batch(7).unbatch(), epochs=10**6, verbose=0,
          callbacks=tf.keras.callbacks.CallbackList([]))
"""


def tried(program: str, wanted: str, folder: Path) -> dict[str, Any]:
    """What one round says of each setting."""
    (folder / "train.py").write_text(program)
    command = [sys.executable, "-m", "tflint_gpu", "run", "--isolated", "--rounds", "1", "--output-format", "json"]
    done = subprocess.run(
        [*command, "--try", wanted, "train.py"], cwd=folder, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    return {setting.pop("setting"): setting for setting in json.loads(done.stdout)["settings"]}


def test_a_column_has_one_format(tmp_path: Path) -> None:
    """Protects numbers below each other from having different decimals, or an exponent."""
    speeds, losses = (9790.4, 43512.0, None), (0.4744, 12.5, float("nan"))
    tries = [
        Tried(Setting(name), None if speed is None else 1 / speed, None, 4, None, loss, 128, "")
        for name, speed, loss in zip(("", "prefetch", "xla"), speeds, losses, strict=True)
    ]
    rows = full(tries, None, tmp_path).splitlines()[1:]
    assert [row.split() for row in rows] == [
        ["unchanged", "9,790", "0.4744"], ["prefetch", "43,512", "12.5000"], ["xla", "nan"],
    ]  # fmt: skip
    few = [Tried(Setting(), 1 / speed, None, None, None, None, None, "") for speed in (0.5, 123.456)]
    assert [row.split()[1] for row in full(few, None, tmp_path).splitlines()[1:]] == ["0.5000", "123.4560"]


def test_settings_of_fit_are_changed(tmp_path: Path) -> None:
    """Protects the first question: would larger batches be faster, and is what is learnt the same?"""
    found = tried(OF_ARRAYS, "batch=64,4,xla,workers=2", tmp_path)
    assert (found["unchanged"]["batch"], found["batch=64"]["batch"], found["xla"]["batch"]) == (4, 64, 4)
    assert found["batch=64"]["times_as_fast"] and found["xla"]["times_as_fast"]
    assert found["unchanged"]["loss"] > 0 and found["xla"]["loss"] == pytest.approx(found["unchanged"]["loss"], rel=0.5)
    assert (
        found["batch=4"]["has_it"] and found["batch=4"]["times_as_fast"] is None and not found["batch=4"]["change_at"]
    )
    assert found["workers=2"]["times_as_fast"] is None
    assert found["workers=2"]["change_at"] == [{"filename": str(tmp_path / "train.py"), "row": 6}]


def test_settings_of_a_pipeline_are_changed(tmp_path: Path) -> None:
    found = tried(OF_A_PIPELINE, "batch=32,workers=2,prefetch", tmp_path)
    assert (found["unchanged"]["batch"], found["batch=32"]["batch"]) == (8, 32)
    assert all(found[name]["times_as_fast"] for name in ("batch=32", "workers=2", "prefetch")), found
    assert all(found[name]["change_at"] == [] for name in found)
    assert found["unchanged"]["peak_memory"] > 1 << 20


def test_only_the_batch_that_is_trained_on_is_changed(tmp_path: Path) -> None:
    """Protects windows and validation, which are batched, too; losses that are no number; several steps in one call."""
    found = tried(OF_A_DATASET, "batch=16", tmp_path)
    assert (found["unchanged"]["batch"], found["batch=16"]["batch"]) == (64, 32), "two steps in each call"
    assert found["batch=16"]["times_as_fast"] and found["unchanged"]["loss"] is None


def test_a_trial_of_a_program_that_fails_later_is_of_no_use(tmp_path: Path) -> None:
    """Protects the largest batch from being one that ran out of memory after some steps."""
    failing = OF_A_PIPELINE + "    if optimizer.iterations == 40: raise MemoryError('no room')\n"
    (tmp_path / "train.py").write_text(failing)
    command = [
        sys.executable,
        "-m",
        "tflint_gpu",
        "run",
        "--isolated",
        "--rounds",
        "1",
        "--try",
        "prefetch",
        "train.py",
    ]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 1 and "steps: MemoryError: no room" in done.stdout, done.stdout


@pytest.mark.parametrize(
    "options", [("--try", "xla", "--pid", "1"), ("--try", "xla", "--compare"), ("--trace", "9", "--try", "xla")]
)
def test_options_of_which_one_would_be_ignored(options: tuple[str, ...]) -> None:
    command = [sys.executable, "-m", "tflint_gpu", "run", *options]
    done = subprocess.run(
        [*command, *([] if "--pid" in options else ["x.py"])], capture_output=True, text=True, check=False
    )
    assert done.returncode == 2 and "exclude each other" in done.stderr, done.stderr


def test_a_program_that_fails_says_how(tmp_path: Path) -> None:
    (tmp_path / "train.py").write_text("import sys\nprint('no data', file=sys.stderr)\nsys.exit(3)\n")
    command = [sys.executable, "-m", "tflint_gpu", "run", "--isolated", "--rounds", "1", "--try", "xla", "train.py"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 1 and "unchanged: it ended with exit code 3 after 0 steps: no data" in done.stdout


def test_settings_are_read() -> None:
    known = settings("xla,mixed_precision=mixed_bfloat16,batch=64,128,workers=4,prefetch,batch=64")
    assert [str(setting) for setting in known] == [
        "xla", "mixed_precision=mixed_bfloat16", "batch=64", "batch=128", "workers=4", "prefetch",
    ]  # fmt: skip


@pytest.mark.parametrize("text", ["", "batch", "batch=0", "64", "xla=1", "speed", "workers=x", "xla,64"])
def test_what_cannot_be_tried_is_refused(text: str) -> None:
    with pytest.raises(UnknownSetting, match="settings are xla, mixed_precision, batch=64,128"):
        settings(text)


def trial(setting: Setting, seconds: float, batch: int | None, memory: int, losses: dict[int, float]) -> Trial:
    training = Training(FIT, "fit")
    for number in range(30):
        training.add(number * seconds, seconds)
    return Trial(setting, training, True, batch=batch, memory=memory, is_of_gpu=True, losses=losses)


def test_settings_are_compared_by_samples_and_by_rounds() -> None:
    """Protects larger batches from looking slow, as each of their steps takes longer."""
    large = Setting("batch", "64")
    rounds = [
        [trial(UNCHANGED, 0.01 * noise, 16, 100, {16: 3.0, 160: 2.0}), trial(large, 0.02 * noise, 64, 300, {64: 2.5})]
        for noise in (1.0, 1.1, 0.9)
    ]
    before, after = summarised(rounds, lambda *_: (FIT,))
    assert before.ratio is None and after.ratio is not None
    assert after.ratio.ratio == pytest.approx(2.0) and after.ratio.low > 1.9
    assert (after.loss, before.loss, after.samples) == (2.5, 3.0, 64), "after as many samples as all have seen"
    assert after.where == ()
    for trials in rounds:
        trials[1].is_changed = False
    assert summarised(rounds, lambda *_: (FIT,))[1].where == (FIT,), "nothing took it"


def test_the_largest_batch_is_on_a_line() -> None:
    rounds = [[trial(Setting("batch", str(size)), 0.01, size, 1000 + 10 * size, {}) for size in (16, 32, 64)]]
    rounds[0].append(trial(Setting("xla"), 0.01, 16, 9999, {}))
    tries = summarised(rounds, lambda *_: ())
    assert largest_batch(tries, 11_000) == 1000, "and what XLA needs is no part of it"
    assert largest_batch(tries[:1], 11_000) is None


def test_the_code_to_change_is_the_datasets_operation() -> None:
    batch, mapped = Place("data.py", 3, "<module>", 3, 3), Place("data.py", 2, "<module>", 2, 2)
    operations = [("map", mapped), ("batch", batch)]
    assert lines_to_change(Setting("batch", "8"), FIT, operations) == (batch,)
    assert lines_to_change(Setting("workers", "8"), FIT, operations) == (mapped,)
    assert lines_to_change(Setting("xla"), FIT, operations) == (FIT,)
    assert lines_to_change(Setting("batch", "8"), FIT, []) == (FIT,)
