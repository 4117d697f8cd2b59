"""Protects facts about TensorFlow, Keras and NumPy from standing twice: tables of their names are in `model/library`."""

from __future__ import annotations

import ast
import builtins
import re
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parents[1]
LIBRARY = ROOT / "tflint_gpu" / "model" / "library"
DOTTED = re.compile(r"(?:tf|keras|numpy)\.[\w.*]*")
PYTHON = {*dir(builtins), *(name for cls in (str, bytes, list, dict, set, int, float) for name in dir(cls))}
# Code that runs in the user's process, where nothing of the machine can be imported.
APART = ("tflint_gpu/verify/harness", "tflint_gpu/verify/stand_ins", "tflint_gpu/run/inside")
LEFT: dict[str, str] = {}
"""The tables that still stand elsewhere. None may be added, and what is gone must be taken out."""


def words_of(value: ast.expr) -> Iterator[str]:
    """The words of all the strings in a value."""
    for node in ast.walk(value):
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            yield from node.value.split()


def tables_of(path: Path) -> Iterator[tuple[str, list[str]]]:
    """The names of a module that are assigned at its level, and the words in their values."""
    for statement in ast.parse(path.read_text("utf-8")).body:
        if isinstance(statement, ast.Assign | ast.AnnAssign) and statement.value is not None:
            target = statement.targets[0] if isinstance(statement, ast.Assign) else statement.target
            yield ast.unparse(target), list(words_of(statement.value))


def names_in_library() -> set[str]:
    """The last parts of all names that the library knows, but those that Python has, too."""
    words = {word for path in LIBRARY.glob("*.py") for _, words in tables_of(path) for word in words}
    spelled = {part for word in words for part in re.split(r"[{},]", word)}
    return {last for name in spelled if (last := name.rpartition(".")[2]).isidentifier()} - PYTHON


def test_tables_of_names_stand_in_the_library() -> None:
    known = names_in_library()
    found: dict[str, list[str]] = {}
    for path in (path for folder in ("tflint_gpu", "rules") for path in sorted((ROOT / folder).rglob("*.py"))):
        name = path.relative_to(ROOT).as_posix()
        if path.parent == LIBRARY or "prefilter" in name or name.startswith(APART):
            continue
        for table, words in tables_of(path):
            dotted = [word for word in words if DOTTED.fullmatch(word)]
            bare = [word for word in words if word in known]
            if len(dotted) >= 3 or (len(bare) >= 3 and 2 * len(bare) >= len(words)):
                found[f"{name}: {table}"] = bare
    assert sorted(found) == sorted(f"{module}: {table}" for module, tables in LEFT.items() for table in tables.split())
