"""Functions, operators and subscripts on arrays, and on the tensors between layers: what `model/values` says of them.

An array has lengths that are all known: it is what `fit` is given, and what input shapes are read from.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias

import libcst as cst

from tflint_gpu.model.interpreter.values import Arguments, External, ListValue, plain
from tflint_gpu.model.library.datasets import Parameter
from tflint_gpu.model.library.operations import operation_named
from tflint_gpu.model.networks.shapes.graph import NotKnown, Precision, Shape, Tensor
from tflint_gpu.model.networks.shapes.layer_kinds import Shapes
from tflint_gpu.model.networks.shapes.layers import Operation, call_layer, flat
from tflint_gpu.model.python.value_flow.constants import UNKNOWN
from tflint_gpu.model.values import datasets, operations, shapes
from tflint_gpu.model.values.arguments import Given
from tflint_gpu.model.values.operators import operated as operated_values
from tflint_gpu.model.values.shapes import Index
from tflint_gpu.model.values.value import StructureValue, TensorValue, Value

_OF_TENSORS = frozenset("same broadcast product joined reduced reshaped expanded squeezed".split())
"""The operations that networks may have: of these it is known what they leave in memory."""
_BATCH = 1_000_003
"""Stands for the rows of a batch while a shape is computed: a prime number that is no length in any program."""
_ERRORS = (NotKnown, ArithmeticError, IndexError, TypeError, ValueError)
_Computed: TypeAlias = Callable[[dict[int, Shape]], Value]


class Passed(Given):
    """What the interpreter passes to a function, as the rows of operations ask for it.

    Arguments:
        lengths: the shapes of the tensors that are passed, by their identities.
        receiver: the array whose method is called.
    """

    def __init__(
        self, name: str, arguments: Arguments, lengths: dict[int, Shape], receiver: TensorValue | None = None
    ) -> None:
        self.name = name
        self.arguments = arguments
        self.lengths_of = lengths
        self.receiver = receiver

    def as_function(self, name: str) -> Passed:
        """What the function is given that does what a method does."""
        return Passed(name, Arguments((self.receiver,)).then(self.arguments), self.lengths_of)

    @property
    def is_open(self) -> bool:
        """Whether more is passed than is known."""
        return not self.arguments.is_whole

    @property
    def count(self) -> int:
        """How many arguments are passed by position; 0 where that is not known."""
        return 0 if self.is_open else len(self.arguments.positional)

    def expression(self, position: int, keyword: str = "") -> Any:
        """An argument; None where there is none."""
        return self.arguments.get(position, keyword)

    said = expression

    @property
    def first(self) -> Any:
        """The first argument."""
        return next(self.arguments.values(), None)

    def value_of(self, expr: Any) -> Value:
        """The abstract value of what is passed."""
        return _abstract(expr, self.lengths_of)

    def constant(self, position: int, keyword: str = "") -> Any:
        """A number, a text or a tuple of such; `UNKNOWN` where it is absent."""
        return plain(self.arguments.get(position, keyword, UNKNOWN))

    def dtype(self, parameter: Parameter | None, *, of_tensor: bool) -> str | None:
        """Types are not asked for here."""
        return None

    def shape(self, position: int, keyword: str = "") -> Shape | None:
        """A number or a tuple of numbers."""
        said = self.constant(position, keyword)
        said = (said,) if isinstance(said, int) else said
        return said if isinstance(said, tuple) and all(isinstance(n, int | None) for n in said) else None


def _abstract(value: Any, lengths: dict[int, Shape]) -> Value:
    if isinstance(value, Tensor):
        return TensorValue("tensor", shape=lengths.get(id(value)))
    if isinstance(value, int | float | str):
        return TensorValue("number", type(value).__name__, ())
    items = value.items if isinstance(value, ListValue) and not value.is_lost else value
    if isinstance(items, list | tuple):
        return StructureValue(tuple(_abstract(item, lengths) for item in items))
    return value if isinstance(value, TensorValue) else None


def _concrete(value: Value) -> Any:
    """What the interpreter holds of an abstract value: an array of known shape, or a tuple of such."""
    if isinstance(value, StructureValue) and value.keys is None:
        return tuple(map(_concrete, value.items))
    if not isinstance(value, TensorValue) or value.is_number or value.shape is None or None in value.shape:
        return UNKNOWN
    return value


def called(name: str, given: Arguments) -> Any:
    """What a function of TensorFlow, NumPy or Keras gives; `UNKNOWN` where its shape is not known."""
    folder, _, last = name.rpartition(".")
    if last == "load_data" and folder.startswith("keras.datasets."):
        return _concrete(datasets.loaded(folder.rpartition(".")[2], Passed(name, given, {})))
    tensors = tuple(tensor for value in given.values() for tensor in _tensors(value))
    shape = operation_named(name).shape
    if not given.is_whole or shape in ("", "examples"):
        return UNKNOWN
    if tensors and (shape not in _OF_TENSORS or name.startswith("numpy.")):
        return UNKNOWN
    if not tensors:
        return _concrete(operations.applied(name, Passed(name, given, {})))
    return _of_tensors(last, tensors, lambda lengths: operations.applied(name, Passed(name, given, lengths)))


def _tensors(value: Any) -> tuple[Tensor, ...]:
    try:
        return flat(value)
    except NotKnown:
        return ()


def _of_tensors(name: str, tensors: tuple[Tensor, ...], computed: _Computed) -> Any:
    """The tensor that an operation gives, which it computes again for others of other shapes."""

    def shaped(given: Shapes) -> Shape:
        of_batch = [(_BATCH, *shape[1:]) if shape[:1] == (None,) else shape for shape in given]
        value = computed({id(tensor): shape for tensor, shape in zip(tensors, of_batch, strict=True)})
        shape = value.shape if isinstance(value, TensorValue) else None
        if shape is None or any(length is not None and length >= _BATCH for length in shape[1:]):
            raise NotKnown
        if any(length == _BATCH for length, *_ in filter(None, of_batch)) != (shape[:1] == (_BATCH,)):
            raise NotKnown  # the rows are somewhere else, or gone
        return (None, *shape[1:]) if shape[:1] == (_BATCH,) else shape

    try:
        return call_layer(Operation(name, shaped, Precision()), tensors)[0]
    except _ERRORS:
        return UNKNOWN


def operated(symbol: str, left: Any, right: Any) -> Any:
    """What an operator gives of which one side is an array or a tensor; one of a single operand has no right side."""
    right = 0 if right is None else right
    if symbol == "MatrixMultiply" or not all(isinstance(o, Tensor | TensorValue | int | float) for o in (left, right)):
        return UNKNOWN

    def computed(lengths: dict[int, Shape]) -> Value:
        return operated_values(_abstract(left, lengths), cst.Add(), _abstract(right, lengths))

    tensors = (*_tensors(left), *_tensors(right))
    return _of_tensors(symbol, tensors, computed) if tensors else _concrete(computed({}))


def item(value: Tensor | TensorValue, key: Any) -> Any:
    """`x[:100]`, `x[0]`, `x[..., np.newaxis]`; of a tensor between layers no other rows of the batch."""
    keys = [_index(part) for part in (key if isinstance(key, tuple) else (key,))]
    if isinstance(value, TensorValue):
        return _concrete(TensorValue("array", shape=shapes.indexed(value.shape, keys)))
    if keys[0] not in (slice(None), "all"):
        return UNKNOWN
    return _of_tensors(
        "getitem", (value,), lambda lengths: TensorValue("tensor", shape=shapes.indexed(lengths[id(value)], keys))
    )


def _index(part: Any) -> Index:
    if part is None or part in (External("numpy.newaxis"), External("tf.newaxis")):
        return "new"
    if part is ...:
        return "all"
    bounds = (part.start, part.stop, part.step) if isinstance(part, slice) else (part,)
    is_known = all(isinstance(bound, int | None) for bound in bounds) and 0 not in bounds[2:]
    return part if is_known else None


def attribute(array: TensorValue, name: str) -> Any:
    """What an attribute of an array is."""
    if name == "shape":
        return array.shape
    return len(array.shape or ()) if name == "ndim" else UNKNOWN


def method(array: TensorValue, name: str, given: Arguments) -> Any:
    """What a method of an array gives."""
    if not given.is_whole:
        return UNKNOWN
    return _concrete(operations.of_method(array, name, Passed(name, given, {}, array)))


def rows(value: Any) -> int | None:
    """How many rows data has; None where that is not known."""
    if isinstance(value, TensorValue):
        return value.shape[0] if value.shape else None
    if isinstance(value, ListValue | tuple):
        items = value.items if isinstance(value, ListValue) else value
        return rows(items[0]) if items and not getattr(value, "is_lost", False) else None
    return None
