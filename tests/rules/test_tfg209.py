"""TFG209: a result that a training loop reads on the host in every step is found; what is read seldom, or needed, is not."""

from __future__ import annotations

from pathlib import Path

import pytest
from checks import findings, found, notebook

from tflint_gpu.targets import Target

HEAD = """
import tensorflow as tf

model = tf.keras.Sequential([tf.keras.layers.Dense(1)])
optimizer = tf.keras.optimizers.SGD()
accuracy = tf.keras.metrics.Mean()
dataset = tf.data.Dataset.from_tensor_slices((features, labels)).batch(32)

@tf.function
def step(x, y):
    with tf.GradientTape() as tape:
        loss = tf.reduce_mean(model(x) - y)
    optimizer.apply_gradients(zip(tape.gradient(loss, model.trainable_variables), model.trainable_variables))
    return loss

"""
LOOP = "for x, y in dataset:\n    loss = step(x, y)\n"
EPOCHS = "for epoch in range(100):\n    for x, y in dataset:\n        loss = step(x, y)\n"

EAGER = """
def eager(x, y):
    with tf.GradientTape() as tape:
        loss = tf.reduce_mean(model(x) - y)
    grads = tape.gradient(loss, model.trainable_variables)
    optimizer.apply_gradients(zip(grads, model.trainable_variables))
    {}

"""
NOTES = """
class Notes:
    def __init__(self):
        self.kept = []
        self.last = None
    def add(self, what, value):
        {add}
    def note(self, both):
        self.add("loss", value=both[0])
    def is_low(self):
        return self.last is not None and self.last < 0.1
notes = Notes()
for i, (x, y) in enumerate(dataset):
    loss = step(x, y)
    {then}
"""
FOUND = {
    "by a function that gets it": (
        "def show(epoch, value):\n    print(epoch, f'{value:.2f}')\n" + LOOP + "    show(1, loss)",
        "value",
    ),
    "by a method of a method": (
        NOTES.format(add="self.kept.append((what, float(value)))", then="notes.note(loss)").replace("step(x", "pair(x"),
        "float(value)",
    ),
    "by a method that keeps it": (
        NOTES.format(add="self.last = value.numpy()", then="notes.add('loss', loss)"),
        "value.numpy()",
    ),
    "by a comprehension over named results": (
        "for x, y in dataset:\n    seen = {'loss': step(x, y)}\n    print(*(f'{title}: {one:.3f}' for title, one in seen.items()))",
        "one",
    ),
    "by the step itself": (
        EAGER.format("return loss.numpy()") + "for x, y in dataset:\n    print(eager(x, y))",
        "loss.numpy()",
    ),
    "by the step itself, for a variable": (
        EAGER.format("rate = tf.exp(-loss)\n    optimizer.learning_rate.assign(rate.numpy())")
        + "for x, y in dataset:\n    eager(x, y)",
        "rate.numpy()",
    ),
    "by the step, three calls away": (
        EAGER.format("print(f'{loss:.4f}')")
        + "def update(x, y):\n    eager(x, y)\ndef learn(batch):\n    update(*batch)\nclass Player:\n"
        "    def improve(self, batch):\n        return learn(batch)\n"
        "player = Player()\nfor x, y in dataset:\n    player.improve((x, y))",
        "loss",
    ),
    "next to the step, two calls away": (
        "def learn(x, y):\n    loss = step(x, y)\n    history.append(float(loss))\ndef advance(x, y):\n    learn(x, y)\n"
        "for x, y in dataset:\n    advance(x, y)",
        "float(loss)",
    ),
    "by the step of two loops": (
        EAGER.format("return loss.numpy()")
        + "for x, y in dataset:\n    eager(x, y)\nfor x, y in dataset:\n    eager(x, y)",
        None,
    ),
    "numpy": (LOOP + "    losses.append(loss.numpy())", "loss.numpy()"),
    "of the call": ("for x, y in dataset:\n    total = step(x, y).numpy()", "step(x, y).numpy()"),
    "float": (LOOP + "    total += float(loss)", "float(loss)"),
    "print": (LOOP + "    print('loss', loss)", "loss"),
    "f-string": (LOOP + "    bar.set_description(f'loss {loss:.3f}')", "loss"),
    "format": (LOOP + "    print('{:.3f}'.format(loss))", "loss"),
    "percent": (LOOP + "    print('%d %f' % (3, loss))", "loss"),
    "a metric": (
        LOOP + "    accuracy.update_state(loss)\n    print(accuracy.result().numpy())",
        "accuracy.result().numpy()",
    ),
    "a metric as a number": (LOOP + "    accuracy.update_state(loss)\n    print(float(accuracy.result()))", None),
    "made of the result": (LOOP + "    rmse = tf.sqrt(loss)\n    log(rmse.numpy())", "rmse.numpy()"),
    "one of several": ("for x, y in dataset:\n    loss, norm = pair(x, y)\n    log(norm.numpy())", "norm.numpy()"),
    "the counter": (LOOP + "    n = optimizer.iterations.numpy()\n    if n % 100 == 0:\n        save()", None),
    "the counter in a test": (LOOP + "    if optimizer.iterations.numpy() % 100 == 0:\n        save()", None),
    "beside a model that acts at times": (
        "for n in range(9999):\n    if n % 100 == 0:\n        act = int(tf.argmax(model(state)[0]))\n"
        "        state = world.move(act)\n    print(step(*memory.sample()).numpy())",
        "step(*memory.sample()).numpy()",
    ),
    "of a step that gets what a model made": (
        "while True:\n    made = model(noise)\n    with tf.GradientTape() as tape:\n        loss = tf.reduce_mean(model(made))\n"
        "    optimizer.apply_gradients(zip(tape.gradient(loss, model.weights), model.weights))\n"
        "    losses.append(float(loss))",
        "float(loss)",
    ),
    "beside a model that is only shown": (
        LOOP + "    print(loss.numpy())\n    print(model(x).numpy())",
        "loss.numpy()",
    ),
    "in epochs": (EPOCHS + "        print(loss.numpy())", "loss.numpy()"),
    "inline": (
        "for x, y in dataset:\n    with tf.GradientTape() as tape:\n        loss = tf.reduce_mean(model(x) - y)\n"
        "    grads = tape.gradient(loss, model.trainable_variables)\n"
        "    optimizer.apply_gradients(zip(grads, model.trainable_variables))\n    print(loss.numpy())",
        "loss.numpy()",
    ),
    "while": (
        "it = iter(dataset)\nn = 0\nwhile n < 999:\n    loss = step(*next(it))\n    print(loss.numpy())\n    n += 1",
        None,
    ),
    "a method": (
        "class T:\n    @tf.function\n    def step(self, x, y):\n        with tf.GradientTape() as tape:\n"
        "            loss = self.net(x)\n        self.opt.minimize(loss, self.net.weights, tape=tape)\n        return loss\n"
        "    def fit(self, data):\n        for x, y in data:\n            self.last = self.step(x, y).numpy()",
        "self.step(x, y).numpy()",
    ),
    "a parameter": (
        "def run(train):\n    for x, y in dataset:\n        print(train(x, y).numpy())\nrun(step)",
        "train(x, y).numpy()",
    ),
    "a strategy": (
        "s = tf.distribute.MirroredStrategy()\nfor x, y in dataset:\n    print(s.run(step, args=(x, y)).numpy())",
        None,
    ),
    "in the tape's block": (
        "for x, y in dataset:\n    with tf.GradientTape() as tape:\n        loss = tf.reduce_mean(model(x) - y)\n"
        "        print('loss %f' % (loss.numpy(),))\n"
        "    grads = tape.gradient(loss, model.trainable_variables)\n"
        "    optimizer.apply_gradients(zip(grads, model.trainable_variables))",
        None,
    ),
    "kept in the tape's block": (
        "for x, y in dataset:\n    with tf.GradientTape() as tape:\n        loss = tf.reduce_mean(model(x) - y)\n"
        "        history.append(loss.numpy())\n"
        "    grads = tape.gradient(loss, model.trainable_variables)\n"
        "    optimizer.apply_gradients(zip(grads, model.trainable_variables))",
        "loss.numpy()",
    ),
    "written by format": (LOOP + "    print('Loss: ' + format(loss, '.2f'))", "loss"),
    "written by str": (LOOP + "    log.write(str(loss))", "loss"),
    "beside a clock that ran before the loop": (
        "import time\nbegin = time.time()\n" + LOOP + "    print(loss.numpy(), time.time() - begin)",
        "loss.numpy()",
    ),
    "the progress bar that is iterated": (
        "from tqdm import tqdm\nbar = tqdm(dataset)\nfor x, y in bar:\n    loss = step(x, y)\n"
        "    bar.set_description('loss %f' % loss)",
        "loss",
    ),
    "leaves after enough": (
        LOOP + "    n += 1\n    if n > 999:\n        break\n    print(loss.numpy())",
        "loss.numpy()",
    ),
}
SILENT = {
    "by a function, now and then": "def show(i, value):\n    if i % 50 == 0:\n        print(value)\n"
    + "for i, (x, y) in enumerate(dataset):\n    show(i, step(x, y))",
    "by a function that is asked": "def is_low(value):\n    return value.numpy() < 0.1\n"
    + LOOP
    + "    if is_low(loss):\n        break",
    "a method keeps what another one compares": NOTES.format(
        add="self.last = value.numpy()", then="notes.add('loss', loss)\n    if notes.is_low():\n        break"
    ),
    "a method keeps what the loop compares": NOTES.format(
        add="self.last = value.numpy()", then="notes.add('loss', loss)\n    if notes.last < 0.1:\n        break"
    ),
    "a method gets it under a test": NOTES.format(
        add="self.last = value.numpy()", then="if i % 50 == 0:\n        notes.add('loss', loss)"
    ),
    "a method keeps it where it is": NOTES.format(add="self.kept.append(value)", then="notes.add('loss', loss)"),
    "a function reads something else": "def show(value, other):\n    print(float(other))\n"
    + LOOP
    + "    show(loss, 3)",
    "the names of results": "for x, y in dataset:\n    seen = {'loss': step(x, y)}\n    print(*(f'{title}!' for title, one in seen.items()))",
    "by the step itself, for a test": EAGER.format("return loss.numpy()")
    + "for x, y in dataset:\n    if eager(x, y) < 0.1:\n        break",
    "by the step itself, sometimes": EAGER.format("if verbose:\n        print(loss.numpy())")
    + "for x, y in dataset:\n    eager(x, y)",
    # the look-alikes of the rule
    "every n steps": "for i, (x, y) in enumerate(dataset):\n    loss = step(x, y)\n    if i % 100 == 0:\n        print(loss.numpy())",
    "a verbose flag": LOOP + "    if verbose:\n        print(loss.numpy())",
    "in a conditional expression": LOOP + "    text = loss.numpy() if verbose else ''",
    "skipped by continue": "for i, (x, y) in enumerate(dataset):\n    loss = step(x, y)\n    if i % 100:\n        continue\n"
    "    print(loss.numpy())",
    "no training step": "for x, y in dataset:\n    loss = tf.reduce_mean(model(x) - y)\n    print(loss.numpy())",
    "a test for NaN": LOOP + "    value = loss.numpy()\n    if value != value:\n        break",
    "early stopping": LOOP + "    value = float(loss)\n    if value < 0.01:\n        break\n    print(loss.numpy())",
    "a tensor in a test": LOOP + "    if limit is not None and loss > limit:\n        break\n    print(f'{loss:.2f}')",
    "the condition of a while": "loss = 1.0\nwhile loss > 0.01:\n    loss = float(step(x, y))",
    "needed on the way": EAGER.format("return loss.numpy()")
    + "def learn(x, y):\n    if eager(x, y) < 0.1:\n        save()\n"
    "for x, y in dataset:\n    learn(x, y)",
    "by a step that calls itself": "def learn(x, y):\n    step(x, y)\n    return learn(x, y)\n"
    "for x, y in dataset:\n    learn(x, y)",
    "an agent that acts by a model": "while True:\n    act = int(tf.argmax(model(state)[0]))\n    state = world.move(act)\n"
    "    print(step(*memory.sample()).numpy())\n",
    "an agent that acts by a function": "def chosen(state):\n    return model(state).numpy().argmax()\n"
    "while True:\n    state = world.move(chosen(state))\n    loss = step(*memory.sample())\n    print(loss.numpy())\n",
    "an agent that acts by predict": "for n in range(9999):\n    act = model.predict(state)\n    state = world.move(act)\n"
    "    loss = step(*memory.sample())\n    print(loss.numpy())\n",
    "an agent": "state = env.reset()\nwhile True:\n    action = step(state, 1).numpy()\n    state = env.step(action)\n",
    # more of what only looks like it
    "once an epoch": EPOCHS + "    print(loss.numpy())",
    "after the loop": LOOP + "print(loss.numpy())",
    "an epoch in a function": "def run_epoch():\n    for x, y in dataset:\n        loss = step(x, y)\n    return loss\n"
    "for epoch in range(100):\n    print(run_epoch().numpy())",
    "data, not results": LOOP + "    show(x.numpy())",
    "shapes": LOOP + "    n = int(loss.shape[0])\n    print(loss.shape, loss.dtype)",
    "a number of its own": LOOP + "    print(f'{epoch}')\n    total = float(rate)",
    "Keras's own step": "for x, y in dataset:\n    loss = model.train_on_batch(x, y)\n    print(loss)",
    "values that were read": "for i, (x, y) in enumerate(dataset):\n    loss = step(x, y)\n    if i % 100 == 0:\n"
    "        last = loss.numpy()\n    print(last)",
    "few steps": "for i in range(3):\n    print(step(features, labels).numpy())",
    "timed steps": "import time\nfor x, y in dataset:\n    start = time.time()\n    step(x, y).numpy()\n    print(time.time() - start)",
    "a clock that each step sets": "import time\nbegin = time.time()\nfor x, y in dataset:\n    step(x, y).numpy()\n"
    "    print(time.time() - begin)\n    begin = time.time()",
    "steps timed by the process's clock": "import time\nfor x, y in dataset:\n    start = time.process_time()\n"
    "    step(x, y).numpy()\n    print(time.process_time() - start)",
    "a traced loop": "@tf.function\ndef epoch():\n    for x, y in dataset:\n        loss = step(x, y)\n        print(loss)\nepoch()",
    "tf.print": LOOP + "    tf.print(loss)",
    "a callback that is only defined": LOOP + "    def show():\n        print(loss.numpy())",
    "on the CPU": "with tf.device('/CPU:0'):\n    for x, y in dataset:\n        print(step(x, y).numpy())",
    "a future": "for job in jobs:\n    step(x, y)\n    print(job.result())",
    "another loop": LOOP + "for x, y in dataset:\n    print(model(x).numpy())",
}


def _table(cases: dict[str, str]) -> pytest.MarkDecorator:
    return pytest.mark.parametrize("code", cases.values(), ids=cases.keys())


def _of_209(code: str, folder: Path, target: Target | None = None) -> list[str]:
    all_found = findings(code, folder) if target is None else findings(code, folder, target=target)
    return [f.file.code(f.node) for rule, f in all_found if rule.code == "TFG209"]


@pytest.mark.parametrize(("code", "node"), FOUND.values(), ids=FOUND.keys())
def test_read_in_every_step_is_found(code: str, node: str | None, tmp_path: Path) -> None:
    """Protects recall: each way to need a number, from each kind of step."""
    pair = "\ndef pair(x, y):\n    return step(x, y), tf.norm(x)\n"
    nodes = _of_209(HEAD + pair + code, tmp_path)
    assert len(nodes) == 1
    assert node is None or nodes == [node]


@_table(SILENT)
def test_other_reads_are_not_found(code: str, tmp_path: Path) -> None:
    """Protects precision: seldom, needed, elsewhere, or no result of a step."""
    assert _of_209(HEAD + code, tmp_path) == []


def test_step_of_another_file(tmp_path: Path) -> None:
    """Protects the way to a step that another file defines."""
    (tmp_path / "steps.py").write_text(HEAD)
    code = "from steps import step, dataset\n" + LOOP + "    print(loss.numpy())\n"
    assert ("TFG209", 4) in found(code, tmp_path)


def test_read_in_another_file(tmp_path: Path) -> None:
    """Protects what the step reads itself, or what runs it, where the loop's file has none of the words of reading."""
    (tmp_path / "losses.py").write_text(HEAD)
    (tmp_path / "players.py").write_text(
        "from losses import step\n\n\nclass Player:\n    def learn(self, x, y):\n"
        "        self.total += step(x, y).numpy()\n"
    )
    code = "import tensorflow as tf\nfrom losses import dataset\nfrom players import Player\n\nplayer = Player()\n"
    code += "for x, y in dataset:\n    player.learn(x, y)\n"
    [finding] = [finding for rule, finding in findings(code, tmp_path) if rule.code == "TFG209"]
    assert finding.file.source.path.name == "players.py"
    assert finding.file.code(finding.node) == "step(x, y).numpy()"
    assert [note.message for note in finding.notes] == [
        "the loop over the steps",
        "calls `learn`",
        "no fix: a function that the loop calls reads it, and may need it",
    ]


def test_notebook(tmp_path: Path) -> None:
    """Protects notebooks: the step is in one cell and the loop in another."""
    cells = [HEAD, "%matplotlib inline\n" + LOOP + "    print(loss.numpy())\n"]
    assert "TFG209" in {code for code, _ in found(notebook(*cells), tmp_path, name="training.ipynb")}


def test_one_finding_a_loop(tmp_path: Path) -> None:
    """Protects against a report for each of several reads: the others are reported as notes."""
    code = HEAD + LOOP + "    print(loss.numpy())\n    losses.append(float(loss))\n"
    ((_, finding),) = [(r, f) for r, f in findings(code, tmp_path) if r.code == "TFG209"]
    assert [n.file.code(n.node) for n in finding.notes][1:] == ["float(loss)", "losses.append(float(loss))"]
    assert finding.notes[-1].message == "no fix: this does more than display the value"


@pytest.mark.parametrize(("steps", "is_fixed"), [("range(1, 101)", False), ("range(5000)", True)])
def test_a_short_loop_goes_on_showing_its_values(steps: str, is_fixed: bool, tmp_path: Path) -> None:
    """Protects programs of which nothing but the first step would be seen any more."""
    code = f"{HEAD}for number in {steps}:\n    loss = step(features, labels)\n    print(number, loss.numpy())\n"
    ((_, finding),) = [(r, f) for r, f in findings(code, tmp_path) if r.code == "TFG209"]
    assert (finding.fix is not None) is is_fixed


def test_only_by_its_code() -> None:
    """Protects users from a claim about GPUs that was not measured."""
    from checks import ALL_RULES

    (rule,) = (rule for rule in ALL_RULES if rule.code == "TFG209")
    assert rule.opt_in


def test_tensorflow_1_is_left_alone(tmp_path: Path) -> None:
    """Protects programs for versions that run no step eagerly."""
    code = HEAD + LOOP + "    print(loss.numpy())"
    assert _of_209(code, tmp_path, Target((1, 15), 2, "pyproject.toml")) == []
