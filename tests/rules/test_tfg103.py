"""TFG103: what Python does once, while TensorFlow traces, is found; local state, prints about tracing and guards are not."""

from __future__ import annotations

from pathlib import Path

import pytest
from checks import codes, findings, found, notebook

HEAD = """
import tensorflow as tf
from tensorflow import keras
"""
CALL = "class Net(keras.layers.Layer):\n    def call(self, x, training=False):\n"
STEP = "@tf.function\ndef step(x):\n"
EFFECTS = {
    "print in a tf.function": STEP + "    print('loss', x)\n    return x",
    "print of a text": STEP + "    print('hello')\n    return x",
    "print in call": CALL + "        print(x)\n        return x",
    "print in train_step": "class M(keras.Model):\n    def train_step(self, data):\n        loss = self.run(data)\n"
    "        print('loss', loss)\n        return {'loss': loss}",
    "print under a setting": "VERBOSE = True\n" + STEP + "    if VERBOSE:\n        print(x)\n    return x",
    "print under a flag that others set": "class Net(keras.Model):\n    def mute(self):\n        self.loud = False\n"
    "    def call(self, x):\n        if self.loud:\n            print(x)\n        return x",
    "list that grows to a limit": "seen = []\n" + STEP + "    if len(seen) < 9:\n        seen.append(x)\n    return x",
    "file": STEP + "    with open('log.txt', 'a') as log:\n        log.write('step')\n    return x",
    "list of the module": "losses = []\n" + STEP + "    losses.append(x)\n    return x",
    "list of the object": "class Agent(tf.Module):\n    def __init__(self):\n        self.seen = []\n    @tf.function\n"
    "    def step(self, x):\n        self.seen.append(x)\n        return x",
    "list of the class": "class Agent(tf.Module):\n    seen = []\n    @tf.function\n"
    "    def step(self, x):\n        self.seen.extend([x])\n        return x",
    "dict of an enclosing function": "def train(data):\n    logs = {}\n    @tf.function\n    def step(x):\n"
    "        logs['loss'] = x\n        return x\n    for x in data:\n        step(x)\n    return logs",
    "item counted up": "counts = {'steps': 0}\n" + STEP + "    counts['steps'] += 1\n    return x",
    "item deleted": "cache = {'x': 0}\n" + STEP + "    del cache['x']\n    return x",
    "set": "seen = set()\n" + STEP + "    seen.add(1)\n    return x",
    "deque": "import collections\nrecent = collections.deque(maxlen=9)\n" + STEP + "    recent.append(x)\n    return x",
    "global": "steps = 0\n@tf.function\ndef step(x):\n    global steps\n    steps += 1\n    return x",
    "nonlocal": "def train():\n    last = None\n    @tf.function\n    def step(x):\n        nonlocal last\n"
    "        last = x\n        return x\n    return step",
    "list as an argument of a helper": "def keep(values, x):\n    values.append(x)\nlosses = []\n"
    + STEP
    + "    keep(losses, x)\n    return x",
    "helper": "def report(x):\n    print(x)\n" + STEP + "    report(x)\n    return x",
    "passed to tf.function": "def step(x):\n    print(x)\n    return x\nfast = tf.function(step)",
    "item of an argument": "@tf.function\ndef step(batch):\n    batch['x'] = batch['x'] / 255.0\n    return batch",
    "nested item of an argument": "@tf.function\ndef step(batch):\n    batch['a']['b'] = 1.0\n    return batch",
    "popped from an argument": "@tf.function\ndef step(batch):\n    y = batch.pop('label')\n    return batch, y",
    "deleted and written again": "@tf.function\ndef step(batch):\n    del batch['x']\n    batch['x'] = 1.0\n    return batch",
    "deleted from an argument": "@tf.function\ndef step(batch):\n    del batch['label']\n    return batch",
    "item of a method's argument": "class Agent(tf.Module):\n    @tf.function\n    def step(self, state):\n"
    "        state[0] = 1.0\n        return state",
}
READ = "debug = load_settings()\n" + STEP + "    y = x * 2\n"
EFFECTS |= {
    "print before a value is read": READ + "    print('y', y)\n    return y.numpy()",
    "print beside a branch that reads a value": READ
    + "    if debug:\n        y.numpy()\n    print('y', y)\n    return y",
    "print after a loop that reads values": READ
    + "    for z in debug:\n        (y + z).numpy()\n    print(y)\n    return y",
    "print after a value that is tried": READ
    + "    try:\n        y.numpy()\n    except AttributeError:\n        pass\n"
    "    print('y', y)\n    return y",
    "a helper under another handler": "class Net(keras.layers.Layer):\n    def call(self, x):\n        try:\n"
    "            return x @ self.kernel\n        except ValueError:\n            self.show(x)\n            return x\n"
    "    def show(self, x):\n        print('values', x)",
    "under a flag of its object": CALL + "        if self.loud:\n            print('values', x)\n        return x",
    "print after a value that was made before": "table = tf.constant(3)\n"
    + STEP
    + "    n = table.numpy()\n    print(x)\n    return x * n",
    "print in what another read follows": "def show(x):\n    print(x)\n" + READ + "    show(y)\n    return y.numpy()",
}
NO_EFFECTS = {
    "print behind a value in its branch": READ
    + "    if debug:\n        v = y[0].numpy()\n        print('v', v)\n    return y",
    "print of a value": READ + "    print(y.numpy())\n    return y",
    "print under a test of a value": READ + "    if y.numpy() > 3:\n        print('large')\n    return y",
    "list behind a value": "seen = []\n" + READ + "    mean = tf.reduce_mean(y).item()\n    for _ in range(3):\n"
    "        seen.append(mean)\n    return y",
    "print in a helper behind a value": "def draw(image):\n    print(image.shape)\ndef show(batch):\n    first = batch['x'][0].numpy()\n"
    "    draw(first)\n@tf.function\ndef step(batch):\n    if debug:\n        show(batch)\n    return batch['x'] * 2",
    "tf.print": STEP + "    tf.print('loss', x)\n    return x",
    "a print of TensorFlow's own by name": "from tensorflow import print\n" + STEP + "    print(x)\n    return x",
    "print about tracing": STEP + "    print('Tracing step')\n    return x",
    "print about tracing, formatted": STEP + "    print(f'retracing with {x}')\n    return x",
    "print before a raise": STEP
    + "    if x.shape.rank != 2:\n        print('no batch', x)\n        raise ValueError\n    return x",
    "print in a handler": STEP
    + "    try:\n        return run(x)\n    except TypeError as error:\n        print(error)\n        return x",
    "eager only": STEP + "    if tf.executing_eagerly():\n        print(x)\n    return x",
    "outside": STEP + "    return x\nfor i in range(3):\n    print(step(i))",
    "py_function": "def show(x):\n    print(x)\n    return x\n"
    + STEP
    + "    return tf.py_function(show, [x], tf.float32)",
    "mapped function": "def show(x):\n    print(x)\n    return x\nds = tf.data.Dataset.range(9).map(show)",
    "local list": STEP
    + "    parts = []\n    for i in range(3):\n        parts.append(x * i)\n    return tf.stack(parts)",
    "local dict": STEP + "    out = {}\n    out['x'] = x\n    return out",
    "list reset in the same call": "class Net(tf.Module):\n    def __init__(self):\n        self.parts = []\n"
    "    @tf.function\n    def step(self, x):\n        self.parts = []\n        self.parts.append(x)\n"
    "        return tf.stack(self.parts)",
    "list of a traced caller": "def collect(parts, x):\n    parts.append(x)\n"
    + STEP
    + "    parts = []\n    collect(parts, x)\n    return tf.stack(parts)",
    "closure of a traced function": STEP
    + "    count = 0\n    def add(y):\n        nonlocal count\n        count += 1\n"
    "        return y\n    return add(x) + count",
    "cache with a test": "cache = {}\n"
    + STEP
    + "    if 'mask' not in cache:\n        cache['mask'] = tf.eye(3)\n    return x",
    "cache with is None": "mask = None\n@tf.function\ndef step(x):\n    global mask\n    if mask is None:\n"
    "        mask = 1\n    return x * mask",
    "a flag of the object": "class Net(keras.Model):\n    def call(self, x):\n        if self.is_new:\n"
    "            print('shape', x)\n            self.is_new = False\n        return x",
    "what a missing attribute has made": "class Net(keras.layers.Layer):\n    def call(self, x):\n        try:\n"
    "            return x @ self.kernel\n        except AttributeError:\n            self.prepare(x.shape)\n"
    "            return x @ self.kernel\n    def prepare(self, shape):\n        print('width', self.width)\n"
    "        self.kernel = self.add_weight(shape=(shape[-1], self.width))",
    "a helper that a flag of the object lets run once": "class Net(keras.layers.Layer):\n    def call(self, x):\n"
    "        if not self.ready:\n            self.prepare()\n        return x\n    def prepare(self):\n        print('ready', self)\n"
    "        self.ready = True",
    "under a flag for debugging": "class Net(keras.layers.Layer):\n    def __init__(self, debug=False):\n"
    "        super().__init__()\n        self.debug = debug\n" + CALL.partition("\n")[2] + "        if self.debug:\n"
    "            print('rows', x.shape)\n        return x",
    "a flag of the module, either way round": "shown = False\n@tf.function\ndef step(x):\n    global shown\n"
    "    if shown == False:\n        print(x)\n        shown = True\n    return x",
    "a flag after an early exit": "class Agent(tf.Module):\n    @tf.function\n    def step(self, x):\n"
    "        if not self.fresh:\n            return x\n        self.fresh = False\n        print(x)\n        return x",
    "a dict that is asked by get": "class Counts(tf.Module):\n    def __init__(self):\n        self.kept = {}\n"
    "    @tf.function\n    def add(self, name, x):\n        total = self.kept.get(name)\n        if total is None:\n"
    "            total = tf.Variable(0.0)\n            self.kept[name] = total\n        return total.assign_add(x)",
    "a dictionary that is filled once": "def make(codec):\n    layout = {}\n    @tf.function\n    def encode(x):\n"
    "        parts = codec(x)\n        if not layout:\n            layout['parts'] = len(parts)\n        return parts\n"
    "    return encode",
    "a list that is filled once": "made = []\n" + STEP + "    if not made:\n        made.append(tf.Variable(x))\n"
    "    return made[0] * x",
    "print about tracing, in Chinese": STEP + "    print('追踪', x)\n    return x",
    "print about tracing, in Japanese": STEP + "    print('トレース中: {}'.format(x))\n    return x",
    "both prints, to show the difference": STEP + "    print('P:', x)\n    tf.print('T:', x)\n    return x",
    "counter of traces": "traces = 0\n@tf.function\ndef step(x):\n    global traces\n    traces += 1\n    return x",
    "list of traces": "tracing_log = []\n" + STEP + "    tracing_log.append(1)\n    return x",
    "an unknown object's method": "from elsewhere import buffer\n" + STEP + "    buffer.append(x)\n    return x",
    "a parameter's method": "@tf.function\ndef step(buffer, x):\n    buffer.append(x)\n    buffer.update(x)\n    return x",
    "a metric": "mean = keras.metrics.Mean()\n" + STEP + "    mean.update_state(x)\n    return x",
    "keyword arguments": "@tf.function\ndef step(x, **options):\n    options['x'] = x\n    return run(**options)",
    "an item that is there for the call only": "@tf.function\ndef step(context, x):\n    context['scale'] = x * 2\n"
    "    y = run(x, context)\n    del context['scale']\n    return y",
    "a copy of an argument": "@tf.function\ndef step(batch):\n    batch = dict(batch)\n    batch['x'] = 1.0\n    return batch",
    "an instance of the project": "class Board:\n    def __setitem__(self, k, v):\n        tf.print(k, v)\nboard = Board()\n"
    "@tf.function\ndef step(board):\n    board[0] = 1.0\n    return 1\nstep(board)",
    "changes of a Keras layer": CALL + "        self.losses_seen.append(x)\n        return x",
    "argument of call": "class Net(keras.Model):\n    def call(self, inputs):\n        inputs['x'] = 1.0\n        return inputs",
    "global that is only read": "scale = 2.0\n@tf.function\ndef step(x):\n    global scale\n    return x * scale",
    "eager function": "losses = []\ndef step(x):\n    print(x)\n    losses.append(x)\nstep(1)",
    "functions run eagerly": "tf.config.run_functions_eagerly(True)\n" + STEP + "    print(x)\n    return x",
    "plain class": "class Env:\n    def call(self, x):\n        print(x)\n        return x",
    "init_scope": STEP + "    with tf.init_scope():\n        print('made')\n    return x",
    "torch": "import torch\nclass Net(torch.nn.Module):\n    def call(self, x):\n        print(x)\n        return x",
}


def _table(cases: dict[str, str]) -> pytest.MarkDecorator:
    return pytest.mark.parametrize("code", cases.values(), ids=cases.keys())


@_table(EFFECTS)
def test_an_effect_of_tracing_is_found(code: str, tmp_path: Path) -> None:
    """Protects recall: prints, files, containers, names and arguments, directly and through helpers."""
    assert codes(HEAD + code, tmp_path) == ["TFG103"]


@_table(NO_EFFECTS)
def test_others_are_not_found(code: str, tmp_path: Path) -> None:
    """Protects precision: what runs in every call, is meant to run once, or does not leave the call."""
    assert "TFG103" not in codes(HEAD + code, tmp_path)


def test_a_helper_in_another_file_is_found_there(tmp_path: Path) -> None:
    (tmp_path / "logs.py").write_text(
        "import tensorflow as tf\n\nseen = []\n\ndef keep(x):\n    seen.append(tf.abs(x))\n"
    )
    code = "import tensorflow as tf\nfrom logs import keep\n@tf.function\ndef step(x):\n    keep(x)\n    return x\n"
    assert found(code, tmp_path) == {("TFG103 logs.py", 6)}


def test_a_notebook_is_read(tmp_path: Path) -> None:
    cells = notebook("import tensorflow as tf\nlosses = []", STEP + "    losses.append(x)\n    return x")
    assert {code for code, _ in found(cells, tmp_path, "x.ipynb")} == {"TFG103"}


def test_several_prints_of_a_function_are_one_finding(tmp_path: Path) -> None:
    ((_, finding),) = findings(HEAD + STEP + "    print(x)\n    print(x + 1)\n    return x", tmp_path)
    assert [note.message for note in finding.notes] == ["the same holds here"]


def test_a_print_of_a_shape_is_advice(tmp_path: Path) -> None:
    code = (
        HEAD
        + CALL
        + "        print('in', x.shape)\n        x = x * 2\n        print(x.shape, x.dtype)\n        return x"
    )
    (finding,) = [one for rule, one in findings(code, tmp_path) if rule.code == "TFG103"]
    assert finding.severity == "advice" and len(finding.notes) == 1
    assert finding.message.startswith("this prints a shape, a type or a name only while Keras traces `Net.call`")
    assert codes(code.replace("x * 2", "x * 2\n        print(x)"), tmp_path) == ["TFG103"]
    assert "TFG103" not in codes(code.replace("'in'", "'tracing with'").replace("x.dtype", "'traced'"), tmp_path)


def test_an_argument_is_told_apart(tmp_path: Path) -> None:
    """Protects the words: an argument raises, anything else runs once."""
    ((_, finding),) = findings(HEAD + EFFECTS["item of an argument"], tmp_path)
    assert finding.prediction.kind == "crash"
    assert finding.message == (
        "this writes to `batch`, an argument of the `tf.function` `step`: it raises when TensorFlow traces it"
    )
    assert finding.help == "change a copy: `batch = dict(batch)` or `list(batch)` first"


def test_python_runs_once(capsys: pytest.CaptureFixture[str]) -> None:
    """Protects the rule's claim, with the installed TensorFlow."""
    tf = pytest.importorskip("tensorflow")
    seen: list[object] = []
    count = 0

    @tf.function
    def step(x):  # type: ignore[no-untyped-def]
        nonlocal count
        count += 1
        print("once")
        seen.append(x)
        return x

    for value in (1.0, 2.0, 3.0):
        step(tf.constant(value))
    assert (capsys.readouterr().out, len(seen), count) == ("once\n", 1, 1)
    assert not hasattr(seen[0], "numpy")


def test_arguments_must_not_be_changed() -> None:
    """Protects the rule's claim, with the installed TensorFlow."""
    tf = pytest.importorskip("tensorflow")

    def writes(batch):  # type: ignore[no-untyped-def]
        batch["x"] = tf.constant(1.0)

    def pops(batch):  # type: ignore[no-untyped-def]
        return batch.pop("x")

    def takes_back(batch):  # type: ignore[no-untyped-def]
        batch["y"] = batch["x"] * 2.0
        y = batch["y"]
        del batch["y"]
        return y

    assert float(tf.function(takes_back)({"x": tf.constant(2.0)})) == 4.0
    for change in (writes, pops):
        with pytest.raises(ValueError, match="should not modify its Python input arguments"):
            tf.function(change)({"x": tf.constant(2.0)})
    with pytest.raises(TypeError, match="item assignment"):
        tf.function(writes)(tf.constant(2.0))


LAYER = """
class Shown(keras.layers.Layer):
    def call(self, inputs):
        print("inputs", inputs)
        return inputs * 2.0


net = keras.Sequential([Shown(), keras.layers.Dense(1)])
net.compile("sgd", "mse"{settings})
net.fit(tf.ones((4, 2)), tf.ones((4, 1)), verbose=0)
"""
ADVISED = {  # a program, and whether `tf.print` works wherever it runs
    "Keras decides": (LAYER.format(settings=""), False),
    "XLA": (LAYER.format(settings=", jit_compile=True"), False),
    "no XLA": (LAYER.format(settings=", jit_compile=False"), True),
    "a function for XLA": (
        STEP.replace("function", "function(jit_compile=True)") + "    print(x)\n    return x\nstep(tf.ones(3))\n",
        False,
    ),
    "a function": (STEP + "    print(x)\n    return x\nstep(tf.ones(3))\n", True),
}


@pytest.mark.parametrize(("code", "works"), ADVISED.values(), ids=ADVISED.keys())
def test_the_help_is_for_where_the_program_runs(code: str, works: bool, tmp_path: Path) -> None:
    """Protects programs that move to a GPU: there Keras 3 compiles with XLA, which has no kernel for `tf.print`."""
    (finding,) = [f for rule, f in findings(HEAD + code, tmp_path) if rule.code == "TFG103"]
    assert (finding.help or "").startswith("use `tf.print`") == works
    assert works or "`tf.print` needs `jit_compile=False`" in (finding.help or "")


@pytest.mark.parametrize("name", ADVISED)
def test_the_truth_tf_print_under_xla(name: str) -> None:
    """With the installed TensorFlow: what XLA compiles cannot print, on a CPU neither."""
    tf = pytest.importorskip("tensorflow")
    code = HEAD + ADVISED[name][0].replace("print(", "tf.print(")
    if "True" not in code:
        exec(compile(code, "program.py", "exec"), {})
        return
    with pytest.raises((tf.errors.InvalidArgumentError, tf.errors.UnimplementedError)):
        exec(compile(code, "program.py", "exec"), {})


METRIC = """
class Spread(keras.metrics.Metric):
    def __init__(self):
        super().__init__()
        self.kept, self.largest = [], None
        self.total = self.add_weight(initializer="zeros")
    def update_state(self, y_true, y_pred, sample_weight=None):
        UPDATE
    def result(self):
        return RESULT
    def reset_state(self):
        self.kept = []
"""
IN_FIT = "net = keras.Sequential([keras.Input((4,)), keras.layers.Dense(1)])\nmine = Spread()\n"
IN_FIT += "net.compile('sgd', 'mse', metrics=[mine])\nnet.fit(tf.ones((64, 4)), tf.ones((64, 1)), verbose=0)\n"
KEPT_BY_METRIC = {
    "in a list": ("self.kept.append(tf.reduce_max(y_pred))", "tf.add_n(self.kept) / 2.0"),
    "in an attribute": ("self.largest = tf.reduce_max(y_pred)", "self.largest + 0.0"),
    "instead of a weight": ("self.total = self.total + tf.reduce_max(y_pred)", "self.total + 0.0"),
}
NOT_KEPT = {
    "assigned": ("self.total.assign_add(tf.reduce_max(y_pred))", "self.total + 0.0"),
    "what assign gives": ("self.last = self.total.assign_add(tf.reduce_max(y_pred))", "self.total + 0.0"),
    "not read by result": ("self.largest = tf.reduce_max(y_pred); self.total.assign(1.0)", "self.total + 0.0"),
    "a number": ("self.largest = 3.0; self.total.assign(1.0)", "self.total * self.largest"),
}


def _metric(update: str, result: str) -> str:
    return METRIC.replace("UPDATE", update).replace("RESULT", result)


@pytest.mark.parametrize("name", KEPT_BY_METRIC)
def test_tensors_that_a_metric_keeps(name: str, tmp_path: Path) -> None:
    """Protects recall and the claim: the program raises with the installed Keras 3."""
    code = HEAD + _metric(*KEPT_BY_METRIC[name])
    assert codes(code + IN_FIT, tmp_path) == ["TFG103"]
    assert codes(code + "mine = Spread()\nmine.update_state([1.0], [2.0])\nprint(mine.result())\n", tmp_path) == []
    eager = IN_FIT.replace("metrics=", "run_eagerly=True, metrics=")
    assert "TFG103" not in codes(code + eager, tmp_path)
    keras = pytest.importorskip("keras")
    if keras.__version__ >= "3":
        with pytest.raises(TypeError, match="out of scope"):
            exec(compile(code + IN_FIT, name, "exec"), {})


@pytest.mark.parametrize("name", NOT_KEPT)
def test_what_a_metric_may_keep(name: str, tmp_path: Path) -> None:
    """Protects precision: these run."""
    code = HEAD + _metric(*NOT_KEPT[name]) + IN_FIT
    assert "TFG103" not in codes(code, tmp_path)
    pytest.importorskip("keras")
    exec(compile(code, name, "exec"), {})


GATHERED = """
import numpy as np

class Gathered(keras.Model):
    def __init__(self, period):
        super().__init__()
        self.head = keras.layers.Dense(1)
        FIRST
        self.period = period
        self.sums = [tf.Variable(tf.zeros((3, 1)), trainable=False), tf.Variable(tf.zeros((1,)), trainable=False)]

    def call(self, inputs):
        return self.head(inputs)

    def train_step(self, data):
        features, wanted = data
        with tf.GradientTape() as tape:
            miss = tf.reduce_mean(tf.square(self(features, training=True) - wanted))
        free = self.head.trainable_variables
        for total, slope in zip(self.sums, tape.gradient(miss, free)):
            total.assign_add(slope)
        COUNTED
        if TEST:
            self.optimizer.apply_gradients(zip(self.sums, free))
        return {"miss": miss}

net = Gathered(3)
net(np.ones((1, 3), "float32"))
net.compile("sgd", run_eagerly=EAGERLY)
before = net.head.get_weights()[0]
net.fit(np.ones((12, 3), "float32"), np.ones((12, 1), "float32"), batch_size=2, verbose=0)
moved = bool(abs(net.head.get_weights()[0] - before).max() > 0)
"""


def gathered(
    first: str = "self.turn = 0",
    counted: str = "self.turn += 1",
    test: str = "self.turn % self.period == 0",
    eagerly: str = "False",
) -> str:
    """A model that trains with the gradients of several batches."""
    program = GATHERED.replace("FIRST", first).replace("COUNTED", counted)
    return program.replace("TEST", test).replace("EAGERLY", eagerly)


SCHEDULED = """
class Scheduled(keras.losses.Loss):
    def __init__(self, most, *, ramps=False):
        super().__init__()
        self.most, self.ramps, self.calls = most, ramps, 0
    def call(self, y_true, y_pred):
        scale = self.most
        if self.ramps:
            self.calls += 1
            scale *= tf.minimum(self.calls / 1000, 1.0)
        return scale * tf.abs(y_true - y_pred)
net = keras.Sequential([keras.layers.Dense(1)])
"""
COUNTERS = {
    "added to": gathered(),
    "that one object is told to count": SCHEDULED + "net.compile(loss=[Scheduled(0.5), Scheduled(1.0, ramps=True)])\n",
    "that nothing is made of": SCHEDULED,
    "summed": gathered(counted="self.turn = self.turn + 1"),
    "in a tf.function": "class Pace(tf.Module):\n    def __init__(self):\n        self.passes = 0.0\n    @tf.function\n"
    "    def step(self, x):\n        self.passes += 1.0\n        return x / self.passes\n",
}
NO_COUNTERS = {
    "a variable": gathered("self.turn = tf.Variable(0)", "self.turn.assign_add(1)"),
    "eager": gathered(eagerly="True"),
    "that nothing reads": gathered(test="True"),
    "that each trace starts": "class Stack(keras.layers.Layer):\n    def __init__(self):\n        super().__init__()\n"
    "        self.place = 0\n    def call(self, x):\n        self.place = 0\n        for _ in range(3):\n"
    "            self.place += 1\n            x = x * self.place\n        return x\n",
    "of traces": gathered("self.traces = 0", "self.traces += 1", "self.traces > 0"),
    "of an unknown kind": gathered("self.turn = period * 2"),
    "in a method that another takes the place of": gathered().replace(
        "    def call",
        "    def __new__(cls, *given):\n        new = super().__new__(cls, *given)\n"
        "        new.train_step = tf.keras.Model.train_step.__get__(new)\n        return new\n\n    def call",
    ),
    "that no object is told to count": SCHEDULED + "net.compile(loss=Scheduled(0.5))\n",
    "in a constructor": "class Deep(keras.Model):\n    def __init__(self):\n        super().__init__()\n"
    "        self.depth = 0\n        self.depth += 1\n    def call(self, x):\n        return x * self.depth\n",
}


def _moves(program: str) -> bool:
    scope: dict[str, object] = {}
    exec(HEAD + program, scope)
    return bool(scope["moved"])


@pytest.mark.parametrize("case", COUNTERS)
def test_a_counter_of_an_object(case: str, tmp_path: Path) -> None:
    """Protects the case in which nothing is trained and nothing raises: the counter stays at one."""
    (text,) = [f.message for rule, f in findings(HEAD + COUNTERS[case], tmp_path) if rule.code == "TFG103"]
    assert text.startswith("this writes `self.")


@pytest.mark.parametrize("case", NO_COUNTERS)
def test_what_counts_for_tracing_or_in_each_step(case: str, tmp_path: Path) -> None:
    assert "TFG103" not in codes(HEAD + NO_COUNTERS[case], tmp_path)


@pytest.mark.parametrize(("made", "count"), [("Scheduled(2.0)", 0), ("Scheduled(2.0, ramps=flag)", 1)])
def test_a_counter_that_importing_files_switch_off(made: str, count: int, tmp_path: Path) -> None:
    """Protects from findings in a class of which another file makes all objects."""
    (tmp_path / "fitting.py").write_text(f"import tensorflow as tf\nfrom schedules import Scheduled\nloss = {made}\n")
    assert codes(HEAD + SCHEDULED, tmp_path, name="schedules.py") == ["TFG103"] * count


def test_a_counter_that_is_kept_trains_nothing() -> None:
    """Protects the claim, by TensorFlow: the same steps train the model where they run eagerly."""
    pytest.importorskip("tensorflow")
    assert not _moves(gathered())
    assert _moves(gathered(eagerly="True"))
