"""The catalogue holds every code and name that users were promised, and a mistake has one finding."""

from __future__ import annotations

from pathlib import Path

import pytest
from checks import ALL_RULES, NEWEST, codes

from tflint_gpu.targets import Target

PROMISED = {
    "TFG000": "unreadable-file",
    "TFG001": "unused-suppression",
    "TFG101": "numpy-in-call",
    "TFG102": "frozen-randomness",
    "TFG103": "traced-side-effect",
    "TFG104": "host-value-in-call",
    "TFG105": "python-function-in-call",
    "TFG106": "variable-in-call",
    "TFG107": "list-in-graph-loop",
    "TFG108": "recursive-tf-function",
    "TFG109": "needless-map-fn",
    "TFG201": "batch-size-one",
    "TFG202": "eager-train-step",
    "TFG203": "tf-function-in-loop",
    "TFG204": "python-argument-retrace",
    "TFG205": "eager-mode-left-on",
    "TFG206": "predict-in-loop",
    "TFG207": "eager-validation-loop",
    "TFG208": "model-in-loop",
    "TFG209": "sync-every-step",
    "TFG210": "python-global-in-tf-function",
    "TFG211": "validation-batch-size",
    "TFG212": "growing-concat",
    "TFG213": "host-weight-copy",
    "TFG214": "eager-inference-loop",
    "TFG301": "missing-prefetch",
    "TFG302": "misplaced-prefetch",
    "TFG303": "sequential-map",
    "TFG304": "map-before-batch",
    "TFG305": "python-function-in-pipeline",
    "TFG306": "misplaced-cache",
    "TFG307": "shuffle-after-batch",
    "TFG308": "discarded-dataset",
    "TFG309": "traced-python-in-map",
    "TFG310": "python-loop-preprocessing",
    "TFG313": "generator-input",
    "TFG314": "embedded-array",
    "TFG315": "batch-size-ignored",
    "TFG316": "unbatched-dataset",
    "TFG317": "noop-shuffle",
    "TFG318": "batch-scaled-buffer",
    "TFG319": "torn-pairs",
    "TFG320": "shuffle-of-decoded",
    "TFG401": "missing-memory-growth",
    "TFG402": "gpu-config-too-late",
    "TFG403": "partial-memory-growth",
    "TFG404": "model-exceeds-memory",
    "TFG405": "tensor-accumulation",
    "TFG501": "unguarded-device",
    "TFG502": "invalid-device",
    "TFG503": "cpu-pinned-training",
    "TFG504": "late-visible-devices",
    "TFG505": "outside-strategy-scope",
    "TFG506": "unguarded-gpu-index",
    "TFG507": "strategy-not-used",
    "TFG601": "non-cudnn-rnn",
    "TFG602": "float64-compute",
    "TFG603": "no-mixed-precision",
    "TFG604": "half-precision-output",
    "TFG605": "python-function-under-jit",
    "TFG606": "missing-loss-scaling",
}
"""Codes and names stand in people's suppressions: neither may change."""
RENAMED = [f"TFG{number}" for number in range(701, 722)]


def test_no_code_and_no_name_is_lost() -> None:
    """Protects the codes that stand in suppressions and settings."""
    there = {rule.code: rule.name for rule in ALL_RULES}
    assert PROMISED.items() <= there.items(), "a rule that comes is promised with the release that has it"
    assert sorted(code for code in there if code.startswith("TFG7")) == RENAMED


LOADED = """
import numpy as np
import tensorflow as tf

rows = tf.data.Dataset.from_tensor_slices(np.load("rows.npy"))
model = tf.keras.Sequential([tf.keras.layers.Dense(1)])
model.compile("sgd", "mse")
"""
OLD = Target((2, 6), 2, "settings")
ONE_MISTAKE = {
    "a tf.function made in a loop and called with the loop's number": (
        LOADED
        + """
weights = tf.Variable(tf.zeros([8]))
for number in range(100):
    @tf.function
    def scaled(by):
        return weights * by

    print(scaled(number))
""",
        "TFG203",
    ),
    "a tf.function made before, called with the loop's number": (
        LOADED
        + """
weights = tf.Variable(tf.zeros([8]))

@tf.function
def scaled(by):
    return weights * by

for number in range(100):
    print(scaled(number))
""",
        "TFG204",
    ),
    "a random map before the batch": (
        LOADED + "model.fit(rows.map(lambda row: tf.image.random_crop(row, [8, 8, 3]) / 255.0).batch(32))\n",
        "TFG303",
    ),
    "an element-wise map before the batch": (
        LOADED + "model.fit(rows.map(lambda row: row / 255.0).batch(32))\n",
        "TFG304",
    ),
    "NumPy on an element": (LOADED + "model.fit(rows.map(lambda row: np.sqrt(row)).batch(32))\n", "TFG309"),
    "NumPy's draw for all elements": (
        LOADED + "model.fit(rows.map(lambda row: row * np.random.rand()).batch(32))\n",
        "TFG309",
    ),
    "a print for one element": (
        LOADED
        + """
def shown(row):
    print("a row", row)
    return row

model.fit(rows.map(shown).batch(32))
""",
        "TFG309",
    ),
    "a value that an element has not": (
        LOADED + "model.fit(rows.map(lambda row: row.numpy() / 2).batch(32))\n",
        "TFG309",
    ),
}


@pytest.mark.parametrize("target", [NEWEST, OLD], ids=["newest", "2.6"])
@pytest.mark.parametrize("mistake", ONE_MISTAKE)
def test_a_mistake_has_one_finding(mistake: str, target: Target, tmp_path: Path) -> None:
    """Protects users from reading of one mistake twice; in TensorFlow 2.6 maps are sequential."""
    program, code = ONE_MISTAKE[mistake]
    assert codes(program, tmp_path, target=target) == [code]
