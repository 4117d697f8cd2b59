"""Loops that run several models eagerly: one fix traces all of them, and the program gives the same with TensorFlow."""

from __future__ import annotations

from pathlib import Path

import pytest
from checks import findings, fixed, model_of
from fixed_programs import HEAD, assert_same

from tflint_gpu.rule import fix_changes

LAYERS = """
dense = tf.keras.layers.Dense
rows = np.tile(data, (4, 1))
batches = tf.data.Dataset.from_tensor_slices((rows, rows[:, :1])).batch(3)
result = []
"""
# The rule, the program, and how many functions its one fix brings.
FIXED = {
    "one model's output is the other's input": (
        "TFG207",
        """
encoder = tf.keras.Sequential([tf.keras.Input((4,)), dense(3)])
decoder = tf.keras.Sequential([tf.keras.Input((3,)), dense(4)])
for pixels, _ in batches:
    codes = encoder(pixels, training=False)
    result.append(tf.reduce_sum(decoder(codes, training=False) - pixels))
""",
        2,
    ),
    "a call in the argument of another": (
        "TFG207",
        """
body = tf.keras.Sequential([tf.keras.Input((4,)), dense(3)])
head = tf.keras.Sequential([tf.keras.Input((3,)), dense(1)])
result = [tf.reduce_sum(head(body(pixels))) for pixels, _ in batches]
""",
        2,
    ),
    "a model that gets none of the data": (
        "TFG207",
        """
maker = tf.keras.Sequential([tf.keras.Input((4,)), dense(4)])
critic = tf.keras.Sequential([tf.keras.Input((4,)), dense(1)])
for number, (real, _) in enumerate(batches):
    made = maker(tf.random.stateless_normal((3, 4), [number, 1]), training=False)
    result.append(tf.reduce_mean(critic(real, training=False)) - tf.reduce_mean(critic(made, training=False)))
""",
        2,
    ),
    "a layer of a network before a step of Keras": (
        "TFG207",
        """
maker = tf.keras.Sequential([tf.keras.Input((4,)), dense(4)])
critic = tf.keras.Sequential([tf.keras.Input((4,)), dense(1)])
pair = tf.keras.Sequential([maker, critic])
first, second = pair.layers
second.compile("sgd", "mse")
for number, (real, _) in enumerate(batches):
    made = first(tf.random.stateless_normal((3, 4), [number, 1]))
    second.train_on_batch(tf.concat([made, real], 0), tf.zeros((3 + len(real), 1)))
    result.append(tf.reduce_sum(made))
""",
        1,
    ),
    "one model twice": (
        "TFG207",
        """
net = tf.keras.Sequential([dense(2)])
for x, _ in batches:
    result.append(tf.reduce_sum(net(x) * net(tf.reverse(x, [1]))))
""",
        1,
    ),
    "one name for two models that get their variables in the first call": (
        "TFG207",
        """

class Student:
    def __init__(self):
        self.net = tf.keras.Sequential([dense(2)])


class Teacher:
    def __init__(self):
        self.net = tf.keras.Sequential([dense(2)])


student, teacher = Student(), Teacher()
for x, _ in batches:
    result.append(tf.reduce_sum(student.net(x) - teacher.net(x)))
""",
        2,
    ),
    "one name, and one of the models has its variables": (
        "TFG207",
        """

class Old:
    def __init__(self):
        self.net = tf.keras.Sequential([tf.keras.Input((4,)), dense(2)])


class New:
    def __init__(self):
        self.net = tf.keras.Sequential([dense(2)])


old, new = Old(), New()
for x, _ in batches:
    result.append(tf.reduce_sum(old.net(x) - new.net(x)))
""",
        2,
    ),
    "one name for two models that have their variables": (
        "TFG207",
        """

class Left:
    def __init__(self):
        self.net = tf.keras.Sequential([tf.keras.Input((4,)), dense(2)])


class Right:
    def __init__(self):
        self.net = tf.keras.Sequential([tf.keras.Input((4,)), dense(2)])


left, right = Left(), Right()
for x, _ in batches:
    result.append(tf.reduce_sum(left.net(x) - right.net(x)))
""",
        1,
    ),
    "methods of an agent": (
        "TFG214",
        """

class Agent:
    def __init__(self):
        self.actor = tf.keras.Sequential([tf.keras.Input((4,)), dense(3)])
        self.critic = tf.keras.Sequential([tf.keras.Input((4,)), dense(1)])

    def value(self, state):
        return float(self.critic(state)[0, 0])

    def move(self, state):
        return int(np.argmax(self.actor(state)))


agent = Agent()
for number in range(60):
    state = np.full((1, 4), number / 60, "float32")
    move = agent.move(state)
    result.append(agent.value(state) + move)
""",
        2,
    ),
}
LEARNS = """

class Counting(tf.keras.Model):
    def __init__(self):
        super().__init__()
        self.calls, self.layer = [], dense(1)

    def call(self, x):
        self.calls.append(1)
        return self.layer(x)


counting = Counting()
plain = tf.keras.Sequential([tf.keras.Input((4,)), dense(1)])
for x, _ in batches:
    result.append(tf.reduce_sum(counting(x) + plain(x)))
result.append(len(counting.calls))
"""


@pytest.mark.slow
@pytest.mark.parametrize(("rule", "program", "functions"), FIXED.values(), ids=FIXED.keys())
def test_one_fix_traces_all_models_of_a_loop(rule: str, program: str, functions: int, tmp_path: Path) -> None:
    """Protects users from a second round: nothing is left for the next run."""
    before = HEAD + LAYERS + program
    after = fixed(before, tmp_path, rule)
    assert after.count("@tf.function\n") == functions, after
    assert not {"TFG207", "TFG214"} & {found.code for found, _ in findings(after, tmp_path)}, after
    assert "\n\n\n\n" not in after
    assert_same(before, after)


def test_noise_before_another_step_is_not_reported(tmp_path: Path) -> None:
    """Protects loops in which nothing shows that an iteration is a step of training."""
    program = """
maker = tf.keras.Sequential([tf.keras.Input((4,)), dense(4)])
for real, _ in batches:
    shown(maker(tf.random.normal((3, 4))), real)
"""
    assert "TFG207" not in {found.code for found, _ in findings(HEAD + LAYERS + program, tmp_path)}


@pytest.mark.slow
def test_a_call_that_may_not_be_traced_stays(tmp_path: Path) -> None:
    """Protects what a model's Python code does in each call; the fix says of how many calls it is."""
    before = HEAD + LAYERS + LEARNS
    ((_, finding),) = [found for found in findings(before, tmp_path) if found[0].code == "TFG207"]
    assert finding.fix is not None
    expected = "Call `plain` in a function under `@tf.function`: 1 of the 2 calls of models in this loop"
    assert finding.fix.message == expected
    assert [note.message for note in finding.notes] == ["the loop over the data", "this one runs eagerly, too"]
    after = fixed(before, tmp_path, "TFG207")
    assert "counting(x) + traced_plain(plain, x)" in after
    assert fixed(after, tmp_path, "TFG207") == after
    assert_same(before, after)


def test_verify_measures_the_code_of_the_fix(tmp_path: Path) -> None:
    """Protects the word of what was compared: it is of a call that the fix traces."""
    code = HEAD + LAYERS + LEARNS
    ((rule, finding),) = [found for found in findings(code, tmp_path) if found[0].code == "TFG207"]
    (experiment,) = rule.experiments(finding, model_of(code, tmp_path))
    assert experiment.user_edits == fix_changes(finding)
    assert {probe.file.code(probe.node) for probe in experiment.probes if ".eager(" in probe.text} == {"plain"}
