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

from collections.abc import Callable, Container, Iterable, Iterator, Sequence
from itertools import chain
from typing import Any, TypeAlias, TypeVar

import libcst as cst

from tflint_gpu import bounds
from tflint_gpu.model.library.higher_order import Handing, Library
from tflint_gpu.model.python.names.names import is_loading, module_loaded
from tflint_gpu.model.python.project.declarations import packages_loaded_from
from tflint_gpu.model.python.project.definitions import definition_of
from tflint_gpu.model.python.project.file import File
from tflint_gpu.model.python.project.functions import Class, Definitions, Function
from tflint_gpu.model.python.project.project import Project
from tflint_gpu.model.python.seen.answers import Answers
from tflint_gpu.model.python.seen.seen_files import SeenFiles
from tflint_gpu.model.python.syntax.syntax import Expression, LoopNode, Node, constant_of, text_of
from tflint_gpu.model.python.value_flow import call_sites, contents, inheritance, passing, results
from tflint_gpu.model.python.value_flow import runs as running
from tflint_gpu.model.python.value_flow.bindings import BranchTests, of_definition, of_name
from tflint_gpu.model.python.value_flow.calls import (
    Bound,
    Callee,
    cannot_be_called,
    handed_on,
    is_library,
    wraps,
)
from tflint_gpu.model.python.value_flow.constants import Constants
from tflint_gpu.model.python.value_flow.contexts import Contexts
from tflint_gpu.model.python.value_flow.origins import Context, Key, Origin, Origins, Part
from tflint_gpu.model.python.value_flow.runs import Run

_T = TypeVar("_T")
_LOST = cst.Ellipsis()
_MORE = cst.Ellipsis()
"""What stands for the origins of an expression that has more of them than are followed."""
_DEPTHS = frozenset([bounds.VALUE_STEPS, bounds.CONSTANT_DEPTH, bounds.CONSTANT_STEPS])
"""Bounds that a question meets or does not meet depending on what asked it."""
_DISPLAYS = (cst.Tuple, cst.List, cst.Dict)
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
        self.seen = SeenFiles(project, entry)
        self.definitions = Definitions(project, self.meet)
        self._values: Answers[tuple[Node, Context | None], Origins] = self.seen.answers("values", ())
        self._callees: Answers[tuple[Node, Context | None], tuple[Callee, ...]] = self.seen.answers("callees", ())
        self._sites: Answers[Node, tuple[tuple[File, cst.Call], ...]] = self.seen.answers("call sites", ())
        self._contents: Answers[tuple[Origin, str, Key], Origins] = self.seen.answers("contents", ())
        self._loops: dict[File, list[LoopNode]] = {}
        self._subclasses: Answers[Node, tuple[Class, ...]] = self.seen.answers("subclasses", ())
        self._around: dict[Node, frozenset[Node]] = {}
        self._depth = 0
        self.constants = Constants(self)
        self.contexts = Contexts(self)
        self.tests = BranchTests(self)

    def meet(self, bound: bounds.Bound) -> None:
        """Remember that a bound cut something off: what lies beyond it is not known."""
        self.seen.work.meet(bound)
        if bound in _DEPTHS:
            self.seen.look()

    @property
    def bounds_met(self) -> set[bounds.Bound]:
        """The bounds that cut something off."""
        return self.seen.work.bounds_met

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
        known: Origins | None = self._values.known(key)
        if known is not None:
            return known
        if self._depth > bounds.VALUE_STEPS.limit:
            self.meet(bounds.VALUE_STEPS)
            return (Origin(file, _LOST),)
        return self._values.find(
            key, self.is_own(file, context), lambda: self._followed(file, step(self, file, expr, context))
        )

    def _followed(self, file: File, origins: Iterator[Origin]) -> Origins:
        """The origins to which one more step leads."""
        self._depth += 1
        try:
            return self._distinct(file, origins)
        finally:
            self._depth -= 1

    def is_own(self, file: File, context: Context | None = None) -> bool:
        """Whether a question about some code is one about the checked file alone: no other file has to do with it."""
        if self.seen.is_inside:
            return False
        return file is self.entry or (context is not None and context.is_own)

    def _distinct(self, file: File, origins: Iterable[Origin]) -> Origins:
        distinct: dict[Origin, None] = {}
        for origin in origins:
            if len(distinct) == bounds.ORIGINS.limit and origin not in distinct:
                self.meet(bounds.ORIGINS)
                return (*distinct, Origin(file, _MORE))
            distinct[origin] = None
        return tuple(distinct)

    def relevant(self, file: File, expr: Expression, context: Context) -> Context | None:
        """The innermost context in a chain of calls that binds parameters which the expression can see."""
        around = self._around.get(expr)
        if around is None:
            around = self._around[expr] = _functions_seen(file, expr)
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

    def is_method_of(
        self,
        file: File,
        call: cst.Call,
        methods: Container[str],
        makers: Container[str | None],
        context: Context | None = None,
    ) -> bool:
        """Whether a call is one of some methods of what functions or classes of some names certainly made."""
        if not isinstance(call.func, cst.Attribute) or call.func.attr.value not in methods:
            return False
        return self.must_be(file, call.func.value, lambda origin: origin.made_by in makers, context)

    def followed(self, file: File, expr: Expression, context: Context | None = None) -> list[Origin]:
        """The origins that were followed, None apart: of more than the bound allows the first ones."""
        return [o for o in self.of(file, expr, context) if not o.is_none and o.node is not _MORE]

    def made_of(
        self, whole: Part, operands: Callable[[Origin], Iterable[Expression]]
    ) -> Iterator[tuple[Part, Origins]]:
        """A value and what it is computed from, each once and with its origins, also where it is made of itself.

        Arguments:
            operands: those of the operands of a value that are to be followed.
        """
        pending, seen = [whole], set[Part]()
        while pending:
            part = pending.pop()
            if part in seen:  # `rows = tf.concat([rows, more], 0)` in a loop
                continue
            seen.add(part)
            origins = self.of(part.file, part.expr, part.context)
            yield part, origins
            pending += (Part(o.file, operand, o.context) for o in origins for operand in operands(o))

    def parts(
        self, file: File, expr: Expression, context: Context | None = None, held: Held | None = None
    ) -> Iterator[Part]:
        """The values in tuples, lists and dictionaries, as they are written or by names; else the expression itself.

        Arguments:
            held: what a value holds, and by which keys, where more than displays count; None of what holds nothing.
        """
        return self._parts(Part(file, expr, context), frozenset(), held or _elements)

    def _parts(self, part: Part, around: frozenset[Node], held: Held) -> Iterator[Part]:
        origins = self.of(part.file, part.expr, part.context)
        whole = [(origin, held(origin)) for origin in origins if not origin.access_path]
        containers = [(origin, values) for origin, values in whole if values is not None]
        for origin, values in containers:
            for keys, value in values if origin.node not in around else ():
                inner = Part(origin.file, value, origin.context, (*part.path, *keys))
                yield from self._parts(inner, around | {origin.node}, held)
        if len(containers) < len(origins):
            yield part

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
        stored = contents.stored(self, file, expr, context)
        yield from stored
        for receiver in self.of(file, expr.value, context) if not stored else ():
            yield from self._attribute_of(receiver, name)

    def _attribute_of(self, receiver: Origin, name: str) -> Origins:
        """What an attribute of a value holds, also of a module that a function returns or gets."""
        node, modules = receiver.node, self._modules(receiver)
        if isinstance(node, cst.Name | cst.Attribute | cst.Call) and len(modules) <= bounds.ORIGINS.limit:
            meant = [definition_of(self.project, receiver.file, f"{each}.{name}", self.meet) for each in modules]
            if any(meant):
                return tuple(chain.from_iterable(of_definition(self, each, node) for each in meant if each))
        return contents.attribute(self, receiver, name)

    def _modules(self, origin: Origin) -> list[str]:
        """The modules that a value may be, as `importlib.import_module(f"parts.{name}")` may be any of `parts`."""
        call = origin.call
        module = origin.name if call is None else module_loaded(call)
        if module is not None:
            return [] if is_library(module) else [module]
        loaded = packages_loaded_from(origin.file.code(call).encode()) if call is not None and is_loading(call) else ()
        return [name for package in loaded for name in self.project.modules_of(origin.file, package)]

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
                return constant_of(node)
            if isinstance(node, cst.UnaryOperation) and isinstance(node.expression, cst.Integer):
                return -constant_of(node.expression) if isinstance(node.operator, cst.Minus) else None
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

    def runs(self, file: File, call: cst.Call, context: Context | None = None) -> Iterator[Run]:
        """The functions of the project that a call runs: itself, and through a library that it hands them to."""
        return running.runs(self, file, call, context)

    def handed(self, file: File, call: cst.Call, context: Context | None = None) -> Iterator[Run]:
        """Those that a call has a library run: `map(step, data)`, `tf.cond(test, step, other)`."""
        return running.handed(self, file, call, context)

    def handing(self, file: File, call: cst.Call, context: Context | None = None) -> Handing | None:
        """How a call runs the functions that it is given, where a library does."""
        return running.handing_of(self, file, call, context)

    def loops(self, file: File) -> list[LoopNode]:
        """The loops of a file, the comprehensions, and the calls that run functions of the project for each element."""
        if file not in self._loops:
            calls = file.tree.calls_for_elements
            repeating = (call for call in calls if any(run.repeats for run in self.handed(file, call)))
            self._loops[file] = [*file.tree.all_loops, *repeating]
        return self._loops[file]

    def functions_run(self, file: File, call: cst.Call) -> Iterator[Function]:
        """The functions of `runs`, whatever they are called on."""
        return (run.function for run in self.runs(file, call))

    def enter(self, file: File, call: cst.Call, caller: Context | None, run: Run) -> Context | None:
        """The context in which a call runs a function; None after too many calls."""
        return self.contexts.enter(file, call, caller, run.callee, hands_on=run.handing is not None)

    def passed_to(self, file: File, call: cst.Call, function: Function) -> dict[Node, Bound] | None:
        """What a call passes for the parameters of a function that it runs; None where it does not run it."""
        return running.passed_to(self, file, call, function)

    def callees(self, file: File, call: cst.Call, context: Context | None = None) -> tuple[Callee, ...]:
        """The functions of the project that a call itself may run; none where one is not known."""
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
        return self._callees.ask(
            (func, context), self.is_own(file, context), lambda: self._callees_of(file, func, context)
        )

    def _callees_of(self, file: File, func: Expression, context: Context | None) -> tuple[Callee, ...]:
        if not self.may_be_called(file, func):
            return ()
        if not self._only_callable(file, func, context):
            return ()
        callees: list[Callee] = []
        for origin in self.of(file, func, context):
            if origin.is_of_none:
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
        if step is None or self._values.is_known(key) or self._depth > bounds.VALUE_STEPS.limit:
            return True

        def callable_ones() -> Iterator[Origin]:
            for origin in step(self, file, func, context):
                if cannot_be_called(self.library, self.definitions, origin):
                    raise _NotCallable
                yield origin

        try:
            origins = self._values.find(key, self.is_own(file, context), lambda: self._followed(file, callable_ones()))
        except _NotCallable:
            return False
        return len(origins) <= bounds.ORIGINS.limit

    def may_be_called(self, file: File, func: Expression) -> bool:
        """Whether an expression may mean something of the project when it is called: by its name alone, at no cost."""
        if func.__class__ is cst.Attribute and func.attr.value not in self.seen.callable_names:
            return False
        return not is_library(file.name(func))

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
        is_own = self.is_own(function.file)
        return self._sites.ask(function.node, is_own, lambda: tuple(call_sites.find(self, function)))

    def subclasses(self, cls: Class) -> tuple[Class, ...]:
        """The classes below one, in all files that this check sees."""
        return self._subclasses.ask(cls.node, self.is_own(cls.file), lambda: inheritance.subclasses(self, cls))

    # What the steps into contents ask.

    def item(self, origin: Origin, key: Key) -> Origins:
        """What is under a key or index; without a key, any item."""
        return self._once((origin, "item", key), lambda: contents.item(self, origin, key))

    def attribute(self, origin: Origin, name: str) -> Origins:
        """What an attribute of a value holds."""
        return self._once((origin, "attribute", name), lambda: self._attribute_of(origin, name))

    def elements(self, origin: Origin) -> Origins:
        """What iterating over a value yields."""
        return self._once((origin, "element", None), lambda: contents.elements(self, origin))

    def _once(self, question: tuple[Origin, str, Key], find: Callable[[], Origins]) -> Origins:
        """The remembered answer; nothing while it is being found: a container in itself adds nothing."""
        origin = question[0]
        is_own = not self.seen.is_inside and origin.is_of(self.entry)
        return self._contents.ask(question, is_own, lambda: self._distinct(origin.file, find()))

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


class _NotCallable(Exception):
    """Not all values of an expression can be called."""


def _elements(display: Origin) -> list[tuple[tuple[Key], Expression]] | None:
    """The elements of a display with their indices or keys."""
    if not isinstance(display.node, _DISPLAYS):
        return None
    return [
        ((written_key(element.key) if isinstance(element, cst.DictElement) else index,), element.value)
        for index, element in enumerate(display.node.elements)
    ]


def written_key(key: Expression) -> Key:
    """A key that is a text; None for others."""
    return text_of(key) if isinstance(key, cst.SimpleString) else None


def _functions_seen(file: File, expr: Expression) -> frozenset[Node]:
    """The functions whose parameters an expression can see: a name sees those around its bindings only."""
    root = expr
    while root.__class__ is cst.Attribute:
        root = root.value
    functions = frozenset[Node](file.enclosing_functions(expr))
    if not functions or root.__class__ is not cst.Name:
        return functions
    bindings = file.flow.lookup(root.value, root)
    around = frozenset(f for f in functions if any(file.tree.within(binding.node, f) for binding in bindings))
    return around if root is expr or not around else functions  # `self.x` may be set beside it


def _is_inside(function: Node, context: Context | None) -> bool:
    while context is not None and context.function is not function:
        context = context.caller
    return context is not None


Held: TypeAlias = Callable[[Origin], "Iterable[tuple[tuple[Key, ...], Expression]] | None"]
_Step: TypeAlias = Callable[[Inference, File, Any, Context | None], Iterator[Origin]]
_STEPS: dict[type, _Step] = {
    cst.Name: of_name,
    cst.Attribute: Inference._attribute,
    cst.Call: Inference._call,
    cst.Subscript: Inference._subscript,
    cst.IfExp: passing.of_choice,
    cst.BooleanOperation: passing.of_operation,
    cst.NamedExpr: passing.of_assigned,
    cst.Await: passing.of_awaited,
}
