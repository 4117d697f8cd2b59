"""What traced code creates that holds variables: TensorFlow lets it do so once, while it traces for the first time."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from functools import cached_property

import libcst as cst

from tflint_gpu.bounds import WEIGHT_LAYERS
from tflint_gpu.lazy_dataclasses import dataclass
from tflint_gpu.model.library.classes import SEQUENTIAL, VARIABLES
from tflint_gpu.model.library.keras_methods import (
    ADDING_WEIGHTS,
    CELLS,
    HOLDING_VARIABLES,
    LAYER_FOLDERS,
    NOISE,
    WRAPPERS,
)
from tflint_gpu.model.library.nondeterminism import VARIABLE_GENERATORS
from tflint_gpu.model.model import Analysis, Model
from tflint_gpu.model.python.project.file import File
from tflint_gpu.model.python.project.functions import Class, Function
from tflint_gpu.model.python.syntax.syntax import Expression, Node, argument, dotted_name, method_name
from tflint_gpu.model.python.value_flow.origins import Context, Origin
from tflint_gpu.model.tensorflow.tracing.traced_code import Traced, TracedCode
from tflint_gpu.model.tensorflow.types.kinds import Kinds
from tflint_gpu.targets import Target

_PREPARING = ("__init__", "build")


@dataclass(frozen=True, slots=True)
class Created:
    """A call in traced code that creates variables.

    Arguments:
        what: "a variable", "a layer with weights", ...
        since_keras_3: whether Keras 2 creates none there.
        mode: of the object in which it does, as it is written; empty for any.
    """

    traced: Traced
    call: cst.Call
    what: str
    since_keras_3: bool = False
    mode: str = ""


class CreatedState(Analysis):
    """Analysis of the variables, layers and optimizers that traced code creates."""

    def __init__(self, model: Model) -> None:
        super().__init__(model)
        self.kinds = model.once(Kinds)
        self.code = model.once(TracedCode)
        self._prepared: dict[Node, bool] = {}

    @cached_property
    def in_every_call(self) -> list[list[Created]]:
        """What each traced function creates whenever it is called, in the order of the code."""
        return self.of(self.code.functions)

    def of(self, functions: Iterable[Traced]) -> list[list[Created]]:
        """The same of some of the traced functions."""
        if any(True for _ in self.file.calls("tf.compat.v1.wrap_function")):  # that may create what it likes
            return []
        creations = (list(self._in_function(traced)) for traced in functions)
        return [
            created for created in creations if created and not self._is_expected_to_fail(created[0].traced.function)
        ]

    def _is_expected_to_fail(self, function: Function) -> bool:
        """Whether all calls of a function are there to show that it raises."""
        sites = self.inference.call_sites(function)
        return bool(sites) and all(
            self.code.guards.in_try(file, call) or _in_raises(file, call) for file, call in sites
        )

    def _in_function(self, traced: Traced) -> Iterator[Created]:
        file, function = traced.file, traced.function
        for call in function.calls:
            created = self._created(traced, call)
            if created is None or self._is_graph_code(file, call):
                continue
            if self.code.runs_in_every_call(traced, call):
                yield replace(created, mode=self.code.mode(file, call))

    def _created(self, traced: Traced, call: cst.Call) -> Created | None:
        file = traced.file
        name = file.name(call.func) or ""
        what = _made_at_once(name, self.target)
        if what is not None:
            return Created(traced, call, what)
        if self._has_seed(file, name, call):
            return Created(traced, call, "a variable for its random numbers", since_keras_3=True)
        if self._adds_weight(file, call):
            return Created(traced, call, "a weight")
        if self.has_weights(file, call, traced.context) and self._is_called(traced, call):
            return Created(traced, call, "a layer with weights")
        return None

    def _has_seed(self, file: File, name: str, call: cst.Call) -> bool:
        if _layer(name) not in NOISE or self.target.keras < 3:
            return False
        rate = argument(call, 0, "rate") or argument(call, 0, "stddev")
        numbers = (
            [number for origin in self.inference.of(file, rate) for number in _number(origin)]
            if rate is not None
            else ()
        )
        return bool(numbers) and 0 not in numbers  # with a rate of zero it has none

    def _adds_weight(self, file: File, call: cst.Call) -> bool:
        """`self.add_weight(...)` of Keras's own."""
        if method_name(call) not in ADDING_WEIGHTS or not isinstance(call.func, cst.Attribute):
            return False
        cls = self.inference.definitions.self_class(file, call.func.value)
        if cls is None or not self.kinds.of_class(cls):
            return False
        return self.inference.definitions.method(cls, call.func.attr.value) is None

    def has_weights(self, file: File, call: cst.Call, context: Context | None, depth: int = 0) -> bool:
        """Whether what a call makes is a layer, or a model of layers, that certainly has weights."""
        name = file.name(call.func) or ""
        if depth > WEIGHT_LAYERS.limit:
            if not name or _layer(name) or name in SEQUENTIAL:
                self.inference.meet(WEIGHT_LAYERS)
            return False
        kind = _layer(name)
        if kind in HOLDING_VARIABLES or (depth and kind in CELLS):
            return True
        if kind in WRAPPERS:
            inner = argument(call, 0, "cell" if kind == "RNN" else "layer")
            return isinstance(inner, cst.Call) and self.has_weights(file, inner, context, depth + 1)
        if name in SEQUENTIAL:
            layers = argument(call, 0, "layers")
            return isinstance(layers, cst.List | cst.Tuple) and any(
                isinstance(e.value, cst.Call) and self.has_weights(file, e.value, context, depth + 1)
                for e in layers.elements
            )
        cls = self.inference.class_called(file, call, context)
        return cls is not None and self._prepares_weights(cls, depth)

    def _prepares_weights(self, cls: Class, depth: int) -> bool:
        """Whether a layer or model of the project makes weights in `__init__` or `build`."""
        if cls.node not in self._prepared:
            self._prepared[cls.node] = False  # in work: a layer that makes itself adds nothing
            methods = [self.inference.definitions.method(cls, name) for name in _PREPARING]
            self._prepared[cls.node] = bool(self.kinds.of_class(cls) & {"layer", "model"}) and any(
                method is not None and self._makes_weights(method, depth) for method in methods
            )
        return self._prepared[cls.node]

    def _makes_weights(self, method: Function, depth: int) -> bool:
        file = method.file
        return any(
            self._adds_weight(file, call)
            or file.name(call.func) in VARIABLES
            or self.has_weights(file, call, None, depth + 1)
            for call in method.calls
            if not any(True for _ in self.code.guards.choices(file, call))
        )

    def _is_called(self, traced: Traced, made: cst.Call) -> bool:
        """Whether the function calls the layer that it makes."""
        return any(
            call.func is made or self._may_be(traced.file, call.func, made)
            for call in traced.function.calls
            if call is not made
        )

    def _may_be(self, file: File, func: Expression, made: cst.Call) -> bool:
        if file.name(func) is not None or not isinstance(func, cst.Name | cst.Attribute | cst.Subscript):
            return False
        return self.inference.must_be(file, func, lambda origin: _is(origin, made))

    def _is_graph_code(self, file: File, call: cst.Call) -> bool:
        """Whether a graph of its own is built there: `with tf.Graph().as_default():`."""
        return any(
            isinstance(item.item, cst.Call) and method_name(item.item) == "as_default"
            for parent in file.tree.ancestors(call)
            if isinstance(parent, cst.With)
            for item in parent.items
        )


def _in_raises(file: File, call: cst.Call) -> bool:
    """`with pytest.raises(ValueError):`"""
    return any(
        isinstance(item.item, cst.Call) and "raises" in (dotted_name(item.item.func) or "").lower()
        for parent in file.tree.ancestors(call)
        if isinstance(parent, cst.With)
        for item in parent.items
    )


def _number(origin: Origin) -> Iterator[float]:
    """The number that a value is; of a parameter that nobody fills, its default."""
    node = origin.node.default if isinstance(origin.node, cst.Param) else origin.node
    if isinstance(node, cst.Float | cst.Integer) and not origin.access_path:
        yield node.evaluated_value


def _is(origin: Origin, made: cst.Call) -> bool:
    return origin.node is made and not origin.access_path


def _layer(name: str) -> str | None:
    """The class of one of Keras's own layers."""
    folder, _, last = name.rpartition(".")
    return last if f"{folder}." in LAYER_FOLDERS else None


def _made_at_once(name: str, target: Target) -> str | None:
    """What a call of Keras's or TensorFlow's own creates, if it creates variables by being made."""
    folder, _, last = name.rpartition(".")
    if name in VARIABLES:
        return "a variable"
    if name in VARIABLE_GENERATORS:
        return "a variable for its random numbers"
    if not last[:1].isupper():
        return None
    if folder in ("keras.optimizers", "keras.optimizers.experimental"):
        return "an optimizer, which holds variables," if target.tensorflow >= (2, 11) else None
    if folder == "keras.metrics" and last != "Metric":
        return "a metric, which holds variables,"
    return "a model with weights" if folder.startswith("keras.applications") else None
