"""`full`: a table for the terminal, with the reason of each verdict below its row."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator, Sequence

from tflint_gpu.reports import View
from tflint_gpu.reports.display import printable, styled, width
from tflint_gpu.verify.experiments.verification import Verification
from tflint_gpu.verify.reports import Report, figures
from tflint_gpu.verify.statistics.statistics import CONFIRMED

_GAP = "  "
_INDENT = "  "
_NARROWEST = 40
_STYLES = {"refuted": "green", "no gain worth having": "green", "inconclusive": "yellow"}


def render(report: Report, view: View) -> str:
    """The conditions, the table, and how many results have each verdict."""
    lines = [_styled_head(report, view), ""]
    if report.results:
        lines += [*_table(report, view), ""]
    lines += [line for remark in figures.remarks(report) for line in _wrapped(remark, view)]
    lines += [styled(printable(f"{figures.summary(report).capitalize()}."), "bold", view.colour)]
    return "\n".join(lines) + "\n"


def _styled_head(report: Report, view: View) -> str:
    return styled(printable(figures.head(report)), "bold", view.colour)


def _table(report: Report, view: View) -> Iterator[str]:
    """A row for each result; a finding too long for its column stands on a line of its own."""
    watched = any(figures.utilisation((*result.before, *result.after)) is not None for result in report.rows)
    rows = [_cells(result, watched) for result in report.rows]
    head = ["predicted", "measured", "before", "after", *(["GPU before", "GPU after"] if watched else []), "verdict"]
    widths = [max(map(width, column)) for column in zip(head, *(row[1:] for row in rows), strict=True)]
    left = max(view.width, _NARROWEST) - sum(widths) - len(_GAP) * len(widths)
    first = max((taken for row in rows if (taken := width(row[0])) <= left), default=0)
    title = "finding" if first else ""
    yield styled(_joined([title, *head], [first, *widths]), "bold", view.colour)
    for number, (result, row) in enumerate(zip(report.rows, rows, strict=True)):
        if number:
            yield ""
        if width(row[0]) > first:
            yield styled(row[0], "cyan", view.colour)
            row[0] = ""
        line = _joined(row[:-1], [first, *widths[:-1]], last=False)
        yield line + styled(row[-1], _style(result), view.colour)
        yield from _wrapped(figures.reason(report, result), view, _INDENT)
        for detail in figures.details(report, result):
            yield from _wrapped(detail, view, _INDENT)
        for note in figures.gpu_notes(result):
            yield from _wrapped(f"note: {note}", view, _INDENT)


def _cells(result: Verification, watched: bool) -> list[str]:
    utilisation = [figures.percent(result.before), figures.percent(result.after)] if watched else []
    cells = [
        figures.finding(result),
        figures.predicted(result.prediction),
        figures.measured(result),
        figures.median(result, result.before),
        figures.median(result, result.after),
        *utilisation,
        figures.verdict(result),
    ]
    return [printable(cell) for cell in cells]


def _joined(cells: Sequence[str], widths: Sequence[int], *, last: bool = True) -> str:
    """The cells in their columns, and the gap to the next one where this is not the end of the line."""
    padded = [cell + " " * (space - width(cell)) for cell, space in zip(cells, widths, strict=True)]
    return _GAP.join(padded).rstrip() if last else _GAP.join(padded) + _GAP


def _style(result: Verification) -> str:
    """Red is what costs something; that an effect is not there, as predicted, does not."""
    if result.verdict.verdict in CONFIRMED:
        return "green" if result.case.prediction.kind == "no-effect" else "red"
    return _STYLES.get(result.verdict.verdict, "cyan")


def _wrapped(text: str, view: View, indent: str = "") -> list[str]:
    space = max(view.width, _NARROWEST)
    words = printable(" ".join(text.split()))
    return textwrap.wrap(words, space, initial_indent=indent, subsequent_indent=indent * 2, break_on_hyphens=False)
