"""Programs that were written for TensorFlow 1: what TensorFlow 2 calls otherwise is of no use to who runs them."""

from __future__ import annotations

import re
from collections.abc import Iterator

import libcst as cst

from tflint_gpu.lazy_patterns import regex
from tflint_gpu.model.library.tensorflow_1 import OLD_NAMES
from tflint_gpu.model.model import Model
from tflint_gpu.model.python.project.file import File
from tflint_gpu.model.python.project.mentions import Mentions
from tflint_gpu.model.tensorflow.runtime.runtime import Runtime
from tflint_gpu.model.tensorflow.types.guards import Guards

_AS_TF = regex(rb"^[ \t]*import tensorflow as tf[ \t]*(?:#.*)?\r?$", re.MULTILINE)
_OLD = regex(rb"\btf\.(?:" + b"|".join(name.encode() for name in sorted(OLD_NAMES)) + rb")\b")
_NEW = regex(rb"\btf\.(?:GradientTape|function)\b")


def is_for_tensorflow_1(model: Model) -> bool:
    """Whether the file is a program for TensorFlow 1, in graphs or not, or one that its API is meant in."""
    return model.once(Runtime).is_graph_program(model.file) or _uses_tensorflow_1_only(model)


def _uses_tensorflow_1_only(model: Model) -> bool:
    """Whether the file uses what only TensorFlow 1 has, and nothing that shows TensorFlow 2.

    What no program for TensorFlow 2 comes to, after a test for the version, shows nothing.
    """
    file, mentions, guards = model.file, model.mentions, model.once(Guards)
    bound = [bindings for scope in file.tree.scopes.values() for bindings in scope.bindings.values()]
    imports = [(b.name, b.target) for bindings in bound for b in bindings if b.kind == "import"]
    if ("tf", "tensorflow.compat.v1") in imports:
        return not any(target in ("tensorflow", "tensorflow.compat.v2") for _, target in imports)
    if any(True for _ in file.calls("tf.GradientTape")) or any(True for _ in _names(file, mentions, "function")):
        return False
    return any(not guards.is_for_graphs(file, node) for name in OLD_NAMES for node in _names(file, mentions, name))


def imports_tensorflow_1(model: Model) -> bool:
    """Whether a file of the project that this one imports directly is one for TensorFlow 1, by its bytes."""
    project = model.project
    return any(
        project.matches(path, _AS_TF) and project.matches(path, _OLD) and not project.matches(path, _NEW)
        for path in project.imports_of(model.source.path)
    )


def _names(file: File, mentions: Mentions, name: str) -> Iterator[cst.Attribute]:
    """Where a file has a name directly below `tensorflow`."""
    for node in mentions.attributes(name):
        if isinstance(node.value, cst.Name) and file.names.written(node) == f"tensorflow.{name}":
            yield node
