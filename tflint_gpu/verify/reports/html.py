"""`html`: one page that needs no network: a table of verdicts, and for each result its plots and both programs."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from markupsafe import Markup

from tflint_gpu import __version__
from tflint_gpu.drawing.pages import rendered
from tflint_gpu.lazy_dataclasses import dataclass
from tflint_gpu.reports import View
from tflint_gpu.reports.amounts import duration
from tflint_gpu.verify.experiments.verification import Verification
from tflint_gpu.verify.reports import Report, conditions, figures, plots
from tflint_gpu.verify.reports.listings import Listing, listings
from tflint_gpu.verify.statistics.statistics import CONFIRMED

_STYLES = {"refuted": "good", "no gain worth having": "good", "inconclusive": "open"}
_COLUMNS = ["verdict", "finding", "predicted", "measured (95% interval)", "flagged code", "fixed code"]
_WATCHED_COLUMNS = ["GPU, flagged", "GPU, fixed"]


@dataclass(frozen=True, slots=True)
class _Verdict:
    text: str
    style: str

    @classmethod
    def of(cls, result: Verification) -> _Verdict:
        name = result.verdict.verdict
        confirmed = "good" if result.case.prediction.kind == "no-effect" else "bad"
        return cls(figures.verdict(result), confirmed if name in CONFIRMED else _STYLES.get(name, "none"))


@dataclass(frozen=True, slots=True)
class _Result:
    """What the page shows of a result: see `page.html`."""

    verdict: _Verdict
    finding: str
    message: str
    reason: str
    numbers: list[str]
    remarks: list[str]
    plots: dict[str, Markup]
    spread: list[tuple[str, str, str]]
    repetition: str
    errors: list[tuple[str, str]]
    listings: list[Listing]


def render(report: Report, view: View) -> str:
    """The page, also for no results."""
    watched = any(figures.utilisation((*result.before, *result.after)) is not None for result in report.rows)
    return rendered(
        Path(__file__).parent,
        title=f"tflint-gpu verify: {figures.summary(report)}",
        remarks=figures.remarks(report),
        facts=_conditions(report),
        columns=[*_COLUMNS, *(_WATCHED_COLUMNS if watched else [])],
        results=[_result(report, result, number, watched) for number, result in enumerate(report.rows, 1)],
    )


def _result(report: Report, result: Verification, number: int, watched: bool) -> _Result:
    ran, pair = result.verdict.verdict != "not run", result.case.pair
    return _Result(
        verdict=_Verdict.of(result),
        finding=figures.finding(result),
        message=result.case.diagnostic.message,
        reason=figures.reason(report, result),
        numbers=_numbers(result, watched),
        remarks=list(_remarks(report, result)),
        plots=_plots(result, number) if ran else {},
        spread=list(conditions.spread(result)) if ran else [],
        repetition=conditions.repetition(report, result) if pair is not None else "",
        errors=list(_errors(result)),
        listings=list(listings(pair)) if pair is not None else [],
    )


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
        "took": duration(report.seconds),
        "tflint-gpu": __version__,
    }


def _numbers(result: Verification, watched: bool) -> list[str]:
    return [
        figures.predicted(result.prediction),
        figures.measured(result),
        figures.median(result, result.before),
        figures.median(result, result.after),
        *([figures.percent(result.before), figures.percent(result.after)] if watched else []),
    ]


def _remarks(report: Report, result: Verification) -> Iterator[str]:
    prediction = result.prediction
    if prediction.basis:
        yield f"predicted: {figures.predicted(prediction)}; {prediction.basis}"
    yield from figures.details(report, result)
    yield from (f"note: {note}" for note in figures.gpu_notes(result))


def _plots(result: Verification, number: int) -> dict[str, Markup]:
    what = "Memory held" if result.unit == "bytes" else f"Time per {result.unit.removeprefix(figures.PER)}"
    drawn = {
        f"{what}, flagged and fixed code": plots.amounts(result, f"amounts-{number}"),
        f"{what}: distribution": plots.distribution(result, f"spread-{number}"),
        "GPU utilisation over time": plots.utilisation(result, f"use-{number}"),
        "Clock over time": plots.clock(result, f"clock-{number}"),
        "Power over time": plots.power(result, f"power-{number}"),
    }
    return {caption: Markup(svg) for caption, svg in drawn.items() if svg}


def _errors(result: Verification) -> Iterator[tuple[str, str]]:
    """What the first run of each variant ended with, in full."""
    for name, samples in (("flagged", result.before), ("fixed", result.after)):
        crash = next((sample.run.crash for sample in samples if sample.run.crash is not None), None)
        if crash is not None:
            yield name, f"{crash.exception}: {crash.text}"
