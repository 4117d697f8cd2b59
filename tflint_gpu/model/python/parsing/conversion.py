"""Python's own tree of a file as libcst's nodes: the same tree that libcst's parser gives, without whitespace.

Python's parser takes a seventh of the time that libcst's takes, most of which goes into nodes for blanks, commas and
brackets that no question asks for. Here each of its nodes becomes the one that libcst has for the same syntax; what
is between them keeps its default. Strings of several parts, and those with expressions in them, are libcst's own.

What is written otherwise than usual (`match`, type parameters, a starred index) is left to libcst: `Unlike` says so.
"""

from __future__ import annotations

import ast
from collections.abc import Sequence
from typing import Any

import libcst as cst

from tflint_gpu.model.python.parsing.converted_expressions import (
    Expressions,
    Table,
    Unlike,
    make_annotation,
    make_attribute,
    make_element,
    make_name,
    make_tuple,
)
from tflint_gpu.model.python.parsing.node_makers import maker

__all__ = ["Statements", "Unlike", "converted"]


def converted(tree: ast.Module, text: str) -> cst.Module:
    """The nodes that libcst has for a tree.

    Arguments:
        tree: what Python's parser made of the text, without byte-order mark.

    Raises:
        Unlike: only libcst's parser knows how it makes some of it.
        RecursionError: it is nested too deeply.
    """
    return cst.Module(Statements(text).block(tree.body))


_line = maker(cst.SimpleStatementLine, "body")
_suite = maker(cst.SimpleStatementSuite, "body")
make_indented = maker(cst.IndentedBlock, "body")
_expr = maker(cst.Expr, "value")
_assign = maker(cst.Assign, "targets", "value")
_assign_target = maker(cst.AssignTarget, "target")
_function = maker(cst.FunctionDef, "name", "params", "body", "decorators", "returns", "asynchronous", "type_parameters")
_class = maker(cst.ClassDef, "name", "body", "bases", "keywords", "decorators", "type_parameters")
_return = maker(cst.Return, "value")
_if = maker(cst.If, "test", "body", "orelse")
_for = maker(cst.For, "target", "iter", "body", "orelse", "asynchronous")

_AUGMENTED: dict[type, Any] = {
    ast.Add: cst.AddAssign(), ast.Sub: cst.SubtractAssign(), ast.Mult: cst.MultiplyAssign(),
    ast.MatMult: cst.MatrixMultiplyAssign(), ast.Div: cst.DivideAssign(), ast.Mod: cst.ModuloAssign(),
    ast.Pow: cst.PowerAssign(), ast.LShift: cst.LeftShiftAssign(), ast.RShift: cst.RightShiftAssign(),
    ast.BitOr: cst.BitOrAssign(), ast.BitXor: cst.BitXorAssign(), ast.BitAnd: cst.BitAndAssign(),
    ast.FloorDiv: cst.FloorDivideAssign(),
}  # fmt: skip


class Statements(Expressions):
    """The conversion of one text."""

    def block(self, statements: Sequence[ast.stmt]) -> list[Any]:
        """The lines and compound statements of a block."""
        converted: list[Any] = []
        small: list[Any] = []
        last_row = 0
        for statement in statements:
            simple = _SIMPLE.get(statement.__class__)
            if simple is None:
                converted.append(_COMPOUND[statement.__class__](self, statement))
                last_row = 0
            elif statement.lineno == last_row:
                small.append(simple(self, statement))
                last_row = statement.end_lineno or 0
            else:
                small = [simple(self, statement)]
                converted.append(_line(small))
                last_row = statement.end_lineno or 0
        return converted

    def body(self, statements: Sequence[ast.stmt]) -> Any:
        """An indented block, or what is after the colon."""
        if self.is_on_line_of_head(statements):
            return _suite([_SIMPLE[statement.__class__](self, statement) for statement in statements])
        return make_indented(self.block(statements))

    def is_on_line_of_head(self, statements: Sequence[ast.stmt]) -> bool:
        """Whether a body is after the colon, and no block of its own."""
        first = statements[0]
        return bool(self.lines[first.lineno - 1][: first.col_offset].strip())

    def _function(self, node: Any) -> Any:
        if getattr(node, "type_params", None):
            raise Unlike
        return _function(
            make_name(node.name),
            self.parameters(node.args),
            self.body(node.body),
            self._decorators(node),
            self.annotation(node.returns),
            cst.Asynchronous() if node.__class__ is ast.AsyncFunctionDef else None,
            None,
        )

    def _decorators(self, node: Any) -> Sequence[cst.Decorator]:
        return (
            [cst.Decorator(self.expression(decorator)) for decorator in node.decorator_list]
            if node.decorator_list
            else ()
        )

    def _class(self, node: Any) -> Any:
        if getattr(node, "type_params", None):
            raise Unlike
        bases = [self.given(base) for base in node.bases]
        keywords = [self.keyword(keyword) for keyword in node.keywords]
        return _class(make_name(node.name), self.class_body(node.body), bases, keywords, self._decorators(node), None)

    def class_body(self, statements: Sequence[ast.stmt]) -> Any:
        """The block of a class."""
        return self.body(statements)

    def _if(self, node: ast.If) -> Any:
        orelse: Any = None
        if node.orelse:
            alternative = node.orelse[0]
            if alternative.__class__ is ast.If and len(node.orelse) == 1 and self._is_elif(alternative):
                orelse = self._if(alternative)
            else:
                orelse = cst.Else(self.body(node.orelse))
        return _if(self.expression(node.test), self.body(node.body), orelse)

    def _is_elif(self, node: ast.stmt) -> bool:
        line: str = self.lines[node.lineno - 1]
        return line.startswith("elif", node.col_offset)

    def _else(self, statements: Sequence[ast.stmt]) -> cst.Else | None:
        return cst.Else(self.body(statements)) if statements else None

    def _for(self, node: Any) -> Any:
        asynchronous = cst.Asynchronous() if node.__class__ is ast.AsyncFor else None
        target, items = self.expression(node.target), self.expression(node.iter)
        return _for(target, items, self.body(node.body), self._else(node.orelse), asynchronous)

    def _while(self, node: ast.While) -> cst.While:
        return cst.While(self.expression(node.test), self.body(node.body), self._else(node.orelse))

    def _with(self, node: Any) -> cst.With:
        items = [
            cst.WithItem(self.expression(item.context_expr), self._as_name(item.optional_vars)) for item in node.items
        ]
        return cst.With(items, self.body(node.body), cst.Asynchronous() if node.__class__ is ast.AsyncWith else None)

    def _as_name(self, node: ast.expr | None) -> cst.AsName | None:
        return None if node is None else cst.AsName(self.expression(node))

    def _try(self, node: Any) -> Any:
        handlers = [self._handler(node, handler) for handler in node.handlers]
        finalbody = cst.Finally(self.body(node.finalbody)) if node.finalbody else None
        kind: Any = cst.Try if node.__class__ is ast.Try else cst.TryStar
        return kind(body=self.body(node.body), handlers=handlers, orelse=self._else(node.orelse), finalbody=finalbody)

    def _handler(self, tried: Any, node: ast.ExceptHandler) -> Any:
        kind: Any = cst.ExceptHandler if tried.__class__ is ast.Try else cst.ExceptStarHandler
        name = None if node.name is None else cst.AsName(make_name(node.name))
        return kind(body=self.body(node.body), type=self.maybe(node.type), name=name)

    def _return(self, node: ast.Return) -> Any:
        return _return(self.maybe(node.value))

    def _delete(self, node: ast.Delete) -> cst.Del:
        targets = [self.expression(target) for target in node.targets]
        return cst.Del(targets[0] if len(targets) == 1 else make_tuple([make_element(target) for target in targets]))

    def _assign(self, node: ast.Assign) -> Any:
        return _assign(
            [_assign_target(self.expression(target)) for target in node.targets], self.expression(node.value)
        )

    def _augmented(self, node: ast.AugAssign) -> cst.AugAssign:
        operator = _AUGMENTED[node.op.__class__]
        return cst.AugAssign(self.expression(node.target), operator, self.expression(node.value))

    def _annotated(self, node: ast.AnnAssign) -> cst.AnnAssign:
        target, annotation = self.expression(node.target), make_annotation(self.expression(node.annotation))
        return cst.AnnAssign(target, annotation, self.maybe(node.value))

    def _raise(self, node: ast.Raise) -> cst.Raise:
        cause = None if node.cause is None else cst.From(self.expression(node.cause))
        return cst.Raise(self.maybe(node.exc), cause)

    def _assert(self, node: ast.Assert) -> cst.Assert:
        return cst.Assert(self.expression(node.test), self.maybe(node.msg))

    def _import(self, node: ast.Import) -> cst.Import:
        return cst.Import([self._alias(alias) for alias in node.names])

    def _import_from(self, node: ast.ImportFrom) -> cst.ImportFrom:
        names: Any = [self._alias(alias) for alias in node.names]
        if node.names[0].name == "*":
            names = cst.ImportStar()
        module = None if node.module is None else self._dotted(node.module)
        return cst.ImportFrom(module, names, [cst.Dot()] * node.level)

    def _alias(self, node: ast.alias) -> Any:
        if node.name == "*":
            return None
        asname = None if node.asname is None else cst.AsName(make_name(node.asname))
        return cst.ImportAlias(self._dotted(node.name), asname)

    def _dotted(self, name: str) -> Any:
        first, *others = name.split(".")
        attribute: Any = make_name(first)
        for other in others:
            attribute = make_attribute(attribute, make_name(other))
        return attribute

    def _global(self, node: ast.Global | ast.Nonlocal) -> Any:
        names = [cst.NameItem(make_name(name)) for name in node.names]
        return cst.Global(names) if isinstance(node, ast.Global) else cst.Nonlocal(names)

    def _expression_statement(self, node: ast.Expr) -> Any:
        return _expr(self.expression(node.value))


_SIMPLE = Table(
    {
        ast.Expr: Statements._expression_statement,
        ast.Assign: Statements._assign,
        ast.AugAssign: Statements._augmented,
        ast.AnnAssign: Statements._annotated,
        ast.Return: Statements._return,
        ast.Import: Statements._import,
        ast.ImportFrom: Statements._import_from,
        ast.Raise: Statements._raise,
        ast.Assert: Statements._assert,
        ast.Delete: Statements._delete,
        ast.Global: Statements._global,
        ast.Nonlocal: Statements._global,
        ast.Pass: lambda conversion, node: cst.Pass(),
        ast.Break: lambda conversion, node: cst.Break(),
        ast.Continue: lambda conversion, node: cst.Continue(),
    }
)
_COMPOUND = Table(
    {
        ast.FunctionDef: Statements._function,
        ast.AsyncFunctionDef: Statements._function,
        ast.ClassDef: Statements._class,
        ast.If: Statements._if,
        ast.For: Statements._for,
        ast.AsyncFor: Statements._for,
        ast.While: Statements._while,
        ast.With: Statements._with,
        ast.AsyncWith: Statements._with,
        ast.Try: Statements._try,
    }
)
if hasattr(ast, "TryStar"):  # since Python 3.11
    _COMPOUND[ast.TryStar] = Statements._try
