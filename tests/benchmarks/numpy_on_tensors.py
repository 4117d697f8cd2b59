"""What NumPy's functions do with a TensorFlow tensor: raise, or return what, eagerly and traced.

    python tests/benchmarks/numpy_on_tensors.py [--raising] [NAME ...]

prints one line a call, for the installed versions. `--raising` prints the names of which every call raises in
every traced mode: `tflint_gpu.model.library.counterparts.RAISES` is made of them. `NAME` (a part of a name) restricts
the table. Each call is first made with NumPy arrays, where it must work: what a tensor then raises is the
tensor's doing. The modes:

- eager: an EagerTensor;
- traced: a symbolic tensor of shape (None, 4) in a tf.function without AutoGraph;
- static: the same with shape (5, 4): a call that fails only because a size is unknown is none that raises;
- layer: in `Layer.call`, built through the functional API;
- AutoGraph: as traced, the call written in a file, which AutoGraph converts.
"""

from __future__ import annotations

import argparse
import functools
import importlib.metadata
import importlib.util
import os
import platform
import sys
import tempfile
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
warnings.simplefilter("ignore")

import numpy as np  # noqa: E402
import tensorflow as tf  # noqa: E402

# A call of F, and the functions below `numpy.` that are called so. x: (5, 4) float32 between 0.1 and 0.9; i
# and b: int32 and bool of its shape; v: x's first row; q: its first four rows; z: a scalar of it; n, s: its row
# count and its shape, as tensors; c: a constant array of its shape.
_TABLE = {
    "F(x)": """
        abs absolute acos acosh all alltrue amax amin angle any arccos arccosh arcsin arcsinh arctan arctanh
        argmax argmin argsort argwhere around array array2string array_repr array_str asanyarray asarray
        asarray_chkfinite ascontiguousarray asfarray asfortranarray asin asinh asmatrix atan atanh
        atleast_1d atleast_2d atleast_3d average block broadcast_arrays cbrt ceil common_type conj conjugate
        copy corrcoef cos cosh count_nonzero cov cumprod cumproduct cumsum deg2rad degrees diag diagflat
        diagonal diff ediff1d empty_like exp exp2 expm1 fabs fix flatnonzero flip fliplr flipud floor frexp
        gradient histogram histogram_bin_edges histogramdd i0 imag iscomplex iscomplexobj isfinite isfortran
        isinf isnan isneginf isposinf isreal isrealobj isscalar iterable log log10 log1p log2 mat matrix
        matrix_transpose max mean median meshgrid min min_scalar_type modf msort nan_to_num nanargmax
        nanargmin nancumprod nancumsum nanmax nanmean nanmedian nanmin nanprod nanstd nansum nanvar
        ndenumerate ndim negative nonzero ones_like permute_dims positive prod product ptp rad2deg radians
        ravel real real_if_close reciprocal require result_type rint rot90 round round_ shape sign signbit
        sin sinc sinh size sometrue sort sort_complex spacing sqrt square squeeze std sum tan tanh trace
        transpose trapezoid trapz tril triu trunc unique unique_all unique_counts unique_inverse
        unique_values unstack unwrap var where zeros_like tril_indices_from str_ bool bool_ byte bytes_
        double half short single float16 float32 float64 int8 int16 int32 int64 int_ intc intp longdouble
        longlong object_ ubyte uint uint8 uint16 uint32 uint64 uintc uintp ulonglong ushort cdouble
        complex64 complex128 csingle float_ complex_ cfloat singlecomplex longfloat string_ unicode_ long
        ulong broadcast nditer void linalg.cond linalg.diagonal linalg.matrix_norm linalg.matrix_rank
        linalg.matrix_transpose linalg.norm linalg.pinv linalg.qr linalg.svd linalg.svdvals linalg.trace
        linalg.vector_norm fft.fft fft.fft2 fft.fftn fft.fftshift fft.hfft fft.ifft fft.ifft2 fft.ifftn
        fft.ifftshift fft.ihfft fft.irfft fft.irfft2 fft.irfftn fft.rfft fft.rfft2 fft.rfftn add.reduce
        multiply.reduce maximum.reduce minimum.reduce logical_and.reduce logical_or.reduce""",
    "F(v)": """
        cumulative_prod cumulative_sum ix_ poly poly1d polyder polyint roots trim_zeros vander array asarray
        flip argmax mean sum max min""",
    "F(z)": "sin exp sqrt float32 float64 int32 array asarray abs round",
    "F(q)": """
        linalg.det linalg.eig linalg.eigh linalg.eigvals linalg.eigvalsh linalg.inv linalg.slogdet
        diag_indices_from tril_indices_from triu_indices_from linalg.norm""",
    "F(tf.matmul(q, q, transpose_b=True))": "linalg.cholesky",
    "F(i)": "bitwise_count bitwise_invert bitwise_not invert packbits",
    "F(i[0])": "bincount broadcast_shapes",
    "F(x > 0.5)": "any all where nonzero argwhere flatnonzero count_nonzero logical_not sum mean",
    "F(x, x)": """
        add allclose append arctan2 array_equal array_equiv atan2 copysign copyto divide divmod equal
        extract float_power floor_divide fmax fmin fmod full_like greater greater_equal heaviside hypot in1d
        inner intersect1d isclose isin kron less less_equal linspace logspace geomspace logaddexp logaddexp2
        logical_and logical_or logical_xor maximum may_share_memory minimum mod multiply nanpercentile
        nanquantile nextafter not_equal outer percentile polyadd polysub polyval pow power quantile
        remainder setdiff1d setxor1d shares_memory subtract tensordot true_divide union1d vdot vecdot matvec
        linalg.lstsq linalg.tensordot linalg.vecdot""",
    "F(x, c)": """
        add subtract multiply divide true_divide power mod remainder floor_divide maximum minimum fmax fmin
        arctan2 greater greater_equal less less_equal equal not_equal logical_and logical_or hypot isclose
        allclose copysign array_equal""",
    "F(c, x)": """
        add subtract multiply divide true_divide power mod remainder floor_divide maximum minimum fmax fmin
        arctan2 greater greater_equal less less_equal equal not_equal logical_and logical_or hypot isclose
        allclose copysign copyto""",
    "F(x, 2)": """
        add subtract multiply divide true_divide power mod remainder floor_divide maximum minimum fmax fmin
        greater greater_equal less less_equal equal not_equal argpartition delete dot hsplit ldexp partition
        repeat resize roll tile full_like take linalg.norm""",
    "F(0.5, x)": """
        add subtract multiply divide true_divide power mod remainder floor_divide maximum minimum greater
        greater_equal less less_equal equal not_equal dot""",
    "F(np.float64(2), x)": "add subtract multiply divide power maximum minimum",
    "F(x, 0)": """
        rollaxis sort argsort take cumsum cumprod argmax argmin sum mean max min prod std var expand_dims""",
    "F(x, 1)": """
        sort argsort cumsum cumprod argmax argmin sum mean max min prod std var expand_dims roll size tril
        triu flip pad array_split split""",
    "F(x, axis=1)": """
        all amax amin any argmax argmin argsort average count_nonzero cumprod cumsum diff linalg.norm max
        mean median min nanmax nanmean nanmin nanstd nansum nanvar prod ptp sort std sum var flip
        expand_dims""",
    "F(x, axis=-1, keepdims=True)": "all amax amin any max mean min prod std sum var linalg.norm argmax",
    "F(x, 2, axis=1)": "split array_split repeat delete",
    "F(x, 2, 1)": "repeat take roll",
    "F(x, (2, 2))": "vsplit resize",
    "F(v, (2, 2))": "digitize reshape",
    "F(x, (-1,))": "reshape",
    "F(x, (2, 10))": "reshape",
    "F(x, 1, 0)": "insert moveaxis swapaxes rollaxis",
    "F(x, 0., 1.)": "clip",
    "F(x, 0.2, None)": "clip",
    "F(x, (1, 0))": "transpose permute_dims",
    "F(x[:, :, None], 2)": "squeeze take",
    "F(c, 0, z)": "clip insert",
    "F([x, x])": """
        array asarray concat concatenate stack vstack hstack dstack column_stack row_stack block sum mean
        max min prod atleast_1d broadcast add.reduce maximum.reduce""",
    "F([x, c])": "array asarray concat concatenate stack vstack hstack dstack column_stack",
    "F([c, x])": "array asarray concat concatenate stack vstack hstack dstack column_stack row_stack",
    "F((x, x), axis=1)": "concatenate concat stack",
    "F([n, 3])": "array asarray prod sum",
    "F((v, v))": "lexsort",
    "F(x, x, x)": "place putmask",
    "F(b, x)": "extract",
    "F(b, x, x)": "where",
    "F(b, x, 0.)": "where",
    "F(b, c, x)": "where",
    "F(b, c, 1.)": "where",
    "F(x > 0.5, c, 0.)": "where",
    "F([b], [x])": "select",
    "F(x, [x > 0.5], [0., 1.])": "piecewise",
    "F(i, i)": """
        bitwise_and bitwise_or bitwise_xor gcd lcm left_shift right_shift bitwise_left_shift
        bitwise_right_shift choose""",
    "F(i, [x, x, x])": "choose",
    "F(x, i, 1)": "take_along_axis",
    "F(c, i)": "take",
    "F(c, i, x)": "put",
    "F(c, i, x, 1)": "put_along_axis",
    "F(x, i, x, 1)": "put_along_axis",
    "F(x, [0, 1])": "take",
    "F(v, v)": """
        compress convolve correlate matmul polydiv polymul searchsorted dot histogram2d linalg.matmul
        linalg.outer outer inner vdot""",
    "F(v[:3], v[:3])": "cross linalg.cross",
    "F(q, q)": "matmul dot linalg.solve linalg.matmul vecmat inner",
    "F([q, q, q])": "linalg.multi_dot",
    "F(q, 2)": "linalg.matrix_power",
    "F(x, np.ones((4, 2), np.float32))": "matmul dot",
    "F(np.ones((3, 5), np.float32), x)": "matmul dot",
    "F(v, v, v)": "interp",
    "F(v, [0., 1.], [2., 3.])": "interp",
    "F(v, v, 1)": "polyfit",
    "F(len, 0, x)": "apply_along_axis",
    "F('ij,kj->ik', x, x)": "einsum einsum_path",
    "F('ij->i', x)": "einsum",
    "F(x, np.float64)": "astype asarray array",
    "F(x, dtype=np.float32)": "array asarray sum mean zeros_like ones_like",
    "F(x, 'f')": "require",
    "F(n)": """
        arange base_repr format_float_positional format_float_scientific bartlett blackman hamming hanning
        diag_indices eye identity tri tril_indices triu_indices ndindex fft.fftfreq fft.rfftfreq zeros ones
        empty float32 int32 array asarray sqrt log square""",
    "F(0, n)": "arange",
    "F(0, n, 2)": "arange",
    "F(0., 1., n)": "linspace logspace",
    "F(n, 3.)": "full kaiser",
    "F(s)": "prod zeros ones empty array asarray sum max indices",
    "F(s[1:])": "prod zeros",
    "F((n, 3))": "zeros ones empty prod indices array asarray",
    "F((n, 3), 1.)": "full",
    "F(s, 1.)": "full",
    "F((2, 4), x[:2])": "full",
    "F((2, 2), z)": "full",
    "F(c, (n, -1))": "reshape",
    "F(c, (n, 1))": "tile resize",
    "F(c, n)": "repeat tile",
    "F(c, n, axis=0)": "repeat",
    "F(c, s)": "broadcast_to reshape",
    "F(x, s)": "broadcast_to reshape",
    "F(v, (3, 4))": "broadcast_to",
    "F(3, s)": "unravel_index",
    "F(n - 1, (5, 4))": "unravel_index",
    "F((n - 1, 1), (5, 4))": "ravel_multi_index",
    "F(x, ((0, 0), (1, 1)))": "pad",
    "F(c, ((0, n), (0, 0)))": "pad",
    "F(x, 0.)": "fill_diagonal",
    "F(x, x > 0.5, 0.)": "putmask place",
    "F(c, x > 0.5, 0.)": "putmask",
    "F([3], n)": "append",
    "F([1, 2], x)": "polyval",
}


def functions() -> dict[str, Callable[..., Any]]:
    """NumPy's functions that the table calls, by canonical name, as far as this NumPy has them."""
    found: dict[str, Callable[..., Any]] = {}
    for words in _TABLE.values():
        for word in words.split():
            value: Any = np
            for part in word.split("."):
                value = getattr(value, part, None)
            if callable(value):
                found[f"numpy.{word}"] = value
    return found


def environment(x: Any) -> dict[str, Any]:
    """The names that the calls use, made of an array or a tensor of shape (5, 4)."""
    array = isinstance(x, np.ndarray)
    constant = np.linspace(0.2, 0.8, 20, dtype=np.float32).reshape(5, 4)
    return {
        "np": np,
        "tf": tf,
        "x": x.copy() if array else x,
        "i": (x * 3).astype(np.int32) if array else tf.cast(x * 3, tf.int32),
        "b": x > 0.5,
        "v": x[0],
        "z": x[0, 0],
        "q": x[:4],
        "n": 5 if array else tf.shape(x)[0],
        "s": (5, 4) if array else tf.shape(x),
        "c": constant,
    }


def calls() -> list[tuple[str, str]]:
    """(canonical name, call of F) for each call that works with NumPy arrays here."""
    known = functions()
    sample = np.random.default_rng(0).uniform(0.1, 0.9, (5, 4)).astype(np.float32)
    found = []
    for expression, words in _TABLE.items():
        for word in words.split():
            function = known.get(f"numpy.{word}")
            if function is None:
                continue
            try:
                eval(expression, environment(sample) | {"F": function})
            except Exception:
                continue
            found.append((f"numpy.{word}", expression))
    return found


def outcome(name: str, expression: str, x: Any) -> str:
    """What the call does with this tensor: "!" and the exception's class, or the result's class."""
    try:
        result = eval(expression, environment(x) | {"F": functions_here[name]})
    except Exception as error:
        return _short(error)
    return f"{result!r}" if isinstance(result, (bool, int)) else type(result).__name__


def _short(error: Exception) -> str:
    text = str(error)
    if "Cannot convert a symbolic tf.Tensor" in text:
        text = "symbolic"
    return f"!{type(error).__name__}: {text.splitlines()[0][:60]}"


functions_here = functions()


def traced(rows: list[tuple[str, str]], shape: tuple[int | None, ...]) -> list[str]:
    """The outcome of each call in a tf.function without AutoGraph, all in one trace."""
    found: list[str] = []

    def trace(x: Any) -> Any:
        found.extend(outcome(name, expression, x) for name, expression in rows)
        return x

    tf.function(trace, autograph=False).get_concrete_function(tf.TensorSpec(shape, tf.float32))
    return found


_MODULE = """
import numpy as np, tensorflow as tf
def call_{number}(x, F, environment):
    names = environment(x)
    i, b, v, z, q, n, s, c = (names[k] for k in "ibvzqnsc")
    return {expression}
"""


def _kept(kept: list[Any], call: Any, function: Any, names: Any, x: Any) -> Any:
    kept.append(call(x, function, names))
    return x


def converted(rows: list[tuple[str, str]], folder: Path) -> list[str]:
    """The outcome of each call in a tf.function that AutoGraph converted from a file, one trace a call."""
    path = folder / "numpy_calls.py"
    path.write_text("".join(_MODULE.format(number=i, expression=e) for i, (_, e) in enumerate(rows)), "utf-8")
    spec = importlib.util.spec_from_file_location("numpy_calls", path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules["numpy_calls"] = module
    spec.loader.exec_module(module)
    plain = tf.autograph.experimental.do_not_convert(environment)
    found = []
    for number, (name, _) in enumerate(rows):
        kept: list[Any] = []
        step = functools.partial(_kept, kept, getattr(module, f"call_{number}"), functions_here[name], plain)
        try:
            tf.function(step).get_concrete_function(tf.TensorSpec((None, 4), tf.float32))
        except Exception as error:
            found.append(_short(error))
        else:
            found.append(type(kept[0]).__name__)
    return found


def in_layer(rows: list[tuple[str, str]]) -> list[str]:
    """The outcome of each call in `Layer.call`, where the functional API builds the layer."""

    class Probe(tf.keras.layers.Layer):  # type: ignore[misc]
        def call(self, x: Any) -> Any:
            outcomes = [outcome(name, expression, x) for name, expression in rows]
            found[:] = outcomes
            return x

    found: list[str] = []
    Probe()(tf.keras.Input((4,)))
    return found


def raising(rows: list[tuple[str, str]], *columns: list[str]) -> set[str]:
    """The names of which every call raises in each of the columns."""
    results = [(name, text) for column in columns for (name, _), text in zip(rows, column, strict=True)]
    return {name for name, _ in rows} - {name for name, text in results if not text.startswith("!")}


def main() -> None:
    """Print the table, or the names that raise."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0] if __doc__ else None)
    parser.add_argument("--raising", action="store_true", help="print only the names that raise")
    parser.add_argument("names", nargs="*", help="parts of the names to show (default: all)")
    arguments = parser.parse_args()
    rows = [r for r in calls() if not arguments.names or any(part in r[0] for part in arguments.names)]
    sample = tf.constant(np.random.default_rng(0).uniform(0.1, 0.9, (5, 4)).astype(np.float32))
    eager = [outcome(name, expression, sample) for name, expression in rows]
    static, layer = traced(rows, (5, 4)), in_layer(rows)
    plain = traced(rows, (None, 4))
    with tempfile.TemporaryDirectory() as folder:
        auto = converted(rows, Path(folder))
    names = raising(rows, plain, static, layer, auto)
    if arguments.raising:
        print("\n".join(sorted(names)))
        return
    print(
        f"TensorFlow {tf.__version__}, Keras {importlib.metadata.version('keras')}, NumPy {np.__version__}, "
        f"Python {platform.python_version()}, {platform.machine()}, {os.cpu_count()} cores"
    )
    print(f"{'function':32}{'call':32}{'eager':34}{'traced (None, 4)':52}the other modes where they differ")
    for (name, call), e, p, s, k, a in zip(rows, eager, plain, static, layer, auto, strict=True):
        other = [f"{m}: {t}" for m, t in (("static", s), ("layer", k), ("AutoGraph", a)) if t[:9] != p[:9]]
        print(f"{name:32}{call:32}{e[:32]:34}{p[:50]:52}{' | '.join(other)}".rstrip())
    quiet = {name for name, _ in rows} - names
    print(f"\n{len(names)} functions raise in every traced call; these do not: {' '.join(sorted(quiet))}")
    uncalled = sorted(set(functions_here) - {name for name, _ in calls()})
    print(f"not called: {' '.join(uncalled)}")


if __name__ == "__main__":
    main()
