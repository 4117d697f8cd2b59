"""Plots of one verification as SVG for a page."""

from __future__ import annotations

import math
import statistics
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from tflint_gpu.gpu.watch import Recording
from tflint_gpu.gpu.watch import Sample as CardSample
from tflint_gpu.verify.experiments.verification import Sample, Verification
from tflint_gpu.verify.reports import conditions, figures
from tflint_gpu.verify.reports.svg import INK, svg

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.axis import Axis

_FLAGGED, _REPAIRED, _BAD = "#070809", "#0a0b0c", "#0d0e0f"
_CSS = {_FLAGGED: "var(--flagged)", _REPAIRED: "var(--repaired)", _BAD: "var(--bad)"}
_SIDES = (("flagged", _FLAGGED, "o", -0.43), ("fixed", _REPAIRED, "s", 0.05))
_STRIP = 0.38
_LOG_FROM = 5.0
_MOST_MARKED = 40
_FEWEST_SPREAD, _MOST_SPREAD = 5, 300
_SPREAD = 0.26
_BINS = 40
_GOLDEN = 0.6180339887498949


def amounts(result: Verification, name: str) -> str:
    """Times of all steps, or the memory held, a strip for each process; empty where a variant has none.

    Arguments:
        name: part of the identifiers in the SVG, which must differ within a page.
    """
    if result.unit == "bytes":
        columns = [
            [[amount.value / (1 << 20)] for amount in side if amount.value is not None] for side in _sides(result)
        ]
        label = "held on the GPU (MiB)"
    else:
        columns = [
            [[step * 1e3 for step in sample.steps] for sample in side if sample.steps] for side in _sides(result)
        ]
        label = f"time per {result.unit.removeprefix(figures.PER)} (ms)"
    if not all(columns) or result.verdict.verdict == "not run":
        return ""

    def draw(axes: Axes) -> None:
        middles = [statistics.median(map(statistics.median, column)) for column in columns]
        _scale(axes.yaxis, axes, [amount for column in columns for strip in column for amount in strip], middles)
        for (side, colour, marker, left), column, middle in zip(_SIDES, columns, middles, strict=True):
            for number, strip in enumerate(column, 1):
                _strip(axes, strip, number + left, colour, marker, side if number == 1 else "")
            axes.axhline(middle, color=colour, linestyle=(0, (6, 3)), linewidth=1.3, zorder=1.5)
            text = f"{middle:,.4g}" if middle < 1000 else f"{middle:,.0f}"
            axes.annotate(
                text, (1, middle), xycoords=("axes fraction", "data"), xytext=(4, 0), textcoords="offset points",
                va="center", color=colour,
            )  # fmt: skip
        axes.set_xticks(range(1, max(map(len, columns)) + 1))
        axes.set_xlabel("one column per round (one process of each); its steps from left to right")
        axes.set_ylabel(label)
        axes.tick_params(axis="x", length=0)

    return svg(draw, name, _CSS)


def distribution(result: Verification, name: str) -> str:
    """All step times of each variant next to each other, with p50, p90 and p99; empty where a variant has none."""
    columns = [[step * 1e3 for step in conditions.steps_of(side)] for side in _sides(result)]
    if min(map(len, columns)) < _FEWEST_SPREAD or result.verdict.verdict == "not run" or result.unit == "bytes":
        return ""

    def draw(axes: Axes) -> None:
        _scale(axes.xaxis, axes, [step for column in columns for step in column], list(map(statistics.median, columns)))
        for height, (side, colour, marker, _), column in zip((1.0, 0.0), _SIDES, columns, strict=True):
            shown = _thinned(column)
            places = [height + offset for offset in _offsets(shown, axes.get_xscale() == "log")]
            axes.plot(shown, places, linestyle="", marker=marker, markersize=2.6, alpha=0.45, color=colour, label=side)
            for share, length in zip(conditions.PERCENTILES, (0.34, 0.28, 0.28), strict=True):
                value = conditions.percentile(column, share)
                axes.plot([value, value], [height - length, height + length], color=INK, linewidth=1.4)
                up = 1 if share > 50 else -1  # p90 and p99 may be close to p50, and to each other
                axes.annotate(
                    f"p{share}", (value, height + up * length), xytext=(0, up * (2 + 10 * (share == 99))),
                    textcoords="offset points", ha="center", va="bottom" if up > 0 else "top", fontsize=9,
                )  # fmt: skip
        axes.set_ylim(-0.6, 1.7)
        axes.set_yticks([1, 0], ["flagged", "fixed"])
        axes.tick_params(axis="y", length=0)
        axes.grid(visible=False, axis="y")
        axes.grid(visible=True, axis="x")
        axes.set_xlabel(f"time per {result.unit.removeprefix(figures.PER)} (ms), all steps of all rounds")

    return svg(draw, name, _CSS)


def utilisation(result: Verification, name: str) -> str:
    """How busy the card was from the start of each process on; empty where nothing was seen."""
    return _over_time(result, name, lambda moment: moment.utilisation, "GPU utilisation (%)", marks=False)


def clock(result: Verification, name: str) -> str:
    """The clock of the card's processors from the start of each process on, marked where it was held down."""
    return _over_time(result, name, lambda moment: moment.clock, "SM clock (MHz)")


def power(result: Verification, name: str) -> str:
    """What the card drew from the start of each process on, marked where its clocks were held down."""
    return _over_time(result, name, lambda moment: moment.power, "power (W)")


def _over_time(
    result: Verification, name: str, pick: Callable[[CardSample], float | None], label: str, *, marks: bool = True
) -> str:
    """A line for each process, strong while it measured, with a cross where the clocks were held down."""
    lines = [[sample.recording for sample in side if sample.recording is not None] for side in _sides(result)]
    points = [[_points(recording, pick) for recording in side] for side in lines]
    if not any(len(line) > 1 for side in points for line in side):
        return ""

    def draw(axes: Axes) -> None:
        slowed: list[tuple[float, float]] = []
        for (side, colour, _, _), recordings in zip(_SIDES, lines, strict=True):
            for number, recording in enumerate(recordings):
                known = _points(recording, pick)
                axes.plot(*_columns(known), color=colour, alpha=0.3, linewidth=1.0)
                measured = _points(replace(recording, samples=recording.measured), pick)
                axes.plot(*_columns(measured), color=colour, alpha=0.9, linewidth=1.8, label="" if number else side)
                held = [sample for sample in recording.samples if sample.slowed]
                slowed += _points(replace(recording, samples=tuple(held)), pick)
        if slowed and marks:
            axes.plot(*_columns(slowed), linestyle="", marker="x", markersize=5, color=_BAD, label="throttled")
        most = max(value for side in points for line in side for _, value in line)
        axes.set_ylim(0, 104 if label.endswith("(%)") else most * 1.1 or 1)
        axes.set_xlim(left=0)
        axes.set_xlabel("since the process started (s); thick: while it measured")
        axes.set_ylabel(label)

    return svg(draw, name, _CSS)


def _points(recording: Recording, pick: Callable[[CardSample], float | None]) -> list[tuple[float, float]]:
    return [(sample.seconds, float(value)) for sample in recording.samples if (value := pick(sample)) is not None]


def _columns(points: Sequence[tuple[float, float]]) -> tuple[list[float], list[float]]:
    return [x for x, _ in points], [y for _, y in points]


def _thinned(values: Sequence[float]) -> list[float]:
    """So many of the values as a page can carry, evenly from the least to the largest, these two included."""
    ordered = sorted(values)
    if len(ordered) <= _MOST_SPREAD:
        return ordered
    last = len(ordered) - 1
    return [ordered[round(number * last / (_MOST_SPREAD - 1))] for number in range(_MOST_SPREAD)]


def _offsets(values: Sequence[float], by_ratio: bool) -> list[float]:
    """How far from the middle of its strip each value is drawn: the further, the more values are near it."""
    values = [math.log(value) for value in values] if by_ratio else values
    least, most = values[0], values[-1]
    bins = [int(_BINS * (value - least) / ((most - least) or 1)) for value in values]
    counts = Counter(bins)
    widest = max(counts.values())
    # The golden ratio's multiples spread evenly however many there are, and are the same in each report.
    return [
        _SPREAD * (counts[bin_] / widest) ** 0.5 * (2 * (number * _GOLDEN % 1.0) - 1)
        for number, bin_ in enumerate(bins)
    ]


def _sides(result: Verification) -> tuple[Sequence[Sample], Sequence[Sample]]:
    return result.before, result.after


def _strip(axes: Axes, strip: Sequence[float], left: float, colour: str, marker: str, label: str) -> None:
    """One process: its steps as a line, and its median."""
    count = len(strip)
    places = [left + _STRIP * ((index + 0.5) / count) for index in range(count)]
    marks: dict[str, Any] = {"marker": marker, "markersize": 3.5 if count > 1 else 7} if count <= _MOST_MARKED else {}
    axes.plot(places, strip, color=colour, linewidth=0.9, alpha=0.85, **marks)
    middle = statistics.median(strip)
    axes.plot([left, left + _STRIP], [middle, middle], color=colour, linewidth=2.6, label=label, solid_capstyle="butt")


def _scale(axis: Axis, axes: Axes, known: Sequence[float], middles: Sequence[float]) -> None:
    """Logarithmic where one variant would be a line at the edge otherwise."""
    from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter

    is_upright = axis is axes.yaxis
    limit = axes.set_ylim if is_upright else axes.set_xlim
    least, most = min(known), max(known)
    if least > 0 and max(middles) > _LOG_FROM * min(middles):
        (axes.set_yscale if is_upright else axes.set_xscale)("log")
        limit(least / 1.3, most * 1.3)
        axis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0) if most < 300 * least else (1.0,)))
        axis.set_minor_formatter(NullFormatter())
    else:
        limit(0, most * 1.08 or 1)
    axis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:,.6g}"))
