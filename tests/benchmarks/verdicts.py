"""Does `verify` say the same again, and is it right?

    python tests/benchmarks/verdicts.py [--repeat 20] [--only TFG207] [--runs 3]
    python tests/benchmarks/verdicts.py --known 1.5 1.2 1 [--repeat 20] [--seconds 60] [--samples FILE]
    python tests/benchmarks/verdicts.py --told FILE

Without `--known` each line is a finding of a fixture, on the CPU with the installed TensorFlow: how often which verdict,
and the smallest, median and largest of the factors that were measured. With it the programs do a piece of work n and m
times a step, so that the true factor is n / m; 1 is a program against itself. `--samples` writes what the rounds
measured, for `intervals.py`, one JSON object a line; `--told` counts the verdicts in such a file and measures nothing.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import statistics
import subprocess
import sys
import time
from collections import Counter, defaultdict
from collections.abc import Iterator
from fractions import Fraction
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from verified import cases_of, verified

from tflint_gpu.diagnostics import Diagnostic, Location, Prediction
from tflint_gpu.rule.experiment import Experiment, Workload
from tflint_gpu.verify.experiments.verification import Case, Verification
from tflint_gpu.verify.slicing.extract import workload_pair

FIXTURES = Path(__file__).resolve().parents[2] / "fixtures"
CHOSEN = {
    "no_faster/sine_layer.py": ("TFG101", ""),
    "validation_only/online_fit.py": ("TFG201", ""),
    "validation_only/eager_step.py": ("TFG202", ""),
    "idle_in_validation/eager_eval_loop.py": ("TFG207", ""),
    "no_faster/slow_reading.py": ("TFG302", "with tf.data's default optimizations off"),
    "not_used/with_device.py": ("TFG501", ""),
}
PIECE = """
    import tensorflow as tf

    x = tf.random.normal((64, 32))
    weights = [tf.Variable(tf.random.normal((32, 32))) for _ in range(4)]

    def piece():
        with tf.GradientTape() as tape:
            y = x
            for weight in weights:
                y = tf.nn.relu(y @ weight)
            loss = tf.reduce_sum(y)
        tape.gradient(loss, weights)

    for _ in tflint_measure.steps(range(8)):
        for _ in range(TIMES):
            piece()
"""


def known(factor: str, kind: str) -> Case:
    """Two programs of which one takes a known factor of the time of the other; their text differs by a comment."""
    ratio = Fraction(factor).limit_denominator(20)
    many, few = (5 * ratio.numerator, 5 * ratio.denominator) if ratio == 1 else (ratio.numerator, ratio.denominator)
    changes = ((f"range({many}):", f"range({few}):  # repaired"),)
    workload = Workload(PIECE.replace("TIMES", str(many)), changes)
    experiment = Experiment(None, None, workload=workload)  # type: ignore[arg-type]
    place = Location(1, 1)
    prediction = Prediction(kind)  # type: ignore[arg-type]
    diagnostic = Diagnostic("TFG000", "known", "", "known.py", place, place, 1, "warning", prediction)
    return Case(diagnostic, prediction, experiment, pair=workload_pair(experiment))


def cases(options: argparse.Namespace) -> dict[str, Case]:
    """What is to be repeated, by its title."""
    if options.known:
        kinds = {factor: ("slowdown", "no-effect") if float(factor) == 1 else ("slowdown",) for factor in options.known}
        return {f"{factor} {kind}": known(factor, kind) for factor in options.known for kind in kinds[factor]}
    found = {}
    for name, (code, variant) in CHOSEN.items():
        if options.only in (None, code):
            case = next(c for c in cases_of(FIXTURES / name) if (c.diagnostic.code, c.variant) == (code, variant))
            found[f"{name} {code}{f' ({variant})' if variant else ''}"] = case
    return found


def measured(options: argparse.Namespace) -> Iterator[tuple[str, Verification]]:
    """Every repetition, one after the other."""
    chosen = cases(options)
    for _ in range(options.repeat):
        for title, case in chosen.items():
            began = time.monotonic()
            result = verified(case, runs=options.runs, seconds=options.seconds)
            line = {"title": title, "verdict": result.verdict.verdict, "seconds": time.monotonic() - began}
            line |= {"load": os.getloadavg()[0], "before": [sample.run.blocks for sample in result.before]}
            line |= {"after": [sample.run.blocks for sample in result.after]}
            if options.samples is not None:
                with options.samples.open("a") as file:
                    file.write(json.dumps(line) + "\n")
            yield title, result


def tell(path: Path) -> None:
    """Print how often which verdict stands in a file of samples, after how many seconds, and at which load."""
    lines = [json.loads(line) for line in path.read_text("utf-8").splitlines()]
    for title in dict.fromkeys(line["title"] for line in lines):
        own = [line for line in lines if line["title"] == title]
        counts = Counter(line["verdict"] for line in own)
        said = ", ".join(f"{n} x {name}" for name, n in counts.most_common())
        seconds, load = (statistics.median(line[name] for line in own) for name in ("seconds", "load"))
        print(f"{title}: {said}; median {seconds:.0f} s, load {load:.1f}")


def main() -> None:
    """Repeat and print the table."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--repeat", type=int, default=20)
    parser.add_argument("--runs", type=int, help="rounds of each; without it as many as a verdict needs")
    parser.add_argument("--seconds", type=float, default=60.0, help="for each")
    parser.add_argument("--only", metavar="CODE")
    parser.add_argument("--known", nargs="+", metavar="FACTOR")
    parser.add_argument("--samples", type=Path, metavar="FILE")
    parser.add_argument("--told", type=Path, metavar="FILE")
    options = parser.parse_args()
    if options.told is not None:
        tell(options.told)
        return
    tensorflow = subprocess.run(
        [sys.executable, "-c", "import importlib.metadata as m; print(m.version('tensorflow-cpu'))"],
        capture_output=True,
        text=True,
    ).stdout.strip()
    print(f"{platform.machine()}, {os.cpu_count()} cores, Python {platform.python_version()}, TensorFlow {tensorflow}")
    rounds = "as many rounds as it takes" if options.runs is None else f"{options.runs} rounds"
    print(f"{options.repeat} repetitions of {rounds}, {options.seconds:.0f} s at most")
    verdicts: dict[str, Counter[str]] = defaultdict(Counter)
    factors: dict[str, list[float]] = defaultdict(list)
    loads = []
    for title, result in measured(options):
        loads.append(os.getloadavg()[0])
        verdicts[title][result.verdict.verdict] += 1
        if result.verdict.ratio is not None:
            factors[title].append(result.verdict.ratio)
    for title, counts in verdicts.items():
        seen = sorted(factors[title])
        spread = f", factor {seen[0]:.3g} / {statistics.median(seen):.3g} / {seen[-1]:.3g}" if seen else ""
        print(f"{title}: {', '.join(f'{n} x {name}' for name, n in counts.most_common())}{spread}")
    print(f"load of the machine: {min(loads):.1f} / {statistics.median(loads):.1f} / {max(loads):.1f}")


if __name__ == "__main__":
    main()
