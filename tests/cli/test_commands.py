"""Protects what all commands share: help under headings, colours by choice, completion in shells."""

from __future__ import annotations

import contextlib
import os
import re
import subprocess
import sys
import venv
from pathlib import Path
from typing import Any

import pytest
from warm import Warm, as_text

from tflint_gpu.cli.check import command as check
from tflint_gpu.cli.commands import GroupedCommand
from tflint_gpu.cli.run import command as run
from tflint_gpu.cli.verify import command as verify

FIXABLE = """\
import tensorflow as tf

def train(model, xs):
    ds = tf.data.Dataset.from_tensor_slices(xs)
    ds = ds.prefetch(1).map(lambda x: tf.io.decode_png(x)).batch(32)
    model.fit(ds, epochs=2)
"""
COLOUR = "\x1b["


@pytest.mark.parametrize("command", [check, run, verify])
def test_headings_name_options_that_exist(command: GroupedCommand) -> None:
    """Protects the help from losing an option that was renamed to the rest at its end."""
    named = [name for names in command.groups.values() for name in names]
    assert len(named) == len(set(named)) and set(named) <= {param.name for param in command.params}
    assert len(command.groups) > 1


def test_the_help_has_headings_and_each_option_once(tflint: Any) -> None:
    text = tflint("check", "--help").stdout
    assert re.findall(r"^(\w[\w ]*):$", text, re.MULTILINE)[:3] == ["Rules", "Fixes", "Report"]
    assert text.index("\nFixes:") < text.index("--unsafe-fixes") < text.index("\nReport:")
    for name in ("--select", "--fix-only", "--color", "--jobs"):
        assert len(re.findall(rf"^  (?:-\w, )?{name}\b(?!-)", text, re.MULTILINE)) == 1, name


def with_colours(commands: Warm, folder: Path, *words: str, **variables: str) -> str:
    environment = {key: value for key, value in os.environ.items() if key not in ("NO_COLOR", "FORCE_COLOR")}
    return as_text(commands.run("tflint_gpu", *words, cwd=folder, environment={**environment, **variables})).stdout


@pytest.mark.slow
@pytest.mark.parametrize(
    "words",
    [
        ("check", "--isolated", "--show-advice", "."),
        ("check", "--isolated", "--show-advice", "--output-format", "concise", "."),
        ("check", "--isolated", "--target-tensorflow", "2.9", "--diff", "."),
        ("rule", "TFG302"),
        ("rule", "--search", "prefetch"),
        ("check", "--help"),
    ],
)
def test_colours_are_chosen_by_option_then_environment_then_terminal(
    words: tuple[str, ...], tmp_path: Path, commands: Warm
) -> None:
    (tmp_path / "a.py").write_text(FIXABLE)
    command, *rest = words
    assert COLOUR not in with_colours(commands, tmp_path, *words), "this is no terminal"
    assert COLOUR in with_colours(commands, tmp_path, command, "--color", "always", *rest)
    assert COLOUR in with_colours(commands, tmp_path, *words, FORCE_COLOR="1")
    assert COLOUR not in with_colours(commands, tmp_path, command, "--color", "never", *rest, FORCE_COLOR="1")
    assert COLOUR in with_colours(commands, tmp_path, command, "--color", "always", *rest, NO_COLOR="1")


@pytest.mark.slow
def test_doctor_has_colours_by_choice(tmp_path: Path, commands: Warm) -> None:
    """By a Python without packages, which is quickly examined."""
    venv.create(tmp_path / "bare", with_pip=False)
    bare = tmp_path / "bare" / ("Scripts/python.exe" if sys.platform == "win32" else "bin/python")
    plain = with_colours(commands, tmp_path, "doctor", "--python", str(bare))
    coloured = with_colours(commands, tmp_path, "doctor", "--color", "always", "--python", str(bare))
    assert COLOUR not in plain and COLOUR in coloured
    assert re.sub(r"\x1b\[[\d;]*m", "", coloured) == plain


@pytest.mark.slow
def test_a_terminal_gets_colours_and_links(tmp_path: Path) -> None:
    """`--color auto`, the default, where standard output is a terminal."""
    pty = pytest.importorskip("pty", reason="this system has no pseudo-terminals")
    (tmp_path / "a.py").write_text(FIXABLE)
    environment = {key: value for key, value in os.environ.items() if key not in ("NO_COLOR", "FORCE_COLOR", "CI")}
    for choice, is_coloured in ((), True), (("--color", "auto"), True), (("--color", "never"), False):
        ours, theirs = pty.openpty()
        words = ["check", "--isolated", "--show-advice", "--no-progress", *choice, "."]
        command = [sys.executable, "-m", "tflint_gpu", *words]
        subprocess.run(command, cwd=tmp_path, stdout=theirs, env={**environment, "TERM": "xterm"}, timeout=600)
        os.close(theirs)
        seen = b""
        with contextlib.suppress(OSError):  # the end, on Linux
            while data := os.read(ours, 4096):
                seen += data
        os.close(ours)
        assert b"TFG302" in seen and (COLOUR.encode() in seen) == is_coloured, choice
        assert (b"\x1b]8;;file://" in seen) == is_coloured, choice


def test_a_coloured_patch_is_the_patch(tmp_path: Path, commands: Warm) -> None:
    (tmp_path / "a.py").write_text(FIXABLE)
    words = ("check", "--isolated", "--target-tensorflow", "2.9", "--diff", ".")
    coloured = with_colours(commands, tmp_path, *words, "--color", "always")
    assert re.sub(r"\x1b\[[\d;]*m", "", coloured) == with_colours(commands, tmp_path, *words)
    assert "\x1b[1;31m-    ds = ds.prefetch" in coloured and "\x1b[1;32m+    ds = ds.map" in coloured


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_shells_get_a_script_and_options(shell: str, tmp_path: Path, commands: Warm) -> None:
    variable = "_TFLINT_GPU_COMPLETE"
    script = with_colours(commands, tmp_path, **{variable: f"{shell}_source"})
    assert variable in script and "tflint-gpu" in script
    asked = {"COMP_WORDS": "tflint-gpu check --sel", "COMP_CWORD": "2" if shell != "fish" else "--sel"}
    assert "--select" in with_colours(commands, tmp_path, **{variable: f"{shell}_complete"}, **asked)
