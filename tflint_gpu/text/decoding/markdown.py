"""Markdown documents whose code cells are run: Quarto's, and those of Jupytext.

The formats: https://quarto.org/docs/computations/python.html (```` ```{python} ````),
https://jupytext.readthedocs.io/en/latest/formats-markdown.html (```` ```python ````, MyST's ```` ```{code-cell} ````).
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from tflint_gpu.lazy_patterns import regex

_LINE = regex(r"[^\r\n]*(?:\r\n|\r|\n|$)")
_FENCE = regex(r"[ \t]*(?P<fence>`{3,}|~{3,})[ \t]*(?P<info>[^`\r\n]*)")
_QUARTO = regex(r"\{python\b")
_JUPYTEXT = regex(r"python[23]?\b(?!.*\.noeval)|\{code-cell\}[ \t]*(?:i?python\d?\b.*)?$")
_REGION = regex(r"[ \t]*<!--[ \t]*#(?P<end>end)?(?:region|md|markdown|raw)\b")
_OPTIONS = regex(
    r"(?:---[ \t]*(?:\r\n|\r|\n)(?:.*(?:\r\n|\r|\n))*?---|(?::[\w-]+:.*(?:\r\n|\r|\n)?)+).*(?:\r\n|\r|\n)?"
)
_NOT_RUN = regex(r"(?m)^[ \t]*#\|[ \t]*eval[ \t]*:[ \t]*false\b")


def quarto_cells(text: str) -> list[tuple[int, int]]:
    """Where the Python cells of a Quarto document start and end, without those that are only shown."""
    return [(start, end) for start, end in _cells(text, _QUARTO) if not _NOT_RUN.search(text, start, end)]


def jupytext_cells(text: str) -> list[tuple[int, int]]:
    """Where the Python cells of a notebook that Jupytext wrote as Markdown start and end."""
    return list(_cells(text, _JUPYTEXT))


def no_cells(_: str) -> list[tuple[int, int]]:
    """Of Markdown that only shows code: none."""
    return []


def _cells(text: str, opening: re.Pattern[str]) -> Iterator[tuple[int, int]]:
    position, is_prose, fence, start = 0, False, "", -1
    while position < len(text):
        line = _LINE.match(text, position)
        end = len(text) if line is None else line.end()
        known = _FENCE.match(text, position)
        if fence:
            if known is not None and known["fence"].startswith(fence) and not known["info"].strip():
                if start >= 0:
                    yield _without_options(text, start, position)
                fence, start = "", -1
        elif (region := _REGION.match(text, position)) is not None:  # prose that has fences of its own
            is_prose = region["end"] is None
        elif known is not None:
            fence = known["fence"]
            start = end if not is_prose and opening.match(known["info"]) else -1
        position = end
    if start >= 0:
        yield _without_options(text, start, len(text))


def _without_options(text: str, start: int, end: int) -> tuple[int, int]:
    """A cell without what MyST says of it in its first lines."""
    options = _OPTIONS.match(text, start, end)
    return (start if options is None else options.end()), end
