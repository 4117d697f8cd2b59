"""The lines below a report, and the table of `--statistics`."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from tflint_gpu.lazy_dataclasses import dataclass
from tflint_gpu.reports import View
from tflint_gpu.reports.display import printable, styled
from tflint_gpu.reports.estimates import first_to_fix
from tflint_gpu.severity import WORST_FIRST

if TYPE_CHECKING:
    from tflint_gpu.diagnostics import Diagnostic, Fix

_MOST_REASONS = 3
_TIMES = "\N{MULTIPLICATION SIGN}"


@dataclass(frozen=True, slots=True)
class Fixable:
    """How many of some findings a further run could fix.

    Arguments:
        untried: of how many that is not known.
    """

    safe: int
    unsafe: int
    untried: int

    @classmethod
    def among(cls, diagnostics: Iterable[Diagnostic]) -> Fixable:
        """Count by the fix's applicability."""
        fixes: list[Fix] = [diagnostic.fix for diagnostic in diagnostics if diagnostic.fix is not None]
        made = [fix for fix in fixes if not fix.is_untried]
        safe = sum(fix.applicability == "safe" for fix in made)
        return cls(safe, len(made) - safe, len(fixes) - len(made))


def summary(
    remaining: Sequence[Diagnostic], fixed: int, fixing: bool, unsafe: bool, advice: Sequence[Diagnostic] = ()
) -> Iterator[str]:
    """How many problems there were and are, how many more could be fixed, and how much advice there is besides.

    Arguments:
        remaining: what is listed.
        fixed: how many were fixed.
        fixing: whether this run fixes.
        unsafe: whether unsafe fixes count.
        advice: what is only counted.
    """
    total = len(remaining) + fixed
    if not total:
        yield "All checks passed!"
    else:
        # Without these a run that found something and did not fail would look like a mistake.
        is_advised = any(diagnostic.severity == "advice" for diagnostic in remaining)
        kinds = f": {by_severity(remaining)}" if is_advised else ""
        counts = f" ({fixed} fixed, {len(remaining)} remaining{kinds})" if fixed else kinds
        yield f"Found {plural(total, 'problem')}{counts}."
    if verdicts := Counter(diagnostic.verdict for diagnostic in remaining if diagnostic.verdict):
        yield f"Measured: {', '.join(f'{count} {verdict}' for verdict, count in sorted(verdicts.items()))}."
    if advice:
        codes = ", ".join(sorted({diagnostic.code for diagnostic in advice}))
        yield f"{by_severity(advice)} ({codes}): --show-advice"
    fixable = Fixable.among((*remaining, *advice))
    offered = 0 if fixing else fixable.safe + (fixable.unsafe if unsafe else 0)
    hidden = 0 if unsafe else fixable.unsafe
    more = f"{hidden} hidden {'fix' if hidden == 1 else 'fixes'} can be enabled with the --unsafe-fixes option"
    if offered:
        yield f"[*] {offered} fixable with the --fix option" + (f" ({more})." if hidden else ".")
    elif hidden:
        yield f"{'No fixes available' if not fixing else 'No safe fixes left'} ({more})."
    if fixable.untried:
        yield f"[ ] {fixable.untried} may have an unsafe fix: the options --diff --unsafe-fixes show it."
    if first := first_to_fix(remaining):
        yield first


def of_tensorflow_1(reasons: Mapping[str, int]) -> Iterator[str]:
    """That files were checked as code for TensorFlow 1, and why, as few findings may mean that."""
    if not reasons:
        return
    said = [f"{plural(count, 'file')} ({printable(reason)})" for reason, count in Counter(reasons).most_common()]
    more = [f"{sum(reasons.values())} in total"] if len(said) > _MOST_REASONS else []
    yield f"Checked as TensorFlow 1 code, to which many rules do not apply: {', '.join(said[:_MOST_REASONS] + more)}."


def fix_summary(fixed: int, dry: bool) -> str:
    """What `--fix-only` and `--diff` say at the end."""
    if not fixed:
        return "No problems would be fixed." if dry else "No problems were fixed."
    return f"{'Would fix' if dry else 'Fixed'} {plural(fixed, 'problem')}."


def fixed_problems(fixed: Sequence[Diagnostic], view: View) -> Iterator[str]:
    """What `--show-fixes` lists: each file with its rules, the most frequent first."""
    if not fixed:
        return
    counts: dict[str, Counter[tuple[str, str]]] = {}
    for fix in fixed:
        counts.setdefault(fix.filename, Counter())[fix.code, fix.name] += 1
    width = max(len(str(count)) for table in counts.values() for count in table.values())
    yield ""
    yield styled(f"Fixed {plural(len(fixed), 'problem')}:", "green", view.colour)
    for filename, table in sorted(counts.items()):
        yield f"- {styled(printable(filename), 'bold', view.colour)}:"
        for (code, name), count in sorted(table.items(), key=lambda item: (-item[1], item[0])):
            yield f"    {count:>{width}} {_TIMES} {styled(code, 'red', view.colour)} ({name})"
    yield ""


def plural(number: int, noun: str) -> str:
    """A number with its noun."""
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"


def by_severity(diagnostics: Sequence[Diagnostic]) -> str:
    """`1 error, 2 pieces of advice`, the worst first."""
    counts = Counter(diagnostic.severity for diagnostic in diagnostics)
    nouns = {"error": "error", "warning": "warning", "advice": "piece"}
    return ", ".join(
        plural(counts[severity], nouns[severity]) + (" of advice" if severity == "advice" else "")
        for severity in WORST_FIRST
        if counts[severity]
    )


def statistics(diagnostics: Sequence[Diagnostic], view: View, output_format: str) -> str:
    """A line (or JSON object) for each rule that found something, the most frequent first."""
    counts = Counter((diagnostic.code, diagnostic.name) for diagnostic in diagnostics)
    fixable = Counter(diagnostic.code for diagnostic in diagnostics if view.fix_mark(diagnostic))
    ordered = sorted(counts.items(), key=lambda item: (-item[1], item[0]))
    if output_format == "json":
        import json

        rows = [
            {"code": code, "name": name, "count": count, "fixable_count": fixable[code]}
            for (code, name), count in ordered
        ]
        return json.dumps(rows, indent=2) + "\n"
    width = max((len(str(count)) for count in counts.values()), default=0)
    return "".join(
        f"{count:>{width}}\t{code}\t[{'*' if fixable[code] else ' '}] {name}\n" for (code, name), count in ordered
    )


def worst_first(diagnostics: Sequence[Diagnostic]) -> list[Diagnostic]:
    """Errors, then warnings, then advice, for formats that cannot show everything; within each in the given order."""
    return sorted(diagnostics, key=lambda diagnostic: WORST_FIRST.index(diagnostic.severity))
