"""How much longer a training takes under `tflint-gpu run`: pairs of runs, with and without, in turn.

    python tests/benchmarks/run_overhead.py [PAIRS] [STEPS]

The training times itself, from its first step to its last, and counts its processor time; the figures are medians of
the pairs' ratios with the smallest and the largest. A third of its work is Python (a callback after each batch, a
generator), so that the sampler has threads to look at and a lock to wait for.
"""

from __future__ import annotations

import json
import os
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).parents[2]
TRAINING = """
import sys, time
import numpy as np
import tensorflow as tf


class Count(tf.keras.callbacks.Callback):
    def on_train_batch_end(self, batch, logs=None):
        sum(number * number for number in range(20_000))


def rows():
    rng = np.random.default_rng(0)
    while True:
        yield rng.random((32, 32, 3), np.float32), np.int64(1)


types = (tf.TensorSpec((32, 32, 3), tf.float32), tf.TensorSpec((), tf.int64))
data = tf.data.Dataset.from_generator(rows, output_signature=types).batch(32).prefetch(2)
model = tf.keras.Sequential([
    tf.keras.Input((32, 32, 3)), tf.keras.layers.Conv2D(24, 3, activation="relu"), tf.keras.layers.MaxPooling2D(),
    tf.keras.layers.Conv2D(24, 3, activation="relu"), tf.keras.layers.Flatten(), tf.keras.layers.Dense(2),
])
model.compile("adam", tf.keras.losses.SparseCategoricalCrossentropy(from_logits=True))
model.fit(data, steps_per_epoch=5, verbose=0)
wall, cpu = time.perf_counter(), time.process_time()
model.fit(data, steps_per_epoch=int(sys.argv[2]), verbose=0, callbacks=[Count()])
with open(sys.argv[1], "w") as file:
    file.write(f"[{time.perf_counter() - wall}, {time.process_time() - cpu}]")
"""


def trained(folder: Path, steps: str, *before: str) -> tuple[float, float]:
    """Seconds of a training, by the clock and of the processors."""
    times = folder / "times.json"
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "TF_CPP_MIN_LOG_LEVEL": "3", "CUDA_VISIBLE_DEVICES": ""}
    command = [sys.executable, *before, "training.py", str(times), steps]
    subprocess.run(command, cwd=folder, env=environment, check=True, capture_output=True)
    wall, cpu = json.loads(times.read_text())
    return wall, cpu


def main() -> None:
    """Print each pair, and the medians."""
    pairs, steps = int((sys.argv[1:] or ["6"])[0]), (sys.argv[2:] or ["700"])[0]
    walls, cpus = [], []
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "training.py").write_text(TRAINING)
        for number in range(pairs):
            watching = ("-m", "tflint_gpu", "run", "--isolated", "--output-format", "json", "-o", "run.json")
            orders = [(), watching] if number % 2 == 0 else [watching, ()]
            times = {order: trained(folder, steps, *order) for order in orders}
            walls.append(times[watching][0] / times[()][0])
            cpus.append(times[watching][1] / times[()][1])
            print(
                f"pair {number + 1}: {times[()][0]:.1f} s alone, wall x{walls[-1]:.3f}, processor x{cpus[-1]:.3f}",
                flush=True,
            )
    for name, ratios in (("wall", walls), ("processor", cpus)):
        middle = statistics.median(ratios)
        print(
            f"{name}: {100 * (middle - 1):+.1f}% ({100 * (min(ratios) - 1):+.1f}% to {100 * (max(ratios) - 1):+.1f}%)"
        )


if __name__ == "__main__":
    main()
