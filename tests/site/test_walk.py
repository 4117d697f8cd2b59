"""A newcomer's walk: every command of README and of "Getting started", as printed, in a fresh checkout and environment."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest
from checkout import ROOT, copy_checkout

README, START = ROOT / "README.md", ROOT / "docs" / "getting-started.md"
_COMMANDS = re.compile(
    r"^```sh\n(?P<sh>.*?)\n```$|^```console\n(?P<console>.*?)^```$|`(?P<inline>\.venv/bin/[^`\n]+)`",
    re.DOTALL | re.MULTILINE,
)
_PLACE = re.compile(r"examples/[\w.]+:[\w :]+ TFG\d{3}")
_END = "--- the next command ---"
_OURS = ("PYTHON", "VIRTUAL_ENV", "CUDA_", "TF_")


@dataclass(frozen=True)
class Typed:
    """A command that a page prints.

    Arguments:
        shown: what it prints, empty where the page does not say.
    """

    command: str
    shown: str = ""


def typed(page: Path) -> list[Typed]:
    """The commands of a page in their order."""
    commands = []
    for match in _COMMANDS.finditer(page.read_text("utf-8")):
        if match["console"] is not None:
            parts = re.split(r"^\$ (.*)\n", match["console"], flags=re.MULTILINE)
            commands += [Typed(*pair) for pair in zip(parts[1::2], parts[2::2], strict=True)]
        else:
            commands.append(Typed(match["sh"] or match["inline"]))
    return commands


def walk(commands: list[Typed], folder: Path) -> list[tuple[int, str]]:
    """Type commands in one shell, as somebody without an environment of Python; give exit codes and outputs.

    The tests are collected only where a command would run them: CI runs them by the same command.
    """
    inherited = {name: value for name, value in os.environ.items() if not name.startswith(_OURS)}
    own = Path(sys.executable).parent
    path = os.pathsep.join(part for part in os.environ["PATH"].split(os.pathsep) if Path(part) != own)
    script = folder / "walk.sh"
    script.write_text("".join(f"{step.command}\ncode=$?; echo; echo '{_END}' $code\n" for step in commands))
    done = subprocess.run(
        ["/bin/sh", script], cwd=copy_checkout(folder / "checkout"), text=True, timeout=3000,
        stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
        env={**inherited, "PATH": path, "PYTHONUNBUFFERED": "1", "PYTEST_ADDOPTS": "--collect-only"},
    )  # fmt: skip
    parts = re.split(rf"\n{_END} (\d+)\n", done.stdout)
    assert len(parts) == 2 * len(commands) + 1, done.stdout[-5000:]
    return list(zip(map(int, parts[1::2]), parts[0::2], strict=False))


def test_the_walk_takes_every_command() -> None:
    readme, start = ([step.command for step in typed(page)] for page in (README, START))
    assert readme[0].endswith("tflint-gpu check examples/train.py") and readme[0].startswith("python3 -m venv")
    assert any("pytest" in command for command in readme) and any("mkdocs" in command for command in readme)
    assert [command.split()[1] for command in start if command.startswith("tflint-gpu")] == [
        "check", "rule", "check", "verify", "doctor"
    ]  # fmt: skip


@pytest.mark.campaign
@pytest.mark.parametrize("page", [README, START], ids=lambda page: page.stem)
def test_a_newcomers_walk(page: Path, tmp_path: Path) -> None:
    commands = typed(page)
    for step, (code, output) in zip(commands, walk(commands, tmp_path), strict=True):
        what = f"$ {step.command}\n{output[-5000:]}"
        if "tflint-gpu check" in step.command:
            assert code == 1, what
            assert step.shown or "Found 2 problems." in output or step.command.endswith("check ."), what
        elif "tflint-gpu verify" in step.command:
            assert code in (0, 1), what  # whether a quiet or a busy machine confirms it
        elif "tflint-gpu doctor" in step.command:
            assert code in (0, 3) and "\nNext: " in output, what
        else:
            assert code == 0, what
        if step.command.startswith(("tflint-gpu check", "tflint-gpu rule")):
            assert output == step.shown, what
        assert set(_PLACE.findall(step.shown)) <= set(_PLACE.findall(output)), what
