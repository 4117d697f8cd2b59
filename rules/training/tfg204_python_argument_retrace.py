"""TFG204 python-argument-retrace."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

import libcst as cst

from tflint_gpu.model import Guards, TracedCode, names_in
from tflint_gpu.rule import (
    Edit,
    Experiment,
    Finding,
    Fix,
    Note,
    Prediction,
    Rule,
    Workload,
    fix_changes,
    importing,
    measured_loop,
    notes_on,
    wrap,
)

if TYPE_CHECKING:
    from tflint_gpu.model import Model
    from tflint_gpu.rule import Change

    from .number_dtypes import Need
    from .retracing import ChangingArgument


class PythonArgumentRetrace(Rule):
    """A loop passes a `tf.function` a Python number that changes with each iteration, so it is traced again.

    Why: a Python int or float becomes part of the graph that `tf.function` traces, as if it were written there. Each
    new value needs its own graph, and tracing takes much longer than a call. `reduce_retracing` does not change that. A
    tensor is an input of the graph: one trace serves all its values. NumPy's numbers, and elements of tensors and of
    datasets (`Dataset.enumerate`), are tensors to `tf.function` already. TensorFlow converts a Python number to the
    dtype it needs, but not a tensor: the tensor must already have the dtype with which the function computes.

    Reported:
    - a Python number that changes with each iteration, as an argument of a `tf.function`

    Not reported:
    - numbers that take only a few values
    - calls from traced code, or with an `input_signature`
    - calls in some iterations only
    - a `tf.function` or a model that is new in each iteration anyway
    - numbers that the function needs in Python, to pick a layer or as an argument of `range`, and other numbers in the
      same call

    Measured: {evidence}

    Fix: unsafe: the number becomes a tensor of the dtype with which the function computes, and so do all other numbers
    of the call that change as often. There is no fix if the dtype of one of them is not known: that number would still
    cause new traces.

    Example:
        import tensorflow as tf

        model = tf.keras.Sequential([tf.keras.layers.Dense(1)])


        @tf.function
        def train_step(x, epoch):
            return tf.reduce_mean(model(x)) * epoch


        for epoch in range(100):
            for x in dataset:
                train_step(x, epoch)

    Use instead:
        import tensorflow as tf

        model = tf.keras.Sequential([tf.keras.layers.Dense(1)])


        @tf.function
        def train_step(x, epoch):
            return tf.reduce_mean(model(x)) * epoch


        for epoch in range(100):
            for x in dataset:
                train_step(x, tf.constant(epoch, tf.float32))
    """

    code = "TFG204"
    name = "python-argument-retrace"
    least_tensorflow = (2, 0)
    nearby_substrings = (b"tf.function", b"tf2.function", b"tensorflow.function", b"import function")
    fixable = "unsafe"
    skips_tests = True
    skips_graphs = True

    def check(self, model: Model) -> Iterator[Finding]:
        """Yield the arguments that a loop changes."""
        from .retracing import Retracing

        arguments = list(model.once(Retracing).changing_arguments())
        for argument in arguments:
            loop = argument.changing_loop
            if model.once(TracedCode).functions_run_eagerly or model.once(Guards).is_for_debugging(
                argument.file, argument.call
            ):
                continue
            text = _text(argument)
            together = [other for other in arguments if other.call is argument.call and other.changes_within(loop)]
            if any(other.stays_python for other in together):
                continue
            yield Finding(
                argument.file,
                argument.value,
                f"`{text}` is a Python number that a loop changes: `{argument.name}` is traced again for each new "
                "value",
                Prediction(
                    "slowdown",
                    ("eager",),
                    low=1.5,
                    high=50,
                    basis="measured with a small network, on a CPU; `tflint-gpu rule TFG204` has the figures",
                ),
                help=_help(model, argument, together),
                notes=(
                    Note(loop.file, loop.loop, "this loop changes the number"),
                    *notes_on(loop.path),
                    Note(argument.made_file, argument.made, "this makes the `tf.function`"),
                ),
                fix=_fix(model, together),
                subject=argument,
            )

    def experiments(self, finding: Finding, model: Model) -> Iterator[Experiment]:
        """The user's loop with the number as it is and as a tensor, where it can go on with new numbers."""
        from .retracing import ChangingArgument

        argument = finding.subject_as(ChangingArgument)
        probes, repair = _timed(model, argument), fix_changes(finding)
        yield Experiment(
            argument.changing_loop.file,
            argument.changing_loop.loop,
            probes=probes,
            repair=repair,
            workload=_WORKLOAD,
            only_workload=not (probes and repair),
        )


def _timed(model: Model, argument: ChangingArgument) -> tuple[Change, ...]:
    """Time the iterations of the loop, each with a number of its own; nothing where its numbers would repeat."""
    file, loop = argument.changing_loop.file, argument.changing_loop.loop
    if isinstance(loop, cst.While):
        return measured_loop(model, file, loop)
    if not isinstance(loop, cst.For):
        return ()
    call = loop.iter
    if isinstance(call, cst.Call) and call.args and model.file.names.is_builtin(call.func, "enumerate"):
        return wrap(file, call.args[0].value, "steps")
    if isinstance(call, cst.Call) and model.file.names.is_builtin(call.func, "range"):
        return wrap(file, call, "counted")
    given = names_in(loop.target)
    used = names_in(argument.value)
    return () if given & used or argument.changing_loop.path else measured_loop(model, file, loop)


_WORKLOAD = Workload(
    before="""
        import tensorflow as tf

        x = tf.random.normal((32, 20))
        model = tf.keras.Sequential([tf.keras.layers.Dense(32, activation="relu"), tf.keras.layers.Dense(1)])

        @tf.function
        def forward(x, step):
            return model(x) * tf.cast(step, tf.float32)

        step = 0
        for _ in tflint_measure.steps(range(8)):
            step += 1
            forward(x, step)
    """,
    changes=(("    forward(x, step)", "    forward(x, tf.constant(step))"),),
)


def _text(argument: ChangingArgument) -> str:
    return " ".join(argument.file.code(argument.value).split())


def _need(model: Model, argument: ChangingArgument) -> Need | None:
    """The dtype that a tensor must have to take the place of a number; None where that is not known."""
    from .number_dtypes import NumberDtypes

    if argument.parameter is None:
        return None
    return model.once(NumberDtypes).of_argument(argument.file, argument.value, argument.function, argument.parameter)


def _help(model: Model, argument: ChangingArgument, together: Sequence[ChangingArgument]) -> str:
    """What to do about a number.

    Arguments:
        together: the numbers of the call that change at least as often; each makes it trace.
    """
    text, need = _text(argument), _need(model, argument)
    words = (
        f"pass a tensor: `tf.constant({text}{_dtype(need, 'tf')})`"
        if need
        else (
            f"pass a tensor of the dtype with which `{argument.name}` computes: `tf.constant({text})` for an index or "
            f"a count, `tf.constant({text}, tf.float32)` for floating point arithmetic"
        )
    )
    others = [f"`{_text(other)}`" for other in together if other is not argument and _need(model, other) is None]
    are = "is a tensor" if len(others) == 1 else "are tensors"
    return f"{words}; that helps only if {' and '.join(others)} {are} too" if others else words


def _dtype(need: Need, tensorflow: str) -> str:
    return f", {tensorflow}.{need}" if need in ("float32", "int64") else ""


def _fix(model: Model, together: Sequence[ChangingArgument]) -> Fix | None:
    """Tensors with all numbers that change at least as often: each that is left makes the call trace."""
    edits: list[Edit] = []
    for argument in together:
        need = _need(model, argument)
        made = _as_tensor(argument, need) if need is not None else ()
        if not made:
            return None
        edits += made
    words = "Pass it as a tensor" if len(together) == 1 else "Pass the numbers as tensors"
    return Fix(words, "unsafe", tuple(dict.fromkeys(edits)))


def _as_tensor(argument: ChangingArgument, need: Need) -> tuple[Edit, ...]:
    """The edits that make a number a tensor, as the file writes `tf.constant`."""
    spelling = argument.file.imports.spelling("tf.constant", argument.call)
    if spelling is None or (_dtype(need, "tf") and not spelling.text.endswith(".constant")):
        return ()
    dtype = _dtype(need, spelling.text.removesuffix(".constant"))
    edits = (Edit(argument.value, f"{spelling.text}(", "before"), Edit(argument.value, f"{dtype})", "after"))
    return (*importing(spelling), *edits)
