"""A file's text: decoding, positions, and nothing that needs a parser."""

from __future__ import annotations

import codecs
import io
import re
import tokenize
from bisect import bisect_right
from collections.abc import Iterable, Sequence
from dataclasses import replace
from functools import cached_property
from pathlib import Path

from tflint_gpu.diagnostics import Edit, Location
from tflint_gpu.lazy_dataclasses import dataclass
from tflint_gpu.lazy_patterns import regex
from tflint_gpu.text.lexical import Lines, continued_rows

_NEWLINE = regex(r"\r\n|\r|\n")
_BEGINNING = Location(1, 1)
_TESTS = regex(
    rb"unittest|pytest|TestCase|\btf\.test\b|\bnose\b"
    rb"|^\s*def test\w*\((?:self|tmp_path|monkeypatch|capsys|caplog)?\s*[,)]",
    re.MULTILINE,
)


class UnreadableSource(Exception):
    """A file that cannot be analysed: not decodable, not parsable, nested too deeply.

    Arguments:
        message: the reason, as a sentence without the file's name.
        location: where in the file, counted from 1.
    """

    def __init__(self, message: str, location: Location = _BEGINNING) -> None:
        super().__init__(message)
        self.message = message
        self.location = location


def is_test(path: Path, code: bytes) -> bool:
    """Whether a file holds unit tests, or helps them: by its folder, or by its name and what is in it.

    A program that evaluates a network is called `test_model.py`, too.
    """
    if path.name == "conftest.py" or path.parent.name in ("test", "tests", "testing"):
        return True
    is_named_so = path.name.startswith("test_") or path.stem.endswith(("_test", "_tests", "_test_case"))
    return is_named_so and _TESTS.search(code) is not None


def spliced(text: str, changes: Sequence[tuple[int, int, str]]) -> str:
    """A text in which some ranges (start, end) are replaced. They are in order and do not overlap."""
    pieces: list[str] = []
    position = 0
    for start, end, content in changes:
        pieces += [text[position:start], content]
        position = end
    return "".join([*pieces, text[position:]])


def encoded(text: str) -> bytes:
    """The bytes of a file that holds a text, which may name its encoding.

    They decode to this text, or to one that has a `?` for each character that the encoding lacks.
    """
    data = text.encode("utf-8", "replace")
    try:
        encoding, _ = tokenize.detect_encoding(io.BytesIO(data).readline)
        return data if encoding.startswith("utf-8") else text.encode(encoding, "replace")
    except (SyntaxError, LookupError):  # decoding them reports what is wrong with the name
        return data


@dataclass(frozen=True, eq=False)
class SourceFile:
    """One file as text. `path` is where it lies, `name` how reports call it."""

    path: Path
    name: str
    text: str
    encoding: str = "utf-8"
    byte_order_mark: bool = False

    @classmethod
    def decode(cls, data: bytes, path: Path, name: str | None = None) -> SourceFile:
        """Decode `data` as Python does: byte order mark first, then coding cookie, then UTF-8.

        Raises:
            UnreadableSource: unknown or contradictory encoding, or bytes that it does not allow.
        """
        try:
            encoding, _ = tokenize.detect_encoding(io.BytesIO(data).readline)
        except SyntaxError as error:
            raise UnreadableSource(f"cannot be decoded: {error.msg or error}") from error
        marked = data.startswith(codecs.BOM_UTF8)
        if encoding == "utf-8-sig":
            encoding = "utf-8"
        body = data[len(codecs.BOM_UTF8) :] if marked else data
        try:
            text = body.decode(encoding)
        except UnicodeDecodeError as error:
            row = body.count(b"\n", 0, error.start) + 1
            column = error.start - (body.rfind(b"\n", 0, error.start) + 1) + 1
            byte = body[error.start]
            raise UnreadableSource(
                f"cannot be decoded as {encoding}: byte 0x{byte:02x} ({error.reason}); "
                "save it as UTF-8 or name its encoding in a coding comment",
                Location(row, column),
            ) from error
        except LookupError as error:  # a codec that does not give text, such as "hex"
            raise UnreadableSource(f"cannot be decoded: {error}") from error
        return cls(path, name or str(path), text, encoding, marked)

    def encode(self) -> bytes:
        """The bytes of this file, in its own encoding and with its own mark.

        Raises:
            UnicodeEncodeError: the text has a character that the encoding lacks.
        """
        return (codecs.BOM_UTF8 if self.byte_order_mark else b"") + self.text.encode(self.encoding)

    def edited(self, edits: Iterable[Edit]) -> SourceFile:
        """This file with some edits, which must not overlap."""
        return replace(self, text=spliced(self.text, [(edit.start, edit.end, edit.content) for edit in edits]))

    def equals(self, other: SourceFile) -> bool:
        """Whether all positions and texts are those of another state of the same file."""
        return self.text == other.text

    def searched(self, data: bytes) -> bytes:
        """Where to search for byte strings of the code, given the bytes of the file."""
        return data

    def parts(self) -> dict[str, str]:
        """What a user would compare of this file: texts by their names."""
        return {self.name: self.text}

    @property
    def stored(self) -> str:
        """The text of the file as it lies on the disk."""
        return self.text

    @property
    def spans(self) -> list[tuple[int, int]]:
        """The stretches of the text that are each one piece of the file."""
        return [(0, len(self.text))]

    @property
    def code(self) -> str:
        """What parsers get: the text, or something as long in which only Python is left."""
        return self.text

    @property
    def refusals(self) -> tuple[UnreadableSource, ...]:
        """The parts of the text that are left out of `code`, because they do not parse."""
        return ()

    def shows(self, start: int, end: int) -> bool:
        """Whether an expression between two offsets is there to show its value to whoever runs the file."""
        return False

    def is_writable(self, start: int, end: int) -> bool:
        """Whether what lies between two offsets is one piece of the file."""
        return 0 <= start <= end <= len(self.text)

    @cached_property
    def line_starts(self) -> list[int]:
        """Offsets of the first character of each line; lines end with LF, CRLF or CR."""
        return [0, *(newline.end() for newline in _NEWLINE.finditer(self.text))]

    @cached_property
    def lines(self) -> Lines:
        """How the rows hang together to statements."""
        return Lines.of(self.code)

    @cached_property
    def continued_rows(self) -> frozenset[int]:
        """The rows at whose end no comment may be."""
        return continued_rows(self.code)

    @cached_property
    def may_have_long_strings(self) -> bool:
        """Whether the text has the quotes of a string of several lines."""
        return '"""' in self.text or "'''" in self.text

    def row(self, offset: int) -> int:
        """The row of the text (from 1) in which a character offset lies."""
        return bisect_right(self.line_starts, offset)

    def locate(self, offset: int) -> Location:
        """Where users find what lies at a character offset."""
        row = self.row(offset)
        return Location(row, offset - self.line_starts[row - 1] + 1)

    def row_of(self, location: Location) -> int:
        """The row of the text that a location means."""
        return location.row

    def shown_line(self, location: Location) -> str:
        """The row in which a location lies, without its line ending; empty beyond the end."""
        return self.line(location.row)

    def end_of_line(self, offset: int) -> int:
        """The offset at which the line after the one that holds `offset` starts, or the end of the text."""
        row = self.row(offset)
        return self.line_starts[row] if row < len(self.line_starts) else len(self.text)

    def whole_lines(self, start: int, end: int) -> tuple[int, int]:
        """The offsets of the lines that a stretch of text touches, with the last one's ending."""
        return self.line_starts[self.row(start) - 1], self.end_of_line(end)

    def lines_and_gap(self, start: int, end: int) -> tuple[int, int]:
        """The offsets of the lines that a stretch of text touches, and of the smaller gap of empty lines around."""
        return self._with_gap(self.row(start), end)

    def commented_lines(self, start: int, end: int) -> tuple[int, int]:
        """A stretch's whole lines with the comments right above them, and the smaller gap of empty lines around."""
        return self._with_gap(self.row(self.with_comments(start)), end)

    def _with_gap(self, first: int, end: int) -> tuple[int, int]:
        """The lines from a row to an offset, without which the larger gap is left; none at a block's or file's edge."""
        start, stop = self.line_starts[first - 1], self.end_of_line(end)
        after = self.row(stop - 1) + 1
        starts = [*self.line_starts, len(self.text)]
        last = len(self.line_starts)
        above = next(row for row in range(first, 0, -1) if row == 1 or self.line(row - 1).strip())
        below = next(row for row in range(after, last + 2) if row > last or self.line(row).strip())
        before = self.line(above - 1).strip()
        is_edge = above == 1 or below > last or (before.endswith(":") and not before.startswith("#"))
        is_below = is_edge or first - above > below - after
        is_above = is_edge or first - above <= below - after
        gap = starts[above - 1] if is_above else start, starts[min(below, last + 1) - 1] if is_below else stop
        return gap if self.is_writable(*gap) else (start, stop)

    def with_comments(self, offset: int) -> int:
        """The offset of the line that holds `offset`, or of the first comment of its block directly above it."""
        row = self.row(offset)
        depth = len(self.line(row)) - len(self.line(row).lstrip())
        while row > 1 and self.line(row - 1)[depth:].startswith("#") and not self.line(row - 1)[:depth].strip():
            row -= 1
        return self.line_starts[row - 1]

    def above(self, offset: int) -> int:
        """The offset of the line that holds `offset`, or of the first of the comments directly above it."""
        row = self.row(offset)
        while row > 1 and self.line(row - 1).lstrip().startswith("#"):
            row -= 1
        return self.line_starts[row - 1]

    def line(self, row: int) -> str:
        """A row of the text (from 1) without its line ending; empty beyond the end."""
        if not 1 <= row <= len(self.line_starts):
            return ""
        start = self.line_starts[row - 1]
        end = self.line_starts[row] if row < len(self.line_starts) else len(self.text)
        return self.text[start:end].rstrip("\r\n")
