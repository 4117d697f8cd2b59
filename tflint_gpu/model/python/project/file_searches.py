"""Which of the files that a file's imports reach have to do with a name: told before any of them is parsed."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TypeAlias

from tflint_gpu.model.python.parsing.python_trees import PythonTrees
from tflint_gpu.model.python.prefilter.file_summaries import FileSummary
from tflint_gpu.model.python.prefilter.prefilters import FunctionsByName, functions_by_name
from tflint_gpu.model.python.project.declarations import renamed, words_of_bases
from tflint_gpu.model.python.project.file_bytes import FileBytes
from tflint_gpu.model.python.project.import_graph import MOST_CLOSURES, ImportGraph
from tflint_gpu.text.bytesearch import Mentioned, RequiredSubstring
from tflint_gpu.text.lexical import without_comments
from tflint_gpu.text.source import SourceFile, UnreadableSource

_MOST_SUMMARISED = 12_000_000  # of text; a summary takes about three bytes a character of it


class KnownSummaries:
    """The summaries of the files of a project, each made once while they are small enough together.

    Arguments:
        files: gives the files' bytes.
        python: what Python's parser makes of texts.

    Attributes:
        characters: of the text of which there are summaries.
    """

    def __init__(self, files: FileBytes, python: PythonTrees) -> None:
        self._files = files
        self._python = python
        self._known: dict[Path, tuple[str, FileSummary | None]] = {}
        self._functions: dict[frozenset[Path], FunctionsByName] = {}
        self.characters = 0

    def of(self, path: Path) -> FileSummary | None:
        """The summary of a file; None of what is no text, or no Python."""
        if path not in self._known:
            known = self._files.ask(path, "summary", lambda data: self._read(path, data))
            if known is None:
                return None
            if path not in self._known:  # it was made for another project
                self.characters += len(known[0])
            self._known[path] = known
        return self._known[path][1]

    def known(self, path: Path) -> FileSummary | None:
        """The same, if it was made."""
        return self._known.get(path, ("", None))[1]

    def has(self, path: Path, code: str) -> bool:
        """Whether a summary of a file's code is known."""
        text, summary = self._known.get(path, ("", None))
        return summary is not None and text == code

    def forget(self, path: Path) -> None:
        """Let the summary of a file go."""
        code, _ = self._known.pop(path, ("", None))
        self.characters -= len(code)

    def _read(self, path: Path, data: bytes) -> tuple[str, FileSummary | None] | None:
        """The code and the summary of a file's bytes; None where they are no text."""
        try:
            code = SourceFile.decode(data, path).code
        except UnreadableSource:
            return None
        return code, self.of_code(path, code)

    def of_code(self, path: Path, code: str) -> FileSummary | None:
        """The summary of a file's code, which may be newer than its bytes on the disk; None of what is no Python."""
        known = self._known.get(path)
        if known is None or known[0] != code:
            if known is not None:
                self._functions.clear()
                self.forget(path)
            if self.characters > _MOST_SUMMARISED:
                self._make_room()
            tree = self._python.of(code)
            known = self._known[path] = (code, None if tree is None else FileSummary(tree))
            self.characters += len(code)
        return known[1]

    def _make_room(self) -> None:
        """Let the first half go: those of a package that was checked before."""
        self._functions.clear()
        for path in [*self._known]:
            if self.characters <= _MOST_SUMMARISED // 2:
                break
            self.forget(path)

    def functions(self, closure: frozenset[Path]) -> FunctionsByName:
        """The functions of the files of a closure, by their names: the same for all files that reach the same."""
        known = self._functions.get(closure)
        if known is None:
            known = functions_by_name([summary for path in closure if (summary := self.of(path)) is not None])
            if len(closure) > 1:
                if len(self._functions) == MOST_CLOSURES:
                    del self._functions[next(iter(self._functions))]
                self._functions[closure] = known
        return known


class MentionedInCode(Mentioned):
    """The same for a Python file without its comments: what is commented out does nothing."""

    def __init__(self, data: bytes) -> None:
        super().__init__(data)
        self._code: bytes | None = None

    def __missing__(self, required: RequiredSubstring) -> bool:
        if super().__missing__(required) and isinstance(required, bytes) and b"#" in self.data:
            if self._code is None:
                self._code = without_comments(self.data.decode("latin-1")).encode("latin-1")
            self[required] = required in self._code
        return self[required]


class FileSearches:
    """Looks names up in the files of a project, each question once.

    Arguments:
        files: gives the files' bytes.
        imports: between the files.
        summaries: of the files.
    """

    def __init__(self, files: FileBytes, imports: ImportGraph, summaries: KnownSummaries) -> None:
        self._files = files
        self._imports = imports
        self._summaries = summaries
        self._mentions: dict[Path, Mentioned] = {}
        self._bases: dict[Path, tuple[frozenset[bytes], bool]] = {}
        self._answers: dict[_Question, Sequence[Path]] = {}

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
        question = (holds, text, importing, closure)
        answer = self._answers.get(question)
        if answer is None:
            among = closure if importing is None else self._imports.importers(closure, importing)
            answer = self._answers[question] = sorted([path for path in among if holds(self, path, text)])
        return answer

    def _has(self, path: Path, text: str) -> bool:
        return self.mentioned(path)[text.encode("utf-8", "replace")]

    def _uses(self, path: Path, name: str) -> bool:
        last = name.rpartition(".")[2]
        summary = self._summaries.known(path)
        if summary is None:
            if not self._has(path, name):
                return False
            summary = self._summaries.of(path)
            return summary is None or last in summary.used
        return last in summary.used and (last == name or self._has(path, name))

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
_Question: TypeAlias = tuple[_Holds, str, "Path | None", frozenset[Path]]
