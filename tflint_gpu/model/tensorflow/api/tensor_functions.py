"""Which of TensorFlow's and Keras's functions return tensors. Names are canonical (`names.canonical`)."""

from __future__ import annotations

_FOLDERS = (
    "tf.math.",
    "tf.nn.",
    "tf.linalg.",
    "tf.image.",
    "tf.signal.",
    "tf.strings.",
    "tf.random.",
    "tf.bitwise.",
    "tf.audio.",
    "tf.raw_ops.",
    "keras.ops.",
    "keras.backend.",
    "keras.activations.",
    "keras.losses.",
    "keras.random.",
)
_TOP_LEVEL = frozenset(
    (
        "abs acos acosh add add_n argmax argmin argsort asin asinh atan atan2 atanh batch_to_space "
        "boolean_mask broadcast_to bitcast cast ceil clip_by_global_norm clip_by_norm clip_by_value complex "
        "concat constant convert_to_tensor cos cosh cumsum custom_gradient divide dynamic_partition "
        "dynamic_stitch edit_distance eig eigvals einsum ensure_shape equal exp expand_dims "
        "extract_volume_patches eye fill floor foldl foldr gather gather_nd greater greater_equal "
        "histogram_fixed_width identity identity_n less less_equal linspace logical_and logical_not "
        "logical_or map_fn matmul meshgrid maximum minimum multiply negative norm not_equal one_hot ones "
        "ones_like pad pow random_normal_initializer range rank realdiv reduce_all reduce_any "
        "reduce_logsumexp reduce_max reduce_mean reduce_min reduce_prod reduce_sum repeat reshape reverse "
        "reverse_sequence roll round saturate_cast scan scatter_nd searchsorted sequence_mask shape shape_n "
        "sigmoid sign sin sinh size slice sort space_to_batch split sqrt square squeeze stack stop_gradient "
        "strided_slice subtract tan tanh tensor_scatter_nd_add tensor_scatter_nd_update tensordot tile "
        "timestamp transpose truncatediv truncatemod unique unstack unravel_index vectorized_map where zeros "
        "zeros_like"
    ).split()
) - {"random_normal_initializer", "custom_gradient"}
_NOT_TENSORS = frozenset(
    (
        "keras.backend.int_shape keras.backend.ndim keras.backend.floatx keras.backend.epsilon "
        "keras.backend.backend keras.backend.image_data_format keras.backend.is_keras_tensor "
        "keras.backend.is_sparse keras.backend.dtype keras.backend.learning_phase keras.backend.eval "
        "keras.backend.get_value keras.backend.batch_get_value keras.backend.count_params "
        "keras.backend.clear_session keras.backend.function keras.backend.get_session keras.backend.get_uid "
        "keras.backend.name_scope keras.backend.placeholder keras.backend.variable keras.backend.is_tensor "
        "keras.backend.result_type keras.backend.standardize_dtype keras.backend.is_float_dtype "
        "keras.backend.set_value keras.backend.batch_set_value keras.backend.learning_phase_scope "
        "keras.backend.is_variable keras.ops.shape keras.ops.ndim keras.ops.size keras.ops.dtype "
        "keras.ops.is_tensor keras.ops.convert_to_numpy keras.ops.result_type tf.random.set_seed "
        "tf.random.get_global_generator tf.random.set_global_generator keras.activations.get "
        "keras.activations.serialize keras.activations.deserialize keras.losses.get keras.losses.serialize "
        "keras.losses.deserialize tf.nn.RNNCellDeviceWrapper keras.ops.map keras.ops.scan keras.ops.cond"
    ).split()
)
# Of a tensor, these are known while tracing, or are no tensors.
STATIC_ATTRIBUTES = frozenset(
    (
        "shape dtype name ndim rank device graph op get_shape set_shape numpy as_list is_fully_defined "
        "_keras_shape _keras_mask _shape keys itemsize consumers value_index"
    ).split()
)
# Methods of the containers that Keras hands to `call` (lists, tuples and dictionaries of tensors).
CONTAINER_METHODS = frozenset(["get", "pop", "values", "items", "copy"])

PYTHON_FUNCTIONS = frozenset(["tf.py_function", "tf.numpy_function", "tf.py_func", "tf.compat.v1.py_func"])
"""They run the function they are given on the host, with real values."""

HIGHER_ORDER = frozenset(
    [
        "tf.map_fn",
        "tf.vectorized_map",
        "tf.scan",
        "tf.foldl",
        "tf.foldr",
        "tf.while_loop",
        "tf.nn.experimental.rnn",
    ]
)
"""They trace the functions they are given, with tensors as arguments."""


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


def returns_tensor(name: str | None) -> bool:
    """Whether the function of this canonical name returns a tensor, or tensors in a container."""
    if name is None:
        return False
    if name.startswith("tf.compat.v1."):
        name = "tf." + name[len("tf.compat.v1.") :]
    if name in _NOT_TENSORS:
        return False
    if name.startswith("tf.") and "." not in name[3:]:
        return name[3:] in _TOP_LEVEL
    last = name.rpartition(".")[2]
    return name.startswith(_FOLDERS) and not last[:1].isupper()
