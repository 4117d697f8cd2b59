"""TFG603, which is opt-in: a training program that chooses no precision is found once; one that does is not."""

from __future__ import annotations

from pathlib import Path

import pytest
from checks import found, notebook

from tflint_gpu.targets import Target

TF = "import tensorflow as tf\nfor g in tf.config.list_physical_devices('GPU'): tf.config.experimental.set_memory_growth(g, True)\n"
TRAIN = "model = tf.keras.Sequential([tf.keras.layers.Dense(1)])\nmodel.compile('adam', 'mse')\nmodel.fit(x, y)\n"
CLASS = (
    "class Trainer:\n    def __init__(self):\n        self.model = tf.keras.Sequential([tf.keras.layers.Dense(1)])\n"
    "    def run(self):\n        self.model.fit(x, y)\nTrainer().run()\n"
)

PLAIN = {  # the row of the training
    "fit": (TF + TRAIN, 5),
    "only the first": (TF + TRAIN + "model.fit(x, y)\n", 5),
    "a class": (TF + CLASS, 7),
    "a parameter": (
        TF + "def train(model):\n    model.fit(x, y, epochs=3)\nif __name__ == '__main__':\n"
        "    train(tf.keras.Sequential([tf.keras.layers.Dense(1)]))\n",
        4,
    ),
    "a loop": (
        TF
        + "net = tf.keras.Sequential([tf.keras.layers.Dense(1)])\nfor x in data:\n    with tf.GradientTape() as tape:\n"
        "        loss = net(x)\n    optimizer.apply_gradients(zip(tape.gradient(loss, net.weights), net.weights))\n",
        5,
    ),
}
FINE = {
    "nothing about GPUs": "import tensorflow as tf\n" + TRAIN,
    "TensorFlow 1": TF + "tf.compat.v1.disable_eager_execution()\n" + TRAIN,
    "only asks for GPUs": "import tensorflow as tf\nprint(tf.config.list_physical_devices('GPU'))\n" + TRAIN,
    "a policy": TF + "tf.keras.mixed_precision.set_global_policy('mixed_float16')\n" + TRAIN,
    "an older policy": TF + "tf.keras.mixed_precision.experimental.set_policy('mixed_float16')\n" + TRAIN,
    "a policy from the settings": TF + "tf.keras.mixed_precision.set_global_policy(args.policy)\n" + TRAIN,
    "a dtype of a layer": TF + TRAIN.replace("Dense(1)", "Dense(1, dtype='bfloat16')"),
    "float64": TF + "tf.keras.backend.set_floatx('float64')\n" + TRAIN,
    "TPUs": TF + "strategy = tf.distribute.TPUStrategy()\n" + TRAIN,
    "only predicts": TF + "model = tf.keras.models.load_model(p)\nmodel.predict(x)  # Dense\n",
    "on the CPU": TF + "with tf.device('/CPU:0'):\n    " + TRAIN.replace("\n", "\n    "),
    "a library": TF + "def train(model):\n    model.fit(x, y, epochs=3)  # Dense\n",
    "no products": TF + "model = tf.keras.Sequential([tf.keras.layers.Normalization()])\nmodel.fit(x, y)\n",
    "another backend": "import os\nos.environ['KERAS_BACKEND'] = 'torch'\n" + TF + TRAIN,
    "scikit-learn": TF + "from sklearn.svm import SVC\nSVC().fit(x, y)  # Dense\n",
}


def _table(cases: dict[str, object]) -> pytest.MarkDecorator:
    return pytest.mark.parametrize("case", cases.values(), ids=cases)


@_table(PLAIN)  # type: ignore[arg-type]
def test_programs_in_float32_are_found_once(case: tuple[str, int], tmp_path: Path) -> None:
    code, row = case
    assert [place for name, place in found(code, tmp_path) if name == "TFG603"] == [row]


@_table(FINE)  # type: ignore[arg-type]
def test_others_are_not_found(case: str, tmp_path: Path) -> None:
    assert "TFG603" not in {name for name, _ in found(case, tmp_path)}


def test_a_policy_of_another_file(tmp_path: Path) -> None:
    (tmp_path / "setup.py").write_text(TF + "tf.keras.mixed_precision.set_global_policy('mixed_float16')\n")
    assert "TFG603" not in {name for name, _ in found("import setup\n" + TF + TRAIN, tmp_path)}


def test_training_in_another_file(tmp_path: Path) -> None:
    (tmp_path / "trainer.py").write_text(TF + "def train():\n    " + TRAIN.replace("\n", "\n    "))
    assert ("TFG603", 2) in found("from trainer import train\ntrain()\n", tmp_path)


def test_a_notebook(tmp_path: Path) -> None:
    assert "TFG603" in {name for name, _ in found(notebook(TF, TRAIN), tmp_path, "a.ipynb")}


def test_older_tensorflow_and_tests_are_left_alone(tmp_path: Path) -> None:
    old = Target((2, 3), 2, "settings")
    assert "TFG603" not in {name for name, _ in found(TF + TRAIN, tmp_path, target=old)}
    assert "TFG603" not in {name for name, _ in found(TF + TRAIN, tmp_path, "tests/x.py")}


def test_the_truth_layers_compute_in_what_the_policy_says() -> None:
    """With the installed TensorFlow: float32 without a policy, float16 with one."""
    import tensorflow as tf

    x = tf.ones((1, 3))
    assert tf.keras.layers.Dense(2)(x).dtype == tf.float32
    assert tf.keras.layers.Dense(2, dtype="mixed_float16")(x).dtype == tf.float16
