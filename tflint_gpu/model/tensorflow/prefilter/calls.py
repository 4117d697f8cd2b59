"""Prefilters of rules about single calls: whether there can be anything in a file that a rule would report.

A rule names its prefilters in `Rule.prefilters`. Each gets the summary of the file, and those of the files that its
imports reach when it needs them; False means: there must be nothing. So each is wider than the rule, and decides by
names alone.
"""

from __future__ import annotations

from collections.abc import Iterable

from tflint_gpu.model.library.datasets import SOURCES, SURE_SOURCES
from tflint_gpu.model.library.devices import device_problem
from tflint_gpu.model.library.keras_methods import BATCH_SIZE_POSITIONS, TRAINING_WORDS, WEIGHTED
from tflint_gpu.model.library.precision import CASTS, DOUBLE_SPELLINGS, FLOATX_SETTERS, POLICY_SETTERS
from tflint_gpu.model.python.prefilter.file_summaries import UNNAMED, CallSummary, FileSummary
from tflint_gpu.model.python.prefilter.prefilters import PrefilterScope

_DATASET_OPTIONS = frozenset(["num_parallel_calls", "drop_remainder"])
_DEFAULTS = frozenset(name.rpartition(".")[2] for name in FLOATX_SETTERS | POLICY_SETTERS)
_CASTING = frozenset(name.rpartition(".")[2] for name in CASTS)
_LAYERS = WEIGHTED | {"__init__"}
ARRAY_MAKERS = frozenset(
    "zeros ones empty ndarray full random random_sample standard_normal rand randn normal uniform randint integers "
    "arange eye linspace binomial beta gamma choice poisson exponential broadcast_to load_data".split()
)
"""The last parts of the names by which NumPy, its generators and Keras's data sets make arrays of known sizes."""
_PYTHON_FUNCTIONS = frozenset("py_function numpy_function py_func".split())


def has_datasets(scope: PrefilterScope) -> bool:
    """Whether something makes a dataset, or shows that a value is one."""
    return scope.any(_shows_datasets)


def _shows_datasets(summary: FileSummary) -> bool:
    return any(_shows_dataset(summary, call) for call in summary.calls())


def _shows_dataset(summary: FileSummary, call: CallSummary) -> bool:
    if call.last in SURE_SOURCES or "AUTOTUNE" in call.given or not _DATASET_OPTIONS.isdisjoint(call.keywords):
        return True
    if call.last in SOURCES and not {"Dataset", "experimental"}.isdisjoint(summary.values):
        return True
    return call.root == "tfds" or summary.library(call.name) == "tensorflow_datasets"


# Calls of Keras and TensorFlow.


def gives_batch_size(scope: PrefilterScope) -> bool:
    """Whether `fit`, `evaluate` or `predict` gets a batch size, by its name or its place."""
    return scope.any(_gives_batch_size)


def _gives_batch_size(summary: FileSummary) -> bool:
    return any(
        call.last in BATCH_SIZE_POSITIONS
        and (
            "batch_size" in call.keywords
            or UNNAMED in call.keywords
            or call.size - len(call.keywords) > BATCH_SIZE_POSITIONS[call.last]
        )
        for call in summary.calls()
    )


def trains_when_run(scope: PrefilterScope) -> bool:
    """Whether running the file may train or predict."""
    return any(call.last in TRAINING_WORDS for code in scope.reached([scope.own.module]) for call in code.region.calls)


def calls_python_functions(scope: PrefilterScope) -> bool:
    """Whether something is run by `tf.py_function` and the like."""
    return scope.any(_calls_python_functions)


def _calls_python_functions(summary: FileSummary) -> bool:
    if not _PYTHON_FUNCTIONS.isdisjoint(summary.called):
        return True
    return any(not _PYTHON_FUNCTIONS.isdisjoint(call.given) for call in summary.calls())


def makes_arrays(scope: PrefilterScope) -> bool:
    """Whether something makes a NumPy array of some size, or loads one of Keras's."""
    return scope.any(_makes_arrays)


def _makes_arrays(summary: FileSummary) -> bool:
    return any(
        call.last in ARRAY_MAKERS and (call.last == "load_data" or summary.library(call.name) != "tensorflow")
        for call in summary.calls()
    )


def maps_rows(scope: PrefilterScope) -> bool:
    """Whether the file calls `tf.map_fn`."""
    return any(call.last == "map_fn" for call in scope.own.calls())


def chooses_doubles(scope: PrefilterScope) -> bool:
    """Whether something in the file may be made to compute in float64."""
    own = scope.own
    by_name = scope.any(_names_doubles)
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


def _names_doubles(summary: FileSummary) -> bool:
    return _has_double(summary.values) or _has_double(summary.texts)


def _has_double(words: Iterable[str]) -> bool:
    return not DOUBLE_SPELLINGS.isdisjoint(words)


def names_bad_device(scope: PrefilterScope) -> bool:
    """Whether a device is named otherwise than by a string that TensorFlow can parse."""
    calls = [call for call in scope.own.calls() if call.last in ("device", "OneDeviceStrategy")]
    return any(call.given or any(device_problem(text) for text in call.texts) for call in calls)


def uses_contrib(scope: PrefilterScope) -> bool:
    """Whether the file names `tf.contrib`."""
    own = scope.own
    return "contrib" in own.values or any("contrib" in target for target in own.imports.values())
