"""Which code trains and which only validates: loops, functions and blocks that take gradients."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Literal

import libcst as cst

from tflint_gpu.model.python.functions import Function
from tflint_gpu.model.python.syntax import Expression, LoopNode, Node, method_name
from tflint_gpu.model.tensorflow.execution import Step

if TYPE_CHECKING:
    from tflint_gpu.model.model import Model

LoopKind = Literal["train", "validate", "other"]

TAPES = frozenset(["tf.GradientTape"])
_APPLYING = frozenset(["apply_gradients", "minimize", "train_on_batch", "apply"])
UPDATES = _APPLYING | {"assign_sub", "assign_add", "assign"}
_MARKERS = (b"GradientTape", b"apply_gradients", b"minimize", b"_on_batch", b".apply(")
# `strategy.run(step, args=...)` runs the function that it is given.
_STRATEGY_RUNS = frozenset(["run", "experimental_run_v2"])
_DEPTH_LIMIT = 4


@dataclass(frozen=True, slots=True)
class EagerStep:
    """A gradient tape that a loop runs eagerly.

    Arguments:
        model: the file of the tape. loop: in the file that was asked. path: the calls between them.
    """

    model: Model
    tape: cst.Call
    loop: LoopNode
    path: tuple[Step, ...] = ()


@dataclass(frozen=True, slots=True)
class EagerForward:
    """A model call that a loop over a dataset runs eagerly, without gradients."""

    model: Model
    call: cst.Call
    loop_model: Model
    loop: LoopNode


class Training:
    """Questions about training in one file."""

    def __init__(self, model: Model) -> None:
        self.model = model
        self._kinds: dict[tuple[Node, Model | None], LoopKind] = {}
        self._gradients: dict[Node, bool] = {}

    @cached_property
    def _calls_below(self) -> dict[Node, list[cst.Call]]:
        """The calls lexically inside each loop and function."""
        result: dict[Node, list[cst.Call]] = {}
        for call in self.model.tree.calls:
            for parent in self.model.tree.ancestors(call):
                if isinstance(parent, cst.For | cst.While | cst.FunctionDef | cst.With):
                    result.setdefault(parent, []).append(call)
        return result

    def calls_below(self, node: Node) -> list[cst.Call]:
        """The calls lexically inside a loop, function or with statement."""
        return self._calls_below.get(node, [])

    def takes_gradients(self, node: Node, depth: int = 0) -> bool:
        """Whether the loop, function or with block `node` updates weights, itself or by what it calls."""
        if node in self._gradients:
            return self._gradients[node]
        self._gradients[node] = False
        result = any(self._updates(call) for call in self.calls_below(node))
        if not result and depth < _DEPTH_LIMIT:
            result = any(f.model.training.takes_gradients(f.node, depth + 1) for f in self.functions_run(node))
        self._gradients[node] = result
        return result

    def _updates(self, call: cst.Call) -> bool:
        if self.model.name(call.func) in TAPES:
            return True
        method = method_name(call)
        if method == "apply":
            return bool(call.args) and isinstance(call.args[0].value, cst.Name) and "grad" in call.args[0].value.value
        return method in _APPLYING

    def functions_run(self, node: Node) -> Iterator[Function]:
        """The project's functions that the code in `node` calls, or hands to `strategy.run`, and that may train."""
        for call in self.calls_below(node):
            if self.model.project.leads_to(self.model, self.model.name(call.func), _MARKERS):
                yield from self.functions_called(call)

    def loop_kind(self, loop: LoopNode) -> LoopKind:
        """Whether a loop trains, only runs a Keras model forward, or neither."""
        key = (loop, self.model.project.current)
        if key not in self._kinds:
            if self.takes_gradients(loop):
                self._kinds[key] = "train"
            elif any(self.model.keras_models.is_model(c.func) for c in self.calls_below(loop) if c.args):
                self._kinds[key] = "validate"
            else:
                self._kinds[key] = "other"
        return self._kinds[key]

    @cached_property
    def is_stateful(self) -> bool:
        """Whether a stateful RNN is built, whose batch size is part of its shape."""
        return any(
            arg.keyword is not None and arg.keyword.value == "stateful" and self.model.value(arg.value) is True
            for call in self.model.tree.calls
            for arg in call.args
        )

    @cached_property
    def distributes(self) -> bool:
        """Whether a tf.distribute strategy is made here; it copies batches to its devices ahead of time."""
        return any(
            name != "tf.distribute.get_strategy"
            for call in self.model.calls("tf.distribute.*")
            if (name := self.model.name(call.func)) is not None
        )

    @cached_property
    def eager_steps(self) -> list[EagerStep]:
        """The training steps that loops of this file run without tf.function, innermost loop each."""
        innermost: dict[cst.Call, EagerStep] = {}
        if self.model.runtime.is_graph_mode:
            return []
        for loop in self.model.tree.loops:
            if self.runs_traced(loop) or self._may_be_hook(loop) or self.model.guards.is_for_debugging(loop):
                continue
            for model, call, path in self._run_by(loop):
                if model.name(call.func) in TAPES and self._is_step(model, call, loop):
                    innermost[call] = EagerStep(model, call, loop, path)
        by_loop: dict[LoopNode, EagerStep] = {}
        for step in innermost.values():  # a step may hold several tapes: one finding for all of them
            by_loop.setdefault(step.loop, step)
        return list(by_loop.values())

    def _may_be_hook(self, loop: LoopNode) -> bool:
        """Whether the loop is in a method that a base class may call, and may have put under tf.function."""
        function = self.model.tree.function(loop)
        owner = self.model.tree.class_of(function) if isinstance(function, cst.FunctionDef) else None
        if owner is None or not owner.bases or not isinstance(function, cst.FunctionDef):
            return False
        return function.name.value in self._used_as_values or not self.model.functions.callers(function)

    @cached_property
    def eager_forwards(self) -> list[EagerForward]:
        """The model calls that loops over whole datasets run without tf.function."""
        found: dict[LoopNode, EagerForward] = {}
        if self.model.runtime.is_graph_mode:
            return []
        for item in self.model.pipelines.consumptions:
            training = item.model.training
            loop = training.loop_of(item.node)
            if item.kind not in ("validate", "iterate") or loop is None or item.chain.is_short:
                continue
            if _breaks(loop) or training.takes_gradients(loop) or training.runs_traced(loop):
                continue
            for model, call, _ in training._run_by(loop):
                if call.args and model.keras_models.is_model(call.func) and not model.training.forward_is_traced(call):
                    found.setdefault(loop, EagerForward(model, call, item.model, loop))
        return list(found.values())

    def loop_of(self, consumer: Node) -> LoopNode | None:
        """The loop that consumes a dataset: the consumer itself, or the innermost one around its `next(...)`."""
        if isinstance(consumer, cst.For):
            return consumer
        if not isinstance(consumer, cst.Call) or not self.model.names.is_builtin(consumer.func, "next"):
            return None
        function = self.model.tree.function(consumer)
        for parent in self.model.tree.ancestors(consumer):
            if isinstance(parent, cst.For | cst.While) and self.model.tree.function(parent) is function:
                return parent
        return None

    def iterated_by_next(self, loop: LoopNode) -> Iterator[tuple[Model, Expression]]:
        """What the loop reads by `next(iterator)`: the argument of the `iter(...)` that made each iterator."""
        for call in self.calls_below(loop):
            if not self.model.names.is_builtin(call.func, "next") or not call.args:
                continue
            for origin in self.model.functions.origins(call.args[0].value):
                made = origin.node if origin is not None else None
                if origin is None or not isinstance(made, cst.Call) or not made.args:
                    continue
                if origin.model.names.is_builtin(made.func, "iter"):
                    yield origin.model, made.args[0].value

    def runs_traced(self, loop: LoopNode) -> bool:
        """Whether the loop stands in a function that is or may be traced."""
        function = self.model.tree.function(loop)
        return function is not None and self.model.execution.is_traced(function)

    def _run_by(self, loop: LoopNode) -> Iterator[tuple[Model, cst.Call, tuple[Step, ...]]]:
        """Every call that a turn of the loop runs eagerly, here or in functions of the project."""
        function = self.model.tree.function(loop)
        queue: list[tuple[Model, list[cst.Call], tuple[Step, ...]]] = [
            (self.model, [c for c in self.calls_below(loop) if self.model.tree.function(c) is function], ())
        ]
        seen: set[Node] = set()
        while queue:
            model, calls, path = queue.pop()
            for call in calls:
                yield model, call, path
                for called in model.training.functions_called(call):
                    if (
                        called.node in seen
                        or len(path) >= _DEPTH_LIMIT
                        or not called.model.training.is_plainly_eager(called)
                    ):
                        continue
                    seen.add(called.node)
                    step = Step(model, call, f"calls `{called.name}`")
                    queue.append((called.model, called.model.functions.calls_in.get(called.node, []), (*path, step)))

    def functions_called(self, call: cst.Call) -> Iterator[Function]:
        """The project's functions that a call runs, also through `strategy.run`."""
        called = self.model.functions.called(call)
        if called is not None:
            yield called
        if method_name(call) in _STRATEGY_RUNS and call.args:
            given = self.model.functions.named(call.args[0].value)
            if given is not None:
                yield given

    def is_plainly_eager(self, function: Function) -> bool:
        """Whether nothing can have put the function under tf.function: no wrapper, no unknown decorator, no alias."""
        if self.model.execution.is_traced(function.node) or not isinstance(function.node, cst.FunctionDef):
            return False
        if self.model.functions.may_be_replaced(function.node):
            return False
        return function.name not in self._used_as_values

    @cached_property
    def _used_as_values(self) -> frozenset[str]:
        """Names of functions and methods that are handed around, and not only called."""
        found: set[str] = set()
        for node, parent in self.model.tree.parents.items():
            if isinstance(node, cst.Attribute):
                name = node.attr.value
            elif isinstance(node, cst.Name):
                name = node.value
            else:
                continue
            if isinstance(parent, cst.Call | cst.AssignTarget | cst.FunctionDef | cst.Param | cst.Attribute):
                continue
            call = self.model.tree.parents.get(parent)
            if isinstance(parent, cst.Arg) and isinstance(call, cst.Call) and method_name(call) in _STRATEGY_RUNS:
                continue
            found.add(name)
        return frozenset(found)

    def _is_step(self, model: Model, tape: cst.Call, loop: LoopNode) -> bool:
        """Whether the weights are updated beside the tape."""
        function = model.tree.function(tape)
        beside = model.functions.calls_in.get(function, []) if function is not None else []
        return any(method_name(c) in UPDATES for c in [*beside, *self.calls_below(loop)])

    def forward_is_traced(self, call: cst.Call) -> bool:
        """Whether the model's own `call` is under tf.function."""
        for assignment in self.model.tree.attribute_assignments:
            if assignment.target.attr.value in ("call", "__call__"):
                return True
        cls = self.model.functions.instance_class(call.func)
        method = cls.model.classes.method(cls, "call") if cls is not None else None
        return method is not None and method.node in method.owner.model.execution.wrapped


def _breaks(loop: LoopNode) -> bool:
    """Whether the loop may leave early: then it does not run over the whole dataset."""
    stack: list[Node] = [loop.body]
    while stack:
        node = stack.pop()
        if isinstance(node, cst.Break):
            return True
        if not isinstance(node, cst.For | cst.While | cst.FunctionDef | cst.BaseExpression):
            stack.extend(node.children)
    return False
