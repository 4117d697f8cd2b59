"""What is known of Python text without a parser: strings, comments, brackets, logical lines.

Works for any Python version's syntax, for text that no parser accepts, and at the speed of `re`.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterator

from tflint_gpu.lazy_dataclasses import dataclass
from tflint_gpu.lazy_patterns import regex

# A literal's prefix is left out: it changes nothing here, and a pattern that starts with one of
# three characters is found quickly.
_DOUBLE = r'(")(?:""[^"\\]*(?:(?:\\.|"(?!""))[^"\\]*)*"""|[^"\\\r\n]*(?:\\(?:\r\n|.)[^"\\\r\n]*)*")'
_SINGLE = _DOUBLE.replace('"', "'")
_COMMENT = r"#[^\r\n]*"
_STRING_OR_COMMENT = regex(f"{_DOUBLE}|{_SINGLE}|{_COMMENT}", re.DOTALL)
_LINE_TOKEN = regex(
    rf"(?P<string>{_DOUBLE}|{_SINGLE})|{_COMMENT}|(?P<joined>\\(?:\r\n|\r|\n))"
    r"|(?P<newline>\r\n|\r|\n)|(?P<open>[(\[{])|(?P<close>[)\]}])",
    re.DOTALL,
)


_DEEP = 500
"""Characters before a docstring in which the line above it ends: no indentation is as deep."""
_SPANNING = regex(rf"{_DOUBLE}|{_SINGLE}|{_COMMENT}|\\(?:\r\n|\r|\n)", re.DOTALL)


def bare_code(text: str) -> str:
    """The text with a single quote character for each string literal, and without comments."""
    bare = _STRING_OR_COMMENT.sub(r"\1\2", text)
    if "\\" in bare:
        bare = bare.replace("\\\r\n", " ").replace("\\\n", " ")
    return bare


def without_comments(text: str) -> str:
    """The text with nothing but `#` of each comment."""
    return _STRING_OR_COMMENT.sub(lambda token: "#" if token[0][0] == "#" else token[0], text)


def without_prose(text: str) -> str:
    """The text with nothing but `#` of each comment, and with empty docstrings.

    A docstring is a long string that follows the colon of the line before, or the start of the text.
    """

    def kept(token: re.Match[str]) -> str:
        written = token[0]
        if written[0] == "#":
            return "#"
        is_long = written[:3] in ('"""', "'''")
        return written[:3] * 2 if is_long and _is_docstring(text, token.start()) else written

    return _STRING_OR_COMMENT.sub(kept, text)


def _is_docstring(text: str, start: int) -> bool:
    """Whether a long string at an offset stands first in a block, or in the text."""
    if text[start - 1 : start] in ("r", "R", "u", "U"):
        start -= 1
    before = text[max(0, start - _DEEP) : start].rstrip(" \t")
    is_first_on_line = not before or before[-1] in "\r\n"
    head = before.rstrip()
    return is_first_on_line and (head.endswith(":") or (not head and start < _DEEP))


def comment_spans(text: str) -> Iterator[tuple[int, int]]:
    """Where the comments of a text start and end, in their order."""
    for token in _STRING_OR_COMMENT.finditer(text):
        if token.lastgroup is None and token.lastindex is None:
            yield token.span()


def comments(text: str) -> list[str]:
    """The comments of a Python text, without blanks behind them."""
    return [text[start:end].rstrip() for start, end in comment_spans(text)] if "#" in text else []


def string_spans(text: str) -> Iterator[tuple[int, int]]:
    """Where the string literals of a text start and end, without their prefixes, in their order."""
    for token in _STRING_OR_COMMENT.finditer(text):
        if token.lastindex is not None:
            yield token.span()


def end_of_logical_line(text: str, start: int) -> int:
    """The offset after the newline that ends the logical line which starts at `start`, or the end of the text."""
    depth = 0
    for token in _LINE_TOKEN.finditer(text, start):
        kind = token.lastgroup
        if kind == "open":
            depth += 1
        elif kind == "close":
            depth = max(0, depth - 1)
        elif kind == "newline" and depth == 0:
            return token.end()
    return len(text)


@dataclass(frozen=True, slots=True)
class Lines:
    """How the rows of a file hang together.

    Arguments:
        logical: the rows (from 1) at which a logical line (a statement, or a compound statement's header) ends, sorted.
    """

    logical: tuple[int, ...]

    @classmethod
    def of(cls, text: str) -> Lines:
        """Read the lines of a text."""
        logical: list[int] = []
        row, depth = 1, 0
        for token in _LINE_TOKEN.finditer(text):
            kind = token.lastgroup
            if kind == "newline":
                if depth == 0:
                    logical.append(row)
                row += 1
            elif kind == "joined":
                row += 1
            elif kind == "open":
                depth += 1
            elif kind == "close":
                depth = max(0, depth - 1)
            elif kind == "string":
                row += _newlines(token[0])
        return cls((*logical, row))

    def logical_rows(self, row: int) -> range:
        """All rows of the logical line to which a row belongs."""
        ends = self.logical
        index = bisect_right(ends, row - 1)
        if index == len(ends):
            return range(row, row + 1)
        start = ends[index - 1] + 1 if index else 1
        return range(start, ends[index] + 1)


def continued_rows(text: str) -> frozenset[int]:
    """The rows (from 1) at whose end no comment may be: those in a string that goes on, and those before a backslash's
    next row. Much less is looked at for it than for all lines."""
    continued: set[int] = set()
    row, end = 1, 0
    for token in _SPANNING.finditer(text):
        lines = _newlines(token[0])
        if lines:
            row += _newlines(text[end : token.start()])
            continued.update(range(row, row + lines))
            row, end = row + lines, token.end()
    return frozenset(continued)


def _newlines(text: str) -> int:
    if "\r" not in text:
        return text.count("\n")
    return text.count("\n") + text.count("\r") - text.count("\r\n")
