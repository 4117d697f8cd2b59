"""Waits that Python's lock hides from a thread, and those inside of TensorFlow's operations, are charged all the same."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from tflint_gpu.run.inside.tflint_input import read
from tflint_gpu.run.ledger import Ledger
from tflint_gpu.run.samples import Decoder, Place, Sample, Waited

pytestmark = pytest.mark.slow

HERE = Path(__file__).parent
LINUX = pytest.mark.skipif(sys.platform != "linux", reason="other systems have no timer of a thread's processor time")
WITHIN = 0.15
MOST = 0.5
LENGTHS = ("0.00006", "0.0006", "0.002", "0.023")


def report_on(program: str, folder: Path, *arguments: str) -> tuple[dict[str, Any], dict[str, float]]:
    """The report on one of the programs here, and what it says of itself."""
    shutil.copy(HERE / program, folder)
    output = ["--isolated", "--output-format", "json", "-o", str(folder / "run.json")]
    command = [sys.executable, "-m", "tflint_gpu", "run", *output, program, *arguments]
    environment = {"ELEMENTS_TRUTH": str(folder / "truth.json")}
    with pytest.MonkeyPatch.context() as patch:
        for name, value in environment.items():
            patch.setenv(name, value)
        done = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=900, check=False)
    assert done.returncode == 0, done.stderr
    return json.loads((folder / "run.json").read_text()), json.loads((folder / "truth.json").read_text())


def charged_in_a_loop(seconds: str, folder: Path) -> tuple[Counter[str], dict[str, float]]:
    """What the elements and the body of a loop are charged with, and the processor time that they took."""
    report, truth = report_on("elements.py", folder, seconds)
    charged: Counter[str] = Counter()
    for line in report["lines"]:
        charged[line["function"] or ""] += line["idle"]
    return charged, truth


@LINUX
@pytest.mark.parametrize(
    "seconds", [LENGTHS[0], *(pytest.param(seconds, marks=pytest.mark.slow) for seconds in LENGTHS[1:])]
)
def test_elements_of_any_length_are_charged_in_a_loop(seconds: str, tmp_path: Path) -> None:
    """Protects from a generator that is never charged, as it lets go of Python's lock before a thread could ask for it."""
    charged, truth = charged_in_a_loop(seconds, tmp_path)
    assert charged["elements"] > MOST * truth["elements"], "what it computed at the least"


@LINUX
@pytest.mark.campaign
@pytest.mark.timed
@pytest.mark.parametrize("seconds", LENGTHS)
def test_elements_get_their_share_of_a_loop(seconds: str, tmp_path: Path) -> None:
    """Protects the figure itself. Whoever else wants the processor makes one part of a loop wait longer than another."""
    charged, truth = charged_in_a_loop(seconds, tmp_path)
    share = charged["elements"] / (charged["elements"] + charged["body"])
    true = truth["elements"] / (truth["elements"] + truth["body"])
    assert abs(share - true) < WITHIN * true, (charged, truth)
    assert charged["elements"] > (1 - WITHIN) * truth["elements"]


@LINUX
def test_a_program_that_handles_the_signal_itself_gets_its_own_alone(tmp_path: Path) -> None:
    """Protects a program from signals that nobody sent to it."""
    (tmp_path / "urgent.py").write_text(URGENT)
    command = [sys.executable, "-m", "tflint_gpu", "run", "urgent.py"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=600, check=False)
    assert (done.returncode, done.stdout) == (0, "1\n"), done.stderr


URGENT = """\
import os, signal, time
seen = []
signal.signal(signal.SIGURG, lambda *_: seen.append(1))
while "signal" in open("/proc/self/timers").read():  # ours is deleted at the next sample
    time.sleep(0.01)
seen.clear()
begun = time.thread_time()
while time.thread_time() < begun + 0.3:
    pass
os.kill(os.getpid(), signal.SIGURG)
print(len(seen))
"""


@pytest.fixture(scope="module")
def fits(tmp_path_factory: pytest.TempPathFactory) -> dict[str, dict[str, Any]]:
    """The lines of `fits.py` by the names of its fits, and how long each fit took by the program's own clock."""
    folder = tmp_path_factory.mktemp("fits")
    report, truth = report_on("fits.py", folder)
    text = (folder / "fits.py").read_text().splitlines()
    names = {row: line.rpartition("# fit: ")[2] for row, line in enumerate(text, 1) if "# fit: " in line}
    lines = {names[line["row"]]: line for line in report["lines"] if line["row"] in names}
    return {name: {**line, "took": truth[name]} for name, line in lines.items()}


FITS = ("tiny", "short", "middle", "long", "mapped")


@pytest.mark.slow
@pytest.mark.parametrize("name", FITS)
def test_a_fit_that_waits_for_input_is_charged_with_it(fits: dict[str, dict[str, Any]], name: str) -> None:
    """Protects who reads `training` where the input is all of the time: of a generator, or of operations alone."""
    assert any(way["waits"] == "data" and way["idle"] > 0 for way in fits[name]["ways"]), fits[name]


@pytest.mark.campaign
@pytest.mark.timed
@pytest.mark.parametrize("name", FITS)
def test_all_of_a_fit_that_waits_is_charged(fits: dict[str, dict[str, Any]], name: str) -> None:
    line = fits[name]
    executed = sum(way["seconds"] - way["idle"] for way in line["ways"] if way["phase"] == "fit")
    assert executed < WITHIN * line["took"], line


@pytest.mark.campaign
@pytest.mark.timed
def test_a_fit_that_computes_is_charged_with_no_input(fits: dict[str, dict[str, Any]]) -> None:
    line = fits["wide"]
    assert sum(way["idle"] for way in line["ways"] if way["waits"] in ("data", "feed")) < WITHIN * line["took"], line


PLACE = Place("/project/main.py", 8, "<module>", 1, 9)


def step(end: float, waits: Any = "execute", feeding: tuple[tuple[Place, ...], ...] = ()) -> Sample:
    return Sample(end, 1.0, (PLACE,), "fit", waits, feeding)


def idle(*seen: Sample | Waited) -> dict[tuple[str, str], float]:
    ledger = Ledger(False, 0.0)
    for each in seen:
        ledger.take(each)
    ledger.finish()
    return {
        (doing.phase, doing.waits): round(spent.idle, 3)
        for doing, spent in ledger.entries.items()
        if spent.seconds > 1e-9
    }


def test_the_share_of_a_window_holds_for_what_was_executed_before_it() -> None:
    share = Waited((PLACE,), "fit", 0.75)
    assert idle(step(1), step(2), share, step(3)) == {("fit", "data"): 2.25, ("fit", "execute"): 0.0}
    elsewhere = Waited((PLACE,), "evaluate", 0.75)
    assert idle(step(1), elsewhere, step(2)) == {("fit", "execute"): 0.0}


def test_what_feeds_a_step_gets_its_share() -> None:
    feeding = (Place("/project/main.py", 3, "rows", 2, 4),)
    found = idle(Waited((PLACE,), "fit", 0.5), step(1), step(2, "feed", (feeding,)), step(3))
    assert found == {("fit", "data"): 0.5, ("data", "feed"): 1.0, ("fit", "execute"): 0.0}, "also where it rests"


def test_imports_are_no_time_in_which_a_gpu_would_have_waited() -> None:
    importing = Sample(5.0, 5.0, (PLACE,), "import", "")
    assert idle(importing, Sample(6.0, 1.0, (PLACE,), "", "")) == {("import", ""): 0.0, ("", ""): 1.0}


def event(thread: int, name: bytes, seconds: float) -> bytes:
    """An event of a trace, as the format of protocol buffers has it."""

    def number(value: int) -> bytes:
        parts = []
        while value > 127:
            parts.append(value & 127 | 128)
            value >>= 7
        return bytes([*parts, value])

    fields = b"\x08\x01\x10" + number(thread) + b"\x1a" + number(len(name)) + name
    fields += b"\x48" + number(10**9) + b"\x50" + number(round(seconds * 1e12))
    return b"\x22" + number(len(fields)) + fields


def test_a_trace_is_read_for_the_thread_that_executes_most() -> None:
    """Protects from operations of a `py_function`, which other threads execute while the step waits."""
    trace = event(2246800826, b"EagerKernelExecute", 0.2) + event(7, b"EagerKernelExecute", 0.05)
    trace += event(9, b"IteratorGetNextOp::DoCompute", 0.15) + event(9, b"Iterator::MapAndBatch", 0.3)
    assert read(trace) == pytest.approx((0.2, 0.15))
    assert read(b"") == (0, 0)


def test_a_share_comes_through_the_pipe() -> None:
    decoder = Decoder()
    for line in (b'["P",1,1,"/project/main.py",8,"<module>",1,9]', b'["S",1,1,[1]]'):
        decoder.read(line)
    assert decoder.read(b'["I",1,1,"fit",0.25]') == Waited((PLACE,), "fit", 0.25)
