"""The tree of a text of which most was there before: a statement whose lines are the same keeps its nodes.

What libcst's nodes say of a statement rests on its own lines alone: they hold no places. So of a text in which somebody
types only the statement that changed is converted again, and in a class only the method.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from dataclasses import field
from typing import Any

import libcst as cst

from tflint_gpu.lazy_dataclasses import dataclass
from tflint_gpu.model.python.parsing.conversion import Statements, make_indented

Lines = str
"""The text of all lines of a statement, or of several that share one."""


@dataclass(frozen=True, slots=True)
class KnownStatement:
    """A statement at the top of a text.

    Arguments:
        members: the statements of the classes in it by their lines.
    """

    node: cst.CSTNode
    members: dict[Lines, list[cst.CSTNode]] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class KnownText:
    """The tree of a text, and its statements by their lines."""

    module: cst.Module
    statements: dict[Lines, list[KnownStatement]]


def converted_again(tree: ast.Module, text: str, former: KnownText | None) -> KnownText:
    """The nodes that libcst has for a tree, where it can be those of a former text.

    No node is in the new tree twice; the former tree is not to be used any more.

    Arguments:
        tree: what Python's parser made of the text, without byte-order mark.

    Raises:
        Unlike: only libcst's parser knows how it makes some of it.
        RecursionError: it is nested too deeply.
    """
    return _Conversion(text).known(tree, former)


class _Conversion(Statements):
    """The conversion of one text."""

    def __init__(self, text: str) -> None:
        super().__init__(text)
        self._former_members: dict[Lines, list[cst.CSTNode]] = {}
        self._members: dict[Lines, list[cst.CSTNode]] = {}
        self._is_in_class = False

    def known(self, tree: ast.Module, former: KnownText | None) -> KnownText:
        """The tree of the text."""
        left = {} if former is None else {lines: list(known) for lines, known in former.statements.items()}
        groups = [(self._lines_of(group), group) for group in _groups(tree.body)]
        kept = [left[lines].pop(0) if left.get(lines) else None for lines, _ in groups]
        for known in (statement for statements in left.values() for statement in statements):
            for lines, nodes in known.members.items():
                self._former_members.setdefault(lines, []).extend(nodes)
        statements: dict[Lines, list[KnownStatement]] = {}
        body: list[Any] = []
        for (lines, group), same in zip(groups, kept, strict=True):
            known = same or self._converted(group)
            statements.setdefault(lines, []).append(known)
            body.append(known.node)
        return KnownText(cst.Module(body), statements)

    def _converted(self, group: Sequence[ast.stmt]) -> KnownStatement:
        self._members = {}
        [node] = self.block(group)
        return KnownStatement(node, self._members)

    def class_body(self, statements: Sequence[ast.stmt]) -> Any:
        """The block of a class: of one that is in no other, with what is known of its statements."""
        if self._is_in_class or self.is_on_line_of_head(statements):
            return self.body(statements)
        self._is_in_class = True
        try:
            return make_indented([self._member(group) for group in _groups(statements)])
        finally:
            self._is_in_class = False

    def _member(self, group: Sequence[ast.stmt]) -> Any:
        lines = self._lines_of(group)
        former = self._former_members.get(lines)
        node = former.pop(0) if former else self.block(group)[0]
        self._members.setdefault(lines, []).append(node)
        return node

    def _lines_of(self, group: Sequence[ast.stmt]) -> Lines:
        first, last = group[0], group[-1]
        start = min(node.lineno for node in (first, *getattr(first, "decorator_list", ())))
        return "".join(self.lines[start - 1 : last.end_lineno])


def _groups(statements: Sequence[ast.stmt]) -> Iterator[Sequence[ast.stmt]]:
    """The statements of a block; those on one line together."""
    start = 0
    for index in range(1, len(statements)):
        if statements[index].lineno != statements[index - 1].end_lineno:
            yield statements[start:index]
            start = index
    if statements:
        yield statements[start:]
