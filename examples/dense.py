"""Fits a small network to arrays, in small batches."""

import numpy as np
import tensorflow as tf

rng = np.random.default_rng(0)
x = rng.normal(size=(16384, 64)).astype(np.float32)
y = np.sin(x.sum(axis=1, keepdims=True))
model = tf.keras.Sequential([tf.keras.Input((64,)), tf.keras.layers.Dense(256, "relu"), tf.keras.layers.Dense(1)])
model.compile("adam", "mse")
model.fit(x, y, batch_size=16, epochs=20, verbose=0)
