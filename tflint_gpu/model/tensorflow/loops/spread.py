"""Which names in a loop or function hold what some of its names and expressions give."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import libcst as cst

from tflint_gpu.model.python.project.file import File
from tflint_gpu.model.python.syntax.children import children
from tflint_gpu.model.python.syntax.syntax import Expression, FunctionNode, LoopNode, Node
from tflint_gpu.model.tensorflow.loops.block_bindings import body_of, bound_by


def subscripts_of(file: File, loop: LoopNode) -> Iterator[cst.Subscript]:
    """The subscripts in a loop's body of names and attributes that the body does not make."""
    made = _bound_in(file, loop)
    for subscript in file.tree.inside(file.tree.subscripts, body_of(loop)):
        base: Expression = subscript.value
        if not isinstance(base, cst.Name | cst.Attribute):
            continue
        while isinstance(base, cst.Attribute):
            base = base.value
        if not isinstance(base, cst.Name) or base.value not in made:
            yield subscript


def _bound_in(file: File, loop: LoopNode) -> set[str]:
    """The names that the loop's body assigns."""
    bound = bound_by(file, loop, file.tree.scope(loop))
    return {binding.name for binding in bound if binding.kind in ("assign", "augment")}


def spread_names(file: File, block: LoopNode | FunctionNode, names: set[str], sources: set[Node]) -> frozenset[str]:
    """The names, and all that the loop's body assigns from something that mentions one of them."""
    bound = bound_by(file, block, file.tree.scopes.get(block) or file.tree.scope(block))
    assigned = [binding for binding in bound if binding.value is not None and binding.kind in ("assign", "for")]
    held = set(names)
    for _ in range(len(assigned) + 1):
        more = {b.name for b in assigned if b.name not in held and b.value and mentions(file, b.value, held, sources)}
        if not more:
            break
        held |= more
    return frozenset(held)


def mentions(
    file: File, expr: Node, names: frozenset[str] | set[str], sources: frozenset[Node] | set[Node] = frozenset()
) -> bool:
    """Whether an expression is made of some names or sources; what it calls does not count."""
    mentioned = file.once(_Mentioned)[expr]
    return not mentioned.isdisjoint(names) or not mentioned.isdisjoint(sources)


class _Mentioned(dict[Node, frozenset[str | Node]]):
    """What expressions of a file are made of, as names and as nodes."""

    def __init__(self, file: File) -> None:
        super().__init__()

    def __missing__(self, expr: Node) -> frozenset[str | Node]:
        parts: list[str | Node] = []
        stack: list[Node] = [expr]
        while stack:
            node: Any = stack.pop()
            kind = node.__class__
            if kind is cst.Name:
                parts.append(node.value)
            parts.append(node)
            if kind is cst.Attribute or kind is cst.Arg:
                stack.append(node.value)
            elif kind is cst.Call:  # what is called is not what it is given
                stack.extend(node.args)
                if node.func.__class__ is cst.Attribute:
                    stack.append(node.func)
            else:
                stack.extend(children(node))
        self[expr] = frozenset(parts)
        return self[expr]


def target_names(target: Node) -> Iterator[str]:
    """The names that a loop's target binds."""
    if isinstance(target, cst.Name):
        yield target.value
    elif isinstance(target, cst.Tuple | cst.List):
        for element in target.elements:
            yield from target_names(element.value)
