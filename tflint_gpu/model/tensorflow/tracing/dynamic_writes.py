"""Writes of names and attributes that a program computes when it runs: `setattr`, `vars`, `__dict__`, `globals`."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import Literal, TypeAlias

import libcst as cst

from tflint_gpu.lazy_dataclasses import dataclass
from tflint_gpu.model.model import Analysis
from tflint_gpu.model.python.project.file import File
from tflint_gpu.model.python.syntax.syntax import Expression, Node, argument

ANY_NAME = "*"
DYNAMIC_SUBSTRINGS = ("setattr", "delattr", "__dict__", "__class__", "vars(", "globals(", "exec(", "eval(", "namespace")
"""One of them is in each file that sets names or attributes this way."""
_OWN_MODULE = "sys.modules[__name__]"

Place: TypeAlias = Literal["object", "module", "anywhere"]


@dataclass(frozen=True, slots=True)
class DynamicWrite:
    """A place that sets a name or an attribute.

    Arguments:
        place: what has the name: an object, the module of the file itself, or either of them.
        owner: the object; the call or the container where it is none.
        name: the name, or `ANY_NAME`.
        value: what it gets, where that is written there.
    """

    node: Node
    place: Place
    owner: Expression
    name: str
    value: Expression | None = None


class DynamicWrites(Analysis):
    """Analysis of the dynamic writes of a file."""

    def of(self, file: File) -> Iterator[DynamicWrite]:
        """All of them."""
        for call in (*file.calls_ending_with("setattr"), *file.calls_ending_with("__setattr__")):
            yield from self._by_function(file, call)
        for call in file.calls_ending_with("delattr"):
            if len(call.args) == 2:
                yield DynamicWrite(call, "object", call.args[0].value, self._name(file, call.args[1].value))
        for assignment in file.tree.attributes_set("__dict__", "__class__"):
            yield DynamicWrite(assignment.target, "object", assignment.target.value, ANY_NAME)
        for bound in file.tree.attributes_bound:
            yield DynamicWrite(bound, "object", bound.value, bound.attr.value)
        for target, value in file.tree.item_assignments:
            index = target.slice[0].slice
            for place, owner in self._names_of(file, target.value):
                key = self._name(file, index.value) if isinstance(index, cst.Index) else ANY_NAME
                yield DynamicWrite(target, place, owner, key, value)
        for call in file.method_calls("update", "setdefault"):
            if isinstance(call.func, cst.Attribute):
                for place, owner in self._names_of(file, call.func.value):
                    for name in self._updated(file, call):
                        yield DynamicWrite(call, place, owner, name)
        for call in file.method_calls("parse_args", "parse_known_args", "parse_intermixed_args"):
            if (namespace := argument(call, 1, "namespace")) is not None:
                yield DynamicWrite(call, "object", namespace, ANY_NAME)
        for name in ("exec", "eval"):
            for call in file.calls_ending_with(name):
                if file.names.is_builtin(call.func, name):
                    yield from self._executed(file, call)

    def _by_function(self, file: File, call: cst.Call) -> Iterator[DynamicWrite]:
        """`setattr(net, "rate", 0.1)`, `net.__setattr__("rate", 0.1)`, `object.__setattr__(net, "rate", 0.1)`."""
        given = [arg.value for arg in call.args]
        if len(given) == 2 and isinstance(call.func, cst.Attribute) and not _is_forwarded(file, call):
            given = [call.func.value, *given]
        if len(given) == 3:
            place: Place = "module" if file.code(given[0]) == _OWN_MODULE else "object"
            yield DynamicWrite(call, place, given[0], self._name(file, given[1]), given[2])

    def _names_of(self, file: File, container: Expression, depth: int = 0) -> Iterator[tuple[Place, Expression]]:
        """Whose names a dictionary holds: `vars(net)`, `net.__dict__`, `globals()`, or a name of one of these."""
        if isinstance(container, cst.Attribute) and container.attr.value == "__dict__":
            owner = container.value
            yield ("module" if file.code(owner) == _OWN_MODULE else "object"), owner
        elif isinstance(container, cst.Call):
            is_in_module = file.tree.function(container) is None
            if file.names.is_builtin(container.func, "vars") and container.args:
                yield "object", container.args[0].value
            elif file.names.is_builtin(container.func, "globals") or (
                is_in_module and any(file.names.is_builtin(container.func, name) for name in ("vars", "locals"))
            ):
                yield "module", container
        elif isinstance(container, cst.Name) and not depth:
            for binding in file.flow.lookup(container.value, container):
                if binding.kind == "assign" and not binding.path and binding.value is not None:
                    yield from self._names_of(file, binding.value, depth + 1)

    def _updated(self, file: File, call: cst.Call) -> Iterator[str]:
        """The keys that `update` or `setdefault` sets."""
        if isinstance(call.func, cst.Attribute) and call.func.attr.value == "setdefault":
            yield self._name(file, call.args[0].value) if call.args else ANY_NAME
            return
        for arg in call.args:
            if arg.keyword is not None:
                yield arg.keyword.value
            elif not arg.star and isinstance(arg.value, cst.Dict):
                for element in arg.value.elements:
                    yield self._name(file, element.key) if isinstance(element, cst.DictElement) else ANY_NAME
            else:
                yield ANY_NAME

    def _executed(self, file: File, call: cst.Call) -> Iterator[DynamicWrite]:
        """What a text sets that is run in the module: everything, where the text is not known."""
        given = [arg.value for arg in call.args]
        if len(given) > 1 and ("module", given[1]) not in self._names_of(file, given[1]):
            return
        text = self.constants.of(file, given[0]) if given else ""
        is_in_module = len(given) > 1 or file.tree.function(call) is None
        if not isinstance(text, str):
            # In a function what is set is gone after the call, but for attributes.
            yield DynamicWrite(call, "anywhere", call, ANY_NAME)
            return
        for place, name in _set_by(text, is_in_module=is_in_module):
            yield DynamicWrite(call, place, call, name)

    def _name(self, file: File, expr: Expression) -> str:
        name = self.constants.of(file, expr)
        return name if isinstance(name, str) else ANY_NAME


def _is_forwarded(file: File, call: cst.Call) -> bool:
    """`super().__setattr__(name, value)` of a method that does what an assignment says."""
    function = file.tree.function(call)
    return isinstance(function, cst.FunctionDef) and function.name.value == "__setattr__"


def _set_by(text: str, *, is_in_module: bool) -> Iterator[tuple[Place, str]]:
    """The names and attributes that code gives values, and the names that it uses, of which it may change the value."""
    try:
        nodes = list(ast.walk(ast.parse(text)))
    except (SyntaxError, ValueError):
        return
    outer = {name for node in nodes if isinstance(node, ast.Global) for name in node.names}
    left = {node.value for node in nodes if isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store)}
    left |= {node.func for node in nodes if isinstance(node, ast.Call)}
    for node in nodes:
        if isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store):
            yield "anywhere", node.attr
        elif isinstance(node, ast.Name) and node not in left and (_is_outer(node, outer) or is_in_module):
            yield "module", node.id


def _is_outer(name: ast.Name, outer: set[str]) -> bool:
    return name.id in outer or isinstance(name.ctx, ast.Load)
