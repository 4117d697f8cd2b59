"""Optimizers that train a second model, for whose weights they were not made."""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from tflint_gpu.lazy_dataclasses import dataclass
from tflint_gpu.model import (
    Analysis,
    Event,
    Expression,
    Histories,
    Kinds,
    LoopNode,
    Once,
    Origin,
    RunSite,
    argument,
    runs_once,
)
from tflint_gpu.model.library.classes import FUNCTIONAL


@dataclass(frozen=True, slots=True)
class SharedOptimizer:
    """A model that is compiled with an optimizer that has trained another one.

    Arguments:
        made: where the optimizer is made. training: what raises.
        is_in_loop: whether it is the same code in a later iteration of a loop.
    """

    compiling: Event
    made: Origin
    training: Event
    is_in_loop: bool


class SharedOptimizers(Analysis):
    """The optimizers of the program that is checked."""

    histories = Once(Histories)
    kinds = Once(Kinds)

    def all(self) -> Iterator[SharedOptimizer]:
        """The compilations after which training raises; none where weights are frozen."""
        events = self.histories.events
        if any(event.kind == "trainable" for event in events):
            return
        compiled: list[tuple[Event, Origin]] = []
        for index, event in enumerate(events):
            optimizer = self._optimizer(event) if event.kind == "compile" else None
            training = next((e for e in events[index:] if e.kind == "train" and self._is_same_model(e, event)), None)
            if optimizer is None or training is None:
                continue
            loops = [loop for loop in event.loops if loop in training.loops]
            if any(self._is_new_in(event.subject[0], loop) for loop in loops):
                yield SharedOptimizer(event, optimizer, training, is_in_loop=True)
            elif any(self._is_second(earlier, event) and made == optimizer for earlier, made in compiled):
                yield SharedOptimizer(event, optimizer, training, is_in_loop=False)
            compiled.append((event, optimizer))

    def _optimizer(self, event: Event) -> Origin | None:
        """The one object with which a model is compiled: what makes it runs once."""
        given = argument(event.node, 0, "optimizer") if isinstance(event.node, cst.Call) else None
        origins = self.inference.of(event.file, given) if given is not None else ()
        is_known = len(origins) == 1 and self.kinds.of(origins[0]) == "optimizer" and origins[0].call is not None
        if (
            given is None
            or not is_known
            or not self._is_bound_once(event, given)
            or "legacy" in (origins[0].made_by or "legacy")
        ):
            return None
        return origins[0] if runs_once(self.inference, RunSite(origins[0].file, origins[0].node)) else None

    def _is_bound_once(self, event: Event, given: Expression) -> bool:
        """Whether a name is bound by one assignment, which the loops around do not run again: `rule = rules[name]`."""
        bindings = event.file.flow.lookup(given.value, given) if isinstance(given, cst.Name) else []
        within = event.file.tree.within
        return len(bindings) == 1 and all(
            binding.kind == "assign" and not any(within(binding.node, loop) for loop in event.loops)
            for binding in bindings
        )

    def _is_new_in(self, model: Origin, loop: LoopNode) -> bool:
        """Whether each iteration makes a model, and not only its object around layers that are there before."""
        call = model.call
        outputs = argument(call, 1, "outputs") if call is not None and model.made_by in FUNCTIONAL else None
        origins = self.inference.of(model.file, outputs, model.context) if outputs is not None else ()
        return all(origin.is_made_in(loop) for origin in (model, *origins))

    def _is_same_model(self, event: Event, other: Event) -> bool:
        subjects = [*event.subject, *other.subject]
        return len(subjects) == 2 and self.histories.is_same(*subjects) and self.kinds.of(subjects[0]) == "model"

    def _is_second(self, earlier: Event, event: Event) -> bool:
        """Whether two models are made by the same code, so that they share no weights, and are both trained."""
        is_other = earlier.subject[0].node is event.subject[0].node and not self._is_same_model(earlier, event)
        trained = (e for e in self.histories.events if e.kind == "train")
        return is_other and any(self._is_same_model(e, earlier) for e in trained)
