"""Whether what a file imports mentions TensorFlow, before anything is parsed."""

from __future__ import annotations

import os
import re
from pathlib import Path

from tflint_gpu.lazy_patterns import regex
from tflint_gpu.text.bytesearch import mentions_tensorflow

_IMPORT = regex(rb"^[ \t]*(?:from|import)[ \t]+\.*(\w[\w.]*)", re.MULTILINE)


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
        for name in dict.fromkeys(_IMPORT.findall(data)):  # functions of one file import the same again
            mentions, paths = self._answer(folder, top, name)
            if asked is not None:
                asked.update(paths)
            if mentions:
                return True
        return False

    def _answer(self, folder: str, root: str, name: bytes) -> tuple[bool, frozenset[str]]:
        key = folder, root, name
        if key not in self._answers:
            place, paths = folder, []
            for part in name.decode("ascii", "replace").split("."):
                place = os.path.join(place, part)
                paths += [place + ".py", os.path.join(place, "__init__.py")]
            present = [path for path in paths if self._is_there(path)]
            above = os.path.dirname(folder)
            if present or above == folder or folder == root:
                self._answers[key] = any(map(self._mentions_it, present)), frozenset(paths)
            else:
                mentions, others = self._answer(above, root, name)
                self._answers[key] = mentions, others.union(paths)
        return self._answers[key]

    def _is_there(self, path: str) -> bool:
        folder, name = os.path.split(path)
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
            self._mentions[path] = mentions_tensorflow(Path(path).read_bytes())
        return self._mentions[path]
