"""What passes on, or takes one element of, what it is given: `iter(x)`, `next(it)`, `d.get(k)`, `x or y`, `await x`."""

from __future__ import annotations

import builtins
from collections.abc import Iterator

import libcst as cst

from tflint_gpu.model.python.project.file import File
from tflint_gpu.model.python.syntax.syntax import Expression
from tflint_gpu.model.python.value_flow.origins import Context, Origin, Origins
from tflint_gpu.model.python.value_flow.resolver import Resolver

_PASSING = frozenset("iter list tuple reversed sorted set".split())
_PARTIAL = "functools.partial"
_KEPT = {"pickle.load": "pickle.dump", "joblib.load": "joblib.dump", "dill.load": "dill.dump"}
_NEXT_METHODS = frozenset(["next", "get_next", "__next__"])


def of_choice(resolver: Resolver, file: File, expr: cst.IfExp, context: Context | None) -> Iterator[Origin]:
    """The origins of `x if test else y`."""
    holds = resolver.tests.holds(file, expr.test, context) if context is not None else None
    if holds is not False:
        yield from resolver.of(file, expr.body, context)
    if holds is not True:
        yield from resolver.of(file, expr.orelse, context)


def of_operation(
    resolver: Resolver, file: File, expr: cst.BooleanOperation, context: Context | None
) -> Iterator[Origin]:
    """The origins of `x or y` and `x and y`."""
    if isinstance(expr.operator, cst.Or):
        yield from (origin for origin in resolver.of(file, expr.left, context) if not origin.is_none)
    yield from resolver.of(file, expr.right, context)


def of_assigned(resolver: Resolver, file: File, expr: cst.NamedExpr, context: Context | None) -> Iterator[Origin]:
    """The origins of `(name := x)`."""
    yield from resolver.of(file, expr.value, context)


def of_awaited(resolver: Resolver, file: File, expr: cst.Await, context: Context | None) -> Iterator[Origin]:
    """The origins of `await x`."""
    yield from resolver.of(file, expr.expression, context)


def passed_on(resolver: Resolver, file: File, call: cst.Call, context: Context | None) -> Origins | None:
    """What a call gives that only passes on, or takes one element of, what it is given; None for other calls."""
    func, args = call.func, [arg.value for arg in call.args if arg.keyword is None and not arg.star]
    if isinstance(func, cst.Name) and hasattr(builtins, func.value) and not file.flow.lookup(func.value, func):
        if func.value in _PASSING and len(args) == 1:
            return resolver.of(file, args[0], context)
        if func.value == "next" and args:
            return tuple(e for o in resolver.of(file, args[0], context) for e in resolver.elements(o))
        if func.value == "getattr" and len(args) >= 2:
            name = resolver.key(file, args[1], context)
            if isinstance(name, str):
                return tuple(a for o in resolver.of(file, args[0], context) for a in resolver.attribute(o, name))
        return None
    dotted = file.name(func)
    if dotted in resolver.library.passing and call.args:
        return resolver.of(file, args[0] if args else call.args[0].value, context)
    if dotted in resolver.library.choosing and args:
        return tuple(e for o in resolver.of(file, args[0], context) for e in resolver.elements(o))
    if dotted in _KEPT:  # what the same function keeps in a file where there is none yet
        dumps = [c for c in file.calls(_KEPT[dotted]) if c.args and file.tree.function(c) is file.tree.function(call)]
        return tuple(o for c in dumps for o in resolver.of(file, c.args[0].value, context)) if dumps else None
    if dotted == _PARTIAL and args:
        called = resolver.of(file, args[0], context)
        if not any(isinstance(origin.node, cst.FunctionDef | cst.Lambda) or origin.is_class for origin in called):
            return called  # a model with arguments is called as the model is
    if isinstance(func, cst.Attribute) and dotted is None:
        return _method_of_container(resolver, file, call, func, args, context)
    return None


def _method_of_container(
    resolver: Resolver, file: File, call: cst.Call, func: cst.Attribute, args: list[Expression], context: Context | None
) -> Origins | None:
    method = func.attr.value
    if method in _NEXT_METHODS and not args:
        receivers = resolver.of(file, func.value, context)
        if not any(_has_method(resolver, receiver, method) for receiver in receivers):
            return tuple(e for o in receivers for e in resolver.elements(o))
    if method in ("get", "pop", "setdefault") and args:
        items: list[Origin] = []
        for origin in resolver.of(file, func.value, context):
            if not isinstance(origin.node, cst.Dict | cst.DictComp) and not _is_dict(origin):
                return None
            items.extend(resolver.item(origin, resolver.key(file, args[0], context)))
        return (*items, *(resolver.of(file, args[1], context) if len(args) > 1 else ()))
    if method == "copy" and not args:
        receivers = resolver.of(file, func.value, context)
        if all(isinstance(receiver.node, cst.Dict | cst.List | cst.DictComp) for receiver in receivers):
            return receivers
    return None


def _has_method(resolver: Resolver, origin: Origin, name: str) -> bool:
    cls = resolver.instance_class(origin)
    return cls is not None and resolver.definitions.method(cls, name) is not None


def _is_dict(origin: Origin) -> bool:
    return origin.call is not None and origin.file.names.is_builtin(origin.call.func, "dict")
