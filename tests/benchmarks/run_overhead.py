"""How much a training costs more under `tflint-gpu run`: one training whose sampler is switched off and on, in pairs.

    python tests/benchmarks/run_overhead.py [PAIRS] [STEPS] [outside]

Both halves of a pair are STEPS steps of the same process, in turn the sampled one first and second, so that neither the
start of a process nor slow changes of the load count. Processor time is what a busy machine disturbs least; the time on
the clock is told beside it. Of each the median ratio of the pairs is printed with the interval that holds it in 95% of
cases (by the ranks). What the sampler's thread and the command itself used is read from the kernel.

With `outside` the training runs alone, and `tflint-gpu run --pid` watches it by py-spy in one half of each pair.

A third of the training's work is Python (a callback after each batch, a generator), so that the sampler has threads to
look at and a lock to wait for.
"""

from __future__ import annotations

import json
import math
import os
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

ROOT = Path(__file__).parents[2]
TRAINING = """
import json, os, pathlib, signal, subprocess, sys, threading, time
import numpy as np
import tensorflow as tf


class Count(tf.keras.callbacks.Callback):
    def on_train_batch_end(self, batch, logs=None):
        sum(number * number for number in range(20_000))


def rows():
    rng = np.random.default_rng(0)
    while True:
        yield rng.random((32, 32, 3), np.float32), np.int64(1)


def used(task):
    fields = open(f"/proc/{task}/stat").read().rpartition(") ")[2].split()
    return sum(map(int, fields[11:15])) / os.sysconf("SC_CLK_TCK")


types = (tf.TensorSpec((32, 32, 3), tf.float32), tf.TensorSpec((), tf.int64))
data = tf.data.Dataset.from_generator(rows, output_signature=types).batch(32).prefetch(2)
model = tf.keras.Sequential([
    tf.keras.Input((32, 32, 3)), tf.keras.layers.Conv2D(24, 3, activation="relu"), tf.keras.layers.MaxPooling2D(),
    tf.keras.layers.Conv2D(24, 3, activation="relu"), tf.keras.layers.Flatten(), tf.keras.layers.Dense(2),
])
model.compile("adam", tf.keras.losses.SparseCategoricalCrossentropy(from_logits=True))
IS_OUTSIDE = sys.argv[4:] == ["outside"]
if not IS_OUTSIDE:
    (thread,) = [one for one in threading.enumerate() if one.name == "tflint-gpu"]
    sampler = thread._target.__self__


def watched():
    command = [sys.executable, "-m", "tflint_gpu", "run", "--isolated", "--pid", str(os.getpid())]
    process = subprocess.Popen(command, stderr=subprocess.DEVNULL)
    children = pathlib.Path(f"/proc/{process.pid}/task/{process.pid}/children")
    while not any("record" in pathlib.Path(f"/proc/{child}/cmdline").read_text() for child in children.read_text().split()):
        time.sleep(0.05)
    return process


def half(is_sampled):
    watch = watched() if IS_OUTSIDE and is_sampled else None
    if not IS_OUTSIDE:
        sampler.is_stopped or sampler.stop()
        if is_sampled:
            sampler.begin(sampler.pipe)
    command = os.getppid() if watch is None else watch.pid
    before, wall, cpu = used(command), time.perf_counter(), time.process_time()
    model.fit(data, steps_per_epoch=int(sys.argv[3]), verbose=0, callbacks=[Count()])
    found = {"wall": time.perf_counter() - wall, "processor": time.process_time() - cpu}
    found["command"] = used(command) - before
    found["thread"] = used(f"self/task/{sampler.thread.native_id}") if is_sampled and not IS_OUTSIDE else 0.0
    if watch is not None:
        watch.send_signal(signal.SIGINT)
        watch.wait()
    return found


half(True), half(False)
pairs = []
for number in range(int(sys.argv[2])):
    first = half(number % 2 == 0)
    second = half(number % 2 == 1)
    pairs.append([first, second] if number % 2 else [second, first])
with open(sys.argv[1], "w") as file:
    json.dump(pairs, file)
"""


def middle(ratios: Sequence[float]) -> tuple[float, float, float]:
    """The median, and the interval that holds that of the population in at least 95% of samples."""
    ordered, count = sorted(ratios), len(ratios)
    outside, rank = 0.0, 0
    while rank < count // 2 and 2 * (outside + math.comb(count, rank) / 2**count) <= 0.05:
        outside += math.comb(count, rank) / 2**count
        rank += 1
    low, high = max(rank - 1, 0), count - max(rank, 1)
    return statistics.median(ordered), ordered[low], ordered[high]


def main() -> None:
    """Print the medians."""
    pairs, steps = (sys.argv[1:] or ["20"])[0], (sys.argv[2:] or ["120"])[0]
    is_outside = sys.argv[3:] == ["outside"]
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "TF_CPP_MIN_LOG_LEVEL": "3", "CUDA_VISIBLE_DEVICES": ""}
    with tempfile.TemporaryDirectory() as name:
        times = Path(name, "times.json")
        Path(name, "training.py").write_text(TRAINING)
        command = [sys.executable]
        if not is_outside:
            command += ["-m", "tflint_gpu", "run", "--isolated", "--output-format", "json"]
        command += ["training.py", str(times), pairs, steps, *sys.argv[3:]]
        subprocess.run(command, cwd=name, env=environment, check=True, capture_output=True)
        found = json.loads(times.read_text())
    plain, sampled = zip(*found, strict=True)
    load = ", ".join(f"{one:.1f}" for one in os.getloadavg())
    alone = sum(one["wall"] for one in plain)
    print(
        f"{len(found)} pairs, {alone:.1f} s without and {sum(one['wall'] for one in sampled):.1f} s with; load {load}"
    )
    for what in ("processor", "wall"):
        ratio, low, high = middle([one[what] / other[what] for other, one in found])
        print(f"{what}: {100 * (ratio - 1):+.2f}% ({100 * (low - 1):+.2f}% to {100 * (high - 1):+.2f}%)")
    cpu, wall = sum(one["processor"] for one in sampled), sum(one["wall"] for one in sampled)
    for what, name in (("thread", "the sampler's thread"), ("command", "the command beside it, with py-spy")):
        amount = sum(one[what] for one in sampled)
        print(
            f"{name}: {amount:.2f} s of a processor, {100 * amount / wall:.2f}% of the clock, {100 * amount / cpu:.2f}%"
        )


if __name__ == "__main__":
    main()
