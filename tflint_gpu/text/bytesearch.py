"""What the bytes of a file say, before anything is imported or parsed.

flake8 loads this at each start, so it imports nothing that a Python process does not have anyway.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

NOTEBOOK_ENDING = ".ipynb"
QUARTO_ENDING = ".qmd"
JUPYTEXT_ENDING = ".md"
ENDINGS = (".py", NOTEBOOK_ENDING, QUARTO_ENDING, JUPYTEXT_ENDING)
"""Of the files that are checked."""
_JUPYTEXT = re.compile(rb"(?:\xef\xbb\xbf)?---[ \t]*\r?\n(?:(?!---).*\n)*?[ \t]*jupytext[ \t]*:")
# A pattern that begins with a newline is searched several times faster than one that begins with `^`.
_FIRST_CALL = re.compile(rb"\n(?:(?:for|while)\b|@[\w.]*\bcommand\b|[A-Za-z]\w*(?:\.\w+)*\()")
_BLOCK = re.compile(rb"\n(?:if|try|with)\b[^\n]*((?:\n(?:[ \t][^\n]*|\r?(?=\n)))+)")
_CALL_IN_BLOCK = re.compile(rb"\n[ \t]+(?:(?:for|while)\b|[A-Za-z]\w*(?:\.\w+)*\()")
_SPACED_CALL = re.compile(rb"\.(?:[\s\\]+(\w+)[ \t]*|(\w+)[ \t]+)\(")


def mentions_tensorflow(data: bytes) -> bool:
    """Whether a file can have anything to do with us: the words are in it."""
    if b"tensorflow" in data or b"keras" in data:
        return True
    return b"import " not in data and b".fit(" in data  # a snippet, as it is pasted into a question


def runs_something(data: bytes) -> bool:
    """Whether running a module calls something, loops or is a command, also under a test, in a `try` or a `with`."""
    if b"__main__" in data or _FIRST_CALL.search(b"\n" + data) is not None:
        return True
    return any(_CALL_IN_BLOCK.search(block) for block in _BLOCK.findall(b"\n" + data))


def is_jupytext(data: bytes) -> bool:
    """Whether a Markdown file is a notebook: its header says that Jupytext wrote it."""
    return _JUPYTEXT.match(data) is not None


_MANY = 20  # from so many questions on it pays to search each word of a file once


class Mentioned(dict[bytes, bool]):
    """Which required substrings hold for a file: many rules ask for the same ones.

    A method that stands apart from its dot or parenthesis holds as it is usually written, too: `rows. shuffle (9)`.
    """

    def __init__(self, data: bytes) -> None:
        super().__init__()
        spaced = _SPACED_CALL.findall(data)
        self.data = b"\n".join([data, *(b".%b(" % (first or last) for first, last in spaced)]) if spaced else data
        self._words = b""

    def __missing__(self, required: bytes) -> bool:
        searched = self.data
        if len(self) >= _MANY and required.split() == [required]:
            self._words = searched = self._words or b"\n".join(set(searched.split()))
        answer = self[required] = required in searched
        return answer

    def any_of(self, substrings: Iterable[bytes]) -> bool:
        """Whether one of some required substrings holds."""
        for required in substrings:  # noqa: SIM110  # asked a hundred times a file: a generator costs more than the rest
            if self[required]:
                return True
        return False
