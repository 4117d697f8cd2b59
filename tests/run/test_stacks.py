"""The sampler reads the stacks of threads that go on meanwhile: as Python has them, and without end by a bad one."""

from __future__ import annotations

import json
import os
import sys
import threading
from collections.abc import Iterator
from types import FrameType

import pytest

from tflint_gpu.run import tflint_sample
from tflint_gpu.run.tflint_sample import Code, Sampler


def waiting(depth: int, event: threading.Event) -> Iterator[int]:
    if depth:
        yield from waiting(depth - 1, event)
    else:
        event.wait()
    yield depth


def test_each_thread_has_the_stack_that_its_frames_have() -> None:
    """Protects from mixing up threads, which are all read in one go."""
    event, threads = threading.Event(), []
    for depth in (0, 3, 40):
        threads.append(threading.Thread(target=lambda depth=depth: list(waiting(depth, event))))
        threads[-1].start()
    try:
        while not all(is_waiting(sys._current_frames().get(one.ident or 0)) for one in threads):
            pass
        found = tflint_sample._stacks()
        for one in threads:
            frame: FrameType | None = sys._current_frames()[one.ident or 0]
            expected = []
            while frame is not None:
                expected.append((frame.f_code, frame.f_lineno))
                frame = frame.f_back
            assert [(code, Code(code).row(at)) for code, at in found[one.ident or 0]] == expected
        assert threading.get_ident() in found
    finally:
        event.set()


def is_waiting(frame: FrameType | None) -> bool:
    return frame is not None and frame.f_code is threading.Condition.wait.__code__


def test_a_stack_that_cannot_be_read_costs_one_sample(monkeypatch: pytest.MonkeyPatch) -> None:
    """Protects the rest of a run of hours, and the program's standard error from a traceback of ours."""
    real, calls = tflint_sample._stacks, []

    def broken() -> object:
        calls.append(1)
        return real() if len(calls) > 1 else [None]

    monkeypatch.setattr(tflint_sample, "_stacks", broken)
    reading, writing = os.pipe()
    sampler = Sampler(0.001, False)
    sampler.begin(writing)
    with os.fdopen(reading) as told:
        assert any(json.loads(line)[0] == "T" for line in told)  # waits for the next sample
        sampler.stop()
    os.close(writing)
    assert len(calls) > 1
