"""Lines per CPU second of a whole check, and its ratio to bare parsing of the same files in the same run.

    python tests/benchmarks/speed.py FOLDER [FOLDER ...] [--repeat N] [--limit N] [--select CODE ...]

Each folder is a checkout of a project. All files that mention TensorFlow or Keras are checked with all
default rules, without the cache, in one process on one core; `libcst.parse_module` gets the same files in a process of its own,
which has nothing of tflint_gpu in it. The two take turns, and the median of the ratios is the result. CPU time is the process's own (user and system).

Then the check runs once more, in parts: the search for words, the parser, the traversal, the positions of findings,
and what each rule asks. `--growth` adds made-up programs of growing size, one for each way to be large.
"""

from __future__ import annotations

import argparse
import gc
import itertools
import os
import platform
import statistics
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import libcst
from bare_parsing import parse_seconds

from tflint_gpu.checking.engine import Engine
from tflint_gpu.checking.workers import check_files
from tflint_gpu.model.python.parsing.parsing import parse_module
from tflint_gpu.model.python.project.sources import Sources
from tflint_gpu.model.python.syntax.spans import Spans
from tflint_gpu.model.python.syntax.tree import Tree
from tflint_gpu.rule import Rule, entries, load
from tflint_gpu.settings.config import SettingsResolver
from tflint_gpu.settings.files import FileToCheck
from tflint_gpu.text.bytesearch import mentions_tensorflow

__all__ = ["checked", "seconds_by_part", "tensorflow_files", "timed"]


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folders", nargs="+", type=Path)
    parser.add_argument("--repeat", type=int, default=3)
    parser.add_argument("--growth", action="store_true", help="how cost grows with call sites, branches and chains")
    parser.add_argument("--limit", type=int, default=0, help="at most so many files a folder")
    parser.add_argument("--select", nargs="+", metavar="CODE", help="these rules only")
    arguments = parser.parse_args()
    if hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
    projects = {folder.resolve(): tensorflow_files(folder.resolve(), arguments.limit) for folder in arguments.folders}
    files = [path for paths in projects.values() for path in paths]
    lines = sum(path.read_bytes().count(b"\n") for path in files)
    print(f"{platform.machine()}, Python {platform.python_version()}, libcst {libcst.LIBCST_VERSION}, one core")
    print(f"{len(files)} files that mention TensorFlow or Keras, {lines} lines, {arguments.repeat} rounds")
    codes = arguments.select or [entry.code for entry in entries()]
    parses, checks = [], []
    for _ in range(arguments.repeat):
        parses.append(parse_seconds(files))
        checks.append(timed(lambda: checked(projects, load(codes) if arguments.select else None)))
    ratios = [check / parse for check, parse in zip(checks, parses, strict=True)]
    print(f"parse_module  {statistics.median(parses):7.2f} s CPU  {lines / statistics.median(parses):9.0f} lines/s")
    print(f"whole check   {statistics.median(checks):7.2f} s CPU  {lines / statistics.median(checks):9.0f} lines/s")
    print(f"ratio         {statistics.median(ratios):7.2f}  (from {min(ratios):.2f} to {max(ratios):.2f})")
    _print_parts(projects, codes)
    if arguments.growth:
        _print_growth()


class _Clock:
    """Adds up CPU time by part; a part inside another one is taken out of that."""

    def __init__(self) -> None:
        self.parts: dict[str, float] = {}
        self._open: list[str] = []
        self._since = time.process_time()

    def enter(self, part: str) -> None:
        """A part begins."""
        self._charge()
        self._open.append(part)

    def leave(self) -> None:
        """The part that began last ends."""
        self._charge()
        self._open.pop()

    def _charge(self) -> None:
        now = time.process_time()
        part = self._open[-1] if self._open else "search and all else"
        self.parts[part] = self.parts.get(part, 0.0) + now - self._since
        self._since = now

    def timed(self, part: str, function: Callable[..., Any]) -> Callable[..., Any]:
        """The function, charged to a part."""

        def run(*arguments: Any, **keywords: Any) -> Any:
            self.enter(part)
            try:
                return function(*arguments, **keywords)
            finally:
                self.leave()

        return run


def _print_parts(projects: dict[Path, list[Path]], codes: Sequence[str]) -> None:
    """The parts of one more check, and their ratio to the parser's part."""
    parts, texts = seconds_by_part(projects, codes)
    parse = _bare_seconds(texts)
    questions = sum(seconds for part, seconds in parts.items() if part.startswith("TFG"))
    print(f"\nparts of one check, in seconds of CPU and as a ratio to the {parse:.2f} s of bare parsing what is parsed")
    for part, seconds in sorted(parts.items(), key=lambda one: (one[0].startswith("TFG"), -one[1])):
        print(f"  {part or 'this table':20} {seconds:7.2f} {seconds / parse:6.2f}")
    print(f"  {'all questions':20} {questions:7.2f} {questions / parse:6.2f}")
    both = questions + parts["traversal"]
    print(f"  {'with the traversal':20} {both:7.2f} {both / parse:6.2f}")


def seconds_by_part(projects: dict[Path, list[Path]], codes: Sequence[str] = ()) -> tuple[dict[str, float], list[str]]:
    """The CPU seconds of a check by what they are spent on, and the texts that are parsed.

    What several rules ask for is charged to the one that asks first.

    Arguments:
        codes: the rules; all of the default selection if none is named.
    """
    gc.collect()  # what the checks before have left is not this one's
    clock = _Clock()
    originals = (Sources.parse, Tree.__init__, Spans.of)
    texts: list[str] = []
    timed_parse = clock.timed("parse", Sources.parse)

    def noted(sources: Sources, path: Path, text: str, *more: Any) -> libcst.Module:
        texts.append(text)
        module: libcst.Module = timed_parse(sources, path, text, *more)
        return module

    Sources.parse = noted  # type: ignore[method-assign]
    Tree.__init__ = clock.timed("traversal", Tree.__init__)  # type: ignore[method-assign]
    Spans.of = clock.timed("positions", Spans.of)  # type: ignore[method-assign]
    rules = load(codes or [entry.code for entry in entries() if not entry.opt_in])
    for rule in rules:
        asked = clock.timed(rule.code, lambda model, check=rule.check: list(check(model)))
        rule.check = asked  # type: ignore[method-assign]
    checked(projects, rules)
    clock.enter("")
    Sources.parse, Tree.__init__, Spans.of = originals  # type: ignore[method-assign]
    return clock.parts, texts


def _bare_seconds(texts: Sequence[str]) -> float:
    """What bare parsing of some texts takes."""
    with tempfile.TemporaryDirectory() as folder:
        paths = [Path(folder, str(number)) for number in range(len(texts))]
        for path, text in zip(paths, texts, strict=True):
            path.write_text(text, encoding="utf-8", errors="surrogatepass", newline="")
        return parse_seconds(paths)


_HEAD = "import tensorflow as tf\nmodel = tf.keras.Sequential()\n"
_GROWTH: dict[str, Callable[[int], str]] = {
    "call sites of one function": lambda n: (
        _HEAD
        + "def make(ds, size):\n    return ds.batch(size)\n"
        + "".join(f"d{i} = make(tf.data.Dataset.range({i + 9}), {i % 7 + 1})\nmodel.fit(d{i})\n" for i in range(n))
    ),
    "branches": lambda n: (
        _HEAD
        + "ds = tf.data.Dataset.range(9)\n"
        + "".join(f"if flag{i}:\n    ds = ds.batch({i % 3 + 1})\n" for i in range(n))
        + "model.fit(ds)\nfor x in ds:\n    model(x, training=False)\n"
    ),
    "operations of one chain": lambda n: (
        _HEAD
        + "ds = tf.data.Dataset.range(9)\n"
        + "".join(f"ds = ds.map(f{i})\n" for i in range(n))
        + "model.fit(ds.batch(1))\n"
    ),
    "functions that call each other": lambda n: (
        _HEAD
        + "".join(f"def f{i}(x):\n    return f{i + 1}(x)\n" for i in range(n))
        + f"def f{n}(x):\n    return model(x)\n"
        + "for x in tf.data.Dataset.range(99).batch(4):\n    f0(x)\n"
    ),
}


def _print_growth() -> None:
    """What a check costs for twice as much of something; 2 means linear."""
    print("\nCPU milliseconds of a check, without the parse, for made-up programs of n, 2 n and 4 n")
    for what, made in _GROWTH.items():
        costs = []
        for n in (100, 200, 400):
            with tempfile.TemporaryDirectory() as folder:
                path = Path(folder).resolve() / "program.py"
                text = made(n)
                path.write_text(text, encoding="utf-8")
                whole = min(timed(lambda path=path: checked({path.parent: [path]})) for _ in range(3))
                parse = min(timed(lambda text=text: _parsed(text)) for _ in range(3))
                costs.append(1000 * (whole - parse))
        grows = " ".join(f"{after / before:5.1f}" for before, after in itertools.pairwise(costs))
        print(f"  {what:32} {' '.join(f'{cost:8.1f}' for cost in costs)}   grows {grows}")


def _parsed(text: str) -> None:
    parse_module(text)


def tensorflow_files(folder: Path, limit: int) -> list[Path]:
    """The Python files below a folder that mention TensorFlow, at most so many; 0 for all."""
    found = []
    for path in sorted(folder.rglob("*.py")):
        if path.is_file() and mentions_tensorflow(path.read_bytes()):
            found.append(path)
    return found[:limit] if limit else found


def timed(work: Callable[[], None]) -> float:
    """Seconds of this process that some work takes."""
    gc.collect()
    start = time.process_time()
    work()
    return time.process_time() - start


def checked(projects: dict[Path, list[Path]], rules: Sequence[Rule] | None = None) -> None:
    """Check the files of some projects in this process."""
    for folder, paths in projects.items():
        resolver = SettingsResolver(isolated=True, working_directory=folder)
        settings = resolver.for_directory(folder)
        to_check = [FileToCheck(path, str(path.relative_to(folder)), settings, folder) for path in paths]
        check_files(Engine(resolver, folder, rules, tries_fixes=False), to_check, jobs=1)


if __name__ == "__main__":
    main()
