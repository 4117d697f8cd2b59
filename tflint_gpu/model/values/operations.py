"""What operations on tensors and arrays give, by the rows of `library.operations`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

import libcst as cst

from tflint_gpu.model.library.classes import INPUTS
from tflint_gpu.model.library.datasets import Parameter
from tflint_gpu.model.library.operations import RANGE, Operation, draw_named, operation_named
from tflint_gpu.model.library.tensor_functions import (
    ARRAY_METHODS,
    VARIABLE_METHODS,
    returns_several,
    returns_tensor,
)
from tflint_gpu.model.values import dtypes, functions, shapes
from tflint_gpu.model.values.arguments import Given
from tflint_gpu.model.values.conversion import ArrayKind, stacked_value
from tflint_gpu.model.values.operators import operated
from tflint_gpu.model.values.value import (
    PENDING,
    TEXT,
    Dimension,
    Pending,
    SequenceValue,
    Shape,
    StructureValue,
    TensorValue,
    Value,
)

_MOST_PARTS = 32
_GIVING_TEXT = frozenset(
    "lower upper strip lstrip rstrip title capitalize replace format join zfill casefold swapcase removeprefix "
    "removesuffix decode read readline".split()
)
_GIVING_TEXTS = frozenset(["split", "splitlines", "rsplit", "readlines"])
_KEEPDIMS = ("keepdims", "keep_dims")


def applied(name: str, given: Given) -> Value:
    """What a function of TensorFlow, NumPy or Keras gives; None where nothing is known."""
    if name in ("tf.Variable", "tf.compat.v1.get_variable"):
        return functions.variable(given)
    if name in INPUTS:
        return functions.symbolic_input(given)
    if name in ("tf.Tensor", "tf.experimental.numpy.ndarray"):
        return functions.symbolic(given)
    row = operation_named(name)
    kind: ArrayKind = "array" if name.startswith("numpy.") else "tensor"
    if not row.shape:
        return _without_row(name)
    try:
        value = _OF_SHAPE[row.shape](row, kind, given)
    except LookupError:  # an axis that is not known
        value = TensorValue(kind)
    if isinstance(value, TensorValue) and name == "tf.ragged.constant":
        return TensorValue("ragged", value.dtype)
    if isinstance(value, TensorValue) and row.dtype == "named":
        return TensorValue(kind, name.rpartition(".")[2], value.shape)
    return value


def _without_row(name: str) -> Value:
    """What is known without a row: that it is a tensor."""
    if name.startswith(("tf.RaggedTensor.from_", "tf.ragged.")):
        return TensorValue("ragged")
    if name.endswith(".SparseTensor") or name == "tf.sparse.from_dense":
        return TensorValue("sparse")
    return TensorValue("tensor") if returns_tensor(name) and not returns_several(name) else None


def _dtype(row: Operation, kind: ArrayKind, given: Given, value: TensorValue | None) -> str:
    """The type of the result by the row."""
    of_tensor = kind == "tensor"
    asked = given.dtype(row.type, of_tensor=of_tensor) if row.type is not None else None
    if asked is not None:
        return asked
    if row.says is not None and row.says.keyword == "depth":
        for place, keyword in ((2, "on_value"), (3, "off_value")):
            if given.said(place, keyword) is not None:
                hot = stacked_value(given.value(place, keyword), kind)
                return hot.dtype if isinstance(hot, TensorValue) else ""
    if row.is_array and given.said(2, "dtype_hint") is not None and row.type is not None and row.type.position == 1:
        return ""
    if row.type is not None and isinstance(row.type.default, str):
        return row.type.default
    of_value = value.dtype if value is not None else ""
    if of_value == "bool" and not of_tensor and row.each and row.dtype == "same" and row.type is None:
        return ""  # numbers, for most
    match row.dtype:
        case "same" | "given":
            return of_value
        case "float":
            return dtypes.floated(of_value, of_tensor=of_tensor)
        case "sum" if of_tensor and not dtypes.is_float(of_value) and dtypes.size(of_value) < 4:
            return ""  # Keras takes wider ones
        case "sum":
            return dtypes.summed(of_value, of_tensor=of_tensor)
        case "mean":
            return dtypes.averaged(of_value, of_tensor=of_tensor)
        case "bool":
            return "bool"
    return ""


def _first(kind: ArrayKind, given: Given) -> TensorValue | Pending | None:
    """The first argument, as a tensor or an array."""
    if given.first is None:
        return None
    value = stacked_value(given.value_of(given.first), kind)
    return value if isinstance(value, TensorValue | Pending) else None


def _is_cast_to_itself(given: Given, dtype: str) -> bool:
    """Whether a variable already has the type that it is cast to: then `tf.cast` gives the variable."""
    whole = given.value(0, "x")
    return isinstance(whole, TensorValue) and whole.kind == "variable" and whole.dtype in ("", dtype)


_Shaped: TypeAlias = Callable[[Operation, Given, Shape | None], Shape | None]
_Applied: TypeAlias = Callable[[Operation, ArrayKind, Given], Value]


def _of_first(shaped: _Shaped) -> Callable[[Operation, ArrayKind, Given], Value]:
    """An operation on its first argument."""

    def apply(row: Operation, kind: ArrayKind, given: Given) -> Value:
        first = _first(kind, given)
        if isinstance(first, Pending):
            return PENDING
        try:
            shape = shaped(row, given, first.shape if first is not None else None)
        except LookupError:  # an axis that is not known
            shape = None
        dtype = _dtype(row, kind, given, first)
        if first is not None and row.casts and _is_cast_to_itself(given, dtype):
            return TensorValue("variable", dtype, shape)
        return TensorValue(kind, dtype, shape)

    return apply


def _same(row: Operation, given: Given, shape: Shape | None) -> Shape | None:
    if row.is_array and given.expression(2 if row.type and row.type.position == 1 else -1, "shape") is not None:
        is_constant = given.name in ("tf.constant", "tf.compat.v1.constant")
        return given.shape(2, "shape") if is_constant else shape
    if row.says is not None and row.says.keyword == "shape":
        said = given.shape(row.says.position, "shape")
        return shape if shape is not None else said
    return shape


def _rows(row: Operation, given: Given, shape: Shape | None) -> Shape | None:
    if row.says is not None and row.says.keyword in ("depth", "num_classes"):
        length = given.length(row.says.position, row.says.keyword)
        axis = given.constant(4 if row.says.keyword == "depth" else 2, "axis")
        if given.name.endswith(".to_categorical") and shape is not None and len(shape) > 1 and shape[-1] == 1:
            shape = shape[:-1]
        if shape is None or given.said(4, "axis") is None:
            return None if shape is None else (*shape, length)
        place = axis % (len(shape) + 1) if type(axis) is int else None
        return None if place is None else (*shape[:place], length, *shape[place:])
    if row.says is not None and row.says.keyword in ("size", "target_height") and shape is not None and len(shape) >= 3:
        if row.says.keyword == "size":
            size = given.shape(row.says.position, "size")
        else:
            size = (given.length(1, "target_height"), given.length(2, "target_width"))
        height, width = size if size is not None and len(size) == 2 else (None, None)
        return (*shape[:-3], height, width, shape[-1])
    return None


def _expanded(row: Operation, given: Given, shape: Shape | None) -> Shape | None:
    axes = given.axes(row.says)
    return shapes.expanded(shape, axes[0] if axes is not None and len(axes) == 1 else None)


def _squeezed(row: Operation, given: Given, shape: Shape | None) -> Shape | None:
    return shapes.squeezed(shape, given.axes(row.says))


def _reshaped(row: Operation, given: Given, shape: Shape | None) -> Shape | None:
    assert row.says is not None
    said = given.shape(row.says.position, row.says.keyword)
    return shapes.reshaped(shape, said if said is not None else given.shape(1, "newshape"))


def _reduced(row: Operation, given: Given, shape: Shape | None) -> Shape | None:
    keeps = any(given.constant(2 if given.name.startswith("tf.") else -1, word) is True for word in _KEEPDIMS)
    axes = given.axes(row.says)
    if axes is None and given.name.startswith(("tf.argm", "tf.math.argm")):
        axes = (0,)
    if given.is_open:
        return None
    return shapes.reduced(shape, axes, keeps)


def _transposed(row: Operation, given: Given, shape: Shape | None) -> Shape | None:
    return shapes.transposed(shape, given.axes(row.says))


def _tiled(row: Operation, given: Given, shape: Shape | None) -> Shape | None:
    assert row.says is not None
    return shapes.tiled(shape, given.shape(row.says.position, row.says.keyword))


def _padded(row: Operation, given: Given, shape: Shape | None) -> Shape | None:
    assert row.says is not None
    said = given.constant(row.says.position, row.says.keyword)
    pairs = said if isinstance(said, tuple) and all(_is_pair(pair) for pair in said) else None
    return shapes.padded(shape, pairs)


def _is_pair(value: object) -> bool:
    return isinstance(value, tuple) and len(value) == 2 and all(type(length) is int for length in value)


def _gathered(row: Operation, given: Given, shape: Shape | None) -> Shape | None:
    indices = stacked_value(given.value(1, "indices"), "tensor")
    axes = given.axes(row.says)
    if not isinstance(indices, TensorValue) or given.expression(-1, "batch_dims") is not None:
        return None
    return shapes.gathered(shape, indices.shape, axes[0] if axes else None)


def _scalar(row: Operation, given: Given, shape: Shape | None) -> Shape | None:
    return ()


def _sizes(row: Operation, given: Given, shape: Shape | None) -> Shape | None:
    return (len(shape) if shape is not None else None,)


def _repeated(row: Operation, given: Given, shape: Shape | None) -> Shape | None:
    axes = given.axes(row.says)
    if shape is None or axes is None:
        return (None,) if axes is None and given.expression(2, "axis") is None else None
    count = given.length(1, "repeats")
    place = axes[0] % len(shape) if shape else 0
    length = shape[place]
    total = length * count if count is not None and length is not None else None
    return (*shape[:place], total, *shape[place + 1 :])


def _filled(row: Operation, kind: ArrayKind, given: Given) -> Value:
    assert row.says is not None
    content: Value = None
    if row.type is None or row.type.position == 2:
        content = given.value(1, "value" if given.name == "tf.fill" else "fill_value")
    if row.says.keyword == "num":
        return _spaced(row, kind, given)
    if row.dtype == "same":  # `broadcast_to`
        content = given.value(0, "input")
    if isinstance(content, Pending):
        return PENDING
    made = stacked_value(content, kind)
    dtype = _dtype(row, kind, given, made if isinstance(made, TensorValue) and content is not None else None)
    if given.of(row.says) is None:
        if row.draws and not given.is_open and kind == "array":
            return TensorValue("number", "float" if dtype == "float64" else "int", ())
        return TensorValue(kind, dtype)
    return TensorValue(kind, dtype, given.shape(row.says.position, row.says.keyword))


def _spaced(row: Operation, kind: ArrayKind, given: Given) -> Value:
    count = given.length(2, "num") if given.said(2, "num") is not None else 50
    start = stacked_value(given.value(0, "start"), kind)
    stop = stacked_value(given.value(1, "stop"), kind)
    if not isinstance(start, TensorValue) or not isinstance(stop, TensorValue):
        return PENDING if PENDING in (start, stop) else TensorValue(kind)
    dtype = "float64"
    if kind == "tensor":
        dtype = start.dtype if start.dtype == stop.dtype and dtypes.is_float(start.dtype) else ""
        dtype = "float64" if start.dtype == stop.dtype and start.dtype in ("int32", "int64") else dtype
    asked = given.dtype(Parameter("dtype", 5), of_tensor=kind == "tensor")
    shape: Shape | None = (count,) if start.shape == stop.shape == () else None
    return TensorValue(kind, asked if asked is not None else dtype, shape)


def _counted(row: Operation, kind: ArrayKind, given: Given) -> Value:
    if given.name.endswith(".eye"):
        rows = given.length(0, "num_rows")
        is_square = given.said(1, "num_columns") is None and given.said(1, "M") is None
        columns = rows if is_square else given.length(1, "num_columns")
        batch: Shape | None = ()
        if given.said(2, "batch_shape") is not None and kind == "tensor":
            batch = given.shape(2, "batch_shape")
        return TensorValue(kind, _dtype(row, kind, given, None), None if batch is None else (*batch, rows, columns))
    if row.draws:
        lengths = given.lengths()
        return TensorValue(kind, "float64", lengths) if lengths else TensorValue("number", "float", ())
    return _range(row, kind, given)


def _range(row: Operation, kind: ArrayKind, given: Given) -> Value:
    asked = given.dtype(row.type, of_tensor=kind == "tensor")
    given_limits = [given.value(i, word) for i, word in enumerate(RANGE[kind])]
    types = {v.dtype for v in given_limits if isinstance(v, TensorValue)}
    dtype = asked
    if dtype is None:
        known = all(isinstance(v, TensorValue) for v in given_limits if v is not None) and bool(types)
        of_numbers = {dtypes.of_python(t, of_tensor=kind == "tensor") or t for t in types}
        if len(of_numbers) > 1 and of_numbers <= {"int32", "float32", "int64", "float64"}:
            floats = sorted(t for t in of_numbers if dtypes.is_float(t))
            of_numbers = {floats[-1]} if floats else {"int64"}
        dtype = of_numbers.pop() if known and len(of_numbers) == 1 else ""
    return TensorValue(kind, dtype, (_range_length(kind, given),))


def _range_length(kind: ArrayKind, given: Given) -> Dimension:
    start, stop, step = (
        given.constant(i, word) if given.expression(i, word) is not None else None for i, word in enumerate(RANGE[kind])
    )
    if stop is None:
        start, stop = 0, start
    step = 1 if step is None else step
    numbers: tuple[Any, ...] = (start, stop, step)
    if not all(type(number) in (int, float) for number in numbers) or step == 0:
        return None
    return max(0, -int(-(numbers[1] - numbers[0]) // numbers[2]))


def _joined(row: Operation, kind: ArrayKind, given: Given) -> Value:
    """`tf.concat([a, b], 0)`, `np.vstack(parts)`."""
    parts = _list(given, kind)
    if isinstance(parts, Pending):
        return PENDING
    try:
        axes = given.axes(row.says) if row.says is not None and row.says.keyword else None
        axis = axes[0] if axes else row.says.default if row.says is not None and type(row.says.default) is int else None
    except LookupError:
        axis = None
    if parts is None or not isinstance(axis, int):
        return TensorValue(kind, "" if parts is None else _common_dtype(parts, kind))
    lifted = [part.shape for part in parts]
    if row.says is not None and not row.says.keyword and any(shape is not None and len(shape) < 2 for shape in lifted):
        return TensorValue(kind, _common_dtype(parts, kind))
    return TensorValue(kind, _common_dtype(parts, kind), shapes.concatenated(lifted, axis))


def _stacked(row: Operation, kind: ArrayKind, given: Given) -> Value:
    parts = _list(given, kind)
    if isinstance(parts, Pending):
        return PENDING
    try:
        axes = given.axes(row.says)
    except LookupError:
        axes = None
    whole = given.value(0, "values")
    if parts is None:
        return stacked_value(whole, kind) if axes == (0,) else TensorValue(kind)
    of_arrays = isinstance(whole, StructureValue) and not any(map(_is_tensor, whole.items))
    # TensorFlow makes int32 of arrays of int64.
    dtype = "" if kind == "tensor" and of_arrays else _common_dtype(parts, kind)
    return TensorValue(kind, dtype, shapes.stacked([part.shape for part in parts], axes[0] if axes else None))


def _list(given: Given, kind: ArrayKind) -> list[TensorValue] | Pending | None:
    """The tensors of the list that is the first argument; None where it is not known how many there are.

    What is known of none of its items but that it is there is a tensor, too: nothing else can be joined.
    """
    value = given.value_of(given.first)
    if isinstance(value, Pending):
        return PENDING
    if not isinstance(value, StructureValue) or value.keys is not None:
        return None
    parts = [stacked_value(item, kind) for item in value.items]
    if any(isinstance(part, Pending) for part in parts):
        return PENDING
    if not any(isinstance(part, TensorValue) for part in parts):
        return None
    return [part if isinstance(part, TensorValue) else TensorValue(kind) for part in parts]


def _common_dtype(parts: list[TensorValue], kind: ArrayKind) -> str:
    dtype = parts[0].dtype
    for part in parts[1:]:
        dtype = dtypes.promoted(dtype, part.dtype) if kind == "array" else dtype if dtype == part.dtype else ""
    return dtype


def _is_tensor(value: Value) -> bool:
    return isinstance(value, TensorValue) and value.kind in ("tensor", "variable")


def _operands(values: Sequence[Value], kind: ArrayKind) -> list[Value]:
    """Operands as a function takes them: NumPy's make arrays of tensors; numbers take the type of what is next to them.

    Of arrays of several types it is not known in which TensorFlow's functions compute.
    """
    operands = [
        value
        if isinstance(value, TensorValue) and (value.is_number or kind == "tensor")
        else stacked_value(value, kind)
        for value in values
    ]
    plain = [value for value in operands if isinstance(value, TensorValue) and value.kind in ("array", "number")]
    if kind == "tensor" and len(plain) == len(operands) and len({value.dtype for value in plain}) > 1:
        return [TensorValue("tensor", "", value.shape) for value in plain]
    return operands


def _broadcast(row: Operation, kind: ArrayKind, given: Given) -> Value:
    first, second = given.value(0, "x"), given.value(1, "y")
    if PENDING in (first, second):
        return PENDING
    pair = _operands((first, second), kind)
    if row.dtype == "float" and kind == "tensor" and not all(_is_tensor(value) for value in (first, second)):
        return None  # `tf.divide` divides as Python does
    result = operated(pair[0], cst.Divide() if row.dtype == "float" else cst.Add(), pair[1])
    if row.dtype == "bool" and isinstance(result, TensorValue):
        return TensorValue(kind, "bool", result.shape)
    if isinstance(result, TensorValue) and result.is_number:
        return TensorValue(kind, dtypes.of_python(result.dtype, of_tensor=kind == "tensor"), ())
    return TensorValue(kind, result.dtype, result.shape) if isinstance(result, TensorValue) else TensorValue(kind)


def _chosen(row: Operation, kind: ArrayKind, given: Given) -> Value:
    if given.count < 3 and given.expression(1, "x") is None:
        condition = _first(kind, given)
        rank = len(condition.shape) if isinstance(condition, TensorValue) and condition.shape is not None else None
        return TensorValue("tensor", "int64", (None, rank)) if kind == "tensor" else None
    values = [given.value(0, "condition"), given.value(1, "x"), given.value(2, "y")]
    if PENDING in values:
        return PENDING
    asked, first, second = _operands(values, kind)
    result = operated(first, cst.Add(), second)
    if not isinstance(result, TensorValue) or not isinstance(asked, TensorValue):
        return TensorValue(kind)
    dtype = dtypes.of_python(result.dtype, of_tensor=kind == "tensor") if result.is_number else result.dtype
    return TensorValue(kind, dtype, shapes.broadcast(result.shape, asked.shape))


def _product(row: Operation, kind: ArrayKind, given: Given) -> Value:
    first, second = given.value(0, "a"), given.value(1, "b")
    if PENDING in (first, second):
        return PENDING
    tensors = [
        value for value in (stacked_value(first, kind), stacked_value(second, kind)) if isinstance(value, TensorValue)
    ]
    if len(tensors) < 2:
        return TensorValue(kind)
    left, right = (tensor.shape for tensor in tensors)
    if given.constant(2, "transpose_a") is True:
        left = None if left is None or len(left) < 2 else (*left[:-2], left[-1], left[-2])
    if given.constant(3, "transpose_b") is True:
        right = None if right is None or len(right) < 2 else (*right[:-2], right[-1], right[-2])
    is_dot = given.name.endswith(".dot")
    if is_dot and (left is None or right is None or len(left) > 2 or len(right) > 2):
        return TensorValue(kind, _common_dtype(tensors, kind))
    return TensorValue(kind, _common_dtype(tensors, kind), shapes.product(left, right))


def _summed(row: Operation, kind: ArrayKind, given: Given) -> Value:
    equation = given.constant(0, "equation")
    operands = [stacked_value(given.value(i), kind) for i in range(1, given.count)]
    if any(isinstance(operand, Pending) for operand in operands):
        return PENDING
    tensors = [operand for operand in operands if isinstance(operand, TensorValue)]
    if not isinstance(equation, str) or len(tensors) < len(operands) or not tensors:
        return TensorValue(kind)
    return TensorValue(kind, _common_dtype(tensors, kind), shapes.summed(equation, [t.shape for t in tensors]))


def _appended(row: Operation, kind: ArrayKind, given: Given) -> Value:
    parts = [stacked_value(given.value(i), kind) for i in (0, 1)]
    tensors = [part for part in parts if isinstance(part, TensorValue)]
    axis = given.constant(2, "axis")
    if len(tensors) < 2:
        return PENDING if PENDING in parts else TensorValue(kind)
    shape = shapes.concatenated([t.shape for t in tensors], axis) if type(axis) is int else (None,)
    return TensorValue(kind, _common_dtype(tensors, kind), shape)


def _second(row: Operation, kind: ArrayKind, given: Given) -> Value:
    second = stacked_value(given.value(1, "rhs"), kind)
    return TensorValue(kind, second.dtype, second.shape) if isinstance(second, TensorValue) else second


def _drawn(row: Operation, kind: ArrayKind, given: Given) -> Value:
    """`tf.random.gamma([30], [0.5, 1.5])`: for each of the parameters as many as are asked for."""
    inner: Shape | None = ()
    for place, keyword in ((1, "alpha"), (2, "beta")) if row.type and row.type.position == 3 else ((1, "lam"),):
        if given.expression(place, keyword) is not None:
            value = stacked_value(given.value(place, keyword), kind)
            inner = shapes.broadcast(inner, value.shape if isinstance(value, TensorValue) else None)
    shape = given.shape(0, "shape")
    whole = None if shape is None or inner is None else (*shape, *inner)
    return TensorValue(kind, _dtype(row, kind, given, None), whole)


def _parts(row: Operation, kind: ArrayKind, given: Given) -> Value:
    """`tf.split(x, 3, axis=1)`, `tf.unstack(x)`."""
    first = _first(kind, given)
    if not isinstance(first, TensorValue):
        return first
    is_unstack = given.name.endswith(".unstack")
    count = given.constant(1, "num" if is_unstack else "num_or_size_splits")
    axes = given.axes(row.says)
    axis = axes[0] if axes else None
    shape = first.shape
    if axis is None or shape is None or not -len(shape) <= axis < len(shape):
        return SequenceValue(TensorValue(kind, first.dtype))
    place = axis % len(shape)
    if is_unstack:
        part = TensorValue(kind, first.dtype, (*shape[:place], *shape[place + 1 :]))
        length = shape[place]
        return StructureValue((part,) * length) if length is not None and length <= _MOST_PARTS else SequenceValue(part)
    lengths: list[Dimension] = []
    if type(count) is int and 0 < count <= _MOST_PARTS:
        whole = shape[place]
        lengths = [whole // count if whole is not None and whole % count == 0 else None] * count
    elif isinstance(count, tuple) and kind == "tensor":
        lengths = [n if type(n) is int and n >= 0 else None for n in count]
    parts = tuple(TensorValue(kind, first.dtype, (*shape[:place], n, *shape[place + 1 :])) for n in lengths)
    return StructureValue(parts) if parts else SequenceValue(TensorValue(kind, first.dtype, (None,) * len(shape)))


def _largest(row: Operation, kind: ArrayKind, given: Given) -> Value:
    """`tf.math.top_k(x, k=3)`: `values, indices`."""
    first = _first(kind, given)
    if not isinstance(first, TensorValue):
        return first
    count = given.length(1, "k") if given.said(1, "k") is not None else 1
    shape = None if not first.shape else (*first.shape[:-1], count)
    indices = given.dtype(Parameter("index_type", -1), of_tensor=True) or "int32"
    items = (TensorValue(kind, first.dtype, shape), TensorValue(kind, indices, shape))
    return StructureValue(items, ("values", "indices"))


_OF_SHAPE: dict[str, _Applied] = {
    "sliced": lambda row, kind, given: functions.sliced(given),
    "points": lambda row, kind, given: functions.points(given),
    "contracted": lambda row, kind, given: functions.contracted(given),
    "masked": lambda row, kind, given: functions.masked(given),
    "decoded": functions.decoded,
    "examples": lambda row, kind, given: functions.examples(given),
    "second": _second,
    "drawn": _drawn,
    "parts": _parts,
    "largest": _largest,
    "same": _of_first(_same),
    "rows": _of_first(_rows),
    "expanded": _of_first(_expanded),
    "squeezed": _of_first(_squeezed),
    "reshaped": _of_first(_reshaped),
    "reduced": _of_first(_reduced),
    "transposed": _of_first(_transposed),
    "tiled": _of_first(_tiled),
    "padded": _of_first(_padded),
    "gathered": _of_first(_gathered),
    "repeated": _of_first(_repeated),
    "scalar": _of_first(_scalar),
    "sizes": _of_first(_sizes),
    "filled": _filled,
    "counted": _counted,
    "joined": _joined,
    "stacked": _stacked,
    "broadcast": _broadcast,
    "chosen": _chosen,
    "product": _product,
    "summed": _summed,
    "appended": _appended,
}


def drawn(method: str, given: Given) -> Value:
    """What a generator of NumPy draws: `rng.normal(size=(3, 4))`; some take a type, which no function does."""
    row = draw_named(method)
    value = _OF_SHAPE[row.shape](row, "array", given) if row.shape in ("filled", "counted") else None
    if not isinstance(value, TensorValue) or row.type is None or row.type.keyword:
        return value
    dtype = given.dtype(Parameter("dtype", 1), of_tensor=False) if row.size and row.size.position == 0 else None
    return value if dtype is None or value.is_number else TensorValue("array", dtype, value.shape)


def of_text(method: str) -> Value:
    """What a method of a text, or of a file of text, gives."""
    return TEXT if method in _GIVING_TEXT else SequenceValue(TEXT) if method in _GIVING_TEXTS else None


def of_method(whole: TensorValue, method: str, given: Given) -> Value:
    """What a method of a tensor, a variable or an array gives: an array's does what the function of its name does."""
    if whole.is_number:
        return of_text(method) if whole.dtype == "str" else None
    if method in VARIABLE_METHODS and whole.kind == "variable":
        return whole if method.startswith("assign") else TensorValue("tensor", whole.dtype, whole.shape)
    if method == "numpy":
        return TensorValue("array", whole.dtype, whole.shape)
    if method == "to_tensor" and whole.kind == "ragged":
        return TensorValue("tensor", whole.dtype)
    if whole.kind != "array":
        return None
    if method in ("flatten", "ravel"):
        return TensorValue("array", whole.dtype, shapes.reshaped(whole.shape, (-1,)))
    if method == "reshape" and given.count > 1:
        return TensorValue("array", whole.dtype, shapes.reshaped(whole.shape, given.lengths()))
    if method == "transpose" and given.count > 1:
        order = tuple(axis for axis in given.lengths() if axis is not None)
        return TensorValue("array", whole.dtype, shapes.transposed(whole.shape, order))
    row = operation_named(f"numpy.{method}")
    if method not in ARRAY_METHODS and row.shape not in ("reduced", "repeated", "gathered", "product"):
        return None
    return applied(f"numpy.{method}", given.as_function(f"numpy.{method}"))
