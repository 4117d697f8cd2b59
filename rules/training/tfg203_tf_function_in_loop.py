"""TFG203 tf-function-in-loop."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from tflint_gpu.model import FunctionObjects
from tflint_gpu.rule import Experiment, Finding, Note, Prediction, Rule, Workload, notes_on

if TYPE_CHECKING:
    from tflint_gpu.model import Model


class TfFunctionInLoop(Rule):
    """A loop makes a new `tf.function` in every iteration, so every iteration traces it.

    Why: the graphs that `tf.function` traces belong to the object that it returns. An object that is made once traces
    once for each combination of argument types and shapes. An object that is made in a loop, or in a function that a
    loop calls, traces in every iteration, and the graph is thrown away.

    Reported:
    - a `tf.function` that each iteration of a loop makes again
    - the same in a loop that unfreezes layers once, under an `if`: there, a second object is enough

    Not reported:
    - objects that are kept: returned, stored, or passed on
    - objects that close over a model, an optimizer or a dataset of the same iteration, one for each fold or run
    - loops that freeze and unfreeze layers again and again: a trace keeps the set of variables with which it was made
    - loops over devices, and loops of few iterations
    - code that is itself traced

    Measured: {evidence}

    Fix: unsafe: code that runs only while the function is traced, such as a `print`, runs once. The function is made
    before the loop. If a method or function makes it in each call, it becomes a method, or a function with the model as
    an argument. There is no fix where the program changes a value that traced code may read, where layers are frozen or
    unfrozen, where the function needs more of the code around it than the model, or where the code that makes it and
    the loop are in different files.

    Example:
        import tensorflow as tf

        model = tf.keras.Sequential([tf.keras.layers.Dense(1)])
        dataset = tf.data.Dataset.range(1000).batch(10)

        for epoch in range(50):

            @tf.function
            def forward(x):
                return model(x)

            scores = [forward(x) for x in dataset]

    Use instead:
        import tensorflow as tf

        model = tf.keras.Sequential([tf.keras.layers.Dense(1)])
        dataset = tf.data.Dataset.range(1000).batch(10)


        @tf.function
        def forward(x):
            return model(x)


        for epoch in range(50):
            scores = [forward(x) for x in dataset]
    """

    code = "TFG203"
    name = "tf-function-in-loop"
    least_tensorflow = (2, 0)
    required_substrings = (
        (b"tf.function", b"tf2.function", b"tensorflow.function", b"import function", b"for ", b"while "),
    )
    nearby_substrings = (b"tf.function", b"tf2.function", b"tensorflow.function", b"import function")
    fixable = "unsafe"
    skips_tests = True

    def check(self, model: Model) -> Iterator[Finding]:
        """Yield the decorators and calls that make a `tf.function` in every iteration of a loop."""
        from .hoisted_functions import made_once

        objects = model.once(FunctionObjects)
        for made in objects.short_lived:
            notes = [Note(made.loop_file, made.loop, "in every iteration of this loop")]
            notes += notes_on(made.path)
            thaws = objects.thaws(made)
            yield Finding(
                made.file,
                made.node,
                "every iteration of a loop makes this `tf.function` again, and traces it again",
                Prediction(
                    "slowdown",
                    ("eager",),
                    low=1.5,
                    high=90,
                    basis="measured with a small network; `tflint-gpu rule TFG203` has the figures",
                ),
                help=_THAWING if thaws else "make it once, before the loop, and pass what changes as tensors",
                fix=None if thaws else made_once(model, made),
                notes=tuple(notes),
            )

    def experiments(self, finding: Finding, model: Model) -> Iterator[Experiment]:
        """The rule's own workload: in the user's program the object would have to be moved with what it closes over."""
        yield Experiment(model.file, finding.node, workload=_WORKLOAD, only_workload=True)


_THAWING = (
    "make it before the loop, and again only after `trainable` is set: a trace keeps the set of variables with which "
    "it was made"
)
_WORKLOAD = Workload(
    before="""
        import tensorflow as tf

        x = tf.random.normal((32, 20))
        model = tf.keras.Sequential([tf.keras.layers.Dense(32, activation="relu"), tf.keras.layers.Dense(1)])

        def forward(x):
            return model(x)

        once = tf.function(forward)
        for _ in tflint_measure.steps(range(8)):
            tf.function(forward)(x)
    """,
    changes=(("tf.function(forward)(x)", "once(x)"),),
)
