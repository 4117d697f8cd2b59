"""TFG214: a model called for one frame after the other, eagerly and under `tf.function`."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import tensorflow as tf

Workloads = Iterator[tuple[str, Callable[[], object], Callable[[], object]]]


def workloads() -> Workloads:
    """(what, eager, traced), each reading the result of every frame on the host."""
    dense = tf.keras.Sequential([*(tf.keras.layers.Dense(64, activation="relu") for _ in range(4))])
    convolutional = tf.keras.Sequential(
        [
            *(tf.keras.layers.Conv2D(16, 3, strides=2, activation="relu") for _ in range(4)),
            tf.keras.layers.GlobalAveragePooling2D(),
            tf.keras.layers.Dense(10),
        ]
    )
    rng = np.random.default_rng(0)
    yield _compared("50 rows, dense network of four layers", dense, rng.random((50, 1, 20), "float32"))
    yield _compared(
        "20 frames of 64 by 64, CNN of four layers", convolutional, rng.random((20, 1, 64, 64, 3), "float32")
    )
    yield _compared("20 frames of 224 by 224, the same", convolutional, rng.random((20, 1, 224, 224, 3), "float32"))
    mobile = tf.keras.applications.MobileNetV2(weights=None)
    yield _compared("5 frames of 224 by 224, MobileNetV2", mobile, rng.random((5, 1, 224, 224, 3), "float32"))


def _compared(what: str, model: Any, frames: Any) -> tuple[str, Callable[[], object], Callable[[], object]]:
    traced = tf.function(lambda x: model(x, training=False))
    eager = [lambda frame: model(frame, training=False), traced]

    def run(function: Callable[[Any], Any]) -> Callable[[], object]:
        return lambda: [function(tf.constant(frame)).numpy() for frame in frames]

    return what, run(eager[0]), run(eager[1])
