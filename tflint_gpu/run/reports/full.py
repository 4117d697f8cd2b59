"""`full`: for the terminal, the most expensive lines and findings first."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator, Sequence

from tflint_gpu.reports import View
from tflint_gpu.reports.amounts import duration
from tflint_gpu.reports.display import printable, styled, table
from tflint_gpu.reports.locations import place as placed
from tflint_gpu.reports.summary import plural
from tflint_gpu.run.charges import phases
from tflint_gpu.run.reports import profile, words
from tflint_gpu.run.result import Report

_MOST_LINES, _MOST_FINDINGS, _MOST_TRAININGS = 10, 10, 3
_NARROWEST = 40


def render(report: Report, view: View) -> str:
    """The conditions, the verdict, lines, phases and findings."""
    lines = [
        styled(printable(words.head(report)), "bold", view.colour),
        f"on {printable(words.device(report))}",
        *(line for remark in words.remarks(report) for line in _wrapped(remark, view)),
        "",
        styled(printable(words.verdict(report, view.working_directory)), "bold", view.colour),
        *_steps(report, view),
        *_dearest(report, view),
        *_slow(report, view),
        *_others(report, view),
        *_phases(report, view),
        *_profile(report, view),
    ]
    if amounts := [*filter(None, [words.memory(report)]), *words.expenses(report)]:
        lines += ["", *(line for amount in amounts for line in _wrapped(amount, view))]
    return "\n".join([*lines, *_findings(report, view)]) + "\n"


def _steps(report: Report, view: View) -> Iterator[str]:
    if report.training is not None:
        yield words.steps(report.training)
        for training in report.ledger.trainings.steady()[1 : 1 + _MOST_TRAININGS]:
            yield f"{words.of_training(training, view.working_directory)}: {words.steps(training)}"
        yield from _wrapped(words.beside(report), view)
        yield ""


def _slow(report: Report, view: View) -> Iterator[str]:
    told = words.slow(report, view.working_directory)[:_MOST_LINES]
    if told and report.training is not None:
        yield ""
        yield styled("Slow steps (more than twice the median), grouped by what only they did:", "bold", view.colour)
        yield from table(
            [
                (
                    words.percent(report.share(slow.excess)),
                    f"{slow.count} of {report.training.steps} steps",
                    f"up to {duration(slow.longest)} (step {slow.number})",
                    printable(what),
                )
                for slow, what in told
            ]
        )


def _dearest(report: Report, view: View) -> Iterator[str]:
    shown = words.most_expensive(report)[:_MOST_LINES]
    rows = [
        (
            words.percent(report.share(line.spent.idle)),
            words.seconds(line.spent.idle),
            printable(words.place(line.place, view.working_directory)),
            words.way(report, line, view.working_directory),
            words.codes(report, line, view.working_directory),
        )
        for line in shown
    ]
    rest = words.other_lines(report, shown)
    if report.share(rest) >= words.WORTH_REPORTING:
        rows.append((words.percent(report.share(rest)), words.seconds(rest), "other lines", "", ""))
    yield from table(rows)


def _others(report: Report, view: View) -> Iterator[str]:
    for title, lines in words.alongside(report).items():
        yield ""
        yield title
        places = [printable(words.place(line.place, view.working_directory)) for line in lines]
        yield from table(
            [(words.seconds(line.spent.seconds), place) for line, place in zip(lines, places, strict=True)]
        )
    if functions := words.native(report)[:_MOST_LINES]:
        yield ""
        yield (
            "Native functions of the main thread before the watch began, with the line of your code that called them:"
        )
        yield from table(
            [
                (
                    words.percent(share),
                    *map(printable, (library, function, words.place(place, view.working_directory))),
                )
                for (library, function, place), share in functions
            ]
        )


def _phases(report: Report, view: View) -> Iterator[str]:
    known = [
        (name, spent)
        for name, spent in phases(report.entries).items()
        if report.share(spent.seconds) >= words.WORTH_REPORTING
    ]
    if not known:
        return
    yield ""
    what = "GPU idle" if report.knows_use else "waiting"
    yield styled("Phases of the main thread, and how much of each was " + what + ":", "bold", view.colour)
    yield from table(
        [
            (
                words.percent(report.share(spent.seconds)),
                words.seconds(spent.seconds),
                words.phase(name),
                f"{words.percent(min(1.0, spent.idle / spent.seconds) if spent.seconds else 0.0)} {what}",
            )
            for name, spent in known
        ]
    )


def _profile(report: Report, view: View) -> Iterator[str]:
    """What TensorFlow's profile says, where it was asked for."""
    trace, here = report.trace, view.working_directory
    if trace is None:
        return
    yield ""
    yield styled(f"{profile.title(trace)}:", "bold", view.colour)
    for section in profile.sections(report, trace, here):
        yield from _wrapped(section.text, view)
        yield from table(_printable(section.rows))


def _printable(rows: Sequence[tuple[str, ...]]) -> list[list[str]]:
    return [[printable(cell) for cell in row] for row in rows]


def _findings(report: Report, view: View) -> Iterator[str]:
    if not report.findings:
        return
    shown = [cost for cost in report.costs if words.is_worth_reporting(report, cost)]
    yield ""
    yield styled("What `check` finds on these lines, with the largest share that a fix can save:", "bold", view.colour)
    for cost in shown[:_MOST_FINDINGS]:
        diagnostic = cost.diagnostic
        where = printable(placed(diagnostic.filename, diagnostic.location))
        around = words.share_of(cost)
        share = words.percent(report.share(cost.idle))
        title = f"{share:>5}  {where} {diagnostic.code} {diagnostic.name}{around}{words.cost_beside(report, cost)}"
        yield styled(title, "cyan", view.colour)
        yield from _wrapped(diagnostic.message, view, "       ")
        if diagnostic.help:
            yield from _wrapped(f"help: {diagnostic.help}", view, "       ")
    if len(shown) > _MOST_FINDINGS:
        yield f"... and {len(shown) - _MOST_FINDINGS} more (`--output-format json` lists all)"
    if cheap := report.findings - len(shown):
        least = words.percent(words.WORTH_REPORTING)
        others = " more" if shown else ""
        yield f"{plural(cheap, 'finding')}{others} cost less than {least}, or had no measured cost (`check` shows all)"


def _wrapped(text: str, view: View, indent: str = "") -> list[str]:
    return textwrap.wrap(
        printable(" ".join(text.split())),
        max(view.width, _NARROWEST),
        initial_indent=indent,
        subsequent_indent=indent,
        break_on_hyphens=False,
    )
