"""The other files of a project: where an import leads, and the models of those files."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from tflint_gpu.dependencies import Dependencies, State, digest_of, state_of
from tflint_gpu.model.python.parsing.python_trees import PythonTrees
from tflint_gpu.model.python.project.declarations import (
    STARRED,
    attributes_read,
    libraries_handed_on,
    names_given,
)
from tflint_gpu.model.python.project.file_bytes import FileBytes
from tflint_gpu.model.python.project.file_searches import FileSearches, MentionedInCode
from tflint_gpu.model.python.project.import_graph import ImportGraph
from tflint_gpu.model.python.project.module_files import OUTSIDE
from tflint_gpu.model.python.project.sources import Sources
from tflint_gpu.text.bytesearch import Mentioned
from tflint_gpu.text.source import SourceFile, UnreadableSource

if TYPE_CHECKING:
    from tflint_gpu.model.python.project.file import File, Parse
    from tflint_gpu.targets import Target

_T = TypeVar("_T")
NEARBY = 3
"""How many imports away what a program does may be: `train.py`, `agents/__init__.py`, `agents/dqn.py`, its base."""
_KEPT_CHARACTERS = 4_000_000  # a tree takes about 30 bytes a character; dropped trees are parsed again
_MOST_CHARACTERS = 8_000_000

_MOST_CLOSURES = 4
"""Of so many the names that their files give are held: those of 500 files take a megabyte."""

# The second way is looked for once for a text, which may be long.
_REPLACING = (
    rb"(?m:^[^#\n]*\b(?:OWNER|tf)\.NAME\s*=(?!=))"
    rb"|\A(?=(?s:.)*?(?:patch|setattr|vars\(|__dict__))(?=(?s:.)*?[\"'.]NAME[\"'])"
    rb"|patch\.(?:multiple|dict)\([^\n]*\bNAME="
)


class Project:
    """The files below one root. Opened ones are kept while they are small enough together.

    Arguments:
        root: no file outside of it is read.
        target: the TensorFlow version that the project runs on.
        sources: gives the files' bytes and trees.
        keeps_all: files are kept however large they are together: their nodes are used later.
    """

    def __init__(self, root: Path, target: Target, sources: Sources | None = None, *, keeps_all: bool = False) -> None:
        self.root = root
        self.target = target
        self.sources = sources or Sources()
        self._keeps_all = keeps_all
        self._places = self.sources.module_files(root)
        self._bytes = FileBytes(self.sources.read, self.sources.keep)
        self._imports = ImportGraph(self._places, self._bytes)
        self._files: dict[Path, File | None] = {}
        self._kept: dict[str, dict[Any, Any]] = {}
        self._kept_characters = 0
        self._most_kept = _KEPT_CHARACTERS
        self._parsed_once: set[Path] = set()
        self._parsed_again = 0
        self._located: dict[tuple[str, str], tuple[Path, str] | None] = {}
        self._own: tuple[SourceFile, Mentioned] | None = None
        self._matched: dict[tuple[Path, bytes], bool] = {}
        self._nearby: dict[tuple[Path, tuple[bytes, ...], int], bool] = {}
        self._told: set[str] = set()
        self._given: dict[Path, frozenset[str]] = {}
        self._read: dict[Path, frozenset[str]] = {}
        self._given_together: dict[frozenset[Path], frozenset[str]] = {}
        self._libraries: dict[Path, dict[str, str]] = {}
        self._python = PythonTrees(self.sources.python_tree)
        self._searches = FileSearches(self._bytes, self._imports, self._python)

    def open(self, source: SourceFile) -> File:
        """Parse a file that is to be checked.

        Raises:
            UnreadableSource: it does not parse.
        """
        if self._kept_characters > self._most_kept and not self._keeps_all:
            self.let_go()
        known = self._files.get(source.path)
        if known is None or not known.source.equals(source):
            stale, known = known, self._parsed(source)
            if stale is not None:
                self._forget_answers()
            self._files[source.path] = known
            self._kept_characters += len(source.text) - (0 if stale is None else len(stale.source.text))
        return known

    def supposed(self, source: SourceFile) -> File:
        """A file as it would be with another text; nothing else of the project sees it, nor does it get others' nodes.

        Raises:
            UnreadableSource: it does not parse.
        """
        from tflint_gpu.model.python.parsing.parsing import parse_module

        return self._parsed(source, lambda text: parse_module(text, self._python))

    def let_go(self) -> None:
        """Let all files go at once: what is known of one rests on others, so none may outlive another."""
        for file in self._files.values():
            if file is not None:
                file.close()
        self._files.clear()
        self._forget_answers()
        self._python.forget()
        self._kept_characters = 0

    def is_open(self, file: File) -> bool:
        """Whether a file is the one that others of the project see."""
        return self._files.get(file.source.path) is file

    def leave(self, file: File) -> None:
        """Let a file go whose check is over, if no other one can import it: a notebook, whose outputs are megabytes."""
        path = file.source.path
        if path.suffix != ".py" and self._files.get(path) is file and not self._keeps_all:
            del self._files[path]
            self._kept_characters -= len(file.source.text)
            self._own = None
            file.close()

    def kept(self, what: str) -> dict[Any, Any]:
        """What was found out of the files that are open, by what it is; it goes when they go."""
        return self._kept.setdefault(what, {})

    def _forget_answers(self) -> None:
        for known in self._kept.values():
            known.clear()

    @property
    def held_characters(self) -> int:
        """How much text is held as trees."""
        return self._kept_characters

    def new_dependencies(self) -> Dependencies:
        """What the answers of this project rest on, as far as that was not returned before."""
        asked = self._places.newly_asked()
        states: dict[str, State] = {}
        for name in set(asked).union(*asked.values()):
            if name not in self._told:
                self._told.add(name)
                path = Path(name)
                data = self._bytes.read(path)
                known = None if data is None else State(digest_of(data), self._bytes.stamp(path))
                states[name] = known or state_of(name)
        return Dependencies({asker: list(paths) for asker, paths in asked.items()}, states)

    def imported(self, file: File, dotted: str) -> tuple[File, str] | None:
        """The project's file from which an imported name comes, and what it is called there; "" for the file itself."""
        located = self.locate(file, dotted)
        other = self.file_at(located[0]) if located is not None else None
        return (other, located[1].partition(".")[0]) if other is not None and located is not None else None

    def mentioned(self, path: Path) -> Mentioned:
        """Which substrings a file has."""
        return self._searches.mentioned(path)

    def imports_mention(self, path: Path, data: bytes, required: Sequence[bytes]) -> bool:
        """Whether a file of the project that the file imports directly has one of some required substrings."""
        return any(self._searches.mentioned(imported).any_of(required) for imported in self.imports_of(path, data))

    def mentions_nearby(self, path: Path, data: bytes, required: tuple[bytes, ...], steps: int) -> bool:
        """Whether a file of the project that a file imports, in a few steps, has one of some required substrings.

        Arguments:
            steps: how many imports may lie between: `train.py`, the package's `__init__`, `agents/dqn.py`, its base.
        """
        if self.imports_mention(path, data, required):
            return True
        imported = self.imports_of(path, data) if steps > 1 else ()
        return any(self._mentions_after(imported_path, required, steps - 1) for imported_path in imported)

    def _mentions_after(self, path: Path, required: tuple[bytes, ...], steps: int) -> bool:
        key = (path, required, steps)
        known = self._nearby.get(key)
        if known is None:
            known = self._nearby[key] = self.mentions_nearby(path, self._bytes.read(path) or b"", required, steps)
        return known

    def leads_to(self, file: File, dotted: str | None, required: Sequence[bytes]) -> bool:
        """Whether what an imported name means may have to do with some byte strings; True for names of the file itself.

        Spares a parse: the file that defines the name, or one that it leads to, must have one of them.
        """
        located = self.locate(file, dotted) if dotted is not None else None
        if located is None:
            return True
        path, data = located[0], self._bytes.read(located[0]) or b""
        return self._searches.mentioned(path).any_of(required) or self.mentions_nearby(
            path, data, tuple(required), NEARBY
        )

    def imports_of(self, path: Path, data: bytes | None = None) -> tuple[Path, ...]:
        """The files of the project that a file imports directly.

        Arguments:
            path: of the file.
            data: its code, if that is not what the file's bytes are.
        """
        return self._imports.imported_paths(path, data)

    def program_mentions(self, source: SourceFile, required: Sequence[bytes]) -> bool:
        """Whether a file, or one of the project's files that its imports reach, has one of some byte strings."""
        if self._own is None or self._own[0] is not source:
            self._own = source, MentionedInCode(source.text.encode("utf-8", "replace"))
        return self._own[1].any_of(required) or self.others_mention(source, required)

    def others_mention(self, source: SourceFile, required: Sequence[bytes]) -> bool:
        """Whether one of the project's files that a file's imports reach has one of some byte strings."""
        return any(self._searches.mentioned(path).any_of(required) for path in self.reached(source))

    def reached_mention(self, source: SourceFile, pattern: re.Pattern[bytes], word: bytes = b"") -> bool:
        """Whether a file that a file's imports reach matches a pattern, by its bytes; each match has a word."""
        return any(self.matches(path, pattern, word) for path in self.reached(source))

    def replaces(self, file: File, name: str) -> bool:
        """Whether a file, or one that it reaches or that imports it, may give an attribute another value.

        By its name alone: `mock.patch("tensorflow.name")`, `setattr(tf, "name", 1)`, `tf.name = 1`.
        """
        owner, last = (re.escape(part).encode() for part in name.split(".")[-2:])
        pattern = re.compile(_REPLACING.replace(b"OWNER", owner).replace(b"NAME", last))
        text = file.source.text.encode("utf-8", "replace")
        if pattern.search(text) is not None or self.reached_mention(file.source, pattern, last):
            return True
        return any(self.importing(file, pattern, last))

    def matches(self, path: Path, pattern: re.Pattern[bytes], word: bytes = b"") -> bool:
        """Whether a file of the project matches a pattern, by its bytes; a word that each match has is found sooner."""
        key = (path, pattern.pattern)
        if key not in self._matched:
            data = self._bytes.read(path) or b""
            self._matched[key] = word in data and pattern.search(data) is not None
        return self._matched[key]

    def reached(self, source: SourceFile) -> tuple[Path, ...]:
        """The files of the project that a file's imports reach, itself left out, nearest first."""
        return self._imports.reached(source)

    def importing(self, file: File, pattern: re.Pattern[bytes], word: bytes = b"") -> Iterator[File]:
        """The files that import a file, directly or through others, and match a pattern, by their bytes."""
        own = file.source.path
        for path in self._places.importable_by(own):
            other = self.file_at(path) if self.matches(path, pattern, word) else None
            if other is not None and own in self.reached(other.source):
                self._places.note_asked(own, path)
                yield other

    def closure(self, source: SourceFile) -> frozenset[Path]:
        """The files of the project that a file's imports reach, itself with them where one of those imports it."""
        return self._imports.closure(source)

    def names_given(self, closure: frozenset[Path]) -> frozenset[str]:
        """The names of functions, classes, attributes and variables of modules in some files."""
        if closure not in self._given_together:
            if len(self._given_together) == _MOST_CLOSURES:
                del self._given_together[next(iter(self._given_together))]
            self._given_together[closure] = frozenset().union(*map(self._names_given_in, closure))
        return self._given_together[closure]

    def attributes_read(self, closure: frozenset[Path], names: frozenset[str]) -> frozenset[str]:
        """Those of some names that follow a dot in some files."""
        return frozenset().union(*(names & self._attributes_read_in(path) for path in closure if names))

    def _attributes_read_in(self, path: Path) -> frozenset[str]:
        if path not in self._read:
            self._read[path] = self._bytes.ask(path, "attributes read", attributes_read)
        return self._read[path]

    def _names_given_in(self, path: Path) -> frozenset[str]:
        if path not in self._given:
            self._given[path] = self._bytes.ask(path, "names given", names_given)
        return self._given[path]

    def leads_elsewhere(self, file: File) -> bool:
        """Whether running a file may run functions of others: it does more than define, and its imports reach some."""
        return file.runs_something and bool(self.reached(file.source))

    def having(self, closure: frozenset[Path], text: str) -> Iterator[File]:
        """The files of a closure in which a text is."""
        return self._opened(self._searches.having(closure, text))

    def using(self, closure: frozenset[Path], name: str, importing: Path | None = None) -> Iterator[File]:
        """The same for code that calls a name, reads it or hands it on.

        Arguments:
            name: it may be dotted.
            importing: only those that import this file.
        """
        return self._opened(self._searches.using(closure, name, importing))

    def deriving(self, closure: frozenset[Path], name: str, importing: Path) -> Iterator[File]:
        """The same for files that may have a class below one that is called so."""
        return self._opened(self._searches.deriving(closure, name, importing))

    def _opened(self, paths: Iterable[Path]) -> Iterator[File]:
        for path in paths:
            file = self.file_at(path)
            if file is not None:
                yield file

    def locate(self, file: File, dotted: str) -> tuple[Path, str] | None:
        """The file to which an import leads, and the dotted rest of the name that is looked for in it."""
        key = (file.source.name, dotted)
        if key not in self._located:
            self._located[key] = self._places.locate(file.source.path, dotted)
        return self._located[key]

    def modules_of(self, file: File, package: str) -> list[str]:
        """The dotted names of the modules in the folder of a package that a file may load."""
        return self._places.modules_of(file.source.path, package)

    def file_at(self, path: Path) -> File | None:
        """A file of the project; None where it cannot be read or does not parse."""
        if path not in self._files:
            data = self._bytes.read(path)
            file: File | None = None
            if data is not None:
                try:
                    file = self._parsed(SourceFile.decode(data, path, self._display_name(path)))
                except (UnreadableSource, RecursionError):
                    file = None
            self._files[path] = file
            if file is not None:
                self._keep(path, len(file.source.text))
        return self._files[path]

    def _keep(self, path: Path, characters: int) -> None:
        """Count a file that was parsed because another one leads to it.

        Where each file of a large package leads to most of the others, they would be parsed for each of them: once as
        much as is kept was parsed again, twice as much is kept.
        """
        self._kept_characters += characters
        if path in self._parsed_once:
            self._parsed_again += characters
        self._parsed_once.add(path)
        if self._parsed_again > self._most_kept:
            self._parsed_again = 0
            self._most_kept = min(2 * self._most_kept, _MOST_CHARACTERS)

    def _parsed(self, source: SourceFile, parse: Parse | None = None) -> File:
        from tflint_gpu.model.python.project.file import File

        try:
            return File.parse(
                source,
                parse or (lambda text: self.sources.parse(source.path, text, self._python)),
                lambda dotted: self._re_exported_library(source.path, dotted),
                self._python,
                self.sources.statements,
            )
        except UnreadableSource as error:
            raise _without_frames(error) from None

    def _re_exported_library(self, importer: Path, dotted: str, seen: set[Path] | None = None) -> str:
        """`tensorflow.keras` for `package.keras`, where the package only imports it; else the name as it is.

        By the bytes alone: whether a file is worth a parse is known later.

        Arguments:
            seen: the files whose `import *` were followed for this name: they may go round in a circle.
        """
        top = dotted.partition(".")[0]
        if top in OUTSIDE:
            return dotted
        located = self._places.locate(importer, dotted)
        name = located[1] if located is not None else ""
        if located is None or not name.isidentifier():
            return dotted
        if located[0] not in self._libraries:
            self._libraries[located[0]] = libraries_handed_on(self._bytes.read(located[0]) or b"")
        libraries = self._libraries[located[0]]
        seen = set() if seen is None else seen
        if name in libraries or STARRED not in libraries or located[0] in seen:
            return libraries.get(name, dotted)
        seen.add(located[0])
        for module in libraries[STARRED].split():
            inner = module + ("" if module.endswith(".") else ".") + name
            library = self._re_exported_library(located[0], inner, seen)
            if library != inner:
                return library
        return dotted

    def _display_name(self, path: Path) -> str:
        try:
            return str(path.relative_to(Path.cwd()))
        except ValueError:
            return str(path)


def _without_frames(error: UnreadableSource) -> UnreadableSource:
    """An error that no longer holds what its way led through: the frames would hold it, and with it the project."""
    error.__traceback__ = error.__cause__ = error.__context__ = None
    return error
