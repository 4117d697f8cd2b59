"""The commit message that goes with a repair: what was measured, on what, and what that does not show."""

from __future__ import annotations

import platform
import textwrap
from collections.abc import Iterator
from pathlib import Path, PurePath

from tflint_gpu import __version__
from tflint_gpu.verify.repairs.repairs import Repair
from tflint_gpu.verify.reports import Report, figures

_WIDTH = 72
_NAMES = {"tensorflow": "TensorFlow", "keras": "Keras", "numpy": "NumPy", "python": "Python"}


def message(repair: Repair, report: Report) -> str:
    """The message, wrapped as Git has it; it ends with a newline."""
    diagnostic = repair.verification.case.diagnostic
    subject = f"Fix {diagnostic.name} in {PurePath(diagnostic.filename).name} ({diagnostic.code})"
    wrapped = (textwrap.fill(text, _WIDTH, break_on_hyphens=False) for text in _paragraphs(repair, report))
    return "\n\n".join([subject, *wrapped]) + "\n"


def _paragraphs(repair: Repair, report: Report) -> Iterator[str]:
    result = repair.verification
    yield f"{figures.finding(result)}: {' '.join(result.case.diagnostic.message.split())}."
    yield " ".join(_measured(repair))
    versions = _versions(result.before[0].notes.get("versions")) or [f"TensorFlow {report.tensorflow}"]
    who, when = f"tflint-gpu {__version__} verify with {', '.join(versions)}", report.date
    yield f"Measured by {who}, {when}: {_device(repair, report)}."


def _measured(repair: Repair) -> Iterator[str]:
    result = repair.verification
    verdict, rounds = result.verdict, len(result.before)
    if verdict.ratio is not None and verdict.low is not None and verdict.high is not None:
        before, after = figures.median(result, result.before), figures.median(result, result.after)
        what = "as much memory" if result.unit == "bytes" else "as long"
        yield f"Before this change it took {figures.factor(verdict.ratio)} {what}: {before}, now {after}"
        yield f"(95% interval {verdict.low:.3g} to {verdict.high:.3g}, {rounds} rounds)."
        yield "Both compute the same." if repair.compared else "What they compute was not compared."
    else:
        yield f"Confirmed by running both: {' '.join(verdict.reason.split())}."


def _versions(known: object) -> list[str]:
    versions = known if isinstance(known, dict) else {}
    return [f"{name} {versions[key]}" for key, name in _NAMES.items() if isinstance(versions.get(key), str)]


def _device(repair: Repair, report: Report) -> str:
    if repair.verification.device == "cpu":
        return f"on a CPU ({cpu_name()}), which says nothing about a GPU"
    return f"on {figures.device(report)}"


def cpu_name() -> str:
    """What the processor is called, as far as the system says it."""
    try:
        lines = Path("/proc/cpuinfo").read_text("utf-8", errors="replace").splitlines()
    except OSError:
        lines = []
    named = (line.partition(":")[2].strip() for line in lines if line.startswith("model name"))
    return next(named, "") or platform.processor() or platform.machine()
