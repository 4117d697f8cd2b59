"""Measures what the rules claim, and records it in rules/evidence.json and rules/EVIDENCE.md.

    python tests/benchmarks/evidence.py [CODE ...] [--python PATH ...] [--repeat N] [--results FOLDER]

`tests/benchmarks/evidence/` has a file for each rule that claims a figure. Each is run by every Python named, which
may have different versions of TensorFlow: its two variants once to warm up, then `--repeat` times in turn, each until
its result is there. What is recorded is the median of the ratios and its 95% interval. Results of other rules, and of
other versions of TensorFlow, stay, and so do those with a GPU beside those without. `--results` measures nothing: it
records what gpu_day.py kept of a card.
"""

from __future__ import annotations

import argparse
import datetime
import json
import os
import platform
import subprocess
import sys
import time
from collections.abc import Sequence
from importlib import metadata
from pathlib import Path
from statistics import median
from typing import Any

FOLDER = Path(__file__).parent / "evidence"
RULES = Path(__file__).parent.parent.parent / "rules"


def main() -> None:
    """Measure what is asked for, and write both files after each rule."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("codes", nargs="*", help="rules; all that have a file, if none is named")
    parser.add_argument("--python", action="append", type=Path, help="with TensorFlow; this one, if none is named")
    parser.add_argument("--repeat", type=int, default=7)
    parser.add_argument("--results", type=Path, help="of a card: tests/gpu_day/NAME")
    parser.add_argument("--measure", type=Path, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.measure is not None:
        print(json.dumps(_measured(arguments.measure, arguments.repeat)))
        return
    wanted = {code.upper() for code in arguments.codes}
    for path in sorted(FOLDER.glob("tfg*.py")):
        code = path.name.partition("_")[0].upper()
        if wanted and code not in wanted:
            continue
        if arguments.results is not None:
            _record_kept(code, arguments.results / f"evidence-{path.name}.json")
            continue
        for python in arguments.python or [Path(sys.executable)]:
            record(code, _run(python, path, arguments.repeat))


def _record_kept(code: str, path: Path) -> None:
    """Record what gpu_day.py kept of a workload, if it ran on the card; a folder has the name of its card."""
    found = json.loads(path.read_text("utf-8"))["found"] if path.exists() else {"fault": "not run"}
    if not found["fault"] and found["machine"].endswith("1 GPUs"):
        machine = found["machine"].replace("1 GPUs", path.parent.name.replace("-", " "))
        kept = ("tensorflow", "keras", "python", "date", "times", "facts")
        record(code, {**{name: found[name] for name in kept}, "machine": machine})


def _run(python: Path, path: Path, repeat: int) -> dict[str, Any]:
    command = [str(python), __file__, "--measure", str(path), "--repeat", str(repeat)]
    environment = {**os.environ, "TF_CPP_MIN_LOG_LEVEL": "3", "PYTHONPATH": str(FOLDER)}
    result = subprocess.run(command, env=environment, stdout=subprocess.PIPE, text=True, check=True)
    found: dict[str, Any] = json.loads(result.stdout.splitlines()[-1])
    return found


def _measured(path: Path, repeat: int) -> dict[str, Any]:
    """What one workload shows with this interpreter's TensorFlow: seconds of each variant and round, and facts."""
    import importlib

    import tensorflow as tf

    module = importlib.import_module(path.stem)
    times = {}
    for name, slow, fast in module.workloads() if hasattr(module, "workloads") else ():
        rounds: list[tuple[float, float]] = []
        for number in range(repeat + 1):
            seconds = []
            for run in (slow, fast):
                start = time.perf_counter()
                run()
                seconds.append(time.perf_counter() - start)
            if number:  # the first one warms up
                rounds.append((seconds[0], seconds[1]))
        times[name] = rounds
    return {
        "tensorflow": tf.__version__,
        "keras": metadata.version("keras"),
        "python": platform.python_version(),
        "machine": _machine(len(tf.config.list_physical_devices("GPU"))),
        "date": datetime.datetime.now(tz=datetime.timezone.utc).date().isoformat(),
        "times": times,
        "facts": dict(module.facts()) if hasattr(module, "facts") else {},
    }


def _machine(gpus: int) -> str:
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    return (
        f"{platform.machine()}, {cores} cores, {gpus} GPUs" if gpus else f"{platform.machine()}, {cores} cores, no GPU"
    )


def record(code: str, found: dict[str, Any], rules: Path = RULES) -> None:
    """Put a rule's result in the place of an earlier one of its kind, and write both files.

    Arguments:
        found: what a run printed; `times` in seconds.
        rules: the folder of the two files.
    """
    from tflint_gpu.ratios import paired_ratio

    path = rules / "evidence.json"
    known: dict[str, list[dict[str, Any]]] = json.loads(path.read_text("utf-8")) if path.exists() else {}
    figures = []
    for name, rounds in found.pop("times").items():
        interval = paired_ratio([(slow, fast) for slow, fast in rounds])
        figures.append(
            {
                "what": name,
                "slow_ms": round(1000 * median(slow for slow, _ in rounds), 2),
                "fast_ms": round(1000 * median(fast for _, fast in rounds), 2),
                "ratio": round(interval.ratio, 3),
                "low": round(interval.low, 3),
                "high": round(interval.high, 3),
                "rounds": len(rounds),
            }
        )
    others = [result for result in known.get(code, ()) if _kind(result) != _kind(found)]
    newest_first = sorted([*others, {**found, "figures": figures}], key=_kind, reverse=True)
    known = dict(sorted({**known, code: newest_first}.items()))
    path.write_text(json.dumps(known, indent=1) + "\n", encoding="utf-8")
    (rules / "EVIDENCE.md").write_text(_table(known, rules), encoding="utf-8")


def _kind(result: dict[str, Any]) -> tuple[tuple[int, ...], bool]:
    """The version of TensorFlow, and whether there was no GPU."""
    version = tuple(int(part) for part in result["tensorflow"].split(".") if part.isdigit())
    return version, result["machine"].endswith("no GPU")


def _table(known: dict[str, list[dict[str, Any]]], rules: Path) -> str:
    lines = [
        "# The evidence for the rules' figures",
        "",
        "Written by `python tests/benchmarks/evidence.py`. Each row has the medians of alternating runs of the flagged and the",
        "fixed code, and the 95% interval of the ratio. The workloads are in `tests/benchmarks/evidence/`.",
        "",
        "| rule | what | TensorFlow | Keras | flagged, ms | fixed, ms | ratio | interval | machine | date |",
        "|---|---|---|---|---|---|---|---|---|---|",
    ]
    facts = ["", "| rule | what was seen | | TensorFlow | Keras | date |", "|---|---|---|---|---|---|"]
    for code, results in known.items():
        for one in results:
            versions = f"{one['tensorflow']} | {one['keras']}"
            lines += [
                f"| {code} | {f['what']} | {versions} | {f['slow_ms']} | {f['fast_ms']} | {f['ratio']:.2f} "
                f"| {f['low']:.2f} to {f['high']:.2f} | {one['machine']} | {one['date']} |"
                for f in one["figures"]
            ]
            facts += [
                f"| {code} | {what} | {seen} | {versions} | {one['date']} |" for what, seen in one["facts"].items()
            ]
    notes = rules / "EVIDENCE_OPEN.md"
    rest: Sequence[str] = ["", notes.read_text("utf-8").rstrip()] if notes.exists() else []
    return "\n".join([*lines, *(facts if len(facts) > 3 else ()), *rest]) + "\n"


if __name__ == "__main__":
    main()
