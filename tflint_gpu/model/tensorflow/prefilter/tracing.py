"""Prefilters of rules about what TensorFlow traces; see `calls`."""

from __future__ import annotations

import ast
import builtins
from collections.abc import Iterable, Iterator

from tflint_gpu.model.library.counterparts import RAISES
from tflint_gpu.model.library.keras_methods import CREATING_METHODS, OVERRIDDEN_METHODS
from tflint_gpu.model.library.nondeterminism import DRAWING, GENERATOR_WORDS
from tflint_gpu.model.python.prefilter.file_summaries import UNNAMED, CallSummary, FileSummary, Region
from tflint_gpu.model.python.prefilter.prefilters import FileRegion, PrefilterScope
from tflint_gpu.model.python.syntax.containers import CHANGES

_KERAS_METHODS = OVERRIDDEN_METHODS | {"__call__"}
_MAKERS = frozenset("function defun wrap_function Lambda".split())
_GIVEN = frozenset(["loss", "metrics", "weighted_metrics"])
_FUNCTION, _KERAS = "tf.function", "Keras"
_TRACERS = frozenset([_FUNCTION, _KERAS])
_WITHOUT_KERAS = frozenset([_FUNCTION])
_UNTRACING = frozenset(
    "property staticmethod classmethod abstractmethod setter getter deleter cached_property contextmanager".split()
)
BUILTIN = frozenset(dir(builtins))
_RAISING = frozenset(name.rpartition(".")[2] for name in RAISES)
_DRAWING_LIBRARIES = frozenset(["numpy", "random", "time", "datetime", "uuid", UNNAMED])


def _traced(scope: PrefilterScope, *, by: frozenset[str] = _TRACERS) -> Iterable[FileRegion]:
    """The code that may run while TensorFlow traces what the file hands to it, or has in its layers."""

    def search() -> Iterator[FileRegion]:
        yield from scope.reached(list(_roots(scope.own, by)))
        yield from scope.reached((), _handed_over(scope, by))

    return scope.shared_search(f"traced by {sorted(by)}", search)


def _roots(own: FileSummary, by: frozenset[str]) -> Iterator[Region]:
    for region in own.functions:
        if (_KERAS in by and is_models(region)) or (
            _FUNCTION in by and any(decorator.rpartition(".")[2] not in _UNTRACING for decorator in region.decorators)
        ):
            yield region
    named = _given_by(own, by)
    for region in own.regions:
        if any(UNNAMED in call.given for call in region.calls if _hands_over(call, by)):
            yield region
    for name in own.by_name.keys() & named:
        yield from own.by_name[name]


def _given_by(own: FileSummary, by: frozenset[str]) -> set[str]:
    """The names of what a file hands to TensorFlow, and of what its variables may hold that it hands over."""
    named = {name for call in own.calls() if _hands_over(call, by) for name in call.given}
    if any(name not in own.by_name for name in named):  # a variable, which may hold a function
        named |= own.values
    return named


def _handed_over(scope: PrefilterScope, by: frozenset[str]) -> Iterator[str]:
    """The names that may be ones of functions of other files which this one hands to TensorFlow."""
    named = _given_by(scope.own, by)
    if named <= scope.own.by_name.keys():
        return
    yield from named
    for summary in scope.near:  # a dictionary of functions
        if not named.isdisjoint(summary.bound):
            yield from summary.values


def _hands_over(call: CallSummary, by: frozenset[str]) -> bool:
    """Whether a call may give TensorFlow or Keras a function to trace."""
    is_keras = call.last in ("compile", "Lambda") or not _GIVEN.isdisjoint(call.keywords)
    return (_KERAS in by and is_keras) or (_FUNCTION in by and makes_function(call))


def is_models(region: Region) -> bool:
    """Whether it is a method that Keras traces."""
    return bool(region.owner) and region.name in _KERAS_METHODS


def makes_function(call: CallSummary) -> bool:
    """Whether a call may make a `tf.function` of something."""
    return call.last in _MAKERS or "function" in call.given


def is_numpys(summary: FileSummary, call: CallSummary) -> bool:
    """Whether a call may be one of NumPy."""
    return call.root in ("np", "numpy") or summary.library(call.name) in ("numpy", UNNAMED)


def _numpy_call(summary: FileSummary, call: CallSummary) -> bool:
    return call.last in _RAISING and bool(call.given) and is_numpys(summary, call)


def gives_numpy_tensors(scope: PrefilterScope) -> bool:
    """Whether NumPy may get a tensor: in what is traced, or where a functional model is built."""
    own = scope.own
    if any(_numpy_call(own, call) for call in own.calls()) and any(call.last == "Input" for call in own.calls()):
        return True
    return any(_numpy_call(code.summary, call) for code in _traced(scope) for call in code.region.calls)


def draws_while_traced(scope: PrefilterScope) -> bool:
    """Whether Python may draw a number, or read a clock, in what is traced."""
    draws = False
    for code in _traced(scope):
        for call in code.region.calls if not DRAWING.isdisjoint(code.region.called) else ():
            if call.last in DRAWING:
                draws = True
                if call.root == "np" or code.summary.library(call.name) in _DRAWING_LIBRARIES:
                    return True
    return draws and scope.any(_makes_generators)


def _makes_generators(summary: FileSummary) -> bool:
    return not GENERATOR_WORDS.isdisjoint(summary.called)


def has_effects_while_traced(scope: PrefilterScope) -> bool:
    """Whether what is traced prints, opens files, or under `tf.function` changes what outlives it."""
    if any(call.name in ("print", "open") for code in _traced(scope) for call in code.region.calls):
        return True
    writes = {ast.Global, ast.Nonlocal, ast.Delete, ast.Subscript}
    return any(
        not writes.isdisjoint(code.region.syntax)
        or any(call.is_method and call.last in CHANGES for call in code.region.calls)
        for code in _traced(scope, by=_WITHOUT_KERAS)
    )


def asks_values_while_traced(scope: PrefilterScope) -> bool:
    """Whether what is traced may ask a tensor for its value: what AutoGraph converts only where Keras traces it."""
    if any(call.is_method and call.last in ("numpy", "item") for code in _traced(scope) for call in code.region.calls):
        return True
    decides = {ast.If, ast.IfExp, ast.For, ast.While}
    return any(
        not decides.isdisjoint(code.region.syntax)
        or any(call.name in ("float", "int", "bool", "range") for call in code.region.calls)
        for code in _traced(scope, by=frozenset([_KERAS]))
    )


def creates_while_traced(scope: PrefilterScope) -> bool:
    """Whether what is traced may create variables, layers or optimizers."""
    return any(_creates(code.summary, call) for code in _traced(scope) for call in code.region.calls)


def _creates(summary: FileSummary, call: CallSummary) -> bool:
    if call.last in CREATING_METHODS:
        return True
    if not call.last[:1].isupper() or call.last in BUILTIN:
        return False
    library = summary.library(call.name)
    if library in ("tensorflow", "keras"):
        parts = summary.target(call.name).split(".")
        return len(parts) > 2 or parts[-1] == "Variable"
    return library != "numpy"


def grows_list_while_traced(scope: PrefilterScope) -> bool:
    """Whether what is under `tf.function` appends to a list."""
    return any(call.last == "append" for code in _traced(scope, by=_WITHOUT_KERAS) for call in code.region.calls)
