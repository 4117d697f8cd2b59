"""Which functions do to a whole batch what they do to each of its elements."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from functools import cached_property

import libcst as cst

from tflint_gpu.lazy_dataclasses import dataclass
from tflint_gpu.model.library.datasets import Parameter
from tflint_gpu.model.library.files import FIXED_FIELDS, ONE_RECORD_PARSERS, RECORD_PARSERS
from tflint_gpu.model.library.operations import operation_named
from tflint_gpu.model.python.project.file import File
from tflint_gpu.model.python.syntax.children import walk
from tflint_gpu.model.python.syntax.operators import operands
from tflint_gpu.model.python.syntax.syntax import Expression, Node, argument, dict_values, method_name
from tflint_gpu.model.python.value_flow.calls import Callee, filled
from tflint_gpu.model.python.value_flow.constants import UNKNOWN, Constants
from tflint_gpu.model.python.value_flow.inference import Inference
from tflint_gpu.model.python.value_flow.origins import Context, Origin
from tflint_gpu.model.tensorflow.tf_data.plain_code import is_plain

_PIXELS = frozenset(["image.rgb_to_grayscale", "image.grayscale_to_rgb", "one_hot"])  # they change the last axis only
_CHANNELS = frozenset(["image.rgb_to_grayscale", "image.grayscale_to_rgb"])
_OF_CONSTANT = Parameter("shape", 2)
_AXES = frozenset(["expand_dims", "squeeze"])
_RANKS = _AXES | {"new last axis", "one_hot", "record"}
_LAYERS = frozenset(["keras.layers.Rescaling", "keras.layers.experimental.preprocessing.Rescaling"])


@dataclass(frozen=True, slots=True)
class _Value:
    """What an expression of such a function is.

    Arguments:
        parts: the parameters of which it is made.
        shape: the parameter whose shape it has, and what was done to that shape; None for a number and a structure.
        is_structure: a tuple or dictionary.
        is_image: of which some function of `tf.image` has made sure that its last axis is that of the channels.
        is_vector: one number for each channel.
    """

    parts: frozenset[Node] = frozenset()
    shape: tuple[object, ...] | None = None
    is_structure: bool = False
    is_image: bool = False
    is_vector: bool = False

    @property
    def is_number(self) -> bool:
        return self.shape is None and not self.is_structure and not self.is_vector


class ElementWise:
    """Analysis of one function that a dataset maps, seen without a call.

    Arguments:
        callee: the function.
        caller: the call in which it is handed over, where that is known.
        may_parse_one: a parser of single records counts as that of a batch.
    """

    def __init__(
        self,
        inference: Inference,
        constants: Constants,
        callee: Callee,
        caller: Context | None,
        *,
        may_parse_one: bool = False,
    ) -> None:
        self.inference = inference
        self.constants = constants
        self.function = callee.function
        self.given = filled(callee)
        self.context = Context(self.function.node, caller=callee.context or caller)
        self.parsers = RECORD_PARSERS | ONE_RECORD_PARSERS if may_parse_one else RECORD_PARSERS
        self._known: dict[tuple[Node, Context | None], _Value | None] = {}
        self._understood: set[Node] = set()

    @property
    def components(self) -> list[cst.Param]:
        """The parameters that an element's components fill."""
        return [p for p in self.function.parameters if p not in self.given and p.default is None]

    def holds(self) -> bool:
        """Whether the function of a batch is certainly the batch of the function's values, and drops no component."""
        node, file = self.function.node, self.function.file
        if not self.components or node.params.star_kwarg is not None or isinstance(node.params.star_arg, cst.Param):
            return False
        if self.inference.definitions.decorators.may_replace(file, node) or file.yields_of.get(node):
            return False
        returned = [self._expression(file, value, self.context) for value in file.returned(node)]
        if not returned or not all(v and v.parts == frozenset(self.components) and not v.is_number for v in returned):
            return False
        return self._stores_are_known() and is_plain(self.inference, self.function, self._understood, stores=True)

    def _stores_are_known(self) -> bool:
        """`features["image"] = features["image"] / 255`: whether what is put into an element is computed from it."""
        file, node = self.function.file, self.function.node
        for target, stored in file.tree.items_set_in(node):
            into = self.inference.of(file, target.value, self.context)
            value = self._expression(file, stored, self.context) if stored is not None else None
            if value is None or value.shape is None or not all(o.node in self.components for o in into):
                return False
            index = target.slice[0].slice
            key = self.inference.key(file, index.value, self.context) if isinstance(index, cst.Index) else None
            if not isinstance(key, str) or len(target.slice) > 1:
                return False
        return True

    def keeps_rank(self) -> bool:
        """Of such a function: whether it adds no axis, and takes none away."""
        return not any(
            isinstance(part, str) and part in _RANKS for value in self._known.values() for part in _shape(value)
        )

    def _expression(self, file: File, expr: Expression, context: Context | None) -> _Value | None:
        key = (expr, context)
        if key not in self._known:
            self._known[key] = None  # a value that depends on itself
            self._known[key] = self._agreed(self._origin(origin) for origin in self.inference.of(file, expr, context))
        return self._known[key]

    def _agreed(self, values: Iterable[_Value | None]) -> _Value | None:
        """What all ways agree on."""
        known = list(values)
        if not known or any(value is None for value in known):
            return None
        plain = {replace(value, is_image=False) for value in known if value is not None}
        return (
            replace(plain.pop(), is_image=all(v is not None and v.is_image for v in known)) if len(plain) == 1 else None
        )

    def _origin(self, origin: Origin) -> _Value | None:
        file, node, context = origin.file, origin.node, origin.context
        if isinstance(node, cst.Param):
            return self._parameter(origin, node)
        if isinstance(node, cst.Call) and len(origin.access_path) == 1 and origin.access_path[0].kind == "item":
            record = self._record(file, node, context)
            key = origin.access_path[0].key
            return replace(record, shape=("record", key), is_structure=False) if record and key is not None else None
        if origin.access_path or not isinstance(node, cst.BaseExpression | cst.AugAssign):
            return self._number(origin)
        if isinstance(node, cst.Call):
            return self._call(file, node, context) or self._number(origin)
        if isinstance(node, cst.Subscript):
            return self._subscript(file, node, context)
        combined = operands(node)
        if combined is not None:
            number = self._number(origin)
            return number or _combined(self._expression(file, operand, context) for operand in combined)
        if isinstance(node, cst.Tuple | cst.Dict):
            return self._structure(file, node, context)
        return self._number(origin)

    def _parameter(self, origin: Origin, node: cst.Param) -> _Value | None:
        if origin.access_path:  # of a dictionary: an index of a tensor would count the batch
            item = origin.access_path[0]
            is_component = len(origin.access_path) == 1 and item.kind == "item" and isinstance(item.key, str)
            is_component = is_component and node in self.components
            return _Value(frozenset([node.name]), (node, f"[{item.key}]")) if is_component else None
        if node in self.components:
            return _Value(frozenset([node]), (node,))
        given = self.given.get(node)
        value = given.value if given is not None else node.default
        file, context = (given.file, given.context) if given is not None else (origin.file, None)
        return _Value() if value is not None and _is_number(self.constants.of(file, value, context)) else None

    def _number(self, origin: Origin) -> _Value | None:
        """A number that is known before the function is called, and so has no shape."""
        if origin.access_path or not isinstance(origin.node, cst.BaseExpression):
            return None
        if (origin.name or "") in ("numpy.pi", "numpy.e", "math.pi", "math.e"):
            return _Value()
        if _is_number(self.constants.of(origin.file, origin.node, origin.context)) or self._is_for_channels(origin):
            return _Value()
        return _Value(is_vector=True) if self._is_vector(origin.file, origin.node, origin.context) else None

    def _is_vector(self, file: File, expr: Expression, context: Context | None) -> bool:
        """`[0.485, 0.456, 0.406]`."""
        numbers = [e.value for e in expr.elements] if isinstance(expr, cst.List | cst.Tuple) else []
        return len(numbers) > 1 and all(_is_number(self.constants.of(file, number, context)) for number in numbers)

    def _is_for_channels(self, origin: Origin) -> bool:
        """A tensor or array from outside with a number a channel, of shape (1, 1, 3): an image has these axes."""
        file, call = origin.file, origin.call
        if call is None or self.function.node in (file.tree.function(call), *file.enclosing_functions(call)):
            return False
        shape: Expression | None
        if method_name(call) == "reshape" and file.name(call.func) is None:
            lengths = [arg.value for arg in call.args]
            shape = lengths[0] if len(lengths) == 1 else cst.Tuple([cst.Element(length) for length in lengths])
        else:
            name = file.name(call.func)
            size = _OF_CONSTANT if name == "tf.constant" else operation_named(name).size
            is_shaped = size is _OF_CONSTANT or operation_named(name).shape == "reshaped"
            shape = argument(call, size.position, size.keyword) if is_shaped and size is not None else None
        value = self.constants.of(file, shape, origin.context) if shape is not None else UNKNOWN
        if not isinstance(value, tuple) or len(value) < 2 or not isinstance(value[-1], int):
            return False
        return all(length == 1 for length in value[:-1])

    def _structure(self, file: File, node: cst.Tuple | cst.Dict, context: Context | None) -> _Value | None:
        values = []
        for element in node.elements:
            if isinstance(element, cst.StarredElement | cst.StarredDictElement):
                return None
            values.append(self._expression(file, element.value, context))
        if not values or any(value is None or value.is_number for value in values):
            return None
        return _Value(frozenset().union(*(v.parts for v in values if v is not None)), is_structure=True)

    def _subscript(self, file: File, node: cst.Subscript, context: Context | None) -> _Value | None:
        """`x[..., tf.newaxis]` alone: an index from the left counts the batch."""
        indices = [e.slice.value for e in node.slice if isinstance(e.slice, cst.Index)]
        if len(indices) != 2 or len(node.slice) != 2 or not isinstance(indices[0], cst.Ellipsis):
            return None
        if not file.is_new_axis(indices[1]):
            return None
        return _reshaped(self._expression(file, node.value, context), "new last axis")

    def _call(self, file: File, call: cst.Call, context: Context | None) -> _Value | None:
        name = file.name(call.func) or ""
        short = name.removeprefix("tf.compat.v1.").removeprefix("tf.") if name.startswith("tf.") else ""
        values = [self._expression(file, arg.value, context) for arg in call.args if not arg.star]
        if not values or len(values) != len(call.args):
            return None
        if name.startswith("numpy.") and any(value is None or value.shape is not None for value in values):
            return None  # NumPy on a tensor raises
        value: _Value | None = self._record(file, call, context)
        if value is not None:
            return value
        if short == "concat":
            value = self._joined(file, call, context)
        elif operation_named(name).combines(len(values)):
            kept = [v for arg, v in zip(call.args, values, strict=True) if not _is_name_argument(arg)]
            value = _combined(kept)
        elif self._rest_is_set(file, call, context):
            value = self._of_first(file, call, context, name, short, values[0])
        if value is not None:
            self._understood.update(node for node in walk(call) if isinstance(node, cst.Call))
        return value

    def _joined(self, file: File, call: cst.Call, context: Context | None) -> _Value | None:
        """`tf.concat([x, y], -1)` of what has the shape of one and the same parameter, but for the last axis."""
        given, axis = argument(call, 0, "values"), argument(call, 1, "axis")
        if not isinstance(given, cst.List | cst.Tuple) or self.constants.of(file, axis, context) != -1:
            return None
        values = [self._expression(file, element.value, context) for element in given.elements]
        shapes = [value.shape for value in values if value is not None and value.shape is not None]
        if not shapes or len(shapes) < len(values) or len({_but_last_axis(shape) for shape in shapes}) > 1:
            return None
        parts = frozenset().union(*(value.parts for value in values if value is not None))
        return _Value(parts, (*_but_last_axis(shapes[0]), *(("joined", shape) for shape in shapes)))

    def _record(self, file: File, call: cst.Call, context: Context | None) -> _Value | None:
        """The features that `tf.io.parse_example` reads, where each has a shape that is the same for all elements."""
        features = argument(call, 1, "features")
        if file.name(call.func) not in self.parsers or features is None or not call.args:
            return None
        first = self._expression(file, call.args[0].value, context)
        tables = [origin.node for origin in self.inference.of(file, features, context)]
        made = [value for table in tables for value in dict_values(table)]
        fixed = (
            self.inference.must_be(file, made_value, lambda o: o.made_by in FIXED_FIELDS, context)
            for made_value in made
        )
        if first is None or first.shape is None or not made or not all(fixed):
            return None
        if not all(isinstance(table, cst.Dict | cst.DictComp) for table in tables):
            return None
        self._understood.update([call, *(made_value for made_value in made if isinstance(made_value, cst.Call))])
        return _Value(first.parts, is_structure=True)

    def _of_first(
        self, file: File, call: cst.Call, context: Context | None, name: str, short: str, first: _Value | None
    ) -> _Value | None:
        """A call that works on its first argument, whose others set how."""
        operation = operation_named(name)
        if operation.is_of_each or _preprocesses(name) or self._rescales(file, call, context):
            is_image = first is not None and (first.is_image or short.startswith("image."))
            return replace(first, is_image=is_image) if first is not None and not first.is_structure else None
        if operation.is_array:
            is_given = first is not None and (first.is_number or first.is_vector)
            return first if is_given and argument(call, 2, "shape") is None else None
        if short in _PIXELS and argument(call, -1, "axis") is None:
            return _reshaped(first, short)
        if short in _AXES:
            axis = argument(call, 1, "axis")
            return _reshaped(first, short) if axis and self.constants.of(file, axis, context) == -1 else None
        return None

    def _rest_is_set(self, file: File, call: cst.Call, context: Context | None) -> bool:
        """Whether only the first argument holds something of the element."""
        parts = [node for arg in call.args[1:] for node in walk(arg.value)]
        return not any(isinstance(node, cst.Call) for node in parts) and all(
            self._is_set(origin)
            for node in parts
            if isinstance(node, cst.Name)
            for origin in self.inference.of(file, node, context)
        )

    def _is_set(self, origin: Origin) -> bool:
        """Whether a value is there before the function is called."""
        node, file = origin.node, origin.file
        if isinstance(node, cst.Param):
            owner = file.tree.parents[file.tree.parents[node]]
            return owner in self._around or self.inference.definitions.class_of_self(file, node) is not None
        if isinstance(node, cst.Name | cst.Attribute):
            return True
        if isinstance(node, cst.BaseExpression) and self.constants.of(file, node, origin.context) is not UNKNOWN:
            return True
        function = file.tree.function(node)
        return function is None or function in self._around

    @cached_property
    def _around(self) -> frozenset[Node]:
        inner = self.function
        return frozenset(inner.file.enclosing_functions(inner.node)) - {inner.node}

    def _rescales(self, file: File, call: cst.Call, context: Context | None) -> bool:
        """A call of a `Rescaling` layer that multiplies by numbers."""

        def is_rescaling(origin: Origin) -> bool:
            return origin.made_by in _LAYERS and all(
                _is_number(self.constants.of(origin.file, arg.value, origin.context))
                for arg in (origin.call.args if origin.call is not None else ())
            )

        return len(call.args) == 1 and self.inference.must_be(file, call.func, is_rescaling, context)


def _combined(values: Iterable[_Value | None]) -> _Value | None:
    """Numbers, and tensors of one and the same shape: with another shape, a batch would be broadcast differently.

    An image may have another number for each of its channels.
    """
    known = list(values)
    shapes = {value.shape for value in known if value is not None and value.shape is not None}
    if not known or len(shapes) > 1 or any(value is None or value.is_structure for value in known):
        return None
    needs = [value for value in known if value is not None]
    is_image, has_vector = any(value.is_image for value in needs), any(value.is_vector for value in needs)
    if shapes and has_vector and not is_image:
        return None
    parts = frozenset().union(*(value.parts for value in needs))
    return _Value(parts, shapes.pop() if shapes else None, is_image=is_image, is_vector=has_vector and not parts)


def _but_last_axis(shape: tuple[object, ...]) -> tuple[object, ...]:
    """A shape without what changed its last axis alone."""
    while isinstance(shape[-1], tuple) or shape[-1] in _CHANNELS:
        shape = shape[:-1]
    return shape


def _reshaped(value: _Value | None, how: str) -> _Value | None:
    if value is None or value.shape is None:
        return None
    return replace(value, shape=(*value.shape, how))


def _shape(value: _Value | None) -> tuple[object, ...]:
    return value.shape or () if value is not None else ()


def _is_number(value: object) -> bool:
    return isinstance(value, int | float)


def _is_name_argument(arg: cst.Arg) -> bool:
    return arg.keyword is not None and arg.keyword.value == "name"


def _preprocesses(name: str) -> bool:
    """`keras.applications.vgg16.preprocess_input`."""
    return name.startswith("keras.applications.") and name.endswith(".preprocess_input")
