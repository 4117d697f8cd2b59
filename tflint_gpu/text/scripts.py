"""Python files that have IPython's lines in them, as exported or pasted from a notebook.

Python cannot run them, but what else they say can be checked. Nothing here runs before Python's parser has refused a
file, so that valid Python costs nothing, and a `%` that starts a line of it is never taken for a magic.
"""

from __future__ import annotations

import re
from dataclasses import fields
from functools import cached_property

from tflint_gpu.lazy_dataclasses import dataclass
from tflint_gpu.lazy_patterns import regex
from tflint_gpu.text.magics import comment_out, parse, python_line, python_start
from tflint_gpu.text.source import SourceFile, UnreadableSource

_CELL_MAGIC = regex(r"%%[A-Za-z]\w*")
_CELL_START = regex(r"(?<=[\r\n])(?:%%[A-Za-z]|#[ \t]*(?:%%|In[ \t]?\[[ \d*]*\]|<\w*cell>))")
_PERCENT_CELL = regex(r"^#[ \t]*%%", re.MULTILINE)
_SHOWN = 60


@dataclass(frozen=True, slots=True)
class _Reading:
    """What a text is as Python.

    Arguments:
        code: as long as the text.
        first: where the first of IPython's lines starts; None if it has none.
        foreign: the first cell magic whose body is no Python; empty if there is none.
    """

    code: str
    first: int | None
    foreign: str


@dataclass(frozen=True, eq=False)
class IPythonScript(SourceFile):
    """A Python file with IPython's lines, read as a notebook's cell is."""

    @classmethod
    def of(cls, source: SourceFile) -> IPythonScript | None:
        """What a file that Python refuses is with its IPython lines known as such; None if it has none."""
        if type(source) is not SourceFile:
            return None
        script = cls(*(getattr(source, field.name) for field in fields(source)))
        return None if script._reading.first is None else script

    @property
    def code(self) -> str:
        """The text without IPython's lines, and without cells of other languages."""
        return self._reading.code

    @property
    def refusals(self) -> tuple[UnreadableSource, ...]:
        """That Python cannot run the file, told at the first of IPython's lines; a percent script runs by cells."""
        reading = self._reading
        if reading.first is None or _PERCENT_CELL.search(self.text):
            return ()
        place = self.locate(reading.first)
        line = self.line(place.row).strip()
        shown = line if len(line) <= _SHOWN else line[: _SHOWN - 1] + "…"
        without = f", except the body of `{reading.foreign}`" if reading.foreign else ""
        message = f"`{shown}` is an IPython line: Python cannot run this file; the rest was checked{without}"
        return (UnreadableSource(message, place),)

    @cached_property
    def _reading(self) -> _Reading:
        text, position, first, foreign = self.text, 0, None, ""
        pieces: list[str] = []
        while position < len(text):
            magic = _CELL_MAGIC.match(text, position)
            if magic is not None and python_start(magic[0]) is None:
                start = _CELL_START.search(text, magic.end())
                piece = comment_out(text[position : start.start() if start else len(text)])
                foreign = foreign or magic[0]
            else:
                piece = python_line(text, position, only_certain=True)
            if first is None and not text.startswith(piece, position):
                first = position + len(piece) - len(piece.lstrip(" \t\f"))
            pieces.append(piece)
            position += len(piece)
        return _Reading("".join(pieces), first, foreign)


def readable(source: SourceFile) -> SourceFile:
    """A file as it can be checked: itself, or the IPython script that it is."""
    if type(source) is not SourceFile:
        return source
    try:
        parse(source.code)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return IPythonScript.of(source) or source
    return source
