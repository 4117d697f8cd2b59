"""Which expressions carry a tensor while a function is traced: a view of the inference."""

from __future__ import annotations

import enum
from collections.abc import Iterable, Mapping

import libcst as cst

from tflint_gpu.model.python.project.file import File
from tflint_gpu.model.python.project.functions import Function
from tflint_gpu.model.python.syntax.syntax import Expression, Node, method_name
from tflint_gpu.model.python.value_flow.call_sites import parameter_origins
from tflint_gpu.model.python.value_flow.calls import Callee
from tflint_gpu.model.python.value_flow.inference import Inference
from tflint_gpu.model.python.value_flow.origins import ELEMENT, Context, Origin
from tflint_gpu.model.tensorflow.api.tapes import TAKES
from tflint_gpu.model.tensorflow.api.tensor_functions import CONTAINER_METHODS, STATIC_ATTRIBUTES, returns_tensor
from tflint_gpu.model.tensorflow.types.kinds import Kind, Kinds


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
    cst.FunctionDef,
    cst.ClassDef,
)
_HOST_BUILTINS = frozenset("len int float str bool isinstance hasattr callable range type id".split())
_COMBINING_BUILTINS = frozenset(["zip", "enumerate", "dict"])
_STRINGS = (cst.SimpleString, cst.ConcatenatedString, cst.FormattedString)
_LOSS_METHODS = frozenset(["compute_loss", "compiled_loss"])
_INPUTS = frozenset(["keras.Input", "keras.layers.Input"])


class Tensors:
    """The tensors of one traced function and of what it calls.

    Arguments:
        function: the function that is traced; None for code that is not, in which only symbolic Keras tensors count.
        seeds: what its parameters hold; parameters not named are unknown.
    """

    def __init__(
        self, inference: Inference, kinds: Kinds, function: Function | None, seeds: Mapping[Node, Carry]
    ) -> None:
        self.inference = inference
        self.kinds = kinds
        self.function = function
        self.seeds = seeds
        self.context = Context(function.node) if function is not None else None
        self._known: dict[tuple[Node, Context | None], Carry | None] = {}
        self._made: dict[tuple[Node, Context | None], Carry | None] = {}

    def of(self, file: File, expr: Expression, context: Context | None) -> Carry:
        """What `expr` holds; UNKNOWN unless every way to it agrees."""
        return self._expression(file, expr, context) or Carry.UNKNOWN

    def holds_tensor(self, file: File, exprs: Iterable[Expression], context: Context | None) -> bool:
        """Whether one of the expressions carries a tensor."""
        return any(self.of(file, expr, context) is Carry.TENSOR for expr in exprs)

    def carrying(self, callee: Callee, context: Context | None) -> frozenset[Node]:
        """The parameters of a function that carry tensors in a context."""
        function = callee.function
        return frozenset(
            parameter
            for parameter in function.parameters
            if self._joined(parameter_origins(self.inference, function.file, parameter, context)) is Carry.TENSOR
        )

    def _expression(self, file: File, expr: Expression, context: Context | None) -> Carry | None:
        """None while that is being found out: a value that depends on itself adds nothing."""
        key = (expr, context)
        if key not in self._known:
            self._known[key] = None
            self._known[key] = self._joined(self.inference.of(file, expr, context))
        return self._known[key]

    def _joined(self, origins: Iterable[Origin]) -> Carry | None:
        """What all known ways agree on."""
        carries = {self._origin(origin) for origin in origins if not origin.is_none}
        carries.discard(None)
        if not carries:
            return None
        return carries.pop() if len(carries) == 1 else Carry.UNKNOWN

    def _origin(self, origin: Origin) -> Carry | None:
        if origin.access_path:
            return self._part(origin)
        node = origin.node
        if isinstance(node, _LITERALS):
            return Carry.HOST
        if isinstance(node, cst.Param):
            return self.seeds.get(node, Carry.UNKNOWN)
        if isinstance(node, cst.Name):
            return Carry.HOST if node.value in ("None", "True", "False") else Carry.UNKNOWN
        if isinstance(node, cst.Attribute):
            return Carry.HOST if (origin.name or "").startswith("numpy.") else Carry.UNKNOWN
        key = (node, origin.context)
        if key not in self._made:
            self._made[key] = None
            self._made[key] = self._computed(origin.file, node, origin.context)
        return self._made[key]

    def _part(self, origin: Origin) -> Carry | None:
        """Contents of a tensor, or of a container of tensors, are tensors; its static attributes are not."""
        whole = self._origin(Origin(origin.file, origin.node, origin.context))
        if whole is Carry.TENSOR:
            if any(part.kind == "attribute" and part.key in STATIC_ATTRIBUTES for part in origin.access_path):
                return Carry.HOST
            if any(part.kind == "attribute" for part in origin.access_path):
                return Carry.UNKNOWN
            if origin.access_path[0] == ELEMENT and isinstance(origin.node, cst.Call) and self._counts(origin):
                return Carry.HOST
            if ELEMENT in origin.access_path and self._is_used_as_dictionary(origin):
                return Carry.UNKNOWN
        return whole

    def _is_traced(self, context: Context | None) -> bool:
        """Whether code runs while the function is traced: what `__init__` makes has values."""
        while self.function is not None and context is not None and context.function is not self.function.node:
            context = context.caller
        return self.function is None or context is not None

    def _counts(self, origin: Origin) -> bool:
        """The index of `enumerate`, the key of `items`."""
        call = origin.node
        assert isinstance(call, cst.Call)
        numbers = origin.file.names.is_builtin(call.func, "enumerate") or method_name(call) == "items"
        return numbers and len(origin.access_path) > 1 and origin.access_path[1].key == 0

    def _is_used_as_dictionary(self, origin: Origin) -> bool:
        """Whether the code asks a parameter for keys: then a loop over it yields strings."""
        node, file = origin.node, origin.file
        if not isinstance(node, cst.Param):
            return False
        name = node.name.value
        for call in file.method_calls("keys", "items", "values", "get"):
            if isinstance(call.func, cst.Attribute) and _is_name(call.func.value, name):
                return True
        return any(
            _is_name(s.value, name)
            and isinstance(s.slice[0].slice, cst.Index)
            and isinstance(s.slice[0].slice.value, cst.SimpleString)
            for s in file.tree.subscripts
        )

    def _computed(self, file: File, node: Node, context: Context | None) -> Carry | None:
        def of(expr: Expression) -> Carry | None:
            return self._expression(file, expr, context)

        if isinstance(node, cst.Call):
            carry = self._call(file, node, context)
            return Carry.UNKNOWN if carry is Carry.TENSOR and not self._is_traced(context) else carry
        if isinstance(node, cst.BinaryOperation):
            if isinstance(node.operator, cst.Modulo) and isinstance(node.left, _STRINGS):
                return Carry.HOST
            return _combine([of(node.left), of(node.right)])
        if isinstance(node, cst.Comparison):
            if any(isinstance(c.operator, cst.Is | cst.IsNot | cst.In | cst.NotIn) for c in node.comparisons):
                return Carry.HOST
            return _combine([of(node.left), *(of(c.comparator) for c in node.comparisons)])
        if isinstance(node, cst.UnaryOperation):
            return Carry.UNKNOWN if isinstance(node.operator, cst.Not) else of(node.expression)
        if isinstance(node, cst.AugAssign):
            return _combine([of(node.target), of(node.value)])
        if isinstance(node, cst.Subscript):
            return of(node.value)
        if isinstance(node, cst.Tuple | cst.List | cst.Set | cst.Dict):
            return _combine([of(element.value) for element in node.elements])
        if isinstance(node, cst.ListComp | cst.GeneratorExp | cst.SetComp):
            return of(node.elt)
        if isinstance(node, cst.DictComp):
            return of(node.value)
        return Carry.UNKNOWN

    def _call(self, file: File, call: cst.Call, context: Context | None) -> Carry | None:
        name = file.name(call.func)
        if returns_tensor(name) or name in _INPUTS:
            return Carry.TENSOR if self.function is not None or name in _INPUTS else self._symbolic(file, call, context)
        if name is not None and name.startswith("numpy."):
            return Carry.HOST
        args = [arg.value for arg in call.args]
        if isinstance(call.func, cst.Name) and not file.flow.lookup(call.func.value, call.func):
            if call.func.value == "range":  # AutoGraph turns a range over a tensor into a tensor loop
                return Carry.UNKNOWN if self.holds_tensor(file, args, context) else Carry.HOST
            if call.func.value in _HOST_BUILTINS:
                return Carry.HOST
            if call.func.value in _COMBINING_BUILTINS:
                return _combine([self._expression(file, arg, context) for arg in args])
        if self._calls_layer(file, call, context):
            return Carry.TENSOR if self.function is not None else self._symbolic(file, call, context)
        if self._returns_of_call(file, call, context) is Carry.TENSOR:
            return Carry.TENSOR
        if self.function is not None and (
            self.gives_one(file, call, context) or self._is_gradient(file, call, context)
        ):
            return Carry.TENSOR
        if isinstance(call.func, cst.Attribute):
            held = self._expression(file, call.func.value, context)
            if held is Carry.TENSOR and call.func.attr.value in CONTAINER_METHODS:
                return Carry.TENSOR
            if held is Carry.TENSOR and call.func.attr.value in STATIC_ATTRIBUTES:
                return Carry.HOST
            if held is Carry.HOST:
                return Carry.HOST
        return Carry.UNKNOWN

    def gives_one(self, file: File, call: cst.Call, context: Context | None) -> bool:
        """Whether a call must give one tensor: of a loss object, `self.compute_loss(...)`, `metric.result()`."""
        func = call.func
        if self._is_keras_own(file, func, context, "loss"):
            return bool(call.args)
        if not isinstance(func, cst.Attribute):
            return False
        if func.attr.value == "result":
            return not call.args and self._is_keras_own(file, func.value, context, "metric")
        if func.attr.value not in _LOSS_METHODS:
            return False
        owner = self.inference.definitions.self_class(file, func.value)
        return (
            owner is not None
            and "model" in self.kinds.of_class(owner)
            and self.inference.definitions.method(owner, func.attr.value) is None
        )

    def _is_keras_own(self, file: File, expr: Expression, context: Context | None, *kinds: Kind) -> bool:
        """Whether an expression must be an object of Keras's own of some kinds, and none of the project."""

        def is_keras_own(origin: Origin) -> bool:
            return (
                origin.call is not None
                and self.kinds.of(origin) in kinds
                and self.inference.instance_class(origin) is None
            )

        return self.inference.must_be(file, expr, is_keras_own, context)

    def _is_gradient(self, file: File, call: cst.Call, context: Context | None) -> bool:
        """Whether a call takes gradients from a tape."""
        if method_name(call) not in TAKES or not isinstance(call.func, cst.Attribute):
            return False
        return self.inference.must_be(file, call.func.value, lambda o: o.made_by == "tf.GradientTape", context)

    def _symbolic(self, file: File, call: cst.Call, context: Context | None) -> Carry:
        """Outside of traced code a layer's result is symbolic where what it gets is."""
        given = [e.value for a in call.args for e in (a.value.elements if isinstance(a.value, cst.List) else (a,))]
        return Carry.TENSOR if self.holds_tensor(file, given, context) else Carry.UNKNOWN

    def _calls_layer(self, file: File, call: cst.Call, context: Context | None) -> bool:
        """Whether the call runs a Keras layer or model: `self.dense(x)`, `Dense(4)(x)`, `super().call(x)`."""
        if not call.args:
            return False
        func = call.func
        if isinstance(func, cst.Attribute) and func.attr.value in ("call", "__call__") and _is_super(file, func.value):
            owner = self.inference.definitions.enclosing(file, call)
            return (
                owner is not None and self.inference.definitions.method(owner, func.attr.value, skip_own=True) is None
            )

        own = self.inference.definitions.self_class(file, func)
        if own is not None and self.kinds.of_class(own) & {"layer", "model"}:  # `self(x)` in `train_step`
            return self.inference.definitions.method(own, "__call__") is None

        return self._is_keras_own(file, func, context, "layer", "model")

    def _returns_of_call(self, file: File, call: cst.Call, context: Context | None) -> Carry | None:
        """What the `call` method of a layer of the project returns."""
        returned: list[Carry | None] = []
        for origin in self.inference.of(file, call.func, context):
            cls = self.inference.instance_class(origin)
            method = self.inference.definitions.method(cls, "call") if cls is not None else None
            if method is None:
                return Carry.UNKNOWN
            inside = self.inference.contexts.enter(file, call, context, Callee(method, origin))
            for value in method.file.returned(method.node):
                returned.append(self._expression(method.file, value, inside) if inside is not None else Carry.UNKNOWN)
        known = {carry for carry in returned if carry is not None}
        return known.pop() if len(known) == 1 else Carry.UNKNOWN


def _is_super(file: File, expr: Expression) -> bool:
    return isinstance(expr, cst.Call) and file.names.is_builtin(expr.func, "super")


def _is_name(expr: Node, name: str) -> bool:
    return isinstance(expr, cst.Name) and expr.value == name


def _combine(parts: list[Carry | None]) -> Carry | None:
    """A tensor anywhere makes the whole carry one; only host values make a host value."""
    if Carry.TENSOR in parts:
        return Carry.TENSOR
    if Carry.UNKNOWN in parts:
        return Carry.UNKNOWN
    return Carry.HOST if Carry.HOST in parts or not parts else None
