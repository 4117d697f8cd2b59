"""Programs for TensorFlow 1: they run in graphs, so what is true of code that runs eagerly is not said of them.

Asked of a file's calls, and, before it is parsed at all, of its text: many files of public code are such programs, and
Python's own parser, which is enough to see it, takes a tenth of the time that libcst's takes.
"""

from __future__ import annotations

import ast
import re
import warnings
from collections.abc import Collection, Iterator

# API of TensorFlow 1 that works in graphs only.
_GRAPH_CALLS = frozenset(
    (
        "Session InteractiveSession Graph placeholder get_variable variable_scope global_variables_initializer "
        "get_default_graph get_collection add_to_collection train.get_global_step train.Saver train.AdamOptimizer "
        "train.MomentumOptimizer train.GradientDescentOptimizer train.Scaffold train.MonitoredTrainingSession "
        "losses.get_total_loss losses.softmax_cross_entropy import_graph_def"
    ).split()
)
GRAPH_FOLDERS = ("contrib.", "layers.", "estimator.")
"""Parts of TensorFlow 1 that build graphs."""
# TensorFlow 2 has them only below tf.compat.v1: a program that calls them as `tf.app.run` is one for TensorFlow 1.
_GONE = frozenset(["ConfigProto", "app.run", "train.get_or_create_global_step", "enable_eager_execution"])
_SWITCHES = frozenset(["disable_eager_execution", "disable_v2_behavior"])
_ALIVE = frozenset(["GradientTape", "function"])
_OLD_COLAB = re.compile(r"%tensorflow_version 1\b")
_CALL = "|".join(re.escape(name) for name in sorted(_GRAPH_CALLS | _GONE))
_FOLDER = "|".join(re.escape(folder) for folder in sorted((*GRAPH_FOLDERS, "logging.")))
_PERHAPS = re.compile(rf"\btf\.(?:(?:{_CALL})\s*\(|{_FOLDER})")


def runs_in_graphs(called: Collection[str], text: str) -> bool:
    """Whether a file is a program for TensorFlow 1 as a whole, or turns eager execution off.

    Arguments:
        called: what the file calls of TensorFlow: "Session", "compat.v1.disable_eager_execution".
        text: of the file; a notebook may choose the version by a line of its own.
    """
    if any(name.removeprefix("compat.v1.") in _SWITCHES for name in called):
        return True
    if not _ALIVE.isdisjoint(called) and "enable_eager_execution" not in called:
        return False
    return _OLD_COLAB.search(text) is not None or any(
        name in _GRAPH_CALLS or name in _GONE or name.startswith((*GRAPH_FOLDERS, "logging.")) for name in called
    )


def surely_runs_in_graphs(code: str) -> bool:
    """Whether a file that imports TensorFlow as `tf` and gives the name no other meaning runs in graphs.

    True of fewer files than `runs_in_graphs`, and never of another one.
    """
    if _PERHAPS.search(code) is None or "GradientTape" in code or "tf.function" in code:
        return False
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            tree = ast.parse(code)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return False
    called: set[str] = set()
    is_imported = False
    for node in _nodes(tree):
        if isinstance(node, ast.Call):
            dotted = _below_tf(node.func)
            if dotted is not None:
                called.add(dotted)
        elif isinstance(node, ast.Import | ast.ImportFrom):
            bound = [alias for alias in node.names if (alias.asname or alias.name) == "tf"]
            if bound and not (isinstance(node, ast.Import) and all(alias.name == "tensorflow" for alias in bound)):
                return False
            if any(alias.name in _ALIVE for alias in node.names):
                return False
            is_imported = is_imported or bool(bound)
        elif _gives_another_meaning(node):
            return False
    return is_imported and runs_in_graphs(called, "")


class _HasParts(dict[type, bool]):
    """Whether a class is one of nodes in which a name can stand."""

    def __missing__(self, kind: type) -> bool:
        self[kind] = found = issubclass(kind, ast.AST) and bool(kind._fields) and kind is not ast.Constant
        return found


_HAS_PARTS = _HasParts()


def _nodes(tree: ast.AST) -> Iterator[ast.AST]:
    """The nodes in which a name can stand, in no particular order: in less time than `ast.walk`."""
    stack, has_parts = [tree], _HAS_PARTS
    while stack:
        node = stack.pop()
        yield node
        for value in vars(node).values():
            if value.__class__ is list:
                stack.extend([one for one in value if has_parts[one.__class__]])
            elif has_parts[value.__class__]:
                stack.append(value)


def _below_tf(expr: ast.expr) -> str | None:
    """`train.Saver` for `tf.train.Saver`."""
    parts: list[str] = []
    while isinstance(expr, ast.Attribute):
        parts.append(expr.attr)
        expr = expr.value
    return ".".join(reversed(parts)) if parts and isinstance(expr, ast.Name) and expr.id == "tf" else None


def _gives_another_meaning(node: ast.AST) -> bool:
    if isinstance(node, ast.Name):
        return node.id == "tf" and not isinstance(node.ctx, ast.Load)
    return isinstance(node, ast.arg) and node.arg == "tf"
