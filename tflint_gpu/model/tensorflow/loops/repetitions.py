"""What loops do again and again: the calls that each of their turns runs, here and in functions of the project."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

import libcst as cst

from tflint_gpu.model.model import Analysis, Model
from tflint_gpu.model.python.project.file import File
from tflint_gpu.model.python.project.functions import may_be_replaced
from tflint_gpu.model.python.syntax.children import children, names_in, walk
from tflint_gpu.model.python.syntax.syntax import (
    Expression,
    FunctionNode,
    LoopNode,
    Node,
    dotted_name,
    iterable,
    loop_target,
    method_name,
)
from tflint_gpu.model.python.value_flow.call_sites import called_elsewhere
from tflint_gpu.model.python.value_flow.origins import Context
from tflint_gpu.model.tensorflow.loops.batches import LoopData
from tflint_gpu.model.tensorflow.tracing.execution import Step

FEW = 5
"""A loop of so many turns repeats nothing worth speaking of."""
_DEPTH_LIMIT = 4
_SHAPING = frozenset("expand_dims reshape array asarray constant convert_to_tensor astype".split())
# A loop that waits for something to come in: nobody can hand its inputs over in one piece.
_WAITING = frozenset("recv recvfrom recv_string recv_json recv_pyobj recv_multipart accept poll blpop brpop".split())
_WAITED_FOR = re.compile(r"queue|requests?$|jobs?$|inbox|socket|consumer|subscri|\bq$", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Repeated:
    """A call that every turn of a loop runs.

    Arguments:
        file: of `call`.
        loop: in `loop_file`; the innermost one of more than a few turns.
        entry: the call in the loop itself that leads to `call`; `call` where it stands there.
        path: the calls between them.
    """

    file: File
    call: cst.Call
    context: Context | None
    loop_file: File
    loop: LoopNode
    entry: cst.Call
    path: tuple[Step, ...] = ()


class Repetitions(Analysis):
    """The loops that are seen from one file.

    Arguments:
        file: the one that is checked; loops of other files count where it calls the functions that hold them.
    """

    def __init__(self, model: Model) -> None:
        super().__init__(model)
        self.data = model.once(LoopData)

    def of_methods(self, *methods: str) -> list[Repeated]:
        """The calls `anything.method(...)` that loops repeat: each with its innermost loop, by the shortest way."""
        markers = tuple(f".{method}(".encode() for method in methods)
        found: dict[cst.Call, Repeated] = {}
        for file, loop in self.loops(markers):
            if self.data.is_at_most(file, loop, FEW) or leaves_at_once(loop):
                continue
            for one in self._run_by(file, loop, markers):
                known = found.get(one.call)
                if method_name(one.call) in methods and (known is None or len(one.path) <= len(known.path)):
                    found[one.call] = one
        return [one for one in found.values() if not self._is_occasional(one)]

    def loops(self, markers: tuple[bytes, ...]) -> Iterator[tuple[File, LoopNode]]:
        """The loops of this file and of what it calls in others, outer ones first."""
        yield from ((self.file, loop) for loop in self.file.tree.all_loops)
        for file, function in self.functions_elsewhere(markers):
            yield from ((file, loop) for loop in file.tree.all_loops if file.tree.function(loop) is function)

    def functions_elsewhere(self, markers: tuple[bytes, ...]) -> list[tuple[File, Node]]:
        """The functions of other files that running this one calls, in files with one of some byte strings."""
        if not self.inference.project.others_mention(self.file.source, markers):
            return []
        words = [marker.decode() for marker in markers]
        return [(file, node) for file, node in self._functions_elsewhere if any(w in file.source.text for w in words)]

    @cached_property
    def _functions_elsewhere(self) -> list[tuple[File, Node]]:
        """The functions of other files that running this one calls."""
        functions = called_elsewhere(self.inference, self.file, lambda function: function.calls)
        return [(function.file, function.node) for function in functions]

    def _run_by(self, file: File, loop: LoopNode, markers: tuple[bytes, ...]) -> Iterator[Repeated]:
        """The calls that a turn runs."""
        function = file.tree.function(loop)
        own = [
            call
            for call in file.calls_below.get(loop, ())
            if file.tree.function(call) is function and _is_in_turn(file, loop, call)
        ]
        queue = [Repeated(file, call, None, file, loop, call) for call in own]
        seen: set[Node] = set()
        for run in queue:  # grows meanwhile
            yield run
            if len(run.path) >= _DEPTH_LIMIT or not self.inference.may_be_called(run.file, run.call.func):
                continue
            if not self.inference.project.leads_to(run.file, run.file.name(run.call.func), markers):
                continue
            for callee in self.inference.callees(run.file, run.call, run.context):
                target = callee.function
                if target.node in seen or may_be_replaced(target.file, target.node):
                    continue
                seen.add(target.node)
                inside = self.inference.enter(run.file, run.call, run.context, callee)
                path = (*run.path, Step(run.file, run.call, f"calls `{target.name}`"))
                queue += [Repeated(target.file, c, inside, file, loop, run.entry, path) for c in target.calls]

    def _is_occasional(self, one: Repeated) -> bool:
        """Whether the call runs in some turns only: `if step % 100 == 0`, `if i == 0`."""
        places = [(one.file, one.call), *((step.file, step.node) for step in one.path)]
        return any(is_occasional(file, node, one.loop) for file, node in places)

    def varies(self, one: Repeated, exprs: list[Expression]) -> bool:
        """Whether something in the loop changes what expressions of its own function mean, from turn to turn."""
        changed = changed_in(one.loop_file, one.loop)
        return any(isinstance(node, cst.Name) and node.value in changed for expr in exprs for node in walk(expr))

    def stays(self, one: Repeated) -> bool:
        """Whether a call in the loop surely gets the same in all turns: nothing else there has its row or model."""
        file, tree = one.loop_file, one.loop_file.tree
        row: Expression | None = one.entry.args[0].value if one.entry.args and not one.path else None
        while isinstance(row, cst.Call | cst.Subscript):
            row = row.value if isinstance(row, cst.Subscript) else _shaped(file, row)
        if not isinstance(row, cst.Name) or row.value in file.changed or self.varies(one, [one.entry]):
            return False
        names = {row.value, _root(one.entry.func)}
        uses = (use for name in names if name is not None for use in tree.uses.get(name, ()))
        return not any(tree.within(use, one.loop) and not tree.within(use, one.entry) for use in uses) and not any(
            binding.remote for binding in file.flow.lookup(row.value, row)
        )

    def feeds_itself(self, one: Repeated) -> bool:
        """Whether what the call gives in one turn decides what it gets in the next: an agent that acts, text."""
        file, loop = one.loop_file, one.loop
        flow = TurnFlow(file, loop, frozenset([one.entry]))
        return any(flow.comes_back(arg.value) for arg in one.entry.args)

    def waits(self, one: Repeated) -> bool:
        """Whether the loop waits for requests, messages or a user's input."""
        file, data = one.loop_file, iterable(one.loop)
        source = dotted_name(data.func if isinstance(data, cst.Call) else data)
        if source is not None and _WAITED_FOR.search(source):
            return True
        return any(
            file.names.is_builtin(call.func, "input")
            or file.name(call.func) == "six.moves.input"
            or method_name(call) in _WAITING
            or (
                method_name(call) in ("get", "get_nowait", "receive", "read_message", "popleft")
                and isinstance(call.func, cst.Attribute)
                and _WAITED_FOR.search(dotted_name(call.func.value) or "") is not None
            )
            for call in file.calls_below.get(one.loop, ())
        )


def _shaped(file: File, call: cst.Call) -> Expression | None:
    """What a call only gives another shape: `np.expand_dims(x, 0)`, `x.reshape(1, -1)`."""
    if method_name(call) not in _SHAPING or not isinstance(call.func, cst.Attribute):
        return None
    if file.name(call.func) is None:
        return call.func.value
    return call.args[0].value if call.args else None


class TurnFlow:
    """The names in a loop that hold what some of its expressions give, or what is made of it, in this turn or before.

    For a function: in one run of it.

    Arguments:
        ends: expressions through which nothing is followed.
    """

    def __init__(
        self, file: File, loop: LoopNode | FunctionNode, sources: frozenset[Node], ends: frozenset[Node] = frozenset()
    ) -> None:
        self.file = file
        self.loop = loop
        self.sources = sources
        self.ends = ends
        self.names: set[str] = set()
        self._moves = moves = list(_moves(file, loop))
        for _ in range(len(moves) + 1):
            reached = {name for name, values in moves if name not in self.names and any(map(self.holds, values))}
            if not reached:
                break
            self.names |= reached

    def holds(self, expr: Node) -> bool:
        """Whether an expression mentions a source, or a name that holds what one gave."""
        stack = [expr]
        while stack:
            node = stack.pop()
            if node in self.ends:
                continue
            if node in self.sources or (isinstance(node, cst.Name) and node.value in self.names):
                return True
            stack.extend(children(node))
        return False

    def comes_back(self, expr: Node, seen: frozenset[Node] = frozenset()) -> bool:
        """Whether an expression may hold what a source gave in a turn before: not what this turn has bound anew."""
        tree = self.file.tree
        for node in walk(expr):
            if node in self.sources:
                return True
            if not isinstance(node, cst.Name) or node.value not in self.names or node in seen:
                continue
            here = tree.order[node]
            bound = self.file.flow.lookup(node.value, node)
            if not bound or not all(tree.within(b.node, self.loop) and tree.order[b.node] < here for b in bound):
                return True
            before = (v for name, values in self._moves if name == node.value for v in values if tree.order[v] < here)
            if any(self.comes_back(value, seen | {node}) for value in before):
                return True
        return False


def _moves(file: File, loop: LoopNode | FunctionNode) -> Iterator[tuple[str, list[Node]]]:
    """What a turn puts into each name: by assignment, into a container, by a method of it."""
    tree = file.tree
    scope = tree.scopes.get(loop) or tree.scope(loop)
    for bindings in scope.bindings.values():
        for binding in bindings:
            if binding.value is not None and binding.node is not loop and tree.within(binding.node, loop):
                yield binding.name, [binding.value]
    for target, value in tree.item_assignments:
        name = _root(target.value)
        if name is not None and tree.within(target, loop):
            yield name, [target, *([value] if value is not None else [])]
    for call in file.calls_below.get(loop, ()):
        name = _root(call.func.value) if isinstance(call.func, cst.Attribute) else None
        if name is not None and name != "self" and file.name(call.func) is None:
            yield name, [arg.value for arg in call.args]


def changed_in(file: File, loop: LoopNode) -> frozenset[str]:
    """The names that a turn binds, or whose content it changes."""
    tree = file.tree
    scopes = [tree.scope(loop), *([tree.scopes[loop]] if loop in tree.scopes else [])]
    bound = {
        binding.name
        for scope in scopes
        for bindings in scope.bindings.values()
        for binding in bindings
        if tree.within(binding.node, loop)
    }
    stored = {_root(target.value) for target, _ in tree.item_assignments if tree.within(target, loop)}
    grown = {
        _root(call.func.value)
        for call in file.calls_below.get(loop, ())
        if isinstance(call.func, cst.Attribute) and method_name(call) in ("append", "extend", "insert", "pop", "update")
    }
    return frozenset(name for name in bound | stored | grown if name is not None)


def is_occasional(file: File, node: Node, loop: Node) -> bool:
    """Whether a place in a loop, or in a function that it calls, is reached in some turns only, as a test counts."""
    child = node
    for parent in file.tree.ancestors(node):
        if parent is loop or isinstance(parent, cst.FunctionDef):
            return False
        if isinstance(parent, cst.If) and child is parent.body and _counts(parent.test):
            return True
        child = parent
    return False


def _counts(test: Expression) -> bool:
    """`step % 100 == 0`, `i == 0`."""
    for node in walk(test):
        if isinstance(node, cst.BinaryOperation) and isinstance(node.operator, cst.Modulo):
            return True
        if isinstance(node, cst.Comparison) and len(node.comparisons) == 1:
            operator, other = node.comparisons[0].operator, node.comparisons[0].comparator
            if isinstance(operator, cst.Equal) and isinstance(other, cst.Integer) and isinstance(node.left, cst.Name):
                return True
    return False


def _is_in_turn(file: File, loop: LoopNode, node: Node) -> bool:
    """Whether a node below a loop runs in its turns: not what is evaluated once, nor `else`."""
    if isinstance(loop, cst.BaseComp):
        return not file.tree.within(node, loop.for_in.iter)
    if isinstance(loop, cst.While):
        return file.tree.within(node, loop.body) or file.tree.within(node, loop.test)
    return file.tree.within(node, loop.body)


def leaves_at_once(loop: LoopNode) -> bool:
    """Whether every turn ends with `break` or `return`."""
    if isinstance(loop, cst.BaseComp) or not isinstance(loop.body, cst.IndentedBlock) or not loop.body.body:
        return False
    return any(isinstance(small, cst.Break | cst.Return) for small in children(loop.body.body[-1]))


def breaks_of(loop: LoopNode) -> Iterator[cst.Break]:
    """The breaks that leave a loop."""
    stack: list[Node] = [loop.body] if isinstance(loop, cst.For | cst.While) else []
    while stack:
        node = stack.pop()
        if isinstance(node, cst.Break):
            yield node
        if not isinstance(node, cst.For | cst.While | cst.FunctionDef | cst.BaseExpression):
            stack.extend(children(node))


def _root(expr: Node) -> str | None:
    """`x` of `x.a[0]`."""
    while isinstance(expr, cst.Attribute | cst.Subscript):
        expr = expr.value
    return expr.value if isinstance(expr, cst.Name) else None


def names_of(loop: LoopNode) -> frozenset[str]:
    """The names that a `for` binds."""
    target = loop_target(loop)
    return names_in(target) if target is not None else frozenset()
