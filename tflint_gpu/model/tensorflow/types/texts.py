"""Texts: values that are certainly a `str`."""

from __future__ import annotations

import libcst as cst

from tflint_gpu.model.model import Analysis, Model
from tflint_gpu.model.python.project.file import File
from tflint_gpu.model.python.syntax.syntax import Expression, Node, method_name
from tflint_gpu.model.python.value_flow.origins import ELEMENT, Context, Origin

_LITERALS = (cst.SimpleString, cst.FormattedString, cst.ConcatenatedString)
_SAME_KIND = frozenset(
    "lower upper strip lstrip rstrip title capitalize replace format join zfill casefold swapcase removeprefix".split()
)
_MAKING = ("str", "input", "chr", "repr")
_LISTING = frozenset(["split", "splitlines", "rsplit"])
_JOINING = (cst.Add, cst.AddAssign)


class Texts(Analysis):
    """What is certainly a text, by its origins."""

    def __init__(self, model: Model) -> None:
        super().__init__(model)
        self._asked: set[Node] = set()

    def is_text(self, file: File, expr: Expression, context: Context | None = None) -> bool:
        """Whether an expression is a `str` on every way."""
        if expr in self._asked:  # `text += word`: what it was before decides
            return True
        self._asked.add(expr)
        try:
            return self.inference.must_be(file, expr, self._is_text, context)
        finally:
            self._asked.discard(expr)

    def _is_text(self, origin: Origin) -> bool:
        node, file, context = origin.node, origin.file, origin.context
        if origin.access_path:
            return origin.access_path == (ELEMENT,) and self._lists_texts(origin)
        if isinstance(node, _LITERALS):
            return not _is_bytes(node)
        if isinstance(node, cst.AugAssign):
            return isinstance(node.operator, _JOINING) and self.is_text(file, node.target, context)
        if isinstance(node, cst.BinaryOperation):
            if isinstance(node.operator, cst.Modulo):
                return self.is_text(file, node.left, context)
            return isinstance(node.operator, _JOINING) and any(
                self.is_text(file, side, context) for side in (node.left, node.right)
            )
        if isinstance(node, cst.Subscript):  # part of a text
            return isinstance(node.slice[0].slice, cst.Slice) and self.is_text(file, node.value, context)
        return isinstance(node, cst.Call) and self._makes_text(file, node, context)

    def _makes_text(self, file: File, call: cst.Call, context: Context | None) -> bool:
        if any(file.names.is_builtin(call.func, name) for name in _MAKING):
            return True
        return (
            isinstance(call.func, cst.Attribute)
            and method_name(call) in _SAME_KIND
            and self.is_text(file, call.func.value, context)
        )

    def _lists_texts(self, origin: Origin) -> bool:
        """`text.split()`."""
        call, file = origin.node, origin.file
        return (
            isinstance(call, cst.Call)
            and isinstance(call.func, cst.Attribute)
            and method_name(call) in _LISTING
            and self.is_text(file, call.func.value, origin.context)
        )


def _is_bytes(literal: cst.SimpleString | cst.FormattedString | cst.ConcatenatedString) -> bool:
    first = literal.left if isinstance(literal, cst.ConcatenatedString) else literal
    return isinstance(first, cst.SimpleString) and "b" in first.prefix.lower()
