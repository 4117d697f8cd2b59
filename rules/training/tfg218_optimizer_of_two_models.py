"""TFG218 optimizer-of-two-models."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from tflint_gpu.rule import Experiment, Finding, Note, Prediction, Rule, Workload

if TYPE_CHECKING:
    from tflint_gpu.model import Model


class OptimizerOfTwoModels(Rule):
    """One optimizer object is used to train a second model.

    Why: an optimizer keeps variables for each weight, and is built for the weights of the first model that it trains.
    Given the weights of another model it raises: Keras 3 `ValueError: Unknown variable: ... This optimizer can only be
    called for the variables it was originally built with`, Keras 2 since TensorFlow 2.11 `KeyError: The optimizer
    cannot recognize variable ...`. The error comes after the first model is trained: in the second fold of a
    cross-validation, in the second trial of a search, or in the first step of a GAN or of an actor and its critic.

    Reported:
    - an optimizer that is made outside the loop that makes, compiles and trains a model
    - an optimizer with which several models from calls of the same function are compiled
    - an optimizer that a custom step calls with `apply_gradients` for one model and then for another one

    Not reported:
    - optimizers by name (`"adam"`)
    - `keras.optimizers.legacy`
    - optimizers that are built for all weights (`optimizer.build`)
    - programs that freeze weights
    - models that may share their layers

    Measured: with TensorFlow 2.21 and 2.15, Adam and SGD, the second `fit` raised, in a loop and one after the
    other, and so did the second `apply_gradients` of an eager and of a traced step. A test repeats it with the
    installed TensorFlow.

    Fix: none, because other code may use the optimizer, too, and the code that makes it may have to move.

    Example:
        from tensorflow import keras

        optimizer = keras.optimizers.Adam(1e-3)
        for fold in range(5):
            model = keras.Sequential([keras.layers.Dense(1)])
            model.compile(optimizer=optimizer, loss="mse")
            model.fit(folds[fold], epochs=10)

    Use instead:
        from tensorflow import keras

        for fold in range(5):
            optimizer = keras.optimizers.Adam(1e-3)
            model = keras.Sequential([keras.layers.Dense(1)])
            model.compile(optimizer=optimizer, loss="mse")
            model.fit(folds[fold], epochs=10)
    """

    code = "TFG218"
    name = "optimizer-of-two-models"
    severity = "error"
    least_tensorflow = (2, 11)
    required_substrings = (
        (b".compile(", b".apply_gradients("),
        (b".fit", b"train_on_batch", b".apply_gradients("),
        (b"ptimizer",),
    )
    skips_tests = True
    skips_graphs = True
    skips_other_backends = True

    def check(self, model: Model) -> Iterator[Finding]:
        """Yield the compilations with an optimizer of another model."""
        from .shared_optimizers import SharedOptimizers

        raised = (
            "ValueError: Unknown variable"
            if model.target.keras >= 3
            else "KeyError: The optimizer cannot recognize variable"
        )
        for step in model.once(SharedOptimizers).steps():
            yield Finding(
                step.file,
                step.second,
                "this optimizer is built for the weights of another model, which it has updated first: here it raises "
                f"({raised})",
                Prediction(
                    "crash", ("training",), basis="the second `apply_gradients`, measured with TensorFlow 2.15 and 2.21"
                ),
                help="make an optimizer for each model, or update both in one call: "
                "`zip(gradients, one.trainable_variables + other.trainable_variables)`",
                notes=(
                    Note(step.made.file, step.made.node, "the shared optimizer is made here"),
                    Note(step.file, step.first, "it is built for this model"),
                ),
            )
        for shared in model.once(SharedOptimizers).all():
            when = "in the second iteration" if shared.is_in_loop else "here"
            compiling, training = shared.compiling, shared.training
            yield Finding(
                compiling.file,
                compiling.node,
                f"this optimizer is built for the weights of another model, which it has trained: {when} training "
                f"raises ({raised})",
                Prediction("crash", ("training",), basis="the second `fit`, measured with TensorFlow 2.15 and 2.21"),
                help="make a new optimizer for each model, next to where the model is made",
                notes=(
                    Note(shared.made.file, shared.made.node, "the shared optimizer is made here"),
                    Note(training.file, training.node, "this trains a second model with it"),
                ),
            )

    def experiments(self, finding: Finding, model: Model) -> Iterator[Experiment]:
        """Two small models: for which weights an optimizer is built does not depend on the user's code."""
        yield Experiment(
            finding.file, finding.node, workload=_WORKLOAD, only_workload=True, exceptions=("ValueError", "KeyError")
        )


_WORKLOAD = Workload(
    before="""
        import numpy as np
        import tensorflow as tf

        x, y = np.ones((32, 4), "float32"), np.ones((32, 1), "float32")
        optimizer = tf.keras.optimizers.Adam()
        for _ in range(2):
            pass
            model = tf.keras.Sequential([tf.keras.layers.Dense(1)])
            model.compile(optimizer=optimizer, loss="mse")
            model.fit(x, y, verbose=0)
        tflint_measure.reached()
    """,
    changes=(("    pass\n", "    optimizer = tf.keras.optimizers.Adam()\n"),),
)
