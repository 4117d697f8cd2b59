"""TFG204: 20 calls of a traced forward pass with 20 Python numbers, and with 20 tensors."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from typing import Any

import tensorflow as tf


def workloads() -> Iterator[tuple[str, Callable[[], object], Callable[[], object]]]:
    """(what, numbers, tensors): the numbers are new in each round."""
    x = tf.random.normal((32, 20))
    model = tf.keras.Sequential([tf.keras.layers.Dense(32, activation="relu"), tf.keras.layers.Dense(1)])
    model(x)
    forward = tf.function(lambda x, step: model(x) * tf.cast(step, tf.float32))
    counter = itertools.count()
    yield (
        "20 forward passes of a dense network of two layers",
        lambda: [forward(x, next(counter)) for _ in range(20)][-1].numpy(),
        lambda: [forward(x, tf.constant(next(counter))) for _ in range(20)][-1].numpy(),
    )


def facts() -> Iterator[tuple[str, str]]:
    """How often a function is traced for 20 numbers."""
    traces = []

    @tf.function
    def double(number: Any) -> Any:
        traces.append(number)
        return number * 2

    for number in range(20):
        double(number)
    yield "traces for 20 Python numbers", str(len(traces))
    traces.clear()
    for number in range(20):
        double(tf.constant(number))
    yield "traces for 20 tensors", str(len(traces))
