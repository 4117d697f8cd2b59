"""TFG320: host memory that a shuffle of decoded pictures holds, and how long the first batch of an epoch waits for it."""

from __future__ import annotations

import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import tensorflow as tf

Workloads = Iterator[tuple[str, Callable[[], object], Callable[[], object]]]
_COUNT, _BUFFER = 600, 500


def workloads() -> Workloads:
    """The first batch of 16 in a new epoch: 500 pictures of 512 x 512 in the buffer, and 500 file names."""
    names = _pictures()
    yield "first batch of an epoch, 500 pictures of 512 x 512", _first(_after(names)), _first(_before(names))


def facts() -> Iterator[tuple[str, str]]:
    """The most that an epoch adds to the memory of a process of its own."""
    for place in _ORDERS:
        done = subprocess.run([sys.executable, __file__, place], capture_output=True, text=True, check=True)
        yield f"growth of host memory with the shuffle {place} the map", f"{int(done.stdout)} MB"


def _after(names: list[str]) -> Any:
    return tf.data.Dataset.from_tensor_slices(names).map(_load, tf.data.AUTOTUNE).shuffle(_BUFFER).batch(16)


def _before(names: list[str]) -> Any:
    return tf.data.Dataset.from_tensor_slices(names).shuffle(_BUFFER).map(_load, tf.data.AUTOTUNE).batch(16)


def _first(dataset: Any) -> Callable[[], object]:
    return lambda: next(iter(dataset))[0, 0, 0, 0].numpy()


def _load(name: Any) -> Any:
    return tf.image.resize(tf.io.decode_jpeg(tf.io.read_file(name), channels=3), (512, 512))


def _pictures() -> list[str]:
    folder = Path(tempfile.mkdtemp())
    generator = tf.random.Generator.from_seed(1)
    for number in range(_COUNT):
        small = generator.uniform((16, 16, 3), 0, 255)
        large = tf.cast(tf.image.resize(small, (512, 512)), tf.uint8)
        tf.io.write_file(str(folder / f"{number}.jpg"), tf.io.encode_jpeg(large))
    return sorted(map(str, folder.iterdir()))


def _resident() -> int:
    return int(Path("/proc/self/status").read_text().partition("VmRSS:")[2].split()[0]) // 1024


_ORDERS = {"before": _before, "after": _after}

if __name__ == "__main__":
    pictures = _ORDERS[sys.argv[1]](_pictures())
    start = _resident()
    print(max(_resident() for _ in pictures) - start)
