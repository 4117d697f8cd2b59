"""How much of the time that several repairs save together is lost where one of them is left out.

In units of a step with all repairs, the flagged code takes r, and the code without this repair l. All repairs save
r - 1 and without this one l - 1 of that is lost: the quotient is the repair's share. Shares add up to 1 where each
repair saves time of its own. They add up to more where one helps only with another, and to less where two save the same
time.

Why a repair is left out and not made alone: where one of two mistakes takes nine tenths of a step, the repair of the
other one alone is lost in the noise of the first, and still makes a step several times as fast once both are made.

Both factors were measured against the same program, the one with all repairs, in rounds of their own, and each of their
intervals holds the true factor in 95% of all cases. So both hold in at least 90%, whatever they have to do with each
other (Bonferroni), and then the share lies between the quotients of their bounds. Where these are far apart,
only they are said.
"""

from __future__ import annotations

import math

from tflint_gpu.lazy_dataclasses import dataclass
from tflint_gpu.verify.statistics.statistics import CONFIRMED, Verdict

_WIDEST = 0.5


@dataclass(frozen=True, slots=True)
class Share:
    """A share, where 1 is all, and the bounds of its interval, which holds it in at least 90% of all cases.

    Arguments:
        share: None where the bounds are further apart than `_WIDEST`.
    """

    share: float | None
    low: float
    high: float


def share_of(left_out: Verdict, joint: Verdict) -> Share | None:
    """The share of a repair; None where it was not measured, or where it is not sure that all together save anything.

    Arguments:
        left_out: the verdict on the code without this repair, against that with all.
        joint: the one on the code without any.
    """
    if joint.verdict not in CONFIRMED or not _is_known(left_out) or not _is_known(joint):
        return None
    lost, least, most = map(_lost, _numbers(left_out))
    saved, least_saved, most_saved = map(_lost, _numbers(joint))
    low = least / (most_saved if least > 0 else least_saved)
    high = most / (least_saved if most > 0 else most_saved)
    return Share(lost / saved if high - low <= _WIDEST else None, low, high)


def _numbers(verdict: Verdict) -> tuple[float, float, float]:
    assert verdict.ratio is not None and verdict.low is not None and verdict.high is not None
    return verdict.ratio, verdict.low, verdict.high


def _is_known(verdict: Verdict) -> bool:
    """Whether there is an interval: one or two rounds have none."""
    return verdict.ratio is not None and bool(verdict.low) and verdict.high not in (None, math.inf)


def _lost(ratio: float) -> float:
    """What is lost, in steps with all repairs."""
    return ratio - 1
