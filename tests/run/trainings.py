"""Trainings that each have one planted cause, and say how much of their steady time it took.

Steady is what follows the first epoch, or the tenth step of a loop, up to the end of the last step.
"""

import json
import os
import tempfile
from pathlib import Path

import tensorflow as tf
from steady import TRUTH, Clock
from tensorflow.python.data.experimental.ops import testing

ROWS = tf.ones((8, 4)), tf.ones((8, 1))


CLOCK = Clock()
CLOCK.begin()


class Named(tf.keras.callbacks.Callback):
    def __init__(self, name):
        super().__init__()
        self.name = name

    def on_epoch_begin(self, epoch, logs=None):
        if epoch == 1:
            CLOCK.begin()

    def on_train_batch_end(self, batch, logs=None):
        CLOCK.step(self.name)


class Slow(tf.keras.layers.Layer):
    def call(self, x):
        if tf.executing_eagerly():
            CLOCK.wait(0.5)  # planted: validation
        return x


class Report(tf.keras.callbacks.Callback):
    def on_train_batch_begin(self, batch, logs=None):
        CLOCK.wait(0.02)  # planted: callback


class Save(tf.keras.callbacks.Callback):
    def on_train_batch_begin(self, batch, logs=None):
        with CLOCK.takes():
            self.model.save(path)  # planted: checkpoint


class Seldom(tf.keras.callbacks.Callback):
    def on_train_batch_begin(self, batch, logs=None):
        if batch % 50 == 20:
            CLOCK.wait(0.3)  # planted: one in fifty


class Validate(tf.keras.callbacks.Callback):
    def on_epoch_end(self, epoch, logs=None):
        for _ in range(2):
            slow(ROWS[0])


def rows():
    for _ in range(20):
        CLOCK.wait(0.05)  # planted: generator
        yield ROWS


class Slept(tf.keras.callbacks.Callback):
    def on_train_batch_end(self, batch, logs=None):
        CLOCK.planted += 0.02


def small():
    model = tf.keras.Sequential([tf.keras.Input((4,)), tf.keras.layers.Dense(1)])
    model.compile("sgd", "mse")
    return model


path = Path(tempfile.mkdtemp()) / "model.keras"
slow = tf.keras.Sequential([tf.keras.Input((4,)), Slow()])
quick = tf.data.Dataset.from_tensors(ROWS).repeat(50)
types = tf.TensorSpec((8, 4), tf.float32), tf.TensorSpec((8, 1), tf.float32)
made = tf.data.Dataset.from_generator(rows, output_signature=types)
sleepy = quick.take(20).apply(testing.sleep(20_000))
small().fit(sleepy, epochs=4, verbose=0, callbacks=[Slept(), Named("stage")])  # training: stage
small().fit(made, epochs=4, verbose=0, callbacks=[Named("generator")])  # training: generator
small().fit(quick, epochs=3, verbose=0, callbacks=[Report(), Named("callback")])  # training: callback
small().fit(quick, epochs=3, verbose=0, callbacks=[Save(), Named("checkpoint")])  # training: checkpoint
small().fit(quick, epochs=4, verbose=0, callbacks=[Validate(), Named("validation")])  # training: validation
small().fit(quick.repeat(2), epochs=3, verbose=0, callbacks=[Seldom(), Named("one in fifty")])  # training: one in fifty


@tf.function
def step(variable, optimizer):
    with tf.GradientTape() as tape:
        x = tf.random.normal((500, 500)) + variable
        for _ in tf.range(15):
            x = tf.matmul(x, x) / 500.0
        loss = tf.reduce_sum(variable) + 0.0 * tf.reduce_sum(tf.stop_gradient(x))
    optimizer.apply_gradients([(tape.gradient(loss, variable), variable)])
    return loss


def eager_step(variable, optimizer):
    with tf.GradientTape() as tape:
        loss = variable * variable
        for _ in range(20):
            loss = loss * 1.0
    optimizer.apply_gradients([(tape.gradient(loss, variable), variable)])  # training: eager step


def learn():
    tf.config.experimental.set_synchronous_execution(False)
    variable, optimizer = tf.Variable(1.0), tf.keras.optimizers.SGD(0.01)
    for number in range(40):
        if number == 10:
            CLOCK.begin()
        loss = step(variable, optimizer)  # training: host read
        if number >= 10:
            CLOCK.step("host read")
        with CLOCK.takes():
            loss.numpy()  # planted: host read


def learn_eagerly():
    variable, optimizer = tf.Variable(1.0), tf.keras.optimizers.SGD(0.01)
    for _ in range(60):
        eager_step(variable, optimizer)


learn_eagerly()
learn()
Path(os.environ["ELEMENTS_TRUTH"]).write_text(json.dumps(TRUTH))
