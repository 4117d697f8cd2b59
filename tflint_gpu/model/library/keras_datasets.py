"""The data sets that `keras.datasets` loads: as in TensorFlow 2.21; 2.15 has the same."""

from __future__ import annotations

from tflint_gpu.lazy_dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class KerasDataset:
    """The arrays that `load_data` gives: for training, and for testing, samples and labels.

    Arguments:
        sample, label: the shape of one; None for texts of several lengths.
        sample_dtype, label_dtype: as NumPy prints them.
        train, test: how many there are.
    """

    sample: tuple[int, ...] | None
    sample_dtype: str
    label: tuple[int, ...]
    label_dtype: str
    train: int
    test: int


KERAS_DATASETS = {
    "mnist": KerasDataset((28, 28), "uint8", (), "uint8", 60_000, 10_000),
    "fashion_mnist": KerasDataset((28, 28), "uint8", (), "uint8", 60_000, 10_000),
    "cifar10": KerasDataset((32, 32, 3), "uint8", (1,), "uint8", 50_000, 10_000),
    "cifar100": KerasDataset((32, 32, 3), "uint8", (1,), "", 50_000, 10_000),
    "boston_housing": KerasDataset((13,), "float64", (), "float64", 404, 102),
    "imdb": KerasDataset(None, "", (), "int64", 25_000, 25_000),
    "reuters": KerasDataset(None, "", (), "int64", 8_982, 2_246),
}
KERAS_IMAGES = frozenset(name for name, loaded in KERAS_DATASETS.items() if loaded.sample_dtype == "uint8")
KERAS_TEXTS = frozenset(name for name, loaded in KERAS_DATASETS.items() if loaded.sample is None)
KERAS_NUMBERS = frozenset(["boston_housing", "california_housing"])
"""Names of modules with a `load_data`."""
CHANGING_LENGTHS = ("maxlen", "test_split")
"""Arguments of `load_data` with which there are fewer samples, or others."""
