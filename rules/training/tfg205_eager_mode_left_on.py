"""TFG205 eager-mode-left-on."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

import libcst as cst

from tflint_gpu.model import Kinds
from tflint_gpu.rule import (
    Change,
    Edit,
    Experiment,
    Finding,
    Fix,
    Prediction,
    Rule,
    Workload,
    leave_out,
    wrap,
)

from .eager_modes import MARKERS

if TYPE_CHECKING:
    from tflint_gpu.model import Model

    from .eager_modes import EagerMode


class EagerModeLeftOn(Rule):
    """A debugging switch makes TensorFlow run code eagerly that it would otherwise trace.

    Why: `run_eagerly=True` and `tf.config.run_functions_eagerly(True)` start every operation of every step from Python.
    `tf.data.experimental.enable_debug_mode()` does so for every element of every dataset. These switches are for
    debugging: between small operations a GPU waits.

    Reported:
    - a switch that is turned on and stays on

    Not reported:
    - switches that depend on a flag or a condition, or that a debugging function sets
    - switches that are turned off again
    - programs whose steps, losses or metrics read tensors by `.numpy()`, NumPy or another framework: traced code cannot
      do that

    Measured: {evidence}

    Fix: unsafe: code that ran eagerly may not be ready to be traced. There is no fix if the code prints, or changes a
    list or a counter: that would happen only during tracing.

    Example:
        from tensorflow import keras

        model = keras.Sequential([keras.layers.Dense(64, activation="relu"), keras.layers.Dense(1)])
        model.compile(optimizer="adam", loss="mse", run_eagerly=True)
        model.fit(features, labels, batch_size=32)

    Use instead:
        from tensorflow import keras

        model = keras.Sequential([keras.layers.Dense(64, activation="relu"), keras.layers.Dense(1)])
        model.compile(optimizer="adam", loss="mse")
        model.fit(features, labels, batch_size=32)
    """

    code = "TFG205"
    name = "eager-mode-left-on"
    least_tensorflow = (2, 0)
    nearby_substrings = MARKERS
    fixable = "unsafe"
    skips_tests = True
    skips_graphs = True

    def check(self, model: Model) -> Iterator[Finding]:
        """Yield the arguments, attributes and calls that switch eager execution on for good."""
        from .eager_modes import EagerModes

        for mode in model.once(EagerModes).left_on:
            effect = model.once(EagerModes).effect(mode)
            yield Finding(
                mode.file,
                mode.node,
                _TEXTS[mode.what],
                _PREDICTION,
                help=f"{_HELP[mode.what]}; first change the code that would then be traced: {effect}"
                if effect
                else _HELP[mode.what],
                fix=None if effect else _fix(mode),
                subject=mode,
            )

    def experiments(self, finding: Finding, model: Model) -> Iterator[Experiment]:
        """The user's own `fit` with the switch off, or the rule's workload where there is none."""
        from .eager_modes import EagerMode

        mode = finding.subject_as(EagerMode)
        fits = [call for call in model.method_calls("fit") if model.once(Kinds).receiver(model.file, call, "fit")]
        if not fits:
            yield Experiment(model.file, finding.node, workload=_WORKLOAD, only_workload=True)
            return
        fit = _fit_with(model, mode, fits)
        yield Experiment(
            model.file,
            fit,
            probes=wrap(model.file, fit.func, "fit"),
            repair=(_switched_off(mode),),
            workload=_WORKLOAD,
        )


def _fit_with(model: Model, mode: EagerMode, fits: Sequence[cst.Call]) -> cst.Call:
    """The training that the switch slows down: of the same model where that is known, then one further down."""
    file = model.file
    place = file.span(mode.node)[0] if mode.file is file else 0
    own = {origin.node for origin in model.inference.of(mode.file, mode.owner)} if mode.owner is not None else set()

    def fits_well(call: cst.Call) -> tuple[bool, bool]:
        origins = model.inference.of(file, call.func.value) if isinstance(call.func, cst.Attribute) else ()
        return any(origin.node in own for origin in origins), file.span(call)[0] > place

    return max(fits, key=fits_well)


def _switched_off(mode: EagerMode) -> Change:
    if mode.value is None:
        return Change(mode.file, mode.node, "None")
    if isinstance(mode.node, cst.Arg) and mode.node.star:
        return Change(mode.file, mode.value, f'{{**{mode.file.code(mode.value)}, "run_eagerly": False}}')
    return Change(mode.file, mode.value, "False")


def _fix(mode: EagerMode) -> Fix | None:
    """Leave the argument out, or switch off what is switched on."""
    if not isinstance(mode.value, cst.Name) or mode.value.value != "True":
        return None
    call = mode.file.tree.parents.get(mode.node)
    if mode.what == "model" and isinstance(mode.node, cst.Arg) and isinstance(call, cst.Call):
        return leave_out(mode.file, call, [mode.node], "unsafe")
    return Fix("Switch it off", "unsafe", (Edit(mode.value, "False"),))


_TEXTS = {
    "model": "this model runs eagerly: every operation of every step is started from Python, and no step is traced",
    "functions": "all functions run eagerly from here on: `tf.function` and `fit` trace nothing",
    "data": "tf.data runs eagerly from here on: the functions that datasets map run in Python, one element at a time",
}
_HELP = {
    "model": "remove it, or put it under a flag that is off unless you debug",
    "functions": "remove it, or put it under a flag that is off unless you debug",
    "data": "remove it; it is for debugging mapped functions",
}
_PREDICTION = Prediction(
    "slowdown",
    ("eager",),
    low=1.2,
    high=30.0,
    basis="small networks in `fit`, and a dataset with a map, on a CPU; less where operations are large",
)
_WORKLOAD = Workload(
    before="""
        import numpy as np
        import tensorflow as tf

        features, labels = np.random.rand(1024, 20).astype("float32"), np.random.rand(1024, 1).astype("float32")
        model = tf.keras.Sequential([tf.keras.layers.Dense(32, activation="relu"), tf.keras.layers.Dense(1)])
        model.compile(optimizer="sgd", loss="mse", run_eagerly=True)
        tflint_measure.fit(model.fit)(features, labels, batch_size=32)
    """,
    changes=(("run_eagerly=True", "run_eagerly=False"),),
)
