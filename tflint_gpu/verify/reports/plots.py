"""Plots of one verification as SVG for a page: its colours are CSS variables, its texts the page's own.

matplotlib knows no CSS: it draws in stand-in colours, which the SVG text then has exchanged.
"""

from __future__ import annotations

import io
import re
import statistics
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from tflint_gpu.verify.reports import figures
from tflint_gpu.verify.verification import Sample, Verification

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

INK, GRID, _FLAGGED, _REPAIRED = "#010203", "#040506", "#070809", "#0a0b0c"
_CSS = {INK: "currentColor", GRID: "var(--grid)", _FLAGGED: "var(--flagged)", _REPAIRED: "var(--repaired)"}
_SIDES = (("flagged", _FLAGGED, "o", -0.43), ("repaired", _REPAIRED, "s", 0.05))
_STRIP = 0.38
_LOG_FROM = 5.0
_MOST_MARKED = 40
_STYLE: dict[str, Any] = {
    "svg.fonttype": "none", "font.family": "sans-serif", "font.size": 11, "text.color": INK,
    "axes.edgecolor": INK, "axes.labelcolor": INK, "xtick.color": INK, "ytick.color": INK,
    "axes.spines.top": False, "axes.spines.right": False, "axes.grid": True, "axes.grid.axis": "y",
    "grid.color": GRID, "grid.linewidth": 0.8, "axes.axisbelow": True, "legend.frameon": False,
}  # fmt: skip


def amounts(result: Verification, name: str) -> str:
    """Times of all steps, or the memory held, a strip for each process; empty where a variant has none.

    Arguments:
        name: part of the identifiers in the SVG, which must differ within a page.
    """
    if result.unit == "bytes":
        columns = [[[one.value / (1 << 20)] for one in side if one.value is not None] for side in _sides(result)]
        label = "held on the card (MiB)"
    else:
        columns = [[[step * 1e3 for step in one.steps] for one in side if one.steps] for side in _sides(result)]
        label = f"time per {result.unit.removeprefix(figures.PER)} (ms)"
    if not all(columns) or result.verdict.verdict == "not run":
        return ""

    def draw(axes: Axes) -> None:
        middles = [statistics.median(map(statistics.median, column)) for column in columns]
        _scale(axes, [amount for column in columns for strip in column for amount in strip], middles)
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
        axes.set_xlabel("round: one process each, its steps from left to right")
        axes.set_ylabel(label)
        axes.tick_params(axis="x", length=0)

    return svg(draw, name)


def utilisation(result: Verification, name: str) -> str:
    """How busy the card was from the start of each process on; empty where nothing was seen."""
    lines = [[_curve(one) for one in side if one.recording is not None] for side in _sides(result)]
    if not any(len(seconds) > 1 for side in lines for seconds, _ in side):
        return ""

    def draw(axes: Axes) -> None:
        for (side, colour, _, _), curves in zip(_SIDES, lines, strict=True):
            for number, (seconds, percents) in enumerate(curves):
                axes.plot(seconds, percents, color=colour, alpha=0.75, linewidth=1.4, label="" if number else side)
        axes.set_ylim(-2, 102)
        axes.set_xlim(left=0)
        axes.set_xlabel("since the process started (s)")
        axes.set_ylabel("GPU utilisation (%)")

    return svg(draw, name)


def _sides(result: Verification) -> tuple[Sequence[Sample], Sequence[Sample]]:
    return result.before, result.after


def _curve(sample: Sample) -> tuple[list[float], list[float]]:
    known = sample.recording.samples if sample.recording is not None else ()
    points = [(one.seconds, float(one.utilisation)) for one in known if one.utilisation is not None]
    return [seconds for seconds, _ in points], [percent for _, percent in points]


def _strip(axes: Axes, strip: Sequence[float], left: float, colour: str, marker: str, label: str) -> None:
    """One process: its steps as a line, and its median."""
    count = len(strip)
    places = [left + _STRIP * ((index + 0.5) / count) for index in range(count)]
    marks: dict[str, Any] = {"marker": marker, "markersize": 3.5 if count > 1 else 7} if count <= _MOST_MARKED else {}
    axes.plot(places, strip, color=colour, linewidth=0.9, alpha=0.85, **marks)
    middle = statistics.median(strip)
    axes.plot([left, left + _STRIP], [middle, middle], color=colour, linewidth=2.6, label=label, solid_capstyle="butt")


def _scale(axes: Axes, known: Sequence[float], middles: Sequence[float]) -> None:
    """Logarithmic where one variant would be a line at the bottom otherwise."""
    from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter

    least, most = min(known), max(known)
    if least > 0 and max(middles) > _LOG_FROM * min(middles):
        axes.set_yscale("log")
        axes.set_ylim(least / 1.3, most * 1.3)
        axes.yaxis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0) if most < 300 * least else (1.0,)))
        axes.yaxis.set_minor_formatter(NullFormatter())
    else:
        axes.set_ylim(0, most * 1.08 or 1)
    axes.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:,.6g}"))


def svg(draw: Callable[[Axes], None], name: str, colours: Mapping[str, str] = _CSS) -> str:
    """What is drawn, for a page.

    Arguments:
        draw: draws in the stand-in colours.
        name: part of the identifiers in the SVG, which must differ within a page.
        colours: what stands in for which of the page's.
    """
    import matplotlib
    from matplotlib.backends.backend_svg import FigureCanvasSVG
    from matplotlib.figure import Figure

    with matplotlib.rc_context():
        matplotlib.rcdefaults()  # whatever the user's own style file says
        settings: dict[Any, Any] = {**_STYLE, "svg.hashsalt": name}
        matplotlib.rcParams.update(settings)
        figure: Figure = Figure(figsize=(6.6, 3.5), layout="constrained")
        FigureCanvasSVG(figure)
        axes = figure.add_subplot()
        draw(axes)
        figure.legend(*axes.get_legend_handles_labels(), loc="outside upper left", ncols=2)
        stream = io.StringIO()
        nothing = dict.fromkeys(("Creator", "Date", "Format", "Type"))
        figure.savefig(stream, format="svg", transparent=True, metadata=nothing)
    return _for_page(stream.getvalue(), name, colours)


def _for_page(svg: str, name: str, colours: Mapping[str, str]) -> str:
    """The element alone, as wide as its place, with identifiers and colours of the page."""
    svg = svg[svg.index("<svg") :].strip()
    svg = re.sub(r'(<svg[^>]*?) width="[^"]*"', r"\1", svg, count=1)
    svg = re.sub(r'(<svg[^>]*?) height="[^"]*"', r"\1", svg, count=1)
    svg = re.sub(r'\b(id="|href="#)|url\(#', lambda match: f"{match[0]}{name}-", svg)
    svg = re.sub(r"<style.*?</style>", "", svg, flags=re.DOTALL)  # it would hold for the whole page
    svg = re.sub(r"font-family: [^;\"]*;? ?", "", svg)
    for colour, css in colours.items():
        svg = svg.replace(colour, css)
    return svg
