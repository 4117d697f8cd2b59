"""The work of a network's forward pass: multiply-adds, and how many layers an eager call starts one by one.

A multiply-add is two floating-point operations. Those of layers whose numbers are few next to a matrix product (biases,
activations, pooling, normalisation) are left out, so what is counted is a lower bound.
"""

from __future__ import annotations

from tflint_gpu.lazy_dataclasses import dataclass
from tflint_gpu.model.library.keras_methods import (
    CONVOLUTIONS,
    DEPTHWISE,
    LIGHT,
    TRANSPOSED,
)
from tflint_gpu.model.networks.shapes.graph import Call, Network, NotKnown, Tensor, size
from tflint_gpu.model.networks.shapes.layer_kinds import KINDS
from tflint_gpu.model.networks.shapes.layers import Operation
from tflint_gpu.model.networks.shapes.settings import Settings

_SINGLE = 4  # bytes


@dataclass(frozen=True, slots=True)
class Work:
    """What one run of some code computes.

    Arguments:
        multiply_adds: of the forward pass for one row.
        layers: how many are called, each once, whatever the rows are.
        weights: the numbers that they learned, of a layer that is called twice once.
        rows: of a batch; None where the values do not tell.
        is_whole_batch: whether a name is given, which may hold the batch of a loop, and not a part of something.
    """

    multiply_adds: int
    layers: int
    weights: int
    rows: int | None = None
    is_whole_batch: bool = False

    def of(self, rows: int) -> int:
        """The multiply-adds of the forward pass for so many rows."""
        return self.multiply_adds * rows


def forward_work(network: Network) -> Work:
    """The work of a network's forward pass.

    Raises:
        NotKnown: it is not built, or has a shape that is not known or a layer whose operations nobody counted.
    """
    if not network.is_built:
        raise NotKnown
    calls = network.calls()
    weights = [layer.weights for layer in dict.fromkeys(call.layer for call in calls)]
    if None in weights:
        raise NotKnown
    return Work(sum(map(multiply_adds, calls)), len(calls), sum(known.total for known in weights if known is not None))


def multiply_adds(call: Call) -> int:
    """Those of one call of a layer, for one row. Raises NotKnown for a layer whose operations nobody counted."""
    layer = call.layer
    if isinstance(layer, Operation):
        if layer.name == "matmul":
            raise NotKnown
        return 0
    kind = layer.kind
    if layer.precision.computed != _SINGLE:
        raise NotKnown  # a processor does more of these, or fewer, in the same time
    if kind in LIGHT:
        return 0
    settings = Settings(layer.given, KINDS[kind].order if kind in KINDS else ())
    if kind == "Dense":
        return _kernel(call, settings, settings.number("units")) * _positions(call.outputs[0], -1)
    if kind in CONVOLUTIONS:
        return _kernel(call, settings, settings.number("filters")) * _windows(call.outputs[0], settings)
    if kind in DEPTHWISE:
        output = call.outputs[0]
        return _kernel(call, settings, _channels(output, settings)) * _windows(output, settings)
    if kind in TRANSPOSED:
        return _kernel(call, settings, settings.number("filters")) * _windows(call.inputs[0], settings)
    raise NotKnown


def _kernel(call: Call, settings: Settings, channels: int) -> int:
    """The weights of a layer without its bias, of which there is one for each channel."""
    if call.layer.weights is None:
        raise NotKnown
    return call.layer.weights.total - (channels if settings.flag("use_bias", default=True) else 0)


def _windows(tensor: Tensor, settings: Settings) -> int:
    """How many places a window has in one image."""
    return _positions(tensor, 1 if settings.is_channels_first(len(tensor.shape)) else -1)


def _channels(tensor: Tensor, settings: Settings) -> int:
    length = tensor.shape[1 if settings.is_channels_first(len(tensor.shape)) else -1]
    if length is None:
        raise NotKnown
    return length


def _positions(tensor: Tensor, axis: int) -> int:
    """The product of a row's axes but one."""
    lengths = list(tensor.shape)
    del lengths[axis]
    return size(lengths[1:])
