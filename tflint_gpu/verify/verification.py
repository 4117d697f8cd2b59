"""From findings to verdicts: which experiments there are, what their runs showed, and what follows."""

from __future__ import annotations

import contextlib
import dataclasses
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from pathlib import Path

from tflint_gpu.diagnostics import Diagnostic, Prediction
from tflint_gpu.doctor.cards import Gpu
from tflint_gpu.experiment import Experiment, NoExperiment, Requirement
from tflint_gpu.model import Model
from tflint_gpu.rule import Finding, Rule
from tflint_gpu.verify import outcomes
from tflint_gpu.verify.archive import kept_folder
from tflint_gpu.verify.crash_places import crash_place
from tflint_gpu.verify.extract import MADE_UP, NotExtractable, Pair, Readings, extract, workload_pair
from tflint_gpu.verify.gpu import Recording, Watch
from tflint_gpu.verify.inputs import InputError
from tflint_gpu.verify.modules import missing_modules, needed_modules
from tflint_gpu.verify.outputs import Outputs
from tflint_gpu.verify.rounds import Round, run_rounds
from tflint_gpu.verify.sandbox import NO_SANDBOX, Limits, Sandbox
from tflint_gpu.verify.statistics import EXTRACTION_FAULTS, MINIMUM_REPEATS, Verdict, judge
from tflint_gpu.verify.turns import run_in_turns
from tflint_gpu.verify.worker import Outcome, Place, Running, run_program, running

ROUNDS_OF_MEMORY = 5
MOST_ROUNDS = 40
EMPTY = "EmptyData"
OUT_OF_BUDGET = "the budget ended before a round was whole"
_OF_STEPS = ("slowdown", "no-effect")
# What the programs note as `raised_in` (`tflint_measure.examine`).
_DURING = {
    "tf.function": " when `tf.function` traced it, as `fit` does (in the program it only runs eagerly),",
    "fit": " when a model with it was fitted (Keras caught it while the program built the model),",
    "caught": " and the program caught it,",
}
_OUT_OF_MEMORY = {"killed", "out of memory"}


@dataclass(frozen=True, slots=True)
class Case:
    """A finding and one experiment on it, or the reason why there is none.

    Arguments:
        is_calibrated: the programs of `pair` know how long their producer takes.
    """

    diagnostic: Diagnostic
    prediction: Prediction
    experiment: Experiment | None = None
    entries: tuple[Model, ...] = ()
    pair: Pair | None = None
    reason: str = ""
    is_calibrated: bool = False

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
        """What `run_program` takes for them: by UUID, as the driver's numbers may not be CUDA's."""
        entries = ",".join(card.uuid for card in self.cards_for(requires))
        return f"gpu:{entries}" if entries else "cpu"


@dataclass(frozen=True, slots=True)
class Sample:
    """One run of one variant: what was measured, and what the card did meanwhile.

    Arguments:
        notes: what the program told of itself.
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
        """How much of what the program computed lies on which device (`GPU:0`), as far as it told."""
        told = self.notes.get("ran_on")
        return dict(told) if isinstance(told, dict) else {}


@dataclass(frozen=True, slots=True)
class Verification:
    """What came of one case.

    Arguments:
        device: what was measured, as the programs tell it: "cpu" also where they had a card and used none.
        gpu_unused: a card was chosen, and the programs' TensorFlow listed none.
        is_cut: there are fewer rounds than were wanted, as the time was over.
        is_open: the rounds do not say yet whether the prediction is true.
    """

    case: Case
    verdict: Verdict
    device: str
    before: tuple[Sample, ...] = ()
    after: tuple[Sample, ...] = ()
    gpu_unused: bool = False
    is_cut: bool = False
    is_open: bool = True

    @property
    def unit(self) -> str:
        """Of the samples' values."""
        return self.case.experiment.unit if self.case.experiment is not None else ""


def plan(
    found: Sequence[tuple[Rule, Finding, Diagnostic, Model]], others: Sequence[Model], *, synthetic: bool = False
) -> Iterator[Case]:
    """The cases of some findings, with their programs.

    Arguments:
        found: each with the model of the file in whose check it was found.
        others: files of the same project that may be the program that runs it.
        synthetic: take the rules' own workloads.
    """
    readings = Readings()
    for rule, finding, diagnostic, model in found:
        try:
            for experiment in rule.experiments(finding, model):
                entries = (model, *_running(experiment.file.source.path, model, others))
                yield _with_programs(diagnostic, finding, experiment, entries, synthetic, readings)
        except NoExperiment as error:
            yield Case(diagnostic, finding.prediction, reason=str(error))
        except Exception as error:  # one rule that fails must not keep the others from being verified
            yield Case(diagnostic, finding.prediction, reason=f"{rule.code} failed to plan it: {error!r}")


def _running(path: Path, model: Model, others: Sequence[Model]) -> Iterator[Model]:
    """The other files of a model's project that may run a file: those whose imports reach it."""
    for other in others:
        is_other = other is not model and other.project is model.project
        if is_other and path in (other.source.path, *other.project.reached(other.source)):
            yield other


def _with_programs(
    diagnostic: Diagnostic,
    finding: Finding,
    experiment: Experiment,
    entries: tuple[Model, ...],
    synthetic: bool,
    readings: Readings,
) -> Case:
    experiment = dataclasses.replace(experiment, prediction=experiment.prediction or finding.prediction)
    case = Case(diagnostic, experiment.prediction or finding.prediction, experiment, entries)
    try:
        return dataclasses.replace(case, pair=_pair(case, synthetic, readings=readings))
    except (NotExtractable, InputError) as error:
        return dataclasses.replace(case, reason=str(error))


def _pair(case: Case, synthetic: bool, opening: str = "", readings: Readings | None = None) -> Pair:
    experiment = case.experiment
    assert experiment is not None
    if synthetic or experiment.only_workload:
        return workload_pair(experiment, opening)
    return extract(experiment, case.entries, opening, readings)


def without_missing_modules(cases: Sequence[Case], python: str) -> list[Case]:
    """The cases, those that need a module which an interpreter does not have with that as their reason.

    Nothing of the modules, and nothing of the checked code, is run for it.
    """
    needed = [needed_modules(case.pair.before) if case.pair is not None else frozenset() for case in cases]
    missing = missing_modules(python, frozenset().union(*needed))
    return [
        dataclasses.replace(case, pair=None, reason=_without(sorted(names & missing), python))
        if names & missing
        else case
        for case, names in zip(cases, needed, strict=True)
    ]


def _without(names: Sequence[str], python: str) -> str:
    several = "s" if len(names) > 1 else ""
    shown = ", ".join(f"`{name}`" for name in names)
    return f"it needs the module{several} {shown}, which {python} does not have: install it beside TensorFlow"


def obstacle(case: Case, setup: Setup) -> str:
    """Why a case cannot be run with this setup; empty where it can."""
    if case.pair is None or case.experiment is None:
        return case.reason
    requires = case.experiment.requires
    if requires == "a GPU" and setup.gpu is None:
        return "it needs a GPU, and this runs on the CPU"
    if requires == "two GPUs" and (setup.gpu is None or not setup.others):
        return "it needs two GPUs"
    return ""


def rounds_for(case: Case, setup: Setup) -> int:
    """How many rounds a case gets if there is time: at most, where its verdict may be there before."""
    if ends_when_decided(case, setup):
        return MOST_ROUNDS
    return setup.runs or (ROUNDS_OF_MEMORY if case.prediction.kind == "memory" else MINIMUM_REPEATS)


def ends_when_decided(case: Case, setup: Setup) -> bool:
    """Whether a case gets no more rounds once it has a verdict."""
    return setup.runs is None and case.prediction.kind in _OF_STEPS


def takes_turns(case: Case, setup: Setup) -> bool:
    """Whether both programs of a case live at the same time: where their steps are timed on the CPU."""
    on_cpu = case.experiment is not None and setup.device_for(case.experiment.requires) == "cpu"
    return on_cpu and case.prediction.kind in _OF_STEPS


def ended_after(known: Verification, setup: Setup) -> str:
    """That the budget ended, for the reason of a verdict."""
    rounds = "1 round" if len(known.before) == 1 else f"{len(known.before)} rounds"
    if not ends_when_decided(known.case, setup):
        rounds = f"{len(known.before)} of {rounds_for(known.case, setup)} rounds"
    return f"the budget ended after {rounds}"


def verify(
    case: Case,
    setup: Setup,
    seconds: float,
    on_run: Callable[[str], object] = lambda text: None,
    *,
    known: Verification | None = None,
    rounds: int | None = None,
) -> Iterator[Verification]:
    """Run a case and yield what is known after each round; the last one is the verdict.

    Arguments:
        seconds: wall time for all rounds.
        on_run: is told what is being run.
        known: what earlier rounds showed; they count.
        rounds: how many more at most.

    Raises:
        KeyboardInterrupt: on Ctrl-C, with no process left.
    """
    reason = obstacle(case, setup) or (OUT_OF_BUDGET if seconds <= 0 else "")
    device = "cpu" if case.experiment is None else setup.device_for(case.experiment.requires)
    if reason or case.pair is None:
        yield Verification(case, Verdict("not run", reason), device)
        return
    with tempfile.TemporaryDirectory(prefix="tflint-gpu-programs-") as folder:
        bench = _Bench(case, setup, device, Path(folder), on_run)
        yield from bench.verify(seconds, known, rounds)


def unmeasured(case: Case, reason: str) -> Verification:
    """A case that was not run."""
    return Verification(case, Verdict("not run", case.reason or reason), "cpu")


class _Bench:
    """The programs of one case on the disk, and their runs."""

    def __init__(self, case: Case, setup: Setup, device: str, folder: Path, on_run: Callable[[str], object]) -> None:
        self.case, self.setup, self.device, self.folder = case, setup, device, folder
        self.on_run = on_run
        self.recordings: dict[int, Recording] = {}

    def verify(self, seconds: float, known: Verification | None, rounds: int | None) -> Iterator[Verification]:
        end = time.monotonic() + seconds
        pair = self.case.pair
        assert pair is not None and self.case.experiment is not None
        self._keep(pair)
        if self.case.experiment.calibrates and not self.case.is_calibrated:
            outcome = self.run(pair.before.write(self.folder / "calibration"), self._limits(end))
            producer = outcome.result.notes.get("producer") if outcome.result else None
            if not isinstance(producer, float):
                yield self._stopped(self._with_place(_sample(outcome, None), outcome), "the pipeline")
                return
            pair = _pair(self.case, self.setup.synthetic, f"tflint_measure.CONSUMER_SECONDS = {producer:.6f}")
            self.case = dataclasses.replace(self.case, pair=pair, is_calibrated=True)
            self._keep(pair)
        before, after = (p.write(self.folder / n) for p, n in ((pair.before, "before"), (pair.after, "after")))
        samples = [] if known is None else list(zip(known.before, known.after, strict=True))
        yield from self._rounds(before, after, end - time.monotonic(), samples, rounds)

    def _rounds(
        self, before: Path, after: Path, seconds: float, samples: list[tuple[Sample, Sample]], rounds: int | None
    ) -> Iterator[Verification]:
        wanted = rounds_for(self.case, self.setup)
        if rounds is not None:
            wanted = min(wanted, len(samples) + rounds)
        for found in self._measured(before, after, wanted - len(samples), seconds):
            if found.before is None or found.after is None or found.budget_spent:
                yield self._cut(samples)
                return
            pair = (self._sampled(found.before), self._sampled(found.after))
            samples.append(pair)
            fault = self._fault(*pair)
            if fault is not None:
                yield fault
                return
            known = self._judged(samples)
            yield known
            if not known.is_open and ends_when_decided(self.case, self.setup):
                return
        if len(samples) < wanted:
            yield self._cut(samples)

    def _measured(self, before: Path, after: Path, count: int, seconds: float) -> Iterator[Round]:
        """Rounds in turns where steps are timed on the CPU; else, or where both do not fit at once, one by one."""
        end = time.monotonic() + seconds
        if takes_turns(self.case, self.setup):
            with contextlib.closing(
                run_in_turns(before, after, count, seconds, self.setup.limits, self._start)
            ) as rounds:
                for found in rounds:
                    if {one.status for one in (found.before, found.after) if one} & _OUT_OF_MEMORY:
                        break
                    yield found
                    count -= 1
                else:
                    return
        yield from run_rounds(before, after, count, end - time.monotonic(), self.setup.limits, run=self.run)

    def _start(self, script: Path, limits: Limits) -> AbstractContextManager[Running]:
        self.on_run(script.relative_to(self.folder).parts[0])
        return running(script, limits, self._place("cpu"), takes_turns=True)

    def _cut(self, samples: list[tuple[Sample, Sample]]) -> Verification:
        """What is known when the budget ends."""
        if not samples:
            return Verification(self.case, Verdict("not run", OUT_OF_BUDGET), self.device, is_cut=True)
        known = self._judged(samples)
        reason = f"{known.verdict.reason}; {ended_after(known, self.setup)}"
        return dataclasses.replace(known, verdict=dataclasses.replace(known.verdict, reason=reason), is_cut=True)

    def _judged(self, samples: list[tuple[Sample, Sample]]) -> Verification:
        assert self.case.experiment is not None
        rounds = [outcomes.Round(self._compared(before.run), self._compared(after.run)) for before, after in samples]
        exceptions, until_decided = self.case.experiment.exceptions, self.setup.runs is None
        verdict = judge(self.case.prediction, rounds, exceptions=exceptions, until_decided=until_decided)
        is_open = verdict.verdict == "inconclusive"
        remarks = _remarks(self.case.pair, samples)
        if any(remark.startswith(MADE_UP) for remark in remarks):
            expected = exceptions if self.case.prediction.kind == "crash" else ()
            verdict = _with_stand_ins(verdict, rounds, expected)
        reason = verdict.reason + _aside(*samples[0]) + "".join(f"; {remark}" for remark in remarks)
        verdict = dataclasses.replace(verdict, reason=reason)
        before, after = zip(*samples, strict=True)
        device = self.device if self._uses_its_device((*before, *after)) else "cpu"
        return Verification(self.case, verdict, device, before, after, is_open=is_open)

    def _uses_its_device(self, samples: Sequence[Sample]) -> bool:
        """Whether anything was computed on a card, or nobody told; where no step is timed it does not matter."""
        told = [sample.used_devices for sample in samples if sample.used_devices]
        is_timed = self.case.prediction.kind in ("slowdown", "no-effect")
        return not is_timed or not told or any(name.startswith("GPU") for used in told for name in used)

    def _compared(self, run: outcomes.Run) -> outcomes.Run:
        """The run without its outputs, where the repair may compute something else."""
        assert self.case.experiment is not None
        return run if self.case.experiment.same_outputs else dataclasses.replace(run, outputs=None)

    def _fault(self, before: Sample, after: Sample) -> Verification | None:
        """A program that fails where no failure was predicted will fail again: no need to go on."""
        assert self.case.experiment is not None
        if self.device != "cpu" and [] in (before.notes.get("gpus"), after.notes.get("gpus")):
            reason = "a GPU was chosen, but TensorFlow lists none in the program: what ran, ran on the CPU"
            return Verification(self.case, Verdict("not run", reason), "cpu", (before,), (after,), gpu_unused=True)
        expected = self.case.prediction.kind == "crash"
        crash = before.run.crash
        foreign = crash is not None and crash.exception.rpartition(".")[2] in EXTRACTION_FAULTS
        if before.run.fault is not None and (not expected or foreign):
            return self._stopped(before, "the flagged program")
        if after.run.fault is not None and not expected:
            return self._stopped(after, "the repaired program")
        return None

    def _stopped(self, sample: Sample, what: str) -> Verification:
        crash = sample.run.crash
        said = sample.run.fault or "it wrote no result"
        if crash is not None and crash.exception.endswith(EMPTY):
            text = f"the data is empty: {crash.text}{_remedy(sample)}"
        else:
            text = f"{what} did not run to its end: {said}{_remedy(sample)}"
        text += "".join(f"; {remark}" for remark in _remarks(self.case.pair, [(sample, sample)]))
        return Verification(self.case, Verdict("not run", text), self.device, (sample,))

    def _limits(self, end: float) -> Limits:
        limits = self.setup.limits
        return dataclasses.replace(limits, seconds=max(0.1, min(limits.seconds, end - time.monotonic())))

    def run(self, script: Path, limits: Limits) -> Outcome:
        """Run one program and watch the card meanwhile."""
        self.on_run(script.relative_to(self.folder).parts[0])
        gpu = self.setup.gpu if self.device != "cpu" else None
        if gpu is None or self.case.experiment is None:
            return run_program(script, limits, self._place("cpu"))
        place = self._place(self.setup.shown_for(self.case.experiment.requires))
        with Watch(gpu) as watch:
            outcome = run_program(script, limits, place, on_start=lambda pid: watch.follow([pid]))
        self.recordings[id(outcome)] = _windowed(watch.recording, outcome)
        return outcome

    def _place(self, device: str) -> Place:
        return Place(self.setup.python, device, self.setup.sandbox)

    def _sampled(self, outcome: Outcome) -> Sample:
        sample = self._with_place(_sample(outcome, self.recordings.pop(id(outcome), None)), outcome)
        if self.case.prediction.kind != "memory" or sample.recording is None:
            return sample
        return dataclasses.replace(sample, run=dataclasses.replace(sample.run, memory=sample.recording.memory))

    def _with_place(self, sample: Sample, outcome: Outcome) -> Sample:
        """The sample with the user's line that raised, unless that is the flagged one."""
        crash, experiment = sample.run.crash, self.case.experiment
        if crash is None or experiment is None or experiment.file is None:
            return sample
        files = (experiment.file, *(model.file for model in self.case.entries))
        place = crash_place(outcome.stderr, self.folder, [file.source for file in files], self.case.diagnostic)
        run = dataclasses.replace(sample.run, crash=dataclasses.replace(crash, place=place))
        return dataclasses.replace(sample, run=run)

    def _keep(self, pair: Pair) -> None:
        if self.setup.keep is None:
            return
        folder = kept_folder(self.setup.keep, self.case.diagnostic, self.case.variant)
        for variant, program in (("before", pair.before), ("after", pair.after)):
            program.write(folder / variant)


def _windowed(recording: Recording, outcome: Outcome) -> Recording:
    """The recording with the time in which the program measured: its clock is the one of all processes here."""
    told = outcome.result.notes.get("measured") if outcome.result is not None else None
    match told:
        case [float(start), float(end)] if recording.began <= start <= end:
            return recording.within(start, end)
    return recording


def _remarks(pair: Pair | None, samples: Sequence[tuple[Sample, Sample]]) -> tuple[str, ...]:
    """How what was run differs from what the user runs: known before, and told by the programs."""
    told = (sample.notes.get("made_up") for both in samples for sample in both)
    made_up = dict.fromkeys(text for one in told if isinstance(one, list) for text in one if isinstance(text, str))
    more = (f"{MADE_UP} {', '.join(made_up)}",) if made_up else ()
    return (*(pair.remarks if pair is not None else ()), *more)


def _with_stand_ins(verdict: Verdict, rounds: Sequence[outcomes.Round], expected: Collection[str]) -> Verdict:
    """What may be said where something was made up: an input of ours says nothing against a finding.

    A program that cannot use it was not run; one that shows nothing with it decides nothing.

    Arguments:
        expected: the exceptions that the flagged program was predicted to raise.
    """
    flagged = [item.before for item in rounds if not _raised(item.before, expected)]
    faults = [run.fault for run in (*flagged, *(item.after for item in rounds)) if run.fault is not None]
    if faults and not verdict.verdict.endswith("confirmed"):
        return Verdict("not run", f"with what was made up a program did not run to its end: {faults[0]}")
    if verdict.verdict == "wrong result confirmed" and any(item.before.wrong is None for item in rounds):
        return Verdict("not run", f"with what was made up the results differ, which may be due to it: {verdict.reason}")
    if verdict.verdict == "refuted":
        reason = f"{verdict.reason}; what was made up may be too unlike the real input to say more"
        return dataclasses.replace(verdict, verdict="inconclusive", reason=reason)
    return verdict


def _raised(run: outcomes.Run, expected: Collection[str]) -> bool:
    names = {name.rpartition(".")[2] for name in expected}
    return run.crash is not None and run.crash.exception.rpartition(".")[2] in names


def _sample(outcome: Outcome, recording: Recording | None) -> Sample:
    notes = outcome.result.notes if outcome.result is not None else {}
    return Sample(_as_run(outcome), outcome.steps, outcome.seconds, notes, recording, outcome.peak_memory)


def _as_run(outcome: Outcome) -> outcomes.Run:
    """What a run showed, in the terms of the judge."""
    if outcome.status == "raised":
        where = outcome.result.notes.get("raised_in") if outcome.result is not None else None
        during = _DURING.get(where, "") if isinstance(where, str) else ""
        crash = outcomes.Crash(outcome.exception or "Exception", outcome.text, during)
        return outcomes.Run(crash=crash, outputs=_outputs(outcome))
    if outcome.status == "no result" and outcome.exit_code == 0:
        return outcomes.Run(failure="the program ended without reaching what was flagged")
    if outcome.status != "finished" or outcome.result is None:
        return outcomes.Run(failure=f"{outcome.status}: {outcome.text}")
    result = outcome.result
    if result.notes.get("unfinished"):
        return outcomes.Run(failure="the program ended without reaching what was flagged")
    wrong, asked = result.notes.get("wrong"), result.notes.get("asked")
    return outcomes.Run(
        seconds=statistics.median(result.blocks or result.steps) if result.blocks or result.steps else None,
        blocks=result.blocks,
        outputs=_outputs(outcome),
        wrong=wrong if isinstance(wrong, str) else None,
        placement=outcomes.Placement(asked, result.devices) if isinstance(asked, str) else None,
    )


def _outputs(outcome: Outcome) -> Outputs | None:
    result = outcome.result
    return None if result is None or result.outputs is None else Outputs(result.outputs, result.dtype or "")


def _aside(before: Sample, after: Sample) -> str:
    """What else a program found out: how a function does that was also run eagerly."""
    if before.notes.get("eager") != "works":
        return ""
    text = "; run eagerly it works"
    if before.steps and after.steps:
        text += f", {statistics.median(before.steps) / statistics.median(after.steps):.2g} times as long as the repair"
    return text + (", and passes no gradient on" if before.notes.get("gradient") == "None" else "")


def _remedy(sample: Sample) -> str:
    crash = sample.run.crash
    kind = crash.exception.rpartition(".")[2] if crash is not None else ""
    if kind == EMPTY:
        return "; `# tflint-gpu: input=(32, 128) float32` on the line that makes the data says what it is like"
    if kind in ("FileNotFoundError", "NotFoundError"):
        return "; say what the data is like with `# tflint-gpu: input=(32, 128) float32` on the line that reads it"
    if kind in ("ModuleNotFoundError", "ImportError"):
        return "; install it beside TensorFlow"
    return ""
