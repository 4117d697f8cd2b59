"""What runs of the flagged and the repaired code showed: plain data, from `worker` to `statistics` and the report."""

from __future__ import annotations

import re

from tflint_gpu.lazy_dataclasses import dataclass
from tflint_gpu.verify.statistics.outputs import Outputs


@dataclass(frozen=True, slots=True)
class Crash:
    """An exception that ended a run.

    Arguments:
        exception: the name of its type, with or without its module.
        text: its own.
        during: what `verify` did when it was raised, as part of a sentence; empty where the program ran by itself.
        place: of the user's line that raised it, where that is not the flagged one.
        line: that line, after the file of the program that has it; two empty texts where there is none.
        lacks_variable: whether the environment did not have a variable that was asked for.
    """

    exception: str
    text: str = ""
    during: str = ""
    place: str = ""
    line: tuple[str, str] = ("", "")
    lacks_variable: bool = False


@dataclass(frozen=True, slots=True)
class Placement:
    """Where a run asked to compute (`/GPU:0`; None: nowhere in particular) and the devices of what it then computed."""

    asked: str | None
    landed: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class WholeRun:
    """The loop of which some steps were measured.

    Arguments:
        steps: that it has, in all its runs.
        shapes: that its data has.
        trace: seconds that a step takes more the first time with another shape.
        first: seconds that the first step takes more.
        samples: that a step handles; times are those of a sample.
    """

    steps: int
    shapes: int
    trace: float
    first: float
    samples: int = 1

    @property
    def traces(self) -> float:
        """Seconds of a sample that all shapes but the first take more."""
        return self.trace * (self.shapes - 1) / self.steps / self.samples

    def seconds(self, sample: float) -> float:
        """Of all of it, by those of a sample, traces included."""
        return self.first + self.steps * self.samples * sample


@dataclass(frozen=True, slots=True)
class Run:
    """What one process of one variant showed; what was not looked at stays None.

    Arguments:
        seconds: of a step: the median of its blocks, or of its steps. Only finite positive numbers count.
        blocks: seconds of a step in each block that it measured while the other program waited; none where none did.
        crash: the exception that the user's code ended with.
        failure: why the run says nothing on the prediction (out of time, killed), as part of a sentence.
        memory: bytes that the process held on the card.
        outputs: what it computed from the seed and inputs that both variants share.
        wrong: what the harness found wrong with the result by itself (`the gradient is None`).
        placement: where it asked to compute and where it did.
        whole: of which it measured a part, where that is known; `seconds` and `blocks` have their share of its traces.
    """

    seconds: float | None = None
    blocks: tuple[float, ...] = ()
    crash: Crash | None = None
    failure: str | None = None
    memory: int | None = None
    outputs: Outputs | None = None
    wrong: str | None = None
    placement: Placement | None = None
    whole: WholeRun | None = None

    @property
    def fault(self) -> str | None:
        """Why this run did not end well, None if it did."""
        if self.crash is not None:
            said = f"{self.crash.exception}: {_telling_line(self.crash.text)}".rstrip(": .")
            return f"{said} ({self.crash.place})" if self.crash.place else said
        return self.failure


@dataclass(frozen=True, slots=True)
class Round:
    """One run of the flagged code and one of the repaired code, made one after the other."""

    before: Run
    after: Run


def landed_as_asked(placement: Placement) -> bool:
    """Whether anything ran on the device asked for; TensorFlow keeps some small operations on the CPU in any case."""
    if placement.asked is None:
        return True
    kind, index = _device(placement.asked)
    return any(kind == name and index in (None, number) for name, number in map(_device, placement.landed))


def _device(name: str) -> tuple[str, str | None]:
    """`/job:localhost/replica:0/task:0/device:GPU:1` and `/gpu:1` are both ("gpu", "1")."""
    match = re.search(r"(?:^|[/:])([a-z_]+)(?::(\d+|\*))?$", name.lower())
    if match is None:
        return name.lower(), None
    return match[1], None if match[2] == "*" else match[2]


_STYLE = re.compile(r"\x1b\[\d*m")


def _telling_line(text: str) -> str:
    """The first line; the last one where AutoGraph puts the way to the error before it, and what Keras quotes."""
    lines = [line.strip() for line in _STYLE.sub("", text).splitlines() if line.strip()]
    if len(lines) > 1 and (lines[0].startswith("Exception encountered when") or lines[0].endswith("encountered:")):
        return _telling_line("\n".join(lines[1:]))
    if not lines or not lines[0].startswith("in user code"):
        return lines[0] if lines else ""
    return re.sub(r"^[\w.]+(?:Error|Exception)?: ", "", lines[-1])
