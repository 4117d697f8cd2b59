"""Programs that end in every way that a program can end: each is a result, and nothing of it is left."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import textwrap
import time
import uuid
from collections.abc import Callable
from pathlib import Path

import pytest

from tflint_gpu.verify.execution.rounds import Round, run_rounds
from tflint_gpu.verify.execution.sandbox import Limits, Sandbox, SandboxUnavailable, choose_sandbox
from tflint_gpu.verify.execution.worker import Outcome, Place, run_program

pytestmark = pytest.mark.slow

WATCHES_MEMORY = Path("/proc/self/statm").exists()
FINISH = """
import json, os
def finish(**result):
    with open(os.environ["TFLINT_GPU_RESULT"], "w") as file:
        json.dump({"steps": [0.5, 0.25], "outputs": None, "dtype": None, "devices": [], "notes": {}} | result, file)
"""
# Ends by itself, so that a failing test leaves nothing for long.
LINGERING = "import time; time.sleep(60)  # {token}"

Write = Callable[..., Path]


@pytest.fixture
def write(tmp_path: Path) -> Write:
    """Write a program that has `finish()` to write its result."""

    def write_program(body: str, name: str = "program.py") -> Path:
        path = tmp_path / name
        path.write_text(FINISH + textwrap.dedent(body))
        return path

    return write_program


@pytest.fixture
def token() -> str:
    return f"token-{uuid.uuid4().hex}"


def alive(token: str) -> bool:
    """Whether a process has the token in its command."""
    listed = subprocess.run(["ps", "-A", "-ww", "-o", "command="], capture_output=True, text=True, check=True)
    return token in listed.stdout


def sandboxes() -> list[object]:
    """No sandbox, and those that confine where the system has them."""
    params: list[object] = [pytest.param(choose_sandbox("none"), id="none")]
    for kind in ("bwrap", "landlock"):
        try:
            params.append(pytest.param(choose_sandbox(kind), id=kind))
        except SandboxUnavailable as error:
            params.append(pytest.param(None, id=kind, marks=pytest.mark.skip(reason=str(error))))
    return params


each_sandbox = pytest.mark.parametrize("sandbox", sandboxes())


@each_sandbox
def test_a_program_that_finishes(write: Write, sandbox: Sandbox) -> None:
    """Protects the protocol: what a program writes is what the outcome has, and the caller learns its number."""
    program = write("""
        print("working"); finish(outputs=[[1.0, 2.0]], dtype="float32", devices=["CPU:0"], notes={"seed": 1})
    """)
    started: list[int] = []
    outcome = run_program(program, place=Place(sandbox=sandbox), on_start=started.append)
    assert (outcome.status, outcome.exit_code, outcome.exception, outcome.text) == ("finished", 0, None, "")
    assert outcome.steps == (0.5, 0.25)
    assert outcome.outputs == [[1.0, 2.0]]
    assert outcome.result is not None
    assert (outcome.result.dtype, outcome.result.devices, outcome.result.notes) == ("float32", ("CPU:0",), {"seed": 1})
    assert outcome.stdout == "working\n"
    assert outcome.stderr == ""
    assert len(started) == 1
    assert outcome.seconds > 0
    assert outcome.peak_memory > 1 << 20


def test_what_a_program_sees(write: Write, monkeypatch: pytest.MonkeyPatch) -> None:
    """Protects that the user's settings and terminal do not reach a program, and that its folder is removed."""
    monkeypatch.setenv("TF_XLA_FLAGS", "--anything")
    program = write("""
        import sys, tempfile
        open("left behind", "w").close()
        finish(notes={"environment": dict(os.environ), "folder": os.getcwd(), "temporary": tempfile.gettempdir(),
                      "input": sys.stdin.read(), "terminal": os.getsid(0) == os.getpid()})
    """)
    outcome = run_program(program)
    assert outcome.result is not None, outcome
    notes = outcome.result.notes
    assert notes["environment"]["HOME"] == notes["folder"] == notes["temporary"]
    assert notes["environment"]["PYTHONHASHSEED"] == "0"
    assert notes["environment"]["CUDA_VISIBLE_DEVICES"] == "-1"
    assert "TF_XLA_FLAGS" not in notes["environment"]
    assert notes["input"] == ""
    assert notes["terminal"] is True
    assert not Path(notes["folder"]).exists()


@each_sandbox
def test_a_program_that_hangs(write: Write, token: str, sandbox: Sandbox) -> None:
    """Protects against waiting for ever, also where the program ignores polite signals; what it said is kept."""
    program = write(
        """
        import signal, subprocess, sys, time
        for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP): signal.signal(number, signal.SIG_IGN)
        print("about to hang", flush=True)
        while True: time.sleep(60)
        """,
        f"{token}.py",
    )
    outcome = run_program(program, Limits(seconds=2), place=Place(sandbox=sandbox))
    assert outcome.status == "timed out"
    assert outcome.text == "it was still running after 2 s"
    assert outcome.stdout == "about to hang\n"
    assert outcome.result is None
    assert not alive(token)


def test_a_program_that_uses_too_much_processor_time(write: Write) -> None:
    """Protects against a program that computes for ever below its wall time."""
    outcome = run_program(write("while True: pass"), Limits(seconds=15, cpu_seconds=1))
    assert outcome.status == "timed out"
    assert outcome.text == "it used more than 1 s of processor time"


@each_sandbox
@pytest.mark.parametrize("name", ["SIGKILL", "SIGSEGV", "SIGABRT"])
def test_a_program_that_is_killed(write: Write, sandbox: Sandbox, name: str) -> None:
    """Protects that a crash in native code, which Python cannot tell of, is a result with its signal."""
    outcome = run_program(write(f"import signal; os.kill(os.getpid(), signal.{name})"), place=Place(sandbox=sandbox))
    assert outcome.status == "killed"
    assert outcome.exit_code == -getattr(signal, name)
    assert name in outcome.text


@pytest.mark.skipif(not WATCHES_MEMORY, reason="no /proc")
@pytest.mark.parametrize("where", ["in the program", "in its child"])
@each_sandbox
def test_a_program_that_eats_memory(write: Write, token: str, sandbox: Sandbox, where: str) -> None:
    """Protects the machine: a program whose processes hold more than the limit is stopped."""
    eat = f"import time; kept = []  # {token}\nwhile True: kept.append(b'x' * (4 << 20)); time.sleep(0.01)"
    program = write(
        eat if where == "in the program" else f"import subprocess, sys\nsubprocess.run([sys.executable, '-c', {eat!r}])"
    )
    outcome = run_program(program, Limits(seconds=30, memory_bytes=120 << 20), place=Place(sandbox=sandbox))
    assert outcome.status == "out of memory"
    assert outcome.text == "its processes held more than 120 MiB"
    assert outcome.peak_memory > 120 << 20
    assert not alive(token)


@pytest.mark.parametrize("error", ["MemoryError", "type('ResourceExhaustedError', (Exception,), {})"])
def test_memory_that_python_or_tensorflow_miss(write: Write, error: str) -> None:
    """Protects that an allocation refused by Python or by the GPU's allocator reads as what it is."""
    outcome = run_program(write(f"raise ({error})('OOM when allocating tensor')"))
    assert (outcome.status, outcome.exit_code) == ("out of memory", 1)
    assert outcome.exception is not None
    assert outcome.exception.endswith("Error")
    assert outcome.text == "OOM when allocating tensor"


@pytest.mark.parametrize("descriptor", [1, 2])
def test_a_program_that_prints_a_gigabyte(write: Write, descriptor: int) -> None:
    """Protects memory and disk: only the end of the output is kept, and the program is not held up by a full pipe."""
    program = write(f"""
        block = b"x" * (1 << 20)
        for _ in range(1024):
            rest = memoryview(block)
            while rest: rest = rest[os.write({descriptor}, rest):]
        os.write({descriptor}, b"the end"); finish()
    """)
    outcome = run_program(program, Limits(seconds=1200, output_bytes=1000))
    assert outcome.status == "finished"
    kept = outcome.stdout if descriptor == 1 else outcome.stderr
    assert len(kept) == 1000
    assert kept.endswith("xthe end")


def test_a_program_that_writes_too_large_a_file(write: Write) -> None:
    """Protects the disk: a file cannot outgrow the limit."""
    outcome = run_program(write("open('large', 'wb').write(b'x' * (2 << 20))"), Limits(file_bytes=1 << 20))
    assert (outcome.status, outcome.exception) == ("raised", "OSError")


@each_sandbox
@pytest.mark.parametrize(
    "leave",
    [
        pytest.param("", id="in its group"),
        pytest.param(
            ", start_new_session=True",
            id="as a daemon",
            marks=pytest.mark.skipif(not WATCHES_MEMORY, reason="no /proc"),
        ),
    ],
)
def test_a_grandchild_that_lingers(write: Write, token: str, sandbox: Sandbox, leave: str) -> None:
    """Protects that nothing is left, even if it holds the output open, or left the session and lost its parent."""
    program = write(f"""
        import subprocess, sys
        subprocess.Popen([sys.executable, "-c", {LINGERING.format(token=token)!r}]{leave}); finish()
    """)
    outcome = run_program(program, place=Place(sandbox=sandbox))
    assert outcome.status == "finished"
    assert not alive(token)


@pytest.mark.parametrize(
    ("argument", "exit_code"), [("", 0), ("0", 0), ("3", 3), ("'training is over'", 1)], ids=["none", "0", "3", "text"]
)
def test_user_code_that_exits(write: Write, argument: str, exit_code: int) -> None:
    """Protects that `sys.exit` in the user's code, whatever its code, is no success and no exception either."""
    outcome = run_program(write(f"import sys\ndef main():\n    sys.exit({argument})\nmain()\nfinish()"))
    assert (outcome.status, outcome.exit_code, outcome.exception) == ("no result", exit_code, None)
    assert outcome.text == f"it wrote no result (exit code {exit_code})"


def test_an_exit_after_the_result(write: Write) -> None:
    """Protects a measurement that was made from what the program does afterwards; the exit code tells of it."""
    outcome = run_program(write("import sys; finish(); sys.exit(4)"))
    assert (outcome.status, outcome.exit_code, outcome.steps) == ("finished", 4, (0.5, 0.25))


def test_user_code_that_needs_a_missing_module(write: Write) -> None:
    """Protects that a missing dependency is named, so that it can be installed."""
    outcome = run_program(write("import a_module_that_nobody_has"))
    assert (outcome.status, outcome.exception) == ("raised", "ModuleNotFoundError")
    assert outcome.text == "No module named 'a_module_that_nobody_has'"


@each_sandbox
def test_a_program_that_raises(write: Write, sandbox: Sandbox) -> None:
    """Protects the verdict on a predicted crash: the last exception's qualified type and whole message."""
    outcome = run_program(
        write("""
            import json
            try:
                1 / 0
            except ZeroDivisionError:
                raise json.JSONDecodeError("bad", "no", 0)
        """),
        place=Place(sandbox=sandbox),
    )
    assert (outcome.status, outcome.exit_code) == ("raised", 1)
    assert outcome.exception == "json.decoder.JSONDecodeError"
    assert outcome.text == "bad: line 1 column 1 (char 0)"
    assert "ZeroDivisionError" in outcome.stderr


def test_a_logged_exception_is_no_end(write: Write) -> None:
    """Protects against reading a traceback that the program only printed as the way it ended."""
    outcome = run_program(
        write("import traceback\ntry: 1 / 0\nexcept ArithmeticError: traceback.print_exc()\nfinish()")
    )
    assert (outcome.status, outcome.exception) == ("finished", None)


def test_a_program_that_writes_a_broken_result(write: Write) -> None:
    """Protects that half a result counts as none, with the reason (more such results: test_results.py)."""
    outcome = run_program(write("""open(os.environ["TFLINT_GPU_RESULT"], "w").write('{"steps": [0.1, ')"""))
    assert outcome.status == "no result"
    assert outcome.text.startswith("its result is not JSON")
    assert outcome.result is None


def test_what_cannot_be_run(write: Write, tmp_path: Path) -> None:
    """Protects that a mistake of the caller raises, and does not read as a program's outcome."""
    with pytest.raises(FileNotFoundError):
        run_program(tmp_path / "missing.py")
    with pytest.raises(FileNotFoundError):
        run_program(write("finish()"), place=Place(python=str(tmp_path / "python")))
    with pytest.raises(ValueError, match="'cpu', 'gpu:N' or 'gpu:UUID'"):
        run_program(write("finish()"), place=Place(device="tpu"))


def test_a_callback_that_fails_leaves_no_process(write: Write, token: str) -> None:
    """Protects that an error of the caller's own, at the start of a program, ends that program."""

    def fail(pid: int) -> None:
        raise LookupError(pid)

    with pytest.raises(LookupError):
        run_program(write("import time; time.sleep(60)", f"{token}.py"), on_start=fail)
    assert not alive(token)


def test_rounds_swap_the_order(write: Write, tmp_path: Path) -> None:
    """Protects the pairing: before, after, after, before; every outcome in the round that it was measured in."""
    log = tmp_path / "log"
    before, after = (
        write(f"open({str(log)!r}, 'a').write('{name} '); finish(notes={{'name': '{name}'}})", f"{name}.py")
        for name in ("before", "after")
    )
    rounds = list(run_rounds(before, after, 3, 60))
    assert log.read_text() == "before after after before before after "
    for measured in rounds:
        assert not measured.budget_spent
        assert measured.before is not None and measured.after is not None
        assert [names(measured.before), names(measured.after)] == ["before", "after"]


def names(outcome: Outcome) -> object:
    assert outcome.result is not None
    return outcome.result.notes["name"]


def test_the_budget_runs_out_in_the_middle_of_a_program(write: Write) -> None:
    """Protects what was measured: it is yielded, and a program cut short is not taken for one that hangs."""
    before, after = write("finish()", "before.py"), write("import time; time.sleep(60)", "after.py")
    rounds = list(run_rounds(before, after, 5, budget_seconds=2.5))
    assert len(rounds) == 1
    assert rounds[0].before.status == "finished"
    assert rounds[0].after is not None
    assert rounds[0].after.status == "timed out"
    assert rounds[0].budget_spent


def test_the_budget_runs_out_between_programs(write: Write) -> None:
    """Protects that nothing is started after the budget, and that half a round is yielded as such."""
    program = write("finish()")
    outcome = run_program(program)
    seconds = iter([0.0, 0.0, 1.5])

    def run(script: Path, limits: Limits) -> Outcome:
        time.sleep(next(seconds))
        return outcome

    rounds = list(run_rounds(program, program, 5, budget_seconds=1, run=run))
    assert rounds == [Round(outcome, outcome), Round(None, outcome, budget_spent=True)]
    assert list(run_rounds(program, program, 5, budget_seconds=0)) == []


def test_a_program_that_hangs_within_the_budget(write: Write) -> None:
    """Protects that a true hang is told from a spent budget."""
    program = write("import time; time.sleep(60)")
    rounds = list(run_rounds(program, program, 1, 30, Limits(seconds=0.2)))
    assert [(r.before.status, r.budget_spent) for r in rounds] == [("timed out", False)]


@each_sandbox
def test_ctrl_c_in_the_middle_of_the_rounds(write: Write, tmp_path: Path, token: str, sandbox: Sandbox) -> None:
    """Protects the user who stops verify: no process and no folder is left, and the whole rounds are kept."""
    fast = write("finish()", "fast.py")
    hangs = write(
        f"""
        import subprocess, sys, time
        subprocess.Popen([sys.executable, "-c", {LINGERING.format(token=token)!r}])
        print("hangs", flush=True)
        time.sleep(60)
        """,
        f"{token}.py",
    )
    scratch = tmp_path / "temporary"
    scratch.mkdir()
    driver = tmp_path / "driver.py"
    driver.write_text(
        textwrap.dedent(f"""
            import functools, itertools, sys
            from pathlib import Path
            from tflint_gpu.verify.execution.sandbox import choose_sandbox
            from tflint_gpu.verify.execution.rounds import run_rounds
            from tflint_gpu.verify.execution.worker import Place, run_program

            run = functools.partial(run_program, place=Place(sandbox=choose_sandbox({sandbox.kind!r})))
            started = itertools.count(1)

            def run_and_tell(script, limits):
                script = Path({str(hangs)!r}) if next(started) == 4 else script
                return run(script, limits)

            kept = []
            try:
                for measured in run_rounds(Path({str(fast)!r}), Path({str(fast)!r}), 9, 600, run=run_and_tell):
                    kept.append(measured)
            except KeyboardInterrupt:
                print("kept", len(kept), kept[0].before.status)
                sys.exit(130)
        """)
    )
    environment = os.environ | {"TMPDIR": str(scratch), "PYTHONUNBUFFERED": "1"}
    process = subprocess.Popen([sys.executable, str(driver)], stdout=subprocess.PIPE, text=True, env=environment)
    try:
        while not alive(f"# {token}") and process.poll() is None:
            time.sleep(0.05)
        process.send_signal(signal.SIGINT)
        said, _ = process.communicate(timeout=600)
    finally:
        process.kill()
    assert said == "kept 1 finished\n"
    assert process.returncode == 130
    assert not alive(token)
    assert list(scratch.iterdir()) == []


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux tells a process of its parent's death")
def test_verify_itself_is_killed(write: Write, tmp_path: Path, token: str) -> None:
    """Protects the machine when verify cannot clean up: the program dies with it."""
    program = write("import time; time.sleep(60)", f"{token}.py")
    code = f"from pathlib import Path; from tflint_gpu.verify.execution.worker import run_program as r; r(Path({str(program)!r}))"
    environment = os.environ | {"TMPDIR": str(tmp_path)}  # its folder stays
    process = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.DEVNULL, env=environment)
    while not (lives := alive(f"{sys.executable} {program}")) and process.poll() is None:
        time.sleep(0.05)
    process.kill()
    process.wait(timeout=600)
    assert lives
    end = time.monotonic() + 30
    while alive(token) and time.monotonic() < end:
        time.sleep(0.05)
    assert not alive(token)
