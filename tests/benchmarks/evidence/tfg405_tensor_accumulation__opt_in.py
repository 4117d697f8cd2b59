"""TFG405: host memory that a list of what the steps returned holds, on the CPU, where tensors are host memory."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import tensorflow as tf


def facts() -> Iterator[tuple[str, str]]:
    """500 outputs of 32 x 4,000 numbers, and 20,000 losses: kept as tensors, and as numbers read on the host."""

    @tf.function
    def output(x: tf.Tensor) -> tf.Tensor:
        return x * 2.0

    @tf.function
    def loss(x: tf.Tensor) -> tf.Tensor:
        return tf.reduce_mean(x)

    large, small = tf.ones((32, 4000)), tf.ones((32,))
    kept: list[object] = [float(loss(large)), output(large)]
    kept.clear()
    before = _resident()
    for _ in range(500):
        kept.append(float(tf.reduce_mean(output(large))))
    yield "growth of host memory after 500 means of outputs, read", f"{_resident() - before:.0f} MB"
    for _ in range(500):
        kept.append(output(large))
    yield "growth of host memory after 500 outputs of 512 KB, kept", f"{_resident() - before:.0f} MB"
    before = _resident()
    for _ in range(20_000):
        kept.append(loss(small))
    yield "growth of host memory after 20,000 losses of one number, kept", f"{_resident() - before:.0f} MB"


def _resident() -> float:
    return int(Path("/proc/self/status").read_text().partition("VmRSS:")[2].split()[0]) / 1024
