"""Repairs that were measured: which of them users can trust with their files, and what they change there."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from tflint_gpu.lazy_dataclasses import dataclass
from tflint_gpu.rule.experiment import Experiment
from tflint_gpu.verify.experiments.verification import Verification
from tflint_gpu.verify.repairs.later import comes_later
from tflint_gpu.verify.slicing.pieces import FileEdits, placed
from tflint_gpu.verify.statistics.outputs import Difference, compare_outputs
from tflint_gpu.verify.statistics.statistics import CONFIRMED


@dataclass(frozen=True, slots=True)
class Repair:
    """A repair that was confirmed, as edits of the user's files.

    Arguments:
        compared: in how many steps what both programs compute was compared, and agrees; 0: it was not.
        later: the place that runs after those and may change what is computed; empty: there is none.
    """

    verification: Verification
    files: Mapping[Path, FileEdits]
    compared: int
    later: str = ""


@dataclass(frozen=True, slots=True)
class Withheld:
    """A finding that was confirmed, and why its repair is not offered, as a sentence without a full stop."""

    verification: Verification
    reason: str


def repairs(results: Sequence[Verification]) -> Iterator[Repair | Withheld]:
    """The repairs of what was confirmed; of all else there is nothing to tell."""
    for result in results:
        experiment = result.case.experiment
        is_confirmed = result.verdict.verdict in CONFIRMED
        if experiment is None or not is_confirmed or result.case.prediction.kind == "no-effect":
            continue
        reason = _objection(result, experiment)
        if reason:
            yield Withheld(result, reason)
        else:
            compared = _compared_steps(result) if experiment.same_outputs else 0
            yield Repair(result, placed(experiment.user_edits), compared, comes_later(result.case))


def _objection(result: Verification, experiment: Experiment) -> str:
    if experiment.variant:
        return f"it was measured {experiment.variant}, and your code does not run that way"
    if not experiment.user_edits:
        return "the measured fix cannot be applied to this code as an edit"
    if result.case.prediction.kind in ("slowdown", "memory") and experiment.same_outputs:
        difference = next(_differences(result), None)
        if difference is not None:
            return f"the fix changes the results: {difference}"
    return ""


def _differences(result: Verification) -> Iterator[Difference]:
    for before, after in zip(result.before, result.after, strict=True):
        left, other = before.run.outputs, after.run.outputs
        if left is not None and other is not None:
            difference = compare_outputs(left.values, other.values, left.dtype)
            if difference is not None:
                yield difference


def _compared_steps(result: Verification) -> int:
    """In how many steps the programs computed what was compared."""
    samples = (*result.before, *result.after)
    if result.case.prediction.kind not in ("slowdown", "memory") or any(
        sample.run.outputs is None for sample in samples
    ):
        return 0
    return min(steps if isinstance(steps := sample.notes.get("compared"), int) else 1 for sample in samples)
