"""Whether there can be anything in a file that a rule would report: what a first look at its sketch tells.

A rule names its questions in `Rule.questions`. Each gets the sketch of the file, and those of the files that its imports
reach when it asks for them; "no" means: surely nothing. So each is wider than the rule, and tells by names alone.
"""

from __future__ import annotations

import ast
import builtins
from collections.abc import Iterator

from tflint_gpu.model.python.sketches import UNNAMED, Look, Place, Region, Sketch, SketchedCall
from tflint_gpu.model.tensorflow.counterparts import RAISES
from tflint_gpu.model.tensorflow.created_state import CREATING_METHODS
from tflint_gpu.model.tensorflow.element_loops import WORK
from tflint_gpu.model.tensorflow.frozen_values import DRAWING, GENERATORS
from tflint_gpu.model.tensorflow.program import TRAINING_WORDS
from tflint_gpu.model.tensorflow.side_effects import CHANGES

_KERAS_METHODS = frozenset("call __call__ train_step test_step predict_step compute_loss update_state".split())
_MAKERS = frozenset("function defun wrap_function Lambda".split())
_UNTRACING = frozenset(
    "property staticmethod classmethod abstractmethod setter getter deleter cached_property contextmanager".split()
)
_BUILTIN = frozenset(dir(builtins))
_RAISING = frozenset(name.rpartition(".")[2] for name in RAISES)
_DRAWING_LIBRARIES = frozenset("numpy random time datetime uuid".split())
_MODEL_METHODS = frozenset(["call", "__call__", "build"])
_JOINING = frozenset("concat concatenate stack vstack hstack append".split())
_FITTING = {"fit": 3, "evaluate": 3, "predict": 2}
_PYTHON_FUNCTIONS = frozenset("py_function numpy_function py_func".split())


# What TensorFlow traces.


def _traced(look: Look, *, by_keras: bool = True) -> Iterator[Place]:
    """The functions that may run while TensorFlow traces what the file hands to it, or has in its layers."""
    regions = list(_roots(look.own, by_keras=by_keras))
    return (place for place in look.reached(regions) if place.region is not place.sketch.module)


def _roots(own: Sketch, *, by_keras: bool) -> Iterator[Region]:
    named: set[str] = set()
    for region in own.functions:
        is_keras = by_keras and bool(region.owner) and region.name in _KERAS_METHODS
        if is_keras or any(one.rpartition(".")[2] not in _UNTRACING for one in region.decorators):
            yield region
    for region in own.regions:
        for call in region.calls:
            is_compile = call.last == "compile" or "loss" in call.keywords or "metrics" in call.keywords
            if call.last in _MAKERS or "function" in call.given or (by_keras and is_compile):
                named.update(call.given)
                if UNNAMED in call.given:
                    yield region
    if any(name != UNNAMED and name not in own.by_name for name in named):  # a variable, which may hold a function
        named |= own.values
    for name in own.by_name.keys() & named:
        yield from own.by_name[name]


def _numpy_call(sketch: Sketch, call: SketchedCall) -> bool:
    if call.last not in _RAISING or not call.given:
        return False
    return call.root in ("np", "numpy") or sketch.library(call.name) == "numpy"


def gives_numpy_tensors(look: Look) -> bool:
    """Whether NumPy may get a tensor: in what is traced, or where a functional model is built."""
    own = look.own
    if any(_numpy_call(own, call) for call in own.calls()) and any(call.last == "Input" for call in own.calls()):
        return True
    return any(_numpy_call(place.sketch, call) for place in _traced(look) for call in place.region.calls)


def draws_while_traced(look: Look) -> bool:
    """Whether Python may draw a number, or read a clock, in what is traced."""
    drawn = [(place.sketch, call) for place in _traced(look) for call in place.region.calls if call.last in DRAWING]
    if any(call.root == "np" or sketch.library(call.name) in _DRAWING_LIBRARIES for sketch, call in drawn):
        return True
    return bool(drawn) and any(call.last in GENERATORS for sketch in look.all for call in sketch.calls())


def has_effects_while_traced(look: Look) -> bool:
    """Whether what is traced prints, opens files, or under `tf.function` changes what outlives it."""
    if any(call.name in ("print", "open") for place in _traced(look) for call in place.region.calls):
        return True
    writes = {ast.Global, ast.Nonlocal, ast.Delete, ast.Subscript}
    return any(
        not writes.isdisjoint(place.region.syntax)
        or any(call.is_method and call.last in CHANGES for call in place.region.calls)
        for place in _traced(look, by_keras=False)
    )


def asks_values_while_traced(look: Look) -> bool:
    """Whether what is traced may ask a tensor for its value."""
    decides = {ast.If, ast.IfExp, ast.For, ast.While}
    return any(
        not decides.isdisjoint(place.region.syntax)
        or any(
            call.name in ("float", "int", "bool", "range") or (call.is_method and call.last in ("numpy", "item"))
            for call in place.region.calls
        )
        for place in _traced(look)
    )


def creates_while_traced(look: Look) -> bool:
    """Whether what is traced may create variables, layers or optimizers."""
    return any(_creates(place.sketch, call) for place in _traced(look) for call in place.region.calls)


def _creates(sketch: Sketch, call: SketchedCall) -> bool:
    if call.last in CREATING_METHODS:
        return True
    if not call.last[:1].isupper() or call.last in _BUILTIN:
        return False
    library = sketch.library(call.name)
    if library in ("tensorflow", "keras"):
        parts = sketch.target(call.name).split(".")
        return len(parts) > 2 or parts[-1] == "Variable"
    return library != "numpy"


def grows_list_while_traced(look: Look) -> bool:
    """Whether what is under `tf.function` appends to a list."""
    return any(call.last == "append" for place in _traced(look, by_keras=False) for call in place.region.calls)


# What loops repeat.


def makes_functions_again(look: Look) -> bool:
    """Whether a loop or a function makes objects of `tf.function`."""
    return any(_makes_functions_inside(sketch) for sketch in look.all)


def _makes_functions_inside(sketch: Sketch) -> bool:
    if any(region.is_inner and region.decorators for region in sketch.functions):
        return True
    return any(
        (region is not sketch.module or call.loops > 0) and (call.last in _MAKERS or "function" in call.given)
        for region in sketch.regions
        for call in region.calls
    )


def hands_values_to_functions(look: Look) -> bool:
    """Whether a function that may be under `tf.function` is called with something else than literals."""
    traced = {region.name for sketch in look.all for region in sketch.functions if region.decorators}
    for sketch in look.all:
        for call in sketch.calls():
            if call.last in _MAKERS or "function" in call.given or (call.given and call.last in traced):
                return True
    return False


def joins_again(look: Look) -> bool:
    """Whether a concatenation may be repeated: in a loop, in a method, or of a global name."""
    return any(
        call.last in _JOINING and (call.loops > 0 or bool(region.owner) or ast.Global in region.syntax)
        for sketch in look.all
        for region in sketch.regions
        for call in region.calls
        if call.last != "append" or _is_numpys(sketch, call)
    )


def _is_numpys(sketch: Sketch, call: SketchedCall) -> bool:
    return call.root in ("np", "numpy") or sketch.library(call.name) == "numpy"


def runs_models_in_loops(look: Look) -> bool:
    """Whether a loop outside of models calls something that may be a model, itself or by functions that it calls."""
    stored = {name for sketch in look.all for name in sketch.stored}
    bound = {name for sketch in look.near for name in sketch.bound}
    own = look.own

    def is_model(sketch: Sketch, call: SketchedCall) -> bool:
        return _may_be_model(sketch, call, stored, bound)

    loops = [region for region in own.regions if region.name not in _MODEL_METHODS]
    if any(call.loops > 0 and is_model(own, call) for region in loops for call in region.calls):
        return True
    words = {word for region in loops for word in region.in_loops}
    if any(is_model(one.sketch, call) for one in look.reached((), words) for call in one.region.calls):
        return True
    return any(  # loops of other files, in functions that this one calls
        call.loops > 0 and is_model(place.sketch, call)
        for place in look.reached(own.regions)
        if place.sketch is not own and place.region.name not in _MODEL_METHODS
        for call in place.region.calls
    )


def _may_be_model(sketch: Sketch, call: SketchedCall, stored: set[str], bound: set[str]) -> bool:
    """Whether a call may be one of a model.

    Arguments:
        stored: the attributes that some file assigns.
        bound: the variables of the other files.
    """
    if not call.size or call.name == UNNAMED:
        return False
    if "training" in call.keywords:
        return True
    if sketch.library(call.name) in ("tensorflow", "keras", "numpy"):
        return False
    if call.is_method:
        return call.last in stored or call.last in bound
    if call.name in _BUILTIN or call.name in sketch.classes:
        return False
    if call.name in sketch.imports:
        return call.name in bound
    return call.name in sketch.bound or call.name not in sketch.by_name


def prepares_elements(look: Look) -> bool:
    """Whether a loop does to single elements what could be done to all of them."""
    return any(call.loops > 0 and call.last in WORK for sketch in look.all for call in sketch.calls())


# Calls of Keras and TensorFlow.


def gives_batch_size(look: Look) -> bool:
    """Whether `fit`, `evaluate` or `predict` gets a batch size, by its name or its place."""
    return any(
        call.last in _FITTING
        and (
            "batch_size" in call.keywords
            or UNNAMED in call.keywords
            or call.size - len(call.keywords) >= _FITTING[call.last]
        )
        for sketch in look.all
        for call in sketch.calls()
    )


def trains_when_run(look: Look) -> bool:
    """Whether running the file may train or predict."""
    return any(call.last in TRAINING_WORDS for place in look.reached([look.own.module]) for call in place.region.calls)


def calls_python_functions(look: Look) -> bool:
    """Whether something is run by `tf.py_function` and the like."""
    return any(
        call.last in _PYTHON_FUNCTIONS or not _PYTHON_FUNCTIONS.isdisjoint(call.given)
        for sketch in look.all
        for call in sketch.calls()
    )


def maps_rows(look: Look) -> bool:
    """Whether the file calls `tf.map_fn`."""
    return any(call.last == "map_fn" for call in look.own.calls())
