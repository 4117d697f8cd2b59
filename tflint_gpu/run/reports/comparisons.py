"""How comparisons of runs are shown: a table for people, JSON for programs."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence

from tflint_gpu.gpu.cards import gibibytes
from tflint_gpu.reports.amounts import duration
from tflint_gpu.reports.display import table
from tflint_gpu.run.comparison import Comparison, Trained
from tflint_gpu.run.reports import words

_ONCE = (
    "The intervals are of the steps of these runs. Give three reports of each, separated by commas, "
    "to include the noise between runs."
)


def full(comparisons: Sequence[Comparison], first: str, is_repeated: bool) -> str:
    """A table with a row for each training of each run."""
    head = ("training", "run", "steps/s", "p50", "p99", "idle", "memory", "time of a step")
    rows: list[tuple[str, ...]] = [head]
    for comparison in comparisons:
        shown = (comparison.first.name, first, *_cells(comparison.first), "")
        if shown not in rows:
            rows.append(shown)
        ratio = f"{_interval(comparison)}: {comparison.verdict}"
        rows.append((comparison.later.name, comparison.label, *_cells(comparison.later), ratio))
    text = "\n".join(table(rows)) + "\n"
    return text if is_repeated else f"{text}{_ONCE}\n"


def as_json(comparisons: Sequence[Comparison], first: str, is_repeated: bool) -> str:
    """One object."""
    document = {
        "kind": "comparison",
        "first": first,
        "interval_of": "runs" if is_repeated else "steps",
        "comparisons": [
            {
                "run": comparison.label,
                "training": comparison.later.name,
                "seconds_of_a_step": {"first": comparison.first.seconds, "later": comparison.later.seconds},
                "ratio": comparison.ratio.ratio,
                "low": comparison.ratio.low or None,
                "high": comparison.ratio.high if comparison.ratio.high < math.inf else None,
                "factor": comparison.factor,
                "verdict": comparison.verdict,
                "slower": comparison.is_slower,
            }
            for comparison in comparisons
        ],
    }
    return json.dumps(document, indent=2, allow_nan=False) + "\n"


def _cells(trained: Trained) -> tuple[str, ...]:
    memory = "" if trained.memory is None else gibibytes(trained.memory, 2)
    speed = f"{1 / trained.seconds:.3g}"
    return speed, duration(trained.p50), duration(trained.p99), words.percent(trained.idle), memory


def _interval(comparison: Comparison) -> str:
    ratio = comparison.ratio
    if ratio.high == math.inf:
        bound = f"more than {ratio.low:.3g}" if ratio.low else "too few steps for an interval"
        return f"{ratio.ratio:.3g} times ({bound})"
    return f"{ratio.ratio:.3g} times ({ratio.low:.3g} to {ratio.high:.3g})"
