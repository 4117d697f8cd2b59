"""A `tf.function` that each call of a function makes, moved out of it: as a method, or as a function of the module."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import TYPE_CHECKING

import libcst as cst

from tflint_gpu.model import (
    KeptValues,
    Kinds,
    Pipelines,
    RunSite,
    argument,
    free,
    head,
    runs_once,
    set_apart,
    text_at,
)
from tflint_gpu.rule import Edit, Fix

if TYPE_CHECKING:
    from tflint_gpu.model import Blocker, File, Model, ShortLived

_HANDED = ("model", "optimizer", "layer", "metric", "loss")


def lifted(model: Model, made: ShortLived) -> Fix | None:
    """Define the function once; None where it reads what only the function around it knows, or what may change.

    It is unsafe: what only runs while the function is traced runs once. A method has a graph for each object; a
    function of the module is given the models and optimizers that it trains.
    """
    file, tree = made.file, made.file.tree
    inner = tree.parents[made.node]
    around = tree.function(inner)
    if not isinstance(inner, cst.FunctionDef) or not isinstance(around, cst.FunctionDef):
        return None
    if len(inner.decorators) > 1 or around.decorators or tree.function(around) is not None:
        return None
    calls = _calls(file, inner)
    if calls is None or next(kept_by(model, made), None) is not None:
        return None
    if not all(_is_data(model, file, arg.value) for call in calls for arg in call.args):
        return None
    names = _local_names(file, inner, around)
    owner = around.params.params[0].name.value if tree.class_of(around) is not None and around.params.params else ""
    if owner:
        name = _method_name(model, file, inner, around) if names <= {owner} else None
        handed = [owner]
    else:
        handed = sorted(names)
        name = inner.name.value if all(_may_be_handed(model, file, inner, given) for given in handed) else None
        name = None if name in tree.root.bindings else name
    if name is None or (tree.class_of(around) is not None and not owner):
        return None
    indentation = file.indentation(around)
    text, old = text_at(file, inner, indentation), f"def {inner.name.value}("
    if text is None or text.count(old) != 1:
        return None
    new = f"def {name}({', '.join(handed)}{', ' if inner.params.params and handed else ''}"
    definition = set_apart(file, around, text.replace(old, new), indentation)
    edits = [Edit(around, definition, "above"), Edit(head(inner), "", "commented lines", last=inner)]
    for call in calls:
        if owner:
            edits.append(Edit(call.func, f"{owner}.{name}"))
        elif handed:
            given = ", ".join(handed)
            edits.append(Edit(call.args[0], f"{given}, ", "before") if call.args else Edit(call, f"{name}({given})"))
    where = "as a method" if owner else "outside of the function"
    return Fix(f"Define `{name}` once, {where}", "unsafe", tuple(edits), defines=(name,))


def kept_by(model: Model, made: ShortLived) -> Iterator[Blocker]:
    """What a function that is made once would keep as it is at its first call, and each new one sees."""
    file, node = made.file, made.node
    parent = file.tree.parents[node]
    if isinstance(parent, cst.FunctionDef):
        functions = [model.inference.definitions.function(file, parent)]
    else:
        given = argument(node, 0, "func") if isinstance(node, cst.Call) else None
        callables = model.inference.callables(file, given) if given is not None else ()
        functions = [callee.function for callee in callables]
    if functions:
        yield from model.once(KeptValues).of(
            functions, [(made.loop_file, made.path[0].node if made.path else made.node)]
        )


def _calls(file: File, inner: cst.FunctionDef) -> list[cst.Call] | None:
    """The calls of a function in the one that defines it; None where it is used in another way, or elsewhere."""
    tree, name = file.tree, inner.name.value
    if len(tree.scope(inner).bindings.get(name, ())) != 1:
        return None
    calls = []
    for use in tree.uses.get(name, ()):
        parent = tree.parents[use]
        if parent is inner or not any(binding.node is inner for binding in file.flow.lookup(name, use)):
            continue
        if not isinstance(parent, cst.Call) or parent.func is not use or tree.function(use) is not tree.function(inner):
            return None
        calls.append(parent)
    return calls


def _is_data(model: Model, file: File, value: cst.BaseExpression) -> bool:
    """Whether an argument is a tensor or an array: of other models it would get, the second may make no variables."""
    kinds, pipelines = model.once(Kinds), model.once(Pipelines)
    return model.inference.must_be(
        file, value, lambda origin: kinds.of(origin) in ("tensor", "array") or pipelines.must_yield(origin)
    )


def _local_names(file: File, inner: cst.FunctionDef, around: cst.FunctionDef) -> set[str]:
    """The names of the function around that a function reads; all where it does not parse by itself."""
    local = set(file.tree.scope(inner).bindings)
    written = [node for node in file.python_statements(inner) if isinstance(node, ast.FunctionDef)]
    return {name for node in written for name in free(node)} & local if written else local


def _method_name(model: Model, file: File, inner: cst.FunctionDef, around: cst.FunctionDef) -> str | None:
    """A name for a method that neither the class nor its bases have; None where they may have all."""
    cls = model.inference.definitions.enclosing(file, around)
    if cls is None or file.tree.function(cls.node) is not None or cls.node.decorators:
        return None
    taken = {node.attr.value for node in file.tree.nodes(cst.Attribute)}
    taken |= {node.name.value for node in file.tree.nodes(cst.FunctionDef) if file.tree.class_of(node) is not None}
    own = inner.name.value
    names = [f"traced_{own}"] if cls.node.bases else [own, f"traced_{own}"]
    return next((name for name in names if name not in taken), None)


def _may_be_handed(model: Model, file: File, inner: cst.FunctionDef, name: str) -> bool:
    """Whether what a function reads of the one around it is a parameter that is always the same model or the like."""
    bindings = file.tree.scope(inner).bindings.get(name, ())
    use = next(use for use in file.tree.uses[name] if file.tree.within(use, inner))
    if len(bindings) != 1 or bindings[0].kind != "parameter" or not isinstance(use, cst.Name):
        return False
    origins = model.inference.of(file, use)
    return bool(origins) and all(
        model.once(Kinds).of(origin) in _HANDED and runs_once(model.inference, RunSite(origin.file, origin.node))
        for origin in origins
    )
