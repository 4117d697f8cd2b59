"""The rows of `library/operations.py` against the installed TensorFlow, Keras and NumPy."""

from __future__ import annotations

import importlib
import inspect
from collections.abc import Callable
from typing import Any

import pytest

from tflint_gpu.model.library.operations import Operation, operation_named, operations

np = pytest.importorskip("numpy")
tf = pytest.importorskip("tensorflow")

X = np.arange(1.0, 13.0, dtype="float32").reshape(3, 4) / 13
IMAGES = np.linspace(0.0, 1.0, 2 * 8 * 8 * 3, dtype="float32").reshape(2, 8, 8, 3)
SQUARE = np.eye(3, dtype="float32") * 2
BITMAP = b"BM" + bytes.fromhex(
    "3a000000000000003600000028000000010000000100000001001800000000000400000000000000000000000000000000000000ffffff00"
)
TEXTS = np.array([[" 1", "2.5 "], ["30", " 4 "]])
CALLS: dict[str, Callable[[Any, Any], Any]] = {
    "clip_by_norm": lambda f, x: f(x, 1.0),
    "roll": lambda f, x: f(x, 1, 1),
    "dropout": lambda f, x: f(x, 0.5),
    "full_like": lambda f, x: f(x, 2.0),
    "leaky_relu": lambda f, x: f(x, 0.2),
    "regex_replace": lambda f, x: f(x, " ", ""),
}
"""How operations are called that need more than their tensors; by the last part of their names."""
STATELESS: dict[str, tuple[Any, ...]] = {
    "brightness": (0.1,),
    "contrast": (0.1, 0.5),
    "hue": (0.1,),
    "saturation": (0.1, 0.5),
    "flip_left_right": (),
    "flip_up_down": (),
}
IMAGE_ARGUMENTS: dict[str, tuple[Any, ...]] = {
    "adjust_brightness": (0.1,),
    "adjust_contrast": (0.5,),
    "adjust_hue": (0.1,),
    "adjust_saturation": (0.5,),
    "random_brightness": (0.1,),
    "random_contrast": (0.1, 0.5),
    "random_hue": (0.1,),
    "random_saturation": (0.1, 0.5),
    "resize": ((4, 4),),
    "resize_with_pad": (4, 4),
    "resize_with_crop_or_pad": (4, 4),
    "central_crop": (0.5,),
    "resize_images": ((4, 4),),
    **{f"stateless_random_{name}": (*given, (1, 2)) for name, given in STATELESS.items()},
}


def found(name: str) -> Any:
    """The object of a canonical name; None where the installed version has none."""
    for start in (name, name.replace("tf.", "tf.compat.v1.", 1)):
        base, *path = start.split(".")
        value: Any = {"tf": tf, "keras": tf.keras}.get(base) or importlib.import_module(base)
        for part in path:
            value = getattr(value, part, None)
        if value is not None:
            return value
    return None


INSTALLED = {name: row for name, row in operations().items() if found(name) is not None}
GONE = ["numpy.asfarray", "numpy.row_stack"]
"""Names that newer versions of NumPy have no more."""


def test_each_name_is_one_of_tensorflow_keras_or_numpy() -> None:
    """Protects from a row for a name that nobody has. What Keras 2 or NumPy 1 have not is left out there."""
    missing = sorted({*operations()} - {*INSTALLED} - {*GONE})
    newer = ("keras.ops.", "keras.random.", "numpy.astype", "numpy.concat")
    is_old = tf.__version__.startswith("2.15")
    assert [name for name in missing if not (is_old and (name.startswith(newer) or name.startswith("keras.")))] == []


def called(name: str, row: Operation) -> tuple[Any, tuple[int, ...]]:
    """What an operation gives, and the shape that its row says."""
    x = given_to(name)
    return applied(name, row, x, x[:1])


def given_to(name: str) -> Any:
    """Images, texts or numbers."""
    if ".image." in name:
        return IMAGES
    return TEXTS if name.startswith("tf.strings.") and not name.endswith("as_string") else X


def applied(name: str, row: Operation, x: Any, other: Any) -> tuple[Any, tuple[int, ...]]:
    """What an operation gives for some data, and the shape that its row says."""
    function, last = found(name), name.rpartition(".")[2]
    tensor = tf.constant(x) if name.startswith("keras.backend.") else x
    images = x if x.ndim == 4 else IMAGES
    if name.startswith("tf.sparse."):
        x = tensor = tf.sparse.from_dense(x)
    match row.shape:
        case "same" | "rows" if name.startswith("tf.image."):
            if last.endswith("random_jpeg_quality"):
                return function(IMAGES[0], 50, 90, *([(1, 2)] if "stateless" in last else [])), IMAGES[0].shape
            images = tf.constant(images[..., :1] if last == "grayscale_to_rgb" else images)
            given = (tf.float16,) if last == "convert_image_dtype" else IMAGE_ARGUMENTS.get(last, ())
            return function(images, *given), images.shape
        case "same" | "rows" if last in ("img_to_array",):
            return function(IMAGES[0]), IMAGES[0].shape
        case "rows" if name == "keras.ops.image.resize":
            return function(images, (4, 4)), images.shape
        case "rows" if last == "pad_sequences":
            return function([[1], [2, 3]]), (2, 2)
        case "rows" if row.says is not None and row.says.keyword in ("depth", "num_classes"):
            return function(np.array([0, 2, 1]), 3), (3, 3)
        case "rows":
            return function(np.array([0, 2, 1]), 3), (3, 3)
        case "same" if name.startswith("tf.strings.") or last == "as_string":
            return CALLS.get(last, lambda f, x: f(x))(function, x), x.shape
        case "same" if last in ("inv", "cholesky", "band_part"):
            return function(SQUARE, *((0, 1) if last == "band_part" else ())), SQUARE.shape
        case "same" if last == "bias_add":
            return function(x, x[0]), x.shape
        case "same" if row.dtype == "given" and not row.is_array and row.type is not None and row.type.keyword:
            return function(x, "float16"), x.shape
        case "same" if row.tensors > 1:
            return function(x, *(0.2, 0.5)[: row.tensors - 1]), x.shape
        case "same" if name == "tf.ragged.constant":
            return function([[1.0], [2.0, 3.0]]).to_tensor(), (2, 2)
        case "same" if last == "ensure_shape":
            return function(x, (None, 4)), x.shape
        case "same" if last == "logical_not":
            return function(x > 0.5), x.shape
        case "same" if last == "reverse":
            return (function(x, axis=[1]) if name == "tf.reverse" else function(x, 1)), x.shape
        case "same" if name.startswith("keras.backend."):
            return CALLS.get(last, lambda f, x: f(x))(function, tensor), x.shape
        case "same":
            return CALLS.get(last, lambda f, x: f(x))(function, x), x.shape
        case "broadcast" if last.startswith("logical"):
            return function(x > 0.5, other > 0.5), x.shape
        case "broadcast" if name == "keras.backend.pow":
            return function(x, 2), x.shape
        case "broadcast":
            return function(x, other), x.shape
        case "chosen":
            return function(x > 0.5, x, other), x.shape
        case "product" if name.startswith("tf.sparse."):
            return function(tensor, other.T), (3, 1)
        case "product":
            return function(tensor, tensor.T if tensor is x else tf.transpose(tensor)), (len(x), len(x))
        case "expanded":
            return function(x, 0), (1, 3, 4)
        case "squeezed":
            return function(x[:, None], 1), (3, 4)
        case "reshaped":
            return function(x, (2, 6)), (2, 6)
        case "joined":
            return function([x, x], *axis_of(row, name)), joined(row)
        case "stacked":
            return function([x, x], 1), (3, 2, 4)
        case "appended":
            return function(x, x, 1), (3, 8)
        case "repeated":
            return function(x, 2, 1), (3, 8)
        case "reduced":
            return function(tensor > 0.5 if last in ("all", "any", "reduce_all", "reduce_any") else tensor, 1), (3,)
        case "second":
            return function(SQUARE, x), x.shape
        case "drawn":
            return function((2, 3), (0.5, 1.5)), (2, 3, 2)
        case "parts":
            return function(x, *(() if last == "unstack" else (3,)))[0], x[0].shape if last == "unstack" else (1, 4)
        case "largest":
            return function(x, 2).values, (3, 2)
        case "transposed":
            return function(x[None], (2, 0, 1)), (4, 1, 3)
        case "tiled":
            return function(x, (1, 2)), (3, 8)
        case "padded":
            return function(x, ((1, 1), (0, 0))), (5, 4)
        case "gathered":
            axis = (1,) if row.says is not None and row.says.position == 2 else ()
            return function(x, np.array([0, 2]), *axis), (3, 2) if axis else (2, 4)
        case "summed":
            return function("ij,jk->ik", x, x.T), (3, 3)
        case "sliced":
            return function(x, [1, 0], [2, -1]), (2, 4)
        case "points":
            return function(x, [[0, 2]]), (1,)
        case "contracted":
            return function(x, x.T, 1), (3, 3)
        case "masked":
            return function([1, 3], 4), (2, 4)
        case "decoded":
            encode = tf.io.encode_png if "png" in last or "image" in last else tf.io.encode_jpeg
            picture = BITMAP if "bmp" in last else encode(np.zeros((2, 3, 3), "uint8"))
            return function(picture, 3), (1, 1, 3) if "bmp" in last else (2, 3, 3)
        case "examples":
            record = tf.train.Example().SerializeToString()
            features = {"x": tf.io.FixedLenFeature([2], tf.float32, [0.0, 1.0])}
            return function([record] if last == "parse_example" else record, features)["x"], (
                (1, 2) if last == "parse_example" else (2,)
            )
        case "scalar" if last == "read_file":
            return function(__file__), ()
        case "scalar":
            return function(x), ()
        case "sizes":
            return function(x), (2,)
        case "filled":
            return filled(function, row, name), (6,) if last == "linspace" else (2, 3)
        case "counted":
            numbers = (6,) if last in ("arange", "range") else (2, 3)
            return function(*numbers), numbers
    raise AssertionError(row.shape)


def axis_of(row: Operation, name: str) -> tuple[int, ...]:
    return (1,) if row.says is not None and row.says.keyword and name != "keras.layers.concatenate" else ()


def joined(row: Operation) -> tuple[int, ...]:
    axis = 1 if row.says is not None and row.says.keyword else row.says.default if row.says is not None else None
    return {0: (6, 4), 1: (3, 8)}.get(axis, (3, 4, 2)) if isinstance(axis, int) else ()


def filled(function: Any, row: Operation, name: str) -> Any:
    assert row.says is not None
    last, shape = name.rpartition(".")[2], (2, 3)
    before: tuple[Any, ...] = {"randint": (0, 5), "binomial": (5, 0.5), "beta": (1.0, 2.0), "gamma": (1.0, 2.0)}.get(
        last, (0.0, 1.0)[: row.says.position]
    )
    if last.endswith("random_crop"):
        return function(X, shape, *([(1, 2)] if "stateless" in last else []))
    if last == "broadcast_to":
        return function(X[:1, :3], shape)
    if last == "choice":
        return function(5, shape)
    if last in ("fill", "full"):
        return function(shape, 2.0)
    if name == "keras.random.randint":
        return function(shape, 0, 5)
    if last == "linspace":
        return function(0.0, 1.0, 6)
    return function(*before, shape) if row.says.position else function(shape)


def assert_each_for_itself(name: str, row: Operation, result: Any) -> None:
    """Hold against a result what the operation gives for parts of the data."""
    x = given_to(name)
    whole = np.asarray(applied(name, row, x, x)[0] if row.shape in ("broadcast", "chosen") else result)
    for axis in (0,) if x is IMAGES else (0, 1):
        parts = [np.asarray(applied(name, row, part, part)[0]) for part in np.split(x, [1], axis)]
        joined_parts = np.concatenate(parts, axis)
        if whole.dtype.kind == "f":
            np.testing.assert_allclose(joined_parts, whole, rtol=1e-5)
        else:
            np.testing.assert_array_equal(joined_parts, whole)


@pytest.mark.slow
@pytest.mark.parametrize("name", INSTALLED)
def test_an_operation_gives_the_shape_and_the_dtype_of_its_row(name: str) -> None:
    """Protects from a row that is believed: each is run."""
    row = INSTALLED[name]
    result, shape = called(name, row)
    given = tuple(result.shape)
    if row.shape == "rows":
        assert given[0] == shape[0]
    else:
        assert given == shape
    if row.each:
        assert_each_for_itself(name, row, result)
    dtype = str(result.dtype if isinstance(result.dtype, str) else getattr(result.dtype, "name", result.dtype))
    expected = {
        "same": "float32",
        "float": "float32",
        "sum": "float32",
        "mean": "float32",
        "bool": "bool",
        "named": name.rpartition(".")[2],
    }.get(row.dtype)
    if row.dtype == "given" and row.type is not None:
        asked = row.shape == "same" and not row.is_array and row.type.keyword == "dtype"
        expected = "float16" if asked else row.type.default if isinstance(row.type.default, str) else None
    assert expected in (None, dtype)


@pytest.mark.parametrize("name", [name for name, row in INSTALLED.items() if row.type is not None and row.type.keyword])
def test_the_dtype_is_the_parameter_that_the_row_says(name: str) -> None:
    """Protects from a position that another parameter has."""
    parameter = INSTALLED[name].type
    assert parameter is not None
    try:
        parameters = list(inspect.signature(found(name)).parameters)
    except ValueError:  # written in C
        pytest.skip("no signature")
    if parameter.keyword not in parameters:
        pytest.skip("takes it with others")
    assert parameters.index(parameter.keyword) == parameter.position


@pytest.mark.parametrize("name", [name for name in INSTALLED if INSTALLED[name].dtype == "float"])
def test_an_operation_of_numpy_makes_floats_of_integers(name: str) -> None:
    if name.startswith("numpy.") and INSTALLED[name].shape == "same":
        assert found(name)(np.array([1])).dtype.kind == "f"


def test_names_of_the_old_interface_have_their_rows() -> None:
    assert operation_named("tf.compat.v1.concat") == operation_named("tf.concat") == INSTALLED["tf.concat"]
    assert operation_named("tf.experimental.numpy.abs") == operation_named("numpy.abs") == INSTALLED["numpy.abs"]
    assert operation_named("nothing.known") == operation_named(None) == Operation("")


def test_only_what_is_told_a_dtype_casts() -> None:
    """Protects what asks for casts from operations on texts, and from sorting, which have a dtype of theirs."""
    assert all(operation_named(name).casts for name in ("tf.cast", "numpy.astype", "keras.ops.cast"))
    assert not any(operation_named(name).casts for name in ("tf.strings.lower", "tf.argsort", "tf.constant", "tf.abs"))
