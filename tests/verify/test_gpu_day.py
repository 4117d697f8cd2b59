"""Protects the day on which a GPU is at hand: nothing is left out, nothing is done twice, nothing measured is lost."""

# ruff: noqa: N802 - the fake has NVML's own names.

from __future__ import annotations

import dataclasses
import importlib
import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from fake_nvml import GIB, FakeNvml, Handle

from tflint_gpu.gpu import watch as gpu_module
from tflint_gpu.gpu.cards import Survey, survey
from tflint_gpu.gpu.processes import descendants
from tflint_gpu.verify.execution.sandbox import NO_SANDBOX
from tflint_gpu.verify.statistics.statistics import Verdict

ROOT = Path(__file__).parents[2]
sys.path.insert(0, str(ROOT / "tests" / "benchmarks"))

gpu_day = importlib.import_module("gpu_day")
page = importlib.import_module("gpu_day_page").page
Bench, Day, Piece = gpu_day.Bench, gpu_day.Day, gpu_day.Piece
Found = dict[str, Any]

CARD = survey(FakeNvml()).gpus[0]


class Hours:
    """A clock that goes on when pieces are done."""

    now = 0.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def day(tmp_path: Path) -> Any:
    """Ten pieces of at most 100 seconds."""
    return Day([Piece("verify", f"p{n}.py", 100.0) for n in range(10)], tmp_path, Hours())


def doing(day: Any, seconds: float, done: list[str]) -> Callable[[Any], Found]:
    def do(piece: Any) -> Found:
        assert isinstance(day.clock, Hours)
        day.clock.now += seconds
        done.append(piece.what)
        return {"fault": "", "results": []}

    return do


def test_every_fixture_and_every_workload_is_a_piece() -> None:
    found = gpu_day.pieces(90.0)
    fixtures = {what.what.split("/")[1] for what in found if what.kind == "verify"}
    assert fixtures == {path.name for path in (ROOT / "fixtures").iterdir() if path.is_dir()}
    evidence = (ROOT / "rules" / "EVIDENCE.md").read_text("utf-8")
    codes = {line.split()[1] for line in evidence.splitlines() if line.startswith("| TFG")}
    assert codes <= {piece.what.partition("_")[0].upper() for piece in found if piece.kind == "evidence"}
    assert len({piece.name for piece in found}) == len(found)
    assert max(piece.limit for piece in found) < 8 * 60 - 20


def test_a_call_begins_nothing_that_might_end_too_late_and_the_next_goes_on(day: Any) -> None:
    """Each piece is done once, and no call takes longer than it may."""
    done: list[str] = []
    for _ in range(4):
        began = day.clock()
        day.work(480.0, doing(day, 99.0, done), tell=lambda text: None)
        assert day.clock() - began <= 480.0
    assert done == [f"p{n}.py" for n in range(10)] and day.left() == []


def test_a_call_that_is_ended_in_the_middle_loses_one_piece(day: Any) -> None:
    done: list[str] = []
    quick = doing(day, 1.0, done)

    def interrupted(piece: Any) -> Found:
        if piece.what == "p3.py":
            raise KeyboardInterrupt
        return quick(piece)

    with pytest.raises(KeyboardInterrupt):
        day.work(480.0, interrupted, tell=lambda text: None)
    assert [piece.what for piece in day.left()] == [f"p{n}.py" for n in range(3, 10)]
    assert [one["what"] for one in day.known()] == ["p0.py", "p1.py", "p2.py"]


def test_what_failed_is_done_again_on_request_only(day: Any) -> None:
    failing = {"fault": "it was not done after 100 s", "results": []}
    day.work(480.0, lambda piece: failing if piece.what == "p4.py" else doing(day, 0.0, [])(piece), tell=str)
    assert day.left() == []
    assert [piece.what for piece in dataclasses.replace(day, retries=True).left()] == ["p4.py"]


HARNESS = """
import json, os, sys, time, types
held = []
sys.modules["tensorflow"] = types.SimpleNamespace(ones=lambda shape, dtype: held.append(4 * shape[0]), float32=None)
def grow_memory():
    pass
def reached(hold):
    time.sleep(0.5)
    notes = {"memory": {"/device:GPU:0": {"current": 0, "peak": sum(held)}}}
    open(os.environ["TFLINT_GPU_RESULT"], "w").write(json.dumps({"steps": [], "notes": notes}))
"""


class Holding(FakeNvml):
    """A card on which what this process starts holds some bytes beside what CUDA holds for itself."""

    size = 0
    own = 500 << 20
    before: frozenset[int] = frozenset()  # what other tests have started

    def nvmlDeviceGetComputeRunningProcesses(self, handle: Handle) -> list[Any]:
        started = descendants(os.getpid()) - {os.getpid()} - self.before
        return [SimpleNamespace(pid=pid, usedGpuMemory=self.size + self.own) for pid in sorted(started)[:1]]


@pytest.mark.parametrize("agrees", [True, False])
def test_what_nvml_tells_is_compared_with_what_tensorflow_holds(agrees: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """A process of 1 and one of 4 GiB: CUDA's own share is the same in both, or the page says that it is not."""
    nvml = Holding()
    nvml.before = descendants(os.getpid())
    monkeypatch.setattr(gpu_module, "load_nvml", lambda: nvml)
    bench = Bench(CARD, sys.executable, "gpu:0", 9.0, NO_SANDBOX, {"tflint_measure.py": HARNESS})
    known = []
    for size in (GIB, 4 * GIB):
        nvml.size = size if agrees else GIB
        found = bench.hold(size, 60.0)
        assert (found["tensorflow"], found["nvml"], found["fault"]) == (size, nvml.size + nvml.own, "")
        known.append({"kind": "memory", "what": str(size), "date": "2026-01-02", "found": found})
    text = page(known, CARD, 120)
    assert ("TensorFlow agree" in text) == agrees and ("do not agree" in text) != agrees
    assert "2 of 120" in text and "Fake H000, 80.0 GiB, driver 580.65" in text


def test_a_piece_that_fails_is_told_and_the_day_goes_on(monkeypatch: pytest.MonkeyPatch) -> None:
    """Protects a day from its first bad program: why it failed stands on the page."""
    monkeypatch.setattr(gpu_module, "load_nvml", FakeNvml)
    pieces = {
        Piece("memory", str(GIB), 60.0): sys.executable,
        Piece("evidence", "tfg0_x.py", 60.0): shutil.which("false"),
    }
    known = []
    for piece, python in pieces.items():
        found = Bench(CARD, python, "gpu:0", 9.0, NO_SANDBOX, {"tflint_measure.py": "raise SystemExit(7)"}).do(piece)
        known.append({"kind": piece.kind, "what": piece.what, "date": "2026-01-02", "found": found})
    text = page(known, CARD, 2)
    assert "## What did not run" in text and "exit code 7" in text and "| evidence | tfg0_x.py | exit code 1" in text


def test_the_page_has_a_line_for_each_result() -> None:
    result = {
        "code": "TFG202", "variant": "", "device": "gpu:0", "verdict": "confirmed", "reason": "a | b",
        "location": {"row": 3, "column": 5}, "predicted": {"kind": "slowdown", "low": 1.5, "high": 36.0},
        "measured": {"ratio": 20.0, "low": 18.5, "high": 22.25, "unit": "seconds per step", "before": [], "after": []},
        "gpu": {"before": 12.4, "after": None, "notes": ["while the flagged program measured, heat"]},
        "samples": {"before": [{"notes": {"ran_on": {"GPU:0": 3}}}], "after": [{"notes": {}}]},
    }  # fmt: skip
    verified = {"fault": "", "results": [gpu_day._short(result)]}
    versions = {"tensorflow": "2.21.0", "keras": "3.15.1", "machine": "x86_64, 16 cores, 1 GPUs", "facts": {"a": "b"}}
    measured = {"fault": "", "times": {"a dense network": [[0.02, 0.001]] * 5}, **versions}
    known = [
        {"kind": "verify", "what": "fixtures/no_faster/x.py", "date": "2026-01-02", "found": verified},
        {"kind": "evidence", "what": "tfg202_x.py", "date": "2026-01-03", "found": measured},
    ]
    text = page(known, CARD, 2)
    assert "| no_faster/x.py | 3:5 TFG202 | confirmed | 20 (18.5 to 22.2) | 12% | - | GPU:0 | a &#124; b; while" in text
    assert "| TFG202 | a dense network | 2.21.0, 3.15.1 | 20.00 | 1.00 | 20.00 |" in text
    assert "2026-01-02 to 2026-01-03" in text and "1 confirmed." in text


@pytest.mark.slow
def test_what_run_and_doctor_say_of_a_program_with_a_planted_wait(tmp_path: Path) -> None:
    """Protects the figures that stand beside each other: what the program says of its wait, and what `run` charges."""
    program = tmp_path / "naps.py"
    program.write_text("""import json, os, time
from waits import LENGTH
def nap():
    time.sleep(LENGTH)  # planted: nap
began = time.monotonic()
nap()
json.dump({"nap": time.monotonic() - began}, open(os.environ["WAITS_TRUTH"], "w"))
""")
    (tmp_path / "waits.py").write_text("LENGTH = 0.7\n")
    bench = Bench(CARD, sys.executable, "gpu:0", 9.0, NO_SANDBOX, {})
    seen = bench.do(Piece("run", str(program), 600.0))
    assert seen["fault"] == "" and list(seen["waits"]) == list(seen["charged"]) == ["nap"]
    assert seen["waits"]["nap"] >= 0.7 and 0.0 < seen["charged"]["nap"] <= seen["seconds"]
    said = bench.do(Piece("doctor", str(program), 600.0))
    assert said["fault"] == "" and said["exit_code"] in (0, 1, 3)
    energy = {"gpu": "GPU 0", "kilowatt_hours": 0.012, "idle": 0.0042, "idle_watts": 70.0}
    seen = {**seen, "energy": [energy]}
    known = [{"kind": kind, "what": "naps.py", "date": "2026-01-02", "found": found} for kind, found in
             (("run", seen), ("doctor", said))]  # fmt: skip
    text = page(known, CARD, 2)
    assert f"| nap | {seen['waits']['nap']:.2f} | {seen['charged']['nap']:.2f} |" in text
    assert "GPU 0 took 0.012 kWh, 0.0042 kWh of it while idle." in text
    assert f"{said['verdict']} Exit code {said['exit_code']}" in text


def test_what_settings_bring_and_whether_the_largest_batch_fits(monkeypatch: pytest.MonkeyPatch) -> None:
    """Protects the line through two sizes from never being checked: batches below and above it are run, too."""
    asked = []

    def run(command: list[str], limit: float, variables: dict[str, str]) -> tuple[str, str]:
        asked.append(command[command.index("--try") + 1])
        batches = [1800, 2400] if asked[1:] else [64, 128]
        tried = [
            {"setting": f"batch={size}", "batch": None if size == 2400 else size, "seconds_of_a_sample": 0.001,
             "times_as_fast": [None, 2.0, None], "peak_memory": 3 << 30, "loss": 0.5, "failure": "OOM" * (size == 2400)}
            for size in batches
        ]  # fmt: skip
        return json.dumps({"settings": tried, "largest_batch": 2000}), ""

    monkeypatch.setattr(gpu_day, "_run", run)
    found = Bench(CARD, sys.executable, "gpu:0", 9.0, NO_SANDBOX, {}).do(Piece("try", "tests/run/batches.py", 90.0))
    assert asked[1] == "batch=1800,2400" and found["fits"] == {1800: True, "batch=2400": False}
    text = page([{"kind": "try", "what": "x", "date": "2026-01-02", "found": found}], CARD, 2)
    assert "| batch=64 | 1000 | 2 | 3.00 GiB | 0.5 |" in text
    assert "said to be 2,000; tried: 1800 fits, batch=2400 does not fit." in text


def test_a_known_factor_stands_beside_what_verify_says(monkeypatch: pytest.MonkeyPatch) -> None:
    """Protects the page from a verdict without its figure: one that measured nothing has no line."""
    verdicts = {"1.5": Verdict("confirmed", "as predicted", 1.49, 1.4, 1.6), "1": Verdict("not run", "it failed")}
    monkeypatch.setattr(gpu_day, "verify", lambda case, *_: [SimpleNamespace(verdict=verdicts[case])])
    monkeypatch.setattr(gpu_day, "known", lambda factor, kind: factor)
    bench = Bench(CARD, sys.executable, "gpu:0", 9.0, NO_SANDBOX, {})
    known = [
        {"kind": "known", "what": factor, "date": "2026-01-02", "found": bench.do(Piece("known", factor, 9.0))}
        for factor in verdicts
    ]
    text = page(known, CARD, 2)
    assert "| 1.5 | confirmed | 1.49 (1.4 to 1.6) |" in text and "\n| 1 |" not in text
    assert "| known | 1 | it failed |" in text


def test_what_is_named_comes_first(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Protects short hours: what matters most is asked for by words, the rest keeps its order."""
    done: list[str] = []
    monkeypatch.setattr(gpu_day, "survey", lambda: survey(FakeNvml()))
    monkeypatch.setattr(Bench, "do", lambda self, piece: done.append(piece.name) or {"fault": "none"})
    monkeypatch.delenv("CUDA_VISIBLE_DEVICES", raising=False)
    kept = ["--results", str(tmp_path / "r"), "--page", str(tmp_path / "GPU.md")]
    assert gpu_day.main([*kept, "--only", "memory", "--first", "17179869184", "4294967296"]) == 0
    assert done == ["memory-17179869184", "memory-4294967296", "memory-1073741824"]


def test_without_a_gpu_nothing_is_run_or_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(gpu_day, "survey", lambda: Survey("no driver", note="NVML does not start"))
    target = tmp_path / "GPU.md"
    assert gpu_day.main(["--results", str(tmp_path / "r"), "--page", str(target)]) == 2
    assert list(tmp_path.iterdir()) == []


def test_one_command_works_on_and_says_what_is_left(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(gpu_day, "survey", lambda: survey(FakeNvml()))
    monkeypatch.setattr(Bench, "do", lambda self, piece: {"fault": "", "results": []})
    target, kept = tmp_path / "GPU.md", ["--results", str(tmp_path / "r"), "--page", str(tmp_path / "GPU.md")]
    monkeypatch.delenv("CUDA_VISIBLE_DEVICES", raising=False)
    assert gpu_day.main([*kept, "--only", "verify"]) == 0
    count = len(gpu_day.pieces(90.0))
    assert f"{len(gpu_day.pieces(90.0, 'verify'))} of {count} measurements" in target.read_text("utf-8")
    capsys.readouterr()
    assert gpu_day.main([*kept, "--list"]) == 3
    left = capsys.readouterr().out
    assert "memory 1073741824" in left and "evidence tfg202" in left and "verify" not in left


def test_tensorflow_from_pythonpath_is_there_without_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Protects a machine on which TensorFlow lies in a folder: the programs of verify get no PYTHONPATH."""
    carried = tmp_path / "carried" / "tensorflow"
    carried.mkdir(parents=True)
    (carried / "__init__.py").write_text("word = 'carried'\n")
    monkeypatch.setenv("PYTHONPATH", str(carried.parent))
    monkeypatch.syspath_prepend(str(carried.parent))
    monkeypatch.delitem(sys.modules, "tensorflow", raising=False)
    python = gpu_day.interpreter(tmp_path)
    assert python != sys.executable
    code = "import tensorflow; print(tensorflow.word)"
    done = subprocess.run([python, "-c", code], env={}, capture_output=True, text=True)
    assert done.stdout == "carried\n", done.stderr
    monkeypatch.delenv("PYTHONPATH")
    assert gpu_day.interpreter(tmp_path) == sys.executable
