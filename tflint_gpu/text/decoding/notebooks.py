"""Jupyter notebooks: their Python cells as one program, and the way back into the JSON.

The format: https://nbformat.readthedocs.io. Written for nbformat 4 (`cells`, `source`) and 3 (`worksheets`, `input`).
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from functools import cached_property
from pathlib import Path
from typing import Any

from tflint_gpu.diagnostics import Location
from tflint_gpu.lazy_dataclasses import dataclass
from tflint_gpu.text.decoding.cells import Cell, CellSource, joined
from tflint_gpu.text.decoding.json_strings import Place, WrittenText, find_texts
from tflint_gpu.text.magics import python_start
from tflint_gpu.text.source import UnreadableSource

_PYTHONS = ("python", "python2", "python3", "ipython")
_TEXT_KEYS = ("source", "input")


@dataclass(frozen=True, eq=False)
class Notebook(CellSource):
    """A notebook as one program. `document` is the JSON."""

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
        text, cells = joined(_cells(_content(document)))
        return cls(path, name, text, byte_order_mark=marked, document=document, cells=cells)

    def encode(self) -> bytes:
        """The bytes of the JSON."""
        return (b"\xef\xbb\xbf" if self.byte_order_mark else b"") + self.document.encode()

    def _change(self, cell: Cell, start: int, end: int, content: str) -> tuple[int, int, str]:
        return self._written[cell.place].change(start, end, content)

    def _again(self, document: str) -> Notebook:
        return self._of(document, self.path, self.name, self.byte_order_mark)

    def parts(self) -> dict[str, str]:
        """The texts of the cells, with an end for the last line, which few have."""
        return {f"{self.name}:cell {cell.number}": cell.text.removesuffix("\n") + "\n" for cell in self.cells}

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
                yield Cell(number, text, (*place, index, key))


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
