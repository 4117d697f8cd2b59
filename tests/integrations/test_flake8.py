"""Protects the plugin in the real flake8: it finds what `check` finds, at the same places, under flake8's own rules."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from argparse import Namespace
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from checkout import needs_installation
from linting import CODE, FLAGGED, MESSAGE, PLACE, Flake8, codes
from warm import Warm

from tflint_gpu.integrations.flake8_run import Flake8Run
from tflint_gpu.rule import Rule

pytestmark = pytest.mark.slow

ROOT = Path(__file__).parents[2]
DATA = """\
import tensorflow as tf


def load(xs):
    ds = tf.data.Dataset.from_tensor_slices(xs)
    return ds.prefetch(1).map(lambda x: tf.io.decode_png(x)).batch(32)
"""
MIDDLE = """\
import tensorflow as tf
from data import load as samples


def other(ds: tf.data.Dataset):
    return ds.map(len).prefetch(2)
"""
TRAIN = """\
import keras

from middle import samples


def train(model):
    model.fit(samples([1, 2, 3]), epochs=2)
"""
# What VS Code's extension passes without a shell, quotes and all.
VS_CODE_FORMAT = "--format='%(row)d,%(col)d,%(code).1s,%(code)s:%(text)s'"


Checked = Callable[[list[str], Path], "Counter[tuple[str, int, int, str]]"]


@pytest.fixture
def checked(commands: Warm) -> Checked:
    """What `tflint-gpu check` reports in files for flake8."""

    def check(paths: list[str], cwd: Path) -> Counter[tuple[str, int, int, str]]:
        done = commands.run("tflint_gpu", "check", "--no-cache", "--output-format", "json", *paths, cwd=cwd)
        assert done.stderr == b""
        return Counter(
            (one["filename"], one["location"]["row"], one["location"]["column"], one["code"])
            for one in json.loads(done.stdout)
            if not one["filename"].endswith(".ipynb")
        )

    return check


def linted(done: subprocess.CompletedProcess[str], cwd: Path) -> Counter[tuple[str, int, int, str]]:
    """What flake8 reports of ours."""
    assert done.stderr == ""
    found = re.findall(r"^(.+?):(\d+):(\d+): (TFG\d+) ", done.stdout, re.MULTILINE)
    return Counter((os.path.normpath(cwd / name), int(row), int(column), code) for name, row, column, code in found)


def test_it_is_found_without_configuration(tmp_path: Path, each_flake8: Flake8) -> None:
    (tmp_path / "a.py").write_text(FLAGGED)
    done = each_flake8("a.py")
    assert (done.returncode, done.stderr) == (1, "")
    assert done.stdout.startswith(f"a.py:{PLACE}")
    assert "tflint-gpu: " in each_flake8("--version").stdout


@pytest.mark.parametrize("folder", ["no_longer_runs", pytest.param("", marks=pytest.mark.slow)])
def test_all_fixtures_have_the_same_findings_as_in_check(
    folder: str, tmp_path: Path, each_flake8: Flake8, checked: Checked
) -> None:
    """Protects "the same findings at the same places", each once, those found through other files among them.

    What `check` says once a project, flake8, which sees one file after the other, says in each program.
    """
    shutil.copytree(ROOT / "fixtures" / folder, tmp_path / "code")
    expected = checked(["--ignore", "TFG401", "code"], tmp_path)
    assert len(expected) > 20
    for jobs in ("-j1", "-j2"):
        done = each_flake8(jobs, "--select=TFG", "--extend-ignore=TFG401", "code", cwd=tmp_path)
        assert linted(done, tmp_path) == expected


@pytest.mark.parametrize("jobs", ["-j1", "-j2"])
def test_a_finding_lies_in_the_file_that_has_it_however_it_is_found(
    jobs: str, tmp_path: Path, flake8: Flake8, checked: Checked, write_files: Any
) -> None:
    """Protects findings in a file that only arise from a file which imports it, here through a third one."""
    write_files({"data.py": DATA, "middle.py": MIDDLE, "train.py": TRAIN})
    for paths in (["."], ["data.py", "train.py"], [str(tmp_path)]):
        done = flake8(jobs, "--select=TFG3", *paths)
        assert [
            line for line in done.stdout.splitlines() if f"data.py:6:15: {MESSAGE}" in line
        ] == done.stdout.splitlines()
        assert linted(done, tmp_path) == checked(["--select", "TFG3", *paths], tmp_path) != Counter()


def test_a_single_file_is_checked_alone_as_check_does(tmp_path: Path, flake8: Flake8, write_files: Any) -> None:
    """Protects editors from the search for importing files at each keystroke."""
    write_files({"data.py": DATA, "middle.py": MIDDLE, "train.py": TRAIN})
    for name in ("data.py", "train.py"):
        assert codes(flake8("--select=TFG3", name)) == []


def test_helpers_and_base_classes_of_other_files_are_known(tmp_path: Path, flake8: Flake8, write_files: Any) -> None:
    base = "import keras\n\n\nclass Base(keras.layers.Layer):\n    pass\n"
    layer = "import numpy as np\nfrom base import Base\n\nimport keras\n\n\nclass Sine(Base):\n    def call(self, x):\n        return np.abs(x)\n"
    write_files({"base.py": base, "layer.py": layer})
    assert codes(flake8("--select=TFG1", "layer.py")) == ["TFG101"]
    assert codes(flake8("--select=TFG1", "--stdin-display-name", "layer.py", "-", stdin=layer)) == ["TFG101"]
    (tmp_path / "base.py").unlink()
    assert codes(flake8("--select=TFG1", "layer.py")) == []


def test_a_file_without_tensorflow_does_not_import_libcst(tmp_path: Path) -> None:
    """Protects the start: most files of most users have nothing to do with TensorFlow."""
    needs_installation()
    program = """if True:
        import sys
        from flake8.main.application import Application
        before = set(sys.modules)
        Application().run(["--isolated", "-j1", *sys.argv[1:]])
        ours = {name for name in set(sys.modules) - before if name.startswith("tflint_gpu")}
        print(sorted(ours), "libcst" in sys.modules)
    """
    (tmp_path / "plain.py").write_text('print("numpy, torch and jax")\n')
    (tmp_path / "a.py").write_text(FLAGGED)

    def imported(*arguments: str) -> str:
        command = [sys.executable, "-c", program, *arguments]
        done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=600, check=True)
        return done.stdout.splitlines()[-1]

    light = [
        "tflint_gpu",
        "tflint_gpu.integrations",
        "tflint_gpu.integrations.flake8",
        "tflint_gpu.text",
        "tflint_gpu.text.bytesearch",
    ]
    assert imported("plain.py") == f"{light} False"
    assert imported("--select=E9,F63", "a.py") == f"{light} False"
    assert imported("a.py").endswith("True")


def test_standard_input(tmp_path: Path, each_flake8: Flake8) -> None:
    """Protects editors' unsaved texts: the text counts, not the file of that name."""
    (tmp_path / "x.py").write_text("import tensorflow as tf\n")
    done = each_flake8("--stdin-display-name", "x.py", "-", stdin=FLAGGED)
    assert done.stdout.startswith(f"x.py:{PLACE}")
    assert each_flake8("-", stdin=FLAGGED).stdout.startswith(f"stdin:{PLACE}")
    assert codes(each_flake8("--stdin-display-name", "x.py", "-", stdin=FLAGGED.replace(".prefetch(1)", ""))) == []


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "latin-1"])
@pytest.mark.parametrize("newline", ["\n", "\r\n"])
def test_columns_count_characters_in_every_encoding(
    encoding: str, newline: str, tmp_path: Path, flake8: Flake8, checked: Checked
) -> None:
    cookie = "# coding: latin-1\n" if encoding == "latin-1" else "#\n"
    text = cookie + FLAGGED.replace("ds = ds.prefetch", 'é = "éé"; ds = ds.prefetch')
    data = text.replace("\n", newline).encode(encoding)
    (tmp_path / "a.py").write_bytes(data)
    expected = checked(["a.py"], tmp_path)
    assert (str(tmp_path / "a.py"), 7, 23, CODE) in expected
    assert linted(flake8("--select=TFG", "a.py"), tmp_path) == expected
    assert linted(flake8("--select=TFG", "--stdin-display-name=a.py", "-", stdin=data), tmp_path) == expected


def test_noqa_is_flake8s_and_comments_for_a_file_are_ours(tmp_path: Path, flake8: Flake8) -> None:
    split = FLAGGED.replace("    ds = ds.prefetch", "    ds = (\n        ds\n        .prefetch").replace(
        "(32)", "(32)\n    )"
    )
    variants = {
        "own line": (FLAGGED.replace("(32)", "(32)  # noqa: TFG302"), 0),
        "another code": (FLAGGED.replace("(32)", "(32)  # noqa: E501"), 1),
        "split": (split, 1),
        "split, the finding's line": (
            split.replace("png(x))", "png(x))  # noqa").replace(".batch", "\n        .batch"),
            0,
        ),
        "split, the statement's line": (split.replace("ds = (\n", "ds = (  # noqa\n"), 1),
        "file": (f"# tflint-gpu: noqa\n{FLAGGED}", 0),
        "file, this code": (f"# tflint-gpu: noqa: {CODE}\n{FLAGGED}", 0),
        "file, another code": (f"# tflint-gpu: noqa: TFG101\n{FLAGGED}", 1),
        "file, flake8": (f"# flake8: noqa\n{FLAGGED}", 0),
    }
    for name, (text, count) in variants.items():
        assert len(codes(flake8("--select=TFG", "-", stdin=text))) == count, name
        assert len(codes(flake8("--select=TFG", "--disable-noqa", "-", stdin=text))) == 1, name


def test_files_that_python_refuses_are_left_to_flake8(tmp_path: Path, flake8: Flake8, checked: Checked) -> None:
    (tmp_path / "broken.py").write_text("import tensorflow as tf (\n")
    assert codes(flake8("broken.py")) == ["E999"]
    assert codes(flake8("-", stdin="import tensorflow as tf (\n")) == ["E999"]
    assert codes(flake8("nowhere.py")) == ["E902"]
    (tmp_path / "exported.py").write_text("!nvidia-smi\n" + FLAGGED)
    assert set(codes(flake8("exported.py"))) == {"E999"}
    (tmp_path / "bytes.py").write_bytes(b"import tensorflow\n# \xff\n")  # flake8 reads it as Latin-1, Python does not
    assert linted(flake8("--select=TFG", "bytes.py"), tmp_path) == checked(["bytes.py"], tmp_path) != Counter()


def test_what_the_settings_exclude_and_notebooks_stay_quiet(tmp_path: Path, flake8: Flake8, write_files: Any) -> None:
    cell = {"cell_type": "code", "metadata": {}, "outputs": [], "source": FLAGGED.splitlines(True)}
    notebook = json.dumps({"nbformat": 4, "nbformat_minor": 5, "metadata": {}, "cells": [cell]})
    write_files({"old/a.py": FLAGGED, "a.py": FLAGGED, "n.ipynb": notebook})
    (tmp_path / "pyproject.toml").write_text('[tool.tflint-gpu]\nextend-exclude = ["old"]\n')
    assert linted(flake8("--select=TFG", ".", "n.ipynb"), tmp_path) == Counter([(str(tmp_path / "a.py"), 6, 13, CODE)])


def test_vs_codes_command_lines(tmp_path: Path, each_flake8: Flake8) -> None:
    """Protects what microsoft/vscode-flake8 runs: the file by its path, a notebook's cell by standard input."""
    path = tmp_path / "a.py"
    path.write_text(FLAGGED)
    for arguments, stdin in (([str(path)], None), (["--stdin-display-name", str(path), "-"], FLAGGED)):
        [line] = each_flake8(VS_CODE_FORMAT, *arguments, stdin=stdin).stdout.splitlines()
        match = re.fullmatch(r"'(\d+),(-?\d+),(\w+),(\w+\d+):([^\r\n]*)'", line)
        assert match is not None
        assert match.groups()[:4] == ("6", "13", "T", CODE)


def test_a_process_that_runs_flake8_again_sees_the_new_text(tmp_path: Path) -> None:
    """Protects editors that keep one process: nothing of the last run, neither files nor options, may be left."""
    needs_installation()
    program = f"""if True:
        import pathlib, runpy, sys
        def run(*arguments):
            sys.argv = ["flake8", "-j1", "--select=TFG", *arguments]
            try:
                runpy.run_module("flake8", run_name="__main__")
            except SystemExit as leaving:
                return leaving.code
        path = pathlib.Path("a.py")
        text = path.read_text()
        codes = [run("a.py"), run("--tflint-config=off.toml", "a.py"), run("a.py")]
        path.write_text(text.replace(".prefetch(1)", ""))
        codes.append(run("a.py"))
        from flake8.api import legacy
        path.write_text(text)
        guide = legacy.get_style_guide(select=["{CODE}"])
        codes.append(guide.check_files(["a.py"]).total_errors)
        print([int(code or 0) for code in codes], file=sys.stderr)
    """
    (tmp_path / "a.py").write_text(FLAGGED)
    (tmp_path / "off.toml").write_text('ignore = ["ALL"]\n')
    command = [sys.executable, "-c", program]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=600, check=True)
    assert done.stderr == "[1, 0, 1, 0, 1]\n"


def test_a_rule_that_fails_is_reported_and_the_others_go_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, make_rule: Callable[..., Rule]
) -> None:
    class Fails(Rule):
        code, name = "TFG902", "fails"

        def check(self, model: Any) -> Iterator[Any]:
            raise ValueError("oops\nand more")
            yield

    monkeypatch.chdir(tmp_path)
    text = "import tensorflow\nBAD\n"
    (tmp_path / "a.py").write_text(text)
    run = Flake8Run.under(Namespace(filenames=["a.py"]), ())
    run = replace(run, engine=replace(run.engine, rules=[Fails(), make_rule()]))
    found = [(row, column, message.split(" ")[0]) for row, column, message in run.findings("a.py", text)]
    assert found == [(2, 1, "TFG901"), (1, 1, "TFG000")]
    assert "TFG902 failed on this file; please report it: and more" in run.findings("a.py", text)[1][2]
