"""What fixing each finding brings, for the order of a report; each figure with what it rests on.

A fix of code that has a share s of a run, and becomes f times as fast, saves s (1 - 1/f) of the run (Amdahl 1967).
`run` measured the share; the factor is the prediction's. Where no run was measured nothing is added up: code that runs
in more loops comes first, then what has the larger factor.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, TypeAlias

from tflint_gpu.lazy_dataclasses import dataclass
from tflint_gpu.reports.locations import place

if TYPE_CHECKING:
    from tflint_gpu.diagnostics import Diagnostic, Location, Prediction

_FAILS = {"crash": "without a fix the code fails", "wrong-result": "without a fix the results are wrong"}
_MOST_NAMED = 3

Key: TypeAlias = "tuple[str, Location, str, str]"
"""A diagnostic's `sort_key`."""


@dataclass(frozen=True, slots=True)
class Frequency:
    """How often code runs: how many repetitions are inside each other, and where they are, in words."""

    depth: int = 0
    text: str = ""


def estimated(diagnostics: Sequence[Diagnostic], frequencies: Mapping[Key, Frequency]) -> list[Diagnostic]:
    """The diagnostics in the order of what fixing them brings, each with its estimate in words.

    What fails or computes something wrong comes first, then what was measured in a run by what a fix saves, then the
    other slowdowns, then what is no matter of speed.
    """
    often = [frequencies.get(diagnostic.sort_key, Frequency()) for diagnostic in diagnostics]
    known = sorted(zip(diagnostics, often, strict=True), key=lambda pair: (_rank(*pair), pair[0].sort_key))
    return [replace(diagnostic, estimate=_text(diagnostic, frequency)) for diagnostic, frequency in known]


def first_to_fix(diagnostics: Sequence[Diagnostic]) -> str:
    """Which findings bring most, of those that have an estimate and are in order; empty where none has."""
    named = [
        f"{place(diagnostic.filename, diagnostic.location)} {diagnostic.code}"
        for diagnostic in diagnostics
        if diagnostic.estimate
    ]
    return f"Fix first: {', '.join(named[:_MOST_NAMED])}." if named else ""


def _rank(diagnostic: Diagnostic, often: Frequency) -> tuple[float, ...]:
    prediction = diagnostic.prediction
    if prediction is not None and prediction.kind in _FAILS:
        return (0.0,)
    if prediction is None or prediction.kind != "slowdown":
        return (3.0,)
    factor = _middle(prediction)
    if diagnostic.share is not None:
        return 1.0, -diagnostic.share * (1 - 1 / factor)
    return 2.0, -often.depth, -factor


def _middle(prediction: Prediction) -> float:
    """The factor in the middle of the range; 1 where none was measured."""
    bounds = [bound for bound in (prediction.low, prediction.high) if bound is not None and bound > 0]
    return math.prod(bounds) ** (1 / len(bounds)) if bounds else 1.0


def _text(diagnostic: Diagnostic, often: Frequency) -> str:
    prediction = diagnostic.prediction
    if prediction is not None and prediction.kind in _FAILS:
        return _FAILS[prediction.kind]
    if prediction is None or prediction.kind != "slowdown":
        return ""
    low, high = prediction.low, prediction.high
    faster = "faster by an unknown factor"
    if low is not None or high is not None:
        bounds = dict.fromkeys(f"{bound:g}x" for bound in (low, high) if bound is not None)
        faster = f"{' to '.join(bounds)} faster, as predicted"
    if (own := prediction.on_cpu) is not None:
        faster += f" ({own.low:g}x to {own.high:g}x on a CPU with {own.cores} cores)"
    where = f", {often.text}" if often.text else ""
    if diagnostic.share is None:
        return f"{faster}{where}; no run was measured"
    text = f"{diagnostic.share:.0%} of the measured run is spent there"
    if low is not None and high is not None:
        saved = dict.fromkeys(f"{diagnostic.share * (1 - 1 / bound):.0%}" for bound in (low, high))
        return f"saves {' to '.join(saved)} of the run: {text}, which a fix makes {faster}{where}"
    return f"saves at most that share: {text}{where}"
