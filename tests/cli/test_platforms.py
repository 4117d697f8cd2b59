"""Protects Windows and macOS: what checks code needs nothing that only POSIX or Linux has.

A program without those modules and functions is as near to another system as a test on this one comes.
"""

from __future__ import annotations

import re
import subprocess
import sys
from operator import itemgetter
from pathlib import Path

import pytest
import yaml
from checkout import ROOT, needs_installation
from editor import Editor, codes

from tflint_gpu.settings.patterns import FilePattern, FilePatterns, with_slashes

# Fork is Linux's way to start workers; elsewhere they are spawned.
ELSEWHERE = """
import multiprocessing, os, signal, sys, types
for name in "fcntl resource pwd grp termios tty pty syslog crypt".split():
    sys.modules[name] = None
without = "fork forkpty killpg getuid geteuid getgid getegid setsid mkfifo getpgid setpgid sched_getaffinity getloadavg"
for name in f"{without} chown lchown fchmod fchown statvfs openpty posix_spawn nice".split():
    if hasattr(os, name):
        delattr(os, name)
for name in "SIGKILL SIGHUP SIGALRM SIGUSR1 SIGUSR2 SIGQUIT SIGSTOP".split():
    if hasattr(signal, name):
        delattr(signal, name)
if __name__ == "__main__":
    import tflint_gpu.checking.processes as processes
    processes.sys = types.SimpleNamespace(**{**vars(sys), "platform": "darwin"})
"""
PROGRAM = """\
import tensorflow as tf

with tf.device('/GUP:0'):
    x = tf.ones(3)

def train(model, xs):
    ds = tf.data.Dataset.from_tensor_slices(xs)
    ds = ds.prefetch(1).map(lambda x: tf.io.decode_png(x)).batch(32)
    model.fit(ds, epochs=2)
"""
FIXED = PROGRAM.replace(".prefetch(1)", "").replace(".batch(32)", ".batch(32).prefetch(1)")
RULES = ["--select", "TFG302,TFG502", "--target-tensorflow", "2.9"]  # from 2.11 on TFG302 is advice


def python(folder: Path, program: str, **arguments: object) -> subprocess.CompletedProcess[str]:
    script = folder / "elsewhere.py"
    script.write_text(ELSEWHERE + program)
    return subprocess.run([sys.executable, str(script)], cwd=folder, capture_output=True, text=True, **arguments)  # type: ignore[call-overload, no-any-return]


@pytest.mark.slow
@pytest.mark.parametrize("jobs", ["1", "2"])
@pytest.mark.parametrize("fixes", ["--no-fix", "--fix"])
def test_check_needs_no_posix(jobs: str, fixes: str, tmp_path: Path) -> None:
    project = tmp_path / "project"
    project.mkdir()
    for name in "abcdefgh":
        (project / f"{name}.py").write_bytes(PROGRAM.replace("\n", "\r\n").encode())
    words = ["check", "--isolated", "--no-cache", *RULES, "--jobs", jobs, fixes, "project"]
    call = f"    sys.argv[1:] = {words}\n    from tflint_gpu.cli import main\n    main()\n"
    done = python(tmp_path, call)
    assert (done.returncode, done.stderr, done.stdout.count("TFG502")) == (1, "", 8), done.stderr
    expected = FIXED if fixes == "--fix" else PROGRAM
    assert {path.read_bytes().decode() for path in project.iterdir()} == {expected.replace("\n", "\r\n")}
    assert done.stdout.count("TFG302") == (0 if fixes == "--fix" else 8)


@pytest.mark.parametrize(
    "module", ["cli.rule", "cli.doctor", "cli.server", "integrations.flake8", "integrations.lsp", "checking.workers"]
)
def test_the_plugin_the_server_and_the_other_commands_are_imported(module: str, tmp_path: Path) -> None:
    done = python(tmp_path, f"    import tflint_gpu.{module}\n")
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.slow
def test_the_plugin_needs_no_posix(tmp_path: Path) -> None:
    (tmp_path / "a.py").write_text(PROGRAM)
    words = ["--isolated", "--select=TFG", "--jobs=1", "a.py"]
    call = f"    sys.argv[1:] = {words}\n    from flake8.main.cli import main\n    sys.exit(main())\n"
    needs_installation()
    done = python(tmp_path, call)
    assert (done.returncode, done.stderr) == (1, "") and done.stdout.startswith("a.py:3:16: TFG502 ")


@pytest.mark.slow
@pytest.mark.parametrize("hook", yaml.safe_load((ROOT / ".pre-commit-hooks.yaml").read_text()), ids=itemgetter("id"))
def test_the_hooks_need_no_posix(hook: dict[str, str], tmp_path: Path) -> None:
    (tmp_path / "a.py").write_text(PROGRAM)
    program, *words = hook["entry"].split()
    assert program == "tflint-gpu"
    call = f"    sys.argv[1:] = {[*words, *RULES, 'a.py']}\n    from tflint_gpu.cli import main\n    main()\n"
    done = python(tmp_path, call)
    assert (done.returncode, done.stderr) == (1, ""), done.stderr
    assert (tmp_path / "a.py").read_text() == (FIXED if "--fix-only" in words else PROGRAM)
    assert "TFG302" in done.stdout and ("TFG502" in done.stdout) == ("--fix-only" not in words)


@pytest.mark.slow
@pytest.mark.asyncio
async def test_the_language_server_needs_no_posix(tmp_path: Path) -> None:
    call = "    sys.argv[1:] = ['server']\n    from tflint_gpu.cli import main\n    main()\n"
    (tmp_path / "elsewhere.py").write_text(ELSEWHERE + call)
    editor = Editor(tmp_path)
    await editor.start(command=(sys.executable, str(tmp_path / "elsewhere.py")))
    assert ("TFG502", 3) in codes(await editor.open("a.py", PROGRAM))
    assert await editor.leave() == 0


@pytest.mark.slow
def test_doctor_needs_no_posix(tmp_path: Path) -> None:
    """It looks at a machine without NVIDIA's files and without TensorFlow; what it says of Windows is in its own tests."""
    bare = tmp_path / "bare"
    bare.write_text(f'#!/bin/sh\nexec "{sys.executable}" -S "$@"\n')
    bare.chmod(0o755)
    call = (
        f"    sys.argv[1:] = ['doctor', '--python', {str(bare)!r}]\n    from tflint_gpu.cli import main\n    main()\n"
    )
    done = python(tmp_path, call)
    assert (done.returncode, done.stderr) == (1, "") and "TFG909" in done.stdout, done.stderr


@pytest.mark.slow
def test_the_tests_of_other_systems_run_without_posix(tmp_path: Path) -> None:
    """Protects the workflow: its tests are collected, and what they share starts commands, also where nothing forks."""
    workflow = yaml.safe_load((ROOT / ".github" / "workflows" / "test.yml").read_text())
    [command] = [
        step["run"] for step in workflow["jobs"]["elsewhere"]["steps"] if "pytest -n auto" in step.get("run", "")
    ]
    files = [word for word in command.split() if word.startswith("tests/")]
    for words in (["--collect-only", *files], ["tests/settings", "-k", "monorepo or pipe or links"]):
        call = (
            f"    sys.path.insert(0, {str(ROOT / 'tests')!r})\n    import warm\n    warm.HAS_FORKS = False\n"
            f"    import pytest\n    sys.exit(pytest.main({['-p', 'no:cacheprovider', *words]}))\n"
        )
        script = tmp_path / "tests_elsewhere.py"
        script.write_text(ELSEWHERE.replace(" getuid ", " ") + call)  # which pytest itself asks on Linux
        done = subprocess.run([sys.executable, str(script)], cwd=ROOT, capture_output=True, text=True, timeout=1200)
        assert done.returncode == 0, done.stdout[-3000:]


ROW = re.compile(r"^\| (`.*?) \| (.+?) \| (.+?) \| (.+?) \|$", re.MULTILINE)
ON_WINDOWS = """
    import tflint_gpu.cli.commands as commands
    commands.sys = types.SimpleNamespace(**{**vars(sys), "platform": "win32"})
    from tflint_gpu.cli import main
    main()
"""


@pytest.mark.slow
def test_the_page_says_what_runs_where_and_the_rest_refuses_in_one_sentence(tmp_path: Path) -> None:
    """Protects who is on Windows: no traceback of a module that only POSIX has, and the page knows it before."""
    page = (ROOT / "docs" / "getting-started.md").read_text("utf-8")
    rows = ROW.findall(page.partition("## Platforms")[2].partition("\n## ")[0])
    cells = {name: windows for names, _, _, windows in rows for name in re.findall(r"`(\w+)`", names)}
    assert {"check", "rule", "server", "verify", "run", "doctor"} <= set(cells)
    (tmp_path / "train.py").write_text("")
    for name in ("check", "verify", "run"):
        done = python(tmp_path, f"    sys.argv[1:] = [{name!r}, 'train.py']{ON_WINDOWS}")
        if cells[name] == "yes":
            assert (done.returncode, done.stderr) == (0, "")
            continue
        assert cells[name].startswith("no") and (done.returncode, done.stdout) == (2, ""), name
        assert done.stderr.startswith(f"error: {name} ") and "on Windows use WSL" in done.stderr
        assert done.stderr.count("\n") == 1, done.stderr


def test_patterns_of_windows() -> None:
    """Protects `exclude = ['build\\*', 'C:\\old']`; elsewhere a backslash is a part of a name."""
    assert with_slashes(r"build\*.py", "\\") == "build/*.py" and with_slashes(r"a\b", "/") == r"a\b"
    drive = FilePatterns((FilePattern("C:/old/*", Path("C:/project")),))
    assert drive.match("C:/old/a.py") and not drive.match("C:/project/C:/old/a.py")
