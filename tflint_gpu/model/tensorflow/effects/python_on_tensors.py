"""Python over the tensors of a graph that AutoGraph does not convert: it raises, or gives another value."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TypeAlias

import libcst as cst

from tflint_gpu.model.library.higher_order import BRANCHES
from tflint_gpu.model.library.operations import operation_named
from tflint_gpu.model.library.tensor_functions import (
    COMPARING,
    ITERATING,
    has_dynamic_shape,
    names_second,
    returns_list,
)
from tflint_gpu.model.model import Analysis, Once
from tflint_gpu.model.python.project.file import File
from tflint_gpu.model.python.syntax.children import walk
from tflint_gpu.model.python.syntax.syntax import Expression, argument, displayed
from tflint_gpu.model.python.value_flow.origins import Context, Origin, Part
from tflint_gpu.model.tensorflow.effects.blockers import Blocker
from tflint_gpu.model.tensorflow.tracing.traces import Trace
from tflint_gpu.model.values.value import StructureValue, TensorValue, Value
from tflint_gpu.model.values.values import Values

_RAISES = "which raises during tracing"
_DISPLAYS = (cst.List, cst.Tuple, cst.Set, cst.ListComp, cst.GeneratorExp)
_SHAPES = ("shape", "get_shape")
_OF_NUMBERS = {"int": "int32", "float": "float32", "bool": "bool", "str": "string"}
_FIXED = frozenset(_OF_NUMBERS.values())
_UNKNOWN, _TENSOR = "", "?"
_Kinds: TypeAlias = "str | tuple[_Kinds, ...]"
_TAKES_ROWS = ("tf.gather", "tf.gather_nd")


def training_tensor(file: File, call: cst.Call, value: Expression) -> Blocker:
    """Says that Keras 3's layers decide by `training` in Python, where a tensor of a graph has no value.

    They raise `OperatorNotAllowedInGraphError` there (Dropout, Keras 3.15), and take a tensor that has a value.
    """
    text = f"`{file.code(call.func)}` gets `{file.code(value)}` as `training`, a tensor, {_RAISES}"
    return Blocker(file, value, text)


class PythonOnTensors(Analysis):
    """Analysis of what the functions of a file do with tensors, were they traced."""

    values = Once(Values)

    def in_function(self, trace: Trace, *, converts: bool) -> Iterator[Blocker]:
        """What certainly raises; without a text what raises where a value is one tensor, and no container of some.

        Arguments:
            converts: whether AutoGraph converts the function: not where Keras 3 calls it.
        """
        for node in walk(trace.function.node.body):
            if isinstance(node, cst.CompFor):
                yield from self._iterated(trace, node.iter, "a comprehension in the code")
            elif isinstance(node, cst.For):
                is_unpacked = isinstance(node.target, cst.Tuple | cst.List)
                if is_unpacked or not converts:
                    yield from self._iterated(trace, node.iter, "`for` in the code", is_unpacked=is_unpacked)
            elif isinstance(node, cst.If | cst.While | cst.IfExp | cst.Assert):
                if not converts and trace.is_one(node.test):
                    condition = f"the condition `{trace.file.code(node.test)}` in the code"
                    text = f"{condition} depends on a tensor, {_RAISES} where Keras calls it"
                    yield Blocker(trace.file, node.test, text)
            elif isinstance(node, cst.Assign):
                for target in node.targets:
                    yield from self._unpacked(trace, target.target, node.value)
            elif isinstance(node, cst.StarredElement) or (isinstance(node, cst.Arg) and node.star == "*"):
                yield from self._iterated(trace, node.value, "`*` in the code")
            elif isinstance(node, cst.Call):
                yield from self._called(trace, node, converts=converts)
            elif isinstance(node, cst.Comparison):
                yield from self._searched(trace, node)
            elif isinstance(node, cst.FormattedStringExpression):
                yield from self._formatted(trace, node, node.expression, raises=bool(node.format_spec))
            elif isinstance(node, cst.BinaryOperation) and isinstance(node.operator, cst.Modulo):
                if isinstance(node.left, cst.BaseString):
                    yield from self._formatted(trace, node, node.right, raises=True)
            elif isinstance(node, cst.Subscript):
                yield from self._indexed(trace, node)
            elif isinstance(node, cst.Attribute) and node.attr.value in _SHAPES:
                yield from self._shape(trace, node)

    def _formatted(self, trace: Trace, node: cst.CSTNode, value: Expression, *, raises: bool) -> Iterator[Blocker]:
        """`f"{loss:.2f}"`, `"%.2f" % loss`; without a format the text is that of a symbolic tensor."""
        values = [element.value for element in value.elements] if isinstance(value, cst.Tuple) else [value]
        tensor = next((value for value in values if trace.holds_tensor(value)), None)
        if tensor is not None:
            text = f"the code formats `{trace.file.code(tensor)}`, a tensor, "
            yield Blocker(trace.file, node, text + (_RAISES if raises else "which has no value during tracing"))

    def _iterated(self, trace: Trace, expr: Expression, what: str, *, is_unpacked: bool = False) -> Iterator[Blocker]:
        file = trace.file
        is_range = isinstance(expr, cst.Call) and file.names.is_builtin(expr.func, "range")
        values = [arg.value for arg in expr.args] if isinstance(expr, cst.Call) and is_range else [expr]
        if any(trace.is_one(value) for value in values):
            yield Blocker(file, expr, f"{what} iterates over `{file.code(expr)}`, a tensor, {_RAISES}")
        elif not is_unpacked and trace.may_be_one(expr):
            yield Blocker(file, expr, doubt="`{}` may be a tensor, which Python cannot iterate over in a graph")

    def _unpacked(self, trace: Trace, target: Expression, value: Expression) -> Iterator[Blocker]:
        """`a, b = tensor`; of `(a, b), c = x, y` the parts."""
        if not isinstance(target, cst.Tuple | cst.List):
            return
        if isinstance(value, cst.Tuple | cst.List) and len(value.elements) == len(target.elements):
            for into, part in zip(target.elements, value.elements, strict=True):
                yield from self._unpacked(trace, into.value, part.value)
        elif trace.is_one(value):
            yield Blocker(trace.file, value, f"the code unpacks `{trace.file.code(value)}`, a tensor, {_RAISES}")

    def _called(self, trace: Trace, call: cst.Call, *, converts: bool) -> Iterator[Blocker]:
        file, func = trace.file, call.func
        given = [arg.value for arg in call.args if arg.keyword is None and not arg.star]
        if isinstance(func, cst.Name) and file.names.is_builtin(func, func.value):
            yield from self._of_builtin(trace, call, func.value, given, converts=converts)
            return
        if file.name(func) in BRANCHES:
            yield from self._branches(trace, call)
        decided = argument(call, -1, "training")
        if decided is not None and self.target.keras >= 3 and trace.is_one(decided):
            yield training_tensor(file, call, decided)
        name = file.name(func)
        if name is not None and names_second(name) and len(given) > 1 and not self._is_text(trace, given[1]):
            text = (
                f"the second argument of `{file.code(func)}` in the code is a name: another value raises during tracing"
            )
            yield Blocker(file, given[1], text)

    def _branches(self, trace: Trace, call: cst.Call) -> Iterator[Blocker]:
        """Functions of which one runs, where they give several dtypes or structures: `lambda: 0.5`, `lambda: 1`."""
        file, context = trace.file, trace.context
        handing = self.inference.handing(file, call, context)
        given = [argument(call, *place) for place in handing.functions] if handing is not None else []
        branches = [f for some in given if some is not None for f in displayed(some)]
        kinds = [self._kinds_of(file, f, context) for f in branches if self.inference.callables(file, f, context)]
        if any(_differ(own, kinds[0]) for own in kinds):
            functions = f"the functions that `{file.code(call.func)}` gets in the code"
            yield Blocker(file, call, f"{functions} return values of several kinds, {_RAISES}")
        elif not {_UNKNOWN, _TENSOR}.isdisjoint(kinds) and any(k in _FIXED or isinstance(k, tuple) for k in kinds):
            yield Blocker(file, call, doubt="the functions in `{}` may return values of several dtypes")

    def _kinds_of(self, file: File, function: Expression, context: Context | None) -> _Kinds:
        """The dtypes of what a function returns, in their structure."""
        callees = self.inference.callables(file, function, context)
        returned = [value for c in callees for value in c.function.file.returned(c.function.node)]
        if returned and all(isinstance(value, cst.Name) and value.value == "None" for value in returned):
            return "None"
        return _kinds(self.values.result(file, function, context))

    def _of_builtin(
        self, trace: Trace, call: cst.Call, name: str, given: list[Expression], *, converts: bool
    ) -> Iterator[Blocker]:
        file = trace.file
        if name == "len" and given:
            if self._is_dynamic(file, given[0], trace.context):
                yield Blocker(file, call, f"`{file.code(call)}` in the code is not a number during tracing")
            elif not converts and trace.is_one(given[0]):
                yield Blocker(file, call, f"`len` in the code is called on a tensor, {_RAISES}")
        elif name in COMPARING and (len(given) > 1 or name == "sorted" or self._holds_some(trace, given)):
            if trace.holds_tensor(*given):
                yield Blocker(file, call.func, f"`{name}` in the code compares tensors, {_RAISES}")
        elif name in ITERATING:
            for value in given:
                yield from self._iterated(trace, value, f"`{name}` in the code")

    def _holds_some(self, trace: Trace, given: list[Expression]) -> bool:
        """Whether a function is given a container of tensors: `any([a > b, c > d])`, `max(tf.split(x, 2))`."""
        origins = [o for value in given for o in self.inference.of(trace.file, value, trace.context)]
        whole = [origin for origin in origins if not origin.access_path]
        return any(isinstance(o.node, _DISPLAYS) or (o.call is not None and returns_list(o.made_by)) for o in whole)

    def _searched(self, trace: Trace, node: cst.Comparison) -> Iterator[Blocker]:
        """`tensor in values`, which compares it with each."""
        for comparison in node.comparisons:
            if not isinstance(comparison.operator, cst.In | cst.NotIn):
                continue
            if trace.is_one(node.left) or trace.is_one(comparison.comparator):
                yield Blocker(trace.file, node, f"the operator `in` in the code compares tensors, {_RAISES}")

    def _indexed(self, trace: Trace, node: cst.Subscript) -> Iterator[Blocker]:
        """`values[tensor]` of a list, tuple or dictionary."""
        index = node.slice[0].slice
        if not isinstance(index, cst.Index) or not trace.is_one(index.value):
            return
        containers = (cst.List, cst.Tuple, cst.Dict, cst.ListComp, cst.DictComp, cst.SimpleString)
        origins = self.inference.of(trace.file, node.value, trace.context)
        if any(isinstance(origin.node, containers) and not origin.access_path for origin in origins):
            text = f"`{trace.file.code(node)}` in the code uses a tensor as an index, {_RAISES}"
            yield Blocker(trace.file, node, text)

    def _shape(self, trace: Trace, node: cst.Attribute) -> Iterator[Blocker]:
        """The length of what a mask or `tf.unique` leaves, which is None while it is traced."""
        file, use = trace.file, node
        if not self._is_dynamic(file, node.value, trace.context):
            return
        parent = file.tree.parents.get(use)
        if isinstance(parent, cst.Call) and parent.func is use:
            parent = file.tree.parents.get(parent)
        if isinstance(parent, cst.Attribute):
            return  # `.shape.rank`
        if isinstance(parent, cst.Subscript):
            index = parent.slice[0].slice
            is_row = isinstance(index, cst.Index) and self.inference.key(file, index.value, trace.context) in (0, None)
            if not is_row:
                return
        call = file.tree.parents.get(parent) if isinstance(parent, cst.Arg) else None
        if isinstance(call, cst.Call) and file.names.is_builtin(call.func, "len"):
            return
        yield Blocker(file, node, f"`{file.code(node)}` in the code has None for the number of rows during tracing")

    def _is_dynamic(self, file: File, expr: Expression, context: Context | None) -> bool:
        """Whether the number of rows of a value, or of what it is made of, depends on values."""
        return any(
            self._is_masked(part.file, _assigned(part.file, part.expr)) or any(map(_has_dynamic_rows, origins))
            for part, origins in self.inference.made_of(Part(file, expr, context), _giving_rows)
        )

    def _is_masked(self, file: File, node: Expression) -> bool:
        """Whether rows are taken by a mask: `errors[errors < 2]`, `rows[mask]`."""
        index = node.slice[0].slice if isinstance(node, cst.Subscript) and len(node.slice) == 1 else None
        if not isinstance(index, cst.Index):
            return False
        return any(
            isinstance(origin.node, cst.Comparison) or origin.made_by in ("tf.less", "tf.greater", "tf.equal")
            for origin in self.inference.of(file, index.value)
        )

    def _is_text(self, trace: Trace, value: Expression) -> bool:
        """Whether a value is a string or None, or not known."""
        texts = (cst.SimpleString, cst.FormattedString, cst.ConcatenatedString, cst.Param, cst.BinaryOperation)
        origins = self.inference.of(trace.file, value, trace.context)
        return any(origin.is_none or origin.is_open or isinstance(origin.node, texts) for origin in origins)


def _kinds(value: Value) -> _Kinds:
    """The dtypes of a value in a graph, in its structure."""
    if isinstance(value, StructureValue):
        return tuple(map(_kinds, value.items))
    if not isinstance(value, TensorValue):
        return _UNKNOWN
    return (_OF_NUMBERS.get(value.dtype) if value.is_number else value.dtype) or _TENSOR


def _differ(kinds: _Kinds, others: _Kinds) -> bool:
    if isinstance(kinds, tuple) and isinstance(others, tuple):
        return len(kinds) != len(others) or any(map(_differ, kinds, others))
    if _UNKNOWN in (kinds, others) or kinds == others:
        return False
    return _TENSOR not in (kinds, others) or any(isinstance(own, tuple) or own == "None" for own in (kinds, others))


def _has_rows(origin: Origin) -> bool:
    """Whether rows of a value are rows of what made it: of its attributes those of `tf.unique` and the like."""
    return all(part.kind != "attribute" or part.key in ("y", "idx", "values") for part in origin.access_path)


def _has_dynamic_rows(origin: Origin) -> bool:
    node = origin.node
    if not isinstance(node, cst.Call) or not _has_rows(origin):
        return False
    return has_dynamic_shape(origin.file.name(node.func) or "", len(node.args))


def _giving_rows(origin: Origin) -> Iterator[Expression]:
    """What the rows of a computed value may come from."""
    node = origin.node
    if not _has_rows(origin):
        return
    if isinstance(node, cst.BinaryOperation):
        yield from (node.left, node.right)
    elif isinstance(node, cst.Subscript) and not isinstance(node.slice[0].slice, cst.Index):
        yield node.value
    elif isinstance(node, cst.Call):
        name = origin.file.name(node.func) or ""
        if operation_named(name).keeps_rows or name in _TAKES_ROWS:
            yield from (arg.value for arg in node.args if arg.keyword is None)


def _assigned(file: File, expr: Expression) -> Expression:
    """What a name is assigned, where it is one expression as a whole."""
    bindings = file.flow.lookup(expr.value, expr) if isinstance(expr, cst.Name) else []
    values = [binding.value for binding in bindings if binding.kind == "assign" and not binding.path]
    return values[0] if len(bindings) == len(values) == 1 and values[0] is not None else expr
