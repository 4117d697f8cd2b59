"""Finds in what a program wrote to its standard error the exception that ended it."""

from __future__ import annotations

import re

_LONGEST_TEXT = 2_000
# TensorFlow quotes tracebacks inside of messages; there an empty line follows the heading.
_HEADING = re.compile(r"^(?:  \+ Exception Group )?Traceback \(most recent call last\):\n(?=  )", re.MULTILINE)
_FRAME = re.compile(r'^  File "([^"\n]*)", line \d+', re.MULTILINE)
_EXCEPTION = re.compile(r"([A-Za-z_][\w.]*)(?:: ?(.*))?", re.DOTALL)
_OTHERWISE = re.compile(
    r"AttributeError: '(?!NoneType')[\w.]+' object has no attribute "
    r"|ValueError: (?:too many|not enough) values to unpack "
)


# Of Keras 3, of Keras 2, and of scikit-learn.
_UNTRAINED = re.compile(
    r"has never been called|has not (?:yet )?been built|is not connected, no (?:in|out)put|has no inbound nodes"
    r"|have not yet been created|is not fitted yet"
)


# `os.environ[name]`, of which Python's own frame is the last one.
_NO_VARIABLE = re.compile(
    r'File "(?:<frozen os>|[^"\n]*[/\\]os\.py)", line \d+, in __getitem__\n(?: {4}[^\n]*\n)*KeyError: [^\n]*\s*\Z'
)


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


def may_concern(stderr: str, package: str) -> bool:
    """Whether the exception that ended a program may be the doing of a package: it was running, the exception is about
    it, or an object, perhaps one of its own, lacks an attribute or has another number of parts."""
    headings = list(_HEADING.finditer(stderr))
    last = stderr[headings[-1].end() :] if headings else ""
    message = last.rpartition("\n  ")[2].partition("\n")[2]
    is_named = re.search(rf"'(?:\w+\.)*{package}\.", message) is not None  # `tensorflow.python.keras`
    frames = [path.replace("\\", "/") for path in _FRAME.findall(last)]
    return is_named or _OTHERWISE.match(message) is not None or any(f"/{package}/" in path for path in frames)


def lacks_variable(stderr: str) -> bool:
    """Whether the exception that ended a program came of a variable that the environment does not have."""
    return _NO_VARIABLE.search(stderr) is not None


def is_untrained(message: str) -> bool:
    """Whether an exception says that something has not learned yet: a model that its first batch builds, a scaler."""
    return _UNTRAINED.search(message) is not None
