"""A part of a training under a strategy, moved into the scope next to it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import libcst as cst

from tflint_gpu.model import may_move_down, method_name, names_in, needed_behind
from tflint_gpu.rule import Edit, Fix, moved_statements

if TYPE_CHECKING:
    from tflint_gpu.model import File, Node


def moved_into_scope(file: File, node: Node) -> Fix | None:
    """The statement that makes a part, as the first or the last of a scope in its block; None where it may not move.

    It is unsafe: what draws random numbers may come in another order.
    """
    line = file.tree.statement(node)
    if isinstance(line, cst.SimpleStatementLine):
        for scope, body in _scopes_beside(file, line):
            edits = _into(file, line, scope, body)
            if edits:
                return Fix("Move it into the scope", "unsafe", edits)
    return None


def _scopes_beside(file: File, line: cst.SimpleStatementLine) -> list[tuple[cst.With, list[cst.BaseStatement]]]:
    """The scopes in the block of a line that use a variable of it, in the order of the code, with their statements."""
    tree = file.tree
    uses = (use for name in _variables(file, line) for use in tree.uses.get(name, ()))
    beside = {child for use in uses if (child := tree.child(tree.parents[line], use)) is not None}
    scopes = (node for node in beside if isinstance(node, cst.With) and _is_scope(node))
    bodies = ((scope, scope.body) for scope in sorted(scopes, key=tree.order.__getitem__))
    return [(scope, list(body.body)) for scope, body in bodies if isinstance(body, cst.IndentedBlock)]


def _is_scope(block: cst.With) -> bool:
    call = block.items[0].item
    return len(block.items) == 1 and isinstance(call, cst.Call) and method_name(call) == "scope"


def _into(file: File, statement: Node, scope: cst.With, body: list[cst.BaseStatement]) -> tuple[Edit, ...]:
    if _variables(file, statement).isdisjoint(names_in(scope.body)):
        return ()
    block = file.tree.siblings(statement)
    if block.index(statement) < block.index(scope):
        return moved_statements(file, [statement], body[0]) if may_move_down(file, statement, scope) else ()
    needed = needed_behind(file, statement, scope)
    return moved_statements(file, needed, body[-1], "below") if needed else ()


def _variables(file: File, statement: Node) -> frozenset[str]:
    """The variables of its scope that a statement names."""
    bindings = file.tree.scope(statement).bindings
    return frozenset(
        name
        for name in names_in(statement)
        if any(binding.kind in ("assign", "parameter") for binding in bindings.get(name, ()))
    )
