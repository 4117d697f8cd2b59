# Twelve generators are interleaved with all threads: why is it no faster than one?
# expected: TFG305 | tf.data.Dataset.from_generator(
import random

import tensorflow as tf


def walks(seed):
    signature = (tf.TensorSpec((400,), tf.float32), tf.TensorSpec((), tf.float32))
    return tf.data.Dataset.from_generator(drawn, args=(seed,), output_signature=signature)


def drawn(seed):
    for _ in range(10_000):
        place, path = 0, []
        for step in range(400):
            place += 1 if random.random() < 0.5 else -1
            path.append(float(place * step))
        yield path, float(place > seed)


seeds = tf.data.Dataset.from_tensor_slices([number * 7 for number in range(12)])
rows = seeds.interleave(walks, cycle_length=12, num_parallel_calls=tf.data.AUTOTUNE)
rows = rows.batch(64).prefetch(tf.data.AUTOTUNE)
net = tf.keras.Sequential([tf.keras.Input((400,)), tf.keras.layers.Dense(96, "relu"), tf.keras.layers.Dense(1)])
net.compile("adam", tf.keras.losses.BinaryCrossentropy(from_logits=True))
net.fit(rows, epochs=3)
