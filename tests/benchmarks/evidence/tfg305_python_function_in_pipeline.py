"""TFG305: a Python loop over each element of a pipeline, and the same in TensorFlow's operations; files, in threads."""

from __future__ import annotations

import tempfile
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import tensorflow as tf


def _smoothed(row: np.ndarray) -> np.ndarray:
    return np.array([row[max(i - 2, 0) : i + 1].mean() for i in range(len(row))], np.float32)


def _in_python(row: tf.Tensor) -> tf.Tensor:
    return tf.numpy_function(_smoothed, [row], tf.float32)


def _in_tensorflow(row: tf.Tensor) -> tf.Tensor:
    padded = tf.pad(row, [[2, 0]])
    counts = tf.minimum(tf.range(1, tf.size(row) + 1), 3)
    return (padded[2:] + padded[1:-1] + padded[:-2]) / tf.cast(counts, tf.float32)


def _read(dataset: tf.data.Dataset) -> None:
    for _ in dataset:
        pass


_FILES = 1000
_FOLDER = tempfile.TemporaryDirectory()


def _saved(*shape: int) -> str:
    path = Path(_FOLDER.name, f"{'_'.join(map(str, shape))}.npy")
    np.save(path, np.zeros(shape, np.float32))
    return str(path)


def _load(path: str) -> None:
    for _ in range(_FILES):
        np.load(path)


def _one_after_the_other(path: str) -> None:
    _load(path)
    _load(path)


def _in_two_threads(path: str) -> None:
    threads = [threading.Thread(target=_load, args=(path,)) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


def workloads() -> Iterator[tuple[str, Callable[[], object], Callable[[], object]]]:
    """Batches of 32, read without a consumer."""
    rows = tf.data.Dataset.from_tensors(tf.ones(200)).repeat(640)
    loop = rows.map(_in_python, num_parallel_calls=tf.data.AUTOTUNE).batch(32)
    graph = rows.map(_in_tensorflow, num_parallel_calls=tf.data.AUTOTUNE).batch(32)
    yield "a moving mean of 3 numbers over 640 rows of 200, in threads", lambda: _read(loop), lambda: _read(graph)
    alone = rows.map(_in_python).batch(32)
    yield "the same loop on one thread, and in threads", lambda: _read(alone), lambda: _read(loop)
    for shape in ((80,), (300, 80)):
        path = _saved(*shape)
        what = (
            f"not reported: np.load of 2,000 files of {' by '.join(map(str, shape))} numbers, on one thread and on two"
        )
        yield what, lambda path=path: _one_after_the_other(path), lambda path=path: _in_two_threads(path)
