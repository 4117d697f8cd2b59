"""TFG202, TFG206, TFG207, TFG214, TFG215: the predicted range on a CPU narrows with the work that follows from the code."""

from __future__ import annotations

from pathlib import Path

import pytest
from checks import findings

from tflint_gpu.diagnostics import OnCpu, Prediction

HEAD = """
import numpy as np
import tensorflow as tf
from tensorflow import keras
from tensorflow.keras import layers

optimizer = keras.optimizers.SGD()


def dense(units):
    hidden = [layers.Dense(units, activation="relu") for _ in range(4)]
    return keras.Sequential([keras.Input((units,)), *hidden, layers.Dense(10)])


def train_step(model, x, y):
    with tf.GradientTape() as tape:
        loss = tf.reduce_mean(tf.square(model(x, training=True) - y))
    gradients = tape.gradient(loss, model.trainable_variables)
    optimizer.apply_gradients(zip(gradients, model.trainable_variables))
"""
DATA = """
dataset = tf.data.Dataset.from_tensor_slices((features, labels)).batch({batch})
"""
STEPS = """
for x, y in dataset:
    train_step(model, x, y)
"""
FORWARD = """
for x, y in dataset:
    metric.update_state(y, model(x, training=False))
"""
FRAMES = """
while True:
    frame = camera.read()
    boxes = model(np.expand_dims(frame, 0), training=False)
    show(boxes.numpy())
"""
ROWS = """
for row in rows:
    answer = model.predict(row[None])
    save(answer)
"""
BATCHES = """
critic = keras.models.load_model("critic.keras")
for step in range(10_000):
    noise = np.random.normal(size=({batch}, {units}))
    images = model.predict(noise)
    critic.train_on_batch(images, np.zeros({batch}))
"""
EACH = {"TFG202": STEPS, "TFG207": FORWARD, "TFG214": FRAMES, "TFG206": ROWS, "TFG215": BATCHES}
LARGE, SMALL = 8192, 16


def prediction_of(code: str, program: str, folder: Path) -> Prediction:
    """The prediction of the only finding of a rule."""
    (prediction,) = [f.prediction for rule, f in findings(HEAD + program, folder) if rule.code == code]
    return prediction


def program(code: str, model: str, batch: str = "256", units: int = LARGE) -> str:
    """A program that a rule flags, with a model."""
    body = EACH[code].format(batch=batch, units=units) if code == "TFG215" else EACH[code]
    return f"model = {model}\n" + DATA.format(batch=batch) + body


@pytest.mark.parametrize("code", EACH)
def test_a_large_network_narrows_the_range_on_a_cpu(code: str, tmp_path: Path) -> None:
    prediction = prediction_of(code, program(code, f"dense({LARGE})"), tmp_path)
    assert prediction.on_cpu is not None and prediction.high is not None and prediction.low is not None
    assert prediction.on_cpu.low <= prediction.low
    assert prediction.on_cpu.high < prediction.high / 2
    assert "multiply-adds in 5 layers" in prediction.on_cpu.basis


@pytest.mark.parametrize("code", EACH)
def test_what_holds_for_any_device_stays(code: str, tmp_path: Path) -> None:
    """Protects what is told of a GPU from figures of a CPU."""
    large = prediction_of(code, program(code, f"dense({LARGE})"), tmp_path)
    unknown = prediction_of(code, program(code, "keras.models.load_model('m.keras')"), tmp_path)
    assert (large.low, large.high, large.basis) == (unknown.low, unknown.high, unknown.basis)


@pytest.mark.parametrize("code", ["TFG202", "TFG207", "TFG214"])
def test_a_small_network_narrows_nothing(code: str, tmp_path: Path) -> None:
    assert prediction_of(code, program(code, f"dense({SMALL})", batch="8"), tmp_path).on_cpu is None


UNKNOWN = {
    "a network that is loaded": ("keras.models.load_model('m.keras')", "256"),
    "a width that is not known": ("dense(int(input()))", "256"),
    "a batch that is not known": (f"dense({LARGE})", "int(input())"),
    "a layer with a loop over steps": (
        "keras.Sequential([keras.Input((4096, 4096)), layers.LSTM(4096), layers.Dense(10)])",
        "256",
    ),
}


@pytest.mark.parametrize("case", UNKNOWN)
@pytest.mark.parametrize("code", ["TFG202", "TFG207"])
def test_what_does_not_follow_from_the_code_narrows_nothing(code: str, case: str, tmp_path: Path) -> None:
    assert prediction_of(code, program(code, *UNKNOWN[case]), tmp_path).on_cpu is None


BOTH = """
large, small = dense({large}), dense({small})
if deep:
    model = large
else:
    model = small
"""
EITHER_STEP = """
for x, y in dataset:
    if deep:
        train_step(large, x, y)
    else:
        train_step(small, x, y)
"""


@pytest.mark.slow
def test_of_two_branches_the_wider_range_counts(tmp_path: Path) -> None:
    def own(large: int, small: int) -> OnCpu | None:
        networks = f"large, small = dense({large}), dense({small})\n"
        code = networks + DATA.format(batch="256") + EITHER_STEP
        return prediction_of("TFG202", code, tmp_path).on_cpu

    huge, both, medium = own(8192, 8192), own(8192, 2048), own(2048, 2048)
    assert huge is not None and both is not None and medium is not None
    assert huge.high < both.high == medium.high and both.low == huge.low <= medium.low
    assert "at least" in both.basis
    assert own(8192, SMALL) is None, "the small one may gain as much as is predicted without a size"


def test_a_name_for_one_of_two_networks_narrows_nothing(tmp_path: Path) -> None:
    code = BOTH.format(large=LARGE, small=SMALL) + DATA.format(batch="256") + STEPS
    assert prediction_of("TFG202", code, tmp_path).on_cpu is None


def test_of_two_datasets_the_smaller_batch_counts(tmp_path: Path) -> None:
    def high(*batches: str) -> float:
        first, second = (DATA.format(batch=batch) for batch in batches)
        indented = "\n".join(f"    {line}" for line in second.strip().splitlines())
        code = f"model = dense(4096)\n{first}\nif quick:\n{indented}\n{STEPS}"
        own = prediction_of("TFG202", code, tmp_path).on_cpu
        assert own is not None
        return own.high

    assert high("512", "64") == high("64", "64") > high("512", "512")


MORE = {
    "a second network that nobody knows": (
        "        loss = loss + tf.reduce_mean(critic(model(x, training=True)))",
        "critic = keras.models.load_model('critic.keras')\n",
    ),
    "a loop in the step": (
        "        for weight in model.trainable_variables:\n            loss += tf.nn.l2_loss(weight)",
        "",
    ),
    "a loop after the tape": ("    for weight in model.trainable_variables:\n        weight.assign(weight * 0.9)", ""),
    "a second tape": ("    with tf.GradientTape() as other:\n        penalty = tf.square(other_weight)", ""),
    "a model outside of the tape": ("    accuracy.update_state(y, model(x, training=False))", ""),
}


@pytest.mark.parametrize("case", MORE)
def test_a_step_that_does_more_narrows_nothing(case: str, tmp_path: Path) -> None:
    lines, before = MORE[case]
    step = f"""
for x, y in dataset:
    with tf.GradientTape() as tape:
        loss = tf.reduce_mean(tf.square(model(x, training=True) - y))
{lines}
    gradients = tape.gradient(loss, model.trainable_variables)
    optimizer.apply_gradients(zip(gradients, model.trainable_variables))
"""
    without = step.replace(lines, "")
    code = f"{before}model = dense({LARGE})\n" + DATA.format(batch="256")
    assert prediction_of("TFG202", code + without, tmp_path).on_cpu is not None
    assert prediction_of("TFG202", code + step, tmp_path).on_cpu is None


def test_part_of_a_batch_is_no_batch(tmp_path: Path) -> None:
    code = program("TFG207", f"dense({LARGE})").replace("model(x,", "model(x[:4],")
    assert prediction_of("TFG207", code, tmp_path).on_cpu is None


def test_rows_that_become_one_batch_narrow_nothing(tmp_path: Path) -> None:
    code = f"model = dense({LARGE})\nanswers = [model.predict(row[None])[0] for row in rows]\n"
    assert prediction_of("TFG206", code, tmp_path).on_cpu is None
