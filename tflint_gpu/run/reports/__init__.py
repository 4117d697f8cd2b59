"""How a run is shown: one module a format, each with a function `render`."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from dataclasses import dataclass

from tflint_gpu.doctor.opinion import Opinion
from tflint_gpu.drawing.plots import MissingLibrary, require_matplotlib
from tflint_gpu.gpu.cards import Gpu
from tflint_gpu.reports import View
from tflint_gpu.run.costs import Cost
from tflint_gpu.run.datasets import Dataset
from tflint_gpu.run.ledger import Ledger

__all__ = ["FORMATS", "MissingLibrary", "Render", "Report", "renderer"]

FORMATS = ("full", "json", "html")


@dataclass(frozen=True, slots=True)
class Report:
    """All that is known of a run.

    Arguments:
        program: as it was typed, without the tool's own options.
        seconds: from its start to its end.
        code: its exit code; -N: signal N ended it; None: it runs still.
        gpu: the card that was watched.
        note: why none was, or what could not be seen of it.
        costs: the findings, the dearest first.
        datasets: of the files that ran.
        unused: why TensorFlow used no GPU; None where it used one, or did not start.
        end: how it ended, in words, where it was no process.
        processes: how many were seen: the program, and those that it started.
    """

    program: str
    seconds: float
    code: int | None
    ledger: Ledger
    gpu: Gpu | None = None
    note: str = ""
    costs: tuple[Cost, ...] = ()
    datasets: tuple[Dataset, ...] = ()
    unused: Opinion | None = None
    end: str = ""
    processes: int = 1
    command: str = ""
    date: str = ""

    @property
    def knows_use(self) -> bool:
        """Whether a card told how much it was used."""
        return self.ledger.watched > 0

    @property
    def seen(self) -> float:
        """Seconds of the run that were sampled."""
        return sum(spent.seconds for spent in self.ledger.entries.values())

    def share(self, seconds: float) -> float:
        """The part of the run that these seconds are."""
        return min(1.0, seconds / self.seconds) if self.seconds > 0 else 0.0


Render = Callable[[Report, View], str]


def renderer(output_format: str) -> Render:
    """The function of a format, which is imported now.

    Raises:
        MissingLibrary: the format draws plots, and matplotlib is not installed.
    """
    if output_format == "html":
        require_matplotlib()
    render: Render = importlib.import_module(f"{__name__}.{output_format}").render
    return render
