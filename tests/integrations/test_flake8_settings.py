"""Protects how flake8's options and the settings of tflint_gpu come together, and what wrong ones lead to."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest
from checkout import needs_installation
from conftest import Command
from linting import CODE, FLAGGED, Flake8, codes


def test_flake8_selects_and_ignores(tmp_path: Path, flake8: Flake8) -> None:
    (tmp_path / "a.py").write_text(FLAGGED)
    for options, expected in [
        (["--select=TFG"], [CODE]), (["--select=TFG3"], [CODE]), (["--select=T"], [CODE]),
        (["--select=E,F"], []), (["--select=TFG1"], []), (["--extend-select=B"], [CODE]),
        (["--ignore=TFG302"], []), (["--extend-ignore=TFG3"], []), (["--ignore=E501"], [CODE]),
        (["--per-file-ignores=a.py:TFG302"], []), (["--per-file-ignores=b.py:TFG302"], [CODE]),
    ]:  # fmt: skip
        assert codes(flake8(*options, "a.py")) == expected, options


def test_settings_of_pyproject_flake8s_files_and_the_command_line(tmp_path: Path, flake8: Flake8) -> None:
    """Protects the precedence: the command line, then flake8's file, then `[tool.tflint-gpu]`."""
    (tmp_path / "a.py").write_text(FLAGGED)

    def target(*options: str) -> str:
        return "".join(re.findall(r"TensorFlow (\d+\.\d+)", flake8("--select=TFG", *options, "a.py").stdout))

    newest = target()
    (tmp_path / "pyproject.toml").write_text('[tool.tflint-gpu]\ntarget-tensorflow = "2.12"\n')
    assert target() == "2.12" != newest
    assert target("--tflint-isolated") == newest
    (tmp_path / ".flake8").write_text("[flake8]\ntflint-target-tensorflow = 2.13\n")
    assert target() == "2.13"
    assert target("--tflint-target-tensorflow=2.14") == "2.14"
    (tmp_path / "pyproject.toml").write_text('[tool.tflint-gpu]\nignore = ["TFG3"]\n')
    assert target() == ""
    assert target("--extend-select=TFG302") == "2.13"  # asked for by its code, not only by the plugin's name
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "own.toml").write_text('target-tensorflow = "2.11"\n')
    (tmp_path / ".flake8").write_text("[flake8]\ntflint_config = other/own.toml\n")
    assert target() == "2.11"
    assert target("--tflint-config=pyproject.toml") == ""


def test_wrong_options_end_flake8_with_its_usage(tmp_path: Path, each_flake8: Flake8) -> None:
    (tmp_path / "a.py").write_text(FLAGGED)
    for options, words in [
        (["--tflint-target-tensorflow=latest"], "must be a TensorFlow version such as"),
        (["--tflint-config=nowhere.toml"], "nowhere.toml: No such file"),
        (["--tflint-config=a.py"], "a.py: not valid TOML"),
        (["--tflint-isolated", "--tflint-config=a.toml"], "--tflint-config and --tflint-isolated cannot be combined"),
    ]:
        done = each_flake8(*options, "a.py")
        assert (done.returncode, done.stdout) == (2, ""), options
        assert done.stderr.startswith("usage: flake8")
        assert words in done.stderr
        assert "Traceback" not in done.stderr


@pytest.mark.parametrize("jobs", ["-j1", "-j2"])
def test_a_wrong_settings_file_is_flake8s_critical_error(jobs: str, tmp_path: Path, each_flake8: Flake8) -> None:
    (tmp_path / "a.py").write_text(FLAGGED)
    (tmp_path / "b.py").write_text(FLAGGED)
    (tmp_path / "pyproject.toml").write_text('[tool.tflint-gpu]\nignor = ["TFG3"]\n')
    done = each_flake8(jobs, "a.py", "b.py")
    assert done.returncode == 1
    assert done.stdout.startswith("There was a critical error during execution of Flake8:\ntflint-gpu: ")
    assert "pyproject.toml: unknown key `ignor`; did you mean `ignore`?" in done.stdout
    assert done.stderr == ""


LOOPED = """\
import tensorflow as tf


def search(rates, images, labels):
    for rate in rates:
        model = tf.keras.Sequential([tf.keras.layers.Dense(64), tf.keras.layers.Dense(1)])
        model.compile(tf.keras.optimizers.Adam(rate), "mse")
        model.fit(images, labels, batch_size=1)
"""


@pytest.mark.slow
def test_check_and_flake8_select_opt_in_rules_in_the_same_way(tmp_path: Path, flake8: Flake8, tflint: Command) -> None:
    """Protects one answer for both: a prefix selects default rules, an opt-in rule needs its full code."""
    (tmp_path / "a.py").write_text(LOOPED)

    def checked(*options: str) -> list[str]:
        return re.findall(r": \w+: (TFG\d+) ", tflint("check", "--output-format", "concise", *options).stdout)

    default, opt_in = "TFG201", "TFG208"
    for options, settings, expected in [
        ([], "", {default}),
        (["--select=TFG"], "", {default}),
        (["--select=TFG2"], "", {default}),
        (["--select=TFG20"], "", {default}),
        (["--extend-select=TFG2"], "", {default}),
        (["--select=TFG208"], "", {opt_in}),
        (["--select=TFG2,TFG208"], "", {default, opt_in}),
        (["--extend-select=TFG208"], "", {default, opt_in}),
        (["--extend-select=TFG208", "--ignore=TFG208"], "", {default}),
        (["--select=TFG208", "--extend-ignore=TFG2"], "", {opt_in}),
        ([], 'extend-select = ["TFG2"]', {default}),
        ([], 'extend-select = ["model-in-loop"]', {default, opt_in}),
        ([], 'select = ["ALL"]', {default, opt_in}),
    ]:
        (tmp_path / "pyproject.toml").write_text(f"[tool.tflint-gpu]\n{settings}\n")
        assert set(checked(*options)) == expected, (options, settings)
        in_flake8 = {code for code in codes(flake8(*options, "a.py")) if code.startswith("TFG")}
        assert in_flake8 == expected, (options, settings)


def test_a_start_of_flake8_does_not_import_the_checker(tmp_path: Path) -> None:
    needs_installation()
    program = (
        "from flake8.options.parse_args import parse_args; import sys; print(parse_args([]), 'libcst' in sys.modules)"
    )
    command = [sys.executable, "-c", program]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=600, check=True)
    assert "tflint_target_tensorflow" in done.stdout
    assert done.stdout.endswith(" False\n")
