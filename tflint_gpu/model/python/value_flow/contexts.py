"""The contexts in which functions run: one for each call, with what it passes."""

from __future__ import annotations

from typing import TypeAlias

import libcst as cst

from tflint_gpu.bounds import CONTEXT_CALLS, MADE_WITHIN
from tflint_gpu.model.python.project.file import File
from tflint_gpu.model.python.project.functions import Function
from tflint_gpu.model.python.seen.answers import Answers
from tflint_gpu.model.python.syntax.syntax import Node
from tflint_gpu.model.python.value_flow.calls import Bound, Callee, arguments, given_before
from tflint_gpu.model.python.value_flow.inheritance import constructor_call
from tflint_gpu.model.python.value_flow.origins import Context, Origin
from tflint_gpu.model.python.value_flow.resolver import Resolver


class Contexts:
    """The contexts of a project's calls, each made once.

    Arguments:
        resolver: finds the class of an instance.

    Attributes:
        passed: by call and function, what the call passes where nothing is known of its own caller.
    """

    def __init__(self, resolver: Resolver) -> None:
        self.resolver = resolver
        self.passed: Answers[tuple[Node, Node], dict[Node, Bound] | None] = resolver.seen.answers("passed", None)
        self._own: _Known = {}, {}
        self._shared: _Known = resolver.seen.shared("contexts"), resolver.seen.shared("arguments of contexts")

    def enter(
        self, file: File, call: cst.Call, caller: Context | None, callee: Callee, hands_on: bool = False
    ) -> Context | None:
        """The context in which a call runs a function; None after too many calls.

        Arguments:
            hands_on: the call gives the function to code outside, which calls it with arguments of its own.
        """
        depth = caller.depth + 1 if caller is not None else 1
        if depth > CONTEXT_CALLS.limit:
            self.resolver.meet(CONTEXT_CALLS)
            return None
        around, function = caller or callee.context, callee.function
        is_own = self._is_own(file, around, callee.receiver) or self.resolver.is_own(function.file)
        is_own = is_own or any(self.resolver.is_own(given.file, given.context) for given in callee.given)
        contexts, bound = self._own if is_own else self._shared
        key = (function.node, call, around, callee.receiver)
        context = contexts.get(key)
        if context is None:
            context = contexts[key] = Context(function.node, file, call, around, callee.receiver, depth, is_own)
            bound[context] = (
                given_before(callee) if hands_on else arguments(self.resolver.definitions, file, call, caller, callee)
            )
        return context

    def constructed(self, origin: Origin, method: Function) -> Context:
        """The context in which a method of an instance runs; for `__init__` with the constructor's arguments."""
        call = origin.call if method.name in ("__init__", "__new__", "build") else None
        cls = self.resolver.instance_class(origin) if call is not None and method.name == "__init__" else None
        if cls is not None and self.resolver.definitions.method(cls, "__init__") != method:
            above = constructor_call(self.resolver, cls, method)
            if above is not None:
                around = self.constructed(origin, above[0])
                made = self.enter(above[0].file, above[1], around, Callee(method, origin))
                return made or around
            call = None
        if self._is_nested_too_deep(origin):  # an object that iterates over itself, within itself
            origin = Origin(origin.file, origin.node)
        key = (method.node, call, origin.context, origin)
        is_own = self._is_own(method.file, None, origin)
        contexts, bound = self._own if is_own else self._shared
        context = contexts.get(key)
        if context is None:
            context = Context(
                method.node,
                origin.file if call else None,
                call,
                origin.context if call else None,
                origin,
                1,
                is_own,
            )
            contexts[key] = context
            if call is not None:
                callee = Callee(method, origin)
                bound[context] = arguments(self.resolver.definitions, origin.file, call, origin.context, callee)
        return context

    def _is_own(self, file: File, caller: Context | None, receiver: Origin | None) -> bool:
        """Whether a context rests on something of the checked file alone."""
        if self.resolver.is_own(file, caller):
            return True
        seen = self.resolver.seen
        return receiver is not None and not seen.is_inside and receiver.is_of(seen.entry)

    def _is_nested_too_deep(self, origin: Origin) -> bool:
        """Whether an instance comes from a method of an instance that comes from a method, and so on."""
        depth, context = 0, origin.context
        while context is not None and context.receiver is not None:
            depth, context = depth + 1, context.receiver.context
        if depth > MADE_WITHIN.limit:
            self.resolver.meet(MADE_WITHIN)
        return depth > MADE_WITHIN.limit

    def given(self, context: Context) -> dict[Node, Bound] | None:
        """What is passed for the parameters of the function that runs in a context; None where no call is known."""
        return (self._own if context.is_own else self._shared)[1].get(context)


_Known: TypeAlias = tuple[
    dict[tuple[Node, Node | None, Context | None, Origin | None], Context], dict[Context, dict[Node, Bound]]
]
"""Contexts, and what is passed in each."""
