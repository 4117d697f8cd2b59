"""TFG213: a target network that gets the weights of another by way of NumPy, and by assignments of variables."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import tensorflow as tf

Workloads = Iterator[tuple[str, Callable[[], object], Callable[[], object]]]


def workloads() -> Workloads:
    """(what, copied through NumPy, assigned in a traced function), twenty times each."""
    yield _compared("20 copies of 12 weights, 0.1 MB", 64)
    yield _compared("20 copies of 12 weights, 16 MB", 1000)


def _compared(what: str, width: int) -> tuple[str, Callable[[], object], Callable[[], object]]:
    online, target = (
        tf.keras.Sequential(
            [*(tf.keras.layers.Dense(width, activation="relu") for _ in range(5)), tf.keras.layers.Dense(4)]
        )
        for _ in range(2)
    )
    for model in (online, target):
        model(tf.zeros((1, 20)))

    pairs = list(zip(target.variables, online.variables, strict=True))

    @tf.function
    def assign() -> None:
        for mine, other in pairs:
            mine.assign(other)

    def copied() -> None:
        for _ in range(20):
            target.set_weights(online.get_weights())

    def assigned() -> None:
        for _ in range(20):
            assign()

    return what, copied, assigned
