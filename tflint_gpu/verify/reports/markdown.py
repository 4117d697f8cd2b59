"""`markdown`: a summary, a table and the reasons, for a comment on a pull request."""

from __future__ import annotations

from tflint_gpu.reports import View
from tflint_gpu.reports.formats.markdown import code_span, prose
from tflint_gpu.reports.locations import portable
from tflint_gpu.reports.summary import plural
from tflint_gpu.verify.experiments.verification import Verification
from tflint_gpu.verify.reports import Report, figures

_LONGEST = 60_000  # GitHub refuses comments with more than 65,536 characters


def render(report: Report, view: View) -> str:
    """As many results as a comment can hold, in their order."""
    head = f"**tflint-gpu verify**: {prose(figures.summary(report))} ({prose(figures.head(report))}).\n"
    remarks = "".join(f"\n{prose(remark)}\n" for remark in figures.remarks(report))
    if not report.results:
        return head + remarks
    watched = any(figures.utilisation((*result.before, *result.after)) is not None for result in report.rows)
    rows, reasons, room = "", "", _LONGEST - len(head) - len(remarks)
    shown = 0
    for result in report.rows:
        row, reason = _row(result, watched, view), _reason(report, result, view)
        if len(rows) + len(reasons) + len(row) + len(reason) > room:
            break
        rows, reasons, shown = rows + row, reasons + reason, shown + 1
    left = len(report.rows) - shown
    missing = f"\n{plural(left, 'more result')} not shown: a comment cannot be longer.\n" if left else ""
    details = f"\n<details><summary>Why</summary>\n\n{reasons}\n</details>\n"
    return f"{head}\n{_header(watched)}{rows}{missing}{remarks}{details}"


def _header(watched: bool) -> str:
    names = ["finding", "predicted", "measured", "before", "after", *(["GPU use"] if watched else []), "verdict"]
    return f"| {' | '.join(names)} |\n|{'---|' * len(names)}\n"


def _row(result: Verification, watched: bool, view: View) -> str:
    before, after = figures.percent(result.before), figures.percent(result.after)
    cells = [
        _finding(result, view),
        prose(figures.predicted(result.prediction)),
        prose(figures.measured(result)),
        prose(figures.median(result, result.before)),
        prose(figures.median(result, result.after)),
        *([f"{before}, then {after}"] if watched else []),
        prose(figures.verdict(result)),
    ]
    return f"| {' | '.join(cells)} |\n"


def _finding(result: Verification, view: View) -> str:
    diagnostic, variant = result.case.diagnostic, result.case.variant
    where = code_span(f"{portable(diagnostic.filename, view)}:{diagnostic.location}")
    return f"{where} {prose(diagnostic.code)}" + (f" ({prose(variant)})" if variant else "")


def _reason(report: Report, result: Verification, view: View) -> str:
    notes = "".join(f"; {note}" for note in (*figures.details(report, result), *figures.gpu_notes(result)))
    return f"- {_finding(result, view)}: {prose(figures.reason(report, result) + notes)}\n"
