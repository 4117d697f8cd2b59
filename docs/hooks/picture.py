"""Draws `docs/finding.svg`, the picture in the README: what a terminal shows of a check of `examples/train.py`.

`python docs/hooks/picture.py` writes it.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]
PICTURE = ROOT / "docs" / "finding.svg"
COMMAND = "tflint-gpu check examples/train.py"
COLUMNS = 104

_FORMAT = """\
<svg class="rich-terminal" viewBox="0 0 {width} {height}" xmlns="http://www.w3.org/2000/svg">
    <style>
    .{unique_id}-matrix {{
        font-family: ui-monospace, Menlo, Consolas, "DejaVu Sans Mono", monospace;
        font-size: {char_height}px;
        line-height: {line_height}px;
    }}
    .{unique_id}-title {{
        font-size: 18px;
        font-family: sans-serif;
    }}
    {styles}
    </style>
    <defs>
    <clipPath id="{unique_id}-clip-terminal">
      <rect x="0" y="0" width="{terminal_width}" height="{terminal_height}" />
    </clipPath>
    {lines}
    </defs>
    {chrome}
    <g transform="translate({terminal_x}, {terminal_y})" clip-path="url(#{unique_id}-clip-terminal)">
    {backgrounds}
    <g class="{unique_id}-matrix">
    {matrix}
    </g>
    </g>
</svg>
"""
"""Rich's own format without the fonts that it loads from a server."""


def shown() -> str:
    """What the command prints on a terminal, with its colours."""
    environment = {**os.environ, "FORCE_COLOR": "1", "TERM": "xterm-256color"}
    command = [sys.executable, "-m", "tflint_gpu", *COMMAND.split()[1:], "--no-cache", "--isolated"]
    return subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, timeout=600).stdout


def drawn(text: str) -> str:
    """The picture of a terminal with a text that has ANSI's codes of colours."""
    from rich.console import Console
    from rich.text import Text

    with Path(os.devnull).open("w") as nowhere:
        console = Console(record=True, width=COLUMNS, file=nowhere, force_terminal=True)
        console.print(Text(f"$ {COMMAND}", style="bold"))
        console.print(Text.from_ansi(text.rstrip("\n")))
        return console.export_svg(title="", code_format=_FORMAT, unique_id="terminal")


if __name__ == "__main__":
    PICTURE.write_text(drawn(shown()), "utf-8")
