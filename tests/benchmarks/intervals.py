"""How often do the intervals of `verify` hold the true factor, and how often are its verdicts right?

    python tests/benchmarks/intervals.py [--repeat 2000] [--samples FILE [--programs 400]] [--seed 1]

Simulated: the time of each run of either program gets noise on its logarithm; the programs take turns as in `verify`
(before after, after before). First the intervals: the share that holds the true factor, for each number of rounds that
was fixed, and for all looks together of somebody who goes on until the verdict is there. The true factor is the median
of what a round gives. Then the verdicts, over noise that `verdicts.py --known 1 --samples FILE` has measured on a real
machine: each round gets the blocks of a measured one, the flagged program's times a known factor.
"""

from __future__ import annotations

import argparse
import json
import math
import random
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path

from tflint_gpu.diagnostics import Prediction
from tflint_gpu.ratios import Interval, Ratio, fixed_interval, sequential_interval
from tflint_gpu.verify.statistics.outcomes import Round, Run
from tflint_gpu.verify.statistics.statistics import judge

FIXED = (3, 4, 5, 6, 7, 8, 9, 10, 12, 15, 20, 30, 40)
MOST_LOOKS = 40
SPREAD = 0.1

Noise = Callable[[random.Random, int], list[float]]


def normal(draw: random.Random, runs: int) -> list[float]:
    """What is added to the logarithms of the times of some runs, in their order."""
    return [draw.gauss(0, SPREAD) for _ in range(runs)]


def skewed(draw: random.Random, runs: int) -> list[float]:
    """Never faster, sometimes much slower."""
    return [draw.expovariate(1 / SPREAD) for _ in range(runs)]


def lognormal(draw: random.Random, runs: int) -> list[float]:
    """A heavier tail."""
    return [SPREAD * draw.lognormvariate(0, 1) for _ in range(runs)]


def drifting(draw: random.Random, runs: int) -> list[float]:
    """The machine becomes steadily slower or faster, by up to 20% from run to run."""
    slope = draw.uniform(-0.2, 0.2)
    return [slope * run + draw.gauss(0, SPREAD) for run in range(runs)]


def correlated(strength: float) -> Noise:
    """AR(1): a run is like the one before it."""

    def noise(draw: random.Random, runs: int) -> list[float]:
        found = [draw.gauss(0, SPREAD)]
        for _ in range(runs - 1):
            found.append(strength * found[-1] + math.sqrt(1 - strength**2) * draw.gauss(0, SPREAD))
        return found

    return noise


def with_outliers(draw: random.Random, runs: int) -> list[float]:
    """One run in twenty takes up to many times as long."""
    return [draw.gauss(0, SPREAD) + (draw.random() < 0.05) * draw.expovariate(0.5) for _ in range(runs)]


INDEPENDENT = ("normal", "skewed", "lognormal", "outliers")
NOISES: dict[str, Noise] = {
    "normal": normal,
    "skewed": skewed,
    "lognormal": lognormal,
    "drifting": drifting,
    "AR(1) 0.5": correlated(0.5),
    "AR(1) 0.8": correlated(0.8),
    "AR(1) 0.95": correlated(0.95),
    "outliers": with_outliers,
}


def rounds(
    draw: random.Random, noise: Noise, count: int, louder: float = 1.0, weights: Sequence[int] = (3,)
) -> list[Ratio]:
    """Rounds of a program against itself.

    Arguments:
        louder: how many times the noise the flagged program has.
        weights: of which each round has one.
    """
    runs = noise(draw, 2 * count)
    found = []
    for number in range(count):
        first, second = runs[2 * number : 2 * number + 2]
        before, after = (first, second) if number % 2 == 0 else (second, first)
        found.append(Ratio(louder * before - after, draw.choice(weights)))
    return found


def truth(noise: Noise, louder: float) -> float:
    """The median of a round's logarithm: 0 where both programs have the same noise."""
    if louder == 1:
        return 0.0
    draw = random.Random(0)
    found = sorted(one.logarithm for one in rounds(draw, noise, 200_001, louder))
    return found[len(found) // 2]


def holds(interval: Interval, value: float) -> bool:
    """Whether the logarithm of the true factor lies in an interval."""
    low = -math.inf if interval.low == 0 else math.log(interval.low)
    return low - 1e-9 <= value <= math.log(interval.high) + 1e-9


def coverage(
    noise: Noise, count: int, repeat: int, seed: int = 1, louder: float = 1.0, weights: Sequence[int] = (3,)
) -> float:
    """The share of intervals of a fixed number of rounds that hold the true factor."""
    draw, value = random.Random(seed), truth(noise, louder)
    made = (fixed_interval(rounds(draw, noise, count, louder, weights)) for _ in range(repeat))
    return sum(holds(interval, value) for interval in made) / repeat


def coverage_of_looks(
    noise: Noise, repeat: int, seed: int = 1, louder: float = 1.0, weights: Sequence[int] = (3,)
) -> float:
    """The share of sequences of rounds in which the interval holds the true factor after each of some rounds.

    The bounds of an interval are the narrowest of all looks until then, so a few looks tell of all.
    """
    draw, value = random.Random(seed), truth(noise, louder)
    held = 0
    for _ in range(repeat):
        found = rounds(draw, noise, MOST_LOOKS, louder, weights)
        held += all(holds(sequential_interval(found[:count]), value) for count in (5, 11, MOST_LOOKS))
    return held / repeat


def recorded(path: Path) -> list[tuple[list[float], list[float]]]:
    """The blocks of each measured round of a program against itself."""
    lines = [json.loads(line) for line in path.read_text("utf-8").splitlines()]
    pairs = [pair for line in lines if line["title"].startswith("1 ") for pair in zip(line["before"], line["after"])]  # noqa: B905
    return [(before, after) for before, after in pairs if before and after]


def verdict(
    draw: random.Random, known: Sequence[tuple[list[float], list[float]]], factor: float, kind: str, most: int
) -> tuple[str, int]:
    """What `verify` says of two programs after at most so many rounds, and after how many."""
    found: list[Round] = []
    for _ in range(most):
        before, after = draw.choice(known)
        before, after = (before, after) if draw.random() < 0.5 else (after, before)
        blocks = tuple(factor * block for block in before)
        found.append(Round(Run(seconds=1.0, blocks=blocks), Run(seconds=1.0, blocks=tuple(after))))
        said = judge(Prediction(kind), found, until_decided=True).verdict  # type: ignore[arg-type]
        if said != "inconclusive":
            return said, len(found)
    return "inconclusive", most


def main() -> None:
    """Print both tables."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--repeat", type=int, default=2000)
    parser.add_argument("--programs", type=int, default=400)
    parser.add_argument("--samples", type=Path, metavar="FILE")
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    print(
        f"share of {options.repeat} intervals that hold the true factor, by the number of rounds; seed {options.seed}"
    )
    print(f"{'noise':24}" + "".join(f"{count:>7}" for count in FIXED) + "  all looks")
    kinds: list[tuple[str, Noise, float, Sequence[int]]] = [(name, one, 1.0, (3,)) for name, one in NOISES.items()]
    kinds += [(f"{name}, one 3x louder", NOISES[name], 3.0, (3,)) for name in INDEPENDENT]
    kinds += [("normal, weights 1 to 3", normal, 1.0, (1, 2, 3))]
    for title, noise, louder, weights in kinds:
        shares = [coverage(noise, count, options.repeat, options.seed, louder, weights) for count in FIXED]
        looks = coverage_of_looks(noise, options.repeat, options.seed, louder, weights)
        print(f"{title:24}" + "".join(f"{share:7.3f}" for share in shares) + f"{looks:11.3f}", flush=True)
    if options.samples is None:
        return
    known = recorded(options.samples)
    print(f"\nverdicts over the noise of {len(known)} measured rounds, {options.programs} simulated programs each")
    for factor, kind in (
        (1.5, "slowdown"),
        (1.2, "slowdown"),
        (1.1, "slowdown"),
        (1.05, "slowdown"),
        (1.04, "slowdown"),
        (1.0, "slowdown"),
        (1.0, "no-effect"),
    ):
        for most in (7, 13, 40):
            draw = random.Random(options.seed)
            found = [verdict(draw, known, factor, kind, most) for _ in range(options.programs)]
            said, taken = Counter(name for name, _ in found), sum(count for _, count in found) / len(found)
            shares = ", ".join(f"{name} {count / options.programs:.1%}" for name, count in said.most_common())
            print(f"factor {factor}, {kind}, at most {most:2} rounds: {shares}; {taken:.1f} rounds", flush=True)


if __name__ == "__main__":
    main()
