"""File patterns of settings, with ruff's meaning: `*` crosses slashes, `**/` may match nothing."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable
from dataclasses import field
from functools import cached_property
from pathlib import Path
from typing import TypeAlias

from tflint_gpu.lazy_dataclasses import dataclass
from tflint_gpu.lazy_patterns import regex

_Match: TypeAlias = Callable[[str], object]
_ABSOLUTE = regex(r"(?:[A-Za-z]:)?/")


@dataclass(frozen=True, slots=True)
class FilePattern:
    """A pattern as written, and the directory that it is relative to.

    A pattern without a slash, such as `.venv` or `test_*.py`, matches a name at any depth.
    """

    text: str
    base: Path = field(default=Path("/"))

    def matches(self, path: Path) -> bool:
        """Whether the pattern means this absolute path, or just its last part."""
        return FilePatterns((self,)).match(path.as_posix())


@dataclass(frozen=True)
class FilePatterns:
    """Patterns of which one is enough; they are translated once, when the first path is asked for."""

    patterns: tuple[FilePattern, ...] = ()

    def match(self, path: str) -> bool:
        """Whether one of the patterns means an absolute path, written with slashes."""
        if not self.patterns:
            return False
        name, whole = self._expressions
        return name(path[path.rfind("/") + 1 :]) is not None or whole(path) is not None

    @cached_property
    def _expressions(self) -> tuple[_Match, _Match]:
        """What matches the last part of a path, and what a whole path, that one of the patterns means."""
        texts = [(pattern, with_slashes(pattern.text)) for pattern in self.patterns]
        places = (
            text if _ABSOLUTE.match(text) else f"{_escaped(pattern.base)}/{text}".replace("//", "/")
            for pattern, text in texts
        )
        names = _any_of(_translated(text) for _, text in texts)
        return names.fullmatch, _any_of(_translated(text.rstrip("/")) for text in places).fullmatch


def with_slashes(pattern: str, separator: str = os.sep) -> str:
    """A pattern as it is matched: on Windows, where users write backslashes, with slashes."""
    return pattern.replace(separator, "/") if separator == "\\" else pattern


def _any_of(expressions: Iterable[str]) -> re.Pattern[str]:
    return re.compile("|".join(f"(?:{expression})" for expression in dict.fromkeys(expressions)), re.DOTALL)


def _escaped(base: Path) -> str:
    return re.sub(r"([*?\[\]{}])", r"[\1]", base.as_posix())


def _translated(pattern: str) -> str:
    """A glob as a regular expression: `*`, `**/`, `?`, `[...]`, `[!...]` and `{a,b}`."""
    out: list[str] = []
    position, braces = 0, 0
    while position < len(pattern):
        char = pattern[position]
        if pattern.startswith("**/", position):
            out.append("(?:.*/)?")
            position += 3
            continue
        if char == "*":
            out.append(".*")
        elif char == "?":
            out.append(".")
        elif char == "[" and (end := pattern.find("]", position + 2)) > 0:
            members = pattern[position + 1 : end].replace("\\", "\\\\")
            negated = members[0] in "!^"
            members = members[1:] if negated else members
            members = members.replace("[", r"\[")
            out.append(f"[{'^' if negated else ''}{members}]")
            position = end
        elif char == "{" and "}" in pattern[position:]:
            braces += 1
            out.append("(?:")
        elif char == "}" and braces:
            braces -= 1
            out.append(")")
        elif char == "," and braces:
            out.append("|")
        else:
            out.append(re.escape(char))
        position += 1
    try:
        return re.compile("".join(out)).pattern
    except re.error:
        return re.escape(pattern)
