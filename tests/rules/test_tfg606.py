"""TFG606: steps that certainly run under mixed_float16 without a scaled loss are found; nothing else."""

from __future__ import annotations

from pathlib import Path

import pytest
from checks import codes, found, notebook

from tflint_gpu.targets import Target

HEAD = """
import tensorflow as tf
from tensorflow import keras
from tensorflow.keras import layers, mixed_precision
"""
ROWS = HEAD.count("\n")
SET = "mixed_precision.set_global_policy('mixed_float16')\n"
MODEL = "model = keras.Sequential([layers.Dense(1)])\noptimizer = keras.optimizers.Adam()\n"
STEP = """@tf.function
def step(x):
    with tf.GradientTape() as tape:
        loss = tf.reduce_mean(model(x))
    gradients = tape.gradient(loss, model.trainable_variables)
    optimizer.apply_gradients(zip(gradients, model.trainable_variables))
for x in data:
    step(x)
"""
NET = """class Net(keras.Model):
    def __init__(self):
        super().__init__()
        self.d = layers.Dense(1)
    def call(self, x):
        return self.d(x)
    def train_step(self, data):
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean(self(data, training=True))
        gradients = tape.gradient(loss, self.trainable_variables)
        self.optimizer.apply_gradients(zip(gradients, self.trainable_variables))
        return {'loss': loss}
"""
FIT = "model = Net()\nmodel.compile('adam')\nmodel.fit(x)\n"
GAN = """critic = keras.Sequential([layers.Dense(1)])
critic_optimizer = keras.optimizers.Adam()
def step(x):
    with tf.GradientTape() as t:
        loss = tf.reduce_mean(model(x))
    with tf.GradientTape() as u:
        other = tf.reduce_mean(critic(x))
    gradients = t.gradient(loss, model.trainable_variables)
    others = u.gradient(other, critic.trainable_variables)
    optimizer.apply_gradients(zip(gradients, model.trainable_variables))
    others, _ = tf.clip_by_global_norm(others, 1.0)
    critic_optimizer.apply_gradients(zip(others, critic.trainable_variables))
"""
WRAP = "optimizer = mixed_precision.LossScaleOptimizer(optimizer)\n"
ONE_SCALED = WRAP + GAN.replace("t.gradient(loss", "t.gradient(optimizer.get_scaled_loss(loss)").replace(
    "zip(gradients", "zip(optimizer.get_unscaled_gradients(gradients)"
)
GAN_CLASS = """class Gan(keras.Model):
    def __init__(self, maker, critic):
        super().__init__()
        self.maker, self.critic = maker, critic
    def compile(self, optimizer, critic_optimizer):
        super().compile()
        self.own, self.others = optimizer, critic_optimizer
    def train_step(self, x):
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean(self.critic(x))
        gradients = tape.gradient(loss, self.critic.trainable_weights)
        self.others.apply_gradients(zip(gradients, self.critic.trainable_weights))
        with tf.GradientTape() as tape:
            loss = scaled(tf.reduce_mean(self.maker(x)))
        gradients = tape.gradient(loss, self.maker.trainable_weights)
        self.own.apply_gradients(zip(gradients, self.maker.trainable_weights))
        return {}
gan = Gan(model, keras.Sequential([layers.Dense(1)]))
gan.compile(optimizer, keras.optimizers.Adam())
gan.fit(data)
"""

UNSCALED = {  # the row of the tape, below HEAD
    "a step": (SET + MODEL + STEP, 6),
    "the weights have a name": (
        SET
        + MODEL
        + STEP.replace("    gradients", "    weights = model.trainable_variables\n    gradients").replace(
            "loss, model.trainable_variables", "loss, weights"
        ),
        6,
    ),
    "in a loop": (
        SET + MODEL + "for x in data:\n    with tf.GradientTape() as t:\n        loss = tf.reduce_mean(model(x))\n"
        "    g = t.gradient(loss, model.trainable_weights)\n"
        "    optimizer.apply_gradients(zip(g, model.trainable_weights))\n",
        5,
    ),
    "parameters": (
        SET
        + "def step(model, optimizer, x):\n    with tf.GradientTape() as tape:\n        loss = tf.reduce_mean(model(x))\n"
        "    g = tape.gradient(loss, model.trainable_variables)\n    optimizer.apply_gradients(zip(g, model.trainable_variables))\n"
        + MODEL
        + "step(model, optimizer, x)\n",
        3,
    ),
    "a class": (
        "class Trainer:\n    def __init__(self):\n        "
        + SET
        + "        self.model = keras.Sequential([layers.Dense(1)])\n"
        "        self.opt = keras.optimizers.SGD()\n    def step(self, x):\n        with tf.GradientTape() as tape:\n"
        "            loss = tf.reduce_mean(self.model(x))\n        g = tape.gradient(loss, self.model.trainable_variables)\n"
        "        self.opt.apply_gradients(zip(g, self.model.trainable_variables))\nTrainer().step(x)\n",
        7,
    ),
    "a train_step": (SET + NET + FIT, 9),
    "only one of two optimizers scales": (SET + MODEL + ONE_SCALED, 10),
    "one of two tapes": (
        SET
        + MODEL
        + STEP.replace("    with", "    with tf.GradientTape() as other:\n        seen = model(x)\n    with"),
        8,
    ),
    "one tape for two updates": (
        SET
        + MODEL
        + GAN.replace("    with tf.GradientTape() as u:\n", "").replace("as t:", "as u:").replace("t.g", "u.g"),
        7,
    ),
    "beside what scales images and tables": (
        SET
        + "from sklearn.preprocessing import StandardScaler\n"
        + MODEL.replace("[", "[layers.Rescaling(1 / 255), ")
        + STEP,
        7,
    ),
    "a policy object": (SET.replace("'mixed_float16'", "mixed_precision.Policy('mixed_float16')") + MODEL + STEP, 6),
}
FINE = {
    "both of two optimizers scale": SET
    + MODEL
    + ONE_SCALED.replace("u.gradient(other", "u.gradient(optimizer.get_scaled_loss(other)"),
    "one of two optimizers scales in a helper": SET
    + MODEL
    + "def apart(loss):\n    return loss * SCALE\n"
    + ONE_SCALED.replace("u.gradient(other", "u.gradient(apart(other)"),
    "two steps, of which one scales in some way": SET + MODEL + GAN_CLASS,
    "gradients of two tapes are added": SET
    + MODEL
    + GAN.replace("(others, 1.0)", "(others + gradients, 1.0)").replace("    optimizer.apply", "    known.apply"),
    "a tape with another update": SET
    + MODEL
    + GAN.replace("zip(gradients", "zip(known").replace("zip(others", "zip(known"),
    "scaling by a name": SET + MODEL + STEP + "scaling = 1024\n",
    "no policy": MODEL + STEP,
    "bfloat16": "mixed_precision.set_global_policy('mixed_bfloat16')\n" + MODEL + STEP,
    "a policy from a flag": "if args.fp16:\n    " + SET + MODEL + STEP,
    "a policy from the settings": "mixed_precision.set_global_policy(cfg.policy)\n" + MODEL + STEP,
    "the policy comes after": MODEL + SET + STEP,
    "scaled": SET
    + MODEL.replace("keras.optimizers.Adam()", "mixed_precision.LossScaleOptimizer(keras.optimizers.Adam())")
    + STEP.replace("gradient(loss", "gradient(optimizer.scale_loss(loss)"),
    "scaled by hand": SET + MODEL + STEP.replace("gradient(loss", "gradient(loss * SCALE"),
    "scaled in a helper": SET + MODEL + STEP.replace("gradient(loss", "gradient(scaled(loss)"),
    "a scaled train_step": SET + NET.replace("gradient(loss", "gradient(self.optimizer.scale_loss(loss)") + FIT,
    "another optimizer": SET + MODEL.replace("keras.optimizers.Adam()", "make()") + STEP,
    "another model": SET + MODEL.replace("keras.Sequential([layers.Dense(1)])", "load()") + STEP,
    "gradients of an image": SET + MODEL + STEP.replace("loss, model.trainable_variables", "loss, x"),
    "no update": SET
    + MODEL
    + STEP.replace("    optimizer.apply_gradients(zip(gradients, model.trainable_variables))\n", ""),
    "fit": SET + MODEL + "model.compile(optimizer, 'mse')\nmodel.fit(x, y)\n",
    "a train_step that is never fitted": SET + NET,
    "a train_step without the policy": NET + FIT,
    "an optimizer of its own": SET + NET.replace("self.optimizer", "self.own") + FIT,
    "its own compile": SET + NET + "    def compile(self, o):\n        self.optimizer = o\n" + FIT,
    "the scaling is in another function": SET + MODEL + STEP + "def loss_scale():\n    return 1024\n",
    "a comment": "# mixed_float16\n" + MODEL + STEP,
}


def _table(cases: dict[str, object]) -> pytest.MarkDecorator:
    return pytest.mark.parametrize("case", cases.values(), ids=cases)


@_table(UNSCALED)  # type: ignore[arg-type]
def test_unscaled_steps_are_found(case: tuple[str, int], tmp_path: Path) -> None:
    code, row = case
    assert ("TFG606", row + ROWS) in found(HEAD + code, tmp_path)
    assert codes(HEAD + code, tmp_path).count("TFG606") == 1


@_table(FINE)  # type: ignore[arg-type]
def test_others_are_not_found(case: str, tmp_path: Path) -> None:
    assert "TFG606" not in codes(HEAD + case, tmp_path)


def test_each_tape_of_a_step_is_reported(tmp_path: Path) -> None:
    """Protects steps of two optimizers, as every GAN has."""
    rows = {row - ROWS for code, row in found(HEAD + SET + MODEL + GAN, tmp_path) if code == "TFG606"}
    assert rows == {7, 9}
    rows = {row - ROWS for code, row in found(HEAD + SET + MODEL + GAN_CLASS.replace("scaled(", "("), tmp_path)}
    assert {12, 16} <= rows


def test_keras_2_divides_nothing(tmp_path: Path) -> None:
    keras_2 = Target((2, 15), 2, "settings")
    assert "TFG606" not in codes(HEAD + UNSCALED["a train_step"][0], tmp_path, target=keras_2)
    assert "TFG606" in codes(HEAD + UNSCALED["a step"][0], tmp_path, target=keras_2)


def test_a_policy_of_another_file(tmp_path: Path) -> None:
    (tmp_path / "devices.py").write_text(f"from tensorflow.keras import mixed_precision\n\ndef setup():\n    {SET}")
    code = HEAD + "from devices import setup\nsetup()\n" + MODEL + STEP
    assert ("TFG606", ROWS + 7) in found(code, tmp_path)


def test_a_step_of_another_file(tmp_path: Path) -> None:
    (tmp_path / "steps.py").write_text(
        "import tensorflow as tf\n\ndef step(net, opt, x):\n    with tf.GradientTape() as tape:\n        loss = net(x)\n"
        "    g = tape.gradient(loss, net.trainable_variables)\n    opt.apply_gradients(zip(g, net.trainable_variables))\n"
    )
    code = HEAD + "from steps import step\n" + SET + MODEL + "step(model, optimizer, x)\n"
    assert ("TFG606 steps.py", 4) in found(code, tmp_path)


def test_a_notebook(tmp_path: Path) -> None:
    assert "TFG606" in {code for code, _ in found(notebook(HEAD + SET, MODEL, STEP), tmp_path, "a.ipynb")}


def test_tests_are_left_alone(tmp_path: Path) -> None:
    assert "TFG606" not in {code for code, _ in found(HEAD + SET + MODEL + STEP, tmp_path, "tests/step.py")}


def test_the_truth_small_gradients_are_lost_and_unscaled_ones_divided() -> None:
    """With the installed TensorFlow and its Keras 3."""
    import tensorflow as tf

    keras = tf.keras
    optimizer = keras.mixed_precision.LossScaleOptimizer(keras.optimizers.SGD(1.0))
    layer = keras.layers.Dense(1, use_bias=False, kernel_initializer="ones", dtype="mixed_float16")
    layer.build((None, 1))
    found = []
    for scale in (lambda loss: loss, optimizer.scale_loss):
        with tf.GradientTape() as tape:
            scaled = scale(tf.cast(tf.reduce_mean(layer(tf.ones((1, 1)))), tf.float32) * 1e-8)
        found.append(float(tape.gradient(scaled, layer.trainable_variables)[0][0, 0]))
    assert found[0] == 0.0
    assert found[1] > 0.0
    optimizer.build(layer.trainable_variables)
    optimizer.apply_gradients([(tf.ones((1, 1)), layer.kernel)])
    assert float(layer.kernel.numpy()[0, 0]) == pytest.approx(1 - 1 / 32768, abs=1e-7)
