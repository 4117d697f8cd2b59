"""What an editor offers at a finding: its fix, a comment that suppresses it, and all safe fixes at once."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from lsprotocol import types

from tflint_gpu.checking.fixes import wanted
from tflint_gpu.diagnostics import Diagnostic
from tflint_gpu.integrations.editor import Checked, Document
from tflint_gpu.integrations.messages import NAME, Messages, touches
from tflint_gpu.rule import UNREADABLE_FILE, UNUSED_SUPPRESSION
from tflint_gpu.text.scripts import readable
from tflint_gpu.text.source import SourceFile
from tflint_gpu.text.suppressions import suppression

FIX_ALL = "source.fixAll.tflintGpu"
KINDS = (types.CodeActionKind.QuickFix.value, FIX_ALL)


@dataclass(frozen=True, slots=True)
class CodeActions:
    """Makes the actions for one document.

    Arguments:
        document: which it is.
        found: what was found in it, each with the check that found it.
        messages: writes ranges and edits.
        versioned: whether the editor takes edits that name the version they are for.
    """

    document: Document
    found: Sequence[tuple[Diagnostic, Checked]]
    messages: Messages
    versioned: bool

    def at(self, place: types.Range, only: Sequence[str] | None) -> list[types.CodeAction]:
        """The actions for a range.

        Arguments:
            place: where the editor asks.
            only: the kinds it wants; all if None.
        """
        actions: list[types.CodeAction] = []
        if is_asked_for(types.CodeActionKind.QuickFix.value, only):
            seen = [(one, self.messages.diagnostic(one, self._source, checked)) for one, checked in self.found]
            here = [(one, shown) for one, shown in seen if touches(shown.range, place)]
            actions += [action for one, shown in here for action in self._fix(one, shown)]
            actions += [action for one, shown in here for action in self._silence(one, shown)]
        if is_asked_for(FIX_ALL, only) and any(wanted(one, unsafe=False) for one, _ in self.found):
            title = f"{NAME}: Fix all that can be fixed safely"
            actions.append(types.CodeAction(title, kind=FIX_ALL, data={"uri": self.document.uri}))
        return actions

    def replacing(self, text: str) -> types.WorkspaceEdit:
        """The edit that turns the document into another text."""
        return self._workspace_edit(self.messages.difference(self._source, text))

    @property
    def _source(self) -> SourceFile:
        return self.document.source

    def _fix(self, diagnostic: Diagnostic, shown: types.Diagnostic) -> Iterator[types.CodeAction]:
        fix = diagnostic.fix
        if fix is None or not fix.edits:
            return
        safe = fix.applicability == "safe"
        yield types.CodeAction(
            f"{NAME} ({diagnostic.code}): {fix.message}"
            + ("" if safe else " (unsafe: may change what the program does)"),
            kind=types.CodeActionKind.QuickFix,
            diagnostics=[shown],
            is_preferred=safe or None,
            edit=self._workspace_edit(self.messages.edits(self._source, fix.edits)),
        )

    def _silence(self, diagnostic: Diagnostic, shown: types.Diagnostic) -> Iterator[types.CodeAction]:
        if diagnostic.code in (UNREADABLE_FILE, UNUSED_SUPPRESSION):
            return
        edit = suppression(readable(self._source), diagnostic)
        if edit is not None:
            yield types.CodeAction(
                f"{NAME} ({diagnostic.code}): Suppress here (# noqa: {diagnostic.code})",
                kind=types.CodeActionKind.QuickFix,
                diagnostics=[shown],
                edit=self._workspace_edit(self.messages.edits(self._source, [edit])),
            )

    def _workspace_edit(self, edits: Iterable[types.TextEdit]) -> types.WorkspaceEdit:
        document = self.document
        if not self.versioned:
            return types.WorkspaceEdit(changes={document.uri: list(edits)})
        identifier = types.OptionalVersionedTextDocumentIdentifier(uri=document.uri, version=document.version)
        return types.WorkspaceEdit(document_changes=[types.TextDocumentEdit(identifier, list(edits))])


def is_asked_for(kind: str, only: Sequence[str] | None) -> bool:
    """Whether a kind of action is one of those wanted, or below one of them."""
    return only is None or any(kind == wish or kind.startswith(f"{wish}.") or not wish for wish in only)
