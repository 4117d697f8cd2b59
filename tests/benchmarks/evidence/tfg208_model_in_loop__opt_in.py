"""TFG208: host memory that stays for each model that a loop builds and fits, with and without `clear_session`.

Each figure is the median of ten models in a process of its own: memory that one loop freed would serve the next.
"""

from __future__ import annotations

import gc
import subprocess
import sys
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from statistics import median

_LOOPS = {
    "host memory of each model, built and fitted in a loop": "plain",
    "the same with `clear_session` before each": "clear",
    "the same with `clear_session` and `gc.collect`": "collect",
    "one model, fitted as often": "one",
}


def facts() -> Iterator[tuple[str, str]]:
    """Megabytes that each turn of such a loop adds."""
    for what, kind in _LOOPS.items():
        done = subprocess.run([sys.executable, __file__, kind], stdout=subprocess.PIPE, text=True, check=True)
        yield what, f"{float(done.stdout.splitlines()[-1]):.1f} MB"


def _grown(kind: str) -> float:
    import numpy as np
    import tensorflow as tf

    def built() -> tf.keras.Model:
        layers = [tf.keras.layers.Dense(64, activation="relu") for _ in range(4)]
        model = tf.keras.Sequential([*layers, tf.keras.layers.Dense(1)])
        model.compile("adam", "mse")
        return model

    x, y, model = np.zeros((256, 8), "float32"), np.zeros((256, 1), "float32"), built()
    held = []
    for _ in range(13):
        if kind in ("clear", "collect"):
            tf.keras.backend.clear_session()
        if kind == "collect":
            gc.collect()
        if kind != "one":
            model = built()
        model.fit(x, y, validation_data=(x, y), verbose=0)
        held.append(_resident())
    return median(later - earlier for earlier, later in pairwise(held[2:]))


def _resident() -> float:
    return int(Path("/proc/self/status").read_text().partition("VmRSS:")[2].split()[0]) / 1024


if __name__ == "__main__":
    print(_grown(sys.argv[1]))
