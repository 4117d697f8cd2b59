"""What a training waits for is charged to its line within five points, with a card and without one."""

from __future__ import annotations

import json
import mmap
import os
import shutil
import struct
import sys
import time
from dataclasses import dataclass, field
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from tests.fake_nvml import FakeNvml
from tflint_gpu.cli.run import Run
from tflint_gpu.doctor import absence
from tflint_gpu.doctor.diagnosis import known
from tflint_gpu.doctor.facts import Facts, TensorFlow

pytestmark = pytest.mark.slow

HERE = Path(__file__).parent
TOLD = struct.Struct("ddd")  # as `waits.py` writes it
PLANTED = ("map", "validation", "generator", "callback", "sync")
MISTAKES = {"TFG207": "validation", "TFG305": "map", "TFG209": "sync"}
FIVE_POINTS = 0.05
NOT_SEEN = (
    "only a card shows how much of a map's work was waited for; without one it depends on how busy the machine is"
)


@dataclass
class Card(FakeNvml):
    """A card that does what the program tells; as a real one, it says how much it was used since it was asked."""

    told: Any = field(default=None)
    asked: tuple[float, float] = (0.0, 0.0)

    def nvmlDeviceGetUtilizationRates(self, handle: int) -> Any:  # noqa: N802
        idle, since, is_idle = TOLD.unpack(self.told[:])
        now = time.monotonic()
        idle += now - since if is_idle else 0.0
        (before, was_idle), self.asked = self.asked, (now, idle)
        return SimpleNamespace(gpu=90 * (1 - min(1.0, (idle - was_idle) / (now - before))), memory=0)


@pytest.fixture(scope="module", params=["with a card", pytest.param("without one", marks=pytest.mark.slow)])
def training(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """The report on `planted.py`, and how long its waits were, as it says itself."""
    return trained(tmp_path_factory.mktemp("training"), with_card=request.param == "with a card")


@pytest.fixture(params=PLANTED)
def alone(request: pytest.FixtureRequest, tmp_path: Path) -> dict[str, Any]:
    """The same of one wait alone, beside a card."""
    return {"name": request.param, **trained(tmp_path, request.param, with_card=True)}


def trained(folder: Path, *planted: str, with_card: bool) -> dict[str, Any]:
    installed = folder / ("site-packages" if with_card else "libraries")  # the other is like `pip install --target`'s
    (installed / "waits-1.0.dist-info").mkdir(parents=True)
    shutil.copy(HERE / "waits.py", installed)
    shutil.copy(HERE / "planted.py", folder)
    (folder / "card").write_bytes(TOLD.pack(0.0, 0.0, True))
    with pytest.MonkeyPatch.context() as patch, (folder / "card").open("r+b") as file:
        patch.chdir(folder)
        patch.setenv("PYTHONPATH", str(installed))
        patch.setenv("WAITS_CARD", str(folder / "card"))
        patch.setenv("WAITS_TRUTH", str(folder / "truth.json"))
        patch.delenv("CUDA_VISIBLE_DEVICES", raising=False)
        # What the real one sees has tests of its own.
        patch.setattr(absence, "examine", lambda *_, **__: Facts(tensorflow=TensorFlow("2.21.0")))
        nvml = Card(told=mmap.mmap(file.fileno(), TOLD.size)) if with_card else FakeNvml(free=())
        code = Run("planted.py", planted, options(folder / "run.json"), folder, nvml).run()
    report = json.loads((folder / "run.json").read_text())
    truth = json.loads((folder / "truth.json").read_text())
    text = (folder / "planted.py").read_text().splitlines()
    return {"code": code, "report": report, "truth": truth, "text": text, "with_card": with_card}


def options(output: Path) -> dict[str, Any]:
    return {
        "output_format": "json",
        "output": output,
        "report_every": 600.0,
        "python": sys.executable,
        "is_module": False,
        "select": None,
        "ignore": None,
        "extend_select": ("TFG209",),
        "target_tensorflow": None,
        "config": (None, {}),
        "isolated": True,
    }


@pytest.mark.parametrize("name", PLANTED)
def test_each_wait_is_charged_to_its_line(training: dict[str, Any], name: str) -> None:
    if name == "map" and not training["with_card"]:
        pytest.skip(NOT_SEEN)
    report = training["report"]
    rows = {row for row, line in enumerate(training["text"], 1) if f"# planted: {name}" in line}
    assert len(rows) == 1
    charged = sum(line["idle"] for line in report["lines"] if line["row"] in rows)
    assert abs(charged - training["truth"][name]) / report["seconds"] < FIVE_POINTS, report["lines"][:12]


def test_no_other_line_costs_more_than_a_planted_wait(training: dict[str, Any]) -> None:
    """Protects the first lines of a report, imports apart: they are the waits, and what is close is told as close."""
    if not training["with_card"]:
        pytest.skip("without a card all that is computed counts, too, and that takes as long as the machine needs")
    report, lines = training["report"], the_most_expensive(training)
    others = max(one["idle"] for one in lines if not planted_at(training, one))
    least = min(training["truth"][name] for name in PLANTED)
    assert (others - least) / report["seconds"] < FIVE_POINTS, lines[:12]


@pytest.mark.campaign
@pytest.mark.timed
def test_a_planted_mistake_comes_first(alone: dict[str, Any]) -> None:
    """Protects who fixes the first line that the report names; five trainings, one for each wait."""
    report, name = alone["report"], alone["name"]
    assert report["idle"]["measured_by"] == "NVML"
    assert alone["truth"].keys() <= {name, "sync"}  # one step waits for its result in any case
    first = the_most_expensive(alone)[0]
    assert planted_at(alone, first) == name
    assert abs(first["idle"] - alone["truth"][name]) / report["seconds"] < FIVE_POINTS
    mistakes = [code for code, of in MISTAKES.items() if of == name]
    assert [one["code"] for one in report["findings"]][: len(mistakes)] == mistakes


def the_most_expensive(training: dict[str, Any]) -> list[dict[str, Any]]:
    """The lines of the report, without those that import or are traced: nobody plants these."""
    return [one for one in training["report"]["lines"] if one["ways"][0]["phase"] not in ("import", "trace")]


def planted_at(training: dict[str, Any], line: dict[str, Any]) -> str:
    """The wait that is planted on a line of the report; empty for none."""
    text = training["text"][line["row"] - 1] if line["row"] else ""
    return text.partition("# planted: ")[2].split()[0] if "# planted: " in text else ""


def test_the_findings_are_ranked_by_what_they_cost(training: dict[str, Any]) -> None:
    report, truth = training["report"], training["truth"]
    found = report["findings"]
    by_code = {one["code"]: one for one in found}
    assert MISTAKES.keys() <= by_code.keys()
    for code, name in MISTAKES.items():
        if name == "map" and not training["with_card"]:
            continue
        assert abs(by_code[code]["seconds"] - truth[name]) / report["seconds"] < FIVE_POINTS, (code, found)
    assert [one["seconds"] for one in found] == sorted((one["seconds"] for one in found), reverse=True)
    # Which of the planted mistakes takes longest depends on how busy the machine is; the most expensive of them is to come first.
    seen = {code: truth[name] for code, name in MISTAKES.items() if name != "map" or training["with_card"]}
    first = next(one["code"] for one in found if one["code"] in seen)
    assert found[0]["code"] in MISTAKES
    assert (max(seen.values()) - seen[first]) / report["seconds"] < FIVE_POINTS


def test_why_no_gpu_was_used_is_said_by_doctors_codes(training: dict[str, Any]) -> None:
    """Protects who watches a card that TensorFlow, here a build without CUDA, never sees."""
    found = training["report"]["gpu_unused"]
    codes = [one["code"] for one in found["diagnoses"]]
    assert codes and set(codes) <= set(known())
    if training["with_card"]:
        assert codes[0] == "TFG907" and "tensorflow[and-cuda]" in found["next_step"]


def test_the_run_is_told_as_it_was(training: dict[str, Any]) -> None:
    report = training["report"]
    assert training["code"] == report["exit_code"] == 5
    assert report["idle"]["measured_by"] == ("NVML" if training["with_card"] else "stacks")
    names = {phase["phase"] for phase in report["phases"]}
    assert {"import", "callbacks", "data", "trace"} <= names
    spent = sum(one["seconds"] for one in report["timeline"]["bins"])
    assert spent == pytest.approx(sum(phase["seconds"] for phase in report["phases"]), abs=1.0)
    assert os.environ.get("WAITS_CARD") is None
