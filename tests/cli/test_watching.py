"""Protects `--watch`: each change is checked once it is there, and nothing is checked for no reason.

Nothing here waits for a time: the command says when it watches, and the tests wait for its words.
"""

from __future__ import annotations

import os
import queue
import signal
import subprocess
import sys
import threading
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tflint_gpu.cli.check.watching import has_a_say, watch

BROKEN = 'import tensorflow as tf\n\nwith tf.device("/GUP:0"):\n    pass\n'
WHOLE = BROKEN.replace("GUP", "GPU")
PATIENCE = 300
needs_watchdog = pytest.mark.skipif(
    subprocess.run([sys.executable, "-c", "import watchdog"], capture_output=True).returncode != 0,
    reason="the extra `watch` is not installed",
)


class Watching:
    """A running `check --watch`.

    Arguments:
        folder: where it runs.
        arguments: more of the command line.
    """

    def __init__(self, folder: Path, *arguments: str) -> None:
        command = [sys.executable, "-m", "tflint_gpu", "check", "--watch", "--output-format", "concise", *arguments]
        self.process = subprocess.Popen(
            command, cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
            env={**os.environ, "PYTHONUNBUFFERED": "1"},
        )  # fmt: skip
        self._lines: queue.SimpleQueue[str] = queue.SimpleQueue()
        threading.Thread(target=self._read, daemon=True).start()

    def _read(self) -> None:
        assert self.process.stdout is not None
        for line in self.process.stdout:
            self._lines.put(line.rstrip("\n"))

    def report(self) -> list[str]:
        """The lines that are printed until the command waits for changes."""
        lines: list[str] = []
        while not lines or not lines[-1].endswith("] Watching for file changes."):
            lines.append(self._lines.get(timeout=PATIENCE))
        return lines[:-1]

    def until(self, words: str) -> list[str]:
        """The report in which some words stand, which may not be the first after a change of several files."""
        while True:
            report = self.report()
            if any(words in line for line in report):
                return report

    def end(self) -> int:
        """Ctrl-C; the exit code."""
        self.process.send_signal(signal.SIGINT)
        return self.process.wait(PATIENCE)


@pytest.fixture
def watching(tmp_path: Path) -> Iterator[Any]:
    """Starts the command in the test's own folder, and ends it."""
    started: list[Watching] = []

    def start(*arguments: str) -> Watching:
        started.append(Watching(tmp_path, *arguments))
        return started[-1]

    yield start
    for one in started:
        if one.process.poll() is None:
            one.process.kill()
            one.process.wait()


@needs_watchdog
def test_what_watchdog_warns_of_is_no_part_of_a_report(tmp_path: Path) -> None:
    """Protects who watches a folder in which the cache is made just then: watchdog warns of a folder that it saw twice."""

    def check() -> int:
        warnings.warn_explicit("seen twice", RuntimeWarning, "inotify.py", 365, "watchdog.observers.inotify")
        raise KeyboardInterrupt

    with warnings.catch_warnings(record=True) as told, pytest.raises(KeyboardInterrupt):
        watch(check, [str(tmp_path)])
    assert told == []


@pytest.mark.slow
@needs_watchdog
def test_each_change_is_checked(tmp_path: Path, watching: Any) -> None:
    (tmp_path / "pyproject.toml").write_text("")
    (tmp_path / "a.py").write_text(WHOLE)
    command = watching("--select", "TFG502")
    first = command.report()
    assert first[0].endswith("] Starting to watch...")
    assert first[1:] == ["All checks passed!"]
    (tmp_path / "a.py").write_text(BROKEN)
    [head, *report] = command.until("TFG502")
    assert head.endswith("] File change detected...")
    assert report[0].startswith("a.py:3:16: error: TFG502 ") and report[1:] == ["Found 1 problem."]
    (tmp_path / "new").mkdir()
    (tmp_path / "new" / "b.py").write_text(BROKEN)
    command.until("Found 2 problems.")
    (tmp_path / "a.py.tmp").write_text(WHOLE)
    (tmp_path / "a.py.tmp").replace(tmp_path / "a.py")  # as many editors save
    command.until("Found 1 problem.")
    (tmp_path / "new" / "b.py").unlink()
    command.until("All checks passed!")
    assert command.end() == 130


@pytest.mark.slow
@needs_watchdog
def test_settings_and_mistakes_in_them(tmp_path: Path, watching: Any) -> None:
    """Protects a session from a settings file that is half written, and from one above the folder that is watched."""
    (tmp_path / "src").mkdir()
    settings = tmp_path / "pyproject.toml"
    settings.write_text('[tool.tflint-gpu]\nignore = ["ALL"]\n')
    (tmp_path / "src" / "a.py").write_text(BROKEN)
    command = watching("src")
    assert command.report()[1:] == ["All checks passed!"]
    settings.write_text('[tool.tflint-gpu]\nselct = ["TFG502"]\n')
    assert any("did you mean `select`?" in line for line in command.until("error: "))
    settings.write_text('[tool.tflint-gpu]\nselect = ["TFG502"]\n')
    command.until("Found 1 problem.")


@pytest.mark.slow
@needs_watchdog
def test_single_files_and_fixes(tmp_path: Path, watching: Any) -> None:
    (tmp_path / "pyproject.toml").write_text("")
    path = tmp_path / "a.py"
    path.write_text("import tensorflow as tf\n")
    command = watching("--fix", "--extend-select", "TFG001", "a.py")
    assert command.report()[1:] == ["All checks passed!"]
    path.write_text("import tensorflow as tf\nx = 1  # noqa: TFG101\n")
    command.until("1 fixed, 0 remaining")
    assert path.read_text() == "import tensorflow as tf\nx = 1\n"
    assert command.report()[1:] == ["All checks passed!"], "its own change"


def test_what_has_a_say() -> None:
    for name in ("a.py", "x/b.ipynb", "pyproject.toml", "tflint-gpu.toml", "requirements-dev.txt", ".gitignore"):
        assert has_a_say(f"/p/{name}"), name
    for name in ("a.pyc", ".a.py.swp", "a.py~", "4913", "log.txt", ".tflint_gpu_cache/.gitignore", "data.json"):
        assert not has_a_say(f"/p/{name}"), name


def test_without_the_library_the_remedy_is_told(tmp_path: Path) -> None:
    script = "import sys; sys.modules['watchdog'] = None\nimport importlib.util as u; f = u.find_spec\nu.find_spec = lambda n, p=None: None if n == 'watchdog' else f(n, p)\nfrom tflint_gpu.cli import main; main(['check', '--watch'])"
    done = subprocess.run([sys.executable, "-c", script], cwd=tmp_path, capture_output=True, text=True, timeout=600)
    assert (done.returncode, done.stdout) == (2, "")
    assert "pip install 'tflint-gpu[watch]'" in done.stderr


@pytest.mark.parametrize("option", ["--diff", "--add-noqa", "--write-baseline", "--output-file=x", "--fix-only"])
def test_what_is_done_once_is_not_watched(option: str, tflint: Any) -> None:
    done = tflint("check", "--watch", option)
    assert (done.returncode, done.stdout) == (2, "")
    assert f"--watch and {option.partition('=')[0]} cannot be combined" in done.stderr


def test_standard_input_is_not_watched(tflint: Any) -> None:
    assert "standard input" in tflint("check", "--watch", "-", stdin="").stderr
