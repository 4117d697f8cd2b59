"""Which files of a project import which, read from their bytes."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

from tflint_gpu.model.python.project.declarations import attributes_of, imported_names
from tflint_gpu.model.python.project.file_bytes import FileBytes
from tflint_gpu.model.python.project.module_files import ModuleFiles
from tflint_gpu.text.source import SourceFile

MOST_CLOSURES = 64
"""Of the closures of a project's files, and of what was asked of each, so many are kept."""


class ImportGraph:
    """The imports between the files of a project, each file read once.

    Arguments:
        places: finds the file that a dotted name means.
        files: gives the files' bytes.
    """

    def __init__(self, places: ModuleFiles, files: FileBytes) -> None:
        self._places = places
        self._files = files
        self._imports: dict[Path, tuple[Path, ...]] = {}
        self._reached: dict[Path, tuple[Path, ...]] = {}
        self._paths: list[Path] = []
        self._numbers: dict[Path, int] = {}
        self._edges: dict[int, list[int]] = {}
        self._closures: dict[frozenset[Path], frozenset[Path]] = {}
        self._imported_by: dict[Path, dict[Path, None]] = {}

    def imported_paths(self, path: Path, data: bytes | None = None) -> tuple[Path, ...]:
        """The files that a file's imports name; of a package what defines the names that the file has from it.

        Arguments:
            path: of the file.
            data: its code, if that is not what the file's bytes are.
        """
        if path not in self._imports:
            names = self._names_in(path) if data is None else tuple(imported_names(data))
            data = self._files.read(path) or b"" if data is None else data
            paths: dict[Path, None] = {}
            for dotted in self._each_module(path, names):
                located = self._places.locate(path, dotted)
                if located is not None:
                    paths[located[0]] = None
                    if located[0].name == "__init__.py" and located[1]:
                        paths.update(dict.fromkeys(self._re_exported(located[0], located[1])))
                    elif located[0].name == "__init__.py":  # a package that loads its modules when they are asked for
                        for attributes in attributes_of(data, dotted):
                            inner = self._places.locate(path, dotted + attributes)
                            paths.update({} if inner is None else {inner[0]: None})
            self._imports[path] = tuple(paths)
            for imported in paths:
                self._imported_by.setdefault(imported, {})[path] = None
        return self._imports[path]

    def _each_module(self, path: Path, names: tuple[str, ...]) -> Iterator[str]:
        """The names, "parts.*" as those of all modules of `parts`."""
        for dotted in names:
            yield from self._places.modules_of(path, dotted[:-2]) if dotted.endswith(".*") else [dotted]

    def _re_exported(self, package: Path, name: str) -> Iterator[Path]:
        for dotted in self._names_in(package):
            if dotted.endswith(f".{name}"):
                located = self._places.locate(package, dotted)
                if located is not None:
                    yield located[0]

    def _names_in(self, path: Path) -> tuple[str, ...]:
        return self._files.ask(path, "imported names", lambda data: tuple(imported_names(data)))

    def reached(self, source: SourceFile) -> tuple[Path, ...]:
        """The files of the project that a file's imports reach, itself left out, nearest first."""
        known = self._reached.get(source.path)
        if known is None:
            own, edges = self._number(source.path), self._edges
            imported = self.imported_paths(source.path, source.text.encode("utf-8", "replace"))
            seen: dict[int, None] = {own: None}
            queue = [self._number(path) for path in imported]
            for number in queue:  # grows meanwhile
                if number not in seen:
                    seen[number] = None
                    queue += edges[number] if number in edges else self._imported_by_number(number)
            known = self._reached[source.path] = tuple(self._paths[number] for number in seen if number != own)
        return known

    def _imported_by_number(self, number: int) -> list[int]:
        """The files that one imports; by numbers, as many walks over a large project compare them."""
        edges = self._edges[number] = [self._number(path) for path in self.imported_paths(self._paths[number])]
        return edges

    def _number(self, path: Path) -> int:
        number = self._numbers.setdefault(path, len(self._paths))
        if number == len(self._paths):
            self._paths.append(path)
        return number

    def closure(self, source: SourceFile) -> frozenset[Path]:
        """All files that a file's imports reach, itself with them where one of those imports it.

        The same object for all files of which it is the same: programs that use one package, files that import each
        other in circles. What is asked of all that is reached is asked once for them. Of different ones only some are
        kept: together they may have the square of a project's files.
        """
        reached = self.reached(source)
        closure = frozenset(reached)
        if not closure.isdisjoint(self._imported_by.get(source.path, ())):
            closure |= {source.path}
        if closure not in self._closures and len(self._closures) == MOST_CLOSURES:
            del self._closures[next(iter(self._closures))]
        return self._closures.setdefault(closure, closure)

    def importers(self, closure: frozenset[Path], home: Path) -> Sequence[Path]:
        """The files of a closure that import one."""
        return [path for path in self._imported_by.get(home, ()) if path in closure]
