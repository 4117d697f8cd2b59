"""Tensors that a file makes without Keras: their dtype does not follow Keras's."""

from __future__ import annotations

from itertools import chain
from typing import TYPE_CHECKING

import libcst as cst

from tflint_gpu.lazy_patterns import regex
from tflint_gpu.model import STATIC_ATTRIBUTES, Kinds, argument, children, method_name, operands, operation_named

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from tflint_gpu.model import Context, Expression, File, Model, Origin

# Calls that make no floating point tensor; what a tape gives has the dtype of what it was asked for.
_NEUTRAL = regex(
    r"tf\.(?:GradientTape|print|argmax|shape|size|rank|timestamp|get_logger)"
    r"|tf\.(?:config|random\.set_seed|summary|io|train|debugging|compat\.v1\.logging|saved_model)(?:\..*)?"
)
_CASTS = ("tf.cast", "tf.dtypes.cast")
_OF_INTEGERS = regex(r"(?:tf\.(?:dtypes\.)?|numpy\.)?(?:u?int\d+|bool_?)")
_OPERATIONS = (cst.BinaryOperation, cst.Comparison, cst.AugAssign)
_HANDING_ON = ("tf.stop_gradient", "tf.identity")
_FOLLOWING_SHAPES = ("same", "broadcast", "reduced", "reshaped", "squeezed", "expanded", "transposed")
_PREDICTING = ("predict", "predict_on_batch")


def makes_own_tensors(model: Model, file: File) -> bool:
    """Whether a file may bring tensors of another dtype together with those of Keras.

    NumPy arrays take the dtype of the tensor that they are combined with, and layers, losses and metrics cast what they
    are given. A tensor that is made of an array keeps the array's dtype, so it may go to Keras only.
    """
    if any(True for _ in file.method_calls("minimize")):
        return True
    handed_on: list[cst.Call] = []
    combined: list[Sequence[Expression]] = []
    for call in file.tree.calls:
        name = file.name(call.func) or ""
        if not name.startswith("tf.") or _NEUTRAL.fullmatch(name) or _is_cast_to_integers(file, name, call):
            continue
        given = [arg.value for arg in call.args]
        if _follows_tensor(name) and any(_follows(model, file, value) for value in given):
            combined.append(given)
        elif name in _HANDING_ON:
            handed_on.append(call)
        else:
            return True
    if any((file.name(decorator.decorator) or "").startswith("tf.") for decorator in file.tree.nodes(cst.Decorator)):
        return True
    if handed_on or combined:
        combined += _operations(file)
    if any(origin.node in handed_on for side in chain(*combined) for origin in model.inference.of(file, side)):
        return True
    return any(not _go_together(model, file, values) for values in combined)


def _operations(file: File) -> Iterator[Sequence[Expression]]:
    for node in (node for kind in _OPERATIONS for node in file.tree.nodes(kind)):
        sides = [side for side in operands(node) or children(node) if isinstance(side, cst.BaseExpression)]
        yield [side for side in sides if not _is_static(side)]


def _go_together(model: Model, file: File, values: Sequence[Expression]) -> bool:
    """Whether what meets a tensor of Keras is another, or certainly none."""
    others = [value for value in values if not _follows(model, file, value, may_be_array=False)]
    return len(others) == len(values) or all(_is_no_tensor(model, file, value, None, frozenset()) for value in others)


def _is_no_tensor(
    model: Model, file: File, value: Expression, context: Context | None, inside: frozenset[Origin]
) -> bool:
    """Whether a value is certainly a number or an array, or several: written, made by NumPy, or predicted."""
    origins = [origin for origin in model.inference.of(file, value, context) if origin not in inside]
    return bool(origins) and all(_is_origin_no_tensor(model, origin, inside | {origin}) for origin in origins)


def _is_origin_no_tensor(model: Model, origin: Origin, inside: frozenset[Origin]) -> bool:
    node, file = origin.node, origin.file
    if isinstance(node, cst.BinaryOperation | cst.UnaryOperation):
        sides = operands(node) or ()
        return bool(sides) and all(_is_no_tensor(model, file, side, origin.context, inside) for side in sides)
    if isinstance(node, cst.Tuple | cst.List):
        return all(_is_no_tensor(model, file, part.value, origin.context, inside) for part in node.elements)
    if isinstance(node, cst.Subscript):
        return _is_no_tensor(model, file, node.value, origin.context, inside)
    if isinstance(node, cst.Call):
        return (file.name(node.func) or "").startswith("numpy.") or method_name(node) in _PREDICTING
    is_word = isinstance(node, cst.Name) and node.value in ("True", "False")
    return is_word or isinstance(node, cst.BaseNumber) or (origin.name or "").startswith("numpy.")


def _follows(
    model: Model,
    file: File,
    value: Expression,
    context: Context | None = None,
    inside: frozenset[Origin] = frozenset(),
    *,
    may_be_array: bool = True,
) -> bool:
    """Whether the dtype of a value is certainly that of Keras: a model gives it, or it is computed with such a tensor.

    Arguments:
        inside: the computations that it is a part of; one that depends on itself only is none.
        may_be_array: whether it may be what a model predicts: a tensor of that has its dtype, but not its product with
            another array.
    """
    origins = [origin for origin in model.inference.of(file, value, context) if origin not in inside]
    return bool(origins) and all(_origin_follows(model, o, inside | {o}, may_be_array) for o in origins)


def _origin_follows(model: Model, origin: Origin, inside: frozenset[Origin], may_be_array: bool) -> bool:
    node, file, context = origin.node, origin.file, origin.context
    if any(part.kind == "attribute" for part in origin.access_path):
        return False
    if isinstance(node, cst.BinaryOperation | cst.UnaryOperation):
        sides = operands(node) or ()
        return any(_follows(model, file, side, context, inside, may_be_array=False) for side in sides)
    if not isinstance(node, cst.Call):
        return False
    if _follows_tensor(file.name(node.func) or ""):
        return any(_follows(model, file, arg.value, context, inside) for arg in node.args)
    is_predicted = may_be_array and method_name(node) in _PREDICTING and isinstance(node.func, cst.Attribute)
    giver = node.func.value if is_predicted and isinstance(node.func, cst.Attribute) else node.func
    kinds = model.once(Kinds)
    return model.inference.must_be(
        file, giver, lambda made: made.file is file and kinds.of(made) in ("model", "layer", "loss"), context
    )


def _is_static(operand: cst.BaseExpression) -> bool:
    """`x.shape`: no tensor."""
    return isinstance(operand, cst.Attribute) and operand.attr.value in STATIC_ATTRIBUTES


def _follows_tensor(name: str) -> bool:
    """Whether a function makes of a floating point tensor one of its dtype.

    Arrays and numbers that come with the tensor take that dtype, too (tried with 2.15 and 2.21).
    """
    row = operation_named(name)
    is_alike = row.shape in _FOLLOWING_SHAPES and row.keeps_dtype and row.each != "image"
    return name == "tf.convert_to_tensor" or (name.startswith("tf.") and is_alike)


def _is_cast_to_integers(file: File, name: str, call: cst.Call) -> bool:
    dtype = argument(call, 1, "dtype")
    spelled = dtype.evaluated_value if isinstance(dtype, cst.SimpleString) else file.name(dtype)
    return name in _CASTS and isinstance(spelled, str) and _OF_INTEGERS.fullmatch(spelled) is not None
