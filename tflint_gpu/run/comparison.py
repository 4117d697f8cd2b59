"""Two runs of a program, or several, side by side: how much longer a training step takes in one than in the first.

With three runs or more of each the interval is verify's, of the ratios of the first with the first, the second with the
second, and so on. With fewer it is of the steps of these runs alone, in twelve parts that follow each other: that says
nothing of how much one run differs from the next.
"""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from tflint_gpu.lazy_dataclasses import dataclass
from tflint_gpu.ratios import FEWEST_FOR_INTERVAL, Interval, paired_ratio, ratio_of_means
from tflint_gpu.run.inside.tflint_steps import WARM_UP

_PARTS = 12


class NotComparable(Exception):
    """Runs that cannot be compared, with the file and the reason."""


@dataclass(frozen=True, slots=True)
class Trained:
    """What a report says of one training.

    Arguments:
        name: the line that calls `fit`, or the step of a loop.
        seconds: of a step, without what lies between two epochs.
        parts: seconds of a step in each of some parts that follow each other; none where they are too few.
        idle: part of the time.
        wall: seconds of all.
    """

    name: str
    seconds: float
    p50: float
    p99: float
    idle: float
    parts: tuple[float, ...]
    wall: float
    memory: int | None


@dataclass(frozen=True, slots=True)
class Comparison:
    """A training of later runs and the same of the first ones.

    Arguments:
        ratio: of the seconds of a step, later/first.
        factor: above which it is slower.
    """

    label: str
    first: Trained
    later: Trained
    ratio: Interval
    factor: float

    @property
    def verdict(self) -> str:
        """What the interval says."""
        if self.is_slower:
            return f"slower by more than {self.factor:.3g} times"
        if self.ratio.ratio > self.factor:
            return "perhaps slower: repeat both runs"
        if self.ratio.high < 1:
            return "faster"
        return f"slower, but by less than {self.factor:.3g} times" if self.ratio.low > 1 else "no measurable difference"

    @property
    def is_slower(self) -> bool:
        """Whether it certainly is, by more than the factor."""
        return self.ratio.low > self.factor


def compare(groups: Sequence[tuple[str, Sequence[Path]]], factor: float) -> list[Comparison]:
    """Every later group of runs with the first, for each training.

    Arguments:
        groups: a label and the JSON reports of runs of one kind; at least two groups.
        factor: a training is slower when its steps take more than this times as long.

    Raises:
        NotComparable: a file is no report of a run, or has no steady training; groups of two, or of different sizes.
    """
    sizes = {len(paths) for _, paths in groups}
    if len(sizes) > 1 or sizes == {2}:
        raise NotComparable("each argument needs the same number of reports: one, or three or more")
    read = [(label, [_trainings(path) for path in paths]) for label, paths in groups]
    comparisons = []
    (_, first), *others = read
    for label, later in others:
        for rounds in zip(*_matched(first, later), strict=True):
            before, after = rounds[0]
            comparisons.append(Comparison(label, before, after, _ratio(rounds), factor))
    return comparisons


def _ratio(rounds: Sequence[tuple[Trained, Trained]]) -> Interval:
    """Of later/first."""
    if len(rounds) >= FEWEST_FOR_INTERVAL:
        return paired_ratio([(later.seconds, first.seconds) for first, later in rounds])
    first, later = rounds[0]
    ratio = later.seconds / first.seconds
    if not first.parts or not later.parts:
        return Interval(ratio, 0.0, math.inf)
    interval = ratio_of_means(later.parts, first.parts)
    return replace(interval, ratio=ratio, low=min(interval.low, ratio), high=max(interval.high, ratio))


def _matched(
    first: Sequence[Sequence[Trained]], later: Sequence[Sequence[Trained]]
) -> list[list[tuple[Trained, Trained]]]:
    """The trainings of each run in their order; where their numbers differ anywhere, the longest alone."""
    if len({len(trainings) for trainings in (*first, *later)}) > 1:
        first, later = ([[_longest(trainings)] for trainings in runs] for runs in (first, later))
    return [list(zip(before, after, strict=True)) for before, after in zip(first, later, strict=True)]


def _longest(trainings: Sequence[Trained]) -> Trained:
    return max(trainings, key=lambda trained: trained.wall)


def _trainings(path: Path) -> list[Trained]:
    """The trainings of a report, in the order in which they began."""
    try:
        data = json.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise NotComparable(f"{path}: cannot be read: {error.strerror or error}") from error
    except ValueError as error:
        raise NotComparable(f"{path}: not a JSON report: write one with `run --output-format json`") from error
    if isinstance(data, dict) and data.get("kind") == "run" and "trainings" not in data:
        raise NotComparable(f"{path}: {_another_version(data)}")
    if not isinstance(data, dict) or data.get("kind") != "run" or not isinstance(data.get("trainings"), list):
        raise NotComparable(f"{path}: not a report of `run`: write one with `run --output-format json`")
    if not data["trainings"]:
        raise NotComparable(f"{path}: it contains no training: training needs {2 * WARM_UP} steps or more")
    try:
        ordered = sorted(data["trainings"], key=lambda training: float(training["began"]))
        return [_trained(training, data.get("memory") or {}) for training in ordered]
    except (KeyError, TypeError, ZeroDivisionError) as error:
        raise NotComparable(f"{path}: {_another_version(data)}") from error


def _another_version(data: dict[str, Any]) -> str:
    return f"written by another version of tflint-gpu ({data.get('version')}): run it again"


def _trained(data: dict[str, Any], memory: dict[str, Any]) -> Trained:
    name = f"{Path(data['filename']).name}:{data['row']}"
    blocks = data["blocks"]
    width = max(1, len(blocks) // _PARTS)
    joined = [blocks[at : at + width] for at in range(0, len(blocks) - width + 1, width)]
    parts = tuple(sum(block["seconds"] for block in part) / sum(block["steps"] for block in part) for part in joined)
    return Trained(
        f"`fit` at {name}" if data["kind"] == "fit" else name,
        sum(block["seconds"] for block in blocks) / sum(block["steps"] for block in blocks),
        data["step_seconds"]["p50"],
        data["step_seconds"]["p99"],
        data["idle"] / data["seconds"],
        parts if len(blocks) >= _PARTS else (),
        data["seconds"],
        memory.get("most_used") or memory.get("held"),
    )
