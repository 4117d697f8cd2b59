"""What datasets yield, and how many elements they have, operation by operation."""

from __future__ import annotations

from typing import Any

import libcst as cst

from tflint_gpu.model.library.datasets import (
    MAPPING_METHODS,
    OF_STRINGS,
    SAME_LENGTH,
    TRANSFORMATIONS,
    Parameter,
    is_source,
)
from tflint_gpu.model.library.keras_datasets import CHANGING_LENGTHS, KERAS_DATASETS
from tflint_gpu.model.python.project.file import File
from tflint_gpu.model.python.syntax.syntax import Expression, FunctionNode, Node, positional_parameters
from tflint_gpu.model.python.value_flow.origins import ELEMENT
from tflint_gpu.model.values.arguments import Given, Inquiry
from tflint_gpu.model.values.conversion import stacked_value
from tflint_gpu.model.values.value import (
    PENDING,
    DatasetValue,
    Dimension,
    Pending,
    SequenceValue,
    StructureValue,
    TensorValue,
    Value,
    joined,
)

HANDING = MAPPING_METHODS | {"fit", "run"}
_LONG = TensorValue("tensor", "int64", ())
_STRING = TensorValue("tensor", "string", ())


def source(values: Inquiry, name: str, given: Given) -> Value:
    """The dataset, or the arrays, that a function loads or makes; None for other functions."""
    last = name.rpartition(".")[2]
    if last == "load_data" and name.startswith("keras.datasets."):
        return loaded(name.split(".")[2], given)
    if not is_source(name):
        return None
    if last == "from_tensor_slices":
        rows = as_tensors(given.value(0, "tensors"))
        return DatasetValue(_each(values, rows), _first_length(rows)) if not isinstance(rows, Pending) else PENDING
    if last == "from_tensors":
        whole = as_tensors(given.value(0, "tensors"))
        return DatasetValue(whole, 1) if not isinstance(whole, Pending) else PENDING
    if last == "range":
        return DatasetValue(_LONG, _range_length(given))
    if last in OF_STRINGS:
        return DatasetValue(_STRING)
    if last == "random":
        return DatasetValue(_LONG)
    if last == "zip":
        return _zipped(given)
    if last in ("sample_from_datasets", "choose_from_datasets"):
        parts = given.value(0, "datasets")
        return DatasetValue(joined(map(_element, parts.items)) if isinstance(parts, StructureValue) else None)
    if last == "from_generator":
        return DatasetValue(_of_signature(values, given))
    return DatasetValue(None)


def as_tensors(value: Value) -> Value:
    """What tf.data makes of a structure: tuples and dictionaries stay, all else becomes a tensor."""
    if isinstance(value, StructureValue) and not value.is_list:
        return StructureValue(tuple(as_tensors(item) for item in value.items), value.keys)
    return value if isinstance(value, DatasetValue) else stacked_value(value, "tensor")


def _element(value: Value) -> Value:
    return value.element if isinstance(value, DatasetValue) else None


def _each(values: Inquiry, rows: Value) -> Value:
    if isinstance(rows, StructureValue):
        return StructureValue(tuple(_each(values, item) for item in rows.items), rows.keys)
    return values.part(rows, ELEMENT) if isinstance(rows, TensorValue) else None


def _first_length(rows: Value) -> Dimension:
    if isinstance(rows, StructureValue):
        return next((n for item in rows.items if (n := _first_length(item)) is not None), None)
    return rows.shape[0] if isinstance(rows, TensorValue) and rows.shape else None


def _range_length(given: Given) -> Dimension:
    numbers = [given.constant(i) for i in range(given.count)]
    is_known = bool(numbers) and all(type(number) is int for number in numbers)
    return len(range(*numbers)) if is_known and len(numbers) <= 3 and 0 not in numbers[2:] else None


def _zipped(given: Given) -> Value:
    """`Dataset.zip((a, b))`, `Dataset.zip(a, b)`: as long as the shortest."""
    whole = given.value(0, "datasets")
    if given.count > 1:
        whole = StructureValue(tuple(given.value(i) for i in range(given.count)))
    if not isinstance(whole, StructureValue):
        return PENDING if isinstance(whole, Pending) else DatasetValue(None)
    counts = [item.cardinality if isinstance(item, DatasetValue) else None for item in whole.items]
    least = None if None in counts else min((count for count in counts if count is not None), default=None)
    return DatasetValue(StructureValue(tuple(map(_element, whole.items)), whole.keys), least)


def _of_signature(values: Inquiry, given: Given) -> Value:
    """The element that `from_generator` is told."""
    signature = given.expression(-1, "output_signature")
    if signature is not None:
        return _of_specification(given, signature)
    types = given.expression(1, "output_types")
    if types is None:
        return None
    shape_expr = given.expression(2, "output_shapes")
    if isinstance(types, cst.Tuple | cst.List):
        said = shape_expr.elements if isinstance(shape_expr, cst.Tuple | cst.List) else ()
        items: list[Value] = []
        for place, element in enumerate(types.elements):
            expr = said[place].value if place < len(said) else None
            shape = given.shape_of(given.file, expr, given.context) if expr is not None else None
            items.append(TensorValue("tensor", given.dtype_of(element.value, of_tensor=True), shape))
        return StructureValue(tuple(items))
    shape = given.shape_of(given.file, shape_expr, given.context) if shape_expr is not None else None
    return TensorValue("tensor", given.dtype_of(types, of_tensor=True), shape)


def _of_specification(given: Given, expr: cst.BaseExpression) -> Value:
    """`tf.TensorSpec(shape=(None, 3), dtype=tf.float32)`, or a structure of such."""
    if isinstance(expr, cst.Tuple | cst.List):
        return StructureValue(tuple(_of_specification(given, element.value) for element in expr.elements))
    if isinstance(expr, cst.Dict):
        pairs = [(e.key, e.value) for e in expr.elements if isinstance(e, cst.DictElement)]
        keys = [given.values.constants.of(given.file, key, given.context) for key, _ in pairs]
        if len(pairs) < len(expr.elements) or not all(isinstance(key, str) for key in keys):
            return None
        return StructureValue(tuple(_of_specification(given, value) for _, value in pairs), tuple(keys))
    if not isinstance(expr, cst.Call):
        origins = given.values.inference.of(given.file, expr, given.context)
        nodes = [o.node for o in origins if not o.access_path and isinstance(o.node, cst.Call | cst.Tuple | cst.Dict)]
        return _of_specification(given, nodes[0]) if len(nodes) == len(origins) == 1 else None
    if not (given.file.name(expr.func) or "").startswith("tf.TensorSpec"):
        return None
    spec = given.at(given.file, expr)
    dtype = spec.dtype(Parameter("dtype", 1), of_tensor=True)
    return TensorValue("tensor", "float32" if dtype is None else dtype, spec.shape(0, "shape"))


def transformed(values: Inquiry, dataset: DatasetValue, method: str, given: Given) -> Value:
    """What a method of a dataset gives."""
    if method in SAME_LENGTH:
        return dataset
    if method == "map":
        function = given.expression(0, "map_func")
        result = values.result(given.file, function, given.context) if function is not None else None
        return PENDING if isinstance(result, Pending) else DatasetValue(as_tensors(result), dataset.cardinality)
    if method in ("batch", "padded_batch"):
        return _batched(dataset, method, given)
    if method == "unbatch":
        return DatasetValue(_each(values, dataset.element))
    if method in ("interleave", "flat_map"):
        function = given.expression(0, "map_func")
        inner = values.result(given.file, function, given.context) if function is not None else None
        return inner if isinstance(inner, DatasetValue | Pending) else DatasetValue(None)
    if method == "enumerate":
        return DatasetValue(StructureValue((_LONG, dataset.element)), dataset.cardinality)
    if method == "take":
        return DatasetValue(dataset.element, _limited(dataset.cardinality, given.constant(0, "count")))
    if method in ("skip", "repeat", "shard"):
        return DatasetValue(dataset.element, _counted(dataset.cardinality, method, given))
    if method == "concatenate":
        other = given.value(0, "dataset")
        count = other.cardinality if isinstance(other, DatasetValue) else None
        both = None if dataset.cardinality is None or count is None else dataset.cardinality + count
        return DatasetValue(dataset.element, both)
    if method in ("filter", "take_while", "unique"):
        return DatasetValue(dataset.element)
    if method == "window":
        return DatasetValue(DatasetValue(dataset.element))
    if method == "reduce":
        return stacked_value(given.value(0, "initial_state"), "tensor")
    if method == "as_numpy_iterator":
        return SequenceValue(_as_arrays(dataset.element))
    if method in ("cardinality", "__len__"):
        return _LONG
    return DatasetValue(None) if method in TRANSFORMATIONS else None


def _as_arrays(value: Value) -> Value:
    if isinstance(value, StructureValue):
        return StructureValue(tuple(map(_as_arrays, value.items)), value.keys)
    return TensorValue("array", value.dtype, value.shape) if isinstance(value, TensorValue) else None


def _batched(dataset: DatasetValue, method: str, given: Given) -> Value:
    length = given.length(0, "batch_size") or None
    drops = given.constant(1 if method == "batch" else 3, "drop_remainder") is True
    count = dataset.cardinality
    if count is not None and length is not None:
        count = count // length if drops else -(-count // length)
        is_whole = drops or (dataset.cardinality is not None and dataset.cardinality % length == 0)
    else:
        count, is_whole = None, drops or length == 1
    shapes = given.said(1, "padded_shapes") if method == "padded_batch" else None
    element = dataset.element if shapes is None else _padded(given, dataset.element, shapes)
    return DatasetValue(_with_rows(element, length if is_whole else None), count)


def _padded(given: Given, value: Value, shapes: Expression | None) -> Value:
    """An element that is filled up to the shapes, or the structure of shapes, that `padded_batch` is told."""
    if isinstance(value, StructureValue):
        origins = given.values.inference.of(given.file, shapes, given.context) if shapes is not None else ()
        said = [o.node.elements for o in origins if isinstance(o.node, cst.Tuple | cst.List) and not o.access_path]
        is_told = len(said) == len(origins) == 1 and len(said[0]) == len(value.items) and value.keys is None
        parts = [element.value for element in said[0]] if is_told else [None] * len(value.items)
        pairs = zip(value.items, parts, strict=True)
        return StructureValue(tuple(_padded(given, item, part) for item, part in pairs), value.keys)
    if not isinstance(value, TensorValue):
        return None
    lengths = given.shape_of(given.file, shapes, given.context) if shapes is not None else None
    if lengths is None or (value.shape is not None and len(value.shape) != len(lengths)):
        lengths = value.shape and (None,) * len(value.shape)
    shape = lengths and tuple(None if length == -1 else length for length in lengths)
    return TensorValue("tensor", value.dtype, shape)


def _with_rows(value: Value, length: Dimension) -> Value:
    """A batch of elements."""
    if isinstance(value, StructureValue):
        return StructureValue(tuple(_with_rows(item, length) for item in value.items), value.keys)
    if not isinstance(value, TensorValue) or value.shape is None:
        return TensorValue("tensor", value.dtype) if isinstance(value, TensorValue) else None
    return TensorValue("tensor", value.dtype, (length, *value.shape))


def _limited(cardinality: Dimension, count: Any) -> Dimension:
    if type(count) is not int or count < 0:
        return cardinality if count == -1 else None
    return None if cardinality is None else min(cardinality, count)


def _counted(cardinality: Dimension, method: str, given: Given) -> Dimension:
    count = given.constant(0, "count")
    if cardinality is None or type(count) is not int or count < 0:
        return None
    if method == "skip":
        return max(0, cardinality - count)
    return cardinality * count if method == "repeat" else None


def passed(values: Inquiry, file: File, call: cst.Call, function: FunctionNode, parameter: Node) -> Value:
    """What a dataset's operation hands to a parameter of the function that it is given."""
    func = call.func
    if not isinstance(func, cst.Attribute):
        return None
    dataset = values.found(file, func.value)
    if not isinstance(dataset, DatasetValue):
        return PENDING if isinstance(dataset, Pending) else None
    parameters = positional_parameters(function)
    if parameters and parameters[0].name.value in ("self", "cls"):
        parameters = parameters[1:]
    if parameter not in parameters:
        return None
    place = parameters.index(parameter)  # type: ignore[arg-type]
    method = func.attr.value
    if method in ("reduce", "scan"):
        state = call.args[0].value if call.args else None
        if place == 0:
            return stacked_value(values.found(file, state), "tensor") if state is not None else None
        return dataset.element if place == 1 and len(parameters) == 2 else None
    element = dataset.element
    if isinstance(element, StructureValue) and element.keys is None:
        return element.items[place] if len(parameters) > 1 and place < len(element.items) else None
    return element if place == 0 and len(parameters) == 1 else None


def loaded(name: str, given: Given) -> Value:
    """`(x, y), (x_test, y_test)` of `keras.datasets.mnist.load_data()`."""
    known = KERAS_DATASETS.get(name)
    if known is None:
        return None
    is_whole = given.count < 2 and all(given.expression(-1, word) is None for word in CHANGING_LENGTHS)

    def part(count: Dimension) -> Value:
        shape = None if known.sample is None else (count, *known.sample)
        samples = TensorValue("array", known.sample_dtype, shape)
        return StructureValue((samples, TensorValue("array", known.label_dtype, (count, *known.label))))

    return StructureValue(tuple(part(count if is_whole else None) for count in (known.train, known.test)))
