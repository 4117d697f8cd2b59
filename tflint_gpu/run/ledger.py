"""The account of a run: which line had which share of the time in which the GPU did nothing.

NVML tells how much of a short while some kernel ran. The rest of it is idle time, which is charged to what the program
did then: first to what keeps a GPU waiting (its own Python, the next batch), and only what is left to operations and to
reading results. Without a GPU the former alone is charged: the time in which a GPU would have waited. Imports are none
of it: no program computes before they are done.

All is bounded: equal samples are one entry, and what is too many for the table goes to shorter stacks.
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Iterable, Iterator
from dataclasses import field, replace

from tflint_gpu.gpu.energy import Energy
from tflint_gpu.gpu.watch import LOW
from tflint_gpu.gpu.watch import Sample as CardSample
from tflint_gpu.lazy_dataclasses import dataclass
from tflint_gpu.run.charges import Doing, Line, Spent, lines, phases
from tflint_gpu.run.samples import (
    Held,
    Memory,
    Native,
    Place,
    Profiled,
    Sample,
    Seen,
    Stack,
    Started,
    StepDone,
    Told,
    Waited,
)
from tflint_gpu.run.steps import Trainings
from tflint_gpu.run.timeline import Timeline
from tflint_gpu.run.trace import Trace

_MOST_ENTRIES = 10_000
_MOST_UNSETTLED = 3_000


@dataclass(slots=True)
class Ledger:
    """Takes samples of the program and of the card, in any threads, and keeps the account.

    Arguments:
        has_card: whether samples of a card come.
        began: when the program did, on the samples' clock.

    Attributes:
        workers: what the processes that the program started did.
        feeding: what fed input pipelines while operations ran.
        holders: what held Python's lock.
        native: shares of the main thread's time by library, function, and the line around.
        gpus: how many TensorFlow started with; None where it did not start.
        energies: of each GPU that was watched, by its title.
        trainings: the steps, and what was done while they were under way.
        profiled: TensorFlow's profile of some steps, when it has ended.
    """

    has_card: bool
    began: float
    entries: dict[Doing, Spent] = field(default_factory=dict)
    workers: dict[Doing, Spent] = field(default_factory=dict)
    feeding: dict[Doing, Spent] = field(default_factory=dict)
    holders: dict[Doing, Spent] = field(default_factory=dict)
    native: dict[tuple[str, str, Place | None], float] = field(default_factory=dict)
    timeline: Timeline = field(default_factory=Timeline)
    energies: dict[str, Energy] = field(default_factory=dict)
    trainings: Trainings = field(default_factory=Trainings)
    profiled: Profiled | None = None
    watched: float = 0.0
    busy: float = 0.0
    low: float = 0.0
    held: int | None = None
    memory: Memory | None = None
    gpus: int | None = None
    samples: int = 0
    _waited: dict[tuple[Stack, str], float] = field(default_factory=dict)
    _unknown: dict[tuple[Stack, str], float] = field(default_factory=dict)
    _feeders: dict[tuple[Stack, str], Stack] = field(default_factory=dict)
    _unsettled: deque[Sample] = field(default_factory=deque)
    _card: deque[tuple[float, CardSample]] = field(default_factory=deque)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def take(self, seen: Seen | None) -> None:
        """What the program's sampler saw."""
        with self._lock:
            if isinstance(seen, Memory):
                self.memory = seen
            elif isinstance(seen, Started):
                self.gpus = seen.gpus
            elif isinstance(seen, Waited):
                self._take_share(seen)
            elif isinstance(seen, StepDone):
                self.trainings.take(seen)
                if seen.kind != "epoch":
                    self.timeline.add_step(seen.began + seen.seconds - self.began, seen.seconds)
            elif isinstance(seen, Held):
                _add(self.holders, Doing(seen.stack, seen.phase, ""), seen.seconds, 0.0)
            elif isinstance(seen, Native):
                function = (seen.library, seen.function, seen.place)
                self.native[function] = seen.share
            elif isinstance(seen, Profiled):
                self.profiled = seen
            elif seen is None or isinstance(seen, Told):
                return
            elif not seen.is_main:
                _add(self.workers, Doing(seen.stack, seen.phase, seen.waits), seen.span, 0.0)
            else:
                self.samples += 1
                self.trainings.see(seen.seconds, seen.span, _blamed(seen, self.has_card)[0])
                self._unsettled.append(seen)
                self._settle_known(seen.seconds)

    def _take_share(self, seen: Waited) -> None:
        """The first one holds for what was executed before it, too."""
        key = (seen.stack, seen.phase)
        self._waited[key] = seen.share
        moved = self._unknown.pop(key, 0.0) * seen.share
        executed = self.entries.get(Doing(seen.stack, seen.phase, "execute"))
        if executed is not None and not self.has_card:
            executed.seconds -= moved
            _add(self.entries, Doing(seen.stack, seen.phase, "data"), moved, moved)
            self.trainings.move(Doing(seen.stack, seen.phase, "execute"), seen.share)

    def take_card(self, seconds: float, seen: CardSample, title: str = "GPU 0") -> None:
        """What NVML saw, and when.

        Arguments:
            title: of the GPU; empty for a part of one, whose energy NVML does not tell.
        """
        with self._lock:
            held = seen.memory if seen.memory is not None else seen.card_memory
            if held is not None:
                self.held = max(held, self.held or 0)
            self._card.append((seconds, seen))
            if title:
                self.energies.setdefault(title, Energy()).take(seen)

    def take_other(self, seconds: float, seen: CardSample, title: str) -> None:
        """What NVML saw of a GPU beside the one that time is charged by."""
        with self._lock:
            self.energies.setdefault(title, Energy()).take(seen)
            if seen.utilisation is not None:
                self.timeline.add_other(seconds - self.began, title, seen.utilisation)

    def finish(self) -> None:
        """Charge what is left."""
        with self._lock:
            self._settle_known(float("inf"))
            self._settle(list(self._unsettled), None)
            self._unsettled.clear()
            self.trainings.finish()

    def charge_stages(self, trace: Trace) -> None:
        """Charge what waits for the next batch to the stages of its pipeline, when all has been charged otherwise."""
        for stack, phase in list(self._unknown):
            if (share := trace.share(Doing(stack, phase, "execute"))) is not None:
                self._take_share(Waited(stack, phase, share))
        self.entries = trace.charged(self.entries)
        for training in self.trainings.by_place.values():
            training.spent = trace.charged(training.spent)

    def lines(self, entries: dict[Doing, Spent] | None = None) -> list[Line]:
        """The account by the innermost line, the most expensive first."""
        return lines(self.entries if entries is None else entries)

    def phases(self) -> dict[str, Spent]:
        """The account by phase, the longest first."""
        return phases(self.entries)

    @property
    def idle(self) -> float:
        """Seconds in which the GPU did nothing, or would have."""
        return sum(spent.idle for spent in self.entries.values())

    def _settle_known(self, now: float) -> None:
        if not self.has_card:
            self._settle(list(self._unsettled), None)
            self._unsettled.clear()
            return
        while self._card and self._card[0][0] <= now:
            end, seen = self._card.popleft()
            inside = []
            while self._unsettled and self._unsettled[0].seconds <= end:
                inside.append(self._unsettled.popleft())
            self._settle(inside, seen)
        if len(self._unsettled) > _MOST_UNSETTLED:  # the card does not answer any more
            self._settle(list(self._unsettled), None)
            self._unsettled.clear()

    def _settle(self, samples: Iterable[Sample], card: CardSample | None) -> None:
        """Charge the idle part of the time of these samples."""
        use = None if card is None else card.utilisation
        blamed = [part for sample in samples for part in self._parts(sample, use is not None)]
        keeping = sum(sample.span for sample, _, keeps in blamed if keeps)
        total = sum(sample.span for sample, _, _ in blamed)
        if use is None:
            rate, rest = 1.0, 0.0
        else:
            idle = total * (1 - use / 100)
            rate = min(1.0, idle / keeping) if keeping else 0.0
            rest = max(0.0, idle - keeping) / (total - keeping) if total > keeping else 0.0
            self.watched += total
            self.busy += total - idle
            self.low += total if use < LOW else 0.0
        for sample, doing, keeps in blamed:
            if sample.feeding and not keeps:  # while operations run, as far as can be seen
                _add(self.feeding, Doing(sample.feeding[0], "data", "feed"), sample.span, 0.0)
            charged = 0.0 if use is None and doing.phase == "import" else sample.span * (rate if keeps else rest)
            _add(self.entries, doing, sample.span, charged)
            self.trainings.charge(sample.seconds, doing, sample.span, charged)
            self.timeline.add(sample.seconds - self.began, sample.span, charged, doing, card)

    def _parts(self, sample: Sample, has_use: bool) -> Iterator[tuple[Sample, Doing, bool]]:
        """A sample with its blame; one of a step in two parts, where it is known how much of that waits for input."""
        share = self._waited.get((sample.stack, sample.phase)) if sample.waits in ("execute", "feed") else None
        if share is None:
            if sample.waits == "execute" and sample.phase:
                key = (sample.stack, sample.phase)
                self._unknown[key] = self._unknown.get(key, 0.0) + sample.span
            yield (sample, *_blamed(sample, has_use))
            return
        key = (sample.stack, sample.phase)
        if sample.feeding:
            self._feeders[key] = sample.feeding[0]
        feeder = self._feeders.get(key)
        waiting = Doing(sample.stack, sample.phase, "data") if feeder is None else Doing(feeder, "data", "feed")
        yield replace(sample, span=sample.span * share), waiting, True
        yield replace(sample, span=sample.span * (1 - share)), Doing(sample.stack, sample.phase, "execute"), False


def _blamed(sample: Sample, has_use: bool) -> tuple[Doing, bool]:
    """What the time of a sample is charged to, and whether that keeps a GPU waiting.

    A GPU that does nothing while the input pipeline works waits for that; without one the program's sampler says so.
    """
    waits = sample.waits
    if sample.feeding and (waits in ("data", "feed") or (has_use and waits == "execute")):
        return Doing(sample.feeding[0], "data", "feed"), True
    # Without a GPU a result that is waited for is the only sign that the host waits for the device.
    return Doing(sample.stack, sample.phase, waits), waits != "execute" and not (has_use and waits == "read")


def _add(entries: dict[Doing, Spent], doing: Doing, seconds: float, idle: float) -> None:
    if doing not in entries and len(entries) >= _MOST_ENTRIES:
        doing = Doing(doing.stack[:1], doing.phase, doing.waits)
        if doing not in entries and len(entries) >= 2 * _MOST_ENTRIES:
            doing = Doing((), doing.phase, doing.waits)
    entries.setdefault(doing, Spent()).add(Spent(seconds, idle))
