"""What a repair brings to the whole run: the user's data may cause a trace for each of its shapes, or end soon."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from forked import ForkedPrograms
from verified import cases_of

from tflint_gpu.diagnostics import Prediction
from tflint_gpu.verify.execution.worker import Outcome
from tflint_gpu.verify.experiments.samples import sample_of
from tflint_gpu.verify.slicing.extract import Program, harness_modules
from tflint_gpu.verify.statistics.outcomes import Round, Run, WholeRun
from tflint_gpu.verify.statistics.statistics import Verdict, judge

pytestmark = pytest.mark.slow

SLOWDOWN = Prediction("slowdown", low=1.5, high=36.0)
Measure = Callable[[str], Outcome]


@pytest.fixture
def measure(tmp_path: Path, forks: ForkedPrograms) -> Measure:
    """Run a loop whose step takes a tenth of a second to trace."""
    head = """import tflint_measure, time
import tensorflow as tf
tflint_measure.whole_run()
@tf.function
def step(x):
    time.sleep(0.1)
    return x + 1.0
"""

    def run(code: str) -> Outcome:
        return forks.outcome(Program("program.py", {"program.py": head + code, **harness_modules()}).write(tmp_path))

    return run


def whole(outcome: Outcome) -> dict[str, object]:
    assert outcome.result is not None and outcome.status == "finished", outcome.stderr
    known = outcome.result.notes["whole"]
    assert isinstance(known, dict)
    return known


LISTS = "data = [tf.ones(n % 30 + 1) for n in range(45)]\n"
GENERATORS = "data = (tf.ones(n % 30 + 1) for n in range(45))\n"
DATASETS = LISTS + "data = tf.data.Dataset.from_generator(lambda: data_of, output_signature=tf.TensorSpec([None]))\n"
DATASETS = DATASETS.replace("data = [", "data_of = [")


@pytest.mark.parametrize("data", [LISTS, GENERATORS, DATASETS], ids=["list", "generator", "dataset"])
def test_the_shapes_of_all_data_are_counted_and_traces_timed(data: str, measure: Measure) -> None:
    loops = "for turn in tflint_measure.around(range(4)):\n    for x in tflint_measure.steps(data):\n        step(x)\n"
    known = whole(measure(data + loops))
    assert (known["steps"], known["shapes"], known["samples"]) == (180, 30, 1)
    assert isinstance(known["trace"], float) and 0.1 < known["trace"] < 1.0


def test_what_cannot_be_known_of_a_run_is_not_guessed(measure: Measure) -> None:
    """Protects from a figure for a loop without an end, or within a `while`."""
    endless = "def data():\n    while True:\n        yield tf.ones(3)\n"
    assert whole(measure(endless + "for x in tflint_measure.steps(data()):\n    step(x)\n"))["steps"] is None
    waiting = (
        "while tflint_measure.around(True, False):\n    for x in tflint_measure.steps([tf.ones(2)]):\n        step(x)\n"
    )
    assert whole(measure(waiting))["steps"] is None


@pytest.mark.parametrize("end", ["raise ValueError(x.shape)", "break"])
def test_what_was_measured_is_kept_whatever_another_shape_does(end: str, measure: Measure) -> None:
    code = f"for x in tflint_measure.steps([*8 * [tf.ones(1)], tf.ones(7)]):\n    if len(x) == 7:\n        {end}\n    step(x)\n"
    outcome = measure(code)
    assert whole(outcome)["seen"] == 1 and outcome.result is not None and outcome.result.blocks


PROGRAM = """import numpy as np
import tensorflow as tf

encoder = tf.keras.Sequential([tf.keras.layers.Dense(16, activation="tanh"), tf.keras.layers.Dense(2)])
encoder.build((None, 24))
rule = tf.keras.optimizers.SGD()
papers = [np.random.rand(COUNT, 24).astype("float32") for COUNT in COUNTS]


def fit_one(paper):
    with tf.GradientTape() as tape:
        cost = tf.reduce_mean(tf.square(encoder(paper, training=True)))
    slopes = tape.gradient(cost, encoder.trainable_variables)
    rule.apply_gradients(zip(slopes, encoder.trainable_variables))


def train():
    for paper in papers:
        fit_one(paper)


for sweep in range(SWEEPS):
    train()
"""


def verdict(folder: Path, forks: ForkedPrograms, counts: str, sweeps: int) -> Verdict:
    path = folder / "train.py"
    path.write_text(PROGRAM.replace("COUNTS", counts).replace("SWEEPS", str(sweeps)))
    (case,) = (case for case in cases_of(path) if case.diagnostic.code == "TFG202")
    assert case.pair is not None, case.reason
    # the step as a function for each shape, as fixes wrote it
    files = {name: text.replace("(reduce_retracing=True)", "") for name, text in case.pair.after.files.items()}
    scripts = case.pair.before.write(folder / "before"), Program(case.pair.after.entry, files).write(folder / "after")
    before, after = (sample_of(forks.outcome(script), None).run for script in scripts)
    assert before.whole is not None and after.whole is not None, (before, after)
    return judge(SLOWDOWN, [Round(before, after)] * 3)


def test_a_trace_for_each_length_is_part_of_the_figure(tmp_path: Path, forks: ForkedPrograms) -> None:
    """Protects from "confirmed, 8 times" for a repair that takes 3 times as long as the code that it repairs."""
    said = verdict(tmp_path, forks, "range(20, 140)", 1)
    assert said.verdict == "refuted" and "120 traces of" in said.reason and "in a run of 120 steps" in said.reason
    said = verdict(tmp_path, forks, "120 * [20]", 5)
    assert said.verdict in ("confirmed", "stronger than predicted") and "traces" not in said.reason


def test_a_loop_of_few_steps_is_not_worth_a_trace() -> None:
    short, long = (WholeRun(steps, 1, 0.0, first) for steps, first in ((2, 0.4), (2000, 0.4)))
    for whole_run, name in ((short, "no gain worth having"), (long, "confirmed")):
        built = WholeRun(whole_run.steps, 1, 0.0, 0.05)
        rounds = [Round(Run(seconds=0.02, whole=built), Run(seconds=0.001, whole=whole_run))] * 3
        said = judge(SLOWDOWN, rounds)
        assert said.verdict == name, said.reason
        assert ("its whole run" in said.reason) == (name != "confirmed")
