"""Inheritance across the project: the classes below one, what they put in the place of a method, and constructors."""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from tflint_gpu.bounds import CONSTRUCTORS, OVERRIDES, SUBCLASSES
from tflint_gpu.model.python.project.decorators import is_decorated
from tflint_gpu.model.python.project.file import File
from tflint_gpu.model.python.project.functions import Class, Function
from tflint_gpu.model.python.syntax.syntax import dotted_name, method_name
from tflint_gpu.model.python.value_flow.resolver import Resolver


def subclasses(resolver: Resolver, cls: Class) -> tuple[Class, ...]:
    """The classes below one, in all files that this check sees."""
    derived: dict[cst.ClassDef, Class] = {}
    queue = [cls]
    for current in queue:  # grows meanwhile
        for file in resolver.seen.deriving(current):
            for node in file.tree.classes:
                below = Class(file, node)
                if node in derived or node is cls.node or not node.bases:
                    continue
                if any(base.node is cls.node for base in resolver.definitions.lineage(below)):
                    if len(derived) >= SUBCLASSES.limit:
                        resolver.meet(SUBCLASSES)
                        return tuple(derived.values())
                    derived[node] = below
                    queue.append(below)
    return tuple(derived.values())


def overrides(resolver: Resolver, cls: Class, name: str) -> tuple[Function, ...]:
    """The methods of a class's subclasses that `self.name` may run in its own methods.

    None of a class that many others fill in, as a library's: what all of them may do says nothing of one.
    """
    methods: dict[cst.CSTNode, Function] = {}
    for below in resolver.subclasses(cls):
        method = resolver.definitions.method(below, name)
        if method is not None and not is_left_open(method):
            methods[method.node] = method
    if len(methods) > OVERRIDES.limit:
        resolver.meet(OVERRIDES)
        return ()
    return tuple(methods.values())


def is_left_to_subclasses(resolver: Resolver, cls: Class, method: Function) -> bool:
    """Whether objects with a method of a class are of its subclasses, which replace it: only these are made."""
    if is_left_open(method):
        return True
    below = resolver.subclasses(cls)
    if all(resolver.definitions.method(c, method.name) == method for c in below) or _is_made(resolver, cls):
        return False
    return any(_is_made(resolver, c) for c in below)


def _is_made(resolver: Resolver, cls: Class) -> bool:
    """Whether some code may make an object of a class itself: it does more than derive from it and call its methods."""
    parents = [(use, file.tree.parents) for file in resolver.seen.users(cls.file, cls.name) for use in _uses(file, cls)]
    return not all(
        isinstance(above.get(use), cst.Attribute | cst.Annotation | cst.ClassDef | cst.ImportAlias)
        or (isinstance(arg := above.get(use), cst.Arg) and isinstance(above.get(arg), cst.ClassDef))
        for use, above in parents
    )


def _uses(file: File, cls: Class) -> Iterator[cst.CSTNode]:
    """Where a file reads the name of a class, alone or behind that of a module."""
    yield from file.tree.uses.get(cls.name, ())
    yield from (node for node in file.tree.nodes(cst.Attribute) if node.attr.value == cls.name)


def is_left_open(method: Function) -> bool:
    """Whether a method is there for subclasses to replace: `@abstractmethod`, or nothing but `raise` or `pass`."""
    if is_decorated(method.node, "abstractmethod", "abstractproperty"):
        return True
    if not isinstance(method.node, cst.FunctionDef):
        return False
    statements = [s for line in method.node.body.body if isinstance(line, cst.SimpleStatementLine) for s in line.body]
    if len(statements) < len(method.node.body.body):
        return False
    return all(
        isinstance(s, cst.Pass | cst.Raise)
        or (isinstance(s, cst.Return) and (s.value is None or dotted_name(s.value) == "None"))
        or (isinstance(s, cst.Expr) and isinstance(s.value, cst.SimpleString | cst.ConcatenatedString | cst.Ellipsis))
        for s in statements
    )


def constructor_call(resolver: Resolver, cls: Class, constructor: Function) -> tuple[Function, cst.Call] | None:
    """The call by which making an instance runs the constructor of a base class, and the constructor that has it."""
    running = resolver.definitions.method(cls, "__init__")
    for _ in range(CONSTRUCTORS.limit):
        if running is None or running.owner is None or running == constructor:
            return None
        above = resolver.definitions.method(running.owner, "__init__", skip_own=True)
        call = next(_calls_above(running), None)
        if above is None or call is None:
            return None
        if above == constructor:
            return running, call
        running = above
    resolver.meet(CONSTRUCTORS)
    return None


def _calls_above(constructor: Function) -> Iterator[cst.Call]:
    """`super().__init__(...)` in a constructor."""
    for call in constructor.calls:
        if method_name(call) == "__init__" and isinstance(call.func, cst.Attribute):
            holder = call.func.value
            if isinstance(holder, cst.Call) and dotted_name(holder.func) == "super":
                yield call
