"""TFG313: rows of arrays in memory, handed on by a Python generator and cut by tf.data."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np
import tensorflow as tf


def _read(dataset: tf.data.Dataset) -> None:
    for _ in dataset:
        pass


def _pair(name: str, x: np.ndarray, y: np.ndarray) -> tuple[str, Callable[[], object], Callable[[], object]]:
    def rows() -> Iterator[tuple[np.ndarray, np.ndarray]]:
        yield from zip(x, y, strict=True)

    shapes = (tf.TensorSpec(x.shape[1:], x.dtype), tf.TensorSpec(y.shape[1:], y.dtype))
    generated = tf.data.Dataset.from_generator(rows, output_signature=shapes).batch(32)
    cut = tf.data.Dataset.from_tensor_slices((x, y)).batch(32)
    return name, lambda: _read(generated), lambda: _read(cut)


def workloads() -> Iterator[tuple[str, Callable[[], object], Callable[[], object]]]:
    """Batches of 32, read without a consumer."""
    yield _pair("2,000 rows of 20 numbers", np.zeros((2_000, 20), np.float32), np.zeros(2_000, np.float32))
    yield _pair("400 images of 96 by 96", np.zeros((400, 96, 96, 3), np.float32), np.zeros(400, np.float32))
