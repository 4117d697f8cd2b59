"""Protects what people ask: of each program `check` names the cause, as the first thing that it says.

Each program has the question in its first line and, in its second, the rule's code and what stands in the line that it
must name. A folder is a program of several files, `main.py` first.
"""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest

FOLDER = Path(__file__).parent
PROGRAMS = sorted(path for path in FOLDER.iterdir() if path.name[0].isdigit())


def main_of(program: Path) -> Path:
    return next(program.glob("main.*")) if program.is_dir() else program


def expected_of(program: Path) -> tuple[str, str]:
    """The code of the rule, and a part of the line that it names."""
    second = main_of(program).read_text("utf-8").splitlines()[1]
    code, _, part = second.removeprefix("# expected: ").partition(" | ")
    return code, part


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda program: program.name)
def test_the_cause_is_the_first_thing_said(program: Path, tmp_path: Path, tflint: Any) -> None:
    copied = tmp_path / program.name
    if program.is_dir():
        shutil.copytree(program, copied, ignore=shutil.ignore_patterns("__pycache__"))
    else:
        shutil.copy(program, copied)
    done = tflint("check", "--isolated", "--no-cache", "--output-format", "json-lines", ".")
    found = [json.loads(line) for line in done.stdout.splitlines()]
    said = [one for one in found if one["severity"] != "advice"]
    assert said, found
    code, part = expected_of(program)
    first = said[0]
    line = (tmp_path / first["filename"]).read_text("utf-8").splitlines()[first["location"]["row"] - 1]
    assert (first["code"], part in line) == (code, True), (code, part, first["code"], line)
