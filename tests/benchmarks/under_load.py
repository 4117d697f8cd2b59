"""Whether tests pass on a machine that is busy with other work: no test may depend on how fast it runs.

    python tests/benchmarks/under_load.py [--times 10] [--workers N] [-- PYTEST ARGUMENTS]

N processes (by default twice as many as there are cores) compute without end while the tests run, so many times one
after the other. Each run's outcome is printed as it ends, with the load; the exit code is 1 if any failed.
"""

from __future__ import annotations

import argparse
import os
import platform
import signal
import subprocess
import sys
import tempfile
import time
from datetime import date
from pathlib import Path

ROOT = Path(__file__).parents[2]
_BUSY = "while True: pass"
_NONE_FOUND = 5


def main() -> None:
    """Keep the cores busy, run and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--times", type=int, default=10)
    parser.add_argument("--workers", type=int, default=2 * (os.cpu_count() or 1))
    parser.add_argument("pytest", nargs="*", help="what pytest gets, behind `--`; by default all tests")
    arguments = parser.parse_args()
    command = [sys.executable, "-m", "pytest", "-q", *arguments.pytest]
    print(f"Python {platform.python_version()}, {os.cpu_count()} cores, {arguments.workers} workers, {date.today()}")
    print(f"pytest {' '.join(command[3:])}", flush=True)
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))  # so that what is busy is ended
    busy = [subprocess.Popen([sys.executable, "-S", "-c", _BUSY]) for _ in range(arguments.workers)]
    failed = 0
    try:
        for turn in range(1, arguments.times + 1):
            began = time.monotonic()
            done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
            failed += done.returncode != 0
            lines = [line for line in done.stdout.splitlines() if line.startswith(("FAILED", "ERROR"))]
            passed = done.returncode == 0
            if not passed:
                lines.append(_kept(done.stdout + done.stderr))
            load = os.getloadavg()[0] if hasattr(os, "getloadavg") else float("nan")
            print(
                f"{turn}: {'passed' if passed else 'failed'}, {time.monotonic() - began:.0f} s, load {load:.1f}",
                *lines,
                sep="\n  ",
                flush=True,
            )
            if done.returncode == _NONE_FOUND:
                break
    finally:
        for one in busy:
            one.kill()
            one.wait()
    print(f"{failed} of {arguments.times} failed")
    sys.exit(min(failed, 1))


def _kept(output: str) -> str:
    """The name of a file that holds what a run printed."""
    with tempfile.NamedTemporaryFile("w", prefix="under_load_", suffix=".txt", delete=False) as file:
        file.write(output)
    return file.name


if __name__ == "__main__":
    main()
