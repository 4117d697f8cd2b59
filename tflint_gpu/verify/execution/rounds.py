"""Two programs, run one after the other, round by round."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from pathlib import Path

from tflint_gpu.lazy_dataclasses import dataclass
from tflint_gpu.verify.execution.sandbox import Limits
from tflint_gpu.verify.execution.worker import Outcome, run_program


@dataclass(frozen=True, slots=True)
class Round:
    """Both programs, run once each, one after the other or block by block.

    Arguments:
        before: of the flagged code; None if the budget was spent before it could start.
        after: of the repaired code, likewise.
        budget_spent: whether the last of both was still running when the budget ended, or the other could not start:
            a "timed out" then says nothing about that program.
    """

    before: Outcome | None
    after: Outcome | None
    budget_spent: bool = False


Run = Callable[[Path, Limits], Outcome]


def run_rounds(
    before: Path,
    after: Path,
    rounds: int,
    budget_seconds: float,
    limits: Limits | None = None,
    *,
    run: Run | None = None,
) -> Iterator[Round]:
    """Run two programs one after the other, and yield each round when it was measured.

    Who comes first changes from round to round, so that what changes steadily favours neither.

    Ctrl-C raises KeyboardInterrupt here and leaves no process running; the caller has all rounds that were whole.

    Arguments:
        before: script with the flagged code.
        after: script with the repaired code.
        rounds: how many at most.
        budget_seconds: wall time for all of them; a program that still runs then is killed.
        limits: of each program.
        run: runs one program; `run_program` with settings of its own, say of device and sandbox.

    Raises:
        FileNotFoundError: if a script is not there.
    """
    limits = limits or Limits()
    run = run or run_program
    end = time.monotonic() + budget_seconds
    scripts = (before, after)
    for number in range(rounds):
        outcomes: dict[int, Outcome] = {}
        for which in (0, 1) if number % 2 == 0 else (1, 0):
            remaining = end - time.monotonic()
            if remaining > 0:
                outcomes[which] = run(scripts[which], limits.within(remaining))
        if not outcomes:
            return
        cut = any(outcome.status == "timed out" for outcome in outcomes.values()) and time.monotonic() >= end
        yield Round(outcomes.get(0), outcomes.get(1), budget_spent=cut or len(outcomes) < 2)
