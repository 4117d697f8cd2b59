"""Keras as the interpreter sees it: layers, models and data without their numbers, and the trainings that start."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import libcst as cst

from tflint_gpu.lazy_dataclasses import dataclass
from tflint_gpu.model.interpreter.interpreter import Interpreter
from tflint_gpu.model.interpreter.values import (
    Arguments,
    DictValue,
    External,
    Instance,
    ListValue,
    Method,
    Site,
    plain,
)
from tflint_gpu.model.library.classes import FUNCTIONAL, INPUTS, LOSS_SCALING, SEQUENTIAL
from tflint_gpu.model.library.precision import FLOATX_SETTERS, POLICIES, POLICY_SETTERS
from tflint_gpu.model.networks.construction import operations
from tflint_gpu.model.networks.construction.building import Building
from tflint_gpu.model.networks.shapes import optimizers
from tflint_gpu.model.networks.shapes.graph import Call, Layer, Network, NotKnown, Precision, Tensor
from tflint_gpu.model.networks.shapes.layers import (
    Variables,
    is_size,
    precision_of,
)
from tflint_gpu.model.networks.shapes.optimizers import Optimizer
from tflint_gpu.model.networks.shapes.sizes import Sizes, sizes_of
from tflint_gpu.model.python.project.file import File
from tflint_gpu.model.python.syntax.syntax import Expression, method_name
from tflint_gpu.model.python.value_flow.constants import UNKNOWN
from tflint_gpu.model.values.value import TensorValue

_CHOOSING_DTYPES = FLOATX_SETTERS | POLICY_SETTERS | POLICIES
_SET_DATA_FORMAT = frozenset(["keras.backend.set_image_data_format", "keras.config.set_image_data_format"])
TRAINING = ("fit", "train_on_batch")
"""Methods whose calls become a `Training`."""


@dataclass(frozen=True, slots=True)
class Training:
    """A call of `fit` or `train_on_batch` of a network that is known.

    Arguments:
        made: where the network was made.
        sizes: what training it holds, as it is now: later its layers may be frozen, or others added.
        data, labels: the first two arguments.
        batch_size: as it is given; None where it is not.
        optimizer, compiled: as `compile` has set them last.
    """

    site: Site
    made: Site
    sizes: Sizes
    data: Any
    labels: Any
    batch_size: Any
    optimizer: Optimizer
    compiled: Site | None


@dataclass(frozen=True, slots=True)
class Members:
    """`model.layers` of a model with inputs and outputs, or some of these: Keras has its own order for them."""

    layers: tuple[Layer, ...]
    is_whole: bool = True


class Keras(Building):
    """The world of the interpreter.

    Attributes:
        trainings: those that were met, in the order of the program.
    """

    def __init__(self, run: Interpreter) -> None:
        super().__init__(run)
        self.trainings: list[Training] = []

    # What the interpreter asks.

    def called(self, callee: Any, given: Arguments, site: Site) -> Any:
        """What a call of something external, or of what was made here, gives."""
        try:
            if isinstance(callee, External):
                return self._external(callee.name, given, site)
            if isinstance(callee, Layer):
                return self._layer_called(callee, given, site)
            if isinstance(callee, Network):
                return self._network_called(callee, given)
            if isinstance(callee, Method):
                return self._method(callee.receiver, callee.name, given, site)
        except (NotKnown, ArithmeticError, LookupError, TypeError, ValueError):
            return UNKNOWN
        return UNKNOWN

    def attribute(self, value: Any, name: str) -> Any:
        """An attribute of what was made here."""
        if isinstance(value, TensorValue):
            result = operations.attribute(value, name)
            return Method(value, name) if result is UNKNOWN else result
        if isinstance(value, Tensor):
            return value.shape if name in ("shape", "_keras_shape") else Method(value, name)
        if isinstance(value, Network):
            return self._of_network(value, name)
        if isinstance(value, Layer):
            return value.is_trainable if name == "trainable" and value.is_trainable is not None else Method(value, name)
        return UNKNOWN

    def set_attribute(self, value: Any, name: str, new: Any) -> None:
        """`layer.trainable = False`; what else is set changes no size."""
        if name != "trainable":
            return
        trains = new if isinstance(new, bool) else None
        for member in _members(value):
            self.run.changes(member)
            member.is_trainable = None if isinstance(value, Members) else trains

    def operated(self, symbol: str, left: Any, right: Any) -> Any:
        """What an operator gives of which one side was made here."""
        return operations.operated(symbol, left, right)

    def item(self, value: Any, key: Any) -> Any:
        """An item of what was made here."""
        if isinstance(value, Members):
            return Members(value.layers, is_whole=False)
        return operations.item(value, key) if isinstance(value, Tensor | TensorValue) else UNKNOWN

    def elements(self, value: Any) -> list[Any] | None:
        """What iterating over something made here yields."""
        if isinstance(value, Members):
            return list(value.layers) if value.is_whole else [Members(value.layers, is_whole=False)]
        return None

    def entered(self, value: Any, site: Expression, file: File) -> Callable[[], None]:
        """A `with`: under a strategy's scope a model has several replicas, each with a part of the batch.

        Under a `RematScope` outputs are computed again instead of kept.
        """
        if not isinstance(site, cst.Call):
            return lambda: None
        if method_name(site) != "scope" and not (file.name(site.func) or "").endswith("RematScope"):
            return lambda: None
        self.strategies += 1

        def leave() -> None:
            self.strategies -= 1

        return leave

    def instance_method(self, instance: Instance, name: str, given: Arguments, site: Site) -> Any:
        """A method that a layer or model of the project inherits from Keras."""
        if name != "add_weight" or not self._is_keras(instance) or self.precision is None:
            return UNKNOWN
        position = 1 if given.positional and isinstance(given.positional[0], str) else 0
        shape, trains = plain(given.get(position, "shape")), given.get(-1, "trainable", default=True)
        if not is_size(shape) or not isinstance(trains, bool):
            return UNKNOWN
        count = 1
        for length in shape:
            count *= length
        layer = Variables(count, trains, self.precision)
        call = Call(layer, (), held=0)
        call.outputs = (Tensor(shape, call, self.precision.computed),)
        return call.outputs[0]

    # Functions and classes of Keras.

    def _external(self, name: str, given: Arguments, site: Site) -> Any:
        last = name.rpartition(".")[2]
        if name in INPUTS:
            return self._input(given)
        if name in SEQUENTIAL:
            return self._sequential(given, site)
        if name in FUNCTIONAL:
            return self._model(given, site)
        if name.startswith("keras.applications."):
            return self._architecture(name, given, site)
        if name.startswith("keras.layers."):
            return self._layer(last, given, site)
        if name in _CHOOSING_DTYPES:
            return self._policy(name, given)
        if name in LOSS_SCALING:
            return given.get(0, "inner_optimizer" if "inner_optimizer" in given.named else "optimizer", UNKNOWN)
        if name.startswith("keras.optimizers.") and last[:1].isupper() and ".schedules." not in name:
            return optimizers.made(last, given) or UNKNOWN
        if name == "keras.distribution.set_distribution":
            self.strategies += 1
        if name in _SET_DATA_FORMAT and given.get(0, "data_format") != "channels_last":
            self.precision = None  # the shapes of the layers from here on are not known
        if name == "keras.backend.int_shape" and isinstance(given.positional[0], Tensor):
            return given.positional[0].shape
        if name in ("keras.backend.image_data_format", "keras.config.image_data_format"):
            return "channels_last"
        return operations.called(name, given)

    def _policy(self, name: str, given: Arguments) -> Any:
        try:
            chosen: Precision | None = precision_of(next(given.values()), Precision())
        except (NotKnown, StopIteration):
            chosen = None
        if name in POLICIES:
            return UNKNOWN if chosen is None else chosen
        self.precision = chosen
        return None

    # Attributes and methods.

    def _of_network(self, network: Network, name: str) -> Any:
        if network.is_lost:
            return Method(network, name)
        if name in ("input", "output", "inputs", "outputs") and network.is_built:
            tensors = network.inputs if name.startswith("input") else network.outputs
            return ListValue(list(tensors)) if name.endswith("s") or len(tensors) > 1 else tensors[0]
        if name in ("input_shape", "output_shape") and network.is_built:
            tensors = network.inputs if name == "input_shape" else network.outputs
            return tensors[0].shape if len(tensors) == 1 else UNKNOWN
        if name == "layers":
            whole = network.layers
            return Members(tuple(network.members())) if whole is None else ListValue(list(whole))
        if name == "trainable":
            return UNKNOWN
        return Method(network, name)

    def _method(self, receiver: Any, name: str, given: Arguments, site: Site) -> Any:
        if isinstance(receiver, TensorValue):
            return operations.method(receiver, name, given)
        if isinstance(receiver, Tensor) and name == "get_shape":
            return receiver.shape
        if not isinstance(receiver, Network):
            return UNKNOWN
        if name == "get_layer":
            return Members(tuple(receiver.members()), is_whole=False)
        if name == "compile":
            self._compile(receiver, given, site)
        elif name in TRAINING:
            self._trains(receiver, name, given, site)
        elif name in ("add", "pop", "build"):
            self.run.changes(receiver)
            self._grow(receiver, name, given)
        return None if name in ("compile", "add", "build", "summary") else UNKNOWN

    def _compile(self, network: Network, given: Arguments, site: Site) -> None:
        chosen = given.get(0, "optimizer", "rmsprop")
        if isinstance(chosen, str):
            chosen = optimizers.named(chosen)
        self.run.changes(network.compilation)
        network.compilation.set(chosen if isinstance(chosen, Optimizer) else None, site)

    def _trains(self, network: Network, name: str, given: Arguments, site: Site) -> None:
        optimizer = network.compilation.optimizer
        if network.is_lost or optimizer is None or self.strategies:
            return
        data, labels = given.get(0, "x"), given.get(1, "y")
        size = given.get(2, "batch_size") if name == "fit" else operations.rows(data) or UNKNOWN
        if not self.build_for(network, data):
            return
        sizes = sizes_of(network, optimizer)
        compiled = network.compilation.site
        self.trainings.append(Training(site, network.site, sizes, data, labels, size, optimizer, compiled))

    def build_for(self, network: Network, data: Any) -> bool:
        """Build a network as its first data does; false where it is not built, and they do not tell."""
        if not network.is_built:
            shape = data.shape if isinstance(data, TensorValue) else None
            if shape is None or not network.layers:
                return False
            self._grow(network, "build", Arguments((shape,)))
        return True


def _members(value: Any) -> list[Layer]:
    """The layers in a layer, a network, or an object of the project."""
    layers: dict[Layer, None] = {}
    waiting, seen = [value], set()
    while waiting:
        member = waiting.pop()
        if id(member) in seen:
            continue
        seen.add(id(member))
        if isinstance(member, Layer):
            layers[member] = None
            waiting.extend(member.given.values())
        elif isinstance(member, Network | Members):
            layers.update(dict.fromkeys(member.layers if isinstance(member, Members) else member.members()))
        elif isinstance(member, Instance | ListValue | DictValue):
            waiting.extend(member.content())
        elif isinstance(member, tuple):
            waiting.extend(member)
    return list(layers)
