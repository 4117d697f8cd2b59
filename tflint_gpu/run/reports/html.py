"""`html`: one page that needs no network: the verdict, the findings, the timeline, and tables of lines and phases."""

from __future__ import annotations

from pathlib import Path

from markupsafe import Markup

from tflint_gpu import __version__
from tflint_gpu.drawing.pages import rendered
from tflint_gpu.lazy_dataclasses import dataclass
from tflint_gpu.reports import View
from tflint_gpu.reports.locations import place as placed
from tflint_gpu.run.reports import plots, words
from tflint_gpu.run.result import Report

_MOST_LINES, _MOST_DRAWN = 25, 5


@dataclass(frozen=True, slots=True)
class _Row:
    """A row of a table; `name` and `text` may have code between backticks."""

    share: str
    time: str
    name: str
    text: str
    help: str = ""


def render(report: Report, view: View) -> str:
    """The page, also for a program that ended at once."""
    return rendered(
        Path(__file__).parent,
        title=f"tflint-gpu run: {report.program}",
        verdict=words.verdict(report, view.working_directory),
        remarks=words.remarks(report),
        facts=_facts(report),
        findings=_findings(report),
        timeline=_timeline(report, view),
        lines=_lines(report, view),
        phases=_phases(report),
    )


def _facts(report: Report) -> dict[str, str]:
    return {
        "program": words.head(report),
        "device": words.device(report),
        "memory": words.memory(report).removeprefix("memory: "),
        "command": report.command,
        "date": report.date,
        "tflint-gpu": __version__,
    }


def _timeline(report: Report, view: View) -> dict[str, Markup]:
    here = view.working_directory
    drawn = {
        "GPU utilisation": plots.utilisation(report),
        "Memory on the card": plots.memory(report),
        "Phases of the main thread": plots.phases(report),
        "The most expensive lines": plots.lines(
            report, words.most_expensive(report)[:_MOST_DRAWN], lambda line: words.place(line.place, here)
        ),
    }
    return {caption: Markup(svg) for caption, svg in drawn.items() if svg}


def _findings(report: Report) -> list[_Row]:
    rows = []
    for cost in report.costs:
        diagnostic = cost.diagnostic
        share = words.percent(report.share(cost.idle)) + words.share_of(cost)
        name = f"{placed(diagnostic.filename, diagnostic.location)} {diagnostic.code} {diagnostic.name}"
        rows.append(_Row(share, words.seconds(cost.idle), name, diagnostic.message, diagnostic.help or ""))
    return rows


def _lines(report: Report, view: View) -> list[_Row]:
    here = view.working_directory
    return [
        _Row(
            words.percent(report.share(line.spent.idle)),
            words.seconds(line.spent.idle),
            words.place(line.place, here),
            f"{words.way(report, line, here)} {words.codes(report, line, here)}",
        )
        for line in words.most_expensive(report)[:_MOST_LINES]
    ]


def _phases(report: Report) -> list[_Row]:
    return [
        _Row(
            words.percent(report.share(spent.seconds)),
            words.seconds(spent.seconds),
            words.phase(name),
            words.percent(min(1.0, spent.idle / spent.seconds)) if spent.seconds else "",
        )
        for name, spent in report.ledger.phases().items()
    ]
