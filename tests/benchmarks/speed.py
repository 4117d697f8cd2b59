"""Lines per CPU second of a whole check, and its ratio to bare parsing of the same files in the same run.

    python tests/benchmarks/speed.py FOLDER [FOLDER ...] [--repeat N] [--limit N]

Each folder is a checkout of a project. All files that mention TensorFlow or Keras are checked with all
rules, without the cache, in one process on one core; `libcst.parse_module` gets the same files. The two take
turns, and the median of the ratios is the result. CPU time is the process's own (user and system).
"""

from __future__ import annotations

import argparse
import gc
import os
import platform
import statistics
import time
from collections.abc import Callable
from pathlib import Path

import libcst

from tflint_gpu.checking.engine import Engine
from tflint_gpu.checking.workers import check_files
from tflint_gpu.settings.config import SettingsResolver
from tflint_gpu.settings.files import FileToCheck
from tflint_gpu.text.bytesearch import mentions_tensorflow

__all__: list[str] = []


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folders", nargs="+", type=Path)
    parser.add_argument("--repeat", type=int, default=3)
    parser.add_argument("--limit", type=int, default=0, help="at most so many files a folder")
    arguments = parser.parse_args()
    if hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
    projects = {folder.resolve(): _files(folder.resolve(), arguments.limit) for folder in arguments.folders}
    files = [path for paths in projects.values() for path in paths]
    lines = sum(path.read_bytes().count(b"\n") for path in files)
    print(f"{platform.machine()}, Python {platform.python_version()}, libcst {libcst.LIBCST_VERSION}, one core")
    print(f"{len(files)} files that mention TensorFlow or Keras, {lines} lines, {arguments.repeat} turns")
    parses, checks = [], []
    for _ in range(arguments.repeat):
        parses.append(_timed(lambda: _parse(files)))
        checks.append(_timed(lambda: _check(projects)))
    ratios = [check / parse for check, parse in zip(checks, parses, strict=True)]
    print(f"parse_module  {statistics.median(parses):7.2f} s CPU  {lines / statistics.median(parses):9.0f} lines/s")
    print(f"whole check   {statistics.median(checks):7.2f} s CPU  {lines / statistics.median(checks):9.0f} lines/s")
    print(f"ratio         {statistics.median(ratios):7.2f}  (from {min(ratios):.2f} to {max(ratios):.2f})")


def _files(folder: Path, limit: int) -> list[Path]:
    found = []
    for path in sorted(folder.rglob("*.py")):
        if path.is_file() and mentions_tensorflow(path.read_bytes()):
            found.append(path)
    return found[:limit] if limit else found


def _timed(work: Callable[[], None]) -> float:
    gc.collect()
    start = time.process_time()
    work()
    return time.process_time() - start


def _parse(files: list[Path]) -> None:
    gc.disable()  # as the check does: the trees die one by one either way
    for path in files:
        try:
            libcst.parse_module(path.read_bytes())
        except (libcst.ParserSyntaxError, UnicodeDecodeError):
            continue
    gc.enable()


def _check(projects: dict[Path, list[Path]]) -> None:
    for folder, paths in projects.items():
        resolver = SettingsResolver(isolated=True, working_directory=folder)
        settings = resolver.for_directory(folder)
        files = [FileToCheck(path, str(path.relative_to(folder)), settings, folder) for path in paths]
        check_files(Engine(resolver, folder), files, jobs=1)


if __name__ == "__main__":
    main()
