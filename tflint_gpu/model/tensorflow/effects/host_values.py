"""Where Python asks a symbolic tensor for its value, while TensorFlow traces."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import cached_property
from typing import Literal, TypeAlias

import libcst as cst

from tflint_gpu.lazy_dataclasses import dataclass
from tflint_gpu.model.library.keras_methods import OVERRIDDEN_METHODS, RUNNING_METHODS
from tflint_gpu.model.model import Analysis, Once
from tflint_gpu.model.python.project.file import File
from tflint_gpu.model.python.syntax.children import walk
from tflint_gpu.model.python.syntax.scopes import Binding
from tflint_gpu.model.python.syntax.syntax import Expression, Node, dotted_name, iterable, method_name
from tflint_gpu.model.tensorflow.tracing.keras_functions import KerasFunctions
from tflint_gpu.model.tensorflow.tracing.traced_code import Traced, TracedCode, entry
from tflint_gpu.model.tensorflow.tracing.tracing import Tracing
from tflint_gpu.model.tensorflow.types.model_classes import ModelClasses

ValueUse: TypeAlias = Literal["read", "number", "condition", "loop"]
"""`.numpy()` and `.item()`, `float(t)`, `if t`, `for i in t`."""

_READING = frozenset(["numpy", "item"])
_NUMBERS = ("float", "int", "range")


@dataclass(frozen=True, slots=True)
class HostValue:
    """A place that raises while TensorFlow traces.

    Arguments:
        node: the expression.
        place: where it is reported.
        text: what asks for the value, in words.
    """

    traced: Traced
    node: Node
    place: Node
    use: ValueUse
    text: str


class HostValues(Analysis):
    """Analysis of the values that traced code asks for, seen from one file."""

    tracing = Once(Tracing)
    traced_code = Once(TracedCode)
    model_classes = Once(ModelClasses)
    keras_functions = Once(KerasFunctions)

    def asked(self, *, converts: bool, functions: Iterable[Traced] | None = None) -> Iterator[HostValue]:
        """The places in code that must be traced.

        Arguments:
            converts: whether Keras has AutoGraph convert the control flow and the numbers of its methods.
            functions: only in these of the traced ones.
        """
        for traced in self.traced_code.functions if functions is None else functions:
            if traced.trace is None or not self._must_be_traced(traced):
                continue
            yield from self._certain(traced, self._reads(traced))
            if not converts and self._is_taken_as_it_is(traced):
                yield from self._certain(traced, self._numbers(traced))
                yield from self._certain(traced, self._decisions(traced))

    def _certain(self, traced: Traced, values: Iterator[HostValue]) -> Iterator[HostValue]:
        for value in values:
            if not self.traced_code.runs_once(traced.file, value.node) and not self.traced_code.may_be_left_out(
                traced, value.node
            ):
                yield value

    def raise_before(self, traced: Traced, node: Node) -> bool:
        """Whether a value that a symbolic tensor lacks is read on every way to a place: tracing never gets there."""
        sites = [(traced.file, node), *((step.file, step.node) for step in traced.path)]
        return any(
            self._is_symbolic(traced if index == 0 else None, file, read.func.value)
            for index, (file, place) in enumerate(sites)
            for read in file.calls_in.get(file.tree.function(place), ())
            if method_name(read) in _READING and not read.args and isinstance(read.func, cst.Attribute)
            if file.branches.precedes(read, place)
        )

    def _is_symbolic(self, traced: Traced | None, file: File, owner: Expression) -> bool:
        """Whether what a value is read of is a tensor of traced code, and none that was made before."""
        if traced is not None and traced.trace is not None and traced.trace.holds_tensor(owner):
            return True
        root = owner
        while isinstance(root, cst.Attribute | cst.Subscript | cst.Call):
            root = root.func if isinstance(root, cst.Call) else root.value
        if not isinstance(root, cst.Name) or root.value == "self":
            return isinstance(owner, cst.Call)
        bindings = file.flow.lookup(root.value, root)
        function = file.tree.function(root)
        return bool(bindings) and all(_is_computed_in(file, function, binding) for binding in bindings)

    # What must be traced, and how.

    def _must_be_traced(self, traced: Traced) -> bool:
        """Whether a `tf.function` leads to it, or a method or function of Keras whose model this file fits."""
        if not traced.keras:
            return True
        home, first = entry(traced)
        owner = home.tree.class_of(first) if isinstance(first, cst.FunctionDef) else None
        nodes = {node for node in (first, owner) if node is not None}
        if not nodes.isdisjoint(self.keras_functions.evaluated):
            return True
        return not (nodes.isdisjoint(self._fitted) and nodes.isdisjoint(self._called))

    @cached_property
    def _fitted(self) -> frozenset[Node]:
        """The layers and models that this file fits, or runs by Keras's own loops."""
        return self.model_classes.of_receivers(self.file.method_calls(*sorted(RUNNING_METHODS)))

    @cached_property
    def _called(self) -> frozenset[Node]:
        """The layers and models that functions under `tf.function` must call."""
        calls = [
            (traced.file, call)
            for traced in self.traced_code.functions
            if not traced.keras
            for call in traced.function.calls
            if call.args and not self.traced_code.runs_once(traced.file, call)
            if not self.traced_code.may_be_left_out(traced, call)
        ]
        return self.model_classes.of_called(calls)

    def _is_taken_as_it_is(self, traced: Traced) -> bool:
        """Whether Keras alone traces it: under `tf.function` AutoGraph converts what it can."""
        _, first = entry(traced)
        is_method = isinstance(first, cst.FunctionDef) and first.name.value in OVERRIDDEN_METHODS
        if not traced.keras or not (is_method or first in self.keras_functions.evaluated):
            return False
        passed = [(traced.file, traced.function.node)]
        passed += [(step.file, f) for step in traced.path if (f := step.file.tree.function(step.node)) is not None]
        return not any(node in self.tracing.wrapped(file) for file, node in passed)

    # Who asks.

    def _reads(self, traced: Traced) -> Iterator[HostValue]:
        assert traced.trace is not None
        for call in traced.function.calls:
            if method_name(call) not in _READING or call.args or not isinstance(call.func, cst.Attribute):
                continue
            if traced.trace.holds_tensor(call.func.value):
                yield HostValue(traced, call, call.func.attr, "read", f"`.{call.func.attr.value}()`")

    def _numbers(self, traced: Traced) -> Iterator[HostValue]:
        for call in traced.function.calls:
            name = next((n for n in (*_NUMBERS, "bool") if traced.file.names.is_builtin(call.func, n)), None)
            if name is None or not any(self._is_tensor(traced, arg.value) for arg in call.args):
                continue
            yield HostValue(traced, call, call, "condition" if name == "bool" else "number", f"`{name}`")

    def _decisions(self, traced: Traced) -> Iterator[HostValue]:
        file, function = traced.file, traced.function.node
        for node in walk(function.body):
            if file.tree.function(node) is not function:
                continue
            if isinstance(node, cst.If | cst.While | cst.IfExp | cst.Assert):
                test = node.test
                while isinstance(test, cst.UnaryOperation) and isinstance(test.operator, cst.Not):
                    test = test.expression
                if self._is_tensor(traced, test):
                    yield HostValue(traced, node.test, node.test, "condition", f"`{_WORDS[type(node)]}`")
            elif isinstance(node, cst.For):
                looped = iterable(node)
                if looped is not None and self._is_tensor(traced, looped):
                    yield HostValue(traced, looped, looped, "loop", "`for`")

    def _is_tensor(self, traced: Traced, expr: Expression) -> bool:
        """Whether an expression is certainly one tensor, and no container of tensors."""
        if traced.trace is None or not traced.trace.holds_tensor(expr):
            return False
        return traced.trace.is_one(expr)


def _is_computed_in(file: File, function: Node | None, binding: Binding) -> bool:
    """Whether a function's own name has what the function is given or computes, not what it only looks up."""
    if isinstance(binding.node, cst.Param):
        return any(node is function for node in file.tree.ancestors(binding.node))
    return file.tree.function(binding.node) is function and dotted_name(binding.value) is None


_WORDS: dict[type[Node], str] = {cst.If: "if", cst.While: "while", cst.IfExp: "if", cst.Assert: "assert"}
