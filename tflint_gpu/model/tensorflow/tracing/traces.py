"""Which functions TensorFlow traces, from where, and with which tensors."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from functools import cached_property, partial

import libcst as cst

from tflint_gpu.bounds import TENSOR_CALLS
from tflint_gpu.lazy_dataclasses import dataclass
from tflint_gpu.model.library.classes import TENSORS, KerasKind
from tflint_gpu.model.library.higher_order import PYTHON_FUNCTIONS
from tflint_gpu.model.library.keras_methods import OCCASIONS, TRACED_METHODS
from tflint_gpu.model.model import Analysis, Once
from tflint_gpu.model.python.execution.walks import Frame
from tflint_gpu.model.python.project.file import File
from tflint_gpu.model.python.project.functions import Class, Function
from tflint_gpu.model.python.syntax.syntax import Expression, Node, argument, parameters
from tflint_gpu.model.python.value_flow.call_sites import parameter_origins
from tflint_gpu.model.python.value_flow.calls import Callee
from tflint_gpu.model.python.value_flow.inference import Inference
from tflint_gpu.model.python.value_flow.origins import Context
from tflint_gpu.model.tensorflow.tf_data.pipelines import Pipelines
from tflint_gpu.model.tensorflow.tracing.keras_functions import GivenFunction, KerasFunctions
from tflint_gpu.model.tensorflow.tracing.tracing import Tracing
from tflint_gpu.model.tensorflow.types.guards import Guards
from tflint_gpu.model.tensorflow.types.kinds import Kinds
from tflint_gpu.model.tensorflow.types.tensors import Carry, Tensors

FUNCTIONAL_API = "the functional API"
_IN_MODELS, _IN_TRAINING = OCCASIONS["call"], OCCASIONS["update_state"]

TRACING_SUBSTRINGS = (
    b"def call(",
    b"def __call__(",
    b"_step(self",
    b"def update_state(",
    b"def compute_loss(",
    b"tf.function",
    b"tf2.function",
    b"tensorflow.function",
    b".function(",
    b".function\n",
    b".function\r",
    b"import function",
    b"Lambda(",
    b"compile(",
)
"""One of them is in each file from which something is traced."""


@dataclass(frozen=True, slots=True)
class Entry:
    """What TensorFlow traces, which may call other functions.

    Arguments:
        text: in words: "`Scale.call`" or "the `tf.function` `step`".
        occasions: when Keras traces it: "`fit`", "the functional API"; none where `tf.function` itself does.
        passes_gradients: whether a gradient is taken through it: not of metrics.
        given: where Keras is given it by another file.
    """

    text: str
    occasions: tuple[str, ...] = ()
    passes_gradients: bool = True
    given: tuple[Frame, ...] = ()


class Reached:
    """A function that runs because TensorFlow traces something."""

    __slots__ = ()
    function: Function
    start: Entry
    path: tuple[Frame, ...]

    @property
    def file(self) -> File:
        """The file of the function."""
        return self.function.file

    @property
    def entry(self) -> str:
        """What is traced, in words."""
        return self.start.text

    @property
    def keras(self) -> bool:
        """Whether Keras traces it (in `fit` and the functional API), not `tf.function` itself."""
        return bool(self.start.occasions)

    @property
    def frames(self) -> tuple[Frame, ...]:
        """All that leads to the function, with the place where Keras is given what it traces."""
        return (*self.start.given, *self.path)


@dataclass(frozen=True, slots=True)
class Trace(Reached):
    """A function that runs while TensorFlow traces.

    Arguments:
        function: the function itself, in the context of the call that leads to it.
        tensors: which expressions carry tensors.
        start: what is traced.
        path: the steps from the traced function to this one, empty for the traced one.
    """

    function: Function
    context: Context | None
    tensors: Tensors
    start: Entry
    path: tuple[Frame, ...] = ()

    @property
    def passes_gradients(self) -> bool:
        """Whether a gradient is taken through it: not of metrics."""
        return self.start.passes_gradients

    def holds_tensor(self, *exprs: Expression) -> bool:
        """Whether one of some expressions of the function carries a tensor."""
        return self.tensors.holds_tensor(self.file, exprs, self.context)

    def holds_value(self, expr: Expression) -> bool:
        """Whether an expression of the function has a value of Python's or NumPy's, known while it is traced."""
        return self.tensors.of(self.file, expr, self.context) is Carry.HOST

    def is_one(self, expr: Expression) -> bool:
        """Whether an expression of the function certainly is one tensor, and no container of some."""
        return self.holds_tensor(expr) and self.tensors.form(self.file, expr, self.context) == "one"

    def may_be_one(self, expr: Expression) -> bool:
        """Whether an expression carries a tensor, and is not known to be a container of some."""
        return self.holds_tensor(expr) and self.tensors.form(self.file, expr, self.context) == "unknown"

    @property
    def key(self) -> tuple[Node, frozenset[Node]]:
        """The function, and which of its variables hold tensors."""
        return self.function.node, self.tensors.carrying(Callee(self.function), self.context)

    @property
    def is_shared(self) -> bool:
        """Whether it is a helper of a module, which other code may call with NumPy arrays."""
        inner = self.file.tree.function(self.function.node) is not None
        is_plain = self.function.owner is None and not inner
        return bool(self.frames) and is_plain and isinstance(self.function.node, cst.FunctionDef)


class TracedFunctions(Analysis):
    """Which functions run traced when they are reached from one file."""

    kinds = Once(Kinds)
    guards = Once(Guards)
    pipelines = Once(Pipelines)
    tracing = Once(Tracing)
    keras_functions = Once(KerasFunctions)

    @cached_property
    def traces(self) -> list[Trace]:
        """All traced functions that start in this file, and the helpers that they call."""
        return self.followed(self._entries())

    def followed(self, entries: Iterable[Trace]) -> list[Trace]:
        """Some traced functions, and the helpers that they call with tensors."""
        followed: list[Trace] = []
        seen: set[tuple[Node, frozenset[Node]]] = set()
        queue, cut = list(entries), list[Trace]()
        for trace in queue:  # grows meanwhile
            key = trace.key
            if key in seen or trace.function.node in self._host_functions:
                continue
            seen.add(key)
            followed.append(trace)
            if len(trace.path) < TENSOR_CALLS.limit:
                queue.extend(self._called_from(trace))
            else:
                cut.extend(self._called_from(trace))
        if any(trace.key not in seen and trace.function.node not in self._host_functions for trace in cut):
            self.inference.meet(TENSOR_CALLS)
        return followed

    def of(self, function: Function) -> Trace:
        """What is known of the tensors in a function, were it traced."""
        seen = (trace for trace in self.traces if trace.function.node is function.node)
        return next(seen, None) or self._assumed(function)

    @cached_property
    def symbolic(self) -> Tensors:
        """The symbolic Keras tensors of code that builds functional models."""
        return Tensors(self.inference, self.kinds, None, {})

    @cached_property
    def _host_functions(self) -> frozenset[Node]:
        """Functions that TensorFlow runs on the host, with real values: `tf.numpy_function(f, ...)`."""
        functions: set[Node] = set()
        for call in self.file.calls(*PYTHON_FUNCTIONS):
            target = argument(call, 0, "func")
            if target is not None:
                functions.update(callee.function.node for callee in self.inference.callables(self.file, target))
        return frozenset(functions)

    def _trace(self, function: Function, seeds: Mapping[Node, Carry], entry: Entry) -> Trace:
        tensors = Tensors(
            self.inference,
            self.kinds,
            function,
            seeds,
            partial(_is_one, self.handed, self.keras_functions, function.file),
        )
        return Trace(function, tensors.context, tensors, entry)

    def _entries(self) -> Iterator[Trace]:
        yield from self._keras_methods()
        yield from self._keras_functions()
        for function, wrapper in self.tracing.wraps_in(self.file):
            is_other = function.file is not self.file
            frames = (Frame(self.file, wrapper, "`tf.function` gets it here"),) if is_other else ()
            seeds: dict[Node, Carry] = {
                p: Carry.TENSOR for p in function.parameters if self._is_tensor_like(function, p, wrapper)
            }
            yield self._trace(function, seeds, Entry(f"the `tf.function` `{function.name}`", given=frames))
        for function in self.tracing.assumed.values():
            if function.file is not self.file:
                yield self._assumed(function)

    def _assumed(self, function: Function) -> Trace:
        """The trace of a function that nothing here is seen to trace; Keras hands tensors to what it calls."""
        seeds: dict[Node, Carry] = {
            parameter: Carry.TENSOR for parameter in function.parameters if parameter in self.keras_functions.filled
        }
        traced = _traced_methods(self.kinds.of_class(function.owner)) if function.owner is not None else {}
        seeds |= self._seeds(function, traced[function.name]) if function.name in traced else {}
        return self._trace(function, seeds, Entry(f"`{function.name}`"))

    def _keras_methods(self) -> Iterator[Trace]:
        for node in self.file.tree.classes:
            cls = Class(self.file, node)
            kinds = self.kinds.of_class(cls)
            if not kinds or self._is_dynamic(cls):
                continue
            traced = _traced_methods(kinds)
            for method in self.inference.definitions.own_methods(cls):
                if method.name not in traced or self._may_be_replaced(method) or self._is_called_itself(method):
                    continue
                seeds = self._seeds(method, traced[method.name])
                occasions = _IN_TRAINING if kinds <= {"loss", "metric"} else OCCASIONS[method.name]
                entry = Entry(f"`{cls.name}.{method.name}`", occasions, "metric" not in kinds)
                yield self._trace(method, seeds, entry)

    def _is_called_itself(self, method: Function) -> bool:
        """Whether programs call a step of theirs that `fit` or the like would call, and not that: it runs eagerly."""
        running = [occasion.strip("`") for occasion in OCCASIONS[method.name]]
        if not method.name.endswith("_step"):
            return False
        called = re.compile(rb"\.%s\(" % method.name.encode())
        files = {*self._eager_callers(self.inference, method)}
        for model in self.importers(self.file, called):  # each is open until the next one
            files |= {*self._eager_callers(model.inference, method)}
        return bool(files) and not any(call for file in files for call in file.method_calls(*running))

    def _eager_callers(self, inference: Inference, method: Function) -> Iterator[File]:
        """The files that call a method, outside of its class, and not in what `tf.function` traces."""
        for file, call in inference.call_sites(method):
            is_own = method.owner is not None and file.tree.within(call, method.owner.node)
            if not is_own and not self.tracing.is_traced(file, file.tree.function(call)):
                yield file

    def _may_be_replaced(self, method: Function) -> bool:
        """Whether Keras may get another function: by a decorator, or by `new.update_state = ...` in its class."""
        if self.inference.definitions.decorators.may_replace(self.file, method.node):
            return True
        assigned = self.file.tree.attributes_set_in(method.owner.node) if method.owner is not None else ()
        return any(assignment.target.attr.value == method.name for assignment in assigned)

    def _keras_functions(self) -> Iterator[Trace]:
        """Functions that Keras traces although they are no methods: Lambda layers, losses, metrics."""
        for given in self.keras_functions.of_lambda_layers:
            yield self._given(given, _IN_MODELS)
        for given in self.keras_functions.losses:
            yield self._given(given, _IN_TRAINING)
        for given in self.keras_functions.metrics:
            yield self._given(given, _IN_TRAINING, gradients=False)

    def _given(self, given: GivenFunction, occasions: tuple[str, ...], *, gradients: bool = True) -> Trace:
        """The trace of a function that Keras is given."""
        callee, function = given.callee, given.callee.function
        name = f"{given.what} `{function.name}`" if function.name != "lambda" else given.what
        frames = (
            (Frame(self.file, given.call.func, f"{given.what} is given here"),)
            if function.file is not self.file
            else ()
        )
        seeds: dict[Node, Carry] = {**dict.fromkeys(given.filled, Carry.TENSOR), **self._annotated(function)}
        tensors = Tensors(self.inference, self.kinds, function, seeds)
        context = Context(function.node, caller=callee.context, receiver=callee.receiver)
        return Trace(function, context, tensors, Entry(name, occasions, gradients, frames))

    def _seeds(self, function: Function, params: tuple[str, ...]) -> dict[Node, Carry]:
        given = function.parameters
        seeds: dict[Node, Carry] = {}
        for wanted in params:
            position = {"*first": 0, "*second": 1}.get(wanted)
            if position is not None and position < len(given):
                seeds[given[position]] = Carry.TENSOR
            elif position is None:
                seeds.update({p: Carry.TENSOR for p in given if p.name.value == wanted})
        return {**seeds, **self._annotated(function)}

    def _annotated(self, function: Function) -> dict[Node, Carry]:
        """The parameters that are tensors by their annotations."""
        return {p: Carry.TENSOR for p in parameters(function.node) if self._is_annotated(function.file, p)}

    def _is_annotated(self, file: File, parameter: cst.Param) -> bool:
        annotation = parameter.annotation
        return annotation is not None and file.name(annotation.annotation) in TENSORS | {"keras.KerasTensor"}

    def _is_dynamic(self, cls: Class) -> bool:
        """Keras 2 runs layers built with `dynamic=True` eagerly."""
        for call in self.file.tree.inside(self.file.calls_of_method("__init__"), cls.node):
            dynamic = argument(call, -1, "dynamic")
            if dynamic is not None:
                return self.constants.of(self.file, dynamic) is not False
        return False

    def _is_tensor_like(self, function: Function, parameter: cst.Param, wrapper: Node) -> bool:
        """Whether a tf.function's parameter is certainly a tensor: Python values stay Python there."""
        if parameter.annotation is not None:
            return self._is_annotated(function.file, parameter)
        if parameter in self.keras_functions.filled:
            return True
        if parameter.default is not None:
            return False
        decorator = wrapper.decorator if isinstance(wrapper, cst.Decorator) else wrapper
        if isinstance(decorator, cst.Call) and argument(decorator, 1, "input_signature") is not None:
            return True
        name = parameter.name.value
        if (function.node, name) in self._shapes_asked or any(
            self._feeds_model(function.file, c, name) for c in function.calls
        ):
            return True
        return self._gets_tensors(function, parameter)

    def _gets_tensors(self, function: Function, parameter: cst.Param) -> bool:
        """Whether some call passes a tensor or an array, which becomes one, and none passes a Python value."""
        return self.handed.joined(parameter_origins(self.inference, function.file, parameter, None)) is Carry.TENSOR

    @cached_property
    def handed(self) -> Tensors:
        """The tensors that a traced function gets of code that runs eagerly: arrays, too, become tensors there."""
        return Tensors(self.inference, self.kinds, None, {}, yields=self.pipelines.must_yield)

    def _feeds_model(self, file: File, call: cst.Call, name: str) -> bool:
        """`model(x)`, where the model is a Keras model: what goes in is a tensor."""
        first = call.args[0].value if call.args else None
        if not (isinstance(first, cst.Name) and first.value == name):
            return False
        return self.kinds.is_model(file, call.func)

    @cached_property
    def _shapes_asked(self) -> frozenset[tuple[Node | None, str]]:
        """(function, name) for each `x.shape` or `x.dtype`: what tf.function makes a tensor of."""
        return frozenset(
            (self.file.tree.function(node), node.value.value)
            for node in self.file.tree.nodes(cst.Attribute)
            if node.attr.value in ("shape", "dtype", "get_shape") and isinstance(node.value, cst.Name)
        )

    def _called_from(self, trace: Trace) -> Iterator[Trace]:
        """The helpers that a traced function calls with a tensor, and the functions it has traced for it."""
        file = trace.file
        for call in trace.function.calls:
            yield from self._handed_on(trace, call)
            callees = self.inference.callees(file, call, trace.context)
            if len(callees) != 1 or self.guards.keeps_tensors_out(file, call):
                continue
            (callee,) = callees
            function = callee.function
            if self.inference.definitions.decorators.may_replace(function.file, function.node) or self._is_keras_method(
                function
            ):
                continue
            inside = self.inference.contexts.enter(file, call, trace.context, callee)
            if inside is None:
                continue
            if self._gets_tensor(trace, callee, inside):
                yield self._follow(trace, call, function, inside, f"called from `{trace.function.name}`")

    def _handed_on(self, trace: Trace, call: cst.Call) -> Iterator[Trace]:
        """`tf.map_fn(f, xs)`, `strategy.run(f, args=(x,))`, `map(f, xs)` in traced code."""
        file = trace.file
        for run in self.inference.handed(file, call, trace.context):
            function, text = run.function, f"passed on by `{trace.function.name}`"
            if run.handing is None or run.mode == "host":
                continue
            if run.handing.passes != "tensors":
                inside = self.inference.enter(file, call, trace.context, run)
                if inside is not None and self._gets_tensor(trace, run.callee, inside):
                    yield self._follow(trace, call, function, inside, text)
                continue
            seeds = dict(trace.tensors.seeds)
            seeds.update((p, Carry.TENSOR) for p in function.parameters)
            tensors = Tensors(self.inference, self.kinds, trace.tensors.function, seeds)
            context = Context(function.node, caller=trace.context)
            step = Frame(file, call, text)
            yield Trace(function, context, tensors, trace.start, (*trace.path, step))

    def _gets_tensor(self, trace: Trace, callee: Callee, inside: Context) -> bool:
        """Whether a function that traced code runs gets a tensor, or may read one of the function around it."""
        file, function = trace.file, callee.function
        if function.file is file and trace.function.node in file.enclosing_functions(function.node):
            return True
        return bool(trace.tensors.carrying(callee, inside))

    def _follow(self, trace: Trace, call: cst.Call, function: Function, context: Context, text: str) -> Trace:
        path = (*trace.path, Frame(trace.file, call, text))
        return Trace(function, context, trace.tensors, trace.start, path)

    def _is_keras_method(self, function: Function) -> bool:
        """A layer's own `call` is traced for itself, whoever calls it."""
        owner = function.owner
        return owner is not None and function.name in _traced_methods(self.kinds.of_class(owner))


def _traced_methods(kinds: Iterable[KerasKind]) -> dict[str, tuple[str, ...]]:
    """The methods of a class of these kinds that Keras traces, with what it hands to each."""
    return {name: params for kind in kinds for name, params in TRACED_METHODS[kind].items()}


def _is_one(handed: Tensors, keras_functions: KerasFunctions, file: File, parameter: cst.Param) -> bool:
    """Whether a parameter that holds a tensor is one, and no container: by who passes it, or by how it is used.

    Arguments:
        handed: the tensors that eager code passes.
        keras_functions: those that Keras passes one tensor for each parameter.
    """
    if parameter in keras_functions.filled:
        return True
    origins = [o for o in parameter_origins(handed.inference, file, parameter, None) if not o.is_none]
    if origins and all(handed.form_at(origin) == "one" for origin in origins):
        return True
    function, uses = file.tree.parents[file.tree.parents[parameter]], file.tree.uses.get(parameter.name.value, ())
    return any(_asks_one(file.tree.parents[use], use) for use in file.tree.inside(uses, function))


def _asks_one(parent: Node, use: Node) -> bool:
    """Whether a use is one of a tensor, and of no container: `x.shape`, `x[:, 0]`."""
    if isinstance(parent, cst.Attribute):
        return parent.value is use and parent.attr.value in ("shape", "dtype", "ndim", "get_shape")
    return isinstance(parent, cst.Subscript) and parent.value is use and len(parent.slice) > 1
