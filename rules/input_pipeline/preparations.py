"""Loops over elements that training runs repeatedly: for each batch or epoch, or in a generator."""

from __future__ import annotations

from functools import cached_property
from typing import Literal

import libcst as cst

from tflint_gpu.lazy_dataclasses import dataclass
from tflint_gpu.model import (
    TAPES,
    Analysis,
    EagerLoops,
    Expression,
    File,
    Frame,
    Function,
    LoopData,
    LoopNode,
    Model,
    Node,
    Repetitions,
    RunSite,
    Training,
    callers,
    is_occasional,
    iterable,
    loops_around,
)

from .element_loops import ElementLoop, ElementLoops

_MARKERS = (b"np.", b"numpy", b"tf.", b"tensorflow")

Where = Literal["training loop", "generator", "sequence"]


@dataclass(frozen=True, slots=True)
class Preparation:
    """A loop over elements, and what runs it again and again.

    Arguments:
        outer: the loop that trains, the generator's call, or the method that gives a batch; in `outer_file`.
        path: the calls between them.
    """

    inner: ElementLoop
    where: Where
    outer_file: File
    outer: Node
    path: tuple[Frame, ...] = ()


class Preparations(Analysis):
    """The loops over elements that are seen from one file.

    Attributes:
        file: the one that is checked.
    """

    def __init__(self, model: Model) -> None:
        super().__init__(model)
        self.training = model.once(Training)
        self.loops = model.once(EagerLoops)
        self.repetitions = model.once(Repetitions)
        self.elements = ElementLoops(self.inference, self.training.kinds, model.once(LoopData))

    @cached_property
    def repeated(self) -> list[Preparation]:
        """Each outermost loop over elements that runs again and again."""
        preparations: list[Preparation] = []
        for file, loop in self.repetitions.loops(_MARKERS):
            if any(
                file is earlier.inner.file and file.tree.within(loop, earlier.inner.loop) for earlier in preparations
            ):
                continue
            inner = self.elements.of(file, loop)
            if inner is not None and not self._is_apart(file, loop):
                preparation = self._again(inner, RunSite(file, loop))
                if preparation is not None:
                    preparations.append(preparation)
        return preparations

    def _is_apart(self, file: File, loop: LoopNode) -> bool:
        """Whether a loop is traced, belongs to a tape, or is there for debugging."""
        if any(isinstance(parent, cst.With) and _is_tape(file, parent) for parent in file.tree.ancestors(loop)):
            return True
        return self.loops.is_no_place(file, loop)

    def _again(self, inner: ElementLoop, site: RunSite) -> Preparation | None:
        """What runs a loop, or the call that leads to it, again and again."""
        file, function, path = site.file, site.function, site.path
        generates = function is not None and bool(file.yields_of.get(function))
        around = list(site.loops())
        for outer in around:
            if is_occasional(file, site.node, outer):
                return None
            if not generates and self.training.takes_gradients(file, outer):
                return Preparation(inner, "training loop", file, outer, path)
        if not isinstance(function, cst.FunctionDef):
            return None
        callee = self.inference.definitions.function(file, function)
        if generates:
            return self._generated(inner, callee, path) if around else None
        if function.name.value == "__getitem__" and self._is_sequence(callee):
            return Preparation(inner, "sequence", file, function, path)
        if not self.loops.is_plain(callee):
            return None
        generators = (self._again(inner, caller) for caller in callers(self.inference, site))
        return next((preparation for preparation in generators if preparation is not None), None)

    def _generated(self, inner: ElementLoop, generator: Function, path: tuple[Frame, ...]) -> Preparation | None:
        """What trains on what a generator yields: `fit`, a dataset, or a loop."""
        for file in self.inference.seen.users(generator.file, generator.name):
            for call in file.method_calls("from_generator"):
                if call.args and any(
                    c.function == generator for c in self.inference.callables(file, call.args[0].value)
                ):
                    return Preparation(inner, "generator", file, call, path)
            for call in file.method_calls("fit", "fit_generator"):
                if call.args and self._is_from(file, call.args[0].value, generator):
                    return Preparation(inner, "generator", file, call, path)
            for call in file.calls_ending_with("next"):
                if call.args and self._is_from(file, call.args[0].value, generator):
                    training = (loop for loop in loops_around(file, call) if self.training.takes_gradients(file, loop))
                    if any(True for _ in training):
                        return Preparation(inner, "generator", file, call, path)
            for loop in file.tree.loops:
                data = iterable(loop)
                if (
                    data is not None
                    and self.training.takes_gradients(file, loop)
                    and self._is_from(file, data, generator)
                ):
                    return Preparation(inner, "generator", file, loop, path)
        return None

    def _is_from(self, file: File, expr: Expression, generator: Function) -> bool:
        return any(
            origin.call is not None
            and any(c.function == generator for c in self.inference.callees(origin.file, origin.call, origin.context))
            for origin in self.inference.of(file, expr)
        )

    def _is_sequence(self, method: Function) -> bool:
        return method.owner is not None and self.training.kinds.is_sequence(method.owner)


def _is_tape(file: File, block: cst.With) -> bool:
    return any(isinstance(item.item, cst.Call) and file.name(item.item.func) in TAPES for item in block.items)
