"""Protects the start: a run imports what it needs, and no more."""

from __future__ import annotations

import ast
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

_PROGRAM = """
import atexit, os, sys
atexit.register(print, "unused")
leave = os._exit
def told(code):
    print(sorted(sys.modules), file=sys.stderr)
    sys.stderr.flush()
    leave(code)
os._exit = told
sys.argv[1:] = ["check", "--isolated", "--exit-zero", "-"]
from tflint_gpu.cli import main
main()
"""
WRONG = "import tensorflow as tf\nwith tf.device('/GUP:0'):\n    x = tf.ones(3)\n"
_NOT_OURS = {"tensorflow", "keras", "numpy", "flake8", "pygls", "ray", "jinja2", "matplotlib", "watchdog", "pynvml"}


def imported(source: str) -> set[str]:
    """The modules that a check of standard input has imported at its end."""
    done = subprocess.run(
        [sys.executable, "-c", _PROGRAM], input=source, capture_output=True, text=True, timeout=600, check=True
    )
    return set(ast.literal_eval(done.stderr.splitlines()[-1]))


def test_a_file_without_tensorflow_needs_neither_a_parser_nor_the_model_nor_findings() -> None:
    modules = imported("import json\n\nprint(json.dumps([1]))\n")
    ours = {name for name in modules if name.startswith("tflint_gpu")}
    heavy = ("checking.engine", "diagnostics", "model", "rules", "targets", "text.source", "verify")
    assert not {name for name in ours if name.removeprefix("tflint_gpu.").startswith(heavy)}
    assert not modules & (_NOT_OURS | {"libcst", "packaging", "json", "importlib.metadata", "subprocess"})


@pytest.mark.slow
def test_a_file_with_tensorflow_imports_only_the_parts_that_its_rules_ask() -> None:
    modules = imported(WRONG)
    needless = {
        f"tflint_gpu.model.{one}" for one in ("networks.trainings", "tensorflow.validations", "tensorflow.growth")
    }
    assert "tflint_gpu.model.python.value_flow.inference" in modules and not modules & needless
    assert not modules & _NOT_OURS and not {name for name in modules if name.startswith("tflint_gpu.verify")}


def test_a_file_in_which_no_rule_can_find_anything_needs_no_libcst_and_no_rule() -> None:
    """Protects most runs of an editor or a hook: their words rule all rules out."""
    modules = imported("import tensorflow as tf\n\nmodel = tf.keras.Sequential([tf.keras.layers.Dense(10)])\n")
    assert "tflint_gpu.checking.engine" in modules
    assert not modules & (_NOT_OURS | {"libcst"})
    assert not {name for name in modules if name.startswith("tflint_gpu.rules.")}


@pytest.mark.slow
def test_only_the_rules_that_may_find_something_are_imported() -> None:
    rules = {name.rpartition(".")[2] for name in imported(WRONG) if re.search(r"\.tfg\d", name)}
    assert "tfg502_invalid_device" in rules and not rules & {"tfg101_numpy_in_call", "tfg202_eager_train_step"}


@pytest.mark.parametrize(
    ("words", "text"),
    [
        (("check", "--isolated", "--no-cache", "."), None),
        (("check", "--isolated", "--output-format", "json", "-"), WRONG),
        (("check", "nowhere.py"), None),
        (("--version",), None),
    ],
    ids=["a folder", "standard input", "an error", "the version"],
)
def test_a_fork_says_what_a_process_of_its_own_says(
    words: tuple[str, ...], text: str | None, tmp_path: Path, tflint: Any
) -> None:
    """Protects all tests that ask `tflint`: it runs in forks of a process that has imported the command."""
    (tmp_path / "a.py").write_text(WRONG)
    forked = tflint(*words, stdin=text)
    command = [sys.executable, "-m", "tflint_gpu", *words]
    alone = subprocess.run(command, cwd=tmp_path, input=text, capture_output=True, text=True, timeout=600)
    assert (forked.returncode, forked.stdout, forked.stderr) == (alone.returncode, alone.stdout, alone.stderr)


@pytest.mark.slow
@pytest.mark.parametrize("library", ["flake8", "pynvml"])
def test_a_broken_library_never_breaks_a_check(library: str, tmp_path: Path) -> None:
    """Protects users of a half-upgraded environment: both come with the package, and no check needs them."""
    (tmp_path / f"{library}.py").write_text("raise RuntimeError('this installation is broken')\n")
    (tmp_path / "train.py").write_text(WRONG)
    first = os.pathsep.join([str(tmp_path), os.environ.get("PYTHONPATH", "")])
    done = subprocess.run(
        [sys.executable, "-m", "tflint_gpu", "check", "--isolated", "--no-cache", "train.py"],
        cwd=tmp_path, capture_output=True, text=True, timeout=600, env={**os.environ, "PYTHONPATH": first},
    )  # fmt: skip
    assert (done.returncode, done.stderr) == (1, "") and "TFG502" in done.stdout


@pytest.mark.slow
def test_a_check_works_where_flake8_and_nvml_are_broken(tmp_path: Path) -> None:
    """Both are dependencies of other parts: a check imports neither."""
    for name in ("flake8", "pynvml"):
        (tmp_path / f"{name}.py").write_text(f"import sys\nsys.exit('{name} is broken')\n")
    (tmp_path / "a.py").write_text(WRONG)
    path = os.pathsep.join([str(tmp_path), *filter(None, [os.environ.get("PYTHONPATH")])])
    command = [
        sys.executable,
        "-m",
        "tflint_gpu",
        "check",
        "--isolated",
        "--jobs",
        "2",
        "--output-format",
        "concise",
        "a.py",
    ]
    done = subprocess.run(
        command, cwd=tmp_path, env={**os.environ, "PYTHONPATH": path}, capture_output=True, text=True, timeout=600
    )
    assert (done.returncode, done.stderr) == (1, "")
    assert done.stdout.startswith("a.py:2:16: error: TFG502 ")
