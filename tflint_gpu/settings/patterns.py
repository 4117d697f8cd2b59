"""File patterns of settings, with ruff's meaning: `*` crosses slashes, `**/` may stand for nothing."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path


@dataclass(frozen=True, slots=True)
class FilePattern:
    """A pattern as written, and the directory that it is relative to.

    A pattern without a slash, such as `.venv` or `test_*.py`, matches a name at any depth.
    """

    text: str
    base: Path = field(default=Path("/"))

    def matches(self, path: Path) -> bool:
        """Whether the pattern means this absolute path, or just its last part."""
        if _compiled(self.text).fullmatch(path.name):
            return True
        absolute = f"{_escaped(self.base)}/{self.text}".replace("//", "/")
        text = self.text if self.text.startswith("/") else absolute
        return _compiled(text.rstrip("/")).fullmatch(path.as_posix()) is not None


def any_matches(patterns: tuple[FilePattern, ...], path: Path) -> bool:
    """Whether one of the patterns means the path."""
    return any(pattern.matches(path) for pattern in patterns)


def _escaped(base: Path) -> str:
    return re.sub(r"([*?\[\]{}])", r"[\1]", base.as_posix())


@lru_cache(maxsize=1024)
def _compiled(pattern: str) -> re.Pattern[str]:
    """Translate a glob: `*`, `**/`, `?`, `[...]`, `[!...]` and `{a,b}`."""
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
        return re.compile("".join(out), re.DOTALL)
    except re.error:
        return re.compile(re.escape(pattern))
