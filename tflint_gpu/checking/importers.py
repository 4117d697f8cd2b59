"""Which of the checked files import a file: a finding may lie in one file and show only when another is checked."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import field
from functools import cached_property
from itertools import islice
from pathlib import Path

from tflint_gpu.checking.engine import Engine
from tflint_gpu.lazy_dataclasses import dataclass
from tflint_gpu.lazy_patterns import regex
from tflint_gpu.settings.files import Discovery, FileToCheck, NoSuchPath, is_marked
from tflint_gpu.settings.options import SettingsError
from tflint_gpu.text.bytesearch import NOTEBOOK_ENDING
from tflint_gpu.text.import_search import ImportSearch

# A check of a part of a project is to take about twice as long at most: hundreds of files import a package's settings.
_FEWEST = 8


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
        imports = ImportSearch()
        return {file.path: file for file in self.files if _may_matter(file, imports)}

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


def _may_matter(file: FileToCheck, imports: ImportSearch) -> bool:
    try:
        return file.may_matter(file.read(), imports)
    except OSError:
        return False


def importing(engine: Engine, files: Sequence[FileToCheck], paths: Sequence[str]) -> list[FileToCheck]:
    """The files of the same projects that import some of the files, and were not named: findings may show only there.

    Arguments:
        files: to check.
        paths: the files and folders that were named; none: the working directory.
    """
    places = [Path(os.path.normpath(engine.working_directory / path)) for path in paths or (".",)]
    discovery = Discovery(engine.resolver, engine.working_directory)
    on_disk = [file for file in files if file.content is None]
    files_around: list[FileToCheck] = []
    imports = ImportSearch()
    for root in dict.fromkeys(file.root for file in on_disk):
        if not is_marked(root) or any(place == root or place in root.parents for place in places):
            continue  # all of the project is checked, or nobody knows what is the project
        own = {file.path for file in on_disk if file.root == root and _may_matter(file, imports)}
        if not own:
            continue
        try:
            around = discovery.find([str(root)])
        except (SettingsError, NoSuchPath):  # of a part of the project that nobody asked about
            continue
        named = {file.path for file in files}
        leading = _importing(engine, [file for file in around if file.path not in own], own, imports)
        others = (file for file in leading if file.path not in named)
        files_around += islice(others, max(_FEWEST, len(own)))
    return files_around


def _importing(
    engine: Engine, others: Sequence[FileToCheck], paths: Iterable[Path], imports: ImportSearch
) -> Iterator[FileToCheck]:
    """Those of some files that lead to some paths, the nearest first."""
    words = {file.path: _imported_words(file) for file in others}
    left, wanted = list(others), set(paths)
    while wanted:
        names = {(path.parent.name if path.stem == "__init__" else path.stem).encode() for path in wanted}
        direct = set()
        for file in left:
            if not names.isdisjoint(words[file.path]) and not wanted.isdisjoint(engine.imports_of(file.path, file)):
                direct.add(file.path)
                if _may_matter(file, imports):
                    yield file
        wanted = direct
        left = [file for file in left if file.path not in direct]


def _imported_words(file: FileToCheck) -> frozenset[bytes]:
    """The names in the lines of a file that import."""
    try:
        data = b"\n" + file.read()
    except OSError:
        return frozenset()
    lines = (_IMPORT_OF_CELL if file.path.suffix == NOTEBOOK_ENDING else _IMPORT).findall(data)
    return frozenset(word for line in lines for word in _WORD.findall(line))


_IMPORT = regex(rb"\n[ \t]*(?:from|import)\b[^\n\\(]*(?:\\\r?\n[^\n\\(]*)*(?:\([^)]*\))?")
# In a notebook a line begins after a quote or an escaped line break, and all of it may be on one line of the file.
_IMPORT_OF_CELL = regex(rb'(?:"|\\n)[ \t]*(?:from|import)\b[^\n"\\(]*(?:\([^)]*\))?')
_WORD = regex(rb"\w+")
