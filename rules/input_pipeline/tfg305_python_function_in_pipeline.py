"""TFG305 python-function-in-pipeline."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from tflint_gpu.model import PythonLoops, ReadPipelines, argument
from tflint_gpu.rule import Experiment, Finding, Note, Prediction, Rule, Workload

if TYPE_CHECKING:
    from tflint_gpu.model import Chain, Model, Operation, PythonLoop

_OF_GENERATOR = (
    "a loop over 256 numbers against slices and a map: 12 times; "
    "eight generators in an `interleave` were no faster; on two CPU cores"
)


class PythonFunctionInPipeline(Rule):
    """A pipeline calls Python for every element, and a Python loop there keeps all other threads waiting.

    Why: `tf.py_function` and `tf.numpy_function` run in the program's own Python, whose global lock lets one thread run
    at a time. A loop over the numbers of an element holds the lock. `num_parallel_calls` then gains almost nothing, and
    the training loop waits for the same lock. A map with such a loop is reported here and not by TFG303, since threads
    alone would not fix it.

    Reported:
    - a map, in a pipeline that is read or batched, of a function that has a loop and calls only functions of Python or
      NumPy
    - a generator that runs such a loop between two elements

    Not reported:
    - NumPy without a loop, which took 0.6 to 2.1 times as long as TensorFlow's operations when it was measured
    - functions that read files (threads do not help `np.load`)
    - functions that use OpenCV, PIL or another library: if threads would help and are not used, TFG303 reports the map
    - loops of a few iterations
    - maps that a `cache` always follows

    Measured: {evidence}

    Fix: none, because the loop has to be rewritten by hand with TensorFlow operations.

    Example:
        import numpy as np
        import tensorflow as tf


        def smoothed(row):
            return np.array([row[max(i - 2, 0) : i + 1].mean() for i in range(len(row))], np.float32)


        def prepared(row):
            return tf.numpy_function(smoothed, [row], tf.float32)


        dataset = tf.data.Dataset.from_tensor_slices(rows)
        dataset = dataset.map(prepared, num_parallel_calls=tf.data.AUTOTUNE).batch(32)

    Use instead:
        import numpy as np
        import tensorflow as tf


        def smoothed(row):
            padded = tf.pad(row, [[2, 0]])
            counts = tf.minimum(tf.range(1, tf.size(row) + 1), 3)
            return (padded[2:] + padded[1:-1] + padded[:-2]) / tf.cast(counts, tf.float32)


        dataset = tf.data.Dataset.from_tensor_slices(rows)
        dataset = dataset.map(smoothed, num_parallel_calls=tf.data.AUTOTUNE).batch(32)
    """

    code = "TFG305"
    name = "python-function-in-pipeline"
    required_substrings = ((b".fit", b"for ", b"next(", b"batch("),)
    nearby_substrings = (b"py_func", b"numpy_function", b"from_generator")
    skips_tests = True

    def check(self, model: Model) -> Iterator[Finding]:
        """Yield the Python functions with a loop that a pipeline runs for every element."""
        seen: set[object] = set()
        loops = model.once(PythonLoops)
        for chain in model.once(ReadPipelines).chains:
            for file, call, context in loops.generators(chain) if not _is_cached(chain) else ():
                loop = loops.of_generator(file, call, context) if call not in seen else None
                seen.add(call)
                if loop is not None:
                    yield _of_generator(loop, any(o.name == "interleave" for o in chain.operations))
            for index, operation in enumerate(chain.operations):
                if operation.name not in ("map", "filter") or operation.call in seen:
                    continue
                if any(later.name == "cache" for later in chain.operations[index:]):
                    continue
                seen.add(operation.call)
                origins = loops.of(operation)
                if origins is not None and origins.call not in seen:
                    seen.add(origins.call)
                    yield _finding(operation, origins)

    def experiments(self, finding: Finding, model: Model) -> Iterator[Experiment]:
        """A loop in Python and the same in TensorFlow's operations: the user's own loop would have to be rewritten."""
        yield Experiment(finding.file, finding.node, workload=_WORKLOAD, only_workload=True, unit="seconds per batch")


_WORKLOAD = Workload(
    before="""
        import numpy as np
        import tensorflow as tf

        def smoothed(row):
            return np.array([row[max(i - 2, 0) : i + 1].mean() for i in range(len(row))], np.float32)

        def in_python(row):
            return tf.numpy_function(smoothed, [row], tf.float32)

        def in_tensorflow(row):
            padded = tf.pad(row, [[2, 0]])
            counts = tf.minimum(tf.range(1, tf.size(row) + 1), 3)
            return (padded[2:] + padded[1:-1] + padded[:-2]) / tf.cast(counts, tf.float32)

        prepared = in_python
        dataset = tf.data.Dataset.from_tensors(tf.ones(200)).repeat(2048)
        dataset = dataset.map(prepared, num_parallel_calls=tf.data.AUTOTUNE).batch(32)
        tflint_measure.consume(dataset)
    """,
    changes=(("prepared = in_python", "prepared = in_tensorflow"),),
)


def _is_cached(chain: Chain) -> bool:
    return any(operation.name == "cache" for operation in chain.operations)


def _of_generator(loop: PythonLoop, interleaves: bool) -> Finding:
    text = "this generator loops in Python for every element, and only one thread at a time can run Python"
    return Finding(
        loop.file,
        loop.call.func,
        f"{text}, so `interleave` over several of them gains nothing" if interleaves else text,
        Prediction("slowdown", (), low=1.5, high=50.0, basis=_OF_GENERATOR),
        help="yield the raw rows, or slice them from arrays, and compute in a `map` with TensorFlow's operations",
        notes=(Note(loop.home, loop.loop, "this loop runs for every element"),),
    )


def _finding(operation: Operation, loop: PythonLoop) -> Finding:
    threads = operation.name == "map" and argument(operation.call, 1, "num_parallel_calls") is not None
    text = "this function loops in Python for every element, and only one thread at a time can run Python"
    return Finding(
        loop.file,
        loop.call.func,
        f"{text}, so `num_parallel_calls` gains almost nothing" if threads else text,
        Prediction(
            "slowdown",
            (),
            low=1.5,
            high=50.0,
            basis="a loop over 200 numbers against TensorFlow's operations, "
            "on two CPU cores with TensorFlow 2.15 and 2.21",
        ),
        help="write the loop with TensorFlow's operations, or do this once, before training",
        notes=(
            Note(loop.home, loop.loop, "this loop runs for every element"),
            Note(operation.file, operation.place, "the pipeline calls it here"),
        ),
    )
