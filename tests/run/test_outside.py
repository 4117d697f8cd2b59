"""A training that runs already is watched from outside, and goes on as if nobody had looked."""

from __future__ import annotations

import bisect
import contextlib
import importlib.metadata
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from tests.fake_nvml import FakeNvml
from tests.run.test_charges import options
from tflint_gpu.cli.run import Run
from tflint_gpu.reports import View
from tflint_gpu.run import Outside, Place, Recording, renderer
from tflint_gpu.run.inside.tflint_frames import FOLDERS
from tflint_gpu.run.outside import pyspy
from tflint_gpu.run.outside.functions import Functions
from tflint_gpu.run.outside.pyspy import CannotWatch
from tflint_gpu.run.outside.running import Running
from tflint_gpu.run.outside.stacks import Stacks
from tflint_gpu.run.samples import Held, Native

pytestmark = pytest.mark.slow

HERE = Path(__file__).parent
ROOT = HERE.parents[1]
WITHIN = 0.15


def can_watch() -> bool:
    with contextlib.suppress(CannotWatch):
        return sys.platform == "linux" and bool(pyspy.find())
    return False


LINUX = pytest.mark.skipif(not can_watch(), reason="no py-spy (extra `run`); other systems than Linux ask for root")
READABLE = "import ctypes; ctypes.CDLL(None).prctl(0x59616d61, ctypes.c_ulong(-1), 0, 0, 0)\n"


@contextmanager
def running(*words: str, folder: Path = HERE, **environment: str) -> Iterator[subprocess.Popen[str]]:
    """A program that has said that it is in its loop, and ends with its input."""
    pipes: dict[str, Any] = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.DEVNULL}
    with subprocess.Popen(
        [sys.executable, *words], cwd=folder, text=True, env={**os.environ, **environment}, **pipes
    ) as program:
        try:
            assert program.stdout is not None and program.stdout.readline() == "in the loop\n"
            yield program
        finally:
            program.kill()


def ended(program: subprocess.Popen[str]) -> str:
    """What a program says when its input has ended."""
    out, _ = program.communicate("", timeout=120)
    assert program.returncode == 0
    return out


def command(*arguments: str) -> list[str]:
    return [sys.executable, "-m", "tflint_gpu", "run", "--isolated", *arguments]


def asked(*arguments: str, **given: Any) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        command(*arguments), cwd=ROOT, capture_output=True, text=True, timeout=300, check=False, **given
    )


def watched(program: subprocess.Popen[str], folder: Path, **given: Any) -> tuple[dict[str, Any], tuple[float, float]]:
    """The report on a program, and from when to when it was watched."""
    window: list[float] = []
    real = Outside.watch

    def watch(*arguments: Any) -> str:
        window.append(time.monotonic())
        try:
            return real(*arguments)
        finally:
            window.append(time.monotonic())

    asks: dict[str, Any] = {"pid": program.pid, "watched_for": 8.0, "has_lock": False, "is_native": False, **given}
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Outside, "watch", watch)
        assert Run("", (), {**options(folder / "run.json"), **asks}, folder, FakeNvml(free=())).run() == 0
    return json.loads((folder / "run.json").read_text()), (window[0], window[1])


def planted(name: str, folder: Path) -> tuple[dict[str, Any], float]:
    """The report on `attached.py`, and the share of the time that its planted line says it took meanwhile."""
    with running("attached.py", name, TF_CPP_MIN_LOG_LEVEL="3") as program:
        report, (began, end) = watched(program, folder)
        told = json.loads(ended(program))
    before, after = (told[max(0, bisect.bisect(told, [moment, 0.0]) - 1)][1] for moment in (began, end))
    return report, (after - before) / (end - began)


@LINUX
@pytest.mark.parametrize(
    ("name", "way"),
    [("generator", ["data", "feed"]), pytest.param("callback", ["callbacks", ""], marks=pytest.mark.slow)],
)
def test_what_a_training_waits_for_is_named_first(name: str, way: list[str], tmp_path: Path) -> None:
    """Protects who watches a training that has run for hours from the wrong line."""
    report, truth = planted(name, tmp_path)
    first = report["lines"][0]
    assert (first["function"], Path(first["filename"]).name) == ("costs", "attached.py"), report["lines"][:5]
    assert [first["ways"][0]["phase"], first["ways"][0]["waits"]] == way
    assert abs(first["idle"] / report["seconds"] - truth) < WITHIN * truth, (truth, report["lines"][:5])


@LINUX
@pytest.mark.campaign
@pytest.mark.timed
def test_python_that_takes_less_than_a_millisecond_is_charged(tmp_path: Path) -> None:
    """Protects the share of what no thread in the program would see. A busy machine lets py-spy in when it pleases."""
    report, truth = planted("short", tmp_path)
    charged = sum(line["idle"] for line in report["lines"] if line["function"] == "costs")
    assert abs(charged / report["seconds"] - truth) < WITHIN * truth, (truth, report["lines"][:5])


LOOP = READABLE + (
    "import sys, threading, time\n"
    "over = threading.Event()\n"
    "threading.Thread(target=lambda: sys.stdin.read() or over.set()).start()\n"
    "print('in the loop', flush=True)\n"
    "while not over.is_set():\n"
    "    time.sleep(0.01)\n"
    "print('done')\n"
)


@pytest.fixture
def loop(tmp_path: Path) -> Path:
    path = tmp_path / "loop.py"
    path.write_text(LOOP)
    return path


@LINUX
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_ends_the_watch_and_not_the_program(loop: Path, number: signal.Signals) -> None:
    with running(str(loop)) as program:
        watch = subprocess.Popen(command("--pid", str(program.pid)), cwd=ROOT, stderr=subprocess.PIPE, text=True)
        wait_for_recordings(watch, 2)  # of which the first has been read
        watch.send_signal(number)
        _, error = watch.communicate(timeout=120)
        assert watch.returncode == 0
        assert f"process {program.pid} (" in error and "still running; watched for" in error
        assert "loop.py:7" in error
        assert ended(program) == "done\n"


def wait_for_recordings(watch: subprocess.Popen[str], number: int) -> None:
    """Return when py-spy has been started so often."""
    seen: set[str] = set()
    while len(seen) < number:
        assert watch.poll() is None
        for child in Path(f"/proc/{watch.pid}/task/{watch.pid}/children").read_text().split():
            with contextlib.suppress(OSError):
                if "record" in Path(f"/proc/{child}/cmdline").read_text().split("\0"):
                    seen.add(child)
        time.sleep(0.05)


@LINUX
def test_a_program_that_ends_ends_the_watch(loop: Path) -> None:
    with running(str(loop)) as program:
        watch = subprocess.Popen(command("--pid", str(program.pid)), cwd=ROOT, stderr=subprocess.PIPE, text=True)
        wait_for_recordings(watch, 1)
        assert ended(program) == "done\n"
        _, error = watch.communicate(timeout=120)
    assert watch.returncode == 0 and "has ended; watched for" in error


@LINUX
def test_who_holds_pythons_lock_is_told(tmp_path: Path) -> None:
    text = LOOP.replace("    time.sleep(0.01)\n", "    sum(range(1000))\n    time.sleep(0.01)\n")
    busy = "threading.Thread(target=lambda: [sum(range(99)) for _ in iter(over.is_set, True)]).start()\n"
    (tmp_path / "loop.py").write_text(text.replace("print('in", busy + "print('in"))
    with running("loop.py", folder=tmp_path) as program:
        report, _ = watched(program, tmp_path, has_lock=True, watched_for=4.0)
        ended(program)
    assert report["lock_holders"][0]["row"] == 5, report["lock_holders"]


@LINUX
def test_native_functions_are_told_with_their_library(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    text = LOOP.replace("    time.sleep(0.01)\n", "    zlib.compress(text, 9)\n").replace(
        "print('in", "import zlib\ntext = bytes(range(256)) * 20000\nprint('in"
    )
    (tmp_path / "loop.py").write_text(text)
    monkeypatch.setattr("tflint_gpu.run.outside._NATIVE_SECONDS", 3)
    with running("loop.py", folder=tmp_path) as program:
        report, _ = watched(program, tmp_path, is_native=True, watched_for=1.0)
        ended(program)
    functions = report["native_functions"]
    inside = sum(one["share"] for one in functions if "libz" in one["library"] or "zlib" in one["library"])
    assert inside > 0.5 and functions[0]["row"] == 9, functions


def test_the_report_for_the_terminal_has_native_functions_and_who_held_the_lock(tmp_path: Path) -> None:
    known, line = Recording.begin(FakeNvml(free=())), Place("/user/main.py", 7, "train", 1, 9)
    known.ledger.take(Native(0.25, "libtensorflow_cc.so.2", "IteratorGetNextOp::DoCompute", line))
    known.ledger.take(Held(9.0, (line,), ""))
    view = View(tmp_path)
    text = renderer("full")(known.report("process 7", view, pid=7, end="still running"), view)
    rows = [" ".join(row.split()) for row in text.splitlines()]
    assert "25% libtensorflow_cc.so.2 IteratorGetNextOp::DoCompute /user/main.py:7 in train" in rows, text
    assert "9.0 s /user/main.py:7 in train" in rows and rows[0].startswith("process 7: still running; watched for ")


@LINUX
def test_a_program_that_is_started_is_sampled_from_outside_unchanged(tmp_path: Path) -> None:
    (tmp_path / "program.py").write_text(
        READABLE
        + "import sys, time\nprint(sys.argv, sys.stdin.read(), 'tflint_sample' in sys.modules, flush=True)\n"
        + "for _ in range(400):\n    time.sleep(0.01)\nsys.exit(7)\n"
    )
    given = ["--sampler", "py-spy", "--output-format", "json", "-o", "run.json", "program.py", "one"]
    done = subprocess.run(
        command(*given), cwd=tmp_path, input="two", capture_output=True, text=True, timeout=300, check=False,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
    )  # fmt: skip
    assert (done.returncode, done.stdout) == (7, "['program.py', 'one'] two False\n"), done.stderr
    report = json.loads((tmp_path / "run.json").read_text())
    assert report["lines"][0]["row"] == 5 and report["lines"][0]["idle"] > 2, report["lines"]


@LINUX
def test_what_is_installed_for_the_programs_own_interpreter_is_not_its_users(loop: Path, tmp_path: Path) -> None:
    """Protects from lines of packages that this interpreter knows nothing of."""
    (tmp_path / "elsewhere" / "thing-1.0.dist-info").mkdir(parents=True)
    with running(str(loop), PYTHONPATH=str(tmp_path / "elsewhere")) as program:
        folders = Running.of(program.pid).folders("/nonexistent/python")
        ended(program)
    assert str(tmp_path / "elsewhere") + os.sep in folders


def test_without_py_spy_it_is_said_how_to_install_it(monkeypatch: pytest.MonkeyPatch) -> None:
    def nothing(name: str) -> None:
        raise importlib.metadata.PackageNotFoundError(name)

    monkeypatch.setattr(importlib.metadata, "files", nothing)
    monkeypatch.setenv("PATH", "")
    with pytest.raises(CannotWatch, match=r"pip install 'tflint-gpu\[run\]'"):
        pyspy.find()


@LINUX
def test_what_cannot_be_watched_is_refused_with_the_reason() -> None:
    with subprocess.Popen(["sleep", "600"]) as program:
        try:
            no_python = asked("--pid", str(program.pid))
        finally:
            program.kill()
    nobody = asked("--pid", str(program.pid))
    assert (nobody.returncode, no_python.returncode) == (2, 2)
    assert "there is no such process" in nobody.stderr
    assert "finds no Python interpreter in" in no_python.stderr
    for arguments in (["--pid", "1", "x.py"], ["--gil", "x.py"], ["--native", "x.py"], ["--seconds", "3", "x.py"], []):
        assert asked(*arguments).returncode == 2


DENIED = "Permission Denied: Try running again with elevated permissions"


@pytest.mark.parametrize(
    ("user", "scope", "capabilities", "system", "needs"),
    [
        (
            os.geteuid(),
            1,
            0,
            "linux",
            ["kernel.yama.ptrace_scope is 1", "sysctl kernel.yama.ptrace_scope=0", "sudo env"],
        ),
        (os.geteuid() + 1, 0, 0, "linux", ["belongs to another user; run it as root", "sudo env"]),
        (os.geteuid(), 0, 0, "linux", ["--cap-add SYS_PTRACE", "securityContext"]),
        (os.geteuid(), 0, 0, "darwin", ["nobody but root", "sudo env"]),
    ],
)
def test_what_is_not_permitted_names_what_it_takes(
    monkeypatch: pytest.MonkeyPatch, user: int, scope: int, capabilities: int, system: str, needs: list[str]
) -> None:
    monkeypatch.setattr(pyspy, "_user_of", lambda pid: user)
    monkeypatch.setattr(pyspy, "_scope", lambda: scope)
    monkeypatch.setattr(pyspy, "_capabilities", lambda: capabilities)
    monkeypatch.setattr(sys, "platform", system)
    told = pyspy.why_not(Running.of(os.getpid()), DENIED)
    assert all(need in told for need in needs), told


def decorated(function: Any) -> Any:
    return function


@decorated
def outer(numbers: list[int]) -> Any:
    def inner() -> Any:
        return [number + 1 for number in numbers]

    return inner, lambda: 1


def test_the_rows_of_functions_are_those_of_their_code() -> None:
    functions = Functions()
    inner, nameless = outer([])
    for code in (outer.__code__, inner.__code__, nameless.__code__):
        row = max(row for _, _, row in code.co_lines() if row)
        assert functions.around(__file__, row, code.co_name)[0] == code.co_firstlineno
        assert functions.around(__file__, row, code.co_name)[1] >= row
    assert functions.around(__file__, 9, "<module>")[0] == 1
    assert functions.around("/nowhere.py", 9, "f") == (9, 9)


NEXT = ("__next__", "/x/site-packages/tensorflow/python/data/ops/iterator_ops.py", 1)
WAIT = ("iterator_get_next", "/x/site-packages/tensorflow/python/ops/gen_dataset_ops.py", 2)
CALL = ("FuncRegistry.__call__", "/x/site-packages/tensorflow/python/ops/script_ops.py", 3)
MAIN, ROWS = ("<module>", "/user/main.py", 4), ("rows", "/user/main.py", 5)


def recorded(**threads: list[list[tuple[str, str, int]]]) -> dict[str, Any]:
    frames = sorted({frame for stacks in threads.values() for stack in stacks for frame in stack})
    return {
        "shared": {"frames": [{"name": name, "file": file, "line": line} for name, file, line in frames]},
        "profiles": [
            {"name": f'Thread {name[1:]} "{"MainThread" if name == "t7" else ""}"', "samples": [[frames.index(frame) for frame in stack] for stack in stacks]}
            for name, stacks in threads.items()
        ],
    }  # fmt: skip


def looked(*threads: list[tuple[str, str, int]]) -> list[dict[str, Any]]:
    """A whole look: the first thread is the main one."""
    return [
        {
            "os_thread_id": 7 + number, "thread_name": "" if number else "MainThread",
            "frames": [{"name": name, "filename": file, "line": line} for name, file, line in reversed(stack)],
        }
        for number, stack in enumerate(threads)
    ]  # fmt: skip


@pytest.mark.parametrize("works", [True, False])
def test_whether_the_pipeline_works_while_the_main_thread_waits_is_learned(works: bool) -> None:
    """Protects from a function that is charged with waits in which it did not run: both have half of the time."""
    stacks = Stacks(Running(7), FOLDERS)
    waiting, feeding = [MAIN, NEXT, WAIT], [CALL, ROWS]
    for _ in range(40):
        stacks.learn(looked(waiting, feeding) if works else looked(waiting))
    document = recorded(t7=[waiting] * 40 + [[MAIN]] * 40, t8=[feeding] * 40)
    samples = list(stacks.samples(document, 10.0, 18.0))
    assert len(samples) == 80 and samples[-1].seconds == pytest.approx(18.0)
    assert {sample.span for sample in samples} == {0.1}
    fed = [sample for sample in samples if sample.feeding]
    assert (len(fed) > 36) if works else (len(fed) < 4)
    assert all(sample.waits == "data" and sample.feeding[0][0].function == "rows" for sample in fed)


def test_processes_that_the_program_started_are_told_apart() -> None:
    stacks = Stacks(Running(7), FOLDERS)
    document = recorded(t7=[[MAIN]] * 4, t9=[[ROWS]] * 2)
    for profile in document["profiles"]:
        profile["name"] = "Process " + ("7 " if "MainThread" in profile["name"] else "9 ") + profile["name"]
    samples = list(stacks.samples(document, 0.0, 4.0))
    assert [sample.is_main for sample in samples] == [True] * 4 + [False] * 2
    assert stacks.processes == {7, 9}
