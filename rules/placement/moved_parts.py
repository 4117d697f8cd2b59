"""A part of a training under a strategy, moved into the scope next to it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import libcst as cst

from tflint_gpu.model import in_one_block, may_move_down, method_name, names_in, needed_behind
from tflint_gpu.rule import Edit, Fix, moved_statements

if TYPE_CHECKING:
    from tflint_gpu.model import File, Node


def moved_into_scope(file: File, node: Node) -> Fix | None:
    """The statement that makes a part, as the first or the last of a scope in its block; None where it may not move.

    It is unsafe: what draws random numbers may come in another order.
    """
    scopes = [block for block in file.tree.nodes(cst.With) if _is_scope(block)]
    for scope in scopes:
        statements = in_one_block(file, node, scope)
        if statements is None or statements[1] is not scope or not isinstance(scope.body, cst.IndentedBlock):
            continue
        edits = _into(file, statements[0], scope, list(scope.body.body))
        if edits:
            return Fix("Move it into the scope", "unsafe", edits)
    return None


def _is_scope(block: cst.With) -> bool:
    call = block.items[0].item
    return len(block.items) == 1 and isinstance(call, cst.Call) and method_name(call) == "scope"


def _into(file: File, statement: Node, scope: cst.With, body: list[cst.BaseStatement]) -> tuple[Edit, ...]:
    if not isinstance(statement, cst.SimpleStatementLine) or not _bound(file, statement, scope):
        return ()
    block = file.tree.siblings(statement)
    if block.index(statement) < block.index(scope):
        return moved_statements(file, [statement], body[0]) if may_move_down(file, statement, scope) else ()
    needed = needed_behind(file, statement, scope)
    return moved_statements(file, needed, body[-1], "below") if needed else ()


def _bound(file: File, statement: Node, scope: cst.With) -> frozenset[str]:
    """The variables that a statement and a scope share."""
    shared = names_in(statement) & names_in(scope.body)
    bindings = file.tree.scope(statement).bindings
    return frozenset(
        name for name in shared if any(binding.kind in ("assign", "parameter") for binding in bindings.get(name, ()))
    )
