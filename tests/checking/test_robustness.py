"""All rules on programs changed at random: the short form of `tests/benchmarks/fuzz.py`, always with the same programs."""

from __future__ import annotations

import json
import random
from collections import Counter

import pytest
from mutations import CHAINS, as_notebook, linked, mutated
from robustness import TARGETS, failures

from tflint_gpu.checking.stack import with_large_stack

TRAINING = """\
import numpy as np
import tensorflow as tf

class Net(tf.keras.Model):
    def __init__(self, units=4):
        super().__init__()
        self.dense = tf.keras.layers.Dense(units)
        self.seen = []

    def call(self, x, training=False):
        self.seen.append(x)
        return self.dense(np.sin(x)) + np.random.rand()

model = Net()
optimizer = tf.keras.optimizers.Adam(1e-3)
data = tf.data.Dataset.from_tensor_slices(np.zeros([900, 4])).map(lambda x: x * 2).batch(32).prefetch(1).shuffle(9)

def step(x):
    with tf.GradientTape() as tape:
        loss = tf.reduce_mean(model(x, training=True) ** 2)
    variables = model.trainable_variables
    optimizer.apply_gradients(zip(tape.gradient(loss, variables), variables))
    return loss

losses = tf.zeros([0])
for epoch in range(20):
    for batch in data:
        run = tf.function(step)
        losses = tf.concat([losses, [run(batch)]], 0)
        print(float(run(batch)), model.predict(batch))
"""
FITTING = """\
import tensorflow as tf
from tensorflow import keras

def build(size, classes=10):
    inputs = keras.Input((size, size, 3))
    x = keras.layers.Conv2D(32, 3, activation="relu")(inputs)
    x = keras.layers.Lambda(lambda v: tf.image.resize(v, (8, 8)))(x)
    x = keras.layers.Flatten()(x)
    return keras.Model(inputs, keras.layers.Dense(classes, activation="softmax")(x))

def images():
    for number in range(1000):
        yield tf.io.decode_png(tf.io.read_file(f"{number}.png")).numpy(), number % 10

with tf.device("/GPU:0"):
    model = build(224)
    model.compile("adam", "sparse_categorical_crossentropy", metrics=["accuracy"], run_eagerly=True)
    ds = tf.data.Dataset.from_generator(images, (tf.float32, tf.int32)).batch(8)
    for epoch in range(5):
        model.fit(ds, epochs=1, validation_data=ds.take(3))
        model.save_weights("w")
"""


def told(programs: dict[str, str], target: str = "2.21") -> str:
    data = {name: text.encode("utf-8", "surrogatepass") for name, text in programs.items()}
    found = with_large_stack(lambda: failures(data, target))
    return "\n".join(f"{one.kind}\n{one.text}\n{json.dumps(programs)}" for one in found)


def test_the_programs_have_something_to_find() -> None:
    """Protects the tests below from asking nothing."""
    codes: Counter[str] = Counter()
    for text in (TRAINING, FITTING):
        assert with_large_stack(lambda text=text: failures({"x.py": text.encode()}, told=codes)) == []
    assert len(codes) >= 8


@pytest.mark.parametrize("seed", [0, 1, *(pytest.param(seed, marks=pytest.mark.slow) for seed in range(2, 8))])
def test_programs_changed_at_random(seed: int) -> None:
    rng = random.Random(seed)
    texts = [mutated(a, b, rng, 3) for a, b in ((TRAINING, FITTING), (FITTING, TRAINING))]
    programs = linked({"train.py": texts[0], "net/model.py": texts[1]}, rng)
    if seed % 4 == 0:
        programs = {"train.ipynb": as_notebook(texts[seed // 4], rng)}
    assert told(programs, TARGETS[seed % len(TARGETS)]) == ""


LONG = (8, 16)


@pytest.mark.parametrize(
    "number", [pytest.param(n, marks=pytest.mark.slow if n in LONG else ()) for n in range(len(CHAINS))]
)
def test_chains(number: int) -> None:
    """Calls behind calls, functions that call the next, classes that inherit from the one before."""
    chain = CHAINS[number](40, "data", "model")
    assert told({"train.py": f"{TRAINING}{chain}model.fit(data)\n"}) == ""
