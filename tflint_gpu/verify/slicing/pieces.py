"""Edits of a file's text: how those of a rule, and rows that go, come together."""

from __future__ import annotations

import ast
import io
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from pathlib import Path

from tflint_gpu.checking.engine.placement import merged, placed_edit
from tflint_gpu.diagnostics import Edit
from tflint_gpu.lazy_dataclasses import dataclass
from tflint_gpu.rule.experiment import Change
from tflint_gpu.text.source import SourceFile

_CLOSING, _BELOW, _OPENING, _REPLACING = range(4)


@dataclass(frozen=True, slots=True)
class Piece:
    """Replace `start` to `end` by `text`.

    Arguments:
        rank: where several begin at one place, lower ranks come first.
        around: from where to where the code goes that the piece is about.
    """

    start: int
    end: int
    text: str
    rank: tuple[int, ...]
    around: tuple[int, int]


def replacing(start: int, end: int, text: str) -> Piece:
    """A stretch becomes something else."""
    return Piece(start, end, text, (_REPLACING,), (start, end))


def wrapping(start: int, end: int, opening: str, closing: str) -> Iterator[Piece]:
    """Text before and after a stretch, outside of what else is put around it."""
    yield Piece(start, start, opening, (_OPENING, start - end, 0), (start, end))
    yield Piece(end, end, closing, (_CLOSING, end - start, 1), (start, end))


def standing_before(place: int, text: str) -> Piece:
    """Text at one place, which stays whatever becomes of the code there."""
    return Piece(place, place, text, (_OPENING,), (-1, -1))


def of_change(change: Change, *, measures: bool) -> Piece:
    """The piece of a rule's change.

    Arguments:
        measures: it is a probe, which goes around what else is put at the same code.
    """
    file, text = change.file, change.text
    start, end = around = change.span
    if change.where == "below":
        place = file.source.end_of_line(end)
        gap = "" if file.source.code[:place].endswith(("\n", "\r")) else "\n"
        return Piece(place, place, gap + text, (_BELOW,), around)
    if change.where == "above":
        place = file.source.above(start)
        return Piece(place, place, text, (_OPENING, start - end, 0), around)
    if change.where == "after":
        return Piece(end, end, text, (_CLOSING, end - start, int(measures)), around)
    if change.where == "before":
        return Piece(start, start, text, (_OPENING, start - end, int(not measures)), around)
    if change.where == "commented lines":
        start = file.source.with_comments(start)
    return replacing(*(file.source.whole_lines(start, end) if change.where.endswith("lines") else around), text)


@dataclass(frozen=True, slots=True)
class FileEdits:
    """What a repair changes in one file, as it was when it was checked; the edits are in order."""

    source: SourceFile
    edits: tuple[Edit, ...]


def placed(changes: Sequence[Change]) -> Mapping[Path, FileEdits]:
    """A rule's changes as edits of the user's files, by their paths."""
    files: dict[Path, tuple[SourceFile, list[Edit]]] = {}
    for change in changes:
        source = change.file.source
        edit = placed_edit(source, change.span, change.text, change.where)
        files.setdefault(source.path, (source, []))[1].append(edit)
    return {path: FileEdits(source, merged(source, edits)) for path, (source, edits) in files.items()}


def without_rows(source: SourceFile, rows: Iterable[int]) -> Iterator[Piece]:
    """The pieces that take rows (from 1) out."""
    starts = source.line_starts
    for row in rows:
        end = starts[row] if row < len(starts) else len(source.code)
        yield Piece(starts[row - 1], end, "", (_REPLACING,), (starts[row - 1], starts[row - 1]))


def put_in(text: str, pieces: Sequence[Piece]) -> str:
    """Apply the pieces; those about code that lies in a replaced stretch are left out."""
    replaced = [
        piece.around for piece in pieces if piece.end > piece.start and piece.around == (piece.start, piece.end)
    ]
    result, position = [], 0
    for piece in sorted(pieces, key=lambda p: (p.start, p.rank)):
        start, end = piece.around
        is_gone = any(s <= start and end <= e and (s, e) != (start, end) for s, e in replaced)
        if piece.start >= position and not is_gone:
            result += [text[position : piece.start], piece.text]
            position = piece.end
    return "".join([*result, text[position:]])


def masked(source: SourceFile, stretches: Iterable[tuple[int, int]]) -> str:
    """The code with `0` for some expressions, each row where it was."""
    text = source.code
    for start, end in sorted(stretches, reverse=True):
        line_ends = "".join(character for character in text[start:end] if character in "\r\n")
        text = f"{text[:start]}({line_ends}0){text[end:]}"
    return text


def with_opening(text: str, opening: str) -> str:
    """The text with statements before its first one that is neither a docstring nor a `__future__` import.

    Raises:
        SyntaxError: the text does not parse.
    """
    row = 1
    for statement in ast.parse(text).body:
        is_docstring = isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant)
        is_future = isinstance(statement, ast.ImportFrom) and statement.module == "__future__"
        if not (is_docstring or is_future):
            row = min([statement.lineno, *(decorator.lineno for decorator in getattr(statement, "decorator_list", ()))])
            break
        row = (statement.end_lineno or row) + 1
    lines = list(io.StringIO(text, newline=""))
    if lines and row > len(lines) and not lines[-1].endswith(("\n", "\r")):
        lines[-1] += "\n"
    return "".join([*lines[: row - 1], opening, *lines[row - 1 :]])


@lru_cache(maxsize=1000)  # many programs have the same files
def tidy(text: str) -> str:
    """Never more than two empty lines in a row, unless in a string."""
    inside = {
        row
        for node in ast.walk(ast.parse(text))
        if isinstance(node, ast.Constant | ast.JoinedStr) and node.end_lineno is not None
        for row in range(node.lineno, node.end_lineno)
    }
    result: list[str] = []
    empty = 0
    for row, line in enumerate(io.StringIO(text, newline=""), start=1):
        empty = 0 if line.strip() or row in inside else empty + 1
        if empty < 3:
            result.append(line)
    return "".join(result)
