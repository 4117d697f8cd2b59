"""What `verify --keep` leaves: a folder for each experiment, with which somebody else can repeat and judge it."""

from __future__ import annotations

import json
import os
import re
import shlex
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path, PurePath
from typing import Any

from tflint_gpu.diagnostics import Diagnostic
from tflint_gpu.text.replacement import replace_file

_UNFIT = re.compile(r"[^\w.+-]+")


def kept_folder(root: Path, diagnostic: Diagnostic, variant: str = "") -> Path:
    """The folder of an experiment: its file's path, and in it cell, row, column and code.

    Arguments:
        variant: what is special about the experiment, where the finding has several.
    """
    parts = [_part(part) for part in PurePath(diagnostic.filename).parts if part.strip("/\\")]
    place = diagnostic.location
    cell = f"cell{place.cell}_" if place.cell else ""
    name = f"{cell}{place.row}_{place.column}_{diagnostic.code}"
    return root.joinpath(*parts, f"{name}_{_part(variant)}" if variant else name)


def _part(text: str) -> str:
    """The text as a folder's name, which leads nowhere else."""
    return "up" if text == ".." else _UNFIT.sub("_", text)


def must_be_writable(path: Path, *, is_folder: bool) -> None:
    """Try whether a file, or files in a folder, can be written; a folder that is not there is made.

    Raises:
        OSError: they cannot.
    """
    if is_folder:
        path.mkdir(parents=True, exist_ok=True)
    elif path.exists():
        path.open("ab").close()
        return
    with tempfile.TemporaryFile(dir=path if is_folder else path.parent):
        pass


def write_record(
    folder: Path, result: Mapping[str, Any], environment: Mapping[str, str], python: str, entry: str
) -> None:
    """Write what was measured and how to repeat it next to the programs of an experiment, if these were made.

    Arguments:
        result: of the experiment with all samples, as the JSON report has it.
        environment: all variables that the programs ran with.
        python: the interpreter.
        entry: the file that is run, below the folder of each program.

    Raises:
        OSError: the folder cannot be written to.
    """
    if not folder.is_dir():
        return
    replace_file(folder / "result.json", (json.dumps(result, indent=2) + "\n").encode())
    known = {"python": python, "variables": dict(environment), "platform": sys.platform, "load": _load()}
    replace_file(folder / "environment.json", (json.dumps(known, indent=2) + "\n").encode())
    replace_file(folder / "README.txt", _instructions(result, environment, python, entry).encode())


def _load() -> list[float] | None:
    return list(os.getloadavg()) if hasattr(os, "getloadavg") else None


def _instructions(result: Mapping[str, Any], environment: Mapping[str, str], python: str, entry: str) -> str:
    own = {"HOME", "TMPDIR", "PATH", "TFLINT_GPU_RESULT"}
    settings = " ".join(f"{name}={shlex.quote(value)}" for name, value in environment.items() if name not in own)
    lines = [
        f"{result['code']} {result['filename']}: {result['message']}",
        f"verdict: {result['verdict']}: {result['reason']}" if result["verdict"] else result["reason"],
        "",
        "before is the flagged program, after the fixed one. Each prints what it measures when you run it by hand:",
        "",
    ]
    for variant in ("before", "after"):
        lines.append(f"    (cd {variant} && env {settings} {shlex.quote(python)} {shlex.quote(entry)})")
    lines += ["", "result.json has every sample, environment.json has what the programs ran with.", ""]
    return "\n".join(lines)
