"""Which functions run, or may run, under `tf.function`."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TypeAlias

import libcst as cst

from tflint_gpu.model.library.datasets import MAPPING_METHODS
from tflint_gpu.model.library.higher_order import TF_FUNCTIONS
from tflint_gpu.model.library.keras_methods import OVERRIDDEN_METHODS
from tflint_gpu.model.model import Analysis, Model
from tflint_gpu.model.python.project.file import File
from tflint_gpu.model.python.project.functions import Class, Function
from tflint_gpu.model.python.syntax.scopes import Binding
from tflint_gpu.model.python.syntax.syntax import Expression, FunctionNode, Node, argument, dotted_name, parameters
from tflint_gpu.model.python.value_flow.calls import is_library, wraps
from tflint_gpu.model.tensorflow.types.kinds import Kinds

_WORDS = frozenset(name.rpartition(".")[2] for name in TF_FUNCTIONS)
_ASSUMED = cst.Decorator(cst.Name("function"))
_NAMING = (cst.Name, cst.Attribute, cst.Lambda)
Decoration: TypeAlias = tuple[cst.FunctionDef, cst.Decorator]


class Tracing(Analysis):
    """Functions under `tf.function`, in all files that a check sees.

    Attributes:
        assumed: functions that count as if they were decorated with it.
    """

    def __init__(self, model: Model) -> None:
        super().__init__(model)
        self.kinds = model.once(Kinds)
        self.assumed = model.assumed
        self._known: dict[Node, bool] = {}
        self._wrapped: dict[File, dict[FunctionNode, Node]] = {}
        self._under_tf_function: set[Node] = set()
        self._under_keras: set[Node] = set()
        self._searched: set[File] = set()
        self._wrapping: dict[File, frozenset[Node]] = {}
        self._wraps: dict[File, list[tuple[Function, Node]]] = {}
        self._functions: dict[File, tuple[list[tuple[Function, Node]], frozenset[FunctionNode]]] = {}
        self._given: dict[File, list[tuple[cst.Call, Expression]]] = {}

    def is_traced(self, file: File, function: FunctionNode | None) -> bool:
        """Whether a function is, or may be, traced: itself, or by what calls it; None: the module, which is not."""
        return self.is_under_tf_function(file, function) or function in self._under_keras

    def is_under_tf_function(self, file: File, function: FunctionNode | None) -> bool:
        """Whether a function is, or may be, under `tf.function`; what only Keras traces in `fit` runs eagerly too."""
        for searched in (self.inference.entry, file):
            if searched not in self._searched:
                self._searched.add(searched)
                self._spread([f for f, _ in self.wraps_in(searched)], self._under_tf_function)
                self._spread(list(self._keras_roots(searched)), self._under_keras)
        return function in self._under_tf_function

    def is_wrapped(self, file: File, function: FunctionNode) -> bool:
        """Whether `tf.function` gets a function itself, in its own file or the one that is checked.

        What traced code only calls runs eagerly when eager code calls it, too.
        """
        return any(function in self._functions_wrapped(searched) for searched in (self.inference.entry, file))

    def _functions_wrapped(self, file: File) -> frozenset[FunctionNode]:
        """The functions that `tf.function` gets in a file."""
        wraps = self.wraps_in(file)
        if file not in self._functions or self._functions[file][0] is not wraps:  # of a preliminary answer
            self._functions[file] = wraps, frozenset(function.node for function, _ in wraps)
        return self._functions[file][1]

    def wrapped(self, file: File) -> dict[FunctionNode, Node]:
        """Functions of a file under `tf.function` there: by decorator, or passed to it; with that place."""
        if file not in self._wrapped:
            self._wrapped[file] = {}
            wrapped = {f.node: wrapper for f, wrapper in self.wraps_in(file) if f.file is file}
            self._wrapped[file] = wrapped
        return self._wrapped[file]

    def wraps_in(self, file: File) -> list[tuple[Function, Node]]:
        """Functions, also of other files, that a file puts under `tf.function`, with the place where it does."""
        if file not in self._wraps:
            self._wraps[file] = list(self._find_wraps(file))
        return self._wraps[file]

    def _find_wraps(self, file: File) -> Iterator[tuple[Function, Node]]:
        definitions = self.inference.definitions
        for node in file.tree.functions if self.assumed else ():
            if node in self.assumed:
                yield definitions.function(file, node), _ASSUMED
        for function, decorator in self.decorations(file):
            yield definitions.function(file, function), decorator
        for call, target in self.given(file):
            for callee in self.inference.callables(file, target):
                yield callee.function, call

    def given(self, file: File) -> list[tuple[cst.Call, Expression]]:
        """The calls in a file that hand something to `tf.function`, with what they hand to it."""
        if file not in self._given:
            calls = [call for call in self._perhaps_wrapping(file) if call.args]
            given = ((call, argument(call, 0, "func")) for call in calls)
            self._given[file] = [
                (call, target) for call, target in given if target is not None and self.is_tf_function(file, call.func)
            ]
        return self._given[file]

    def _perhaps_wrapping(self, file: File) -> list[cst.Call]:
        """The calls of a file whose function may be `tf.function`, in the order of the code."""
        by_name, wrappers = file.once(_naming_calls), self._wrappers(file)
        return by_name if not wrappers else [c for c in file.tree.calls if c.func in wrappers or c in by_name]

    def decorations(self, file: File) -> list[Decoration]:
        """The functions of a file that `tf.function` decorates, each with the decorator."""
        perhaps = file.once(_decorations) if self._wrappers(file) else file.once(_naming_decorations)
        return [pair for pair in perhaps if self.is_tf_function(file, pair[1].decorator)]

    def is_tf_function(self, file: File, expr: Expression) -> bool:
        """`tf.function`, `tf.function(...)`, `functools.partial(tf.function, ...)`, or a name for one."""
        if not self._names_it(file):
            return expr in self._wrappers(file)
        name = file.name(expr)
        if name is not None and name.partition(".")[0] in ("tf", "keras", "numpy", "functools"):
            return name in TF_FUNCTIONS
        if isinstance(expr, cst.Call):
            return _makes_it(file, expr)
        if expr in self._wrappers(file):
            return True
        if not isinstance(expr, cst.Name) or expr.value not in file.once(_aliases):
            return False
        if expr not in self._known:
            self._known[expr] = False  # a name for itself ends here
            self._known[expr] = any(
                isinstance(b.value, cst.IfExp | cst.Call) and b.kind == "assign" and self._mentions(file, b.value)
                for b in file.flow.lookup(expr.value, expr)
            )
        return self._known[expr]

    def _names_it(self, file: File) -> bool:
        """Whether a file's text has one of the words, so that something in it may be called that."""
        return file.once(_has_words)

    def _wrappers(self, file: File) -> frozenset[Node]:
        """The functions and decorators used in a file that are the project's own ways to write `tf.function`."""
        if file not in self._wrapping:
            self._wrapping[file] = frozenset()
            homes = self.inference.seen.with_text("return tf.function(", file)
            made = frozenset().union(*(home.once(_own_wrappers) for home in homes))
            used = [call.func for name in made for call in file.calls_ending_with(name)]
            used += [
                decorator.decorator
                for _, decorator in (file.once(_decorations) if made else ())
                if (dotted_name(decorator.decorator) or "").rpartition(".")[2] in made
            ]
            self._wrapping[file] = frozenset(used)
        return self._wrapping[file]

    def _mentions(self, file: File, expr: Expression) -> bool:
        if isinstance(expr, cst.IfExp):
            return self.is_tf_function(file, expr.body) or self.is_tf_function(file, expr.orelse)
        return self.is_tf_function(file, expr)

    def _keras_roots(self, file: File) -> Iterator[Function]:
        for node in file.tree.classes:
            cls = Class(file, node)
            if self.kinds.of_class(cls):
                for method in self.inference.definitions.own_methods(cls):
                    if method.name in OVERRIDDEN_METHODS:
                        yield method
        for call in self.mapping(file):  # what a dataset maps is traced
            for callee in self.inference.callables(file, call.args[0].value):
                yield callee.function

    def mapping(self, file: File) -> Iterator[cst.Call]:
        """The calls of a file that may give a function to a dataset; not those that give it to a pool of threads."""
        for call in file.method_calls(*MAPPING_METHODS):
            if call.args and self.inference.handing(file, call) is None:
                yield call

    def _spread(self, queue: list[Function], reached: set[Node]) -> None:
        """From traced functions to what they call, to functions that they hand on, and to functions inside them."""
        roots = {function.node for function in queue}
        for function in queue:  # grows meanwhile
            if function.node in reached:
                continue
            reached.add(function.node)
            file = function.file
            for call in function.calls:
                queue.extend(callee.function for callee in self.inference.callees(file, call))
                for arg in call.args:
                    if self._may_hand_on(function, arg.value, function.node in roots):
                        queue.extend(callee.function for callee in self.inference.callables(file, arg.value))
            queue.extend(
                self.inference.definitions.function(file, inner)
                for inner in file.tree.functions_in.get(function.node, ())
            )

    def _may_hand_on(self, function: Function, given: Expression, is_root: bool) -> bool:
        """Whether an argument in a traced function may be a function that nothing else in traced code names.

        Not what a parameter holds, where a traced call passes it: it was met there. Not what a library's call gives.
        """
        if not isinstance(given, cst.Name):
            return isinstance(given, _NAMING)
        file, bindings = function.file, function.file.tree.scopes[function.node].bindings.get(given.value)
        if not bindings:
            return True
        return not all(
            self._is_given_by_library(file, binding)
            or (isinstance(binding.node, cst.Param) and not is_root and not isinstance(binding.node.default, _NAMING))
            for binding in bindings
        )

    def _is_given_by_library(self, file: File, binding: Binding) -> bool:
        value = binding.value
        if binding.kind != "assign" or not isinstance(value, cst.Call) or not is_library(file.name(value.func)):
            return False
        return not wraps(self.inference.library, file, value)


def _has_words(file: File) -> bool:
    return any(word in file.source.code for word in _WORDS)


def _makes_it(file: File, call: cst.Call) -> bool:
    """`tf.function(jit_compile=True)`, `functools.partial(tf.function, ...)`."""
    name = file.name(call.func)
    if name in TF_FUNCTIONS:
        return argument(call, 0, "func") is None
    return name == "functools.partial" and bool(call.args) and file.name(call.args[0].value) in TF_FUNCTIONS


def _aliases(file: File) -> frozenset[str]:
    """The names that may be ones for it: `maybe_compile = tf.function if FLAGS.graph else lambda f: f`."""
    return frozenset(
        name
        for scope in file.tree.scopes.values()
        for name, bindings in scope.bindings.items()
        for b in bindings
        if b.kind == "assign"
        and (isinstance(b.value, cst.IfExp) or (isinstance(b.value, cst.Call) and _makes_it(file, b.value)))
    )


def _names_by_itself(file: File, expr: Expression) -> bool:
    """Whether an expression may be `tf.function` by what its own file says."""
    if isinstance(expr, cst.Call):
        return _makes_it(file, expr)
    return file.name(expr) in TF_FUNCTIONS or (isinstance(expr, cst.Name) and expr.value in file.once(_aliases))


def _naming_calls(file: File) -> list[cst.Call]:
    return [call for call in file.tree.calls if _names_by_itself(file, call.func)] if _has_words(file) else []


def _decorations(file: File) -> list[Decoration]:
    """All functions of a file with each of their decorators."""
    functions = (function for function in file.tree.functions if isinstance(function, cst.FunctionDef))
    return [(function, decorator) for function in functions for decorator in function.decorators]


def _naming_decorations(file: File) -> list[Decoration]:
    decorations = file.once(_decorations) if _has_words(file) else ()
    return [(function, decorator) for function, decorator in decorations if _names_by_itself(file, decorator.decorator)]


def _own_wrappers(file: File) -> frozenset[str]:
    """The names of the functions of a file that return their own argument under `tf.function`."""
    if not any(True for _ in file.calls(*TF_FUNCTIONS)):
        return frozenset()
    return frozenset(
        function.name.value
        for function in file.tree.functions
        if isinstance(function, cst.FunctionDef) and _returns_tf_function(file, function)
    )


def _returns_tf_function(file: File, function: cst.FunctionDef) -> bool:
    """Whether a function returns its own argument under `tf.function`."""
    names = {p.name.value for p in parameters(function)}
    for value in file.returned(function):
        if isinstance(value, cst.Call) and value.args and file.name(value.func) in TF_FUNCTIONS:
            given = value.args[0].value
            if isinstance(given, cst.Name) and given.value in names:
                return True
    return False
