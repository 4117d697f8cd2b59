"""Protects the exit code and what people see first: advice is told, at the end and briefly, and fails nothing unasked."""

from __future__ import annotations

import json
import re
import subprocess
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest

from tflint_gpu.settings.kinds import OUTPUT_FORMATS

ADVICE = """\
import tensorflow as tf

model = tf.keras.Sequential([tf.keras.layers.Dense(1)])
model.compile(loss="mse")
model.fit(x, y)
"""
WARNING = """\
import tensorflow as tf

def load():
    numbers = tf.data.Dataset.range(9)
    numbers.shuffle(9)
    return numbers
"""
ERROR = ADVICE + "x = (\n"  # of which nothing else is told
MENDABLE = """\
import tensorflow as tf

def train(model, xs):
    ds = tf.data.Dataset.from_tensor_slices(xs)
    ds = ds.prefetch(1).map(lambda x: tf.io.decode_png(x)).batch(32)
    model.fit(ds, epochs=2)
"""
TIMES = "\N{MULTIPLICATION SIGN}"
PROGRAMS = {"advice": ADVICE, "warning": WARNING, "error": ERROR}


@pytest.fixture
def check(tmp_path: Path, tflint: Any) -> Any:
    """`tflint-gpu check` with settings of the test's own directory."""
    (tmp_path / "tflint-gpu.toml").write_text("")

    def run(*arguments: str, **options: Any) -> subprocess.CompletedProcess[str]:
        done: subprocess.CompletedProcess[str] = tflint("check", "--no-cache", *arguments, **options)
        assert done.returncode in (0, 1), done.stderr
        return done

    return run


def write_projects(folder: Path) -> None:
    """Five projects, of which each gets its advice."""
    for name in "abcde":
        (folder / name).mkdir()
        (folder / name / "setup.py").touch()
        (folder / name / "fit.py").write_text(ADVICE)


def severities(done: subprocess.CompletedProcess[str]) -> set[str]:
    return {one["severity"] for one in json.loads(done.stdout)}


@pytest.mark.parametrize("how", ["option", "setting"])
@pytest.mark.parametrize(
    ("fail_on", "failing"),
    [
        (None, {"error", "warning"}),
        ("error", {"error"}),
        ("warning", {"error", "warning"}),
        ("advice", {"error", "warning", "advice"}),
    ],
)
def test_fail_on_decides_which_severities_fail(
    how: str, fail_on: str | None, failing: set[str], tmp_path: Path, check: Any
) -> None:
    """Protects CI from red runs for advice, and from green ones for what the user said must fail."""
    options = [f"--fail-on={fail_on}"] if fail_on is not None and how == "option" else []
    if fail_on is not None and how == "setting":
        (tmp_path / "tflint-gpu.toml").write_text(f'fail-on = "{fail_on}"\n')
    for severity, program in PROGRAMS.items():
        (tmp_path / "a.py").write_text(program)
        done = check(*options, "--output-format", "json")
        assert severities(done) == {severity}, "told in any case"
        assert done.returncode == (severity in failing), severity


def test_one_failing_finding_among_advice_is_enough(tmp_path: Path, check: Any) -> None:
    (tmp_path / "a.py").write_text(ADVICE)
    (tmp_path / "b.py").write_text(WARNING)
    (tmp_path / "c.py").write_text(ADVICE)
    assert check().returncode == 1
    assert check("--fail-on", "error").returncode == 0


@pytest.mark.slow
def test_each_file_fails_by_its_own_settings(tmp_path: Path, check: Any) -> None:
    """Protects a strict folder in a lax project, and the other way round."""
    for folder, level in (("strict", "advice"), ("lax", "error")):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "tflint-gpu.toml").write_text(f'fail-on = "{level}"\n')
    (tmp_path / "lax" / "a.py").write_text(WARNING)
    (tmp_path / "a.py").write_text(ADVICE)
    assert check().returncode == 0
    assert check("--fail-on", "warning").returncode == 1, "the command line wins"
    (tmp_path / "strict" / "a.py").write_text(ADVICE)
    assert check().returncode == 1
    assert check("--fail-on", "error").returncode == 0, "the command line wins"
    (tmp_path / "strict" / "a.py").unlink()
    assert check("-", stdin=ADVICE).returncode == 0
    assert check("--stdin-filename", "strict/new.py", "-", stdin=ADVICE).returncode == 1, "unsaved text, too"


@pytest.mark.slow
def test_other_options_keep_their_say(tmp_path: Path, check: Any) -> None:
    """Protects `--exit-zero`, `--statistics` and `--quiet` beside `--fail-on`."""
    (tmp_path / "a.py").write_text(ADVICE)
    assert check("--fail-on", "advice", "--exit-zero").returncode == 0
    counted = check("--statistics")
    assert (counted.returncode, counted.stdout.startswith("1\tTFG401\t")) == (0, True)
    assert check("--statistics", "--fail-on", "advice").returncode == 1
    assert check("--quiet", "--fail-on", "advice").returncode == 1


@pytest.mark.slow
def test_advice_that_a_baseline_knows_does_not_fail(tmp_path: Path, check: Any) -> None:
    (tmp_path / "a.py").write_text(ADVICE)
    assert "1 known problem" in check("--write-baseline=known.json", "--fail-on", "advice").stderr
    known = ("--baseline", "known.json", "--fail-on", "advice")
    assert check(*known).returncode == 0
    (tmp_path / "b.py").write_text(ADVICE)
    assert check(*known).returncode == 1
    assert check("--baseline", "known.json").returncode == 0


@pytest.mark.slow
def test_changes_are_told_by_the_exit_code_whatever_they_were_for(tmp_path: Path, check: Any) -> None:
    """Protects `--diff` and `--exit-non-zero-on-fix`, which speak of files and not of findings."""
    path = tmp_path / "a.py"
    path.write_text(MENDABLE)
    assert severities(check("--output-format", "json")) == {"advice"}
    assert check("--diff").returncode == 1
    assert check("--diff", "--fail-on", "error").returncode == 1
    done = check("--fix", "--fail-on", "advice")
    assert (done.returncode, done.stdout) == (0, "Found 1 problem (1 fixed, 0 remaining).\n"), "nothing is left"
    path.write_text(MENDABLE)
    assert check("--fix", "--exit-non-zero-on-fix").returncode == 1


def test_a_wrong_level_is_named_with_the_right_ones(tmp_path: Path, tflint: Any) -> None:
    done = tflint("check", "--fail-on", "never")
    assert (done.returncode, done.stdout) == (2, "")
    assert "'error', 'warning', 'advice'" in done.stderr


@pytest.mark.slow
def test_advice_is_one_line_under_the_findings(tmp_path: Path, check: Any) -> None:
    """Protects what a user of a large project sees: what matters, undisturbed, and then that there is advice."""
    write_projects(tmp_path)
    (tmp_path / "f.py").write_text(WARNING)
    first, *closing = check("--output-format", "concise").stdout.splitlines()
    assert first.startswith("f.py:5:13: warning: TFG308 the dataset ")
    assert closing[:2] == ["Found 1 problem.", "5 pieces of advice (TFG401): --show-advice"]
    full = check().stdout.split("\n\n")
    assert [part.partition(" ")[0] for part in full] == ["warning[TFG308", "Found"]
    table = check("--output-format", "markdown").stdout
    assert table.count("TFG401") == 0 and "\n5 pieces of advice: `--show-advice` lists " in table


@pytest.mark.slow
def test_advice_is_listed_where_it_is_asked_for(tmp_path: Path, check: Any) -> None:
    """Protects the ways to ask: an option, a setting, the option against the setting, the rule's code, what fails."""
    write_projects(tmp_path)
    for output_format in ("concise", "full", "markdown"):
        chosen = ("--output-format", output_format)
        assert not re.findall(r"fit\.py", check(*chosen).stdout)
        for asked in (("--show-advice",), ("--select", "TFG401"), ("--fail-on", "advice")):
            assert len(re.findall(r"fit\.py", check(*chosen, *asked).stdout)) == 5, asked
    (tmp_path / "tflint-gpu.toml").write_text("show-advice = true\n")
    assert check().stdout.count(" --> ") == 5
    assert check("--no-show-advice").stdout.count(" --> ") == 0


@pytest.mark.parametrize("output_format", sorted(set(OUTPUT_FORMATS) - {"full", "concise", "markdown"}))
def test_what_programs_read_has_each_piece_of_advice(output_format: str, tmp_path: Path, check: Any) -> None:
    """Protects dashboards and editors, which choose what they show."""
    write_projects(tmp_path)
    done = check("--output-format", output_format)
    assert done.returncode == 0
    assert {name for name in "abcde" if f"{name}/fit.py" in done.stdout} == set("abcde")
    assert "--show-advice" not in done.stdout


@pytest.mark.slow
def test_what_holds_for_a_project_is_said_once(tmp_path: Path, check: Any) -> None:
    """Protects a course of forty notebooks; each file still gets it where it is checked by itself or made known."""
    names = ("a.py", "lab/b.py", "lab/c.py", "d.py", "e.py")
    (tmp_path / "lab").mkdir()
    for name in names:
        (tmp_path / name).write_text(ADVICE)
    (found,) = json.loads(check("--output-format", "json").stdout)
    assert found["message"].endswith("; the same in 4 other programs")
    places = {
        (Path(one["filename"]).relative_to(tmp_path).as_posix(), one["location"]["row"]) for one in found["related"]
    }
    assert places == {(name, 5) for name in names[1:]}
    text = check("--select", "TFG401").stdout
    assert (text.count("::: "), "lab/c.py:5" in text) == (4, False)
    assert "::: and 1 more location; --show-advice lists all" in text
    assert check("--show-advice").stdout.count("::: ") == 4
    assert "another program" in check("--select", "TFG401", "--output-format", "concise", "lab").stdout
    for name in names:
        alone = check(name, "--show-advice", "--output-format", "concise").stdout
        assert alone.startswith(f"{name}:5:7: advice: TFG401 this program")
    assert check("--diff", "--unsafe-fixes").stdout.count("+++ ") == 5
    assert "5 known problems" in check("--write-baseline", "known.json").stderr
    assert check("--baseline", "known.json").stdout == "All checks passed!\n"


@pytest.mark.parametrize("severity", PROGRAMS)
def test_servers_take_severities_as_they_are(severity: str, tmp_path: Path, check: Any) -> None:
    """Protects builds that are judged by a report: the same finding passes as advice and fails as an error."""
    (tmp_path / "a.py").write_text(WARNING)
    words = ("--config", f'severity.TFG308 = "{severity}"', "--select", "TFG308")
    junit = ElementTree.fromstring(check(*words, "--output-format", "junit", "a.py").stdout)
    [case] = junit.iter("testcase")
    is_advice = severity == "advice"
    assert (case.find("failure") is None) == is_advice == (junit.find(".//system-out") is not None)
    assert junit.find("testsuite").get("failures") == str(int(not is_advice))  # type: ignore[union-attr]
    [line] = check(*words, "--output-format", "azure", "a.py").stdout.splitlines()
    assert line.startswith("a.py:5:13: advice: TFG308 " if is_advice else f"##vso[task.logissue type={severity};")


@pytest.mark.slow
def test_what_was_mended_is_listed(tmp_path: Path, check: Any) -> None:
    """Protects the answer to "what did it do?": by file and rule, as ruff has it."""
    (tmp_path / "a.py").write_text(MENDABLE)
    (tmp_path / "b.py").write_text(MENDABLE + "x = 1  # noqa: TFG101\ny = 2  # noqa: TFG101\n")
    chosen = ("--fix", "--show-fixes", "--select", "TFG302", "--extend-select", "TFG001,TFG101")
    done = check(*chosen)
    assert done.stdout == (
        f"\nFixed 4 problems:\n- a.py:\n    1 {TIMES} TFG302 (misplaced-prefetch)\n"
        f"- b.py:\n    2 {TIMES} TFG001 (unused-suppression)\n    1 {TIMES} TFG302 (misplaced-prefetch)\n\n"
        "Found 4 problems (4 fixed, 0 remaining).\n"
    )
    assert check(*chosen).stdout == "All checks passed!\n"
    (tmp_path / "a.py").write_text(MENDABLE)
    only = check("--fix-only", "--show-fixes", "--select", "TFG302").stdout
    assert only == f"\nFixed 1 problem:\n- a.py:\n    1 {TIMES} TFG302 (misplaced-prefetch)\n\n"
    (tmp_path / "a.py").write_text(MENDABLE)
    assert json.loads(check("--fix", "--show-fixes", "--select", "TFG302", "--output-format", "json").stdout) == []
    (tmp_path / "a.py").write_text(MENDABLE)
    (tmp_path / "tflint-gpu.toml").write_text("show-fixes = true\n")
    assert f"1 {TIMES} TFG302" in check("--fix", "--select", "TFG302").stdout
    (tmp_path / "a.py").write_text(MENDABLE)
    assert "TFG302" not in check("--fix", "--no-show-fixes", "--select", "TFG302").stdout
    (tmp_path / "a.py").write_text(MENDABLE)
    assert check("--fix", "--quiet", "--select", "TFG302").stdout == ""


def write_old_code(folder: Path) -> None:
    """Two folders that pin TensorFlow 1, in one of them for a file with nothing to check, and one that pins 2."""
    files = {
        ".git/HEAD": "",
        "models/train.py": MENDABLE,
        "models/evaluate.py": WARNING,
        "models/plain.py": "x = 1\n",
        "models/setup.py": "setup(\n    description='tensorflow models',\n    install_requires=['tensorflow-gpu>=1.12,<2'],\n)\n",
        "serving/server.py": WARNING,
        "serving/environment.yml": "dependencies:\n  - python=3.7\n  - tensorflow=1.15\n",
        "new/train.py": WARNING,
        "new/requirements.txt": "tensorflow==2.15\n",
    }  # fmt: skip
    for name, text in files.items():
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).write_text(text)


OLD = (
    "Checked as TensorFlow 1 code, to which many rules do not apply: "
    f"3 files ({Path('models/setup.py')}, line 3), 1 file ({Path('serving/environment.yml')}, line 3)."
)


@pytest.mark.parametrize("options", [(), ("--output-format", "concise"), ("-j2",), ("--fix", "--unsafe-fixes")])
def test_a_report_says_why_code_is_for_tensorflow_1(options: tuple[str, ...], tmp_path: Path, check: Any) -> None:
    write_old_code(tmp_path)
    assert check(*options).stdout.splitlines()[-1] == OLD
    assert "TensorFlow 1 code" not in check(*options, "new").stdout + check(*options, "--quiet").stdout


def test_a_report_of_known_results_names_the_line_that_pins_tensorflow_1_now(tmp_path: Path, tflint: Any) -> None:
    """Protects who edits the file between two runs: what was found is known, the line is another one."""
    write_old_code(tmp_path)
    assert [tflint("check").stdout.splitlines()[-1] for _ in range(2)] == [OLD, OLD]
    pins = tmp_path / "models" / "setup.py"
    pins.write_text(f"# tensorflow<2 as long as we use Estimators\n{pins.read_text()}")
    assert tflint("check").stdout.splitlines()[-1] == OLD.replace("py, line 3", "py, line 4")


@pytest.mark.parametrize("style", sorted({*OUTPUT_FORMATS} - {"full", "concise"}))
def test_a_report_for_programs_says_nothing_of_tensorflow_1(style: str, tmp_path: Path, check: Any) -> None:
    write_old_code(tmp_path)
    assert "TensorFlow 1 code" not in check("--output-format", style).stdout


def test_settings_and_notebooks_make_code_one_for_tensorflow_1(tmp_path: Path, check: Any) -> None:
    cells = [
        {"cell_type": "code", "source": [line], "outputs": []} for line in ("!pip install tensorflow==1.15", WARNING)
    ]
    for name in ("a", "b"):
        (tmp_path / f"{name}.ipynb").write_text(json.dumps({"cells": cells, "nbformat": 4, "metadata": {}}))
    (tmp_path / "train.py").write_text(WARNING)
    assert "apply: 2 files (what the notebook's own cells install)." in check().stdout
    assert "apply: 3 files (`target-tensorflow`)." in check("--target-tensorflow", "1.15").stdout


def test_of_many_lines_that_pin_tensorflow_1_a_report_names_those_for_the_most_files(
    tmp_path: Path, check: Any
) -> None:
    for folder in "abcde":
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "requirements.txt").write_text("tensorflow<2\n")
        (tmp_path / folder / "train.py").write_text(WARNING)
    (tmp_path / "e" / "evaluate.py").write_text(WARNING)
    said = check().stdout.splitlines()[-1]
    assert said.count("requirements.txt") == 3 and f"apply: 2 files ({Path('e')}" in said
    assert said.endswith("6 in total.")
