"""Questions for the type of what a trace holds as a tensor: no fix traces them where the answer is another one then."""

from __future__ import annotations

from pathlib import Path

import pytest
from checks import findings, fixed
from fixed_programs import assert_same, results

MADE = """\
import numbers
import numpy as np
import tensorflow as tf

tf.keras.utils.set_random_seed(3)
generator = np.random.default_rng(2)
weight = tf.Variable(tf.ones([3, 1]) / 2)
KINDS = (np.ndarray, np.generic)
SHIFT = np.full((1, 3), 0.25, "float32")
"""
STEP = """
def descend(batch):
    QUESTION
    with tf.GradientTape() as tape:
        miss = tf.reduce_mean(tf.square(batch @ weight - batch[:, :1]))
    weight.assign_sub(0.05 * tape.gradient(miss, weight))
    return miss


for turn in range(60):
    DRAWN
    descend(batch)
result = [weight.numpy()]
"""
ARRAY = 'batch = generator.normal(size=(8, 3)).astype("float32")'
TENSOR = "batch = tf.random.stateless_normal([8, 3], [turn, 1])"
SCALED = "batch = batch / 4 if {} else batch"
ANOTHER = {
    "isinstance": (ARRAY, "isinstance(batch, np.ndarray)"),
    "not isinstance": (ARRAY, "not isinstance(batch, (list, tf.Tensor))"),
    "a union": (ARRAY, "isinstance(batch, np.ndarray | list)"),
    "a tuple with a name": (ARRAY, "isinstance(batch, KINDS)"),
    "type": (ARRAY, "type(batch) is np.ndarray"),
    "type among some": (ARRAY, "type(batch) in (np.ndarray, list)"),
    "type by name": (ARRAY, 'type(batch).__name__ == "ndarray"'),
    "class": (ARRAY, "batch.__class__ == np.ndarray"),
    "is_tensor": (ARRAY, "tf.is_tensor(batch)"),
    "a method of arrays": (ARRAY, 'hasattr(batch, "astype")'),
    "a tensor's value": (TENSOR, 'hasattr(batch, "numpy")'),
    "a tensor's value or another one": (TENSOR, 'getattr(batch, "numpy", None) is not None'),
    "a tensor's value as it is known": (TENSOR, "tf.get_static_value(batch) is not None"),
    "a tensor's type": (TENSOR, 'type(batch).__name__ == "EagerTensor"'),
}
SAME = {
    "containers": (ARRAY, "isinstance(batch, (list, tuple, dict, str))"),
    "None": (ARRAY, "batch is None"),
    "both": (ARRAY, "isinstance(batch, (np.ndarray, tf.Tensor))"),
    "a variable": (ARRAY, "isinstance(batch, tf.Variable)"),
    "a shape": (ARRAY, 'hasattr(batch, "shape")'),
    "what stays an array": (ARRAY, "isinstance(SHIFT, np.ndarray)"),
    "a tensor": (TENSOR, "isinstance(batch, tf.Tensor)"),
    "a tensor is no array": (TENSOR, "isinstance(batch, np.ndarray)"),
    "a tensor or a variable": (TENSOR, "isinstance(batch, (tf.Tensor, tf.Variable))"),
    "a tensor is of no type of arrays": (TENSOR, "type(batch) is np.ndarray"),
}


def program(drawn: str, question: str) -> str:
    """A program whose step asks."""
    return MADE + STEP.replace("QUESTION", SCALED.format(question)).replace("DRAWN", drawn)


@pytest.mark.parametrize("case", ANOTHER)
def test_no_fix_changes_an_answer(case: str, tmp_path: Path) -> None:
    (told,) = [f for rule, f in findings(program(*ANOTHER[case]), tmp_path) if rule.code == "TFG202"]
    assert told.fix is None or told.fix.message.startswith("Move the step into ")
    assert "depends on the type of `batch`" in (told.help or "")


@pytest.mark.parametrize("case", ANOTHER)
def test_the_answer_is_another_one(case: str) -> None:
    """The same program by hand under `tf.function` takes the other branch."""
    np = pytest.importorskip("numpy")
    code = program(*ANOTHER[case])
    code = code.replace("range(60)", "range(5)")
    (eager,), (traced,) = results(code), results(code.replace("def descend", "@tf.function\ndef descend"))
    assert not np.allclose(eager, traced)


@pytest.mark.parametrize("case", SAME)
def test_the_same_answer_is_no_reason(case: str, tmp_path: Path) -> None:
    code = program(*SAME[case])
    after = fixed(code, tmp_path, "TFG202")
    assert "@tf.function\ndef descend" in after
    assert_same(code.replace("range(60)", "range(5)"), after.replace("range(60)", "range(5)"))


def test_a_helper_that_asks_counts(tmp_path: Path) -> None:
    helper = "\n\ndef shrunk(rows):\n    if isinstance(rows, np.ndarray):\n        return rows / 4\n    return rows\n"
    step = STEP.replace("QUESTION", "batch = shrunk(batch)")
    told = [f for rule, f in findings(MADE + helper + step.replace("DRAWN", ARRAY), tmp_path) if rule.code == "TFG202"]
    assert len(told) == 1
    assert told[0].fix is None or told[0].fix.message.startswith("Move the step into ")
    assert "depends on the type of `rows`" in (told[0].help or "")
    code = MADE + helper + step.replace("DRAWN", TENSOR)
    after = fixed(code, tmp_path, "TFG202")
    assert "@tf.function\ndef descend" in after
