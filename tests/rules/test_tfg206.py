"""TFG206: `predict` on one row in each iteration of a loop is found wherever the row and the loop come from, and nothing else is."""

from __future__ import annotations

from pathlib import Path

import pytest
from checks import ALL_RULES, codes, findings, found, model_of, notebook

from tflint_gpu.rule import fix_changes
from tflint_gpu.targets import Target

HEAD = """
import numpy as np
import tensorflow as tf
from tensorflow import keras

model = keras.Sequential([keras.layers.Dense(1)])
x = np.zeros((640, 2))
"""

MEMORY = """import random
from collections import deque
class Agent:
    def __init__(self):
        self.memory = {}
    def remember(self, state, reward):
        self.memory.append((state, reward))
    def replay(self):
        for state, reward in {}:
            y = model.predict(state)
    def train(self):
        for row in x:
            self.remember(np.reshape(row, [1, 2]), 1.0)
            self.replay()
Agent().train()
"""

HELD = """size = {}
held, full = np.zeros((1, 2)), 0
for place, row in enumerate(x):
    held[0] = row
    full += 1
    if full == size or place % size == len(x) % size:
        print(model.predict(held))
        full = 0
"""

LOADER = """def load(path):
    if path.endswith(".h5"):
        return keras.models.load_model(path)
    {other}
net = load(input())
for row in x:
    y = net.predict(row[None])
"""

FOLDER = """def pictures(pattern, held_out=False, size={size}):
    found = tf.data.Dataset.list_files(pattern).map(tf.io.read_file).map(decoded)
    if held_out:
        found = found.map(lambda one: (one, tf.shape(one)))
    else:
        found = found.map(lambda one: (one, one))
    return found.batch(size)
def tests(**options):
    return pictures("*.png", held_out=True, **options)
for picture, _ in tests({given}).as_numpy_iterator():
    print(model.predict(picture))
"""
ARENA = """class Player:
    def choose(self, view):
        raise NotImplementedError
class Greedy(Player):
    def choose(self, view):
        return np.argmax(model.predict(view[None])[0])
class Arena:
    def __init__(self, world, player):
        self.world, self.player = world, player
    def practice(self, moves):
        view = self.world.reset()
        {practice}
    def serve(self, line):
        while True:
            line.send(self.player.choose(line.recv()))
"""
WRAPPED = """import random
class Judge:
    def __init__(self):
        self.inner = keras.models.load_model("judge.keras")
    def predict(self, shown):
        return self.inner.predict(shown)
class Player:
    def __init__(self):
        self.judge, self.kept = Judge(), []
    def move(self, board):
        return int(self.judge.predict({}).argmax())
    def practice(self):
        for turn in range(9000):
            self.kept.append(play(self.move(x[turn])))
            wanted = self.judge.predict(np.stack(random.sample(self.kept, 32)))
Player().practice()
"""
IN_ONE_LOOP = """import random
kept, board = [], x[0]
for turn in range(9000):
    board = play(model.predict(board[None]).argmax())
    kept.append(board)
    shown = np.array({})
    model.fit(shown, judged(shown))
"""
PLACES = """places = {{'here': 'a.png', 'there': 'b.png', 'far': 'c.png'}}
views = {start}
for place in places:
    {filling}
for place in views:
    print(model.predict(seen(views, place)[None]))
"""
KEPT = """class Reader:
    def __init__(self):
        self.build()
    def build(self):
        raise NotImplementedError
    def answers(self, texts):
        self.seen = []
        for text in texts:
            self.seen.append(self.net.predict(text[None]))
            CHANGE
class Small(Reader):
    def build(self):
        self.net = keras.Sequential([keras.layers.Dense(4)])
"""
LAST = """from collections import deque
queue = deque()
while True:
    queue.append(model.predict(grab()[None]))
    if len(queue) > 9:
        queue.popleft()
"""
FOUND = {
    "a list that gets one row": "for row in x:\n    rows = []\n    rows.append(row / 255)\n    model.predict(np.asarray(rows))",
    "a list that gets one row, under its own name": (
        "for row in x:\n    rows = []\n    rows.append(row)\n    rows = np.array(rows)\n    model.predict(rows)"
    ),
    "a loader of one image, counted": (
        "loader = keras.preprocessing.image.ImageDataGenerator().flow_from_directory('faces', batch_size=1)\n"
        "for (image, kind), n in zip(loader, range(90)):\n    model.predict(image / 255)"
    ),
    "a loader of one image, asked for the next": (
        "loader = keras.preprocessing.image.ImageDataGenerator().flow(x, batch_size=1)\nwhile True:\n"
        "    model.predict(next(loader))"
    ),
    "an object that fills another of its lists": KEPT.replace("CHANGE", "pass"),
    "a queue of the last ones": LAST,
    "drawn rows": "for _ in range(90):\n    print(model.predict(np.random.normal(size=(1, 2))))",
    "inputs that loops put together": "def starts(n):\n    made = [np.zeros((5, 6)) for _ in range(n)]\n"
    "    for k in range(len(made)):\n        made[k] = made[k].reshape((1, 5, 6))\n    return made\nnow = starts(3)\n"
    "for _ in range(50):\n    later = []\n    for k, answer in enumerate(model.predict(now)):\n"
    "        later.append(np.concatenate([now[k][:, 1:], answer[None, None]], axis=1))\n    now = later",
    "ends a game, and says so": "def show(loud=True):\n    for game in range(3):\n        row, over = start(), False\n"
    "        while not over:\n            row, over = play(model.predict(row[None]))\n"
    "            if over and loud:\n                print(game)\n                break\nshow()",
    "a dictionary that is filled for more than a few": PLACES.format(
        start="{}", filling="for k in range(40):\n        views[place, k] = crop(places[place], k)"
    ),
    "a list that is filled, and by other code": PLACES.format(
        start="[]", filling="views.append(place)\nviews.extend(more)"
    ),
    "a method that others call with a batch": WRAPPED.format("board[None]"),
    "an agent in one loop": IN_ONE_LOOP.format("random.sample(kept, 32)"),
    "in a loop that waits, and in one that does not": ARENA.format(
        practice="for _ in range(moves):\n            view = self.world.step(self.player.choose(view))"
    )
    + "Arena(make(), Greedy()).practice(500)\n",
    "batches of one by a default": FOLDER.format(size=1, given=""),
    "batches of one by what is given": FOLDER.format(size=8, given="size=1"),
    "batches of one of a dataset of unknown length": "rows = tf.data.Dataset.list_files('*.png').map(tf.io.read_file).batch(1)\n"
    "for row in rows:\n    print(model.predict(row))\n",
    "a model, or an interpreter, which has no `predict`": LOADER.format(other="return tf.lite.Interpreter(path)"),
    "a model, or a session, which has no `predict`": "import onnxruntime\n"
    + LOADER.format(other="return onnxruntime.InferenceSession(path)"),
    "a model, or a class of the program, which has no `predict`": "class Table:\n    def run(self, row):\n"
    "        return row\n" + LOADER.format(other="return Table()"),
    "a model, or a text": LOADER.format(other="return 'none'"),
    "a model whose pruning ended": "from tensorflow_model_optimization.sparsity import keras as sparsity\n"
    "net = sparsity.strip_pruning(model)\nfor row in x:\n    y = net.predict(row[None])",
    "a model that is pruned, perhaps": "import tensorflow_model_optimization as tfmot\nnet = model\n"
    "if input():\n    net = tfmot.sparsity.keras.prune_low_magnitude(net)\n"
    "for row in x:\n    y = net.predict(row[None])",
    "many of a dataset": "samples = tf.data.Dataset.from_tensor_slices(x)\nfor sample in samples.take(300):\n"
    "    print(model.predict(tf.expand_dims(sample, 0)))",
    "a few of a dataset, again and again": "samples = tf.data.Dataset.from_tensor_slices(x)\n"
    "for sample in samples.take(3).repeat(99):\n    print(model.predict(sample[None]))",
    "forwarded by an object": "class Loud:\n    def __init__(self, net):\n        self.net = net\n"
    "    def __getattr__(self, part):\n        return getattr(self.net, part)\nloud = Loud(model)\n"
    "for row in x:\n    print(loud.predict(row[None]))",
    "a network, or a function of a SavedModel": "def load(kind):\n    if kind == 'keras':\n        net = model\n    else:\n"
    "        net = tf.saved_model.load('d').signatures['serving_default']\n    return net\nnet = load(input())\n"
    "for row in x:\n    y = net.predict(row[None]) if native else net(row[None])",
    "slice": "for i in range(640):\n    y = model.predict(x[i:i + 1])",
    "new axis": "for row in x:\n    y = model.predict(row[None], verbose=0)",
    "new axis of NumPy": "for row in x:\n    y = model.predict(row[np.newaxis, ...])",
    "expanded": "for row in x:\n    y = model.predict(np.expand_dims(row, 0))",
    "expanded before": "for row in x:\n    row = np.expand_dims(row, axis=0)\n    y = model.predict(row, batch_size=1)",
    "expanded by TensorFlow": "for row in x:\n    y = model.predict(tf.expand_dims(row, 0))",
    "reshaped": "for row in x:\n    y = model.predict(row.reshape(1, 2))",
    "reshaped by a tuple": "for row in x:\n    y = model.predict(np.reshape(row, (1, 2)))",
    "reshaped by its own shape": "for row in x:\n    y = model.predict(row.reshape((1,) + row.shape))",
    "a list of one": "for row in x:\n    y = model.predict(np.array([row]))",
    "a list of one, stacked": "for row in x:\n    y = model.predict(np.stack([row]))",
    "stacked batch of one": "for row in x:\n    y = model.predict(np.vstack([row[None]]))",
    "scaled": "for row in x:\n    y = model.predict(np.expand_dims(row, 0) / 255.0)",
    "scaled by the bounds of a gym": "class Agent:\n    def __init__(self, world):\n        self.world = world\n"
    "        self.least = world.observation_space.low\n        self.most = self.world.observation_space.high\n"
    "    def decide(self, row):\n        return model.predict((row - self.least) / (self.most - self.least))\n"
    "    def play(self):\n        row = self.world.reset()[None]\n        while True:\n            row = self.world.step(self.decide(row))[0][None]\n"
    "Agent(make()).play()",
    "only the first number of its answer is read": "for seen, goal in memories:\n    if goal:\n"
    "        score = model.predict(np.array(seen).reshape(-1, 2))\n        goals.append(score[0][0] * 0.9)",
    "only the first number of its answer is read at once": "size = 2\nfor row in rows:\n"
    "    goals.append(model.predict(tf.reshape(row, (-1, size)))[0, 0])",
    "converted": "for row in x:\n    y = model.predict(row[None].astype('float32'))",
    "preprocessed": "from tensorflow.keras.applications.resnet50 import preprocess_input\n"
    "for row in x:\n    row = np.expand_dims(row, 0)\n    row = preprocess_input(row)\n    y = model.predict(row)",
    "expanded twice": "for row in x:\n    row = np.expand_dims(row, 0)\n    row = np.expand_dims(row, 3)\n    y = model.predict(row)",
    "three channels of one row": "for row in x:\n    row = row[None]\n    y = model.predict(np.stack((row,) * 3, axis=-1))",
    "joined to three channels": "for row in x:\n    row = row[None]\n    y = model.predict(np.concatenate([row] * 3, axis=-1))",
    "repeated channels": "for row in x:\n    y = model.predict(np.repeat(row[None], 3, axis=-1))",
    "a picture that fills the shape once": "import cv2\nfor path in paths:\n    face = cv2.resize(cv2.imread(path), (200, 200))\n"
    "    y = model.predict(np.array(face).reshape(-1, 200, 200, 3) / 255.0)",
    "a picture of Pillow": "from PIL import Image\nSIZE = 64\nfor path in paths:\n    face = Image.open(path).resize((SIZE, SIZE))\n"
    "    face = np.asarray(face).astype('float32') / 255\n    y = model.predict(np.reshape(face, (-1, SIZE, SIZE, 3)))",
    "preprocessed for a backbone": "import segmentation_models as sm\nprepare = sm.get_preprocessing('resnet34')\n"
    "for row in x:\n    y = model.predict(prepare(row[None]))",
    "a model of another package": "import segmentation_models as sm\nunet = sm.Unet('resnet34')\n"
    "for row in x:\n    y = unet.predict(row[None])",
    "a model of a package's folder": "from keras_unet_collection import models\nunet = models.att_unet_2d((64, 64, 3), [64, 128], 2)\n"
    "for row in x:\n    y = unet.predict(row[None])",
    "reshaped by its own shape, counted": "for row in x:\n    y = model.predict(np.array(row).reshape(-1, *row.shape) / 255)[0]",
    "a vector's own length": "for row in x:\n    y = model.predict(row.reshape(-1, len(row)))",
    "a vector's own length, by its shape": "for row in x:\n    y = model.predict(np.reshape(row, (-1, row.shape[0])))",
    "the tail of a series that predictions make longer": "def waves(count, steps):\n    height = np.random.rand(count, 1)\n"
    "    return (height * np.linspace(0, 1, steps))[..., np.newaxis]\nseries = waves(1, 60)\n"
    "known, later = series[:, :50], series[:, 50:]\nfor k in range(30):\n    y = model.predict(known[:, k:])[:, None]\n"
    "    known = np.concatenate([known, y], axis=1)",
    "one input of several": "for row in x:\n    y = model.predict([row[None], states])",
    "an input before the states": "target = np.zeros((1, 1, 9))\nstates = encoder(x)\nwhile True:\n"
    "    y, h, c = model.predict([target] + states)\n    states = [h, c]",
    "a window that moves": "batch = x[:9].reshape(1, 9, 2)\nfor i in range(99):\n    y = model.predict(batch)[0]\n"
    "    batch = np.append(batch[:, 1:, :], [[y]], axis=1)",
    "tokens so far": "text = tf.reshape(seed, [1, -1])\nfor i in range(99):\n    token = np.argmax(model.predict(text)[0])\n"
    "    text = tf.concat([text, [[token]]], axis=1)",
    "drawn": "for i in range(99):\n    z = np.random.normal(0, 1, (1, 100))\n    y = model.predict(z)",
    "a point of a grid": "for a in np.linspace(0, 1, 30):\n    y = model.predict(np.array([[a, a]]))",
    "a list in a list": "for row in x:\n    row = row[np.newaxis, :]\n    y = model.predict([[row]])",
    "two inputs": "for row in x:\n    y = model.predict([row[None], np.ones((1, 3))])",
    "named inputs": "for row in x:\n    y = model.predict({'a': row[None], 'b': row[np.newaxis]})",
    "comprehension": "ys = [model.predict(row[None]) for row in x]",
    "condition of a comprehension": "good = [row for row in x if model.predict(row[None]) > 0.5]",
    "second of two iterables": "ys = [v for row in x for v in model.predict(row[None])]",
    "while": "i = 0\nwhile i < len(x):\n    y = model.predict(x[i:i + 1])\n    i += 1",
    "frames": "import cv2\ncap = cv2.VideoCapture(0)\nwhile True:\n    ok, frame = cap.read()\n"
    "    y = model.predict(np.expand_dims(frame, 0))",
    "a short loop in a long one": "for row in x:\n    for k in range(3):\n        y = model.predict(2 * row[None])",
    "function": "def score(row):\n    return model.predict(row[None])\nfor row in x:\n    print(score(row))",
    "row made by the caller": "def score(batch):\n    return model.predict(batch)\nfor row in x:\n    score(row[None])",
    "row made by a helper": "def load(p):\n    return np.expand_dims(keras.utils.load_img(p), 0)\n"
    "for p in paths:\n    y = model.predict(load(p))",
    "model as a parameter": "def run(m):\n    return [m.predict(row[None]) for row in x]\nrun(model)",
    "loop in a function": "def run(m, rows):\n    for row in rows:\n        m.predict(row[None])\nrun(model, x)",
    "whenever one row is held": HELD.format(1),
    "a network written down again, from any module of Keras": (
        "from keras.models import Sequential as Stack\nagain = Stack.from_config(model.get_config())\n"
        "letter = np.zeros((1, 1, 40))\nfor place in range(500):\n    odds = again.predict(letter)\n"
        "    letter = np.zeros((1, 1, 40))\n    letter[0, 0, np.argmax(odds)] = 1"
    ),
    "attribute": "class Scorer:\n    def __init__(self):\n        self.model = keras.models.load_model('m.keras')\n"
    "    def score(self, row):\n        return self.model.predict(np.expand_dims(row, axis=0))\n"
    "scorer = Scorer()\nfor row in x:\n    scorer.score(row)",
    "an object's own loop": "class Scorer:\n    def __init__(self, m):\n        self.m = m\n    def one(self, row):\n"
    "        return self.m.predict(row[None])\n    def all(self):\n        return [self.one(row) for row in x]\n"
    "Scorer(model).all()",
    "index of the loop": "for i, row in enumerate(x):\n    if i == 0:\n        continue\n    y = model.predict(row[None])",
    "text": "text = 'seed'\nfor _ in range(400):\n    row = np.zeros((1, 40, 60))\n    for t, char in enumerate(text):\n"
    "        row[0, t, ord(char)] = 1.0\n    p = model.predict(row, verbose=0)[0]\n    text = text[1:] + chr(np.argmax(p))",
    "one text, counted and padded": "pad = keras.utils.pad_sequences\ndef score(words, line):\n"
    "    return model.predict(pad(words.texts_to_sequences([line]), maxlen=20))\nfor line in open('lines'):\n"
    "    print(score(keras.preprocessing.text.Tokenizer(), line))",
    "one text in a list of its own": "import pickle\nwords = pickle.load(open('w', 'rb'))\nfor line in open('lines'):\n"
    "    lines = [line]\n    y = model.predict(words.texts_to_matrix(lines))",
    "one text as numbers": "for line in open('lines'):\n    numbers = [keras.preprocessing.text.one_hot(line, 99)]\n"
    "    y = model.predict(keras.preprocessing.sequence.pad_sequences(numbers, 20))",
    "one text through a layer": "layer = keras.layers.TextVectorization()\nfor line in open('lines'):\n"
    "    y = model.predict(layer([line]))",
    "scaled by scikit-learn": "from sklearn.preprocessing import StandardScaler\nscaler = StandardScaler().fit(x)\n"
    "scaler = StandardScaler()\nfor row in x:\n    y = model.predict(scaler.transform([row]))",
    "scaled by what was kept": "import joblib\nscaler = joblib.load('scaler')\ndef score(row):\n"
    "    return model.predict(scaler.transform(row.reshape(1, -1)))\nfor row in x:\n    score(row)",
    "counted words": "from sklearn.feature_extraction.text import TfidfVectorizer\nwords = TfidfVectorizer()\n"
    "for line in open('lines'):\n    y = model.predict(words.transform([line]).toarray())",
    "a frame of one row": "import pandas as pd\nfor row in x:\n    y = model.predict(pd.DataFrame([row], columns=['a', 'b']))",
    "one row of a frame": "import pandas as pd\nframe = pd.read_csv('rows')\nfor i in range(len(frame)):\n"
    "    y = model.predict(frame.iloc[[i]])",
    "each of some features": "for sample in samples:\n"
    "    y = model.predict({name: tf.convert_to_tensor([value]) for name, value in sample.items()})",
    "cast, in a list of one": "class Net(keras.Model):\n    def call(self, x):\n        return x\n    def pick(self, seen):\n"
    "        return tf.argmax(self.predict(seen), 1)\nnet, seen = Net(), env.reset()\nwhile True:\n"
    "    seen = env.step(net.pick(tf.cast([seen], tf.float32))[0])",
    "ragged": "for row in x:\n    y = model.predict(tf.ragged.constant([row]))",
    "scaled in place": "def load(path):\n    picture = np.expand_dims(keras.utils.load_img(path), axis=0)\n    picture /= 255.0\n"
    "    return picture\nfor path in paths:\n    y = model.predict(load(path))",
    "turned around": "for row in x:\n    y = model.predict(np.flip(row[None], axis=1))",
    "an agent that reshapes what it sees": "def act(state):\n    return np.argmax(model.predict(state)[0])\n"
    "state = np.reshape(env.reset(), [1, 4])\nfor _ in range(500):\n    state, reward, done, info = env.step(act(state))\n"
    "    state = np.reshape(state, [1, 4])",
    "a function that is handed on": "def play(decide, state):\n    while True:\n        state = step(decide(state[None])[0])\n"
    "def decide(state):\n    return model.predict(state, verbose=0)\nplay(decide, x[0])",
    "a model, or what nobody is seen to pass": "def decode(net, row):\n    for _ in range(50):\n"
    "        row = net.predict(row[None])[0]\ndef later(other):\n    decode(other, x[0])\ndecode(model, x[1])",
    "each of several models, step by step": "def forecast(nets, window):\n    for _ in range(14):\n        for net in nets:\n"
    "            window = np.append(window, net.predict(window[-7:][None]))\nforecast([keras.Sequential(), model], x[0])",
    "counted models, for each row": "nets = [keras.Sequential() for _ in range(9)]\nfor row in x:\n"
    "    for i, net in enumerate(nets):\n        votes[i] += net.predict(row[None])",
    "a replay memory": MEMORY.format("deque(maxlen=99)", "random.sample(self.memory, 32)"),
    "a replay memory in a list": MEMORY.format("list()", "random.choices(self.memory, k=32)"),
    "a replay memory of its own class": "import random\nfrom collections import deque\nclass Memory:\n    def __init__(self):\n"
    "        self.rows = deque()\n    def add(self, row, reward):\n        self.rows.appendleft((row, reward))\n"
    "    def sample(self, n):\n        return random.sample(self.rows, n)\nmemory = Memory()\nfor row in x:\n"
    "    memory.add(np.reshape(row, [1, 2]), 0.0)\nfor row, reward in memory.sample(32):\n    y = model.predict(row)",
    "rows drawn one by one": "import random\nfrom collections import deque\nrows = deque(maxlen=9)\nfor row in x:\n    rows.append(row[None])\n"
    "for i in range(99):\n    y = model.predict(random.choice(rows))",
    "a few in each of a few": "for i in range(5):\n    for j in range(6):\n        y = model.predict(x[i + j][None])",
    "the same row again and again": "ys = [model.predict(x[:1]) for _ in range(100)]",
}
SILENT = {
    "a list that gets two rows": (
        "for row in x:\n    rows = []\n    rows.append(row)\n    rows.append(row[::-1])\n    model.predict(np.asarray(rows))"
    ),
    "a list that gets all rows so far": "rows = []\nfor row in x:\n    rows.append(row)\n    model.predict(np.asarray(rows))",
    "a list that a loop fills": (
        "for row in x:\n    rows = []\n    for turn in turns:\n        rows.append(row + turn)\n    model.predict(np.asarray(rows))"
    ),
    "a loader of several images": (
        "loader = keras.preprocessing.image.ImageDataGenerator().flow_from_directory('faces', batch_size=2)\n"
        "for (image, kind), n in zip(loader, range(90)):\n    model.predict(image / 255)"
    ),
    "the answers of a loader of one image": (
        "loader = keras.preprocessing.image.ImageDataGenerator().flow_from_directory('faces', batch_size=1)\n"
        "for image, kind in loader:\n    model.predict(kind)"
    ),
    "an object that fills its model": KEPT.replace("CHANGE", "self.net.layers.append(text)"),
    "a queue that others fill": LAST.replace("queue.append", "print").replace("grab()", "queue.popleft()"),
    "whenever four rows have gone by": HELD.format(4),
    "whenever as many rows have gone by as are told": HELD.format("1 if input() else 4"),
    "a dictionary that a loop over a few fills": PLACES.format(
        start="{}", filling="views[place] = load(places[place])"
    ),
    "a list that a loop over a few fills": PLACES.format(
        start="['start']", filling="if ready(place):\n        views.append(place)"
    ),
    "in a loop that waits, which another one runs": ARENA.format(practice="pass")
    + "arena = Arena(make(), Greedy())\nfor line in lines:\n    arena.serve(line)\n",
    "batches of eight by a default": FOLDER.format(size=8, given=""),
    "batches of what is given": FOLDER.format(size=1, given="size=16"),
    "batches of one, cut into pieces": FOLDER.format(size=1, given="").replace("tests()", "tests().map(pieces)"),
    "what comes with batches of one": FOLDER.format(size=1, given="").replace(
        "for picture, _ in tests().as_numpy_iterator()", "for _, picture in zip(tests(), parts)"
    ),
    "batches of one, joined": FOLDER.format(size=1, given="").replace("tests()", "tests().unbatch().batch(4)"),
    "timed as a whole": "import time\nrow = x[:1]\nbegin = time.perf_counter()\nfor _ in range(repeats):\n"
    "    answer = model.predict(row)\nspent = time.perf_counter() - begin",
    "another library's, or a model": "import joblib\n" + LOADER.format(other="return joblib.load(path)"),
    "a class of the program that has `predict`, or a model": "class Table:\n    def predict(self, rows):\n"
    "        return rows\n" + LOADER.format(other="return Table()"),
    "a class that may inherit `predict`, or a model": "import tables\nclass Table(tables.Base):\n    pass\n"
    + LOADER.format(other="return Table()"),
    "a class that is given `predict`, or a model": "class Table:\n    def __init__(self, f):\n"
    "        self.predict = f\n" + LOADER.format(other="return Table(print)"),
    "only an interpreter": "net = tf.lite.Interpreter('a.tflite')\nfor row in x:\n    y = net.predict(row[None])",
    "a few of a dataset": "samples = tf.data.Dataset.from_tensor_slices(x)\nfor sample in samples.map(tf.abs).take(3).prefetch(1):\n"
    "    print(model.predict(tf.expand_dims(sample, 0)))",
    "a few of a dataset, numbered": "samples = tf.data.Dataset.from_tensor_slices(x)\n"
    "for i, sample in enumerate(samples.take(3)):\n    print(i, model.predict(sample[None]))",
    "a few of a dataset, as arrays": "samples = tf.data.Dataset.from_tensor_slices(x)\n"
    "for sample in samples.take(3).as_numpy_iterator():\n    print(model.predict(sample[None]))",
    "a batch whose samples share one row": (
        "def packed(molecules):\n    atoms = np.concatenate([one.atoms for one in molecules])\n"
        "    owners = np.concatenate([[i] * len(one.atoms) for i, one in enumerate(molecules)])\n"
        "    return [np.expand_dims(atoms, 0), owners[np.newaxis]]\n"
        "for k in range(100):\n    model.predict(packed(batches[k]))\n"
    ),
    "a method that all call with a batch": WRAPPED.format("np.stack([board, board])"),
    "a sample after each epoch": IN_ONE_LOOP.format("kept"),
    "pictures that somebody uploads": (
        "from google.colab import files\nchosen = files.upload()\nfor name in chosen.keys():\n"
        "    print(name, model.predict(np.expand_dims(load(name), 0)))\n"
    ),
    "a widget's uploads": (
        "import streamlit as st\nfor item in st.file_uploader('pictures', accept_multiple_files=True):\n"
        "    st.write(model.predict(np.array(load(item))[None]))\n"
    ),
    "a button's uploads": (
        "import ipywidgets\npicker = ipywidgets.FileUpload(multiple=True)\ndef show(change):\n"
        "    for name, item in picker.value.items():\n        print(model.predict(load(item)[None]))\npicker.observe(show)\n"
    ),
    "reshaped by another's shape": "for rows in x:\n    y = model.predict(np.array(rows).reshape(-1, *x[0].shape))",
    "rows repeated": "for row in x:\n    y = model.predict(np.concatenate([row[None]] * 3))",
    "rows stacked": "for row in x:\n    y = model.predict(np.stack((row[None],) * 3, axis=0))",
    "repeated rows": "for row in x:\n    y = model.predict(np.repeat(row[None], 3, axis=0))",
    "a picture cut into others": "import cv2\nfor path in paths:\n    face = cv2.resize(cv2.imread(path), (400, 200))\n"
    "    y = model.predict(face.reshape(-1, 200, 200, 3))",
    "a picture's channels as rows": "import cv2\nfor path in paths:\n    face = cv2.resize(cv2.imread(path), (64, 64))\n"
    "    y = model.predict(face.reshape(-1, 64, 64, 1))",
    "a picture of a size that is not known": "import cv2\nfor path in paths:\n    face = cv2.resize(cv2.imread(path), size)\n"
    "    y = model.predict(face.reshape(-1, 64, 64, 3))",
    "a tokenizer of a package": "import keras_hub\ntokens = keras_hub.models.BertTokenizer.from_preset('bert')\n"
    "for row in x:\n    y = tokens.predict(row[None])",
    "cut by another length": "for rows in batches:\n    y = model.predict(rows.reshape(-1, len(x)))\n",
    "the tail of several series": (
        "series = np.random.rand(4, 60, 1)\nknown, later = series[:, :50], series[:, 50:]\nfor k in range(30):\n"
        "    y = model.predict(known[:, k:])[:, None]\n    known = np.concatenate([known, y], axis=1)\n"
    ),
    "several models of each fold": (
        "for fold in folds:\n    nets = [keras.Sequential() for _ in range(9)]\n    for net in nets:\n"
        "        net.predict(fold[:1])\n"
    ),
    "several models, a few times": (
        "nets = [keras.Sequential() for _ in range(9)]\nfor k in range(3):\n    for net in nets:\n        net.predict(x[k:k + 1])\n"
    ),
    "all texts, counted and padded": (
        "for lines in books:\n    y = model.predict(keras.utils.pad_sequences(words.texts_to_sequences(lines), 20))\n"
    ),
    "a list that grows": (
        "rows = [x[0]]\nfor row in x:\n    rows.append(row)\n    y = model.predict(np.array(rows))\n"
    ),
    "texts of the project's own": (
        "class Words:\n    def texts_to_matrix(self, lines):\n        return split_all(lines)\nwords = Words()\n"
        "for line in open('lines'):\n    y = model.predict(words.texts_to_matrix([line]))\n"
    ),
    "what is transformed by something unknown": ("for row in x:\n    y = model.predict(augmenter.transform([row]))\n"),
    "columns of a frame": (
        "import pandas as pd\nframe = pd.read_csv('rows')\nfor name in frame.columns:\n    y = model.predict(frame[[name]])\n"
    ),
    "pictures stacked behind each other": ("for row in x:\n    y = model.predict(np.stack([row], axis=-1))\n"),
    "batches of each of some features": (
        "for rows in batches:\n    y = model.predict({name: tf.convert_to_tensor(rows[name]) for name in rows})\n"
    ),
    "another array joined in place": ("for rows in batches:\n    rows += x[:1]\n    y = model.predict(rows)\n"),
    "a function that is handed on to no loop": (
        "def once(decide, state):\n    return decide(state[None])\ndef decide(state):\n    return model.predict(state)\n"
        "once(decide, x[0])\n"
    ),
    "a model, or something else that is passed": (
        "from sklearn.linear_model import Ridge\ndef decode(net, row):\n    for _ in range(50):\n"
        "        row = net.predict(row[None])[0]\ndecode(Ridge(), x[0])\ndecode(model, x[1])\n"
    ),
    "a text in a list, which Keras 3 refuses": (
        "for line in ('a', 'b', 'c', 'd', 'e', 'f'):\n    y = model.predict([line])\n"
    ),
    # the look-alikes of the rule
    "iterable of a for": "for y in model.predict(x[:1]):\n    print(y)",
    "iterable of a comprehension": "ys = [v for v in model.predict(x[None])]",
    "few iterations of range": "for i in range(5):\n    y = model.predict(x[i:i + 1])",
    "ten of range": "for i in range(1, 31, 3):\n    y = model.predict(x[i][None])",
    "few elements": "for row in (x[0], x[1], x[2]):\n    y = model.predict(row[None])",
    "few by a constant": "SHOWN = 3\nfor i in range(SHOWN):\n    y = model.predict(x[i:i + 1])",
    "few in a function": "def show():\n    for i in range(4):\n        model.predict(x[i:i + 1])\nshow()",
    "a whole graph": "adjacency = np.eye(9)\nnodes = np.ones((9, 4))\nfor epoch in range(100):\n"
    "    model.fit([nodes[None], adjacency[None]], x, epochs=1)\n    y = model.predict([nodes[None], adjacency[None]])",
    "a memory of batches": MEMORY.format("deque(maxlen=99)", "random.sample(self.memory, 32)").replace(
        "[1, 2]", "[4, 2]"
    ),
    "a memory with more in it": MEMORY.format("deque(x, maxlen=99)", "random.sample(self.memory, 32)"),
    "chunks": "for i in range(0, 640, 64):\n    y = model.predict(x[i:i + 64])",
    "chunks in a list in a list": "for i in range(0, 640, 64):\n    y = model.predict([[x[i:i + 64]]])",
    "files": "for p in paths:\n    y = model.predict(np.load(p))",
    "a request handler": "from flask import Flask, request\napp = Flask('a')\n@app.route('/')\ndef handle():\n"
    "    return model.predict(np.array([request.json]))",
    "a loop over requests": "import socket\ns = socket.socket()\nwhile True:\n    data = s.recv(99)\n"
    "    s.send(model.predict(np.array([data])))",
    "a queue": "import queue\njobs = queue.Queue()\nwhile True:\n    row = jobs.get()\n    model.predict(row[None])",
    "questions at the keyboard": "while True:\n    row = parse(input())\n    print(model.predict(np.array([row])))",
    "another library": "from sklearn.linear_model import Ridge\nclf = Ridge()\nfor row in x:\n    clf.predict(row[None])",
    "an unknown object": "from elsewhere import net\nfor row in x:\n    net.predict(row[None])",
    "a method of its own": "class Net(keras.Model):\n    def predict(self, row):\n        return self(row)\n"
    "net = Net()\nfor row in x:\n    net.predict(row[None])",
    "not Keras": "class Net:\n    def predict(self, row):\n        return row\nnet = Net()\n"
    "for row in x:\n    net.predict(row[None])",
    # more of what only looks like it
    "outside of a loop": "y = model.predict(x[:1])",
    "whole array": "for epoch in range(100):\n    y = model.predict(x)",
    "unknown rows": "def run(rows):\n    for row in rows:\n        model.predict(row)",
    "once an epoch": "for epoch in range(100):\n    model.fit(x, x, epochs=1)\n    show(model.predict(x[:1]))",
    "once an epoch of a hand-written loop": "for epoch in range(100):\n    model.train_on_batch(x, x)\n"
    "    show(model.predict(x[:1]))",
    "every hundredth step": "for i, row in enumerate(x):\n    if i % 100 == 0:\n        model.predict(row[None])",
    "only the first": "for i, row in enumerate(x):\n    if i == 0:\n        model.predict(row[None])",
    "inputs of many rows that a loop puts together": "for part in parts:\n    given = []\n    for k in range(3):\n"
    "        given.append(np.concatenate([part[k], y[k]], axis=1))\n    print(model.predict(given))",
    "stops at once, or where a flag says so": "loud = True\nfor row in x:\n    y = model.predict(row[None])\n"
    "    if y.max() > 1 or loud:\n        break",
    "stops at once": "for row in x:\n    y = model.predict(row[None])\n    break",
    "returns at once": "def first(rows):\n    for row in rows:\n        return model.predict(row[None])\nfirst(x)",
    "several models, one row": "models = [keras.Sequential() for _ in range(20)]\nys = [m.predict(x[:1]) for m in models]",
    "a model a fold": "for fold in folds:\n    net = keras.Sequential([keras.layers.Dense(1)])\n"
    "    net.fit(fold.x, fold.y)\n    net.predict(fold.x[:1])",
    "latency": "import time\nfor _ in range(100):\n    start = time.perf_counter()\n    model.predict(x[:1])\n"
    "    print(time.perf_counter() - start)",
    "a function that nobody calls in a loop": "def score(row):\n    return model.predict(row[None])\nscore(x[0])",
    "a function that is only defined in a loop": "for row in x:\n    def later():\n        return model.predict(row[None])",
    "rows appended": "rows = x[None, 0]\nfor row in x:\n    rows = np.append(rows, row[None], axis=0)\n    y = model.predict(rows)",
    "first five": "for row in x[:5]:\n    y = model.predict(row[None])",
    "a slice of a known size": "for row in x[10:14]:\n    y = model.predict(row[None])",
    "a row for each of several generators": "for net in (model, keras.Sequential()):\n    net.predict(x[:1])",
    "two rows": "for i in range(640):\n    y = model.predict(x[i:i + 2])",
    "rows of unknown number": "for rows in batches:\n    y = model.predict(rows.reshape(-1, 2))",
    "rows of unknown number, all of whose answers are read": "for rows in batches:\n    y = model.predict(rows.reshape(-1, 2))\n"
    "    print(y[0][0], y.mean())",
    "rows of unknown number, or one of several outputs": "for rows in batches:\n    print(model.predict(rows.reshape(-1, 2))[0])",
    "files, of whose rows one is shown": "for path in paths:\n    print(model.predict(np.load(path))[0][0])",
    "a row that others are taken from": "for row in x:\n    y = model.predict(row[None] - others)",
    "one row on one way only": "for row in x:\n    b = row[None] if flag else row\n    y = model.predict(b)",
    "predict_on_batch": "for row in x:\n    y = model.predict_on_batch(row[None])",
    "another backend": "import os\nos.environ['KERAS_BACKEND'] = 'torch'\nfor row in x:\n    model.predict(row[None])",
}


def _table(cases: dict[str, str]) -> pytest.MarkDecorator:
    return pytest.mark.parametrize("code", cases.values(), ids=cases.keys())


def _of_206(code: str, folder: Path, target: Target | None = None) -> list[tuple[str, str]]:
    """The flagged code and its help."""
    all_found = findings(code, folder) if target is None else findings(code, folder, target=target)
    return [(f.file.code(f.node), f.help) for rule, f in all_found if rule.code == "TFG206"]


def test_outputs_of_one_row_have_one(tmp_path: Path) -> None:
    """Protects a second network that gets an output of the first, and the first of several rows of one output."""
    code = """judge = keras.models.load_model("judge.keras")
for rows in pairs:
    answer, sureness = model.predict(ROWS)
    print(judge.predict(answer))
"""
    assert len(_of_206(HEAD + code.replace("ROWS", "rows[None]"), tmp_path)) == 2
    assert _of_206(HEAD + code.replace("ROWS", "rows"), tmp_path) == []
    assert len(_of_206(HEAD + code.replace("answer, sureness", "answer").replace("ROWS", "rows[None]"), tmp_path)) == 2
    items = code.replace("answer, sureness", "answer").replace("(answer)", "(answer[0])")
    assert len(_of_206(HEAD + items.replace("ROWS", "rows[None]"), tmp_path)) == 1


def test_what_an_object_was_given_keeps_calls_from_running(tmp_path: Path) -> None:
    """Protects programs whose agents have parts that other programs switch on, in the call and on the way to it."""
    code = """class Keeper:
    def __init__(self, weighs):
        self.weighs = weighs
    def worth(self, row):
        return model.predict(row)
    def keep(self, row):
        if self.weighs:
            return self.worth(row[None]), model.predict(row[None, :])
keeper = Keeper(WEIGHS)
for row in x:
    keeper.keep(row)
"""
    assert len(_of_206(HEAD + code.replace("WEIGHS", "True"), tmp_path)) == 2
    assert len(_of_206(HEAD + code.replace("WEIGHS", "input()"), tmp_path)) == 2
    assert _of_206(HEAD + code.replace("WEIGHS", "False"), tmp_path) == []


@_table(FOUND)
def test_predict_on_one_row_is_found(code: str, tmp_path: Path) -> None:
    """Protects recall: each way to write a batch of one row, and each way to repeat it."""
    assert [node for node, _ in _of_206(HEAD + code, tmp_path)] == ["predict"]


@_table(SILENT)
def test_other_predictions_are_not_found(code: str, tmp_path: Path) -> None:
    """Protects precision: few iterations, larger batches, other objects, calls that a loop does not repeat."""
    assert _of_206(HEAD + code, tmp_path) == []


ROWS = (
    'ROW.astype("float32")',
    "ROW / 255.0",
    "np.array(ROW)",
    'np.asarray(ROW, dtype="float32")',
    "np.expand_dims(sample, 0)",
    "sample[np.newaxis]",
    "sample.reshape(1, -1)",
    "tf.reshape(sample, (1, 2))",
    "np.stack([sample])",
    "np.vstack([ROW])",
    'tf.cast(ROW, "float32")',
    "tf.constant(ROW)",
    "tf.expand_dims(sample, axis=0)",
    "np.concatenate([ROW, ROW], axis=1)",
    "np.clip(ROW, 0, 1)",
    "np.abs(ROW)",
    "tf.abs(ROW)",
    "tf.math.abs(ROW)",
    "np.negative(ROW)",
    "tf.stop_gradient(ROW)",
    "tf.math.divide(ROW, 255.0)",
    "np.divide(ROW, 255.0)",
    "tf.math.l2_normalize(ROW)",
    "np.ascontiguousarray(ROW)",
    'np.require(ROW, "float32")',
    "tf.ensure_shape(ROW, (1, 2))",
    'keras.ops.cast(ROW, "float32")',
    "np.multiply(2.0, ROW)",
    "tf.image.adjust_contrast(ROW, 0.5)",
    "keras.ops.expand_dims(sample, 0)",
    "tf.compat.v1.log(ROW)",
    "np.log1p(ROW)",
    "tf.nn.softmax(ROW, axis=-1)",
    "np.float32(ROW)",
    "tf.experimental.numpy.sqrt(ROW)",
    "keras.activations.tanh(ROW)",
    "np.tile(ROW, (1, 3))",
    "np.transpose(ROW, (0, 1))",
    "tf.pad(ROW, [[0, 0], [1, 1]])",
    "tf.gather(x, [3])",
    "np.squeeze(ROW[:, None], axis=1)",
)
MANY_ROWS = (
    "np.abs(x)",
    "tf.add(ROW, x)",
    "np.maximum(x, ROW)",
    "np.concatenate([ROW, ROW])",
    "np.vstack([ROW, ROW])",
    "np.hstack([sample[:1], sample[1:]])",
    "tf.reduce_mean(ROW, axis=0)",
    "np.repeat(ROW, 4, axis=0)",
    "np.where(ROW > 0, x, ROW)",
    "tf.squeeze(ROW)",
    "np.stack([ROW[0], ROW[0]])",
    "tf.zeros_like(x)",
    "tf.one_hot(labels, 10)",
    "np.zeros((640, 2))",
    "np.tile(ROW, (3, 1))",
    "np.transpose(ROW, (1, 0))",
    "tf.transpose(ROW)",
    "tf.pad(ROW, [[1, 0], [0, 0]])",
    "tf.gather(x, [3, 4])",
    "np.take(x, [0], axis=1)",
)


@pytest.mark.parametrize(("form", "is_row"), [*((f, True) for f in ROWS), *((f, False) for f in MANY_ROWS)])
def test_a_row_is_a_row_in_whatever_function(form: str, is_row: bool, tmp_path: Path) -> None:
    """Protects from a function that one analysis knows and this one does not: its row of the library is enough."""
    text = form.replace("ROW", "sample[None]")
    code = HEAD + f"labels = np.zeros(640)\nfor sample in x:\n    print(model.predict({text}))\n"
    assert ("TFG206" in codes(code, tmp_path)) == is_row


def test_finding_is_at_the_keras_call(tmp_path: Path) -> None:
    """Protects the place: the wrapper's `predict` is not Keras's."""
    code = (
        "import numpy as np\n"
        "from tensorflow import keras\n"
        "class Net:\n"
        "    def __init__(self):\n"
        "        self.model = keras.models.load_model('m')\n"
        "    def predict(self, row):\n"
        "        return self.model.predict(row[np.newaxis])\n"
        "net = Net()\n"
        "for row in np.zeros((99, 2)):\n"
        "    net.predict(row)\n"
    )
    assert ("TFG206", 7) in found(code, tmp_path)
    ((_, finding),) = [(r, f) for r, f in findings(code, tmp_path) if r.code == "TFG206"]
    assert [(n.file.code(n.node).partition("\n")[0], n.message) for n in finding.notes] == [
        ("for row in np.zeros((99, 2)):", "the loop that repeats it"),
        ("net.predict(row)", "calls `predict`"),
    ]


@pytest.mark.parametrize("name", ["comprehension", "loop"])
def test_verify_measures_what_the_fix_writes(name: str, tmp_path: Path) -> None:
    """Protects the truth of a verdict: the code with which `verify` compares is the code that `check --fix` writes."""
    code = {
        "comprehension": "[model.predict(row[None])[0] for row in x]",
        "loop": "for row in x:\n    model.predict(row[None])",
    }
    model = model_of(HEAD + code[name] + "\n", tmp_path)
    rule = next(rule for rule in ALL_RULES if rule.code == "TFG206")
    (finding,) = rule.check(model)
    (experiment,) = rule.experiments(finding, model)
    assert experiment.user_edits == fix_changes(finding) != ()


def test_model_and_method_of_another_file(tmp_path: Path) -> None:
    """Protects the way through a class that another file defines: the finding is there."""
    (tmp_path / "scorer.py").write_text(
        "import numpy as np\nfrom tensorflow import keras\n\n\nclass Scorer:\n    def __init__(self, path):\n"
        "        self.net = keras.models.load_model(path)\n\n    def score(self, image):\n"
        "        return self.net.predict(np.expand_dims(image, axis=0))[0]\n"
    )
    code = "from scorer import Scorer\nscorer = Scorer('m.keras')\nfor image in images:\n    scorer.score(image)\n"
    assert ("TFG206 scorer.py", 10) in found(code, tmp_path)


def test_loop_of_another_file(tmp_path: Path) -> None:
    """Protects the way into a function of another file that gets the model."""
    (tmp_path / "tools.py").write_text(
        "from tensorflow import keras\n\n\ndef scores(net: keras.Model, rows):\n"
        "    return [net.predict(row[None]) for row in rows]\n"
    )
    code = "from tensorflow import keras\nfrom tools import scores\nscores(keras.models.load_model('m'), images)\n"
    assert ("TFG206 tools.py", 5) in found(code, tmp_path)


def test_function_that_a_loop_of_another_file_gets(tmp_path: Path) -> None:
    """Protects the way back from a file that knows of no model: it runs what it is handed."""
    (tmp_path / "games.py").write_text(
        "import numpy as np\n\n\ndef play(choose):\n    board = start()\n    while not board.is_over:\n"
        "        board.move(choose(np.expand_dims(board.cells, 0))[0])\n"
    )
    code = (
        "import games\nfrom tensorflow import keras\n\nmodel = keras.models.load_model('m')\n\n\n"
        "def choose(cells):\n    return model.predict(cells, verbose=0)\n\n\ngames.play(choose)\n"
    )
    assert ("TFG206", 8) in found(code, tmp_path)
    once = (tmp_path / "games.py").read_text().replace("while not board.is_over:", "if board:")
    (tmp_path / "games.py").write_text(once)
    assert "TFG206" not in codes(code, tmp_path)


def test_a_loop_that_gets_an_object_of_a_third_file(tmp_path: Path) -> None:
    """Protects agents whose loop stands in a file without a word of Keras, which gets the network's object."""
    (tmp_path / "nets.py").write_text(
        "import tensorflow as tf\n\n\nclass Net(tf.keras.Model):\n    def call(self, x):\n        return x\n\n"
        "    def move(self, board):\n        return self.predict(board)\n"
    )
    player = (
        "class Player:\n    def __init__(self, net):\n        self.net = net\n\n    def play(self, world):\n"
        "        board, over = world.reset(), False\n        while not over:\n"
        "            board, over = world.step(self.net.move(board[None, :]))\n"
    )
    (tmp_path / "players.py").write_text(player)
    code = "from nets import Net\nfrom players import Player\nPlayer(Net()).play(world)\n"
    assert ("TFG206 nets.py", 9) in found(code, tmp_path)
    (tmp_path / "players.py").write_text(player.replace("while not over:", "if not over:"))
    assert ("TFG206 nets.py", 9) not in found(code, tmp_path)


KERAS_2 = Target((2, 14), 2, "requirements.txt")
TEXTS = {
    "of a literal, longer each time": (
        "def following(words):\n    return chr(model.predict([words])[0].argmax())\n"
        "def write(words, count=50):\n    for _ in range(count):\n        words += following(words)\n    return words\n"
        "write('It was a dark')\nwrite('Once')\n"
    ),
    "split": "for word in 'a b c d e f g'.split():\n    model.predict([word.lower()])\n",
    "formatted": "for number in range(99):\n    model.predict([f'{number} days'])\n",
    "joined": "for words in lines:\n    model.predict(['\\t'.join(words) + chr(0)])\n",
    "lines of a file": "for line in open('a.txt'):\n    model.predict([line.strip()])\n",
    "lines that are read": "with open('a.txt', 'r') as f:\n    for line in f.readlines():\n        model.predict([line])\n",
    "a line after the other": "f = open('a.txt')\nwhile True:\n    model.predict([f.readline()])\n",
    "numbers": "for value in lines:\n    model.predict([[1.5, value]])\n",
}
NO_TEXTS = {
    "of bytes of a file": "for line in open('a.bin', 'rb'):\n    model.predict([line])\n",
    "of anything": "for line in lines:\n    model.predict([line])\n",
    "of arrays that are joined": "for rows in lines:\n    model.predict([separator.join(rows)])\n",
    "of two": "for number in range(99):\n    model.predict([f'{number} days', 'a'])\n",
    "of what a caller may pass": (
        "def score(rows):\n    return model.predict([rows])\nfor i in range(99):\n    score(x[i])\nscore('a')\n"
    ),
}


@_table(TEXTS)
def test_a_list_of_one_text_is_a_row_for_keras_2(code: str, tmp_path: Path) -> None:
    """Protects truth: Keras 2 takes a list of texts or numbers, Keras 3 refuses it."""
    assert [node for node, _ in _of_206(HEAD + code, tmp_path, KERAS_2)] == ["predict"]
    assert _of_206(HEAD + code, tmp_path) == []


@_table(TEXTS)
def test_a_list_is_nothing_for_predict_on_batch(code: str, tmp_path: Path) -> None:
    """Protects from a fix that raises: `predict_on_batch` of Keras 2 makes no array of a list."""
    (finding,) = (f for rule, f in findings(HEAD + code, tmp_path, target=KERAS_2) if rule.code == "TFG206")
    assert finding.fix is None
    code = "for row in x:\n    model.predict([row[None]])\n"
    (finding,) = (f for rule, f in findings(HEAD + code, tmp_path, target=KERAS_2) if rule.code == "TFG206")
    assert finding.fix is not None


@_table(NO_TEXTS)
def test_a_list_of_one_input_is_no_row(code: str, tmp_path: Path) -> None:
    """Protects models with their one input in a list: it may be a batch."""
    assert _of_206(HEAD + code, tmp_path, KERAS_2) == []


def test_notebook(tmp_path: Path) -> None:
    """Protects notebooks: the model is built in one cell and asked in another."""
    cells = [HEAD, "%matplotlib inline\nfor row in x:\n    print(model.predict(row[np.newaxis]))\n"]
    assert "TFG206" in {code for code, _ in found(notebook(*cells), tmp_path, name="scores.ipynb")}


@pytest.mark.parametrize(
    ("body", "words"),
    [
        ("for row in x:\n    print(model.predict(row[None]))", "call `predict` once"),
        ("ys = [model.predict(row[None]) for row in x]", "call `predict` once"),
        ("for row in x:\n    print(np.argmax(model.predict(np.expand_dims(row, 0))))", "call `predict` once"),
        (
            "state = env.reset()\nfor _ in range(500):\n    action = np.argmax(model.predict(state[None])[0])\n"
            "    state, reward, done, info = env.step(action)",
            "@tf.function",
        ),
        (
            "tokens = [1]\nfor _ in range(500):\n    p = model.predict(np.array([tokens]))\n"
            "    tokens.append(np.argmax(p[0, -1]))",
            "@tf.function",
        ),
        (
            "out = np.zeros((1, 99))\nfor i in range(99):\n    p = model.predict(out)\n    out[0, i] = p.argmax()",
            "@tf.function",
        ),
        (
            "def act(state):\n    return np.argmax(model.predict(state[None]))\nstate = env.reset()\ndone = False\n"
            "while not done:\n    state, reward, done, _ = env.step(act(state))",
            "@tf.function",
        ),
        (
            "import cv2\ncap = cv2.VideoCapture(0)\nwhile True:\n    ok, frame = cap.read()\n    model.predict(frame[None])",
            "@tf.function",
        ),
    ],
    ids=[
        "rows",
        "comprehension",
        "NumPy before and after",
        "agent",
        "tokens",
        "filled array",
        "agent in a function",
        "frames",
    ],
)
def test_help_fits_what_the_rows_depend_on(body: str, words: str, tmp_path: Path) -> None:
    """Protects the advice: rows that need the result before them cannot go into one `predict`."""
    ((_, text),) = _of_206(HEAD + body, tmp_path)
    assert words in text


def test_rows_of_a_sequential_search_cannot_be_collected(tmp_path: Path) -> None:
    """Protects the advice: where a search goes next depends on what it kept of the answers before."""
    body = (
        "class Search:\n    def __init__(self):\n        self.seen = {}\n    def visit(self, state):\n"
        "        if state.tobytes() not in self.seen:\n            self.seen[state.tobytes()] = model.predict(state[None])\n"
        "            return\n        self.visit(self.best(state))\nsearch, root = Search(), np.zeros((3, 3))\n"
        "for _ in range(400):\n    search.visit(root)\n"
    )
    ((_, text),) = _of_206(HEAD + body, tmp_path)
    assert _WAITS in text


_WAITS, _STAYS = "needs the result before it", "is the same in all iterations"


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ("fake = np.zeros((1, 2))\nwhile True:\n    model.predict(fake)", _STAYS),
        ("fake = np.zeros(2)\nwhile True:\n    model.predict(np.expand_dims(fake, 0))", _STAYS),
        ("fake = np.zeros(2)\nfor _ in range(500):\n    model.predict(fake.reshape(1, -1))", _STAYS),
        ("fake = np.zeros((1, 2))\nwhile True:\n    camera.read(fake)\n    model.predict(fake)", ""),
        ("fake = np.zeros((1, 2))\nwhile True:\n    fake[0, 0] = camera.read()\n    model.predict(fake)", ""),
        ("fake = np.zeros((1, 2))\nwhile True:\n    model.predict(np.expand_dims(camera.read(fake), 0))", ""),
        ("fake = np.zeros((1, 2))\nwhile True:\n    model.load_weights(newest())\n    model.predict(fake)", ""),
        ("while True:\n    row = camera.read()\n    model.predict(row[None])", ""),
        ("state, done = env.reset(), False\nwhile not done:\n    p = model.predict(state[None])\n"
         "    state, reward, done, _ = env.step(p)", _WAITS),
        ("out = np.zeros(9)\nwhile True:\n    row = np.zeros((1, 9))\n    row[0] = out\n    p = model.predict(row)\n"
         "    out[0] = p.argmax()", _WAITS),
        ("while True:\n    frame = camera.read()\n    row = frame[None]\n    p = model.predict(row)\n"
         "    frame = draw(frame, p)\n    show(frame)", ""),
        ("for frame in x:\n    p = model.predict(frame[None])\n    frame = draw(frame, p)\n    show(frame)", ""),
        ("frame = camera.read()\nwhile True:\n    p = model.predict(frame[None])\n    frame = draw(frame, p)", _WAITS),
    ],
)  # fmt: skip
def test_help_claims_only_what_the_loop_shows(body: str, expected: str, tmp_path: Path) -> None:
    """Protects truth: rows wait for each other only where an answer leads to the next row."""
    ((_, text),) = _of_206(HEAD + body, tmp_path)
    assert {one for one in (_WAITS, _STAYS) if one in text} == {expected} - {""}


def test_tests_are_left_alone(tmp_path: Path) -> None:
    """Protects test suites from advice about speed."""
    assert found(HEAD + FOUND["slice"], tmp_path, name="tests/model.py") == set()


def test_tensorflow_1_is_left_alone(tmp_path: Path) -> None:
    """Protects programs for versions in which nothing was measured."""
    assert _of_206(HEAD + FOUND["slice"], tmp_path, Target((1, 15), 2, "pyproject.toml")) == []


def test_a_model_that_each_iteration_makes_is_not_one_model(tmp_path: Path) -> None:
    """Protects demonstrations that build the network, load its weights and look at one picture, again and again."""
    code = (
        "import numpy as np\nfrom tensorflow import keras\n"
        "def build():\n    entry = keras.Input((4,))\n    return keras.Model(entry, keras.layers.Dense(2)(entry))\n"
        "def show(net, picture):\n    return net.predict(np.expand_dims(picture, 0))\n"
        "while True:\n    net = build()\n    net.load_weights('w.h5')\n    show(net, np.random.random(4))\n"
    )
    assert "TFG206" not in codes(code, tmp_path)
    assert "TFG206" in codes(code.replace("while True:\n    net = build()\n", "net = build()\nwhile True:\n"), tmp_path)
