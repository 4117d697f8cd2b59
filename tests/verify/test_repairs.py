"""Which repairs are offered after a measurement, and what they change in the user's files. Nothing is measured here."""

from __future__ import annotations

import ast
import json
import shutil
import subprocess
import textwrap
from dataclasses import replace
from pathlib import Path

import pytest
from checks import findings, fixed
from verified import EAGER_STEP, MODEL_AND_DATA, cases_of

from tflint_gpu.checking.engine import Engine
from tflint_gpu.rule.experiment import fix_changes
from tflint_gpu.settings.config import SettingsResolver
from tflint_gpu.settings.files import Discovery
from tflint_gpu.settings.options import Options
from tflint_gpu.verify.experiments.verification import Sample, Verification
from tflint_gpu.verify.repairs.patches import NotApplicable, Patches
from tflint_gpu.verify.repairs.repairs import Repair, Withheld, repairs
from tflint_gpu.verify.reports import Report
from tflint_gpu.verify.reports.commits import message
from tflint_gpu.verify.slicing.pieces import of_change, put_in
from tflint_gpu.verify.statistics.outcomes import Run
from tflint_gpu.verify.statistics.outputs import Outputs
from tflint_gpu.verify.statistics.statistics import Verdict, VerdictName

pytestmark = pytest.mark.slow

VALIDATION = """
accuracy = tf.keras.metrics.MeanSquaredError()


# After each epoch.
def validate(net, data):
    for x, y in data:
        accuracy.update_state(y, net(x, training=False))


validate(model, data)
"""
NUMBER = """

@tf.function
def scaled(x, step):
    return model(x) * tf.cast(step, tf.float32)


for step, (x, y) in enumerate(data):
    scaled(x, step)
"""
PREDICTION = """
rows = [x[:1] for x, _ in data]
for row in rows:
    print(model.predict(row, verbose=0))
"""
ROW_BY_ROW = "rows = list(x for x, _ in data.unbatch())\nscores = [model.predict(row[None])[0] for row in rows]\n"
MAPS = """
data = tf.data.Dataset.from_tensor_slices(tf.zeros((512, 9))).map(lambda x: tf.cast(x, tf.float32) / 255.0).batch(32)
for x in data:
    print(x)
"""
RANDOM_MAP = """

def augment(image, label):
    return tf.image.random_crop(tf.image.random_flip_left_right(image), (28, 28, 3)), label


images = tf.data.Dataset.from_tensor_slices((tf.zeros((512, 40, 40, 3)), tf.zeros(512)))
images = images.map(augment).batch(32)
model.compile(loss="mse")
model.fit(images)
"""
JOINED = """

def scored(batches):
    scores = tf.zeros([0, 1])
    for x, _ in batches:
        scores = tf.concat([scores, model.predict_on_batch(x)], axis=0)
    return scores


print(scored(data))
"""
SINGLE = 'model.compile(loss="mse")\nmodel.fit(tf.ones((64, 4)), tf.ones((64, 1)), batch_size=1)\n'


def measured(
    path: Path,
    code: str,
    verdict: VerdictName = "confirmed",
    before: float | None = 1.0,
    after: float | None = 1.0,
    device: str = "cpu",
) -> list[Verification]:
    """What a run would have shown of all findings with a code: a factor of 2, and these outputs."""
    found = []
    for case in cases_of(path):
        if case.diagnostic.code != code:
            continue
        assert case.reason == ""
        samples = []
        for value in (before, after):
            outputs = None if value is None else Outputs([value], "float32")
            samples.append((Sample(Run(seconds=0.02, outputs=outputs), (0.02,), 9.0, {}),) * 3)
        found.append(Verification(case, Verdict(verdict, "why", 2.0, 1.5, 3.0), device, *samples))
    assert found, code
    return found


def patches_for(path: Path) -> Patches:
    here = path if path.is_dir() else path.parent
    resolver = SettingsResolver(Options(), None, True, here)
    files = Discovery(resolver, here).find([str(path)])
    return Patches({file.path: file for file in files}, lambda: Engine(resolver, here))


def patched(path: Path, code: str) -> str:
    """The file after the repair of its first such finding."""
    (first, *_) = repairs(measured(path, code))
    assert isinstance(first, Repair), first
    patches = patches_for(path)
    patches.add(first)
    assert patches.apply() == ([path.name], [])
    return path.read_text("utf-8")


@pytest.mark.parametrize(
    ("code", "program", "lines"),
    [
        ("TFG202", MODEL_AND_DATA + EAGER_STEP, ["@tf.function", "def train_step(x, y):", "        train_step(x, y)"]),
        (
            "TFG207",
            MODEL_AND_DATA + VALIDATION,
            [
                "def traced_net(net, x, training):",
                "    return net(x, training=training)",
                "        accuracy.update_state(y, traced_net(net, x, training=False))",
            ],
        ),
        ("TFG204", MODEL_AND_DATA + NUMBER, ["    scaled(x, tf.constant(step))"]),
        ("TFG206", MODEL_AND_DATA + PREDICTION, ["    print(model.predict_on_batch(row))"]),
        ("TFG206", MODEL_AND_DATA + ROW_BY_ROW, ["scores = [model.predict_on_batch(row[None])[0] for row in rows]"]),
        ("TFG201", MODEL_AND_DATA + SINGLE, ["model.fit(tf.ones((64, 4)), tf.ones((64, 1)), batch_size=32)"]),
        ("TFG304", MODEL_AND_DATA + MAPS, [MAPS.splitlines()[1].replace(".batch(32)", "").replace(".map(", ".batch(32).map(")]),
        ("TFG303", MODEL_AND_DATA + RANDOM_MAP, ["images = images.map(augment, num_parallel_calls=tf.data.AUTOTUNE).batch(32)"]),
    ],
    ids=["TFG202", "TFG207", "TFG204", "TFG206", "a comprehension", "TFG201", "TFG304", "TFG303"],
)  # fmt: skip
def test_the_repair_of_a_rule_is_an_edit_of_the_users_file(
    tmp_path: Path, code: str, program: str, lines: list[str]
) -> None:
    path = tmp_path / "train.py"
    path.write_text(program)
    text = patched(path, code)
    ast.parse(text)
    assert [line for line in lines if line not in text.splitlines()] == [], text
    assert "tflint_measure" not in text
    assert code not in [case.diagnostic.code for case in cases_of(path)]


def test_a_fix_is_the_same_text_in_a_program_that_is_measured(tmp_path: Path) -> None:
    """Protects what goes below an indented statement from being indented twice."""
    code = MODEL_AND_DATA + JOINED
    ((_, finding),) = [found for found in findings(code, tmp_path) if found[0].code == "TFG212"]
    assert finding.fix is not None
    pieces = [of_change(change, measures=False) for change in fix_changes(finding)]
    assert put_in(code, pieces) == fixed(code, tmp_path, "TFG212")


IMPORTED_BY_NAME = """from tensorflow import function, ones
from tensorflow.keras.layers import Dense

layer = Dense(4)


@function
def scaled(x, step):
    return layer(x) * step


for step in range(400):
    scaled(ones((2, 2)), step)
"""


def test_an_import_that_a_repair_needs_is_a_line_of_its_own_in_the_patch(tmp_path: Path) -> None:
    path = tmp_path / "train.py"
    path.write_text(IMPORTED_BY_NAME)
    lines = patched(path, "TFG204").splitlines()
    assert lines[2] == "import tensorflow as tf" and lines[-1].endswith("tf.constant(step, tf.float32))")


def test_the_new_function_stands_above_the_comments_with_two_empty_lines(tmp_path: Path) -> None:
    path = tmp_path / "train.py"
    path.write_text(MODEL_AND_DATA + VALIDATION)
    text = patched(path, "TFG207")
    made = "@tf.function\ndef traced_net(net, x, training):\n    return net(x, training=training)\n"
    assert f"\n\n\n{made}\n\n# After each epoch.\ndef validate(" in text


def test_a_function_made_of_a_step_is_not_traced_again_in_each_epoch(tmp_path: Path) -> None:
    path = tmp_path / "train.py"
    path.write_text(MODEL_AND_DATA + EAGER_STEP)
    text = patched(path, "TFG202")
    assert text.index("def train_step") < text.index("for epoch in")
    assert "    with tf.GradientTape() as tape:\n        loss" in text, "its body has the usual indentation"


@pytest.mark.parametrize("verdict", ["refuted", "inconclusive", "not run"])
def test_nothing_is_offered_of_what_was_not_confirmed(tmp_path: Path, verdict: VerdictName) -> None:
    path = tmp_path / "train.py"
    path.write_text(MODEL_AND_DATA + EAGER_STEP)
    assert list(repairs(measured(path, "TFG202", verdict))) == []


def test_a_repair_that_changes_the_results_is_withheld_with_the_numbers(tmp_path: Path) -> None:
    path = tmp_path / "train.py"
    path.write_text(MODEL_AND_DATA + EAGER_STEP)
    (found,) = repairs(measured(path, "TFG202", after=2.0))
    assert isinstance(found, Withheld) and "1.0 before, 2.0 after" in found.reason


@pytest.mark.parametrize(
    ("code", "program"), [("TFG201", MODEL_AND_DATA + SINGLE), ("TFG303", MODEL_AND_DATA + RANDOM_MAP)]
)
def test_where_the_results_may_be_others_they_are_not_compared(tmp_path: Path, code: str, program: str) -> None:
    """A larger batch is another training, and random numbers come in another order."""
    path = tmp_path / "train.py"
    path.write_text(program)
    (found,) = repairs(measured(path, code, after=2.0))
    assert isinstance(found, Repair) and not found.compared


def test_what_the_rules_own_workload_showed_is_no_reason_to_change_a_file(tmp_path: Path) -> None:
    path = tmp_path / "train.py"
    path.write_text(MODEL_AND_DATA + EAGER_STEP)
    assert list(repairs(measured(path, "TFG202", "reference"))) == []


def test_a_measurement_under_other_conditions_is_no_reason_to_change_a_file(tmp_path: Path) -> None:
    path = tmp_path / "train.py"
    path.write_text(MODEL_AND_DATA + "data = data.prefetch(2).batch(2)\nmodel.compile(loss='mse')\nmodel.fit(data)\n")
    plain, optimizations_off = measured(path, "TFG302")
    assert plain.case.prediction.kind == "no-effect" and list(repairs([plain])) == []
    (found,) = repairs([optimizations_off])
    assert isinstance(found, Withheld) and "optimizations off" in found.reason


def test_a_file_that_has_changed_meanwhile_is_left_alone(tmp_path: Path) -> None:
    path = tmp_path / "train.py"
    path.write_text(MODEL_AND_DATA + EAGER_STEP)
    (repair,) = repairs(measured(path, "TFG202"))
    assert isinstance(repair, Repair)
    path.write_text("# a line more\n" + MODEL_AND_DATA + EAGER_STEP)
    with pytest.raises(NotApplicable, match=r"train\.py has changed"):
        patches_for(path).add(repair)
    path.write_text(MODEL_AND_DATA + EAGER_STEP)
    patches = patches_for(path)
    patches.add(repair)
    path.write_text("# a line more\n" + MODEL_AND_DATA + EAGER_STEP)
    names, failures = patches.apply()
    assert not names and "edited after the check" in failures[0] and path.read_text().startswith("# a line more")


def test_only_checked_files_are_changed(tmp_path: Path) -> None:
    path = tmp_path / "train.py"
    path.write_text(MODEL_AND_DATA + EAGER_STEP)
    (repair,) = repairs(measured(path, "TFG202"))
    (tmp_path / "other.py").write_text(MODEL_AND_DATA)
    assert isinstance(repair, Repair)
    with pytest.raises(NotApplicable, match="not among the checked files"):
        patches_for(tmp_path / "other.py").add(repair)


def test_a_step_in_a_function_that_a_loop_calls_is_made_one_of_the_module(tmp_path: Path) -> None:
    """In the function that is called it would be traced again by each call, which the measured loop does not show."""
    path = tmp_path / "train.py"
    inner = EAGER_STEP.split("range(3):\n", 1)[1].replace("\n    ", "\n")
    body = "def run(data):\n    " + inner.strip().replace("\n", "\n    ") + "\n"
    body += "    print('trained')\n"
    path.write_text(MODEL_AND_DATA + "\n\n" + body + "\n\nfor epoch in range(30):\n    run(data)\n")
    mended = patched(path, "TFG202")
    assert mended.index("\n@tf.function\ndef train_step(") < mended.index("\ndef run(data):\n")
    path.write_text(MODEL_AND_DATA + "\n\n" + body + "\n\nrun(data)\n")
    assert "def train_step" in patched(path, "TFG202")


def test_a_repair_that_would_bring_another_finding_is_not_offered(tmp_path: Path) -> None:
    path = tmp_path / "train.py"
    path.write_text(MODEL_AND_DATA + NUMBER)
    (repair,) = repairs(measured(path, "TFG204"))
    assert isinstance(repair, Repair)
    (file, change) = next(iter(repair.files.items()))
    looping = tuple(
        replace(edit, content=edit.content.replace(")", ") + tf.function(scaled)(x, 1)")) for edit in change.edits
    )
    with pytest.raises(NotApplicable, match="TFG203"):
        patches_for(path).add(replace(repair, files={file: replace(change, edits=looping)}))


def test_repairs_that_meet_are_offered_one_after_the_other(tmp_path: Path) -> None:
    """Two functions of one name, or two edits of one line, would not be what was measured."""
    path = tmp_path / "train.py"
    path.write_text(
        MODEL_AND_DATA + VALIDATION + VALIDATION.replace("validate", "test").replace("training=False", "None")
    )
    one, other = repairs(measured(path, "TFG207"))
    assert isinstance(one, Repair) and isinstance(other, Repair)
    patches = patches_for(path)
    patches.add(one)
    with pytest.raises(NotApplicable, match="run verify again"):
        patches.add(other)


@pytest.mark.parametrize("command", [["patch", "-p0"], ["git", "apply", "-p0"]], ids=["patch", "git"])
def test_all_repairs_of_a_file_are_one_patch_that_applies(tmp_path: Path, command: list[str]) -> None:
    """Protects who pipes the output of `--diff` on: messages before a patch are no part of it."""
    if shutil.which(command[0]) is None:
        pytest.skip(f"{command[0]} is not installed")
    path = tmp_path / "train.py"
    path.write_text(MODEL_AND_DATA + EAGER_STEP + NUMBER)
    patches = patches_for(path)
    results = [*measured(path, "TFG202"), *measured(path, "TFG204")]
    for repair in repairs(results):
        assert isinstance(repair, Repair)
        patches.add(repair)
    (patch,) = patches.by_file()
    assert len(patch.repairs) == 2 and patch.difference.count("--- ") == 1
    text = message(patch, Report(tuple(results), tensorflow="2.21.0"))
    assert text.startswith("Fix 2 findings in train.py (TFG202, TFG204)\n") and text.count("2x as long") == 2
    given = textwrap.indent(text, "    ") + "\n" + patch.difference
    subprocess.run(command, cwd=tmp_path, input=given, text=True, check=True, capture_output=True, timeout=60)
    applied = path.read_text()
    path.write_text(MODEL_AND_DATA + EAGER_STEP + NUMBER)
    patches.apply()
    assert path.read_text() == applied and "train_step(x, y)" in applied and "tf.constant(step)" in applied


def test_two_functions_may_come_to_one_place(tmp_path: Path) -> None:
    """Their lines go below each other, without more empty ones than usual; what is a decorator goes with its function."""
    path = tmp_path / "train.py"
    other = "other = tf.keras.Sequential([tf.keras.layers.Dense(1)])\n"
    loop = "    for x, y in data:\n        accuracy.update_state(y, {}(x, training=False))\n"
    path.write_text(
        MODEL_AND_DATA + other + VALIDATION.replace(loop.format("net"), loop.format("net") + loop.format("other"))
    )
    patches = patches_for(path)
    for repair in repairs(measured(path, "TFG207")):
        assert isinstance(repair, Repair)
        patches.add(repair)
    patches.apply()
    text = path.read_text()
    assert text.count("@tf.function\ndef traced_") == 2 and "\n\n\n\n" not in text
    ast.parse(text)


def test_a_notebooks_cell_is_fixed_and_its_json_stays(tmp_path: Path) -> None:
    path = tmp_path / "train.ipynb"
    cells = [
        {"cell_type": "markdown", "metadata": {}, "source": ["# A title"]},
        {
            "cell_type": "code",
            "metadata": {"tags": ["a"]},
            "execution_count": 7,
            "outputs": [],
            "source": [MODEL_AND_DATA],
        },
        {"cell_type": "code", "metadata": {}, "execution_count": None, "outputs": [], "source": [EAGER_STEP]},
    ]
    document = {"cells": cells, "metadata": {}, "nbformat": 4, "nbformat_minor": 5}
    path.write_text(json.dumps(document, indent=1))
    patched(path, "TFG202")
    now = json.loads(path.read_text())
    assert "def train_step(x, y):" in "".join(now["cells"][2]["source"])
    now["cells"][2]["source"] = cells[2]["source"]
    assert now == document


def test_line_ends_and_encoding_stay_those_of_the_file(tmp_path: Path) -> None:
    path = tmp_path / "train.py"
    path.write_bytes(
        ("# coding: latin-1\n# Größe\n" + MODEL_AND_DATA + EAGER_STEP).replace("\n", "\r\n").encode("latin-1")
    )
    (repair,) = repairs(measured(path, "TFG202"))
    assert isinstance(repair, Repair)
    patches = patches_for(path)
    patches.add(repair)
    patches.apply()
    data = path.read_bytes()
    assert data.count(b"\n") == data.count(b"\r\n") and "Größe".encode("latin-1") in data


def test_the_commit_message_says_what_was_measured_on_what(tmp_path: Path) -> None:
    path = tmp_path / "train.py"
    path.write_text(MODEL_AND_DATA + EAGER_STEP)
    (result,) = measured(path, "TFG202")
    (repair,) = repairs([result])
    assert isinstance(repair, Repair)
    patches = patches_for(path)
    patches.add(repair)
    (patch,) = patches.by_file()
    text = message(patch, Report((result,), tensorflow="2.21.0", date="2026-01-31"))
    subject, gap, *body = text.splitlines()
    assert (subject, gap) == ("Fix eager-train-step in train.py (TFG202)", "")
    told = " ".join(body)
    for words in (
        "2x as long",
        "95% interval 1.5 to 3, 3 rounds",
        "Both versions give the same results",
        "TensorFlow 2.21.0",
        "CPU",
    ):
        assert words in told
    assert "says nothing about a GPU" in told and max(map(len, text.splitlines())) <= 72


AFTER_AN_EPOCH = """
def learn(x, y):
    with tf.GradientTape() as tape:
        loss = tf.reduce_mean(tf.square(model(x, training=True) - y))
    gradients = tape.gradient(loss, model.trainable_variables)
    optimizer.apply_gradients(zip(gradients, model.trainable_variables))


def one_epoch():
    for x, y in data:
        learn(x, y)


for epoch in range(3):
    one_epoch()
LATER
"""


@pytest.mark.parametrize(
    ("later", "said"),
    [
        ("", "Both versions give the same results."),
        ("    print(epoch)", "Both versions give the same results."),
        ("    if epoch == 1:\n        print('thawed')", "Both versions give the same results."),
        (
            "    if epoch == 1:\n        optimizer.learning_rate = 0.1",
            "in the first 3 steps, before train.py:21 runs",
        ),
        ("    model.save_weights('m')", "in the first 3 steps, before train.py:21 runs"),
    ],
)
def test_what_comes_after_the_steps_that_were_compared_is_told(tmp_path: Path, later: str, said: str) -> None:
    """Protects from "both compute the same" of a thaw or a schedule that no measured step has seen."""
    path = tmp_path / "train.py"
    path.write_text(MODEL_AND_DATA + AFTER_AN_EPOCH.replace("LATER", later))
    results = [
        replace(
            result,
            before=tuple(replace(sample, notes={"compared": 3}) for sample in result.before),
            after=tuple(replace(sample, notes={"compared": 3}) for sample in result.after),
        )
        for result in measured(path, "TFG202")
    ]
    (found,) = repairs(results)
    assert isinstance(found, Repair)
    patches = patches_for(path)
    patches.add(found)
    (patch,) = patches.by_file()
    assert said in " ".join(message(patch, Report(tuple(results))).split())
