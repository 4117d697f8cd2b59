"""State that a trace keeps: no fix puts code under `tf.function` that reads what the program changes between two calls."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from checks import NEWEST, findings, fixed
from fixed_programs import assert_same, results

from tflint_gpu.targets import Target

KERAS_2 = Target(tensorflow=(2, 15), keras=2, source="an older one")
TRACING = ("TFG202", "TFG203", "TFG207", "TFG214")

DATA = """\
import numpy as np
import tensorflow as tf

tf.keras.utils.set_random_seed(5)
rows = np.random.default_rng(1).normal(size=(16, 3)).astype("float32")
pairs = tf.data.Dataset.from_tensor_slices((rows, rows[:, :1])).batch(4)
"""
PARTS = (
    DATA
    + """
body = tf.keras.Sequential([tf.keras.layers.Input((3,)), tf.keras.layers.Dense(2)])
net = tf.keras.Sequential([body, tf.keras.layers.Dense(1)])
sgd = tf.keras.optimizers.SGD(0.05)
sgd.build(net.trainable_variables)
"""
)
STEP = """
def update(features, wanted):
    with tf.GradientTape() as tape:
        miss = tf.reduce_mean(tf.square(net(features, training=True) - wanted))
    free = net.trainable_variables
    sgd.apply_gradients(zip(tape.gradient(miss, free), free))
    return miss
"""
EPOCHS = """
for turn in range(30):
    BEFORE
    for features, wanted in pairs:
        update(features, wanted)
"""
RESULT = "\nresult = [weight.numpy() for weight in net.weights]\n"
SCALED = (
    DATA
    + """
class Scaled(tf.keras.Model):
    def __init__(self):
        super().__init__()
        self.factor = 1.0
        self.inner = tf.keras.layers.Dense(1)

    def call(self, inputs):
        return self.inner(inputs) * self.factor


net = Scaled()
sgd = tf.keras.optimizers.SGD(0.05)
"""
)
COACH = (
    DATA
    + """
class Coach:
    def __init__(self, rate=0.05):
        self.body = tf.keras.Sequential([tf.keras.layers.Input((3,)), tf.keras.layers.Dense(2)])
        self.net = tf.keras.Sequential([self.body, tf.keras.layers.Dense(1)])
        self.rate = rate
        MADE

    METHOD

    def update(self, features, wanted):
        with tf.GradientTape() as tape:
            miss = self.miss(features, wanted)
        free = self.net.trainable_weights
        for weight, slope in zip(free, tape.gradient(miss, free)):
            weight.assign_sub(self.rate * slope)
        return miss

    def miss(self, features, wanted):
        return tf.reduce_mean(tf.square(self.net(features, training=True) - wanted))

    def run(self, turns):
        for turn in range(turns):
            BEFORE
            for features, wanted in pairs:
                self.update(features, wanted)
"""
)


def coach(after: str, made: str = "pass", method: str = "", before: str = "pass") -> str:
    """The program of a class that trains."""
    return COACH.replace("MADE", made).replace("METHOD", method).replace("BEFORE", before) + after


def epochs(before: str) -> str:
    """The loop over epochs that does something before each."""
    return EPOCHS.replace("BEFORE", before)


FROZEN = PARTS + "body.trainable = False\n" + STEP
THAW = "if turn == 15: body.trainable = True"
FADING = """
class Fading(tf.keras.callbacks.Callback):
    def on_epoch_begin(self, epoch, logs=None):
        self.model.factor = 1.0 / (epoch + 1)


fading = Fading()
fading.set_model(net)
"""
COUNTING = """
import functools
seen = []


def counting(function):
    @functools.wraps(function)
    def counted(*given):
        seen.append(function.__name__)
        return function(*given)
    return counted


@counting
def distance(one, other):
    return tf.reduce_mean(tf.square(one - other))
"""
RATE_OF_STEP = """
class Falling(tf.keras.optimizers.schedules.LearningRateSchedule):
    def __init__(self):
        self.now = 0.05

    def __call__(self, step):
        return self.now


falling = Falling()
sgd = tf.keras.optimizers.SGD(falling)
"""
DROPPING = DATA + (
    """
drop = tf.keras.layers.Dropout(0.5)
net = tf.keras.Sequential([tf.keras.layers.Input((3,)), drop, tf.keras.layers.Dense(1)])
sgd = tf.keras.optimizers.SGD(0.05)
"""
)
OPENING = """
class Opening(tf.keras.callbacks.Callback):
    def on_epoch_begin(self, epoch, logs=None):
        if epoch == 15:
            WHAT.trainable = True


opening = tf.keras.callbacks.CallbackList([Opening()], model=net)
"""
BY_MODEL, BY_NAME = (OPENING.replace("WHAT", what) for what in ("self.model.layers[0]", "body"))
NORMED = DATA + (
    """
body = tf.keras.layers.BatchNormalization()
net = tf.keras.Sequential([tf.keras.layers.Input((3,)), body, tf.keras.layers.Dense(1)])
body.trainable = False
"""
)
LAYERED = DATA + (
    """
class Times(tf.keras.layers.Layer):
    def __init__(self):
        super().__init__()
        self.factor = 1.0

    def call(self, inputs):
        return inputs * self.factor


times = Times()
net = tf.keras.Sequential([tf.keras.layers.Input((3,)), times, tf.keras.layers.Dense(1)])
sgd = tf.keras.optimizers.SGD(0.05)
"""
)
INLINE = """
for turn in range(30):
    if turn == 15:
        body.trainable = True
    for features, wanted in pairs:
        with tf.GradientTape() as tape:
            miss = tf.reduce_mean(tf.square(net(features, training=True) - wanted))
        free = net.trainable_variables
        sgd.apply_gradients(zip(tape.gradient(miss, free), free))
"""
TWO = (
    PARTS
    + """
def update(which, rule, features, wanted):
    with tf.GradientTape() as tape:
        miss = tf.reduce_mean(tf.square(which(features, training=True) - wanted))
    free = which.trainable_variables
    rule.apply_gradients(zip(tape.gradient(miss, free), free))
    return miss


other = tf.keras.Sequential([tf.keras.layers.Input((3,)), tf.keras.layers.Dense(1)])
"""
)
SUBCLASS = """
class Louder(Coach):
    def __init__(self):
        super().__init__()
        self.misses = 0

    def miss(self, features, wanted):
        self.misses += 1
        return super().miss(features, wanted)


Louder().run(30)
"""
SWITCHED = """
class Switched(Coach):
    weight = 1.0

    def miss(self, features, wanted):
        return super().miss(features, wanted) * self.weight


switched = Switched()
switched.run(30)
switched.weight = 0.5
switched.run(30)
"""
TRACED_AGAIN = """
for turn in range(30):
    BEFORE

    @tf.function
    def update(features, wanted):
        with tf.GradientTape() as tape:
            miss = tf.reduce_mean(tf.square(net(features, training=True) - wanted))
        free = net.trainable_variables
        sgd.apply_gradients(zip(tape.gradient(miss, free), free))
        return miss

    for features, wanted in pairs:
        update(features, wanted)
"""
INFERENCE = """
found = []
for turn in range(30):
    BEFORE
    for features, wanted in pairs:
        found.append(net(features, training=False))
"""
MASKED = PARTS + "\nmask = np.ones((3,), 'float32')\n" + STEP.replace("net(features,", "net(features * mask,")
TUNED = PARTS + "pace = 1.0\n" + STEP.replace("    free = ", "        miss = miss * pace\n    free = ")
WITHHELD = {
    "thawed in the loop over epochs": (FROZEN + epochs(THAW), "trainable"),
    "thawed between two loops": (FROZEN + epochs("pass") + "body.trainable = True\n" + epochs("pass"), "trainable"),
    "thawed by setattr in a function": (
        FROZEN + "\ndef thaw(part):\n    setattr(part, 'trainable', True)\n" + epochs("if turn == 15: thaw(body)"),
        "trainable",
    ),
    "layers thawed one by one": (
        FROZEN + epochs("for layer in body.layers[: turn // 10]: layer.trainable = True"),
        "trainable",
    ),
    "frozen later": (PARTS + STEP + epochs("if turn == 15: body.trainable = False"), "trainable"),
    "thawed by a method": (
        coach(
            "Coach().run(30)\n",
            "self.body.trainable = False",
            "def thaw(self):\n        self.body.trainable = True\n",
            "if turn == 15: self.thaw()",
        ),
        "trainable",
    ),
    "thawed by who has the object": (
        coach("c = Coach()\nc.run(15)\nc.body.trainable = True\nc.run(15)\n", "self.body.trainable = False"),
        "trainable",
    ),
    "an attribute of the model that a callback sets": (
        SCALED + FADING + STEP + epochs("fading.on_epoch_begin(turn)"),
        "self.factor",
    ),
    "an attribute that is set by setattr": (SCALED + STEP + epochs("setattr(net, 'factor', 1 / (turn + 1))"), "factor"),
    "an attribute that is set by __setattr__": (
        SCALED + STEP + epochs("for name in ['factor']: net.__setattr__(name, 1 / (turn + 1))"),
        "self.factor",
    ),
    "an attribute that is set by object's __setattr__": (
        SCALED + STEP + epochs("object.__setattr__(net, 'factor', 1 / (turn + 1))"),
        "self.factor",
    ),
    "attributes that are updated": (
        coach("Coach().run(9)\n", before="self.__dict__.update({'rate': 0.1 / (turn + 1)})"),
        "self.rate",
    ),
    "attributes that are updated from elsewhere": (
        coach("c, given = Coach(), {}\nfor _ in range(3):\n    c.run(9)\n    vars(c).update(given)\n"),
        "`vars(c).update(given)` may set `self.rate`",
    ),
    "an item of the attributes": (coach("Coach().run(9)\n", before="vars(self)['rate'] = turn / 9"), "self.rate"),
    "attributes by another name": (
        coach("c = Coach()\nown = c.__dict__\nfor n in range(3):\n    c.run(9)\n    own['rate'] = n / 9\n"),
        "self.rate",
    ),
    "a name that is set by globals": (TUNED + epochs("globals()['pa' + 'ce'] = turn / 9"), "pace"),
    "a name that is updated by globals": (TUNED + epochs("globals().update(pace=turn / 9)"), "pace"),
    "a name that is bound only by globals": (
        TUNED.replace("pace = 1.0", "globals()['pace'] = 1.0") + epochs("globals()['pace'] = turn / 9"),
        "pace",
    ),
    "a name that a function sets by globals": (
        TUNED + "\ndef tune(key, value):\n    globals()[key] = value\n" + epochs("tune('pace', turn / 9)"),
        "pace",
    ),
    "a name that is set by exec": (TUNED + epochs("exec(f'pace = {turn / 9}')"), "may set `"),
    "an attribute that is set by exec": (SCALED + STEP + epochs("exec('net.factor = turn / 9')"), "self.factor"),
    "a name of the module by its entry": (
        TUNED + "import sys\n" + epochs("setattr(sys.modules[__name__], 'pace', turn / 9)"),
        "pace",
    ),
    "an attribute of a layer in a Sequential": (LAYERED + STEP + epochs("times.factor = 1 / (turn + 1)"), "factor"),
    "an attribute of Keras's own layer": (DROPPING + STEP + epochs("drop.rate = 0.5 / (turn + 1)"), "drop.rate"),
    "a layer that is taken out of the model": (DROPPING + STEP + epochs("net.layers[0].rate = 0.01 * turn"), "rate"),
    "a layer that is asked for": (DROPPING + STEP + epochs("net.get_layer(index=0).rate = 0.01 * turn"), "rate"),
    "each layer that has it": (
        DROPPING
        + "\ndef relax(parts, share):\n    for part in parts:\n        if hasattr(part, 'rate'):\n"
        + "            part.rate = share\n"
        + STEP
        + epochs("relax(net.layers, 0.01 * turn)"),
        "rate",
    ),
    "a part of a layer": (
        PARTS + STEP + epochs("for part in net.layers: part.kernel_regularizer = 'l2' if turn % 2 else None"),
        "kernel_regularizer",
    ),
    "an array that is filled": (MASKED + epochs("mask.fill(turn)"), "mask"),
    "an array that is shuffled": (MASKED + epochs("np.random.shuffle(mask)"), "mask"),
    "an array that a function of NumPy writes into": (MASKED + epochs("np.multiply(mask, 0.9, out=mask)"), "mask"),
    "an array that a function changes": (
        MASKED + "\ndef fade(weights):\n    weights *= 0.9\n" + epochs("fade(mask)"),
        "mask",
    ),
    "an array under another shape": (MASKED + "first = mask[:1]\n" + epochs("first[0] = turn"), "mask"),
    "arrays in a list": (
        MASKED.replace("mask = np.ones((3,), 'float32')", "masks = [np.ones((3,), 'float32')]").replace(
            "features * mask", "features * masks[0]"
        )
        + epochs("for one in masks: one[:] = turn"),
        "masks",
    ),
    "a part of a dictionary by another name": (
        PARTS
        + "settings = {'step': {'share': 1.0}}\nof_steps = settings['step']\n"
        + STEP.replace("net(features,", "net(features * of_steps['share'],")
        + epochs("settings['step']['share'] = 1.0 / (turn + 1)"),
        "of_steps",
    ),
    "a dictionary behind others": (
        PARTS
        + "import collections\nusual = {'share': 1.0}\nchosen = collections.ChainMap({}, usual)\n"
        + STEP.replace("net(features,", "net(features * chosen['share'],")
        + epochs("usual['share'] = 1.0 / (turn + 1)"),
        "chosen",
    ),
    "the values of a dictionary": (
        PARTS
        + "import operator\nshares = {'share': 1.0}\nall_shares = shares.values()\n"
        + STEP.replace("net(features,", "net(features * sum(all_shares),")
        + epochs("operator.setitem(shares, 'share', 1.0 / (turn + 1))"),
        "all_shares",
    ),
    "a view of an array": (
        PARTS
        + "shares = np.ones(4, 'float32')\nfolded = np.squeeze(shares.reshape(2, 2))\n"
        + STEP.replace("net(features,", "net(features * float(shares[0]),")
        + epochs("folded *= 0.9"),
        "shares",
    ),
    "an array that a function changes in some places": (
        PARTS
        + "shares = np.ones(2, 'float32')\n"
        + STEP.replace("net(features,", "net(features * float(shares[0]),")
        + epochs("np.multiply.at(shares, 0, 0.9)"),
        "shares",
    ),
    "parts of an array": (
        PARTS
        + "shares = np.ones(4, 'float32')\nearly, late = np.split(shares, 2)\n"
        + STEP.replace("net(features,", "net(features * float(shares[0]),")
        + epochs("early *= 0.9"),
        "shares",
    ),
    "an array in a list": (
        PARTS
        + "kept = [np.ones(2, 'float32'), np.ones(2, 'float32')]\nshares, _ = kept\n"
        + STEP.replace("net(features,", "net(features * float(shares[0]),")
        + epochs("kept[0] *= 0.9"),
        "shares",
    ),
    "an array in a queue": (
        PARTS
        + "import collections\nshares = np.ones(2, 'float32')\nqueue = collections.deque([shares])\n"
        + STEP.replace("net(features,", "net(features * float(shares[0]),")
        + epochs("queue[0][:] = 1.0 / (turn + 1)"),
        "shares",
    ),
    "a method under a name": (
        PARTS
        + "shares = [1.0]\npush = shares.insert\n"
        + STEP.replace("net(features,", "net(features * shares[0],")
        + epochs("push(0, 1.0 / (turn + 1))"),
        "shares",
    ),
    "a heap": (
        PARTS
        + "import heapq\nshares = [1.0]\n"
        + STEP.replace("net(features,", "net(features * shares[0],")
        + epochs("heapq.heappush(shares, 1.0 / (turn + 1))"),
        "shares",
    ),
    "arguments that are read again": (
        PARTS
        + "import argparse\nreader = argparse.ArgumentParser()\nreader.add_argument('--share', type=float, default=1.0)\n"
        + "given = reader.parse_args([])\n"
        + STEP.replace("net(features,", "net(features * given.share,")
        + epochs("reader.parse_args(['--share', str(1.0 / (turn + 1))], namespace=given)"),
        "given.share",
    ),
    "a variable of a context": (
        PARTS
        + "import contextvars\nshare = contextvars.ContextVar('share', default=1.0)\n"
        + STEP.replace("net(features,", "net(features * share.get(),")
        + epochs("share.set(1.0 / (turn + 1))"),
        "share",
    ),
    "a function that gets another case": (
        PARTS
        + "import functools\n\n\n@functools.singledispatch\ndef share_of(value):\n    return 1.0\n\n"
        + STEP.replace("net(features,", "net(features * share_of(features),")
        + epochs("share_of.register(object)(lambda value: 1.0 / (turn + 1))"),
        "share_of",
    ),
    "a dictionary inside of another one": (
        PARTS
        + "settings = {'step': {'share': 1.0}}\nof_steps = settings['step']\n"
        + STEP.replace("net(features,", "net(features * settings['step']['share'],")
        + epochs("of_steps['share'] = 1.0 / (turn + 1)"),
        "settings",
    ),
    "a list that another object changes": (
        PARTS
        + "class Shares:\n    def __init__(self):\n        self.own = [1.0, 1.0]\n\n\n"
        + "class Fader:\n    def __init__(self, of):\n        self.values = of.own\n\n"
        + "    def fade(self, turn):\n        self.values[0] = 1.0 / (turn + 1)\n\n\n"
        + "shares = Shares()\nfader = Fader(shares)\n"
        + STEP.replace("net(features,", "net(features * shares.own[0],")
        + epochs("fader.fade(turn)"),
        "shares.own",
    ),
    "a rate that is multiplied": (coach("Coach().run(30)\n", before="self.rate *= 0.9"), "self.rate"),
    "a rate that is set between two runs": (coach("c = Coach()\nc.run(9)\nc.rate = 0.01\nc.run(9)\n"), "self.rate"),
    "a rate that a function returns": (
        PARTS
        + "now = {'rate': 0.05}\nsgd = tf.keras.optimizers.SGD(lambda: now['rate'])\n"
        + STEP
        + epochs("now['rate'] *= 0.9"),
        "now",
    ),
    "a schedule with state": (PARTS + RATE_OF_STEP + STEP + epochs("falling.now *= 0.9"), "self.now"),
    "a list that grows": (
        PARTS
        + "extra = []\n"
        + STEP.replace("    free =", "        for e in extra:\n            miss += e\n    free =")
        + epochs("extra.append(0.1)"),
        "extra",
    ),
    "a list that grows by another name": (
        PARTS
        + "extra = []\n"
        + STEP.replace("    free =", "        for e in extra:\n            miss += e\n    free =")
        + "\ndef grow(them):\n    them.append(0.1)\n"
        + epochs("grow(extra)"),
        "extra",
    ),
    "an optimizer that is replaced": (
        PARTS + STEP + epochs("if turn == 15: sgd = tf.keras.optimizers.Adam(0.05)"),
        "sgd",
    ),
    "a called function is counted by its decorator": (
        PARTS
        + COUNTING
        + STEP.replace(
            "tf.reduce_mean(tf.square(net(features, training=True) - wanted))",
            "distance(net(features, training=True), wanted)",
        )
        + epochs("pass"),
        "seen",
    ),
    "an override counts": (coach(SUBCLASS), "self.misses"),
    "an override reads what changes": (coach(SWITCHED), "self.weight"),
    "a property reads what changes": (
        coach(
            "Coach().run(9)\n",
            "self.turn = 0",
            "@property\n    def pace(self):\n        return self.rate / (1 + self.turn)\n",
            "self.turn = turn",
        ).replace("self.rate * slope", "self.pace * slope"),
        "self.turn",
    ),
    "two optimizers in one loop": (
        TWO
        + "one, two = tf.keras.optimizers.Adam(0.1), tf.keras.optimizers.Adam(0.1)\n"
        + epochs("for x, y in pairs: update(other, two, x, y)").replace("update(features", "update(net, one, features"),
        "rule",
    ),
    "two optimizers at two calls": (
        TWO
        + "one = tf.keras.optimizers.Adam(0.1)\ntwo = tf.keras.optimizers.Adam(0.1)\n"
        + epochs("pass").replace("update(features", "update(net, one, features")
        + epochs("pass").replace("update(features", "update(other, two, features"),
        "rule",
    ),
    "optimizers of a list": (
        TWO
        + "for which, rule in zip([net, other], [tf.keras.optimizers.Adam(), tf.keras.optimizers.Adam()]):\n"
        + "    for turn in range(30):\n        for x, y in pairs:\n            update(which, rule, x, y)\n",
        "rule",
    ),
    "a private step": (
        coach("Coach().run(30)\n", before="self.rate *= 0.9").replace("update(", "__update("),
        "self.rate",
    ),
    "a function that each iteration traces": (
        PARTS + "body.trainable = False\n" + TRACED_AGAIN.replace("BEFORE", THAW),
        "trainable",
    ),
    "inference of a model that changes": (
        SCALED + FADING + INFERENCE.replace("BEFORE", "fading.on_epoch_begin(turn)"),
        "",
    ),
    "thawed by a callback": (FROZEN + BY_MODEL + epochs("opening.on_epoch_begin(turn)"), "trainable"),
    "thawed by a callback, by its name": (FROZEN + BY_NAME + epochs("opening.on_epoch_begin(turn)"), "trainable"),
    "thawed by a callback that is handed over": (
        FROZEN
        + BY_MODEL.replace("tf.keras.callbacks.CallbackList([Opening()], model=net)", "Opening()")
        + "opening.set_model(net)\n"
        + epochs("opening.on_epoch_begin(turn)"),
        "trainable",
    ),
    "a function that each iteration traces, thawed by a callback": (
        PARTS + "body.trainable = False\n" + BY_NAME + TRACED_AGAIN.replace("BEFORE", "opening.on_epoch_begin(turn)"),
        "",
    ),
    "a step among the statements of a loop, thawed by a callback": (
        PARTS
        + "body.trainable = False\n"
        + BY_MODEL
        + INLINE.replace("if turn == 15:\n        body.trainable = True", "opening.on_epoch_begin(turn)"),
        "",
    ),
    "batch normalization that a callback thaws": (
        NORMED + BY_MODEL + INFERENCE.replace("BEFORE", "opening.on_epoch_begin(turn)").replace("False", "True"),
        "",
    ),
    "inference of a layer in a Sequential that changes": (
        LAYERED + INFERENCE.replace("BEFORE", "times.factor = 1 / (turn + 1)"),
        "",
    ),
    "a step among the statements of a loop": (PARTS + "body.trainable = False\n" + INLINE, ""),
}
OFFERED = {
    "the shape of an array that changes": PARTS
    + "levels = np.ones((4, 1), 'float32')\nsizes = levels.shape\n"
    + STEP.replace("net(features,", "net(features * sizes[1],")
    + epochs("levels[turn % 4] = turn")
    + RESULT,
    "an array that the step does not read": MASKED
    + "order = np.arange(16)\nmask /= 2\n"
    + epochs("np.random.default_rng(turn).shuffle(order)")
    + RESULT,
    "frozen before the loop": FROZEN + epochs("pass") + RESULT,
    "layers frozen before the loop": PARTS
    + "for layer in body.layers:\n    layer.trainable = False\n"
    + STEP
    + epochs("pass")
    + RESULT,
    "thawed after the last step": FROZEN + epochs("pass") + "body.trainable = True\n" + RESULT,
    "two steps, one before the thaw and one after": FROZEN
    + epochs("pass")
    + "body.trainable = True\n"
    + STEP.replace("update", "tune")
    + epochs("pass").replace("update", "tune")
    + RESULT,
    "frozen where the model is made": (
        DATA
        + """
def build():
    body = tf.keras.Sequential([tf.keras.layers.Input((3,)), tf.keras.layers.Dense(2)])
    for layer in body.layers:
        layer.trainable = False
    return tf.keras.Sequential([body, tf.keras.layers.Dense(1)])


net = build()
sgd = tf.keras.optimizers.SGD(0.05)
"""
        + STEP
        + epochs("pass")
        + RESULT
    ),
    "frozen in the constructor": coach(
        "c = Coach()\nc.run(9)\nresult = [w.numpy() for w in c.net.weights]\n", "self.body.trainable = False"
    ),
    "set before the first run": coach(
        "c = Coach()\nc.rate = 0.02\nc.run(9)\nresult = [w.numpy() for w in c.net.weights]\n"
    ),
    "a learning rate, which is a variable": PARTS + STEP + epochs("sgd.learning_rate = 0.05 / (turn + 1)") + RESULT,
    "a state that the step does not read": coach(
        "c = Coach()\nc.run(9)\nresult = [w.numpy() for w in c.net.weights]\n",
        "self.turns, self.log = 0, []",
        before="self.turns += 1; self.log.append(turn)",
    ),
    "an attribute of the same name of another class": coach(
        """
class Meter:
    def __init__(self):
        self.rate = 0.0

    def tick(self):
        self.rate += 1


meter, c = Meter(), Coach()
for _ in range(3):
    meter.tick()
    c.run(3)
result = [w.numpy() for w in c.net.weights]
"""
    ),
    "attributes that are updated in the constructor": coach(
        "c = Coach()\nc.run(9)\nresult = [w.numpy() for w in c.net.weights]\n", "self.__dict__.update(dict(turns=3))"
    ),
    "names that are set before the loop": TUNED
    + "globals().update({'pace': 0.5})\nexec('pace = 0.7')\n"
    + epochs("pass")
    + RESULT,
    "another name that is set": TUNED
    + "share = 1\n"
    + epochs("globals()['share'] = turn; globals().update(part=turn); exec('share = 3')")
    + RESULT,
    "a text that is run with other names": TUNED + epochs("exec('pace = 3', {})") + RESULT,
    "a function that has names of its own": TUNED
    + "\ndef told(share):\n    vars()['pace'] = share\n    return locals()\n"
    + epochs("told(turn)")
    + RESULT,
    "computed names of other objects": SCALED
    + """
class Record:
    def replaced(self, **values):
        made = self.__class__.__new__(self.__class__)
        for name, value in values.items():
            setattr(made, name, value)
        return made


class Listed(argparse.Action):
    def __call__(self, parser, namespace, values, option_string=None):
        setattr(namespace, self.dest, values)


parser = argparse.ArgumentParser()
parser.add_argument("--widths", action=Listed)
parser.parse_args([])
record = Record()
""".replace("\nclass Record", "import argparse\n\n\nclass Record")
    + STEP
    + epochs("record = record.replaced(turn=turn)")
    + RESULT,
    "computed names of an object of a class": PARTS
    + """
class Log:
    def note(self, **values):
        for name, value in values.items():
            setattr(self, name, value)


log = Log()
"""
    + STEP
    + epochs("log.note(turn=turn)")
    + RESULT,
    "two objects with a step each": coach(
        "a, b = Coach(), Coach(0.02)\na.run(9)\nb.run(9)\nresult = [w.numpy() for w in a.net.weights + b.net.weights]\n"
    ),
    "functions of TensorFlow that have the names of methods of containers": PARTS
    + STEP.replace("tf.square(net(features, training=True) - wanted)", "tf.square(tf.add(net(features), -wanted))")
    + epochs("pass")
    + RESULT,
    "a private step": coach("c = Coach()\nc.run(9)\nresult = [w.numpy() for w in c.net.weights]\n").replace(
        "update(", "__update("
    ),
    "one optimizer, one model, handed over": TWO
    + "adam = tf.keras.optimizers.Adam(0.1)\n"
    + epochs("pass").replace("update(features", "update(net, adam, features")
    + RESULT,
    "two optimizers that are built": TWO
    + "one, two = tf.keras.optimizers.Adam(0.1), tf.keras.optimizers.Adam(0.1)\n"
    + "one.build(net.trainable_variables)\ntwo.build(other.trainable_variables)\n"
    + epochs("for x, y in pairs: update(other, two, x, y)").replace("update(features", "update(net, one, features")
    + RESULT,
}


def _told(program: str, folder: Path, target: Target = NEWEST) -> list[tuple[str, bool, str]]:
    return [
        (rule.code, finding.fix is not None, finding.help or "")
        for rule, finding in findings(program, folder, target=target)
        if rule.code in TRACING
    ]


@pytest.mark.parametrize("case", WITHHELD)
def test_no_fix_freezes_what_changes(case: str, tmp_path: Path) -> None:
    program, reason = WITHHELD[case]
    told = _told(program, tmp_path)
    assert told
    assert not any(is_fixed for _, is_fixed, _ in told)
    assert any(reason in text for _, _, text in told), told


@pytest.mark.slow
@pytest.mark.parametrize("case", OFFERED)
def test_what_stays_is_no_reason(case: str, tmp_path: Path) -> None:
    program = OFFERED[case]
    assert all(is_fixed for _, is_fixed, _ in _told(program, tmp_path)), _told(program, tmp_path)
    after = fixed(program, tmp_path, "TFG202")
    assert "@tf.function" in after
    if "== 15" not in program:  # nothing changes in the middle: a few epochs show the same
        program, after = (text.replace("in range(30)", "in range(4)") for text in (program, after))
    assert_same(program, after)


def test_a_layer_that_changes_between_evaluations(tmp_path: Path) -> None:
    """Protects sweeps over a setting of a layer: traced, all would give what the first one gives."""
    sweep = "for factor in (0.5, 1.0, 2.0):\n    CHANGE\n    for features, _ in pairs.repeat(8):\n        print(net(features))\n"
    for change, has_fix in (("times.factor = factor", False), ("print(factor)", True)):
        ((_, is_fixed, _),) = _told(LAYERED + sweep.replace("CHANGE", change), tmp_path)
        assert is_fixed is has_fix


@pytest.mark.slow
def test_what_a_fix_would_freeze() -> None:
    """The same program by hand under `tf.function` computes something else: the part that is thawed is never trained."""
    np = pytest.importorskip("numpy")
    program = FROZEN + epochs(THAW) + "result = [body.layers[-1].kernel.numpy()]\n"
    (eager,), (traced,) = results(program), results(program.replace("def update", "@tf.function\ndef update"))
    assert not np.allclose(eager, traced)


@pytest.mark.slow
def test_what_a_callback_thaws() -> None:
    """The same by hand, where a callback thaws: the trained weights, and the mode of batch normalization, are others."""
    np = pytest.importorskip("numpy")
    trained = FROZEN + BY_NAME + epochs("opening.on_epoch_begin(turn)") + "result = [body.layers[-1].kernel.numpy()]\n"
    normed = NORMED + BY_MODEL + INFERENCE.replace("BEFORE", "opening.on_epoch_begin(turn)").replace("False", "True")
    normed += "result = [found[-1].numpy()]\n"
    for program, traced in (
        (trained, trained.replace("def update", "@tf.function\ndef update")),
        (
            normed,
            normed.replace("found = []", "found, run = [], tf.function(net)").replace("net(features", "run(features"),
        ),
    ):
        assert traced != program
        (eager,), (changed,) = results(program), results(traced)
        assert not np.allclose(eager, changed)


@pytest.mark.slow
def test_a_thaw_is_no_reason_where_the_model_only_infers(tmp_path: Path) -> None:
    program = NORMED + BY_MODEL + INFERENCE.replace("BEFORE", "opening.on_epoch_begin(turn)")
    assert _told(program, tmp_path) == [("TFG207", True, _told(program, tmp_path)[0][2])]
    assert_same(
        *(
            text + "result = [part.numpy() for part in found]\n"
            for text in (program, fixed(program, tmp_path, "TFG207"))
        )
    )


@pytest.mark.slow
def test_two_models_are_both_fixed(tmp_path: Path) -> None:
    program = (
        DATA
        + """
one = tf.keras.Sequential([tf.keras.layers.Dense(2)])
two = tf.keras.Sequential([tf.keras.layers.Dense(2)])
found = []
for turn in range(30):
    for features, wanted in pairs:
        found.append(one(features, training=False) - two(features, training=False))
result = [tf.add_n(found).numpy()]
"""
    )
    after = program
    for _ in range(3):
        after = fixed(after, tmp_path, "TFG207")
    assert after.count("@tf.function") >= 1
    assert_same(program, after)


LIBRARY = COACH.replace("MADE", "self.body.trainable = False").replace("METHOD", "").replace("BEFORE", "pass")
ELSEWHERE = {
    "thawed by a program": (
        "import training\nc = training.Coach()\nc.run(9)\nc.body.trainable = True\nc.run(9)\n",
        False,
    ),
    "thawed after the last run": ("import training\nc = training.Coach()\nc.run(9)\nc.body.trainable = True\n", True),
    "another rate": (
        "from training import Coach\nc = Coach()\nfor n in range(3):\n    c.rate = n\n    c.run(9)\n",
        False,
    ),
    "nothing changes": ("from training import Coach\nCoach().run(9)\n", True),
    "a callback of another file": ("import training\n\n\ndef on_end(coach):\n    setattr(coach, 'rate', 0.1)\n", False),
}


@pytest.mark.parametrize("case", ELSEWHERE)
def test_programs_that_import_the_file_count(case: str, tmp_path: Path) -> None:
    program, is_fixed = ELSEWHERE[case]
    (tmp_path / "main.py").write_text(program)
    told = [
        finding.fix is not None for rule, finding in findings(LIBRARY, tmp_path, "training.py") if rule.code == "TFG202"
    ]
    assert told == [is_fixed]


def test_a_callback_in_an_imported_file_counts(tmp_path: Path) -> None:
    (tmp_path / "fade.py").write_text("import tensorflow as tf\n" + FADING.partition("\n\n\nfading")[0] + "\n")
    program = SCALED + "from fade import Fading\nfading = Fading()\nfading.set_model(net)\n" + STEP
    ((_, is_fixed, text),) = _told(program + epochs("fading.on_epoch_begin(turn)"), tmp_path)
    assert not is_fixed
    assert "self.factor" in text


def test_a_setting_of_an_imported_module_counts(tmp_path: Path) -> None:
    (tmp_path / "settings.py").write_text("pace = 0.05\nfloor = 0.0\n")
    step = STEP.replace("    free = ", "        miss = miss * settings.pace\n    free = ")
    program = PARTS + "import settings\n" + step
    told = [_told(program + epochs(f"settings.{name} += 0.1"), tmp_path)[0] for name in ("pace", "floor")]
    assert [is_fixed for _, is_fixed, _ in told] == [False, True]
    assert "settings.pace" in told[0][2]


STEPPING = (
    SCALED
    + """
class Stepping(Scaled):
    def train_step(self, batch):
        features, wanted = batch
        with tf.GradientTape() as tape:
            miss = tf.reduce_mean(tf.square(self(features, training=True) - wanted))
        free = self.trainable_variables
        self.optimizer.apply_gradients(zip(tape.gradient(miss, free), free))
        return {"miss": miss}


net = Stepping()
net.compile(optimizer="sgd", run_eagerly=True)
"""
)
FITS = "net.fit(pairs, epochs=9, verbose=0)\n"


@pytest.mark.parametrize(
    ("program", "is_fixed"),
    [
        (STEPPING + FITS, True),
        (STEPPING + FITS + "net.factor = 0.5\n" + FITS, False),
        (STEPPING + FITS + "net.factor = 0.5\n", True),
        (STEPPING + FADING.replace("fading.set_model(net)\n", "") + FITS.replace("v", "callbacks=[fading], v"), False),
    ],
)
def test_a_mode_that_is_needed_stays(program: str, is_fixed: bool, tmp_path: Path) -> None:
    told = [finding for rule, finding in findings(program, tmp_path) if rule.code == "TFG205"]
    assert [finding.fix is not None for finding in told] == [is_fixed]
    assert ("self.factor" in str(told[0].help)) is not is_fixed


TUNED = (
    STEPPING.replace("net = Stepping()\n", "net = Stepping()\nnet(rows)\nnet.inner.trainable = False\n")
    .replace(
        "self.inner = tf.keras.layers.Dense(1)",
        "self.inner, self.top = tf.keras.layers.Dense(2), tf.keras.layers.Dense(1)",
    )
    .replace("self.inner(inputs)", "self.top(self.inner(inputs))")
)
THAWN = "net.inner.trainable = True\n"
COMPILED = "net.compile(optimizer='sgd', run_eagerly=True)\n"


@pytest.mark.slow
@pytest.mark.parametrize(
    ("after", "is_fixed"),
    [
        (FITS + THAWN + COMPILED + FITS, True),
        (FITS + THAWN + COMPILED.replace(", run_eagerly=True", "") + FITS, True),
        (FITS + "for turn in range(2):\n    net.inner.trainable = turn == 1\n    " + COMPILED + "    " + FITS, True),
        (FITS + THAWN + FITS, False),
        (FITS + THAWN + FITS + COMPILED + FITS, False),
        (FITS + THAWN + "if len(rows) > 99:\n    " + COMPILED + FITS, False),
        (FITS + THAWN + "other = Stepping()\n" + COMPILED.replace("net", "other") + FITS, False),
    ],
)
def test_compile_makes_the_trace_again(after: str, is_fixed: bool, tmp_path: Path) -> None:
    program = TUNED + after
    told = [finding for rule, finding in findings(program, tmp_path) if rule.code == "TFG205"]
    assert told
    assert all((finding.fix is not None) is is_fixed for finding in told)
    if is_fixed:
        assert_same(program + RESULT, fixed(program, tmp_path, "TFG205") + RESULT)


WEIGHTS_FIRST = SCALED + STEP.replace("    with tf", "    free = net.trainable_variables\n    with tf").replace(
    "    free = net.trainable_variables\n    sgd", "    sgd"
)


def test_weights_that_are_read_before_keras_2_makes_them(tmp_path: Path) -> None:
    told = _told(WEIGHTS_FIRST + epochs("pass"), tmp_path, KERAS_2)
    assert [is_fixed for _, is_fixed, _ in told] == [False]
    assert "no variables before the model is called" in told[0][2]
    assert _told(WEIGHTS_FIRST + epochs("pass"), tmp_path)[0][1]  # Keras 3 raises there, traced or not
    for built in ("net(rows)\n", "net.build((None, 3))\n"):
        program = re.sub(r"\nfor turn", f"\n{built}for turn", WEIGHTS_FIRST + epochs("pass"), count=1)
        assert [is_fixed for _, is_fixed, _ in _told(program, tmp_path, KERAS_2)] == [True]


BETWEEN = {
    "an attribute": "times.factor = 3.0",
    "a list of the layer": "times.kept[0] = 3.0",
    "nothing": "print(times)",
}


@pytest.mark.slow
@pytest.mark.parametrize("case", BETWEEN)
def test_two_loops_share_a_trace_where_nothing_changes_in_between(case: str, tmp_path: Path) -> None:
    """Protects the second loop over a model whose setting changed after the first one: each is traced by itself."""
    layer = (
        DATA
        + "class Times(tf.keras.layers.Layer):\n    factor = 1.0\n    kept = [1.0]\n\n    def call(self, inputs):\n"
        "        return inputs * self.factor * self.kept[0]\n\n\ntimes, result = Times(), []\n"
        "net = tf.keras.Sequential([tf.keras.layers.Input((3,)), times, tf.keras.layers.Dense(1)])\n"
    )
    loop = "for features, _ in pairs.repeat(9):\n    result.append(net(features).numpy())\n"
    program = f"{layer}{loop}{BETWEEN[case]}\n{loop}"
    after = fixed(fixed(program, tmp_path, "TFG207"), tmp_path, "TFG207")
    assert after.count("@tf.function") == (1 if case == "nothing" else 2)
    assert "net(features)" not in after.replace("return net(features)", "")
    assert_same(program, after)
