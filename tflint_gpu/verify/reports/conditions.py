"""Under which conditions was measured, and what was seen of each variant besides its verdict, as texts for a page."""

from __future__ import annotations

import shlex
import statistics
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from tflint_gpu.gpu.cards import gibibytes
from tflint_gpu.gpu.watch import Sample as CardSample
from tflint_gpu.reports.amounts import duration
from tflint_gpu.reports.summary import plural
from tflint_gpu.verify.experiments.verification import Sample, Verification
from tflint_gpu.verify.reports import Report, figures

PERCENTILES = (50, 90, 99)
_NAMES = {"python": "Python", "tensorflow": "TensorFlow", "keras": "Keras", "numpy": "NumPy"}
_BUILT_WITH = {"cuda": "CUDA", "cudnn": "cuDNN"}


def versions(report: Report) -> dict[str, str]:
    """What the programs reported of Python, TensorFlow and what it was built with, and NVML of the driver."""
    reported = _reported(report, "versions")
    known = {"tensorflow": report.tensorflow, **reported}
    versions_by_title = {title: str(known.get(name, "")) for name, title in _NAMES.items()}
    if report.gpu is not None:
        versions_by_title["driver"] = report.gpu.driver
    built = {
        f"{title} (that TensorFlow was built with)": str(known.get(name, "")) for name, title in _BUILT_WITH.items()
    }
    return {**versions_by_title, **built}


def settings(report: Report) -> str:
    """What changes how fast TensorFlow computes, as the programs reported it."""
    return ", ".join(f"{name}: {value}" for name, value in _reported(report, "settings").items())


def seed(report: Report) -> str:
    """Of the random numbers, the same for all programs."""
    reported = next((sample.notes["seed"] for sample in _samples(report) if "seed" in sample.notes), "")
    return str(reported)


def processor(report: Report) -> str:
    """The CPU, its cores and memory."""
    host = report.host
    if host is None:
        return ""
    memory = "" if host.memory is None else f", {gibibytes(host.memory)}"
    return f"{host.cpu}, {plural(host.cores, 'core')}{memory}"


def load(report: Report) -> str:
    """How busy the machine was before and after."""
    if report.host is None or not report.host.load:
        return ""
    before, *after = report.host.load
    return f"{before:.1f} before" + (f", {after[0]:.1f} after" if after else "")


def repetition(report: Report, result: Verification) -> str:
    """The command that measures this finding again, or the repairs that were measured together, under these options."""
    together = result.case if result.case.joined else result.case.among
    diagnostic = (together or result.case).diagnostic
    words = ["tflint-gpu", "verify", *report.options, "--select", diagnostic.code.replace("+", ",")]
    at = [] if together is not None else ["--at", str(diagnostic.location)]
    return shlex.join([*words, *at, diagnostic.filename])


def spread(result: Verification) -> Iterator[tuple[str, str, str]]:
    """Rows of a table: what was seen, of the flagged and of the repaired code; those that say nothing are left out."""
    per = result.unit.removeprefix(figures.PER) if result.unit.startswith(figures.PER) else ""
    rows: list[tuple[str, Callable[[Sequence[Sample]], str]]] = []
    if per:
        rows += [(f"time per {per}, p{share}", _percentile_text(share, per)) for share in PERCENTILES]
    rows += [
        ("one-time costs such as tracing", lambda side: _median(side, "once", duration)),
        ("run time of one process", lambda side: _middle([sample.seconds for sample in side], duration)),
        ("peak host memory", lambda side: _most([sample.host_memory for sample in side])),
        ("peak memory of the GPU (NVML)", lambda side: _most([_recorded(sample) for sample in side])),
        ("peak memory of the GPU (TensorFlow)", lambda side: _most([allocated(sample) for sample in side])),
        ("GPU utilisation while measuring", lambda side: _known(figures.percent(side))),
        ("SM clock while measuring", lambda side: _range(side, lambda moment: moment.clock, "MHz")),
        ("power while measuring", lambda side: _range(side, lambda moment: moment.power, "W")),
        ("throttled while measuring", _slowed),
        ("device that holds the results", figures.used_devices),
    ]
    for name, text in rows:
        flagged, repaired = text(result.before), text(result.after)
        if flagged or repaired:
            yield name, flagged or figures.NOTHING, repaired or figures.NOTHING


def percentile(values: Sequence[float], share: float) -> float:
    """The value below which so many percent of them lie, between two of them in proportion."""
    ordered = sorted(values)
    where = (len(ordered) - 1) * share / 100
    low = int(where)
    high = min(low + 1, len(ordered) - 1)
    return ordered[low] + (ordered[high] - ordered[low]) * (where - low)


def steps_of(samples: Sequence[Sample]) -> list[float]:
    """The seconds of all steps of one variant."""
    return [step for sample in samples for step in sample.steps]


def allocated(sample: Sample) -> int | None:
    """The most bytes that TensorFlow's allocators gave out on the cards, if the program reported it."""
    reported = sample.notes.get("memory")
    if not isinstance(reported, dict):
        return None
    peaks = [held["peak"] for held in reported.values() if isinstance(held, dict) and isinstance(held.get("peak"), int)]
    return sum(peaks) if peaks else None


def _samples(report: Report) -> Iterator[Sample]:
    return (sample for result in report.rows for sample in (*result.before, *result.after))


def _reported(report: Report, what: str) -> dict[str, Any]:
    """What the first program reported that reported it: all run with the same interpreter."""
    reports = (sample.notes.get(what) for sample in _samples(report))
    return next((dict(reported) for reported in reports if isinstance(reported, dict)), {})


def _percentile_text(share: int, per: str) -> Callable[[Sequence[Sample]], str]:
    def text(side: Sequence[Sample]) -> str:
        steps = steps_of(side)
        return f"{duration(percentile(steps, share))}/{per}" if steps else ""

    return text


def _median(side: Sequence[Sample], note: str, shown: Callable[[float], str]) -> str:
    return _middle([reported for sample in side if isinstance(reported := sample.notes.get(note), float)], shown)


def _middle(values: Sequence[float], shown: Callable[[float], str]) -> str:
    return shown(statistics.median(values)) if values else ""


def _most(values: Sequence[int | None]) -> str:
    known = max((value for value in values if value), default=None)
    return "" if known is None else figures.memory(known)


def _known(text: str) -> str:
    return "" if text == figures.NOTHING else text


def _recorded(sample: Sample) -> int | None:
    return None if sample.recording is None else sample.recording.memory


def _range(side: Sequence[Sample], pick: Callable[[CardSample], float | None], unit: str) -> str:
    recorded = [moment for sample in side if sample.recording is not None for moment in sample.recording.measured]
    known = [value for moment in recorded if (value := pick(moment)) is not None]
    if not known:
        return ""
    low, high = min(known), max(known)
    return f"{low:,.0f} {unit}" if f"{low:.0f}" == f"{high:.0f}" else f"{low:,.0f} to {high:,.0f} {unit}"


def _slowed(side: Sequence[Sample]) -> str:
    shares: dict[str, list[float]] = {}
    recordings = [sample.recording for sample in side if sample.recording is not None]
    for recording in recordings:
        for reason, share in recording.slowed.items():
            shares.setdefault(reason, []).append(share)
    reported = [f"{reason} ({sum(known) / len(recordings):.0%} of the samples)" for reason, known in shares.items()]
    return ", ".join(reported)
