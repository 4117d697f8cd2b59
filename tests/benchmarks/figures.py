"""The lines of a table of measurements, each with its goal, and a file that keeps them from one run to the next."""

from __future__ import annotations

import json
import os
from dataclasses import asdict, dataclass
from datetime import date
from pathlib import Path

from tflint_gpu.text.replacement import replace_file

__all__ = ["Figure", "Kept"]


@dataclass(frozen=True)
class Figure:
    """One line of the table."""

    what: str
    value: float
    goal: float
    at_least: bool = False
    unit: str = ""
    note: str = ""

    def __str__(self) -> str:
        value = f"{self.value:.0f}" if self.value >= 1000 else f"{self.value:.3g}"
        met = self.value >= self.goal if self.at_least else self.value <= self.goal
        goal = f"{'at least' if self.at_least else 'at most'} {self.goal:g}{self.unit}"
        return f"| {self.what} | {value}{self.unit} | {goal} | {'met' if met else 'missed'} | {self.note} |"


@dataclass(frozen=True)
class Kept:
    """What earlier runs printed, by part.

    Arguments:
        file: JSON; it need not exist. None: nothing is kept.
    """

    file: Path | None

    def known(self) -> dict[str, dict[str, object]]:
        """The parts that were measured: when, at which load, and the lines of their figures."""
        if self.file is None or not self.file.exists():
            return {}
        found: dict[str, dict[str, object]] = json.loads(self.file.read_text("utf-8"))
        return found

    def add(self, part: str, files: str, figures: list[Figure]) -> None:
        """Write a part that is done in the place of what was known of it."""
        if self.file is None:
            return
        load = round(os.getloadavg()[0], 1) if hasattr(os, "getloadavg") else None
        done = {
            "date": date.today().isoformat(),
            "load": load,
            "files": files,
            "figures": [asdict(one) for one in figures],
        }
        replace_file(self.file, json.dumps({**self.known(), part: done}, indent=1).encode())

    def lines(self, part: str) -> list[str]:
        """The lines of the table for a part that is not measured now, if it was before."""
        match self.known().get(part):
            case {"figures": list(figures)}:
                return [str(Figure(**one)) for one in figures]
        return []
