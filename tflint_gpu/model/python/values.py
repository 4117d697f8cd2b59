"""Constants that flow: what value an expression has, where the code says so for certain."""

from __future__ import annotations

import operator
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any, Final

import libcst as cst

from tflint_gpu.model.python.syntax import Expression, Node, dotted_name, method_name
from tflint_gpu.model.python.tree import Binding, Path

if TYPE_CHECKING:
    from tflint_gpu.model.model import Model


class Unknown:
    """The value of an expression that the code does not fix."""

    def __repr__(self) -> str:
        return "UNKNOWN"

    def __bool__(self) -> bool:
        return False


UNKNOWN: Final = Unknown()
_DEPTH_LIMIT = 12
_SIZE_LIMIT = 10_000
_LITERAL_NAMES = {"True": True, "False": False, "None": None}
_BINARY: dict[type, Callable[[Any, Any], Any]] = {
    cst.Add: operator.add,
    cst.Subtract: operator.sub,
    cst.Multiply: operator.mul,
    cst.Divide: operator.truediv,
    cst.FloorDivide: operator.floordiv,
    cst.Modulo: operator.mod,
}
_UNARY: dict[type, Callable[[Any], Any]] = {
    cst.Minus: operator.neg,
    cst.Plus: operator.pos,
    cst.Not: operator.not_,
}
_MUTATING_METHODS = frozenset("update setdefault pop popitem clear append extend insert remove sort".split())


class Values:
    """Constant values of one file's expressions. What is a parameter or comes from outside is UNKNOWN."""

    def __init__(self, model: Model) -> None:
        self.model = model
        self._changed: set[str] | None = None

    def of(self, expr: Expression | None, depth: int = 0) -> Any:
        """A number, string, bool, None, tuple or dict, or UNKNOWN."""
        if expr is None or depth > _DEPTH_LIMIT:
            return UNKNOWN
        if isinstance(expr, cst.Integer | cst.Float):
            return expr.evaluated_value
        if isinstance(expr, cst.SimpleString | cst.ConcatenatedString):
            return self._string(expr, depth)
        if isinstance(expr, cst.FormattedString):
            return self._formatted(expr, depth)
        if isinstance(expr, cst.Name):
            return self._name(expr, depth)
        if isinstance(expr, cst.Tuple | cst.List):
            return self._sequence(expr, depth)
        if isinstance(expr, cst.Dict):
            return self._dict(expr, depth)
        if isinstance(expr, cst.UnaryOperation):
            value = self.of(expr.expression, depth + 1)
            apply = _UNARY.get(type(expr.operator))
            return UNKNOWN if value is UNKNOWN or apply is None else _attempt(lambda: apply(value))
        if isinstance(expr, cst.BinaryOperation):
            return self._binary(expr, depth)
        if isinstance(expr, cst.IfExp):
            return _agreed([self.of(expr.body, depth + 1), self.of(expr.orelse, depth + 1)])
        if isinstance(expr, cst.Attribute):
            return self._attribute(expr, depth)
        if isinstance(expr, cst.Subscript):
            return self._subscript(expr, depth)
        if isinstance(expr, cst.Call):
            return self._call(expr, depth)
        return UNKNOWN

    def possible(self, expr: Expression) -> list[Any]:
        """The constants that `expr` may be: both sides of a ternary, each assignment; empty where one is unknown."""
        if isinstance(expr, cst.IfExp):
            found = [*self.possible(expr.body), *self.possible(expr.orelse)]
            return found
        if isinstance(expr, cst.Name) and expr.value not in _LITERAL_NAMES:
            values = [self.of_binding(b) for b in self.model.flow.lookup(expr.value, expr)]
            if len(values) > 1:
                return [value for value in values if value is not UNKNOWN]
        value = self.of(expr)
        return [] if value is UNKNOWN else [value]

    def keyword(self, call: cst.Call, name: str) -> Any:
        """The value of a keyword argument, also one that comes through `**CFG`; UNKNOWN where absent."""
        found = self.keyword_source(call, name)
        if found is None:
            return UNKNOWN
        if found.keyword is not None:
            return self.of(found.value)
        value = self.of(found.value)
        return value[name] if isinstance(value, dict) and name in value else UNKNOWN

    def keyword_source(self, call: cst.Call, name: str) -> cst.Arg | None:
        """The argument that brings keyword `name`: itself, or a `**CFG` whose keys are known."""
        for arg in call.args:
            if arg.keyword is not None and arg.keyword.value == name:
                return arg
        for arg in call.args:
            if arg.star == "**":
                value = self.of(arg.value)
                if isinstance(value, dict) and name in value:
                    return arg
        return None

    def of_binding(self, binding: Binding, depth: int = 0) -> Any:
        """The value that a binding gives its name."""
        if binding.kind == "import":
            found = self.model.project.definition(self.model, binding.target, constants=True)
            if found is not None and found.binding is not None:
                return found.model.values.of_binding(found.binding, depth + 1)
            return UNKNOWN
        if binding.kind != "assign":
            return UNKNOWN
        return _part(self.of(binding.value, depth + 1), binding.path)

    def _name(self, expr: cst.Name, depth: int) -> Any:
        if expr.value in _LITERAL_NAMES:
            return _LITERAL_NAMES[expr.value]
        bindings = self.model.flow.lookup(expr.value, expr)
        if not bindings:
            return UNKNOWN
        value = _agreed([self.of_binding(binding, depth) for binding in bindings])
        if isinstance(value, dict) and expr.value in self._changed_names():
            return UNKNOWN
        return value

    def _changed_names(self) -> set[str]:
        """Names whose dictionary or list is changed in place somewhere in the file."""
        if self._changed is None:
            roots: list[Node] = [item.value for item in self.model.tree.item_assignments]
            roots += [
                call.func.value
                for call in self.model.tree.calls
                if isinstance(call.func, cst.Attribute) and method_name(call) in _MUTATING_METHODS
            ]
            self._changed = {name.partition(".")[0] for root in roots if (name := dotted_name(root))}
        return self._changed

    def _string(self, expr: cst.SimpleString | cst.ConcatenatedString, depth: int) -> Any:
        value = _attempt(lambda: expr.evaluated_value)
        if value is None and isinstance(expr, cst.ConcatenatedString):
            left, right = self.of(expr.left, depth + 1), self.of(expr.right, depth + 1)
            return UNKNOWN if UNKNOWN in (left, right) else left + right
        return UNKNOWN if value is None else value

    def _formatted(self, expr: cst.FormattedString, depth: int) -> Any:
        parts: list[str] = []
        for part in expr.parts:
            if isinstance(part, cst.FormattedStringText):
                parts.append(part.value.replace("{{", "{").replace("}}", "}"))
                continue
            if not isinstance(part, cst.FormattedStringExpression) or part.conversion or part.format_spec:
                return UNKNOWN
            value = self.of(part.expression, depth + 1)
            if not isinstance(value, str | int):
                return UNKNOWN
            parts.append(str(value))
        return "".join(parts)

    def _sequence(self, expr: cst.Tuple | cst.List, depth: int) -> Any:
        if len(expr.elements) > 100 or any(isinstance(e, cst.StarredElement) for e in expr.elements):
            return UNKNOWN
        values = tuple(self.of(element.value, depth + 1) for element in expr.elements)
        return values

    def _dict(self, expr: cst.Dict, depth: int) -> Any:
        if len(expr.elements) > 200:
            return UNKNOWN
        result: dict[Any, Any] = {}
        for element in expr.elements:
            if isinstance(element, cst.StarredDictElement):
                inner = self.of(element.value, depth + 1)
                if not isinstance(inner, dict):
                    return UNKNOWN
                result.update(inner)
                continue
            assert isinstance(element, cst.DictElement)
            key = self.of(element.key, depth + 1)
            if not isinstance(key, str | int):
                return UNKNOWN
            result[key] = self.of(element.value, depth + 1)
        return result

    def _binary(self, expr: cst.BinaryOperation, depth: int) -> Any:
        left, right = self.of(expr.left, depth + 1), self.of(expr.right, depth + 1)
        apply = _BINARY.get(type(expr.operator))
        known = (int, float, str)
        if apply is None or not isinstance(left, known) or not isinstance(right, (*known, tuple)):
            return UNKNOWN
        if isinstance(right, tuple) and UNKNOWN in right:
            return UNKNOWN
        if isinstance(left, str) and isinstance(right, int) and right * len(left) > _SIZE_LIMIT:
            return UNKNOWN
        return _attempt(lambda: apply(left, right))

    def _attribute(self, expr: cst.Attribute, depth: int) -> Any:
        found = self.model.classes.attribute_values(expr)
        if found:
            return _agreed([a.model.values.of_attribute(a.value, a.path, depth + 1) for a in found])
        dotted = self.model.name(expr)
        if dotted is None:
            return UNKNOWN
        definition = self.model.project.definition(self.model, dotted, constants=True)
        if definition is None or definition.binding is None:
            return UNKNOWN
        return definition.model.values.of_binding(definition.binding, depth + 1)

    def of_attribute(self, value: Expression, path: Path, depth: int) -> Any:
        """The value of `self.x = value`, or the part of it that `path` names."""
        return _part(self.of(value, depth), path)

    def _subscript(self, expr: cst.Subscript, depth: int) -> Any:
        if len(expr.slice) != 1 or not isinstance(expr.slice[0].slice, cst.Index):
            return UNKNOWN
        container = self.of(expr.value, depth + 1)
        key = self.of(expr.slice[0].slice.value, depth + 1)
        if key is UNKNOWN or not isinstance(container, dict | tuple):
            return UNKNOWN
        return _attempt(lambda: container[key])

    def _call(self, expr: cst.Call, depth: int) -> Any:
        if self.model.names.is_builtin(expr.func, "dict") and all(a.keyword or a.star == "**" for a in expr.args):
            result: dict[Any, Any] = {}
            for arg in expr.args:
                value = self.of(arg.value, depth + 1)
                if arg.keyword is not None:
                    result[arg.keyword.value] = value
                elif isinstance(value, dict):
                    result.update(value)
                else:
                    return UNKNOWN
            return result
        converted = self._converted(expr, depth)
        if converted is not UNKNOWN:
            return converted
        if method_name(expr) == "format" and isinstance(expr.func, cst.Attribute):
            return self._format(expr, depth)
        if method_name(expr) == "join" and isinstance(expr.func, cst.Attribute) and len(expr.args) == 1:
            separator, parts = self.of(expr.func.value, depth + 1), self.of(expr.args[0].value, depth + 1)
            if isinstance(separator, str) and isinstance(parts, tuple) and all(isinstance(p, str) for p in parts):
                return separator.join(parts)
        return UNKNOWN

    def _converted(self, expr: cst.Call, depth: int) -> Any:
        """`int("1")`, `str(2)`, `float(3)`."""
        converters: dict[str, Callable[[Any], Any]] = {"int": int, "str": str, "float": float}
        for name, convert in converters.items():
            if len(expr.args) == 1 and self.model.names.is_builtin(expr.func, name):
                inner = self.of(expr.args[0].value, depth + 1)
                return _attempt(partial(convert, inner)) if isinstance(inner, int | float | str) else UNKNOWN
        return UNKNOWN

    def _format(self, expr: cst.Call, depth: int) -> Any:
        assert isinstance(expr.func, cst.Attribute)
        template = self.of(expr.func.value, depth + 1)
        positional = [self.of(arg.value, depth + 1) for arg in expr.args if arg.keyword is None and not arg.star]
        named = {arg.keyword.value: self.of(arg.value, depth + 1) for arg in expr.args if arg.keyword is not None}
        values = [*positional, *named.values()]
        plain = all(isinstance(value, int | str) for value in values) and len(values) == len(expr.args)
        if not isinstance(template, str) or not plain:
            return UNKNOWN
        return _attempt(lambda: template.format(*positional, **named))


def _agreed(values: list[Any]) -> Any:
    """The one value that all ways lead to, else UNKNOWN."""
    if not values or any(value is UNKNOWN for value in values):
        return UNKNOWN
    first = values[0]
    same = all(type(value) is type(first) and value == first for value in values[1:])
    return first if same else UNKNOWN


def _part(value: Any, path: Path) -> Any:
    for index in path:
        if not isinstance(value, tuple) or index is None or index >= len(value):
            return UNKNOWN
        value = value[index]
    return value


def _attempt(compute: Callable[[], Any]) -> Any:
    """The result of an operation on known values, UNKNOWN where Python would raise."""
    try:
        return compute()
    except (ArithmeticError, LookupError, TypeError, ValueError):
        return UNKNOWN
