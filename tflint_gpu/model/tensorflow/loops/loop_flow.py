"""What flows through an iteration of a loop: names that hold what some expressions give, what changes, how it ends."""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from tflint_gpu.lazy_dataclasses import dataclass
from tflint_gpu.model.python.execution.callers import CONSTRUCTORS
from tflint_gpu.model.python.project.file import File
from tflint_gpu.model.python.syntax.children import children, names_in, spelling, walk
from tflint_gpu.model.python.syntax.scopes import Binding
from tflint_gpu.model.python.syntax.syntax import (
    Expression,
    FunctionNode,
    LoopNode,
    Node,
    argument,
    dotted_name,
    iterable,
    loop_target,
    method_name,
)
from tflint_gpu.model.tensorflow.loops.block_bindings import body_of

FEW = 5
"""A loop of so many iterations repeats nothing worth speaking of, wherever it is, and builds few graphs or models."""
FEW_IN_ALL = 10
"""Nothing is worth speaking of that runs so often in all; a loop of so many iterations only looks at data."""


class IterationFlow:
    """The names in a loop that hold what some of its expressions give, or what is made of it, in any iteration so far.

    For a function: in one run of it.

    Arguments:
        ends: expressions through which nothing is followed.
        parts: of what the sources give, where they give tuples, the elements that count; None for all.
    """

    def __init__(
        self,
        file: File,
        loop: LoopNode | FunctionNode,
        sources: frozenset[Node],
        ends: frozenset[Node] = frozenset(),
        parts: frozenset[int] | None = None,
    ) -> None:
        self.file = file
        self.loop = loop
        self.sources = sources
        self.ends = ends
        self.names: set[str] = set()
        self._bound = set[Binding]()
        self._filled = set[str]()
        self._moves = [move for move in _moves(file, loop) if parts is None or not _unpacks(move, sources, parts)]
        left = self._moves
        while reached := {move for move in left if any(map(self.holds, move.values))}:
            left = [move for move in left if move not in reached]
            self.names |= {move.name for move in reached}
            self._bound |= {move.binding for move in reached if move.binding is not None}
            self._filled |= {move.name for move in reached if move.binding is None}

    def holds(self, expr: Node) -> bool:
        """Whether an expression mentions a source, or a name that holds there what one gave."""
        stack = [expr]
        while stack:
            node = stack.pop()
            if node in self.ends:
                continue
            if node in self.sources or (isinstance(node, cst.Name) and self._is_held(node)):
                return True
            stack.extend(children(node))
        return False

    def _is_held(self, use: cst.Name) -> bool:
        """Whether one of the bindings that reach a name holds it: `loss = loss.numpy()` ends that."""
        if use.value not in self.names or use.value in self._filled:
            return use.value in self.names
        bindings = self.file.flow.lookup(use.value, use)
        return not bindings or any(binding in self._bound for binding in bindings)

    def comes_back(self, expr: Node, seen: frozenset[Node] = frozenset()) -> bool:
        """Whether an expression may hold what a source gave in an earlier iteration: not what is bound in this one."""
        tree = self.file.tree
        for node in walk(expr):
            if node in self.sources:
                return True
            if not isinstance(node, cst.Name) or node.value not in self.names or node in seen:
                continue
            bound = self.file.flow.lookup(node.value, node)
            clauses = (b.node.iter for b in bound if isinstance(b.node, cst.CompFor))  # written after their names
            here = max([tree.order[node], *(tree.order[over] + 1 for over in clauses)])
            if not bound or not all(tree.within(b.node, self.loop) and tree.order[b.node] < here for b in bound):
                return True
            made = (v for move in self._moves if move.name == node.value for v in move.values if tree.order[v] < here)
            if any(self.comes_back(v, seen | {node}) for v in made if not tree.within(node, v)):
                return True
        return False


@dataclass(frozen=True, slots=True, eq=False)
class _Move:
    """What an iteration puts into a name.

    Arguments:
        binding: what gives the name its value; None where it goes into what the name has.
    """

    name: str
    values: tuple[Node, ...]
    binding: Binding | None = None


def _moves(file: File, loop: LoopNode | FunctionNode) -> Iterator[_Move]:
    """What an iteration puts into each name: by assignment, into a container, by a method of it."""
    tree = file.tree
    inside = (tree.scopes[part] for part in tree.inside(tree.comprehensions, loop) if part is not loop)
    for scope in (tree.scopes.get(loop) or tree.scope(loop), *inside):
        for binding in tree.bound_in(scope, loop):
            if binding.value is not None and binding.node is not loop and not _is_key(file, binding):
                yield _Move(binding.name, (binding.value,), binding if binding.kind != "augment" else None)
    for target, value in tree.items_set_in(loop):
        name = root_name(target.value)
        if name is not None:
            yield _Move(name, (target, *(() if value is None else (value,))))
    for call in file.calls_below.get(loop, ()):
        name = root_name(call.func.value) if isinstance(call.func, cst.Attribute) else None
        if name is not None and name != "self" and file.name(call.func) is None:
            for filled in (name, *_sources_of(file, name, call)):
                yield _Move(filled, tuple(arg.value for arg in call.args))


def _is_key(file: File, binding: Binding) -> bool:
    """Whether a name is a key or a count beside a value: `name` of `values.items()`, `i` of `enumerate(values)`."""
    call = binding.value
    if binding.kind != "for" or binding.path[:1] != (0,) or not isinstance(call, cst.Call):
        return False
    return method_name(call) == "items" or file.names.is_builtin(call.func, "enumerate")


def _sources_of(file: File, name: str, place: Node) -> Iterator[str]:
    """The name of what a loop takes another one out of: `sums` for the first one of `zip(sums, values)`."""
    for binding in file.flow.lookup(name, place):
        source, part = binding.value if binding.kind == "for" else None, next(iter(binding.path), None)
        if isinstance(source, cst.Call) and file.names.is_builtin(source.func, "zip") and part is not None:
            source = argument(source, part, "")
        root = root_name(source) if source is not None else None
        if root is not None:
            yield root


def _unpacks(move: _Move, sources: frozenset[Node], parts: frozenset[int]) -> bool:
    """Whether a name gets an element of what a source gives that is none of some."""
    binding = move.binding
    return binding is not None and binding.value in sources and bool(binding.path) and binding.path[0] not in parts


def changed_in(file: File, loop: LoopNode) -> frozenset[str]:
    """The names that an iteration binds, or whose content it changes."""
    return frozenset(name.partition(".")[0] for name in _changed_parts(file, loop))


def is_changed_in(file: File, loop: LoopNode, expr: Expression) -> bool:
    """Whether an iteration binds a name of an expression, or changes what that is a part of, or has as a part: not
    `self.net` by `self.seen.append(x)`."""
    names, part = names_in(expr), f"{_part(expr)}."
    changed = _changed_parts(file, loop)
    return not names.isdisjoint(names_of(loop) | changed) or any(
        part.startswith(f"{name}.") or f"{name}.".startswith(part) for name in changed
    )


def _changed_parts(file: File, loop: LoopNode) -> frozenset[str]:
    tree = file.tree
    scopes = [tree.scope(loop), *([tree.scopes[loop]] if loop in tree.scopes else [])]
    bound = {binding.name for scope in scopes for binding in tree.bound_in(scope, loop)}
    stored = {_part(target.value) for target, _ in tree.items_set_in(loop)}
    grown = {
        _part(call.func.value)
        for call in file.calls_below.get(loop, ())
        if isinstance(call.func, cst.Attribute) and method_name(call) in ("append", "extend", "insert", "pop", "update")
    }
    return frozenset(name for name in bound | stored | grown if name is not None)


def _part(expr: Node) -> str | None:
    """`x.a` of `x.a[0].b`."""
    while isinstance(expr, cst.Attribute | cst.Subscript) and dotted_name(expr) is None:
        expr = expr.value
    return dotted_name(expr)


def is_occasional(file: File, node: Node, loop: Node) -> bool:
    """Whether a test that counts, or that asks for what is made once, lets a loop, or a function that it calls, get to
    a place in some iterations only."""
    child = node
    for parent in file.tree.ancestors(node):
        if parent is loop or isinstance(parent, cst.FunctionDef):
            return False
        if isinstance(parent, cst.If) and child is parent.body and _is_for_some(file, parent, loop):
            return True
        if isinstance(parent, cst.IndentedBlock) and _is_left_before(parent, child):
            return True
        child = parent
    return False


def comes_again(file: File, branch: cst.If, loop: LoopNode) -> bool:
    """Whether a loop passes a test every few iterations: `step % 4 == 0`, `since == 4` where `since` starts again."""
    if any(map(_is_rest, walk(branch.test))):
        return True
    scope = file.tree.scope(loop)
    bound = (b.node for name in names_in(branch.test) for b in scope.bindings.get(name, ()))
    inside = {file.tree.within(node, branch) for node in bound if file.tree.within(node, loop)}
    return _counts(file, branch.test) and inside == {True, False}


def _is_left_before(block: cst.IndentedBlock, statement: Node) -> bool:
    """Whether most iterations leave a block before they come to one of its statements: `if step % 100: continue`."""
    for earlier in block.body:
        if earlier is statement:
            return False
        if isinstance(earlier, cst.If) and _leaves(earlier.body) and _excludes_most(earlier.test):
            return True
    return False


def _leaves(body: Node) -> bool:
    lines = list(children(body))
    return bool(lines) and any(isinstance(small, cst.Continue | cst.Return) for small in children(lines[-1]))


def _excludes_most(test: Expression) -> bool:
    """`step % 100`, `step % 100 != 0`, `step % 100 > 0`."""
    compared = test.comparisons[0].operator if isinstance(test, cst.Comparison) else cst.NotEqual()
    rest = test.left if isinstance(test, cst.Comparison) else test
    return _is_rest(rest) and isinstance(compared, cst.NotEqual | cst.GreaterThan)


def _is_rest(node: Node) -> bool:
    return isinstance(node, cst.BinaryOperation) and isinstance(node.operator, cst.Modulo)


def _counts(file: File, test: Expression) -> bool:
    """`step % 100 == 0`, `i == 0`, `epoch in (30, 60)`; not `step % size == 0` after `size = 1`."""
    for node in walk(test):
        if _is_rest(node) and not (isinstance(node, cst.BinaryOperation) and _is_one(file, node.right)):
            return True
        if isinstance(node, cst.Comparison) and len(node.comparisons) == 1:
            operator, other = node.comparisons[0].operator, node.comparisons[0].comparator
            if isinstance(operator, cst.Equal) and isinstance(other, cst.Integer) and isinstance(node.left, cst.Name):
                return True
            if isinstance(operator, cst.In) and isinstance(other, cst.Tuple | cst.List | cst.Set):
                return all(isinstance(element.value, cst.Integer) for element in other.elements)
    return False


def _is_for_some(file: File, branch: cst.If, loop: Node) -> bool:
    return _counts(file, branch.test) or _makes_once(file, branch, loop)


def _makes_once(file: File, branch: cst.If, loop: Node) -> bool:
    """`if self.size is None: self.size = ...`, where nothing else sets it but a constructor; a name before the loop."""
    test = branch.test
    if not isinstance(test, cst.Comparison) or len(test.comparisons) != 1:
        return False
    is_none = isinstance(test.comparisons[0].operator, cst.Is) and spelling(test.comparisons[0].comparator) == "None"
    tree, sets = file.tree, list[Node]()
    if is_none and isinstance(test.left, cst.Attribute):
        same = (assigned.target for assigned in tree.attributes_set(test.left.attr.value))
        sets = [target for target in same if not _is_constructor(tree.function(target))]
    elif is_none and isinstance(test.left, cst.Name) and tree.within(branch, loop):
        bindings = tree.scope(branch).bindings.get(test.left.value, ())
        sets = [binding.node for binding in bindings if tree.within(binding.node, loop)]
    return bool(sets) and all(tree.within(node, branch.body) for node in sets)


def _is_constructor(function: Node | None) -> bool:
    return isinstance(function, cst.FunctionDef) and function.name.value in CONSTRUCTORS


def _is_one(file: File, expr: Expression) -> bool:
    bindings = file.flow.lookup(expr.value, expr) if isinstance(expr, cst.Name) else ()
    values = [binding.value for binding in bindings] or [expr]
    return all(isinstance(value, cst.Integer) and value.value == "1" for value in values)


def counter_of(file: File, loop: LoopNode) -> str | None:
    """The name of a loop's own number: of `range(...)`, or the first one of `enumerate(...)`, unless that is `_`."""
    if not isinstance(loop, cst.For) or not isinstance(loop.iter, cst.Call):
        return None
    target = loop.target
    if file.names.is_builtin(loop.iter.func, "range"):
        return target.value if isinstance(target, cst.Name) else None
    if not file.names.is_builtin(loop.iter.func, "enumerate") or not isinstance(target, cst.Tuple):
        return None
    first = target.elements[0].value
    return first.value if isinstance(first, cst.Name) and first.value != "_" else None


def counts_some(file: File, count: Expression, loop: LoopNode) -> bool:
    """Whether a number counts only those iterations in which a test of the loop holds: the games that are over."""
    bindings = file.flow.lookup(count.value, count) if isinstance(count, cst.Name) else ()
    counted = [b.node for b in bindings if b.kind == "augment" and file.tree.within(b.node, loop)]
    tests = file.tree.nodes_in(cst.If, loop) if counted else ()
    return bool(counted) and all(any(file.tree.within(node, test) for test in tests) for node in counted)


def leaves_at_once(loop: LoopNode) -> bool:
    """Whether every iteration ends with `break` or `return`."""
    body = body_of(loop)
    if not isinstance(body, cst.IndentedBlock) or not body.body:
        return False
    return any(isinstance(small, cst.Break | cst.Return) for small in children(body.body[-1]))


def breaks_of(loop: LoopNode) -> Iterator[cst.Break]:
    """The breaks that leave a loop."""
    stack: list[Node] = [loop.body] if isinstance(loop, cst.For | cst.While) else []
    while stack:
        node = stack.pop()
        if isinstance(node, cst.Break):
            yield node
        if not isinstance(node, cst.For | cst.While | cst.FunctionDef | cst.BaseExpression):
            stack.extend(children(node))


def root_name(expr: Node) -> str | None:
    """`x` of `x.a[0]`."""
    while isinstance(expr, cst.Attribute | cst.Subscript):
        expr = expr.value
    return expr.value if isinstance(expr, cst.Name) else None


def outside(loop: LoopNode, expr: Expression) -> Expression:
    """What stands outside of a loop for something that it may take out of a list, as a model: the list."""
    over = iterable(loop)
    return expr if over is None or names_of(loop).isdisjoint(names_in(expr)) else over


def elements_of(file: File, loop: LoopNode) -> Expression | None:
    """What a loop takes its elements of, also where it counts them: `gpus` of `for i, gpu in enumerate(gpus)`."""
    data = iterable(loop)
    is_counted = isinstance(data, cst.Call) and data.args and file.names.is_builtin(data.func, "enumerate")
    return cst.ensure_type(data, cst.Call).args[0].value if is_counted else data


def names_of(loop: LoopNode) -> frozenset[str]:
    """The names that a `for` binds."""
    target = loop_target(loop)
    return names_in(target) if target is not None else frozenset()
