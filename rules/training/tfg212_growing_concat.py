"""TFG212 growing-concat."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from tflint_gpu.rule import Experiment, Finding, Note, Prediction, Rule, Workload, notes_on

from .growth import CONCATENATIONS, Growth, Growths

if TYPE_CHECKING:
    from tflint_gpu.model import Model, Node


class GrowingConcat(Rule):
    """A Python loop appends to a tensor, or writes one of its rows, by copying the whole tensor in every iteration.

    Why: a tensor cannot grow: `tf.concat` makes a new one and copies all its inputs. A loop that joins new rows to all
    rows so far copies the whole collection in every iteration, and the work grows with the square of the number of
    iterations. A Python list takes each part as it is, and one `tf.concat` after the loop copies everything once. In
    the same way `x = tf.tensor_scatter_nd_update(x, [[i]], [row])` copies the whole tensor for one row. One update with
    all indices and rows writes them at once.

    Reported:
    - a tensor to which a Python loop joins rows in every iteration
    - a tensor of which a Python loop writes a row in every iteration

    Not reported:
    - loops of few iterations, and loops over a model's parts
    - tensors that the loop also reads, such as the text so far, from which the next token is generated
    - sliding windows, from which the loop drops old rows
    - NumPy arrays to which no tensor is added
    - code that TensorFlow traces

    Measured: {evidence}

    Fix: unsafe: the list holds the parts themselves, which later code must not change in place. There is no fix where a
    loop appends to several tensors, because each would need a separate list. There is no fix for updates, because a
    later update may overwrite a row.

    Example:
        import tensorflow as tf

        model = tf.keras.models.load_model("scores.keras")
        dataset = tf.data.Dataset.from_tensor_slices(images).batch(32)

        scores = tf.zeros([0, 10])
        for batch in dataset:
            scores = tf.concat([scores, model.predict_on_batch(batch)], axis=0)

    Use instead:
        import tensorflow as tf

        model = tf.keras.models.load_model("scores.keras")
        dataset = tf.data.Dataset.from_tensor_slices(images).batch(32)

        scores = tf.zeros([0, 10])
        scores_parts = [scores]
        for batch in dataset:
            scores_parts.append(model.predict_on_batch(batch))
        scores = tf.concat(scores_parts, axis=0)
    """

    code = "TFG212"
    name = "growing-concat"
    least_tensorflow = (2, 0)
    nearby_substrings = CONCATENATIONS
    fixable = "unsafe"
    skips_tests = True
    skips_graphs = True

    def check(self, model: Model) -> Iterator[Finding]:
        """Yield the first concatenation of each loop that makes something longer; the others are notes."""
        from .growth import joined_once

        for first, others in _by_loop(model):
            yield Finding(
                first.file,
                first.call,
                _text(first),
                _PREDICTION if not first.is_update else _OF_UPDATES,
                help=_UPDATE_ONCE if first.is_update else _JOIN_ONCE,
                fix=joined_once(first) if not others else None,
                notes=(
                    Note(first.loop_file, first.loop, "in every iteration of this loop"),
                    *notes_on(first.path),
                    *(Note(other.file, other.call, f"`{other.name}` grows here, too") for other in others),
                ),
            )

    def experiments(self, finding: Finding, model: Model) -> Iterator[Experiment]:
        """The rule's own workload: the cost of an iteration in the user's program depends on how many came before."""
        yield Experiment(model.file, finding.node, workload=_WORKLOAD, only_workload=True)


def _text(growth: Growth) -> str:
    if growth.is_update:
        return (
            f"`{growth.name}` is copied in every iteration of a loop just to write some of its rows: each iteration "
            "starts an operation whose work grows with the size of the tensor"
        )
    copied = "copied to the host and joined by NumPy" if growth.on_host else "copied"
    return (
        f"`{growth.name}` grows by a concatenation in every iteration of a loop: all its rows are {copied} each "
        "time, so the work grows with the square of the number of iterations"
    )


def _by_loop(model: Model) -> Iterator[tuple[Growth, list[Growth]]]:
    """The concatenations of each outermost loop: one mistake, with one fix."""
    groups: list[list[Growth]] = []
    for growth in model.once(Growths).in_loops:
        for group in groups:
            if any(_are_one(growth, other) for other in group):
                group.append(growth)
                break
        else:
            groups.append([growth])
    for first, *others in groups:
        yield first, others


def _are_one(growth: Growth, other: Growth) -> bool:
    """Whether a function makes two longer in the same loop, or one of them in a loop and in one around it."""
    if growth.loop_file is not other.loop_file or growth.path != other.path:
        return False
    if growth.loop is other.loop:
        return True
    within = growth.loop_file.tree.within
    nested: list[tuple[Node, Node]] = [(growth.loop, other.loop), (other.loop, growth.loop)]
    return growth.name == other.name and any(within(inner, outer) for inner, outer in nested)


_JOIN_ONCE = "append the parts to a Python list, and join them once after the loop"
_UPDATE_ONCE = "collect the indices and rows in two lists, and update the tensor once after the loop"
_OF_UPDATES = Prediction(
    "slowdown",
    ("eager",),
    low=2.0,
    high=1_500.0,
    basis="writing 1,000 and 4,000 rows of 8 and 64 numbers against one update, on a CPU: 134 to 1,245 times",
)
_PREDICTION = Prediction(
    "slowdown",
    ("eager",),
    low=1.3,
    high=100.0,
    basis="collecting 20 and 200 batches, against a list that is joined once, on a CPU; more with more iterations",
)
_WORKLOAD = Workload(
    before="""
        import tensorflow as tf

        batch = tf.random.normal((32, 1000))

        def collected():
            rows = tf.zeros([0, 1000])
            for _ in range(100):
                rows = tf.concat([rows, batch], 0)
            return rows

        def collected_in_a_list():
            rows = []
            for _ in range(100):
                rows.append(batch)
            return tf.concat(rows, 0)

        for _ in tflint_measure.steps(range(8)):
            collected().numpy()
    """,
    changes=(("collected().numpy()", "collected_in_a_list().numpy()"),),
)
