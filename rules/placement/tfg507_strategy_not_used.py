"""TFG507 strategy-not-used."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import libcst as cst

from tflint_gpu.model import (
    EagerLoops,
    ExecutionContexts,
    Invocations,
    LoopNumbers,
    Repetitions,
    Strategies,
    Training,
    argument,
    method_name,
)
from tflint_gpu.model.library.devices import SEVERAL_DEVICES
from tflint_gpu.rule import Experiment, Finding, Note, Prediction, Rule, Workload, notes_on

if TYPE_CHECKING:
    from tflint_gpu.model import File, Invocation, LoopNode, Model, Origin

_SUBSTRINGS = (b"GradientTape", b".gradient(")
# Any of these in a program may hand the step, or the data, to the strategy.
_USING = (b".run(", b"run_v2(", b"distribute_dataset", b"distribute_values", b"_from_function(", b"replica_context")


class StrategyNotUsed(Rule):
    """A model is made in `strategy.scope()` and trained by a custom loop that never calls `strategy.run`.

    Why: a strategy distributes what `fit` or `strategy.run` runs. A step that is called directly, traced or not, runs
    once, on one device, with the whole batch. The other GPUs hold copies of the weights and wait.

    Reported:
    - a custom loop that trains a model made in the scope and calls its step directly

    Not reported:
    - programs that mention `run`, distributed datasets or replica contexts anywhere
    - strategies for one device
    - models that may come from elsewhere
    - loops inside the scope, in which such a step raises

    Measured: with TensorFlow 2.21 and two CPU devices in a MirroredStrategy, a step that was called directly ran on one
    replica, and one in `strategy.run` on two. A test repeats it with the installed TensorFlow. This was not measured on
    GPUs.

    Fix: none, because the dataset has to be distributed, and the loss scaled by the global batch size.

    Example:
        import tensorflow as tf

        strategy = tf.distribute.MirroredStrategy()
        with strategy.scope():
            model = tf.keras.Sequential([tf.keras.layers.Dense(1)])
            optimizer = tf.keras.optimizers.SGD()


        @tf.function
        def train_step(x, y):
            with tf.GradientTape() as tape:
                loss = tf.reduce_mean(tf.square(model(x) - y))
            gradients = tape.gradient(loss, model.trainable_variables)
            optimizer.apply_gradients(zip(gradients, model.trainable_variables))


        for x, y in dataset:
            train_step(x, y)

    Use instead:
        import tensorflow as tf

        strategy = tf.distribute.MirroredStrategy()
        with strategy.scope():
            model = tf.keras.Sequential([tf.keras.layers.Dense(1)])
            optimizer = tf.keras.optimizers.SGD()


        @tf.function
        def train_step(x, y):
            with tf.GradientTape() as tape:
                loss = tf.reduce_sum(tf.square(model(x) - y)) / global_batch_size
            gradients = tape.gradient(loss, model.trainable_variables)
            optimizer.apply_gradients(zip(gradients, model.trainable_variables))


        @tf.function
        def distributed_step(x, y):
            strategy.run(train_step, args=(x, y))


        for x, y in strategy.experimental_distribute_dataset(dataset):
            distributed_step(x, y)
    """

    code = "TFG507"
    name = "strategy-not-used"
    least_tensorflow = (2, 2)
    required_substrings = ((b"for ", b"while "),)
    nearby_substrings = (b"MirroredStrategy", b"CentralStorageStrategy")
    skips_tests = True
    skips_graphs = True
    skips_other_backends = True

    def check(self, model: Model) -> Iterator[Finding]:
        """Yield the first gradient of each training loop whose model is made in the scope of a strategy."""
        if model.inference.project.program_mentions(model.source, _USING):
            return
        for file, loop in model.once(Repetitions).loops(_SUBSTRINGS):
            if not model.once(Training).takes_gradients(file, loop) or _is_apart(model, file, loop):
                continue
            for call in model.once(Invocations).all(file, loop, _SUBSTRINGS):
                made = _made_in_scope(model, call) if method_name(call.call) == "gradient" else None
                if made is not None:
                    yield _finding(call, made)
                    break

    def experiments(self, finding: Finding, model: Model) -> Iterator[Experiment]:
        """A step with two devices: that one of them is left out does not depend on the user's code."""
        yield Experiment(
            finding.file,
            finding.node,
            prediction=Prediction("wrong-result", ("training",), basis=finding.prediction.basis),
            workload=_WORKLOAD,
            only_workload=True,
        )


_WORKLOAD = Workload(
    before="""
        import tensorflow as tf

        cpu = tf.config.list_physical_devices("CPU")[0]
        tf.config.set_logical_device_configuration(cpu, [tf.config.LogicalDeviceConfiguration()] * 2)
        strategy = tf.distribute.MirroredStrategy(["CPU:0", "CPU:1"])
        with strategy.scope():
            weight = tf.Variable(2.0)
        replicas = []

        def step(x):
            replicas.append(1)
            return x * weight

        tf.function(step)(tf.ones(3))
        wrong = {"wrong": "the step runs for one of two devices"} if len(replicas) == 1 else {}
        tflint_measure.finish(outputs=[0.0], **wrong)
    """,
    changes=(("tf.function(step)(tf.ones(3))", "tf.function(lambda x: strategy.run(step, args=(x,)))(tf.ones(3))"),),
)


def _is_apart(model: Model, file: File, loop: LoopNode) -> bool:
    """Whether a loop is one of epochs, short or traced, or may be inside of a scope, where it raises."""
    if model.once(Training).runs_epochs(file, loop) or model.once(EagerLoops).is_no_place(file, loop):
        return True
    if not model.once(LoopNumbers).is_long(file, loop):
        return True
    return any(way.strategy != "outside" for way in model.once(ExecutionContexts).of(file, loop))


def _made_in_scope(model: Model, run: Invocation) -> Origin | None:
    """The model whose weights a gradient is taken of, if it is made in the scope of a strategy for several GPUs."""
    weights = argument(run.call, 1, "sources")
    if not isinstance(weights, cst.Attribute):
        return None
    owner = weights.value

    def is_inside(origin: Origin) -> bool:
        if origin.call is None or origin.access_path:
            return False
        return model.once(Strategies).side(origin.file, origin.node, origin.context) == "inside"

    if not model.inference.must_be(run.file, owner, is_inside, run.context):
        return None
    made = next(iter(model.inference.of(run.file, owner, run.context)))
    return made if _has_several(model, made.file) else None


def _has_several(model: Model, file: File) -> bool:
    """Whether all strategies of the program, and of one more file, are for several devices, as far as it shows."""
    elsewhere = model.once(Repetitions).functions_elsewhere((b"Strategy(",))
    files = {model.file, file, *(other for other, _ in elsewhere)}
    made = [(file, call) for file in files for call in file.calls("tf.distribute.*") if _is_strategy(file, call)]
    return bool(made) and all(file.name(call.func) in SEVERAL_DEVICES and not _names_one(call) for file, call in made)


def _is_strategy(file: File, call: cst.Call) -> bool:
    return (file.name(call.func) or "").endswith("Strategy")


def _names_one(call: cst.Call) -> bool:
    """`MirroredStrategy(["/gpu:0"])`."""
    devices = argument(call, 0, "devices")
    return isinstance(devices, cst.List | cst.Tuple) and len(devices.elements) == 1


def _finding(run: Invocation, made: Origin) -> Finding:
    return Finding(
        run.file,
        run.call.func,
        "this step is never called through `strategy.run`: one GPU computes, and the strategy's other GPUs wait",
        Prediction(
            "no-effect", ("training on several GPUs",), basis="one replica of two ran, two CPU devices, TensorFlow 2.21"
        ),
        help="call the step with `strategy.run` on batches from `strategy.experimental_distribute_dataset`, "
        "or use `fit`",
        notes=(
            Note(run.root_file, run.loop, "the loop that trains"),
            *notes_on(run.path),
            Note(made.file, made.node, "the model is made in the strategy's scope"),
        ),
    )
