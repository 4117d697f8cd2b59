"""TFG306 misplaced-cache."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import TYPE_CHECKING

import libcst as cst

from tflint_gpu.model import (
    BATCHING,
    MAPPING_METHODS,
    SHUFFLING_LOADERS,
    UNKNOWN,
    Consumers,
    DatasetValue,
    MappedFunctions,
    Operation,
    Values,
    argument,
    method_name,
    ways,
)
from tflint_gpu.model.library.datasets import FLATTENING, SHUFFLERS, SPLITTING
from tflint_gpu.rule import (
    Edit,
    Experiment,
    Finding,
    Fix,
    Note,
    Prediction,
    Rule,
    Workload,
    method_text,
    moved_after,
    moved_before,
    removed,
)

if TYPE_CHECKING:
    from tflint_gpu.model import Chain, Consumption, File, Model


class MisplacedCache(Rule):
    """`cache` comes after a random map or the last shuffle of training data, or before a `take` that never fills it.

    Why: the first epoch fills the cache, and every later one reads it back. Random numbers before the cache are drawn
    only once: each sample keeps its first augmentation, and a shuffle before the cache gives every epoch the same
    order. `image_dataset_from_directory`, `make_csv_dataset`, `list_files` and similar functions shuffle, too.

    A cache is complete once its whole dataset has been read. Where a `take(n)` after it ends each pass before that,
    TensorFlow drops what was cached, with a warning, and each epoch does the work before the cache again.

    Reported:
    - a random draw or a shuffle before the cache, if the code has several epochs: `epochs`, a loop around the loop over
      the batches, a `repeat` after the cache
    - a cache before a `take` of more than ten elements, if nothing else in the code reads the dataset and may complete
      the cache

    Not reported:
    - draws with a seed, or after a global seed is set: without a cache, each epoch repeats them too
    - draws that an `if` may switch off
    - data made of random numbers
    - a shuffle that another one follows, one with `reshuffle_each_iteration=False`, and one that a `take` or `skip`
      splits
    - a `repeat` before the cache
    - a `take` of a few elements to repeat them (fake data)
    - a `take` with a shuffle between it and the cache

    Measured: two passes over `Dataset.range(50)` with an unseeded `tf.random.uniform` in a map, a random Keras layer,
    or `shuffle(50)`, and over Keras's loaders of images, texts and sounds from folders: both passes were the same with
    a `cache` after it and different without one, with TensorFlow 2.21 and 2.15; a test shows it with the installed
    TensorFlow. Of 100 elements, a map before `cache().take(10)` runs for 10 in each of three epochs, before
    `take(10).cache()` for 10, 0 and 0, with TensorFlow 2.21.

    Fix: unsafe: it changes which samples an epoch sees, as intended, and the cache may become larger.

    Example:
        import tensorflow as tf

        dataset = tf.data.Dataset.from_tensor_slices((x, y)).shuffle(1000).cache().batch(32)
        model = tf.keras.Sequential([tf.keras.layers.Dense(1)])
        model.fit(dataset, epochs=10)

    Use instead:
        import tensorflow as tf

        dataset = tf.data.Dataset.from_tensor_slices((x, y)).cache().shuffle(1000).batch(32)
        model = tf.keras.Sequential([tf.keras.layers.Dense(1)])
        model.fit(dataset, epochs=10)
    """

    code = "TFG306"
    name = "misplaced-cache"
    required_substrings = ((b".fit", b"for ", b"next("),)
    nearby_substrings = (b".cache(",)
    fixable = "unsafe"
    skips_tests = True

    def check(self, model: Model) -> Iterator[Finding]:
        """Yield each cache of a pipeline of several epochs that freezes what should change, or is never complete."""
        reported: set[cst.CSTNode] = set()
        for item in model.once(Consumers).consumptions:
            paths = item.chain.paths if item.kind in ("train", "validate") and not item.chain.is_short else ()
            for chain, cache, before, after in ((path, *split) for path in paths for split in _caches(path)):
                frozen, taken = _frozen(model, chain, before, after), _cut_by(after)
                # What is drawn before a cache that is never complete is drawn in each epoch.
                if (frozen is None) == (taken is None) or cache.place in reported:
                    continue
                if not _has_epochs(model, item, cache, after):
                    continue
                if frozen is not None and item.kind == "train":
                    reported.add(cache.place)
                    yield _finding(model, item, cache, before, *frozen)
                elif taken is not None and _is_in_vain(model, chain, cache, before, taken):
                    reported.add(cache.place)
                    yield _unfilled(item, cache, taken, is_next=taken is after[0])

    def experiments(self, finding: Finding, model: Model) -> Iterator[Experiment]:
        """Two epochs of a dataset with random numbers drawn before the cache, and after it; or the work of each."""
        workload = _UNFILLED if finding.prediction.kind == "slowdown" else _WORKLOAD
        yield Experiment(finding.file, finding.node, workload=workload, only_workload=True)


_WORKLOAD = Workload(
    before="""
        import tensorflow as tf

        dataset = tf.data.Dataset.range(64).shuffle(64).cache()
        first, second = ([int(number) for number in dataset] for _ in range(2))
        wrong = {"wrong": "the second epoch is the first again"} if first == second else {}
        tflint_measure.finish(outputs=[0.0], **wrong)
    """,
    changes=((".shuffle(64).cache()", ".cache().shuffle(64)"),),
)
_BASIS = "in three epochs the map runs for 10, 10 and 10 elements; with `take` before `cache` for 10, 0 and 0"
_UNFILLED = Workload(
    before="""
        import time

        import tensorflow as tf

        def slow(x):
            return tf.numpy_function(lambda v: (time.sleep(0.004), v)[1], [x], tf.int64)

        tflint_measure.consume(tf.data.Dataset.range(64).map(slow).cache().take(32))
    """,
    changes=((".cache().take(32)", ".take(32).cache()"),),
)


def _cut_by(after: tuple[Operation, ...]) -> Operation | None:
    """The `take` that alone says how far a cache is read; None where what it leaves is cached again."""
    for index, operation in enumerate(after):
        if operation.name == "take":
            return None if any(later.name == "cache" for later in after[index:]) else operation
        if operation.name not in BATCHING and operation.name not in ("map", "enumerate"):
            return None
    return None


def _is_in_vain(model: Model, chain: Chain, cache: Operation, before: tuple[Operation, ...], taken: Operation) -> bool:
    """Whether a cache that only a `take` reads was to save work, and is not known to be read to its end."""
    loads = chain.made is not None and chain.made.name in SHUFFLING_LOADERS
    if not loads and not any(_does_work(model, operation) for operation in before):
        return False
    if any("shuffle" in operation.name for operation in before) or not moved_after(cache, taken):
        return False
    given = taken.receiver
    data = model.once(Values).of(taken.file, given, taken.context) if given is not None else None
    count = data.cardinality if isinstance(data, DatasetValue) else None
    return count is None or bool(taken.argument(0, "count") < count)


def _unfilled(item: Consumption, cache: Operation, taken: Operation, *, is_next: bool) -> Finding:
    edits = moved_before(taken, cache) if is_next else ()
    return Finding(
        cache.file,
        cache.place,
        "`take` ends each epoch before this cache is complete, unless it takes all elements: TensorFlow drops what was "
        "cached, and every epoch does the work before it again",
        Prediction("slowdown", ("training",), low=1.5, high=1000.0, basis=_BASIS),
        help="`take` before `cache`",
        fix=Fix("Take before `cache`", "unsafe", edits) if edits else None,
        notes=(
            Note(taken.file, taken.place, "only this part of the cache is read"),
            Note(item.file, item.node, "the cache is read in each epoch"),
        ),
    )


def _finding(
    model: Model,
    item: Consumption,
    cache: Operation,
    before: tuple[Operation, ...],
    cause: Operation,
    note: Note,
) -> Finding:
    if cause.name == "shuffle" or cause.name in SHUFFLERS:
        text = f"`cache` comes after `{cause.name}`: every epoch after the first repeats the order of the first"
        help_text = "shuffle after `cache`"
    else:
        text = (
            f"`cache` comes after a random `{cause.name}`: from the second epoch on, every sample repeats "
            "its random numbers from the first"
        )
        help_text = f"cache before the random `{cause.name}`"
    return Finding(
        cache.file,
        cache.place,
        text,
        Prediction("wrong-result", ("training",), basis="two epochs are the same, TensorFlow 2.15 and 2.21"),
        help=help_text,
        fix=_fix(model, cache, before, cause),
        notes=(note, Note(item.file, item.node, "this training consumes it")),
    )


def _fix(model: Model, cache: Operation, before: tuple[Operation, ...], cause: Operation) -> Fix | None:
    edits = _moved(model, cache, before[before.index(cause) + 1 :], cause) if cause.loader is None else ()
    return Fix(f"Cache before `{cause.name}`", "unsafe", edits) if edits else None


def _moved(model: Model, cache: Operation, between: tuple[Operation, ...], cause: Operation) -> tuple[Edit, ...]:
    """The cache before a random map, or a shuffle after the cache, which goes on to keep what maps worked on."""
    mapped = [index for index, operation in enumerate(between) if _does_work(model, operation)]
    if cause.name != "shuffle" or not mapped:
        return moved_before(cache, cause)
    batch = next((index for index, operation in enumerate(between) if operation.name in BATCHING), None)
    if batch is None:
        return moved_after(cause, cache)
    if batch < mapped[-1] or not moved_after(cause, between[batch - 1]):
        return ()
    edits = moved_before(cache, between[batch])
    if not edits:
        return ()
    *gone, cached = edits
    return (*removed(cause), *gone, replace(cached, text=f"{cached.text}{method_text(cause)}"))


def _does_work(model: Model, operation: Operation) -> bool:
    """Whether an operation takes more time than to read what it made."""
    is_mapping = operation.name in MAPPING_METHODS or operation.name == "apply"
    return is_mapping and not model.once(MappedFunctions).is_element_wise(operation)


def _caches(chain: Chain) -> Iterator[tuple[Operation, tuple[Operation, ...], tuple[Operation, ...]]]:
    """Each cache with the operations before and after it; one after a `repeat` is never read back."""
    if chain.may_be_repeated_by_source:
        return
    for index, operation in enumerate(chain.operations):
        if operation.name == "repeat" and operation.argument(0, "count") != 1:
            return
        if operation.name == "cache":
            yield operation, chain.operations[:index], chain.operations[index + 1 :]


def _frozen(
    model: Model, chain: Chain, before: tuple[Operation, ...], after: tuple[Operation, ...]
) -> tuple[Operation, Note] | None:
    """What a cache freezes: a random map before it, else the shuffle that no other follows, of a loader too."""
    from .randomness import Randomness

    makes_data = chain.source is None or chain.source.endswith((".range", ".from_tensors", ".random"))
    for operation in before if not makes_data else ():
        draw = model.once(Randomness).draw(operation) if operation.name == "map" else None
        if draw is not None:
            return operation, Note(draw.file, draw.call, "drawn once for each sample")
    if any("shuffle" in operation.name or operation.name == "apply" for operation in after):
        return None
    for operation in reversed(before):
        if operation.name in SPLITTING:
            return None
        if operation.name == "shuffle":
            again = argument(operation.call, 2, "reshuffle_each_iteration")
            if again is not None and operation.argument(2, "reshuffle_each_iteration") is not True:
                return None
            return operation, Note(operation.file, operation.place, "shuffled once")
    made = chain.made
    if made is None or made.name not in SHUFFLERS:
        return None
    if made.name not in SHUFFLING_LOADERS and any(operation.name in FLATTENING for operation in before):
        return None  # files of many samples each: their order is hardly a shuffle
    return (made, Note(made.file, made.place, "it shuffles")) if chain.is_shuffled_by_source else None


def _has_epochs(model: Model, item: Consumption, cache: Operation, after: tuple[Operation, ...]) -> bool:
    """Whether the cache is always read more than once."""
    if any(operation.name == "repeat" and operation.argument(0, "count") != 1 for operation in after):
        return True
    if isinstance(item.node, cst.Call) and method_name(item.node) == "fit":
        epochs = model.constants.keyword_source(item.file, item.node, "epochs")
        count = model.constants.keyword(item.file, item.node, "epochs")
        return epochs is not None and (count is UNKNOWN or (isinstance(count, int) and count > 1))
    return any(
        not any(
            file is made.file and file.tree.within(made.call, place) for file, place in around for made in _ways(cache)
        )
        for around in _repetitions(model, item)
    )


def _repetitions(model: Model, item: Consumption) -> Iterator[tuple[tuple[File, cst.CSTNode], ...]]:
    """What runs the loop over the batches again and again; a dataset that is made in there is a new one each time."""
    if item.loop is None:
        return
    for site in ways(model.inference, item.loop):
        inner = [*((frame.file, frame.node) for frame in site.path[1:]), (item.file, item.node)] if site.path else []
        entered = [(file, function) for file, node in inner if (function := file.tree.function(node)) is not None]
        yield from ((*entered, (site.file, outer)) for outer in site.loops())


def _ways(cache: Operation) -> Iterator[Operation]:
    """The call of `cache`, and the calls of the functions in which it is reached."""
    yield cache
    for file, call in cache.context.calls if cache.context is not None else ():
        yield Operation("call", call, file)
