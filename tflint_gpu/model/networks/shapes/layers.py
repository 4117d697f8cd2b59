"""Calling layers and networks: new tensors, and the weights that a layer gets with its first call."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tflint_gpu.model.interpreter.values import Arguments, DictValue, ListValue, plain
from tflint_gpu.model.library.keras_methods import CELLS
from tflint_gpu.model.library.precision import BYTES, DTYPE_NAMES
from tflint_gpu.model.networks.shapes.architectures import ArchitectureLayer
from tflint_gpu.model.networks.shapes.graph import (
    Call,
    Layer,
    Network,
    NotKnown,
    Precision,
    Shape,
    Tensor,
    Weights,
    calls_between,
)
from tflint_gpu.model.networks.shapes.layer_kinds import KINDS, Shapes
from tflint_gpu.model.networks.shapes.settings import Settings
from tflint_gpu.model.networks.shapes.windows import Answer, known

_POLICIES = {"mixed_float16": Precision(4, 2), "mixed_bfloat16": Precision(4, 2)}


def precision_of(dtype: Any, default: Precision) -> Precision:
    """In how many bytes a layer of a dtype or a policy keeps and computes. Raises NotKnown for others."""
    if dtype is None:
        return default
    if isinstance(dtype, Precision):
        return dtype
    if dtype in _POLICIES:
        return _POLICIES[dtype]
    width = BYTES.get(DTYPE_NAMES.get(dtype, dtype)) if isinstance(dtype, str) else None
    if width is None:
        raise NotKnown
    return Precision(width, width)


class Operation(Layer):
    """An operation on tensors, which Keras makes a layer of."""

    __slots__ = ("shaped",)

    def __init__(self, name: str, shaped: Callable[[Shapes], Shape], precision: Precision) -> None:
        super().__init__(name, Arguments(), precision)
        self.shaped = shaped
        self.weights = Weights()


class Variables(Layer):
    """What a layer of the project adds by `add_weight`."""

    __slots__ = ()

    def __init__(self, count: int, trains: bool, precision: Precision) -> None:
        super().__init__("add_weight", Arguments(), precision)
        self.weights = Weights(count) if trains else Weights(fixed=count)


def call_layer(layer: Layer, tensors: tuple[Tensor, ...]) -> tuple[Tensor, ...]:
    """What a layer gives for some tensors.

    Raises:
        NotKnown: its arguments or the shapes are not known, or do not fit.
    """
    if isinstance(layer, ArchitectureLayer):
        return (layer.architecture.called(layer, _only(tensors), layer.precision.computed),)
    call = Call(layer, tensors)
    shapes = tuple(tensor.shape for tensor in tensors)
    if isinstance(layer, Operation):
        outputs: Shapes = (layer.shaped(shapes),)
    elif layer.kind == "TimeDistributed":
        outputs = (_each_step(layer, call),)
    else:
        outputs, weights = applied(layer, shapes)
        layer.weights = weights if layer.weights is None else layer.weights
    width = layer.precision.computed
    if isinstance(layer, Operation):
        width = max((tensor.width for tensor in tensors), default=width)
    call.outputs = tuple(Tensor(shape, call, width) for shape in outputs)
    return call.outputs


def applied(layer: Layer, shapes: Shapes) -> Answer:
    """The shapes that a layer gives for some shapes, and its weights."""
    if layer.kind == "Bidirectional":
        return _both_ways(layer, shapes)
    if layer.kind == "RNN":
        return _of_cell(layer, shapes)
    kind = KINDS.get(layer.kind)
    if kind is None or not shapes:
        raise NotKnown
    return kind.apply(Settings(layer.given, kind.order), shapes)


def _only(tensors: tuple[Tensor, ...]) -> Tensor:
    if len(tensors) != 1:
        raise NotKnown
    return tensors[0]


def _both_ways(layer: Layer, shapes: Shapes) -> Answer:
    settings = Settings(layer.given, ("layer", "merge_mode", "weights", "backward_layer"))
    inner, mode = settings.value("layer"), settings.value("merge_mode", "concat")
    if not isinstance(inner, Layer) or settings.value("backward_layer") is not None:
        raise NotKnown
    (output, *states), weights = applied(inner, shapes)
    joined: tuple[Shape, ...] = (output,)
    if mode == "concat":
        joined = ((*output[:-1], 2 * known(output[-1])),)
    elif mode is None:
        joined = (output, output)
    return (*joined, *states, *states), weights.times(2)


def _of_cell(layer: Layer, shapes: Shapes) -> Answer:
    cell = Settings(layer.given, ("cell", "return_sequences", "return_state")).value("cell")
    if not isinstance(cell, Layer) or cell.kind not in CELLS or len(layer.given.positional) > 1:
        raise NotKnown
    both = Arguments(cell.given.positional, {**cell.given.named, **layer.given.named}, layer.given.is_whole)
    return applied(Layer(CELLS[cell.kind], both, layer.precision), shapes)


def _each_step(layer: Layer, call: Call) -> Shape:
    """The shape that `TimeDistributed` gives; of a network in it all that it leaves is counted for each step."""
    inner = Settings(layer.given, ("layer",)).value("layer")
    shape = _only(call.inputs).shape
    if len(shape) < 3 or not isinstance(inner, Layer | Network):
        raise NotKnown
    start = Tensor((shape[0], *shape[2:]), width=call.inputs[0].width)
    outputs = call_layer(inner, (start,)) if isinstance(inner, Layer) else replayed(inner, (start,))
    steps = shape[1]
    if isinstance(inner, Network):
        calls = calls_between((start,), outputs)
        layer.weights = sum((member.weights or Weights() for member in inner.members()), Weights())
        call.is_open = steps is None
        call.held = None if steps is None else steps * sum(inner_call.elements[0] for inner_call in calls)
    else:
        layer.weights = inner.weights
    output = _only(outputs).shape
    return (output[0], steps, *output[1:])


def replayed(network: Network, tensors: tuple[Tensor, ...]) -> tuple[Tensor, ...]:
    """What a network gives for other tensors than its inputs: each of its layers is called again."""
    if network.is_lost:
        raise NotKnown
    if not network.is_built:
        if not network.layers:
            raise NotKnown
        for layer in network.layers:
            tensors = replayed(layer, tensors) if isinstance(layer, Network) else call_layer(layer, tensors)
        return tensors
    if len(tensors) != len(network.inputs):
        raise NotKnown
    new = {id(old): tensor for old, tensor in zip(network.inputs, tensors, strict=True)}
    for call in network.calls():
        outputs = call_layer(call.layer, tuple(new[id(tensor)] for tensor in call.inputs))
        new.update((id(old), tensor) for old, tensor in zip(call.outputs, outputs, strict=True))
    return tuple(new[id(tensor)] for tensor in network.outputs)


def input_shape_of(given: Arguments, order: tuple[str, ...] = ()) -> Shape | None:
    """The shape that a first layer's arguments fix, with the batch; None where there is none."""
    settings = Settings(given, order)
    for name in ("batch_input_shape", "batch_shape"):
        if settings.value(name) is not None:
            return (None, *settings.shape(name)[1:])
    for name in ("input_shape", "shape"):
        if settings.value(name) is not None:
            return (None, *settings.shape(name))
    if settings.value("input_dim") is not None:
        return (None, settings.number("input_dim"))
    return None


def flat(value: Any) -> tuple[Tensor, ...]:
    """The tensors in a value. Raises NotKnown where something else is in it."""
    if isinstance(value, Tensor):
        return (value,)
    if isinstance(value, ListValue | DictValue) and value.is_lost:
        raise NotKnown
    if isinstance(value, ListValue | tuple):
        items = value.items if isinstance(value, ListValue) else value
        return tuple(tensor for item in items for tensor in flat(item))
    if isinstance(value, DictValue):
        return tuple(tensor for item in value.items.values() for tensor in flat(item))
    raise NotKnown


def is_size(value: Any) -> bool:
    """Whether a value is a tuple of whole numbers."""
    size = plain(value)
    return isinstance(size, tuple) and all(isinstance(length, int) for length in size)
