"""Settings that are tried: what each changes in a real training, and where the code has to change instead."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tflint_gpu.run.samples import Place
from tflint_gpu.run.steps import Training
from tflint_gpu.run.trials import (
    UNCHANGED,
    Setting,
    Trial,
    UnknownSetting,
    largest_batch,
    lines_to_change,
    settings,
    summarised,
)

FIT = Place("train.py", 9, "<module>", 1, 30)
OF_ARRAYS = """\
import os
import tensorflow as tf
assert "TFLINT_GPU_TRY" not in os.environ
model = tf.keras.Sequential([tf.keras.Input((4,)), tf.keras.layers.Dense(1)])
model.compile("sgd", "mse")
model.fit(tf.ones((128, 4)), tf.ones((128, 1)), batch_size=4, epochs=10**6, verbose=0)
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
for x in numbers().batch(8):
    learn(x)
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


def test_settings_of_fit_are_changed(tmp_path: Path) -> None:
    """Protects the first question: would larger batches be faster, and is what is learnt the same?"""
    found = tried(OF_ARRAYS, "batch=64,xla,workers=2", tmp_path)
    assert (found["as it is"]["batch"], found["batch=64"]["batch"], found["xla"]["batch"]) == (4, 64, 4)
    assert found["batch=64"]["times_as_fast"] and found["xla"]["times_as_fast"]
    assert found["as it is"]["loss"] > 0 and found["xla"]["loss"] == pytest.approx(found["as it is"]["loss"], rel=0.5)
    assert found["workers=2"]["times_as_fast"] is None
    assert found["workers=2"]["change_at"] == [{"filename": str(tmp_path / "train.py"), "row": 6}]


def test_settings_of_a_pipeline_are_changed(tmp_path: Path) -> None:
    found = tried(OF_A_PIPELINE, "batch=32,workers=2,prefetch", tmp_path)
    assert (found["as it is"]["batch"], found["batch=32"]["batch"]) == (8, 32)
    assert all(found[name]["times_as_fast"] for name in ("batch=32", "workers=2", "prefetch")), found
    assert all(found[name]["change_at"] == [] for name in found)
    assert found["as it is"]["peak_memory"] > 1 << 20


def test_a_program_that_fails_says_how(tmp_path: Path) -> None:
    (tmp_path / "train.py").write_text("import sys\nprint('no data', file=sys.stderr)\nsys.exit(3)\n")
    command = [sys.executable, "-m", "tflint_gpu", "run", "--isolated", "--rounds", "1", "--try", "xla", "train.py"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 1 and "as it is: ended with exit code 3 after 0 steps: no data" in done.stdout


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
    return Trial(setting, training, 1, batch, memory, losses)


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
    rounds[0][1].changes = rounds[1][1].changes = rounds[2][1].changes = 0
    assert summarised(rounds, lambda *_: (FIT,))[1].where == (FIT,), "nothing took it"


def test_the_largest_batch_is_on_a_line() -> None:
    rounds = [[trial(Setting("batch", str(size)), 0.01, size, 1000 + 10 * size, {}) for size in (16, 32, 64)]]
    tries = summarised(rounds, lambda *_: ())
    assert largest_batch(tries, 11_000) == 1000
    assert largest_batch(tries[:1], 11_000) is None


def test_the_code_to_change_is_the_datasets_operation() -> None:
    batch, mapped = Place("data.py", 3, "<module>", 3, 3), Place("data.py", 2, "<module>", 2, 2)
    operations = [("map", mapped), ("batch", batch)]
    assert lines_to_change(Setting("batch", "8"), FIT, operations) == (batch,)
    assert lines_to_change(Setting("workers", "8"), FIT, operations) == (mapped,)
    assert lines_to_change(Setting("xla"), FIT, operations) == (FIT,)
    assert lines_to_change(Setting("batch", "8"), FIT, []) == (FIT,)
