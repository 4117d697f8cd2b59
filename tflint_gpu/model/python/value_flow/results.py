"""What functions of the project return and yield."""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from tflint_gpu.model.python.project.file import File
from tflint_gpu.model.python.project.functions import Function
from tflint_gpu.model.python.syntax.syntax import Expression
from tflint_gpu.model.python.value_flow.calls import Callee, is_library
from tflint_gpu.model.python.value_flow.origins import Content, Context, Origin, Origins
from tflint_gpu.model.python.value_flow.resolver import Resolver


def of_call(
    resolver: Resolver, file: File, call: cst.Call, context: Context | None, callee: Callee
) -> Iterator[Origin]:
    """What a call returns that runs a function of the project: the call itself where that is not known."""
    function = callee.function
    replaced = resolver.definitions.decorators.may_replace(function.file, function.node)
    inside = resolver.contexts.enter(file, call, context, callee) if not replaced else None
    if inside is None or function.file.yields_of.get(function.node):
        yield Origin(file, call, context)
        return
    returned = function.file.returned(function.node)
    for value in _reached(resolver, function.file, returned, inside):
        yield from resolver.of(function.file, value, inside)
    if not returned:
        yield Origin(file, call, context)


def _reached(resolver: Resolver, file: File, returned: list[Expression], context: Context) -> list[Expression]:
    """Those of several values that a call may return: `if training: return a` and `return b` are one each."""
    if len(returned) < 2:
        return returned
    return [value for value in returned if not resolver.tests.is_switched_off(file, value, context)] or returned


def yielded(resolver: Resolver, file: File, call: cst.Call, context: Context | None) -> Origins | None:
    """What a call of a generator function of the project yields; None where it is none."""
    origins: list[Origin] = []
    generators = [c for c in resolver.callees(file, call, context) if c.function.file.yields_of.get(c.function.node)]
    for callee in generators:
        inside = resolver.contexts.enter(file, call, context, callee)
        origins.extend(_yields(resolver, callee.function, inside))
    return tuple(origins) if generators else None


def of_method(resolver: Resolver, receiver: Origin, method: Function) -> Origins:
    """What a method without arguments returns, or yields if it is a generator."""
    context = resolver.contexts.constructed(receiver, method)
    origins = list(_yields(resolver, method, context))
    for value in method.file.returned(method.node) if not origins else ():
        origins.extend(resolver.of(method.file, value, context))
    return tuple(origins) or (receiver.content(Content("item")),)


def entered(resolver: Resolver, origin: Origin) -> Origins:
    """What `with` gives a name: what `__enter__` returns, or a generator yields; else the value itself."""
    cls = resolver.instance_class(origin)
    method = resolver.definitions.method(cls, "__enter__") if cls is not None else None
    if method is not None:
        return of_method(resolver, origin, method)
    if (call := origin.call) is None or is_library(origin.made_by):
        return (origin,)
    return yielded(resolver, origin.file, call, origin.context) or (origin,)


def _yields(resolver: Resolver, function: Function, context: Context | None) -> Iterator[Origin]:
    for node in function.file.yields_of.get(function.node, ()):
        if isinstance(node.value, cst.From):
            for origin in resolver.of(function.file, node.value.item, context):
                yield from resolver.elements(origin)
        elif node.value is not None:
            yield from resolver.of(function.file, node.value, context)
