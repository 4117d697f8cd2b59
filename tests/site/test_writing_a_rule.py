"""The rule about loops in docs/writing-a-rule.md finds what the page says that it finds."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
from checks import model_of

PAGE = (Path(__file__).parents[2] / "docs" / "writing-a-rule.md").read_text("utf-8")
CODE = next(block for block in re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL) if "class" not in block)
HEAD = """
import tensorflow as tf
model = tf.keras.Sequential([tf.keras.layers.Dense(1)])
model.compile("sgd", "mse")
data = tf.data.Dataset.from_tensor_slices(load()).batch(32)
def keep(step):
    if step % 100:
        return
    model.save("kept.keras")
"""
STEP = "        model.train_on_batch(x, y)\n"
EPOCHS = "for epoch in range(9):\n    for step, (x, y) in enumerate(data):\n" + STEP
PROGRAMS = {
    "in each step": (HEAD + EPOCHS + "        model.save('a.keras')\n", 1),
    "in a step of another file": (
        "from steps import data, step\nimport tensorflow as tf\nfor x, y in data: step(x, y)\n",
        1,
    ),
    "after each epoch": (HEAD + EPOCHS + "    model.save('a.keras')\n", 0),
    "under a test": (HEAD + EPOCHS + "        if step % 100 == 0:\n            model.save('a.keras')\n", 0),
    "left before": (HEAD + EPOCHS + "        keep(step)\n", 0),
    "skipped before": (
        HEAD + EPOCHS + "        if step % 100 != 0:\n            continue\n        model.save('a')\n",
        0,
    ),
    "not the first": (HEAD + EPOCHS + "        if step == 0:\n            continue\n        model.save('a')\n", 1),
}


@pytest.mark.parametrize(("program", "count"), PROGRAMS.values(), ids=PROGRAMS)
def test_the_loops_of_the_page(program: str, count: int, tmp_path: Path) -> None:
    (tmp_path / "steps.py").write_text(HEAD + "def step(x, y):\n" + STEP + "        model.save('a.keras')\n")
    names: dict[str, Any] = {"_PREDICTION": None}
    exec(CODE, names)
    assert len(list(names["check"](None, model_of(program, tmp_path)))) == count
