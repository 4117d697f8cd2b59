"""Functions and classes of a project: who is whose, what a class inherits, and which parameter an argument fills."""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from tflint_gpu.bounds import ALIASES, LINEAGE, Bound, Meet
from tflint_gpu.lazy_dataclasses import dataclass
from tflint_gpu.model.python.project.decorators import Decorators, function_of, is_decorated
from tflint_gpu.model.python.project.definitions import definition_of, starred_definition
from tflint_gpu.model.python.project.file import File
from tflint_gpu.model.python.project.project import Project
from tflint_gpu.model.python.syntax.scopes import Path
from tflint_gpu.model.python.syntax.syntax import (
    Expression,
    FunctionNode,
    Node,
    argument,
    dotted_name,
    method_name,
    parameters,
    positional_parameters,
)

_RECORDS = frozenset(
    ["dataclasses.dataclass", "dataclass", "attr.s", "attr.attrs", "attr.dataclass", "flax.struct.dataclass"]
)
_PLAIN_BASES = frozenset(["object", "abc.ABC"])
_RECORD_BASES = frozenset(["typing.NamedTuple", "NamedTuple"])


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
        known, key = self.file.parameters, (self.node, self.owner is not None)
        if key not in known:
            positional = positional_parameters(self.node)
            known[key] = positional[1:] if self.is_method else positional
        return known[key]

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
        self._added: dict[File, dict[Node, Class]] = project.kept("added methods")
        self.decorators = Decorators(self._function_named)

    def _meet(self, bound: Bound) -> None:
        self._met += 1  # what was cut off is not kept: the next file that meets the bound is to tell it
        self._told(bound)

    def function(self, file: File, node: FunctionNode) -> Function:
        """A function of a file, with its class where it is a method."""
        return Function(file, node, self.owner(file, node))

    def owner(self, file: File, function: FunctionNode) -> Class | None:
        """The class whose method a function is: by its place, or by `Net.step = step` and its like."""
        owner = file.tree.class_of(function)
        return Class(file, owner) if owner is not None else self._added_to_classes(file).get(function)

    def _added_to_classes(self, file: File) -> dict[Node, Class]:
        """The functions of a file that are put into a class after its body."""
        if file not in self._added:
            added = self._added[file] = {}
            for assignment in file.tree.attribute_assignments:
                value, name = assignment.value, assignment.target.value
                function = self._function_named(file, value) if isinstance(value, cst.Name) else None
                cls = self.class_named(file, name) if function is not None and function[0] is file else None
                if function is not None and cls is not None and file.tree.class_of(function[1]) is None:
                    added[function[1]] = cls
            for decorated in file.tree.functions:
                for decorator in decorated.decorators if isinstance(decorated, cst.FunctionDef) else ():
                    expr = decorator.decorator
                    cls = self.class_named(file, expr.value) if isinstance(expr, cst.Attribute) else None
                    method = self._function_named(file, expr) if cls is not None else None
                    if cls is not None and method is not None and _sets_attribute(*method):
                        added[decorated] = cls
        return self._added[file]

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
                starred = starred_definition(self.project, file, expr.value, self._meet)
                if starred is not None and isinstance(starred.binding.node, cst.ClassDef):
                    return Class(starred.file, starred.binding.node)
        dotted = file.name(expr)
        definition = definition_of(self.project, file, dotted, meet=self._meet) if dotted is not None else None
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

    def _function_named(self, file: File, expr: Expression) -> tuple[File, cst.FunctionDef] | None:
        """The project's function, or the method of a class, that an expression names."""
        if isinstance(expr, cst.Attribute):
            cls = self.class_named(file, expr.value)
            method = self.method(cls, expr.attr.value) if cls is not None else None
            if method is not None and isinstance(method.node, cst.FunctionDef):
                return method.file, method.node
        elif isinstance(expr, cst.Name):
            bindings = file.flow.lookup(expr.value, expr)
            if len(bindings) == 1 and isinstance(bindings[0].node, cst.FunctionDef):
                return file, bindings[0].node
        dotted = file.name(expr)
        definition = definition_of(self.project, file, dotted, self._meet) if dotted is not None else None
        node = definition.binding.node if definition is not None else None
        return (definition.file, node) if definition is not None and isinstance(node, cst.FunctionDef) else None

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

    def is_plain(self, cls: Class) -> bool:
        """Whether a class is wholly the project's own: nothing of a library runs its methods."""
        return self.external_bases(cls) <= _PLAIN_BASES

    def has_known_bases(self, cls: Class, libraries: tuple[str, ...]) -> bool:
        """Whether all bases of a class can be read, or are of some libraries: ("abc.", "typing.")."""

        def is_known(file: File, base: Expression) -> bool:
            if self.class_named(file, base) is not None or file.names.is_builtin(base, "object"):
                return True
            return (file.name(base) or "").startswith(libraries)

        return all(is_known(current.file, base.value) for current in self.lineage(cls) for base in current.node.bases)

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
            for node, owner in self._added_to_classes(current.file).items():
                if owner.node is current.node and isinstance(node, cst.FunctionDef) and node.name.value == name:
                    return Function(current.file, node, current)
        return None

    def own_methods(self, cls: Class) -> Iterator[Function]:
        """The functions in the class's own body."""
        for statement in cls.node.body.body:
            if isinstance(statement, cst.FunctionDef):
                yield Function(cls.file, statement, cls)

    def inherited(self, file: File) -> Iterator[Function]:
        """The methods of other files that the file's classes inherit, where one of them calls what the class defines.

        Whoever makes an object of the class may run them: `trainer.run()`, whose loop calls `self.train_step()`.
        """
        for node in file.tree.classes:
            cls = Class(file, node)
            above = [base for base in self.lineage(cls)[1:] if base.file is not file]
            methods = [method for base in above for method in self.own_methods(base)]
            methods = [method for method in methods if self.method(cls, method.name) == method]
            own = {method.name for method in self.own_methods(cls)}
            if any(method_name(call) in own and self._is_of_self(m, call) for m in methods for call in m.calls):
                yield from methods

    def _is_of_self(self, method: Function, call: cst.Call) -> bool:
        return isinstance(call.func, cst.Attribute) and self.self_class(method.file, call.func.value) is not None

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
        first = positional_parameters(function)[:1]
        return self.owner(file, function) if first and first[0] is parameter else None

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
        named = [
            argument(base.value, 1, "field_names")
            for base in cls.node.bases
            if isinstance(base.value, cst.Call) and cls.file.name(base.value.func) == "collections.namedtuple"
        ]
        if named and isinstance(named[0], cst.SimpleString):
            return tuple(str(named[0].evaluated_value).replace(",", " ").split())
        is_record = any(cls.file.name(base.value) in _RECORD_BASES for base in cls.node.bases) or any(
            (dotted_name(function_of(d)) or "") in _RECORDS or cls.file.name(function_of(d)) in _RECORDS
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
            and not is_decorated(function.node, "classmethod")
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


def is_static(function: FunctionNode) -> bool:
    """Whether a function is a `@staticmethod`, and so has no `self`."""
    return is_decorated(function, "staticmethod")


def is_property(function: FunctionNode) -> bool:
    """Whether reading the attribute runs the function."""
    return is_decorated(function, "property", "cached_property")


def _sets_attribute(file: File, method: cst.FunctionDef) -> bool:
    """Whether a class method puts the function that it gets into its class: `setattr(cls, f.__name__, f)`."""
    names = [parameter.name.value for parameter in positional_parameters(method)]
    calls = (call for call in file.calls_in.get(method, ()) if file.names.is_builtin(call.func, "setattr"))
    return len(names) == 2 and any(
        len(call.args) == 3 and [dotted_name(call.args[i].value) for i in (0, 2)] == names for call in calls
    )
