"""Builds what a traced step of `tflint-gpu verify` makes when it is first used; see `tflint_measure`.

A traced function may create variables in its first call only. Where the repair that is measured traces code as it is,
an optimizer or a metric may be used for the first time in a later one.
"""

from __future__ import annotations

import functools
import threading
from collections.abc import Callable
from typing import Any

import tensorflow as tf


def build_outside() -> None:
    """Let optimizers and metrics make their variables outside of the function that is being traced."""
    optimizers = [kind for kind in vars(tf.keras.optimizers).values() if isinstance(kind, type)]
    for kind in dict.fromkeys(base for optimizer in optimizers for base in optimizer.__mro__):
        if "build" in vars(kind):
            kind.build = _outside(kind.build)  # type: ignore[attr-defined]
    for name in ("add_variable", "add_weight"):
        if name in vars(tf.keras.metrics.Metric):
            setattr(tf.keras.metrics.Metric, name, _outside(vars(tf.keras.metrics.Metric)[name]))


def _outside(method: Callable[..., Any]) -> Callable[..., Any]:
    """The method in another thread: a function is traced in one, and variables of other threads are none of its own."""

    @functools.wraps(method)
    def outside(*args: Any, **kwargs: Any) -> Any:
        if tf.distribute.has_strategy():  # which belongs to a thread, too
            return method(*args, **kwargs)
        made: list[Any] = []
        thread = threading.Thread(target=lambda: made.append(method(*args, **kwargs)))
        thread.start()
        thread.join()
        return made[0]

    made_eagerly: Callable[..., Any] = tf.autograph.experimental.do_not_convert(outside)
    return made_eagerly
