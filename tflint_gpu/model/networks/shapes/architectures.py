"""The networks of `keras.applications`, by a table that was written with Keras itself (`architectures.toml`)."""

from __future__ import annotations

import math
import sys
from functools import cache
from pathlib import Path
from typing import Any

from tflint_gpu.lazy_dataclasses import dataclass
from tflint_gpu.model.interpreter.values import Arguments, plain
from tflint_gpu.model.networks.shapes.graph import Call, Layer, NotKnown, Precision, Shape, Tensor, Weights
from tflint_gpu.model.networks.shapes.settings import Settings
from tflint_gpu.model.python.value_flow.constants import UNKNOWN

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

_ORDER = ("include_top", "weights", "input_tensor", "input_shape", "pooling", "classes")
_OTHER_ORDER = frozenset(["MobileNet", "MobileNetV2", "MobileNetV3Large", "MobileNetV3Small"])
_CHANGING = ("alpha", "minimalistic", "depth_multiplier")
_CLASSES = 1000
_CHANNELS = 3


@cache
def _table() -> dict[str, dict[str, Any]]:
    return tomllib.loads((Path(__file__).parent / "architectures.toml").read_text("utf-8"))


def architecture_named(dotted: str) -> str | None:
    """The network of a canonical name: "keras.applications.resnet.ResNet50" is "ResNet50"."""
    name = dotted.rpartition(".")[2]
    return name if dotted.startswith("keras.applications.") and name in _table() else None


@dataclass(frozen=True, slots=True)
class Architecture:
    """A network as a program asks for it.

    Arguments:
        has_top: whether the classifier is part of it.
        shape: of the input, without the batch.
        pooling: "avg", "max", or None for the whole last feature map.
    """

    name: str
    has_top: bool
    shape: Shape
    pooling: str | None
    classes: int
    input_tensor: Any = None

    @classmethod
    def of(cls, name: str, given: Arguments) -> Architecture:
        """The network that a call makes. Raises NotKnown where its arguments are not known."""
        settings = Settings(given, () if name in _OTHER_ORDER else _ORDER)
        if name in _OTHER_ORDER and given.positional:
            raise NotKnown
        if any(given.get(-1, word) is not None for word in _CHANGING):
            raise NotKnown
        entry = _table()[name]
        has_top, tensor = settings.flag("include_top", default=True), settings.value("input_tensor")
        shape: Shape = (entry["default"],) * 2 + (_CHANNELS,)
        asked = plain(settings.value("input_shape"))
        if asked is UNKNOWN or not (isinstance(asked, tuple) or asked is None):
            raise NotKnown
        if isinstance(tensor, Tensor):
            shape = tensor.shape[1:]
        elif asked is not None:
            shape = asked
        elif not has_top:
            shape = (None, None, _CHANNELS)
        pooling = settings.value("pooling")
        classes = settings.number("classes", _CLASSES)
        if len(shape) != 3 or shape[-1] != _CHANNELS or pooling not in (None, "avg", "max"):
            raise NotKnown
        if has_top and shape[:2] != (entry["default"],) * 2:
            raise NotKnown
        return cls(name, has_top, shape, pooling, classes, tensor)

    @property
    def weights(self) -> Weights:
        """Its weights."""
        entry = _table()[self.name]
        total, trainable = entry["parameters"], entry["trainable"]
        if self.has_top:
            top = entry["top"] + (entry["head"] + 1) * (self.classes - _CLASSES)
            total, trainable = total + top, trainable + top
        return Weights(trainable, total - trainable)

    def called(self, layer: Layer, tensor: Tensor, width: int) -> Tensor:
        """What the network gives for a tensor."""
        shape = tensor.shape
        if len(shape) != 4 or shape[-1] != _CHANNELS:
            raise NotKnown
        held = self._elements(shape)
        call = Call(layer, (tensor,), held=held, is_open=held is None)
        call.outputs = (Tensor(self._output(shape), call, width),)
        return call.outputs[0]

    def _elements(self, shape: Shape) -> int | None:
        """The numbers that its layers give for an image; None where the image's size is not known."""
        sums = _table()[self.name]["elements"]
        height, width = shape[1], shape[2]
        if height is None or width is None:
            return None
        exact = sums.get(str(height)) if height == width else None
        if exact is not None:
            return int(exact)
        side = math.sqrt(height * width)
        below = max((int(key) for key in sums if int(key) <= side), default=None)
        if below is None:
            raise NotKnown
        return int(sums[str(below)] * height * width / below**2)

    def _output(self, shape: Shape) -> Shape:
        entry = _table()[self.name]
        if self.has_top:
            return (shape[0], self.classes)
        if self.pooling is not None:
            return (shape[0], entry["features"])
        lengths = [None if n is None else entry["lengths"].get(str(n)) for n in shape[1:3]]
        return (shape[0], *lengths, entry["features"])


class ArchitectureLayer(Layer):
    """A network of the table, as one layer."""

    __slots__ = ("architecture",)

    def __init__(self, architecture: Architecture, given: Arguments, precision: Precision) -> None:
        super().__init__(architecture.name, given, precision)
        self.architecture = architecture
        self.weights = architecture.weights
