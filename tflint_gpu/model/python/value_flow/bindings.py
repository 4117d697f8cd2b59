"""The origins of names: what the bindings that reach a name give it, in its own file or the one it is imported from."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

import libcst as cst

from tflint_gpu.bounds import REACHING_BINDINGS
from tflint_gpu.model.python.project.definitions import Definition, definition_of, starred_definition
from tflint_gpu.model.python.project.file import File
from tflint_gpu.model.python.syntax.scopes import Binding
from tflint_gpu.model.python.syntax.syntax import Expression
from tflint_gpu.model.python.value_flow import call_sites, contents
from tflint_gpu.model.python.value_flow.library import is_library
from tflint_gpu.model.python.value_flow.origins import Context, Origin
from tflint_gpu.model.python.value_flow.resolver import Resolver


def of_name(resolver: Resolver, file: File, expr: cst.Name, context: Context | None) -> Iterator[Origin]:
    """The origins of a name where it is read."""
    dotted = file.name(expr)
    if dotted is not None and is_library(dotted):
        yield Origin(file, expr)
        return
    bindings = file.flow.lookup(expr.value, expr)
    if context is not None and len(bindings) > 1:
        bindings = file.flow.lookup(expr.value, expr, partial(_decided, resolver, file, context)) or bindings
    if len(bindings) > REACHING_BINDINGS.limit and file.flow.is_cut(bindings):
        resolver.meet(REACHING_BINDINGS)
    if not bindings:
        known = definition_of(resolver.project, file, dotted, resolver.meet) if dotted is not None else None
        definition = known or starred_definition(resolver.project, file, expr.value, resolver.meet)
        if definition is not None:
            yield from of_definition(resolver, definition, expr)
        else:
            yield Origin(file, expr)
    for binding in bindings:
        yield from of_binding(resolver, file, binding, expr, context)


def _decided(resolver: Resolver, file: File, context: Context, branch: cst.If) -> bool | None:
    return resolver.holds(file, branch.test, context)


def of_definition(resolver: Resolver, definition: Definition, expr: Expression) -> Iterator[Origin]:
    """What the bindings of a name of another file give it; `expr` is the name, where it is read."""
    for binding in definition.bindings:
        yield from of_binding(resolver, definition.file, binding, expr, None)


def of_binding(
    resolver: Resolver, file: File, binding: Binding, expr: Expression, context: Context | None
) -> Iterator[Origin]:
    """What a binding gives its name; `expr` is the name, where it is read."""
    value = binding.value
    if binding.kind == "import":
        definition = definition_of(resolver.project, file, binding.target, resolver.meet)
        if definition is not None and definition.binding is not binding:
            yield from of_definition(resolver, definition, expr)
        else:
            yield Origin(file, expr)
    elif binding.kind in ("function", "class"):
        yield Origin(file, binding.node, context)
    elif binding.kind == "parameter":
        yield from call_sites.parameter_origins(resolver, file, binding.node, context)
    elif value is None:
        yield Origin(file, expr)
    elif binding.kind == "for":
        found_here = tuple(e for o in resolver.of(file, value, context) for e in resolver.elements(o))
        yield from contents.along(resolver, found_here, binding.path)
    elif binding.kind in ("assign", "with"):
        yield from contents.along(resolver, resolver.of(file, value, context), binding.path)
    elif binding.kind == "augment" and isinstance(value, cst.List | cst.Tuple | cst.ListComp):
        yield from resolver.of(file, value, context)  # `datasets += [one]`
    else:
        yield Origin(file, binding.node, context)
