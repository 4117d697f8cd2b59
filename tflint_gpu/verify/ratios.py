"""How many times as much one variant takes as the other: the median of paired ratios, its interval, and the noise."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations

CONFIDENCE = 0.95


@dataclass(frozen=True, slots=True)
class Interval:
    """A median ratio before/after (no unit) and the bounds of its 95% interval; `low <= ratio <= high`."""

    ratio: float
    low: float
    high: float

    def __str__(self) -> str:
        return f"{self.ratio:.3g} (95% interval {self.low:.3g} to {self.high:.3g})"


def paired_ratio(pairs: Sequence[tuple[float, float]]) -> Interval:
    """The median of before/after over the rounds and its bootstrap 95% interval (percentile method).

    Nothing is drawn at random, so the same rounds give the same interval: the bootstrap distribution of a median is
    known in closed form (Efron 1979). A resample of `m` of the ratios has a median among the j smallest of them
    with the probability that more than half of `m` draws fall there, a binomial sum. `m` is odd (n or n - 1), so
    that the median of a resample is one of the ratios: then the interval of after/before is the inverse, and
    repeating the same rounds never widens it (Condorcet's jury theorem). Up to 6 rounds the interval is the whole
    range.

    Arguments:
        pairs: (before, after) for each round, positive, in the same unit.

    Raises:
        ValueError: there is no pair, or a number is not finite and positive.
    """
    if not pairs or any(not is_positive(number) for pair in pairs for number in pair):
        raise ValueError("a ratio needs at least one pair of finite positive numbers")
    ratios = sorted(before / after for before, after in pairs)
    count = len(ratios)
    drawn = count if count % 2 else count - 1
    tail = (1 - CONFIDENCE) / 2
    outside = next(j for j in range(count) if _median_is_among(j + 1, count, drawn) >= tail)
    middle = ratios[count // 2] if count % 2 else math.sqrt(ratios[count // 2 - 1]) * math.sqrt(ratios[count // 2])
    low, high = ratios[outside], ratios[count - 1 - outside]
    # The square roots round: the middle of two equal ratios must not leave its own interval.
    return Interval(min(max(middle, low), high), low, high)


def _median_is_among(smallest: int, count: int, drawn: int) -> float:
    """The probability that the median of `drawn` (odd) draws from `count` values is among the `smallest` smallest."""
    ways: int = sum(
        math.comb(drawn, hits) * smallest**hits * (count - smallest) ** (drawn - hits)
        for hits in range((drawn + 1) // 2, drawn + 1)
    )
    return float(ways / count**drawn)


def typical_spread(pairs: Sequence[tuple[float, float]]) -> float:
    """The factor by which two runs of the same program (A/A) typically differ, at least 1.

    For each variant it is the median factor between two of its own runs; the larger of the two counts.

    Arguments:
        pairs: (before, after) for each round, positive, in the same unit.
    """
    spread = 1.0
    for column in zip(*pairs, strict=True):
        factors = sorted(max(one / other, other / one) for one, other in combinations(column, 2))
        if factors:
            spread = max(spread, factors[len(factors) // 2])
    return spread


def is_positive(number: float) -> bool:
    """Whether a ratio can be made of the number."""
    return 0 < number < math.inf
