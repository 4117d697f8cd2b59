"""Keras layers that the iterations of an eager loop make and call at once, as if they were operations."""

from __future__ import annotations

from collections.abc import Container
from functools import cached_property

import libcst as cst

from tflint_gpu.lazy_dataclasses import dataclass
from tflint_gpu.model import (
    FEW_IN_ALL,
    Analysis,
    Batches,
    Construction,
    CreatedState,
    EagerLoops,
    Expression,
    File,
    Invocation,
    Invocations,
    LoopData,
    LoopNode,
    Node,
    Once,
    Origin,
    Repetitions,
    Training,
    is_occasional,
    walk,
)
from tflint_gpu.model.library.files import VALUES
from tflint_gpu.model.library.keras_methods import CELLS, DRAWN, LIGHT

_DRAWN = DRAWN.union(CELLS)
_MADE_AND_CALLED = (b")(",)
_RANDOM = ("normal", "uniform")  # how the names of initializers end that draw


@dataclass(frozen=True, slots=True)
class LayerCall:
    """A layer that is new in every iteration of a loop, in which it is called once.

    Arguments:
        run: the call of the layer.
        made: the call that makes it.
        draws: whether it draws weights each time.
    """

    run: Invocation
    made: cst.Call
    draws: bool


class LayerCalls(Analysis):
    """The layers that are made and called at once by the loops that are seen from one file."""

    loops = Once(EagerLoops)
    invocations = Once(Invocations)
    data = Once(LoopData)
    repetitions = Once(Repetitions)
    training = Once(Training)
    construction = Once(Construction)
    state = Once(CreatedState)

    @cached_property
    def repeated(self) -> list[list[LayerCall]]:
        """Those of each function or loop that certainly get values, by its innermost loop; first what draws weights."""
        innermost: dict[Node, list[LayerCall]] = {}
        for file, loop in self.loops.seen:
            for place, calls in self._in_loop(file, loop).items():
                if any(self._gets_values(call.run) and not self._is_symbolic(call.run) for call in calls):
                    innermost[place] = [call for call in calls if not self._is_symbolic(call.run)]
        return [sorted(calls, key=lambda call: not call.draws) for calls in innermost.values()]

    def _in_loop(self, file: File, loop: LoopNode) -> dict[Node, list[LayerCall]]:
        """What an iteration makes and calls at once, by the function that does, or the loop itself."""
        places: dict[Node, list[LayerCall]] = {}
        if self.data.is_at_most(file, loop, FEW_IN_ALL) or self.data.leaves_early(file, loop):
            return places
        for run in self.invocations.eager(file, loop, self._batches(file, loop), _MADE_AND_CALLED):
            call = self._layer_call(run)
            if call is not None and self._is_repeated(call):
                places.setdefault(run.functions[-1].node if run.functions else loop, []).append(call)
        if not places or not self.loops.runs_in_python(file, loop) or self.repetitions.is_timed(file, loop):
            return {}
        return places

    def _batches(self, file: File, loop: LoopNode) -> Batches:
        return self.data.batches(file, loop) or Batches(frozenset(), is_certain=False)

    def _layer_call(self, run: Invocation) -> LayerCall | None:
        made = run.call.func
        if not isinstance(made, cst.Call) or not run.call.args or self._sets_weights(run.file, made):
            return None
        name = run.file.name(made.func) or ""
        draws = self.state.has_weights(run.file, made, run.context) and any(
            _is_keras_layer(run.file.name(part.func), _DRAWN) for part in walk(made) if isinstance(part, cst.Call)
        )
        is_light = _is_keras_layer(name, LIGHT) and name != "keras.layers.Rescaling"
        return LayerCall(run, made, draws) if draws or is_light else None

    def _sets_weights(self, file: File, made: cst.Call) -> bool:
        """Whether weights are given, or an initializer that may not draw: `kernel_initializer=Constant(blur)`."""
        return any(
            name == "weights" or (name.endswith("initializer") and not self._draws(file, arg.value))
            for arg in walk(made)
            if isinstance(arg, cst.Arg) and arg.keyword is not None
            for name in (arg.keyword.value,)
            if not name.startswith("bias")
        )

    def _draws(self, file: File, initializer: Expression) -> bool:
        name = self.constants.of(file, initializer)
        return isinstance(name, str) and name.endswith(_RANDOM)

    def _is_repeated(self, call: LayerCall) -> bool:
        """Whether each iteration runs a call eagerly, and makes the same layer: none that is tried after another."""
        run = call.run
        if not self.loops.is_eager(run) or run.call in self._traced:
            return False
        if any(is_occasional(file, node, run.loop) for file, node in run.places):
            return False
        return not self.repetitions.varies(run, [arg.value for arg in call.made.args])

    def _is_symbolic(self, run: Invocation) -> bool:
        return self.construction.is_symbolic(run, run.call.args[0].value)

    @cached_property
    def _traced(self) -> frozenset[cst.Call]:
        """The calls of layers that traced code makes in every call."""
        made = (created.call for function in self.state.in_every_call for created in function)
        return frozenset(p for call in made for p in (self.file.tree.parents.get(call),) if isinstance(p, cst.Call))

    def _gets_values(self, run: Invocation) -> bool:
        """Whether a layer is called with the loop's data, with numbers, or where a tape records."""
        if any(self.training.is_under_tape(file, node) for file, node in run.places):
            return True
        given, batches = run.call.args[0].value, self._batches(run.root_file, run.loop)
        here = Batches(run.names, batches.is_certain, batches.sources)
        if batches.is_certain and self.data.holds(run.file, here, given):
            return True
        return self.inference.must_be(run.file, given, self._is_value, run.context)

    def _is_value(self, origin: Origin) -> bool:
        """Whether a value, or what it is a part of, is there while Python runs."""
        if isinstance(origin.node, cst.Subscript):
            return self.inference.must_be(origin.file, origin.node.value, _is_made_as_value, origin.context)
        return _is_made_as_value(origin)


def _is_made_as_value(origin: Origin) -> bool:
    return (origin.made_by or "").startswith(VALUES)


def _is_keras_layer(name: str | None, layers: Container[str]) -> bool:
    """Whether a name is that of one of Keras's own layers, of those whose last parts are given."""
    folder, _, last = (name or "").rpartition(".")
    return folder == "keras.layers" and last in layers
