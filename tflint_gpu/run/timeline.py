"""How a run went over time, in a bounded number of equal bins: twice as long ones when it gets longer."""

from __future__ import annotations

from dataclasses import field
from typing import Protocol

from tflint_gpu.gpu.watch import Sample as CardSample
from tflint_gpu.lazy_dataclasses import dataclass
from tflint_gpu.run.samples import Place, Stack

MOST_BINS = 512
_FIRST_WIDTH = 0.125
_MOST_PLACES = 8


class _Doing(Protocol):
    @property
    def stack(self) -> Stack: ...
    @property
    def phase(self) -> str: ...


@dataclass(slots=True)
class Bin:
    """What happened in one span: seconds of samples, of them idle, the card's use, phases, what the lines cost, steps.

    Arguments:
        others: of other GPUs the sum of their utilisations, and how often it was taken.
        steps, stepping: training steps that ended in it, and their seconds.
    """

    seconds: float = 0.0
    idle: float = 0.0
    watched: float = 0.0
    used: float = 0.0
    memory: int | None = None
    phases: dict[str, float] = field(default_factory=dict)
    places: dict[Place, float] = field(default_factory=dict)
    others: dict[str, tuple[int, int]] = field(default_factory=dict)
    steps: int = 0
    stepping: float = 0.0

    @property
    def utilisation(self) -> float | None:
        """In percent; None where no card was seen."""
        return self.used / self.watched if self.watched else None

    def join(self, other: Bin) -> None:
        """Take what another one holds."""
        self.seconds += other.seconds
        self.idle += other.idle
        self.watched += other.watched
        self.used += other.used
        self.steps += other.steps
        self.stepping += other.stepping
        if other.memory is not None:
            self.memory = max(other.memory, self.memory or 0)
        for phase, seconds in other.phases.items():
            self.phases[phase] = self.phases.get(phase, 0.0) + seconds
        for place, idle in other.places.items():
            self.places[place] = self.places.get(place, 0.0) + idle
        for title, (total, count) in other.others.items():
            known = self.others.get(title, (0, 0))
            self.others[title] = (known[0] + total, known[1] + count)
        if len(self.places) > _MOST_PLACES:
            kept = sorted(self.places.items(), key=lambda item: -item[1])[: _MOST_PLACES // 2]
            self.places = dict(kept)


@dataclass(slots=True)
class Timeline:
    """Bins of `width` seconds from the start of the program on."""

    width: float = _FIRST_WIDTH
    bins: list[Bin] = field(default_factory=list)

    def add(self, end: float, span: float, idle: float, doing: _Doing, card: CardSample | None) -> None:
        """A sample that ended `end` seconds after the start; a long one is spread over the bins that it touches."""
        self._reach(end)
        at = max(0.0, end - span)
        while at < end:
            number = int(at / self.width)
            until = min(end, (number + 1) * self.width)
            if until <= at:  # the end of a bin, rounded
                number, until = number + 1, min(end, (number + 2) * self.width)
            part = until - at
            self._bin(min(number, MOST_BINS - 1)).join(_part(part, idle * part / span, doing, card))
            at = until

    def add_other(self, end: float, title: str, utilisation: int) -> None:
        """How much another GPU was used by a moment."""
        self._reach(end)
        self._bin(int(max(0.0, end) / self.width)).join(Bin(others={title: (utilisation, 1)}))

    def add_step(self, end: float, seconds: float) -> None:
        """A training step that ended `end` seconds after the start."""
        self._reach(end)
        self._bin(int(max(0.0, end) / self.width)).join(Bin(steps=1, stepping=seconds))

    def _reach(self, end: float) -> None:
        while end >= self.width * MOST_BINS:
            self._widen()

    def _bin(self, number: int) -> Bin:
        while len(self.bins) <= number:
            self.bins.append(Bin())
        return self.bins[number]

    def _widen(self) -> None:
        joined = self.bins[::2]
        for interval, other in zip(joined, self.bins[1::2], strict=False):
            interval.join(other)
        self.bins, self.width = joined, self.width * 2


def _part(seconds: float, idle: float, doing: _Doing, card: CardSample | None) -> Bin:
    use = None if card is None else card.utilisation
    return Bin(
        seconds,
        idle,
        0.0 if use is None else seconds,
        0.0 if use is None else seconds * use,
        None if card is None else (card.memory if card.memory is not None else card.card_memory),
        {doing.phase: seconds},
        {doing.stack[0]: idle} if doing.stack and idle else {},
    )
