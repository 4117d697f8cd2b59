"""What a consumer waits for is named by the operations of its dataset, which have no frame of Python themselves."""

from __future__ import annotations

import textwrap
from pathlib import Path

import pytest

from tflint_gpu.checking.engine import Engine
from tflint_gpu.gpu.watch import Sample as CardSample
from tflint_gpu.reports import View
from tflint_gpu.run.charges import Doing, Line, Spent
from tflint_gpu.run.costs import costs
from tflint_gpu.run.inspection import Inspection, inspect
from tflint_gpu.run.ledger import Ledger
from tflint_gpu.run.reports import words
from tflint_gpu.run.result import Report
from tflint_gpu.run.samples import Place, Sample, Waits
from tflint_gpu.settings.config import SettingsResolver
from tflint_gpu.settings.files import Discovery
from tflint_gpu.settings.options import Options

DATA = """\
import tensorflow as tf


def augmented(image, label):
    return tf.image.random_crop(image, (20, 20, 3)), label


def load(files):
    data = tf.data.TFRecordDataset(files)
    data = data.map(augmented)
    return data.batch(32)
"""
TRAIN = """\
import tensorflow as tf
from data import load

model = tf.keras.Sequential([tf.keras.layers.Dense(1)])
model.compile("adam", "mse")
training, validation = load(["a"]), tf.data.TFRecordDataset(["b"]).map(tf.io.parse_tensor).batch(9)
model.fit(training, validation_data=validation)
for x, y in training:
    model(x)
"""


@pytest.fixture
def seen(tmp_path: Path) -> Inspection:
    (tmp_path / "data.py").write_text(DATA)
    (tmp_path / "train.py").write_text(TRAIN)
    resolver = SettingsResolver(Options(), None, True, tmp_path)
    files = Discovery(resolver, tmp_path).find([str(tmp_path / "train.py"), str(tmp_path / "data.py")])
    return inspect(Engine(resolver, tmp_path), files)


def way(seen: Inspection, folder: Path, row: int, phase: str, waits: Waits) -> str:
    line = Line(Place(str(folder / "train.py"), row, "<module>", 1, 9))
    line.ways[phase, waits] = line.spent
    return words.way(Report("train.py", 1.0, 0, Ledger(True, 0.0), datasets=seen.datasets), line, folder)


@pytest.mark.parametrize(
    ("row", "phase", "waits", "text"),
    [
        (7, "data", "data", "waiting for the next batch of `map` at data.py:10"),
        (7, "data of validation", "data", "waiting for the next batch of `map` at train.py:6"),
        (7, "fit", "execute", "operations in training (`fit`), or the next batch of `map` at data.py:10"),
        (7, "validation", "execute", "operations in validation in `fit`, or the next batch of `map` at train.py:6"),
        (7, "callbacks", "execute", "operations in callbacks"),
        (7, "fit", "", "Python in training (`fit`)"),
        (8, "data", "data", "waiting for the next batch of `map` at data.py:10"),
        (9, "", "execute", "operations"),
    ],
)
def test_a_wait_names_the_dataset(
    seen: Inspection, tmp_path: Path, row: int, phase: str, waits: Waits, text: str
) -> None:
    assert way(seen, tmp_path, row, phase, waits) == text


def test_a_finding_on_a_dataset_costs_what_its_consumers_wait(seen: Inspection, tmp_path: Path) -> None:
    """Protects the rank of TFG303: no frame of the sequential map is ever on a stack."""

    def spent(seconds: float, row: int, phase: str, waits: Waits) -> None:
        ledger.take_card(ledger_end := at[-1] + seconds, CardSample(ledger_end, 0))
        place = Place(str(tmp_path / "train.py"), row, "<module>", 1, 9)
        ledger.take(Sample(ledger_end, seconds, (place,), phase, waits))
        at.append(ledger_end)

    def told() -> list[tuple[str, float, str]]:
        found = costs(seen.diagnostics, ledger.entries, View(tmp_path), seen.datasets)
        return [
            (cost.diagnostic.code, round(cost.idle, 3), cost.of) for cost in found if cost.diagnostic.code == "TFG303"
        ]

    ledger, at = Ledger(True, 0.0), [0.0]
    spent(2.0, 7, "data", "data")
    spent(4.0, 7, "data of validation", "data")
    spent(1.0, 8, "data", "data")
    spent(8.0, 9, "", "execute")
    ledger.finish()
    assert told() == [("TFG303", 3.0, "its own lines")]
    spent(16.0, 7, "fit", "execute")
    ledger.finish()
    assert told() == [("TFG303", 19.0, "the operations that its dataset feeds")]


def test_a_finding_on_a_stage_costs_what_is_charged_to_that_alone(seen: Inspection, tmp_path: Path) -> None:
    """`map` is on row 10, `batch` on row 11 of the file that loads the data."""
    fit = Place(str(tmp_path / "train.py"), 7, "<module>", 1, 9)
    stages = [Place(str(tmp_path / "data.py"), row, "<module>", row, row) for row in (10, 11)]
    entries = {
        Doing((stage, fit), "fit", "stage"): Spent(5.0, idle) for stage, idle in zip(stages, (3.0, 2.0), strict=True)
    }
    known = costs(seen.diagnostics, entries, View(tmp_path), seen.datasets)
    assert [(cost.idle, cost.of) for cost in known if cost.diagnostic.code == "TFG303"] == [(3.0, "its own lines")]


def test_datasets_that_cannot_be_read_cost_a_warning_and_not_the_report(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "train.py").write_text(textwrap.dedent(TRAIN))
    resolver = SettingsResolver(Options(), None, True, tmp_path)
    files = Discovery(resolver, tmp_path).find([str(tmp_path / "train.py")])
    engine = Engine(resolver, tmp_path)
    monkeypatch.setattr(Engine, "model_of", lambda *_: 1 / 0)
    assert inspect(engine, files).datasets == ()
    assert "ZeroDivisionError" in capsys.readouterr().err


def test_what_has_no_line_waits_for_nothing(seen: Inspection) -> None:
    assert not any(one.feeds(Doing((), "data", "data")) for one in seen.datasets)
