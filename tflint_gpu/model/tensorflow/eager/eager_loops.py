"""Loops, and what a turn of them runs eagerly."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

import libcst as cst

from tflint_gpu.model.model import Analysis, Model
from tflint_gpu.model.python.project.file import File
from tflint_gpu.model.python.project.functions import Class, Function, may_be_replaced
from tflint_gpu.model.python.syntax.syntax import FunctionNode, LoopNode, Node, argument, method_name
from tflint_gpu.model.python.value_flow.call_sites import called_elsewhere
from tflint_gpu.model.python.value_flow.calls import Callee
from tflint_gpu.model.python.value_flow.origins import Context
from tflint_gpu.model.tensorflow.api.keras_methods import RUNNING_METHODS
from tflint_gpu.model.tensorflow.loops.batches import Batches, LoopData
from tflint_gpu.model.tensorflow.runtime.runtime import Runtime
from tflint_gpu.model.tensorflow.tracing.execution import Step
from tflint_gpu.model.tensorflow.tracing.tracing import Tracing
from tflint_gpu.model.tensorflow.training.training import STRATEGY_RUNS, Training
from tflint_gpu.model.tensorflow.types.guards import Guards

_DEPTH_LIMIT = 4
# Methods that need a value, so that the function which calls them cannot be traced.
_ONLY_EAGER = RUNNING_METHODS | {"numpy"}


@dataclass(frozen=True, slots=True)
class Run:
    """A call that a turn of a loop runs eagerly.

    Arguments:
        functions: the project's functions on the way to it.
        held: the local names there that hold what the loop yields.
    """

    file: File
    call: cst.Call
    context: Context | None
    path: tuple[Step, ...]
    functions: tuple[Function, ...]
    held: frozenset[str]


class EagerLoops(Analysis):
    """The loops that are seen from one file."""

    def __init__(self, model: Model) -> None:
        super().__init__(model)
        self.guards = model.once(Guards)
        self.tracing = model.once(Tracing)
        self.training = model.once(Training)
        self.runtime = model.once(Runtime)
        self.data = model.once(LoopData)

    @cached_property
    def seen(self) -> list[tuple[File, LoopNode]]:
        """The loops of this file, and those of functions in other files that it calls, with what these call there."""
        found = [(self.file, loop) for loop in self.file.tree.all_loops]
        for function in called_elsewhere(self.inference, self.file, _calls_that_stay):
            tree = function.file.tree
            found += [(function.file, loop) for loop in tree.all_loops if tree.function(loop) is function.node]
        return found

    def is_no_place(self, file: File, loop: LoopNode) -> bool:
        """Whether speed does not matter in a loop, or nothing in it is eager: short, for debugging, traced, a graph."""
        function = file.tree.function(loop)
        if function is not None and self.tracing.is_traced(file, function):
            return True
        return (
            self.data.is_short(file, loop)
            or self.runtime.is_graph_code(file, loop)
            or self.guards.is_for_debugging(file, loop)
        )

    def may_be_hook(self, file: File, function: FunctionNode | None) -> bool:
        """Whether a loop is in a method that a base class may call, and may have put under tf.function."""
        owner = file.tree.class_of(function) if isinstance(function, cst.FunctionDef) else None
        if owner is None or not owner.bases or not isinstance(function, cst.FunctionDef):
            return False
        method = self.inference.definitions.function(file, function)
        assert method.owner is not None
        if not self.inference.definitions.external_bases(method.owner) - {"object", "abc.ABC"} and all(
            self.inference.definitions.class_named(file, base.value) is not None for base in owner.bases
        ):
            return self._is_handed_outside(method)
        sites = self.inference.call_sites(method)
        return self._is_handed_outside(method) or all(self._is_of_any_subclass(method, f, c) for f, c in sites)

    def surely_eager(self, file: File, loop: LoopNode) -> bool:
        """Whether something shows that a loop runs eagerly: its data, a value read in it, or all that call it."""
        return not self.is_no_place(file, loop) and self._shows_eager(file, loop, 0)

    def _shows_eager(self, file: File, node: LoopNode | cst.Call, depth: int) -> bool:
        node_of = file.tree.function(node)
        if node_of is None:
            return not self.runtime.is_graph_code(file, node)
        function = self.inference.definitions.function(file, node_of)
        if not self.is_plain(function) or self.may_be_hook(file, node_of):
            return False
        if isinstance(node, cst.For | cst.While):
            batches = self.data.batches(file, node)
            if batches is not None and batches.is_certain:
                return True
        if any(method_name(call) in _ONLY_EAGER for call in function.calls):
            return True
        sites = self.inference.call_sites(function)
        if depth >= _DEPTH_LIMIT or not sites or any(self._is_of_any_subclass(function, f, c) for f, c in sites):
            return False
        return all(self._shows_eager(f, c, depth + 1) for f, c in sites)

    def _is_of_any_subclass(self, function: Function, file: File, call: cst.Call) -> bool:
        """Whether a call is a base class's `self.step()`, whose callers may all mean other subclasses."""
        receiver = call.func.value if isinstance(call.func, cst.Attribute) else None
        cls = self.inference.definitions.self_class(file, receiver) if receiver is not None else None
        return cls is not None and cls != function.owner

    def is_plain(self, function: Function) -> bool:
        """Whether nothing that is seen traces a function: `tf.function`, Keras, or code outside that gets it."""
        if self.tracing.is_traced(function.file, function.node):
            return False
        return not (isinstance(function.node, cst.Lambda) or self._is_handed_outside(function))

    def run_by(self, file: File, loop: LoopNode, batches: Batches | None = None) -> Iterator[Run]:
        """Every call that a turn of the loop runs eagerly, here or in functions of the project."""
        function = file.tree.function(loop)
        held = batches.names if batches is not None else frozenset()
        own = [c for c in file.calls_below.get(loop, ()) if file.tree.function(c) is function]
        queue = [Run(file, call, None, (), (), held) for call in own]
        seen: set[Node] = set()
        for run in queue:  # grows meanwhile
            yield run
            if len(run.path) >= _DEPTH_LIMIT:
                continue
            for callee in self._entered(run, into_models=batches is None):
                target = callee.function
                if target.node in seen or not self._is_plainly_eager(target, run):
                    continue
                seen.add(target.node)
                inside = self.inference.enter(run.file, run.call, run.context, callee)
                step = Step(run.file, run.call, f"calls `{target.name}`")
                inner = self._held_inside(run, callee, batches)
                queue += [
                    Run(target.file, call, inside, (*run.path, step), (*run.functions, target), inner)
                    for call in target.calls
                ]

    def _entered(self, run: Run, *, into_models: bool) -> Iterator[Callee]:
        """The functions that a call runs; of a model the `call` that it runs, which may hold a tape."""
        yield from self.training.functions_called(run.file, run.call, run.context)
        if into_models and run.call.args and isinstance(run.call.func, cst.Name | cst.Attribute | cst.Call):
            for origin in self.inference.of(run.file, run.call.func, run.context):
                cls = self.inference.instance_class(origin)
                if cls is not None and self.inference.definitions.external_bases(cls):
                    method = self.forward_of(cls)
                    if method is not None:
                        yield Callee(method, origin)

    def _held_inside(self, run: Run, callee: Callee, batches: Batches | None) -> frozenset[str]:
        """The parameters that get what the loop yields."""
        if batches is None:
            return frozenset()
        target = callee.function
        here = Batches(run.held, True, batches.sources)
        passed = self.inference.definitions.passed(run.file, run.call, target)
        names = {p.name.value for p, value in passed if self.data.holds(run.file, here, value)}
        given = argument(run.call, 1, "args") if method_name(run.call) in STRATEGY_RUNS else None
        if given is not None and self.data.holds(run.file, here, given):
            names |= {p.name.value for p in target.parameters}
        return self.data.spread(target.file, target.node, names)

    def _is_plainly_eager(self, function: Function, run: Run) -> bool:
        """Whether nothing can have put the function under tf.function: no wrapper, no unknown decorator."""
        if not isinstance(function.node, cst.FunctionDef) or may_be_replaced(function.file, function.node):
            return False
        return not any(self.tracing.is_wrapped(file, function.node) for file in (run.file, function.file))

    def is_eager(self, run: Run) -> bool:
        """Whether no function on the way to a call is handed to code outside the project."""
        return not any(self._is_handed_outside(function) for function in run.functions)

    def _is_handed_outside(self, function: Function) -> bool:
        """Whether code outside the project gets the function, which may trace it."""
        for file in self.inference.users(function, function.name):
            for call in file.calls_given.get(function.name, ()):
                if method_name(call) in STRATEGY_RUNS or self.inference.callees(file, call):
                    continue
                if isinstance(call.func, cst.Name) and call.func.value in (
                    "print",
                    "hasattr",
                    "getattr",
                    "len",
                    "callable",
                ):
                    continue
                given = [a.value for a in call.args if isinstance(a.value, cst.Name | cst.Attribute)]
                if any(c.function == function for g in given for c in self.inference.callables(file, g)):
                    return True
        return False

    def forward_of(self, cls: Class) -> Function | None:
        """What calling an instance runs: Keras's `call`, else Python's `__call__`."""
        definitions = self.inference.definitions
        return definitions.method(cls, "call") or definitions.method(cls, "__call__")


def _calls_that_stay(function: Function) -> list[cst.Call]:
    return [call for call in function.calls if _stays(function.file, call)]


def _stays(file: File, call: cst.Call) -> bool:
    """Whether a call runs something of the same file or object, as its name shows."""
    func = call.func
    if isinstance(func, cst.Attribute):
        return isinstance(func.value, cst.Name) and func.value.value in ("self", "cls")
    bindings = file.tree.root.bindings.get(func.value, ()) if isinstance(func, cst.Name) else ()
    return any(binding.kind in ("function", "class") for binding in bindings)
