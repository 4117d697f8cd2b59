"""A process that holds signals back and tells which it got: those, the whole process group got.

A program in the group then has them already. Who sent a signal is no sign of that: `kill` says the same of one process
and of a group. As a script, it answers each line of its input with the numbers of the signals that came meanwhile.
"""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
from collections.abc import Collection
from dataclasses import dataclass, field


@dataclass(slots=True)
class Witness:
    """The process, from the beginning of a `with` to its end.

    Arguments:
        signals: that it holds back; whoever starts it must have blocked them.
    """

    signals: Collection[signal.Signals]
    _process: subprocess.Popen[str] | None = None
    _untold: set[int] = field(default_factory=set)

    def __enter__(self) -> Witness:
        numbers = [str(int(number)) for number in self.signals]
        self._process = subprocess.Popen(
            [sys.executable, "-I", "-S", __file__, *numbers], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )
        return self

    def __exit__(self, *_: object) -> None:
        if self._process is not None:
            self._process.kill()
            with contextlib.suppress(BrokenPipeError):
                self._process.communicate()

    def saw(self, number: int) -> bool:
        """Whether a signal that this process has just taken went to its whole group; False where that is not known."""
        _wait_until_the_group_has_it()
        self._untold |= self._ask()
        saw = number in self._untold
        self._untold.discard(number)
        return saw

    def _ask(self) -> set[int]:
        process = self._process
        if process is None or process.stdin is None or process.stdout is None:
            return set()
        try:
            print(file=process.stdin, flush=True)
            return {int(word) for word in process.stdout.readline().split()}
        except OSError:  # it was killed
            return set()


def _wait_until_the_group_has_it() -> None:
    """Return when a signal to the group has reached all of it.

    `kill` holds the kernel's lock of the table of processes meanwhile, and `setpgid` waits for that, whatever it says.
    """
    with contextlib.suppress(OSError):
        os.setpgid(0, os.getpgrp())


def main() -> None:
    """Answer until nobody asks any more."""
    held = {int(word) for word in sys.argv[1:]}
    for _ in sys.stdin:
        came = []
        while (received := signal.sigtimedwait(held, 0)) is not None:
            came.append(received.si_signo)
        print(*came, flush=True)


if __name__ == "__main__":
    main()
