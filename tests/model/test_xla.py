"""The operations without a kernel of XLA, held against the installed TensorFlow and Keras."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest

from tflint_gpu.model.library.higher_order import PYTHON_FUNCTIONS
from tflint_gpu.model.library.xla import CHOICES, EFFECTS_WITHOUT_KERNEL, TABLES, WITHOUT_JIT, WITHOUT_KERNEL

tf = pytest.importorskip("tensorflow")
keras = pytest.importorskip("keras")

NUMBERS = [1.0, 2.0, 3.0]


def _numbers() -> Any:
    return tf.constant(NUMBERS)


def _whole() -> Any:
    return tf.constant([1, 2, 3])


def _images() -> Any:
    return tf.ones((1, 8, 8, 3))


def _boxes() -> Any:
    return tf.constant([[0.0, 0.0, 0.5, 0.5]])


def _matrix() -> Any:
    return tf.eye(3)[None] + 0.1


def _sparse() -> Any:
    return tf.sparse.from_dense(tf.eye(3))


def _scores() -> Any:
    return tf.ones((4, 1, 5))


def _bytes() -> Any:
    return tf.io.serialize_tensor(_whole())


_SEGMENTS = [0, 0, 1]
_HEADS = {
    "tf.sparse.segment_": (lambda: (tf.ones((3, 2)), _SEGMENTS, _SEGMENTS), {}),
    "tf.math.segment_": (lambda: (tf.ones((3, 2)), _SEGMENTS), {}),
    "tf.math.special.": (lambda: (_numbers(),), {}),
    "tf.math.": (lambda: (_numbers(),), {}),
    "tf.linalg.": (lambda: (_matrix(),), {}),
    "keras.ops.image.": (lambda: (_images(), tf.ones((1, 8))), {}),
    "keras.ops.": (lambda: (_matrix(),), {}),
    "tf.sets.": (lambda: (tf.constant([[1]]), tf.constant([[1]])), {}),
    "tf.nn.ctc_": (lambda: (_scores(), [4]), {}),
    "tf.random.": (lambda: (tf.constant([[1]], tf.int64), 1, 1, False, 4), {}),
}
_SAMPLED = (lambda: (tf.ones((9, 4)), tf.ones((9,)), tf.constant([[1]]), tf.ones((1, 4)), 2, 9), {})
_MORPHED = (lambda: (_images(), tf.ones((2, 2, 3)), [1] * 4, "SAME", "NHWC", [1] * 4), {})
_RAGGED_POOL = (lambda: (_images(), [1, 1.5, 1.5, 1]), {})
_ENCODED = (lambda: (tf.cast(_images()[0], tf.uint8),), {})
_CALLS: dict[str, tuple[Callable[[], tuple[Any, ...]], dict[str, Any]]] = {
    "tf.print": (lambda: (_whole(),), {}),
    "tf.timestamp": (tuple, {}),
    "tf.compat.v1.Print": (lambda: (_whole(), [_whole()]), {}),
    "tf.random.gamma": (lambda: ([3], 1.0), {}),
    "tf.random.poisson": (lambda: ([3], 1.0), {}),
    "tf.random.stateless_gamma": (lambda: ([3], [1, 2], 1.0), {}),
    "tf.random.stateless_poisson": (lambda: ([3], [1, 2], tf.constant(1.0)), {"dtype": "float32"}),
    "tf.random.stateless_binomial": (lambda: ([3], [1, 2], tf.constant(4.0), tf.constant(0.5)), {}),
    "tf.random.experimental.stateless_shuffle": (lambda: (_whole(),), {"seed": [1, 2]}),
    "keras.random.gamma": (lambda: ((2,), 1.0), {}),
    "keras.random.beta": (lambda: ((2,), 1.0, 1.0), {}),
    "keras.random.binomial": (lambda: ((2,), tf.ones(2), tf.ones(2) * 0.5), {}),
    "tf.linalg.logm": (lambda: (tf.cast(_matrix(), tf.complex64),), {}),
    "tf.histogram_fixed_width": (lambda: (_numbers(), [0.0, 1.0]), {}),
    "tf.image.crop_and_resize": (lambda: (_images(), _boxes(), [0], [4, 4]), {}),
    "tf.image.combined_non_max_suppression": (
        lambda: (_boxes()[None, :, None], tf.ones((1, 1, 1)), 1, 1),
        {},
    ),
    "tf.image.non_max_suppression_with_scores": (lambda: (_boxes(), tf.ones((1,)), 1), {}),
    "tf.image.non_max_suppression_overlaps": (lambda: (tf.ones((1, 1)), tf.ones((1,)), 1), {}),
    "tf.image.draw_bounding_boxes": (lambda: (_images(), _boxes()[None], tf.ones((1, 3))), {}),
    "tf.image.sample_distorted_bounding_box": (lambda: ([8, 8, 3], _boxes()[None]), {}),
    "tf.image.stateless_sample_distorted_bounding_box": (lambda: ([8, 8, 3], _boxes()[None]), {"seed": [1, 2]}),
    "tf.image.extract_glimpse": (lambda: (_images(), [2, 2], tf.zeros((1, 2))), {}),
    "tf.image.adjust_jpeg_quality": (lambda: (_images()[0], 50), {}),
    "tf.image.random_jpeg_quality": (lambda: (_images()[0], 40, 60), {}),
    "keras.ops.image.perspective_transform": (
        lambda: (_images(), tf.ones((1, 4, 2)), tf.ones((1, 4, 2)) * 2),
        {},
    ),
    "keras.ops.ctc_decode": (lambda: (tf.ones((2, 3, 3)), tf.constant([3, 3])), {}),
    "tf.sparse.sparse_dense_matmul": (lambda: (_sparse(), tf.ones((3, 2))), {}),
    "tf.sparse.concat": (lambda: (0, [_sparse(), _sparse()]), {}),
    "tf.sparse.add": (lambda: (_sparse(), _sparse()), {}),
    "tf.sparse.maximum": (lambda: (_sparse(), _sparse()), {}),
    "tf.sparse.reshape": (lambda: (_sparse(), [9]), {}),
    "tf.sparse.slice": (lambda: (_sparse(), [0, 0], [1, 1]), {}),
    "tf.sparse.to_indicator": (lambda: (tf.sparse.from_dense([[1, 0]]), 3), {}),
    "tf.sparse.fill_empty_rows": (lambda: (_sparse(), 0.0), {}),
    **{f"tf.sparse.{name}": (lambda: (_sparse(),), {}) for name in ("reorder", "reduce_sum", "softmax", "transpose")},
    "tf.nn.dilation2d": _MORPHED,
    "tf.nn.erosion2d": _MORPHED,
    "tf.nn.max_pool_with_argmax": (lambda: (_images(), 2, 2, "SAME"), {}),
    "tf.nn.fractional_max_pool": _RAGGED_POOL,
    "tf.nn.fractional_avg_pool": _RAGGED_POOL,
    "tf.nn.sampled_softmax_loss": _SAMPLED,
    "tf.nn.nce_loss": _SAMPLED,
    "tf.nn.embedding_lookup_sparse": (lambda: (tf.ones((3, 2)), tf.sparse.from_dense([[1, 0]]), None), {}),
    "tf.nn.safe_embedding_lookup_sparse": (lambda: (tf.ones((3, 2)), tf.sparse.from_dense([[1, 0]])), {}),
    "tf.compat.v1.nn.ctc_loss": (lambda: (tf.sparse.from_dense([[1, 2]]), _scores(), [4]), {}),
    "tf.sets.size": (lambda: (tf.sparse.from_dense([[1]]),), {}),
    "tf.edit_distance": (lambda: (tf.sparse.from_dense([[1, 2]]), tf.sparse.from_dense([[1, 2]])), {}),
    "tf.unique_with_counts": (lambda: (_whole(),), {}),
    "tf.signal.fftnd": (lambda: (tf.cast(tf.ones((2, 4)), tf.complex64), [2, 4], [0, 1]), {}),
    "tf.ragged.range": (lambda: ([3, 4],), {}),
    "tf.io.read_file": (lambda: ("none",), {}),
    "tf.io.write_file": (lambda: ("none", "text"), {}),
    "tf.io.matching_files": (lambda: ("none/*",), {}),
    "tf.io.encode_jpeg": _ENCODED,
    "tf.io.encode_png": _ENCODED,
    "tf.io.serialize_tensor": (lambda: (_whole(),), {}),
    "tf.io.parse_tensor": (lambda: (_bytes(), "int32"), {}),
    "tf.io.decode_raw": (lambda: (_bytes(), "int32"), {}),
    "tf.audio.encode_wav": (lambda: (tf.ones((9, 1)), 8000), {}),
}
_OF_BYTES = (lambda: (_bytes(),), {})
COMPILED = {
    "unique": lambda: tf.unique(_whole()),
    "a mask": lambda: tf.boolean_mask(_whole(), _whole() > 1),
    "places": lambda: tf.where(_whole() > 1),
    "an assertion": lambda: tf.debugging.assert_equal(_whole(), _whole()),
    "random order": lambda: tf.random.shuffle(_whole()),
    "classes that are drawn": lambda: tf.random.categorical(tf.ones((2, 3)), 2),
    "bilinear": lambda: tf.image.resize(_images(), (4, 4)),
    "nearest": lambda: tf.image.resize(_images(), (4, 4), method="nearest"),
    "boxes": lambda: tf.image.non_max_suppression(_boxes(), tf.ones((1,)), 1),
    "segments in any order": lambda: tf.math.unsorted_segment_sum(_whole(), _SEGMENTS, 2),
    "counts": lambda: tf.math.bincount(_whole()),
    "the logarithm of a determinant": lambda: tf.linalg.logdet(_matrix()),
    "an inverse": lambda: tf.linalg.inv(_matrix()),
    "labels of speech": lambda: tf.nn.ctc_loss(tf.ones((1, 2), tf.int32), _scores(), [2], [4], blank_index=0),
    "a map over rows": lambda: tf.map_fn(lambda row: row * 2, _whole()),
    "a spectrum": lambda: tf.signal.rfft(_numbers()),
}


def _called(name: str) -> Any:
    """The function of a name."""
    found = {"tf": tf, "keras": keras}[name.partition(".")[0]]
    for part in name.split(".")[1:]:
        found = getattr(found, part)
    return found


def _compile(call: Callable[..., object], *given: Any, **settings: Any) -> None:
    """Have XLA compile a call; tensors of numbers are arguments, so that nothing is computed before."""
    flat = tf.nest.flatten(given, expand_composites=True)
    tensors = [part for part in flat if tf.is_tensor(part) and part.dtype != tf.string]

    def compiled(*inputs: Any) -> object:
        left = iter(inputs)
        parts = [_inside(part, left) for part in flat]
        made = call(*tf.nest.pack_sequence_as(given, parts, expand_composites=True), **settings)
        return _whole() if made is None or isinstance(made, tf.Operation) else tf.nest.flatten(made, True)

    tf.function(compiled, jit_compile=True)(*tensors)


def _inside(part: Any, left: Iterator[Any]) -> Any:
    if not tf.is_tensor(part):
        return part
    return tf.io.serialize_tensor(_whole()) if part.dtype == tf.string else next(left)


def _try(name: str) -> None:
    if name in PYTHON_FUNCTIONS:
        _compile(_called(name), abs, [_whole()], tf.int32)
        return
    head = next((given for start, given in _HEADS.items() if name.startswith(start)), _OF_BYTES)
    arguments, settings = _CALLS.get(name, head)
    _compile(_called(name), *arguments(), **settings)


def _has(name: str) -> bool:
    try:
        return _called(name) is not None
    except AttributeError:
        return False


@pytest.mark.slow
@pytest.mark.parametrize("name", sorted(EFFECTS_WITHOUT_KERNEL | WITHOUT_KERNEL))
def test_what_has_no_kernel_raises(name: str) -> None:
    if not _has(name):
        pytest.skip("not in this version")
    with pytest.raises(tf.errors.InvalidArgumentError, match=r"unsupported operations|No registered"):
        _try(name)


@pytest.mark.slow
@pytest.mark.parametrize(("name", "number"), [(name, n) for name in CHOICES for n in range(len(CHOICES[name]))])
def test_some_arguments_have_none(name: str, number: int) -> None:
    choice = CHOICES[name][number]
    for value in choice.refused:
        with pytest.raises(tf.errors.InvalidArgumentError, match=r"unsupported operations|No registered"):
            _compile(_called(name), _images(), (4, 4), **{choice.keyword: value})


def test_texts_have_none() -> None:
    """All that takes or gives texts: no kernel of XLA is registered for any of their operations."""
    from tensorflow.python.framework import kernels

    @tf.function
    def texts(numbers: Any) -> object:
        words = tf.strings.as_string(numbers)
        tf.strings.regex_full_match(words, "1")
        return tf.strings.length(words), tf.strings.to_number(words), tf.strings.to_hash_bucket_fast(words, 9)

    graph = texts.get_concrete_function(_whole()).graph
    own = {operation.type for operation in graph.get_operations()} - {"Const", "Placeholder", "Identity", "NoOp"}
    assert len(own) >= 5
    assert not any("XLA" in k.device_type for name in own for k in kernels.get_registered_kernels_for_op(name).kernel)


@pytest.mark.slow
def test_tables_have_none() -> None:
    assert "tf.lookup.StaticHashTable" in TABLES
    table = tf.lookup.StaticHashTable(tf.lookup.KeyValueTensorInitializer([1, 2], [3, 4]), 0)
    with pytest.raises(tf.errors.InvalidArgumentError, match=r"unsupported operations|No registered"):
        tf.function(table.lookup, jit_compile=True)(_whole())


@pytest.mark.parametrize("call", COMPILED.values(), ids=COMPILED)
def test_neighbours_are_compiled(call: Callable[[], object]) -> None:
    """Protects precision: what looks like one of them has a kernel."""
    _compile(call)


@pytest.mark.parametrize("name", sorted(name for name in WITHOUT_JIT if ".experimental." not in name))
def test_layers_that_keep_xla_off(name: str) -> None:
    """Layers that Keras 3 itself says this of; LSTM and GRU do where a GPU has cuDNN."""
    if int(keras.__version__.partition(".")[0]) < 3 or not _has(name):
        pytest.skip("Keras 3 only")
    layer = next(made for made in _tries(_called(name)) if made is not None)
    assert not layer.supports_jit or name.endswith(("LSTM", "GRU"))


def _tries(layer: type[Any]) -> Any:
    for given in ((), (3,), (3, 3), (0.2,), (0.2, 0.2)):
        try:
            yield layer(*given)
        except (TypeError, ValueError):
            yield None
