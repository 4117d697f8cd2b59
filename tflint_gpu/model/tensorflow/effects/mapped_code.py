"""Python in the functions that datasets are given, which runs once, while tf.data traces them, or raises there."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property
from typing import Literal

import libcst as cst

from tflint_gpu.lazy_dataclasses import dataclass
from tflint_gpu.model.library.counterparts import RAISES
from tflint_gpu.model.library.datasets import MAPPING_METHODS
from tflint_gpu.model.library.files import FAILING_ON_ELEMENTS
from tflint_gpu.model.library.tensor_functions import HOST_READS
from tflint_gpu.model.model import Analysis, Once
from tflint_gpu.model.python.execution.walks import Frame
from tflint_gpu.model.python.project.file import File
from tflint_gpu.model.python.syntax.syntax import Expression, Node, argument, method_name
from tflint_gpu.model.python.value_flow.calls import Callee
from tflint_gpu.model.python.value_flow.origins import Context
from tflint_gpu.model.tensorflow.effects.frozen_values import FrozenValues
from tflint_gpu.model.tensorflow.runtime.runtime import Runtime
from tflint_gpu.model.tensorflow.tf_data.pipelines import Pipelines
from tflint_gpu.model.tensorflow.tracing.traced_code import Traced, TracedCode
from tflint_gpu.model.tensorflow.tracing.traces import Entry, Trace, TracedFunctions
from tflint_gpu.model.tensorflow.types.guards import Guards
from tflint_gpu.model.tensorflow.types.kinds import Kinds
from tflint_gpu.model.tensorflow.types.tensors import Carry, Tensors

Misuse = Literal["numpy", "host", "method", "draw", "sleep", "print"]

_FUNCTIONS = ("map_func", "predicate", "reduce_func", "scan_func")
_NESTING = frozenset("window group_by_window".split())  # their elements are datasets
_DEBUG_MODE = "tf.data.experimental.enable_debug_mode"


@dataclass(frozen=True, slots=True)
class Misplaced:
    """A call that does not do for each element what it says.

    Arguments:
        traced: the function in which it is, with the path that leads to it.
        operation: the dataset's method that traces that function.
        name: of what is called, as the code or its library has it.
    """

    misuse: Misuse
    traced: Traced
    operation: str
    call: cst.Call
    name: str

    @property
    def file(self) -> File:
        """The file of the call."""
        return self.traced.file


class MappedCode(Analysis):
    """The functions given to datasets in one file, and what they call.

    Attributes:
        file: the one that is checked; the functions may be in others.
    """

    kinds = Once(Kinds)
    guards = Once(Guards)
    pipelines = Once(Pipelines)
    execution = Once(TracedFunctions)
    traced_code = Once(TracedCode)
    frozen_values = Once(FrozenValues)
    runtime = Once(Runtime)

    @cached_property
    def misplaced(self) -> list[Misplaced]:
        """The Python calls that run once or raise, each once."""
        misplaced: dict[Node, Misplaced] = {}
        for given, traces, functions in self._given:
            for misuse in (*self._raising(given, traces), *self._frozen(given, functions)):
                misplaced.setdefault(misuse.call, misuse)
        return list(misplaced.values())

    @cached_property
    def functions(self) -> list[Traced]:
        """What tf.data traces from this file: the functions that its datasets are given, and all that these call."""
        mapped = {traced.function.node: traced for *_, functions in self._given for traced in functions}
        return list(mapped.values())

    @cached_property
    def _given(self) -> list[tuple[cst.Call, list[Trace], list[Traced]]]:
        """The operations on datasets, with what each traces: with the elements' ways, and with all that is called."""
        followed = ((given, self.execution.followed(self._traces(given))) for given in self._operations())
        return [(given, traces, self.traced_code.mapped(traces)) for given, traces in followed]

    def tells_of(self, call: cst.Call) -> bool:
        """Whether a call is among those that are misplaced in a function given to a dataset."""
        return any(call is misplaced.call for misplaced in self.misplaced)

    def _operations(self) -> Iterator[cst.Call]:
        """The calls that give a function to what is certainly a dataset."""
        for call in self.file.method_calls(*MAPPING_METHODS):
            assert isinstance(call.func, cst.Attribute)
            data = call.func.value if method_name(call) == "reduce" else call
            if call.args and self.pipelines.is_dataset(self.file, data):
                yield call

    def _traces(self, operation: cst.Call) -> Iterator[Trace]:
        """The functions that an operation traces, with their elements."""
        method = method_name(operation) or ""
        given = self._function_given(operation, method)
        if given is None or not isinstance(operation.func, cst.Attribute):
            return
        chains = self.pipelines.chains(self.file, operation.func.value)
        has_tensors = not any(called.name in _NESTING for chain in chains for called in chain.operations)
        for callee in self.inference.callables(self.file, given):
            function = callee.function
            if self.inference.definitions.decorators.may_replace(function.file, function.node):
                continue
            seeds: dict[Node, Carry] = dict.fromkeys(self._elements(callee), Carry.TENSOR) if has_tensors else {}
            tensors = Tensors(self.inference, self.kinds, function, seeds)
            context = Context(function.node, caller=callee.context, receiver=callee.receiver)
            step = Frame(self.file, operation.func.attr, f"`{method}` is given this function")
            yield Trace(function, context, tensors, Entry(f"the function of `{method}`"), (step,))

    def _function_given(self, operation: cst.Call, method: str) -> Expression | None:
        position = 1 if method in ("reduce", "scan") else 0
        named = (argument(operation, position, keyword) for keyword in _FUNCTIONS)
        return next((given for given in named if given is not None), None)

    def _elements(self, callee: Callee) -> Iterator[cst.Param]:
        """The parameters that get what the dataset has: those that nothing else fills."""
        given = {argument.keyword for argument in callee.given}
        positional = sum(1 for argument in callee.given if not argument.keyword)
        for parameter in callee.function.parameters[positional:]:
            if parameter.default is None and parameter.name.value not in given:
                yield parameter
        star = callee.function.node.params.star_arg
        if isinstance(star, cst.Param):
            yield star

    def _raising(self, operation: cst.Call, traces: list[Trace]) -> Iterator[Misplaced]:
        """What cannot take an element that has no value yet, and prints that show one."""
        method = method_name(operation) or ""
        for trace in traces:
            traced = Traced(trace.function, trace.start, trace.path, trace, trace.context)
            for call in trace.function.calls:
                misuse, name, values = self._takes_value(trace.file, call)
                if misuse is None or self.guards.keeps_tensors_out(trace.file, call) or not trace.holds_tensor(*values):
                    continue
                yield Misplaced(misuse, traced, method, call, name)

    def _takes_value(self, file: File, call: cst.Call) -> tuple[Misuse | None, str, list[Expression]]:
        """How a call needs the values of what it is given, its name, and what it is given."""
        name, values = file.name(call.func), [arg.value for arg in call.args if _is_data(arg)]
        if name in FAILING_ON_ELEMENTS or (name or "").startswith("cv2.") or file.names.is_builtin(call.func, "open"):
            return "host", name or "open", values
        if name in RAISES:
            return ("numpy" if not self.runtime.has_numpy_behaviour() else None), name, values
        if file.names.is_builtin(call.func, "print"):
            return "print", "print", _shown(values)
        if isinstance(call.func, cst.Attribute) and call.func.attr.value in HOST_READS | {"decode"}:
            return "method", f".{call.func.attr.value}()", [call.func.value]
        return None, "", []

    def _frozen(self, operation: cst.Call, functions: list[Traced]) -> Iterator[Misplaced]:
        """What Python draws, asks or waits for once."""
        if any(True for _ in self.file.calls(_DEBUG_MODE)):  # runs what it can in Python
            return
        method = method_name(operation) or ""
        for traced in functions:
            for call in traced.function.calls:
                sleeps = traced.file.name(call.func) == "time.sleep"
                name = "time.sleep" if sleeps else self.frozen_values.name_of(traced, call)
                if name is not None and not self.traced_code.runs_once(traced.file, call):
                    yield Misplaced("sleep" if sleeps else "draw", traced, method, call, name)


def _is_data(arg: cst.Arg) -> bool:
    return arg.keyword is None or arg.keyword.value not in ("dtype", "axis", "keepdims", "out", "order", "file")


def _shown(values: list[Expression]) -> list[Expression]:
    """What a print shows, also through f-strings and `format`."""
    shown: list[Expression] = []
    for value in values:
        if isinstance(value, cst.FormattedString):
            shown += [p.expression for p in value.parts if isinstance(p, cst.FormattedStringExpression)]
        elif isinstance(value, cst.Call) and method_name(value) == "format":
            shown += [arg.value for arg in value.args]
        elif isinstance(value, cst.BinaryOperation) and isinstance(value.operator, cst.Modulo):
            shown += [e.value for e in value.right.elements] if isinstance(value.right, cst.Tuple) else [value.right]
        else:
            shown.append(value)
    return shown
