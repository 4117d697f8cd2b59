"""Protects people from waiting in the dark, and everything else from a bar: files, CI, quick checks, reports."""

from __future__ import annotations

import io
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tflint_gpu.cli.check.progress import PATIENCE, Progress, is_watched

pty = pytest.importorskip("pty")
SCRIPT = "import tflint_gpu.cli.check.progress as p; p.PATIENCE = 0; from tflint_gpu.cli import main; main({!r})"
PROGRAM = 'import tensorflow as tf\nwith tf.device("/GUP:0"):\n    pass\n'


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def told(times: list[float], total: int = 10) -> str:
    """What is written if the files are done at these times."""
    terminal, now = Terminal(), iter([0.0, *times])
    progress = Progress(terminal, lambda: next(now))
    for done in range(1, len(times) + 1):
        progress.tell(done, total)
    progress.close()
    return terminal.getvalue()


def test_nothing_is_shown_before_it_takes_long() -> None:
    assert told([0.1, PATIENCE - 0.01]) == ""


def test_a_bar_grows_and_goes() -> None:
    text = told([1.0, PATIENCE, PATIENCE + 0.01, PATIENCE + 1], total=4)
    first, second, blank, end = text.split("\r")[1:]
    assert first == "checked 2 of 4 files [###############...............]"
    assert second == "checked 4 of 4 files [##############################]", "and none in between, so soon"
    assert (blank.strip(), len(blank), end) == ("", len(second), "")


def test_who_sees_it() -> None:
    assert is_watched(Terminal(), {})
    assert not is_watched(io.StringIO(), {})
    assert not is_watched(Terminal(), {"CI": "true"})
    assert not is_watched(Terminal(), {"TERM": "dumb"})


def on_a_terminal(folder: Path, *arguments: str, **environment: str) -> tuple[str, str]:
    """Standard output, and what comes on a terminal that is standard error."""
    ours, theirs = pty.openpty()
    inherited = {key: value for key, value in os.environ.items() if key != "CI"}
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT.format(["check", "--isolated", "--no-cache", *arguments])],
        cwd=folder, stdout=subprocess.PIPE, stderr=theirs, text=True, timeout=600,
        env={**inherited, "TERM": "xterm", **environment},
    )  # fmt: skip
    os.close(theirs)
    seen = b""
    try:
        while data := os.read(ours, 4096):
            seen += data
    except OSError:  # the end, on Linux
        pass
    os.close(ours)
    return done.stdout, seen.decode()


@pytest.mark.slow
def test_the_bar_is_on_a_terminal_only_and_can_be_switched_off(tmp_path: Path) -> None:
    for number in range(3):
        (tmp_path / f"f{number}.py").write_text(PROGRAM)
    plain = ("--select", "TFG502", "--output-format", "concise")
    report, seen = on_a_terminal(tmp_path, *plain)
    assert seen.startswith("\rchecked 1 of 3 files [") and seen.endswith(" \r"), seen
    assert report.count("TFG502") == 3 and "checked" not in report
    assert "checked" in on_a_terminal(tmp_path, *plain, "--jobs", "2")[1]
    assert "checked" in on_a_terminal(tmp_path, *plain, "--diff")[1]
    assert on_a_terminal(tmp_path, *plain, "--quiet")[1] == ""
    assert on_a_terminal(tmp_path, *plain, "--no-progress")[1] == ""
    assert on_a_terminal(tmp_path, *plain, CI="true")[1] == ""
    (tmp_path / "tflint-gpu.toml").write_text("progress = false\n")
    arguments = ["check", "--no-cache", *plain]
    assert "checked" in on_a_terminal(tmp_path, *plain)[1], "isolated"
    done = subprocess.run([sys.executable, "-m", "tflint_gpu", *arguments, "--show-settings"], cwd=tmp_path, capture_output=True, text=True, timeout=600)  # fmt: skip
    assert "progress = false" in done.stdout
