"""TFG303 sequential-map."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, NamedTuple

from tflint_gpu.model import (
    BATCHING,
    SEQUENTIAL_UP_TO,
    MappedFunctions,
    PythonLoops,
    ReadPipelines,
    argument,
)
from tflint_gpu.rule import (
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
    importing,
    wrap,
)

if TYPE_CHECKING:
    from tflint_gpu.model import Model, Operation, State

_AUTOTUNE_SINCE = (2, 4)
_BASIS = "random augmentation on two CPU cores, 1.5 to 1.8 times with TensorFlow 2.15 and 2.21; more with more cores"
_BASIS_OF_OLD = (
    "in TensorFlow 1.15 and 2.4, tf.data did not parallelize a map that decodes images; "
    "the factor is that of random maps"
)


class SequentialMap(Rule):
    """A `map` that could use several cores runs on one core, and TensorFlow does not parallelize it by itself.

    Why: without `num_parallel_calls` a map handles one element after the other. Newer versions of TensorFlow (2.6 to
    2.21 were tried) run a map in parallel by themselves if the function is stateless. Older ones (1.15 and 2.4 were
    tried) run no map in parallel.

    Reported:
    - with newer versions, functions that draw random numbers (`tf.image.random_*`, `tf.random.*`, Keras's `Random*`
      layers), use a lookup table, print or call Python: typical image augmentation
    - with older versions, stateless functions too

    Not reported:
    - with newer versions, stateless functions (`tf.random.stateless_*` and assertions are stateless)
    - functions that only move a few numbers, for which threads cost more than they save
    - Python functions that hold Python's global lock: threads would wait, and TFG305 reports their loops
    - `np.load`: two threads took 1.3 to 1.9 times as long as one
    - random branches that a flag switches off
    - maps before a `cache`, which run in the first epoch only
    - `flat_map` and `interleave`: on local files `num_parallel_calls` made `interleave` 0.87 to 1.14 times as fast

    Measured: {evidence}

    Fix: unsafe: random numbers are drawn in another order.

    Example:
        import tensorflow as tf


        def augment(image, label):
            image = tf.image.random_flip_left_right(image)
            return tf.image.random_crop(image, (28, 28, 3)), label


        dataset = tf.data.Dataset.from_tensor_slices((images, labels))
        dataset = dataset.map(augment).batch(32)

    Use instead:
        import tensorflow as tf


        def augment(image, label):
            image = tf.image.random_flip_left_right(image)
            return tf.image.random_crop(image, (28, 28, 3)), label


        dataset = tf.data.Dataset.from_tensor_slices((images, labels))
        dataset = dataset.map(augment, num_parallel_calls=tf.data.AUTOTUNE).batch(32)
    """

    code = "TFG303"
    name = "sequential-map"
    required_substrings = ((b".fit", b"for ", b"next(", b"batch("),)
    nearby_substrings = (b".map(",)
    fixable = "unsafe"
    skips_tests = True

    def check(self, model: Model) -> Iterator[Finding]:
        """Yield the maps of pipelines that run one element after the other and need not."""
        seen: set[object] = set()
        for chain in model.once(ReadPipelines).chains:
            for index, operation in enumerate(chain.operations):
                if operation.call in seen or any(o.name == "cache" for o in chain.operations[index:]):
                    continue
                finding = _finding(model, operation, chain.operations[index + 1 :])
                if finding is not None:  # another way to the same call may switch its function's work off
                    seen.add(operation.call)
                    yield finding

    def experiments(self, finding: Finding, model: Model) -> Iterator[Experiment]:
        """The user's batches, read without a consumer: as they are, and with `num_parallel_calls`."""
        operation, state, following = finding.subject_as(_Sequential)
        if finding.fix is None:
            raise NoExperiment("TensorFlow's name is not known where the map stands")
        batch = next((o for o in following if o.name in BATCHING and o.file is finding.file), None)
        last = batch or operation  # an element at a time, reading costs more than most maps
        yield Experiment(
            finding.file,
            last.call,
            probes=(*wrap(finding.file, last.call, "consume"), *_without_buffers(following)),
            repair=fix_changes(finding),
            workload=_WORKLOAD,
            unit="seconds per batch" if batch is not None else "seconds per element",
            same_outputs=state is None or not state.draws,
        )


class _Sequential(NamedTuple):
    """The operation of a map, and those after it."""

    operation: Operation
    state: State | None
    following: tuple[Operation, ...]


def _without_buffers(operations: tuple[Operation, ...]) -> Iterator[Change]:
    """A shuffle calls what is before it while its buffer is filled: later steps would not show what that costs."""
    for operation in operations:
        size = argument(operation.call, 0, "buffer_size") if operation.name == "shuffle" else None
        if size is not None:
            yield Change(operation.file, size, "1", optional=True)


_WORKLOAD = Workload(
    before="""
        import tensorflow as tf

        def augment(x):
            image = tf.random.normal((200, 200, 3)) + tf.cast(x, tf.float32)
            return tf.image.random_flip_left_right(tf.image.random_crop(image, (180, 180, 3)))

        dataset = tf.data.Dataset.range(400).map(augment)
        tflint_measure.consume(dataset)
    """,
    changes=((".map(augment)", ".map(augment, num_parallel_calls=tf.data.AUTOTUNE)"),),
)


def _finding(model: Model, operation: Operation, following: tuple[Operation, ...]) -> Finding | None:
    if any(arg.star or _is_parallel(arg.keyword) for arg in operation.call.args):
        return None
    functions = model.once(MappedFunctions)
    if operation.name != "map" or len(operation.call.args) > 1 or functions.is_element_wise(operation):
        return None
    version = f"TensorFlow {model.target.tensorflow[0]}.{model.target.tensorflow[1]}"
    state = functions.state(operation)
    if state is None and model.target.tensorflow <= SEQUENTIAL_UP_TO and functions.does_work(operation):
        text = f"this `map` handles one element after the other: {version} does not run a map in parallel by itself"
        return _reported(model, text, _Sequential(operation, None, following))
    if state is None or model.once(PythonLoops).of(operation) is not None:
        return None
    if functions.runs_unlocked(state) if state.is_python else functions.does_work(operation):
        text = (
            f"this `map` handles one element after the other: its function {state.text}, so {version} does not run it "
            "in parallel"
        )
        return _reported(model, text, _Sequential(operation, state, following))
    return None


def _reported(model: Model, text: str, sequential: _Sequential) -> Finding:
    operation, state, _ = sequential
    return Finding(
        operation.file,
        operation.place,
        text,
        Prediction(
            "slowdown",
            (),
            low=1.0,
            high=7.0,
            basis=_BASIS if state is not None else _BASIS_OF_OLD,
        ),
        help="give `num_parallel_calls=tf.data.AUTOTUNE`",
        notes=(Note(state.file, state.node, f"this {state.text}"),) if state is not None else (),
        fix=_fix(model, operation),
        subject=sequential,
    )


def _fix(model: Model, operation: Operation) -> Fix | None:
    name = "tf.data.AUTOTUNE" if model.target.tensorflow >= _AUTOTUNE_SINCE else "tf.data.experimental.AUTOTUNE"
    spelling = operation.file.imports.spelling(name, operation.call)
    if spelling is None:
        return None
    last = operation.call.args[-1].value
    given = Edit(last, f", num_parallel_calls={spelling.text}", "after")
    return Fix("Run it in parallel", "unsafe", (*importing(spelling), given))


def _is_parallel(keyword: object) -> bool:
    return getattr(keyword, "value", None) == "num_parallel_calls"
