"""What an editor offers at a finding: its fix, a comment that silences it, and all safe fixes at once."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from lsprotocol import types

from tflint_gpu.diagnostics import Diagnostic
from tflint_gpu.fixes import wanted
from tflint_gpu.integrations.editor import Checked
from tflint_gpu.integrations.messages import NAME, Messages, touches
from tflint_gpu.rule import UNREADABLE_FILE
from tflint_gpu.source import SourceFile
from tflint_gpu.suppressions import suppression

FIX_ALL = "source.fixAll.tflintGpu"
KINDS = (types.CodeActionKind.QuickFix.value, FIX_ALL)


@dataclass(frozen=True, slots=True)
class CodeActions:
    """Makes the actions for one document.

    Arguments:
        checked: the document and what was found in it.
        messages: writes ranges and edits.
        versioned: whether the editor takes edits that name the version they are for.
    """

    checked: Checked
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
            here = [(one, seen) for one in self.checked.own if touches((seen := self._seen(one)).range, place)]
            actions += [action for one, seen in here for action in self._fix(one, seen)]
            actions += [action for one, seen in here for action in self._silence(one, seen)]
        if is_asked_for(FIX_ALL, only) and any(wanted(one, unsafe=False) for one in self.checked.own):
            actions.append(
                types.CodeAction(
                    f"{NAME}: fix all that can be fixed safely", kind=FIX_ALL, data={"uri": self.checked.document.uri}
                )
            )
        return actions

    def replacing(self, text: str) -> types.WorkspaceEdit:
        """The edit that turns the document into another text."""
        return self._workspace_edit(self.messages.difference(self._source, text))

    @property
    def _source(self) -> SourceFile:
        return self.checked.document.source

    def _seen(self, diagnostic: Diagnostic) -> types.Diagnostic:
        return self.messages.diagnostic(diagnostic, self._source, self.checked)

    def _fix(self, diagnostic: Diagnostic, seen: types.Diagnostic) -> Iterator[types.CodeAction]:
        fix = diagnostic.fix
        if fix is None or not fix.edits:
            return
        safe = fix.applicability == "safe"
        yield types.CodeAction(
            f"{NAME} ({diagnostic.code}): {fix.message}" + ("" if safe else " (unsafe: may change what the program does)"),
            kind=types.CodeActionKind.QuickFix,
            diagnostics=[seen],
            is_preferred=safe or None,
            edit=self._workspace_edit(self.messages.edits(self._source, fix.edits)),
        )

    def _silence(self, diagnostic: Diagnostic, seen: types.Diagnostic) -> Iterator[types.CodeAction]:
        if diagnostic.code == UNREADABLE_FILE:
            return
        edit = suppression(self._source, diagnostic)
        if edit is not None:
            yield types.CodeAction(
                f"{NAME} ({diagnostic.code}): Suppress here (# noqa: {diagnostic.code})",
                kind=types.CodeActionKind.QuickFix,
                diagnostics=[seen],
                edit=self._workspace_edit(self.messages.edits(self._source, [edit])),
            )

    def _workspace_edit(self, edits: Iterable[types.TextEdit]) -> types.WorkspaceEdit:
        document = self.checked.document
        if not self.versioned:
            return types.WorkspaceEdit(changes={document.uri: list(edits)})
        identifier = types.OptionalVersionedTextDocumentIdentifier(uri=document.uri, version=document.version)
        return types.WorkspaceEdit(document_changes=[types.TextDocumentEdit(identifier, list(edits))])


def is_asked_for(kind: str, only: Sequence[str] | None) -> bool:
    """Whether a kind of action is one of those wanted, or below one of them."""
    return only is None or any(kind == wish or kind.startswith(f"{wish}.") or not wish for wish in only)
