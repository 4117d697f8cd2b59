"""Two programs that live at the same time and alternate, so that what else the machine does meets both.

Such a program asks, by a file in a folder, and waits for the file with the answer (`tflint_measure`):

    round   it has imported TensorFlow, or a round of it is over and its result is written
    loop    it has come to what is measured
    block   it is warm, or has measured a block of steps

and gets `go` or `end`; the answer to `loop` says for how many seconds it may warm up, so that both programs measure
something before the time is over. Until they ask for that both run: what comes before is not measured. From the moment
it asks until it is answered a program is stopped with SIGSTOP, so that no thread of it computes ahead while the other
one is measured. Each round is a fork of the program after the import, which takes longer than all else. A program that
never asks runs as it likes: it has nothing that is measured.
"""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Generator
from contextlib import AbstractContextManager
from pathlib import Path

from tflint_gpu.verify.execution.rounds import Round
from tflint_gpu.verify.execution.sandbox import Limits
from tflint_gpu.verify.execution.worker import Outcome, Running

FEWEST_PAIRS, MOST_PAIRS = 5, 40
LEAST_SECONDS, MOST_SECONDS = 3.0, 12.0
SHARES_TO_WARM_UP = (0.4, 0.6)  # of the time that is left when the first begins, and when the second one does
_POLL_SECONDS = 0.002

Start = Callable[[Path, Limits], AbstractContextManager[Running]]


def run_alternating(
    before: Path, after: Path, rounds: int, budget_seconds: float, limits: Limits, start: Start
) -> Generator[Round, None, None]:
    """Run two programs at the same time, of which never more than one computes, and yield each round.

    In a round each program warms up, then each measures a block, in the order before, after, after, before; the next
    round begins with the other one.

    Arguments:
        before: script with the flagged code.
        after: script with the repaired code.
        rounds: how many at most.
        budget_seconds: wall time for all of them; a program that still runs then is killed.
        limits: of each program; the wall time is that of its own blocks in one round.
        start: starts a program that alternates (`worker.running`).

    Raises:
        FileNotFoundError: if a script is not there.
        KeyboardInterrupt: on Ctrl-C; at the latest when the generator is closed, no process is left.
    """
    end = time.monotonic() + budget_seconds
    with contextlib.ExitStack() as stack:
        seats = [stack.enter_context(_Seat(script, limits, end, start)) for script in (before, after)]
        for number in range(rounds):
            if time.monotonic() >= end:
                return
            _run_round(seats if number % 2 == 0 else seats[::-1], end)
            outcomes = [seat.take_outcome() for seat in seats]
            cut = any(outcome.status == "timed out" for outcome in outcomes) and time.monotonic() >= end
            yield Round(outcomes[0], outcomes[1], budget_spent=cut)


def _run_round(order: list[_Seat], end: float) -> None:
    for seat in order:
        seat.begin()
    _wait(order)
    for seat in order:
        seat.answer("go", wanted="round")
    _wait(order)
    for seat, share in zip(order, SHARES_TO_WARM_UP, strict=True):
        seat.go_on(f"go {share * (end - time.monotonic()):.3f}", wanted="loop")
    began, pairs = time.monotonic(), 0
    while all(seat.asks == "block" for seat in order) and not _is_enough(pairs, time.monotonic() - began, end):
        for seat in order if pairs % 2 == 0 else order[::-1]:
            seat.go_on("go", wanted="block")
        pairs += 1
    for seat in order:
        seat.go_on("end", wanted="block")


def _wait(order: list[_Seat]) -> None:
    while [seat for seat in order if not seat.has_stopped(_POLL_SECONDS)]:
        pass


def _is_enough(pairs: int, seconds: float, end: float) -> bool:
    """Whether there are enough pairs of blocks, or no time for one more."""
    if pairs and time.monotonic() + 2 * seconds / pairs > end:
        return True
    return pairs >= MOST_PAIRS or seconds > (LEAST_SECONDS if pairs >= FEWEST_PAIRS else MOST_SECONDS)


class _Seat(contextlib.ExitStack):
    """One of the two programs: started when it is needed, and again after it has ended."""

    def __init__(self, script: Path, limits: Limits, end: float, start: Start) -> None:
        super().__init__()
        self.script, self.limits, self.end = script, limits, end
        self.asks: str | None = None
        self._start = start
        self._program: Running | None = None
        self._outcome: Outcome | None = None
        self._left = 0.0
        self._number = ""

    def begin(self) -> None:
        """Start the program for a round, or give it the time for one more."""
        self._outcome = None
        self._left = self._seconds()
        if self._program is None:
            self.asks = None
            limits = self.limits.within(self.end - time.monotonic())
            self._program = self.enter_context(self._start(self.script, limits))

    def _seconds(self) -> float:
        return max(0.1, min(self.limits.seconds, self.end - time.monotonic()))

    def has_stopped(self, wait: float) -> bool:
        """Look at the program for some seconds: whether it asks for something or has ended."""
        if self._program is None or self.asks is not None:
            return True
        if self._program.look(wait):
            self._program.end()
            self._outcome, self._program = self._program.outcome(), None
            self.close()
            return True
        number, _, asks = self._asked().partition(" ")
        if not asks or number == self._number:
            return False
        self._number, self.asks = number, asks
        self._left = self._program.pause()
        return True

    def _asked(self) -> str:
        assert self._program is not None
        try:
            return (self._program.questions / "asked").read_text("ascii")
        except (OSError, ValueError):
            return ""

    def go_on(self, word: str, *, wanted: str) -> None:
        """Answer the program if it asks for this, and wait until it asks again or ends."""
        self.answer(word, wanted=wanted)
        _wait([self])

    def answer(self, word: str, *, wanted: str) -> None:
        """Answer the program if it asks for this, so that it goes on."""
        if self._program is None or self.asks != wanted:
            return
        self.asks = None
        answer = self._program.questions / f"answer-{self._number}"
        answer.with_suffix(".tmp").write_text(word, "ascii")
        answer.with_suffix(".tmp").replace(answer)
        self._program.resume(min(self._left, self._seconds()))

    def take_outcome(self) -> Outcome:
        """How the round ended."""
        if self._outcome is None:
            assert self._program is not None
            return self._program.round_outcome()
        return self._outcome
