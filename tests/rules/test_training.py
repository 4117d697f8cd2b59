"""TFG201, TFG202, TFG207: batches of one and steps that nothing traces, and what only looks like them."""

from __future__ import annotations

import textwrap
from pathlib import Path

import pytest
from checks import ADVICE, codes, findings, fixed, found

HEAD = """
import numpy as np
import tensorflow as tf
from tensorflow import keras

model = keras.Sequential([keras.layers.Dense(1)])
optimizer = keras.optimizers.SGD()
dataset = tf.data.Dataset.from_tensor_slices((np.zeros((200, 2)), np.zeros(200)))
"""
STEP = """
    with tf.GradientTape() as tape:
        loss = tf.reduce_mean(model(x) - y)
    optimizer.apply_gradients(zip(tape.gradient(loss, model.trainable_variables), model.trainable_variables))
"""
PAIRS = """
actor, critic = keras.Sequential([keras.layers.Dense(2)]), keras.Sequential([keras.layers.Dense(1)])
for x, y in dataset.batch(4):
    with tf.GradientTape() as of_actor, tf.GradientTape() as of_critic:
        value = critic(x)
        advice, error = tf.reduce_mean(actor(x) * value), tf.reduce_mean((value - y) ** 2)
    for loss, t, net in [(advice, of_actor, actor), (error, of_critic, critic)]:
        optimizer.apply_gradients(zip(t.gradient(loss, net.trainable_variables), net.trainable_variables))
"""

OF_MODE = """
def make(x, training=True):
    ds = tf.data.Dataset.from_tensor_slices(x)
    if training:
        ds = ds.shuffle(100).batch(32)
    else:
        ds = ds.batch(1)
    return ds
"""
OF_SPLIT = """
def make(x, split):
    ds = tf.data.Dataset.from_tensor_slices(x)
    if split == "test":
        return ds.batch(1)
    elif split == "val":
        return ds.batch(1)
    return ds.batch(32)
"""
OF_OBJECT = """
class Data:
    def __init__(self, x, training):
        self.x = x
        self.training = training
    def make(self):
        ds = tf.data.Dataset.from_tensor_slices(self.x)
        return ds.batch(32) if self.training else ds.batch(1)
"""
BATCH_OF_ONE = {
    "a generator of single sequences": "def rows():\n    while True:\n"
    "        yield np.expand_dims([np.ones((7, 1))], axis=-1), np.ones((1, 1))\nmodel.fit(rows(), steps_per_epoch=9)",
    "the branch for validation": OF_MODE + "model.fit(make(x, False))",
    "a branch that is not known": OF_MODE + "import sys\nmodel.fit(make(x, len(sys.argv) > 1))",
    "one of two modes": OF_MODE + "for mode in (True, False):\n    model.fit(make(x, mode))",
    "the branch of an object": OF_OBJECT + "model.fit(Data(x, False).make())",
    "an object whose mode is set": OF_OBJECT + "data = Data(x, True)\ndata.training = False\nmodel.fit(data.make())",
    "a share of the rows": "kept = int(0.8 * len(x))\nmodel.fit(dataset.shuffle(99).take(kept).batch(1))",
    "a share of a dataset": "share = dataset.cardinality().numpy() * 4 // 5\nmodel.fit(dataset.batch(1).take(share))",
    "as many as a split has": "import tensorflow_datasets as tfds\nread, info = tfds.load('mnist', with_info=True)\n"
    "model.fit(dataset.shuffle(99).take(info.splits['train'].num_examples).batch(1))",
    "literal": "model.fit(x, y, batch_size=1)",
    "positional": "model.fit(x, y, 1)",
    "module constant": "BATCH = 1\nmodel.fit(x, y, batch_size=BATCH)",
    "order of the code": "bs = 16\nbs = 1\nmodel.fit(x, y, batch_size=bs)\nbs = 32",
    "dictionary": "CFG = {'batch_size': 1, 'epochs': 2}\nmodel.fit(x, y, **CFG)",
    "dict call": "CFG = dict(batch_size=1)\nmodel.fit(x, y, **CFG)",
    "nested dictionary": "CFG = {'fit': {'batch_size': 1}}\nmodel.fit(x, y, **CFG['fit'])",
    "ternary that agrees": "model.fit(x, y, batch_size=1 if flag else 1)",
    "arithmetic": "N = 4\nmodel.fit(x, y, batch_size=N // 4)",
    "batched dataset": "model.fit(dataset.batch(1))",
    "through variables": "ds = dataset.shuffle(8)\nds = ds.batch(1)\nds = ds.prefetch(2)\nmodel.fit(ds)",
    "one branch": "if fast:\n    ds = dataset.batch(64)\nelse:\n    ds = dataset.batch(1)\nmodel.fit(ds)",
    "a loader's size by its place": "model.fit(tf.keras.utils.text_dataset_from_directory('d', 'inferred', 'int', None, 1))",
    "zip of datasets": "ds = tf.data.Dataset.zip((dataset, dataset)).batch(1)\nmodel.fit(ds)",
    "function": "def make():\n    return dataset.batch(1)\nmodel.fit(make())",
    "loop": "@tf.function\ndef step(x, y):" + STEP + "for x, y in dataset.batch(1):\n    step(x, y)",
    "iterator": "@tf.function\ndef step(x, y):"
    + STEP
    + "it = iter(dataset.batch(1))\nfor _ in range(8):\n    x, y = next(it)\n    step(x, y)",
    "directory": "model.fit(keras.utils.image_dataset_from_directory('d', batch_size=1))",
    "attribute": "class T:\n    def __init__(self):\n        self.bs = 1\n        self.m = keras.Sequential()\n"
    "    def run(self, x):\n        self.m.fit(x, x, batch_size=self.bs)",
    "compiled parameter": "def run(m, x):\n    m.compile(optimizer='sgd', loss='mse')\n    m.fit(x, x, batch_size=1)",
    "parameter with a known caller": "def run(m):\n    m.fit(x, y, batch_size=1)\nrun(model)",
    "parameter with Keras's keywords": "def run(m):\n    m.fit(x, y, batch_size=1, epochs=3)",
    "beside a stateful model of the same name": "def a():\n    net = keras.Sequential()\n    net.add(keras.layers.LSTM(4))\n"
    "    net.fit(x, y, batch_size=1)\ndef b():\n    net = keras.Sequential()\n"
    "    net.add(keras.layers.LSTM(4, stateful=True))\n    net.fit(x, y, batch_size=4)",
    "before a stateful model of the same name": "net = keras.Sequential()\nnet.add(keras.layers.LSTM(4))\n"
    "net.fit(x, y, batch_size=1)\nnet = keras.Sequential()\nnet.add(keras.layers.LSTM(4, stateful=True))",
    "beside a stateful model of another class": "class T:\n    def __init__(self):\n        self.m = keras.Sequential()\n"
    "        self.m.add(keras.layers.LSTM(4))\n    def run(self, x):\n        self.m.fit(x, x, batch_size=1)\n"
    "class S:\n    def __init__(self):\n        self.m = keras.Sequential()\n"
    "        self.m.add(keras.layers.LSTM(4, stateful=True))",
    "beside a stateful model": "rnn = keras.Sequential([keras.layers.LSTM(4, stateful=True)])\n"
    "rnn.fit(x, y, batch_size=1)\nmodel.fit(x, y, batch_size=1)",
    "generator of expanded rows": "def rows():\n    for a, b in zip(x, y):\n"
    "        yield np.expand_dims(a, 0), np.expand_dims(b, axis=0)\nmodel.fit(rows(), epochs=2)",
    "generator of slices": "def rows(a, b):\n    while True:\n        for i in range(99):\n"
    "            yield a[i:i + 1], b[i:i + 1]\nmodel.fit(rows(x, y), steps_per_epoch=99)",
    "generator of reshaped rows": "def rows():\n    for a in x:\n        yield a.reshape(1, -1), np.ones((1, 1))\n"
    "model.fit(rows())",
    "generator expression": "model.fit((a[None], b[None]) for a, b in zip(x, y))",
    "train_on_batch of a slice": "for i in range(99):\n    model.train_on_batch(x[i:i + 1], y[i:i + 1])",
    "train_on_batch of a slice two calls below a loop": "def learn(i):\n    model.train_on_batch(x[i:i + 1], y[i:i + 1])\n"
    "def advance(i):\n    learn(i)\nfor i in range(99):\n    advance(i)",
    "train_on_batch of a slice with a name": "for i in range(99):\n    row = x[i : i + 1]\n    model.train_on_batch(row, y)",
    "train_on_batch of a new axis with a name": "for a, b in zip(x, y):\n    row = a[None]\n    model.train_on_batch(row, b)",
    "train_on_batch of a new axis": "for a, b in zip(x, y):\n    model.train_on_batch(a[np.newaxis, ...], b)",
    "fit on a row by its name": "for i in range(99):\n    row = x[i:i + 1]\n    model.fit(row, y[i:i + 1], verbose=0)",
    "fit on a row that is drawn": (
        "import numpy as np\nfor turn in range(9999):\n    place = np.random.randint(0, 99)\n    row, mark = x[place], y[place]\n"
        "    model.fit(row[None], mark[None], verbose=0)"
    ),
    "fit on a slice for each row": "for i in range(99):\n    model.fit(x[i:i + 1], y[i:i + 1], verbose=0)",
    "fit on each row of a sample": "import random\nmemory = []\ndef remember(s, t):\n    memory.append((s, t))\n"
    "def replay():\n    for s, t in random.sample(memory, 32):\n        model.fit(s, t, epochs=1)\n"
    "for step in range(999):\n    s = np.reshape(env.step(0), [1, 4])\n    remember(s, 1.0)\n    replay()",
    "train_on_batch of an expanded row": "for a, b in zip(x, y):\n    row = tf.expand_dims(a, 0)\n"
    "    model.train_on_batch(row, b)",
}
NOT_A_BATCH_OF_ONE = {
    "the branch for training": OF_MODE + "model.fit(make(x, True), validation_data=make(y, False))",
    "the branch by default": OF_MODE + "model.fit(make(x), validation_data=make(y, training=False))",
    "the split for training": OF_SPLIT + "model.fit(make(x, 'train'), validation_data=make(y, 'val'))",
    "the object for training": OF_OBJECT + "model.fit(Data(x, True).make(), validation_data=Data(y, False).make())",
    "the attribute for training": "class Data:\n    def __init__(self, x, training):\n"
    "        self.ds = tf.data.Dataset.from_tensor_slices(x)\n        if training:\n            self.ds = self.ds.batch(32)\n"
    "        else:\n            self.ds = self.ds.batch(1)\n"
    "model.fit(Data(x, True).ds, validation_data=Data(y, False).ds)",
    "another backend": "import os\nos.environ['KERAS_BACKEND'] = 'torch'\nmodel.fit(x, y, batch_size=1)",
    "other size": "model.fit(x, y, batch_size=32)",
    "reassigned": "bs = 1\nbs = 16\nmodel.fit(x, y, batch_size=bs)",
    "predict": "model.predict(x, batch_size=1)",
    "evaluate": "model.evaluate(dataset.batch(1))",
    "validation": "model.fit(dataset.batch(32), validation_data=dataset.batch(1))",
    "parameter": "def run(batch_size=1):\n    model.fit(x, y, batch_size=batch_size)",
    "argparse": "import argparse\np = argparse.ArgumentParser()\np.add_argument('--bs', default=1)\n"
    "model.fit(x, y, batch_size=p.parse_args().bs)",
    "environment": "import os\nmodel.fit(x, y, batch_size=int(os.environ.get('BS', 1)))",
    "ternary": "model.fit(x, y, batch_size=1 if debug else 32)",
    "changed dictionary": "CFG = {'batch_size': 1}\nCFG['batch_size'] = 32\nmodel.fit(x, y, **CFG)",
    "re-batched": "model.fit(dataset.batch(1).unbatch().batch(32))",
    "stateful": "model = keras.Sequential([keras.layers.LSTM(4, stateful=True)])\nmodel.fit(x, y, batch_size=1)",
    "another library": "from sklearn.neural_network import MLPRegressor\nMLPRegressor().fit(x, y, batch_size=1)",
    "unknown receiver": "from elsewhere import net\nnet.fit(x, y, batch_size=1)",
    "ignored with a dataset": "model.fit(dataset.batch(32), batch_size=1)",
    "only a loop": "for x, y in dataset.batch(1):\n    print(x)",
    "window": "ds = dataset.window(4).flat_map(lambda a, b: a.batch(1)).batch(8)\nmodel.fit(ds)",
    "True is no size": "model.fit(x, y, batch_size=True)",
    "argparse with a type": "import argparse\np = argparse.ArgumentParser()\n"
    "p.add_argument('--batch_size', type=int, default=1)\nargs = p.parse_args()\n"
    "model.fit(x, y, batch_size=args.batch_size, epochs=2)",
    "scikit-learn's own option": "from sklearn.neural_network import MLPClassifier\n"
    "MLPClassifier(batch_size=1).fit(x, y)",
    "scikit-learn as a parameter": "from sklearn.neural_network import MLPRegressor\n"
    "def run(net):\n    net.fit(x, y, batch_size=1)\nrun(MLPRegressor())",
    "Lightning": "import lightning\ntrainer = lightning.Trainer()\ntrainer.fit(net, x, batch_size=1)",
    "a wrapper around torch": "import torch\nfrom skorch import NeuralNetRegressor\n"
    "net = NeuralNetRegressor(torch.nn.Linear(2, 1))\nnet.fit(x, y, batch_size=1)",
    "only the stateful model": "rnn = keras.Sequential([keras.layers.LSTM(4, stateful=True)])\n"
    "rnn.fit(x, y, batch_size=1)\nmodel.fit(x, y, batch_size=16)",
    "generator of batches": "def rows():\n    for i in range(0, 96, 32):\n        yield x[i:i + 32], y[i:i + 32]\n"
    "model.fit(rows())",
    "several inputs of one row": "first = x[:1]\nfor i in range(99):\n    model.fit([first, x[i:i + 1]], y[i:i + 1], epochs=500)",
    "generator whose rows differ": "def rows():\n    yield x[:1], y[:1]\n    yield x[1:], y[1:]\nmodel.fit(rows())",
    "train_on_batch of more rows": "for i in range(9):\n    model.train_on_batch(x[i:i + 8], y[i:i + 8])",
    "fit on a row that comes after the last one": "for step in range(999):\n    s = np.reshape(env.step(0), [1, 4])\n"
    "    model.fit(s, y)",
    "fit on a row while there is more": "while True:\n    s = np.reshape(env.step(0), [1, 4])\n    model.fit(s, y)",
    "fit on what a step gives": (
        "for turn in range(9999):\n    state = world.step(turn)\n    model.fit(state[None], y[:1], verbose=0)"
    ),
    "fit on one row once": "model.fit(x[:1], y[:1])",
    "fit on rows that another loop goes over": "for i in range(99):\n    for epoch in range(9):\n        model.fit(x[i:i + 1], y)",
    "train_on_batch once": "model.train_on_batch(x[:1], y[:1])",
    "prediction of one row": "for i in range(99):\n    model.predict_on_batch(x[i:i + 1])",
    "absl flag": "from absl import flags\nflags.DEFINE_integer('batch_size', 1, 'rows')\nFLAGS = flags.FLAGS\n"
    "model.fit(x, y, batch_size=FLAGS.batch_size)",
    "absl flag of a dataset": "from absl import flags\nSIZE = flags.DEFINE_integer('batch_size', 1, 'rows')\n"
    "model.fit(dataset.batch(SIZE.value))",
    "click option": "import click\n@click.command()\n@click.option('--size', default=1)\ndef main(size):\n"
    "    model.fit(x, y, batch_size=size)\nmain()",
    "command line of fire": "import fire\ndef main(size=1):\n    model.fit(x, y, batch_size=size)\nfire.Fire(main)",
    "argparse into a function": "import argparse\ndef train(bs):\n    model.fit(dataset.batch(bs))\np = argparse.ArgumentParser()\n"
    "p.add_argument('--bs', type=int, default=1)\nargs = p.parse_args()\ntrain(args.bs)",
    "argparse vars": "import argparse\np = argparse.ArgumentParser()\np.add_argument('--batch_size', type=int, default=1)\n"
    "model.fit(x, y, **vars(p.parse_args()))",
    "sys.argv": "import sys\nbs = int(sys.argv[1]) if len(sys.argv) > 1 else 1\nmodel.fit(x, y, batch_size=bs)",
    "test set": "test = dataset.batch(1)\nmodel.evaluate(test)\nfor x, y in test:\n    print(model(x))",
    "validation inside the training loop": "@tf.function\ndef step(x, y):"
    + STEP
    + "val = dataset.batch(1)\nfor epoch in range(9):\n    for x, y in dataset.batch(8):\n        step(x, y)\n"
    "    for x, y in val:\n        print(model(x))",
    "one element": "model.fit(dataset.take(1).batch(1))",
    "at most a few": "model.fit(dataset.take(min(4, len(x))).batch(1))",
    "a number of which nothing is known": "import sys\nmodel.fit(dataset.take(int(sys.argv[1])).batch(1))",
    "one element later": "one = dataset.take(1)\none = one.repeat(9)\none = one.batch(1)\nmodel.fit(one)",
    "one batch": "model.fit(dataset.batch(1).take(1))",
    "agent of TensorFlow 1": "tf.compat.v1.disable_eager_execution()\nfor state, target in replay:\n"
    "    model.fit(state, target, batch_size=1, epochs=1, verbose=0)",
    "agent of TensorFlow 1, one transition": "tf.compat.v1.disable_v2_behavior()\nfor a, b in zip(x, y):\n    model.train_on_batch(a[None], b)",
    "agent of TensorFlow 1 with sessions": "s = tf.Session()\nfor state, target in replay:\n    model.fit(state, target, batch_size=1, verbose=0)",
    "batch shape of one": "rnn = keras.Sequential([keras.Input(batch_shape=(1, 4, 2)), keras.layers.GRU(4, stateful=True)])\n"
    "rnn.fit(x, y, batch_size=1, shuffle=False)",
    "batch_input_shape of one": "rnn = keras.Sequential()\nrnn.add(keras.layers.LSTM(4, batch_input_shape=(1, 4, 2), stateful=True))\n"
    "rnn.fit(x, y, batch_size=1, shuffle=False)",
    "stateful layers that another function adds": "def fill(m):\n    m.add(keras.layers.LSTM(4, stateful=True))\n"
    "rnn = keras.Sequential()\nfill(rnn)\nrnn.fit(x, y, batch_size=1)",
    "stateful layers that a function nobody calls adds": "def fill(rnn):\n    rnn.add(keras.layers.LSTM(4, stateful=True))\n"
    "rnn = keras.Sequential()\napply(fill, rnn)\nrnn.fit(x, y, batch_size=1)",
    "stateful layers that a method adds": "class T:\n    def __init__(self):\n        self.m = keras.Sequential()\n"
    "    def fill(self):\n        self.m.add(keras.layers.LSTM(4, stateful=True))\n"
    "    def run(self, x):\n        self.m.fit(x, x, batch_size=1)",
    "stateful by a name": "def make(state):\n    m = keras.Sequential()\n    m.add(keras.layers.LSTM(4, stateful=state))\n"
    "    return m\nrnn = make(True)\nrnn.fit(x, y, batch_size=1)",
    "stateful functional": "i = keras.Input(batch_shape=(1, 4, 2))\nrnn = keras.Model(i, keras.layers.LSTM(4, stateful=True)(i))\n"
    "rnn.fit(x, y, batch_size=1)",
    "stateful cell": "i = keras.Input(batch_shape=(1, 4, 2))\n"
    "rnn = keras.Model(i, keras.layers.RNN(keras.layers.LSTMCell(4), stateful=True)(i))\n"
    "rnn.fit(x, y, batch_size=1)",
    "stateful in a class": "class T:\n    def __init__(self):\n"
    "        self.m = keras.Sequential([keras.layers.LSTM(4, stateful=True)])\n    def run(self, x):\n"
    "        self.m.fit(x, x, batch_size=1)",
    "directory that is evaluated": "ds = keras.utils.image_dataset_from_directory('d', batch_size=1)\nmodel.evaluate(ds)\nmodel.predict(ds)",
    "re-batched later": "ds = dataset.batch(1)\nds = ds.map(f).rebatch(32)\nmodel.fit(ds)",
    "XGBoost": "import xgboost\nxgboost.XGBRegressor().fit(x, y, batch_size=1)",
}
LOSS = "def step(x, y):\n    def loss():\n        return tf.reduce_mean(model(x) - y)\n"
SUMMED = """
sums = [tf.Variable(tf.zeros_like(w)) for w in model.trainable_variables]
for x, y in dataset:
    with tf.GradientTape() as t:
        error = tf.reduce_mean(model(x) - y)
    slopes = t.gradient(error, model.trainable_variables)
    {adding}
optimizer.apply_gradients(zip(sums, model.trainable_variables))
"""
KEPT = """
class Dream:
    def __init__(self, image):
        self.image, self.other = tf.Variable(image), tf.Variable(image)
    def slope(self):
        with tf.GradientTape() as t:
            t.watch(self.image)
            score = tf.reduce_mean(model(self.image))
        return t.gradient(score, self.image)
    def follow(self, rounds):
        for _ in range(rounds):
            optimizer.apply_gradients([(-self.slope(), {applying})])
Dream(z).follow(200)
"""
EAGER = {
    "minimize": LOSS + "    optimizer.minimize(loss, model.trainable_variables)\nfor x, y in dataset:\n    step(x, y)",
    "minimize of a lambda": "sgd = tf.optimizers.SGD()\nfor x, y in dataset:\n"
    "    sgd.minimize(var_list=model.variables, loss=lambda: tf.reduce_sum(model(x) - y))",
    "minimize of a method": "class Fit:\n    def __init__(self):\n        self.opt = keras.optimizers.Adam()\n"
    "    def cost(self):\n        return tf.reduce_sum(model(self.x))\n    def run(self):\n        for self.x, _ in dataset:\n"
    "            self.opt.minimize(self.cost, model.trainable_weights)\nFit().run()",
    "inline": "for x, y in dataset:" + STEP.replace("\n", "\n"),
    "function": "def step(x, y):" + STEP + "for x, y in dataset:\n    step(x, y)",
    "through another": "def step(x, y):" + STEP + "def epoch():\n    for x, y in dataset:\n        step(x, y)\nepoch()",
    "while": "def step(x, y):" + STEP + "while True:\n    step(x, y)",
    "method": "class T:\n    def step(self, x, y):"
    + STEP.replace("\n", "\n    ")
    + "\n    def run(self):\n        for x, y in dataset:\n            self.step(x, y)\nT().run()",
    "app.run": "from absl import app\ndef main(argv):\n    for x, y in dataset:"
    + STEP.replace("\n", "\n    ")
    + "\napp.run(main)",
    "strategy.run": "s = tf.distribute.MirroredStrategy()\ndef step(x, y):"
    + STEP
    + "for x, y in dataset:\n    s.run(step, args=(x, y))",
    "optimizer.minimize beside": "for x, y in dataset:\n    with tf.GradientTape() as t:\n        l = model(x)\n"
    "    optimizer.minimize(l, model.trainable_variables, tape=t)",
    "tape in the call of a model": "class M(keras.Model):\n    def call(self, pair):\n        x, y = pair"
    + STEP.replace("\n", "\n    ")
    + "\nm = M()\nfor pair in dataset:\n    m(pair)",
    "train_step that the call runs": "class M(keras.Model):\n    def train_step(self, pair):\n        x, y = pair"
    + STEP.replace("\n", "\n    ")
    + "\n    def call(self, pair):\n        return self.train_step(pair)\nm = M()\nfor pair in dataset:\n    m(pair)",
    "step as a parameter": "def step(x, y):"
    + STEP
    + "def run(one, data):\n    for x, y in data:\n        one(x, y)\nrun(step, dataset)",
    "step as a keyword argument": "def step(x, y):"
    + STEP
    + "def run(data, one):\n    for x, y in data:\n        one(x, y)\nrun(dataset, one=step)",
    "step in a dictionary": "def step(x, y):"
    + STEP
    + "STEPS = {'sgd': step}\nfor x, y in dataset:\n    STEPS['sgd'](x, y)",
    "step that reads values": "def step(x, y):"
    + STEP
    + "    print(loss.numpy())\nfor x, y in dataset:\n    step(x, y)",
    "weights by their names": "w, b = tf.Variable(1.0), tf.Variable(0.0)\nfor x, y in dataset:\n"
    "    with tf.GradientTape() as t:\n        l = tf.reduce_mean(w * x + b - y)\n"
    "    dw, db = t.gradient(l, [w, b])\n    w.assign_sub(0.1 * dw)\n    b.assign_sub(0.1 * db)",
    "weight in one expression": "w = tf.Variable(1.0)\nfor x, y in dataset:\n"
    "    with tf.GradientTape() as t:\n        l = tf.reduce_mean(w * x - y)\n    w.assign_add(0.1 * t.gradient(l, w))",
    "weights in pairs": "def step(x, y):\n    with tf.GradientTape() as t:\n        l = tf.reduce_mean(model(x) - y)\n"
    "    weights = model.trainable_variables\n    for v, g in zip(weights, t.gradient(l, weights)):\n"
    "        v.assign_sub(0.1 * g)\nfor x, y in dataset:\n    step(x, y)",
    "weights in a dictionary": "weights = {'w': tf.Variable(1.0)}\nfor x, y in dataset:\n"
    "    with tf.GradientTape() as t:\n        l = tf.reduce_mean(weights['w'] * x - y)\n"
    "    g = t.gradient(l, weights)\n    weights['w'].assign_sub(0.1 * g['w'])",
    "comprehension": "def step(x, y):" + STEP + "    return loss\nlosses = [step(x, y) for x, y in dataset]",
    "weights that the tape is told to watch": "for x, y in dataset:"
    + STEP.replace("as tape:\n", "as tape:\n        tape.watch(model.trainable_variables)\n"),
    "weights that the tape is told to watch, by a name": "for x, y in dataset:\n    w = model.trainable_variables"
    + STEP.replace("model.trainable_variables", "w").replace("as tape:\n", "as tape:\n        tape.watch(w)\n"),
    "a tape of the same name that watches": "image = tf.Variable(z)\nfor _ in range(99):\n"
    "    with tf.GradientTape() as tape:\n        tape.watch(image)\n        loss = tf.reduce_mean(model(image))\n"
    "    optimizer.apply_gradients([(tape.gradient(loss, image), image)])\n"
    "for _ in range(99):\n    with tf.GradientTape() as tape:\n        loss = tf.reduce_mean(model(image))\n"
    "    optimizer.apply_gradients([(tape.gradient(loss, image), image)])",
    "a process of one's own": "from multiprocessing import Process\nclass W(Process):\n    def run(self):\n"
    "        while self.rows.qsize():\n            x, y = self.rows.get()" + STEP.replace("\n", "\n        "),
    "an image that the tape is told to watch": "image = tf.Variable(z)\nfor _ in range(99):\n"
    "    with tf.GradientTape() as tape:\n        tape.watch(image)\n        loss = tf.reduce_mean(model(image))\n"
    "    optimizer.apply_gradients([(tape.gradient(loss, image), image)])",
    "sums that an optimizer gets after the loop": SUMMED.format(
        adding="[s.assign_add(d) for s, d in zip(sums, slopes)]"
    ),
    "sums by their places": SUMMED.format(adding="for i, d in enumerate(slopes):\n        sums[i].assign_add(d)"),
    "sums that are made again": SUMMED.format(adding="sums = [s + d for s, d in zip(sums, slopes)]"),
    "an image that an object keeps, changed by another method": KEPT.format(applying="self.image"),
    "an image named as weights are": "variables = tf.Variable(z)\nfor _ in range(99):\n"
    "    with tf.GradientTape() as tape:\n        tape.watch(variables)\n        loss = tf.reduce_mean(model(variables))\n"
    "    optimizer.apply_gradients([(tape.gradient(loss, variables), variables)])",
    "gradients of an image": "image = tf.zeros((1, 2))\nfor _ in range(99):\n"
    "    with tf.GradientTape() as t:\n        t.watch(image)\n        l = tf.reduce_mean(model(image))\n"
    "    image = image + 0.01 * t.gradient(l, image)",
    "an image by a function that gives the next one": "def climb(image, rate):\n    with tf.GradientTape() as t:\n"
    "        t.watch(image)\n        l = tf.reduce_mean(model(image))\n    return l, image + rate * t.gradient(l, image)\n"
    "image = tf.zeros((1, 2))\nfor _ in range(99):\n    loss, image = climb(image, 0.01)",
    "two tapes whose gradients a loop takes": PAIRS,
    "a line that is no variable": "w, b = tf.zeros((2, 1)), tf.zeros(1)\nfor _ in range(99):\n    with tf.GradientTape() as t:\n"
    "        t.watch([w, b])\n        l = tf.reduce_mean((x @ w + b - y) ** 2)\n    dw, db = t.gradient(l, [w, b])\n"
    "    w -= 0.1 * dw\n    b -= 0.1 * db",
}
NOT_EAGER = {
    "a loop that a base class elsewhere may run": "from elsewhere import Worker\nclass W(Worker):\n    def run(self):\n"
    "        for x, y in dataset:" + STEP.replace("\n", "\n        "),
    "a loop that takes the gradients of other tapes": PAIRS.replace("as of_", "as other_of_"),
    "slopes that are only looked at, beside sums of rows": SUMMED.format(
        adding="[s.assign_add(x) for s, d in zip(sums, slopes)]"
    ),
    "gradients of an image that an object keeps, for something else": KEPT.format(applying="self.other"),
    "an image for each of several": "for image in images:\n    with tf.GradientTape() as t:\n        t.watch(image)\n"
    "        l = tf.reduce_mean(model(image))\n    image = image + 0.01 * t.gradient(l, image)\n    made.append(image)",
    "a tape that only shares its name with one that is read": "for x, y in dataset:\n"
    "    with tf.GradientTape() as tape:\n        loss = tf.reduce_mean(model(x) - y)\n    optimizer.apply_gradients(known)\n"
    "with tf.GradientTape() as tape:\n    loss = tf.reduce_mean(model(x) - y)\n"
    "gradients = tape.gradient(loss, model.trainable_variables)",
    "decorated": "@tf.function\ndef step(x, y):" + STEP + "for x, y in dataset:\n    step(x, y)",
    "called with arguments": "@tf.function(jit_compile=True)\ndef step(x, y):"
    + STEP
    + "for x, y in dataset:\n    step(x, y)",
    "wrapped": "def step(x, y):" + STEP + "step = tf.function(step)\nfor x, y in dataset:\n    step(x, y)",
    "wrapped under another name": "def step(x, y):"
    + STEP
    + "fast = tf.function(step)\nfor x, y in dataset:\n    fast(x, y)",
    "wrapped partial": "import functools\ndef step(x, y):"
    + STEP
    + "fast = tf.function(functools.partial(step))\nfor x, y in dataset:\n    fast(x, y)",
    "caller decorated": "def step(x, y):"
    + STEP
    + "@tf.function\ndef both(x, y):\n    step(x, y)\nfor x, y in dataset:\n    both(x, y)",
    "loop inside": "@tf.function\ndef epoch():\n    for x, y in dataset:" + STEP.replace("\n", "\n    ") + "\nepoch()",
    "no loop": STEP.replace("\n    ", "\n"),
    "train_step of a model": "class M(keras.Model):\n    def train_step(self, data):\n        x, y = data"
    + STEP.replace("\n", "\n    ").replace("model", "self"),
    "may be wrapped": "def step(x, y):"
    + STEP
    + "run = tf.function(step) if graph else step\nfor x, y in dataset:\n    run(x, y)",
    "handed on": "from elsewhere import loop\ndef step(x, y):"
    + STEP
    + "loop(step)\nfor x, y in dataset:\n    step(x, y)",
    "unknown decorator": "from elsewhere import fast\n@fast\ndef step(x, y):"
    + STEP
    + "for x, y in dataset:\n    step(x, y)",
    "method wrapped in __init__": "class T:\n    def __init__(self):\n        self.fast = tf.function(self.step)\n"
    "    def step(self, x, y):"
    + STEP.replace("\n", "\n    ")
    + "\n    def run(self):\n        for x, y in dataset:\n            self.fast(x, y)\nT().run()",
    "hook of a base class": "from elsewhere import Agent\nclass A(Agent):\n    def _train(self, x, y):\n"
    "        for i in range(3):" + STEP.replace("\n", "\n        "),
    "eager on purpose": "mode = 'eager'\nif mode == 'eager':\n    for x, y in dataset:" + STEP.replace("\n", "\n    "),
    "no update": "for x, y in dataset:\n    with tf.GradientTape() as t:\n        l = model(x)\n    print(t.gradient(l, x))",
    "graphs of TensorFlow 1": "tf.compat.v1.disable_eager_execution()\nfor x, y in dataset:" + STEP,
    "gradients of a log-sum": "beta, seen = tf.constant(1.0), tf.Variable(0)\nfor x, y in dataset:\n"
    "    with tf.GradientTape() as t:\n        t.watch(beta)\n        z = tf.reduce_logsumexp(-beta * x)\n"
    "    print(t.gradient(z, beta))\n    seen.assign_add(1)",
    "gradients of a log-sum by a variable": "beta = tf.Variable(1.0)\nfor _ in range(99):\n"
    "    with tf.GradientTape() as t:\n        z = tf.reduce_logsumexp(-beta * np.arange(4.0))\n"
    "    print(t.gradient(z, beta))\n    beta.assign_add(0.1)",
    "model whose call takes gradients": "class Slope(keras.Model):\n    def call(self, x):\n"
    "        with tf.GradientTape() as t:\n            t.watch(x)\n            y = model(x)\n"
    "        return t.gradient(y, x)\nm, seen = Slope(), tf.Variable(0)\nfor x, y in dataset:\n    m(x)\n"
    "    seen.assign_add(1)",
    "traced step as a parameter": "@tf.function\ndef step(x, y):"
    + STEP
    + "def run(one, data):\n    for x, y in data:\n        one(x, y)\nrun(step, dataset)",
    "step traced where it is passed": "def step(x, y):"
    + STEP
    + "def run(one, data):\n    for x, y in data:\n        one(x, y)\nrun(tf.function(step), dataset)",
    "step traced by the loop's function": "def step(x, y):"
    + STEP
    + "def run(one, data):\n    one = tf.function(one)\n    for x, y in data:\n        one(x, y)\nrun(step, dataset)",
    "traced call of a model": "class M(keras.Model):\n    @tf.function\n    def call(self, pair):\n        x, y = pair"
    + STEP.replace("\n", "\n    ")
    + "\nm = M()\nfor pair in dataset:\n    m(pair)",
    "strategy.run inside tf.function": "s = tf.distribute.MirroredStrategy()\ndef step(x, y):"
    + STEP
    + "@tf.function\ndef both(x, y):\n    s.run(step, args=(x, y))\nfor x, y in dataset:\n    both(x, y)",
    "strategy.run of a method inside tf.function": "class T:\n    def __init__(self):\n        self.s = tf.distribute.MirroredStrategy()\n"
    "    def step(self, x, y):"
    + STEP.replace("\n", "\n    ")
    + "\n    @tf.function\n    def both(self, x, y):\n        return self.s.run(self.step, args=(x, y))\n"
    "    def run(self):\n        for x, y in dataset:\n            self.both(x, y)\nT().run()",
    "call of a model inside tf.function": "class M(keras.Model):\n    def call(self, pair):\n        x, y = pair"
    + STEP.replace("\n", "\n    ")
    + "\nm = M()\n@tf.function\ndef go(pair):\n    return m(pair)\nfor pair in dataset:\n    go(pair)",
    "wrapped by keyword": "class T:\n    def __init__(self):\n        self.train = tf.function(func=self._train)\n"
    "    def _train(self, x, y):"
    + STEP.replace("\n", "\n    ")
    + "\n    def run(self):\n        for x, y in dataset:\n            self.train(x, y)\nT().run()",
    "wrapped method of an object": "class Descent:\n    def step(self, x, y):"
    + STEP.replace("\n", "\n    ")
    + "\nsgd = Descent()\nstep = tf.function(sgd.step)\nfor x, y in dataset:\n    step(x, y)",
    "decorated in a factory": "def make(model):\n    @tf.function\n    def step(x, y):"
    + STEP.replace("\n", "\n    ")
    + "\n    return step\nstep = make(model)\nfor x, y in dataset:\n    step(x, y)",
    "factory with a choice": "def make(model, eager):\n    def step(x, y):"
    + STEP.replace("\n", "\n    ")
    + "\n    return step if eager else tf.function(step)\nstep = make(model, flag)\nfor x, y in dataset:\n"
    "    step(x, y)",
    "gradient penalty": "def penalty(x):\n    with tf.GradientTape() as t:\n        t.watch(x)\n        p = model(x)\n"
    "    return tf.reduce_mean(tf.norm(t.gradient(p, x)))\n@tf.function\ndef step(x, y):\n"
    "    with tf.GradientTape() as tape:\n        loss = tf.reduce_mean(model(x) - y) + penalty(x)\n"
    "    g = tape.gradient(loss, model.trainable_variables)\n"
    "    optimizer.apply_gradients(zip(g, model.trainable_variables))\nfor x, y in dataset:\n    step(x, y)",
    "derivatives that are summed beside": "def slopes(of, at):\n    with tf.GradientTape() as t:\n        t.watch(at)\n"
    "        value = of(at)\n    return value, t.gradient(value, at)\n"
    "def solved(start):\n    place, total = tf.identity(start), 0.0\n    for _ in range(500):\n"
    "        speed, slope = slopes(model, place)\n        place -= 0.01 * speed\n        total += slope\n"
    "    return place, total\nsolved(start)",
    "adversarial tape": "def attack(x, y):\n    with tf.GradientTape() as t:\n        t.watch(x)\n"
    "        loss = tf.reduce_mean(model(x) - y)\n    return x + 0.1 * tf.sign(t.gradient(loss, x))\n"
    "@tf.function\ndef step(x, y):\n    x = attack(x, y)" + STEP + "for x, y in dataset:\n    step(x, y)",
    "adversarial examples beside a traced step": "def attack(x, y):\n    with tf.GradientTape() as t:\n        t.watch(x)\n"
    "        loss = tf.reduce_mean(model(x) - y)\n    return x + 0.1 * tf.sign(t.gradient(loss, x))\n"
    "@tf.function\ndef step(x, y):" + STEP + "for x, y in dataset:\n    step(attack(x, y), y)",
    "statistics of gradients": "norms = []\nfor x, y in dataset:\n    with tf.GradientTape() as t:\n"
    "        loss = tf.reduce_mean(model(x) - y)\n    g = t.gradient(loss, model.trainable_variables)\n"
    "    norms.append(tf.linalg.global_norm(g).numpy())",
    "mean of gradients": "mean = keras.metrics.Mean()\nfor x, y in dataset:\n    with tf.GradientTape() as t:\n"
    "        loss = tf.reduce_mean(model(x) - y)\n"
    "    mean.update_state(tf.linalg.global_norm(t.gradient(loss, model.trainable_variables)))",
    "sum of norms": "total = tf.Variable(0.0)\nfor x, y in dataset:\n    with tf.GradientTape() as t:\n"
    "        loss = tf.reduce_mean(model(x) - y)\n    g = t.gradient(loss, model.trainable_variables)\n"
    "    total.assign_add(tf.linalg.global_norm(g))",
    "Fisher information": "fisher = [tf.Variable(tf.zeros_like(v), trainable=False) for v in model.trainable_variables]\n"
    "for x, y in dataset:\n    with tf.GradientTape() as t:\n        loss = tf.reduce_mean(model(x) - y)\n"
    "    for f, g in zip(fisher, t.gradient(loss, model.trainable_variables)):\n        f.assign_add(g ** 2)",
    "gradients of what a function computes": "def loss_of(x, y):\n    return tf.reduce_mean(model(x) - y)\n"
    "def learn(x, y):\n    with tf.GradientTape() as tape:\n        loss = loss_of(x, y)\n"
    "    return tape.gradient(loss, model.trainable_variables)\n"
    "for x, y in dataset.batch(4):\n    print(learn(x, y))",
    "a plain class without variables": "class Scale:\n    def __init__(self):\n        self.mean = np.load('mean.npy')\n"
    "    def __call__(self, x):\n        return x - self.mean\nscale = Scale()\nfor x, y in dataset.batch(4):\n    print(scale(x))",
    "left to subclasses, and traced": "class Base:\n    def __init__(self):\n        self.fast = tf.function(self.score)\n"
    "    def check(self, ds):\n        for x, y in ds:\n            print(self.fast(x))\n    def score(self, x):\n        raise NotImplementedError\n"
    "class Check(Base):\n    def score(self, x):\n        return model(x)\nCheck().check(dataset.batch(4))",
    "a constructor whose argument is another one": "class Base:\n    def __init__(self, net):\n        self.net = net\n"
    "class Check(Base):\n    def __init__(self, net):\n        super().__init__(str)\n    def run(self):\n"
    "        for x, y in dataset.batch(4):\n            print(self.net(x))\nCheck(model).run()",
    "explanation": "for x, y in dataset:\n    with tf.GradientTape() as t:\n        t.watch(x)\n"
    "        top = tf.reduce_max(model(x), axis=1)\n"
    "    maps.append(tf.reduce_mean(t.gradient(top, x), axis=(1, 2)))",
    "saliency of an activation": "for x, y in dataset:\n    with tf.GradientTape() as t:\n        features, out = both(x)\n"
    "        top = tf.reduce_max(out, axis=1)\n"
    "    heat = tf.reduce_mean(t.gradient(top, features), axis=(1, 2))\n    plt.imshow(heat)",
    "saliency of a variable": "for x, y in dataset:\n    image = tf.Variable(x)\n    with tf.GradientTape() as t:\n"
    "        top = tf.reduce_max(model(image))\n    maps.append(t.gradient(top, image))",
    "benchmark": "import time\nx = tf.zeros((8, 2))\nfor _ in range(100):\n    start = time.perf_counter()\n"
    "    with tf.GradientTape() as t:\n        loss = tf.reduce_mean(model(x))\n"
    "    t.gradient(loss, model.trainable_variables)\n    times.append(time.perf_counter() - start)",
    "tape in validation": "@tf.function\ndef step(x, y):"
    + STEP
    + "for epoch in range(9):\n    for x, y in dataset:\n        step(x, y)\n    for x, y in dataset:\n"
    "        with tf.GradientTape() as t:\n            loss = tf.reduce_mean(model(x) - y)\n"
    "        print(loss)",
    "tape in a validation step": "@tf.function\ndef step(x, y):"
    + STEP
    + "def check(x, y):\n    with tf.GradientTape() as t:\n        return tf.reduce_mean(model(x) - y)\n"
    "for x, y in dataset:\n    step(x, y)\n    check(x, y)",
}
OWN_DATA = """
class Stream:
    def __iter__(self):
        return self
    def __next__(self):
        return np.zeros((4, 2)), np.zeros(4)
class Table:
    def __len__(self):
        return 99
    def __getitem__(self, index):
        return np.zeros((4, 2)), np.zeros(4)
class Digits:
    def load(self):
        return dataset.batch(4)
def digits():
    return dataset.batch(4)
"""
DISTRIBUTED = """
s = tf.distribute.MirroredStrategy()
spread = s.experimental_distribute_dataset(dataset.batch(64))
"""
HOLDER = """
class Holder:
    def __init__(self, net):
        self.state = tf.train.Checkpoint(epoch=tf.Variable(1), net=net)
    def check(self, rows):
        for x, _ in rows:
            print(self.state.net(x))
"""
PREDICTING = """
class Net(keras.Model):
    def __init__(self):
        super().__init__()
        self.dense = keras.layers.Dense(1)
    {}
    def call(self, x):
        return self.dense(x)
    def over(self, rows):
        return [self.call(x) for x, _ in rows]
Net().over(dataset.batch(4))
"""
SONNET = """
import sonnet as snt
class Tower(snt.Module):
    def __init__(self, sizes):
        super().__init__()
        self.steps = [snt.Linear(size) for size in sizes]
    def __call__(self, x):
        for step in self.steps:
            x = step(x)
        return x
net = {}
for x, y in dataset.batch(4):
    print(net(x))
"""
SCORER = """
class Scorer:
    def __init__(self, rows, body=None):
        self.rows = rows
        {asks}
            body = {made}
        self.parts = dict(body=body)
    def score(self):
        for x, _ in self.rows.batch(4):
            print(self.parts["body"](x))
"""
ASKED = """
def scores(pairs, most=None):
    if most is not None:
        pairs = pairs.shuffle(99).take(most)
    for x, y in pairs:
        print(model(x))
scores(dataset)
scores(dataset, most={most})
"""
TYPED = """
def report(net: keras.Model, title):
    print(title)
class Probe:
    def __init__(self, title, net: keras.Model | None = None):
        self.net = net
def scores(net, rows: tf.data.Dataset):
    {given}
    for x, y in rows:
        print(net(x))
"""
FORWARD = {
    "a model by what a function declares that gets it": TYPED.format(given="report(net, 'before')"),
    "a model by what a constructor declares that gets it": TYPED.format(given="probe = Probe('p', net=net)"),
    "all batches, or as many as somebody asks for": ASKED.format(most="int(input())"),
    "a model that is made where none is given": SCORER.format(
        asks="if body is None:", made="keras.applications.VGG16()"
    ),
    "batches of as many rows as something else has": "x, other = load()\n"
    "for a in tf.data.Dataset.from_tensor_slices(x).batch(len(other)):\n    print(model(a))",
    "a model under a key": "nets = {'wide': keras.Sequential([keras.layers.Dense(9)]), 'deep': keras.Sequential([])}\n"
    "for x, y in dataset.batch(4):\n    print(nets['wide'](x))",
    "the models of a list": "nets = [keras.applications.VGG16(), keras.applications.VGG19()]\n"
    "for x, y in dataset.batch(4):\n    print([nets[k](x) for k in range(2)])",
    "slices of an array": "rows = np.load('rows.npy')\nouts = []\nfor k in range(0, len(rows), 64):\n"
    "    outs.append(model(rows[k:k + 64], training=False))\n",
    "network of a table of classes": "NETS = {'r': keras.applications.ResNet50, 'v': keras.applications.VGG16}\n"
    "def network(name):\n    return NETS[name](weights=None)\nnet = network(flag)\n"
    "for x, y in dataset.batch(4):\n    print(net(x))",
    "network of one branch or another": "class Deep(keras.Model):\n    pass\ndef wide():\n    return keras.Sequential([])\n"
    "make = Deep if flag else wide\nnet = make()\nfor x, y in dataset.batch(4):\n    print(net(x))",
    "its call by name": PREDICTING.replace("    {}\n", ""),
    "call of a plain network": "for x, y in dataset.batch(4):\n    print(model.call(x))",
    "what a checkpoint keeps": HOLDER + "Holder(model).check(dataset.batch(4))",
    "the whole element, unpacked": "def check(images, labels):\n    return model(images)\n"
    "for pair in dataset.batch(4):\n    check(*pair)",
    "partial": "from functools import partial\ndef apply(net, x):\n    return net(x)\nrun = partial(apply, model)\n"
    "for x, y in dataset.batch(4):\n    run(x)",
    "partial that a function gets": "import functools\ndef apply(x, net):\n    return net(x)\ndef over(f, rows):\n"
    "    for x, _ in rows:\n        f(x)\nover(functools.partial(apply, net=model), dataset.batch(4))",
    "partial of the network": "from functools import partial\nrun = partial(model, training=False)\n"
    "for x, y in dataset.batch(4):\n    print(run(x))",
    "partial of a network that a function gets": "import functools\ndef over(f, rows):\n    for x, _ in rows:\n        f(x)\n"
    "over(functools.partial(model, training=False), dataset.batch(4))",
    "Sonnet's own class": SONNET.format("Tower([3, 4])"),
    "Sonnet's network": SONNET.format("snt.nets.MLP([3, 4])"),
    "Sonnet's sequence": SONNET.format("snt.Sequential([snt.Linear(2), tf.nn.relu])"),
    "strategy.run": DISTRIBUTED + "def test_step(x):\n    return model(x, training=False)\n"
    "for x, y in spread:\n    s.run(test_step, args=(x,))",
    "strategy.run of a whole element": DISTRIBUTED
    + "def test_step(pair):\n    x, y = pair\n    return model(x, training=False)\n"
    "for pair in spread:\n    s.run(test_step, args=(pair,))",
    "strategy.run of a method": "class T:\n    def __init__(self):\n        self.s = tf.distribute.MirroredStrategy()\n"
    "    def test_step(self, x):\n        return model(x, training=False)\n    def check(self):\n"
    "        for x, y in self.s.experimental_distribute_dataset(dataset):\n"
    "            self.s.run(self.test_step, args=(x,))\nT().check()",
    "inline": "for x, y in dataset.batch(4):\n    print(model(x, training=False))",
    "without the flag": "for x, y in dataset.batch(4):\n    print(model(x))",
    "enumerate": "for i, (x, y) in enumerate(dataset.batch(4)):\n    print(model(x))",
    "function": "def test_step(x):\n    return model(x)\nfor x, y in dataset.batch(4):\n    test_step(x)",
    "in a function": "def validate(m, ds):\n    for x, y in ds:\n        m(x)\nvalidate(model, dataset.batch(4))",
    "zip": "for (x, y), z in zip(dataset, dataset):\n    model(x)",
    "dictionary of datasets": "sets = {'a': dataset.batch(4), 'b': dataset.batch(8)}\nfor name, ds in sets.items():\n"
    "    it = iter(ds)\n    for _ in range(99):\n        x, y = next(it)\n        print(model(x))",
    "dictionary of datasets that others join": "from elsewhere import more\nsets = {'a': dataset.batch(4)}\n"
    "sets.update(more())\nfor name, ds in sets.items():\n    it = iter(ds)\n    for _ in range(99):\n"
    "        x, y = next(it)\n        print(model(x))",
    "values of a dictionary": "sets = {'a': dataset.batch(4)}\nfor ds in sets.values():\n"
    "    for x, y in ds:\n        model(x)",
    "own iterator class": OWN_DATA + "for x, y in Stream():\n    model(x)",
    "own iterator class by next": OWN_DATA
    + "stream = Stream()\nfor _ in range(99):\n    x, y = next(stream)\n    model(x)",
    "generator": "def batches():\n    for i in range(99):\n        yield x_val[i * 8:i * 8 + 8]\n"
    "for x in batches():\n    model(x)",
    "registry of functions": OWN_DATA + "SETS = {'digits': digits}\nfor x, y in SETS['digits']():\n    model(x)",
    "registry of classes": OWN_DATA + "SETS = {'digits': Digits}\nfor x, y in SETS['digits']().load():\n    model(x)",
    "registry with an unknown key": OWN_DATA + "SETS = {'digits': Digits}\ndef check(name):\n"
    "    for x, y in SETS[name]().load():\n        model(x)",
    "parameters": "def check(net, data):\n    for x, y in data:\n        net(x, training=False)",
    "checkpoint": "c = tf.train.Checkpoint(model=model)\nfor x, y in dataset.batch(4):\n    c.model(x)",
    "checkpoint's model as a parameter": "c = tf.train.Checkpoint(model=model)\ndef check(net, data):\n"
    "    for x, y in data:\n        net(x)\ncheck(c.model, dataset.batch(4))",
    "tf.Module": "class M(tf.Module):\n    def __init__(self):\n        self.w = tf.Variable(2.0)\n"
    "    def __call__(self, x):\n        return tf.tanh(x * self.w) * self.w + tf.sin(x * self.w) - self.w\nm = M()\n"
    "for x, y in dataset.batch(4):\n    m(x)",
    "indexes of an own dataset": OWN_DATA
    + "table = Table()\nfor i in range(len(table)):\n    x, y = table[i]\n    model(x)",
    "a loss that the traced step has, too": "def loss_of(x, y):\n    return tf.reduce_mean(model(x) - y)\n@tf.function\n"
    "def step(x, y):\n    with tf.GradientTape() as tape:\n        loss = loss_of(x, y)\n"
    "    optimizer.apply_gradients(zip(tape.gradient(loss, model.trainable_variables), model.trainable_variables))\n"
    "for x, y in dataset.batch(4):\n    step(x, y)\nfor x, y in dataset.batch(4):\n    print(loss_of(x, y))",
    "a plain class with variables": "class Net:\n    def __init__(self):\n        self.w = tf.Variable(tf.random.normal([2, 1]))\n"
    "    def __call__(self, x):\n        return tf.tanh(x @ self.w) * 2.0 + tf.sin(x @ self.w) - 1.0\nnet = Net()\n"
    "for x, y in dataset.batch(4):\n    print(net(x))",
    "a plain class with a model": "class Net:\n    def __init__(self):\n        self.inner = model\n"
    "    def __call__(self, x):\n        return self.inner(x)\nnet = Net()\nfor x, y in dataset.batch(4):\n    print(net(x))",
    "a transformer of another package": "from transformers import TFBertModel\nbert = TFBertModel.from_pretrained('bert')\n"
    "for x, y in dataset.batch(4):\n    print(bert(x))",
    "collected outputs": "outputs = []\nfor x, y in dataset.batch(4):\n    outputs.append(model(x))",
    "comprehension": "outputs = [model(x, training=False) for x, y in dataset.batch(4)]",
    "left to a subclass": "class Base:\n    def check(self, ds):\n        for x, y in ds:\n            print(self.score(x))\n"
    "    def score(self, x):\n        raise NotImplementedError\nclass Check(Base):\n    def __init__(self):\n        self.net = model\n"
    "    def score(self, x):\n        return self.net(x)\nCheck().check(dataset.batch(4))",
    "a constructor of the base class": "class Base:\n    def __init__(self, net):\n        self.net = net\n"
    "class Check(Base):\n    def run(self):\n        for x, y in dataset.batch(4):\n            print(self.net(x))\nCheck(model).run()",
    "a constructor that the subclass calls": "class Base:\n    def __init__(self, net, name):\n        self.net = net\n"
    "class Check(Base):\n    def __init__(self, name):\n        super().__init__(model, name)\n    def run(self):\n"
    "        for x, y in dataset.batch(4):\n            print(self.net(x))\nCheck('a').run()",
    "many batches of a known data set": "(x, y), _ = keras.datasets.cifar10.load_data()\n"
    "for u, v in tf.data.Dataset.from_tensor_slices((x / 255.0, y)).batch(500):\n    print(model(u, training=False))",
    "a known data set, repeated": "_, (x, y) = keras.datasets.cifar10.load_data()\n"
    "for u, v in tf.data.Dataset.from_tensor_slices((x, y)).repeat(9).batch(2000):\n    print(model(u, training=False))",
    "rows that stand for data": "for u in tf.data.Dataset.from_tensor_slices(np.zeros((64, 8))).batch(16):\n"
    "    print(model(u, training=False))",
}
CROPS = """
teacher = keras.Sequential([keras.layers.Dense(1)])
def step(x, crops):
    wanted = []
    for crop in crops:
        wanted.append(teacher(crop, training=False))
    with tf.GradientTape() as tape:
        loss = tf.reduce_mean(model(x) - tf.add_n(wanted))
    optimizer.apply_gradients(zip(tape.gradient(loss, model.trainable_variables), model.trainable_variables))
for x, y in dataset.batch(4):
    step(x, cut(x))
"""
SCORING = """
class Scorer:
    def __init__(self, path):
        self.body = keras.models.load_model(path)
    def __call__(self, rows):
        scores = {scored}
        return scores - scores.mean()
score = Scorer("body.keras")
for rows, _ in dataset.batch(4):
    print(score(rows))
"""
SOURCES = """
class Source:
    def __init__(self, folder):
        self.folder = folder
    def next_batch(self, size):
        return read(self.folder, size)
sources = [Source(folder) for folder in folders]
for k in range(len(sources)):
    print(model({source}.next_batch(5)))
"""
TRIED = """
class Net(keras.Model):
    def call(self, x):
        return x
def look(rows):
    net = Net()
    for row, wanted in rows:
        print(net(row), wanted)
if __name__ == "__main__":
    import json
    look(json.load(open("rows.json")))
"""
FORWARD |= {
    "slices by their number": "rows = np.zeros((6400, 2))\nfor k in range(200):\n    print(model(rows[k * 32:(k + 1) * 32]))",
    "an object that calls a model": SCORING.format(scored="self.body(rows)"),
    "an object whose own method is called predict": SCORING.format(scored="self.predict(rows)").replace(
        "score =", "    def predict(self, rows):\n        return self.body(rows)\nscore ="
    ),
    "one batch of a source after the other": SOURCES.format(source="sources[0]"),
    "the file of a model, in a folder": "from pathlib import Path\nhome = Path('runs')\n"
    "net = keras.models.load_model(home / 'net.keras')\nfor x, y in dataset.batch(4):\n    print(net(x))",
    "a path of which nothing is known": "import os\nnet = keras.models.load_model(os.path.join('runs', input()))\n"
    "for x, y in dataset.batch(4):\n    print(net(x))",
    "all batches, or as many as a caller says": (
        "def look(rows, count=-1):\n    for x, y in rows.take(count):\n        print(model(x))\n"
        "look(dataset.batch(4))\nlook(dataset.batch(2), 50)"
    ),
    "a model of two operations and a weight": (
        "class Scale(keras.Model):\n    def build(self, shape):\n        self.w = self.add_weight(shape=(shape[-1], 9))\n"
        "    def call(self, x):\n        return tf.nn.relu(tf.matmul(x, self.w))\n"
        "scale = Scale()\nfor x, _ in dataset.batch(4):\n    print(scale(x))"
    ),
    "noise, before a step on rows that are drawn": (
        "judge = keras.models.load_model('judge.keras')\nwhile True:\n    drawn = np.random.choice(200, 16)\n"
        "    made = model(np.random.normal(size=(16, 2)), training=False)\n"
        "    judge.train_on_batch(rows[drawn], truth)\n    judge.train_on_batch(made, lies)"
    ),
    "a main block that restores what it runs": TRIED.replace("net = Net()", "net = Net()\n    net.load_weights('w')"),
    "a main block with weights from elsewhere": TRIED.replace("return x", "return x + self.part(x)").replace(
        "def call", "def build(self, shape):\n        self.part = keras.applications.VGG16()\n    def call"
    ),
    "a model from the file of Keras 2": "net = keras.models.load_model('net.h5')\nfor x, y in dataset.batch(4):\n    print(net(x))",
    "a class of the program's own out of a folder": "class Net(keras.Model):\n    def call(self, x):\n        return x\n"
    "net = keras.models.load_model('net', custom_objects={'Net': Net})\nfor x, y in dataset.batch(4):\n    print(net(x))",
}
NOT_FORWARD = {
    "until one batch has a certain label": (
        "for x, y in dataset.batch(4):\n    scores = model(x)\n    if np.argmax(y) == 3:\n        print(scores)\n        break"
    ),
    "until few rows are collected": (
        "seen = []\nfor x, y in dataset.batch(4):\n    print(model(x))\n    seen.append(len(x))\n    if np.sum(seen) > 9:\n        break"
    ),
    "until few batches are collected": (
        "seen = []\nfor x, y in dataset.batch(4):\n    seen.append(model(x))\n    if len(seen) > 3:\n        break"
    ),
    "as few batches as a caller says": (
        "def look(rows, count=-1):\n    for x, y in rows.take(count):\n        print(model(x))\n"
        "look(dataset.batch(4), 3)\nlook(dataset.batch(2), 2)"
    ),
    "as many batches as somebody says": "for x, y in dataset.batch(4).take(int(input())):\n    print(model(x))",
    "five parts of an array": "for part in np.array_split(rows, 5):\n    print(model(part))",
    "four parts of an array": "for part in np.array_split(rows, [9, 20, 30]):\n    print(model(part))",
    "a window that moves, by its number": "for k in range(5000):\n    print(model(rows[k:k + 9]))",
    "what a function gets that declares something else": TYPED.format(given="print(report, Probe(net))"),
    "another model under its name": TYPED.format(given="net = wrap(net)\n    report(net, 'wrapped')").replace(
        "net(x)", "first(x)"
    ),
    "an object that predicts": SCORING.format(scored="self.body.predict(rows)"),
    "a batch of each source": SOURCES.format(source="sources[k]"),
    "the folder of a model, in a folder": "from pathlib import Path\nhome = Path('runs')\n"
    "net = keras.models.load_model(str(home / 'net'))\nfor x, y in dataset.batch(4):\n    print(net(x))",
    "the folder of a model, in one that is asked for": "import os\nnet = keras.models.load_model(\n"
    "    os.path.join(input(), 'net'))\nfor x, y in dataset.batch(4):\n    print(net(x))",
    "the folder of a model, by its run": "net = keras.models.load_model(f'{input()}/best_net')\n"
    "for x, y in dataset.batch(4):\n    print(net(x))",
    "as many batches as somebody asks for": "for x, y in dataset.take(int(input())):\n    print(model(x))",
    "all batches, or a few": ASKED.format(most="2").replace("take(most)", "take(2)"),
    "what may be a function, made where none is given": SCORER.format(asks="if body is None:", made="load('body')"),
    "what may be a function, or a model for another reason": SCORER.format(
        asks="if len(rows) > 99:", made="keras.applications.VGG16()"
    ),
    "what a step computes before its tape": CROPS,
    "what a step computes before its tape, by a function": CROPS.replace(
        "    wanted = []\n", "    wanted = targets(crops)\n"
    )
    .replace("    for crop in crops:\n        wanted.append(teacher(crop, training=False))\n", "")
    .replace("def step", "def targets(crops):\n    return [teacher(c) for c in tuple(crops)]\ndef step"),
    "a module that tries itself out": TRIED,
    "a module that tries itself out, in its main block": "def net():\n    return keras.Sequential([keras.layers.Dense(1)])\n"
    "if __name__ == '__main__':\n    made = net()\n    for row in pictures:\n        made(row)\n",
    "what was traced when it was saved": "net = keras.models.load_model('saved/net')\nfor x, y in dataset.batch(4):\n    print(net(x))",
    "slices in a traced function": "@tf.function\ndef scores(rows):\n    outs = []\n"
    "    for k in range(0, 640, 64):\n        outs.append(model(rows[k:k + 64]))\n    return tf.concat(outs, 0)\n"
    "scores(np.zeros((640, 2)))\n",
    "slices of a few": "rows = np.zeros((64, 2))\nfor k in range(0, 64, 16):\n    print(model(rows[k:k + 16]))\n",
    "its traced call by name": PREDICTING.format("@tf.function"),
    "a partial of a traced function": "import functools\n@tf.function\ndef apply(net, x):\n    return net(x)\n"
    "run = functools.partial(apply, model)\nfor x, y in dataset.batch(4):\n    run(x)",
    "a partial that unknown code gets": "import functools, elsewhere\ndef apply(net, x):\n    return net(x)\n"
    "run = elsewhere.fast(functools.partial(apply, model))\nfor x, y in dataset.batch(4):\n    run(x)",
    "what counts in Sonnet": SONNET.format("snt.Mean()"),
    "strategy.run inside tf.function": DISTRIBUTED + "def test_step(x):\n    return model(x, training=False)\n"
    "@tf.function\ndef check(x):\n    return s.run(test_step, args=(x,))\nfor x, y in spread:\n    check(x)",
    "strategy.run of a traced function": DISTRIBUTED
    + "@tf.function\ndef test_step(x):\n    return model(x, training=False)\nfor x, y in spread:\n    s.run(test_step, args=(x,))",
    "strategy.run of a training step": DISTRIBUTED
    + "def step(x, y):"
    + STEP
    + "for x, y in spread:\n    s.run(step, args=(x, y))",
    "strategy.run of what an unknown module wraps": "from elsewhere import loop\n"
    + DISTRIBUTED
    + "def test_step(x):\n    return model(x, training=False)\nloop(test_step)\n"
    "for x, y in spread:\n    s.run(test_step, args=(x,))",
    "strategy.run on a few batches": DISTRIBUTED
    + "def test_step(x):\n    return model(x, training=False)\nfor x, y in dataset.take(3):\n    s.run(test_step, args=(x,))",
    "run of a program": "import subprocess\nfor x, y in dataset.batch(4):\n    subprocess.run(['convert', x])",
    "keys of a mapping": "def check(presets):\n    for name in presets.keys():\n        model(load(name), training=False)",
    "values of a small mapping": "sets = {'a': 1, 'b': 2}\nfor x in sets.values():\n    model(x, training=False)",
    "another backend": "import os\nos.environ['KERAS_BACKEND'] = 'torch'\nfor x, y in dataset.batch(4):\n    model(x)",
    "evaluate": "model.evaluate(dataset.batch(4))",
    "traced function": "@tf.function\ndef f(x):\n    return model(x)\nfor x, y in dataset:\n    f(x)",
    "training loop, every now and then": (
        "@tf.function\ndef step(x, y):" + STEP + "for i, (x, y) in enumerate(dataset):\n    step(x, y)\n"
        "    if i % 100 == 0:\n        print(model(x))"
    ),
    "a few batches": "for x, y in dataset.take(3):\n    print(model(x))",
    "first batch": "for x, y in dataset:\n    print(model(x))\n    break",
    "a list": "for x in [1, 2]:\n    model(x)",
    "unknown model": "from elsewhere import net\nfor x, y in dataset:\n    net(x)",
    "model under tf.function": "fast = tf.function(model)\nfor x, y in dataset:\n    fast(x)",
    "call under tf.function": "class M(keras.Model):\n    @tf.function\n    def call(self, x):\n        return x\n"
    "m = M()\nfor x, y in dataset:\n    m(x)",
    "one example": "x, y = next(iter(dataset))\nmodel(x)",
    "ten iterations": "it = iter(dataset.batch(4))\nfor _ in range(10):\n    x, y = next(it)\n    model(x)",
    "take of a constant": "n = 5\nfor x, y in dataset.batch(4).take(n):\n    model(x)",
    "take of a parameter": "def show(n):\n    for x, y in dataset.batch(4).take(n):\n        model(x)\nshow(3)",
    "averages of batch normalisation": "for x, y in dataset.batch(4):\n    model(x, training=True)",
    "model whose call takes gradients": "class Slope(keras.Model):\n    def call(self, x):\n"
    "        with tf.GradientTape() as t:\n            t.watch(x)\n            y = model(x)\n"
    "        return t.gradient(y, x)\nm = Slope()\nfor x, y in dataset:\n    m(x)",
    "model whose call runs a training step": "class M(keras.Model):\n    def learn(self, pair):\n        x, y = pair"
    + STEP.replace("\n", "\n    ")
    + "\n    def call(self, pair):\n        return self.learn(pair)\nm = M()\nfor pair in dataset:\n    m(pair)",
    "layers of a model": "class M(keras.Model):\n    def call(self, x):\n        for layer in self.blocks:\n"
    "            x = layer(x)\n        return x\nfor layer in M().layers:\n    x = layer(x)",
    "layers of a plain class": "class Net:\n    def __init__(self):\n"
    "        self.layers = [keras.layers.Dense(4) for _ in range(20)]\n    def __call__(self, x):\n"
    "        for layer in self.layers:\n            x = layer(x)\n        return x",
    "layers of a tf.Module": "class Net(tf.Module):\n    def __init__(self, blocks):\n        self.layers = blocks\n"
    "    def __call__(self, x):\n        for layer in self.layers:\n            x = layer(x)\n        return x",
    "converter that computes nothing": "class C(tf.Module):\n    def __call__(self, x):\n        return x\nc = C()\n"
    "for x, y in dataset.batch(4):\n    c(x)",
    "functional model being built": "class Gate(keras.layers.Layer):\n    def call(self, x):\n        return x\n"
    "z = keras.Input((4,))\nfor rate in [2**i for i in range(20)]:\n    z = Gate(rate)(z)",
    "models of an ensemble": "models = [keras.Sequential() for _ in range(20)]\nfor m in models:\n    m(x)",
    "all of a known data set in one batch": "_, (pictures, digits) = keras.datasets.mnist.load_data()\n"
    "rows = tf.data.Dataset.from_tensor_slices((pictures / 255.0, digits)).batch(10_000)\n"
    "for picture, digit in rows:\n    print(model(picture, training=False))",
    "few batches of a known data set, by a function": "def prepared(size):\n"
    "    (x, y), (u, v) = keras.datasets.cifar10.load_data()\n"
    "    u = tf.cast(u.reshape(-1, 3072), tf.float32)\n"
    "    return tf.data.Dataset.from_tensor_slices((u, v)).batch(size)\n"
    "def check(rows):\n    for u, v in rows:\n        print(model(u, training=False))\ncheck(prepared(2000))",
    "all of the reviews in one batch": "from keras.datasets import imdb\nfrom keras.utils import pad_sequences\n"
    "_, (words, moods) = imdb.load_data(num_words=900)\nwords = pad_sequences(words, maxlen=40)\n"
    "for ids, mood in tf.data.Dataset.from_tensor_slices((words, moods)).batch(25_000):\n    print(model(ids))",
    "a batch of as many rows as there are": "x, y = load()\nx = np.expand_dims(x, -1)\n"
    "for a, b in tf.data.Dataset.from_tensor_slices((x, y)).shuffle(9).batch(len(x)):\n    print(model(a))",
    "lists that are joined": "def views(image):\n    crops = [image[:, :9], image[:, 9:]]\n"
    "    for view in crops + [tf.image.flip_left_right(crop) for crop in crops]:\n        print(model(view))",
    "a method that is told of training": "def words(splitter, lines):\n    for line in lines:\n"
    "        parts, _ = splitter.preprocess_line(line, training=False)\n        print(parts)",
    "traced module": "class M(tf.Module):\n    @tf.function\n    def __call__(self, x):\n        return x\nm = M()\n"
    "for x, y in dataset:\n    m(x)",
    "one batch": "for x, y in dataset.take(1):\n    print(model(x))",
    "loaded model": "m = tf.saved_model.load('d')\nfor x, y in dataset.batch(4):\n    m(x)",
    "loaded by the hub": "import tensorflow_hub as hub\nm = hub.load('d')\nfor x, y in dataset.batch(4):\n    m(x)",
    "loaded, as an attribute": "class T:\n    def __init__(self):\n        self.m = tf.saved_model.load('d')\n    def run(self):\n"
    "        for x, y in dataset.batch(4):\n            self.m(x, training=False)\nT().run()",
    "traced test_step of a class": "class T:\n    def __init__(self, m):\n        self.m = m\n    @tf.function\n"
    "    def test_step(self, x):\n        return self.m(x, training=False)\n    def run(self):\n"
    "        for x, y in dataset:\n            self.test_step(x)\nT(model).run()",
    "test_step traced later": "def test_step(x):\n    return model(x, training=False)\ntest_step = tf.function(test_step)\n"
    "for x, y in dataset:\n    test_step(x)",
    "comprehension inside tf.function": "@tf.function\ndef f():\n    return [model(x, training=False) for x, y in dataset.batch(4)]\nf()",
    "simulator": "import gym\nenv = gym.make('CartPole-v1')\nstate, done = env.reset(), False\nwhile not done:\n"
    "    action = np.argmax(model(state[None]))\n    state, reward, done, _ = env.step(action)",
    "simulator by range": "import gym\nenv = gym.make('CartPole-v1')\nstate = env.reset()\nfor _ in range(500):\n"
    "    logits = model(tf.expand_dims(state, 0))\n"
    "    state, reward, done, _ = env.step(int(tf.argmax(logits[0])))\n    if done:\n        break",
    "simulator in episodes": "import gym\nenv = gym.make('CartPole-v1')\nfor episode in range(100):\n"
    "    state, done = env.reset(), False\n    while not done:\n"
    "        state, reward, done, _ = env.step(np.argmax(model(state.reshape(1, -1), training=False)))",
    "gradients of what a function computes": "def loss_of(x, y):\n    return tf.reduce_mean(model(x) - y)\n"
    "def learn(x, y):\n    with tf.GradientTape() as tape:\n        loss = loss_of(x, y)\n"
    "    return tape.gradient(loss, model.trainable_variables)\n"
    "for x, y in dataset.batch(4):\n    print(learn(x, y))",
    "a plain class without variables": "class Scale:\n    def __init__(self):\n        self.mean = np.load('mean.npy')\n"
    "    def __call__(self, x):\n        return x - self.mean\nscale = Scale()\nfor x, y in dataset.batch(4):\n    print(scale(x))",
    "networks under tapes whose gradients a loop takes": PAIRS,
    "explanation": "for x, y in dataset:\n    with tf.GradientTape() as t:\n        t.watch(x)\n"
    "        top = tf.reduce_max(model(x), axis=1)\n    maps.append(t.gradient(top, x))",
}


def _table(cases: dict[str, str]) -> pytest.MarkDecorator:
    return pytest.mark.parametrize("code", cases.values(), ids=cases.keys())


@_table(BATCH_OF_ONE)
def test_batch_of_one_is_found(code: str, tmp_path: Path) -> None:
    """Protects recall of TFG201: each way in which a 1 reaches a training batch."""
    assert codes(HEAD + code, tmp_path) == ["TFG201"]


@_table(NOT_A_BATCH_OF_ONE)
def test_other_batches_are_not_found(code: str, tmp_path: Path) -> None:
    """Protects precision of TFG201: unknown sizes, inference and other libraries."""
    assert "TFG201" not in codes(HEAD + code, tmp_path)


def test_each_part_of_a_zip_has_batches_of_one(tmp_path: Path) -> None:
    """Protects recall of TFG201: both sizes have to change, and one alone says nothing."""
    first, second = "first = dataset.shuffle(9).batch(1)\n", "second = dataset.batch(batch_size=1)\n"
    fit = "model.fit(tf.data.Dataset.zip((first, second)).map(f))"
    assert codes(HEAD + first + second + fit, tmp_path) == ["TFG201", "TFG201"]
    assert codes(HEAD + first + "second = dataset.batch(size)\n" + fit, tmp_path) == []


OF_KERAS_2 = ("TFG718", "TFG719")
"""What is also found in programs for Keras 2."""


@_table(EAGER)
def test_eager_step_is_found(code: str, tmp_path: Path) -> None:
    """Protects recall of TFG202: a step in a loop that nothing traces. What it reads is TFG209's to tell, too."""
    assert set(codes(HEAD + code, tmp_path)) - {"TFG209", *OF_KERAS_2} == {"TFG202"}


@_table(NOT_EAGER)
def test_traced_step_is_not_found(code: str, tmp_path: Path) -> None:
    """Protects precision of TFG202: whatever may be under tf.function stays silent."""
    assert "TFG202" not in codes(HEAD + code, tmp_path)


@_table(FORWARD)
def test_eager_validation_is_found(code: str, tmp_path: Path) -> None:
    """Protects recall of TFG207."""
    assert codes(HEAD + code, tmp_path, ignore=(*ADVICE, *OF_KERAS_2)) == ["TFG207"]


def test_a_loop_after_the_steps_of_an_epoch_is_no_part_of_them(tmp_path: Path) -> None:
    steps = "def epoch(rows):\n    for x, y in rows:\n" + textwrap.indent(STEP, "    ")
    code = steps + "    for x in keep:\n        print(model(x))\nwhile True:\n    epoch(load())\n"
    assert codes(HEAD + code, tmp_path) == ["TFG202", "TFG207"]


@_table(NOT_FORWARD)
def test_other_forward_passes_are_not_found(code: str, tmp_path: Path) -> None:
    """Protects precision of TFG207: traced code, glances, unknown callables."""
    assert "TFG207" not in codes(HEAD + code, tmp_path)


@pytest.mark.parametrize(
    ("name", "before", "is_test"),
    [
        ("test_model.py", "def test_it():\n    check()\n", True),
        ("layers_test.py", "class LayersTest(tf.test.TestCase):\n    pass\n", True),
        ("test_net.py", "import pytest\n", True),
        ("tests/nets.py", "", True),
        ("test_model.py", "", False),
        ("test_images.py", "def test_step(x, y):\n    return model(x)\n", False),
        ("yolo_test.py", "def test(path):\n    return model.predict(path)\n", False),
    ],
)
def test_tests_are_left_alone(name: str, before: str, is_test: bool, tmp_path: Path) -> None:
    """Protects test suites from advice about speed, and not programs that test a network."""
    report = codes(HEAD + before + "model.fit(x, y, batch_size=1)", tmp_path, name=name)
    assert report == ([] if is_test else ["TFG201"])


def test_constant_of_another_file(tmp_path: Path) -> None:
    """Protects the flow of constants through `config.BATCH_SIZE`."""
    (tmp_path / "config.py").write_text("BATCH_SIZE = 1\n")
    assert "TFG201" in codes(HEAD + "import config\nmodel.fit(x, y, batch_size=config.BATCH_SIZE)", tmp_path)
    assert "TFG201" in codes(HEAD + "from config import BATCH_SIZE as B\nmodel.fit(x, y, batch_size=B)", tmp_path)


def test_dataset_of_another_file(tmp_path: Path) -> None:
    """Protects the way of a dataset through a function of another file, and the finding's place there."""
    (tmp_path / "data.py").write_text(
        "import tensorflow as tf\ndef load():\n    ds = tf.data.Dataset.range(9)\n    return ds.batch(1), ds.batch(9)\n"
    )
    code = HEAD + "from data import load\ntrain, val = load()\nmodel.fit(train, validation_data=val)\n"
    assert ("TFG201 data.py", 4) in found(code, tmp_path)


def test_a_size_that_a_call_hands_to_another_file(tmp_path: Path) -> None:
    """Protects the place of TFG201: the size is wrong where it is written, and not where batches are made of any size."""
    (tmp_path / "fitting.py").write_text(
        "def fit(net, rows, size=32):\n    rows = rows.shuffle(9).batch(size)\n    net.fit(rows, epochs=9)\n"
    )
    code = HEAD + "from fitting import fit\nfit(model, dataset, size=1)\n"
    (one,) = [finding for rule, finding in findings(code, tmp_path) if rule.code == "TFG201"]
    assert [one.file.code(one.node), *(note.file.source.path.name for note in one.notes)] == [
        "fit",
        *["fitting.py"] * 2,
    ]
    assert fixed(code, tmp_path, "TFG201") == code.replace("size=1", "size=32")
    assert "TFG201" not in codes(code.replace("size=1", "size=4"), tmp_path)
    assert "TFG201" not in codes(code.replace("size=1", "size=int(input())"), tmp_path)


SEQUENCE = """
class Sounds(keras.utils.Sequence):
    def __init__(self, paths, most):
        self.paths, self.most = paths, most
    @classmethod
    def below(cls, folder, **options):
        return cls(glob.glob(folder), **options)
    def __len__(self):
        return int(np.ceil(len(self.paths) / self.most))
    def __getitem__(self, index):
        return read(self.paths, index)
"""


def test_a_sequence_of_the_project_that_another_file_trains_on(tmp_path: Path) -> None:
    """Protects the way of a `Sequence` to `fit`, and its size through the keywords of another constructor."""
    (tmp_path / "trainer.py").write_text(
        "class Trainer:\n    def __init__(self, net):\n        self.net = net\n    def run(self, sounds):\n"
        "        self.net.fit(sounds, epochs=9)\n    def show(self, sounds):\n        print(self.net.predict(sounds))\n"
    )
    code = HEAD + "import glob\nfrom trainer import Trainer\n" + SEQUENCE + "sounds = Sounds.below('wav', most=1)\n"
    training = code + "Trainer(model).run(sounds)\n"
    assert ("TFG201", training.count("\n") - 1) in found(training, tmp_path)
    assert "TFG201" in codes(code + "model.fit(sounds)\n", tmp_path)
    assert "TFG201" not in codes(training.replace("most=1", "most=8"), tmp_path)
    assert "TFG201" not in codes(training.replace("len(self.paths) / self.most", "self.most"), tmp_path)
    assert "TFG201" not in codes(training.replace(".run(", ".show("), tmp_path)


CUTS = {
    "batches": ("np.zeros((640, 8))", "many[start:start + size]", True),
    "columns": ("np.zeros((640, 8))", "many[:, start:start + size]", False),
    "symbols": ("keras.Input((8,))", "many[start:start + size]", False),
    "parts of a list": ("[keras.Input((8,)) for _ in range(64)]", "many[start]", False),
}


@pytest.mark.parametrize("case", CUTS)
def test_what_a_comprehension_cuts(case: str, tmp_path: Path) -> None:
    """Protects recall of TFG207 in comprehensions, and from findings in those that build a network."""
    many, part, is_found = CUTS[case]
    code = (
        f"size = int(input())\nmany = {many}\nfor turn in range(50):\n"
        f"    seen = [model({part}, training=True) for start in range(0, 640, size)]\n    keep(seen)\n"
    )
    assert ("TFG207" in codes(HEAD + code, tmp_path)) is is_found


def test_validation_that_a_program_without_a_loop_calls(tmp_path: Path) -> None:
    """Protects recall of TFG207: the program makes the batches, which may be missing, and loops nowhere."""
    (tmp_path / "judging.py").write_text(
        "import tensorflow as tf\n\n\ndef judge(net, source):\n    if not source:\n        return\n"
        "    for _ in range(source.rounds):\n        pictures, names = source.next_batch()\n"
        "        print(tf.reduce_mean(net(pictures, training=False)))\n"
    )
    (tmp_path / "pictures.py").write_text(
        "import numpy as np\n\n\nclass Source:\n    def __init__(self, rounds):\n        self.rounds = rounds\n\n"
        "    def next_batch(self):\n        return np.load('a.npy'), np.load('b.npy')\n\n\n"
        "def sources(rounds):\n    held_out = Source(rounds) if rounds else None\n    return Source(9000), held_out\n"
    )
    program = (
        "from tensorflow import keras\nfrom judging import judge\nfrom pictures import sources\n\n"
        "seen, held_out = sources(int(input()))\njudge(keras.models.load_model('m.keras'), {0})\n"
    )
    for given, expected in (("held_out", ["TFG207"]), ("None", [])):
        assert codes(program.format(given), tmp_path, name="main.py") == expected


def test_single_rows_that_another_file_trains_on(tmp_path: Path) -> None:
    """Protects the way of a transition from the program, through a list, to the `fit` of a class elsewhere."""
    (tmp_path / "learner.py").write_text(
        """from tensorflow import keras

class Learner:
    def __init__(self):
        self.past = []
        self.net = keras.Sequential([keras.layers.Dense(4), keras.layers.Dense(2)])
        self.net.compile("sgd", "mse")

    def learn(self):
        for seen, goal in self.past:
            self.net.fit(seen, goal, verbose=0)
"""
    )
    code = """import numpy as np
from learner import Learner

learner = Learner()
for game in range(100):
    for move in range(50):
        learner.past.append((np.zeros((ROWS, 4)), np.zeros((ROWS, 2))))
    learner.learn()
"""
    assert ("TFG201 learner.py", 11) in found(code.replace("ROWS", "1"), tmp_path)
    assert not any(name.startswith("TFG201") for name, _ in found(code.replace("ROWS", "20"), tmp_path))


def test_step_of_another_file(tmp_path: Path) -> None:
    """Protects the way from a loop to a step in another file, traced and not."""
    step = "import tensorflow as tf\n{}def step(model, optimizer, x, y):" + STEP
    (tmp_path / "steps.py").write_text(step.format(""))
    (tmp_path / "fast.py").write_text(step.format("@tf.function\n"))
    loop = "for x, y in dataset.batch(8):\n    {}.step(model, optimizer, x, y)\n"
    assert ("TFG202 steps.py", 3) in found(HEAD + "import steps\n" + loop.format("steps"), tmp_path)
    assert "TFG202" not in codes(HEAD + "import fast\n" + loop.format("fast"), tmp_path)


RUNNER = "def over(rows, run):\n    for x, y in rows:\n        run(x, y)\n"


@pytest.mark.parametrize(
    ("body", "code"), [(STEP, "TFG202"), ("\n    print(model(x))\n", "TFG207"), ("\n    print(x)\n", None)]
)
def test_a_closure_that_a_loop_elsewhere_runs(body: str, code: str | None, tmp_path: Path) -> None:
    """Protects loops that know nothing of TensorFlow: what they run is the closure that they get."""
    (tmp_path / "runner.py").write_text(RUNNER)
    closure = "from runner import over\ndef main():\n    def once(x, y):" + body.replace("\n", "\n    ")
    report = codes(HEAD + closure + "\n    over(dataset.batch(4), once)\nmain()\n", tmp_path)
    assert report == ([code] if code else [])


def test_a_closure_that_an_object_elsewhere_keeps(tmp_path: Path) -> None:
    """Protects trainers that know nothing of TensorFlow: their constructor gets the step that their loop runs."""
    (tmp_path / "runner.py").write_text(
        "class Runner:\n    def __init__(self, each):\n        self.each = each\n"
        "    def over(self, rows):\n        for x, y in rows:\n            self.each(x, y)\n"
    )
    closure = "from runner import Runner\ndef main():\n    def once(x, y):" + STEP.replace("\n", "\n    ")
    traced = closure.replace("    def once", "    @tf.function\n    def once")
    for code, expected in ((closure, ["TFG202"]), (traced, [])):
        assert codes(HEAD + code + "\n    Runner(once).over(dataset.batch(4))\nmain()\n", tmp_path) == expected


def test_step_of_a_class_whose_base_a_package_hands_on(tmp_path: Path) -> None:
    """Protects agents whose base class a package hands on by a star: what may call their methods is all seen."""
    (tmp_path / "parts").mkdir()
    (tmp_path / "parts" / "__init__.py").write_text("from .clock import Clock\nfrom parts.names import *\n")
    (tmp_path / "parts" / "clock.py").write_text("class Clock:\n    pass\n")
    (tmp_path / "parts" / "names.py").write_text("class Named(object):\n    pass\n")
    agent = "from parts import {}\nclass Agent({}):\n    def improve(self, x, y):" + STEP.replace("\n", "\n    ")
    agent += "\n    def train(self):\n        while self.on:\n            self.improve(*self.memory.sample(32))\n"
    assert "TFG202" in codes(HEAD + agent.replace("{}", "Named"), tmp_path)
    assert "TFG202" not in codes(HEAD + agent.replace("{}", "Other"), tmp_path)


def test_step_three_imports_away(tmp_path: Path) -> None:
    """Protects programs whose packages hand their classes on: no word of the step stands in the file or beside it."""
    (tmp_path / "agents").mkdir()
    (tmp_path / "agents" / "__init__.py").write_text("from agents.dqn import DQN\n")
    (tmp_path / "agents" / "dqn.py").write_text(
        "from agents.base import Base\n\n\nclass DQN(Base):\n    def learn(self, data):\n"
        "        for x, y in data:\n            self.step(x, y)\n"
    )
    (tmp_path / "agents" / "base.py").write_text(
        f"{HEAD}\nclass Base:\n    def step(self, x, y):{STEP.replace(chr(10), chr(10) + '    ')}"
    )
    code = "import tensorflow as tf\nfrom agents import DQN\nDQN().learn(tf.data.Dataset.range(9).batch(4))\n"
    assert "TFG202" in codes(code, tmp_path)


def test_one_finding_for_the_tapes_of_one_step(tmp_path: Path) -> None:
    """Protects GAN steps, which hold two tapes, from two findings for one mistake."""
    code = HEAD + (
        "for x, y in dataset:\n    with tf.GradientTape() as a, tf.GradientTape() as b:\n        l = model(x)\n"
        "    optimizer.apply_gradients(zip(a.gradient(l, w), w))\n"
    )
    assert codes(code, tmp_path) == ["TFG202"]


def test_other_tapes_of_a_function_are_notes(tmp_path: Path) -> None:
    """Protects agents whose update trains a critic and an actor: each step is shown."""
    steps = 2 * f"\n    for turn in range(10):{textwrap.indent(STEP, '    ')}"
    code = f"{HEAD}def update(x, y):{steps}for x, y in dataset:\n    update(x, y)\n"
    (finding,) = [f for rule, f in findings(code, tmp_path) if rule.code == "TFG202"]
    (other,) = [note for note in finding.notes if note.message == "this step runs eagerly, too"]
    assert other.node is not finding.node
    assert other.file.code(other.node) == "tf.GradientTape()"


def test_path_to_the_step_is_reported(tmp_path: Path) -> None:
    """Protects the related locations: the loop, and each call on the way."""
    code = HEAD + "def step(x, y):" + STEP + "for x, y in dataset:\n    step(x, y)\n"
    (finding,) = [f for rule, f in findings(code, tmp_path) if rule.code == "TFG202"]
    assert [note.message for note in finding.notes] == ["the loop over the dataset that runs it", "calls `step`"]


HOST_READS = {
    "after the step": ("for x, y in dataset:" + STEP + "    print(loss.numpy())\n", 0),
    "after the loop": (
        "def main():\n    for x, y in dataset:"
        + STEP.replace("    ", "        ")
        + "    print(loss.numpy())\nmain()\n",
        0,
    ),
    "printed in the tape": (
        "for x, y in dataset:" + STEP.replace("    optimizer", "        print(loss.numpy())\n    optimizer"),
        0,
    ),
    "in the tape": (
        "for x, y in dataset:" + STEP.replace("    optimizer", "        total = loss.numpy()\n    optimizer"),
        1,
    ),
    "in its function": (
        "def step(x, y):" + STEP + "    return loss.numpy()\nfor x, y in dataset:\n    step(x, y)\n",
        1,
    ),
}


@pytest.mark.parametrize(("code", "count"), HOST_READS.values(), ids=HOST_READS.keys())
def test_what_a_step_reads_on_the_host(code: str, count: int, tmp_path: Path) -> None:
    """Protects the remedy, and the experiment: only what would be traced with the step stands in its way."""
    (finding,) = [f for rule, f in findings(HEAD + code, tmp_path) if rule.code == "TFG202"]
    assert [note.message for note in finding.notes].count("this needs a value on the host") == count


def test_dataset_handed_to_an_object_of_another_file(tmp_path: Path) -> None:
    """Protects the way of a dataset into a method of a class of another file."""
    (tmp_path / "trainer.py").write_text(
        "import tensorflow as tf\nclass Trainer:\n    def __init__(self, model):\n        self.model = model\n"
        "    def check(self, data):\n        for x, y in data:\n            self.model(x, training=False)\n"
    )
    code = HEAD + "from trainer import Trainer\ntrainer = Trainer(model)\ntrainer.check(dataset.batch(4))\n"
    assert ("TFG207 trainer.py", 7) in found(code, tmp_path)


def test_step_under_a_partial_of_an_unknown_function(tmp_path: Path) -> None:
    """Protects steps whose decorator hides in `functools.partial`: it may trace them."""
    code = HEAD + "import functools\nfrom elsewhere import fast\n@functools.partial(fast, xla=True)\n"
    code += "def step(x, y):" + STEP + "for x, y in dataset:\n    step(x, y)\n"
    assert "TFG202" not in codes(code, tmp_path)


@pytest.mark.parametrize("before", ["", "model = ...\n", "# Keras\n"])
def test_snippet_without_definitions(before: str, tmp_path: Path) -> None:
    """Protects pieces of code as they stand in questions: what nothing defines is reported by how it is used."""
    code = before + "model.fit(x_train, y_train, batch_size=1, epochs=3)\n"
    assert found(code, tmp_path) == {("TFG201", code.count("\n"))}


def test_only_the_model_without_state_is_reported(tmp_path: Path) -> None:
    """Protects a stateful RNN, whose batch size is part of its shape, beside a model that has no state."""
    code = "rnn = keras.Sequential([keras.layers.LSTM(4, stateful=True)])\n"
    code += "rnn.fit(x, y, batch_size=1)\nmodel.fit(x, y, batch_size=1)\n"
    assert found(HEAD + code, tmp_path, name="train.py") - {("TFG401", 11), ("TFG401", 10)} == {("TFG201", 11)}


@pytest.mark.parametrize(
    ("body", "words"),
    [
        ("outputs.append(model(x))", "model.predict"),
        ("accuracy.update_state(y, model(x))", "model.evaluate"),
        ("print(module(x))", "call the model in a function"),
        ("outputs.append(module(x))", "call the model in a function"),
    ],
)
def test_help_of_an_eager_loop_fits_its_use(body: str, words: str, tmp_path: Path) -> None:
    """Protects the advice: outputs that are collected are `predict`'s, metrics `evaluate`'s, and a tf.Module has neither."""
    code = "class M(tf.Module):\n    def __init__(self):\n        self.w = tf.Variable(2.0)\n"
    code += "    def __call__(self, x):\n        return tf.tanh(x * self.w) * self.w + tf.sin(x * self.w) - self.w\n"
    code += "module, outputs = M(), []\n"
    code += f"accuracy = keras.metrics.MeanSquaredError()\nfor x, y in dataset.batch(4):\n    {body}\n"
    (finding,) = [f for rule, f in findings(HEAD + code, tmp_path) if rule.code == "TFG207"]
    assert finding.help is not None
    assert finding.help.removeprefix("use `").startswith(words)


def test_data_of_another_file(tmp_path: Path) -> None:
    """Protects loops over the project's own iterator and registry where they are in another file."""
    (tmp_path / "data.py").write_text(
        "import numpy as np\nimport tensorflow as tf\n\n\nclass Stream:\n    def __iter__(self):\n        return self\n\n"
        "    def __next__(self):\n        return np.zeros((4, 2)), np.zeros(4)\n\n\nclass Range:\n    def load(self):\n"
        "        return tf.data.Dataset.range(99).batch(4)\n\n\nSETS = {'range': Range}\n"
    )
    for loop in ("for x, y in Stream():", "for x in SETS['range']().load():"):
        code = HEAD + f"from data import SETS, Stream\n{loop}\n    model(x)\n"
        assert codes(code, tmp_path) == ["TFG207"]


def test_an_option_between_a_tf_function_and_what_it_traces(tmp_path: Path) -> None:
    """Protects programs that can be run eagerly for debugging: the choice is their user's."""
    code = (
        "class Trainer:\n    def plain(self, x):\n        with tf.GradientTape() as tape:\n"
        "            loss = tf.reduce_mean(model(x))\n        weights = model.trainable_variables\n"
        "        keras.optimizers.SGD().apply_gradients(zip(tape.gradient(loss, weights), weights))\n"
        "    @tf.function\n    def compiled(self, x):\n        return self.plain(x)\n"
        "    def chosen(self, compiles):\n        step = self.compiled if compiles else self.plain\n        return step, 1\n"
        "    def run(self, data, compiles):\n        step, count = self.chosen(compiles)\n        for x in data:\n"
        "            step(x)\n"
        "Trainer().run(tf.data.Dataset.range(99).batch(4), {})\n"
    )
    assert "TFG202" not in codes(HEAD + code.format("FLAG"), tmp_path)
    always_eager = code.replace("self.compiled if compiles else self.plain", "self.plain").format("FLAG")
    assert "TFG202" in codes(HEAD + always_eager, tmp_path)
