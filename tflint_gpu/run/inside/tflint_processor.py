"""Stacks of the main thread by the processor time that it takes, which Python's lock cannot hide.

A thread that samples gets the lock when the main thread lets go of it: after 5 ms, or when an operation or a wait
begins. Python that takes less than that at a time is never on such a sample. A timer of the kernel runs with the main
thread's own processor time instead and sends SIGURG to it, which is handled between two of its instructions. While the
thread waits the timer stands, so no call of the system is interrupted. Where Python has no handler for SIGURG any more,
the kernel ignores it. Linux alone has such timers.
"""

from __future__ import annotations

import contextlib
import ctypes
import re
import signal
import struct
import threading
import time
import types
from collections import deque
from typing import Any, Callable

EVERY = 0.005  # seconds of processor time; the kernel looks at it once in a tick, which may be 10 ms
MOST = 4096
_TO_A_THREAD = 4  # SIGEV_THREAD_ID

_SWITCHES = re.compile(rb"voluntary_ctxt_switches:\s*(\d+)")

Frames = Callable[[types.FrameType], Any]


class ProcessorTime:
    """Samples the main thread, which begins and stops it.

    Arguments:
        frames: what is kept of a frame of the stack.
    """

    def __init__(self, frames: Frames) -> None:
        self.frames = frames
        self.seen: deque[list[Any]] = deque(maxlen=MOST)
        self.timer: Any = None
        self.before: Any = None
        self.account = (0.0, 0.0, 0, 0)

    def begin(self) -> None:
        """Sample the thread that this is called in, where that can be."""
        if not hasattr(signal, "SIGURG") or signal.getsignal(signal.SIGURG) is not signal.SIG_DFL:
            return
        with contextlib.suppress(AttributeError, OSError, ValueError):  # another system, or not the main thread
            self.thread = threading.main_thread().native_id
            self.clock = time.pthread_getcpuclockid(threading.get_ident())
            self.library = _with_timers()
            self.before = signal.signal(signal.SIGURG, self._take)
            signal.siginterrupt(signal.SIGURG, False)
            self.timer = self._started()
            self.account = self._read()

    @property
    def is_running(self) -> bool:
        """Whether samples come; a program that handles SIGURG itself gets none of ours."""
        if self.timer is not None and signal.getsignal(signal.SIGURG) != self._take:
            self._delete()
        return self.timer is not None

    def stop(self) -> None:
        """Take no more."""
        if self.is_running:
            self._delete()
            with contextlib.suppress(ValueError):
                signal.signal(signal.SIGURG, self.before)

    def _delete(self) -> None:
        self.library.timer_delete(self.timer)
        self.timer = None

    def since(self) -> float:
        """Seconds in which the main thread computed since it was asked.

        While another process has the processor that a computation needs, that counts as going on. When a wait has ended
        and there is no processor yet, it is still waited: the kernel counts how often each happened, not how long.
        """
        before, self.account = self.account, self._read()
        computed, delayed, waits, losses = (now - then for now, then in zip(self.account, before))
        return max(0.0, computed + delayed * losses / max(1, waits + losses))

    def stacks(self) -> list[list[Any]]:
        """The stacks since they were asked for, the innermost frame first."""
        stacks = []
        while self.seen:
            stacks.append(self.seen.popleft())
        return stacks

    def _take(self, number: int, frame: Any) -> None:
        stack = []
        while frame is not None:
            stack.append(self.frames(frame))
            frame = frame.f_back
        self.seen.append(stack)

    def _started(self) -> Any:
        event = struct.pack("@Qiii44x", 0, signal.SIGURG, _TO_A_THREAD, self.thread)
        nanoseconds = int(EVERY * 1e9)
        timer = ctypes.c_void_p()
        if self.library.timer_create(ctypes.c_int(self.clock), event, ctypes.byref(timer)) != 0:
            return None
        if self.library.timer_settime(timer, 0, struct.pack("4l", 0, nanoseconds, 0, nanoseconds), None) != 0:
            return None
        return timer

    def _read(self) -> tuple[float, float, int, int]:
        """Seconds computed and waited for a processor, and how often the thread gave one up and lost one."""
        try:
            with open(f"/proc/self/task/{self.thread}/schedstat", "rb") as file:
                computed, delayed, _ = file.read().split()
            with open(f"/proc/self/task/{self.thread}/status", "rb") as file:
                waits, losses = _SWITCHES.findall(file.read())
            return int(computed) / 1e9, int(delayed) / 1e9, int(waits), int(losses)
        except (OSError, ValueError):  # this kernel keeps no such account
            return time.clock_gettime(self.clock), 0.0, 0, 0


def _with_timers() -> Any:
    library = ctypes.CDLL(None)
    return library if hasattr(library, "timer_create") else ctypes.CDLL("librt.so.1")
