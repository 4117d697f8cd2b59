"""Two programs that alternate: who computes when, what a round of them is, and that nothing of them is left."""

from __future__ import annotations

import contextlib
import functools
import os
import textwrap
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from pathlib import Path

import pytest

from tflint_gpu.verify.execution import alternation
from tflint_gpu.verify.execution.alternation import run_alternating
from tflint_gpu.verify.execution.rounds import Round
from tflint_gpu.verify.execution.sandbox import Limits
from tflint_gpu.verify.execution.worker import Running, running

# As tflint_measure does it, without TensorFlow.
CLIENT = """
import json, os, sys, threading, time
def ask(what):
    number, folder = time.monotonic_ns(), os.environ["TFLINT_GPU_QUESTIONS"]
    with open(f"{folder}/asked.new", "w") as file:
        file.write(f"{number} {what}")
    os.replace(f"{folder}/asked.new", f"{folder}/asked")
    while not os.path.exists(f"{folder}/answer-{number}"):
        time.sleep(0.001)
    return open(f"{folder}/answer-{number}").read()
def say(text):
    with open(LOG, "a") as file:
        file.write(text + "\\n")
say(f"{NAME} starts")
while ask("round") == "go":
    if os.fork() == 0:
        break
    code = os.waitstatus_to_exitcode(os.wait()[1])
    if code:
        os._exit(code)
blocks = []
def finish():
    with open(os.environ["TFLINT_GPU_RESULT"], "w") as file:
        json.dump({"steps": [], "blocks": blocks, "outputs": None, "dtype": None, "devices": [], "notes": {}}, file)
    os._exit(0)
"""
BLOCKS = """
ask("loop")
say(f"{NAME} warms up")
while ask("block") == "go":
    say(f"{NAME} begins")
    blocks.append(0.5)
    say(f"{NAME} ends")
finish()
"""

Start = Callable[[str, str], Iterator[Round]]


@pytest.fixture
def log(tmp_path: Path) -> Path:
    path = tmp_path / "log"
    path.touch()
    return path


@pytest.fixture
def alternating(tmp_path: Path, log: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., Iterator[Round]]:
    """Run two programs in rounds of three pairs of blocks."""
    monkeypatch.setattr(alternation, "FEWEST_PAIRS", 3)
    monkeypatch.setattr(alternation, "LEAST_SECONDS", 0.0)

    def run(before: str, after: str, rounds: int = 1, seconds: float = 60.0) -> Iterator[Round]:
        paths = []
        for name, code in (("before", before), ("after", after)):
            path = tmp_path / f"{name}.py"
            path.write_text(f"NAME, LOG = {name!r}, {str(log)!r}\n{CLIENT}{textwrap.dedent(code)}")
            paths.append(path)
        start: Callable[[Path, Limits], AbstractContextManager[Running]] = functools.partial(running, alternates=True)
        return run_alternating(*paths, rounds, seconds, Limits(), start)

    return run


def test_only_one_computes_and_the_order_swaps(alternating: Callable[..., Iterator[Round]], log: Path) -> None:
    """Protects what a busy machine does from meeting one program only: neighbours in time, and neither always first."""
    one, other = alternating(BLOCKS, BLOCKS, rounds=2)
    assert one.before is not None and one.after is not None and other.after is not None
    assert [len(outcome.result.blocks) for outcome in (one.before, one.after, other.after) if outcome.result] == [3] * 3
    lines = [line for line in log.read_text().splitlines() if "starts" not in line]
    first, second = lines[: len(lines) // 2], lines[len(lines) // 2 :]
    order = ["before", "after", "after", "before", "before", "after"]
    assert first == ["before warms up", "after warms up"] + [
        f"{name} {what}" for name in order for what in ("begins", "ends")
    ]
    swapped = {"before": "after", "after": "before"}
    assert second == [f"{swapped[line.split()[0]]} {line.partition(' ')[2]}" for line in first]
    assert log.read_text().count("starts") == 2, "one import for both rounds"


def test_what_comes_before_the_loop_is_done_at_the_same_time(
    alternating: Callable[..., Iterator[Round]], log: Path
) -> None:
    """Protects the budget: data and models of both programs are made together, and what is timed is not disturbed."""
    meets = """
    say(f"{NAME} makes data")
    while open(LOG).read().count("makes data") < 2:
        time.sleep(0.001)
    """
    (found,) = alternating(textwrap.dedent(meets) + BLOCKS, textwrap.dedent(meets) + BLOCKS)
    assert found.before is not None and found.before.status == "finished"
    lines = log.read_text().splitlines()
    assert lines[4:8] == ["before warms up", "after warms up", "before begins", "before ends"]


@pytest.mark.slow
def test_slow_steps_are_measured_in_the_time_that_there_is(alternating: Callable[..., Iterator[Round]]) -> None:
    """Protects a verdict on steps of many seconds: each program hears how long it may warm up, and none starts in vain."""
    slow = """
    until = time.monotonic() + float(ask("loop").split()[1])
    while time.monotonic() < until:
        time.sleep(0.01)
    while ask("block") == "go":
        time.sleep(1.5)
        blocks.append(1.5)
    finish()
    """
    (found,) = alternating(textwrap.dedent(slow), textwrap.dedent(slow), seconds=16.0)
    results = [outcome.result for outcome in (found.before, found.after) if outcome is not None]
    assert not found.budget_spent and all(result is not None and result.blocks for result in results)


def test_who_waits_is_stopped(alternating: Callable[..., Iterator[Round]], log: Path) -> None:
    """Protects pipelines from being measured with what their threads made ahead while the other program ran."""
    busy = "\ndef work():\n    while True:\n        say(f'{NAME} works ahead')\n        time.sleep(0.001)\n"
    busy += "threading.Thread(target=work, daemon=True).start()\n"
    list(alternating(busy + BLOCKS, BLOCKS))
    text = log.read_text()
    assert "before works ahead" in text
    for block in text.split("after begins\n")[1:]:
        assert "before works ahead" not in block.partition("after ends")[0]


def test_a_program_that_ends_ends_its_round(alternating: Callable[..., Iterator[Round]], log: Path) -> None:
    """Protects the reason of a failure, and the other program from waiting for ever; the next round starts again."""
    failing = "\nask('block')\nraise LookupError('gone')\n"
    rounds = list(alternating(failing, BLOCKS, rounds=2))
    for found in rounds:
        assert found.before is not None and found.after is not None
        assert (found.before.status, found.before.exception, found.before.text) == ("raised", "LookupError", "gone")
        assert found.after.status == "finished" and not found.budget_spent
    assert log.read_text().count("before starts") == 2 and log.read_text().count("after starts") == 1


def test_a_program_that_never_asks_runs(tmp_path: Path) -> None:
    """Protects programs without anything that is measured in steps."""
    path = tmp_path / "plain.py"
    path.write_text("print('hello')\n")
    (found,) = run_alternating(path, path, 1, 60.0, Limits(), functools.partial(running, alternates=True))
    assert found.before is not None and found.before.status == "no result" and found.before.stdout == "hello\n"


@pytest.mark.slow
def test_a_program_that_hangs_is_told_from_a_spent_budget(alternating: Callable[..., Iterator[Round]]) -> None:
    """Protects the reason: a limit of its own is no end of the budget."""
    hanging = "\nask('block')\ntime.sleep(60)\n"
    (found,) = alternating(hanging, BLOCKS, seconds=3.0)
    assert found.before is not None and found.before.status == "timed out" and found.budget_spent


def test_nothing_is_left_when_nobody_wants_more(
    alternating: Callable[..., Iterator[Round]], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Protects the machine: also a program that is stopped ends with the generator, as on Ctrl-C."""
    pids: list[int] = []
    resume = Running.resume

    def watched(program: Running, seconds: float) -> None:
        assert program._process is not None
        pids.append(program._process.pid)
        resume(program, seconds)

    monkeypatch.setattr(Running, "resume", watched)
    rounds = alternating(BLOCKS, BLOCKS, rounds=9)
    next(rounds)
    with contextlib.closing(rounds):  # type: ignore[type-var]
        assert all(_lives(pid) for pid in set(pids)) and len(set(pids)) == 2
    assert not any(_lives(pid) for pid in set(pids))


def _lives(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True
