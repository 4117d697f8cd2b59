"""Functions of the project: what a call calls, what it passes, and where a value comes from."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import libcst as cst

from tflint_gpu.model.python.classes import Class, is_static
from tflint_gpu.model.python.syntax import Expression, FunctionNode, Node, dotted_name, positional_parameters
from tflint_gpu.model.python.tree import Binding

if TYPE_CHECKING:
    from tflint_gpu.model.model import Model

_ORIGIN_DEPTH = 10
_CALLER_LIMIT = 6
_TRANSPARENT_DECORATORS = frozenset(
    (
        "tf.function property cached_property staticmethod classmethod abstractmethod override configurable "
        "with_name_scope do_not_convert default lru_cache cache wraps register_keras_serializable deprecated"
    ).split()
)
# Calls that hand their first argument on as a function.
_WRAPPERS = frozenset(["tf.function", "functools.partial", "tf.autograph.experimental.do_not_convert", "partial"])


@dataclass(frozen=True, slots=True)
class Function:
    """A function or lambda of the project; `owner` is its class where it is a method."""

    model: Model
    node: FunctionNode
    owner: Class | None = None

    @property
    def name(self) -> str:
        """Its name, or "lambda"."""
        return self.node.name.value if isinstance(self.node, cst.FunctionDef) else "lambda"

    @property
    def parameters(self) -> list[cst.Param]:
        """The parameters that positional arguments fill, without `self` or `cls`."""
        found = positional_parameters(self.node)
        return found[1:] if self.owner is not None and not is_static(self.node) else found


@dataclass(frozen=True, slots=True)
class Origin:
    """An expression that some other expression stands for, and the file in which it is written."""

    model: Model
    node: Expression


class Functions:
    """Questions about the calls and functions of one file."""

    def __init__(self, model: Model) -> None:
        self.model = model
        self._called: dict[Node, Function | None] = {}

    @cached_property
    def calls_in(self) -> dict[Node | None, list[cst.Call]]:
        """The calls of each function's own body, inner functions apart; None: of the module."""
        result: dict[Node | None, list[cst.Call]] = {}
        for call in self.model.tree.calls:
            result.setdefault(self.model.tree.function(call), []).append(call)
        return result

    def callers(self, function: FunctionNode) -> list[Origin]:
        """The calls that run a function of this file: those in this file and in the file that is checked."""
        name = function.name.value if isinstance(function, cst.FunctionDef) else ""
        if name == "__init__":
            owner = self.model.tree.class_of(function)
            name = owner.name.value if owner is not None else name
        found: list[Origin] = []
        for model in {id(m): m for m in (self.model, self.model.project.current) if m is not None}.values():
            for call in model.calls_ending_with(name):
                called = model.functions.called(call) or model.functions.constructor(call)
                if called is not None and called.node is function:
                    found.append(Origin(model, call))
        return found

    def constructor(self, call: cst.Call) -> Function | None:
        """The `__init__` that a call of a project's class runs."""
        cls = self.model.classes.named(call.func)
        method = cls.model.classes.method(cls, "__init__") if cls is not None else None
        return Function(method.owner.model, method.node, method.owner) if method is not None else None

    def arguments_for(self, parameter: Node) -> Iterator[Origin]:
        """What the known callers pass for a parameter of a function of this file."""
        function = self.model.tree.parents[self.model.tree.parents[parameter]]
        if not isinstance(function, cst.FunctionDef):
            return
        target = self.of(function)
        for caller in self.callers(function)[:_CALLER_LIMIT]:
            assert isinstance(caller.node, cst.Call)
            for filled, value in caller.model.functions.passed(caller.node, target):
                if filled is parameter:
                    yield Origin(caller.model, value)

    @cached_property
    def returns_of(self) -> dict[Node | None, list[cst.Return]]:
        """The return statements of each function."""
        result: dict[Node | None, list[cst.Return]] = {}
        for statement in self.model.tree.returns:
            result.setdefault(self.model.tree.function(statement), []).append(statement)
        return result

    def returned(self, function: FunctionNode) -> list[Expression]:
        """What a function may return; a lambda its body."""
        if isinstance(function, cst.Lambda):
            return [function.body]
        return [r.value for r in self.returns_of.get(function, ()) if r.value is not None]

    def of(self, node: FunctionNode) -> Function:
        """A function of this file, with its class where it is a method."""
        owner = self.model.tree.class_of(node)
        return Function(self.model, node, Class(self.model, owner) if owner is not None else None)

    def may_be_replaced(self, function: FunctionNode) -> bool:
        """Whether a decorator that is not known may run something else, or run the function elsewhere."""
        if not isinstance(function, cst.FunctionDef):
            return False
        for decorator in function.decorators:
            expr = decorator.decorator.func if isinstance(decorator.decorator, cst.Call) else decorator.decorator
            name = self.model.name(expr) or dotted_name(expr) or ""
            if name not in _TRANSPARENT_DECORATORS and name.rpartition(".")[2] not in _TRANSPARENT_DECORATORS:
                return True
        return False

    def called(self, call: cst.Call) -> Function | None:
        """The function of the project that a call runs; None where it is not certain."""
        if call not in self._called:
            self._called[call] = None
            self._called[call] = self.named(call.func)
        return self._called[call]

    def named(self, expr: Node, depth: int = 0) -> Function | None:
        """The function of the project that an expression means when it is called."""
        if depth > _ORIGIN_DEPTH:
            return None
        if isinstance(expr, cst.Lambda):
            return Function(self.model, expr)
        if isinstance(expr, cst.Call):
            return self._of_call(expr, depth)
        if isinstance(expr, cst.Name):
            bindings = self.model.flow.lookup(expr.value, expr)
            if len(bindings) == 1:
                found = self._of_binding(bindings[0], depth)
                if found is not None:
                    return found
        elif isinstance(expr, cst.Attribute):
            method = self._method(expr, depth)
            if method is not None:
                return method
        dotted = self.model.name(expr)
        if dotted is not None:
            definition = self.model.project.definition(self.model, dotted)
            if definition is not None:
                return definition.model.functions._of_binding(definition.binding, depth + 1)
        return None

    def _of_binding(self, binding: Binding, depth: int) -> Function | None:
        if isinstance(binding.node, cst.FunctionDef):
            return self.of(binding.node)
        plain = binding.kind == "assign" and binding.path == ()
        if plain and isinstance(binding.value, cst.Lambda | cst.Call | cst.Name | cst.Attribute):
            return self.named(binding.value, depth + 1)
        return None

    def _of_call(self, expr: cst.Call, depth: int) -> Function | None:
        """The function that `tf.function(f)` or `functools.partial(f, ...)` stands for."""
        if self.model.name(expr.func) in _WRAPPERS and expr.args and expr.args[0].keyword is None:
            return self.named(expr.args[0].value, depth + 1)
        if isinstance(expr.func, cst.Call) and self.model.name(expr.func.func) == "tf.function" and expr.args:
            return self.named(expr.args[0].value, depth + 1)
        return None

    def _method(self, expr: cst.Attribute, depth: int) -> Function | None:
        name = expr.attr.value
        classes = self.model.classes
        if isinstance(expr.value, cst.Call) and self.model.names.is_builtin(expr.value.func, "super"):
            owner = classes.enclosing(expr)
            found = owner and owner.model.classes.method(owner, name, skip_own=True)
        else:
            owner = self.instance_class(expr.value) or classes.named(expr.value)
            found = owner and owner.model.classes.method(owner, name)
            if owner is not None and not found:
                return self._function_attribute(owner, name, depth)
        if not found:
            return None
        return Function(found.owner.model, found.node, found.owner)

    def _function_attribute(self, owner: Class, name: str, depth: int) -> Function | None:
        """`self.step = tf.function(self._step)`."""
        values = owner.model.classes.attributes(owner, name)
        if len(values) == 1 and values[0].path == ():
            return values[0].model.functions.named(values[0].value, depth + 1)
        return None

    def instance_class(self, expr: Node) -> Class | None:
        """The project's class of which `expr` is an instance: `self`, or built by calling the class."""
        if isinstance(expr, cst.Name):
            owner = self.model.classes.self_class(expr)
            if owner is not None:
                return owner
        if not isinstance(expr, cst.Name | cst.Attribute | cst.Call):
            return None
        found: set[tuple[int, Class]] = set()
        for origin in self.origins(expr):
            if origin is None or not isinstance(origin.node, cst.Call):
                return None
            cls = origin.model.classes.named(origin.node.func)
            if cls is None:
                return None
            found.add((id(cls.node), cls))
        return found.pop()[1] if len(found) == 1 else None

    def origins(self, expr: Expression, depth: int = 0) -> list[Origin | None]:
        """The expressions that `expr` may stand for, through names, attributes of self and branches.

        None in the list: on some way the origin is unknown (a parameter, an element of something).
        """
        if depth > _ORIGIN_DEPTH:
            return [None]
        if isinstance(expr, cst.IfExp):
            return self.origins(expr.body, depth + 1) + self.origins(expr.orelse, depth + 1)
        if isinstance(expr, cst.NamedExpr):
            return self.origins(expr.value, depth + 1)
        if isinstance(expr, cst.Name):
            return self._name_origins(expr, depth)
        if isinstance(expr, cst.Attribute):
            return self._attribute_origins(expr, depth)
        return [Origin(self.model, expr)]

    def _name_origins(self, expr: cst.Name, depth: int) -> list[Origin | None]:
        bindings = self.model.flow.lookup(expr.value, expr)
        if not bindings:
            return [None]
        result: list[Origin | None] = []
        for binding in bindings:
            result.extend(self._binding_origins(binding, depth))
        return result

    def _binding_origins(self, binding: Binding, depth: int) -> list[Origin | None]:
        if binding.kind == "import":
            found = self.model.project.definition(self.model, binding.target)
            if found is None:
                return [None]
            return found.model.functions._binding_origins(found.binding, depth + 1)
        if binding.kind == "parameter":
            passed = list(self.arguments_for(binding.node))
            return [o for a in passed for o in a.model.functions.origins(a.node, depth + 2)] or [None]
        if binding.kind != "assign" or binding.value is None:
            return [None]
        value = element(binding.value, binding.path)
        return [None] if value is None else self.origins(value, depth + 1)

    def _attribute_origins(self, expr: cst.Attribute, depth: int) -> list[Origin | None]:
        values = self.model.classes.attribute_values(expr)
        result: list[Origin | None] = []
        for attribute in values:
            value = element(attribute.value, attribute.path)
            if isinstance(value, cst.Name) and value.value == "None":
                continue  # `self.model = None` in __init__, built later
            result.extend([None] if value is None else attribute.model.functions.origins(value, depth + 1))
        if values:
            return result or [None]
        dotted = self.model.name(expr)
        definition = self.model.project.definition(self.model, dotted) if dotted else None
        if definition is not None:
            return definition.model.functions._binding_origins(definition.binding, depth + 1)
        return [None]

    def passed(self, call: cst.Call, function: Function) -> Iterator[tuple[cst.Param, Expression]]:
        """Which parameter each argument of `call` fills; arguments behind a `*` are left out."""
        by_name = {p.name.value: p for p in [*function.parameters, *function.node.params.kwonly_params]}
        positional = function.parameters
        unbound = (
            function.owner is not None
            and isinstance(call.func, cst.Attribute)
            and self.model.classes.named(call.func.value) is not None
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


def element(value: Expression, path: tuple[int | None, ...]) -> Expression | None:
    """The part of a tuple or list display that an unpacking path names; None where it can't be told."""
    for index in path:
        if not isinstance(value, cst.Tuple | cst.List) or index is None or index >= len(value.elements):
            return None
        if any(isinstance(e, cst.StarredElement) for e in value.elements):
            return None
        value = value.elements[index].value
    return value
