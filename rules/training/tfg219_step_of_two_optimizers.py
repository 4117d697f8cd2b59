"""TFG219 step-of-two-optimizers."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import libcst as cst

from tflint_gpu.lazy_dataclasses import dataclass
from tflint_gpu.model import Histories, Kinds, RunSite, TracedCode, argument, method_name, runs_once
from tflint_gpu.model.library.keras_methods import UPDATING_METHODS
from tflint_gpu.rule import Experiment, Finding, Note, Prediction, Rule, Workload

if TYPE_CHECKING:
    from tflint_gpu.model import Event, File, Function, Model, Origin


class StepOfTwoOptimizers(Rule):
    """One `tf.function` gets a second optimizer, whose variables it would have to create.

    Why: an optimizer creates a variable for each weight when it updates them for the first time. A `tf.function` may
    create variables in its first call only. The first optimizer works, and the next one raises: `ValueError:
    tf.function only supports singleton tf.Variables created on the first call`. This happens if one `train_step(model,
    optimizer, x, y)` is used for all folds of a cross-validation, all trials of a search, or both networks of a GAN.

    Reported:
    - a Keras optimizer that is passed to a `tf.function` which applies updates with it, if each iteration of a loop
      makes a new optimizer, or if the same `tf.function` was called with another optimizer before

    Not reported:
    - optimizers that were built before (`optimizer.build`, `fit`)
    - Keras 3's plain `SGD`, which has no such variables
    - programs that also update outside of a `tf.function`

    Measured: with TensorFlow 2.21 and 2.15 the second optimizer raised, in a loop and without one. It worked with a new
    `tf.function` for each optimizer, and with optimizers that were built before. A test repeats it with the installed
    TensorFlow.

    Fix: none, because an optimizer can be built only once its model has weights, and where that is differs between
    programs.

    Example:
        import tensorflow as tf


        @tf.function
        def train_step(model, optimizer, x, y):
            with tf.GradientTape() as tape:
                loss = tf.reduce_mean((model(x, training=True) - y) ** 2)
            gradients = tape.gradient(loss, model.trainable_variables)
            optimizer.apply_gradients(zip(gradients, model.trainable_variables))


        for fold in folds:
            model = tf.keras.Sequential([tf.keras.Input((8,)), tf.keras.layers.Dense(1)])
            optimizer = tf.keras.optimizers.Adam(1e-3)
            for x, y in fold:
                train_step(model, optimizer, x, y)

    Use instead:
        import tensorflow as tf


        @tf.function
        def train_step(model, optimizer, x, y):
            with tf.GradientTape() as tape:
                loss = tf.reduce_mean((model(x, training=True) - y) ** 2)
            gradients = tape.gradient(loss, model.trainable_variables)
            optimizer.apply_gradients(zip(gradients, model.trainable_variables))


        for fold in folds:
            model = tf.keras.Sequential([tf.keras.Input((8,)), tf.keras.layers.Dense(1)])
            optimizer = tf.keras.optimizers.Adam(1e-3)
            optimizer.build(model.trainable_variables)
            for x, y in fold:
                train_step(model, optimizer, x, y)
    """

    code = "TFG219"
    name = "step-of-two-optimizers"
    severity = "error"
    least_tensorflow = (2, 11)
    required_substrings = ((b"function",), (b"apply", b"minimize"), (b"ptimizer",))
    skips_tests = True
    skips_graphs = True
    skips_other_backends = True

    def check(self, model: Model) -> Iterator[Finding]:
        """Yield the steps that get another optimizer than before."""
        steps = list(_steps(model)) if not model.once(TracedCode).functions_run_eagerly else []
        same = model.once(Histories).is_same
        for index, step in enumerate(steps):
            is_known = any(same(step.optimizer, earlier.optimizer) for earlier in steps[:index])
            if is_known or not _has_new_variables(model, step.optimizer):
                continue
            is_one = runs_once(model.inference, RunSite(step.traced.file, step.traced.node))
            is_in_loop = is_one and any(map(step.optimizer.is_made_in, step.event.loops))
            before = (e for e in steps[:index] if same(e.traced, step.traced) and e.event.is_certain_where(step.event))
            if is_in_loop or next(before, None) is not None:
                yield _finding(step, "in the second iteration" if is_in_loop else "here")

    def experiments(self, finding: Finding, model: Model) -> Iterator[Experiment]:
        """Two small models: what a `tf.function` may create does not depend on the user's code."""
        yield Experiment(finding.file, finding.node, workload=_WORKLOAD, only_workload=True, exceptions=("ValueError",))


@dataclass(frozen=True, slots=True)
class _Step:
    """A call of a `tf.function` that updates weights with an optimizer that it is given."""

    event: Event
    call: cst.Call
    traced: Origin
    optimizer: Origin
    given: cst.BaseExpression


def _steps(model: Model) -> Iterator[_Step]:
    """Those of the program; none where something else may build its optimizers."""
    histories = model.once(Histories)
    if not any(_is_of_parameter(file, call) for file, call in histories.calls_of(UPDATING_METHODS)):
        return
    events = histories.events
    if any(event.kind in ("train", "update") for event in events) or histories.may_build_optimizers:
        return
    for event in events:
        if event.kind != "step" or not isinstance(event.node, cst.Call) or len(event.subject) != 1:
            continue
        for callee in model.inference.callees(event.file, event.node, event.context):
            function = callee.function
            if function.owner is not None:
                continue  # each instance has its own `tf.function`
            for parameter, value in model.inference.definitions.passed(event.file, event.node, function):
                origins = model.inference.of(event.file, value, event.context)
                is_one = len(origins) == 1 and model.once(Kinds).of(origins[0]) == "optimizer"
                if is_one and _updates(function, parameter):
                    yield _Step(event, event.node, event.subject[0], origins[0], value)


def _has_new_variables(model: Model, optimizer: Origin) -> bool:
    """Whether an optimizer of Keras's own is made, wherever the step is, that has variables for the weights."""
    call, name = optimizer.call, optimizer.made_by or ""
    if call is None or not name.startswith("keras.optimizers."):
        return False
    is_plain = name.endswith(".SGD") and model.target.keras >= 3 and argument(call, 1, "momentum") is None
    return not is_plain and not any(optimizer.file.branches.around(call))


def _is_of_parameter(file: File, call: cst.Call) -> bool:
    """Whether a method is called of what a function is given, by its name."""
    owner = call.func.value if isinstance(call.func, cst.Attribute) else None
    bindings = file.flow.lookup(owner.value, owner) if isinstance(owner, cst.Name) else ()
    return any(binding.kind == "parameter" for binding in bindings)


def _updates(function: Function, parameter: cst.Param) -> bool:
    """Whether a function updates weights by a parameter, in every call."""
    return any(
        method_name(call) in UPDATING_METHODS
        and isinstance(call.func, cst.Attribute)
        and isinstance(call.func.value, cst.Name)
        and call.func.value.value == parameter.name.value
        and not any(function.file.branches.around(call))
        for call in function.calls
    )


def _finding(step: _Step, when: str) -> Finding:
    file, text = step.event.file, step.event.file.code(step.call.func)
    return Finding(
        file,
        step.given,
        f"`{text}` gets a different optimizer from that of its first call, and can no longer create variables "
        f"for it: {when} it raises (ValueError: tf.function only supports singleton tf.Variables)",
        Prediction("crash", ("training",), basis="the second optimizer, measured with TensorFlow 2.15 and 2.21"),
        help="build each optimizer beforehand: `optimizer.build(model.trainable_variables)`; or make a `tf.function` "
        "for each, in a function that gets the model and its optimizer",
        notes=(
            Note(step.optimizer.file, step.optimizer.node, "the optimizer is made here"),
            Note(step.traced.file, step.traced.node, "the shared `tf.function`"),
        ),
    )


_WORKLOAD = Workload(
    before="""
        import tensorflow as tf

        x, y = tf.ones((32, 4)), tf.ones((32, 1))

        @tf.function
        def train_step(model, optimizer):
            with tf.GradientTape() as tape:
                loss = tf.reduce_mean((model(x) - y) ** 2)
            gradients = tape.gradient(loss, model.trainable_variables)
            optimizer.apply_gradients(zip(gradients, model.trainable_variables))

        for _ in range(2):
            model = tf.keras.Sequential([tf.keras.layers.Dense(1)])
            model.build((None, 4))
            optimizer = tf.keras.optimizers.Adam()
            pass
            train_step(model, optimizer)
        tflint_measure.reached()
    """,
    changes=(("    pass\n", "    optimizer.build(model.trainable_variables)\n"),),
)
