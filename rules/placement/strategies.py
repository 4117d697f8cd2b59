"""What runs inside and what outside of the scopes of `tf.distribute` strategies."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Literal, TypeAlias

import libcst as cst

from tflint_gpu.bounds import STRATEGY_CALLS, STRATEGY_SITES
from tflint_gpu.model import Analysis, Context, File, Model, Node, Origin, method_name

Place: TypeAlias = Literal["inside", "outside", "unknown"]

_FOLDERS = ("tf.distribute.", "tf.distribute.experimental.", "tf.compat.v1.distribute.")
_DISTRIBUTING = frozenset(
    (
        "MirroredStrategy MultiWorkerMirroredStrategy OneDeviceStrategy CentralStorageStrategy TPUStrategy "
        "ParameterServerStrategy"
    ).split()
)
# What a with statement enters that is certainly no strategy's scope.
_OTHER_BLOCKS = frozenset(
    (
        "open tf.device tf.name_scope tf.GradientTape tf.summary.create_file_writer tf.init_scope keras.device "
        "keras.name_scope warnings.catch_warnings tempfile.TemporaryDirectory contextlib.suppress tqdm tqdm.tqdm"
    ).split()
)
# Any of these in a program's files may enter a scope where no with statement shows it.
_HIDDEN_ENTRANCES = (b"experimental_set_strategy", b"enter_context", b".__enter__(")


class Strategies(Analysis):
    """The scopes of strategies, seen from one file."""

    def __init__(self, model: Model) -> None:
        super().__init__(model)
        self._callers: dict[Node, Place] = {}

    def place(self, file: File, node: Node, context: Context | None = None, depth: int = 0) -> Place:
        """Whether a node always runs inside the scope of a strategy, or always outside of all.

        Arguments:
            context: the call of its function that is meant; None: all of them.
        """
        if depth == 0 and self.inference.project.program_mentions(self.inference.entry.source, _HIDDEN_ENTRANCES):
            return "unknown"
        child = node
        for parent in file.tree.ancestors(node):
            if isinstance(parent, cst.With) and child is parent.body:
                entered = self._entered(file, parent, context)
                if entered != "outside":
                    return entered
            elif isinstance(parent, cst.FunctionDef):
                return self._place_of_function(file, parent, context, depth)
            elif isinstance(parent, cst.Lambda | cst.ClassDef):
                return "unknown"
            child = parent
        return "outside"

    def _entered(self, file: File, block: cst.With, context: Context | None) -> Place:
        """Whether a with statement enters the scope of a strategy, or never does."""
        return _joined(self._entered_by(file, item, context) for item in block.items)

    def _entered_by(self, file: File, item: cst.WithItem, context: Context | None) -> Place:
        origins = self.inference.of(file, item.item, context)
        places: set[Place] = {self._opened(origin) for origin in origins}
        return places.pop() if len(places) == 1 else "unknown"

    def _opened(self, origin: Origin) -> Place:
        call = origin.call
        if call is None:
            return "unknown"
        if method_name(call) == "scope" and isinstance(call.func, cst.Attribute):
            distributes = self.inference.must_be(origin.file, call.func.value, distributes_work, origin.context)
            return "inside" if distributes else "unknown"
        named = origin.made_by or (call.func.value if isinstance(call.func, cst.Name) else None)
        return "outside" if named in _OTHER_BLOCKS or method_name(call) == "as_default" else "unknown"

    def _place_of_function(self, file: File, function: cst.FunctionDef, context: Context | None, depth: int) -> Place:
        """Where a function runs: as its call, or as all of them, or where nothing but its own strategy allows it."""
        place = self._place_of_calls(file, function, context, depth)
        return "outside" if place == "unknown" and self._enters_its_own(file, function) else place

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

    def _place_of_calls(self, file: File, function: cst.FunctionDef, context: Context | None, depth: int) -> Place:
        if self.inference.definitions.decorators.may_replace(file, function):
            return "unknown"
        if depth >= STRATEGY_CALLS.limit:
            self.inference.meet(STRATEGY_CALLS)
            return "unknown"
        while context is not None and context.function is not function:
            context = context.caller
        if context is not None and context.call is not None and context.file is not None:
            return self.place(context.file, context.call, context.caller, depth + 1)
        if function not in self._callers:
            self._callers[function] = "unknown"  # for one that calls itself
            sites = self.inference.call_sites(self.inference.definitions.function(file, function))
            places = {
                self.place(site, call, None, depth + 1) for site, call in self.inference.first(STRATEGY_SITES, sites)
            }
            known = len(places) == 1 and len(sites) <= STRATEGY_SITES.limit
            self._callers[function] = places.pop() if known else "unknown"
        return self._callers[function]


def distributes_work(origin: Origin) -> bool:
    """Whether a value is a strategy other than the default one, which does nothing."""
    folder, _, last = (origin.made_by or "").rpartition(".")
    return f"{folder}." in _FOLDERS and last in _DISTRIBUTING


def _joined(places: Iterable[Place]) -> Place:
    """The place inside several blocks, each inside the one before."""
    known = set(places)
    if "inside" in known:
        return "inside"
    return "unknown" if "unknown" in known else "outside"
