"""TFG214: a model called eagerly for one frame, token or step after the other, and loops that must not be changed."""

from __future__ import annotations

from pathlib import Path

import pytest
from checks import codes, findings, found, notebook

HEAD = """\
import time
import cv2
import numpy as np
import tensorflow as tf
model = tf.keras.models.load_model("faces.keras")
"""
DRAWING = """\
def draw(net, step):
    sheet = []
    for k in range(50):
        sheet.append(np.squeeze(net(np.random.normal(size=(1, 9)))))
    save(sheet, step)
class Learner:
    @tf.function
    def learn(self, x):
        with tf.GradientTape() as tape:
            loss = model(x)
        optimizer.apply_gradients(zip(tape.gradient(loss, model.weights), model.weights))
    def train(self, net):
        for n in range(90000):
            self.learn(read_some())
{0}
Learner().train(model)
"""
ACTORS = """\
nets = [tf.keras.models.load_model(path) for path in paths]
def choose(net, seen):
    return float(net(seen[None])[0])
for game in range(900):
    seen = field.reset()
    for turn in range(200):
        moves = []
        for k, net in enumerate(nets):
            moves.append(choose(net, seen[k]))
        seen = field.step(moves)
"""
EAGER = {  # the row of the call, below HEAD
    "an object whose class only says what is to be called": (
        "from abc import ABC, abstractmethod\nclass Stage(ABC):\n    @abstractmethod\n    def __call__(self, paths):\n        ...\n"
        "class Reader(Stage):\n    def __call__(self, paths):\n        for path in paths:\n"
        "            image = cv2.imread(path)\n            self.show(model(image[None]))\n",
        10,
    ),
    "each of several in every step": (ACTORS, 3),
    "returns of an episode, which several steps get": (
        "def returns(gains, seen):\n    values = []\n    for n in reversed(range(len(gains))):\n"
        "        values.append(gains[n] + float(model(seen[n][None])[0]))\n    return values\n"
        "def learn(xs, ys):\n    for _ in range(20):\n        with tf.GradientTape() as tape:\n"
        "            loss = tf.reduce_mean(model(xs) - ys)\n"
        "        optimizer.apply_gradients(zip(tape.gradient(loss, model.weights), model.weights))\n"
        "seen, gains, steps = [], [], 0\nwhile True:\n    steps += 1\n    state, gain = field.move(steps)\n"
        "    seen.append(state)\n    gains.append(gain)\n    if steps % 40 == 0:\n"
        "        targets = np.array(returns(gains, seen))\n        learn(np.array(seen), targets)\n"
        "        seen, gains = [], []\n",
        4,
    ),
    "points of a grid, by a method": (
        "class Painter(tf.keras.Model):\n    def __init__(self):\n        super().__init__()\n"
        "        self.net = tf.keras.models.load_model('net.keras')\n    def paint(self, point):\n"
        "        return tf.sigmoid(self.net(point))\npainter = Painter()\nfor a in np.linspace(-1, 1, 30):\n"
        "    for b in np.linspace(0, 2, 30):\n        plot(painter.paint(np.array([[a, b]])).numpy())\n",
        6,
    ),
    "a point and a class, joined by layers": (
        "flatten = tf.keras.layers.Flatten\ndef paint(net, point, kind):\n"
        "    given = tf.concat([flatten()(point), tf.one_hot(kind, 9)], 1)\n    return net(given)\n"
        "for kind in range(9):\n    for a in np.linspace(-1, 1, 30):\n"
        "        plot(paint(model, tf.constant(np.array([[a, 0]])), [kind]).numpy())\n",
        4,
    ),
    "each of several in every step, without a function": (
        ACTORS.replace("choose(net, seen[k])", "float(net(seen[k][None])[0])"),
        9,
    ),
    "a camera": (
        "camera = cv2.VideoCapture(0)\nwhile True:\n    ok, frame = camera.read()\n    if not ok:\n        break\n"
        "    boxes = model(frame[None])\n",
        6,
    ),
    "files": ("for path in paths:\n    image = cv2.imread(path)\n    scores = model(np.expand_dims(image, 0))\n", 3),
    "files by TensorFlow": (
        "for path in paths:\n    image = tf.io.decode_image(tf.io.read_file(path))\n    scores = model(image[None])\n",
        3,
    ),
    "resized to one size": (
        "for path in paths:\n    image = cv2.resize(cv2.imread(path), (224, 224))\n    scores = model(np.expand_dims(image, 0))\n",
        3,
    ),
    "a picture that functions shape": (
        "def net(batch):\n    batch = tf.cast(batch, tf.float32) / 255.0\n    return model(batch)\ndef one(picture):\n"
        "    return net(tf.expand_dims(tf.image.resize(picture, (64, 64)), 0))[0]\nfor path in paths:\n"
        "    y = one(cv2.imread(path))\n",
        3,
    ),
    "a model of a list": (
        "nets = [model, tf.keras.applications.VGG16()]\nfor path in paths:\n"
        "    y = nets[0](np.expand_dims(cv2.imread(path), 0))\n",
        3,
    ),
    "a comprehension": ("found = [model(cv2.imread(path)[None]) for path in paths]\n", 1),
    "steps of diffusion": (
        "x = tf.random.normal((1, 64, 64, 3))\nfor t in range(1000):\n    noise = model([x, t])\n    x = x - 0.01 * noise\n",
        3,
    ),
    "steps of diffusion in an object that is called": (
        "class Sampler:\n    def __init__(self, net, steps=1000):\n        self.net, self.steps = net, steps\n"
        "    def __call__(self, n):\n        x = np.random.normal(size=(n, 8))\n        for t in range(self.steps)[::-1]:\n"
        "            noise = self.net([x, np.stack([t] * n)])\n            x = x - 0.01 * noise\n        return x\n"
        "Sampler(model)(4)\n",
        7,
    ),
    "steps of diffusion, unknown many": (
        "x = tf.random.normal((1, 64, 64, 3))\nfor t in reversed(range(steps)):\n    x = x - 0.01 * model(x)\n",
        3,
    ),
    "tokens": (
        "tokens = tf.constant([[1]])\nfor _ in range(50):\n    logits = model(tokens)\n    last = tf.argmax(logits[:, -1], -1)\n"
        "    tokens = tf.concat([tokens, last[None]], 1)\n",
        3,
    ),
    "an agent that acts": (
        "state = env.reset()\nwhile not done:\n    probabilities = model(np.expand_dims(state, 0))\n"
        "    action = np.argmax(probabilities)\n    state, reward, done = env.step(action)\n",
        3,
    ),
    "an agent whose answer the world alone reads": (
        "class Player:\n    def __init__(self, world):\n        self.world = world\n    def choose(self, seen):\n"
        "        scores = model(seen[None, :], training=False)\n        return tf.squeeze(tf.random.categorical(scores, 1))\n"
        "    def play(self):\n        seen, over = self.world.reset(), False\n        while not over:\n"
        "            seen, reward, over, _ = self.world.step(self.choose(seen))\nPlayer(make()).play()\n",
        5,
    ),
    "an agent that keeps what it sees": (
        "class Player:\n    def __init__(self, world):\n        self.world = world\n        self.seen, _ = world.reset()\n"
        "    def choose(self, seen):\n        return model(tf.expand_dims(seen, axis=0))\n    def move(self, choose):\n"
        "        move = choose(self.seen)\n        after, reward, over, _ = self.world.step(move)\n        self.seen = after\n"
        "    def play(self):\n        while not self.world.closed:\n            self.move(self.choose)\nPlayer(make()).play()\n",
        6,
    ),
    "a tokenizer's tensors": (
        "from transformers import TFAutoModelForSequenceClassification\n"
        "bert = TFAutoModelForSequenceClassification.from_pretrained('bert-base-uncased')\n"
        "for text in texts:\n    inputs = tokenizer(text, return_tensors='tf')\n    out.append(bert(**inputs).logits)\n",
        5,
    ),
    "the answer is read": ("for row in rows:\n    out.append(float(model(prepare(row))))\n", 2),
    "the answer decides": (
        "def translate(tokens):\n    for _ in range(99):\n        last = tf.argmax(model(tokens)[:, -1:], -1)\n"
        "        if tf.equal(last, 2):\n            break\n        tokens = tf.concat([tokens, last], 1)\n    return tokens\n",
        3,
    ),
    "texts of a whole dataset after each epoch": (
        "def judged(net, texts):\n    for text in texts:\n        row = np.zeros((8, 1))\n        for _ in range(99):\n"
        "            row = np.argmax(net(row), -1)\ntexts = tf.data.Dataset.from_tensor_slices(load()).batch(8)\n"
        "for epoch in range(90):\n    model.fit(data)\n    judged(model, texts)\n",
        5,
    ),
    "samples of a generator": ("for i in range(100):\n    save(model(tf.random.normal((1, 100))), i)\n", 2),
    "a function between": (
        "def detect(frame):\n    frame = np.expand_dims(frame, 0)\n    return model(frame)\nwhile True:\n"
        "    ok, frame = camera.read()\n    boxes = detect(frame)\n",
        3,
    ),
    "the model as parameter": (
        "def watch(net, camera):\n    while True:\n        frame = camera.read()\n        y = net(np.array(frame)[None])\n"
        "watch(model, cv2.VideoCapture(0))\n",
        4,
    ),
    "an attribute": (
        "class Detector:\n    def __init__(self):\n        self.net = tf.keras.models.load_model('a.keras')\n"
        "    def run(self, camera):\n        while True:\n            frame = camera.read()\n"
        "            y = self.net(np.array(frame)[None], training=False)\n",
        7,
    ),
    "generate of a model": (
        "class Writer(tf.keras.Model):\n    def generate(self, tokens):\n        for _ in range(50):\n"
        "            last = np.argmax(self(tokens))\n            tokens = np.append(tokens, last)\n        return tokens\n"
        "Writer().generate(np.array([[1]]))\n",
        4,
    ),
    "a model, unless the folder is read that Keras 3 refuses": (
        "class Watcher:\n    def __init__(self):\n        self.judge = tf.keras.Sequential([tf.keras.layers.Dense(3)])\n"
        "    def look(self, frame):\n        return self.judge(frame[None]).numpy()\n"
        "    def restore(self):\n        self.judge = tf.keras.models.load_model('exported/judge')\n"
        "watcher = Watcher()\nif resumes:\n    watcher.restore()\n"
        "for path in open('names'):\n    print(watcher.look(cv2.imread(path)))\n",
        5,
    ),
    "beside a traced training step": (
        "@tf.function\ndef learn(x):\n    with tf.GradientTape() as tape:\n        loss = tf.reduce_mean(model(x))\n"
        "    optimizer.apply_gradients(zip(tape.gradient(loss, model.weights), model.weights))\nstate = env.reset()\n"
        "while not done:\n    action = np.argmax(model(state[None]))\n    state, reward, done = env.step(action)\n    learn(state)\n",
        8,
    ),
}
STEP = (
    "critic = tf.keras.Sequential([tf.keras.layers.Dense(1)])\noptimizer = tf.keras.optimizers.SGD()\n"
    "def step(real):\n    fakes = []\n    for _ in range(12):\n        noise = tf.random.normal((4, 10))\n"
    "        fakes.append(model(noise))\n    with tf.GradientTape() as tape:\n"
    "        loss = tf.reduce_mean(critic(tf.concat([real, *fakes], 0)))\n"
    "    optimizer.apply_gradients(zip(tape.gradient(loss, critic.trainable_variables), critic.trainable_variables))\n"
    "for real in tf.data.Dataset.from_tensor_slices(rows).batch(9):\n    step(real)\n"
)
TRIED = (
    "class Net(tf.keras.Model):\n    def call(self, x):\n        return x\n"
    "def look():\n    net = Net()\n    for path in open('names'):\n        frame = cv2.imread(path)\n"
    "        print(np.array(net(frame[None])))\nif __name__ == '__main__':\n    look()\n"
)
EAGER |= {
    "in a step that reads the answers": (STEP.replace("model(noise)", "model(noise).numpy()"), 7),
    "by a program that trains its model before": (
        TRIED.replace("    net = Net()\n", "").replace(
            "    look()", "    net = Net()\n    net.compile(loss='mse')\n    net.fit(a, b)\n    look()"
        ),
        7,
    ),
}
EAGER |= {"pictures in each step": (DRAWING.format("            draw(net, n)\n"), 4)}
QUIET = {
    "pictures every so many steps": DRAWING.format("            if n % 500 == 0:\n                draw(net, n)\n"),
    "what a step computes before its tape": STEP,
    "what was traced when it was saved": "net = tf.keras.models.load_model('exported/faces')\nwhile True:\n"
    "    frame = cv2.VideoCapture(0).read()[1]\n    print(net(frame[None]))\n",
    "an exported function by a flag, timed for both": (
        "class Rows:\n    def find(self, row):\n        return sorted(row)\n"
        "class Index:\n    def __init__(self, net, exported=False):\n"
        "        self.net, self.exported, self.rows = net, exported, Rows()\n"
        "    def find(self, frame):\n        if self.exported:\n            row = self.net(tf.constant(frame))['y'].numpy()\n"
        "        else:\n            row = self.net.predict(frame)\n        return self.rows.find(row)\n"
        "def timed(index):\n    for _ in range(1000):\n        index.find(np.random.rand(1, 9))\n"
        "timed(Index(model))\nfast = tf.saved_model.load('d')\n"
        "timed(Index(fast.signatures['serving_default'], exported=True))\n"
    ),
    "a model, or an exported function by a flag": (
        "class Index:\n    def __init__(self, net, exported=False):\n        self.net, self.exported = net, exported\n"
        "    def add(self, paths):\n        for path in paths:\n            frame = np.array(cv2.imread(path))[None]\n"
        "            row = self.net(tf.constant(frame))['y'] if self.exported else self.net.predict(frame)\n"
        "            print(row)\nIndex(model).add(names)\nfast = tf.saved_model.load('d')\n"
        "Index(fast.signatures['serving_default'], exported=True).add(names)\n"
    ),
    "a branch that a setting switches off": "KIND = 'h5'\ndef load():\n    if KIND == 'h5':\n        net = model\n"
    "    elif KIND == 'rt':\n        net = tf.saved_model.load('d').signatures['serving']\n    return net\n"
    "net = load()\nfor path in paths:\n    frame = np.expand_dims(cv2.imread(path), 0)\n    if KIND == 'rt':\n"
    "        print(net(frame))\n",
    "a callback's text": (
        "class Text(tf.keras.callbacks.Callback):\n    def on_epoch_end(self, epoch, logs=None):\n        text = self.start\n"
        "        for _ in range(50):\n            text += pick(self.model(vectorize([text])))\n"
    ),
    "a text after each epoch, by a function": (
        "def written(net, start):\n    row, out = np.array([start]), []\n    for _ in range(500):\n"
        "        last = int(tf.argmax(net(row)[0, -1]))\n        out.append(last)\n        row = np.array([[last]])\n"
        "    return out\nfor epoch in range(90):\n    model.fit(data)\n    print(written(model, [epoch]))\n"
    ),
    "a text after the steps of an epoch": (
        "@tf.function\ndef learn(x):\n    with tf.GradientTape() as tape:\n        loss = model(x)\n"
        "    optimizer.apply_gradients(zip(tape.gradient(loss, model.weights), model.weights))\n"
        "for epoch in range(90):\n    for x in data:\n        learn(x)\n    row = np.array([[1]])\n"
        "    for _ in range(500):\n        row = np.array([[int(tf.argmax(model(row)[0, -1]))]])\n"
    ),
    "a loop over environments": (
        "worlds = [make(seed) for seed in seeds]\nseen = [world.reset() for world in worlds]\nwhile True:\n"
        "    for number, world in enumerate(worlds):\n        move = int(np.argmax(model(seen[number][None])))\n"
        "        seen[number], over = world.step(move)\n"
    ),
    "its conversion to TFLite is compared": (
        "def converted(row):\n    reader.set_tensor(0, row)\n    reader.invoke()\n    return reader.get_tensor(9)\n"
        "for _ in range(100):\n    row = np.random.rand(1, 8)\n    print(np.abs(model(row).numpy() - converted(row)).max())\n"
    ),
    "parts of a module that is called": (
        "class Net(tf.Module):\n    def __init__(self, net):\n        self.net = net\n    def __call__(self, x):\n"
        "        for t in range(1000):\n            x = x - self.net([x, np.stack([t])])\n        return x\nNet(model)(1)\n"
    ),
    "the scales of a picture": (
        "def resample(image, size):\n    return cv2.resize(image, size)\nimage = cv2.imread('a.png')\nfor scale in scales:\n"
        "    height = int(np.ceil(480 * scale))\n    width = int(np.ceil(640 * scale))\n"
        "    small = (resample(image, (height, width)) - 127.5) / 128\n    out = model(np.expand_dims(small, 0))\n    print(out)\n"
    ),
    "a pyramid of sizes": (
        "size = 640\nwhile size > 20:\n    small = tf.image.resize(images, [size, size])\n    print(model(small).numpy())\n"
        "    size = size // 2\n"
    ),
    "a program that is to run eagerly": (
        "model.run_eagerly = True\nwhile True:\n    ok, frame = camera.read()\n    boxes = model(np.array(frame)[None])\n"
    ),
    "functions that run eagerly": (
        "tf.config.run_functions_eagerly(True)\nwhile True:\n    ok, frame = camera.read()\n    boxes = model(np.array(frame)[None])\n"
    ),
    "under tf.function": (
        "@tf.function\ndef detect(x):\n    return model(x)\nwhile True:\n    frame = camera.read()\n    detect(tf.constant(frame))\n"
    ),
    "the model under tf.function": (
        "detect = tf.function(model)\nwhile True:\n    frame = camera.read()\n    detect(np.array(frame)[None])\n"
    ),
    "its call under tf.function": (
        "class Net(tf.keras.Model):\n    @tf.function\n    def call(self, x):\n        return x\nnet = Net()\nwhile True:\n"
        "    frame = camera.read()\n    net(np.array(frame)[None])\n"
    ),
    "an exported model": (
        "net = tf.saved_model.load('detector')\nwhile True:\n    frame = camera.read()\n    net(tf.constant(frame)[None])\n"
    ),
    "a loop that is traced": (
        "@tf.function\ndef sample(x):\n    for t in tf.range(1000):\n        x = x - model(x)\n    return x\n"
        "sample(tf.random.normal((1, 64)))\n"
    ),
    "what an object keeps, and never replaces": (
        "class Shown:\n    def __init__(self, world):\n        self.seen = world.reset()\n    def choose(self, seen):\n"
        "        return model(tf.expand_dims(seen, axis=0))\n    def show(self):\n        show(self.choose(self.seen))\n"
        "    def run(self):\n        while True:\n            self.show()\nShown(make()).run()\n"
    ),
    "batches of rows that are there": (
        "def score(net, rows):\n    rows = np.array(rows)\n    for i in range(len(rows) // 8):\n"
        "        keep(net(rows[i * 8:(i + 1) * 8]))\nscore(model, load())\n"
    ),
    "five iterations": "for i in range(5):\n    print(model(np.expand_dims(images[i], 0)))\n",
    "the first few": "for i, path in enumerate(paths):\n    model(cv2.imread(path)[None])\n    if i == 3:\n        break\n",
    "models built of models": ("def tower(x):\n    for _ in range(depth):\n        x = model(x)\n    return x\n"),
    "a functional model": (
        "x = inputs = tf.keras.Input((8,))\nfor _ in range(20):\n    x = model(x)\nnet = tf.keras.Model(inputs, x)\n"
    ),
    "shared layers of a model": (
        "inputs = [tf.keras.Input((8,)) for _ in range(8)]\nouts = [model(x) for x in inputs]\n"
    ),
    "a call of a model": (
        "class Net(tf.keras.Model):\n    def call(self, x):\n        for _ in range(20):\n            x = self.inner(np.array(x))\n"
        "        return x\n"
    ),
    "what a call of a model calls": (
        "class Net(tf.keras.Model):\n    def call(self, x):\n        return self.steps(x)\n    def steps(self, x):\n"
        "        for _ in range(20):\n            x = model(x + tf.random.normal((1, 8)))\n        return x\n"
    ),
    "a test of shapes": (
        "def tower(x):\n    for _ in range(20):\n        x = model(x)\n        if x.shape[1] < 8:\n            break\n    return x\n"
    ),
    "a module that is no Keras model": (
        "class Pair(tf.Module):\n    def __init__(self):\n        self.v = tf.Variable(1.0)\n"
        "    def __call__(self, x):\n        return x * self.v\n"
        "pair = Pair()\nwhile True:\n    frame = camera.read()\n    y = pair(np.array(frame)[None])\n"
    ),
    "a training step between": (
        "def learn(x):\n    y = model(x)\n    with tf.GradientTape() as tape:\n        loss = model(x)\n"
        "    gradients = tape.gradient(loss, model.weights)\n    if clip:\n        pass\n    return gradients\n"
        "while True:\n    learn(np.array(camera.read())[None])\n"
    ),
    "an ensemble that each turn makes": ACTORS.replace(
        "        moves = []\n", "        nets = made(turn)\n        moves = []\n"
    ),
    "an ensemble for a few pictures": ACTORS.replace("200", "4").replace("range(900)", "[1]"),
    "an ensemble": (
        "models = [tf.keras.models.load_model(p) for p in paths]\nx = np.zeros((1, 8))\nfor net in models:\n"
        "    print(float(net(x)))\n"
    ),
    "a model of the iteration": (
        "for path in paths:\n    net = tf.keras.models.load_model(path)\n    print(net(np.random.rand(1, 8)).numpy())\n"
    ),
    "a benchmark": (
        "x = tf.random.normal((1, 8))\nfor _ in range(100):\n    start = time.time()\n    model(x)\n    print(time.time() - start)\n"
    ),
    "warming up": "x = tf.random.normal((1, 8))\nfor _ in range(10):\n    model(x)\n",
    "a picture after each epoch": (
        "for epoch in range(50):\n    model.fit(data)\n    image = cv2.imread(paths[epoch])\n    show(model(image[None]))\n"
    ),
    "a sentence after each epoch": (
        "for e in range(50):\n    for x in data:\n        with tf.GradientTape() as tape:\n            loss = model(x)\n"
        "        optimizer.apply_gradients(zip(tape.gradient(loss, model.weights), model.weights))\n"
        "    print(float(model(np.expand_dims(tests[e], 0))))\n"
    ),
    "models that are built": (
        "def build(net):\n    net(tf.ones((1, 8)))\nfor path in paths:\n    build(model)\n    model.load_weights(path)\n"
    ),
    "a user's input": (
        "import six\nwhile True:\n    text = six.moves.input('?')\n    print(model(np.array(text)[None]).numpy())\n"
    ),
    "a dataset of four": (
        "for x in tf.data.Dataset.from_tensor_slices([1, 2, 3, 4]).batch(1):\n    print(model(x[None]).numpy())\n"
    ),
    "every hundredth iteration": (
        "while True:\n    n, frame = camera.read()\n    if n % 100 == 0:\n        model(np.array(frame)[None])\n"
    ),
    "a request": "while True:\n    data = np.array(queue.get())\n    reply(model(data[None]))\n",
    "a layer": "dense = tf.keras.layers.Dense(3)\nwhile True:\n    frame = camera.read()\n    dense(np.array(frame)[None])\n",
    "another library": (
        "import torch\nnet = torch.load('a.pt')\nwhile True:\n    frame = camera.read()\n    net(np.array(frame)[None])\n"
    ),
    "an unknown function": "while True:\n    frame = camera.read()\n    detect(np.array(frame)[None])\n",
    "gradients of a picture": (
        "for path in paths:\n    image = tf.constant(cv2.imread(path)[None])\n    with tf.GradientTape() as tape:\n"
        "        tape.watch(image)\n        score = model(image)\n    save(tape.gradient(score, image))\n"
    ),
    "one element of a dataset": (
        "data = tf.data.Dataset.range(99).batch(3)\nfor x in data.take(1):\n    print(model(x).numpy())\n"
    ),
    "ten elements of a dataset": (
        "it = iter(tf.data.Dataset.range(99).batch(3))\nfor _ in range(10):\n    print(model(next(it)).numpy())\n"
    ),
}


def _table(cases: dict[str, object]) -> pytest.MarkDecorator:
    return pytest.mark.parametrize("case", cases.values(), ids=cases)


def rows(code: str, folder: Path, name: str = "watch.py") -> list[int]:
    """The rows below HEAD that TFG214 names."""
    return [row - HEAD.count("\n") for code_, row in found(HEAD + code, folder, name) if code_ == "TFG214"]


@_table(EAGER)  # type: ignore[arg-type]
def test_models_called_in_a_loop_are_found(case: tuple[str, int], tmp_path: Path) -> None:
    code, row = case
    assert rows(code, tmp_path) == [row]


@_table(QUIET)  # type: ignore[arg-type]
def test_others_are_not_found(case: str, tmp_path: Path) -> None:
    assert rows(case, tmp_path) == []


def test_an_object_that_is_called_has_other_users(tmp_path: Path) -> None:
    """Protects recall of TFG214: a sampler that a callback calls after each epoch is there for everybody."""
    sampler = (
        "class Sampler:\n    def METHOD(self, steps=500):\n        noise = tf.random.normal((4, 8))\n"
        "        for step in range(steps):\n            noise = noise - 0.1 * model(noise)\n        return noise\n"
        "class Shown(tf.keras.callbacks.Callback):\n    def __init__(self):\n        self.sampler = Sampler()\n"
        "    def on_epoch_end(self, epoch, logs=None):\n        show(CALLED(steps=900))\n"
        "model.fit(x, y, epochs=90, callbacks=[Shown()])\n"
    )
    called = HEAD + sampler.replace("METHOD", "__call__").replace("CALLED", "self.sampler")
    named = HEAD + sampler.replace("METHOD", "sample").replace("CALLED", "self.sampler.sample")
    assert ("TFG214" in codes(called, tmp_path), "TFG214" in codes(named, tmp_path)) == (True, False)


def test_a_model_that_calls_itself_may_come_from_far(tmp_path: Path) -> None:
    """Protects recall of TFG214: the base that makes it a model is two files away, so no word of the file says that."""
    (tmp_path / "roots.py").write_text("from keras import Model\n\n\nclass Writer(Model):\n    pass\n")
    (tmp_path / "middle.py").write_text("import roots\n\n\nclass Poet(roots.Writer):\n    pass\n")
    poet = (
        "import numpy as np\nfrom middle import Poet\n\n\nclass Rhymer(Poet):\n    def write(self, word, lines):\n"
        "        words = []\n        for _ in range(lines):\n            scores, state = {0}(word)\n"
        "            word = np.argmax(scores, -1)\n            words.append(word)\n        return words\n"
    )
    assert codes(poet.format("self"), tmp_path, name="poets.py") == ["TFG214"]
    assert codes(poet.format("self.read"), tmp_path, name="poets.py") == []


def test_a_module_that_tries_itself_out(tmp_path: Path) -> None:
    """Its model has the weights that were drawn for it; one that has learned something is another matter."""
    head = HEAD.rpartition("model = ")[0]
    assert "TFG214" not in codes(head + TRIED, tmp_path)
    assert "TFG214" in codes(head + TRIED.replace("Net()\n", "Net()\n    net.load_weights('w')\n", 1), tmp_path)


def test_a_loop_over_a_dataset_is_another_finding(tmp_path: Path) -> None:
    code = HEAD + "for x in tf.data.Dataset.range(99).batch(4):\n    print(model(x).numpy())\n"
    assert codes(code, tmp_path) == ["TFG207"]


def test_predict_is_another_finding(tmp_path: Path) -> None:
    code = HEAD + "for path in paths:\n    print(model.predict(np.expand_dims(cv2.imread(path), 0)))\n"
    assert codes(code, tmp_path) == ["TFG206"]


def test_an_eager_training_step_is_another_finding(tmp_path: Path) -> None:
    """Protects models whose answers only the step's tape gets: who traces the step traces them with it."""
    code = (
        "while True:\n    made = model(np.random.normal(size=(8, 4)))\n    with tf.GradientTape() as tape:\n"
        "        loss = tf.reduce_mean(model(made))\n"
        "    optimizer.apply_gradients(zip(tape.gradient(loss, model.weights), model.weights))\n    print(loss)\n"
    )
    assert codes(HEAD + code, tmp_path) == ["TFG202", "TFG209"]


def test_an_agent_acts_in_the_loop_that_trains_it(tmp_path: Path) -> None:
    """Protects the answers that the host needs before the step: a traced step leaves them eager."""
    code = (
        "state = env.reset()\nwhile not done:\n    action = np.argmax(model(state[None]))\n    state, done = env.step(action)\n"
        "    with tf.GradientTape() as tape:\n        loss = tf.reduce_mean(model(state[None]))\n"
        "    optimizer.apply_gradients(zip(tape.gradient(loss, model.weights), model.weights))\n"
    )
    assert codes(HEAD + code, tmp_path) == ["TFG202", "TFG214"]
    assert rows(code, tmp_path) == [3]


@pytest.mark.parametrize(
    ("moved", "places"),
    [("action", [3]), ("policy", [])],
    ids=["the answer decides the step", "the answer is a sample after each epoch"],
)
def test_an_agent_acts_in_the_loop_whose_end_trains_it(moved: str, places: list[int], tmp_path: Path) -> None:
    """Protects agents that learn for some epochs when a game is over, where each move is one call of the model."""
    code = (
        "class Player:\n    def choose(self, observation):\n        answer = model(observation)\n"
        "        return self.draw(answer[0]), answer\n    def draw(self, scores):\n        return np.argmax(scores + noise)\n"
        "    def improve(self, memory):\n        for _ in range(8):\n            with tf.GradientTape() as tape:\n"
        "                loss = tf.reduce_mean(model(memory))\n"
        "            optimizer.apply_gradients(zip(tape.gradient(loss, model.weights), model.weights))\n"
        "    def play(self, env):\n        over, observation, policy = False, env.reset(), 0\n        while not over:\n"
        f"            action, answer = self.choose(observation)\n            observation, over = env.step({moved})\n"
        "            if over:\n                self.improve(np.stack(history))\n"
        "player = Player()\nfor game in range(10000):\n    player.play(env)\n"
    )
    assert rows(code, tmp_path) == places


def test_an_agent_acts_beside_its_training(tmp_path: Path) -> None:
    """Protects the model calls of a loop whose training step is another function: tracing that one leaves them eager."""
    code = (
        "class Player:\n    def choose(self, observation):\n        return int(np.argmax(model(observation[None])))\n"
        "    def improve(self, memory):\n        targets = model(memory)\n        with tf.GradientTape() as tape:\n"
        "            loss = tf.reduce_mean((model(memory) - targets) ** 2)\n"
        "        optimizer.apply_gradients(zip(tape.gradient(loss, model.weights), model.weights))\n"
        "player = Player()\nobservation = env.reset()\nfor _ in range(10000):\n"
        "    observation, done = env.step(player.choose(observation))\n    player.improve(np.stack(history))\n"
    )
    assert rows(code, tmp_path) == [3], "not `targets`, which is traced with the step"
    assert ("TFG202", HEAD.count("\n") + 6) in found(HEAD + code, tmp_path)


PLAYED = """\
import random
class Memory:
    def __init__(self):
        self.kept = []
    def next_batch(self):
        return random.sample(self.kept, 32)
def choose(observation):
    return int(np.argmax(model(observation[None])))
def improve(drawn):
    with tf.GradientTape() as tape:
        loss = tf.reduce_mean(model(drawn))
    optimizer.apply_gradients(zip(tape.gradient(loss, model.weights), model.weights))
memory, games, over = Memory(), 0, 0
observation = env.reset()
"""
GAMES = {
    "a program ends after some games": (
        "while True:\n    observation, won, is_over = env.step(choose(observation))\n    if is_over:\n        games += 1\n"
        "        if games >= 3:\n            break\n",
        [8],
    ),
    "a program ends after some moves": (
        "while True:\n    observation, won, is_over = env.step(choose(observation))\n    games += 1\n"
        "    if games >= 3:\n        break\n",
        [],
    ),
    "a loop over data ends after some that are wrong": (
        "for row in np.load('rows.npy'):\n    if choose(row) != 1:\n        games += 1\n"
        "        if games >= 3:\n            break\n",
        [],
    ),
    "an option that ends a loop when a game is over": (
        "def play(until_over=True):\n    seen = env.reset()\n    for _ in range(5000):\n"
        "        seen, won, is_over = env.step(choose(seen))\n        if is_over:\n            if until_over:\n"
        "                break\n            seen = env.reset()\nplay()\n",
        [8],
    ),
    "an option that ends a loop": (
        "def play(once=True):\n    seen = env.reset()\n    for _ in range(5000):\n"
        "        seen, won, is_over = env.step(choose(seen))\n        if once:\n            break\nplay()\n",
        [],
    ),
    "beside a batch that the project draws": (
        "for move in range(2000):\n    action = choose(observation)\n    observation, won, is_over = env.step(action)\n"
        "    improve(memory.next_batch())\n",
        [8],
    ),
    "of a batch that the project draws": (
        "for move in range(2000):\n    drawn = memory.next_batch()\n    print(choose(drawn))\n",
        [],
    ),
    "whose moves are called otherwise, in the loop that trains": (
        "for game in range(900):\n    board = Board()\n    while True:\n        observation, is_over = board.push(choose(observation))\n"
        "        with tf.GradientTape() as tape:\n            loss = tf.reduce_mean(model(observation[None]))\n"
        "        optimizer.apply_gradients(zip(tape.gradient(loss, model.weights), model.weights))\n"
        "        if is_over:\n            break\n",
        [8],
    ),
    "beside the target of a drawn batch, which the step holds": (
        "lived = []\nwhile not over:\n    observation, over = env.step(choose(observation))\n    lived.append(observation)\n"
        "    drawn = random.sample(lived, 32)\n    wanted = np.amax(model(np.stack(drawn)), 1)\n"
        "    with tf.GradientTape() as tape:\n        loss = tf.reduce_mean((model(np.stack(drawn)) - wanted) ** 2)\n"
        "    optimizer.apply_gradients(zip(tape.gradient(loss, model.weights), model.weights))\n",
        [8],
    ),
    "until a flag is True": (
        "for game in range(900):\n    observation, over = env.reset(), False\n    for move in range(500):\n"
        "        observation, over = env.step(choose(observation))\n        if over == True:\n            break\n",
        [8],
    ),
    "in training and, with what is no row, in a show": (
        "for move in range(2000):\n    observation, over = env.step(choose(observation))\n    improve(memory.next_batch())\n"
        "while not over:\n    show(choose(games))\n    over = asked()\n",
        [8],
    ),
}


RUNNER = """\
class Runner:
    def __init__(self, env, player):
        self.env, self.player, self.seen = env, player, env.reset()
    def advance(self, moves):
        for _ in range(moves):
            move = self.player.choose(self.seen)
            self.seen, _ = {0}
"""
PLAYER = """\
from runners import Runner
class Player:
    def __init__(self, env):
        self.runner = Runner(env, self)
    def choose(self, seen):
        return np.argmax(model(seen[None])[0])
    @tf.function
    def learn(self, drawn):
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean(model(drawn))
        optimizer.apply_gradients(zip(tape.gradient(loss, model.weights), model.weights))
    def train(self, memory):
        for k in range(20000):
            self.runner.advance(1)
            for _ in range(self.turns):
                self.learn(memory.next_batch())
"""


@pytest.mark.parametrize(("does", "places"), [("self.env.step(move)", [6]), ("read_sheet(), print(move)", [])])
def test_an_agent_that_another_file_asks_for_moves(does: str, places: list[int], tmp_path: Path) -> None:
    """Protects agents whose moves an object of another file plays: a sample that it shows is none."""
    (tmp_path / "runners.py").write_text(RUNNER.format(does))
    assert rows(PLAYER, tmp_path) == places


@pytest.mark.parametrize("case", GAMES)
def test_an_agent_that_plays(case: str, tmp_path: Path) -> None:
    """Protects agents that act in each move, however their loops end and whatever they draw beside it."""
    loop, places = GAMES[case]
    assert rows(PLAYED + loop, tmp_path) == places


@pytest.mark.parametrize(
    ("made", "imported"),
    [
        ("TFGPT2LMHeadModel.from_pretrained('gpt2')", "transformers import TFGPT2LMHeadModel"),
        ("VGG16(weights=None)", "tensorflow.keras.applications import VGG16"),
    ],
)
def test_a_file_without_a_word_of_models(made: str, imported: str, tmp_path: Path) -> None:
    """Protects files that name no class of Keras: their model comes from a package, or ready to use."""
    code = f"import numpy as np\nimport tensorflow as tf\nfrom {imported}\nnet = {made}\n"
    code += "ids = np.zeros((1, 1))\nwhile True:\n    ids = tf.concat([ids, tf.argmax(net(ids)[:, -1:], -1)], -1)\n"
    assert ("TFG214", 7) in found(code, tmp_path)


def test_one_finding_a_loop(tmp_path: Path) -> None:
    code = "x = tf.random.normal((1, 8))\nfor t in range(1000):\n    x = x - model([x, t]) - model([x, -t])\n"
    ((_, finding),) = [one for one in findings(HEAD + code, tmp_path) if one[0].code == "TFG214"]
    assert [note.message for note in finding.notes] == [
        "the loop that repeats it",
        "this one runs eagerly, too",
        "no fix: `[x, t]` is a different Python value in each call, so each call would be traced",
    ]
    assert "reduce_retracing" not in finding.help, "each sample is as large as the one before"


SIZES = {
    "as they are": "for path in paths:\n    save(model(np.expand_dims(cv2.imread(path), 0)))\n",
    "in a function": (
        "def read(path):\n    return tf.image.decode_jpeg(tf.io.read_file(path))\ndef mask(path):\n"
        "    picture = np.array(read(path)) / 255\n    return model(picture[None])\nfor path in paths:\n    save(mask(path))\n"
    ),
}
SIZES["by one function, into another"] = (
    "def load(name):\n    return cv2.imread(name)\ndef outlined(net, photo):\n    rows = tf.expand_dims(photo, 0)\n"
    "    return net(rows)[0]\ndef each(name):\n    return outlined(model, load(name) / 255)\n"
    "for name in names:\n    save(each(name))\n"
)
ONE_SIZE = {
    "resized": "for path in paths:\n    save(model(cv2.resize(cv2.imread(path), (64, 64))[None]))\n",
    "resized by a function": (
        "def read(path):\n    return tf.image.resize(tf.image.decode_jpeg(tf.io.read_file(path)), (64, 64))\n"
        "for path in paths:\n    save(model(np.array(read(path))[None]))\n"
    ),
    "resized by the function that gets it": (
        "def mask(net, photo):\n    photo = cv2.resize(photo, (64, 64))\n    return net(photo[None])\n"
        "for name in names:\n    save(mask(model, cv2.imread(name)))\n"
    ),
    "a camera": "while True:\n    save(model(camera.read()[1][None]))\n",
}


@pytest.mark.parametrize(("code", "differs"), [*((c, True) for c in SIZES.values()), *((c, False) for c in ONE_SIZE.values())], ids=[*SIZES, *ONE_SIZE])  # fmt: skip
def test_pictures_of_their_own_sizes_need_reduce_retracing(code: str, differs: bool, tmp_path: Path) -> None:
    """Protects from advice that makes a program slower: a plain `tf.function` traces each size."""
    ((_, finding),) = [one for one in findings(HEAD + code, tmp_path) if one[0].code == "TFG214"]
    assert ("@tf.function(reduce_retracing=True)" in (finding.help or "")) == differs


def test_a_function_of_another_file(tmp_path: Path) -> None:
    (tmp_path / "detector.py").write_text(
        "import numpy as np\nimport tensorflow as tf\nmodel = tf.keras.Sequential()\ndef detect(frame):\n"
        "    return model(np.expand_dims(frame, 0))\n"
    )
    code = "import cv2\nfrom detector import detect\ncamera = cv2.VideoCapture(0)\nwhile True:\n    detect(camera.read())\n"
    assert found(code, tmp_path, "watch.py") == {("TFG214 detector.py", 5)}


def test_tests_are_left_alone(tmp_path: Path) -> None:
    assert rows(EAGER["a camera"][0], tmp_path, "tests/watch.py") == []


def test_a_notebook(tmp_path: Path) -> None:
    assert ("TFG214", 3) in found(notebook(HEAD, EAGER["files"][0]), tmp_path, name="a.ipynb")


def test_the_truth_a_growing_input_is_traced_for_each_shape() -> None:
    """With the installed TensorFlow: one shape is traced once, growing ones each, and few with `reduce_retracing`."""
    import tensorflow as tf

    def traces(lengths: range, **options: bool) -> int:
        seen = []
        run = tf.function(lambda x: (seen.append(1), x + 1)[1], **options)
        for length in lengths:
            run(tf.zeros((1, length)))
        return len(seen)

    assert traces(range(5, 6)) == 1
    assert traces(range(1, 13)) == 12
    assert traces(range(1, 13), reduce_retracing=True) <= 3


def test_the_truth_an_eager_call_runs_each_operation_from_python() -> None:
    """With the installed TensorFlow: the model's Python code runs in each iteration, and once under `tf.function`."""
    import tensorflow as tf

    calls = []

    class Net(tf.keras.Model):  # type: ignore[misc]
        def call(self, x: tf.Tensor) -> tf.Tensor:
            calls.append(1)
            return x * 2

    net = Net()
    for _ in range(6):
        net(tf.zeros((1, 3)))
    assert len(calls) >= 6
    calls.clear()
    traced = tf.function(net)
    for _ in range(6):
        traced(tf.zeros((1, 3)))
    assert len(calls) == 1


def test_a_program_that_only_calls_what_loops(tmp_path: Path) -> None:
    """Protects notebooks without a loop or function, whose model the functions of another file call."""
    writer = "import numpy as np\ndef write(net, tokens):\n    while len(tokens) < 99:\n"
    writer += "        tokens.append(int(np.argmax(net(np.array([tokens])))))\n    return tokens\n"
    (tmp_path / "writer.py").write_text(writer)
    program = "import tensorflow as tf\nfrom writer import write\nnet = tf.keras.models.load_model('words.keras')\n"
    assert ("TFG214 writer.py", 4) in found(program + "print(write(net, [1]))\n", tmp_path)
