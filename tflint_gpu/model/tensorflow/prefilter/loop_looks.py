"""Whether there can be anything in what loops repeat: a first look, as in `first_looks`."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Set

from tflint_gpu.model.python.prefilter.looks import Found, Look, Place
from tflint_gpu.model.python.prefilter.sketches import UNNAMED, Sketch, SketchedCall
from tflint_gpu.model.tensorflow.loops.element_loops import WORK
from tflint_gpu.model.tensorflow.prefilter.traced_looks import BUILTIN, is_models, is_numpys, makes_function

_MODEL_METHODS = frozenset(["call", "__call__", "build"])
_TAPES = frozenset(["GradientTape"])
_JOINING = frozenset("concat concatenate stack vstack hstack append".split())


def _repeated(look: Look) -> Iterable[tuple[Place, bool]]:
    """The code that a loop may repeat, or that holds such loops; whether all of it, or only what stands in them.

    In the file, in what its loops run, and in what it calls elsewhere.
    """
    return look.found("repeated", lambda: _repetitions(look, frozenset()))


def _repetitions(look: Look, leaving: frozenset[str]) -> Iterator[tuple[Place, bool]]:
    """The same without the functions of some names."""
    own = look.own
    words = set(own.values)  # a function that is handed on may be run by any loop
    for region in own.regions:
        if region.name not in leaving:
            yield Place(own, region), False
            words |= region.in_loops
    for place in look.reached((), words):
        yield place, True
    words = set()
    for place in look.reached(own.regions):
        if place.sketch is not own and place.region.name not in leaving:
            yield place, False
            words |= place.region.in_loops | place.sketch.values
    for place in look.reached((), words):
        yield place, True


def _repeated_calls(look: Look, names: frozenset[str]) -> Iterator[tuple[Sketch, SketchedCall]]:
    """The calls of something of one of some names that a loop may repeat."""
    for place, is_whole in _repeated(look):
        if not names.isdisjoint(place.region.called):
            for call in place.region.calls:
                if call.last in names and (is_whole or call.loops):
                    yield place.sketch, call


def makes_functions_again(look: Look) -> bool:
    """Whether a loop or a function makes objects of `tf.function`."""
    return look.any(_makes_functions_inside)


def _makes_functions_inside(sketch: Sketch) -> bool:
    if any(region.is_inner and region.decorators for region in sketch.functions):
        return True
    return any(
        (region is not sketch.module or call.loops > 0) and makes_function(call)
        for region in sketch.regions
        for call in region.calls
    )


def hands_values_to_functions(look: Look) -> bool:
    """Whether a loop may call a function that is under `tf.function` with something else than literals."""
    if look.any(_makes_functions):
        return True
    traced = frozenset(region.name for sketch in look.all for region in sketch.functions if region.decorators)
    return any(call.given for _, call in _repeated_calls(look, traced))


def _makes_functions(sketch: Sketch) -> bool:
    return any(map(makes_function, sketch.calls()))


def joins_again(look: Look) -> bool:
    """Whether something grows by a concatenation that a loop repeats."""
    return any(
        call.renews and (call.last != "append" or is_numpys(sketch, call))
        for sketch, call in _repeated_calls(look, _JOINING)
    )


def predicts_again(look: Look) -> bool:
    """Whether a loop repeats a call of `predict` or `evaluate`."""
    return any(call.is_method for _, call in _repeated_calls(look, frozenset(["predict", "evaluate"])))


def takes_gradients_again(look: Look) -> bool:
    """Whether a loop repeats a tape, itself or by calling a model."""
    return any(True for _ in _repeated_calls(look, _TAPES)) or look.any(_has_models_with_tapes)


def _has_models_with_tapes(sketch: Sketch) -> bool:
    models = filter(is_models, sketch.functions)
    return any(not _TAPES.isdisjoint(place.region.called) for place in Look(sketch).reached(models))


def runs_models_again(look: Look) -> bool:
    """Whether a loop outside of models repeats a call that may be one of a model."""
    stored = _Members(sketch.attributes for sketch in look.all)
    bound = _Members(sketch.bound for sketch in look.near)
    return any(
        (is_whole or call.loops) and _may_be_model(place.sketch, call, stored, bound)
        for place, is_whole in _repetitions(look, _MODEL_METHODS)
        for call in place.region.calls
    )


class _Members:
    """Whether a name is in one of many sets; none is asked for before it has to be."""

    def __init__(self, sets: Iterable[Set[str]]) -> None:
        self._sets = Found(iter(sets))
        self._known: dict[str, bool] = {}

    def __contains__(self, name: str) -> bool:
        if name not in self._known:
            self._known[name] = any(name in one for one in self._sets)
        return self._known[name]


def _may_be_model(sketch: Sketch, call: SketchedCall, stored: _Members, bound: _Members) -> bool:
    """Whether a call may be one of a model.

    Arguments:
        stored: the attributes that some file assigns, or that some object may have from a keyword.
        bound: the variables of the other files.
    """
    if not call.size or call.name == UNNAMED:
        return False
    if "training" in call.keywords:
        return True
    if sketch.library(call.name) in ("tensorflow", "keras", "numpy"):
        return False
    if call.is_method:
        return call.last in (bound if call.root in sketch.imports else stored)
    if call.name in BUILTIN or call.name in sketch.classes:
        return False
    if call.name in sketch.imports:
        return call.name in bound
    return call.name in sketch.bound or call.name not in sketch.by_name


def prepares_elements(look: Look) -> bool:
    """Whether something is computed that a loop may do to single elements, itself or by a function of the project."""
    return look.any(_prepares)


def _prepares(sketch: Sketch) -> bool:
    return not WORK.isdisjoint(sketch.called)
