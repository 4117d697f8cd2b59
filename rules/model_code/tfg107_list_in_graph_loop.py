"""TFG107 list-in-graph-loop."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from tflint_gpu.model import GraphLists
from tflint_gpu.rule import Experiment, Finding, Note, Prediction, Rule, Workload, notes_on

if TYPE_CHECKING:
    from tflint_gpu.model import Leak, Model


class ListInGraphLoop(Rule):
    """A loop that becomes part of the graph appends tensors to a Python list that is used after the loop.

    Why: under `tf.function` a loop over `tf.range` or a dataset, or with a tensor as its condition, becomes a single
    loop in the graph, a graph loop. Its body is traced once, so the list gets one tensor. This tensor belongs to the
    graph of the loop's body and cannot be used outside: `InaccessibleTensorError`. A `tf.TensorArray` carries results
    out of such a loop.

    Reported:
    - a Python list to which a graph loop appends tensors, and which is used after the loop
    - the same in functions that `tf.map_fn` and `tf.while_loop` call

    Not reported:
    - loops over Python's `range`, lists, layers and gradients, which are unrolled
    - tensors that existed before the loop
    - lists that are only counted, or not used again
    - eager code

    Measured: raises with TensorFlow 2.21 and 2.15; a test repeats it with the installed TensorFlow.

    Fix: none, because a `tf.TensorArray` needs a size and has to be passed from iteration to iteration, which changes
    the whole loop.

    Example:
        import tensorflow as tf


        @tf.function
        def powers(x):
            found = []
            for i in tf.range(5):
                x = x * 2.0
                found.append(tf.reduce_sum(x))
            return tf.stack(found)

    Use instead:
        import tensorflow as tf


        @tf.function
        def powers(x):
            found = tf.TensorArray(tf.float32, size=5)
            for i in tf.range(5):
                x = x * 2.0
                found = found.write(i, tf.reduce_sum(x))
            return found.stack()
    """

    code = "TFG107"
    name = "list-in-graph-loop"
    severity = "error"
    required_substrings = ((b"function",),)
    nearby_substrings = (b".append(",)
    skips_graphs = True

    def check(self, model: Model) -> Iterator[Finding]:
        """Yield the calls that put a tensor of the loop's own graph into a list."""
        if model.reaches(b"_eagerly"):
            return
        for leak in model.once(GraphLists).leaks():
            yield _finding(leak)

    def experiments(self, finding: Finding, model: Model) -> Iterator[Experiment]:
        """The rule's own workload: what such a list holds cannot be used, whatever it is."""
        yield Experiment(
            finding.file,
            finding.node,
            exceptions=("InaccessibleTensorError",),
            workload=_WORKLOAD,
            only_workload=True,
        )


def _finding(leak: Leak) -> Finding:
    file = leak.traced.file
    return Finding(
        file,
        leak.append.func,
        f"the Python code of this graph loop runs once, while TensorFlow traces {leak.traced.entry}: "
        "the tensor in the list cannot be used after the loop",
        Prediction("crash", ("traced",), basis="InaccessibleTensorError; measured with TensorFlow 2.15 and 2.21"),
        help="use a `tf.TensorArray`, or loop over Python's `range` where the number of iterations is known",
        notes=(
            Note(file, leak.loop, "the graph loop"),
            Note(file, leak.use, "the list is used here"),
            *notes_on(leak.traced.frames),
        ),
    )


_WORKLOAD = Workload(
    before="""
        import tensorflow as tf

        @tf.function
        def powers(x):
            found = []
            for _ in tf.range(5):
                x = x * 2.0
                found.append(x)
            return found[-1]

        tflint_measure.finish(outputs=powers(tf.ones((2,))).numpy())
    """,
    changes=(("for _ in tf.range(5)", "for _ in range(5)"),),
)
