"""Calls: which function with what already given, which argument fills which parameter, and those of libraries."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import libcst as cst

from tflint_gpu.lazy_dataclasses import dataclass
from tflint_gpu.model.library.higher_order import Library
from tflint_gpu.model.python.project.file import File
from tflint_gpu.model.python.project.functions import Definitions, Function
from tflint_gpu.model.python.syntax.syntax import Expression, Node, parameters
from tflint_gpu.model.python.value_flow.origins import Context, Key, Origin


def wraps(library: Library, file: File, call: cst.Call) -> bool:
    """`tf.function(f)`, `functools.partial(f, x)`, `tf.function(jit_compile=True)(f)`."""
    func = call.func.func if isinstance(call.func, cst.Call) else call.func
    return file.name(func) in library.wrapping


def is_library(dotted: str | None) -> bool:
    """Names whose meaning never leads back into the project."""
    return (
        dotted is not None
        and dotted.startswith(("tf.", "keras.", "numpy.", "tf", "keras", "numpy"))
        and (dotted.partition(".")[0] in ("tf", "keras", "numpy"))
    )


def cannot_be_called(library: Library, definitions: Definitions, origin: Origin) -> bool:
    """Whether a value is none of the project's functions, nor an instance of its classes, by its origin alone."""
    node = origin.node
    if isinstance(node, cst.FunctionDef | cst.Lambda) or origin.is_of_none:
        return False
    if origin.access_path:
        return True
    if isinstance(node, cst.Call):
        is_plain = origin.receiver is None and not wraps(library, origin.file, node)
        return is_plain and is_library(origin.file.name(node.func))
    return not isinstance(node, cst.Param) or definitions.class_of_self(origin.file, node) is None


@dataclass(slots=True, unsafe_hash=True)  # as `Origin`
class Bound:
    """An argument as the caller wrote it; with a key the item of a mapping or sequence: `f(**CFG)`, `f(*pair)`.

    Arguments:
        is_element: whether it is what iterating over the value yields: `map(f, values)`; with a key an item of that.
    """

    file: File
    value: Expression
    context: Context | None = None
    key: Key = None
    keyword: str = ""
    is_element: bool = False


@dataclass(frozen=True, slots=True)
class Callee:
    """A function that a call may run.

    Arguments:
        receiver: what its `self` is.
        context: the call in which a closure was made.
        given: arguments that `functools.partial` or a like has given already.
    """

    function: Function
    receiver: Origin | None = None
    context: Context | None = None
    given: tuple[Bound, ...] = ()


def filled(callee: Callee) -> Mapping[Node, Bound]:
    """The parameters that `functools.partial` has filled."""
    positional = list(callee.function.parameters)
    named = {p.name.value: p for p in parameters(callee.function.node)}
    passed: dict[Node, Bound] = {}
    for given in callee.given:
        if given.keyword in named:
            passed[named[given.keyword]] = given
        elif not given.keyword and positional:
            passed[positional.pop(0)] = given
    return passed


def arguments(
    definitions: Definitions, file: File, call: cst.Call, caller: Context | None, callee: Callee
) -> dict[Node, Bound]:
    """What a call passes for the parameters of a function."""
    function = callee.function
    passed = given_before(callee)
    positional = [p for p in function.parameters if p not in passed or passed[p].keyword]
    named = {p.name.value: p for p in parameters(function.node)}
    if function.name != "__init__" and callee.given == () and hands_on(call):
        return {**passed, **dict(zip(positional, handed_on(file, call, caller, start=1), strict=False))}
    if len(positional) == len(function.parameters):
        for parameter, value in definitions.passed(file, call, function):
            passed[parameter] = Bound(file, value, caller)
    else:
        for index, arg in enumerate(call.args):
            if arg.keyword is not None and arg.keyword.value in named:
                passed[named[arg.keyword.value]] = Bound(file, arg.value, caller)
            elif arg.keyword is None and not arg.star and index < len(positional):
                passed[positional[index]] = Bound(file, arg.value, caller)
    starred = next((arg.value for arg in call.args if arg.star == "*"), None)
    if starred is not None:
        for index, parameter in enumerate([p for p in positional if p not in passed]):
            passed[parameter] = Bound(file, starred, caller, key=index)
    for arg in call.args:
        if arg.star == "**":
            for name, parameter in named.items():
                if parameter not in passed and parameter.star == "":
                    passed[parameter] = Bound(file, arg.value, caller, key=name)
    return passed


def given_before(callee: Callee) -> dict[Node, Bound]:
    """What a function has for its parameters before it is called: `functools.partial(step, x)`."""
    positional = list(callee.function.parameters)
    named = {p.name.value: p for p in parameters(callee.function.node)}
    passed: dict[Node, Bound] = {}
    for given in callee.given:
        if given.keyword:
            if given.keyword in named:
                passed[named[given.keyword]] = given
        elif positional:
            passed[positional.pop(0)] = given
    return passed


def hands_on(call: cst.Call) -> bool:
    """Whether a call names the arguments for a function that it is given: `run(step, args=(x,))`."""
    return any(arg.keyword is not None and arg.keyword.value == "args" for arg in call.args)


def items(file: File, value: Expression, context: Context | None) -> Iterator[Bound]:
    """The arguments that a tuple or list holds; of a variable its first items."""
    if isinstance(value, cst.Tuple | cst.List):
        yield from (Bound(file, element.value, context) for element in value.elements)
    else:
        yield from (Bound(file, value, context, key) for key in range(UNPACKED))


def handed_on(file: File, call: cst.Call, context: Context | None, start: int) -> tuple[Bound, ...]:
    """The arguments with which a function that a call is given will be called.

    `strategy.run(step, args=(x,))` names them; `functools.partial(step, x)` lists them from `start` on.
    """
    return tuple(_handed(file, call, context, start))


def _handed(file: File, call: cst.Call, context: Context | None, start: int) -> Iterator[Bound]:
    for arg in call.args:
        if arg.keyword is not None and arg.keyword.value == "args":
            yield from items(file, arg.value, context)
            return
    for arg in call.args[start:]:
        if arg.star:
            return
        yield Bound(file, arg.value, context, keyword=arg.keyword.value if arg.keyword is not None else "")


UNPACKED = 4
"""As many items of a variable are told apart; given more than a function has parameters, the others are left."""
