"""Which of the files that a file's imports reach have to do with a name: told before any of them is parsed."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TypeAlias

from tflint_gpu.model.python.parsing.python_trees import PythonTrees
from tflint_gpu.model.python.project.declarations import names_used, renamed, words_of_bases
from tflint_gpu.model.python.project.file_bytes import FileBytes
from tflint_gpu.model.python.project.import_graph import MOST_CLOSURES, ImportGraph
from tflint_gpu.text.bytesearch import Mentioned
from tflint_gpu.text.lexical import without_prose
from tflint_gpu.text.source import SourceFile, UnreadableSource

_PROSE = (b"#", b'"""', b"'''")


class MentionedInCode(Mentioned):
    """The same for a Python file without its comments and docstrings: what stands there does nothing."""

    def __init__(self, data: bytes) -> None:
        super().__init__(data)
        self._code: bytes | None = None

    def __missing__(self, required: bytes) -> bool:
        if super().__missing__(required) and any(mark in self.data for mark in _PROSE):
            if self._code is None:
                self._code = without_prose(self.data.decode("latin-1")).encode("latin-1")
            self[required] = required in self._code
        return self[required]


class FileSearches:
    """Looks names up in the files of a project, each question once while its files are among those last asked about.

    Arguments:
        files: gives the files' bytes.
        imports: between the files.
        python: what Python's parser makes of texts.
    """

    def __init__(self, files: FileBytes, imports: ImportGraph, python: PythonTrees) -> None:
        self._files = files
        self._imports = imports
        self._python = python
        self._mentions: dict[Path, Mentioned] = {}
        self._used: dict[Path, frozenset[str] | None] = {}
        self._bases: dict[Path, tuple[frozenset[bytes], bool]] = {}
        self._answers: dict[frozenset[Path], dict[_Question, Sequence[Path]]] = {}

    def having(self, closure: frozenset[Path], text: str) -> Sequence[Path]:
        """The files of a closure in which a text is."""
        return self._held(FileSearches._has, closure, text)

    def using(self, closure: frozenset[Path], name: str, importing: Path | None = None) -> Sequence[Path]:
        """The same for code that calls a name, reads it or hands it on, as far as that is known.

        Arguments:
            name: it may be dotted; then all of it is in the file's text.
            importing: only those that import this file.
        """
        return self._held(FileSearches._uses, closure, name, importing)

    def deriving(self, closure: frozenset[Path], name: str, importing: Path) -> Sequence[Path]:
        """The same for files that may have a class below one that is called so."""
        return self._held(FileSearches._may_derive, closure, name, importing)

    def _held(
        self, holds: _Holds, closure: frozenset[Path], text: str, importing: Path | None = None
    ) -> Sequence[Path]:
        """The files of a closure of which something holds, in one order for all that ask."""
        answers = self._answers.get(closure)
        if answers is None:
            if len(self._answers) == MOST_CLOSURES:
                del self._answers[next(iter(self._answers))]
            answers = self._answers[closure] = {}
        question = (holds, text, importing)
        answer = answers.get(question)
        if answer is None:
            among = closure if importing is None else self._imports.importers(closure, importing)
            answer = answers[question] = sorted([path for path in among if holds(self, path, text)])
        return answer

    def _has(self, path: Path, text: str) -> bool:
        return self.mentioned(path)[text.encode("utf-8", "replace")]

    def _uses(self, path: Path, name: str) -> bool:
        if not self._has(path, name):
            return False
        if path not in self._used:
            self._used[path] = self._files.ask(path, "names used", lambda data: self._names_used(path, data))
        used = self._used[path]
        return used is None or name.rpartition(".")[2] in used

    def _names_used(self, path: Path, data: bytes) -> frozenset[str] | None:
        """The names that the code of a file uses; None of what Python cannot parse."""
        try:
            tree = self._python.of(SourceFile.decode(data, path).code)
        except UnreadableSource:
            return None
        return None if tree is None else names_used(tree)

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
            known = self._mentions[path] = MentionedInCode(self._files.read(path) or b"")
        return known


_Holds: TypeAlias = Callable[[FileSearches, Path, str], bool]
_Question: TypeAlias = tuple[_Holds, str, "Path | None"]
