"""Whether what a file imports mentions TensorFlow, before anything is parsed."""

from __future__ import annotations

import os
from pathlib import Path

from tflint_gpu.lazy_patterns import regex
from tflint_gpu.text.bytesearch import mentions_tensorflow

# A pattern that begins with a newline is searched several times faster than one that begins with `^`.
_IMPORT = regex(rb"\n[ \t]*(?:from|import)[ \t]+\.*(\w[\w.]*)")


class ImportSearch:
    """Whether what files import mentions TensorFlow, as far as plain paths lead there; each is looked at once."""

    def __init__(self) -> None:
        self._answers: dict[tuple[str, str, bytes], tuple[bool, frozenset[str]]] = {}
        self._listed: dict[str, frozenset[str]] = {}
        self._mentions: dict[str, bool] = {}

    def mentions_tensorflow(self, data: bytes, path: Path, root: Path, asked: set[str] | None = None) -> bool:
        """Whether a file below a root that a file's import statements name mentions TensorFlow.

        Arguments:
            data, path: of the importing file.
            asked: gets the paths that are looked for.
        """
        folder, top = str(path.parent), str(root)
        for name in dict.fromkeys(_IMPORT.findall(b"\n" + data)):  # functions of one file import the same again
            mentions, paths = self._answer(folder, top, name)
            if asked is not None:
                asked.update(paths)
            if mentions:
                return True
        return False

    def _answer(self, folder: str, root: str, name: bytes) -> tuple[bool, frozenset[str]]:
        key = folder, root, name
        if key not in self._answers:
            place, paths, present = folder, [], []
            prefix = folder if folder.endswith(os.sep) else folder + os.sep
            for part in name.decode("ascii", "replace").split("."):
                module, package = f"{prefix}{part}.py", f"{prefix}{part}{os.sep}__init__.py"
                paths += [module, package]
                present += [module] if self._is_there(place, f"{part}.py", module) else []
                place, prefix = prefix + part, f"{prefix}{part}{os.sep}"
                present += [package] if self._is_there(place, "__init__.py", package) else []
            if present or folder == root or (above := os.path.dirname(folder)) == folder:
                self._answers[key] = any(map(self._mentions_it, present)), frozenset(paths)
            else:
                mentions, others = self._answer(above, root, name)
                self._answers[key] = mentions, others.union(paths)
        return self._answers[key]

    def _is_there(self, folder: str, name: str, path: str) -> bool:
        """Whether a folder has a file of a name, at a path; each folder is listed once."""
        if folder not in self._listed:
            above, own = os.path.split(folder)
            try:
                is_known_not_to_be = above in self._listed and own not in self._listed[above]
                self._listed[folder] = frozenset(() if is_known_not_to_be else os.listdir(folder))
            except OSError:
                self._listed[folder] = frozenset()
        return name in self._listed[folder] and os.path.isfile(path)

    def _mentions_it(self, path: str) -> bool:
        if path not in self._mentions:
            with open(path, "rb") as file:  # of thousands of files: a Path costs more than the rest
                self._mentions[path] = mentions_tensorflow(file.read())
        return self._mentions[path]
