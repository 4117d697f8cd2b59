"""Which functions TensorFlow traces, from where, and with which tensors."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import libcst as cst

from tflint_gpu.model.python.classes import Class, KerasKind
from tflint_gpu.model.python.functions import Function
from tflint_gpu.model.python.syntax import Expression, FunctionNode, Node, argument, method_name, parameters
from tflint_gpu.model.tensorflow.tensor_functions import HIGHER_ORDER, PYTHON_FUNCTIONS
from tflint_gpu.model.tensorflow.tensors import Carry, Tensors

if TYPE_CHECKING:
    from tflint_gpu.model.model import Model

# The methods that Keras traces, with the parameters that always hold tensors (or containers of them).
_TRACED_METHODS: dict[KerasKind, dict[str, tuple[str, ...]]] = {
    "layer": {"call": ("*first",)},
    "model": {
        "call": ("*first",),
        "train_step": ("*first",),
        "test_step": ("*first",),
        "predict_step": ("*first",),
        "compute_loss": ("x", "y", "y_pred"),
    },
    "metric": {"update_state": ("y_true", "y_pred")},
    "loss": {"call": ("*first", "*second")},
}
_TENSOR_ANNOTATIONS = frozenset(["tf.Tensor", "tf.types.experimental.TensorLike", "keras.KerasTensor"])
_PATH_LIMIT = 6


@dataclass(frozen=True, slots=True)
class Step:
    """One step on the way from what TensorFlow traces to a helper: a call, or the traced function itself."""

    model: Model
    node: Node
    text: str


@dataclass(frozen=True, slots=True)
class Trace:
    """A function that runs while TensorFlow traces.

    Arguments:
        tensors: which of its expressions carry tensors.
        entry: what is traced, in words: "`Scale.call`" or "the `tf.function` `step`".
        keras: whether Keras traces it (in `fit` and the functional API), not `tf.function` itself.
        path: the steps from the traced function to this one, empty for the traced one.
    """

    tensors: Tensors
    entry: str
    keras: bool
    path: tuple[Step, ...] = ()

    @property
    def function(self) -> Function:
        """The function itself."""
        return self.tensors.function

    @property
    def is_shared(self) -> bool:
        """Whether it is a helper of a module, which other code may call with NumPy arrays."""
        is_plain = self.function.owner is None and self.tensors.outer is None
        return bool(self.path) and is_plain and isinstance(self.function.node, cst.FunctionDef)


class Execution:
    """Questions about where one file's functions run."""

    def __init__(self, model: Model) -> None:
        self.model = model

    @cached_property
    def traces(self) -> list[Trace]:
        """All traced functions that start in this file, and the helpers that they call."""
        found: list[Trace] = []
        seen: set[tuple[Node, frozenset[str]]] = set()
        queue = list(self._entries())
        while queue:
            trace = queue.pop(0)
            carrying = frozenset(n for n, c in trace.tensors.carrying.items() if c is Carry.TENSOR)
            key = (trace.function.node, carrying)
            if key in seen or trace.function.node in self._host_functions:
                continue
            seen.add(key)
            found.append(trace)
            if len(trace.path) < _PATH_LIMIT:
                queue.extend(_called_from(trace))
        return found

    def is_traced(self, function: FunctionNode) -> bool:
        """Whether a function is, or may be, run under `tf.function`: itself or all that call it."""
        return function in self._graph_functions

    @cached_property
    def _graph_functions(self) -> frozenset[Node]:
        """Functions that may run under tf.function: wrapped somewhere, or called from one that is."""
        queue: list[Node] = list(self.wrapped)
        for cls in self.model.tree.classes:
            for kind in self.model.classes.keras_kinds(Class(self.model, cls)):
                names = _TRACED_METHODS[kind]
                queue.extend(m for m in self.model.classes.own_methods(Class(self.model, cls)) if m.name.value in names)
        found: set[Node] = set()
        while queue:
            node = queue.pop()
            if node in found:
                continue
            found.add(node)
            for call in self.model.functions.calls_in.get(node, ()):
                called = self.model.functions.called(call)
                if called is not None and called.model is self.model:
                    queue.append(called.node)
                queue.extend(f.node for f in self._functions_passed(call) if f.model is self.model)
            queue.extend(f for f in self.model.tree.functions if self.model.tree.function(f) is node)
        return frozenset(found)

    def _functions_passed(self, call: cst.Call) -> Iterator[Function]:
        """Functions given to a call as arguments: `strategy.run(step, ...)`, `tf.map_fn(f, xs)`."""
        for arg in call.args:
            if isinstance(arg.value, cst.Name | cst.Attribute | cst.Lambda):
                function = self.model.functions.named(arg.value)
                if function is not None:
                    yield function

    @cached_property
    def wrapped(self) -> dict[FunctionNode, Node]:
        """Functions of this file under tf.function: by decorator, or passed to it; with that place."""
        found: dict[FunctionNode, Node] = {}
        for function in self.model.tree.functions:
            if isinstance(function, cst.FunctionDef):
                for decorator in function.decorators:
                    if self._is_tf_function(decorator.decorator):
                        found[function] = decorator
        for call in self.model.tree.calls:
            if self._is_tf_function(call.func):
                target = argument(call, 0, "func")
                function_given = self.model.functions.named(target) if target is not None else None
                if function_given is not None and function_given.model is self.model:
                    found.setdefault(function_given.node, call)
        return found

    def _is_tf_function(self, expr: Expression) -> bool:
        """`tf.function`, `tf.function(...)`, `functools.partial(tf.function, ...)`, or a name for one."""
        names = (
            "tf.function",
            "tf.compat.v1.function",
            "tf.contrib.eager.defun",
            "tf.compat.v1.wrap_function",
        )
        if self.model.name(expr) in names:
            return True
        if isinstance(expr, cst.Call):
            if self.model.name(expr.func) in names:
                return argument(expr, 0, "func") is None
            if self.model.name(expr.func) == "functools.partial" and expr.args:
                return self.model.name(expr.args[0].value) in names
            return False
        if isinstance(expr, cst.Name):  # `maybe_compile = tf.function if FLAGS.graph else lambda f: f`
            bindings = self.model.flow.lookup(expr.value, expr)
            return any(
                b.kind == "assign" and isinstance(b.value, cst.IfExp | cst.Call) and self._mentions_tf_function(b.value)
                for b in bindings
            )
        return False

    def _mentions_tf_function(self, expr: Expression) -> bool:
        if isinstance(expr, cst.IfExp):
            return self._is_tf_function(expr.body) or self._is_tf_function(expr.orelse)
        return self._is_tf_function(expr)

    @cached_property
    def _host_functions(self) -> frozenset[Node]:
        """Functions that TensorFlow runs on the host, with real values: `tf.numpy_function(f, ...)`."""
        found = set()
        for call in self.model.calls(*PYTHON_FUNCTIONS):
            target = argument(call, 0, "func")
            function = self.model.functions.named(target) if target is not None else None
            if function is not None:
                found.add(function.node)
        return frozenset(found)

    def _entries(self) -> Iterator[Trace]:
        yield from self._keras_methods()
        yield from self._keras_functions()
        for function in self.wrapped:
            target = self.model.functions.of(function)
            carrying = {p.name.value: Carry.TENSOR for p in target.parameters if self._is_tensor_like(target, p)}
            yield Trace(Tensors(target, carrying), f"the `tf.function` `{target.name}`", keras=False)

    def _keras_methods(self) -> Iterator[Trace]:
        for node in self.model.tree.classes:
            cls = Class(self.model, node)
            kinds = self.model.classes.keras_kinds(cls)
            if not kinds or self._is_dynamic(cls):
                continue
            traced = {name: params for kind in kinds for name, params in _TRACED_METHODS[kind].items()}
            for method in self.model.classes.own_methods(cls):
                if method.name.value not in traced or self.model.functions.may_be_replaced(method):
                    continue
                function = Function(self.model, method, cls)
                carrying = _carrying(function, traced[method.name.value])
                yield Trace(Tensors(function, carrying), f"`{cls.name}.{function.name}`", keras=True)

    def _keras_functions(self) -> Iterator[Trace]:
        """Functions that Keras traces although they are no methods: Lambda layers, losses, metrics."""
        for call in self.model.calls("keras.layers.Lambda"):
            yield from self._given(argument(call, 0, "function"), ("*first",), "the `Lambda` layer's function")
        for call in self.model.method_calls("compile"):
            loss = argument(call, 1, "loss")
            if argument(call, -1, "run_eagerly") is None and self._is_keras_compile(call):
                yield from self._given(loss, ("*first", "*second"), "the loss")

    def _is_keras_compile(self, call: cst.Call) -> bool:
        return any(a.keyword is not None and a.keyword.value in ("optimizer", "loss", "metrics") for a in call.args)

    def _given(self, expr: Expression | None, params: tuple[str, ...], what: str) -> Iterator[Trace]:
        function = self.model.functions.named(expr) if isinstance(expr, cst.Name | cst.Lambda) else None
        if function is not None and function.model is self.model:
            name = "" if function.name == "lambda" else f" `{function.name}`"
            yield Trace(Tensors(function, _carrying(function, params)), f"{what}{name}", keras=True)

    def _is_dynamic(self, cls: Class) -> bool:
        """Keras 2 runs layers built with `dynamic=True` eagerly."""
        for call in self.model.tree.calls:
            if method_name(call) == "__init__" and self.model.tree.within(call, cls.node):
                dynamic = argument(call, -1, "dynamic")
                if dynamic is not None and self.model.value(dynamic) is not False:
                    return True
        return False

    def _is_tensor_like(self, function: Function, parameter: cst.Param) -> bool:
        """Whether a tf.function's parameter is certainly a tensor: Python values stay Python there."""
        name = parameter.name.value
        if parameter.annotation is not None:
            return self.model.name(parameter.annotation.annotation) in _TENSOR_ANNOTATIONS
        if parameter.default is not None:
            return False
        place = self.wrapped[function.node]
        decorator = place.decorator if isinstance(place, cst.Decorator) else place
        if isinstance(decorator, cst.Call) and argument(decorator, 1, "input_signature") is not None:
            return True
        for node in self.model.functions.calls_in.get(function.node, ()):
            if self._feeds_model(node, name):
                return True
        return (function.node, name) in self._shapes_asked

    def _feeds_model(self, call: cst.Call, name: str) -> bool:
        """`model(x)`, where the model is a Keras model: what goes in is a tensor."""
        first = call.args[0].value if call.args else None
        if not (isinstance(first, cst.Name) and first.value == name):
            return False
        return self.model.keras_models.is_model(call.func)

    @cached_property
    def _shapes_asked(self) -> frozenset[tuple[Node | None, str]]:
        """(function, name) for each `x.shape` or `x.dtype`: what tf.function makes a tensor of."""
        return frozenset(
            (self.model.tree.function(node), node.value.value)
            for node in self.model.tree.parents
            if isinstance(node, cst.Attribute)
            and node.attr.value in ("shape", "dtype", "get_shape")
            and isinstance(node.value, cst.Name)
        )


def _carrying(function: Function, params: tuple[str, ...]) -> dict[str, Carry]:
    names = [p.name.value for p in function.parameters]
    found: dict[str, Carry] = {}
    for wanted in params:
        position = {"*first": 0, "*second": 1}.get(wanted)
        if position is not None and position < len(names):
            found[names[position]] = Carry.TENSOR
        elif position is None and wanted in names:
            found[wanted] = Carry.TENSOR
    for parameter in parameters(function.node):
        annotation = parameter.annotation
        if annotation is not None and function.model.name(annotation.annotation) in _TENSOR_ANNOTATIONS:
            found[parameter.name.value] = Carry.TENSOR
    return found


def _called_from(trace: Trace) -> Iterator[Trace]:
    """The helpers that a traced function calls with a tensor, and the functions it has traced for it."""
    model, tensors = trace.tensors.model, trace.tensors
    for call in model.functions.calls_in.get(trace.function.node, ()):
        if model.guards.keeps_tensors_out(call):
            continue
        called = model.functions.called(call)
        if called is not None and not called.model.functions.may_be_replaced(called.node):
            inner = tensors.enter(call, called)
            closes_over = inner.outer is not None  # an inner function sees the tensors around it
            if (closes_over or Carry.TENSOR in inner.carrying.values()) and not _is_keras_method(called):
                yield _follow(trace, call, inner, f"called from `{trace.function.name}`")
        name = model.name(call.func)
        if name in HIGHER_ORDER or (method_name(call) == "run" and argument(call, 1, "args") is not None):
            yield from _handed_on(trace, call)


def _handed_on(trace: Trace, call: cst.Call) -> Iterator[Trace]:
    """`tf.map_fn(f, xs)`, `strategy.run(f, args=(x,))` in traced code."""
    model, tensors = trace.tensors.model, trace.tensors
    given = next((a.value for a in call.args if a.keyword is None or a.keyword.value in ("fn", "body")), None)
    if not isinstance(given, cst.Name | cst.Attribute | cst.Lambda):
        return
    function = model.functions.named(given)
    if function is None:
        return
    if method_name(call) == "run":
        passed = argument(call, 1, "args")
        values = [e.value for e in passed.elements] if isinstance(passed, cst.Tuple | cst.List) else []
        carrying = {p.name.value: tensors.of(v) for p, v in zip(function.parameters, values, strict=False)}
    else:
        carrying = {p.name.value: Carry.TENSOR for p in function.parameters}
    inner = Tensors(function, carrying, tensors.around(function), tensors.depth + 1)
    yield _follow(trace, call, inner, f"passed on by `{trace.function.name}`")


def _follow(trace: Trace, call: cst.Call, inner: Tensors, text: str) -> Trace:
    step = Step(trace.tensors.model, call, text)
    return Trace(inner, trace.entry, trace.keras, (*trace.path, step))


def _is_keras_method(function: Function) -> bool:
    """A layer's own `call` is traced for itself, whoever calls it."""
    if function.owner is None:
        return False
    kinds = function.owner.model.classes.keras_kinds(function.owner)
    return any(function.name in _TRACED_METHODS[kind] for kind in kinds)
