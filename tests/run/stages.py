"""Trains on an input pipeline in which one stage is slow: the argument says which.

It trains until there is a profile of that; `operations` for as many steps as another argument says, or for so many after a
profile has begun. It writes how long it slept in the function of that stage, and in another one. What Python makes ends
before the program: TensorFlow's threads may wait for ever for a Python that has ended.
"""

import json
import os
import sys
import time
from pathlib import Path

import numpy as np
import tensorflow as tf
from tensorflow.python.profiler import profiler_v2

WAIT = 0.012
SLEPT = {"slow": 0.0, "less_slow": 0.0}
STEPS = int(sys.argv[sys.argv.index("steps") + 1]) if "steps" in sys.argv else 10**6
STEPS_IN_PROFILE = int(sys.argv[sys.argv.index("profiled") + 1]) if "profiled" in sys.argv else 10**6
LOCK = profiler_v2._profiler_lock
ROW = tf.TensorSpec((8,), tf.float32)


def sleep(name, seconds):
    began = time.monotonic()
    time.sleep(seconds)
    SLEPT[name] += time.monotonic() - began


def slow(x):
    sleep("slow", WAIT)
    return x


def less_slow(x):
    sleep("less_slow", WAIT / 2)
    return x


def in_python(x):
    return tf.ensure_shape(tf.py_function(slow, [x], tf.float32), (8,))


def row(number):
    return tf.fill((8,), tf.cast(number, tf.float32))


def with_label(x):
    return x, x[:1]


def costly(x):
    y = tf.fill((300, 300), x[0])
    for _ in range(10):
        y = tf.linalg.matmul(y, y) / 300.0
    return x + 1e-30 * y[0, :8]


def rows():
    while not until.is_done:
        sleep("slow", WAIT)
        yield np.ones(8, np.float32)


def file_of(number):
    return tf.data.Dataset.range(4).map(row).map(in_python)


def passes(x):
    return tf.ensure_shape(tf.py_function(less_slow, [x], tf.float32), (8,))[0] > -1.0


class UntilProfiled(tf.keras.callbacks.Callback):
    is_done = False
    in_profile = 0

    def on_train_batch_end(self, batch, logs=None):
        self.in_profile += profiler_v2._profiler_lock is not LOCK  # as long as the profile is recorded
        self.is_done = self.in_profile > STEPS_IN_PROFILE or any(Path("tflint-gpu-trace").rglob("*.xplane.pb"))
        self.model.stop_training = self.is_done and sys.argv[1] == "operations"


def numbers():
    number = 0
    while not until.is_done:
        yield number
        number += 1


def source():
    return tf.data.Dataset.from_generator(numbers, output_signature=tf.TensorSpec((), tf.int64))


until = UntilProfiled()
model = tf.keras.Sequential([tf.keras.Input((8,)), tf.keras.layers.Dense(1)])
model.compile("sgd", "mse")
if sys.argv[1] == "python":
    data = source().map(row, num_parallel_calls=2)
    data = data.map(  # planted: python
        in_python,
    )
    data = data.map(with_label, num_parallel_calls=2).batch(2).prefetch(1)
    model.fit(data, verbose=0, callbacks=[until])
if sys.argv[1] == "operations":
    data = tf.data.Dataset.range(10**6).map(row)
    data = data.map(costly)  # planted: operations
    data = data.map(with_label).batch(4)
    model.fit(data, steps_per_epoch=STEPS, verbose=0, callbacks=[until])
if sys.argv[1] == "generator":
    data = tf.data.Dataset.from_generator(rows, output_signature=ROW)  # planted: generator
    data = data.map(with_label, num_parallel_calls=2).batch(2).prefetch(2)
    model.fit(data, verbose=0, callbacks=[until])
if sys.argv[1] == "interleave":
    data = source()
    data = data.interleave(file_of, cycle_length=2)  # planted: interleave
    data = data.map(with_label).batch(2)
    model.fit(data, verbose=0, callbacks=[until])
if sys.argv[1] == "shared":
    data = source().flat_map(file_of)  # planted: shared
    data = data.filter(passes)  # takes half as long, one after the other
    data = data.map(with_label).batch(2)
    model.fit(data, verbose=0, callbacks=[until])
Path(os.environ["SLEPT"]).write_text(json.dumps(SLEPT))
