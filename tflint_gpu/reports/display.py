"""Source lines on a terminal: tabs, wide and invisible characters, long lines, colours."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterator, Mapping, Sequence

from tflint_gpu.lazy_dataclasses import dataclass
from tflint_gpu.lazy_patterns import regex

_TAB = "    "
_WIDEST = 140
_CONTEXT = 50
# What Azure's agent and GitHub's runner take for a command of theirs, wherever in a line of a log it stands.
_COMMAND = regex(r"(##(?:vso)?)\[")
_NO_BRACKET = "\N{MATHEMATICAL LEFT WHITE SQUARE BRACKET}"
_STYLES = {"bold": "1", "red": "1;31", "blue": "1;34", "cyan": "1;36", "green": "1;32", "yellow": "1;33"}
SEVERITY_STYLES = {"error": "red", "warning": "yellow", "advice": "cyan"}


def colour_of(environment: Mapping[str, str]) -> bool | None:
    """Whether the environment asks for colours: FORCE_COLOR, then NO_COLOR; None where the terminal decides."""
    if environment.get("FORCE_COLOR"):
        return True
    return False if environment.get("NO_COLOR") or environment.get("TERM") == "dumb" else None


def styled(text: str, style: str, colour: bool) -> str:
    """The text in a style, if there are colours."""
    return f"\x1b[{_STYLES[style]}m{text}\x1b[0m" if colour else text


def linked(text: str, address: str | None) -> str:
    """The text as a link of a terminal (OSC 8), if there is an address."""
    return text if address is None else f"\x1b]8;;{address}\x1b\\{text}\x1b]8;;\x1b\\"


def printable(text: str) -> str:
    """The text without characters that would steer a terminal or reorder what it shows, and without commands to CI."""
    return _without_commands("".join(_cell(char) for char in text))


def printable_lines(text: str) -> str:
    """The same for a text of several lines."""
    return "\n".join(printable(line.removesuffix("\r")) for line in text.split("\n"))


def _without_commands(text: str) -> str:
    """The text with another bracket, as wide, where a log would be read for commands."""
    return _COMMAND.sub(rf"\1{_NO_BRACKET}", text)


def _cell(char: str) -> str:
    """How one character is shown."""
    if char == "\t":
        return _TAB
    if ord(char) < 0x20:
        return chr(0x2400 + ord(char))  # the symbols for control characters, one column wide
    if char != " " and unicodedata.category(char) in ("Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"):
        return f"\\u{{{ord(char):x}}}"
    return char


def width(cell: str) -> int:
    """The columns that a text takes on a terminal; it must be `printable`."""
    if cell.isascii():
        return len(cell)
    return sum(_char_width(char) for char in cell)


def _char_width(char: str) -> int:
    if unicodedata.combining(char) or unicodedata.category(char) in ("Mn", "Me"):
        return 0
    return 2 if unicodedata.east_asian_width(char) in ("W", "F") else 1


@dataclass(frozen=True, slots=True)
class Marked:
    """A line as a terminal shows it, and the run of carets that goes below."""

    text: str
    marks: str

    @classmethod
    def of(cls, line: str, start: int, end: int) -> Marked:
        """Mark the columns from `start` up to, but not including, `end` (both from 1)."""
        end = min(max(end, start + 1), max(len(line), start) + 1)
        first, last = 0, len(line)
        cut_before = cut_after = ""
        if last > _WIDEST:  # a long line is shown around the place
            first = max(0, start - 1 - _CONTEXT)
            last = min(last, max(first + _WIDEST, start))
            cut_before = "..." if first > 0 else ""
            cut_after = "..." if last < len(line) else ""
        end = min(end, last + 1) if last >= start else end
        cells = [_cell(char) for char in line[first:last]]
        widths = [width(cell) for cell in cells]
        before = len(cut_before) + sum(widths[: start - 1 - first])
        marked = sum(widths[start - 1 - first : end - 1 - first])
        text = (cut_before + _without_commands("".join(cells))).rstrip() + cut_after
        return cls(text, " " * before + "^" * max(1, marked))


def table(rows: Sequence[Sequence[str]]) -> Iterator[str]:
    """Numbers to the right, words to the left."""
    widths = [max(map(width, column)) for column in zip(*rows, strict=True)]
    for row in rows:
        cells = [
            " " * (space - width(cell)) + cell if cell[:1].isdigit() else cell + " " * (space - width(cell))
            for cell, space in zip(row, widths, strict=True)
        ]
        yield ("  " + "  ".join(cells)).rstrip()
