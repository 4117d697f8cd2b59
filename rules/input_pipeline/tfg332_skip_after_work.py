"""TFG332 skip-after-work."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from tflint_gpu.model import DATASET_SUBSTRINGS, MappedFunctions, Pipelines, argument, spelling
from tflint_gpu.model.library.datasets import BATCHING, SAME_SAMPLES
from tflint_gpu.rule import Experiment, Finding, Fix, Note, Prediction, Rule, Workload, moved_before

if TYPE_CHECKING:
    from tflint_gpu.model import Chain, Model, Operation

_PASSED = BATCHING | SAME_SAMPLES - {"cache"}
_FEW = 10


class SkipAfterWork(Rule):
    """`skip` comes after a `map` that reads or decodes, so the elements that it drops are made first.

    Why: `skip` takes elements out of the dataset before it and drops them. After a `map` each of them has been read,
    decoded or computed, in every epoch, before the first one that is used. A `map` returns one element for each input
    element, so `skip` before it drops the same ones. After `batch`, the count of `skip` is a number of batches: before
    the map and `batch`, the count must be multiplied by the batch size.

    Reported:
    - a `skip` after a map that reads files, decodes or resizes images, works on sound or calls Python, if the count is
      ten or more (elements or batches), or the same as that of a `take` in the same file
    - the same for one of the datasets that a `zip` joins

    Not reported:
    - a `cache`, a `shuffle`, a `filter` or a `repeat` between the two
    - maps that only do arithmetic

    Measured: with TensorFlow 2.21 and 2.15, the function of a `map` before `skip(320)` of 400 elements ran 400 times,
    and after it 80 times; the same with `batch(8).skip(40)`, with a parallel map, with a `prefetch` between them, and
    with 2.21 in a `zip`. JPEG images of 512 by 512 pixels: 4 to 5 times as long for four fifths that were left out, 1.1
    to 1.3 times for one fifth.

    Fix: unsafe: random numbers that the map draws are applied to different elements. There is no fix if the `skip`
    comes after a `batch` or a `zip`, if another part of the program also reads the mapped dataset, or if the map calls
    Python, which may count its calls.

    Example:
        import tensorflow as tf


        def load(name):
            return tf.image.resize(tf.io.decode_jpeg(tf.io.read_file(name), channels=3), (64, 64))


        names = tf.data.Dataset.list_files("*.jpg", shuffle=False)
        train = names.map(load, num_parallel_calls=tf.data.AUTOTUNE).skip(2000).batch(32)

    Use instead:
        import tensorflow as tf


        def load(name):
            return tf.image.resize(tf.io.decode_jpeg(tf.io.read_file(name), channels=3), (64, 64))


        names = tf.data.Dataset.list_files("*.jpg", shuffle=False)
        train = names.skip(2000).map(load, num_parallel_calls=tf.data.AUTOTUNE).batch(32)
    """

    code = "TFG332"
    name = "skip-after-work"
    required_substrings = ((b".skip(",), (b".map(",))
    nearby_substrings = DATASET_SUBSTRINGS
    fixable = "unsafe"
    skips_tests = True

    def check(self, model: Model) -> Iterator[Finding]:
        """Yield each `skip` behind such a map."""
        for call in model.method_calls("skip"):
            chains = model.once(Pipelines).chains(model.file, call)
            worked = [_work_in_any(model, chain) for chain in chains if chain.certain and chain.operations]
            if worked and len(worked) == len(chains) and all(worked) and worked[0] is not None:
                yield _finding(model, chains, worked[0])

    def experiments(self, finding: Finding, model: Model) -> Iterator[Experiment]:
        """The rule's own workload: what a map costs depends on files that may not be there."""
        yield Experiment(finding.file, finding.node, workload=_WORKLOAD, only_workload=True)


_WORKLOAD = Workload(
    before="""
        import time

        import tensorflow as tf

        def slow(x):
            return tf.numpy_function(lambda v: (time.sleep(0.004), v)[1], [x], tf.int64)

        tflint_measure.consume(tf.data.Dataset.range(64).map(slow).skip(48))
    """,
    changes=((".map(slow).skip(48)", ".skip(48).map(slow)"),),
)


def _work_in_any(model: Model, chain: Chain) -> Operation | None:
    """The first of the maps that do such work for a dataset, or for one of those that `zip` joins in it."""
    paths = chain.paths if chain.made is not None and chain.made.name == "zip" else (chain,)
    return next((work for path in paths if (work := _work_before(model, path)) is not None), None)


def _work_before(model: Model, chain: Chain) -> Operation | None:
    """The first of the maps whose work is done for what a chain's last operation, a `skip`, leaves out."""
    *before, skip = chain.operations
    work = None
    for operation in reversed(before):
        if operation.name == "map":
            work = operation if _does_work(model, operation) else work
        elif operation.name not in _PASSED:
            break
    return work if _leaves_many(model, skip) else None


def _does_work(model: Model, operation: Operation) -> bool:
    """Whether a map certainly reads, decodes, resizes or calls Python."""
    functions = model.once(MappedFunctions)
    return functions.does_work(operation) or functions.calls_python(operation)


def _leaves_many(model: Model, skip: Operation) -> bool:
    """Whether its count is written and large, or that of a `take`, with which it splits the data."""
    count, given = skip.argument(0, "count"), argument(skip.call, 0, "count")
    if isinstance(count, int):
        return count >= _FEW
    taken = (argument(call, 0, "count") for call in model.method_calls("take"))
    return given is not None and any(other is not None and spelling(other) == spelling(given) for other in taken)


def _finding(model: Model, chains: list[Chain], work: Operation) -> Finding:
    *before, skip = chains[0].operations
    between = before[before.index(work) :] if work in before else before
    is_batched = any(operation.name in BATCHING for operation in between)
    functions = model.once(MappedFunctions)
    may_count = any(operation.name == "map" and functions.calls_python(operation) for operation in between)
    may_move = between is not before and not is_batched and not may_count and len(chains) == 1
    edits = moved_before(skip, work) if may_move else ()
    return Finding(
        skip.file,
        skip.place,
        "the elements that this `skip` drops are computed first, in every pass, because it comes after the `map` that "
        "computes them",
        Prediction("slowdown", ("training",), low=1.05, high=1000.0, basis=_BASIS),
        help="`skip` before the `map`" + (": there it counts elements, not batches" if is_batched else ""),
        notes=(Note(work.file, work.place, "this work is done for all elements"),),
        fix=Fix("Skip before the map", "unsafe", edits) if edits else None,
    )


_BASIS = "the map ran for 400 elements where 80 were used, TensorFlow 2.15 and 2.21"
