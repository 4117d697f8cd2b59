"""TFG215: `predict`, `evaluate` and `fit` of one batch in a step or a loop over batches, and what only looks like it."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from checks import codes, findings, fixed

HEAD = """import random
import numpy as np
import tensorflow as tf
from tensorflow import keras

generator = keras.Sequential([keras.layers.Dense(4)])
critic = keras.Sequential([keras.layers.Dense(1)])
critic.compile("sgd", "mse")
data = tf.data.Dataset.from_tensor_slices((np.zeros((640, 2)), np.zeros((640, 1)))).batch(32)
"""
AGENT = """
class Memory:
    def __init__(self):
        self.items = []
class Learner:
    def __init__(self):
        self.net = keras.Sequential([keras.layers.Dense(2)])
        self.memory = []
    def learn(self, size):
        chosen = random.sample(self.memory, size)
        before = np.array([one[0] for one in chosen])
        goals = self.net.predict(before)
        self.net.train_on_batch(before, goals)
"""
REPLAY = """
from collections import deque
critic.compile("adam", "mse")
past = deque(maxlen=9000)
def replay(count=24):
    drawn = random.sample(past, count)
    seen = np.vstack([row[0] for row in drawn])
    later = np.zeros((count, 2))
    for i in range(count):
        later[i] = drawn[i][1]
    goals = critic.predict(seen)
    goals[:, 0] = critic.predict(later, verbose=0).max(1)
    critic.fit(seen, goals, FIT)
for move in range(100_000):
    past.append(play(move))
    replay()
"""
FITTED = """
past = []
def improve(size=32):
    states, goals = [], []
    for before, reward, after in random.sample(past, size):
        states.append(before)
        goals.append(reward)
    critic.fit(np.array(states), np.array(goals), batch_size=size, verbose=0)
for game in range(1, 501):
    past.extend(play(game))
    improve()
"""
ARRAYS = """
seen, told = np.zeros((900, 4), np.float32), np.zeros((900, 2), np.float32)
for move in range(100_000):
    seen[move % 900], told[move % 900] = play(critic.predict(np.asarray([seen[move % 7]])))
    places = np.random.choice(min(move + 1, 900), min(move + 1, 24), replace=False)
    places = np.sort(places)
    some = seen[places]
    critic.fit(some, told[places], verbose=0)
"""
PUPIL = """
class Keeper:
    def __init__(self):
        self.net = keras.Sequential([keras.layers.Dense(2)])
    def told(self, rows):
        return self.net.predict(rows)
class Pupil:
    def __init__(self):
        self.past, self.kept, self.keeper = [], np.zeros((24, 2)), Keeper()
    def improve(self, rows, kept):
        critic.train_on_batch(rows, self.keeper.told(rows))
    def study(self, times):
        for _ in range(times):
            chosen = np.array(random.sample(self.past, 24))
            self.improve(chosen, self.kept)
pupil = Pupil()
for move in range(9000):
    pupil.study(1)
"""
CLASS = """
class Player:
    def __init__(self, count=20, at_once=20):
        self.past, self.count, self.at_once = [], count, at_once
    def some(self):
        places = np.random.randint(0, len(self.past), size=self.count)
        befores, goals = [], []
        for row in [self.past[place] for place in places]:
            befores.append(row[0])
            goals.append(row[1])
        return places, befores, goals
    def learn(self):
        _, befores, goals = self.some()
        befores = np.array(befores)
        critic.fit(befores, np.array(goals), batch_size=self.at_once)
player = Player()
for move in range(9000):
    player.learn()
"""
FLOW = """
from tensorflow.keras.preprocessing.image import ImageDataGenerator
flow = ImageDataGenerator(rescale=1 / 255).flow_from_directory("pictures", batch_size=50)
"""
GROUPS = """
def by_length(texts, longest=128, count=64):
    while len(texts):
        is_short = (texts != 0).sum(1) <= longest
        yield texts[is_short], longest, count
        texts, longest, count = texts[~is_short], longest * 2, count // 2
"""
NOISE = """
def noise(count):
    return np.random.normal(size=(count, 2))
def pictures(codes):
    return generator.predict(codes)
class Rivals:
    def __init__(self, draw):
        self.draw = draw
    def rows(self, codes):
        return generator.predict(codes)
    def learn(self, count, rounds):
        for _ in range(rounds):
            critic.train_on_batch(self.rows(self.draw(count)), np.zeros(count))
"""
FOUND = {
    "a fit of all rows that are put together out of what is drawn": FITTED.replace(
        """    states, goals = [], []
    for before, reward, after in random.sample(past, size):
        states.append(before)
        goals.append(reward)
    critic.fit(np.array(states), np.array(goals), batch_size=size, verbose=0)
""",
        """    drawn = random.sample(past, size)
    states, goals = drawn[0]
    for before, reward in drawn[1:]:
        states = np.vstack((states, before))
        goals = np.vstack((goals, reward))
    critic.fit(states, goals, batch_size=states.shape[0], verbose=0)
""",
    ),
    "of drawn noise, at once": "for step in range(900):\n"
    "    critic.train_on_batch(generator.predict(np.random.normal(size=(24, 2))), np.zeros(24))\n",
    "of noise that a function draws for another": NOISE.replace("self.rows(self.draw(count))", "kept")
    + "for step in range(900):\n    critic.train_on_batch(pictures(noise(24)), np.zeros(24))\n",
    "of what the constructor got to draw with": NOISE,
    "before a few steps": "for step in range(900):\n    rows = generator.predict(np.random.rand(24, 2))\n"
    "    for _ in range(4):\n        critic.train_on_batch(rows, np.zeros(24))\n",
    "a generator's pictures, counted by a zip": FLOW
    + "right = 0\nfor k, (rows, kinds) in zip(range(flow.n // 50), flow):\n"
    "    right += np.sum(generator.predict(rows).argmax(1) == kinds)\n",
    "a generator's pictures, until there are enough": FLOW
    + "rows = []\nfor batch, _ in flow:\n    rows.extend(generator.predict(batch))\n    if len(rows) >= 5000:\n        break\n",
    "a fit of what is drawn, where nothing predicts": FITTED,
    "a fit of places that are drawn and sorted": ARRAYS,
    "what an object is asked, in a loop of one step": PUPIL,
    "a fit of what another method draws": CLASS,
    "a name that gets another value": "past = []\nfor move in range(9000):\n    rows = random.sample(past, 16)\n"
    "    rows = np.array([row[0] for row in rows])\n    critic.fit(rows, rows)\n",
    "noise in each step": "for step in range(10_000):\n    noise = np.random.normal(size=(64, 100))\n"
    "    images = generator.predict(noise)\n    critic.train_on_batch(images, np.zeros(64))\n",
    "what an agent remembers": AGENT + "learner = Learner()\nfor step in range(10_000):\n    learner.learn(32)\n",
    "once enough was collected": AGENT + "learner = Learner()\nfor step in range(10_000):\n"
    "    if len(learner.memory) > 32:\n        learner.learn(32)\n",
    "where a mode says that it trains": AGENT + "def play(learner, mode):\n    for step in range(10_000):\n"
    "        if mode == 'learn':\n            learner.learn(32)\nplay(Learner(), input())\n",
    "in a few steps of one network for each of another": "def judge(rows):\n    noise = np.random.normal(size=(64, 100))\n"
    "    critic.train_on_batch(generator.predict(noise), rows)\nfor step in range(10_000):\n    for _ in range(5):\n        judge(np.zeros(64))\n"
    "    whole.train_on_batch(np.random.normal(size=(64, 100)), np.ones(64))\n",
    "noise for a few steps": "for turn in range(100_000):\n    for _ in range(3):\n        noise = np.random.normal(size=(64, 100))\n"
    "        critic.train_on_batch(generator.predict(noise), np.zeros(64))\n",
    "after a warm-up of some games": AGENT + "learner = Learner()\nWARM_UP = 40\nfor game in range(500):\n"
    "    play(game)\n    if game >= WARM_UP:\n        learner.learn(32)\n",
    "a loop over a dataset": "outs = []\nfor x, y in data:\n    outs.append(critic.predict(x))\n",
    "evaluate in a loop over a dataset": "for x, y in data:\n    critic.evaluate(x, y)\n",
    "evaluate with options, after the step": "for start in range(0, 6400, 64):\n    rows = inputs[start:start + 64]\n"
    "    critic.train_on_batch(rows, goals)\n    critic.evaluate(rows, goals, batch_size=64, verbose=0)\n",
    "slices by their number": "rows = np.load('rows.npy')\ndef scores(size=25):\n    for n in range(len(rows) // size):\n"
    "        first, last = n * size, size * (n + 1)\n        show(critic.predict(rows[first:last]))\nscores()\n",
    "slices by their number, each from where it begins": "rows = np.load('rows.npy')\nfor n in range(0, 400):\n"
    "    begin = n * 30\n    show(critic.predict(rows[begin:begin + 30]))\n",
    "batches cut out of an array": "rows = np.load('rows.npy')\nouts = []\nfor first in range(0, len(rows), 16):\n"
    "    outs.append(critic.predict(rows[first:first + 16]))\n",
    "batches cut out, of a size that a parameter has": "def scores(images, size=10):\n    parts = []\n"
    "    for k in range(0, images.shape[0], size):\n        part = critic.predict(images[k:k + size], verbose=0)\n"
    "        parts.append(part)\n    return np.concatenate(parts)\nscores(np.load('images.npy'))\n",
    "batches cut out, at once": "rows = np.load('rows.npy')\nfor k in range(0, len(rows), SIZE):\n"
    "    print(critic.predict(rows[k:k + SIZE], batch_size=SIZE))\n",
    "slices of a few batches": "rows = np.load('rows.npy')\nfor k in range(0, len(rows), 96):\n"
    "    np.save(f'{k}.npy', critic.predict(rows[k:k + 96]))\n",
    "large slices for a small network": "small = keras.Sequential([keras.Input((20,)), keras.layers.Dense(64), keras.layers.Dense(1)])\n"
    "rows = np.load('rows.npy')\nfor k in range(0, len(rows), 1024):\n"
    "    np.save(f'{k}.npy', small.predict(rows[k:k + 1024]))\n",
    "large slices for a small network of images": "small = keras.Sequential([keras.Input((28, 28, 1)), keras.layers.Conv2D(16, 3), "
    "keras.layers.MaxPooling2D(), keras.layers.Flatten(), keras.layers.Dense(10)])\ndef every(net, images):\n"
    "    answers = np.zeros((len(images), 10))\n    for k in range(0, len(images), 300):\n"
    "        end = min(k + 300, len(images))\n        answers[k:end] = net.predict(images[k:end], verbose=0)\n"
    "    return answers\nprint(every(small, np.load('images.npy')))\n",
    "slices of the arrays in several files": "def scores(paths, size=64):\n    for path in paths:\n        rows = np.load(path)\n"
    "        parts = [critic.predict(rows[k:k + size]) for k in range(0, len(rows), size)]\n"
    "        np.save(path + '.scores', np.concatenate(parts))\nscores(FILES)\n",
    "batches of a generator, each with its length": GROUPS
    + "for rows, longest, count in by_length(np.load('t.npy')):\n"
    "    print(count, critic.predict(rows[:, :longest], batch_size=32))\n",
    "a function that gets the batch": "def score(batch):\n    return critic.predict(batch, verbose=0)\n"
    "for x, y in data:\n    score(x)\n",
}
SILENT = {
    "of the same noise": NOISE.replace("np.random.normal(size=(count, 2))", "np.full((count, 2), 0.5)").replace(
        "self.rows(self.draw(count))", "kept"
    )
    + "for step in range(900):\n    critic.train_on_batch(pictures(noise(24)), np.zeros(24))\n",
    "before an epoch": "for epoch in range(900):\n    rows = generator.predict(np.random.rand(24, 2))\n"
    "    for _ in range(400):\n        critic.train_on_batch(rows, np.zeros(24))\n",
    "a few of a generator's pictures": FLOW
    + "for k, (rows, kinds) in zip(range(3), flow):\n    print(generator.predict(rows), kinds)\n",
    "what an object keeps, in a loop of one step": PUPIL.replace("told(rows))", "told(kept))"),
    "what an object is asked after many steps": PUPIL.replace("self.keeper.told(rows)", "0").replace(
        "study(1)", "study(99)"
    )
    + "    later = np.array(random.sample(pupil.past, 24))\n    pupil.keeper.told(later)\n",
    "a fit of more rows than a batch has": ARRAYS.replace("24", "240"),
    "a fit of all that another method returns": CLASS.replace("[self.past[place] for place in places]", "self.past"),
    "a fit of many steps, of what another method draws": CLASS.replace("Player()", "Player(500)"),
    "a fit of many steps": FITTED.replace("batch_size=size", "batch_size=8"),
    "a fit of all that was collected": FITTED.replace("random.sample(past, size)", "past"),
    "a fit after each run of many steps, once": FITTED.replace("for game in range(1, 501):", "for game in [1]:"),
    "groups of rows, each with the size of its batches": GROUPS
    + "for rows, longest, count in by_length(np.load('t.npy')):\n"
    "    print(longest, critic.predict(rows[:, :longest], batch_size=count))\n",
    "large slices by their number": "rows = np.load('rows.npy')\nfor n in range(len(rows) // 5000):\n"
    "    show(critic.predict(rows[n * 5000:(n + 1) * 5000]))\n",
    "a window that moves": "rows = np.load('rows.npy')\nfor n in range(len(rows)):\n    show(critic.predict(rows[n:n + 30]))\n",
    "slices that overlap": "rows = np.load('rows.npy')\nfor n in range(400):\n"
    "    show(critic.predict(rows[n * 10:n * 10 + 30]))\n",
    "slices with a rest": "rows = np.load('rows.npy')\nfor n in range(400):\n"
    "    show(critic.predict(rows[n * 30:(n + 2) * 30]))\n",
    "slices of many batches": "rows = np.load('rows.npy')\nfor k in range(0, len(rows), 5000):\n"
    "    np.save(f'{k}.npy', critic.predict(rows[k:k + 5000]))\n",
    "large slices for a large network": "large = keras.Sequential([keras.Input((4096,)), keras.layers.Dense(4096), "
    "keras.layers.Dense(4096), keras.layers.Dense(1)])\nrows = np.load('rows.npy')\nfor k in range(0, len(rows), 1024):\n"
    "    np.save(f'{k}.npy', large.predict(rows[k:k + 1024]))\n",
    "large slices for an architecture": "large = keras.applications.ResNet50()\nrows = np.load('rows.npy')\n"
    "for k in range(0, len(rows), 256):\n    np.save(f'{k}.npy', large.predict(rows[k:k + 256]))\n",
    "slices of a size that nobody knows": "rows = np.load('rows.npy')\nfor k in range(0, len(rows), SIZE):\n"
    "    np.save(f'{k}.npy', critic.predict(rows[k:k + SIZE]))\n",
    "windows that overlap": "rows = np.load('rows.npy')\nfor k in range(len(rows) - 9):\n"
    "    print(critic.predict(rows[k:k + 10].mean(0, keepdims=True)))\n",
    "each epoch": "for epoch in range(100):\n    for x, y in data:\n        critic.train_on_batch(x, y)\n"
    "    generator.predict(np.random.normal(size=(64, 100)))\n",
    "every hundredth step": "for step in range(10_000):\n    noise = np.random.normal(size=(64, 100))\n"
    "    if step % 100 == 0:\n        generator.predict(noise)\n    critic.train_on_batch(noise, np.zeros(64))\n",
    "under a flag": "import sys\nfor step in range(10_000):\n    noise = np.random.normal(size=(64, 100))\n"
    "    if sys.argv:\n        generator.predict(noise)\n    critic.train_on_batch(noise, np.zeros(64))\n",
    "under a flag that the loop changes": AGENT + "learner, mode = Learner(), 'learn'\nfor step in range(10_000):\n"
    "    if mode == 'learn':\n        learner.learn(32)\n    mode = play(step)\n",
    "before many steps": "for epoch in range(100):\n    made = generator.predict(np.random.normal(size=(64, 100)))\n"
    "    for _ in range(500):\n        critic.train_on_batch(made, np.zeros(64))\n",
    "in the last iterations": AGENT + "learner = Learner()\nfor game in range(500):\n    play(game)\n"
    "    if game > 480:\n        learner.learn(32)\n",
    "data that all iterations share": "fixed_noise = np.zeros((64, 100))\nfor step in range(10_000):\n"
    "    noise = np.random.normal(size=(64, 100))\n    generator.predict(fixed_noise)\n"
    "    critic.train_on_batch(noise, np.zeros(64))\n",
    "another library": "from sklearn.svm import SVC\nsvc = SVC()\nfor x, y in data:\n    svc.predict(x)\n",
    "the method for a batch": "for x, y in data:\n    critic.predict_on_batch(x)\n",
    "several test sets": "for name, x in (('a', np.zeros((9, 2))), ('b', np.ones((9, 2)))):\n    critic.predict(x)\n",
    "no loop": "critic.predict(np.zeros((9, 2)))\n",
}


@pytest.mark.parametrize("code", FOUND.values(), ids=FOUND)
def test_a_batch_in_a_step_is_found(code: str, tmp_path: Path) -> None:
    assert codes(HEAD + code, tmp_path).count("TFG215") == 1


@pytest.mark.parametrize("code", SILENT.values(), ids=SILENT)
def test_what_only_looks_like_it_is_not(code: str, tmp_path: Path) -> None:
    assert "TFG215" not in codes(HEAD + code, tmp_path)


@pytest.mark.parametrize(("given", "count"), [
    ("verbose=0", 3),
    ("epochs=1, batch_size=count", 3),
    ("batch_size=16", 2),  # two steps: `train_on_batch` makes one
    ("callbacks=[log]", 2),
    ("validation_split=0.1", 2),
    ("epochs=5", 0),
    ("epochs=rounds", 0),
])  # fmt: skip
def test_steps_that_fit_makes(given: str, count: int, tmp_path: Path) -> None:
    """Protects agents that train with `fit` from paying for an epoch a step, and `fit` of more than one step."""
    assert codes(HEAD + REPLAY.replace("FIT", given), tmp_path).count("TFG215") == count
    thousands = REPLAY.replace("FIT", given).replace("count=24", "count=5000")
    assert "TFG215" not in codes(HEAD + thousands.replace("batch_size=count", "verbose=2"), tmp_path)


def test_each_of_what_is_drawn_is_no_batch(tmp_path: Path) -> None:
    """Protects the loop over a sample, whose elements are single rows for all that is known, from a rule of batches."""
    code = """past = load()
def replay():
    for seen, goal in random.sample(past, 24):
        goals = critic.predict(seen)
        goals[0] = goal
        critic.fit(seen, goals)
for move in range(100_000):
    past.append(play(move))
    replay()
"""
    assert "TFG215" not in codes(HEAD + code, tmp_path)
    rows = code.replace("goals = critic.predict(seen)\n        goals[0] = goal", "rows.append(seen)")
    rows = rows.replace(
        "        critic.fit(seen, goals)", "    critic.fit(np.stack(rows), critic.predict(np.array(rows)))"
    )
    assert codes(HEAD + rows.replace("    for", "    rows = []\n    for"), tmp_path).count("TFG215") == 2


def test_rounds_of_active_learning_are_no_steps(tmp_path: Path) -> None:
    """Protects loops in which `fit` gets all there is: only what is drawn there is a batch."""
    code = """pool, known = np.load("pool.npy"), np.load("known.npy")
for turn in range(50):
    asked = pool[np.random.choice(len(pool), 500)]
    unsure = critic.predict(asked)
    known = np.concatenate([known, label(asked, unsure)])
    train(known)
"""
    fit = "def train(rows):\n    critic.fit(rows, rows[:, :1], epochs=10)\n"
    assert "TFG215" not in codes(HEAD + fit + code, tmp_path)


def test_a_fit_becomes_a_step(tmp_path: Path) -> None:
    """Protects the data of a `fit`, by position or by name, and leaves the options of an epoch out."""
    text = fixed(HEAD + REPLAY.replace("FIT", "batch_size=count, epochs=1, verbose=0"), tmp_path, "TFG215")
    assert "    critic.train_on_batch(seen, goals)\n" in text
    kept = REPLAY.replace("critic.fit(seen, goals, FIT)", "return critic.fit(seen, goals).history")
    assert "return critic.fit(seen, goals).history" in fixed(HEAD + kept, tmp_path, "TFG215")


@pytest.mark.slow
def test_fit_and_train_on_batch_train_alike(tmp_path: Path) -> None:
    """Protects the fix's promise, by TensorFlow itself: the same weights after a step."""
    import keras

    numbers = np.random.default_rng(0)
    rows, goals = numbers.normal(size=(24, 5)).astype("float32"), numbers.normal(size=(24, 3)).astype("float32")
    net = keras.Sequential([keras.layers.Dense(8, activation="relu"), keras.layers.Dense(3)])
    net.build((None, 5))
    start, ends = net.get_weights(), []
    for train in (lambda: net.fit(rows, goals, verbose=0), lambda: net.train_on_batch(rows, goals)):
        net.compile("sgd", "mse")
        net.set_weights(start)
        train()
        ends.append(net.get_weights())
    for fitted, stepped in zip(*ends, strict=True):
        np.testing.assert_allclose(fitted, stepped, rtol=1e-5, atol=1e-7)


def test_the_help_names_the_size_of_a_slice(tmp_path: Path) -> None:
    (finding,) = [f for rule, f in findings(HEAD + FOUND["slices of a few batches"], tmp_path) if rule.code == "TFG215"]
    assert "one slice" in finding.message and "`batch_size=96`" in (finding.help or "")


def test_a_single_row_is_the_other_rules(tmp_path: Path) -> None:
    """Protects from two findings for one call: TFG206 speaks of rows."""
    code = HEAD + "rows = np.zeros((99, 2))\nfor i in range(99):\n    print(critic.predict(rows[i:i + 1]))\n"
    assert [one for one in codes(code, tmp_path) if one in ("TFG206", "TFG215")] == ["TFG206"]


def test_the_fix_keeps_the_receiver_and_the_data(tmp_path: Path) -> None:
    """Protects arguments that `predict_on_batch` does not take from being handed to it."""
    text = fixed(HEAD + "for x, y in data:\n    print(critic.predict(x, verbose=0))\n", tmp_path, "TFG215")
    assert text.endswith("for x, y in data:\n    print(critic.predict_on_batch(x))\n")


@pytest.mark.parametrize("call", ["critic.predict(x, steps=2)", "critic.evaluate(x, y)", "critic.predict(x, *more)"])
def test_what_has_another_meaning_is_not_fixed(call: str, tmp_path: Path) -> None:
    code = f"{HEAD}more = ()\nfor x, y in data:\n    {call}\n"
    assert fixed(code, tmp_path, "TFG215") == code


def test_both_methods_give_the_same(tmp_path: Path) -> None:
    """Protects the fix's promise, by TensorFlow itself: the same numbers, in an array of NumPy."""
    import keras

    net = keras.Sequential([keras.layers.Dense(8, activation="relu"), keras.layers.Dense(3)])
    batch = np.random.default_rng(0).normal(size=(32, 5)).astype("float32")
    one, other = net.predict(batch, verbose=0), net.predict_on_batch(batch)
    assert type(one) is type(other) is np.ndarray
    np.testing.assert_allclose(one, other, rtol=1e-6)


def test_a_function_that_gets_rows_and_batches_is_both_rules(tmp_path: Path) -> None:
    """Protects a step whose function another loop calls with single rows."""
    code = """def made(given):
    return generator.predict(given)
for step in range(9000):
    noise = np.random.normal(size=(16, 3))
    critic.train_on_batch(made(noise), np.zeros(16))
"""
    assert {"TFG215"} <= set(codes(HEAD + code, tmp_path))
    rows = "for row in rows:\n    print(made(row[None]))\n"
    assert {"TFG206", "TFG215"} <= set(codes(HEAD + code + rows, tmp_path))


EACH_MOVE = "for move in range(100_000):\n    past.append(play(move))\n    replay()\n"


@pytest.mark.parametrize(
    ("loop", "count"),
    {
        "for move in range(100_000):\n    past.append(play(move))\n    if move % 4 == 0:\n        replay()\n": 3,
        "for move in range(100_000):\n    if move % 4:\n        continue\n    replay()\n": 3,
        "since = 0\nfor move in range(100_000):\n    since += 1\n    if since == 4:\n        since = 0\n        replay()\n": 3,
        "for move in range(100_000):\n    over = play(move)\n    if over:\n        replay()\n": 0,
        "for move in range(100_000):\n    if move == 4:\n        replay()\n": 0,
        "since = 0\nwhile True:\n    since += 1\n    if since == 4:\n        replay()\n": 0,
        "ready = False\nfor move in range(100_000):\n    if not ready:\n        replay()\n        ready = True\n": 0,
        "def turn(move):\n    if move in (4, 9):\n        replay()\nfor move in range(100_000):\n    turn(move)\n": 0,
        "def turn(move):\n    if move % 9 == 0:\n        replay()\nfor move in range(100_000):\n    turn(move)\n": 3,
    }.items(),
)
def test_a_step_that_runs_now_and_then_is_one(loop: str, count: int, tmp_path: Path) -> None:
    """Protects agents that learn after every fourth move, and steps that a loop takes once."""
    code = HEAD + REPLAY.replace("FIT", "verbose=0").replace(EACH_MOVE, loop)
    assert codes(code, tmp_path).count("TFG215") == count
    own = code.replace("    goals = critic.predict(seen)", "    if move % 9:\n        goals = critic.predict(seen)")
    assert codes(own, tmp_path).count("TFG215") == max(count - 1, 0)
