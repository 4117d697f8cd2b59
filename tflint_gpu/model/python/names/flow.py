"""Which bindings of a name can reach a place: reaching definitions over structured code."""

from __future__ import annotations

import sys
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterator
from functools import cached_property
from itertools import pairwise
from operator import itemgetter
from typing import TypeAlias, TypeVar

import libcst as cst

from tflint_gpu.bounds import REACHING_BINDINGS
from tflint_gpu.model.python.syntax.scopes import Binding, BindingKind, Scope
from tflint_gpu.model.python.syntax.syntax import FunctionNode, Node, asks_for_main, dotted_name
from tflint_gpu.model.python.syntax.tree import Tree

_SCOPES = frozenset([cst.FunctionDef, cst.Lambda, cst.ClassDef])
_LEFT_EARLY = (cst.For, cst.While, cst.Try, cst.TryStar)
"""Their bodies may end anywhere, by `break` or an exception, and the code after them goes on."""
_EXITS = (cst.Return, cst.Raise)
_PLACE = itemgetter(0)
_N = TypeVar("_N", bound=Node)

Decide: TypeAlias = Callable[[cst.If], bool | None]
"""What the test of an `if` is known to be; None where it is not."""


class _Sorted:
    """The bindings of one name in one scope."""

    def __init__(self, positions: list[int], bindings: list[Binding]) -> None:
        self._positions = positions
        self._bindings = bindings
        self._is_sorted = all(earlier <= later for earlier, later in pairwise(positions))
        self.remote = [binding for binding in bindings if binding.remote]

    def before(self, here: int) -> Iterator[Binding]:
        """Those before a position, the last first."""
        end = bisect_left(self._positions, here) if self._is_sorted else len(self._positions)
        for index in range(end - 1, -1, -1):
            if self._positions[index] < here:
                yield self._bindings[index]


class Flow:
    """Answers for one file, computed on demand."""

    def __init__(self, tree: Tree) -> None:
        self.tree = tree
        self._blocks: dict[Binding, Node] = {}
        self._loops: dict[Node, Node | None] = {}
        self._sorted: dict[tuple[Node, str], _Sorted] = {}
        self._known: dict[tuple[Node, str], list[Binding]] = {}
        self._cut: set[Binding] = set()
        self._imported: dict[str, list[Binding]] = {}

    def lookup(self, name: str, at: Node, decide: Decide | None = None) -> list[Binding]:
        """The bindings of `name` that may hold when `at` is evaluated, nearest first.

        Empty when the name is bound nowhere in the file (a builtin, or brought by a star import).

        Arguments:
            decide: which way some of the ifs must go.
        """
        if decide is not None:
            return self._find(name, at, decide)
        key = (at, name)
        known = self._known.get(key)
        if known is None:
            known = self._known[key] = self._find(name, at, None)
        return known

    def when_imported(self, name: str) -> list[Binding]:
        """The bindings of a name of the module that may hold when it has been imported, the last first."""
        if name not in self._imported:
            self._imported[name] = self.lookup(name, self.tree.module, _is_imported)
        return self._imported[name]

    def stored(self, attribute: cst.Attribute) -> list[Binding]:
        """The assignments in its own function one of which `self.x` must hold where it is read, nearest first.

        None where what it held before may still be there.
        """
        dotted = dotted_name(attribute) or ""
        function = self.tree.function(attribute) if dotted in self._set_attributes else None
        known = self._assignments.get((function, dotted), ())
        entry = next(iter(function.params.params), None) if known and function is not None else None
        if entry is None:
            return []
        bindings = [Binding(dotted, "parameter", entry), *known]
        ordered = _Sorted([self._position(binding) for binding in bindings], bindings)
        reaching = self._walk_back(bindings, ordered.before(self.tree.order[attribute]), attribute, None)
        return reaching if bindings[0] not in reaching else []

    def is_overwritten(self, attribute: str, statement: Node) -> bool:
        """Whether another assignment to an attribute of `self` always follows one, before a method may read it."""
        tree, known = self.tree, self._assignments.get((self.tree.function(statement), attribute), [])
        block, here = tree.block(statement), tree.order[statement]
        later = [b.node for b in known if b.kind == "assign" and tree.order[b.node] > here]
        end = next((node for node in later if tree.block(node) is block), None)
        if end is None or any(isinstance(parent, cst.Try | cst.TryStar) for parent in tree.ancestors(statement)):
            return False
        is_left = bool(_between(self._jumps, here, tree.order[end] - 1))
        return not is_left and not self.runs_methods(attribute.partition(".")[0], statement, end)

    def runs_methods(self, receiver: str, start: Node, end: Node) -> bool:
        """Whether code between two places, the second one included, may run methods of an object, by its name."""
        tree, function = self.tree, self.tree.function(start)
        return any(
            tree.function(call) is function
            and not tree.within(call, start)
            and not tree.within(end, call)
            and _concerns(call, receiver)
            for _, call in _between(self._calls, tree.order[start], tree.end(end))
        )

    @cached_property
    def _calls(self) -> list[tuple[int, cst.Call]]:
        return self._placed(self.tree.calls)

    @cached_property
    def _jumps(self) -> list[tuple[int, Node]]:
        tree = self.tree
        return self._placed([*tree.nodes(cst.Break), *tree.nodes(cst.Continue), *tree.nodes(cst.Return)])

    def _placed(self, nodes: list[_N]) -> list[tuple[int, _N]]:
        """Nodes with their places in the order of the code, in which they are."""
        return sorted(((self.tree.order[node], node) for node in nodes), key=_PLACE)

    @cached_property
    def _set_attributes(self) -> frozenset[str]:
        return frozenset(dotted for _, dotted in self._assignments)

    @cached_property
    def _assignments(self) -> dict[tuple[FunctionNode | None, str], list[Binding]]:
        """The assignments to attributes, by function and dotted name, in the order of the code."""
        stored: dict[tuple[FunctionNode | None, str], list[Binding]] = {}
        for assigned in self.tree.attribute_assignments:
            dotted, node = dotted_name(assigned.target) or "", assigned.statement
            kind: BindingKind = "augment" if isinstance(node, cst.AugAssign) else "assign"
            binding = Binding(dotted, kind, node, assigned.value, assigned.path)
            stored.setdefault((self.tree.function(node), dotted), []).append(binding)
        return stored

    def is_cut(self, bindings: list[Binding]) -> bool:
        """Whether what `lookup` gave are all bindings of a name, since too many of them may hold there."""
        return bindings[0] in self._cut

    def _find(self, name: str, at: Node, decide: Decide | None) -> list[Binding]:
        scope: Scope | None = self.tree.scope(at)
        first = True
        around = at
        while scope is not None:
            visible = scope.kind != "class" or first
            if visible and name in scope.bindings and scope.outer_names.get(name) is None:
                if scope.kind == "comprehension":
                    return [b for b in scope.bindings[name] if not self._in_first_iterable(b, at)] or []
                return self._reaching(scope, name, at if first else around, first, decide)
            if scope.kind in ("function", "class"):
                around, first = scope.node, False
            scope = scope.parent
        return []

    def _in_first_iterable(self, binding: Binding, at: Node) -> bool:
        return binding.value is not None and self.tree.within(at, binding.value)

    def _reaching(self, scope: Scope, name: str, at: Node, direct: bool, decide: Decide | None) -> list[Binding]:
        """Bindings in `scope` that reach `at`; not `direct`: `at` is an inner function, run later."""
        bindings = scope.bindings[name]
        order = self.tree.order
        here = sys.maxsize if at is self.tree.module else order.get(at)
        if len(bindings) == 1 or here is None:  # annotations are not traversed
            return bindings
        if (scope.node, name) not in self._sorted:
            self._sorted[scope.node, name] = _Sorted([self._position(binding) for binding in bindings], bindings)
        known = self._sorted[scope.node, name]
        reaching = self._walk_back(bindings, known.before(here), at, decide)
        if not direct:
            reaching += [b for b in bindings if b not in reaching and order.get(b.node, 0) > here]
        reaching += [b for b in known.remote if b not in reaching]
        return reaching

    def _walk_back(
        self, bindings: list[Binding], before: Iterator[Binding], at: Node, decide: Decide | None
    ) -> list[Binding]:
        tree = self.tree
        around = {at, *tree.ancestors(at)}
        reaching: list[Binding] = []
        covered: set[Node] = set()
        loop = self._loop_around(at)
        dominator: Binding | None = None
        for binding in before:
            if binding.remote or self._own_value(binding, around):
                continue
            block = self._block(binding)
            if self._excluded(block, around) or self._is_rebound(block, covered, around):
                continue
            if decide is not None and self._is_switched_off(block, around, decide):
                continue
            if binding.kind == "for" and binding.node not in around:
                reaching.append(binding)  # a loop may run no iteration: what was before may still hold
                continue
            reaching.append(binding)
            if len(reaching) > REACHING_BINDINGS.limit:
                self._cut.add(bindings[0])
                return list(bindings)
            if block in around or self._cover(block, covered, around, decide):
                dominator = binding
                break
        if loop is not None and not (dominator is not None and tree.within(dominator.node, loop)):
            later = [b for b in bindings if not b.remote and tree.within(b.node, loop)]
            reaching += [b for b in later if b not in reaching and not self._is_replaced(b, later)]
        return reaching

    def _is_replaced(self, binding: Binding, later: list[Binding]) -> bool:
        """Whether another of some bindings always follows in the same block, before an iteration ends."""
        if any(isinstance(parent, cst.Try | cst.TryStar) for parent in self.tree.ancestors(binding.node)):
            return False
        block, here = self._block(binding), self._position(binding)
        ends = [b for b in later if b.kind == "assign" and self._position(b) > here and self._block(b) is block]
        if not ends:
            return False
        end = min(map(self._position, ends))
        jumps = (*self.tree.nodes(cst.Break), *self.tree.nodes(cst.Continue))
        return not any(here < self.tree.order[jump] < end for jump in jumps)

    def _position(self, binding: Binding) -> int:
        return self.tree.order.get(binding.node, -1)

    def _own_value(self, binding: Binding, around: set[Node]) -> bool:
        """`x = f(x)`: the binding does not reach its own right-hand side."""
        if binding.kind in ("parameter", "import", "function", "class", "except"):
            return False
        if binding.kind in ("for", "with", "match"):
            return binding.value in around
        return binding.node in around

    def _block(self, binding: Binding) -> Node:
        """The block in which the binding holds from there on: `with` bodies are part of theirs."""
        known = self._blocks.get(binding)
        if known is not None:
            return known
        tree = self.tree
        if binding.kind == "for" and isinstance(binding.node, cst.For):
            block: Node = binding.node.body
        elif isinstance(binding.node, cst.ExceptHandler | cst.MatchCase):
            block = binding.node.body
        elif binding.kind == "parameter":
            function = tree.parents.get(tree.parents.get(binding.node, binding.node))
            block = function.body if isinstance(function, cst.FunctionDef | cst.Lambda) else tree.module
        else:
            block = tree.block(binding.node)
        block = self._through_with(block)
        self._blocks[binding] = block
        return block

    def _through_with(self, block: Node) -> Node:
        owner = self.tree.parents.get(block)
        while isinstance(owner, cst.With):
            block = self.tree.block(owner)
            owner = self.tree.parents.get(block)
        return block

    def _excluded(self, block: Node, around: set[Node]) -> bool:
        """Whether control cannot come from `block` to the place: the other branch, or an exit."""
        tree = self.tree
        inner: Node | None = block
        while inner is not None and inner not in around and not isinstance(inner, cst.Module):
            if exits(inner):
                return True
            parent = tree.parents.get(inner)
            if isinstance(parent, cst.If) and parent in around and _other_branch(parent, inner, around):
                return self._loop_around(parent) is None
            inner = parent
        return False

    def _is_rebound(self, block: Node, covered: set[Node], around: set[Node]) -> bool:
        """Whether a later binding must replace one in `block`, on the way from there."""
        tree = self.tree
        covers = False
        inner: Node | None = block
        while inner is not None and inner not in around and not isinstance(inner, cst.Module):
            if isinstance(inner, _LEFT_EARLY):
                return False
            covers = covers or inner in covered
            inner = tree.parents.get(inner)
        return covers

    def _is_switched_off(self, block: Node, around: set[Node], decide: Decide) -> bool:
        """Whether an `if` between `block` and what is around the place must go the other way."""
        inner = block
        while inner not in around and not isinstance(inner, cst.Module):
            parent = self.tree.parents[inner]
            if isinstance(parent, cst.If) and decide(parent) is (inner is not parent.body):
                return True
            inner = parent
        return False

    def _cover(self, block: Node, covered: set[Node], around: set[Node], decide: Decide | None) -> bool:
        """Note that `block` binds; true once all branches of an `if` that precedes the place do."""
        covered.add(block)
        branch = self.tree.parents.get(block)
        while isinstance(branch, cst.If):
            if not all(way is not None and (way in covered or exits(way)) for way in _ways(branch, decide)):
                return False
            covered.add(branch)
            parent = self.tree.parents.get(branch)
            outer = self._through_with(self.tree.block(branch))
            if isinstance(parent, cst.If) and parent.orelse is branch:
                branch = parent
                continue
            if outer in around:
                return True
            covered.add(outer)
            branch = self.tree.parents.get(outer)
        return False

    def _loop_around(self, node: Node) -> Node | None:
        """The outermost loop around `node` within its function."""
        if node not in self._loops:
            self._loops[node] = self._find_loop(node)
        return self._loops[node]

    def _find_loop(self, node: Node) -> Node | None:
        loop = None
        child = node
        for parent in self.tree.ancestors(node):
            kind = parent.__class__
            if kind in _SCOPES:
                break
            if kind is cst.While or (kind is cst.For and child is not parent.iter):  # type: ignore[attr-defined]
                loop = parent
            child = parent
        return loop


def _between(placed: list[tuple[int, _N]], first: int, last: int) -> list[tuple[int, _N]]:
    """Those behind one place, up to another one."""
    return placed[bisect_right(placed, first, key=_PLACE) : bisect_right(placed, last, key=_PLACE)]


def _concerns(call: cst.Call, name: str) -> bool:
    """`self.method()`, `super().method()`, `function(self)`."""
    concerned = [arg.value for arg in call.args]
    if isinstance(call.func, cst.Attribute):
        concerned.append(call.func.value)
    return any(
        (isinstance(node, cst.Name) and node.value == name)
        or (isinstance(node, cst.Call) and isinstance(node.func, cst.Name) and node.func.value == "super")
        for node in concerned
    )


def _is_imported(branch: cst.If) -> bool | None:
    """A decision that leaves out the block for the file that is run."""
    return False if asks_for_main(branch.test) else None


def exits(block: Node) -> bool:
    """Whether a block always leaves its function: it ends with `return` or `raise`, or calls `exit`."""
    if isinstance(block, cst.If):
        return (
            block.orelse is not None
            and exits(block.body)
            and exits(block.orelse.body if isinstance(block.orelse, cst.Else) else block.orelse)
        )
    if not isinstance(block, cst.IndentedBlock | cst.SimpleStatementSuite) or not block.body:
        return False
    last: Node = block.body[-1]
    if isinstance(last, cst.SimpleStatementLine):
        last = last.body[-1]
    if isinstance(last, cst.If):
        return exits(last)
    if isinstance(last, cst.Expr) and isinstance(last.value, cst.Call):
        func = last.value.func
        name = func.attr.value if isinstance(func, cst.Attribute) else func.value if isinstance(func, cst.Name) else ""
        return name in ("exit", "_exit", "quit", "abort")
    return isinstance(last, _EXITS)


def _ways(branch: cst.If, decide: Decide | None) -> list[Node | None]:
    """The ways that an `if` may go; None for the one past it."""
    taken = decide(branch) if decide is not None else None
    other = branch.orelse.body if isinstance(branch.orelse, cst.Else) else branch.orelse
    if taken is None:
        return [branch.body, other]
    return [branch.body if taken else other]


def _other_branch(branch: cst.If, inner: Node, around: set[Node]) -> bool:
    """`inner` is one way of an `if` and the place lies in the other."""
    if inner is branch.body:
        return branch.orelse is not None and branch.orelse in around
    return inner is branch.orelse and branch.body in around
