"""Protects how flake8's options and the settings of tflint_gpu come together, and what wrong ones lead to."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from checkout import needs_installation
from linting import CODE, FLAGGED, Flake8, codes

from tflint_gpu.rule import entries, load
from tflint_gpu.text.bytesearch import opt_in_codes

ROOT = Path(__file__).parents[2]


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


OPT_IN = '''
from tflint_gpu.rule import Finding, Prediction, Rule


class Everything(Rule):
    """Everything is wrong."""

    code = "TFG991"
    name = "everything"
    opt_in = True

    def check(self, model):
        """Find it."""
        yield Finding(model.file, model.file.tree.module.body[0], "everything is wrong", Prediction("no-effect"))
'''


@pytest.fixture
def with_opt_in_rule(tmp_path_factory: pytest.TempPathFactory) -> str:
    """A copy of the program that has an opt-in rule, as a PYTHONPATH."""
    place = tmp_path_factory.mktemp("program")
    shutil.copytree(ROOT / "tflint_gpu", place / "tflint_gpu", ignore=shutil.ignore_patterns("__pycache__", "rules"))
    shutil.copytree(ROOT / "rules", place / "tflint_gpu" / "rules", ignore=shutil.ignore_patterns("__pycache__"))
    (place / "tflint_gpu" / "rules" / "tool" / "tfg991_everything__opt_in.py").write_text(OPT_IN)
    return str(place)


def test_opt_in_rules_run_when_flake8_selects_them(tmp_path: Path, flake8: Flake8, with_opt_in_rule: str) -> None:
    (tmp_path / "a.py").write_text("import tensorflow as tf\n\nprint(tf)\n")

    def found(*options: str) -> list[str]:
        return codes(flake8(*options, "a.py", PYTHONPATH=with_opt_in_rule))

    assert found() == found("--select=TFG") == found("--extend-select=TFG1") == []
    assert found("--ignore=E501") == []  # which drops flake8's default ignores
    assert found("--extend-select=TFG991") == found("--select=TFG9") == ["TFG991"]
    assert found("--extend-select=TFG991", "--ignore=TFG991") == []


def test_opt_in_codes_are_in_flake8s_default_ignore(tmp_path: Path, with_opt_in_rule: str) -> None:
    needs_installation()
    program = (
        "from flake8.options.parse_args import parse_args; import sys;"
        "print(parse_args([])[1].extended_default_ignore, 'libcst' in sys.modules)"
    )
    own = [entry.code for entry in entries() if entry.opt_in]
    for path, expected in ((with_opt_in_rule, f"{[*own, 'TFG991']} False\n"), ("", f"{own} False\n")):
        done = subprocess.run(
            [sys.executable, "-c", program],
            cwd=tmp_path,
            env={**os.environ, "PYTHONPATH": path},
            capture_output=True,
            text=True,
            timeout=600,
            check=True,
        )
        assert done.stdout == expected


def test_the_files_names_say_which_rules_are_opt_in() -> None:
    """Protects flake8's list, which is made of names, from rules that say otherwise."""
    rules = load(entry.code for entry in entries())
    folders = [str(ROOT / "rules")]
    assert set(opt_in_codes(folders)) == {rule.code for rule in rules if rule.opt_in}
