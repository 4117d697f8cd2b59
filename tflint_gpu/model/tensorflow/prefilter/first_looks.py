"""Whether there can be anything in a file that a rule would report: what a first look at its sketch tells.

A rule names its questions in `Rule.prefilters`. Each gets the sketch of the file, and those of the files that its
imports reach when it asks for them; "no" means: surely nothing. So each is wider than the rule, and tells by names
alone.
"""

from __future__ import annotations

from collections.abc import Iterable

from tflint_gpu.model.python.prefilter.looks import Look
from tflint_gpu.model.python.prefilter.sketches import UNNAMED, Sketch, SketchedCall
from tflint_gpu.model.tensorflow.api.datasets import SOURCES, SURE_SOURCES
from tflint_gpu.model.tensorflow.api.devices import device_problem
from tflint_gpu.model.tensorflow.api.keras_methods import WEIGHTED
from tflint_gpu.model.tensorflow.api.precision import DOUBLE_SPELLINGS, FLOATX_SETTERS, POLICY_SETTERS
from tflint_gpu.model.tensorflow.dtypes.precision import CASTS
from tflint_gpu.model.tensorflow.execution.program import TRAINING_WORDS

_DATASET_OPTIONS = frozenset(["num_parallel_calls", "drop_remainder"])
_FITTING = {"fit": 3, "evaluate": 3, "predict": 2}
_DEFAULTS = frozenset(name.rpartition(".")[2] for name in FLOATX_SETTERS | POLICY_SETTERS)
_CASTING = frozenset(name.rpartition(".")[2] for name in CASTS)
_LAYERS = WEIGHTED | {"__init__"}
ARRAY_MAKERS = frozenset(
    "zeros ones empty full random random_sample standard_normal rand randn normal uniform randint integers arange eye "
    "linspace load_data".split()
)
"""The last parts of the names by which NumPy, its generators and Keras's data sets make arrays of known sizes."""
_PYTHON_FUNCTIONS = frozenset("py_function numpy_function py_func".split())


def has_datasets(look: Look) -> bool:
    """Whether something makes a dataset, or shows that a value is one."""
    return look.any(_shows_datasets)


def _shows_datasets(sketch: Sketch) -> bool:
    return any(_shows_dataset(sketch, call) for call in sketch.calls())


def _shows_dataset(sketch: Sketch, call: SketchedCall) -> bool:
    if call.last in SURE_SOURCES or "AUTOTUNE" in call.given or not _DATASET_OPTIONS.isdisjoint(call.keywords):
        return True
    if call.last in SOURCES and not {"Dataset", "experimental"}.isdisjoint(sketch.values):
        return True
    return call.root == "tfds" or sketch.library(call.name) == "tensorflow_datasets"


# Calls of Keras and TensorFlow.


def gives_batch_size(look: Look) -> bool:
    """Whether `fit`, `evaluate` or `predict` gets a batch size, by its name or its place."""
    return look.any(_gives_batch_size)


def _gives_batch_size(sketch: Sketch) -> bool:
    return any(
        call.last in _FITTING
        and (
            "batch_size" in call.keywords
            or UNNAMED in call.keywords
            or call.size - len(call.keywords) >= _FITTING[call.last]
        )
        for call in sketch.calls()
    )


def trains_when_run(look: Look) -> bool:
    """Whether running the file may train or predict."""
    return any(call.last in TRAINING_WORDS for place in look.reached([look.own.module]) for call in place.region.calls)


def calls_python_functions(look: Look) -> bool:
    """Whether something is run by `tf.py_function` and the like."""
    return look.any(_calls_python_functions)


def _calls_python_functions(sketch: Sketch) -> bool:
    if not _PYTHON_FUNCTIONS.isdisjoint(sketch.called):
        return True
    return any(not _PYTHON_FUNCTIONS.isdisjoint(call.given) for call in sketch.calls())


def makes_arrays(look: Look) -> bool:
    """Whether something makes a NumPy array of some size, or loads one of Keras's."""
    return look.any(_makes_arrays)


def _makes_arrays(sketch: Sketch) -> bool:
    return any(
        call.last in ARRAY_MAKERS and (call.last == "load_data" or sketch.library(call.name) != "tensorflow")
        for call in sketch.calls()
    )


def maps_rows(look: Look) -> bool:
    """Whether the file calls `tf.map_fn`."""
    return any(call.last == "map_fn" for call in look.own.calls())


def chooses_doubles(look: Look) -> bool:
    """Whether something in the file may be made to compute in float64."""
    own = look.own
    by_name = look.any(_names_doubles)
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


def _names_doubles(sketch: Sketch) -> bool:
    return _has_double(sketch.values) or _has_double(sketch.texts)


def _has_double(words: Iterable[str]) -> bool:
    return not DOUBLE_SPELLINGS.isdisjoint(words)


def names_bad_device(look: Look) -> bool:
    """Whether a device is named otherwise than by a string that TensorFlow can parse."""
    calls = [call for call in look.own.calls() if call.last in ("device", "OneDeviceStrategy")]
    return any(call.given or any(device_problem(text) for text in call.texts) for call in calls)


def uses_contrib(look: Look) -> bool:
    """Whether the file names `tf.contrib`."""
    own = look.own
    return "contrib" in own.values or any("contrib" in target for target in own.imports.values())
