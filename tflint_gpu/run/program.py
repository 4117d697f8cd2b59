"""The user's program as a process of its own: its signals, its end, and what its sampler writes meanwhile."""

from __future__ import annotations

import os
import resource
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

SAMPLER = Path(__file__).resolve().with_name("tflint_program.py")
INTERVAL = 0.02
_PASSED_ON = frozenset(
    {signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT, signal.SIGUSR1, signal.SIGUSR2, signal.SIGCHLD}
)
_PATIENCE = 0.2
_SECONDS_TO_DRAIN = 2.0
_CHUNK = 1 << 16
_LONGEST_LINE = 1 << 20


@dataclass(frozen=True, slots=True)
class Program:
    """What to run, as `python target arguments...` or `python -m target arguments...` would.

    Arguments:
        python: the interpreter, which need not have this package.
        asks_memory: whether TensorFlow is asked for the memory that it uses on the card.
    """

    python: str
    target: str
    arguments: tuple[str, ...] = ()
    is_module: bool = False
    asks_memory: bool = False
    interval: float = INTERVAL

    def command(self, pipe: int) -> list[str]:
        """The command that runs it under the sampler, which writes to this file descriptor."""
        kind, memory = "module" if self.is_module else "file", "1" if self.asks_memory else "0"
        head = [self.python, str(SAMPLER), str(pipe), str(self.interval), memory, kind]
        return [*head, self.target, *self.arguments]


def run(program: Program, take: Callable[[bytes], None], started: Callable[[int], None] = lambda pid: None) -> int:
    """Run it to its end, on the terminal and the streams of this process; returns its code, -N for a signal N.

    Signals that this process gets are passed on, apart from those that a terminal sends to both.

    Arguments:
        take: gets each line of the sampler, in a thread; it must not raise.
        started: gets the process's number.
    """
    reading, writing = os.pipe()
    # Blocked before any thread is: a signal then waits for `_wait`. The sampler unblocks them for the program.
    before = signal.pthread_sigmask(signal.SIG_BLOCK, _PASSED_ON)
    try:
        try:
            process = subprocess.Popen(program.command(writing), pass_fds=(writing,))
        finally:
            os.close(writing)
        started(process.pid)
        done = threading.Event()
        reader = threading.Thread(target=read_samples, args=(reading, take, done), name="tflint-samples", daemon=True)
        reader.start()
        code = _wait(process)
        done.set()
        reader.join()
        return code
    finally:
        os.close(reading)
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def end_as(code: int) -> int:
    """The exit code that tells what happened to the program: a signal ends this process in the same way."""
    if code >= 0:
        return code
    sys.stdout.flush()
    sys.stderr.flush()
    resource.setrlimit(resource.RLIMIT_CORE, (0, resource.getrlimit(resource.RLIMIT_CORE)[1]))
    if -code not in (signal.SIGKILL, signal.SIGSTOP):
        signal.signal(-code, signal.SIG_DFL)
        signal.pthread_sigmask(signal.SIG_UNBLOCK, {-code})
    os.kill(os.getpid(), -code)
    return 128 - code


def _wait(process: subprocess.Popen[bytes]) -> int:
    """Pass signals on until the program has ended."""
    while (code := process.poll()) is None:
        received = signal.sigtimedwait(_PASSED_ON, _PATIENCE)
        if received is None or received.si_signo == signal.SIGCHLD:
            continue
        # From the kernel it is a key of the terminal (or its end), which the program gets by itself.
        if received.si_code <= 0:
            process.send_signal(received.si_signo)
    return code


def read_samples(pipe: int, take: Callable[[bytes], None], done: threading.Event) -> None:
    """Hand on whole lines until the pipe ends; a process that outlives the program may keep it open.

    Arguments:
        done: set when the program has ended.
    """
    import select

    left, deadline = b"", None
    while True:
        if done.is_set():
            deadline = deadline or time.monotonic() + _SECONDS_TO_DRAIN
        ready = select.select([pipe], [], [], 0.0 if deadline else _PATIENCE)[0]
        if not ready:
            if deadline:
                return
            continue
        data = os.read(pipe, _CHUNK)
        if not data or (deadline is not None and time.monotonic() > deadline):
            return
        *lines, left = (left + data).split(b"\n")
        for line in lines:
            take(line)
        if len(left) > _LONGEST_LINE:
            left = b""
        # Many samples at a time: to be woken for each costs twenty times what reading it does.
        if len(data) < _CHUNK // 2:
            done.wait(_PATIENCE)
