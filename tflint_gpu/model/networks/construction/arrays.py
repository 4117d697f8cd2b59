"""Arrays of data whose shapes the source fixes: what `fit` is given, and what input shapes are read from."""

from __future__ import annotations

from typing import Any

from tflint_gpu.lazy_dataclasses import dataclass
from tflint_gpu.model.interpreter.values import Arguments, External, ListValue, plain
from tflint_gpu.model.library.datasets import KERAS_DATA
from tflint_gpu.model.library.operations import operation_named
from tflint_gpu.model.networks.shapes.graph import NotKnown, Shape
from tflint_gpu.model.python.value_flow.constants import UNKNOWN


@dataclass(frozen=True, slots=True)
class Array:
    """A NumPy array, or an eager tensor."""

    shape: Shape


_CHANGING_LENGTHS = ("maxlen", "test_split")
_COUNTING = ("numpy.arange", "numpy.eye")
_DIMENSIONS = frozenset(["numpy.expand_dims", "tf.expand_dims"])


def called(name: str, given: Arguments) -> Any:
    """The array that a function makes; `UNKNOWN` where its shape is not known, and for other functions."""
    first = given.positional[0] if given.positional else UNKNOWN
    folder, _, last = name.rpartition(".")
    if last == "load_data" and folder.startswith("keras.datasets."):
        is_whole = len(given.positional) < 2 and not any(word in given.named for word in _CHANGING_LENGTHS)
        return _loaded(folder.rpartition(".")[2]) if is_whole else UNKNOWN
    operation = operation_named(name)
    if operation.shape == "filled" and operation.size is not None:
        size = operation.size
        return _of_shape(given.get(size.position, size.keyword, () if size.default is None else size.default))
    if operation.shape == "counted" and operation.draws:
        return _of_shape(tuple(given.positional))
    if name in _COUNTING:
        return _counted(name, given)
    if operation.shape == "same" and isinstance(first, Array):
        return first
    if name in _DIMENSIONS and isinstance(first, Array):
        axis = given.get(1, "axis")
        return Array((*first.shape, 1)) if axis in (-1, len(first.shape)) else UNKNOWN
    if name in ("numpy.reshape", "tf.reshape"):
        if isinstance(first, Array):
            return method(first, "reshape", Arguments(given.positional[1:]))
        array = _of_shape(given.get(1, "newshape" if "newshape" in given.named else "shape"))
        return array if isinstance(array, Array) and -1 not in array.shape else UNKNOWN
    if name in ("keras.utils.to_categorical", "tf.one_hot") and isinstance(first, Array):
        count = given.get(1, "num_classes" if "keras" in name else "depth")
        shape = first.shape[:-1] if first.shape[-1:] == (1,) and len(first.shape) > 1 else first.shape
        return Array((*shape, count)) if isinstance(count, int) else UNKNOWN
    return UNKNOWN


def _counted(name: str, given: Arguments) -> Any:
    """An array whose length is said by a number."""
    count = given.get(0, "stop" if name == "numpy.arange" else "N")
    if name == "numpy.eye":
        return _of_shape((count, given.get(1, "M", count)))
    return _of_shape(count) if len(given.positional) == 1 else UNKNOWN


def _loaded(name: str) -> Any:
    if name not in KERAS_DATA:
        return UNKNOWN
    sample, label, train, test = KERAS_DATA[name]
    return tuple(
        (Array((count, *sample)) if sample is not None else UNKNOWN, Array((count, *label))) for count in (train, test)
    )


def _of_shape(value: Any) -> Any:
    shape = plain(value)
    shape = (shape,) if isinstance(shape, int) else shape
    known = isinstance(shape, tuple) and all(isinstance(length, int) for length in shape)
    return Array(shape) if known else UNKNOWN


def attribute(array: Array, name: str) -> Any:
    """What an attribute of an array is."""
    if name == "shape":
        return array.shape
    return len(array.shape) if name == "ndim" else UNKNOWN


def method(array: Array, name: str, given: Arguments) -> Any:
    """What a method of an array gives."""
    if name in ("astype", "copy", "numpy"):
        return array
    if name != "reshape":
        return UNKNOWN
    from tflint_gpu.model.networks.shapes.layer_kinds import reshaped  # Keras's layers, for few arrays

    value = given.positional[0] if len(given.positional) == 1 else tuple(given.positional)
    target = plain(value)
    target = (target,) if isinstance(target, int) else target
    if not isinstance(target, tuple) or not all(isinstance(length, int) for length in target):
        return UNKNOWN
    try:
        return Array(reshaped(array.shape, target))
    except (NotKnown, ArithmeticError):
        return UNKNOWN


def operated(left: Any, right: Any) -> Any:
    """What an element-wise operator gives."""
    shapes = tuple(operand.shape for operand in (left, right) if isinstance(operand, Array))
    if not all(isinstance(operand, Array | int | float) or operand is None for operand in (left, right)):
        return UNKNOWN
    from tflint_gpu.model.networks.shapes.layer_kinds import broadcast

    try:
        return Array(broadcast(shapes))
    except NotKnown:
        return UNKNOWN


def item(array: Array, key: Any) -> Any:
    """`x[:100]`, `x[0]`, `x[..., np.newaxis]`."""
    keys = key if isinstance(key, tuple) else (key,)
    if keys and (keys[-1] is None or keys[-1] == External("numpy.newaxis")) and keys[0] is not None:
        inner = item(array, keys[:-1]) if len(keys) > 1 and not _is_all(keys[:-1]) else array
        return Array((*inner.shape, 1)) if isinstance(inner, Array) else UNKNOWN
    if len(keys) != 1 or not array.shape or array.shape[0] is None:
        return UNKNOWN
    if isinstance(keys[0], int):
        return Array(array.shape[1:])
    if isinstance(keys[0], slice) and all(isinstance(b, int | None) for b in _bounds(keys[0])):
        return Array((len(range(*keys[0].indices(array.shape[0]))), *array.shape[1:]))
    return UNKNOWN


def _is_all(keys: tuple[Any, ...]) -> bool:
    return all(key is UNKNOWN or (isinstance(key, slice) and _bounds(key) == (None, None, None)) for key in keys)


def _bounds(key: slice) -> tuple[Any, Any, Any]:
    return key.start, key.stop, key.step


def rows(value: Any) -> int | None:
    """How many rows data has; None where that is not known."""
    if isinstance(value, Array):
        return value.shape[0] if value.shape else None
    if isinstance(value, ListValue | tuple):
        items = value.items if isinstance(value, ListValue) else value
        return rows(items[0]) if items and not getattr(value, "is_lost", False) else None
    return None
