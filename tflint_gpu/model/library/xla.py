"""Which operations XLA has no kernel for, and which layers of Keras keep it away.

`tests/model/test_xla.py` compiles each with the installed TensorFlow: what is listed raises, and its neighbours do not.
"""

from __future__ import annotations

from tflint_gpu.lazy_dataclasses import dataclass
from tflint_gpu.model.library.higher_order import PYTHON_FUNCTIONS
from tflint_gpu.model.library.spellings import spelled


@dataclass(frozen=True, slots=True)
class Choice:
    """An operation that XLA compiles for some of its arguments: the parameter, and with which values not."""

    keyword: str
    position: int
    refused: frozenset[object]


TEXTS = "tf.strings."
"""How the names of operations on texts begin: XLA has no text at all."""
EFFECTS_WITHOUT_KERNEL = PYTHON_FUNCTIONS | spelled(
    """
    tf.{print,timestamp} tf.compat.v1.Print tf.io.{read_file,write_file,matching_files}
    tf.random.{gamma,poisson,stateless_gamma,stateless_poisson,stateless_binomial}
    tf.random.experimental.stateless_shuffle keras.random.{gamma,beta,binomial}
    """
)
"""What XLA has no kernel for, whatever it is given: constants, too."""
WITHOUT_KERNEL = spelled(
    """
    tf.linalg.{eig,eigvals,det,slogdet,lu,sqrtm,logm} keras.ops.{eig,det,slogdet} tf.histogram_fixed_width
    tf.math.segment_{sum,mean,max,min,prod} tf.sparse.segment_{sum,mean,sqrt_n}
    tf.image.{crop_and_resize,combined_non_max_suppression,non_max_suppression_with_scores,draw_bounding_boxes}
    tf.image.{non_max_suppression_overlaps,extract_glimpse,adjust_jpeg_quality,random_jpeg_quality}
    tf.image.{,stateless_}sample_distorted_bounding_box keras.ops.image.{affine_transform,perspective_transform}
    tf.sparse.{sparse_dense_matmul,reorder,reduce_sum,concat,softmax,add,reshape,transpose,slice,to_indicator,maximum}
    tf.sparse.fill_empty_rows tf.nn.{dilation2d,erosion2d,max_pool_with_argmax,fractional_max_pool,fractional_avg_pool}
    tf.nn.{ctc_greedy_decoder,ctc_beam_search_decoder,sampled_softmax_loss,nce_loss} keras.ops.ctc_decode
    tf.nn.{,safe_}embedding_lookup_sparse tf.random.{uniform,log_uniform,learned_unigram}_candidate_sampler
    tf.compat.v1.nn.ctc_loss tf.sets.{difference,intersection,union,size} tf.edit_distance tf.unique_with_counts
    tf.math.{bessel_i0,bessel_i1,reduce_euclidean_norm} tf.math.special.{bessel_j0,bessel_j1,bessel_k0,bessel_y0}
    tf.math.special.{dawsn,expint,fresnel_sin,spence} tf.signal.fftnd tf.ragged.range
    tf.io.{decode_image,decode_jpeg,decode_png,decode_gif,decode_raw,decode_base64,encode_base64,encode_jpeg,encode_png}
    tf.io.{parse_tensor,serialize_tensor,decode_compressed} tf.audio.{decode_wav,encode_wav}
    """
)
"""The same of tensors; what is made of constants is computed before."""
_INTERPOLATED = frozenset(["bicubic", "area", "lanczos3", "lanczos5", "gaussian", "mitchellcubic"])
CHOICES: dict[str, tuple[Choice, ...]] = {
    "tf.image.resize": (Choice("method", 2, _INTERPOLATED), Choice("antialias", 4, frozenset([True]))),
    "keras.ops.image.resize": (
        Choice("interpolation", 2, frozenset(["bicubic", "lanczos3", "lanczos5"])),
        Choice("antialias", 3, frozenset([True])),
    ),
}
_OTHER_WORDS = {b"py_func", b"numpy_function", b"strings", b".lookup("}
TABLES = spelled("tf.lookup.{StaticHashTable,StaticVocabularyTable,experimental.DenseHashTable}")
"""Their `lookup` has no kernel either."""
WITHOUT_JIT = spelled(
    """
    keras.layers.{,experimental.preprocessing.}{Hashing,HashedCrossing,IntegerLookup,StringLookup,TextVectorization}
    keras.layers.{,experimental.preprocessing.}{RandomCrop,RandomRotation,RandomTranslation,RandomZoom}
    keras.layers.{RandomPerspective,RandomShear,LSTM,GRU}
    """
)
"""Layers of Keras 3 with which a model is not compiled by itself: LSTM and GRU where they use cuDNN."""
DETERMINISM = spelled("tf.config.experimental.enable_op_determinism keras.config.enable_op_determinism")
"""After it Keras 3 compiles nothing by itself."""


def _word(name: str) -> bytes:
    """What is in the text of a file that has an operation: "linalg." of `tf.linalg.det`, ".print(" of `tf.print`."""
    _, *modules, last = name.split(".")
    return f"{modules[-1]}.".encode() if modules else f".{last}(".encode()


XLA_SUBSTRINGS = tuple(
    sorted({_word(name) for name in (*EFFECTS_WITHOUT_KERNEL, *WITHOUT_KERNEL, *CHOICES)} | _OTHER_WORDS)
)
"""One of them is in each file with something that XLA has no kernel for."""
