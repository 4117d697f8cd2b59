"""TFG604: float16 probabilities that a cross-entropy certainly gets are found; nothing else."""

from __future__ import annotations

from pathlib import Path

import pytest
from checks import codes, fixed, found, notebook

from tflint_gpu.targets import Target

HEAD = """
import tensorflow as tf
from tensorflow import keras
from tensorflow.keras import layers, mixed_precision
"""
ROWS = HEAD.count("\n")
SET = "mixed_precision.set_global_policy('mixed_float16')\n"
TRAIN = "model.compile('adam', 'sparse_categorical_crossentropy')\nmodel.fit(x, y)\n"
BINARY = "model.compile('adam', 'binary_crossentropy')\nmodel.fit(x, y)\n"

HALF = {  # the row of the layer, below HEAD
    "softmax of Dense": (SET + "model = keras.Sequential([layers.Dense(10, activation='softmax')])\n" + TRAIN, 2),
    "by position": (SET + "model = keras.Sequential([layers.Dense(10, 'softmax')])\n" + TRAIN, 2),
    "sigmoid": (SET + "model = keras.Sequential([layers.Dense(1, activation='sigmoid')])\n" + BINARY, 2),
    "a function": (SET + "model = keras.Sequential([layers.Dense(1, activation=tf.nn.sigmoid)])\n" + BINARY, 2),
    "Activation": (
        SET + "model = keras.Sequential([layers.Dense(10), layers.Activation('softmax')])\n" + TRAIN,
        2,
    ),
    "Softmax": (SET + "model = keras.Sequential([layers.Dense(10), layers.Softmax()])\n" + TRAIN, 2),
    "added last": (
        SET
        + "model = keras.Sequential()\nmodel.add(layers.Dense(64))\nmodel.add(layers.Dense(10, activation='softmax'))\n"
        + TRAIN,
        4,
    ),
    "functional": (
        SET + "i = keras.Input((4,))\nh = layers.Dense(8)(i)\no = layers.Dense(10, activation='softmax')(h)\n"
        "model = keras.Model(i, o)\n" + TRAIN,
        4,
    ),
    "a mask of pixels": (
        SET + "i = keras.Input((8, 8, 3))\no = layers.Conv2D(1, 1, activation='sigmoid')(i)\n"
        "model = keras.Model(inputs=i, outputs=[o])\n" + BINARY,
        3,
    ),
    "subclassed": (
        SET + "class Net(keras.Model):\n    def __init__(self):\n        super().__init__()\n"
        "        self.out = layers.Dense(10, activation='softmax')\n    def call(self, x):\n        return self.out(x)\n"
        "model = Net()\n" + TRAIN,
        5,
    ),
    "a policy object": (
        "policy = mixed_precision.Policy('mixed_float16')\nmixed_precision.set_global_policy(policy)\n"
        "model = keras.Sequential([layers.Dense(10, activation='softmax')])\n" + TRAIN,
        3,
    ),
    "where there is a GPU": (
        "gpus = tf.config.list_physical_devices('GPU')\nif gpus:\n    "
        + SET
        + "model = keras.Sequential([layers.Dense(10, activation='softmax')])\n"
        + TRAIN,
        4,
    ),
    "by functions": (
        "def setup():\n    "
        + SET
        + "def build(head):\n    return keras.Sequential([layers.Dense(10, activation=head)])\n"
        "def main():\n    setup()\n    model = build('softmax')\n    "
        + TRAIN.replace("\nm", "\n    m")
        + "if __name__ == '__main__':\n    main()\n",
        4,
    ),
    "in a class": (
        "class Trainer:\n    def __init__(self):\n        "
        + SET
        + "        self.model = keras.Sequential([layers.Dense(10, activation='softmax')])\n"
        "        self.model.compile('adam', keras.losses.SparseCategoricalCrossentropy())\n"
        "    def run(self):\n        self.model.fit(x, y)\nTrainer().run()\n",
        4,
    ),
    "each step of a sequence": (
        SET + "model = keras.Sequential([layers.TimeDistributed(layers.Dense(10, activation='softmax'))])\n" + TRAIN,
        2,
    ),
}
MODEL = "model = keras.Sequential([layers.Dense(10, activation='softmax')])\n"
FINE = {
    "no policy": MODEL + TRAIN,
    "bfloat16": SET.replace("float16", "bfloat16").replace("mixed_bb", "mixed_b") + MODEL + TRAIN,
    "float32 at the layer": SET
    + "model = keras.Sequential([layers.Dense(10, activation='softmax', dtype='float32')])\n"
    + TRAIN,
    "float32 after": SET
    + "model = keras.Sequential([layers.Dense(10), layers.Activation('softmax', dtype='float32')])\n"
    + TRAIN,
    "a linear float32 after": SET + MODEL.replace("])", ", layers.Activation('linear', dtype='float32')])") + TRAIN,
    "a dtype from elsewhere": SET
    + "model = keras.Sequential([layers.Dense(10, activation='softmax', dtype=kind)])\n"
    + TRAIN,
    "arguments from elsewhere": SET
    + "model = keras.Sequential([layers.Dense(10, activation='softmax', **options)])\n"
    + TRAIN,
    "logits": SET + "model = keras.Sequential([layers.Dense(10)])\n" + TRAIN,
    "inside of the model": SET
    + "model = keras.Sequential([layers.Dense(10, activation='softmax'), layers.Dense(3)])\n"
    + TRAIN,
    "attention": SET + "i = keras.Input((4,))\na = layers.Dense(4, activation='softmax')(i)\n"
    "model = keras.Model(i, layers.Dense(10)(i * a))\n" + TRAIN,
    "a cast after": SET + "i = keras.Input((4,))\no = layers.Dense(10, activation='softmax')(i)\n"
    "model = keras.Model(i, tf.cast(o, tf.float32))\n" + TRAIN,
    "the user's choice": "if args.fp16:\n    " + SET + MODEL + TRAIN,
    "a policy from the settings": "mixed_precision.set_global_policy(config.policy)\n" + MODEL + TRAIN,
    "one of two policies": "mixed_precision.set_global_policy('mixed_float16' if gpu else 'float32')\n" + MODEL + TRAIN,
    "another policy later": SET + "mixed_precision.set_global_policy('float32')\n" + MODEL + TRAIN,
    "the policy comes after": MODEL + SET + TRAIN,
    "a function that nobody calls": "def fast():\n    " + SET + MODEL + TRAIN,
    "never trained": SET + MODEL + "model.predict(x)\n",
    "never compiled here": SET + MODEL + "prepare(model)\nmodel.fit(x, y)\n",
    "another loss": SET
    + "model = keras.Sequential([layers.Dense(1, activation='sigmoid')])\nmodel.compile('adam', 'mse')\nmodel.fit(x, x)\n",
    "the project's loss": SET
    + "def loss(a, b):\n    return tf.reduce_mean(a - b)\n"
    + MODEL
    + "model.compile('adam', loss)\nmodel.fit(x, y)\n",
    "another activation": SET + "model = keras.Sequential([layers.Dense(10, activation='relu')])\n" + TRAIN,
    "one of two activations": SET
    + "model = keras.Sequential([layers.Dense(10, activation='softmax' if one else None)])\n"
    + TRAIN,
    "added later perhaps": SET
    + MODEL
    + "if calibrate:\n    model.add(layers.Activation('linear', dtype='float32'))\n"
    + TRAIN,
    "the name in a comment": "# mixed_float16\n" + MODEL + TRAIN,
}


def _table(cases: dict[str, object]) -> pytest.MarkDecorator:
    return pytest.mark.parametrize("case", cases.values(), ids=cases)


@_table(HALF)  # type: ignore[arg-type]
def test_float16_probabilities_are_found(case: tuple[str, int], tmp_path: Path) -> None:
    code, row = case
    assert found(HEAD + code, tmp_path) - {("TFG401", 0)} >= {("TFG604", row + ROWS)}
    assert codes(HEAD + code, tmp_path).count("TFG604") == 1


@_table(FINE)  # type: ignore[arg-type]
def test_others_are_not_found(case: str, tmp_path: Path) -> None:
    assert "TFG604" not in codes(HEAD + case, tmp_path)


FLOAT16 = {
    "a tensor of float16": ("m = tf.ones((9, 10), tf.float16)\nprint(model(x) * m)\n", "MODEL"),
    "the dtype of the model": ("print(model(x) * tf.cast(x, model.compute_dtype))\n", "MODEL"),
    "another model": ("other = keras.Sequential([layers.Dense(10)])\nprint(model(x) * other(x))\n", "MODEL"),
    "a name for the result": ("p = model(x)\nprint(tf.concat([p, hidden(x)], -1))\n", "MODEL"),
    "another layer in the model": ("", "SUBCLASS"),
    "a loss": ("print(keras.losses.categorical_crossentropy(y, model(x)))\n", ""),
    "a cast": ("p = model(x)\nprint(tf.cast(p, tf.float32))\n", ""),
}
SUBCLASS = HALF["subclassed"][0].replace(
    "return self.out(x)", "p = self.out(x); self.seen = p + self.other(x); return p"
)


@pytest.mark.parametrize("case", FLOAT16)
def test_an_output_that_meets_float16_has_no_fix(case: str, tmp_path: Path) -> None:
    """Protects programs that compute with float16 themselves: a float32 output meets a float16 tensor and raises."""
    after, kind = FLOAT16[case]
    program = HEAD + (SUBCLASS if kind == "SUBCLASS" else HALF["functional"][0]) + after
    assert ("TFG604" in codes(program, tmp_path)) and (fixed(program, tmp_path, "TFG604") == program) is bool(kind)


def test_keras_2_computes_the_loss_from_logits(tmp_path: Path) -> None:
    assert "TFG604" not in codes(HEAD + HALF["sigmoid"][0], tmp_path, target=Target((2, 15), 2, "settings"))


def test_a_policy_and_a_model_of_other_files(tmp_path: Path) -> None:
    (tmp_path / "setup.py").write_text("from tensorflow.keras import mixed_precision\n" + SET)
    (tmp_path / "nets.py").write_text(
        "from tensorflow import keras\n\ndef build():\n    model = keras.Sequential()\n"
        "    model.add(keras.layers.Dense(10, activation='softmax'))\n    return model\n"
    )
    code = "import setup\nfrom nets import build\nmodel = build()\n" + TRAIN
    assert ("TFG604 nets.py", 5) in found(code, tmp_path)


def test_a_notebook(tmp_path: Path) -> None:
    code = notebook(HEAD + SET, HALF["softmax of Dense"][0].removeprefix(SET))
    assert "TFG604" in {code for code, _ in found(code, tmp_path, "a.ipynb")}


def test_tests_are_left_alone(tmp_path: Path) -> None:
    assert found(HEAD + HALF["sigmoid"][0], tmp_path, "tests/net.py") == set()


@pytest.mark.parametrize(("dtype", "learns"), [("mixed_float16", False), ("float32", True)])
def test_the_truth_a_certain_mistake_changes_nothing(dtype: str, learns: bool) -> None:
    """With the installed TensorFlow: a probability of 1 in float16 for a negative example."""
    import tensorflow as tf

    keras = tf.keras
    start = keras.initializers.Constant(10.0)
    last = keras.layers.Dense(1, activation="sigmoid", kernel_initializer=start, dtype=dtype)
    model = keras.Sequential([keras.layers.Input((1,)), last])
    model.compile(keras.optimizers.SGD(1.0), "binary_crossentropy")
    model.fit(tf.ones((1, 1)), tf.zeros((1, 1)), verbose=0)
    assert (float(last.kernel.numpy()[0, 0]) < 10.0) is learns
