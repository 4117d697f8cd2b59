"""Functions and classes of a project: who is whose, what a class inherits, and which parameter an argument fills."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import libcst as cst

from tflint_gpu.bounds import ALIASES, LINEAGE, Bound, Meet
from tflint_gpu.model.python.project.file import File
from tflint_gpu.model.python.project.project import Project
from tflint_gpu.model.python.syntax.scopes import Path
from tflint_gpu.model.python.syntax.syntax import (
    Expression,
    FunctionNode,
    Node,
    dotted_name,
    parameters,
    positional_parameters,
)

_RECORDS = frozenset(
    ["dataclasses.dataclass", "dataclass", "attr.s", "attr.attrs", "attr.dataclass", "flax.struct.dataclass"]
)
_RECORD_BASES = frozenset(["typing.NamedTuple", "NamedTuple"])
# Decorators that leave a function what it is, by the last part of their names.
_TRANSPARENT_DECORATORS = frozenset(
    (
        "function property cached_property staticmethod classmethod abstractmethod override configurable "
        "with_name_scope do_not_convert default lru_cache cache wraps register_keras_serializable deprecated "
        "contextmanager no_type_check typechecked beartype"
    ).split()
)


@dataclass(frozen=True, slots=True)
class Class:
    """A class statement and its file."""

    file: File
    node: cst.ClassDef

    @property
    def name(self) -> str:
        """The class's own name."""
        return self.node.name.value


@dataclass(frozen=True, slots=True)
class Function:
    """A function or lambda of the project; `owner` is its class where it is a method."""

    file: File
    node: FunctionNode
    owner: Class | None = None

    @property
    def name(self) -> str:
        """Its name, or "lambda"."""
        return self.node.name.value if isinstance(self.node, cst.FunctionDef) else "lambda"

    @property
    def is_method(self) -> bool:
        """Whether its first parameter is the instance or the class."""
        return self.owner is not None and not is_static(self.node)

    @property
    def parameters(self) -> list[cst.Param]:
        """The parameters that positional arguments fill, without `self` or `cls`."""
        positional = positional_parameters(self.node)
        return positional[1:] if self.is_method else positional

    @property
    def calls(self) -> list[cst.Call]:
        """The calls of its own body, inner functions apart."""
        return self.file.calls_in.get(self.node, [])

    def parameter(self, name: str) -> cst.Param | None:
        """The parameter of a name."""
        return next((p for p in parameters(self.node) if p.name.value == name), None)


@dataclass(frozen=True, slots=True)
class Attribute:
    """One assignment to an attribute of a class's instances, or in the class body; `path` as in `Binding`."""

    file: File
    value: Expression
    path: Path
    node: Node


class Definitions:
    """The functions and classes of a project's files.

    They are the same whichever file is checked, so that what was found for one is kept for the others, with the files.

    Arguments:
        project: finds what a file imports.
        meet: is told of each bound that cuts something off.
    """

    def __init__(self, project: Project, meet: Meet) -> None:
        self.project = project
        self._told = meet
        self._met = 0
        self._attributes: dict[File, dict[Node, dict[str, list[Attribute]]]] = project.kept("attributes")
        self._named: dict[Node, Class | None] = project.kept("named classes")
        self._lineages: dict[Node, tuple[Class, ...]] = project.kept("lineages")

    def _meet(self, bound: Bound) -> None:
        self._met += 1  # what was cut off is not kept: the next file that meets the bound is to tell it
        self._told(bound)

    def function(self, file: File, node: FunctionNode) -> Function:
        """A function of a file, with its class where it is a method."""
        owner = file.tree.class_of(node)
        return Function(file, node, Class(file, owner) if owner is not None else None)

    def class_named(self, file: File, expr: Node | None) -> Class | None:
        """The project's class that an expression names, in this file or in another, also by `Model = models.Model`."""
        if not isinstance(expr, cst.Name | cst.Attribute):
            return None
        if expr not in self._named:
            met = self._met
            cls = self._class_named(file, expr)
            if met != self._met:
                return cls
            self._named[expr] = cls
        return self._named[expr]

    def _class_named(self, file: File, expr: Expression, depth: int = 0) -> Class | None:
        if isinstance(expr, cst.Name):
            bindings = file.flow.lookup(expr.value, expr)
            if len(bindings) == 1 and isinstance(bindings[0].node, cst.ClassDef):
                return Class(file, bindings[0].node)
            if not bindings:
                starred = self.project.starred(file, expr.value, self._meet)
                if starred is not None and isinstance(starred.binding.node, cst.ClassDef):
                    return Class(starred.file, starred.binding.node)
        dotted = file.name(expr)
        definition = self.project.definition(file, dotted, meet=self._meet) if dotted is not None else None
        if definition is None:
            return None
        binding = definition.binding
        if isinstance(binding.node, cst.ClassDef):
            return Class(definition.file, binding.node)
        alias = binding.value if binding.kind == "assign" and not binding.path else None
        if isinstance(alias, cst.Name | cst.Attribute):
            if depth < ALIASES.limit:
                return self._class_named(definition.file, alias, depth + 1)
            self._meet(ALIASES)
        return None

    def enclosing(self, file: File, node: Node) -> Class | None:
        """The class in one of whose methods `node` lies."""
        class_node = next((parent for parent in file.tree.ancestors(node) if isinstance(parent, cst.ClassDef)), None)
        return Class(file, class_node) if class_node is not None else None

    def lineage(self, cls: Class) -> tuple[Class, ...]:
        """The class and its bases inside the project, nearest first."""
        known = self._lineages.get(cls.node)
        if known is None:
            seen: dict[Node, Class] = {}
            queue, met = [cls], self._met
            for current in queue:  # grows meanwhile
                if current.node in seen:
                    continue
                if len(seen) > LINEAGE.limit:
                    self._meet(LINEAGE)
                    break
                seen[current.node] = current
                bases = (self.class_named(current.file, base.value) for base in current.node.bases)
                queue.extend(base for base in bases if base is not None)
            known = tuple(seen.values())
            if met == self._met:
                self._lineages[cls.node] = known
        return known

    def external_bases(self, cls: Class) -> set[str]:
        """Canonical names of all bases outside the project."""
        return {
            name
            for current in self.lineage(cls)
            for base in current.node.bases
            if (name := current.file.name(base.value)) is not None
        }

    def method(self, cls: Class, name: str, *, skip_own: bool = False) -> Function | None:
        """The method that `instance.name` finds; with `skip_own` the one that `super().name` finds."""
        for current in self.lineage(cls):
            if skip_own and current.node is cls.node:
                continue
            bindings = current.file.tree.scopes[current.node].bindings.get(name, ())
            readers = [binding for binding in bindings if not is_decorated(binding.node, "setter", "deleter")]
            if readers:
                node = readers[-1].node
                return Function(current.file, node, current) if isinstance(node, cst.FunctionDef) else None
        return None

    def own_methods(self, cls: Class) -> Iterator[Function]:
        """The functions in the class's own body."""
        for statement in cls.node.body.body:
            if isinstance(statement, cst.FunctionDef):
                yield Function(cls.file, statement, cls)

    def self_class(self, file: File, expr: Node) -> Class | None:
        """The class whose instance `expr` is when it is a method's `self` (or `cls`), also in inner functions."""
        if not isinstance(expr, cst.Name):
            return None
        bindings = file.flow.lookup(expr.value, expr)
        if len(bindings) != 1 or bindings[0].kind != "parameter":
            return None
        return self.class_of_self(file, bindings[0].node)

    def class_of_self(self, file: File, parameter: Node) -> Class | None:
        """The class whose instance a parameter is: the first one of a method."""
        function = file.tree.parents[file.tree.parents[parameter]]
        if not isinstance(function, cst.FunctionDef) or is_static(function):
            return None
        owner = file.tree.class_of(function)
        first = positional_parameters(function)[:1]
        return Class(file, owner) if owner is not None and first and first[0] is parameter else None

    def attributes(self, cls: Class, name: str) -> list[Attribute]:
        """All assignments to an attribute of a class, in its bodies and methods and those of its bases."""
        return [a for current in self.lineage(cls) for a in self._own(current.file).get(current.node, {}).get(name, ())]

    def _own(self, file: File) -> dict[Node, dict[str, list[Attribute]]]:
        if file not in self._attributes:
            result: dict[Node, dict[str, list[Attribute]]] = {}
            for assignment in file.tree.attribute_assignments:
                target = assignment.target
                cls = self.self_class(file, target.value)
                if cls is not None:
                    attribute = Attribute(file, assignment.value, assignment.path, assignment.statement)
                    result.setdefault(cls.node, {}).setdefault(target.attr.value, []).append(attribute)
            for node in file.tree.classes:
                for name, bindings in file.tree.scopes[node].bindings.items():
                    for binding in bindings:
                        if binding.kind == "assign" and binding.value is not None:
                            attribute = Attribute(file, binding.value, binding.path, binding.node)
                            result.setdefault(node, {}).setdefault(name, []).append(attribute)
            self._attributes[file] = result
        return self._attributes[file]

    def fields(self, cls: Class) -> tuple[str, ...]:
        """The fields of a dataclass or NamedTuple, in the order of its constructor's arguments; else none."""
        is_record = any(cls.file.name(base.value) in _RECORD_BASES for base in cls.node.bases) or any(
            (dotted_name(_function_of(d)) or "") in _RECORDS or cls.file.name(_function_of(d)) in _RECORDS
            for d in cls.node.decorators
        )
        if not is_record:
            return ()
        statements = [s for line in cls.node.body.body if isinstance(line, cst.SimpleStatementLine) for s in line.body]
        targets = (s.target for s in statements if isinstance(s, cst.AnnAssign))
        return tuple(target.value for target in targets if isinstance(target, cst.Name))

    def passed(self, file: File, call: cst.Call, function: Function) -> Iterator[tuple[cst.Param, Expression]]:
        """Which parameter each argument of `call` fills; arguments after a `*` are left out."""
        by_name = {p.name.value: p for p in [*function.parameters, *function.node.params.kwonly_params]}
        positional = function.parameters
        unbound = (
            function.owner is not None
            and isinstance(call.func, cst.Attribute)
            and self.class_named(file, call.func.value) is not None
        )
        if unbound:  # `Base.method(self, x)`
            positional = positional_parameters(function.node)
        for index, arg in enumerate(call.args):
            if arg.keyword is not None:
                if arg.keyword.value in by_name:
                    yield by_name[arg.keyword.value], arg.value
            elif arg.star:
                break
            elif index < len(positional):
                yield positional[index], arg.value


def may_be_replaced(file: File, function: FunctionNode) -> bool:
    """Whether a decorator that is not known may run something else, or run the function elsewhere."""
    if not isinstance(function, cst.FunctionDef):
        return False
    for decorator in function.decorators:
        expr = _function_of(decorator)
        name = file.name(expr) or dotted_name(expr) or ""
        if name.rpartition(".")[2] not in _TRANSPARENT_DECORATORS and not name.endswith((".setter", ".getter")):
            return True
    return False


def is_static(function: FunctionNode) -> bool:
    """Whether a function is a `@staticmethod`, and so has no `self`."""
    return is_decorated(function, "staticmethod")


def is_property(function: FunctionNode) -> bool:
    """Whether reading the attribute runs the function."""
    return is_decorated(function, "property", "cached_property")


def is_decorated(function: Node, *names: str) -> bool:
    """Whether a function has a decorator whose last name is one of these."""
    return isinstance(function, cst.FunctionDef) and any(
        (dotted_name(_function_of(d)) or "").rpartition(".")[2] in names for d in function.decorators
    )


def _function_of(decorator: cst.Decorator) -> Expression:
    return decorator.decorator.func if isinstance(decorator.decorator, cst.Call) else decorator.decorator
