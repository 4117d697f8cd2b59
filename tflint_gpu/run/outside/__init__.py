"""Watches a program from outside, by py-spy, which reads the stacks in its memory: nothing of it runs in there."""

from __future__ import annotations

import math
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import field

from tflint_gpu.lazy_dataclasses import dataclass
from tflint_gpu.run.outside.pyspy import CannotWatch, Record, find, look, may_not_read, why_not
from tflint_gpu.run.outside.running import Running
from tflint_gpu.run.outside.stacks import Stacks
from tflint_gpu.run.outside.watching import Watching
from tflint_gpu.run.samples import Native, Seen

__all__ = ["CannotWatch", "Outside", "Running"]

_LOOKS = 20
_NATIVE_SECONDS, _NATIVE_RATE = 12, 5  # the process is paused for each look, for seconds before the first
_ENDED_BY = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP) if sys.platform != "win32" else ()

Take = Callable[[Seen], None]


@dataclass(slots=True)
class Outside:
    """Watches one program by py-spy.

    Arguments:
        program: py-spy.
        has_lock: whether it is told who holds Python's lock.
        is_native: whether the main thread's native functions are told.
    """

    program: str
    has_lock: bool
    is_native: bool
    _native: tuple[Native, ...] = ()
    _stacks: Stacks = field(init=False)
    _watching: Watching | None = None
    _thread: threading.Thread | None = None
    _lost: list[str] = field(default_factory=list)

    @classmethod
    def of(cls, has_lock: bool, is_native: bool) -> Outside:
        """One with the py-spy that is installed.

        Raises:
            CannotWatch: none is.
        """
        return cls(find(), has_lock, is_native)

    @property
    def processes(self) -> int:
        """How many were seen."""
        return 0 if self._watching is None else len(self._watching.stacks.processes)

    def attach(self, pid: int, python: str) -> Running:
        """A process that can be watched; its native functions are looked at now, as it is paused for that.

        Arguments:
            python: whose installed packages count where the process's own interpreter does not tell.

        Raises:
            CannotWatch: there is none, or the system does not allow it.
        """
        try:
            running = Running.of(pid)
        except (ProcessLookupError, OverflowError) as error:
            raise CannotWatch(f"--pid {pid}: there is no such process") from error
        except PermissionError as error:
            raise CannotWatch(f"--pid {pid}: {may_not_read(pid)}") from error
        for _ in range(_LOOKS):
            seen, told = look(self.program, pid)
            if seen:  # a look at a stack that changes may fail
                break
        else:
            raise CannotWatch(why_not(running, told))
        self._stacks = Stacks(running, running.folders(python))
        if self.is_native:
            record = Record.begin(self.program, pid, _NATIVE_SECONDS, _NATIVE_RATE, "--native", "--idle")
            try:
                record.process.wait()
            finally:
                document, told = record.end()
            if document is None:
                raise CannotWatch(f"--native: {why_not(running, told)}")
            self._native = tuple(self._stacks.native(document))
        return running

    def watch(self, running: Running, take: Take, seconds: float = math.inf) -> str:
        """Watch what was attached until it ends, for some time, or until this process is told to end.

        Returns:
            what became of it, in words.
        """
        until = time.monotonic() + seconds
        for seen in self._native:
            take(seen)
        watching = self._begin(take)
        with _ended_by_signals(watching.enough):
            self._watch(until)
        self._tell()
        return "still running" if running.lives else "has ended"

    def begin(self, pid: int, python: str, take: Take) -> None:
        """Watch a program that was just started by this interpreter, in a thread, until it ends."""
        running = Running.started(pid, python)
        self._stacks = Stacks(running, running.folders(python))
        self._begin(take)
        self._thread = threading.Thread(target=self._watch, name="tflint-outside", daemon=True)
        self._thread.start()

    def finish(self) -> None:
        """The program has ended."""
        if self._watching is not None and self._thread is not None:
            self._watching.enough.set()
            self._thread.join()
            self._tell()

    def _begin(self, take: Take) -> Watching:
        self._watching = Watching(self.program, self._stacks, take, self.has_lock)
        return self._watching

    def _watch(self, until: float = math.inf) -> None:
        if self._watching is not None:
            try:
                self._watching.watch(until)
            except CannotWatch as error:
                self._lost.append(str(error))

    def _tell(self) -> None:
        for error in self._lost:
            print(f"warning: {error}", file=sys.stderr)


@contextmanager
def _ended_by_signals(enough: threading.Event) -> Iterator[None]:
    before = {number: signal.signal(number, lambda *_: enough.set()) for number in _ENDED_BY}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
