"""TFG105: the sine of a tensor by a Python function on the host, or in the graph."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np
import tensorflow as tf

Workload = tuple[str, Callable[[], object], Callable[[], object]]


@tf.function
def _native(x: tf.Tensor) -> tf.Tensor:
    return tf.sin(x)


@tf.function
def _numpy(x: tf.Tensor) -> tf.Tensor:
    return tf.numpy_function(np.sin, [x], tf.float32)


@tf.function
def _eager(x: tf.Tensor) -> tf.Tensor:
    return tf.py_function(tf.sin, [x], tf.float32)


def workloads() -> Iterator[Workload]:
    """Traced, for a small and a large tensor."""
    small, large = tf.random.normal((32, 8)), tf.random.normal((64, 128, 128, 8))
    yield "32 by 8 numbers, tf.numpy_function", lambda: _numpy(small), lambda: _native(small)
    yield "32 by 8 numbers, tf.py_function", lambda: _eager(small), lambda: _native(small)
    yield "8 million numbers, tf.numpy_function", lambda: _numpy(large), lambda: _native(large)
    yield "8 million numbers, tf.py_function", lambda: _eager(large), lambda: _native(large)
