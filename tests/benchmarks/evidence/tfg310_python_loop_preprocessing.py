"""TFG310: a batch prepared row by row in Python, and at once: small rows and pictures, NumPy and eager TensorFlow."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np
import tensorflow as tf

Workload = tuple[str, Callable[[], object], Callable[[], object]]


def workloads() -> Iterator[Workload]:
    """Logarithm and mean of each row; a cast, a division and a smaller size for each picture."""
    rng = np.random.default_rng(0)

    def by_row(batch: np.ndarray) -> object:
        return np.stack([np.log1p(np.abs(row)) - np.mean(row) for row in batch])

    def at_once(batch: np.ndarray) -> object:
        axes = tuple(range(1, batch.ndim))
        return np.log1p(np.abs(batch)) - np.mean(batch, axis=axes, keepdims=True)

    for shape in ((64, 10), (64, 32, 32, 3), (16, 224, 224, 3)):
        batch = rng.normal(size=shape).astype("float32")
        name = " x ".join(map(str, shape))
        yield f"NumPy, {name}", lambda b=batch: by_row(b), lambda b=batch: at_once(b)  # type: ignore[misc]

    pictures = tf.constant(rng.integers(0, 255, (64, 48, 48, 3)), tf.uint8)

    def smaller(picture: tf.Tensor) -> tf.Tensor:
        return tf.image.resize(tf.cast(picture, tf.float32) / 255.0, [32, 32])

    yield (
        "eager TensorFlow, 64 pictures of 48 x 48",
        lambda: tf.stack([smaller(picture) for picture in pictures]).numpy(),
        lambda: smaller(pictures).numpy(),
    )
