"""What is lost of a loop's repairs where one of them is left out."""

from __future__ import annotations

import math
import random

import pytest

from tflint_gpu.ratios import Ratio, sequential_interval
from tflint_gpu.verify.statistics.shares import share_of
from tflint_gpu.verify.statistics.statistics import Verdict, VerdictName


def verdict(ratio: float, low: float, high: float, name: VerdictName = "confirmed") -> Verdict:
    return Verdict(name, "", ratio, low, high)


def test_shares_of_repairs_that_save_time_of_their_own_add_up_to_all() -> None:
    """A step of 10 ms, of which one repair saves 6 and the other 3."""
    joint = verdict(10.0, 9.0, 11.0)
    one, other = (share_of(verdict(left, left, left), joint) for left in (7.0, 4.0))
    assert one is not None and other is not None
    assert (one.share, other.share) == (pytest.approx(6 / 9), pytest.approx(3 / 9))
    assert (one.low, one.high) == (pytest.approx(6 / 10), pytest.approx(6 / 8))


def test_a_share_that_is_not_known_closely_is_no_number() -> None:
    known = share_of(verdict(3.0, 2.0, 4.0), verdict(5.0, 3.0, 9.0))
    assert known is not None and (known.share, known.low, known.high) == (None, 1 / 8, 3 / 2)


def test_a_repair_that_may_cost_time_has_a_share_below_nothing() -> None:
    known = share_of(verdict(1.0, 0.9, 1.1, "inconclusive"), verdict(3.0, 2.0, 5.0))
    assert known is not None and (known.low, known.high) == (pytest.approx(-0.1), pytest.approx(0.1))


@pytest.mark.parametrize(
    ("left_out", "joint"),
    [
        (Verdict("not run", ""), verdict(3.0, 2.0, 5.0)),
        (verdict(2.0, 1.5, 3.0), verdict(1.0, 0.9, 1.1, "refuted")),
        (verdict(2.0, 0.0, math.inf, "inconclusive"), verdict(3.0, 2.0, 5.0)),
    ],
    ids=["not run", "nothing is saved", "too few rounds"],
)
def test_without_an_interval_of_both_there_is_no_share(left_out: Verdict, joint: Verdict) -> None:
    assert share_of(left_out, joint) is None


def test_the_interval_holds_the_true_share_as_often_as_it_says() -> None:
    """The true share is 0.25: a step takes 1 with all repairs, 2 without this one and 5 without any."""
    chance = random.Random(7)

    def measured(ratio: float) -> Verdict:
        rounds = [Ratio(math.log(ratio) + chance.gauss(0, 0.1)) for _ in range(4)]
        interval = sequential_interval(rounds)
        return verdict(interval.ratio, interval.low, interval.high)

    known = [share_of(measured(2.0), measured(5.0)) for _ in range(400)]
    held = sum(share is not None and share.low <= 0.25 <= share.high for share in known)
    assert held >= 0.9 * len(known)
