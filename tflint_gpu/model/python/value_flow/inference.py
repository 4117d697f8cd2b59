"""The one inference: where the value of an expression comes from. Computed on demand, remembered, with explicit bounds.

A value is followed back through a few kinds of steps to its origins (`origins.Origin`):

- local: the bindings that reach a name, both branches, unpacking, comprehension variables (`bindings`);
- call: a parameter is what this call passes, or, where no call is known, the join of what all call sites pass
  (`call_sites`);
- return: a call of a function of the project is what that function returns for these arguments (`results`), and a call
  that only hands on what it is given is just that (`passing`);
- store and load: attributes, items and elements (`contents`).

What no step goes beyond is an origin; the views of TensorFlow say what it is.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cached_property
from itertools import chain
from typing import Any, TypeVar

import libcst as cst

from tflint_gpu import bounds
from tflint_gpu.model.python.project.definitions import definition_of
from tflint_gpu.model.python.project.file import File
from tflint_gpu.model.python.project.functions import Class, Definitions, Function
from tflint_gpu.model.python.project.project import Project
from tflint_gpu.model.python.syntax.syntax import Expression, Node, text_of
from tflint_gpu.model.python.value_flow import call_sites, contents, inheritance, passing, results
from tflint_gpu.model.python.value_flow.bindings import BranchTests, of_definition, of_name
from tflint_gpu.model.python.value_flow.calls import Callee, Library, cannot_be_called, handed_on, is_library, wraps
from tflint_gpu.model.python.value_flow.constants import Constants
from tflint_gpu.model.python.value_flow.contexts import Contexts
from tflint_gpu.model.python.value_flow.origins import Context, Key, Origin, Origins

_T = TypeVar("_T")
_LOST = cst.Ellipsis()
_FUNCTIONS = frozenset([cst.FunctionDef, cst.Lambda])


class Inference:
    """The origins of the expressions of a project, seen from one file that is checked.

    Arguments:
        entry: the file that is checked; call sites are looked for in it and in what it imports.
    """

    def __init__(self, project: Project, library: Library, entry: File) -> None:
        self.project = project
        self.library = library
        self.entry = entry
        self.bounds_met: set[bounds.Bound] = set()
        self.definitions = Definitions(project, self.meet)
        self._known: dict[tuple[Node, Context | None], Origins] = {}
        self._callees: dict[tuple[Node, Context | None], tuple[Callee, ...]] = {}
        self._sites: dict[Node, tuple[tuple[File, cst.Call], ...]] = {}
        self._contents: dict[tuple[Origin, str, Key], Origins] = {}
        self._subclasses: dict[Node, tuple[Class, ...]] = {}
        self._around: dict[Node, frozenset[Node]] = {}
        self._depth = 0
        self.cycles = 0
        self.constants = Constants(self)
        self.contexts = Contexts(self)
        self.tests = BranchTests(self)

    def meet(self, bound: bounds.Bound) -> None:
        """Remember that a bound cut something off: what lies beyond it is not known."""
        self.bounds_met.add(bound)

    def first(self, bound: bounds.Bound, values: Sequence[_T]) -> Sequence[_T]:
        """The first of some things, as many as a bound allows."""
        if len(values) > bound.limit:
            self.meet(bound)
        return values[: bound.limit]

    def of(self, file: File, expr: Expression, context: Context | None = None) -> Origins:
        """The places that an expression's value may come from; never more than a few, and at least one.

        Empty only for a value that depends on nothing but itself.
        """
        step = _STEPS.get(expr.__class__)
        if context is not None:
            context = self.relevant(file, expr, context)
        if step is None:
            return (Origin(file, expr, context),)
        key = (expr, context)
        known = self._known.get(key)
        if known is None:
            if self._depth > bounds.VALUE_STEPS.limit:
                self.meet(bounds.VALUE_STEPS)
                return (Origin(file, _LOST),)
            self._known[key] = ()  # in work: a value that depends on itself adds nothing
            self._depth += 1
            try:
                known = self._distinct(file, step(self, file, expr, context))
            finally:
                self._depth -= 1
            self._known[key] = known
        elif not known:
            self.cycles += 1
        return known

    def _distinct(self, file: File, origins: Iterable[Origin]) -> Origins:
        distinct: dict[Origin, None] = {}
        for origin in origins:
            if len(distinct) == bounds.ORIGINS.limit and origin not in distinct:
                self.meet(bounds.ORIGINS)
                return (*distinct, Origin(file, _LOST))
            distinct[origin] = None
        return tuple(distinct)

    def relevant(self, file: File, expr: Expression, context: Context) -> Context | None:
        """The innermost context in a chain of calls that binds parameters which the expression can see."""
        around = self._around.get(expr)
        if around is None:
            around = self._around[expr] = frozenset(file.enclosing_functions(expr))
        caller: Context | None = context
        while caller is not None and caller.function not in around:
            caller = caller.caller
        return caller

    def must_be(
        self, file: File, expr: Expression, holds: Callable[[Origin], bool], context: Context | None = None
    ) -> bool:
        """Whether something holds of every value that an expression may have; None apart."""
        origins = [origin for origin in self.of(file, expr, context) if not origin.is_none]
        return bool(origins) and all(holds(origin) for origin in origins)

    # Load steps.

    def _attribute(self, file: File, expr: cst.Attribute, context: Context | None) -> Iterator[Origin]:
        dotted = file.name(expr)
        if dotted is not None:
            if is_library(dotted):
                yield Origin(file, expr)
                return
            definition = definition_of(self.project, file, dotted, self.meet)
            if definition is not None:
                yield from of_definition(self, definition, expr)
                return
            if self.project.imported(file, dotted) is None:
                yield Origin(file, expr)
                return
        name = expr.attr.value
        if isinstance(expr.value, cst.Call) and file.names.is_builtin(expr.value.func, "super"):
            owner = self.definitions.enclosing(file, expr)
            method = self.definitions.method(owner, name, skip_own=True) if owner is not None else None
            if method is not None and owner is not None:
                yield Origin(method.file, method.node, receiver=Origin(owner.file, owner.node))
            else:
                yield Origin(file, expr)
            return
        for receiver in self.of(file, expr.value, context):
            yield from contents.attribute(self, receiver, name)

    def _subscript(self, file: File, expr: cst.Subscript, context: Context | None) -> Iterator[Origin]:
        index = expr.slice[0].slice if len(expr.slice) == 1 else None
        if not isinstance(index, cst.Index) or file.is_new_axis(index.value):
            yield Origin(file, expr, context)
            return
        key = self.key(file, index.value, context)
        for container in self.of(file, expr.value, context):
            yield from self.item(container, key)

    def key(self, file: File, expr: Expression, context: Context | None) -> Key:
        """The constant by which an item is asked for; None where it may be any."""
        for origin in self.of(file, expr, context):
            node = origin.node
            if isinstance(node, cst.SimpleString) and not origin.access_path:
                return text_of(node)
            if isinstance(node, cst.Integer) and not origin.access_path:
                return node.evaluated_value
            if isinstance(node, cst.UnaryOperation) and isinstance(node.expression, cst.Integer):
                return -node.expression.evaluated_value if isinstance(node.operator, cst.Minus) else None
        return None

    # Call and return steps.

    def _call(self, file: File, call: cst.Call, context: Context | None) -> Iterator[Origin]:
        passed = passing.passed_on(self, file, call, context)
        if passed is not None:
            yield from passed
            return
        if is_library(file.name(call.func)):
            yield Origin(file, call, context)
            return
        classes: list[Origin] = []
        callees = self.callees(file, call, context)
        if not callees:
            classes, callees = self._makers(file, call, context)
        if not callees and not classes:
            yield Origin(file, call, context)
        yield from (Origin(file, call, context, receiver=cls) for cls in classes)
        for callee in callees:
            if not _is_inside(callee.function.node, context):  # a function that calls itself adds nothing
                yield from results.of_call(self, file, call, context, callee)

    def _makers(self, file: File, call: cst.Call, context: Context | None) -> tuple[list[Origin], tuple[Callee, ...]]:
        """The classes and functions of which a call runs any: `KINDS[name]()`; none where it is one, or not known."""
        makers = [origin for origin in self.of(file, call.func, context) if not origin.is_none]
        meant = [self.meant_by(maker) for maker in makers if not maker.is_class]
        if len(makers) < 2 or not all(meant):
            return [], ()
        return [maker for maker in makers if maker.is_class], tuple(chain.from_iterable(meant))

    def callees(self, file: File, call: cst.Call, context: Context | None = None) -> tuple[Callee, ...]:
        """The functions of the project that a call may run; none where one is not known."""
        return self.callables(file, call.func, context)

    def methods_called(self, file: File, call: cst.Call, context: Context | None = None) -> tuple[Callee, ...]:
        """The methods of the project that a call may run, of one object or another, where not all are known."""
        if not isinstance(call.func, cst.Attribute) or not self.may_be_called(file, call.func):
            return ()
        known = self.callees(file, call, context)
        callees = known or [c for origin in self.of(file, call.func, context) for c in self.meant_by(origin)]
        return tuple(dict.fromkeys(c for c in callees if c.function.owner is not None and c.receiver is not None))

    def callables(self, file: File, func: Expression, context: Context | None = None) -> tuple[Callee, ...]:
        """The functions of the project that an expression means when it is called; none where one is not known."""
        if context is not None:
            context = self.relevant(file, func, context)
        key = (func, context)
        known = self._callees.get(key)
        if known is None:
            self._callees[key] = ()
            known = self._callees[key] = self._callees_of(file, func, context)
        return known

    def _callees_of(self, file: File, func: Expression, context: Context | None) -> tuple[Callee, ...]:
        if not self.may_be_called(file, func):
            return ()
        if not self._only_callable(file, func, context):
            return ()
        callees: list[Callee] = []
        for origin in self.of(file, func, context):
            if origin.is_none:
                continue
            means = self.meant_by(origin)
            if not means:
                return ()
            callees.extend(means)
        return tuple(dict.fromkeys(callees))

    def _only_callable(self, file: File, func: Expression, context: Context | None) -> bool:
        """Whether each origin of an expression may be called: the first one that may not be spares the others."""
        if context is not None:
            context = self.relevant(file, func, context)
        key, step = (func, context), _STEPS.get(func.__class__)
        if step is None or key in self._known or self._depth > bounds.VALUE_STEPS.limit:
            return True
        self._known[key] = ()  # in work, as in `of`
        self._depth += 1
        origins: dict[Origin, None] = {}
        try:
            for origin in step(self, file, func, context):
                origins[origin] = None
                if len(origins) > bounds.ORIGINS.limit or cannot_be_called(self.library, self.definitions, origin):
                    del self._known[key]
                    return False
        finally:
            self._depth -= 1
        self._known[key] = self._distinct(file, origins)
        return True

    def may_be_called(self, file: File, func: Expression) -> bool:
        """Whether an expression may mean something of the project when it is called: by its name alone, at no cost."""
        if func.__class__ is cst.Attribute and func.attr.value not in self._callable_names:
            return False
        return not is_library(file.name(func))

    @cached_property
    def _callable_names(self) -> frozenset[str]:
        """The names that some file which this check sees gives to a function, a class or an attribute."""
        return self.project.names_given(self.entry)

    def called(self, file: File, call: cst.Call, context: Context | None = None) -> Function | None:
        """The one function of the project that a call runs; None where it is not certain."""
        functions = {callee.function for callee in self.callees(file, call, context)}
        return functions.pop() if len(functions) == 1 else None

    def meant_by(self, origin: Origin) -> list[Callee]:
        """The functions of the project that one value means when it is called; none where it is not known."""
        node = origin.node
        if node.__class__ in _FUNCTIONS and not origin.access_path:
            assert isinstance(node, cst.FunctionDef | cst.Lambda)
            return [Callee(self.definitions.function(origin.file, node), origin.receiver, origin.context)]
        call = origin.call
        if call is not None and wraps(self.library, origin.file, call) and call.args:
            given = handed_on(origin.file, call, origin.context, start=1)
            inner = self.callables(origin.file, call.args[0].value, origin.context)
            return [Callee(c.function, c.receiver, c.context, (*given, *c.given)) for c in inner]
        cls = self.instance_class(origin)
        if cls is not None and not self.definitions.external_bases(cls):
            method = self.definitions.method(cls, "__call__")
            return [Callee(method, origin)] if method is not None else []
        return []

    def call_sites(self, function: Function) -> tuple[tuple[File, cst.Call], ...]:
        """The calls that run a function, or hand it on with its arguments, in all files that this check sees."""
        if function.node not in self._sites:
            self._sites[function.node] = ()
            self._sites[function.node] = tuple(call_sites.find(self, function))
        return self._sites[function.node]

    def users(self, used: Function | Class, name: str) -> Iterable[File]:
        """The files that may use a function or class: its own, the one that is checked, those that import its own."""
        near = dict.fromkeys((used.file, self.entry))
        home = used.file.source.path
        return dict.fromkeys((*near, *self.project.reached_using(self.entry.source, name, home)))

    def deriving(self, cls: Class) -> Iterable[File]:
        """Those of the users of a class that may have classes below it."""
        near = dict.fromkeys((cls.file, self.entry))
        home = cls.file.source.path
        return dict.fromkeys((*near, *self.project.reached_deriving(self.entry.source, cls.name, home)))

    def subclasses(self, cls: Class) -> tuple[Class, ...]:
        """The classes below one, in all files that this check sees."""
        if cls.node not in self._subclasses:
            self._subclasses[cls.node] = inheritance.subclasses(self, cls)
        return self._subclasses[cls.node]

    def files_with(self, text: str, *files: File) -> Iterable[File]:
        """Some files, the one that is checked, and what that imports, as far as a text is in them."""
        return dict.fromkeys((*files, self.entry, *self.project.reached_with(self.entry.source, text)))

    def files_using(self, name: str, *files: File) -> Iterable[File]:
        """The same of code that calls a name, reads it or hands it on; a dotted name is in the text as it is."""
        return dict.fromkeys((*files, self.entry, *self.project.reached_using(self.entry.source, name)))

    # What the steps into contents ask.

    def item(self, origin: Origin, key: Key) -> Origins:
        """What is under a key or index; without a key, any item."""
        return self._once((origin, "item", key), lambda: contents.item(self, origin, key))

    def attribute(self, origin: Origin, name: str) -> Origins:
        """What an attribute of a value holds."""
        return self._once((origin, "attribute", name), lambda: contents.attribute(self, origin, name))

    def elements(self, origin: Origin) -> Origins:
        """What iterating over a value yields."""
        return self._once((origin, "element", None), lambda: contents.elements(self, origin))

    def _once(self, question: tuple[Origin, str, Key], answer: Callable[[], Origins]) -> Origins:
        """The remembered answer; nothing while it is being found: a container in itself adds nothing."""
        if question not in self._contents:
            self._contents[question] = ()
            self._contents[question] = self._distinct(question[0].file, answer())
        return self._contents[question]

    def class_called(self, file: File, call: cst.Call, context: Context | None = None) -> Class | None:
        """The class of the project that a call makes an instance of."""
        if is_library(file.name(call.func)):
            return None
        named = self.definitions.class_named(file, call.func)
        if named is not None:
            return named
        origins = self.of(file, call.func, context)
        nodes = {o.node: o for o in origins if not o.is_none}
        if len(nodes) == 1:
            ((node, origin),) = nodes.items()
            if isinstance(node, cst.ClassDef) and not origin.access_path:
                return Class(origin.file, node)
        return None

    def instance_class(self, origin: Origin) -> Class | None:
        """The project's class of which a value is an instance."""
        if origin.call is not None:
            if origin.receiver is not None:
                maker = origin.receiver
                return Class(maker.file, maker.node) if isinstance(maker.node, cst.ClassDef) else None
            return self.class_called(origin.file, origin.call, origin.context)
        if isinstance(origin.node, cst.Param) and not origin.access_path:
            return self.definitions.class_of_self(origin.file, origin.node)
        return None


def _is_inside(function: Node, context: Context | None) -> bool:
    while context is not None and context.function is not function:
        context = context.caller
    return context is not None


_STEPS: dict[type, Callable[[Inference, File, Any, Context | None], Iterator[Origin]]] = {
    cst.Name: of_name,
    cst.Attribute: Inference._attribute,
    cst.Call: Inference._call,
    cst.Subscript: Inference._subscript,
    cst.IfExp: passing.of_choice,
    cst.BooleanOperation: passing.of_operation,
    cst.NamedExpr: passing.of_assigned,
    cst.Await: passing.of_awaited,
}
