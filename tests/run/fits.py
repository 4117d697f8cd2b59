"""`fit` over input that takes nearly all of the time, and over input that takes none, with the seconds of each."""

import json
import os
import time
from pathlib import Path

import numpy as np
import tensorflow as tf

TRUTH = {}
ROW = np.ones(8, np.float32)


def elements(seconds, total):
    for _ in range(int(total / seconds)):
        began = time.thread_time()
        while time.thread_time() < began + seconds:
            pass
        yield ROW, ROW


def batches(seconds, total, size=64):
    spec = tf.TensorSpec((8,), tf.float32)
    return tf.data.Dataset.from_generator(lambda: elements(seconds, total), output_signature=(spec, spec)).batch(size)


def costly(number):
    x = tf.fill((300, 300), tf.cast(number, tf.float32))
    for _ in range(8):
        x = tf.linalg.matmul(x, x) / 300.0
    return x[0, :8], x[0, :8]


def timed(name, function):
    began = time.perf_counter()
    function()
    TRUTH[name] = time.perf_counter() - began


model = tf.keras.Sequential([tf.keras.Input((8,)), tf.keras.layers.Dense(8)])
model.compile("sgd", "mse")
model.fit(np.ones((64, 8), np.float32), np.ones((64, 8), np.float32), verbose=0)
tiny, short, middle, long = batches(0.00006, 0.6), batches(0.0006, 1.5), batches(0.002, 1.5), batches(0.023, 4, 8)
mapped = tf.data.Dataset.range(640).map(costly).batch(64)
timed("tiny", lambda: model.fit(tiny, verbose=0))  # fit: tiny
timed("short", lambda: model.fit(short, verbose=0))  # fit: short
timed("middle", lambda: model.fit(middle, verbose=0))  # fit: middle
timed("long", lambda: model.fit(long, verbose=0))  # fit: long
timed("mapped", lambda: model.fit(mapped, verbose=0))  # fit: mapped
wide = tf.keras.Sequential([tf.keras.Input((1000,)), tf.keras.layers.Dense(2000), tf.keras.layers.Dense(1000)])
wide.compile("sgd", "mse")
same = tf.data.Dataset.from_tensors((tf.ones((256, 1000)), tf.ones((256, 1000)))).repeat(20)
timed("wide", lambda: wide.fit(same, verbose=0))  # fit: wide
Path(os.environ["ELEMENTS_TRUTH"]).write_text(json.dumps(TRUTH))
