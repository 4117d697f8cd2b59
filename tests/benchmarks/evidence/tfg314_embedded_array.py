"""TFG314: the first call of a traced function that looks rows up, in a NumPy array and in a tensor made of it."""

from __future__ import annotations

import gc
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import tensorflow as tf

Workloads = Iterator[tuple[str, Callable[[], object], Callable[[], object]]]
_MIB = 2**20


def _table(mebibytes: int) -> np.ndarray:
    return np.random.default_rng(0).random((mebibytes * _MIB // 256, 64), np.float32)


def _traced(rows: Any) -> Callable[[], object]:
    return lambda: tf.function(lambda i: tf.gather(rows, i))(tf.constant([1, 2, 3]))


def _mapped(rows: Any) -> Callable[[], object]:
    return lambda: next(iter(tf.data.Dataset.range(8).map(lambda i: tf.gather(rows, i))))


def workloads() -> Workloads:
    """From 1 to 100 MiB: making the tensor is no part of it, that is done once."""
    for size in (1, 10, 100):
        table = _table(size)
        tensor = tf.constant(table)
        yield f"a trace with {size} MiB", _traced(table), _traced(tensor)
        if size == 10:
            yield f"a mapped function with {size} MiB", _mapped(table), _mapped(tensor)


def facts() -> Iterator[tuple[str, str]]:
    """Memory at its highest beside what was there, and what is above 2 GB."""
    table = _table(100)
    tensor = tf.constant(table)
    for name, rows in (("a tensor", tensor), ("an array", table)):
        gc.collect()
        before = _highest(anew=True)
        _traced(rows)()
        yield (
            f"highest growth of host memory for a trace with {name} of 100 MiB",
            f"{max(0, _highest() - before):.0f} MB",
        )
    try:
        _traced(np.zeros((2**21, 257), np.float32))()
    except ValueError as error:
        yield "an array of 2.01 GB", f"{str(error).strip().splitlines()[-1].strip()[:60]}..."


def _highest(*, anew: bool = False) -> float:
    """The most memory that the process held so far, in MB; `anew` starts with what it holds now."""
    if anew:
        Path("/proc/self/clear_refs").write_text("5")
    return int(Path("/proc/self/status").read_text().partition("VmHWM:")[2].split()[0]) / 1024
