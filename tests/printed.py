"""What README and the documentation print of the command line, and what it prints today.

`python tests/printed.py` writes the outputs of today into the pages. What measures or looks at the machine (`verify`,
`run`, `doctor`) stays as it was printed.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

from checkout import ROOT, copy_checkout

_BLOCK = re.compile(r"^```console\n(\$ .*?)^```$", re.DOTALL | re.MULTILINE)
_STEADY = ("tflint-gpu check", "tflint-gpu rule", "flake8")


@dataclass(frozen=True)
class Block:
    """One block of a page: commands that are run one after the other, each with what it prints."""

    page: Path
    text: str

    @property
    def commands(self) -> dict[str, str]:
        """The output of each command, as printed."""
        parts = re.split(r"^\$ (.*)\n", self.text, flags=re.MULTILINE)
        return dict(zip(parts[1::2], parts[2::2], strict=True))

    @property
    def is_steady(self) -> bool:
        """Whether it prints the same on each machine."""
        return all(command.startswith(_STEADY) for command in self.commands)

    def today(self, checkout: Path) -> str:
        """The block with the outputs of now."""
        return "".join(f"$ {command}\n{output(command, checkout)}" for command in self.commands)


def pages() -> list[Path]:
    """README and the pages of the documentation that are written by hand."""
    return [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]


def blocks(page: Path) -> list[Block]:
    """The blocks of a page in their order."""
    return [Block(page, text) for text in _BLOCK.findall(page.read_text("utf-8"))]


def output(command: str, checkout: Path) -> str:
    """What a user sees who types a command in the root of a checkout."""
    programs = Path(sys.executable).parent
    environment = {
        "PATH": f"{programs}{os.pathsep}{os.environ['PATH']}",
        "HOME": str(checkout),
        "PYTHONUNBUFFERED": "1",
    }
    done = subprocess.run(
        command, shell=True, cwd=checkout, env=environment, text=True, timeout=600,
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
    )  # fmt: skip
    return done.stdout


def main() -> None:
    """Write the outputs of today."""
    with tempfile.TemporaryDirectory() as folder:
        checkout = copy_checkout(Path(folder))
        for page in pages():
            text = page.read_text("utf-8")
            for block in blocks(page):
                if block.is_steady:
                    text = text.replace(block.text, block.today(checkout))
            page.write_text(text, "utf-8")


if __name__ == "__main__":
    main()
