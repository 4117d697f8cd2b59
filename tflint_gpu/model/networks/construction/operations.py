"""Functions and operators on the tensors between layers: what shapes they give."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tflint_gpu.model.interpreter.values import Arguments, plain
from tflint_gpu.model.library.operations import OPERATION_FOLDERS, operation_named
from tflint_gpu.model.library.operations import Operation as KnownOperation
from tflint_gpu.model.networks.shapes.graph import NotKnown, Precision, Shape, Tensor, size
from tflint_gpu.model.networks.shapes.layer_kinds import Shapes, broadcast, concatenated, reshaped
from tflint_gpu.model.networks.shapes.layers import Operation, call_layer, flat
from tflint_gpu.model.networks.shapes.windows import known
from tflint_gpu.model.python.value_flow.constants import UNKNOWN


def called(name: str, given: Arguments) -> Any:
    """What a function of TensorFlow or Keras gives for tensors; `UNKNOWN` where its shape is not known."""
    last = name.rpartition(".")[2]
    if not name.startswith(OPERATION_FOLDERS) or not given.is_whole or not any(map(_has_tensor, given.values())):
        return UNKNOWN
    try:
        shaped, tensors = _function(operation_named(name), last, given)
        return call_layer(Operation(last, shaped, Precision()), tensors)[0]
    except (NotKnown, ArithmeticError, IndexError, TypeError, ValueError):
        return UNKNOWN


def operated(symbol: str, left: Any, right: Any) -> Any:
    """What an operator gives of which one side is a tensor."""
    tensors = tuple(operand for operand in (left, right) if isinstance(operand, Tensor))
    if not all(isinstance(operand, Tensor | int | float) or operand is None for operand in (left, right)):
        return UNKNOWN
    if symbol == "MatrixMultiply":
        return UNKNOWN
    try:
        return call_layer(Operation(symbol, broadcast, Precision()), tensors)[0]
    except NotKnown:
        return UNKNOWN


def item(tensor: Tensor, key: Any) -> Any:
    """`x[:, -1]`, `x[:, :10]`, `x[..., None]`."""
    keys = key if isinstance(key, tuple) else (key,)
    if any(index is UNKNOWN for index in keys):
        return UNKNOWN

    def shaped(shapes: Shapes) -> Shape:
        shape = list(shapes[0])
        lengths: list[int | None] = []
        for index in keys:
            if index is None:
                lengths.append(1)
                continue
            length = shape.pop(0)
            if isinstance(index, slice):
                lengths.append(_sliced(length, index))
            elif not isinstance(index, int):
                raise NotKnown
        return (*lengths, *shape)

    if not isinstance(keys[0], slice) or (keys[0].start, keys[0].stop, keys[0].step) != (None, None, None):
        return UNKNOWN  # other rows of the batch
    try:
        return call_layer(Operation("getitem", shaped, Precision()), (tensor,))[0]
    except (NotKnown, IndexError):
        return UNKNOWN


def _sliced(length: int | None, part: slice) -> int | None:
    if (part.start, part.stop, part.step) == (None, None, None):
        return length
    return len(range(*part.indices(known(length))))


def _has_tensor(value: Any) -> bool:
    try:
        return bool(flat(value))
    except NotKnown:
        return False


def _function(
    operation: KnownOperation, name: str, given: Arguments
) -> tuple[Callable[[Shapes], Shape], tuple[Tensor, ...]]:
    first = given.positional[0] if given.positional else next(iter(given.named.values()))
    if operation.shape == "same":
        return (lambda shapes: shapes[0]), flat(first)
    if operation.shape == "broadcast" or name == "add_n":
        values = [value for value in given.positional[:2] if not isinstance(value, int | float)]
        return broadcast, tuple(tensor for value in values for tensor in flat(value))
    if operation.shape == "product" and len(given.positional) == 2 and not given.named:
        return _product, flat(tuple(given.positional))
    if operation.says is None or not operation.says.keyword:
        raise NotKnown
    axis = given.get(operation.says.position, operation.says.keyword, operation.says.default)
    match operation.shape:
        case "joined":
            return (lambda shapes: concatenated(shapes, axis % len(shapes[0]))), flat(first)
        case "reduced":
            keeps = given.get(2, "keepdims", default=False)
            return (lambda shapes: _reduced(shapes[0], plain(axis), keeps)), flat(first)
        case "reshaped":
            target = plain(given.named.get("newshape", given.named.get("shape", axis)))
            return (lambda shapes: _reshaped(shapes[0], target)), flat(first)
        case "expanded":
            return (lambda shapes: _expanded(shapes[0], axis)), flat(first)
        case "squeezed":
            return (lambda shapes: _squeezed(shapes[0], axis)), flat(first)
    raise NotKnown


def _reduced(shape: Shape, axis: Any, keeps: Any) -> Shape:
    axes = axis if isinstance(axis, tuple) else (axis,)
    if not all(isinstance(number, int) for number in axes) or not isinstance(keeps, bool):
        raise NotKnown
    chosen = {number % len(shape) for number in axes}
    if 0 in chosen:
        raise NotKnown
    return tuple(1 if i in chosen else n for i, n in enumerate(shape) if keeps or i not in chosen)


def _reshaped(shape: Shape, target: Any) -> Shape:
    if not isinstance(target, tuple) or not target or target[0] not in (-1, None):
        raise NotKnown
    lengths = reshaped(shape[1:], target[1:])
    if size(lengths) != size(shape[1:]):
        raise NotKnown
    return (shape[0], *lengths)


def _expanded(shape: Shape, axis: Any) -> Shape:
    position = axis % (len(shape) + 1)
    if position == 0:
        raise NotKnown
    return (*shape[:position], 1, *shape[position:])


def _squeezed(shape: Shape, axis: Any) -> Shape:
    position = axis % len(shape)
    if shape[position] != 1:
        raise NotKnown
    return (*shape[:position], *shape[position + 1 :])


def _product(shapes: Shapes) -> Shape:
    left, right = shapes
    if len(left) != len(right) or left[:-2] != right[:-2] or left[-1] != right[-2]:
        raise NotKnown
    return (*left[:-1], right[-1])
