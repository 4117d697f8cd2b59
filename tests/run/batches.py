"""A training on images for `run --try`: larger batches need more memory of the GPU, and are cut from the same arrays."""

import numpy as np
import tensorflow as tf

rng = np.random.default_rng(0)
x = rng.integers(0, 255, (8192, 256, 256, 3), np.uint8)
y = rng.integers(0, 10, 8192)
model = tf.keras.Sequential([tf.keras.Input((256, 256, 3)), tf.keras.layers.Rescaling(1 / 255)])
for filters in (64, 128, 256):
    model.add(tf.keras.layers.Conv2D(filters, 3, padding="same", activation="relu"))
    model.add(tf.keras.layers.MaxPooling2D())
model.add(tf.keras.layers.GlobalAveragePooling2D())
model.add(tf.keras.layers.Dense(10, dtype="float32"))
model.compile("adam", tf.keras.losses.SparseCategoricalCrossentropy(from_logits=True))
model.fit(x, y, batch_size=32, epochs=1000, verbose=0)
