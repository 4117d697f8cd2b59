"""TFG210 python-global-in-tf-function."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from tflint_gpu.model import TRACING_SUBSTRINGS
from tflint_gpu.rule import Experiment, Finding, Note, Prediction, Rule, Workload, notes_on

if TYPE_CHECKING:
    from collections.abc import Sequence

    import libcst as cst

    from tflint_gpu.model import Model, Node, Traced


class PythonGlobalInTfFunction(Rule):
    """Traced code reads a Python number of the module or of an object, and the program changes the number later.

    Why: a Python value that a traced function reads becomes a constant of the graph. When the program gives the name or
    the attribute another value, the graph keeps the old one. TensorFlow does not trace again, since no argument has
    changed. Then it has no effect to lower a learning rate, to anneal a loss weight in a callback
    (`self.model.beta = ...`) or to count training phases.

    Reported:
    - a global that changes between two calls of the traced function: in the loop that makes these calls, between two
      statements that make them, or in a function that increments the global or that a loop calls
    - an attribute that is read by a traced method of its object, or by a function that the method defines, if a
      callback sets the attribute between epochs or batches, or the loop that trains or calls the traced code sets it

    Not reported:
    - constants
    - settings that are given once, before the first call

    Measured: with TensorFlow 2.21 and 2.15, a `tf.function` kept using the old number and the old list; a `train_step`
    and a `call` kept using the attribute as it was when `fit` traced them. A test repeats it with the installed
    TensorFlow.

    Fix: none, because the code does not say whether later calls should see the new value or the old one.

    Example:
        import tensorflow as tf

        rate = 1.0


        @tf.function
        def step(x):
            return x * rate


        for epoch in range(10):
            step(tf.ones(3))
            rate = rate * 0.5

    Use instead:
        import tensorflow as tf

        rate = tf.Variable(1.0)


        @tf.function
        def step(x):
            return x * rate


        for epoch in range(10):
            step(tf.ones(3))
            rate.assign(rate * 0.5)
    """

    code = "TFG210"
    name = "python-global-in-tf-function"
    severity = "warning"
    required_substrings = (TRACING_SUBSTRINGS,)
    nearby_substrings = (b"global ", b"for ", b"while ", b" = ")
    skips_tests = True

    def check(self, model: Model) -> Iterator[Finding]:
        """Yield the first read of each such global or attribute in each traced function of this file."""
        from .frozen_attributes import FrozenAttributes
        from .frozen_globals import FrozenGlobals

        for frozen in model.once(FrozenGlobals).all:
            yield _finding(model, frozen.traced, frozen.name, frozen.changes)
        for kept in model.once(FrozenAttributes).all():
            yield _finding(model, kept.traced, kept.node, kept.changes)

    def experiments(self, finding: Finding, model: Model) -> Iterator[Experiment]:
        """A traced function with a global: that the graph keeps it does not depend on the user's code."""
        yield Experiment(finding.file, finding.node, workload=_WORKLOAD, only_workload=True)


_WORKLOAD = Workload(
    before="""
        import tensorflow as tf

        rate = 1.0

        @tf.function
        def step(x):
            return x * rate

        first = float(step(tf.constant(2.0)))
        rate = 5.0
        if float(step(tf.constant(2.0))) == first:
            tflint_measure.finish(wrong="the graph keeps the first value")
        tflint_measure.finish()
    """,
    changes=(("rate = 1.0", "rate = tf.Variable(1.0)"), ("rate = 5.0", "rate.assign(5.0)")),
)


def _finding(model: Model, traced: Traced, read: cst.Name | cst.Attribute, changes: Sequence[Node]) -> Finding:
    name = traced.file.code(read)
    notes = [*notes_on(traced.frames)]
    notes += [Note(model.file, change, f"`{name}` is changed here") for change in changes]
    return Finding(
        traced.file,
        read,
        f"`{name}` is a Python value that changes later, but {traced.entry} keeps the value that it had during tracing",
        Prediction(
            "wrong-result", ("traced",), basis="the graph keeps the old value; measured with TensorFlow 2.15 and 2.21"
        ),
        help="make it a `tf.Variable` and `assign` to it, or pass it as a tensor",
        notes=tuple(notes),
    )
