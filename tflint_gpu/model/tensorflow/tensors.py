"""Which expressions carry a tensor inside a traced function."""

from __future__ import annotations

import enum
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING

import libcst as cst

from tflint_gpu.model.python.classes import keras_kind
from tflint_gpu.model.python.functions import Function, element
from tflint_gpu.model.python.syntax import Expression, Node, method_name
from tflint_gpu.model.python.tree import Binding, Path
from tflint_gpu.model.tensorflow.tensor_functions import CONTAINER_METHODS, STATIC_ATTRIBUTES, returns_tensor

if TYPE_CHECKING:
    from tflint_gpu.model.model import Model


class Carry(enum.Enum):
    """What an expression holds while its function is traced."""

    TENSOR = "tensor"  # a symbolic tensor, or a container with one
    HOST = "host"  # an ordinary Python or NumPy value
    UNKNOWN = "unknown"


_LITERALS = (
    cst.Integer,
    cst.Float,
    cst.Imaginary,
    cst.SimpleString,
    cst.ConcatenatedString,
    cst.FormattedString,
    cst.Lambda,
)
_HOST_BUILTINS = (
    "len",
    "int",
    "float",
    "str",
    "bool",
    "isinstance",
    "hasattr",
    "callable",
    "range",
    "type",
    "id",
)
_PASSING_BUILTINS = ("list", "tuple", "reversed", "sorted", "zip", "enumerate")
_DEPTH_LIMIT = 5


class Tensors:
    """The tensors of one traced function.

    Arguments:
        function: the function that is traced.
        carrying: what each of its parameters holds; parameters not named are unknown.
        outer: the tensors of the traced function in which this one is defined.
    """

    def __init__(
        self, function: Function, carrying: Mapping[str, Carry], outer: Tensors | None = None, depth: int = 0
    ) -> None:
        self.function = function
        self.model: Model = function.model
        self.carrying = carrying
        self.outer = outer
        self.depth = depth
        self._known: dict[Node, Carry | None] = {}

    def of(self, expr: Expression | None) -> Carry:
        """What `expr` holds; UNKNOWN unless every way to it agrees."""
        if expr is None:
            return Carry.UNKNOWN
        if expr not in self._known:
            self._known[expr] = None  # in work: a value that depends on itself adds nothing
            self._known[expr] = self._evaluate(expr)
        return self._known[expr] or Carry.UNKNOWN

    def holds_tensor(self, exprs: Iterable[Expression]) -> bool:
        """Whether one of the expressions carries a tensor."""
        return any(self.of(expr) is Carry.TENSOR for expr in exprs)

    def returned(self, path: Path = ()) -> Carry:
        """What the function returns, or the part of it that an unpacking path names."""
        ways = []
        for value in self.model.functions.returned(self.function.node):
            part = element(value, path) if path and isinstance(value, cst.Tuple | cst.List) else value
            ways.append(self.of(part))
        return _join(ways)

    def _evaluate(self, expr: Expression) -> Carry:
        if isinstance(expr, _LITERALS):
            return Carry.HOST
        if isinstance(expr, cst.Name):
            return self._name(expr)
        if isinstance(expr, cst.Attribute):
            return self._attribute(expr)
        if isinstance(expr, cst.Call):
            return self._call(expr)
        if isinstance(expr, cst.Subscript):
            return self.of(expr.value)
        if isinstance(expr, cst.BinaryOperation):
            return self._operation(expr)
        if isinstance(expr, cst.Comparison):
            if any(isinstance(c.operator, cst.Is | cst.IsNot | cst.In | cst.NotIn) for c in expr.comparisons):
                return Carry.HOST
            return _combine([self.of(expr.left), *(self.of(c.comparator) for c in expr.comparisons)])
        if isinstance(expr, cst.UnaryOperation):
            return Carry.UNKNOWN if isinstance(expr.operator, cst.Not) else self.of(expr.expression)
        if isinstance(expr, cst.BooleanOperation):
            return _join([self.of(expr.left), self.of(expr.right)])
        if isinstance(expr, cst.IfExp):
            return _join([self.of(expr.body), self.of(expr.orelse)])
        if isinstance(expr, cst.Tuple | cst.List | cst.Set):
            return _combine([self.of(e.value) for e in expr.elements])
        if isinstance(expr, cst.Dict):
            return _combine([self.of(e.value) for e in expr.elements])
        if isinstance(expr, cst.ListComp | cst.GeneratorExp | cst.SetComp):
            return self.of(expr.elt)
        if isinstance(expr, cst.DictComp):
            return self.of(expr.value)
        if isinstance(expr, cst.NamedExpr):
            return self.of(expr.value)
        return Carry.UNKNOWN

    def _operation(self, expr: cst.BinaryOperation) -> Carry:
        if isinstance(expr.operator, cst.Modulo) and isinstance(
            expr.left, cst.SimpleString | cst.ConcatenatedString | cst.FormattedString
        ):
            return Carry.HOST
        return _combine([self.of(expr.left), self.of(expr.right)])

    def _name(self, expr: cst.Name) -> Carry:
        if expr.value in ("None", "True", "False"):
            return Carry.HOST
        bindings = self.model.flow.lookup(expr.value, expr)
        ways: list[Carry | None] = []
        for binding in bindings:
            home = self._home(binding)
            if home is None:
                return Carry.UNKNOWN
            ways.append(home._binding(binding))
        return _join(ways)

    def _home(self, binding: Binding) -> Tensors | None:
        """The traced function, this one or one around it, in which a binding lies."""
        node = binding.node
        if binding.kind == "parameter":
            function: Node | None = self.model.tree.parents[self.model.tree.parents[node]]
        else:
            function = self.model.tree.function(node)
        context: Tensors | None = self
        while context is not None:
            if context.function.node is function:
                return context
            context = context.outer
        return None

    def _binding(self, binding: Binding) -> Carry | None:
        """What a binding gives its name; None while that is being found out (a loop)."""
        if binding.kind == "parameter":
            return self.carrying.get(binding.name, Carry.UNKNOWN)
        if binding.value is None:
            return Carry.UNKNOWN
        if binding.kind == "for":
            return self._elements(binding.value, binding.path)
        if binding.kind == "augment":
            assert isinstance(binding.node, cst.AugAssign)
            return _combine([self.of(binding.node.target), self.of(binding.value)])
        if binding.kind == "assign":
            return self._part(binding.value, binding.path)
        return Carry.UNKNOWN

    def _part(self, value: Expression, path: Path) -> Carry | None:
        if path and isinstance(value, cst.Tuple | cst.List):
            return self.of(element(value, path))
        if path and isinstance(value, cst.Call):
            called = self._callee(value)
            if called is not None:
                return called.returned(path)
        if value in self._known and self._known[value] is None:
            return None
        return self.of(value)

    def _elements(self, iterable: Expression, path: Path) -> Carry | None:
        """What a loop variable holds that runs over `iterable`."""
        if isinstance(iterable, cst.Call) and isinstance(iterable.func, cst.Name):
            name, args = iterable.func.value, [a.value for a in iterable.args]
            if name == "enumerate" and args:
                return Carry.HOST if path[:1] == (0,) else self._elements(args[0], path[1:])
            if name == "zip" and path and path[0] is not None and path[0] < len(args):
                return self._elements(args[path[0]], path[1:])
            if name == "range":
                return self._range(args)
        if isinstance(iterable, cst.Call) and method_name(iterable) == "items" and path[:1] == (0,):
            return Carry.HOST
        if isinstance(iterable, cst.Name) and self._used_as_dictionary(iterable):
            return Carry.UNKNOWN
        if isinstance(iterable, cst.List | cst.Tuple):
            return _join([self._part(e.value, path) for e in iterable.elements])
        return self.of(iterable)

    def _range(self, args: list[Expression]) -> Carry:
        """`range` needs Python numbers; AutoGraph turns a range over a tensor into a tensor loop."""
        return Carry.UNKNOWN if self.holds_tensor(args) else Carry.HOST

    def _used_as_dictionary(self, name: cst.Name) -> bool:
        """Whether the function asks the name for keys: then a loop over it yields strings."""
        for call in self.model.functions.calls_in.get(self.function.node, ()):
            if method_name(call) in ("keys", "items", "values", "get"):
                assert isinstance(call.func, cst.Attribute)
                if isinstance(call.func.value, cst.Name) and call.func.value.value == name.value:
                    return True
        return any(
            isinstance(s.value, cst.Name)
            and s.value.value == name.value
            and isinstance(s.slice[0].slice, cst.Index)
            and isinstance(s.slice[0].slice.value, cst.SimpleString)
            for s in self.model.tree.subscripts
        )

    def _attribute(self, expr: cst.Attribute) -> Carry:
        held = self.of(expr.value)
        if held is Carry.TENSOR:
            return Carry.HOST if expr.attr.value in STATIC_ATTRIBUTES else Carry.UNKNOWN
        if held is Carry.HOST:
            return Carry.HOST
        if self.model.name(expr) is not None:
            return Carry.HOST if (self.model.name(expr) or "").startswith("numpy.") else Carry.UNKNOWN
        return self._self_attribute(expr)

    def _self_attribute(self, expr: cst.Attribute) -> Carry:
        """`self.x` carries a tensor when this function alone assigns it, and assigns tensors."""
        values = self.model.classes.attribute_values(expr)
        ways: list[Carry | None] = []
        for attribute in values:
            if isinstance(attribute.value, cst.Name) and attribute.value.value == "None":
                continue
            if attribute.model is not self.model:
                return Carry.UNKNOWN
            home = self.model.tree.function(attribute.node)
            if home is not self.function.node:
                return Carry.UNKNOWN
            ways.append(self._part(attribute.value, attribute.path))
        return _join(ways)

    def _call(self, expr: cst.Call) -> Carry:
        name = self.model.name(expr.func)
        if returns_tensor(name):
            return Carry.TENSOR
        if name is not None and name.startswith("numpy."):
            return Carry.HOST
        args = [arg.value for arg in expr.args]
        if isinstance(expr.func, cst.Name) and not self.model.flow.lookup(expr.func.value, expr.func):
            if expr.func.value in _HOST_BUILTINS:
                return Carry.HOST
            if expr.func.value in _PASSING_BUILTINS:
                return _combine([self.of(arg) for arg in args])
        if self._calls_layer(expr):
            return Carry.TENSOR
        called = self._callee(expr)
        if called is not None:
            return called.returned()
        if isinstance(expr.func, cst.Attribute):
            held = self.of(expr.func.value)
            if held is Carry.TENSOR and expr.func.attr.value in CONTAINER_METHODS:
                return Carry.TENSOR
            if held is Carry.TENSOR and expr.func.attr.value in STATIC_ATTRIBUTES:
                return Carry.HOST
            if held is Carry.HOST:
                return Carry.HOST
        return Carry.UNKNOWN

    def _calls_layer(self, expr: cst.Call) -> bool:
        """Whether the call runs a Keras layer or model: `self.dense(x)`, `Dense(4)(x)`, `super().call(x)`."""
        if not expr.args:
            return False
        func = expr.func
        if _is_super_call(func):
            assert isinstance(func, cst.Attribute)
            owner = self.model.classes.enclosing(expr)
            return owner is not None and self.model.classes.method(owner, func.attr.value, True) is None
        origins = self.model.functions.origins(func)
        return bool(origins) and all(
            origin is not None
            and isinstance(origin.node, cst.Call)
            and keras_kind(origin.model.name(origin.node.func) or "") in ("layer", "model")
            for origin in origins
        )

    def _callee(self, expr: cst.Call) -> Tensors | None:
        """The tensors of the project's function that a call runs, with what the call passes."""
        if self.depth >= _DEPTH_LIMIT:
            return None
        called = self.model.functions.called(expr)
        if called is None:
            instance = self.model.functions.instance_class(expr.func)
            method = instance and instance.model.classes.method(instance, "call")
            if not method:
                return None
            called = Function(method.owner.model, method.node, method.owner)
        if called.model.functions.may_be_replaced(called.node):
            return None
        return self.enter(expr, called)

    def enter(self, call: cst.Call, called: Function) -> Tensors:
        """The tensors of `called` when this function calls it with the arguments of `call`."""
        carrying = {
            parameter.name.value: self.of(value) for parameter, value in self.model.functions.passed(call, called)
        }
        return Tensors(called, carrying, self.around(called), self.depth + 1)

    def around(self, inner: Function) -> Tensors | None:
        """This context or the one around it in which `inner` is defined."""
        parent = inner.model.tree.function(inner.node) if inner.model is self.model else None
        context: Tensors | None = self if parent is not None else None
        while context is not None and context.function.node is not parent:
            context = context.outer
        return context


def _is_super_call(func: Expression) -> bool:
    """`super().call` or `super().__call__`."""
    if not isinstance(func, cst.Attribute) or func.attr.value not in ("call", "__call__"):
        return False
    receiver = func.value
    return isinstance(receiver, cst.Call) and isinstance(receiver.func, cst.Name) and receiver.func.value == "super"


def _join(ways: Iterable[Carry | None]) -> Carry:
    """What all known ways agree on."""
    found = {way for way in ways if way is not None}
    return found.pop() if len(found) == 1 else Carry.UNKNOWN


def _combine(parts: list[Carry]) -> Carry:
    """A tensor anywhere makes the whole carry one; only host values make a host value."""
    if Carry.TENSOR in parts:
        return Carry.TENSOR
    return Carry.UNKNOWN if Carry.UNKNOWN in parts else Carry.HOST
