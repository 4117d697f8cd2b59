"""Building networks: layers, `Sequential`, models with inputs and outputs, and what calling them gives."""

from __future__ import annotations

from typing import Any

from tflint_gpu.model.interpreter.interpreter import Interpreter
from tflint_gpu.model.interpreter.values import (
    Arguments,
    DictValue,
    External,
    FunctionValue,
    Instance,
    ListValue,
    Site,
    plain,
)
from tflint_gpu.model.library.classes import FUNCTIONAL
from tflint_gpu.model.library.keras_methods import CELLS, WRAPPERS
from tflint_gpu.model.networks.shapes.architectures import Architecture, ArchitectureLayer, architecture_named
from tflint_gpu.model.networks.shapes.graph import Layer, Network, NotKnown, Precision, Shape, Tensor
from tflint_gpu.model.networks.shapes.layer_kinds import KINDS
from tflint_gpu.model.networks.shapes.layers import (
    call_layer,
    flat,
    input_shape_of,
    precision_of,
    replayed,
)
from tflint_gpu.model.networks.shapes.settings import Settings
from tflint_gpu.model.python.value_flow.constants import UNKNOWN

_WRAPPING = WRAPPERS | CELLS.keys() | {"Lambda", "InputLayer", "SpectralNormalization"}
_LAYER_BASES = ("keras.layers.", "keras.Layer")


class Building:
    """Makes what a program builds with Keras.

    Attributes:
        precision: of the layers made from now on; None where the policy is not known.
        strategies: how many scopes of distribution strategies are open.
    """

    def __init__(self, run: Interpreter) -> None:
        self.run = run
        self.precision: Precision | None = Precision()
        self.strategies = 0

    def _input(self, given: Arguments) -> Tensor:
        settings = Settings(given, ("shape", "batch_size", "name", "dtype"))
        shape = input_shape_of(given, ("shape",))
        if shape is None:
            raise NotKnown
        dtype = settings.value("dtype")
        width = precision_of(dtype, Precision()).computed if not isinstance(dtype, External) else 4
        return Tensor(shape, None, width)

    def _layer(self, name: str, given: Arguments, site: Site) -> Any:
        if name.islower():
            return self._merged(name, given, site)
        if name not in KINDS and name not in _WRAPPING:
            return UNKNOWN
        dtype = given.get(-1, "dtype")
        default = self.precision
        if isinstance(dtype, External):
            dtype = dtype.name.rpartition(".")[2]
        if default is None or dtype is UNKNOWN:
            return UNKNOWN
        layer = Layer(name, given, precision_of(dtype, default), site)
        trains = given.get(-1, "trainable", default=True)
        layer.is_trainable = trains if isinstance(trains, bool) else None
        return layer

    def _merged(self, name: str, given: Arguments, site: Site) -> Any:
        """`keras.layers.add([a, b])`."""
        kind = name.capitalize()
        if kind not in KINDS or not given.positional or self.precision is None:
            return UNKNOWN
        order = {"axis": given.get(1, "axis", -1)} if kind == "Concatenate" else dict(given.named)
        layer = Layer(kind, Arguments((), order), self.precision, site)
        return call_layer(layer, flat(given.positional[0]))[0]

    def _network(self, site: Site) -> Network:
        if self.precision is None:
            raise NotKnown
        network = Network(site, self.precision)
        network.is_lost = self.strategies > 0
        return network

    def _sequential(self, given: Arguments, site: Site) -> Any:
        network = self._network(site)
        network.layers = []
        layers = given.get(0, "layers")
        members = [] if layers is None else self.run.iterated(layers)
        if members is None:
            network.lose()
        for layer in members or ():
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
            return flat(self._lambda(layer, Arguments(tensors), layer.site))
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
        site = instance.notes["site"]
        result = self.instance_called(instance, Arguments((start,)), site)
        inner = Network(site, network.precision)
        inner.inputs, inner.outputs = (start,), flat(result)
        return inner

    def _model(self, given: Arguments, site: Site) -> Any:
        network = self._network(site)
        order = Settings(given, ("inputs", "outputs"))
        names = ("input", "output") if "input" in given.named else ("inputs", "outputs")
        network.inputs, network.structure = flat(order.value(names[0])), order.value(names[1])
        network.outputs = flat(network.structure)
        network.calls()  # raises where an output does not rest on these inputs
        return network

    def _architecture(self, name: str, given: Arguments, site: Site) -> Any:
        known = architecture_named(name)
        if known is None or self.precision is None:
            return UNKNOWN
        architecture = Architecture.of(known, given)
        layer = ArchitectureLayer(architecture, given, self.precision)
        network = self._network(site)
        tensor = architecture.input_tensor
        start = tensor if isinstance(tensor, Tensor) else Tensor((None, *architecture.shape), None)
        network.inputs, network.outputs = (start,), call_layer(layer, (start,))
        network.structure = network.outputs[0]
        return network

    # Calls of layers and networks.

    def _layer_called(self, layer: Layer, given: Arguments, site: Site) -> Any:
        if layer.kind == "Lambda":
            return self._lambda(layer, given, site)
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
        return call_layer(layer, flat(tuple(tensor for tensor in (query, value, key) if tensor is not None)))[0]

    def _lambda(self, layer: Layer, given: Arguments, site: Site | None) -> Any:
        """What the function gives."""
        if site is None:
            raise NotKnown
        return self.run.call(Settings(layer.given, ("function",)).value("function"), given, site)

    def _network_called(self, network: Network, given: Arguments) -> Any:
        outputs = replayed(network, flat(given.positional[0]))
        if isinstance(network.structure, DictValue):
            return DictValue(dict(zip(network.structure.items, outputs, strict=True)))
        return outputs[0] if len(outputs) == 1 else ListValue(list(outputs))

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

    def instance_called(self, instance: Instance, given: Arguments, site: Site) -> Any:
        """A layer or model of the project is called: its `call` runs, after `build` where it has one."""
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
            self.run.call(FunctionValue(build, frame, instance), Arguments((shape,)), site)
        frame = self.run.module(call.file) if call.file is not instance.made.frame.file else instance.made.frame
        return self.run.call(FunctionValue(call, frame, instance), given, site)

    def _is_keras(self, instance: Instance) -> bool:
        bases = self.run.definitions.external_bases(instance.made.cls)
        return any(base.startswith(_LAYER_BASES) or base in FUNCTIONAL for base in bases)


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
