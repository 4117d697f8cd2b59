"""Cases that run the same two programs for the same prediction: they are measured once, and the result is of all."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence

from tflint_gpu.reports.locations import place
from tflint_gpu.verify.experiments.verification import Case, Verification


def measured_with(cases: Sequence[Case]) -> list[int]:
    """For each case the number of the one that is measured for it: itself, or an earlier one with the same programs."""
    first: dict[object, int] = {}
    keys = [_key(case) for case in cases]
    return [number if key is None else first.setdefault(key, number) for number, key in enumerate(keys)]


def shared(result: Verification, case: Case) -> Verification:
    """What was measured for another case, as a result of this one."""
    case = dataclasses.replace(case, among=result.case.among)
    if result.verdict.verdict == "not run":
        return dataclasses.replace(result, case=case)
    other = result.case.diagnostic
    reason = f"{result.verdict.reason}; this measurement also counts for {place(other.filename, other.location)}"
    verdict = dataclasses.replace(result.verdict, reason=reason)
    return dataclasses.replace(result, case=case, verdict=verdict, is_shared=True)


def same_failure(case: Case, results: Sequence[Verification]) -> Verification | None:
    """The earlier result of a program that failed at a line which the flagged program of a case runs, too.

    Only lines of a module's own count, before which both programs do the same: what a function is called with may
    differ.
    """
    if case.pair is None or case.prediction.kind == "crash":
        return None
    for result in results:
        if not result.before or result.verdict.verdict != "not run" or result.is_cut:
            continue
        crash = result.before[0].run.crash
        name, code = ("", "") if crash is None else crash.line
        ran = result.case.pair
        programs = [case.pair.before] if ran is None else [case.pair.before, ran.before]
        if code and all(f"\n{code}\n" in f"\n{program.files.get(name, '')}\n" for program in programs):
            return dataclasses.replace(result, case=case, is_shared=True)
    return None


def _key(case: Case) -> object:
    """What decides over the result; None where there are no programs."""
    pair, experiment = case.pair, case.experiment
    if pair is None or experiment is None:
        return None
    programs = [(program.entry, frozenset(program.files.items())) for program in (pair.before, pair.after)]
    how = (experiment.exceptions, experiment.requires, experiment.unit, experiment.calibrates, experiment.same_outputs)
    return (*programs, pair.remarks, how, case.prediction)
