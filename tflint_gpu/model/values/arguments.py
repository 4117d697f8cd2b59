"""The arguments of a call, as values, constants, shapes and types."""

from __future__ import annotations

from typing import Any, Protocol

import libcst as cst

from tflint_gpu.model.library.datasets import Parameter
from tflint_gpu.model.python.project.file import File
from tflint_gpu.model.python.syntax.syntax import Expression, argument, constant_of
from tflint_gpu.model.python.value_flow.constants import Constants
from tflint_gpu.model.python.value_flow.inference import Inference
from tflint_gpu.model.python.value_flow.origins import Content, Context, Origin
from tflint_gpu.model.values import dtypes
from tflint_gpu.model.values.precision import Precision
from tflint_gpu.model.values.shapes import Index
from tflint_gpu.model.values.value import Dimension, Shape, TensorValue, Value


class Inquiry(Protocol):
    """What the functions of this room ask of `values.Values`, which rests on them."""

    inference: Inference
    constants: Constants
    precision: Precision

    def of(self, file: File, expr: Expression, context: Context | None = None) -> Value:
        """What an expression is in any case; None where nothing is known of it."""

    def found(self, file: File, expr: Expression, context: Context | None = None) -> Value:
        """The same, `PENDING` within a question about what depends on itself."""

    def at(self, origin: Origin) -> Value:
        """The value of one origin."""

    def part(self, whole: Value, content: Content) -> Value:
        """An item, an element or an attribute of a value."""

    def index(self, file: File, part: cst.BaseSlice, context: Context | None) -> Index:
        """What one part of a subscript asks for."""

    def result(self, file: File, function: Expression, context: Context | None) -> Value:
        """What a function gives that is handed over."""


class Given:
    """What one call is given.

    Arguments:
        values: finds what expressions are.
        origin: the call, as the origin of what it makes.
        method: the function that does the same with the receiver as its first argument: "numpy.sum" of `x.sum()`.
    """

    def __init__(self, values: Inquiry, origin: Origin, call: cst.Call, method: str = "") -> None:
        self.values = values
        self.origin = origin
        self.call = call
        self.name = method or origin.file.name(call.func) or ""
        is_method = bool(method) and isinstance(call.func, cst.Attribute)
        self._receiver = call.func.value if is_method and isinstance(call.func, cst.Attribute) else None

    def as_function(self, name: str) -> Given:
        """What the function is given that does what a method does."""
        return Given(self.values, self.origin, self.call, name)

    @property
    def file(self) -> File:
        """Where the call is."""
        return self.origin.file

    @property
    def context(self) -> Context | None:
        """In which the call is executed."""
        return self.origin.context

    def at(self, file: File, call: cst.Call) -> Given:
        """What another call is given."""
        return Given(self.values, Origin(file, call), call)

    @property
    def count(self) -> int:
        """How many arguments are given by position; 0 where a `*` hides that."""
        given = sum(arg.keyword is None for arg in self.call.args) + (self._receiver is not None)
        return 0 if self.is_open else given

    @property
    def is_open(self) -> bool:
        """Whether a `*` or `**` gives more than is written."""
        return any(arg.star for arg in self.call.args)

    def expression(self, position: int, keyword: str = "") -> Expression | None:
        """The argument at a position or of a name."""
        if self._receiver is not None and position >= 0:
            return self._receiver if position == 0 else argument(self.call, position - 1, keyword)
        return argument(self.call, position, keyword)

    @property
    def first(self) -> Expression | None:
        """The first argument, whatever it is called."""
        if self._receiver is not None:
            return self._receiver
        return self.call.args[0].value if self.call.args and not self.call.args[0].star else None

    def said(self, position: int, keyword: str) -> Expression | None:
        """The same; None for the constant None, too, which asks for the usual."""
        expr = self.expression(position, keyword)
        return None if isinstance(expr, cst.Name) and expr.value == "None" else expr

    def of(self, parameter: Parameter | None) -> Expression | None:
        """The argument for a parameter."""
        return None if parameter is None else self.expression(parameter.position, parameter.keyword)

    def value(self, position: int, keyword: str = "") -> Value:
        """What an argument is; None where it is absent."""
        return self.value_of(self.expression(position, keyword))

    def value_of(self, expr: Expression | None) -> Value:
        """What one of the arguments is; None without it."""
        return None if expr is None else self.values.found(self.file, expr, self.context)

    def constant(self, position: int, keyword: str = "") -> Any:
        """The constant that an argument is; `UNKNOWN` where it is absent."""
        return self.values.constants.of(self.file, self.expression(position, keyword), self.context)

    def length(self, position: int, keyword: str = "") -> Dimension:
        """The number that an argument is; None where it is not known."""
        number = self.constant(position, keyword)
        return number if type(number) is int else None

    def lengths(self) -> Shape:
        """The numbers that are given one by one."""
        return tuple(self.length(place) for place in range(self.count))

    def axes(self, parameter: Parameter | None) -> tuple[int, ...] | None:
        """One axis or several.

        Raises:
            LookupError: they are not known.
        """
        expr = self.of(parameter)
        if expr is None or parameter is None:
            default = parameter.default if parameter is not None else None
            return (default,) if isinstance(default, int) else None
        value = self.constant(parameter.position, parameter.keyword)
        if value is None:
            return None
        axes = value if isinstance(value, tuple) else (value,)
        if not all(type(axis) is int for axis in axes):
            raise LookupError
        return axes

    def dtype(self, parameter: Parameter | None, *, of_tensor: bool) -> str | None:
        """The type that is asked for; None without that argument, empty where it is not known."""
        expr = self.said(parameter.position, parameter.keyword) if parameter is not None else None
        if expr is None:
            return "" if self.is_open else None
        return self.dtype_of(expr, of_tensor=of_tensor)

    def dtype_of(self, expr: Expression, *, of_tensor: bool) -> str:
        """The type that an expression means."""
        origins = self.values.inference.of(self.file, expr, self.context)
        names = {self._dtype_at(origin, of_tensor) for origin in origins}
        return names.pop() if len(names) == 1 else ""

    def _dtype_at(self, origin: Origin, of_tensor: bool) -> str:
        node = origin.node
        if origin.access_path and origin.access_path[-1].key == "dtype":
            owner = Origin(origin.file, node, origin.context, origin.access_path[:-1], origin.receiver)
            value = self.values.at(owner)
            return value.dtype if isinstance(value, TensorValue) and not value.is_number else ""
        if origin.access_path:
            return ""
        if isinstance(node, cst.SimpleString):
            text = constant_of(node)
            return dtypes.named(text, of_tensor=of_tensor) if isinstance(text, str) else ""
        if isinstance(node, cst.Name | cst.Attribute):
            name = origin.file.name(node) or (node.value if isinstance(node, cst.Name) else "")
            if not isinstance(name, str) or ("." in name and not name.startswith(("tf.", "numpy."))):
                return ""
            return dtypes.named(name.rpartition(".")[2], of_tensor=of_tensor)
        return ""

    def shape(self, position: int, keyword: str = "") -> Shape | None:
        """The shape that an argument says; None where not even the rank is known."""
        expr = self.expression(position, keyword)
        return None if expr is None else self.shape_of(self.file, expr, self.context)

    def shape_of(self, file: File, expr: Expression, context: Context | None) -> Shape | None:
        """The shape that an expression says: a tuple, a number for one dimension, `x.shape`, `tf.shape(x)`."""
        said = [self._shape_at(origin) for origin in self.values.inference.of(file, expr, context)]
        shapes = [shape for shape in said if shape is not None]
        if not shapes or len(shapes) < len(said) or len({len(shape) for shape in shapes}) > 1:
            return None
        return tuple(lengths[0] if len(set(lengths)) == 1 else None for lengths in zip(*shapes, strict=True))

    def _shape_at(self, origin: Origin) -> Shape | None:
        file, node, context = origin.file, origin.node, origin.context
        if origin.access_path:
            if origin.access_path[-1].key != "shape" or origin.access_path[-1].kind != "attribute":
                return None
            owner = Origin(file, node, context, origin.access_path[:-1], origin.receiver)
            value = self.values.at(owner)
            return value.shape if isinstance(value, TensorValue) else None
        if isinstance(node, cst.Tuple | cst.List):
            lengths: list[Dimension] = []
            for element in node.elements:
                if isinstance(element, cst.StarredElement):
                    inner = self.shape_of(file, element.value, context)
                    if inner is None:
                        return None
                    lengths.extend(inner)
                else:
                    lengths.append(self._length(file, element.value, context))
            return tuple(lengths)
        if isinstance(node, cst.BinaryOperation) and isinstance(node.operator, cst.Add):
            left, right = (self.shape_of(file, side, context) for side in (node.left, node.right))
            return None if left is None or right is None else (*left, *right)
        if isinstance(node, cst.Subscript):
            whole = self.shape_of(file, node.value, context)
            key = self.values.index(file, node.slice[0].slice, context) if len(node.slice) == 1 else None
            return whole[key] if whole is not None and isinstance(key, slice) else None
        if isinstance(node, cst.Call):
            return self._shape_of_call(file, node, context)
        if isinstance(node, cst.Integer | cst.Name | cst.BinaryOperation):
            constant = self.values.constants.of(file, node, context)
            if type(constant) is int:
                return (constant,)
        return None

    def _shape_of_call(self, file: File, call: cst.Call, context: Context | None) -> Shape | None:
        name = file.name(call.func) or ""
        is_method = isinstance(call.func, cst.Attribute) and call.func.attr.value in ("get_shape", "as_list")
        if name in ("tf.shape", "numpy.shape", "keras.ops.shape", "keras.backend.int_shape") and call.args:
            value = self.values.found(file, call.args[0].value, context)
            return value.shape if isinstance(value, TensorValue) else None
        if name == "tf.TensorShape" and call.args:
            return self.shape_of(file, call.args[0].value, context)
        if name in ("tf.constant", "numpy.array") and call.args:
            return self.shape_of(file, call.args[0].value, context)
        if is_method and isinstance(call.func, cst.Attribute):
            if call.func.attr.value == "as_list":
                return self.shape_of(file, call.func.value, context)
            value = self.values.found(file, call.func.value, context)
            return value.shape if isinstance(value, TensorValue) else None
        if isinstance(call.func, cst.Name) and call.func.value == "len" and call.args:
            return (self._length(file, call, context),)
        return None

    def _length(self, file: File, expr: Expression, context: Context | None) -> Dimension:
        """A number that the code fixes, or the length of what has a known shape."""
        constant = self.values.constants.of(file, expr, context)
        if type(constant) is int:
            return constant
        if isinstance(expr, cst.Subscript) and len(expr.slice) == 1:
            whole = self.shape_of(file, expr.value, context)
            key = self.values.index(file, expr.slice[0].slice, context)
            if whole is not None and isinstance(key, int) and -len(whole) <= key < len(whole):
                return whole[key]
        if isinstance(expr, cst.Call) and isinstance(expr.func, cst.Name) and expr.func.value == "len" and expr.args:
            value = self.values.found(file, expr.args[0].value, context)
            if isinstance(value, TensorValue) and value.shape:
                return value.shape[0]
        return None
