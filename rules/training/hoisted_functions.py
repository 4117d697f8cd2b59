"""A `tf.function` that a loop makes, moved in front of it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import libcst as cst

from tflint_gpu.model import changed_in, dotted_name, loops_around, reads_any
from tflint_gpu.rule import Fix, moved_statements

from .lifted_functions import kept_by, lifted

if TYPE_CHECKING:
    from tflint_gpu.model import File, LoopNode, Model, Node, ShortLived


def made_once(model: Model, made: ShortLived) -> Fix | None:
    """Make the function before the loop, or out of the function that makes it in each call; None where an iteration
    changes something that traced code may read.

    It is unsafe: what only runs while the function is traced runs once.
    """
    if not made.path:
        statement, name = _definition(made.file, made.node)
        return _hoisted(model, made, statement, name)
    factory = _factory(made)
    return _hoisted(model, made, *factory) if factory is not None else lifted(model, made)


def _hoisted(model: Model, made: ShortLived, statement: Node | None, name: str) -> Fix | None:
    """A statement that gives the function a name, moved in front of the loop."""
    file, tree = made.file, made.file.tree
    if made.loop_file is not file or statement is None or isinstance(made.loop, cst.BaseComp | cst.Call):
        return None
    if tree.block(statement) is not made.loop.body:
        return None
    own = [made.loop, *loops_around(file, made.loop)]
    changed = {changed for loop in own for changed in _changed(file, loop)} - {name}
    if next(kept_by(model, made), None) is not None:
        return None
    if isinstance(tree.parents[made.node], cst.FunctionDef):
        changed -= {"self"}
    if len(tree.scope(statement).bindings.get(name, ())) != 1 or reads_any(file, statement, changed):
        return None
    if any(_is_read_in_a_function(file, own[-1], changed_name) for changed_name in changed):
        return None
    edits = moved_statements(file, [statement], own[-1], apart=isinstance(statement, cst.FunctionDef))
    return Fix(f"Make `{name}` once, before the loop", "unsafe", edits) if edits else None


def _factory(made: ShortLived) -> tuple[Node, str] | None:
    """The statement of a loop that calls a function for nothing but such an object, and the name that it gives it."""
    file, call = made.file, made.path[0].node
    maker = file.tree.function(file.tree.parents[made.node] if isinstance(made.node, cst.Decorator) else made.node)
    parent = made.loop_file.tree.parents.get(call)
    target = parent.targets[0].target if isinstance(parent, cst.Assign) and len(parent.targets) == 1 else None
    if len(made.path) > 1 or not isinstance(maker, cst.FunctionDef) or not isinstance(target, cst.Name):
        return None
    values = [returned.value for returned in file.returns_of.get(maker, ())]
    is_all = bool(values) and all(value is not None and _is_traced(file, maker, value) for value in values)
    return (made.loop_file.tree.statement(call), target.value) if is_all else None


def _is_traced(file: File, maker: cst.FunctionDef, value: cst.BaseExpression) -> bool:
    """Whether a value is a `tf.function` that a function makes."""
    if isinstance(value, cst.Call):
        return file.name(value.func) == "tf.function"
    bindings = file.flow.lookup(value.value, value) if isinstance(value, cst.Name) else []
    return bool(bindings) and all(
        file.tree.within(binding.node, maker)
        and isinstance(binding.node, cst.FunctionDef)
        and any(_makes_functions(file, decorator.decorator) for decorator in binding.node.decorators)
        for binding in bindings
    )


def _makes_functions(file: File, decorator: cst.BaseExpression) -> bool:
    return file.name(decorator.func if isinstance(decorator, cst.Call) else decorator) == "tf.function"


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
        for assignment in file.tree.attributes_set_in(loop)
        if (path := dotted_name(assignment.target)) is not None
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
        if isinstance(use, cst.Name) and not isinstance(file.tree.parents[use], cst.Param)
    )
