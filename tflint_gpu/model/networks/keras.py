"""Keras as the interpreter sees it: layers, models and data without their numbers, and the trainings that start."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from tflint_gpu.model.interpreter.interpreter import Interpreter
from tflint_gpu.model.interpreter.values import (
    Arguments,
    DictValue,
    External,
    FunctionValue,
    Instance,
    ListValue,
    Method,
    Place,
    plain,
)
from tflint_gpu.model.networks import arrays, operations, optimizers
from tflint_gpu.model.networks.architectures import Architecture, ArchitectureLayer, architecture_named
from tflint_gpu.model.networks.arrays import Array
from tflint_gpu.model.networks.graph import Call, Layer, Network, NotKnown, Precision, Shape, Tensor
from tflint_gpu.model.networks.layer_kinds import KINDS
from tflint_gpu.model.networks.layers import (
    Variables,
    call_layer,
    flat,
    input_shape_of,
    is_size,
    precision_of,
    replayed,
)
from tflint_gpu.model.networks.optimizers import Optimizer
from tflint_gpu.model.networks.settings import Settings
from tflint_gpu.model.python.constants import UNKNOWN
from tflint_gpu.model.python.file import File
from tflint_gpu.model.python.syntax import Expression, method_name

_INPUTS = frozenset(["keras.Input", "keras.layers.Input"])
_SEQUENTIAL = frozenset(["keras.Sequential", "keras.models.Sequential"])
_MODELS = frozenset(["keras.Model", "keras.models.Model", "keras.engine.training.Model"])
_SET_POLICY = frozenset(
    (
        "keras.mixed_precision.set_global_policy keras.mixed_precision.set_dtype_policy keras.config.set_dtype_policy "
        "keras.mixed_precision.experimental.set_policy keras.backend.set_floatx keras.config.set_floatx"
    ).split()
)
_POLICIES = frozenset(
    (
        "keras.mixed_precision.Policy keras.mixed_precision.DTypePolicy keras.DTypePolicy "
        "keras.dtype_policies.DTypePolicy keras.mixed_precision.experimental.Policy"
    ).split()
)
_SCALED = frozenset(
    [
        "keras.mixed_precision.LossScaleOptimizer",
        "keras.optimizers.LossScaleOptimizer",
        "keras.mixed_precision.experimental.LossScaleOptimizer",
    ]
)
_TRAINING = frozenset(["fit", "train_on_batch"])
_WRAPPING = frozenset(
    "TimeDistributed Bidirectional RNN LSTMCell GRUCell SimpleRNNCell Lambda InputLayer SpectralNormalization".split()
)
_LAYER_BASES = ("keras.layers.", "keras.Layer", "keras.engine.base_layer.")


@dataclass(frozen=True, slots=True)
class Training:
    """A call of `fit` or `train_on_batch` of a network that is known.

    Arguments:
        data, labels: the first two arguments.
        batch_size: as it is given; None where it is not.
        optimizer, compiled: as `compile` has set them last.
    """

    place: Place
    network: Network
    data: Any
    labels: Any
    batch_size: Any
    optimizer: Optimizer
    compiled: Place | None


class Keras:
    """The world of the interpreter.

    Attributes:
        trainings: those that were met, in the order of the program.
    """

    def __init__(self, run: Interpreter) -> None:
        self.run = run
        self.trainings: list[Training] = []
        self.precision: Precision | None = Precision()
        self.strategies = 0

    # What the interpreter asks.

    def called(self, callee: Any, given: Arguments, place: Place) -> Any:
        """What a call of something external, or of what was made here, gives."""
        try:
            if isinstance(callee, External):
                return self._external(callee.name, given, place)
            if isinstance(callee, Layer):
                return self._layer_called(callee, given, place)
            if isinstance(callee, Network):
                return self._network_called(callee, given)
            if isinstance(callee, Method):
                return self._method(callee.receiver, callee.name, given, place)
        except (NotKnown, ArithmeticError, LookupError, TypeError, ValueError):
            return UNKNOWN
        return UNKNOWN

    def attribute(self, value: Any, name: str) -> Any:
        """An attribute of what was made here."""
        if isinstance(value, Array):
            found = arrays.attribute(value, name)
            return Method(value, name) if found is UNKNOWN else found
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
            member.is_trainable = trains

    def operated(self, symbol: str, left: Any, right: Any) -> Any:
        """What an operator gives of which one side was made here."""
        if isinstance(left, Tensor) or isinstance(right, Tensor):
            return operations.operated(symbol, left, right)
        if isinstance(left, Array) or isinstance(right, Array):
            return arrays.operated(left, right)
        return UNKNOWN

    def item(self, value: Any, key: Any) -> Any:
        """An item of what was made here."""
        if isinstance(value, Array):
            return arrays.item(value, key)
        return operations.item(value, key) if isinstance(value, Tensor) else UNKNOWN

    def elements(self, value: Any) -> list[Any] | None:
        """Nothing made here can be iterated over with known elements."""
        return None

    def entered(self, value: Any, place: Expression, file: File) -> Callable[[], None]:
        """A `with`: under a strategy's scope a model has several replicas, each with a part of the batch."""
        import libcst as cst

        if not isinstance(place, cst.Call) or method_name(place) != "scope":
            return lambda: None
        self.strategies += 1

        def leave() -> None:
            self.strategies -= 1

        return leave

    def instance_called(self, instance: Instance, given: Arguments, place: Place) -> Any:
        """A layer or model of the project is called: its `call` runs, behind `build` where it has one."""
        if not self._is_keras(instance) or instance.is_lost:
            self.run.lose(given.values())
            return UNKNOWN
        call = self.run.method_of(instance.made.cls, "call")
        build = self.run.method_of(instance.made.cls, "build")
        if call is None or not given.positional:
            return UNKNOWN
        if build is not None and "built" not in instance.notes:
            instance.notes["built"] = True
            first = given.positional[0]
            shape = first.shape if isinstance(first, Tensor) else UNKNOWN
            frame = self.run.module(build.file)
            self.run.call(FunctionValue(build, frame, instance), Arguments((shape,)), place)
        frame = self.run.module(call.file) if call.file is not instance.made.frame.file else instance.made.frame
        return self.run.call(FunctionValue(call, frame, instance), given, place)

    def instance_method(self, instance: Instance, name: str, given: Arguments, place: Place) -> Any:
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

    def _is_keras(self, instance: Instance) -> bool:
        bases = self.run.definitions.external_bases(instance.made.cls)
        return any(base.startswith(_LAYER_BASES) or base in _MODELS for base in bases)

    # Functions and classes of Keras.

    def _external(self, name: str, given: Arguments, place: Place) -> Any:
        name = name.replace("tf.optimizers.", "keras.optimizers.")
        last = name.rpartition(".")[2]
        if name in _INPUTS:
            return self._input(given)
        if name in _SEQUENTIAL:
            return self._sequential(given, place)
        if name in _MODELS:
            return self._model(given, place)
        if name.startswith("keras.applications."):
            return self._architecture(name, given, place)
        if name.startswith("keras.layers."):
            return self._layer(last, given, place)
        if name in _SET_POLICY or name in _POLICIES:
            return self._policy(name, given)
        if name in _SCALED:
            return given.get(0, "inner_optimizer" if "inner_optimizer" in given.named else "optimizer", UNKNOWN)
        if name.startswith("keras.optimizers.") and last[:1].isupper() and ".schedules." not in name:
            return optimizers.made(last, given) or UNKNOWN
        if name == "keras.distribution.set_distribution":
            self.strategies += 1
        if name == "keras.backend.int_shape" and isinstance(given.positional[0], Tensor):
            return given.positional[0].shape
        if name in ("keras.backend.image_data_format", "keras.config.image_data_format"):
            return "channels_last"
        found = operations.called(name, given)
        return arrays.called(name, given) if found is UNKNOWN else found

    def _policy(self, name: str, given: Arguments) -> Any:
        try:
            chosen: Precision | None = precision_of(next(given.values()), Precision())
        except (NotKnown, StopIteration):
            chosen = None
        if name in _POLICIES:
            return UNKNOWN if chosen is None else chosen
        self.precision = chosen
        return None

    def _input(self, given: Arguments) -> Tensor:
        settings = Settings(given, ("shape", "batch_size", "name", "dtype"))
        shape = input_shape_of(given, ("shape",))
        if shape is None:
            raise NotKnown
        dtype = settings.value("dtype")
        width = precision_of(dtype, Precision()).computed if not isinstance(dtype, External) else 4
        return Tensor(shape, None, width)

    def _layer(self, name: str, given: Arguments, place: Place) -> Any:
        if name.islower():
            return self._merged(name, given, place)
        if name not in KINDS and name not in _WRAPPING:
            return UNKNOWN
        dtype = given.get(-1, "dtype")
        default = self.precision
        if isinstance(dtype, External):
            dtype = dtype.name.rpartition(".")[2]
        if default is None or dtype is UNKNOWN:
            return UNKNOWN
        layer = Layer(name, given, precision_of(dtype, default), place)
        trains = given.get(-1, "trainable", default=True)
        layer.is_trainable = trains if isinstance(trains, bool) else None
        return layer

    def _merged(self, name: str, given: Arguments, place: Place) -> Any:
        """`keras.layers.add([a, b])`."""
        kind = name.capitalize()
        if kind not in KINDS or not given.positional or self.precision is None:
            return UNKNOWN
        order = {"axis": given.get(1, "axis", -1)} if kind == "Concatenate" else dict(given.named)
        layer = Layer(kind, Arguments((), order), self.precision, place)
        return call_layer(layer, flat(given.positional[0]))[0]

    def _network(self, place: Place) -> Network:
        if self.precision is None:
            raise NotKnown
        network = Network(place, self.precision)
        network.is_lost = self.strategies > 0
        return network

    def _sequential(self, given: Arguments, place: Place) -> Any:
        network = self._network(place)
        network.layers = []
        layers = given.get(0, "layers")
        found = [] if layers is None else self.run.iterated(layers)
        if found is None:
            network.lose()
        for layer in found or ():
            self._add(network, layer)
        return network

    def _add(self, network: Network, layer: Any) -> None:
        """Add a layer to a Sequential; from the first shape on it is built layer by layer."""
        if isinstance(layer, Instance) and self._is_keras(layer):
            layer = self._as_network(network, layer)
        if network.layers is None or network.is_lost or not isinstance(layer, Layer | Network | Tensor):
            network.lose()
            return
        try:
            if not network.layers and not network.inputs:
                self._start(network, layer)
            if isinstance(layer, Tensor):
                return
            if network.inputs:
                tensors = network.outputs or network.inputs
                network.outputs = self._through(layer, tensors)
        except (NotKnown, ArithmeticError, LookupError, TypeError, ValueError):
            network.lose()
            return
        if not isinstance(layer, Layer) or layer.kind != "InputLayer":
            network.layers.append(layer)

    def _through(self, layer: Layer | Network, tensors: tuple[Tensor, ...]) -> tuple[Tensor, ...]:
        if isinstance(layer, Network):
            return replayed(layer, tensors)
        if layer.kind == "InputLayer":
            return ()
        if layer.kind == "Lambda":
            return flat(self._lambda(layer, Arguments(tensors), layer.place))
        return call_layer(layer, tensors)

    def _start(self, network: Network, layer: Layer | Network | Tensor) -> None:
        """The inputs of a Sequential, where its first layer fixes their shape."""
        if isinstance(layer, Tensor):
            network.inputs = (layer,)
        elif isinstance(layer, Network):
            if layer.is_built and len(layer.inputs) == 1:
                network.inputs = (Tensor(layer.inputs[0].shape, None, layer.inputs[0].width),)
        else:
            inner = layer
            while inner.kind in ("Bidirectional", "TimeDistributed") and inner.given.get(-1, "input_shape") is None:
                wrapped = inner.given.get(0, "layer")
                if not isinstance(wrapped, Layer):
                    return
                if inner.kind == "TimeDistributed":
                    break
                inner = wrapped
            shape = _first_shape(inner)
            if shape is not None:
                network.inputs = (Tensor(shape, None, network.precision.computed),)

    def _as_network(self, network: Network, instance: Instance) -> Any:
        """A layer of the project in a Sequential, once the shape before it is known."""
        tensors = network.outputs or network.inputs
        if len(tensors) != 1:
            return UNKNOWN
        start = Tensor(tensors[0].shape, None, tensors[0].width)
        place = instance.notes["place"]
        result = self.instance_called(instance, Arguments((start,)), place)
        inner = Network(place, network.precision)
        inner.inputs, inner.outputs = (start,), flat(result)
        return inner

    def _model(self, given: Arguments, place: Place) -> Any:
        network = self._network(place)
        order = Settings(given, ("inputs", "outputs"))
        names = ("input", "output") if "input" in given.named else ("inputs", "outputs")
        network.inputs, network.structure = flat(order.value(names[0])), order.value(names[1])
        network.outputs = flat(network.structure)
        network.calls()  # raises where an output does not rest on these inputs
        return network

    def _architecture(self, name: str, given: Arguments, place: Place) -> Any:
        known = architecture_named(name)
        if known is None or self.precision is None:
            return UNKNOWN
        architecture = Architecture.of(known, given)
        layer = ArchitectureLayer(architecture, given, self.precision)
        network = self._network(place)
        tensor = architecture.input_tensor
        start = tensor if isinstance(tensor, Tensor) else Tensor((None, *architecture.shape), None)
        network.inputs, network.outputs = (start,), call_layer(layer, (start,))
        network.structure = network.outputs[0]
        return network

    # Calls of layers and networks.

    def _layer_called(self, layer: Layer, given: Arguments, place: Place) -> Any:
        if layer.kind == "Lambda":
            return self._lambda(layer, given, place)
        if layer.kind == "MultiHeadAttention":
            return self._attention(layer, given)
        first = given.positional[0] if given.positional else given.get(-1, "inputs", UNKNOWN)
        state = given.get(-1, "initial_state")
        outputs = call_layer(layer, (*flat(first), *(() if state is None else flat(state))))
        return outputs[0] if len(outputs) == 1 else outputs

    def _attention(self, layer: Layer, given: Arguments) -> Any:
        query = given.get(0, "query")
        value = given.get(1, "value")
        key = given.get(2, "key")
        if given.get(-1, "return_attention_scores", default=False) is not False:
            raise NotKnown
        return call_layer(layer, flat(tuple(one for one in (query, value, key) if one is not None)))[0]

    def _lambda(self, layer: Layer, given: Arguments, place: Place | None) -> Any:
        """What the function gives."""
        if place is None:
            raise NotKnown
        return self.run.call(Settings(layer.given, ("function",)).value("function"), given, place)

    def _network_called(self, network: Network, given: Arguments) -> Any:
        outputs = replayed(network, flat(given.positional[0]))
        if isinstance(network.structure, DictValue):
            return DictValue(dict(zip(network.structure.items, outputs, strict=True)))
        return outputs[0] if len(outputs) == 1 else ListValue(list(outputs))

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
            return self._layers_of(network)
        if name == "trainable":
            return UNKNOWN
        return Method(network, name)

    def _layers_of(self, network: Network) -> Any:
        if network.layers is not None:
            return ListValue(list(network.layers))
        members = network.members()
        # A network of the table has more layers than one: what happens to each, happens to all.
        return ListValue(list(members)) if len(members) == 1 or not _has_architecture(members) else UNKNOWN

    def _method(self, receiver: Any, name: str, given: Arguments, place: Place) -> Any:
        if isinstance(receiver, Array):
            return arrays.method(receiver, name, given)
        if isinstance(receiver, Tensor) and name == "get_shape":
            return receiver.shape
        if not isinstance(receiver, Network):
            return UNKNOWN
        if name == "compile":
            self._compile(receiver, given, place)
        elif name in _TRAINING:
            self._trains(receiver, name, given, place)
        elif name in ("add", "pop", "build"):
            self.run.changes(receiver)
            self._grow(receiver, name, given)
        return None if name in ("compile", "add", "build", "summary") else UNKNOWN

    def _grow(self, network: Network, name: str, given: Arguments) -> None:
        if name == "add":
            self._add(network, given.get(0, "layer"))
        elif name == "build" and not network.is_built and network.layers:
            shape = plain(given.get(0, "input_shape"))
            if isinstance(shape, tuple):
                network.inputs = (Tensor((None, *shape[1:]), None, network.precision.computed),)
                network.outputs = replayed(network, network.inputs)
        elif name == "pop":
            network.lose()

    def _compile(self, network: Network, given: Arguments, place: Place) -> None:
        chosen = given.get(0, "optimizer", "rmsprop")
        if isinstance(chosen, str):
            chosen = optimizers.named(chosen)
        self.run.changes(network.compilation)
        network.compilation.set(chosen if isinstance(chosen, Optimizer) else None, place)

    def _trains(self, network: Network, name: str, given: Arguments, place: Place) -> None:
        optimizer = network.compilation.optimizer
        if network.is_lost or optimizer is None or self.strategies:
            return
        data, labels = given.get(0, "x"), given.get(1, "y")
        size = given.get(2, "batch_size") if name == "fit" else arrays.rows(data)
        if not network.is_built:
            shape = data.shape if isinstance(data, Array) else None
            if shape is None or not network.layers:
                return
            self._grow(network, "build", Arguments((shape,)))
        self.trainings.append(Training(place, network, data, labels, size, optimizer, network.compilation.place))


def _members(value: Any) -> list[Layer]:
    """The layers in a layer, a network, or an object of the project."""
    found: dict[Layer, None] = {}
    waiting, seen = [value], set()
    while waiting:
        one = waiting.pop()
        if id(one) in seen:
            continue
        seen.add(id(one))
        if isinstance(one, Layer):
            found[one] = None
            waiting.extend(one.given.values())
        elif isinstance(one, Network):
            found.update(dict.fromkeys(one.members()))
        elif isinstance(one, Instance | ListValue | DictValue):
            waiting.extend(one.content())
        elif isinstance(one, tuple):
            waiting.extend(one)
    return list(found)


def _first_shape(layer: Layer) -> Shape | None:
    """The input shape that the first layer of a Sequential fixes; an embedding's `input_dim` is its vocabulary."""
    if layer.kind == "Embedding":
        length = layer.given.get(-1, "input_length")
        return (None, length) if isinstance(length, int) else input_shape_of(_without(layer.given, "input_dim"))
    order = ("input_shape",) if layer.kind == "InputLayer" else ()
    return input_shape_of(layer.given, order)


def _without(given: Arguments, name: str) -> Arguments:
    named = {key: value for key, value in given.named.items() if key != name}
    return Arguments((), named, given.is_whole)


def _has_architecture(members: list[Layer]) -> bool:
    return any(isinstance(member, ArchitectureLayer) for member in members)
