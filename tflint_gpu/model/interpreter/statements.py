"""Runs statements, with one value for each name where the code fixes it and none elsewhere.

Where a condition is not known both ways are followed, one after the other; what they leave different is not known
after them, and a container or object that one of them changes is lost. A loop over something unknown is gone through
once. Nothing of the program is executed: what is outside the project is asked of a `World`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import field
from typing import Any, Literal, TypeAlias

import libcst as cst

from tflint_gpu.bounds import RUN_ITERATIONS, RUN_STEPS
from tflint_gpu.lazy_dataclasses import dataclass
from tflint_gpu.model.interpreter.builtin_functions import container_method
from tflint_gpu.model.interpreter.expressions import Expressions
from tflint_gpu.model.interpreter.operators import operated
from tflint_gpu.model.interpreter.values import (
    PLAIN,
    Arguments,
    ClassValue,
    DictValue,
    Frame,
    FunctionValue,
    Instance,
    ListValue,
    Mutable,
    joined_variables,
    now,
)
from tflint_gpu.model.python.project.functions import Class, Definitions, Function
from tflint_gpu.model.python.project.project import Project
from tflint_gpu.model.python.syntax.syntax import Node
from tflint_gpu.model.python.value_flow.constants import UNKNOWN

Signal: TypeAlias = Literal["return", "break", "continue", "raise"] | None


@dataclass(slots=True, eq=False)
class _Region:
    """A piece of code of which it is not known whether, or how often, it runs."""

    start: int
    touched: dict[Mutable, None] = field(default_factory=dict)


class Statements(Expressions):
    """Runs statements; a class derived from this one calls functions."""

    def __init__(self, project: Project, definitions: Definitions) -> None:
        super().__init__(project, RUN_STEPS.limit)
        self.definitions = definitions
        self._regions: list[_Region] = []

    # Regions.

    def changes(self, value: Mutable) -> None:
        """A value is about to be changed."""
        if self._regions:
            self._regions[-1].touched[value] = None

    def _open(self) -> _Region:
        region = _Region(now())
        self._regions.append(region)
        return region

    def _close(self, region: _Region, happened: bool) -> None:
        """Leave a region; where it is not known that it ran just so, forget what it changed."""
        self._regions.pop()
        for value in region.touched:
            if value.serial < region.start:
                if not happened:
                    value.lose()
                elif self._regions:
                    self._regions[-1].touched[value] = None

    @contextmanager
    def _perhaps(self) -> Iterator[None]:
        region = self._open()
        try:
            yield
        finally:
            self._close(region, happened=False)

    # Statements.

    def _block(self, frame: Frame, statements: Sequence[Node]) -> Signal:
        for statement in statements:
            signal = self._statement(frame, statement)
            if signal is not None:
                return signal
        return None

    def _statement(self, frame: Frame, node: Node) -> Signal:
        if isinstance(node, cst.SimpleStatementLine | cst.SimpleStatementSuite | cst.IndentedBlock):
            return self._block(frame, node.body)
        self.count_step()
        step = _STATEMENTS.get(node.__class__)
        return None if step is None else step(self, frame, node)

    def _expression(self, frame: Frame, node: cst.Expr) -> None:
        self.evaluate(frame, node.value)

    def _assign(self, frame: Frame, node: cst.Assign) -> None:
        value = self.evaluate(frame, node.value)
        for target in node.targets:
            self.bind(frame, target.target, value)

    def _annotated(self, frame: Frame, node: cst.AnnAssign) -> None:
        if node.value is not None:
            self.bind(frame, node.target, self.evaluate(frame, node.value))

    def _augmented(self, frame: Frame, node: cst.AugAssign) -> None:
        old, value = self.evaluate(frame, node.target), self.evaluate(frame, node.value)
        if isinstance(old, ListValue) and isinstance(node.operator, cst.AddAssign):
            self.changes(old)
            container_method(old, "extend", Arguments((value,)))
        else:
            self.bind(frame, node.target, operated(self.world, node.operator, old, value, self.meet))

    def bind(self, frame: Frame, target: Node, value: Any) -> None:
        """Assign to a name, a tuple of names, an attribute or an item."""
        if isinstance(target, cst.Name):
            frame.outer.get(target.value, frame).variables[target.value] = value
        elif isinstance(target, cst.Tuple | cst.List):
            self._unpack(frame, target, self.iterated(value))
        elif isinstance(target, cst.StarredElement):
            self.bind(frame, target.value, value)
        elif isinstance(target, cst.Attribute):
            self._set_attribute(self.evaluate(frame, target.value), target.attr.value, value)
        elif isinstance(target, cst.Subscript):
            container = self.evaluate(frame, target.value)
            index = target.slice[0].slice if len(target.slice) == 1 else None
            key = self.evaluate(frame, index.value) if isinstance(index, cst.Index) else UNKNOWN
            self._set_item(container, key, value)

    def _unpack(self, frame: Frame, target: cst.Tuple | cst.List, values: list[Any] | None) -> None:
        names = [element.value for element in target.elements]
        starred = [i for i, element in enumerate(target.elements) if isinstance(element, cst.StarredElement)]
        if values is not None and starred and len(values) >= len(names) - 1:
            first, after = starred[0], len(names) - starred[0] - 1
            middle = ListValue(values[first : len(values) - after])
            values = [*values[:first], middle, *values[len(values) - after :]]
        if values is None or len(values) != len(names):
            values = [UNKNOWN] * len(names)
        for name, value in zip(names, values, strict=True):
            self.bind(frame, name, value)

    def _set_attribute(self, receiver: Any, name: str, value: Any) -> None:
        if isinstance(receiver, Instance):
            self.changes(receiver)
            receiver.attributes[name] = value
        if receiver is not UNKNOWN and not isinstance(receiver, (*PLAIN, tuple, ListValue, DictValue)):
            self.world.set_attribute(receiver, name, value)

    def _set_item(self, container: Any, key: Any, value: Any) -> None:
        if not isinstance(container, ListValue | DictValue):
            return
        self.changes(container)
        items: Any = container.items
        if isinstance(container, DictValue):
            is_known = isinstance(key, PLAIN)
        else:
            is_known = isinstance(key, int) and -len(items) <= key < len(items)
        if is_known:
            items[key] = value
        else:
            container.lose()

    def _delete(self, frame: Frame, node: cst.Del) -> None:
        if isinstance(node.target, cst.Name):
            frame.variables.pop(node.target.value, None)
        elif isinstance(node.target, cst.Subscript):
            self._set_item(self.evaluate(frame, node.target.value), UNKNOWN, UNKNOWN)

    def _define(self, frame: Frame, node: cst.FunctionDef) -> None:
        is_replaced = self.definitions.decorators.may_replace(frame.file, node)
        function = FunctionValue(Function(frame.file, node, None), frame)
        frame.variables[node.name.value] = UNKNOWN if is_replaced else function

    def _define_class(self, frame: Frame, node: cst.ClassDef) -> None:
        frame.variables[node.name.value] = ClassValue(Class(frame.file, node), frame)

    def _global(self, frame: Frame, node: cst.Global) -> None:
        frame.outer.update((item.name.value, frame.module) for item in node.names)

    def _nonlocal(self, frame: Frame, node: cst.Nonlocal) -> None:
        for item in node.names:
            scope = frame.parent.find(item.name.value) if frame.parent is not None else None
            if scope is not None:
                frame.outer[item.name.value] = scope

    def _return(self, frame: Frame, node: cst.Return) -> Signal:
        frame.returned.append(None if node.value is None else self.evaluate(frame, node.value))
        return "return"

    def _raise(self, frame: Frame, node: cst.Raise) -> Signal:
        return "raise"

    def _break(self, frame: Frame, node: cst.Break) -> Signal:
        return "break"

    def _continue(self, frame: Frame, node: cst.Continue) -> Signal:
        return "continue"

    def _if(self, frame: Frame, node: cst.If) -> Signal:
        test = self.truth(self.evaluate(frame, node.test))
        other = node.orelse.body if isinstance(node.orelse, cst.Else) else node.orelse
        if test is not None:
            return self._way(frame, node.body if test else other)
        before = dict(frame.variables)
        with self._perhaps():
            first = self._way(frame, node.body)
        taken, frame.variables = frame.variables, before
        with self._perhaps():
            second = self._way(frame, other)
        return self._met(frame, taken, first, second)

    def _way(self, frame: Frame, body: Node | None) -> Signal:
        return None if body is None else self._statement(frame, body)

    def _met(self, frame: Frame, taken: dict[str, Any], first: Signal, second: Signal) -> Signal:
        """Two ways meet: `one` has the variables of the first, the frame those of the second."""
        if first != second and {first, second} & {"break", "continue"}:
            frame.may_have_left_loop = True
        if first is not None and second is not None:
            return first if first == second else "return" if "return" in (first, second) else first
        if second is not None:
            frame.variables = taken
        elif first is None:
            frame.variables = joined_variables(taken, frame.variables)
        return None

    def _for(self, frame: Frame, node: cst.For) -> Signal:
        values = self.iterated(self.evaluate(frame, node.iter))
        iterations = values if values is not None and len(values) <= RUN_ITERATIONS.limit else None
        if values is not None and iterations is None:
            self.meet(RUN_ITERATIONS)

        def known_iterations() -> Iterator[None]:
            for value in iterations or ():
                self.bind(frame, node.target, value)
                yield

        def unknown_iteration() -> Iterator[None]:
            self.bind(frame, node.target, values[0] if values else UNKNOWN)
            yield

        return self._loop(
            frame, node, unknown_iteration() if iterations is None else known_iterations(), iterations is not None
        )

    def _while(self, frame: Frame, node: cst.While) -> Signal:
        test = self.truth(self.evaluate(frame, node.test))
        if test is False:
            return None

        def iterations() -> Iterator[None]:
            for number in range(RUN_ITERATIONS.limit if test else 1):
                known = self.truth(self.evaluate(frame, node.test)) if number else True
                if known is False:
                    return
                if known is None:
                    break
                yield
            else:
                if test:
                    self.meet(RUN_ITERATIONS)
            frame.may_have_left_loop = True

        return self._loop(frame, node, iterations(), test is True)

    def _loop(self, frame: Frame, node: cst.For | cst.While, iterations: Iterator[None], is_known: bool) -> Signal:
        """Run a loop's body for each iteration; what one that may have been left early has changed is not known."""
        before = dict(frame.variables)
        outer, frame.may_have_left_loop = frame.may_have_left_loop, False
        region = self._open()
        signal: Signal = None
        try:
            for _ in iterations:
                signal = self._statement(frame, node.body)
                if signal == "continue":
                    signal = None
                if signal is not None:
                    break
        finally:
            happened = is_known and not frame.may_have_left_loop
            self._close(region, happened)
            frame.may_have_left_loop = outer
        if not happened:
            frame.variables = joined_variables(before, frame.variables)
            return None
        return None if signal == "break" else signal

    def _try(self, frame: Frame, node: cst.Try) -> Signal:
        before = dict(frame.variables)
        signal = self._statement(frame, node.body)
        if signal == "raise" and node.handlers:
            signal = None
        for handler in node.handlers:
            body, frame.variables = frame.variables, joined_variables(before, frame.variables)
            with self._perhaps():
                if handler.name is not None:
                    self.bind(frame, handler.name.name, UNKNOWN)
                left = self._statement(frame, handler.body)
            frame.variables = body if left is not None else _handled(body, frame.variables)
        if signal is None and node.orelse is not None:
            signal = self._statement(frame, node.orelse.body)
        if node.finalbody is not None:
            signal = self._statement(frame, node.finalbody.body) or signal
        return signal

    def _with(self, frame: Frame, node: cst.With) -> Signal:
        leaving = []
        for item in node.items:
            value = self.evaluate(frame, item.item)
            leaving.append(self.world.entered(value, item.item, frame.file))
            if item.asname is not None:
                self.bind(frame, item.asname.name, value)
        try:
            return self._statement(frame, node.body)
        finally:
            for leave in leaving:
                leave()


def _handled(body: dict[str, Any], handler: dict[str, Any]) -> dict[str, Any]:
    """The variables after a `try` whose handler goes on: both may have run to their ends."""
    return joined_variables(body, handler)


_STATEMENTS: dict[type, Callable[[Statements, Frame, Any], Signal]] = {
    cst.Expr: Statements._expression,
    cst.Assign: Statements._assign,
    cst.AnnAssign: Statements._annotated,
    cst.AugAssign: Statements._augmented,
    cst.Del: Statements._delete,
    cst.FunctionDef: Statements._define,
    cst.ClassDef: Statements._define_class,
    cst.Global: Statements._global,
    cst.Nonlocal: Statements._nonlocal,
    cst.Return: Statements._return,
    cst.Raise: Statements._raise,
    cst.Break: Statements._break,
    cst.Continue: Statements._continue,
    cst.If: Statements._if,
    cst.For: Statements._for,
    cst.While: Statements._while,
    cst.Try: Statements._try,
    cst.With: Statements._with,
}
