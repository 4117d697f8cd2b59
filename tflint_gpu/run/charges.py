"""What the time of a run is charged to: what was done, and the lines that did it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field

from tflint_gpu.lazy_dataclasses import dataclass
from tflint_gpu.run.samples import Place, Stack


@dataclass(frozen=True, slots=True)
class Doing:
    """What was done: the lines, in which phase, and what was waited for."""

    stack: Stack
    phase: str
    waits: str


@dataclass(slots=True)
class Spent:
    """Seconds of it, and those of them in which the GPU did nothing."""

    seconds: float = 0.0
    idle: float = 0.0

    def add(self, other: Spent) -> None:
        """Take what another one holds."""
        self.seconds += other.seconds
        self.idle += other.idle


@dataclass(slots=True)
class Line:
    """All that was spent on one line, by phase and by what was waited for."""

    place: Place | None
    spent: Spent = field(default_factory=Spent)
    ways: dict[tuple[str, str], Spent] = field(default_factory=dict)

    @property
    def way(self) -> tuple[str, str]:
        """The phase and the wait that cost most."""
        return max(self.ways, key=lambda way: (self.ways[way].idle, self.ways[way].seconds))


def phases(entries: Mapping[Doing, Spent]) -> dict[str, Spent]:
    """An account by phase, the longest first."""
    spents: dict[str, Spent] = {}
    for doing, spent in entries.items():
        spents.setdefault(doing.phase, Spent()).add(spent)
    return dict(sorted(spents.items(), key=lambda item: -item[1].seconds))


def lines(entries: Mapping[Doing, Spent]) -> list[Line]:
    """An account by the innermost line, the most expensive first."""
    by_place: dict[Place | None, Line] = {}
    for doing, spent in entries.items():
        place = doing.stack[0] if doing.stack else None
        line = by_place.setdefault(place, Line(place))
        line.spent.add(spent)
        line.ways.setdefault((doing.phase, doing.waits), Spent()).add(spent)
    return sorted(by_place.values(), key=lambda line: (-line.spent.idle, -line.spent.seconds))
