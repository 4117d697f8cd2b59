"""TFG213 host-weight-copy."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import libcst as cst

from tflint_gpu.rule import (
    Change,
    Experiment,
    Finding,
    Note,
    Prediction,
    Rule,
    Workload,
    fix_changes,
    measured_loop,
    notes_on,
)

if TYPE_CHECKING:
    from tflint_gpu.model import Model

    from .weight_copies import WeightCopy


class HostWeightCopy(Rule):
    """A training loop copies a model's weights through NumPy in every step.

    Why: `get_weights` copies each variable into a NumPy array, and `set_weights` copies each array back into a
    variable. On a GPU every weight goes to host memory and back, and Python waits for it. `assign` copies from variable
    to variable on the device, and under `@tf.function` all of them at once. How much of a step the copies take was not
    measured, so this rule is opt-in.

    Reported:
    - `get_weights` and `set_weights` in every training step: for a target network, a moving average, or weights that
      are saved and restored around an update

    Not reported:
    - copies once per epoch, per episode or every n steps
    - copies from layer to layer
    - loops that do not update weights

    Measured: {evidence} These are the copies alone.

    Fix: unsafe: both models must have the same variables in the same order, which `set_weights` checks and a `zip` does
    not. There is no fix if the weight lists are also used elsewhere, or if other code may run between `get_weights` and
    `set_weights`: a model that gets back the weights that it had before an update needs the copy.

    Example:
        import tensorflow as tf

        online = tf.keras.Sequential([tf.keras.layers.Dense(4)])
        target = tf.keras.models.clone_model(online)
        for states, values in batches:
            online.train_on_batch(states, values)
            target.set_weights(online.get_weights())

    Use instead:
        import tensorflow as tf

        online = tf.keras.Sequential([tf.keras.layers.Dense(4)])
        target = tf.keras.models.clone_model(online)
        for states, values in batches:
            online.train_on_batch(states, values)
            for mine, other in zip(target.weights, online.weights):
                mine.assign(other)
    """

    code = "TFG213"
    name = "host-weight-copy"
    severity = "advice"
    least_tensorflow = (2, 0)
    nearby_substrings = (b".set_weights(",)
    fixable = "unsafe"
    skips_tests = True
    skips_graphs = True
    skips_other_backends = True
    opt_in = True

    def check(self, model: Model) -> Iterator[Finding]:
        """Yield the `set_weights` that every step of training runs."""
        from .assigned_weights import assigned
        from .weight_copies import WeightCopies

        for copy in model.once(WeightCopies).in_steps():
            repeated = copy.repeated
            assert isinstance(repeated.call.func, cst.Attribute)
            notes = [Note(repeated.root_file, repeated.loop, "the loop of training steps")]
            notes += notes_on(repeated.path)
            if copy.source is None:
                notes.append(Note(repeated.file, copy.read, "the weights are read here"))
            yield Finding(
                repeated.file,
                repeated.call.func.attr,
                "every training step copies all weights through NumPy: from the device to the host, and back",
                Prediction(
                    "slowdown",
                    ("gpu",),
                    basis="the copy alone takes 3 to 40 times as long as an assignment on a CPU, "
                    "and 17 to 98 times on an H200",
                ),
                help="`assign` the other model's variables one by one in a function under `@tf.function`",
                notes=tuple(notes),
                fix=assigned(copy),
                subject=copy,
            )

    def experiments(self, finding: Finding, model: Model) -> Iterator[Experiment]:
        """The user's loop: as it is, and with assignments; a workload where something is computed in between."""
        from .weight_copies import WeightCopy

        copy = finding.subject_as(WeightCopy)
        repeated = copy.repeated
        repair = fix_changes(finding)
        if copy.source is not None and not repair:
            repair = (Change(repeated.file, repeated.call, _assignments(copy)),)
        if not repair:
            yield Experiment(repeated.file, repeated.call, workload=_WORKLOAD, only_workload=True)
            return
        yield Experiment(
            repeated.root_file,
            repeated.loop,
            probes=measured_loop(model, repeated.root_file, repeated.loop),
            repair=repair,
            workload=_WORKLOAD,
        )


def _assignments(copy: WeightCopy) -> str:
    file, call = copy.repeated.file, copy.repeated.call
    assert isinstance(call.func, cst.Attribute) and copy.source is not None
    mine, other = file.code(call.func.value), file.code(copy.source)
    return f"[mine.assign(other) for mine, other in zip({mine}.weights, {other}.weights)]"


_WORKLOAD = Workload(
    before="""
        import tensorflow as tf

        def network():
            layers = [tf.keras.layers.Dense(500, activation="relu") for _ in range(4)]
            model = tf.keras.Sequential([*layers, tf.keras.layers.Dense(4)])
            model(tf.zeros((1, 20)))
            return model

        online, target = network(), network()

        @tf.function
        def follow():
            for mine, other in zip(target.weights, online.weights):
                mine.assign(other)

        for _ in tflint_measure.steps(range(8)):
            target.set_weights(online.get_weights())
    """,
    changes=(("    target.set_weights(online.get_weights())", "    follow()"),),
)
