"""TFG307 shuffle-after-batch."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import TYPE_CHECKING

import libcst as cst

from tflint_gpu.model import BATCH_NEUTRAL, BATCHING, Consumers, argument, names_in, walk
from tflint_gpu.model.library.datasets import SAME_SAMPLES
from tflint_gpu.rule import (
    Edit,
    Experiment,
    Finding,
    Fix,
    Note,
    Prediction,
    Rule,
    Workload,
    moved_after,
    moved_before,
)

if TYPE_CHECKING:
    from tflint_gpu.model import Chain, Consumption, Expression, Model, Operation

_MOVABLE_OVER = SAME_SAMPLES | frozenset("map filter repeat enumerate".split())
_BUCKETS = "bucket_by_sequence_length"
_STAYING = ("neighbours in the data stay in one batch", "the same samples share a batch in every epoch")
_ARITHMETIC = (cst.Name, cst.Attribute, cst.Dot, cst.Integer, cst.BinaryOperation, cst.BaseBinaryOp)


class ShuffleAfterBatch(Rule):
    """Training data is shuffled only after it was batched.

    Why: after `batch` the elements that `shuffle` gets are whole batches. `shuffle` changes the order of the batches
    and mixes no samples: samples that are neighbours in the data share a batch in every epoch. The buffer counts
    batches too, so `shuffle(1000)` may hold 1000 batches.

    Reported:
    - a shuffle of training data after `batch`, and none before
    - the same after a loader that makes batches, such as `timeseries_dataset_from_array`
    - the same after `bucket_by_sequence_length`, which makes batches of neighbouring samples of similar length
    - a `zip` of parts that are shuffled in batches

    Not reported:
    - data that is shuffled before it is batched
    - sources that may be in random order: a generator, files listed without `shuffle=False`, an interleave, a loader
      that shuffles by itself
    - batches of one
    - batches that are taken apart or batched again later (sequences, windows)
    - data that is not trained on

    Measured: with TensorFlow 2.21 and 2.15, `Dataset.range(12).batch(4).shuffle(3)` gives 0 to 3, 4 to 7
    and 8 to 11 in one batch each, in any order of the batches; a test shows it with the installed TensorFlow.

    Fix: unsafe: it changes the batches, as intended. The buffer then counts samples, so it is multiplied by the batch
    size. A `cache` stays before the shuffle. There is no fix if a `take`, `skip` or `shard` is between the two: it
    would get different samples in each epoch. There is no fix for buckets, which have several batch sizes.

    Example:
        import tensorflow as tf

        dataset = tf.data.Dataset.from_tensor_slices((x, y)).batch(32).shuffle(1000)
        model = tf.keras.Sequential([tf.keras.layers.Dense(1)])
        model.fit(dataset)

    Use instead:
        import tensorflow as tf

        dataset = tf.data.Dataset.from_tensor_slices((x, y)).shuffle(32000).batch(32)
        model = tf.keras.Sequential([tf.keras.layers.Dense(1)])
        model.fit(dataset)
    """

    code = "TFG307"
    name = "shuffle-after-batch"
    required_substrings = ((b".fit", b"for ", b"next("),)
    nearby_substrings = (b".shuffle",)
    fixable = "unsafe"
    skips_tests = True

    def check(self, model: Model) -> Iterator[Finding]:
        """Yield the first shuffle after the batches of each training pipeline."""
        reported: set[cst.CSTNode] = set()
        for item in model.once(Consumers).consumptions:
            paths = item.chain.paths if item.kind == "train" and _is_in_order(item.chain) else ()
            shuffled = [_shuffled_batches(path) for path in paths]
            for batches in shuffled if None not in shuffled else ():
                if batches is not None and batches[1].place not in reported:
                    reported.add(batches[1].place)
                    yield _finding(item, *batches)

    def experiments(self, finding: Finding, model: Model) -> Iterator[Experiment]:
        """Which elements share a batch, in a pipeline of known numbers."""
        yield Experiment(finding.file, finding.node, workload=_WORKLOAD, only_workload=True)


_WORKLOAD = Workload(
    before="""
        import tensorflow as tf

        tf.random.set_seed(1)
        dataset = tf.data.Dataset.range(64).batch(8).shuffle(8)
        neighbours = all(int(batch[-1]) - int(batch[0]) == 7 for batch in dataset)
        tflint_measure.finish(outputs=[0.0], **({"wrong": "each batch holds neighbours"} if neighbours else {}))
    """,
    changes=((".batch(8).shuffle(8)", ".shuffle(64).batch(8)"),),
)


def _finding(item: Consumption, batch: Operation, shuffle: Operation) -> Finding:
    return Finding(
        shuffle.file,
        shuffle.place,
        f"`shuffle` comes after `{batch.name}`: it reorders whole batches and mixes no samples, "
        f"so {_STAYING[batch.name == _BUCKETS]}",
        Prediction("wrong-result", ("training",), basis="TensorFlow 2.15 and 2.21: each batch holds neighbours"),
        help=_help(item, batch, shuffle),
        fix=_fix(item.chain, shuffle, batch),
        notes=(
            Note(batch.file, batch.place, "the samples are batched here"),
            Note(item.file, item.node, "this training consumes it"),
        ),
    )


def _help(item: Consumption, batch: Operation, shuffle: Operation) -> str:
    if item.chain.inputs:
        return "first join the samples, then shuffle them (with a buffer counted in samples), then batch them"
    if batch.loader is not None:
        return f"pass `shuffle=True` to `{batch.name}`"
    kept = next((o.name for o in _between(item.chain, batch, shuffle) if o.name not in _MOVABLE_OVER), None)
    reason = (
        f"; there is no automatic fix, because `{kept}` would then get different samples in each epoch" if kept else ""
    )
    return f"shuffle before `{batch.name}`, after a `cache`, with a buffer counted in samples{reason}"


def _between(chain: Chain, batch: Operation, shuffle: Operation) -> tuple[Operation, ...]:
    return chain.operations[chain.operations.index(batch) + 1 : chain.operations.index(shuffle)]


def _fix(chain: Chain, shuffle: Operation, batch: Operation) -> Fix | None:
    """Have the shuffle before the batch: it moves there, or, so that a `cache` stays before it, the batch moves.

    None where what is between the two would then get other samples (`take`), or a cache other elements.
    """
    if chain.inputs or batch.loader is not None:
        return None
    between = {operation.name for operation in _between(chain, batch, shuffle)}
    size, samples = argument(shuffle.call, 0, "buffer_size"), _samples(chain, shuffle, batch)
    if size is None or samples is None or shuffle.file is not batch.file or not between <= _MOVABLE_OVER:
        return None
    edits: tuple[Edit, ...] = ()
    if "cache" not in between:
        edits = moved_before(shuffle, batch, Edit(size, samples))
    elif between <= SAME_SAMPLES:
        edits = moved_after(batch, shuffle)
        edits = (*edits, Edit(size, samples)) if edits else ()
    return Fix(f"Shuffle before `{batch.name}`", "unsafe", edits) if edits else None


def _samples(chain: Chain, shuffle: Operation, batch: Operation) -> str | None:
    """How many samples the buffer of a shuffle holds that counts batches; all of them where it is meant to."""
    size, of_batch = argument(shuffle.call, 0, "buffer_size"), batch.given_batch_size
    if size is None or of_batch is None:
        return None
    if _counts_rows(chain, shuffle, size):
        return shuffle.file.code(size)
    if isinstance(size, cst.Integer) and isinstance(of_batch, cst.Integer):
        return str(size.evaluated_value * of_batch.evaluated_value)
    if not all(isinstance(node, _ARITHMETIC) for factor in (size, of_batch) for node in walk(factor)):
        return None
    texts = [shuffle.file.code(size), batch.file.code(of_batch)]
    return " * ".join(
        text if text.replace(".", "").isidentifier() or text.isdecimal() else f"({text})" for text in texts
    )


def _counts_rows(chain: Chain, shuffle: Operation, size: Expression) -> bool:
    """Whether a buffer is as large as what the data is made of: `len(x)`."""
    if not isinstance(size, cst.Call) or not shuffle.file.names.is_builtin(size.func, "len") or chain.made is None:
        return False
    return bool(size.args) and names_in(size.args[0]) <= names_in(chain.made.call)


def _shuffled_batches(chain: Chain) -> tuple[Operation, Operation] | None:
    """The batching and the shuffle after it; None where samples may be mixed in some other way, or regrouped."""
    batch = replace(chain, operations=()).batching
    if batch is not None and batch.batch_size == 1:
        return None
    shuffle: Operation | None = None
    for operation in chain.operations:
        if operation.name in (*BATCHING, _BUCKETS):
            if shuffle is not None or operation.batch_size == 1:
                return None
            batch = operation
        elif operation.name not in BATCH_NEUTRAL:
            return None
        elif operation.name == "shuffle":
            if batch is None or operation.argument(0, "buffer_size") == 1:
                return None
            shuffle = shuffle or operation
    return (batch, shuffle) if batch is not None and shuffle is not None else None


def _is_in_order(chain: Chain) -> bool:
    """Whether the source always gives its elements in the same order."""
    if chain.made is None or chain.is_shuffled_by_source is not False:
        return False
    made = chain.made
    if any(isinstance(parent, cst.For | cst.While) for parent in made.file.tree.ancestors(made.call)):
        return False  # made again for each epoch, perhaps from other data
    return all(_is_in_order(joined) for joined in chain.inputs)
