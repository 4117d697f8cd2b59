"""Plots as SVG for a page: their colours are CSS variables, their texts the page's own.

matplotlib knows no CSS: it draws in stand-in colours, which are replaced in the text of the SVG.
"""

from __future__ import annotations

import io
import re
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

INK, GRID = "#010203", "#040506"
_CSS = {INK: "currentColor", GRID: "var(--grid)"}
_SHORT_LABELS = 45
_STYLE: dict[str, Any] = {
    "svg.fonttype": "none", "font.family": "sans-serif", "font.size": 11, "text.color": INK,
    "axes.edgecolor": INK, "axes.labelcolor": INK, "xtick.color": INK, "ytick.color": INK,
    "axes.spines.top": False, "axes.spines.right": False, "axes.grid": True, "axes.grid.axis": "y",
    "grid.color": GRID, "grid.linewidth": 0.8, "axes.axisbelow": True, "legend.frameon": False,
}  # fmt: skip


def svg(draw: Callable[[Axes], None], name: str, colours: Mapping[str, str]) -> str:
    """What is drawn, for a page.

    Arguments:
        draw: draws in the stand-in colours.
        name: part of the identifiers in the SVG, which must differ within a page.
        colours: the stand-ins besides `INK` and `GRID`, and what each is in CSS.
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
        handles, labels = axes.get_legend_handles_labels()
        columns = 3 if sum(map(len, labels)) < _SHORT_LABELS else 2
        figure.legend(handles, labels, loc="outside upper left", ncols=columns)
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
    for colour, css in {**_CSS, **colours}.items():
        svg = svg.replace(colour, css)
    return svg
