"""All diagnoses of a machine in the order of what to do first, the verdict, and the next step."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from tflint_gpu.doctor import machine, software
from tflint_gpu.doctor.diagnosis import Check, Diagnosis
from tflint_gpu.doctor.facts import Facts

WORKS, WRONG, FAILED, NO_GPU = 0, 1, 2, 3

# In the order in which they are to be mended: what is below cannot be judged before what is above is right.
_CHECKS: tuple[Check, ...] = (
    machine.of_the_driver,
    machine.of_the_container,
    machine.of_the_job,
    software.of_hiding,
    software.of_tensorflow,
    software.of_the_build,
    software.of_keras,
    software.of_the_libraries,
    machine.of_the_cards,
    software.of_xla,
    software.of_operations,
    machine.of_a_machine_without_cards,
)
_REASONS = frozenset(f"TFG{number}" for number in range(901, 930)) - {"TFG923"}
_RANKS = {"error": 0, "warning": 1, "info": 2}


@dataclass(frozen=True, slots=True)
class Opinion:
    """What is to be said of a machine.

    Arguments:
        facts: on which it rests.
        diagnoses: the first to be mended first.
    """

    facts: Facts
    diagnoses: tuple[Diagnosis, ...]

    @property
    def exit_code(self) -> int:
        """0 a GPU works, 1 something is wrong, 2 nothing could be seen, 3 there is no GPU and none was expected."""
        if any(one.severity == "error" for one in self.diagnoses):
            return WRONG
        if self._used:
            return WORKS
        return (
            NO_GPU
            if any(one.code == "TFG924" for one in self.diagnoses)
            else WRONG
            if self.facts.survey.gpus
            else NO_GPU
        )

    @property
    def _used(self) -> bool:
        done = [one for one in self.facts.operations if one.status == "answered" and "GPU" in one.ran_on]
        return bool(done)

    @property
    def verdict(self) -> str:
        """One honest line on whether a GPU does TensorFlow's work."""
        facts = self.facts
        if self._used:
            devices = sorted({one.device for one in facts.operations if "GPU" in one.ran_on})
            names = ", ".join(dict.fromkeys(one.name for one in facts.operations if "GPU" in one.ran_on))
            return f"TensorFlow computes on {', '.join(devices)}: {names} ran there."
        if facts.tensorflow is None or not facts.tensorflow.version:
            return "TensorFlow cannot be imported, so it computes nowhere."
        return f"TensorFlow {facts.tensorflow.version} computes on the CPU."

    @property
    def next_step(self) -> str:
        """The one thing to do next."""
        if not self.diagnoses or (self._used and self.diagnoses[0].severity == "info"):
            return "Nothing is to be done here; `tflint-gpu check` looks at the code."
        first = self.diagnoses[0]
        what = first.command or first.remedy
        where = f" ({first.filename}:{first.row})" if first.filename else ""
        return f"{what}{where}" if first.severity != "info" else f"nothing: {first.means[0].lower()}{first.means[1:]}"


def opinion(facts: Facts) -> Opinion:
    """Judge what was seen."""
    found = list(dict.fromkeys(_all(facts)))
    if any(one.code in _REASONS and one.severity == "error" for one in found):
        found = [one for one in found if one.code != "TFG923"]  # it has a reason
    return Opinion(facts, tuple(sorted(found, key=lambda one: _RANKS[one.severity])))


def _all(facts: Facts) -> Iterator[Diagnosis]:
    for check in _CHECKS:
        yield from check(facts)
    for what, how in facts.silent:
        yield Diagnosis("TFG930", f"looking at {what}: {how}")
