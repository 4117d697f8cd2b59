"""TFG716 to TFG718, TFG721: what Keras 3 took away is found where it is used, and the fixes run with both."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path
from typing import Any

import pytest
from checks import findings, fixed

from tflint_gpu.rule import Finding
from tflint_gpu.targets import Target

HEAD = "import numpy as np\nimport tensorflow as tf\n"
NET = (
    HEAD
    + "net = tf.keras.Sequential([tf.keras.layers.Input((3,)), tf.keras.layers.Dense(2)])\n"
    + "net.compile('sgd', 'mse')\n"
)
RATE = NET + "net.fit(tf.ones((4, 3)), tf.ones((4, 2)), verbose=0)\n"
OLD_KERAS = Target((2, 15), 2, "settings")
FIXED = {
    "a layer that left experimental": (
        "TFG716",
        HEAD + "part = tf.keras.layers.experimental.preprocessing.CenterCrop(2, 2)\n",
        HEAD + "part = tf.keras.layers.CenterCrop(2, 2)\n",
    ),
    "a module that is imported": (
        "TFG716",
        "from tensorflow.keras.layers.experimental import preprocessing\ncut = preprocessing.Resizing(4, 4)\n",
        "from tensorflow.keras import layers\ncut = layers.Resizing(4, 4)\n",
    ),
    "several of a module": (
        "TFG716",
        "from tensorflow.keras.layers.experimental.preprocessing import Rescaling, Resizing as Cut\n"
        "parts = [Rescaling(0.5), Cut(2, 2)]\n",
        "from tensorflow.keras.layers import Rescaling, Resizing as Cut\nparts = [Rescaling(0.5), Cut(2, 2)]\n",
    ),
    "a schedule": (
        "TFG716",
        "from tensorflow import keras\nfalls = keras.experimental.CosineDecay(0.1, 100)\n",
        "from tensorflow import keras\nfalls = keras.optimizers.schedules.CosineDecay(0.1, 100)\n",
    ),
    "a loss of tf.keras": (
        "TFG716",
        HEAD + "cost = tf.keras.losses.mean_absolute_error(tf.ones(3), tf.zeros(3))\n",
        HEAD + "cost = tf.keras.losses.MAE(tf.ones(3), tf.zeros(3))\n",
    ),
    "a loss of tf.losses": (
        "TFG716",
        HEAD + "cost = tf.losses.mean_squared_error(tf.ones(3), tf.zeros(3))\n",
        HEAD + "cost = tf.losses.MSE(tf.ones(3), tf.zeros(3))\n",
    ),
    "a loss of keras": (
        "TFG716",
        "import keras\nimport numpy as np\ncost = keras.losses.mse(np.ones(3), np.zeros(3))\n",
        "import keras\nimport numpy as np\ncost = keras.losses.mean_squared_error(np.ones(3), np.zeros(3))\n",
    ),
    "a reduction": (
        "TFG716",
        "import keras\ncost = keras.losses.MeanSquaredError(reduction=keras.losses.Reduction.NONE)\n",
        'import keras\ncost = keras.losses.MeanSquaredError(reduction="none")\n',
    ),
    "an automatic reduction": (
        "TFG716",
        HEAD + "cost = tf.keras.losses.Huber(reduction=tf.keras.losses.Reduction.AUTO)\n",
        HEAD + 'cost = tf.keras.losses.Huber(reduction="sum_over_batch_size")\n',
    ),
    "what saving registers": (
        "TFG716",
        HEAD + "@tf.keras.saving.register_keras_serializable(package='mine')\ndef twice(x):\n    return 2 * x\n",
        HEAD + "@tf.keras.utils.register_keras_serializable(package='mine')\ndef twice(x):\n    return 2 * x\n",
    ),
    "an old optimizer": (
        "TFG716",
        HEAD + "steps = tf.keras.optimizers.legacy.RMSprop(0.01)\n",
        HEAD + "steps = tf.keras.optimizers.RMSprop(0.01)\n",
    ),
    "texts": (
        "TFG716",
        "from keras.preprocessing.text import Tokenizer\nwords = Tokenizer(num_words=9)\n",
        "from tensorflow.keras.preprocessing.text import Tokenizer\nwords = Tokenizer(num_words=9)\n",
    ),
    "a rate by its old name": (
        "TFG717",
        "from tensorflow.keras.optimizers import SGD\nsteps = SGD(lr=0.1, momentum=0.9)\n",
        "from tensorflow.keras.optimizers import SGD\nsteps = SGD(learning_rate=0.1, momentum=0.9)\n",
    ),
    "how it is computed": (
        "TFG717",
        HEAD + "norm = tf.keras.layers.BatchNormalization(\n    axis=-1,\n    fused=False,\n)\n",
        HEAD + "norm = tf.keras.layers.BatchNormalization(\n    axis=-1,\n)\n",
    ),
    "nothing dynamic": (
        "TFG717",
        "from tensorflow.keras.layers import Dense as Full\npart = Full(4, dynamic=False, use_bias=False)\n",
        "from tensorflow.keras.layers import Dense as Full\npart = Full(4, use_bias=False)\n",
    ),
    "time is not first": (
        "TFG717",
        HEAD + "reads = tf.keras.layers.GRU(4, time_major=False, return_sequences=True)\n",
        HEAD + "reads = tf.keras.layers.GRU(4, return_sequences=True)\n",
    ),
    "no size": (
        "TFG717",
        HEAD + "pool = tf.keras.layers.AveragePooling2D()\n",
        HEAD + "pool = tf.keras.layers.AveragePooling2D(pool_size=(2, 2))\n",
    ),
    "strides without a size": (
        "TFG717",
        "from tensorflow.keras import layers as parts\npool = parts.AvgPool1D(strides=3)\n",
        "from tensorflow.keras import layers as parts\npool = parts.AvgPool1D(pool_size=2, strides=3)\n",
    ),
    "each epoch": (
        "TFG717",
        HEAD + "kept = tf.keras.callbacks.ModelCheckpoint('best.keras', period=1)\n",
        HEAD + "kept = tf.keras.callbacks.ModelCheckpoint('best.keras')\n",
    ),
    "steps at once": (
        "TFG717",
        NET + "net.compile('adam', 'mse', experimental_steps_per_execution=4)\n",
        NET + "net.compile('adam', 'mse', steps_per_execution=4)\n",
    ),
    "a function at any rate": (
        "TFG717",
        NET + "net.compile('adam', 'mse', experimental_run_tf_function=False)\n",
        NET + "net.compile('adam', 'mse')\n",
    ),
    "a named weight": (
        "TFG717",
        HEAD + "class Bias(tf.keras.layers.Layer):\n    def build(self, shape):\n"
        "        self.b = self.add_weight('b', (shape[-1],), initializer='zeros')\n\n"
        "    def call(self, x):\n        return x + self.b\n\n\nBias()(tf.ones((2, 3)))\n",
        HEAD + "class Bias(tf.keras.layers.Layer):\n    def build(self, shape):\n"
        "        self.b = self.add_weight(name='b', shape=(shape[-1],), initializer='zeros')\n\n"
        "    def call(self, x):\n        return x + self.b\n\n\nBias()(tf.ones((2, 3)))\n",
    ),
    "a metric from the start": (
        "TFG718",
        HEAD + "hits = tf.keras.metrics.AUC()\nhits.reset_states()\n",
        HEAD + "hits = tf.keras.metrics.AUC()\nhits.reset_state()\n",
    ),
    "a metric that is a part": (
        "TFG718",
        HEAD + "class Run:\n    def __init__(self):\n        self.mean = tf.keras.metrics.Mean()\n\n"
        "    def start(self):\n        self.mean.reset_states()\n\n\nRun().start()\n",
        HEAD + "class Run:\n    def __init__(self):\n        self.mean = tf.keras.metrics.Mean()\n\n"
        "    def start(self):\n        self.mean.reset_state()\n\n\nRun().start()\n",
    ),
    "a rate that is read": (
        "TFG718",
        RATE + "print(float(net.optimizer.lr))\n",
        RATE + "print(float(net.optimizer.learning_rate))\n",
    ),
    "a rate that is read while a model is fitted": (
        "TFG718",
        NET + "class Shown(tf.keras.callbacks.Callback):\n    def on_epoch_end(self, epoch, logs=None):\n"
        "        print(float(self.model.optimizer.lr))\n\n\n"
        "net.fit(tf.ones((4, 3)), tf.ones((4, 2)), verbose=0, callbacks=[Shown()])\n",
        NET + "class Shown(tf.keras.callbacks.Callback):\n    def on_epoch_end(self, epoch, logs=None):\n"
        "        print(float(self.model.optimizer.learning_rate))\n\n\n"
        "net.fit(tf.ones((4, 3)), tf.ones((4, 2)), verbose=0, callbacks=[Shown()])\n",
    ),
    "a rate that the backend sets": (
        "TFG718",
        RATE + "from tensorflow.keras import backend as K\nK.set_value(net.optimizer.learning_rate, 0.5)\n"
        "assert abs(float(net.optimizer.learning_rate) - 0.5) < 1e-6\n",
        RATE + "from tensorflow.keras import backend as K\nnet.optimizer.learning_rate.assign(0.5)\n"
        "assert abs(float(net.optimizer.learning_rate) - 0.5) < 1e-6\n",
    ),
    "a scaled loss": (
        "TFG718",
        HEAD + "steps = tf.keras.mixed_precision.LossScaleOptimizer(tf.keras.optimizers.SGD())\n"
        "cost = steps.get_scaled_loss(tf.constant(1.0))\n",
        HEAD + "steps = tf.keras.mixed_precision.LossScaleOptimizer(tf.keras.optimizers.SGD())\n"
        "cost = steps.scale_loss(tf.constant(1.0))\n",
    ),
    "a rate that is set": (
        "TFG721",
        HEAD + "steps = tf.keras.optimizers.SGD(0.1)\nsteps.lr = 0.5\nprint(float(steps.lr))\n"
        "assert abs(float(steps.learning_rate) - 0.5) < 1e-6\n",
        HEAD + "steps = tf.keras.optimizers.SGD(0.1)\nsteps.learning_rate = 0.5\nprint(float(steps.learning_rate))\n"
        "assert abs(float(steps.learning_rate) - 0.5) < 1e-6\n",
    ),
}
FOUND = {
    "backend function": ("TFG716", HEAD + "from tensorflow.keras import backend as K\nmake = K.function\n", "K.function"),
    "learning phase": ("TFG716", "import tensorflow.keras.backend as B\nB.set_learning_phase(0)\n", "B.set_learning_phase"),
    "locally connected": ("TFG716", "from tensorflow.keras.layers import LocallyConnected2D\n", "LocallyConnected2D"),
    "a set value of keras": (
        "TFG716", "import keras\nkeras.backend.set_value(keras.optimizers.SGD().learning_rate, 1.0)\n",
        "keras.backend.set_value",
    ),
    "batches first": ("TFG717", HEAD + "tf.keras.layers.LSTM(3, batch_input_shape=(2, 4, 3))\n", "batch_input_shape"),
    "weights at once": ("TFG717", HEAD + "tf.keras.layers.Dense(1, weights=None)\n", "weights"),
    "every third epoch": (
        "TFG717", HEAD + "tf.keras.callbacks.ModelCheckpoint('m.keras', period=3)\n", "period",
    ),
    "rows of a first layer": ("TFG717", HEAD + "tf.keras.layers.GRU(3, batch_size=2, input_shape=(4, 3))\n", "batch_size"),
    "dynamic": ("TFG717", HEAD + "tf.keras.layers.Flatten(dynamic=True)\n", "dynamic"),
    "time first": ("TFG717", HEAD + "tf.keras.layers.LSTM(3, time_major=True)\n", "time_major"),
    "an automatic reduction in words": (
        "TFG717", HEAD + "KIND = 'auto'\ntf.keras.losses.MeanSquaredError(reduction=KIND)\n", "reduction",
    ),
    "reset metrics": ("TFG717", NET + "net.train_on_batch(np.ones((2, 3)), np.ones((2, 2)), reset_metrics=False)\n",
                      "reset_metrics"),
    "a model's states": ("TFG718", NET + "net.reset_states()\n", "reset_states"),
    "a callback's model": (
        "TFG718",
        HEAD + "class Diary(tf.keras.callbacks.Callback):\n    def __init__(self, model):\n        super().__init__()\n"
        "        self.model = model\n\n\nDiary(None)\n",
        "model",
    ),
    "minimize": (
        "TFG718",
        HEAD + "v = tf.Variable(1.0)\ntf.keras.optimizers.SGD(0.1).minimize(lambda: v * v, [v])\n",
        "minimize",
    ),
}  # fmt: skip
ONLY_FOUND = {
    "classes": ("TFG718", NET + "net.predict_classes(np.ones((2, 3)))\n", "predict_classes"),
    "a scikit-learn wrapper": (
        "TFG716", "from tensorflow.keras.wrappers.scikit_learn import KerasClassifier\n", "KerasClassifier",
    ),
    "a folder of layers": ("TFG716", "from keras.layers.convolutional import Conv2D, MaxPooling2D\n", "Conv2D"),
    "the engine": ("TFG716", "from keras.engine.topology import Layer\n", "Layer"),
    "unscaled gradients of an unknown optimizer": (
        "TFG718",
        HEAD + "def step(steps, grads):\n    with tf.GradientTape():\n        pass\n"
        "    return steps.get_unscaled_gradients(grads)\n",
        "get_unscaled_gradients",
    ),
    "decay": ("TFG721", HEAD + "tf.keras.optimizers.SGD(0.1, decay=1e-4)\n", "decay"),
}  # fmt: skip
SILENT = {
    "Keras 3": NET
    + "tf.keras.optimizers.Adam(learning_rate=0.1)\ntf.keras.layers.MaxPooling2D()\nnet.optimizer.learning_rate = 0.5\n"
    + "tf.keras.layers.AveragePooling2D(2)\ntf.keras.metrics.Mean().reset_state()\n",
    "an optimizer of TensorFlow 1": HEAD
    + "steps = tf.compat.v1.train.GradientDescentOptimizer(0.1)\nsteps.minimize(lambda: v, var_list=[v])\n",
    "an optimizer of another library": "import keras\nfrom torch.optim import SGD\nsteps = SGD(lr=0.1)\nsteps.lr = 0.2\n",
    "a class with a rate": HEAD
    + "class Steps:\n    def __init__(self):\n        self.lr = 0.1\n\n\nsteps = Steps()\nsteps.lr = 0.2\nprint(steps.lr)\n",
    "an unknown optimizer": HEAD + "def tell(steps):\n    print(steps.lr)\n    steps.minimize(1, 2)\n",
    "rows of an input": HEAD + "tf.keras.Input((3,), batch_size=2)\ntf.keras.layers.InputLayer((3,), batch_size=2)\n",
    "states of a layer": HEAD + "reads = tf.keras.layers.LSTM(3, stateful=True)\nreads.reset_states()\n",
    "Keras 2 as a package": "import tf_keras as keras\nkeras.optimizers.Adam(lr=0.1)\nkeras.layers.experimental\n",
    "the private copy": "from tensorflow.python.keras.optimizers import adam_v2\nadam_v2.Adam(lr=0.1)\n",
    "a fallback": "try:\n    from keras.layers.core import Dense\nexcept ImportError:\n    from keras.layers import Dense\n",
    "a layer of the project": HEAD
    + "class Own(tf.keras.layers.Layer):\n    def add_weight(self, name, shape):\n        return tf.Variable(tf.ones(shape))\n\n"
    + "    def build(self, shape):\n        self.w = self.add_weight('w', (1,))\n",
    "a shape by position": HEAD
    + "class Own(tf.keras.layers.Layer):\n    def build(self, shape):\n        self.w = self.add_weight((1,), name='w')\n",
    "a callback's own property": HEAD
    + "class Diary(tf.keras.callbacks.EarlyStopping):\n    model = property(lambda self: self.kept)\n\n    @model.setter\n"
    "    def model(self, model):\n        self.kept = model\n\n    def set_model(self, model):\n"
    "        self.model = model\n\n\nDiary().set_model(None)\n",
    "models of others": HEAD
    + "class Diary:\n    def __init__(self, model):\n        self.model = model\n\n\nclass Watch(tf.keras.callbacks.Callback):\n"
    "    def __init__(self, net):\n        self.net = net\n        net.model = net\n",
    "no decay": HEAD + "tf.keras.optimizers.SGD(0.1, decay=0.0)\n",
    "predict_proba of scikit-learn": HEAD
    + "from sklearn.svm import SVC\nclassifier = SVC()\nclassifier.predict_proba(x)\n",
    "saving that is imported": HEAD
    + "import tensorflow.keras.saving\nf = tf.keras.saving.register_keras_serializable\n",
    "arguments that are unknown": HEAD + "def pool(**more):\n    return tf.keras.layers.AveragePooling2D(**more)\n",
    "a checkpoint's classifier": HEAD + "class Net:\n    def predict_classes(self, x):\n        return x\n\n\nNet().predict_classes(1)\n",
    "rows of the backend of tf.keras": HEAD + "from tensorflow.keras import backend as K\nK.get_value(K.variable(1.0))\n"
    "K.set_value(K.variable(1.0), 2.0)\n",
}  # fmt: skip


def _found(text: str, folder: Path, target: Target | None = None) -> list[tuple[str, Finding]]:
    everything = findings(text, folder, "train.py", target) if target else findings(text, folder)
    return [(rule.code, finding) for rule, finding in everything if rule.code.startswith("TFG7")]


@pytest.mark.parametrize(("code", "before", "after"), FIXED.values(), ids=FIXED)
def test_fixes(code: str, before: str, after: str, tmp_path: Path) -> None:
    assert {found for found, _ in _found(before, tmp_path)} == {code}
    assert fixed(before, tmp_path, code) == after


@pytest.mark.parametrize(("code", "text", "place"), {**FOUND, **ONLY_FOUND}.values(), ids={**FOUND, **ONLY_FOUND})
def test_found(code: str, text: str, place: str, tmp_path: Path) -> None:
    ((found, finding),) = _found(text, tmp_path)
    assert (found, finding.file.code(finding.node)) == (code, place)
    assert finding.severity == ("warning" if code == "TFG721" else "error")


@pytest.mark.parametrize("text", SILENT.values(), ids=SILENT)
def test_look_alikes_stay_silent(text: str, tmp_path: Path) -> None:
    assert _found(text, tmp_path) == []


@pytest.mark.parametrize("text", [FIXED["no size"][1], FIXED["a rate by its old name"][1], FOUND["minimize"][1]])
def test_keras_2_is_left_alone(text: str, tmp_path: Path) -> None:
    assert _found(text, tmp_path, OLD_KERAS) == []


@pytest.mark.parametrize("before", [*(b for _, b, _ in FIXED.values()), *(t for _, t, _ in FOUND.values())],
                         ids=[*FIXED, *FOUND])  # fmt: skip
def test_what_is_found_stops_or_fails(before: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """With the installed TensorFlow: each program stops at what Keras 3 has no more."""
    pytest.importorskip("tensorflow")
    monkeypatch.chdir(tmp_path)
    with pytest.raises((AttributeError, ImportError, TypeError, ValueError, AssertionError)):
        exec(compile(before, "before.py", "exec"), {"__name__": "__main__"})


@pytest.mark.parametrize("after", [after for _, _, after in FIXED.values()], ids=FIXED)
def test_what_is_fixed_runs(after: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("tensorflow")
    monkeypatch.chdir(tmp_path)
    exec(compile(after, "after.py", "exec"), {"__name__": "__main__"})


def test_all_of_it_ran_with_keras_2(tmp_path: Path) -> None:
    """With TensorFlow 2.15: what is reported for Keras 3 worked, so that it is what Keras 3 took away."""
    python = os.environ.get("TFLINT_GPU_TF215")
    if python is None:
        pytest.skip("TFLINT_GPU_TF215 names no Python that has TensorFlow 2.15")
    programs = [*(b for _, b, _ in FIXED.values()), *(t for _, t, _ in FOUND.values())]
    runner = "import sys, json\nfor text in json.load(sys.stdin):\n    exec(compile(text, text, 'exec'), {'__name__': 'm'})\n"
    import json

    environment: dict[str, Any] = {**os.environ, "TF_CPP_MIN_LOG_LEVEL": "3", "CUDA_VISIBLE_DEVICES": ""}
    done = subprocess.run(
        [python, "-c", runner],
        input=json.dumps(programs),
        capture_output=True,
        text=True,
        env=environment,
        cwd=tmp_path,
    )
    assert done.returncode == 0, done.stderr[-2000:]


def test_the_help_gives_what_must_be_given(tmp_path: Path) -> None:
    """Protects from the advice to leave out what is missing."""
    [help_text] = [
        one.help for rule, one in findings(HEAD + "tf.keras.layers.AvgPool3D()\n", tmp_path) if rule.code == "TFG717"
    ]
    assert help_text == "pass the default of Keras 2: `pool_size=(2, 2, 2)`"


def test_what_a_class_of_the_program_has_is_not_gone(tmp_path: Path) -> None:
    """Protects an optimizer with `lr` of its own: Keras's `learning_rate` is another thing."""
    for own in ("    @property\n    def lr(self):\n        return 3\n", "    lr = 3\n"):
        code = HEAD + f"class Paced(tf.keras.optimizers.SGD):\n{own}\n\nprint(Paced(0.5).lr)\n"
        assert not [rule.code for rule, _ in findings(code, tmp_path) if rule.code == "TFG718"]
    plain = HEAD + "class Paced(tf.keras.optimizers.SGD):\n    pass\n\n\nprint(Paced(0.5).lr)\n"
    assert [rule.code for rule, _ in findings(plain, tmp_path) if rule.code == "TFG718"]


def test_a_rate_that_would_change_from_then_on_is_an_unsafe_fix(tmp_path: Path) -> None:
    """Protects `--fix`: the program trains another model when its learning rate is set."""
    code = HEAD + "paced = tf.keras.optimizers.SGD(0.1)\npaced.lr = 0.5\n"
    ((_, finding),) = [pair for pair in findings(code, tmp_path) if pair[0].code == "TFG721"]
    assert finding.fix is not None
    assert finding.fix.applicability == "unsafe"
