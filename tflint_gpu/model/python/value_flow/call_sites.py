"""Call sites: the calls that run a function, and what they pass for its parameters."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

import libcst as cst

from tflint_gpu.bounds import CALL_SITES, OUTSIDE_FUNCTIONS
from tflint_gpu.model.python.project.file import File
from tflint_gpu.model.python.project.functions import Class, Function
from tflint_gpu.model.python.seen.answers import Answers
from tflint_gpu.model.python.syntax.syntax import Node, dotted_name, method_name, positional_parameters
from tflint_gpu.model.python.value_flow import contents, runs
from tflint_gpu.model.python.value_flow.calls import Bound, handed_on, hands_on, wraps
from tflint_gpu.model.python.value_flow.origins import Context, Origin
from tflint_gpu.model.python.value_flow.references import Reference, References, Site, uses_of
from tflint_gpu.model.python.value_flow.resolver import Resolver


def find(resolver: Resolver, function: Function) -> Iterator[Site]:
    """The calls that run a function, or hand it on with its arguments, in all files that this check sees.

    Where no call has its name, those count that take it out of a container: `COMMANDS[name]()`.
    """
    sites = list(dict.fromkeys(_by_name(resolver, function)))
    yield from sites or _from_containers(resolver, function)


def is_special(name: str) -> bool:
    """Whether Python itself calls methods of this name: `__call__`, not a private `__step`."""
    return name.startswith("__") and name.endswith("__")


def _from_containers(resolver: Resolver, function: Function) -> Iterator[Site]:
    """The calls of an item, or of what an item is bound to, in the files that put the function into a display."""
    if is_special(function.name):
        return
    for file in resolver.seen.users(function.file, function.name):
        for call in file.calls_of_items if function.name in file.names_in_displays else ():
            if any(callee.function.node is function.node for callee in resolver.callees(file, call)):
                yield file, call


def _by_name(resolver: Resolver, function: Function) -> Iterator[Site]:
    name = function.name
    if isinstance(function.node, cst.Lambda):
        yield from References(resolver, function).calls(Reference(function.file, function.node))
        return
    if name == "__init__" and function.owner is not None:
        yield from _of_constructor(resolver, function, function.owner)
        return
    if name == "__call__" and function.owner is not None:
        constructor = resolver.definitions.method(function.owner, "__init__")
        made = _made(resolver, function.owner, constructor)
        yield from References(resolver, function).calls(*(Reference(file, call) for file, call in made))
    if is_special(name):
        return
    for file in resolver.seen.users(function.file, name):
        for call in file.calls_ending_with(name):
            if any(callee.function.node is function.node for callee in resolver.callees(file, call)):
                yield file, call
        called = {call.func for call in file.calls_ending_with(name)}
        yield from References(resolver, function).calls(*(use for use in uses_of(file, name) if use.expr not in called))
    for where, decorator in resolver.definitions.decorators.getting(function.file, function.node):
        given = positional_parameters(decorator)[-1].name.value
        yield from References(resolver, function).calls(
            *(use for use in uses_of(where, given) if where.tree.within(use.expr, decorator))
        )


def _decorated(resolver: Resolver, decorator: Function) -> Iterator[Origin]:
    """The functions that a function gets as their decorator, and gives back."""
    given = positional_parameters(decorator.node)[-1].name.value
    if given not in map(dotted_name, decorator.file.returned(decorator.node)):
        return
    outer = decorator.file.tree.function(decorator.node)
    named = outer if isinstance(outer, cst.FunctionDef) else decorator.node
    name = named.name.value if isinstance(named, cst.FunctionDef) else ""
    for file in resolver.seen.users(decorator.file, name) if name else ():
        for use in uses_of(file, name):
            above = file.tree.parents[use.expr]
            above = file.tree.parents[above] if isinstance(above, cst.Call) else above
            function = file.tree.parents[above] if isinstance(above, cst.Decorator) else None
            if isinstance(function, cst.FunctionDef):
                getting = resolver.definitions.decorators.getting(file, function)
                if any(node is decorator.node for _, node in getting):
                    yield Origin(file, function)


def _made(resolver: Resolver, owner: Class, constructor: Function | None) -> Iterator[Site]:
    """The calls that make objects of a class and of those below it which have its constructor, or none either."""
    for cls in (owner, *resolver.subclasses(owner)):
        if resolver.definitions.method(cls, "__init__") == constructor:
            for file in resolver.seen.users(cls.file, cls.name):
                for call in file.calls_ending_with(cls.name):
                    called = resolver.class_called(file, call)
                    if called is not None and called.node is cls.node:
                        yield file, call


def _of_constructor(resolver: Resolver, constructor: Function, owner: Class) -> Iterator[Site]:
    """The calls of a class and of those below it that run its constructor, and `super().__init__(...)` there."""
    yield from _made(resolver, owner, constructor)
    for cls in resolver.subclasses(owner):
        own = resolver.definitions.method(cls, "__init__")
        for call in own.calls if own is not None and own.owner == cls else ():
            if method_name(call) == "__init__" and any(
                callee.function.node is constructor.node for callee in resolver.callees(cls.file, call)
            ):
                yield cls.file, call


def parameter_origins(resolver: Resolver, file: File, parameter: Node, context: Context | None) -> Iterator[Origin]:
    """What a parameter holds: what the call passes, or what all known calls pass; else the parameter itself."""
    node = file.tree.parents[file.tree.parents[parameter]]
    if not isinstance(node, cst.FunctionDef | cst.Lambda) or not isinstance(parameter, cst.Param):
        yield Origin(file, parameter)
        return
    bound = context
    while bound is not None and bound.function is not node:
        bound = bound.caller
    if resolver.definitions.class_of_self(file, parameter) is not None:
        yield bound.receiver if bound is not None and bound.receiver is not None else Origin(file, parameter)
        return
    if bound is not None and (bound.call is not None or bound.receiver is None):
        yield from _argument(resolver, file, parameter, resolver.contexts.given(bound))
        return
    function = resolver.definitions.function(file, node)
    sites = resolver.call_sites(function)
    known = False
    for site, call in resolver.first(CALL_SITES, sites):
        for given in _arguments_at(resolver, site, call, function):
            known = True
            yield from _argument(resolver, file, parameter, given)
    if [parameter] == positional_parameters(node)[-1:]:
        for decorated in _decorated(resolver, function):
            known = True
            yield decorated
    if not known or len(sites) > CALL_SITES.limit:
        yield Origin(file, parameter)


def _argument(
    resolver: Resolver, file: File, parameter: cst.Param, given: dict[Node, Bound] | None
) -> Iterator[Origin]:
    bound = given.get(parameter) if given is not None else None
    if bound is not None and isinstance(bound.key, str) and (calls := _filling(resolver, bound)):
        for call in calls:
            yield from _by_keyword(resolver, file, parameter, call, bound.key)
        return
    if bound is not None:
        passed = resolver.of(bound.file, bound.value, bound.context)
        if bound.is_element:
            passed = tuple(element for origin in passed for element in resolver.elements(origin))
        if bound.key is None:
            yield from passed
            return
        for mapping in passed:
            if parameter.default is not None and contents.lacks(mapping, bound.key):
                yield from resolver.of(file, parameter.default)
            else:
                yield from resolver.item(mapping, bound.key)
    elif given is not None and parameter.default is not None and not parameter.star:
        yield from resolver.of(file, parameter.default)
    else:
        yield Origin(file, parameter)


def _filling(resolver: Resolver, bound: Bound) -> list[Context]:
    """The calls whose keywords a function hands on: `step(**options)` in a `def run(x, **options)`."""
    file, name = bound.file, bound.value
    bindings = file.flow.lookup(name.value, name) if isinstance(name, cst.Name) else []
    if len(bindings) != 1 or bindings[0].kind != "parameter" or bindings[0].name in file.changed:
        return []
    node = file.tree.parents[file.tree.parents[bindings[0].node]]
    if not isinstance(node, cst.FunctionDef) or node.params.star_kwarg is not bindings[0].node:
        return []
    context = bound.context
    while context is not None and context.function is not node:
        context = context.caller
    if context is not None and context.call is not None:
        return [context] if _runs_itself(resolver, context) else []
    sites = list(resolver.first(CALL_SITES, resolver.call_sites(resolver.definitions.function(file, node))))
    calls = [Context(node, *site) for site in sites]
    return calls if all(_runs_itself(resolver, call) for call in calls) else []


def _runs_itself(resolver: Resolver, context: Context) -> bool:
    """Whether a call runs a function with its own arguments, and hands it to nothing else that does."""
    assert context.file is not None and context.call is not None
    file, call, caller = context.file, context.call, context.caller
    if hands_on(call) or wraps(resolver.library, file, call):
        return False
    called = [c for c in resolver.callees(file, call, caller) if c.function.node is context.function]
    if called:
        return not any(callee.given for callee in called)
    cls = resolver.class_called(file, call, caller)
    constructor = resolver.definitions.method(cls, "__init__") if cls is not None else None
    return constructor is not None and constructor.node is context.function


def _by_keyword(
    resolver: Resolver, file: File, parameter: cst.Param, context: Context, keyword: str
) -> Iterator[Origin]:
    """What a parameter gets of the keywords of a call that hands them on; its default where they lack it."""
    assert context.file is not None and context.call is not None
    where, args = context.file, context.call.args
    named = [arg.value for arg in args if arg.keyword is not None and arg.keyword.value == keyword]
    starred = [arg.value for arg in args if arg.star == "**"]
    bound = [Bound(where, value, context.caller) for value in named]
    bound += [Bound(where, value, context.caller, key=keyword) for value in starred if not named]
    for value in bound:
        yield from _argument(resolver, file, parameter, {parameter: value})
    if not bound:
        yield from _argument(resolver, file, parameter, {})


def _arguments_at(resolver: Resolver, file: File, call: cst.Call, function: Function) -> Iterator[dict[Node, Bound]]:
    """What a call site passes, whatever its own caller passes; found once, and not once for each parameter."""

    def passed() -> dict[Node, Bound] | None:
        return runs.passed_to(resolver, file, call, function)

    known = resolver.contexts.passed.ask((call, function.node), resolver.is_own(file), passed)
    if known is not None:
        yield known
        return
    given = handed_on(file, call, None, start=1) if hands_on(call) or wraps(resolver.library, file, call) else ()
    if given:
        yield dict(zip(function.parameters, given, strict=False))


class CalledElsewhere:
    """The functions of other files that running a file calls, and those that run its classes' methods.

    Arguments:
        what: names which calls are followed.
        follows: of a function that is reached, the calls that are followed further.
    """

    def __init__(self, resolver: Resolver, what: str, follows: Callable[[Function], Iterable[cst.Call]]) -> None:
        self._resolver = resolver
        self._follows = follows
        self._called: Answers[Node, tuple[Function, ...]] = resolver.seen.answers(what, meanwhile=())

    def by(self, file: File) -> list[Function]:
        """Those that a file calls, none where it only defines, and that its classes inherit."""
        resolver = self._resolver
        queue = list(resolver.definitions.inherited(file))
        if resolver.project.leads_elsewhere(file):
            queue += [run.function for call in file.tree.calls for run in runs.runs(resolver, file, call, None)]
        functions: dict[Node, Function] = {}
        for function in queue:  # grows meanwhile
            if function.file is file or function.node in functions:
                continue
            if len(functions) > OUTSIDE_FUNCTIONS.limit:
                resolver.meet(OUTSIDE_FUNCTIONS)
                break
            functions[function.node] = function
            queue += self._called_by(function)
        return list(functions.values())

    def _called_by(self, function: Function) -> tuple[Function, ...]:
        resolver = self._resolver

        def called() -> tuple[Function, ...]:
            calls = self._follows(function)
            return tuple(run.function for call in calls for run in runs.runs(resolver, function.file, call, None))

        return self._called.ask(function.node, resolver.is_own(function.file), called)
