"""`html`: one page that needs no network: the verdict, the timeline, and tables of lines, phases and findings."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

from tflint_gpu import __version__
from tflint_gpu.drawing.pages import as_text, drawings, head, page, style_sheet
from tflint_gpu.reports import View
from tflint_gpu.reports.locations import place as placed
from tflint_gpu.run.reports import plots, words
from tflint_gpu.run.result import Report

_MOST_LINES, _MOST_DRAWN = 25, 5


def render(report: Report, view: View) -> str:
    """The page, also for a program that ended at once."""
    own = Path(__file__).with_name("page.css").read_text(encoding="utf-8")
    body = [
        *head(words.verdict(report), words.remarks(report), _facts(report)),
        *_timeline(report, view),
        *_findings(report),
        *_lines(report, view),
        *_phases(report),
    ]
    return page(f"tflint-gpu run: {report.program}", f"{style_sheet()}\n{own}", body)


def _facts(report: Report) -> dict[str, str]:
    return {
        "program": words.head(report),
        "device": words.device(report),
        "memory": words.memory(report).removeprefix("memory: "),
        "command": report.command,
        "date": report.date,
        "tflint-gpu": __version__,
    }


def _timeline(report: Report, view: View) -> Iterator[str]:
    here = view.working_directory
    drawn = {
        "GPU utilisation": plots.utilisation(report),
        "Memory on the card": plots.memory(report),
        "Phases of the main thread": plots.phases(report),
        "The most expensive lines": plots.lines(
            report, words.most_expensive(report)[:_MOST_DRAWN], lambda line: words.place(line.place, here)
        ),
    }
    if shown := drawings(drawn):
        yield f"<section>\n<h2>Timeline</h2>\n{shown}\n</section>"


def _findings(report: Report) -> Iterator[str]:
    rows = []
    for cost in report.costs:
        one = cost.diagnostic
        share = words.percent(report.share(cost.idle))
        place = f"{placed(one.filename, one.location)} {one.code} {one.name}"
        text = as_text(one.message) + (f'<br><span class="faint">help: {as_text(one.help)}</span>' if one.help else "")
        rows.append((f"{share}{words.share_of(cost)}", words.seconds(cost.idle), place, text))
    yield from _table("What check finds there", ("a fix saves at most", "of the run", "finding", ""), rows, 3)


def _lines(report: Report, view: View) -> Iterator[str]:
    here = view.working_directory
    rows = [
        (
            words.percent(report.share(line.spent.idle)),
            words.seconds(line.spent.idle),
            words.place(line.place, here),
            as_text(" ".join([words.way(report, line, here), words.codes(report, line, here)])),
        )
        for line in words.most_expensive(report)[:_MOST_LINES]
    ]
    yield from _table("Lines, the most expensive first", ("idle", "of the run", "line", "what"), rows, 3)


def _phases(report: Report) -> Iterator[str]:
    rows = [
        (
            words.percent(report.share(spent.seconds)),
            words.seconds(spent.seconds),
            words.phase(name),
            words.percent(min(1.0, spent.idle / spent.seconds)) if spent.seconds else "",
        )
        for name, spent in report.ledger.phases().items()
    ]
    yield from _table("Phases of the main thread", ("share", "of the run", "phase", "of it idle"), rows, 4)


def _table(title: str, head: Sequence[str], rows: Sequence[Sequence[str]], plain: int) -> Iterator[str]:
    """A table whose first cells, `plain` of them, are text, and the rest HTML."""
    if not rows:
        return
    yield f'<section>\n<h2>{as_text(title)}</h2>\n<div class="wide"><table>'
    yield "<thead><tr>" + "".join(f"<th>{as_text(name)}</th>" for name in head) + "</tr></thead>\n<tbody>"
    for row in rows:
        cells = [as_text(cell) if number < plain else cell for number, cell in enumerate(row)]
        yield (
            "<tr>"
            + "".join(
                f'<td class="number">{cell}</td>' if number < 2 else f"<td>{cell}</td>"
                for number, cell in enumerate(cells)
            )
            + "</tr>"
        )
    yield "</tbody>\n</table></div>\n</section>"
