"""Signals that end a run of `verify`: each as Ctrl-C does, with a report of what was measured."""

from __future__ import annotations

import contextlib
import signal
import threading
from collections.abc import Iterator
from types import FrameType

SIGNALS = {"Ctrl-C": int(signal.SIGINT), "SIGTERM": int(signal.SIGTERM)}
"""What a run that was ended so is called, and the number of the signal."""
if hasattr(signal, "SIGHUP"):
    SIGNALS["SIGHUP"] = int(signal.SIGHUP)


@contextlib.contextmanager
def interruptible() -> Iterator[None]:
    """Let these signals raise KeyboardInterrupt with the signal's name; one that is ignored (nohup) stays so."""

    def interrupt(number: int, frame: FrameType | None) -> None:
        raise KeyboardInterrupt(next(name for name, known in SIGNALS.items() if known == number))

    if threading.current_thread() is not threading.main_thread():
        yield
        return
    previous = {n: signal.getsignal(n) for n in SIGNALS.values() if signal.getsignal(n) not in (signal.SIG_IGN, None)}
    for number in previous:
        signal.signal(number, interrupt)
    try:
        yield
    finally:
        for number, handler in previous.items():
            signal.signal(number, handler)


@contextlib.contextmanager
def deferred() -> Iterator[None]:
    """Hold back the signals that would end the process until the block is done.

    Other threads than the main one are never interrupted. What is ignored, or was not set from Python, stays.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    found = ((number, signal.getsignal(number)) for number in SIGNALS.values())
    previous = {number: handler for number, handler in found if handler not in (signal.SIG_IGN, None)}
    pending: list[int] = []
    for number in previous:
        signal.signal(number, lambda number, frame: pending.append(number))
    try:
        yield
    finally:
        for number, handler in previous.items():
            signal.signal(number, handler)
        if pending:
            signal.raise_signal(pending[0])
