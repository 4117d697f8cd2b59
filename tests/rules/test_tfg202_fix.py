"""The fix of TFG202: `@tf.function` on steps that only compute, and on no other."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from checks import findings, fixed, found, notebook
from fixed_programs import HEAD as PROGRAM_HEAD
from fixed_programs import assert_same_results, results, stable
from forked import ForkedPrograms
from verified import cases_of

HEAD = """
import numpy as np
import tensorflow as tf
from tensorflow import keras

model = keras.Sequential([keras.layers.Dense(1)])
optimizer = keras.optimizers.SGD()
metric = keras.metrics.Mean()
loss_fn = keras.losses.MeanSquaredError()
dataset = tf.data.Dataset.from_tensor_slices((np.zeros((200, 2)), np.zeros((200, 1)))).batch(4)
"""
BODY = """
    with tf.GradientTape() as tape:
        loss = loss_fn(y, model(x, training=True))
    grads = tape.gradient(loss, model.trainable_variables)
    optimizer.apply_gradients(zip(grads, model.trainable_variables))
"""
STEP = "def step(x, y):" + BODY
LOOP = "for x, y in dataset:\n    step(x, y)\n"
CLASS = (
    "class Trainer:\n    def __init__(self, model):\n        self.model = model\n"
    "        self.optimizer = keras.optimizers.Adam()\n        self.rate = 0.5\n"
    "    def step(self, x, y):\n        with tf.GradientTape() as tape:\n"
    "            loss = self.rate * tf.reduce_mean(tf.square(self.model(x) - y))\n"
    "        grads = tape.gradient(loss, self.model.trainable_variables)\n"
    "        self.optimizer.apply_gradients(zip(grads, self.model.trainable_variables))\n"
    "        return loss\n"
    "    def fit(self, data):\n        for x, y in data:\n            self.step(x, y)\n"
)
RUN = "Trainer(model).fit(dataset)\n"

MENDED = {
    "function": STEP + LOOP,
    "metric": STEP + "    metric.update_state(loss)\n    return metric.result()\n" + LOOP,
    "method": CLASS + RUN,
    "parameters that stay": STEP.replace("x, y", "net, opt, x, y").replace("model", "net").replace("optimizer.", "opt.")
    + "for x, y in dataset:\n    step(model, optimizer, x, y)\n",
    "epochs": STEP + "for epoch in range(20):\n    for i, (x, y) in enumerate(dataset):\n        step(x, y)\n",
    "helper": "def loss_of(x, y):\n    return tf.reduce_mean(model(x) - y)\n"
    + STEP.replace("loss_fn(y, model(x, training=True))", "loss_of(x, y)")
    + LOOP,
    "layer of the project": "class Net(keras.Model):\n    def __init__(self):\n        super().__init__()\n"
    "        self.dense = keras.layers.Dense(1)\n    def call(self, x):\n        return self.dense(x)\nmodel = Net()\n"
    + STEP.replace("model", "net")
    + LOOP,
    "branch on a constant": STEP.replace("x, y", "x, y, sharp=False").replace(
        "    grads", "    if sharp:\n        loss = 2 * loss\n    grads"
    )
    + LOOP,
    "branch on a shape": STEP.replace(
        "    grads", "    if len(x.shape) > 2 and model is not None:\n        loss = 2 * loss\n    grads"
    )
    + LOOP,
    "list of its own": STEP.replace("    grads", "    seen = []\n    seen.append(loss)\n    grads") + LOOP,
}
MENDED["layer of the project"] = MENDED["layer of the project"].replace("model = Net()", "net = Net()")
NOT_MENDED = {
    "print": (STEP + "    print(loss)\n" + LOOP, "`print` in the code would run only during tracing"),
    "list": ("seen = []\n" + STEP + "    seen.append(1)\n" + LOOP, "the code changes `seen`"),
    "counter": ("n = 0\n" + STEP.replace(":\n", ":\n    global n\n    n += 1\n", 1) + LOOP, "`n`"),
    "attribute": (
        CLASS.replace("        return loss", "        self.last = loss\n        return loss") + RUN,
        "`self.last`",
    ),
    "attribute that changes": (CLASS + "            self.rate *= 0.9\n" + RUN, "`self.rate` may change"),
    "variable": (STEP + "    c = tf.Variable(0.0)\n" + LOOP, "tf.Variable"),
    "optimizer": (STEP.replace("    grads", "    optimizer = keras.optimizers.SGD()\n    grads") + LOOP, "optimizer"),
    "NumPy": (STEP + "    return np.mean(loss)\n" + LOOP, "`np.mean` in the code would run only during tracing"),
    "random": (STEP.replace("model(x, ", "model(x + np.random.normal(), ") + LOOP, "np.random.normal"),
    "clock": ("import time\n" + STEP + "    return time.time()\n" + LOOP, "time.time"),
    "number that changes": (
        STEP.replace("x, y", "x, y, i").replace("loss_fn(y", "i * loss_fn(y")
        + "for i, (x, y) in enumerate(dataset):\n    step(x, y, i)\n",
        "`i` is a Python number that a loop changes",
    ),
    "plot": ("import matplotlib.pyplot as plt\n" + STEP + "    plt.plot(loss)\n" + LOOP, "`plt.plot`"),
    "float": (STEP + "    return float(loss)\n" + LOOP, "`float` in the code needs a value"),
    "model bound again": (
        STEP + LOOP + "model = keras.Sequential([keras.layers.Dense(1)])\n" + LOOP,
        "`model` may change",
    ),
    "print in the model": (
        "class Net(keras.Model):\n    def call(self, x):\n        print(x)\n        return x\nnet = Net()\n"
        + STEP.replace("model", "net")
        + LOOP,
        "`print`",
    ),
    "print in a helper": (
        "def show(loss):\n    print(loss)\n" + STEP + "    show(loss)\n" + LOOP,
        "`print`",
    ),
    "summary": (STEP + "    tf.summary.scalar('loss', loss)\n" + LOOP, "`tf.summary.scalar`"),
    "unknown helper": ("from elsewhere import note\n" + STEP + "    note(loss)\n" + LOOP, ""),
    "unknown method": (STEP + "    board.add(loss)\n" + LOOP, ""),
    "branch on a tensor": (STEP + "    if loss > 3:\n        return loss\n    return None\n" + LOOP, ""),
    "unknown data": (STEP + "for x, y in batches:\n    step(x, y)\n", ""),
    "another model each iteration": (
        STEP.replace("x, y", "net, opt, x, y").replace("model", "net").replace("optimizer.", "opt.")
        + "for _ in range(20):\n    m = keras.Sequential([keras.layers.Dense(1)])\n    o = keras.optimizers.SGD()\n"
        "    for x, y in dataset:\n        step(m, o, x, y)\n",
        "",
    ),
    "returns the model": (STEP + "    return model\n" + LOOP, ""),
    "generator": (STEP + "    yield loss\nfor x, y in dataset:\n    list(step(x, y))\n", ""),
    "in the loop, with an effect": (
        "for x, y in dataset:" + BODY.replace("    grads", "    note(loss)\n    grads", 1),
        "",
    ),
    "made in a loop": (
        "for _ in range(20):\n    " + STEP.replace("\n", "\n    ") + LOOP.replace("\n", "\n    ").rstrip() + "\n",
        "",
    ),
    "stars": (STEP + "for pair in dataset:\n    step(*pair)\n", ""),
}


@pytest.mark.parametrize("code", MENDED.values(), ids=MENDED.keys())
def test_step_that_only_computes_is_decorated(code: str, tmp_path: Path) -> None:
    """Protects the fix, and that nothing is found after it."""
    code = HEAD + code
    assert [c for c, _ in found(code, tmp_path) if c != "TFG401"] == ["TFG202"]
    after = fixed(code, tmp_path, "TFG202")
    name = "    def step" if "class Trainer" in code else "def step"
    indent = "    " if "class Trainer" in code else ""
    assert after == code.replace(name, f"{indent}@tf.function\n{name}")
    assert not [c for c, _ in found(after, tmp_path) if c != "TFG401"]


@pytest.mark.parametrize(("code", "why"), NOT_MENDED.values(), ids=NOT_MENDED.keys())
def test_step_with_effects_is_left_as_it_is(code: str, why: str, tmp_path: Path) -> None:
    """Protects programs from a decorator that changes what they do; the help names what stands in the way."""
    found_there = [f for rule, f in findings(HEAD + code, tmp_path) if rule.code == "TFG202"]
    for one in found_there:
        assert one.fix is None or one.fix.message.startswith("Move the step into ")
        assert why in one.help
    assert found_there or not why


MOVED = [
    *"print list counter attribute variable NumPy clock plot float summary generator stars".split(),
    *("print in a helper", "unknown helper", "unknown method", "branch on a tensor", "returns the model"),
    "made in a loop",
]


@pytest.mark.parametrize("name", NOT_MENDED)
def test_what_only_computes_moves_out_of_a_step_with_effects(name: str, tmp_path: Path) -> None:
    """Protects what the rest of the step does: only the tape and the update are traced, and only where they compute."""
    code = HEAD + NOT_MENDED[name][0]
    after = fixed(code, tmp_path, "TFG202")
    assert (after != code) is (name in MOVED)
    if name in MOVED:
        traced = after[after.index("@tf.function") :].split("\n\n")[0]
        assert "apply_gradients" in traced
        kept, moved = (set(map(str.strip, text.splitlines())) for text in (after, traced))
        assert set(map(str.strip, code.splitlines())) - moved <= kept
        assert not [c for c, _ in found(after, tmp_path) if c not in ("TFG401", "TFG209")]


def test_each_object_has_a_step_of_its_own(tmp_path: Path) -> None:
    """Protects programs of several agents: a `tf.function` makes variables of an optimizer in its first call only."""
    code = HEAD + CLASS.replace("        return loss", "        self.last = loss\n        return loss")
    code += "".join(f"Trainer(keras.Sequential([keras.layers.Dense({n})])).fit(dataset)\n" for n in (1, 2))
    after = fixed(code, tmp_path, "TFG202")
    assert "    @tf.function\n    def traced_step(self, x, y):" in after
    function = HEAD + STEP.replace("x, y", "net, opt, x, y").replace("model", "net").replace("optimizer.", "opt.")
    function += "    print(loss)\ndef run(n):\n    m = keras.Sequential([keras.layers.Dense(n)])\n    o = keras.optimizers.SGD()\n"
    function += "    for x, y in dataset:\n        step(m, o, x, y)\nrun(1)\nrun(2)\n"
    assert fixed(function, tmp_path, "TFG202") == function
    assert "@tf.function" in fixed(function.replace("run(2)\n", ""), tmp_path, "TFG202")


ARRAYS = {
    "only for Keras": ("loss_fn(y, model(x, training=True))", "", True),
    "labels of a loss, by a helper": ("loss_of(y, model(x, training=True))", "", True),
    "one dtype": ("tf.reduce_mean(model(x) - y)", ".astype(np.float32)", True),
    "another dtype": ("tf.reduce_mean(model(x) - y)", "", False),
    "another dtype by a helper": ("difference_of(y, model(x))", "", False),
}


@pytest.mark.parametrize(("loss", "cast", "is_fixed"), ARRAYS.values(), ids=ARRAYS)
def test_arrays_that_meet_tensors_keep_their_dtype(loss: str, cast: str, is_fixed: bool, tmp_path: Path) -> None:
    """Protects programs that run from a step that raises: traced, float64 minus float32 is an error."""
    code = (
        HEAD
        + "def loss_of(truth, guess):\n    return tf.reduce_mean(loss_fn(truth, guess))\n"
        + "def difference_of(truth, guess):\n    return tf.reduce_mean(guess - truth)\n"
        + STEP.replace("loss_fn(y, model(x, training=True))", loss)
        + "class Loader:\n    def __init__(self):\n        (self.x, self.y), _ = keras.datasets.mnist.load_data()\n"
        + "        self.x = self.x.reshape(-1, 784) / 255.0\n        self.y = self.y.reshape(-1, 1)\n"
        + "    def batch(self, size):\n        rows = np.random.randint(0, 60000, size)\n"
        + f"        return self.x[rows], self.y[rows]{cast}\nloader = Loader()\nfor _ in range(1000):\n"
        + "    x, y = loader.batch(50)\n    step(x, y)\n"
    )
    assert ("@tf.function" in fixed(code, tmp_path, "TFG202")) is is_fixed


@pytest.mark.parametrize("maker", ["np.random.default_rng(3)", "np.random.RandomState(3)"])
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_what_a_generator_of_numpy_draws_is_an_array(maker: str, dtype: str, tmp_path: Path) -> None:
    """Protects programs from a TypeError: such rows meet tensors with their own dtype, too."""
    code = (
        f"import numpy as np\n{HEAD}draws = {maker}\nrows = draws.normal(size=(640, 784)).astype('{dtype}')\n"
        + STEP.replace("loss_fn(y, model(x, training=True))", "tf.reduce_mean(model(x) - y)")
        + "for begin in range(0, 640, 8):\n    x, y = rows[begin : begin + 8], rows[begin : begin + 8, :1]\n    step(x, y)\n"
    )
    assert ("@tf.function" in fixed(code, tmp_path, "TFG202")) is (dtype == "float32")


ROWS = """
class Lot(keras.utils.Sequence):
    def __len__(self):
        return 40

    def __getitem__(self, place):
        return table[place % 20 :][:8], table[place % 20 :, :1][:8]


lot = Lot()
"""
MAKER = """
def make(net, descent):
    def learn(a, b):
        seen.append(1)
        CUT
        with tf.GradientTape() as tape:
            gap = tf.reduce_mean((net(a) - b) ** 2)
        descent.apply_gradients(zip(tape.gradient(gap, net.trainable_variables), net.trainable_variables))
        return gap

    return GIVEN


TAKEN = make(model, optimizer)
"""
RETURNED = {  # what is cut from the rows, what the maker returns, to what that is bound, and what is called
    "parts of both": ("a, b = a[: len(a) // 2], b[: len(b) // 2]", "learn", "run", "run"),
    "a part by another name": ("whole = b\n        b = whole[1:]\n        a = a[1:]", "learn", "run", "run"),
    "all rows": ("pass", "learn", "run", "run"),
    "one of two functions": ("b = b[:5]\n        a = a[:5]", "learn, len", "run, size", "run"),
}


@pytest.mark.slow
@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize(("cut", "given", "taken", "called"), RETURNED.values(), ids=RETURNED)
def test_rows_of_a_function_that_another_one_returns(
    cut: str, given: str, taken: str, called: str, dtype: str, tmp_path: Path
) -> None:
    """Protects steps that are made for a model: what they are called with by another name are arrays, too."""
    made = MAKER.replace("CUT", cut).replace("GIVEN", given).replace("TAKEN", taken)
    code = (
        f"import numpy as np\n{HEAD}seen = []\ntable = np.random.default_rng(3).normal(size=(40, 2)).astype('{dtype}')\n"
        + f"{ROWS}{made}result = []\nfor epoch in range(2):\n    for place in range(len(lot)):\n"
        + f"        a, b = lot[place]\n        result.append(float({called}(a, b)))\n"
    )
    after = fixed(code, tmp_path, "TFG202")
    assert ("@tf.function" in after) is (dtype == "float32")
    assert len(results(after)) == 80


def test_a_model_that_gets_another_value_later_is_an_argument(tmp_path: Path) -> None:
    """Protects notebooks, whose cells give one name to many models: a traced function would keep the first."""
    code = HEAD + "for x, y in dataset:" + BODY + "model = keras.Sequential([keras.layers.Dense(1)])\n"
    code += "for x, y in dataset:" + BODY
    after = fixed(code, tmp_path, "TFG202")
    assert "def train_step(model, x, y):" in after and "    train_step(model, x, y)\n" in after


SHOWN = {
    "the loss": ("float(loss), np.mean(loss)", True),
    "what the update counts": ("int(optimizer.iterations)", False),
    "what the model gives before it": ("model(x)", False),
}


@pytest.mark.parametrize(("shown", "is_fixed"), SHOWN.values(), ids=SHOWN)
def test_what_is_printed_before_the_update_is_the_same_after_it(shown: str, is_fixed: bool, tmp_path: Path) -> None:
    """Protects what a program prints: a `print` stays outside of the new function, and runs after all of it."""
    code = HEAD + "for x, y in dataset:" + BODY.replace("    grads", f"    print({shown})\n    grads")
    assert ("@tf.function" in fixed(code, tmp_path, "TFG202")) is is_fixed


PRINTS = {
    "values": ('"loss", loss', True),
    "a text that holds one": ('f"loss {loss}"', False),
    "a text made of one": ('"loss %s" % loss', False),
}


@pytest.mark.parametrize(("shown", "is_fixed"), PRINTS.values(), ids=PRINTS)
def test_the_print_of_the_graph_may_be_traced(shown: str, is_fixed: bool, tmp_path: Path) -> None:
    """Protects `tf.print`, which shows its arguments in every step: a text is made of them while it is traced."""
    code = HEAD + STEP.replace("    grads", f"    tf.print({shown})\n    grads") + LOOP
    assert ("@tf.function" in fixed(code, tmp_path, "TFG202")) is is_fixed


@pytest.mark.parametrize("line", ["from losses import my_loss", "from . import losses\nmy_loss = losses.mine"])
def test_nothing_is_said_of_what_cannot_be_looked_into(line: str, tmp_path: Path) -> None:
    """Protects the help from a claim about a module that is not there, and the program from a decorator on it."""
    code = HEAD + line + "\n" + STEP.replace("loss_fn(", "my_loss(") + LOOP
    (finding,) = [f for rule, f in findings(code, tmp_path) if rule.code == "TFG202"]
    assert finding.fix is None
    assert finding.help == "put the step into a separate function under `@tf.function`"
    assert not [note for note in finding.notes if "stands in the way" in note.message]


def test_the_decorator_is_written_as_the_file_imports(tmp_path: Path) -> None:
    code = (HEAD + STEP + LOOP).replace("import tensorflow as tf", "import tensorflow").replace("tf.", "tensorflow.")
    assert "@tensorflow.function\ndef step" in fixed(code, tmp_path, "TFG202")
    only = (HEAD + STEP + LOOP).replace("import tensorflow as tf", "from tensorflow import GradientTape, data")
    assert "function" not in fixed(only.replace("tf.", ""), tmp_path, "TFG202")


def test_a_step_that_a_loop_makes_again_is_not_decorated(tmp_path: Path) -> None:
    """Protects a function that is made two calls below a loop: decorated, it would be traced in each iteration."""
    code = (
        "def epoch():\n    "
        + (STEP + LOOP).replace("\n", "\n    ").rstrip()
        + "\n    print(x)\ndef run():\n    epoch()\n    print(1)\n"
    )
    assert "    @tf.function\n    def step" in fixed(f"{HEAD}{code}run()\n", tmp_path, "TFG202")
    assert "    @tf.function" not in fixed(f"{HEAD}{code}for _ in range(20):\n    run()\n", tmp_path, "TFG202")


def test_step_of_another_file_is_left_alone(tmp_path: Path) -> None:
    """Protects what other programs call, too."""
    (tmp_path / "steps.py").write_text(HEAD + STEP)
    for one in (f for r, f in findings(HEAD + "import steps\n" + LOOP.replace("step(", "steps.step("), tmp_path)):
        assert one.fix is None or "step" not in one.fix.message


def test_a_shape_that_is_shown_beside_the_step_is_no_obstacle(tmp_path: Path) -> None:
    code = HEAD + "def rows():\n    print('shape', model.input.shape)\n    return dataset\n" + STEP
    code += "def train():\n    for x, y in rows():\n        step(x, y)\ntrain()\n"
    assert "TFG202" in {one for one, _ in found(code, tmp_path)}
    inline = HEAD + "def show(x):\n    print(x.shape)\n" + STEP.replace("    grads", "    show(x)\n    grads", 1) + LOOP
    assert "TFG202" in {one for one, _ in found(inline, tmp_path)}


def test_notebook(tmp_path: Path) -> None:
    (_, finding), *_ = [
        pair for pair in findings(notebook(HEAD, STEP, LOOP), tmp_path, name="a.ipynb") if pair[0].code == "TFG202"
    ]
    assert finding.fix is not None


_PROGRAM = """
import numpy as np
import tensorflow as tf

tf.keras.utils.set_random_seed(1)
model = tf.keras.Sequential([tf.keras.layers.Dense(4, activation="relu"), tf.keras.layers.Dense(1)])
optimizer = tf.keras.optimizers.Adam(0.01)
metric = tf.keras.metrics.Mean()
x_all = np.linspace(0.0, 1.0, 40).reshape(20, 2).astype("float32")
dataset = tf.data.Dataset.from_tensor_slices((x_all, x_all.sum(1, keepdims=True))).batch(8)


def train_step(x, y):
    with tf.GradientTape() as tape:
        loss = tf.reduce_mean(tf.square(model(x, training=True) - y))
    grads = tape.gradient(loss, model.trainable_variables)
    optimizer.apply_gradients(zip(grads, model.trainable_variables))
    metric.update_state(loss)


for epoch in range(9):
    for x, y in dataset:
        train_step(x, y)
np.savez("weights.npz", float(metric.result()), *model.get_weights())
"""


@pytest.mark.slow
def test_the_same_weights_with_and_without_the_fix(tmp_path: Path, forks: ForkedPrograms) -> None:
    """The truth: a step that only computes trains the same model when it is traced."""
    pytest.importorskip("tensorflow")
    np = pytest.importorskip("numpy")
    after = fixed(_PROGRAM, tmp_path, "TFG202")
    assert "@tf.function\ndef train_step" in after
    weights = []
    for name, text in (("before", _PROGRAM), ("after", after)):
        folder = tmp_path / name
        folder.mkdir()
        (folder / "program.py").write_text(text)
        outcome = forks.outcome(folder / "program.py")
        assert outcome.exit_code == 0, outcome.stderr
        with np.load(folder / "weights.npz") as saved:
            weights.append([saved[key] for key in saved.files])
    assert len(weights[0]) == len(weights[1]) == 5
    for old, new in zip(*weights, strict=True):
        np.testing.assert_allclose(old, new, rtol=1e-4, atol=1e-6)


def test_a_step_that_leaves_its_loop_is_found_without_a_fix(tmp_path: Path) -> None:
    """Protects `check` from failing on a step that cannot become a function, and `verify` from not saying why."""
    code = """
    import tensorflow as tf

    model = tf.keras.Sequential([tf.keras.layers.Dense(1)])
    optimizer = tf.keras.optimizers.Adam()
    for x, y in tf.data.Dataset.from_tensor_slices((features, labels)).batch(32):
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean(tf.square(model(x) - y))
            if loss < 0.1:
                break
        gradients = tape.gradient(loss, model.trainable_variables)
        optimizer.apply_gradients(zip(gradients, model.trainable_variables))
    """
    ((_, finding),) = [pair for pair in findings(code, tmp_path) if pair[0].code == "TFG202"]
    assert finding.fix is None
    (case,) = [case for case in cases_of(tmp_path / "train.py") if case.diagnostic.code == "TFG202"]
    assert case.reason == (
        "the step cannot be moved into a separate function: the `break` in row 10 would leave that function"
    )


def test_a_notebook_whose_step_cannot_be_moved_is_still_checked(tmp_path: Path) -> None:
    """Protects the findings of a notebook from a text that was only tried, and does not parse."""
    loop = (
        "for number, (x, y) in enumerate(data):\n    with tf.GradientTape() as tape:\n"
        "        loss = tf.reduce_mean(net(x) - y)\n    slopes = tape.gradient(loss, net.trainable_variables)\n"
        "    sgd.apply_gradients(zip(slopes, net.trainable_variables))\n    if (number + 1) % 50 == 0:\n"
        "        print('{}/{}'\n              .format(number + 1, 900))"
    )
    head = (
        "import tensorflow as tf\nnet = tf.keras.Sequential([tf.keras.layers.Dense(1)])\n"
        "sgd = tf.keras.optimizers.SGD()\ndata = tf.data.Dataset.from_tensor_slices(load()).batch(32)"
    )
    assert "TFG202" in {code for code, _ in found(notebook(head, loop, "print(net)"), tmp_path, name="a.ipynb")}


def test_operations_of_the_old_interface_are_operations(tmp_path: Path) -> None:
    """`import tensorflow.compat.v1 as tf` changes the names, and not what tracing does; writing summaries stays."""
    head = HEAD.replace("import tensorflow as tf", "import tensorflow as tf2, tensorflow.compat.v1 as tf")
    step = STEP.replace("loss_fn(y, model(x, training=True))", "tf.math.sqrt(tf.reduce_mean((model(x) - y) ** 2))")
    code = head.replace("= tf.data", "= tf2.data") + step + LOOP
    assert "@tf2.function\ndef step" in fixed(code, tmp_path, "TFG202")
    writes = code.replace("    grads =", "    tf.summary.scalar('loss', loss)\n    grads =")
    assert "@tf2.function" not in fixed(writes, tmp_path, "TFG202").partition("def step")[0]


@pytest.mark.parametrize(
    ("made", "is_found"),
    [
        ("gp.training_loss_closure(rows, compile=True)", False),
        ("gp.training_loss_closure(rows)", False),
        ("gp.training_loss_closure(rows, compile=False)", True),
        ("gp.other_closure(rows)", True),
    ],
)
def test_a_loss_that_a_library_compiles_is_traced(made: str, is_found: bool, tmp_path: Path) -> None:
    code = (
        f"import gpflow\nfrom data import rows\ngp = gpflow.models.SVGP(k, l, z)\nloss = {made}\nfor _ in range(999):\n"
        "    with tf.GradientTape() as tape:\n        value = loss()\n"
        "    weights = gp.trainable_variables\n"
        "    optimizer.apply_gradients(zip(tape.gradient(value, weights), weights))\n"
    )
    assert ("TFG202" in {rule.code for rule, _ in findings(HEAD + code, tmp_path)}) is is_found


_TRAINERS = ("north", "east", "south", "west")
_TRAINING = "".join(
    f"""
first_{name} = tf.keras.Sequential([tf.keras.layers.Dense({width}), tf.keras.layers.Dense(1)])
moves_{name} = tf.keras.optimizers.SGD(0.01)


def update_{name}(rows, wanted, history):
    with tf.GradientTape() as tape:
        error = tf.reduce_mean(tf.square(first_{name}(rows) - wanted))
    slopes = tape.gradient(error, first_{name}.trainable_variables)
    moves_{name}.apply_gradients(zip(slopes, first_{name}.trainable_variables))
    history.append(float(error))


def train_{name}():
    history = []
    for sweep in range(40):
        for rows, wanted in batches:
            update_{name}(rows, wanted, history)
    return history[-1]
"""
    for width, name in enumerate(_TRAINERS, 1)
)


def test_every_moved_step_has_a_name_that_no_other_has(tmp_path: Path) -> None:
    """Protects a file of more than three steps: a function that took another one's name trained its model instead."""
    program = "batches = tf.data.Dataset.from_tensor_slices((data, data[:, :1])).batch(8)\n" + _TRAINING
    program += f"result = [{', '.join(f'train_{name}()' for name in _TRAINERS)}]\n"
    made = re.findall(r"@tf\.function\ndef (\w+)", stable(PROGRAM_HEAD + program, tmp_path, "TFG202"))
    assert len(made) == len(set(made)) == len(_TRAINERS)
    assert_same_results("TFG202", program, [], tmp_path)


def test_steps_of_one_file_are_moved_in_one_pass(tmp_path: Path) -> None:
    """Protects `--fix` of long files: ten passes are all there are, and each one checks the file again."""
    code = HEAD + "".join(
        LOOP.replace("    step(x, y)\n", BODY) + f"    print({number}, float(loss))\n" for number in range(12)
    )
    steps = [finding.fix for diagnostic, finding in findings(code, tmp_path) if diagnostic.code == "TFG202"]
    assert len(steps) == 12
    assert len({name for fix in steps if fix is not None for name in fix.defines}) == 12
