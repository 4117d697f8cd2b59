"""Which outputs of layers have to stay in memory until the gradients are taken.

An output stays where the layer's own gradient is computed of it (ReLU, tanh, pooling of maxima, recurrent layers), or
where the gradient of a layer after it needs it as its input (a convolution, a normalisation). Of the others TensorFlow
may write the next one into the same memory, or free them: the gradients registered in
tensorflow/python/ops/{nn_grad,math_grad,array_grad}.py say what each operation needs.
"""

from __future__ import annotations

from tflint_gpu.model.library.keras_methods import (
    ACTIVATION_LAYERS,
    OF_OUTPUT,
    SHARING,
    WITHOUT_VALUES,
)
from tflint_gpu.model.networks.shapes.architectures import ArchitectureLayer
from tflint_gpu.model.networks.shapes.graph import Call, Network
from tflint_gpu.model.python.value_flow.constants import UNKNOWN

_OF_TABLE = 2 / 3  # of convolution, normalisation and ReLU, which most are made of, the output of one may go


def kept_at_least(network: Network, calls: list[Call]) -> dict[int, float]:
    """For each call, by its identity, the part of what it leaves that has to stay."""
    needed: set[int] = {id(tensor) for tensor in network.outputs}
    for call in calls:
        if _needs_input(call):
            needed.update(id(tensor) for tensor in call.inputs)
    return {id(call): _kept(call, needed) for call in calls}


def _kept(call: Call, needed: set[int]) -> float:
    if isinstance(call.layer, ArchitectureLayer):
        return _OF_TABLE
    if call.layer.kind in SHARING:
        return 0.0
    is_needed = any(id(tensor) in needed for tensor in call.outputs)
    return 1.0 if is_needed or _uses_output(call) else 0.0


def _needs_input(call: Call) -> bool:
    kind = call.layer.kind
    if kind in WITHOUT_VALUES or kind in ACTIVATION_LAYERS or kind in OF_OUTPUT:
        return False
    return not (kind == "Activation" and _activation(call) in OF_OUTPUT)


def _uses_output(call: Call) -> bool:
    """Whether the gradient is computed of what a call gives; where that is not certain, it is not said to be."""
    kind = call.layer.kind
    if kind in ACTIVATION_LAYERS or kind in OF_OUTPUT:
        return True
    return _activation(call) in OF_OUTPUT


def _activation(call: Call) -> object:
    given = call.layer.given
    value = given.get(0 if call.layer.kind == "Activation" else -1, "activation")
    return value if value is not UNKNOWN and isinstance(value, str) else None
