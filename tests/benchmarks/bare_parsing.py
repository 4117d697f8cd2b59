"""CPU seconds of `libcst.parse_module` alone, in a process that has nothing of tflint_gpu in it.

    python tests/benchmarks/bare_parsing.py FILE [FILE ...]

The linter tells libcst's node classes to be quicker; what it is measured against must not know of that.
"""

from __future__ import annotations

import gc
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path

import libcst

__all__ = ["parse_seconds"]


def parse_seconds(files: Sequence[Path]) -> float:
    """Parse files in a process of their own; the seconds of CPU that this took there, its start left out."""
    command = [sys.executable, __file__, "-"]
    names = "\0".join(map(str, files))
    return float(subprocess.run(command, input=names, capture_output=True, text=True, check=True).stdout)


def _parse(files: Sequence[Path]) -> None:
    gc.disable()  # as the check does: the trees die one by one either way
    for path in files:
        try:
            libcst.parse_module(path.read_bytes())
        except (libcst.ParserSyntaxError, UnicodeDecodeError):
            continue


def main() -> None:
    """Measure and print; the names come from standard input for `-`."""
    names = sys.stdin.read().split("\0") if sys.argv[1:] == ["-"] else sys.argv[1:]
    files = [Path(name) for name in names if name]
    start = time.process_time()
    _parse(files)
    print(time.process_time() - start)


if __name__ == "__main__":
    main()
