"""Protects who completes by Tab: the lines of the page, in the start-up files of real shells."""

from __future__ import annotations

import os
import re
import shutil
import sys
from pathlib import Path

import pytest
from checkout import needs_installation

PAGE = (Path(__file__).parents[2] / "docs" / "command-line.md").read_text("utf-8")
STARTS = {
    "bash": (".bashrc", ["--rcfile", ".bashrc", "-i"]),
    "zsh": (".zshrc", ["-i"]),
    "fish": ("fish/completions/tflint-gpu.fish", ["-i"]),
}
PATIENCE = 200


@pytest.mark.slow
@pytest.mark.parametrize("shell", STARTS)
def test_tab_completes(shell: str, tmp_path: Path) -> None:
    """An option, its value and a command."""
    needs_installation()
    if shutil.which(shell) is None:
        pytest.skip(f"{shell} is not installed")
    pexpect = pytest.importorskip("pexpect", reason="pexpect is not installed")
    name, arguments = STARTS[shell]
    [lines] = re.findall(rf"^```{shell}\n(.*?)^```$", PAGE, re.DOTALL | re.MULTILINE)
    (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
    (tmp_path / name).write_text(lines)
    environment = {
        "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}",
        "HOME": str(tmp_path), "ZDOTDIR": str(tmp_path), "XDG_CONFIG_HOME": str(tmp_path), "TERM": "xterm",
    }  # fmt: skip
    terminal = pexpect.spawn(shell, arguments, cwd=str(tmp_path), env=environment, timeout=PATIENCE, encoding="utf-8")
    try:
        for typed, completed in (
            ("tflint-gpu check --sel", "tflint-gpu check --select"),
            ("tflint-gpu check --output-format gitl", "tflint-gpu check --output-format gitlab"),
            ("tflint-gpu doc", "tflint-gpu doctor"),
        ):
            terminal.send(f"{typed}\t\x01echo ty''ped \r")  # Ctrl-A: to the begin of the line
            terminal.expect(rf"typed {completed}\s")
    finally:
        terminal.close(force=True)
