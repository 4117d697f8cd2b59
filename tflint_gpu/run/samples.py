"""What the sampler in the program writes, read: places, stacks and samples."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any, Literal

from tflint_gpu.lazy_dataclasses import dataclass

VALIDATING = ("validation", "data of validation")
"""The phases of `fit` on its validation data."""

Waits = Literal["", "blocked", "data", "feed", "read", "execute"]
"""What the main thread does: it runs Python, rests (`blocked`: sleeps, or waits for a file or a lock), waits for the
next element (`data`; `feed` where that waits inside of an operation), for a result of the device (`read`), or is in
TensorFlow's operations (`execute`)."""

_MOST_PROCESSES = 512


@dataclass(frozen=True, slots=True)
class Place:
    """A line of the user's own code, and the function around it.

    Arguments:
        first, last: rows of the function, or of what it is for a module.
    """

    file: str
    row: int
    function: str
    first: int
    last: int


Stack = tuple[Place, ...]
"""The user's own lines on a stack, the innermost first."""


@dataclass(frozen=True, slots=True)
class Sample:
    """What the program did for a span of time.

    Arguments:
        seconds: at its end, on the clock that never runs backwards.
        stack: of the main thread.
        phase: what Keras or TensorFlow does around it; may be empty.
        feeding: the stacks of threads that work for an input pipeline.
        is_main: whether it is of the program itself, and of no process that it started.
    """

    seconds: float
    span: float
    stack: Stack
    phase: str
    waits: Waits
    feeding: tuple[Stack, ...] = ()
    is_main: bool = True


@dataclass(frozen=True, slots=True)
class Memory:
    """What TensorFlow uses of the card's memory, in bytes."""

    used: int
    most: int


@dataclass(frozen=True, slots=True)
class Started:
    """TensorFlow has started in the program.

    Arguments:
        gpus: how many it has.
    """

    gpus: int


@dataclass(frozen=True, slots=True)
class Waited:
    """What TensorFlow's own account of a window says of a step that waits for its input inside of an operation.

    Arguments:
        share: of what is executed there.
    """

    stack: Stack
    phase: str
    share: float


@dataclass(frozen=True, slots=True)
class StepDone:
    """A training step that has ended, or an epoch that begins.

    Arguments:
        kind: "fit", "loop" or "epoch".
        place: the line that calls `fit`, or the step of a loop.
        began: on the samples' clock.
        seconds: that it took; 0 for an epoch.
    """

    kind: str
    place: Place
    began: float
    seconds: float


@dataclass(frozen=True, slots=True)
class Held:
    """How long a thread held Python's lock there."""

    seconds: float
    stack: Stack
    phase: str


@dataclass(frozen=True, slots=True)
class Native:
    """How much of the time the main thread was in a native function.

    Arguments:
        place: the user's line around it.
    """

    share: float
    library: str
    function: str
    place: Place | None


@dataclass(frozen=True, slots=True)
class Told:
    """What a changed setting tells (`inside/tflint_try.py`)."""

    name: str
    value: Any


@dataclass(frozen=True, slots=True)
class Profiled:
    """TensorFlow's profile of some steps has ended.

    Arguments:
        steps: that are in it.
        finished: that the program had run by then.
        profile: the file; empty where there is none.
        why: there is none, or it ended early.
    """

    steps: int
    finished: int
    seconds: float
    profile: str
    why: str


Seen = Sample | Memory | Started | Waited | StepDone | Held | Native | Told | Profiled
"""What a line of the sampler tells."""


class Decoder:
    """Reads the sampler's lines; each process counts its places and stacks by itself.

    Arguments:
        known_as: the place that is shown for one on a stack; None: itself.
    """

    def __init__(self, known_as: Callable[[Place], Place] | None = None) -> None:
        self._known_as = known_as
        self._main: int | None = None
        self._places: dict[int, dict[int, Place]] = {}
        self._stacks: dict[int, dict[int, Stack]] = {}
        self._known: dict[Place, Place] = {}
        self.processes = 0

    def read(self, line: bytes) -> Seen | None:
        """What a line says; None for names and for what makes no sense."""
        try:
            kind, process, *rest = json.loads(line)
            return self._read(kind, process, rest)
        except (ValueError, TypeError, IndexError, KeyError):
            return None

    def _read(self, kind: str, process: int, rest: list[Any]) -> Seen | None:
        if self._main is None:
            self._main = process
        if process not in self._places:
            self.processes += 1
            if len(self._places) >= _MOST_PROCESSES:  # hours of short workers
                gone = next(place for place in self._places if place != self._main)
                del self._places[gone], self._stacks[gone]
            self._places[process], self._stacks[process] = {}, {0: ()}
        if kind == "P":
            place = Place(*rest[1:])
            if self._known_as is not None:
                place = self._known_as(place)
            self._places[process][rest[0]] = self._known.setdefault(place, place)
        elif kind == "S":
            places = self._places[process]
            self._stacks[process][rest[0]] = tuple(places[number] for number in rest[1] if number in places)
        elif kind == "M":
            return Memory(*rest)
        elif kind == "I":
            return Waited(self._stacks[process].get(rest[0], ()), rest[1], float(rest[2]))
        elif kind == "B":
            return StepDone(rest[0], self._places[process][rest[1]], float(rest[2]), float(rest[3]))
        elif kind == "V":
            return Told(str(rest[0]), rest[1]) if process == self._main else None
        elif kind == "X":
            return Profiled(**rest[0])
        elif kind == "G":
            return Started(int(*rest))
        elif kind == "T":
            stacks = self._stacks[process]
            seconds, span, stack, phase, waits, feeding = rest
            feeding = tuple(stacks[number] for number in feeding)
            return Sample(seconds, span, stacks.get(stack, ()), phase, waits, feeding, process == self._main)
        return None
