"""Functions that `tf.map_fn` calls for every row, although all that they do works on all rows at once."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import Literal, TypeAlias

import libcst as cst

from tflint_gpu.lazy_dataclasses import dataclass
from tflint_gpu.model import (
    UNKNOWN,
    Analysis,
    Callee,
    Constants,
    Context,
    Expression,
    File,
    Function,
    Inference,
    Node,
    Origin,
    argument,
    filled,
    is_plain,
    operands,
    operation_named,
    walk,
)
from tflint_gpu.model.library.higher_order import CONDITIONALS, ROW_MAPS
from tflint_gpu.model.library.keras_methods import LOOKUP_LAYERS
from tflint_gpu.model.library.operations import JOINING_ROWS
from tflint_gpu.model.library.tensor_functions import RAGGED

Need: TypeAlias = Literal["axis", "axes", "where", "map", "rank"]
"""What must be written differently for all rows: an axis, operands whose shapes differ, a conditional expression, an
inner `map_fn`. "rank" is no change by itself: a row of a table is longer than its index, which other operands must fit.
"""

_ALONG_AXIS = frozenset(
    (
        "cumsum norm expand_dims math.cumsum math.cumprod math.l2_normalize math.softmax math.log_softmax nn.softmax "
        "nn.log_softmax nn.l2_normalize linalg.norm linalg.normalize"
    ).split()
)
"""What reduces nothing and works along one axis all the same."""
_BRANCHES = (cst.If, cst.IfExp, cst.BooleanOperation)
_HOST_NUMBERS = frozenset(["keras.backend.floatx", "keras.backend.epsilon"])
_SAVES_MEMORY = ("parallel_iterations", "swap_memory")
_FEW_ROWS = 5


@dataclass(frozen=True, slots=True)
class RowMap:
    """A `tf.map_fn` that is not needed.

    Arguments:
        function: what it calls for every row.
        needs: what must be written differently for all rows.
    """

    call: cst.Call
    function: Callee | None
    needs: frozenset[Need]


class RowFunctions(Analysis):
    """Questions about the calls of `tf.map_fn` in a file."""

    def needless(self) -> Iterator[RowMap]:
        """The calls whose function certainly gives the same for all rows at once."""
        for call in self.file.calls(*sorted(ROW_MAPS, reverse=True)):
            given, rows = argument(call, 0, "fn"), argument(call, 1, "elems")
            if given is None or rows is None or self._is_meant(call) or not self._has_many_rows(rows):
                continue
            own = {origin.name or "" for origin in self.inference.of(self.file, given)}
            if own and all(_keeps(name) or _works_along_axis(name) for name in own):
                yield RowMap(call, None, frozenset() if all(map(_keeps, own)) else frozenset(["axis"]))
                continue
            callees = self.inference.callables(self.file, given)
            if len(callees) == 1:
                needs = _RowFunction(self.inference, self.constants, callees[0]).needs()
                if needs is not None:
                    yield RowMap(call, callees[0], needs)

    def _is_meant(self, call: cst.Call) -> bool:
        """Whether the call saves memory, runs once while an object is set up, or has a faster one in the same
        function."""
        if any(argument(call, -1, keyword) is not None for keyword in _SAVES_MEMORY):
            return True
        function = self.file.tree.function(call)
        if isinstance(function, cst.FunctionDef) and function.name.value in ("__init__", "build"):
            return True
        neighbours = self.file.calls_in.get(function, ()) if function is not None else ()
        return any(self.file.name(other.func) == "tf.vectorized_map" for other in neighbours)

    def _has_many_rows(self, rows: Expression) -> bool:
        """Whether nothing says that there are few rows, or that they differ in length."""
        if "ragged" in self.file.source.text.lower():
            return False
        return not any(self._is_short_or_ragged(origin) for origin in self.inference.of(self.file, rows))

    def _is_short_or_ragged(self, origin: Origin) -> bool:
        node, made = origin.node, origin.made_by or ""
        if isinstance(node, cst.Tuple) and not origin.access_path:  # components
            return any(
                self._is_short_or_ragged(row_origin)
                for element in node.elements
                for row_origin in self.inference.of(origin.file, element.value, origin.context)
            )
        if isinstance(node, cst.Call) and made in ("tf.constant", "tf.convert_to_tensor", "tf.range") and node.args:
            value = self.constants.of(origin.file, node.args[0].value, origin.context)
            if made == "tf.range":
                return len(node.args) == 1 and isinstance(value, int) and value <= _FEW_ROWS
            display = node.args[0].value
            return isinstance(display, cst.List | cst.Tuple) and len(display.elements) <= _FEW_ROWS
        if isinstance(node, cst.List) and not origin.access_path:
            return len(node.elements) <= _FEW_ROWS and not any(
                isinstance(element.value, cst.Name | cst.Attribute | cst.Call) for element in node.elements
            )
        return made.startswith(RAGGED)


@dataclass(frozen=True, slots=True)
class _Value:
    """What an expression of such a function is.

    Arguments:
        of_row: it depends on the row.
        is_number: it is a number that is known before.
    """

    of_row: bool = False
    is_number: bool = False
    needs: frozenset[Need] = frozenset()


_FIXED, _NUMBER, _ROW = _Value(), _Value(is_number=True), _Value(of_row=True)


class _RowFunction:
    """One function, and what each of its expressions is when it is given a row."""

    def __init__(self, inference: Inference, constants: Constants, callee: Callee) -> None:
        self.inference = inference
        self.constants = constants
        self.function = callee.function
        self.context = Context(callee.function.node, caller=callee.context)
        given = filled(callee)
        self.rows = {p for p in callee.function.parameters if p not in given and p.default is None}
        self._known: dict[tuple[Node, Context | None], _Value | None] = {}
        self._understood: set[Node] = set()

    def needs(self) -> frozenset[Need] | None:
        """What must be written differently for all rows; None where the function is needed, or not understood."""
        node, file = self.function.node, self.function.file
        if (
            len(self.rows) != 1
            or self.inference.definitions.decorators.may_replace(file, node)
            or file.yields_of.get(node)
        ):
            return None
        joined = self._returned(self.function, self.context)
        if joined is None or not joined.of_row or not self._indexes_by_constants():
            return None
        asked: list[Expression] = []
        if not is_plain(self.inference, self.function, self._understood, lambda test: self._asks(test, asked)):
            return None
        return joined.needs - {"rank"} | (frozenset(["where"]) if asked else frozenset())

    def _returned(self, function: Function, context: Context | None) -> _Value | None:
        file = function.file
        return _joined(self._expression(file, value, context) for value in file.returned(function.node))

    def _asks(self, test: Expression, asked: list[Expression]) -> bool:
        """Whether the test of a conditional expression is one that `tf.where` can take."""
        asked.append(test)
        return self._expression(self.function.file, test, self.context) is not None

    def _indexes_by_constants(self) -> bool:
        """Whether each index in the function is the same for all rows."""
        file = self.function.file
        return all(
            self._is_constant(file, index)
            for node in walk(self.function.node.body)
            if isinstance(node, cst.Subscript)
            for element in node.slice
            for index in _bounds(file, element.slice)
        )

    def _is_constant(self, file: File, index: Expression) -> bool:
        value = self._expression(file, index, self.context)
        return value is not None and not value.of_row

    def _expression(self, file: File, expr: Expression, context: Context | None) -> _Value | None:
        key = (expr, context)
        if key not in self._known:
            self._known[key] = None  # a value that depends on itself
            self._known[key] = _joined(self._origin(origin) for origin in self.inference.of(file, expr, context))
        return self._known[key]

    def _origin(self, origin: Origin) -> _Value | None:
        file, node, context = origin.file, origin.node, origin.context
        if isinstance(node, cst.Param):
            return self._parameter(origin, node)
        if not self._is_inside(origin):
            if origin.call is not None and (
                _is_plain_number(file, origin.call) or (origin.made_by or "").startswith("math.")
            ):
                return _NUMBER
            is_number = not origin.access_path and isinstance(node, cst.BaseExpression)
            value = self.constants.of(file, node, context) if isinstance(node, cst.BaseExpression) else UNKNOWN
            return _NUMBER if is_number and isinstance(value, int | float) else _FIXED
        if not isinstance(node, cst.BaseExpression | cst.AugAssign):
            return None
        if isinstance(node, cst.Call):
            return self._call(file, node, context)
        if isinstance(node, cst.Subscript):
            return _needing(self._expression(file, node.value, context), "axis")
        if isinstance(node, cst.Tuple | cst.List):
            joined = _joined(self._expression(file, element.value, context) for element in node.elements)
            return None if joined is None else replace(joined, is_number=False)
        combined = operands(node)
        if combined is None and isinstance(node, cst.BinaryOperation):  # the product of matrices
            combined = [node.left, node.right]
        if combined is not None:
            return _combined(self._expression(file, operand, context) for operand in combined)
        if isinstance(node, cst.Integer | cst.Float | cst.SimpleString | cst.Name | cst.Attribute | cst.Ellipsis):
            return _NUMBER if isinstance(node, cst.Integer | cst.Float) else _FIXED
        return None

    def _parameter(self, origin: Origin, node: cst.Param) -> _Value | None:
        if node in self.rows:
            names = [part.key for part in origin.access_path if part.kind == "attribute"]
            if names:
                return _FIXED if names == ["dtype"] else None
            return _needing(_ROW, "axes") if origin.access_path else _ROW
        return None if node.star else _FIXED

    def _is_inside(self, origin: Origin) -> bool:
        """Whether a value is computed in the function, or in one that it calls."""
        context = origin.context
        while context is not None and context is not self.context:
            context = context.caller
        if context is not None:
            return True
        return self.function.node in origin.file.enclosing_functions(origin.node)

    def _call(self, file: File, call: cst.Call, context: Context | None) -> _Value | None:
        name = file.name(call.func) or ""
        short = _short(name)
        if name in CONDITIONALS:
            return self._conditional(file, call, context)
        if name in ROW_MAPS:
            return self._inner_map(file, call, context)
        values = [self._expression(file, arg.value, context) for arg in call.args]
        if any(arg.star for arg in call.args) or any(value is None for value in values):
            return None
        value_so_far: _Value | None = None
        of_row = [value for value in values if value is not None and value.of_row]
        if operation_named(name).combines(len(values)):
            value_so_far = _combined(values)
        elif self._looks_up(file, call, context, name, values):
            value_so_far = _needing(values[-1], "rank")
        elif short in JOINING_ROWS:
            value_so_far = _needing(_joined(values), "axis" if short == "stack" else "axes")
        elif not of_row and (_makes_number(name) or _is_plain_number(file, call)):
            value_so_far = _joined(values) if values else _FIXED
        elif values and values[:1] == of_row:
            value_so_far = values[0] if _keeps(name) else None
            if _works_along_axis(name):
                value_so_far = _needing(values[0], "axis")
        if value_so_far is not None:
            self._understood.add(call)
        return value_so_far

    def _looks_up(
        self, file: File, call: cst.Call, context: Context | None, name: str, values: list[_Value | None]
    ) -> bool:
        """`tf.gather(table, index)`, an `Embedding` of an index, `super().call(index)` in a class below it."""
        of_row = [value is not None and value.of_row for value in values]
        if name.startswith("tf.") and operation_named(name).shape == "gathered":
            return of_row == [False, True] and call.args[1].keyword is None
        return of_row == [True] and (
            self.inference.must_be(file, call.func, lambda origin: origin.made_by in LOOKUP_LAYERS, context)
            or self._is_of_base(file, call)
        )

    def _is_of_base(self, file: File, call: cst.Call) -> bool:
        """Whether a call is `super().call(...)` of a layer of Keras that looks up rows."""
        func, owner = call.func, self.function.owner
        if not isinstance(func, cst.Attribute) or func.attr.value != "call" or owner is None:
            return False
        if file.tree.function(call) is not self.function.node:
            return False
        is_super = isinstance(func.value, cst.Call) and file.names.is_builtin(func.value.func, "super")
        if not is_super or len(self.inference.definitions.lineage(owner)) > 1:
            return False
        self._understood.add(func.value)
        return self.inference.definitions.external_bases(owner) <= LOOKUP_LAYERS

    def _conditional(self, file: File, call: cst.Call, context: Context | None) -> _Value | None:
        """`tf.cond(test, one, other)`, where both functions only compute."""
        test, runs = argument(call, 0, "pred"), list(self.inference.handed(file, call, context))
        asked = self._expression(file, test, context) if test is not None else None
        if asked is None or len(runs) != 2:
            return None
        ways = [self._returned(run.function, self.inference.enter(file, call, context, run)) for run in runs]
        bodies = [run.function.node for run in runs]
        parts = [part for body in bodies for part in walk(body.body)]
        if any(isinstance(p, _BRANCHES) or (isinstance(p, cst.Call) and p not in self._understood) for p in parts):
            return None
        self._understood.update([call, *bodies])
        joined = _joined([asked, *ways])
        return _needing(joined, "where") if asked.of_row else joined

    def _inner_map(self, file: File, call: cst.Call, context: Context | None) -> _Value | None:
        """A `map_fn` over the row, of a function that is not needed either and knows nothing of the row."""
        given, rows = argument(call, 0, "fn"), argument(call, 1, "elems")
        callees = self.inference.callables(file, given, context) if given is not None else ()
        value = self._expression(file, rows, context) if rows is not None else None
        if len(callees) != 1 or value is None or not value.of_row:
            return None
        function = callees[0].function
        if self.function.node in function.file.enclosing_functions(function.node):
            return None
        needs = _RowFunction(self.inference, self.constants, callees[0]).needs()
        if needs is None:
            return None
        self._understood.add(call)
        return _Value(of_row=True, needs=value.needs | needs | {"map"})


def _short(name: str | None) -> str:
    """`reduce_sum` for `tf.reduce_sum`."""
    return (name or "").removeprefix("tf.compat.v1.").removeprefix("tf.") if (name or "").startswith("tf.") else ""


def _keeps(name: str) -> bool:
    """Whether an operation does to all rows, or images, what it does to one."""
    return operation_named(name).is_of_each and not name.startswith("numpy.")


def _works_along_axis(name: str) -> bool:
    is_reduction = name.startswith("tf.") and operation_named(name).shape == "reduced"
    return is_reduction or _short(name) in _ALONG_AXIS


def _makes_number(name: str) -> bool:
    is_array = name.startswith("tf.") and operation_named(name).is_array
    return is_array or _keeps(name) or name in _HOST_NUMBERS


def _is_plain_number(file: File, call: cst.Call) -> bool:
    return any(file.names.is_builtin(call.func, name) for name in ("float", "int")) or (file.name(call.func) or "") in (
        "numpy.float32",
        "numpy.float64",
        "numpy.int32",
        "numpy.int64",
    )


def _bounds(file: File, slice_: cst.BaseSlice) -> list[Expression]:
    """The expressions of an index; none for `...`, `:` and a new axis."""
    if isinstance(slice_, cst.Index):
        is_free = isinstance(slice_.value, cst.Ellipsis | cst.SimpleString) or file.is_new_axis(slice_.value)
        return [] if is_free else [slice_.value]
    assert isinstance(slice_, cst.Slice)
    return [bound for bound in (slice_.lower, slice_.upper, slice_.step) if bound is not None]


def _joined(values: Iterable[_Value | None]) -> _Value | None:
    """What some values are together; None where one is not understood."""
    operands = list(values)
    known = [value for value in operands if value is not None]
    if not known or len(known) < len(operands):
        return None
    return _Value(
        any(value.of_row for value in known),
        all(value.is_number for value in known),
        frozenset[Need]().union(*(value.needs for value in known)),
    )


def _combined(values: Iterable[_Value | None]) -> _Value | None:
    """Operands number by number: with other tensors next to the row, their axes must be made to fit."""
    known = list(values)
    result = _joined(known)
    others = [value for value in known if value is not None and not value.of_row and not value.is_number]
    rows = [value for value in known if value is not None and value.of_row]
    if others or (len(rows) > 1 and any(row.needs for row in rows)):
        return _needing(result, "axes")
    return result


def _needing(value: _Value | None, need: Need) -> _Value | None:
    if value is None:
        return None
    return _Value(value.of_row, value.is_number, value.needs | {need}) if value.of_row else value
