"""TFG313: rows of arrays and names of files in memory, handed on by a Python generator and cut by tf.data."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

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


_FOLDER = tempfile.TemporaryDirectory()


def _names(name: str, *, reads: bool) -> tuple[str, Callable[[], object], Callable[[], object]]:
    paths = [str(Path(_FOLDER.name, f"{number}.npy")) for number in range(500)]
    for path in paths:
        np.save(path, np.zeros(80, np.float32))

    def rows() -> Iterator[str]:
        yield from paths

    def load(path: tf.Tensor) -> tf.Tensor:
        return tf.numpy_function(np.load, [path], tf.float32) if reads else path

    generated = tf.data.Dataset.from_generator(rows, output_signature=tf.TensorSpec((), tf.string))
    cut = tf.data.Dataset.from_tensor_slices(paths)
    slow, fast = (one.map(load, num_parallel_calls=tf.data.AUTOTUNE).batch(32) for one in (generated, cut))
    return name, lambda: _read(slow), lambda: _read(fast)


def workloads() -> Iterator[tuple[str, Callable[[], object], Callable[[], object]]]:
    """Batches of 32, read without a consumer."""
    yield _pair("2,000 rows of 20 numbers", np.zeros((2_000, 20), np.float32), np.zeros(2_000, np.float32))
    yield _names("500 names of files", reads=False)
    yield _names("500 names of files, each then read by `np.load`", reads=True)
    yield _pair("400 images of 96 by 96", np.zeros((400, 96, 96, 3), np.float32), np.zeros(400, np.float32))
