"""The program is run unchanged: what it gets, says and ends with is what it would without the sampler."""

from __future__ import annotations

import contextlib
import json
import os
import pty
import shutil
import signal
import subprocess
import sys
import textwrap
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tflint_gpu.run.program import read_samples

pytestmark = pytest.mark.slow

ROOT = Path(__file__).parents[2]
Write = Callable[..., Path]
PLAIN = {**os.environ, "PYTHONPATH": str(ROOT), "NO_COLOR": "1"}


@pytest.fixture
def write(tmp_path: Path) -> Write:
    def write_it(text: str, name: str = "program.py") -> Path:
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(textwrap.dedent(text))
        return path

    return write_it


def command(*arguments: str) -> list[str]:
    return [sys.executable, "-m", "tflint_gpu", "run", "--isolated", *arguments]


def run(folder: Path, *arguments: str, text: str = "") -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        command(*arguments), cwd=folder, input=text, capture_output=True, text=True, timeout=600, env=PLAIN
    )


def plainly(folder: Path, *arguments: str, text: str = "") -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, *arguments], cwd=folder, input=text, capture_output=True, text=True, timeout=600, env=PLAIN
    )


def measured(folder: Path, *arguments: str) -> dict[str, Any]:
    done = run(folder, "--output-format", "json", "-o", "run.json", *arguments)
    assert (folder / "run.json").exists(), done.stderr
    report: dict[str, Any] = json.loads((folder / "run.json").read_text())
    return report


ENVIRONMENT = """
    import sys, os, pickle
    import beside
    from multiprocessing import current_process
    print(sys.argv, __name__, __file__, sys.path[0], __spec__, __package__, current_process().name)
    print(sys.stdin.read().upper(), beside.__name__, sys.modules["__main__"].__file__, len(os.listdir("/proc/self/fd")) > 0)
    class Thing: pass
    print(type(pickle.loads(pickle.dumps(Thing()))).__module__, sorted(globals())[:12])
    print("to the other stream", file=sys.stderr)
    import atexit
    atexit.register(print, "at the end")
    sys.exit(3)
"""


def test_a_file_sees_what_it_would_see_without(tmp_path: Path, write: Write) -> None:
    write(ENVIRONMENT, "folder/program.py")
    write("", "folder/beside.py")
    arguments = ["folder/program.py", "--epochs", "3", "-m", "--", "-h"]
    alone, watched = plainly(tmp_path, *arguments, text="abc"), run(tmp_path, *arguments, text="abc")
    assert watched.returncode == alone.returncode == 3
    assert watched.stdout == alone.stdout
    assert watched.stderr.startswith(alone.stderr)
    assert "ended with exit code 3" in watched.stderr


def test_a_module_sees_what_it_would_see_without(tmp_path: Path, write: Write) -> None:
    write("", "package/__init__.py")
    text = "import sys\nprint(sys.argv, __name__, __file__, sys.path[0], __spec__.name, __package__)\nsys.exit('bad')\n"
    write(text, "package/train.py")
    alone, watched = plainly(tmp_path, "-m", "package.train", "x"), run(tmp_path, "-m", "package.train", "x")
    assert (watched.stdout, watched.returncode) == (alone.stdout, alone.returncode)
    assert watched.stderr.startswith("bad\n")


def test_a_crash_shows_its_own_traceback_and_still_gives_a_report(tmp_path: Path, write: Write) -> None:
    write("import time\ndef f():\n    time.sleep(0.5)\n    raise KeyError('no')\nf()\n")
    alone, watched = plainly(tmp_path, "program.py"), run(tmp_path, "program.py")
    assert watched.returncode == alone.returncode == 1
    assert watched.stderr.startswith(alone.stderr)
    assert "program.py:3 in f" in watched.stderr


def test_what_no_interpreter_can_tell_of_still_gives_a_report(tmp_path: Path, write: Write) -> None:
    write("import os, time, signal\ntime.sleep(0.5)\nos.kill(os.getpid(), signal.SIGKILL)\n")
    done = run(tmp_path, "program.py")
    assert done.returncode == -signal.SIGKILL
    assert "was ended by SIGKILL" in done.stderr and "program.py:2" in done.stderr


@pytest.mark.parametrize(("number", "code"), [(signal.SIGTERM, 9), (signal.SIGINT, 9), (signal.SIGUSR1, 9)])
def test_signals_reach_the_programs_own_handlers(
    tmp_path: Path, write: Write, number: signal.Signals, code: int
) -> None:
    write(f"""
        import itertools, signal, sys, time
        signal.signal({int(number)}, lambda *_: sys.exit({code}))
        for iteration in itertools.count():
            time.sleep(0.05)
            iteration == 20 and print("ready", flush=True)
    """)
    done = signalled(tmp_path, number)
    assert done.returncode == code
    assert f"ended with exit code {code}" in done.stderr and "program.py:5" in done.stderr


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_that_ends_the_program_ends_the_command(tmp_path: Path, write: Write, number: signal.Signals) -> None:
    write("""
        import itertools, time
        for iteration in itertools.count():
            time.sleep(0.05)
            iteration == 20 and print("ready", flush=True)
    """)
    done = signalled(tmp_path, number)
    assert done.returncode == -number
    assert f"was ended by {number.name}" in done.stderr and "program.py:4" in done.stderr


def signalled(folder: Path, number: signal.Signals) -> subprocess.CompletedProcess[str]:
    """Run the program, and send a signal to the command when it says that it is ready."""
    process = subprocess.Popen(
        command("program.py"), cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=PLAIN
    )
    assert process.stdout is not None
    assert process.stdout.readline() == "ready\n"
    process.send_signal(number)
    out, err = process.communicate(timeout=600)
    return subprocess.CompletedProcess([], process.returncode, out, err)


@pytest.mark.parametrize("method", ["fork", "spawn", "forkserver"])
def test_processes_of_multiprocessing_are_followed_and_told_apart(tmp_path: Path, write: Write, method: str) -> None:
    """Protects data workers from being overlooked, however Python starts them."""
    write(f"""
        import multiprocessing, time

        def work(_):
            time.sleep(0.7)

        if __name__ == "__main__":
            context = multiprocessing.get_context("{method}")
            with context.Pool(2) as pool:
                pool.map(work, range(4))
    """)
    report = measured(tmp_path, "program.py")
    assert report["exit_code"] == 0 and report["processes"] == 3
    work = next(line for line in report["workers"] if line["function"] == "work")
    assert work["seconds"] > 2.0
    assert not any(line["function"] == "work" for line in report["lines"])


SPAWNED = """
    import multiprocessing, os, sys

    def show(queue):
        queue.put((sys.argv, __name__, sorted(set(sys.modules["__main__"].__dict__)), os.environ.get("PYTHONPATH")))

    if __name__ == "__main__":
        context = multiprocessing.get_context("spawn")
        queue = context.SimpleQueue()
        process = context.Process(target=show, args=(queue,))
        process.start()
        print(queue.get())
        process.join()
        sys.exit(process.exitcode)
"""


def test_a_spawned_process_sees_what_it_would_see_without(tmp_path: Path, write: Write) -> None:
    write(SPAWNED)
    alone, watched = plainly(tmp_path, "program.py", "x"), run(tmp_path, "program.py", "x")
    assert (watched.stdout, watched.returncode) == (alone.stdout, alone.returncode)
    assert watched.stderr.startswith(alone.stderr)


CHILDREN = """
    import subprocess, sys
    def start(*words, **options):
        done = subprocess.run([sys.executable, *words], capture_output=True, text=True, **options)
        print(words[:3], done.returncode, done.stdout, done.stderr)
    start("worker.py", "a", "-m", "b")
    start("-u", "-Wignore", "-X", "dev", "folder/worker.py", close_fds=False)
    start("worker.py", cwd="folder")
    start("-m", "folder.worker", "--process-name", "x")
    start("package", "x")
    start("package.zip")
    start("-c", "from __future__ import annotations\\nimport sys\\nfor one in [1]: print(sys.argv, __name__, sys.path[0])", "x")
    start("-c", "class A: pass\\nprint(sorted(globals()), A.__module__, sys.path)")
    start("-c", "import sys; sys.exit('bad')")
    start("-I", "worker.py")
    start("-m")
    start("nothing.py")
    start("-", input="print('from standard input')")
    start("-c", "import os; print(os.environ.get('PYTHONPATH'), 3)", env={"PYTHONPATH": "x"})
    print(subprocess.run("echo of a shell", shell=True, capture_output=True).stdout)
"""
WORKER = """
    import sys, time
    print(sys.argv, __name__, __file__, sys.path[0], __spec__ and __spec__.name, __package__, sys.flags)
    print(sorted(globals()), sorted(name for name in sys.modules if "tflint" not in name) == 0)
    raise ValueError("of the worker")
"""


def test_the_programs_that_it_starts_see_what_they_would_see_without(tmp_path: Path, write: Write) -> None:
    """Protects programs that start Python in any way from being run otherwise than they are written."""
    write(CHILDREN)
    write(WORKER, "worker.py")
    write(WORKER, "folder/worker.py")
    write(WORKER, "package/__main__.py")
    shutil.make_archive(str(tmp_path / "package"), "zip", tmp_path / "package")
    alone, watched = plainly(tmp_path, "program.py"), run(tmp_path, "program.py")
    assert watched.stdout == alone.stdout
    assert alone.stdout.count("ValueError: of the worker") >= 6 and "from standard input" in alone.stdout


STARTED = """
    import subprocess, sys
    ways = (["worker.py"], ["-m", "worker"], ["-c", "import worker; worker.working()"])
    for process in [subprocess.Popen([sys.executable, *words]) for words in ways]:
        assert process.wait() == 0
"""
WORKING = """
    import time

    def working():
        time.sleep(0.7)

    if __name__ == "__main__":
        working()
"""


def test_python_programs_that_it_starts_are_sampled_too(tmp_path: Path, write: Write) -> None:
    """Protects joblib's workers and those of a `subprocess` from being overlooked."""
    write(STARTED)
    write(WORKING, "worker.py")
    report = measured(tmp_path, "program.py")
    assert report["exit_code"] == 0 and report["processes"] == 4
    work = [line for line in report["workers"] if line["function"] == "working"]
    assert sum(line["seconds"] for line in work) > 1.5
    assert not any(line["function"] == "working" for line in report["lines"])


def test_a_folder_that_python_is_not_to_look_in_is_not_looked_in(tmp_path: Path, write: Write) -> None:
    """Protects programs under PYTHONSAFEPATH from modules beside them."""
    write("import sys\nprint(sys.path)\nprint(sys.argv)\n")
    environment = {**PLAIN, "PYTHONSAFEPATH": "1"}
    for words in (["program.py"], ["-m", "program"]):
        alone, watched = (
            subprocess.run([*start, *words], cwd=tmp_path, capture_output=True, text=True, timeout=600, env=environment)
            for start in ([sys.executable], command())
        )
        assert (alone.stdout, alone.returncode) == (watched.stdout, watched.returncode)


def test_a_file_that_gets_the_pipes_number_is_not_written_to(tmp_path: Path, write: Write) -> None:
    """Protects files of programs that close everything that they inherited, as a daemon does."""
    write("""
        import os, time
        os.closerange(3, 100)
        files = [open(f"file{number}", "w+") for number in range(100)]
        time.sleep(1)
        assert not any(file.read() for file in files)
    """)
    assert run(tmp_path, "program.py").returncode == 0


def test_a_process_that_outlives_the_program_does_not_keep_the_report(tmp_path: Path, write: Write) -> None:
    write("""
        import os, time
        reading, writing = os.pipe()
        if os.fork() == 0:
            os.close(1), os.close(2), os.close(writing)
            os.read(reading, 1)  # for as long as the test holds nothing: forever, without the program
            time.sleep(60)
            os._exit(0)
    """)
    assert run(tmp_path, "program.py").returncode == 0


def test_a_program_that_is_not_there(tmp_path: Path) -> None:
    done = run(tmp_path, "nothing.py")
    assert done.returncode == 2 and "nothing.py: no such file" in done.stderr


def test_the_shares_of_a_plain_program_are_right(tmp_path: Path, write: Write) -> None:
    write("""
        import json, os, time

        def sleeping(seconds):
            time.sleep(seconds)

        def counting(seconds):
            end = time.monotonic() + seconds
            while time.monotonic() < end:
                pass

        truth = {}
        with open("truth.json", "w") as file:
            os.chdir("/")
            for one in (sleeping, counting):
                began = time.monotonic()
                one(1.5)
                truth[one.__name__] = time.monotonic() - began
            json.dump(truth, file)
    """)
    report = measured(tmp_path, "program.py")
    truth = json.loads((tmp_path / "truth.json").read_text())
    seconds = {}
    for line in report["lines"]:
        assert line["filename"] in (None, str(tmp_path / "program.py"))
        seconds[line["function"]] = seconds.get(line["function"], 0.0) + line["seconds"]
    for name in ("sleeping", "counting"):
        assert abs(seconds[name] - truth[name]) < 0.05 * report["seconds"], (seconds, truth)


def test_settings_that_are_broken_meanwhile_cost_the_findings_and_not_the_report(tmp_path: Path, write: Write) -> None:
    """Protects the report on hours, and the exit code, from whatever goes wrong afterwards."""
    write("[tool.tflint-gpu]\nselect = ['TFG2']\n", "pyproject.toml")
    write("""
        import sys, time
        import tensorflow as tf
        open("pyproject.toml", "w").write("[")
        time.sleep(0.5)
        sys.exit(4)
    """)
    write("", "tensorflow.py")
    done = subprocess.run(
        [one for one in command("program.py") if one != "--isolated"],
        cwd=tmp_path, capture_output=True, text=True, timeout=600, env=PLAIN,
    )  # fmt: skip
    assert done.returncode == 4
    assert "warning: what `check` finds" in done.stderr or "TFG" not in done.stderr
    assert "program.py:5" in done.stderr


def test_a_program_that_runs_for_hours_is_told_of_meanwhile(tmp_path: Path, write: Write) -> None:
    """Protects who waits for days: the program ends only after a report on it was written."""
    write("""
        import json, os, time
        while not os.path.exists("run.json"):
            time.sleep(0.05)
        report = json.load(open("run.json"))
        print(report["exit_code"], report["findings"])
    """)
    done = run(tmp_path, "--report-every", "0.1s", "--output-format", "json", "-o", "run.json", "program.py")
    assert (done.stdout, done.returncode) == ("None []\n", 0)
    assert json.loads((tmp_path / "run.json").read_text())["exit_code"] == 0


def test_ctrl_c_on_a_terminal_ends_the_program_once_and_gives_the_report(tmp_path: Path, write: Write) -> None:
    """Protects the way that a terminal takes: it sends the signal to the program and to the command at once."""
    write("import time\nprint('ready', flush=True)\nwhile True:\n    time.sleep(0.05)\n")
    child, terminal = pty.fork()
    if child == 0:
        os.chdir(tmp_path)
        os.execve(sys.executable, command("program.py"), PLAIN)
    seen = b""
    with contextlib.suppress(OSError):  # the terminal is gone with the last process on it
        while data := os.read(terminal, 1 << 16):
            if b"ready\r\n" not in seen and b"ready\r\n" in seen + data:  # a traceback may show the word again
                os.write(terminal, b"\x03")
            seen += data
    os.close(terminal)
    _, status = os.waitpid(child, 0)
    assert os.waitstatus_to_exitcode(status) == -signal.SIGINT
    assert seen.count(b"KeyboardInterrupt") == 1 and b"was ended by SIGINT" in seen, seen


COUNTING = """
    import os, signal, sys
    seen = []
    signal.signal(signal.SIGUSR1, lambda *_: (seen.append("USR1"), print("one", flush=True)))
    signal.signal(signal.SIGUSR2, lambda *_: (print(*seen, flush=True), sys.exit(7)))
    os.getpgrp() == os.getppid() or os._exit(1)
    {leave}
    print("ready", flush=True)
    while True:
        signal.pause()
"""


@pytest.mark.parametrize(("leave", "who"), [("", "all"), ("", "the command"), ("os.setpgrp()", "all")])
def test_a_signal_reaches_the_program_once(tmp_path: Path, write: Write, leave: str, who: str) -> None:
    """Protects from a second SIGTERM in the middle of what the first one began: `timeout` and `kill -- -GROUP` signal all.

    A program that has left the group only gets it from the command. The second signal comes after the first in any case.
    """
    write(COUNTING.format(leave=leave))
    process = subprocess.Popen(
        command("program.py"), cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=PLAIN,
        start_new_session=True,
    )  # fmt: skip
    assert process.stdout is not None and process.stdout.readline() == "ready\n"
    if who == "all":  # the command gets it when the program has had it: two at once would be one
        process.send_signal(signal.SIGSTOP)
        os.waitpid(process.pid, os.WUNTRACED)
        os.killpg(process.pid, signal.SIGUSR1)
        assert leave or process.stdout.readline() == "one\n"
        process.send_signal(signal.SIGCONT)
    else:
        process.send_signal(signal.SIGUSR1)
    if leave or who != "all":
        assert process.stdout.readline() == "one\n"
    os.kill(process.pid, signal.SIGUSR2)
    out, err = process.communicate(timeout=600)
    assert (out, process.returncode) == ("USR1\n", 7), err


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux ends a process with its parent")
def test_the_program_ends_when_the_command_is_killed(tmp_path: Path, write: Write) -> None:
    """Protects a machine from trainings that nobody waits for, whatever signals they ignore."""
    write("""
        import signal, os
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        print(os.getpid(), flush=True)
        while True:
            signal.pause()
    """)
    process = subprocess.Popen(
        command("program.py"), cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, env=PLAIN
    )
    assert process.stdout is not None
    program = int(process.stdout.readline())
    process.kill()
    try:
        assert process.communicate(timeout=60) == ("", None), "its output ends with the last process that has it"
    except subprocess.TimeoutExpired:
        os.kill(program, signal.SIGKILL)
        raise


def test_all_that_the_program_wrote_is_read_however_late(monkeypatch: pytest.MonkeyPatch) -> None:
    """Protects the findings of a run whose last samples are read when the machine has time again."""
    reading, writing = os.pipe()  # the writing end stays open, as a process that outlives the program keeps it
    lines = [b"%d" % number for number in range(5000)]
    os.write(writing, b"\n".join(lines) + b"\n")
    done, taken = threading.Event(), []
    done.set()
    clock = iter(range(0, 10**9, 10))
    monkeypatch.setattr(time, "monotonic", lambda: next(clock))
    read_samples(reading, taken.append, done)
    os.close(reading), os.close(writing)
    assert taken == lines
