"""The children of libcst's nodes that mean something: more than half of a tree is whitespace."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import fields
from functools import cache
from itertools import chain, count

import libcst as cst

from tflint_gpu.model.python.syntax.syntax import Node

_MEANINGLESS = frozenset(
    (
        "lpar rpar lbracket rbracket lbrace rbrace leading_lines lines_after_decorators trailing_whitespace "
        "header footer indent comma semicolon equal colon dot first_colon second_colon star operator "
        "comparison_operator attr keyword start end prefix conversion equality asynchronous relative encoding "
        "default_indent default_newline has_trailing_newline annotation type_parameters posonly_ind "
        "star_equal leading_whitespace separator trailing_comma"
    ).split()
)
_LEAVES = (cst.Name, cst.Integer, cst.Float, cst.Imaginary, cst.SimpleString, cst.Ellipsis, cst.Pass)


class _ChildFields(dict[type, tuple[str, ...]]):
    """For each node class, the fields whose nodes are worth a visit; filled as classes turn up."""

    def __missing__(self, cls: type) -> tuple[str, ...]:
        if issubclass(cls, _LEAVES):
            names: tuple[str, ...] = ()
        else:
            names = tuple(
                f.name
                for f in fields(cls)  # type: ignore[arg-type]
                if f.name not in _MEANINGLESS and not f.name.startswith("whitespace") and not f.name.startswith("_")
            )
        self[cls] = names[::-1]
        return self[cls]


class _IsNode(dict[type, bool]):
    """Whether a class is one of nodes: asking an abstract base class each time is slow."""

    def __missing__(self, cls: type) -> bool:
        self[cls] = issubclass(cls, cst.CSTNode)
        return self[cls]


CHILD_FIELDS = _ChildFields()
IS_NODE = _IsNode()


def children(node: Node) -> list[Node]:
    """The parts of a node that mean something, in the order of the code; `node.children` visits whitespace, too."""
    nodes: list[Node] = []
    for name in reversed(CHILD_FIELDS[node.__class__]):
        child = getattr(node, name)
        if child.__class__ is tuple or child.__class__ is list:
            nodes.extend(child)
        elif IS_NODE[child.__class__]:
            nodes.append(child)
    return nodes


def walk(node: Node) -> Iterator[Node]:
    """A node and all that is in it, in no particular order."""
    stack = [node]
    while stack:
        visited = stack.pop()
        yield visited
        stack.extend(children(visited))


def names_in(*nodes: Node) -> frozenset[str]:
    """All names, without attributes, in some code."""
    return frozenset(
        descendant.value for node in nodes for descendant in walk(node) if isinstance(descendant, cst.Name)
    )


_TEXTS = frozenset([cst.Name, cst.Integer, cst.Float, cst.Imaginary, cst.SimpleString, cst.FormattedStringText])


def spelling(node: Node) -> str:
    """A text that two pieces of code share where they are the same, however they are set; it has all their words.

    For comparing and for looking for words, where `File.code` would have libcst parse a statement; nothing to show.
    """
    kind = node.__class__
    if kind in _TEXTS:
        return str(node.value)  # type: ignore[attr-defined]
    if kind is cst.Attribute:
        return f"{spelling(node.value)}.{node.attr.value}"  # type: ignore[attr-defined]
    parts = [spelling(child) for child in children(node)]
    operator = getattr(node, "operator", None)
    keyword = getattr(node, "keyword", None)
    own = "" if operator is None else type(operator).__name__
    own += "" if keyword is None else f"{keyword.value}="
    return f"{kind.__name__}{getattr(node, 'star', '') or ''}({own} {', '.join(parts)})"


def numbered(nodes: Iterable[Node]) -> dict[Node, int]:
    """Each node with its place among some."""
    return dict(zip(nodes, chain.from_iterable(map(_numbers, count())), strict=False))


@cache
def _numbers(block: int) -> list[int]:
    """A thousand numbers: the same objects for all files, since one takes as much memory as its entry in a dict."""
    return list(range(1000 * block, 1000 * block + 1000))
