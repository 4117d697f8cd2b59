"""Loops that compute each element of an array by itself, of which one call could do all."""

from __future__ import annotations

import re
from collections.abc import Iterator

import libcst as cst

from tflint_gpu.bounds import ELEMENT_CALLS
from tflint_gpu.lazy_dataclasses import dataclass
from tflint_gpu.lazy_patterns import regex
from tflint_gpu.model import (
    FEW_IN_ALL,
    OTHER_WORK,
    Expression,
    File,
    Function,
    Inference,
    IterationFlow,
    Kinds,
    LoopData,
    LoopNode,
    Node,
    Origin,
    dotted_name,
    iterable,
    method_name,
    names_of,
    operation_named,
    spelling,
    walk,
)
from tflint_gpu.model.library.nondeterminism import NUMBER_DRAWS
from tflint_gpu.model.library.operations import WITHOUT_WORK
from tflint_gpu.model.library.tensor_functions import ARRAY_METHODS, REDUCING_METHODS

_REDUCING = ("numpy.linalg.norm", "tf.norm")
_METHODS = ARRAY_METHODS | REDUCING_METHODS | {"numpy", "item"}
_BUILTINS = ("float", "int", "abs", "min", "max", "sum", "len", "range", "enumerate", "zip", "round", "tuple", "list")
_MANY = 10**6
_PARTS_OF_MODELS = regex(r"grad|variable|weight|param|layer|model|loss|metric|kernel|bias|optim", re.IGNORECASE)
_FLOW = (cst.Break, cst.Continue, cst.Return, cst.Raise, cst.Yield, cst.Await, cst.Del, cst.Global, cst.Nonlocal)
_BLOCKS = (cst.With, cst.Try, cst.While, cst.FunctionDef, cst.ClassDef, cst.Lambda, cst.IfExp, cst.NamedExpr)


@dataclass(frozen=True, slots=True)
class ElementLoop:
    """A loop that computes something of each element, and keeps nothing from one for the next.

    Arguments:
        work: the first call that computes.
        name: of the function that it calls.
    """

    file: File
    loop: LoopNode
    work: cst.Call
    name: str


class ElementLoops:
    """Analysis of single loops."""

    def __init__(self, inference: Inference, kinds: Kinds, data: LoopData) -> None:
        self.inference = inference
        self.kinds = kinds
        self.data = data

    def of(self, file: File, loop: LoopNode) -> ElementLoop | None:
        """What a loop does with each element, where one call could do it for all; None where that is not certain."""
        if (
            isinstance(loop, cst.While)
            or self.data.is_at_most(file, loop, FEW_IN_ALL)
            or not self._is_stacked(file, loop)
        ):
            return None
        body = loop.body if isinstance(loop, cst.For) else loop
        if isinstance(loop, cst.For) and (
            loop.orelse is not None or not _is_straight(file, loop, masks=_stores_all(file, loop))
        ):
            return None
        if isinstance(loop, cst.BaseComp) and not _is_plain_comprehension(loop):
            return None
        elements = self._elements(file, loop, body)
        if elements is None or (isinstance(loop, cst.For) and _carries(file, loop)):
            return None
        return self._work(file, loop, elements)

    def _elements(self, file: File, loop: LoopNode, body: Node) -> IterationFlow | None:
        """What is made of an element in an iteration; of a loop over indexes, what is at the index."""
        data = iterable(loop)
        names = names_of(loop)
        if data is None or not names or any(_PARTS_OF_MODELS.search(_word(node)) for node in walk(data)):
            return None
        if self.data.counts(file, data):
            items = [
                s
                for s in file.tree.inside(file.tree.subscripts, body)
                if any(isinstance(n, cst.Name) and n.value in names for n in _indexes(s))
            ]
            numbers = [
                n for n in walk(body) if isinstance(n, cst.Name) and n.value in names and _is_computed_with(file, n)
            ]
            drawn = [call for call in file.calls_below.get(loop, ()) if _draws(file.name(call.func))]
            sources: frozenset[Node] = frozenset([*items, *numbers, *drawn])
        else:
            sources = frozenset(n for n in walk(body) if isinstance(n, cst.Name) and n.value in names)
        return IterationFlow(file, loop, sources) if sources else None

    def _work(self, file: File, loop: LoopNode, elements: IterationFlow) -> ElementLoop | None:
        """The first call that computes, where every call of an iteration is known to do the same for an array."""
        first: ElementLoop | None = None
        for call in file.calls_below.get(loop, ()):
            data = iterable(loop)
            if data is not None and file.tree.within(call, data):
                continue
            holds = any(elements.holds(arg.value) for arg in call.args)
            work = self._computes(file, call, 0)
            if work is None:
                return None
            if holds and self._gets_fixed_array(file, call, elements) and not self._is_grid(file, loop):
                return None
            if work and holds and first is None:
                first = ElementLoop(file, loop, call, work)
        return first

    def _gets_fixed_array(self, file: File, call: cst.Call, elements: IterationFlow) -> bool:
        """Whether a call also gets an array that no iteration changes: one call for all may make a huge one."""
        return any(
            not self.inference.must_be(file, leaf, self._is_small)
            for arg in call.args
            if arg.keyword is None
            for leaf in _leaves(arg.value, elements)
        )

    def _is_small(self, origin: Origin) -> bool:
        """A number, something of a library, or what a reduction gives, which has an element's shape at most."""
        if isinstance(origin.node, cst.BaseNumber | cst.BaseString | cst.UnaryOperation) or origin.name is not None:
            return True
        method = f"numpy.{method_name(origin.call)}" if origin.call is not None else None
        return _reduces(origin.made_by or method)

    def _is_grid(self, file: File, loop: LoopNode) -> bool:
        """Whether loops in each other count to known numbers: so many elements that small calls take long."""
        loops = [loop, *(inner for inner in walk(loop) if isinstance(inner, cst.For) and inner is not loop)]
        return len(loops) > 1 and all(
            self.data.is_at_most(file, each, _MANY) and not self.data.is_at_most(file, each, FEW_IN_ALL)
            for each in loops
        )

    def _computes(self, file: File, call: cst.Call, depth: int) -> str | None:
        """The name of what a call computes, "" if it only shapes; None for one that may do something else."""
        name = file.name(call.func)
        if name is not None and name.startswith(("numpy.", "tf.")):
            if name in WITHOUT_WORK or _draws(name):
                return ""
            if operation_named(name).computes or name in OTHER_WORK:
                return name
            return None if not _reduces(name) else name if self._is_next_to_arithmetic(file, call) else ""
        if _draws(name):
            return ""
        if any(file.names.is_builtin(call.func, builtin) for builtin in _BUILTINS):
            return ""
        if method_name(call) == "append" and len(call.args) == 1:
            return ""
        if _stored_by(call) is not None:
            return ""
        if self.kinds.must_be(file, call.func, "model"):
            return "the model"
        callees = self.inference.callees(file, call)
        if not callees:
            return "" if method_name(call) in _METHODS else None
        computed = {self._computed_by(callee.function, depth) for callee in callees}
        return computed.pop() if len(computed) == 1 else None

    def _is_next_to_arithmetic(self, file: File, call: cst.Call) -> bool:
        """Whether an array of the element's shape is made with what a call gives: `row - np.mean(row)`."""
        given = {dotted_name(n) or spelling(n) for arg in call.args for n in walk(arg.value)}
        for parent in file.tree.ancestors(call):
            if isinstance(parent, cst.BinaryOperation):
                sides = [side for side in (parent.left, parent.right) if isinstance(side, cst.Name | cst.Subscript)]
                if any((dotted_name(s) or spelling(s)) in given for s in sides):
                    return True
            elif isinstance(parent, cst.BaseStatement | cst.BaseSmallStatement | cst.Call):
                return False
        return False

    def _computed_by(self, function: Function, depth: int) -> str | None:
        """The same for a function of the project that is nothing but such calls."""
        node, file = function.node, function.file
        if self.inference.definitions.decorators.may_replace(file, node) or file.yields_of.get(node):
            return None
        if isinstance(node, cst.FunctionDef) and not _is_straight(file, node, returns=True):
            return None
        if depth >= ELEMENT_CALLS.limit:
            if function.calls:
                self.inference.meet(ELEMENT_CALLS)
            return None
        computed = [self._computes(file, call, depth + 1) for call in function.calls]
        if not computed or None in computed:
            return None
        return next((f"{function.name}" for name in computed if name), "")

    def _is_stacked(self, file: File, loop: LoopNode) -> bool:
        """Whether the results form one array: then they have one shape, and so have the elements."""
        if isinstance(loop, cst.BaseComp):
            return isinstance(loop, cst.ListComp) and self._goes_into_array(file, loop)
        names = {dotted_name(c.func.value) for c in file.calls_below.get(loop, ()) if _appends(c)}  # type: ignore[attr-defined]
        if names:
            return all(name is not None and _is_list_stacked(file, loop, name) for name in names)
        return _stores_all(file, loop)

    def _goes_into_array(self, file: File, display: Expression) -> bool:
        """Whether a list is made an array where it is, or by the name that it gets."""
        parent = file.tree.parents.get(display)
        if isinstance(parent, cst.Arg):
            call = file.tree.parents.get(parent)
            return isinstance(call, cst.Call) and operation_named(file.name(call.func)).makes_of_list
        name = file.bound_to(display)
        return name is not None and _is_list_stacked(file, display, name)


def _is_list_stacked(file: File, use: Node, name: str) -> bool:
    """Whether the function around a use makes an array of a list that has a name."""
    return name in file.once(_stacked).get(file.tree.function(use), ())


def _stacked(file: File) -> dict[Node | None, set[str | None]]:
    """The names of which each function makes arrays."""
    stacked: dict[Node | None, set[str | None]] = {}
    for call in file.tree.calls:
        if operation_named(file.name(call.func)).makes_of_list:
            names = (dotted_name(node) for arg in call.args for node in walk(arg.value))
            stacked.setdefault(file.tree.function(call), set()).update(names)
    return stacked


def _draws(name: str | None) -> bool:
    return name in NUMBER_DRAWS or ((name or "").startswith("numpy.random.") and operation_named(name).draws)


def _reduces(name: str | None) -> bool:
    return operation_named(name).shape == "reduced" or name in _REDUCING


def _leaves(expr: Expression, elements: IterationFlow) -> Iterator[Expression]:
    """The names and attributes that are operands of an argument as they are, whichever the iteration is."""
    if isinstance(expr, cst.BinaryOperation):
        yield from _leaves(expr.left, elements)
        yield from _leaves(expr.right, elements)
    elif isinstance(expr, cst.Name | cst.Attribute) and not elements.holds(expr):
        yield expr


def _stores_all(file: File, loop: LoopNode) -> bool:
    """Whether an iteration gives its results away by storing them at its own index, and by nothing else."""
    indexes = names_of(loop)
    made = _assigned_in(loop)
    stores = [
        store
        for store, _ in file.tree.items_set_in(loop)
        if not (isinstance(store.value, cst.Name) and store.value.value in made)
    ]
    stores += [store for call in file.calls_below.get(loop, ()) if (store := _stored_by(call)) is not None]
    if any(_appends(call) for call in file.calls_below.get(loop, ())):
        return False
    return bool(stores) and all(
        any(isinstance(n, cst.Name) and n.value in indexes for n in _indexes(store)) for store in stores
    )


def _assigned_in(loop: LoopNode) -> set[str]:
    """The names to which an iteration assigns something of its own."""
    body = loop.body if isinstance(loop, cst.For) else loop
    assigned = (target for target in walk(body) if isinstance(target, cst.AssignTarget))
    return {target.target.value for target in assigned if isinstance(target.target, cst.Name)}


def _stored_by(call: cst.Call) -> cst.Subscript | None:
    """`x[i, ...]` of `x[i, ...].assign(v)`, as variables of TensorFlow are changed."""
    owner = call.func.value if isinstance(call.func, cst.Attribute) else None
    return owner if method_name(call) == "assign" and isinstance(owner, cst.Subscript) else None


def _is_computed_with(file: File, name: cst.Name) -> bool:
    parent = file.tree.parents.get(name)
    return isinstance(parent, cst.BinaryOperation | cst.UnaryOperation)


def _word(node: Node) -> str:
    """The name that a node is, or that an attribute has."""
    return node.value if isinstance(node, cst.Name) else node.attr.value if isinstance(node, cst.Attribute) else ""


def _appends(call: cst.Call) -> bool:
    return method_name(call) == "append" and len(call.args) == 1


def _indexes(subscript: cst.Subscript) -> Iterator[Node]:
    for element in subscript.slice:
        yield from walk(element)


def _is_plain_comprehension(loop: cst.BaseComp) -> bool:
    """Whether a comprehension keeps every element, and holds nothing that decides."""
    clause = loop.for_in
    if clause.ifs or clause.inner_for_in is not None or not isinstance(loop, cst.ListComp):
        return False
    return not any(isinstance(node, (*_BLOCKS, *_FLOW, cst.BaseComp)) for node in walk(loop.elt))


def _is_straight(file: File, block: cst.For | cst.FunctionDef, *, returns: bool = False, masks: bool = False) -> bool:
    """Whether a loop's or function's body is statements one after the other, that put nothing into attributes.

    Arguments:
        masks: `if` may be there, too: what it decides is only where something is stored, as a mask does.
    """
    for node in walk(block.body):
        if isinstance(node, cst.Return) and returns:
            continue
        if isinstance(node, cst.If) and masks and not isinstance(node.test, cst.BooleanOperation):
            continue
        if isinstance(node, (*_FLOW, *_BLOCKS, cst.If, cst.BooleanOperation, cst.BaseComp)):
            return False
        if isinstance(node, cst.For) and returns:
            return False
        if isinstance(node, cst.AssignTarget) and not _is_plain_target(node.target):
            return False
        if isinstance(node, cst.AugAssign) and not _is_plain_target(node.target):
            return False
    return True


def _is_plain_target(target: Expression) -> bool:
    if isinstance(target, cst.Tuple):
        return all(isinstance(element.value, cst.Name) for element in target.elements)
    return isinstance(target, cst.Name | cst.Subscript)


def _carries(file: File, loop: cst.For) -> bool:
    """Whether an iteration may need what another one made: a name or item that it reads before it sets it."""
    order = file.tree.order
    inner = [inner_loop for inner_loop in walk(loop.body) if isinstance(inner_loop, cst.For)]
    bound = {name for nested in (loop, *inner) for name in names_of(nested)}
    assigned: dict[str, Node] = {}
    for node in sorted(
        (n for n in walk(loop.body) if isinstance(n, cst.Assign | cst.AugAssign)), key=order.__getitem__
    ):
        targets = [target.target for target in node.targets] if isinstance(node, cst.Assign) else [node.target]
        for target in (name for left in targets for name in walk(left) if isinstance(left, cst.Name | cst.Tuple)):
            if isinstance(target, cst.Name) and target.value not in bound and target.value not in assigned:
                if isinstance(node, cst.AugAssign):
                    return True
                assigned[target.value] = node
    for name in (n for n in walk(loop.body) if isinstance(n, cst.Name) and n.value in assigned):
        first = assigned[name.value]
        assert isinstance(first, cst.Assign)
        if (
            order[name] < order[first]
            or file.tree.within(name, first.value)
            or _may_be_skipped(file, loop, first, name)
        ):
            return True
    return _reads_stored(file, loop)


def _may_be_skipped(file: File, loop: cst.For, first: Node, name: Node) -> bool:
    """Whether a name may be read in an iteration that came by its assignment, under an `if`, without running it."""
    for parent in file.tree.ancestors(first):
        if parent is loop:
            return False
        if isinstance(parent, cst.If):
            branch = parent.body if file.tree.within(first, parent.body) else parent.orelse
            if branch is None or not file.tree.within(name, branch):
                return True
    return False


def _reads_stored(file: File, loop: cst.For) -> bool:
    """Whether an iteration reads another item of what it stores into: `out[t] = x[t] + out[t + 1]`."""
    stored = [target for target, _ in file.tree.items_set_in(loop.body)]
    keys = {(dotted_name(subscript.value), spelling(subscript.slice[0])) for subscript in stored}
    targets = {id(subscript) for subscript in stored}
    for subscript in file.tree.inside(file.tree.subscripts, loop.body):
        if id(subscript) not in targets:
            key = (dotted_name(subscript.value), spelling(subscript.slice[0]))
            if key[0] in {name for name, _ in keys} and key not in keys:
                return True
    return False
