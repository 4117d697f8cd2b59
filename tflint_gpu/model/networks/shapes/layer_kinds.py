"""The layers of Keras: which shapes they give for which shapes, and how many weights they have.

Each row is what the layer's `build` and `compute_output_shape` say in Keras's own source; the tests ask Keras itself.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial
from typing import TypeAlias

from tflint_gpu.lazy_dataclasses import dataclass
from tflint_gpu.model.interpreter.values import plain
from tflint_gpu.model.library.keras_methods import MERGES, SAME_SHAPE
from tflint_gpu.model.networks.shapes import windows
from tflint_gpu.model.networks.shapes.graph import NotKnown, Shape, Weights, size
from tflint_gpu.model.networks.shapes.settings import Settings
from tflint_gpu.model.networks.shapes.windows import Answer, known

Shapes: TypeAlias = tuple[Shape, ...]


@dataclass(frozen=True, slots=True)
class Kind:
    """A class of layers.

    Arguments:
        order: the names of the constructor's positional parameters, as far as `apply` asks for them.
        apply: the shapes that a layer gives for those it gets, and its weights.
    """

    order: tuple[str, ...]
    apply: Callable[[Settings, Shapes], Answer]


def _single(function: Callable[[Settings, Shape], Answer]) -> Callable[[Settings, Shapes], Answer]:
    """A layer with one input."""

    def apply(settings: Settings, shapes: Shapes) -> Answer:
        if len(shapes) != 1:
            raise NotKnown
        return function(settings, shapes[0])

    return apply


def _same(settings: Settings, shapes: Shapes) -> Answer:
    return shapes[:1], Weights()


def _dense(settings: Settings, shape: Shape) -> Answer:
    units, inputs = settings.number("units"), known(shape[-1])
    bias = units if settings.flag("use_bias", default=True) else 0
    return ((*shape[:-1], units),), Weights(inputs * units + bias)


def _embedding(settings: Settings, shape: Shape) -> Answer:
    rows, width = settings.number("input_dim"), settings.number("output_dim")
    return ((*shape, width),), Weights(rows * width, sparse=rows * width)


def _batch_normalization(settings: Settings, shape: Shape) -> Answer:
    channels = known(shape[settings.axes("axis", len(shape), -1)[0]])
    learned = settings.flag("scale", default=True) + settings.flag("center", default=True)
    return (shape,), Weights(learned * channels, 2 * channels)


def _layer_normalization(settings: Settings, shape: Shape) -> Answer:
    count = math.prod(known(shape[axis]) for axis in settings.axes("axis", len(shape), -1))
    learned = settings.flag("scale", default=True) + settings.flag("center", default=True)
    return (shape,), Weights(learned * count)


def _root_mean_square_normalization(settings: Settings, shape: Shape) -> Answer:
    return (shape,), Weights(math.prod(known(shape[axis]) for axis in settings.axes("axis", len(shape), -1)))


def _normalization(settings: Settings, shape: Shape) -> Answer:
    if settings.value("mean") is not None:
        return (shape,), Weights()
    axis = settings.value("axis", -1)
    count = 1 if axis is None else math.prod(known(shape[axis]) for axis in settings.axes("axis", len(shape), -1))
    return (shape,), Weights(fixed=2 * count + 1)


def _learned_slope(settings: Settings, shape: Shape) -> Answer:
    shared = plain(settings.value("shared_axes")) or ()
    axes = shared if isinstance(shared, tuple) else (shared,)
    return (shape,), Weights(math.prod(1 if i in axes else known(n) for i, n in enumerate(shape) if i > 0))


# Shapes.


def _flatten(settings: Settings, shape: Shape) -> Answer:
    return ((shape[0], None if None in shape[1:] else size(shape[1:])),), Weights()


def _reshape(settings: Settings, shape: Shape) -> Answer:
    return ((shape[0], *reshaped(shape[1:], settings.shape("target_shape"))),), Weights()


def reshaped(shape: Shape, target: Shape) -> Shape:
    """A shape for the same elements, with the length that -1 means."""
    if None in target:
        raise NotKnown
    fixed = math.prod(length for length in target if length is not None and length != -1)
    if -1 not in target:
        if None not in shape and size(shape) != fixed:
            raise NotKnown
        return target
    if None in shape:
        return tuple(None if length == -1 else length for length in target)
    rest, left = divmod(size(shape), fixed)
    if left:
        raise NotKnown
    return tuple(rest if length == -1 else length for length in target)


def _permute(settings: Settings, shape: Shape) -> Answer:
    order = settings.shape("dims")
    if sorted(known(axis) for axis in order) != list(range(1, len(shape))):
        raise NotKnown
    return ((shape[0], *(shape[known(axis)] for axis in order)),), Weights()


def _repeat(settings: Settings, shape: Shape) -> Answer:
    return ((shape[0], settings.number("n"), *shape[1:]),), Weights()


# Joining.


def broadcast(shapes: Shapes) -> Shape:
    """The shape of an element-wise operation on tensors of some shapes."""
    rank = max(len(shape) for shape in shapes)
    aligned = [(1,) * (rank - len(shape)) + shape for shape in shapes]
    return tuple(_common(lengths) for lengths in zip(*aligned, strict=True))


def _common(lengths: tuple[int | None, ...]) -> int | None:
    known_lengths = {length for length in lengths if length != 1}
    if len(known_lengths) > 1:
        raise NotKnown
    return known_lengths.pop() if known_lengths else 1


def _merge(settings: Settings, shapes: Shapes) -> Answer:
    return (broadcast(shapes),), Weights()


def _concatenate(settings: Settings, shapes: Shapes) -> Answer:
    axis = settings.axes("axis", len(shapes[0]), -1)[0]
    return (concatenated(shapes, axis),), Weights()


def concatenated(shapes: Shapes, axis: int) -> Shape:
    """The shape of tensors joined along an axis."""
    if len({len(shape) for shape in shapes}) != 1:
        raise NotKnown
    lengths = [shape[axis] for shape in shapes]
    total = None if None in lengths else sum(length for length in lengths if length is not None)
    return (*shapes[0][:axis], total, *shapes[0][axis + 1 :])


def _dot(settings: Settings, shapes: Shapes) -> Answer:
    first, second = shapes
    value = plain(settings.value("axes"))
    axes = value if isinstance(value, tuple) else (value, value)
    if not all(isinstance(axis, int) for axis in axes):
        raise NotKnown
    first_axis, second_axis = axes[0] % len(first), axes[1] % len(second)
    left = [length for axis, length in enumerate(first) if axis != first_axis]
    right = [length for axis, length in enumerate(second) if axis not in (0, second_axis)]
    shape = (*left, *right)
    return (shape if len(shape) > 1 else (*shape, 1),), Weights()


# Attention.


def _multi_head_attention(settings: Settings, shapes: Shapes) -> Answer:
    if settings.value("output_shape") is not None or settings.value("attention_axes") is not None:
        raise NotKnown
    if not 2 <= len(shapes) <= 3 or settings.flag("return_attention_scores", default=False):
        raise NotKnown
    query, value = shapes[0], shapes[1]
    key = shapes[2] if len(shapes) == 3 else value
    heads, per_key = settings.number("num_heads"), settings.number("key_dim")
    per_value = settings.number("value_dim") if settings.value("value_dim") is not None else per_key
    bias = int(settings.flag("use_bias", default=True))
    width = known(query[-1])
    weights = (width + bias) * heads * per_key + (known(key[-1]) + bias) * heads * per_key
    weights += (known(value[-1]) + bias) * heads * per_value + heads * per_value * width + bias * width
    return (query,), Weights(weights)


def _attention(settings: Settings, shapes: Shapes, learned: Callable[[Settings, Shapes], int]) -> Answer:
    if not 2 <= len(shapes) <= 3:
        raise NotKnown
    return ((*shapes[0][:-1], shapes[1][-1]),), Weights(learned(settings, shapes))


def _scale(settings: Settings, shapes: Shapes) -> int:
    factors = settings.flag("use_scale", default=False) + (settings.text("score_mode", "dot") == "concat")
    return int(factors)


def _scale_of_sum(settings: Settings, shapes: Shapes) -> int:
    return known(shapes[0][-1]) if settings.flag("use_scale", default=True) else 0


# Recurrent layers.


def _recurrent(settings: Settings, shapes: Shapes, gates: int, states: int, biases: int = 1) -> Answer:
    shape = shapes[0]
    if len(shape) != 3:
        raise NotKnown
    units, inputs = settings.number("units"), known(shape[-1])
    bias = biases * units if settings.flag("use_bias", default=True) else 0
    weights = Weights(gates * (inputs * units + units * units + bias))
    output: Shape = (shape[0], units)
    if settings.flag("return_sequences", default=False):
        output = (shape[0], shape[1], units)
    state: Shape = (shape[0], units)
    return (output, *((state,) * (states if settings.flag("return_state", default=False) else 0))), weights


def _gated(settings: Settings, shapes: Shapes) -> Answer:
    return _recurrent(settings, shapes, 3, 1, 2 if settings.flag("reset_after", default=True) else 1)


_UNITS = ("units", "activation", "recurrent_activation", "use_bias")
_WINDOW = ("filters", "kernel_size", "strides", "padding")
_CONVOLUTION = (*_WINDOW, "data_format", "dilation_rate", "groups", "activation", "use_bias")
_TRANSPOSED = (*_WINDOW, "output_padding", "data_format", "dilation_rate", "activation", "use_bias")
_SEPARABLE = (*_WINDOW, "data_format", "dilation_rate", "depth_multiplier", "activation", "use_bias")
_RECURRENT_CONVOLUTION = (*_WINDOW, "data_format", "dilation_rate")
_DEPTHWISE = ("kernel_size", "strides", "padding", "depth_multiplier", "data_format", "dilation_rate")
_POOLING = ("pool_size", "strides", "padding", "data_format")


def _windowed() -> dict[str, Kind]:
    kinds: dict[str, Kind] = {}
    for count in (1, 2, 3):

        def kind(function: Callable[[Settings, Shape, int], Answer], *order: str, axes: int = count) -> Kind:
            return Kind(order, _single(lambda settings, shape: function(settings, shape, axes)))

        for word in ("Conv", "Convolution"):
            kinds[f"{word}{count}D"] = kind(windows.convolution, *_CONVOLUTION)
            kinds[f"{word}{count}DTranspose"] = kind(windows.transposed, *_TRANSPOSED)
        for word in ("SeparableConv", "SeparableConvolution"):
            kinds[f"{word}{count}D"] = kind(windows.separable, *_SEPARABLE)
        for word in ("DepthwiseConv", "DepthwiseConvolution"):
            kinds[f"{word}{count}D"] = kind(windows.depthwise, *_DEPTHWISE)
        for word in ("MaxPooling", "MaxPool", "AveragePooling", "AvgPool"):
            kinds[f"{word}{count}D"] = kind(windows.pooling, *_POOLING)
            kinds[f"Global{word}{count}D"] = kind(windows.global_pooling, "data_format", "keepdims")
        kinds[f"ZeroPadding{count}D"] = kind(windows.padded, "padding", "data_format")
        kinds[f"Cropping{count}D"] = kind(windows.cropped, "cropping", "data_format")
        kinds[f"UpSampling{count}D"] = kind(windows.upsampled, "size", "data_format")
        kinds[f"ConvLSTM{count}D"] = kind(windows.recurrent_convolution, *_RECURRENT_CONVOLUTION)
    return kinds


KINDS: dict[str, Kind] = {
    **_windowed(),
    **{name: Kind((), _single(lambda settings, shape: ((shape,), Weights()))) for name in SAME_SHAPE},
    **{name: Kind((), _merge) for name in MERGES},
    "Masking": Kind((), _same),
    "Concatenate": Kind(("axis",), _concatenate),
    "Dot": Kind(("axes", "normalize"), _dot),
    "Dense": Kind(("units", "activation", "use_bias"), _single(_dense)),
    "Embedding": Kind(("input_dim", "output_dim"), _single(_embedding)),
    "BatchNormalization": Kind(("axis", "momentum", "epsilon", "center", "scale"), _single(_batch_normalization)),
    "SyncBatchNormalization": Kind(("axis", "momentum", "epsilon", "center", "scale"), _single(_batch_normalization)),
    "LayerNormalization": Kind(("axis", "epsilon", "center", "scale"), _single(_layer_normalization)),
    "GroupNormalization": Kind(("groups", "axis", "epsilon", "center", "scale"), _single(_layer_normalization)),
    "RMSNormalization": Kind(("axis", "epsilon"), _single(_root_mean_square_normalization)),
    "Normalization": Kind(("axis", "mean", "variance"), _single(_normalization)),
    "PReLU": Kind(
        ("alpha_initializer", "alpha_regularizer", "alpha_constraint", "shared_axes"), _single(_learned_slope)
    ),
    "Flatten": Kind(("data_format",), _single(_flatten)),
    "Reshape": Kind(("target_shape",), _single(_reshape)),
    "Permute": Kind(("dims",), _single(_permute)),
    "RepeatVector": Kind(("n",), _single(_repeat)),
    "Resizing": Kind(("height", "width"), _single(windows.resized)),
    "CenterCrop": Kind(("height", "width"), _single(windows.resized)),
    "RandomCrop": Kind(("height", "width"), _single(windows.resized)),
    "MultiHeadAttention": Kind(("num_heads", "key_dim", "value_dim", "dropout", "use_bias"), _multi_head_attention),
    "Attention": Kind(("use_scale", "score_mode"), partial(_attention, learned=_scale)),
    "AdditiveAttention": Kind(("use_scale",), partial(_attention, learned=_scale_of_sum)),
    "LSTM": Kind(_UNITS, partial(_recurrent, gates=4, states=2)),
    "CuDNNLSTM": Kind(("units",), partial(_recurrent, gates=4, states=2, biases=2)),
    "GRU": Kind(_UNITS, _gated),
    "CuDNNGRU": Kind(("units",), _gated),
    "SimpleRNN": Kind(("units", "activation", "use_bias"), partial(_recurrent, gates=1, states=1)),
}
