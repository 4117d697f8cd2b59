# The GPU waits for scans that Python unpacks, half of the time: what is missing?
# expected: TFG303 | scans = scans.map(opened)
import gzip
import pickle

import numpy as np
import tensorflow as tf


def unpacked(name):
    with gzip.open(name.numpy().decode(), "rb") as stored:
        scan = pickle.load(stored)
    return (scan["height"] / 255.0).astype(np.float32), np.int32(scan["ripe"])


def opened(name):
    height, ripe = tf.py_function(unpacked, [name], [tf.float32, tf.int32])
    return tf.ensure_shape(height, (128, 128, 1)), tf.ensure_shape(ripe, ())


scans = tf.data.Dataset.list_files("orchard/*.pickle.gz")
scans = scans.map(opened)
scans = scans.repeat().batch(48).prefetch(tf.data.AUTOTUNE)
net = tf.keras.Sequential(
    [
        tf.keras.Input((128, 128, 1)),
        tf.keras.layers.Conv2D(24, 3, strides=2, activation="relu"),
        tf.keras.layers.GlobalMaxPooling2D(),
        tf.keras.layers.Dense(2),
    ]
)
net.compile("adam", tf.keras.losses.SparseCategoricalCrossentropy(from_logits=True))
net.fit(scans, epochs=40, steps_per_epoch=250)
