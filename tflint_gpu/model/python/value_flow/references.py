"""References: where a function is meant without being called, and the calls that this leads to."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TypeAlias

import libcst as cst

from tflint_gpu.bounds import HANDED_ON
from tflint_gpu.lazy_dataclasses import dataclass
from tflint_gpu.model.python.project.file import File
from tflint_gpu.model.python.project.functions import Function
from tflint_gpu.model.python.syntax.syntax import FunctionNode, Node, displayed, dotted_name
from tflint_gpu.model.python.value_flow import runs
from tflint_gpu.model.python.value_flow.calls import Callee, arguments, hands_on, wraps
from tflint_gpu.model.python.value_flow.resolver import Resolver

Site: TypeAlias = tuple[File, cst.Call]


@dataclass(frozen=True, slots=True)
class Reference:
    """An expression that may mean a function.

    Arguments:
        steps: how often the function was handed on before.
    """

    file: File
    expr: Node
    steps: int = 0


class References:
    """The calls that may run one function under another name than its own.

    Arguments:
        function: the function; or one that makes what is called: the constructor of an object with `__call__`.
    """

    def __init__(self, resolver: Resolver, function: Function) -> None:
        self._resolver = resolver
        self._function = function
        self._seen: set[Node] = set()

    def calls(self, *references: Reference) -> Iterator[Site]:
        """The calls to which some references of the function lead."""
        queue = list(references)
        for reference in queue:  # grows meanwhile
            if reference.expr in self._seen:
                continue
            self._seen.add(reference.expr)
            if reference.steps > HANDED_ON.limit:
                self._resolver.meet(HANDED_ON)
                continue
            yield from self._used(reference, queue)

    def _used(self, reference: Reference, queue: list[Reference]) -> Iterator[Site]:
        file, expr, steps = reference.file, reference.expr, reference.steps
        parent = file.tree.parents[expr]
        if isinstance(parent, cst.Call):
            if self._is_run(file, parent):
                yield file, parent
        elif isinstance(parent, cst.Arg) and parent.value is expr:
            call = file.tree.parents[parent]
            if isinstance(call, cst.Call):  # and no class, whose base it is
                yield from self._given(file, call, expr, steps, queue)
        elif isinstance(parent, cst.IfExp | cst.BooleanOperation):
            queue.append(Reference(file, parent, steps))
        elif isinstance(parent, cst.Return):
            queue.extend(self._results(file, parent, steps + 1))
        elif isinstance(parent, cst.Element) and isinstance(file.tree.parents[file.tree.parents[parent]], cst.Return):
            queue.append(Reference(file, file.tree.parents[parent], steps))  # `return train_step, test_step`
        elif isinstance(parent, cst.Assign | cst.AnnAssign | cst.NamedExpr) and parent.value is expr:
            targets = [t.target for t in parent.targets] if isinstance(parent, cst.Assign) else [parent.target]
            for target in (part for each in targets for part in displayed(each)):
                queue.extend(self._named(file, target, steps + 1))

    def _given(self, file: File, call: cst.Call, expr: Node, steps: int, queue: list[Reference]) -> Iterator[Site]:
        """The calls to which a call leads that gets the function."""
        if wraps(self._resolver.library, file, call):
            if call.args[0].value is expr:
                later = list(self.calls(Reference(file, call, steps + 1)))
                yield from later or [(file, call)]
            return
        if any(run.function.node is self._function.node for run in runs.handed(self._resolver, file, call, None)):
            yield file, call
            return
        parameters = list(self._parameters(file, call, expr))
        for where, function, name in parameters:
            queue.extend(self._uses(where, name, function, steps + 1))
        if not parameters and hands_on(call) and call.args[0].value is expr:
            yield file, call

    def _parameters(self, file: File, call: cst.Call, expr: Node) -> Iterator[tuple[File, FunctionNode, str]]:
        """The parameters of functions of the project that an argument of a call fills."""
        cls = self._resolver.class_called(file, call)
        constructor = self._resolver.definitions.method(cls, "__init__") if cls is not None else None
        callees = (Callee(constructor),) if constructor is not None else self._resolver.callees(file, call)
        for callee in callees:
            given = arguments(self._resolver.definitions, file, call, None, callee)
            for parameter, bound in given.items():
                if bound.value is expr and isinstance(parameter, cst.Param):
                    yield callee.function.file, callee.function.node, parameter.name.value

    def _results(self, file: File, statement: cst.Return, steps: int) -> Iterator[Reference]:
        """The calls of the function that a statement returns from."""
        function = file.tree.function(statement)
        name = function.name.value if isinstance(function, cst.FunctionDef) else ""
        for user in self._resolver.seen.users(file, name) if name else ():
            for call in user.calls_ending_with(name):
                yield Reference(user, call, steps)

    def _named(self, file: File, target: Node, steps: int) -> Iterator[Reference]:
        """The uses of what is assigned to."""
        if isinstance(target, cst.Name):
            function = file.tree.function(target)
            files = [file] if function is not None else self._resolver.seen.users(file, target.value)
            for user in files:
                yield from self._uses(user, target.value, function, steps)
        elif isinstance(target, cst.Attribute):
            for user in self._resolver.seen.users(file, target.attr.value):
                yield from uses_of(user, target.attr.value, steps, attributes=True)
        elif isinstance(target, cst.Subscript):
            name = (dotted_name(target.value) or "").rpartition(".")[2]
            for user in self._resolver.seen.users(file, name) if name else ():
                yield from (Reference(user, call.func, steps) for call in user.calls_of_items)

    def _uses(self, file: File, name: str, within: FunctionNode | None, steps: int) -> Iterator[Reference]:
        for use in uses_of(file, name, steps):
            if within is None or file.tree.within(use.expr, within):
                yield use

    def _is_run(self, file: File, call: cst.Call) -> bool:
        """Whether a call may run the function."""
        for origin in self._resolver.of(file, call.func):
            if any(callee.function.node is self._function.node for callee in self._resolver.meant_by(origin)):
                return True
        return False


def uses_of(file: File, name: str, steps: int = 0, *, attributes: bool = False) -> Iterator[Reference]:
    """The places where a file reads a name, or an attribute of it: `getattr(x, "name")`, too.

    Arguments:
        attributes: only attributes.
    """
    for attribute in (*file.attributes_named.get(name, ()), *file.attributes_asked_for.get(name, ())):
        yield Reference(file, attribute, steps)
    for use in file.tree.uses.get(name, ()) if not attributes else ():
        if not isinstance(file.tree.parents[use], cst.Attribute | cst.Param | cst.FunctionDef | cst.AssignTarget):
            yield Reference(file, use, steps)
