"""The panels of the timeline: what is drawn above one axis of time, as numbers for the page's script."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from tflint_gpu.lazy_dataclasses import dataclass
from tflint_gpu.run.charges import phases
from tflint_gpu.run.reports import words
from tflint_gpu.run.result import Report
from tflint_gpu.run.samples import Place
from tflint_gpu.run.timeline import Bin

_MOST_LINES = 5
_GIBIBYTE = 1 << 30

Row = list[float | None]
Value = Callable[[Bin, float], float | None]
"""What is drawn of a bin of so many seconds."""


@dataclass(frozen=True, slots=True)
class Series:
    """One value a bin.

    Arguments:
        colour: the CSS variable.
        is_line: whether a line is drawn over what the others fill.
    """

    name: str
    colour: str
    values: Row
    is_line: bool = False


@dataclass(frozen=True, slots=True)
class Panel:
    """One drawing.

    Arguments:
        top: of its axis; None: as the values are.
        is_low: whether it is one row of several, and has no axis of values.
        link: the place in the page that it is about.
    """

    title: str
    series: list[Series]
    unit: str = "%"
    top: float | None = 1.0
    is_stacked: bool = False
    is_low: bool = False
    link: str = ""


def panels(report: Report, here: Path, link: Callable[[str, int], str]) -> list[Panel]:
    """Those that have anything to show.

    Arguments:
        link: the place in the page of a row of a file.
    """
    known = [*_uses(report), _memory(report), _steps(report), _phases(report), *_lines(report, here, link)]
    return [panel for panel in known if any(value is not None for series in panel.series for value in series.values)]


def drawn(report: Report, shown: list[Panel]) -> dict[str, Any]:
    """What the page's script draws."""
    timeline, training = report.ledger.timeline, report.training
    end = max(report.seconds, timeline.width)
    starts = [number * timeline.width for number in range(len(timeline.bins))]
    return {
        "seconds": [*starts, len(starts) * timeline.width],
        "end": end,
        "training": None
        if training is None or training.began is None
        else [training.began - report.ledger.began, training.ended - report.ledger.began],
        "panels": [
            {
                "unit": panel.unit,
                "top": panel.top,
                "stacked": panel.is_stacked,
                "low": panel.is_low,
                "series": [
                    {"name": row.name.replace("`", ""), "colour": row.colour, "line": row.is_line, "values": row.values}
                    for row in panel.series
                ],
            }
            for panel in shown
        ],
    }


def _uses(report: Report) -> Iterator[Panel]:
    """How busy each GPU was; without a GPU how long one would have waited."""
    if not report.knows_use:
        idle = _values(report, lambda interval, length: _share(interval.idle, length))
        yield Panel("A GPU would have waited", [Series("a GPU would have waited", "--idle", idle)])
        return
    first = "GPU" if report.gpu is None else report.gpu.title
    used = _values(report, lambda interval, _: None if interval.utilisation is None else interval.utilisation / 100)
    yield Panel(f"{first} in use", [Series(first, "--gpu", used)])
    for title in report.ledger.energies:
        if title != first:
            yield Panel(f"{title} in use", [Series(title, "--gpu", _values(report, _use_of(title)))], is_low=True)


def _use_of(title: str) -> Value:
    def use(interval: Bin, _: float) -> float | None:
        total, count = interval.others.get(title, (0, 0))
        return total / count / 100 if count else None

    return use


def _memory(report: Report) -> Panel:
    held = _values(report, lambda interval, _: None if interval.memory is None else interval.memory / _GIBIBYTE)
    series = [Series("held", "--memory", held)]
    if report.ledger.memory is not None and any(held):
        most = report.ledger.memory.most / _GIBIBYTE
        series.append(Series("peak use by TensorFlow", "--ink", [round(most, 4)] * len(held), is_line=True))
    return Panel("Memory of the GPU", series, unit="GiB", top=None)


def _steps(report: Report) -> Panel:
    """The mean time of the training steps that ended in each bin; a longer one fills those before, too."""
    unit, factor = ("ms", 1e3) if report.training is None or report.training.quantile(0.5) < 1 else ("s", 1.0)
    times = _values(report, lambda interval, _: factor * interval.stepping / interval.steps if interval.steps else None)
    for number, time in enumerate(times[:]):
        reach = 0 if time is None else int(time / factor / report.ledger.timeline.width)
        for before in range(max(0, number - reach), number):
            times[before] = time if times[before] is None else times[before]
    return Panel("Time of a training step", [Series("a step", "--ink", times, is_line=True)], unit=unit, top=None)


def _phases(report: Report) -> Panel:
    """Which part of each bin the main thread spent in which phase."""
    names = phases(report.ledger.entries)
    series = [Series(words.phase(name), words.colour(name), _values(report, _in_phase(name))) for name in names]
    return Panel("Phases of the main thread", series, is_stacked=True)


def _lines(report: Report, here: Path, link: Callable[[str, int], str]) -> Iterator[Panel]:
    """Which part of each bin was idle time of which line."""
    for line in words.most_expensive(report)[:_MOST_LINES]:
        if (place := line.place) is not None:
            values = _values(report, _at(place))
            series = Series(words.place(place, here), words.colour(line.way[0]), values)
            yield Panel(words.place(place, here), [series], is_low=True, link=link(place.file, place.row))


def _share(seconds: float, length: float) -> float:
    return min(1.0, seconds / length)


def _in_phase(name: str) -> Value:
    return lambda interval, length: _share(interval.phases.get(name, 0.0), length)


def _at(place: Place) -> Value:
    return lambda interval, length: _share(interval.places.get(place, 0.0), length)


def _values(report: Report, value: Value) -> Row:
    """Of each bin: the last may be shorter than the others."""
    timeline = report.ledger.timeline
    values: Row = []
    for number, interval in enumerate(timeline.bins):
        length = min(timeline.width, report.seconds - number * timeline.width)
        amount = value(interval, length if length > 0 else timeline.width)
        values.append(None if amount is None else round(amount, 4))
    return values
