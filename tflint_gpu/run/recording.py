"""What is written down while a program or a cell runs, and the report that is made of it."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import field, replace
from datetime import date

from tflint_gpu.gpu.cards import Choice, Survey, first_card, shown_devices, survey
from tflint_gpu.gpu.nvml import Nvml
from tflint_gpu.gpu.watch import Sample, Watch
from tflint_gpu.lazy_dataclasses import dataclass
from tflint_gpu.price import Price
from tflint_gpu.reports import View
from tflint_gpu.run.charges import Spent
from tflint_gpu.run.costs import Cost, costs, is_priced, with_costs_beside
from tflint_gpu.run.inspection import Inspection
from tflint_gpu.run.ledger import Ledger
from tflint_gpu.run.result import NoGpu, Report
from tflint_gpu.run.samples import Decoder
from tflint_gpu.run.trace import Trace

NOTHING = Inspection()


@dataclass(slots=True)
class Recording:
    """The card that is watched, and the account.

    Arguments:
        cards: as NVML reported them before.
        choice: the one on which TensorFlow puts things by itself.
    """

    cards: Survey
    choice: Choice
    began: float = field(default_factory=time.monotonic)
    started: float = field(default_factory=time.time)
    ended: float | None = None
    ledger: Ledger = field(init=False)
    decoder: Decoder = field(default_factory=Decoder)

    def __post_init__(self) -> None:
        self.ledger = Ledger(self.choice.gpu is not None, self.began)

    @classmethod
    def begin(cls, nvml: Nvml | None = None, environment: Mapping[str, str] = os.environ) -> Recording:
        """Look for the card, with NVML or what stands in for it.

        Arguments:
            environment: of the program.
        """
        cards = survey(nvml)
        return cls(cards, first_card(cards, *shown_devices(environment)))

    def take(self, line: bytes) -> None:
        """A line of the sampler."""
        self.ledger.take(self.decoder.read(line))

    @contextmanager
    def watch(self, nvml: Nvml | None = None) -> Iterator[Watch]:
        """A watch of the card that fills the account, beside which the other cards are watched for the timeline."""
        with ExitStack() as watches:
            for other in self.choice.others:
                watches.enter_context(Watch(other, nvml=nvml, sink=self._sink(self.ledger.take_other, other.title)))
            gpu = self.choice.gpu
            title = "" if gpu is None or gpu.part is not None else gpu.title
            yield watches.enter_context(Watch(gpu, nvml=nvml, sink=self._sink(self.ledger.take_card, title)))

    def _sink(self, take: Callable[[float, Sample, str], None], title: str) -> Callable[[Sample], None]:
        return lambda seen: take(time.monotonic(), seen, title)

    def finish(self, watch: Watch) -> None:
        """It has ended, and the card is not watched any more."""
        self.ended = time.monotonic()
        self.ledger.finish()
        notes = "; ".join(dict.fromkeys(filter(None, [self.choice.note, *watch.recording.notes])))
        self.choice = replace(self.choice, note=notes)

    def report(
        self,
        program: str,
        view: View,
        *,
        inspection: Inspection = NOTHING,
        trace: Trace | None = None,
        unused: NoGpu | None = None,
        price: Price | None = None,
        code: int | None = None,
        end: str = "",
        pid: int | None = None,
        started: float | None = None,
        command: str = "",
    ) -> Report:
        """What is known by now. The arguments are those of `Report`."""
        return Report(
            program=program,
            seconds=(time.monotonic() if self.ended is None else self.ended) - self.began,
            code=code,
            ledger=self.ledger,
            gpu=self.choice.gpu,
            note=self.choice.note,
            costs=self._costs(view, inspection),
            findings=sum(is_priced(diagnostic) for diagnostic in inspection.diagnostics),
            datasets=inspection.datasets,
            trace=trace,
            unused=unused,
            price=price,
            started=self.started if pid is None else started,
            end=end,
            pid=pid,
            processes=max(1, self.decoder.processes),
            command=command,
            date=date.today().isoformat(),
        )

    def _costs(self, view: View, inspection: Inspection) -> tuple[Cost, ...]:
        """What findings cost in the training, and beside it."""
        training = self.ledger.trainings.main()
        if training is None:
            return costs(inspection.diagnostics, self.ledger.entries, view, inspection.datasets)
        rest = {
            doing: Spent(spent.seconds, max(0.0, spent.idle - training.spent.get(doing, Spent()).idle))
            for doing, spent in self.ledger.entries.items()
        }
        return with_costs_beside(
            costs(inspection.diagnostics, training.spent, view, inspection.datasets),
            costs(inspection.diagnostics, rest, view, inspection.datasets),
        )
