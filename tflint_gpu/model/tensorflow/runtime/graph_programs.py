"""Programs for TensorFlow 1: they run in graphs, so what is true of code that runs eagerly is not said of them."""

from __future__ import annotations

from collections.abc import Collection

from tflint_gpu.lazy_patterns import regex
from tflint_gpu.model.library.tensorflow_1 import GONE, GRAPH_CALLS

GRAPH_FOLDERS = ("contrib.", "layers.", "estimator.")
"""Parts of TensorFlow 1 that build graphs."""
_SWITCHES = frozenset(["disable_eager_execution", "disable_v2_behavior"])
# What only TensorFlow 2 has, or has for graphs that it takes over.
_ALIVE = frozenset(["GradientTape", "function", "compat.v1.wrap_function"])
_OLD_COLAB = regex(r"%tensorflow_version 1\b")


def runs_in_graphs(called: Collection[str], reached: Collection[str], text: str) -> bool:
    """Whether a file is a program for TensorFlow 1 as a whole, or turns eager execution off.

    Arguments:
        called: what the file calls of TensorFlow: "Session", "compat.v1.disable_eager_execution".
        reached: what of it shows graphs, and is called with TensorFlow 2, too, as far as tests for the version show.
        text: of the file; a notebook may choose the version by a line of its own.
    """
    if any(is_switch(name) for name in reached):
        return True
    if not _ALIVE.isdisjoint(called) and "enable_eager_execution" not in reached:
        return False
    return _OLD_COLAB.search(text) is not None or any(shows_graphs(name) for name in reached)


def shows_graphs(name: str) -> bool:
    """Whether a call of TensorFlow, such as "Session", is one of a program for graphs."""
    return name in GRAPH_CALLS or name in GONE or is_switch(name) or name.startswith((*GRAPH_FOLDERS, "logging."))


def is_switch(name: str) -> bool:
    """Whether a call of TensorFlow turns eager execution off."""
    return name.removeprefix("compat.v1.") in _SWITCHES
