"""Lists that keep what every step of a training returns."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from functools import cached_property, partial

import libcst as cst

from tflint_gpu.lazy_dataclasses import dataclass
from tflint_gpu.model import (
    FEW,
    UPDATES,
    Analysis,
    Callee,
    Context,
    Expression,
    File,
    Frame,
    FunctionNode,
    HostReads,
    Invocation,
    Invocations,
    IterationFlow,
    Kinds,
    LoopData,
    LoopNode,
    Model,
    Node,
    Origin,
    RunSite,
    Summaries,
    Training,
    arguments,
    dotted_name,
    handed_down,
    is_conditional,
    method_name,
    spelling,
    walk,
    ways,
)
from tflint_gpu.model.library.tensor_functions import HOST_READS

_SHRINKING = frozenset("clear pop popleft remove".split())


@dataclass(frozen=True, slots=True)
class KeptResult:
    """A list that gets a tensor of every step.

    Arguments:
        file, node: where it gets it. name: of the list.
        loop: of the steps, in `loop_file`. path: the calls from there.
    """

    file: File
    node: Node
    name: str
    loop_file: File
    loop: LoopNode
    path: tuple[Frame, ...] = ()


@dataclass(frozen=True, slots=True)
class _Region:
    """The code of a loop, or of a function that it runs, and what holds the results of its steps there."""

    file: File
    node: LoopNode | FunctionNode
    results: IterationFlow
    path: tuple[Frame, ...] = ()
    context: Context | None = None


class KeptResults(Analysis):
    """The lists of a file's training loops.

    Attributes:
        file: the one that is checked; the steps, and the lists, may be in others.
    """

    def __init__(self, model: Model) -> None:
        super().__init__(model)
        self.training = model.once(Training)
        self.host_reads = model.once(HostReads)
        self.kinds = model.once(Kinds)
        self.data = model.once(LoopData)
        self.invocations = model.once(Invocations)
        self._updates = Summaries(self.inference, "an update is called", _updates_itself, self.inference.functions_run)
        self._emptying: dict[str, Summaries] = {}

    @cached_property
    def all(self) -> list[KeptResult]:
        """Each list that grows by a tensor a step for as long as the training runs."""
        kept: dict[Node, KeptResult] = {}
        for file, loop in self.host_reads.loops.seen:
            if self.data.is_at_most(file, loop, FEW):
                continue
            results = self.host_reads.results_of(file, loop)
            if results is None or not self._updates.holds(file, loop) or self._gives_numbers(file, loop):
                continue
            for region in self._regions(_Region(file, loop, results), loop):
                for node, held, value in _additions(region):
                    if node not in kept and self._keeps(region, RunSite(file, loop), node, held, value):
                        kept[node] = KeptResult(region.file, node, _name_of(region.file, held), file, loop, region.path)
        return list(kept.values())

    def _regions(self, own: _Region, loop: LoopNode) -> Iterator[_Region]:
        """A loop, and the functions that an iteration always runs in which something holds what its steps give."""
        regions: dict[Node, _Region | None] = {own.node: own}

        def region_of(run: Invocation) -> _Region | None:
            node = run.functions[-1].node if run.functions else own.node
            if node not in regions:
                outer = regions.get(run.functions[-2].node if len(run.functions) > 1 else own.node)
                regions[node] = self._entered(outer, run) if outer is not None else None
            return regions[node]

        def handed(run: Invocation, callee: Callee) -> frozenset[str]:
            region = region_of(run)
            if region is None:
                return frozenset()
            given = self.inference.passed_to(run.file, run.call, callee.function) or arguments(
                self.inference.definitions, run.file, run.call, run.context, callee
            )
            results = region.results
            return frozenset(
                parameter.name.value
                for parameter, bound in given.items()
                if isinstance(parameter, cst.Param)
                and run.file.tree.within(bound.value, run.call)
                and self.host_reads.is_result(bound.value, results)
            )

        for run in self.invocations.eager(own.file, loop, handed=handed):
            region_of(run)
        return (region for region in regions.values() if region is not None)

    def _entered(self, outer: _Region, run: Invocation) -> _Region | None:
        """A function that a region calls in every iteration, as far as results are in it."""
        node, frame = run.functions[-1].node, run.path[-1]
        if is_conditional(frame.file, frame.node, outer.node):
            return None
        results = self.host_reads.results_of(run.file, node, run.names)
        if results is None or self._gives_numbers(run.file, node):
            return None
        return _Region(run.file, node, results, run.path, run.context)

    def _keeps(self, region: _Region, loop: RunSite, node: Node, held: Expression, value: Expression) -> bool:
        """Whether a region always puts a result into a list that no loop around makes again."""
        parts = [e.value for e in value.elements] if isinstance(value, cst.Tuple | cst.List | cst.Dict) else [value]
        if not any(self.host_reads.is_result(part, region.results) for part in parts):
            return False
        if is_conditional(region.file, node, region.node):
            return False
        if not self.inference.must_be(region.file, held, _is_list, region.context):
            return False
        if self.kinds.must_be(region.file, value, "variable", context=region.context):
            return False  # one object, as often as it is appended
        return bool(_name_of(region.file, held)) and self._lives(region, held, loop)

    def _lives(self, region: _Region, held: Expression, loop: RunSite) -> bool:
        """Whether the list outlives the loop, and nothing around that makes a new one or takes something out of it."""
        root: Expression = held
        while isinstance(root, cst.Attribute | cst.Subscript):
            root = root.value
        rest = _name_of(region.file, held)[len(_name_of(region.file, root)) :]
        for place in ways(self.inference, replace(loop, path=region.path)):
            frames, file, made = handed_down(self.inference, place.path, region.file, root)
            owners, name = _owners(file, made), _name_of(file, made)
            is_inner = len(place.path) - len(region.path) < len(frames)
            if frames and file.tree.function(made) in owners and is_inner:
                return False  # a function that the loop runs makes it
            is_elsewhere = bool(frames) and None not in owners and place.function not in owners
            if is_elsewhere or (not name and place.node is not loop.node):  # each call from here makes another one
                if any(place.loops()):
                    return False
                continue
            loops = [node for node in (place.node, *place.loops()) if not isinstance(node, cst.Call)]
            if not name or any(self._is_emptied(place.file, node, name + rest) for node in loops[-1:]):
                return False
        return True

    def _is_emptied(self, file: File, loop: Node, name: str) -> bool:
        """Whether an iteration makes a new list or takes something out of it, itself or by what it calls."""
        bound = file.tree.scope(loop).bindings.get(name.partition(".")[0].partition("[")[0], ())
        if any(_makes(file, node, name) for node in walk(loop)) or any(
            binding.kind != "augment" and file.tree.within(binding.node, loop) for binding in bound
        ):
            return True
        last = name.rpartition(".")[2]
        if last not in self._emptying:
            empties = partial(_empties, last)
            self._emptying[last] = Summaries(
                self.inference, f"{last} is emptied", empties, self.inference.functions_run
            )
        return self._emptying[last].holds(file, loop)

    def _gives_numbers(self, file: File, region: LoopNode | FunctionNode) -> bool:
        """Whether the step returns what was read on the host already."""
        calls = [step for step in self.host_reads.steps_of(file, region) if isinstance(step, cst.Call)]
        functions = [function for call in calls for function in self.inference.functions_run(file, call)]
        returned = [(function.file, value) for function in functions for value in function.file.returned(function.node)]
        return any(self._is_on_host(where, part) for where, value in returned for part in walk(value))

    def _is_on_host(self, file: File, part: Node) -> bool:
        """Whether a part of an expression is read on the host, or a name of what was."""
        if isinstance(part, cst.Name):
            return any(_reads_on_host(origin.file, origin.node) for origin in self.inference.of(file, part))
        return _reads_on_host(file, part)


def _additions(region: _Region) -> Iterator[tuple[Node, Expression, Expression]]:
    """`l.append(x)`, `l += [x]`."""
    file, node = region.file, region.node
    function = node if isinstance(node, cst.FunctionDef | cst.Lambda) else file.tree.function(node)
    for call in file.calls_below.get(node, ()):
        if method_name(call) == "append" and len(call.args) == 1 and file.tree.function(call) is function:
            assert isinstance(call.func, cst.Attribute)
            yield call, call.func.value, call.args[0].value
    for inner in walk(node):
        if not isinstance(inner, cst.AugAssign) or file.tree.function(inner) is not function:
            continue
        if isinstance(inner.value, cst.List) and len(inner.value.elements) == 1:
            yield inner, inner.target, inner.value.elements[0].value


def _owners(file: File, expr: Expression) -> set[FunctionNode | None]:
    """The functions whose variable a name is, None for the module's; the one around where that is not known."""
    bound = file.flow.lookup(expr.value, expr) if isinstance(expr, cst.Name) else ()
    for binding in bound:
        if isinstance(binding.node, cst.Param):
            above = file.tree.ancestors(binding.node)
            return {next((node for node in above if isinstance(node, cst.FunctionDef | cst.Lambda)), None)}
    return {None if b.remote else file.tree.function(b.node) for b in bound} or {file.tree.function(expr)}


def _empties(last: str, file: File, region: Node) -> bool:
    """Whether code makes a new list for an attribute or global variable of a name, or takes something out of it."""
    is_global = any(item.name.value == last for node in file.tree.nodes(cst.Global) for item in node.names)
    for node in walk(region):
        names = _emptied(file, node)
        if any(
            name.endswith(f".{last}") or (name == last and (is_global or not isinstance(node, cst.Assign)))
            for name in names
        ):
            return True
    return False


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
    return name in _emptied(file, node)


def _emptied(file: File, node: Node) -> Iterable[str]:
    """The lists for which a node makes another one, or out of which it takes something."""
    if isinstance(node, cst.Assign):
        return [_name_of(file, target.target) for target in node.targets]
    if isinstance(node, cst.Del):
        return [_name_of(file, inner) for inner in walk(node) if isinstance(inner, cst.BaseExpression)]
    if isinstance(node, cst.Call) and isinstance(node.func, cst.Attribute) and node.func.attr.value in _SHRINKING:
        return [_name_of(file, node.func.value)]
    return ()


def _reads_on_host(file: File, node: Node) -> bool:
    return isinstance(node, cst.Call) and (
        method_name(node) in HOST_READS | {"result"}
        or any(file.names.is_builtin(node.func, name) for name in ("float", "int"))
    )
