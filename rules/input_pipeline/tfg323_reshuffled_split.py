"""TFG323 reshuffled-split."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import TYPE_CHECKING

import libcst as cst

from tflint_gpu.lazy_dataclasses import dataclass
from tflint_gpu.model import DATASET_SUBSTRINGS, Pipelines, argument, spelling
from tflint_gpu.rule import (
    Edit,
    Experiment,
    Finding,
    Fix,
    Note,
    Prediction,
    Rule,
    Workload,
    with_keyword,
)

if TYPE_CHECKING:
    from tflint_gpu.model import Chain, Model, Operation

_BASIS = "about 155 of 200 validation rows are also in the training part of the same epoch, TensorFlow 2.15 and 2.21"
_FEW = 10


class ReshuffledSplit(Rule):
    """`take` and `skip` split a dataset that each pass shuffles again, so the model also trains on validation rows.

    Why: `shuffle` draws a new order for each iterator. `take(n)` gives the first n rows of one order, `skip(n)` all but
    the first n of another order. The two parts have rows in common, and different ones in each epoch. Validation then
    measures what was trained on, and nothing raises. A `seed` does not help: the second iterator draws its second
    order. `list_files` and Keras's loaders from folders shuffle by themselves in the same way. With a small buffer only
    rows near the border are in both parts.

    Reported:
    - a `take` and a `skip` of the same count after a shuffle that draws a new order in each pass

    Not reported:
    - `reshuffle_each_iteration=False`
    - a `cache` between the shuffle and the split
    - counts that differ, and counts below ten

    Measured: of 1,000 numbers after `shuffle(1000)`, 152 to 164 of the 200 in `take(200)` are also in `skip(200)` in
    the same epoch, with and without a seed, and all 200 have been trained on after three epochs; 26 with a buffer of
    50; 0 with `reshuffle_each_iteration=False`. `image_dataset_from_directory` with 600 images: 51 of 112. The same
    with TensorFlow 2.15 and 2.21; a test shows it with the installed TensorFlow.

    Fix: unsafe: it changes which rows are in the parts, as intended, and the training part has one order in all epochs
    until it is shuffled again after the split. There is no fix after a `repeat`, because `skip(n)` then has all rows
    again. There is no fix for a loader: use `validation_split` and `subset`, or split the list of files.

    Example:
        import tensorflow as tf

        rows = tf.data.Dataset.from_tensor_slices((x, y)).shuffle(1000)
        valid, train = rows.take(200).batch(32), rows.skip(200).batch(32)
        model = tf.keras.Sequential([tf.keras.layers.Dense(1)])
        model.fit(train, validation_data=valid)

    Use instead:
        import tensorflow as tf

        rows = tf.data.Dataset.from_tensor_slices((x, y)).shuffle(1000, reshuffle_each_iteration=False)
        valid, train = rows.take(200).batch(32), rows.skip(200).batch(32)
        model = tf.keras.Sequential([tf.keras.layers.Dense(1)])
        model.fit(train, validation_data=valid)
    """

    code = "TFG323"
    name = "reshuffled-split"
    severity = "error"
    required_substrings = ((b".skip(",), (b".take(",))
    nearby_substrings = DATASET_SUBSTRINGS
    fixable = "unsafe"
    skips_tests = True
    skips_graphs = True

    def check(self, model: Model) -> Iterator[Finding]:
        """Yield the first split of each dataset that is reshuffled."""
        parts = [part for call in model.method_calls("take", "skip") if (part := _part(model, call)) is not None]
        seen: set[cst.Call] = set()
        for part in parts:
            other = next((other for other in parts if _is_rest(part, other)), None)
            if other is not None and part.shuffled.call not in seen:
                seen.add(part.shuffled.call)
                yield _finding(model, part, other)

    def experiments(self, finding: Finding, model: Model) -> Iterator[Experiment]:
        """How many of known numbers are in both parts."""
        yield Experiment(finding.file, finding.node, workload=_WORKLOAD, only_workload=True)


_WORKLOAD = Workload(
    before="""
        import tensorflow as tf

        rows = tf.data.Dataset.range(100).shuffle(100)
        valid, train = ({int(row) for row in part} for part in (rows.take(50), rows.skip(50)))
        wrong = {"wrong": "rows for validation are in the training part"} if valid & train else {}
        tflint_measure.finish(outputs=[0.0], **wrong)
    """,
    changes=((".shuffle(100)", ".shuffle(100, reshuffle_each_iteration=False)"),),
)


@dataclass(frozen=True, slots=True)
class _Part:
    """A `take` or `skip`, what is done up to it, and what shuffles the rows before it."""

    cut: Operation
    chain: Chain
    shuffled: Operation

    @property
    def before(self) -> list[cst.Call]:
        """The operations before the cut."""
        return [operation.call for operation in self.chain.operations[:-1]]


def _part(model: Model, call: cst.Call) -> _Part | None:
    chains = model.once(Pipelines).chains(model.file, call)
    if not all(chain.certain and chain.operations for chain in chains):
        return None
    shuffles = [replace(chain, operations=chain.operations[:-1]).reshuffled_by for chain in chains]
    shuffled = shuffles[0]
    if shuffled is None or not all(shuffles):
        return None
    cut = chains[0].operations[-1]
    count = cut.argument(0, "count")
    return None if isinstance(count, int) and count < _FEW else _Part(cut, chains[0], shuffled)


def _is_rest(part: _Part, other: _Part) -> bool:
    """Whether one part is what the other leaves of the same rows: `take(n)` and `skip(n)`."""
    if part.cut.name == other.cut.name or part.shuffled.call is not other.shuffled.call:
        return False
    if part.cut.call in other.before or other.cut.call in part.before:
        return False
    counts = [argument(cut.call, 0, "count") for cut in (part.cut, other.cut)]
    values = [cut.argument(0, "count") for cut in (part.cut, other.cut)]
    if isinstance(values[0], int) and isinstance(values[1], int):
        return values[0] == values[1]
    texts = [spelling(count) if count is not None else None for count in counts]
    return texts[0] is not None and texts[0] == texts[1]


def _finding(model: Model, part: _Part, other: _Part) -> Finding:
    shuffled = part.shuffled
    is_loader = shuffled.name != "shuffle"
    return Finding(
        model.file,
        part.cut.place,
        f"`{part.cut.name}` and `{other.cut.name}` split a dataset that is shuffled again in each pass: "
        "rows of one part are in the other",
        Prediction("wrong-result", ("training",), basis=_BASIS),
        help="split before anything is shuffled (the list of files, or `shuffle=False`)"
        if is_loader
        else "shuffle with `reshuffle_each_iteration=False` before the split, and shuffle the training part again "
        "after the split",
        notes=(
            Note(shuffled.file, shuffled.place, "it shuffles by itself" if is_loader else "shuffled here"),
            Note(model.file, other.cut.place, "the other part"),
        ),
        fix=_fix(model, part.chain, shuffled),
    )


def _fix(model: Model, chain: Chain, shuffled: Operation) -> Fix | None:
    if shuffled.name != "shuffle" or shuffled.file is not model.file:
        return None
    if any(operation.name == "repeat" for operation in chain.operations):  # the next round has all rows again
        return None
    given = argument(shuffled.call, 2, "reshuffle_each_iteration")
    edits = with_keyword(shuffled.call, "reshuffle_each_iteration=False") if given is None else (Edit(given, "False"),)
    return Fix("Shuffle once, before the split", "unsafe", edits) if edits else None
