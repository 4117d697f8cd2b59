"""TFG202 eager-train-step."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import libcst as cst

from tflint_gpu.model import (
    EagerStep,
    ExecutionContexts,
    NotMovable,
    TracedCode,
    TrainingSteps,
)
from tflint_gpu.rule import (
    UNTRIED,
    Change,
    Edit,
    Experiment,
    Finding,
    Fix,
    NoExperiment,
    Note,
    Prediction,
    Rule,
    Workload,
    fix_changes,
    measured_loop,
    notes_on,
    offered,
)

from .moved_steps import moved_block, moved_from_loop, moved_steps, run_on_replicas, untraceable
from .step_sizes import of_training_step

if TYPE_CHECKING:
    from tflint_gpu.model import Blocker, Function, Model


_PREDICTION = Prediction(
    "slowdown",
    ("eager",),
    low=1.5,
    high=36.0,
    basis="small dense networks: 9.4 times on an H200 GPU, 1.5 to 36 on a CPU; less for large networks",
)


class EagerTrainStep(Rule):
    """A training step with `tf.GradientTape` or `optimizer.minimize` runs in a loop, and nothing traces it.

    Why: outside `tf.function` Python starts every operation of the forward pass, the backward pass and the weight
    update one by one, in every step. For small and medium models that costs more than the operations, and a GPU waits
    for Python between them. A step that TensorFlow traces once runs as one graph.

    Reported:
    - an eager step with `tf.GradientTape` or `optimizer.minimize` in a loop
    - a step that changes an image by its gradient again and again, as an attack does
    - a step that accumulates gradients before the optimizer applies them

    Not reported:
    - a gradient taken once, outside a loop or for each of several images
    - a step that a caller may trace, or that is passed to other code
    - a step that the program certainly runs fewer than 24 times, over all epochs and batches. Then tracing costs more
      than it saves: with Adam, it takes as long as 7 to 26 eager steps, measured with small networks and TensorFlow
      2.21

    Measured: {evidence} The larger the operations, the smaller the factor.

    Fix: unsafe: Python code in the step runs once. A step that is written directly in a loop, or in a function that
    cannot be traced as a whole, moves into a new function. If a part of it would then behave differently, the finding
    names this part, and there is no fix. There is no fix either where the step combines NumPy arrays with tensors: in a
    traced step such an array keeps its own dtype. For a step that `strategy.run` passes to replicas, the fix traces the
    function that calls `strategy.run`.

    Example:
        import tensorflow as tf

        model = tf.keras.Sequential([tf.keras.layers.Dense(1)])
        optimizer = tf.keras.optimizers.Adam()
        dataset = tf.data.Dataset.from_tensor_slices((features, labels)).batch(32)


        def train_step(x, y):
            with tf.GradientTape() as tape:
                loss = tf.reduce_mean(tf.square(model(x) - y))
            gradients = tape.gradient(loss, model.trainable_variables)
            optimizer.apply_gradients(zip(gradients, model.trainable_variables))


        for x, y in dataset:
            train_step(x, y)

    Use instead:
        import tensorflow as tf

        model = tf.keras.Sequential([tf.keras.layers.Dense(1)])
        optimizer = tf.keras.optimizers.Adam()
        dataset = tf.data.Dataset.from_tensor_slices((features, labels)).batch(32)


        @tf.function
        def train_step(x, y):
            with tf.GradientTape() as tape:
                loss = tf.reduce_mean(tf.square(model(x) - y))
            gradients = tape.gradient(loss, model.trainable_variables)
            optimizer.apply_gradients(zip(gradients, model.trainable_variables))


        for x, y in dataset:
            train_step(x, y)
    """

    code = "TFG202"
    name = "eager-train-step"
    least_tensorflow = (2, 0)
    required_substrings = ((b"train", b"Train", b"step", b"GradientTape", b"fit", b"optim", b"learn", b"run"),)
    nearby_substrings = (b"GradientTape", b".minimize(")
    fixable = "unsafe"
    skips_tests = True
    skips_graphs = True

    def check(self, model: Model) -> Iterator[Finding]:
        """Yield the tapes of training steps that a loop of this file runs eagerly."""
        loops = model.once(ExecutionContexts)
        steps = [step for step in model.once(TrainingSteps).eager if loops.pays(step.file, step.tape)]
        repairs = [_found_repair(model, step) for step in steps]
        made = [_made(model, step, repair) for step, repair in zip(steps, repairs, strict=True)]
        left = [step for step, fix in zip(steps, made, strict=True) if fix is None]
        moved = iter(moved_steps(model, left) if model.tries_fixes else [UNTRIED] * len(left))
        for step, repair, fix_or_reason in zip(steps, repairs, made, strict=True):
            fix, withheld = offered(next(moved) if fix_or_reason is None else fix_or_reason)
            yield Finding(
                step.file,
                step.tape,
                "this training step runs eagerly in every iteration of a loop: "
                "neither it nor a caller is a `tf.function`",
                of_training_step(model, _PREDICTION, step),
                help=_help(step, repair),
                notes=(
                    Note(step.loop_file, step.loop, f"{loops.of_loop(step.loop_file, step.loop).text} that runs it"),
                    *notes_on(step.path),
                    *(Note(step.file, node, "this needs a value on the host") for node in step.host_reads),
                    *(Note(step.file, tape, "this step runs eagerly, too") for tape in step.others),
                    *_blocker_note(repair),
                    *withheld,
                ),
                fix=fix,
                subject=step,
            )

    def experiments(self, finding: Finding, model: Model) -> Iterator[Experiment]:
        """The user's loop: with the step as it is, and under `tf.function`."""
        step = finding.subject_as(EagerStep)
        own = _repair_next_to_reads(model, step) if step.host_reads else fix_changes(finding) or _repair(model, step)
        probes = measured_loop(model, step.loop_file, step.loop)
        # What keeps a function from being decorated may not show in what is measured.
        is_moved = own[0].where == "above" and step.file.tree.within(step.tape, step.loop)
        patch = own if finding.fix is not None or is_moved else ()
        yield Experiment(step.loop_file, step.loop, probes, repair=own, patch=patch, workload=_WORKLOAD)


def _found_repair(model: Model, step: EagerStep) -> Fix | Blocker | None:
    """The decorator on the outermost function of the step that may have it, or what prevents it for the step's own
    function."""
    if step.host_reads or not step.functions or model.once(TracedCode).functions_run_eagerly:
        return None
    from tflint_gpu.model import Traceability  # with all that a traced function may do wrong, for few files

    blocker = None
    around = run_on_replicas(model, step).functions
    if around != step.functions and (blocker := untraceable(model, step.functions[len(around) :])) is not None:
        return blocker
    for function in around:
        blocker = model.once(Traceability).blocker(function)
        if blocker is None and function.file is step.file:
            spelled = function.file.names.spelled("tf.function", function.node)
            if spelled is None:
                return None
            spelled += model.once(Traceability).options(function)
            text = f"@{spelled}\n{function.file.indentation(function.node)}"
            return Fix(f"Put `@{spelled}` on `{function.name}`", "unsafe", (Edit(function.node, text, "before"),))
    return blocker


def _made(model: Model, step: EagerStep, repair: Fix | Blocker | None) -> Fix | Blocker | None:
    """The fix of a step where it stands, or why none is made; None where the step may be moved."""
    few = model.once(ExecutionContexts).too_few_runs(step.file, step.tape)
    return few or (repair if isinstance(repair, Fix) else None)


def _help(step: EagerStep, repair: Fix | Blocker | None) -> str:
    if step.host_reads:
        return "move the reading of values on the host out of the step, then put the step under `@tf.function`"
    if isinstance(repair, Fix):
        return repair.message[0].lower() + repair.message[1:]
    if repair is not None and not isinstance(repair, Fix) and repair.text:
        name = step.functions[-1].name
        return (
            "move the tape and the update into a separate function under `@tf.function`, "
            f"or put `{name}` itself under it after you fix this: {repair.text}"
        )
    return "put the step into a separate function under `@tf.function`"


def _blocker_note(repair: Fix | Blocker | None) -> Iterator[Note]:
    if repair is not None and not isinstance(repair, Fix) and repair.text:
        yield Note(repair.file, repair.node, "this prevents `@tf.function`")


def _repair_next_to_reads(model: Model, step: EagerStep) -> tuple[Change, ...]:
    """What moves the tape and the update of the weights into a function, where values are read before or after them."""
    file, reads = step.file, step.host_reads
    try:
        is_in_loop = file.tree.within(step.tape, step.loop) if step.loop_file is file else False
        moved = moved_from_loop(model, step) if is_in_loop else moved_block(model, step)
    except NotMovable:
        moved = ()
    start, end = moved[1].span if moved else (0, 0)
    function = file.tree.function(step.tape)
    are_outside = all(
        node in file.tree.parents and file.tree.function(node) is function and not start <= file.span(node)[0] < end
        for node in reads
    )
    if not moved or not are_outside:
        raise NoExperiment(
            "the step reads values on the host, so it cannot be traced before these reads are moved out of it"
        )
    return moved


def _repair(model: Model, step: EagerStep) -> tuple[Change, ...]:
    """Decorate the function that holds the tape, or make one of what in it can be traced, or of the statements in the
    loop."""
    file, function = step.file, step.file.tree.function(step.tape)
    if isinstance(function, cst.FunctionDef) and not file.tree.within(step.tape, step.loop):
        if moved := moved_block(model, step):
            return moved
        spelled = file.names.spelled("tf.function", function) or "tflint_measure.tf.function"
        spelled += _options(model, model.inference.definitions.function(file, function))
        return (Change(file, function, f"@{spelled}\n{file.indentation(function)}", "before"),)
    try:
        return moved_from_loop(model, step)
    except NotMovable as error:
        raise NoExperiment(f"the step cannot be moved into a separate function: {error}") from error


def _options(model: Model, function: Function) -> str:
    """What the decorator gets, unless lengths that the function needs would be None then."""
    from tflint_gpu.model import Traceability  # with all that a traced function may do wrong, for few files

    traceability = model.once(Traceability)
    return "" if any(traceability.lengths_needed(function)) else traceability.options(function)


_WORKLOAD = Workload(
    before="""
        import tensorflow as tf

        x, y = tf.random.normal((32, 20)), tf.random.normal((32, 1))
        model = tf.keras.Sequential([tf.keras.layers.Dense(32, activation="relu"), tf.keras.layers.Dense(1)])
        optimizer = tf.keras.optimizers.Adam()

        def train_step():
            with tf.GradientTape() as tape:
                loss = tf.reduce_mean(tf.square(model(x, training=True) - y))
            variables = model.trainable_variables
            optimizer.apply_gradients(zip(tape.gradient(loss, variables), variables))

        for _ in tflint_measure.steps(range(8)):
            train_step()
    """,
    changes=(("def train_step", "@tf.function\ndef train_step"),),
)
