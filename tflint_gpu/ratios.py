"""How many times as much one variant takes as the other, and between which bounds that lies.

A round gives one ratio: the median of before/after over its blocks, which lie side by side in time, or, where it has
none, before/after itself. What several rounds give together is their weighted median. Its interval is that of the sign
test (Dixon and Mood 1946), which asks nothing of the noise but that a round lies above the true ratio as often as below
it, whatever its weight: a bound is where so few rounds lie beyond it that coins in their place would do so in 1.75% of
all cases. That would be 96.5%; 95% are left where a round is somewhat like the one before it. Nothing is drawn at
random, so the same rounds give the same interval.

With three to five rounds the sign test has no bounds. There it is Student's interval of the mean of the logarithms,
with 99.3% instead of 95%, as it supposes normal noise and there is none: `tests/benchmarks/intervals.py` prints how
often it holds the true ratio under noise of other kinds. One or two rounds have no interval.

Who looks after each round and stops when the answer is there looks often, and would be wrong oftener than in 5%. For
that there is `sequential_interval`, all of whose intervals hold the true ratio together in 95% of all cases.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Sequence
from itertools import accumulate, pairwise

from tflint_gpu.lazy_dataclasses import dataclass

FEWEST_FOR_INTERVAL = 3
_MOST_FOR_STUDENT = 5
FEWEST_PAIRS_OF_BLOCKS = 3
# More than 95%: what is left is for rounds that are somewhat like the one before them.
_CONFIDENCE_OF_FEW, _CONFIDENCE_OF_SIGNS, _CONFIDENCE_OF_LOOKS = 0.993, 0.965, 0.957
_CONFIDENCE_OF_EACH = 0.975  # of two intervals of which both hold
_MOST_DOUBT = 0.1  # standard errors of a round's own logarithm: above it counts once, below the half of it three times
# The standard error of a median, and the standard deviation by the median deviation, of normal numbers.
_OF_MEDIAN, _OF_DEVIATION = math.sqrt(math.pi / 2), 1.4826


@dataclass(frozen=True, slots=True)
class Interval:
    """A median ratio before/after (no unit) and the bounds of its 95% interval; `low <= ratio <= high`.

    Where the rounds are too few for an interval the bounds are 0 and infinity.
    """

    ratio: float
    low: float
    high: float

    def __str__(self) -> str:
        if self.high == math.inf:
            return f"{self.ratio:.3g} (too few rounds for an interval)"
        return f"{self.ratio:.3g} (95% interval {self.low:.3g} to {self.high:.3g})"


@dataclass(frozen=True, slots=True)
class Ratio:
    """What one round says.

    Arguments:
        logarithm: of before/after.
        weight: 1, 2 or 3: how well its own blocks agree.
    """

    logarithm: float
    weight: int = 3


def round_ratio(before: Sequence[float], after: Sequence[float]) -> Ratio:
    """The ratio of a round in which both variants alternated.

    Arguments:
        before: seconds of a step in each block, positive; at least one.
        after: likewise; the blocks of one index were measured one after the other.
    """
    logarithms = [math.log(time) - math.log(other) for time, other in zip(before, after, strict=False)]
    middle = statistics.median(logarithms)
    if len(logarithms) < FEWEST_PAIRS_OF_BLOCKS:
        return Ratio(middle, 1)
    deviation = statistics.median(abs(logarithm - middle) for logarithm in logarithms)
    doubt = _OF_MEDIAN * _OF_DEVIATION * deviation / math.sqrt(len(logarithms))
    return Ratio(middle, 1 if doubt > _MOST_DOUBT else 2 if doubt > _MOST_DOUBT / 2 else 3)


def drift(rounds: Sequence[Ratio]) -> float:
    """How much the ratio changes from one round to the next, as a median of logarithms; 0 for one round.

    Both programs of a round run side by side, so this is what the machine's own drift leaves in a ratio.
    """
    changes = [abs(later.logarithm - earlier.logarithm) for earlier, later in pairwise(rounds)]
    return statistics.median(changes) if changes else 0.0


def paired_ratio(pairs: Sequence[tuple[float, float]]) -> Interval:
    """The median of before/after over rounds that were chosen beforehand, and its interval.

    Arguments:
        pairs: (before, after) for each round, positive, in the same unit.

    Raises:
        ValueError: there is no pair, or a number is not finite and positive.
    """
    if not pairs or any(not is_positive(number) for pair in pairs for number in pair):
        raise ValueError("a ratio needs at least one pair of finite positive numbers")
    return fixed_interval([Ratio(math.log(before) - math.log(after)) for before, after in pairs])


def fixed_interval(rounds: Sequence[Ratio]) -> Interval:
    """The median of as many rounds as were asked for, and its interval.

    Arguments:
        rounds: at least one.
    """
    if len(rounds) <= _MOST_FOR_STUDENT:
        return _around(rounds, *_by_students_t(rounds))
    chances = {0: 1.0}
    for round in rounds:
        chances = _tossed(chances, round.weight)
    return _around(rounds, *_by_signs(rounds, _largest_sum(chances, (1 - _CONFIDENCE_OF_SIGNS) / 2)))


def ratio_of_means(later: Sequence[float], first: Sequence[float]) -> Interval:
    """The mean of the later numbers over that of the first, which were not measured in pairs.

    The bounds are those of both means, by Student, each with 97.5%.

    Arguments:
        later, first: positive; without three of each there are no bounds.
    """
    ratio = statistics.fmean(later) / statistics.fmean(first)
    if min(len(later), len(first)) < FEWEST_FOR_INTERVAL:
        return Interval(ratio, 0.0, math.inf)
    (low, high), (least, most) = _mean_bounds(later), _mean_bounds(first)
    return Interval(ratio, max(0.0, low / most), high / least if least > 0 else math.inf)


def _mean_bounds(numbers: Sequence[float]) -> tuple[float, float]:
    count, mean = len(numbers), statistics.fmean(numbers)
    reach = _student_quantile(_CONFIDENCE_OF_EACH, count - 1) * statistics.stdev(numbers) / math.sqrt(count)
    return mean - reach, mean + reach


def sequential_interval(rounds: Sequence[Ratio]) -> Interval:
    """The median of the rounds until now, and its interval for somebody who looks after each round.

    All intervals together hold the true ratio in 95% of all cases: each of the three by Student fails in 0.7%, those by
    signs together in 2.2%, which are counted exactly: the sum of the weights on one side is a walk of coins, and a
    bound is what such a walk crosses, now or after an earlier round, in no more than 1.1% of all cases.

    Arguments:
        rounds: in their order, at least one.
    """
    low, high = -math.inf, math.inf
    for number in range(FEWEST_FOR_INTERVAL, min(len(rounds), _MOST_FOR_STUDENT) + 1):
        by_student = _by_students_t(rounds[:number])
        low, high = max(low, by_student[0]), min(high, by_student[1])
    walk = {0: 1.0}  # the chance of each sum that no bound has ended
    spent = 0.0
    bound = -1
    for number, pair in enumerate(rounds, start=1):
        walk = _tossed(walk, pair.weight)
        bound = _largest_sum(walk, _allowed(number) - spent)
        spent += sum(chance for total, chance in walk.items() if total <= bound)
        walk = {total: chance for total, chance in walk.items() if total > bound}
        if bound >= 0:
            by_signs = _by_signs(rounds[:number], bound)
            low, high = max(low, by_signs[0]), min(high, by_signs[1])
    return _around(rounds, low, high)


def _allowed(number: int) -> float:
    """How much of the error on one side may be spent until some round: most until the 7th, the rest bit by bit."""
    looks_by_student = _MOST_FOR_STUDENT - FEWEST_FOR_INTERVAL + 1
    share = (1 - _CONFIDENCE_OF_LOOKS - looks_by_student * (1 - _CONFIDENCE_OF_FEW)) / 2
    return share * max(0.0, 1 - (3.7 / number) ** 2)


def _tossed(chances: dict[int, float], weight: int) -> dict[int, float]:
    """The chances of each sum after one more coin, that adds a weight or nothing."""
    floats: dict[int, float] = {}
    for total, chance in chances.items():
        floats[total] = floats.get(total, 0.0) + chance / 2
        floats[total + weight] = floats.get(total + weight, 0.0) + chance / 2
    return floats


def _largest_sum(chances: dict[int, float], allowed: float) -> int:
    """The largest sum that coins reach or stay below with no more than a chance; -1 where there is none."""
    ordered = sorted(chances)
    reached = accumulate(chances[total] for total in ordered)
    return max((total for total, chance in zip(ordered, reached, strict=True) if chance <= allowed), default=-1)


def _by_signs(rounds: Sequence[Ratio], bound: int) -> tuple[float, float]:
    """The logarithms beyond which no more than a weight lies."""
    ordered = sorted(rounds, key=lambda pair: pair.logarithm)
    low = _first_beyond(ordered, bound)
    return low, _first_beyond(ordered[::-1], bound)


def _first_beyond(ordered: Sequence[Ratio], bound: int) -> float:
    sums = accumulate(pair.weight for pair in ordered)
    return next(pair.logarithm for pair, total in zip(ordered, sums, strict=True) if total > bound)


def _by_students_t(rounds: Sequence[Ratio]) -> tuple[float, float]:
    count = len(rounds)
    if count < FEWEST_FOR_INTERVAL:
        return -math.inf, math.inf
    numbers = [round.logarithm for round in rounds]
    reach = _student_quantile(_CONFIDENCE_OF_FEW, count - 1) * statistics.stdev(numbers) / math.sqrt(count)
    return statistics.fmean(numbers) - reach, statistics.fmean(numbers) + reach


def _student_quantile(inside: float, freedom: int) -> float:
    """Within which bounds around 0 a number of Student's distribution lies with some probability."""
    low, high = 0.0, 1e6
    while high - low > 1e-9 * high:
        middle = (low + high) / 2
        low, high = (middle, high) if _student_inside(middle, freedom) < inside else (low, middle)
    return high


def _student_inside(reach: float, freedom: int) -> float:
    """The probability of -reach to reach (Abramowitz and Stegun, Handbook of Mathematical Functions, 26.7.3 and 4)."""
    angle = math.atan(reach / math.sqrt(freedom))
    cosine = math.cos(angle)
    term = 1.0 if freedom % 2 == 0 else cosine
    total = term if freedom > 1 else 0.0
    for number in range(2 + freedom % 2, freedom, 2):
        term *= (number - 1) / number * cosine**2
        total += term
    return math.sin(angle) * total if freedom % 2 == 0 else 2 / math.pi * (angle + math.sin(angle) * total)


def _around(rounds: Sequence[Ratio], low: float, high: float) -> Interval:
    """The weighted median, and the bounds, of which neither may lie on its other side."""
    ordered = sorted(rounds, key=lambda pair: pair.logarithm)
    half = sum(pair.weight for pair in ordered) / 2
    # Both from below and from above, so that swapping the variants inverts it.
    middle = (_first_reaching(ordered, half) + _first_reaching(ordered[::-1], half)) / 2
    return Interval(math.exp(middle), math.exp(min(low, middle)), math.exp(max(high, middle)))


def _first_reaching(ordered: Sequence[Ratio], weight: float) -> float:
    sums = accumulate(pair.weight for pair in ordered)
    return next(pair.logarithm for pair, total in zip(ordered, sums, strict=True) if total >= weight)


def is_positive(number: float) -> bool:
    """Whether a ratio can be made of the number."""
    return 0 < number < math.inf
