"""TFG333 skip-of-all-batches."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

import libcst as cst

from tflint_gpu.model import BATCHING, DatasetValue, Pipelines, Values, argument
from tflint_gpu.model.library.datasets import DATASET_SUBSTRINGS, NEVER_MORE
from tflint_gpu.rule import Experiment, Finding, Note, Prediction, Rule, Workload

from .row_counts import RowCounts, identity

if TYPE_CHECKING:
    from tflint_gpu.model import Chain, Expression, Model, Operation

_BASIS = "640 rows in 20 batches, `skip(128)`: no step at all; TensorFlow 2.21 raises nothing, 2.15 ValueError"


class SkipOfAllBatches(Rule):
    """`skip` leaves nothing of a dataset: its count is a number of samples, and the dataset's elements are batches.

    Why: after `batch(32)` each element is a batch. `skip(int(0.2 * len(x)))` then drops six times as many batches as
    there are, and `take` of the same count takes all of them. With Keras 3 `fit` warns that the data ran out, trains
    nothing in any epoch and returns. If the empty part is the validation data, there is no `val_loss`. Keras 2 raises
    ValueError. After a `repeat`, the same rows follow again, so both parts have all rows: validation measures what was
    trained on.

    Reported:
    - a count that is computed as a share of the rows in the batches
    - a count of at least as many batches as there are, if the code shows how many there are

    Not reported:
    - counts that are divided by the batch size
    - batches of one
    - rows whose number has nothing to do with the count

    Measured: of 640 rows in 20 batches `skip(128)` leaves none; `fit` runs no step and raises nothing with TensorFlow
    2.21, and raises ValueError with 2.15. After `repeat` all 640 rows are in both parts. A test shows it.

    Fix: none, because only the author knows whether the split belongs before `batch`, or the count has to be divided.

    Example:
        import tensorflow as tf

        rows = tf.data.Dataset.from_tensor_slices((x, y)).batch(32)
        held = int(0.2 * len(x))
        valid, train = rows.take(held), rows.skip(held)
        model = tf.keras.Sequential([tf.keras.layers.Dense(1)])
        model.compile("adam", "mse")
        model.fit(train, validation_data=valid)

    Use instead:
        import tensorflow as tf

        rows = tf.data.Dataset.from_tensor_slices((x, y))
        held = int(0.2 * len(x))
        valid, train = rows.take(held).batch(32), rows.skip(held).batch(32)
        model = tf.keras.Sequential([tf.keras.layers.Dense(1)])
        model.compile("adam", "mse")
        model.fit(train, validation_data=valid)
    """

    code = "TFG333"
    name = "skip-of-all-batches"
    severity = "error"
    required_substrings = ((b".skip(",),)
    nearby_substrings = DATASET_SUBSTRINGS
    skips_tests = True
    skips_graphs = True

    def check(self, model: Model) -> Iterator[Finding]:
        """Yield each `skip` that certainly leaves nothing, or splits nothing."""
        for call in model.method_calls("skip"):
            chains = model.once(Pipelines).chains(model.file, call)
            batches = [_batched(model, chain) for chain in chains]
            if batches and all(batches) and batches[0] is not None:
                yield _finding(chains[0], batches[0])

    def experiments(self, finding: Finding, model: Model) -> Iterator[Experiment]:
        """How many of 20 batches are left."""
        yield Experiment(finding.file, finding.node, workload=_WORKLOAD, only_workload=True)


_WORKLOAD = Workload(
    before="""
        import tensorflow as tf

        rows = tf.data.Dataset.range(640)
        left = sum(1 for batch in rows.batch(32).skip(128))
        tflint_measure.finish(outputs=[0.0], **({} if left else {"wrong": "nothing is left"}))
    """,
    changes=((".batch(32).skip(128)", ".skip(128).batch(32)"),),
)


def _batched(model: Model, chain: Chain) -> Operation | None:
    """What makes the batches of which the last operation of a chain, a `skip`, certainly drops all; else None."""
    *before, skip = chain.operations or (None,)
    if skip is None or not chain.certain or any(o.name not in NEVER_MORE | {"repeat"} for o in before):
        return None
    batching = [operation for operation in before if operation.name in BATCHING]
    if len(batching) != 1:
        return None
    counts_all = _counts_all_batches(model, skip) or _counts_samples(model, chain, skip, batching[0])
    return batching[0] if counts_all else None


def _counts_all_batches(model: Model, skip: Operation) -> bool:
    """Whether the count is written, and there are no more batches."""
    receiver, count = skip.receiver, skip.argument(0, "count")
    value = model.once(Values).of(skip.file, receiver, skip.context) if receiver is not None else None
    batches = value.cardinality if isinstance(value, DatasetValue) else None
    return batches is not None and isinstance(count, int) and 0 < batches <= count


def _counts_samples(model: Model, chain: Chain, skip: Operation, batching: Operation) -> bool:
    """Whether the count is a share of the rows of which the batches are made, twice as many as there are batches."""
    given = argument(skip.call, 0, "count")
    share = model.once(RowCounts).share(skip.file, given, skip.context) if given is not None else None
    size = batching.batch_size
    if share is None or not isinstance(size, int) or share.part * size < 2:
        return False
    rows = _rows(model, chain, batching)
    return all(not rows.isdisjoint(origins) for origins in share.counted)


def _rows(model: Model, chain: Chain, batching: Operation) -> frozenset[object]:
    """The arrays whose rows go into the batches, and the datasets that have one element for each of them."""
    made, inference = chain.made, model.inference
    until = chain.operations[: chain.operations.index(batching)]
    rows: set[object] = {(operation.link, ()) for operation in until if operation.name != "repeat"}
    if made is None or made.name != "from_tensor_slices":
        return frozenset(rows)
    rows.add((made.call, ()))
    tensors = argument(made.call, 0, "tensors")
    for origin in inference.of(made.file, tensors, made.context) if tensors is not None else ():
        held: Sequence[Expression] = ()
        if isinstance(origin.node, cst.Tuple | cst.List | cst.Dict) and not origin.access_path:
            held = [element.value for element in origin.node.elements]
        parts = [part for value in held for part in inference.of(origin.file, value, origin.context)]
        rows.update(map(identity, parts or [origin]))
    return frozenset(rows)


def _finding(chain: Chain, batching: Operation) -> Finding:
    skip = chain.operations[-1]
    repeated = any(operation.name == "repeat" for operation in chain.operations)
    then = "both parts have all rows" if repeated else "nothing is left"
    return Finding(
        skip.file,
        skip.place,
        f"this `skip` counts samples where the elements are batches: {then}",
        Prediction("wrong-result", ("training",), basis=_BASIS),
        help="split before `batch`, or divide the count by the size of the batches",
        notes=(Note(batching.file, batching.place, "the batches are made here"),),
    )
