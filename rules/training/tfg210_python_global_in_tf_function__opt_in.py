"""TFG210 python-global-in-tf-function."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from tflint_gpu.rule import Experiment, Finding, Note, Prediction, Rule, Workload, notes_on

if TYPE_CHECKING:
    from tflint_gpu.model import Model

    from .frozen_globals import FrozenGlobal


class PythonGlobalInTfFunction(Rule):
    """A `tf.function` reads a Python number or list of the module that the program changes later.

    Why: a Python value that a traced function reads becomes a constant of the graph. When the program gives the global
    another value, the graph keeps the old one, and TensorFlow does not trace again, since no argument has changed: a
    learning rate that is lowered, a weight that is annealed or a phase that is counted has no effect. Reported: globals
    that change between two calls of the function, which is in the same loop, between two statements that call it, or in
    a function that counts or that a loop calls. Constants, and settings that are given once before the first call, are
    fine. What such code means is often hard to see, so this rule runs only where it is selected by its code.

    Measured: with TensorFlow 2.21 and 2.15, a `tf.function` went on with the old number, and with the old list. A test
    repeats it with the installed TensorFlow.

    Fix: none, because whether later calls are to see the new value or the old one is not written anywhere.

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
    required_substrings = ((b"tf.function", b"tf2.function", b"tensorflow.function", b"import function"),)
    nearby_substrings = (b"global ", b"for ", b"while ", b" = ")
    skips_tests = True
    opt_in = True

    def check(self, model: Model) -> Iterator[Finding]:
        """Yield the first read of each such global in each traced function of this file."""
        from .frozen_globals import FrozenGlobals

        for frozen in model.once(FrozenGlobals).all:
            yield _finding(frozen)

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


def _finding(frozen: FrozenGlobal) -> Finding:
    traced, name = frozen.traced, frozen.name.value
    notes = [*notes_on(traced.frames)]
    notes += [Note(traced.file, change, f"`{name}` is changed here") for change in frozen.changes]
    return Finding(
        traced.file,
        frozen.name,
        f"`{name}` is a Python value that is changed later: {traced.entry} keeps the value from when it was traced",
        Prediction("wrong-result", ("traced",), basis="the graph keeps the old value; measured with 2.15 and 2.21"),
        help="make it a `tf.Variable` and `assign` to it, or pass it as a tensor",
        notes=tuple(notes),
    )
