"""What training a network holds in memory: its weights, their gradients, the optimizer's variables, and activations."""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from tflint_gpu.lazy_dataclasses import dataclass
from tflint_gpu.model.interpreter.values import Site
from tflint_gpu.model.networks.shapes.graph import Call, Layer, Network, NotKnown, Tensor, Weights, size
from tflint_gpu.model.networks.shapes.optimizers import Optimizer
from tflint_gpu.model.networks.shapes.retention import kept_at_least
from tflint_gpu.model.python.project.file import File
from tflint_gpu.model.python.syntax.syntax import Node, method_place

_UNITS = ("B", "KiB", "MiB", "GiB", "TiB")


@dataclass(frozen=True, slots=True)
class Held:
    """How many numbers of one sort are held, and in how many bytes."""

    count: int = 0
    size: int = 0

    def __add__(self, other: Held) -> Held:
        return Held(self.count + other.count, self.size + other.size)


@dataclass(frozen=True, slots=True)
class Output:
    """What one call of a layer leaves: for each sample, and whatever the batch is; `least` of its bytes has to stay."""

    layer: Layer | None
    sample: int
    fixed: int
    width: int
    least: float = 1.0

    def at(self, batch_size: int) -> Held:
        """What it leaves of a batch."""
        count = self.sample * batch_size + self.fixed
        return Held(count, count * self.width)


@dataclass(frozen=True, slots=True)
class Sizes:
    """What training a network with an optimizer holds.

    Arguments:
        parameters: all weights; gradients: of those that are trained, embeddings apart.
        outputs: what layers give, as far as gradients are taken through them.
        has_sparse: whether there are embeddings.
    """

    parameters: Held
    gradients: Held
    slots: Held
    outputs: tuple[Output, ...]
    batch_size: int
    has_sparse: bool

    @property
    def activations(self) -> Held:
        """The outputs of a batch."""
        return sum((output.at(self.batch_size) for output in self.outputs), Held())

    @property
    def total(self) -> int:
        """The bytes of all."""
        return self.parameters.size + self.gradients.size + self.slots.size + self.activations.size

    @property
    def least(self) -> int:
        """The bytes that are held at one time whatever TensorFlow shares and frees early.

        When the first gradient is taken all activations are there, when the last one is all gradients may be.
        """
        activations = sum(output.at(self.batch_size).size * output.least for output in self.outputs)
        return self.parameters.size + self.slots.size + max(self.gradients.size, round(activations))

    @property
    def largest(self) -> Output | None:
        """The output that takes most."""
        return max(self.outputs, key=lambda output: output.at(self.batch_size).size, default=None)

    def batch_size_within(self, memory: int) -> int:
        """The largest batch with which all of it is no more than some bytes; 0 where none is."""
        sample = sum(output.sample * output.width for output in self.outputs)
        fixed = self.total - sample * self.batch_size
        return max(0, (memory - fixed) // sample) if sample else 0


def sizes_of(network: Network, optimizer: Optimizer, batch_size: int = 1) -> Sizes:
    """What a training step holds, with the layers and what is frozen of them as they are now.

    Raises:
        NotKnown: a shape, a weight or what is frozen is not known.
    """
    calls = network.calls()
    parameters = gradients = slots = Held()
    has_sparse = False
    for layer in dict.fromkeys(call.layer for call in calls):
        weights, learning, width = _weights(layer), _trained(layer), layer.precision.kept
        dense, kept = learning.trainable - learning.sparse, learning.trainable * optimizer.slots
        parameters += Held(weights.total, weights.total * width)
        gradients += Held(dense, dense * width)
        slots += Held(kept, kept * width)
        has_sparse = has_sparse or learning.sparse > 0
    return Sizes(parameters, gradients, slots, tuple(_outputs(network, calls)), batch_size, has_sparse)


def _weights(layer: Layer) -> Weights:
    if layer.weights is None:
        raise NotKnown
    return layer.weights


def _trained(layer: Layer) -> Weights:
    """The weights of a layer that training changes."""
    weights = _weights(layer)
    if layer.is_trainable is None and weights.trainable:
        raise NotKnown
    return weights if layer.is_trainable else Weights()


def _outputs(network: Network, calls: list[Call]) -> Iterator[Output]:
    """What stays until the gradients are taken.

    Gradients go back through each layer that is trained and all after it; what these give and get has to stay.
    """
    least = kept_at_least(network, calls)
    on_way: set[int] = set()
    given: dict[int, Tensor] = {}
    for call in calls:
        if not (_trained(call.layer).trainable or any(id(tensor) in on_way for tensor in call.inputs)):
            continue
        on_way.update(id(tensor) for tensor in call.outputs)
        given.update((id(tensor), tensor) for tensor in call.inputs)
        width = call.outputs[0].width if call.outputs else call.layer.precision.computed
        yield Output(call.layer, *call.elements, width, least[id(call)])
    for key, tensor in given.items():
        if key not in on_way:
            layer = tensor.made_by.layer if tensor.made_by is not None else None
            if tensor.shape[:1] == (None,):
                yield Output(layer, size(tensor.shape[1:]), 0, tensor.width)
            else:
                yield Output(layer, 0, size(tensor.shape), tensor.width)


def as_bytes(count: int) -> str:
    """A number of bytes for people: "1.5 GiB"."""
    amount, unit = float(count), 0
    while amount >= 1000 and unit < len(_UNITS) - 1:
        amount, unit = amount / 1024, unit + 1
    return f"{amount:.{0 if unit == 0 or amount >= 100 else 1}f} {_UNITS[unit]}"


@dataclass(frozen=True, slots=True)
class Estimate:
    """A training, and what it holds.

    Arguments:
        site: the call that trains; compiled: the one that chose the optimizer; made: the one that made the network.
    """

    site: Site
    sizes: Sizes
    optimizer: Optimizer
    compiled: Site | None
    made: Site

    @property
    def file(self) -> File:
        """The file with the call."""
        return self.site.file

    @property
    def call(self) -> Node:
        """The call that trains."""
        return self.site.node

    @property
    def method(self) -> Node:
        """The method's name in the call."""
        return method_place(self.site.node) if isinstance(self.site.node, cst.Call) else self.site.node

    def table(self) -> str:
        """The estimate, a line for each part."""
        parts = self.sizes
        sparse = "gradients of embeddings are sparse and left out" if parts.has_sparse else ""
        rows = [
            ("parameters", parts.parameters, ""),
            ("gradients", parts.gradients, sparse),
            (
                "optimizer slots",
                parts.slots,
                f"{self.optimizer.name}: {self.optimizer.slots} for each trainable parameter",
            ),
            ("activations", parts.activations, f"at a batch size of {parts.batch_size}"),
        ]
        lines = [_row(name, f"{held.count:,}", as_bytes(held.size), remark) for name, held, remark in rows]
        lines.append(_row("total", "", as_bytes(parts.total), "workspace, data and fragmentation are left out"))
        return "\n".join(lines)


def _row(name: str, count: str, room: str, remark: str) -> str:
    return f"{name:<16}{count:>17}  {room:>9}  {remark}".rstrip()
