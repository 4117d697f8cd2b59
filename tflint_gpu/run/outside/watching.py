"""Watches a process by recordings of py-spy that follow each other, until it ends or it is enough."""

from __future__ import annotations

import math
import threading
import time
from collections.abc import Callable
from dataclasses import field

from tflint_gpu.lazy_dataclasses import dataclass
from tflint_gpu.run.outside.pyspy import CannotWatch, Record, look, why_not
from tflint_gpu.run.outside.stacks import Stacks
from tflint_gpu.run.samples import Held, Sample

WINDOW = 3  # seconds, after which the report may know of them
RATE = 25
_EVERY = 0.1
_MOST_FAILURES = 5

Take = Callable[[Sample | Held], None]


@dataclass(slots=True)
class Watching:
    """A process that is watched by py-spy.

    Arguments:
        program: py-spy.
        has_lock: whether it is told who holds Python's lock.
        enough: set when it shall end.
    """

    program: str
    stacks: Stacks
    take: Take
    has_lock: bool = False
    enough: threading.Event = field(default_factory=threading.Event)

    def watch(self, until: float = math.inf) -> None:
        """Watch until this moment, its end, or until it is enough.

        Raises:
            CannotWatch: the process cannot be read, or not any more.
        """
        failed = 0
        last = time.monotonic()
        while self._goes_on(until):
            children = ["--subprocesses"] if self.stacks.running.has_children else []
            record = self._begin(WINDOW, RATE, "--nonblocking", "--idle", *children)
            lock = self._begin(WINDOW, RATE, "--nonblocking", "--gil", *children) if self.has_lock else None
            while not record.has_ended and self._goes_on(until):
                self.enough.wait(_EVERY)
            document, error = record.end()
            now = time.monotonic()
            if lock is not None:
                self._take_lock(lock, now - last)
            if document is not None:
                for sample in self.stacks.samples(document, last, now):
                    self.take(sample)
            failed = 0 if document is not None else failed + 1
            if failed >= _MOST_FAILURES and self.stacks.running.lives:
                raise CannotWatch(why_not(self.stacks.running, error))
            last = now
            if self._goes_on(until):
                self.stacks.learn(look(self.program, self.stacks.running.pid)[0])

    def _goes_on(self, until: float) -> bool:
        return not self.enough.is_set() and time.monotonic() < until and self.stacks.running.lives

    def _begin(self, seconds: int, rate: int, *options: str) -> Record:
        return Record.begin(self.program, self.stacks.running.pid, seconds, rate, *options)

    def _take_lock(self, record: Record, seconds: float) -> None:
        document, _ = record.end()
        if document is not None:
            for seen, number in self.stacks.holders(document).items():
                self.take(Held(min(seconds, number / RATE), seen.stack, seen.phase))
