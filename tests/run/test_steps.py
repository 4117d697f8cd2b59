"""Training under way is what a report is about: its steps, what they wait for, and which of them are slow."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.run.test_elements import MOST, WITHIN, report_on
from tflint_gpu.run.charges import Doing
from tflint_gpu.run.inside.tflint_steps import WARM_UP
from tflint_gpu.run.ledger import Ledger
from tflint_gpu.run.samples import Place, Sample, StepDone
from tflint_gpu.run.steps import Training

pytestmark = pytest.mark.slow

HERE = Path(__file__).parent
TEXT = (HERE / "trainings.py").read_text().splitlines()
FIT, LATER = Place("train.py", 9, "<module>", 1, 30), Place("train.py", 5, "later", 4, 6)
WHAT = {"checkpoint": "seconds"}  # it runs operations, too


@pytest.fixture(scope="module")
def trained(tmp_path_factory: pytest.TempPathFactory) -> tuple[dict[str, Any], dict[str, float]]:
    """The report on `trainings.py`, and the shares that it says itself."""
    folder = tmp_path_factory.mktemp("trainings")
    (folder / "libraries" / "steady-1.0.dist-info").mkdir(parents=True)
    shutil.copy(HERE / "steady.py", folder / "libraries")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PYTHONPATH", str(folder / "libraries"))
        return report_on("trainings.py", folder)


def row(comment: str) -> int:
    (found,) = [number for number, line in enumerate(TEXT, 1) if line.endswith(f"# {comment}")]
    return found


def training(report: dict[str, Any], name: str) -> dict[str, Any]:
    (found,) = [one for one in report["trainings"] if one["row"] == row(f"training: {name}")]
    return found


@pytest.mark.parametrize(
    ("name", "steps"),
    [
        ("stage", 60),
        ("generator", 60),
        ("callback", 100),
        ("checkpoint", 100),
        ("validation", 150),
        ("one in fifty", 200),
    ],
)
def test_the_planted_cause_is_first_in_its_training(
    trained: tuple[dict[str, Any], dict[str, float]], name: str, steps: int
) -> None:
    """Protects who fixes the first line of a report; the waits sleep, so that a busy machine changes little."""
    report, truth = trained
    told = training(report, name)
    assert (told["kind"], told["steps"]) == ("fit", steps), "all but those of the first epoch"
    first = told["lines"][0]
    planted = row(f"training: {name}" if name == "stage" else f"planted: {name}")
    assert first["row"] == planted, told["lines"][:5]
    assert share_of_the_first(told, name) > MOST * truth[name], (first, truth[name])


def test_a_loop_that_trains_is_known_by_the_gradients_that_it_applies(
    trained: tuple[dict[str, Any], dict[str, float]],
) -> None:
    report, truth = trained
    assert training(report, "callback")["lines"][0]["ways"][0]["waits"] == "blocked", "it sleeps"
    told = training(report, "host read")
    assert (told["kind"], told["steps"]) == ("loop", 40 - 1 - WARM_UP)
    first = told["lines"][0]
    assert first["row"] == row("planted: host read") and first["ways"][0]["waits"] == "read"
    assert share_of_the_first(told, "host read") > MOST * truth["host read"]
    eager = training(report, "eager step")
    assert (eager["kind"], eager["steps"]) == ("loop", 60 - 1 - WARM_UP)


@pytest.mark.campaign
@pytest.mark.timed
@pytest.mark.parametrize(
    "name", ["stage", "generator", "callback", "checkpoint", "validation", "one in fifty", "host read"]
)
def test_the_planted_cause_has_its_share(trained: tuple[dict[str, Any], dict[str, float]], name: str) -> None:
    """Protects the figure itself. Who else wants a processor makes a wait end later than what was waited for."""
    report, truth = trained
    share = share_of_the_first(training(report, name), name)
    assert abs(share - truth[name]) < WITHIN * truth[name], (share, truth[name])


def share_of_the_first(told: dict[str, Any], name: str) -> float:
    """The part of a training that its first line waited, without what `fit` itself computes."""
    ways = [way for way in told["lines"][0]["ways"] if way["phase"] != "fit" or way["waits"] == "data"]
    return sum(float(way[WHAT.get(name, "idle")]) for way in ways) / float(told["seconds"])


def test_one_slow_step_in_fifty_is_named_with_what_it_did(trained: tuple[dict[str, Any], dict[str, float]]) -> None:
    report, _ = trained
    told = training(report, "one in fifty")
    first = told["slow_steps"][0]
    assert (first["row"], first["phase"]) == (row("planted: one in fifty"), "callbacks"), told
    assert first["steps"] >= 4 and first["excess"] == pytest.approx(4 * 0.3, rel=WITHIN)
    assert first["longest"]["seconds"] == pytest.approx(0.3, rel=WITHIN)
    assert first["longest"]["step"] % 50 == 21, "counted from 1 at the first step of the training"
    assert told["step_seconds"]["p99"] > 0.25 > 10 * told["step_seconds"]["p50"]
    assert not any(one["row"] == row("planted: one in fifty") for one in training(report, "stage")["slow_steps"])


def test_what_was_imported_and_traced_before_is_told_apart(trained: tuple[dict[str, Any], dict[str, float]]) -> None:
    report, _ = trained
    told = training(report, "generator")
    assert told["warm_up"]["steps"] == 20
    assert not any(way["phase"] == "import" for line in told["lines"] for way in line["ways"])
    assert report["shares_of"]["what"] == "training"
    assert report["shares_of"]["seconds"] == report["trainings"][0]["seconds"] < report["seconds"]


LOOK = """\
import sys, threading
import tensorflow as tf

class Look(tf.keras.callbacks.Callback):
    def on_train_batch_end(self, batch, logs=None):
        names = set()
        frame = sys._getframe()
        while frame is not None:
            names.add(frame.f_code.co_filename.rpartition("/")[2])
            frame = frame.f_back
        print("ours", sorted(name for name in names if name.startswith("tflint_") and name != "tflint_program.py"))

model = tf.keras.Sequential([tf.keras.Input((2,)), tf.keras.layers.Dense(1)])
model.compile("sgd", "mse")
model.fit(tf.ones((64, 2)), tf.ones((64, 1)), epochs=2, verbose=0, callbacks=[Look()])
"""


def test_no_frame_of_ours_is_on_the_stack_of_a_step(tmp_path: Path) -> None:
    """Protects tracebacks and debuggers of the program."""
    (tmp_path / "look.py").write_text(LOOK)
    command = [sys.executable, "-m", "tflint_gpu", "run", "--isolated", "look.py"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 0 and set(done.stdout.splitlines()) == {"ours []"}, done.stderr


def stepped(*durations: float, epochs: tuple[int, ...] = ()) -> Training:
    """A training whose steps follow each other, with epochs that begin before some of them."""
    now, told = 0.0, Training(FIT, "fit")
    for number, seconds in enumerate(durations):
        if number in epochs:
            told.begin_epoch()
        told.add(now, seconds)
        now += seconds
    return told


def test_steady_begins_with_the_second_epoch_or_after_ten_steps() -> None:
    one = stepped(*[1.0] * 10, *[0.1] * 30, epochs=(0,))
    assert (one.steps, one.warm_up) == (30, (10, 10.0)) and one.began == 10.0
    two = stepped(*[1.0] * 20, *[0.1] * 20, epochs=(0, 20))
    assert (two.steps, two.warm_up, two.began) == (20, (20, 20.0), 20.0)
    assert two.per_second == pytest.approx(10.0)
    three = stepped(*[0.1] * 20, epochs=(0, 10, 15))
    assert three.steps == 10, "the third is steady, too"


def test_quantiles_are_right_within_half_a_percent() -> None:
    told = stepped(*[1.0] * WARM_UP, *[0.010] * 980, *[0.5] * 20)
    assert told.quantile(0.5) == pytest.approx(0.010, rel=0.005)
    assert told.quantile(0.99) == pytest.approx(0.5, rel=0.005)
    assert told.quantile(0.98) == pytest.approx(0.010, rel=0.005)


def test_the_account_of_steps_stays_small() -> None:
    told = Training(FIT, "loop")
    for number in range(50_000):
        told.add(number * 0.01, 0.01)
    assert len(told.blocks) <= 256 and sum(steps for steps, _ in told.blocks) == told.steps
    assert sum(seconds for _, seconds in told.blocks) == pytest.approx(told.seconds)


def test_a_slow_step_is_blamed_on_what_others_do_not_do() -> None:
    """Protects from naming the line that is in all steps; what comes after the last step counts for none."""
    ledger, now = Ledger(False, 0.0), 0.0
    for number in range(200):
        slow = number in (100, 150)
        ledger.take(Sample(now + 0.1, 0.1, (FIT,), "fit", "execute"))
        if slow:
            ledger.take(Sample(now + 0.5, 0.4, (LATER, FIT), "callbacks", ""))
        seconds = 0.5 if slow else 0.1
        ledger.take(StepDone("fit", FIT, now, seconds))
        now += seconds
    ledger.take(Sample(now + 60, 60.0, (LATER,), "", ""))
    ledger.finish()
    told = ledger.trainings.main()
    assert told is not None
    ((cause, slow_steps),) = told.slow.items()
    assert cause is not None and (cause.place, cause.phase) == (LATER, "callbacks")
    assert (slow_steps.count, round(slow_steps.excess, 2), slow_steps.number) == (2, 0.8, 101)
    assert told.idle == pytest.approx(0.8), "and not the minute after it"
    assert told.spent[Doing((LATER, FIT), "callbacks", "")].seconds == pytest.approx(0.8)
