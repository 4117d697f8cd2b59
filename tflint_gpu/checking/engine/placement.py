"""Fixes and notes with offsets in a file's text, where rules speak of nodes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, TypeAlias

from tflint_gpu.diagnostics import Edit, Fix, Related
from tflint_gpu.text.lexical import comments
from tflint_gpu.text.source import SourceFile

if TYPE_CHECKING:
    from tflint_gpu.model.python.project.file import File
    from tflint_gpu.rule import finding

Place: TypeAlias = "Callable[[finding.Fix, File], Fix | None]"
UNPLACED = "no fix: it would change several notebook cells at once, or part of an f-string"


def placed(fix: finding.Fix, file: File) -> Fix | None:
    """A fix with offsets instead of nodes; None if it spans cells of a notebook, or cannot stand in an f-string."""
    source = file.source
    texts = [file.fitted(edit.node, edit.text) for edit in fix.edits]
    edits = [
        placed_edit(source, edit.span_in(file), text, edit.where)
        for edit, text in zip(fix.edits, texts, strict=True)
        if text is not None
    ]
    if len(edits) < len(texts):
        return None
    edits = _with_lost_comments(fix, edits, file)
    if edits and not source.is_writable(min(edit.start for edit in edits), max(edit.end for edit in edits)):
        return None
    return Fix(fix.message, fix.applicability, merged(source, edits), fix.defines)


def placing_once() -> Place:
    """`placed` for findings one after another that may share a fix, which then has an edit for each of them."""
    last: tuple[finding.Fix, Fix | None] | None = None

    def place(fix: finding.Fix, file: File) -> Fix | None:
        nonlocal last
        if last is None or last[0] is not fix:
            last = fix, placed(fix, file)
        return last[1]

    return place


def merged(source: SourceFile, edits: Iterable[Edit]) -> tuple[Edit, ...]:
    """Edits by their places, each once, with one for two that take out the same gap between two statements."""
    result: list[Edit] = []
    for edit in sorted(dict.fromkeys(edits), key=lambda edit: (edit.start, edit.end)):
        if result and not edit.content and not result[-1].content and edit.start < result[-1].end:
            last = max(result[-1].end, edit.end) - 1
            result[-1] = placed_edit(source, (result[-1].start, last), "", "lines")
        else:
            result.append(edit)
    return tuple(result)


def _with_lost_comments(fix: finding.Fix, edits: list[Edit], file: File) -> list[Edit]:
    """Edits that also write, above the statement, the comments in what they replace and in nothing that they write."""
    source = file.source
    written = Counter(comment for edit in edits for comment in comments(edit.content))
    lost: dict[int, str] = {}
    for changed, edit in zip(fix.edits, edits, strict=True):
        for comment in comments(source.text[edit.start : edit.end]):
            if written[comment]:
                written[comment] -= 1
                continue
            statement = file.tree.statement(changed.node)
            start = source.line_starts[source.row(file.span(statement)[0]) - 1]
            lost[start] = f"{lost.get(start, '')}{file.indentation(statement)}{comment}\n"
    return [*edits, *(placed_edit(source, (start, start), text, "before") for start, text in lost.items())]


def noted(note: finding.Note, name: Callable[[SourceFile], str]) -> Related:
    """A note with a place instead of a node.

    Arguments:
        name: how reports call a file.
    """
    source = note.file.source
    start, end = map(source.locate, note.file.span(note.node))
    return Related(name(source), start, end, note.message)


def placed_edit(source: SourceFile, span: tuple[int, int], text: str, where: str) -> Edit:
    """An edit with offsets: a text for a stretch, `before` or `after` it, `below` or `above` its lines, or for them."""
    start, end = span
    if where == "below":
        start = end = source.end_of_line(end)
        if source.text[start - 1] not in "\r\n":  # the last line, without an end
            text = "\n" + text.rstrip("\n")
    elif where == "above":
        start = end = source.above(start)
    elif where == "lines":
        start, end = source.whole_lines(start, end) if text else source.lines_and_gap(start, end)
    elif where == "commented lines":
        start, end = source.commented_lines(start, end)
    elif where == "after":
        start = end
    elif where == "before":
        end = start
    return Edit(start, end, source.locate(start), source.locate(end), text)
