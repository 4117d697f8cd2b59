"""TFG103 traced-side-effect."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from tflint_gpu.model import (
    TRACING_SUBSTRINGS,
    SideEffects,
    XlaCompilations,
    is_for_tensorflow_1,
)
from tflint_gpu.rule import Experiment, Finding, Note, Prediction, Rule, Workload, notes_on

if TYPE_CHECKING:
    from tflint_gpu.model import EffectKind, Model, SideEffect


class TracedSideEffect(Rule):
    """Traced code prints, opens a file, or changes a list, a dict or a name that outlives the call.

    Why: Python runs while TensorFlow traces, and not again. `print` prints once for each trace. `history.append(loss)`
    adds one symbolic tensor that cannot be used outside. A counter stops at 1: a model that applies its accumulated
    gradients when `self.steps % 4 == 0` is never trained, and nothing raises.

    Reported:
    - under `tf.function`: `print`, `open`, and changes of a list, a dict or a name that outlives the call
    - under `tf.function`: writing to an argument of the function itself, which raises `ValueError: ... should not
      modify its Python input arguments`
    - in code that Keras traces (`call`, `train_step` and similar methods): `print` and `open`
    - in a metric's `update_state`: a tensor that it stores in an attribute or a list for `result`. Keras 3 calls
      `result` once more after each epoch, and using the tensor there raises
    - in both kinds of code: a counter in an attribute, such as `self.steps += 1`
    - as advice: a print of a shape, which may be meant to be seen once

    Not reported:
    - prints whose text mentions tracing, or next to a `tf.print`
    - lists that are made in the traced code
    - counters that nothing in their file reads
    - code under a condition on eager execution or debugging, under `is None`, `except AttributeError` or a flag that
      the code itself sets, and functions called from such code
    - code before a `raise`, or after a `.numpy()` that raises first
    - functions given to a dataset's `map`, which TFG309 reports

    Measured: with TensorFlow 2.21 and 2.15, three calls of a `tf.function` printed once, appended one symbolic tensor
    and left a counter at 1; writing an item of an argument, deleting it and `pop` raised ValueError; writing an item of
    a tensor raised TypeError. A test repeats it with the installed TensorFlow.

    Fix: none, because only the author knows where the value should go instead: out of the function, into a variable or
    into the graph.

    Example:
        import tensorflow as tf

        history = []


        @tf.function
        def total(x):
            result = tf.reduce_sum(x)
            history.append(result)
            return result

    Use instead:
        import tensorflow as tf

        history = []


        @tf.function
        def total(x):
            result = tf.reduce_sum(x)
            return result


        history.append(total(tf.ones(4)))
    """

    code = "TFG103"
    name = "traced-side-effect"
    severity = "warning"
    least_tensorflow = (2, 0)
    required_substrings = (TRACING_SUBSTRINGS,)
    nearby_substrings = (
        *(b"print(", b"open(", b"global ", b"nonlocal ", b"] = ", b"]=", b" += ", b" + ", b"del ", b".pop("),
        *(b".append(", b".extend(", b".add(", b".update(", b".insert(", b".clear(", b".remove(", b"def update_state("),
    )
    skips_tests = True
    skips_graphs = True
    skips_other_backends = True

    def check(self, model: Model) -> Iterator[Finding]:
        """Yield the first effect of each kind in each traced function; the others are notes."""
        for first, *others in model.once(SideEffects).all:
            if model.once(is_for_tensorflow_1):
                return
            yield _finding(first, others, may_be_compiled=model.once(XlaCompilations).may_be_compiled(first.traced))

    def experiments(self, finding: Finding, model: Model) -> Iterator[Experiment]:
        """A traced function with a list: that Python runs once does not depend on the user's code."""
        basis = finding.prediction.basis
        workload, exceptions = _APPENDS, tuple[str, ...]()
        if finding.prediction.kind == "crash":
            is_kept = basis.startswith("the tensor is out of scope")
            workload, exceptions = (
                (_KEEPS, ("InaccessibleTensorError", "TypeError")) if is_kept else (_WRITES, ("ValueError",))
            )
        yield Experiment(finding.file, finding.node, exceptions=exceptions, workload=workload, only_workload=True)


_APPENDS = Workload(
    before="""
        import tensorflow as tf

        history = []

        @tf.function
        def total(x):
            history.append(1)
            return tf.reduce_sum(x)

        for _ in range(4):
            total(tf.ones(3))
        if len(history) == 1:
            tflint_measure.finish(wrong="four calls append once")
        tflint_measure.finish()
    """,
    changes=(("    history.append(1)\n", ""), ("    total(tf.ones(3))", "    history.append(total(tf.ones(3)))")),
)
_WRITES = Workload(
    before="""
        import tensorflow as tf

        @tf.function
        def scaled(batch):
            batch["x"] = batch["x"] / 255.0
            return batch["x"]

        tflint_measure.finish(outputs=scaled({"x": tf.ones(3)}).numpy())
    """,
    changes=(('batch["x"] = ', 'batch = dict(batch); batch["x"] = '),),
)
_KEEPS = Workload(
    before="""
        import tensorflow as tf

        class Last(tf.keras.metrics.Metric):
            def __init__(self):
                super().__init__()
                self.last = self.add_weight(initializer="zeros")

            def update_state(self, y_true, y_pred, sample_weight=None):
                self.last = tf.reduce_max(y_pred)

            def result(self):
                return self.last + 0.0

        model = tf.keras.Sequential([tf.keras.Input((2,)), tf.keras.layers.Dense(1)])
        model.compile(optimizer="sgd", loss="mse", metrics=[Last()])
        model.fit(tf.zeros((4, 2)), tf.zeros((4, 1)), verbose=0)
        tflint_measure.finish()
    """,
    changes=(("self.last = tf.reduce_max(y_pred)", "self.last.assign(tf.reduce_max(y_pred))"),),
)
_SAYS: dict[EffectKind, tuple[str, str]] = {
    "print": ("prints", "later calls print nothing"),
    "shape": ("prints a shape, a type or a name", "it is printed once for each trace, not for each call"),
    "open": ("opens the file", "later calls do not open it"),
    "container": ("changes `{target}`", "later calls do not change it"),
    "name": ("writes `{target}`", "later calls do not change it"),
}
_HELP: dict[EffectKind, str] = {
    "print": "use `tf.print`, which is part of the graph, or print what the function returns",
    "shape": "if it is meant to be shown once, mention `tracing` in its text; otherwise remove it",
    "open": "read the file before the call and pass the values in, or write what the function returns",
    "container": "return the value and store it outside the function; in a loop over tensors use `tf.TensorArray`",
    "name": "use a `tf.Variable` and `assign`, or return the value",
    "argument": "change a copy: `{target} = dict({target})` or `list({target})` first",
    "metric": "make it a weight (`self.add_weight(...)` in `__init__`) and `assign` or `assign_add` to it",
}


_COMPILED = (
    "print what the function returns, or from a callback. XLA has no kernel for `tf.print`, and Keras 3 compiles with "
    "XLA where there is a GPU: `tf.print` needs `jit_compile=False` there"
)


def _finding(effect: SideEffect, others: list[SideEffect], *, may_be_compiled: bool) -> Finding:
    traced = effect.traced
    notes = [*notes_on(traced.frames)]
    notes += [Note(traced.file, other.node, "the same holds here") for other in others]
    advice = _HELP[effect.kind].format(target=effect.target)
    if effect.kind == "print" and may_be_compiled:
        advice = _COMPILED
    if effect.kind == "argument":
        return Finding(
            traced.file,
            effect.node,
            f"this writes to `{effect.target}`, an argument of {traced.entry}: it raises when TensorFlow traces it",
            Prediction(
                "crash", ("traced",), basis="ValueError, of a tensor TypeError; measured with TensorFlow 2.15 and 2.21"
            ),
            help=advice,
            severity="error",
            notes=tuple(notes),
        )
    if effect.kind == "metric":
        return Finding(
            traced.file,
            effect.node,
            f"`{effect.target}` keeps a graph tensor, because {traced.entry} is traced: after the epoch, "
            "`result` raises when it uses the tensor",
            Prediction(
                "crash",
                ("traced",),
                basis="the tensor is out of scope: InaccessibleTensorError or TypeError; measured with TensorFlow 2.21",
            ),
            help=advice,
            severity="error",
            notes=tuple(notes),
        )
    does, later = (text.format(target=effect.target) for text in _SAYS[effect.kind])
    who = "Keras traces" if traced.keras else "TensorFlow traces"
    where = f" ({', '.join(traced.start.occasions)})" if traced.keras else ""
    return Finding(
        traced.file,
        effect.node,
        f"this {does} only while {who} {traced.entry}{where}: {later}",
        Prediction(
            "wrong-result", ("traced",), basis="once per trace, not per call; measured with TensorFlow 2.15 and 2.21"
        ),
        help=advice,
        severity="advice" if effect.kind == "shape" else None,
        notes=tuple(notes),
    )
