"""Facts about tf.data: what makes a dataset and what each of its operations does."""

from __future__ import annotations

from types import EllipsisType
from typing import NamedTuple

from tflint_gpu.lazy_dataclasses import dataclass
from tflint_gpu.model.library.spellings import spelled

SOURCES = frozenset(
    (
        "from_tensor_slices from_tensors from_generator range list_files zip random sample_from_datasets "
        "choose_from_datasets load"
    ).split()
)
"""Static methods of `tf.data.Dataset`, and functions of `tf.data.experimental`, that make datasets."""
_SOURCE_CLASSES = spelled("{TFRecord,TextLine,FixedLengthRecord,Csv,Sql,Random}Dataset")


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
FLOWS = frozenset(["flow", "flow_from_directory", "flow_from_dataframe"])
"""Methods of Keras's generators of images that make batches."""
ITERATORS = spelled("as_numpy_iterator __iter__ make_{one_shot,initializable}_iterator")
ORDERED_SOURCES = SHUFFLING_LOADERS | {"from_tensor_slices", "TFRecordDataset", "TextLineDataset", "list_files"}
"""What gives its elements in the order of files or rows, where it is not told to shuffle them."""
UNORDERED_SOURCES = frozenset("from_generator sample_from_datasets choose_from_datasets RandomDataset random".split())
"""What may give its elements in any order, whatever its arguments are."""

MAPPING_METHODS = frozenset(
    "map filter interleave flat_map parallel_interleave map_and_batch take_while reduce scan".split()
)
"""Operations that trace a function over elements."""

TRANSFORMATIONS = MAPPING_METHODS - {"reduce"} | frozenset(
    (
        "batch padded_batch ragged_batch unbatch rebatch prefetch cache shuffle repeat take skip shard "
        "enumerate window concatenate with_options apply snapshot rejection_resample ignore_errors "
        "group_by_window bucket_by_sequence_length apply_options unique prefetch_to_device sparse_batch "
        "save_to"
    ).split()
) - {"save_to"}
"""Methods of a dataset that return a new dataset and leave the old one as it was."""

HEAVY = frozenset(
    (
        "batch padded_batch ragged_batch map filter shuffle cache unbatch interleave flat_map window "
        "map_and_batch bucket_by_sequence_length group_by_window rebatch"
    ).split()
)
"""Operations whose work runs in step with the consumer when no prefetch follows."""

BATCHING = frozenset(["batch", "padded_batch", "ragged_batch"])
"""Operations that form batches of the size of their first argument."""
BATCH_SIZE = Parameter("batch_size", 0, ...)
SHUFFLE_SEED = Parameter("seed", 1)

SAME_SAMPLES = frozenset(["cache", "prefetch", "with_options", "ignore_errors"])
"""Operations after which the elements and their order are what they were."""

KEEPING_ORDER = frozenset(["cache", "snapshot", "save"])
"""Operations that give every later pass the elements of the first one."""

COUNTED = frozenset(["take", "skip"])
SPLITTING = COUNTED | {"shard"}

SAME_ELEMENTS = SAME_SAMPLES | SPLITTING | frozenset("shuffle repeat filter apply_options unique snapshot".split())
"""Operations after which an element is what it was."""

FLATTENING = frozenset(["flat_map", "interleave", "unbatch"])

UNEVEN_BATCHES = frozenset(["padded_batch", "bucket_by_sequence_length", "group_by_window"])
"""Operations whose batches may be of other shapes each time."""

BATCH_NEUTRAL = SAME_ELEMENTS | frozenset(
    "map enumerate take_while experimental_distribute_dataset iter concatenate prefetch_to_device".split()
)
"""Operations after which a batch is still the batch it was."""

NEVER_MORE = BATCHING | SAME_ELEMENTS - {"repeat", "take"} | {"map", "enumerate", "take_while"}
"""Operations that give no more elements than they get."""

DATASET_PARTS = frozenset("map shuffle prefetch take repeat cache skip enumerate element_spec batch filter".split())
"""What shows a dataset where nothing else is known of a value."""

# Without other uses among libraries that TensorFlow code commonly imports.
_ONLY_TENSORFLOW = frozenset(["padded_batch", "ragged_batch", "with_options", "bucket_by_sequence_length"])
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
        return last in SOURCES or last in _SOURCE_CLASSES
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
