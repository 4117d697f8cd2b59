"""What an expression is: the abstract value of each of its origins, joined.

`Values` asks the inference for the origins of an expression and computes the value of each: a call by the row of its
operation (`operations`), a method of a dataset (`datasets`), a layer (`layers`), subscripts and displays here.
A value that depends on itself, as in a loop, is computed again until it stays the same.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator
from functools import cached_property
from typing import TYPE_CHECKING, Any, TypeAlias, cast

import libcst as cst

from tflint_gpu.bounds import ABSTRACT_PARTS, ABSTRACT_ROUNDS, ABSTRACT_STEPS
from tflint_gpu.model.library.files import TEXT_FUNCTIONS
from tflint_gpu.model.library.keras_methods import GRADIENT_METHODS, WEIGHT_ATTRIBUTES
from tflint_gpu.model.library.nondeterminism import DRAWING, NUMPY_GENERATORS
from tflint_gpu.model.model import Analysis, Model
from tflint_gpu.model.python.project.file import File
from tflint_gpu.model.python.syntax.syntax import Expression, Node, method_name
from tflint_gpu.model.python.value_flow.constants import UNKNOWN
from tflint_gpu.model.python.value_flow.origins import ELEMENT, Content, Context, Origin
from tflint_gpu.model.values import datasets, operations, operators, shapes
from tflint_gpu.model.values.arguments import Given
from tflint_gpu.model.values.conversion import stacked_value
from tflint_gpu.model.values.precision import Precision
from tflint_gpu.model.values.shapes import Index
from tflint_gpu.model.values.value import (
    PENDING,
    TEXT,
    DatasetValue,
    LayerValue,
    Pending,
    SequenceValue,
    StructureValue,
    TensorValue,
    Value,
    has_more_parts,
    joined,
)

if TYPE_CHECKING:
    from tflint_gpu.model.values.layers import Layers

_BUILTINS = {
    **{name: name for name in ("int", "float", "str", "bool")},
    **{"len": "int", "isinstance": "bool", "input": "str", "chr": "str", "repr": "str"},
}
_COMPREHENSIONS = (cst.ListComp, cst.GeneratorExp, cst.SetComp)
_OF_OBJECTS = DRAWING | GRADIENT_METHODS | {"add_weight"}
INT = TensorValue("number", "int", ())
_Question: TypeAlias = tuple[object, object]


class Values(Analysis):
    """The abstract values of the expressions of a project."""

    is_of_values = True

    def __init__(self, model: Model) -> None:
        super().__init__(model)
        self.precision = model.once(Precision)
        self._known: dict[_Question, Value] = {}
        self._assumed: dict[_Question, Value] = {}
        """Of the questions that are open."""
        self._resting: dict[_Question, tuple[Value, frozenset[_Question]]] = {}
        """Values with the open questions on which they rest."""
        self._by_assumption: dict[_Question, list[_Question]] = {}
        self._asked: set[_Question] = set()
        """The open questions that were asked within the present one."""
        self._steps = 0

    def of(self, file: File, expr: Expression, context: Context | None = None) -> Value:
        """What an expression is in any case; None where nothing is known of it."""
        value = self.found(file, expr, context)
        return None if isinstance(value, Pending) else value

    def is_text(self, file: File, expr: Expression, context: Context | None = None) -> bool:
        """Whether an expression is a `str` in any case."""
        return self.of(file, expr, context) == TEXT

    def found(self, file: File, expr: Expression, context: Context | None = None) -> Value:
        """The same, `PENDING` within a question about what depends on itself."""
        taken = self._taken(file, expr)
        if taken is not None and isinstance(self.found(file, taken.value, context), TensorValue):
            return self._remembered((taken, context), lambda: self._subscript(file, taken, context))
        if isinstance(expr, cst.Name | cst.Attribute | cst.Call | cst.Subscript | cst.IfExp | cst.BooleanOperation):
            return self.among(self.inference.of(file, expr, context))
        return self._remembered((expr, context), lambda: self._computed(Origin(file, expr, context)))

    def _taken(self, file: File, expr: Expression) -> cst.Subscript | None:
        """The subscript that an expression is, or that a name is bound to: the inference knows constant keys only."""
        if isinstance(expr, cst.Subscript):
            return expr
        bindings = file.flow.lookup(expr.value, expr) if isinstance(expr, cst.Name) else ()
        if len(bindings) != 1 or bindings[0].kind != "assign" or bindings[0].path:
            return None
        return bindings[0].value if isinstance(bindings[0].value, cst.Subscript) else None

    def among(self, origins: Iterable[Origin]) -> Value:
        """What some origins, one of which it is, have in common; None apart."""
        return joined(self.at(origin) for origin in origins if not origin.is_none)

    def at(self, origin: Origin) -> Value:
        """The value of one origin."""
        return self._remembered((origin, ""), lambda: self._of_origin(origin))

    def _remembered(self, key: _Question, compute: Callable[[], Value]) -> Value:
        """The value of a question, which may ask itself."""
        known = self._known.get(key, self)
        if known is not self:
            return cast("Value", known)
        if not self._assumed:
            self._steps = 0
            self._resting.clear()  # an error may have left some
        elif key in self._assumed:
            self._asked.add(key)
            return self._assumed[key]
        elif key in self._resting:
            value, asked = self._resting[key]
            self._asked |= asked
            return value
        self._steps += 1
        if self._steps > ABSTRACT_STEPS.limit:
            self.inference.meet(ABSTRACT_STEPS)
            return None
        outer, self._asked = self._asked, set()
        value, is_stable = self._repeated(key, compute)
        self._asked.discard(key)
        self._settle(key, is_stable)
        self._note(key, value, frozenset(self._asked))
        self._asked |= outer
        return value

    def _repeated(self, key: _Question, compute: Callable[[], Value]) -> tuple[Value, bool]:
        """The value that a question has when it is assumed of it, and whether there is one."""
        self._assumed[key], self._by_assumption[key] = PENDING, []
        try:
            for _ in range(ABSTRACT_ROUNDS.limit):
                value = joined((self._assumed[key], self._bounded(compute())))
                if key not in self._asked or value == self._assumed[key]:
                    return value, True
                if value is None:  # and stays so
                    return None, False
                self._assumed[key] = value
                self._drop(key)
        finally:
            del self._assumed[key]
        self.inference.meet(ABSTRACT_ROUNDS)
        return None, False

    def _settle(self, key: _Question, is_stable: bool) -> None:
        """Settle what rests on a question that is answered now: its answer is what was assumed, or there is none."""
        if not is_stable:
            self._drop(key)
        for question in self._by_assumption.pop(key):
            if question in self._resting:
                value, asked = self._resting.pop(question)
                self._note(question, value, asked.union(self._asked) - {key}, asked)

    def _note(
        self, key: _Question, value: Value, asked: frozenset[_Question], noted: Collection[_Question] = ()
    ) -> None:
        """Remember a value: for good, or, where it rests on questions that are still open, as long as they are.

        Arguments:
            noted: those of which that is noted already.
        """
        if not asked:
            self._known[key] = None if isinstance(value, Pending) else value
            return
        self._resting[key] = value, asked
        for question in asked.difference(noted):
            self._by_assumption[question].append(key)

    def _drop(self, key: _Question) -> None:
        """Forget what rests on a value that was assumed of an open question."""
        for question in self._by_assumption[key]:
            self._resting.pop(question, None)
        self._by_assumption[key].clear()

    def _bounded(self, value: Value) -> Value:
        if not has_more_parts(value, ABSTRACT_PARTS.limit):
            return value
        self.inference.meet(ABSTRACT_PARTS)
        return None

    def _of_origin(self, origin: Origin) -> Value:
        if not origin.access_path:
            return self._computed(origin)
        whole = self.at(Origin(origin.file, origin.node, origin.context, origin.access_path[:-1], origin.receiver))
        return self.part(whole, origin.access_path[-1])

    def part(self, whole: Value, content: Content) -> Value:
        """An item, an element or an attribute of a value."""
        if isinstance(whole, Pending):
            return PENDING
        if isinstance(whole, StructureValue):
            if content.kind == "attribute":
                return whole.item(content.key) if whole.keys is not None else None
            return whole.item(content.key if content.kind == "item" else None)
        if isinstance(whole, DatasetValue | SequenceValue):
            return whole.element if content.kind in ("element", "item") else None
        if whole == TEXT:
            return whole if content.kind in ("element", "item") else None
        if isinstance(whole, TensorValue) and not whole.is_number:
            if content.kind == "attribute":
                return self._attribute(whole, str(content.key))
            if content.kind == "item" and content.key is None:
                return TensorValue(whole.result_kind, whole.dtype)  # by a number, or by a list or an array of such
            return TensorValue(whole.result_kind, whole.dtype, whole.shape[1:] if whole.shape else None)
        if isinstance(whole, LayerValue) and content.kind == "attribute":
            if content.key in ("input", "output"):
                return self.layers.of_part(whole, str(content.key))
            return SequenceValue(TensorValue("variable")) if content.key in WEIGHT_ATTRIBUTES else None
        return None

    def _attribute(self, whole: TensorValue, name: str) -> Value:
        if name == "T":
            return TensorValue(whole.result_kind, whole.dtype, shapes.transposed(whole.shape, None))
        if name == "shape":
            return SequenceValue(INT, len(whole.shape) if whole.shape is not None else None)
        return INT if name in ("ndim", "size", "rank") else None

    # The nodes at which origins end.

    def _computed(self, origin: Origin) -> Value:
        compute = _COMPUTED.get(origin.node.__class__)
        return None if compute is None else compute(self, origin)

    def _text(self, origin: Origin) -> Value:
        node: Any = origin.node
        first = node.left if isinstance(node, cst.ConcatenatedString) else node
        is_bytes = isinstance(first, cst.SimpleString) and "b" in first.prefix.lower()
        return TensorValue("number", "bytes", ()) if is_bytes else TEXT

    def _name(self, origin: Origin) -> Value:
        is_bool = getattr(origin.node, "value", "") in ("True", "False")
        return TensorValue("number", "bool", ()) if is_bool else None

    def _constant(self, origin: Origin) -> Value:
        is_number = origin.file.name(origin.node) in ("numpy.pi", "numpy.e", "math.pi", "numpy.inf")
        return TensorValue("number", "float", ()) if is_number else None

    def _param(self, origin: Origin) -> Value:
        node: Any = origin.node
        cls = self.inference.definitions.class_of_self(origin.file, node)
        is_self = cls is not None and bool(self.inference.definitions.external_bases(cls))
        return LayerValue("", origin) if is_self else self._parameter(origin.file, node)

    def _display(self, file: File, node: cst.Tuple | cst.List, context: Context | None) -> Value:
        if any(isinstance(element, cst.StarredElement) for element in node.elements):
            return None
        if isinstance(node, cst.List) and self._grows(file, node):
            return SequenceValue(self.among(self.inference.elements(Origin(file, node, context))))
        items = tuple(self.found(file, element.value, context) for element in node.elements)
        return StructureValue(items, is_list=isinstance(node, cst.List))

    def _grows(self, file: File, node: cst.List) -> bool:
        """Whether statements change a list: then its items are not the written ones."""
        name = file.bound_to(node)
        return name is not None and (name in file.changed or bool(file.appends.get(name)))

    def _dictionary(self, file: File, node: cst.Dict, context: Context | None) -> Value:
        keys: list[Any] = [
            self.constants.of(file, element.key, context) if isinstance(element, cst.DictElement) else UNKNOWN
            for element in node.elements
        ]
        if file.bound_to(node) in file.changed or not all(isinstance(key, str | int) for key in keys):
            return None
        return StructureValue(tuple(self.found(file, e.value, context) for e in node.elements), tuple(keys))

    def _unary(self, file: File, node: cst.UnaryOperation, context: Context | None) -> Value:
        value = self.found(file, node.expression, context)
        if isinstance(node.operator, cst.Not):
            return TensorValue("number", "bool", ())
        return operators.computed(value) if isinstance(value, TensorValue) else value if value is PENDING else None

    def _operation(self, file: File, node: cst.BinaryOperation, context: Context | None) -> Value:
        return self._binary(file, node.left, node.operator, node.right, context)

    def _augmented(self, file: File, node: cst.AugAssign, context: Context | None) -> Value:
        return self._binary(file, node.target, node.operator, node.value, context)

    def _binary(
        self, file: File, left: Expression, operator: cst.CSTNode, right: Expression, context: Context | None
    ) -> Value:
        first, second = self.found(file, left, context), self.found(file, right, context)
        if first == TEXT and isinstance(operator, cst.Modulo | cst.ModuloAssign):
            return TEXT
        if isinstance(first, StructureValue | SequenceValue) or isinstance(second, StructureValue | SequenceValue):
            return self._of_sequences(file, first, operator, second, right, context)
        return operators.operated(first, operator, second)

    def _of_sequences(
        self, file: File, first: Value, operator: cst.CSTNode, second: Value, right: Expression, context: Context | None
    ) -> Value:
        """`[a] + [b]`, `[0] * 3`; with a tensor a list is one, too."""
        for tensor, listed in ((first, second), (second, first)):
            if isinstance(tensor, TensorValue) and not tensor.is_number:
                other = stacked_value(listed, tensor.result_kind)
                pair = (first, other) if tensor is first else (other, second)
                return operators.operated(pair[0], operator, pair[1])
        if isinstance(operator, cst.Add) and isinstance(first, StructureValue) and isinstance(second, StructureValue):
            is_dictionary = first.keys is not None or second.keys is not None
            return None if is_dictionary else StructureValue((*first.items, *second.items), is_list=first.is_list)
        if isinstance(operator, cst.Multiply) and isinstance(first, StructureValue):
            count = self.constants.of(file, right, context)
            if isinstance(count, int) and 0 < count * len(first.items) <= 32:
                return StructureValue(first.items * count, is_list=first.is_list)
            return SequenceValue(joined(first.items))
        return PENDING if PENDING in (first, second) else None

    def _comparison(self, file: File, node: cst.Comparison, context: Context | None) -> Value:
        if len(node.comparisons) != 1:
            return None
        [second] = node.comparisons
        if isinstance(second.operator, cst.Is | cst.IsNot | cst.In | cst.NotIn):
            return TensorValue("number", "bool", ())
        left, right = self.found(file, node.left, context), self.found(file, second.comparator, context)
        return operators.compared(left, second.operator, right)

    def _subscript(self, file: File, node: cst.Subscript, context: Context | None) -> Value:
        whole = self.found(file, node.value, context)
        keys = [self.index(file, element.slice, context) for element in node.slice]
        if isinstance(whole, Pending):
            return PENDING
        if isinstance(whole, TensorValue) and not whole.is_number:
            return TensorValue(whole.result_kind, whole.dtype, shapes.indexed(whole.shape, keys))
        if isinstance(whole, StructureValue) and whole.keys is None and isinstance(keys[0], slice):
            return StructureValue(whole.items[keys[0]], is_list=whole.is_list)
        if isinstance(whole, SequenceValue):
            return SequenceValue(whole.element) if isinstance(keys[0], slice) or keys[0] == "some" else whole.element
        return TEXT if whole == TEXT else None

    def index(self, file: File, part: cst.BaseSlice, context: Context | None) -> Index:
        """What one part of a subscript asks for."""
        if isinstance(part, cst.Slice):
            bounds = [
                None if bound is None else self.constants.of(file, bound, context)
                for bound in (part.lower, part.upper, part.step)
            ]
            is_known = all(bound is None or type(bound) is int for bound in bounds)
            return slice(*bounds) if is_known and bounds[2] != 0 else "some"
        if not isinstance(part, cst.Index):
            return None
        if isinstance(part.value, cst.Ellipsis):
            return "all"
        if file.is_new_axis(part.value):
            return "new"
        constant = self.constants.of(file, part.value, context)
        if type(constant) is int:
            return constant
        value = self.found(file, part.value, context)
        is_scalar = isinstance(value, TensorValue) and value.shape == () and value.dtype.startswith(("int", "uint"))
        return "one" if is_scalar else None

    # Calls.

    def _call(self, origin: Origin) -> Value:
        call: Any = origin.node
        given = Given(self, origin, call)
        name = origin.file.name(call.func)
        if origin.receiver is not None:  # one of several classes
            return LayerValue(origin.receiver.name or "", origin)
        if name is not None and ("." in name):
            made = self._of_library(name, given)
            if made is not None:
                return made
        if isinstance(call.func, cst.Name) and origin.file.names.is_builtin(call.func, call.func.value):
            return self._of_builtin(call.func.value, given)
        if self.inference.instance_class(origin) is not None:
            return LayerValue("", origin)
        if isinstance(call.func, cst.Attribute) and (name is None or name.partition(".")[0] not in ("tf", "keras")):
            receiver = self.found(origin.file, call.func.value, origin.context)
            if isinstance(receiver, Pending):
                return PENDING
            if call.func.attr.value in _OF_OBJECTS and (receiver is None or isinstance(receiver, LayerValue)):
                return self._of_object(call.func, given)
            if isinstance(receiver, DatasetValue):
                return datasets.transformed(self, receiver, call.func.attr.value, given)
            if isinstance(receiver, TensorValue):
                return operations.of_method(receiver, call.func.attr.value, given)
            if isinstance(receiver, LayerValue):
                result = self.layers.of_method(receiver, call.func.attr.value, given)
                if result is not None:
                    return result
            if isinstance(receiver, StructureValue | SequenceValue):
                is_of_texts = isinstance(receiver, SequenceValue) and receiver.element == TEXT  # as a file is
                return operations.of_text(call.func.attr.value) if is_of_texts else None
        called = self.found(origin.file, call.func, origin.context)
        if isinstance(called, LayerValue):
            return self.layers.called(called, given)
        return PENDING if isinstance(called, Pending) else None

    def _of_object(self, func: cst.Attribute, given: Given) -> Value:
        """`tape.gradient(loss, weights)`, `rng.normal(size=3)`, `self.add_weight(shape=(3,))`."""
        file, context, method = given.file, given.context, func.attr.value
        makers = {origin.made_by for origin in self.inference.of(file, func.value, context)}
        if method in ("gradient", "jacobian") and makers == {"tf.GradientTape"}:
            return _gradients(given.value(1, "sources")) if method == "gradient" else TensorValue("tensor")
        if makers and makers <= NUMPY_GENERATORS:
            return operations.drawn(method, given)
        if method == "add_weight" and self.inference.definitions.self_class(file, func.value) is not None:
            return self.layers.weight(given)
        return None

    @cached_property
    def layers(self) -> Layers:
        """What layers and models give."""
        from tflint_gpu.model.values.layers import Layers

        return Layers(self)

    def _of_library(self, name: str, given: Given) -> Value:
        if name in TEXT_FUNCTIONS:
            return TEXT if name.startswith("os.path.") else SequenceValue(TEXT)
        made = datasets.source(self, name, given)
        if made is None:
            made = operations.applied(name, given)
        if made is None and name.startswith("keras."):
            made = self.layers.made(name, given)
        return made

    def _of_builtin(self, name: str, given: Given) -> Value:
        """What Python's own functions give."""
        if name in _BUILTINS:
            return TensorValue("number", _BUILTINS[name], ())
        first = given.value(0) if given.count else None
        if name == "open":
            mode = given.constant(1, "mode") if given.said(1, "mode") is not None else ""
            return SequenceValue(TEXT) if isinstance(mode, str) and "b" not in mode else None
        if name == "range":
            stop = given.constant(0) if given.count == 1 else UNKNOWN
            return SequenceValue(INT, stop if isinstance(stop, int) else None)
        if name in ("abs", "round", "sum", "min", "max") and isinstance(first, TensorValue):
            if name == "abs" or given.count > 1:
                return operators.computed(first)
            element = self.part(first, ELEMENT) if not first.is_number else first
            return operators.computed(element) if name != "round" else None
        if name == "enumerate":
            return SequenceValue(StructureValue((INT, self.iterated(first))))
        if name == "zip":
            return SequenceValue(StructureValue(tuple(self.iterated(given.value(i)) for i in range(given.count))))
        return PENDING if isinstance(first, Pending) else None

    def iterated(self, value: Value) -> Value:
        """What iterating over a value yields."""
        return self.part(value, ELEMENT)

    # Parameters.

    def _parameter(self, file: File, parameter: cst.Param) -> Value:
        """What a dataset hands to the functions that its operations run, or Keras to `call`."""
        function = file.tree.parents[file.tree.parents[parameter]]
        if not isinstance(function, cst.FunctionDef | cst.Lambda) or parameter.star:
            return None
        values = [
            datasets.passed(self, where, call, function, parameter) for where, call in self._handed(file, function)
        ]
        if isinstance(function, cst.FunctionDef) and function.name.value in ("call", "__call__"):
            values += self.layers.passed(file, function, parameter)
        return joined(values) if values else None

    def _handed(self, file: File, function: cst.FunctionDef | cst.Lambda) -> Iterator[tuple[File, cst.Call]]:
        """The calls of methods that get a function."""
        if isinstance(function, cst.Lambda):
            uses: Iterable[tuple[File, Node]] = [(file, function)]
        else:
            name = function.name.value
            uses = [
                (user, use)
                for user in self.inference.seen.users(file, name)
                for use in (*user.tree.uses.get(name, ()), *user.attributes_named.get(name, ()))
            ]
        for user, use in uses:
            arg = user.tree.parents.get(use)
            call = user.tree.parents.get(arg) if isinstance(arg, cst.Arg) else None
            if not isinstance(call, cst.Call) or method_name(call) not in datasets.HANDING:
                continue
            meant = self.inference.of(user, use) if isinstance(use, cst.Name | cst.Attribute) else ()
            if use is function or any(origin.node is function for origin in meant):
                yield user, call

    def result(self, file: File, function: Expression, context: Context | None) -> Value:
        """What a function gives that is handed over; its parameters are what all that it is handed to pass."""
        callees = self.inference.callables(file, function, context)
        return (
            None
            if not callees
            else joined(
                self.found(callee.function.file, value, callee.context)
                for callee in callees
                for value in callee.function.file.returned(callee.function.node)
            )
        )


def _gradients(sources: Value) -> Value:
    """Of each source the gradient has the shape."""
    if isinstance(sources, StructureValue):
        return StructureValue(tuple(map(_gradients, sources.items)), sources.keys)
    if isinstance(sources, SequenceValue):
        return SequenceValue(_gradients(sources.element), sources.length)
    return operators.computed(sources)


def _within(method: Callable[[Values, File, Any, Context | None], Value]) -> Callable[[Values, Origin], Value]:
    return lambda values, origin: method(values, origin.file, origin.node, origin.context)


def _elements(values: Values, file: File, comprehension: Any, context: Context | None) -> Value:
    return SequenceValue(values.found(file, comprehension.elt, context))


_COMPUTED: dict[type, Callable[[Values, Origin], Value]] = {
    cst.Integer: lambda values, origin: TensorValue("number", "int", ()),
    cst.Float: lambda values, origin: TensorValue("number", "float", ()),
    cst.SimpleString: Values._text,
    cst.ConcatenatedString: Values._text,
    cst.FormattedString: Values._text,
    cst.Name: Values._name,
    cst.Tuple: _within(Values._display),
    cst.List: _within(Values._display),
    cst.Dict: _within(Values._dictionary),
    **dict.fromkeys(_COMPREHENSIONS, _within(_elements)),
    cst.Call: Values._call,
    cst.Param: Values._param,
    cst.UnaryOperation: _within(Values._unary),
    cst.BinaryOperation: _within(Values._operation),
    cst.AugAssign: _within(Values._augmented),
    cst.Comparison: _within(Values._comparison),
    cst.Subscript: _within(Values._subscript),
    cst.Attribute: Values._constant,
}
"""How the value is computed of a node at which an origin ends; of others nothing is known."""
