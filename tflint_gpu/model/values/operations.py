"""What operations on tensors and arrays give, from the rows of `library.operations`."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

import libcst as cst

from tflint_gpu.model.library.datasets import Parameter
from tflint_gpu.model.library.operations import Operation, draw_named, operation_named
from tflint_gpu.model.library.tensor_functions import VARIABLE_METHODS, returns_several, returns_tensor
from tflint_gpu.model.values import dtypes, shapes
from tflint_gpu.model.values.value import (
    PENDING,
    Dimension,
    Pending,
    SequenceValue,
    Shape,
    StructureValue,
    TensorValue,
    Value,
    joined,
)

if TYPE_CHECKING:
    from tflint_gpu.model.python.project.file import File
    from tflint_gpu.model.values.arguments import Given

_Kind = Literal["tensor", "array"]
_BOOL_NUMBER = TensorValue("number", "bool", ())
_Applied: TypeAlias = "Callable[[Operation, _Kind, Given], Value]"
_Other: TypeAlias = "Callable[[Given], Value]"
_MOST_PARTS = 32
_RANGE = {"tensor": ("start", "limit", "delta"), "array": ("start", "stop", "step")}
_KEEPDIMS = ("keepdims", "keep_dims")


def applied(name: str, given: Given) -> Value:
    """What a function of TensorFlow, NumPy or Keras gives; None where nothing is known."""
    if name in ("tf.Variable", "tf.compat.v1.get_variable"):
        return _variable(given)
    if name in ("keras.Input", "keras.layers.Input"):
        return _input(given)
    row = operation_named(name) if name not in _OTHERS else operation_named(None)
    kind: _Kind = "array" if name.startswith("numpy.") else "tensor"
    if not row.shape:
        return _without_row(name, given)
    try:
        value = _OF_SHAPE[row.shape](row, kind, given) if row.shape in _OF_SHAPE else TensorValue(kind)
    except LookupError:  # an axis that is not known
        value = TensorValue(kind)
    if isinstance(value, TensorValue) and name == "tf.ragged.constant":
        return TensorValue("ragged", value.dtype)
    if isinstance(value, TensorValue) and row.dtype == "named":
        return TensorValue(kind, name.rpartition(".")[2], value.shape)
    return value


def _without_row(name: str, given: Given) -> Value:
    """What is known without a row: that it is a tensor."""
    if name in _OTHERS:
        return _OTHERS[name](given)
    if name.startswith(("tf.io.decode_", "tf.image.decode_")) and name.rpartition(".")[2] in _DECODERS:
        return _decoded(name.rpartition(".")[2], given)
    if name.startswith("tf.RaggedTensor.from_") or name.startswith("tf.ragged."):
        return TensorValue("ragged")
    if name in ("tf.SparseTensor", "tf.sparse.SparseTensor") or name.startswith("tf.sparse."):
        return TensorValue("sparse") if "to_dense" not in name and "reduce" not in name else TensorValue("tensor")
    if returns_tensor(name) and not returns_several(name):
        return TensorValue("tensor")
    return None


def _examples(given: Given, rows: Shape) -> Value:
    """`tf.io.parse_single_example(record, {"image": tf.io.FixedLenFeature([784], tf.float32)})`."""
    features = given.expression(1, "features")
    origins = given.values.inference.of(given.file, features, given.context) if features is not None else ()
    node = origins[0].node if len(origins) == 1 and not origins[0].access_path else None
    if not isinstance(node, cst.Dict):
        return None
    keys: list[str | int] = []
    items: list[Value] = []
    for element in node.elements:
        key = given.values.constants.of(origins[0].file, element.key) if isinstance(element, cst.DictElement) else None
        if not isinstance(key, str):
            return None
        keys.append(key)
        items.append(_feature(given, origins[0].file, element.value, rows))
    return StructureValue(tuple(items), tuple(keys))


def _feature(given: Given, file: File, expr: cst.BaseExpression, rows: Shape) -> Value:
    kind = (file.name(expr.func) or "").rpartition(".")[2] if isinstance(expr, cst.Call) else ""
    if not isinstance(expr, cst.Call) or kind not in ("FixedLenFeature", "VarLenFeature"):
        return None
    feature = given.at(file, expr)
    dtype = feature.dtype(Parameter("dtype", 0 if kind == "VarLenFeature" else 1), of_tensor=True) or ""
    if kind == "VarLenFeature":
        return TensorValue("sparse", dtype)
    shape = () if feature.constant(0, "shape") == () else feature.shape(0, "shape")
    return TensorValue("tensor", dtype, None if shape is None else (*rows, *shape))


def _decoded(name: str, given: Given) -> Value:
    """`tf.io.decode_jpeg(data, channels=3)`; a GIF has one dimension more, also for `decode_image`."""
    channels = given.constant(1, "channels")
    dtype = given.dtype(Parameter("dtype", _DECODERS[name]), of_tensor=True)
    has_frames = name == "decode_gif" or (
        name == "decode_image" and given.constant(3, "expand_animations") is not False
    )
    shape = (None, None, channels if type(channels) is int and channels > 0 else None)
    return TensorValue("tensor", "uint8" if dtype is None else dtype, None if has_frames else shape)


def _sequence_mask(given: Given) -> Value:
    lengths = stacked_value(given.value(0, "lengths"), "tensor")
    longest = given.constant(1, "maxlen")
    dtype = given.dtype(Parameter("dtype", 2), of_tensor=True)
    if not isinstance(lengths, TensorValue) or lengths.shape is None:
        return TensorValue("tensor", "bool" if dtype is None else dtype)
    shape = (*lengths.shape, longest if type(longest) is int else None)
    return TensorValue("tensor", "bool" if dtype is None else dtype, shape)


def _slice(given: Given) -> Value:
    whole, begin, size = (given.value(i, word) for i, word in enumerate(("input_", "begin", "size")))
    if PENDING in (whole, begin, size):
        return PENDING
    tensor, starts, lengths = stacked_value(whole, "tensor"), given.constant(1, "begin"), given.shape(2, "size")
    if not isinstance(tensor, TensorValue) or lengths is None:
        return TensorValue("tensor", tensor.dtype if isinstance(tensor, TensorValue) else "")
    if -1 not in lengths:
        return TensorValue("tensor", tensor.dtype, lengths)
    if not isinstance(starts, tuple) or tensor.shape is None or len(starts) != len(lengths) != len(tensor.shape):
        return TensorValue("tensor", tensor.dtype, tuple(None if n == -1 else n for n in lengths))
    return TensorValue(
        "tensor",
        tensor.dtype,
        tuple(
            n if n != -1 else whole_length - start if type(start) is int and whole_length is not None else None
            for n, start, whole_length in zip(lengths, starts, tensor.shape, strict=True)
        ),
    )


def _gather_nd(given: Given) -> Value:
    params, indices = (stacked_value(given.value(i, word), "tensor") for i, word in enumerate(("params", "indices")))
    if not isinstance(params, TensorValue) or not isinstance(indices, TensorValue):
        return PENDING if PENDING in (params, indices) else TensorValue("tensor")
    shape, places = params.shape, indices.shape
    if shape is None or not places or places[-1] is None or given.expression(2, "batch_dims") is not None:
        return TensorValue("tensor", params.dtype)
    return TensorValue("tensor", params.dtype, (*places[:-1], *shape[places[-1] :]))


def _tensordot(given: Given) -> Value:
    first, second = (stacked_value(given.value(i, word), "tensor") for i, word in enumerate(("a", "b")))
    axes = given.constant(2, "axes")
    if not isinstance(first, TensorValue) or not isinstance(second, TensorValue):
        return PENDING if PENDING in (first, second) else TensorValue("tensor")
    if type(axes) is not int or first.shape is None or second.shape is None:
        return TensorValue("tensor", first.dtype)
    return TensorValue("tensor", first.dtype, (*first.shape[: len(first.shape) - axes], *second.shape[axes:]))


def _symbolic(given: Given) -> Value:
    """`tf.Tensor(operation, 0, tf.float32)`."""
    return TensorValue("tensor", given.dtype(Parameter("dtype", 2), of_tensor=True) or "")


_OTHERS: dict[str, _Other] = {
    "tf.io.parse_single_example": lambda given: _examples(given, ()),
    "tf.io.parse_example": lambda given: _examples(given, (None,)),
    "tf.io.read_file": lambda given: TensorValue("tensor", "string", ()),
    "tf.sequence_mask": _sequence_mask,
    "tf.slice": _slice,
    "tf.Tensor": _symbolic,
    "tf.experimental.numpy.ndarray": _symbolic,
    "tf.gather_nd": _gather_nd,
    "tf.tensordot": _tensordot,
}
_DECODERS = {"decode_jpeg": -1, "decode_png": 2, "decode_image": 2, "decode_gif": -1, "decode_bmp": -1}


def _variable(given: Given) -> Value:
    from_keyword = given.expression(0, "initial_value")
    dtype = given.dtype(Parameter("dtype", 6), of_tensor=True)
    if isinstance(from_keyword, cst.Lambda):
        initial = given.values.found(given.file, from_keyword.body, given.context)
    else:
        initial = given.value(0, "initial_value")
    value = converted(initial, "tensor", dtype)
    if isinstance(value, TensorValue):
        shape = given.shape(11, "shape") if given.said(11, "shape") is not None else value.shape
        return TensorValue("variable", value.dtype, shape)
    return PENDING if isinstance(value, Pending) else TensorValue("variable", dtype or "")


def _input(given: Given) -> Value:
    """The symbolic tensor of `keras.Input`; behind the second argument the order is another one in Keras 2."""
    tensor = given.said(-1, "tensor")
    if tensor is not None:
        return given.value(-1, "tensor")
    if given.count > 2 or given.expression(-1, "type_spec") is not None:
        return TensorValue("tensor")
    shape = given.shape(0, "shape")
    batch = given.constant(1, "batch_size")
    dtype = given.dtype(Parameter("dtype", -1), of_tensor=True)
    whole = given.shape(-1, "batch_shape")
    size = batch if isinstance(batch, int) else None
    if whole is None and shape is not None:
        whole = (size, *shape)
    return TensorValue("tensor", "float32" if dtype is None else dtype, whole)


def converted(value: Value, kind: _Kind, dtype: str | None = None) -> Value:
    """What a value becomes that is made a tensor or an array."""
    made = stacked_value(value, kind)
    if isinstance(made, TensorValue) and dtype is not None:
        return TensorValue(made.kind, dtype, made.shape)
    return made


def stacked_value(value: Value, kind: _Kind) -> Value:
    """A number, or a list of what is alike, as one tensor or array."""
    if isinstance(value, TensorValue):
        if value.is_number:
            return TensorValue(kind, dtypes.of_python(value.dtype, of_tensor=kind == "tensor"), ())
        return TensorValue(kind, value.dtype, value.shape) if value.kind in ("variable", "array", "tensor") else value
    if isinstance(value, StructureValue) and value.keys is None:
        if not value.items:
            return TensorValue(kind, "float32" if kind == "tensor" else "float64", (0,))
        return _stacked_items([stacked_value(item, kind) for item in value.items], kind, value)
    if isinstance(value, SequenceValue):
        inner = stacked_value(value.element, kind)
        if isinstance(inner, TensorValue):
            return TensorValue(kind, inner.dtype, None if inner.shape is None else (value.length, *inner.shape))
        return inner if isinstance(inner, Pending) else TensorValue(kind)
    return PENDING if isinstance(value, Pending) else TensorValue(kind)


def _stacked_items(items: list[Value], kind: _Kind, whole: StructureValue) -> Value:
    if any(isinstance(item, Pending) for item in items):
        return PENDING
    tensors = [item for item in items if isinstance(item, TensorValue)]
    if len(tensors) < len(items):
        return TensorValue(kind)
    return TensorValue(kind, _dtype_of_all(tensors, whole, kind), shapes.stacked([t.shape for t in tensors], 0))


def _dtype_of_all(tensors: list[TensorValue], whole: StructureValue, kind: _Kind) -> str:
    """The type of numbers and tensors together: a number takes that of a tensor next to it."""
    found = {tensor.dtype for tensor in tensors}
    if len(found) == 1:
        return found.pop()
    written = [
        tensor.dtype
        for tensor, item in zip(tensors, whole.items, strict=True)
        if not (isinstance(item, TensorValue) and item.is_number)
    ]
    of_tensor = kind == "tensor"
    if not written and found <= {"int32", "float32", "int64", "float64"}:
        return dtypes.of_python("float", of_tensor=of_tensor)
    return written[0] if of_tensor and written and len(set(written)) == 1 else ""


# One function for each way to a shape.


def _dtype(row: Operation, kind: _Kind, given: Given, value: TensorValue | None) -> str:
    """The type of the result by the row."""
    of_tensor = kind == "tensor"
    asked = given.dtype(row.type, of_tensor=of_tensor) if row.type is not None else None
    if asked is not None:
        return asked
    if row.says is not None and row.says.keyword == "depth":
        hot = stacked_value(given.value(2, "on_value"), kind) if given.said(2, "on_value") is not None else None
        if isinstance(hot, TensorValue):
            return hot.dtype
    if row.type is not None and isinstance(row.type.default, str):
        return row.type.default
    of_value = value.dtype if value is not None else ""
    match row.dtype:
        case "same" | "given":
            return of_value
        case "float":
            return dtypes.floated(of_value, of_tensor=of_tensor)
        case "sum":
            return dtypes.summed(of_value, of_tensor=of_tensor)
        case "mean":
            return dtypes.averaged(of_value, of_tensor=of_tensor)
        case "bool":
            return "bool"
    return ""


def _first(kind: _Kind, given: Given) -> TensorValue | Pending | None:
    """The first argument, as a tensor or an array."""
    expr = given.call.args[0].value if given.call.args and not given.call.args[0].star else None
    if expr is None:
        return None
    value = stacked_value(given.values.found(given.file, expr, given.context), kind)
    return value if isinstance(value, TensorValue | Pending) else None


_Shaped: TypeAlias = "Callable[[Operation, Given, Shape | None], Shape | None]"


def _of_first(shaped: _Shaped) -> Callable[[Operation, _Kind, Given], Value]:
    """An operation on its first argument."""

    def apply(row: Operation, kind: _Kind, given: Given) -> Value:
        first = _first(kind, given)
        if isinstance(first, Pending):
            return PENDING
        try:
            shape = shaped(row, given, first.shape if first is not None else None)
        except LookupError:  # an axis that is not known
            shape = None
        return TensorValue(kind, _dtype(row, kind, given, first), shape)

    return apply


def _same(row: Operation, given: Given, shape: Shape | None) -> Shape | None:
    if row.is_array and given.expression(2 if row.type and row.type.position == 1 else -1, "shape") is not None:
        is_constant = given.file.name(given.call.func) in ("tf.constant", "tf.compat.v1.constant")
        return given.shape(2, "shape") if is_constant else shape
    if row.says is not None and row.says.keyword == "shape":
        said = given.shape(row.says.position, "shape")
        return shape if shape is not None else said
    return shape


def _rows(row: Operation, given: Given, shape: Shape | None) -> Shape | None:
    if row.says is not None and row.says.keyword in ("depth", "num_classes"):
        count = given.constant(row.says.position, row.says.keyword)
        axis = given.constant(4 if row.says.keyword == "depth" else 2, "axis")
        length = count if type(count) is int else None
        if shape is None or given.said(4, "axis") is None:
            return None if shape is None else (*shape, length)
        place = axis % (len(shape) + 1) if type(axis) is int else None
        return None if place is None else (*shape[:place], length, *shape[place:])
    if row.says is not None and row.says.keyword == "size" and shape is not None and len(shape) >= 3:
        size = given.shape(row.says.position, "size")
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
    name = given.file.name(given.call.func) or ""
    keeps = any(given.constant(2 if name.startswith("tf.") else -1, word) is True for word in _KEEPDIMS)
    axes = given.axes(row.says)
    if axes is None and name.startswith(("tf.argm", "tf.math.argm")):
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
    count = given.constant(1, "repeats")
    place = axes[0] % len(shape) if shape else 0
    length = shape[place]
    total = length * count if type(count) is int and length is not None else None
    return (*shape[:place], total, *shape[place + 1 :])


def _filled(row: Operation, kind: _Kind, given: Given) -> Value:
    assert row.says is not None
    name = given.file.name(given.call.func) or ""
    content: Value = None
    if row.type is None or row.type.position == 2:
        content = given.value(1, "value" if name == "tf.fill" else "fill_value")
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
    said = given.constant(row.says.position, row.says.keyword)
    shape = () if said == () else given.shape(row.says.position, row.says.keyword)
    return TensorValue(kind, dtype, shape)


def _spaced(row: Operation, kind: _Kind, given: Given) -> Value:
    count = given.constant(2, "num") if given.said(2, "num") is not None else 50
    start = stacked_value(given.value(0, "start"), kind)
    dtype = start.dtype if isinstance(start, TensorValue) and kind == "tensor" else "float64"
    asked = given.dtype(Parameter("dtype", 5), of_tensor=kind == "tensor")
    shape: Shape = (count if type(count) is int else None,)
    return TensorValue(kind, asked if asked is not None else dtype, shape)


def _counted(row: Operation, kind: _Kind, given: Given) -> Value:
    name = (given.file.name(given.call.func) or "").rpartition(".")[2]
    numbers = [given.value(i) for i in range(given.count)]
    if name == "eye":
        sides = [given.constant(i, keyword) for i, keyword in ((0, "num_rows"), (1, "num_columns"))]
        rows = sides[0] if type(sides[0]) is int else None
        columns = rows if given.said(1, "num_columns") is None and given.said(1, "M") is None else sides[1]
        batch: Shape | None = ()
        if given.said(2, "batch_shape") is not None and kind == "tensor":
            batch = given.shape(2, "batch_shape")
        shape = None if batch is None else (*batch, rows, columns if type(columns) is int else None)
        return TensorValue(kind, _dtype(row, kind, given, None), shape)
    if row.draws:
        lengths = [given.constant(i) for i in range(given.count)]
        if not lengths:
            return TensorValue("number", "float", ())
        return TensorValue(kind, "float64", tuple(n if type(n) is int else None for n in lengths))
    return _range(row, kind, given, [number for number in numbers if number is not None])


def _range(row: Operation, kind: _Kind, given: Given, numbers: list[Value]) -> Value:
    asked = given.dtype(row.type, of_tensor=kind == "tensor")
    given_limits = [given.value(i, word) for i, word in enumerate(_RANGE[kind])]
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


def _range_length(kind: _Kind, given: Given) -> Dimension:
    said = [given.expression(i, word) for i, word in enumerate(_RANGE[kind])]
    values = [given.values.constants.of(given.file, expr, given.context) if expr is not None else None for expr in said]
    start, stop, step = values
    if stop is None:
        start, stop = 0, start
    step = 1 if step is None else step
    numbers: tuple[Any, ...] = (start, stop, step)
    if not all(type(number) in (int, float) for number in numbers) or step == 0:
        return None
    return max(0, -int(-(numbers[1] - numbers[0]) // numbers[2]))


def _joined(row: Operation, kind: _Kind, given: Given) -> Value:
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


def _stacked(row: Operation, kind: _Kind, given: Given) -> Value:
    parts = _list(given, kind)
    if isinstance(parts, Pending):
        return PENDING
    try:
        axes = given.axes(row.says)
    except LookupError:
        axes = None
    if parts is None:
        return stacked_value(given.value(0, "values"), kind) if axes == (0,) else TensorValue(kind)
    return TensorValue(
        kind, _common_dtype(parts, kind), shapes.stacked([part.shape for part in parts], axes[0] if axes else None)
    )


def _list(given: Given, kind: _Kind) -> list[TensorValue] | Pending | None:
    """The tensors of the list that is the first argument; None where they are not known one by one."""
    value = given.values.found(given.file, given.call.args[0].value, given.context) if given.call.args else None
    if isinstance(value, Pending):
        return PENDING
    if not isinstance(value, StructureValue) or value.keys is not None:
        return None
    parts = [stacked_value(item, kind) for item in value.items]
    if any(isinstance(part, Pending) for part in parts):
        return PENDING
    tensors = [part for part in parts if isinstance(part, TensorValue)]
    return tensors if len(tensors) == len(parts) and tensors else None


def _common_dtype(parts: list[TensorValue], kind: _Kind) -> str:
    dtype = parts[0].dtype
    for part in parts[1:]:
        dtype = dtypes.promoted(dtype, part.dtype) if kind == "array" else dtype if dtype == part.dtype else ""
    return dtype


def _broadcast(row: Operation, kind: _Kind, given: Given) -> Value:
    first, second = given.value(0, "x"), given.value(1, "y")
    if PENDING in (first, second):
        return PENDING
    pair = [
        value if isinstance(value, TensorValue) else stacked_value(value, kind) if value is not None else None
        for value in (first, second)
    ]
    result = operated(pair[0], cst.Divide() if row.dtype == "float" else cst.Add(), pair[1])
    if row.dtype == "bool" and isinstance(result, TensorValue):
        return TensorValue(kind, "bool", result.shape)
    if isinstance(result, TensorValue) and result.is_number:
        return TensorValue(kind, dtypes.of_python(result.dtype, of_tensor=kind == "tensor"), ())
    return TensorValue(kind, result.dtype, result.shape) if isinstance(result, TensorValue) else TensorValue(kind)


def _chosen(row: Operation, kind: _Kind, given: Given) -> Value:
    if given.count < 3 and given.expression(1, "x") is None:
        condition = _first(kind, given)
        rank = len(condition.shape) if isinstance(condition, TensorValue) and condition.shape is not None else None
        return TensorValue("tensor", "int64", (None, rank)) if kind == "tensor" else None
    values = [given.value(0, "condition"), given.value(1, "x"), given.value(2, "y")]
    if PENDING in values:
        return PENDING
    asked, first, second = (v if isinstance(v, TensorValue) else stacked_value(v, kind) for v in values)
    result = operated(first, cst.Add(), second)
    if not isinstance(result, TensorValue) or not isinstance(asked, TensorValue):
        return TensorValue(kind)
    dtype = dtypes.of_python(result.dtype, of_tensor=kind == "tensor") if result.is_number else result.dtype
    return TensorValue(kind, dtype, shapes.broadcast(result.shape, asked.shape))


def _product(row: Operation, kind: _Kind, given: Given) -> Value:
    first, second = given.value(0, "a"), given.value(1, "b")
    if PENDING in (first, second):
        return PENDING
    one, other = stacked_value(first, kind), stacked_value(second, kind)
    if not isinstance(one, TensorValue) or not isinstance(other, TensorValue):
        return TensorValue(kind)
    left, right = one.shape, other.shape
    if given.constant(2, "transpose_a") is True:
        left = None if left is None or len(left) < 2 else (*left[:-2], left[-1], left[-2])
    if given.constant(3, "transpose_b") is True:
        right = None if right is None or len(right) < 2 else (*right[:-2], right[-1], right[-2])
    is_dot = (given.file.name(given.call.func) or "").endswith(".dot")
    if is_dot and (left is None or right is None or len(left) > 2 or len(right) > 2):
        return TensorValue(kind, _common_dtype([one, other], kind))
    return TensorValue(kind, _common_dtype([one, other], kind), shapes.product(left, right))


def _summed(row: Operation, kind: _Kind, given: Given) -> Value:
    equation = given.constant(0, "equation")
    operands = [stacked_value(given.value(i), kind) for i in range(1, given.count)]
    if any(isinstance(operand, Pending) for operand in operands):
        return PENDING
    tensors = [operand for operand in operands if isinstance(operand, TensorValue)]
    if not isinstance(equation, str) or len(tensors) < len(operands) or not tensors:
        return TensorValue(kind)
    return TensorValue(kind, _common_dtype(tensors, kind), shapes.summed(equation, [t.shape for t in tensors]))


def _appended(row: Operation, kind: _Kind, given: Given) -> Value:
    parts = [stacked_value(given.value(i), kind) for i in (0, 1)]
    tensors = [part for part in parts if isinstance(part, TensorValue)]
    axis = given.constant(2, "axis")
    if len(tensors) < 2:
        return PENDING if PENDING in parts else TensorValue(kind)
    shape = shapes.concatenated([t.shape for t in tensors], axis) if type(axis) is int else (None,)
    return TensorValue(kind, _common_dtype(tensors, kind), shape)


def _second(row: Operation, kind: _Kind, given: Given) -> Value:
    second = stacked_value(given.value(1, "rhs"), kind)
    return TensorValue(kind, second.dtype, second.shape) if isinstance(second, TensorValue) else second


def _drawn(row: Operation, kind: _Kind, given: Given) -> Value:
    """`tf.random.gamma([30], [0.5, 1.5])`: for each of the parameters as many as are asked for."""
    inner: Shape | None = ()
    for place, keyword in ((1, "alpha"), (2, "beta")) if row.type and row.type.position == 3 else ((1, "lam"),):
        if given.expression(place, keyword) is not None:
            value = stacked_value(given.value(place, keyword), kind)
            inner = shapes.broadcast(inner, value.shape if isinstance(value, TensorValue) else None)
    shape = given.shape(0, "shape")
    whole = None if shape is None or inner is None else (*shape, *inner)
    return TensorValue(kind, _dtype(row, kind, given, None), whole)


def _parts(row: Operation, kind: _Kind, given: Given) -> Value:
    """`tf.split(x, 3, axis=1)`, `tf.unstack(x)`."""
    first = _first(kind, given)
    if not isinstance(first, TensorValue):
        return first
    is_unstack = (given.file.name(given.call.func) or "").endswith(".unstack")
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


def _largest(row: Operation, kind: _Kind, given: Given) -> Value:
    """`tf.math.top_k(x, k=3)`: `values, indices`."""
    first = _first(kind, given)
    if not isinstance(first, TensorValue):
        return first
    count = given.constant(1, "k") if given.said(1, "k") is not None else 1
    shape = None if not first.shape else (*first.shape[:-1], count if type(count) is int else None)
    indices = given.dtype(Parameter("index_type", -1), of_tensor=True) or "int32"
    items = (TensorValue(kind, first.dtype, shape), TensorValue(kind, indices, shape))
    return StructureValue(items, ("values", "indices"))


_OF_SHAPE: dict[str, _Applied] = {
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


# Operators and methods.


def computed(value: Value) -> Value:
    """What an operation on each number of a value gives: of a variable a tensor."""
    if isinstance(value, TensorValue) and value.kind == "variable":
        return TensorValue("tensor", value.dtype, value.shape)
    return value if isinstance(value, TensorValue | Pending) else None


def operated(first: Value, operator: cst.CSTNode, second: Value) -> Value:
    """What an operator of two values gives."""
    if isinstance(first, Pending) or isinstance(second, Pending):
        return PENDING
    pair = [value for value in (first, second) if isinstance(value, TensorValue)]
    is_tensor = any(value.kind in ("tensor", "variable") for value in pair)
    if len(pair) < 2:
        # TensorFlow's operators take what is no tensor and make one of it, of the same type.
        known = next((value for value in pair if value.kind in ("tensor", "variable")), None)
        is_division = isinstance(operator, cst.Divide | cst.DivideAssign)
        if known is None:
            return None
        return TensorValue("tensor", dtypes.divided(known.dtype, of_tensor=True) if is_division else known.dtype)
    one, other = pair
    if one.is_number and other.is_number:
        return _of_numbers(one, operator, other)
    if {one.kind, other.kind} & {"ragged", "sparse"}:
        return TensorValue("ragged" if "ragged" in (one.kind, other.kind) else "sparse", one.dtype or other.dtype)
    result: _Kind = "tensor" if is_tensor else "array"
    dtype = _dtype_of_pair(one, other, is_tensor)
    if isinstance(operator, cst.MatrixMultiply | cst.MatrixMultiplyAssign):
        return TensorValue(result, dtype, shapes.product(one.shape, other.shape))
    if isinstance(operator, cst.Divide | cst.DivideAssign):
        dtype = dtypes.divided(dtype, of_tensor=is_tensor)
    return TensorValue(result, dtype, shapes.broadcast(one.shape, other.shape))


def _dtype_of_pair(one: TensorValue, other: TensorValue, is_tensor: bool) -> str:
    for number, tensor in ((one, other), (other, one)):
        if number.is_number:
            return dtypes.with_number(tensor.dtype, number.dtype, of_tensor=is_tensor)
    if not is_tensor:
        return dtypes.promoted(one.dtype, other.dtype)
    # A tensor's operator asks for the same type, and makes an array one of its own.
    return one.dtype or other.dtype


def _of_numbers(one: TensorValue, operator: cst.CSTNode, other: TensorValue) -> Value:
    if "str" in (one.dtype, other.dtype):
        return TensorValue("number", "str", ())
    is_float = "float" in (one.dtype, other.dtype) or isinstance(operator, cst.Divide | cst.DivideAssign)
    return TensorValue("number", "float" if is_float else "int", ())


def compared(first: Value, second: Value) -> Value:
    """What a comparison gives."""
    result = operated(first, cst.Add(), second)
    if isinstance(result, TensorValue):
        return TensorValue(result.kind, "bool", result.shape)
    return PENDING if isinstance(result, Pending) else None


def of_method(whole: TensorValue, method: str, given: Given) -> Value:
    """What a method of a tensor, a variable or an array gives."""
    if whole.is_number:
        return whole if whole.dtype == "str" and method in ("format", "join", "lower") else None
    if method in VARIABLE_METHODS and whole.kind == "variable":
        return TensorValue("tensor", whole.dtype, whole.shape)
    if method == "numpy":
        return TensorValue("array", whole.dtype, whole.shape)
    if method == "to_tensor" and whole.kind == "ragged":
        return TensorValue("tensor", whole.dtype)
    if whole.kind != "array":
        return None
    row = operation_named(f"numpy.{method}")
    if method == "astype":
        return TensorValue("array", given.dtype(Parameter("dtype", 0), of_tensor=False) or "", whole.shape)
    if method in ("copy", "clip", "round"):
        return whole
    if method == "reshape":
        shape = given.shape(0, "shape") if given.count == 1 else _lengths(given)
        return TensorValue("array", whole.dtype, shapes.reshaped(whole.shape, shape))
    if method in ("flatten", "ravel"):
        return TensorValue("array", whole.dtype, shapes.reshaped(whole.shape, (-1,)))
    if row.shape == "reduced":
        axis = given.constant(0, "axis")
        axes = (axis,) if type(axis) is int else None
        if given.count and axes is None:
            return TensorValue("array")
        dtype = {"sum": dtypes.summed, "mean": dtypes.averaged}.get(row.dtype, lambda d, of_tensor: d)(
            whole.dtype, of_tensor=False
        )
        dtype = "bool" if row.dtype == "bool" else "int64" if row.dtype == "given" else dtype
        return TensorValue("array", dtype, shapes.reduced(whole.shape, axes, given.constant(-1, "keepdims") is True))
    if method == "transpose" and not given.call.args:
        return TensorValue("array", whole.dtype, shapes.transposed(whole.shape, None))
    return None


def _lengths(given: Given) -> Shape | None:
    numbers = [given.constant(i) for i in range(given.count)]
    return tuple(n if type(n) is int else None for n in numbers) if numbers else None


def drawn(method: str, given: Given) -> Value:
    """What a generator of NumPy draws: `rng.normal(size=(3, 4))`."""
    row = draw_named(method)
    return _OF_SHAPE[row.shape](row, "array", given) if row.shape in ("filled", "counted") else None


def agreed(values: list[Value]) -> Value:
    """What several values have in common; None without any."""
    return joined(values) if values else None
