"""The sampler reads the stacks of threads that go on meanwhile: as Python has them, and without end by a bad one."""

from __future__ import annotations

import gc
import inspect
import json
import os
import sys
import threading
from collections.abc import Iterator
from types import FrameType

import pytest

from tflint_gpu.run.inside import tflint_sample
from tflint_gpu.run.inside.tflint_sample import Code, Sampler


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


@pytest.mark.parametrize("collects", [True, False])
def test_no_garbage_is_collected_while_stacks_are_read(collects: bool) -> None:
    """Protects from a program that stands still for ever: what is freed there may wait for what the reading holds."""
    begun: list[str] = []
    lines, first = inspect.getsourcelines(tflint_sample._stacks)

    def tell(phase: str, _: object) -> None:
        frame = sys._getframe(1)
        if phase == "start" and frame.f_code is tflint_sample._stacks.__code__:
            begun.append(lines[frame.f_lineno - first].strip())

    before, was = gc.get_threshold(), gc.isenabled()
    (gc.enable if collects else gc.disable)()
    try:
        gc.callbacks.append(tell)
        gc.set_threshold(1)
        for _ in range(50):
            deep(30)
        assert gc.isenabled() is collects
    finally:
        gc.set_threshold(*before)
        gc.callbacks.remove(tell)
        (gc.enable if was else gc.disable)()
    assert bool(begun) is collects
    assert not any(line.startswith("seen.extend(") for line in begun)


def deep(depth: int) -> int:
    return deep(depth - 1) if depth else len(tflint_sample._stacks())


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
