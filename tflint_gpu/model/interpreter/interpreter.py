"""Runs a program of a project as far as the code fixes its values: from its main file into all that it calls."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import libcst as cst

from tflint_gpu.bounds import RUN_CALLS
from tflint_gpu.model.interpreter.builtin_functions import HARMLESS, called, container_method
from tflint_gpu.model.interpreter.statements import Statements
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
    Site,
    elements,
    joined,
)
from tflint_gpu.model.interpreter.world import Exhausted, World
from tflint_gpu.model.python.project.decorators import is_decorated
from tflint_gpu.model.python.project.file import File
from tflint_gpu.model.python.project.functions import Class, Definitions, Function
from tflint_gpu.model.python.project.project import Project
from tflint_gpu.model.python.syntax.syntax import Node, parameters, positional_parameters
from tflint_gpu.model.python.value_flow.constants import UNKNOWN


class Interpreter(Statements):
    """Runs a program.

    Arguments:
        entry: the file that is run as a program: its `__name__` is "__main__".
    """

    def __init__(self, project: Project, definitions: Definitions, entry: File, world: Callable[[Interpreter], World]):
        super().__init__(project, definitions)
        self.entry = entry
        self.world = world(self)
        self.depth = 0
        self.entered: set[Node] = set()
        self._modules: dict[File, Frame] = {}
        self._bodies: dict[Node, Frame] = {}

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
                instance = self.call(made, Arguments(is_whole=False), Site(function.file, function.node))
                if isinstance(instance, Instance) and function.node not in self.entered:
                    bound = FunctionValue(function, frame, instance)
                    self.call(bound, Arguments(is_whole=False), Site(function.file, function.node))
            elif function.file.tree.scopes[function.node].parent is function.file.tree.root:
                self.call(FunctionValue(function, frame), Arguments(is_whole=False), Site(function.file, function.node))
        except (Exhausted, RecursionError):
            return False
        return True

    def module(self, file: File) -> Frame:
        """The variables of a file, after it was run."""
        frame = self._modules.get(file)
        if frame is None:
            frame = self._modules[file] = Frame(file)
            regions, self._regions = self._regions, []  # an import runs the file once, wherever it is
            try:
                self._block(frame, file.tree.module.body)
            finally:
                self._regions = regions
        return frame

    def name_of(self, file: File) -> str:
        """What `__name__` is in a file."""
        return "__main__" if file is self.entry else super().name_of(file)

    # Calls.

    def call(self, callee: Any, given: Arguments, site: Site) -> Any:
        """What a call gives."""
        if isinstance(callee, FunctionValue):
            return self._run(callee, given)
        if isinstance(callee, ClassValue):
            return self._made(callee, given, site)
        if isinstance(callee, PartialCall):
            return self.call(callee.function, callee.arguments.then(given), site)
        if isinstance(callee, Instance):
            method = self.method_of(callee.made.cls, "__call__")
            if method is not None and not callee.is_lost:
                return self._run(FunctionValue(method, self.module(method.file), callee), given)
            return self.world.instance_called(callee, given, site)
        if isinstance(callee, Method):
            if isinstance(callee.receiver, ListValue | DictValue | str | tuple):
                return container_method(callee.receiver, callee.name, given)
            if isinstance(callee.receiver, Instance):
                return self.world.instance_method(callee.receiver, callee.name, given, site)
        if callee is UNKNOWN or isinstance(callee, PLAIN):
            self.lose(given.values())
            return UNKNOWN
        if isinstance(callee, External):
            return self._external(callee.name, given, site)
        return self.world.called(callee, given, site)

    def _external(self, name: str, given: Arguments, site: Site) -> Any:
        if name in ("functools.partial", "builtins.partial") and given.positional:
            return PartialCall(given.positional[0], Arguments(given.positional[1:], given.named, given.is_whole))
        if name in ("tf.function", "tf.autograph.experimental.do_not_convert") and given.positional:
            return given.positional[0]
        if name == "builtins.map" and len(given.positional) == 2:
            values = self.iterated(given.positional[1])
            if values is not None:
                return tuple(self.call(given.positional[0], Arguments((value,)), site) for value in values)
        if name == "builtins.getattr" and len(given.positional) >= 2 and isinstance(given.positional[1], str):
            return self.attribute(given.positional[0], given.positional[1], site)
        if name.startswith(("builtins.", "math.", "operator.")):
            value = called(name, given, self.meet)
            if value is UNKNOWN and name not in HARMLESS and "is" not in name:
                value = self._of_foreign(name, given)
            return value
        found_by_world = self.world.called(External(name), given, site)
        if found_by_world is UNKNOWN and not name.startswith(("keras.", "tf.", "numpy.")):
            for value in given.values():
                if isinstance(value, ListValue | DictValue):
                    self.changes(value)
                    value.lose()
        return found_by_world

    def _of_foreign(self, name: str, given: Arguments) -> Any:
        """`len(model.layers)`, `reversed(shape)`: Python's function on what only the world can iterate over."""
        values = [self.iterated(value) if elements(value) is None else None for value in given.positional[:1]]
        if not values or values[0] is None:
            return UNKNOWN
        return called(
            name, Arguments((tuple(values[0]), *given.positional[1:]), given.named, given.is_whole), self.meet
        )

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
        if self.depth >= RUN_CALLS.limit:
            self.meet(RUN_CALLS)
        if self.depth >= RUN_CALLS.limit or file.yields_of.get(node):
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

    def _made(self, made: ClassValue, given: Arguments, site: Site) -> Any:
        instance = Instance(made)
        instance.notes["site"] = site
        fields = self.definitions.fields(made.cls)
        method = self.method_of(made.cls, "__init__")
        if method is not None:
            frame = made.frame if method.file is made.frame.file else self.module(method.file)
            self._run(FunctionValue(method, frame, instance), given)
        elif fields:
            self._fill_fields(instance, fields, given)
        else:
            self.world.instance_method(instance, "__init__", given, site)
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
        method = self.definitions.method(owner, name, skip_own=skip_own)
        return None if method is None or is_decorated(method.node, "setter") else method

    def class_body(self, made: ClassValue) -> Frame:
        """The variables that the body of a class sets."""
        frame = self._bodies.get(made.cls.node)
        if frame is None:
            frame = self._bodies[made.cls.node] = Frame(made.cls.file, {}, made.frame)
            assigning = [s for s in made.cls.node.body.body if not isinstance(s, cst.FunctionDef | cst.ClassDef)]
            self._block(frame, assigning)
        return frame
