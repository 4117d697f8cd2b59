"""TFG301 missing-prefetch."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from tflint_gpu.model import Consumers, Consumption, MappedFunctions, Training
from tflint_gpu.rule import (
    Change,
    Edit,
    Experiment,
    Finding,
    Fix,
    Note,
    Prediction,
    Rule,
    Workload,
    importing,
    wrap,
)

if TYPE_CHECKING:
    from tflint_gpu.model import Model, Operation

_INJECTED_SINCE = (2, 11)

_AUTOTUNE_SINCE = (2, 4)


class MissingPrefetch(Rule):
    """Training consumes a pipeline without a prefetch, and TensorFlow adds none by itself.

    Why: a prefetch at the end lets the pipeline work on the next batch while the device computes. Since TensorFlow
    2.11, tf.data adds one if the last operation is synchronous, so a missing `prefetch` alone costs nothing. It costs
    time if options switch this prefetch off, and before TensorFlow 2.11.

    Reported:
    - a pipeline whose options switch it off: `apply_default_optimizations = False`, or `inject_prefetch = False` after
      a batched generator
    - before TensorFlow 2.11, a final `map` that runs sequentially: it has no `num_parallel_calls`, and either
      TensorFlow is 2.4 or older, or the function draws random numbers, uses a lookup table or calls Python

    Not reported:
    - a missing `prefetch` that TensorFlow adds by itself
    - a parallel map, which keeps elements ready by itself

    Measured: {evidence}

    A final sequential `map` took 410 ms with TensorFlow 2.7 to 2.10 and 222 ms with 2.11. With 2.10.1, 100 steps of 10
    ms took 1.80 s after a map that draws random numbers, and 1.14 s with a prefetch; after a stateless map, 1.20 s and
    1.11 s.

    Fix: safe: the elements and their order stay as they are.

    Example:
        import tensorflow as tf

        options = tf.data.Options()
        options.experimental_optimization.apply_default_optimizations = False
        dataset = tf.data.Dataset.range(100).map(decode).batch(10).with_options(options)
        model = tf.keras.Sequential([tf.keras.layers.Dense(1)])
        model.fit(dataset)

    Use instead:
        import tensorflow as tf

        options = tf.data.Options()
        options.experimental_optimization.apply_default_optimizations = False
        dataset = tf.data.Dataset.range(100).map(decode).batch(10).with_options(options).prefetch(tf.data.AUTOTUNE)
        model = tf.keras.Sequential([tf.keras.layers.Dense(1)])
        model.fit(dataset)
    """

    code = "TFG301"
    name = "missing-prefetch"
    required_substrings = ((b".fit", b"for ", b"next("),)
    nearby_substrings = (b"apply_default_optimizations", b"inject_prefetch", b".map(")
    fixable = "safe"
    skips_tests = True

    def check(self, model: Model) -> Iterator[Finding]:
        """Yield the last operation of each training pipeline that lacks a prefetch and needs one."""
        if model.once(Training).distributes(model.file):
            return
        for item in _unprefetched(model):
            reason = _reason(model, item)
            if reason is not None and item.chain.work is not None:
                yield _finding(model, item, item.chain.work, reason)

    def experiments(self, finding: Finding, model: Model) -> Iterator[Experiment]:
        """The user's pipeline with a consumer of a set time: as it is, and with a prefetch at its end."""
        item = finding.subject_as(Consumption)
        data_file, data = model.once(Consumers).dataset_of(item)
        yield Experiment(
            data_file,
            data,
            probes=wrap(data_file, data, "consume"),
            repair=(Change(data_file, data, ".prefetch(-1)", "after"),),
            workload=_WORKLOAD,
            unit="seconds per element",
            calibrates=True,
        )


_WORKLOAD = Workload(
    before="""
        import time

        import tensorflow as tf

        def slow(x):
            return tf.numpy_function(lambda v: (time.sleep(0.004), v)[1], [x], tf.int64)

        dataset = tf.data.Dataset.range(64).map(slow).batch(4)
        tflint_measure.consume(dataset, optimized=False)
    """,
    changes=((".batch(4)", ".batch(4).prefetch(2)"),),
)


def _unprefetched(model: Model) -> Iterator[Consumption]:
    """The training pipelines that end without a prefetch."""
    for item in model.once(Consumers).consumptions:
        if item.kind == "train" and not item.chain.is_prefetched and item.chain.work is not None:
            yield item


def _reason(model: Model, item: Consumption) -> str | None:
    """Why TensorFlow adds no prefetch here; None where it does, or where that was not measured."""
    chain = item.chain
    if chain.ends_in_parallel or chain.option("inject_prefetch") is True:
        return None
    if chain.option("apply_default_optimizations") is False:
        return "`apply_default_optimizations` is off, so tf.data adds no prefetch"
    if chain.option("inject_prefetch") is False and chain.ends_synchronously:
        return "`inject_prefetch` is off, so tf.data adds no prefetch"
    version = model.target.tensorflow
    if (2, 0) <= version < _INJECTED_SINCE and chain.ends_with_sequential_map and _waits(model, chain.work):
        return f"TensorFlow {version[0]}.{version[1]} adds none after a sequential `map` (2.11 and later do)"
    return None


def _waits(model: Model, last: Operation | None) -> bool:
    """Whether a map without `num_parallel_calls` has no threads that keep elements ready."""
    return last is not None and model.once(MappedFunctions).runs_sequentially(last)


def _finding(model: Model, item: Consumption, last: Operation, reason: str) -> Finding:
    return Finding(
        last.file,
        last.place,
        f"training waits for this pipeline, because it ends without a prefetch and {reason}",
        Prediction(
            "slowdown",
            ("training",),
            low=1.2,
            high=1.8,
            basis="with producer and consumer equally slow, measured on a CPU; "
            "at most the time of the faster of the two is saved",
        ),
        help="end the pipeline with `.prefetch(tf.data.AUTOTUNE)`",
        fix=_fix(model, item, last),
        notes=(Note(item.file, item.node, "this training consumes it"),),
        subject=item,
    )


def _fix(model: Model, item: Consumption, work: Operation) -> Fix | None:
    """At the end of the chain, or where it is consumed, if that is in the same file as its work."""
    last = item.chain.operations[-1]
    name = "tf.data.AUTOTUNE" if model.target.tensorflow >= _AUTOTUNE_SINCE else "tf.data.experimental.AUTOTUNE"
    spelling = last.file.imports.spelling(name, last.call)
    if spelling is None or last.file is not work.file:
        return None
    edits = (*importing(spelling), Edit(last.call, f".prefetch({spelling.text})", "after"))
    return Fix("Prefetch at the end", "safe", edits)
