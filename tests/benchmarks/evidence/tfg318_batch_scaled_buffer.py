"""TFG318: host memory that a prefetch of many batches holds, and the time of a training that waits for it."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import tensorflow as tf

Workloads = Iterator[tuple[str, Callable[[], object], Callable[[], object]]]


def workloads() -> Workloads:
    """A producer and a consumer of 4 ms a batch: 64 batches ahead, and as many as tf.data chooses."""

    def slow(x: Any) -> Any:
        return tf.numpy_function(lambda v: (time.sleep(0.001), v)[1], [x], tf.int64)

    def consumed(ahead: int) -> Callable[[], None]:
        dataset = tf.data.Dataset.range(400).map(slow).batch(4).prefetch(ahead)

        def run() -> None:
            for _ in dataset:
                time.sleep(0.004)

        return run

    yield "100 batches of 4 ms, prefetch(64) and AUTOTUNE", consumed(64), consumed(tf.data.AUTOTUNE)


def facts() -> Iterator[tuple[str, str]]:
    """What one more buffer holds, in batches of 1.5 MB, with a consumer that is slower than the producer."""
    dataset = tf.data.Dataset.range(10**6).map(lambda i: tf.fill((64, 64, 3), tf.cast(i, tf.float32)), 2).batch(32)
    kept = []
    next(iter(dataset.prefetch(1)))
    for ahead in (2, 32, 64):
        before = _resident()
        kept.append(iter(dataset.prefetch(ahead)))
        for _ in range(4):
            next(kept[-1])
            time.sleep(0.3)
        yield f"growth of host memory with prefetch({ahead})", f"{_resident() - before:.0f} MB"


def _resident() -> float:
    return int(Path("/proc/self/status").read_text().partition("VmRSS:")[2].split()[0]) / 1024
