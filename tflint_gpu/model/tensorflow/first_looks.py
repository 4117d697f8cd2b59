"""Whether there can be anything in a file that a rule would report: what a first look at its sketch tells.

A rule names its questions in `Rule.questions`. Each gets the sketch of the file, and those of the files that its
imports reach when it asks for them; "no" means: surely nothing. So each is wider than the rule, and tells by names
alone.
"""

from __future__ import annotations

import ast
import builtins
from collections.abc import Iterable, Iterator

from tflint_gpu.model.python.looks import Look, Place
from tflint_gpu.model.python.sketches import UNNAMED, Region, Sketch, SketchedCall
from tflint_gpu.model.tensorflow.counterparts import RAISES
from tflint_gpu.model.tensorflow.created_state import CREATING_METHODS
from tflint_gpu.model.tensorflow.datasets import SOURCES, SURE_SOURCES
from tflint_gpu.model.tensorflow.devices import device_problem
from tflint_gpu.model.tensorflow.element_loops import WORK
from tflint_gpu.model.tensorflow.frozen_values import DRAWING, GENERATORS
from tflint_gpu.model.tensorflow.precision import CASTS, FLOATX, POLICY_SETTERS, SPELLINGS, WEIGHTED
from tflint_gpu.model.tensorflow.program import TRAINING_WORDS
from tflint_gpu.model.tensorflow.side_effects import CHANGES

_KERAS_METHODS = frozenset("call __call__ train_step test_step predict_step compute_loss update_state".split())
_MAKERS = frozenset("function defun wrap_function Lambda".split())
_GIVEN = frozenset(["loss", "metrics", "weighted_metrics"])
_FUNCTION, _KERAS = "tf.function", "Keras"
_TRACERS = frozenset([_FUNCTION, _KERAS])
_WITHOUT_KERAS = frozenset([_FUNCTION])
_UNTRACING = frozenset(
    "property staticmethod classmethod abstractmethod setter getter deleter cached_property contextmanager".split()
)
_BUILTIN = frozenset(dir(builtins))
_RAISING = frozenset(name.rpartition(".")[2] for name in RAISES)
_DRAWING_LIBRARIES = frozenset(["numpy", "random", "time", "datetime", "uuid", UNNAMED])
_MODEL_METHODS = frozenset(["call", "__call__", "build"])
_JOINING = frozenset("concat concatenate stack vstack hstack append".split())
_DATASET_OPTIONS = frozenset(["num_parallel_calls", "drop_remainder"])
_FITTING = {"fit": 3, "evaluate": 3, "predict": 2}
_DEFAULTS = frozenset(name.rpartition(".")[2] for name in FLOATX | POLICY_SETTERS)
_CASTING = frozenset(name.rpartition(".")[2] for name in CASTS)
_LAYERS = WEIGHTED | {"__init__"}
ARRAY_MAKERS = frozenset(
    "zeros ones empty full random random_sample standard_normal rand randn normal uniform randint integers arange eye "
    "linspace load_data".split()
)
"""The last parts of the names by which NumPy, its generators and Keras's data sets make arrays of known sizes."""
_PYTHON_FUNCTIONS = frozenset("py_function numpy_function py_func".split())


# What TensorFlow traces.


def _traced(look: Look, *, by: frozenset[str] = _TRACERS) -> Iterable[Place]:
    """The code that may run while TensorFlow traces what the file hands to it, or has in its layers."""

    def search() -> Iterator[Place]:
        yield from look.reached(list(_roots(look.own, by)))
        yield from look.reached((), _handed_over(look, by))

    return look.found(f"traced by {sorted(by)}", search)


def _roots(own: Sketch, by: frozenset[str]) -> Iterator[Region]:
    for region in own.functions:
        if (_KERAS in by and _is_models(region)) or (
            _FUNCTION in by and any(one.rpartition(".")[2] not in _UNTRACING for one in region.decorators)
        ):
            yield region
    named = _given_by(own, by)
    for region in own.regions:
        if any(UNNAMED in call.given for call in region.calls if _hands_over(call, by)):
            yield region
    for name in own.by_name.keys() & named:
        yield from own.by_name[name]


def _given_by(own: Sketch, by: frozenset[str]) -> set[str]:
    """The names of what a file hands to TensorFlow, and of what its variables may hold that it hands over."""
    named = {name for call in own.calls() if _hands_over(call, by) for name in call.given}
    if any(name not in own.by_name for name in named):  # a variable, which may hold a function
        named |= own.values
    return named


def _handed_over(look: Look, by: frozenset[str]) -> Iterator[str]:
    """The names that may be ones of functions of other files which this one hands to TensorFlow."""
    named = _given_by(look.own, by)
    if named <= look.own.by_name.keys():
        return
    yield from named
    for sketch in look.near:  # a dictionary of functions
        if not named.isdisjoint(sketch.bound):
            yield from sketch.values


def _hands_over(call: SketchedCall, by: frozenset[str]) -> bool:
    """Whether a call may give TensorFlow or Keras a function to trace."""
    is_keras = call.last in ("compile", "Lambda") or not _GIVEN.isdisjoint(call.keywords)
    return (_KERAS in by and is_keras) or (_FUNCTION in by and _makes_function(call))


def _is_models(region: Region) -> bool:
    """Whether it is a method that Keras traces."""
    return bool(region.owner) and region.name in _KERAS_METHODS


def _makes_function(call: SketchedCall) -> bool:
    """Whether a call may make a `tf.function` of something."""
    return call.last in _MAKERS or "function" in call.given


def _is_numpys(sketch: Sketch, call: SketchedCall) -> bool:
    return call.root in ("np", "numpy") or sketch.library(call.name) in ("numpy", UNNAMED)


def _numpy_call(sketch: Sketch, call: SketchedCall) -> bool:
    return call.last in _RAISING and bool(call.given) and _is_numpys(sketch, call)


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
    return bool(drawn) and any(call.last in GENERATORS for _, call in look.calls)


def has_effects_while_traced(look: Look) -> bool:
    """Whether what is traced prints, opens files, or under `tf.function` changes what outlives it."""
    if any(call.name in ("print", "open") for place in _traced(look) for call in place.region.calls):
        return True
    writes = {ast.Global, ast.Nonlocal, ast.Delete, ast.Subscript}
    return any(
        not writes.isdisjoint(place.region.syntax)
        or any(call.is_method and call.last in CHANGES for call in place.region.calls)
        for place in _traced(look, by=_WITHOUT_KERAS)
    )


def asks_values_while_traced(look: Look) -> bool:
    """Whether what is traced may ask a tensor for its value: what AutoGraph converts only where Keras traces it."""
    if any(call.is_method and call.last in ("numpy", "item") for place in _traced(look) for call in place.region.calls):
        return True
    decides = {ast.If, ast.IfExp, ast.For, ast.While}
    return any(
        not decides.isdisjoint(place.region.syntax)
        or any(call.name in ("float", "int", "bool", "range") for call in place.region.calls)
        for place in _traced(look, by=frozenset([_KERAS]))
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
    return any(call.last == "append" for place in _traced(look, by=_WITHOUT_KERAS) for call in place.region.calls)


# What loops repeat.


def _repeated(look: Look) -> Iterable[tuple[Sketch, SketchedCall]]:
    """The calls that a loop may repeat: in the file, in what its loops run, and in loops of what it calls elsewhere."""
    return look.found("repeated", lambda: _repetitions(look, frozenset()))


def _repetitions(look: Look, leaving: frozenset[str]) -> Iterator[tuple[Sketch, SketchedCall]]:
    """The calls that a loop may repeat, without those in functions of some names."""
    own = look.own
    words = set(own.values)  # a function that is handed on may be run by any loop
    for region in own.regions:
        if region.name not in leaving:
            yield from ((own, call) for call in region.calls if call.loops)
            words |= region.in_loops
    for place in look.reached((), words):
        yield from ((place.sketch, call) for call in place.region.calls)
    words = set()
    for place in look.reached(own.regions):
        if place.sketch is not own and place.region.name not in leaving:
            yield from ((place.sketch, call) for call in place.region.calls if call.loops)
            words |= place.region.in_loops | place.sketch.values
    for place in look.reached((), words):
        yield from ((place.sketch, call) for call in place.region.calls)


def makes_functions_again(look: Look) -> bool:
    """Whether a loop or a function makes objects of `tf.function`."""
    return any(_makes_functions_inside(sketch) for sketch in look.all)


def _makes_functions_inside(sketch: Sketch) -> bool:
    if any(region.is_inner and region.decorators for region in sketch.functions):
        return True
    return any(
        (region is not sketch.module or call.loops > 0) and _makes_function(call)
        for region in sketch.regions
        for call in region.calls
    )


def hands_values_to_functions(look: Look) -> bool:
    """Whether a loop may call a function that is under `tf.function` with something else than literals."""
    if any(_makes_function(call) for _, call in look.calls):
        return True
    traced = {region.name for sketch in look.all for region in sketch.functions if region.decorators}
    return any(call.given and call.last in traced for _, call in _repeated(look))


def joins_again(look: Look) -> bool:
    """Whether something grows by a concatenation that a loop repeats."""
    return any(
        call.renews and call.last in _JOINING and (call.last != "append" or _is_numpys(sketch, call))
        for sketch, call in _repeated(look)
    )


def predicts_again(look: Look) -> bool:
    """Whether a loop repeats a call of `predict`."""
    return any(call.is_method and call.last == "predict" for _, call in _repeated(look))


def takes_gradients_again(look: Look) -> bool:
    """Whether a loop repeats a tape, itself or by calling a model."""
    if any(call.last == "GradientTape" for _, call in _repeated(look)):
        return True
    return any(
        call.last == "GradientTape"
        for sketch in look.all
        for place in Look(sketch).reached(filter(_is_models, sketch.functions))
        for call in place.region.calls
    )


def runs_models_again(look: Look) -> bool:
    """Whether a loop outside of models repeats a call that may be one of a model."""
    stored = {name for sketch in look.all for name in sketch.stored}
    stored.update(name for _, call in look.calls for name in call.keywords)
    bound = {name for sketch in look.near for name in sketch.bound}
    return any(_may_be_model(sketch, call, stored, bound) for sketch, call in _repetitions(look, _MODEL_METHODS))


def _may_be_model(sketch: Sketch, call: SketchedCall, stored: set[str], bound: set[str]) -> bool:
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
    if call.name in _BUILTIN or call.name in sketch.classes:
        return False
    if call.name in sketch.imports:
        return call.name in bound
    return call.name in sketch.bound or call.name not in sketch.by_name


def prepares_elements(look: Look) -> bool:
    """Whether something is computed that a loop may do to single elements, itself or by a function of the project."""
    return any(call.last in WORK for _, call in look.calls)


# Pipelines.


def has_datasets(look: Look) -> bool:
    """Whether something makes a dataset, or shows that a value is one."""
    return any(_shows_dataset(sketch, call) for sketch, call in look.calls)


def _shows_dataset(sketch: Sketch, call: SketchedCall) -> bool:
    if call.last in SURE_SOURCES or "AUTOTUNE" in call.given or not _DATASET_OPTIONS.isdisjoint(call.keywords):
        return True
    if call.last in SOURCES and not {"Dataset", "experimental"}.isdisjoint(sketch.values):
        return True
    return call.root == "tfds" or sketch.library(call.name) == "tensorflow_datasets"


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
        for _, call in look.calls
    )


def trains_when_run(look: Look) -> bool:
    """Whether running the file may train or predict."""
    return any(call.last in TRAINING_WORDS for place in look.reached([look.own.module]) for call in place.region.calls)


def calls_python_functions(look: Look) -> bool:
    """Whether something is run by `tf.py_function` and the like."""
    return any(call.last in _PYTHON_FUNCTIONS or not _PYTHON_FUNCTIONS.isdisjoint(call.given) for _, call in look.calls)


def makes_arrays(look: Look) -> bool:
    """Whether something makes a NumPy array of some size, or loads one of Keras's."""
    return any(
        call.last in ARRAY_MAKERS and (call.last == "load_data" or sketch.library(call.name) != "tensorflow")
        for sketch, call in look.calls
    )


def maps_rows(look: Look) -> bool:
    """Whether the file calls `tf.map_fn`."""
    return any(call.last == "map_fn" for call in look.own.calls())


def chooses_doubles(look: Look) -> bool:
    """Whether something in the file may be made to compute in float64."""
    own = look.own
    by_name = any(_has_double(sketch.values | sketch.texts) for sketch in look.all)
    for call in own.calls():
        if call.last in _DEFAULTS:
            return True
        if call.last in _CASTING:
            is_named = len(call.given) > 1 and call.given[-1] in own.bound | own.stored | own.imports.keys()
            if "double" in call.last or _has_double(call.given + call.texts) or (by_name and is_named):
                return True
        elif by_name and call.last in _LAYERS and not {"dtype", UNNAMED}.isdisjoint(call.keywords):
            return True
    return False


def _has_double(words: Iterable[str]) -> bool:
    return not SPELLINGS.isdisjoint(words)


def names_bad_device(look: Look) -> bool:
    """Whether a device is named otherwise than by a string that TensorFlow can parse."""
    calls = [call for call in look.own.calls() if call.last in ("device", "OneDeviceStrategy")]
    return any(call.given or any(device_problem(text) for text in call.texts) for call in calls)


def uses_contrib(look: Look) -> bool:
    """Whether the file names `tf.contrib`."""
    own = look.own
    return "contrib" in own.values or any("contrib" in target for target in own.imports.values())
