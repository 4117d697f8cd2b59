"""The functions of a project that run when a function runs, whatever leads to them."""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from tflint_gpu.model.library.higher_order import PARTIAL
from tflint_gpu.model.library.keras_methods import UPDATING_METHODS
from tflint_gpu.model.model import Analysis, Once
from tflint_gpu.model.python.project.decorators import function_of
from tflint_gpu.model.python.project.file import File
from tflint_gpu.model.python.project.functions import Class, Function, is_property
from tflint_gpu.model.python.syntax.children import walk
from tflint_gpu.model.python.syntax.syntax import Expression, FunctionNode
from tflint_gpu.model.python.value_flow.inheritance import overrides
from tflint_gpu.model.tensorflow.types.kinds import Kinds


class ReachedFunctions(Analysis):
    """Analysis of what a function runs by its calls, by the properties that it reads and by decorators of these."""

    is_of_values = True

    kinds = Once(Kinds)

    def called(self, function: Function) -> Iterator[Function]:
        """The functions of the project that a function runs directly, those of its models and layers too."""
        for node in walk(function.node.body):
            if isinstance(node, cst.Call):
                for called in self._run_by(function.file, node):
                    yield called
                    yield from self._wrappers(called)
            elif isinstance(node, cst.Attribute):
                yield from self._properties(function.file, node)

    def _run_by(self, file: File, call: cst.Call) -> Iterator[Function]:
        for run in self.inference.runs(file, call):
            yield run.function
            if run.function.owner is not None and self._is_of_any_class(file, call.func):
                yield from overrides(self.inference, run.function.owner, run.function.name)
        for origin in self.inference.of(file, call.func):
            cls = self.inference.instance_class(origin)
            method = self.inference.definitions.method(cls, "call") if cls is not None else None
            if method is not None:
                yield method
        if isinstance(call.func, cst.Attribute) and call.func.attr.value in UPDATING_METHODS:
            yield from self._read_by_optimizer(file, call.func.value)

    def _is_of_any_class(self, file: File, method: Expression) -> bool:
        """Whether a method is of an object that may be of a class below the one that is seen: `self.loss(...)`."""
        if not isinstance(method, cst.Attribute):
            return False
        return any(origin.call is None for origin in self.inference.of(file, method.value))

    def _read_by_optimizer(self, file: File, optimizer: Expression) -> Iterator[Function]:
        """What an optimizer calls for its learning rate: a function, or a schedule of the project."""
        made = (origin for origin in self.inference.of(file, optimizer) if self.kinds.of(origin) == "optimizer")
        for origin in made:
            for arg in origin.call.args if origin.call is not None else ():
                for callee in self.inference.callables(origin.file, arg.value, origin.context):
                    yield callee.function
                for given in self.inference.of(origin.file, arg.value, origin.context):
                    cls = self.inference.instance_class(given)
                    method = self.inference.definitions.method(cls, "__call__") if cls is not None else None
                    if method is not None:
                        yield method

    def _wrappers(self, function: Function) -> Iterator[Function]:
        """What the project's decorators of a function run around it."""
        for decorator in function.node.decorators if isinstance(function.node, cst.FunctionDef) else ():
            for callee in self.inference.callables(function.file, function_of(decorator)):
                yield from self._inner(callee.function.file, callee.function.node)
            cls = self.inference.definitions.class_named(function.file, function_of(decorator))
            method = self.inference.definitions.method(cls, "__call__") if cls is not None else None
            if method is not None:
                yield method

    def _inner(self, file: File, function: FunctionNode) -> Iterator[Function]:
        for inner in file.tree.functions_in.get(function, ()):
            yield self.inference.definitions.function(file, inner)
            yield from self._inner(file, inner)

    def _properties(self, file: File, read: cst.Attribute) -> Iterator[Function]:
        if read.attr.value not in self.inference.seen.callable_names:
            return
        for origin in self.inference.of(file, read.value):
            cls = self.inference.instance_class(origin)
            method = self.inference.definitions.method(cls, read.attr.value) if cls is not None else None
            if method is not None and is_property(method.node):
                yield method

    def given_to_layers(self) -> Iterator[tuple[File, Expression]]:
        """What layers of Keras's own are given that may be a function: `scaled`, `functools.partial(scaled, by=2)`."""
        for file in self.inference.seen.with_text("layers"):
            for value in (arg.value for call in file.calls("keras.layers.*") for arg in call.args):
                is_partial = isinstance(value, cst.Call) and file.name(value.func) in PARTIAL
                if is_partial or isinstance(value, cst.Lambda | cst.Name | cst.Attribute):
                    yield file, value

    def of_layers(self) -> Iterator[Function]:
        """What layers run when a model calls them: a model of Keras's may hold any layer of the project.

        Of Keras's own layers what they are given: `Lambda(scaled)`, `Dense(4, activation=leaky)`.
        """
        for file, value in self.given_to_layers():
            yield from (callee.function for callee in self.inference.callables(file, value))
        for file in self.inference.seen.with_text("def call("):
            for cls in (Class(file, node) for node in file.tree.classes):
                method = self.inference.definitions.method(cls, "call")
                if method is not None and "layer" in self.kinds.of_class(cls):
                    yield method
