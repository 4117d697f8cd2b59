"""TFG216: a metric updated with each row of a batch, and with all of them at once."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np
import tensorflow as tf

Workload = tuple[str, Callable[[], object], Callable[[], object]]
ROWS = 64


def workloads() -> Iterator[Workload]:
    """The same rows, one after the other and in one call."""
    rng = np.random.default_rng(0)
    labels, scores = rng.integers(0, 10, ROWS), rng.random((ROWS, 10)).astype("float32")
    errors, goals = rng.random((ROWS, 1)).astype("float32"), rng.random((ROWS, 1)).astype("float32")
    accuracy, squares = tf.keras.metrics.SparseCategoricalAccuracy(), tf.keras.metrics.MeanSquaredError()

    def rows_counted() -> None:
        for label, row in zip(labels, scores, strict=True):
            accuracy.update_state(label[None], row[None])

    def errors_counted() -> None:
        for goal, error in zip(goals, errors, strict=True):
            squares.update_state(goal[None], error[None])

    yield "64 rows, `SparseCategoricalAccuracy`", rows_counted, lambda: accuracy.update_state(labels, scores)
    yield "64 rows, `MeanSquaredError`", errors_counted, lambda: squares.update_state(goals, errors)
