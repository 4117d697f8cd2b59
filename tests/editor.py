"""A small editor for tests: it starts the real `tflint-gpu server` and speaks with it as editors do."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from itertools import zip_longest
from pathlib import Path
from typing import Any

from lsprotocol import types
from pygls.protocol import default_converter
from pytest_lsp import LanguageClient
from pytest_lsp.client import DEFAULT_CLIENT_FEATURES, register_lsp_features

COMMAND = (sys.executable, "-m", "tflint_gpu", "server")
PATIENCE = 300


class Editor:
    """One editor with one server.

    Arguments:
        root: the workspace folder, and where the server is started.
    """

    def __init__(self, root: Path) -> None:
        self.root = root
        self.client = LanguageClient(converter_factory=default_converter)
        self.published: list[types.PublishDiagnosticsParams] = []
        self.registered: list[types.Registration] = []
        self.versions: dict[str, int] = {}
        self.refreshes: list[None] = []
        features: dict[str, Any] = {
            **DEFAULT_CLIENT_FEATURES,
            types.TEXT_DOCUMENT_PUBLISH_DIAGNOSTICS: lambda params: self.published.append(params),
            types.CLIENT_REGISTER_CAPABILITY: lambda params: self.registered.extend(params.registrations),
            types.WORKSPACE_DIAGNOSTIC_REFRESH: lambda params: self.refreshes.append(params),
        }
        register_lsp_features(self.client, features)

    async def start(
        self,
        capabilities: types.ClientCapabilities | None = None,
        options: Any = None,
        configuration: dict[str, Any] | None = None,
        folder: bool = True,
        command: Sequence[str] = COMMAND,
    ) -> types.InitializeResult:
        """Start the server and greet it."""
        if configuration is not None:
            self.client.set_configuration(configuration)
        await self.client.start_io(*command, cwd=self.root)
        folders = [types.WorkspaceFolder(self.root.as_uri(), "work")] if folder else None
        return await self.client.initialize_session(
            types.InitializeParams(
                capabilities=capabilities or types.ClientCapabilities(),
                initialization_options=options,
                workspace_folders=folders,
                root_uri=self.root.as_uri() if folder else None,
            )
        )

    async def leave(self) -> int | None:
        """Say farewell; the server's exit code."""
        await self.client.shutdown_session()
        server = self.client._server
        await self.client.stop()
        return server.returncode if server is not None else None

    def uri(self, name: str) -> str:
        """A file's name as a URI; what is a URI already stays."""
        return name if ":" in name else (self.root / name).as_uri()

    async def open(self, name: str, text: str, language: str = "python", wait: bool = True) -> list[types.Diagnostic]:
        """Open a document with a text (which the disk need not have), and wait for what is found."""
        uri = self.uri(name)
        version = self.versions[uri] = self.versions.get(uri, 0) + 1
        item = types.TextDocumentItem(uri, language, version, text)
        self.client.text_document_did_open(types.DidOpenTextDocumentParams(item))
        return await self.found(name, version) if wait else []

    async def change(self, name: str, text: str, wait: bool = True) -> list[types.Diagnostic]:
        """Give a document another text, and wait for what is found in it."""
        uri = self.uri(name)
        version = self.versions[uri] = self.versions[uri] + 1
        event = types.TextDocumentContentChangeWholeDocument(text)
        document = types.VersionedTextDocumentIdentifier(version, uri)
        self.client.text_document_did_change(types.DidChangeTextDocumentParams(document, [event]))
        return await self.found(name, version) if wait else []

    async def replace(self, name: str, text: str, start: tuple[int, int], end: tuple[int, int]) -> None:
        """Send a document's new text for a range of rows and characters (from 0), as most editors do; do not wait."""
        uri = self.uri(name)
        version = self.versions[uri] = self.versions[uri] + 1
        event = types.TextDocumentContentChangePartial(types.Range(types.Position(*start), types.Position(*end)), text)
        document = types.VersionedTextDocumentIdentifier(version, uri)
        self.client.text_document_did_change(types.DidChangeTextDocumentParams(document, [event]))

    async def save(self, name: str) -> list[types.Diagnostic]:
        """Say that a document was saved, and wait for what is published next."""
        return await self.after(
            name,
            lambda: self.client.text_document_did_save(
                types.DidSaveTextDocumentParams(types.TextDocumentIdentifier(self.uri(name)))
            ),
        )

    async def close(self, name: str) -> list[types.Diagnostic]:
        """Close a document, and wait for what is published next."""
        return await self.after(
            name,
            lambda: self.client.text_document_did_close(
                types.DidCloseTextDocumentParams(types.TextDocumentIdentifier(self.uri(name)))
            ),
        )

    def notice(self, name: str, kind: types.FileChangeType = types.FileChangeType.Changed) -> None:
        """Say that a file on the disk came, changed or went."""
        event = types.FileEvent(self.uri(name), kind)
        self.client.workspace_did_change_watched_files(types.DidChangeWatchedFilesParams([event]))

    async def after(self, name: str, action: Callable[[], None]) -> list[types.Diagnostic]:
        """What is published for a document after an action."""
        before = len(self._of(name))
        action()
        await self.until(lambda: len(self._of(name)) > before)
        return list(self._of(name)[-1].diagnostics)

    async def found(self, name: str, version: int) -> list[types.Diagnostic]:
        """What is published for a version of a document."""
        await self.until(lambda: any(one.version == version for one in self._of(name)))
        return next(list(one.diagnostics) for one in reversed(self._of(name)) if one.version == version)

    def shown(self, name: str) -> list[types.Diagnostic]:
        """What is shown for a document now."""
        return list(self._of(name)[-1].diagnostics)

    async def pull(self, name: str, known: str | None = None) -> types.DocumentDiagnosticReport:
        """What is found in a text that the editor asks for."""
        document = types.TextDocumentIdentifier(self.uri(name))
        params = types.DocumentDiagnosticParams(document, previous_result_id=known)
        return await self.client.text_document_diagnostic_async(params)

    async def hover(self, name: str, line: int, character: int) -> types.Hover | None:
        """What a hover over a place shows."""
        document = types.TextDocumentIdentifier(self.uri(name))
        return await self.client.text_document_hover_async(types.HoverParams(document, types.Position(line, character)))

    async def open_notebook(self, name: str, cells: Sequence[str], languages: Sequence[str] = ()) -> list[str]:
        """Open a notebook with the texts of its cells; their names, as VS Code has them."""
        names = [f"vscode-notebook-cell:{self.root}/{name}#W{number}s" for number in range(len(cells))]
        listed = [
            types.TextDocumentItem(cell, language, 1, text)
            for cell, text, language in zip_longest(names, cells, languages, fillvalue="python")
        ]
        kinds = (
            types.NotebookCellKind.Markup if one.language_id == "markdown" else types.NotebookCellKind.Code
            for one in listed
        )
        parts = [types.NotebookCell(kind, cell) for cell, kind in zip(names, kinds, strict=True)]
        notebook = types.NotebookDocument(self.uri(name), "jupyter-notebook", 1, parts)
        self.client.notebook_document_did_open(types.DidOpenNotebookDocumentParams(notebook, listed))
        self.versions.update(dict.fromkeys(names, 1))
        return names

    def change_cells(self, name: str, change: types.NotebookDocumentCellChanges) -> None:
        """Change a notebook's cells."""
        document = types.VersionedNotebookDocumentIdentifier(2, self.uri(name))
        params = types.DidChangeNotebookDocumentParams(document, types.NotebookDocumentChangeEvent(cells=change))
        self.client.notebook_document_did_change(params)

    async def change_cell(self, name: str, cell: str, text: str) -> list[types.Diagnostic]:
        """Give a cell another text, and wait for what is found in it."""
        version = self.versions[cell] = self.versions[cell] + 1
        document = types.VersionedTextDocumentIdentifier(version, cell)
        event = types.TextDocumentContentChangeWholeDocument(text)
        content = [types.NotebookDocumentCellContentChanges(document, [event])]
        self.change_cells(name, types.NotebookDocumentCellChanges(text_content=content))
        return await self.found(cell, version)

    async def actions(self, name: str, line: int, only: list[str] | None = None) -> list[types.CodeAction]:
        """What is offered on a line."""
        place = types.Range(types.Position(line, 0), types.Position(line + 1, 0))
        params = types.CodeActionParams(
            types.TextDocumentIdentifier(self.uri(name)), place, types.CodeActionContext([], only)
        )
        actions = await self.client.text_document_code_action_async(params)
        return [action for action in actions or () if isinstance(action, types.CodeAction)]

    async def until(self, condition: Callable[[], bool]) -> None:
        """Wait for something, but not for ever."""

        async def wait() -> None:
            while not condition():
                await asyncio.sleep(0.01)

        await asyncio.wait_for(wait(), PATIENCE)

    def _of(self, name: str) -> list[types.PublishDiagnosticsParams]:
        return [one for one in self.published if one.uri == self.uri(name)]


def changed(edit: types.WorkspaceEdit | None) -> dict[str, list[str]]:
    """The new texts in an edit, by the names of what they are in."""
    assert edit is not None and edit.changes is not None
    return {uri: [one.new_text for one in edits] for uri, edits in edit.changes.items()}


def edited(text: str, edit: types.WorkspaceEdit | None) -> str:
    """A text after an edit of its document, made as an editor makes it that counts in UTF-16."""
    assert edit is not None
    if edit.document_changes is not None:
        edits = [one for change in edit.document_changes for one in change.edits]  # type: ignore[union-attr]
    else:
        edits = [one for listed in (edit.changes or {}).values() for one in listed]
    data = text.encode("utf-16-le")
    for one in sorted(edits, key=lambda e: (e.range.start.line, e.range.start.character), reverse=True):
        start, end = _offset(data, one.range.start), _offset(data, one.range.end)
        data = data[:start] + one.new_text.encode("utf-16-le") + data[end:]  # type: ignore[union-attr]
    return data.decode("utf-16-le")


def _offset(data: bytes, position: types.Position) -> int:
    newline = "\n".encode("utf-16-le")
    lines = data.split(newline)
    return sum(len(line) + len(newline) for line in lines[: position.line]) + 2 * position.character


def codes(diagnostics: list[types.Diagnostic]) -> list[tuple[str, int]]:
    """Code and row (from 1) of diagnostics; advice about memory growth is left out."""
    return [(str(one.code), one.range.start.line + 1) for one in diagnostics if one.code != "TFG401"]


@asynccontextmanager
async def editor_that_ends_well(root: Path) -> AsyncIterator[Editor]:
    """An editor whose server must end well and have had nothing to complain of."""
    editor = Editor(root)
    yield editor
    assert await editor.leave() == 0
    assert editor.client.error is None
    assert [message.message for message in editor.client.log_messages] == []
