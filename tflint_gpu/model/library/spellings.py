"""How names are written: canonical ones, and in `spelled` those that differ in a part.

`{a,b}.c` stands for `a.c` and `b.c`, `a{,_b}` for `a` and `a_b`.
"""

from __future__ import annotations

from collections.abc import Iterator

PREFIXES = (
    ("tensorflow.compat.v2.keras", "keras"),
    ("tensorflow.compat.v1.keras", "keras"),
    ("tensorflow.keras", "keras"),
    ("tensorflow.python.keras", "keras"),
    ("tensorflow.compat.v2", "tf"),
    ("tensorflow.compat.v1", "tf.compat.v1"),
    ("tensorflow", "tf"),
    ("tf_keras", "keras"),
    ("keras.src", "keras"),
    ("keras.api", "keras"),
    ("numpy.core", "numpy"),
)
"""How the names of modules begin, and what canonical names have instead."""
SAME_IN_V1 = frozenset("config GradientTape function py_function numpy_function version".split())
"""What is below `tf.compat.v1` the same object as below `tf`, compared in TensorFlow 2.21."""
ENGINE = {name: f"keras.{name}" for name in ("Model", "Sequential", "Input")} | {
    name: f"keras.layers.{name}" for name in ("Layer", "InputLayer", "InputSpec")
}
"""Where Keras 2 and `tensorflow.python.keras` define them: `keras.engine.topology.Layer`, `keras.engine.Model`."""
FRAGMENT_NAMES: dict[str, str | None] = {"tf": "tf", "keras": "keras", "np": "numpy"}
"""What names mean in a file that imports nothing: a notebook loads it where they are there (`%load`, `%run -i`)."""
STAR_NAMES = {
    "keras.layers": frozenset(["Layer", "Dense", "Lambda", "Input", "LSTM", "GRU", "Conv2D"]),
    "keras.models": frozenset(["Model", "Sequential", "load_model", "clone_model"]),
    "keras": frozenset("Model Sequential Input layers models backend ops losses metrics utils".split()),
    "numpy": frozenset(
        "sin cos tan exp log sqrt tanh abs square maximum minimum mean sum dot concatenate clip where array".split()
    ),
    "tf": frozenset(
        (
            "GradientTape function device config data keras Variable constant reduce_mean ones zeros range fill eye "
            "cast stack concat reshape matmul reduce_sum random math nn linalg image"
        ).split()
    ),
}
"""The names that a star import of a known module can bring and that the rules ask about."""


def spelled(patterns: str) -> frozenset[str]:
    """All the names that patterns stand for."""
    return frozenset(name for pattern in patterns.split() for name in names_of(pattern))


def names_of(pattern: str) -> Iterator[str]:
    """The names that one pattern stands for, in its order."""
    head, brace, rest = pattern.partition("{")
    if not brace:
        yield pattern
        return
    parts, _, tail = rest.partition("}")
    for part in parts.split(","):
        yield from names_of(f"{head}{part}{tail}")
