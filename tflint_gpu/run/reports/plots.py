"""The timeline of a run as SVG for a page: the card's use, its memory, the phases, and the most expensive lines."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from tflint_gpu.drawing.plots import svg
from tflint_gpu.run.charges import Line
from tflint_gpu.run.reports import words
from tflint_gpu.run.result import Report
from tflint_gpu.run.timeline import Bin

if TYPE_CHECKING:
    from matplotlib.axes import Axes

COLOURS = ("#112201", "#112202", "#112203", "#112204", "#112205", "#112206", "#112207", "#112208")
"""Stand-ins of the page's colours `--c1` and so on."""
_CSS = {colour: f"var(--c{number})" for number, colour in enumerate(COLOURS, 1)}
_MIBIBYTE = 1 << 20


def utilisation(report: Report) -> str:
    """How busy the card was; empty where none reported it."""
    bins, width = report.ledger.timeline.bins, report.ledger.timeline.width
    known = [
        (number * width, interval.utilisation)
        for number, interval in enumerate(bins)
        if interval.utilisation is not None
    ]
    if len(known) < 2:
        return ""

    def draw(axes: Axes) -> None:
        seconds, percents = zip(*known, strict=True)
        axes.fill_between(seconds, percents, step="post", color=COLOURS[0], alpha=0.5, linewidth=0)
        axes.set_ylim(0, 102)
        _frame(axes, report, "GPU utilisation (%)")

    return svg(draw, "utilisation", _CSS)


def memory(report: Report) -> str:
    """The memory that was held on the card; empty where none reported it."""
    bins, width = report.ledger.timeline.bins, report.ledger.timeline.width
    known = [
        (number * width, interval.memory / _MIBIBYTE)
        for number, interval in enumerate(bins)
        if interval.memory is not None
    ]
    if len(known) < 2:
        return ""

    def draw(axes: Axes) -> None:
        seconds, sizes = zip(*known, strict=True)
        axes.plot(seconds, sizes, color=COLOURS[1], linewidth=1.6, drawstyle="steps-post", label="held")
        if report.ledger.memory is not None:
            most = report.ledger.memory.most / _MIBIBYTE
            axes.axhline(most, color=COLOURS[2], linestyle=(0, (6, 3)), label="the most that TensorFlow used")
        axes.set_ylim(bottom=0)
        _frame(axes, report, "memory on the card (MiB)")

    return svg(draw, "memory", _CSS)


def phases(report: Report) -> str:
    """Which part of each span the main thread spent in which phase; empty for no samples."""
    names = list(report.ledger.phases())[: len(COLOURS)]
    if not names:
        return ""
    parts = [(words.phase(name), lambda interval, name=name: interval.phases.get(name, 0.0)) for name in names]
    return svg(_shares(report, parts, "part of the main thread's time"), "phases", _CSS)


def lines(report: Report, expensive: Sequence[Line], here: Callable[[Line], str]) -> str:
    """Which part of each span was idle time of which line; empty where no line has any."""
    located = [line for line in expensive if line.place is not None]
    if not located:
        return ""
    parts = [(here(line), lambda interval, place=line.place: interval.places.get(place, 0.0)) for line in located]
    return svg(_shares(report, parts, "idle time, part of the span"), "lines", _CSS)


def _shares(report: Report, parts: Sequence[tuple[str, Callable[[Bin], float]]], label: str) -> Callable[[Axes], None]:
    timeline = report.ledger.timeline

    def draw(axes: Axes) -> None:
        count = len(timeline.bins)
        seconds = [number * timeline.width for number in range(count + 1)]
        heights = [[min(1.0, amount(interval) / timeline.width) for interval in timeline.bins] for _, amount in parts]
        axes.stackplot(
            seconds,
            *([*row, row[-1]] for row in heights),
            colors=COLOURS[: len(parts)],
            labels=[name.replace("`", "") for name, _ in parts],  # a drawing knows no code
            step="post",
            linewidth=0,
        )
        axes.set_ylim(0, 1.02)
        _frame(axes, report, label)

    return draw


def _frame(axes: Axes, report: Report, label: str) -> None:
    axes.set_xlim(0, max(report.seconds, report.ledger.timeline.width))
    axes.set_xlabel("since the program started (s)")
    axes.set_ylabel(label)
