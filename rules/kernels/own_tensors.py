"""Tensors that a file makes without Keras: their dtype does not follow Keras's."""

from __future__ import annotations

from typing import TYPE_CHECKING

import libcst as cst

from tflint_gpu.lazy_patterns import regex
from tflint_gpu.model import STATIC_ATTRIBUTES, argument, children, operands

if TYPE_CHECKING:
    from tflint_gpu.model import File, Model

# Calls that make no floating point tensor; what a tape gives has the dtype of what it was asked for.
_NEUTRAL = regex(
    r"tf\.(?:GradientTape|print|argmax|shape|size|rank|timestamp|get_logger)"
    r"|tf\.(?:config|random\.set_seed|summary|io|train|debugging|compat\.v1\.logging|saved_model)(?:\..*)?"
)
_CASTS = ("tf.cast", "tf.dtypes.cast")
_OF_INTEGERS = regex(r"(?:tf\.(?:dtypes\.)?|numpy\.)?(?:u?int\d+|bool_?)")
_OPERATIONS = (cst.BinaryOperation, cst.Comparison, cst.AugAssign)
_HANDING_ON = ("tf.stop_gradient", "tf.identity")


def makes_own_tensors(model: Model, file: File) -> bool:
    """Whether a file may bring tensors of another dtype together with those of Keras.

    NumPy arrays take the dtype of the tensor that they are combined with, and layers, losses and metrics cast what they
    are given. A tensor that is made of an array keeps the array's dtype, so it may go to Keras only.
    """
    if any(True for _ in file.method_calls("minimize")):
        return True
    handed_on = []
    for call in file.tree.calls:
        name = file.name(call.func) or ""
        if not name.startswith("tf.") or _NEUTRAL.fullmatch(name) or _is_cast_to_integers(file, name, call):
            continue
        if name not in _HANDING_ON:
            return True
        handed_on.append(call)
    if any((file.name(decorator.decorator) or "").startswith("tf.") for decorator in file.tree.nodes(cst.Decorator)):
        return True
    computed = (node for kind in _OPERATIONS for node in file.tree.nodes(kind)) if handed_on else ()
    return any(
        origin.node in handed_on
        for node in computed
        for operand in operands(node) or children(node)
        if isinstance(operand, cst.BaseExpression) and not _is_static(operand)
        for origin in model.inference.of(file, operand)
    )


def _is_static(operand: cst.BaseExpression) -> bool:
    """`x.shape`: no tensor."""
    return isinstance(operand, cst.Attribute) and operand.attr.value in STATIC_ATTRIBUTES


def _is_cast_to_integers(file: File, name: str, call: cst.Call) -> bool:
    dtype = argument(call, 1, "dtype")
    spelled = dtype.evaluated_value if isinstance(dtype, cst.SimpleString) else file.name(dtype)
    return name in _CASTS and isinstance(spelled, str) and _OF_INTEGERS.fullmatch(spelled) is not None
