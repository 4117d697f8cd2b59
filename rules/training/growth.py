"""Tensors that loops copy in every iteration to make them longer or to write a row: `x = tf.concat([x, batch], 0)`."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cached_property

import libcst as cst

from tflint_gpu.lazy_dataclasses import dataclass
from tflint_gpu.model import (
    FEW_IN_ALL,
    Analysis,
    EagerLoops,
    Expression,
    File,
    Frame,
    Kinds,
    LoopData,
    LoopNode,
    Node,
    Once,
    Repetitions,
    RunSite,
    TracedFunctions,
    argument,
    callers,
    dotted_name,
    is_occasional,
    iterable,
    loops_around,
    operation_named,
    walk,
)
from tflint_gpu.model.library.operations import ROW_UPDATES
from tflint_gpu.rule import Edit, Fix

from .loop_carried import Place, is_loop_carried, is_read, is_read_elsewhere, only_starts

CONCATENATIONS = (
    *(b"concat(", b"concatenate(", b"np.append(", b"numpy.append(", b"vstack(", b"hstack("),
    b"tensor_scatter_nd_",
)
"""A file with none of them grows no tensor, and writes none row by row."""


@dataclass(frozen=True, slots=True)
class Growth:
    """A concatenation that makes a place longer, or an update that copies it, in every iteration of a loop.

    Arguments:
        name: of the place. loop: in `loop_file`; the innermost one that carries it on.
        path: the calls between them.
        on_host: whether NumPy does it.
    """

    file: File
    call: cst.Call
    name: str
    loop_file: File
    loop: LoopNode
    path: tuple[Frame, ...] = ()
    on_host: bool = False

    @property
    def is_update(self) -> bool:
        """Whether it writes rows: `x = tf.tensor_scatter_nd_update(x, [[i]], [row])`."""
        return self.file.name(self.call.func) in ROW_UPDATES


@dataclass(frozen=True, slots=True)
class _Candidate:
    """`x = concat([x, y])`: the place, the target and the operand that are this place, and the other operands."""

    file: File
    call: cst.Call
    place: Place
    statement: Node
    own: tuple[Node, ...]
    added: tuple[Expression, ...]


class Growths(Analysis):
    """The tensors that the loops seen from one file make longer.

    Attributes:
        file: the one that is checked.
    """

    kinds = Once(Kinds)
    execution = Once(TracedFunctions)
    loops = Once(EagerLoops)
    repetitions = Once(Repetitions)
    data = Once(LoopData)

    @cached_property
    def in_loops(self) -> list[Growth]:
        """Each concatenation with its loop, in the order of the code."""
        candidates = self._must_be_tensors(list(self._candidates()))
        growths = []
        for candidate in candidates:
            same = [o for o in candidates if o.file is candidate.file and o.place.name == candidate.place.name]
            growth = self._here(candidate, same) or self._at_callers(candidate, same)
            if growth is not None:
                growths.append(growth)
        return growths

    def _candidates(self) -> Iterator[_Candidate]:
        elsewhere = self.repetitions.functions_elsewhere(CONCATENATIONS)
        functions = {node for _, node in elsewhere}
        files = dict.fromkeys((self.file, *(file for file, _ in elsewhere)))
        for file in files:
            for call in file.tree.calls:
                is_here = file is self.file or file.tree.function(call) in functions
                name = file.name(call.func)
                if is_here and (operation_named(name).joins or name in ROW_UPDATES):
                    yield from self._candidate(file, call)

    def _candidate(self, file: File, call: cst.Call) -> Iterator[_Candidate]:
        stored = _target(file, call)
        operands = _operands(file, call)
        if stored is None or len(operands) < 2:
            return
        target, statement = stored
        place = Place(file, target)
        own = [operand for operand in operands if place.is_at(operand)]
        added = [operand for operand in operands if not place.is_at(operand)]
        if own and added:
            yield _Candidate(file, call, place, statement, (target, *own), tuple(added))

    def _must_be_tensors(self, candidates: list[_Candidate]) -> list[_Candidate]:
        """Those that join tensors with values, of places that some loop may make longer: the others are not asked."""
        places = {(candidate.file, candidate.place.name) for candidate in candidates if self._may_grow(candidate)}
        return [
            candidate
            for candidate in candidates
            if (candidate.file, candidate.place.name) in places
            and all(self._is_tensor(candidate.file, candidate.call, operand) for operand in candidate.added)
        ]

    def _may_grow(self, candidate: _Candidate) -> bool:
        """Whether a loop is around it in its function, or what it makes longer may outlive the function."""
        file, function = candidate.file, candidate.file.tree.function(candidate.call)
        if any(loops_around(file, candidate.call)):
            return True
        if not isinstance(function, cst.FunctionDef):
            return False
        return candidate.place.root == "self" or candidate.place.root in file.tree.scopes[function].outer_names

    def _is_tensor(self, file: File, call: cst.Call, operand: Expression) -> bool:
        """Whether what is added is a tensor with a value: of NumPy's functions that must be known."""
        if not _is_numpy(file, call):
            return not self.execution.symbolic.holds_tensor(file, [operand], None)
        if self.kinds.must_be(file, operand, "tensor"):
            return True
        origins = self.inference.of(file, operand)
        return bool(origins) and all(
            o.call is not None and bool(o.call.args) and self.kinds.is_model(o.file, o.call.func, o.context)
            for o in origins
        )

    def _here(self, candidate: _Candidate, same: list[_Candidate]) -> Growth | None:
        """The innermost loop around it in its own function that carries the place on."""
        file, call = candidate.file, candidate.call
        loop = self._loop_around(file, call)
        while loop is not None:
            growing = frozenset(o.statement for o in same if file.tree.within(o.call, loop))
            if is_loop_carried(file, loop, candidate.place, growing):
                own = frozenset(node for other in same for node in other.own)
                if is_read(file, loop, candidate.place, own, self.inference.meet) or is_occasional(file, call, loop):
                    return None
                return self._growth(candidate, file, loop, ()) if self._counts(candidate, file, loop) else None
            loop = self._loop_around(file, loop)
        return None

    def _at_callers(self, candidate: _Candidate, same: list[_Candidate]) -> Growth | None:
        """The loop that calls the function which makes something longer that outlives it."""
        function = candidate.file.tree.function(candidate.call)
        if not isinstance(function, cst.FunctionDef) or self._loop_around(candidate.file, candidate.call) is not None:
            return None
        scope = candidate.file.tree.scopes[function]
        if candidate.place.root != "self" and candidate.place.root not in scope.outer_names:
            return None
        return self._called(candidate, same, RunSite(candidate.file, candidate.call))

    def _called(self, candidate: _Candidate, same: list[_Candidate], made: RunSite) -> Growth | None:
        function = made.function
        if not isinstance(function, cst.FunctionDef) or self.inference.definitions.decorators.may_replace(
            made.file, function
        ):
            return None
        if not self.loops.is_plain(self.inference.definitions.function(made.file, function)):
            return None
        own = frozenset(node for other in same for node in other.own)
        for caller in callers(self.inference, made):
            site, call = caller.file, caller.node
            assert isinstance(call, cst.Call)
            loop = self._loop_around(site, call)
            if loop is None:
                growth = self._called(candidate, same, caller)
                if growth is not None:
                    return growth
                continue
            root = (dotted_name(call.func) or "").partition(".")[0]
            if not root or (root != "self" and _rebinds_name(site, loop, root)):
                continue
            if is_read_elsewhere(
                candidate.file, candidate.place, site, loop, own, self.inference.meet
            ) or is_occasional(site, call, loop):
                continue
            if not _resets(candidate, same) and self._counts(candidate, site, loop):
                return self._growth(candidate, site, loop, caller.path)
        return None

    def _growth(self, candidate: _Candidate, file: File, loop: LoopNode, path: tuple[Frame, ...]) -> Growth:
        on_host = _is_numpy(candidate.file, candidate.call)
        return Growth(candidate.file, candidate.call, candidate.place.name, file, loop, path, on_host)

    def _loop_around(self, file: File, node: Node) -> LoopNode | None:
        """The next loop outwards in the same function that makes more than a few iterations."""
        return next(
            (loop for loop in loops_around(file, node) if not self.data.is_at_most(file, loop, FEW_IN_ALL)), None
        )

    def _counts(self, candidate: _Candidate, file: File, loop: LoopNode) -> bool:
        """Whether a loop runs in Python, and goes through data or numbers, not through parts of a model."""
        if not self.loops.runs_in_python(file, loop):
            return False
        if self._joins_rows(candidate):
            return True
        data = iterable(loop)
        if data is None:
            return True
        batches = self.data.batches(file, loop)
        return (batches is not None and batches.is_certain) or self.data.counts(file, data)

    def _joins_rows(self, candidate: _Candidate) -> bool:
        if candidate.file.name(candidate.call.func) in ROW_UPDATES:
            return True
        axis = argument(candidate.call, 1, "axis")
        return isinstance(axis, cst.Integer) and axis.evaluated_value == 0


def _target(file: File, call: cst.Call) -> tuple[Expression, Node] | None:
    """To what a call's result is assigned, also one way of `a if test else b`, and the statement."""
    parents = file.tree.parents
    node: Node = call
    parent = parents.get(node)
    while isinstance(parent, cst.IfExp) and node is not parent.test:
        node, parent = parent, parents.get(parent)
    if isinstance(parent, cst.AnnAssign):
        return parent.target, parent
    if isinstance(parent, cst.Assign) and len(parent.targets) == 1:
        target = parent.targets[0].target
        return None if isinstance(target, cst.Tuple | cst.List) else (target, parent)
    if isinstance(parent, cst.Element):
        return _unpacked(file, parent)
    return None


def _unpacked(file: File, element: cst.Element) -> tuple[Expression, Node] | None:
    """`x, y = f(), g()`."""
    display = file.tree.parents.get(element)
    statement = file.tree.parents.get(display) if display is not None else None
    if not isinstance(display, cst.Tuple) or not isinstance(statement, cst.Assign) or len(statement.targets) != 1:
        return None
    target = statement.targets[0].target
    if not isinstance(target, cst.Tuple) or len(target.elements) != len(display.elements):
        return None
    return target.elements[list(display.elements).index(element)].value, statement


def _operands(file: File, call: cst.Call) -> list[Expression]:
    """What a call joins, where all of it is written out."""
    if file.name(call.func) in ROW_UPDATES:
        written = (argument(call, place, name) for place, name in enumerate(("tensor", "indices", "updates")))
        return [operand for operand in written if operand is not None]
    if file.name(call.func) == "numpy.append":
        return [arg.value for arg in call.args[:2] if arg.keyword is None and not arg.star]
    values = call.args[0].value if call.args and call.args[0].keyword is None else argument(call, -1, "values")
    if not isinstance(values, cst.List | cst.Tuple) or not all(isinstance(e, cst.Element) for e in values.elements):
        return []
    return [element.value for element in values.elements]


def joined_once(growth: Growth) -> Fix | None:
    """Collect the parts in a list and join them after the loop, where both are plain statements of one function."""
    file, call, loop = growth.file, growth.call, growth.loop
    assign = file.tree.parents[call]
    line = file.tree.statement(call)
    operands = _operands(file, call)
    if (
        growth.is_update
        or growth.path
        or not isinstance(loop, cst.For | cst.While)
        or loop.orelse is not None
        or not operands
    ):
        return None
    if not isinstance(assign, cst.Assign) or not isinstance(line, cst.SimpleStatementLine) or len(line.body) > 1:
        return None
    name = assign.targets[0].target
    first, *added = operands
    if not isinstance(name, cst.Name) or not isinstance(first, cst.Name) or first.value != name.value or not added:
        return None
    if file.name(call.func) == "numpy.append" or any(node.value == name.value for node in _names(call.args[1:])):
        return None
    bindings = file.tree.scope(loop).bindings.get(name.value, ())
    inside = [binding for binding in bindings if file.tree.within(binding.node, loop)]
    uses = file.tree.inside(file.tree.uses.get(name.value, ()), loop)
    if len(inside) > 1 or any(use is not name and use is not first for use in uses):
        return None  # such as `if scores is None`: there is no first value to begin with
    parts = file.names.free(f"{name.value}_parts", f"all_{name.value}", f"{name.value}_pieces")
    values = [file.code(operand) for operand in added]
    append = f"{parts}.append({values[0]})" if len(values) == 1 else f"{parts} += [{', '.join(values)}]"
    rest = file.source.text[file.span(call.args[0])[1] : file.span(call)[1]]
    indentation = file.indentation(loop)
    edits = (
        Edit(loop, f"{indentation}{parts} = [{name.value}]\n", "above"),
        Edit(assign, append),
        Edit(loop, f"{indentation}{name.value} = {file.code(call.func)}({parts}{rest}\n", "below"),
    )
    return Fix("Join the parts once, after the loop", "unsafe", edits)


def _names(arguments: Sequence[cst.Arg]) -> Iterator[cst.Name]:
    return (node for arg in arguments for node in walk(arg.value) if isinstance(node, cst.Name))


def _rebinds_name(file: File, loop: LoopNode, name: str) -> bool:
    bindings = file.tree.scope(loop).bindings.get(name, ())
    return any(file.tree.within(binding.node, loop) for binding in bindings)


def _resets(candidate: _Candidate, same: list[_Candidate]) -> bool:
    """Whether the function that makes it longer may empty it, too."""
    function = candidate.file.tree.function(candidate.call)
    assert function is not None
    growing = frozenset(o.statement for o in same)
    return not only_starts(candidate.file, function, candidate.place, growing)


def _is_numpy(file: File, call: cst.Call) -> bool:
    return (file.name(call.func) or "").startswith("numpy.")
