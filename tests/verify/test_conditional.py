"""Code that the measured loop may pass by: both programs tell that it ran, and nothing is said of it where it did not."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from verified import MODEL_AND_DATA, cases_of

TAPE = """
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean(tf.square(model(x, training=True) - y))
        gradients = tape.gradient(loss, model.trainable_variables)
        optimizer.apply_gradients(zip(gradients, model.trainable_variables))
"""
KEEPER = f"""
class Keeper:
    def __init__(self):
        self.rows = []

    def improve(self):
        x, y = tf.ones((16, 4)), tf.ones((16, 1))
{TAPE}

keeper = Keeper()
for day in range(900):
    keeper.rows.append(day)
    if len(keeper.rows) > 700:
        keeper.improve()
"""
SOMETIMES = f"""
for x, y in data:
    if not tf.reduce_any(tf.math.is_nan(x)):{TAPE}
"""
ALWAYS = f"""
for x, y in data:
    if True:
        pass
    for _ in (1,):
        pass{TAPE.replace("        ", "    ", 1).replace(chr(10) + "        ", chr(10) + "    ")}
"""

PREDICTS = """
import numpy as np

class Chooser:
    def __init__(self):
        self.seen, self.net = [], model
        self.net.compile("adam", "mse")

    def learn(self):
        if len(self.seen) < 500:
            return
        rows = np.array(self.seen)[np.random.choice(len(self.seen), 32)]
        wanted = self.net.predict(rows)
        self.net.train_on_batch(rows, wanted * 0.9)

chooser = Chooser()
for day in range(900):
    chooser.seen.append(np.ones(4))
    chooser.learn()
"""


@pytest.mark.parametrize(("code", "tells"), [(KEEPER, True), (SOMETIMES, True), (ALWAYS, False)])
def test_both_programs_tell_that_the_flagged_code_ran(code: str, tells: bool, tmp_path: Path) -> None:
    """Protects from a verdict on an agent that has not begun to learn: its steps only collect."""
    (tmp_path / "train.py").write_text(MODEL_AND_DATA + code)
    (case,) = [one for one in cases_of(tmp_path / "train.py") if one.diagnostic.code == "TFG202"]
    assert case.pair is not None, case.reason
    for program in (case.pair.before, case.pair.after):
        text = program.files["train.py"]
        assert text.count("tflint_measure.passed(0)") == text.count("tflint_measure.expect(0)") == int(tells)
        compile(text, "train.py", "exec")
    if tells:
        assert re.search(r"passed\(0\)\n +with tf.GradientTape", case.pair.before.files["train.py"])


def test_a_method_that_is_reached_late_is_told(tmp_path: Path) -> None:
    """Protects findings on the name of a method: blocks as large as the first empty steps allow take minutes."""
    (tmp_path / "play.py").write_text(MODEL_AND_DATA + PREDICTS)
    (case,) = [one for one in cases_of(tmp_path / "play.py") if one.diagnostic.code == "TFG215"]
    assert case.pair is not None, case.reason
    for program in (case.pair.before, case.pair.after):
        assert re.search(r"passed\(0\)\n +wanted = self.net.predict", program.files["play.py"])
