"""Programs for TensorFlow 1: they run in graphs, so what is true of code that runs eagerly is not said of them.

By a file's calls, and, before it is parsed at all, its text: many files of public code are such programs, and
Python's own parser, which is enough to see it, takes a tenth of the time that libcst's takes.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Collection

from tflint_gpu.lazy_patterns import regex
from tflint_gpu.model.library.tensorflow_1 import EAGER_QUERIES, GONE, GRAPH_CALLS, VERSIONS
from tflint_gpu.model.python.prefilter.file_summaries import FileSummary

GRAPH_FOLDERS = ("contrib.", "layers.", "estimator.")
"""Parts of TensorFlow 1 that build graphs."""
_SWITCHES = frozenset(["disable_eager_execution", "disable_v2_behavior"])
# What only TensorFlow 2 has, or has for graphs that it takes over.
_ALIVE = frozenset(["GradientTape", "function", "compat.v1.wrap_function"])
_LAST_OF_ALIVE = frozenset(name.rpartition(".")[2] for name in _ALIVE)
# Where they occur, some calls may be come to with some versions only.
_TESTED = frozenset(name.rpartition(".")[2] for name in VERSIONS | EAGER_QUERIES)
_OLD_COLAB = regex(r"%tensorflow_version 1\b")
_CALL = "|".join(re.escape(name) for name in sorted(GRAPH_CALLS | GONE))
_FOLDER = "|".join(re.escape(folder) for folder in sorted((*GRAPH_FOLDERS, "logging.")))
# Searched twenty times faster than `\btf\.`.
_PERHAPS = regex(rf"tf\.(?<!\wtf\.)(?:(?:{_CALL})\s*\(|{_FOLDER})")


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


def may_run_in_graphs(code: str) -> bool:
    """Whether the text of a file leaves it open that it `must_run_in_graphs`."""
    return "GradientTape" not in code and "tf.function" not in code and _PERHAPS.search(code) is not None


def must_run_in_graphs(summary: FileSummary) -> bool:
    """Whether a file that imports TensorFlow as `tf` and gives the name no other meaning runs in graphs.

    True of fewer files than `runs_in_graphs`, and never of another one.
    """
    if summary.imports.get("tf") != "tensorflow" or "tf" in summary.bound:
        return False
    if any(target.rpartition(".")[2] in _LAST_OF_ALIVE for target in summary.imports.values()):
        return False
    called, reached = set[str](), set[str]()
    for region in summary.regions:
        names = {call.name.removeprefix("tf.") for call in region.calls if call.root == "tf"} - {"tf"}
        called |= names
        if not region.words.isdisjoint(_TESTED):
            return False
        if ast.Try not in region.syntax:
            reached |= {name for name in names if not (is_switch(name) and ast.If in region.syntax)}
    return runs_in_graphs(called, reached, "")
