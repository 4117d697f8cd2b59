"""Python's expressions as libcst's nodes."""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Sequence
from typing import Any

import libcst as cst

from tflint_gpu.lazy_patterns import regex
from tflint_gpu.model.python.parsing.converted_strings import converted_string
from tflint_gpu.model.python.parsing.node_makers import maker

_LINE = regex(r"[^\r\n]*(?:\r\n|\r|\n|\Z)")
# One string, and no more: what libcst has as one node.
_ONE_STRING = regex(
    r"""[rbuRBU]{0,2}(?:"{3}(?:[^"\\]|\\.|"(?!""))*"{3}|'{3}(?:[^'\\]|\\.|'(?!''))*'{3}"""
    r"""|"(?!"")(?:[^"\\\r\n]|\\.)*"|'(?!'')(?:[^'\\\r\n]|\\.)*'|""|'')""",
    re.DOTALL,
)


class Unlike(Exception):
    """A piece of syntax that is left to libcst's parser."""


make_name = maker(cst.Name, "value")
make_attribute = maker(cst.Attribute, "value", "attr")
_call = maker(cst.Call, "func", "args")
_arg = maker(cst.Arg, "value", "keyword", "star")
_integer = maker(cst.Integer, "value")
_float = maker(cst.Float, "value")
_string = maker(cst.SimpleString, "value")
make_element = maker(cst.Element, "value")
_starred = maker(cst.StarredElement, "value")
make_tuple = maker(cst.Tuple, "elements")
_list = maker(cst.List, "elements")
_subscript = maker(cst.Subscript, "value", "slice")
_subscript_element = maker(cst.SubscriptElement, "slice")
_index = maker(cst.Index, "value", "star")
_slice = maker(cst.Slice, "lower", "upper", "step")
_binary = maker(cst.BinaryOperation, "left", "operator", "right")
_boolean = maker(cst.BooleanOperation, "left", "operator", "right")
_unary = maker(cst.UnaryOperation, "operator", "expression")
_comparison = maker(cst.Comparison, "left", "comparisons")
_comparison_target = maker(cst.ComparisonTarget, "operator", "comparator")
_param = maker(cst.Param, "name", "annotation", "default", "star")
_parameters = maker(cst.Parameters, "params", "star_arg", "kwonly_params", "star_kwarg", "posonly_params")
make_annotation = maker(cst.Annotation, "annotation")

_OPERATORS: dict[type, Any] = {
    ast.Add: cst.Add(), ast.Sub: cst.Subtract(), ast.Mult: cst.Multiply(), ast.MatMult: cst.MatrixMultiply(),
    ast.Div: cst.Divide(), ast.Mod: cst.Modulo(), ast.Pow: cst.Power(), ast.LShift: cst.LeftShift(),
    ast.RShift: cst.RightShift(), ast.BitOr: cst.BitOr(), ast.BitXor: cst.BitXor(), ast.BitAnd: cst.BitAnd(),
    ast.FloorDiv: cst.FloorDivide(), ast.Invert: cst.BitInvert(), ast.Not: cst.Not(), ast.UAdd: cst.Plus(),
    ast.USub: cst.Minus(), ast.Eq: cst.Equal(), ast.NotEq: cst.NotEqual(), ast.Lt: cst.LessThan(),
    ast.LtE: cst.LessThanEqual(), ast.Gt: cst.GreaterThan(), ast.GtE: cst.GreaterThanEqual(), ast.Is: cst.Is(),
    ast.IsNot: cst.IsNot(), ast.In: cst.In(), ast.NotIn: cst.NotIn(), ast.And: cst.And(), ast.Or: cst.Or(),
}  # fmt: skip


class Expressions:
    """The conversion of the expressions of one text."""

    def __init__(self, text: str) -> None:
        self.lines = _LINE.findall(text)
        self.is_ascii = text.isascii()

    def text_of(self, node: Any) -> str:
        """The text of an expression; Python counts columns in bytes."""
        first, last, start, end = node.lineno - 1, node.end_lineno - 1, node.col_offset, node.end_col_offset
        lines = self.lines
        if first == last:
            line: str = lines[first]
            if self.is_ascii or line.isascii():
                return line[start:end]
            return line.encode()[start:end].decode()
        return "".join(
            [
                lines[first].encode()[start:].decode(),
                *lines[first + 1 : last],
                lines[last].encode()[:end].decode(),
            ]
        )

    def annotation(self, node: ast.expr | None) -> Any:
        """What is after the colon or the arrow."""
        return None if node is None else make_annotation(self.expression(node))

    def parameters(self, node: ast.arguments) -> Any:
        """The parameters of a function or lambda."""
        posonly, positional, defaults = node.posonlyargs, node.args, node.defaults
        first = len(posonly) + len(positional) - len(defaults)
        made = []
        for index, parameter in enumerate((*posonly, *positional) if posonly else positional):
            default = self.expression(defaults[index - first]) if index >= first else None
            made.append(_param(make_name(parameter.arg), self.annotation(parameter.annotation), default, ""))
        kwonly = [
            _param(make_name(parameter.arg), self.annotation(parameter.annotation), self.maybe(default), "")
            for parameter, default in zip(node.kwonlyargs, node.kw_defaults, strict=True)
        ]
        star_arg: Any = cst.MaybeSentinel.DEFAULT
        if node.vararg is not None:
            star_arg = _param(make_name(node.vararg.arg), self.annotation(node.vararg.annotation), None, "*")
        elif kwonly:
            star_arg = cst.ParamStar()
        kwarg = node.kwarg
        star_kwarg = (
            None if kwarg is None else _param(make_name(kwarg.arg), self.annotation(kwarg.annotation), None, "**")
        )
        return _parameters(made[len(posonly) :], star_arg, kwonly, star_kwarg, made[: len(posonly)])

    # Expressions.

    def expression(self, node: ast.expr) -> Any:
        """The node of an expression."""
        return _EXPRESSIONS[node.__class__](self, node)

    def maybe(self, node: ast.expr | None) -> Any:
        """The node of an expression, where there is one."""
        return None if node is None else self.expression(node)

    def _name(self, node: ast.Name) -> Any:
        return make_name(node.id)

    def _attribute(self, node: ast.Attribute) -> Any:
        value = node.value
        return make_attribute(_EXPRESSIONS[value.__class__](self, value), make_name(node.attr))

    def _call(self, node: ast.Call) -> Any:
        function, args, keywords = node.func, node.args, node.keywords
        expressions = _EXPRESSIONS
        given = []
        for argument in args:
            kind = argument.__class__
            if kind is ast.Starred:
                given.append(_arg(self.expression(argument.value), None, "*"))  # type: ignore[attr-defined]
            else:
                given.append(_arg(expressions[kind](self, argument), None, ""))
        if keywords:
            last = args[-1] if args else None
            for keyword in keywords:
                given.append(self.keyword(keyword))
            if last.__class__ is ast.Starred:  # it may be after a keyword
                positions = [*map(_place, args), *(_place(keyword) for keyword in keywords)]
                given = [
                    argument for _, argument in sorted(zip(positions, given, strict=True), key=lambda pair: pair[0])
                ]
        return _call(expressions[function.__class__](self, function), given)

    def given(self, node: ast.expr) -> Any:
        """An argument by position, starred or not."""
        if isinstance(node, ast.Starred):
            return _arg(self.expression(node.value), None, "*")
        return _arg(self.expression(node), None, "")

    def keyword(self, node: ast.keyword) -> Any:
        """An argument by keyword, or the ones of a mapping."""
        value = node.value
        made = _EXPRESSIONS[value.__class__](self, value)
        return _arg(made, None, "**") if node.arg is None else _arg(made, make_name(node.arg), "")

    def _constant(self, node: ast.Constant) -> Any:
        value = node.value
        kind = value.__class__
        if kind is str or kind is bytes:
            text = self.text_of(node)
            return _string(text) if _ONE_STRING.fullmatch(text) else self._string(node)
        if kind is int:
            return _integer(self.text_of(node))
        if kind is float:
            return _float(self.text_of(node))
        if kind is bool or value is None:
            return make_name(repr(value))
        return cst.Ellipsis() if value is ... else cst.Imaginary(self.text_of(node))

    def _string(self, node: ast.expr) -> Any:
        """What libcst makes of a string of several parts, or with expressions in it."""
        text = self.text_of(node)
        known = converted_string(text)
        if known is not None:
            return known
        try:
            return cst.parse_expression(f"({text})")
        except Exception as error:
            raise Unlike from error

    def _elements(self, nodes: Sequence[ast.expr]) -> list[Any]:
        expressions = _EXPRESSIONS
        return [
            _starred(self.expression(element.value))
            if element.__class__ is ast.Starred
            else make_element(expressions[element.__class__](self, element))
            for element in nodes
        ]

    def _tuple(self, node: ast.Tuple) -> Any:
        return make_tuple(self._elements(node.elts))

    def _list(self, node: ast.List) -> Any:
        return _list(self._elements(node.elts))

    def _set(self, node: ast.Set) -> cst.Set:
        return cst.Set(self._elements(node.elts))

    def _dict(self, node: ast.Dict) -> cst.Dict:
        return cst.Dict(
            [
                cst.StarredDictElement(self.expression(value))
                if key is None
                else cst.DictElement(self.expression(key), self.expression(value))
                for key, value in zip(node.keys, node.values, strict=True)
            ]
        )

    def _subscript(self, node: ast.Subscript) -> Any:
        index = node.slice
        parts = index.elts if isinstance(index, ast.Tuple) and index.elts and self._is_bare(index) else [index]
        return _subscript(self.expression(node.value), [_subscript_element(self._index(part)) for part in parts])

    def _is_bare(self, node: ast.Tuple) -> bool:
        """Whether a tuple between the brackets of a subscript has no brackets of its own: `x[a, b]`, `x[(a), (b)]`."""
        first, last, text = node.elts[0], node.elts[-1], self.text_of(node)
        starts = (first.lineno, first.col_offset) == (node.lineno, node.col_offset)
        ends = (last.end_lineno, last.end_col_offset) == (node.end_lineno, node.end_col_offset)
        if starts or ends or not (text.startswith("(") and text.endswith(")")):
            return True
        before, _, after = text.partition(self.text_of(first))
        opened, closed = before.count("("), after.partition(",")[0].count(")")
        if before.strip("( \t\r\n") or "#" in after.partition(",")[0]:
            raise Unlike  # a comment: what is in it is no bracket
        return opened == closed

    def _index(self, node: ast.expr) -> Any:
        if node.__class__ is ast.Slice:
            lower, upper, step = node.lower, node.upper, node.step
            return _slice(self.maybe(lower), self.maybe(upper), self.maybe(step))
        if node.__class__ is ast.Starred:
            raise Unlike
        return _index(self.expression(node), None)

    def _binary(self, node: ast.BinOp) -> Any:
        chain: list[ast.BinOp] = []
        left: ast.expr = node
        while isinstance(left, ast.BinOp):  # long sums are nested to the left
            chain.append(left)
            left = left.left
        operation = self.expression(left)
        for step in reversed(chain):
            operation = _binary(operation, _OPERATORS[step.op.__class__], self.expression(step.right))
        return operation

    def _boolean(self, node: ast.BoolOp) -> Any:
        operator = _OPERATORS[node.op.__class__]
        first, *others = map(self.expression, node.values)
        for operand in others:
            first = _boolean(first, operator, operand)
        return first

    def _unary(self, node: ast.UnaryOp) -> Any:
        return _unary(_OPERATORS[node.op.__class__], self.expression(node.operand))

    def _comparison(self, node: ast.Compare) -> Any:
        pairs = zip(node.ops, node.comparators, strict=True)
        targets = [_comparison_target(_OPERATORS[op.__class__], self.expression(operand)) for op, operand in pairs]
        return _comparison(self.expression(node.left), targets)

    def _lambda(self, node: ast.Lambda) -> cst.Lambda:
        return cst.Lambda(self.parameters(node.args), self.expression(node.body))

    def _conditional(self, node: ast.IfExp) -> cst.IfExp:
        return cst.IfExp(self.expression(node.test), self.expression(node.body), self.expression(node.orelse))

    def _comprehension(self, node: Any) -> Any:
        inner: cst.CompFor | None = None
        for clause in reversed(node.generators):
            tests = [cst.CompIf(self.expression(test)) for test in clause.ifs]
            target, items = self.expression(clause.target), self.expression(clause.iter)
            inner = cst.CompFor(target, items, tests, inner, cst.Asynchronous() if clause.is_async else None)
        assert inner is not None
        if isinstance(node, ast.DictComp):
            return cst.DictComp(self.expression(node.key), self.expression(node.value), inner)
        return _COMPREHENSIONS[node.__class__](self.expression(node.elt), inner)

    def _await(self, node: ast.Await) -> cst.Await:
        return cst.Await(self.expression(node.value))

    def _yield(self, node: ast.Yield) -> cst.Yield:
        return cst.Yield(self.maybe(node.value))

    def _yield_from(self, node: ast.YieldFrom) -> cst.Yield:
        return cst.Yield(cst.From(self.expression(node.value)))

    def _named(self, node: ast.NamedExpr) -> cst.NamedExpr:
        return cst.NamedExpr(self.expression(node.target), self.expression(node.value))


def _place(node: ast.expr | ast.keyword) -> tuple[int, int]:
    return node.lineno, node.col_offset


class Table(dict[type, Callable[[Any, Any], Any]]):
    """What converts a class of nodes."""

    def __missing__(self, kind: type) -> Callable[[Any, Any], Any]:
        raise Unlike


_COMPREHENSIONS: dict[type, Any] = {
    ast.ListComp: cst.ListComp, ast.SetComp: cst.SetComp, ast.GeneratorExp: cst.GeneratorExp,
}  # fmt: skip
_EXPRESSIONS = Table(
    {
        ast.Name: Expressions._name,
        ast.Attribute: Expressions._attribute,
        ast.Call: Expressions._call,
        ast.Constant: Expressions._constant,
        ast.JoinedStr: Expressions._string,
        ast.Tuple: Expressions._tuple,
        ast.List: Expressions._list,
        ast.Set: Expressions._set,
        ast.Dict: Expressions._dict,
        ast.Subscript: Expressions._subscript,
        ast.BinOp: Expressions._binary,
        ast.BoolOp: Expressions._boolean,
        ast.UnaryOp: Expressions._unary,
        ast.Compare: Expressions._comparison,
        ast.Lambda: Expressions._lambda,
        ast.IfExp: Expressions._conditional,
        ast.ListComp: Expressions._comprehension,
        ast.SetComp: Expressions._comprehension,
        ast.DictComp: Expressions._comprehension,
        ast.GeneratorExp: Expressions._comprehension,
        ast.Await: Expressions._await,
        ast.Yield: Expressions._yield,
        ast.YieldFrom: Expressions._yield_from,
        ast.NamedExpr: Expressions._named,
    }
)
