"""Which of the checked files import a file: a finding may lie in one file and show only when another is checked."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path

from tflint_gpu.checking.engine import Engine
from tflint_gpu.settings.files import FileToCheck


@dataclass(frozen=True)
class Importers:
    """Knows the imports between files, read from their bytes once.

    Arguments:
        engine: locates what an import means.
        files: that are checked together.
    """

    engine: Engine
    files: Iterable[FileToCheck] = field(repr=False)

    def of(self, path: Path) -> list[FileToCheck]:
        """The files that import a file, directly or through others, in the order of the files."""
        paths: set[Path] = set()
        queue = [path]
        while queue:
            direct = self._direct.get(queue.pop(), set()) - paths
            paths |= direct
            queue += direct
        return [file for place, file in self._starts.items() if place in paths and place != path]

    @cached_property
    def _starts(self) -> dict[Path, FileToCheck]:
        """Files that can lead to findings at all."""
        return {file.path: file for file in self.files if _may_matter(file)}

    @cached_property
    def _direct(self) -> dict[Path, set[Path]]:
        """For each file that an import leads to, those that name it."""
        importers: dict[Path, set[Path]] = {}
        for path, imported in reached(self.engine, self._starts.values()):
            for module in imported:
                importers.setdefault(module, set()).add(path)
        return importers


def reached(engine: Engine, files: Iterable[FileToCheck]) -> Iterator[tuple[Path, list[Path]]]:
    """Some files and all that they import, directly or through others, each once with what it imports itself."""
    seen: set[Path] = set()
    for file in files:
        queue = [file.path]
        while queue:
            path = queue.pop()
            if path not in seen:
                seen.add(path)
                imported = list(engine.imports_of(path, file))
                queue += imported
                yield path, imported


def _may_matter(file: FileToCheck) -> bool:
    try:
        return file.may_matter(file.read())
    except OSError:
        return False
