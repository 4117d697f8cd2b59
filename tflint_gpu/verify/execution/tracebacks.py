"""Finds in what a program wrote to its standard error the exception that ended it."""

from __future__ import annotations

import re

_LONGEST_TEXT = 2_000
# TensorFlow quotes tracebacks inside of messages; there an empty line follows the heading.
_HEADING = re.compile(r"^(?:  \+ Exception Group )?Traceback \(most recent call last\):\n(?=  )", re.MULTILINE)
_FRAME = re.compile(r'^  File "([^"\n]*)", line \d+', re.MULTILINE)
_EXCEPTION = re.compile(r"([A-Za-z_][\w.]*)(?:: ?(.*))?", re.DOTALL)


def exception_in(stderr: str) -> tuple[str | None, str]:
    """Return type and message of the exception that ended a program, from the end of what it wrote.

    A syntax error has no heading; then the last line after an indented one counts.

    Arguments:
        stderr: the end of what the program wrote; more than its traceback may be in it.
    """
    headings = list(_HEADING.finditer(stderr))
    lines = (stderr[headings[-1].end() :] if headings else stderr).split("\n")
    if headings and "Group" in headings[-1][0]:
        lines = [line.removeprefix("  | ") for line in lines]
    starts = [
        index
        for index in range(1, len(lines))
        if lines[index - 1].startswith("  ") and re.match(r"[A-Za-z_][\w.]*(:|$)", lines[index])
    ]
    if not starts:
        return None, ""
    match = _EXCEPTION.match("\n".join(lines[starts[0] if headings else starts[-1] :]).strip())
    assert match is not None
    return match[1], (match[2] or "").strip()[:_LONGEST_TEXT]


def ends_in(stderr: str, package: str) -> bool:
    """Whether the exception that ended a program was raised by a package, or is about it."""
    headings = list(_HEADING.finditer(stderr))
    last = stderr[headings[-1].end() :] if headings else ""
    frames = [path for path in _FRAME.findall(last) if "/optree/" not in path]  # by it Keras 3 walks its arguments
    message = last.rpartition("\n  ")[2].partition("\n")[2]
    is_named = re.search(rf"'(?:\w+\.)?{package}\.", message) is not None  # `tensorflow.keras` is the same
    return bool(frames) and (f"/{package}/" in frames[-1].replace("\\", "/") or is_named)
