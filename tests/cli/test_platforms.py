"""Protects Windows and macOS: what checks code needs nothing that only POSIX or Linux has.

A program without those modules and functions is as near to another system as a test on this one comes.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner

from tflint_gpu.cli.run import command as run
from tflint_gpu.cli.verify import command as verify
from tflint_gpu.settings.patterns import FilePattern, FilePatterns, with_slashes

# Fork is Linux's way to start workers; elsewhere they are spawned.
ELSEWHERE = """
import multiprocessing, os, signal, sys, types
for name in "fcntl resource pwd grp termios tty pty syslog crypt".split():
    sys.modules[name] = None
for name in "fork killpg getuid geteuid setsid mkfifo getpgid sched_getaffinity getloadavg".split():
    if hasattr(os, name):
        delattr(os, name)
for name in "SIGKILL SIGHUP SIGALRM SIGUSR1 SIGUSR2 SIGQUIT SIGSTOP".split():
    if hasattr(signal, name):
        delattr(signal, name)
if __name__ == "__main__":
    import tflint_gpu.checking.processes as processes
    processes.sys = types.SimpleNamespace(**{**vars(sys), "platform": "darwin"})
"""
PROGRAM = "import tensorflow as tf\n\nwith tf.device('/GUP:0'):\n    x = tf.ones(3)\n"


def python(folder: Path, program: str, **arguments: object) -> subprocess.CompletedProcess[str]:
    script = folder / "elsewhere.py"
    script.write_text(ELSEWHERE + program)
    return subprocess.run([sys.executable, str(script)], cwd=folder, capture_output=True, text=True, **arguments)  # type: ignore[call-overload, no-any-return]


@pytest.mark.parametrize("jobs", ["1", "2"])
@pytest.mark.parametrize("fixes", ["--no-fix", "--fix"])
def test_check_needs_no_posix(jobs: str, fixes: str, tmp_path: Path) -> None:
    project = tmp_path / "project"
    project.mkdir()
    for name in "abcdefgh":
        (project / f"{name}.py").write_bytes(PROGRAM.replace("\n", "\r\n").encode())
    words = ["check", "--isolated", "--no-cache", "--select", "TFG502", "--jobs", jobs, fixes, "project"]
    call = f"    sys.argv[1:] = {words}\n    from tflint_gpu.cli import main\n    main()\n"
    done = python(tmp_path, call)
    assert (done.returncode, done.stderr, done.stdout.count("TFG502")) == (1, "", 8), done.stderr
    assert all(path.read_bytes().count(b"\r\n") == 4 for path in project.iterdir()), "line ends stay"


@pytest.mark.parametrize(
    "module", ["cli.rule", "cli.doctor", "cli.server", "integrations.flake8", "integrations.lsp", "checking.workers"]
)
def test_the_plugin_the_server_and_the_other_commands_are_imported(module: str, tmp_path: Path) -> None:
    done = python(tmp_path, f"    import tflint_gpu.{module}\n")
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.parametrize("command", [run, verify], ids=["run", "verify"])
def test_windows_is_refused_in_one_sentence(command: object, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tflint_gpu.cli.commands.sys.platform", "win32")
    result = CliRunner().invoke(command, ["train.py"])  # type: ignore[arg-type]
    assert result.exit_code == 1
    assert result.output.startswith("Error: ") and "on Windows use WSL" in result.output
    assert len(result.output.splitlines()) == 1


def test_patterns_of_windows() -> None:
    """Protects `exclude = ['build\\*', 'C:\\old']`; elsewhere a backslash is a part of a name."""
    assert with_slashes(r"build\*.py", "\\") == "build/*.py" and with_slashes(r"a\b", "/") == r"a\b"
    drive = FilePatterns((FilePattern("C:/old/*", Path("C:/project")),))
    assert drive.match("C:/old/a.py") and not drive.match("C:/project/C:/old/a.py")
