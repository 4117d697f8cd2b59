"""TFG510 divided-batch."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import libcst as cst

from tflint_gpu.model import Kinds, Pipelines, Runtime, Strategies, argument
from tflint_gpu.model.library.devices import MULTI_WORKER, SEVERAL_DEVICES
from tflint_gpu.rule import Experiment, Finding, Note, Prediction, Rule, Workload

if TYPE_CHECKING:
    from tflint_gpu.model import Expression, Model, Origin

_MOST = 128
_COUNTING = tuple(b"num_replicas per_replica global_batch len(gpus num_gpus n_gpus NUM_GPUS num_workers".split())


class DividedBatch(Rule):
    """A strategy for several GPUs trains with a batch size that was chosen for one GPU.

    Why: `fit` under `MirroredStrategy` treats the dataset's batch as the global batch and divides it: of 64 rows each
    of four GPUs gets 16. An epoch has as many steps as with one GPU, each GPU does a quarter of the work, and all wait
    for each other after each step. More GPUs are then no faster, or slower. The batch has to grow with
    `strategy.num_replicas_in_sync`, and usually the learning rate with it.

    Reported:
    - a model that is made in the scope of a strategy without named devices, with a batch size of at most 128 that the
      code determines

    Not reported:
    - programs that count GPUs, replicas or workers anywhere
    - strategies for several machines

    Measured: with two logical CPUs a batch of 64 is seen as 32 and 32 rows in `train_step`, and an epoch has as many
    steps as without a strategy, TensorFlow 2.21; a test shows it. The cost was not measured, because several GPUs were
    not available.

    Fix: none, because a larger batch changes the training.

    Example:
        import tensorflow as tf

        strategy = tf.distribute.MirroredStrategy()
        data = tf.data.Dataset.from_tensor_slices((x, y)).shuffle(1000).batch(64)
        with strategy.scope():
            model = tf.keras.Sequential([tf.keras.layers.Dense(10)])
            model.compile("adam", "mse")
        model.fit(data)

    Use instead:
        import tensorflow as tf

        strategy = tf.distribute.MirroredStrategy()
        data = tf.data.Dataset.from_tensor_slices((x, y)).shuffle(1000).batch(64 * strategy.num_replicas_in_sync)
        with strategy.scope():
            model = tf.keras.Sequential([tf.keras.layers.Dense(10)])
            model.compile("adam", "mse")
        model.fit(data)
    """

    code = "TFG510"
    name = "divided-batch"
    severity = "advice"
    opt_in = True
    required_substrings = ((b".fit(",), (b"MirroredStrategy", b"CentralStorageStrategy"))
    skips_tests = True
    skips_graphs = True

    def check(self, model: Model) -> Iterator[Finding]:
        """Yield the trainings under a strategy whose batch is a number of the code."""
        made = [*model.calls(*sorted(SEVERAL_DEVICES - MULTI_WORKER))]
        if not made or any(call.args for call in made) or model.once(Runtime).mentions(_COUNTING):
            return
        for call in model.method_calls("fit"):
            trained = model.once(Kinds).receiver(model.file, call, "fit")
            data = argument(call, 0, "x")
            if trained is None or data is None or not _is_distributed(model, trained):
                continue
            size = _batch_size(model, call, data)
            if size is not None and 1 < size <= _MOST:
                yield Finding(
                    model.file,
                    data,
                    f"the strategy divides this batch of {size} among the GPUs: with two GPUs, each gets {size // 2}, "
                    "and an epoch has as many steps as with one GPU",
                    Prediction("no-effect", ("several GPUs",), basis="seen with two logical CPUs, TensorFlow 2.21"),
                    help=f"make batches of `{size} * strategy.num_replicas_in_sync`",
                    notes=(Note(model.file, made[0], "the strategy"),),
                )

    def experiments(self, finding: Finding, model: Model) -> Iterator[Experiment]:
        """How many rows a replica gets of a batch of eight, on two logical CPUs."""
        yield Experiment(finding.file, finding.node, workload=_WORKLOAD, only_workload=True)


_WORKLOAD = Workload(
    before="""
        import tensorflow as tf

        one = tf.config.LogicalDeviceConfiguration()
        tf.config.set_logical_device_configuration(tf.config.list_physical_devices("CPU")[0], [one, one])
        strategy = tf.distribute.MirroredStrategy(["/cpu:0", "/cpu:1"])
        rows = tf.data.Dataset.range(64).batch(8)
        [rows] = strategy.experimental_distribute_dataset(rows.take(1))
        seen = [len(part) for part in strategy.experimental_local_results(rows)]
        wrong = {"wrong": f"the replicas get {seen} of 8 rows"} if max(seen) < 8 else {}
        tflint_measure.finish(outputs=[0.0], **wrong)
    """,
    changes=((".batch(8)", ".batch(8 * strategy.num_replicas_in_sync)"),),
)


def _is_distributed(model: Model, trained: Expression) -> bool:
    return model.inference.must_be(
        model.file,
        trained,
        lambda origin: model.once(Strategies).side(origin.file, origin.node, origin.context) == "inside",
    )


def _batch_size(model: Model, call: cst.Call, data: Expression) -> int | None:
    """How many rows a batch has, where the code fixes it."""
    chains = model.once(Pipelines).chains(model.file, data)
    if all(chain.certain for chain in chains):
        sizes = [chain.batching.batch_size if chain.batching is not None else None for chain in chains]
    else:
        given = argument(call, 2, "batch_size")
        sizes = [model.constants.of(model.file, given)] if given is not None else []
        if given is None:
            sizes = [_of_sequence(model, origin) for origin in model.inference.of(model.file, data)]
    known = set(sizes)
    size = known.pop() if len(known) == 1 else None
    return size if isinstance(size, int) else None


def _of_sequence(model: Model, origin: Origin) -> object:
    """The `batch_size` that a `Sequence` of the project is made with, or its default."""
    cls = model.inference.instance_class(origin)
    method = model.inference.definitions.method(cls, "__init__") if cls is not None else None
    if method is None or origin.call is None or model.once(Kinds).of(origin) != "sequence":
        return None
    for place, parameter in enumerate(method.parameters):
        if parameter.name.value == "batch_size":
            given = argument(origin.call, place, "batch_size")
            if given is not None:
                return model.constants.of(origin.file, given, origin.context)
            return model.constants.of(method.file, parameter.default) if parameter.default is not None else None
    return None
