"""Holds back the signals that end a run where it must not be ended: see `cli.main` for what they do."""

from __future__ import annotations

import contextlib
import signal
import threading
from collections.abc import Iterator

_NAMES = ("SIGINT", "SIGTERM", "SIGHUP")  # Windows has no SIGHUP
_SIGNALS = tuple(getattr(signal, name) for name in _NAMES if hasattr(signal, name))


@contextlib.contextmanager
def deferred() -> Iterator[None]:
    """Hold back the signals that would end the process until the block is done.

    Other threads than the main one are never interrupted. What is ignored, or was not set from Python, stays.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    handlers = ((number, signal.getsignal(number)) for number in _SIGNALS)
    previous = {number: handler for number, handler in handlers if handler not in (signal.SIG_IGN, None)}
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
