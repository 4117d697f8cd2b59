"""TFG208 model-in-loop."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import libcst as cst

from tflint_gpu.rule import Finding, NoExperiment, Note, Prediction, Rule, notes_on

if TYPE_CHECKING:
    from tflint_gpu.model import Model
    from tflint_gpu.rule import Experiment


class ModelInLoop(Rule):
    """A loop builds and fits a model in every iteration, and the host's memory grows with each.

    Why: once `fit` has run, TensorFlow keeps some of the host's memory for a model, even after Python has dropped the
    model and collected its garbage. `keras.backend.clear_session`, the usual advice, frees part of it. Only the end of
    the process frees all of it: use one process for each model. Whether a GPU's memory grows too was not measured.

    Reported:
    - a loop that builds and fits a model in every iteration

    Not reported:
    - models that are kept, such as an ensemble
    - loops of at most five iterations, or over the layers of a network
    - models that are built once and fitted again

    Measured: {evidence}

    Fix: none, because only the author knows whether one model can serve all iterations, with new weights.

    Example:
        import tensorflow as tf

        for rate in rates:
            model = tf.keras.Sequential([tf.keras.layers.Dense(64), tf.keras.layers.Dense(1)])
            model.compile(tf.keras.optimizers.Adam(rate), "mse")
            model.fit(images, labels)

    Use instead:
        import multiprocessing

        import tensorflow as tf


        def fitted(rate):
            model = tf.keras.Sequential([tf.keras.layers.Dense(64), tf.keras.layers.Dense(1)])
            model.compile(tf.keras.optimizers.Adam(rate), "mse")
            model.fit(images, labels)


        if __name__ == "__main__":  # because each process imports this file
            for rate in rates:
                process = multiprocessing.get_context("spawn").Process(target=fitted, args=(rate,))
                process.start()
                process.join()
    """

    code = "TFG208"
    name = "model-in-loop"
    severity = "advice"
    least_tensorflow = (2, 0)
    required_substrings = ((b"for ", b"while "),)
    nearby_substrings = (b".fit(",)
    skips_tests = True
    skips_graphs = True
    skips_other_backends = True
    opt_in = True

    def check(self, model: Model) -> Iterator[Finding]:
        """Yield each `fit` of a model that is new in every iteration."""
        from .fitted_models import FittedModels

        for dropped in model.once(FittedModels).dropped():
            repeated = dropped.repeated
            assert isinstance(repeated.call.func, cst.Attribute)
            notes = [
                Note(dropped.loop_file, dropped.loop, "in every iteration of this loop"),
                Note(dropped.made_file, dropped.made, "each iteration makes its model here"),
            ]
            notes += notes_on(repeated.path)
            yield Finding(
                repeated.file,
                repeated.call.func.attr,
                "every iteration of a loop fits a new model: some host memory stays allocated for each model, "
                "with or without `clear_session`",
                Prediction(
                    "memory",
                    (),
                    basis="18 MB a model of five dense layers with TensorFlow 2.21, 9.5 MB with `clear_session`",
                ),
                help="for many models, fit each in a separate process, which frees all its memory when it ends",
                notes=tuple(notes),
            )

    def experiments(self, finding: Finding, model: Model) -> Iterator[Experiment]:
        """None: the repair is a process for each model, and `verify` runs one for a program."""
        raise NoExperiment(
            "the fix needs a process for each model, and `verify` watches the memory of only one process"
        )
