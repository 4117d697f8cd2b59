"""What the machine is and how busy, as far as a time that was measured on it depends on it."""

from __future__ import annotations

import os
import platform
from pathlib import Path

from tflint_gpu.lazy_dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Host:
    """The machine besides the card.

    Arguments:
        cpu: the model's name.
        cores: those that programs may use.
        memory: bytes, of the machine; None where it is not known.
        load: runnable processes, the mean of the last minute, when the run began and when it ended; empty where the
            system has no such mean.
    """

    cpu: str
    cores: int
    memory: int | None = None
    load: tuple[float, ...] = ()


def describe(load_before: float | None = None) -> Host:
    """The machine as it is now.

    Arguments:
        load_before: what `load` gave before the run.
    """
    known = tuple(reading for reading in (load_before, load()) if reading is not None)
    return Host(_model(), cores(), _memory(), known)


def cores() -> int:
    """Those that programs may use."""
    affinity = os.sched_getaffinity(0) if hasattr(os, "sched_getaffinity") else ()
    return len(affinity) or os.cpu_count() or 1


def load() -> float | None:
    """The mean number of runnable processes of the last minute; None on Windows."""
    return os.getloadavg()[0] if hasattr(os, "getloadavg") else None


def _model() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        lines = []
    named = (line.partition(":")[2].strip() for line in lines if line.startswith("model name"))
    return next(named, "") or platform.processor() or platform.machine()


def _memory() -> int | None:
    try:
        return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    except (AttributeError, ValueError, OSError):
        return None
