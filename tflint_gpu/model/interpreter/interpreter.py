"""Runs statements, with one value for each name where the code fixes it and none elsewhere.

Where a condition is not known both ways are followed, one after the other; what they leave different is not known
behind them, and a container or object that one of them changes is lost. A loop over something unknown is gone through
once. Nothing of the program is executed: what is outside the project is asked of a `World`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, Literal, TypeAlias

import libcst as cst

from tflint_gpu.model.interpreter.builtin_functions import HARMLESS, called, container_method
from tflint_gpu.model.interpreter.expressions import Exhausted, Expressions, World, defined
from tflint_gpu.model.interpreter.values import (
    PLAIN,
    Arguments,
    ClassValue,
    DictValue,
    External,
    Frame,
    FunctionValue,
    Instance,
    ListValue,
    Method,
    Mutable,
    PartialCall,
    Place,
    elements,
    joined,
    joined_variables,
    now,
)
from tflint_gpu.model.python.constants import UNKNOWN
from tflint_gpu.model.python.file import File
from tflint_gpu.model.python.functions import Class, Definitions, Function, is_decorated
from tflint_gpu.model.python.project import Project
from tflint_gpu.model.python.syntax import Node, parameters, positional_parameters

_STEPS = 60_000  # expressions and statements of one program; large ones were seen to need 5,000
_CALLS = 12  # calls inside each other
_TURNS = 400  # of one loop

Signal: TypeAlias = Literal["return", "break", "continue", "raise"] | None


@dataclass(slots=True, eq=False)
class _Region:
    """A piece of code of which it is not known whether, or how often, it runs."""

    start: int
    touched: dict[Mutable, None] = field(default_factory=dict)


class Interpreter(Expressions):
    """Runs a program.

    Arguments:
        entry: the file that is run as a program: its `__name__` is "__main__".
    """

    def __init__(self, project: Project, definitions: Definitions, entry: File, world: Callable[[Interpreter], World]):
        super().__init__(project, _STEPS)
        self.definitions = definitions
        self.entry = entry
        self.world = world(self)
        self.depth = 0
        self.entered: set[Node] = set()
        self._modules: dict[File, Frame] = {}
        self._bodies: dict[Node, Frame] = {}
        self._regions: list[_Region] = []

    def run(self) -> bool:
        """Run the file from its first line to its last; false where it is too long for that."""
        try:
            self.module(self.entry)
        except (Exhausted, RecursionError):
            return False
        return True

    def run_alone(self, function: Function) -> bool:
        """Run a function that nothing was seen to call, with parameters that are not known."""
        try:
            frame = self.module(function.file)
            if function.owner is not None and function.is_method:
                made = ClassValue(function.owner, frame)
                instance = self.call(made, Arguments(is_whole=False), Place(function.file, function.node))
                if isinstance(instance, Instance) and function.node not in self.entered:
                    bound = FunctionValue(function, frame, instance)
                    self.call(bound, Arguments(is_whole=False), Place(function.file, function.node))
            elif function.file.tree.scopes[function.node].parent is function.file.tree.root:
                self.call(
                    FunctionValue(function, frame), Arguments(is_whole=False), Place(function.file, function.node)
                )
        except (Exhausted, RecursionError):
            return False
        return True

    def module(self, file: File) -> Frame:
        """The variables of a file, after it was run."""
        frame = self._modules.get(file)
        if frame is None:
            frame = self._modules[file] = Frame(file)
            regions, self._regions = self._regions, []  # an import runs the file once, wherever it stands
            try:
                self._block(frame, file.tree.module.body)
            finally:
                self._regions = regions
        return frame

    def name_of(self, file: File) -> str:
        """What `__name__` is in a file."""
        return "__main__" if file is self.entry else super().name_of(file)

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
            self.bind(frame, node.target, self.operated(node.operator, old, value))

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
            first, behind = starred[0], len(names) - starred[0] - 1
            middle = ListValue(values[first : len(values) - behind])
            values = [*values[:first], middle, *values[len(values) - behind :]]
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
        if (isinstance(container, DictValue) and isinstance(key, PLAIN)) or (
            isinstance(container, ListValue)
            and isinstance(key, int)
            and -len(container.items) <= key < len(container.items)
        ):
            container.items[key] = value
        else:
            container.lose()

    def _delete(self, frame: Frame, node: cst.Del) -> None:
        if isinstance(node.target, cst.Name):
            frame.variables.pop(node.target.value, None)
        elif isinstance(node.target, cst.Subscript):
            self._set_item(self.evaluate(frame, node.target.value), UNKNOWN, UNKNOWN)

    def _define(self, frame: Frame, node: cst.FunctionDef) -> None:
        frame.variables[node.name.value] = defined(frame.file, node, None, frame)

    def _define_class(self, frame: Frame, node: cst.ClassDef) -> None:
        frame.variables[node.name.value] = ClassValue(Class(frame.file, node), frame)

    def _global(self, frame: Frame, node: cst.Global) -> None:
        frame.outer.update((item.name.value, frame.module) for item in node.names)

    def _nonlocal(self, frame: Frame, node: cst.Nonlocal) -> None:
        for item in node.names:
            found = frame.parent.find(item.name.value) if frame.parent is not None else None
            if found is not None:
                frame.outer[item.name.value] = found

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
        one, frame.variables = frame.variables, before
        with self._perhaps():
            second = self._way(frame, other)
        return self._met(frame, one, first, second)

    def _way(self, frame: Frame, body: Node | None) -> Signal:
        return None if body is None else self._statement(frame, body)

    def _met(self, frame: Frame, one: dict[str, Any], first: Signal, second: Signal) -> Signal:
        """Two ways meet: `one` has the variables of the first, the frame those of the second."""
        if first != second and {first, second} & {"break", "continue"}:
            frame.may_have_left_loop = True
        if first is not None and second is not None:
            return first if first == second else "return" if "return" in (first, second) else first
        if second is not None:
            frame.variables = one
        elif first is None:
            frame.variables = joined_variables(one, frame.variables)
        return None

    def _for(self, frame: Frame, node: cst.For) -> Signal:
        values = self.iterated(self.evaluate(frame, node.iter))
        turns = values if values is not None and len(values) <= _TURNS else None

        def turn_known() -> Iterator[None]:
            for value in turns or ():
                self.bind(frame, node.target, value)
                yield

        def turn_unknown() -> Iterator[None]:
            self.bind(frame, node.target, values[0] if values else UNKNOWN)
            yield

        return self._loop(frame, node, turn_unknown() if turns is None else turn_known(), turns is not None)

    def _while(self, frame: Frame, node: cst.While) -> Signal:
        test = self.truth(self.evaluate(frame, node.test))
        if test is False:
            return None

        def turns() -> Iterator[None]:
            for number in range(_TURNS if test else 1):
                known = self.truth(self.evaluate(frame, node.test)) if number else True
                if known is False:
                    return
                if known is None:
                    break
                yield
            frame.may_have_left_loop = True

        return self._loop(frame, node, turns(), test is True)

    def _loop(self, frame: Frame, node: cst.For | cst.While, turns: Iterator[None], is_known: bool) -> Signal:
        """Run a loop's body once a turn; what a turn that may have been left early has changed is not known."""
        before = dict(frame.variables)
        outer, frame.may_have_left_loop = frame.may_have_left_loop, False
        region = self._open()
        signal: Signal = None
        try:
            for _ in turns:
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

    # Calls.

    def call(self, callee: Any, given: Arguments, place: Place) -> Any:
        """What a call gives."""
        if isinstance(callee, FunctionValue):
            return self._run(callee, given)
        if isinstance(callee, ClassValue):
            return self._made(callee, given, place)
        if isinstance(callee, PartialCall):
            return self.call(callee.function, callee.arguments.then(given), place)
        if isinstance(callee, Instance):
            method = self.method_of(callee.made.cls, "__call__")
            if method is not None and not callee.is_lost:
                return self._run(FunctionValue(method, self.module(method.file), callee), given)
            return self.world.instance_called(callee, given, place)
        if isinstance(callee, Method):
            if isinstance(callee.receiver, ListValue | DictValue | str | tuple):
                return container_method(callee.receiver, callee.name, given)
            if isinstance(callee.receiver, Instance):
                return self.world.instance_method(callee.receiver, callee.name, given, place)
        if callee is UNKNOWN or isinstance(callee, PLAIN):
            self.lose(given.values())
            return UNKNOWN
        if isinstance(callee, External):
            return self._external(callee.name, given, place)
        return self.world.called(callee, given, place)

    def _external(self, name: str, given: Arguments, place: Place) -> Any:
        if name in ("functools.partial", "builtins.partial") and given.positional:
            return PartialCall(given.positional[0], Arguments(given.positional[1:], given.named, given.is_whole))
        if name in ("tf.function", "tf.autograph.experimental.do_not_convert") and given.positional:
            return given.positional[0]
        if name == "builtins.map" and len(given.positional) == 2:
            found = self.iterated(given.positional[1])
            if found is not None:
                return tuple(self.call(given.positional[0], Arguments((one,)), place) for one in found)
        if name == "builtins.getattr" and len(given.positional) >= 2 and isinstance(given.positional[1], str):
            return self.attribute(given.positional[0], given.positional[1], place)
        if name.startswith(("builtins.", "math.", "operator.")):
            value = called(name, given)
            if value is UNKNOWN and name not in HARMLESS and "is" not in name:
                value = self._of_foreign(name, given)
            return value
        found_by_world = self.world.called(External(name), given, place)
        if found_by_world is UNKNOWN and not name.startswith(("keras.", "tf.", "numpy.")):
            for value in given.values():
                if isinstance(value, ListValue | DictValue):
                    self.changes(value)
                    value.lose()
        return found_by_world

    def _of_foreign(self, name: str, given: Arguments) -> Any:
        """`len(model.layers)`, `reversed(shape)`: Python's function on what only the world can iterate over."""
        found = [self.iterated(value) if elements(value) is None else None for value in given.positional[:1]]
        if not found or found[0] is None:
            return UNKNOWN
        return called(name, Arguments((tuple(found[0]), *given.positional[1:]), given.named, given.is_whole))

    def lose(self, values: Iterator[Any]) -> None:
        """Forget what unknown code may have changed."""
        waiting, seen = list(values), set()
        while waiting:
            value = waiting.pop()
            if id(value) in seen:
                continue
            seen.add(id(value))
            if isinstance(value, tuple):
                waiting.extend(value)
            elif isinstance(value, Mutable):
                waiting.extend(value.content())
                self.changes(value)
                value.lose()

    def _run(self, callee: FunctionValue, given: Arguments) -> Any:
        function = callee.function
        node, file = function.node, function.file
        self.entered.add(node)
        if self.depth >= _CALLS or file.yields_of.get(node):
            self.lose(given.values())
            return UNKNOWN
        frame = Frame(file, {}, callee.frame, function.owner, callee.receiver)
        self._fill(frame, callee, given)
        self.depth += 1
        try:
            if isinstance(node, cst.Lambda):
                return self.evaluate(frame, node.body)
            signal = self._statement(frame, node.body)
        finally:
            self.depth -= 1
        if signal is None:
            frame.returned.append(None)
        if not frame.returned:
            return UNKNOWN
        result = frame.returned[0]
        for other in frame.returned[1:]:
            result = joined(result, other)
        return result

    def _fill(self, frame: Frame, callee: FunctionValue, given: Arguments) -> None:
        """Bind the parameters to what is passed, or to their defaults."""
        function = callee.function
        waiting = list(given.positional)
        if (callee.receiver is not None and function.is_method and not isinstance(callee.receiver, ClassValue)) or (
            callee.receiver is not None and is_decorated(function.node, "classmethod")
        ):
            waiting.insert(0, callee.receiver)
        named = dict(given.named)
        in_order = positional_parameters(function.node)
        for parameter in parameters(function.node):
            name = parameter.name.value
            if parameter.star == "*":
                frame.variables[name] = tuple(waiting) if given.is_whole else UNKNOWN
            elif parameter.star == "**":
                frame.variables[name] = DictValue(named) if given.is_whole else UNKNOWN
            elif parameter in in_order and waiting:
                frame.variables[name] = waiting.pop(0)
            elif name in named:
                frame.variables[name] = named.pop(name)
            elif parameter.default is not None and given.is_whole:
                frame.variables[name] = self.evaluate(callee.frame, parameter.default)
            else:
                frame.variables[name] = UNKNOWN

    # Classes.

    def _made(self, made: ClassValue, given: Arguments, place: Place) -> Any:
        instance = Instance(made)
        instance.notes["place"] = place
        fields = self.definitions.fields(made.cls)
        method = self.method_of(made.cls, "__init__")
        if method is not None:
            frame = made.frame if method.file is made.frame.file else self.module(method.file)
            self._run(FunctionValue(method, frame, instance), given)
        elif fields:
            self._fill_fields(instance, fields, given)
        else:
            self.world.instance_method(instance, "__init__", given, place)
        return instance

    def _fill_fields(self, instance: Instance, fields: tuple[str, ...], given: Arguments) -> None:
        body = self.class_body(instance.made)
        for index, name in enumerate(fields):
            default = body.variables.get(name, UNKNOWN)
            known = default if isinstance(default, (*PLAIN, tuple)) else UNKNOWN
            instance.attributes[name] = given.get(index, name, known)

    def lineage(self, cls: Class) -> tuple[Class, ...]:
        """A class and its bases in the project."""
        return self.definitions.lineage(cls)

    def method_of(self, owner: Class, name: str, skip_own: bool = False) -> Function | None:
        """The method that a name finds in a class and its bases in the project."""
        found = self.definitions.method(owner, name, skip_own=skip_own)
        return None if found is None or is_decorated(found.node, "setter") else found

    def class_body(self, made: ClassValue) -> Frame:
        """The variables that the body of a class sets."""
        frame = self._bodies.get(made.cls.node)
        if frame is None:
            frame = self._bodies[made.cls.node] = Frame(made.cls.file, {}, made.frame)
            assigning = [s for s in made.cls.node.body.body if not isinstance(s, cst.FunctionDef | cst.ClassDef)]
            self._block(frame, assigning)
        return frame


def _handled(body: dict[str, Any], handler: dict[str, Any]) -> dict[str, Any]:
    """The variables behind a `try` whose handler goes on: both may have run to their ends."""
    return joined_variables(body, handler)


_STATEMENTS: dict[type, Callable[[Interpreter, Frame, Any], Signal]] = {
    cst.Expr: Interpreter._expression,
    cst.Assign: Interpreter._assign,
    cst.AnnAssign: Interpreter._annotated,
    cst.AugAssign: Interpreter._augmented,
    cst.Del: Interpreter._delete,
    cst.FunctionDef: Interpreter._define,
    cst.ClassDef: Interpreter._define_class,
    cst.Global: Interpreter._global,
    cst.Nonlocal: Interpreter._nonlocal,
    cst.Return: Interpreter._return,
    cst.Raise: Interpreter._raise,
    cst.Break: Interpreter._break,
    cst.Continue: Interpreter._continue,
    cst.If: Interpreter._if,
    cst.For: Interpreter._for,
    cst.While: Interpreter._while,
    cst.Try: Interpreter._try,
    cst.With: Interpreter._with,
}
