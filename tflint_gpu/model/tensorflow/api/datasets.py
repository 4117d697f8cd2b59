"""Facts about tf.data: what makes a dataset and what each of its operations does."""

from __future__ import annotations

SOURCES = frozenset(
    (
        "from_tensor_slices from_tensors from_generator range list_files zip random sample_from_datasets "
        "choose_from_datasets load"
    ).split()
)
"""Static methods of `tf.data.Dataset`, and functions of `tf.data.experimental`, that make datasets."""
_SOURCE_CLASSES = frozenset(
    [
        "TFRecordDataset",
        "TextLineDataset",
        "FixedLengthRecordDataset",
        "CsvDataset",
        "SqlDataset",
        "RandomDataset",
    ]
)
SHUFFLING_LOADERS = frozenset(
    ["image_dataset_from_directory", "text_dataset_from_directory", "audio_dataset_from_directory"]
)
"""Functions of Keras that reshuffle in every epoch, unless an argument forbids it; `cache` keeps the first order."""
_LOADERS = SHUFFLING_LOADERS | {"timeseries_dataset_from_array", "make_csv_dataset", "make_batched_features_dataset"}
SHUFFLING_SOURCES = SHUFFLING_LOADERS | {"list_files", "make_csv_dataset", "make_batched_features_dataset"}
"""What gives its elements in random order unless an argument forbids it."""
UNORDERED_SOURCES = frozenset("from_generator sample_from_datasets choose_from_datasets RandomDataset random".split())
"""What may give its elements in any order, whatever its arguments are."""

SURE_SOURCES = _SOURCE_CLASSES | _LOADERS | SOURCES - frozenset("range zip random load".split())
"""The last parts of the names of what makes datasets and nothing else."""

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

BATCH_NEUTRAL = frozenset(
    (
        "map prefetch cache shuffle repeat take skip shard with_options enumerate filter take_while snapshot "
        "experimental_distribute_dataset iter concatenate ignore_errors prefetch_to_device"
    ).split()
)
"""Operations after which a batch is still the batch it was."""

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
    if last in _LOADERS:
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
