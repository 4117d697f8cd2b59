"""TFG217 trainable-too-late."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from tflint_gpu.rule import Experiment, Finding, Note, Prediction, Rule, Workload

if TYPE_CHECKING:
    import libcst as cst

    from tflint_gpu.model import File, Model

    from .callback_settings import CallbackSetting
    from .late_trainable import LateSetting


class TrainableTooLate(Rule):
    """`trainable` is set where it has no effect, or so that a model is never trained.

    Why: Keras determines only once which weights are trained: Keras 2 in `compile`, Keras 3 when it traces the first
    training step after `compile`, and a custom `tf.function` step when it is traced. Layers that are frozen later are
    still trained, and layers that are unfrozen later are not. Nothing raises, and `trainable_weights` shows the new
    state.

    With Keras 3, the usual order of calls in GANs written for Keras 2 is wrong too: `discriminator.compile`,
    `discriminator.trainable = False`, `gan.compile` freezes the discriminator before its own first step, so that its
    steps train nothing. Keras 3 only warns that the model has no trainable weights.

    A callback is too late as well. What it sets after an epoch, or at the beginning of a later one, has no effect
    before the next `compile`. `self.model.compile` in a callback removes the step that `fit` is running, and the next
    batch raises `TypeError: 'NoneType' object is not callable`.

    Reported:
    - a setting of `trainable`, in a callback too, that comes too late or after which a model is never trained. The code
      must show the order: the call that determines the trained weights comes first on every path, no `compile` follows
      before the next step, and nothing else is trained

    Not reported:
    - models that run eagerly
    - values that are not known
    - parts that may have had the same state before
    - callbacks that rebuild the training step or stop the training

    Measured: with TensorFlow 2.21 (Keras 3.15) and 2.15 (Keras 2.15), the weights before and after a step were
    compared. A layer that was unfrozen after one `fit` did not change in the next one, and a layer that was frozen did;
    likewise in a traced custom step. A callback that unfroze or froze a layer in the second epoch changed nothing in
    that epoch and the third; a callback that called `compile` raised, at whatever point. Between `compile` and the
    first `fit`, the setting took effect with Keras 3, but not with Keras 2. The discriminator of a GAN was trained with
    Keras 2, and not with Keras 3. A test repeats it with the installed TensorFlow.

    Fix: none, because compiling again resets the optimizer and the metrics, and the code does not say where a GAN's
    model should be unfrozen and frozen.

    Example:
        from tensorflow import keras

        base = keras.applications.MobileNetV2(include_top=False, pooling="avg")
        base.trainable = False
        model = keras.Sequential([base, keras.layers.Dense(5)])
        model.compile(optimizer="adam", loss="mse")
        model.fit(data, epochs=5)
        base.trainable = True
        model.fit(data, epochs=5)

    Use instead:
        from tensorflow import keras

        base = keras.applications.MobileNetV2(include_top=False, pooling="avg")
        base.trainable = False
        model = keras.Sequential([base, keras.layers.Dense(5)])
        model.compile(optimizer="adam", loss="mse")
        model.fit(data, epochs=5)
        base.trainable = True
        model.compile(optimizer="adam", loss="mse")
        model.fit(data, epochs=5)
    """

    code = "TFG217"
    name = "trainable-too-late"
    severity = "error"
    least_tensorflow = (2, 0)
    nearby_substrings = (b".trainable =", b".trainable=")
    skips_tests = True
    skips_graphs = True
    skips_other_backends = True

    def check(self, model: Model) -> Iterator[Finding]:
        """Yield the settings that come too late, or before a step that they stop."""
        from .callback_settings import CallbackSettings
        from .late_trainable import LateSettings

        for late in model.once(LateSettings).all():
            yield _without_effect(late) if late.effect == "none" else _never_trained(late)
        for setting in model.once(CallbackSettings).all():
            yield _in_callback(model.file, setting)

    def experiments(self, finding: Finding, model: Model) -> Iterator[Experiment]:
        """A network of which a part is thawed, and a GAN: when Keras looks does not depend on the user's code."""
        if finding.prediction.kind == "crash":
            errors = ("TypeError",)
            yield Experiment(finding.file, finding.node, workload=_COMPILED, only_workload=True, exceptions=errors)
            return
        workload = _GAN if finding.prediction.basis.startswith("the weights of a GAN") else _THAWED
        yield Experiment(finding.file, finding.node, workload=workload, only_workload=True)


_THAWED = Workload(
    before="""
        import numpy as np
        import tensorflow as tf

        x, y = np.random.rand(64, 4).astype("float32"), np.random.rand(64, 1).astype("float32")
        base = tf.keras.layers.Dense(3)
        model = tf.keras.Sequential([tf.keras.layers.Input((4,)), base, tf.keras.layers.Dense(1)])
        base.trainable = False
        model.compile(optimizer="adam", loss="mse")
        model.fit(x, y, verbose=0)
        base.trainable = True
        pass
        first = base.get_weights()[0]
        model.fit(x, y, verbose=0)
        if np.array_equal(first, base.get_weights()[0]):
            tflint_measure.finish(wrong="the layer that is thawed is not trained")
        tflint_measure.finish()
    """,
    changes=(("\npass\n", '\nmodel.compile(optimizer="adam", loss="mse")\n'),),
)
_GAN = Workload(
    before="""
        import numpy as np
        import tensorflow as tf

        x, y = np.random.rand(64, 4).astype("float32"), np.random.rand(64, 1).astype("float32")
        critic = tf.keras.Sequential([tf.keras.layers.Input((4,)), tf.keras.layers.Dense(1)])
        critic.compile(optimizer="adam", loss="mse")
        critic.trainable = False
        maker = tf.keras.Sequential([tf.keras.layers.Input((4,)), tf.keras.layers.Dense(4)])
        both = tf.keras.Sequential([tf.keras.layers.Input((4,)), maker, critic])
        both.compile(optimizer="adam", loss="mse")
        first = critic.get_weights()[0]
        pass
        critic.train_on_batch(x, y)
        critic.trainable = False
        both.train_on_batch(x, y)
        if np.array_equal(first, critic.get_weights()[0]):
            tflint_measure.finish(wrong="the model that is frozen before its first step is not trained")
        tflint_measure.finish()
    """,
    changes=(("\npass\n", "\ncritic.trainable = True\n"),),
)
_COMPILED = Workload(
    before="""
        import numpy as np
        import tensorflow as tf

        x, y = np.ones((32, 4), "float32"), np.ones((32, 1), "float32")

        class Compiling(tf.keras.callbacks.Callback):
            def on_epoch_end(self, epoch, logs=None):
                self.model.compile(optimizer="adam", loss="mse")
                pass

        model = tf.keras.Sequential([tf.keras.layers.Dense(1)])
        model.compile(optimizer="adam", loss="mse")
        model.fit(x, y, epochs=2, verbose=0, callbacks=[Compiling()])
        tflint_measure.reached()
    """,
    changes=(("        pass\n", "        self.model.stop_training = True\n"),),
)


def _code(late: LateSetting) -> str:
    event = late.setting
    return f"{event.file.code(event.node)} = {event.value}"


def _without_effect(late: LateSetting) -> Finding:
    fixing, training = late.fixing, late.training
    is_custom = training.kind == "step"
    if fixing.kind == "compile":
        reason = "Keras 2 reads it in `compile`, and no `compile` follows"
        note = "here Keras determines which weights are trained"
    else:
        reason = (
            "the step has already been traced" if is_custom else "`fit` has traced its step, and no `compile` follows"
        )
        note = "the first of these steps determines which weights are trained"
    goes_on = "not trained" if late.setting.value else "trained as before"
    is_new = "trace another step" if is_custom else "compile the model again"
    return Finding(
        late.setting.file,
        late.setting.node,
        f"`{_code(late)}` has no effect: {reason}; the weights are {goes_on}",
        Prediction(
            "wrong-result", ("traced",), basis="the weights before and after; measured with TensorFlow 2.15 and 2.21"
        ),
        help=f"{is_new} after this, with a new optimizer",
        notes=(
            Note(fixing.file, fixing.node, note),
            Note(training.file, training.node, "this trains the same weights as before"),
        ),
    )


def _never_trained(late: LateSetting) -> Finding:
    training = late.training
    name = training.file.code(training.subject_node)
    return Finding(
        late.setting.file,
        late.setting.node,
        f"`{_code(late)}` comes before the first step of `{name}`, where Keras 3 reads it (Keras 2 read it in "
        "`compile`): the steps do not train what is frozen here",
        Prediction(
            "wrong-result", ("traced",), basis="the weights of a GAN before and after; measured with TensorFlow 2.21"
        ),
        help=f"set `{name}.trainable = True` right before each step of `{name}`, and `False` before each step of the "
        "model that contains it",
        notes=(
            Note(late.fixing.file, late.fixing.node, "Keras 3 does not determine here which weights are trained"),
            Note(training.file, training.node, "it does so here, in the first step"),
        ),
    )


def _in_callback(file: File, setting: CallbackSetting) -> Finding:
    notes = [Note(file, setting.hook.name, "`fit` calls this between its steps")]
    if setting.compiling is not None:
        node: cst.CSTNode = setting.compiling
        text = (
            "`compile` in the middle of `fit` takes away the step that `fit` runs: the next batch raises (TypeError: "
            "'NoneType' object is not callable)"
        )
        prediction = Prediction(
            "crash", ("training",), basis="a callback that compiles, measured with TensorFlow 2.15 and 2.21"
        )
        notes.append(Note(file, setting.target, "this has no effect until the model is compiled again"))
    else:
        node = setting.target
        goes_on = "what is frozen stays so" if setting.value else "the weights are trained as before"
        text = f"`{file.code(node)} = {setting.value}` has no effect in the middle of `fit`: {goes_on}"
        basis = "the weights in each epoch, measured with TensorFlow 2.15 and 2.21"
        prediction = Prediction("wrong-result", ("traced",), basis=basis)
    return Finding(
        file,
        node,
        text,
        prediction,
        help="end `fit` at this epoch (`epochs=`), set it, compile the model again, and go on with another `fit` "
        "(`initial_epoch=`)",
        notes=tuple(notes),
    )
