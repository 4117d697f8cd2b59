"""The language server: the requests and notifications it answers, and its life as a process."""

from __future__ import annotations

import gc
import os
import signal
import sys
from collections.abc import Mapping
from typing import Any

from lsprotocol import types
from pygls.capabilities import get_capability

from tflint_gpu.integrations.code_actions import FIX_ALL, FIX_NOTEBOOK, KINDS
from tflint_gpu.integrations.messages import documented, touches
from tflint_gpu.integrations.session import SECTION, Session
from tflint_gpu.narrowing.measurements import Measurement

_WATCHED = (
    "**/*.py", "**/*.ipynb", "**/pyproject.toml", "**/tflint-gpu.toml", "**/setup.cfg", "**/setup.py",
    "**/requirements*.txt", "**/uv.lock", "**/poetry.lock", "**/Pipfile.lock",
)  # fmt: skip
_CAN_ANSWER_SETTINGS = "workspace.configuration"
_CAN_REGISTER = "workspace.did_change_watched_files.dynamic_registration"
_CAN_REGISTER_SETTINGS = "workspace.did_change_configuration.dynamic_registration"
_CAN_RESOLVE = "text_document.code_action.resolve_support"
_HOVER_FORMATS = "text_document.hover.content_format"


def serve(measured: Mapping[str, Measurement]) -> int:
    """Serve the editor on standard input and output until it says so or is gone.

    Arguments:
        measured: what an earlier `verify` measured, by the keys of findings; hovers show it.

    Returns:
        The exit code: 1 if the editor left without the protocol's farewell, else 0.
    """
    gc.disable()  # the session collects garbage in pauses,
    gc.freeze()  # and what has been imported is none
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, signal.SIG_DFL)  # else they would wait for the next input
    stdin, stdout = os.fdopen(os.dup(0), "rb"), os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # whatever else prints must not get between the messages
    session = make_session(measured)
    session.start_io(stdin, stdout)
    code = 1 if session.was_ended and not session.was_shut_down else 0
    if session.is_checking:  # the thread may be deep in the parser, and would not survive the interpreter
        sys.stderr.flush()
        os._exit(code)
    return code


def make_session(measured: Mapping[str, Measurement]) -> Session:
    """A session that answers."""
    session = Session(measured)
    for method, handler in _HANDLERS.items():
        session.feature(method, _OPTIONS.get(method))(handler)
    return session


def _initialize(ls: Session, params: types.InitializeParams) -> None:
    ls.settle_in(params.initialization_options)


async def _initialized(ls: Session, _: types.InitializedParams) -> None:
    await ls.configure({})
    capabilities = ls.client_capabilities
    registered: dict[str, Any] = {}
    if get_capability(capabilities, _CAN_REGISTER):
        watchers = [types.FileSystemWatcher(glob_pattern=pattern) for pattern in _WATCHED]
        options = types.DidChangeWatchedFilesRegistrationOptions(watchers=watchers)
        registered[types.WORKSPACE_DID_CHANGE_WATCHED_FILES] = options
    if get_capability(capabilities, _CAN_REGISTER_SETTINGS):
        section = types.DidChangeConfigurationRegistrationOptions(section=SECTION)
        registered[types.WORKSPACE_DID_CHANGE_CONFIGURATION] = section
    if registered:
        listed = [
            types.Registration(id=method, method=method, register_options=registered[method]) for method in registered
        ]
        ls.client_register_capability(types.RegistrationParams(listed))
    if get_capability(capabilities, _CAN_ANSWER_SETTINGS):
        await ls.fetch_settings()


def _did_open(ls: Session, params: types.DidOpenTextDocumentParams) -> None:
    ls.put(params.text_document.uri, unsaved=False)


def _did_change(ls: Session, params: types.DidChangeTextDocumentParams) -> None:
    ls.put(params.text_document.uri, unsaved=True)


def _did_save(ls: Session, params: types.DidSaveTextDocumentParams) -> None:
    ls.note_saved(params.text_document.uri)


def _did_close(ls: Session, params: types.DidCloseTextDocumentParams) -> None:
    ls.remove(params.text_document.uri)


def _did_open_notebook(ls: Session, params: types.DidOpenNotebookDocumentParams) -> None:
    ls.put(params.notebook_document.uri, unsaved=False)


def _did_change_notebook(ls: Session, params: types.DidChangeNotebookDocumentParams) -> None:
    ls.put(params.notebook_document.uri, unsaved=True)


def _did_save_notebook(ls: Session, params: types.DidSaveNotebookDocumentParams) -> None:
    ls.note_saved(params.notebook_document.uri)


def _did_close_notebook(ls: Session, params: types.DidCloseNotebookDocumentParams) -> None:
    ls.remove(params.notebook_document.uri)


def _did_change_watched_files(ls: Session, params: types.DidChangeWatchedFilesParams) -> None:
    ls.note_changes(params.changes)


async def _did_change_configuration(ls: Session, params: types.DidChangeConfigurationParams) -> None:
    """Some editors send the settings, others only say that there are new ones."""
    settings: Any = params.settings
    table = settings.get(SECTION) if isinstance(settings, dict) else None
    if not isinstance(table, dict) and get_capability(ls.client_capabilities, _CAN_ANSWER_SETTINGS):
        await ls.fetch_settings()
    else:
        await ls.configure(table if isinstance(table, dict) else {})


async def _hover(ls: Session, params: types.HoverParams) -> types.Hover | None:
    checked = await ls.checked(params.text_document.uri)
    if checked is None:
        return None
    cursor = types.Range(params.position, params.position)
    places = [
        (diagnostic, ls.messages.range(checked.document.source, diagnostic.location, diagnostic.end_location))
        for diagnostic, _ in ls.shown(checked)
        if checked.document.text_at(diagnostic.location).uri == params.text_document.uri
    ]
    here = [(diagnostic, place) for diagnostic, place in places if touches(place, cursor)]
    typed = [
        (shown, place)
        for shown in await ls.known_types(checked)
        if checked.document.text_at(shown.location).uri == params.text_document.uri
        if touches(place := ls.messages.range(checked.document.source, shown.location, shown.end_location), cursor)
    ]
    if not here and not typed:
        return None
    formats = get_capability(ls.client_capabilities, _HOVER_FORMATS)
    plain = formats and types.MarkupKind.Markdown not in formats
    kind = types.MarkupKind.PlainText if plain else types.MarkupKind.Markdown
    sections = [f"`{shown.name}`: {shown.text}" for shown, _ in typed[-1:]]
    if here:
        sections.append(documented([diagnostic for diagnostic, _ in here]))
    place = here[0][1] if here else typed[-1][1]
    return types.Hover(types.MarkupContent(kind, "\n\n---\n\n".join(sections)), place)


async def _diagnostic(ls: Session, params: types.DocumentDiagnosticParams) -> types.DocumentDiagnosticReport:
    return await ls.pulled(params.text_document.uri, params.previous_result_id)


async def _code_action(ls: Session, params: types.CodeActionParams) -> list[types.CodeAction]:
    checked = await ls.checked(params.text_document.uri)
    if checked is None:
        return []
    if not checked.has_all_fixes and ls.actions(checked).is_wanted_at(
        params.text_document.uri, params.range, params.context.only
    ):
        checked = await ls.checked(params.text_document.uri, all_fixes=True)
        if checked is None:
            return []
    actions = ls.actions(checked).at(params.text_document.uri, params.range, params.context.only)
    resolvable = get_capability(ls.client_capabilities, _CAN_RESOLVE)
    if resolvable is None or "edit" not in resolvable.properties:
        actions = [action if action.edit is not None else await _resolve(ls, action) for action in actions]
        actions = [action for action in actions if action.edit is not None]
    return actions


async def _resolve(ls: Session, action: types.CodeAction) -> types.CodeAction:
    """Only now what all fixes make of a text is computed: it takes several checks."""
    if action.kind in (FIX_ALL, FIX_NOTEBOOK) and isinstance(action.data, dict):
        action.edit = await ls.fix_all_edit(str(action.data.get("uri")))
    return action


def _shutdown(ls: Session, *_: object) -> None:
    ls.was_shut_down = True


def _exit(ls: Session, *_: object) -> None:
    ls.was_ended = True


_HANDLERS: dict[str, Any] = {
    types.INITIALIZE: _initialize,
    types.INITIALIZED: _initialized,
    types.TEXT_DOCUMENT_DID_OPEN: _did_open,
    types.TEXT_DOCUMENT_DID_CHANGE: _did_change,
    types.TEXT_DOCUMENT_DID_SAVE: _did_save,
    types.TEXT_DOCUMENT_DID_CLOSE: _did_close,
    types.NOTEBOOK_DOCUMENT_DID_OPEN: _did_open_notebook,
    types.NOTEBOOK_DOCUMENT_DID_CHANGE: _did_change_notebook,
    types.NOTEBOOK_DOCUMENT_DID_SAVE: _did_save_notebook,
    types.NOTEBOOK_DOCUMENT_DID_CLOSE: _did_close_notebook,
    types.WORKSPACE_DID_CHANGE_WATCHED_FILES: _did_change_watched_files,
    types.WORKSPACE_DID_CHANGE_CONFIGURATION: _did_change_configuration,
    types.TEXT_DOCUMENT_DIAGNOSTIC: _diagnostic,
    types.TEXT_DOCUMENT_HOVER: _hover,
    types.TEXT_DOCUMENT_CODE_ACTION: _code_action,
    types.CODE_ACTION_RESOLVE: _resolve,
    types.SHUTDOWN: _shutdown,
    types.EXIT: _exit,
}
_OPTIONS: dict[str, Any] = {
    types.TEXT_DOCUMENT_DIAGNOSTIC: types.DiagnosticOptions(inter_file_dependencies=True, workspace_diagnostics=False),
    types.TEXT_DOCUMENT_CODE_ACTION: types.CodeActionOptions(code_action_kinds=list(KINDS), resolve_provider=True),
}
