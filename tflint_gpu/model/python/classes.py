"""Classes of the project: what they inherit, their methods, and what is assigned to their attributes."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Literal

import libcst as cst

from tflint_gpu.model.python.syntax import Expression, FunctionNode, Node, positional_parameters
from tflint_gpu.model.python.tree import Path

if TYPE_CHECKING:
    from tflint_gpu.model.model import Model

KerasKind = Literal["layer", "model", "metric", "loss"]

_KERAS_BASES: dict[str, KerasKind] = {
    "keras.Model": "model",
    "keras.models.Model": "model",
    "keras.Sequential": "model",
    "keras.models.Sequential": "model",
    "keras.engine.training.Model": "model",
    "keras.layers.Layer": "layer",
    "keras.Layer": "layer",
    "keras.engine.base_layer.Layer": "layer",
    "keras.metrics.Metric": "metric",
    "keras.Metric": "metric",
    "keras.losses.Loss": "loss",
    "keras.Loss": "loss",
}
_KERAS_FOLDERS: tuple[tuple[str, KerasKind], ...] = (
    ("keras.layers.", "layer"),
    ("keras.metrics.", "metric"),
    ("keras.losses.", "loss"),
)


@dataclass(frozen=True, slots=True)
class Class:
    """A class statement and the model of the file that holds it."""

    model: Model
    node: cst.ClassDef

    @property
    def name(self) -> str:
        """The class's own name."""
        return self.node.name.value


@dataclass(frozen=True, slots=True)
class Method:
    """A method and the class that defines it."""

    owner: Class
    node: cst.FunctionDef


@dataclass(frozen=True, slots=True)
class Attribute:
    """One assignment to an attribute of a class's instances, or in the class body."""

    model: Model
    value: Expression
    path: Path
    node: Node


def keras_kind(canonical_name: str) -> KerasKind | None:
    """What a class of Keras's own is: "layer" for keras.layers.Dense."""
    known = _KERAS_BASES.get(canonical_name)
    if known is not None:
        return known
    for folder, kind in _KERAS_FOLDERS:
        if canonical_name.startswith(folder) and canonical_name.rpartition(".")[2][:1].isupper():
            return kind
    return None


class Classes:
    """Questions about the classes that one file defines or uses."""

    def __init__(self, model: Model) -> None:
        self.model = model
        self._kinds: dict[Node, frozenset[KerasKind]] = {}

    def named(self, expr: Node | None) -> Class | None:
        """The project's class that an expression names, in this file or in another."""
        if isinstance(expr, cst.Name):
            bindings = self.model.flow.lookup(expr.value, expr)
            if len(bindings) == 1 and isinstance(bindings[0].node, cst.ClassDef):
                return Class(self.model, bindings[0].node)
        dotted = self.model.name(expr)
        if dotted is None:
            return None
        found = self.model.project.definition(self.model, dotted)
        if found is None or not isinstance(found.binding.node, cst.ClassDef):
            return None
        return Class(found.model, found.binding.node)

    def enclosing(self, node: Node) -> Class | None:
        """The class in one of whose methods `node` lies."""
        for parent in self.model.tree.ancestors(node):
            if isinstance(parent, cst.ClassDef):
                return Class(self.model, parent)
        return None

    def lineage(self, cls: Class) -> Iterator[Class]:
        """The class and its bases inside the project, nearest first."""
        seen: set[Node] = set()
        queue = [cls]
        while queue:
            current = queue.pop(0)
            if current.node in seen or len(seen) > 20:
                continue
            seen.add(current.node)
            yield current
            for base in current.node.bases:
                found = current.model.classes.named(base.value)
                if found is not None:
                    queue.append(found)

    def keras_kinds(self, cls: Class) -> frozenset[KerasKind]:
        """What the class is to Keras, through all its bases: {"layer"}, {"model"}, ..., or nothing."""
        known = self._kinds.get(cls.node)
        if known is None:
            found: set[KerasKind] = set()
            for current in self.lineage(cls):
                for base in current.node.bases:
                    kind = keras_kind(current.model.name(base.value) or "")
                    if kind is not None:
                        found.add(kind)
            known = self._kinds[cls.node] = frozenset(found)
        return known

    def external_bases(self, cls: Class) -> set[str]:
        """Canonical names of all bases outside the project."""
        return {
            name
            for current in self.lineage(cls)
            for base in current.node.bases
            if (name := current.model.name(base.value)) is not None
        }

    def method(self, cls: Class, name: str, skip_own: bool = False) -> Method | None:
        """The method that `instance.name` finds; with `skip_own` the one that `super().name` finds."""
        for current in self.lineage(cls):
            if skip_own and current.node is cls.node:
                continue
            scope = current.model.tree.scopes[current.node]
            bindings = scope.bindings.get(name, ())
            if bindings and isinstance(bindings[-1].node, cst.FunctionDef):
                return Method(current, bindings[-1].node)
            if bindings:
                return None
        return None

    def own_methods(self, cls: Class) -> Iterator[cst.FunctionDef]:
        """The functions in the class's own body."""
        for statement in cls.node.body.body:
            if isinstance(statement, cst.FunctionDef):
                yield statement

    def self_attribute(self, expr: Node | None) -> tuple[Class, str] | None:
        """For `self.x` in a method: the class and "x"."""
        if not isinstance(expr, cst.Attribute) or not isinstance(expr.value, cst.Name):
            return None
        owner = self.self_class(expr.value)
        return (owner, expr.attr.value) if owner is not None else None

    def self_class(self, expr: Node) -> Class | None:
        """The class whose instance `expr` is when it is a method's `self` (or `cls`), also in inner functions."""
        if not isinstance(expr, cst.Name):
            return None
        bindings = self.model.flow.lookup(expr.value, expr)
        if len(bindings) != 1 or bindings[0].kind != "parameter":
            return None
        function = self.model.tree.parents[self.model.tree.parents[bindings[0].node]]
        if not isinstance(function, cst.FunctionDef):
            return None
        owner = self.model.tree.class_of(function)
        if owner is None or is_static(function):
            return None
        first = positional_parameters(function)[:1]
        return Class(self.model, owner) if first and first[0] is bindings[0].node else None

    def attribute_values(self, expr: cst.Attribute) -> list[Attribute]:
        """All assignments to `self.x` in the class and its bases; empty where one is not plain."""
        found = self.self_attribute(expr)
        return self.attributes(*found) if found is not None else []

    def attributes(self, cls: Class, name: str) -> list[Attribute]:
        """All assignments to attribute `name` of a class; empty where one changes it in place."""
        result: list[Attribute] = []
        for current in self.lineage(cls):
            own = current.model.classes.own_attributes(current.node).get(name, [])
            if any(isinstance(a.node, cst.AugAssign) for a in own):
                return []
            result.extend(own)
        return result

    def own_attributes(self, node: cst.ClassDef) -> dict[str, list[Attribute]]:
        """Assignments to attributes in a class's own body and methods."""
        return self._attributes.get(node, {})

    @cached_property
    def _attributes(self) -> dict[cst.ClassDef, dict[str, list[Attribute]]]:
        result: dict[cst.ClassDef, dict[str, list[Attribute]]] = {}
        for assignment in self.model.tree.attribute_assignments:
            found = self.self_attribute(assignment.target)
            if found is not None:
                attribute = Attribute(self.model, assignment.value, assignment.path, assignment.statement)
                result.setdefault(found[0].node, {}).setdefault(found[1], []).append(attribute)
        for node in self.model.tree.classes:
            for name, bindings in self.model.tree.scopes[node].bindings.items():
                for binding in bindings:
                    if binding.kind == "assign" and binding.value is not None:
                        attribute = Attribute(self.model, binding.value, binding.path, binding.node)
                        result.setdefault(node, {}).setdefault(name, []).append(attribute)
        return result


def is_static(function: FunctionNode) -> bool:
    """Whether a function is a `@staticmethod`, and so has no `self`."""
    return isinstance(function, cst.FunctionDef) and any(
        isinstance(d.decorator, cst.Name) and d.decorator.value == "staticmethod" for d in function.decorators
    )
