"""Which rules a file is worth: none that may find something is dropped, and what it is decided by is cheap."""

from __future__ import annotations

from pathlib import Path

import pytest
from checks import ALL_RULES, NEWEST, codes, findings

from tflint_gpu.checking.engine.prefilter import rules_that_may_fire
from tflint_gpu.model import Project
from tflint_gpu.text.decoding import decode_source


def test_what_python_cannot_parse_is_left_to_who_says_so(tmp_path: Path) -> None:
    data = b"import tensorflow as tf\nfor x in y:\n    print model(x)\n"
    source = decode_source(data, tmp_path / "x.py", "x.py")
    assert rules_that_may_fire(ALL_RULES, source, data, Project(tmp_path, NEWEST))


HEAD = "import numpy as np\nimport tensorflow as tf\n"
LAYER = HEAD + "class Scale(tf.keras.layers.Layer):\n    def call(self, x):\n        return {}\n"
STEP = """import tensorflow as tf

for x, y in data:
    with tf.GradientTape() as tape:
        loss = tf.reduce_mean((net(x) - y) ** 2)
    optimizer.apply_gradients(zip(tape.gradient(loss, net.trainable_variables), net.trainable_variables))
"""


@pytest.mark.parametrize("switch", ["tf.compat.v1.disable_eager_execution()", "tf.compat.v1.disable_v2_behavior()"])
def test_what_is_said_of_eager_code_is_not_said_of_programs_that_run_in_graphs(switch: str, tmp_path: Path) -> None:
    """A rule with `skips_graphs` need not ask: the model knows, also where a test of the version is around a call."""
    program = STEP.replace("tf\n\n", f"tf\n\n{switch}\n")
    assert "TFG202" in codes(STEP, tmp_path) and "TFG202" not in codes(program, tmp_path)
    guarded = STEP.replace("tf\n\n", f"tf\n\nif tf.__version__ < '2':\n    {switch}\n")
    assert "TFG202" in codes(guarded, tmp_path)


HELPERS = {
    "TFG101": ("from helpers import wave\n" + LAYER.format("wave(x)"), HEAD + "def wave(x):\n    return np.sin(x)\n"),
    "TFG102": (
        "from helpers import noise\n" + LAYER.format("x + noise()"),
        HEAD + "def noise():\n    return np.random.normal()\n",
    ),
    "TFG103": (
        "from helpers import show\n" + LAYER.format("show(x)"),
        HEAD + "def show(x):\n    print('here')\n    return x\n",
    ),
}


@pytest.mark.parametrize("code", HELPERS)
def test_what_a_traced_function_calls_in_another_file_is_seen(code: str, tmp_path: Path) -> None:
    own, other = HELPERS[code]
    (tmp_path / "helpers.py").write_text(other)
    assert code in codes(own, tmp_path)


def test_a_function_that_a_variable_holds_is_seen(tmp_path: Path) -> None:
    code = HEAD + "def distance(y, p):\n    return np.sin(p)\n\nloss = distance\nmodel.compile(loss=loss)\n"
    assert [rule.code for rule, _ in findings(code, tmp_path) if rule.code == "TFG101"] == ["TFG101"]
