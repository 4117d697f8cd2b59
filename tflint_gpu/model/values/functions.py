"""Functions of TensorFlow and Keras whose results rest on arguments of their own."""

from __future__ import annotations

import libcst as cst

from tflint_gpu.model.library.datasets import Parameter
from tflint_gpu.model.library.operations import Operation
from tflint_gpu.model.python.project.file import File
from tflint_gpu.model.values.arguments import Given
from tflint_gpu.model.values.conversion import ArrayKind, converted, stacked_value
from tflint_gpu.model.values.value import (
    PENDING,
    Pending,
    Shape,
    StructureValue,
    TensorValue,
    Value,
)


def variable(given: Given) -> Value:
    """`tf.Variable(value)`, also of a function that gives the value."""
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


def symbolic_input(given: Given) -> Value:
    """The symbolic tensor of `keras.Input`; behind the second argument the order is another one in Keras 2."""
    tensor = given.said(-1, "tensor")
    if tensor is not None:
        return given.value(-1, "tensor")
    if given.count > 2 or given.expression(-1, "type_spec") is not None:
        return TensorValue("tensor")
    shape = given.shape(0, "shape")
    dtype = given.dtype(Parameter("dtype", -1), of_tensor=True)
    whole = given.shape(-1, "batch_shape")
    if whole is None and shape is not None:
        whole = (given.length(1, "batch_size"), *shape)
    return TensorValue("tensor", "float32" if dtype is None else dtype, whole)


def examples(given: Given) -> Value:
    """`tf.io.parse_single_example(record, {"image": tf.io.FixedLenFeature([784], tf.float32)})`."""
    rows: Shape = () if "single" in given.name else (None,)
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
    shape = feature.shape(0, "shape")
    return TensorValue("tensor", dtype, None if shape is None else (*rows, *shape))


def decoded(row: Operation, kind: ArrayKind, given: Given) -> Value:
    """`tf.io.decode_jpeg(data, channels=3)`; of a GIF `decode_image` makes one dimension more."""
    channels = given.length(1, "channels") or None  # 0: as many as the file has
    dtype = given.dtype(row.type, of_tensor=True)
    has_frames = given.name.endswith("decode_image") and given.constant(3, "expand_animations") is not False
    shape = (None, None, channels)
    return TensorValue("tensor", "uint8" if dtype is None else dtype, None if has_frames else shape)


def masked(given: Given) -> Value:
    """`tf.sequence_mask(lengths, 4)`."""
    lengths = stacked_value(given.value(0, "lengths"), "tensor")
    dtype = given.dtype(Parameter("dtype", 2), of_tensor=True)
    inner = lengths.shape if isinstance(lengths, TensorValue) else None
    shape = None if inner is None else (*inner, given.length(1, "maxlen"))
    return TensorValue("tensor", "bool" if dtype is None else dtype, shape)


def sliced(given: Given) -> Value:
    """`tf.slice(x, [1, 0], [2, -1])`."""
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


def points(given: Given) -> Value:
    """`tf.gather_nd(x, [[0, 2]])`."""
    params, indices = (stacked_value(given.value(i, word), "tensor") for i, word in enumerate(("params", "indices")))
    if not isinstance(params, TensorValue) or not isinstance(indices, TensorValue):
        return PENDING if PENDING in (params, indices) else TensorValue("tensor")
    shape, places = params.shape, indices.shape
    if shape is None or not places or places[-1] is None or given.expression(2, "batch_dims") is not None:
        return TensorValue("tensor", params.dtype)
    return TensorValue("tensor", params.dtype, (*places[:-1], *shape[places[-1] :]))


def contracted(given: Given) -> Value:
    """`tf.tensordot(a, b, 1)`."""
    first, second = (stacked_value(given.value(i, word), "tensor") for i, word in enumerate(("a", "b")))
    axes = given.constant(2, "axes")
    if not isinstance(first, TensorValue) or not isinstance(second, TensorValue):
        return PENDING if PENDING in (first, second) else TensorValue("tensor")
    if type(axes) is not int or first.shape is None or second.shape is None:
        return TensorValue("tensor", first.dtype)
    return TensorValue("tensor", first.dtype, (*first.shape[: len(first.shape) - axes], *second.shape[axes:]))


def symbolic(given: Given) -> Value:
    """`tf.Tensor(operation, 0, tf.float32)`."""
    return TensorValue("tensor", given.dtype(Parameter("dtype", 2), of_tensor=True) or "")
