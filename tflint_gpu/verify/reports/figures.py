"""Numbers and short texts of a verification that several formats show: what was predicted, measured and used."""

from __future__ import annotations

import statistics
from collections.abc import Iterator, Sequence

from tflint_gpu.diagnostics import Prediction
from tflint_gpu.reports.amounts import digits, duration
from tflint_gpu.reports.locations import place
from tflint_gpu.reports.summary import plural
from tflint_gpu.verify.experiments.verification import Sample, Verification
from tflint_gpu.verify.reports import Report
from tflint_gpu.verify.statistics.shares import Share
from tflint_gpu.verify.statistics.statistics import CONFIRMED, NO_VERDICTS

NOTHING = "-"
PER = "seconds per "
CPU_MARK = "(CPU)"
BUSY_MARK = "(busy GPU)"
CPU_SENTENCE = "Results marked (CPU) measure the CPU and confirm nothing about a GPU."
_ORDER = (*CONFIRMED, "refuted", "no gain worth having", "inconclusive", *NO_VERDICTS)
_WORTH_TELLING = 0.05  # seconds
_LEAST_TRACE = 0.01  # seconds
_LONG = 60  # a reason that is told once
_MEBIBYTE = 1 << 20


def finding(result: Verification) -> str:
    """Where it is, its code, and what is special about the experiment."""
    diagnostic, variant = result.case.diagnostic, result.case.variant
    text = f"{place(diagnostic.filename, diagnostic.location)} {diagnostic.code}"
    return f"{text} ({variant})" if variant else text


def verdict(result: Verification) -> str:
    """The verdict, marked where it says nothing about a GPU, or of one that did something else, too."""
    marks = {CPU_MARK: result.device == "cpu", BUSY_MARK: result.device != "cpu" and any(_disturbances(result))}
    return " ".join([result.verdict.verdict, *(mark for mark, holds in marks.items() if holds)])


def reason(report: Report, result: Verification) -> str:
    """Why the verdict is what it is; what keeps several findings from being run is told at the first one."""
    text = result.verdict.reason
    if result.verdict.verdict != "not run" or len(text) < _LONG:
        return text
    first = next(row for row in report.rows if row.verdict.reason == text)
    return text if first is result else f"for the same reason as {finding(first)}"


def factor(number: float) -> str:
    """A ratio as people write it: `38.2x`."""
    return f"{digits(number)}x"


def predicted(prediction: Prediction) -> str:
    """The kind and, where there is one, the range of the factor."""
    kind, low, high = prediction.kind.replace("-", " "), prediction.low, prediction.high
    if low is not None and high is not None:
        return f"{kind} {factor(low)}" + (f" to {factor(high)}" if high != low else "")
    if low is not None:
        return f"{kind} {factor(low)} or more"
    return f"{kind} up to {factor(high)}" if high is not None else kind


def measured(result: Verification) -> str:
    """The ratio with its interval, the exception, or whatever else was seen of the flagged code."""
    verdict = result.verdict
    if verdict.ratio is not None and verdict.low is not None and verdict.high is not None:
        bounds = f"({digits(verdict.low)} to {digits(verdict.high)})"
        return f"{factor(verdict.ratio)} {bounds} {result.case.of_what}".rstrip()
    runs = [sample.run for sample in result.before]
    crash = next((run.crash for run in runs if run.crash is not None), None)
    if crash is not None:
        return crash.exception.rpartition(".")[2]
    kind = result.case.prediction.kind
    if not runs or verdict.verdict == "not run":
        return NOTHING
    if kind == "crash":
        return "no error" if all(run.failure is None for run in runs) else NOTHING
    if kind == "wrong-result":
        said = verdict.of_workload or verdict.verdict
        return {"wrong result confirmed": "wrong result", "refuted": "same result"}.get(said, NOTHING)
    if kind == "wrong-device":
        landed = {name.rpartition("device:")[2] for run in runs if run.placement for name in run.placement.landed}
        return ", ".join(sorted(landed)) or NOTHING
    return NOTHING


def median(result: Verification, samples: Sequence[Sample]) -> str:
    """The median over the processes of one variant, with its unit."""
    values = [sample.value for sample in samples if sample.value is not None]
    return amount(statistics.median(values), result.unit) if values else NOTHING


def amount(value: float, unit: str) -> str:
    """A measured value with a unit that fits its size."""
    if unit.startswith(PER):
        return f"{duration(value)}/{unit.removeprefix(PER)}"
    return memory(value) if unit == "bytes" else f"{digits(value)} {unit}".rstrip()


def memory(size: float) -> str:
    """Bytes in MiB."""
    return f"{size / _MEBIBYTE:,.0f} MiB"


def utilisation(samples: Sequence[Sample]) -> float | None:
    """The mean of the card's utilisation over the processes of one variant, in percent."""
    known = [
        sample.recording.utilisation
        for sample in samples
        if sample.recording is not None and sample.recording.utilisation is not None
    ]
    return sum(known) / len(known) if known else None


def percent(samples: Sequence[Sample]) -> str:
    """The utilisation as text."""
    known = utilisation(samples)
    return NOTHING if known is None else f"{known:.0f}%"


def used_devices(samples: Sequence[Sample]) -> str:
    """On which devices lies what one variant computed: `GPU:0, CPU:0`; empty where no program reported it."""
    return ", ".join(sorted({name for sample in samples for name in sample.used_devices}, reverse=True))


def gpu_notes(result: Verification) -> list[str]:
    """What could not be seen of the card, and what else went on there, each once."""
    samples = (*result.before, *result.after)
    missing = [note for sample in samples if sample.recording is not None for note in sample.recording.notes]
    flagged, repaired = used_devices(result.before), used_devices(result.after)
    if flagged and repaired and ("GPU" in flagged) != ("GPU" in repaired):  # small things lie on the CPU in any case
        missing.append(f"the results of the flagged program are on {flagged}, those of the fixed program on {repaired}")
    return list(dict.fromkeys([*_disturbances(result), *missing]))


def _disturbances(result: Verification) -> Iterator[str]:
    for name, samples in (("flagged", result.before), ("fixed", result.after)):
        texts = (text for sample in samples if sample.recording is not None for text in sample.recording.disturbances)
        if (first := next(texts, None)) is not None:
            yield f"while the {name} program measured, {first}"


def costs(result: Verification) -> list[str]:
    """What each process pays once, such as tracing and compiling, where it is longer than noise."""
    flagged, repaired = (_once(samples) for samples in (result.before, result.after))
    if flagged is None or repaired is None or max(flagged, repaired) < _WORTH_TELLING:
        return []
    once = f"one-time costs such as tracing and compiling: {duration(flagged)}, with the fix {duration(repaired)}"
    return [once, *_whole(result)]


def _whole(result: Verification) -> Iterator[str]:
    """What the whole run takes, by what was measured of a part."""
    sides = [[sample.run for sample in side if sample.run.whole is not None] for side in (result.before, result.after)]
    totals = [[run.whole.seconds(run.seconds) for run in side if run.whole and run.seconds] for side in sides]
    if all(totals) and (whole := sides[0][0].whole) is not None:
        flagged, repaired = (duration(statistics.median(side)) for side in totals)
        yield f"the whole run, {plural(whole.steps, 'step')}: {flagged}, with the fix {repaired}"
    for sample in result.after[:1]:
        match sample.notes.get("whole"):
            case {"steps": None, "shapes": int(shapes), "trace": float(trace)} if shapes > 1 and trace > _LEAST_TRACE:
                each = f"the fixed code takes {duration(trace)} to trace each"
                yield f"the data has at least {shapes} different shapes, and {each}"


def share(report: Report, result: Verification) -> str:
    """Which part of what all repairs save together is lost without that of a finding; empty where it is not known."""
    joint, known = report.joint_with(result), report.share(result)
    if joint is None or known is None:
        return ""
    where = place(joint.case.diagnostic.filename, joint.case.diagnostic.location)
    more = "" if known.share is not None else "; more rounds (`--runs`) would narrow the interval"
    together = f"{joint.case.variant} save at {where} (together {measured(joint)})"
    return f"share: {percentage(known)} of the time that {together}{more}"


def of_run(result: Verification) -> str:
    """What a factor is of the user's run, by what `run` measured; empty where it measured none."""
    lost, ratio = result.case.share, result.verdict.ratio
    if lost is None or ratio is None or ratio <= 1:
        return ""
    most = 1 / (1 - lost + lost / ratio)
    return f"the measured run lost {lost:.0%} of its time here; the fix makes the run up to {factor(most)} as fast"


def percentage(known: Share) -> str:
    """A share with its interval: `48% (44% to 52%)`; only that where it is wide: `10% to 90%`."""
    bounds = f"{known.low:.0%} to {known.high:.0%}"
    return bounds if known.share is None else f"{known.share:.0%} ({bounds})"


def details(report: Report, result: Verification) -> Iterator[str]:
    """What stands below the reason of a verdict: its share, and what each process pays once."""
    if text := share(report, result):
        yield text
    if text := of_run(result):
        yield text
    yield from costs(result)


def _once(samples: Sequence[Sample]) -> float | None:
    known = [once for sample in samples if isinstance(once := sample.notes.get("once"), float)]
    return statistics.median(known) if known else None


def device(report: Report) -> str:
    """What was measured on, as the programs tell it."""
    if report.gpu is None:
        return f"the CPU ({report.device_note})" if report.device_note else "the CPU"
    card = report.gpu.described
    return card if report.used_gpu is not None else f"the CPU, because no program used {card}"


def head(report: Report) -> str:
    """One line on what was done where."""
    tensorflow = f", TensorFlow {report.tensorflow}" if report.tensorflow else ""
    ran = sum(result.verdict.verdict != "not run" and not result.is_shared for result in report.rows)
    return f"{plural(ran, 'experiment')} on {device(report)}{tensorflow}"


def summary(report: Report) -> str:
    """How many results have each verdict."""
    counts = ", ".join(f"{report.counts[name]} {name}" for name in _ORDER if report.counts[name])
    return counts or "nothing to verify"


def remarks(report: Report) -> Iterator[str]:
    """Sentences that a reader must have seen before the numbers are quoted."""
    if report.counts["reference"] and not report.has_measured:
        yield "Only workloads of the rules were run: your code was not measured."
    if report.measures_cpu:
        yield CPU_SENTENCE
    if report.gpu is not None and report.device_note:
        yield f"{report.device_note[0].upper()}{report.device_note[1:]}."
    if report.interrupted:
        yield f"The run ended early: {report.interrupted}. The report shows what was measured so far."
