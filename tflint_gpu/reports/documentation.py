"""A rule's docstring as Markdown, and the page that a finding links to."""

from __future__ import annotations

from functools import cache
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING

from tflint_gpu.lazy_patterns import regex

if TYPE_CHECKING:
    from tflint_gpu.diagnostics import Diagnostic

HEADING = regex(r"(?<=\n\n)[A-Z][\w -]*:(?=\s)")
"""What a paragraph of a docstring begins with: `Why:`, `Not reported:`."""


def as_markdown(explanation: str) -> str:
    """A docstring with bold headings and its indented code as fenced blocks of Python; no newline at the end."""
    lines: list[str] = []
    inside = False
    for line in [*HEADING.sub(lambda heading: f"**{heading[0]}**", explanation).splitlines(), ""]:
        if line.startswith("    ") and not inside:
            lines += ["", "```python"]
            inside = True
        elif inside and line and not line.startswith("    "):
            _end_block(lines)
            inside = False
        lines.append(line[4:] if inside else line)
    if inside:
        _end_block(lines)
    return "\n".join(lines).rstrip("\n")


def page_of(diagnostic: Diagnostic) -> str | None:
    """The address that a program on this machine can open for a finding: of its page, or of what the package ships."""
    return diagnostic.url or _shipped().get(diagnostic.code)


@cache
def _shipped() -> dict[str, str]:
    """By code, the file with the documentation of all rules and the row; VS Code opens it there."""
    file = Path(import_module("tflint_gpu.rules").__path__[0]).absolute() / "README.md"
    rows = enumerate(file.read_text("utf-8").splitlines(), 1) if file.is_file() else ()
    return {line.split()[1]: f"{file.as_uri()}#L{row}" for row, line in rows if line.startswith("## TFG")}


def _end_block(lines: list[str]) -> None:
    while not lines[-1]:
        lines.pop()
    lines += ["```", ""]
