"""How a program gets to a place: from its module's own statements through calls to the function that holds it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import islice

import libcst as cst

from tflint_gpu.model import Model
from tflint_gpu.model.python.classes import Class
from tflint_gpu.model.python.syntax import FunctionNode, Node

_LONGEST = 12
_MOST = 16


@dataclass(frozen=True, slots=True)
class Stop:
    """A place on the way.

    Arguments:
        forward: the way goes on by itself from here: an object is made whose method is called later.
    """

    model: Model
    node: Node
    forward: bool = False


Route = tuple[Stop, ...]


def find_routes(model: Model, node: Node, entry: Model) -> list[Route]:
    """The stops from a statement of the entry's module down to the place, by each known call that leads there.

    The shortest come first. The way to a function ends at what calls it, or at what makes the object whose method it
    is.

    Arguments:
        model: the file of the place.
        node: the place: a function that is to be called, or anything else that is to be reached.
        entry: the file that is run.
    """
    previous, entry.project.current = entry.project.current, entry
    try:
        return list(islice(_search(Stop(model, node), entry), _MOST))
    finally:
        entry.project.current = previous


def _search(goal: Stop, entry: Model) -> Iterator[Route]:
    """Breadth first."""
    queue: list[Route] = [(goal,)]
    seen: set[Node] = set()
    while queue:
        route = queue.pop(0)
        first = route[0]
        function = first.node if isinstance(first.node, cst.FunctionDef | cst.Lambda) and len(route) == 1 else None
        function = function or first.model.tree.function(first.node)
        if function is None:
            if first.model is entry:
                yield route[:-1] if isinstance(goal.node, cst.FunctionDef | cst.Lambda) else route
            continue
        if len(route) < _LONGEST:
            for stop in _before(first.model, function):
                if stop.node not in seen:
                    seen.add(stop.node)
                    queue.append((replace(stop, forward=stop.forward or first.forward), *route))


def _before(model: Model, function: FunctionNode) -> Iterator[Stop]:
    """The places from which a function is run: its calls, or where the object is made whose method it is."""
    if isinstance(function, cst.Lambda):
        yield Stop(model, function, forward=True)
        return
    calls = model.functions.callers(function)
    makes = isinstance(function, cst.FunctionDef) and function.name.value == "__init__"
    for call in calls:
        yield Stop(call.model, call.node, forward=makes)
    owner = model.tree.class_of(function)
    if owner is not None:
        yield from _constructions(Class(model, owner))
    elif not calls:
        yield from _mentions(model, function)


def _constructions(cls: Class) -> Iterator[Stop]:
    """The calls of a class and of its subclasses, in its own file and in the one that is run."""
    for model in _files(cls.model):
        for call in model.tree.calls:
            found = model.classes.named(call.func)
            if found is not None and (found.node is cls.node or _derives(found, cls)):
                yield Stop(model, call, forward=True)


def _derives(cls: Class, base: Class, depth: int = 0) -> bool:
    if depth > _LONGEST:
        return False
    for argument in cls.node.bases:
        found = cls.model.classes.named(argument.value)
        if found is not None and (found.node is base.node or _derives(found, base, depth + 1)):
            return True
    return False


def _mentions(model: Model, function: cst.FunctionDef) -> Iterator[Stop]:
    """Where a function is handed on: `compile(loss=quantile)`, `Lambda(scale)`, `ds.map(parse)`."""
    for user in _files(model):
        for call in user.tree.calls:
            for arg in call.args:
                if isinstance(arg.value, cst.Name | cst.Attribute):
                    found = user.functions.named(arg.value)
                    if found is not None and found.node is function:
                        yield Stop(user, call, forward=True)


def _files(model: Model) -> list[Model]:
    current = model.project.current
    return [model] if current is None or current is model else [model, current]
