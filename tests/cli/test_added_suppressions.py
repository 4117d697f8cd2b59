"""Protects `--add-noqa`, which silences what is found today, and `--output-file`: nothing else in the files changes."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

OPTIONS = ("check", "--isolated", "--no-cache")
PROGRAM = """\
import tensorflow as tf

gpus = tf.config.list_physical_devices("GPU")
tf.config.experimental.set_memory_growth(gpus[0], True)
with tf.device("/GUP:0"):  # noqa: E501
    x = tf.ones(3)
text = \"\"\"
\"\"\"
"""
NOTEBOOK = {
    "cells": [
        {"cell_type": "code", "source": ["import tensorflow as tf\n", "gpus = tf.config.list_physical_devices('GPU')"]},
        {"cell_type": "code", "source": ["%time 1\n", "first = gpus[0]\n", "print(first)"]},
    ],
    "metadata": {},
    "nbformat": 4,
    "nbformat_minor": 5,
}


def test_each_finding_gets_its_code_in_a_comment(tmp_path: Path, tflint: Any) -> None:
    path = tmp_path / "a.py"
    path.write_bytes(PROGRAM.replace("\n", "\r\n").encode())
    done = tflint(*OPTIONS, "--add-noqa", ".")
    assert (done.returncode, done.stdout) == (0, "")
    assert done.stderr == "Suppressed 3 problems.\n"
    lines = path.read_bytes().decode().split("\r\n")
    assert lines[3].endswith("(gpus[0], True)  # noqa: TFG403, TFG506")
    assert lines[4] == 'with tf.device("/GUP:0"):  # noqa: E501, TFG502'
    assert [line for line in lines if "noqa" not in line] == [
        line for index, line in enumerate(PROGRAM.split("\n")) if index not in (3, 4)
    ]
    assert tflint(*OPTIONS, ".").stdout == "All checks passed!\n"
    again = tflint(*OPTIONS, "--add-noqa", ".")
    assert again.stderr == "Suppressed 0 problems.\n"
    assert path.read_bytes().decode().split("\r\n") == lines


def test_cells_of_notebooks_get_comments(tmp_path: Path, tflint: Any) -> None:
    path = tmp_path / "a.ipynb"
    path.write_text(json.dumps(NOTEBOOK, indent=1))
    assert tflint(*OPTIONS, "--add-noqa", ".").stderr == "Suppressed 1 problem.\n"
    cells = json.loads(path.read_text())["cells"]
    assert cells[0] == NOTEBOOK["cells"][0]
    assert "".join(cells[1]["source"]) == "%time 1\nfirst = gpus[0]  # noqa: TFG506\nprint(first)"


def test_files_that_do_not_parse_are_left_and_told_of(tmp_path: Path, tflint: Any) -> None:
    path = tmp_path / "a.py"
    path.write_text("import tensorflow as tf\nwith tf.device('/GUP:0')\n")
    done = tflint(*OPTIONS, "--add-noqa", ".")
    assert done.returncode == 1
    assert "a.py:2: TFG000 cannot be suppressed by a comment on that line" in done.stderr
    assert path.read_text().count("noqa") == 0


def test_fixes_and_comments_exclude_each_other(tflint: Any) -> None:
    done = tflint(*OPTIONS, "--add-noqa", "--fix")
    assert done.returncode == 2
    assert "--add-noqa and --fix cannot be combined" in done.stderr


def test_reports_go_to_a_file(tmp_path: Path, tflint: Any) -> None:
    """Protects the report for a later step of a pipeline: whole, with the exit code of the run."""
    (tmp_path / "a.py").write_text(PROGRAM)
    shown = tflint(*OPTIONS, "--output-format", "json", ".")
    done = tflint(*OPTIONS, "--output-format", "json", "--output-file", "report.json", ".")
    assert (done.returncode, done.stdout) == (shown.returncode, "") == (1, "")
    assert json.loads((tmp_path / "report.json").read_text()) == json.loads(shown.stdout)
    failed = tflint(*OPTIONS, "-o", "missing/report.json", ".")
    assert failed.returncode == 2
    assert "--output-file" in failed.stderr
