"""What decorators do to the functions that they get: nothing, or something else, as far as the project shows it."""

from __future__ import annotations

from collections.abc import Callable

import libcst as cst

from tflint_gpu.model.python.project.file import File
from tflint_gpu.model.python.syntax.children import walk
from tflint_gpu.model.python.syntax.syntax import Expression, FunctionNode, Node, dotted_name, positional_parameters

# Decorators that leave a function what it is, by the last part of their names.
_TRANSPARENT = frozenset(
    (
        "function property cached_property staticmethod classmethod abstractmethod override configurable "
        "with_name_scope do_not_convert default lru_cache cache wraps register_keras_serializable deprecated "
        "contextmanager no_type_check typechecked beartype"
    ).split()
)
_KEEPING = ("cache", "lru_cache", "cached_property")
_CHOICES = (cst.If, cst.IfExp, cst.For, cst.While, cst.Lambda, cst.BaseComp)

FindFunction = Callable[[File, Expression], tuple[File, cst.FunctionDef] | None]
"""The project's function that an expression names."""


class Decorators:
    """The decorators of a project's functions.

    Arguments:
        find: resolves the name of a decorator.
    """

    def __init__(self, find: FindFunction) -> None:
        self._find = find
        self._replaced: dict[Node, bool] = {}

    def may_replace(self, file: File, function: FunctionNode) -> bool:
        """Whether a decorator that is not known may run something else, or run the function elsewhere."""
        if not isinstance(function, cst.FunctionDef) or not function.decorators:
            return False
        if function not in self._replaced:
            self._replaced[function] = True  # a decorator that is decorated with what it decorates
            self._replaced[function] = not all(self._leaves(file, d) for d in function.decorators)
        return self._replaced[function]

    def keep_results(self, file: File, function: FunctionNode) -> bool:
        """Whether a decorator keeps what the function returned, and gives it again, as `functools.cache` does."""
        if not isinstance(function, cst.FunctionDef):
            return False
        if is_decorated(function, *_KEEPING):
            return True
        decorators = (self._find(file, function_of(decorator)) for decorator in function.decorators)
        return any(pair is not None and _stores_results(*pair) for pair in decorators)

    def getting(self, file: File, function: FunctionNode) -> list[tuple[File, cst.FunctionDef]]:
        """The project's functions that get a function as its decorators, and give it back: `STEPS[name] = function`."""
        decorators = []
        for decorator in function.decorators if isinstance(function, cst.FunctionDef) else ():
            pair = self._find(file, function_of(decorator))
            if pair is not None and isinstance(decorator.decorator, cst.Call):  # `@register("name")`
                inner = _inner_functions(pair[1])
                names = [dotted_name(value) or "" for value in pair[0].returned(pair[1])]
                pair = (pair[0], inner[names[0]]) if len(names) == 1 and names[0] in inner else None
            if pair is not None:
                given, returned = positional_parameters(pair[1])[-1:], pair[0].returned(pair[1])
                if given and returned and all(dotted_name(value) == given[0].name.value for value in returned):
                    decorators.append(pair)
        return decorators

    def _leaves(self, file: File, decorator: cst.Decorator) -> bool:
        """Whether what a decorator gives runs the function as it is."""
        expr = function_of(decorator)
        name = file.name(expr) or dotted_name(expr) or ""
        if name.rpartition(".")[2] in _TRANSPARENT or name.endswith((".setter", ".getter")):
            return True
        decorator_function = self._find(file, expr)
        return decorator_function is not None and self._gives_back(
            *decorator_function, is_factory=isinstance(decorator.decorator, cst.Call)
        )

    def _gives_back(self, file: File, function: cst.FunctionDef, *, is_factory: bool) -> bool:
        """Whether a decorator returns the function that it gets, or one that only calls it with its own arguments."""
        returned = file.returned(function)
        if not returned or file.yields_of.get(function) or self.may_replace(file, function):
            return False
        inner = _inner_functions(function)
        if is_factory:  # `@register("name")`
            makers = [inner.get(dotted_name(value) or "") for value in returned]
            return all(maker is not None and self._gives_back(file, maker, is_factory=False) for maker in makers)
        given = positional_parameters(function)[-1:]
        if not given:
            return False
        name = given[0].name.value
        if len(file.tree.scopes[function].bindings.get(name, ())) != 1:
            return False
        return all(
            dotted_name(value) == name or _only_calls(file, name, inner.get(dotted_name(value) or ""))
            for value in returned
        )


def is_decorated(function: Node, *names: str) -> bool:
    """Whether a function has a decorator whose last name is one of these."""
    if function.__class__ is not cst.FunctionDef or not function.decorators:
        return False
    return any(_last_name(decorator) in names for decorator in function.decorators)


def function_of(decorator: cst.Decorator) -> Expression:
    """What is called to decorate, without the arguments of `@decorator(...)`."""
    expr = decorator.decorator
    return expr.func if isinstance(expr, cst.Call) else expr


def _last_name(decorator: cst.Decorator) -> str:
    return (dotted_name(function_of(decorator)) or "").rpartition(".")[2]


def _inner_functions(function: cst.FunctionDef) -> dict[str, cst.FunctionDef]:
    return {inner.name.value: inner for inner in function.body.body if isinstance(inner, cst.FunctionDef)}


def _only_calls(file: File, name: str, wrapper: cst.FunctionDef | None) -> bool:
    """Whether a wrapper calls a function once each time, itself, and returns what that returns."""
    if wrapper is None or not all(_last_name(decorator) == "wraps" for decorator in wrapper.decorators):
        return False
    tree, returned = file.tree, file.returned(wrapper)
    uses = [node for node in walk(wrapper.body) if isinstance(node, cst.Name) and node.value == name]
    called = [tree.parents[use] for use in uses if not isinstance(tree.parents[use], cst.Attribute)]
    call = called[0] if len(called) == 1 else None
    if not isinstance(call, cst.Call) or dotted_name(call.func) != name or tree.function(call) is not wrapper:
        return False
    if any(isinstance(parent, _CHOICES) and tree.within(parent, wrapper) for parent in tree.ancestors(call)):
        return False
    result = file.bound_to(call)
    return bool(returned) and all(
        value is call or (result is not None and dotted_name(value) == result) for value in returned
    )


def _stores_results(file: File, decorator: cst.FunctionDef) -> bool:
    """Whether a wrapper in the decorator keeps what the function returns in a dictionary, and returns it from there."""
    given = positional_parameters(decorator)[-1:]
    names = [parameter.name.value for parameter in given]
    for wrapper in _inner_functions(decorator).values():
        results = {call for call in file.calls_in.get(wrapper, ()) if dotted_name(call.func) in names}
        bound = {file.bound_to(call) for call in results}
        stores = [
            dotted_name(target.value)
            for target, value in file.tree.item_assignments
            if file.tree.within(target, wrapper)
            and value is not None
            and (value in results or dotted_name(value) in bound - {None})
        ]
        if any(
            isinstance(value, cst.Subscript) and dotted_name(value.value) in stores for value in file.returned(wrapper)
        ):
            return True
    return False
