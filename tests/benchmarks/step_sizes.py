"""Measures how the gain of tracing a step falls with the work in it, on this CPU.

    python tests/benchmarks/step_sizes.py [--seconds N] [-o FILE]
    python tests/benchmarks/step_sizes.py --fit FILE ...

Each line is a dense or convolutional network in one way of running it: how many layers it has, how many multiply-adds a
step computes (of the forward pass; a step of training counts three times), and the seconds of a step flagged and
repaired. Both run in turn for N seconds; what is told is the fastest of each, which other work on the machine disturbs
least. Of several files `--fit` takes the fastest of all, fits

    ratio = 1 + (fixed + layer * layers + weight * weights)
              / (graph + graph_layer * layers + multiply-adds / rate + weights / stream)

for each kind of step, and writes `rules/step_sizes.toml`, with how far the ratios of each run lie above and below that.
"""

from __future__ import annotations

import argparse
import datetime
import json
import math
import os
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from importlib import metadata
from pathlib import Path
from typing import Any

TABLE = Path(__file__).parents[2] / "rules" / "step_sizes.toml"
KINDS = {
    "train_adam": ("train, adam",),
    "train_sgd": ("train, sgd",),
    "forward": ("forward",),
    "predict": ("predict, on batch", "predict, traced"),
}
SLACK = 0.5  # of a ratio: what tracing gains apart from starting operations, and what a busy machine adds
NAMES = ("fixed", "layer", "weight", "graph", "graph_layer", "rate", "stream")
_FEWEST = 3
_NOTHING = 1e-12  # seconds: less than can be measured
_TRIES = 60_000


@dataclass(frozen=True, slots=True)
class Measured:
    """One network in one way of running it; times in seconds of a step."""

    network: str
    way: str
    batch: int
    layers: int
    multiply_adds: int
    weights: int
    flagged: float
    repaired: float

    @property
    def ratio(self) -> float:
        """How many times as long the flagged code takes."""
        return self.flagged / self.repaired

    def __str__(self) -> str:
        return (
            f"{self.network:<34} {self.way:<20} {self.batch:>4} {self.layers:>4} {self.multiply_adds / 1e6:>10.1f}M "
            f"{self.flagged * 1e3:>9.2f} {self.repaired * 1e3:>9.2f} ms {self.ratio:>7.2f}x"
        )


def dense(depth: int, units: int) -> Any:
    """Dense layers of one width."""
    import keras

    hidden = [keras.layers.Dense(units, activation="relu") for _ in range(depth)]
    return keras.Sequential([keras.Input((units,)), *hidden, keras.layers.Dense(10)])


def convolutional(depth: int, filters: int, side: int, *, normalised: bool = False) -> Any:
    """Convolutions of one width over pictures of one size, with batch normalisation or without."""
    import keras

    network = keras.Sequential([keras.Input((side, side, filters))])
    for _ in range(depth):
        network.add(keras.layers.Conv2D(filters, 3, padding="same"))
        if normalised:
            network.add(keras.layers.BatchNormalization())
        network.add(keras.layers.ReLU())
    network.add(keras.layers.GlobalAveragePooling2D())
    network.add(keras.layers.Dense(10))
    return network


def multiply_adds(network: Any) -> int:
    """Those of the forward pass of one row, by the kernels that Keras made: this project's model is not asked."""
    total = 0
    for layer in network.layers:
        kernel = getattr(layer, "kernel", None)
        if kernel is not None:
            total += math.prod(kernel.shape) * math.prod(layer.output.shape[1:-1])
    return total


def networks() -> Iterator[tuple[str, Callable[[], Any], tuple[int, ...]]]:
    """A name, what makes the network, and the batches with which it is run."""
    for depth, units in ((3, 64), (3, 512), (20, 64), (20, 512), (3, 2048), (8, 2048)):
        yield f"{depth} dense of {units}", lambda d=depth, u=units: dense(d, u), (1, 32, 256)
    for depth, filters, side in ((4, 8, 16), (4, 32, 32), (20, 32, 32), (4, 64, 64), (12, 64, 64)):
        yield f"{depth} conv of {filters} on {side}", lambda d=depth, f=filters, s=side: convolutional(d, f, s), (1, 32)
    for depth, filters, side in ((20, 16, 16), (20, 64, 32)):
        yield (
            f"{depth} conv and norm of {filters} on {side}",
            lambda d=depth, f=filters, s=side: convolutional(d, f, s, normalised=True),
            (1, 32),
        )


def training(network: Any, x: Any, name: str) -> tuple[Callable[[], Any], Callable[[], Any]]:
    """A step of training, eager and traced."""
    import keras
    import tensorflow as tf

    y = tf.zeros((x.shape[0], 10))
    optimizer = keras.optimizers.get(name)
    optimizer.build(network.trainable_variables)

    def step() -> Any:
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean(tf.square(network(x, training=True) - y))
        variables = network.trainable_variables
        optimizer.apply_gradients(zip(tape.gradient(loss, variables), variables, strict=True))
        return loss

    traced = tf.function(step)
    return lambda: step().numpy(), lambda: traced().numpy()


def ways(network: Any, x: Any) -> Iterator[tuple[str, Callable[[], Any], Callable[[], Any]]]:
    """What is flagged, and its repair."""
    import tensorflow as tf

    traced, array = tf.function(network), x.numpy()
    yield "train, adam", *training(network, x, "adam")
    yield "train, sgd", *training(network, x, "sgd")
    yield "forward", lambda: network(x, training=False).numpy(), lambda: traced(x, training=False).numpy()
    predict = lambda: network.predict(array, verbose=0)  # noqa: E731
    yield "predict, on batch", predict, lambda: network.predict_on_batch(array)
    yield "predict, traced", predict, lambda: traced(x, training=False).numpy()


def in_turn(flagged: Callable[[], Any], repaired: Callable[[], Any], seconds: float) -> tuple[float, float]:
    """The fastest of each, in seconds."""
    for run in (flagged, repaired, flagged, repaired):
        run()
    fastest, start, rounds = [math.inf, math.inf], time.perf_counter(), 0
    while rounds < _FEWEST or time.perf_counter() - start < seconds:
        for index, run in enumerate((flagged, repaired)):
            begun = time.perf_counter()
            run()
            fastest[index] = min(fastest[index], time.perf_counter() - begun)
        rounds += 1
    return fastest[0], fastest[1]


def measured(limit_of_time: float, limit: float) -> Iterator[Measured]:
    """All networks in all ways, but for steps of more multiply-adds than the limit."""
    import tensorflow as tf

    for name, make, batches in networks():
        network = make()
        per_row = multiply_adds(network)
        for batch in batches:
            x = tf.random.normal((batch, *network.input_shape[1:]))
            for way, flagged, repaired in ways(network, x):
                amount = per_row * batch * (3 if way.startswith("train") else 1)
                if amount <= limit:
                    weights = network.count_params()
                    seconds = in_turn(flagged, repaired, limit_of_time)
                    yield Measured(name, way, batch, len(network.layers), amount, weights, *seconds)


def fastest(runs: Sequence[dict[str, Any]]) -> list[Measured]:
    """What several runs measured, the fastest time of each."""
    known: dict[tuple[str, str, int], Measured] = {}
    for row in (Measured(**row) for run in runs for row in run["rows"]):
        other = known.setdefault((row.network, row.way, row.batch), row)
        best = min(row.flagged, other.flagged), min(row.repaired, other.repaired)
        known[row.network, row.way, row.batch] = replace(row, flagged=best[0], repaired=best[1])
    return list(known.values())


def times(rows: Sequence[Measured], numbers: Any) -> Any:
    """The seconds of repaired steps, and the ratios, for the numbers of `NAMES`."""
    import numpy as np

    fixed, layer, weight, graph, graph_layer, rate, stream = numbers
    layers, amounts, weights = (
        np.array([getattr(row, name) for row in rows], float) for name in ("layers", "multiply_adds", "weights")
    )
    repaired = graph + graph_layer * layers + amounts / rate + weights / stream
    return repaired, 1 + (fixed + layer * layers + weight * weights) / repaired


def fitted(rows: Sequence[Measured]) -> Any:
    """What fits best by the logarithms of times and ratios."""
    import numpy as np

    random = np.random.default_rng(0)
    seconds, ratios = np.log([row.repaired for row in rows]), np.log([row.ratio for row in rows])

    def error(numbers: Any) -> float:
        repaired, expected = times(rows, numbers)
        return float(np.mean((np.log(repaired) - seconds) ** 2) + np.mean((np.log(expected) - ratios) ** 2))

    best = np.array([1e-3, 1e-3, 1e-9, 1e-3, 1e-4, 3e10, 1e9])
    least = error(best)
    for number in range(_TRIES):
        width = 1.5 * (1 - number / _TRIES) ** 2
        tried = best * np.exp(random.normal(size=len(best)) * width * (random.random(len(best)) < 0.5))
        if (now := error(tried)) < least:
            best, least = tried, now
    return best


def spread(rows: Sequence[Measured], numbers: Any) -> tuple[float, float]:
    """How many times as large, and as small, as fitted the gains of some runs are at most, apart from the slack."""
    import numpy as np

    gains, expected = np.array([row.ratio for row in rows]) - 1, times(rows, numbers)[1] - 1
    return float(((gains - SLACK) / expected).max()), float((expected / (gains + SLACK)).max())


def written(runs: Sequence[dict[str, Any]]) -> str:
    """The table."""
    about, rows = runs[-1], fastest(runs)
    each = [Measured(**row) for run in runs for row in run["rows"]]
    lines = [
        "# How many times as long a step takes that Python starts operation by operation, by the work in it:",
        "# ratio = 1 + (fixed + layer * layers + weight * weights)",
        "#           / (graph + graph_layer * layers + multiply_adds / rate + weights / stream)",
        "# with times in seconds, rate and stream for a second. What each run measured lies between",
        "# 1 + (ratio - 1) / below - slack and 1 + (ratio - 1) * above + slack.",
        f"# Written by `python tests/benchmarks/step_sizes.py --fit`: the fastest times of {len(runs)} runs are fitted.",
        "",
        f'date = "{about["date"]}"',
        f'tensorflow = "{about["tensorflow"]}"',
        f'keras = "{about["keras"]}"',
        f'processor = "{about["processor"]}"',
        f"cores = {about['cores']}",
        f"slack = {SLACK}",
    ]
    for kind, ways in KINDS.items():
        chosen = [row for row in rows if row.way in ways]
        numbers = fitted(chosen)
        above, below = spread([row for row in each if row.way in ways], numbers)
        lines += ["", f"[{kind}]", f"pairs = {len(chosen)}"]
        numbers = [number if number > _NOTHING else 0.0 for number in numbers]
        lines += [f"{name} = {number:.3g}" for name, number in zip(NAMES, numbers, strict=True)]
        lines += [f"above = {above:.3g}", f"below = {below:.3g}"]
    return "\n".join(lines) + "\n"


def main() -> None:
    """Print a line for each, and write them where that is asked for."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=float, default=0.5, help="for each network in each way")
    parser.add_argument("--limit", type=float, default=60e9, help="multiply-adds of a step, more of which are left out")
    parser.add_argument("-o", "--output", type=Path)
    parser.add_argument("--fit", type=Path, nargs="+", help="write the table from what was measured before")
    arguments = parser.parse_args()
    if arguments.fit is not None:
        TABLE.write_text(written([json.loads(path.read_text()) for path in arguments.fit]))
        print(TABLE.read_text(), end="")
        return
    os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
    rows = []
    for row in measured(arguments.seconds, arguments.limit):
        rows.append(row)
        print(row, flush=True)
    import tensorflow as tf

    from tflint_gpu.verify.execution.host import describe

    about = {
        "date": datetime.datetime.now(tz=datetime.timezone.utc).date().isoformat(),
        "tensorflow": tf.__version__,
        "keras": metadata.version("keras"),
        "processor": describe().cpu,
        "cores": len(os.sched_getaffinity(0)),
        "load": [round(load, 2) for load in os.getloadavg()],
    }
    print(json.dumps(about))
    if arguments.output is not None:
        arguments.output.write_text(json.dumps({**about, "rows": list(map(asdict, rows))}, indent=1) + "\n")


if __name__ == "__main__":
    main()
