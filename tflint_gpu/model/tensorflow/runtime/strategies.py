"""What runs inside and what outside of the scopes of `tf.distribute` strategies."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Literal, TypeAlias

import libcst as cst

from tflint_gpu.model.library.devices import SCOPES_OF_OTHERS, STRATEGIES
from tflint_gpu.model.model import Analysis, Model
from tflint_gpu.model.python.execution.callers import EveryWay, RunSite
from tflint_gpu.model.python.project.file import File
from tflint_gpu.model.python.syntax.syntax import FunctionNode, Node, method_name
from tflint_gpu.model.python.value_flow.origins import Context, Origin

ScopeSide: TypeAlias = Literal["inside", "outside", "unknown"]

# Any of these in a program's files may enter a scope where no with statement shows it.
_HIDDEN_ENTRANCES = (b"experimental_set_strategy", b"enter_context", b".__enter__(")


class Strategies(Analysis):
    """The scopes of strategies, seen from one file."""

    def __init__(self, model: Model) -> None:
        super().__init__(model)
        self._inside = EveryWay(self.inference, self._is_inside)
        self._outside = EveryWay(self.inference, self._is_outside)

    def side(self, file: File, node: Node, context: Context | None = None) -> ScopeSide:
        """Whether a node always runs inside the scope of a strategy, or always outside of all.

        Arguments:
            context: the call of its function that is meant; None: all of them.
        """
        return "unknown" if self.are_hidden else self._side(RunSite(file, node), context)

    def _side(self, site: RunSite, context: Context | None) -> ScopeSide:
        own, function = self.within(site.file, site.node, context), site.function
        if own != "outside" or function is None:
            return own
        while context is not None and context.function is not function:
            context = context.caller
        if context is None or context.call is None or context.file is None or self._may_be_replaced(site):
            return "inside" if self._inside.holds(site) else "outside" if self._outside.holds(site) else "unknown"
        called = self._side(RunSite(context.file, context.call), context.caller)
        return called if called != "unknown" else self.of_uncalled(site.file, function)

    def _is_inside(self, site: RunSite) -> bool | None:
        own = self.within(site.file, site.node)
        return own == "inside" if own != "outside" or self._may_be_replaced(site) else None

    def _is_outside(self, site: RunSite) -> bool | None:
        if self.within(site.file, site.node) != "outside":
            return False
        function = site.function
        if function is None or self.of_uncalled(site.file, function) == "outside":
            return True
        return False if self._may_be_replaced(site) else None

    def _may_be_replaced(self, site: RunSite) -> bool:
        function = site.function
        decorators = self.inference.definitions.decorators
        return isinstance(function, cst.FunctionDef) and decorators.may_replace(site.file, function)

    @property
    def are_hidden(self) -> bool:
        """Whether the program may enter a scope where no with statement shows it."""
        return self.inference.project.program_mentions(self.inference.entry.source, _HIDDEN_ENTRANCES)

    def within(self, file: File, node: Node, context: Context | None = None) -> ScopeSide:
        """On which side of the scopes a node is that its own function, or its module, enters around it."""
        child = node
        for parent in file.tree.ancestors(node):
            if isinstance(parent, cst.FunctionDef | cst.Lambda):
                break
            if isinstance(parent, cst.ClassDef):
                return "unknown"
            if isinstance(parent, cst.With) and child is parent.body:
                entered = self._entered(file, parent, context)
                if entered != "outside":
                    return entered
            child = parent
        return "outside"

    def of_uncalled(self, file: File, function: FunctionNode) -> ScopeSide:
        """Where a function runs that nothing is seen to call: its own strategy may allow one side only."""
        return (
            "outside" if isinstance(function, cst.FunctionDef) and self._enters_its_own(file, function) else "unknown"
        )

    def _entered(self, file: File, block: cst.With, context: Context | None) -> ScopeSide:
        """Whether a with statement enters the scope of a strategy, or never does."""
        return _joined(self._entered_by(file, item, context) for item in block.items)

    def _entered_by(self, file: File, item: cst.WithItem, context: Context | None) -> ScopeSide:
        origins = self.inference.of(file, item.item, context)
        sides: set[ScopeSide] = {self._opened(origin) for origin in origins}
        return sides.pop() if len(sides) == 1 else "unknown"

    def _opened(self, origin: Origin) -> ScopeSide:
        call = origin.call
        if call is None:
            return "unknown"
        if method_name(call) == "scope" and isinstance(call.func, cst.Attribute):
            distributes = self.inference.must_be(origin.file, call.func.value, distributes_work, origin.context)
            return "inside" if distributes else "unknown"
        named = origin.made_by or (call.func.value if isinstance(call.func, cst.Name) else None)
        return "outside" if named in SCOPES_OF_OTHERS or method_name(call) == "as_default" else "unknown"

    def _enters_its_own(self, file: File, function: cst.FunctionDef) -> bool:
        """Whether a function enters the scope of a strategy that it makes: inside of another scope that raises."""

        def is_own(origin: Origin) -> bool:
            return distributes_work(origin) and origin.file is file and file.tree.function(origin.node) is function

        return any(
            isinstance(call.func, cst.Attribute)
            and isinstance(file.tree.parents[call], cst.WithItem)
            and self.inference.must_be(file, call.func.value, is_own)
            for call in file.calls_in.get(function, ())
            if method_name(call) == "scope"
        )


def distributes_work(origin: Origin) -> bool:
    """Whether a value is a strategy other than the default one, which does nothing."""
    return origin.made_by in STRATEGIES


def _joined(sides: Iterable[ScopeSide]) -> ScopeSide:
    """The side inside several blocks, each inside the one before."""
    known = set(sides)
    if "inside" in known:
        return "inside"
    return "unknown" if "unknown" in known else "outside"
