"""A rule's docstring as Markdown."""

from __future__ import annotations


def as_markdown(explanation: str) -> str:
    """A docstring with its indented code as fenced blocks of Python, without a newline at the end."""
    lines: list[str] = []
    inside = False
    for line in [*explanation.splitlines(), ""]:
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
