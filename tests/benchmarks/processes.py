"""Commands measured as whole processes: CPU and wall time, memory, and the time of each process that they start."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import median

__all__ = ["Cost", "cost", "medians", "seconds_so_far", "tflint"]

ROOT = Path(__file__).parents[2]
_SHIM = """
import os, sys, time
report = int(sys.argv[1])
os.set_inheritable(report, False)
pid = os.posix_spawnp(sys.argv[2], sys.argv[2:], os.environ)
os.write(report, b"%d\\n" % pid)
_, status, used = os.wait4(pid, 0)
numbers = status, used.ru_maxrss, used.ru_utime + used.ru_stime, time.perf_counter()
os.write(report, " ".join(map(str, numbers)).encode())
"""
"""Starts a command from a small process: Linux counts what the process used that starts another one as the other's."""


@dataclass(frozen=True)
class Cost:
    """What a command took.

    Arguments:
        cpu: seconds in user and system mode, with all that it started and waited for.
        wall: seconds from its start to its end.
        memory: bytes of the largest of its processes.
        longest: seconds of CPU of its first process, and of the busiest other one: no run on free cores is shorter.
        told: what it wrote to standard error.
        code: with which it ended.
    """

    cpu: float
    wall: float
    memory: int
    longest: float
    told: str = ""
    code: int = 0


def tflint(*arguments: str) -> list[str]:
    """The command of this checkout, as installed with compiled modules."""
    return [sys.executable, "-m", "tflint_gpu", *arguments]


def cost(command: Sequence[str], folder: Path | None = None, given: bytes = b"", watched: bool = False) -> Cost:
    """Run a command once.

    Arguments:
        given: standard input.
        watched: look at its processes meanwhile, for `Cost.longest`.

    Raises:
        OSError: the command cannot be started.
        RuntimeError: it ended by a signal or said that it failed (2 or more; linters say 1 for findings).
    """
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    environment["PYTHONPATH"] = os.pathsep.join(filter(None, (str(ROOT), environment.get("PYTHONPATH"))))
    told_to, report = os.pipe()
    shim = [sys.executable, "-I", "-S", "-c", _SHIM, str(report), *command]
    started = time.perf_counter()
    process = subprocess.Popen(
        shim,
        cwd=folder,
        env=environment,
        stdin=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        pass_fds=[report],
    )
    os.close(report)
    assert process.stdin is not None and process.stderr is not None
    with os.fdopen(told_to) as reported, process.stdin, process.stderr:
        pid = reported.readline()
        if pid:
            process.stdin.write(given)
        process.stdin.close()
        busiest = _watched(int(pid)) if watched and pid else 0.0
        told = process.stderr.read().decode(errors="replace")
        numbers = reported.read().split()
    process.wait()
    if not numbers:
        raise OSError(f"{command[0]} cannot be started: {told[-500:]}")
    status, memory, cpu, ended = int(numbers[0]), int(numbers[1]), float(numbers[2]), float(numbers[3])
    code = os.waitstatus_to_exitcode(status)
    if code not in (0, 1):
        raise RuntimeError(f"{command} gave {code}: {told[-500:]}")
    scale = 1 if sys.platform == "darwin" else 1024
    return Cost(cpu, ended - started, memory * scale, busiest, told, code)


def _watched(pid: int) -> float:
    """Watch a process and its children until it ends: its own CPU time, and the most of a child (Linux)."""
    seconds: dict[int, float] = {}
    while True:
        for watched in (pid, *_children(pid)):
            state, spent = _state(watched)
            if watched == pid and state in ("", "Z"):
                return seconds.pop(pid, 0.0) + max(seconds.values(), default=0.0)
            seconds[watched] = max(seconds.get(watched, 0.0), spent)
        time.sleep(0.02)


def _state(pid: int) -> tuple[str, float]:
    """The letter of a process's state, empty where it is gone, and its CPU seconds."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return "", 0.0
    return fields[0], (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def seconds_so_far(pid: int) -> float:
    """The CPU seconds of a process and of those that it started; 0 where the system does not tell (Linux does)."""
    return _state(pid)[1] + sum(map(seconds_so_far, _children(pid)))


def _children(pid: int) -> list[int]:
    try:
        return [int(one) for one in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]
    except OSError:
        return []


def medians(costs: dict[str, Callable[[], Cost]], repeat: int) -> dict[str, float]:
    """CPU seconds of some commands that take turns, after one turn that warms the disk."""
    found: dict[str, list[float]] = {name: [] for name in costs}
    for turn in range(repeat + 1):
        for name, measure in costs.items():
            seconds = measure().cpu
            if turn:
                found[name].append(seconds)
    return {name: median(seconds) for name, seconds in found.items()}
