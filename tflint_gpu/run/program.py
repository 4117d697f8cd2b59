"""The user's program as a process of its own: its signals, its end, and what its sampler writes meanwhile."""

from __future__ import annotations

import fcntl
import os
import resource
import signal
import subprocess
import sys
import termios
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from tflint_gpu.lazy_dataclasses import dataclass
from tflint_gpu.run.process import BOUND
from tflint_gpu.run.process.witness import Witness

SAMPLER = Path(__file__).resolve().with_name("inside") / "tflint_program.py"
INTERVAL = 0.02
_PASSED_ON = frozenset({signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT, signal.SIGUSR1, signal.SIGUSR2})
_WAITED_FOR = _PASSED_ON | {signal.SIGCHLD}
_PATIENCE = 0.2
_CHUNK = 1 << 16
_LONGEST_LINE = 1 << 20


@dataclass(frozen=True, slots=True)
class Program:
    """What to run, as `python target arguments...` or `python -m target arguments...` would.

    Arguments:
        python: the interpreter, which need not have this package.
        is_plain: whether no sampler is put into it.
        asks_memory: whether TensorFlow is asked for the memory that it uses on the card.
        traced: how many steps TensorFlow's profiler records.
        folder: for its profile, from the root.
    """

    python: str
    target: str
    arguments: tuple[str, ...] = ()
    is_module: bool = False
    asks_memory: bool = False
    is_plain: bool = False
    interval: float = INTERVAL
    traced: int = 0
    folder: str = ""

    def command(self, pipe: int) -> list[str]:
        """The command that runs it under the sampler, which writes to this file descriptor, for as long as we live."""
        kind, memory = "module" if self.is_module else "file", "1" if self.asks_memory else "0"
        tied = [sys.executable, "-I", "-S", str(BOUND), str(os.getpid())]
        if self.is_plain:
            return [*tied, self.python, *(["-m"] if self.is_module else []), self.target, *self.arguments]
        head = [*tied, self.python, str(SAMPLER), str(pipe), str(self.interval), memory, self._trace, kind]
        return [*head, self.target, *self.arguments]

    @property
    def _trace(self) -> str:
        return f"{self.traced}:{self.folder}" if self.traced else "0"


def run(program: Program, take: Callable[[bytes], None], started: Callable[[int], None] = lambda pid: None) -> int:
    """Run it to its end, on the terminal and the streams of this process; returns its code, -N for a signal N.

    Signals that this process gets are passed on, apart from those that go to both. It ends when this process is killed.

    Arguments:
        take: gets each line of the sampler, in a thread; it must not raise.
        started: gets the process's number.
    """
    # Blocked before any thread is: a signal then waits for `_wait`. The sampler unblocks them for the program.
    before = signal.pthread_sigmask(signal.SIG_BLOCK, _WAITED_FOR)
    try:
        with samples_taken(take) as pipe:
            given: dict[str, Any] = {"preexec_fn": _let_signals_in} if program.is_plain else {"pass_fds": (pipe,)}
            process = subprocess.Popen(program.command(pipe), **given)
            started(process.pid)
            with Witness(_PASSED_ON) as witness:
                return _wait(process, witness)
    finally:
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


def _let_signals_in() -> None:
    signal.pthread_sigmask(signal.SIG_UNBLOCK, _WAITED_FOR)


def _wait(process: subprocess.Popen[bytes], witness: Witness) -> int:
    """Pass signals on until the program has ended."""
    while (code := process.poll()) is None:
        received = signal.sigtimedwait(_WAITED_FOR, _PATIENCE)
        if received is None or received.si_signo == signal.SIGCHLD:
            continue
        went_to_all = witness.saw(received.si_signo)
        # From the kernel it is a key of the terminal (or its end), which the program gets by itself.
        if received.si_code <= 0 and not (went_to_all and os.getpgid(process.pid) == os.getpgrp()):
            process.send_signal(received.si_signo)
    return code


@contextmanager
def samples_taken(take: Callable[[bytes], None]) -> Iterator[int]:
    """A pipe for a sampler, which has ended when the context does; all that it wrote has been handed on then.

    Arguments:
        take: gets each line, in a thread; it must not raise.
    """
    reading, writing = os.pipe()
    done = threading.Event()
    reader = threading.Thread(target=read_samples, args=(reading, take, done), name="tflint-samples", daemon=True)
    reader.start()
    try:
        yield writing
    finally:
        os.close(writing)
        done.set()
        reader.join()
        os.close(reading)


def read_samples(pipe: int, take: Callable[[bytes], None], done: threading.Event) -> None:
    """Hand on whole lines until the pipe ends; a process that outlives the program may keep it open.

    Arguments:
        done: set when the program has ended. All that it wrote is in the pipe then.
    """
    import select

    left, unread = b"", None
    while unread is None or unread > 0:
        if unread is None and done.is_set():
            unread = int.from_bytes(fcntl.ioctl(pipe, termios.FIONREAD, bytes(4)), sys.byteorder)
            continue
        if unread is None and not select.select([pipe], [], [], _PATIENCE)[0]:
            continue
        data = os.read(pipe, _CHUNK)
        if not data:
            return
        unread = None if unread is None else unread - len(data)
        *lines, left = (left + data).split(b"\n")
        for line in lines:
            take(line)
        if len(left) > _LONGEST_LINE:
            left = b""
        # Many samples at a time: to be woken for each costs twenty times what reading it does.
        if len(data) < _CHUNK // 2:
            done.wait(_PATIENCE)
