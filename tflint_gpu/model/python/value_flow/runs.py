"""Runs: the functions that a call runs, those that it hands to a library among them, and what each of them gets."""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from tflint_gpu.lazy_dataclasses import dataclass
from tflint_gpu.model.library.higher_order import Handing
from tflint_gpu.model.python.project.file import File
from tflint_gpu.model.python.project.functions import Function
from tflint_gpu.model.python.syntax.syntax import Expression, Node, argument, displayed
from tflint_gpu.model.python.value_flow.calls import UNPACKED, Bound, Callee, arguments, given_before, items
from tflint_gpu.model.python.value_flow.origins import Context
from tflint_gpu.model.python.value_flow.resolver import Resolver


@dataclass(frozen=True, slots=True)
class Run:
    """A function of the project that a call runs.

    Arguments:
        callee: the function, with what it is given before its caller runs it.
        handing: how the function of a library runs it to which the call hands it; None where the call itself runs it.
    """

    callee: Callee
    handing: Handing | None = None

    @property
    def function(self) -> Function:
        """The function."""
        return self.callee.function

    @property
    def repeats(self) -> bool:
        """Whether it is run again and again."""
        return self.handing is not None and self.handing.repeats

    @property
    def mode(self) -> str:
        """How it runs: as its caller, on the host whatever traces that, or under a trace."""
        return self.handing.mode if self.handing is not None else "same"


def runs(resolver: Resolver, file: File, call: cst.Call, context: Context | None) -> Iterator[Run]:
    """The functions of the project that a call runs: itself, and through a library that it hands them to."""
    yield from map(Run, resolver.callees(file, call, context))
    yield from handed(resolver, file, call, context)


def handed(resolver: Resolver, file: File, call: cst.Call, context: Context | None) -> Iterator[Run]:
    """The functions of the project that a call has a library run: `map(step, data)`, `Thread(target=step)`."""
    handing = handing_of(resolver, file, call, context)
    for position, keyword in handing.functions if handing is not None else ():
        function = argument(call, position, keyword)
        for expr in displayed(function) if function is not None else ():
            for c in resolver.callables(file, expr, context):
                assert handing is not None
                given = (*c.given, *_passed(file, call, context, handing, position))
                yield Run(Callee(c.function, c.receiver, c.context, given), handing)


def handing_of(resolver: Resolver, file: File, call: cst.Call, context: Context | None = None) -> Handing | None:
    """How a call runs the functions that it is given, where a library does; None for other calls."""
    func, library = call.func, resolver.library
    if isinstance(func, cst.Attribute) and func.attr.value not in library.running_words:
        return None
    if isinstance(func, cst.Name) and func.value in library.running and file.names.is_builtin(func, func.value):
        return library.running[func.value]
    name = file.name(func)
    if name is not None and "." in name and name in library.running:
        return library.running[name]
    if not isinstance(func, cst.Attribute) or func.attr.value not in library.running_methods or not call.args:
        return None
    makers, handing = library.running_methods[func.attr.value]
    if makers:
        has_it = any(origin.made_by in makers for origin in resolver.of(file, func.value, context))
    elif handing.passes == "receiver":  # of a dataset: a pool's gets arguments, too, and a table's runs for each row
        made = (o.made_by or "" for part in _owners(func.value) for o in resolver.of(file, part, context))
        has_it = len(call.args) == 1 and not any(name.startswith("pandas.") for name in made)
    else:
        has_it = not resolver.callees(file, call, context)
    return handing if has_it else None


def _owners(expr: Expression) -> Iterator[Expression]:
    """`data.map(f)["x"]`, `data.map(f)` and `data`."""
    yield expr
    if isinstance(expr, cst.Call) and isinstance(expr.func, cst.Attribute):
        yield from _owners(expr.func.value)
    elif isinstance(expr, cst.Subscript | cst.Attribute):
        yield from _owners(expr.value)


def passed_to(resolver: Resolver, file: File, call: cst.Call, function: Function) -> dict[Node, Bound] | None:
    """What a call passes for the parameters of a function that it runs; None where it does not run it."""
    if function.name == "__init__":
        return arguments(resolver.definitions, file, call, None, Callee(function))
    for run in runs(resolver, file, call, None):
        if run.function.node is function.node:
            return given_by(resolver, file, call, None, run)
    return None


def given_by(resolver: Resolver, file: File, call: cst.Call, caller: Context | None, run: Run) -> dict[Node, Bound]:
    """What a function gets that a call runs."""
    if run.handing is not None:
        return given_before(run.callee)
    return arguments(resolver.definitions, file, call, caller, run.callee)


def _passed(file: File, call: cst.Call, context: Context | None, handing: Handing, position: int) -> Iterator[Bound]:
    """What a library passes to a function that it is given."""
    passes = handing.passes
    if passes == "receiver" and isinstance(call.func, cst.Attribute):
        yield Bound(file, call.func.value, context)
    elif passes == "first" and call.args and not call.args[0].star:
        yield Bound(file, call.args[0].value, context, is_element=True)
    elif passes == "args":
        given = argument(call, *handing.args)
        yield from items(file, given, context) if given is not None else ()
    elif passes in ("element", "following", "unpacked"):
        following = call.args[position + 1 :]
        if passes == "unpacked" and following:
            yield from (Bound(file, following[0].value, context, key, is_element=True) for key in range(UNPACKED))
            return
        for arg in following:
            if arg.star:
                return
            keyword = arg.keyword.value if arg.keyword is not None else ""
            if passes == "following" or not keyword:
                yield Bound(file, arg.value, context, keyword=keyword, is_element=passes == "element")
