"""Weights that a training loop copies by way of the host in every step: `a.set_weights(b.get_weights())`."""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from tflint_gpu.lazy_dataclasses import dataclass
from tflint_gpu.model import (
    WEIGHT_ATTRIBUTES,
    Analysis,
    File,
    FunctionNode,
    Invocation,
    IterationFlow,
    Kinds,
    LoopNode,
    Once,
    Repetitions,
    argument,
    handed_down,
    method_name,
    names_in,
    names_of,
    walk,
)


@dataclass(frozen=True, slots=True)
class WeightCopy:
    """A `set_weights` of what some model's `get_weights` gave, in every step of training.

    Arguments:
        read: where the weights are read.
        source: the model that they are read from, where they are handed on as they are.
    """

    repeated: Invocation
    read: cst.Call
    source: cst.BaseExpression | None = None


class WeightCopies(Analysis):
    """The loops of training steps that are seen from one file."""

    kinds = Once(Kinds)
    repetitions = Once(Repetitions)

    def in_steps(self) -> Iterator[WeightCopy]:
        """The copies of whole models after each update of weights: not once an epoch, an episode or n steps."""
        for innermost in self.repetitions.of_methods("set_weights"):
            given = argument(innermost.call, 0, "weights")
            read = self._read(innermost, given) if given is not None else None
            if given is None or read is None or not self._is_model(innermost, read):
                continue
            around = list(self.repetitions.outwards(innermost))
            invocation = next(filter(self.repetitions.runs_step, around), None)
            if invocation is None or all(map(self._is_of_iteration, around)):
                continue
            if not self.repetitions.is_conditional(invocation):
                source = read.func.value if read is given and isinstance(read.func, cst.Attribute) else None
                yield WeightCopy(invocation, read, source)

    def _read(self, invocation: Invocation, given: cst.BaseExpression) -> cst.Call | None:
        """The call that reads the weights that are set: `get_weights()`, or `v.numpy()` of each variable."""
        file = invocation.file
        region: LoopNode | FunctionNode = invocation.loop
        function = file.tree.function(invocation.call)
        if invocation.path and function is not None:
            region = function
        reads = [call for call in file.calls_below.get(region, ()) if _reads_weights(file, call)]
        for read in reads:
            if IterationFlow(file, region, frozenset([read])).holds(given):
                return read
        for origin in self.inference.of(file, given, invocation.context):  # read before the loop, set in each iteration
            if origin.call is not None and origin.file is file and method_name(origin.call) == "get_weights":
                return origin.call
        return None

    def _is_model(self, invocation: Invocation, read: cst.Call) -> bool:
        """Whether one of the two is always a Keras model, and the other no layer, optimizer or the like."""
        sides = [call.func.value for call in (invocation.call, read) if isinstance(call.func, cst.Attribute)]
        return any(self.kinds.is_model(invocation.file, side, invocation.context) for side in sides) and not any(
            self.kinds.of(origin) in ("layer", "optimizer")
            for side in sides
            for origin in self.inference.of(invocation.file, side, invocation.context)
        )

    def _is_of_iteration(self, invocation: Invocation) -> bool:
        """Whether the model is another one in each iteration: over layers, or over several models."""
        assert isinstance(invocation.call.func, cst.Attribute)
        frames, _, given = handed_down(self.inference, invocation.path, invocation.file, invocation.call.func.value)
        return not frames and not names_of(invocation.loop).isdisjoint(names_in(given))


def _reads_weights(file: File, call: cst.Call) -> bool:
    if method_name(call) == "get_weights":
        return True
    if method_name(call) != "numpy":
        return False
    comprehension = next((p for p in file.tree.ancestors(call) if isinstance(p, cst.BaseComp)), None)
    return comprehension is not None and any(
        isinstance(node, cst.Attribute) and node.attr.value in WEIGHT_ATTRIBUTES
        for node in walk(comprehension.for_in.iter)
    )
