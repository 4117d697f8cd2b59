"""Prefilters of rules about what loops repeat; see `calls`."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Set
from functools import cache

from tflint_gpu.model.library.operations import OTHER_WORK, operations
from tflint_gpu.model.python.prefilter.file_summaries import ITEM, UNNAMED, CallSummary, FileSummary
from tflint_gpu.model.python.prefilter.prefilters import FileRegion, Lazy, PrefilterScope
from tflint_gpu.model.tensorflow.prefilter.tracing import BUILTIN, is_models, is_numpys, makes_function

_MODEL_METHODS = frozenset(["call", "__call__", "build"])
_TAPES = frozenset(["GradientTape", "minimize"])
_JOINING = frozenset("concat concatenate stack vstack hstack append".split())


def _repeated(scope: PrefilterScope) -> Iterable[tuple[FileRegion, bool]]:
    """The code that a loop may repeat, or that holds such loops; whether all of it, or only what is in them.

    In the file, in what its loops run, and in what it calls elsewhere.
    """
    return scope.shared_search("repeated", lambda: _repetitions(scope, frozenset()))


def _repetitions(scope: PrefilterScope, leaving: frozenset[str]) -> Iterator[tuple[FileRegion, bool]]:
    """The same without the functions of some names."""
    own = scope.own
    words = set(own.values)  # a function that is handed on may be run by any loop
    for region in own.regions:
        if region.name not in leaving:
            yield FileRegion(own, region), False
            words |= region.in_loops
    for code in scope.reached((), words):
        yield code, True
    words = set()
    for code in scope.reached(own.regions):
        if code.summary is not own and code.region.name not in leaving:
            yield code, False
            words |= code.region.in_loops | code.summary.values
    for code in scope.reached((), words):
        yield code, True


def _repeated_calls(scope: PrefilterScope, names: frozenset[str]) -> Iterator[tuple[FileSummary, CallSummary]]:
    """The calls of something of one of some names that a loop may repeat."""
    for code, is_whole in _repeated(scope):
        if not names.isdisjoint(code.region.called):
            for call in code.region.calls:
                if call.last in names and (is_whole or call.loops):
                    yield code.summary, call


def makes_functions_again(scope: PrefilterScope) -> bool:
    """Whether a loop or a function makes objects of `tf.function`."""
    return scope.any(_makes_functions_inside)


def _makes_functions_inside(summary: FileSummary) -> bool:
    if any(region.is_inner and region.decorators for region in summary.functions):
        return True
    return any(
        (region is not summary.module or call.loops > 0) and makes_function(call)
        for region in summary.regions
        for call in region.calls
    )


def hands_values_to_functions(scope: PrefilterScope) -> bool:
    """Whether a loop may call a function that is under `tf.function` with something else than literals."""
    if scope.any(_makes_functions):
        return True
    traced = frozenset(region.name for summary in scope.all for region in summary.functions if region.decorators)
    return any(call.given for _, call in _repeated_calls(scope, traced))


def _makes_functions(summary: FileSummary) -> bool:
    return any(map(makes_function, summary.calls()))


def joins_again(scope: PrefilterScope) -> bool:
    """Whether something grows by a concatenation that a loop repeats."""
    return any(
        call.renews and (call.last != "append" or is_numpys(summary, call))
        for summary, call in _repeated_calls(scope, _JOINING)
    )


def predicts_again(scope: PrefilterScope) -> bool:
    """Whether a loop repeats a call of `predict` or `evaluate`."""
    return any(call.is_method for _, call in _repeated_calls(scope, frozenset(["predict", "evaluate"])))


def takes_gradients_again(scope: PrefilterScope) -> bool:
    """Whether a loop repeats a tape, itself or by calling a model."""
    return any(True for _ in _repeated_calls(scope, _TAPES)) or scope.any(_has_models_with_tapes)


def _has_models_with_tapes(summary: FileSummary) -> bool:
    models = filter(is_models, summary.functions)
    return any(not _TAPES.isdisjoint(code.region.called) for code in PrefilterScope(summary).reached(models))


def runs_models_again(scope: PrefilterScope) -> bool:
    """Whether a loop outside of models repeats a call that may be one of a model."""
    stored = _Members(summary.attributes for summary in scope.all)
    bound = _Members(summary.bound for summary in scope.near)
    return any(
        (is_whole or call.loops) and _may_be_model(code.summary, call, stored, bound)
        for code, is_whole in _repetitions(scope, _MODEL_METHODS)
        for call in code.region.calls
    )


class _Members:
    """Whether a name is in one of many sets; none is made before it is needed."""

    def __init__(self, sets: Iterable[Set[str]]) -> None:
        self._sets = Lazy(iter(sets))
        self._known: dict[str, bool] = {}

    def __contains__(self, name: str) -> bool:
        if name not in self._known:
            self._known[name] = any(name in names for names in self._sets)
        return self._known[name]


def _may_be_model(summary: FileSummary, call: CallSummary, stored: _Members, bound: _Members) -> bool:
    """Whether a call may be one of a model.

    Arguments:
        stored: the attributes that some file assigns, or that some object may have from a keyword.
        bound: the variables of the other files.
    """
    if not call.size or call.name == UNNAMED:
        return False
    if "training" in call.keywords or (call.is_method and call.last in ("call", "__call__")):
        return True
    if summary.library(call.name) in ("tensorflow", "keras", "numpy"):
        return False
    if call.name == ITEM:
        return True
    if call.is_method:
        return call.last in (bound if call.root in summary.imports else stored)
    if call.name in BUILTIN or call.name in summary.classes:
        return False
    if call.name in summary.imports:
        return call.name in bound
    return call.name in summary.bound or call.name not in summary.by_name


def prepares_elements(scope: PrefilterScope) -> bool:
    """Whether something is computed that a loop may do to single elements, itself or by a function of the project."""
    return scope.any(_prepares)


def _prepares(summary: FileSummary) -> bool:
    return not _works().isdisjoint(summary.called)


@cache
def _works() -> frozenset[str]:
    """The last parts of the names of operations that compute something."""
    rows = operations().items()
    names = (name for name, operation in rows if operation.computes or operation.shape == "reduced")
    return frozenset(name.rpartition(".")[2] for name in (*names, *OTHER_WORK))
