"""The tables of `counterparts` against the installed NumPy, TensorFlow and Keras."""

from __future__ import annotations

import functools
import importlib.util
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tflint_gpu.model.library.counterparts import COUNTERPARTS, RAISES, Counterpart

np = pytest.importorskip("numpy")
tf = pytest.importorskip("tensorflow")
keras = pytest.importorskip("keras")

_BENCHMARK = Path(__file__).parent.parent / "benchmarks" / "numpy_on_tensors.py"
_LIBRARIES = ["tensorflow"] + ["keras_ops"] * hasattr(keras, "ops")
_SAFE = sorted(name for name, counterpart in COUNTERPARTS.items() if counterpart.safe)
_UNSAFE = sorted(name for name, counterpart in COUNTERPARTS.items() if not counterpart.safe)
_SPECIAL = [0.0, -0.0, 1.0, -1.0, 0.5, -0.5, 1.5, 2.5, -2.5, 1e-8, 80.0, -80.0, 1e15, np.nan, np.inf, -np.inf]
_INTEGERS = [0, 1, -1, 3, -7, 100]
# The functions defined only on a part of the numbers, and random inputs inside it.
_DOMAINS = {
    **dict.fromkeys(["log", "log1p", "sqrt", "reciprocal", "power", "pow"], (0.1, 3.0)),
    **dict.fromkeys(["arcsin", "asin", "arccos", "acos", "arctanh", "atanh"], (-0.9, 0.9)),
    **dict.fromkeys(["arccosh", "acosh"], (1.1, 3.0)),
}
# The calls of the unsafe functions where that is not F(x). x, y: float32 of shape (5, 4); v: a vector of 4; q, r:
# (4, 4) and positive definite; n: 5, a tensor for the counterpart.
_CALLS = {
    **dict.fromkeys(["all", "any", "logical_not", "count_nonzero"], ("F(x > 0)",)),
    **dict.fromkeys(["logical_and", "logical_or", "logical_xor"], ("F(x > 0, y > 0)",)),
    **dict.fromkeys(["sum", "mean", "max", "min", "amax", "amin", "prod"], ("F(x)", "F(x, 1)", "F(x, axis=(0, 1))")),
    **dict.fromkeys(["std", "var"], ("F(x)", "F(x, axis=0)", "F(x, -1)")),
    **dict.fromkeys(["argmax", "argmin", "cumsum", "cumprod"], ("F(x, 1)", "F(x, axis=0)")),
    **dict.fromkeys(["sort", "argsort"], ("F(x)", "F(x, 0)", "F(x, axis=1)")),
    **dict.fromkeys(["concatenate", "concat"], ("F([x, y], 0)", "F([x, y], axis=-1)")),
    **dict.fromkeys(["transpose", "permute_dims"], ("F(x)", "F(x, (1, 0))", "F(x, axes=[1, 0])")),
    **dict.fromkeys(["mod", "remainder", "floor_divide"], ("F(x, y)", "F(x, 0.5)")),
    **dict.fromkeys(["power", "pow"], ("F(x, y)", "F(x, 2)")),
    **dict.fromkeys(["array", "asarray"], ("F(x)", "F([x, y])")),
    **dict.fromkeys(["zeros", "ones"], ("F((n, 3))", "F(n)", "F(shape=(2, n))")),
    **dict.fromkeys(["linalg.inv", "linalg.det", "linalg.cholesky", "trace"], ("F(q)",)),
    **dict.fromkeys(["matmul", "dot"], ("F(q, r)", "F(x, q)")),
    "stack": ["F([x, y])", "F([x, y], 1)", "F([x, y], axis=-1)"],
    "reshape": ["F(x, (4, -1))", "F(x, [2, 10])", "F(x, (n, 2, 2))"],
    "expand_dims": ["F(x, 1)", "F(x, axis=-1)"],
    "squeeze": ["F(x[:1])", "F(x[:1], 0)", "F(x[:1], axis=0)"],
    "roll": ["F(x, 1, 1)", "F(x, shift=2, axis=0)"],
    "repeat": ["F(x, 2)", "F(x, 2, 1)", "F(x, repeats=3, axis=0)"],
    "broadcast_to": ["F(v, (5, 4))", "F(v, (n, 4))"],
    "clip": ["F(x, -0.5, 0.5)", "F(x, a_min=-0.5, a_max=1.0)"],
    "where": ["F(x > 0, x, y)", "F(x > 0, x, 0.0)"],
    "searchsorted": ["F(np.arange(4, dtype=np.float32), v)", "F(np.arange(4, dtype=np.float32), v, side='right')"],
    "tensordot": ["F(q, r, 1)", "F(x, q, axes=1)", "F(q, r, axes=2)"],
    "einsum": ["F('ij,jk->ik', q, r)", "F('ij->i', x)"],
    "cross": ["F(x[:, :3], y[:, :3])"],
    "meshgrid": ["F(v, x[:, 0])", "F(v, x[:, 0], indexing='ij')"],
    "linalg.norm": ["F(x)", "F(x, axis=1)", "F(x, axis=-1, keepdims=True)"],
    "linalg.solve": ["F(q, r)"],
    "full": ["F((n, 3), 2.0)", "F(shape=(2, n), fill_value=0.5)"],
    "arange": ["F(n)", "F(1, n)", "F(1, n, 2)", "F(0.0, 5.0)"],
    "linspace": ["F(0.0, 1.0, n)", "F(0.0, 1.0, num=n)"],
    "eye": ["F(n)", "F(n, 3)"],
}


def _benchmark() -> Any:
    spec = importlib.util.spec_from_file_location("numpy_on_tensors", _BENCHMARK)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules["numpy_on_tensors"] = module
    spec.loader.exec_module(module)
    return module


def _numpy(name: str) -> Callable[..., Any]:
    function = _resolve(np, name.removeprefix("numpy."))
    if function is None:
        pytest.skip(f"NumPy {np.__version__} has no {name}")
    return function  # type: ignore[no-any-return]


def _resolve(root: Any, path: str) -> Any:
    for part in path.split("."):
        root = getattr(root, part, None)
    return root


def _counterpart(counterpart: Counterpart, library: str) -> Callable[..., Any]:
    name = getattr(counterpart, library)
    if name is None:
        pytest.skip(f"{counterpart.numpy} has no counterpart in {library}")
    function = _resolve(tf, name.removeprefix("tf.")) if library == "tensorflow" else _resolve(keras, name[6:])
    assert callable(function), name
    return function  # type: ignore[no-any-return]


def _random(counterpart: Counterpart, dtype: str, seed: int = 0) -> list[Any]:
    low, high = _DOMAINS.get(counterpart.numpy[6:], (-3.0, 3.0))
    random = np.random.default_rng(seed)
    return [random.uniform(low, high, (33, 7)).astype(dtype) for _ in range(counterpart.positional)]


def _assert_same(expected: Any, actual: Any, rtol: float, *, signs: bool = True) -> None:
    expected, actual = np.asarray(expected), np.asarray(actual)
    assert actual.dtype == expected.dtype
    assert actual.shape == expected.shape
    np.testing.assert_allclose(actual, expected, rtol=rtol, atol=0)
    if signs and expected.dtype.kind == "f":
        known = ~np.isnan(expected)
        np.testing.assert_array_equal(np.signbit(actual[known]), np.signbit(expected[known]))


@pytest.fixture(autouse=True)
def _quiet() -> Iterator[None]:
    with np.errstate(all="ignore"):
        yield


@pytest.fixture(scope="module")
def outcomes() -> dict[str, list[tuple[str, str, str]]]:
    """Per name: (the call, what it did with an unknown batch size, what with a static one), in one trace each."""
    benchmark = _benchmark()
    rows = benchmark.calls()
    unknown, static = benchmark.traced(rows, (None, 4)), benchmark.traced(rows, (5, 4))
    results: dict[str, list[tuple[str, str, str]]] = {}
    for (name, call), first, second in zip(rows, unknown, static, strict=True):
        results.setdefault(name, []).append((call, first, second))
    return results


@pytest.mark.slow
@pytest.mark.parametrize("name", sorted(RAISES))
def test_raises_on_a_symbolic_tensor(name: str, outcomes: dict[str, list[tuple[str, str, str]]]) -> None:
    _numpy(name)
    assert name in outcomes, "the benchmark has no call of it that works with arrays"
    assert [
        outcome for outcome in outcomes[name] if not (outcome[1].startswith("!") and outcome[2].startswith("!"))
    ] == []


def test_what_the_benchmark_calls_raises_or_is_known_not_to(outcomes: dict[str, list[tuple[str, str, str]]]) -> None:
    quiet = {name.removeprefix("numpy.") for name in outcomes if name not in RAISES}
    assert quiet <= set(
        "array_equal array_equiv diag_indices_from flip isscalar iterable ndim rollaxis shape size str_ "
        "tril_indices_from triu_indices_from unicode_".split()
    )


def test_only_functions_that_raise_have_counterparts() -> None:
    assert set(COUNTERPARTS) <= RAISES
    assert all(name == counterpart.numpy for name, counterpart in COUNTERPARTS.items())
    assert {f"numpy.{name}" for name in _CALLS} <= set(COUNTERPARTS)


@pytest.mark.parametrize("library", _LIBRARIES)
@pytest.mark.parametrize("name", _SAFE)
class TestSafe:
    """A safe counterpart gives what NumPy gives."""

    def test_random_values(self, name: str, library: str) -> None:
        counterpart, function = COUNTERPARTS[name], _numpy(name)
        replaced = _counterpart(counterpart, library)
        for dtype, rtol in (("float32", 1e-6), ("float64", 1e-14), ("float16", 2e-3)):
            arrays = _random(counterpart, dtype)
            expected, tensors = function(*arrays), [tf.constant(a) for a in arrays]
            _assert_same(expected, replaced(*tensors), rtol)
            _assert_same(expected, tf.function(replaced, autograph=False)(*tensors), rtol)
            scalars = [a[0, 0] for a in arrays]
            _assert_same(function(*scalars), replaced(*map(tf.constant, scalars)), rtol)

    def test_special_values(self, name: str, library: str) -> None:
        counterpart, function = COUNTERPARTS[name], _numpy(name)
        replaced = _counterpart(counterpart, library)
        special = np.array(_SPECIAL, np.float32)
        arrays = [special] if counterpart.positional == 1 else [special[:, None], special[None, :]]
        _assert_same(function(*arrays), replaced(*map(tf.constant, arrays)), 1e-6)

    def test_integers(self, name: str, library: str) -> None:
        counterpart, function = COUNTERPARTS[name], _numpy(name)
        replaced = _counterpart(counterpart, library)
        if counterpart.float_only:
            pytest.skip("for float tensors only")
        values = np.array(_INTEGERS, np.int32)
        arrays = [values] if counterpart.positional == 1 else [values[:, None], values[None, :]]
        _assert_same(function(*arrays), replaced(*map(tf.constant, arrays)), 0)

    def test_gradients(self, name: str, library: str) -> None:
        counterpart, function = COUNTERPARTS[name], _numpy(name)
        replaced = _counterpart(counterpart, library)
        arrays = _random(counterpart, "float64", seed=1)
        if function(*arrays).dtype.kind != "f":
            pytest.skip("has no gradient")
        for dtype, tolerance in (("float64", 1e-6), ("float32", 2e-3)):
            tensors = [tf.constant(a.astype(dtype)) for a in arrays]
            with tf.GradientTape() as tape:
                for tensor in tensors:
                    tape.watch(tensor)
                result = replaced(*tensors)
            for index, gradient in enumerate(tape.gradient(result, tensors)):
                moved = [[a + (index == k) * h for k, a in enumerate(arrays)] for h in (1e-6, -1e-6)]
                slope = (function(*moved[0]) - function(*moved[1])) / 2e-6
                computed = np.zeros_like(slope) if gradient is None else gradient.numpy()
                np.testing.assert_allclose(computed, slope, rtol=tolerance, atol=tolerance)

    def test_python_numbers(self, name: str, library: str) -> None:
        counterpart, function = COUNTERPARTS[name], _numpy(name)
        replaced = _counterpart(counterpart, library)
        if counterpart.positional == 1:
            pytest.skip("takes one array")
        (array, _), spec = _random(counterpart, "float32"), tf.TensorSpec([33, 7], tf.float32)
        for number in (2, 0.5, -3, 0):
            _assert_same(function(array, number), replaced(tf.constant(array), number), 1e-6)
            second = tf.function(lambda x, n=number: replaced(x, n), autograph=False, input_signature=[spec])
            _assert_same(function(array, number), second(tf.constant(array)), 1e-6, signs=False)
            first = tf.function(lambda x, n=number: replaced(n, x), autograph=False, input_signature=[spec])
            if library == "keras_ops" or not counterpart.tensor_first:
                _assert_same(function(number, array), first(tf.constant(array)), 1e-6, signs=False)
            elif isinstance(number, int):
                with pytest.raises(TypeError):
                    first(tf.constant(array))


def _names(counterpart: Counterpart, tensors: bool) -> dict[str, Any]:
    (x, y), square = (np.random.default_rng(s).normal(size=(2, 5, 4)).astype(np.float32) for s in (0, 1))
    if counterpart.numpy[6:] in _DOMAINS:
        x = abs(x) + 0.1
    q, r = (a.T @ a + np.eye(4, dtype=np.float32) for a in square)
    arrays = {"x": x, "y": y, "v": x[0], "q": q, "r": r}
    values = {k: tf.constant(a) for k, a in arrays.items()} if tensors else arrays
    return {**values, "np": np, "n": tf.constant(5) if tensors else 5}


def _translated(counterpart: Counterpart, library: str, function: Callable[..., Any]) -> Callable[..., Any]:
    """The counterpart as NumPy's function is called, as far as the table allows the call."""

    def call(*args: Any, **kwargs: Any) -> Any:
        named = counterpart.renamed(len(args), kwargs, keras_ops=library == "keras_ops")
        assert named is not None
        return function(*args, **{named[name]: value for name, value in kwargs.items()})

    return call


def _evaluated(call: str, names: dict[str, Any], keys: list[str], values: list[Any]) -> Any:
    return eval(call, {**names, **dict(zip(keys, values, strict=True))})


@pytest.mark.slow
@pytest.mark.parametrize("library", _LIBRARIES)
@pytest.mark.parametrize("name", _UNSAFE)
@pytest.mark.parametrize("mode", ["eager", "traced"])
def test_unsafe_counterparts_compute_the_same_values(name: str, library: str, mode: str) -> None:
    counterpart, function = COUNTERPARTS[name], _numpy(name)
    replaced = _translated(counterpart, library, _counterpart(counterpart, library))
    calls = list(_CALLS.get(name.removeprefix("numpy."), ["F(x)"]))
    keepdims = "keepdims" in (keyword.numpy for keyword in counterpart.keywords)
    if keepdims and not (name == "numpy.count_nonzero" and library == "keras_ops"):
        calls = [*calls, calls[0].removesuffix(")") + ", axis=1, keepdims=True)"]
    arrays, tensors = _names(counterpart, False), _names(counterpart, True)
    for call in calls:
        expected = eval(call, {**arrays, "F": function})
        actual: Any
        if mode == "eager":
            actual = eval(call, {**tensors, "F": replaced})
        else:
            keys = [k for k, v in tensors.items() if tf.is_tensor(v)]
            step = functools.partial(_evaluated, call, {**tensors, "F": replaced}, keys)
            actual = tf.function(step, autograph=False)([tensors[k] for k in keys])
        several = isinstance(expected, (list, tuple))
        for first, second in zip(expected if several else [expected], actual if several else [actual], strict=True):
            assert np.shape(first) == np.shape(second), call
            np.testing.assert_allclose(np.asarray(second), first, rtol=1e-4, atol=1e-5, err_msg=call)


@pytest.mark.parametrize("name", ["numpy.argmax", "numpy.cumsum", "numpy.concatenate", "numpy.roll"])
def test_required_arguments_are_needed(name: str) -> None:
    counterpart = COUNTERPARTS[name]
    function, replaced = _numpy(name), _counterpart(counterpart, "tensorflow")
    x = np.arange(8, dtype=np.float32).reshape(2, 4)
    arguments = {"numpy.concatenate": [[x, x]], "numpy.roll": [x, 1]}.get(name, [x])
    try:
        result = replaced(*arguments)
    except TypeError:
        return
    assert np.shape(result) != np.shape(function(*arguments))


def test_only_calls_whose_arguments_are_all_mapped_are_renamed() -> None:
    total, largest, joined = (COUNTERPARTS[f"numpy.{name}"] for name in ("sum", "argmax", "concatenate"))
    assert total.renamed(1, ["axis", "keepdims"]) == {"axis": "axis", "keepdims": "keepdims"}
    assert total.renamed(0, ["a"]) == {"a": "input_tensor"}
    assert total.renamed(0, ["a"], keras_ops=True) == {"a": "x"}
    assert total.renamed(1, ["dtype"]) is None
    assert total.renamed(3, []) is None
    assert largest.renamed(1, []) is None
    assert largest.renamed(2, []) == {}
    assert largest.renamed(1, ["axis"]) == {"axis": "axis"}
    assert joined.renamed(1, []) is None
    assert joined.renamed(2, [], keras_ops=True) == {}
    assert COUNTERPARTS["numpy.sin"].renamed(1, []) == {}
    assert COUNTERPARTS["numpy.sin"].renamed(2, []) is None
    assert COUNTERPARTS["numpy.sin"].renamed(1, ["out"]) is None
    assert COUNTERPARTS["numpy.count_nonzero"].renamed(1, ["keepdims"], keras_ops=True) is None
    assert COUNTERPARTS["numpy.linspace"].renamed(3, [], keras_ops=True) is None
