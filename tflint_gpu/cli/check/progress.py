"""A bar on the terminal while a check takes long; it is gone when the report comes."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import field
from typing import TextIO

from tflint_gpu.lazy_dataclasses import dataclass

PATIENCE = 2.0
"""Seconds that pass before anything is shown: most checks are over by then."""
_PAUSE = 0.1
_WIDEST = 30


def is_watched(stream: TextIO, environment: Mapping[str, str]) -> bool:
    """Whether somebody sits before a stream: not in CI, where a line that changes is many, and a link is rubbish."""
    return stream.isatty() and not environment.get("CI") and environment.get("TERM") != "dumb"


@dataclass(slots=True)
class Progress:
    """Counts files and shows how many are done, from the time on that it takes long.

    Arguments:
        stream: a terminal.
        clock: gives seconds.
    """

    stream: TextIO
    clock: Callable[[], float] = time.monotonic
    _started: float = field(init=False)
    _shown: int = 0
    _next: float = field(init=False)

    def __post_init__(self) -> None:
        self._started = self.clock()
        self._next = self._started + PATIENCE

    def tell(self, done: int, total: int) -> None:
        """So many of so many files are checked."""
        now = self.clock()
        if now < self._next:
            return
        self._next = now + _PAUSE
        import shutil

        columns = shutil.get_terminal_size().columns
        words = f"checked {done} of {total} files"
        room = min(_WIDEST, columns - len(words) - 4)
        full = room * done // max(total, 1)
        bar = f" [{'#' * full}{'.' * (room - full)}]" if room > 5 else ""
        self._write((words + bar)[: columns - 1])

    def close(self) -> None:
        """Take what is shown away, before anything else is printed."""
        if self._shown:
            self._write("")
            self.stream.write("\r")
            self.stream.flush()

    def _write(self, line: str) -> None:
        self.stream.write("\r" + line.ljust(self._shown))
        self.stream.flush()
        self._shown = len(line)
