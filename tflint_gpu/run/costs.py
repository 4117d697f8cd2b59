"""What a finding of `check` costs in a run: the idle time of its own lines, or else of what it is part of.

That is what mending it gives at most. Only what is predicted to be slow can be mended so.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from tflint_gpu.diagnostics import Diagnostic
from tflint_gpu.run.datasets import Dataset
from tflint_gpu.run.ledger import Doing, Spent
from tflint_gpu.run.samples import Place

LineOf = Callable[[str, int], str | None]
Of = Literal["its own lines", "the operations that its dataset feeds", "the function around it"]


@dataclass(frozen=True, slots=True)
class Cost:
    """A finding, and the idle seconds of its lines.

    Arguments:
        of: what these seconds are of, where its own lines had none.
    """

    diagnostic: Diagnostic
    idle: float
    of: Of = "its own lines"


def costs(
    found: Iterable[Diagnostic],
    entries: Mapping[Doing, Spent],
    here: Path,
    line_of: LineOf,
    datasets: Sequence[Dataset] = (),
) -> tuple[Cost, ...]:
    """The findings that cost anything, the dearest first; its own lines count more than what is around it.

    Arguments:
        here: what the findings' names of files start from.
        line_of: the text of a row of a file, by the name in findings.
        datasets: of the files that ran.
    """
    by_file = _Entries(entries)
    known = [cost for one in found if (cost := _cost(one, by_file, here, line_of, datasets)) is not None]
    return tuple(sorted(known, key=lambda cost: (cost.of != "its own lines", -cost.idle, cost.diagnostic.sort_key)))


class _Entries:
    """The account, with the names of files resolved once."""

    def __init__(self, entries: Mapping[Doing, Spent]) -> None:
        names = {place.file for doing in entries for place in doing.stack}
        self._paths = {name: Path(name).resolve() for name in names}
        self.entries = [(doing, spent.idle) for doing, spent in entries.items() if spent.idle > 0]

    def sum(self, matches: Callable[[Doing], bool]) -> float:
        return sum(idle for doing, idle in self.entries if matches(doing))

    def is_in(self, place: Place, path: Path) -> bool:
        return self._paths[place.file] == path


def _cost(one: Diagnostic, entries: _Entries, here: Path, line_of: LineOf, datasets: Sequence[Dataset]) -> Cost | None:
    if one.location.cell or one.prediction is None or one.prediction.kind != "slowdown":
        return None
    path = (here / one.filename).resolve()
    first, last = one.location.row, max(one.end_location.row, one.noqa_row)
    text = "\n".join(line_of(one.filename, row) or "" for row in range(first, min(last, first + 50) + 1))
    called = set(re.findall(r"[^\W\d]\w*", text))
    noted = {((here / note.filename).resolve(), note.location.row) for note in one.related}
    fed = [
        dataset
        for dataset in datasets
        if any(
            first <= step.last and step.first <= last and Path(step.file).resolve() == path for step in dataset.steps
        )
    ]

    def is_own(doing: Doing) -> bool:
        if any(first <= place.row <= last and entries.is_in(place, path) for place in doing.stack):
            return True
        if doing.waits == "data" and any(dataset.feeds(doing) for dataset in fed):
            return True
        # What an input pipeline runs is not below the line that names it.
        return doing.waits == "feed" and any(
            (place.function in called and entries.is_in(place, path))
            or (place.function != "<module>" and _is_noted(place, noted, entries))
            for place in doing.stack
        )

    idle = entries.sum(is_own)
    perhaps = entries.sum(lambda doing: any(dataset.feeds(doing) for dataset in fed)) if fed else 0.0
    if perhaps > idle:
        return Cost(one, perhaps, "the operations that its dataset feeds")
    if idle:
        return Cost(one, idle)
    around = _around(entries, path, first)
    if around is None:
        return None
    idle = entries.sum(lambda doing: any(_is_inside(place, around) for place in doing.stack))
    return Cost(one, idle, "the function around it")


def _is_noted(place: Place, noted: set[tuple[Path, int]], entries: _Entries) -> bool:
    return any(place.first <= row <= place.last and entries.is_in(place, file) for file, row in noted)


def _around(entries: _Entries, path: Path, row: int) -> Place | None:
    """The innermost function around a row of those that cost something; the module is none."""
    seen = {place for doing, _ in entries.entries for place in doing.stack}
    fitting = [
        place
        for place in seen
        if place.function != "<module>" and place.first <= row <= place.last and entries.is_in(place, path)
    ]
    return min(fitting, key=lambda place: place.last - place.first, default=None)


def _is_inside(place: Place, function: Place) -> bool:
    return place.file == function.file and function.first <= place.row <= function.last
