"""A rule's docstring as Markdown."""

from __future__ import annotations

from tflint_gpu.lazy_patterns import regex

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


def _end_block(lines: list[str]) -> None:
    while not lines[-1]:
        lines.pop()
    lines += ["```", ""]
