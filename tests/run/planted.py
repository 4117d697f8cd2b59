"""A training with planted waits, each of which takes its own time: the truth that a report is compared with.

The arguments name those that are planted; without any all are.
"""

import sys

import numpy as np
import tensorflow as tf
from waits import is_planted, many, plant, timed, wait, write_truth

plant(np, "median", "map", 0.02)


class Slow(tf.keras.layers.Layer):
    def call(self, x):
        if tf.executing_eagerly():
            wait("validation", 0.5)  # planted: validation
        return x


class Report(tf.keras.callbacks.Callback):
    def on_epoch_end(self, epoch, logs=None):
        wait("callback", 0.5)  # planted: callback


def smoothed(row):
    return np.array([np.median(row[: i + 1]) for i in range(len(row))], np.float32)  # planted: map


def prepared(row):
    x = tf.numpy_function(smoothed, [row], tf.float32)  # mistake: TFG305
    return tf.ensure_shape(x, (40,))[:4], tf.ones((1,))


def rows():
    for number in range(8):
        wait("generator", 0.35)  # planted: generator
        yield [float(number)] * 4, [1.0]


def train(model):
    images = tf.data.Dataset.from_tensor_slices(many(4, 40))
    images = images.map(prepared, num_parallel_calls=1).batch(2)
    model.fit(images, epochs=1, verbose=0)
    types = (tf.TensorSpec((4,), tf.float32), tf.TensorSpec((1,), tf.float32))
    made = tf.data.Dataset.from_generator(rows, output_signature=types).batch(2)
    model.fit(made, epochs=1, verbose=0)
    model.fit(tf.ones((8, 4)), tf.ones((8, 1)), epochs=4, verbose=0, callbacks=[Report()])


def validate(model, data):
    total = 0.0
    for x, y in data:
        total += tf.reduce_sum(model(x, training=False) - y)  # mistake: TFG207
    return total


@tf.function
def step(variable, optimizer):
    with tf.GradientTape() as tape:
        x = tf.random.normal((600, 600)) + variable
        for _ in tf.range(30):
            x = tf.matmul(x, x) / 600.0
        loss = tf.reduce_sum(variable) + 0.0 * tf.reduce_sum(tf.stop_gradient(x))
    optimizer.apply_gradients([(tape.gradient(loss, variable), variable)])
    return loss


def learn():
    tf.config.experimental.set_synchronous_execution(False)
    variable, optimizer = tf.Variable(1.0), tf.keras.optimizers.SGD(0.01)
    for _ in range(20 if is_planted("sync") else 1):
        loss = step(variable, optimizer)
        with timed("sync"):
            print("loss", loss.numpy())  # planted: sync  # mistake: TFG209


network = tf.keras.Sequential([tf.keras.Input((4,)), tf.keras.layers.Dense(1)])
network.compile("sgd", "mse")
train(network)
batches = tf.data.Dataset.from_tensors((tf.ones((2, 4)), tf.ones((2, 4)))).repeat(7)
validate(tf.keras.Sequential([tf.keras.Input((4,)), Slow()]), batches)
learn()
write_truth()
sys.exit(5)
