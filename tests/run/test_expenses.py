"""What idle time costs: in money, where a price is set, and in energy, where the GPU tells it."""

from __future__ import annotations

import json
import threading
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from fake_nvml import NOT_SUPPORTED, FakeNvml

from tests.run.test_charges import options
from tests.run.test_reports import ledger
from tflint_gpu.cli.run import Run
from tflint_gpu.gpu.cards import Gpu
from tflint_gpu.gpu.energy import Energy
from tflint_gpu.gpu.watch import Sample, Watch
from tflint_gpu.price import Price
from tflint_gpu.reports import View
from tflint_gpu.run.ledger import Ledger
from tflint_gpu.run.recording import Recording
from tflint_gpu.run.reports import renderer
from tflint_gpu.run.result import Report

GPU = Gpu(0, "Fake H100", "GPU-0", "580.65", 80 << 30, 70 << 30)


def energy(*samples: Sample) -> Energy:
    known = Energy()
    for sample in samples:
        known.take(sample)
    return known


def test_energy_by_the_counter() -> None:
    """An hour of 100 W at rest, one of 300 W at half use, whose idle half takes what rest does."""
    known = energy(
        Sample(0.0, 0, energy=1e6),
        Sample(3600.0, 0, energy=1e6 + 3.6e5),
        Sample(7200.0, 50, energy=1e6 + 3.6e5 + 1.08e6, power=77.0),
    )
    assert (known.spent, known.idle_watts) == (pytest.approx(0.4), pytest.approx(100.0))
    assert known.idle == pytest.approx(0.1 + 0.05)


def test_energy_by_power_where_there_is_no_counter() -> None:
    known = energy(Sample(0.0, 0, power=500.0), Sample(3600.0, 9, power=100.0), Sample(7200.0, 100, power=400.0))
    assert (known.spent, known.idle) == (pytest.approx(0.5), pytest.approx(0.091))


def test_energy_of_a_gpu_that_never_rests_has_no_idle_part() -> None:
    known = energy(Sample(0.0, 80, power=500.0), Sample(3600.0, 80, power=500.0))
    assert known.spent == pytest.approx(0.5) and known.idle is None


def test_energy_of_a_gpu_that_tells_none() -> None:
    assert (energy(Sample(0.0, 0), Sample(1.0, 0)).spent, energy().idle) == (None, None)


def watched(gpu: Gpu, **refuses: int) -> Energy:
    """Of three samples of a watch."""
    known, seen, enough = Energy(), [], threading.Event()

    def take(sample: Sample) -> None:
        known.take(sample)
        seen.append(sample)
        enough.set() if len(seen) == 3 else None

    with Watch(gpu, interval=0.001, nvml=FakeNvml(refuses=refuses), sink=take):
        assert enough.wait(60)
    return known


def test_the_watch_asks_for_energy() -> None:
    whole = replace(GPU, uuid="GPU-000-abc")
    assert (watched(whole).spent or 0) >= 2 * 250.5 / 3.6e6
    assert watched(whole, energy=NOT_SUPPORTED).spent is not None
    assert watched(whole, energy=NOT_SUPPORTED, power=NOT_SUPPORTED).spent is None


def test_a_part_of_a_gpu_has_no_energy_of_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    """NVML's power and energy are those of the whole GPU."""
    monkeypatch.delenv("CUDA_VISIBLE_DEVICES", raising=False)
    enough = threading.Event()
    nvml = FakeNvml(parts={0: (1,)})
    known = Recording.begin(nvml)
    assert known.choice.gpu is not None and known.choice.gpu.part == 1
    take = known.ledger.take_card

    def told(seconds: float, seen: Sample, title: str) -> None:
        take(seconds, seen, title)
        enough.set() if seen.seconds > 0.2 else None

    monkeypatch.setattr(type(known.ledger), "take_card", lambda _, *what: told(*what))
    with known.watch(nvml):
        assert enough.wait(60)
    assert known.ledger.energies == {}


def test_all_visible_gpus_are_watched(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("CUDA_VISIBLE_DEVICES", raising=False)
    both, names = threading.Event(), set()
    nvml = FakeNvml(free=(1 << 30, 1 << 30))
    known = Recording.begin(nvml)
    take = known.ledger.timeline.add_other

    def told(end: float, title: str, utilisation: int) -> None:
        take(end, title, utilisation)
        names.add(title)
        both.set()

    monkeypatch.setattr(type(known.ledger.timeline), "add_other", lambda _, *what: told(*what))
    with known.watch(nvml) as watch:
        assert both.wait(60)
    known.finish(watch)
    assert names == {"GPU 1"} and sorted(known.ledger.energies) == ["GPU 0", "GPU 1"]
    assert any("GPU 1" in one.others for one in known.ledger.timeline.bins)
    assert nvml.open == 0


def test_the_timeline_joins_other_gpus() -> None:
    known = Ledger(True, 0.0)
    for second in range(100):
        known.take_other(second + 0.5, Sample(second + 0.5, second % 2 * 100), "GPU 1")
    known.take_other(10_000.0, Sample(10_000.0, 30), "GPU 1")
    assert known.timeline.width == 32.0 and known.timeline.bins[0].others == {"GPU 1": (1600, 32)}


def report(project: Path, card: bool, price: str | None) -> Report:
    known = ledger(project, (900.0, "", "", ((12, "train"),)), (900.0, "", "execute", ((12, "train"),)), card=card)
    return Report("train.py", 3600.0, 0, known, GPU if card else None, price=(price and Price.read(price)) or None)


def shown(project: Path, seen: Report) -> tuple[str, dict[str, Any]]:
    view = View(project)
    return renderer("full")(seen, view), json.loads(renderer("json")(seen, view))


def test_a_price_says_what_idle_time_costs(tmp_path: Path) -> None:
    text, document = shown(tmp_path, report(tmp_path, True, "2.4 EUR"))
    assert (
        "At 2.40 EUR per hour this run cost 2.40 EUR, and 1.20 EUR of that was for an idle GPU: 28.80 EUR for each day of"
        in text
    )
    assert document["cost"] == {"currency": "EUR", "per_hour": 2.4, "idle": 1.2, "idle_of_a_day": 28.8}


def test_without_a_gpu_it_is_what_one_would_have_waited_for(tmp_path: Path) -> None:
    text, document = shown(tmp_path, report(tmp_path, False, "2.4"))
    assert (
        "At 2.40 per hour a GPU that waits for this program costs 0.60 in this run, and 14.40 for each day of this program."
        in text
    )
    assert document["energy"] == [] and "kWh" not in text


def test_without_a_price_no_costs_are_named(tmp_path: Path) -> None:
    text, document = shown(tmp_path, report(tmp_path, True, None))
    assert "per hour" not in text and document["cost"] is None


def test_energy_is_told(tmp_path: Path) -> None:
    seen = report(tmp_path, True, None)
    seen.ledger.energies["GPU 0"] = energy(
        Sample(0.0, 0, power=9.0), Sample(3600.0, 0, power=72.0), Sample(7200.0, 100, power=400.0)
    )
    text, document = shown(tmp_path, seen)
    assert "GPU 0 used 0.472 kWh, 0.072 kWh of it while idle (at 72 W)." in text
    assert document["energy"] == [{"gpu": "GPU 0", "kilowatt_hours": 0.472, "idle": 0.072, "idle_watts": 72.0}]


@pytest.mark.parametrize(("option", "amount", "currency"), [(None, 36.0, "EUR"), ("72", 72.0, "")])
def test_the_price_is_a_setting(
    option: str | None, amount: float, currency: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "code").mkdir()
    (tmp_path / "code" / "tflint-gpu.toml").write_text('price-per-hour = "36 EUR"\n')
    (tmp_path / "code" / "train.py").write_text("print(1)\n")
    given = {**options(tmp_path / "run.json"), "isolated": False, "price_per_hour": option, "extend_select": None}
    assert Run("code/train.py", (), given, tmp_path, FakeNvml(free=())).run() == 0
    cost = json.loads((tmp_path / "run.json").read_text())["cost"]
    assert (cost["per_hour"], cost["currency"]) == (amount, currency)
