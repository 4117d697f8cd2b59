"""Places whose parts stand apart, in lines, methods, objects or files, and their look-alikes: one rule, one case each."""

from __future__ import annotations

from pathlib import Path
from textwrap import indent

import pytest
from checks import codes

from tflint_gpu.targets import Target

KERAS = """
import numpy as np
import tensorflow as tf
from tensorflow import keras
net = keras.Sequential([keras.layers.Dense(1)])
net.compile(loss="mse")
optimizer = keras.optimizers.SGD()
pairs = tf.data.Dataset.from_tensor_slices((np.load("xs.npy"), np.load("ys.npy"))).batch(32)
"""
STEPS = """
for xs, ys in pairs:
    with tf.GradientTape() as tape:
        loss = tf.reduce_mean(tf.square(net(xs) - ys))
    optimizer.apply_gradients(zip(tape.gradient(loss, net.trainable_weights), net.trainable_weights))
"""
LEARNER = """
class Learner:
    def loss_of(self, xs, ys):
        return tf.reduce_mean(tf.square(net(xs) - ys))
    def weights(self):
        return net.trainable_weights
    def apply(self, gradients):
        optimizer.apply_gradients(zip(gradients, self.weights()))
    def record(self, xs, ys):
        {record}
    def learn(self, xs, ys):
        {learn}
learner = Learner()
for xs, ys in pairs:
    learner.learn(xs, ys)
"""
SUBCLASS = """
class Judge:
    def __init__(self):
        {first}
    def ask(self):
        for xs, ys in pairs:
            print(self.judge(xs).numpy())
class Strict(Judge):
    def __init__(self):
        super().__init__()
        self.judge = keras.models.load_model("judge.keras")
Strict().ask()
"""
ROWS = """
import functools
xs, ys = np.load("xs.npy"), np.load("ys.npy")
def rows(xs, ys):
    for one, other in zip(xs, ys):
        yield one, other
net.fit(tf.data.Dataset.from_generator({given}, (tf.float32, tf.int32)).batch(32))
"""
SEEN = """
import cv2
def judged(picture):
    if {test}:
        picture = np.expand_dims(picture, axis=0)
    return net.predict(picture)
for name in open("names.txt"):
    print(judged({read}))
"""
PLAYED = """
import gym
class Player:
    def __init__(self, world):
        self.env = world
        self.judge = self.made()
    def made(self):
        return Judge(4)
    def batched(self, seen):
        if {test}:
            seen = seen.reshape(1, -1)
        return seen
    def move(self, seen):
        return {move}
    def play(self):
        seen = {start}
        while True:
            seen, gain, is_over, _ = self.env.step(self.move(seen))
class Judge(keras.Model):
    def __init__(self, moves):
        super().__init__()
        self.scores = keras.layers.Dense(moves)
    def call(self, xs):
        return self.scores(xs)
    def best(self, xs):
        return np.argmax(self.scores(xs))
class Other(Judge):
    def best(self, xs):
        return np.argmax(self.predict(xs))
class OtherPlayer(Player):
    def made(self):
        return {other}
for player in (Player, OtherPlayer):
    player(gym.make("Pole")).play()
"""
PLAYS = {
    "test": "seen.ndim == 1",
    "move": "self.judge.predict(self.batched(seen))",
    "start": "self.env.reset()",
    "other": "Judge(8)",
}
KEPT = """
@tf.function
def learn(xs, ys):
    with tf.GradientTape() as tape:
        loss = tf.reduce_mean(tf.square(net(xs) - ys))
    optimizer.apply_gradients(zip(tape.gradient(loss, net.trainable_weights), net.trainable_weights))
    return loss
course = []
for turn, (xs, ys) in enumerate(pairs.repeat()):
    loss = learn(xs, ys)
    course.append({kept})
"""
FOUND = {
    "TFG307 a method on the line after its dot": "net.fit(pairs.\\\n    shuffle(500))\n",
    "TFG307 a blank after the dot": "net.fit(pairs. shuffle(500))\n",
    "TFG307 a blank before the parenthesis": "net.fit (pairs.shuffle (500))\n",
    "TFG206 a dot at the end of a line": "for one in np.load('xs.npy'):\n    print((net.\n           predict(one[None])))\n",
    "TFG215 a backslash between": (
        "for turn in range(5000):\n    drawn = np.random.rand(64, 8)\n"
        "    net.train_on_batch(drawn, net.\\\n        predict(drawn))\n"
    ),
    "TFG202 behind a blank that the reader fills in": "TOKEN = ''\nassert TOKEN != '', 'your token'\n" + STEPS,
    "TFG202 behind a refusal of the blank": "ROOT = None\nif ROOT is None:\n    raise ValueError('where?')\n" + STEPS,
    "TFG206 a function makes a batch of one image": SEEN.format(test="picture.ndim == 3", read="cv2.imread(name)"),
    "TFG206 of an image with fewer axes than a batch": SEEN.format(
        test="len(picture.shape) < 4", read="cv2.resize(cv2.imread(name), (64, 64)) / 255"
    ),
    "TFG206 a method makes a batch of one observation": PLAYED.format(**PLAYS),
    "TFG206 an observation has fewer axes than what the network gets": PLAYED.format(
        **{**PLAYS, "test": "len(seen.shape) < len(self.judge.input.shape)", "start": "self.env.reset()[0]"}
    ),
    "TFG206 a subclass that makes another network": PLAYED.format(
        **{**PLAYS, "move": "self.judge.best(seen[None])", "other": "Other(8)"}
    ),
    "TFG206 of what Keras reads": SEEN.format(
        test="len(picture.shape) != 4", read="keras.utils.img_to_array(keras.utils.load_img(name))"
    ),
    "TFG207 images by the number of their batch": (
        "flow = keras.preprocessing.image.ImageDataGenerator().flow_from_directory('pictures')\n"
        "for turn in range(len(flow)):\n    pictures, kinds = flow[turn]\n    print(net(pictures).numpy())\n"
    ),
    "TFG215 predictions of images by the number of their batch": (
        "flow = keras.preprocessing.image.ImageDataGenerator().flow(np.load('xs.npy'))\n"
        "for turn in range(len(flow)):\n    print(net.predict(flow[turn]))\n"
    ),
    "TFG207 a model that subclasses put in the place of None": SUBCLASS.format(first="self.judge = None"),
    "TFG207 a model that only subclasses have": SUBCLASS.format(first="pass"),
    "TFG206 of a subclass that is made elsewhere": (
        "class Judge:\n    judge = None\n    def ask(self, rows):\n        return [self.judge.predict(row[None]) for row in rows]\n"
        "class Strict(Judge):\n    def __init__(self):\n        self.judge = net\n"
    ),
    "TFG313 a generator whose arrays are bound before": ROWS.format(given="functools.partial(rows, xs, ys=ys)"),
    "TFG313 a generator that a lambda calls": ROWS.format(given="lambda: rows(ys=ys, xs=xs)"),
    "TFG405 a tuple of tensors": KEPT.format(kept="(turn, loss)"),
    "TFG405 a dictionary of tensors": KEPT.format(kept='{"turn": turn, "loss": loss}'),
    "TFG202 a method returns the tape": LEARNER.format(
        record="with tf.GradientTape() as tape:\n            loss = self.loss_of(xs, ys)\n        return tape, loss",
        learn="tape, loss = self.record(xs, ys)\n        self.apply(tape.gradient(loss, self.weights()))",
    ),
    "TFG202 a method gets the tape": LEARNER.format(
        record="grads = xs.gradient(ys, self.weights())\n        self.apply(grads)",
        learn="with tf.GradientTape() as tape:\n            loss = self.loss_of(xs, ys)\n        self.record(tape, loss)",
    ),
    "TFG202 the tape is an attribute": LEARNER.format(
        record="with tf.GradientTape() as self.tape:\n            self.loss = self.loss_of(xs, ys)",
        learn="self.record(xs, ys)\n        self.apply(self.tape.gradient(self.loss, self.weights()))",
    ),
    "TFG303 in a branch of tf.cond": (
        "def shake(x):\n    def dark():\n        return tf.image.random_brightness(x, 0.2)\n"
        "    return tf.cond(wanted > 0, dark, lambda: x)\nnet.fit(tf.data.Dataset.from_tensor_slices(xs).map(shake).batch(32))\n"
    ),
    "TFG303 in a list of branches": (
        "def turn(x):\n    way = tf.random.uniform([], 0, 2, tf.int32)\n"
        "    return tf.switch_case(way, [lambda: tf.image.rot90(x), lambda: x])\n"
        "net.fit(tf.data.Dataset.from_tensor_slices(xs).map(turn).batch(32))\n"
    ),
    "TFG214 what is asked for in a loop without end": (
        "while True:\n    answer = net(robot.look()[None], training=False)\n    robot.move(answer[0, 1])\n"
    ),
    "TFG214 by a function of a module that is not there": (
        "from screens import grab\nwhile screen.is_open:\n    show(net(grab()[np.newaxis]))\n"
    ),
    "TFG214 a function that only returns what the model gives": (
        "import cv2\ncamera = cv2.VideoCapture(0)\ndef look(picture):\n    return net(picture[None], training=False)\n"
        "while camera.isOpened():\n    ok, picture = camera.read()\n    show(look(picture))\n"
    ),
    "TFG214 rows of an array by their numbers": (
        "rows = np.load('xs.npy')\nkept = []\nfor i in range(len(rows)):\n    kept.append(net(rows[i][None]))\n"
    ),
    "TFG214 a method that acts": (
        "class Player:\n    def __init__(self):\n        self.policy = keras.Sequential([keras.layers.Dense(2)])\n"
        "    def act(self, state):\n        return self.policy(state[None])\n"
        "def play(env, player):\n    state = env.reset()\n    for turn in range(999):\n"
        "        state, reward = env.step(player.act(state))\nplay(env, Player())\n"
    ),
}
DRAWN = """
class Judge:
    def __init__(self, net, batches):
        self.net, self.batches = net, {batches}
    def drawn(self):
        {drawn}
    {decorator}def judged(self):
        xs, ys = self.drawn()
        return self.net(xs, training=False)
def all_of(judge, turns):
    {loop}
        {before}print(judge.judged().numpy())
all_of(Judge(keras.models.load_model("judge.keras"), pairs), 4000)
"""
PLAIN = {
    "batches": "iter(batches.repeat())",
    "drawn": "return next(self.batches)",
    "loop": "for turn in range(turns):",
    "before": "",
    "decorator": "",
}
FOUND |= {
    "TFG207 batches that the model's method draws": DRAWN.format(**PLAIN),
    "TFG207 in a loop until enough": DRAWN.format(
        **{**PLAIN, "loop": "done = 0\n    while done < turns:\n        done += 1"}
    ),
    "TFG207 by a closure over the iterator": (
        "def judge_of(batches):\n    def judged():\n        return net(next(batches)[0])\n    return judged\n"
        "judged = judge_of(iter(pairs.repeat()))\nfor turn in range(3000):\n    print(judged().numpy())\n"
    ),
    "TFG207 a function that draws": (
        "batches = iter(pairs.repeat())\ndef drawn():\n    xs, ys = batches.get_next()\n    return xs\n"
        "for turn in range(3000):\n    print(net(drawn()).numpy())\n"
    ),
}
MADE_BELOW = """
class Trainer:
    def __init__(self):
        self.judge = self.made()
    def made(self):
        {made}
    def ask(self):
        for xs, ys in pairs:
            print(self.judge(xs).numpy())
class Strict(Trainer):
    def made(self):
        return keras.models.load_model("judge.keras")
{then}
"""
FOUND |= {
    "TFG207 a subclass makes what its base makes as None": MADE_BELOW.format(made="return None", then="Strict().ask()"),
    "TFG207 a subclass makes it in another way": MADE_BELOW.format(made="return len", then="Strict().ask()"),
    "TFG207 two subclasses make it": MADE_BELOW.format(
        made="return sorted", then="class Mild(Trainer):\n    def made(self):\n        return net\nMild().ask()\n"
    ),
}
SILENT = {
    "TFG207 the base itself is used, too": MADE_BELOW.format(made="return len", then="Strict().ask()\nTrainer().ask()"),
    "TFG207 the base is in a table": MADE_BELOW.format(
        made="return len", then='KINDS = {"base": Trainer, "strict": Strict}\nKINDS[wanted]().ask()'
    ),
    "TFG207 one subclass keeps what the base makes": MADE_BELOW.format(
        made="return len", then="class Same(Trainer):\n    pass\nSame().ask()"
    ),
}
LISTED = """
class Corpus:
    @property
    def batches(self){returned}:
        {read}
def ask(corpus: Corpus, judge: keras.Model):
    for xs in corpus.batches:
        print(judge(xs).numpy())
"""
FOUND |= {
    "TFG207 a property that is declared a dataset": LISTED.format(
        returned=" -> tf.data.Dataset", read="raise NotImplementedError"
    ),
    "TFG207 a property that gives one": LISTED.format(returned="", read="return pairs.map(lambda x, y: x)"),
}
STEP = """with tf.GradientTape() as tape:
            loss = tf.reduce_mean(tf.square(net(xs) - ys))
        gradients = tape.gradient(loss, net.trainable_weights)
"""
FOUND |= {
    "TFG202 another object applies the gradients": (
        "class Weights:\n    def take(self, gradients):\n"
        "        optimizer.apply_gradients(zip(gradients, net.trainable_weights))\n"
        "class Worker:\n    def __init__(self, weights):\n        self.weights = weights\n    def work(self, xs, ys):\n"
        f"        {STEP}        self.weights.take(gradients)\n"
        "worker = Worker(Weights())\nfor xs, ys in pairs:\n    worker.work(xs, ys)\n"
    ),
    "TFG202 a function makes the loss that is minimized": (
        "def cost_of(xs, ys):\n    return lambda: tf.reduce_mean(tf.square(net(xs) - ys))\n"
        "for xs, ys in pairs:\n    optimizer.minimize(cost_of(xs, ys), net.trainable_weights)\n"
    ),
    "TFG202 one of the two ways of a step": (
        f"def advance(xs, ys, learns=False):\n    if learns:\n        {STEP}"
        "        optimizer.apply_gradients(zip(gradients, net.trainable_weights))\n    else:\n"
        "        loss = tf.reduce_mean(tf.square(net(xs) - ys))\n    return loss\n"
        "for xs, ys in pairs:\n    print(advance(xs, ys))\nfor xs, ys in pairs:\n    advance(xs, ys, learns=True)\n"
    ),
    "TFG202 a tape in a model's call": (
        "class Learner(keras.Model):\n    def call(self, both):\n        xs, ys = both\n        "
        f"{STEP}        optimizer.apply_gradients(zip(gradients, net.trainable_weights))\n        return loss\n"
        "learner = Learner()\nfor both in pairs:\n    learner(both)\n"
    ),
    "TFG202 a closure over the iterator": (
        "def learner_of(batches):\n    def learn():\n        xs, ys = next(batches)\n        "
        f"{STEP}        optimizer.apply_gradients(zip(gradients, net.trainable_weights))\n    return learn\n"
        "learn = learner_of(iter(pairs.repeat()))\nwhile True:\n    learn()\n"
    ),
    "TFG215 a step of fit and predict alone": (
        "def learn(kept):\n    drawn = np.random.choice(len(kept), 64)\n    seen = np.array([kept[i] for i in drawn])\n"
        "    net.fit(seen, net.predict(np.array([kept[i] + 1 for i in drawn])) * 0.9, verbose=0)\n"
        "for turn in range(900):\n    learn(past)\n"
    ).replace("net.predict(", "keras.models.load_model('late.keras').predict("),
    "TFG201 a sample of a memory": (
        "import random\nfor turn in range(900):\n    for seen, wanted in random.sample(past, 64):\n"
        "        net.fit(seen[None], np.array([wanted]), verbose=0)\n"
    ),
    "TFG207 images of a generator": (
        "flow = keras.preprocessing.image.ImageDataGenerator().flow_from_directory('pictures')\n"
        "for pictures, kinds in flow:\n    print(net(pictures).numpy())\n"
    ),
    "TFG207 a zip in a zip": (
        "both = tf.data.Dataset.zip((pairs, tf.data.Dataset.zip((pairs, pairs))))\n"
        "for (xs, ys), (left, right) in both:\n    print(net(xs).numpy())\n"
    ),
    "TFG207 one of the splits": (
        "import tensorflow_datasets as tfds\n(_, held), info = tfds.load('cifar10', split=['train', 'test'], with_info=True)\n"
        "for row in held.batch(64):\n    print(net(row['image']).numpy())\n"
    ),
    "TFG207 buckets of one length": (
        "words = tf.data.TextLineDataset('t.txt').map(lambda t: tf.strings.to_number(tf.strings.split(t)))\n"
        "for xs in words.bucket_by_sequence_length(tf.size, [9, 20], [32, 16, 8]):\n    print(net(xs).numpy())\n"
    ),
    "TFG207 an abstract method that is declared to give them": (
        "import abc\nclass Task(abc.ABC):\n    @abc.abstractmethod\n    def get(self, part: str) -> tf.data.Dataset: ...\n"
        "    def judge(self):\n        for xs, ys in self.get('test'):\n            print(net(xs).numpy())\n"
    ),
    "TFG207 up to a test": "for xs, ys in pairs:\n    if net(xs).numpy().mean() > 0.9:\n        break\n",
    "TFG206 a network that a constructor gets": (
        "class Judge:\n    def __init__(self, inner):\n        self._inner = inner\n    def all(self, rows):\n"
        "        return [self._inner.predict(row[np.newaxis]) for row in rows]\nJudge(net).all(np.load('xs.npy'))\n"
    ),
    "TFG206 a comprehension in a comprehension": (
        "films = [np.load(name) for name in open('names.txt')]\n"
        "print([[net.predict(frame[None]) for frame in film] for film in films])\n"
    ),
    "TFG214 an environment in its wrapper": (
        "import gym\nclass Slow(gym.Wrapper):\n    def step(self, move):\n        for again in range(4):\n"
        "            seen, gain, over, more = self.env.step(move)\n        return seen, gain, over, more\n"
        "env = Slow(gym.make('Pong-v0'))\nfor game in range(500):\n    seen, over = env.reset(), False\n    while not over:\n"
        "        seen, gain, over, more = env.step(int(tf.argmax(net(seen[None])[0])))\n"
    ),
    "TFG304 an axis goes before the batch": (
        "net.fit(tf.data.Dataset.from_tensor_slices(np.load('xs.npy')).map(lambda x: tf.squeeze(x, axis=-1) / 255).batch(8))\n"
    ),
    "TFG105 Python in a layer that pools": (
        "class Pooled(keras.layers.Layer):\n    def call(self, x):\n        return tf.numpy_function(np.median, [x], tf.float32)\n"
    ),
    "TFG605 Python in a metric": (
        "class Share(keras.metrics.Metric):\n    def update_state(self, y, p, sample_weight=None):\n"
        "        self.share.assign(tf.numpy_function(lambda a, b: np.float32((a == b).mean()), [y, p], tf.float32))\n"
        "net.compile(loss='mse', metrics=[Share()])\nnet.fit(pairs)\n"
    ),
    "TFG210 the number of the epoch": (
        "@tf.function\ndef learn(xs, ys):\n    return tf.reduce_mean(net(xs) - ys) / (epoch + 1)\n"
        "for epoch in range(90):\n    for xs, ys in pairs:\n        learn(xs, ys)\n"
    ),
}
FLAT = """
def vector_of(xs, ys):
    with tf.GradientTape() as tape:
        loss = tf.reduce_mean(tf.square(net(xs) - ys))
    parts = tape.gradient(loss, net.trainable_weights)
    return {returned}
class Store:
    total = tf.Variable(0.0)
    def put(self, vector):
        begin = 0
        for weight in net.trainable_weights:
            end = begin + np.prod(weight.shape)
            {put}
            begin = end
def improve(store, xs, ys):
    {improve}
store = Store()
for xs, ys in pairs:
    improve(store, xs, ys)
"""
JOINED = "tf.concat([tf.reshape(part, [-1]) for part in parts], axis=0)"
PUT = "weight.assign_add(tf.reshape(vector[begin:end], weight.shape))"
FOUND |= {
    "TFG202 a function returns the flat gradient": FLAT.format(
        returned=JOINED, put=PUT, improve="store.put(-0.01 * vector_of(xs, ys))"
    ),
    "TFG202 of a line search along the flat gradient": FLAT.format(
        returned=f"loss, {JOINED}",
        put=PUT,
        improve="loss, uphill = vector_of(xs, ys)\n    length = np.linalg.norm(uphill)\n"
        "    for size in (0.1, 0.01):\n        store.put(uphill * size / length)",
    ),
}
SILENT |= {
    "TFG202 the norm of the flat gradient is noted": FLAT.format(
        returned=JOINED, put="self.total.assign_add(tf.norm(vector))", improve="store.put(vector_of(xs, ys))"
    ),
    "TFG202 the loss comes back, and no gradient": FLAT.format(
        returned="loss", put="weight.assign(vector * weight)", improve="store.put(vector_of(xs, ys))"
    ),
    "TFG202 something else is put there": FLAT.format(
        returned=JOINED, put=PUT, improve="print(vector_of(xs, ys))\n    store.put(kept)"
    ),
    "TFG202 the flat gradient of a traced function": FLAT.format(
        returned=JOINED, put=PUT, improve="store.put(-0.01 * vector_of(xs, ys))"
    ).replace("def vector_of", "@tf.function\ndef vector_of"),
    "TFG207 a traced method draws": DRAWN.format(**{**PLAIN, "decorator": "@tf.function\n    "}),
    "TFG207 an iterator of names": DRAWN.format(**{**PLAIN, "batches": "iter(['one', 'two'])"}),
    "TFG207 the batch that was drawn before": DRAWN.format(
        **{**PLAIN, "batches": "next(iter(batches))", "drawn": "return self.batches"}
    ),
    "TFG207 a batch after each epoch": DRAWN.format(**{**PLAIN, "before": "net.fit(pairs)\n        "}),
    "TFG207 a few turns": DRAWN.format(**{**PLAIN, "loop": "for turn in range(8):"}),
    "TFG202 the gradient is only shown, beside a traced step": (
        "@tf.function\ndef learn(xs, ys):\n"
        + STEPS.partition("pairs:\n")[2]
        + "for xs, ys in pairs:\n    with tf.GradientTape() as tape:\n        loss = tf.reduce_mean(tf.square(net(xs) - ys))\n"
        "    print(tf.norm(tape.gradient(loss, net.trainable_weights)[0]))\n    learn(xs, ys)\n"
    ),
    "TFG206 what may be a batch already": SEEN.format(test="picture.ndim == 3", read="load(name)"),
    "TFG206 a grey image stays as it is": SEEN.format(test="picture.ndim == 3", read="cv2.imread(name, 0)"),
    "TFG206 observations of many environments": PLAYED.format(**PLAYS).replace("self.env", "self.envs"),
    "TFG206 a test that holds of batched observations": PLAYED.format(**{**PLAYS, "test": "seen.ndim > 1"}),
    "TFG206 a subclass whose network is one of the same class": PLAYED.format(
        **{**PLAYS, "move": "self.judge.best(seen[None])"}
    ),
    "TFG214 a model that draws an action, by two operations": (
        "class Drawn(keras.Model):\n    def call(self, scores):\n"
        "        return tf.squeeze(tf.random.categorical(scores, 1), axis=-1)\n"
        "class Judge(keras.Model):\n    def __init__(self):\n        super().__init__()\n        self.drawn = Drawn()\n"
        "    def move(self, xs):\n        return np.squeeze(self.drawn(self.predict(xs)))\n"
        "judge = Judge()\nfor row in np.load('xs.npy'):\n    print(judge.move(row[None]))\n"
    ),
    "TFG206 a test that holds of batches": SEEN.format(test="picture.ndim > 2", read="cv2.imread(name)"),
    "TFG207 a subclass that has no model": SUBCLASS.format(first="pass").replace(
        'keras.models.load_model("judge.keras")', "len"
    ),
    "TFG313 a generator of what is not known": ROWS.format(given="functools.partial(rows, pictures, ys=ys)"),
    "TFG405 a tuple of numbers": KEPT.format(kept="(turn, float(loss))"),
    "TFG202 switched off": "ASKED = 0\nif ASKED > 0:\n" + indent(STEPS, "    "),
    "TFG303 branches of a few numbers": (
        "def shake(x):\n    return tf.cond(tf.random.uniform([]) > 0.5, lambda: x + 1, lambda: x)\n"
        "net.fit(tf.data.Dataset.from_tensor_slices(xs).map(shake).batch(32))\n"
    ),
    "TFG214 blocks of a network, as long as there is something to halve": (
        "def tower(x):\n    while x.shape[1] > 8:\n        x = net(x)\n    return x\n"
    ),
    "TFG214 the same in each iteration": "while True:\n    answer = net(first[None])\n    robot.move(answer[0, 1])\n",
    "TFG214 a client's message": "while True:\n    show(net(np.array(socket.recv())[None]))\n",
    "TFG214 models of a model's parts": (
        "def look(part):\n    return net(part[None])\ndef build(parts):\n    made = []\n    for part in parts:\n"
        "        made.append(look(part))\n    return keras.Model(parts, made)\n"
    ),
    "TFG307 shuffled before": "net.fit(pairs.\\\n    unbatch().\\\n    shuffle(500).\\\n    batch(32))\n",
}


@pytest.mark.parametrize(("case", "code"), FOUND.items(), ids=FOUND)
def test_places_are_found(case: str, code: str, tmp_path: Path) -> None:
    assert codes(KERAS + code, tmp_path).count(case.partition(" ")[0]) == 1


@pytest.mark.parametrize(("case", "code"), SILENT.items(), ids=SILENT)
def test_look_alikes_are_not(case: str, code: str, tmp_path: Path) -> None:
    assert case.partition(" ")[0] not in codes(KERAS + code, tmp_path)


def test_a_fragment_for_a_notebook(tmp_path: Path) -> None:
    """Protects what a notebook loads by `%load`: it imports nothing, and what it names is there."""
    head, _, rest = KERAS.partition("from tensorflow import keras\n")
    assert "import" in head
    assert codes(rest + STEPS, tmp_path) == ["TFG202"]
    assert "TFG202" not in codes("from elsewhere import learn\n" + rest + STEPS, tmp_path)


WORKER = """
class Worker:
    def __init__(self, source):
        self.source = source
        self.prepare()
    def prepare(self):
        pass
    def work(self):
        {work}
    def advance(self, turn):
        pass
"""
DERIVED = """
import worker
class Sorter({base}):
    {decorator}def advance(self, turn):
        xs, ys = self.source.draw(turn)
        {step}
"""
TRAINED = """with tf.GradientTape() as tape:
            loss = tf.reduce_mean(tf.square(net(xs) - ys))
        optimizer.apply_gradients(zip(tape.gradient(loss, net.trainable_weights), net.trainable_weights))
"""
LOOP = "for turn in range(50000):\n            self.advance(turn)"
INHERITED = {
    "in its loop": ("TFG202", LOOP, {"step": TRAINED}, True),
    "predicting": ("TFG206", LOOP, {"step": "return net.predict(xs[None])"}, True),
    "in a loop of what it calls": (
        "TFG202",
        "self.turns()\n    def turns(self):\n        while True:\n            self.advance(0)",
        {"step": TRAINED},
        True,
    ),
    "without a loop": ("TFG202", "self.advance(0)", {"step": TRAINED}, False),
    "under tf.function": ("TFG202", LOOP, {"step": TRAINED, "decorator": "@tf.function\n    "}, False),
    "put under tf.function": (
        "TFG202",
        "import tensorflow as tf\n        self.advance = tf.function(self.advance)\n        " + LOOP,
        {"step": TRAINED},
        False,
    ),
    "of no such class": ("TFG202", LOOP, {"step": TRAINED, "base": "object"}, False),
    "in a loop of few turns": ("TFG206", LOOP.replace("50000", "3"), {"step": "return net.predict(xs[None])"}, False),
}


GIVEN = {
    "a function that trains": "def step(row):\n    net.fit(row[None], row[None], batch_size=1)\n\n\nrepeat(step, rows)\n",
    "a function that calls what trains": "def learn(row):\n    net.fit(row[None], row[None], batch_size=1)\n\n\n"
    "def step(row):\n    learn(row)\n\n\nrepeat(step, rows)\n",
    "an object that trains when it is called": "class Step:\n    def __call__(self, row):\n        self.learn(row)\n\n"
    "    def learn(self, row):\n        net.fit(row[None], row[None], batch_size=1)\n\n\nrepeat(Step(), rows)\n",
}


@pytest.mark.parametrize("case", GIVEN)
def test_a_loop_of_another_file_runs_what_it_is_given(case: str, tmp_path: Path) -> None:
    """Protects from leaving out loops elsewhere that run this file's functions: what they call counts, too."""
    (tmp_path / "loops.py").write_text("def repeat(step, rows):\n    for row in rows:\n        step(row)\n")
    program = f"{KERAS}\nfrom loops import repeat\n\nrows = np.load('xs.npy')\n\n\n{GIVEN[case]}"
    assert "TFG201" in codes(program, tmp_path)


@pytest.mark.parametrize("case", INHERITED)
def test_a_method_that_an_inherited_one_runs(case: str, tmp_path: Path) -> None:
    """Protects agents whose base class in another file has the loop, also where nothing that is seen makes them."""
    code, work, parts, is_found = INHERITED[case]
    (tmp_path / "worker.py").write_text(WORKER.format(work=work))
    source = KERAS + DERIVED.format(**{"base": "worker.Worker", "decorator": "", **parts})
    assert (code in codes(source, tmp_path)) is is_found


CHOSEN = """
import importlib, sys
import numpy as np
def chosen(kind):
    return importlib.import_module({module})
for one in np.load("xs.npy"):
    print({made}.predict(one[None]))
"""
MADE = "chosen(sys.argv[1]).made(3)"
NETWORK = "from tensorflow import keras\ndef made(size):\n    return keras.Sequential([keras.layers.Dense(size)])\n"
FOREST = "from sklearn.tree import ExtraTreeClassifier\ndef made(size):\n    return ExtraTreeClassifier()\n"
OTHERS = {"__init__.py": "", "words.py": "WORDS = ['small', 'large']\n", "small.py": NETWORK}
LOADED = {
    "by an f-string": ('f"kinds.{kind}"', MADE, OTHERS, True),
    "by a sum, without a file of the package": (
        '"kinds." + kind',
        MADE,
        {"large.py": NETWORK, "one.py": NETWORK},
        True,
    ),
    "by a format, under a name": ('"kinds.{}".format(kind)', 'getattr(chosen("small"), "made")(2)', OTHERS, True),
    "one of them makes something else": ('f"kinds.{kind}"', MADE, {**OTHERS, "trees.py": FOREST}, False),
    "of an open package": ('f"{kind}.small"', MADE, OTHERS, False),
    "none of them has it": ('f"kinds.{kind}"', "chosen(sys.argv[1]).other(3)", OTHERS, False),
}


@pytest.mark.parametrize("case", LOADED)
def test_a_module_of_a_folder(case: str, tmp_path: Path) -> None:
    """Protects programs whose network is a module that a setting names: it may be any of its folder."""
    module, made, files, is_found = LOADED[case]
    (tmp_path / "kinds").mkdir()
    for name, text in files.items():
        (tmp_path / "kinds" / name).write_text(text)
    assert ("TFG206" in codes(CHOSEN.format(module=module, made=made), tmp_path)) is is_found


OLDER_NAMES = {
    "TFG105 a layer of Keras's engine": (
        {},
        "import tensorflow as tf\nimport numpy as np\nfrom keras.engine.base_layer import Layer\nclass Sorted(Layer):\n"
        "    def call(self, x):\n        return tf.numpy_function(np.sort, [x], tf.float32)\n",
    ),
    "TFG206 a model of Keras's engine": (
        {},
        "import numpy as np\nfrom keras.engine.training import Model\nfrom keras.layers import Dense, Input\nrow = Input((4,))\n"
        "judge = Model(row, Dense(2)(row))\nprint([judge.predict(one[None]) for one in np.load('xs.npy')])\n",
    ),
    "TFG202 a network of a module that is loaded": (
        {"nets.py": NETWORK},
        KERAS + "import importlib\nnet = importlib.import_module('nets').made(3)\n" + STEPS,
    ),
    "TFG202 with the names of TensorFlow 1": (
        {},
        (KERAS + STEPS).replace(
            "import tensorflow as tf", "import tensorflow.compat.v1 as tf\ntf.enable_v2_behavior()"
        ),
    ),
}


@pytest.mark.parametrize(("case", "parts"), OLDER_NAMES.items(), ids=OLDER_NAMES)
def test_places_with_older_names(case: str, parts: tuple[dict[str, str], str], tmp_path: Path) -> None:
    files, code = parts
    for name, text in files.items():
        (tmp_path / name).write_text(text)
    assert case.partition(" ")[0] in codes(code, tmp_path, target=Target((2, 9), 2, "requirements.txt"))


def test_a_callback_in_a_file_of_its_own(tmp_path: Path) -> None:
    """Protects callbacks: nothing in their file says which model is theirs."""
    code = (
        "import numpy as np\nfrom tensorflow import keras\nclass Shown(keras.callbacks.Callback):\n    rows = np.load('xs.npy')\n"
        "    def on_epoch_end(self, epoch, logs=None):\n        print([self.model.predict(row[None]) for row in self.rows])\n"
    )
    assert codes(code, tmp_path) == ["TFG206"]
