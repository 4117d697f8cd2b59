"""Loops, and what an iteration of them runs eagerly."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property

import libcst as cst

from tflint_gpu.model.library.higher_order import PARTIAL
from tflint_gpu.model.library.keras_methods import RUNNING_METHODS
from tflint_gpu.model.model import Analysis, Model
from tflint_gpu.model.python.execution.callers import RunSite, callers
from tflint_gpu.model.python.execution.walks import Invocation
from tflint_gpu.model.python.project.file import File
from tflint_gpu.model.python.project.functions import Function
from tflint_gpu.model.python.syntax.syntax import FunctionNode, LoopNode, Node, method_name
from tflint_gpu.model.python.value_flow.call_sites import CalledElsewhere
from tflint_gpu.model.tensorflow.loops.batches import LoopData
from tflint_gpu.model.tensorflow.runtime.runtime import Runtime
from tflint_gpu.model.tensorflow.tracing.tracing import Tracing
from tflint_gpu.model.tensorflow.training.training import Training
from tflint_gpu.model.tensorflow.types.guards import Guards

# Methods that need a value, so that the function which calls them cannot be traced.
_BARE_BASES = ("abc.", "typing.")
# These trace no method of a subclass that they do not name, but for those of Keras that count as traced themselves.
_PLAIN_BASES = (*_BARE_BASES, "keras.", "tf.Module", "gym.", "gymnasium.", "threading.", "multiprocessing.")
_ONLY_EAGER = RUNNING_METHODS | {"numpy"}


class EagerLoops(Analysis):
    """The loops that are seen from one file."""

    def __init__(self, model: Model) -> None:
        super().__init__(model)
        self.guards = model.once(Guards)
        self.tracing = model.once(Tracing)
        self.training = model.once(Training)
        self.runtime = model.once(Runtime)
        self.data = model.once(LoopData)
        self._no_places: dict[LoopNode, bool] = {}

    @cached_property
    def seen(self) -> list[tuple[File, LoopNode]]:
        """The loops of this file, and those of functions in other files that it calls, with what these call there."""
        loops = [(self.file, loop) for loop in self.inference.loops(self.file)]
        for function in CalledElsewhere(self.inference, "called in one's own file", _calls_that_stay).by(self.file):
            tree, inside = function.file.tree, self.inference.loops(function.file)
            loops += [(function.file, loop) for loop in inside if tree.function(loop) is function.node]
        return loops

    def is_no_place(self, file: File, loop: LoopNode) -> bool:
        """Whether speed does not matter in a loop, or nothing in it is eager: short, for debugging, traced, a graph."""
        if loop not in self._no_places:
            self._no_places[loop] = self._is_no_place(file, loop)
        return self._no_places[loop]

    def _is_no_place(self, file: File, loop: LoopNode) -> bool:
        function = file.tree.function(loop)
        if self.tracing.is_traced(file, function):
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
        above = self.inference.definitions.method(method.owner, method.name, skip_own=True)
        if self.inference.definitions.has_known_bases(method.owner, _BARE_BASES if above is not None else _PLAIN_BASES):
            return self._is_handed_outside(method)
        sites = self.inference.call_sites(method)
        return self._is_handed_outside(method) or all(self._is_of_any_subclass(method, f, c) for f, c in sites)

    def runs_in_python(self, file: File, loop: LoopNode) -> bool:
        """Whether Python runs a loop eagerly: its data or a value read in it show so, or all that call it.

        A function that nothing seen calls counts: a trace of it would unroll the loop, and do the same work.
        """
        return not self.is_no_place(file, loop) and self._runs_in_python(RunSite(file, loop))

    def _runs_in_python(self, site: RunSite) -> bool:
        file, node, node_of = site.file, site.node, site.function
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
        sites = list(callers(self.inference, site))
        if any(self._is_of_any_subclass(function, site.file, site.node) for site in sites):
            return False
        return all(map(self._runs_in_python, sites))

    def _is_of_any_subclass(self, function: Function, file: File, call: Node) -> bool:
        """Whether a call is a base class's `self.step()`, whose callers may all mean other subclasses."""
        func = call.func if isinstance(call, cst.Call) else None
        receiver = func.value if isinstance(func, cst.Attribute) else None
        cls = self.inference.definitions.self_class(file, receiver) if receiver is not None else None
        return cls is not None and cls != function.owner

    def is_plain(self, function: Function) -> bool:
        """Whether nothing that is seen traces a function: `tf.function`, Keras, or code outside that gets it."""
        if self.tracing.is_traced(function.file, function.node):
            return False
        return not self._is_handed_outside(function)

    def is_eager(self, run: Invocation) -> bool:
        """Whether nothing is known that keeps a call from running, and code outside the project gets no function."""
        if self.inference.tests.is_switched_off(run.file, run.call, run.context):
            return False
        return not any(self._is_handed_outside(function) for function in run.functions)

    def _is_handed_outside(self, function: Function) -> bool:
        """Whether code outside the project gets the function, which may trace it."""
        for file, call in self._calls_given(function):
            outer = _given_to(file, call)
            if outer is None or self.inference.handing(file, outer) is not None or self._is_own(file, outer):
                continue
            if isinstance(call.func, cst.Name) and call.func.value in (
                "print",
                "hasattr",
                "getattr",
                "len",
                "callable",
            ):
                continue
            given = [a.value for a in call.args if isinstance(a.value, cst.Name | cst.Attribute | cst.Lambda)]
            if any(c.function == function for g in given for c in self.inference.callables(file, g)):
                return True
        return False

    def _calls_given(self, function: Function) -> Iterator[tuple[File, cst.Call]]:
        """The calls that get a function under its name, or as it is written."""
        file, node, name = function.file, function.node, function.name
        if isinstance(node, cst.Lambda):
            arg = file.tree.parents[node]
            call = file.tree.parents[arg]
            if isinstance(arg, cst.Arg) and isinstance(call, cst.Call):
                yield file, call
            name = file.bound_to(node) or ""
        for user in self.inference.seen.users(file, name) if name else ():
            for call in user.calls_given.get(name.rpartition(".")[2], ()):
                yield user, call

    def _is_own(self, file: File, call: cst.Call) -> bool:
        """Whether a call runs a function, or a constructor, of the project: what that does with its arguments shows."""
        cls = self.inference.class_called(file, call)
        if cls is not None:
            return self.inference.definitions.method(cls, "__init__") is not None
        return bool(self.inference.callees(file, call))


def _given_to(file: File, call: cst.Call) -> cst.Call | None:
    """The call that gets a function, itself or in a `functools.partial`; None where that is bound: its calls show."""
    outer: Node | None = call
    while isinstance(outer, cst.Call) and file.name(outer.func) in PARTIAL:
        arg = file.tree.parents.get(outer)
        outer = file.tree.parents.get(arg) if isinstance(arg, cst.Arg) else None
    return outer if isinstance(outer, cst.Call) else None


def _calls_that_stay(function: Function) -> list[cst.Call]:
    return [call for call in function.calls if _stays(function.file, call)]


def _stays(file: File, call: cst.Call) -> bool:
    """Whether a call runs something of the same file or object, as its name shows."""
    func = call.func
    if isinstance(func, cst.Attribute):
        return isinstance(func.value, cst.Name) and func.value.value in ("self", "cls")
    bindings = file.tree.root.bindings.get(func.value, ()) if isinstance(func, cst.Name) else ()
    return any(binding.kind in ("function", "class") for binding in bindings)
