"""Layers that a method makes in every call, made once in `__init__`."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import libcst as cst

from tflint_gpu.model import children, names_in
from tflint_gpu.rule import Edit, Fix

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tflint_gpu.model import Class, Created, File, Model

_LAYERS = "keras.layers."
_LOOPS = (cst.For, cst.While, cst.BaseComp, cst.Lambda)


def made_in_init(model: Model, created: Sequence[Created]) -> Fix | None:
    """Make layers in `__init__`, after that of the base class; None where that may make others, or not all.

    It is unsafe: called eagerly, a layer keeps its weights then.
    """
    owner = created[0].traced.function.owner
    if owner is None or owner.file is not model.file or any(each.traced.file is not model.file for each in created):
        return None
    file, below = owner.file, _after_base(owner)
    if below is None or not all(_is_movable(file, owner, each) for each in created):
        return None
    taken = {node.attr.value for node in file.tree.nodes(cst.Attribute)}
    names = []
    for each in created:
        names.append(_attribute(file.name(each.call.func) or "", taken))
        taken.add(names[-1])
    made = [f"self.{name} = {file.code(each.call)}\n" for name, each in zip(names, created, strict=True)]
    text = "".join(file.indentation(below) + line for line in made)
    used = (Edit(each.call, f"self.{name}") for name, each in zip(names, created, strict=True))
    return Fix("Make it once, in `__init__`", "unsafe", (Edit(below, text, "below"), *used))


def _after_base(owner: Class) -> cst.SimpleStatementLine | None:
    """The statement of `__init__` in which the base class prepares itself."""
    body = owner.node.body.body
    methods = [m for m in body if isinstance(m, cst.FunctionDef) and m.name.value == "__init__"]
    lines = [line for method in methods for line in children(method.body) if isinstance(line, cst.SimpleStatementLine)]
    for line in lines if len(methods) == 1 else ():
        call = line.body[0].value if len(line.body) == 1 and isinstance(line.body[0], cst.Expr) else None
        if isinstance(call, cst.Call) and isinstance(call.func, cst.Attribute) and call.func.attr.value == "__init__":
            return line
    return None


def _is_movable(file: File, owner: Class, created: Created) -> bool:
    """Whether a method calls a layer right where it makes it, once in a call, of what the module knows."""
    call, tree = created.call, file.tree
    parent = tree.parents[call]
    if not (file.name(call.func) or "").startswith(_LAYERS) or not (
        isinstance(parent, cst.Call) and parent.func is call
    ):
        return False
    method = tree.function(call)
    if not isinstance(method, cst.FunctionDef) or tree.class_of(method) is not owner.node or not _is_of_self(method):
        return False
    inside = [node for node in tree.ancestors(call) if tree.within(node, method)]
    if any(isinstance(node, _LOOPS) for node in inside) or "\n" in file.code(call):
        return False
    local = {name for scope in (tree.scope(call), tree.scopes[owner.node]) for name in scope.bindings}
    return not names_in(call) & local


def _is_of_self(method: cst.FunctionDef) -> bool:
    parameters = method.params.params
    return bool(parameters) and parameters[0].name.value == "self" and not method.decorators


def _attribute(layer: str, taken: set[str]) -> str:
    """`SpatialDropout2D` as `spatial_dropout_2d`, or with a number where that is taken."""
    words = re.sub(r"(?<=[a-z])(?=[A-Z0-9])|(?<=[A-Z])(?=[A-Z][a-z])", "_", layer.rpartition(".")[2]).lower()
    return next(name for n in range(1, len(taken) + 2) if (name := words if n == 1 else f"{words}_{n}") not in taken)
