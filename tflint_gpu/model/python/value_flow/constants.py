"""Constants that flow: the number, string, tuple or dict that an expression is, where the code says so for certain."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from functools import partial
from typing import Any, Final

import libcst as cst

from tflint_gpu.bounds import CONSTANT_DEPTH, CONSTANT_ENTRIES, CONSTANT_SEQUENCE, CONSTANT_STEPS, CONSTANT_TEXT
from tflint_gpu.lazy_patterns import regex
from tflint_gpu.model.library.files import PATHS_BY_THEIR_END
from tflint_gpu.model.python.project.file import File
from tflint_gpu.model.python.syntax.operators import ARITHMETIC, COMPARISONS, UNARY
from tflint_gpu.model.python.syntax.syntax import Expression, Node, constant_of, method_name
from tflint_gpu.model.python.value_flow.origins import Context, Origin
from tflint_gpu.model.python.value_flow.resolver import Resolver


class Unknown:
    """The value of an expression that the code does not fix."""

    def __repr__(self) -> str:
        return "UNKNOWN"

    def __bool__(self) -> bool:
        return False


UNKNOWN: Final = Unknown()
_SCALARS = (int, float, str)
_WIDE = regex(r"\d{5}|\{[^}]*\{|%[^a-z%]*\*")
"""In a template: a width of 10,000 or more, or one that is a value."""
_LITERAL_NAMES = {"True": True, "False": False, "None": None}
_OF_LIBRARIES = {
    f"{library}.{name}": getattr(math, name) for library in ("math", "numpy") for name in ("pi", "e", "inf")
}
_CONVERTERS: dict[str, Callable[[Any], Any]] = {"int": int, "str": str, "float": float}
_FOLLOWED = (cst.Name, cst.Attribute, cst.Subscript, cst.IfExp, cst.NamedExpr)
_COMPARED = (str, int, float)


class Constants:
    """The constant values of expressions.

    Arguments:
        inference: follows names, parameters and containers to the literals.
    """

    def __init__(self, inference: Resolver) -> None:
        self.inference = inference
        self._in_work: set[tuple[Node, Context | None]] = set()
        self._known: dict[tuple[Node, Context | None], tuple[Any, bool, int]] = {}
        self._steps = 0

    def of(self, file: File, expr: Expression | None, context: Context | None = None) -> Any:
        """A number, string, bool, None, tuple or dict, or UNKNOWN."""
        if expr is None:
            return UNKNOWN
        if isinstance(expr, cst.Integer | cst.Float):
            return constant_of(expr)
        if isinstance(expr, cst.SimpleString):
            return _attempt(lambda: constant_of(expr))
        if isinstance(expr, cst.Name) and expr.value in _LITERAL_NAMES:
            return _LITERAL_NAMES[expr.value]
        key = (expr, context)
        if not self._in_work:
            self._steps = 0
        self._steps += 1
        if (is_deep := len(self._in_work) > CONSTANT_DEPTH.limit) or self._steps > CONSTANT_STEPS.limit:
            self.inference.meet(CONSTANT_DEPTH if is_deep else CONSTANT_STEPS)
            return UNKNOWN
        seen = self.inference.seen
        if key in self._in_work:
            seen.look()
            return UNKNOWN
        if key in self._known:
            value, is_own, missed = self._known[key]
            seen.work.looks += is_own
            seen.work.missed |= missed
            return value
        self._in_work.add(key)
        looks, missed_outside, seen.work.missed = seen.work.looks, seen.work.missed, 0
        try:
            value = self._computed(file, expr, context)
        finally:
            self._in_work.discard(key)
            missed = seen.work.missed
            seen.work.missed |= missed_outside
        # What is unknown inside of another question may be so for the bounds of that one only.
        if isinstance(value, _SCALARS) or (value is UNKNOWN and not self._in_work):
            self._known[key] = value, looks != seen.work.looks, missed
        return value

    def possible(self, file: File, expr: Expression, context: Context | None = None) -> list[Any]:
        """The constants that an expression may be; those that are unknown are left out."""
        values = [self._of_origin(origin) for origin in self.inference.of(file, expr, context)]
        return [value for value in values if value is not UNKNOWN]

    def beginning(self, file: File, expr: Expression) -> str:
        """The text with which a string must begin; empty where none is known: "/GPU:" for `f"/GPU:{rank}"`."""
        value = self.of(file, expr)
        if isinstance(value, str):
            return value
        beginnings = {self._beginning(origin) for origin in self.inference.of(file, expr)}
        return beginnings.pop() if len(beginnings) == 1 else ""

    def _beginning(self, origin: Origin) -> str:
        node = origin.node
        if isinstance(node, cst.FormattedString) and node.parts and isinstance(node.parts[0], cst.FormattedStringText):
            return node.parts[0].value
        if isinstance(node, cst.BinaryOperation):
            text = self.of(origin.file, node.left, origin.context)
            if isinstance(text, str):
                return text.partition("%")[0] if isinstance(node.operator, cst.Modulo) else text
        if isinstance(node, cst.Call) and method_name(node) == "format" and isinstance(node.func, cst.Attribute):
            text = self.of(origin.file, node.func.value, origin.context)
            return text.partition("{")[0] if isinstance(text, str) else ""
        return ""

    def ending(self, file: File, expr: Expression | None, context: Context | None = None) -> str:
        """The text with which a string or a path must end; empty where none is known: "net" for `folder / "net"`."""
        value = self.of(file, expr, context)
        if expr is None or isinstance(value, str):
            return value if isinstance(value, str) else ""
        endings = {self._ending(origin) for origin in self.inference.of(file, expr, context)}
        return endings.pop() if len(endings) == 1 else ""

    def _ending(self, origin: Origin) -> str:
        node = origin.node
        if isinstance(node, cst.FormattedString) and node.parts and isinstance(node.parts[-1], cst.FormattedStringText):
            return node.parts[-1].value
        if isinstance(node, cst.BinaryOperation) and isinstance(node.operator, cst.Add | cst.Divide):
            return self.ending(origin.file, node.right, origin.context)
        if isinstance(node, cst.Call) and node.args and not node.args[-1].star:
            is_text = origin.file.names.is_builtin(node.func, "str")
            if is_text or origin.file.name(node.func) in PATHS_BY_THEIR_END or method_name(node) == "joinpath":
                return self.ending(origin.file, node.args[-1].value, origin.context)
        value = self._of_origin(origin)
        return value if isinstance(value, str) else ""

    def keyword(self, file: File, call: cst.Call, name: str) -> Any:
        """The value of a keyword argument, also one that comes through `**CFG`; UNKNOWN where absent."""
        arg = self.keyword_source(file, call, name)
        if arg is None:
            return UNKNOWN
        return self.of(file, arg.value) if arg.keyword is not None else self._item(file, arg.value, name)

    def keyword_source(self, file: File, call: cst.Call, name: str) -> cst.Arg | None:
        """The argument that brings keyword `name`: itself, or a `**CFG` in which it is known."""
        for arg in call.args:
            if arg.keyword is not None and arg.keyword.value == name:
                return arg
        for arg in call.args:
            if arg.star == "**" and self._item(file, arg.value, name) is not UNKNOWN:
                return arg
        return None

    def _item(self, file: File, expr: Expression, key: str) -> Any:
        mappings = self.inference.of(file, expr)
        return _agreed(self._of_origin(o) for m in mappings for o in self.inference.item(m, key))

    def _computed(self, file: File, expr: Expression, context: Context | None) -> Any:
        if isinstance(expr, _FOLLOWED):
            return _agreed(self._of_origin(origin) for origin in self.inference.of(file, expr, context))
        if isinstance(expr, cst.Call):
            value = self._call(file, expr, context)
            if value is not UNKNOWN:
                return value
            origins = self.inference.of(file, expr, context)
            return _agreed(UNKNOWN if o.node is expr else self._of_origin(o) for o in origins)
        return self._literal(file, expr, context)

    def _of_origin(self, origin: Origin) -> Any:
        node = origin.node
        if origin.access_path or not isinstance(node, cst.BaseExpression):
            return UNKNOWN
        if isinstance(node, _FOLLOWED) and not (isinstance(node, cst.Name) and node.value in _LITERAL_NAMES):
            return _OF_LIBRARIES.get(origin.file.name(node) or "", UNKNOWN)
        if isinstance(node, cst.Call):
            return self._call(origin.file, node, origin.context)
        return self.of(origin.file, node, origin.context)

    def _literal(self, file: File, expr: Expression, context: Context | None) -> Any:
        if isinstance(expr, cst.ConcatenatedString):
            left, right = self.of(file, expr.left, context), self.of(file, expr.right, context)
            return left + right if isinstance(left, str) and isinstance(right, str) else UNKNOWN
        if isinstance(expr, cst.FormattedString):
            return self._formatted(file, expr, context)
        if isinstance(expr, cst.Tuple | cst.List):
            if any(isinstance(e, cst.StarredElement) for e in expr.elements):
                return UNKNOWN
            if len(expr.elements) > CONSTANT_SEQUENCE.limit:
                self.inference.meet(CONSTANT_SEQUENCE)
                return UNKNOWN
            return tuple(self.of(file, element.value, context) for element in expr.elements)
        if isinstance(expr, cst.Dict):
            return self._dict(file, expr, context)
        if isinstance(expr, cst.UnaryOperation):
            value = self.of(file, expr.expression, context)
            apply = UNARY.get(type(expr.operator))
            return UNKNOWN if value is UNKNOWN or apply is None else _attempt(lambda: apply(value))
        if isinstance(expr, cst.BinaryOperation):
            return self._binary(file, expr, context)
        if isinstance(expr, cst.Comparison) and len(expr.comparisons) == 1:
            return self._comparison(file, expr, context)
        return UNKNOWN

    def _comparison(self, file: File, expr: cst.Comparison, context: Context | None) -> Any:
        [second] = expr.comparisons
        compare = COMPARISONS.get(type(second.operator))
        left, right = self.of(file, expr.left, context), self.of(file, second.comparator, context)
        if compare is None or not (isinstance(left, _COMPARED) and isinstance(right, _COMPARED)):
            return UNKNOWN
        return _attempt(lambda: compare(left, right))

    def _formatted(self, file: File, expr: cst.FormattedString, context: Context | None) -> Any:
        parts: list[str] = []
        for part in expr.parts:
            if isinstance(part, cst.FormattedStringText):
                parts.append(part.value.replace("{{", "{").replace("}}", "}"))
                continue
            if not isinstance(part, cst.FormattedStringExpression) or part.conversion or part.format_spec:
                return UNKNOWN
            value = self.of(file, part.expression, context)
            if not isinstance(value, str | int):
                return UNKNOWN
            text = _attempt(partial(str, value))
            if text is UNKNOWN:  # Python writes no number of thousands of digits
                return UNKNOWN
            parts.append(text)
        return "".join(parts)

    def _dict(self, file: File, expr: cst.Dict, context: Context | None) -> Any:
        if file.bound_to(expr) in file.changed:
            return UNKNOWN
        if len(expr.elements) > CONSTANT_ENTRIES.limit:
            self.inference.meet(CONSTANT_ENTRIES)
            return UNKNOWN
        result: dict[Any, Any] = {}
        for element in expr.elements:
            if isinstance(element, cst.StarredDictElement):
                inner = self.of(file, element.value, context)
                if not isinstance(inner, dict):
                    return UNKNOWN
                result.update(inner)
                continue
            assert isinstance(element, cst.DictElement)
            key = self.of(file, element.key, context)
            if not isinstance(key, str | int):
                return UNKNOWN
            result[key] = self.of(file, element.value, context)
        return result

    def _binary(self, file: File, expr: cst.BinaryOperation, context: Context | None) -> Any:
        apply = ARITHMETIC.get(type(expr.operator))
        left = UNKNOWN if apply is None else self.of(file, expr.left, context)
        if apply is None or not isinstance(left, _SCALARS):
            return UNKNOWN
        right = self.of(file, expr.right, context)
        if not isinstance(right, (*_SCALARS, tuple)):
            return UNKNOWN
        if isinstance(right, tuple) and UNKNOWN in right:
            return UNKNOWN
        for text, count in ((left, right), (right, left)):
            if isinstance(text, str) and isinstance(count, int) and count * len(text) > CONSTANT_TEXT.limit:
                self.inference.meet(CONSTANT_TEXT)
                return UNKNOWN
        if isinstance(left, str) and isinstance(expr.operator, cst.Modulo) and _WIDE.search(left):
            return UNKNOWN
        return _attempt(lambda: apply(left, right))

    def _call(self, file: File, expr: cst.Call, context: Context | None) -> Any:
        """What a call of a builtin, or of a string's method, gives."""
        func = expr.func
        if isinstance(func, cst.Name):
            if func.value == "dict" and file.names.is_builtin(func, "dict"):
                return self._dict_call(file, expr, context)
            convert = _CONVERTERS.get(func.value)
            if convert is not None and len(expr.args) == 1 and file.names.is_builtin(func, func.value):
                inner = self.of(file, expr.args[0].value, context)
                return _attempt(partial(convert, inner)) if isinstance(inner, int | float | str) else UNKNOWN
        elif isinstance(func, cst.Attribute):
            if method_name(expr) == "format":
                return self._format(file, expr, func, context)
            if method_name(expr) == "join" and len(expr.args) == 1:
                separator, parts = self.of(file, func.value, context), self.of(file, expr.args[0].value, context)
                if isinstance(separator, str) and isinstance(parts, tuple) and all(isinstance(p, str) for p in parts):
                    return separator.join(parts)
        return UNKNOWN

    def _dict_call(self, file: File, expr: cst.Call, context: Context | None) -> Any:
        result: dict[Any, Any] = {}
        for arg in expr.args:
            value = self.of(file, arg.value, context)
            if arg.keyword is not None:
                result[arg.keyword.value] = value
            elif arg.star == "**" and isinstance(value, dict):
                result.update(value)
            else:
                return UNKNOWN
        return result

    def _format(self, file: File, expr: cst.Call, func: cst.Attribute, context: Context | None) -> Any:
        template = self.of(file, func.value, context)
        if not isinstance(template, str) or _WIDE.search(template):
            return UNKNOWN
        positional = [self.of(file, arg.value, context) for arg in expr.args if arg.keyword is None and not arg.star]
        named = {a.keyword.value: self.of(file, a.value, context) for a in expr.args if a.keyword is not None}
        values = [*positional, *named.values()]
        if not all(isinstance(value, int | str) for value in values) or len(values) != len(expr.args):
            return UNKNOWN
        return _attempt(lambda: template.format(*positional, **named))


def _agreed(values: Iterable[Any]) -> Any:
    """The one value that all ways lead to, else UNKNOWN."""
    values = iter(values)
    first = next(values, UNKNOWN)
    if first is UNKNOWN or not all(type(value) is type(first) and value == first for value in values):
        return UNKNOWN
    return first


def _attempt(compute: Callable[[], Any]) -> Any:
    """The result of an operation on known values, UNKNOWN where Python would raise."""
    try:
        return compute()
    except (ArithmeticError, LookupError, SyntaxError, TypeError, ValueError):  # of a literal: '\\x', a null byte
        return UNKNOWN
