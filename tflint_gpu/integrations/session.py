"""A session with an editor: which documents are open, when they are checked, and what is published."""

from __future__ import annotations

import asyncio
import contextlib
import gc
import os
from collections.abc import Callable, Coroutine, Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from lsprotocol import types
from pygls.capabilities import get_capability
from pygls.exceptions import JsonRpcException, PyglsError
from pygls.lsp.server import LanguageServer
from pygls.uris import to_fs_path

from tflint_gpu import __version__
from tflint_gpu.checking.fixes import FixError
from tflint_gpu.dependencies import digest_of
from tflint_gpu.diagnostics import Diagnostic
from tflint_gpu.integrations.background import in_background
from tflint_gpu.integrations.code_actions import CodeActions
from tflint_gpu.integrations.editor import Checked, Checker, Document, OpenText, parse_editor_settings
from tflint_gpu.integrations.messages import NAME, Messages
from tflint_gpu.integrations.texts import Texts
from tflint_gpu.narrowing.measurements import Measurement
from tflint_gpu.rule import UNREADABLE_FILE
from tflint_gpu.settings.options import SettingsError
from tflint_gpu.text.bytesearch import NOTEBOOK_ENDING

if TYPE_CHECKING:
    from tflint_gpu.model import ShownType

Result = TypeVar("Result")

SECTION = "tflint-gpu"
"""What the editor calls our part of its settings."""
_VIRTUAL_FOLDER = ".virtual_documents"
"""Where jupyterlab-lsp says that notebooks are."""
_NOTEBOOKS = types.NotebookDocumentSyncOptions(
    [types.NotebookDocumentFilterWithCells(cells=[types.NotebookCellLanguage("python")])], save=True
)
_TYPING_PAUSE = 0.02
_RIPPLE_PAUSE = 0.4
_SWEEP_PAUSE = 2.0
"""Seconds without a change after which there is time for what nobody waits for."""


class Session(LanguageServer):
    """Checks documents when they change, and publishes only what was found in their newest texts.

    Arguments:
        measured: what an earlier `verify` measured, by the keys of findings.
    """

    def __init__(self, measured: Mapping[str, Measurement]) -> None:
        super().__init__(NAME, __version__, notebook_document_sync=_NOTEBOOKS)
        self.given: Mapping[str, Any] = {}
        self.was_shut_down = self.was_ended = self.is_checking = False
        self._measured = measured
        self._checker = Checker(Path.cwd(), measured)
        self._documents: dict[str, Document] = {}
        self._importing: dict[str, Document] = {}
        self._searches = 0
        self._results: dict[str, Checked] = {}
        self._outdated: set[str] = set()
        self._unsaved: set[str] = set()
        self._problems: dict[str, str] = {}
        self._errors: set[str] = set()
        self._schedules: dict[str, int] = {}
        self._tasks: set[asyncio.Task[Any]] = set()
        self._one_at_a_time = asyncio.Lock()
        self._sweep: asyncio.TimerHandle | None = None
        self._refresh: asyncio.TimerHandle | None = None
        self._pulled: dict[str, str] = {}
        self._newest: dict[str, str] = {}
        self._typed: tuple[Document, tuple[ShownType, ...]] | None = None

    def settle_in(self, given: object) -> None:
        """Take up the workspace, and the settings that the editor gave with its greeting."""
        self.protocol._workspace = Texts.of(self.workspace)
        folders = self._folders()
        root = self.workspace.root_path
        self._checker = Checker(folders[0] if folders else Path(root) if root else Path.cwd(), self._measured)
        table = given.get(SECTION, given) if isinstance(given, dict) else None
        self.given = table if isinstance(table, dict) else {}

    # Documents

    @property
    def texts(self) -> Texts:
        """What the editor has open."""
        workspace = self.workspace
        assert isinstance(workspace, Texts)
        return workspace

    def put(self, uri: str, *, unsaved: bool) -> None:
        """A document was opened, or has a new text."""
        place = self._place(uri)
        if place is None:
            return
        path, folder = place
        former = self._documents.get(uri)
        self._documents[uri] = document = self.texts.document(uri, path, self._checker.name(path), folder)
        if former is not None:
            self._clear({text.uri for text in former.texts} - {text.uri for text in document.texts})
        (self._unsaved.add if unsaved else self._unsaved.discard)(uri)
        self.schedule([uri], _TYPING_PAUSE if unsaved else 0)
        self._schedule_resting_on(path, uri)
        if not unsaved:
            self._search_importing()

    def note_saved(self, uri: str) -> None:
        """A document is on the disk as it is in the editor."""
        if uri in self._documents:
            self._unsaved.discard(uri)
            self.schedule([uri], 0)
            self._search_importing()

    def remove(self, uri: str) -> None:
        """A document was closed: nothing more is said about it."""
        document = self._documents.pop(uri, None)
        if document is None:
            return
        gone = self._results.pop(uri, None)
        self._problems.pop(uri, None)
        self._schedules.pop(uri, None)
        self._clear(text.uri for text in document.texts)
        self._publish_others(uri, gone, None)
        self._schedule_resting_on(document.source.path, uri)
        self._search_importing()

    def _clear(self, uris: Iterable[str]) -> None:
        for uri in uris:
            self._pulled.pop(uri, None)
            self.text_document_publish_diagnostics(types.PublishDiagnosticsParams(uri, []))

    def note_changes(self, changes: Iterable[types.FileEvent]) -> None:
        """Files changed on the disk: check what may rest on them."""
        affected: set[str] = set()
        for change in changes:
            name = to_fs_path(change.uri) or ""
            if name.endswith(".py") and change.type == types.FileChangeType.Changed:
                affected |= self._resting_on(Path(name))
            elif not name.endswith(NOTEBOOK_ENDING):  # which nothing imports
                affected |= {*self._documents, *self._importing}
        self.schedule(affected, _TYPING_PAUSE)
        self._search_importing()

    def _place(self, uri: str) -> tuple[Path, Path] | None:
        """The path of a Python document and the folder that it belongs to; None for what is not checked."""
        scheme, _, rest = uri.partition(":")
        # pygls would take what follows a semicolon for a parameter.
        name = to_fs_path(uri.replace(";", "%3B")) if scheme == "file" else rest
        if name is None or scheme not in ("file", "untitled"):
            return None
        is_notebook = self.texts.notebook(uri) is not None
        if not is_notebook and not self.texts.has_python(uri, name):
            return None
        if scheme == "untitled":
            name = Path(name).name or "untitled"
            ending = NOTEBOOK_ENDING if is_notebook and not name.endswith(NOTEBOOK_ENDING) else ""
            return self._checker.root / f"{name}{ending}", self._checker.root
        path = Path(*(part for part in Path(os.path.normpath(name)).parts if part != _VIRTUAL_FOLDER))
        around = [folder for folder in (*self._folders(), self._checker.root) if folder in path.parents]
        return path, max(around, key=lambda folder: len(folder.parts), default=path.parent)

    def _folders(self) -> list[Path]:
        named = (to_fs_path(folder.uri) for folder in self.workspace.folders.values())
        return [Path(name) for name in named if name is not None]

    def _resting_on(self, path: Path) -> set[str]:
        return {uri for uri, checked in self._results.items() if path in checked.dependencies}

    def _schedule_resting_on(self, path: Path, uri: str) -> None:
        """Check what rests on a document again: what is open soon, and what only imports it when nobody types."""
        resting = self._resting_on(path) - {uri}
        self.schedule(resting - self._importing.keys(), _RIPPLE_PAUSE)
        self.schedule(resting & self._importing.keys(), _SWEEP_PAUSE)

    def _search_importing(self) -> None:
        """Search soon for the files that import what is open and are not open: their check may find more in it."""
        self._searches += 1
        self.start(self._search_later(self._searches))

    async def _search_later(self, number: int) -> None:
        await asyncio.sleep(_RIPPLE_PAUSE)
        if self._searches != number:
            return
        checker, documents = self._checker, list(self._documents.values())
        importing = await in_background(lambda: checker.importing(documents))
        paths = {document.source.path for document in self._documents.values()}
        before = self._importing
        self._importing = {document.uri: document for document in importing if document.source.path not in paths}
        for uri, document in self._importing.items():
            former = before.pop(uri, None)
            if former is not None and former.content == document.content:
                self._importing[uri] = former
            else:
                self.schedule([uri], 0)
        for uri in before.keys() - self._documents.keys():
            self._publish_others(uri, self._results.pop(uri, None), None)

    def _document(self, uri: str) -> Document | None:
        """What is open, or imports what is open."""
        return self._documents.get(uri) or self._importing.get(uri)

    # Settings

    async def configure(self, given: Mapping[str, Any]) -> None:
        """Take the editor's settings over those of its greeting. Wrong ones are reported, and the former stay."""
        try:
            options = parse_editor_settings(self.given, given)
        except SettingsError as error:
            self._tell_problem(SECTION, str(error))
            return
        self._tell_problem(SECTION, "")
        async with self._one_at_a_time:
            if not self._checker.configure(options):
                return
        self.schedule([*self._documents, *self._importing], 0)

    async def fetch_settings(self) -> None:
        """Ask the editor for our part of its settings."""
        question = types.ConfigurationParams([types.ConfigurationItem(section=SECTION)])
        with contextlib.suppress(JsonRpcException):
            answers = await self.workspace_configuration_async(question)
            await self.configure(answers[0] if answers and isinstance(answers[0], dict) else {})

    def _tell_problem(self, origin: str, problem: str) -> None:
        """Show what is wrong with settings, once and not at each key."""
        if problem and problem not in self._problems.values():
            self.window_show_message(types.ShowMessageParams(types.MessageType.Error, f"{NAME}: {problem}"))
        self._problems[origin] = problem

    # Checks

    def schedule(self, uris: Iterable[str], pause: float) -> None:
        """Check documents after a pause, unless they are scheduled again meanwhile."""
        for uri in list(uris):
            self._outdated.add(uri)
            number = self._schedules[uri] = self._schedules.get(uri, 0) + 1
            self.start(self._check_later(uri, pause, number))

    def start(self, work: Coroutine[Any, Any, Result]) -> asyncio.Task[Result]:
        """Start work in the background."""
        task = asyncio.get_running_loop().create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._finish)
        return task

    def _finish(self, task: asyncio.Task[Any]) -> None:
        self._tasks.discard(task)
        error = None if task.cancelled() else task.exception()
        if error is not None and not isinstance(error, BrokenPipeError):  # the editor is gone
            self._log(f"{NAME}: {error!r}")

    async def _check_later(self, uri: str, pause: float, number: int) -> None:
        await asyncio.sleep(pause)
        if self._schedules.get(uri) == number:
            await self._checked(uri)

    async def checked(self, uri: str, *, all_fixes: bool = False) -> Checked | None:
        """What is found in the newest text of a document; None if it is not open, or has changed meanwhile.

        Arguments:
            uri: of the document, or of a cell in it.
            all_fixes: also those that take long, which nobody has asked for while somebody types.
        """
        notebook = self.texts.notebook(uri)
        uri = uri if notebook is None else notebook.uri
        # A request may be cancelled; a check under way must go on to its end before the next one starts.
        return await asyncio.shield(self.start(self._checked(uri, all_fixes)))

    async def _checked(self, uri: str, all_fixes: bool = False) -> Checked | None:
        async with self._one_at_a_time:
            document, known = self._document(uri), self._results.get(uri)
            if document is None:
                return None
            is_current = known is not None and known.document is document and uri not in self._outdated
            if known is not None and is_current and (known.has_all_fixes or not all_fixes):
                return known
            self._outdated.discard(uri)
            at_rest = uri not in self._unsaved
            checked = await self._with_buffers(
                lambda buffers: self._checker.check(document, buffers, at_rest, at_rest or all_fixes)
            )
            checked = checked.after(known)
        if self._document(uri) is not document:
            return None
        self._results[uri] = checked
        if uri in self._documents:
            self._publish(checked)
        self._publish_others(uri, known, checked)
        self._tell_problem(uri, checked.problem)
        self._log_errors(checked)
        return checked

    async def pulled(self, uri: str, known: str | None) -> types.DocumentDiagnosticReport:
        """What is shown in a text that the editor asks for; from now on it is not published as well.

        Arguments:
            uri: of a file, or of a cell.
            known: which answer the editor has, if it has one.
        """
        if uri not in self._pulled:
            self._clear([uri])
            self._pulled[uri] = ""
        checked = await self.checked(uri)
        while checked is None and uri in self._pulled and self._is_open(uri):  # it has changed meanwhile
            checked = await self.checked(uri)
        shown = {} if checked is None else self._listed(checked)
        items = next((listed for text, listed in shown.items() if text.uri == uri), [])
        answer = self._pulled[uri] = self._newest[uri] = _digest(items)
        if answer == known:
            return types.RelatedUnchangedDocumentDiagnosticReport(answer)
        return types.RelatedFullDocumentDiagnosticReport(items, result_id=answer)

    def _is_open(self, uri: str) -> bool:
        notebook = self.texts.notebook(uri)
        return (uri if notebook is None else notebook.uri) in self._documents

    def _refresh_later(self) -> None:
        """Let the editor ask again, soon, where it did not ask for the newest answer by itself."""
        if self._refresh is not None:
            self._refresh.cancel()
        self._refresh = asyncio.get_running_loop().call_later(_RIPPLE_PAUSE, self._refresh_outdated)

    def _refresh_outdated(self) -> None:
        can_ask_again = get_capability(self.client_capabilities, "workspace.diagnostics.refresh_support")
        if can_ask_again and any(self._newest.get(uri, answer) != answer for uri, answer in self._pulled.items()):
            self.workspace_diagnostic_refresh(None)

    async def known_types(self, checked: Checked) -> tuple[ShownType, ...]:
        """What is known of the tensors, datasets and models of a document that was checked."""
        return await asyncio.shield(self.start(self._known_types(checked)))

    async def _known_types(self, checked: Checked) -> tuple[ShownType, ...]:
        async with self._one_at_a_time:
            document = checked.document
            if self._typed is None or self._typed[0] is not document:
                self._typed = document, await self._with_buffers(lambda buffers: self._checker.types(document, buffers))
            return self._typed[1]

    async def fix_all_edit(self, uri: str) -> types.WorkspaceEdit | None:
        """The edit that makes all safe fixes in a document; None if it changes meanwhile, or they do not fit."""
        return await asyncio.shield(self.start(self._fixed(uri)))

    async def _fixed(self, uri: str) -> types.WorkspaceEdit | None:
        checked = await self._checked(uri)
        if checked is None:
            return None
        try:
            async with self._one_at_a_time:
                source = await self._with_buffers(lambda buffers: self._checker.fixed(checked, buffers))
        except FixError as error:
            self.window_show_message(types.ShowMessageParams(types.MessageType.Warning, f"{NAME}: {error}"))
            return None
        return self.actions(checked).replacing(source)

    async def _with_buffers(self, work: Callable[[Mapping[Path, bytes]], Result]) -> Result:
        """Do something in the background with the texts of all open documents."""
        buffers = {document.source.path: document.content for document in self._documents.values()}
        self.is_checking = True
        try:
            return await in_background(lambda: work(buffers))
        finally:
            self.is_checking = False
            self._sweep_later()

    def _sweep_later(self) -> None:
        """Collect garbage when nothing has been checked for a while: before, answers would wait for it."""
        if self._sweep is not None:
            self._sweep.cancel()
        self._sweep = asyncio.get_running_loop().call_later(_SWEEP_PAUSE, gc.collect)

    # Messages to the editor

    @property
    def messages(self) -> Messages:
        """Writes as was agreed with the editor."""
        shown = get_capability(self.client_capabilities, "text_document.publish_diagnostics", None)
        related, tagged = (bool(getattr(shown, part, None)) for part in ("related_information", "tag_support"))
        return Messages(self.workspace.position_codec, related, tagged, self._uri)

    def actions(self, checked: Checked) -> CodeActions:
        """The actions for a document, as the editor can take them."""
        versioned = get_capability(self.client_capabilities, "workspace.workspace_edit.document_changes")
        return CodeActions(checked.document, self.found(checked), self.messages, bool(versioned))

    def found(self, checked: Checked) -> list[tuple[Diagnostic, Checked]]:
        """What all checks found in a document's text, each with the check that found it."""
        diagnostics: dict[object, tuple[Diagnostic, Checked]] = {}
        for result in (checked, *self._results.values()):
            for diagnostic in result.found_in(checked.document.source):
                diagnostics.setdefault(diagnostic.sort_key, (diagnostic, result))
        return sorted(diagnostics.values(), key=lambda pair: pair[0].sort_key)

    def shown(self, checked: Checked) -> list[tuple[Diagnostic, Checked]]:
        """What the editor shows: what was found, and what was before the text became one that cannot be read."""
        now = self.found(checked)
        known = {(diagnostic.code, diagnostic.location) for diagnostic, _ in now}
        kept = [
            (diagnostic, checked)
            for diagnostic in checked.kept()
            if (diagnostic.code, diagnostic.location) not in known
        ]
        # While somebody types, a text often does not parse: that is for others to say.
        is_told = checked.document.uri not in self._unsaved
        return [pair for pair in now if is_told or pair[0].code != UNREADABLE_FILE] + kept

    def _uri(self, path: Path) -> str:
        known = (uri for uri, document in self._documents.items() if document.source.path == path)
        return next(known, None) or path.as_uri()

    def _listed(self, checked: Checked) -> dict[OpenText, list[types.Diagnostic]]:
        messages, document = self.messages, checked.document
        listed: dict[OpenText, list[types.Diagnostic]] = {text: [] for text in document.texts}
        for diagnostic, result in self.shown(checked):
            listed[document.text_at(diagnostic.location)].append(
                messages.diagnostic(diagnostic, document.source, result)
            )
        return listed

    def _publish(self, checked: Checked) -> None:
        for text, diagnostics in self._listed(checked).items():
            if text.uri in self._pulled:
                self._newest[text.uri] = _digest(diagnostics)
                self._refresh_later()
            else:
                params = types.PublishDiagnosticsParams(text.uri, diagnostics, version=text.version)
                self.text_document_publish_diagnostics(params)

    def _publish_others(self, uri: str, before: Checked | None, after: Checked | None) -> None:
        """Publish again the open documents in which another one's check found something, or no longer does."""
        names = {
            diagnostic.filename
            for checked in (before, after)
            if checked is not None
            for diagnostic in checked.diagnostics
        }
        for other, document in list(self._documents.items()):
            known = self._results.get(other)
            if other != uri and document.source.name in names and known is not None and known.document is document:
                self._publish(known)

    def _log_errors(self, checked: Checked) -> None:
        for error in checked.errors:
            if error.detail not in self._errors:
                self._errors.add(error.detail)
                self._log(f"{error.filename}: {error.rule} failed; please report this:\n{error.detail}")

    def _log(self, text: str) -> None:
        with contextlib.suppress(BrokenPipeError):
            self.window_log_message(types.LogMessageParams(types.MessageType.Error, text))

    def report_server_error(self, error: Exception, source: type[PyglsError] | type[JsonRpcException]) -> None:
        """A message that could not be handled is logged; it is no reason to interrupt the user."""
        self._log(f"{NAME}: {error}")


def _digest(diagnostics: Iterable[types.Diagnostic]) -> str:
    return digest_of(repr(diagnostics).encode("utf-8", "surrogatepass"))
