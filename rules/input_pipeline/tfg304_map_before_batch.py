"""TFG304 map-before-batch."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import libcst as cst

from tflint_gpu.lazy_dataclasses import dataclass
from tflint_gpu.model import (
    BATCH_NEUTRAL,
    BATCHING,
    Consumers,
    Lengths,
    MappedFunctions,
    Pipelines,
    argument,
)
from tflint_gpu.model.library.datasets import COUNTED, FLATTENING
from tflint_gpu.rule import (
    Change,
    Experiment,
    Finding,
    Fix,
    NoExperiment,
    Note,
    Prediction,
    Rule,
    Workload,
    fix_changes,
    method_text,
    moved_after,
    wrap,
)

if TYPE_CHECKING:
    from tflint_gpu.model import Chain, Model, Operation

_AROUND_MAPS = COUNTED | {"shuffle", "repeat"}
_WITHOUT_ROWS = ("from_tensors", "from_generator")


class MapBeforeBatch(Rule):
    """`map` runs a function for every element, though the function does the same to a whole batch.

    Why: each call of a mapped function costs a few microseconds, whatever it computes. A cast, a division or a
    reordering of the components works the same on a batch as on one element, so after `batch` the function runs once
    for each batch. For small elements (rows, small images) these calls are most of a pipeline's time. For large images,
    they are a small part of it. Another path through the program may need the map before `batch`, for example for a
    random flip of images; then leave the map there.

    Reported:
    - a function in which every operation is known to work on a batch, and which uses all components of the element,
      with nothing but `shuffle`, `take`, `skip` and `repeat` between it and `batch`; `tf.io.parse_example` of features
      of fixed shape is one of these operations

    Not reported:
    - functions that decode, parse single records, resize, reshape, draw random numbers or index
    - maps with a `cache` between them and `batch`: there the order is right
    - maps after one that decodes or reads files, also in a dataset that a `zip` joins: there, the order makes no
      difference

    Measured: {evidence}

    Fix: unsafe: the function gets whole batches, for which it may not have been written.

    Example:
        import tensorflow as tf

        dataset = tf.data.Dataset.from_tensor_slices((images, labels))
        dataset = dataset.shuffle(1000).map(lambda x, y: (x / 255, y)).batch(32)

    Use instead:
        import tensorflow as tf

        dataset = tf.data.Dataset.from_tensor_slices((images, labels))
        dataset = dataset.shuffle(1000).batch(32).map(lambda x, y: (x / 255, y))
    """

    code = "TFG304"
    name = "map-before-batch"
    required_substrings = ((b".batch(",),)
    nearby_substrings = (b".map(",)
    fixable = "unsafe"
    skips_tests = True

    def check(self, model: Model) -> Iterator[Finding]:
        """Yield the last map before each batch whose function works on batches."""
        for place in _places(model):
            yield _finding(place)

    def experiments(self, finding: Finding, model: Model) -> Iterator[Experiment]:
        """The user's pipeline, read without a consumer: as it is, and with the function after `batch`."""
        place = finding.subject_as(_Place)
        batch, receiver = place.batch, place.map.receiver
        repair = fix_changes(finding)
        if not repair:
            if receiver is None or batch.file is not place.map.file or not _same_function(place):
                raise NoExperiment("the map and the batch are in different functions")
            repair = (
                Change(place.map.file, place.map.call, place.map.file.code(receiver)),
                Change(batch.file, batch.call, method_text(place.map), "after"),
            )
        yield Experiment(
            batch.file,
            batch.call,
            probes=(*wrap(batch.file, batch.call, "consume"), *_without_buffers(place)),
            repair=repair,
            workload=_WORKLOAD,
            unit="seconds per batch",
        )


_WORKLOAD = Workload(
    before="""
        import tensorflow as tf

        def scale(x):
            return tf.cast(x, tf.float32) / 255.0

        dataset = tf.data.Dataset.from_tensor_slices(tf.zeros((4096, 28, 28), tf.uint8)).map(scale).batch(32)
        tflint_measure.consume(dataset)
    """,
    changes=((".map(scale).batch(32)", ".batch(32).map(scale)"),),
)


@dataclass(frozen=True, slots=True)
class _Place:
    """A map that may come after the batch, with other such maps before it, shuffles, and a cache after the batch."""

    map: Operation
    batch: Operation
    others: tuple[Operation, ...]
    shuffles: tuple[Operation, ...]
    cache: Operation | None


def _places(model: Model) -> list[_Place]:
    """One for each such map, where no other path through the program needs it before the batch."""
    places: dict[object, _Place] = {}
    kept_as_it_is: set[object] = set()
    for chain in _chains(model):
        place = _place(model, chain)
        moved: set[object] = set(_movable(model, chain))
        if place is not None:
            places.setdefault(place.map.call, place)
            moved = {place.map.call, *(other.call for other in place.others)}
        kept_as_it_is.update(o.call for o in chain.operations if o.name == "map" and o.call not in moved)
    return [place for call, place in places.items() if call not in kept_as_it_is]


def _chains(model: Model) -> Iterator[Chain]:
    """What is consumed, and what is batched: where no consumer is seen, a caller elsewhere consumes it."""
    read = [item for item in model.once(Consumers).consumptions if item.kind != "unused"]
    long = [i.chain for i in read if not i.is_glance and not model.once(Lengths).is_demonstration(i.chain)]
    yield from long
    shown = {o.call for i in read for o in i.chain.operations} - {o.call for chain in long for o in chain.operations}
    for call in model.file.method_calls("cache", "batch"):
        for chain in model.once(Pipelines).chains(model.file, call) if call not in shown else ():
            is_batched = chain.certain and any(o.name in BATCHING for o in chain.operations)
            if is_batched and not model.once(Lengths).is_demonstration(chain):
                yield chain


def _place(model: Model, chain: Chain) -> _Place | None:
    operations = chain.operations
    end = next((i for i, o in enumerate(operations) if o.name in BATCHING), None)
    if end is None or operations[end].name != "batch" or not _has_rows(chain):
        return None
    if operations[end].argument(0, "batch_size") in (0, 1):
        return None
    start, maps = end, []
    while start > 0 and operations[start - 1].name in (*_AROUND_MAPS, "map"):
        operation = operations[start - 1]
        if operation.name == "map":
            if not model.once(MappedFunctions).is_element_wise(operation):
                break
            maps.append(operation)
        start -= 1
    joined = [operation for source in chain.inputs for path in source.paths for operation in path.operations]
    if not maps or not all(_leaves_rows_small(model, operation) for operation in (*joined, *operations[:start])):
        return None
    cache = next((o for o in operations[end:] if o.name == "cache"), None)
    shuffles = tuple(o for o in operations[:end] if o.name == "shuffle")
    return _Place(maps[0], operations[end], tuple(maps[1:]), shuffles, cache)


def _movable(model: Model, chain: Chain) -> Iterator[cst.Call]:
    """The maps that may come after the batch although a map between them flips images."""
    operations = chain.operations
    end = next((i for i, o in enumerate(operations) if o.name in BATCHING), 0)
    for operation in reversed(operations[:end]):
        if operation.name == "map" and model.once(MappedFunctions).is_element_wise(operation, keeps_rank=True):
            yield operation.call
        elif operation.name not in _AROUND_MAPS and not model.once(MappedFunctions).only_flips(operation):
            return


def _has_rows(chain: Chain) -> bool:
    """Whether the source can give single rows: no loader that makes batches, no single element."""
    if (chain.source or "").endswith(_WITHOUT_ROWS) or (chain.made is not None and chain.made.may_form_batches):
        return False
    return all(_has_rows(source) and not source.batching for source in chain.inputs)


def _leaves_rows_small(model: Model, operation: Operation) -> bool:
    if operation.name == "map":
        return not model.once(MappedFunctions).may_take_long(operation)
    return operation.name in BATCH_NEUTRAL | FLATTENING


def _finding(place: _Place) -> Finding:
    text = "this function is called for every element, although it also works on whole batches"
    if place.cache is not None:
        text += "; the `cache` after it limits that to the first epoch"
    notes = [Note(place.batch.file, place.batch.place, "the elements are batched here")]
    notes += [Note(o.file, o.place, "this function works on whole batches too") for o in place.others]
    if place.cache is not None:
        notes.append(Note(place.cache.file, place.cache.place, "later epochs read from here"))
    return Finding(
        place.map.file,
        place.map.place,
        text,
        Prediction(
            "slowdown",
            ("first epoch",) if place.cache is not None else (),
            low=1.0,
            high=30.0,
            basis="casting and dividing rows and small images on a CPU; no gain for images of 224 by 224 pixels",
        ),
        help="put `batch` before this `map`",
        notes=tuple(notes),
        fix=_fix(place),
        subject=place,
    )


def _fix(place: _Place) -> Fix | None:
    edits = moved_after(place.map, place.batch)
    return Fix("Move `map` after `batch`", "unsafe", edits) if edits else None


def _without_buffers(place: _Place) -> Iterator[Change]:
    """A shuffle calls what is before it while its buffer is filled: later steps would not show what that costs."""
    for operation in place.shuffles:
        size = argument(operation.call, 0, "buffer_size")
        if size is not None and operation.file is place.batch.file:
            yield Change(operation.file, size, "1", optional=True)


def _same_function(place: _Place) -> bool:
    tree = place.batch.file.tree
    return tree.function(place.map.call) is tree.function(place.batch.call)
