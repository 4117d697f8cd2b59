"""How a program gets to a place: from its module's own statements through calls to the function that holds it."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import replace
from itertools import islice
from pathlib import Path

import libcst as cst

from tflint_gpu.lazy_dataclasses import dataclass
from tflint_gpu.model import Model
from tflint_gpu.model.python.project.file import File
from tflint_gpu.model.python.project.functions import Class
from tflint_gpu.model.python.syntax.syntax import FunctionNode, Node
from tflint_gpu.verify.stubs.readers import STARTS

_LONGEST = 12
_MOST = 16
FEWEST_TO_START = 100  # what an agent has seen when it begins to learn
_COMMAND_LINES = frozenset("args arguments opt opts options flags FLAGS hparams parsed".split())


@dataclass(frozen=True, slots=True)
class Stop:
    """A place on the way.

    Arguments:
        forward: the way goes on by itself from here: an object is made whose method is called later.
    """

    file: File
    node: Node
    forward: bool = False


Route = tuple[Stop, ...]


@dataclass(frozen=True, slots=True)
class Start:
    """A way to the place.

    Arguments:
        function: nothing calls it: the program is to.
    """

    route: Route
    function: cst.FunctionDef | None = None


Approach = tuple[Path, Start]
"""The file that is run, and how it gets to the place."""


def starts(
    file: File, node: Node, entries: Sequence[Model], failed: Collection[Approach] = ()
) -> Iterator[tuple[Model, Start]]:
    """The ways to the place: those that the entries take, then calls of functions that nothing calls.

    Arguments:
        failed: the ones that are not to be taken again. What is left begins with what has least in common with them.
    """
    if not failed:
        yield from _starts(file, node, entries)
        return
    files, functions = {path for path, _ in failed}, {start.function for _, start in failed}
    left = [way for way in _starts(file, node, entries) if (way[0].source.path, way[1]) not in failed]
    yield from sorted(left, key=lambda way: way[1].function in functions and way[0].source.path in files)


def _starts(file: File, node: Node, entries: Sequence[Model]) -> Iterator[tuple[Model, Start]]:
    for entry in entries:
        for route in find_routes(file, node, entry):
            yield entry, Start(route)
    for entry in entries:
        if entry.file is file:
            for function, route in find_roots(file, node, entry).items():
                yield entry, Start(route, function)


def find_routes(file: File, node: Node, entry: Model) -> list[Route]:
    """The stops from a statement of the entry's module down to the place, by each known call that leads there.

    The shortest come first. The way to a function ends at what calls it, or at what makes the object whose method it
    is.

    Arguments:
        file: of the place.
        node: the place: a function that is to be called, or anything else that is to be reached.
        entry: the file that is run.
    """
    return list(islice(_search(Stop(file, node), entry), _MOST))


def find_roots(file: File, node: Node, entry: Model) -> dict[cst.FunctionDef, Route]:
    """The ways down to the place from the functions of the entry's module and its classes that nothing calls.

    Each by the function that is to be called, in which its first stop lies; what is outside of it is not run.
    """
    routes: dict[cst.FunctionDef, Route] = {}
    queue: list[Route] = [(Stop(file, node),)]
    seen: set[Node] = set()
    while queue:
        route = queue.pop(0)
        first = route[0]
        is_goal = len(route) == 1 and isinstance(first.node, cst.FunctionDef | cst.Lambda)
        function = first.node if is_goal else first.file.tree.function(first.node)
        if not isinstance(function, cst.FunctionDef | cst.Lambda):
            continue
        if isinstance(function, cst.FunctionDef) and first.file is entry.file and _is_reachable(first.file, function):
            routes.setdefault(function, route[:-1] if isinstance(node, cst.FunctionDef | cst.Lambda) else route)
        for stop in _before(entry, first.file, function) if len(route) < _LONGEST else ():
            if stop.node not in seen:
                seen.add(stop.node)
                queue.append((replace(stop, forward=stop.forward or first.forward), *route))
    return routes


def _is_reachable(file: File, function: cst.FunctionDef) -> bool:
    """Whether a function is one of the module's own, or a method of one of its own classes."""
    around = [parent for parent in file.tree.ancestors(function) if isinstance(parent, cst.FunctionDef | cst.ClassDef)]
    return not around or (len(around) == 1 and isinstance(around[0], cst.ClassDef))


def _search(goal: Stop, entry: Model) -> Iterator[Route]:
    """Breadth first."""
    queue: list[Route] = [(goal,)]
    seen: set[Node] = set()
    while queue:
        route = queue.pop(0)
        first = route[0]
        function = first.node if isinstance(first.node, cst.FunctionDef | cst.Lambda) and len(route) == 1 else None
        function = function or first.file.tree.function(first.node)
        if function is None:
            if first.file is entry.file:
                yield route[:-1] if isinstance(goal.node, cst.FunctionDef | cst.Lambda) else route
            continue
        if len(route) < _LONGEST:
            for stop in _before(entry, first.file, function):
                if stop.node not in seen:
                    seen.add(stop.node)
                    queue.append((replace(stop, forward=stop.forward or first.forward), *route))


def _before(entry: Model, file: File, function: FunctionNode) -> Iterator[Stop]:
    """The places from which a function is run: its calls, or where the object is made whose method it is."""
    if isinstance(function, cst.Lambda):
        yield Stop(file, function, forward=True)
        return
    calls = [(site, call) for site, call in _calls(entry, file, function) if site in (file, entry.file)]
    makes = function.name.value == "__init__"
    for site, call in calls:
        is_target = any(arg.keyword is not None and arg.keyword.value == "target" for arg in call.args)
        yield Stop(site, call, forward=makes or is_target)  # a thread is made here, and started later
    owner = file.tree.class_of(function)
    if owner is not None:
        yield from _constructions(entry, Class(file, owner))
    elif not calls:
        yield from _mentions(entry, file, function)


def _calls(entry: Model, file: File, function: cst.FunctionDef) -> tuple[tuple[File, cst.Call], ...]:
    return entry.inference.call_sites(entry.inference.definitions.function(file, function))


def _constructions(entry: Model, cls: Class) -> Iterator[Stop]:
    """The calls of a class and of its subclasses, in its own file and in the one that is run."""
    definitions = entry.inference.definitions
    for file in dict.fromkeys((cls.file, entry.file)):
        for call in file.tree.calls:
            class_named = definitions.class_named(file, call.func)
            if class_named is not None and cls in definitions.lineage(class_named):
                yield Stop(file, call, forward=True)


def _mentions(entry: Model, file: File, function: cst.FunctionDef) -> Iterator[Stop]:
    """Where a function is handed on: `compile(loss=quantile)`, `Lambda(scale)`, `ds.map(parse)`."""
    for user in dict.fromkeys((file, entry.file)):
        for call in user.tree.calls:
            for given in _functions_given(call):
                if any(callee.function.node is function for callee in entry.inference.callables(user, given)):
                    yield Stop(user, call, forward=True)


def _functions_given(call: cst.Call) -> Iterator[cst.Name | cst.Attribute]:
    """The arguments of a call that may be functions, also those in a list: `compile(metrics=[accuracy])`."""
    for arg in call.args:
        listed = [e.value for e in arg.value.elements] if isinstance(arg.value, cst.List | cst.Tuple) else [arg.value]
        yield from (value for value in listed if isinstance(value, cst.Name | cst.Attribute))


def asked_of_program(
    entry: Model, route: Route, measured: Route, flagged: Sequence[tuple[File, Node]]
) -> dict[str, object]:
    """What a program is asked for on its command line, so that it gets to what is measured and to what is flagged.

    Arguments:
        route: to the place.
        flagged: what the measured loop may pass by.
    """
    ways = (way for file, node in flagged for way in find_routes(file, node, entry) if any(s.forward for s in way))
    asked = dict(asked_settings(next(ways, ())))  # the object must be made whose method it is
    places = (*measured, *(Stop(file, node) for file, node in flagged))
    return {**asked, **dict(_asked_of_callers(entry, places)), **dict(asked_settings((*route, *measured)))}


def _asked_of_callers(entry: Model, stops: Sequence[Stop]) -> Iterator[tuple[str, object]]:
    """How much at most the conditions around the calls that lead to some places ask for, wherever they are.

    What they turn on is not among it: one call may stand where things are learnt, another where they are tried.
    """
    queue, seen = list(stops), {stop.node for stop in stops}
    while queue:
        stop = queue.pop(0)
        yield from ((name, value) for name, value in asked_settings((stop,)) if value is FEWEST_TO_START)
        function = stop.file.tree.function(stop.node)
        calls = _calls(entry, stop.file, function) if isinstance(function, cst.FunctionDef) else ()
        for file, call in calls:
            if call not in seen and len(seen) < _MOST:
                seen.add(call)
                queue.append(Stop(file, call))


def asked_settings(route: Route) -> Iterator[tuple[str, object]]:
    """What the conditions on a way ask of the command line: `train` as True for `if args.train:`.

    A number says how large something is at most: how much an agent must have seen before it learns. So do conditions
    that raise before the place: `if args.cores > 1: raise`.
    """
    for stop in route:
        inner: Node = stop.node
        for parent in stop.file.tree.ancestors(stop.node):
            if isinstance(parent, cst.If) and inner is parent.body:
                yield from _asked(parent.test)
            inner = parent
        for test, must_hold, raises in stop.file.branches.around(stop.node):
            if raises and not must_hold:
                yield from _asked_by_guard(test)


def _asked_by_guard(test: cst.BaseExpression) -> Iterator[tuple[str, object]]:
    """What must be so that a condition does not hold."""
    match test:
        case cst.UnaryOperation(operator=cst.Not(), expression=expression) if name := _setting(expression):
            yield name, True
        case cst.Comparison(
            left=left,
            comparisons=[cst.ComparisonTarget(operator=cst.GreaterThan(), comparator=cst.Integer() as most)],
        ) if name := _setting(left):
            yield name, most.evaluated_value


def _asked(test: cst.BaseExpression) -> Iterator[tuple[str, object]]:
    match test:
        case cst.BooleanOperation(operator=cst.And()):
            yield from _asked(test.left)
            yield from _asked(test.right)
        case cst.Attribute() if name := _setting(test):
            yield name, True
        case cst.Comparison(
            left=left,
            comparisons=[cst.ComparisonTarget(operator=cst.Equal(), comparator=cst.SimpleString() as value)],
        ) if name := _setting(left):
            yield name, value.evaluated_value
        case cst.Comparison(
            comparisons=[
                cst.ComparisonTarget(operator=cst.GreaterThan() | cst.GreaterThanEqual(), comparator=comparator)
            ]
        ) if (name := _setting(comparator)) and STARTS.search(name):
            yield name, FEWEST_TO_START


def _setting(expr: cst.BaseExpression) -> str:
    """The name of what a program's command line says: `train` of `args.train`; nothing for anything else."""
    match expr:
        case cst.Attribute(value=cst.Name(value=owner), attr=cst.Name(value=name)) if owner in _COMMAND_LINES:
            return name
    return ""
