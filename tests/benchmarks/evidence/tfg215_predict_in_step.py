"""TFG215: `predict`, `evaluate` and `fit` of one batch, against the methods for one batch and a traced call."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import tensorflow as tf

Workload = tuple[str, Callable[[], object], Callable[[], object]]
BATCHES = 8


def workloads() -> Iterator[Workload]:
    """The same batches of 32 rows, one after the other."""
    model = tf.keras.Sequential([*(tf.keras.layers.Dense(64, activation="relu") for _ in range(4))])
    model.compile("sgd", "mse")
    batches = [tf.random.normal((32, 20)).numpy() for _ in range(BATCHES)]
    labels = tf.random.normal((32, 64)).numpy()
    traced = tf.function(model)

    def predicted() -> object:
        return [model.predict(batch, verbose=0) for batch in batches]

    yield (
        "8 batches, `predict` against `predict_on_batch`",
        predicted,
        lambda: [model.predict_on_batch(batch) for batch in batches],
    )
    yield (
        "8 batches, `predict` against the model under tf.function",
        predicted,
        lambda: [traced(tf.constant(batch)).numpy() for batch in batches],
    )
    yield (
        "8 batches, `evaluate` against `test_on_batch`",
        lambda: [model.evaluate(batch, labels, verbose=0) for batch in batches],
        lambda: [model.test_on_batch(batch, labels) for batch in batches],
    )
    yield (
        "8 batches, `fit` against `train_on_batch`",
        lambda: [model.fit(batch, labels, verbose=0) for batch in batches],
        lambda: [model.train_on_batch(batch, labels) for batch in batches],
    )
