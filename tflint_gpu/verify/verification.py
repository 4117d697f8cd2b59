"""From findings to verdicts: which experiments there are, what their runs showed, and what follows."""

from __future__ import annotations

import dataclasses
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from tflint_gpu.diagnostics import Diagnostic, Prediction
from tflint_gpu.doctor.cards import Gpu
from tflint_gpu.experiment import Experiment, NoExperiment, Requirement
from tflint_gpu.model import Model
from tflint_gpu.rule import Finding, Rule
from tflint_gpu.verify import outcomes
from tflint_gpu.verify.extract import MADE_UP, NotExtractable, Pair, Readings, extract, workload_pair
from tflint_gpu.verify.gpu import Recording, Watch
from tflint_gpu.verify.inputs import InputError
from tflint_gpu.verify.modules import missing_modules, needed_modules
from tflint_gpu.verify.outputs import Outputs
from tflint_gpu.verify.sandbox import NO_SANDBOX, Limits, Sandbox
from tflint_gpu.verify.statistics import EXTRACTION_FAULTS, MINIMUM_REPEATS, Verdict, judge
from tflint_gpu.verify.worker import Outcome, run_program, run_rounds

ROUNDS = 5
OUT_OF_BUDGET = "the budget ended before a round was whole"
_TIMED = ("slowdown", "no-effect", "memory")
_WORTH_TELLING = 0.05


@dataclass(frozen=True, slots=True)
class Case:
    """A finding and one experiment on it, or the reason why there is none."""

    diagnostic: Diagnostic
    prediction: Prediction
    experiment: Experiment | None = None
    entries: tuple[Model, ...] = ()
    pair: Pair | None = None
    reason: str = ""

    @property
    def variant(self) -> str:
        """What is special about the experiment, where the finding has several."""
        return self.experiment.variant if self.experiment is not None else ""


@dataclass(frozen=True, slots=True)
class Setup:
    """How programs are run.

    Arguments:
        gpu: the card; None: the CPU.
        others: numbers of the other cards that there are.
        runs: rounds for each experiment; None: as many as its kind of prediction needs.
        synthetic: run the rules' own workloads and no code of the user.
        keep: folder for the programs; None: they vanish.
    """

    gpu: Gpu | None = None
    others: tuple[int, ...] = ()
    runs: int | None = None
    synthetic: bool = False
    sandbox: Sandbox = NO_SANDBOX
    limits: Limits = field(default_factory=Limits)
    keep: Path | None = None
    python: str = sys.executable

    def device_for(self, requires: Requirement) -> str:
        """As `run_program` has it."""
        if self.gpu is None or requires == "no GPU":
            return "cpu"
        cards = [self.gpu.index, *(self.others[:1] if requires == "two GPUs" else ())]
        return f"gpu:{','.join(map(str, sorted(cards)))}"


@dataclass(frozen=True, slots=True)
class Sample:
    """One run of one variant: what was measured, and what the card did meanwhile."""

    run: outcomes.Run
    steps: tuple[float, ...]
    seconds: float
    notes: dict[str, object]
    recording: Recording | None = None

    @property
    def value(self) -> float | None:
        """The median step in seconds, or the bytes held."""
        return self.run.memory if self.run.memory is not None else self.run.seconds


@dataclass(frozen=True, slots=True)
class Verification:
    """What came of one case.

    Arguments:
        gpu_unused: a card was chosen, and the programs' TensorFlow listed none.
    """

    case: Case
    verdict: Verdict
    device: str
    before: tuple[Sample, ...] = ()
    after: tuple[Sample, ...] = ()
    gpu_unused: bool = False

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


def verify(
    case: Case, setup: Setup, seconds: float, on_run: Callable[[str], object] = lambda text: None
) -> Iterator[Verification]:
    """Run a case and yield what is known after each round; the last one is the verdict.

    Arguments:
        seconds: wall time for all rounds.
        on_run: is told what is being run.

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
        yield from bench.verify(seconds)


def unmeasured(case: Case, reason: str) -> Verification:
    """A case that was not run."""
    return Verification(case, Verdict("not run", case.reason or reason), "cpu")


class _Bench:
    """The programs of one case on the disk, and their runs."""

    def __init__(self, case: Case, setup: Setup, device: str, folder: Path, on_run: Callable[[str], object]) -> None:
        self.case, self.setup, self.device, self.folder = case, setup, device, folder
        self.on_run = on_run
        self.recordings: dict[int, Recording] = {}

    def verify(self, seconds: float) -> Iterator[Verification]:
        end = time.monotonic() + seconds
        pair = self.case.pair
        assert pair is not None and self.case.experiment is not None
        if self.case.experiment.calibrates:
            outcome = self.run(pair.before.write(self.folder / "calibration"), self._limits(end))
            producer = outcome.result.notes.get("producer") if outcome.result else None
            if not isinstance(producer, float):
                yield self._stopped(_sample(outcome, None), "the pipeline")
                return
            pair = _pair(self.case, self.setup.synthetic, f"tflint_measure.CONSUMER_SECONDS = {producer:.6f}")
        before, after = (p.write(self.folder / n) for p, n in ((pair.before, "before"), (pair.after, "after")))
        self._keep(pair)
        yield from self._rounds(before, after, end - time.monotonic())

    def _rounds(self, before: Path, after: Path, seconds: float) -> Iterator[Verification]:
        prediction = self.case.prediction
        usual = ROUNDS if prediction.kind in _TIMED else MINIMUM_REPEATS
        count = self.setup.runs or usual
        samples: list[tuple[Sample, Sample]] = []
        for found in run_rounds(before, after, count, seconds, self.setup.limits, run=self.run):
            if found.after is None or found.budget_spent:
                yield self._cut(samples, count)
                return
            pair = (self._sampled(found.before), self._sampled(found.after))
            samples.append(pair)
            fault = self._fault(*pair)
            if fault is not None:
                yield fault
                return
            yield self._judged(samples)
        if not samples:
            yield self._cut(samples, count)

    def _cut(self, samples: list[tuple[Sample, Sample]], count: int) -> Verification:
        """What is known when the budget ends."""
        if not samples:
            return Verification(self.case, Verdict("not run", OUT_OF_BUDGET), self.device)
        known = self._judged(samples)
        reason = f"{known.verdict.reason}; the budget ended after {len(samples)} of {count} rounds"
        return dataclasses.replace(known, verdict=dataclasses.replace(known.verdict, reason=reason))

    def _judged(self, samples: list[tuple[Sample, Sample]]) -> Verification:
        assert self.case.experiment is not None
        rounds = [outcomes.Round(before.run, after.run) for before, after in samples]
        verdict = judge(self.case.prediction, rounds, exceptions=self.case.experiment.exceptions)
        remarks = _remarks(self.case.pair, samples)
        if any(remark.startswith(MADE_UP) for remark in remarks):
            verdict = _with_stand_ins(verdict, rounds)
        reason = verdict.reason + _aside(*samples[0]) + "".join(f"; {remark}" for remark in remarks)
        verdict = dataclasses.replace(verdict, reason=reason)
        before, after = zip(*samples, strict=True)
        return Verification(self.case, verdict, self.device, before, after)

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
        text = f"{what} did not run to its end: {sample.run.fault or 'it wrote no result'}{_remedy(sample)}"
        text += "".join(f"; {remark}" for remark in _remarks(self.case.pair, [(sample, sample)]))
        return Verification(self.case, Verdict("not run", text), self.device, (sample,))

    def _limits(self, end: float) -> Limits:
        limits = self.setup.limits
        return dataclasses.replace(limits, seconds=max(0.1, min(limits.seconds, end - time.monotonic())))

    def run(self, script: Path, limits: Limits) -> Outcome:
        """Run one program and watch the card meanwhile."""
        self.on_run(script.relative_to(self.folder).parts[0])
        gpu = self.setup.gpu if self.device != "cpu" else None
        if gpu is None:
            return run_program(script, limits, python=self.setup.python, device=self.device, sandbox=self.setup.sandbox)
        with Watch(gpu) as watch:
            outcome = run_program(
                script,
                limits,
                python=self.setup.python,
                device=self.device,
                sandbox=self.setup.sandbox,
                on_start=lambda pid: watch.follow([pid]),
            )
        self.recordings[id(outcome)] = watch.recording
        return outcome

    def _sampled(self, outcome: Outcome) -> Sample:
        sample = _sample(outcome, self.recordings.pop(id(outcome), None))
        if self.case.prediction.kind != "memory" or sample.recording is None:
            return sample
        memory = sample.recording.memory or sample.recording.card_growth
        return dataclasses.replace(sample, run=dataclasses.replace(sample.run, memory=memory))

    def _keep(self, pair: Pair) -> None:
        if self.setup.keep is None:
            return
        where = self.case.diagnostic
        name = f"{where.code}_{Path(where.filename).stem}_{where.location.file_row}_{where.location.column}"
        if self.case.variant:
            name += "_variant"
        for variant, program in (("before", pair.before), ("after", pair.after)):
            program.write(self.setup.keep / name / variant)


def _remarks(pair: Pair | None, samples: Sequence[tuple[Sample, Sample]]) -> tuple[str, ...]:
    """How what was run differs from what the user runs: known before, and told by the programs."""
    told = (sample.notes.get("made_up") for both in samples for sample in both)
    made_up = dict.fromkeys(text for one in told if isinstance(one, list) for text in one if isinstance(text, str))
    more = (f"{MADE_UP} {', '.join(made_up)}",) if made_up else ()
    return (*(pair.remarks if pair is not None else ()), *more)


def _with_stand_ins(verdict: Verdict, rounds: Sequence[outcomes.Round]) -> Verdict:
    """What may be said where something was made up: an input of ours says nothing against a finding.

    A program that cannot use it was not run; one that shows nothing with it decides nothing.
    """
    faults = [run.fault for item in rounds for run in (item.before, item.after) if run.fault is not None]
    if faults and not verdict.verdict.endswith("confirmed"):
        return Verdict("not run", f"with what was made up a program did not run to its end: {faults[0]}")
    if verdict.verdict == "wrong result confirmed" and any(item.before.wrong is None for item in rounds):
        return Verdict("not run", f"with what was made up the results differ, which may be due to it: {verdict.reason}")
    if verdict.verdict == "refuted":
        reason = f"{verdict.reason}; what was made up may be too unlike the real input to say more"
        return dataclasses.replace(verdict, verdict="inconclusive", reason=reason)
    return verdict


def _sample(outcome: Outcome, recording: Recording | None) -> Sample:
    notes = outcome.result.notes if outcome.result is not None else {}
    return Sample(_as_run(outcome), outcome.steps, outcome.seconds, notes, recording)


def _as_run(outcome: Outcome) -> outcomes.Run:
    """What a run showed, in the terms of the judge."""
    if outcome.status == "raised":
        crash = outcomes.Crash(outcome.exception or "Exception", outcome.text)
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
        seconds=statistics.median(result.steps) if result.steps else None,
        outputs=_outputs(outcome),
        wrong=wrong if isinstance(wrong, str) else None,
        placement=outcomes.Placement(asked, result.devices) if isinstance(asked, str) else None,
    )


def _outputs(outcome: Outcome) -> Outputs | None:
    result = outcome.result
    return None if result is None or result.outputs is None else Outputs(result.outputs, result.dtype or "")


def _aside(before: Sample, after: Sample) -> str:
    """What else a program found out: what it costs once, and how a function does that was also run eagerly."""
    if before.notes.get("eager") != "works":
        return _once(before, after)
    text = "; run eagerly it works"
    if before.steps and after.steps:
        text += f", {statistics.median(before.steps) / statistics.median(after.steps):.2g} times as long as the repair"
    return text + (", and passes no gradient on" if before.notes.get("gradient") == "None" else "")


def _once(before: Sample, after: Sample) -> str:
    """Tracing and the like, which a user pays too, where it is long enough to be told from noise."""
    flagged, repaired = before.notes.get("once"), after.notes.get("once")
    if not isinstance(flagged, float) or not isinstance(repaired, float) or max(flagged, repaired) < _WORTH_TELLING:
        return ""
    return f"; tracing and the like take {flagged:.1f} s once, and {repaired:.1f} s with the repair"


def _remedy(sample: Sample) -> str:
    crash = sample.run.crash
    kind = crash.exception.rpartition(".")[2] if crash is not None else ""
    if kind in ("FileNotFoundError", "NotFoundError"):
        return "; say what the data is like with `# tflint-gpu: input=(32, 128) float32` on the line that reads it"
    if kind in ("ModuleNotFoundError", "ImportError"):
        return "; install it beside TensorFlow"
    return ""
