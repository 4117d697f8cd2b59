"""What a network consists of: layers, the tensors between them, and networks in networks."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from typing import Any, TypeAlias

from tflint_gpu.lazy_dataclasses import dataclass
from tflint_gpu.model.interpreter.values import Arguments, Mutable, Site
from tflint_gpu.model.networks.shapes.optimizers import Optimizer

Shape: TypeAlias = tuple[int | None, ...]
"""As Keras writes it: the first axis is None where it is the batch."""


class NotKnown(Exception):
    """Something in a network is not known, so nothing is said of it."""


@dataclass(frozen=True, slots=True)
class Weights:
    """How many numbers a layer keeps.

    Arguments:
        trainable: those that training changes, as far as the layer is not frozen.
        fixed: the others, such as the averages of batch normalisation.
        sparse: those of the trainable ones whose gradients have a row for each row that is read: embeddings.
    """

    trainable: int = 0
    fixed: int = 0
    sparse: int = 0

    def __add__(self, other: Weights) -> Weights:
        return Weights(self.trainable + other.trainable, self.fixed + other.fixed, self.sparse + other.sparse)

    def times(self, count: int) -> Weights:
        """Of so many equal layers."""
        return Weights(self.trainable * count, self.fixed * count, self.sparse * count)

    @property
    def total(self) -> int:
        """All of them, as `count_params` counts."""
        return self.trainable + self.fixed


@dataclass(frozen=True, slots=True)
class Precision:
    """In how many bytes the layers made under a policy keep and compute a number."""

    kept: int = 4
    computed: int = 4


class Layer(Mutable):
    """A layer, or what acts as one.

    Attributes:
        kind: the name of its class: "Conv2D".
        given: its constructor's arguments.
        weights: None until it is first called.
        is_trainable: None where that is not known.
    """

    __slots__ = ("given", "is_trainable", "kind", "precision", "site", "weights")

    def __init__(self, kind: str, given: Arguments, precision: Precision, site: Site | None = None) -> None:
        super().__init__()
        self.kind = kind
        self.given = given
        self.precision = precision
        self.site = site
        self.weights: Weights | None = None
        self.is_trainable: bool | None = True

    def lose(self) -> None:
        """What was perhaps changed of a layer is whether it is frozen."""
        self.is_trainable = None

    @property
    def name(self) -> str:
        """How tables call it."""
        return self.kind


@dataclass(slots=True, eq=False)
class Tensor:
    """What a layer gives, or an input."""

    shape: Shape
    made_by: Call | None = None
    width: int = 4


@dataclass(slots=True, eq=False)
class Call:
    """One use of a layer.

    Arguments:
        held: the numbers for one sample that it leaves in memory, where that is not what it gives: a whole network.
        is_open: whether that is not known.
    """

    layer: Layer
    inputs: tuple[Tensor, ...]
    outputs: tuple[Tensor, ...] = ()
    held: int | None = None
    is_open: bool = False

    @property
    def elements(self) -> tuple[int, int]:
        """How many numbers it gives for each sample, and how many whatever the batch is. May raise NotKnown."""
        if self.is_open:
            raise NotKnown
        if self.held is not None:
            return self.held, 0
        sample = sum(size(tensor.shape[1:]) for tensor in self.outputs if tensor.shape[:1] == (None,))
        fixed = sum(size(tensor.shape) for tensor in self.outputs if tensor.shape[:1] != (None,))
        return sample, fixed


class Compilation(Mutable):
    """What `compile` has set; lost where it is not known which call was the last."""

    __slots__ = ("optimizer", "site")

    def __init__(self) -> None:
        super().__init__()
        self.optimizer: Optimizer | None = None
        self.site: Site | None = None

    def lose(self) -> None:
        """Forget which optimizer was chosen last."""
        super().lose()
        self.optimizer = None

    def set(self, optimizer: Optimizer | None, site: Site) -> None:
        """A call of `compile`."""
        self.optimizer, self.site, self.is_lost = optimizer, site, False


class Network(Mutable):
    """A `Sequential`, or a model with inputs and outputs.

    Attributes:
        layers: of a Sequential, in order; None for others.
        inputs, outputs: of one that is built.
        structure: how the outputs are packed: a tensor, a tuple or a dict.
    """

    __slots__ = ("compilation", "inputs", "is_trainable", "layers", "outputs", "precision", "site", "structure")

    def __init__(self, site: Site, precision: Precision) -> None:
        super().__init__()
        self.site = site
        self.precision = precision
        self.layers: list[Layer | Network] | None = None
        self.inputs: tuple[Tensor, ...] = ()
        self.outputs: tuple[Tensor, ...] = ()
        self.structure: Any = None
        self.is_trainable: bool | None = True
        self.compilation = Compilation()

    def content(self) -> Iterator[Any]:
        """What `compile` has set."""
        yield self.compilation

    @property
    def kind(self) -> str:
        """How messages call it."""
        return "Sequential" if self.layers is not None else "Model"

    @property
    def is_built(self) -> bool:
        """Whether shapes are known."""
        return bool(self.outputs) and not self.is_lost

    def calls(self) -> list[Call]:
        """The uses of layers between inputs and outputs, each after those it rests on."""
        return calls_between(self.inputs, self.outputs)

    def members(self) -> list[Layer]:
        """The layers in it, through networks in it, each once."""
        layers: dict[Layer, None] = {}
        for call in self.calls() if self.is_built else ():
            layers[call.layer] = None
        for layer in self.layers or ():
            layers.update(dict.fromkeys(layer.members() if isinstance(layer, Network) else (layer,)))
        return list(layers)


def calls_between(inputs: Iterable[Tensor], outputs: Iterable[Tensor]) -> list[Call]:
    """The calls that make some tensors of others, each after those it rests on.

    Raises:
        NotKnown: an output rests on an input that is not among these.
    """
    known = set(map(id, inputs))
    order: dict[int, Call] = {}
    waiting = [(tensor.made_by, False) for tensor in outputs if id(tensor) not in known]
    while waiting:
        call, is_ready = waiting.pop()
        if call is None:
            raise NotKnown
        if id(call) in order:
            continue
        if is_ready:
            order[id(call)] = call
            continue
        waiting.append((call, True))
        waiting.extend((tensor.made_by, False) for tensor in call.inputs if id(tensor) not in known)
    return list(order.values())


def size(shape: Iterable[int | None]) -> int:
    """The number of elements of a shape. Raises NotKnown where a length is."""
    lengths = list(shape)
    if None in lengths:
        raise NotKnown
    return math.prod(length for length in lengths if length is not None)
