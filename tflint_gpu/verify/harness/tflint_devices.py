"""Tells on which devices the operations of a program of `tflint-gpu verify` run; see `tflint_measure`."""

from __future__ import annotations

import os
import sys
import tempfile
import threading
from collections.abc import Callable
from typing import Any

from tflint_outcome import finish

# isort: split
import tensorflow as tf


def placed(scope: Callable[[str], Any]) -> type:
    """Stand for `tf.device`: run the block, and tell on which devices its operations ran, for some seconds at most."""

    class Placed:
        def __init__(self, name: str) -> None:
            self.name, self.scope = name, scope(name)

        def __enter__(self) -> Any:
            _log_placement()
            timer = threading.Timer(_MOST_SECONDS, self._finish)
            timer.daemon = True
            timer.start()
            return self.scope.__enter__()

        def __exit__(self, kind: Any, error: Any, trace: Any) -> Any:
            if kind is not None:
                return self.scope.__exit__(kind, error, trace)
            (tf.ones(()) + 1.0).numpy()  # a block that only defines something computes here
            self._finish()

        def _finish(self) -> None:
            with _FINISHING:  # the first ends the program
                finish(devices=_logged_placement(), asked=self.name)

        def __call__(self, function: Callable[..., Any]) -> Callable[..., Any]:
            def inside(*args: Any, **kwargs: Any) -> Any:
                with self:
                    return function(*args, **kwargs)

            return inside

    return Placed


def placed_strategy(strategy: Callable[..., Any]) -> Callable[..., Any]:
    """Stand for `tf.distribute.OneDeviceStrategy`: tell where it runs an operation."""

    def measured_strategy(*args: Any, **kwargs: Any) -> None:
        made = strategy(*args, **kwargs)
        _log_placement()
        made.run(lambda: tf.ones(()) + 1.0)
        finish(devices=_logged_placement(), asked=args[0] if args else kwargs["device"])

    return measured_strategy


def available(name: str) -> str:
    """The device, or the CPU where there is no such device: what a guard in the program would choose."""
    wanted = tf.DeviceSpec.from_string(name if name.startswith("/") else f"/{name}")
    for device in tf.config.list_logical_devices(wanted.device_type or "CPU"):
        if wanted.device_index in (None, tf.DeviceSpec.from_string(device.name).device_index):
            return name
    return "/CPU:0"


_MOST_SECONDS = 10.0  # of a block that trains: its first operations show where they run
_FINISHING = threading.Lock()
_LOG = tempfile.TemporaryFile()
_ERRORS = -1


def log_devices() -> None:
    """Let TensorFlow tell each operation's device; only before the first operation can this be turned on."""
    tf.debugging.set_log_device_placement(True)


def _log_placement() -> None:
    """TensorFlow writes each operation's device to the standard error stream: read it instead of showing it."""
    global _ERRORS
    sys.stderr.flush()
    _ERRORS = os.dup(2)
    os.dup2(_LOG.fileno(), 2)


def _logged_placement() -> list[str]:
    os.dup2(_ERRORS, 2)
    _LOG.seek(0)
    text = _LOG.read().decode(errors="replace")
    words = (word for word in text.split() if "/device:" in word)
    return sorted({word[word.index("/device:") :].rstrip(",.;)'\"") for word in words})


def grow_memory() -> None:
    """Take memory as it is needed, on every GPU."""
    for gpu in tf.config.list_physical_devices("GPU"):
        tf.config.experimental.set_memory_growth(gpu, True)
