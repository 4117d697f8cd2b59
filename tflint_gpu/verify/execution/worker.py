"""Runs complete programs, each in a fresh process of its own, and says how each ended.

A program is a script. It finds the path of its result file in the environment variable `TFLINT_GPU_RESULT` and
writes there, at its end, one JSON object:

    {"steps": [seconds, ...], "blocks": [seconds, ...], "outputs": nested lists or null, "dtype": text or null,
     "devices": [text, ...], "notes": {...}}

What it raises it does not catch: the type and the text are read from the traceback. A program that hangs, is killed,
exits, takes all memory or floods its output is a result; no process and no file of it is left.

pyperf is not used: its manager runs one benchmark after the other, treats a worker that fails as its own error, kills
only the worker's own process and limits nothing but time, while here two programs alternate and a failure is what was
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
from dataclasses import field
from pathlib import Path
from typing import IO, Any, Literal

from tflint_gpu.lazy_dataclasses import dataclass
from tflint_gpu.verify.execution.interrupts import deferred
from tflint_gpu.verify.execution.processes import Family
from tflint_gpu.verify.execution.results import Result, read_result
from tflint_gpu.verify.execution.sandbox import (
    NO_SANDBOX,
    RESULT_VARIABLE,
    Limits,
    Sandbox,
    clean_environment,
    launch_command,
)
from tflint_gpu.verify.execution.tracebacks import exception_in

Status = Literal["finished", "raised", "timed out", "killed", "out of memory", "no result"]

QUESTIONS_VARIABLE = "TFLINT_GPU_QUESTIONS"
"""The environment variable that tells a program in which folder it asks when it may go on."""

IMPORTED = "imported"
"""The file beside its result by which a program tells that it has imported TensorFlow."""
LONGEST_IMPORT = 300.0

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
class Place:
    """Where programs run.

    Arguments:
        python: path of the interpreter.
        device: "cpu", with all GPUs hidden, or what `visible_devices` takes.
        sandbox: see `choose_sandbox`.
    """

    python: str = sys.executable
    device: str = "cpu"
    sandbox: Sandbox = NO_SANDBOX


HERE = Place()


def run_program(
    script: Path,
    limits: Limits | None = None,
    place: Place = HERE,
    on_start: Callable[[int], object] | None = None,
) -> Outcome:
    """Run one program to its end or to its limits, and leave neither a process nor a file of it.

    Arguments:
        script: path of the program.
        limits: what it may use.
        on_start: is called with the number of the new process, which leads a session of its own; in bubblewrap the
            program is a descendant of that process.

    Raises:
        FileNotFoundError: if the script or the interpreter is not there.
        ValueError: if there can be no such device.
        KeyboardInterrupt: on Ctrl-C, after all processes were killed.
    """
    with running(script, limits, place, on_start) as program:
        while not program.look():
            pass
        program.end()
        return program.outcome()


@contextlib.contextmanager
def running(
    script: Path,
    limits: Limits | None = None,
    place: Place = HERE,
    on_start: Callable[[int], object] | None = None,
    *,
    alternates: bool = False,
) -> Iterator[Running]:
    """Start a program, and leave neither a process nor a file of it at the end of the block.

    Arguments and errors are those of `run_program`, and:
        alternates: it runs one round after the other and does its part of each when it may (`alternation`).
    """
    script = Path(script).resolve(strict=True)
    limits = limits or Limits()
    with tempfile.TemporaryDirectory(prefix="tflint-gpu-", ignore_cleanup_errors=True) as folder:
        scratch = Path(folder).resolve()
        result_file, questions = scratch / "result.json", scratch / "questions"
        environment = clean_environment(scratch, result_file, place.device, place.sandbox.variables)
        if alternates:
            questions.mkdir()
            environment[QUESTIONS_VARIABLE] = str(questions)
        wrapped = place.sandbox.wrap([place.python, str(script)], scratch, place.device)
        program = Running(limits, result_file, questions, in_bubblewrap=place.sandbox.kind == "bwrap")
        try:
            program.start(launch_command(wrapped, limits, place.python), environment, on_start)
            yield program
        finally:
            program.end()


@dataclass(slots=True)
class _End:
    """What is known of a process that has ended."""

    stopped: Literal["timed out", "out of memory"] | None = None
    exit_code: int | None = None
    stdout: bytearray = field(default_factory=bytearray)
    stderr: bytearray = field(default_factory=bytearray)
    seconds: float = 0.0
    peak_memory: int = 0


class Running:
    """A program from its start to its end."""

    def __init__(self, limits: Limits, result_file: Path, questions: Path, *, in_bubblewrap: bool) -> None:
        self.limits, self.questions = limits, questions
        self._result_file, self._in_bubblewrap = result_file, in_bubblewrap
        self._end = _End()
        self._process: subprocess.Popen[bytes] | None = None
        self._selector = selectors.DefaultSelector()
        self._started = time.monotonic()
        self._deadline = self._started + limits.seconds + limits.import_seconds
        self._imported = None if limits.import_seconds == 0 else result_file.with_name(IMPORTED)
        self._next_look = 0.0
        self._is_over = False

    def start(self, command: list[str], environment: dict[str, str], on_start: Callable[[int], object] | None) -> None:
        """Start the process; `end` must follow, whatever happens."""
        with deferred():  # between the start of a process and its name in hand it could get lost
            self._process = process = subprocess.Popen(
                command,
                cwd=self._result_file.parent,
                env=environment,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                bufsize=0,
                start_new_session=True,
            )
            self._family = Family(process.pid, f"{RESULT_VARIABLE}={environment[RESULT_VARIABLE]}")
        if on_start is not None:
            on_start(process.pid)
        assert process.stdout is not None and process.stderr is not None
        for stream, kept in ((process.stdout, self._end.stdout), (process.stderr, self._end.stderr)):
            os.set_blocking(stream.fileno(), False)
            self._selector.register(stream, selectors.EVENT_READ, kept)

    def look(self, wait: float = _POLL_SECONDS) -> bool:
        """Read what it says, for some seconds at most, and return whether it has ended or must be ended."""
        assert self._process is not None
        if _has_ended(self._process, self._end):
            self._end.seconds = self._end.seconds or time.monotonic() - self._started
            return True
        if self._selector.get_map():
            for key, _ in self._selector.select(wait):
                if _read(key.fd, key.data, self.limits) == b"":
                    self._selector.unregister(key.fileobj)
        else:
            time.sleep(min(wait, _POLL_SECONDS / 20))  # both outputs are closed: mostly it has ended, too
        now = time.monotonic()
        if self._imported is not None and self._imported.exists():
            self._imported, self._deadline = None, now + self.limits.seconds
        if now > self._deadline:
            self._end.stopped = "timed out"
        elif now >= self._next_look:
            self._next_look = now + _POLL_SECONDS
            memory = self._family.memory() or 0
            self._end.peak_memory = max(self._end.peak_memory, memory)
            if self.limits.memory_bytes is not None and memory > self.limits.memory_bytes:
                self._end.stopped = "out of memory"
        return self._end.stopped is not None

    def pause(self) -> float:
        """Stop the process group, and return how many of its seconds are left."""
        self._signal(signal.SIGSTOP)
        return self._deadline - time.monotonic()

    def resume(self, seconds: float) -> None:
        """Let it go on for some seconds."""
        self._deadline = time.monotonic() + seconds
        self._signal(signal.SIGCONT)

    def _signal(self, number: int) -> None:
        if self._process is not None and self._process.returncode is None:
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.killpg(self._process.pid, number)

    def end(self) -> None:
        """Kill what is left of it; a second time does nothing."""
        if self._process is None or self._is_over:
            return
        with deferred():
            self._is_over = True
            self._selector.close()
            self._family.kill()
            _reap(self._process, self._end, time.monotonic() + _SECONDS_TO_REAP)
            _close_outputs(self._process, self._end, self.limits)
            self._end.seconds = self._end.seconds or time.monotonic() - self._started

    def outcome(self) -> Outcome:
        """How it ended."""
        return _judge(self._end, self.limits, self._result_file, in_bubblewrap=self._in_bubblewrap)

    def round_outcome(self) -> Outcome:
        """How a round of it ended while the process lives on, and begin the next one."""
        now = time.monotonic()
        end = dataclasses.replace(self._end, exit_code=0, seconds=now - self._started)
        outcome = _judge(end, self.limits, self._result_file, in_bubblewrap=False)
        self._result_file.unlink(missing_ok=True)
        self._started, self._end.peak_memory = now, 0
        return outcome


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
        status, text = "killed", "it was killed, but did not end (it hangs in the kernel)"
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
        return f"ended by {name}" + (", perhaps because the system ran out of memory" if name == "SIGKILL" else "")
    return f"ended by signal {number}"
