"""Arrays in the place of data that is not here, for a program of `tflint-gpu verify`; see `tflint_measure`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tflint_outcome import SEED, note_early

# isort: split
import numpy
import tensorflow as tf

ROWS = 1024


def random_tensor(shape: Sequence[int], dtype: Any = "float32") -> Any:
    """Numbers from the seed: normal, or small whole ones."""
    dtype = tf.as_dtype(dtype)
    if dtype.is_floating:
        return tf.cast(tf.random.stateless_normal(shape, seed=(SEED, 0)), dtype)
    whole = tf.random.stateless_uniform(shape, seed=(SEED, 0), maxval=2, dtype=tf.int32)
    return tf.cast(whole, dtype)


def synthetic(*specs: Any) -> Any:
    """Arrays in the place of data that is not here.

    Arguments:
        specs: (shape, dtype) of each; a shape without rows gets some.
    """
    note_early(stand_in=True)
    arrays = [random_tensor(shape, dtype).numpy() for shape, dtype in specs]
    return arrays[0] if len(arrays) == 1 else tuple(arrays)


def keras_dataset(name: str, cut: int = 0) -> Any:
    """What `tf.keras.datasets.NAME.load_data()` gives, with the shapes and types of its documentation, fewer rows.

    Arguments:
        cut: the row at which the code takes the data apart; where that is a late one, there are as many as there are.
    """
    shape, classes, columns, whole = {
        "mnist": ((28, 28), 10, 0, 60_000),
        "fashion_mnist": ((28, 28), 10, 0, 60_000),
        "cifar10": ((32, 32, 3), 10, 1, 50_000),
        "cifar100": ((32, 32, 3), 100, 1, 50_000),
    }[name]
    note_early(stand_in=True)
    draw = numpy.random.default_rng(SEED)

    def part(rows: int) -> Any:
        labels = draw.integers(0, classes, (rows, 1) if columns else (rows,)).astype("uint8")
        return draw.integers(0, 256, (rows, *shape)).astype("uint8"), labels

    return (part(whole), part(10_000)) if cut > ROWS else (part(2 * ROWS), part(ROWS))
