"""A `tf.function` that a loop makes, moved in front of it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import libcst as cst

from tflint_gpu.model import changed_in, dotted_name, loops_around, reads_any
from tflint_gpu.rule import Fix, moved_statements

if TYPE_CHECKING:
    from tflint_gpu.model import File, LoopNode, Node, ShortLived


def hoisted(made: ShortLived) -> Fix | None:
    """Make the function before the loop; None where an iteration changes something that traced code may read.

    It is unsafe: what only runs while the function is traced runs once.
    """
    file, tree = made.file, made.file.tree
    statement, name = _definition(file, made.node)
    if made.path or made.loop_file is not file or statement is None or isinstance(made.loop, cst.BaseComp):
        return None
    if tree.block(statement) is not made.loop.body:
        return None
    own = [made.loop, *loops_around(file, made.loop)]
    changed = {changed for loop in own for changed in _changed(file, loop)} - {name}
    if len(tree.scope(statement).bindings.get(name, ())) != 1 or reads_any(file, statement, changed):
        return None
    if any(_is_read_in_a_function(file, own[-1], changed_name) for changed_name in changed):
        return None
    edits = moved_statements(file, [statement], own[-1], apart=isinstance(statement, cst.FunctionDef))
    return Fix(f"Make `{name}` once, before the loop", "unsafe", edits) if edits else None


def _definition(file: File, node: Node) -> tuple[Node | None, str]:
    """The statement that makes a `tf.function`, and the name that it gives it."""
    parent = file.tree.parents.get(node)
    if isinstance(node, cst.Decorator) and isinstance(parent, cst.FunctionDef):
        return parent, parent.name.value
    target = parent.targets[0].target if isinstance(parent, cst.Assign) and len(parent.targets) == 1 else None
    return (file.tree.statement(node), target.value) if isinstance(target, cst.Name) else (None, "")


def _changed(file: File, loop: LoopNode) -> set[str]:
    """The names that an iteration binds, or whose content, attributes or state it may change."""
    assigned = {
        path.partition(".")[0]
        for assignment in file.tree.attribute_assignments
        if file.tree.within(assignment.target, loop) and (path := dotted_name(assignment.target)) is not None
    }
    calls = file.calls_below.get(loop, ())
    own = {"self" for call in calls if (dotted_name(call.func) or "").startswith("self.")}
    return {*changed_in(file, loop), *assigned, *own}


def _is_read_in_a_function(file: File, loop: LoopNode, name: str) -> bool:
    """Whether a function sees a variable of the code around a loop."""
    variables = file.tree.scope(loop).bindings.get(name, ())
    return any(
        file.tree.function(use) is not file.tree.function(loop)
        and any(binding in variables for binding in file.flow.lookup(name, use))
        for use in file.tree.uses.get(name, ())
        if isinstance(use, cst.Name)
    )
