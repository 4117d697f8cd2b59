"""The commit message that goes with a patch: what was measured, on what, and what that does not show."""

from __future__ import annotations

import platform
import textwrap
from collections.abc import Iterator
from pathlib import Path, PurePath

from tflint_gpu import __version__
from tflint_gpu.reports.locations import place
from tflint_gpu.verify.experiments.verification import Verification
from tflint_gpu.verify.repairs.patches import Patch
from tflint_gpu.verify.repairs.repairs import Repair
from tflint_gpu.verify.reports import Report, figures

_WIDTH = 72
_NAMES = {"tensorflow": "TensorFlow", "keras": "Keras", "numpy": "NumPy", "python": "Python"}


def message(patch: Patch, report: Report) -> str:
    """The message, wrapped as Git has it; it ends with a newline."""
    diagnostics = [repair.verification.case.diagnostic for repair in patch.repairs]
    name, codes = PurePath(patch.name).name, ", ".join(sorted({diagnostic.code for diagnostic in diagnostics}))
    what = diagnostics[0].name if len(diagnostics) == 1 else f"{len(diagnostics)} findings"
    wrapped = (textwrap.fill(text, _WIDTH, break_on_hyphens=False) for text in _paragraphs(patch, report))
    return "\n\n".join([f"Fix {what} in {name} ({codes})", *wrapped]) + "\n"


def _paragraphs(patch: Patch, report: Report) -> Iterator[str]:
    for repair in patch.repairs:
        result = repair.verification
        yield f"{figures.finding(result)}: {' '.join(result.case.diagnostic.message.split())}."
        yield " ".join(_measured(repair, report))
    for joint in report.joint:
        applied = sum(joint.joins(repair.verification.case) for repair in patch.repairs)
        if applied and joint.verdict.ratio is not None:
            yield " ".join(_together(joint, applied))
    first = patch.repairs[0].verification
    versions = _versions(first.before[0].notes.get("versions")) or [f"TensorFlow {report.tensorflow}"]
    who, when = f"tflint-gpu {__version__} verify with {', '.join(versions)}", report.date
    yield f"Measured by {who}, {when}: {_device(first, report)}."


def _measured(repair: Repair, report: Report) -> Iterator[str]:
    result = repair.verification
    if result.verdict.ratio is None:
        yield f"Confirmed by running both: {' '.join(result.verdict.reason.split())}."
        return
    among, share = result.case.among, report.share(result)
    yield _factor(
        "Before this change it took" if among is None else "With only the other fixes applied, it takes", result
    )
    if among is not None and share is not None:
        yield f"That is {figures.percentage(share)} of what {among.variant} save."
    yield _compared(repair)


def _compared(repair: Repair) -> str:
    if not repair.compared:
        return "The results of the two versions were not compared."
    if not repair.later:
        return "Both versions give the same results."
    steps = "step" if repair.compared == 1 else f"{repair.compared} steps"
    first = f"Both versions give the same results in the first {steps}, before {repair.later} runs"
    return f"{first}; later steps were not compared."


def _factor(begins: str, result: Verification) -> str:
    verdict, rounds = result.verdict, len(result.before)
    assert verdict.ratio is not None
    before, after = figures.median(result, result.before), figures.median(result, result.after)
    what = "as much memory" if result.unit == "bytes" else "as long"
    interval = f"95% interval {verdict.low:.3g} to {verdict.high:.3g}, {rounds} rounds"
    if result.case.of_what:
        begins = begins.replace(" it ", " the pipeline alone ").replace(" the code ", " the pipeline alone ")
    then = "now" if result.case.among is None else "with this one"
    return f"{begins} {figures.factor(verdict.ratio)} {what}: {before}, {then} {after} ({interval})."


def _together(joint: Verification, applied: int) -> Iterator[str]:
    """What all repairs of a loop bring, of which the patch has some."""
    where = place(joint.case.diagnostic.filename, joint.case.diagnostic.location)
    yield _factor(f"{joint.case.variant} ({where}): before them the code took", joint)
    if applied < len(joint.case.joined):
        yield f"This patch fixes {applied} of these {len(joint.case.joined)} findings."


def _versions(known: object) -> list[str]:
    versions = known if isinstance(known, dict) else {}
    return [f"{name} {versions[key]}" for key, name in _NAMES.items() if isinstance(versions.get(key), str)]


def _device(result: Verification, report: Report) -> str:
    if result.device == "cpu":
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
