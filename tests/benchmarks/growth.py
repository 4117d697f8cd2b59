"""How the cost of a check grows with what is checked, as a table and as a picture, `growth.png` beside this file.

    python tests/benchmarks/growth.py [--only WHAT ...] [--quick] [--no-picture] [--rules [CODE ...]]

Programs are made up, one kind for each way to be large. Each is checked with all default rules in a process of its own,
and what counts is the CPU time and memory beyond those of a process that checks the smallest program of the kind. `grows` is the exponent between the
two largest: 1 is linear, 2 a square. A kind whose programs meet a bound of the inference names it. The picture needs
matplotlib (the extra `report`).

With `--rules` the kinds are the rules: the example of each rule's documentation 200, 400 and 800 times in one file, with
all rules, in CPU time and memory. Rows that grow by an exponent above 1.3 in either are marked.
"""

from __future__ import annotations

import argparse
import math
import os
import platform
import sys
import tempfile
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace
from itertools import pairwise
from pathlib import Path

from processes import Cost, cost, tflint

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from checks import ALL_RULES
from repeated import TRAINING_LOOP, cells, repeated

__all__ = ["KINDS", "measured"]

_MOST = 1.3
_SHORT = 0.25
"""Seconds of CPU below which noise decides: the smaller of two programs has to take more."""
_LITTLE = 5
"""Megabytes below which the allocator decides."""
_PICTURE = Path(__file__).with_name("growth.png")
_HEAD = "import tensorflow as tf\n\nmodel = tf.keras.Sequential([tf.keras.layers.Dense(1)])\n"


def _file(lines: int) -> dict[str, str]:
    """Classes and loops as in any training script, again and again."""
    part = (
        "class Net{0}(tf.keras.Model):\n    def __init__(self):\n        super().__init__()\n"
        "        self.dense = tf.keras.layers.Dense({0})\n\n    def call(self, x):\n        return self.dense(x)\n\n\n"
        "def train{0}(ds, epochs=3):\n    net, optimizer = Net{0}(), tf.keras.optimizers.Adam()\n"
        "    for epoch in range(epochs):\n        for x, y in ds.map(lambda x, y: (x, y)).batch(8):\n"
        "            with tf.GradientTape() as tape:\n                loss = tf.reduce_mean((net(x) - y) ** 2)\n"
        "            optimizer.apply_gradients(zip(tape.gradient(loss, net.trainable_variables), net.trainable_variables))\n"
        "        print(epoch, float(loss))\n    return net\n\n\n"
    )
    return {"a.py": _HEAD + "".join(part.format(n) for n in range(max(1, lines // part.count("\n"))))}


def _project(files: int) -> dict[str, str]:
    """Files in packages of ten, each of which imports two of those before it."""
    return _importing(files, lambda n: {n // 2, n // 3} - {n})


def _one_after_the_other(files: int) -> dict[str, str]:
    """Each file imports the one before: the last rests on all."""
    return _importing(files, lambda n: {n - 1} if n else set())


def _importing(files: int, imported: Callable[[int], set[int]]) -> dict[str, str]:
    found = {"pyproject.toml": ""}
    for n in range(files):
        imports = "".join(f"from project.p{i // 10}.m{i} import data{i}\n" for i in sorted(imported(n)))
        found[f"project/p{n // 10}/m{n}.py"] = (
            f"import tensorflow as tf\n{imports}\n\ndef data{n}(n):\n"
            f"    return tf.data.Dataset.range(n).map(lambda x: x + {n}).batch(4)\n"
        )
    return found


def _chain(operations: int) -> dict[str, str]:
    """One chain of tf.data, an operation a line."""
    steps = "".join(f"ds = ds.map(f{n})\n" for n in range(operations))
    return {"a.py": f"{_HEAD}ds = tf.data.Dataset.range(9)\n{steps}model.fit(ds.batch(1))\n"}


def _graph(depth: int) -> dict[str, str]:
    """Functions that each call the next two."""
    calls = "".join(f"def f{n}(x):\n    return f{n + 1}(x) + f{min(n + 2, depth)}(x)\n\n\n" for n in range(depth))
    loop = "for x in tf.data.Dataset.range(99).batch(4):\n    f0(x)\n"
    return {"a.py": f"{_HEAD}\n\n{calls}def f{depth}(x):\n    return model(x)\n\n\n{loop}"}


def _statements(count: int) -> dict[str, str]:
    """One traced function of many statements, of which every tenth branches."""
    body = "".join(
        f"    x = tf.sin(x) + {n}\n" if n % 10 else f"    if flag{n}:\n        x = x * {n}\n" for n in range(count)
    )
    return {
        "a.py": f"{_HEAD}\n\n@tf.function\ndef f(x):\n{body}    return x\n\n\nfor x in tf.data.Dataset.range(9):\n    f(x)\n"
    }


def _sites(count: int) -> dict[str, str]:
    """One function that many places call."""
    calls = "".join(
        f"d{n} = make(tf.data.Dataset.range({n + 9}), {n % 7 + 1})\nmodel.fit(d{n})\n" for n in range(count)
    )
    return {"a.py": f"{_HEAD}\n\ndef make(ds, size):\n    return ds.batch(size)\n\n\n{calls}"}


def _steps(count: int) -> dict[str, str]:
    """Functions with a training step each, which may move into functions of their own."""
    part = (
        "def train{0}(dataset, epochs=30):\n    net = tf.keras.Sequential([tf.keras.layers.Dense({0} + 1)])\n"
        "    optimizer = tf.keras.optimizers.Adam()\n    for epoch in range(epochs):\n        for x, y in dataset:\n"
        "            with tf.GradientTape() as tape:\n                loss = tf.reduce_mean((net(x) - y) ** 2)\n"
        "            gradients = tape.gradient(loss, net.trainable_variables)\n"
        "            optimizer.apply_gradients(zip(gradients, net.trainable_variables))\n"
        "        print(epoch, float(loss))\n    return net\n\n\n"
    )
    return {"a.py": f"{_HEAD}\n\n" + "".join(part.format(n) for n in range(count))}


def _classes(count: int) -> dict[str, str]:
    """Layers of one file."""
    part = (
        "class Net{0}(tf.keras.Model):\n    def __init__(self):\n        super().__init__()\n"
        "        self.dense = tf.keras.layers.Dense({0})\n\n    def call(self, x):\n        return self.dense(x)\n\n\n"
    )
    return {"a.py": f"{_HEAD}\n\n" + "".join(part.format(n) for n in range(count))}


def _cells(count: int) -> dict[str, str]:
    """A notebook with a training loop in each cell."""
    return {"a.ipynb": cells(TRAINING_LOOP, count)}


def _copies(count: int) -> dict[str, str]:
    """Projects beside each other that have the same files."""
    files = _project(30).items()
    return {f"copy{n}/{name}": text for n in range(count) for name, text in files}


@dataclass
class Kind:
    """A way to be large, and what a check of it took."""

    what: str
    made: Callable[[int], dict[str, str]]
    sizes: tuple[int, ...]
    seconds: list[float] = field(default_factory=list)
    megabytes: list[float] = field(default_factory=list)
    bounds: set[str] = field(default_factory=set)

    @property
    def exponent(self) -> float:
        """Of the growth of the CPU time between the two largest."""
        return self._exponent(self.seconds)

    @property
    def exponent_of_memory(self) -> float:
        """Of the growth of the memory between the two largest."""
        return self._exponent(self.megabytes)

    @property
    def is_super_linear(self) -> bool:
        """Whether it grows clearly faster than n log n: twice as much takes more than 2.5 times the time or memory."""
        is_slow = self.seconds[-2] > _SHORT and self.exponent > _MOST
        return is_slow or (self.megabytes[-2] > _LITTLE and self.exponent_of_memory > _MOST)

    def _exponent(self, measured: list[float]) -> float:
        (small, before), (large, after) = list(pairwise(zip(self.sizes, measured, strict=False)))[-1]
        return math.log(max(after, 1e-3) / max(before, 1e-3)) / math.log(large / small)


KINDS = (
    Kind("lines of a file", _file, (100, 1_000, 10_000, 50_000)),
    Kind("files of a project", _project, (10, 100, 1_000, 10_000)),
    Kind("files in a row of imports", _one_after_the_other, (10, 100, 300, 1_000)),
    Kind("operations of a chain", _chain, (30, 100, 300, 1_000)),
    Kind("depth of a call graph", _graph, (10, 50, 100, 200)),
    Kind("statements of a function", _statements, (100, 500, 1_000, 5_000)),
    Kind("call sites of a function", _sites, (30, 100, 300, 1_000)),
    Kind("training steps of a file", _steps, (25, 50, 100, 200, 400)),
    Kind("classes of a file", _classes, (1_000, 2_000, 4_000, 20_000)),
    Kind("cells of a notebook", _cells, (75, 150, 300)),
    Kind("copies of a project", _copies, (10, 20, 40)),
)


def _of_rules(codes: Iterable[str]) -> list[Kind]:
    """The examples of rules, of all if none is named, again and again in one file."""
    named = frozenset(codes)
    chosen = [rule for rule in ALL_RULES if not named or rule.code in named]
    return [
        Kind(rule.code, _many(rule.example("Example")), (200, 400, 800)) for rule in chosen if rule.code != "TFG000"
    ]


def _many(example: str) -> Callable[[int], dict[str, str]]:
    return lambda times: {"a.py": repeated(example, times)}


def main() -> None:
    """Measure, print and draw."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", nargs="+", default=[], metavar="WHAT", help="kinds, by a word of their names")
    parser.add_argument("--quick", action="store_true", help="leave the largest of each kind out")
    parser.add_argument("--no-picture", action="store_true")
    parser.add_argument("--rules", nargs="*", metavar="CODE", help="examples of rules instead; all, if none is named")
    arguments = parser.parse_args()
    load = f", load {os.getloadavg()[0]:.1f}" if hasattr(os, "getloadavg") else ""
    print(f"{platform.machine()}, Python {platform.python_version()}{load}; seconds of CPU beyond the start\n")
    kinds = [kind for kind in KINDS if not arguments.only or any(word in kind.what for word in arguments.only)]
    if arguments.rules is not None:
        kinds = _of_rules(arguments.rules)
    for number, kind in enumerate(kinds):
        kinds[number] = measured(kind, quick=arguments.quick)
        print(_row(kinds[number]), flush=True)
    if not arguments.no_picture and arguments.rules is None:
        _draw(kinds)


def measured(kind: Kind, *, quick: bool) -> Kind:
    """A kind with what its programs cost, without the largest of them if it is to be quick."""
    sizes = kind.sizes[:-1] if quick else kind.sizes
    start = _smallest(kind)
    done = replace(kind, sizes=sizes, seconds=[], megabytes=[], bounds=set())
    for size in sizes:
        used, bounds = _cost(kind.made(size))
        done.seconds.append(used.cpu - start.cpu)
        done.megabytes.append((used.memory - start.memory) / (1 << 20))
        done.bounds |= bounds
    return done


def _smallest(kind: Kind) -> Cost:
    """What a check of one function, file or class costs: the start, with the modules that the kind needs."""
    costs = [_cost(kind.made(1))[0] for _ in range(3)]  # the first compiles modules
    return min(costs, key=lambda used: used.cpu)


def _row(kind: Kind) -> str:
    seconds = "  ".join(f"{size}: {seconds:.2f}" for size, seconds in zip(kind.sizes, kind.seconds, strict=True))
    memory = f"{kind.megabytes[-1]:4.0f} MB, grows {kind.exponent_of_memory:4.2f}"
    bounds = f"; met: {', '.join(sorted(kind.bounds))}" if kind.bounds else ""
    mark = "; SUPER-LINEAR" if kind.is_super_linear else ""
    return f"{kind.what:26} grows {kind.exponent:4.2f}   {seconds}  {memory}{bounds}{mark}"


def _cost(files: dict[str, str]) -> tuple[Cost, set[str]]:
    """What a check takes, and the bounds that it met."""
    with tempfile.TemporaryDirectory() as folder:
        for name, text in files.items():
            path = Path(folder, name)
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")
        command = tflint("check", "--isolated", "--no-cache", "--exit-zero", "--jobs", "1", "--verbose", ".")
        used = cost(command, Path(folder))
    marker = "the analysis stopped at "
    return used, {line.partition(marker)[2] for line in used.told.splitlines() if marker in line}


def _draw(kinds: Iterable[Kind]) -> None:
    import matplotlib

    matplotlib.use("agg")
    from matplotlib import pyplot

    figure, axes = pyplot.subplots(figsize=(8, 5), layout="constrained")
    for kind in kinds:
        axes.plot(kind.sizes, [max(second, 0.005) for second in kind.seconds], marker="o", label=kind.what)
    axes.plot([10, 50_000], [0.002, 10], color="grey", linestyle=":", label="linear")
    axes.set(xscale="log", yscale="log", xlabel="how many", ylabel="seconds of CPU of a check, beyond its start")
    axes.legend()
    figure.savefig(_PICTURE, dpi=100, metadata={"Software": None})


if __name__ == "__main__":
    main()
