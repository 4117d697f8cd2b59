"""Whether what a file imports mentions TensorFlow, before anything is parsed."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import TypeAlias

from tflint_gpu.lazy_patterns import regex
from tflint_gpu.text.bytesearch import mentions_tensorflow

# A pattern that begins with a newline is searched several times faster than one that begins with `^`.
_IMPORT = regex(
    rb"\n[ \t]*(?:import[ \t]+([\w. \t,]+)|from[ \t]+\.*([\w.]*)[ \t]+import[ \t]+(?:\(([\w\s,]*)|([\w \t,]*)))"
)
_NOTHING: frozenset[str] = frozenset()
_FILES_WITH_FUNCTIONS = 2
"""So many lie between a program and TensorFlow at most, as `agent.py` between `train.py` and `networks.py`.

In a tree without TensorFlow, where every program asks, each more of them is more files to read.
"""
Asked: TypeAlias = dict[str, frozenset[str]]
"""For files whose imports were followed the paths that were looked for."""


class ImportSearch:
    """Whether what files import mentions TensorFlow, as far as plain paths lead there; each is looked at once."""

    def __init__(self) -> None:
        self._present: dict[tuple[str, str, str], tuple[tuple[str, ...], frozenset[str]]] = {}
        self._listed: dict[str, frozenset[str]] = {}
        self._imports: dict[str, tuple[tuple[str, ...], frozenset[str]] | None] = {}
        self._with_functions: set[str] = set()
        self._without: dict[str, int] = {}

    def mentions_tensorflow(self, data: bytes, path: Path, root: Path, asked: Asked | None = None) -> bool:
        """Whether a file that another one imports mentions TensorFlow, itself or through files that say nothing of it.

        Files without functions only hand on what they import: a package's `__init__`, a module of settings. Of others
        a few may lie between.

        Arguments:
            data, path: of the file that imports.
            root: no file outside of it is looked for.
            asked: gets what was looked for.
        """
        top, start = str(root), str(path)
        imported = self._imported(data, str(path.parent), top)
        pending, seen = [(start, imported, _FILES_WITH_FUNCTIONS)], {start: _FILES_WITH_FUNCTIONS}
        for place, (present, paths), left in pending:  # grows meanwhile
            if asked is not None:
                asked[place] = paths
            for module in present:
                if max(seen.get(module, -1), self._without.get(module, -1)) >= left:
                    continue
                seen[module] = left
                inner = self._imports_of(module, top, left)
                if inner is None:
                    return True
                pending.append((module, inner, left - (module in self._with_functions)))
        self._without |= seen
        return False

    def _imports_of(self, path: str, root: str, left: int) -> tuple[tuple[str, ...], frozenset[str]] | None:
        """The files that a file imports, and the paths that were looked for; None where it mentions TensorFlow.

        Arguments:
            left: how many files with functions are followed.
        """
        if path in self._imports:
            return self._imports[path]
        if path not in self._with_functions or left:
            with open(path, "rb") as file:  # of thousands of files: a Path costs more than the rest
                data = file.read()
            if mentions_tensorflow(data):
                self._imports[path] = None
                return None
            self._with_functions.update([path] if b"def " in data else [])
        if path in self._with_functions and not left:
            return (), _NOTHING
        self._imports[path] = self._imported(data, os.path.dirname(path), root)
        return self._imports[path]

    def _imported(self, data: bytes, folder: str, root: str) -> tuple[tuple[str, ...], frozenset[str]]:
        present: dict[str, None] = {}
        paths: set[str] = set()
        for name in dict.fromkeys(_names(data)):  # functions of one file import the same again
            there, looked_for = self._places(folder, root, name)
            present.update(dict.fromkeys(there))
            paths |= looked_for
        return tuple(present), frozenset(paths)

    def _places(self, folder: str, root: str, name: str) -> tuple[tuple[str, ...], frozenset[str]]:
        """The files that a dotted name means, from a folder or one above it, and the paths that were looked for."""
        key = folder, root, name
        if key not in self._present:
            names, paths, present = self._names_in(folder), [], []
            prefix = folder if folder.endswith(os.sep) else folder + os.sep
            for part in name.split("."):
                module, package = f"{prefix}{part}.py", f"{prefix}{part}{os.sep}__init__.py"
                paths += [module, package]
                present += [module] if f"{part}.py" in names and os.path.isfile(module) else []
                names = self._names_in(prefix + part) if part in names else _NOTHING
                present += [package] if "__init__.py" in names and os.path.isfile(package) else []
                prefix = f"{prefix}{part}{os.sep}"
            if present or folder == root or (above := os.path.dirname(folder)) == folder:
                self._present[key] = tuple(present), frozenset(paths)
            else:
                there, others = self._places(above, root, name)
                self._present[key] = there, others.union(paths)
        return self._present[key]

    def _names_in(self, folder: str) -> frozenset[str]:
        """The names in a folder, which is listed once; none where it is none."""
        if folder not in self._listed:
            try:
                self._listed[folder] = frozenset(os.listdir(folder))
            except OSError:
                self._listed[folder] = _NOTHING
        return self._listed[folder]


def _names(data: bytes) -> Iterator[str]:
    """The dotted names that a file's import statements may mean: `a.b` and `a.b.c` of `from a.b import c`."""
    for modules, base, several, single in _IMPORT.findall(b"\n" + data):
        module, listed = (text.decode("ascii", "replace") for text in (base, modules or several or single))
        named = [words[0] for part in listed.split(",") if (words := part.split())]
        yield from [f"{module}.{name}" if module else name for name in named] or [module]
