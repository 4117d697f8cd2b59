# Each picture is to get filters by chance: why do all get the same, and why does the start take so long?
# expected: TFG309 | chosen = random.choice(FILTERS)
import random

import tensorflow as tf


def sharper(picture):
    return tf.image.adjust_contrast(picture, 1.4)


def darker(picture):
    return tf.image.adjust_brightness(picture, -0.15)


FILTERS = [sharper, darker, tf.image.flip_left_right, tf.image.transpose]


def varied(picture, kind):
    for _ in range(2):
        chosen = random.choice(FILTERS)
        picture = chosen(picture)
    return tf.cast(picture, tf.float32) / 255.0, kind


(pictures, kinds), _ = tf.keras.datasets.cifar10.load_data()
rows = tf.data.Dataset.from_tensor_slices((pictures, kinds)).shuffle(50_000)
rows = rows.map(varied, num_parallel_calls=tf.data.AUTOTUNE).batch(128).prefetch(tf.data.AUTOTUNE)
net = tf.keras.Sequential(
    [
        tf.keras.Input((32, 32, 3)),
        tf.keras.layers.Conv2D(48, 3, strides=2, activation="relu"),
        tf.keras.layers.Flatten(),
        tf.keras.layers.Dense(10),
    ]
)
net.compile("adam", tf.keras.losses.SparseCategoricalCrossentropy(from_logits=True))
net.fit(rows, epochs=12)
