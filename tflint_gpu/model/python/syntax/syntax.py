"""Properties of single nodes: dotted names, parameters and arguments."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from functools import lru_cache
from typing import TypeAlias, overload

import libcst as cst

Node: TypeAlias = cst.CSTNode
Expression: TypeAlias = cst.BaseExpression
FunctionNode: TypeAlias = cst.FunctionDef | cst.Lambda
LoopNode: TypeAlias = cst.For | cst.While | cst.BaseComp | cst.Call
"""What runs code again and again; a call is one that runs a function for each element: `map(step, data)`."""


def dotted_name(node: Node | None) -> str | None:
    """`a.b.c` for a chain of attributes on a name, else None."""
    parts: list[str] = []
    while node.__class__ is cst.Attribute:
        parts.append(node.attr.value)
        node = node.value
    if not isinstance(node, cst.Name):
        return None
    parts.append(node.value)
    return ".".join(reversed(parts))


def parameters(function: FunctionNode) -> list[cst.Param]:
    """All parameters in order: positional-only, positional, *args, keyword-only, **kwargs."""
    params = function.params
    all_parameters = [*params.posonly_params, *params.params]
    if isinstance(params.star_arg, cst.Param):
        all_parameters.append(params.star_arg)
    all_parameters.extend(params.kwonly_params)
    if params.star_kwarg is not None:
        all_parameters.append(params.star_kwarg)
    return all_parameters


@overload
def constant_of(literal: cst.Integer) -> int: ...
@overload
def constant_of(literal: cst.Float | cst.SimpleString) -> float | str | bytes: ...
def constant_of(literal: cst.Integer | cst.Float | cst.SimpleString) -> int | float | str | bytes:
    """What a literal means, as `evaluated_value`, which has Python parse it again for each question.

    Raises:
        SyntaxError, ValueError: Python refuses it, such as a null byte.
    """
    return _constant(literal.value)


@lru_cache(maxsize=4096)
def _constant(text: str) -> int | float | str | bytes:
    value: int | float | str | bytes = ast.literal_eval(text)
    return value


def text_of(literal: cst.SimpleString) -> str | None:
    """The text of a literal; None for bytes, and for what Python refuses, such as a null byte."""
    try:
        value = constant_of(literal)
    except (SyntaxError, ValueError):
        return None
    return value if isinstance(value, str) else None


def positional_parameters(function: FunctionNode) -> list[cst.Param]:
    """The parameters that a positional argument can fill."""
    return [*function.params.posonly_params, *function.params.params]


def iterable(loop: Node) -> Expression | None:
    """What a `for`, a comprehension or `map` and its like take the elements of; None for a `while`."""
    if isinstance(loop, cst.For):
        return loop.iter
    if isinstance(loop, cst.Call):
        is_first = argument(loop, -1, "key") is not None  # `sorted(data, key=score)`
        return argument(loop, 0 if is_first else 1, "")
    return loop.for_in.iter if isinstance(loop, cst.BaseComp) else None


def loop_target(loop: Node) -> Node | None:
    """What a `for` or a comprehension binds in every iteration; None for a `while`."""
    if isinstance(loop, cst.For):
        return loop.target
    return loop.for_in.target if isinstance(loop, cst.BaseComp) else None


def argument(call: cst.Call, position: int, keyword: str) -> Expression | None:
    """The argument given at a position or by keyword; None where absent or after a `*`."""
    for index, arg in enumerate(call.args):
        if arg.keyword is not None:
            if arg.keyword.value == keyword:
                return arg.value
        elif arg.star:
            position = -1
        elif index == position:
            return arg.value
    return None


def method_name(call: cst.Call) -> str | None:
    """`fit` for `anything.fit(...)`."""
    func = call.func
    return func.attr.value if func.__class__ is cst.Attribute else None


def method_place(call: cst.Call) -> Expression:
    """Where a call names what it calls: `fit` in `anything.fit(...)`."""
    return call.func.attr if isinstance(call.func, cst.Attribute) else call.func


def asks_for_main(test: Expression) -> bool:
    """`__name__ == "__main__"`: whether a file is the program that is run."""
    sides = (
        (test.left, *(comparison.comparator for comparison in test.comparisons))
        if isinstance(test, cst.Comparison)
        else ()
    )
    return any(isinstance(side, cst.Name) and side.value == "__name__" for side in sides)


def own_attribute(node: Node) -> str | None:
    """`a` of `self.a`."""
    if isinstance(node, cst.Attribute) and isinstance(node.value, cst.Name) and node.value.value == "self":
        return node.attr.value
    return None


def part_at(value: Expression | None, path: Sequence[int | None]) -> Expression | None:
    """What a target gets: `1` for `b` of `a, b = 0, 1`, whose path is (1,)."""
    for index in path:
        if not isinstance(value, cst.Tuple | cst.List) or index is None or index >= len(value.elements):
            return None
        value = value.elements[index].value
    return value


def dict_values(table: Node) -> list[Expression]:
    """`a` and `b` of `{"x": a, "y": b}`, `a` of `{name: a for name in names}`."""
    if isinstance(table, cst.DictComp):
        return [table.value]
    return [element.value for element in table.elements] if isinstance(table, cst.Dict) else []


def displayed(expr: Expression) -> Iterator[Expression]:
    """An expression, or what is in it where it is a tuple or list, or one of some."""
    if isinstance(expr, cst.Tuple | cst.List):
        for element in expr.elements:
            yield from displayed(element.value)
    else:
        yield expr
