"""Does `verify` say the same again? Repeats some verdicts and counts them.

    python tests/benchmarks/verdicts.py [--repeat 20] [--runs 3] [--only TFG207]

Each line is a finding of a fixture, on the CPU with the installed TensorFlow: how often which verdict, and the
smallest, median and largest of the factors that were measured.
"""

from __future__ import annotations

import argparse
import platform
import statistics
import subprocess
import sys
from collections import Counter, defaultdict
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from verified import cases_of, verified

FIXTURES = Path(__file__).resolve().parents[2] / "fixtures"
CHOSEN = {
    "no_faster/sine_layer.py": ("TFG101", ""),
    "validation_only/online_fit.py": ("TFG201", ""),
    "validation_only/eager_step.py": ("TFG202", ""),
    "idle_in_validation/eager_eval_loop.py": ("TFG207", ""),
    "no_faster/slow_reading.py": ("TFG302", "with tf.data's default optimizations off"),
    "not_used/with_device.py": ("TFG501", ""),
}


def main() -> None:
    """Repeat and print the table."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--repeat", type=int, default=20)
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--only", metavar="CODE")
    options = parser.parse_args()
    chosen = {name: kind for name, kind in CHOSEN.items() if options.only in (None, kind[0])}
    tensorflow = subprocess.run(
        [sys.executable, "-c", "import importlib.metadata as m; print(m.version('tensorflow-cpu'))"],
        capture_output=True,
        text=True,
    ).stdout.strip()
    print(f"{platform.machine()}, Python {platform.python_version()}, TensorFlow {tensorflow}")
    print(f"{options.repeat} repetitions of {options.runs} rounds each")
    verdicts: dict[str, Counter[str]] = defaultdict(Counter)
    factors: dict[str, list[float]] = defaultdict(list)
    for _ in range(options.repeat):
        for name, (code, variant) in chosen.items():
            case = next(c for c in cases_of(FIXTURES / name) if (c.diagnostic.code, c.variant) == (code, variant))
            result = verified(case, runs=options.runs)
            title = f"{name} {code}{f' ({variant})' if variant else ''}"
            verdicts[title][result.verdict.verdict] += 1
            if result.verdict.ratio is not None:
                factors[title].append(result.verdict.ratio)
    for title, counts in verdicts.items():
        known = sorted(factors[title])
        spread = f", factor {known[0]:.3g} / {statistics.median(known):.3g} / {known[-1]:.3g}" if known else ""
        print(f"{title}: {', '.join(f'{n} x {name}' for name, n in counts.most_common())}{spread}")


if __name__ == "__main__":
    main()
