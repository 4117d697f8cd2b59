"""Which NumPy functions raise on a symbolic tensor, and which TensorFlow and Keras functions replace them.

Measured, not believed, with TensorFlow 2.21.0 / Keras 3.15.1 / NumPy 2.4.6 / Python 3.11 and TensorFlow 2.15.1 /
Keras 2.15.0 / NumPy 1.26.4 / Python 3.10 on two x86-64 cores, by `tests/benchmarks/numpy_on_tensors.py` (what
raises) and `tests/model/test_counterparts.py` (what replaces it, measured again at every run of the tests).
"The same" values always means: up to float32 rounding, because NumPy's and TensorFlow's kernels round differently.
The largest difference seen was 4 ulp in float32 (tan 2, tanh 3; arcsin, arccos, log and arctan2 4) and 2 ulp in
float64. Subnormal numbers are left out: TensorFlow's CPU kernels flush them to zero. In a graph, TensorFlow's own
optimizer may replace `x * 0` by zeros and `x + 0` by x, which differs from NumPy for nan and for the sign of zero.

These take a tensor and do not raise: `np.shape` (a TensorShape), `np.ndim`, `np.iterable` and `np.isscalar` (both
False), `np.flip` (slices the tensor), `np.str_`, `np.size(x, axis)` with an axis, `np.rollaxis(x, 0)`, the
`*_indices_from` functions where the shape is static, and `np.array_equal` and `np.array_equiv`, which swallow the
exception and return False.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from tflint_gpu.lazy_dataclasses import dataclass

# These raise in every traced call that was tried (tf.function with and without AutoGraph, static and unknown batch
# size, `Layer.call` through the functional API), in both versions; nearly all with `NotImplementedError: Cannot
# convert a symbolic tf.Tensor (...) to a numpy array`; where the tensor is a size (`np.zeros((n, 3))`) with
# TypeError or OperatorNotAllowedInGraphError.
_FUNCTIONS = """
    allclose angle append apply_along_axis argpartition argwhere array_split asarray_chkfinite ascontiguousarray
    asfortranarray asmatrix atleast_1d atleast_2d atleast_3d average bartlett base_repr bincount bitwise_and
    bitwise_not bitwise_or bitwise_xor blackman block broadcast broadcast_arrays broadcast_shapes cbrt choose
    column_stack conj conjugate convolve copy copysign corrcoef correlate cov deg2rad degrees delete diag
    diag_indices diagflat diagonal diff digitize divmod dstack ediff1d einsum_path empty empty_like exp2 extract fix
    flatnonzero fliplr flipud float_power fmax fmin fmod format_float_positional format_float_scientific frexp
    full_like gcd geomspace gradient hamming hanning heaviside histogram histogram2d histogram_bin_edges hsplit
    hstack hypot i0 identity imag indices inner insert interp intersect1d invert isclose iscomplex iscomplexobj isin
    isneginf isposinf isreal isrealobj ix_ kaiser kron lcm ldexp left_shift lexsort log10 log2 logaddexp logaddexp2
    logspace matrix may_share_memory median min_scalar_type modf moveaxis nan_to_num nanargmax nanargmin nancumprod
    nancumsum nanmax nanmean nanmedian nanmin nanpercentile nanprod nanquantile nanstd nansum nanvar ndenumerate
    ndindex nditer nextafter nonzero outer packbits pad partition percentile poly poly1d polyadd polyder polydiv
    polyfit polyint polymul polysub polyval positive ptp put quantile rad2deg radians ravel ravel_multi_index real
    real_if_close require right_shift roots rot90 row_stack select setdiff1d setxor1d shares_memory signbit sinc
    sort_complex spacing split swapaxes take tile tri tril tril_indices trim_zeros triu triu_indices trunc union1d
    unique unravel_index unwrap vander vdot vsplit vstack
"""
_LINALG_FFT = """
    fft.fft fft.fft2 fft.fftn fft.fftshift fft.hfft fft.ifft fft.ifft2 fft.ifftn fft.ifftshift fft.ihfft fft.irfft
    fft.irfft2 fft.irfftn fft.rfft fft.rfft2 fft.rfftn linalg.cond linalg.eig linalg.eigh linalg.eigvals
    linalg.eigvalsh linalg.lstsq linalg.matrix_power linalg.matrix_rank linalg.multi_dot linalg.pinv linalg.qr
    linalg.slogdet linalg.svd
"""
_TYPES = """
    bool_ byte bytes_ cdouble complex128 complex64 csingle double float16 float32 float64 half int16 int32 int64
    int8 int_ intc intp longdouble longlong object_ short single ubyte uint uint16 uint32 uint64 uint8 uintc uintp
    ulonglong ushort void
"""
_REDUCTIONS = """
    add.reduce logical_and.reduce logical_or.reduce maximum.reduce minimum.reduce multiply.reduce
"""
# In NumPy 2 only, or in NumPy 1 only: they raise in the one version that has them.
_NUMPY_2 = """
    bitwise_count bitwise_invert bitwise_left_shift bitwise_right_shift bool cumulative_prod cumulative_sum
    linalg.cross linalg.diagonal linalg.matmul linalg.matrix_norm linalg.matrix_transpose linalg.outer
    linalg.svdvals linalg.tensordot linalg.trace linalg.vecdot linalg.vector_norm long matrix_transpose matvec
    trapezoid ulong unique_all unique_counts unique_inverse unique_values unstack vecdot vecmat
"""
_NUMPY_1 = """
    alltrue asfarray cfloat complex_ cumproduct float_ in1d longfloat mat msort product round_ singlecomplex
    sometrue string_ trapz
"""

RAISES_EAGERLY: frozenset[str] = frozenset(
    f"numpy.{name}"
    for name in (
        "take_along_axis put_along_axis fill_diagonal compress piecewise place histogramdd common_type isfortran "
        "result_type astype array2string array_repr array_str fft.fftfreq fft.rfftfreq copyto putmask resize"
    ).split()
)
"""These raise on an eager tensor too (the last three for some arguments)."""


@dataclass(frozen=True, slots=True)
class Keyword:
    """One argument's name in the three libraries; None where the library has no such argument."""

    numpy: str
    tensorflow: str | None
    keras_ops: str | None


@dataclass(frozen=True, slots=True)
class Counterpart:
    """What replaces a NumPy function on tensors.

    safe: for a call with only its positional arrays, each a float tensor or (from the second on) a Python number,
        the counterpart gives the eager NumPy result: same dtype, same shape, same values up to float32 rounding,
        the same nan, infinity and signed zero, and its gradient is the function's derivative. Where an argument is
        a float64 array, NumPy gives float64 and TensorFlow float32: not safe.
    keywords: the arguments that may be given by name, those that have a position first and in its order.
    positional: how many positional arguments map one to one, in order.
    required: NumPy names of arguments without which the defaults differ (`np.argmax(x)` flattens,
        `tf.argmax(x)` does not), by position or by name; a literal None is as good as none.
    float_only: on integer tensors the counterpart raises or has another dtype than NumPy's eager result.
    tensor_first: the `tf.` function needs a tensor as its first argument: `tf.maximum(0, x)` raises TypeError
        while tracing, `tf.maximum(0.5, x)` where x is not float32. `keras.ops` takes either.
    """

    numpy: str
    tensorflow: str
    keras_ops: str | None
    safe: bool
    keywords: tuple[Keyword, ...] = ()
    positional: int = 1
    required: tuple[str, ...] = ()
    float_only: bool = False
    tensor_first: bool = False

    def renamed(self, positional: int, names: Iterable[str], *, keras_ops: bool = False) -> dict[str, str] | None:
        """The new names of a call's keyword arguments, or None where the call cannot be translated.

        `positional` counts the positional arguments, `names` are those given by name. Which arguments are a literal
        None or, with `tensor_first`, a Python number, is for the caller to see.
        """
        new = {k.numpy: k.keras_ops if keras_ops else k.tensorflow for k in self.keywords}
        if positional > self.positional or (keras_ops and self.keras_ops is None):
            return None
        given = {*names, *(keyword.numpy for keyword in self.keywords[:positional])}
        if not given.issuperset(self.required):
            return None
        keywords = {name: new.get(name) for name in names}
        return None if None in keywords.values() else {name: str(other) for name, other in keywords.items()}


# NumPy's, TensorFlow's and keras.ops' names, one name where they are the same.
# The same values up to float32 rounding (4 ulp at most); on integers they differ.
_UNARY_FLOAT = """
    sin cos tan sinh cosh tanh exp sqrt floor expm1:math.expm1:expm1 log:math.log:log log1p:math.log1p:log1p
    arcsin:asin:arcsin arccos:acos:arccos arctan:atan:arctan asin:asin:arcsin acos:acos:arccos atan:atan:arctan
    arcsinh:asinh:arcsinh arccosh:acosh:arccosh arctanh:atanh:arctanh
    asinh:asinh:arcsinh acosh:acosh:arccosh atanh:atanh:arctanh
    reciprocal:math.reciprocal:reciprocal fabs:abs:abs ceil:math.ceil:ceil rint:round:round
    isnan:math.is_nan:isnan isinf:math.is_inf:isinf isfinite:math.is_finite:isfinite
"""
# Exactly the same values, for int32 too.
_UNARY = "abs absolute:abs:abs negative square sign round around:round:round zeros_like ones_like"
_BINARY = "add subtract multiply maximum minimum greater greater_equal less less_equal equal not_equal"
# The same up to float32 rounding (arctan2: 4 ulp); on integers they differ.
_BINARY_FLOAT = "divide true_divide:divide:true_divide arctan2:atan2:arctan2 atan2:atan2:arctan2"
# numpy, tf, keras.ops ("-": none), and the arguments in NumPy's order: the positional ones, then, after `*`, those
# that are only mapped by name. `a:input:x` gives the three names, `axis` is the same in all, `_` has no name, `!`
# marks a required one.
_UNSAFE = """
    sum             reduce_sum              sum             a:input_tensor:x axis * keepdims
    mean            reduce_mean             mean            a:input_tensor:x axis * keepdims
    max             reduce_max              max             a:input_tensor:x axis * keepdims
    min             reduce_min              min             a:input_tensor:x axis * keepdims
    amax            reduce_max              max             a:input_tensor:x axis * keepdims
    amin            reduce_min              min             a:input_tensor:x axis * keepdims
    prod            reduce_prod             prod            a:input_tensor:x axis * keepdims
    std             math.reduce_std         std             a:input_tensor:x axis * keepdims
    var             math.reduce_variance    var             a:input_tensor:x axis * keepdims
    all             reduce_all              all             a:input_tensor:x axis * keepdims
    any             reduce_any              any             a:input_tensor:x axis * keepdims
    count_nonzero   math.count_nonzero      count_nonzero   a:input:x axis * keepdims:keepdims:-
    argmax          argmax                  argmax          a:input:x axis!
    argmin          argmin                  argmin          a:input:x axis!
    cumsum          cumsum                  cumsum          a:x:x axis!
    cumprod         math.cumprod            cumprod         a:x:x axis!
    sort            sort                    sort            a:values:x axis
    argsort         argsort                 argsort         a:values:x axis
    concatenate     concat                  concatenate     arrays:values:xs axis!
    concat          concat                  concatenate     arrays:values:xs axis!
    stack           stack                   stack           arrays:values:x axis
    reshape         reshape                 reshape         a:tensor:x shape:shape:newshape * newshape:shape:newshape
    transpose       transpose               transpose       a:a:x axes:perm:axes
    permute_dims    transpose               transpose       a:a:x axes:perm:axes
    expand_dims     expand_dims             expand_dims     a:input:x axis
    squeeze         squeeze                 squeeze         a:input:x axis
    roll            roll                    roll            a:input:x shift axis!
    repeat          repeat                  repeat          a:input:x repeats axis
    broadcast_to    broadcast_to            broadcast_to    array:input:x shape
    meshgrid        meshgrid                meshgrid        _ _ _ _ * indexing
    clip            clip_by_value           clip a:t:x a_min:clip_value_min:x_min! a_max:clip_value_max:x_max!
    where           where                   where           condition x:x:x1! y:y:x2!
    searchsorted    searchsorted            searchsorted    a:sorted_sequence:sorted_sequence v:values:values side
    matmul          matmul                  matmul          _ _
    dot             matmul                  dot             _ _
    tensordot       tensordot               tensordot       a:a:x1 b:b:x2 axes!
    einsum          einsum                  einsum          _ _ _ _
    cross           linalg.cross            cross           _ _
    trace           linalg.trace            trace           _
    linalg.norm     norm                    norm            x:tensor:x * axis keepdims
    linalg.inv      linalg.inv              inv             _
    linalg.det      linalg.det              det             _
    linalg.cholesky linalg.cholesky         cholesky        _
    linalg.solve    linalg.solve            solve           _ _
    logical_not     logical_not             logical_not     _
    logical_and     logical_and             logical_and     _ _
    logical_or      logical_or              logical_or      _ _
    logical_xor     math.logical_xor        logical_xor     _ _
    array           convert_to_tensor       convert_to_tensor _
    asarray         convert_to_tensor       convert_to_tensor _
    asanyarray      convert_to_tensor       convert_to_tensor _
    zeros           zeros                   zeros           shape
    ones            ones                    ones            shape
    full            fill                    full            shape:dims:shape fill_value:value:fill_value
    arange          range                   arange          _ _ _
    linspace        linspace                -               start stop num!
    eye             eye                     eye             _ _
"""
# The same, where the first must be a tensor. power: in a graph `x ** 0.5` becomes sqrt, which differs for -inf;
# mod: the sign of a zero result; floor_divide: infinities and division by zero.
_UNSAFE_TENSOR_FIRST = """
    power           pow                     power           _ _
    pow             pow                     power           _ _
    mod             math.floormod           mod             _ _
    remainder       math.floormod           mod             _ _
    floor_divide    math.floordiv           floor_divide    _ _
"""


def _safe(table: str, positional: int, *, float_only: bool = False) -> Iterator[Counterpart]:
    for word in table.split():
        name, tf_name, ops_name = word.split(":") if ":" in word else (word, word, word)
        yield Counterpart(
            f"numpy.{name}",
            f"tf.{tf_name}",
            f"keras.ops.{ops_name}",
            safe=True,
            positional=positional,
            float_only=float_only,
            tensor_first=positional == 2 and tf_name != "divide",
        )


def _unsafe(table: str, *, tensor_first: bool = False) -> Iterator[Counterpart]:
    for line in table.strip().splitlines():
        name, tf_name, ops_name, *words = line.split()
        positional_count = words.index("*") if "*" in words else len(words)
        arguments = [_keyword(word) for word in words if word not in ("*", "_")]
        yield Counterpart(
            f"numpy.{name}",
            f"tf.{tf_name}",
            None if ops_name == "-" else f"keras.ops.{ops_name}",
            safe=False,
            keywords=tuple(keyword for keyword, _ in arguments),
            positional=positional_count,
            required=tuple(keyword.numpy for keyword, required in arguments if required),
            tensor_first=tensor_first,
        )


def _keyword(word: str) -> tuple[Keyword, bool]:
    numpy, *others = word.rstrip("!").split(":")
    tensorflow, keras_ops = (None if name == "-" else name for name in others or (numpy, numpy))
    assert tensorflow is not None or keras_ops is not None
    return Keyword(numpy, tensorflow, keras_ops), word.endswith("!")


COUNTERPARTS: Mapping[str, Counterpart] = {
    counterpart.numpy: counterpart
    for group in (
        _safe(_UNARY_FLOAT, 1, float_only=True),
        _safe(_UNARY, 1),
        _safe(_BINARY, 2),
        _safe(_BINARY_FLOAT, 2, float_only=True),
        _unsafe(_UNSAFE),
        _unsafe(_UNSAFE_TENSOR_FIRST, tensor_first=True),
    )
    for counterpart in group
}


RAISES: frozenset[str] = RAISES_EAGERLY.union(
    COUNTERPARTS,
    (
        f"numpy.{name}"
        for names in (_FUNCTIONS, _LINALG_FFT, _TYPES, _REDUCTIONS, _NUMPY_2, _NUMPY_1)
        for name in names.split()
    ),
)
"""What raises in traced code: the functions above, those that raise eagerly, too, and those with a counterpart."""


def alternatives(name: str) -> str:
    """What to use on tensors instead of a NumPy function."""
    known = COUNTERPARTS.get(name)
    if known is None:
        return "use the function of the same kind in TensorFlow or keras.ops, which works on tensors"
    others = " or ".join(f"`{n}`" for n in (known.tensorflow, known.keras_ops) if n)
    return f"use {others}"
