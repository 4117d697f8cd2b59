"""What the flake8 plugin adds to flake8 on files that mention neither TensorFlow nor Keras.

    python tests/benchmarks/flake8_overhead.py [--repeat N] [--files N]

flake8 runs in fresh processes, in turn with the plugin and without (its entry point hidden, so that flake8 does not even
read its metadata). Each process times itself, from after the import of flake8 to the end of the run: finding and
importing plugins, options, and the check. The result is the median of the differences between neighbours: for one file,
which is mostly the start, and for each further file.
"""

from __future__ import annotations

import argparse
import os
import platform
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

import flake8

__all__: list[str] = []

_TEXT = '''"""Nothing about neural networks."""

import json
import pathlib


def read(path):
    """Read a file."""
    return json.loads(pathlib.Path(path).read_text())


print(read("a.json"))
'''
_PROGRAM = """
import importlib.metadata, sys, time
from flake8.main.application import Application
if sys.argv[1] == "without":
    everything = importlib.metadata.distributions
    def distributions(**options):
        return (one for one in everything(**options) if not one._path.name.startswith("tflint_gpu"))
    importlib.metadata.distributions = distributions
wall, cpu = time.perf_counter(), time.process_time()
Application().run(["-j1", "--isolated", *sys.argv[2:]])
wall, cpu = time.perf_counter() - wall, time.process_time() - cpu
assert ("tflint_gpu.integrations.flake8" in sys.modules) == (sys.argv[1] == "with")
assert not any(name.split(".")[0] == "libcst" for name in sys.modules)
print(wall * 1000, cpu * 1000)
"""


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--repeat", type=int, default=61)
    parser.add_argument("--files", type=int, default=200, help="how many files the long run has")
    arguments = parser.parse_args()
    print(f"{platform.machine()}, Python {platform.python_version()}, flake8 {flake8.__version__}")
    with tempfile.TemporaryDirectory() as folder:
        for number in range(arguments.files):
            (Path(folder) / f"m{number}.py").write_text(_TEXT)
        one = _differences([f"{folder}/m0.py"], arguments.repeat)
        all_files = _differences([folder], max(arguments.repeat // 6, 5))
    for title, wall, cpu, count in (
        ("one file", one[0], one[1], 1),
        (f"each of {arguments.files} files", all_files[0], all_files[1], arguments.files),
    ):
        print(f"{title:20} adds {_shown(wall, count)} ms, {_shown(cpu, count)} ms CPU")


def _differences(paths: list[str], repeat: int) -> tuple[list[float], list[float]]:
    """With the plugin minus without, in milliseconds, wall and CPU time, for each turn."""
    walls, cpus = [], []
    for turn in range(repeat + 1):
        kinds = ["with", "without"] if turn % 2 else ["without", "with"]
        results = {kind: _timed(kind, paths) for kind in kinds}
        if turn:  # the first turn warms the disk
            walls.append(results["with"][0] - results["without"][0])
            cpus.append(results["with"][1] - results["without"][1])
    return walls, cpus


def _timed(kind: str, paths: list[str]) -> tuple[float, float]:
    command = [sys.executable, "-c", _PROGRAM, kind, *paths]
    # With compiled modules, as pip leaves them.
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    folder = tempfile.gettempdir()
    done = subprocess.run(command, cwd=folder, env=environment, check=True, capture_output=True, text=True)
    wall, cpu = done.stdout.split()
    return float(wall), float(cpu)


def _shown(differences: list[float], count: int) -> str:
    quarters = statistics.quantiles([one / count for one in differences], n=4)
    return f"{quarters[1]:.2f} (quartiles {quarters[0]:.2f} to {quarters[2]:.2f})"


if __name__ == "__main__":
    main()
