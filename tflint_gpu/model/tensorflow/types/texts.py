"""Texts: values that are certainly a `str`."""

from __future__ import annotations

import libcst as cst

from tflint_gpu.model.model import Analysis, Model
from tflint_gpu.model.python.project.file import File
from tflint_gpu.model.python.syntax.syntax import Expression, Node, argument, method_name
from tflint_gpu.model.python.value_flow.origins import ELEMENT, Context, Origin

_LITERALS = (cst.SimpleString, cst.FormattedString, cst.ConcatenatedString)
_SAME_KIND = frozenset(
    "lower upper strip lstrip rstrip title capitalize replace format join zfill casefold swapcase removeprefix".split()
)
_MAKING = ("str", "input", "chr", "repr")
_READING = frozenset(["read", "readline"])
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
        if not isinstance(call.func, cst.Attribute):
            return False
        if method_name(call) in _READING:
            return self._is_text_file(file, call.func.value, context)
        return method_name(call) in _SAME_KIND and self.is_text(file, call.func.value, context)

    def _lists_texts(self, origin: Origin) -> bool:
        """`text.split()`, `open(path)`, `open(path).readlines()`."""
        call, file = origin.node, origin.file
        if not isinstance(call, cst.Call) or _opens_text(file, call):
            return isinstance(call, cst.Call)
        if not isinstance(call.func, cst.Attribute):
            return False
        if method_name(call) == "readlines":
            return self._is_text_file(file, call.func.value, origin.context)
        return method_name(call) in _LISTING and self.is_text(file, call.func.value, origin.context)

    def _is_text_file(self, file: File, expr: Expression, context: Context | None) -> bool:
        def is_open(origin: Origin) -> bool:
            return origin.call is not None and _opens_text(origin.file, origin.call)

        return self.inference.must_be(file, expr, is_open, context)


def _opens_text(file: File, call: cst.Call) -> bool:
    """`open(path)`, `open(path, "rt")`."""
    mode = argument(call, 1, "mode")
    is_plain = mode is None or (isinstance(mode, cst.SimpleString) and "b" not in mode.raw_value)
    return file.names.is_builtin(call.func, "open") and is_plain


def _is_bytes(literal: cst.SimpleString | cst.FormattedString | cst.ConcatenatedString) -> bool:
    first = literal.left if isinstance(literal, cst.ConcatenatedString) else literal
    return isinstance(first, cst.SimpleString) and "b" in first.prefix.lower()
