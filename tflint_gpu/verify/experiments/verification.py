"""The terms of `verify`: a finding's experiment, how it is run, and what came of it."""

from __future__ import annotations

import sys
from dataclasses import field
from pathlib import Path

from tflint_gpu.diagnostics import Diagnostic, Prediction
from tflint_gpu.gpu.cards import Gpu
from tflint_gpu.gpu.watch import Recording
from tflint_gpu.lazy_dataclasses import dataclass
from tflint_gpu.model import Model
from tflint_gpu.rule.experiment import Experiment, Requirement
from tflint_gpu.verify.execution.sandbox import NO_SANDBOX, Limits, Sandbox
from tflint_gpu.verify.slicing.extract import Pair
from tflint_gpu.verify.slicing.routes import Approach
from tflint_gpu.verify.statistics import outcomes
from tflint_gpu.verify.statistics.statistics import MINIMUM_REPEATS, SMALLEST_GAIN, Verdict

ROUNDS_OF_MEMORY = 5
MOST_ROUNDS = 40
_OF_STEPS = ("slowdown", "no-effect")


@dataclass(frozen=True, slots=True)
class Case:
    """A finding and one experiment on it, or the reason why there is none.

    Arguments:
        is_calibrated: the programs of `pair` know how long their producer takes.
        old_keras: why its programs run with Keras 2 although nothing in the code asks for it; empty if they do not.
        trains: its programs train what they use, as they do not run otherwise.
        failed: ways to the place that were tried and of which no program ran.
        remarks: how its programs differ from what the user would run, besides what the programs know; each as part of a
            sentence.
        joined: the cases whose repairs this one applies together; none for the case of a finding.
        share: of a run that was measured, which is lost where the finding is; None: no run was.
        smallest_gain: the factor from which on a change of this file is worth it.
        among: the one that applies all repairs, of which both programs have all others; None: there are no others.
    """

    diagnostic: Diagnostic
    prediction: Prediction
    experiment: Experiment | None = None
    entries: tuple[Model, ...] = ()
    pair: Pair | None = None
    reason: str = ""
    is_calibrated: bool = False
    old_keras: str = ""
    trains: bool = False
    failed: tuple[Approach, ...] = ()
    remarks: tuple[str, ...] = ()
    joined: tuple[Case, ...] = ()
    among: Case | None = None
    share: float | None = None
    smallest_gain: float = SMALLEST_GAIN

    @property
    def of_what(self) -> str:
        """Of what a factor is, where that is not the code around the finding, too."""
        return "of the pipeline alone" if self.experiment is not None and self.experiment.is_of_pipeline else ""

    @property
    def variant(self) -> str:
        """What is special about the experiment, where the finding has several."""
        return self.experiment.variant if self.experiment is not None else ""


@dataclass(frozen=True, slots=True)
class Setup:
    """How programs are run.

    Arguments:
        gpu: the card; None: the CPU.
        others: the other cards that there are.
        runs: rounds for each experiment; None: for times as many as it takes until the verdict is there, else as
            many as the kind of prediction needs.
        synthetic: run the rules' own workloads and no code of the user.
        keep: folder for the programs; None: they vanish.
    """

    gpu: Gpu | None = None
    others: tuple[Gpu, ...] = ()
    runs: int | None = None
    synthetic: bool = False
    sandbox: Sandbox = NO_SANDBOX
    limits: Limits = field(default_factory=Limits)
    keep: Path | None = None
    python: str = sys.executable

    def cards_for(self, requires: Requirement) -> tuple[Gpu, ...]:
        """Those that a program sees, in the driver's order; none for the CPU."""
        if self.gpu is None or requires == "no GPU":
            return ()
        cards = [self.gpu, *(self.others[:1] if requires == "two GPUs" else ())]
        return tuple(sorted(cards, key=lambda card: card.index))

    def device_for(self, requires: Requirement) -> str:
        """What a report calls them: "cpu", "gpu:0" or "gpu:0,1"."""
        numbers = ",".join(str(card.index) for card in self.cards_for(requires))
        return f"gpu:{numbers}" if numbers else "cpu"

    def shown_for(self, requires: Requirement) -> str:
        """What a `Place` takes for them: by UUID, as the driver's numbers may not be CUDA's."""
        entries = ",".join(card.uuid for card in self.cards_for(requires))
        return f"gpu:{entries}" if entries else "cpu"


@dataclass(frozen=True, slots=True)
class Sample:
    """One run of one variant: what was measured, and what the card did meanwhile.

    Arguments:
        notes: what the program reported of itself.
        host_memory: the most bytes that its processes held of the machine's memory.
    """

    run: outcomes.Run
    steps: tuple[float, ...]
    seconds: float
    notes: dict[str, object]
    recording: Recording | None = None
    host_memory: int = 0

    @property
    def value(self) -> float | None:
        """The median step in seconds, or the bytes held."""
        return self.run.memory if self.run.memory is not None else self.run.seconds

    @property
    def used_devices(self) -> dict[str, int]:
        """How much of what the program computed lies on which device (`GPU:0`), as far as it reported that."""
        devices = self.notes.get("ran_on")
        return dict(devices) if isinstance(devices, dict) else {}


@dataclass(frozen=True, slots=True)
class Verification:
    """What came of one case.

    Arguments:
        device: what was measured, as the programs tell it: "cpu" also where they had a card and used none.
        gpu_unused: a card was chosen, and the programs' TensorFlow listed none.
        is_cut: there are fewer rounds than were wanted, as the time was over.
        is_open: the rounds do not say yet whether the prediction is true.
        is_shared: it was measured for another case, whose programs are the same.
        compared: the prediction for this device, with which the rounds were compared; None: there were no rounds.
    """

    case: Case
    verdict: Verdict
    device: str
    before: tuple[Sample, ...] = ()
    after: tuple[Sample, ...] = ()
    gpu_unused: bool = False
    is_cut: bool = False
    is_open: bool = True
    is_shared: bool = False
    compared: Prediction | None = None

    @property
    def prediction(self) -> Prediction:
        """What a report shows as predicted."""
        return self.case.prediction if self.compared is None else self.compared

    def joins(self, case: Case) -> bool:
        """Whether the repair of a finding is among those that were measured here together."""
        return any(part.diagnostic == case.diagnostic for part in self.case.joined)

    @property
    def unit(self) -> str:
        """Of the samples' values."""
        return self.case.experiment.unit if self.case.experiment is not None else ""


def blocker(case: Case, setup: Setup) -> str:
    """Why a case cannot be run with this setup; empty where it can."""
    if case.pair is None or case.experiment is None:
        return case.reason
    requires = case.experiment.requires
    if requires == "a GPU" and setup.gpu is None:
        return "it needs a GPU, and `verify` runs on the CPU here"
    if requires == "two GPUs" and (setup.gpu is None or not setup.others):
        return "it needs two GPUs"
    return ""


def rounds_for(case: Case, setup: Setup) -> int:
    """How many rounds a case gets if there is time: at most, where its verdict may be there before."""
    most = {"memory": ROUNDS_OF_MEMORY} | dict.fromkeys(_OF_STEPS, MOST_ROUNDS)
    return setup.runs or most.get(case.prediction.kind, MINIMUM_REPEATS)


def ends_when_decided(case: Case, setup: Setup) -> bool:
    """Whether a case gets no more rounds once it has a verdict."""
    return setup.runs is None and case.prediction.kind in (*_OF_STEPS, "memory")


def alternates(case: Case, setup: Setup) -> bool:
    """Whether both programs of a case live at the same time: where their steps are timed on the CPU."""
    on_cpu = case.experiment is not None and setup.device_for(case.experiment.requires) == "cpu"
    return on_cpu and case.prediction.kind in _OF_STEPS


def ended_after(known: Verification, setup: Setup) -> str:
    """That the budget ended, for the reason of a verdict."""
    rounds = "1 round" if len(known.before) == 1 else f"{len(known.before)} rounds"
    if not ends_when_decided(known.case, setup):
        rounds = f"{len(known.before)} of {rounds_for(known.case, setup)} rounds"
    return f"the budget ended after {rounds}"


def unmeasured(case: Case, reason: str) -> Verification:
    """A case that was not run."""
    return Verification(case, Verdict("not run", case.reason or reason), "cpu")
