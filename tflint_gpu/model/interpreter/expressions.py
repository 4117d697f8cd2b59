"""The values of expressions, computed as Python does where everything in them is known."""

from __future__ import annotations

import builtins
from abc import abstractmethod
from collections.abc import Callable
from typing import Any

import libcst as cst

from tflint_gpu.bounds import Bound
from tflint_gpu.model.interpreter.builtin_functions import CHANGING
from tflint_gpu.model.interpreter.displays import Displays
from tflint_gpu.model.interpreter.operators import compared, item, operated
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
    Site,
    Super,
    elements,
    joined,
)
from tflint_gpu.model.interpreter.world import Exhausted, World
from tflint_gpu.model.python.names.names import canonical
from tflint_gpu.model.python.project.definitions import definition_of, starred_definition
from tflint_gpu.model.python.project.file import File
from tflint_gpu.model.python.project.functions import Class, Function, is_property
from tflint_gpu.model.python.project.project import Project
from tflint_gpu.model.python.syntax.syntax import Expression, constant_of, text_of
from tflint_gpu.model.python.value_flow.calls import is_library
from tflint_gpu.model.python.value_flow.constants import UNKNOWN

_LITERALS = {"True": True, "False": False, "None": None}


class Expressions(Displays):
    """Computes expressions; a class derived from this one runs statements.

    Arguments:
        steps: how many expressions and statements may be looked at.
    """

    def __init__(self, project: Project, steps: int) -> None:
        self.project = project
        self.steps = steps
        self.bounds_met: set[Bound] = set()
        self.meet = self.bounds_met.add
        self.world: World

    @abstractmethod
    def call(self, callee: Any, given: Arguments, site: Site) -> Any:
        """What a call gives."""

    @abstractmethod
    def module(self, file: File) -> Frame:
        """The variables of a file of the project, after it was run."""

    @abstractmethod
    def changes(self, value: Mutable) -> None:
        """A value is about to be changed."""

    @abstractmethod
    def method_of(self, owner: Class, name: str, skip_own: bool = False) -> Function | None:
        """The method that a name finds in a class and its bases in the project."""

    def count_step(self) -> None:
        """One more step; raises `Exhausted` after the last."""
        self.steps -= 1
        if self.steps < 0:
            raise Exhausted

    def evaluate(self, frame: Frame, expr: Expression) -> Any:
        """The value of an expression, or `UNKNOWN`."""
        self.count_step()
        step = _STEPS.get(expr.__class__)
        return UNKNOWN if step is None else step(self, frame, expr)

    def truth(self, value: Any) -> bool | None:
        """Whether a value counts as true; None where that is not known."""
        if value is UNKNOWN:
            return None
        if isinstance(value, PLAIN):
            return bool(value)
        values = elements(value)
        if values is not None:
            return bool(values)
        return True if isinstance(value, FunctionValue | ClassValue) else None

    def external(self, file: File, dotted: str) -> Any:
        """What a dotted name that a file imports means."""
        if not is_library(dotted):
            definition = definition_of(self.project, file, dotted, meet=self.meet)
            if definition is not None:
                return self.module(definition.file).variables.get(definition.binding.name, UNKNOWN)
            if dotted.startswith("."):
                return UNKNOWN
        return External(dotted)

    # Names and attributes.

    def _name(self, frame: Frame, expr: cst.Name) -> Any:
        name = expr.value
        if name in _LITERALS:
            return _LITERALS[name]
        scope = frame.outer.get(name) or frame.find(name)
        if scope is not None:
            return scope.variables.get(name, UNKNOWN)
        if name == "__name__":
            return self.name_of(frame.file)
        dotted = frame.file.name(expr)
        if dotted is not None:
            return self.external(frame.file, dotted)
        starred = starred_definition(self.project, frame.file, name, self.meet)
        if starred is not None:
            return self.module(starred.file).variables.get(name, UNKNOWN)
        return External(f"builtins.{name}") if hasattr(builtins, name) else UNKNOWN

    def name_of(self, file: File) -> str:
        """What `__name__` is in a file."""
        return file.source.path.stem

    def _attribute(self, frame: Frame, expr: cst.Attribute) -> Any:
        root: Expression = expr
        while isinstance(root, cst.Attribute):
            root = root.value
        if isinstance(root, cst.Name) and frame.find(root.value) is None:
            dotted = frame.file.name(expr)
            if dotted is not None:
                return self.external(frame.file, dotted)
        return self.attribute(self.evaluate(frame, expr.value), expr.attr.value, Site(frame.file, expr))

    def attribute(self, value: Any, name: str, site: Site) -> Any:
        """What an attribute of a value is."""
        if isinstance(value, Instance):
            return self._of_instance(value, name, site)
        if isinstance(value, Super):
            method = self.method_of(value.owner, name, skip_own=True)
            if method is None:
                return Method(value.instance, name)
            return FunctionValue(method, self.module(method.file), value.instance)
        if isinstance(value, ClassValue):
            method = self.method_of(value.cls, name)
            if method is not None:
                return FunctionValue(method, self._frame_of(value, method), value)
            return self._of_class(value, name)
        if isinstance(value, ListValue | DictValue | str | tuple):
            return Method(value, name)
        if isinstance(value, External):
            return External(canonical(f"{value.name}.{name}"))
        return UNKNOWN if value is UNKNOWN or isinstance(value, PLAIN) else self.world.attribute(value, name)

    def _of_instance(self, value: Instance, name: str, site: Site) -> Any:
        if value.is_lost:
            return UNKNOWN
        if name in value.attributes:
            return value.attributes[name]
        method = self.method_of(value.made.cls, name)
        if method is not None:
            bound = FunctionValue(method, self._frame_of(value.made, method), value)
            return self.call(bound, Arguments(), site) if is_property(method.node) else bound
        attribute = self._of_class(value.made, name)
        return Method(value, name) if attribute is UNKNOWN else attribute

    def _frame_of(self, made: ClassValue, method: Function) -> Frame:
        return made.frame if made.frame.file is method.file else self.module(method.file)

    def _of_class(self, made: ClassValue, name: str) -> Any:
        for cls in self.lineage(made.cls):
            body = self.class_body(made if cls.node is made.cls.node else ClassValue(cls, self.module(cls.file)))
            if name in body.variables:
                return body.variables[name]
        return UNKNOWN

    @abstractmethod
    def lineage(self, cls: Class) -> tuple[Class, ...]:
        """A class and its bases in the project."""

    @abstractmethod
    def class_body(self, made: ClassValue) -> Frame:
        """The variables that the body of a class sets."""

    # Calls.

    def _call(self, frame: Frame, expr: cst.Call) -> Any:
        site = Site(frame.file, expr)
        if isinstance(expr.func, cst.Name) and expr.func.value == "super" and not frame.find("super"):
            return self._super(frame, expr)
        callee = self.evaluate(frame, expr.func)
        given = self._arguments(frame, expr)
        if isinstance(callee, Method) and isinstance(callee.receiver, Mutable) and callee.name in CHANGING:
            self.changes(callee.receiver)
        return self.call(callee, given, site)

    def _super(self, frame: Frame, expr: cst.Call) -> Any:
        inside: Frame | None = frame
        while inside is not None and not isinstance(inside.receiver, Instance):
            inside = inside.parent
        if inside is None or inside.owner is None:
            return UNKNOWN
        return Super(inside.receiver, inside.owner)

    def _arguments(self, frame: Frame, expr: cst.Call) -> Arguments:
        positional: list[Any] = []
        named: dict[str, Any] = {}
        is_whole = True
        for arg in expr.args:
            value = self.evaluate(frame, arg.value)
            if arg.keyword is not None:
                named[arg.keyword.value] = value
            elif arg.star == "*":
                values = self.iterated(value)
                is_whole = is_whole and values is not None
                positional.extend(values or ())
            elif arg.star == "**":
                known = isinstance(value, DictValue) and not value.is_lost
                is_whole = is_whole and known
                named.update(value.items if known else {})
            elif is_whole or not positional:
                positional.append(value)
        return Arguments(tuple(positional), named, is_whole)

    def iterated(self, value: Any) -> list[Any] | None:
        """What iterating over a value yields; None where that is not known."""
        values = elements(value)
        if values is None and value is not UNKNOWN and not isinstance(value, (*PLAIN, Mutable)):
            values = self.world.elements(value)
        return values

    # Operators.

    def _binary(self, frame: Frame, expr: cst.BinaryOperation) -> Any:
        left, right = self.evaluate(frame, expr.left), self.evaluate(frame, expr.right)
        return operated(self.world, expr.operator, left, right, self.meet)

    def _unary(self, frame: Frame, expr: cst.UnaryOperation) -> Any:
        value = self.evaluate(frame, expr.expression)
        if isinstance(expr.operator, cst.Not):
            known = self.truth(value)
            return UNKNOWN if known is None else not known
        if isinstance(value, int | float):
            return -value if isinstance(expr.operator, cst.Minus) else value
        return UNKNOWN if value is UNKNOWN or isinstance(value, PLAIN) else self.world.operated("Minus", value, None)

    def _boolean(self, frame: Frame, expr: cst.BooleanOperation) -> Any:
        left = self.evaluate(frame, expr.left)
        known = self.truth(left)
        if known is None:
            return UNKNOWN
        return left if known is isinstance(expr.operator, cst.Or) else self.evaluate(frame, expr.right)

    def _comparison(self, frame: Frame, expr: cst.Comparison) -> Any:
        left = self.evaluate(frame, expr.left)
        for target in expr.comparisons:
            right = self.evaluate(frame, target.comparator)
            holds = compared(target.operator, left, right, self.meet)
            if holds is not True:
                return holds
            left = right
        return True

    def _either(self, frame: Frame, expr: cst.IfExp) -> Any:
        test = self.truth(self.evaluate(frame, expr.test))
        if test is not None:
            return self.evaluate(frame, expr.body if test else expr.orelse)
        return joined(self.evaluate(frame, expr.body), self.evaluate(frame, expr.orelse))

    # Containers.

    def _subscript(self, frame: Frame, expr: cst.Subscript) -> Any:
        value = self.evaluate(frame, expr.value)
        if value is UNKNOWN:
            return UNKNOWN
        keys = tuple(self._key(frame, element.slice) for element in expr.slice)
        return item(self.world, value, keys[0] if len(keys) == 1 else keys)

    def _key(self, frame: Frame, part: cst.BaseSlice) -> Any:
        if isinstance(part, cst.Index):
            return self.evaluate(frame, part.value)
        assert isinstance(part, cst.Slice)
        bounds = [
            None if bound is None else self.evaluate(frame, bound) for bound in (part.lower, part.upper, part.step)
        ]
        return UNKNOWN if UNKNOWN in bounds else slice(*bounds)

    # Other expressions.

    def _function(self, frame: Frame, expr: cst.Lambda) -> Any:
        return FunctionValue(Function(frame.file, expr), frame)

    def _assigned(self, frame: Frame, expr: cst.NamedExpr) -> Any:
        value = self.evaluate(frame, expr.value)
        self.bind(frame, expr.target, value)
        return value

    def _text(self, frame: Frame, expr: cst.SimpleString) -> Any:
        text = text_of(expr)
        return UNKNOWN if text is None else text

    def _number(self, frame: Frame, expr: cst.Integer | cst.Float) -> Any:
        return constant_of(expr)

    def _joined_text(self, frame: Frame, expr: cst.ConcatenatedString) -> Any:
        left, right = self.evaluate(frame, expr.left), self.evaluate(frame, expr.right)
        return left + right if isinstance(left, str) and isinstance(right, str) else UNKNOWN

    def _formatted(self, frame: Frame, expr: cst.FormattedString) -> Any:
        parts: list[str] = []
        for part in expr.parts:
            if isinstance(part, cst.FormattedStringText):
                parts.append(part.value)
            elif isinstance(part, cst.FormattedStringExpression):
                value = self.evaluate(frame, part.expression)
                if not isinstance(value, str | int) or part.format_spec:
                    return UNKNOWN
                parts.append(str(value))
        return "".join(parts)

    def _awaited(self, frame: Frame, expr: cst.Await) -> Any:
        return self.evaluate(frame, expr.expression)


_STEPS: dict[type, Callable[[Expressions, Frame, Any], Any]] = {
    cst.Name: Expressions._name,
    cst.Attribute: Expressions._attribute,
    cst.Call: Expressions._call,
    cst.BinaryOperation: Expressions._binary,
    cst.UnaryOperation: Expressions._unary,
    cst.BooleanOperation: Expressions._boolean,
    cst.Comparison: Expressions._comparison,
    cst.IfExp: Expressions._either,
    cst.Subscript: Expressions._subscript,
    cst.Tuple: Expressions._tuple,
    cst.Set: Expressions._tuple,
    cst.List: Expressions._list,
    cst.Dict: Expressions._dict,
    cst.ListComp: Expressions._comprehension,
    cst.GeneratorExp: Expressions._comprehension,
    cst.DictComp: Expressions._dict_comprehension,
    cst.Lambda: Expressions._function,
    cst.NamedExpr: Expressions._assigned,
    cst.SimpleString: Expressions._text,
    cst.Integer: Expressions._number,
    cst.Float: Expressions._number,
    cst.ConcatenatedString: Expressions._joined_text,
    cst.FormattedString: Expressions._formatted,
    cst.Await: Expressions._awaited,
    cst.Ellipsis: lambda run, frame, expr: ...,
}
