"""The account of a run's training steps: how long they take when the training is under way, and which took long.

Steady training begins with the second epoch, or after ten steps where there is no second epoch, and ends with the last
step: what was imported, traced and compiled before it is told apart. All is bounded, however long a run is.
"""

from __future__ import annotations

import math
from collections import Counter, deque
from collections.abc import Iterable, Iterator
from dataclasses import field

from tflint_gpu.lazy_dataclasses import dataclass
from tflint_gpu.run.charges import Doing, Spent
from tflint_gpu.run.inside.tflint_steps import WARM_UP
from tflint_gpu.run.samples import Place, StepDone

_BIN = math.log(1.005)
_MOST_BLOCKS = 256
_MOST_TRAININGS = 64
_MOST_CAUSES = 256
_MOST_RECENT = 4096
_SLOW, _SLOW_BY = 2.0, 0.002  # times and seconds more than the median
_TICK = 0.02  # a sample that ends later than a step by less is of it
_SETTLED = 1.0  # seconds until all samples of a step have come


@dataclass(frozen=True, slots=True)
class Cause:
    """What slow steps did that others did not."""

    place: Place | None
    phase: str
    waits: str


@dataclass(slots=True)
class Slow:
    """The slow steps with one cause.

    Attributes:
        excess: seconds beyond the median step, of all together.
        longest: seconds of the longest.
        number: of the longest, counted from 1 at the start of the training.
    """

    count: int = 0
    excess: float = 0.0
    longest: float = 0.0
    number: int = 0


@dataclass(slots=True)
class Training:
    """The steps that one line runs, in their order; all attributes but the first two are of the steady ones.

    Arguments:
        place: the line that calls `fit`, or the step of a loop.
        kind: "fit" or "loop".

    Attributes:
        warm_up: steps before, and their seconds.
        steps, seconds: their number, and their time together.
        began, ended: on the samples' clock; None before there are any.
        spent: what the main thread did from `began` to `ended`, between the steps, too.
        blocks: steps and seconds of equal runs of steps, the first ones first.
    """

    place: Place
    kind: str
    warm_up: tuple[int, float] = (0, 0.0)
    steps: int = 0
    seconds: float = 0.0
    began: float | None = None
    ended: float = 0.0
    spent: dict[Doing, Spent] = field(default_factory=dict)
    slow: dict[Cause | None, Slow] = field(default_factory=dict)
    blocks: list[tuple[int, float]] = field(default_factory=list)
    _size: int = 1
    _durations: Counter[int] = field(default_factory=Counter)
    _median: float = 0.0
    _pending: dict[Doing, tuple[float, Spent]] = field(default_factory=dict)
    _epochs: int = 0

    @property
    def wall(self) -> float:
        """Seconds from the first steady step to the end of the last, with what lies between them."""
        return 0.0 if self.began is None else self.ended - self.began

    @property
    def per_second(self) -> float:
        """Steps in a second of it."""
        return self.steps / self.wall if self.wall > 0 else 0.0

    @property
    def idle(self) -> float:
        """Seconds of `wall` in which the GPU did nothing, or would have."""
        return sum(spent.idle for spent in self.spent.values())

    def quantile(self, share: float) -> float:
        """How long no more than a share of the steps takes at most, within half a percent; 0 for no steps."""
        passed = 0
        for number in sorted(self._durations):
            passed += self._durations[number]
            if passed >= share * self.steps:
                return math.exp(number * _BIN)
        return 0.0

    def begin_epoch(self) -> None:
        """The second epoch begins what is steady."""
        self._epochs += 1
        if self._epochs == 2:
            count, seconds = self.warm_up
            self._forget((count + self.steps, seconds + self.seconds))

    def _forget(self, warm_up: tuple[int, float]) -> None:
        self.warm_up, self.began, self.steps, self.seconds, self._size = warm_up, None, 0, 0.0, 1
        for kept in (self.spent, self.slow, self.blocks, self._durations, self._pending):
            kept.clear()

    def add(self, began: float, seconds: float) -> bool:
        """Take a step; returns whether it is a slow one."""
        count, before = self.warm_up
        if self._epochs < 2 and count < WARM_UP:
            self.warm_up = count + 1, before + seconds
            return False
        if self.began is None:
            self.began = began
        self.ended = began + seconds
        self.steps += 1
        self.seconds += seconds
        self._durations[round(math.log(max(seconds, 1e-6)) / _BIN)] += 1
        self._add_to_blocks(seconds)
        for doing in [doing for doing, (end, _) in self._pending.items() if end <= self.ended + _TICK]:
            self.spent.setdefault(doing, Spent()).add(self._pending.pop(doing)[1])
        if self.steps % 16 == 0:
            self._median = self.quantile(0.5)
        return self._median > 0 and seconds > max(_SLOW * self._median, self._median + _SLOW_BY)

    def charge(self, end: float, doing: Doing, seconds: float, idle: float) -> None:
        """What the main thread did until `end`; what comes after the last step counts when another one has come."""
        if self.began is None or end <= self.began:
            return
        if end <= self.ended:
            self.spent.setdefault(doing, Spent()).add(Spent(seconds, idle))
        else:
            _, spent = self._pending.get(doing, (0.0, Spent()))
            spent.add(Spent(seconds, idle))
            self._pending[doing] = end, spent

    def blame(self, number: int, seconds: float, did: dict[Doing, float]) -> None:
        """Say what a slow step did that others do not.

        Arguments:
            number: of the step.
            did: seconds of it by what was done.
        """
        excess = {doing: spent - self._usual(doing) for doing, spent in did.items()}
        most = max(excess, key=lambda doing: excess[doing], default=None)
        cause = None
        if most is not None:
            cause = Cause(most.stack[0] if most.stack else None, most.phase, most.waits)
        slow = self.slow.setdefault(cause if len(self.slow) < _MOST_CAUSES else None, Slow())
        slow.count += 1
        slow.excess += seconds - self._median
        if seconds > slow.longest:
            slow.longest, slow.number = seconds, number

    def _usual(self, doing: Doing) -> float:
        """Seconds of it in a step of median length at most."""
        spent = self.spent.get(doing)
        return 0.0 if spent is None or not self.steps else min(self._median, spent.seconds / self.steps)

    def _add_to_blocks(self, seconds: float) -> None:
        if self.blocks and self.blocks[-1][0] < self._size:
            count, before = self.blocks.pop()
            self.blocks.append((count + 1, before + seconds))
            return
        if len(self.blocks) == _MOST_BLOCKS:
            pairs = zip(self.blocks[::2], self.blocks[1::2], strict=True)
            self.blocks = [(count + more, time + further) for (count, time), (more, further) in pairs]
            self._size *= 2
        self.blocks.append((1, seconds))


@dataclass(slots=True)
class Trainings:
    """All trainings of a run by their lines, and what the main thread did lately."""

    by_place: dict[Place, Training] = field(default_factory=dict)
    _current: Training | None = None
    _recent: deque[tuple[float, float, Doing]] = field(default_factory=lambda: deque(maxlen=_MOST_RECENT))
    _slow: deque[tuple[Training, int, float, float]] = field(default_factory=deque)

    def take(self, step: StepDone) -> None:
        """A step, or the beginning of an epoch."""
        training = self.by_place.get(step.place)
        if training is None:
            if len(self.by_place) >= _MOST_TRAININGS:
                return
            training = self.by_place[step.place] = Training(step.place, "loop" if step.kind == "loop" else "fit")
        self._current = training
        if step.kind == "epoch":
            training.begin_epoch()
        elif training.add(step.began, step.seconds):
            number = training.warm_up[0] + training.steps
            self._slow.append((training, number, step.began, step.seconds))

    def see(self, end: float, span: float, doing: Doing) -> None:
        """What the main thread does, as it was sampled."""
        self._recent.append((end, span, doing))
        self._blame(end - _SETTLED)

    def charge(self, end: float, doing: Doing, seconds: float, idle: float) -> None:
        """What it is charged for."""
        if self._current is not None:
            self._current.charge(end, doing, seconds, idle)

    def move(self, executed: Doing, share: float) -> None:
        """Of what was executed so far this share waited for input."""
        for training in self.by_place.values():
            spent = training.spent.get(executed)
            if spent is not None and spent.idle == 0:
                moved = spent.seconds * share
                spent.seconds -= moved
                waited = Doing(executed.stack, executed.phase, "data")
                training.spent.setdefault(waited, Spent()).add(Spent(moved, moved))

    def finish(self) -> None:
        """Nothing more will come."""
        self._blame(math.inf)

    def steady(self) -> list[Training]:
        """The trainings that were under way, what took longest first."""
        steady = [training for training in self.by_place.values() if training.steps >= WARM_UP]
        return sorted(steady, key=lambda training: -training.wall)

    def main(self) -> Training | None:
        """The one that took longest; None where none was steady."""
        return next(iter(self.steady()), None)

    def _blame(self, until: float) -> None:
        while self._slow and self._slow[0][2] + self._slow[0][3] <= until:
            training, number, began, seconds = self._slow.popleft()
            if training.began is None or began < training.began:  # of the first epoch
                continue
            did: dict[Doing, float] = {}
            for doing, spent in self._within(began, began + seconds):
                did[doing] = did.get(doing, 0.0) + spent
            training.blame(number, seconds, did)

    def _within(self, began: float, ended: float) -> Iterator[tuple[Doing, float]]:
        for end, span, doing in self._recent:
            part = min(end, ended) - max(end - span, began)
            if part > 0:
                yield doing, part


def slowest(training: Training) -> Iterable[tuple[Cause | None, Slow]]:
    """The causes of slow steps, what costs most first."""
    return sorted(training.slow.items(), key=lambda item: -item[1].excess)
