"""The calls that loops and programs run: the walks of `model.python.execution`, configured for TensorFlow.

Every question about steps, loops and programs is asked of these calls, so that what one rule sees the others see too.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Iterator
from typing import TypeAlias

import libcst as cst

from tflint_gpu.model.model import Analysis, Model
from tflint_gpu.model.python.execution.callers import is_in_iteration
from tflint_gpu.model.python.execution.walks import Entered, Invocation, Route, walk
from tflint_gpu.model.python.project.file import File
from tflint_gpu.model.python.project.functions import Class, Function
from tflint_gpu.model.python.syntax.syntax import FunctionNode, LoopNode, Node, method_name
from tflint_gpu.model.python.value_flow.calls import Callee, arguments
from tflint_gpu.model.python.value_flow.origins import Context
from tflint_gpu.model.python.value_flow.runs import Run
from tflint_gpu.model.tensorflow.loops.batches import Batches, LoopData
from tflint_gpu.model.tensorflow.tracing.tracing import Tracing

Handed: TypeAlias = Callable[[Invocation, Callee], frozenset[str]]


class Invocations(Analysis):
    """What runs, as seen from the file that is checked."""

    def __init__(self, model: Model) -> None:
        super().__init__(model)
        self.tracing = model.once(Tracing)
        self.data = model.once(LoopData)
        self._run: dict[tuple[cst.Call, Context | None, bool], tuple[Run, ...]] = {}
        self._plainly_eager: dict[tuple[Node, File], bool] = {}
        self._in_iterations: dict[LoopNode | FunctionNode, list[cst.Call]] = {}

    def eager(
        self,
        file: File,
        loop: LoopNode | FunctionNode,
        batches: Batches | None = None,
        substrings: tuple[bytes, ...] = (),
        handed: Handed | None = None,
    ) -> Iterator[Invocation]:
        """The calls that an iteration, or a function, runs eagerly; not what `tf.function` traces.

        Arguments:
            batches: what the loop yields, to be followed into the functions that get it. Without it, the walk enters
                the `call` of models, too.
            substrings: only functions are entered in files that have to do with one of them; none: all.
            handed: in place of what the loop yields what else is followed: the names of a function that a call fills.
        """

        def names(invocation: Invocation, callee: Callee) -> frozenset[str]:
            return self._names_in(invocation, callee, batches) if batches is not None else frozenset()

        def entered(invocation: Invocation) -> Iterator[Entered]:
            if substrings and not self._leads_to(invocation, substrings):
                return
            for run in self._run_by(invocation, into_models=batches is None):
                if run.mode != "traced" and self._is_plainly_eager(run.function, invocation):
                    yield self._entered(invocation, run)

        held = batches.names if batches is not None else frozenset()
        return walk(self.inference, self._own(file, loop, held), Route(entered, handed or names))

    def all(
        self, file: File, loop: LoopNode, substrings: tuple[bytes, ...], methods: Container[str] = ()
    ) -> Iterator[Invocation]:
        """The calls that an iteration runs, eagerly or not; those of some methods for each call of their function.

        Not those that a test keeps from running by what the way to them passes, or the object was given.

        Arguments:
            substrings: only functions are entered in files that have to do with one of them.
        """

        def entered(invocation: Invocation) -> Iterator[Entered]:
            if not self._leads_to(invocation, substrings):
                return
            for run in self.inference.runs(invocation.file, invocation.call, invocation.context):
                if not self.inference.definitions.decorators.may_replace(run.function.file, run.function.node):
                    yield self._entered(invocation, run)

        def calls_one(function: Function) -> bool:
            return any(method_name(call) in methods for call in function.calls)

        made = walk(self.inference, self._own(file, loop), Route(entered, by_each=calls_one))
        return (run for run in made if method_name(run.call) not in methods or self._may_run(run))

    def _may_run(self, invocation: Invocation) -> bool:
        """Whether no test, by what the way to a call passes, keeps it or a call on the way from running."""
        file, call, context = invocation.file, invocation.call, invocation.context
        while context is not None:
            if self.inference.tests.is_switched_off(file, call, context):
                return False
            if context.file is None or context.call is None:
                return True
            file, call, context = context.file, context.call, context.caller
        return True

    def of_function(
        self, function: Function, follows: Callable[[Invocation], bool] = lambda invocation: True
    ) -> Iterator[Invocation]:
        """The calls that a run of a function makes in its own thread, in the order of the code.

        Arguments:
            follows: whether a call counts, and the functions are entered that it runs.
        """

        def entered(invocation: Invocation) -> Iterator[Entered]:
            for run in self.inference.runs(invocation.file, invocation.call, invocation.context):
                if run.mode != "host" and follows(invocation):
                    yield self._entered(invocation, run)

        own = [Invocation(function.file, call, None, function.file, function.node) for call in function.calls]
        return filter(follows, walk(self.inference, own, Route(entered, in_order=True)))

    def of_program(self, keeping: frozenset[str]) -> Iterator[Invocation]:
        """The calls that running the file makes on some branch, in the order of the code.

        Arguments:
            keeping: functions of libraries that get a function and do not run it; all others may.
        """

        def entered(invocation: Invocation) -> Iterator[Entered]:
            return self.entered_by_program(invocation, keeping)

        own = [Invocation(self.file, call, None, self.file, None) for call in self.file.calls_in.get(None, ())]
        return walk(self.inference, own, Route(entered, in_order=True))

    def entered_by_program(self, invocation: Invocation, keeping: frozenset[str] = frozenset()) -> Iterator[Entered]:
        """The functions that a call runs, those that it is given and the constructor of an object among them."""
        file, call, context = invocation.file, invocation.call, invocation.context
        for run in self.inference.runs(file, call, context):
            yield self._entered(invocation, run)
        for arg in call.args:  # `app.run(main)`
            if isinstance(arg.value, cst.Name) and file.name(call.func) not in keeping:
                for callee in self.inference.callables(file, arg.value, context):
                    yield Entered(callee, None)
        cls = self.inference.class_called(file, call, context)
        method = self.inference.definitions.method(cls, "__init__") if cls is not None else None
        if method is not None:
            yield Entered(Callee(method), None)

    def _own(self, file: File, loop: LoopNode | FunctionNode, names: frozenset[str] = frozenset()) -> list[Invocation]:
        """The calls in the loop itself, and run in its iterations; those of a function."""
        if loop not in self._in_iterations:
            function = loop if isinstance(loop, cst.FunctionDef | cst.Lambda) else file.tree.function(loop)
            self._in_iterations[loop] = [
                call
                for call in file.calls_below.get(loop, ())
                if file.tree.function(call) is function and is_in_iteration(file, loop, call)
            ]
        return [Invocation(file, call, None, file, loop, names=names) for call in self._in_iterations[loop]]

    def _leads_to(self, invocation: Invocation, substrings: tuple[bytes, ...]) -> bool:
        """Whether a call may run functions of files that have to do with some byte strings."""
        file, func = invocation.file, invocation.call.func
        if self.inference.handing(file, invocation.call, invocation.context) is not None:
            return True
        if not self.inference.may_be_called(file, func):
            return False
        return self.inference.project.leads_to(file, file.name(func), substrings) or self._hands_over(
            invocation, [substring.decode() for substring in substrings]
        )

    def _hands_over(self, invocation: Invocation, words: list[str]) -> bool:
        """Whether a call gives away an object with methods in a file that has one of some words."""
        given = (
            origin
            for arg in invocation.call.args
            for origin in self.inference.of(invocation.file, arg.value, invocation.context)
        )
        classes = filter(None, map(self.inference.instance_class, given))
        return any(word in cls.file.source.text for cls in classes for word in words)

    def _entered(self, invocation: Invocation, run: Run) -> Entered:
        return Entered(run.callee, self.inference.enter(invocation.file, invocation.call, invocation.context, run))

    def _run_by(self, invocation: Invocation, *, into_models: bool) -> tuple[Run, ...]:
        """The functions that a call runs; of a model the `call` that it runs, which may hold a tape."""
        key = invocation.call, invocation.context, into_models
        if key not in self._run:
            self._run[key] = tuple(self._find_run_by(invocation, into_models))
        return self._run[key]

    def _find_run_by(self, invocation: Invocation, into_models: bool) -> Iterator[Run]:
        call = invocation.call
        called = list(self.inference.runs(invocation.file, call, invocation.context))
        if len(called) > 1 and any(self.tracing.is_wrapped(c.function.file, c.function.node) for c in called):
            return  # an option chooses between a `tf.function` and what it traces
        yield from called
        if into_models and call.args and isinstance(call.func, cst.Name | cst.Attribute | cst.Call):
            for origin in self.inference.of(invocation.file, call.func, invocation.context):
                cls = self.inference.instance_class(origin)
                if cls is not None and self.inference.definitions.external_bases(cls):
                    method = self.forward_of(cls)
                    if method is not None:
                        yield Run(Callee(method, origin))

    def forward_of(self, cls: Class) -> Function | None:
        """What calling an instance runs: Keras's `call`, else Python's `__call__`."""
        definitions = self.inference.definitions
        return definitions.method(cls, "call") or definitions.method(cls, "__call__")

    def _names_in(self, invocation: Invocation, callee: Callee, batches: Batches) -> frozenset[str]:
        """The local names of a function that hold what the loop yields, when a call enters it."""
        target, file, call = callee.function, invocation.file, invocation.call
        here = Batches(invocation.names, True, batches.sources)
        passed = self.inference.passed_to(file, call, target)
        if passed is None:  # of a model the `call`
            passed = arguments(self.inference.definitions, file, call, None, callee)
        own = ((p, bound.value) for p, bound in passed.items() if file.tree.within(bound.value, call))
        names = {p.name.value for p, value in own if isinstance(p, cst.Param) and self.data.holds(file, here, value)}
        return self.data.spread(target.file, target.node, names, set(batches.sources))

    def _is_plainly_eager(self, function: Function, invocation: Invocation) -> bool:
        """Whether nothing can have put the function under tf.function: no wrapper, no unknown decorator."""
        key = function.node, invocation.file
        if key not in self._plainly_eager:
            self._plainly_eager[key] = self._must_be_eager(function, invocation.file)
        return self._plainly_eager[key]

    def _must_be_eager(self, function: Function, calling: File) -> bool:
        if self.inference.definitions.decorators.may_replace(function.file, function.node):
            return False
        return not any(self.tracing.is_wrapped(file, function.node) for file in (calling, function.file))
