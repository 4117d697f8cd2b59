"""What fixes change, run with TensorFlow: the program before and after gives the same, or what the rule promises."""

from __future__ import annotations

from pathlib import Path

import pytest
from checks import findings, fixed, notebook
from fixed_programs import HEAD, assert_same_results, results, stable

from tflint_gpu.checking.engine.placement import placed

MODEL = """\
model = tf.keras.Sequential([tf.keras.layers.Dense(3, activation="tanh"), tf.keras.layers.Dropout(0.5)])
dataset = tf.data.Dataset.from_tensor_slices((data, data[:, :3])).batch(5).repeat(5)
"""

SHUFFLED = """
import random


@tf.function
def changed(photo):
    kinds = [tf.image.flip_up_down, FUNCTION]
    random.shuffle(kinds)
    for kind in kinds:
        photo = kind(photo)
    return photo


print(changed(tf.zeros((2, 2, 3))))
"""
FOLLOWING = (
    MODEL
    + """\
model.build((None, 4))
target = tf.keras.models.clone_model(model)
model.compile("sgd", "mse")
for x, y in dataset:
    model.train_on_batch(x, y)
"""
).rstrip("\n")

REPLICAS = """
strategy = tf.distribute.MirroredStrategy(["/cpu:0"])
with strategy.scope():
    model = tf.keras.Sequential([tf.keras.Input((4,)), tf.keras.layers.Dense(3, activation="tanh")])
    optimizer = tf.keras.optimizers.SGD(0.1)
dataset = tf.data.Dataset.from_tensor_slices((data, data[:, :3])).batch(4)
result = []


def update(x, y):
    with tf.GradientTape() as tape:
        loss = tf.reduce_mean(tf.square(model(x) - y))
    gradients = tape.gradient(loss, model.trainable_variables)
    optimizer.apply_gradients(zip(gradients, model.trainable_variables))
    return loss

"""

# Programs by what they are about: the rule, the program, and what must be in it when it is fixed.
SAME = {
    "comments in what is written anew": (
        "TFG708",
        """
pairs = tf.data.Dataset.range(24).apply(
    # both at once
    tf.data.experimental.map_and_batch(
        lambda number: number * 3,  # thrice
        batch_size=6,
    )
)
result = list(pairs)
""",
        ["\n# both at once\n# thrice\npairs = tf.data.Dataset.range(24).map(lambda number: number * 3, "],
    ),
    "a comment in a comparison of rows": (
        "TFG109",
        """
def wide(signals):
    if len(signals):
        return tf.map_fn(
            lambda signal: tf.cast(signal, tf.float64),  # twice the digits
            signals,
            dtype=tf.float64,
        )


result = [wide(tf.constant(data))]
""",
        ["        # twice the digits\n        return tf.cast(signals, tf.float64)\n"],
    ),
    "comments after operations that are moved": (
        "TFG302",
        """
def halves():
    numbers = tf.data.Dataset.from_tensor_slices((data, data[:, 0]))
    numbers = numbers.prefetch(2)  # early
    numbers = numbers.map(lambda row, number: (row, number / 2))
    numbers = numbers.batch(4)
    return numbers


model = tf.keras.Sequential([tf.keras.layers.Dense(1)])
model.compile("sgd", "mse")
model.fit(halves(), verbose=0)
result = [number for _, number in halves()]
""",
        ["data[:, 0]))\n    # early\n    numbers = numbers.map("],
    ),
    "metrics": (
        "TFG207",
        MODEL
        + """
error = tf.keras.metrics.MeanSquaredError()
for x, y in dataset:  # all of them
    error.update_state(y, model(x, training=False))
result = [error.result()]
""",
        ["@tf.function\ndef traced_model(", "traced_model(model, x, training=False))", "# all of them"],
    ),
    "a model that a method calls": (
        "TFG207",
        MODEL
        + """

class Evaluation:
    # what is evaluated
    def __init__(self, net):
        self.net = net

    def outputs(self, batches):
        found = []
        for x, _ in batches:
            found.append(self.net(x))  # no gradients
        return found


result = Evaluation(model).outputs(dataset)
""",
        [
            "@tf.function\ndef traced_net(net, x):\n    return net(x)\n\n\nclass",
            "traced_net(self.net, x))  # no gradients",
        ],
    ),
    "two functions that call one model": (
        "TFG207",
        MODEL
        + """

def sums():
    return [tf.reduce_sum(model(x)) for x, _ in dataset]


def peaks():
    peaks = []
    for x, _ in dataset:
        peaks.append(tf.reduce_max(model(x)))
    return peaks


result = sums() + peaks()
""",
        ["reduce_sum(traced_model(model, x))", "reduce_max(traced_model(model, x))"],
    ),
    "a name that is taken": (
        "TFG207",
        MODEL
        + """
traced_model = call_model = 1
result = []
for x, _ in dataset:
    result.append(model(x))
""",
        ["def traced_model_2(model, x)", "traced_model_2(model, x))"],
    ),
    "rows": (
        "TFG214",
        MODEL
        + """
result = []
for number in range(40):
    row = np.full((1, 4), number / 40, "float32")
    result.append(np.asarray(model(row, training=False)))
""",
        ["def traced_model(model, row, training)", "traced_model(model, row, training=False)"],
    ),
    "a text that grows": (
        "TFG214",
        """
model = tf.keras.Sequential([tf.keras.layers.Embedding(9, 4), tf.keras.layers.Dense(9)])
text = np.array([[1, 2]])
while text.shape[1] < 40:
    scores = model(text)
    text = np.concatenate([text, np.argmax(scores[:, -1:], -1)], 1)
result = [text]
""",
        ["@tf.function(reduce_retracing=True)\ndef traced_model(model, text)", "scores = traced_model(model, text)"],
    ),
    "a step that a strategy runs in a loop": (
        "TFG202",
        REPLICAS
        + """
for epoch in range(2):
    for x, y in strategy.experimental_distribute_dataset(dataset):
        losses = strategy.run(update, args=(x, y))
        result.append(strategy.reduce(tf.distribute.ReduceOp.SUM, losses, axis=None))
result += model.get_weights()
""",
        [
            "@tf.function\ndef train_step(x, y):\n    losses = strategy.run(update, args=(x, y))\n",
            "losses = train_step(x, y)",
        ],
    ),
    "a step that a strategy runs in a function": (
        "TFG202",
        REPLICAS
        + """

def everywhere(pair):
    losses = strategy.run(update, args=pair)
    return strategy.reduce(tf.distribute.ReduceOp.MEAN, losses, axis=None)


batches = strategy.experimental_distribute_dataset(dataset)
for epoch in range(2):
    for pair in batches:
        result.append(everywhere(pair))
""",
        ["@tf.function\ndef everywhere(pair):", "\n\ndef update(x, y):"],
    ),
    "rows for predict": (
        "TFG206",
        MODEL + "result = [model.predict(np.expand_dims(row, 0), verbose=0)[0] for row in data]\n",
        ["result = [model.predict_on_batch(np.expand_dims(row, 0))[0] for row in data]\n"],
    ),
    "both outputs of each row": (
        "TFG206",
        """
seen = tf.keras.Input((4,))
net = tf.keras.Model(seen, [tf.keras.layers.Dense(2)(seen), tf.keras.layers.Dense(3)(seen)])
firsts = [net.predict(sample[None], verbose=0)[0] for sample in data]
result = [*firsts, len(firsts), firsts[0].shape]
""",
        ["net.predict_on_batch(sample[None])[0] for sample in data]"],
    ),
    "rows of several lengths": (
        "TFG206",
        """
net = tf.keras.Sequential([tf.keras.Input((None, 4)), tf.keras.layers.GlobalAveragePooling1D()])
texts = [data[:length] for length in range(1, 13)]
result = [net.predict(text[np.newaxis, ...], verbose=0)[0] for text in texts]
""",
        ["net.predict_on_batch(text[np.newaxis, ...])[0] for text in texts]"],
    ),
    "rows of a generator": (
        "TFG206",
        MODEL
        + """
rows = (row * 2 for row in data)
result = [model.predict(row[None], verbose=0)[0] for row in rows]
result.append(np.zeros(3))
""",
        ["model.predict_on_batch(row[None])[0] for row in rows]"],
    ),
    "rows of a dataset": (
        "TFG206",
        MODEL
        + """
rows = tf.data.Dataset.from_tensor_slices(data)
known = [model.predict(tf.expand_dims(row, 0), verbose=0)[0] for row in rows]
result = sorted(known, key=lambda answer: float(answer[0]))
""",
        ["model.predict_on_batch(tf.expand_dims(row, 0))[0] for row in rows]"],
    ),
    "rows that are used one by one": (
        "TFG206",
        MODEL
        + """
result = []
for row in data:
    result.append(
        model.predict(
            row[np.newaxis],  # one
            batch_size=1,
            verbose=0,
        )
    )
""",
        ["        model.predict_on_batch(\n            row[np.newaxis],  # one\n"],
    ),
    "a state that the answer decides": (
        "TFG206",
        MODEL
        + """
state = np.zeros(4)
for step in range(30):
    answer = model.predict(np.reshape(state, [1, 4]), verbose=0)[0]
    state = np.append(answer, step % 3)
result = [state]
""",
        ["answer = model.predict_on_batch(np.reshape(state, [1, 4]))[0]"],
    ),
    "a size that says nothing": (
        "TFG315",
        MODEL
        + """
model.compile("sgd", "mse")
model.fit(
    dataset,
    batch_size=7,  # ignored
    verbose=0,
)
result = model.get_weights()
""",
        ["    dataset,\n    # ignored\n    verbose=0,\n"],
    ),
    "a device that may not be there": (
        "TFG501",
        """
with tf.device("/GPU:0"):
    product = tf.linalg.matmul(data, data, transpose_b=True)
result = [product]
""",
        ['with tf.device("/GPU:0" if tf.config.list_logical_devices("GPU") else "/CPU:0"):'],
    ),
    "weights that follow": (
        "TFG213",
        MODEL
        + """
model.build((None, 4))
target = tf.keras.models.clone_model(model)
model.compile("sgd", "mse")
for x, y in dataset:
    model.train_on_batch(x, y)
    target.set_weights(model.get_weights())  # follows
result = target.get_weights()
""",
        ["    for mine, other in zip(target.weights, model.weights):\n        mine.assign(other)  # follows\n"],
    ),
    "weights that follow in two statements": (
        "TFG213",
        FOLLOWING
        + """
    latest = model.get_weights()  # latest
    target.set_weights(latest)  # follows
result = target.get_weights()
""",
        [
            "    # latest\n    for mine, other in zip(target.weights, model.weights):\n        mine.assign(other)  # follows\n"
        ],
    ),
    "a moving average": (
        "TFG213",
        FOLLOWING
        + """
    pairs = zip(model.get_weights(), target.get_weights())
    target.set_weights([0.25 * new + (1 - 0.25) * old for new, old in pairs])  # slowly
result = target.get_weights()
""",
        [
            "    for new, old in zip(model.weights, target.weights):\n"
            "        old.assign(0.25 * new + (1 - 0.25) * old)  # slowly\n"
        ],
    ),
    "moving averages of an agent's networks": (
        "TFG213",
        MODEL
        + """
model.build((None, 4))


class Agent:
    def __init__(self, tau):
        self.tau = tau
        self.nets = [model, tf.keras.models.clone_model(model)]
        self.actor, self.critic = self.nets
        self.slow_actor, self.slow_critic = [tf.keras.models.clone_model(net) for net in self.nets]
        self.actor.compile("sgd", "mse")
        self.critic.compile("sgd", "mse")

    def learn(self, x, y):
        self.actor.train_on_batch(x, y)
        self.critic.train_on_batch(x, y)
        self.follow()

    def follow(self):
        # of the actor
        fast = self.actor.get_weights()
        slow = self.slow_actor.get_weights()
        ours = self.critic.get_weights()
        theirs = self.slow_critic.get_weights()

        for i in range(len(fast)):
            slow[i] = self.tau * fast[i] + (1 - self.tau) * slow[i]  # slowly

        for i, weight in enumerate(ours):
            theirs[i] = theirs[i] * 0.5 + weight / 2

        self.slow_actor.set_weights(slow)
        self.slow_critic.set_weights(theirs)


agent = Agent(0.1)
for x, y in dataset:
    agent.learn(x, y)
result = [*agent.slow_actor.get_weights(), *agent.slow_critic.get_weights()]
""",
        [
            "        for mine, other in zip(self.slow_actor.weights, self.actor.weights):\n"
            "            mine.assign(self.tau * other + (1 - self.tau) * mine)  # slowly\n\n",
            "        for mine, weight in zip(self.slow_critic.weights, self.critic.weights):\n",
        ],
    ),
    "a step that prints and keeps": (
        "TFG202",
        MODEL
        + """
optimizer = tf.keras.optimizers.SGD(0.1)
square = tf.keras.losses.MeanSquaredError()
shown = []


class Trainer:
    def __init__(self, net, optimizer):
        self.net, self.optimizer = net, optimizer
        self.last = 0.0

    def step(self, x, y):
        x = np.asarray(x) * 2  # twice
        # forward
        with tf.GradientTape() as tape:
            loss = square(y, self.net(x, training=False))  # the loss
        grads = tape.gradient(loss, self.net.trainable_variables)
        self.optimizer.apply_gradients(zip(grads, self.net.trainable_variables))
        shown.append(float(loss))
        self.last = loss.numpy()
        return loss


net = tf.keras.Sequential([tf.keras.layers.Dense(3)])
for trainer in (Trainer(model, optimizer), Trainer(net, tf.keras.optimizers.Adam(0.1))):
    for x, y in dataset:
        trainer.step(x, y)
result = [*shown, trainer.last, *model.get_weights(), *net.get_weights()]
""",
        [
            "    @tf.function\n    def traced_step(self, x, y):",
            "        loss = self.traced_step(x, y)\n        shown.append",
        ],
    ),
    "a step of batches of arrays": (
        "TFG202",
        MODEL
        + """
model = tf.keras.Sequential([tf.keras.layers.Dense(2)])
optimizer = tf.keras.optimizers.SGD(0.1)
inputs, labels = np.array(data, "float64"), np.arange(24).reshape(24, 1) % 2
for number in range(100):
    rows = np.random.randint(0, 24, 8)
    x, y = inputs[rows], labels[rows]
    with tf.GradientTape() as tape:
        loss = tf.keras.losses.sparse_categorical_crossentropy(y_true=y, y_pred=model(x), from_logits=True)
        loss = tf.reduce_mean(loss)
        print(number, loss.numpy())
    grads = tape.gradient(loss, model.trainable_variables)
    optimizer.apply_gradients(zip(grads, model.trainable_variables))
result = model.get_weights()
""",
        ["def train_step(model, x, y):", "    loss = train_step(model, x, y)\n    print(number, loss.numpy())"],
    ),
    "calls of one model with other names": (
        "TFG207",
        MODEL
        + """

def sums(batches):
    return [tf.reduce_sum(model(images, training=False)) for images, _ in batches]


def peaks(batches):
    peaks = []
    for x, _ in batches:
        peaks.append(tf.reduce_max(model(x, training=False)))
    return peaks


result = sums(dataset) + peaks(dataset)
""",
        [
            "reduce_sum(traced_model(model, images, training=False))",
            "reduce_max(traced_model(model, x, training=False))",
        ],
    ),
    "a model that unrolls a cell, which gives its output and its states": (
        "TFG207",
        """

class Reader(tf.keras.Model):
    def __init__(self):
        super().__init__()
        self.memory = tf.keras.layers.GRUCell(3)
        self.head = tf.keras.layers.Dense(2)

    def call(self, texts):
        states = [tf.zeros([8, 3])]
        for place in range(4):
            seen, states = self.memory(texts[:, place, None], states)
        return self.head(seen)


reader = Reader()
result = []
for texts in tf.data.Dataset.from_tensor_slices(data).batch(8).repeat(9):
    result.append(reader(texts))
""",
        ["traced_reader(reader, texts)"],
    ),
    "models of two functions that get their variables when they run": (
        "TFG207",
        MODEL.replace("model", "first")
        + """

def sums(batches):
    model = tf.keras.Sequential([tf.keras.layers.Dense(3, kernel_initializer="ones")])
    return [tf.reduce_sum(model(x)) for x, _ in batches]


def peaks(batches):
    model = tf.keras.Sequential([tf.keras.layers.Dense(3, kernel_initializer="ones")])
    return [tf.reduce_max(model(x)) for x, _ in batches]


result = sums(dataset) + peaks(dataset)
""",
        ["reduce_sum(traced_model(model, x))", "reduce_max(call_model(model, x))"],
    ),
    "a number of Python's in a function of rows": (
        "TFG109",
        """
import math


def distances(values, parts):
    most = math.log(parts)
    return tf.map_fn(elems=values, fn=lambda value: -((value - most) ** 2))  # of each


result = [distances(tf.constant(data), 7)]
""",
        ["    return (-((values - most) ** 2))  # of each\n"],
    ),
    "a cell": (
        "TFG601",
        """
layer = tf.keras.layers.RNN(tf.keras.layers.LSTMCell(3, use_bias=True), return_sequences=True)
result = [layer(tf.ones((2, 5, 4)))]
""",
        ["layer = tf.keras.layers.LSTM(3, use_bias=True, return_sequences=True)"],
    ),
    "batches ahead": (
        "TFG318",
        """
batches = tf.data.Dataset.from_tensor_slices(np.repeat(data, 9, 0)).batch(64).prefetch(64)  # ahead
result = list(batches)
""",
        [".prefetch(tf.data.AUTOTUNE)  # ahead"],
    ),
    "a switch for debugging": (
        "TFG205",
        MODEL
        + """
model.compile("sgd", "mse", run_eagerly=True)
model.fit(dataset, verbose=0)
result = model.get_weights()
""",
        ['model.compile("sgd", "mse")'],
    ),
    "larger batches for validation": (
        "TFG211",
        """
model = tf.keras.Sequential([tf.keras.layers.Dense(3, activation="tanh")])
model.compile("sgd", "mse")
history = model.fit(data, data[:, :3], batch_size=4, verbose=0, validation_data=(data, data[:, :3]))
result = [*model.get_weights(), history.history["val_loss"]]
""",
        ["validation_data=(data, data[:, :3]), validation_batch_size=32)"],
    ),
    "rows that are joined": (
        "TFG212",
        MODEL
        + """

def scored(batches):
    scores = tf.zeros([0, 3])
    for x, _ in batches:
        # each batch
        scores = tf.concat([scores, model.predict_on_batch(x)], axis=0)  # and its rows
    return scores


result = [scored(dataset.repeat(9))]
""",
        [
            "    scores_parts = [scores]\n    for x",
            "        scores_parts.append(model.predict_on_batch(x))  # and its rows\n",
            "\n    scores = tf.concat(scores_parts, axis=0)\n    return scores\n",
        ],
    ),
    "a loss that is shown": (
        "TFG209",
        MODEL
        + """
model.build((None, 4))
optimizer = tf.keras.optimizers.SGD()


@tf.function
def train_step(x, y):
    with tf.GradientTape() as tape:
        loss = tf.reduce_mean(tf.square(model(x) - y))
    optimizer.apply_gradients(zip(tape.gradient(loss, model.trainable_variables), model.trainable_variables))
    return loss


for x, y in dataset.repeat(9):
    loss = train_step(x, y)
    shown = loss.numpy()
    print(  # the loss
        shown
    )
result = model.get_weights()
""",
        [
            "for step, (x, y) in enumerate(dataset.repeat(9)):",
            "    if step % 100 == 0:\n        shown = loss.numpy()\n        print(  # the loss\n",
        ],
    ),
    "rows at once": (
        "TFG109",
        """

@tf.function
def computed(x):
    scaled = tf.map_fn(fn=lambda row: 1 - tf.abs(row) * 2, elems=x)  # each
    return scaled, tf.map_fn(lambda row: tf.reduce_max(row), x, fn_output_signature=tf.float32)


result = computed(tf.constant(data))
""",
        ["scaled = (1 - tf.abs(x) * 2)  # each", "tf.vectorized_map(lambda row: tf.reduce_max(row), x)"],
    ),
    "a prefetch in the middle": (
        "TFG302",
        MODEL
        + """
model.compile("sgd", "mse")
batches = tf.data.Dataset.from_tensor_slices((data, data[:, :3]))
batches = batches.prefetch(2)
rows = 24
# in order
batches = batches.batch(6)  # whole
model.fit(batches, verbose=0)
result = model.get_weights()
""",
        ["[:, :3]))\nrows = 24\n# in order\nbatches = batches.batch(6).prefetch(2)  # whole\n"],
    ),
    "a map of single elements": (
        "TFG304",
        """

def scaled(x):
    return tf.cast(x, tf.float32) / 255.0


rows = tf.data.Dataset.from_tensor_slices(np.repeat(data, 9, 0))
rows = rows.map(scaled)
rows = rows.shuffle(300, seed=3)
rows = (
    rows
    .batch(32)  # whole
)
result = list(rows)
""",
        ["(np.repeat(data, 9, 0))\nrows = rows.shuffle(300, seed=3)\n", "    .batch(32).map(scaled)  # whole\n"],
    ),
    "a pipeline without a prefetch": (
        "TFG301",
        """
options = tf.data.Options()
options.experimental_optimization.apply_default_optimizations = False
model = tf.keras.Sequential([tf.keras.layers.Dense(1)])
model.compile("sgd", "mse")
rows = tf.data.Dataset.from_tensor_slices((data, data[:, :1])).map(lambda x, y: (x * 2, y)).batch(4)
rows = rows.with_options(options)
model.fit(rows, verbose=0)
result = model.get_weights()
""",
        ["rows = rows.with_options(options).prefetch(tf.data.AUTOTUNE)\n"],
    ),
    "a step that fetches first and keeps a list": (
        "TFG202",
        MODEL
        + """
optimizer = tf.keras.optimizers.SGD(0.1)
batches, seen = iter(dataset), []
while True:
    with tf.GradientTape() as tape:
        try:
            # the next ones
            x, y = next(batches)
        except StopIteration:
            break
        out = model(x)
        loss = tf.reduce_mean(tf.square(out - y))
        seen.append(loss.numpy())  # each
    grads = tape.gradient(loss, model.trainable_variables)
    optimizer.apply_gradients(zip(grads, model.trainable_variables))
result = [*seen, *model.get_weights()]
""",
        [
            "while True:\n    try:\n        # the next ones\n        x, y = next(batches)\n    except StopIteration:",
            "    loss = train_step(x, y)\n    seen.append(loss.numpy())  # each\n",
        ],
    ),
    "a step among the statements of a loop": (
        "TFG202",
        MODEL
        + """
optimizer = tf.keras.optimizers.SGD()


def main():
    for epoch in range(3):
        # all batches
        for step, (x, y) in enumerate(dataset):
            with tf.GradientTape() as tape:
                loss = tf.reduce_mean(tf.square(model(x) - y))  # the loss
            grads = tape.gradient(loss, model.trainable_variables)
            optimizer.apply_gradients(zip(grads, model.trainable_variables))
            if step % 3 == 0:
                print(epoch, step, float(loss))


main()
result = model.get_weights()
""",
        [
            "def main():\n    @tf.function\n    def train_step(x, y):\n        with tf.GradientTape() as tape:",
            "(model(x) - y))  # the loss\n",
            "        return loss\n\n    for epoch in range(3):\n        # all batches\n",
            "            loss = train_step(x, y)\n            if step % 3 == 0:",
        ],
    ),
}


LONG = (
    "a state that the answer decides",
    "both outputs of each row",
    "moving averages of an agent's networks",
    "rows for predict",
    "rows of a generator",
    "rows of several lengths",
    "rows that are used one by one",
)
"""Programs that take two seconds and more; the others of `SAME` try the same fixes."""


@pytest.mark.parametrize(
    ("rule", "program", "parts"),
    [pytest.param(*case, id=name, marks=pytest.mark.slow if name in LONG else ()) for name, case in SAME.items()],
)
def test_the_results_are_the_same(rule: str, program: str, parts: list[str], tmp_path: Path) -> None:
    """Protects what programs compute, their comments, and users from a second round."""
    assert_same_results(rule, program, parts, tmp_path)


# What a fix gives that the program had not: the rule, the program, which says in `result` whether it is so, and a part.
PROMISED = {
    "epochs of their own": (
        "TFG306",
        """
model = tf.keras.Sequential([tf.keras.layers.Dense(1)])
model.compile("sgd", "mse")
rows = tf.data.Dataset.from_tensor_slices((data, data[:, :1])).shuffle(24)
rows = rows.cache()
rows = rows.batch(4)
model.fit(rows, epochs=2, verbose=0)
first, second = (np.concatenate([x for x, _ in rows]) for _ in range(2))
result = [not np.array_equal(first, second), np.isclose(first.sum(), second.sum())]
""",
        "(data, data[:, :1])).cache().shuffle(24)\nrows = rows.batch(4)\n",
    ),
    "samples that are mixed": (
        "TFG307",
        """
numbers = np.arange(64, dtype="float32").reshape(64, 1)
model = tf.keras.Sequential([tf.keras.layers.Dense(1)])
model.compile("sgd", "mse")
rows = tf.data.Dataset.from_tensor_slices((numbers, numbers))
rows = rows.batch(8)
rows = rows.shuffle(64)
model.fit(rows, verbose=0)
spans = [float(tf.reduce_max(x) - tf.reduce_min(x)) for x, _ in rows]
result = [max(spans) > 7, sorted(np.concatenate([x for x, _ in rows])[:, 0].tolist()) == numbers[:, 0].tolist()]
""",
        "rows = rows.shuffle(512).batch(8)\n",
    ),
    "batches": (
        "TFG316",
        """
model = tf.keras.Sequential([tf.keras.layers.Dense(1)])
model.compile("sgd", "mse")
rows = tf.data.Dataset.from_tensor_slices((np.random.rand(70, 4), np.zeros((70, 1)))).shuffle(70)  # samples
try:
    model.fit(rows, verbose=0)
except ValueError:
    pass
result = [int(model.optimizer.iterations) == 3]
""",
        ".shuffle(70).batch(32)  # samples",
    ),
    "batches, where others read the samples": (
        "TFG316",
        """
model = tf.keras.Sequential([tf.keras.Input((4,)), tf.keras.layers.Dense(1)])
model.compile("sgd", "mse")
rows = tf.data.Dataset.from_tensor_slices((np.random.rand(70, 4), np.zeros((70, 1)))).shuffle(70)  # samples
try:
    model.fit(rows, verbose=0)
except ValueError:
    pass
result = [int(model.optimizer.iterations) == 3, next(iter(rows))[0].shape == (4,)]
model.evaluate(rows.batch(7), verbose=0)
""",
        "model.fit(rows.batch(32), verbose=0)",
    ),
    "batches of what a function is given": (
        "TFG316",
        """
def learn(model, samples):
    try:
        model.fit(samples, verbose=0)
    except ValueError:
        pass
    return next(iter(samples))[0].shape == (4,)


model = tf.keras.Sequential([tf.keras.layers.Dense(1)])
model.compile("sgd", "mse")
rows = tf.data.Dataset.from_tensor_slices((np.random.rand(70, 4), np.zeros((70, 1))))
result = [learn(model, rows), int(model.optimizer.iterations) == 3]
""",
        "model.fit(samples.batch(32), verbose=0)",
    ),
    "an order": (
        "TFG317",
        """
numbers = tf.data.Dataset.range(99).shuffle(1)
shuffled = [int(number) for number in numbers]
result = [shuffled != sorted(shuffled), sorted(shuffled) == list(range(99))]
""",
        ".shuffle(1000)",
    ),
    "pairs": (
        "TFG319",
        """
model = tf.keras.Sequential([tf.keras.layers.Dense(4)])
model.compile("sgd", "mse")
images = tf.data.Dataset.from_tensor_slices(data)
images = images.shuffle(24)
labels = tf.data.Dataset.from_tensor_slices(data * 2).shuffle(24)
pairs = tf.data.Dataset.zip((images, labels)).batch(8)
model.fit(pairs, verbose=0)
result = [all(np.allclose(2 * x, y) for x, y in pairs)]
""",
        "zip((images, labels)).shuffle(24).batch(8)",
    ),
    "an output that can be trained": (
        "TFG604",
        """
tf.keras.mixed_precision.set_global_policy("mixed_float16")
last = tf.keras.layers.Dense(1, activation="sigmoid", kernel_initializer=tf.keras.initializers.Constant(10.0))
model = tf.keras.Sequential([tf.keras.layers.Input((1,)), last])
model.compile(optimizer=tf.keras.optimizers.SGD(1.0), loss="binary_crossentropy")
model.fit(tf.ones((1, 1)), tf.zeros((1, 1)), verbose=0)
result = [float(last.kernel.numpy()[0, 0]) != 10.0]
""",
        'Constant(10.0), dtype="float32")',
    ),
    "batches of a usual size": (
        "TFG201",
        """
model = tf.keras.Sequential([tf.keras.layers.Dense(3)])
model.compile("sgd", "mse")
model.fit(data, data[:, :3], batch_size=1, verbose=0)
result = [int(model.optimizer.iterations) == 1]
""",
        "batch_size=32",
    ),
    "noise of each step": (
        "TFG102",
        """

@tf.function
def noisy(x):
    noise = np.random.normal(0.0, 2.0, size=(3,))  # of each step
    return x + noise * np.random.uniform(high=2.0, low=1.0)


drawn = np.stack([noisy(tf.zeros(3)) for _ in range(400)])
result = [len(np.unique(drawn)) == drawn.size, 2.5 < drawn.std() < 3.5]
""",
        "noise = tf.random.normal([3], 0.0, 2.0)  # of each step\n    return x + noise * tf.random.uniform([], maxval=2.0, minval=1.0)",
    ),
    "noise of the shape of what it is added to": (
        "TFG102",
        """

@tf.function
def noisy(x):
    x = x + np.random.uniform(1.0, 2.0)  # of each step
    x = tf.nn.relu(x)
    x += np.random.normal(0.0, 0.1, size=x.shape)
    return x


drawn = np.stack([noisy(tf.zeros(3)) for _ in range(400)])
result = [len(np.unique(drawn)) == drawn.size, 1.4 < drawn.mean() < 1.6]
""",
        "x = x + tf.random.uniform([], 1.0, 2.0)  # of each step\n    x = tf.nn.relu(x)\n"
        "    x += tf.random.normal(tf.shape(x), 0.0, 0.1)\n",
    ),
    "a draw that a tensor is compared with": (
        "TFG102",
        """
import random


class Blur:
    def __init__(self, chance):
        self.chance = tf.constant(chance, dtype=tf.float64)

    def over(self, x):
        is_kept = random.random() > self.chance  # at times
        return x if self.chance is None else tf.where(is_kept, x, x + 1.0)


blur = Blur(0.5)


@tf.function
def blurred(x):
    return blur.over(x)


drawn = np.stack([blurred(tf.zeros(3)) for _ in range(200)])
result = [0.3 < drawn.mean() < 0.7]
""",
        "is_kept = tf.random.uniform([], dtype=self.chance.dtype) > self.chance  # at times\n",
    ),
    "the order of functions": (
        "TFG102",
        """
import functools
import random


@tf.function
def changed(photo, gamma=None):
    kinds = [functools.partial(tf.image.adjust_brightness, delta=0.5)]
    if gamma is not None:
        kinds.append(lambda picture: tf.image.adjust_gamma(picture, gamma))
    # in any order
    random.shuffle(kinds)
    for kind in kinds:  # each once
        photo = kind(photo)
    return photo


drawn = np.stack([changed(tf.fill((2, 2, 3), 0.5), 2.0) for _ in range(60)])
result = [np.unique(drawn).tolist() == [0.75, 1.0], changed(tf.zeros((2, 2, 3)))[0, 0, 0] == 0.5]
""",
        "    # in any order\n    for index in tf.unstack(tf.random.shuffle(tf.range(len(kinds)))):  # each once\n"
        "        photo = tf.switch_case(index, [lambda kind=kind: kind(photo) for kind in kinds])\n",
    ),
    "a draw for each element": (
        "TFG309",
        """
import random

rows = tf.data.Dataset.range(50).map(lambda x: tf.cast(x, tf.float32) * 0.0 + random.gauss(1.0, sigma=2.0))
drawn = np.stack(list(rows))
result = [len(np.unique(drawn)) == 50, 1.0 < drawn.std() < 3.0]
""",
        "+ tf.random.normal([], 1.0, stddev=2.0))",
    ),
    "float32": (
        "TFG602",
        """
tf.keras.backend.set_floatx("float64")
# a model
model = tf.keras.Sequential([tf.keras.layers.Dense(3)])
model.compile("sgd", "mse")
model.fit(data, data[:, :3], verbose=0)
result = [all(weights.dtype == np.float32 for weights in model.get_weights())]
""",
        "\n\n# a model\nmodel",
    ),
}


@pytest.mark.slow
@pytest.mark.parametrize(("rule", "program", "part"), PROMISED.values(), ids=PROMISED.keys())
def test_what_the_fix_promises(rule: str, program: str, part: str, tmp_path: Path) -> None:
    """Protects the promise of fixes that are to change results: what was wrong is right then, and nothing else is."""
    before = HEAD + program
    after = stable(before, tmp_path, rule)
    assert part in after, after
    assert before.count("#") == after.count("#")
    assert not all(results(before))
    assert all(results(after))


UNFIXED = {
    "a replica that counts its steps": (
        "TFG202",
        REPLICAS.replace("    return loss\n", "    result.append(len(result))\n    return loss\n")
        + "for pair in strategy.experimental_distribute_dataset(dataset):\n    strategy.run(update, args=pair)\n",
    ),
    "weights that are given back after a step": (
        "TFG213",
        FOLLOWING.replace("    model.train", "    before = model.get_weights()\n    model.train")
        + "\n    model.set_weights(before)\n",
    ),
    "a moving average of which more is read": (
        "TFG213",
        FOLLOWING
        + "\n    fast = model.get_weights()\n    slow = target.get_weights()\n    for i in range(len(fast)):\n"
        "        slow[i] = 0.5 * slow[i] + 0.5 * fast[i]\n    target.set_weights(slow)\n    print(fast[0])\n",
    ),
    "a moving average with another weight's": (
        "TFG213",
        FOLLOWING
        + "\n    fast = model.get_weights()\n    slow = target.get_weights()\n    for i in range(len(fast)):\n"
        "        slow[i] = 0.5 * slow[i] + 0.5 * fast[i] * fast[0].mean()\n    target.set_weights(slow)\n",
    ),
    "a number that a loop changes": (
        "TFG207",
        MODEL.replace("model =", "inner =")
        + """
class Scaled(tf.keras.Model):
    def call(self, x, scale):
        return inner(x) * scale


model = Scaled()
found = [model(x, step) for step, (x, _) in enumerate(dataset)]
""",
    ),
    "a model that prints": (
        "TFG207",
        MODEL.replace("model =", "inner =")
        + """
class Shown(tf.keras.Model):
    def call(self, x):
        print("a batch")
        return inner(x)


model = Shown()
for x, _ in dataset:
    print(model(x))
""",
    ),
    "models that are built in their first call": (
        "TFG207",
        MODEL
        + """

class Judge:
    def __init__(self):
        self.net = tf.keras.Sequential([tf.keras.layers.Dense(3)])

    def scores(self):
        return [self.net(x) for x, _ in dataset]


print(Judge().scores(), Judge().scores())
""",
    ),
    "a tensor that begins as nothing": (
        "TFG212",
        MODEL
        + """

def scored(batches):
    scores = None
    for x, _ in batches:
        batch = model.predict_on_batch(x)
        if scores is None:
            scores = batch
        else:
            scores = tf.concat([scores, batch], axis=0)
    return scores


print(scored(dataset.repeat(9)))
""",
    ),
    "the order of functions that may change the image's kind": (
        "TFG102",
        SHUFFLED.replace("FUNCTION", "lambda x: tf.cast(x, tf.uint8)"),
    ),
    "an order that is read later": (
        "TFG102",
        SHUFFLED.replace("FUNCTION", "tf.image.flip_left_right").replace(
            "return photo", "return photo, kinds[0](photo)"
        ),
    ),
    "a draw that Python needs": (
        "TFG102",
        """

@tf.function
def flipped(x):
    if np.random.rand() < 0.5:
        x = -x
    return x


print(flipped(tf.constant(data)))
""",
    ),
    "callbacks": (
        "TFG206",
        MODEL + "for row in data:\n    print(model.predict(row[None], callbacks=[tf.keras.callbacks.Callback()]))\n",
    ),
}


def test_one_function_does_for_calls_that_differ_in_names(tmp_path: Path) -> None:
    """Protects readers from several functions of one text, which each trace the model."""
    _, program, _ = SAME["calls of one model with other names"]
    assert stable(HEAD + program, tmp_path, "TFG207").count("@tf.function") == 1


def test_another_program_of_the_project_makes_a_model_for_itself(tmp_path: Path) -> None:
    """Protects fixes of programs that use a part of another program: its `main` does not run in theirs."""
    (tmp_path / "nets.py").write_text(
        "import tensorflow as tf\n\n\ndef build():\n    return tf.keras.Sequential([tf.keras.layers.Dense(1)])\n"
    )
    other = "import nets\n\n\ndef load():\n    return 1\n\n\ndef main():\n    nets.build()\n\n\n"
    (tmp_path / "other.py").write_text(other + "if __name__ == '__main__':\n    main()\n")
    code = (
        "import tensorflow as tf\nimport nets\nimport other\nmodel = nets.build()\nother.load()\n"
        "dataset = tf.data.Dataset.range(99).batch(4)\nfor x in dataset:\n    print(model(x))\n"
    )
    assert "def traced_model(" in fixed(code, tmp_path, "TFG207")
    (tmp_path / "other.py").write_text(f"{other}main()\n")
    assert fixed(code, tmp_path, "TFG207") == code


@pytest.mark.parametrize(
    "declared",
    ["tf.keras.Model", "Union[tf.keras.Model, Callable]", "Callable[[tf.Tensor], tf.Tensor] | tf.keras.Model"],
)
def test_what_may_be_a_function_is_not_traced(declared: str, tmp_path: Path) -> None:
    """Protects callers that give a function of NumPy's where a model would do."""
    code = (
        "from typing import Callable, Union\nimport tensorflow as tf\n\n\n"
        f"def scores(predictor: {declared}, images):\n    parts = []\n"
        "    for batch in tf.data.Dataset.from_tensor_slices(images).batch(32):\n"
        "        parts.append(predictor(batch, training=False))\n    return tf.concat(parts, 0)\n"
    )
    rule = "TFG207"
    assert [f for own, f in findings(code, tmp_path) if own.code == rule]
    assert ("@tf.function" in fixed(code, tmp_path, rule)) is ("Callable" not in declared)


@pytest.mark.slow
def test_a_loop_is_fixed_that_calls_models_in_other_cells_too(tmp_path: Path) -> None:
    """Protects fixes in notebooks: one changes the cell of the loop, where a function in another cell calls a model."""
    made = (
        "import numpy as np\nimport tensorflow as tf\nclass Player:\n    def __init__(self):\n"
        "        self.policy = tf.keras.Sequential([tf.keras.layers.Dense(2)])\n"
        "        self.value = tf.keras.Sequential([tf.keras.layers.Dense(1)])\n    def act(self, state):\n"
        "        return int(np.argmax(self.policy(np.array([state])).numpy()))\n"
    )
    loop = (
        "player = Player()\nfor game in range(99):\n    state = world.reset()\n    for move in range(200):\n"
        "        choice = player.act(state)\n        worth = player.value(np.array([state])).numpy()\n"
        "        state = world.step(choice, worth)\n"
    )
    text = notebook(made, loop)
    (finding,) = [f for rule, f in findings(text, tmp_path, "game.ipynb") if rule.code == "TFG214"]
    fix = finding.fix and placed(finding.fix, finding.file)
    assert fix is not None and {edit.location.cell for edit in fix.edits} == {2}


@pytest.mark.parametrize(("method", "is_fixed"), [("build(self, shape)", False), ("rebuild(self)", True)])
def test_a_function_gets_what_each_layer_of_another_file_makes(method: str, is_fixed: bool, tmp_path: Path) -> None:
    """Protects layers of which there are several: a `tf.function` creates the variables of the first one only."""
    (tmp_path / "layers.py").write_text(
        "import tensorflow as tf\nfrom train import rolled\n\n\nclass Rolled(tf.keras.Model):\n"
        f"    def {method}:\n        self.part = tf.keras.layers.GRU(4, return_sequences=True)\n\n"
        "    def call(self, rows):\n        return rows + rolled(self.part, 50)\n"
    )
    code = (
        "import tensorflow as tf\n\n\ndef rolled(part, count):\n    rows = tf.zeros([9, 5, 4])\n    for _ in range(count):\n"
        "        rows = part(rows, training=False)\n    return rows\n"
    )
    assert ("@tf.function" in fixed(code, tmp_path, "TFG214")) is is_fixed


@pytest.mark.parametrize(("rule", "program"), UNFIXED.values(), ids=UNFIXED.keys())
def test_what_has_no_fix(rule: str, program: str, tmp_path: Path) -> None:
    """Protects programs whose results a fix would change, or which it would not make faster."""
    found = [finding for own, finding in findings(HEAD + program, tmp_path) if own.code == rule]
    assert [finding.fix for finding in found] == [None]
