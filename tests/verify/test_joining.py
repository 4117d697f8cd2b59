"""All repairs of one loop as one experiment, and each of them left out of it. Only the last test runs TensorFlow."""

from __future__ import annotations

import re
from pathlib import Path
from typing import cast

import pytest
from verified import MODEL_AND_DATA, cases_of, verified

from tflint_gpu.diagnostics import Prediction
from tflint_gpu.verify.experiments.joining import among_others, with_joint
from tflint_gpu.verify.experiments.scheduling import measure
from tflint_gpu.verify.experiments.verification import Case, Sample, Setup, Verification
from tflint_gpu.verify.statistics.statistics import Verdict, VerdictName

TWO_STEPS = (
    MODEL_AND_DATA
    + """
player = tf.keras.Sequential([tf.keras.layers.Dense(4)])
player_optimizer = tf.keras.optimizers.SGD()


def rate(states, values):
    with tf.GradientTape() as tape:
        loss = tf.reduce_mean(tf.square(model(states, training=True) - values))
    optimizer.apply_gradients(zip(tape.gradient(loss, model.trainable_variables), model.trainable_variables))


def play(states):
    with tf.GradientTape() as tape:
        loss = -tf.reduce_mean(model(player(states, training=True)))
    weights = player.trainable_variables
    player_optimizer.apply_gradients(zip(tape.gradient(loss, weights), weights))


for game in range(9):
    for states, values in data:
        rate(states, values)
        play(states)
"""
)
BOTH_IN_ONE = TWO_STEPS.replace(
    "        rate(states, values)\n        play(states)\n", "        both(states, values)\n"
).replace("\n\nfor game", "\n\ndef both(states, values):\n    rate(states, values)\n    play(states)\n\n\nfor game")
TWO_LOOPS = TWO_STEPS.replace("        play(states)\n", "    for states, _ in data:\n        play(states)\n")
MAPS = """import tensorflow as tf

def crop(image, label):
    return tf.image.random_crop(tf.image.random_flip_left_right(image), (28, 28, 3)), label

def enlarge(image, label):
    return tf.image.resize(tf.image.random_brightness(image, 0.1), (64, 64)), label

images = tf.data.Dataset.from_tensor_slices((tf.zeros((512, 40, 40, 3)), tf.zeros(512)))
images = images.map(crop).map(enlarge).batch(32)
model = tf.keras.Sequential([tf.keras.layers.Dense(1)])
model.compile(loss="mse")
model.fit(images)
"""
DECORATED = ("@tf.function\ndef rate", "@tf.function\ndef play")


def joined(tmp_path: Path, code: str) -> list[Case]:
    path = tmp_path / "train.py"
    path.write_text(code)
    return with_joint([case for case in cases_of(path) if case.diagnostic.code[:4] in ("TFG2", "TFG3")])


def measured_together(joint: Case) -> Verification:
    return Verification(joint, Verdict("confirmed", "why", 9.0, 8.0, 10.0), "cpu")


def has(program_files: object, *texts: str) -> list[bool]:
    assert isinstance(program_files, dict)
    return [text in program_files["train.py"] for text in texts]


def test_a_loop_with_two_repairs_is_measured_with_both_before_either_is_left_out(tmp_path: Path) -> None:
    joint, first, second = joined(tmp_path, TWO_STEPS)
    assert joint.pair is not None and [part.diagnostic for part in joint.joined] == [
        first.diagnostic,
        second.diagnostic,
    ]
    assert has(joint.pair.before.files, *DECORATED) == [False, False]
    assert has(joint.pair.after.files, *DECORATED) == [True, True]
    assert "tflint_measure.expect(0, 1)" in joint.pair.before.files["train.py"]
    assert (joint.diagnostic.code, joint.variant) == ("TFG202", "2 fixes together")
    assert (
        "for states, values in data"
        in (tmp_path / "train.py").read_text().splitlines()[joint.diagnostic.location.row - 1]
    )
    for case, left in ((first, [False, True]), (second, [True, False])):
        left_out = among_others(case, [measured_together(joint)])
        assert left_out.pair is not None and left_out.among is joint
        assert has(left_out.pair.before.files, *DECORATED) == left
        assert left_out.pair.after == joint.pair.after
        assert left_out.experiment is not None and case.experiment is not None
        assert left_out.experiment.user_edits == case.experiment.user_edits, "the patch is its own repair"
        (remark,) = left_out.remarks
        assert re.fullmatch(r"with the other fixes at train\.py:\d+:\d+ applied", remark), remark


def test_a_repair_is_measured_alone_where_all_together_do_not_run(tmp_path: Path) -> None:
    """Protects a finding from the repair of another one that fails."""
    joint, first, _ = joined(tmp_path, TWO_STEPS)
    assert among_others(first, [Verification(joint, Verdict("not run", "it fails"), "cpu")]) is first
    assert among_others(first, []) is first


@pytest.mark.parametrize("code", [BOTH_IN_ONE, TWO_LOOPS], ids=["one decorator is the repair of both", "two loops"])
def test_what_has_one_repair_only_is_not_joined(tmp_path: Path, code: str) -> None:
    cases = joined(tmp_path, code)
    assert len(cases) == 2 and not any(case.joined for case in cases)


def test_repairs_of_one_pipeline_are_joined(tmp_path: Path) -> None:
    joint, *single = joined(tmp_path, MAPS)
    assert len(joint.joined) > 1 and all(part in single for part in joint.joined)
    assert joint.pair is not None and has(joint.pair.before.files, "num_parallel_calls") == [False]
    assert joint.pair.after.files["train.py"].count("num_parallel_calls=tf.data.AUTOTUNE") == 2
    calibrated = [part for part in single if part.experiment is not None and part.experiment.calibrates]
    assert all(among_others(part, [measured_together(joint)]) is part for part in calibrated)


@pytest.mark.slow
def test_a_repair_that_changes_the_code_of_another_one_is_left_out_and_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    three = TWO_STEPS + "        print(player.predict(states[:1], verbose=0))\n"
    assert len(joined(tmp_path, three)[0].joined) == 3
    monkeypatch.setattr(
        "tflint_gpu.verify.experiments.joining.conflict",
        lambda edits, accepted: bool(accepted) and any("predict" in edit.content for edit in edits),
    )
    joint, *_ = joined(tmp_path, three)
    assert joint.pair is not None and has(joint.pair.after.files, "predict_on_batch", *DECORATED) == [False, True, True]
    assert "TFG206, which changes the same code" in " ".join(joint.remarks)


def test_the_joint_experiment_is_looked_at_first_and_decides_how_the_others_are_measured(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen: list[bool] = []

    def verify(case: Case, *_: object, **__: object) -> list[Verification]:
        seen.append(case.among is not None)
        return [Verification(case, Verdict("confirmed", "why"), "cpu", is_open=False)]

    monkeypatch.setattr("tflint_gpu.verify.experiments.scheduling.verify", verify)
    known = list(measure(joined(tmp_path, TWO_STEPS), Setup(), 600.0))
    assert seen == [False, True, True]
    assert [result.verification.case.among is not None for result in known[-3:]] == [False, True, True]


def test_a_repair_that_brings_nothing_among_others_is_measured_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Protects two findings whose repairs save the same time from being called refuted, both."""

    def verify(case: Case, *_: object, **__: object) -> list[Verification]:
        name: VerdictName = "refuted" if case.among is not None else "confirmed"
        return [Verification(case, Verdict(name, "why"), "cpu", is_open=False)]

    monkeypatch.setattr("tflint_gpu.verify.experiments.scheduling.verify", verify)
    cases = joined(tmp_path, TWO_STEPS)
    last = {known.number: known.verification for known in measure(cases, Setup(), 600.0)}
    assert [last[number].verdict.verdict for number in range(3)] == ["confirmed"] * 3
    assert [last[number].case for number in range(3)] == cases


def test_few_rounds_of_many_that_were_asked_for_settle_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """With `--runs`, the interval is that of all rounds: what a look shows is no verdict yet."""

    def verify(case: Case, *_: object, known: Verification | None = None, **__: object) -> list[Verification]:
        rounds: tuple[object, ...] = (object(),) * (3 if known is None else 5)
        name: VerdictName = "refuted" if known is None and case.among is not None else "confirmed"
        samples = cast("tuple[Sample, ...]", rounds)
        return [Verification(case, Verdict(name, "why"), "cpu", samples, samples, is_open=False)]

    monkeypatch.setattr("tflint_gpu.verify.experiments.scheduling.verify", verify)
    last = {k.number: k.verification for k in measure(joined(tmp_path, TWO_STEPS), Setup(runs=5), 600.0)}
    assert [last[number].case.among is not None for number in range(3)] == [False, True, True]


@pytest.mark.slow
def test_programs_with_all_repairs_and_without_one_run_and_compute_the_same(tmp_path: Path) -> None:
    joint, first, _ = joined(tmp_path, TWO_STEPS)
    together = verified(joint, runs=1)
    assert joint.prediction == Prediction("slowdown", basis=joint.prediction.basis)
    left_out = verified(among_others(first, [measured_together(joint)]), runs=1)
    for result in (together, left_out):
        assert [sample.run.fault for sample in (*result.before, *result.after)] == [None, None], result.verdict
        assert "the outputs differ" not in result.verdict.reason
