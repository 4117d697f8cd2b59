"""What a program does to its models, in the order in which it does it: compiles, trains, freezes and thaws them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from functools import cached_property
from typing import Literal, TypeAlias

import libcst as cst

from tflint_gpu.bounds import PROGRAM_CALLS, WALK_CALLS
from tflint_gpu.lazy_dataclasses import dataclass
from tflint_gpu.model.library.keras_methods import FITTING_METHODS, NEW_STEPS, TRAINED_ATTRIBUTES, UPDATING_METHODS
from tflint_gpu.model.model import Analysis, Model
from tflint_gpu.model.python.execution.callers import RunSite, loops_around, runs_once
from tflint_gpu.model.python.execution.walks import Invocation
from tflint_gpu.model.python.project.file import File
from tflint_gpu.model.python.project.functions import Function
from tflint_gpu.model.python.syntax.children import walk
from tflint_gpu.model.python.syntax.syntax import (
    Expression,
    FunctionNode,
    LoopNode,
    Node,
    asks_for_main,
    method_name,
)
from tflint_gpu.model.python.value_flow.origins import Context, Origin
from tflint_gpu.model.tensorflow.execution.invocations import Invocations
from tflint_gpu.model.tensorflow.tracing.dynamic_writes import DynamicWrites
from tflint_gpu.model.tensorflow.tracing.tracing import Tracing
from tflint_gpu.model.tensorflow.types.kinds import Kinds

EventKind: TypeAlias = Literal["compile", "train", "step", "update", "trainable"]


@dataclass(frozen=True, slots=True)
class Event:
    """Something that a program does to a model.

    Arguments:
        kind: "compile" is all that has Keras trace its step again, "step" a call of a `tf.function` that
            reads which weights are trained, "update" an eager one of an optimizer, "trainable" sets whether weights
            are trained.
        subject: the model, or what a setting is of; the function of a step. subject_node: where it is named.
        value: what a setting gives, where that is known.
        branches: the arms of tests in which it is, also on the way to it, outermost first.
        loops: the loops in whose iterations it is, in the same order.
        context: the call in which it is executed.
    """

    kind: EventKind
    file: File
    node: Node
    subject_node: Node
    subject: tuple[Origin, ...]
    value: bool | None
    branches: tuple[Node, ...]
    loops: tuple[LoopNode, ...]
    context: Context | None

    @property
    def is_training(self) -> bool:
        """Whether it trains."""
        return self.kind in ("train", "step", "update")

    def is_certain_where(self, other: Event) -> bool:
        """Whether it runs wherever another one does: it is under no test under which the other one is not."""
        return self.branches == other.branches[: len(self.branches)]


@dataclass(frozen=True, slots=True)
class _Code:
    """The code of a module or a function, as it is run on one way.

    Arguments:
        path: the calls that lead to it.
    """

    file: File
    function: FunctionNode | None
    context: Context | None = None
    path: tuple[tuple[File, cst.Call], ...] = ()
    functions: tuple[FunctionNode, ...] = ()


class Histories(Analysis):
    """The history of the models of the program that is checked."""

    def __init__(self, model: Model) -> None:
        super().__init__(model)
        self.kinds = model.once(Kinds)
        self.invocations = model.once(Invocations)
        self.tracing = model.once(Tracing)
        self.writes = model.once(DynamicWrites)
        self._visited = 0

    @cached_property
    def events(self) -> Sequence[Event]:
        """All that happens, in order; nothing where a program is too large to be followed."""
        events = list(self._of(_Code(self.file, None)))
        return () if self._visited > PROGRAM_CALLS.limit else events

    def calls_of(self, methods: Iterable[str]) -> Iterator[tuple[File, cst.Call]]:
        """The calls of methods in all files that are seen: whether there are any is known before what happens is."""
        for method in methods:
            for file in self.inference.seen.with_text(method, self.file):
                yield from ((file, call) for call in file.method_calls(method))

    @cached_property
    def sets_trainable(self) -> bool:
        """Whether one of the files that are seen sets which weights are trained, and not as a property hands it on."""
        return any(
            not isinstance(function, cst.FunctionDef) or function.name.value != "trainable"
            for file in self.inference.seen.with_text("trainable", self.file)
            for function in (file.tree.function(assigned.target) for assigned in file.tree.attributes_set("trainable"))
        )

    @cached_property
    def sets_trainable_by_name(self) -> bool:
        """Whether `setattr(model, "trainable", ...)` sets it, too, which no event shows."""
        return any(
            write.name == "trainable"
            for file in self.inference.seen.with_text("setattr", self.file)
            for write in self.writes.of(file)
        )

    @cached_property
    def may_build_optimizers(self) -> bool:
        """Whether some `x.build(...)` may be of an optimizer; `super().build(...)` is not."""
        return any(
            isinstance(call.func, cst.Attribute)
            and not isinstance(call.func.value, cst.Call)
            and not self.kinds.must_be(file, call.func.value, "model", "layer")
            for file in self.inference.seen.users(self.file, "build")
            for call in file.method_calls("build")
        )

    def is_same(self, origin: Origin, other: Origin) -> bool:
        """Whether two values are certainly one object."""
        if origin.node is not other.node or origin.access_path != other.access_path:
            return False
        shorter, longer = sorted((origin.places, other.places), key=len)
        known = shorter if longer[: len(shorter)] == shorter else shorter[:1]  # what leads there as far as both tell
        return shorter == longer or runs_once(self.inference, RunSite(*known[-1]))

    def may_be_same(self, origin: Origin, other: Origin) -> bool:
        """Whether two values may be one object: it is made at the same place, and no other calls lead there."""
        return all(place == place_of_other for place, place_of_other in zip(origin.places, other.places, strict=False))

    def whole(self, origin: Origin) -> Origin:
        """The object whose part a value is: `base` of `base.layers[3]` and of `base.get_layer("x")`."""
        origin = origin.whole
        call = origin.call
        if call is not None and isinstance(call.func, cst.Attribute) and call.func.attr.value == "get_layer":
            owners = self.inference.of(origin.file, call.func.value, origin.context)
            return self.whole(owners[0]) if len(owners) == 1 else origin
        return origin

    def _of(self, code: _Code) -> Iterator[Event]:
        file, tree = code.file, code.file.tree
        settings = {
            a.target: a.value
            for a in tree.attributes_set("trainable", "train_function")
            if tree.function(a.target) is code.function
        }
        calls = file.calls_in.get(code.function, ())
        for node in sorted((*calls, *settings), key=lambda node: (tree.end(node), -tree.order[node])):
            if isinstance(node, cst.Call):
                yield from self._of_call(code, node)
            elif node.attr.value == "train_function":
                yield self._event(code, "compile", node, node.value)
            else:
                value = settings[node]
                known = self.constants.of(file, value, code.context)
                yield self._event(code, "trainable", node, node.value, known if isinstance(known, bool) else None)

    def _of_call(self, code: _Code, call: cst.Call) -> Iterator[Event]:
        self._visited += 1
        if self._visited > PROGRAM_CALLS.limit:
            self.inference.meet(PROGRAM_CALLS)
            return
        func, kind = call.func, self._kind(code, call)
        if kind is not None and isinstance(func, cst.Attribute):
            yield self._event(code, kind, call, func.value)
        else:
            yield from self._of_functions(code, call)

    def _kind(self, code: _Code, call: cst.Call) -> EventKind | None:
        """What a call of a method of Keras's own does to a model; of `train_on_batch` the name says it."""
        file, func, method = code.file, call.func, method_name(call)
        if not isinstance(func, cst.Attribute) or self.inference.callees(file, call, code.context):
            return None
        if method in UPDATING_METHODS:
            return "update" if self.kinds.must_be(file, func.value, "optimizer", context=code.context) else None
        if method not in NEW_STEPS and method not in FITTING_METHODS:
            return None
        is_of_model = method == "train_on_batch" or self.kinds.is_model(file, func.value, code.context)
        kind: EventKind = "compile" if method in NEW_STEPS else "train"
        return kind if is_of_model else None

    def _of_functions(self, code: _Code, call: cst.Call) -> Iterator[Event]:
        """What the functions do that a call runs."""
        file = code.file
        run = [run.function for run in self.inference.runs(file, call, code.context)]
        if any(self.tracing.is_wrapped(f.file, f.node) and _reads_trainable(f) for f in run):
            yield self._event(code, "step", call, call.func)
            return
        if len(code.path) >= WALK_CALLS.limit:
            self.inference.meet(WALK_CALLS)
            return
        functions = self.invocations.entered_by_program(Invocation(file, call, code.context, file, None))
        for entered in functions:
            function = entered.callee.function
            if function.node not in code.functions:
                path, above = (*code.path, (file, call)), (*code.functions, function.node)
                yield from self._of(_Code(function.file, function.node, entered.context, path, above))

    def _event(self, code: _Code, kind: EventKind, node: Node, owner: Expression, value: bool | None = None) -> Event:
        subject = self.inference.of(code.file, owner, code.context)
        places = [*code.path, (code.file, node)]
        branches = [arm for file, place in places for arm in reversed(list(_arms(file, place)))]
        loops = [loop for file, place in places for loop in reversed(list(loops_around(file, place)))]
        way = (tuple(branches), tuple(loops), code.context)
        return Event(kind, code.file, node, owner, tuple(subject), value, *way)


def _arms(file: File, node: Node) -> Iterator[Node]:
    """The arms of tests, of the same function, in which a place is, innermost first."""
    function, child = file.tree.function(node), node
    for parent in file.tree.ancestors(node):
        if parent is function:
            return
        is_test = isinstance(parent, cst.If) and not asks_for_main(parent.test) and child is not parent.test
        is_choice = isinstance(parent, cst.IfExp | cst.BooleanOperation) or isinstance(
            child, cst.ExceptHandler | cst.MatchCase
        )
        if is_test or is_choice:
            yield child
        child = parent


def _reads_trainable(function: Function) -> bool:
    return any(isinstance(n, cst.Attribute) and n.attr.value in TRAINED_ATTRIBUTES for n in walk(function.node.body))
