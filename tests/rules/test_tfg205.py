"""TFG205: eager execution that is left on is found; what a flag, a test or a later line switches is not."""

from __future__ import annotations

from pathlib import Path

import pytest
from checks import findings, found, notebook
from verified import cases_of

from tflint_gpu.targets import Target

HEAD = """\
import numpy as np
import tensorflow as tf
model = tf.keras.Sequential([tf.keras.layers.Dense(1)])
x = np.ones((99, 4), "float32")
"""
FIT = "model.fit(x, x[:, :1])\n"
LEFT_ON = {  # the row, below HEAD
    "compile": ("model.compile('adam', 'mse', run_eagerly=True)\n" + FIT, 1),
    "on a line of its own": (
        "model.compile(\n    optimizer='adam',\n    loss='mse',\n    run_eagerly=True,\n)\n" + FIT,
        4,
    ),
    "by the settings": ("CFG = {'loss': 'mse', 'run_eagerly': True}\nmodel.compile(**CFG)\n" + FIT, 2),
    "an attribute of the model": ("model.compile('adam', 'mse')\nmodel.run_eagerly = True\n" + FIT, 2),
    "all functions": ("tf.config.run_functions_eagerly(True)\n" + FIT, 1),
    "all functions, by its older name": ("tf.config.experimental_run_functions_eagerly(True)\n" + FIT, 1),
    "all functions, by keyword": ("tf.config.run_functions_eagerly(run_eagerly=True)\n" + FIT, 1),
    "a tf.function": ("tf.config.run_functions_eagerly(True)\n@tf.function\ndef f(x):\n    return x\nf(x)\n", 1),
    "off before it is on": (
        "tf.config.run_functions_eagerly(False)\ntf.config.run_functions_eagerly(True)\n" + FIT,
        2,
    ),
    "tf.data": (
        "tf.data.experimental.enable_debug_mode()\nmodel.fit(tf.data.Dataset.from_tensor_slices((x, x)).batch(9))\n",
        1,
    ),
    "in main": (
        "def main():\n    tf.config.run_functions_eagerly(True)\n    model.fit(x, x)\nif __name__ == '__main__':\n    main()\n",
        2,
    ),
    "after what every program meets": (
        "assert tf.__version__ >= '2.4'\nif len(x) < 9:\n    raise SystemExit('too few')\n"
        "tf.config.run_functions_eagerly(True)\n" + FIT,
        4,
    ),
    "a model as parameter": (
        "def build(net):\n    net.compile('adam', 'mse', run_eagerly=True)\n    net.fit(x, x)\nbuild(model)\n",
        2,
    ),
    "a model of the object": (
        "class Trainer:\n    def __init__(self, net):\n        self.net = net\n    def fit(self):\n"
        "        self.net.run_eagerly = True\n        self.net.fit(x, x)\nTrainer(model).fit()\n",
        5,
    ),
    "super": (
        "class Net(tf.keras.Model):\n    def compile(self, optimizer):\n        super().compile(optimizer, run_eagerly=True)\n"
        "net = Net()\nnet.compile('adam')\nnet.fit(x, x)\n",
        3,
    ),
}
FINE = {
    "off": "model.compile('adam', 'mse', run_eagerly=False)\n" + FIT,
    "off again": "tf.config.run_functions_eagerly(True)\nmodel(x)\ntf.config.run_functions_eagerly(False)\n" + FIT,
    "what it was again": (
        "before = tf.config.functions_run_eagerly()\ntf.config.run_functions_eagerly(True)\ntry:\n    model.fit(x, x)\n"
        "finally:\n    tf.config.run_functions_eagerly(before)\n"
    ),
    "a command line's flag": "model.compile('adam', 'mse', run_eagerly=args.eager)\n" + FIT,
    "a constant flag": "DEBUG = True\nmodel.compile('adam', 'mse', run_eagerly=DEBUG)\n" + FIT,
    "under a debug flag": "if args.debug:\n    tf.config.run_functions_eagerly(True)\n" + FIT,
    "under another flag": "if args.slow:\n    tf.config.run_functions_eagerly(True)\n" + FIT,
    "a parameter": "def build(eager=True):\n    model.compile('adam', 'mse', run_eagerly=eager)\n",
    "after a way out": "if not args.slow:\n    exit()\ntf.config.run_functions_eagerly(True)\n" + FIT,
    "a mode": "if mode == 'eager_fit':\n    model.compile('adam', 'mse', run_eagerly=True)\n" + FIT,
    "nothing is traced": "tf.config.run_functions_eagerly(True)\nprint(tf.reduce_mean(x))\n",
    "no tf.data": "tf.data.experimental.enable_debug_mode()\nprint(model(x))\n",
    "a function for debugging": (
        "def enable_debugging():\n    tf.config.run_functions_eagerly(True)\n    tf.data.experimental.enable_debug_mode()\n"
        + FIT
    ),
    "a step that needs values": (
        "class Net(tf.keras.Model):\n    def train_step(self, data):\n        loss = self.loss_of(data)\n"
        "        return {'loss': loss.numpy()}\nnet = Net()\nnet.compile('adam', run_eagerly=True)\nnet.fit(x, x)\n"
    ),
    "a tf.function that reads values": (
        "tf.config.run_functions_eagerly(True)\nseen = []\n@tf.function\ndef step(rows):\n"
        "    total = tf.reduce_sum(rows)\n    seen.append(total.numpy())\n    return total\nstep(tf.constant(x))\n"
    ),
    "NumPy in what a tf.function calls": (
        "tf.config.run_functions_eagerly(True)\ndef largest(rows):\n    return np.max(rows)\n@tf.function\n"
        "def step(rows):\n    return largest(tf.abs(rows))\nstep(tf.constant(x))\n"
    ),
    "a metric by NumPy": (
        "def ranked(truth, guess):\n    return np.mean(np.sort(truth.numpy()) - guess.numpy())\n"
        "model.compile('sgd', 'mse', metrics=[ranked], run_eagerly=True)\n" + FIT
    ),
    "a function in a step that reads values": (
        "class Net(tf.keras.Model):\n    def train_step(self, data):\n        def shown(loss):\n"
        "            return float(loss.numpy())\n        return {'loss': tf.py_function(shown, [data], tf.float32)}\n"
        "net = Net()\nnet.compile('adam', run_eagerly=True)\nnet.fit(x, x)\n"
    ),
    "a function that a tf.function hands on": (
        "tf.config.run_functions_eagerly(True)\n@tf.function\ndef step(rows):\n    def largest():\n"
        "        return rows.numpy().max()\n    return largest()\nstep(tf.constant(x))\n"
    ),
    "a metric of another framework": (
        "from sklearn.metrics import f1_score\ndef quality(truth, guess):\n"
        "    return f1_score(truth > 0.5, guess > 0.5)\n"
        "model.compile('sgd', 'mse', metrics=[quality], run_eagerly=True)\n" + FIT
    ),
    "a layer around another framework": (
        "import torch\nclass Wrapped(tf.keras.layers.Layer):\n    def __init__(self):\n        super().__init__()\n"
        "        self.inner = torch.nn.Linear(4, 4)\n    def call(self, rows):\n"
        "        return tf.constant(self.inner(memoryview(rows)).detach())\n"
        "net = tf.keras.Sequential([Wrapped(), tf.keras.layers.Dense(1)])\n"
        "net.compile('sgd', 'mse', run_eagerly=True)\nnet.fit(x, x)\n"
    ),
    "a switch of a layer around another framework with custom gradients": (
        "class Foreign(tf.keras.layers.Layer):\n    def __init__(self, inner):\n        super().__init__()\n"
        "        import torch\n        self.library = torch\n        self.inner = inner\n"
        "        tf.config.run_functions_eagerly(True)\n    @tf.custom_gradient\n    def call(self, rows):\n"
        "        given = self.library.tensor(memoryview(rows))\n        result = self.inner(given)\n"
        "        def backwards(upstream):\n            return tf.constant(self.library.backwards(result, upstream.numpy()))\n"
        "        return tf.constant(result.detach()), backwards\n"
        "@tf.function\ndef explain(net, rows):\n    return net(rows)\n"
    ),
    "not Keras": "agent.run_eagerly = True\nagent.start()\n",
    "off by the model": "model.run_eagerly = False\n" + FIT,
    "two modes are compared": (
        "for eager in (True, False):\n    model.compile('adam', 'mse', run_eagerly=eager)\n    model.fit(x, x)\n"
    ),
    "never trained": "model.compile('adam', 'mse', run_eagerly=True)\nmodel.summary()\n",
}


def _table(cases: dict[str, object]) -> pytest.MarkDecorator:
    return pytest.mark.parametrize("case", cases.values(), ids=cases)


def rows(code: str, folder: Path, name: str = "train.py") -> list[int]:
    """The rows below HEAD that TFG205 names."""
    return [row - HEAD.count("\n") for found_code, row in found(HEAD + code, folder, name) if found_code == "TFG205"]


@_table(LEFT_ON)  # type: ignore[arg-type]
def test_what_is_left_on_is_found(case: tuple[str, int], tmp_path: Path) -> None:
    code, row = case
    assert rows(code, tmp_path) == [row]


@_table(FINE)  # type: ignore[arg-type]
def test_others_are_not_found(case: str, tmp_path: Path) -> None:
    assert rows(case, tmp_path) == []


def test_tests_are_left_alone(tmp_path: Path) -> None:
    assert rows(LEFT_ON["compile"][0], tmp_path, "tests/train.py") == []


def test_programs_for_tensorflow_1_are_left_alone(tmp_path: Path) -> None:
    target = Target(tensorflow=(1, 15), keras=2, source="requirements.txt")
    assert "TFG205" not in {code for code, _ in found(HEAD + LEFT_ON["compile"][0], tmp_path, target=target)}


def test_a_setting_in_another_file(tmp_path: Path) -> None:
    (tmp_path / "settings.py").write_text("COMPILE = dict(loss='mse', run_eagerly=True)\n")
    assert rows("from settings import COMPILE\nmodel.compile(**COMPILE)\n" + FIT, tmp_path) == [2]


def test_a_loss_by_position_that_needs_values(tmp_path: Path) -> None:
    """Protects a loss that is no keyword: Keras would trace it, and NumPy cannot read what it is given then."""
    code = (
        "def error(truth, guess):\n    return tf.reduce_mean(truth - guess) + np.float32(np.median(guess))\n"
        "tf.config.run_functions_eagerly(True)\nmodel.compile('sgd', error)\n" + FIT
    )
    assert rows(code, tmp_path) == []
    assert rows(code.replace("np.median(guess)", "np.median([1.0, 2.0])"), tmp_path) == [3]


def test_a_loss_in_another_file(tmp_path: Path) -> None:
    """Protects from a trace of what Keras 3 passes to a loss, wherever that is defined."""
    body = COUNTING.partition("model = ")
    (tmp_path / "losses.py").write_text("import tensorflow as tf\n" + body[0])
    code = "from losses import error\n" + HEAD + body[1] + body[2]
    (finding,) = [f for rule, f in findings(code, tmp_path) if rule.code == "TFG205"]
    assert finding.fix is None and "`len`" in (finding.help or "")


def test_a_loss_of_another_file_that_a_callback_changes(tmp_path: Path) -> None:
    """Protects schedules of losses: traced, `fit` would keep the first value."""
    (tmp_path / "losses.py").write_text(
        "import tensorflow as tf\nclass Mixed(tf.keras.losses.Loss):\n    def __init__(self):\n        super().__init__()\n"
        "        self.share = 1.0\n    def call(self, truth, guess):\n"
        "        return tf.reduce_mean(tf.abs(truth - guess), -1) * self.share\n"
    )
    code = (
        "from losses import Mixed\n" + HEAD + "tf.config.run_functions_eagerly(True)\nmixed = Mixed()\n"
        "class Fading(tf.keras.callbacks.Callback):\n    def on_epoch_begin(self, epoch, logs=None):\n        CHANGE\n"
        "model.compile('sgd', mixed)\nmodel.fit(x, x[:, :1], epochs=3, callbacks=[Fading()])\n"
    )
    for change, has_fix in (("mixed.share *= 0.5", False), ("print(epoch)", True)):
        program = code.replace("CHANGE", change)
        (finding,) = [f for rule, f in findings(program, tmp_path) if rule.code == "TFG205"]
        assert (finding.fix is not None) is has_fix
        assert ("`self.share` may change" in (finding.help or "")) is not has_fix


def test_what_is_traced_is_in_another_file(tmp_path: Path) -> None:
    (tmp_path / "steps.py").write_text("import tensorflow as tf\n@tf.function\ndef step(x):\n    return x\n")
    assert rows("from steps import step\ntf.config.run_functions_eagerly(True)\nstep(x)\n", tmp_path) == [2]


def test_only_imported_files_trace_something(tmp_path: Path) -> None:
    (tmp_path / "losses.py").write_text("import tensorflow as tf\n@tf.function\ndef loss(x):\n    return x\n")
    code = (
        "from losses import loss\nif __name__ == '__main__':\n    tf.config.run_functions_eagerly(True)\n    model(x)\n"
    )
    assert rows(code, tmp_path) == []


def test_off_in_another_file(tmp_path: Path) -> None:
    (tmp_path / "modes.py").write_text(
        "import tensorflow as tf\ndef fast():\n    tf.config.run_functions_eagerly(False)\n"
    )
    assert rows("from modes import fast\ntf.config.run_functions_eagerly(True)\nfast()\n" + FIT, tmp_path) == []


@pytest.mark.parametrize(
    ("switch", "more", "is_found"),
    [
        ("tf.config.run_functions_eagerly(True)\n", "", True),
        ("if __name__ == '__main__':\n    tf.config.run_functions_eagerly(True)\n", "", False),
        ("def slow():\n    tf.config.run_functions_eagerly(True)\n", "", False),
        ("tf.config.run_functions_eagerly(True)\n", "tf.config.run_functions_eagerly(False)\n", False),
    ],
    ids=["at its top", "where it is the program", "in a function that nothing calls", "switched off again"],
)
def test_what_an_imported_file_switches_on(switch: str, more: str, is_found: bool, tmp_path: Path) -> None:
    (tmp_path / "nets.py").write_text(f"import tensorflow as tf\n{switch}def net():\n    return tf.keras.Input((4,))\n")
    code = HEAD + "from nets import *\n" + more + FIT
    assert any("TFG205" in code for code, _ in found(code, tmp_path)) is is_found


def test_a_notebook(tmp_path: Path) -> None:
    text = notebook(HEAD, "model.compile('adam', 'mse', run_eagerly=True)", FIT)
    assert ("TFG205", 1) in found(text, tmp_path, name="a.ipynb")


@pytest.mark.slow
def test_the_truth_python_runs_in_every_step() -> None:
    """With the installed TensorFlow: a layer's Python runs once a trace, or in every step where the model is eager."""
    import numpy as np
    import tensorflow as tf

    calls = []

    class Counting(tf.keras.layers.Layer):
        def call(self, x: tf.Tensor) -> tf.Tensor:
            calls.append(isinstance(x, tf.Tensor) and hasattr(x, "numpy"))
            return x

    data = np.ones((80, 4), "float32")
    counts = []
    for eager in (False, True):
        model = tf.keras.Sequential([tf.keras.Input((4,)), Counting(), tf.keras.layers.Dense(1)])
        model.compile("sgd", "mse", run_eagerly=eager)
        calls.clear()
        model.fit(data, data[:, :1], batch_size=8, verbose=0)
        counts.append((len(calls), sum(calls)))
    (traced, with_values), (eager_calls, eager_values) = counts
    assert with_values == 0 and traced <= 3
    assert eager_calls == eager_values == 10


SEVERAL = HEAD.replace("model = ", "early = late = None\nearly = ") + (
    "early.compile('adam', 'mse')\nearly.fit(x, x[:, :1])\n"
    "late = tf.keras.Sequential([tf.keras.layers.Dense(1)])\nlate.compile('adam', 'mse', run_eagerly=True)\n"
    "early.fit(x, x[:, :1], epochs=2)\nlate.fit(x, x[:, :1], epochs=3)\n"
)


@pytest.mark.parametrize(
    ("code", "measured"),
    [
        (SEVERAL, "(late.fit)("),
        (
            SEVERAL.replace("late.compile(", "late.run_eagerly = True\nlate.compile(").replace(
                ", run_eagerly=True", ""
            ),
            "(late.fit)(",
        ),
        (HEAD + FIT + "tf.config.run_functions_eagerly(True)\n" + FIT.replace("x, ", "x * 2, "), "(x * 2, "),
    ],
)
def test_the_training_that_is_eager_is_measured(code: str, measured: str, tmp_path: Path) -> None:
    """Protects from a verdict on another model's training, or on one before the switch."""
    (tmp_path / "train.py").write_text(code)
    (case,) = [each for each in cases_of(tmp_path / "train.py") if each.diagnostic.code == "TFG205"]
    assert case.pair is not None, case.reason
    (line,) = [line for line in case.pair.before.files["train.py"].splitlines() if "tflint_measure." in line]
    assert measured in line


GIVEN = "model = tf.keras.Sequential([tf.keras.layers.Dense(1)])\nmodel.compile('sgd', error, run_eagerly=True)\n" + FIT
DECIDING = (
    "def error(truth, guess):\n    if tf.reduce_max(guess) > 2:\n        return tf.reduce_mean(guess)\n"
    "    return tf.reduce_mean(tf.abs(truth - guess))\n" + GIVEN
)
COUNTING = "def error(truth, guess):\n    return tf.reduce_sum(tf.abs(truth - guess)) / len(guess)\n" + GIVEN
EFFECTS = {
    "a list": (
        "kept = []\nclass Net(tf.keras.Model):\n    def __init__(self):\n        super().__init__()\n"
        "        self.last = tf.keras.layers.Dense(1)\n    def call(self, rows):\n        kept.append(len(kept))\n"
        "        return self.last(rows)\nmodel = Net()\nmodel.compile('sgd', 'mse', run_eagerly=True)\n" + FIT,
        "`kept`",
    ),
    "a print": (
        "tf.config.run_functions_eagerly(True)\n@tf.function\ndef step(rows):\n    print('a step')\n"
        "    return tf.reduce_sum(rows)\nfor _ in range(99):\n    step(tf.constant(x))\n",
        "`print`",
    ),
    "a list that all functions share": (
        "tf.config.run_functions_eagerly(True)\nturns = []\ndef scaled(rows):\n    turns.append('one')\n    return rows * 2.0\n"
        "@tf.function\ndef step(rows):\n    return tf.reduce_sum(scaled(rows))\n"
        "for _ in range(99):\n    step(tf.constant(x))\nprint(len(turns))\n",
        "`turns`",
    ),
    "a value in a compiled function": (
        "tf.config.run_functions_eagerly(True)\n@tf.function\ndef step(rows):\n    low = int(tf.argmax(rows[:, 0]))\n"
        "    return rows * low\nfor _ in range(99):\n    step(tf.constant(x))\n",
        "`int",
    ),
    "a Python number for each step": (
        "tf.config.run_functions_eagerly(True)\n@tf.function\ndef step(rows, turn):\n    return rows * turn\n"
        "for turn in range(99):\n    step(tf.constant(x), turn)\n",
        "`turn` is a Python number that a loop changes",
    ),
    "a print in a loss": (
        "def error(truth, guess):\n    print('a batch')\n    return tf.reduce_mean(tf.abs(truth - guess))\n" + GIVEN,
        "`print`",
    ),
    "a decision by a tensor in a loss": (DECIDING, "`tf.reduce_max(guess) > 2`"),
    "a decision in a loss where all functions run eagerly": (
        "tf.config.run_functions_eagerly(True)\n" + DECIDING.replace(", run_eagerly=True", ""),
        "`tf.reduce_max(guess) > 2`",
    ),
    "the number of rows in a loss": (COUNTING, "`len`"),
    "a loop over rows in a metric": (
        "def spread(truth, guess):\n    return sum([tf.reduce_max(row) for row in guess])\n"
        + GIVEN.replace("'sgd', error", "'sgd', 'mse', metrics=[spread]"),
        "`guess`",
    ),
    "a part of a list in a loss": (
        "seen = []\ndef error(truth, guess):\n    seen[:1] = [len(seen)]\n    return tf.reduce_mean(truth - guess)\n"
        + GIVEN,
        "`seen`",
    ),
}


@_table(EFFECTS)  # type: ignore[arg-type]
def test_no_fix_of_what_would_happen_once(case: tuple[str, str], tmp_path: Path) -> None:
    """Protects what an eager step does besides: traced, it would happen in the first step only."""
    code, named = case
    (finding,) = [f for rule, f in findings(HEAD + code, tmp_path) if rule.code == "TFG205"]
    assert finding.fix is None
    assert named in (finding.help or "")


REDEFINED = (
    "class Share(tf.keras.metrics.Mean):\n    def update_state(self, truth, guess, sample_weight=None):\n"
    "        super(Share, self).update_state(tf.cast(guess > truth, tf.float32))\n"
    "model.compile('sgd', 'mse', metrics=[Share()])\n" + FIT + "class Share(tf.keras.metrics.Sum):\n    pass\n"
    "model.compile('sgd', 'mse', metrics=[Share()], run_eagerly=True)\n" + FIT
)


def test_a_class_that_is_written_again_changes_nothing_of_the_first(tmp_path: Path) -> None:
    """Protects fixes in notebooks: methods of the first class call their base by the name that both have."""
    (finding,) = [f for rule, f in findings(HEAD + REDEFINED, tmp_path) if rule.code == "TFG205"]
    assert finding.fix is not None


def test_autograph_converts_the_losses_of_keras_2(tmp_path: Path) -> None:
    """Protects fixes for Keras 2, which has AutoGraph convert what Keras 3 calls as it is."""
    keras_2 = Target(tensorflow=(2, 15), keras=2, source="older")
    (finding,) = [f for rule, f in findings(HEAD + DECIDING, tmp_path, target=keras_2) if rule.code == "TFG205"]
    assert finding.fix is not None


@pytest.mark.parametrize(("loss", "raised"), [(DECIDING, "OperatorNotAllowedInGraphError"), (COUNTING, "TypeError")])
def test_the_truth_keras_3_calls_losses_as_they_are(loss: str, raised: str, tmp_path: Path) -> None:
    """Protects what the help says: AutoGraph finds the code of the loss, and does not convert it."""
    tf = pytest.importorskip("tensorflow")
    if not tf.keras.__version__.startswith("3"):
        pytest.skip("Keras 2")
    for eager in (True, False):
        scope: dict[str, object] = {}
        path = tmp_path / f"eagerly_{eager}.py"
        path.write_text(HEAD + loss.replace("run_eagerly=True", f"run_eagerly={eager}"))
        try:
            exec(compile(path.read_text(), str(path), "exec"), scope)
            assert eager
        except (tf.errors.OperatorNotAllowedInGraphError, TypeError) as error:
            assert not eager and type(error).__name__ == raised
