"""TFG607: constants that are 0 in the float16 tensor that they are to keep from 0 are found; nothing else."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from checks import codes, found

HEAD = "import tensorflow as tf\nfrom tensorflow import keras\n"
HALF = "keras.mixed_precision.set_global_policy('mixed_float16')\n"
NET = "net = keras.Sequential([keras.Input((4,)), keras.layers.Dense(3, 'softmax'{0})])\n"

LOST = {
    "a cast": "h = tf.cast(tf.ones(3), tf.float16)\nx = tf.math.log(h + 1e-12)  # here",
    "on the left": "h = tf.zeros(3, 'float16')\nx = tf.sqrt(1e-10 + h)  # here",
    "a divisor": "h = tf.zeros(3, tf.half)\nx = 1.0 / (h + 1e-8)  # here",
    "the larger of two": "h = tf.zeros(3, tf.float16)\nx = tf.math.rsqrt(tf.maximum(h, 1e-9))  # here",
    "a range": "h = tf.zeros(3, tf.float16)\nx = tf.math.log(tf.clip_by_value(h, 1e-8, 1.0))  # here",
    "a name": "EPS = 1e-12\nh = tf.zeros(3, tf.float16)\nx = tf.math.log(h + EPS)  # here",
    "a default": "def safe(t, eps=1e-12):\n    return tf.math.log(t + eps)  # here\nsafe(tf.zeros(3, tf.float16))",
    "under a policy": HALF + NET.format("") + "x = tf.math.log(net(tf.ones((2, 4))) + 1e-12)  # here",
    "a loss": (
        HALF + NET.format("") + "def loss(truth, guess):\n    return -tf.math.log(guess + 1e-12)  # here\n"
        "def step(rows):\n    return loss(rows, net(rows))\nstep(tf.ones((2, 4)))"
    ),
}
OWN = (
    HALF
    + "class Share(keras.layers.Layer):\n    def __init__(self, **options):\n        super().__init__({0}**options)\n\n"
    "    def call(self, rows):\n        return rows / (tf.reduce_sum(rows) + 1e-12)  # here\n\n"
    "result = Share({1})(tf.zeros((2, 3)))\n"
)
LOST["in a layer of the program"] = OWN.format("", "")
IN_FLOAT32 = {
    "a layer that is made in float32": OWN.format("", "dtype='float32'"),
    "a layer that makes itself in float32": OWN.format("dtype=tf.float32, ", ""),
    "a layer that takes what it gets": OWN.format("autocast=False, ", ""),
    "a loss": HALF
    + "class Odds(keras.losses.Loss):\n    def call(self, truth, guess):\n        return tf.math.log(guess + 1e-12)\n\n"
    "result = Odds()(tf.zeros((2, 3)), tf.zeros((2, 3)))\n",
}
SILENT = {
    "float32": "h = tf.zeros(3)\nx = tf.math.log(h + 1e-12)\ny = tf.zeros(3, tf.float16)",
    "bfloat16": "h = tf.zeros(3, tf.bfloat16)\nx = tf.math.log(h + 1e-12)\ny = tf.zeros(3, tf.float16)",
    "large enough": "h = tf.zeros(3, tf.float16)\nx = tf.math.log(h + 3e-8)",
    "not kept from 0": "h = tf.zeros(3, tf.float16)\nx = h + 1e-12",
    "unknown": "def f(h):\n    return tf.math.log(h + 1e-12)\ny = tf.zeros(3, tf.float16)",
    "a layer in float32": (HALF + NET.format(", dtype='float32'") + "x = tf.math.log(net(tf.ones((2, 4))) + 1e-12)"),
    "one of two dtypes": (
        "import sys\nh = tf.zeros(3, tf.float16) if sys.argv else tf.zeros(3)\nx = tf.math.log(h + 1e-12)"
    ),
    "numbers": "x = 1.0 / (0.5 + 1e-12)\nh = tf.zeros(3, tf.float16)",
}


@pytest.mark.parametrize("name", LOST)
def test_what_is_lost_is_found(name: str, tmp_path: Path) -> None:
    code = HEAD + LOST[name]
    rows = [row for row, line in enumerate(code.splitlines(), 1) if "# here" in line]
    assert {one for one in found(code, tmp_path) if one[0] == "TFG607"} == {("TFG607", rows[0])}


@pytest.mark.parametrize("name", SILENT)
def test_what_is_kept_is_not_found(name: str, tmp_path: Path) -> None:
    assert "TFG607" not in codes(HEAD + SILENT[name], tmp_path)


@pytest.mark.parametrize("name", IN_FLOAT32)
def test_what_computes_in_float32_under_the_policy_is_not_found(name: str, tmp_path: Path) -> None:
    """Protects the dtype of layers and losses of the program, for which TensorFlow is asked."""
    tf = pytest.importorskip("tensorflow")
    assert "TFG607" not in codes(HEAD + IN_FLOAT32[name], tmp_path)
    policy, scope = tf.keras.mixed_precision.global_policy(), dict[str, Any]()
    try:
        exec(HEAD + IN_FLOAT32[name], scope)
    finally:
        tf.keras.mixed_precision.set_global_policy(policy)
    assert scope["result"].dtype == tf.float32


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float32"])
def test_the_gradient_is_no_number_in_float16_alone(dtype: str) -> None:
    """Protects the claim: of a certain and wrong example, with the constant that is usual in float32."""
    tf = pytest.importorskip("tensorflow")
    logits = tf.Variable([20.0, -20.0])
    with tf.GradientTape() as tape:
        loss = -tf.math.log(tf.nn.softmax(tf.cast(logits, dtype))[1] + 1e-12)
    gradient = tape.gradient(loss, logits)
    assert bool(tf.reduce_all(tf.math.is_finite(gradient))) == (dtype != "float16")


def test_a_constant_is_0_in_float16_from_half_of_its_smallest_number_on() -> None:
    """Protects the limit, for which TensorFlow is asked."""
    tf = pytest.importorskip("tensorflow")
    zero = tf.zeros((), tf.float16)
    assert float(zero + 2.0**-25) == 0.0
    assert float(zero + 2.0**-25 * 1.001) > 0.0
    assert float(tf.maximum(zero, 1e-8)) == 0.0
