"""How much public and installed code is checked without an internal error.

    python tests/benchmarks/breadth.py FOLDER... [--select CODES]

Each folder (checkouts, `site-packages`, unpacked wheels) is checked by the command with all rules, those by choice too,
and with a memory size, without its own settings. A line of the table is printed when its folder is done. Files that
were seen in an earlier folder, with the same bytes, are counted apart: they say nothing new.
"""

from __future__ import annotations

import argparse
import hashlib
import os
import platform
import subprocess
import sys
import time
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


def check(folder: Path, codes: str) -> tuple[int, float, str]:
    """Check a folder: how many internal errors it told of, seconds, and what it told of them."""
    command = (
        f"check -v --isolated --no-cache --no-progress --jobs 1 --exclude nothing --no-respect-gitignore "
        f"--gpu-memory 16GiB --output-format concise --exit-zero --select {codes} ."
    )
    began = time.perf_counter()
    done = subprocess.run(
        [sys.executable, "-m", "tflint_gpu", *command.split()],
        cwd=folder,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
    )
    told = done.stderr.decode(errors="replace")
    errors = told.count("Traceback (most recent call last)")
    return max(errors, int(done.returncode == _FAILED)), time.perf_counter() - began, told


def main() -> None:
    """Check each folder and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folders", nargs="+", type=Path)
    parser.add_argument("--select", default=",".join(sorted(known_codes())), help="by default every rule by its code")
    arguments = parser.parse_args()
    print(
        f"tflint_gpu {__version__}, Python {platform.python_version()}, libcst {libcst.LIBCST_VERSION}, {date.today()}"
    )
    print("\n| code | files | that mention TensorFlow | lines | not seen before | internal errors | s |")
    print("|---|---|---|---|---|---|---|", flush=True)
    seen: set[bytes] = set()
    total = [0] * 5
    for folder in arguments.folders:
        files, lines, new, mentions = count(folder, seen)
        errors, seconds, told = check(folder, arguments.select)
        total = [a + b for a, b in zip(total, (files, mentions, lines, new, errors), strict=True)]
        print(f"| {folder.name} | {files} | {mentions} | {lines} | {new} | {errors} | {seconds:.0f} |", flush=True)
        if errors:
            print(told[-6000:], file=sys.stderr)
    print("| all | " + " | ".join(str(one) for one in total) + " | |")


if __name__ == "__main__":
    main()
