"""Fixes that move statements, run with TensorFlow: the program before and after gives the same, or runs at last."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from checks import findings
from fixed_programs import HEAD, assert_same_results, results, stable

MODEL = """
model = tf.keras.Sequential([tf.keras.layers.Dense(3, activation="tanh")])
dataset = tf.data.Dataset.from_tensor_slices((data, data[:, :3])).batch(5)
"""
STEP = """\
    def step(x, y):  # one batch
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean(tf.square(model(x) - y))
        optimizer.apply_gradients(zip(tape.gradient(loss, model.trainable_variables), model.trainable_variables))
        return loss

"""
MEMORY = """
memory = [(row, number % 3, float(number)) for number, row in enumerate(data.astype("float64"))]
net = tf.keras.Sequential([tf.keras.layers.Dense(3)])
sgd = tf.keras.optimizers.SGD(0.01)
result = []
for number in range(50):
    seen, moves, values = map(np.array, zip(*memory[number % 20 : number % 20 + 4]))
    # one update
    with tf.GradientTape() as tape:
        chosen = tf.one_hot(moves, 3)
        spread = tf.reduce_mean(LOSS)
    slopes = tape.gradient(spread, net.trainable_variables)
    sgd.apply_gradients(zip(slopes, net.trainable_variables))
    result.append(spread)
"""
DOUBLES = """
tf.keras.backend.set_floatx("float64")


class Player:
    def __init__(self):
        entry = tf.keras.layers.Input((4,))
        heads = [tf.keras.layers.Dense(2, kernel_initializer="ones", activation=name)(entry) for name in ("tanh", None)]
        self.net = tf.keras.Model(entry, heads)
        self.sgd = tf.keras.optimizers.SGD(0.01)

    def loss(self, mean, wide, wins):
        wide = tf.clip_by_value(wide, 0.1, 2.0)
        return LOSS

    def learn(self, states, wins):
        with tf.GradientTape() as tape:
            mean, wide = self.net(states, training=True)
            loss = self.loss(mean, wide, wins)
        weights = self.net.trainable_variables
        self.sgd.apply_gradients(zip(tape.gradient(loss, weights), weights))
        return float(loss)


player = Player()
result = []
for turn in range(5):
    wins = np.stack([np.full(2, number / 24) for number in range(24)])
    result.append(player.learn(data * np.linspace(1.0, 2.0, 4), wins))
"""
# The rule, the program, and what must be in it when it is fixed.
SAME = {
    "a step of each epoch": (
        "TFG203",
        MODEL
        + """
optimizer = tf.keras.optimizers.SGD()
for epoch in range(30):

    # trains
    @tf.function
"""
        + STEP
        + """\
    for x, y in dataset:
        step(x, y)
result = model.get_weights()
""",
        [
            "\n\n# trains\n@tf.function\ndef step(x, y):  # one batch\n    with",
            "\n\n\nfor epoch in range(30):\n    for x, y",
        ],
    ),
    "a wrapped function in nested loops of a function": (
        "TFG203",
        MODEL
        + """

def forward(x):
    return model(x, training=False)


def outputs():
    gathered = []
    for epoch in range(30):
        for x, _ in dataset:
            run = tf.function(forward)  # traced
            gathered.append(run(x))
    return gathered


result = outputs()
""",
        [
            "    gathered = []\n    run = tf.function(forward)  # traced\n    for epoch",
            "        for x, _ in dataset:\n            gathered",
        ],
    ),
    "a step that a method defines": (
        "TFG203",
        MODEL
        + """

class Trainer:
    def __init__(self, net):
        self.net = net
        self.optimizer = tf.keras.optimizers.SGD(0.1)
        self.seen = 0

    # one epoch
    def epoch(self, batches):
        # trains
        @tf.function
        def step(x, y):  # one batch
            with tf.GradientTape() as tape:
                loss = tf.reduce_mean(tf.square(self.net(x) - y))
            variables = self.net.trainable_variables
            self.optimizer.apply_gradients(zip(tape.gradient(loss, variables), variables))
            return loss

        for x, y in batches:
            self.seen += int(step(x, y) > 0)  # counted

    def fit(self, batches):
        for _ in range(30):
            self.epoch(batches)


other = tf.keras.Sequential([tf.keras.layers.Dense(3)])
trainers = [Trainer(model), Trainer(other)]
trainers[0].fit(dataset)
trainers[1].fit(dataset)
result = [trainers[1].seen, *model.get_weights(), *other.get_weights()]
""",
        [
            "        self.seen = 0\n\n    # trains\n    @tf.function\n    def step(self, x, y):  # one batch\n        with",
            "    # one epoch\n    def epoch(self, batches):\n        for x, y in batches:",
            "int(self.step(x, y) > 0)  # counted",
        ],
    ),
    "a forward pass that a function defines": (
        "TFG203",
        MODEL
        + """

def outputs(net, batches):
    @tf.function
    def forward(x):
        return net(x, training=False)

    return [forward(x) for x, _ in batches]


result = []
for _ in range(30):
    result += outputs(model, dataset)
""",
        [
            "\n\n\n@tf.function\ndef forward(net, x):\n    return net(x, training=False)\n\n\ndef outputs(net, batches):\n",
            "    return [forward(net, x) for x, _ in batches]",
        ],
    ),
    "steps of a factory": (
        "TFG203",
        MODEL
        + """
optimizer = tf.keras.optimizers.SGD(0.1)


def make_step(net):
    @tf.function
    def step(x, y):
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean(tf.square(net(x) - y))
        optimizer.apply_gradients(zip(tape.gradient(loss, net.trainable_variables), net.trainable_variables))

    return step


for epoch in range(30):
    # trains
    step = make_step(model)
    for x, y in dataset:
        step(x, y)
result = model.get_weights()
""",
        ["\n# trains\nstep = make_step(model)\nfor epoch in range(30):\n    for x, y in dataset:"],
    ),
    "what an iterator gives": (
        "TFG202",
        """
def flowers(size):
    rows = tf.data.Dataset.from_tensor_slices({"petals": data}).shuffle(24, seed=1)
    return rows.batch(size), data.shape[1:]


net = tf.keras.Sequential([tf.keras.layers.Dense(4)])
sgd = tf.keras.optimizers.SGD(0.01)
garden, _ = flowers(5)
garden = garden.repeat()
taken = iter(garden)
result = []
for number in range(60):
    petals = next(taken)["petals"]
    # one update
    with tf.GradientTape() as tape:
        distance = tf.reduce_sum(tf.square(net(2 * petals) - petals))
    slopes = tape.gradient(distance, net.trainable_variables)
    sgd.apply_gradients(zip(slopes, net.trainable_variables))
    if number % 20 == 0:
        result.append(float(distance))
""",
        ["@tf.function\ndef train_step(petals):\n", "    distance = train_step(petals)\n"],
    ),
    "arrays of a memory that only Keras calculates with": (
        "TFG202",
        MEMORY.replace("LOSS", "tf.keras.losses.MeanSquaredError()(values, tf.reduce_sum(chosen * net(seen), 1))"),
        ["@tf.function\ndef train_step(moves, seen, values):\n", "    spread = train_step(moves, seen, values)\n"],
    ),
    "doubles in a loss of its own": (
        "TFG602",
        DOUBLES.replace("LOSS", "tf.reduce_mean(-0.5 * (wins - mean) ** 2 / wide - tf.math.log(wide * 2 * np.pi))"),
        ["the same in every run\n\n\nclass Player:"],
    ),
    "doubles for the gym's arrays": (
        "TFG602",
        """
tf.keras.backend.set_floatx("float64")
net = tf.keras.Sequential([tf.keras.layers.Input((4,)), tf.keras.layers.Dense(3, kernel_initializer="ones")])
optimizer = tf.keras.optimizers.SGD(0.1)
square = tf.keras.losses.MeanSquaredError()


def train(states, targets, advantages, actions):
    targets = tf.stop_gradient(targets)  # numbers
    actions = tf.cast(actions, tf.int32)
    with tf.GradientTape() as tape:
        outputs = net(states, training=True)
        assert targets.shape == outputs.shape
        loss = square(targets, outputs, sample_weight=tf.stop_gradient(advantages))
    optimizer.apply_gradients(zip(tape.gradient(loss, net.trainable_variables), net.trainable_variables))
    return advantages * net(states)[:, 0] + 0.5


states = np.linspace(0.0, 1.0, 32).reshape(8, 4)
result = [train(states, np.ones((8, 3)), np.linspace(0.5, 1.0, 8), np.arange(8)), *net.get_weights()]
""",
        ["the same in every run\n\nnet = tf.keras.Sequential"],
    ),
}


@pytest.mark.slow
@pytest.mark.parametrize(("rule", "program", "parts"), SAME.values(), ids=SAME.keys())
def test_the_results_are_the_same(rule: str, program: str, parts: list[str], tmp_path: Path) -> None:
    """Protects what programs compute, their comments, and users from a second round."""
    assert_same_results(rule, program, parts, tmp_path)


# The exception before, and a part of the fixed program, which leaves in `result` whether it is right.
CRASHES = {
    "a model outside of the scope": (
        "TFG505",
        """
strategy = tf.distribute.OneDeviceStrategy("/CPU:0")
# the model
net = tf.keras.Sequential([tf.keras.layers.Input((4,)), tf.keras.layers.Dense(1)])
with strategy.scope():
    net.compile(optimizer="adam", loss="mse")  # in
net.fit(data, data[:, :1], verbose=0)
result = [int(net.optimizer.iterations) == 1]
""",
        "with strategy.scope():\n    # the model\n    net = tf.keras",
    ),
    "a compilation after the scope, in a function": (
        "TFG505",
        """

def train():
    strategy = tf.distribute.OneDeviceStrategy("/CPU:0")
    with strategy.scope():
        net = tf.keras.Sequential([tf.keras.layers.Input((4,)), tf.keras.layers.Dense(1)])
        # made
    # ready
    net.compile(optimizer="adam", loss="mse")
    net.fit(data, data[:, :1], verbose=0)
    return int(net.optimizer.iterations)


result = [train() == 1]
""",
        "        # ready\n        net.compile(",
    ),
    "a loss that is defined behind the scope": (
        "TFG505",
        """
strategy = tf.distribute.OneDeviceStrategy("/CPU:0")
with strategy.scope():
    net = tf.keras.Sequential([tf.keras.layers.Input((4,)), tf.keras.layers.Dense(1)])

factor = 2.0


def scaled(truth, guess):
    return factor * tf.reduce_mean(tf.abs(truth - guess))


net.compile(optimizer="adam", loss=scaled)
net.fit(data, data[:, :1], verbose=0)
result = [int(net.optimizer.iterations) == 1, net.loss is scaled]
""",
        '    net.compile(optimizer="adam", loss=scaled)\n',
    ),
    "a loss that is imported behind the scope, in a function": (
        "TFG505",
        """

def train():
    strategy = tf.distribute.OneDeviceStrategy("/CPU:0")
    with strategy.scope():
        net = tf.keras.Sequential([tf.keras.layers.Input((4,)), tf.keras.layers.Dense(1)])
    from tensorflow.keras.losses import MeanSquaredError as Squared

    net.compile(optimizer="adam", loss=Squared())
    net.fit(data, data[:, :1], verbose=0)
    return int(net.optimizer.iterations)


result = [train() == 1]
""",
        '        net.compile(optimizer="adam", loss=Squared())\n',
    ),
    "layers in every call": (
        "TFG106",
        """

class Head(tf.keras.layers.Layer):
    def __init__(self, units):
        super().__init__()  # Keras's
        self.units = units

    def call(self, inputs):
        hidden = tf.keras.layers.Dense(8, activation="relu")(inputs)  # hidden
        return tf.keras.layers.Dense(1)(hidden)


net = tf.keras.Sequential([tf.keras.layers.Input((4,)), Head(1)])
net.compile("sgd", "mse")
net.fit(data, data[:, :1], verbose=0)
result = [len(net.trainable_weights) == 4, net.predict(data, verbose=0).shape == (24, 1)]
""",
        '        self.dense = tf.keras.layers.Dense(8, activation="relu")\n        self.dense_2 = tf.keras.layers.Dense(1)\n',
    ),
}


@pytest.mark.slow
@pytest.mark.parametrize(("rule", "program", "part"), CRASHES.values(), ids=CRASHES.keys())
def test_what_raised_runs(rule: str, program: str, part: str, tmp_path: Path) -> None:
    """Protects the promise of fixes for crashes: the program raises before and is right after."""
    pytest.importorskip("tensorflow")
    before = HEAD + program
    after = stable(before, tmp_path, rule)
    assert part in after, after
    assert before.count("#") == after.count("#")
    with pytest.raises((ValueError, RuntimeError, AssertionError, AttributeError)):
        assert all(results(before))
    assert all(results(after))


LATE = """\
import tensorflow as tf

# a scale
scale = tf.constant(2.0)
cpus = tf.config.list_physical_devices("CPU")

# two of them
if cpus:
    halves = [tf.config.LogicalDeviceConfiguration()] * 2
    tf.config.set_logical_device_configuration(cpus[0], halves)  # logical
print(len(tf.config.list_logical_devices("CPU")), float(scale))
"""


THREADS = """\
import tensorflow as tf

scale = tf.constant(2.0)
count = 3
# threads
tf.config.threading.set_inter_op_parallelism_threads(count)  # of them
print(tf.config.threading.get_inter_op_parallelism_threads(), float(scale))
"""


@pytest.mark.slow
@pytest.mark.parametrize(
    ("program", "moved", "first", "error", "printed"),
    [
        (LATE, "set_logical_device_configuration(", "# a scale\nscale = ", "Virtual devices cannot be", "2 2.0\n"),
        (THREADS, "# threads\ntf.config.threading.set_inter_op", "scale = ", "Inter op parallelism cannot", "3 2.0\n"),
    ],
    ids=["devices", "threads"],
)
def test_what_starts_the_runtime_comes_later(
    program: str, moved: str, first: str, error: str, printed: str, tmp_path: Path
) -> None:
    """Protects TFG402's fix, in processes of their own, for a runtime starts once: it raises, then all is set."""
    pytest.importorskip("tensorflow")
    after = stable(program, tmp_path, "TFG402")
    assert after.count("#") == program.count("#")
    assert after.index(moved) < after.index(first)
    before, then = (
        subprocess.run([sys.executable, "-c", text], capture_output=True, text=True, check=False)
        for text in (program, after)
    )
    assert error in before.stderr
    assert then.stdout == printed


METHOD = """

class Run:
    def __init__(self, net):
        self.net, self.rate, self.done = net, 1.0, 0

    def outputs(self, batches, scale=1.0):
        @tf.function
        def scaled(x):
            return self.net(x) * RATE

        return [scaled(x) for x, _ in batches]

    def run(self):
        for epoch in range(30):
            self.outputs(dataset)


run = Run(model)
run.run()
"""
TWICE = (
    METHOD.replace("RATE", "2")
    .replace(
        "    def run(self):",
        "    def sums(self, batches):\n        @tf.function\n        def scaled(x):\n            return tf.reduce_sum(self.net(x))\n\n"
        "        return [scaled(x) for x, _ in batches]\n\n    def run(self):",
    )
    .replace("dataset)\n", "dataset)\n            self.sums(dataset)\n")
)


def test_functions_of_one_name_become_methods_of_two(tmp_path: Path) -> None:
    """Protects classes whose methods each define a `step`: the second would replace the first."""
    after = stable(HEAD + MODEL + TWICE + "result = [*run.outputs(dataset), *run.sums(dataset)]\n", tmp_path, "TFG203")
    assert "    def scaled(self, x):\n        return self.net(x) * 2\n" in after
    assert "    def traced_scaled(self, x):\n        return tf.reduce_sum(self.net(x))\n" in after


UNFIXED = {
    "an attribute that another method sets": (
        "TFG203",
        MODEL
        + METHOD.replace("RATE", "self.rate").replace("dataset)", "dataset)\n            self.slow()")
        + "\n\ndef slow(self):\n    self.rate /= 2\n\n\nRun.slow = slow\n",
    ),
    "what only the method knows": ("TFG203", MODEL + METHOD.replace("RATE", "scale")),
    "layers that thaw between the loops": (
        "TFG203",
        MODEL
        + METHOD.replace("RATE", "len(self.net.trainable_weights)")
        + "\nmodel.layers[0].trainable = False\nrun.run()\n",
    ),
    "a function that is given several models": (
        "TFG203",
        MODEL
        + """

def outputs(nets, batches):
    @tf.function
    def forward(nets, x):
        return tf.add_n([net(x) for net in nets])

    return [forward(nets, x) for x, _ in batches]


for _ in range(30):
    outputs([model], dataset)
""",
    ),
    "several models for one function": (
        "TFG203",
        MODEL
        + """

def outputs(net, batches):
    @tf.function
    def forward(x):
        return net(x, training=False)

    return [forward(x) for x, _ in batches]


def build():
    return tf.keras.Sequential([tf.keras.layers.Dense(3)])


first, second = build(), build()
for _ in range(30):
    outputs(first, dataset)
    outputs(second, dataset)
""",
    ),
    "a function of what the loop changes": (
        "TFG203",
        MODEL
        + """
for epoch in range(30):
    scale = 1.0 / (epoch + 1)

    @tf.function
    def scaled(x):
        return model(x) * scale

    for x, _ in dataset:
        scaled(x)
""",
    ),
    "an attribute that the loop sets": (
        "TFG203",
        MODEL
        + """

class Run:
    def __init__(self):
        self.rate = 1.0

    def outputs(self):
        for epoch in range(30):
            self.rate = self.rate / 2

            @tf.function
            def scaled(x):
                return model(x) * self.rate

            for x, _ in dataset:
                scaled(x)


Run().outputs()
""",
    ),
    "a variable that another function reads": (
        "TFG203",
        MODEL
        + """

def scaled(x):
    return model(x) * scale


for epoch in range(30):
    scale = 1.0 / (epoch + 1)
    run = tf.function(scaled)
    for x, _ in dataset:
        run(x)
""",
    ),
    "a list of devices that is used before": (
        "TFG402",
        """
cpus = tf.config.list_physical_devices("GPU")
cpus = sorted(cpus, key=str)
first = tf.constant(float(len(cpus)))
cpus.reverse()
for cpu in cpus:
    tf.config.experimental.set_memory_growth(cpu, bool(first))
""",
    ),
    "a model that is used on the way": (
        "TFG505",
        """
strategy = tf.distribute.OneDeviceStrategy("/CPU:0")
net = tf.keras.Sequential([tf.keras.layers.Input((4,)), tf.keras.layers.Dense(1)])
net.summary()
with strategy.scope():
    net.compile(optimizer="adam", loss="mse")
net.fit(data, data[:, :1], verbose=0)
""",
    ),
    "the arrays of an iterator": (
        "TFG202",
        """
net = tf.keras.Sequential([tf.keras.layers.Dense(4)])
sgd = tf.keras.optimizers.SGD(0.01)
taken = tf.data.Dataset.from_tensor_slices(data.astype("float64")).batch(5).repeat().as_numpy_iterator()
for _ in range(60):
    petals = next(taken)
    with tf.GradientTape() as tape:
        distance = tf.reduce_sum(tf.square(net(petals) - petals))
    slopes = tape.gradient(distance, net.trainable_variables)
    sgd.apply_gradients(zip(slopes, net.trainable_variables))
""",
    ),
    "arrays of a memory that meet tensors": (
        "TFG202",
        MEMORY.replace("LOSS", "(values - tf.reduce_sum(chosen * net(seen), 1)) ** 2"),
    ),
    "arrays that another library hands on": (
        "TFG202",
        "from elsewhere import scaled\n"
        + MEMORY.replace("LOSS", "(values - tf.reduce_sum(chosen * net(seen), 1)) ** 2").replace(
            "    # one update", "    values = scaled(np.stack(values))\n    # one update"
        ),
    ),
    "what another library makes of arrays": (
        "TFG202",
        "from elsewhere import best\n"
        + MEMORY.replace("LOSS", "tf.keras.losses.MeanSquaredError()(top, tf.reduce_max(chosen * net(seen)))").replace(
            "    # one update", "    top = best(np.stack(values))\n    # one update"
        ),
    ),
    "doubles in an operation with doubles": (
        "TFG602",
        DOUBLES.replace("LOSS", "tf.reduce_mean(tf.minimum(mean * wide, tf.stop_gradient(wins)))"),
    ),
    "doubles that may meet another tensor": (
        "TFG602",
        DOUBLES.replace("LOSS", "tf.reduce_mean(mean * wide - others)").replace("wins):", "wins, others=None):"),
    ),
    "doubles that meet a product of doubles": (
        "TFG602",
        """
tf.keras.backend.set_floatx("float64")
net = tf.keras.Sequential([tf.keras.layers.Input((4,)), tf.keras.layers.Dense(3)])


def train(states, targets):
    targets = tf.stop_gradient(targets)
    with tf.GradientTape() as tape:
        loss = (net(states) - targets) ** 2
    return tape.gradient(loss, net.trainable_variables)


train(np.ones((8, 4)), np.ones((8, 3)))
""",
    ),
    "a layer for each of several": (
        "TFG106",
        """

class Tower(tf.keras.layers.Layer):
    def __init__(self):
        super().__init__()

    def call(self, x):
        for _ in range(3):
            x = tf.keras.layers.Dense(4)(x)
        return x


net = tf.keras.Sequential([Tower()])
net.compile("sgd", "mse")
net.fit(data, data, verbose=0)
""",
    ),
}


@pytest.mark.parametrize(("rule", "program"), UNFIXED.values(), ids=UNFIXED.keys())
def test_what_has_no_fix(rule: str, program: str, tmp_path: Path) -> None:
    """Protects programs in which the moved statement would see another value, or would not be enough."""
    found = [finding for own, finding in findings(HEAD + program, tmp_path) if own.code == rule]
    assert [finding.fix for finding in found] == [None]
