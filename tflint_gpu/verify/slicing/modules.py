"""Which modules programs import, and which of them the interpreter that is to run them does not have."""

from __future__ import annotations

import ast
import json
import subprocess
import sys
import tempfile
from collections.abc import Collection
from functools import lru_cache
from pathlib import PurePosixPath

from tflint_gpu.rule.experiment import HARNESS_PREFIX
from tflint_gpu.verify.slicing.extract import Program
from tflint_gpu.verify.slicing.imports import imported_modules, rows_for_types
from tflint_gpu.verify.stubs.readers import RECORDERS

_SECONDS = 60
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
    # What is laid next to the program imports more only for programs that do so, too.
    texts = {
        name: text for name, text in program.files.items() if not PurePosixPath(name).name.startswith(HARNESS_PREFIX)
    }
    names = {module for name, text in texts.items() for module in _imported(text, when_loaded=name in program.whole)}
    return frozenset(names - own - RECORDERS - set(sys.stdlib_module_names))


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
def _imported(text: str, *, when_loaded: bool) -> frozenset[str]:
    """The first parts of what a file imports, where no `try` guards it.

    Arguments:
        when_loaded: only what is imported when the file is, and not what its functions import when they are called.
    """
    tree = ast.parse(text)
    passing = (ast.Try, ast.FunctionDef, ast.AsyncFunctionDef) if when_loaded else (ast.Try,)
    bodies = [node.body for node in ast.walk(tree) if isinstance(node, passing)]
    guarded = {row for body in bodies for row in range(body[0].lineno, (body[-1].end_lineno or 0) + 1)}
    return frozenset(imported_modules(tree, guarded | rows_for_types(tree)))
