"""TFG108 recursive-tf-function."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import libcst as cst

from tflint_gpu.rule import Experiment, Finding, Prediction, Rule, Workload, notes_on

if TYPE_CHECKING:
    from tflint_gpu.model import Model

    from .recursion import Recursion


class RecursiveTfFunction(Rule):
    """A function under `tf.function` calls itself, directly or through others.

    Why: each call inside a `tf.function` is traced before anything runs. Where a tensor decides when the recursion
    ends, both branches are traced. Tracing then calls the function without end and fails with a `RecursionError`. Where
    Python numbers decide, tracing ends, but each level is traced as a separate function. A recursion over Python
    numbers may be intended, so this rule is opt-in.

    Reported:
    - a decorated function that calls itself, directly or through others
    - a decorated method that calls itself on the same object

    Not reported:
    - functions without a decorator
    - methods that call themselves on another object

    Measured: with TensorFlow 2.21 and 2.15, a factorial of a tensor failed while tracing with `RecursionError` in the
    message; a recursion that counts a Python number down from 20 was traced 21 times. A test repeats it with the
    installed TensorFlow.

    Fix: none, because a recursion has to be rewritten as a loop whose variables hold what each call keeps in local
    variables.

    Example:
        import tensorflow as tf


        @tf.function
        def factorial(n):
            if n <= 1:
                return tf.constant(1)
            return n * factorial(n - 1)

    Use instead:
        import tensorflow as tf


        @tf.function
        def factorial(n):
            result = tf.constant(1)
            while n > 1:
                result *= n
                n -= 1
            return result
    """

    code = "TFG108"
    name = "recursive-tf-function"
    severity = "warning"
    required_substrings = ((b"tensorflow", b"tf.function"),)
    nearby_substrings = (b"tf.function", b"tf2.function", b"tensorflow.function", b"import function", b".function")
    opt_in = True

    def check(self, model: Model) -> Iterator[Finding]:
        """Yield the recursive functions of this file."""
        from .recursion import Recursions

        for recursion in model.once(Recursions).all:
            yield _finding(recursion)

    def experiments(self, finding: Finding, model: Model) -> Iterator[Experiment]:
        """A recursion that a tensor ends: the user's own may be one over Python numbers."""
        yield Experiment(finding.file, finding.node, workload=_WORKLOAD, only_workload=True)


_WORKLOAD = Workload(
    before="""
        import tensorflow as tf

        @tf.function
        def factorial(n):
            if n <= 1:
                return tf.constant(1)
            return n * factorial(n - 1)

        tflint_measure.finish(outputs=factorial(tf.constant(5)).numpy())
    """,
    changes=(
        ("    if n <= 1:\n        return tf.constant(1)\n", "    result = tf.constant(1)\n"),
        ("    return n * factorial(n - 1)", "    while n > 1:\n        result *= n\n        n -= 1\n    return result"),
    ),
)


def _finding(recursion: Recursion) -> Finding:
    function = recursion.function
    notes = [note for path in recursion.paths for note in notes_on(path)]
    return Finding(
        function.file,
        function.node.name if isinstance(function.node, cst.FunctionDef) else function.node,
        f"the `tf.function` `{function.name}` calls itself: each level is traced again, and where a tensor decides "
        "when the recursion ends, tracing never ends",
        Prediction(
            "crash",
            ("traced",),
            basis="RecursionError if a tensor decides when it ends; measured with TensorFlow 2.15 and 2.21",
        ),
        help="write it as a loop, or take the decorator off and call it from a `tf.function` with Python numbers",
        notes=tuple(dict.fromkeys(notes)),
    )
