"""Functions whose work on single elements a loop of Python would do: of NumPy, and of TensorFlow."""

from __future__ import annotations

ELEMENT_WORK = frozenset(
    (
        "abs absolute fabs exp exp2 expm1 log log2 log10 log1p sqrt cbrt square power sin cos tan tanh arctan arctan2 "
        "sinh cosh maximum minimum clip where sign round around rint floor ceil flip fliplr flipud rot90 roll add "
        "subtract multiply divide true_divide mod nan_to_num dot matmul cumsum diff sort argsort isnan isfinite "
        "fft.fft fft.rfft"
    ).split()
)
TENSOR_WORK = frozenset(
    (
        "abs sqrt square exp log sigmoid tanh sin cos round sign floor clip_by_value maximum minimum pow where add "
        "subtract multiply divide one_hot image.resize image.resize_with_pad image.central_crop image.flip_left_right "
        "image.flip_up_down image.rot90 image.rgb_to_grayscale image.grayscale_to_rgb image.per_image_standardization "
        "image.convert_image_dtype image.adjust_brightness image.adjust_contrast image.adjust_gamma image.adjust_hue "
        "image.adjust_saturation image.rgb_to_hsv math.abs math.sqrt math.square math.exp math.log math.log1p "
        "math.sigmoid math.tanh math.sin math.cos math.maximum math.minimum math.pow math.multiply math.divide "
        "math.add math.subtract matmul linalg.matmul nn.relu nn.tanh nn.sigmoid nn.softmax"
    ).split()
)
# Results of one shape say nothing of the elements' shapes where a function reduces or reshapes them.
REDUCING = frozenset(
    (
        "mean std var sum max min amax amin median argmax argmin prod linalg.norm reduce_mean reduce_sum reduce_max "
        "reduce_min math.reduce_mean math.reduce_std math.reduce_sum math.reduce_max math.reduce_min"
    ).split()
)
WORK = frozenset(name.rpartition(".")[2] for name in ELEMENT_WORK | TENSOR_WORK | REDUCING)
"""The last parts of the names of those functions."""
