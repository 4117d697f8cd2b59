"""Loop-carried values: names, attributes or items that each iteration replaces, and what else reads them."""

from __future__ import annotations

import re
from collections.abc import Iterator

import libcst as cst

from tflint_gpu.bounds import NAMED_FUNCTIONS, Meet
from tflint_gpu.lazy_patterns import regex
from tflint_gpu.model import (
    STATIC_ATTRIBUTES,
    Expression,
    File,
    FunctionNode,
    LoopNode,
    Node,
    body_of,
    dotted_name,
    names_of,
    spelling,
    walk,
)
from tflint_gpu.model.library.tensor_functions import SHAPE_QUERIES

_START = regex(r"first|init|start|empty|begin", re.IGNORECASE)
_MEMBERSHIP = (cst.Is, cst.IsNot, cst.In, cst.NotIn)


class Place:
    """Something that is assigned to and read: `x`, `self.x`, `d[key]`.

    Arguments:
        whole: the dotted name; of an item the name of its container.
        key: of an item the spelling of its index.
    """

    def __init__(self, file: File, expr: Expression) -> None:
        self.file = file
        container = expr.value if isinstance(expr, cst.Subscript) else expr
        self.whole = dotted_name(container)
        self.index = expr.slice if isinstance(expr, cst.Subscript) else ()
        self.key = "".join(map(spelling, self.index))

    @property
    def name(self) -> str:
        """How it is written."""
        index = ", ".join(self.file.code(subscript.slice) for subscript in self.index)
        return f"{self.whole}[{index}]" if self.key else self.whole or ""

    @property
    def root(self) -> str:
        """The name with which it begins."""
        return (self.whole or "").partition(".")[0]

    @property
    def index_names(self) -> list[str]:
        """The names in its index."""
        return [node.value for subscript in self.index for node in walk(subscript) if isinstance(node, cst.Name)]

    @property
    def is_name(self) -> bool:
        """Whether it is a plain name."""
        return self.whole == self.root and not self.key

    def is_at(self, expr: Node) -> bool:
        """Whether an expression of the same file is this place."""
        if isinstance(expr, cst.Subscript) is not bool(self.key) or self.whole is None:
            return False
        if isinstance(expr, cst.Subscript):
            return dotted_name(expr.value) == self.whole and "".join(map(spelling, expr.slice)) == self.key
        return dotted_name(expr) == self.whole


def is_loop_carried(file: File, loop: LoopNode, place: Place, growing: frozenset[Node]) -> bool:
    """Whether what an iteration puts into a place is there in the next one: nothing else is put there but at the start.

    Arguments:
        growing: the statements that make what is there longer.
    """
    bound = {binding.name for binding in file.tree.bound_in(file.tree.scope(loop), loop)}
    if not place.is_name and place.root in bound:
        return False
    if not place.is_name and any(name in bound - _run_through(file, loop) for name in place.index_names):
        return False
    return place.root not in names_of(loop) and only_starts(file, loop, place, growing)


def _run_through(file: File, loop: LoopNode) -> frozenset[str]:
    """The names that only loops inside a loop bind: what they run through comes again in the next iteration."""
    inner = file.tree.inside(file.tree.loops, loop)
    return frozenset(name for inner_loop in inner for name in names_of(inner_loop)) - names_of(loop)


def only_starts(file: File, outer: LoopNode | FunctionNode, place: Place, growing: frozenset[Node]) -> bool:
    """Whether a loop or function puts nothing into a place but what makes it longer, and something to begin with."""
    return all(
        statement in growing or _is_start(file, outer, statement, place) for statement in _stores(file, outer, place)
    )


def _stores(file: File, outer: LoopNode | FunctionNode, place: Place) -> Iterator[Node]:
    """The statements in a loop or function that put something into a place, or bind its name otherwise."""
    tree = file.tree
    if place.key:
        nodes: list[Node] = [_statement(file, target) for target, _ in tree.items_set_in(outer) if place.is_at(target)]
    elif place.is_name:
        scope = tree.scopes.get(outer) or tree.scope(outer)
        scope = tree.root if place.root in scope.outer_names else scope
        nodes = [binding.node for binding in scope.bindings.get(place.root, ())]
    else:
        nodes = [assigned.statement for assigned in tree.attributes_set_in(outer) if place.is_at(assigned.target)]
    return (node for node in nodes if node is not outer and tree.within(node, outer))


def _statement(file: File, target: cst.Subscript) -> Node:
    """The assignment that a target belongs to."""
    parents = (p for p in file.tree.ancestors(target) if isinstance(p, cst.Assign | cst.AnnAssign | cst.AugAssign))
    return next(parents, target)


def _is_start(file: File, outer: Node, statement: Node, place: Place) -> bool:
    """Whether a statement runs in the first iteration only: `if x is None`, `if i == 0`, `except NameError`."""
    child = statement
    for parent in file.tree.ancestors(statement):
        if parent is outer:
            return False
        if isinstance(parent, cst.ExceptHandler):
            return True
        if isinstance(parent, cst.If) and child is not parent.test and _asks_for_start(parent.test, place):
            return True
        child = parent
    return False


def _asks_for_start(test: Expression, place: Place) -> bool:
    """`x is None`, `key in d`, `i == 0`, `not len(x)`, `first`."""
    for node in walk(test):
        if isinstance(node, cst.Comparison) and len(node.comparisons) == 1:
            operator, other = node.comparisons[0].operator, node.comparisons[0].comparator
            if isinstance(operator, _MEMBERSHIP) and any(_mentions(side, place) for side in (node.left, other)):
                return True
            if isinstance(other, cst.Integer) and other.value in ("0", "1"):
                return True
        if isinstance(node, cst.Name) and _START.search(node.value):
            return True
    return isinstance(test, cst.UnaryOperation) and isinstance(test.operator, cst.Not)


def _mentions(expr: Expression, place: Place) -> bool:
    return any(dotted_name(node) == place.whole for node in walk(expr)) or (
        bool(place.key) and isinstance(expr, cst.Name | cst.Attribute | cst.Call)
    )


def is_read(file: File, loop: LoopNode, place: Place, own: frozenset[Node], meet: Meet) -> bool:
    """Whether an iteration reads a place for something else than to make it longer, also in functions called by name.

    Arguments:
        own: the targets and operands of the statements that make it longer.
        meet: is told of a bound that cuts the search off.
    """
    if any(_reads(file, loop, place, own)):
        return True
    return any(
        not _shadows(file, function, place) and any(_reads(file, function, place, own))
        for function in _functions_named(file, file, loop, meet)
    )


def is_read_elsewhere(
    file: File, place: Place, loop_file: File, loop: LoopNode, own: frozenset[Node], meet: Meet
) -> bool:
    """The same for a place that outlives a function: the loop is where that function is called."""
    attribute = (place.whole or "").rpartition(".")[2]
    if any(
        isinstance(node, cst.Attribute) and node.attr.value == attribute and not _is_harmless(loop_file, node)
        for node in walk(loop)
    ):
        return True
    return any(any(_reads(file, function, place, own)) for function in _functions_named(loop_file, file, loop, meet))


def _functions_named(calling: File, file: File, loop: LoopNode, meet: Meet) -> Iterator[FunctionNode]:
    """The functions of a file that have the name of something a loop calls, and what those call."""
    named = {_called_name(call) for call in calling.calls_below.get(loop, ())}
    seen: set[Node] = set()
    queue = [
        function
        for function in file.tree.functions
        if isinstance(function, cst.FunctionDef) and function.name.value in named
    ]
    for function in queue:  # grows meanwhile
        if function in seen:
            continue
        if len(seen) > NAMED_FUNCTIONS.limit:
            meet(NAMED_FUNCTIONS)
            break
        seen.add(function)
        yield function
        inner = {_called_name(call) for call in file.calls_in.get(function, ())} - named
        named |= inner
        queue += [
            function
            for function in file.tree.functions
            if isinstance(function, cst.FunctionDef) and function.name.value in inner
        ]


def _called_name(call: cst.Call) -> str:
    return (dotted_name(call.func) or "").rpartition(".")[2] or (
        call.func.attr.value if isinstance(call.func, cst.Attribute) else ""
    )


def _shadows(file: File, function: FunctionNode, place: Place) -> bool:
    """Whether a function has a name of its own that is spelled like the place."""
    scope = file.tree.scopes[function]
    return place.is_name and place.root in scope.bindings and place.root not in scope.outer_names


def _reads(file: File, outer: LoopNode | FunctionNode, place: Place, own: frozenset[Node]) -> Iterator[Node]:
    """Where a loop or a function reads a place, or hands its container on."""
    targets = frozenset(_targets(file, outer, place))
    stack = [body_of(outer)]
    if isinstance(outer, cst.While):
        stack.append(outer.test)
    for top in stack:
        for node in walk(top):
            if isinstance(node, cst.Name | cst.Attribute) and dotted_name(node) == place.whole:
                around = {node, *_up_to(file, node, outer)}
                if not (around & own or around & targets or _is_harmless(file, node)):
                    yield node


def _targets(file: File, outer: LoopNode | FunctionNode, place: Place) -> Iterator[Node]:
    for statement in _stores(file, outer, place):
        if isinstance(statement, cst.Assign):
            yield from (target.target for target in statement.targets)


def _up_to(file: File, node: Node, outer: Node) -> Iterator[Node]:
    for parent in file.tree.ancestors(node):
        if parent is outer:
            return
        yield parent


def _is_harmless(file: File, node: Node) -> bool:
    """`x is None`, `key in d`, `x.shape`, `len(x)`, `tf.shape(x)`, `not x`: no value is read."""
    parent = file.tree.parents.get(node)
    if isinstance(parent, cst.Attribute):
        return parent.attr.value in STATIC_ATTRIBUTES and parent.attr.value != "numpy"
    if isinstance(parent, cst.ComparisonTarget):
        return isinstance(parent.operator, _MEMBERSHIP)
    if isinstance(parent, cst.Comparison):
        return isinstance(parent.comparisons[0].operator, _MEMBERSHIP)
    if isinstance(parent, cst.Arg):
        call = file.tree.parents[parent]
        return isinstance(call, cst.Call) and (
            file.names.is_builtin(call.func, "len") or file.name(call.func) in SHAPE_QUERIES
        )
    return isinstance(parent, cst.Global | cst.Nonlocal | cst.NameItem) or (
        isinstance(parent, cst.UnaryOperation) and isinstance(parent.operator, cst.Not)
    )
