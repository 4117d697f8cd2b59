"""Optimizers that train a second model, for whose weights they were not made."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from functools import cached_property
from itertools import combinations

import libcst as cst

from tflint_gpu.lazy_dataclasses import dataclass
from tflint_gpu.model import (
    Analysis,
    Content,
    Event,
    Expression,
    File,
    Histories,
    Kinds,
    LoopNode,
    Node,
    Once,
    Origin,
    RunSite,
    argument,
    runs_once,
    walk,
)
from tflint_gpu.model.library.classes import FUNCTIONAL
from tflint_gpu.model.library.keras_methods import NEW_STEPS, WEIGHT_ATTRIBUTES

_WEIGHTS = [(Content("attribute", name),) for name in WEIGHT_ATTRIBUTES]


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


@dataclass(frozen=True, slots=True)
class SharedStep:
    """A custom step in which an optimizer updates one model and then another.

    Arguments:
        made: where the optimizer is made.
    """

    file: File
    first: cst.Call
    second: cst.Call
    made: Origin


@dataclass(frozen=True, slots=True)
class _Update:
    """An `optimizer.apply_gradients(zip(gradients, model.trainable_variables))`."""

    call: cst.Call
    optimizer: Origin
    model: Origin | None


class SharedOptimizers(Analysis):
    """The optimizers of the program that is checked."""

    histories = Once(Histories)
    kinds = Once(Kinds)

    def all(self) -> Iterator[SharedOptimizer]:
        """The compilations after which training raises; none where weights are frozen."""
        if not any(isinstance(_given(call), cst.Name) for _, call in self.histories.calls_of(NEW_STEPS)):
            return
        events = self.histories.events
        if any(event.kind == "trainable" for event in events):
            return
        compiled: dict[Node, list[tuple[Event, Origin]]] = {}  # by where the model is made
        for index, event in enumerate(events):
            optimizer = self._optimizer(event) if event.kind == "compile" else None
            training = self._next_training(event, index) if optimizer is not None else None
            if optimizer is None or training is None:
                continue
            loops = [loop for loop in event.loops if loop in training.loops]
            before = compiled.setdefault(event.subject[0].node, [])
            if any(self._is_new_in(event.subject[0], loop) for loop in loops):
                yield SharedOptimizer(event, optimizer, training, is_in_loop=True)
            elif any(
                self._is_second(earlier, event) and made == optimizer
                for earlier, made in compiled.get(event.subject[0].node, ())
            ):
                yield SharedOptimizer(event, optimizer, training, is_in_loop=False)
            before.append((event, optimizer))

    def _next_training(self, event: Event, index: int) -> Event | None:
        """The first event from a place on that trains the model of another one."""
        trained = self._trained.get(event.subject[0].node, ()) if event.subject else ()
        return next((e for place, e in trained if place >= index and self._is_same_model(e, event)), None)

    @cached_property
    def _trained(self) -> dict[Node, list[tuple[int, Event]]]:
        """The events that train one model, by where it is made, each with its place among all."""
        trained: dict[Node, list[tuple[int, Event]]] = {}
        for place, event in enumerate(self.histories.events):
            if event.kind == "train" and event.subject:
                trained.setdefault(event.subject[0].node, []).append((place, event))
        return trained

    def steps(self) -> Iterator[SharedStep]:
        """The second updates of each optimizer that is not built for both models before."""
        steps = list(self._shared_steps())
        if not steps or self.histories.may_build_optimizers:
            return
        if not any(event.kind in ("trainable", "compile") for event in self.histories.events):
            yield from steps

    def _shared_steps(self) -> Iterator[SharedStep]:
        """The same where nothing else happens to the models."""
        by_maker: dict[Node, list[_Update]] = {}
        for call in self.file.method_calls("apply_gradients"):
            if (update := self._update(call)) is not None:
                by_maker.setdefault(update.optimizer.node, []).append(update)
        for updates in by_maker.values():
            for first, second in combinations(updates, 2):
                if (
                    self.file.tree.function(first.call) is self.file.tree.function(second.call)
                    and self.histories.is_same(first.optimizer, second.optimizer)
                    and self._are_known(first.optimizer, updates)
                    and self.file.branches.precedes(first.call, second.call)
                    and self._are_apart(first.model, second.model)
                ):
                    yield SharedStep(self.file, first.call, second.call, first.optimizer)

    def _are_known(self, optimizer: Origin, updates: Iterable[_Update]) -> bool:
        """Whether the model is known of all updates that may be of one optimizer."""
        return all(u.model is not None for u in updates if self.histories.may_be_same(u.optimizer, optimizer))

    def _update(self, call: cst.Call) -> _Update | None:
        """What a call updates, where one optimizer of Keras's own does it."""
        origins = self.inference.of(self.file, call.func.value) if isinstance(call.func, cst.Attribute) else ()
        if len(origins) != 1 or not (origins[0].made_by or "legacy").startswith("keras.optimizers."):
            return None
        return None if "legacy" in (origins[0].made_by or "") else _Update(call, origins[0], self._updated(call))

    def _updated(self, call: cst.Call) -> Origin | None:
        """The one model of whose weights an update is, by their names or as they are."""
        pairs = argument(call, 0, "grads_and_vars")
        is_zip = isinstance(pairs, cst.Call) and self.file.names.is_builtin(pairs.func, "zip")
        weights = argument(pairs, 1, "") if isinstance(pairs, cst.Call) and is_zip else None
        origins = self.inference.of(self.file, weights) if weights is not None else ()
        if len(origins) != 1 or origins[0].access_path[-1:] not in _WEIGHTS:
            return None
        return replace(origins[0], access_path=origins[0].access_path[:-1])

    def _are_apart(self, *models: Origin | None) -> bool:
        """Whether models are certainly two, each of layers that nothing else has."""
        first, second = models
        if first is None or second is None or self.histories.may_be_same(first, second):
            return False
        return all(self._is_by_itself(model, other) for model, other in ((first, second), (second, first)))

    def _is_by_itself(self, model: Origin, other: Origin) -> bool:
        """Whether a model is made of nothing that is handed to what makes it, and makes no other one in itself."""
        cls = self.inference.instance_class(model)
        if model.call is None or self.kinds.of(model) != "model" or (model.made_by in FUNCTIONAL and not model.context):
            return False
        calls = [(f, place) for f, place in model.places if isinstance(place, cst.Call)]
        if model.made_by in FUNCTIONAL:
            calls = calls[1:]  # its tensors are of the function that builds it
        given = [(f, node) for f, call in calls for arg in call.args for node in walk(arg.value)]
        return not any(isinstance(n, cst.Name | cst.Attribute) and self._is_of_network(f, n) for f, n in given) and (
            cls is None or not any(cls.file.tree.within(n, cls.node) for f, n in other.places if f is cls.file)
        )

    def _is_of_network(self, file: File, node: Expression) -> bool:
        return any(self.kinds.of(o) in ("model", "layer", "tensor") for o in self.inference.of(file, node))

    def _optimizer(self, event: Event) -> Origin | None:
        """The one object with which a model is compiled: what makes it runs once."""
        given = _given(event.node) if isinstance(event.node, cst.Call) else None
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
        return is_other and self._next_training(earlier, 0) is not None


def _given(call: cst.Call) -> Expression | None:
    """The optimizer with which a model is compiled."""
    return argument(call, 0, "optimizer")
