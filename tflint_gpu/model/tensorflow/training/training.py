"""Which code updates weights: loops, functions and blocks that take gradients."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import replace
from typing import Literal

import libcst as cst

from tflint_gpu.model.library.keras_methods import TRAINING_METHODS
from tflint_gpu.model.model import Analysis, Model
from tflint_gpu.model.python.execution.callers import RunSite, ways
from tflint_gpu.model.python.execution.summaries import Summaries
from tflint_gpu.model.python.project.file import File
from tflint_gpu.model.python.project.functions import Function
from tflint_gpu.model.python.syntax.syntax import Expression, LoopNode, Node, argument, method_name
from tflint_gpu.model.python.value_flow.origins import Context
from tflint_gpu.model.tensorflow.types.kinds import Kinds
from tflint_gpu.model.tensorflow.types.tapes import TAPES, is_read

LoopKind = Literal["train", "validate", "other"]

_MARKERS = (b"GradientTape", b"apply_gradients", b"minimize", b"_on_batch", b".apply(")


class Training(Analysis):
    """Analysis of what trains."""

    def __init__(self, model: Model) -> None:
        super().__init__(model)
        self.kinds = model.once(Kinds)
        self._gradients = Summaries(
            self.inference, "weights are updated", self._updates_itself, self._functions_that_may_train
        )
        self._step_loops = Summaries(
            self.inference, "a loop has training steps", self._has_step_loop, self._functions_that_train
        )

    def takes_gradients(self, file: File, node: Node) -> bool:
        """Whether the loop, function or with block `node` updates weights, itself or by what it calls."""
        return self._gradients.holds(file, node)

    def minimized(self, file: File, call: cst.Call, context: Context | None = None) -> Expression | None:
        """The loss of a call that is a whole training step with a tape of its own: `optimizer.minimize(loss, weights)`.

        None of other calls. The loss is a function of the project, as eager execution demands where no tape is given.
        """
        loss = argument(call, 0, "loss") if method_name(call) == "minimize" else None
        if loss is None or not isinstance(call.func, cst.Attribute):
            return None
        is_optimizer = self.kinds.must_be(file, call.func.value, "optimizer", context=context)
        return loss if is_optimizer and self.inference.callables(file, loss, context) else None

    def runs_training(self, file: File, node: Node) -> bool:
        """Whether the loop or function `node` trains: as `takes_gradients`, or by `fit`."""
        fits = any(
            self.kinds.receiver(file, call, "fit", "fit_generator") is not None
            for call in file.calls_below.get(node, ())
        )
        return fits or self.takes_gradients(file, node)

    def runs_epochs(self, file: File, loop: LoopNode, few: Collection[LoopNode] = ()) -> bool:
        """Whether an iteration runs an inner loop of training steps, or `fit`.

        Arguments:
            few: loops that do not count, of a few steps of one network for each of another.
        """
        inner = (
            inner_loop for inner_loop in file.tree.loops_in(loop) if inner_loop is not loop and inner_loop not in few
        )
        calls = file.calls_below.get(loop, ())
        return (
            any(self.takes_gradients(file, inner_loop) for inner_loop in inner)
            or any(self.kinds.receiver(file, call, "fit", "fit_generator") is not None for call in calls)
            or any(self.runs_steps(file, call, few) for call in calls)
        )

    def runs_step(self, file: File, loop: LoopNode, few: Collection[LoopNode] = ()) -> bool:
        """Whether an iteration of a loop is one update of weights, or a few, and not an epoch of them."""
        return self.takes_gradients(file, loop) and not self.runs_epochs(file, loop, few)

    def runs_steps(self, file: File, call: cst.Call, few: Collection[LoopNode] = ()) -> bool:
        """Whether a call runs a loop of training steps of its own: then a loop around it is one of epochs.

        Arguments:
            few: loops that do not count.
        """
        return any(
            self._step_loops.holds(function.file, function.node) and (not few or self._has_others(function, few))
            for function in self._functions_that_train(file, call)
        )

    def _has_others(self, function: Function, few: Collection[LoopNode]) -> bool:
        """Whether a function, or one that it calls, has a loop of training steps besides some."""
        waiting, seen = [function], {function.node}
        for each in waiting:  # grows meanwhile
            if self._has_step_loop(each.file, each.node, few):
                return True
            inner = (called for call in each.calls for called in self._functions_that_train(each.file, call))
            new = {called.node: called for called in inner if called.node not in seen}
            seen |= set(new)
            waiting += new.values()
        return False

    def _has_step_loop(self, file: File, node: Node, few: Collection[LoopNode] = ()) -> bool:
        """Whether a function itself has a loop of training steps."""
        loops = (loop for loop in file.tree.loops_in(node) if file.tree.function(loop) is node and loop not in few)
        return any(self.takes_gradients(file, loop) for loop in loops)

    def _functions_that_train(self, file: File, call: cst.Call) -> Iterator[Function]:
        functions = self.inference.functions_run(file, call)
        return (function for function in functions if self.takes_gradients(function.file, function.node))

    def _updates_itself(self, file: File, node: Node) -> bool:
        return any(self._updates(file, call) for call in file.calls_below.get(node, ()))

    def _updates(self, file: File, call: cst.Call) -> bool:
        if file.name(call.func) in TAPES:
            return True
        method = method_name(call)
        if method == "apply":
            return bool(call.args) and isinstance(call.args[0].value, cst.Name) and "grad" in call.args[0].value.value
        return method in TRAINING_METHODS

    def _functions_that_may_train(self, file: File, call: cst.Call) -> Iterator[Function]:
        """The project's functions that a call runs, as far as their files have the words of training."""
        if self.inference.project.leads_to(file, file.name(call.func), _MARKERS):
            yield from self.inference.functions_run(file, call)

    def loop_kind(self, file: File, loop: LoopNode) -> LoopKind:
        """Whether a loop trains, only runs a Keras model forward, or neither."""
        if self.takes_gradients(file, loop):
            return "train"
        calls = file.calls_below.get(loop, ())
        return "validate" if any(c.args and self.kinds.is_model(file, c.func) for c in calls) else "other"

    def loop_of(self, file: File, consumer: Node) -> RunSite | None:
        """The loop that consumes a dataset: the consumer itself, or the innermost one that runs its `next(...)`."""
        site = RunSite(file, consumer)
        if isinstance(consumer, cst.For | cst.BaseComp):
            return site
        if not isinstance(consumer, cst.Call) or not takes_next(file, consumer):
            return None
        around = (replace(place, node=loop) for place in ways(self.inference, site) for loop in place.loops())
        return next(around, None)

    def is_under_tape(self, file: File, node: Node) -> bool:
        """Whether a place is in the block of a gradient tape whose gradients are taken."""
        for parent in file.tree.ancestors(node):
            if isinstance(parent, cst.With) and any(
                isinstance(item.item, cst.Call)
                and file.name(item.item.func) in TAPES
                and is_read(self.inference, file, item.item)
                for item in parent.items
            ):
                return True
            if isinstance(parent, cst.FunctionDef):
                return False
        return False

    def distributes(self, file: File) -> bool:
        """Whether a tf.distribute strategy is made in a file; it copies batches to its devices ahead of time."""
        return any(
            name != "tf.distribute.get_strategy"
            for call in file.calls("tf.distribute.*")
            if (name := file.name(call.func)) is not None
        )


def takes_next(file: File, call: cst.Call) -> bool:
    """Whether a call takes the next element of an iterator: `next(it)`, `it.next()`, `it.get_next()`."""
    if file.names.is_builtin(call.func, "next"):
        return bool(call.args)
    return method_name(call) in ("next", "get_next") and not call.args


def iterator_of(call: cst.Call) -> cst.BaseExpression:
    """The iterator of which `takes_next` says that a call takes an element."""
    return call.args[0].value if call.args else call.func.value  # type: ignore[attr-defined]
