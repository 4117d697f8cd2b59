"""Where traced code needs the lengths of a tensor while it is traced: of a shape that changes, they are None then."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import libcst as cst

from tflint_gpu.model.model import Analysis
from tflint_gpu.model.python.project.file import File
from tflint_gpu.model.python.syntax.children import walk
from tflint_gpu.model.python.syntax.syntax import Expression, Node, argument, method_name
from tflint_gpu.model.tensorflow.tracing.traced_code import Traced

_OF_RANK = frozenset(["rank", "ndims"])
_ONLY_STATIC = frozenset(["tf.unstack", "keras.ops.unstack"])


class StaticShapes(Analysis):
    """Analysis of traced functions."""

    def asked(self, functions: Iterable[Traced]) -> Iterator[tuple[File, Node]]:
        """The places that need to know the lengths of a tensor, and those that XLA compiles for each."""
        for traced in functions:
            file = traced.file
            for node in walk(traced.function.node):
                if isinstance(node, cst.Decorator) and _compiles(node):
                    yield file, node
                elif isinstance(node, cst.Attribute) and node.attr.value == "shape":
                    if self._is_tensor(traced, node.value) and not _asks_for_rank(file, node):
                        yield file, node
                elif isinstance(node, cst.Call) and self._needs_lengths(traced, node):
                    yield file, node

    def _needs_lengths(self, traced: Traced, call: cst.Call) -> bool:
        """`x.get_shape()`, `len(x)`, `tf.unstack(x)`."""
        file = traced.file
        if method_name(call) == "get_shape" and isinstance(call.func, cst.Attribute):
            return self._is_tensor(traced, call.func.value)
        if not call.args:
            return False
        if file.name(call.func) in _ONLY_STATIC:
            return argument(call, 1, "num") is None
        return file.names.is_builtin(call.func, "len") and self._is_tensor(traced, call.args[0].value)

    def _is_tensor(self, traced: Traced, value: Expression) -> bool:
        return traced.trace is not None and traced.trace.holds_tensor(value)


def _asks_for_rank(file: File, shape: cst.Attribute) -> bool:
    """`x.shape.rank`, `len(x.shape)`."""
    parent = file.tree.parents.get(shape)
    if isinstance(parent, cst.Attribute):
        return parent.attr.value in _OF_RANK
    call = file.tree.parents.get(parent) if isinstance(parent, cst.Arg) else None
    return isinstance(call, cst.Call) and file.names.is_builtin(call.func, "len")


def _compiles(decorator: cst.Decorator) -> bool:
    """`@tf.function(jit_compile=True)`."""
    made = decorator.decorator
    given = argument(made, -1, "jit_compile") if isinstance(made, cst.Call) else None
    return isinstance(given, cst.Name) and given.value == "True"
