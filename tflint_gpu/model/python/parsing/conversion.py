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
from tflint_gpu.model.python.parsing.node_classes import maker

__all__ = ["Unlike", "converted"]


def converted(tree: ast.Module, text: str) -> cst.Module:
    """The nodes that libcst has for a tree.

    Arguments:
        tree: what Python's parser made of the text, without byte-order mark.

    Raises:
        Unlike: only libcst's parser knows how it makes some of it.
        RecursionError: it is nested too deeply.
    """
    return cst.Module(_Statements(text).block(tree.body))


_line = maker(cst.SimpleStatementLine, "body")
_suite = maker(cst.SimpleStatementSuite, "body")
_indented = maker(cst.IndentedBlock, "body")
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


class _Statements(Expressions):
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
        first = statements[0]
        if self.lines[first.lineno - 1][: first.col_offset].strip():
            return _suite([_SIMPLE[statement.__class__](self, statement) for statement in statements])
        return _indented(self.block(statements))

    def function(self, node: Any) -> Any:
        if getattr(node, "type_params", None):
            raise Unlike
        return _function(
            make_name(node.name),
            self.parameters(node.args),
            self.body(node.body),
            self.decorators(node),
            self.annotation(node.returns),
            cst.Asynchronous() if node.__class__ is ast.AsyncFunctionDef else None,
            None,
        )

    def decorators(self, node: Any) -> Sequence[cst.Decorator]:
        return (
            [cst.Decorator(self.expression(decorator)) for decorator in node.decorator_list]
            if node.decorator_list
            else ()
        )

    def class_(self, node: Any) -> Any:
        if getattr(node, "type_params", None):
            raise Unlike
        bases = [self.given(base) for base in node.bases]
        keywords = [self.keyword(keyword) for keyword in node.keywords]
        return _class(make_name(node.name), self.body(node.body), bases, keywords, self.decorators(node), None)

    def if_(self, node: ast.If) -> Any:
        orelse: Any = None
        if node.orelse:
            alternative = node.orelse[0]
            if alternative.__class__ is ast.If and len(node.orelse) == 1 and self.is_elif(alternative):
                orelse = self.if_(alternative)
            else:
                orelse = cst.Else(self.body(node.orelse))
        return _if(self.expression(node.test), self.body(node.body), orelse)

    def is_elif(self, node: ast.stmt) -> bool:
        line: str = self.lines[node.lineno - 1]
        return line.startswith("elif", node.col_offset)

    def else_(self, statements: Sequence[ast.stmt]) -> cst.Else | None:
        return cst.Else(self.body(statements)) if statements else None

    def for_(self, node: Any) -> Any:
        asynchronous = cst.Asynchronous() if node.__class__ is ast.AsyncFor else None
        target, items = self.expression(node.target), self.expression(node.iter)
        return _for(target, items, self.body(node.body), self.else_(node.orelse), asynchronous)

    def while_(self, node: ast.While) -> cst.While:
        return cst.While(self.expression(node.test), self.body(node.body), self.else_(node.orelse))

    def with_(self, node: Any) -> cst.With:
        items = [
            cst.WithItem(self.expression(item.context_expr), self.as_name(item.optional_vars)) for item in node.items
        ]
        return cst.With(items, self.body(node.body), cst.Asynchronous() if node.__class__ is ast.AsyncWith else None)

    def as_name(self, node: ast.expr | None) -> cst.AsName | None:
        return None if node is None else cst.AsName(self.expression(node))

    def try_(self, node: Any) -> Any:
        handlers = [self.handler(node, handler) for handler in node.handlers]
        finalbody = cst.Finally(self.body(node.finalbody)) if node.finalbody else None
        kind: Any = cst.Try if node.__class__ is ast.Try else cst.TryStar
        return kind(body=self.body(node.body), handlers=handlers, orelse=self.else_(node.orelse), finalbody=finalbody)

    def handler(self, tried: Any, node: ast.ExceptHandler) -> Any:
        kind: Any = cst.ExceptHandler if tried.__class__ is ast.Try else cst.ExceptStarHandler
        name = None if node.name is None else cst.AsName(make_name(node.name))
        return kind(body=self.body(node.body), type=self.maybe(node.type), name=name)

    def return_(self, node: ast.Return) -> Any:
        return _return(self.maybe(node.value))

    def delete(self, node: ast.Delete) -> cst.Del:
        targets = [self.expression(target) for target in node.targets]
        return cst.Del(targets[0] if len(targets) == 1 else make_tuple([make_element(target) for target in targets]))

    def assign(self, node: ast.Assign) -> Any:
        return _assign(
            [_assign_target(self.expression(target)) for target in node.targets], self.expression(node.value)
        )

    def augmented(self, node: ast.AugAssign) -> cst.AugAssign:
        operator = _AUGMENTED[node.op.__class__]
        return cst.AugAssign(self.expression(node.target), operator, self.expression(node.value))

    def annotated(self, node: ast.AnnAssign) -> cst.AnnAssign:
        target, annotation = self.expression(node.target), make_annotation(self.expression(node.annotation))
        return cst.AnnAssign(target, annotation, self.maybe(node.value))

    def raise_(self, node: ast.Raise) -> cst.Raise:
        cause = None if node.cause is None else cst.From(self.expression(node.cause))
        return cst.Raise(self.maybe(node.exc), cause)

    def assert_(self, node: ast.Assert) -> cst.Assert:
        return cst.Assert(self.expression(node.test), self.maybe(node.msg))

    def import_(self, node: ast.Import) -> cst.Import:
        return cst.Import([self.alias(alias) for alias in node.names])

    def import_from(self, node: ast.ImportFrom) -> cst.ImportFrom:
        names: Any = [self.alias(alias) for alias in node.names]
        if node.names[0].name == "*":
            names = cst.ImportStar()
        module = None if node.module is None else self.dotted(node.module)
        return cst.ImportFrom(module, names, [cst.Dot()] * node.level)

    def alias(self, node: ast.alias) -> Any:
        if node.name == "*":
            return None
        asname = None if node.asname is None else cst.AsName(make_name(node.asname))
        return cst.ImportAlias(self.dotted(node.name), asname)

    def dotted(self, name: str) -> Any:
        first, *others = name.split(".")
        attribute: Any = make_name(first)
        for other in others:
            attribute = make_attribute(attribute, make_name(other))
        return attribute

    def global_(self, node: ast.Global | ast.Nonlocal) -> Any:
        names = [cst.NameItem(make_name(name)) for name in node.names]
        return cst.Global(names) if isinstance(node, ast.Global) else cst.Nonlocal(names)

    def expression_statement(self, node: ast.Expr) -> Any:
        return _expr(self.expression(node.value))


_SIMPLE = Table(
    {
        ast.Expr: _Statements.expression_statement,
        ast.Assign: _Statements.assign,
        ast.AugAssign: _Statements.augmented,
        ast.AnnAssign: _Statements.annotated,
        ast.Return: _Statements.return_,
        ast.Import: _Statements.import_,
        ast.ImportFrom: _Statements.import_from,
        ast.Raise: _Statements.raise_,
        ast.Assert: _Statements.assert_,
        ast.Delete: _Statements.delete,
        ast.Global: _Statements.global_,
        ast.Nonlocal: _Statements.global_,
        ast.Pass: lambda conversion, node: cst.Pass(),
        ast.Break: lambda conversion, node: cst.Break(),
        ast.Continue: lambda conversion, node: cst.Continue(),
    }
)
_COMPOUND = Table(
    {
        ast.FunctionDef: _Statements.function,
        ast.AsyncFunctionDef: _Statements.function,
        ast.ClassDef: _Statements.class_,
        ast.If: _Statements.if_,
        ast.For: _Statements.for_,
        ast.AsyncFor: _Statements.for_,
        ast.While: _Statements.while_,
        ast.With: _Statements.with_,
        ast.AsyncWith: _Statements.with_,
        ast.Try: _Statements.try_,
    }
)
if hasattr(ast, "TryStar"):  # since Python 3.11
    _COMPOUND[ast.TryStar] = _Statements.try_
