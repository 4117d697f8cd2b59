"""Runs the programs of a case, round by round, until its verdict is there."""

from __future__ import annotations

import contextlib
import dataclasses
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

from tflint_gpu.diagnostics import Prediction
from tflint_gpu.gpu.watch import Recording, Watch
from tflint_gpu.rule.experiment import HARNESS
from tflint_gpu.verify.execution.alternation import run_alternating
from tflint_gpu.verify.execution.crash_places import crash_line, crash_place
from tflint_gpu.verify.execution.host import cores
from tflint_gpu.verify.execution.rounds import Round, run_rounds
from tflint_gpu.verify.execution.sandbox import Limits
from tflint_gpu.verify.execution.tracebacks import is_untrained, may_concern
from tflint_gpu.verify.execution.worker import LONGEST_IMPORT, Outcome, Place, Running, run_program, running
from tflint_gpu.verify.experiments.archive import kept_folder
from tflint_gpu.verify.experiments.planning import pair_of
from tflint_gpu.verify.experiments.samples import (
    EMPTY,
    NEVER_RUN,
    aside,
    remarks_on,
    remedy,
    sample_of,
    windowed,
    with_stand_ins,
)
from tflint_gpu.verify.experiments.verification import (
    Case,
    Sample,
    Setup,
    Verification,
    alternates,
    blocker,
    ended_after,
    ends_when_decided,
    rounds_for,
)
from tflint_gpu.verify.slicing.extract import MADE_UP, OLD_KERAS, NotExtractable, Pair, Program
from tflint_gpu.verify.slicing.inputs import InputError
from tflint_gpu.verify.statistics import outcomes
from tflint_gpu.verify.statistics.statistics import EXTRACTION_FAULTS, Verdict, judge

OUT_OF_BUDGET = "the budget ended before a round was complete"
_SHORTEST_ATTEMPT = 10.0
_MOST_WAYS = 5
_OUT_OF_MEMORY = {"killed", "out of memory"}


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
        on_run: gets what is being run.
        known: what earlier rounds showed; they count.
        rounds: how many more at most.

    Raises:
        KeyboardInterrupt: on Ctrl-C, with no process left.
    """
    reason = blocker(case, setup) or (OUT_OF_BUDGET if seconds <= 0 else "")
    device = "cpu" if case.experiment is None else setup.device_for(case.experiment.requires)
    if reason or case.pair is None:
        yield Verification(case, Verdict("not run", reason), device)
        return
    with tempfile.TemporaryDirectory(prefix="tflint-gpu-programs-") as folder:
        bench = Bench(case, setup, device, Path(folder), on_run)
        yield from bench.verify(seconds, known, rounds)


class Bench:
    """The programs of one case on the disk, and their runs."""

    def __init__(self, case: Case, setup: Setup, device: str, folder: Path, on_run: Callable[[str], object]) -> None:
        self.case, self.setup, self.device, self.folder = case, setup, device, folder
        self.on_run = on_run
        self.recordings: dict[int, Recording] = {}
        self.keras_said = ""
        self.is_untrained = False
        self.old_keras = case.old_keras
        self.tried: list[Program] = []

    def verify(self, seconds: float, known: Verification | None, rounds: int | None) -> Iterator[Verification]:
        """Yield what is known after each round; see the function of this name.

        Where Keras 3 says that it cannot run a program, Keras 2 is asked: much code was written for it, and not all
        shows that. Where something has not learned yet, it learns for a few steps, which is left out else. Then the
        other ways to the place are tried, as long as there is time; if none of them leads there, the reason is that of
        the first.
        """
        end = time.monotonic() + seconds
        failure: Verification | None = None
        while True:
            for answer in self._attempt(end, known, rounds):
                if answer.verdict.verdict == "not run":
                    break
                yield answer
            else:
                return
            failure = failure or answer
            if failure is not answer and "'tf_keras'" in answer.verdict.reason:
                install = "`pip install tf_keras` in TensorFlow's environment"
                reason = f"{failure.verdict.reason}; it may run with Keras 2: {install}"
                failure = dataclasses.replace(failure, verdict=dataclasses.replace(failure.verdict, reason=reason))
            if answer.is_cut:
                yield dataclasses.replace(failure, is_cut=True) if self.case.failed else answer
                return
            known = None
            if not self._turns_to_keras_2() and not self._turns_to_training() and not self._takes_another_way(end):
                yield failure
                return

    def _turns(self, **changes: Any) -> bool:
        """Make the programs others that are cut out of the user's code, if there are such and no crash is expected."""
        case = self.case
        if case.experiment is None or case.experiment.only_workload or case.prediction.kind == "crash":
            return False
        case = dataclasses.replace(case, is_calibrated=False, **changes)
        try:
            self.case = dataclasses.replace(case, pair=pair_of(case))
        except (NotExtractable, InputError):
            return False
        return True

    def _turns_to_keras_2(self) -> bool:
        """Make the programs those that run with Keras 2, if that may help."""
        pair = self.case.pair
        is_old = pair is not None and f"{OLD_KERAS}.py" in pair.before.files
        if not self.keras_said or is_old or not self._turns(old_keras=f"the error with Keras 3: {self.keras_said}"):
            return False
        self.keras_said = ""
        return True

    def _turns_to_training(self) -> bool:
        """Make the programs those that train first, if that may help."""
        return self.is_untrained and not self.case.trains and self._turns(trains=True)

    def _takes_another_way(self, end: float) -> bool:
        """Make the programs those that get to the place in another way, if there is one and time for it."""
        case = self.case
        if end - time.monotonic() < _SHORTEST_ATTEMPT or case.prediction.kind == "crash":
            return False
        while case.pair is not None and case.pair.approach is not None and len(case.failed) < _MOST_WAYS:
            self.tried.append(case.pair.before)
            # What ended elsewhere is past what Keras 3 refuses, and other ways come by there, too.
            old_keras = self.old_keras if self.keras_said else case.old_keras
            case = dataclasses.replace(
                case, failed=(*case.failed, case.pair.approach), old_keras=old_keras, is_calibrated=False
            )
            try:
                case = dataclasses.replace(case, pair=pair_of(case))
            except (NotExtractable, InputError):
                return False
            if case.pair is not None and case.pair.before not in self.tried:
                self.case, self.keras_said = case, ""
                return True
        return False

    def _attempt(self, end: float, known: Verification | None, rounds: int | None) -> Iterator[Verification]:
        pair = self.case.pair
        assert pair is not None and self.case.experiment is not None
        self._keep(pair)
        if self.case.experiment.calibrates and not self.case.is_calibrated:
            outcome = self.run(pair.before.write(self.folder / "calibration"), self._limits(end))
            producer = outcome.result.notes.get("producer") if outcome.result else None
            if not isinstance(producer, float):
                yield self._stopped(self._with_place(sample_of(outcome, None), outcome), "the pipeline")
                return
            pair = pair_of(self.case, f"tflint_measure.CONSUMER_SECONDS = {producer:.6f}")
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
        for answer in self._measured(before, after, wanted - len(samples), seconds):
            if answer.before is None or answer.after is None or answer.budget_spent:
                yield self._cut(samples)
                return
            pair = (self._sampled(answer.before), self._sampled(answer.after))
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
        """Alternating rounds where steps are timed on the CPU; else, or where both do not fit at once, one by one."""
        end = time.monotonic() + seconds
        if alternates(self.case, self.setup):
            with contextlib.closing(
                run_alternating(before, after, count, seconds, self._own_limits, self._start)
            ) as rounds:
                for round in rounds:
                    if {sample.status for sample in (round.before, round.after) if sample} & _OUT_OF_MEMORY:
                        break
                    yield round
                    count -= 1
                else:
                    return
        yield from run_rounds(before, after, count, end - time.monotonic(), self._own_limits, run=self.run)

    def _start(self, script: Path, limits: Limits) -> AbstractContextManager[Running]:
        self.on_run(script.relative_to(self.folder).parts[0])
        return running(script, limits, self._place("cpu"), alternates=True)

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
        before, after = zip(*samples, strict=True)
        device = self.device if self._uses_its_device((*before, *after)) else "cpu"
        prediction = self._prediction_for(device)
        verdict = judge(
            prediction,
            rounds,
            exceptions=exceptions,
            until_decided=until_decided,
            smallest_gain=self.case.smallest_gain,
        )
        is_open = verdict.verdict == "inconclusive"
        remarks = remarks_on(self.case, samples)
        if any(remark.startswith(MADE_UP) for remark in remarks):
            expected = exceptions if self.case.prediction.kind == "crash" else ()
            verdict = with_stand_ins(verdict, rounds, expected)
        reason = verdict.reason + aside(*samples[0]) + "".join(f"; {remark}" for remark in remarks)
        verdict = dataclasses.replace(verdict, reason=reason)
        if self.case.experiment.only_workload and verdict.verdict != "not run":
            verdict = verdict.as_reference()
        return Verification(self.case, verdict, device, before, after, is_open=is_open, compared=prediction)

    def _prediction_for(self, device: str) -> Prediction:
        """What is predicted for a device; the size of the user's step says nothing of a rule's own workload."""
        assert self.case.experiment is not None
        if self.case.experiment.only_workload:
            return dataclasses.replace(self.case.prediction, on_cpu=None)
        return self.case.prediction.measured_on(device, cores())

    def _uses_its_device(self, samples: Sequence[Sample]) -> bool:
        """Whether anything was computed on a card, or none reported it; where no step is timed it does not matter."""
        reported = [sample.used_devices for sample in samples if sample.used_devices]
        is_timed = self.case.prediction.kind in ("slowdown", "no-effect")
        return not is_timed or not reported or any(name.startswith("GPU") for used in reported for name in used)

    def _compared(self, run: outcomes.Run) -> outcomes.Run:
        """The run without its outputs, where the repair may compute something else."""
        assert self.case.experiment is not None
        return run if self.case.experiment.same_outputs else dataclasses.replace(run, outputs=None)

    def _fault(self, before: Sample, after: Sample) -> Verification | None:
        """A program that fails where no failure was predicted will fail again: no need to go on."""
        assert self.case.experiment is not None
        is_hidden = before.notes.get("gpus") == [] and self.case.prediction.kind != "wrong-device"
        if self.device != "cpu" and (is_hidden or after.notes.get("gpus") == []):
            reason = "a GPU was chosen, but TensorFlow lists none in the program, so everything ran on the CPU"
            return Verification(self.case, Verdict("not run", reason), "cpu", (before,), (after,), gpu_unused=True)
        expected = self.case.prediction.kind == "crash"
        crash = before.run.crash
        foreign = crash is not None and crash.exception.rpartition(".")[2] in EXTRACTION_FAULTS
        if before.run.fault is not None and (not expected or foreign):
            return self._stopped(before, "the flagged program")
        if after.run.fault is not None and not expected:
            return self._stopped(after, "the fixed program")
        return None

    def _stopped(self, sample: Sample, what: str) -> Verification:
        crash = sample.run.crash
        said = sample.run.fault or "it wrote no result"
        if crash is not None and crash.exception.endswith(EMPTY):
            text = f"the data is empty: {crash.text}{remedy(sample)}"
        elif crash is not None and crash.exception.endswith(NEVER_RUN):
            text = f"in {what}, {crash.text}"
        else:
            text = f"{what} did not finish: {said}{remedy(sample)}"
        text += "".join(f"; {remark}" for remark in remarks_on(self.case, [(sample, sample)]))
        return Verification(self.case, Verdict("not run", text), self.device, (sample,))

    def _limits(self, end: float) -> Limits:
        return self._own_limits.within(end - time.monotonic())

    @property
    def _own_limits(self) -> Limits:
        """What a program may use; one that measures tells when it has imported TensorFlow."""
        pair = self.case.pair
        imports = pair is not None and f"{HARNESS}.py" in pair.before.files
        return dataclasses.replace(self.setup.limits, import_seconds=LONGEST_IMPORT if imports else 0.0)

    def run(self, script: Path, limits: Limits) -> Outcome:
        """Run one program and watch the card meanwhile."""
        self.on_run(script.relative_to(self.folder).parts[0])
        gpu = self.setup.gpu if self.device != "cpu" else None
        if gpu is None or self.case.experiment is None:
            return run_program(script, limits, self._place("cpu"))
        place = self._place(self.setup.shown_for(self.case.experiment.requires))
        with Watch(gpu) as watch:
            outcome = run_program(script, limits, place, on_start=lambda pid: watch.follow([pid]))
        self.recordings[id(outcome)] = windowed(watch.recording, outcome)
        return outcome

    def _place(self, device: str) -> Place:
        return Place(self.setup.python, device, self.setup.sandbox)

    def _sampled(self, outcome: Outcome) -> Sample:
        sample = self._with_place(sample_of(outcome, self.recordings.pop(id(outcome), None)), outcome)
        if self.case.prediction.kind != "memory":
            return sample
        on_card = sample.recording.memory if sample.recording is not None else None
        held = sample.host_memory or None if "host" in self.case.prediction.applies else on_card
        return dataclasses.replace(sample, run=dataclasses.replace(sample.run, memory=held))

    def _with_place(self, sample: Sample, outcome: Outcome) -> Sample:
        """The sample with the user's line that raised, unless that is the flagged one."""
        crash, experiment = sample.run.crash, self.case.experiment
        if crash is not None and any(may_concern(outcome.stderr, package) for package in ("keras", "tf_keras")):
            self.keras_said = f"{crash.exception}: {crash.text.partition(chr(10))[0]}"
        self.is_untrained |= crash is not None and is_untrained(crash.text)
        if crash is None:
            return sample
        path, code = crash_line(outcome.stderr, self.folder)
        crash = dataclasses.replace(crash, line=(path.as_posix(), code))
        if experiment is not None and experiment.file is not None:
            files = (experiment.file, *(model.file for model in self.case.entries))
            place = crash_place(outcome.stderr, self.folder, [file.source for file in files], self.case.diagnostic)
            crash = dataclasses.replace(crash, place=place)
        run = dataclasses.replace(sample.run, crash=crash)
        return dataclasses.replace(sample, run=run)

    def _keep(self, pair: Pair) -> None:
        if self.setup.keep is None:
            return
        folder = kept_folder(self.setup.keep, self.case.diagnostic, self.case.variant)
        for variant, program in (("before", pair.before), ("after", pair.after)):
            program.write(folder / variant)
