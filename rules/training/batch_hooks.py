"""What callbacks of Keras run at every batch of `fit`."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice

import libcst as cst

from tflint_gpu.lazy_dataclasses import dataclass
from tflint_gpu.model import (
    Analysis,
    Class,
    File,
    Frame,
    Function,
    Guards,
    Invocation,
    Invocations,
    Kinds,
    Node,
    Once,
    argument,
    method_name,
)
from tflint_gpu.model.library.keras_methods import BATCH_HOOKS

_WORKS = {
    "predict": "`predict` runs",
    "evaluate": "`evaluate` runs",
    "save": "the model is saved",
    "save_weights": "the weights are saved",
}


@dataclass(frozen=True, slots=True)
class BatchWork:
    """Something costly that runs at every batch.

    Arguments:
        hook: the method that `fit` calls; None for a setting. path: the calls from there.
    """

    file: File
    node: Node
    text: str
    hook: Node | None
    path: tuple[Frame, ...] = ()


class BatchHooks(Analysis):
    """The callbacks in the file that is checked."""

    kinds = Once(Kinds)
    guards = Once(Guards)
    invocations = Once(Invocations)

    def works(self) -> Iterator[BatchWork]:
        """The first work of each hook, and checkpoints of every batch."""
        for node in self.file.tree.nodes(cst.FunctionDef):
            owner = self.file.tree.class_of(node) if node.name.value in BATCH_HOOKS else None
            if owner is None or not self.kinds.is_callback(Class(self.file, owner)):
                continue
            hook = self.inference.definitions.function(self.file, node)
            yield from islice(self._in(hook), 1)
        for call in self.file.calls("keras.callbacks.ModelCheckpoint"):
            often = argument(call, -1, "save_freq")
            value = self.constants.of(self.file, often) if often is not None else None
            if often is not None and type(value) is int and value == 1:
                yield BatchWork(self.file, often, "the model is saved", None)

    def _in(self, hook: Function) -> Iterator[BatchWork]:
        """The work that a hook does itself, or by functions that it calls."""
        for run in self.invocations.of_function(hook, self._runs_always):
            method = method_name(run.call) or ""
            if method in _WORKS and self._is_of_model(run.file, run.call):
                yield BatchWork(run.file, run.call.func, _WORKS[method], hook.node, run.path)

    def _is_of_model(self, file: File, call: cst.Call) -> bool:
        is_own = bool(self.inference.callees(file, call))
        return isinstance(call.func, cst.Attribute) and not is_own and self.kinds.has_method(file, call.func)

    def _runs_always(self, run: Invocation) -> bool:
        """Whether no test decides in each batch if a call runs, or if its function is left early."""
        file, call = run.file, run.call
        function = run.functions[-1].node if run.functions else run.root
        if file.tree.function(call) is not function or self.guards.is_for_debugging(file, call):
            return False
        for parent in file.tree.ancestors(call):
            if parent is function:
                break
            if isinstance(parent, cst.If | cst.IfExp | cst.BooleanOperation | cst.Try):
                return False
        return not any(
            file.tree.function(node) is function
            and any(isinstance(parent, cst.If) for parent in file.tree.ancestors(node))
            for node in file.tree.nodes(cst.Return)  # `if batch % 100: return`
        )
