"""How much of a step inside of TensorFlow waits for its next batch: TensorFlow's own account of short windows.

In `fit` the wait is part of an operation, which the stacks do not show. TensorFlow's profiler, with nothing of Python
and of the GPU, records the host for a quarter of a second now and then; two names of its trace are read: the operation
that gets the next element, and the execution around it. The program's own use of the profiler is waited for, and waits.
"""

from __future__ import annotations

import re
import sys
from collections import Counter
from typing import Any

PHASES = ("fit", "evaluate", "validation", "predict")  # of Keras, which steps inside of TensorFlow
WINDOW = 0.25
LONGEST_WINDOW = 4.0
FIRST_AFTER = 0.1
LAST_EVERY = 30.0
LEAST = 0.2  # of a window must be executions that began and ended in it
_OPTIONS = {"host_tracer_level": 2, "device_tracer_level": 0, "python_tracer_level": 0}
_STEP, _NEXT = b"EagerKernelExecute", b"IteratorGetNextOp::DoCompute"
_VARINT = rb"([\x80-\xff]*[\x00-\x7f])"
# An event of the trace: thread (2), name (3), beginning (9) and duration (10) in picoseconds.
_EVENT = re.compile(
    rb"\x10" + _VARINT + rb"\x1a.(" + _STEP + rb"|" + _NEXT + rb")\x48[\x80-\xff]*[\x00-\x7f]\x50" + _VARINT, re.DOTALL
)

Key = Any


class InputShare:
    """Looks at windows while a step is executed, more and more seldom."""

    def __init__(self) -> None:
        self.session: Any = None
        self.is_broken = False
        self.key: Key = None
        self.window = WINDOW
        self.until = 0.0
        self.next: dict[Key, tuple[float, float]] = {}

    def tick(self, now: float, key: Key, is_step: bool) -> tuple[Key, float] | None:
        """The share of what was executed by a step that it waited for input, when a window has ended.

        Arguments:
            key: which step it is.
            is_step: whether the main thread is in an operation of such a step.
        """
        if self.session is not None:
            return self._ended(now) if now >= self.until else None
        if is_step and not self.is_broken and len(self.next) < 1000:
            begins, _ = self.next.setdefault(key, (now + FIRST_AFTER, 2 * WINDOW))
            if now >= begins:
                self._begin(now, key)
        return None

    def stop(self) -> None:
        """End a window without a look at it."""
        if self.session is not None:
            self._end()

    def forget(self) -> None:
        """Leave a window to the process that this one was forked off."""
        if self.session is not None:
            self.session = None
            self.lock.release()

    def _begin(self, now: float, key: Key) -> None:
        profiler: Any = sys.modules.get("tensorflow.python.profiler.profiler_v2")
        try:
            if profiler is None or not profiler._profiler_lock.acquire(blocking=False):
                return
            if profiler._profiler is None:
                session = profiler._pywrap_profiler.ProfilerSession()
                session.start("", _OPTIONS)
                self.session, self.lock = session, profiler._profiler_lock
                self.key, self.until = key, now + self.window
                return
        except Exception:  # another TensorFlow, or somebody else's profiler
            self.is_broken = True
        profiler._profiler_lock.release()

    def _end(self) -> bytes:
        session, self.session = self.session, None
        try:
            return bytes(session.stop())
        except Exception:
            self.is_broken = True
            return b""
        finally:
            self.lock.release()

    def _ended(self, now: float) -> tuple[Key, float] | None:
        executed, waited = read(self._end())
        _, pause = self.next[self.key]
        if executed < LEAST * self.window:
            self.window = min(LONGEST_WINDOW, 2 * self.window)
            self.next[self.key] = (now + pause, pause)
            return None
        self.next[self.key] = (now + pause, min(LAST_EVERY, 1.5 * pause))
        return self.key, min(1.0, waited / executed)


def read(trace: bytes) -> tuple[float, float]:
    """Seconds of execution on the thread that executes most, and of waits for the next element."""
    executed: Counter[bytes] = Counter()
    waited = 0
    for thread, name, duration in _EVENT.findall(trace):
        if name == _NEXT:
            waited += _number(duration)
        else:
            executed[thread] += _number(duration)
    return max(executed.values(), default=0) / 1e12, waited / 1e12


def _number(varint: bytes) -> int:
    return sum((byte & 127) << 7 * place for place, byte in enumerate(varint))
