"""A training that goes on until its input ends, with one planted cost; it tells how long that had taken, and when.

It prints a line when it is in its loop, and at the end pairs: a time, and the seconds that were spent by then.
"""

import contextlib
import ctypes
import json
import sys
import threading
import time

import numpy as np
import tensorflow as tf

ANYBODY_MAY_READ = 0x59616D61, ctypes.c_ulong(-1), 0, 0, 0  # PR_SET_PTRACER, where the kernel asks for it
ctypes.CDLL(None).prctl(*ANYBODY_MAY_READ)
PLANTED = sys.argv[1]
over = threading.Event()
spent, told = 0.0, []


def costs(seconds):
    """Wait, or compute what is too short to be seen by a thread."""
    began = time.monotonic()
    while PLANTED == "short" and time.monotonic() < began + seconds:
        pass
    if PLANTED != "short":
        time.sleep(seconds)


@contextlib.contextmanager
def counted():
    """What the main thread spends here is the truth."""
    global spent
    began = time.monotonic()
    yield
    spent += time.monotonic() - began
    told.append((time.monotonic(), spent))


class Report(tf.keras.callbacks.Callback):
    def on_train_batch_end(self, batch, logs=None):
        with counted():
            costs(0.1)
        self.model.stop_training = over.is_set()


def rows():
    while not over.is_set():
        costs(0.1)
        yield np.ones((8, 8), np.float32)


@tf.function
def step(x):
    return tf.reduce_sum(tf.matmul(x, x))


def learn():
    data = tf.data.Dataset.from_tensors(tf.ones((8, 8))).repeat()
    if PLANTED == "generator":
        data = tf.data.Dataset.from_generator(rows, output_signature=tf.TensorSpec((8, 8), tf.float32))
    iterator = iter(data)
    step(next(iterator))
    begin()
    while not over.is_set():
        with counted() if PLANTED == "generator" else contextlib.nullcontext():
            batch = next(iterator, tf.ones((8, 8)))
        for _ in range(20 if PLANTED == "short" else 1):
            step(batch)
            if PLANTED == "short":
                with counted():
                    costs(0.0006)


def fit():
    model = tf.keras.Sequential([tf.keras.Input((8,)), tf.keras.layers.Dense(1)])
    model.compile("sgd", "mse")
    data = tf.data.Dataset.from_tensors((tf.ones((8, 8)), tf.ones((8, 1)))).repeat()
    model.fit(data, steps_per_epoch=2, verbose=0)
    begin()
    model.fit(data, steps_per_epoch=1_000_000, verbose=0, callbacks=[Report()])


def begin():
    threading.Thread(target=lambda: sys.stdin.read() or over.set(), daemon=True).start()
    print("in the loop", flush=True)


fit() if PLANTED == "callback" else learn()
print(json.dumps(told))
