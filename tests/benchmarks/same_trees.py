"""Whether our trees of real files are those that libcst's parser makes, whitespace and brackets apart, and what both cost.

    python tests/benchmarks/same_trees.py FOLDER [FOLDER ...]

Each Python file below the folders is parsed by both, and every field that means something is compared. Files that
either parser refuses are counted.
"""

from __future__ import annotations

import argparse
import platform
import sys
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

import libcst

from tflint_gpu.model.python.parsing.conversion import Unlike, converted
from tflint_gpu.model.python.parsing.python_trees import python_tree

sys.path.insert(0, str(Path(__file__).parents[1]))
from trees import difference

__all__: list[str] = []
_T = TypeVar("_T")


def main() -> int:
    """Compare and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folders", nargs="+", type=Path)
    seconds: Counter[str] = Counter()
    counted: Counter[str] = Counter()
    for folder in parser.parse_args().folders:
        for path in sorted(folder.rglob("*.py")):
            counted[_compared(path, seconds)] += 1
    print(f"{platform.machine()}, Python {platform.python_version()}, libcst {libcst.LIBCST_VERSION}")
    for what, number in sorted(counted.items()):
        print(f"{number:7} {what}")
    ours = seconds["Python's parser"] + seconds["conversion"]
    print(
        ", ".join(f"{what} {spent:.2f} s" for what, spent in seconds.items()), f"ratio {ours / seconds['libcst']:.2f}"
    )
    return 1 if counted["differ"] else 0


def _compared(path: Path, seconds: Counter[str]) -> str:
    """What came of one file; the time that both parsers took is added up."""
    try:
        code = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError):
        return "cannot be read as UTF-8"
    if python_tree(code) is None:
        return "are no Python to Python"
    try:
        theirs = _timed(seconds, "libcst", lambda: libcst.parse_module(code))
    except Exception:
        return "are no Python to libcst"
    tree = _timed(seconds, "Python's parser", lambda: python_tree(code))
    assert tree is not None
    try:
        ours = _timed(seconds, "conversion", lambda: converted(tree, code))
    except Unlike:
        return "are left to libcst"
    found = difference(ours.body, theirs.body)
    if found:
        print(path, *found)
    return "differ" if found else "are the same"


def _timed(seconds: Counter[str], what: str, work: Callable[[], _T]) -> _T:
    start = time.process_time()
    try:
        return work()
    finally:
        seconds[what] += time.process_time() - start  # type: ignore[assignment]


if __name__ == "__main__":
    sys.exit(main())
