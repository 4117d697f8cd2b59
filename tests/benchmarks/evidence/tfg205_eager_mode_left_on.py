"""TFG205: `fit` and a pipeline, eager by a switch for debugging and as they are."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import suppress

import numpy as np
import tensorflow as tf

Workload = tuple[str, Callable[[], object], Callable[[], object]]


def workloads() -> Iterator[Workload]:
    """An epoch of 16 steps, with the model eager and with all functions eager, and a mapped dataset."""
    x = np.random.rand(512, 20).astype("float32")
    y = x[:, :1]

    def fit(*, eager: bool) -> Callable[[], object]:
        layers = [tf.keras.layers.Dense(32, activation="relu"), tf.keras.layers.Dense(1)]
        model = tf.keras.Sequential(layers)
        model.compile(optimizer="sgd", loss="mse", run_eagerly=eager)
        return lambda: model.fit(x, y, batch_size=32, verbose=0)

    yield "16 steps of `fit`, `run_eagerly=True`", fit(eager=True), fit(eager=False)

    usual = fit(eager=False)

    def all_eager() -> None:
        tf.config.run_functions_eagerly(True)
        _fresh(x, y)
        tf.config.run_functions_eagerly(False)

    usual()
    yield "16 steps of `fit` of a new model, `run_functions_eagerly(True)`", all_eager, lambda: _fresh(x, y)

    with suppress(ImportError):
        yield _pipeline(x)


def _fresh(x: np.ndarray, y: np.ndarray) -> None:
    """A model of its own: which functions are traced is decided when they are made."""
    model = tf.keras.Sequential([tf.keras.layers.Dense(32, activation="relu"), tf.keras.layers.Dense(1)])
    model.compile(optimizer="sgd", loss="mse")
    model.fit(x, y, batch_size=32, epochs=8, verbose=0)


def _pipeline(x: np.ndarray) -> Workload:
    """512 elements of a map, in the debug mode and without it; only its own module can switch it off again."""
    from tensorflow.python.data.ops import debug_mode

    def consumed() -> None:
        for _ in tf.data.Dataset.from_tensor_slices(x).map(lambda row: tf.square(row) + 1.0).batch(32):
            pass

    def debugged() -> None:
        debug_mode.toggle_debug_mode(True)
        consumed()
        debug_mode.toggle_debug_mode(False)

    return "512 elements of a map, `enable_debug_mode()`", debugged, consumed
