"""From paired runs to a verdict: every rule by which `verify` judges stands here.

A round is one process of the flagged code (`before`) and one of the repaired code (`after`), which alternate or are
run one after the other. No prediction of a time or an amount is confirmed or refuted by fewer than `MINIMUM_ROUNDS`
usable rounds, none of something that happens or not by fewer than `MINIMUM_REPEATS`, and none by a minority of the
rounds; no usable round at all is `not run`. Times and amounts are judged by the interval of their ratio (`ratios`):
that for a number of rounds that was fixed, or the one for somebody who goes on until it decides.

slowdown: confirmed when the interval of before/after lies above `SMALLEST_SLOWDOWN`, and above 1 by more than the
ratio itself drifts from one round to the next, refuted when it lies below `SMALLEST_SLOWDOWN`. Where it lies wholly
below the smallest gain that is worth a change, that is the verdict, and there is no need of more rounds. It is
also where the whole run is not faster by that, since what is traced and built once takes longer than the steps save:
the time of a step has its share of the traces for all shapes of the data, the whole run also that of the first one.

no-effect: confirmed when the interval lies within 1/`SAME` to `SAME`, refuted when it lies wholly outside.

memory: `memory confirmed` when the interval of the bytes held lies above `SAME`, refuted when it lies below.

crash: `crash confirmed` when the flagged code raises what was predicted in every round and the repair ends well in
every round, refuted when the flagged code ends well in every round.

wrong-result: `wrong result confirmed` when in every round the flagged code is wrong by itself or differs from the
repair, refuted when it is so in no round; neither where a variant does not repeat its own result or the repair is
wrong too.

wrong-device: confirmed when in every round nothing of the flagged code ran where it asked to and the repair ran
where it asked, if it asked; refuted when the flagged code ran there in every round.

A slowdown or an amount that is there is `weaker than predicted` or `stronger than predicted` where its interval lies
wholly below or above the factors of the prediction, which were measured on other machines. Both count as confirmed.

Everything else is `inconclusive`.

What a rule's own workload shows is a `reference` and no verdict, whatever these rules say of it: it runs none of the
user's code.
"""

from __future__ import annotations

import dataclasses
import math
import statistics
from collections.abc import Callable, Collection, Sequence
from typing import Literal

from tflint_gpu.diagnostics import Prediction, PredictionKind
from tflint_gpu.lazy_dataclasses import dataclass
from tflint_gpu.ratios import (
    Interval,
    Ratio,
    drift,
    fixed_interval,
    is_positive,
    round_ratio,
    sequential_interval,
)
from tflint_gpu.verify.statistics.outcomes import Round, Run, landed_as_asked
from tflint_gpu.verify.statistics.outputs import compare_outputs

VerdictName = Literal[
    "confirmed",
    "stronger than predicted",
    "weaker than predicted",
    "crash confirmed",
    "wrong result confirmed",
    "memory confirmed",
    "refuted",
    "no gain worth having",
    "inconclusive",
    "reference",
    "not run",
]

CONFIRMED: tuple[VerdictName, ...] = (
    "confirmed",
    "stronger than predicted",
    "weaker than predicted",
    "crash confirmed",
    "wrong result confirmed",
    "memory confirmed",
)
"""The verdicts that say that what was predicted is there."""
NO_VERDICTS: tuple[VerdictName, ...] = ("reference", "not run")
"""What says nothing of the user's code."""
MINIMUM_ROUNDS = 3
MINIMUM_REPEATS = 2
SMALLEST_SLOWDOWN = 1.05
SMALLEST_GAIN = 1.1
"""What a change must bring to be worth it, unless the settings say something else."""
SAME = 1.1
_WORTH_TELLING = 0.05  # of the time of a step
# What NVML counts in; also keeps a repair that holds nothing at all from dividing by zero.
SMALLEST_MEMORY = 1 << 20

# A program cut out of a larger one raises these when the cutting went wrong: unless predicted, they prove nothing.
EXTRACTION_FAULTS = frozenset(
    {"ImportError", "ModuleNotFoundError", "NameError", "SyntaxError", "IndentationError", "FileNotFoundError"}
)


REFERENCE = "reference: the rule's own workload, not this code"


@dataclass(frozen=True, slots=True)
class Verdict:
    """What the rounds say on a prediction, why, and the ratio before/after with its interval where one was measured.

    Arguments:
        of_workload: of a reference, what the rounds say of the rule's own workload.
    """

    verdict: VerdictName
    reason: str
    ratio: float | None = None
    low: float | None = None
    high: float | None = None
    of_workload: VerdictName | None = None

    def as_reference(self) -> Verdict:
        """The same numbers where they are those of a rule's workload."""
        reason = f"{REFERENCE}; in it {self.reason}"
        return dataclasses.replace(self, verdict="reference", reason=reason, of_workload=self.verdict)


def judge(
    prediction: Prediction,
    rounds: Sequence[Round],
    *,
    exceptions: Collection[str] = (),
    until_decided: bool = False,
    smallest_gain: float = SMALLEST_GAIN,
) -> Verdict:
    """Say whether the rounds confirm the prediction, by the rules at the head of this module.

    Arguments:
        prediction: what was claimed; its `low` and `high` are factors before/after.
        rounds: the pairs of runs in the order they were made, those that failed among them.
        exceptions: for a crash, the names of the exception types that were predicted; none: any type,
            the same in every round, that does not come from cutting the program out of its file.
        until_decided: whoever asks goes on until the verdict is there, and did not fix the number of rounds.
        smallest_gain: the factor of a slowdown from which on a change is worth it.
    """
    if not rounds:
        return Verdict("not run", "no round was run")
    if prediction.kind in ("slowdown", "no-effect"):
        return _judge_times(prediction, rounds, until_decided, smallest_gain)
    if prediction.kind == "memory":
        return _judge_memory(prediction, rounds, until_decided)
    return _JUDGES[prediction.kind](prediction, rounds, exceptions)


def _judge_times(prediction: Prediction, rounds: Sequence[Round], until_decided: bool, smallest_gain: float) -> Verdict:
    ratios = [ratio for item in rounds if (ratio := _ratio(item)) is not None]
    if (verdict := _too_few(ratios, rounds, "step times")) is not None:
        return verdict
    interval = sequential_interval(ratios) if until_decided else fixed_interval(ratios)
    text = f"the flagged code takes {interval} times as long in {len(ratios)} rounds{_with_traces(rounds)}"
    if prediction.kind == "slowdown":
        name, more = _judge_slowdown(prediction, interval, smallest_gain)
    else:
        name, more = _judge_no_effect(interval)
    if prediction.kind == "slowdown" and name in CONFIRMED and math.log(interval.low) <= (change := drift(ratios)):
        name, more = (
            "inconclusive",
            f", but the ratio changes even more from one round to the next, by a factor of {math.exp(change):.3g}",
        )
    gain = _gain_of_whole(rounds)
    if prediction.kind == "slowdown" and name in CONFIRMED and gain is not None and gain < smallest_gain:
        more = f", but its whole run takes only {gain:.3g} times as long: the one-time costs exceed the time saved"
        name = "no gain worth having"
    return _with_interval(name, f"{text}{more}{_remarks(rounds)}", interval)


def _with_traces(rounds: Sequence[Round]) -> str:
    """That the times have a share of traces, where it is worth telling; by the round in the middle."""
    shares = [(run.whole.traces / run.seconds, run.whole) for item in rounds for run in (item.before, item.after)
              if run.whole is not None and run.seconds]  # fmt: skip
    share, whole = max(shares, key=lambda pair: pair[0], default=(0.0, None))
    if whole is None or share < _WORTH_TELLING:
        return ""
    return f", including {whole.shapes} traces of {whole.trace * 1e3:.3g} ms in a run of {whole.steps} steps"


def _gain_of_whole(rounds: Sequence[Round]) -> float | None:
    """How many times as long the flagged code takes for its whole run, once-only costs included."""
    pairs = [(_whole_seconds(item.before), _whole_seconds(item.after)) for item in rounds]
    known = [before / after for before, after in pairs if before is not None and after]
    return statistics.median(known) if known else None


def _whole_seconds(run: Run) -> float | None:
    return None if run.whole is None or run.seconds is None else run.whole.seconds(run.seconds)


def _judge_slowdown(prediction: Prediction, interval: Interval, smallest_gain: float) -> tuple[VerdictName, str]:
    if interval.high < SMALLEST_SLOWDOWN:
        return "refuted", ", which is no slowdown"
    if interval.high < smallest_gain:
        return "no gain worth having", f", less than {smallest_gain:.3g}, the smallest gain that is worth a change"
    if interval.low > SMALLEST_SLOWDOWN:
        return _by_range("confirmed", interval, prediction), _against_range(interval, prediction)
    return "inconclusive", f": the interval contains {SMALLEST_SLOWDOWN:.3g}"


def _judge_no_effect(interval: Interval) -> tuple[VerdictName, str]:
    bounds = f"{1 / SAME:.3g} to {SAME:.3g}"
    if interval.low >= 1 / SAME and interval.high <= SAME:
        return "confirmed", f", within {bounds}"
    if interval.low > SAME or interval.high < 1 / SAME:
        return "refuted", f", outside {bounds}: there is an effect"
    return "inconclusive", f", partly outside {bounds}"


def _judge_memory(prediction: Prediction, rounds: Sequence[Round], until_decided: bool) -> Verdict:
    pairs = [pair for item in rounds if (pair := _bytes(item)) is not None]
    if (verdict := _too_few(pairs, rounds, "bytes held")) is not None:
        return verdict
    ratios = [Ratio(math.log(before) - math.log(after)) for before, after in pairs]
    interval = sequential_interval(ratios) if until_decided else fixed_interval(ratios)
    before, after = (sorted(column)[len(pairs) // 2] / SMALLEST_MEMORY for column in zip(*pairs, strict=True))
    text = f"the flagged code holds {before:.0f} MiB, the fixed code {after:.0f} MiB: {interval} times as much"
    if interval.low > SAME:
        reason = f"{text}{_against_range(interval, prediction)}{_remarks(rounds)}"
        return _with_interval(_by_range("memory confirmed", interval, prediction), reason, interval)
    if interval.high < SAME:
        return _with_interval("refuted", f"{text}, which is not more{_remarks(rounds)}", interval)
    return _with_interval("inconclusive", f"{text}, too close to {SAME:.3g}{_remarks(rounds)}", interval)


def _judge_crash(prediction: Prediction, rounds: Sequence[Round], exceptions: Collection[str]) -> Verdict:
    ended = [item for item in rounds if item.before.failure is None]
    if (verdict := _too_few(ended, rounds, "usable runs of the flagged code", MINIMUM_REPEATS)) is not None:
        return verdict
    crashes = [item.before.crash for item in ended if item.before.crash is not None]
    if not crashes and len(ended) == len(rounds):
        return Verdict("refuted", f"the flagged code ran to its end in all {len(rounds)} rounds")
    if len(crashes) < len(rounds):
        return Verdict(
            "inconclusive", f"the flagged code raised in {len(crashes)} of {len(rounds)} rounds{_remarks(rounds)}"
        )
    text = f"the flagged code raised {rounds[0].before.fault}{crashes[0].during} in all {len(rounds)} rounds"
    if not _is_predicted({_type_name(crash.exception) for crash in crashes}, exceptions):
        return Verdict("inconclusive", f"{text}, which is not the predicted error")
    faults = [item.after.fault for item in rounds if item.after.fault is not None]
    if faults:
        return Verdict("inconclusive", f"{text}, but the fixed code did not run either: {faults[0]}")
    return Verdict("crash confirmed", f"{text}, the fixed code in none{_difference(rounds)}")


def _is_predicted(raised: set[str], exceptions: Collection[str]) -> bool:
    if exceptions:
        return raised <= {_type_name(name) for name in exceptions}
    return len(raised) == 1 and not raised & EXTRACTION_FAULTS


def _judge_wrong_result(prediction: Prediction, rounds: Sequence[Round], exceptions: Collection[str]) -> Verdict:
    compared = [item for item in rounds if item.before.fault is None and item.after.fault is None and _has_result(item)]
    if (verdict := _too_few(compared, rounds, "results to compare", MINIMUM_REPEATS)) is not None:
        return verdict
    for name, runs in (
        ("flagged", [item.before for item in compared]),
        ("fixed", [item.after for item in compared]),
    ):
        if any(_outputs_differ(runs[0], run) is not None for run in runs[1:]):
            reason = f"the {name} code does not reproduce its own result with the same seed"
            return Verdict("inconclusive", reason)
    repair = next((item.after.wrong for item in compared if item.after.wrong is not None), None)
    if repair is not None:
        return Verdict("inconclusive", f"the result of the fixed code is wrong as well: {repair}")
    wrong = [text for item in compared if (text := item.before.wrong or _outputs_differ(item.before, item.after))]
    if len(wrong) == len(rounds):
        return Verdict("wrong result confirmed", f"{wrong[0]}, in all {len(rounds)} rounds")
    if not wrong and len(compared) == len(rounds):
        same = "the flagged code gives the same results as the fixed code"
        return Verdict("refuted", f"{same} in all {len(rounds)} rounds")
    return Verdict("inconclusive", f"a wrong result in {len(wrong)} of {len(rounds)} rounds{_remarks(rounds)}")


def _judge_wrong_device(prediction: Prediction, rounds: Sequence[Round], exceptions: Collection[str]) -> Verdict:
    seen = [
        (before, after)
        for item in rounds
        if (before := item.before.placement) is not None and (after := item.after.placement) is not None
        if before.asked is not None and before.landed
    ]
    if (verdict := _too_few(seen, rounds, "devices", MINIMUM_REPEATS)) is not None:
        return verdict
    missed = sum(not landed_as_asked(before) for before, _ in seen)
    first = seen[0][0]
    text = f"the flagged code asked for {first.asked} and ran on {', '.join(sorted(set(first.landed)))}"
    if missed == len(rounds):
        if all(landed_as_asked(after) for _, after in seen):
            return Verdict("confirmed", f"{text} in all {len(rounds)} rounds")
        return Verdict("inconclusive", f"{text}, but the fixed code does not run on the device it asks for either")
    if not missed and len(seen) == len(rounds):
        return Verdict("refuted", f"{text} in all {len(rounds)} rounds")
    return Verdict("inconclusive", f"{text}; on the wrong device in {missed} of {len(rounds)} rounds{_remarks(rounds)}")


_JUDGES: dict[PredictionKind, Callable[[Prediction, Sequence[Round], Collection[str]], Verdict]] = {
    "crash": _judge_crash,
    "wrong-result": _judge_wrong_result,
    "wrong-device": _judge_wrong_device,
}


def _ratio(item: Round) -> Ratio | None:
    """Of a round in which both variants ran to their end: by their blocks where they alternated."""
    before, after = item.before, item.after
    if before.fault is not None or after.fault is not None:
        return None
    if before.blocks and after.blocks and all(map(is_positive, (*before.blocks, *after.blocks))):
        return round_ratio(before.blocks, after.blocks)
    if before.seconds is None or after.seconds is None:
        return None
    if not is_positive(before.seconds) or not is_positive(after.seconds):
        return None
    return Ratio(math.log(before.seconds) - math.log(after.seconds))


def _bytes(item: Round) -> tuple[float, float] | None:
    before, after = item.before.memory, item.after.memory
    if before is None or after is None or item.before.fault is not None or item.after.fault is not None:
        return None
    return max(before, SMALLEST_MEMORY), max(after, SMALLEST_MEMORY)


def _has_result(item: Round) -> bool:
    both = item.before.outputs is not None and item.after.outputs is not None
    return both or item.before.wrong is not None


def _outputs_differ(findings: Run, other: Run) -> str | None:
    if findings.outputs is None or other.outputs is None:
        return None
    difference = compare_outputs(findings.outputs.values, other.outputs.values, findings.outputs.dtype)
    return None if difference is None else str(difference)


def _too_few(
    usable: Sequence[object], rounds: Sequence[Round], what: str, fewest: int = MINIMUM_ROUNDS
) -> Verdict | None:
    if not usable:
        return Verdict("not run", f"no round gave {what}{_remarks(rounds)}")
    needed = max(fewest, len(rounds) // 2 + 1)
    if len(usable) < needed:
        text = f"{len(usable)} of {len(rounds)} rounds gave {what}, but a verdict needs {needed}"
        return Verdict("inconclusive", f"{text}{_remarks(rounds)}")
    return None


def _remarks(rounds: Sequence[Round]) -> str:
    """What a reader must know in addition to the numbers: runs that failed, and outputs that differ."""
    text = ""
    for name, runs in (("flagged", [item.before for item in rounds]), ("fixed", [item.after for item in rounds])):
        faults = [run.fault for run in runs if run.fault is not None]
        if faults:
            text += f"; the {name} code failed in {len(faults)} of {len(rounds)} rounds: {faults[0]}"
    return text + _difference(rounds)


def _difference(rounds: Sequence[Round]) -> str:
    """Where the two variants compute something else, for what is meant to compute the same."""
    difference = next((text for item in rounds if (text := _outputs_differ(item.before, item.after))), None)
    return "" if difference is None else f"; {difference}"


def _by_range(name: VerdictName, interval: Interval, prediction: Prediction) -> VerdictName:
    """What to call a prediction that holds, by whether the interval reaches the factors that were predicted."""
    if prediction.low is not None and interval.high < prediction.low:
        return "weaker than predicted"
    return "stronger than predicted" if prediction.high is not None and interval.low > prediction.high else name


def _against_range(interval: Interval, prediction: Prediction) -> str:
    low, high = prediction.low, prediction.high
    if low is None and high is None:
        return ""
    if low is not None and interval.ratio < low:
        return f", less than the predicted {low:.3g}"
    if high is not None and interval.ratio > high:
        return f", more than the predicted {high:.3g}"
    return ", as predicted"


def _with_interval(name: VerdictName, reason: str, interval: Interval) -> Verdict:
    return Verdict(name, reason, interval.ratio, interval.low, interval.high)


def _type_name(exception: str) -> str:
    return exception.rpartition(".")[2]
