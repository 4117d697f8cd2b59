"""Summary of a file by Python's own parser: its functions, what each calls and which words are in it.

Python's parser takes a tenth of the time that libcst's takes. So whether a rule may find something in a file is decided
with this summary first, and most files with the right words need no more. A summary has names as they are written
and nothing of what they mean: what it decides is "must not" or "may".
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterable, Iterator
from dataclasses import field
from functools import cached_property
from typing import Any, NamedTuple, TypeAlias

from tflint_gpu.lazy_dataclasses import dataclass

UNNAMED = "?"
"""The name of something that has no dotted name: `make().fit()` is a call of "?.fit"."""
ITEM = "?[]"
"""The name of an item that is called: `models[0](x)`."""


class CallSummary(NamedTuple):
    """A call: a tuple, since every call of every summarised file is one.

    Arguments:
        name: of the function, as it is written: "np.sin", "?.fit".
        root: the first part of its name. last: the last one.
        size: how many arguments it gets.
        loops: how many loops and comprehensions of the same function are around it.
        given: the last parts of the names among its arguments, also in lists and the like; literals are left out.
        keywords: the names of its arguments that have one; `?` for `**options`.
        texts: the strings among its arguments.
        renews: whether what it gives is assigned to something that it is given: `x = join([x, y])`.
    """

    name: str
    root: str
    last: str
    size: int
    loops: int
    given: tuple[str, ...]
    keywords: tuple[str, ...]
    texts: tuple[str, ...]
    renews: bool

    @property
    def is_method(self) -> bool:
        """Whether its name has several parts."""
        return "." in self.name


@dataclass(slots=True)
class Region:
    """The code of a function without the functions in it, or that of the module and its classes.

    Arguments:
        name: of the function; empty for the module.
        owner: the class whose method it is.
        is_inner: whether it is made by a function or a loop, and not by the module.
        decorators: their names, as they are written.
        words: all names and attributes in it, and the names of what is defined in it.
        in_loops: those in its loops.
        syntax: which of the classes of `ast` that are counted occur in it; `Subscript` where an item is written.
    """

    name: str
    owner: str = ""
    is_inner: bool = False
    decorators: tuple[str, ...] = ()
    calls: list[CallSummary] = field(default_factory=list)
    words: set[str] = field(default_factory=set)
    in_loops: set[str] = field(default_factory=set)
    syntax: set[type] = field(default_factory=set)
    _called: frozenset[str] | None = None

    @property
    def called(self) -> frozenset[str]:
        """The last parts of the names of what it calls."""
        if self._called is None:
            self._called = frozenset([call.last for call in self.calls])
        return self._called


class FileSummary:
    """The summary of one file.

    Arguments:
        tree: what Python's parser made of it.

    Attributes:
        module: the code outside of functions.
        functions: the others, in no particular order.
        imports: for each imported name what it is the name of; `?` where that depends.
        bound: the names of variables and parameters anywhere in the file.
        stored: the attributes that are assigned, and the variables of classes.
        values: the names and attributes that are used otherwise than by being called.
        texts: the short strings of the file.
    """

    def __init__(self, tree: ast.Module) -> None:
        self.module = Region("")
        self.functions: list[Region] = []
        self.classes: set[str] = set()
        self.imports: dict[str, str] = {}
        self.bound: set[str] = set()
        self.stored: set[str] = set()
        self.values: set[str] = set()
        self.texts: set[str] = set()
        self._renewing: set[ast.expr] = set()
        self._held: dict[Callable[[FileSummary], bool], bool] = {}
        self._walk(tree)
        self._renewing.clear()

    @property
    def regions(self) -> list[Region]:
        """All regions."""
        return [self.module, *self.functions]

    @cached_property
    def by_name(self) -> dict[str, list[Region]]:
        """The functions by their names; what runs when an object is used, by its class's name, too."""
        functions: dict[str, list[Region]] = {}
        for region in self.functions:
            functions.setdefault(region.name, []).append(region)
            if region.owner and region.name.startswith("__"):
                functions.setdefault(region.owner, []).append(region)
        return functions

    def calls(self) -> Iterator[CallSummary]:
        """All calls of the file."""
        for region in self.regions:
            yield from region.calls

    @cached_property
    def called(self) -> frozenset[str]:
        """The last parts of the names of what it calls."""
        return frozenset().union(*(region.called for region in self.regions))

    @cached_property
    def used(self) -> frozenset[str]:
        """The names that its code calls, reads or hands on, or imports under another name: not what it only defines."""
        imported = ((name, target.rpartition(".")[2]) for name, target in self.imports.items())
        return self.called.union(self.values, (last for name, last in imported if last != name))

    @cached_property
    def given(self) -> frozenset[str]:
        """The names that it gives to functions, classes, attributes and variables, and its aliases of imports."""
        return self.attributes.union(self.bound, self.classes, self.imports, (f.name for f in self.functions))

    @cached_property
    def attributes(self) -> frozenset[str]:
        """The attributes that it assigns, or that some object may have from a keyword."""
        return frozenset(self.stored).union(*(call.keywords for call in self.calls()))

    def holds(self, fact: Callable[[FileSummary], bool]) -> bool:
        """Whether a test holds for this file: run once, however many files import it."""
        if fact not in self._held:
            self._held[fact] = fact(self)
        return self._held[fact]

    def target(self, name: str) -> str:
        """What a dotted name means as far as the imports tell: "tensorflow.keras.Model" for `tf.keras.Model`."""
        root, dot, rest = name.partition(".")
        return f"{self.imports.get(root, root)}{dot}{rest}"

    def library(self, name: str) -> str:
        """The package that a name comes from by its imports; empty for names of the file, `?` where that is open."""
        root = name.partition(".")[0]
        if root not in self.imports and "*" in self.imports and root not in self.bound:
            return UNNAMED
        return self.imports.get(root, "").partition(".")[0]

    def _walk(self, tree: ast.Module) -> None:
        stack: list[_Visit] = [(statement, self.module, 0, "") for statement in tree.body]
        pop, push, handlers, parts = stack.pop, stack.append, _HANDLERS, _PARTS
        while stack:
            node, region, loops, owner = pop()
            kind = node.__class__
            handler = handlers.get(kind)
            if handler is not None:
                inner = handler(self, node, region, loops, owner)
                if inner is not None:
                    stack.extend(inner)
                    continue
            elif kind in _COUNTED:
                region.syntax.add(kind)
                loops += kind in _LOOPS
            for name in parts[kind]:
                child = getattr(node, name, None)
                if child.__class__ is list:
                    for item in child:
                        if isinstance(item, ast.AST):
                            push((item, region, loops, owner))
                elif isinstance(child, ast.AST):
                    push((child, region, loops, owner))

    # One handler a node class; it returns the children that are to be visited, if not all in the same way.

    def _on_name(self, node: ast.Name, region: Region, loops: int, owner: str) -> Iterable[_Visit]:
        region.words.add(node.id)
        if loops:
            region.in_loops.add(node.id)
        (self.bound if node.ctx.__class__ is ast.Store else self.values).add(node.id)
        return ()

    def _on_attribute(self, node: ast.Attribute, region: Region, loops: int, owner: str) -> Iterable[_Visit]:
        region.words.add(node.attr)
        if loops:
            region.in_loops.add(node.attr)
        (self.stored if node.ctx.__class__ is ast.Store else self.values).add(node.attr)
        return ((node.value, region, loops, owner),)

    def _on_call(self, node: ast.Call, region: Region, loops: int, owner: str) -> Iterable[_Visit]:
        values = [*node.args, *(keyword.value for keyword in node.keywords)] if node.keywords else node.args
        keywords = tuple([keyword.arg or UNNAMED for keyword in node.keywords]) if node.keywords else ()
        given: list[str] = []
        texts: list[str] = []
        for value in values:
            _name_given(value, given, texts)
        function = node.func
        if function.__class__ is ast.Name:
            name = root = last = function.id
            children = values
        elif function.__class__ is ast.Attribute:
            name, last = dotted(function), function.attr
            root = name.partition(".")[0]
            children = [function.value, *values]
        else:
            name = root = last = ITEM if function.__class__ is ast.Subscript else UNNAMED
            children = [function, *values]
        if last is not UNNAMED and last is not ITEM:
            region.words.add(last)
            if loops:
                region.in_loops.add(last)
        renews = node in self._renewing
        region.calls.append(
            CallSummary(name, root, last, len(values), loops, tuple(given), keywords, tuple(texts), renews)
        )
        return [(child, region, loops, owner) for child in children]

    def _on_assign(self, node: ast.Assign | ast.AnnAssign, region: Region, loops: int, owner: str) -> None:
        targets, value = node.targets if isinstance(node, ast.Assign) else [node.target], node.value
        if len(targets) != 1:
            return
        if isinstance(targets[0], ast.Tuple) and isinstance(value, ast.Tuple):
            pairs = [*zip(targets[0].elts, value.elts, strict=False)]
        else:
            pairs = [] if value is None else [(targets[0], value)]
        for target, assigned in pairs:
            for call in (assigned.body, assigned.orelse) if isinstance(assigned, ast.IfExp) else (assigned,):
                if isinstance(call, ast.Call) and dotted(_container(target)) in map(dotted, _operands(call)):
                    self._renewing.add(call)

    def _on_function(
        self, node: ast.FunctionDef | ast.AsyncFunctionDef, region: Region, loops: int, owner: str
    ) -> Iterable[_Visit]:
        region.words.add(node.name)
        if loops:
            region.in_loops.add(node.name)
        names = tuple(
            dotted(decorator.func if isinstance(decorator, ast.Call) else decorator)
            for decorator in node.decorator_list
        )
        inner = Region(node.name, owner, loops > 0 or region is not self.module, names)
        inner.words.update(name.rpartition(".")[2] for name in names)
        self.functions.append(inner)
        self._bind(node.args)
        outside = [
            *node.decorator_list,
            *node.args.defaults,
            *(default for default in node.args.kw_defaults if default),
        ]
        return [*((child, region, loops, "") for child in outside), *((child, inner, 0, "") for child in node.body)]

    def _on_lambda(self, node: ast.Lambda, region: Region, loops: int, owner: str) -> None:
        self._bind(node.args)

    def _bind(self, given: ast.arguments) -> None:
        self.bound.update([parameter.arg for parameter in (*given.posonlyargs, *given.args, *given.kwonlyargs)])

    def _on_class(self, node: ast.ClassDef, region: Region, loops: int, owner: str) -> Iterable[_Visit]:
        region.words.add(node.name)
        self.classes.add(node.name)
        outside = [*node.decorator_list, *node.bases, *(keyword.value for keyword in node.keywords)]
        for child in node.body:
            if isinstance(child, ast.Assign | ast.AnnAssign):
                targets = child.targets if isinstance(child, ast.Assign) else [child.target]
                self.stored.update(target.id for target in targets if isinstance(target, ast.Name))
        return [
            *((child, region, loops, "") for child in outside),
            *((child, region, loops, node.name) for child in node.body),
        ]

    def _on_import(self, node: ast.Import, region: Region, loops: int, owner: str) -> Iterable[_Visit]:
        for alias in node.names:
            name = alias.asname or alias.name.partition(".")[0]
            self._import(name, alias.name if alias.asname else name)
        return ()

    def _on_import_from(self, node: ast.ImportFrom, region: Region, loops: int, owner: str) -> Iterable[_Visit]:
        package = "." * node.level + (node.module or "")
        for alias in node.names:
            self._import(alias.asname or alias.name, f"{package}.{alias.name}")
        return ()

    def _import(self, name: str, target: str) -> None:
        self.imports[name] = target if self.imports.get(name, target) == target else UNNAMED

    def _on_subscript(self, node: ast.Subscript, region: Region, loops: int, owner: str) -> None:
        if node.ctx.__class__ is not ast.Load:
            region.syntax.add(ast.Subscript)

    def _on_constant(self, node: ast.Constant, region: Region, loops: int, owner: str) -> Iterable[_Visit]:
        if isinstance(node.value, str) and len(node.value) <= _SHORT:
            self.texts.add(node.value)
        return ()


_Visit: TypeAlias = "tuple[ast.AST, Region, int, str]"
_Handler: TypeAlias = Callable[[FileSummary, Any, Region, int, str], "Iterable[_Visit] | None"]
_LOOPS = frozenset([ast.For, ast.AsyncFor, ast.While, ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp])
_SHORT = 20
_COUNTED = _LOOPS | {ast.If, ast.IfExp, ast.Try, ast.Global, ast.Nonlocal, ast.Delete, ast.Yield, ast.YieldFrom}
_NO_NODES = frozenset(
    "attr arg asname conversion ctx id is_async kind kwd_attrs level module op ops simple type_comment".split()
)
_HANDLERS: dict[type, _Handler] = {
    ast.Name: FileSummary._on_name,
    ast.Attribute: FileSummary._on_attribute,
    ast.Call: FileSummary._on_call,
    ast.Assign: FileSummary._on_assign,
    ast.AnnAssign: FileSummary._on_assign,
    ast.FunctionDef: FileSummary._on_function,
    ast.AsyncFunctionDef: FileSummary._on_function,
    ast.Lambda: FileSummary._on_lambda,
    ast.ClassDef: FileSummary._on_class,
    ast.Import: FileSummary._on_import,
    ast.ImportFrom: FileSummary._on_import_from,
    ast.Subscript: FileSummary._on_subscript,
    ast.Constant: FileSummary._on_constant,
}


class _Parts(dict[type, tuple[str, ...]]):
    """The fields of a class of nodes that may hold other nodes, operators and the like left out."""

    def __missing__(self, kind: type[ast.AST]) -> tuple[str, ...]:
        self[kind] = fields = tuple(name for name in kind._fields if name not in _NO_NODES)
        return fields


_PARTS = _Parts()


def dotted(node: ast.expr) -> str:
    """The dotted name of an expression, as it is written; what is no name is `?`."""
    if isinstance(node, ast.Name):
        return node.id
    parts: list[str] = []
    while isinstance(node, ast.Attribute):
        parts.append(node.attr)
        node = node.value
    parts.append(node.id if isinstance(node, ast.Name) else UNNAMED)
    return ".".join(reversed(parts))


def _container(node: ast.expr) -> ast.expr:
    """`d` of `d[key]`."""
    while isinstance(node, ast.Subscript):
        node = node.value
    return node


def _operands(call: ast.Call) -> Iterator[ast.expr]:
    """What a call is given, also in a list or tuple."""
    for argument in (*call.args, *(keyword.value for keyword in call.keywords)):
        for part in argument.elts if isinstance(argument, ast.List | ast.Tuple) else (argument,):
            yield _container(part)


def _name_given(value: ast.expr, given: list[str], texts: list[str]) -> None:
    """Note what a call is given."""
    if isinstance(value, ast.Constant):
        if isinstance(value.value, str):
            texts.append(value.value)
    elif isinstance(value, ast.Name):
        given.append(value.id)
    elif isinstance(value, ast.Attribute):
        given.append(value.attr)
    elif isinstance(value, ast.Tuple | ast.List | ast.Set):
        for element in value.elts:
            _name_given(element, given, texts)
    elif isinstance(value, ast.Dict):
        for element in value.values:
            _name_given(element, given, texts)
    elif isinstance(value, ast.Starred):
        _name_given(value.value, given, texts)
    else:
        given.append(dotted(value.func).rpartition(".")[2] if isinstance(value, ast.Call) else UNNAMED)
