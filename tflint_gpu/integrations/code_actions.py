"""What an editor offers at a finding: its fix, a comment that suppresses it, and all safe fixes at once."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from lsprotocol import types

from tflint_gpu.checking.fixes import wanted
from tflint_gpu.diagnostics import Diagnostic, Edit
from tflint_gpu.integrations.editor import Checked, Document, OpenText
from tflint_gpu.integrations.messages import NAME, Messages, difference, touches
from tflint_gpu.lazy_dataclasses import dataclass
from tflint_gpu.rule import UNREADABLE_FILE, UNUSED_SUPPRESSION
from tflint_gpu.text.scripts import readable
from tflint_gpu.text.source import SourceFile
from tflint_gpu.text.suppressions import suppression

FIX_ALL = "source.fixAll.tflintGpu"
FIX_NOTEBOOK = f"notebook.{FIX_ALL}"
"""What VS Code asks for when it saves a notebook."""
KINDS = (types.CodeActionKind.QuickFix.value, FIX_ALL, FIX_NOTEBOOK)


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
    diagnostics: Sequence[tuple[Diagnostic, Checked]]
    messages: Messages
    versioned: bool

    def at(self, uri: str, place: types.Range, only: Sequence[str] | None) -> list[types.CodeAction]:
        """The actions for a range.

        Arguments:
            uri: of the text that it lies in.
            place: where the editor asks.
            only: the kinds it wants; all if None.
        """
        here = self._at(uri, place, only)
        actions = [action for diagnostic, shown in here for action in self._fix(diagnostic, shown)]
        actions += [action for diagnostic, shown in here for action in self._silence(diagnostic, shown)]
        if any(wanted(diagnostic, unsafe=False) for diagnostic, _ in self.diagnostics):
            title = f"{NAME}: Fix all that can be fixed safely"
            kinds = [kind for kind in (FIX_ALL, FIX_NOTEBOOK) if is_asked_for(kind, only)][:1]
            actions += [types.CodeAction(title, kind=kind, data={"uri": self.document.uri}) for kind in kinds]
        return actions

    def is_wanted_at(self, uri: str, place: types.Range, only: Sequence[str] | None) -> bool:
        """Whether a range has a finding for which the editor wants a fix, and none was made."""
        here = [diagnostic.fix for diagnostic, _ in self._at(uri, place, only)]
        return any(fix is None or fix.is_untried for fix in here)

    def _at(
        self, uri: str, place: types.Range, only: Sequence[str] | None
    ) -> list[tuple[Diagnostic, types.Diagnostic]]:
        """What was found in a range, and as it is shown; nothing where the editor wants no fix of single findings."""
        if not is_asked_for(types.CodeActionKind.QuickFix.value, only):
            return []
        inside = [pair for pair in self.diagnostics if self.document.text_at(pair[0].location).uri == uri]
        seen = [
            (diagnostic, self.messages.diagnostic(diagnostic, self._source, checked)) for diagnostic, checked in inside
        ]
        return [(diagnostic, shown) for diagnostic, shown in seen if touches(shown.range, place)]

    def replacing(self, source: SourceFile) -> types.WorkspaceEdit:
        """The edit that makes the document what it is in another state."""
        return self._workspace_edit(difference(self._source, source))

    @property
    def _source(self) -> SourceFile:
        return self.document.source

    def _fix(self, diagnostic: Diagnostic, shown: types.Diagnostic) -> Iterator[types.CodeAction]:
        fix = diagnostic.fix
        if fix is None or fix.is_untried:
            return
        safe = fix.applicability == "safe"
        yield types.CodeAction(
            f"{NAME} ({diagnostic.code}): {fix.message}"
            + ("" if safe else " (unsafe: may change what the program does)"),
            kind=types.CodeActionKind.QuickFix,
            diagnostics=[shown],
            is_preferred=safe or None,
            edit=self._workspace_edit(fix.edits),
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
                edit=self._workspace_edit([edit]),
            )

    def _workspace_edit(self, edits: Iterable[Edit]) -> types.WorkspaceEdit:
        by_text: dict[OpenText, list[Edit]] = {}
        for edit in edits:
            by_text.setdefault(self.document.text_at(edit.location), []).append(edit)
        changes = [(text, self.messages.edits(self._source, listed)) for text, listed in by_text.items()]
        if not self.versioned:
            return types.WorkspaceEdit(changes={text.uri: written for text, written in changes})
        return types.WorkspaceEdit(
            document_changes=[
                types.TextDocumentEdit(
                    types.OptionalVersionedTextDocumentIdentifier(uri=text.uri, version=text.version), [*written]
                )
                for text, written in changes
            ]
        )


def is_asked_for(kind: str, only: Sequence[str] | None) -> bool:
    """Whether a kind of action is one of those wanted, or below one of them."""
    return only is None or any(kind == wish or kind.startswith(f"{wish}.") or not wish for wish in only)
