"""How much a training step holds on the CPU, beside what is read from the program's source.

    python tests/benchmarks/training_memory.py [NAME ...]

Each network trains in a process of its own, without XLA: one step on one row, then on a batch. The growth of the
process from the one to the other is the batch's activations with all workspace. Beside it stands the sum of what the
layers give, as the rule's table has it, and what of it the rule counts on.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path
from typing import Any

sys.path[:0] = [str(Path(__file__).parents[1]), str(Path(__file__).parents[2])]

_HEAD = "from tensorflow import keras\nfrom tensorflow.keras import layers\n"
_FUNCTIONAL = "x = layers.GlobalAveragePooling2D()(x)\nmodel = keras.Model(inputs, layers.Dense(10)(x))\n"
_TABLE = "model = keras.applications.{}(weights=None, input_shape=(96, 96, 3), include_top=False, pooling='avg')\n"
PROGRAMS = {
    "convolutions": (
        64,
        "x = inputs = keras.Input((128, 128, 3))\nfor _ in range(4):\n"
        "    x = layers.Conv2D(32, 3, padding='same', activation='relu')(x)\n" + _FUNCTIONAL,
    ),
    "convolution, normalisation, ReLU": (
        32,
        "x = inputs = keras.Input((128, 128, 3))\nfor _ in range(4):\n    x = layers.Conv2D(32, 3, padding='same')(x)\n"
        "    x = layers.BatchNormalization()(x)\n    x = layers.ReLU()(x)\n" + _FUNCTIONAL,
    ),
    "VGG16": (24, _TABLE.format("VGG16")),
    "ResNet50": (24, _TABLE.format("ResNet50")),
    "MobileNetV2": (48, _TABLE.format("MobileNetV2")),
    "dense layers": (
        4096,
        "model = keras.Sequential([keras.Input((2048,)), *[layers.Dense(4096, activation='relu') for _ in range(6)]])\n",
    ),
    "LSTM": (
        512,
        "model = keras.Sequential([keras.Input((100, 64)), layers.LSTM(256, return_sequences=True), layers.LSTM(256)])\n",
    ),
}
_COMPILED = "model.compile(optimizer='adam', loss='mse', jit_compile=False)\n"
_MIB = 1 << 20


def resident() -> int:
    """The bytes that this process holds now."""
    return int(Path("/proc/self/statm").read_text().split()[1]) * 4096


def growth(code: str, batch: int) -> int:
    """By how much the process grows from a step on one row to a step on a batch."""
    import numpy as np

    variables: dict[str, Any] = {}
    exec(code, variables)
    network = variables["model"]
    x = np.zeros((batch, *network.input_shape[1:]), "float32")
    y = np.zeros((batch, *network.output_shape[1:]), "float32")
    network.train_on_batch(x[:1], y[:1])
    before = highest = resident()
    is_over = threading.Event()

    def watch() -> None:
        nonlocal highest
        while not is_over.is_set():
            highest = max(highest, resident())
            time.sleep(0.002)

    watching = threading.Thread(target=watch)
    watching.start()
    for _ in range(2):
        network.train_on_batch(x, y)
    is_over.set()
    watching.join()
    return highest - before


def read(code: str, batch: int) -> tuple[int, int]:
    """The activations that the source shows, and those that the rule counts on, in bytes."""
    from checks import model_of

    from tflint_gpu.model import Trainings

    with tempfile.TemporaryDirectory() as folder:
        text = f"{code}model.fit(x, y, batch_size={batch})\n"
        (estimate,) = model_of(text, Path(folder)).once(Trainings).estimates
    sizes = estimate.sizes
    return sizes.activations.size, round(sum(one.at(batch).size * one.least for one in sizes.outputs))


def main() -> None:
    """Print a line for each network."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*", default=list(PROGRAMS))
    parser.add_argument("--one", help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.one is not None:
        batch, code = PROGRAMS[given.one]
        print(growth(_HEAD + code + _COMPILED, batch))
        return
    for name in given.names:
        batch, code = PROGRAMS[name]
        done = subprocess.run([sys.executable, __file__, "--one", name], capture_output=True, text=True, check=True)
        grown = int(done.stdout.split()[-1])
        total, least = read(_HEAD + code + _COMPILED, batch)
        figures = f"outputs {total / _MIB:.0f} MiB, counted on {least / _MIB:.0f} MiB, grew {grown / _MIB:.0f} MiB"
        print(f"{name}, batch of {batch}: {figures}: {grown / total:.2f} of the outputs", flush=True)


if __name__ == "__main__":
    main()
