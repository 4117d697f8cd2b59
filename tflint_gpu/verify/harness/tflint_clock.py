"""The clock of what `tflint-gpu verify` measures: until when steps warm up, and how their times are taken."""

from __future__ import annotations

import atexit
import math
import statistics
import time
from typing import Any

# Before TensorFlow, which reads the level of its log when it is imported.
from tflint_outcome import MEASURED, QUESTIONS, NeverRun, ask, finish, keep_weights, synchronize

# isort: split
import tensorflow as tf
import tflint_modules

WARM_UP, FEWEST_WARM = 5, 2  # the second where steps take so long that caches and branches do not matter
LEAST_FALL = 0.95  # of the steps before: as long as steps become faster than that, the program warms up
MOST_SECONDS_OF_WARM_UP, MOST_SECONDS_OF_SHAPES = 6.0, 20.0
BLOCK_SECONDS, MOST_SECONDS_OF_PASS = 0.05, 4.0
FEWEST_STEPS = 10
FEWEST_BLOCKS, MOST_BLOCKS = 5, 40
LEAST_SECONDS, MOST_SECONDS = 1.0, 8.0
COMPARED_ITERATION = 4  # three iterations are over then: what only tracing freezes shows in the second and third


class Clock:
    """Takes the times of steps: first until they are warm, then in blocks, until there are enough.

    Arguments:
        samples: how many one step handles; times are per sample.
        least: steps that there must be before anything is measured.
    """

    running: list[Clock] = []

    def __init__(self, samples: int = 1, least: int = 0) -> None:
        tflint_modules.measure()
        self.samples, self.least = samples, least
        self.running.append(self)
        self.alternates = 1  # steps until the same shapes come again
        self.warm: list[float] = []
        self.dropped: list[float] = []
        self.fresh: list[float] = []  # those that had a new shape
        self.since_new = 0  # steps since a shape came that had not been seen
        self.began = 0  # iterations before the loop was run for the last time
        self.iterations = self.flagged = 0  # all, and those since the flagged code ran for the first time
        self.times: list[float] = []
        self.blocks: list[float] = []
        self.size = self.done = 0  # steps of a block: none while warming up; and those that it has
        self.spent = self.measuring = 0.0  # seconds of this block, and of all
        self.is_remote = bool(tf.config.list_logical_devices("GPU"))
        self.singles = FEWEST_STEPS if self.is_remote else 0
        self.last: float | None = None
        self.is_hurried = False  # the time would not do for more steps to warm up
        _ask_for_time()

    def resume(self, least: int) -> None:
        """The loop begins, again or for the first time; what was done since counts for no step."""
        self.least = max(self.least, least)
        if self.last is not None:
            synchronize()
            self.last = None

    def leave(self) -> bool:
        """The loop's last step is over, and it will be run again: what comes in between counts for no step."""
        is_over = self.tick()
        self.alternates = max(self.alternates, self.iterations - self.began - 1)
        self.began = self.iterations
        self.resume(0)
        return is_over

    def tick(self, counts: bool = True, cut: bool = False, fresh: bool = False) -> bool:
        """A step is over; return whether there were enough.

        Arguments:
            counts: False sets the step apart: the first one, or one that traces a new shape.
            cut: the next one will not count.
            fresh: it had a shape that had not been seen.
        """
        if self.done + 1 >= self.size or cut or not counts or self.singles:
            synchronize()
        now = time.perf_counter()
        seconds = None if self.last is None else now - self.last
        self.last = now
        self.iterations += 1
        self.flagged += not _AWAITED
        if self.flagged == COMPARED_ITERATION and not _AWAITED:
            keep_weights(COMPARED_ITERATION - 1)
            self.last = time.perf_counter()
        if seconds is None:
            return False
        if not counts:
            self.dropped.append(seconds)
            self.fresh += [seconds] if fresh else []
            return False
        self.since_new += 1
        return self._rest() if self._ends_block(seconds) else False

    def _ends_block(self, seconds: float) -> bool:
        """Count a step, and return whether the next one begins a block."""
        if not self.size:
            self.warm.append(seconds)
            if self._is_warm():
                self._set_size()
            return self.size > 0
        if self.singles or not self.is_remote:
            # Where a card computes, the time of a step without a fetch is that of starting it.
            self.times.append(seconds / self.samples)
        if self.singles:
            self.singles -= 1
            return False
        self.done += 1
        self.spent += seconds
        if self.done < self.size:
            return False
        self.blocks.append(self.spent / self.done / self.samples)
        self.measuring += self.spent
        self.done, self.spent = 0, 0.0
        return True

    def _is_warm(self) -> bool:
        """Whether all that must be seen was seen, and steps take no less time than those before them."""
        if _AWAITED:
            if sum(self.warm) > MOST_SECONDS_OF_SHAPES:
                raise NeverRun(f"the loop's first {self.iterations} iterations do not run the flagged code")
            return False
        if self.warm and time.monotonic() > _TIME["until"]:
            self.is_hurried = True
            return True
        spent, seen = sum(self.warm) + sum(self.dropped), len(self.warm)
        window = max(WARM_UP if spent < MOST_SECONDS_OF_WARM_UP else FEWEST_WARM, self.alternates)
        if seen + len(self.dropped) < max(self.least, window) or self.since_new < window:
            return spent > MOST_SECONDS_OF_SHAPES
        if spent > MOST_SECONDS_OF_WARM_UP or seen < 2 * window:
            return spent > MOST_SECONDS_OF_WARM_UP
        latest, before = self.warm[-window:], self.warm[-2 * window : -window]
        return statistics.median(latest) >= LEAST_FALL * statistics.median(before)

    def _set_size(self) -> None:
        step = statistics.mean(self.warm[-max(WARM_UP, self.alternates) :])
        self.size = max(1, round(BLOCK_SECONDS / max(step, 1e-9)))
        if self.alternates * step <= MOST_SECONDS_OF_PASS:
            self.size = -(-self.size // self.alternates) * self.alternates

    def _rest(self) -> bool:
        """Between two blocks: wait until the next one may begin, or end."""
        if QUESTIONS:
            is_over = bool(ask("block") != "go")
        else:
            enough = len(self.blocks) >= FEWEST_BLOCKS and self.measuring > LEAST_SECONDS
            is_over = enough or len(self.blocks) >= MOST_BLOCKS or self.measuring > MOST_SECONDS
        self.last = time.perf_counter()
        MEASURED.setdefault("from", time.monotonic())
        return is_over

    def finish(self, **notes: Any) -> None:
        """End the program with the times of its blocks."""
        hurried = {"hurried": len(self.warm)} if self.is_hurried else {}
        finish(self.times, blocks=self.blocks, once=self.once, **hurried, **notes)

    @property
    def once(self) -> float:
        """Seconds that the steps before took longer than later ones: tracing, compiling, looking for kernels."""
        return sum(max(0.0, seconds - self.usual) for seconds in (*self.warm, *self.dropped))

    @property
    def usual(self) -> float:
        """Seconds of a step of which nothing is new."""
        return self.samples * statistics.median(self.times) if self.times else statistics.median(self.warm or [0.0])


_TIME: dict[str, float] = {}


def _ask_for_time() -> None:
    """Until when steps may warm up; `verify` says so when the first clock starts."""
    if "until" not in _TIME:
        atexit.register(_finish_with_what_there_is)
        seconds = float(ask("loop").partition(" ")[2]) if QUESTIONS else math.inf
        _TIME["until"] = time.monotonic() + seconds


def _finish_with_what_there_is() -> None:
    """The program ends by itself: its loop was left and not run again."""
    for clock in Clock.running:
        if clock.blocks:
            clock.finish()


_AWAITED: set[int] = set()
"""Flagged statements that have not run yet, by their numbers."""


def expect(*statements: int) -> None:
    """The loop may pass these flagged statements by: nothing is measured before the program tells that each ran."""
    _AWAITED.update(statements)


@tf.autograph.experimental.do_not_convert
def passed(statement: int) -> None:
    """A flagged statement ran, or its repair (in a traced function: was traced); steps before are of another kind."""
    if statement in _AWAITED:
        _AWAITED.discard(statement)
        for clock in Clock.running:
            clock.warm.clear()
