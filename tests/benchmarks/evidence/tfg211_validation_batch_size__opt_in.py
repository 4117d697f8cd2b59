"""TFG211: `evaluate` of 2,048 rows and of 512 pictures, in batches of 32 and of 256."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np
import tensorflow as tf


def workloads() -> Iterator[tuple[str, Callable[[], object], Callable[[], object]]]:
    """What `fit` does for its validation arrays, by itself."""
    rows = np.random.rand(2048, 20).astype("float32")
    pictures = np.random.rand(512, 24, 24, 3).astype("float32")
    dense = [tf.keras.layers.Dense(32, activation="relu"), tf.keras.layers.Dense(1)]
    convolutions = [tf.keras.layers.Conv2D(16, 3), tf.keras.layers.Flatten(), tf.keras.layers.Dense(1)]
    for name, layers, x in (("dense network", dense, rows), ("small CNN", convolutions, pictures)):
        model = tf.keras.Sequential(layers)
        model.compile(optimizer="sgd", loss="mse")
        yield (f"validation of a {name}, 32 against 256", *(_evaluation(model, x, size) for size in (32, 256)))


def _evaluation(model: tf.keras.Model, x: np.ndarray, size: int) -> Callable[[], object]:
    y = np.zeros((len(x), 1), "float32")
    return lambda: model.evaluate(x, y, batch_size=size, verbose=0)
