"""Python functions that traced code runs on the host: `tf.py_function`, `tf.numpy_function`."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property
from typing import Literal, NamedTuple, TypeAlias

import libcst as cst

from tflint_gpu.lazy_dataclasses import dataclass
from tflint_gpu.model.library.higher_order import PYTHON_FUNCTIONS
from tflint_gpu.model.library.keras_methods import OVERRIDDEN_METHODS
from tflint_gpu.model.library.precision import FLOATS
from tflint_gpu.model.library.tensor_functions import ASIDE
from tflint_gpu.model.model import Analysis, Once
from tflint_gpu.model.python.project.file import File
from tflint_gpu.model.python.project.functions import Class, Function
from tflint_gpu.model.python.syntax.children import spelling, walk
from tflint_gpu.model.python.syntax.syntax import Expression, Node, argument, method_name
from tflint_gpu.model.tensorflow.loops.loop_flow import IterationFlow
from tflint_gpu.model.tensorflow.tracing.traced_code import Traced, TracedCode, entry
from tflint_gpu.model.tensorflow.tracing.xla_roots import XlaCompilations
from tflint_gpu.model.tensorflow.types.guards import Guards
from tflint_gpu.model.tensorflow.types.kinds import Kinds

GradientKind: TypeAlias = Literal["cut", "fails", "passes", "notes"]
"""What becomes of a gradient: NumPy ends it, `py_function` around NumPy fails, around operations passes it on, also
where the function notes something beside them."""

_EAGER = frozenset(["tf.py_function"])
_DTYPES = frozenset(["dtype", "compute_dtype", "variable_dtype", "_dtype"])
_KEEPING_OFF = frozenset(["gradient_override_map", "stop_recording"])


@dataclass(frozen=True, slots=True)
class HostCall:
    """A call that runs a Python function on the host.

    Arguments:
        traced: the traced function in which it is.
        name: "tf.numpy_function", canonical.
        settings: the call with `Tout`: itself, or the decorator's.
        function: what is run; None where it is not a function of the project.
    """

    traced: Traced
    call: cst.Call
    name: str
    settings: cst.Call
    settings_file: File
    function: Function | None

    @property
    def file(self) -> File:
        """The file of the call."""
        return self.traced.file

    @property
    def inputs(self) -> list[Expression]:
        """What the function is given."""
        if self.settings is not self.call:
            return [arg.value for arg in self.call.args]
        given = argument(self.call, 1, "inp")
        if isinstance(given, cst.List | cst.Tuple):
            return [element.value for element in given.elements]
        return [given] if given is not None else []


class OnGradient(NamedTuple):
    """A host call through which a gradient is asked for, and what becomes of the gradient."""

    host: HostCall
    kind: GradientKind


class HostFunctions(Analysis):
    """Analysis of the Python functions that run in traced code, seen from one file."""

    kinds = Once(Kinds)
    guards = Once(Guards)
    traced_code = Once(TracedCode)
    compilations = Once(XlaCompilations)

    # What a gradient passes.

    @cached_property
    def on_gradients(self) -> list[OnGradient]:
        """The host calls through which a gradient must be asked for, apart from those that XLA cannot compile."""
        asked = [roots.functions for roots in self.compilations.roots if not roots.by_itself]
        refused = {
            host.call
            for functions in asked
            for host in self._calls_in(self.traced_code.reached_from(functions))
            if not self.traced_code.may_be_left_out(host.traced, host.call)
        }
        gradients = []
        for host in self._calls_in(self.traced_code.functions):
            if host.call not in refused and self._is_on_gradient(host):
                kind = self._kind(host)
                if kind is not None:
                    gradients.append(OnGradient(host, kind))
        return gradients

    def _kind(self, host: HostCall) -> GradientKind | None:
        """None where the function that runs with eager tensors is not known."""
        if host.name not in _EAGER:
            return "cut"
        function = host.function
        if function is None:
            target = argument(host.settings, 0, "func")
            name = host.file.name(target) or "" if target is not None else ""
            return "fails" if name.startswith("numpy.") else "passes" if name.startswith("tf.") else None
        made = [function.file.name(call.func) or method_name(call) or "" for call in _calls_in_result(function)]
        if any(name.startswith("numpy") for name in made):
            return "fails"
        if not function.calls or not all(name.startswith("tf.") for name in made):
            return None
        is_traceable = all((function.file.name(call.func) or "").startswith("tf.") for call in function.calls)
        return "passes" if is_traceable else "notes"

    def _is_on_gradient(self, host: HostCall) -> bool:
        trace, file = host.traced.trace, host.file
        if trace is None or not trace.passes_gradients or not trace.holds_tensor(*host.inputs):
            return False
        return (
            self._gives_floats(host)
            and self._is_in_gradient(host)
            and not self._is_aside(host)
            and not self._is_for_inference(file, host.call)
            and not self.guards.is_for_debugging(file, host.call)
        )

    def _is_in_gradient(self, host: HostCall) -> bool:
        """Whether Keras takes gradients through the function, or a tape is open around the call."""
        traced = host.traced
        home, first = entry(traced)
        sites = [(traced.file, host.call), *((step.file, step.node) for step in traced.path)]
        if any(_under_tape(file, node) for file, node in sites):
            return True
        name = first.name.value if isinstance(first, cst.FunctionDef) else ""
        if not traced.keras or name in OVERRIDDEN_METHODS - {"call", "compute_loss"}:
            return False
        owner = home.tree.class_of(first) if isinstance(first, cst.FunctionDef) else None
        if owner is None or name != "call" or "model" not in self.kinds.of_class(Class(home, owner)):
            return True
        return not self._gets_only_data(host)

    def _gets_only_data(self, host: HostCall) -> bool:
        """Whether a model hands on what it is given itself: data has no gradient."""
        return all(
            isinstance(origin.node, cst.Param)
            for value in host.inputs
            for origin in self.inference.of(host.file, value, host.traced.context)
        )

    def _gives_floats(self, host: HostCall) -> bool:
        """Whether all results are floating point: others have no gradient."""
        is_call = host.settings is host.call
        given = argument(host.settings, 2 if is_call else 0, "Tout")
        if given is None:
            return False
        kinds = [e.value for e in given.elements] if isinstance(given, cst.List | cst.Tuple) else [given]
        return bool(kinds) and all(self._is_float(host.settings_file, kind, host) for kind in kinds)

    def _is_float(self, file: File, expr: Expression, host: HostCall) -> bool:
        name = file.name(expr) or ""
        if name.rpartition(".")[2] in FLOATS or name == "numpy.float_":
            return True
        if isinstance(expr, cst.Call):
            return file.name(expr.func) == "keras.backend.floatx"
        if isinstance(expr, cst.Attribute) and expr.attr.value in _DTYPES:
            return True
        return self.constants.of(file, expr, host.traced.context) in FLOATS

    def _is_aside(self, host: HostCall) -> bool:
        """Whether the result is dropped, only shown, or kept from gradients on purpose."""
        file, call = host.file, host.call
        if isinstance(file.tree.parents[call], cst.Expr) or any(
            self._is_stopped(host, tensor) for tensor in host.inputs
        ):
            return True
        for parent in file.tree.ancestors(call):
            if isinstance(parent, cst.Call) and (file.name(parent.func) or "").startswith(ASIDE):
                return True
            if isinstance(parent, cst.With) and any(
                isinstance(i.item, cst.Call) and method_name(i.item) in _KEEPING_OFF for i in parent.items
            ):
                return True
            if isinstance(parent, cst.FunctionDef):
                break
        bound = file.bound_to(call)
        stopping = (c for c in host.traced.function.calls if file.name(c.func) == "tf.stop_gradient")
        return bound is not None and any(
            isinstance(node, cst.Name) and node.value == bound for stop in stopping for node in walk(stop)
        )

    def _is_stopped(self, host: HostCall, expr: Expression) -> bool:
        return any(
            origin.made_by == "tf.stop_gradient" for origin in self.inference.of(host.file, expr, host.traced.context)
        )

    def _is_for_inference(self, file: File, node: Node) -> bool:
        """Whether `training` keeps the place from being reached in training."""
        for test, needed in self.guards.branches(file, node):
            negated = isinstance(test, cst.UnaryOperation) and isinstance(test.operator, cst.Not)
            inner = test.expression if isinstance(test, cst.UnaryOperation) else test
            if "training" in spelling(inner) and (needed is negated):
                return True
        return False

    # Where the calls are.

    def _calls_in(self, functions: list[Traced]) -> Iterator[HostCall]:
        for traced in functions:
            for call in traced.function.calls:
                host = self.host_call(traced, call)
                if host is not None and not self.traced_code.runs_once(traced.file, call):
                    yield host

    def host_call(self, traced: Traced, call: cst.Call) -> HostCall | None:
        """A call as one that runs a Python function on the host, if it is one."""
        file = traced.file
        name = file.name(call.func)
        if name in PYTHON_FUNCTIONS:
            target = argument(call, 0, "func")
            callees = self.inference.callables(file, target, traced.context) if target is not None else ()
            return HostCall(traced, call, name, call, file, callees[0].function if len(callees) == 1 else None)
        callees = self.inference.callees(file, call, traced.context)
        if len(callees) != 1 or not isinstance(callees[0].function.node, cst.FunctionDef):
            return None
        function = callees[0].function
        for decorator in callees[0].function.node.decorators:
            maker = decorator.decorator
            if isinstance(maker, cst.Call) and (made := function.file.name(maker.func)) in PYTHON_FUNCTIONS:
                return HostCall(traced, call, made, maker, function.file, function)
        return None


def _calls_in_result(function: Function) -> Iterator[cst.Call]:
    """The calls whose values go into what a function returns: not those that only note something."""
    file, returned = function.file, function.file.returned(function.node)
    for call in function.calls:
        if any(map(IterationFlow(file, function.node, frozenset([call])).holds, returned)):
            yield call


def _under_tape(file: File, node: Node) -> bool:
    for parent in file.tree.ancestors(node):
        if isinstance(parent, cst.With) and any(
            isinstance(i.item, cst.Call) and file.name(i.item.func) == "tf.GradientTape" for i in parent.items
        ):
            return True
        if isinstance(parent, cst.FunctionDef):
            return False
    return False
