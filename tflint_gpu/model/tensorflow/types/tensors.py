"""Which expressions carry a tensor while a function is traced: a view of the inference."""

from __future__ import annotations

import enum
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from typing import Literal, TypeAlias

import libcst as cst

from tflint_gpu.model.library.classes import FUNCTIONAL, INPUTS, SEQUENTIAL
from tflint_gpu.model.library.keras_methods import CELLS, GRADIENT_METHODS, WEIGHT_ATTRIBUTES
from tflint_gpu.model.library.nondeterminism import (
    ARRAY_DRAWS,
    DRAWING,
    GENERATOR_DRAWS,
    GENERATORS,
    NUMPY_GENERATORS,
    PYTHON_GENERATORS,
)
from tflint_gpu.model.library.operations import draw_named
from tflint_gpu.model.library.tensor_functions import (
    ARRAY_METHODS,
    CONTAINER_METHODS,
    DENSE_ATTRIBUTES,
    DENSE_METHODS,
    SIZES,
    STATIC_ATTRIBUTES,
    VARIABLE_METHODS,
    returns_list,
    returns_several,
    returns_tensor,
)
from tflint_gpu.model.python.project.file import File
from tflint_gpu.model.python.project.functions import Function
from tflint_gpu.model.python.syntax.children import walk
from tflint_gpu.model.python.syntax.syntax import Expression, Node, argument, method_name
from tflint_gpu.model.python.value_flow.call_sites import parameter_origins
from tflint_gpu.model.python.value_flow.calls import Callee
from tflint_gpu.model.python.value_flow.inference import Inference
from tflint_gpu.model.python.value_flow.origins import ELEMENT, Content, Context, Origin
from tflint_gpu.model.tensorflow.types.kinds import Kind, Kinds


class Carry(enum.Enum):
    """What an expression holds while its function is traced."""

    TENSOR = "tensor"  # a symbolic tensor, or a container with one
    HOST = "host"  # an ordinary Python or NumPy value
    UNKNOWN = "unknown"


Form: TypeAlias = Literal["one", "several", "unknown"]
"""One tensor; a container, or what only the caller knows to be none; or neither is known."""

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
_TAPE = frozenset(["tf.GradientTape"])
_LOSS_METHODS = frozenset(["compute_loss", "compiled_loss"])
_DISPLAYS = (cst.Tuple, cst.List, cst.Set, cst.Dict, cst.ListComp, cst.GeneratorExp, cst.SetComp, cst.DictComp)
_ORDERS = (cst.LessThan, cst.LessThanEqual, cst.GreaterThan, cst.GreaterThanEqual)
_SOME = Content("item")  # some item, or several: `first, *others = parts`
# Layers that give their output and a list of states.
_CELLS = frozenset(f"keras.layers.{cell}" for cell in (*CELLS, "StackedRNNCells"))
_SEVERAL_RESULTS = frozenset(["return_state", "return_attention_scores"])


class Tensors:
    """The tensors of one traced function and of what it calls.

    Arguments:
        function: the function that is traced; None for code that is not, in which only symbolic Keras tensors count.
        seeds: what its parameters hold; parameters not named are unknown.
        single: whether a parameter that holds a tensor is one, and no container.
        yields: for code that runs eagerly, whether a value is what a dataset yields. Arrays of NumPy count as tensors
            there: a traced function gets them as such.
    """

    def __init__(
        self,
        inference: Inference,
        kinds: Kinds,
        function: Function | None,
        seeds: Mapping[Node, Carry],
        single: Callable[[cst.Param], bool] | None = None,
        yields: Callable[[Origin], bool] | None = None,
    ) -> None:
        self.inference = inference
        self.kinds = kinds
        self.function = function
        self.seeds = seeds
        self.single = single
        self.yields = yields
        self.has_values = function is not None or yields is not None
        self.context = Context(function.node) if function is not None else None
        self._known: dict[tuple[Node, Context | None], Carry | None] = {}
        self._made: dict[tuple[Node, Context | None], Carry | None] = {}
        self._forms: dict[tuple[Node, Context | None], Form | None] = {}

    def of(self, file: File, expr: Expression, context: Context | None) -> Carry:
        """What `expr` holds; UNKNOWN unless every way to it agrees."""
        return self._expression(file, expr, context) or Carry.UNKNOWN

    def holds_tensor(self, file: File, exprs: Iterable[Expression], context: Context | None) -> bool:
        """Whether one of the expressions carries a tensor."""
        return any(self.of(file, expr, context) is Carry.TENSOR for expr in exprs)

    def form(self, file: File, expr: Expression, context: Context | None) -> Form:
        """Whether an expression that carries a tensor is one itself: iterating over it raises while it is traced."""
        return self._form_of(file, expr, context) or "unknown"

    def _form_of(self, file: File, expr: Expression, context: Context | None) -> Form | None:
        """None while that is being found out: a value that depends on itself adds nothing."""
        key = (expr, context)
        if key not in self._forms:
            self._forms[key] = None
            origins = self.inference.of(file, expr, context)
            self._forms[key] = _agreed(self.form_at(origin) for origin in origins if not origin.is_none)
        return self._forms[key]

    def form_at(self, origin: Origin) -> Form | None:
        """The form of one value; None while that is being found out."""
        node, file, context = origin.node, origin.file, origin.context
        if self._is_weights(origin):
            return "several" if len(origin.access_path) == 1 else "one"
        if any(part.kind == "attribute" for part in origin.access_path):
            return "one" if self._is_field(origin) else "unknown"
        if self._is_yielded(origin):  # one of the parts into which the program takes an element apart
            return "one" if origin.access_path[-1] != ELEMENT else "several"
        if origin.access_path:
            whole = self.form_at(Origin(file, node, context))
            if whole == "one" or self._is_flat(origin):
                return "one"
            if whole == "several" and (origin.access_path[-1] == _SOME or self._may_be_nested(origin)):
                return "several"
            return whole and "unknown"
        if isinstance(node, cst.Param):
            return "one" if node in self.seeds and self.single is not None and self.single(node) else "several"
        if isinstance(node, cst.Call):
            return self._form_of_call(file, node, context)
        if isinstance(node, _DISPLAYS):
            return "several"
        if isinstance(node, cst.UnaryOperation):
            return self._form_of(file, node.expression, context)
        if isinstance(node, cst.Subscript):
            return "one" if self._form_of(file, node.value, context) == "one" else "unknown"
        sides: tuple[Expression, ...] = ()
        if isinstance(node, cst.BinaryOperation):
            sides = (node.left, node.right)
            if not isinstance(node.operator, cst.Add | cst.Multiply) and self.holds_tensor(file, sides, context):
                return "one"
        elif isinstance(node, cst.AugAssign):
            sides = (node.target, node.value)
        elif isinstance(node, cst.Comparison) and len(node.comparisons) == 1:
            sides = (node.left, node.comparisons[0].comparator)
            if isinstance(node.comparisons[0].operator, _ORDERS):
                return "one" if self.holds_tensor(file, sides, context) else "unknown"
            if not isinstance(node.comparisons[0].operator, cst.Equal | cst.NotEqual):
                return "unknown"
        forms = [self._form_of(file, side, context) for side in sides]
        return "one" if "one" in forms else None if forms and None in forms else "unknown"

    def _is_flat(self, origin: Origin) -> bool:
        """Whether a part of a value is one tensor, as each in a list of tensors is: `tf.split(x, 2)[0]`."""
        call, path = origin.node, origin.access_path
        if len(path) != 1 or path[0] == _SOME or not isinstance(call, cst.Call):
            return False
        return returns_list(origin.file.name(call.func)) or self._is_gradient(origin.file, call, origin.context)

    def _is_field(self, origin: Origin) -> bool:
        """`tf.math.top_k(x, 2).values`, `ragged.flat_values`."""
        call, path = origin.node, origin.access_path
        is_of_list = isinstance(call, cst.Call) and returns_list(origin.file.name(call.func)) and len(path) == 1
        return is_of_list or self._is_component(origin)

    def _is_component(self, origin: Origin) -> bool:
        """Whether it is a tensor of which a ragged or sparse one consists."""
        path, last = origin.access_path[:-1], origin.access_path[-1]
        is_named = last.kind == "attribute" and last.key in DENSE_ATTRIBUTES
        return is_named and self._origin(replace(origin, access_path=path)) is Carry.TENSOR

    def _is_weights(self, origin: Origin) -> bool:
        """The weights of a model in code that runs eagerly, or one of them."""
        first, *others = origin.access_path or (ELEMENT,)
        is_weights = first.kind == "attribute" and first.key in WEIGHT_ATTRIBUTES
        if self.yields is None or not is_weights or any(part.kind == "attribute" for part in others):
            return False
        return self.kinds.of(origin.whole) in ("model", "layer")

    def _may_be_nested(self, origin: Origin) -> bool:
        """Whether a part of a function's result may be a container: `tf.clip_by_global_norm(gradients, 1.0)[0]`."""
        return isinstance(origin.node, cst.Call) and returns_several(origin.file.name(origin.node.func))

    def _form_of_call(self, file: File, call: cst.Call, context: Context | None) -> Form | None:
        name = file.name(call.func)
        if returns_tensor(name):
            return "several" if returns_several(name) else "one"
        if self._is_gradient(file, call, context) or method_name(call) in CONTAINER_METHODS:
            return "several"
        if name == "tf.Variable" or method_name(call) in VARIABLE_METHODS or self._draws(file, call, context):
            return "one"
        if isinstance(call.func, cst.Attribute) and self._predicts(file, call, context):
            models = self.inference.of(file, call.func.value, context)
            return _agreed(self._form_of_result(file, call, model, context) for model in models)
        if method_name(call) in DENSE_METHODS and self._expression(file, call, context) is Carry.TENSOR:
            return "one"
        if self._reduces(file, call, context):
            state = argument(call, 0, "initial_state")
            return "unknown" if state is None else self._form_of(file, state, context)
        if (name is not None and name.startswith("numpy.")) or draws_array(self.inference, file, call, context):
            return "one"
        if isinstance(call.func, cst.Attribute) and call.func.attr.value in ARRAY_METHODS:
            return self._form_of(file, call.func.value, context)
        if isinstance(call.func, cst.Name) and file.names.is_builtin(call.func, call.func.value):
            return "several" if call.func.value in _COMBINING_BUILTINS else "unknown"
        if self.gives_one(file, call, context):
            return "one"
        if any(arg.keyword is not None and arg.keyword.value in _SEVERAL_RESULTS for arg in call.args):
            return "unknown"
        layers = self.inference.of(file, call.func, context)
        return _agreed(self._form_of_result(file, call, layer, context) for layer in layers)

    def _form_of_result(self, file: File, call: cst.Call, layer: Origin, context: Context | None) -> Form | None:
        """Whether a layer or model gives one tensor."""
        cls, made = self.inference.instance_class(layer), layer.call
        if cls is not None:
            method = self.inference.definitions.method(cls, "call")
            inside = self.inference.contexts.enter(file, call, context, Callee(method, layer)) if method else None
            if method is None or inside is None:
                return "unknown"
            return _agreed(self._form_of(method.file, value, inside) for value in method.file.returned(method.node))
        name = layer.made_by
        if made is None or name is None:
            return "unknown"
        if name in _CELLS:
            return "several"
        if name in FUNCTIONAL:
            outputs = argument(made, 1, "outputs")
            return "unknown" if outputs is None else self._form_of_outputs(layer.file, outputs, layer.context)
        keywords = (arg.keyword.value for arg in walk(made) if isinstance(arg, cst.Arg) and arg.keyword is not None)
        is_plain = self.kinds.of(layer) == "layer" and _SEVERAL_RESULTS.isdisjoint(keywords)
        is_plain = is_plain and not name.endswith(".Lambda") and name.startswith("keras.layers.")
        return "one" if is_plain or name in SEQUENTIAL or name.startswith("keras.applications.") else "unknown"

    def _form_of_outputs(self, file: File, outputs: Expression, context: Context | None) -> Form:
        origins = self.inference.of(file, outputs, context)
        if any(isinstance(origin.node, _DISPLAYS) and not origin.access_path for origin in origins):
            return "several"
        return "one" if origins and all(origin.call is not None for origin in origins) else "unknown"

    def carrying(self, callee: Callee, context: Context | None) -> frozenset[Node]:
        """The parameters of a function that carry tensors in a context."""
        function = callee.function
        return frozenset(
            parameter
            for parameter in function.parameters
            if self.joined(parameter_origins(self.inference, function.file, parameter, context)) is Carry.TENSOR
        )

    def _expression(self, file: File, expr: Expression, context: Context | None) -> Carry | None:
        """None while that is being found out: a value that depends on itself adds nothing."""
        key = (expr, context)
        if key not in self._known:
            self._known[key] = None
            self._known[key] = self.joined(self.inference.of(file, expr, context))
        return self._known[key]

    def joined(self, origins: Iterable[Origin]) -> Carry | None:
        """What some values hold, where all agree."""
        common: Carry | None = None
        for origin in origins:
            carry = None if origin.is_none else self._origin(origin)
            if carry is not None and carry is not common:
                if common is not None or carry is Carry.UNKNOWN:  # whatever the others hold
                    return Carry.UNKNOWN
                common = carry
        return common

    def _origin(self, origin: Origin) -> Carry | None:
        if self._is_yielded(origin):
            return Carry.TENSOR
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

    def _is_yielded(self, origin: Origin) -> bool:
        return self.yields is not None and bool(origin.access_path) and self.yields(origin)

    def _part(self, origin: Origin) -> Carry | None:
        """Contents of a tensor, or of a container of tensors, are tensors; its static attributes are not."""
        if self._is_weights(origin) or self._is_component(origin):
            return Carry.TENSOR
        whole = self._origin(origin.whole)
        if whole is Carry.TENSOR:
            if any(part.kind == "attribute" and part.key in STATIC_ATTRIBUTES for part in origin.access_path):
                return Carry.HOST
            if any(part.kind == "attribute" for part in origin.access_path):
                return Carry.TENSOR if self._is_field(origin) else Carry.UNKNOWN
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
        if returns_tensor(name) or name in INPUTS:
            return Carry.TENSOR if self.has_values or name in INPUTS else self._symbolic(file, call, context)
        if name is not None and name.startswith("numpy."):
            return Carry.HOST if self.yields is None or name in PYTHON_GENERATORS or name in SIZES else Carry.TENSOR
        args = [arg.value for arg in call.args]
        if isinstance(call.func, cst.Name) and not file.flow.lookup(call.func.value, call.func):
            if call.func.value == "range":  # AutoGraph turns a range over a tensor into a tensor loop
                return Carry.UNKNOWN if self.holds_tensor(file, args, context) else Carry.HOST
            if call.func.value in _HOST_BUILTINS:
                return Carry.HOST
            if call.func.value in _COMBINING_BUILTINS:
                return _combine([self._expression(file, arg, context) for arg in args])
        if self._calls_layer(file, call, context):
            return Carry.TENSOR if self.has_values else self._symbolic(file, call, context)
        if self._returns_of_call(file, call, context) is Carry.TENSOR:
            return Carry.TENSOR
        if self.has_values and (
            self.gives_one(file, call, context)
            or self._is_gradient(file, call, context)
            or self._draws(file, call, context)
        ):
            return Carry.TENSOR
        if self.yields is not None and (
            name == "tf.Variable" or self._predicts(file, call, context) or self._reduces(file, call, context)
        ):
            return Carry.TENSOR
        if isinstance(call.func, cst.Attribute):
            held = self._expression(file, call.func.value, context)
            if self.yields is not None and draws_array(self.inference, file, call, context):
                return Carry.TENSOR
            if held is Carry.TENSOR and call.func.attr.value in CONTAINER_METHODS | DENSE_METHODS:
                return Carry.TENSOR
            of_values = (*ARRAY_METHODS, *VARIABLE_METHODS, "numpy")
            if held is Carry.TENSOR and self.yields is not None and call.func.attr.value in of_values:
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
        return self.inference.is_method_of(file, call, GRADIENT_METHODS, _TAPE, context)

    def _draws(self, file: File, call: cst.Call, context: Context | None) -> bool:
        """Whether a call draws a tensor from a generator of TensorFlow."""
        return self.inference.is_method_of(file, call, GENERATOR_DRAWS, GENERATORS, context)

    def _predicts(self, file: File, call: cst.Call, context: Context | None) -> bool:
        """Whether a call gives the arrays of Keras's own `predict`."""
        is_asked = self._is_asked(file, call, context, "model", "predict", "predict_on_batch")
        return is_asked and not self.inference.callees(file, call, context)

    def _reduces(self, file: File, call: cst.Call, context: Context | None) -> bool:
        """`dataset.reduce(state, function)`."""
        return self._is_asked(file, call, context, "dataset", "reduce")

    def _is_asked(self, file: File, call: cst.Call, context: Context | None, kind: Kind, *methods: str) -> bool:
        """Whether a call is one of some methods of an object of a kind."""
        if not isinstance(call.func, cst.Attribute) or call.func.attr.value not in methods:
            return False
        return self.kinds.must_be(file, call.func.value, kind, context=context)

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


def _agreed(forms: Iterable[Form | None]) -> Form | None:
    """The form that all ways have; None where nothing is known yet."""
    known = {form for form in forms if form is not None}
    return None if not known else known.pop() if len(known) == 1 else "unknown"


def _is_super(file: File, expr: Expression) -> bool:
    return isinstance(expr, cst.Call) and file.names.is_builtin(expr.func, "super")


def draws_array(inference: Inference, file: File, call: cst.Call, context: Context | None) -> bool:
    """Whether a call draws an array from a generator of NumPy: not without a size; those of Python draw numbers."""
    return _has_size(call) and inference.is_method_of(file, call, DRAWING, NUMPY_GENERATORS, context)


def _has_size(call: cst.Call) -> bool:
    """Whether what a generator draws has a size."""
    method = method_name(call)
    operation = draw_named(method)
    if operation.shape == "counted":
        return bool(call.args)
    position = operation.size.position if operation.size is not None else -1
    return method in ARRAY_DRAWS or argument(call, position, "size") is not None


def _is_name(expr: Node, name: str) -> bool:
    return isinstance(expr, cst.Name) and expr.value == name


def _combine(parts: list[Carry | None]) -> Carry | None:
    """A tensor anywhere makes the whole carry one; only host values make a host value."""
    if Carry.TENSOR in parts:
        return Carry.TENSOR
    if Carry.UNKNOWN in parts:
        return Carry.UNKNOWN
    return Carry.HOST if Carry.HOST in parts or not parts else None
