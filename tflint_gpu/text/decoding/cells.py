"""Files whose Python is in cells, as one program: their cells one below the other."""

from __future__ import annotations

from abc import abstractmethod
from bisect import bisect_right
from collections.abc import Callable, Iterable, Sequence
from dataclasses import field, replace
from functools import cached_property
from typing import TypeAlias

from tflint_gpu.diagnostics import Edit, Location
from tflint_gpu.lazy_dataclasses import dataclass
from tflint_gpu.lazy_patterns import regex
from tflint_gpu.text.decoding.json_strings import Place
from tflint_gpu.text.lexical import string_spans
from tflint_gpu.text.magics import comment_out, parse, python_of, python_start
from tflint_gpu.text.nesting import check_nesting
from tflint_gpu.text.source import SourceFile, UnreadableSource, spliced

_NEWLINE = regex(r"\r\n|\r|\n")
_LINE = regex(r"[^\r\n]*(?:\r\n|\r|\n|$)")
_LAST_OF_NEWLINES = regex(r"(?:\r\n|\r|\n)(?![\r\n])")
_INDENTED = regex(r"(?:[ \t]*(?:#[^\r\n]*)?(?:\r\n|\r|\n))*(?P<indentation>[ \t]+)[^\s#]")
_BLOCK = "if 1:"
CellFinder: TypeAlias = Callable[[str], Sequence[tuple[int, int]]]
"""Finds where the cells of a text start and end, in the order in which they run."""


@dataclass(frozen=True, slots=True)
class Cell:
    """A cell that holds Python.

    Arguments:
        number: counted from 1 over the cells of all kinds.
        text: of the cell.
        place: where its text is in the JSON of a notebook.
        stored: where its text starts in the file, if that is no JSON.
        indentation: of its statements in the file, which `text` lacks.
        removed: how many characters of it each line lacks.
        start: where it begins in the program's text.
    """

    number: int
    text: str
    place: Place = ()
    stored: int = 0
    indentation: str = ""
    removed: tuple[int, ...] = ()
    start: int = 0

    @property
    def end(self) -> int:
        """Where it ends in the program's text."""
        return self.start + len(self.text)

    @property
    def is_indented(self) -> bool:
        """Whether its first statement is, which IPython allows; a cell magic above it may be, too, and is none."""
        return _INDENTED.match(self.text, python_start(self.text) or 0) is not None

    def dedented(self) -> Cell:
        """The cell with statements at the start of their lines; lines inside of strings stay as they are."""
        match = _INDENTED.match(self.text)
        if match is None:
            return self
        indentation = match["indentation"]
        inside = {end.end() for span in string_spans(self.text) for end in _NEWLINE.finditer(self.text, *span)}
        lines: list[str] = []
        removed: list[int] = []
        for line in _LINE.finditer(self.text):
            width = len(line[0]) - len(line[0].lstrip(" \t"))
            removed.append(0 if line.start() in inside else min(width, len(indentation)))
            lines.append(line[0][removed[-1] :])
        return replace(self, text="".join(lines), indentation=indentation, removed=tuple(removed))


def joined(cells: Iterable[Cell]) -> tuple[str, tuple[Cell, ...]]:
    """The text of a program of some cells, and the cells with their places in it."""
    cells = list(cells)
    newline = next((match[0] for cell in cells if (match := _NEWLINE.search(cell.text))), "\n")
    text = ""
    placed: list[Cell] = []
    for cell in cells:
        gap = (newline if text else "") + (_BLOCK + newline if cell.is_indented else "")
        placed.append(replace(cell, start=len(text) + len(gap)))
        text += gap + cell.text
    return text, tuple(placed)


@dataclass(frozen=True, eq=False)
class CellSource(SourceFile):
    """A file as one program. `text` has its cells one below the other, `document` is the file."""

    document: str = ""
    cells: tuple[Cell, ...] = ()

    @property
    def stored(self) -> str:
        """The text of the file."""
        return self.document

    @property
    def spans(self) -> list[tuple[int, int]]:
        """The stretches of the text that are cells."""
        return [(cell.start, cell.end) for cell in self.cells]

    def searched(self, data: bytes) -> bytes:
        """The program: JSON has escapes and outputs, a document has prose."""
        return self.text.encode("utf-8", "replace")

    def equals(self, other: SourceFile) -> bool:
        """Whether the file is the same: with the same text, cells can be elsewhere."""
        return isinstance(other, CellSource) and self.document == other.document

    def edited(self, edits: Iterable[Edit]) -> CellSource:
        """This file with edits, each of which lies in one cell; the file stays as it is around them.

        Raises:
            UnreadableSource: the result would have other cells, such as one that is empty now.
        """
        changes: list[tuple[int, int, str]] = []
        wanted: dict[int, list[tuple[int, int, str]]] = {}
        for edit in _merged(edits):
            cell = self._cell_at(edit.start)
            change = (edit.start - cell.start, edit.end - cell.start, edit.content)
            changes.append(self._change(cell, *change))
            wanted.setdefault(cell.number, []).append(change)
        changes.sort(key=lambda change: change[:2])  # cells may run in another order than they are written
        result = self._again(spliced(self.document, changes))
        texts = [spliced(cell.text, wanted.get(cell.number, ())) for cell in self.cells]
        if [cell.text for cell in result.cells] != texts:
            raise UnreadableSource("its cells cannot be changed separately")
        return result

    @abstractmethod
    def _change(self, cell: Cell, start: int, end: int, content: str) -> tuple[int, int, str]:
        """A change of a cell's text as one of the document."""

    @abstractmethod
    def _again(self, document: str) -> CellSource:
        """This file with another document."""

    def shows(self, start: int, end: int) -> bool:
        """Whether the cell has nothing else but comments: it is there to show this value."""
        cell = self._cell_at(start)
        around = self.text[cell.start : start].splitlines() + self.text[end : cell.end].splitlines()
        return not any(line.strip() and not line.lstrip().startswith("#") for line in around)

    def is_writable(self, start: int, end: int) -> bool:
        """Whether both offsets lie in one cell."""
        if not self.cells or start > end:
            return False
        cell = self._cell_at(start)
        return cell.start <= start and end <= cell.end

    def end_of_line(self, offset: int) -> int:
        """The offset at which the line after the one that holds `offset` starts, or the end of the cell."""
        end = super().end_of_line(offset)
        return min(end, self._cell_at(offset).end) if self.cells else end

    @property
    def code(self) -> str:
        """The text without magics, and without the cells that do not parse."""
        return self._readable[0]

    @property
    def refusals(self) -> tuple[UnreadableSource, ...]:
        """Why each cell that does not parse was left out."""
        return self._readable[1]

    @cached_property
    def _readable(self) -> tuple[str, tuple[UnreadableSource, ...]]:
        pieces: list[str] = []
        refusals: list[UnreadableSource] = []
        position = 0
        for cell in self.cells:
            gap, code = self.text[position : cell.start], python_of(cell.text)
            refusal = self._refusal(cell, code)
            if refusal is not None:
                refusals.append(refusal)
                gap, code = comment_out(gap), comment_out(code)
            pieces += gap, code
            position = cell.end
        return "".join(pieces), tuple(refusals)

    def _refusal(self, cell: Cell, code: str) -> UnreadableSource | None:
        """Why a cell cannot be part of the program; None if it can."""
        lead = f"{_BLOCK}\n" if cell.is_indented else ""
        try:
            check_nesting(code)
            parse(lead + code)
        except UnreadableSource as error:
            return UnreadableSource(error.message, self._locate_in(cell, error.location.row, error.location.column))
        except SyntaxError as error:
            if _libcst_parses(lead + code):  # newer Python than the one that runs this
                return None
            row = (error.lineno or 1) - (1 if lead else 0)
            return UnreadableSource(f"does not parse: {error.msg}", self._locate_in(cell, row, error.offset or 1))
        except (ValueError, RecursionError, MemoryError) as error:
            return UnreadableSource(f"does not parse: {error}", self._locate_in(cell, 1, 1))
        return None

    def _locate_in(self, cell: Cell, row: int, column: int) -> Location:
        """The location of a row and a column that count in a cell."""
        row = min(self.row(cell.start) + max(row, 1) - 1, self.row(cell.end))
        column = min(max(column, 1), len(self.line(row)) + 1)
        return self.locate(self.line_starts[row - 1] + column - 1)

    def _cell_at(self, offset: int) -> Cell:
        return self.cells[max(bisect_right(self._starts, offset) - 1, 0)]

    @cached_property
    def _starts(self) -> list[int]:
        return [cell.start for cell in self.cells]


@dataclass(frozen=True, eq=False)
class DocumentCells(CellSource):
    """A text file with cells in it. Locations are the file's own rows and columns."""

    finder: CellFinder = field(kw_only=True)

    @classmethod
    def of(cls, source: SourceFile, finder: CellFinder) -> DocumentCells:
        """Read the cells of a text file."""
        document = source.text
        texts = [(start, document[start:end]) for start, end in finder(document)]
        with_code = [(start, text) for start, text in texts if text.strip() and python_start(text) is not None]
        text, cells = joined(
            Cell(number, text, (), start).dedented() for number, (start, text) in enumerate(with_code, 1)
        )
        marked = source.byte_order_mark
        return cls(source.path, source.name, text, source.encoding, marked, document, cells, finder=finder)

    @cached_property
    def _file(self) -> SourceFile:
        return SourceFile(self.path, self.name, self.document, self.encoding, self.byte_order_mark)

    def encode(self) -> bytes:
        """The bytes of the file.

        Raises:
            UnicodeEncodeError: the text has a character that the encoding lacks.
        """
        return self._file.encode()

    def _change(self, cell: Cell, start: int, end: int, content: str) -> tuple[int, int, str]:
        content = _LAST_OF_NEWLINES.sub(lambda newline: newline[0] + cell.indentation, content)
        if end == len(cell.text) and cell.text.endswith(("\r", "\n")):  # no line follows
            content = (cell.indentation if start == end else "") + content.removesuffix(cell.indentation)
        elif cell.text[end : end + 1] in ("\r", "\n"):  # an empty line follows
            content = content.removesuffix(cell.indentation) if content.strip() else content
        first, last = (self._in_file(cell, cell.start + offset) for offset in (start, end))
        if content.startswith(("\r", "\n")) and cell.text[:start].endswith(("\r", "\n")):  # an empty line comes first
            first -= self._removed(cell, start)
        elif not content and cell.text[:start].endswith(("\r", "\n")) and cell.text[:end].endswith(("\r", "\n")):
            removed = self._removed(cell, start), self._removed(cell, end)
            if removed[0] != removed[1]:  # from an empty line, or to one: what comes next keeps its indentation
                first, last = first - removed[0], last - removed[1]
        return first, last, content

    def _removed(self, cell: Cell, offset: int) -> int:
        """How many characters the line at an offset of a cell lacks; none behind the last one."""
        line = self.row(cell.start + offset) - self.row(cell.start)
        return cell.removed[line] if line < len(cell.removed) else 0

    def _in_file(self, cell: Cell, offset: int) -> int:
        """The offset in the file of an offset in the program that lies in a cell."""
        line = self.row(offset) - self.row(cell.start)
        return cell.stored + offset - cell.start + sum(cell.removed[: line + 1])

    def _again(self, document: str) -> DocumentCells:
        return self.of(replace(self._file, text=document), self.finder)

    def parts(self) -> dict[str, str]:
        """The file."""
        return self._file.parts()

    def locate(self, offset: int) -> Location:
        """Row and column in the file."""
        if not self.cells:
            return self._file.locate(0)
        cell = self._cell_at(offset)
        return self._file.locate(self._in_file(cell, min(max(offset, cell.start), cell.end)))

    def row_of(self, location: Location) -> int:
        """The row of the program that a row of the file is."""
        for cell in self.cells:
            row = location.row - self._file.row(cell.stored) + self.row(cell.start)
            if self.row(cell.start) <= row <= self.row(cell.end):
                return row
        return 1

    def shown_line(self, location: Location) -> str:
        """The row of the file."""
        return self._file.shown_line(location)


def _merged(edits: Iterable[Edit]) -> list[Edit]:
    """Edits in the order of the text, those that touch each other as one."""
    merged: list[Edit] = []
    for edit in sorted(edits, key=lambda edit: (edit.start, edit.end)):
        if merged and merged[-1].end == edit.start:
            before = merged.pop()
            edit = replace(edit, start=before.start, content=before.content + edit.content)
        merged.append(edit)
    return merged


def _libcst_parses(code: str) -> bool:
    import libcst

    try:
        libcst.parse_module(code)
    except Exception:  # its own error, and plain ValueError for broken literals
        return False
    return True
