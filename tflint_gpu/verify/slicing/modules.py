"""Which modules programs import, and which of them the interpreter that is to run them does not have."""

from __future__ import annotations

import ast
import json
import re
import subprocess
import sys
import tempfile
from collections import defaultdict
from collections.abc import Collection, Iterator
from functools import lru_cache
from pathlib import PurePosixPath

from tflint_gpu.rule.experiment import HARNESS_PREFIX
from tflint_gpu.verify.slicing.extract import Program
from tflint_gpu.verify.slicing.imports import imported_names
from tflint_gpu.verify.stubs.readers import RECORDERS

_SECONDS = 60
_STARTED = re.compile(r"\brun_module\(\"([\w.]+)\"")
# Looks for the modules and runs nothing of them.
_PROBE = """
import importlib.util, json, sys
def is_missing(name):
    try:
        return importlib.util.find_spec(name) is None
    except (ImportError, ValueError):
        return True
print(json.dumps([name for name in sys.argv[1:] if is_missing(name)]))
"""


def needed_modules(program: Program) -> frozenset[str]:
    """The first parts of the modules that a program imports from elsewhere, where it has no other way without them."""
    own = {part for name in program.files for part in (*PurePosixPath(name).parent.parts, PurePosixPath(name).stem)}
    names = {name.partition(".")[0] for imported in _surely_imported(program) for name in imported}
    return frozenset(names - own - {""} - RECORDERS - set(sys.stdlib_module_names))


def _surely_imported(program: Program) -> Iterator[frozenset[str]]:
    """The full names of what is imported by each file that a program loads whatever its conditions say."""
    files: dict[str, set[str]] = defaultdict(set)
    for name in program.files:
        parts = PurePosixPath(name.removesuffix("/__init__.py")).with_suffix("").parts
        for start in range(len(parts)):
            files[".".join(parts[start:])].add(name)
    queue, known = [program.entry], {program.entry}
    while queue:
        name = queue.pop()
        imported = _imported(program.files[name], PurePosixPath(name).parent.parts, when_loaded=name in program.whole)
        yield imported
        started = {match for match in _STARTED.findall(program.files[name]) if name == program.entry}
        for module in imported | started:
            steps = module.lstrip(".").split(".")
            loaded = {file for end in range(1, len(steps) + 1) for file in files[".".join(steps[:end])]}
            # What is laid next to the program imports more only for programs that do so, too.
            loaded = {file for file in loaded if not PurePosixPath(file).name.startswith(HARNESS_PREFIX)}
            queue += sorted(loaded - known)
            known |= loaded


def missing_modules(python: str, names: Collection[str]) -> frozenset[str]:
    """Those of some modules that an interpreter does not have; none where it does not answer.

    Arguments:
        python: path of the interpreter.
    """
    if not names:
        return frozenset()
    with tempfile.TemporaryDirectory(prefix="tflint-gpu-") as folder:  # not next to modules that have the same names
        try:
            done = subprocess.run(
                [python, "-c", _PROBE, *sorted(names)],
                cwd=folder,
                capture_output=True,
                text=True,
                timeout=_SECONDS,
                stdin=subprocess.DEVNULL,
            )
            return frozenset(json.loads(done.stdout))
        except (OSError, subprocess.TimeoutExpired, ValueError):
            return frozenset()


@lru_cache(maxsize=1000)  # many programs have the same files
def _imported(text: str, folder: tuple[str, ...], *, when_loaded: bool) -> frozenset[str]:
    """The full names of what a file imports, where no `try` guards it and no condition decides on it.

    Those of the file's own package begin with a dot.

    Arguments:
        folder: where the file lies in the program.
        when_loaded: only what is imported when the file is, and not what its functions import when they are called.
    """
    tree = ast.parse(text)
    passing = (ast.Try, ast.FunctionDef, ast.AsyncFunctionDef) if when_loaded else (ast.Try,)
    bodies = [node.body for node in ast.walk(tree) if isinstance(node, passing)]
    decided = [node for node in ast.walk(tree) if isinstance(node, ast.If) and "__name__" not in ast.unparse(node.test)]
    bodies += [body for node in decided for body in (node.body, node.orelse) if body]
    guarded = {row for body in bodies for row in range(body[0].lineno, (body[-1].end_lineno or 0) + 1)}
    return frozenset(imported_names(tree, folder, guarded))
