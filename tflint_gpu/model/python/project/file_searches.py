"""Which of the files that a file's imports reach have to do with a name: told before any of them is parsed."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TypeAlias

from tflint_gpu.model.python.prefilter.file_summaries import FileSummary
from tflint_gpu.model.python.project.declarations import renamed, words_of_bases
from tflint_gpu.model.python.project.file_bytes import FileBytes
from tflint_gpu.model.python.project.import_graph import ImportGraph
from tflint_gpu.text.bytesearch import Mentioned
from tflint_gpu.text.source import SourceFile


class FileSearches:
    """Looks names up in the files of a project, each question once.

    Arguments:
        files: gives the files' bytes.
        imports: between the files.
        summaries: of files, as far as they were made, by their code: one is not made for a search, since it costs as
            much as it would spare.
    """

    def __init__(
        self, files: FileBytes, imports: ImportGraph, summaries: Mapping[Path, tuple[str, FileSummary | None]]
    ) -> None:
        self._files = files
        self._imports = imports
        self._summaries = summaries
        self._mentions: dict[Path, Mentioned] = {}
        self._bases: dict[Path, tuple[frozenset[bytes], bool]] = {}
        self._answers: dict[tuple[_Holds, str, Path, Path | None], list[Path]] = {}

    def having(self, source: SourceFile, text: str) -> Sequence[Path]:
        """The files in which a text is."""
        return self._answered(FileSearches._has, source, text)

    def naming(self, source: SourceFile, name: str, importing: Path | None = None) -> Sequence[Path]:
        """The same for a name in a file's code, as far as that is known.

        Arguments:
            importing: only those that import this file.
        """
        return self._answered(FileSearches._names, source, name, importing)

    def deriving(self, source: SourceFile, name: str, importing: Path) -> Sequence[Path]:
        """The same for files that may have a class below one that is called so."""
        return self._answered(FileSearches._may_derive, source, name, importing)

    def _answered(self, holds: _Holds, source: SourceFile, text: str, importing: Path | None = None) -> list[Path]:
        question = (holds, text, source.path, importing)
        if question not in self._answers:
            reached = self._imports.reached(source)
            paths = reached if importing is None else self._imports.reached_importing(source, importing)
            self._answers[question] = [path for path in paths if holds(self, path, text)]
        return self._answers[question]

    def _has(self, path: Path, text: str) -> bool:
        return self.mentioned(path)[text.encode("utf-8", "replace")]

    def _names(self, path: Path, name: str) -> bool:
        if not self._has(path, name):
            return False
        _, summary = self._summaries.get(path, ("", None))
        return summary is None or name in summary.names

    def _may_derive(self, path: Path, name: str) -> bool:
        if not self._has(path, name):
            return False
        if path not in self._bases:
            data = self.mentioned(path).data
            words = words_of_bases(data)
            self._bases[path] = words, bool(words & renamed(data))
        words, has_renamed = self._bases[path]
        return has_renamed or name.encode("utf-8", "replace") in words

    def mentioned(self, path: Path) -> Mentioned:
        """Which byte strings occur in a file of the project."""
        known = self._mentions.get(path)
        if known is None:
            known = self._mentions[path] = Mentioned(self._files.read(path) or b"")
        return known


_Holds: TypeAlias = Callable[[FileSearches, Path, str], bool]
