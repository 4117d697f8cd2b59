"""What a finding of `check` costs in a run: the idle time of its own lines, or else of what it is part of.

That is what a fix saves at most. Only for what is predicted to be slow does a fix save time.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Iterable, Mapping, Sequence, Set
from dataclasses import replace
from pathlib import Path
from typing import Literal

from tflint_gpu.diagnostics import Diagnostic
from tflint_gpu.lazy_dataclasses import dataclass
from tflint_gpu.reports import View
from tflint_gpu.run.charges import Doing, Spent
from tflint_gpu.run.datasets import Dataset, Step
from tflint_gpu.run.samples import Place

Of = Literal["its own lines", "the loop around it", "the operations that its dataset feeds", "the function around it"]
_OWN = ("its own lines", "the loop around it")
_MOST_ROWS = 50
_WITH = (ast.With, ast.AsyncWith)


@dataclass(frozen=True, slots=True)
class Cost:
    """A finding, and the idle seconds of its lines.

    Arguments:
        idle: of the training, where one was under way, else of the run.
        of: what these seconds are of, where its own lines had none.
        beside: idle seconds of the run before, after and between trainings.
    """

    diagnostic: Diagnostic
    idle: float
    of: Of = "its own lines"
    beside: float = 0.0


def costs(
    diagnostics: Iterable[Diagnostic],
    entries: Mapping[Doing, Spent],
    view: View,
    datasets: Sequence[Dataset] = (),
) -> tuple[Cost, ...]:
    """The findings that cost anything, the most expensive first; its own lines count more than what is around it.

    Arguments:
        view: of the findings' files.
        datasets: of the files that ran.
    """
    by_file = _Entries(entries)
    known = [cost for diagnostic in diagnostics if (cost := _cost(diagnostic, by_file, view, datasets)) is not None]
    return tuple(sorted(known, key=lambda cost: (cost.of not in _OWN, -cost.idle, cost.diagnostic.sort_key)))


def with_costs_beside(known: Iterable[Cost], beside: Iterable[Cost]) -> tuple[Cost, ...]:
    """The costs in the training, and of the same findings and others what they cost beside it."""
    costs = {cost.diagnostic: cost for cost in known}
    for other in beside:
        cost = costs.get(other.diagnostic, replace(other, idle=0.0))
        costs[other.diagnostic] = replace(cost, beside=other.idle)
    return tuple(costs.values())


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

    def is_within(self, doing: Doing, path: Path, rows: range) -> bool:
        return any(place.row in rows and self.is_in(place, path) for place in doing.stack)


def is_priced(diagnostic: Diagnostic) -> bool:
    """Whether it is about speed: only then does a fix save time."""
    return diagnostic.prediction is not None and diagnostic.prediction.kind == "slowdown"


def _cost(diagnostic: Diagnostic, entries: _Entries, view: View, datasets: Sequence[Dataset]) -> Cost | None:
    if diagnostic.location.cell or not is_priced(diagnostic):
        return None
    about = _Subject.of(diagnostic, view, datasets)
    feeding = entries.sum(lambda doing: about.feeds(doing, entries))
    own = feeding + entries.sum(lambda doing: about.is_below(doing, entries) and not about.feeds(doing, entries))
    perhaps = entries.sum(lambda doing: any(dataset.feeds(doing) for dataset in about.datasets))
    if perhaps > own:
        return Cost(diagnostic, perhaps, "the operations that its dataset feeds")
    if not feeding and (loop := _loop_of_a_head(diagnostic, view)):
        idle = entries.sum(lambda doing: entries.is_within(doing, about.path, loop))
        return Cost(diagnostic, idle, "the loop around it") if idle else None
    if own:
        return Cost(diagnostic, own)
    around = _around(entries, about.path, diagnostic.location.row)
    if around is None:
        return None
    idle = entries.sum(lambda doing: any(_is_inside(place, around) for place in doing.stack))
    return Cost(diagnostic, idle, "the function around it")


@dataclass(frozen=True, slots=True)
class _Subject:
    """What a finding is about.

    Arguments:
        rows: of the file.
        names: all that its code mentions.
        noted: the places that explain it.
        datasets: those of which it is an operation.
    """

    path: Path
    rows: range
    names: frozenset[str]
    noted: frozenset[tuple[Path, int]]
    datasets: tuple[Dataset, ...]

    @classmethod
    def of(cls, diagnostic: Diagnostic, view: View, datasets: Sequence[Dataset]) -> _Subject:
        here = view.working_directory
        path = (here / diagnostic.filename).resolve()
        rows = range(diagnostic.location.row, max(diagnostic.end_location.row, diagnostic.noqa_row) + 1)
        text = "\n".join(view.line(diagnostic.filename, row) or "" for row in rows[:_MOST_ROWS])
        return cls(
            path,
            rows,
            frozenset(re.findall(r"[^\W\d]\w*", text)),
            frozenset(((here / note.filename).resolve(), note.location.row) for note in diagnostic.related),
            tuple(dataset for dataset in datasets if any(_is_on(step, path, rows) for step in dataset.steps)),
        )

    def is_below(self, doing: Doing, entries: _Entries) -> bool:
        """Whether its lines are on the stack.

        Where a dataset is put together nothing is lost: that is the time in which its functions are traced.
        """
        return not self.datasets and entries.is_within(doing, self.path, self.rows)

    def feeds(self, doing: Doing, entries: _Entries) -> bool:
        """Whether what was waited for is an input pipeline that it names: that is not below its lines."""
        if doing.waits == "data":
            return any(dataset.feeds(doing) for dataset in self.datasets)
        if doing.waits == "stage":
            return self._is_on_operation(doing.stack[0], entries)
        return doing.waits == "feed" and any(
            (place.function in self.names and entries.is_in(place, self.path))
            or (place.function != "<module>" and _is_noted(place, self.noted, entries))
            for place in doing.stack
        )

    def _is_on_operation(self, at: Place, entries: _Entries) -> bool:
        """Whether it is on the operation of a dataset that is written there, or on what that calls."""
        places = {(self.path, row) for row in self.rows} | self.noted
        operations = (step for dataset in self.datasets for step in dataset.steps)
        return any(row == at.row and entries.is_in(at, path) for path, row in places) or any(
            (step.file, step.first) == (at.file, at.row) and _is_on(step, self.path, self.rows) for step in operations
        )


def _is_on(step: Step, path: Path, rows: range) -> bool:
    return rows.start <= step.last and step.first < rows.stop and Path(step.file).resolve() == path


def _loop_of_a_head(diagnostic: Diagnostic, view: View) -> range | None:
    """The rows of the loop around a finding on the head of a `with` or of the loop itself: it is about all in there.

    None for other findings, and where the file is no Python any more.
    """
    try:
        tree = ast.parse(view.text(diagnostic.filename) or "")
    except (SyntaxError, ValueError, RecursionError):
        return None
    at = diagnostic.location.row
    around = [
        node
        for node in ast.walk(tree)
        if isinstance(node, ast.For | ast.While | ast.With | ast.AsyncFor | ast.AsyncWith)
        and node.lineno <= at <= (node.end_lineno or at)
    ]
    if not any(at < node.body[0].lineno for node in around):
        return None
    loops = [range(node.lineno, (node.end_lineno or at) + 1) for node in around if not isinstance(node, _WITH)]
    return min(loops, key=len, default=None)


def _is_noted(place: Place, noted: Set[tuple[Path, int]], entries: _Entries) -> bool:
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
