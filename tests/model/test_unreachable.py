"""Code that TensorFlow's version, or a written `False`, keeps from running has no findings; all other code keeps its own."""

from __future__ import annotations

import textwrap
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import libcst as cst
import pytest
from checks import NEWEST, found, model_of

from tflint_gpu.model import Guards
from tflint_gpu.targets import Target

PINNED = replace(NEWEST, source="requirements.txt")
TENTH = replace(PINNED, tensorflow=(2, 10), keras=2)
THIRD = replace(PINNED, tensorflow=(2, 3), keras=2)
HEAD = "import numpy as np\nimport tensorflow as tf\n"
LAYER = """
class Loud(tf.keras.layers.Layer):
    def call(self, wave):
        return np.abs(wave)
"""
TESTS = (
    "tf.__version__ >= '2.4'",
    "tf.__version__ > '2.4.0'",
    "tf.__version__ < '2.10'",
    "tf.__version__ == '2.1'",
    "tf.__version__ > '2'",
    "tf.__version__ < '2'",
    "tf.version.VERSION >= '1.15'",
    "tf.__version__[0] == '2'",
    "tf.__version__[:3] >= '2.4'",
    "tf.__version__[:4] == '2.10'",
    "float(tf.__version__[:3]) >= 2.4",
    "int(tf.__version__[0]) < 2",
    "int(tf.__version__.split('.')[0]) >= 2",
    "tf.__version__.startswith('2.1')",
    "not tf.__version__.startswith('1.')",
)


def rows_of(code: str, folder: Path, target: Target = NEWEST) -> list[int]:
    return sorted(row for rule, row in found(HEAD + code, folder, target=target) if rule == "TFG101")


def under(test: str) -> str:
    return f"if {test}:\n" + textwrap.indent(LAYER, "    ") + "else:\n" + textwrap.indent(LAYER, "    ")


@pytest.mark.parametrize("target", [PINNED, TENTH, THIRD], ids=["2.21", "2.10", "2.3"])
@pytest.mark.parametrize("test", TESTS)
def test_the_branch_that_python_takes_is_the_one_with_findings(test: str, target: Target, tmp_path: Path) -> None:
    """Text is compared as text: "2.21" comes before "2.4"."""
    text = ".".join(map(str, (*target.tensorflow, 0)))
    takes = eval(test, {"tf": SimpleNamespace(__version__=text, version=SimpleNamespace(VERSION=text))})
    first, second = rows_of(under("HERE"), tmp_path)
    assert rows_of(under(test), tmp_path, target) == [first if takes else second]


@pytest.mark.parametrize("test", ["tf.__version__ >= '2.4'", "tf.__version__[:3] < '2.4'"])
def test_where_nothing_pins_a_version_one_digit_and_two_must_agree(test: str, tmp_path: Path) -> None:
    assert len(rows_of(under(test), tmp_path)) == 2
    assert len(rows_of(f"assert {test}\n" + LAYER, tmp_path)) == 1
    assert len(rows_of(under("tf.__version__ >= '2'"), tmp_path)) == 1


@pytest.mark.parametrize(
    ("code", "runs"),
    [
        ("if False:\n    HERE\n", False),
        ("if 0:\n    HERE\nelse:\n    x = 1\n", False),
        ("if 1:\n    x = 1\nelse:\n    HERE\n", False),
        ("if False:\n    def step():\n        HERE\n", False),
        ("def step():\n    if tf.__version__ < '2':\n        return\n    HERE\n", True),
        ("def step():\n    if tf.__version__ > '2':\n        return\n    HERE\n", False),
        ("while True:\n    HERE\n", True),
        ("if True:\n    HERE\n", True),
        ("if not False and flag:\n    HERE\n", True),
        ("if False and flag:\n    HERE\n", False),
        ("def step():\n    if not tf.executing_eagerly():\n        HERE\n", True),
        ("TRAIN = False\nif TRAIN:\n    HERE\n", True),
    ],
)
def test_what_is_written_as_false(code: str, runs: bool, tmp_path: Path) -> None:
    """A name is a switch that somebody turns; a literal keeps the code out."""
    model = model_of(HEAD + code.replace("HERE", "tf.ones(3)"), tmp_path)
    [call] = [call for call in model.file.tree.nodes(cst.Call) if model.file.code(call) == "tf.ones(3)"]
    assert model.once(Guards).is_unreachable(model.file, call) is (not runs)
