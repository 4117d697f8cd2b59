"""Python numbers that a loop changes from iteration to iteration: counters, indexes, decaying rates."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from typing import TypeAlias

import libcst as cst

from tflint_gpu.bounds import NUMBER_SITES, NUMBER_STEPS, WALK_CALLS
from tflint_gpu.lazy_dataclasses import dataclass
from tflint_gpu.model.model import Analysis, Model
from tflint_gpu.model.python.execution.callers import RunSite, callers, loops_around, ways
from tflint_gpu.model.python.execution.handed_down import is_renewed
from tflint_gpu.model.python.execution.walks import Frame
from tflint_gpu.model.python.project.file import File
from tflint_gpu.model.python.syntax.children import names_in, walk
from tflint_gpu.model.python.syntax.scopes import Binding
from tflint_gpu.model.python.syntax.syntax import Expression, LoopNode, Node, iterable, method_name, part_at
from tflint_gpu.model.python.value_flow.calls import Bound
from tflint_gpu.model.tensorflow.loops.batches import LoopData
from tflint_gpu.model.tensorflow.loops.drawn_numbers import has_few_values, is_drawn
from tflint_gpu.model.tensorflow.loops.loop_flow import FEW, is_occasional, names_of
from tflint_gpu.model.tensorflow.loops.yielded_numbers import counts, yields_numbers

_OPERATORS = (cst.Add, cst.Subtract, cst.Multiply, cst.Divide, cst.FloorDivide, cst.Power, cst.Modulo)
_COMPUTED = (cst.Name, cst.BinaryOperation, cst.UnaryOperation, cst.IfExp, cst.Call, cst.Attribute, cst.Subscript)
_SCALING, _SCALING_UPDATES = (cst.Multiply, cst.FloorDivide), (cst.MultiplyAssign, cst.FloorDivideAssign)
_UPDATES = (cst.AddAssign, cst.SubtractAssign, cst.MultiplyAssign, cst.DivideAssign, cst.FloorDivideAssign)
_CONVERTERS = ("float", "int", "len")
_KEEPERS = ("abs", "max", "min", "sum", "pow", "round")


@dataclass(frozen=True, slots=True)
class ChangingLoop:
    """A loop whose iterations change a number.

    Arguments:
        path: the calls through which the number is handed on, from the loop inwards.
    """

    file: File
    loop: LoopNode
    path: tuple[Frame, ...] = ()


@dataclass(frozen=True, slots=True)
class Number:
    """A Python int or float, and the loops of more than a few iterations that change it; none: it stays what it is."""

    changed_by: tuple[ChangingLoop, ...] = ()


_FIXED = Number()
_Subject: TypeAlias = Node | Binding | tuple[Node, str]  # an attribute of a class is a pair


class LoopNumbers(Analysis):
    """Analysis of the Python numbers in loops."""

    def __init__(self, model: Model) -> None:
        super().__init__(model)
        self.data = model.once(LoopData)
        self._in_work: set[_Subject] = set()
        self._known: dict[_Subject, Number | None] = {}
        self._partial: dict[_Subject, Number | None] = {}  # known but for what is in work
        self._cuts = 0

    def of(self, file: File, expr: Expression) -> Number | None:
        """What changes a Python int or float; None where a value is, or may be, anything else: a tensor, NumPy's."""
        if isinstance(expr, cst.Integer | cst.Float):
            return _FIXED
        if len(self._in_work) > NUMBER_STEPS.limit and expr not in self._known:
            if isinstance(expr, _COMPUTED):
                self.inference.meet(NUMBER_STEPS)
            return None
        return self._remembered(expr, lambda: self._of(file, expr))

    def _remembered(self, subject: _Subject, number_of: Callable[[], Number | None]) -> Number | None:
        """A number that may depend on itself: each part of a circle is visited once for each question from outside."""
        if subject in self._known:
            return self._known[subject]
        if subject in self._in_work or subject in self._partial:
            self._cuts += 1
            return self._partial.get(subject, _FIXED)
        cuts = self._cuts
        self._in_work.add(subject)
        try:
            number = number_of()
        finally:
            self._in_work.discard(subject)
        if self._cuts == cuts or not self._in_work:
            self._known[subject] = number
        else:  # it may lack what changes a part that is in work; the question in work collects that itself
            self._partial[subject] = number
        if not self._in_work:
            self._partial.clear()
        return number

    def _of(self, file: File, expr: Expression) -> Number | None:
        if isinstance(expr, cst.Name):
            return self._name(file, expr)
        if isinstance(expr, cst.BinaryOperation):
            return self._computed(file, expr)
        if isinstance(expr, cst.UnaryOperation):
            return self.of(file, expr.expression) if isinstance(expr.operator, cst.Minus | cst.Plus) else None
        if isinstance(expr, cst.IfExp):
            return _all(self.of(file, side) for side in (expr.body, expr.orelse))
        if isinstance(expr, cst.Call):
            return self._call(file, expr)
        if isinstance(expr, cst.Attribute):
            return self._constant(file, expr) or self._attribute(file, expr)
        if isinstance(expr, cst.Subscript):
            return self._constant(file, expr) or self._item(file, expr)
        return None

    def _constant(self, file: File, expr: Expression) -> Number | None:
        value = self.constants.of(file, expr)
        return _FIXED if isinstance(value, int | float) and not isinstance(value, bool) else None

    def _computed(self, file: File, expr: cst.BinaryOperation) -> Number | None:
        if not isinstance(expr.operator, _OPERATORS):
            return None
        number = _all(self.of(file, side) for side in (expr.left, expr.right))
        if number is not None and isinstance(expr.operator, cst.Modulo):
            period = self.constants.of(file, expr.right)
            return _FIXED if not isinstance(period, int | float) or period <= FEW else number
        return number

    # Names and attributes.

    def _name(self, file: File, name: cst.Name) -> Number | None:
        bindings = file.flow.lookup(name.value, name)
        if not bindings or any(binding.kind == "import" for binding in bindings):
            return self._constant(file, name)
        number = _all(self._bound(file, binding) for binding in bindings)
        if number is None:
            return None
        return Number(
            tuple(
                changing_loop
                for changing_loop in number.changed_by
                if changing_loop.path or self._is_in_iteration(file, name, changing_loop)
            )
        )

    def _is_in_iteration(self, file: File, node: Node, changing_loop: ChangingLoop) -> bool:
        """Whether the iterations of a loop run a place: not one after it, nor in a function that is called later."""
        return any(around is changing_loop.loop for around in loops_around(file, node))

    def _bound(self, file: File, binding: Binding) -> Number | None:
        """What a binding gives its name."""
        return self._remembered(binding, lambda: self._given(file, binding))

    def _given(self, file: File, binding: Binding) -> Number | None:
        if binding.kind == "for" and binding.value is not None:
            return self._yielded(file, binding)
        if binding.kind == "assign" and binding.value is not None:
            return self._assigned(file, binding)
        if binding.kind == "augment" and isinstance(binding.node, cst.AugAssign):
            return self._counted(file, binding, binding.node)
        if binding.kind == "parameter" and isinstance(binding.node, cst.Param):
            return self._passed(file, binding.node)
        return None

    def _assigned(self, file: File, binding: Binding) -> Number | None:
        value = part_at(binding.value, binding.path)
        number = self.of(file, value) if value is not None else None
        if number is None or value is None or not _builds_on(value, binding.name) or self._is_scaled(file, value):
            return number
        return Number((*number.changed_by, *self._loop_around(file, binding.node)))

    def _counted(self, file: File, binding: Binding, statement: cst.AugAssign) -> Number | None:
        """`step += 1`, where all else that the name gets is a number too."""
        if not isinstance(statement.operator, _UPDATES):
            return None
        others = [b for b in file.tree.scope(statement).bindings.get(binding.name, ()) if b is not binding]
        number = _all([self.of(file, statement.value), *(self._bound(file, other) for other in others)])
        if number is None or not others:
            return None
        if isinstance(statement.operator, _SCALING_UPDATES) and self._is_whole(file, statement.value):
            return number
        return Number((*number.changed_by, *self._loop_around(file, statement)))

    def _is_scaled(self, file: File, value: Expression) -> bool:
        """`size * 2`, `size // 2`: from level to level of a pyramid, of which there are never many."""
        return (
            isinstance(value, cst.BinaryOperation)
            and isinstance(value.operator, _SCALING)
            and self._is_whole(file, value.right)
        )

    def _is_whole(self, file: File, expr: Expression) -> bool:
        factor = self.constants.of(file, expr)
        return type(factor) is int and factor >= 2

    def _loop_around(self, file: File, node: Node) -> tuple[ChangingLoop, ...]:
        """The innermost loop of more than a few iterations that runs a statement in most of them."""
        for loop in loops_around(file, node):
            return (
                (ChangingLoop(file, loop),) if self.is_long(file, loop) and not is_occasional(file, node, loop) else ()
            )
        return ()

    def is_long(self, file: File, loop: LoopNode) -> bool:
        """Whether a loop may make more than a few iterations, as far as the code says."""
        if self.data.is_at_most(file, loop, FEW) or self.data.leaves_early(file, loop):
            return False
        data = iterable(loop)
        return data is None or not any(chain.is_short for chain in self.data.pipelines.iterated(file, data))

    def _passed(self, file: File, parameter: cst.Param) -> Number | None:
        """What calls give, or leave to a default, as far as that is a number; else what the annotation says."""
        node = file.tree.parents[file.tree.parents[parameter]]
        if not isinstance(node, cst.FunctionDef | cst.Lambda):
            return None
        function = self.inference.definitions.function(file, node)
        sites = self.inference.first(NUMBER_SITES, tuple(callers(self.inference, RunSite(file, node.body))))
        changed: list[ChangingLoop] = []
        is_number = False
        for site in sites:
            assert isinstance(site.node, cst.Call)
            given = (self.inference.passed_to(site.file, site.node, function) or {}).get(parameter)
            number = self._given_by(site, given) if given is not None else self._default_of(file, parameter)
            if number is None:
                continue
            is_number = True
            near = [change for change in number.changed_by if len(change.path) < WALK_CALLS.limit]
            if len(near) < len(number.changed_by):
                self.inference.meet(WALK_CALLS)
            changed += _nearest(replace(change, path=(*change.path, *site.path)) for change in near)
        if is_number:
            return Number(tuple(changed))
        annotation = parameter.annotation.annotation if parameter.annotation is not None else None
        is_annotated = isinstance(annotation, cst.Name) and annotation.value in ("int", "float")
        return _FIXED if is_annotated else None if sites else self._default_of(file, parameter)

    def _default_of(self, file: File, parameter: cst.Param) -> Number | None:
        default = self.constants.of(file, parameter.default)
        return _FIXED if type(default) in (int, float) else None

    def _given_by(self, site: RunSite, given: Bound) -> Number | None:
        """What a call gives; of `map(step, range(n))` another number for each element."""
        if not given.is_element:
            return self.of(given.file, given.value) if given.key is None else None
        path = (given.key,) if isinstance(given.key, int) else ()
        if not site.is_loop or not yields_numbers(self.inference, given.file, given.value, path):
            return None
        return Number((ChangingLoop(site.file, site.loop),)) if self.is_long(site.file, site.loop) else _FIXED

    def _attribute(self, file: File, expr: cst.Attribute) -> Number | None:
        """`self.step`, where all that the class assigns to it are numbers."""
        cls = self.inference.definitions.self_class(file, expr.value)
        if cls is None:
            return None
        assigned = self.inference.definitions.attributes(cls, expr.attr.value)
        number = self._remembered(
            (cls.node, expr.attr.value),
            lambda: _all(self.of(stored.file, stored.value) if not stored.path else None for stored in assigned),
        )
        if number is None or not assigned:
            return None
        counting = {
            loop for a in assigned if isinstance(a.node, cst.AugAssign) for loop in self._repeating(a.file, a.node)
        }
        changed_by = (
            ChangingLoop(place.file, loop, place.path)
            for place in (ways(self.inference, RunSite(file, expr)) if counting else ())
            for loop in place.loops()
            if loop in counting and not is_renewed(self.inference, place, loop, file, expr.value)
        )
        return Number(tuple(changed_by))

    def _repeating(self, file: File, node: Node) -> Iterator[LoopNode]:
        """The innermost loop on each way to a statement."""
        for place in ways(self.inference, RunSite(file, node), lambda place: not any(place.loops())):
            yield from (change.loop for change in self._loop_around(place.file, place.node))

    # What loops yield.

    def _yielded(self, file: File, binding: Binding) -> Number | None:
        loop: Node = binding.node
        while isinstance(loop, cst.CompFor):
            loop = file.tree.parents[loop]
        if not isinstance(loop, cst.For | cst.BaseComp) or binding.value is None:
            return None
        if not yields_numbers(self.inference, file, binding.value, binding.path):
            return None
        return Number((ChangingLoop(file, loop),)) if self.is_long(file, loop) else _FIXED

    # Calls and items.

    def _call(self, file: File, call: cst.Call) -> Number | None:
        name, args = file.name(call.func), [arg.value for arg in call.args if not arg.star]
        if any(file.names.is_builtin(call.func, converter) for converter in _CONVERTERS) or (name or "").startswith(
            "math."
        ):
            return Number(tuple(changing_loop for arg in args for changing_loop in self._changes(file, arg)))
        if any(file.names.is_builtin(call.func, keeper) for keeper in _KEEPERS):
            number = _all(self.of(file, arg) for arg in args)
            return _FIXED if number is not None and self._is_bounded(file, call, args) else number
        if is_drawn(file, call, lambda arg: self.of(file, arg) is not None):
            return _FIXED if has_few_values(file, call, self.constants, FEW) else Number(self._loop_around(file, call))
        if method_name(call) == "item" and not args and isinstance(call.func, cst.Attribute):
            return Number(tuple(self._changes(file, call.func.value)))
        return self._returned(file, call)

    def _is_bounded(self, file: File, call: cst.Call, args: list[Expression]) -> bool:
        """`min(epoch, 3)` has few values."""
        if not file.names.is_builtin(call.func, "min"):
            return False
        values = [self.constants.of(file, arg) for arg in args]
        return any(isinstance(value, int) and value <= FEW for value in values)

    def _returned(self, file: File, call: cst.Call) -> Number | None:
        """What a function of the project returns for these arguments."""
        function = self.inference.called(file, call)
        if function is None or function.node in self._in_work or function.file.yields_of.get(function.node):
            return None
        self._in_work.add(function.node)
        try:
            values = function.file.returned(function.node)
            number = _all(self.of(function.file, value) for value in values) if values else None
        finally:
            self._in_work.discard(function.node)
        if number is None:
            return None
        ways = [
            changing_loop
            for changing_loop in number.changed_by
            if changing_loop.path and changing_loop.path[-1].node is call
        ]
        return Number(tuple(replace(changing_loop, path=changing_loop.path[:-1]) for changing_loop in ways))

    def _item(self, file: File, expr: cst.Subscript) -> Number | None:
        """`rates[epoch]` of a list of numbers."""
        index = expr.slice[0].slice
        if len(expr.slice) != 1 or not isinstance(index, cst.Index):
            return None
        position = self.of(file, index.value)
        origins = self.inference.of(file, expr.value)
        many = [isinstance(o.node, cst.List | cst.Tuple) and len(o.node.elements) > FEW for o in origins]
        return position if many and all(many) and all(counts(self.inference, o, ()) for o in origins) else None

    def _changes(self, file: File, expr: Expression) -> Iterator[ChangingLoop]:
        """The loops that change what an expression is made of, whatever that is: `float(loss)`."""
        number = self.of(file, expr)
        if number is not None:
            yield from number.changed_by
            return
        names = names_in(expr)
        for loop in loops_around(file, expr):
            if names & self.data.spread(file, loop, set(names_of(loop))):
                if self.is_long(file, loop):
                    yield ChangingLoop(file, loop)
                return


def _nearest(changing_loops: Iterable[ChangingLoop]) -> list[ChangingLoop]:
    """Each loop by its shortest way."""
    nearest: dict[LoopNode, ChangingLoop] = {}
    for change in sorted(changing_loops, key=lambda change: len(change.path)):
        nearest.setdefault(change.loop, change)
    return list(nearest.values())


def _all(numbers: Iterable[Number | None]) -> Number | None:
    """What changes a number that all of some are part of; None where one is no number."""
    known = list(numbers)
    if None in known:
        return None
    return Number(tuple(dict.fromkeys(loop for number in known if number for loop in number.changed_by)))


def _builds_on(value: Expression, name: str) -> bool:
    """`rate = rate * 0.9`: whether a new value is computed from the one before."""
    return any(
        isinstance(node, cst.BinaryOperation)
        and any(isinstance(part, cst.Name) and part.value == name for part in walk(node))
        for node in walk(value)
    )
