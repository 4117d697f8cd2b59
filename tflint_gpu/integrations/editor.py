"""What an editor has open, and what a check finds in it. Knows nothing of the protocol that editors speak."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from tflint_gpu.checking.engine import Engine
from tflint_gpu.checking.fixes import fix_source
from tflint_gpu.checking.importers import importing
from tflint_gpu.checking.unused_suppressions import UnusedSuppressions
from tflint_gpu.diagnostics import Diagnostic, InternalError, Location
from tflint_gpu.integrations.kept_findings import moved
from tflint_gpu.lazy_dataclasses import dataclass
from tflint_gpu.model import Sources
from tflint_gpu.model.python.parsing.parsing import parse_again
from tflint_gpu.model.python.parsing.python_trees import RetypedText
from tflint_gpu.model.python.project.module_files import ModuleFiles
from tflint_gpu.model.python.syntax.spans import ReadStatements
from tflint_gpu.narrowing.measurements import Measurement, with_measurements
from tflint_gpu.reports import View
from tflint_gpu.rule import UNREADABLE_FILE
from tflint_gpu.settings.config import OWN_FILE, SettingsResolver
from tflint_gpu.settings.files import ROOT_MARKERS, Discovery, is_excluded, shown_name
from tflint_gpu.settings.options import Options, SettingsError, parse_options
from tflint_gpu.targets import Pins
from tflint_gpu.text.decoding import decode_source
from tflint_gpu.text.source import SourceFile, UnreadableSource, encoded

if TYPE_CHECKING:
    import ast

    import libcst as cst

    from tflint_gpu.model import ShownType
    from tflint_gpu.model.python.parsing.python_trees import PythonTrees
    from tflint_gpu.model.python.parsing.reuse import KnownText

KEPT_CHARACTERS = 500_000
"""So much text has its trees kept between checks; they take about 20 bytes a character, measured."""
FOUND_CHARACTERS = 24_000_000
"""So many bytes have kept what was found in them: summaries, which take three times as much, and names."""

_SETTINGS_ORIGIN = "the editor's settings"
_OF_THE_CLIENT = ("path", "trace")
"""What VS Code's extension has in our section for itself."""

_T = TypeVar("_T")
Stamp = tuple[tuple[Path, int, int], ...]


@dataclass(frozen=True, slots=True)
class OpenText:
    """A text as an editor counts it: a file, or a cell of a notebook.

    Arguments:
        uri: how the editor calls it.
        version: which the editor counts.
    """

    uri: str
    version: int | None


@dataclass(frozen=True, eq=False)
class Document:
    """A file in an editor, as it is at one moment.

    Arguments:
        uri: how the editor calls it.
        texts: the file itself, or all cells of a notebook in their order; none if the editor has not opened it.
        source: what they say; its path need not exist.
        content: what the file's bytes would be.
        folder: the workspace folder that it lies in, or where it lies.
    """

    uri: str
    texts: tuple[OpenText, ...]
    source: SourceFile
    content: bytes
    folder: Path

    @classmethod
    def of(cls, uri: str, texts: tuple[OpenText, ...], source: SourceFile, folder: Path) -> Document:
        """A document with its bytes."""
        return cls(uri, texts, source, encoded(source.stored), folder)

    def text_at(self, location: Location) -> OpenText:
        """The text that a location lies in; of a file that is not open, the file."""
        return self.texts[max(location.cell, 1) - 1] if self.texts else OpenText(self.uri, None)


@dataclass(frozen=True, eq=False)
class Checked:
    """What a check of a document found.

    Arguments:
        document: in the state that was checked.
        diagnostics: some may lie in other files.
        others: those other files by the names that diagnostics use, as they were then.
        dependencies: the other files that were read.
        errors: rules that failed.
        problem: what is wrong with the settings; empty if nothing.
        has_all_fixes: whether also those fixes were made that take long.
        readable: the last check of the document in which more of it could be read; None if none could read more.
    """

    document: Document
    diagnostics: tuple[Diagnostic, ...] = ()
    others: Mapping[str, SourceFile] = field(default_factory=dict)
    dependencies: frozenset[Path] = frozenset()
    errors: tuple[InternalError, ...] = ()
    problem: str = ""
    has_all_fixes: bool = True
    readable: Checked | None = None

    @property
    def own(self) -> list[Diagnostic]:
        """The diagnostics that lie in the document itself."""
        return [diagnostic for diagnostic in self.diagnostics if diagnostic.filename == self.document.source.name]

    def found_in(self, source: SourceFile) -> Iterator[Diagnostic]:
        """The diagnostics that lie in a text, and were found with just this text."""
        name = source.name
        known = self.document.source if name == self.document.source.name else self.others.get(name)
        if known is not None and known.equals(source):
            yield from (diagnostic for diagnostic in self.diagnostics if diagnostic.filename == name)

    @property
    def unread(self) -> int:
        """How many parts of the document could not be read."""
        return sum(1 + len(diagnostic.related) for diagnostic in self.own if diagnostic.code == UNREADABLE_FILE)

    def after(self, former: Checked | None) -> Checked:
        """This check, which knows what the former ones found where this one could not read."""
        while former is not None and former.unread >= self.unread:
            former = former.readable
        return replace(self, readable=None if former is None else replace(former, readable=None))

    def kept(self) -> list[Diagnostic]:
        """What was found before somebody began to write what cannot be read yet, where that is now."""
        if self.readable is None:
            return []
        kept = [diagnostic for diagnostic in self.readable.own if diagnostic.code != UNREADABLE_FILE]
        before, after = self.readable.document.source, self.document.source
        refused = [diagnostic for diagnostic in self.own if diagnostic.code == UNREADABLE_FILE]
        unread_cells = {diagnostic.location.cell for diagnostic in refused}
        unread_cells |= {place.location.cell for diagnostic in refused for place in diagnostic.related}
        return [
            now
            for former, now in zip(kept, moved(kept, before, after), strict=True)
            if now.location.cell in unread_cells or _line(before, former) == _line(after, now)
        ]


def _line(source: SourceFile, diagnostic: Diagnostic) -> str:
    return source.line(source.row_of(diagnostic.location))


class BufferedSources(Sources):
    """Prefers the editor's texts to the disk, notes what is read, and keeps the trees of texts that stay the same."""

    def __init__(self) -> None:
        self._buffers: Mapping[Path, bytes] = {}
        self._trees: dict[Path, tuple[str, KnownText]] = {}
        self.statements: ReadStatements = ReadStatements()
        self._found: dict[tuple[Path, str], tuple[bytes, Any]] = {}
        self._found_in = 0
        self._places: dict[Path, ModuleFiles] = {}
        self._retyped = RetypedText()
        self.dependencies: dict[Path, bytes | None] = {}

    def begin(self, buffers: Mapping[Path, bytes]) -> None:
        """Start a check with these texts."""
        self._buffers = buffers
        self.dependencies = {}
        self.statements.begin()

    def read(self, path: Path) -> bytes:
        """The text in the editor, or on the disk."""
        self.dependencies[path] = None  # also of a file that cannot be read it is recorded that it was needed
        data = self._buffers.get(path)
        self.dependencies[path] = data = super().read(path) if data is None else data
        return data

    def keep(self, path: Path, data: bytes, what: str, make: Callable[[], _T]) -> _T:
        """What was found in these bytes of a file the last time, if it was asked for."""
        known = self._found.get((path, what))
        if known is None or known[0] != data:
            if self._found_in > FOUND_CHARACTERS:
                self._found.clear()
                self._found_in = 0
            self._found_in += len(data)
            known = self._found[path, what] = data, make()
        answer: _T = known[1]
        return answer

    def module_files(self, root: Path) -> ModuleFiles:
        """Where the files of a project lie: what was looked up the last time, unless one came or went."""
        known = self._places.get(root)
        if known is None or not known.still_holds():
            known = self._places[root] = super().module_files(root)
        return known

    def python_tree(self, code: str) -> ast.Module | None:
        """The tree of some code, of which the statements that the former one had, too, are not parsed again."""
        return self._retyped.tree_of(code)

    def parse(self, path: Path, text: str, python: PythonTrees) -> cst.Module:
        """The tree of the last time, if the text is the same; else what of it is the same is kept."""
        known = self._trees.get(path)
        if known is None or known[0] != text:
            known = text, parse_again(text, None if known is None else known[1], python)
        self._trees.pop(path, None)
        self._trees[path] = known
        excess = sum(len(kept) for kept, _ in self._trees.values()) - KEPT_CHARACTERS
        for oldest in list(self._trees)[:-1]:
            if excess <= 0:
                break
            excess -= len(self._trees.pop(oldest)[0])
        return known[1].module


class Checker:
    """Checks documents one at a time; what it knows of settings it forgets when their files change.

    Arguments:
        root: what names in diagnostics are relative to, and patterns in the editor's settings.
        measured: what an earlier `verify` measured, by the keys of findings.
    """

    def __init__(self, root: Path, measured: Mapping[str, Measurement] | None = None) -> None:
        self.root = root
        self._measured = measured or {}
        self._options = Options()
        self._sources = BufferedSources()
        self._stamps: dict[Path, Stamp] = {}
        self._start_anew()

    def configure(self, options: Options) -> bool:
        """Take what the editor's settings say, which beats every settings file; whether that is something new."""
        if options == self._options:
            return False
        self._options = options
        self._stamps = {}
        self._start_anew()
        return True

    def name(self, path: Path) -> str:
        """How diagnostics call a file."""
        return shown_name(path, self.root)

    def check(
        self, document: Document, buffers: Mapping[Path, bytes], at_rest: bool = False, all_fixes: bool = True
    ) -> Checked:
        """Check a document. Needs a large stack.

        Arguments:
            document: to check.
            buffers: the bytes of all files that the editor has open.
            at_rest: nobody is typing in it, so there is time for what needs the files that import it.
            all_fixes: also those that take long.
        """
        self._notice_changes(document)
        engine, discovery = self._engine, self._discovery
        try:
            return self._check(document, buffers, engine, discovery, at_rest, all_fixes)
        except SettingsError as error:
            resolver = SettingsResolver(self._options, isolated=True, working_directory=self.root)
            engine = Engine(resolver, self.root, sources=self._sources)
            checked = self._check(document, buffers, engine, Discovery(resolver, self.root), at_rest, all_fixes)
            return replace(checked, problem=str(error))

    def types(self, document: Document, buffers: Mapping[Path, bytes]) -> tuple[ShownType, ...]:
        """What is known of the tensors, datasets and models of a document. Needs a large stack."""
        from tflint_gpu.model import types_in

        file = self._discovery.describe(document.source.path, document.folder, document.content)
        self._sources.begin(buffers)
        try:
            model = self._engine.model_of(file)
            return tuple(types_in(model)) if model is not None else ()
        except (UnreadableSource, RecursionError):  # the check of the document says so
            return ()
        finally:
            self._engine.forget_files()

    def importing(self, documents: Iterable[Document]) -> list[Document]:
        """The files on the disk that import some documents, as they are now: their checks may find more in these.

        May run beside a check.
        """
        resolver = SettingsResolver(self._options, working_directory=self.root)
        discovery = Discovery(resolver, self.root)
        importing_documents = []
        try:
            files = [discovery.describe(document.source.path, document.folder) for document in documents]
            importers = importing(Engine(resolver, self.root), files, [str(file.path) for file in files])
        except SettingsError:  # the check of a document says so
            return []
        for file in importers if files else ():
            with suppress(OSError, UnreadableSource):
                source = decode_source(file.read(), file.path, file.name)
                importing_documents.append(Document.of(file.path.as_uri(), (), source, file.root))
        return importing_documents

    def fixed(self, checked: Checked, buffers: Mapping[Path, bytes]) -> SourceFile:
        """The text of a document after all its safe fixes. Needs a large stack.

        Raises:
            FixError: the fixes do not go together.
        """
        document = checked.document

        def recheck(source: SourceFile) -> list[Diagnostic]:
            fixed = Document.of(document.uri, document.texts, source, document.folder)
            return self.check(fixed, {**buffers, source.path: fixed.content}).own

        return fix_source(document.source, checked.own, recheck).source

    def _check(
        self,
        document: Document,
        buffers: Mapping[Path, bytes],
        engine: Engine,
        discovery: Discovery,
        at_rest: bool,
        all_fixes: bool,
    ) -> Checked:
        file = discovery.describe(document.source.path, document.folder, document.content)
        if is_excluded(file.path, engine.resolver):
            return Checked(document)
        self._sources.begin(buffers)
        engine.predicts_by_size = engine.tries_fixes = all_fixes
        try:
            result = engine.check(file)
            comments = UnusedSuppressions(engine, [file], [result])
            if at_rest and comments.candidates:
                [result] = comments.added()
        finally:
            engine.forget_files()
        dependencies = frozenset(self._sources.dependencies) - {file.path}
        others = self._others(result.diagnostics, document)
        diagnostics = self._with_measurements(result.diagnostics, {document.source.name: document.source, **others})
        return Checked(document, diagnostics, others, dependencies, result.errors, has_all_fixes=all_fixes)

    def _with_measurements(
        self, diagnostics: tuple[Diagnostic, ...], texts: Mapping[str, SourceFile]
    ) -> tuple[Diagnostic, ...]:
        if not self._measured:
            return diagnostics
        return tuple(with_measurements(diagnostics, self._measured, View(self.root, sources=texts).line))

    def _others(self, diagnostics: Iterable[Diagnostic], document: Document) -> dict[str, SourceFile]:
        names = {diagnostic.filename for diagnostic in diagnostics}
        names |= {related.filename for diagnostic in diagnostics for related in diagnostic.related}
        files: dict[str, SourceFile] = {}
        for name in names - {document.source.name}:
            path = self.root / name
            data = self._sources.dependencies.get(path)
            if data is not None:
                try:
                    files[name] = decode_source(data, path, name)
                except UnreadableSource:
                    continue
        return files

    def _start_anew(self) -> None:
        resolver = SettingsResolver(self._options, working_directory=self.root)
        self._engine = Engine(resolver, self.root, sources=self._sources)
        self._discovery = Discovery(resolver, self.root)

    def _notice_changes(self, document: Document) -> None:
        """Forget all settings and targets if a file that may affect them has changed."""
        directory = document.source.path.parent
        stamp = _stamp(directory)
        if self._stamps.get(directory, stamp) != stamp:
            self._stamps = {}
            self._start_anew()
        self._stamps[directory] = stamp


def _stamp(directory: Path) -> Stamp:
    """The state of all files that settings and targets of a directory may come from."""
    stamps: list[tuple[Path, int, int]] = []
    settings = [place / name for place in (directory, *directory.parents) for name in (OWN_FILE, *ROOT_MARKERS)]
    for path in (*settings, *Pins().paths(directory)):
        try:
            status = path.stat()
        except OSError:
            continue
        # Of a directory, such as `.git`, only that it is there.
        stamps.append((path, status.st_mtime_ns, status.st_size) if path.suffix else (path, 0, 0))
    return tuple(stamps)


def parse_editor_settings(*tables: Mapping[str, Any]) -> Options:
    """The options in the editor's settings, whose keys may be in camel case; later tables beat earlier ones.

    Raises:
        SettingsError: an unknown key, a malformed value or an unknown rule code.
    """
    merged: dict[str, object] = {}
    for table in tables:
        # Editors send null, or an empty table, for what the user has not set.
        said = {key: value for key, value in table.items() if value is not None and value != {}}
        merged.update({_kebab(key): value for key, value in said.items() if key not in _OF_THE_CLIENT})
    return parse_options(merged, _SETTINGS_ORIGIN)


def _kebab(key: str) -> str:
    return "".join(f"-{char.lower()}" if char.isupper() else char for char in key)
