"""What is known of a run, for the reports on it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Protocol

from tflint_gpu.gpu.cards import Gpu
from tflint_gpu.lazy_dataclasses import dataclass
from tflint_gpu.price import Price
from tflint_gpu.run.charges import Doing, Spent
from tflint_gpu.run.costs import Cost
from tflint_gpu.run.datasets import Dataset
from tflint_gpu.run.ledger import Ledger
from tflint_gpu.run.steps import Training
from tflint_gpu.run.trace import Trace


class Reason(Protocol):
    """One thing that keeps TensorFlow from the GPU, as `doctor` diagnoses it."""

    @property
    def code(self) -> str: ...  # noqa: D102
    @property
    def name(self) -> str: ...  # noqa: D102
    @property
    def severity(self) -> str: ...  # noqa: D102
    @property
    def seen(self) -> str: ...  # noqa: D102


class NoGpu(Protocol):
    """Why TensorFlow used no GPU: as much as is shown of what `doctor` says of the machine."""

    @property
    def diagnoses(self) -> Sequence[Reason]: ...  # noqa: D102
    @property
    def next_step(self) -> str: ...  # noqa: D102
    @property
    def sentence(self) -> str: ...  # noqa: D102


@dataclass(frozen=True, slots=True)
class Report:
    """All that is known of a run.

    Arguments:
        program: as it was typed, without the tool's own options.
        seconds: from its start to its end.
        code: its exit code; -N: signal N ended it; None: it runs still.
        gpu: the card that was watched.
        note: why none was, or what could not be seen of it.
        costs: the findings that cost anything that was seen, the most expensive first.
        findings: how many predict a slowdown, those that cost nothing among them.
        datasets: of the files that ran.
        trace: TensorFlow's profile of some steps, where it was asked for.
        unused: why TensorFlow used no GPU; None where it used one, or did not start.
        end: how it ended, in words, where it was not started here.
        pid: the process, where one was watched that ran already.
        price: of an hour of the machine with its GPUs.
        started: when, on the clock of files; None: not known.
        processes: how many were seen: the program, and those that it started.
    """

    program: str
    seconds: float
    code: int | None
    ledger: Ledger
    gpu: Gpu | None = None
    note: str = ""
    costs: tuple[Cost, ...] = ()
    findings: int = 0
    datasets: tuple[Dataset, ...] = ()
    trace: Trace | None = None
    unused: NoGpu | None = None
    end: str = ""
    pid: int | None = None
    processes: int = 1
    command: str = ""
    price: Price | None = None
    started: float | None = None
    date: str = ""

    @property
    def knows_use(self) -> bool:
        """Whether a card reported how much it was used."""
        return self.ledger.watched > 0

    @property
    def seen(self) -> float:
        """Seconds of the run that were sampled."""
        return sum(spent.seconds for spent in self.ledger.entries.values())

    @property
    def training(self) -> Training | None:
        """The training that all shares are of; None where none was under way: then they are of the run."""
        return self.ledger.trainings.main()

    @property
    def entries(self) -> Mapping[Doing, Spent]:
        """What the main thread did, of the training or of the run."""
        return self.ledger.entries if self.training is None else self.training.spent

    @property
    def whole(self) -> float:
        """The seconds that all shares are of."""
        return self.seconds if self.training is None else self.training.wall

    @property
    def idle(self) -> float:
        """Seconds of them in which the GPU did nothing, or would have."""
        return sum(spent.idle for spent in self.entries.values())

    def share(self, seconds: float) -> float:
        """The part of the training, or of the run, that these seconds are."""
        return _share(seconds, self.whole)

    def share_of_run(self, seconds: float) -> float:
        """The part of the run that these seconds are."""
        return _share(seconds, self.seconds)


def _share(seconds: float, whole: float) -> float:
    return min(1.0, seconds / whole) if whole > 0 else 0.0
