"""The interface of the inference for the steps from a value to its origins, which it takes one after the other."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol, TypeVar

import libcst as cst

from tflint_gpu import bounds
from tflint_gpu.model.library.higher_order import Library
from tflint_gpu.model.python.project.file import File
from tflint_gpu.model.python.project.functions import Class, Definitions, Function
from tflint_gpu.model.python.project.project import Project
from tflint_gpu.model.python.seen.answers import Answers
from tflint_gpu.model.python.seen.seen_files import SeenFiles
from tflint_gpu.model.python.syntax.syntax import Expression, Node
from tflint_gpu.model.python.value_flow.calls import Bound, Callee
from tflint_gpu.model.python.value_flow.origins import Context, Key, Origin, Origins

_T = TypeVar("_T")


class Values(Protocol):
    """The constant values of expressions."""

    def of(self, file: File, expr: Expression | None, context: Context | None = None) -> Any:
        """A number, string, bool, None, tuple or dict, or UNKNOWN."""


class CallContexts(Protocol):
    """The contexts in which functions run."""

    passed: Answers[tuple[Node, Node], dict[Node, Bound] | None]
    """By call and function, what the call passes where nothing is known of its own caller."""

    def enter(self, file: File, call: cst.Call, caller: Context | None, callee: Callee) -> Context | None:
        """The context in which a call runs a function; None after too many calls."""

    def constructed(self, origin: Origin, method: Function) -> Context:
        """The context in which a method of an instance runs; for `__init__` with the constructor's arguments."""

    def given(self, context: Context) -> dict[Node, Bound] | None:
        """What is passed for the parameters of the function that runs in a context; None where no call is known."""


class Tests(Protocol):
    """Whether the tests of branches hold."""

    def holds(self, file: File, test: Expression, context: Context | None = None) -> bool | None:
        """Whether a test must hold (True) or must fail (False); None where that is not known."""

    def is_switched_off(self, file: File, node: Node, context: Context | None) -> bool:
        """Whether a test that is known in a context keeps a place from being reached."""


class Resolver(Protocol):
    """Resolves values, calls and contexts: the inference, as far as the steps need it."""

    project: Project
    definitions: Definitions
    library: Library
    seen: SeenFiles

    @property
    def constants(self) -> Values:
        """The constant values of expressions."""

    @property
    def contexts(self) -> CallContexts:
        """The contexts in which functions run."""

    @property
    def tests(self) -> Tests:
        """Whether the tests of branches hold."""

    def meet(self, bound: bounds.Bound) -> None:
        """Remember that a bound cut something off."""

    def first(self, bound: bounds.Bound, values: Sequence[_T]) -> Sequence[_T]:
        """The first of some things, as many as a bound allows."""

    def of(self, file: File, expr: Expression, context: Context | None = None) -> Origins:
        """Where a value comes from."""

    def relevant(self, file: File, expr: Expression, context: Context) -> Context | None:
        """The innermost context in a chain of calls that binds parameters which the expression can see."""

    def key(self, file: File, expr: Expression, context: Context | None) -> Key:
        """The constant by which an item is asked for; None where it may be any."""

    def item(self, origin: Origin, key: Key) -> Origins:
        """What is under a key or index; without a key, any item."""

    def attribute(self, origin: Origin, name: str) -> Origins:
        """What an attribute of a value holds."""

    def elements(self, origin: Origin) -> Origins:
        """What iterating over a value yields."""

    def instance_class(self, origin: Origin) -> Class | None:
        """The project's class of which a value is an instance."""

    def class_called(self, file: File, call: cst.Call, context: Context | None = None) -> Class | None:
        """The class of the project that a call makes an instance of."""

    def callees(self, file: File, call: cst.Call, context: Context | None = None) -> tuple[Callee, ...]:
        """The functions of the project that a call may run; none where one is not known."""

    def callables(self, file: File, func: Expression, context: Context | None = None) -> tuple[Callee, ...]:
        """The functions of the project that an expression means when it is called; none where one is not known."""

    def meant_by(self, origin: Origin) -> list[Callee]:
        """The functions of the project that one value means when it is called; none where it is not known."""

    def call_sites(self, function: Function) -> tuple[tuple[File, cst.Call], ...]:
        """The calls that run a function, or hand it on with its arguments, in all files that this check sees."""

    def is_own(self, file: File, context: Context | None = None) -> bool:
        """Whether a question about some code is one about the checked file alone."""

    def subclasses(self, cls: Class) -> tuple[Class, ...]:
        """The classes below one, in all files that this check sees."""
