"""Measures what the rules' documentation claims, with the installed TensorFlow on this machine.

    python tests/benchmarks/claims.py batch-size
    python tests/benchmarks/claims.py eager-step
    python tests/benchmarks/claims.py eager-validation
    python tests/benchmarks/claims.py prefetch

Each variant runs once to warm up and then `--repeat` times in turn with the others; the table gives the median
of the wall times and its ratio to the variant named first. A result is fetched before each clock is read.
"""

from __future__ import annotations

import argparse
import os
import platform
import statistics
import time
from collections.abc import Callable

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")

Variants = dict[str, Callable[[], object]]


def batch_size() -> Variants:
    """TFG201: one epoch over 512 samples, with batches of 32 and of 1; a dense network and a small CNN."""
    import numpy as np
    import tensorflow as tf

    features, labels = np.random.rand(512, 20).astype("float32"), np.random.rand(512, 1).astype("float32")
    images = np.random.rand(512, 16, 16, 3).astype("float32")

    def dense() -> tf.keras.Model:
        model = tf.keras.Sequential([tf.keras.layers.Dense(32, activation="relu"), tf.keras.layers.Dense(1)])
        model.compile(optimizer="sgd", loss="mse")
        return model

    def cnn() -> tf.keras.Model:
        layers = [tf.keras.layers.Conv2D(8, 3), tf.keras.layers.Flatten(), tf.keras.layers.Dense(1)]
        model = tf.keras.Sequential(layers)
        model.compile(optimizer="sgd", loss="mse")
        return model

    models = {(make.__name__, size): make() for make in (dense, cnn) for size in (32, 1)}
    dataset = tf.data.Dataset.from_tensor_slices((features, labels))
    piped = {size: (dense(), dataset.batch(size)) for size in (32, 1)}
    return {
        "dense, fit(batch_size=32)": lambda: models["dense", 32].fit(features, labels, batch_size=32, verbose=0),
        "dense, fit(batch_size=1)": lambda: models["dense", 1].fit(features, labels, batch_size=1, verbose=0),
        "dense, .batch(32)": lambda: piped[32][0].fit(piped[32][1], verbose=0),
        "dense, .batch(1)": lambda: piped[1][0].fit(piped[1][1], verbose=0),
        "CNN, fit(batch_size=32)": lambda: models["cnn", 32].fit(images, labels, batch_size=32, verbose=0),
        "CNN, fit(batch_size=1)": lambda: models["cnn", 1].fit(images, labels, batch_size=1, verbose=0),
    }


def eager_step() -> Variants:
    """TFG202: 50 training steps of a small dense network, under tf.function and eagerly."""
    import tensorflow as tf

    x, y = tf.random.normal((32, 20)), tf.random.normal((32, 1))

    def steps(traced: bool) -> Callable[[], object]:
        model = tf.keras.Sequential([tf.keras.layers.Dense(32, activation="relu"), tf.keras.layers.Dense(1)])
        optimizer = tf.keras.optimizers.Adam()

        def step() -> tf.Tensor:
            with tf.GradientTape() as tape:
                loss = tf.reduce_mean(tf.square(model(x, training=True) - y))
            variables = model.trainable_variables
            optimizer.apply_gradients(zip(tape.gradient(loss, variables), variables, strict=True))
            return loss

        step()  # builds the variables
        run = tf.function(step) if traced else step
        return lambda: [run() for _ in range(50)][-1].numpy()

    return {"under tf.function": steps(True), "eager": steps(False)}


def eager_validation() -> Variants:
    """TFG207: a pass over 64 batches, by `evaluate` and by a loop that calls the model eagerly."""
    import tensorflow as tf

    model = tf.keras.Sequential([tf.keras.layers.Dense(64, activation="relu") for _ in range(4)])
    model.add(tf.keras.layers.Dense(1))
    model.compile(loss="mse")
    data = (tf.random.normal((2048, 20)), tf.random.normal((2048, 1)))
    dataset = tf.data.Dataset.from_tensor_slices(data).batch(32).cache().prefetch(2)
    loss = tf.keras.losses.MeanSquaredError()

    def loop() -> float:
        return float(sum(loss(y, model(x, training=False)) for x, y in dataset))

    return {"evaluate": lambda: model.evaluate(dataset, verbose=0), "eager loop": loop}


def prefetch() -> Variants:
    """TFG301, TFG302: 12 batches; a producer and a consumer that take 16 ms a batch each."""
    import tensorflow as tf

    def pipeline(order: str, *, defaults: bool = True, injection: bool = True) -> Callable[[], object]:
        options = tf.data.Options()
        if not defaults:
            options.experimental_optimization.apply_default_optimizations = False
        if not injection:  # set to True it would be on even where the defaults are off
            options.experimental_optimization.inject_prefetch = False

        def slow(x: tf.Tensor) -> tf.Tensor:
            return tf.numpy_function(lambda v: (time.sleep(0.004), v)[1], [x], tf.int64)

        dataset = tf.data.Dataset.range(48).with_options(options)
        for word in order.split():
            if word == "map":
                dataset = dataset.map(slow)
            elif word == "pmap":
                dataset = dataset.map(slow, num_parallel_calls=tf.data.AUTOTUNE)
            elif word == "batch":
                dataset = dataset.batch(4)
            else:
                dataset = dataset.prefetch(int(word))
        return lambda: [time.sleep(0.016) for _ in dataset]

    off, no = {"defaults": False}, {"injection": False}
    return {
        "map batch prefetch": pipeline("map batch 2"),
        "map batch": pipeline("map batch"),
        "map prefetch(1) batch": pipeline("map 1 batch"),
        "map batch prefetch, injection off": pipeline("map batch 2", **no),
        "map batch, injection off": pipeline("map batch", **no),
        "map prefetch(1) batch, injection off": pipeline("map 1 batch", **no),
        "map batch prefetch, defaults off": pipeline("map batch 2", **off),
        "map batch, defaults off": pipeline("map batch", **off),
        "map prefetch(1) batch, defaults off": pipeline("map 1 batch", **off),
        "batch map(parallel) prefetch, defaults off": pipeline("batch pmap 2", **off),
        "batch map(parallel), defaults off": pipeline("batch pmap", **off),
    }


CLAIMS = {
    "batch-size": batch_size,
    "eager-step": eager_step,
    "eager-validation": eager_validation,
    "prefetch": prefetch,
}


def main() -> None:
    """Measure one claim and print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("claim", choices=CLAIMS)
    parser.add_argument("--repeat", type=int, default=7)
    arguments = parser.parse_args()
    import tensorflow as tf

    claim = CLAIMS[arguments.claim]
    print((claim.__doc__ or "").strip())
    gpus = len(tf.config.list_physical_devices("GPU"))
    print(f"TensorFlow {tf.__version__}, Python {platform.python_version()}, {os.cpu_count()} CPU cores, {gpus} GPUs")
    variants = claim()
    times: dict[str, list[float]] = {name: [] for name in variants}
    for run in variants.values():
        run()
    for _ in range(arguments.repeat):
        for name, run in variants.items():
            start = time.perf_counter()
            run()
            times[name].append(time.perf_counter() - start)
    medians = {name: statistics.median(values) for name, values in times.items()}
    first = ""
    for name, median in medians.items():
        if first == "" or (", " in name and arguments.claim == "batch-size" and "32" in name):
            first = name
        print(f"{name:45} {median * 1000:9.1f} ms   {median / medians[first]:6.2f} x {first}")


if __name__ == "__main__":
    main()
