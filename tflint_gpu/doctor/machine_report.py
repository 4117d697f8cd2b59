"""All diagnoses of a machine in the order of what to do first, the verdict, and the next step."""

from __future__ import annotations

from collections.abc import Iterator

from tflint_gpu.doctor import machine, software
from tflint_gpu.doctor.diagnosis import Check, Diagnosis
from tflint_gpu.doctor.facts import Facts, Operation
from tflint_gpu.lazy_dataclasses import dataclass

WORKS, WRONG, FAILED, NO_GPU = 0, 1, 2, 3

# In the order in which they are to be fixed: what is below cannot be judged before what is above is right.
_CHECKS: tuple[Check, ...] = (
    machine.of_the_driver,
    machine.of_the_container,
    machine.of_the_job,
    software.of_hiding,
    machine.of_cuda,
    software.of_shadows,
    software.of_tensorflow,
    software.of_the_build,
    software.of_keras,
    software.of_the_backend,
    software.of_the_libraries,
    machine.of_the_cards,
    software.of_xla,
    software.of_operations,
    machine.of_a_machine_without_cards,
    software.of_the_libraries_for_another_machine,
)
_NO_REASON = "TFG923"  # TensorFlow lists no GPU, and nothing says why
_NO_CARD = "TFG924"
_AND_NO_CARD = "this machine has no NVIDIA GPU: TensorFlow will compute on the CPU"
_RANKS = {"error": 0, "warning": 1, "info": 2}


@dataclass(frozen=True, slots=True)
class MachineReport:
    """What is to be said of a machine.

    Arguments:
        facts: on which it rests.
        diagnoses: the first to be fixed first.
    """

    facts: Facts
    diagnoses: tuple[Diagnosis, ...]

    @property
    def exit_code(self) -> int:
        """0 a GPU works, 1 something is wrong, 2 nothing could be seen, 3 there is no GPU and no error."""
        tensorflow = self.facts.tensorflow
        if self.facts.silent and not self.facts.installation.python and (tensorflow is None or not tensorflow.version):
            return FAILED
        if any(diagnosis.severity == "error" for diagnosis in self.diagnoses):
            return WRONG
        if self._done:
            return WORKS
        return WRONG if self.facts.survey.gpus else NO_GPU

    @property
    def _done(self) -> list[Operation]:
        """What ran on a card."""
        return [
            operation
            for operation in self.facts.operations
            if operation.status == "answered" and "GPU" in operation.ran_on
        ]

    @property
    def verdict(self) -> str:
        """One honest line on whether a GPU does TensorFlow's work."""
        facts, done = self.facts, self._done
        if done:
            devices = sorted({operation.device for operation in done})
            names = ", ".join(dict.fromkeys(operation.name for operation in done))
            return f"TensorFlow computes on {', '.join(devices)}: {names} ran there."
        if hidden := next((shadow for shadow in facts.shadows if shadow.name == "tensorflow"), None):
            return f"The program imports {hidden.path} in place of TensorFlow."
        if facts.tensorflow is None or not facts.tensorflow.version:
            return "TensorFlow cannot be imported."
        return f"TensorFlow {facts.tensorflow.version} computes on the CPU."

    @property
    def next_step(self) -> str:
        """The one thing to do next."""
        if not self.diagnoses or (self._done and self.diagnoses[0].severity == "info"):
            return "There is nothing to do here; `tflint-gpu check` examines the code."
        first = self.diagnoses[0]
        what = first.command or first.remedy
        if first.severity == "info":
            return f"nothing to do, because {first.means[0].lower()}{first.means[1:]}"
        place = f"{first.filename}:{first.row}" if first.filename else ""
        besides = "; ".join(filter(None, [place, _AND_NO_CARD if self._lacks_cards else ""]))
        return f"{what} ({besides})" if besides else what

    @property
    def sentence(self) -> str:
        """The first diagnosis, and what to do about it."""
        first = next(iter(self.diagnoses), None)
        if first is None:
            return "the reason is not known; `tflint-gpu doctor` examines the machine more closely"
        location = f"{first.filename}:{first.row}: " if first.filename else ""
        todo = f". Next: {self.next_step}" if first.severity != "info" else ""
        return f"{first.code} {first.name}: {location}{first.seen}{todo}"

    @property
    def _lacks_cards(self) -> bool:
        return any(diagnosis.code == _NO_CARD for diagnosis in self.diagnoses)


def report_on(facts: Facts) -> MachineReport:
    """Judge what was seen."""
    diagnoses = list(dict.fromkeys(_all(facts)))
    if any(diagnosis.severity == "error" and diagnosis.code != _NO_REASON for diagnosis in diagnoses):
        diagnoses = [diagnosis for diagnosis in diagnoses if diagnosis.code != _NO_REASON]
    return MachineReport(facts, tuple(sorted(diagnoses, key=lambda diagnosis: _RANKS[diagnosis.severity])))


def _all(facts: Facts) -> Iterator[Diagnosis]:
    for check in _CHECKS:
        yield from check(facts)
    for what, how in facts.silent:
        if what == "TensorFlow" and facts.installation.python:
            continue  # its import is said to have failed
        yield Diagnosis("TFG930", f"probing {what}: {how}")
