"""Runs complete programs, each in a fresh process of its own, and says how each ended.

A program is a script. It finds the path of its result file in the environment variable `TFLINT_GPU_RESULT` and
writes there, at its end, one JSON object:

    {"steps": [seconds, ...], "outputs": nested lists or null, "dtype": text or null,
     "devices": [text, ...], "notes": {...}}

What it raises it does not catch: the type and the text are read from the traceback. A program that hangs, is killed,
exits, takes all memory or floods its output is a result; no process and no file of it is left.

pyperf is not used: its manager runs one benchmark after the other, treats a worker that fails as its own error, kills
only the worker's own process and limits nothing but time, while here two programs take turns and a failure is what was
asked for; a fresh process for each sample, dropped warm-up steps and a bare environment are ideas taken from it.
"""

from __future__ import annotations

import contextlib
import dataclasses
import os
import selectors
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Any, Literal

from tflint_gpu.verify.interrupts import deferred
from tflint_gpu.verify.processes import Family
from tflint_gpu.verify.results import Result, read_result
from tflint_gpu.verify.sandbox import NO_SANDBOX, RESULT_VARIABLE, Limits, Sandbox, clean_environment, launch_command
from tflint_gpu.verify.tracebacks import exception_in

Status = Literal["finished", "raised", "timed out", "killed", "out of memory", "no result"]

_POLL_SECONDS = 0.05
_SECONDS_TO_REAP = 5.0
_CHUNK = 64 << 10
_CHUNKS_AFTER_THE_END = 64
_MEMORY_ERRORS = ("MemoryError", "_ArrayMemoryError", "ResourceExhaustedError")


@dataclass(frozen=True, slots=True)
class Outcome:
    """How a run of a program ended.

    Arguments:
        status: "finished": it wrote its result and no exception ended it (the exit code tells what else it did);
            "raised": an exception ended it; "timed out": wall or processor time was spent; "killed": a signal ended
            it, such as a crash in native code; "out of memory": it exceeded the limit, or Python, NumPy or
            TensorFlow said that memory does not suffice; "no result": it ended by itself without one, or with a broken
            one.
        exit_code: as subprocess has it: negative for a signal; None if the kernel did not let the process end.
        exception: qualified name of the exception's type, if one ended the program.
        text: the exception's message, or a sentence that explains the status; empty if finished.
        result: what the program wrote; None unless it is whole.
        stdout: the end of its output.
        stderr: the end of its errors.
        seconds: from its start until it had ended.
        peak_memory: bytes; the largest resident memory of one of its processes or, where larger and seen, of all
            together. On Linux never less than what this process held when it started the program.
    """

    status: Status
    exit_code: int | None
    exception: str | None
    text: str
    result: Result | None
    stdout: str
    stderr: str
    seconds: float
    peak_memory: int

    @property
    def steps(self) -> tuple[float, ...]:
        """Seconds of each step; none if there is no result."""
        return self.result.steps if self.result else ()

    @property
    def outputs(self) -> Any:
        """The outputs as nested lists; None if there are none."""
        return self.result.outputs if self.result else None


@dataclass(frozen=True, slots=True)
class Round:
    """Both programs, run once each, one after the other.

    Arguments:
        before: of the flagged code.
        after: of the repaired code; None if the budget was spent before it could start.
        budget_spent: whether the last of both was still running when the budget ended, or the other could not start:
            a "timed out" then says nothing about that program.
    """

    before: Outcome
    after: Outcome | None
    budget_spent: bool = False


Run = Callable[[Path, Limits], Outcome]


def run_rounds(
    before: Path,
    after: Path,
    rounds: int,
    budget_seconds: float,
    limits: Limits | None = None,
    *,
    run: Run | None = None,
) -> Iterator[Round]:
    """Run two programs in turn, before and after and before again, and yield each round when it was measured.

    Ctrl-C raises KeyboardInterrupt here and leaves no process behind; the caller has all rounds that were whole.

    Arguments:
        before: script with the flagged code.
        after: script with the repaired code.
        rounds: how many at most.
        budget_seconds: wall time for all of them; a program that still runs then is killed.
        limits: of each program.
        run: runs one program; `run_program` with settings of its own, say of device and sandbox.

    Raises:
        FileNotFoundError: if a script is not there.
    """
    limits = limits or Limits()
    run = run or run_program
    end = time.monotonic() + budget_seconds
    for _ in range(rounds):
        outcomes: list[Outcome] = []
        for script in (before, after):
            remaining = end - time.monotonic()
            if remaining > 0:
                outcomes.append(run(script, _within(limits, remaining)))
        if not outcomes:
            return
        cut = any(outcome.status == "timed out" for outcome in outcomes) and time.monotonic() >= end
        last = outcomes[1] if len(outcomes) > 1 else None
        yield Round(outcomes[0], last, budget_spent=cut or last is None)


def _within(limits: Limits, seconds: float) -> Limits:
    return dataclasses.replace(limits, seconds=min(limits.seconds, seconds))


def run_program(
    script: Path,
    limits: Limits | None = None,
    *,
    python: str = sys.executable,
    device: str = "cpu",
    sandbox: Sandbox = NO_SANDBOX,
    on_start: Callable[[int], object] | None = None,
) -> Outcome:
    """Run one program to its end or to its limits, and leave neither a process nor a file of it.

    Arguments:
        script: path of the program.
        limits: what it may use.
        python: path of the interpreter.
        device: "cpu", with all GPUs hidden, or "gpu:N", with the one that NVML and nvidia-smi call N.
        sandbox: see `choose_sandbox`.
        on_start: is called with the number of the new process, which leads a session of its own; in bubblewrap the
            program is a descendant of that process.

    Raises:
        FileNotFoundError: if the script or the interpreter is not there.
        ValueError: if the device is neither "cpu" nor "gpu:N".
        KeyboardInterrupt: on Ctrl-C, after all processes were killed.
    """
    script = Path(script).resolve(strict=True)
    limits = limits or Limits()
    with tempfile.TemporaryDirectory(prefix="tflint-gpu-", ignore_cleanup_errors=True) as folder:
        scratch = Path(folder).resolve()
        result_file = scratch / "result.json"
        environment = clean_environment(scratch, result_file, device, sandbox.variables)
        command = launch_command(sandbox.wrap([python, str(script)], scratch, device), limits, python)
        end = _run_to_the_end(command, scratch, environment, limits, on_start)
        return _judge(end, limits, result_file, in_bubblewrap=sandbox.kind == "bwrap")


@dataclass(slots=True)
class _End:
    """What is known of a process that has ended."""

    stopped: Literal["timed out", "out of memory"] | None = None
    exit_code: int | None = None
    stdout: bytearray = field(default_factory=bytearray)
    stderr: bytearray = field(default_factory=bytearray)
    seconds: float = 0.0
    peak_memory: int = 0


def _run_to_the_end(
    command: list[str],
    scratch: Path,
    environment: dict[str, str],
    limits: Limits,
    on_start: Callable[[int], object] | None,
) -> _End:
    end = _End()
    process: subprocess.Popen[bytes] | None = None
    started = time.monotonic()
    try:
        with deferred():  # between the start of a process and its name in hand it could get lost
            process = subprocess.Popen(
                command,
                cwd=scratch,
                env=environment,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                bufsize=0,
                start_new_session=True,
            )
            family = Family(process.pid, f"{RESULT_VARIABLE}={environment[RESULT_VARIABLE]}")
        if on_start is not None:
            on_start(process.pid)
        _watch(process, family, limits, started, end)
    finally:
        if process is not None:
            with deferred():
                family.kill()
                _reap(process, end, time.monotonic() + _SECONDS_TO_REAP)
                _close_outputs(process, end, limits)
                end.seconds = end.seconds or time.monotonic() - started
    return end


def _watch(process: subprocess.Popen[bytes], family: Family, limits: Limits, started: float, end: _End) -> None:
    """Read what a process says until it ends or a limit is reached."""
    assert process.stdout is not None and process.stderr is not None
    next_look = 0.0
    with selectors.DefaultSelector() as selector:
        for stream, kept in ((process.stdout, end.stdout), (process.stderr, end.stderr)):
            os.set_blocking(stream.fileno(), False)
            selector.register(stream, selectors.EVENT_READ, kept)
        while not _has_ended(process, end):
            if selector.get_map():
                for key, _ in selector.select(_POLL_SECONDS):
                    if _read(key.fd, key.data, limits) == b"":
                        selector.unregister(key.fileobj)
            else:
                time.sleep(_POLL_SECONDS / 20)  # both outputs are closed: mostly it has ended, too
            now = time.monotonic()
            if now - started > limits.seconds:
                end.stopped = "timed out"
                return
            if now >= next_look:
                next_look = now + _POLL_SECONDS
                memory = family.memory() or 0
                end.peak_memory = max(end.peak_memory, memory)
                if limits.memory_bytes is not None and memory > limits.memory_bytes:
                    end.stopped = "out of memory"
                    return
        end.seconds = time.monotonic() - started


def _read(descriptor: int, kept: bytearray, limits: Limits) -> bytes | None:
    """Read once, keep the end of all that was read; None if there is nothing to read now."""
    try:
        chunk = os.read(descriptor, _CHUNK)
    except BlockingIOError:
        return None
    kept += chunk
    del kept[: max(0, len(kept) - limits.output_bytes)]
    return chunk


def _close_outputs(process: subprocess.Popen[bytes], end: _End, limits: Limits) -> None:
    """Read what still lies in the pipes; not without end, as a process that got away may go on writing."""
    streams: list[tuple[IO[bytes] | None, bytearray]] = [(process.stdout, end.stdout), (process.stderr, end.stderr)]
    for stream, kept in streams:
        if stream is not None:
            os.set_blocking(stream.fileno(), False)
            for _ in range(_CHUNKS_AFTER_THE_END):
                if not _read(stream.fileno(), kept, limits):
                    break
            stream.close()


def _has_ended(process: subprocess.Popen[bytes], end: _End) -> bool:
    if process.returncode is not None:
        return True
    pid, status, usage = os.wait4(process.pid, os.WNOHANG)
    if pid == 0:
        return False
    process.returncode = end.exit_code = os.waitstatus_to_exitcode(status)
    unit = 1 if sys.platform == "darwin" else 1024
    end.peak_memory = max(end.peak_memory, usage.ru_maxrss * unit)
    return True


def _reap(process: subprocess.Popen[bytes], end: _End, deadline: float) -> None:
    while not _has_ended(process, end) and time.monotonic() < deadline:
        time.sleep(0.005)


def _judge(end: _End, limits: Limits, result_file: Path, *, in_bubblewrap: bool) -> Outcome:
    stdout, stderr = (bytes(kept).decode("utf-8", errors="replace") for kept in (end.stdout, end.stderr))
    exit_code = end.exit_code
    if in_bubblewrap and exit_code is not None and 128 < exit_code <= 128 + 64:
        exit_code = 128 - exit_code  # bubblewrap tells of a signal as shells do
    result, fault = read_result(result_file)
    exception, message = exception_in(stderr) if exit_code == 1 else (None, "")
    status: Status
    if end.stopped == "timed out":
        status, text = "timed out", f"it was still running after {limits.seconds:.4g} s"
    elif end.stopped == "out of memory":
        status, text = "out of memory", f"its processes held more than {(limits.memory_bytes or 0) >> 20} MiB"
    elif exit_code is None:
        status, text = "killed", "it was killed, but the kernel did not let it end"
    elif exit_code == -signal.SIGXCPU:
        status, text = "timed out", f"it used more than {limits.cpu_seconds} s of processor time"
    elif exit_code < 0:
        status, text = "killed", _signal_text(-exit_code)
    elif exception is not None:
        status, text = "raised", message
        if exception.rpartition(".")[2] in _MEMORY_ERRORS:
            status = "out of memory"
    elif result is None:
        status, text = "no result", f"{fault} (exit code {exit_code})"
    else:
        status, text = "finished", ""
    return Outcome(status, exit_code, exception, text, result, stdout, stderr, end.seconds, end.peak_memory)


def _signal_text(number: int) -> str:
    with contextlib.suppress(ValueError):
        name = signal.Signals(number).name
        # The kernel's killer of processes leaves no other trace that can be read everywhere.
        return f"ended by {name}" + (", perhaps as the system had no memory left" if name == "SIGKILL" else "")
    return f"ended by signal {number}"
