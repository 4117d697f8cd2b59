"""TFG001 as users meet it: beside the other rules, with the cache, with fixes, and across files."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tflint_gpu.rule import load

[RULE] = load(["TFG001"])
WITH = ("check", "--isolated", "--extend-select", "TFG001")
LAYERS = """\
import numpy as np


def wave(x):
    return np.sin(x)  # noqa: TFG101


def still(x):
    return np.pi * x  # noqa: TFG101
"""
TRAIN = """\
import tensorflow as tf
from layers import still, wave


class Wave(tf.keras.layers.Layer):
    def call(self, x):
        return still(wave(x))
"""


def said(done: Any) -> list[tuple[str, int, str]]:
    assert done.returncode in (0, 1), done.stderr
    return [(Path(one["filename"]).name, one["location"]["row"], one["code"]) for one in json.loads(done.stdout)]


def test_the_documentation_is_true(tmp_path: Path, tflint: Any) -> None:
    path = tmp_path / "a.py"
    path.write_text(RULE.example("Example"))
    options = ("--no-cache", "--output-format", "json")
    assert said(tflint(*WITH, *options)) == [("a.py", 3, "TFG001")]
    assert said(tflint("check", "--isolated", *options)) == []
    assert tflint(*WITH, "--no-cache", "--fix").returncode == 0
    assert path.read_text() == RULE.example("Use instead")
    assert said(tflint(*WITH, *options)) == []


@pytest.mark.slow
@pytest.mark.parametrize("options", [("--no-cache",), ()])
def test_a_comment_that_the_check_of_another_file_needs(tmp_path: Path, tflint: Any, options: tuple[str, ...]) -> None:
    """Protects `layers.py`, whose finding shows only where `train.py` traces it; also with stored results."""
    (tmp_path / "layers.py").write_text(LAYERS)
    (tmp_path / "train.py").write_text(TRAIN)
    expected = [("layers.py", 9, "TFG001")]
    for _ in range(2):
        assert said(tflint(*WITH, *options, "--output-format", "json")) == expected
        assert said(tflint(*WITH, *options, "--output-format", "json", "--jobs", "2")) == expected
    (tmp_path / "train.py").write_text(TRAIN.replace("wave(x)", "x"))
    assert said(tflint(*WITH, *options, "--output-format", "json")) == [("layers.py", 5, "TFG001"), *expected]
    (tmp_path / "train.py").write_text(TRAIN + "x = (\n")
    assert said(tflint(*WITH, *options, "--output-format", "json")) == [("train.py", 8, "TFG000")]


def test_single_files_of_a_project(tmp_path: Path, tflint: Any) -> None:
    """Protects pre-commit, which names the changed files only."""
    (tmp_path / "pyproject.toml").write_text('[tool.tflint-gpu]\nextend-select = ["TFG001"]\n')
    (tmp_path / "layers.py").write_text(LAYERS)
    (tmp_path / "train.py").write_text(TRAIN)
    done = tflint("check", "--fix", "layers.py")
    assert (done.returncode, done.stdout) == (0, "Found 1 problem (1 fixed, 0 remaining).\n")
    assert (tmp_path / "layers.py").read_text() == LAYERS.replace("np.pi * x  # noqa: TFG101", "np.pi * x")


def test_fixes_that_make_a_comment_useless(tmp_path: Path, tflint: Any) -> None:
    """Protects the end of a run with `--fix`: a comment for what another fix has mended goes in the same call."""
    text = "import tensorflow as tf\n\ndef load():\n    d = tf.data.Dataset.range(9)  # noqa: TFG101\n    d.batch(2)\n    return d\n"
    path = tmp_path / "a.py"
    path.write_text(text)
    shown = tflint(*WITH, "--no-cache", "--diff", "--unsafe-fixes")
    assert (shown.returncode, path.read_text()) == (1, text)
    assert "+    d = tf.data.Dataset.range(9)\n" in shown.stdout
    assert "+    d = d.batch(2)\n" in shown.stdout
    assert shown.stderr == "Would fix 2 problems.\n"
    done = tflint(*WITH, "--no-cache", "--fix", "--unsafe-fixes")
    assert (done.returncode, done.stdout) == (0, "Found 2 problems (2 fixed, 0 remaining).\n")
    assert "noqa" not in path.read_text()
    assert tflint(*WITH, "--no-cache").stdout == "All checks passed!\n"


def test_no_comment_answers_a_comment_too_many(tmp_path: Path, tflint: Any) -> None:
    path = tmp_path / "a.py"
    text = RULE.example("Example")
    path.write_text(text)
    done = tflint(*WITH, "--no-cache", "--add-noqa")
    assert (done.returncode, done.stderr, path.read_text()) == (0, "Suppressed 0 problems.\n", text)
    assert tflint(*WITH, "--no-cache", "--ignore-noqa").stdout == "All checks passed!\n"


def test_a_baseline_knows_it(tmp_path: Path, tflint: Any) -> None:
    (tmp_path / "a.py").write_text(RULE.example("Example"))
    assert "1 known problem" in tflint(*WITH, "--write-baseline=known.json").stderr
    assert tflint(*WITH, "--baseline", "known.json").stdout == "All checks passed!\n"
