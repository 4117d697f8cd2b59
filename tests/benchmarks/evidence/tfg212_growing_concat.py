"""TFG212: batches joined to all batches before them, against a list of them that is joined once."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np
import tensorflow as tf

Workload = tuple[str, Callable[[], object], Callable[[], object]]


def workloads() -> Iterator[Workload]:
    """Batches of 32 rows with 1,000 numbers each: 20 of them, and 200; tensors also through NumPy."""
    batch = tf.random.normal((32, 1000))

    def grown(turns: int) -> object:
        rows = tf.zeros([0, 1000])
        for _ in range(turns):
            rows = tf.concat([rows, batch], 0)
        return rows.numpy()

    def appended(turns: int) -> object:
        rows = np.zeros((0, 1000), "float32")
        for _ in range(turns):
            rows = np.append(rows, batch, 0)
        return rows

    def listed(turns: int) -> object:
        rows = []
        for _ in range(turns):
            rows.append(batch)
        return tf.concat(rows, 0).numpy()

    for turns in (20, 200):
        yield f"{turns} batches of 128 KB", lambda n=turns: grown(n), lambda n=turns: listed(n)  # type: ignore[misc]
    yield "200 batches of 128 KB, np.append of tensors", lambda: appended(200), lambda: listed(200)
