"""A file's text: decoding, positions, and nothing that needs a parser."""

from __future__ import annotations

import codecs
import io
import re
import tokenize
from bisect import bisect_right
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from tflint_gpu.diagnostics import Location
from tflint_gpu.lexical import Lines

_NEWLINE = re.compile(r"\r\n|\r|\n")
_BEGINNING = Location(1, 1)


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


def is_test_path(path: Path) -> bool:
    """Whether a file holds tests, by its name or its folder's."""
    return (
        path.name.startswith("test_")
        or path.stem.endswith(("_test", "_tests", "_test_case"))
        or path.name == "conftest.py"
        or path.parent.name in ("test", "tests", "testing")
    )


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

    def encode(self, text: str) -> bytes:
        """The bytes of this file with another text, in its own encoding and with its own mark.

        Raises:
            UnicodeEncodeError: the text has a character that the encoding lacks.
        """
        return (codecs.BOM_UTF8 if self.byte_order_mark else b"") + text.encode(self.encoding)

    @cached_property
    def line_starts(self) -> list[int]:
        """Offsets of the first character of each line; lines end with LF, CRLF or CR."""
        return [0, *(newline.end() for newline in _NEWLINE.finditer(self.text))]

    @cached_property
    def lines(self) -> Lines:
        """How the rows hang together: statements, strings, places for comments."""
        return Lines.of(self.text)

    def locate(self, offset: int) -> Location:
        """Row and column of a character offset."""
        row = bisect_right(self.line_starts, offset)
        return Location(row, offset - self.line_starts[row - 1] + 1)

    def end_of_line(self, offset: int) -> int:
        """The offset at which the line after the one that holds `offset` starts, or the end of the text."""
        row = self.locate(offset).row
        return self.line_starts[row] if row < len(self.line_starts) else len(self.text)

    def line(self, row: int) -> str:
        """The text of a row (from 1) without its line ending; empty beyond the end."""
        if not 1 <= row <= len(self.line_starts):
            return ""
        start = self.line_starts[row - 1]
        end = self.line_starts[row] if row < len(self.line_starts) else len(self.text)
        return self.text[start:end].rstrip("\r\n")
