"""Steps of which only the tape and the update can be traced: they are measured moved out of their method."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from forked import ForkedPrograms
from verified import MODEL_AND_DATA, cases_of

from tflint_gpu.verify.execution.worker import Outcome

pytestmark = pytest.mark.slow

LEARNER = """
import random
import numpy as np

class Learner:
    def __init__(self):
        self.past, self.scale = [], 0.5
        self.net = model

    def note(self, row):
        self.past.append(row)

    def improve(self, gain, over):
        {before}
        rows = np.array(random.sample(self.past, 8))
        marks = np.arange(8) % 2 == 0
        {after}
        with tf.GradientTape() as recorded:
            value = self.net(rows[:, :4])
            wanted = gain + self.scale * value * (1 - int(over)) * marks
            error = tf.reduce_mean(tf.square(wanted - value))
        slopes = recorded.gradient(error, self.net.trainable_variables)
        optimizer.apply_gradients(zip(slopes, self.net.trainable_variables))
        return error

learner = Learner()
moments = range(4000)
for moment in moments:
    learner.note(np.full(4, moment % 7 / 7))
    if len(learner.past) > 20:
        learner.improve(moment / 4000, moment % 3 == 0)
"""


def planned(code: str, folder: Path) -> tuple[str, str, list[Path]]:
    """The texts of both programs of the eager step, and where they lie."""
    (folder / "learn.py").write_text(MODEL_AND_DATA + code)
    (case,) = [case for case in cases_of(folder / "learn.py") if case.diagnostic.code == "TFG202"]
    assert case.pair is not None, case.reason
    assert any("receives the program's numbers as tensors" in text for text in case.pair.remarks) == (
        "handed(" in case.pair.after.files["learn.py"]
    )
    pair = (case.pair.before, case.pair.after)
    paths = [program.write(folder / name) for name, program in zip(("before", "after"), pair, strict=True)]
    return pair[0].files["learn.py"], pair[1].files["learn.py"], paths


def finished(outcome: Outcome) -> Outcome:
    assert outcome.status == "finished" and outcome.result is not None, outcome.stderr
    return outcome


def test_a_block_moves_out_of_a_method_that_cannot_be_traced(tmp_path: Path, forks: ForkedPrograms) -> None:
    """Protects agents: what draws from their memory stays in Python, and the weights become the same."""
    before, after, paths = planned(LEARNER.format(before="pass", after="pass"), tmp_path)
    head = after[after.index("@tf.function") :]
    assert head.index("def train_step(") < head.index("class Learner") and "    @tf.function" not in after
    assert "int(over))" in after and "int(over)" not in after[: after.index("class Learner")]
    assert "train_step" not in before and before.count("passed(0)") == after.count("passed(0)") == 1
    flagged, repaired = (finished(forks.outcome(path)) for path in paths)
    assert flagged.result is not None and repaired.result is not None
    np.testing.assert_allclose(flagged.result.outputs, repaired.result.outputs, rtol=1e-3, atol=1e-5)


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("global moments", "moments = 1"),
        ("pass", "self.net.__call = 1"),
    ],
)
def test_what_is_before_the_block_does_not_keep_it(before: str, after: str, tmp_path: Path) -> None:
    """Protects from keeping a block where it is for what stays there."""
    _, text, _ = planned(LEARNER.format(before=before, after=after), tmp_path)
    assert "handed(" in text


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("error = tf", "self.last = error = tf"),
        ("slopes = ", "self.past.append(error)\n        slopes = "),
        ("value = self.net(rows", "value = super().__getattribute__('net')(rows"),
        ("slopes = recorded", "slopes = self.__class__.__slopes = recorded"),
    ],
)
def test_a_block_that_would_do_another_thing_stays(old: str, new: str, tmp_path: Path) -> None:
    """Protects from measuring a repair that keeps what Python does in the block to the one time it is traced."""
    code = LEARNER.format(before="pass", after="pass")
    assert old in code
    _, text, _ = planned(code.replace(old, new), tmp_path)
    assert "handed(" not in text


DELAYED = """
class Learner:
    def __init__(self):
        self.net, self.other, self.moves = model, tf.keras.Sequential([tf.keras.layers.Dense(1)]), 0
        self.fast, self.slow = optimizer, tf.keras.optimizers.SGD()

    def improve(self, rows):
        if self.moves < 0:
            return
        with tf.GradientTape() as recorded:
            noise = tf.random.normal([*np.shape(rows)])
            error = tf.reduce_mean(tf.square(self.net(rows + noise)))
        self.fast.apply_gradients(zip(recorded.gradient(error, self.net.weights), self.net.weights))
        self.moves += 1
        if self.moves % 2 == 0:
            with tf.GradientTape() as second:
                lag = tf.reduce_mean(self.other(rows))
            self.slow.apply_gradients(zip(second.gradient(lag, self.other.weights), self.other.weights))


import numpy as np

learner = Learner()
for moment in range(4000):
    learner.improve(tf.ones((8, 4)))
"""


def test_a_block_ends_before_an_update_that_is_not_made_in_each_step(tmp_path: Path) -> None:
    """Protects agents whose second network learns in every second step: what counts the steps stays in Python."""
    (tmp_path / "learn.py").write_text(MODEL_AND_DATA + DELAYED)
    cases = [case for case in cases_of(tmp_path / "learn.py") if case.diagnostic.code == "TFG202"]
    texts = [case.pair.after.files["learn.py"] for case in cases if case.pair is not None]
    (moved,) = [text for text in texts if "handed(" in text and text.index("handed(") < text.index("self.moves += 1")]
    block = moved[moved.index("@tf.function") : moved.index("class Learner")]
    assert "self.fast.apply_gradients" in block and "self.moves" not in block and "second" not in block


CELLS = """
import numpy as np

net = model

def improve(rows):
    if rows[0].numpy().sum() < 0:
        return
    with tf.GradientTape() as recorded:
        error = tf.reduce_mean(tf.square(net(rows)))
    optimizer.apply_gradients(zip(recorded.gradient(error, net.weights), net.weights))

net = tf.keras.Sequential([tf.keras.layers.Dense(1)])
{more}for moment in range(4000):
    improve(tf.ones((8, 4)))
"""


@pytest.mark.parametrize(
    ("more", "is_moved"), [("", True), ("for net in (model, net):\n    improve(tf.ones((8, 4)))\n", False)]
)
def test_a_name_that_other_cells_gave_another_value(more: str, is_moved: bool, tmp_path: Path) -> None:
    """Protects notebooks, in which each cell makes a `model`: no loop changes it while the step is measured."""
    (tmp_path / "learn.py").write_text(MODEL_AND_DATA + CELLS.format(more=more))
    cases = [case for case in cases_of(tmp_path / "learn.py") if case.diagnostic.code == "TFG202"]
    assert any(case.pair is not None and "handed(" in case.pair.after.files["learn.py"] for case in cases) is is_moved


PADDED = """
import numpy as np

texts = [[[0.25] * (4 - n), [0.5] * 4] for n in (0, 0, 0)] * 20
for text in texts:
    with tf.GradientTape() as recorded:
        value = model(np.expand_dims(text[0], axis=0))
        error = tf.reduce_mean(tf.square(value - float(len(text)))) if value is not None else np.sum(text)
    slopes = recorded.gradient(error, model.trainable_variables)
    optimizer.apply_gradients(zip(slopes, model.trainable_variables))
    print(error)
"""


def test_what_numpy_makes_of_the_data_stays_outside(tmp_path: Path, forks: ForkedPrograms) -> None:
    """Protects steps that prepare their batch under the tape: NumPy takes no tensor while a function is traced."""
    _, after, paths = planned(PADDED, tmp_path)
    assert "handed(" in after and "np.expand_dims(text[0], axis=0)" in after[after.index("handed(") :]
    moved = after[after.index("def train_step") : after.index("for text in")]
    assert "expand_dims_1)" in moved and "np.expand_dims" not in moved
    assert "np.sum(text)" in moved, "it may not run"
    flagged, repaired = (finished(forks.outcome(path)) for path in paths)
    assert flagged.result is not None and repaired.result is not None
    np.testing.assert_allclose(flagged.result.outputs, repaired.result.outputs, rtol=1e-3, atol=1e-5)


RETURNS = """
import numpy as np

for day in range(4000):
    rows = np.random.rand(8, 4)
    worth, over = {made}
    with tf.GradientTape() as tape:
        error = tf.reduce_mean(worth * (1 - over) * tf.reduce_sum(model(rows), axis=1))
    slopes = tape.gradient(error, model.trainable_variables)
    optimizer.apply_gradients(zip(slopes, model.trainable_variables))
"""


@pytest.mark.parametrize(
    "made",
    [
        "np.cumsum(np.ones(8)), np.arange(8) > 5",
        "map(np.array, ([0.5 * n for n in range(8)], [n > 5 for n in range(8)]))",
    ],
)
def test_an_array_that_a_step_calculates_with_gets_the_type_of_the_others(
    made: str, tmp_path: Path, forks: ForkedPrograms
) -> None:
    """Protects steps that weigh by returns of NumPy's: eagerly it fits itself to a tensor, in a traced function not."""
    _, after, paths = planned(RETURNS.replace("{made}", made), tmp_path)
    assert "handed(" in after
    flagged, repaired = (forks.outcome(path) for path in paths)
    assert (flagged.status, repaired.status) == ("finished", "finished"), repaired.stderr
    assert np.allclose(flagged.outputs, repaired.outputs, rtol=1e-4)


READS = """
def learn(day):
    for step, (x, y) in enumerate(data):
        with tf.GradientTape() as tape:
            error = tf.reduce_mean(tf.square(model(x, training=True) - y))
        slopes = tape.gradient(error, model.trainable_variables)
        optimizer.apply_gradients(zip(slopes, model.trainable_variables))
        best = min(day, error.numpy())
        if best < 0.001:
            print(day, best)

for day in range(30):
    learn(day)
"""


def test_what_is_read_next_to_the_block_stays_outside(tmp_path: Path, forks: ForkedPrograms) -> None:
    """Protects steps that look at their loss: the tape and the update can be traced, the rest goes on as it was."""
    before, after, paths = planned(READS, tmp_path)
    assert "few(" not in before + after, "the loop that is measured runs both the same number of times"
    assert "@tf.function" in after and "error.numpy()" in after.partition("for step")[2]
    flagged, repaired = (forks.outcome(path) for path in paths)
    assert (flagged.status, repaired.status) == ("finished", "finished"), repaired.stderr
    assert flagged.outputs is not None, (flagged.exit_code, flagged.result, flagged.stderr)
    assert np.allclose(flagged.outputs, repaired.outputs, rtol=1e-4)
    inside = READS.replace(
        "        slopes = ", "        if error.numpy() < 0:\n            continue\n        slopes = "
    )
    (tmp_path / "learn.py").write_text(MODEL_AND_DATA + inside)
    (case,) = [case for case in cases_of(tmp_path / "learn.py") if case.diagnostic.code == "TFG202"]
    assert case.pair is None and "reads values on the host" in case.reason


DESCENT = """
place = tf.constant([4.0, 0.0])
for step in range(200):
    with tf.GradientTape() as tape:
        tape.watch([place])
        height = place[0] ** 2 + tf.sin(place[1])
    slope = tape.gradient(height, [place])[0]
    place -= 0.01 * slope
    if step % 20 == 0:
        print(step, place.numpy(), height.numpy())
"""


def test_a_step_that_the_program_updates_itself(tmp_path: Path, forks: ForkedPrograms) -> None:
    """Protects descents without an optimizer: the tape and its gradient are traced, the rest goes on as it was."""
    _, after, paths = planned(DESCENT, tmp_path)
    assert "@tf.function" in after and "height.numpy()" in after.partition("for step")[2]
    outcomes = [forks.outcome(path) for path in paths]
    assert [outcome.status for outcome in outcomes] == ["finished"] * 2, outcomes[1].stderr
