"""How long the whole run is of which a program of `tflint-gpu verify` measures a part; see `tflint_measure`.

A step that is traced for each shape takes that long again for each shape of the data, of which the measured part sees
a few. So the data is gone through once, for a while, and steps of some shapes that were not seen are timed alone.
"""

from __future__ import annotations

import json
import os
import statistics
import sys
import time
from collections.abc import Callable, Hashable, Iterable, Iterator
from typing import Any

# Before TensorFlow, which reads the level of its log when it is imported.
from tflint_outcome import QUESTIONS, synchronize

MOST_SECONDS, MOST_UNSEEN = 1.0, 4
LONGEST_WAIT = 10.0  # for data that takes long to begin again, and for traces
_FEWEST_TRACES = 2  # of which the first builds and the second may relax the shapes

_IS_WANTED: list[bool] = []
_PASSES: dict[Any, int | None] = {}


def whole_run() -> None:
    """The loop is the user's, and the loops around it tell how often it is run."""
    _IS_WANTED.append(True)


def around(goes_over: Any, is_counted: bool = True) -> Any:
    """What a loop around the measured one goes over, or its condition, as it is."""
    frame = sys._getframe(1)
    try:
        count = len(goes_over) if is_counted else None
    except TypeError:
        count = None
    _PASSES[frame.f_code, frame.f_lineno] = count
    return goes_over


class Whole:
    """The data of a loop, gone through once after the measurement.

    Arguments:
        data: what the loop goes over.
        taken: elements of it that are gone where it is an iterator.
        shapes: of an element, as far as a step is traced for it.
    """

    def __init__(self, data: Iterable[Any], taken: int, shapes: Callable[[Any], Hashable]) -> None:
        self._data, self._shapes = data, shapes
        self._steps = taken if iter(data) is data else 0
        self._is_counted = False
        self._seen, self._left = 0, MOST_UNSEEN
        self._all: set[Hashable] = set()

    def unseen(self, known: set[Hashable], fresh: list[float]) -> Iterator[Any]:
        """Elements of shapes that were not seen, whose steps are timed; what is known of an earlier round is read.

        Arguments:
            known: the shapes that were seen.
            fresh: seconds of the steps that had a new shape; these get more.
        """
        self._all |= known
        self._seen = len(fresh)
        if not _IS_WANTED or _earlier():
            return
        began = time.monotonic()
        for element in self._data:
            self._steps += 1
            shapes = self._shapes(element)
            if shapes not in self._all and self._left:
                self._left -= 1
                synchronize()
                start = time.perf_counter()
                yield element
                synchronize()
                fresh.append(time.perf_counter() - start)
                began += fresh[-1]
            self._all.add(shapes)
            if time.monotonic() - began > MOST_SECONDS:
                return
        self._is_counted = True

    def note(self, fresh: list[float], usual: float, samples: int) -> dict[str, Any]:
        """What is to be known of the whole run: nothing where its length is not known.

        Arguments:
            usual: seconds of a step whose shape was seen before.
            samples: of a step.
        """
        if not _IS_WANTED:
            return {}
        known = _earlier()
        if known is None:
            steps = self._steps if self._is_counted else None
            for count in _PASSES.values():
                steps = None if steps is None or count is None else steps * count
            traces = [max(0.0, seconds - usual) for seconds in fresh]
            later = traces[_FEWEST_TRACES:] or traces[1:]
            trace = statistics.median(later) if later else 0.0
            known = {"steps": steps, "shapes": len(self._all), "seen": self._seen, "trace": trace, "samples": samples}
            if QUESTIONS:
                with open(f"{QUESTIONS}/{_KNOWN}", "w") as file:
                    json.dump(known, file)
        return {"whole": known}


_KNOWN = "whole"


def _earlier() -> dict[str, Any] | None:
    """What an earlier round, a fork of the same process, has found out."""
    if not QUESTIONS or not os.path.exists(f"{QUESTIONS}/{_KNOWN}"):
        return None
    with open(f"{QUESTIONS}/{_KNOWN}") as file:
        known: dict[str, Any] = json.load(file)
    return known
