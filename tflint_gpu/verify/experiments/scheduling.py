"""Who is measured when: a quick look at every finding first, then more rounds where they decide most."""

from __future__ import annotations

import dataclasses
import math
import time
from collections.abc import Iterator, Mapping, Sequence

from tflint_gpu.lazy_dataclasses import dataclass
from tflint_gpu.verify.experiments.bench import verify
from tflint_gpu.verify.experiments.joining import among_others
from tflint_gpu.verify.experiments.sharing import measured_with, same_failure, shared
from tflint_gpu.verify.experiments.verification import (
    Case,
    Setup,
    Verification,
    alternates,
    blocker,
    ended_after,
    ends_when_decided,
    rounds_for,
    unmeasured,
)
from tflint_gpu.verify.statistics.statistics import CONFIRMED, MINIMUM_ROUNDS, SMALLEST_SLOWDOWN

LOOK = 3
# Rounds of one finding, after the look, until it is asked again which one is nearest to a decision.
INSTALMENT = 6
# A look is not made shorter than this, however many findings share the budget: a program has to start, too.
SHORTEST_LOOK = 60.0
# What `tflint_measure` takes to time steps once TensorFlow is imported, in seconds: few steps, and long ones.
_QUICKEST, _SLOWEST = 2.0, 10.0


@dataclass(frozen=True, slots=True)
class Estimate:
    """How long measuring takes, in seconds, from quick programs and clear results to slow and noisy ones.

    Arguments:
        least: runs of programs, where each verdict is there as soon as it may be.
        most: runs of programs, where none is.
    """

    low: float
    high: float
    least: int
    most: int


def estimate(cases: Sequence[Case], setup: Setup, start: float) -> Estimate:
    """What measuring all cases takes.

    Arguments:
        start: seconds in which a program imports TensorFlow.
    """
    owners = measured_with(cases)
    ready = [case for number, case in enumerate(cases) if owners[number] == number and not blocker(case, setup)]
    fewest = [2 * fewest_rounds(case, setup) for case in ready]
    most = [2 * rounds_for(case, setup) for case in ready]
    # Programs that alternate import it once, and each run is a fork.
    low = sum(start * (2 if alternates(case, setup) else runs) for case, runs in zip(ready, fewest, strict=True))
    high = sum(start * (2 if alternates(case, setup) else runs) for case, runs in zip(ready, most, strict=True))
    return Estimate(low + sum(fewest) * _QUICKEST, high + sum(most) * _SLOWEST, sum(fewest), sum(most))


def fewest_rounds(case: Case, setup: Setup) -> int:
    """How many rounds a case gets where its first ones are clear."""
    return MINIMUM_ROUNDS if ends_when_decided(case, setup) else rounds_for(case, setup)


@dataclass(frozen=True, slots=True)
class Known:
    """What is known of one case after a round.

    Arguments:
        number: of the case.
        looked: how many cases had their first look.
    """

    number: int
    verification: Verification
    looked: int


def measure(cases: Sequence[Case], setup: Setup, seconds: float) -> Iterator[Known]:
    """Measure all cases within a time; what is yielded of a case takes the place of what was before.

    Arguments:
        seconds: of wall time for all of them.

    Raises:
        KeyboardInterrupt: on Ctrl-C, with no process left.
    """
    end = time.monotonic() + seconds
    owners = measured_with(cases)
    results: list[Verification] = []
    for number, case in enumerate(cases):
        if owners[number] != number:
            results.append(shared(results[owners[number]], case))
            yield Known(number, results[number], number + 1)
            continue
        left = end - time.monotonic()
        result = unmeasured(case, f"it was not started: the budget of {seconds:.0f} s was spent before")
        if left > 0 or blocker(case, setup):
            share = max(left / (len(cases) - number), SHORTEST_LOOK)
            among = among_others(case, results)
            known = same_failure(among, results)
            if known is not None:
                result = known
            else:
                for result in _measured(among, case, setup, min(left, share), LOOK):
                    yield Known(number, result, number)
        else:
            result = dataclasses.replace(result, is_cut=True)
        results.append(result)
        yield Known(number, result, number + 1)
    while (left := end - time.monotonic()) > 0:
        own = {number: result for number, result in enumerate(results) if owners[number] == number}
        urgent = most_urgent(own, setup)
        if urgent is None:
            break
        number = urgent
        known = results[number]
        for result in _measured(known.case, cases[number], setup, left, INSTALMENT, known):
            results[number] = result
            yield Known(number, result, len(cases))
        if len(results[number].before) == len(known.before) and results[number].case.among is known.case.among:
            # it does not end within what is left
            results[number] = dataclasses.replace(results[number], is_cut=False)
            break
    for number, owner in enumerate(owners):
        result = concluded(results[owner], setup)
        yield Known(number, result if owner == number else shared(result, cases[number]), len(cases))


def _measured(
    case: Case, alone: Case, setup: Setup, seconds: float, rounds: int, known: Verification | None = None
) -> Iterator[Verification]:
    """More rounds of a case, and then of its repair alone where it brings nothing among others.

    Two repairs may save the same time: then neither brings anything once the other one is made, and each does alone.
    """
    end = time.monotonic() + seconds
    for result in verify(case, setup, seconds, known=known, rounds=rounds):
        is_there = result.case.among is None or result.verdict.verdict in CONFIRMED
        if is_there or wants_more(result, setup):
            yield result
        else:
            yield from verify(alone, setup, end - time.monotonic(), rounds=rounds)
            return


def most_urgent(results: Mapping[int, Verification], setup: Setup) -> int | None:
    """Which of some cases, by number, gets the next rounds; None where none wants any."""
    open_ones = [number for number, result in results.items() if wants_more(result, setup)]
    return min(open_ones, key=lambda number: (_urgency(results[number]), number), default=None)


def concluded(result: Verification, setup: Setup) -> Verification:
    """The result with the reason why it rests on fewer rounds than it might."""
    verdict = result.verdict
    if verdict.verdict == "not run" or not wants_more(result, setup) or "budget" in verdict.reason:
        return result
    reason = f"{verdict.reason}; {ended_after(result, setup)}"
    return dataclasses.replace(result, verdict=dataclasses.replace(verdict, reason=reason))


def wants_more(result: Verification, setup: Setup) -> bool:
    """Whether more rounds of a case can be run, and were not because its time was over."""
    if result.verdict.verdict == "not run":
        return result.is_cut
    is_reference = result.verdict.verdict == "reference" and len(result.before) >= LOOK  # no time of the user's code
    if (is_reference or not result.is_open) and ends_when_decided(result.case, setup):
        return False
    return len(result.before) < rounds_for(result.case, setup)


def _urgency(result: Verification) -> tuple[int, float]:
    """What to go on with: what has no result yet, then what is nearest to a decision, then what is decided already."""
    verdict = result.verdict
    if not result.before:
        return 0, 0.0
    if verdict.verdict != "inconclusive":
        return 2, 0.0
    if verdict.low is None or verdict.low <= 0:
        return 1, math.inf
    bounds = ((SMALLEST_SLOWDOWN, verdict.low), (result.case.smallest_gain, verdict.high or math.inf))
    return 1, min(abs(math.log(limit / bound)) for limit, bound in bounds)
