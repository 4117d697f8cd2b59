"""How much public and installed code is checked without an internal error.

    python tests/benchmarks/breadth.py FOLDER... [--each] [--minutes N] [--select CODES]

Each folder (checkouts, `site-packages`, unpacked wheels) is checked by the command with all rules, those by choice too,
and with a memory size, without its own settings. A line of the table is printed when its folder is done; with `--each`
the projects in a folder are checked one by one and added up in its line. Files that were seen in an earlier folder, with
the same bytes, are counted apart: they say nothing new. *Refused* are those that the tool cannot read and Python can. What is
not done within `--minutes` is ended, named, and not counted.
"""

from __future__ import annotations

import argparse
import hashlib
import os
import platform
import re
import subprocess
import sys
import time
import warnings
from collections.abc import Iterator
from datetime import date
from pathlib import Path

import libcst

from tflint_gpu import __version__
from tflint_gpu.settings.selection import known_codes

ROOT = Path(__file__).parents[2]
_FAILED = 2


def files_of(folder: Path) -> Iterator[Path]:
    """The files that a check of a folder reads."""
    for place, _, names in os.walk(folder):
        yield from (Path(place, name) for name in names if name.endswith((".py", ".ipynb")))


def count(folder: Path, seen: set[bytes]) -> tuple[int, int, int, int]:
    """Files, lines, lines of files that were not seen before, and files that mention TensorFlow or Keras."""
    files = lines = new = mentions = 0
    for path in files_of(folder):
        try:
            data = path.read_bytes()
        except OSError:
            continue
        files, lines = files + 1, lines + data.count(b"\n")
        mentions += b"tensorflow" in data or b"keras" in data
        digest = hashlib.blake2b(data, digest_size=16).digest()
        if digest not in seen:
            seen.add(digest)
            new += data.count(b"\n")
    return files, lines, new, mentions


def check(folder: Path, codes: str, minutes: float) -> tuple[int, int, float, str] | None:
    """Check a folder: how many internal errors it told of, files refused, seconds, and what it told of them; None: not done in time."""
    command = (
        f"check -v --isolated --no-cache --no-progress --jobs 1 --exclude nothing --no-respect-gitignore "
        f"--gpu-memory 16GiB --output-format concise --show-advice --exit-zero --select {codes} ."
    )
    began = time.perf_counter()
    try:
        done = subprocess.run(
            [sys.executable, "-m", "tflint_gpu", *command.split()],
            cwd=folder,
            capture_output=True,
            env={**os.environ, "PYTHONPATH": str(ROOT)},
            timeout=60 * minutes,
        )
    except subprocess.TimeoutExpired:
        return None
    told = done.stderr.decode(errors="replace")
    refused = [line for line in done.stdout.decode(errors="replace").splitlines() if is_refused(folder, line)]
    errors = max(told.count("Traceback (most recent call last)"), int(done.returncode == _FAILED))
    return errors, len(refused), time.perf_counter() - began, "\n".join([told[-6000:] if errors else "", *refused])


def is_refused(folder: Path, line: str) -> bool:
    """Whether a finding says of a file that it cannot be read, and Python reads it."""
    found = re.match(r"(.+\.py):\d+:\d+: TFG000 ", line)
    if found is None:
        return False
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            compile((folder / found[1]).read_bytes(), found[1], "exec", dont_inherit=True)
    except (SyntaxError, ValueError, OSError):
        return False
    return True


def projects(folder: Path, *, each: bool) -> list[Path]:
    """What is checked as one."""
    return sorted(path for path in folder.iterdir() if path.is_dir()) if each else [folder]


def main() -> None:
    """Check each folder and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folders", nargs="+", type=Path)
    parser.add_argument("--minutes", type=float, default=60, help="for one of them at most")
    parser.add_argument("--each", action="store_true", help="a folder holds projects, to be checked one by one")
    parser.add_argument("--select", default=",".join(sorted(known_codes())), help="by default every rule by its code")
    arguments = parser.parse_args()
    print(
        f"tflint_gpu {__version__}, Python {platform.python_version()}, libcst {libcst.LIBCST_VERSION}, {date.today()}"
    )
    print("\n| code | files | that mention TensorFlow | lines | not seen before | internal errors | refused | s |")
    print("|---|---|---|---|---|---|---|---|", flush=True)
    seen: set[bytes] = set()
    rows = []
    for folder in arguments.folders:
        row = [0.0] * 7
        for project in projects(folder, each=arguments.each):
            done = check(project, arguments.select, arguments.minutes)
            if done is None:
                print(f"{project}: not done in {arguments.minutes:g} minutes", file=sys.stderr, flush=True)
                continue
            errors, refused, seconds, told = done
            files, lines, new, mentions = count(project, seen)
            row = [a + b for a, b in zip(row, (files, mentions, lines, new, errors, refused, seconds), strict=True)]
            if told.strip():
                print(f"{project}:\n{told}", file=sys.stderr, flush=True)
        rows.append(row)
        print(f"| {folder.name} | {' | '.join(f'{one:.0f}' for one in row)} |", flush=True)
    print(f"| all | {' | '.join(f'{sum(column):.0f}' for column in zip(*rows, strict=True))} |")


if __name__ == "__main__":
    main()
