"""Numbers of objects that traced methods read, and that callbacks or loops change while the program trains."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property

import libcst as cst

from tflint_gpu.lazy_dataclasses import dataclass
from tflint_gpu.model import (
    Analysis,
    AttributeAssignment,
    Class,
    Expression,
    File,
    Kinds,
    LoopNode,
    Node,
    Once,
    Traced,
    TracedCode,
    entry,
    loops_around,
    method_name,
    names_in,
    own_attribute,
    walk,
)
from tflint_gpu.model.library.keras_methods import FITTING_METHODS, REPEATED_HOOKS

_NUMBERS = (cst.Integer, cst.Float)


@dataclass(frozen=True, slots=True)
class FrozenAttribute:
    """A read of an attribute whose value at tracing stays in the graph.

    Arguments:
        node: where it is read.
        changes: what changes it later.
    """

    traced: Traced
    node: cst.Attribute
    changes: tuple[Node, ...]


class FrozenAttributes(Analysis):
    """Questions about the objects of one file."""

    code = Once(TracedCode)
    kinds = Once(Kinds)

    def all(self) -> Iterator[FrozenAttribute]:
        """The first read of each such attribute in each traced method."""
        for traced in self.code.functions:
            owner = self._owner(traced)
            if owner is None:
                continue
            reported = set[str]()
            for node in walk(traced.function.node.body):
                name = own_attribute(node)
                if not isinstance(node, cst.Attribute) or name is None or name in reported:
                    continue
                changes = tuple(self._changes(traced, owner, name)) if self._is_number(owner, name) else ()
                if changes and not self.code.runs_once(traced.file, node):
                    reported.add(name)
                    yield FrozenAttribute(traced, node, changes)

    def _owner(self, traced: Traced) -> Class | None:
        """The class whose object is `self` in a method, or in a function that a method makes around it."""
        function, around = traced.function, traced.file.tree.function(traced.function.node)
        if function.owner is not None or not isinstance(around, cst.FunctionDef):
            return function.owner
        names = {parameter.name.value for parameter in function.parameters}
        return None if "self" in names else self.inference.definitions.function(traced.file, around).owner

    def _is_number(self, owner: Class, name: str) -> bool:
        """Whether all that a class gives an attribute are numbers, which it keeps as they are."""
        given = self.inference.definitions.attributes(owner, name)
        if not given or not all(not a.path and self._holds_number(a.file, a.value) for a in given):
            return False
        return self._is_kept(owner, name)

    def _is_kept(self, owner: Class, name: str) -> bool:
        """Whether an attribute holds what it was given: it is no property, or one that only keeps that."""
        definitions = self.inference.definitions
        parts = ((cls.file, part) for cls in definitions.lineage(owner) for part in cls.node.body.body)
        methods = ((file, part) for file, part in parts if isinstance(part, cst.FunctionDef))
        named = (method for method in methods if method[1].name.value == name)
        read = [own_attribute(value) for file, method in named for value in file.returned(method)]
        kept = (a for stored in read if stored is not None for a in definitions.attributes(owner, stored))
        return None not in read and all(
            not a.path and (isinstance(a.value, cst.Name) or self._holds_number(a.file, a.value)) for a in kept
        )

    def _holds_number(self, file: File, value: Expression) -> bool:
        origins = self.inference.of(file, value)
        return bool(origins) and all(self._is_calculated(o.file, o.node) and not o.access_path for o in origins)

    def _is_calculated(self, file: File, node: Node) -> bool:
        """Whether something is a number, or arithmetic with numbers of Python: `rate / (1 + math.exp(epoch))`."""
        if not isinstance(node, cst.BinaryOperation):
            return isinstance(node, _NUMBERS)
        calls = [part for part in walk(node) if isinstance(part, cst.Call)]
        numbers = [part for part in walk(node) if isinstance(part, _NUMBERS)]
        return bool(calls or numbers) and all((file.name(c.func) or "").startswith("math.") for c in calls)

    def _changes(self, traced: Traced, owner: Class, name: str) -> Iterator[Node]:
        """What certainly changes an attribute between two calls of what is traced."""
        for assigned in self._set_again.get(name, ()):
            target, is_counted = assigned.target, isinstance(assigned.statement, cst.AugAssign)
            is_fixed = isinstance(assigned.value, _NUMBERS) and not is_counted
            if self._is_in_hook(traced, owner, target, is_fixed=is_fixed) or (
                not is_fixed and self._is_in_loop(traced, owner, target)
            ):
                yield assigned.statement

    @cached_property
    def _set_again(self) -> dict[str, list[AttributeAssignment]]:
        """The assignments to attributes that run more than once, in a loop or a callback's method, by their names."""
        again: dict[str, list[AttributeAssignment]] = {}
        for assigned in self.file.tree.attribute_assignments:
            function = self.file.tree.function(assigned.target)
            is_hook = isinstance(function, cst.FunctionDef) and function.name.value in REPEATED_HOOKS
            if is_hook or any(loops_around(self.file, assigned.target)):
                again.setdefault(assigned.target.attr.value, []).append(assigned)
        return again

    def _is_in_hook(self, traced: Traced, owner: Class, target: cst.Attribute, *, is_fixed: bool) -> bool:
        """Whether a callback sets it between two epochs or batches, of the model that Keras trains."""
        function = self.file.tree.function(target)
        cls = self.file.tree.class_of(function) if function is not None else None
        if not traced.keras or cls is None or not isinstance(function, cst.FunctionDef):
            return False
        hook = function.name.value
        if hook not in REPEATED_HOOKS or (is_fixed and not hook.endswith("_end")):
            return False
        is_callback = self.kinds.is_callback(Class(self.file, cls))
        return is_callback and (own_attribute(target.value) == "model" or self._is_of(target.value, owner))

    def _is_of(self, value: Expression, owner: Class) -> bool:
        """Whether a value is certainly an object of a class, which no loop makes."""
        origins = self.inference.of(self.file, value)
        classes = [self.inference.instance_class(origin) for origin in origins]
        return bool(origins) and all(
            cls is not None and cls.node is owner.node and not any(loops_around(origin.file, origin.node))
            for cls, origin in zip(classes, origins, strict=True)
        )

    def _is_in_loop(self, traced: Traced, owner: Class, target: cst.Attribute) -> bool:
        """Whether a loop sets it and trains, or calls the traced method or what leads to it, in its iterations."""
        if not self._is_of(target.value, owner):
            return False
        started = entry(traced)[1]
        for loop in loops_around(self.file, target):
            counters = names_in(loop.target) if isinstance(loop, cst.For) else set()
            below = self.file.calls_below.get(loop, ())
            calls = [call for call in below if self._is_of_same(call, target.value) or self._runs(call, traced, loop)]
            names = [method_name(call) or traced.function.name for call in calls]
            is_run = any(name in FITTING_METHODS for name in names) if traced.keras else traced.function.name in names
            if not is_run and traced.path and not traced.keras:
                calls = [call for call in below if self._calls(call, started)]
                is_run = bool(calls)
            given = {name for call in calls for arg in call.args for name in names_in(arg.value)}
            if is_run and "compile" not in names and (traced.keras or not counters & given):
                return True
        return False

    def _is_of_same(self, call: cst.Call, owner: Expression) -> bool:
        """Whether it is a method of the same object, as the file spells it."""
        return isinstance(call.func, cst.Attribute) and self.file.code(call.func.value) == self.file.code(owner)

    def _runs(self, call: cst.Call, traced: Traced, loop: LoopNode) -> bool:
        """Whether it runs what a method made before a loop: one that the loop makes reads the attribute again."""
        func, node = call.func, traced.function.node
        if not isinstance(func, cst.Name) or func.value != traced.function.name or self.file.tree.within(node, loop):
            return False
        return self._calls(call, node)

    def _calls(self, call: cst.Call, node: Node | None) -> bool:
        return any(callee.function.node is node for callee in self.inference.callees(self.file, call))
