"""`html`: one page that needs no network: a table, and for each result its plots and both programs."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from html import escape

from tflint_gpu import __version__
from tflint_gpu.drawing.pages import as_text, drawings, head, page, style_sheet
from tflint_gpu.reports import View
from tflint_gpu.reports.display import printable
from tflint_gpu.verify.experiments.verification import Verification
from tflint_gpu.verify.reports import Report, conditions, figures, plots
from tflint_gpu.verify.reports.listings import Line, listings
from tflint_gpu.verify.statistics.statistics import CONFIRMED

_CLASSES = {"refuted": "good", "inconclusive": "open", "not run": "none"}


def render(report: Report, view: View) -> str:
    """The page, also for no results."""
    title = f"tflint-gpu verify: {figures.summary(report)}"
    sections = (part for number, result in enumerate(report.results, 1) for part in _section(report, result, number))
    table = _table(report) if report.results else ()
    return page(title, style_sheet(), [*head(title, figures.remarks(report), _conditions(report)), *table, *sections])


def _conditions(report: Report) -> dict[str, str]:
    return {
        "device": figures.device(report),
        **conditions.versions(report),
        "settings": conditions.settings(report),
        "CPU": conditions.processor(report),
        "load": conditions.load(report),
        "seed": conditions.seed(report),
        "programs": report.sandbox,
        "command": report.command,
        "date": report.date,
        "took": figures.duration(report.seconds),
        "tflint-gpu": __version__,
    }


def _table(report: Report) -> Iterator[str]:
    watched = any(figures.utilisation((*one.before, *one.after)) is not None for one in report.results)
    names = ["finding", "verdict", "predicted", "measured (95% interval)", "flagged code", "repaired code"]
    names += ["GPU, flagged", "GPU, repaired"] if watched else []
    head = "".join(f"<th>{name}</th>" for name in names)
    yield f'<div class="wide"><table>\n<thead><tr>{head}</tr></thead>\n<tbody>'
    for number, result in enumerate(report.results, 1):
        numbers = [
            figures.predicted(result.case.prediction),
            figures.measured(result),
            figures.median(result, result.before),
            figures.median(result, result.after),
            *([figures.percent(result.before), figures.percent(result.after)] if watched else []),
        ]
        cells = "".join(f'<td class="number">{as_text(cell)}</td>' for cell in numbers)
        place = f'<td><a class="place" href="#result-{number}">{as_text(figures.finding(result))}</a></td>'
        yield f"<tr>{place}<td>{_verdict(result)}</td>{cells}</tr>"
    yield "</tbody>\n</table></div>"


def _verdict(result: Verification) -> str:
    name = result.verdict.verdict
    known = name in CONFIRMED
    style = ("good" if result.case.prediction.kind == "no-effect" else "bad") if known else _CLASSES[name]
    return f'<span class="verdict {style}">{as_text(figures.verdict(result))}</span>'


def _section(report: Report, result: Verification, number: int) -> Iterator[str]:
    diagnostic, prediction = result.case.diagnostic, result.case.prediction
    yield f'<section id="result-{number}">\n<h2>{as_text(figures.finding(result))} &middot; {_verdict(result)}</h2>'
    yield f"<p>{as_text(diagnostic.message)}</p>"
    yield f"<p>{as_text(result.verdict.reason)}.</p>"
    if prediction.basis:
        words = f"predicted: {figures.predicted(prediction)}; {prediction.basis}"
        yield f'<p class="faint">{as_text(words)}</p>'
    yield from (f'<p class="faint">{as_text(cost)}</p>' for cost in figures.costs(result))
    yield from (f'<p class="faint">note: {as_text(note)}</p>' for note in figures.gpu_notes(result))
    yield from _plots(result, number)
    yield from _details(report, result)
    yield from _errors(result)
    yield from _programs(result)
    yield "</section>"


def _plots(result: Verification, number: int) -> Iterator[str]:
    if result.verdict.verdict == "not run":
        return
    what = "Memory held" if result.unit == "bytes" else f"Time per {result.unit.removeprefix(figures.PER)}"
    drawn = {
        f"{what}, flagged and repaired code": plots.amounts(result, f"amounts-{number}"),
        f"{what}: how it is spread": plots.distribution(result, f"spread-{number}"),
        "GPU utilisation over time": plots.utilisation(result, f"use-{number}"),
        "Clock over time": plots.clock(result, f"clock-{number}"),
        "Power over time": plots.power(result, f"power-{number}"),
    }
    if shown := drawings(drawn):
        yield shown


def _details(report: Report, result: Verification) -> Iterator[str]:
    """What else was seen of both variants, and the command that measures this finding again."""
    rows = "".join(
        f'<tr><th scope="row">{as_text(name)}</th><td>{as_text(flagged)}</td><td>{as_text(repaired)}</td></tr>'
        for name, flagged, repaired in conditions.spread(result)
    )
    if rows and result.verdict.verdict != "not run":
        head = "<thead><tr><th></th><th>flagged code</th><th>repaired code</th></tr></thead>"
        yield f'<div class="wide"><table class="details">{head}<tbody>{rows}</tbody></table></div>'
    if result.case.pair is not None:
        again = _code(conditions.repetition(report, result))
        yield f'<p class="faint">measured again by</p><pre class="command">{again}</pre>'


def _errors(result: Verification) -> Iterator[str]:
    """What the first run of each variant ended with, in full."""
    for name, samples in (("flagged", result.before), ("repaired", result.after)):
        crash = next((one.run.crash for one in samples if one.run.crash is not None), None)
        if crash is not None:
            text = f"{crash.exception}: {crash.text}"
            yield f"<details><summary>what the {name} program raised</summary>"
            yield f'<pre class="error">{_code(text)}</pre></details>'


def _programs(result: Verification) -> Iterator[str]:
    if result.case.pair is None:
        return
    yield "<details><summary>both programs, with what differs marked</summary>"
    for listing in listings(result.case.pair):
        yield '<div class="programs">'
        yield _program(listing.name, "flagged", "-", listing.before)
        yield _program(listing.name, "repaired", "+", listing.after)
        yield "</div>"
    yield "</details>"


def _program(name: str, variant: str, sign: str, lines: Sequence[Line]) -> str:
    # The sign makes the difference seen without colours; a space keeps the columns of the other lines.
    rows = "".join(
        f"<mark>{sign} {_code(line.text)}</mark>" if line.differs else f"<span>  {_code(line.text)}</span>"
        for line in lines
    )
    return f'<div class="program {variant}"><h3>{as_text(name)}, {variant}</h3><pre>{rows}</pre></div>'


def _code(text: str) -> str:
    return "\n".join(escape(printable(line)) for line in text.splitlines())
