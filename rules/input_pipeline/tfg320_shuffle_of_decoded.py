"""TFG320 shuffle-of-decoded."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from tflint_gpu.model import (
    DATASET_SUBSTRINGS,
    DatasetValue,
    Pipelines,
    StructureValue,
    TensorValue,
    Values,
)
from tflint_gpu.model.library.datasets import SAME_ELEMENTS
from tflint_gpu.model.library.precision import BYTES
from tflint_gpu.rule import (
    Experiment,
    Finding,
    Fix,
    Note,
    Prediction,
    Rule,
    Workload,
    moved_before,
)

if TYPE_CHECKING:
    from tflint_gpu.model import Chain, Expression, Model, Operation

_BASIS = "500 float32 images of 512 x 512 took 1.8 GB after the map, 0.2 GB before it"
_MUCH = 4_000_000_000
_IMAGE_AXES = 3
_SHORTER = 10  # of rows that a batch fills up, most are shorter
_ONLY_MOVES = frozenset(["map", "prefetch", "with_options"])


class ShuffleOfDecoded(Rule):
    """A `shuffle` keeps gigabytes of decoded elements in host memory, where file names or records would do.

    Why: the buffer of `shuffle` holds whole elements. After a `map` that decodes and resizes images, they are many
    times larger than the file names or records before the map: 1,000 float32 images of 1,024 x 1,024 take 12 GB. Rows
    of a table that a map expands to one-hot vectors grow in the same way. The buffer is filled again at the beginning
    of every epoch, and the first batch waits for it. A shuffle before the map gives the same order.

    Reported:
    - a buffer of 4 GB or more, if the sizes of the elements and of the buffer follow from the code; if only the files
      determine the number of channels, one channel is assumed
    - if a `padded_batch` fills rows up to a length that the code gives, a buffer of 40 GB or more, because most rows
      may be shorter

    Not reported:
    - a dataset with few elements: the buffer holds no more elements than the dataset has
    - a shuffle after a `cache` in memory, because the two share their elements
    - batches, which TFG307 reports

    Measured: {evidence}

    Fix: unsafe: random numbers that the maps draw are applied to different images. There is no fix if anything but maps
    is in between.

    Example:
        import tensorflow as tf


        def load(path):
            image = tf.io.decode_jpeg(tf.io.read_file(path), channels=3)
            return tf.image.resize(image, (1024, 1024))


        dataset = tf.data.Dataset.list_files("*.jpg").map(load).shuffle(1000).batch(8)

    Use instead:
        import tensorflow as tf


        def load(path):
            image = tf.io.decode_jpeg(tf.io.read_file(path), channels=3)
            return tf.image.resize(image, (1024, 1024))


        dataset = tf.data.Dataset.list_files("*.jpg").shuffle(1000).map(load).batch(8)
    """

    code = "TFG320"
    name = "shuffle-of-decoded"
    required_substrings = ((b".shuffle(",),)
    nearby_substrings = DATASET_SUBSTRINGS
    fixable = "unsafe"
    skips_tests = True

    def check(self, model: Model) -> Iterator[Finding]:
        """Yield each shuffle of images that take so much."""
        for call in model.method_calls("shuffle"):
            chains = model.once(Pipelines).chains(model.file, call)
            if not all(chain.certain and chain.operations and not chain.is_short for chain in chains):
                continue
            least, most = min((_bytes_held(model, chain) for chain in chains), default=(0, 0))
            if least >= _MUCH:
                yield _finding(chains, most)

    def experiments(self, finding: Finding, model: Model) -> Iterator[Experiment]:
        """What a process holds until the first batch of an epoch is there, with other images."""
        yield Experiment(finding.file, finding.node, workload=_WORKLOAD, only_workload=True, unit="bytes")


_WORKLOAD = Workload(
    before="""
        import tensorflow as tf

        def drawn(number):
            return tf.image.resize(tf.fill((8, 8, 3), tf.cast(number, tf.float32)), (512, 512))

        dataset = tf.data.Dataset.range(500).map(drawn).shuffle(400).batch(8)
        tflint_measure.consume(dataset.take(1))
    """,
    changes=((".map(drawn).shuffle(400)", ".shuffle(400).map(drawn)"),),
)


def _bytes_held(model: Model, chain: Chain) -> tuple[int, int]:
    """What the buffer of the shuffle that ends a chain takes when it is full: at least, and at most; 0 if unknown."""
    shuffle = chain.operations[-1]
    rows = shuffle.argument(0, "buffer_size")
    in_memory = any(o.name == "cache" and not o.call.args for path in chain.paths for o in path.operations)
    if not isinstance(rows, int) or rows < 2 or in_memory:
        return 0, 0
    most = chain.most()
    count = rows if most is None else min(rows, most)
    is_mapped = any(operation.name == "map" for path in chain.paths for operation in path.operations)
    if not is_mapped:
        return 0, 0
    gray, colored = (_bytes_of_element(model, shuffle, shuffle.receiver, channels=channels) for channels in (1, 3))
    filled = _bytes_when_filled(model, shuffle)
    return count * max(gray, filled // _SHORTER), count * max(colored, filled)


def _bytes_of_element(
    model: Model, operation: Operation, data: Expression | None, axis: int = 0, channels: int = 1
) -> int:
    """What the axes of an element's tensors take, from one on, as far as their shapes follow from the code.

    Arguments:
        channels: how many an image has where only its file says so.
    """
    dataset = model.once(Values).of(operation.file, data, operation.context) if data is not None else None
    parts = _tensors(dataset.element) if isinstance(dataset, DatasetValue) else ()
    return sum(_bytes(part.dtype, part.shape[axis:], channels) for part in parts if part.shape is not None)


def _bytes_when_filled(model: Model, shuffle: Operation) -> int:
    """What a shuffled element takes at most: a `padded_batch` after the shuffle refuses what is longer."""
    for call in model.method_calls("padded_batch"):
        for chain in model.once(Pipelines).chains(model.file, call):
            *before, batch = chain.operations
            calls = [operation.call for operation in before]
            after = before[calls.index(shuffle.call) + 1 :] if shuffle.call in calls else None
            if after is not None and all(operation.name in SAME_ELEMENTS for operation in after):
                return _bytes_of_element(model, batch, batch.link, axis=1)
    return 0


def _tensors(value: object) -> Iterator[TensorValue]:
    if isinstance(value, StructureValue):
        for item in value.items:
            yield from _tensors(item)
    elif isinstance(value, TensorValue):
        yield value


def _bytes(dtype: str, shape: Sequence[int | None], channels: int) -> int:
    """The bytes of numbers of a known shape; of others 0."""
    if len(shape) == _IMAGE_AXES and shape[-1] is None:
        shape = (*shape[:-1], channels)
    lengths = [length for length in shape if length is not None]
    return BYTES.get(dtype, 0) * math.prod(lengths) if len(lengths) == len(shape) else 0


def _finding(chains: Sequence[Chain], held: int) -> Finding:
    shuffle = chains[0].operations[-1]
    first = next((o for o in chains[0].operations if o.name == "map"), None)
    return Finding(
        shuffle.file,
        shuffle.place,
        f"the buffer of this `shuffle` takes up to {held / 1e9:.0f} GB of host memory: it holds the mapped elements",
        Prediction("memory", ("host",), basis=_BASIS),
        help="shuffle the file names or records before the `map` that decodes them, which gives the same order",
        notes=(Note(first.file, first.place, "the elements are made here"),) if first is not None else (),
        fix=_fix(chains, shuffle, first),
    )


def _fix(chains: Sequence[Chain], shuffle: Operation, first: Operation | None) -> Fix | None:
    if len(chains) != 1 or first is None:
        return None
    operations = chains[0].operations
    between = operations[operations.index(first) : -1]
    if any(operation.name not in _ONLY_MOVES for operation in between):
        return None
    edits = moved_before(shuffle, first)
    return Fix("Shuffle before the map", "unsafe", edits) if edits else None
