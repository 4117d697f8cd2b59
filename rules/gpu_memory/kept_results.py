"""Lists that keep what every step of a training returns."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property

import libcst as cst

from tflint_gpu.lazy_dataclasses import dataclass
from tflint_gpu.model import (
    FEW,
    UPDATES,
    Analysis,
    Expression,
    File,
    HostReads,
    LoopData,
    Model,
    Node,
    Origin,
    Summaries,
    Training,
    dotted_name,
    is_conditional,
    loops_around,
    method_name,
    spelling,
    walk,
)

_SHRINKING = frozenset("clear pop popleft remove".split())
_ON_HOST = frozenset("numpy item tolist result".split())


@dataclass(frozen=True, slots=True)
class KeptResult:
    """A list that gets a tensor of every step.

    Arguments:
        node: where it gets it. name: of the list. loop: of the steps.
    """

    node: Node
    name: str
    loop: cst.For | cst.While


class KeptResults(Analysis):
    """The lists of a file's training loops.

    Attributes:
        file: the one that is checked; the steps may be in others.
    """

    def __init__(self, model: Model) -> None:
        super().__init__(model)
        self.training = model.once(Training)
        self.host_reads = model.once(HostReads)
        self.data = model.once(LoopData)
        self._updates = Summaries(self.inference, _updates_itself, self.training.functions_run)

    @cached_property
    def all(self) -> list[KeptResult]:
        """Each list that grows by a tensor a step for as long as the training runs."""
        in_loops = []
        for loop in self.file.tree.loops:
            assert isinstance(loop, cst.For | cst.While)
            if self.data.is_at_most(self.file, loop, FEW):
                continue
            additions = list(self._additions(loop))
            if not additions:
                continue
            results = self.host_reads.results_of(loop)
            if results is None or not self._updates.holds(self.file, loop):
                continue
            for node, held, value in additions:
                name = _name_of(self.file, held)
                if not self.host_reads.is_result(value, results) or is_conditional(self.file, node, loop):
                    continue
                if not self.inference.must_be(self.file, held, _is_list):
                    continue
                if self._lives(name, loop) and not self._gives_numbers(loop):
                    in_loops.append(KeptResult(node, name, loop))
        return in_loops

    def _additions(self, loop: cst.For | cst.While) -> Iterator[tuple[Node, Expression, Expression]]:
        """`l.append(x)`, `l += [x]`."""
        function = self.file.tree.function(loop)
        for call in self.file.calls_below.get(loop, ()):
            if method_name(call) == "append" and len(call.args) == 1 and self.file.tree.function(call) is function:
                assert isinstance(call.func, cst.Attribute)
                yield call, call.func.value, call.args[0].value
        for node in walk(loop.body):
            if isinstance(node, cst.AugAssign) and isinstance(node.value, cst.List) and len(node.value.elements) == 1:
                yield node, node.target, node.value.elements[0].value

    def _lives(self, name: str, loop: cst.For | cst.While) -> bool:
        """Whether no loop around makes a new list or takes something out of it."""
        file = self.file
        outermost = (loop, *loops_around(file, loop))[-1]
        if not name or any(_makes(file, node, name) for node in walk(outermost)):
            return False
        root = name.partition(".")[0].partition("[")[0]
        bound = file.tree.scope(loop).bindings.get(root, ())
        return not any(b.kind != "augment" and file.tree.within(b.node, outermost) for b in bound)

    def _gives_numbers(self, loop: cst.For | cst.While) -> bool:
        """Whether the step returns what was read on the host already."""
        calls = [step for step in self.host_reads.steps_of(self.file, loop) if isinstance(step, cst.Call)]
        functions = [function for call in calls for function in self.training.functions_run(self.file, call)]
        returned = [(function.file, value) for function in functions for value in function.file.returned(function.node)]
        return any(self._is_on_host(file, part) for file, value in returned for part in walk(value))

    def _is_on_host(self, file: File, part: Node) -> bool:
        """Whether a part of an expression is read on the host, or a name of what was."""
        if isinstance(part, cst.Name):
            return any(_reads_on_host(origin.file, origin.node) for origin in self.inference.of(file, part))
        return _reads_on_host(file, part)


def _updates_itself(file: File, node: Node) -> bool:
    """Whether an iteration updates weights: gradients are taken for other things, too."""
    return any(method_name(call) in UPDATES for call in file.calls_below.get(node, ()))


def _is_list(origin: Origin) -> bool:
    """Whether a value is a list that starts written out, and of no fixed length."""
    call = origin.call
    if call is not None:
        return origin.file.names.is_builtin(call.func, "list")
    return isinstance(origin.node, cst.List | cst.ListComp) and not origin.access_path


def _name_of(file: File, expr: Expression) -> str:
    if isinstance(expr, cst.Subscript):
        inner = dotted_name(expr.value)
        return f"{inner}[{spelling(expr.slice[0])}]" if inner else ""
    return dotted_name(expr) or ""


def _makes(file: File, node: Node, name: str) -> bool:
    """Whether a node makes a new list or takes something out of it."""
    if isinstance(node, cst.Assign):
        return any(_name_of(file, target.target) == name for target in node.targets)
    if isinstance(node, cst.Del):
        return any(_name_of(file, inner) == name for inner in walk(node) if isinstance(inner, cst.BaseExpression))
    if isinstance(node, cst.Call) and isinstance(node.func, cst.Attribute):
        return node.func.attr.value in _SHRINKING and _name_of(file, node.func.value) == name
    return False


def _reads_on_host(file: File, node: Node) -> bool:
    return isinstance(node, cst.Call) and (
        method_name(node) in _ON_HOST or any(file.names.is_builtin(node.func, name) for name in ("float", "int"))
    )
