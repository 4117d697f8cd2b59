"""Values that depend on themselves: every rule comes to an end, whatever makes the next value from the last one."""

from __future__ import annotations

from pathlib import Path

import pytest
from checks import findings, model_of

from tflint_gpu import bounds
from tflint_gpu.model.library.operations import Operation, operations
from tflint_gpu.model.python.syntax.syntax import dotted_name
from tflint_gpu.model.values.values import Values

EXPRESSIONS = """
v + 1 | -v | v @ w | v * 0.9 | v[1:] | v[0] | v[v > 0] | v[None] | v["a"] | v.a | v.shape[0] | len(v) | v.numpy() | v or w | v == w
v if w is None else w | (v, w) | [*v, w] | {"a": v} | {**v} | [e + v for e in w] | zip(v, w) | enumerate(v) | sorted(v) | sum(v) | f"{v}"
f(v) | f(w, v) | part.method(v) | part(v) | v(w) | model(v) | model.predict(v) | functools.partial(v, v) | tf.function(v) | getattr(v, "a")
v.batch(2) | v.map(f) | v.map(lambda e: v) | v.concatenate(w) | tf.data.Dataset.zip((v, w)) | iter(v) | next(v) | v.items() | v.get("a")
tf.keras.Sequential([v]) | tf.keras.Model(v, v) | tf.keras.layers.Dense(v)(v) | tf.Variable(v) | np.asarray(v) | v.assign_add(v) | tf.cond(v, f, f)
tf.map_fn(f, v) | tf.while_loop(f, f, [v]) | np.random.default_rng(v).normal(size=v) | tape.gradient(v, v) | v.trainable_variables | v.to_tensor()
"""
HEAD = """
import functools
import numpy as np
import tensorflow as tf
from place import part, start

model = tf.keras.Sequential([tf.keras.layers.Dense(3)])
adam = tf.keras.optimizers.Adam()
rows = []


def f(v, w=None):
    return v


def error(guess, v, w):
    return tf.reduce_mean(guess - w) / v.shape[0] + len(w)


"""
LOOP = """
v, w = start(), start()
for number in range(1000):
    v = NEXT
    with tf.GradientTape() as tape:
        loss = error(model(v), v, w)
    adam.apply_gradients(zip(tape.gradient(loss, model.trainable_variables), model.trainable_variables))
    rows.append(float(loss))
    model.predict(v)
    w = v
"""
LIST = LOOP.replace("start(), start()", "[3.0], [4.0]")
OBJECT = """
class Steps:
    def __init__(self, v, w):
        self.v, self.w = v, w

    def step(self):
        v, w = self.v, self.w
        self.v = NEXT
        with tf.GradientTape() as tape:
            loss = error(model(self.v), self.v, self.w)
        adam.apply_gradients(zip(tape.gradient(loss, model.trainable_variables), model.trainable_variables))
        return self.v, loss


steps = Steps(1, 2)
for number in range(1000):
    steps.w, loss = steps.step()
    model(steps.w)
"""


def _one_of_each_row() -> list[str]:
    """An operation for each row of the library."""
    rows: dict[Operation, str] = {}
    for name, row in operations().items():
        rows.setdefault(row, name)
    return [f"{name}(v, w)" for name in rows.values()]


@pytest.mark.parametrize("every", [pytest.param(1, marks=pytest.mark.slow), 12])
@pytest.mark.parametrize(
    "program", [LOOP, OBJECT, pytest.param(LIST, marks=pytest.mark.slow)], ids=["loop", "object", "list of one"]
)
def test_every_rule_ends(program: str, every: int, tmp_path: Path) -> None:
    """Protects checks of training loops: `rows = tf.concat([rows, more], 0)` ended in a RecursionError, and `row = np.asarray(row)` of a list."""
    written = [part.strip() for line in EXPRESSIONS.strip().splitlines() for part in line.split("|")]
    for expression in (*written, *_one_of_each_row()[::every]):
        try:
            findings(HEAD + program.replace("NEXT", expression), tmp_path)
        except RecursionError:
            pytest.fail(f"a rule does not end for v = {expression}")


@pytest.mark.parametrize("count", [3, 9])
def test_values_that_make_each_other_are_computed_once_a_round(count: int, tmp_path: Path) -> None:
    """Protects the speed of checks of loops with many variables: each value rests on all others.

    What a question that is open assumes of another one served once only, so that the work doubled with each variable,
    until the bound on it was met, and nothing was known of them.
    """
    names = [f"v{number}" for number in range(count)]
    makes = "".join(f"{name} = tf.zeros([4, 8])\n" for name in names)
    steps = "".join(f"    {name} = {' + '.join(names)}\n" for name in names)
    program = f"import tensorflow as tf\n\n{makes}for step in range(9):\n{steps}print({names[0]})\n"
    model = model_of(program, tmp_path)
    (shown,) = (call for call in model.file.tree.calls if dotted_name(call.func) == "print")
    assert str(model.once(Values).of(model.file, shown.args[0].value)) == "Tensor float32 (4, 8)"
    assert bounds.ABSTRACT_STEPS not in model.inference.bounds_met
