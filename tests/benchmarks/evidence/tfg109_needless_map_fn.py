"""TFG109: a function called for every row, or for all rows."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import tensorflow as tf

Workload = tuple[str, Callable[[], object], Callable[[], object]]


def _peak(row: tf.Tensor) -> tf.Tensor:
    return tf.reduce_max(tf.abs(row))


@tf.function
def _mapped(x: tf.Tensor) -> tf.Tensor:
    return tf.map_fn(_peak, x)


@tf.function
def _vectorized(x: tf.Tensor) -> tf.Tensor:
    return tf.vectorized_map(_peak, x)


@tf.function
def _whole(x: tf.Tensor) -> tf.Tensor:
    return tf.reduce_max(tf.abs(tf.reshape(x, (tf.shape(x)[0], -1))), axis=-1)


def _pair(name: str, x: tf.Tensor, other: Callable[[tf.Tensor], object]) -> Workload:
    return name, lambda: _mapped(x), lambda: other(x)


def workloads() -> Iterator[Workload]:
    """The largest absolute value of each row."""
    rows, few, images = tf.random.normal((1000, 20)), tf.random.normal((8, 20)), tf.random.normal((8, 224, 224, 3))
    yield _pair("1,000 rows of 20 numbers, traced, against the whole tensor", rows, _whole)
    yield _pair("1,000 rows of 20 numbers, traced, against vectorized_map", rows, _vectorized)
    yield _pair("8 rows of 20 numbers, traced, against the whole tensor", few, _whole)
    yield _pair("8 images of 224 by 224 by 3, traced, against the whole tensor", images, _whole)
    yield (
        "32 rows of 20 numbers, eager, against the whole tensor",
        lambda: tf.map_fn(_peak, rows[:32]),
        lambda: tf.reduce_max(tf.abs(rows[:32]), axis=-1),
    )
