"""Shapes and weights of layers that move a window over their input: convolutions and pooling."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TypeAlias

from tflint_gpu.model.interpreter.values import plain
from tflint_gpu.model.networks.shapes.graph import NotKnown, Shape, Weights
from tflint_gpu.model.networks.shapes.settings import Settings

Answer: TypeAlias = tuple[tuple[Shape, ...], Weights]
Spatial: TypeAlias = tuple[int | None, ...]


def known(length: int | None) -> int:
    """A length that has to be known."""
    if length is None:
        raise NotKnown
    return length


def split(settings: Settings, shape: Shape, count: int) -> tuple[int | None, Spatial, int]:
    """The batch, the lengths of the axes that a window moves over, and the channels."""
    if len(shape) != count + 2:
        raise NotKnown
    if settings.is_channels_first(len(shape)):
        return shape[0], shape[2:], known(shape[1])
    return shape[0], shape[1:-1], known(shape[-1])


def join(settings: Settings, batch: int | None, lengths: Spatial, channels: int) -> Shape:
    """The shape of a batch, lengths and channels."""
    if any(length is not None and length < 1 for length in lengths):
        raise NotKnown
    if settings.is_channels_first(len(lengths) + 2):
        return (batch, channels, *lengths)
    return (batch, *lengths, channels)


def slid(length: int | None, window: int, stride: int, padding: str, dilation: int = 1) -> int | None:
    """How many windows there are along an axis."""
    if length is None:
        return None
    if padding in ("same", "causal"):
        return math.ceil(length / stride)
    return (length - (window - 1) * dilation - 1) // stride + 1


def _convolution(settings: Settings, shape: Shape, count: int) -> tuple[int, Callable[[int], Shape]]:
    """The size of the kernel times the channels, and the output's shape for a number of filters."""
    batch, lengths, _ = split(settings, shape, count)
    kernel = settings.lengths("kernel_size", count)
    strides, dilations = settings.lengths("strides", count, 1), settings.lengths("dilation_rate", count, 1)
    padding = settings.text("padding", "valid")
    given = zip(lengths, kernel, strides, dilations, strict=True)
    moved = tuple(slid(length, k, s, padding, d) for length, k, s, d in given)
    return math.prod(kernel), lambda filters: join(settings, batch, moved, filters)


def convolution(settings: Settings, shape: Shape, count: int) -> Answer:
    """Conv1D, Conv2D, Conv3D."""
    window, shaped = _convolution(settings, shape, count)
    channels, filters = split(settings, shape, count)[2], settings.number("filters")
    bias = filters if settings.flag("use_bias", default=True) else 0
    return (shaped(filters),), Weights(window * (channels // settings.number("groups", 1)) * filters + bias)


def depthwise(settings: Settings, shape: Shape, count: int) -> Answer:
    """DepthwiseConv1D, DepthwiseConv2D."""
    window, shaped = _convolution(settings, shape, count)
    filters = split(settings, shape, count)[2] * settings.number("depth_multiplier", 1)
    bias = filters if settings.flag("use_bias", default=True) else 0
    return (shaped(filters),), Weights(window * filters + bias)


def separable(settings: Settings, shape: Shape, count: int) -> Answer:
    """SeparableConv1D, SeparableConv2D."""
    window, shaped = _convolution(settings, shape, count)
    filters = settings.number("filters")
    between = split(settings, shape, count)[2] * settings.number("depth_multiplier", 1)
    bias = filters if settings.flag("use_bias", default=True) else 0
    return (shaped(filters),), Weights(window * between + between * filters + bias)


def transposed(settings: Settings, shape: Shape, count: int) -> Answer:
    """Conv1DTranspose, Conv2DTranspose, Conv3DTranspose."""
    batch, lengths, channels = split(settings, shape, count)
    kernel, filters = settings.lengths("kernel_size", count), settings.number("filters")
    strides, dilations = settings.lengths("strides", count, 1), settings.lengths("dilation_rate", count, 1)
    is_same = settings.text("padding", "valid") == "same"
    extra = settings.value("output_padding")
    added = settings.lengths("output_padding", count) if extra is not None else (None,) * count
    moved: list[int | None] = []
    for length, k, s, d, more in zip(lengths, kernel, strides, dilations, added, strict=True):
        wide = (k - 1) * d + 1
        if length is None:
            moved.append(None)
        elif more is None:
            moved.append(length * s if is_same else length * s + max(wide - s, 0))
        else:
            moved.append((length - 1) * s + wide - (2 * (wide // 2) if is_same else 0) + more)
    bias = filters if settings.flag("use_bias", default=True) else 0
    weights = Weights(math.prod(kernel) * channels * filters + bias)
    return (join(settings, batch, tuple(moved), filters),), weights


def recurrent_convolution(settings: Settings, shape: Shape, count: int) -> Answer:
    """ConvLSTM1D, ConvLSTM2D, ConvLSTM3D."""
    if settings.is_channels_first(len(shape)) or settings.flag("return_state", default=False):
        raise NotKnown
    window, shaped = _convolution(settings, (shape[0], *shape[2:]), count)
    channels, filters = known(shape[-1]), settings.number("filters")
    bias = filters if settings.flag("use_bias", default=True) else 0
    step = shaped(filters)
    output = (step[0], shape[1], *step[1:]) if settings.flag("return_sequences", default=False) else step
    return (output,), Weights(4 * (window * (channels + filters) * filters + bias))


def pooling(settings: Settings, shape: Shape, count: int) -> Answer:
    """MaxPooling and AveragePooling."""
    batch, lengths, channels = split(settings, shape, count)
    window = settings.lengths("pool_size", count, 2)
    strides = settings.lengths("strides", count) if settings.value("strides") is not None else window
    padding = settings.text("padding", "valid")
    moved = tuple(slid(n, k, s, padding) for n, k, s in zip(lengths, window, strides, strict=True))
    return (join(settings, batch, moved, channels),), Weights()


def global_pooling(settings: Settings, shape: Shape, count: int) -> Answer:
    """GlobalMaxPooling and GlobalAveragePooling."""
    batch, _, channels = split(settings, shape, count)
    if settings.flag("keepdims", default=False):
        return (join(settings, batch, (1,) * count, channels),), Weights()
    return ((batch, channels),), Weights()


def _bordered(settings: Settings, shape: Shape, count: int, name: str, default: int, sign: int) -> Answer:
    batch, lengths, channels = split(settings, shape, count)
    value = settings.value(name, default)
    borders = Borders.of(value, count)
    moved = tuple(None if n is None else n + sign * sum(b) for n, b in zip(lengths, borders, strict=True))
    return (join(settings, batch, moved, channels),), Weights()


class Borders:
    """What is added to, or cut from, both ends of each axis."""

    @staticmethod
    def of(value: object, count: int) -> tuple[tuple[int, int], ...]:
        """`1`, `(1, 2)` or `((1, 1), (2, 2))`; for one axis `(1, 2)` is its beginning and its end."""
        widths = plain(value)
        if isinstance(widths, int):
            return ((widths, widths),) * count
        if count == 1 and isinstance(widths, tuple) and len(widths) == 2 and isinstance(widths[0], int):
            widths = (widths,)
        if not isinstance(widths, tuple) or len(widths) != count:
            raise NotKnown
        pairs = tuple((width, width) if isinstance(width, int) else width for width in widths)
        if not all(isinstance(pair, tuple) and len(pair) == 2 for pair in pairs):
            raise NotKnown
        return pairs


def padded(settings: Settings, shape: Shape, count: int) -> Answer:
    """ZeroPadding."""
    return _bordered(settings, shape, count, "padding", 1, 1)


def cropped(settings: Settings, shape: Shape, count: int) -> Answer:
    """Cropping."""
    return _bordered(settings, shape, count, "cropping", 0 if count == 2 else 1, -1)


def upsampled(settings: Settings, shape: Shape, count: int) -> Answer:
    """UpSampling."""
    batch, lengths, channels = split(settings, shape, count)
    factors = settings.lengths("size", count, 2)
    moved = tuple(None if n is None else n * f for n, f in zip(lengths, factors, strict=True))
    return (join(settings, batch, moved, channels),), Weights()


def resized(settings: Settings, shape: Shape) -> Answer:
    """Resizing, CenterCrop, RandomCrop."""
    if len(shape) != 4:
        raise NotKnown
    batch, _, channels = split(settings, shape, 2)
    return (join(settings, batch, (settings.number("height"), settings.number("width")), channels),), Weights()
