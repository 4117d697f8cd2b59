"""Weights that are frozen or thawed when Keras, or the trace of a step, no longer looks."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Literal, TypeAlias

import libcst as cst

from tflint_gpu.lazy_dataclasses import dataclass
from tflint_gpu.model import (
    Analysis,
    Event,
    Expression,
    File,
    Histories,
    Kinds,
    LoopNode,
    Once,
    Origin,
    PythonArguments,
    TracedCode,
    argument,
)
from tflint_gpu.model.library.keras_methods import OWN_TRAINING

Effect: TypeAlias = Literal["none", "never trained"]


@dataclass(frozen=True, slots=True)
class LateSetting:
    """A `trainable` that is set too late or too early.

    Arguments:
        fixing: what has read which weights are trained before it was set; of a model that is never trained its
            compilation, which reads nothing.
        training: what goes on without it, or trains nothing.
    """

    effect: Effect
    setting: Event
    fixing: Event
    training: Event


class LateSettings(Analysis):
    """The settings of `trainable` of the program that is checked."""

    histories = Once(Histories)
    kinds = Once(Kinds)
    code = Once(TracedCode)
    arguments = Once(PythonArguments)

    def all(self) -> Iterator[LateSetting]:
        """Those that have no effect, and those by which a model is never trained."""
        if self.code.functions_run_eagerly or not self.histories.sets_trainable:
            return
        if self.histories.sets_trainable_by_name:
            return
        events = self.histories.events
        if any(map(_is_eager, events)):
            return
        seen = set()
        for index, event in enumerate(events):
            if event.kind != "trainable" or event.value is None or len(event.subject) != 1 or event.node in seen:
                continue
            late = self._without_effect(events, index) or self._never_trained(events, index)
            if late is not None:
                seen.add(event.node)
                yield late

    # No effect.

    def _without_effect(self, events: Sequence[Event], index: int) -> LateSetting | None:
        setting, trainings = events[index], [event for event in events if event.is_training]
        if not trainings or not all(self._is_same_training(trainings[0], other) for other in trainings):
            return None
        fixed = self._fixed(events, index) or self._fixed_in_loop(events, index)
        if fixed is None or not self._differs(events, index, events.index(fixed[0])):
            return None
        fixing, training = fixed
        return (
            None if self._is_traced_again(setting, fixing, training) else LateSetting("none", setting, fixing, training)
        )

    def _is_traced_again(self, setting: Event, fixing: Event, training: Event) -> bool:
        """Whether a step may get what it is traced again for: where `fit` is, Keras 3 refuses what is thawed."""
        if fixing.kind == "step":
            is_other = _spelled(fixing) != _spelled(training)
            return is_other or any(self._may_be_new(training.file, value) for value in _given(training))
        return fixing.kind == "train" and not setting.value and _spelled(fixing)[:1] != _spelled(training)[:1]

    def _may_be_new(self, file: File, value: Expression) -> bool:
        """Whether a value is Python's, and another one in later calls, or compares such a one: `epoch > 5`."""
        compared = [
            (origin.file, side)
            for origin in self.inference.of(file, value)
            if isinstance(origin.node, cst.Comparison)
            for side in (origin.node.left, *(c.comparator for c in origin.node.comparisons))
        ]
        return any(self.arguments.is_new(place, side) for place, side in [(file, value), *compared])

    def _is_same_training(self, first: Event, other: Event) -> bool:
        if first.kind != other.kind or first.kind == "update" or len(first.subject) != 1 or len(other.subject) != 1:
            return False
        return self.histories.is_same(first.subject[0], other.subject[0])

    def _fixed(self, events: Sequence[Event], index: int) -> tuple[Event, Event] | None:
        """What reads the weights for certain before they are set, and the training that follows without reading."""
        setting, before = events[index], events[:index]
        reading = next((e for e in reversed(before) if e.kind == "compile" or e.is_training), None)
        if self.target.keras < 3 and reading is not None and reading.kind == "train":
            reading = next((e for e in reversed(before) if e.kind == "compile"), None)
        is_read = reading is not None and (reading.is_training or self.target.keras < 3)
        if reading is None or not is_read or not reading.is_certain_where(setting):
            return None
        for event in (*events[index + 1 :], *(e for e in before if set(e.loops) & set(setting.loops))):
            if event.kind == "compile":
                return None
            if event.is_training:
                return reading, event
        return None

    def _fixed_in_loop(self, events: Sequence[Event], index: int) -> tuple[Event, Event] | None:
        """The same of what a loop sets in a later iteration than its first: `if epoch == 10:`."""
        setting = events[index]
        around = [event for event in events if set(event.loops) & set(setting.loops)]
        if any(event.kind == "compile" for event in around) or not self._is_later(setting):
            return None
        training = next((event for event in around if event.is_training), None)
        is_read = training is not None and training.is_certain_where(setting)
        return (training, training) if training is not None and is_read else None

    def _is_later(self, setting: Event) -> bool:
        """Whether it is under a test that the first iteration of a loop that counts from 0 does not pass."""
        arm = setting.branches[-1] if setting.branches else None
        test = setting.file.tree.parents.get(arm) if arm is not None else None
        if not isinstance(test, cst.If) or not isinstance(test.test, cst.Comparison) or arm is not test.body:
            return False
        name, (compared, *more) = test.test.left, test.test.comparisons
        least = self.constants.of(setting.file, compared.comparator)
        if more or not isinstance(name, cst.Name) or not isinstance(least, int):
            return False
        is_later = isinstance(compared.operator, cst.Equal | cst.GreaterThanEqual) and least > 0
        return (is_later or (isinstance(compared.operator, cst.GreaterThan) and least >= 0)) and any(
            _counts_from_0(setting, loop, name.value) for loop in setting.loops
        )

    def _differs(self, events: Sequence[Event], index: int, fixed: int) -> bool:
        """Whether a setting is certainly another one than what held when the weights were read."""
        setting = events[index]
        whole = self.histories.whole(setting.subject[0])
        before = [event for event in events[:index] if event.kind == "trainable"]
        if setting.value:
            own = [e for e in before if any(self.histories.whole(s).node is whole.node for s in e.subject)]
            is_frozen = any(event in own for event in events[: min(fixed, index)])
            return is_frozen and all(event.value is False for event in own)
        call = whole.call
        is_given = call is not None and argument(call, -1, "trainable") is None
        return is_given and all(event.value is True for event in before)

    # Never trained.

    def _never_trained(self, events: Sequence[Event], index: int) -> LateSetting | None:
        """A model that is frozen between its compilation and its first step, where Keras 3 looks at it."""
        setting = events[index]
        model, is_part = self.histories.whole(setting.subject[0]), bool(setting.subject[0].access_path)
        if self.target.keras < 3 or setting.value or self.kinds.of(model) != "model" or self._trains_itself(model):
            return None
        before, after = events[:index], events[index + 1 :]
        compiled = next((e for e in reversed(before) if e.kind == "compile" and self._is_of(e, model)), None)
        if compiled is None or any(event.is_training and self._may_be_of(event, model) for event in before):
            return None
        others = []
        for event in after:
            if event.kind == "trainable" and event.value is not False:
                return None
            if event.kind == "compile" and not self._may_be_of(event, model):
                others.append(event)
            elif event.kind == "train" and self._is_of(event, model):
                is_certain = is_part or setting.is_certain_where(event)
                is_meant = is_certain and (others or not is_part)
                return LateSetting("never trained", setting, compiled, event) if is_meant else None
            elif event.kind != "trainable" and self._may_be_of(event, model):
                return None
        return None

    def _trains_itself(self, model: Origin) -> bool:
        cls = self.inference.instance_class(model)
        return cls is not None and any(self.inference.definitions.method(cls, name) for name in OWN_TRAINING)

    def _is_of(self, event: Event, model: Origin) -> bool:
        return len(event.subject) == 1 and self.histories.is_same(event.subject[0], model)

    def _may_be_of(self, event: Event, model: Origin) -> bool:
        """Whether something may happen to a model: it is not known to happen to another one."""
        known = event.kind != "update" and bool(event.subject)
        return not known or any(
            self.kinds.of(s) != "model" or self.histories.may_be_same(s, model) for s in event.subject
        )


def _is_eager(event: Event) -> bool:
    """Whether a model is compiled to run without a trace, or may be."""
    call = event.node
    return isinstance(call, cst.Call) and (
        argument(call, -1, "run_eagerly") is not None or any(arg.star == "**" for arg in call.args)
    )


def _given(event: Event) -> list[Expression]:
    return [arg.value for arg in event.node.args] if isinstance(event.node, cst.Call) else []


def _spelled(event: Event) -> list[str]:
    return [event.file.code(value) for value in _given(event)]


def _counts_from_0(setting: Event, loop: LoopNode, name: str) -> bool:
    """`for epoch in range(n)`, `for epoch, batch in enumerate(data)`."""
    if not isinstance(loop, cst.For) or not isinstance(loop.iter, cst.Call) or len(loop.iter.args) != 1:
        return False
    target = loop.target.elements[0].value if isinstance(loop.target, cst.Tuple) else loop.target
    counter = "enumerate" if isinstance(loop.target, cst.Tuple) else "range"
    is_counted = setting.file.names.is_builtin(loop.iter.func, counter)
    return is_counted and isinstance(target, cst.Name) and target.value == name
