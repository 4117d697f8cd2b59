"""TFG203: a `tf.function` that is made again in every iteration of a loop, and those that have a reason to be."""

from __future__ import annotations

from pathlib import Path

import pytest
from checks import findings, fixed, found, notebook

HEAD = """\
import tensorflow as tf
model = tf.keras.Sequential([tf.keras.layers.Dense(1)])
optimizer = tf.keras.optimizers.Adam()
data = tf.data.Dataset.range(99).batch(4)
"""
STEP = """\
def step(x):
    with tf.GradientTape() as tape:
        loss = tf.reduce_mean(model(x))
    variables = model.trainable_variables
    optimizer.apply_gradients(zip(tape.gradient(loss, variables), variables))
"""

SHARED = """\
class Seeker:
    def __init__(self, net):
        self.net = net
        self.hidden = tf.Variable(tf.zeros((1, 8)))
    def search(self, wanted, turns):
        @tf.function
        def turn():
            with tf.GradientTape() as tape:
                gap = tf.reduce_mean(self.net(self.hidden) - wanted)
            optimizer.apply_gradients([(tape.gradient(gap, self.hidden), self.hidden)])
            return gap
        for _ in tf.range(turns):
            gap = turn()
        return gap
    @tf.function
    def learn(self, rows):
        for row in rows:
            tf.print(self.search(row, 9))
"""
MADE_AGAIN = {  # the row of what makes it, below HEAD
    "decorated in a loop": (
        "for epoch in range(epochs):\n    @tf.function\n    def forward(x):\n        return model(x)\n"
        "    for x in data:\n        forward(x)\n",
        2,
    ),
    "wrapped in a loop": (STEP + "for x in data:\n    run = tf.function(step)\n    run(x)\n", 7),
    "called at once": (STEP + "for x in data:\n    tf.function(step)(x)\n", 7),
    "in a generator's loop": (
        STEP + "def losses(batches):\n    for x in batches:\n        run = tf.function(step)\n        yield run(x)\n"
        "for loss in losses(data):\n    print(loss)\n",
        8,
    ),
    "in the test of a while": (STEP + "n = 0\nwhile tf.function(step)(tf.ones(3)) is None:\n    n += 1\n", 7),
    "in a while": (STEP + "while True:\n    run = tf.function(step)\n    run(tf.ones(3))\n", 7),
    "a function that a loop calls": (
        "def train(x):\n    @tf.function\n    def forward(x):\n        return model(x)\n    return forward(x)\n"
        "for x in data:\n    train(x)\n",
        2,
    ),
    "the model as parameter": (
        "def train_epoch(net, data):\n    @tf.function\n    def forward(x):\n        return net(x)\n"
        "    for x in data:\n        forward(x)\nfor epoch in range(100):\n    train_epoch(model, data)\n",
        2,
    ),
    "a method that a loop calls": (
        "class Trainer:\n    def __init__(self, net):\n        self.net = net\n    def epoch(self):\n        @tf.function\n"
        "        def forward(x):\n            return self.net(x)\n        for x in data:\n            forward(x)\n"
        "    def fit(self):\n        for epoch in range(50):\n            self.epoch()\nTrainer(model).fit()\n",
        5,
    ),
    "a method that traced code calls, too": (
        SHARED
        + "    def judge(self):\n        for row in data:\n            print(self.search(row, 500))\nSeeker(model).judge()\n",
        6,
    ),
    "under a setting": (
        "def train(x):\n    if config.training.method == 'mirror':\n        @tf.function\n        def forward(x):\n"
        "            return model(x)\n        forward(x)\nfor x in data:\n    train(x)\n",
        3,
    ),
    "a summary writer of the iteration": (
        "for epoch in range(epochs):\n    writer = tf.summary.create_file_writer(path)\n    @tf.function\n"
        "    def forward(x):\n        with writer.as_default():\n            return model(x)\n    forward(tf.ones(3))\n",
        3,
    ),
}
FACTORY = "def make_step():\n    @tf.function\n    def step(x):\n        return model(x)\n    return step\n"
DROPPED = {
    "called at once": FACTORY + "for x in data:\n    make_step()(x)\n",
    "a name of the iteration": FACTORY
    + "for epoch in range(50):\n    step = make_step()\n    for x in data:\n        step(x)\n",
    "wrapped after return": "def forward(x):\n    return model(x)\ndef make_step():\n    return tf.function(forward)\n"
    "while True:\n    make_step()(tf.ones(3))\n",
    "in a function that a loop calls": FACTORY
    + "def epoch():\n    step = make_step()\n    for x in data:\n        step(x)\nfor _ in range(50):\n    epoch()\n",
    "in an epoch that gets a dataset of its own": FACTORY
    + "def one(rows):\n    step = make_step()\n    for x in rows:\n        step(x)\nfor epoch in range(50):\n"
    "    rows = tf.data.Dataset.range(9).batch(3)\n    one(rows)\n",
    "through another factory": FACTORY + "def make():\n    return make_step()\nfor x in data:\n    make()(x)\n",
    "the model as an argument": FACTORY.replace("make_step()", "make_step(model)")
    + "for x in data:\n    make_step(model)(x)\n",
    "a method": "class T:\n    def __init__(self, net):\n        self.net = net\n    def make(self):\n        @tf.function\n"
    "        def step(x):\n            return self.net(x)\n        return step\n    def fit(self):\n"
    "        for self.epoch in range(50):\n            step = self.make()\n            for x in data:\n"
    "                step(x)\nT(model).fit()\n",
}
SPREAD = (
    "def make_step(strategy):\n    @tf.function\n    def alone(x):\n        return model(x)\n"
    "    if strategy is None:\n        return alone\n    @tf.function\n    def spread(x):\n"
    "        return strategy.run(alone, args=(x,))\n    return spread\n"
)
EPOCHS = "for epoch in range(50):\n    step = make_step(None)\n    for x in data:\n        step(x)\n"
BOTH = {
    "one that runs the other on every replica": SPREAD + EPOCHS,
    "one that calls the other": SPREAD.replace("strategy.run(alone, args=(x,))", "alone(x) + 1") + EPOCHS,
    "both called in the loop that makes them": (
        "for x in data:\n    @tf.function\n    def norm(x):\n        return model(x)\n    @tf.function\n"
        "    def half(x):\n        return norm(x) / 2\n    half(x)\n"
    ),
}
HELD = {
    "a layer that freezes in some epochs": FACTORY
    + "def one():\n    step = make_step()\n    step(x)\nfor epoch in range(50):\n    if epoch % 2:\n"
    "        model.layers[0].trainable = True\n    else:\n        model.layers[0].trainable = False\n    one()\n",
    "layers that a function thaws": "def thaw(net):\n    for layer in net.layers:\n        layer.trainable = True\n"
    "for epoch in range(50):\n    thaw(model)\n    @tf.function\n    def forward(x):\n        return model(x)\n"
    "    forward(x)\n",
    "called by what is kept": SPREAD + "for name in names:\n    steps[name] = make_step(None)\n",
    "called by what is registered": "for name in names:\n    @tf.function\n    def norm(x):\n        return model(x)\n"
    "    @register(name)\n    def half(x):\n        return norm(x) / 2\n",
    "handed away by another function": "for x in data:\n    @tf.function\n    def norm(x):\n        return model(x)\n"
    "    def half(x):\n        keep(norm)\n    half(x)\n",
    "before the loop": FACTORY + "step = make_step()\nfor x in data:\n    step(x)\n",
    "used after the loop": FACTORY + "for x in data:\n    step = make_step()\n    step(x)\nstep(x)\n",
    "kept in a dictionary": FACTORY + "for name in names:\n    steps[name] = make_step()\n",
    "handed to a dataset": FACTORY + "for name in names:\n    load(name).map(make_step())\n",
    "made once, after a test": FACTORY
    + "step = None\nfor x in data:\n    if step is None:\n        step = make_step()\n    step(x)\n",
    "every now and then": FACTORY
    + "for i, x in enumerate(data):\n    if i % 100 == 0:\n        step = make_step()\n        step(x)\n",
    "a model a fold": FACTORY.replace("make_step()", "make_step(model)")
    + "for fold in range(99):\n    net = tf.keras.Sequential()\n    step = make_step(net)\n    step(x)\n",
    "a global model a fold": FACTORY
    + "for fold in range(99):\n    model = tf.keras.Sequential()\n    step = make_step()\n    step(x)\n",
    "a global model that a function makes": FACTORY
    + "def renew():\n    global model\n    model = tf.keras.Sequential()\nfor fold in range(99):\n    renew()\n"
    "    step = make_step()\n    step(x)\n",
    "a fold in a function": FACTORY.replace("make_step()", "make_step(model)")
    + "def run():\n    net = tf.keras.Sequential()\n    step = make_step(net)\n    step(x)\nfor fold in range(99):\n    run()\n",
    "an object of the iteration": "class T:\n    def __init__(self, rate):\n        self.net = tf.keras.Sequential()\n"
    "    def make(self):\n        return tf.function(self.net.call)\nfor rate in rates:\n    t = T(rate)\n"
    "    step = t.make()\n    step(x)\n",
    "a network that grows": "class T:\n    def grow(self):\n        self.net = tf.keras.Sequential()\n    def make(self):\n"
    "        @tf.function\n        def step(x):\n            return self.net(x)\n        return step\n    def fit(self):\n"
    "        for depth in range(50):\n            self.grow()\n            step = self.make()\n            step(x)\nT().fit()\n",
    "a layer that is frozen": FACTORY
    + "for phase in range(50):\n    model.trainable = phase > 3\n    step = make_step()\n    step(x)\n",
    "a new session a iteration": FACTORY
    + "for fold in range(99):\n    tf.keras.backend.clear_session()\n    make_step()(x)\n",
    "a factory in traced code": FACTORY
    + "@tf.function\ndef train():\n    for x in data:\n        make_step()(x)\ntrain()\n",
    "a few iterations": FACTORY + "for _ in range(3):\n    make_step()(x)\n",
    "for each device": FACTORY + "for device in devices:\n    make_step()(x)\n",
    "a trainer a run that makes and drops it": "class T:\n    def __init__(self, rate):\n        self.net = tf.keras.Sequential()\n"
    "    def fit(self):\n        @tf.function\n        def step(x):\n            return self.net(x)\n        step(x)\n"
    "for rate in rates:\n    t = T(rate)\n    t.fit()\n",
}
KEPT = {
    "a method that only traced code calls": SHARED
    + "seeker = Seeker(model)\nfor row in data:\n    seeker.learn(row)\n",
    "a method that a traced function of a loop calls": SHARED
    + "seeker = Seeker(model)\n@tf.function\ndef found(row):\n    return seeker.search(row, 9)\n"
    "for row in data:\n    found(row)\n",
    "a method that a loop has a dataset call": SHARED
    + "seeker = Seeker(model)\nfor _ in range(99):\n    rows = data.map(lambda row: seeker.search(row, 9))\n",
    "made after the last iteration": STEP
    + "for x in data:\n    step(x)\nelse:\n    run = tf.function(step)\n    run(x)\n",
    "a function that the last iteration is followed by": "def check(x):\n    @tf.function\n    def forward(x):\n"
    "        return model(x)\n    return forward(x)\nfor x in data:\n    print(x)\nelse:\n    check(x)\n",
    **HELD,
    "made when a generator starts": STEP + "def losses(batches):\n    run = tf.function(step)\n    for x in batches:\n"
    "        yield run(x)\ndef train():\n    for number, loss in enumerate(losses(data)):\n        print(number, loss)\n"
    "train()\n",
    "made once": STEP + "run = tf.function(step)\nfor x in data:\n    run(x)\n",
    "decorated outside": "@tf.function\ndef forward(x):\n    return model(x)\nfor x in data:\n    forward(x)\n",
    "a model a fold": "for fold in range(99):\n    net = tf.keras.Sequential()\n    @tf.function\n    def forward(x):\n"
    "        return net(x)\n    for x in data:\n        forward(x)\n",
    "an optimizer a fold": "for rate in rates:\n    opt = tf.keras.optimizers.Adam(rate)\n    @tf.function\n"
    "    def forward(x):\n        opt.apply_gradients(zip(x, x))\n    forward(tf.ones(3))\n",
    "the model is the loop's": "for net in models:\n    @tf.function\n    def forward(x):\n        return net(x)\n"
    "    forward(tf.ones(3))\n",
    "a model of the iteration wrapped": "for fold in range(99):\n    net = build()\n    run = tf.function(net.call)\n    run(x)\n",
    "a factory": "def make(net):\n    @tf.function\n    def forward(x):\n        return net(x)\n    return forward\n"
    "for name in names:\n    runs[name] = make(model)\n",
    "kept in a list": "runs = []\nfor name in names:\n    run = tf.function(step)\n    runs.append(run)\n",
    "kept in an attribute": "class T:\n    def build(self):\n        for name in names:\n            self.run = tf.function(step)\n",
    "handed to other code": "for name in names:\n    run = tf.function(step)\n    register(run)\n",
    "traced around": "@tf.function\ndef outer(x):\n    for _ in range(99):\n        @tf.function\n        def inner(x):\n"
    "            return x\n        x = inner(x)\n    return x\n",
    "for each device": "for device in tf.config.list_logical_devices():\n    @tf.function\n    def forward(x):\n"
    "        return model(x)\n    with tf.device(device.name):\n        forward(tf.ones(3))\n",
    "a few iterations": STEP + "for _ in range(3):\n    run = tf.function(step)\n    run(tf.ones(3))\n",
    "a function called once": "def train(data):\n    @tf.function\n    def forward(x):\n        return model(x)\n"
    "    for x in data:\n        forward(x)\ntrain(data)\n",
    "a trainer of its own model a run": "def train(rate):\n    net = tf.keras.Sequential()\n    @tf.function\n    def forward(x):\n"
    "        return net(x)\n    for x in data:\n        forward(x)\nfor rate in rates:\n    train(rate)\n",
    "under a condition that counts": "for step in range(999):\n    if step % 100 == 0:\n        run = tf.function(f)\n    run(x)\n",
    "made once, after a test": "run = None\nfor x in data:\n    if run is None:\n        run = tf.function(f)\n    run(x)\n",
}


def _table(cases: dict[str, object]) -> pytest.MarkDecorator:
    return pytest.mark.parametrize("case", cases.values(), ids=cases)


def rows(code: str, folder: Path, name: str = "train.py") -> list[int]:
    """The rows below HEAD that TFG203 names."""
    return [row - HEAD.count("\n") for found_code, row in found(HEAD + code, folder, name) if found_code == "TFG203"]


@_table(MADE_AGAIN)  # type: ignore[arg-type]
def test_functions_made_in_every_turn_are_found(case: tuple[str, int], tmp_path: Path) -> None:
    code, row = case
    assert rows(code, tmp_path) == [row]


@_table(DROPPED)  # type: ignore[arg-type]
def test_what_a_factory_makes_for_one_turn_is_found(case: str, tmp_path: Path) -> None:
    """Protects factories, whose callers know how long the result lives."""
    assert len(rows(case, tmp_path)) == 1


@pytest.mark.parametrize(
    "thaw", ["for layer in model.layers:\n            layer.trainable = True\n", "model.trainable = True\n"]
)
def test_layers_that_thaw_once_need_one_more_object(thaw: str, tmp_path: Path) -> None:
    """Protects loops of epochs that unfreeze: an object for each epoch is traced in each, and two would do."""
    code = (
        FACTORY + "def one():\n    step = make_step()\n    for x in data:\n        step(x)\nfor epoch in range(50):\n"
    )
    code += f"    if epoch >= 9 and not thawed:\n        {thaw}        thawed = True\n    one()\n"
    ((_, finding),) = [one for one in findings(HEAD + code, tmp_path) if one[0].code == "TFG203"]
    assert "only after `trainable` is set" in (finding.help or "")


@_table(BOTH)  # type: ignore[arg-type]
def test_a_function_that_another_one_calls_lives_as_long(case: str, tmp_path: Path) -> None:
    assert len(rows(case, tmp_path)) == 2


@_table(KEPT)  # type: ignore[arg-type]
def test_others_are_not_found(case: str, tmp_path: Path) -> None:
    assert rows(case, tmp_path) == []


def test_tests_are_left_alone(tmp_path: Path) -> None:
    assert rows(MADE_AGAIN["wrapped in a loop"][0], tmp_path, "tests/train.py") == []


def test_a_function_of_another_file(tmp_path: Path) -> None:
    (tmp_path / "epochs.py").write_text(
        "import tensorflow as tf\n\ndef train(net, data):\n    @tf.function\n    def forward(x):\n        return net(x)\n"
        "    for x in data:\n        forward(x)\n"
    )
    assert found(HEAD + "from epochs import train\nfor _ in range(99):\n    train(model, data)\n", tmp_path) - {
        ("TFG401", 1)
    } == {("TFG203 epochs.py", 4)}


def test_a_notebook(tmp_path: Path) -> None:
    text = notebook(HEAD + STEP, "for x in data:\n    run = tf.function(step)\n    run(x)")
    assert ("TFG203", 2) in found(text, tmp_path, name="a.ipynb")


def test_the_truth_a_function_made_again_is_traced_again() -> None:
    """With the installed TensorFlow."""
    import tensorflow as tf

    traces = []

    def step(x: tf.Tensor) -> tf.Tensor:
        traces.append(1)
        return x + 1

    for _ in range(5):
        tf.function(step)(tf.ones(3))
    assert len(traces) == 5
    run = tf.function(step)
    for _ in range(5):
        run(tf.ones(3))
    assert len(traces) == 6


def test_the_truth_a_trace_keeps_the_variables_that_it_saw() -> None:
    """Protects loops that thaw layers: one `tf.function` for all iterations would leave them frozen."""
    tf = pytest.importorskip("tensorflow")
    net = tf.keras.Sequential([tf.keras.layers.Dense(1)])
    net(tf.ones((1, 2)))

    def make_step() -> object:
        return tf.function(lambda net: tf.constant(len(net.trainable_variables)))

    net.trainable = False
    old = make_step()
    assert int(old(net)) == 0  # type: ignore[operator]
    net.trainable = True
    assert int(old(net)) == 0  # type: ignore[operator]
    assert int(make_step()(net)) == 2  # type: ignore[operator]


def test_what_the_loop_itself_defines_stays_before_what_wraps_it(tmp_path: Path) -> None:
    """Protects from a NameError: a function that each iteration defines is not there before the loop."""
    code = (
        HEAD + "sums = []\nfor part in range(14):\n    def doubled(row):\n        return row * 2.0\n"
        "    run = tf.function(doubled)\n    sums.append(float(run(tf.constant(1.0))))\n"
    )
    assert [rule.code for rule, _ in findings(code, tmp_path) if rule.code == "TFG203"]
    exec(compile(fixed(code, tmp_path, "TFG203"), "fixed.py", "exec"), scope := {"__name__": "__main__"})
    assert scope["sums"] == [2.0] * 14
