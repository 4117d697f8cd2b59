"""Facts about tf.data: what makes a dataset and what each of its operations does."""

from __future__ import annotations

from types import EllipsisType
from typing import Literal, NamedTuple

from tflint_gpu.lazy_dataclasses import dataclass
from tflint_gpu.model.library.spellings import spelled

UNORDERED_SOURCES = frozenset("from_generator sample_from_datasets choose_from_datasets RandomDataset random".split())
"""What may give its elements in any order, whatever its arguments are."""
CUTTING = "numpy.array_split"
"""What cuts an array into as many parts as its second argument says."""
_SOURCES = UNORDERED_SOURCES | frozenset("from_tensor_slices from_tensors range list_files zip load".split())
"""Static methods of `tf.data.Dataset`, and functions of `tf.data.experimental`, that make datasets."""
_RECORDS = spelled("{TFRecord,TextLine,FixedLengthRecord}Dataset")
_SOURCE_CLASSES = _RECORDS | spelled("{Csv,Sql,Random}Dataset")
OF_STRINGS = _RECORDS | {"list_files"}
"""What gives a string for each element."""


class Parameter(NamedTuple):
    """A parameter of a function: its place (-1 where it is given by its name only) and its default, `...` for none."""

    keyword: str
    position: int = -1
    default: bool | int | str | EllipsisType | None = None


@dataclass(frozen=True, slots=True)
class Loader:
    """What a function that loads data does to it before anyone else, by which parameters, and without them.

    Arguments:
        shuffle: whether the order is random; all but `list_files` take None for no.
        seed: what makes the random order the same in every run.
        batch_size: how many rows make a batch; None for rows as they are.
        epochs: how often the data is repeated; None for ever.
    """

    shuffle: Parameter
    seed: Parameter | None = None
    batch_size: Parameter | None = None
    epochs: Parameter | None = None


def _of_folder(batch_size: int, shuffle: int) -> Loader:
    return Loader(
        Parameter("shuffle", shuffle, True),
        Parameter("seed", shuffle + 1),
        Parameter("batch_size", batch_size, 32),
    )


# By the last part of the name. As in TensorFlow 2.21 and Keras 3.15; 2.15 has the same.
LOADERS = {
    "image_dataset_from_directory": _of_folder(5, 7),
    "text_dataset_from_directory": _of_folder(4, 6),
    "audio_dataset_from_directory": _of_folder(4, 8),
    "timeseries_dataset_from_array": Loader(
        Parameter("shuffle", 6, False), Parameter("seed", 7), Parameter("batch_size", 5, 128)
    ),
    "make_csv_dataset": Loader(
        Parameter("shuffle", 11, True),
        Parameter("shuffle_seed", 13),
        Parameter("batch_size", 1, ...),
        Parameter("num_epochs", 10),
    ),
    "make_batched_features_dataset": Loader(
        Parameter("shuffle", 7, True),
        Parameter("shuffle_seed", 9),
        Parameter("batch_size", 1, ...),
        Parameter("num_epochs", 6),
    ),
    "list_files": Loader(Parameter("shuffle", 1), Parameter("seed", 2)),
    "load": Loader(Parameter("shuffle_files", -1, False), None, Parameter("batch_size")),  # of tensorflow_datasets
}
_BATCHING_LOADERS = frozenset(n for n, loader in LOADERS.items() if loader.batch_size and loader.batch_size.default)
SHUFFLING_LOADERS = frozenset(name for name in _BATCHING_LOADERS if LOADERS[name].shuffle.default)
"""Functions that reshuffle samples in every epoch, unless an argument forbids it; `cache` keeps the first order."""
SHUFFLERS = SHUFFLING_LOADERS | {"list_files"}
"""The same, and what lists files in another order each time."""
FLOWS = frozenset(["flow", "flow_from_directory", "flow_from_dataframe"])
"""Methods of Keras's generators of images that make batches."""
ITERATORS = spelled("as_numpy_iterator __iter__ make_{one_shot,initializable}_iterator")
ORDERED_SOURCES = SHUFFLING_LOADERS | {"from_tensor_slices", "TFRecordDataset", "TextLineDataset", "list_files"}
"""What gives its elements in the order of files or rows, where it is not told to shuffle them."""

_Fact = Literal[
    "traces",  # a function over elements
    "heavy",  # its work runs in step with the consumer when no prefetch follows
    "batching",  # it forms batches of the size of its first argument
    "uneven",  # its batches may be of other shapes each time
    "flattening",
    "same",  # the elements and their order are what they were
    "alike",  # each element is what it was
    "counted",  # of its elements it takes or leaves a number
    "kept",  # every later pass gets the elements of the first one
    "neutral",  # a batch is still the batch it was
    "bounded",  # it gives no more elements than it gets
    "telling",  # it shows a dataset where nothing else is known of a value
    "alone",  # nothing else among libraries that TensorFlow code commonly imports has it
]
_TRANSFORMATIONS = (
    ("traces heavy neutral bounded telling", "map"),
    ("traces heavy alike telling", "filter"),
    ("traces heavy flattening", "flat_map interleave"),
    ("traces heavy", "map_and_batch"),
    ("traces neutral bounded", "take_while"),
    ("traces", "parallel_interleave scan"),
    ("heavy batching telling", "batch"),
    ("heavy batching uneven alone", "padded_batch"),
    ("heavy batching alone", "ragged_batch"),
    ("heavy uneven alone", "bucket_by_sequence_length"),
    ("heavy uneven", "group_by_window"),
    ("heavy flattening", "unbatch"),
    ("heavy alike telling", "shuffle"),
    ("heavy", "rebatch window"),
    ("heavy same kept telling", "cache"),
    ("same telling", "prefetch"),
    ("same alone", "with_options"),
    ("same", "ignore_errors"),
    ("alike kept", "snapshot"),
    ("alike telling", "repeat"),
    ("alike", "apply_options unique"),
    ("counted telling", "skip take"),
    ("neutral bounded telling", "enumerate"),
    ("neutral", "concatenate prefetch_to_device"),
    ("", "apply rejection_resample shard sparse_batch"),
)
_FACTS = {name: facts.split() for facts, names in _TRANSFORMATIONS for name in names.split()}


def _those(fact: _Fact) -> frozenset[str]:
    return frozenset(name for name, facts in _FACTS.items() if fact in facts)


TRANSFORMATIONS = frozenset(_FACTS)
"""Methods of a dataset that return a new dataset and leave the old one as it was."""
MAPPING_METHODS = _those("traces") | {"reduce"}
HEAVY = _those("heavy")
BATCHING = _those("batching")
BATCH_SIZE = Parameter("batch_size", 0, ...)
SHUFFLE_SEED = Parameter("seed", 1)
SAME_SAMPLES = _those("same")
KEEPING_ORDER = _those("kept") | {"save"}
COUNTED = _those("counted")
SPLITTING = COUNTED | {"shard"}
SAME_ELEMENTS = SAME_SAMPLES | SPLITTING | _those("alike")
SAME_LENGTH = SAME_SAMPLES | {"shuffle", "snapshot"}
"""Operations after which there are as many elements, each of the same form."""
FLATTENING = _those("flattening")
UNEVEN_BATCHES = _those("uneven")
BATCH_NEUTRAL = SAME_ELEMENTS | _those("neutral") | {"experimental_distribute_dataset", "iter"}
NEVER_MORE = BATCHING | SAME_ELEMENTS - {"repeat", "take"} | _those("bounded")
DATASET_PARTS = _those("telling") | {"element_spec"}

_ONLY_TENSORFLOW = _those("alone")
_ONLY_TENSORFLOW_KEYWORDS = frozenset(["num_parallel_calls", "drop_remainder", "reshuffle_each_iteration"])
DATASET_SUBSTRINGS = tuple(
    b"data.Dataset Dataset. RecordDataset LineDataset CsvDataset tensorflow_datasets _dataset_from make_csv_dataset "
    b"make_batched AUTOTUNE num_parallel_calls drop_remainder padded_batch ragged_batch with_options".split()
)
"""One of these is in every file that makes a dataset, or that uses one in a way that only tf.data knows."""
AUTOTUNE = frozenset(["tf.data.AUTOTUNE", "tf.data.experimental.AUTOTUNE"])


def is_source(name: str | None) -> bool:
    """Whether the function of this canonical name makes a dataset."""
    if name is None:
        return False
    head, _, last = name.rpartition(".")
    if last in _BATCHING_LOADERS:
        return head.startswith(("keras.", "tf.data"))
    if head in ("tf.data.Dataset", "tf.compat.v1.data.Dataset", "tf.data.experimental"):
        return last in _SOURCES or last in _SOURCE_CLASSES
    if head in ("tf.data", "tf.compat.v1.data"):
        return last in _SOURCE_CLASSES
    return name == "tensorflow_datasets.load"


def is_certain(operation: str, keywords: list[str], values: list[str | None]) -> bool:
    """Whether a method call can only be a dataset's: by its name, its keywords or AUTOTUNE among its arguments."""
    return (
        operation in _ONLY_TENSORFLOW
        or any(k in _ONLY_TENSORFLOW_KEYWORDS for k in keywords)
        or any(value in AUTOTUNE for value in values)
    )
