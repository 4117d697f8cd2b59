"""Protects `--diff-base` and `--baseline` as users meet them: what is told, mended, written, and the exit codes."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from checkout import git

CODE = "TFG302"  # the examples of this file speak about one real rule: misplaced-prefetch
TRAIN = """\
import tensorflow as tf

def train(model, xs):
    ds = tf.data.Dataset.from_tensor_slices(xs)
    ds = ds.prefetch(1).map(lambda x: tf.io.decode_png(x)).batch(32)
    model.fit(ds, epochs=2)
"""
FIXED = TRAIN.replace(
    ".prefetch(1).map(lambda x: tf.io.decode_png(x)).batch(32)",
    ".map(lambda x: tf.io.decode_png(x)).batch(32).prefetch(1)",
)
TWICE = TRAIN + TRAIN.replace("train", "again").replace("prefetch(1)", "prefetch(2)")
CLEAN = "All checks passed!\n"


@pytest.fixture
def check(tmp_path: Path, tflint: Any) -> Any:
    """`tflint-gpu check` for one rule, a line a finding; for TensorFlow 2.9, where the rule is no mere advice."""
    (tmp_path / "tflint-gpu.toml").write_text(
        f'select = ["{CODE}"]\ntarget-tensorflow = "2.9"\noutput-format = "concise"\n'
    )

    def run(*arguments: str, **options: Any) -> subprocess.CompletedProcess[str]:
        return tflint("check", *arguments, **options)

    return run


def commit(directory: Path, message: str = "state") -> None:
    if not (directory / ".git").exists():
        git(directory, "init", "--quiet", "--initial-branch=main")
    git(directory, "add", "--all")
    git(directory, "commit", "--quiet", "--message", message)


def places(done: subprocess.CompletedProcess[str]) -> list[str]:
    """File and row of each finding."""
    return [":".join(line.split(":")[:2]) for line in done.stdout.splitlines() if f" {CODE} " in line]


def test_only_findings_on_changed_lines(tmp_path: Path, check: Any) -> None:
    (tmp_path / "a.py").write_text(TRAIN)
    commit(tmp_path)
    assert (check("--diff-base", "HEAD").returncode, check("--diff-base", "HEAD").stdout) == (0, CLEAN)
    (tmp_path / "a.py").write_text(TWICE)
    (tmp_path / "new.py").write_text(TRAIN)
    done = check("--diff-base", "HEAD")
    assert (done.returncode, places(done), done.stderr) == (1, ["a.py:11", "new.py:5"], "")
    assert done.stdout.endswith("Found 2 problems.\n[*] 2 fixable with the --fix option.\n"), (
        "the others are not counted"
    )


def test_only_what_is_on_changed_lines_is_mended(tmp_path: Path, check: Any) -> None:
    path = tmp_path / "a.py"
    path.write_text("# one\n" + TRAIN)
    commit(tmp_path)
    path.write_text("# one\n# two\n" + TWICE)
    shown = check("--diff-base", "HEAD", "--diff")
    assert (shown.returncode, shown.stderr) == (1, "Would fix 1 problem.\n")
    done = check("--diff-base", "HEAD", "--fix")
    assert (done.returncode, done.stdout) == (0, "Found 1 problem (1 fixed, 0 remaining).\n")
    assert path.read_text().count("ds.prefetch(1)") == 1, "an old finding stays"
    assert "prefetch(2)\n" in path.read_text(), "a new one is mended"


def test_standard_input_is_compared_as_the_file_that_it_is_named_after(tmp_path: Path, check: Any) -> None:
    (tmp_path / "a.py").write_text(TRAIN)
    commit(tmp_path)
    done = check("--diff-base", "HEAD", "--stdin-filename", "a.py", "-", stdin="# unsaved\n" + TWICE)
    assert (done.returncode, places(done)) == (1, ["a.py:12"])
    done = check("--diff-base", "HEAD", "--stdin-filename", "a.py", "--fix", "-", stdin="# unsaved\n" + TWICE)
    assert done.stdout.startswith("# unsaved\n" + TRAIN)
    assert "ds.prefetch(2)" not in done.stdout


def test_what_cannot_be_compared_exits_with_2(tmp_path: Path, check: Any, tmp_path_factory: Any) -> None:
    (tmp_path / "a.py").write_text(TRAIN)
    outside = tmp_path_factory.mktemp("outside") / "b.py"
    outside.write_text(TRAIN)
    done = check("--diff-base", "HEAD", GIT_CEILING_DIRECTORIES=str(tmp_path.parent))
    assert (done.returncode, "not a git repository" in done.stderr) == (2, True)
    commit(tmp_path)
    for arguments, words in [
        (["--diff-base", "nowhere"], "unknown revision 'nowhere'"),
        (["--diff-base", "HEAD", str(outside)], str(outside)),
        (["--diff-base", "HEAD", "--write-baseline=known.json"], "cannot be combined"),
    ]:
        done = check(*arguments)
        assert (done.returncode, done.stdout) == (2, ""), arguments
        assert words in done.stderr
        assert "Traceback" not in done.stderr


NOTEBOOK: dict[str, Any] = {"metadata": {"kernelspec": {"language": "python"}}, "nbformat": 4, "nbformat_minor": 5}


def notebook(*cells: str, output: str = "") -> str:
    """A notebook as Jupyter writes it."""
    made = [
        {
            "cell_type": "code", "execution_count": None, "id": f"c{number}", "metadata": {},
            "outputs": [{"name": "stdout", "output_type": "stream", "text": [output]}],
            "source": text.splitlines(keepends=True),
        }
        for number, text in enumerate(cells)
    ]  # fmt: skip
    return json.dumps({"cells": made, **NOTEBOOK}, indent=1) + "\n"


def test_a_notebook_has_changed_where_its_source_has(tmp_path: Path, check: Any) -> None:
    path = tmp_path / "a.ipynb"
    path.write_text(notebook(TRAIN))
    commit(tmp_path)
    path.write_text(notebook(TRAIN, output="run again"))
    assert check("--diff-base", "HEAD").stdout == CLEAN
    path.write_text(notebook("import os\n", TRAIN.replace("prefetch(1)", "prefetch(2)")))
    done = check("--diff-base", "HEAD")
    assert (done.returncode, places(done)) == (1, ["a.ipynb:cell 2"]), done.stdout


def test_the_baseline_of_a_notebook_outlives_new_cells(tmp_path: Path, check: Any) -> None:
    path = tmp_path / "a.ipynb"
    path.write_text(notebook(TRAIN))
    assert check("--write-baseline=known.json").returncode == 0
    path.write_text(notebook("import os\n", "# more\n" + TRAIN, output="run"))
    assert check("--baseline", "known.json").stdout == CLEAN
    path.write_text(notebook(TRAIN.replace("prefetch(1)", "prefetch(2)")))
    assert check("--baseline", "known.json").returncode == 1


@pytest.mark.slow
def test_a_baseline_from_the_first_day_to_the_last(tmp_path: Path, check: Any) -> None:
    path = tmp_path / "a.py"
    path.write_text(TRAIN)
    done = check("--write-baseline=known.json")
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "known.json: 1 known problem (1 added, 0 dropped).\n")
    assert check().returncode == 1
    done = check("--baseline", "known.json")
    assert (done.returncode, done.stdout, done.stderr) == (0, CLEAN, "")

    path.write_text("# moved\n" + TWICE)
    done = check("--baseline", "known.json")
    assert (done.returncode, places(done), done.stderr) == (1, ["a.py:12"], "")

    path.write_text(TWICE.replace("prefetch(1)", "prefetch(3)"))
    done = check("--baseline", "known.json")
    assert (done.returncode, places(done)) == (1, ["a.py:5", "a.py:11"]), "an edited line is new"
    gone = "1 problem in the baseline no longer exists; --write-baseline removes it\n"
    assert done.stderr == f"warning: {gone}"
    assert check("--baseline", "known.json", "--quiet").stderr == ""
    assert "a.py: TFG302 ds = ds.prefetch(1)" in check("--baseline", "known.json", "--verbose").stderr

    done = check("--baseline", "known.json", "--write-baseline")
    assert (done.returncode, done.stderr) == (0, "known.json: 2 known problems (2 added, 1 dropped).\n")
    path.unlink()
    assert "2 problems in the baseline no longer exist" in check("--baseline", "known.json").stderr
    assert check("--write-baseline=known.json").stderr.endswith("0 known problems (0 added, 2 dropped).\n")


@pytest.mark.slow
def test_a_baseline_named_in_the_settings(tmp_path: Path, check: Any) -> None:
    (tmp_path / "sub").mkdir()
    (tmp_path / "sub" / "a.py").write_text(TRAIN)
    with (tmp_path / "tflint-gpu.toml").open("a") as settings:
        settings.write('baseline = "known.json"\n')
    done = check()
    assert (done.returncode, "create it with --write-baseline" in done.stderr) == (2, True)
    assert check("--no-baseline").returncode == 1
    assert check("--write-baseline").returncode == 0
    assert json.loads((tmp_path / "known.json").read_text())["findings"][0]["file"] == "sub/a.py"
    assert check().returncode == 0
    assert check("--no-baseline").returncode == 1
    assert check("--isolated", "--select", CODE, "--target-tensorflow", "2.9").returncode == 1


def test_a_run_that_makes_findings_known_mends_nothing(tmp_path: Path, check: Any) -> None:
    (tmp_path / "a.py").write_text(TRAIN)
    with (tmp_path / "tflint-gpu.toml").open("a") as settings:
        settings.write("fix = true\n")
    assert "1 known problem (1 added" in check("--write-baseline=known.json").stderr
    assert (tmp_path / "a.py").read_text() == TRAIN


@pytest.mark.slow
def test_a_run_in_which_a_rule_fails_says_and_writes_nothing_of_baselines(tmp_path: Path, check: Any) -> None:
    (tmp_path / "a.py").write_text(TRAIN)
    check("--write-baseline=known.json")
    before = (tmp_path / "known.json").read_bytes()
    script = (
        "import sys, tflint_gpu.rule as r\n"
        f"rule = r.load(['{CODE}'])[0]\n"
        "def check(self, model): raise ValueError('oops')\n"
        "type(rule).check = check\n"
        "from tflint_gpu.cli import main\n"
        "main(['check', '--no-cache', *sys.argv[1:]])\n"
    )
    for option in ("--baseline=known.json", "--write-baseline=known.json"):
        command = [sys.executable, "-c", script, option]
        done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=600)
        assert (done.returncode, "gone" in done.stderr) == (2, False), done.stderr
        assert f"{CODE} failed" in done.stderr
    assert "the baseline was not written" in done.stderr
    assert (tmp_path / "known.json").read_bytes() == before


@pytest.mark.slow
def test_a_run_says_of_what_it_looked_at_only_that_it_is_gone(tmp_path: Path, check: Any) -> None:
    """pre-commit hands over some files, editors one; nobody shall prune what is there still."""
    for name in ("a.py", "b.py", "broken.py"):
        (tmp_path / name).write_text(TRAIN)
    assert "3 known problems" in check("--write-baseline=known.json").stderr
    (tmp_path / "b.py").write_text(FIXED)
    (tmp_path / "broken.py").write_text(TRAIN + "(")
    for arguments in (
        ["a.py"],
        ["--ignore", CODE],
        ["--stdin-filename", "b.py", "-"],
        ["broken.py"],
    ):
        assert "gone" not in check("--baseline", "known.json", *arguments, stdin=FIXED).stderr, arguments
        if "-" not in arguments:
            assert "0 dropped" in check("--write-baseline=known.json", *arguments).stderr, arguments
    assert "1 problem in the baseline no longer exists" in check("--baseline", "known.json").stderr
    assert "1 problem in the baseline no longer exists" in check("--baseline", "known.json", "b.py").stderr
    (tmp_path / "b.py").unlink()
    assert "1 problem in the baseline no longer exists" in check("--baseline", "known.json", "a.py").stderr, (
        "with its file"
    )


def test_what_is_known_is_not_mended_either(tmp_path: Path, check: Any) -> None:
    path = tmp_path / "a.py"
    path.write_text(TRAIN)
    check("--write-baseline=known.json")
    path.write_text(TWICE)
    done = check("--baseline", "known.json", "--fix")
    assert (done.returncode, done.stdout) == (0, "Found 1 problem (1 fixed, 0 remaining).\n")
    assert path.read_text().startswith(TRAIN)
    assert "ds.prefetch(2)" not in path.read_text()


def test_both_together_tell_of_what_is_changed_and_not_known(tmp_path: Path, check: Any) -> None:
    (tmp_path / "a.py").write_text(TRAIN)
    commit(tmp_path)
    (tmp_path / "a.py").write_text(TWICE)
    (tmp_path / "b.py").write_text(TRAIN)
    check("b.py", "--write-baseline=known.json")
    done = check("--baseline", "known.json", "--diff-base", "HEAD")
    assert (places(done), done.stderr) == (["a.py:11"], "")


@pytest.mark.slow
def test_a_baseline_that_is_none_exits_with_2_and_is_left_alone(tmp_path: Path, check: Any) -> None:
    path = tmp_path / "a.py"
    path.write_text(TRAIN)
    (tmp_path / "sub").mkdir()
    for arguments, words in [
        (["--write-baseline", "a.py"], "not a baseline"),
        (["--write-baseline", "sub"], "use --write-baseline=FILE"),
        (["--write-baseline=no/where.json"], "cannot be written"),
        (["--write-baseline"], "needs a file"),
        (["--write-baseline=x.json", "--diff"], "cannot be combined"),
        (["--write-baseline=x.json", "--fix"], "cannot be combined"),
        (["--write-baseline=x.json", "-"], "standard input"),
        (["--baseline", "a.py"], "not a baseline"),
        (["--baseline", "none.json"], "the baseline does not exist"),
        (["--baseline", "sub"], "cannot be read"),
    ]:
        done = check(*arguments, stdin="")
        assert (done.returncode, done.stdout) == (2, ""), arguments
        assert words in done.stderr, arguments
        assert "Traceback" not in done.stderr
    assert path.read_text() == TRAIN
