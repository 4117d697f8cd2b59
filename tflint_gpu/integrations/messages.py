"""Findings as the Language Server Protocol has them: diagnostics, hovers and edits."""

from __future__ import annotations

import difflib
import functools
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

from lsprotocol import types
from pygls.workspace import PositionCodec

from tflint_gpu.checking.fixes import newline_of
from tflint_gpu.diagnostics import Diagnostic, Edit, Location, Related
from tflint_gpu.integrations.editor import Checked
from tflint_gpu.lazy_dataclasses import dataclass
from tflint_gpu.lazy_patterns import regex
from tflint_gpu.reports.documentation import as_markdown, page_of
from tflint_gpu.reports.formats.full import predicted
from tflint_gpu.rule import load
from tflint_gpu.text.source import SourceFile

NAME = "tflint-gpu"
_NEWLINE = regex(r"\r\n|\r|\n")
_SEVERITIES = {
    "error": types.DiagnosticSeverity.Error,
    "warning": types.DiagnosticSeverity.Warning,
    "advice": types.DiagnosticSeverity.Hint,
}


@dataclass(frozen=True, slots=True)
class Messages:
    """Writes the messages for the editor.

    Arguments:
        codec: counts characters as was agreed with the editor.
        related: whether the editor shows related places.
        tagged: whether the editor strikes out deprecated code and fades unnecessary code.
        uri: how the editor calls a file.
    """

    codec: PositionCodec
    related: bool
    tagged: bool
    uri: Callable[[Path], str]

    def diagnostic(self, diagnostic: Diagnostic, source: SourceFile, checked: Checked) -> types.Diagnostic:
        """A finding in `source`."""
        message = diagnostic.message + (f"\nhelp: {diagnostic.help}" if diagnostic.help else "")
        related = [self._related(location, checked) for location in diagnostic.related] if self.related else []
        page = page_of(diagnostic)
        return types.Diagnostic(
            range=self.range(source, diagnostic.location, diagnostic.end_location),
            message=message,
            severity=_SEVERITIES[diagnostic.severity],
            code=diagnostic.code,
            code_description=None if page is None else types.CodeDescription(href=page),
            source=NAME,
            tags=(_tags(diagnostic.code) or None) if self.tagged else None,
            related_information=[location for location in related if location is not None] or None,
        )

    def _related(self, related: Related, checked: Checked) -> types.DiagnosticRelatedInformation | None:
        own = checked.document.source
        source = own if related.filename == own.name else checked.others.get(related.filename)
        if source is None:
            return None
        place = self.range(source, related.location, related.end_location)
        text = checked.document.text_at(related.location)
        uri = text.uri if source is own else self.uri(source.path)
        return types.DiagnosticRelatedInformation(types.Location(uri, place), related.message)

    def range(self, source: SourceFile, start: Location, end: Location) -> types.Range:
        """Two places as the editor counts: rows from 0, columns in its own unit."""
        return types.Range(self._position(source, start), self._position(source, end))

    def _position(self, source: SourceFile, place: Location) -> types.Position:
        before = source.shown_line(place)[: place.column - 1]
        return types.Position(place.row - 1, self.codec.client_num_units(before))

    def edits(self, source: SourceFile, edits: Iterable[Edit]) -> list[types.TextEdit]:
        """Edits of one text, with the line endings of the file."""
        newline = newline_of(source.text)
        return [
            types.TextEdit(
                self.range(source, edit.location, edit.end_location), _NEWLINE.sub(lambda _: newline, edit.content)
            )
            for edit in edits
        ]


@functools.cache
def _tags(code: str) -> list[types.DiagnosticTag]:
    """What an editor makes visible of the code that a rule finds: an old name, or code that does nothing."""
    return [
        tag
        for rule in load([code])
        for tag, holds in (
            (types.DiagnosticTag.Unnecessary, rule.unnecessary),
            (types.DiagnosticTag.Deprecated, bool(rule.name_changes())),
        )
        if holds
    ]


def difference(before: SourceFile, after: SourceFile) -> Iterator[Edit]:
    """The edits, whole lines each, that make another text of the same pieces out of a source."""
    for (first, last), (new_first, new_last) in zip(before.spans, after.spans, strict=True):
        old, new = (
            before.text[first:last].splitlines(keepends=True),
            after.text[new_first:new_last].splitlines(keepends=True),
        )
        starts = [first]
        for line in old:
            starts.append(starts[-1] + len(line))
        matcher = difflib.SequenceMatcher(None, old, new, autojunk=False)
        for tag, top, bottom, new_top, new_bottom in matcher.get_opcodes():
            if tag != "equal":
                begin, end = starts[top], starts[bottom]
                yield Edit(begin, end, before.locate(begin), before.locate(end), "".join(new[new_top:new_bottom]))


def documented(diagnostics: Iterable[Diagnostic]) -> str:
    """What a hover over findings shows, as Markdown: what is predicted and measured, and the rule's documentation.

    Editors show the message beside it.
    """
    return "\n\n---\n\n".join(_section(diagnostic) for diagnostic in diagnostics)


def _section(diagnostic: Diagnostic) -> str:
    lines = [f"**{diagnostic.code} {diagnostic.name}**"]
    if diagnostic.prediction is not None:
        lines.append(f"Predicted: {predicted(diagnostic.prediction)}")
    if diagnostic.measured:
        lines.append(f"Measured here: {diagnostic.measured}")
    lines += [as_markdown(rule.documentation()) for rule in load([diagnostic.code])]
    return "\n\n".join(lines)


def touches(first: types.Range, other: types.Range) -> bool:
    """Whether two ranges overlap or meet; a cursor is an empty range."""
    return _key(first.start) <= _key(other.end) and _key(other.start) <= _key(first.end)


def _key(position: types.Position) -> tuple[int, int]:
    return position.line, position.character
