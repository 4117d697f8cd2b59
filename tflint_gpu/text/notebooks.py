"""Jupyter notebooks: their Python cells as one program, and the way back into the JSON.

The format: https://nbformat.readthedocs.io. Written for nbformat 4 (`cells`, `source`) and 3 (`worksheets`, `input`).
"""

from __future__ import annotations

import json
import re
from bisect import bisect_right
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from tflint_gpu.diagnostics import Edit, Location
from tflint_gpu.text.json_strings import Place, WrittenText, find_texts
from tflint_gpu.text.magics import comment_out, parse, python_of, python_start
from tflint_gpu.text.nesting import check_nesting
from tflint_gpu.text.source import SourceFile, UnreadableSource, spliced

_PYTHONS = ("python", "python2", "python3", "ipython")
_TEXT_KEYS = ("source", "input")
_NEWLINE = re.compile(r"\r\n|\r|\n")
_INDENTED = re.compile(r"(?:[ \t]*(?:#[^\r\n]*)?(?:\r\n|\r|\n))*[ \t]+[^\s#]")
_BLOCK = "if 1:"


@dataclass(frozen=True, slots=True)
class Cell:
    """A cell that holds Python.

    Arguments:
        number: counted from 1 over the cells of all kinds.
        place: where its text is in the document.
        text: of the cell.
        start: where it begins in the notebook's text.
    """

    number: int
    place: Place
    text: str
    start: int = 0

    @property
    def end(self) -> int:
        """Where it ends in the notebook's text."""
        return self.start + len(self.text)

    @property
    def is_indented(self) -> bool:
        """Whether its first statement is, which IPython allows."""
        return _INDENTED.match(self.text) is not None


@dataclass(frozen=True, eq=False)
class Notebook(SourceFile):
    """A notebook as one program. `text` has its cells one below the other, `document` is the JSON."""

    document: str = ""
    cells: tuple[Cell, ...] = ()

    @classmethod
    def decode(cls, data: bytes, path: Path, name: str | None = None) -> Notebook:
        """Read a notebook's JSON. One of another language than Python has no cells here.

        Raises:
            UnreadableSource: it is not UTF-8, not JSON, or has no cells at all.
        """
        try:
            document = data.decode("utf-8-sig")
        except UnicodeDecodeError as error:
            row = data.count(b"\n", 0, error.start) + 1
            raise UnreadableSource("is not a Jupyter notebook: it is not UTF-8", Location(row, 1)) from error
        marked = len(document.encode()) != len(data)
        return cls._of(document, path, name or str(path), marked)

    @classmethod
    def _of(cls, document: str, path: Path, name: str, marked: bool) -> Notebook:
        cells = list(_cells(_content(document)))
        newline = next((found[0] for cell in cells if (found := _NEWLINE.search(cell.text))), "\n")
        text = ""
        placed: list[Cell] = []
        for cell in cells:
            gap = (newline if text else "") + (_BLOCK + newline if cell.is_indented else "")
            placed.append(Cell(cell.number, cell.place, cell.text, len(text) + len(gap)))
            text += gap + cell.text
        return cls(path, name, text, byte_order_mark=marked, document=document, cells=tuple(placed))

    def encode(self) -> bytes:
        """The bytes of the JSON."""
        return (b"\xef\xbb\xbf" if self.byte_order_mark else b"") + self.document.encode()

    def edited(self, edits: Iterable[Edit]) -> Notebook:
        """This notebook with edits, each of which lies in one cell; the JSON stays as it is around them.

        Raises:
            UnreadableSource: the result would have other cells, such as one that is empty now.
        """
        changes: list[tuple[int, int, str]] = []
        wanted: dict[int, list[tuple[int, int, str]]] = {}
        for edit in edits:
            cell = self._cell_at(edit.start)
            change = (edit.start - cell.start, edit.end - cell.start, edit.content)
            changes.append(self._written[cell.place].change(*change))
            wanted.setdefault(cell.number, []).append(change)
        result = self._of(spliced(self.document, changes), self.path, self.name, self.byte_order_mark)
        texts = [spliced(cell.text, wanted.get(cell.number, ())) for cell in self.cells]
        if [cell.text for cell in result.cells] != texts:
            raise UnreadableSource("its JSON has cells that cannot be changed each by itself")
        return result

    def equals(self, other: SourceFile) -> bool:
        """Whether the JSON is the same: with the same text, cells can lie elsewhere."""
        return isinstance(other, Notebook) and self.document == other.document

    def searched(self, data: bytes) -> bytes:
        """The program: JSON has escapes, and outputs."""
        return self.text.encode("utf-8", "replace")

    def parts(self) -> dict[str, str]:
        """The texts of the cells, with an end for the last line, which few have."""
        return {f"{self.name}:cell {cell.number}": cell.text.removesuffix("\n") + "\n" for cell in self.cells}

    def is_writable(self, start: int, end: int) -> bool:
        """Whether both offsets lie in one cell."""
        if not self.cells or start > end:
            return False
        cell = self._cell_at(start)
        return cell.start <= start and end <= cell.end

    def locate(self, offset: int) -> Location:
        """Cell, and row and column in it."""
        if not self.cells:
            return super().locate(offset)
        cell = self._cell_at(offset)
        offset = min(max(offset, cell.start), cell.end)
        place = super().locate(offset)
        stored = self._written[cell.place].offset(offset - cell.start)
        return Location(
            place.row - self.row(cell.start) + 1,
            place.column,
            cell=cell.number,
            stored_row=self.document.count("\n", 0, stored) + 1,
            stored_column=stored - self.document.rfind("\n", 0, stored),
        )

    def row_of(self, location: Location) -> int:
        """The row of the text that a row of a cell is."""
        starts = (self.row(cell.start) for cell in self.cells if cell.number == location.cell)
        return next(starts, 1) + location.row - 1

    def shown_line(self, location: Location) -> str:
        """The row of a cell, or of the JSON."""
        if location.cell:
            return self.line(self.row_of(location))
        rows = self.document.split("\n")
        return rows[location.row - 1].rstrip("\r") if location.row <= len(rows) else ""

    def end_of_line(self, offset: int) -> int:
        """The offset at which the line after the one that holds `offset` starts, or the end of the cell."""
        end = super().end_of_line(offset)
        return min(end, self._cell_at(offset).end) if self.cells else end

    @property
    def stored(self) -> str:
        """The JSON."""
        return self.document

    @property
    def spans(self) -> list[tuple[int, int]]:
        """The stretches of the text that are cells."""
        return [(cell.start, cell.end) for cell in self.cells]

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

    @cached_property
    def _written(self) -> dict[Place, WrittenText]:
        return find_texts(self.document, _TEXT_KEYS)


def written_notebook(cells: Iterable[tuple[str, str, str]]) -> str:
    """The JSON of a notebook with some cells.

    Arguments:
        cells: of each the kind (`code`, `markdown`), the language, and the text.
    """
    listed = [
        {"cell_type": kind, "language": language, "metadata": {}, "outputs": [], "source": text}
        for kind, language, text in cells
    ]
    return json.dumps({"cells": listed, "metadata": {}, "nbformat": 4, "nbformat_minor": 5})


def _content(document: str) -> dict[str, Any]:
    try:
        content = json.loads(document)
    except json.JSONDecodeError as error:
        place = Location(error.lineno, error.colno)
        raise UnreadableSource(f"is not a Jupyter notebook: its JSON is broken: {error.msg}", place) from error
    except RecursionError as error:
        raise UnreadableSource("is not a Jupyter notebook: its JSON is nested too deeply") from error
    if not isinstance(content, dict) or not isinstance(content.get("cells", content.get("worksheets")), list):
        raise UnreadableSource("is not a Jupyter notebook: its JSON has no list of cells")
    return content


def _cells(content: dict[str, Any]) -> Iterator[Cell]:
    """The cells of a notebook that hold Python; without their places in the text."""
    if not _is_python(_language(content)):
        return
    number = 0
    for place, cells in _sheets(content):
        for index, cell in enumerate(cells):
            number += 1
            if not isinstance(cell, dict) or cell.get("cell_type") != "code" or not _is_python(_cell_language(cell)):
                continue
            key = "source" if "source" in cell else "input"
            text = cell.get(key)
            if isinstance(text, list) and all(isinstance(line, str) for line in text):
                text = "".join(text)
            if isinstance(text, str) and text.strip() and python_start(text) is not None:
                yield Cell(number, (*place, index, key), text)


def _sheets(content: dict[str, Any]) -> Iterator[tuple[Place, list[Any]]]:
    if "cells" in content:
        yield ("cells",), content["cells"]
        return
    for index, sheet in enumerate(content["worksheets"]):
        cells = sheet.get("cells") if isinstance(sheet, dict) else None
        if isinstance(cells, list):
            yield ("worksheets", index, "cells"), cells


def _language(content: dict[str, Any]) -> object:
    """The language of a notebook's kernel, if it says which."""
    own, kernel = _below(content, "metadata", "language_info", "name"), ("metadata", "kernelspec", "language")
    return own or _below(content, *kernel)


def _cell_language(cell: dict[str, Any]) -> object:
    """The language of a cell, where it differs: in nbformat 3, and in notebooks of several languages."""
    return cell.get("language") or _below(cell, "metadata", "vscode", "languageId")


def _below(value: object, *keys: str) -> object:
    for key in keys:
        value = value.get(key) if isinstance(value, dict) else None
    return value


def _is_python(language: object) -> bool:
    return not isinstance(language, str) or language.lower() in _PYTHONS


def _libcst_parses(code: str) -> bool:
    import libcst

    try:
        libcst.parse_module(code)
    except Exception:  # its own error, and plain ValueError for broken literals
        return False
    return True
